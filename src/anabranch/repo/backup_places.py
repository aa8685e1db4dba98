"""Where a backup lies, in a folder or below an address: its catalogue, its objects and a note that says what it is.

The catalogue is replaced as a whole and last, so that a backup that is broken off leaves the one before."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

from anabranch.errors import Corrupt, InvalidRequest, NotFound, Unavailable
from anabranch.model.object_urls import is_object_url, read_object_url
from anabranch.model.store_folder import CATALOG, FOLDER, OBJECTS, check_folder
from anabranch.objects.folder import sync
from anabranch.objects.locations import open_blobs

NOTE = "backup.json"
_CATALOGUE = re.compile("catalog-[0-9a-f]{64}[.]db")
_PIECE = 1 << 20


class BackupPlace(Protocol):
    """A place for one backup."""

    shown: str
    objects: str
    """The location of its object root."""

    def note(self) -> dict[str, Any] | None:
        """What the backup says of itself; None if there is none."""

    def has_store(self) -> bool:
        """Tell whether there is a store that is no backup."""

    def changed_catalog(self) -> Path | None:
        """The catalogue, if somebody wrote to it since the backup."""

    @contextmanager
    def new_catalog(self) -> Iterator[Path]:
        """Give a file to write a new catalogue to."""

    def publish(self, made: Path, note: Mapping[str, Any]) -> None:
        """Let a new catalogue take the old one's place, at once and for good."""

    @contextmanager
    def catalog(self) -> Iterator[Path]:
        """Give the catalogue as a file; Corrupt if it is not what the backup wrote."""


def backup_place(location: str) -> BackupPlace:
    """Find the place that a location names."""
    return BackupAddress(location) if is_object_url(location) or "://" in location else BackupFolder(location)


class BackupFolder:
    """A backup in a folder, which is a store there."""

    def __init__(self, folder: str) -> None:
        check_folder(folder)
        self._place = Path(folder).resolve() / FOLDER
        self.shown, self.objects = str(self._place.parent), str(self._place / OBJECTS)

    def note(self) -> dict[str, Any] | None:
        """Read the note."""
        try:
            return _read(self._place / NOTE, (self._place / NOTE).read_bytes())
        except FileNotFoundError:
            return None
        except OSError as error:
            raise Unavailable(f"{self._place / NOTE} can't be read: {error}", hint="check its permissions") from error

    def has_store(self) -> bool:
        """Look for a catalogue."""
        return (self._place / CATALOG).exists()

    def changed_catalog(self) -> Path | None:
        """Compare the file with its hash; what is in its log only was written since, too."""
        file, note = self._place / CATALOG, self.note()
        if note is None or not file.is_file():
            return None
        log = file.with_name(f"{file.name}-wal")
        has_log = log.exists() and log.stat().st_size > 0
        return file if has_log or _digest(file) not in note.get("catalog_sha256", []) else None

    @contextmanager
    def new_catalog(self) -> Iterator[Path]:
        """A file beside the catalogue."""
        for linked in (self._place, self._place / OBJECTS):
            if linked.is_symlink():
                message = f"{linked} is a link, which a backup does not follow: files would be removed where it leads"
                raise InvalidRequest(message, hint="name the folder that is meant")
        self._place.mkdir(parents=True, exist_ok=True)
        made = self._place / f"{CATALOG}.new"
        for rest in ("", "-wal", "-shm"):
            made.with_name(made.name + rest).unlink(missing_ok=True)
        yield made

    def publish(self, made: Path, note: Mapping[str, Any]) -> None:
        """Note both catalogues, the one before and the new one, then rename."""
        final = self._place / CATALOG
        digests = [_digest(file) for file in (made, final) if file.exists()]
        temporary = self._place / f"{NOTE}.new"
        temporary.write_text(json.dumps({**note, "catalog_sha256": digests}, indent=2), encoding="utf-8")
        sync(temporary)
        temporary.rename(self._place / NOTE)
        sync(made)
        for rest in ("-wal", "-shm"):
            final.with_name(final.name + rest).unlink(missing_ok=True)
        made.rename(final)
        sync(final.parent)

    @contextmanager
    def catalog(self) -> Iterator[Path]:
        """The file itself."""
        file, note = self._place / CATALOG, self.note()
        if note is None or not file.is_file():
            raise _no_backup(self.shown)
        if _digest(file) not in note.get("catalog_sha256", []):
            raise Corrupt(f"{file} is not what the backup wrote", hint="take an older backup")
        yield file


class BackupAddress:
    """A backup on S3 or HDFS: the note names the catalogue, which has its hash in its name."""

    def __init__(self, location: str) -> None:
        url = read_object_url(location)
        self.shown, self.objects = url.text, url.below(OBJECTS).text
        self._blobs = open_blobs(url)

    def note(self) -> dict[str, Any] | None:
        """Read the note."""
        try:
            return _read(f"{self.shown}: {NOTE}", b"".join(self._blobs.read(NOTE)))
        except FileNotFoundError:
            return None

    def has_store(self) -> bool:
        """Objects of a store may lie there: its marker tells."""
        try:
            return self._blobs.size("anabranch-root.json") > 0
        except FileNotFoundError:
            return False

    def changed_catalog(self) -> Path | None:
        """There is none: nobody can open a store there."""
        return None

    @contextmanager
    def new_catalog(self) -> Iterator[Path]:
        """A file that is gone afterwards."""
        with TemporaryDirectory(prefix="anabranch-", ignore_cleanup_errors=True) as folder:
            yield Path(folder) / CATALOG

    def publish(self, made: Path, note: Mapping[str, Any]) -> None:
        """Upload the catalogue under a name of its own, then the note that names it; older ones go."""
        digest = _digest(made)
        name = f"catalog-{digest}.db"
        self._blobs.put(name, _pieces(made))
        self._blobs.put(NOTE, json.dumps({**note, "catalog_sha256": [digest], "catalog": name}, indent=2).encode())
        older = [b.name for b in self._blobs.below("") if b.name.startswith("catalog-") and b.name != name]
        self._blobs.delete(older)

    @contextmanager
    def catalog(self) -> Iterator[Path]:
        """Download it."""
        note = self.note()
        if note is None or not isinstance(note.get("catalog"), str):
            raise _no_backup(self.shown)
        if _CATALOGUE.fullmatch(note["catalog"]) is None:
            raise Corrupt(f"{self.shown} has a {NOTE} that names no catalogue", hint="take an older backup")
        with self.new_catalog() as file:
            try:
                with file.open("wb") as out:
                    out.writelines(self._blobs.read(note["catalog"]))
            except FileNotFoundError:
                raise Corrupt(f"{self.shown} has no {note['catalog']}", hint="take an older backup") from None
            if _digest(file) not in note.get("catalog_sha256", []):
                raise Corrupt(f"the catalogue in {self.shown} is not what was written", hint="take an older backup")
            yield file


def _no_backup(where: str) -> NotFound:
    hint = "name the folder or address that `ana backup` wrote to"
    return NotFound(f"there is no backup in {where}: it has no {NOTE}", hint=hint)


def _read(where: object, content: bytes) -> dict[str, Any]:
    try:
        return dict(json.loads(content))
    except (ValueError, TypeError) as error:
        raise Corrupt(f"{where} can't be read: {error}", hint="make a backup in another place") from error


def _pieces(file: Path) -> Iterator[bytes]:
    with file.open("rb") as opened:
        while piece := opened.read(_PIECE):
            yield piece


def _digest(place: Path) -> str:
    with place.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
