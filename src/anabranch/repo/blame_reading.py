"""What blame reads: the objects of a table's past, the commit that made each, and where merges have rows from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from anabranch.catalog import history, touching, views
from anabranch.catalog.touching import Touch
from anabranch.model.clock import Position
from anabranch.model.ids import ObjectId
from anabranch.model.objects import Layer, StoredObject
from anabranch.model.schema import Column, Schema
from anabranch.model.tables import TableState
from anabranch.plan.history import is_ancestor
from anabranch.queries.groups import turn_of
from anabranch.repo.past import Past, whole_path
from anabranch.repo.state import schema_of


def read_segment(past: Past) -> Segment:
    """Read the past of a table up to the commit that it was opened at."""
    return _Reader(past).read(past.clock.head)


@dataclass(frozen=True)
class Made:
    """An object on the way to a commit: its turn there, and the commit that made it."""

    layer: Layer
    by: Position
    own: Position | None
    """The merge that wrote the object, if one did: some of its rows may only have been brought on."""


@dataclass(frozen=True)
class Segment:
    """The past of a table under one key, up to a commit."""

    state: TableState
    made: tuple[Made, ...]
    since: Mapping[str, tuple[int, Position]]
    """Columns that came later: a turn for that, and the commit that brought it."""
    merges: tuple[Merge, ...]
    rekeyed: Rekeyed | None

    @property
    def layers(self) -> tuple[Layer, ...]:
        return tuple(m.layer for m in self.made)

    def makers(self) -> dict[int, Position]:
        """The commit of each turn, here and wherever rows are followed to."""
        found = {m.layer.turn: m.by for m in self.made} | dict(self.since.values())
        for other in (*(m.theirs for m in self.merges), *((self.rekeyed.before,) if self.rekeyed else ())):
            found |= other.makers()
        return found

    def everything(self) -> list[Layer]:
        """All layers that may be read."""
        found = [*self.layers, *self.state.layers]
        for merge in self.merges:
            found += [*merge.theirs.everything(), *([Layer(0, merge.exceptions)] if merge.exceptions else [])]
        if self.rekeyed:
            found += [*self.rekeyed.after.layers, *self.rekeyed.before.everything()]
        return found

    def schemas(self) -> Iterator[Schema]:
        """The schemas of the table at the ends of this segment and of those that it goes on in."""
        yield self.state.schema
        for before in (*(m.theirs for m in self.merges), *([self.rekeyed.before] if self.rekeyed else [])):
            yield from before.schemas()


@dataclass(frozen=True)
class Merge:
    """A merge that wrote rows again which its further parent had changed."""

    turns: tuple[int, ...]
    theirs: Segment
    exceptions: StoredObject | None


@dataclass(frozen=True)
class Rekeyed:
    """A commit that gave the table another key, or undid its drop, the first of a segment: all rows are told again."""

    turns: tuple[int, ...]
    after: TableState
    before: Segment


@dataclass
class _Reader:
    past: Past
    turn: int = 0
    reach: dict[Position, bool] = field(default_factory=dict)

    def read(self, head: Position) -> Segment:
        """The past of the table up to a commit at which it is there."""
        state = self.past.at(head)
        assert state is not None
        found = touching.touches(self.past.cx, whole_path(history.clock(self.past.cx, head)), self.past.ids)
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
        return Segment(state, tuple(made), since, tuple(self._merges(made, rekeyed)), rekeyed)

    def _next(self) -> int:
        self.turn += 1
        return self.turn

    def _came(
        self, touch: Touch, state: TableState, shown: Schema | None, since: dict[str, tuple[int, Position]]
    ) -> Schema | None:
        """Note the columns that a commit brought to rows that were there."""
        if touch.schema_id is None:
            return shown
        schema = schema_of(self.past.ctx, self.past.cx, {touch.schema_id})[touch.schema_id]
        for c in state.schema if shown is not None else ():
            if schema.written_as(c) and shown is not None and not shown.written_as(c):
                since[turn_of(c)] = (self._next(), self._bringer(touch.position, c))
        return schema

    def _bringer(self, position: Position, column: Column) -> Position:
        """The commit that added a column: a merge has it from a further parent."""
        for parent in history.further_parents(self.past.cx, position):
            shown: Schema | None = None
            for touch in touching.touches(self.past.cx, whole_path(history.clock(self.past.cx, parent)), self.past.ids):
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
            # A squash links objects of commits that are none of its ancestors: there it is the maker.
            known = [p for p in linked if p == by or self._reached(p)]
            by = min(known, key=history.Lines(self.past.cx).generation)
        wrote = by == touch.position and touching.is_merge(self.past.cx, by)
        return Made(Layer(self._next(), o), by, by if wrote else None)

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
            told = {r.number: r for r in touching.references(self.past.cx, at, self.past.ids)}
            for number, parent in enumerate(parents, 1):
                reference = told.get(number)
                if (reference and not reference.told) or self.past.at(parent) is None:
                    continue  # Only states could tell whose a row is: it counts as the merge's.
                yield Merge(turns, self.read(parent), self._object(reference.exceptions if reference else None))

    def _object(self, id_: ObjectId | None) -> StoredObject | None:
        if id_ is None:
            return None
        views.learn(self.past.cx, [id_], self.past.ctx.known_objects)
        return self.past.ctx.known_objects[id_]

    def _rekeyed(self, touch: Touch, made: Sequence[Made], earlier: Sequence[Touch]) -> Rekeyed | None:
        dropped = next((t for t in reversed(earlier) if t.dropped), None) if self._came_back(touch) else None
        parent = history.clock(self.past.cx, (dropped or touch).position).back(1)
        after = self.past.at(touch.position)
        if parent is None or after is None or self.past.at(parent) is None:
            return None
        own = {o for _, o in touch.objects}
        mine = [m for m in made if m.layer.object.id in own and (dropped or m.by == touch.position)]
        # A restore may link only what earlier commits wrote: they are the makers.
        return Rekeyed(tuple(m.layer.turn for m in mine), after, self.read(parent)) if mine else None

    def _came_back(self, touch: Touch) -> bool:
        """Whether a commit undid a drop: the table is not there before it."""
        parent = history.clock(self.past.cx, touch.position).back(1)
        return parent is not None and self.past.at(parent) is None
