"""What differs between the files of two states: added, removed, appended to, changed, moved; text line by line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import unified_diff
from functools import cached_property
from typing import Any, Literal

from anabranch.model.files import FileRow, FileStat
from anabranch.plan.refs_forest import added_since
from anabranch.repo.files.blocks import BlockReader

FileWord = Literal["added", "removed", "appended", "changed", "moved"]
_TEXT_BYTES = 10 * 1024 * 1024


@dataclass(frozen=True)
class FileDiff:
    """One file that differs."""

    path: str
    change: FileWord
    before: FileStat | None
    after: FileStat | None
    appended_bytes: int = 0
    moved_from: str | None = None
    _rows: tuple[FileRow | None, FileRow | None] = field(default=(None, None), repr=False, compare=False)
    _reader: BlockReader | None = field(default=None, repr=False, compare=False)

    def document(self) -> dict[str, Any]:
        """The difference as plain values."""
        return {
            "path": self.path,
            "change": self.change,
            "before_bytes": self.before.size if self.before else None,
            "after_bytes": self.after.size if self.after else None,
            "appended_bytes": self.appended_bytes,
            "moved_from": self.moved_from,
        }

    def text(self, context: int = 3) -> str | None:
        """The differing lines, as `diff -u` shows them; None if a side is not UTF-8 text, or is larger than 10 MB."""
        sides = [self._lines(row) for row in self._rows]
        if sides[0] is None or sides[1] is None:
            return None
        names = [f"a/{self.moved_from or self.path}", f"b/{self.path}"]
        names = [name if row else "/dev/null" for name, row in zip(names, self._rows, strict=True)]
        return "".join(_ended(line) for line in unified_diff(sides[0], sides[1], names[0], names[1], n=context))

    def _lines(self, row: FileRow | None) -> list[str] | None:
        if row is None:
            return []
        if row.size > _TEXT_BYTES or self._reader is None:
            return None
        try:
            content = b"".join(self._reader.stream(row.blocks, row.path, row.size)).decode()
        except UnicodeDecodeError:
            return None
        return None if "\x00" in content else content.splitlines(keepends=True)


def _ended(line: str) -> str:
    return line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


class FilesDiff:
    """The files that differ between two states, in path order; read on first use."""

    def __init__(self, rows: Callable[[], list[dict[str, Any]]] | None, reader: BlockReader) -> None:
        self._rows, self._reader = rows, reader

    def __repr__(self) -> str:
        return f"FilesDiff({len(self)} files)"

    def __iter__(self) -> Iterator[FileDiff]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def __getitem__(self, path: str) -> FileDiff:
        return {f.path: f for f in self._found}[path]

    def counts(self) -> dict[str, int]:
        """Count the files by kind of change, leaving out kinds that do not occur."""
        words = [f.change for f in self._found]
        return {word: words.count(word) for word in dict.fromkeys(words)}

    def rows(self) -> list[dict[str, Any]]:
        """List what differs, as plain values."""
        return [f.document() for f in self._found]

    @cached_property
    def _found(self) -> tuple[FileDiff, ...]:
        pairs = [(_row(row["before"]), _row(row["after"])) for row in self._rows()] if self._rows else []
        moved = _moves(pairs)
        found = [
            _file_diff(before, after, moved, self._reader)
            for before, after in pairs
            if any(r and r.name for r in (before, after))
        ]
        left = {f.moved_from for f in found}
        kept = [f for f in found if not (f.change == "removed" and f.path in left)]
        return tuple(sorted(kept, key=lambda f: f.path))


def _moves(pairs: Sequence[tuple[FileRow | None, FileRow | None]]) -> dict[str, FileRow]:
    """Where added files came from: each removed one moved to one place at most, the one with its time before copies."""
    gone = [before for before, after in pairs if before and before.blocks and not after]
    added = sorted((after for before, after in pairs if after and not before), key=lambda row: row.path)
    found: dict[str, FileRow] = {}
    for alike in (lambda row: (row.blocks, row.written_at), lambda row: row.blocks):
        taken = {source.path for source in found.values()}
        left: dict[Any, list[FileRow]] = {}
        for row in sorted(gone, key=lambda row: row.path, reverse=True):
            if row.path not in taken:
                left.setdefault(alike(row), []).append(row)
        found |= {row.path: left[alike(row)].pop() for row in added if row.path not in found and left.get(alike(row))}
    return found


def _row(record: dict[str, Any] | None) -> FileRow | None:
    from anabranch.repo.files.tree_rows import row_of

    return None if record is None else row_of(record)


def _file_diff(
    before: FileRow | None, after: FileRow | None, moved: Mapping[str, FileRow], reader: BlockReader
) -> FileDiff:
    from anabranch.repo.files.tree import stat_of

    old, new = (stat_of(row) if row else None for row in (before, after))
    if after is None:
        assert before is not None
        return FileDiff(before.path, "removed", old, None, _rows=(before, None), _reader=reader)
    if before is None:
        source = moved.get(after.path)
        if source is None:
            return FileDiff(after.path, "added", None, new, _rows=(None, after), _reader=reader)
        return FileDiff(after.path, "moved", stat_of(source), new, 0, source.path, (source, after), reader)
    added = added_since(*(reader.leaves(row) for row in (after, before)))
    size = sum(ref.size for ref in added or ())
    return FileDiff(after.path, "appended" if size else "changed", old, new, size, None, (before, after), reader)
