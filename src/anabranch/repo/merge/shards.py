"""Merge many sources in one pass: all forked from one commit that the target has, each changed rows of its own.

Files that several of them wrote to are merged path by path, in the order of the sources.
The result is the same as merging them one by one, which is what happens to anything not covered here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from anabranch.catalog import entries, history, paths
from anabranch.catalog.store import Connection
from anabranch.model.clock import Clock, Position
from anabranch.model.content import ChangeReference
from anabranch.model.ids import LineId, ThingId
from anabranch.model.objects import KeyRange, Layer, NewObject
from anabranch.model.tables import Entry, Operation, holds_rows
from anabranch.plan.commit import Statement, ThingDraft
from anabranch.plan.merge.sides import ThingSide
from anabranch.plan.path import Stretch, find_path
from anabranch.repo.context.context import Context
from anabranch.repo.merge.apply import How, Merged, draft_of, operations_after, with_writes
from anabranch.repo.merge.file_clashes import has_clashes
from anabranch.repo.merge.sides import SideReader, Target
from anabranch.repo.merge.united_files import FileSides, unite_files
from anabranch.repo.write.netting import counts_of

Ranges = tuple[tuple[LineId, int, int], ...]


@dataclass(frozen=True)
class Shard:
    """What one source did to the rows of a table."""

    side: ThingSide
    """The table at the fork."""
    operations: tuple[Operation, ...]
    layers: tuple[Layer, ...]


@dataclass(frozen=True)
class ShardedTable:
    """A table that sources changed, as ours has it, and what they did."""

    draft: ThingDraft
    shards: tuple[Shard, ...]
    meeting: FileSides | None = None
    """The sides of a file tree in which some may have written to the same paths."""


@dataclass(frozen=True)
class Shards:
    """All that sources did since the fork."""

    tables: tuple[ShardedTable, ...]
    references: list[ChangeReference]


def read_shards(
    ctx: Context, cx: Connection, target: Target, sources: Sequence[Clock], fork: Position, how: How
) -> Shards | None:
    """Read what the sources did since the fork; None if it was more than changing rows."""
    if how.strictness in ("table", "operations") or how.settled or target.draft.things:
        return None
    return _ShardReader(ctx, cx, target, fork).run(sources)


def merge_shards(ctx: Context, target: Target, found: Shards, how: How) -> Merged | None:
    """Unite what the sources did with the target's draft; None if it takes more than uniting."""
    outcome = Merged(target, (target.parent,), references=found.references)
    drafts = [_united(ctx, table, how, outcome) for table in found.tables]
    united = [draft for draft in drafts if draft is not None]
    if len(united) < len(drafts) or any(d.kind == "files" and has_clashes(ctx, d) for d in united):
        ctx.discard(outcome.made)
        return None
    target.draft.things.update((draft.id, draft) for draft in united)
    return outcome


@dataclass(frozen=True)
class _ShardReader:
    ctx: Context
    cx: Connection
    target: Target
    fork: Position

    def run(self, sources: Sequence[Clock]) -> Shards | None:
        base = SideReader(self.ctx, history.clock(self.cx, self.fork), ())
        way = find_path(history.Lines(self.cx), self.fork, self.target.clock.head)
        ours = SideReader(self.ctx, self.target.clock, way)
        tables: dict[ThingId, list[Shard]] = {}
        for source in sources:
            found = self._shards_of(source, base, ours)
            if found is None:
                return None
            for shard in found:
                tables.setdefault(shard.side.id, []).append(shard)
        read = [_sharded(base, ours, shards) for shards in tables.values()]
        known = tuple(table for table in read if table is not None)
        return Shards(known, self._references(base, ours)) if len(known) == len(read) else None

    def _shards_of(self, source: Clock, base: SideReader, ours: SideReader) -> list[Shard] | None:
        """What a source did since the fork; None if it changed more than rows, or ours describes a table otherwise."""
        way = source.since(self.fork)
        things, names = entries.touched(self.cx, way)
        wanted = [ThingId(t) for t in sorted(things)]
        old, mine = base.states(wanted), ours.states(wanted)
        if names or not len(wanted) == len(old) == len(mine):
            return None
        described = [entry for _, entry in paths.entries_along(self.cx, (Stretch(way),), wanted)]
        if not all(_is_plain(entry, old[entry.thing_id]) for entry in described):
            return None
        found = []
        for thing in wanted:
            layers = self._layers(way, old[thing]) if _described(old[thing]) == _described(mine[thing]) else None
            if layers is None:
                return None
            done = tuple(o for entry in described if entry.thing_id == thing for o in entry.operations)
            found.append(Shard(old[thing], done, layers))
        return found

    def _layers(self, way: Ranges, side: ThingSide) -> tuple[Layer, ...] | None:
        """The source's objects, if all can be linked as they are; else None."""
        found = paths.layers_along(self.cx, (Stretch(way),), sorted(side.ids), self.ctx.known_objects)
        return found if found is not None and all(_can_link(x, side) for x in found) else None

    def _references(self, base: SideReader, ours: SideReader) -> list[ChangeReference]:
        """References for the tables that ours changed since the fork: those changes are new to every source."""
        things, _ = entries.touched_between(self.cx, base.clock, ours.clock)
        mine = ours.states(ThingId(t) for t in sorted(things)).values()
        changed = [s for s in mine if holds_rows(s.kind) and ours.layers(s.ids) != ()]
        return [ChangeReference(s.id, 1, None, None) for s in changed]


def _is_plain(entry: Entry, side: ThingSide) -> bool:
    """Whether an entry says only that a table's rows changed."""
    if side.schema is None or entry.dropped or entry.replaced:
        return False
    overwrites = not side.schema.key and "overwrite" in entry.operations
    return entry.schema_id == side.schema.id and entry.attributes == side.attributes and not overwrites


def _described(side: ThingSide) -> tuple[object, ...]:
    return side.parent_id, side.name, side.path, side.attributes, side.schema and side.schema.id


def _can_link(layer: Layer, side: ThingSide) -> bool:
    """Whether an object means the same wherever it is linked: it was written under the common schema."""
    schema = side.schema
    return layer.object.kind != "exceptions" and not layer.without and layer.object.schema_id == (schema and schema.id)


def are_apart(shards: Sequence[Sequence[Layer] | None]) -> bool:
    """Whether no two shards share a key, by their objects' key ranges; None stands for a shard with any keys."""
    boxes: list[tuple[KeyRange, int]] = []
    for n, layers in enumerate(shards):
        if layers is None or any(x.object.key_range is None for x in layers):
            return False
        boxes += [(x.object.key_range, n) for x in layers if x.object.key_range is not None]
    open_: list[tuple[KeyRange, int]] = []
    for box, n in sorted(boxes, key=lambda b: b[0].low):
        open_ = [(other, m) for other, m in open_ if other.high[0] >= box.low[0]]  # type: ignore[operator]
        if any(m != n and other.meets(box) for other, m in open_):
            return False
        open_.append((box, n))
    return True


def _sharded(base: SideReader, ours: SideReader, shards: Sequence[Shard]) -> ShardedTable | None:
    """A table with what sources did to it; None where they may have changed the same rows, unless these are files."""
    side = shards[0].side
    mine = ours.states([side.id])[side.id]
    to_ours = ours.layers(mine.ids)
    draft, layers = draft_of(mine, ours.table(mine)), tuple(s.layers for s in shards)
    if are_apart([to_ours, *layers]):
        return ShardedTable(draft, tuple(shards))
    if to_ours is None or mine.kind != "files" or draft.base is None:
        return None
    return ShardedTable(draft, tuple(shards), FileSides(base.table(side), draft.base, to_ours, layers))


def _united(ctx: Context, table: ShardedTable, how: How, outcome: Merged) -> ThingDraft | None:
    """A table with all that the sources did; None if files that met don't go together."""
    if table.meeting is None:
        return _with_shards(table, table.shards, (), outcome)
    found = unite_files(ctx, table.meeting, how.rules)
    if found is None:
        return None
    outcome.made += (*found.statement.objects, *found.statement.packs)
    last = (found.statement,) if found.statement.objects else ()
    return _with_shards(table, [table.shards[n] for n in found.alone], last, outcome)


def _with_shards(
    table: ShardedTable, linked: Sequence[Shard], last: tuple[Statement, ...], outcome: Merged
) -> ThingDraft:
    """A table with what some sources did, in their order, step by step, and what became of the rest."""
    steps = []
    for shard in linked:
        for turn in sorted({x.turn for x in shard.layers}):
            objects = tuple(NewObject(x.object) for x in shard.layers if x.turn == turn)
            steps.append(Statement("update", objects, counts_of(objects)))
    outcome.linked |= {x.object.id for shard in linked for x in shard.layers}
    schema = table.draft.table_schema
    known, done = {str(schema.id): schema}, [o for shard in table.shards for o in shard.operations]
    made = replace(table.draft, statements=(*steps, *last), schemas=known, operations=operations_after(done))
    return replace(made, operations=with_writes(made), linked_schemas=frozenset(known))
