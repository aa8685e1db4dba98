"""What differs between two states, as values; rows are read only on demand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from anabranch.engines.choice import quickly
from anabranch.errors import InvalidRequest, Unavailable
from anabranch.frames.relation import Relation
from anabranch.model.schema import Schema
from anabranch.model.tables import TableState
from anabranch.model.types import DataType, can_widen
from anabranch.plan.schema_diff import SchemaChange, attribute_changes, schema_changes
from anabranch.repo.compare.file_diff import FilesDiff
from anabranch.repo.compare.two_states import Ends, ends_of
from anabranch.repo.context.context import Context

if TYPE_CHECKING:
    import pyarrow as pa

    from anabranch.frames.notebook import DifferenceShown
    from anabranch.repo.compare.row_diff import RowChanges

Word = Literal["added", "dropped", "changed"]
_SHOWN_TABLES = 10
"""How many tables a notebook shows."""


@dataclass(frozen=True)
class NamespaceDiff:
    """A namespace that was added, dropped or changed."""

    name: str
    change: Word
    renamed_from: str | None
    schema: tuple[SchemaChange, ...]


class TableDiff(Relation):
    """What differs in one table. Rows are read on demand."""

    def __init__(
        self, ctx: Context, name: str, before: TableState | None, after: TableState | None, ends: Ends
    ) -> None:
        self._ctx, self.name = ctx, name
        self._before, self._after, self._ends = before, after, ends

    def __repr__(self) -> str:
        return f"TableDiff({self.name!r}, {self.change})"

    def _repr_html_(self) -> str:
        from anabranch.frames.notebook import diff_html

        return diff_html([self._shown()])

    def _shown(self) -> DifferenceShown:
        """What a notebook shows."""
        from anabranch.frames.notebook import DifferenceShown
        from anabranch.model.html import ROWS

        renamed = f", renamed from {self.renamed_from}" if self.renamed_from else ""
        counts = self.counts()
        described = [", ".join(f"{n:,} {word}" for word, n in counts.items())]
        described += [f"{c.change} {c.name or ''}: {c.before} → {c.after}" for c in self.schema]
        title = f"{self.name}: {self.change}{renamed}"
        total = sum(counts[w] for w in ("inserted", "updated", "deleted"))
        return DifferenceShown(title, tuple(described), self.columns, self.rows(limit=ROWS), total)

    @property
    def change(self) -> Word:
        """Whether the table was added, dropped or changed."""
        return "added" if self._before is None else "dropped" if self._after is None else "changed"

    @property
    def id(self) -> str:
        """The table's id, which stays whatever its name; that of the table before, if it was dropped."""
        state = self._after or self._before
        assert state is not None
        return state.id

    @property
    def renamed_from(self) -> str | None:
        """The name before, if the table has another one now."""
        return self._before.name if self._before and self._after and self._before.name != self._after.name else None

    @property
    def columns(self) -> Schema:
        """The table's columns after; those before, if it was dropped."""
        return self._ends.after.schema

    @property
    def touched(self) -> dict[str, int] | None:
        """The rows that the commits between touched, known without reading data; None if only reading rows can tell.

        A row that was changed twice counts twice, and one that was changed back counts too.
        """
        if self.change == "changed":
            return self._ends.touched
        rows = self._ends.after.row_count + self._ends.before.row_count
        return {"inserted": 0, "updated": 0, "deleted": 0, "inserted" if self.change == "added" else "deleted": rows}

    @cached_property
    def schema(self) -> tuple[SchemaChange, ...]:
        """What changed in columns, key, checks, properties and clustering."""
        if self._before is None or self._after is None:
            return ()
        changed = schema_changes(self._before.schema, self._ends.after.schema)
        return (*changed, *attribute_changes(_named_layout(self._before), _named_layout(self._after)))

    @property
    def _described(self) -> tuple[SchemaChange, ...]:
        """The checks, properties and clustering of a table that was added."""
        if self._before is not None or self._after is None:
            return ()
        return attribute_changes({"cluster_by": []}, _named_layout(self._after))

    @property
    def _is_made_anew(self) -> bool:
        """Whether the table must be dropped and created: no statements lead from the one before to the one after.

        That is so if a type became narrower, or if another table took its place under another key.
        """
        if self._before is None or self._after is None:
            return False
        old, new = self._before.schema, self._ends.after.schema
        types = [(was.type, c.type) for c in new if (was := old.written_as(c))]
        return self._changes.took_its_place or any(not can_widen(was, now) for was, now in types)

    def _as_added(self) -> TableDiff:
        """The table after, as if it had not existed before: all of its rows are insertions."""
        assert self._after is not None
        ends = replace(ends_of(None, self._after), pending=self._ends.pending)
        return TableDiff(self._ctx, self.name, None, self._after, ends)

    @cached_property
    def _changes(self) -> RowChanges:
        from anabranch.repo.compare.row_diff import RowChanges

        return RowChanges(self._ctx, self._ends, self.change)

    @property
    def long_columns(self) -> tuple[tuple[str, DataType], ...]:
        """The names and types of the columns of `arrow` and `spark`."""
        return self._changes.long_columns

    def counts(self) -> dict[str, int]:
        """Count the rows inserted, updated and deleted, and the cells changed."""
        return self._changes.counts()

    def _quick_counts(self) -> dict[str, int] | None:
        """Count as `counts` does, unless that would start Spark or read much."""
        try:
            with quickly():
                return self.counts()
        except (Unavailable, InvalidRequest):  # The latter where only Spark can, and another engine was asked for.
            return None

    def rows(
        self,
        *,
        key: Any = None,
        where: str | None = None,
        args: Mapping[str, Any] | None = None,
        limit: int | None = None,
    ) -> list[dict[str, Any]]:
        """List the changes: `change`, `key`, `before` and `after` as whole rows, and the `columns` that differ."""
        return self._changes.rows(key, where, args, limit)

    def count(self) -> int:
        """Count the rows that differ."""
        found = self.counts()
        return found["inserted"] + found["updated"] + found["deleted"]

    def cells(self, limit: int | None = None) -> list[dict[str, Any]]:
        """List the cells that differ in rows that both sides have; reads only changes where these suffice."""
        return self._changes.cells(limit)

    def arrow(self, **chosen: Any) -> pa.Table:
        """The changed rows with Spark's `_change_type`, as an Arrow table."""
        return self._changes.arrow(**chosen)

    def spark(self, **chosen: Any) -> Any:
        """The changed rows with Spark's `_change_type`, as a Spark DataFrame."""
        return self._changes.spark(**chosen)

    def wide(self, **chosen: Any) -> pa.Table:
        """One row per change: `_change_type`, the key, and `before` and `after` as structs."""
        return self._changes.wide(**chosen)

    @cached_property
    def is_empty(self) -> bool:
        """Whether nothing differs after all, as changes may have been undone."""
        if self.change != "changed" or self.renamed_from or self.schema:
            return False
        return self._changes.is_empty()


def _named_layout(table: TableState) -> dict[str, Any]:
    """A table's attributes, with clustering columns by name."""
    names = {c.id: c.name for c in table.schema}
    return {**table.attributes, "cluster_by": [names.get(c, c) for c in table.attributes.get("cluster_by", ())]}


class Diff:
    """What differs between two commits; `diff["orders"]` is one table."""

    def __init__(
        self,
        tables: tuple[TableDiff, ...],
        namespaces: tuple[NamespaceDiff, ...],
        one: Callable[[str], Diff],
        files: FilesDiff,
    ) -> None:
        self._all, self.namespaces, self._one = tables, namespaces, one
        self.files = files

    def __repr__(self) -> str:
        return f"Diff({', '.join([*self.tables, *self._files_told()]) or 'nothing'})"

    def _files_told(self) -> list[str]:
        count = len(self.files)
        return [f"{count} {'file' if count == 1 else 'files'}"] if count else []

    def _repr_html_(self) -> str:
        from anabranch.frames.notebook import diff_html

        others = [f"namespace {n.name}: {n.change}" for n in self.namespaces]
        more = [t.name for t in self._tables[_SHOWN_TABLES:]]
        others += [f"and {len(more)} more: {', '.join(more)}"] if more else []
        others += self._files_told()
        return diff_html((t._shown() for t in self._tables[:_SHOWN_TABLES]), others)

    @cached_property
    def _tables(self) -> tuple[TableDiff, ...]:
        return tuple(t for t in self._all if not t.is_empty)

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of the tables that differ."""
        return tuple(dict.fromkeys(t.name for t in self._tables))

    @property
    def candidates(self) -> tuple[TableDiff, ...]:
        """The tables that commits between touched, known without reading data; some may not differ after all."""
        return self._all

    def __getitem__(self, name: str) -> TableDiff:
        """One table: the later, if two had the name in turn; without changes, if it does not differ."""
        named = sorted((t for t in self._all if t.name == name), key=lambda t: t.change == "dropped")
        named += [t for t in self._all if t.renamed_from == name]
        return named[0] if named else self._one(name)._all[0]

    def __contains__(self, name: str) -> bool:
        return name in self.tables

    def __iter__(self) -> Iterator[TableDiff]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)

    def __bool__(self) -> bool:
        return bool(self._tables or self.namespaces or len(self.files))

    def counts(self) -> dict[str, dict[str, int]]:
        """Count what differs, by table."""
        found: dict[str, dict[str, int]] = {}
        for t in self._tables:
            known = found.get(t.name, {})
            found[t.name] = {word: n + known.get(word, 0) for word, n in t.counts().items()}
        return found
