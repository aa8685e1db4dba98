"""One process at a time, by a lease in the catalogue that expires a minute after its holder dies."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from anabranch.errors import Unavailable
from anabranch.model.ids import new_id
from anabranch.repo.branches.workbook import Workbook

LEASE_SECONDS = 60
"""How long a silent holder keeps others out; renewed three times as often."""


@contextmanager
def only_one(workbook: Workbook, what: str) -> Iterator[None]:
    """A block in which no other process works on `what`; doesn't wait for one that died on this machine."""
    holder = f"{socket.gethostname()}:{os.getpid()}:{new_id('')}"
    other = workbook.take_lease(what, holder, LEASE_SECONDS)
    if other is not None:
        message = f"{what} is run by {other.rpartition(':')[0]} already"
        raise Unavailable(message, hint=f"wait for it to end; if it died, its turn ends within {LEASE_SECONDS} seconds")
    ended = threading.Event()
    renewing = threading.Thread(target=_renew, args=(workbook, what, holder, ended), daemon=True)
    renewing.start()
    try:
        yield
    finally:
        ended.set()
        renewing.join()
        workbook.end_lease(what, holder)


def _renew(workbook: Workbook, what: str, holder: str, ended: threading.Event) -> None:
    while not ended.wait(LEASE_SECONDS / 3):
        workbook.take_lease(what, holder, LEASE_SECONDS)
