"""What blame reads: the objects of a table's past, the commit that made each, and where merges got rows from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from anabranch.catalog import history, touching, views
from anabranch.catalog.touching import Touch
from anabranch.model.clock import Position
from anabranch.model.ids import ObjectId
from anabranch.model.objects import Layer, StoredObject
from anabranch.model.schema import Column, Schema
from anabranch.model.tables import TableState
from anabranch.plan.history import is_ancestor
from anabranch.queries.overlay_columns import turn_of
from anabranch.repo.compare.table_past import Past, are_one, whole_path
from anabranch.repo.context.table_state import schema_of


def read_story(past: Past) -> Story:
    """Read the past of a table, up to the commit it was opened at."""
    return _SegmentReader(past).read()


@dataclass(frozen=True)
class Made:
    """An object in a segment: its turn there, and the commit that made it."""

    layer: Layer
    by: Position
    own: Position | None
    """The merge that wrote the object, if one did. It may have merely carried over some of the rows."""
    again: bool = False
    """Whether a later commit that is not a merge linked the object again."""


@dataclass(frozen=True)
class Segment:
    """The past of a table under one key, up to a commit."""

    head: Position
    state: TableState
    made: tuple[Made, ...]
    since: Mapping[str, tuple[int, Position]]
    """For each column added later: a turn of its own, and the commit that added it."""
    merges: tuple[Merge, ...]
    rekeyed: Rekeyed | None

    @property
    def layers(self) -> tuple[Layer, ...]:
        return tuple(m.layer for m in self.made)

    @property
    def makers(self) -> Iterator[tuple[int, Position]]:
        """Each turn with its commit."""
        yield from ((m.layer.turn, m.by) for m in self.made)
        yield from self.since.values()

    @property
    def goes_on(self) -> tuple[Position, ...]:
        """The heads of the segments that rows of this one may come from."""
        return (*(m.theirs for m in self.merges), *((self.rekeyed.before,) if self.rekeyed else ()))

    @property
    def everything(self) -> list[Layer]:
        """All layers that may be read."""
        met = [Layer(0, m.exceptions) for m in self.merges if m.exceptions]
        return [*self.layers, *self.state.layers, *met, *(self.rekeyed.after.layers if self.rekeyed else ())]


@dataclass(frozen=True)
class Story:
    """The whole past of a table. Each segment precedes those it goes on in."""

    segments: tuple[Segment, ...]
    ranks: Mapping[int, int]
    """How new the commit of a turn is, in log order. Turns that only added a column have no rank."""

    @property
    def top(self) -> Segment:
        return self.segments[0]

    @cached_property
    def at(self) -> dict[Position, Segment]:
        return {s.head: s for s in self.segments}

    @cached_property
    def makers(self) -> dict[int, Position]:
        """The commit of each turn."""
        return {turn: by for s in self.segments for turn, by in s.makers}

    @cached_property
    def ranked(self) -> dict[int, Position]:
        """The commit of each rank."""
        return {rank: self.makers[turn] for turn, rank in self.ranks.items()}


@dataclass(frozen=True)
class Merge:
    """A merge that rewrote rows its further parent had changed."""

    turns: tuple[int, ...]
    theirs: Position
    exceptions: StoredObject | None


@dataclass(frozen=True)
class Rekeyed:
    """The first commit of a segment, which changed the table's key or undid its drop: all rows were written anew."""

    turns: tuple[int, ...]
    after: TableState
    before: Position


@dataclass
class _SegmentReader:
    past: Past
    turn: int = 0
    reach: dict[Position, bool] = field(default_factory=dict)
    merged: dict[Position, bool] = field(default_factory=dict)

    def read(self) -> Story:
        found: dict[Position, Segment] = {}
        todo = [self.past.clock.head]
        while todo:
            head = todo.pop()
            if head not in found:
                found[head] = self._segment(head)
                todo += found[head].goes_on
        generation = history.Lines(self.past.cx).generation
        segments = sorted(found.values(), key=lambda s: -generation(s.head))
        return Story(tuple(segments), self._ranks(segments))

    def _ranks(self, segments: Sequence[Segment]) -> dict[int, int]:
        made = {m.layer.turn: m.by for s in segments for m in s.made}
        heads = {p: history.head(self.past.cx, p) for p in set(made.values())}
        order = sorted(heads, key=lambda p: (h.finished_at, h.generation) if (h := heads[p]) else (0, 0))
        ranks = {position: rank for rank, position in enumerate(order)}
        return {turn: ranks[by] for turn, by in made.items()}

    def _segment(self, head: Position) -> Segment:
        """The past of the table, up to a commit that has it."""
        state = self.past.at(head)
        assert state is not None
        found = self.past.touches(whole_path(history.clock(self.past.cx, head)))
        first = max((n for n, touch in enumerate(found) if touch.replaced), default=0)
        earlier, found = found[:first], found[first:]
        known = self.past.ctx.known_objects
        views.learn(self.past.cx, [o for touch in found for _, o in touch.objects], known)
        linked = touching.links(self.past.cx, [o for touch in found for _, o in touch.objects])
        since: dict[str, tuple[int, Position]] = {}
        made: list[Made] = []
        shown: Schema | None = None
        for touch in found:
            shown = self._came(touch, state, shown, since)
            made += [self._made(touch, known[o], linked[o]) for _, o in touch.objects]
        state = self.past.knowing(state, (m.layer for m in made))
        rekeyed = self._rekeyed(found[0], made, earlier) if found and found[0].replaced else None
        return Segment(head, state, tuple(made), since, tuple(self._merges(made, rekeyed)), rekeyed)

    def _next(self) -> int:
        self.turn += 1
        return self.turn

    def _came(
        self, touch: Touch, state: TableState, shown: Schema | None, since: dict[str, tuple[int, Position]]
    ) -> Schema | None:
        """Note the columns that a commit added to rows already there."""
        if touch.schema_id is None:
            return shown
        schema = schema_of(self.past.ctx, self.past.cx, {touch.schema_id})[touch.schema_id]
        for c in state.schema if shown is not None else ():
            if schema.written_as(c) and shown is not None and not shown.written_as(c):
                since[turn_of(c)] = (self._next(), self._bringer(touch.position, c))
        return schema

    def _bringer(self, position: Position, column: Column) -> Position:
        """The commit that added a column. If a merge brought it, look in its further parents."""
        for parent in history.further_parents(self.past.cx, position):
            shown: Schema | None = None
            for touch in self.past.touches(whole_path(history.clock(self.past.cx, parent))):
                if touch.schema_id is None:
                    continue
                schema = schema_of(self.past.ctx, self.past.cx, {touch.schema_id})[touch.schema_id]
                if schema.written_as(column) and (shown is None or not shown.written_as(column)):
                    return self._bringer(touch.position, column)
                shown = schema
        return position

    def _made(self, touch: Touch, o: StoredObject, linked: Sequence[Position]) -> Made:
        by = touch.position
        if len(linked) > 1:
            # A squash links objects of commits that are not its ancestors; it counts as their maker.
            known = [p for p in linked if p == by or self._reached(p)]
            by = min(known, key=history.Lines(self.past.cx).generation)
        again = by != touch.position and not self._merged(touch.position)
        return Made(Layer(self._next(), o), by, by if self._merged(by) else None, again)

    def _merged(self, position: Position) -> bool:
        if position not in self.merged:
            self.merged[position] = touching.is_merge(self.past.cx, position)
        return self.merged[position]

    def _reached(self, position: Position) -> bool:
        if position not in self.reach:
            self.reach[position] = is_ancestor(history.Lines(self.past.cx), position, self.past.clock.head)
        return self.reach[position]

    def _merges(self, made: Sequence[Made], rekeyed: Rekeyed | None) -> Iterator[Merge]:
        first = rekeyed.turns if rekeyed else ()
        for at in dict.fromkeys(m.own for m in made if m.own and m.layer.turn not in first):
            assert at is not None
            turns = tuple(m.layer.turn for m in made if m.own == at)
            parents = history.further_parents(self.past.cx, at)
            described = {r.number: r for r in touching.references(self.past.cx, at, self.past.ids)}
            for number, parent in enumerate(parents, 1):
                reference = described.get(number)
                if (reference and not reference.by_changes) or self.past.at(parent) is None:
                    continue  # Telling whose a row is would take comparing states, so it counts as the merge's.
                yield Merge(turns, parent, self._object(reference.exceptions if reference else None))

    def _object(self, id_: ObjectId | None) -> StoredObject | None:
        if id_ is None:
            return None
        views.learn(self.past.cx, [id_], self.past.ctx.known_objects)
        return self.past.ctx.known_objects[id_]

    def _rekeyed(self, touch: Touch, made: Sequence[Made], earlier: Sequence[Touch]) -> Rekeyed | None:
        dropped = next((t for t in reversed(earlier) if t.dropped), None) if self._came_back(touch) else None
        parent = history.clock(self.past.cx, (dropped or touch).position).back(1)
        after = self.past.at(touch.position)
        before = self.past.at(parent) if parent else None
        if parent is None or after is None or before is None or not self._relates(before, after, dropped is None):
            return None
        own = {o for _, o in touch.objects}
        is_all = dropped or not are_one(before, after)
        mine = [m for m in made if m.layer.object.id in own and (is_all or m.by == touch.position)]
        # A restore may link only what earlier commits wrote; they remain the makers.
        return Rekeyed(tuple(m.layer.turn for m in mine), after, parent) if mine else None

    def _relates(self, before: TableState, after: TableState, took_its_place: bool) -> bool:
        """Whether rows of two states can be the same: both of one table, or one replaced the other and kept its key."""
        if are_one(before, after):
            return True
        last = self.past.state.schema
        keys = [[last.written_as(c) for c in s.schema.key_columns] for s in (before, after)]
        return took_its_place and after.schema.has_key and keys[0] == keys[1]

    def _came_back(self, touch: Touch) -> bool:
        """Whether a commit undid a drop: the table is missing just before it."""
        parent = history.clock(self.past.cx, touch.position).back(1)
        return parent is not None and self.past.at(parent) is None
