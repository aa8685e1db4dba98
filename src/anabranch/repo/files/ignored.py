"""The patterns of `.anaignore`: which files of a local folder nobody wants to take in."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from anabranch.model.paths import pattern_of

IGNORE = ".anaignore"


class Ignored:
    """Globs, one a line: without a slash for every folder, with one at the end for folders only."""

    def __init__(self, lines: Iterable[str]) -> None:
        said = [line.strip() for line in lines if not line.startswith("#")]
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
