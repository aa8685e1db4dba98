"""A table inside a commit: one short method per statement; the statements have files of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from anabranch.model.changes import Counts
from anabranch.model.ids import ObjectId, ThingId
from anabranch.model.tables import TableState
from anabranch.plan.commit import Statement, ThingDraft
from anabranch.plan.properties import check_properties, with_properties, without_properties
from anabranch.repo.context.context import Context
from anabranch.repo.read.table import Selection, Table


class StatementLog(Protocol):
    """The unfinished commit that a table belongs to; it collects what statements make."""

    _ctx: Context

    def state_of(self, thing: ThingId) -> TableState: ...

    def pending(self) -> Mapping[ObjectId, bytes]: ...

    def wrote(self, thing: ThingId) -> bool: ...

    def add(self, thing: ThingId, statement: Statement) -> Counts: ...

    def alter(self, thing: ThingId, change: Callable[[ThingDraft], ThingDraft]) -> None: ...

    def drop(self, thing: ThingId) -> None: ...

    def rename(self, thing: ThingId, name: str) -> None: ...


class TableWriter(Table):
    """A table inside a commit: reads like a Table, and has the statements that change it."""

    def __init__(self, transaction: StatementLog, thing: ThingId, selection: Selection) -> None:
        self._transaction, self._thing = transaction, thing
        super().__init__(transaction._ctx, lambda: transaction.state_of(thing), selection, transaction.pending())

    def _with(self, selection: Selection) -> TableWriter:
        return TableWriter(self._transaction, self._thing, selection)

    @property
    def _is_changed(self) -> bool:
        """Whether this commit has written rows of it."""
        return self._transaction.wrote(self._thing)

    def insert(self, rows: Any) -> Counts:
        """Add rows whose keys are new."""
        from anabranch.repo.write.insert import insert

        return self._transaction.add(self._thing, insert(self._ctx, self._state, rows, self._pending))

    def upsert(self, rows: Any) -> Counts:
        """Add rows, or update those whose keys exist; partial rows keep the columns they leave out."""
        from anabranch.repo.write.upsert import upsert

        return self._transaction.add(self._thing, upsert(self._ctx, self._state, rows, self._pending))

    def update(
        self, values: Mapping[str, Any], where: str | None = None, args: Mapping[str, Any] | None = None
    ) -> Counts:
        """Set columns of the rows that `where` selects; text is an SQL expression, anything else a value."""
        from anabranch.repo.write.update import update

        return self._transaction.add(self._thing, update(self._ctx, self._state, values, where, args, self._pending))

    def delete(self, where: str | None = None, args: Mapping[str, Any] | None = None) -> Counts:
        """Delete the rows that `where` selects; without it, all rows."""
        from anabranch.repo.write.delete import delete

        return self._transaction.add(self._thing, delete(self._ctx, self._state, where, args, self._pending))

    def overwrite(self, rows: Any, where: str | None = None, args: Mapping[str, Any] | None = None) -> Counts:
        """Replace the rows that `where` selects, or all, by these rows; only what really differs is stored.

        With `where`, it must select every given row, too: `overwrite(rows, where="day = 2")`.
        """
        from anabranch.repo.write.overwrite import overwrite

        made = overwrite(self._ctx, self._state, rows, self._pending, where, args)
        return self._transaction.add(self._thing, made)

    def drop(self) -> None:
        """Drop the table; earlier commits still show it."""
        self._transaction.drop(self._thing)

    def rename(self, name: str) -> None:
        """Rename the table, or move it to another namespace."""
        self._transaction.rename(self._thing, name)

    # Columns, key, checks

    def add_column(
        self, name: str, type: str, default: Any = None, nullable: bool = True, comment: str | None = None
    ) -> None:
        """Add a column; existing rows get the default, without being rewritten.

        Text is an SQL expression, anything else a value.
        """
        from anabranch.repo.write import alter_table

        asked = alter_table.NewColumn(name, type, default, nullable, comment)
        self._transaction.alter(self._thing, lambda table: alter_table.add_column(self._ctx, table, asked))

    def drop_column(self, name: str) -> None:
        """Drop a column; a later one of the same name does not bring its values back."""
        from anabranch.repo.write import alter_table

        self._transaction.alter(self._thing, lambda table: alter_table.drop_column(table, name))

    def rename_column(self, old: str, new: str) -> None:
        """Rename a column."""
        from anabranch.repo.write import alter_table

        self._transaction.alter(self._thing, lambda table: alter_table.rename_column(table, old, new))

    def alter_column(
        self, name: str, type: str | None = None, nullable: bool | None = None, default: Any = ..., comment: Any = ...
    ) -> None:
        """Widen a column's type, or change its nullability, comment or default for new rows (None for none)."""
        from anabranch.repo.write import alter_table

        asked = alter_table.ColumnChange(name, type, nullable, default, comment)
        self._transaction.alter(
            self._thing, lambda table: alter_table.alter_column(self._ctx, table, asked, self._pending)
        )

    def set_key(self, key: str | Sequence[str] | None) -> None:
        """Give the table another key, or none; its rows are checked, and rewritten in key order."""
        from anabranch.repo.write.alter_table import set_key

        self._transaction.alter(self._thing, lambda table: set_key(self._ctx, table, key, self._pending))

    def add_check(self, name: str, condition: str) -> None:
        """Require a condition of every row, now and on every write; null counts as met."""
        from anabranch.repo.write import checks as table_checks

        self._transaction.alter(
            self._thing, lambda table: table_checks.add_check(self._ctx, table, name, condition, self._pending)
        )

    def drop_check(self, name: str) -> None:
        """Drop a check."""
        from anabranch.repo.write import checks as table_checks

        self._transaction.alter(self._thing, lambda table: table_checks.drop_check(table, name))

    # Properties and layout

    def set_properties(self, properties: Mapping[str, str]) -> None:
        """Set properties; others stay."""
        from anabranch.repo.context.kept_expressions import check_kept_rules

        given = check_kept_rules(check_properties(properties))
        self._transaction.alter(self._thing, lambda table: with_properties(table, given))

    def unset_properties(self, properties: Iterable[str]) -> None:
        """Remove properties."""
        self._transaction.alter(self._thing, lambda table: without_properties(table, properties))

    def cluster_by(self, columns: str | Sequence[str] | None) -> None:
        """Order rows written from now on by these columns; None goes back to the key."""
        from anabranch.repo.write import alter_table

        self._transaction.alter(self._thing, lambda table: alter_table.cluster_by(table, columns))
