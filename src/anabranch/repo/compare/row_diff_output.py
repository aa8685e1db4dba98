"""Compared rows as users see them: a dict per change, or a table with both sides as structs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from anabranch.frames.output import to_dicts
from anabranch.model.equality import are_equal
from anabranch.model.schema import ROW_ID, Column, Schema
from anabranch.queries import difference
from anabranch.queries.query import DELETE, INSERT, OP, UPDATE

WORDS = {INSERT: "insert", UPDATE: "update", DELETE: "delete"}
Names = list[tuple[str, str]]
"""Each column's name, and the column of the compared rows that holds its value."""


@dataclass(frozen=True)
class RowDiffColumns:
    """Which columns of compared rows hold the values to show."""

    key: Names
    before: Names
    after: Names
    cells: list[tuple[str, str, str]]
    """The columns that may differ: name, and the columns with the values before and after."""

    def rows(self, found: pa.Table) -> list[dict[str, Any]]:
        """Return one dict per change."""
        return [self._changed_row(row) for row in to_dicts(found)]

    def _changed_row(self, row: dict[str, Any]) -> dict[str, Any]:
        op = row[OP]
        differ = [name for name, before, after in self.cells if not are_equal(row[before], row[after])]
        return {
            "change": WORDS[op],
            "key": {name: row[place] for name, place in self.key},
            "before": {name: row[place] for name, place in self.before} if op != INSERT else None,
            "after": {name: row[place] for name, place in self.after} if op != DELETE else None,
            "columns": differ if op == UPDATE else [],
        }


def row_diff_columns(
    found: pa.Table,
    key: Sequence[Column],
    columns: Sequence[Column],
    had: Sequence[Column],
    keys: Collection[str],
) -> RowDiffColumns:
    """Map columns to values, depending on whether rows were compared by one of `keys` or as a whole."""
    by = keys if columns[0].before not in found.column_names else ()
    hidden = {c.id for c in ROW_ID}
    shown = [c for c in columns if c.id not in hidden]
    before = [(c.name, str(c.id) if c.id in by else c.before) for c in had if c.id not in hidden]
    cells = [(c.name, c.before, str(c.id)) for c in shown if c.id not in by]
    return RowDiffColumns([(c.name, str(c.id)) for c in key], before, [(c.name, str(c.id)) for c in shown], cells)


def wide_table(found: pa.Table, schema: Schema | None, columns: Sequence[Column], had: Sequence[Column]) -> pa.Table:
    """Return compared rows with `before` and `after` as structs, null where a side is missing."""
    keys = schema.key_ids if schema else ()
    op = found.column(OP)
    shown = [c for c in columns if c not in ROW_ID]

    def side(chosen: Sequence[Column], is_before: bool, absent: str) -> pa.Array:
        names = [c.before if is_before and c.id not in keys else str(c.id) for c in chosen]
        parts = [found.column(n).combine_chunks() for n in names]
        mask = pc.equal(op, absent).combine_chunks()
        return pa.StructArray.from_arrays(parts, [c.name for c in chosen], mask=mask)

    words = pa.array([WORDS[o] for o in op.to_pylist()], pa.string())
    named = {c.name: found.column(str(c.id)) for c in shown if c.id in keys}
    sides = {"before": side([c for c in had if c not in ROW_ID], True, INSERT), "after": side(shown, False, DELETE)}
    return pa.table({difference.CHANGE_TYPE: words, **named, **sides})


def counted_rows(rows: pa.Table) -> pa.Table:
    """Count rows in memory and their changed cells by kind of change, as `difference.counted` does."""
    found = rows.group_by(OP).aggregate([([], "count_all"), (difference.CELLS, "sum")])
    return found.select([OP, "count_all", f"{difference.CELLS}_sum"]).rename_columns(
        [OP, difference.COUNT, difference.CELLS]
    )


def renamed_beside(columns: Iterable[Column], others: Iterable[Column]) -> tuple[Column, ...]:
    """Columns that are gone; one whose name is in use again gets a suffix."""
    taken = {c.name.lower() for c in others}
    return tuple(replace(c, name=f"{c.name} (dropped)") if c.name.lower() in taken else c for c in columns)
