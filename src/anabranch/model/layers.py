"""All layers of a table together: what reads keep asking about them is worked out once."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Any, overload

from anabranch.model.ids import ObjectId, SchemaId
from anabranch.model.objects import KeyRange, KeyValue, Layer, StoredObject, may_meet


class IntervalIndex:
    """Closed intervals of comparable values, identified by their places in the given list.

    They are sorted by low end; a tree above them holds the greatest high end of each stretch, so that a stretch
    that ends too early is skipped as a whole.
    """

    def __init__(self, ends: Sequence[tuple[Any, Any]]) -> None:
        self._order = sorted(range(len(ends)), key=lambda n: ends[n][0])
        self._lows = [ends[n][0] for n in self._order]
        self._levels = [[ends[n][1] for n in self._order]]
        while len(self._levels[-1]) > 1:
            below = self._levels[-1]
            above = [max(pair) for pair in zip(below[::2], below[1::2], strict=False)]
            self._levels.append(above + below[len(above) * 2 :])

    @property
    def least(self) -> Any:
        """The least value of all; None where there are no intervals."""
        return self._lows[0] if self._lows else None

    @property
    def greatest(self) -> Any:
        """The greatest value of all; None where there are no intervals."""
        return self._levels[-1][0] if self._lows else None

    def meeting(self, low: Any, high: Any) -> Iterator[int]:
        """The places of the intervals that share a value with this one, those with the least low end first."""
        end = bisect_right(self._lows, high) if self._lows else 0
        todo = [(len(self._levels) - 1, 0)] if end else []
        while todo:
            level, at = todo.pop()
            if at << level >= end or self._levels[level][at] < low:
                continue
            if level == 0:
                yield self._order[at]
                continue
            if 2 * at + 1 < len(self._levels[level - 1]):
                todo.append((level - 1, 2 * at + 1))
            todo.append((level - 1, 2 * at))

    def holding(self, values: Sequence[Any]) -> set[int]:
        """The places of the intervals that hold one of these values."""
        if len(values) <= len(self._lows):
            return {place for value in values for place in self.meeting(value, value)}
        sought = sorted(values)
        firsts = (bisect_left(sought, low) for low in self._lows)
        ends = zip(self._order, self._levels[0], firsts, strict=True)
        return {place for place, high, first in ends if first < len(sought) and sought[first] <= high}


@dataclass(frozen=True)
class Bounds:
    """The least and greatest value that a condition allows for the first key column; None where it is unbounded."""

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
        """The layers that may hold a key in a range, in no order."""
        if key_range is None:
            yield from self._layers
            return
        yield from (self._layers[n] for n in self._unknown)
        for n in self._index.meeting(key_range.low[0], key_range.high[0]):
            layer = self._layers[self._known[n]]
            if may_meet(layer.object.key_range, key_range):
                yield layer

    def places_of(self, values: Sequence[KeyValue]) -> set[int]:
        """The places of the layers that may hold a key which begins with one of these values."""
        return {*self._unknown, *(self._known[n] for n in self._index.holding(values))}

    def places_within(self, bounds: Bounds) -> set[int]:
        """The places of the layers that may hold a key within bounds."""
        found = self._index.meeting(
            self._index.least if bounds.low is None else bounds.low,
            self._index.greatest if bounds.high is None else bounds.high,
        )
        return {*self._unknown, *(self._known[n] for n in found)}

    def places_near(self, key_range: KeyRange | None) -> set[int]:
        """The places of the layers that may hold a key in a range."""
        if key_range is None:
            return set(range(len(self._layers)))
        found = set(self._unknown)
        for n in self._index.meeting(key_range.low[0], key_range.high[0]):
            if may_meet(self._layers[self._known[n]].object.key_range, key_range):
                found.add(self._known[n])
        return found


ReadManifest = Callable[[StoredObject], Sequence[StoredObject]]
"""Reads the objects that a manifest lists."""


class Layers(Sequence[Layer]):
    """Layers in order. Those of a view are made once and shared by all states that are read from it.

    Objects that a manifest lists are layers like any other, but the manifest is read only when one of them may be
    needed: a look-up reads the manifests whose range holds the key, iteration reads all.
    """

    def __init__(self, linked: Iterable[Layer] = (), read: ReadManifest | None = None) -> None:
        self._linked, self._read = tuple(linked), read
        self._inside: dict[int, Layers] = {}
        self.below: Layers | None = None
        """The layers that come before these, with answers of their own."""

    @classmethod
    def over(cls, below: Sequence[Layer], more: Sequence[Layer]) -> Layers:
        """Put layers on top of others; what either has worked out is kept."""
        if not below:
            return as_layers(more)
        first = as_layers(below)
        if not more:
            return first
        added = as_layers(more)
        made = cls(added._linked, added._read)
        made.__dict__.update((name, known) for name, known in vars(added).items() if name in _OF_LINKED)
        made.below = first if added.below is None else cls.over(first, added.below)
        return made

    @property
    def manifests(self) -> tuple[Layer, ...]:
        """The manifests themselves, each as a layer."""
        own = tuple(x for x in self._linked if x.object.members)
        return (*self.below.manifests, *own) if self.below else own

    def listed_in(self, manifest: ObjectId) -> Layers:
        """The layers that a manifest among these lists."""
        place = next((n for n, x in enumerate(self._linked) if x.object.id == manifest), None)
        if place is not None:
            return self._opened(place)
        assert self.below is not None
        return self.below.listed_in(manifest)

    def _opened(self, place: int) -> Layers:
        """The layers that the manifest at a place lists; it is read once."""
        if place not in self._inside:
            layer = self._linked[place]
            assert self._read is not None
            self._inside[place] = Layers(replace(layer, object=o) for o in self._read(layer.object))
        return self._inside[place]

    @cached_property
    def _own(self) -> tuple[Layer, ...]:
        if not any(x.object.members for x in self._linked):
            return self._linked
        # Not by iteration: Python 3.11 locks each cached property for all instances, and `_all` waits for this one.
        parts = (self._opened(n)._linked if x.object.members else (x,) for n, x in enumerate(self._linked))
        return tuple(layer for part in parts for layer in part)

    @cached_property
    def _all(self) -> tuple[Layer, ...]:
        return self._own if self.below is None else (*self.below._all, *self._own)

    def __iter__(self) -> Iterator[Layer]:
        return iter(self._all)

    @overload
    def __getitem__(self, place: int) -> Layer: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Layer, ...]: ...
    def __getitem__(self, place: int | slice) -> Layer | tuple[Layer, ...]:
        return self._all[place]

    @cached_property
    def _count(self) -> int:
        own = sum(x.object.members.count if x.object.members else 1 for x in self._linked)
        return own + (len(self.below) if self.below else 0)

    def __len__(self) -> int:
        return self._count

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Layers) and (self is other or (self._linked, self.below) == (other._linked, other.below)):
            return True
        return isinstance(other, Layers | tuple) and len(self) == len(other) and self._all == tuple(other)

    def __hash__(self) -> int:
        return hash((len(self), self.top, self.size_bytes))

    @cached_property
    def size_bytes(self) -> int:
        """The bytes that a scan may read."""
        return sum(_bytes(x) for x in self._linked) + (self.below.size_bytes if self.below else 0)

    @cached_property
    def rows_bytes(self) -> int:
        """The bytes of the objects of rows."""
        own = sum(_bytes(x) for x in self._linked if x.object.kind in ("rows", "manifest"))
        return own + (self.below.rows_bytes if self.below else 0)

    @cached_property
    def counted_rows(self) -> int | None:
        """How many rows the layers show; None if only reading tells.

        It does where a snapshot has deletes: it keeps some whose rows were left out already.
        """
        below = self.below.counted_rows if self.below else 0
        if below is None or any(x.view == "snapshot" and x.object.kind == "delete" for x in self._linked):
            return None
        return below + sum(_SIGNS.get(x.object.kind, 0) * x.object.row_count for x in self._linked)

    @cached_property
    def schema_ids(self) -> frozenset[SchemaId]:
        """The schemas that the objects were written under."""
        own = frozenset(x.object.schema_id for x in self._linked)
        return own | self.below.schema_ids if self.below else own

    @cached_property
    def top(self) -> int:
        """The highest turn; -1 where there are no layers."""
        own = max((x.turn for x in self._linked), default=-1)
        return own if self.below is None else max(self.below.top, own)

    @cached_property
    def loose_turns(self) -> frozenset[int]:
        """The turns of changes that no view holds."""
        own = frozenset(x.turn for x in self._linked if x.view is None)
        return own | self.below.loose_turns if self.below else own

    @cached_property
    def objects(self) -> Mapping[ObjectId, StoredObject]:
        """The objects by their ids."""
        own = {x.object.id: x.object for x in self._own}
        return own if self.below is None else ChainMap(own, self.below.objects)  # type: ignore[arg-type]

    def find(self, id_: ObjectId) -> StoredObject | None:
        """Find an object by its id; unread manifests are read only if it is nowhere else."""
        return self._find_known(id_) or self.objects.get(id_)

    def _find_known(self, id_: ObjectId) -> StoredObject | None:
        found = self._directly.get(id_)
        places = iter((*self._inside.values(), *((self.below,) if self.below else ())))
        while found is None and (part := next(places, None)) is not None:
            found = part._find_known(id_)
        return found

    @cached_property
    def _directly(self) -> Mapping[ObjectId, StoredObject]:
        return {x.object.id: x.object for x in self._linked if not x.object.members}

    @cached_property
    def inline(self) -> tuple[StoredObject, ...]:
        """The small objects, which the catalogue holds."""
        has_some = any(x.object.members.inline if x.object.members else True for x in self._linked)
        among = self._own if has_some and any(x.object.members for x in self._linked) else self._linked
        own = tuple({x.object.id: x.object for x in among if x.object.place == "inline"}.values())
        return (*self.below.inline, *own) if self.below else own

    @cached_property
    def _index(self) -> LayerIndex:
        return LayerIndex(self._linked)

    def near(self, key_range: KeyRange | None, values: Sequence[KeyValue] | None = None) -> Sequence[Layer]:
        """The layers that may hold a key in a range; with `values`, a key that begins with one of them."""
        if key_range is None:
            return self
        places = self._index.places_near(key_range) if values is None else self._index.places_of(values)
        own = self._chosen(places, lambda listed: listed.near(key_range, values))
        return (*self.below.near(key_range, values), *own) if self.below else own

    def within(self, bounds: Bounds) -> tuple[Layer, ...]:
        """The layers that may hold a key within bounds."""
        own = self._chosen(self._index.places_within(bounds), lambda listed: listed.within(bounds))
        return (*self.below.within(bounds), *own) if self.below else own

    def _chosen(self, places: set[int], inside: Callable[[Layers], Sequence[Layer]]) -> tuple[Layer, ...]:
        found: list[Layer] = []
        for n in sorted(places):
            found += inside(self._opened(n)) if self._linked[n].object.members else [self._linked[n]]
        return tuple(found)


_OF_LINKED = ("_inside", "_own", "_directly", "_index")
"""What depends on the linked objects alone, not on the layers below."""


_SIGNS = {"rows": 1, "manifest": 1, "delete": -1}
"""Whether the rows of an object come or go."""


def chained(*parts: Sequence[Layer]) -> Layers:
    """Chain layers in order, without reading any manifest."""
    return reduce(Layers.over, parts, Layers())


def with_exceptions(layers: Sequence[Layer]) -> Layers:
    """Layers, and the exceptions that they have: all that is read of them."""
    return chained(layers, [Layer(0, o) for x in layers for o in x.without])


def _bytes(layer: Layer) -> int:
    """The bytes that a scan of a layer may read."""
    return layer.object.members.size_bytes if layer.object.members else layer.object.size_bytes


def as_layers(layers: Sequence[Layer]) -> Layers:
    """Wrap layers in `Layers` if they are not yet."""
    return layers if isinstance(layers, Layers) else Layers(layers)
