"""Files that differ, as text: one line each, and the lines that differ in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from anabranch.cli.output.text import clean, paint

if TYPE_CHECKING:
    from anabranch.repo.compare.file_diff import FileDiff

COLOURS = {"added": "green", "removed": "red", "appended": "yellow", "changed": "yellow", "moved": "cyan"}
_LINES = {"+": "green", "-": "red", "@": "cyan"}


def file_lines(files: Iterable[FileDiff], *, text: bool) -> Iterator[str]:
    """One line per file; with `text`, also what differs in it."""
    for file in files:
        moved = f" (from {clean(file.moved_from)})" if file.moved_from else ""
        yield paint(f"file {file.change:<8} {clean(file.path)}{moved}", COLOURS[file.change])
        for line in (file.text() or "").splitlines() if text else ():
            yield paint(f"  {clean(line)}", _LINES[line[0]]) if line[:1] in _LINES else f"  {clean(line)}"
