"""Rows merged by earlier attempts, reused if the branch moved elsewhere or in rows that theirs did not touch."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from anabranch.catalog import history, paths
from anabranch.model.clock import Position
from anabranch.model.ids import ThingId
from anabranch.model.layers import with_exceptions
from anabranch.model.objects import Layer, NewObject
from anabranch.model.schema import Schema
from anabranch.plan.history import is_ancestor
from anabranch.plan.merge.things import ThingMerge, ThingSide
from anabranch.plan.path import find_path
from anabranch.queries.met_keys import Meeting, met_keys
from anabranch.queries.query import Sources, limited
from anabranch.repo.context.context import Context
from anabranch.repo.context.table_state import schemas_for
from anabranch.repo.merge.row_sides import MergedRows, Sides
from anabranch.repo.merge.sides import Gathered
from anabranch.repo.read.conditions import pick_engine, reading

_Key = tuple[tuple[Position, ...], Position, ThingId]


@dataclass(frozen=True)
class _Done:
    """A table whose rows were merged, and the head they were merged into."""

    head: Position
    thing: ThingMerge
    merged: MergedRows


@dataclass
class EarlierRows:
    """Rows merged by earlier attempts, by base, source and table."""

    known: dict[_Key, _Done] = field(default_factory=dict)
    dropped: list[NewObject] = field(default_factory=list)
    """Objects written for tables that had to be merged again."""

    @property
    def made(self) -> list[NewObject]:
        """All objects written; no commit links them yet."""
        return [*self.dropped, *(o for done in self.known.values() for o in done.merged.made)]

    def keep(self, gathered: Gathered, thing: ThingMerge, merged: MergedRows) -> None:
        """Remember a table's merged rows for later attempts."""
        key = _key(gathered, thing)
        if key in self.known:
            self.dropped += self.known[key].merged.made
        self.known[key] = _Done(gathered.ours.clock.head, thing, merged)

    def with_schema(self, gathered: Gathered, thing: ThingMerge) -> ThingMerge:
        """Reuse the schema an earlier attempt gave the table, if its columns are equal: objects name that schema."""
        done = self.known.get(_key(gathered, thing))
        before, now = (t.result.schema if t and t.result else None for t in (done and done.thing, thing))
        if before is None or now is None or (before.columns, before.key) != (now.columns, now.key):
            return thing
        own = _ours(thing).schema
        if own is not None and own.id == now.id:
            return thing  # By now ours has these columns itself, so that no commit brings the earlier schema.
        assert thing.result is not None
        return replace(thing, result=replace(thing.result, schema=before))

    def find(self, ctx: Context, gathered: Gathered, thing: ThingMerge, sides: Sides) -> MergedRows | None:
        """What an earlier attempt made of a table, if merging it now would give the same."""
        done = self.known.get(_key(gathered, thing))
        if done is None or not _is_like(done.thing, thing) or _ours(thing).id in gathered.ours.draft.things:
            return None
        moved = _moved(ctx, gathered, done.head, _ours(thing).ids)
        if moved is None or (moved and (_decides_more(gathered, thing) or not _are_apart(ctx, moved, thing, sides))):
            return None
        return done.merged


def _key(gathered: Gathered, thing: ThingMerge) -> _Key:
    return gathered.bases, gathered.theirs.clock.head, _ours(thing).id if thing.ours else ThingId("")


def _ours(thing: ThingMerge) -> ThingSide:
    assert thing.ours is not None
    return thing.ours


def _is_like(one: ThingMerge, other: ThingMerge) -> bool:
    """Whether two plans differ at most in ours' rows."""
    described = [(t.base, t.theirs, t.rows, _ours(t).schema, _ours(t).attributes) for t in (one, other)]
    schemas = [t.result.schema if t.result else None for t in (one, other)]
    return described[0] == described[1] and schemas[0] == schemas[1]


def _moved(ctx: Context, gathered: Gathered, since: Position, ids: Iterable[ThingId]) -> tuple[Layer, ...] | None:
    """Ours' changes to a table since an earlier head; None if changes can't tell."""
    with ctx.catalog.read() as cx:
        lines, head = history.Lines(cx), gathered.ours.clock.head
        if not is_ancestor(lines, since, head):
            return None
        return paths.layers_along(cx, find_path(lines, since, head), sorted(set(ids)), ctx.known_objects)


def _decides_more(gathered: Gathered, thing: ThingMerge) -> bool:
    """Whether rows that theirs did not touch may be decided, too, so that its changes say too little.

    In a criss-cross these are rows in which the bases differ; of files, those to which a moved file's bytes go.
    """
    return len(gathered.bases) > 1 or _ours(thing).kind == "files"


def _are_apart(ctx: Context, moved: tuple[Layer, ...], thing: ThingMerge, sides: Sides) -> bool:
    """Whether ours' changes touch no row that theirs touched, so that theirs' rows merge as before."""
    policy, schema = thing.rows, thing.result.schema if thing.result else None
    if policy is None or schema is None or sides.to_theirs is None:
        return False
    if policy.full or policy.replaces_all or policy.only_new_rows or policy.goes_by_time:
        return False
    return not _meet(ctx, Meeting(moved, sides.to_theirs, rows=True), schema, sides)


def _meet(ctx: Context, meeting: Meeting, schema: Schema, sides: Sides) -> bool:
    found = (*meeting.ours, *meeting.theirs)
    layers = with_exceptions(found)
    with ctx.catalog.read() as cx:
        schemas = schemas_for(ctx, cx, found, sides.ours)
    known = replace(sides.ours, schemas=schemas, layers=layers)
    state, access = known.read_as(schema), ctx.access(layers, sides.pending)
    query = met_keys(meeting, state, schema.columns, access, Sources())
    if query is None:
        return False
    what = f"rows of {state.name!r} that the branch changed meanwhile"
    engine = pick_engine(ctx, state, what, schema.key_columns)
    with reading(ctx, state):
        return bool(engine.fetch(limited(query, 1)).num_rows)
