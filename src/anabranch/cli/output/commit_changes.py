"""What a commit changed against its first parent, below its message: rows, counts or both, of all or of one thing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from anabranch.cli.output.diff_text import file_lines, overview, whole_text
from anabranch.documents.diff import Wanted

if TYPE_CHECKING:
    from anabranch import Commit, Repository
    from anabranch.repo.compare.file_diff import FileDiff
    from anabranch.repo.compare.table_diff import Diff, TableDiff

_ROWS_SHOWN = 100


@dataclass(frozen=True)
class ShownThing:
    """A table or a path of files that alone is shown."""

    table: str | None = None
    ids: frozenset[str] = frozenset()
    """The table's ids, by which it is known under earlier names; none if it is there no more."""
    path: str | None = None

    def has_table(self, found: TableDiff) -> bool:
        if self.ids or self.table is None:
            return found.id in self.ids
        return self.table.casefold() in (name.casefold() for name in (found.name, found.renamed_from) if name)

    def has_file(self, found: FileDiff) -> bool:
        paths = (found.path, found.moved_from or "")
        return self.path is not None and any(p == self.path or p.startswith(f"{self.path}/") for p in paths)


@dataclass(frozen=True)
class CommitChanges:
    """How the changes of commits are shown."""

    repo: Repository
    rows: bool
    """Whether rows and lines of files are shown."""
    counts: bool
    """Whether a line for each table and file is shown; before the rows, as in git."""
    only: ShownThing | None = None

    def lines(self, commit: Commit) -> list[str]:
        """What a commit changed."""
        if not commit.parents:
            return []
        found = self.repo.diff(commit.parents[0], commit.hash)
        tables = self._tables(found) if commit.tables else None
        files = [file for file in found.files if self.only is None or self.only.has_file(file)]
        counts = [f"  {line}" for line in self._overview(found, tables, files)] if self.counts else []
        rows = list(self._whole(found, tables, files)) if self.rows else []
        return [*counts, *([""] if counts and rows else []), *rows]

    def _tables(self, found: Diff) -> list[TableDiff] | None:
        """The tables that are shown; None if that is left to files."""
        if self.only is None:
            return list(found)
        return [t for t in found.candidates if self.only.has_table(t) and not t.is_empty] or None

    def _overview(self, found: Diff, tables: list[TableDiff] | None, files: list[FileDiff]) -> Iterator[str]:
        if tables is not None:
            yield from overview(tables, () if self.only else found.namespaces, exact=True)
        yield from file_lines(files, text=False)

    def _whole(self, found: Diff, tables: list[TableDiff] | None, files: list[FileDiff]) -> Iterator[str]:
        if tables is not None:
            yield from whole_text(tables, () if self.only else found.namespaces, Wanted(None, (), _ROWS_SHOWN))
        yield from file_lines(files, text=True)
