"""Notes of this user's machine: the code of each job that began here, in a file of the user's own.

A store may come from a stranger, so the file that its catalogue names is not run. What a note names is.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from anabranch.catalog.jobs import JobRecord
from anabranch.jobs.function_file import place_of, source_files

log = logging.getLogger("anabranch.jobs.begun_here")
_KEPT_SECONDS = 90 * 86_400
"""After this long a note is removed, so that the folder does not grow for ever."""


@dataclass(frozen=True)
class BegunJob:
    """The code of a job, and what it was asked for, as they were when the job began on this machine."""

    name: str
    function: dict[str, str]
    """The file of the function, and its name there."""
    sources: dict[str, str]
    """The SHA-256 of each file that the code was loaded from, by path."""
    asked: str
    """A hash of what the catalogue recorded of the job; another one means that somebody changed the record."""

    def changed_source(self) -> str | None:
        """The first file of the code that is not any more what it was; None if all are."""
        return next((path for path, digest in self.sources.items() if _file_hash(Path(path)) != digest), None)


def note_begun(store_id: str, record: JobRecord, function: Callable[..., Any]) -> None:
    """Note the code of a job that begins. A job runs also where the note can't be written."""
    place = place_of(function)
    if place is None:
        return
    file = _note_file(store_id, record.id)
    try:
        sources = {str(path): str(_file_hash(path)) for path in source_files(function)}
        note = BegunJob(record.name, place, sources, _asked_hash(record))
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        _remove_old_notes(file.parent)
        draft = file.with_suffix(f".{os.getpid()}")
        draft.write_text(json.dumps(asdict(note), indent=2) + "\n", "utf-8")
        draft.replace(file)
    except OSError as error:
        log.debug("the start of job %s is not noted in %s: %s", record.id, file, error)


def find_begun(store_id: str, record: JobRecord) -> BegunJob | None:
    """Find the note of a job; None if it did not begin here, or if its record was changed since."""
    file = _note_file(store_id, record.id)
    try:
        note = BegunJob(**json.loads(file.read_text("utf-8")))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError) as error:
        log.debug("the note %s can't be read: %s", file, error)
        return None
    return note if note.asked == _asked_hash(record) else None


def forget_begun(store_id: str, record: JobRecord) -> None:
    """Remove the note of a job that was published."""
    with suppress(OSError):
        _note_file(store_id, record.id).unlink(missing_ok=True)


def _note_file(store_id: str, job_id: str) -> Path:
    """The file of a note. Both ids may be a stranger's, so the name is a hash of them."""
    home = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    name = hashlib.sha256(f"{store_id}\n{job_id}".encode()).hexdigest()[:40]
    return Path(home) / "anabranch" / "jobs" / f"{name}.json"


def _remove_old_notes(folder: Path) -> None:
    oldest = time.time() - _KEPT_SECONDS
    for file in folder.iterdir():
        with suppress(OSError):
            if file.stat().st_mtime < oldest:
                file.unlink()


def _asked_hash(record: JobRecord) -> str:
    asked: Mapping[str, Any] = {
        "name": record.name,
        "output": record.branch,
        "inputs": record.inputs,
        "options": record.options,
        "shards": record.shard_count,
    }
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()


def _file_hash(path: Path) -> str | None:
    """The SHA-256 of a file; None if it can't be read."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return None
