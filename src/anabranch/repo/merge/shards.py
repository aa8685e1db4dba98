"""Merge many sources in one pass: all forked from one commit that the target has, each changed rows of its own.

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
from anabranch.repo.merge.apply import How, Outcome, draft_of, operations_after, with_writes
from anabranch.repo.merge.conflicts import Conflicts
from anabranch.repo.merge.file_level import has_clashes
from anabranch.repo.merge.sides import SideReader, Target
from anabranch.repo.write.netting import counts_of


def merge_shards(
    ctx: Context, cx: Connection, target: Target, sources: Sequence[Clock], fork: Position, how: How
) -> Outcome | None:
    """Unite the sources' changes since the fork in the target's draft; None if it takes more than that."""
    if how.strictness in ("table", "operations") or how.settled or target.draft.things:
        return None
    return _Uniting(ctx, cx, target, fork).run(sources)


Ranges = tuple[tuple[LineId, int, int], ...]


@dataclass(frozen=True)
class Shard:
    """What one source did to the rows of a table."""

    side: ThingSide
    """The table at the fork."""
    operations: tuple[Operation, ...]
    layers: tuple[Layer, ...]


@dataclass(frozen=True)
class _Uniting:
    ctx: Context
    cx: Connection
    target: Target
    fork: Position

    def run(self, sources: Sequence[Clock]) -> Outcome | None:
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
        mine = ours.states(tables)
        if not all(are_apart([ours.layers(mine[t].ids), *(s.layers for s in shards)]) for t, shards in tables.items()):
            return None
        drafts = {t: _united(draft_of(mine[t], ours.table(mine[t])), shards) for t, shards in tables.items()}
        if any(has_clashes(self.ctx, draft) for draft in drafts.values() if draft.kind == "files"):
            return None
        self.target.draft.things.update(drafts)
        linked = {x.object.id for shards in tables.values() for s in shards for x in s.layers}
        return Outcome(Conflicts(), self._references(base, ours), linked)

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


def _united(draft: ThingDraft, shards: Sequence[Shard]) -> ThingDraft:
    """A table with all that the sources did, in order, step by step."""
    steps = []
    for shard in shards:
        for turn in sorted({x.turn for x in shard.layers}):
            objects = tuple(NewObject(x.object) for x in shard.layers if x.turn == turn)
            steps.append(Statement("update", objects, counts_of(objects)))
    assert draft.schema is not None
    known, done = {str(draft.schema.id): draft.schema}, [o for shard in shards for o in shard.operations]
    made = replace(draft, statements=tuple(steps), schemas=known, operations=operations_after(done))
    return replace(made, operations=with_writes(made), linked_schemas=frozenset(known))
