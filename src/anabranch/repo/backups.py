"""Backups: a store copied into a folder, as one state while others write, and a store made from such a folder.

A backup is a store in a folder of its own, with a note that says so. Its catalogue is replaced as a whole once all
files that it names are there, so that a backup that is broken off leaves the one before.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from anabranch.catalog import objects as object_rows
from anabranch.catalog.store import Catalog
from anabranch.catalog.whole_copy import copy_rows, files_named
from anabranch.errors import AlreadyExists, Corrupt, InvalidRequest, NotFound, Unavailable
from anabranch.model.addresses import shown_location
from anabranch.model.ids import new_id
from anabranch.model.store_folder import CATALOG, FOLDER, OBJECTS
from anabranch.objects.copied_files import copy_file
from anabranch.objects.folder import Folder
from anabranch.objects.locations import open_root
from anabranch.objects.root import ObjectRoot, SealedFile
from anabranch.repo.stores import objects_at, objects_location, reach
from anabranch.settings import Settings

_NOTE = "backup.json"
_ATTEMPTS = 3


@dataclass(frozen=True)
class StoreCopy:
    """What a backup or a restore copied."""

    store: str
    folder: str
    file_count: int
    size_bytes: int
    """Of all files of objects."""
    copied_count: int
    copied_bytes: int
    """Of those that were not there yet."""


def backup(location: str, folder: str) -> StoreCopy:
    """Copy a store into a folder, or what is new since the last time; every file is compared with its hash."""
    _refuse_address(folder)
    place = Path(folder).absolute() / FOLDER
    catalog = reach(location, Settings(), create=False)
    try:
        facts = catalog.open()
        _check_target(place, facts["store_id"], location)
        root = open_root(objects_at(location, facts), facts["store_id"])
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                return _copy(location, catalog, root, facts, place)
            except _FileGone as gone:
                if attempt == _ATTEMPTS:
                    hint = "let gc run with a longer grace, then try again"
                    raise Unavailable(f"files were collected while they were copied: {gone}", hint=hint) from gone
        raise AssertionError("the last attempt returns or raises")
    finally:
        catalog.close()


class _FileGone(Exception):
    """A file went that the copied catalogue names and the store's does not any more."""


def _copy(location: str, catalog: Catalog, root: ObjectRoot, facts: dict[str, str], place: Path) -> StoreCopy:
    place.mkdir(parents=True, exist_ok=True)
    made = place / f"{CATALOG}.new"
    _remove(made)
    with catalog.read() as cx:
        files = _write_catalog(cx, made)
    target = Folder(str(place / OBJECTS))
    copied = [_copied(catalog, root, target, file) for file in files]
    _write_note(place, facts["store_id"], location, made)
    _put_in_place(made, place / CATALOG)
    named = {file.path for file in files}
    target.collect([f.path for f in target.files() if f.path not in named])
    return _told(location, place.parent, files, copied)


def _copied(catalog: Catalog, root: ObjectRoot, target: Folder, file: SealedFile) -> int:
    try:
        return copy_file(root, target, file)
    except Corrupt:
        with catalog.read() as cx:
            if file.path not in set(object_rows.paths(cx)):
                raise _FileGone(file.path) from None
        raise


def _write_catalog(cx: Any, made: Path) -> list[SealedFile]:
    """Write one state of a catalogue to a new file; returns the files that it names."""
    copy = Catalog.at_file(str(made))
    try:
        with copy.write() as target:
            copy_rows(cx, target, {"objects": OBJECTS})
            return [SealedFile(*file) for file in files_named(target)]
    finally:
        copy.close()


def _put_in_place(made: Path, final: Path) -> None:
    """Let the new catalogue take the old one's place, at once and for good."""
    _sync(made)
    for rest in ("-wal", "-shm"):
        final.with_name(final.name + rest).unlink(missing_ok=True)
    made.rename(final)
    _sync(final.parent)


def _remove(made: Path) -> None:
    for rest in ("", "-wal", "-shm"):
        made.with_name(made.name + rest).unlink(missing_ok=True)


def _sync(place: Path) -> None:
    handle = os.open(place, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _write_note(place: Path, store_id: str, location: str, made: Path) -> None:
    """Say what the folder holds: a catalogue that is about to take its place, or still the one before."""
    digests = [_digest(file) for file in (made, place / CATALOG) if file.exists()]
    note = {"store_id": store_id, "store": shown_location(location), "catalog_sha256": digests}
    temporary = place / f"{_NOTE}.new"
    temporary.write_text(json.dumps({**note, "made_at": datetime.now(UTC).isoformat()}, indent=2), encoding="utf-8")
    _sync(temporary)
    temporary.rename(place / _NOTE)


def _digest(place: Path) -> str:
    with place.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _refuse_address(folder: str) -> None:
    if "://" in folder:
        hint = "give a folder; copy it from there with the tools of that place"
        raise InvalidRequest(f"a backup can't be made at {shown_location(folder)}", hint=hint)


def _read_note(place: Path) -> dict[str, Any] | None:
    try:
        found = json.loads((place / _NOTE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise Corrupt(f"{place / _NOTE} can't be read: {error}", hint="make a backup in another folder") from error
    return dict(found)


def _check_target(place: Path, store_id: str, location: str) -> None:
    """A folder is written to if it holds a backup of this store, or no store at all."""
    note = _read_note(place)
    if note is None and (place / CATALOG).exists():
        hint = "choose an empty folder, or one that has a backup of this store"
        raise AlreadyExists(f"{place.parent} has a store of its own", hint=hint)
    if note is not None and note.get("store_id") != store_id:
        shown = shown_location(location)
        message = f"{place.parent} has a backup of another store ({note.get('store')}), not of {shown}"
        raise AlreadyExists(message, hint="choose another folder")


def restore_store(folder: str, location: str, objects: str | None = None) -> StoreCopy:
    """Make a store from a backup, where there is none yet; it is another store with the same histories."""
    place = Path(folder).absolute() / FOLDER
    _check_backup(place)
    root_location = objects_location(location, objects)
    target = reach(location, Settings(), create=True)
    source = Catalog.at_file(str(place / CATALOG))
    try:
        if target.exists():
            raise AlreadyExists(f"{shown_location(location)} is a store already", hint="restore to an empty place")
        store_id = new_id("z")
        changed = {"store_id": store_id, "objects": root_location}
        root = Folder(objects_at(location, changed), store_id)
        with source.read() as cx:
            files = [SealedFile(*file) for file in files_named(cx)]
            copied = [copy_file(Folder(str(place / OBJECTS)), root, file) for file in files]
            with target.write() as into:
                copy_rows(cx, into, changed)
    finally:
        source.close()
        target.close()
    return _told(location, place.parent, files, copied)


def _check_backup(place: Path) -> None:
    note = _read_note(place)
    if note is None or not (place / CATALOG).is_file():
        hint = "name the folder that `ana backup` wrote"
        raise NotFound(f"there is no backup in {place.parent}: it has no {FOLDER}/{_NOTE}", hint=hint)
    if _digest(place / CATALOG) not in note.get("catalog_sha256", []):
        raise Corrupt(f"{place / CATALOG} is not what the backup wrote", hint="take an older backup")


def _told(location: str, folder: Path, files: list[SealedFile], copied: list[int]) -> StoreCopy:
    written = [n for n in copied if n]
    return StoreCopy(
        shown_location(location), str(folder), len(files), sum(f.size_bytes for f in files), len(written), sum(written)
    )
