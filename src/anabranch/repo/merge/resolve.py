"""resolve: decide conflicts by side, values or expressions; decisions are kept with the three rows at each key."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from anabranch.arrow.fitting import DoesNotFit
from anabranch.errors import InvalidRequest
from anabranch.frames.input import one_value
from anabranch.frames.output import objects_of
from anabranch.model.files import GIVEN, BlockRef
from anabranch.model.ids import ThingId
from anabranch.model.schema import Column, Schema
from anabranch.plan.merge.files import FILE_FOLDER
from anabranch.plan.merge.sides import ThingConflict
from anabranch.proven.expression import Expression
from anabranch.queries import decided_rows
from anabranch.queries.query import Rows, reading_of
from anabranch.queries.three_way import BASE, KIND, OURS, STAYS, THEIRS, Decision, conflict_of, there, value_of
from anabranch.repo.context.context import Context
from anabranch.repo.merge.chosen_conflicts import (
    as_decided,
    chosen_rows,
    engine_for,
    of_other_versions,
    others_than,
    tuples,
)
from anabranch.repo.merge.conflicts import Conflicts, TableConflicts
from anabranch.repo.merge.row_work import rule_tree, unproven_rule
from anabranch.repo.write.assigned_values import constant_for
from anabranch.settings import GIVEN_CONTENT_LIMIT_BYTES

_SIDES = {"base": BASE, "ours": OURS, "theirs": THEIRS}


@dataclass(frozen=True)
class Resolution:
    """The arguments of `resolve`."""

    table: str
    take: str | None = None
    where: str | None = None
    args: Mapping[str, Any] = field(default_factory=dict)
    key: Any = None
    columns: tuple[str, ...] | None = None
    values: Mapping[str, Any] = field(default_factory=dict)
    file: str | None = None
    """The path of a versioned file, instead of a table."""

    def __post_init__(self) -> None:
        if self.take is not None and self.take not in _SIDES:
            raise InvalidRequest(f"take={self.take!r} is no side", hint="choose ours, theirs or base")

    @property
    def is_for_all(self) -> bool:
        """Whether it concerns the table or file as a whole."""
        return self.where is None and (self.key is None or self.file is not None) and not self.values

    def is_about(self, conflict: ThingConflict) -> bool:
        """Whether a conflict over a table, a column or a path was asked for."""
        if (conflict.kind == FILE_FOLDER) != (self.file is not None):
            return False
        wanted = self.file if self.file is not None else self.table
        return conflict.table == wanted and (self.columns is None or conflict.column in self.columns)


@dataclass(frozen=True)
class SettledRows:
    """The rows of an open merge that were decided before, by table."""

    rows: Mapping[ThingId, pa.Table]
    of_several_sources: bool
    """Whether sources are merged one after another: then a key has a decision for each that conflicts there."""

    def with_newer(self, known: pa.Table | None, rows: pa.Table, how: Decision) -> pa.Table:
        """The rows of one table, with newer decisions in place of those that they change."""
        if known is None or known.schema.names != rows.schema.names:
            return rows
        key = [str(k) for k in how.schema.key_ids]
        others = others_than(rows, known, key)
        parts = [others.cast(rows.schema), rows]
        if self.of_several_sources:
            again = others_than(others, known, key).cast(rows.schema)
            parts.append(of_other_versions(rows, again, how))
        return pa.concat_tables(parts)


def given_content(content: bytes | str) -> dict[str, Any]:
    """A file's new content as values of its row; the merge stores the bytes when it is computed."""
    given = content.encode() if isinstance(content, str) else bytes(content)
    if len(given) > GIVEN_CONTENT_LIMIT_BYTES:
        hint = "take a side, finish the merge, then put the file"
        raise InvalidRequest(f"{len(given):,} bytes are too many to resolve a conflict with", hint=hint)
    digest = hashlib.sha256(given).digest()
    ref = BlockRef(GIVEN, "p", 0, b64encode(given).decode(), 0, len(given), digest)
    return {"size": len(given), "sha256": digest, "written_at": datetime.now(UTC), "blocks": [ref._asdict()]}


def resolve_things(conflicts: Conflicts, asked: Resolution) -> dict[str, str]:
    """Settle conflicts over the table itself, its columns or a path by taking a side."""
    takes_side = asked.take in ("ours", "theirs")
    if not takes_side and any(c.kind == FILE_FOLDER and asked.is_about(c) for c in conflicts.things):
        message = f"{asked.file!r} is a file on one side and a folder on the other, which only a side can settle"
        raise InvalidRequest(message, hint="take ours or theirs: what the other side has there goes")
    if not asked.is_for_all or not takes_side:
        return {}
    found = {}
    for c in conflicts.things:
        if asked.is_about(c):
            if not c.can_decide:
                hint = "change one of the branches, then merge again"
                raise InvalidRequest(f"{c.kind} of {c.table!r} can't be settled by taking a side", hint=hint)
            found[c.id] = str(asked.take)
    return found


def resolve_rows(
    ctx: Context, conflicts: Conflicts, asked: Resolution, settled: SettledRows, way_out: str
) -> tuple[dict[ThingId, pa.Table], int]:
    """Settle rows and cells in conflict; return the table's settled rows and how many conflicts were settled.

    `way_out` is the hint where nothing can be resolved.
    """
    tables = conflicts.decided(asked.table)
    if not tables:
        _refuse_keys(conflicts, asked.table, way_out)
        return {}, 0
    id_, schema = tables[0].id, tables[0].decision.schema
    decided = {c.column for c in conflicts.things if c.table == asked.table}
    for name in asked.columns or ():
        if name not in decided:
            schema.column(name)
    known, total = settled.rows.get(id_), 0
    for table in tables:
        rows, count = _Resolving(ctx, table, asked, broken=table is conflicts.breaking.get(asked.table)).run()
        if count:
            known = settled.with_newer(known, rows, table.decision)
        total += count
    return ({id_: known}, total) if known is not None and total else ({}, 0)


def _refuse_keys(conflicts: Conflicts, table: str, hint: str) -> None:
    """Refuse rows that break a key, which can't be settled one by one."""
    names = [v.name for v in conflicts.broken if v.table == table and v.kind == "key"]
    if names:
        raise InvalidRequest(f"rows of {table!r} that break its key ({names[0]}) can't be resolved", hint=hint)


@dataclass(frozen=True)
class _Resolving:
    ctx: Context
    table: TableConflicts
    asked: Resolution
    broken: bool = False
    """Whether the rows break a constraint, rather than being in conflict."""

    @property
    def schema(self) -> Schema:
        return self.table.decision.schema

    @property
    def cells(self) -> tuple[Column, ...]:
        return self.table.decision.cells

    def run(self) -> tuple[pa.Table, int]:
        chosen = chosen_rows(self.ctx, self.table, self.asked.key, self.asked.where, self.asked.args)
        values = self._values(chosen) if self.asked.values else {}
        count = 0
        settled = []  # A row in which nothing was asked for stays as it is, conflicts and earlier decisions included.
        for n, row in enumerate(chosen.to_pylist(maps_as_pydicts=None)):
            given = {c: column[n] for c, column in values.items()}
            found = self._settle(row, given)
            count += found
            if found:
                settled.append(row)
        return as_decided(settled, chosen, self.table.decision), count

    def _values(self, rows: pa.Table) -> dict[Column, list[Any]]:
        """The values given: an expression's, computed for each row, or a constant."""
        found = {}
        for name, value in self.asked.values.items():
            column = self.schema.column(name)
            if column not in self.cells:
                raise InvalidRequest(f"{name!r} is part of the key", hint="set other columns, or take a side")
            if isinstance(value, str):
                found[column] = self._computed(rows, column, Expression.of(value, self.asked.args, "set="))
            else:
                found[column] = [self._constant(column, value)] * rows.num_rows
        return found

    def _constant(self, column: Column, value: Any) -> Any:
        """A Python value as the column holds it, converted like one in a row."""
        try:
            return one_value(constant_for(value, column), column)[0].as_py()
        except DoesNotFit as error:
            message = f"resolve of {self.table.table!r}: set={{{column.name!r}: {value!r}}}: {error}"
            raise InvalidRequest(message, hint="give a value that fits", column=column.name) from error

    def _computed(self, rows: pa.Table, column: Column, expression: Expression) -> list[Any]:
        what = f"resolve of {self.table.table!r}: set={{{column.name!r}: {expression.text!r}}}"
        engine = engine_for(self.ctx, self.table, unproven_rule(expression, column, what))
        tree = rule_tree(expression, column, engine, what)
        query = decided_rows.computed(reading_of(Rows(rows), rows.column_names), column, tree, self.schema)
        args = dict(expression.args)
        found = engine.fetch(replace(query, args=args))
        keys = [str(k) for k in self.schema.key_ids]
        by_key = dict(zip(tuples(found, keys), objects_of(found.column("v")), strict=True))
        return [by_key[key] for key in tuples(rows, keys)]

    def _settle(self, row: dict[str, Any], given: Mapping[Column, Any]) -> int:
        """Settle what was asked for in one row; return how many conflicts that settles."""
        if self.broken:
            return self._settle_broken(row, given)
        if row[KIND] is not None:
            return self._settle_row(row, given)
        wanted = [c for c in self.cells if row[conflict_of(c)] and self._is_wanted(c, given)]
        for c in wanted:
            row[str(c.id)] = given[c] if c in given else row[value_of(c, _SIDES[str(self.asked.take)])]
            row[conflict_of(c)] = 0
        if wanted:
            for c in given:
                row[str(c.id)] = given[c]
        return len(wanted)

    def _settle_broken(self, row: dict[str, Any], given: Mapping[Column, Any]) -> int:
        """Give a row that breaks a constraint the given values, or a side's."""
        for c in given:
            row[str(c.id)] = given[c]
        if not given:
            side = _SIDES[str(self.asked.take)]
            if self.asked.columns is None:
                row[STAYS] = row[there(side)]
            for c in self.cells:
                if self._is_wanted(c, given):
                    row[str(c.id)] = row[value_of(c, side)]
        return 1

    def _settle_row(self, row: dict[str, Any], given: Mapping[Column, Any]) -> int:
        """Settle a row that one side deleted: take it as a side has it, or keep it with the given values."""
        if self.asked.columns is not None:
            return 0
        side = _SIDES[self.asked.take] if self.asked.take else OURS if row[there(OURS)] else THEIRS
        row[STAYS] = 1 if given else row[there(side)]
        for c in self.cells:
            row[str(c.id)] = given[c] if c in given else row[value_of(c, side)]
            row[conflict_of(c)] = 0
        row[KIND] = None
        return 1

    def _is_wanted(self, column: Column, given: Mapping[Column, Any]) -> bool:
        if given:
            return column in given
        return self.asked.columns is None or column.name.lower() in {n.lower() for n in self.asked.columns}
