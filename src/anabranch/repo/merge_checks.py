"""Constraints on merged rows: what breaks a check, a NOT NULL or the key, row by row.

Each side kept its own constraints; only rows that the other side changed, or that both did, can break one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from anabranch.engines.engine import Engine
from anabranch.model.ids import ObjectId
from anabranch.model.objects import Layer, NewObject, size_of
from anabranch.model.schema import Column, Schema
from anabranch.model.tables import TableState
from anabranch.objects.parquet import table_range
from anabranch.plan.engine import Work
from anabranch.plan.merge_things import ThingMerge
from anabranch.queries import changes
from anabranch.queries.expressions import Expression
from anabranch.queries.meeting import Meeting, met_keys
from anabranch.queries.path_fold import Path, touched_keys
from anabranch.queries.query import Query, Rows, Sources
from anabranch.queries.scan import Access, Keys, scan
from anabranch.repo.conflicts import Violation
from anabranch.repo.context import Context
from anabranch.repo.merge_rows import Sides
from anabranch.repo.outputs import to_dicts
from anabranch.repo.reading import not_in_duck, reading, rendered, unproven

_SHOWN_AT_MOST = 1_000


@dataclass(frozen=True)
class MergedTable:
    """A table after its rows were merged, and what led there."""

    state: TableState
    thing: ThingMerge
    sides: Sides
    new_key: bool
    made: Sequence[NewObject]


def violations(ctx: Context, merged: MergedTable) -> list[Violation]:
    """Find the rows of a merged table that break its constraints."""
    wanted = list(_wanted(merged))
    if not wanted and not merged.new_key:
        return []
    schema, name = merged.state.schema, merged.state.name
    tests = [w.check for w in wanted if w.check is not None]
    work = Work(size_of(merged.sides.paths), unproven=unproven(tests, schema), not_in_duck=not_in_duck(schema, name))
    engine = ctx.engines.pick(work, f"checking merged rows of {name!r}")
    plan = _Checking(ctx, engine, merged)
    with reading(ctx, merged.state):
        found = [v for w in wanted for v in plan.broken(w)]
        return found + (list(plan.repeated()) if merged.new_key else [])


@dataclass(frozen=True)
class _Wanted:
    """A constraint, and whose changes may break it."""

    kind: str
    name: str
    touched_by: str
    """`ours`, `theirs`, or `both` for rows that both changed."""
    check: Expression | None = None
    column: Column | None = None


def _wanted(merged: MergedTable) -> Iterator[_Wanted]:
    thing = merged.thing
    ours, theirs = thing.ours, thing.theirs
    if ours is None or theirs is None or ours.schema is None or theirs.schema is None:
        return
    for name, text in merged.state.attributes.get("checks", {}).items():
        check = Expression.of(text, None, f"check {name!r}")
        for side in _breakers(ours.told("checks").get(name) == text, theirs.told("checks").get(name) == text):
            yield _Wanted("check", name, side, check)
    for column in merged.state.schema:
        if not column.nullable and column.id not in merged.state.schema.key:
            for side in _breakers(_is_firm(ours.schema, column), _is_firm(theirs.schema, column)):
                if side != "both":  # Cells are merged one by one: none becomes null that was not.
                    yield _Wanted("not null", column.name, side, None, column)


def _breakers(ours_holds: bool, theirs_holds: bool) -> Sequence[str]:
    """Whose changes may break a constraint that ours or theirs held to."""
    if ours_holds and theirs_holds:
        return ("both",)
    return ("theirs",) if ours_holds else ("ours",) if theirs_holds else ("ours", "theirs")


def _is_firm(schema: Schema, column: Column) -> bool:
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

    def broken(self, wanted: _Wanted) -> Iterator[Violation]:
        """The rows that break a constraint."""
        keys = self._keys(wanted.touched_by)
        if keys is not None and isinstance(keys.source, Rows) and not keys.source.table.num_rows:
            return
        shown = tuple(dict.fromkeys((*self.schema.key_columns, *self.schema.columns)))
        query = scan(self.merged.state, shown, self._access(), keys=keys)
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

    def repeated(self) -> Iterator[Violation]:
        """The keys that come more than once, or are null, where the table got another key."""
        key = self.schema.key_columns
        query = scan(self.merged.state, key, self._access())
        names = ", ".join(c.name for c in key)
        twice = self.engine.fetch(changes.repeated_keys(query, self.schema, _SHOWN_AT_MOST))
        null = self.engine.fetch(changes.missing_values(query, list(key), key, _SHOWN_AT_MOST))
        for row in (*to_dicts(twice), *to_dicts(null)):
            told = {c.name: row[c.id] for c in key}
            yield Violation(self.merged.state.name, "key", names, told, told)

    def _violation(self, kind: str, name: str, row: Mapping[str, Any]) -> Violation:
        keys = self.schema.key_names
        shown = {c.name: row[c.name] for c in self.schema}
        return Violation(self.merged.state.name, kind, name, {k: row[k] for k in keys}, shown)

    def _keys(self, touched_by: str) -> Keys | None:
        """The keys that a side changed, or that both did; None for all."""
        sides = self.merged.sides
        if not sides.told:
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
            return Keys(Rows(_no_keys(self.schema)), None)
        found = self.engine.fetch(query)
        return Keys(Rows(found), table_range(found, self.schema.key_columns))

    def _access(self) -> Access:
        sides = self.merged.sides
        exceptions = [Layer(0, o) for x in sides.paths for o in x.without]
        made: dict[ObjectId, bytes] = {o.stored.id: o.content for o in self.merged.made if o.content is not None}
        layers = (*self.merged.state.layers, *sides.paths, *exceptions)
        return self.ctx.access(layers, {**sides.pending, **made})


def _no_keys(schema: Schema) -> Any:
    import pyarrow as pa

    from anabranch.objects.arrow import arrow_type

    return pa.table({str(c.id): pa.array([], arrow_type(c.type)) for c in schema.key_columns})
