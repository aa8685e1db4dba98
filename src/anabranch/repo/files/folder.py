"""A user's own folder: writes all files of a commit into it, finds what was changed there, and takes that in again.

A manifest keeps size, time and hash of each file, so that only touched files are read. A file counts as unchanged only
while a commit, finished or open, holds its bytes. Nothing is written or read outside the folder: links are neither made
nor followed.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat as kinds
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from anabranch.errors import AlreadyExists, AnabranchError, Corrupt, InvalidRequest, NotFound, Unavailable
from anabranch.model.files import FileStat
from anabranch.model.ids import new_id
from anabranch.model.local_paths import MANIFEST, local_problem
from anabranch.model.paths import all_folders, check_path, folders_above, is_below
from anabranch.repo.files.held import FindHeld, Held
from anabranch.repo.files.local import read_ignored
from anabranch.repo.files.manifest import MANIFEST_BEGIN, KnownFile, Manifest, Taken, read_manifest

_HALF_MANIFEST = re.compile(rf"{re.escape(MANIFEST)}\.t[0-9a-z]{{16}}")


@dataclass(frozen=True)
class FolderStatus:
    """What was changed in a folder since it was written."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.changed or self.removed)


Progress = Callable[[int, int], None]
"""Called with the number of files done, and of all."""


class _TreeToWrite(Protocol):
    """What a checkout needs of a tree of files."""

    def walk(self) -> Iterator[FileStat]: ...
    def stream(self, path: str) -> Iterator[bytes]: ...


class _FolderChanges(Protocol):
    def put(self, path: str, content: Path) -> None: ...
    def delete(self, path: str) -> int: ...


class _Takes(Protocol):
    """What `add` needs of a commit."""

    @property
    def files(self) -> _FolderChanges: ...
    def when_kept(self, do: Callable[[Sequence[str]], None]) -> None: ...


class LocalFolder:
    """A folder that files are checked out into, or taken in from; or a part of one, to be compared and taken in."""

    def __init__(self, place: str | os.PathLike[str], find_held: FindHeld | None = None) -> None:
        self._asked = Path(place)
        self._place, self._part = _place_and_part(self._asked)
        self._find_held = find_held or (lambda _name, _taken: Held())

    def __repr__(self) -> str:
        return f"LocalFolder({str(self._asked)!r})"

    @property
    def ref(self) -> str | None:
        """The commit whose files were last written here, if it was named."""
        return self._manifest().ref

    def status(self) -> FolderStatus:
        """Find what was added, changed and removed since; reads only touched files."""
        with self._translated("read"):
            return self._compared(self._settled())

    def _compared(self, manifest: Manifest) -> FolderStatus:
        found = {path: stat for path, stat in self._walk(manifest) if is_below(path, self._part)}
        gone = [p for p in manifest.known if p not in found and is_below(p, self._part)]
        added = [p for p in found if p not in manifest.known]
        changed = [p for p, s in found.items() if p in manifest.known and self._differs(manifest, p, s)]
        return FolderStatus(tuple(added), tuple(changed), tuple(sorted(gone)))

    def add(self, tx: _Takes) -> FolderStatus:
        """Take what was added, changed and removed into a commit.

        It counts as changed until that is published or, of an open commit, saved, and again once that is aborted.
        """
        with self._translated("read or written"):
            began_ns, manifest = self._clock_ns(), self._settled()
            found = self._compared(manifest)
            self._write_manifest(manifest)
        if self._part:
            began_ns = manifest.written_ns  # The rest was not looked at, so it is no surer than before.
        with self._translated("read"):  # before they are put: later edits differ
            new = {p: self._known(p) for p in (*found.added, *found.changed)}
        for path in found.removed:  # first, so that a folder may take the place of a file, or a file that of a folder
            with suppress(NotFound):
                tx.files.delete(path)
        for path in new:
            tx.files.put(path, self._place / path)
        taken: Taken = {**new, **dict.fromkeys(found.removed)}
        tx.when_kept(lambda by: self._took(by, taken, began_ns))
        return found

    def _took(self, by: Sequence[str], taken: Taken, began_ns: int) -> None:
        """Note what was taken in, as it was when that began, under the first commit that holds it."""
        with self._translated("written, though the files are committed"):
            self._note_taken(by, taken, began_ns)

    def _note_taken(self, by: Sequence[str], taken: Taken, began_ns: int) -> None:
        manifest, rest = self._manifest(), dict(taken)
        for name in by:
            held = rest.keys() if name == by[-1] else self._find_held(name, _hashes(rest)).paths
            manifest = manifest.with_taken(name, {path: rest.pop(path) for path in tuple(held)}, began_ns)
        self._write_manifest(manifest)

    def checkout(
        self, tree: _TreeToWrite, ref: str | None, *, force: bool = False, progress: Progress | None = None
    ) -> int:
        """Write all files of a tree, and remove others; overwrites local changes only with `force`.

        `progress` is called after each file with the number of files done, and of all. An interrupted checkout can be
        resumed.
        """
        with self._translated("written"):
            return self._checked_out(tree, ref, force=force, progress=progress)

    def _checked_out(self, tree: _TreeToWrite, ref: str | None, *, force: bool, progress: Progress | None) -> int:
        self._place, self._part = self._asked, ""
        wanted = {_checked(s): s for s in tree.walk() if not s.is_folder}
        _refuse_same_paths(self._place, wanted)
        self._refuse_lost(tree, wanted, force)
        self._place.mkdir(parents=True, exist_ok=True)
        manifest, kept = self._settled(), dict[str, KnownFile]()
        self._remove_remnants(manifest)
        temporary = f".ana-{new_id('t')}"
        self._write_manifest(replace(manifest, writing=(temporary,)))
        for path in sorted(manifest.known.keys() - wanted.keys()):
            self._remove(path)
        for path, stat in sorted(wanted.items()):
            known = self._unmoved(manifest, path, stat)
            kept[path] = known or self._write(tree, path, stat, temporary)
            if progress is not None:
                progress(len(kept), len(wanted))
        self._write_manifest(Manifest(ref, kept, self._clock_ns()))
        return len(wanted)

    @contextmanager
    def _translated(self, what: str) -> Iterator[None]:
        """Report what the file system refuses; a pipe that is closed is whoever's who shows progress."""
        try:
            yield
        except BrokenPipeError:
            raise
        except OSError as error:
            place = error.filename or self._place
            message = f"{str(place)!r} can't be {what}: {error.strerror or error}"
            hint = "check free space and permissions; each file there is whole, and doing it again goes on from there"
            raise Unavailable(message, hint=hint) from error

    def _remove_remnants(self, manifest: Manifest) -> None:
        """Remove files that were left by a process that died while writing: by their names, which it noted before."""
        for place in self._place.glob(f"{MANIFEST}.t*"):
            if _HALF_MANIFEST.fullmatch(place.name) and _is_half_manifest(place):
                place.unlink(missing_ok=True)
        for folder, _, names in os.walk(self._place) if manifest.writing else ():
            for name in set(names) & set(manifest.writing):
                Path(folder, name).unlink(missing_ok=True)

    # --- looking ---

    def _walk(self, manifest: Manifest) -> Iterator[tuple[str, os.stat_result]]:
        """Every regular file by path, but for those that are ignored and not known; skips links."""
        known = manifest.known
        if not self._place.is_dir():
            raise NotFound(f"there is no folder {str(self._place)!r}", hint="`ana checkout DIR` makes one")
        ignored, known_folders, inside_ignored = read_ignored(self._place), all_folders(known), set[str]()
        for folder, below, names in os.walk(self._place):
            lead = Path(folder).relative_to(self._place).as_posix()
            lead = "" if lead == "." else f"{lead}/"
            is_ignored = lead in inside_ignored
            inside_ignored |= {f"{lead}{d}/" for d in below if is_ignored or ignored(f"{lead}{d}", is_folder=True)}
            below[:] = sorted(d for d in below if f"{lead}{d}/" not in inside_ignored or f"{lead}{d}" in known_folders)
            for name in sorted(names):
                path, found = f"{lead}{name}", os.lstat(os.path.join(folder, name))
                is_wanted = path in known or not (is_ignored or ignored(path, is_folder=False))
                is_ours = name in manifest.writing or _is_manifest(path)
                if is_wanted and not is_ours and kinds.S_ISREG(found.st_mode):
                    yield check_path(path), found

    def _differs(self, manifest: Manifest, path: str, found: os.stat_result) -> bool:
        if manifest.is_sure(path, found):
            return False
        known = manifest.known[path]
        return found.st_size != known.size or self._hash(path) != known.sha256

    def _hash(self, path: str) -> str:
        with open(self._place / path, "rb", opener=_no_links) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def _known(self, path: str) -> KnownFile:
        return KnownFile.of(os.lstat(self._place / path), self._hash(path))

    def _manifest(self) -> Manifest:
        try:
            return read_manifest((self._place / MANIFEST).read_bytes())
        except FileNotFoundError:
            return Manifest()
        except (ValueError, TypeError, KeyError, AttributeError, AnabranchError) as error:
            message = f"the manifest of {str(self._place)!r} can't be read: {error}"
            raise Corrupt(message, hint=f"remove {MANIFEST} there, and check out into an empty folder") from error

    def _settled(self) -> Manifest:
        """The manifest without what was taken into commits that were given up, or that no longer hold it."""
        manifest = self._manifest()
        for by, taken in manifest.taken.items():
            held = self._find_held(by, _hashes(taken))
            manifest = manifest.with_settled(by, held.paths, is_open=held.is_open)
        return manifest

    def _write_manifest(self, manifest: Manifest) -> None:
        temporary = self._temporary()
        try:
            temporary.write_text(manifest.text(), "utf-8")
            temporary.replace(self._place / MANIFEST)
        finally:
            temporary.unlink(missing_ok=True)

    def _temporary(self) -> Path:
        return self._place / f"{MANIFEST}.{new_id('t')}"

    def _clock_ns(self) -> int:
        """The time by the clock that the files' times are from."""
        probe = self._temporary()
        probe.touch()
        try:
            return probe.stat().st_mtime_ns
        finally:
            probe.unlink()

    # --- writing ---

    def _refuse_lost(self, tree: _TreeToWrite, wanted: Mapping[str, FileStat], force: bool) -> None:
        """Refuse to overwrite what nobody has taken in, unless it already is what would be written."""
        if force or not self._place.is_dir():
            return
        found = self.status()
        lost = [p for p in (*found.added, *found.changed) if not self._is_as(tree, p, wanted.get(p))]
        if lost:
            hint = "add them to a commit, use force=True, or another folder"
            message = f"{str(self._place)!r} has {len(lost)} files that would be lost, such as {lost[0]!r}"
            raise AlreadyExists(message, hint=hint)

    def _is_as(self, tree: _TreeToWrite, path: str, stat: FileStat | None) -> bool:
        if stat is None or os.lstat(self._place / path).st_size != stat.size:
            return False
        return self._hash(path) == (stat.sha256 or _hashed(tree, path))

    def _unmoved(self, manifest: Manifest, path: str, stat: FileStat) -> KnownFile | None:
        """A file that already is what would be written."""
        known = manifest.known.get(path)
        with suppress(OSError):
            found = os.lstat(self._place / path)
            if known and stat.sha256 == known.sha256 and not self._differs(manifest, path, found):
                return KnownFile.of(found, known.sha256)
        return None

    def _write(self, tree: _TreeToWrite, path: str, stat: FileStat, name: str) -> KnownFile:
        """Write one file under another name and rename it, so that it is never seen incomplete."""
        target = self._place / path
        self._make_folders(path)
        temporary, digest = target.parent / name, hashlib.sha256()
        try:
            with open(temporary, "xb", opener=_no_links) as file:
                for chunk in tree.stream(path):
                    file.write(chunk)
                    digest.update(chunk)
            os.chmod(temporary, (stat.mode or 0o644) & 0o777 | 0o600)
            if target.is_dir() and not target.is_symlink():
                target.rmdir()
            temporary.replace(target)
        except OSError as error:
            error.filename = str(target)
            raise
        finally:
            temporary.unlink(missing_ok=True)
        return KnownFile.of(os.lstat(target), digest.hexdigest())

    def _make_folders(self, path: str) -> None:
        """Make the folders above a path; refuse a link, which might lead out."""
        for folder in reversed(list(folders_above(path))):
            place = self._place / folder
            if place.is_symlink():
                hint = "remove the link, then check out again"
                raise InvalidRequest(f"{str(place)!r} is a link, which is not followed", hint=hint)
            place.mkdir(exist_ok=True)

    def _remove(self, path: str) -> None:
        """Remove a file that was written before, and then-empty folders."""
        if any((self._place / folder).is_symlink() for folder in folders_above(path)):
            return
        (self._place / path).unlink(missing_ok=True)
        for folder in folders_above(path):
            with suppress(OSError):
                (self._place / folder).rmdir()


def _place_and_part(asked: Path) -> tuple[Path, str]:
    """The folder that files were checked out into, at or above a place, and the path of that place in it."""
    place = Path(os.path.abspath(asked))
    for root in (place, *place.parents):
        if (root / MANIFEST).is_file():
            return (asked, "") if root == place else (root, place.relative_to(root).as_posix())
        if root.is_symlink():
            break
    return asked, ""


def _hashes(taken: Taken) -> dict[str, str | None]:
    return {path: known.sha256 if known else None for path, known in taken.items()}


def _hashed(tree: _TreeToWrite, path: str) -> str:
    found = hashlib.sha256()
    for chunk in tree.stream(path):
        found.update(chunk)
    return found.hexdigest()


def _no_links(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o600)


def _checked(stat: FileStat) -> str:
    """The path of a file, refused unless it could have been put, whoever wrote the tree."""
    try:
        path = check_path(stat.path)
    except InvalidRequest as error:
        raise Corrupt(f"the tree has a path that none can be: {stat.path!r}", hint="nothing was written") from error
    problem = local_problem(path)
    if problem is not None:
        hint = "move it, or delete it from the files (`ana file mv`, `ana file rm`), then check out"
        raise InvalidRequest(f"{path!r} is not checked out: {problem}", hint=hint, path=path)
    return path


def _is_half_manifest(place: Path) -> bool:
    """Tell whether a file was to become a manifest, by how it begins."""
    if place.is_symlink() or not place.is_file():
        return False
    begin = place.read_bytes()[: len(MANIFEST_BEGIN)]
    return MANIFEST_BEGIN.startswith(begin)


def _is_manifest(path: str) -> bool:
    """Tell whether a file is the manifest of its folder, or was to become it."""
    return path == MANIFEST or path.startswith(f"{MANIFEST}.")


def _refuse_same_paths(place: Path, wanted: Mapping[str, FileStat]) -> None:
    """Refuse paths that differ in case only, if the folder can't tell them apart."""
    seen: dict[str, str] = {}
    for path in wanted:
        for part in (path, *folders_above(path)):
            other = seen.setdefault(part.casefold(), part)
            if other != part and _ignores_case(place):
                hint = "move one of them, or check out on a file system that tells case apart"
                raise InvalidRequest(f"{other!r} and {part!r} would be one file in {str(place)!r}", hint=hint)


def _ignores_case(place: Path) -> bool:
    there = place
    while not there.is_dir():
        there = there.parent
    probe = there / f".{new_id('t')}a"
    probe.touch()
    try:
        return probe.with_name(probe.name.upper()).exists()
    finally:
        probe.unlink(missing_ok=True)
