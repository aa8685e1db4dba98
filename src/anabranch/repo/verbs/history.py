"""The verbs that look back: the log, tables and rows over time, provenance, differences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, overload

from anabranch.errors import InvalidRequest
from anabranch.model.commits import Commit
from anabranch.repo.branches import log as log_verbs
from anabranch.repo.verbs.opened import OpenedRepository

if TYPE_CHECKING:
    from anabranch.repo.branches.provenance import ProvenanceEntry
    from anabranch.repo.compare.blame import Blame
    from anabranch.repo.compare.changes import Changes
    from anabranch.repo.compare.commit_changes import TableChange
    from anabranch.repo.compare.file_history import FileHistoryEntry
    from anabranch.repo.compare.history import RowHistoryEntry, TableHistoryEntry
    from anabranch.repo.compare.table_diff import Diff, TableDiff

Key = Mapping[str, Any] | int | str | bytes | date | Decimal
"""A row's key: columns by name, or the value of the only one."""


class HistoryVerbs(OpenedRepository):
    """What commits said, and how states differ."""

    def log(
        self,
        ref: str | Sequence[str] | None = None,
        *,
        table: str | None = None,
        path: str | None = None,
        author: str | None = None,
        since: str | datetime | None = None,
        until: str | datetime | None = None,
        limit: int | None = None,
        message: str | None = None,
    ) -> list[Commit]:
        """List the commits reachable from one or several refs, newest first; `message` is a text that theirs contains.

        With `path`, those that touched a file, or anything below a folder.
        """
        asked = log_verbs.LogRequest(table, author, since, until, limit, message)
        if path is None:
            return log_verbs.log(self._ctx, ref, asked)
        from anabranch.repo.compare.file_history import file_log

        if table is not None or (ref is not None and (not isinstance(ref, str) or ".." in ref)):
            raise InvalidRequest("log of a path takes one ref and no table", hint="leave out table=, or path=")
        return file_log(self._ctx, ref, path, asked)

    def show(self, ref: str | None = None) -> Commit:
        """Read one commit."""
        return log_verbs.show(self._ctx, ref)

    def show_changes(self, ref: str | None = None) -> list[TableChange]:
        """List what one commit did, table by table."""
        from anabranch.repo.compare.commit_changes import show_changes

        return show_changes(self._ctx, ref)

    def has_file_changes(self, ref: str | None = None) -> bool:
        """Tell whether a commit changed any versioned file."""
        return log_verbs.has_file_changes(self._ctx, ref)

    @overload
    def history(
        self, table: str, key: None = None, *, author: str | None = ..., limit: int | None = ..., at: str | None = ...
    ) -> list[TableHistoryEntry]: ...

    @overload
    def history(self, *, file: str, limit: int | None = ..., at: str | None = ...) -> list[FileHistoryEntry]: ...

    @overload
    def history(
        self, table: str, key: Key, *, author: str | None = ..., limit: int | None = ..., at: str | None = ...
    ) -> list[RowHistoryEntry]: ...

    def history(
        self,
        table: str | None = None,
        key: Key | None = None,
        *,
        file: str | None = None,
        author: str | None = None,
        limit: int | None = None,
        at: str | None = None,
    ) -> list[RowHistoryEntry] | list[TableHistoryEntry] | list[FileHistoryEntry]:
        """List the commits that touched a table, one row of it, or a file, newest first, with what they did."""
        from anabranch.repo.compare.history import row_history, table_history

        if (table is None) == (file is None):
            raise InvalidRequest("history needs a table or file=, one of them", hint="such as file='raw/a.csv'")
        if file is not None:
            from anabranch.repo.compare.file_history import file_history

            return file_history(self._ctx, file, limit, at)
        assert table is not None
        if key is None:
            return table_history(self._ctx, table, author, limit, at)
        return row_history(self._ctx, table, key, author, limit, at)

    def blame(
        self,
        table: str,
        at: str | None = None,
        *,
        cells: bool = False,
        key: Any = None,
        where: str | None = None,
        args: Mapping[str, Any] | None = None,
        column: str | None = None,
        limit: int | None = None,
    ) -> Blame:
        """Find the commit that last changed each row, or with `cells` each cell; merges count only where they decided.

        With `column`, find the commit that last changed that cell of each row.
        """
        from anabranch.repo.compare.blame import BlameRequest, blame
        from anabranch.repo.read.table import make_selection

        return blame(self._ctx, table, at, BlameRequest(cells, key, make_selection(None, where, args, limit), column))

    def merge_base(self, ours: str, theirs: str) -> list[Commit]:
        """Find the nearest common ancestors of two refs."""
        return log_verbs.merge_base(self._ctx, ours, theirs)

    def is_ancestor(self, old: str, new: str) -> bool:
        """Whether one ref is an ancestor of another, or the same."""
        return log_verbs.ancestor(self._ctx, old, new)

    def provenance(self, ref: str | None = None, *, direct: bool = False) -> list[ProvenanceEntry]:
        """List what a commit was made from, nearest first, each once, over all repositories of the store."""
        from anabranch.repo.branches.provenance import provenance

        return provenance(self._ctx, ref, direct)

    def derived(self, ref: str | None = None, *, direct: bool = False) -> list[ProvenanceEntry]:
        """List the commits that were made from one, nearest first, each once, over all repositories of the store."""
        from anabranch.repo.branches.provenance import derived

        return derived(self._ctx, ref, direct)

    def origins(self, commits: Sequence[Commit]) -> dict[str, list[ProvenanceEntry]]:
        """List what each commit names as its provenance, by commit hash; commits without any are left out."""
        from anabranch.repo.branches.provenance import origins_by_commit

        return origins_by_commit(self._ctx, commits)

    def diff(self, before: str | None = None, after: str | None = None, *, table: str | None = None) -> Diff:
        """Compare two refs: `diff("main", "dev")`, `diff("main..dev")`, or since their base, `diff("main...dev")`."""
        from anabranch.repo.compare.diff import diff

        return diff(self._ctx, before, after, table)

    def changes(
        self,
        table: str,
        since: str | None = None,
        to: str | None = None,
        *,
        columns: Iterable[str] | str | None = None,
        where: str | None = None,
        args: Mapping[str, Any] | None = None,
        key: Any = None,
        limit: int | None = None,
    ) -> Changes:
        """Follow every change of every commit after `since` up to `to`, as whole rows in Spark's change feed form.

        A change is kept if its row before or after meets `where`; one that touches none of `columns` is left out.
        """
        from anabranch.repo.compare.changes import changes
        from anabranch.repo.read.table import make_selection

        return changes(self._ctx, table, since, to, make_selection(columns, where, args, limit), key)

    def diff_tables(self, one: str, other: str, *, at: str | None = None, other_at: str | None = None) -> TableDiff:
        """Compare two tables, at one ref or two: columns by name, rows by the key of the second."""
        from anabranch.repo.compare.diff import diff_tables

        return diff_tables(self._ctx, one, other, at, other_at)
