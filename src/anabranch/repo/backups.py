"""Backups: a store copied into a folder or to an address, as one state while others write, and stores made from such.

`repo/backup_places.py` knows how a backup lies where it is."""

from __future__ import annotations

import hashlib
import socket
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from anabranch.catalog.objects import NamedFiles, location_urls
from anabranch.catalog.store import Catalog, now
from anabranch.catalog.whole_copy import copy_rows, files_named, only_in_copy
from anabranch.errors import AlreadyExists, Corrupt, Unavailable
from anabranch.model.addresses import is_server, read_address, shown_location
from anabranch.model.ids import derived_id
from anabranch.model.objects import StoredObject
from anabranch.model.store_folder import OBJECTS
from anabranch.objects.locations import copy_file, open_root
from anabranch.objects.root import ObjectRoot, SealedFile
from anabranch.repo.backup_places import BackupPlace, backup_place
from anabranch.repo.context.trusted import check_objects_trusted, note_typed_objects
from anabranch.repo.stores import first_token, objects_location, open_objects, own_root, reach
from anabranch.settings import FETCHING_THREADS, Settings

_ATTEMPTS = 3
_NAMED = 5
"""So many moves are named in an error."""


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


def backup(location: str, target: str) -> StoreCopy:
    """Copy a store to a place, or what is new since the last time; every file is compared with its hash."""
    place = backup_place(target)
    with closing(reach(location, Settings(), create=False)) as catalog:
        facts = catalog.open()
        _check_target(place, facts["store_id"], location)
        _refuse_work_in(place, catalog)
        _refuse_copy_of_store(place, catalog)
        root = open_objects(location, facts, Settings())
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                return _copy(location, catalog, root, facts, place)
            except _FileGone as gone:
                if attempt == _ATTEMPTS:
                    hint = "let gc run with a longer grace, then try again"
                    raise Unavailable(f"files were collected while they were copied: {gone}", hint=hint) from gone
        raise AssertionError("the last attempt returns or raises")


class _FileGone(Exception):
    """A file went that the copied catalogue names and the store's does not any more."""


def _copy(location: str, catalog: Catalog, root: ObjectRoot, facts: dict[str, str], place: BackupPlace) -> StoreCopy:
    target = open_root(place.objects)
    with place.new_catalog() as made:
        with catalog.read() as cx, closing(Catalog.at_file(str(made))) as copy, copy.write() as into:
            copy_rows(cx, into, {"objects": OBJECTS})
        files = _files_of(catalog, made, root)
        copied = _copied(catalog, root, target, files)
        note = {"store_id": facts["store_id"], "store": _shown(location), "catalogue": _identity(catalog)}
        place.publish(made, {**note, "made_at": datetime.now(UTC).isoformat()})
    named = {file.path for file in files}
    target.collect([f.path for f in target.files() if f.path not in named])
    return _store_copy(location, place.shown, files, copied)


def _copied(catalog: Catalog, root: ObjectRoot, target: ObjectRoot, files: Sequence[SealedFile]) -> list[int]:
    """Copy the files that the target lacks, some at a time; one that it has was compared when it was copied."""
    there = {f.path: f.size_bytes for f in target.files()}

    def copied(file: SealedFile) -> int:
        try:
            return 0 if there.get(file.path) == file.size_bytes else copy_file(root, target, file)
        except Corrupt:
            with catalog.read() as cx:
                if file.path not in set(NamedFiles(partial(_read_manifest, root)).paths(cx)):
                    raise _FileGone(file.path) from None
            raise

    with ThreadPoolExecutor(FETCHING_THREADS) as pool:
        return list(pool.map(copied, files))


def _files_of(catalog: Catalog, made: Path, root: ObjectRoot) -> list[SealedFile]:
    """The files that a copied catalogue names; of its manifests, too, which lie in the root that it is copied from."""
    try:
        with closing(Catalog.at_file(str(made))) as copy, copy.read() as cx:
            return _named(cx, root)
    except Corrupt as error:
        with catalog.read() as cx:
            try:
                _named(cx, root)
            except Corrupt:
                raise error from None
        raise _FileGone(error.message) from None


def _named(cx: Any, root: ObjectRoot) -> list[SealedFile]:
    """The files that a catalogue names, those that its manifests list among them."""
    listed = NamedFiles(partial(_read_manifest, root)).listed(cx)
    files = [*files_named(cx), *((o.path, o.size_bytes, o.sha256) for o in listed if o.path)]
    return [SealedFile(*file) for file in dict.fromkeys(files)]


def _read_manifest(root: ObjectRoot, o: StoredObject) -> Sequence[StoredObject]:
    from anabranch.objects.manifests import decode_manifest

    if o.path is None:
        return ()  # It lies elsewhere, as what it lists does: at a location that the copy names, too.
    with root.open(o.path) as file:
        return decode_manifest(file.read(), o)


def _check_target(place: BackupPlace, store_id: str, location: str) -> None:
    """A place is written to if it holds a backup of this store, or no store at all."""
    note = place.note()
    if note is None and place.has_store():
        hint = "choose an empty place, or one that has a backup of this store"
        raise AlreadyExists(f"{place.shown} has a store of its own", hint=hint)
    if note is not None and note.get("store_id") != store_id:
        message = f"{place.shown} has a backup of another store ({note.get('store')}), not of {_shown(location)}"
        raise AlreadyExists(message, hint="choose another folder")


def _refuse_work_in(place: BackupPlace, catalog: Catalog) -> None:
    """Refuse a backup in which somebody committed or moved a branch, as the next one would take its place."""
    file = place.changed_catalog()
    if file is None:
        return
    with closing(Catalog.at_file(str(file))) as copy, copy.read() as mine, catalog.read() as cx:
        found = list(only_in_copy(mine, cx))
    if found:
        what = f"{', '.join(found[:_NAMED])}{', …' if len(found) > _NAMED else ''}"
        hint = f"back up into another folder; {place.shown} is a store of its own now, and stays as it is"
        raise AlreadyExists(f"{place.shown} has what a new backup would overwrite: {what}", hint=hint)


def _refuse_copy_of_store(place: BackupPlace, catalog: Catalog) -> None:
    """Refuse a backup that another copy of the catalogue made, and that has what this one lacks: it would be lost."""
    note = place.note()
    if note is None or note.get("catalogue") in (None, _identity(catalog)) or place.changed_catalog() is not None:
        return
    with (
        place.catalog() as file,
        closing(Catalog.at_file(str(file))) as copy,
        copy.read() as theirs,
        catalog.read() as cx,
    ):
        found = list(only_in_copy(theirs, cx))
    if found:
        what = f"{', '.join(found[:_NAMED])}{', …' if len(found) > _NAMED else ''}"
        message = f"{place.shown} has a backup of another copy of this store ({note.get('store')}), which has {what}"
        raise AlreadyExists(message, hint="back up into another place: this one's backup would take its place")


def _identity(catalog: Catalog) -> str:
    with catalog.read() as cx:
        return catalog.identity(cx)


def restore_store(source: str, location: str, objects: str | None = None) -> StoreCopy:
    """Make a store from a backup, where there is none yet; it is another store with the same histories."""
    place = backup_place(source)
    with place.catalog() as file:
        return _restore(place, file, location, objects_location(location, objects))


def _restore(place: BackupPlace, file: Path, location: str, objects: str) -> StoreCopy:
    with closing(reach(location, Settings(), create=True)) as target, closing(Catalog.at_file(str(file))) as source:
        if target.exists():
            raise AlreadyExists(f"{_shown(location)} is a store already", hint="restore to an empty place")
        changed = {"store_id": _new_store(file, location, objects), "objects": objects}
        note_typed_objects(objects)
        root = open_objects(location, changed, Settings())
        root.claim()
        with source.read() as cx:
            for url in location_urls(cx):  # of a stranger's, maybe; a catalogue on a server is not asked about them
                check_objects_trusted(url)
            lying = open_root(place.objects)
            files = _named(cx, lying)
            copied = _copied(source, lying, root, files)
            with target.write() as into:
                copy_rows(cx, into, {**changed, **first_token(now(into))})
                if files:
                    own_root(target, root, changed).lay_first(into)
    return _store_copy(location, place.shown, files, copied)


def _new_store(backup: Path, location: str, objects: str) -> str:
    """The id of a store made on this machine: the same when a restore that was broken off is begun again.

    The place of the objects is its own already, and no trace of another store is left there."""
    with backup.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    where = _shown(location) if is_server(location) else str(Path(location).absolute())
    return derived_id("z", digest, socket.gethostname(), where, objects)


def _shown(location: str) -> str:
    """A store that was reached, without its password."""
    return read_address(location).shown if is_server(location) else shown_location(location)


def _store_copy(location: str, place: str, files: list[SealedFile], copied: list[int]) -> StoreCopy:
    written = [n for n in copied if n]
    return StoreCopy(_shown(location), place, len(files), sum(f.size_bytes for f in files), len(written), sum(written))
