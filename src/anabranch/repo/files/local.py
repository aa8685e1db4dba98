"""Local files: those to be put, found by a pattern, and whether they change while being read; those to be ignored."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from anabranch.errors import InvalidRequest, NotFound, Unavailable
from anabranch.model.local_paths import GIT, MANIFEST
from anabranch.model.paths import fixed_folder, has_wildcard, pattern_of
from anabranch.model.store_folder import FOLDER

LEFT_OUT = (FOLDER, GIT)
"""What is never versioned: a store, and what git keeps in a folder, or in a file that names one."""


def local_files(source: str | os.PathLike[str]) -> Iterator[tuple[str, Path]]:
    """Find local files by a pattern or in a folder, each with its path below the part without wildcards."""
    text = os.fspath(source)
    base = Path(fixed_folder(text.replace(os.sep, "/")) or ("/" if text.startswith("/") else "."))
    if not has_wildcard(text):
        base = Path(text)
        if base.is_file():
            yield base.name, base
            return
        text = f"{text.rstrip('/')}/**"
    if not base.is_dir():
        raise NotFound(
            f"there is no folder {str(base)!r}", hint="give a folder, or a pattern such as 'photos/**/*.jpg'"
        )
    wanted = pattern_of(text.replace(os.sep, "/").removeprefix("./"))
    for place in walk_local(base):
        if wanted.fullmatch(place.as_posix()):
            yield place.relative_to(base).as_posix(), place


def walk_local(base: Path) -> Iterator[Path]:
    """Yield every regular file below a folder, in order; doesn't follow links, and leaves out stores and `.git`."""
    for folder, below, names in os.walk(base):
        below[:] = sorted(name for name in below if name not in LEFT_OUT)
        for name in sorted(names):
            place = Path(folder, name)
            is_manifest = name == MANIFEST and folder == str(base)
            if name in LEFT_OUT or is_manifest:
                continue
            if place.is_file() and not place.is_symlink():
                yield place


@contextmanager
def reading_local(place: Path) -> Iterator[BinaryIO]:
    """Open a local file; refuse it if it changed while being read."""
    try:
        with place.open("rb") as stream:
            before = os.fstat(stream.fileno())
            yield stream
            after = os.fstat(stream.fileno())
    except FileNotFoundError as error:
        raise NotFound(f"there is no file {str(place)!r}", hint="check the path") from error
    except IsADirectoryError as error:
        raise InvalidRequest(f"{str(place)!r} is a folder", hint="use put_all") from error
    if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
        raise Unavailable(f"{str(place)!r} changed while it was read", hint="put it again when nobody writes to it")


IGNORE = ".anaignore"


class Ignored:
    """Globs, one a line: without a slash for every folder, with one at the end for folders only.

    Stores and what is git's are ignored always.
    """

    def __init__(self, lines: Iterable[str]) -> None:
        said = [*LEFT_OUT, *(line.strip() for line in lines if not line.startswith("#"))]
        kept = [line for line in said if line.strip("/")]
        self._of_folders = [_pattern(line) for line in kept]
        self._of_files = [_pattern(line) for line in kept if not line.endswith("/")]

    def __call__(self, path: str, *, is_folder: bool) -> bool:
        return any(p.fullmatch(path) for p in (self._of_folders if is_folder else self._of_files))


def _pattern(line: str) -> re.Pattern[str]:
    """Compile a line; one that begins with a slash counts at the top only."""
    return pattern_of(line.strip("/"), anywhere=not line.startswith("/"))


def read_ignored(folder: Path) -> Ignored:
    """Read the patterns of a folder; none if it has no such file, or a link there."""
    place = folder / IGNORE
    is_there = place.is_file() and not place.is_symlink()
    return Ignored(place.read_text("utf-8", errors="replace").splitlines() if is_there else ())
