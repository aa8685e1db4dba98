"""Traces rows back to where they changed. Each segment of the past is queried once, for all rows that come from it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from anabranch.engines.engine import Engine
from anabranch.model.clock import Position
from anabranch.model.objects import Layer, around, may_meet
from anabranch.model.schema import Column, Schema
from anabranch.queries.blame import Attribution, Followed
from anabranch.queries.path_fold import Path, touched_keys
from anabranch.queries.query import Query, Rows, Sources
from anabranch.queries.scan import Keys
from anabranch.repo.compare.blame_segments import Made, Merge, Rekeyed, Segment, Story
from anabranch.repo.context.context import Context
from anabranch.repo.read.conditions import keys_in
from anabranch.repo.read.scan import scan


@dataclass
class Trace:
    """When rows arrived and cells changed, as turns of the story."""

    ctx: Context
    engine: Engine
    story: Story
    schema: Schema
    """The schema that rows are compared under."""
    columns: tuple[Column, ...]
    """The columns whose cells are traced."""
    turns: dict[Position, pa.Table] = field(default_factory=dict)
    """For each commit that merges took rows from: the turns of those rows."""

    def attribution(self, segment: Segment) -> Attribution:
        """The questions for a segment: the same cells, under the segment's own key."""
        return Attribution(segment.state.read_as(self.schema), self.columns)

    def last(self, wanted: Keys | None, sources: Sources) -> Any:
        """The last turn of each row and cell, for all keys or those wanted."""
        asked = self._requests(wanted)
        for segment in reversed(self.story.segments[1:]):
            if segment.head in asked:
                inner = Sources()
                query = Query(self._expression(segment, asked[segment.head], inner), inner.named)
                self.turns[segment.head] = self.engine.fetch(query)
        return self._expression(self.story.top, wanted, sources)

    def newest(self, wanted: Keys | None, sources: Sources) -> Any:
        """The rank of the commit that last changed each row: the newest among its cells.

        Usually that is the row's last change. Cells are compared only where a merge wrote the row, where an object was
        linked again, or where a change may be to columns that no longer exist.
        """
        top, asked = self.story.top, self.attribution(self.story.top)
        if top.rekeyed:
            return asked.newest_cell(self.last(wanted, sources), self.story.ranks, sources)
        near = [m for m in top.made if wanted is None or may_meet(m.layer.object.key_range, wanted.key_range)]
        shown = [m for m in near if not self._is_gone(m)]
        layers = [replace(m.layer, turn=self.story.ranks[m.layer.turn]) for m in shown]
        limit = sources.add(wanted.source) if wanted else None
        plain = asked.newest_event(layers, self.ctx.access(layers), sources, limit)
        unclear = tuple(m.layer for m in shown if m.own or m.again or self._is_partly_gone(m))
        if not unclear:
            return plain
        exact = self.last(self._keys(top, unclear), sources)
        return asked.instead(plain, asked.newest_cell(exact, self.story.ranks, sources))

    # --- which rows to look up in which segment ---

    def _requests(self, wanted: Keys | None) -> dict[Position, Keys | None]:
        """The keys to look up in each segment, by its head; None for all, where rows continue under another key."""
        found: dict[Position, Keys | None] = {self.story.top.head: wanted}
        for segment in self.story.segments:
            if segment.head not in found:
                continue
            if segment.rekeyed:
                found[segment.rekeyed.before] = None
            for merge in segment.merges:
                near = self._near(segment, merge, found[segment.head])
                if near and self._has_same_key(segment, merge):
                    keys = self._keys(segment, near)
                    found[merge.theirs] = _both(found[merge.theirs], keys) if merge.theirs in found else keys
        return found

    def _near(self, segment: Segment, merge: Merge, wanted: Keys | None) -> tuple[Layer, ...]:
        own = (x for x in segment.layers if x.turn in merge.turns)
        return tuple(x for x in own if wanted is None or may_meet(x.object.key_range, wanted.key_range))

    def _has_same_key(self, segment: Segment, merge: Merge) -> bool:
        ours, theirs = (s.state.read_as(self.schema).schema for s in (segment, self.story.at[merge.theirs]))
        return ours.key_ids == theirs.key_ids

    def _keys(self, segment: Segment, layers: tuple[Layer, ...]) -> Keys:
        """The keys in layers, fetched at once since they are few."""
        state = segment.state.read_as(self.schema)
        rows = self.engine.fetch(touched_keys(Path(layers, None, state), self.ctx.access(layers), Sources()))
        return keys_in(rows, state.schema.key_columns)

    def _is_gone(self, made: Made) -> bool:
        """Whether an object changed only columns that no longer exist."""
        o = made.layer.object
        return o.kind == "update" and self._there.isdisjoint(o.touched)

    def _is_partly_gone(self, made: Made) -> bool:
        o = made.layer.object
        return o.kind == "update" and not self._there.issuperset(o.touched)

    @property
    def _there(self) -> frozenset[str]:
        return frozenset(i for c in self.schema.stored for i in c.ids)

    # --- what a segment contributes ---

    def _expression(self, segment: Segment, wanted: Keys | None, sources: Sources) -> Any:
        asked = self.attribution(segment)
        layers = [x for x in segment.layers if wanted is None or may_meet(x.object.key_range, wanted.key_range)]
        ways = [way for m in segment.merges if (way := self._through(asked, m, sources))]
        if segment.rekeyed:
            ways.append(self._rekeyed(asked, segment.rekeyed, sources))
        since = {name: turn for name, (turn, _) in segment.since.items()}
        limit = sources.add(wanted.source) if wanted else None
        return asked.last(layers, since, ways, self.ctx.access(layers), sources, limit)

    def _through(self, asked: Attribution, merge: Merge, sources: Sources) -> Followed | None:
        """Who changed the rows that a merge rewrote, according to its further parent."""
        if merge.theirs not in self.turns:
            return None
        found = sources.add(Rows(self.turns[merge.theirs]))
        if merge.exceptions is None:
            return Followed(merge.turns, found)
        met = Layer(1, merge.exceptions)
        return Followed(merge.turns, asked.without_decided(found, met, self.ctx.access([met]), sources))

    def _rekeyed(self, asked: Attribution, rekeyed: Rekeyed, sources: Sources) -> Followed:
        """Who changed the rows that were rewritten under another key."""
        segment = self.story.at[rekeyed.before]
        before = self.attribution(segment)
        last = self._expression(segment, None, sources)
        state, after = segment.state.read_as(self.schema), rekeyed.after
        loses = state.schema.has_key and not after.schema.has_key  # Then the old key still identifies the rows.
        after = after.read_as(replace(state.schema, key=()) if loses else self.schema)
        key = [c for c in asked.state.schema.key_columns if c in after.schema.stored]
        shown, old_key = self.schema.columns, state.schema.key_columns
        both = tuple(dict.fromkeys((*key, *shown, *(old_key if loses else ()))))
        rows = scan(self.ctx, after, both, self.ctx.access(after.layers), sources=sources)
        more = tuple(dict.fromkeys((*(() if loses else key), *shown, *old_key)))
        old = scan(self.ctx, state, state.schema.own(more), self.ctx.access(state.layers), sources=sources)
        same = before.keys if loses else asked.keys
        return Followed(rekeyed.turns, asked.under_new_key(before, last, rows, old, shown, same))


def _both(one: Keys | None, other: Keys) -> Keys | None:
    """The union of two sets of keys; None, for all, if the first is."""
    if one is None:
        return None
    rows = pa.concat_tables([k.source.table for k in (one, other) if isinstance(k.source, Rows)])
    return Keys(Rows(rows), around([one.key_range, other.key_range]))
