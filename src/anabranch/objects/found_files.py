"""Finds the files of an object root in a folder, by the names that we give them; leaves all others alone."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from pathlib import Path

from anabranch.errors import Corrupt
from anabranch.objects.root import FoundFile

BEGUN = ".begun"
"""Suffix of the file that marks a prefix while an engine writes below it."""
_SHARD = re.compile("[a-z2-7]{2}")
_OWN = re.compile(r"o(?P<shard>[a-z2-7]{2})[a-z2-7]{14}(?P<kind>\.parquet|\.pack(\.[a-z0-9]{1,12})?|\.tmp|\.begun)?")


def own_name(path: str) -> str | None:
    """Our name of the file at a path, or of the prefix that it is below; None if it isn't ours."""
    shard, _, rest = path.partition("/")
    name, _, below = rest.partition("/")
    found = _OWN.fullmatch(name)
    is_own = found is not None and found["shard"] == shard and bool(below) <= (found["kind"] is None)
    return name.partition(".")[0] if is_own and not {"", "..", "."}.intersection(path.split("/")) else None


def files_below(root: Path) -> Iterator[FoundFile]:
    """Yield the files that were put there, and those below prefixes; doesn't follow links."""
    for shard in _entries(root):
        if _SHARD.fullmatch(shard.name) and shard.is_dir(follow_symlinks=False):
            yield from _in_shard(root, shard)


def remove(root: Path, path: str) -> None:
    """Remove a file of ours, and then-empty folders between it and its shard."""
    parts = path.split("/")
    folders = [root.joinpath(*parts[:n]) for n in range(len(parts) - 1, 0, -1)]
    is_own = _SHARD.fullmatch(parts[0]) and len(parts) > 1 and _OWN.fullmatch(parts[1]) and ".." not in parts
    if not is_own or any(folder.is_symlink() for folder in folders):
        raise Corrupt(f"{path!r} is no place of an object; nothing is removed there", hint="run `ana verify`")
    root.joinpath(path).unlink(missing_ok=True)
    for folder in folders[:-1]:
        try:
            folder.rmdir()
        except FileNotFoundError:
            continue
        except OSError as error:
            if error.errno == errno.ENOTEMPTY:
                return
            raise


def _in_shard(root: Path, shard: os.DirEntry[str]) -> Iterator[FoundFile]:
    """List files of one name together: anything written below a prefix keeps all of it young."""
    groups: dict[str, list[os.DirEntry[str]]] = {}
    for entry in _entries(Path(shard.path)):
        found = _OWN.fullmatch(entry.name)
        if found and found["shard"] == shard.name and entry.is_dir(follow_symlinks=False) == (found["kind"] is None):
            groups.setdefault(entry.name.partition(".")[0], []).append(entry)
    for entries in groups.values():
        yield from _files_below(root, entries)


def _files_below(root: Path, entries: list[os.DirEntry[str]]) -> Iterator[FoundFile]:
    below = [e for entry in entries for e in (entry, *_below(entry))]
    sizes = [(e, stat) for e in below for stat in _stat(e)]
    newest = max((stat.st_mtime_ns for _, stat in sizes), default=0) // 1000
    for entry, stat in sizes:
        if not entry.is_dir(follow_symlinks=False):
            yield FoundFile(str(Path(entry.path).relative_to(root)), stat.st_size, newest)


def _below(entry: os.DirEntry[str]) -> Iterator[os.DirEntry[str]]:
    if entry.is_dir(follow_symlinks=False):
        for inside in _entries(Path(entry.path)):
            yield inside
            yield from _below(inside)


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    """What is in a folder; nothing if it was just removed."""
    try:
        with os.scandir(folder) as found:
            return sorted(found, key=lambda e: e.name)
    except FileNotFoundError:
        return []


def _stat(entry: os.DirEntry[str]) -> Iterator[os.stat_result]:
    try:
        yield entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        return
