"""Temporary files of a process, where no lock tells whether it lives: it reports that itself from time to time."""

from __future__ import annotations

import atexit
import os
import threading
import time
from contextlib import suppress

from anabranch.errors import Unavailable
from anabranch.model.ids import new_id
from anabranch.objects.blobs import Blobs
from anabranch.settings import LEFT_BEHIND_SECONDS, STILL_ALIVE_SECONDS

_ALIVE = "alive"


class FarProcessFolder:
    """This process's folder below another; made on first use, removed at exit."""

    def __init__(self, blobs: Blobs, above: str) -> None:
        self._blobs, self._above = blobs, above
        self._name, self._process = "", 0
        self._lock = threading.Lock()

    def put(self, content: bytes, suffix: str) -> str:
        """Store bytes for this process; returns the name."""
        with self._lock:
            if self._process != os.getpid():
                self._start()
        name = f"{self._above}/{self._name}/{new_id('o')}{suffix}"
        self._blobs.put(name, content)
        return name

    def left_behind(self) -> list[tuple[str, int]]:
        """The folders that were not reported alive for long, with their sizes."""
        sizes: dict[str, int] = {}
        newest: dict[str, int] = {}
        for blob in self._blobs.below(self._above):
            name = blob.name.removeprefix(f"{self._above}/").partition("/")[0]
            sizes[name] = sizes.get(name, 0) + blob.size_bytes
            newest[name] = max(newest.get(name, 0), blob.changed_at)
        before = (time.time() - LEFT_BEHIND_SECONDS) * 1_000_000
        return [(name, size) for name, size in sorted(sizes.items()) if newest[name] < before]

    def remove(self, name: str) -> None:
        """Remove a folder."""
        self._blobs.delete([blob.name for blob in self._blobs.below(f"{self._above}/{name}")])

    def _start(self) -> None:
        self._name, self._process = new_id("o"), os.getpid()
        self._say()
        threading.Thread(target=self._say_again, daemon=True, name="anabranch-aside").start()
        atexit.register(self._end, self._name, self._process)

    def _say(self) -> None:
        self._blobs.put(f"{self._above}/{self._name}/{_ALIVE}", b"")

    def _say_again(self) -> None:
        while True:
            time.sleep(STILL_ALIVE_SECONDS)
            with suppress(Unavailable):
                self._say()

    def _end(self, name: str, process: int) -> None:
        if process == os.getpid():
            with suppress(Unavailable):
                self.remove(name)
