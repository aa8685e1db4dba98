"""Layers as a whole: what may hold a key is found by an index, and is what a look at every layer finds."""

from __future__ import annotations

import random
import threading
from dataclasses import replace

from anabranch.model.ids import ObjectId, SchemaId
from anabranch.model.layers import Bounds, IntervalIndex, LayerIndex, Layers
from anabranch.model.objects import KeyRange, Layer, Members, StoredObject, may_meet


def _layer(number: int, key_range: KeyRange | None, turn: int = 0) -> Layer:
    kind = "rows" if turn == 0 else "update"
    stored = StoredObject(ObjectId(f"o{number}"), kind, "", 10, 1, SchemaId("s"), key_range, (), "root", f"p{number}")  # type: ignore[arg-type]
    return Layer(turn, stored)


def _range(low: int, high: int, other: tuple[int, int] = (0, 9)) -> KeyRange:
    return KeyRange((low, other[0]), (high, other[1]))


def test_an_index_of_intervals_finds_what_a_look_at_each_finds() -> None:
    chance = random.Random(5)
    for count in (0, 1, 2, 3, 7, 64, 100):
        ends = [(low, low + chance.randrange(30)) for low in (chance.randrange(200) for _ in range(count))]
        index = IntervalIndex(ends)
        for _ in range(40):
            low = chance.randrange(-10, 240)
            high = low + chance.randrange(20)
            met = [n for n, (a, b) in enumerate(ends) if a <= high and low <= b]
            assert sorted(index.meeting(low, high)) == met
            values = [chance.randrange(-10, 240) for _ in range(chance.choice((0, 1, 5, 150)))]
            holding = {n for n, (a, b) in enumerate(ends) if any(a <= v <= b for v in values)}
            assert index.holding(values) == holding


def test_layers_that_may_hold_a_key_are_found_in_their_order_also_over_others() -> None:
    chance = random.Random(7)

    def some(first: int, turn: int) -> list[Layer]:
        made = [_range(n * 10, n * 10 + chance.randrange(15), (n % 3, n % 3 + 2)) for n in range(30)]
        return [_layer(first + n, None if n == 4 else r, turn) for n, r in enumerate(made)]

    whole = Layers.over(Layers(some(0, 0)), some(100, 1))
    assert len(whole) == 60
    assert whole.size_bytes == 600
    assert whole.top == 1
    assert whole.objects[ObjectId("o103")] is whole[33].object
    for _ in range(50):
        low = chance.randrange(320)
        wanted = _range(low, low + chance.randrange(40), (1, 1))
        assert whole.near(wanted) == tuple(x for x in whole if may_meet(x.object.key_range, wanted))
        assert set(LayerIndex(whole).near(wanted)) == set(whole.near(wanted))
        bounds = Bounds(low, None)
        above = tuple(x for x in whole if x.object.key_range is None or x.object.key_range.high[0] >= low)  # type: ignore[operator]
        assert whole.within(bounds) == above
    keys = [3, 155, 290]
    near = tuple(
        x for x in whole if x.object.key_range is None or any(may_meet(x.object.key_range, _range(k, k)) for k in keys)
    )
    assert whole.near(_range(3, 290), keys) == near


def test_threads_that_read_manifests_do_not_wait_for_each_other_for_ever() -> None:
    inside, other = _layer(1, None).object, Layers([_layer(0, None)])
    listing = threading.Thread(target=lambda: list(other), daemon=True)

    def read(_: StoredObject) -> list[StoredObject]:
        listing.start()
        listing.join(0.1)
        return [inside]

    manifest = replace(_layer(2, None), object=replace(inside, kind="manifest", members=Members(1, 10, 1)))
    layers = Layers([manifest], read)
    threads = [threading.Thread(target=lambda: layers.inline, daemon=True), listing]
    threads[0].start()
    for thread in threads:
        thread.join(5)
    assert not any(thread.is_alive() for thread in threads)
