"""Constraints on merged rows: which rows break a check, a NOT NULL or the key.

Each side met its own constraints, so only rows that the other side or both changed can break one,
unless a column's type differs from the one on the side that has the check.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from anabranch.arrow.types import arrow_type
from anabranch.engines.engine import Engine
from anabranch.frames.output import to_dicts
from anabranch.model.ids import ObjectId
from anabranch.model.layers import chained, with_exceptions
from anabranch.model.objects import NewObject, contents_of
from anabranch.model.schema import Column, Schema
from anabranch.model.tables import TableState
from anabranch.plan.merge.things import ThingMerge
from anabranch.proven.expression import Expression
from anabranch.queries import writes as changes
from anabranch.queries.met_keys import Meeting, met_keys
from anabranch.queries.path_fold import Path, touched_keys
from anabranch.queries.query import Query, Rows, Sources
from anabranch.queries.scan import Access, Keys
from anabranch.repo.context.context import Context
from anabranch.repo.context.kept_expressions import kept
from anabranch.repo.merge.chosen_conflicts import tuples
from anabranch.repo.merge.conflicts import TableConflicts, Violation
from anabranch.repo.merge.row_sides import Sides
from anabranch.repo.read.conditions import keys_in, pick_engine, reading, rendered
from anabranch.repo.read.scan import ReadAs, scan, scan_as

_SHOWN_AT_MOST = 1_000


@dataclass(frozen=True)
class MergedTable:
    """A table with its rows merged, and how it got there."""

    state: TableState
    thing: ThingMerge
    sides: Sides
    made: Sequence[NewObject]


def violations(ctx: Context, merged: MergedTable) -> list[Violation]:
    """Find the rows of a merged table that break its constraints."""
    wanted = list(_wanted(merged.state, merged.thing))
    if not wanted:
        return []
    tests = [w.check for w in wanted if w.check is not None]
    touched = replace(merged.state, layers=merged.sides.paths)
    engine = pick_engine(ctx, touched, f"checking merged rows of {merged.state.name!r}", tested=tests)
    plan = _Checking(ctx, engine, merged)
    with reading(ctx, merged.state):
        return [v for w in wanted for v in plan.broken(w)]


def may_be_broken(state: TableState, thing: ThingMerge) -> bool:
    """Whether the merge may break a constraint of the table at all."""
    return next(_wanted(state, thing), None) is not None


def may_break_unmerged(thing: ThingMerge) -> bool:
    """Whether rows may break a constraint though theirs changed none: ours changed some, or a column's type differs."""
    if thing.theirs is None or thing.ours is None or thing.result is None:
        return False
    columns = thing.result.schema or ()
    return thing.ours.rows_changed or any(is_retyped(s.schema, columns) for s in (thing.ours, thing.theirs))


def without(found: Sequence[Violation], in_conflict: TableConflicts | None) -> list[Violation]:
    """Drop violations in rows that are still in conflict, since what those become is not decided yet."""
    if in_conflict is None:
        return list(found)
    keys = set(tuples(in_conflict.decided, [str(k) for k in in_conflict.decision.schema.key_ids]))
    return [v for v in found if v.at not in keys]


def unfit_keys(ctx: Context, sides: Sides, schema: Schema, name: str) -> list[Violation]:
    """Find rows of a side that repeat or lack a key that only the other side has.

    Checked before rows are merged by that key: of two rows under one key, one would be lost.
    """
    both = (sides.ours,) if sides.ours is sides.theirs else (sides.ours, sides.theirs)
    states = [s for s in both if s.read_as(schema).schema.key_ids != schema.key_ids]
    if not states or not schema.has_key:
        return []
    read = TableState(sides.ours.id, name, schema, 0, chained(*(s.layers for s in states)))
    engine = pick_engine(ctx, read, f"rows of {name!r} under another key", schema.key_columns)
    found = []
    for state in states:
        with reading(ctx, state):
            query = scan_as(
                ctx, ReadAs(state, schema, schema.key_columns), ctx.access(state.layers, sides.pending), Sources()
            )
            twice = engine.fetch(changes.repeated_keys(query, schema, _SHOWN_AT_MOST))
            null = engine.fetch(changes.missing_values(query, schema.key_columns, (), _SHOWN_AT_MOST))
        for row in (*to_dicts(twice), *to_dicts(null)):
            described = {c.name: row[c.id] for c in schema.key_columns}
            found.append(Violation(name, "key", ", ".join(schema.key_names), described, described))
    return found


@dataclass(frozen=True)
class _Constraint:
    """A constraint, and whose changes may break it."""

    kind: str
    name: str
    touched_by: str
    """`ours`, `theirs`, `both` for rows that both changed, or `all` for any row."""
    check: Expression | None = None
    column: Column | None = None


def _wanted(state: TableState, thing: ThingMerge) -> Iterator[_Constraint]:
    ours, theirs = thing.ours, thing.theirs
    if ours is None or theirs is None or ours.schema is None or theirs.schema is None:
        return
    for name, text in state.attributes.get("checks", {}).items():
        check = kept(text, f"check {name!r}")
        read = check.columns(state.schema)
        held = [s.texts("checks").get(name) == text and not is_retyped(s.schema, read) for s in (ours, theirs)]
        for side in _breakers(*held):
            yield _Constraint("check", name, side, check)
    for column in state.schema:
        if not column.nullable and column.id not in state.schema.key:
            for side in _breakers(_was_not_null(ours.schema, column), _was_not_null(theirs.schema, column)):
                if side != "both":  # Cells are merged one by one, so no cell becomes null that was not.
                    yield _Constraint("not null", column.name, side, None, column)


def _breakers(ours_holds: bool, theirs_holds: bool) -> Sequence[str]:
    """Whose changes may break a constraint, given which sides met it; if neither did, any row may."""
    if ours_holds and theirs_holds:
        return ("both",)
    return ("theirs",) if ours_holds else ("ours",) if theirs_holds else ("all",)


def is_retyped(schema: Schema | None, columns: Iterable[Column]) -> bool:
    """Whether a side has one of these columns under another type, for which its checks were never tested."""
    was = [(c, schema.written_as(c)) for c in columns] if schema else []
    return any(old is not None and old.type != c.type for c, old in was)


def _was_not_null(schema: Schema, column: Column) -> bool:
    was = schema.written_as(column)
    return was is not None and not was.nullable


@dataclass(frozen=True)
class _Checking:
    ctx: Context
    engine: Engine
    merged: MergedTable

    @property
    def schema(self) -> Schema:
        return self.merged.state.schema

    def broken(self, wanted: _Constraint) -> Iterator[Violation]:
        """The rows that break a constraint."""
        keys = self._keys(wanted.touched_by)
        if keys is not None and isinstance(keys.source, Rows) and not keys.source.table.num_rows:
            return
        shown = tuple(dict.fromkeys((*self.schema.key_columns, *self.schema.columns)))
        query = scan(self.ctx, self.merged.state, shown, self._access(), keys=keys)
        if wanted.check is not None:
            test = rendered(wanted.check, self.engine, self.schema)
            alias = self.merged.state.name.rsplit(".", 1)[-1]
            found = self.engine.fetch(changes.broken_rows(query, shown, test, alias, _SHOWN_AT_MOST))
        else:
            assert wanted.column is not None
            missing = changes.missing_values(query, [wanted.column], shown, _SHOWN_AT_MOST)
            found = self.engine.fetch(missing).rename_columns([c.name for c in shown])
        for row in to_dicts(found):
            yield self._violation(wanted.kind, wanted.name, row)

    def _violation(self, kind: str, name: str, row: Mapping[str, Any]) -> Violation:
        keys = self.schema.key_names
        shown = {c.name: row[c.name] for c in self.schema}
        at = tuple(row[c.name] for c in self.schema.key_columns)
        return Violation(self.merged.state.name, kind, name, {k: row[k] for k in keys}, shown, at)

    def _keys(self, touched_by: str) -> Keys | None:
        """The keys that a side changed, or that both did; None for all keys."""
        sides = self.merged.sides
        if not sides.by_changes or touched_by == "all":
            return None
        as_merged = replace(sides.theirs.read_as(self.schema), schemas=self.merged.state.schemas)
        sources = Sources()
        query: Query | None
        if touched_by == "both":
            meeting = Meeting(sides.to_ours or (), sides.to_theirs or (), rows=True)
            query = met_keys(meeting, as_merged, self.schema.columns, self._access(), sources)
        else:
            layers = (sides.to_ours if touched_by == "ours" else sides.to_theirs) or ()
            query = touched_keys(Path(layers, None, as_merged), self._access(), sources) if layers else None
        if query is None:
            return Keys(Rows(broken_keys((), self.schema)), None)
        found = self.engine.fetch(query)
        return keys_in(found, self.schema.key_columns)

    def _access(self) -> Access:
        sides = self.merged.sides
        made: dict[ObjectId, bytes] = contents_of(self.merged.made)
        layers = chained(self.merged.state.layers, with_exceptions(sides.paths))
        return self.ctx.access(layers, {**sides.pending, **made})


def broken_keys(found: Sequence[Violation], schema: Schema) -> pa.Table:
    """The keys of rows that break constraints, each once."""
    at = list(dict.fromkeys(v.at for v in found))
    columns = enumerate(schema.key_columns)
    return pa.table({str(c.id): pa.array([key[n] for key in at], arrow_type(c.type)) for n, c in columns})
