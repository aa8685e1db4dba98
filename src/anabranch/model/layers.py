"""The layers of a table as a whole: what reads ask of many of them again and again, worked out once."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from anabranch.model.ids import ObjectId, SchemaId
from anabranch.model.intervals import IntervalIndex
from anabranch.model.objects import KeyRange, KeyValue, Layer, StoredObject, may_meet


@dataclass(frozen=True)
class Bounds:
    """What a condition says of the first key column: the least and greatest value, None where there is no end."""

    low: KeyValue | None
    high: KeyValue | None


class LayerIndex:
    """Layers by the range of their first key column; those whose range is unknown may meet anything."""

    def __init__(self, layers: Sequence[Layer]) -> None:
        self._layers = layers
        ranges = [x.object.key_range for x in layers]
        self._known = [n for n, r in enumerate(ranges) if r is not None]
        self._unknown = [n for n, r in enumerate(ranges) if r is None]
        self._index = IntervalIndex([(r.low[0], r.high[0]) for r in ranges if r is not None])

    def near(self, key_range: KeyRange | None) -> Iterator[Layer]:
        """The layers that may hold a key of a range, in no order."""
        if key_range is None:
            yield from self._layers
            return
        yield from (self._layers[n] for n in self._unknown)
        for n in self._index.meeting(key_range.low[0], key_range.high[0]):
            layer = self._layers[self._known[n]]
            if may_meet(layer.object.key_range, key_range):
                yield layer

    def places_of(self, values: Iterable[KeyValue]) -> set[int]:
        """The places of the layers that may hold a key which begins with one of these values."""
        found = set(self._unknown)
        for value in values:
            found.update(self._known[n] for n in self._index.meeting(value, value))
        return found

    def places_within(self, bounds: Bounds) -> set[int]:
        """The places of the layers that may hold a key within bounds."""
        found = self._index.meeting(
            self._index.least if bounds.low is None else bounds.low,
            self._index.greatest if bounds.high is None else bounds.high,
        )
        return {*self._unknown, *(self._known[n] for n in found)}

    def places_near(self, key_range: KeyRange | None) -> set[int]:
        """The places of the layers that may hold a key of a range."""
        if key_range is None:
            return set(range(len(self._layers)))
        found = set(self._unknown)
        for n in self._index.meeting(key_range.low[0], key_range.high[0]):
            if may_meet(self._layers[self._known[n]].object.key_range, key_range):
                found.add(self._known[n])
        return found


class Layers(tuple[Layer, ...]):
    """Layers in their order. Those of a view are made once and stand below all states that are read from it."""

    below: Layers | None = None
    """What these begin with, if that has answers of its own already."""

    @classmethod
    def over(cls, below: Sequence[Layer], more: Sequence[Layer]) -> Layers:
        """Layers that begin with others."""
        if not below:
            return as_layers(more)
        first = as_layers(below)
        if not more:
            return first
        made = cls((*first, *more))
        made.below = first
        return made

    @cached_property
    def _own(self) -> tuple[Layer, ...]:
        return tuple(self) if self.below is None else tuple(self[len(self.below) :])

    @cached_property
    def size_bytes(self) -> int:
        """The bytes that a scan may read."""
        return sum(x.object.size_bytes for x in self._own) + (self.below.size_bytes if self.below else 0)

    @cached_property
    def rows_bytes(self) -> int:
        """The bytes of the objects of rows."""
        own = sum(x.object.size_bytes for x in self._own if x.object.kind == "rows")
        return own + (self.below.rows_bytes if self.below else 0)

    @cached_property
    def schema_ids(self) -> frozenset[SchemaId]:
        """The schemas that the objects were written under."""
        own = frozenset(x.object.schema_id for x in self._own)
        return own | self.below.schema_ids if self.below else own

    @cached_property
    def top(self) -> int:
        """The highest turn; -1 where there are no layers."""
        return max((x.turn for x in self._own), default=-1) if self.below is None else max(self.below.top, self._top)

    @property
    def _top(self) -> int:
        return max((x.turn for x in self._own), default=-1)

    @cached_property
    def loose_turns(self) -> frozenset[int]:
        """The turns of changes that no view holds."""
        own = frozenset(x.turn for x in self._own if x.view is None)
        return own | self.below.loose_turns if self.below else own

    @cached_property
    def objects(self) -> Mapping[ObjectId, StoredObject]:
        """The objects by their ids."""
        own = {x.object.id: x.object for x in self._own}
        return own if self.below is None else ChainMap(own, self.below.objects)  # type: ignore[arg-type]

    @cached_property
    def inline(self) -> tuple[StoredObject, ...]:
        """The small objects, which the catalogue holds."""
        own = tuple({x.object.id: x.object for x in self._own if x.object.place == "inline"}.values())
        return (*self.below.inline, *own) if self.below else own

    @cached_property
    def _index(self) -> LayerIndex:
        return LayerIndex(self._own)

    def near(self, key_range: KeyRange | None, values: Sequence[KeyValue] | None = None) -> tuple[Layer, ...]:
        """The layers that may hold a key of a range; of `values`, only one that begins with one of them."""
        if key_range is None:
            return self
        places = self._index.places_near(key_range) if values is None else self._index.places_of(values)
        own = tuple(self._own[n] for n in sorted(places))
        return (*self.below.near(key_range, values), *own) if self.below else own

    def within(self, bounds: Bounds) -> tuple[Layer, ...]:
        """The layers that may hold a key within bounds."""
        own = tuple(self._own[n] for n in sorted(self._index.places_within(bounds)))
        return (*self.below.within(bounds), *own) if self.below else own


def as_layers(layers: Sequence[Layer]) -> Layers:
    """Layers with what is known of them as a whole."""
    return layers if isinstance(layers, Layers) else Layers(layers)
