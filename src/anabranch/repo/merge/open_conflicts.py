"""What stays open until its conflicts are resolved: a merge, or a step of a sequence."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from anabranch.catalog import open_merges
from anabranch.catalog.history import to_datetime
from anabranch.catalog.open_merges import MergeRecord
from anabranch.engines.choice import quickly
from anabranch.errors import AnabranchError, BranchMoved, InvalidRequest, NotFound
from anabranch.model.clock import Position
from anabranch.model.files import FILES_NAME
from anabranch.model.ids import ThingId
from anabranch.model.paths import check_path, split_path
from anabranch.model.tables import TableEntry
from anabranch.plan.merge.rules import check_strictness
from anabranch.repo.branches.listing import list_tables_at
from anabranch.repo.branches.refs import need_branch
from anabranch.repo.context.context import Context
from anabranch.repo.context.kept_expressions import kept_rules
from anabranch.repo.context.table_state import no_table
from anabranch.repo.merge.apply import How
from anabranch.repo.merge.conflicts import Conflicts

if TYPE_CHECKING:
    import pyarrow as pa

    from anabranch.repo.compare.table_diff import Diff
    from anabranch.repo.merge.preview import Preview
    from anabranch.repo.merge.resolve import Resolution
    from anabranch.repo.read.table import Table

Take = Literal["ours", "theirs", "base"]


def quick_conflicts(kept: OpenConflicts) -> Conflicts | None:
    """The conflicts left; None where telling would start Spark or read much, or in a store that may only be read."""
    try:
        with quickly():
            return kept.conflicts
    except AnabranchError:
        return None


class OpenConflicts(ABC):
    """Unfinished work with conflicts, which shrink as they are resolved."""

    def __init__(self, ctx: Context, record: MergeRecord) -> None:
        self._ctx, self._record = ctx, record
        self._conflicts: tuple[Position, int, Conflicts] | None = None

    @property
    def id(self) -> str:
        return self._record.id

    @property
    def verb(self) -> str:
        """What is open: a merge, cherry-pick, revert or rebase."""
        return self._record.mode if self._record.is_sequence else "merge"

    @property
    def into(self) -> str:
        """The branch that will move."""
        return self._record.branch

    @property
    def started_at(self) -> datetime:
        return to_datetime(self._record.started_at)

    @property
    def message(self) -> str | None:
        return self._record.message

    @property
    @abstractmethod
    def sources(self) -> tuple[str, ...]:
        """What is brought into the branch, as it was given."""

    @property
    def conflicts(self) -> Conflicts:
        """The conflicts left to resolve, with the branch as it is now."""
        with self._ctx.catalog.one_state(), self._ctx.catalog.read() as cx:
            self._read_again()
            head = need_branch(self._ctx, cx, self.into).position
            now = (head, self._record.version)
            if self._conflicts is not None and self._conflicts[:2] == now:
                return self._conflicts[2]
            how = self._how()
        self._conflicts = (*now, self._found(how))
        return self._conflicts[2]

    def _read_again(self) -> None:
        """Pick up what was resolved elsewhere, and the branch's current name."""
        with self._ctx.catalog.read() as cx:
            found = open_merges.find(cx, self.id)
        if found is None:
            hint = f"it was finished or aborted: look at repo.log({self.into!r})"
            raise NotFound(f"{self.verb} {self.id} of {', '.join(self.sources)} is not open any more", hint=hint)
        self._record = found

    def resolve(
        self,
        table: str | None = None,
        *,
        file: str | None = None,
        content: bytes | str | None = None,
        take: Take | None = None,
        where: str | None = None,
        args: Mapping[str, Any] | None = None,
        key: Any = None,
        columns: str | Sequence[str] | None = None,
        set: Mapping[str, Any] | None = None,
    ) -> int:
        """Resolve conflicts of a table or file, by side or by values: all of them, or those of some rows and columns.

        In `set`, text is SQL over the cell's base, ours and theirs; anything else is a value. `content` is the file's
        new content. Returns how many were resolved.
        """
        from anabranch.repo.merge.resolve import Resolution, SettledRows, given_content, resolve_rows, resolve_things

        if (table is None) == (file is None):
            raise InvalidRequest("resolve needs a table or file=, one of them", hint="such as file='raw/a.csv'")
        if file is not None:
            table, key = FILES_NAME, dict(zip(("parent", "name"), split_path(check_path(file)), strict=True))
            set = given_content(content) if content is not None else set
        elif content is not None:
            raise InvalidRequest("content= is for files", hint="such as resolve(file='raw/a.csv', content=b'…')")
        assert table is not None
        if (take is None) == (set is None):
            other = "content=" if file is not None else "set="
            raise InvalidRequest(f"resolve needs take= or {other}, one of them", hint="such as take='ours'")
        named = (columns,) if isinstance(columns, str) else tuple(columns) if columns is not None else None
        asked = Resolution(table, take, where, dict(args or {}), key, named, dict(set or {}), file)
        conflicts, how = self.conflicts.with_whole(table), self._how()
        decisions = resolve_things(conflicts, asked)
        settled = SettledRows(how.settled, of_several_sources=len(self.sources) > 1)
        rows, count = resolve_rows(self._ctx, conflicts, asked, settled, self._way_out)
        left = conflicts.after(rows) if not decisions and len(self.sources) == 1 else None
        if not decisions and not count:
            (decisions, rows, count), left = self._resolve_again(asked, how), None
        if not decisions and not count:
            is_file = conflicts.has_file(table)
            if file is None and not is_file:
                need_table(self, table)
            where = conflicts.summary()
            hint = f"there are conflicts in: {where}" if where else f"no conflicts are left; the {self.verb} can go on"
            hint += "; files are named by file= (`ana resolve --file`)" if is_file else ""
            raise NotFound(f"nothing in {file or table!r} that is in conflict was asked for", hint=hint, table=table)
        self._keep({**self._record.decisions, **decisions}, rows, left)
        return count + len(decisions)

    def _resolve_again(self, asked: Resolution, how: How) -> tuple[dict[str, str], dict[ThingId, pa.Table], int]:
        """Change what was resolved before, by looking at the conflicts as they were without it."""
        from anabranch.repo.merge.resolve import SettledRows, resolve_rows, resolve_things

        decisions: dict[str, str] = {}
        rows, count = dict[ThingId, "pa.Table"](), 0
        if how.settled:
            found = self._found(replace(how, settled={})).with_whole(asked.table)
            settled = SettledRows(how.settled, of_several_sources=len(self.sources) > 1)
            rows, count = resolve_rows(self._ctx, found, asked, settled, self._way_out)
        if how.decisions:
            decisions = resolve_things(self._found(replace(how, decisions={})), asked)
        return decisions, rows, count

    def table(self, name: str, **chosen: Any) -> Table:
        """Open a table as the merge would leave it now; where conflicts are left, it shows ours."""
        return self._preview().table(name, **chosen)

    def diff(self) -> Diff:
        """What the merge would change on the branch now; unresolved conflicts change nothing."""
        return self._preview().diff()

    def abort(self) -> None:
        """Forget the merge, without a trace."""
        with self._ctx.catalog.write() as cx:
            open_merges.remove(cx, self.id)

    @abstractmethod
    def _preview(self) -> Preview: ...

    @abstractmethod
    def _found(self, how: How) -> Conflicts:
        """The conflicts left after what was resolved."""

    @property
    @abstractmethod
    def _way_out(self) -> str:
        """Advice for conflicts that can't be resolved."""

    def _how(self) -> How:
        from anabranch.objects.parquet import decode

        with self._ctx.catalog.read() as cx:
            settled = open_merges.settled(cx, self.id)
        rows = {thing: decode(content) for thing, content in settled.items()}
        r = self._record
        return How(check_strictness(r.strictness), kept_rules(r.rules), r.decisions, rows)

    def _keep(
        self, decisions: Mapping[str, str], rows: Mapping[ThingId, pa.Table], left: Conflicts | None = None
    ) -> None:
        from anabranch.objects.parquet import encode

        content = {thing: encode(table, self._ctx.settings.objects.row_group_rows) for thing, table in rows.items()}
        with self._ctx.writing() as cx:
            if not open_merges.resolve(cx, self._record, decisions, content):
                hint = "look at what is open and the log, then go on from there"
                raise BranchMoved(f"open {self.verb} {self.id} was changed or ended elsewhere", hint=hint)
        self._record = replace(self._record, decisions=dict(decisions), version=self._record.version + 1)
        known = self._conflicts
        self._conflicts = (known[0], self._record.version, left) if known and left is not None else None


def need_table(kept: OpenConflicts, name: str) -> None:
    """Refuse a name that no side calls a table; the error suggests the nearest name."""
    known = {table.name for ref in (kept.into, *kept.sources) for table in _tables_at(kept._ctx, ref)}
    if name not in known and name not in {c.table for c in kept.conflicts.things}:
        raise no_table(name, "", dict.fromkeys(known, "table"))


def _tables_at(ctx: Context, ref: str) -> Sequence[TableEntry]:
    try:
        return list_tables_at(ctx, ref, None)
    except AnabranchError:
        return ()  # A range, or a branch that is gone.
