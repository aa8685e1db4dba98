"""Key ranges: what may meet, and the box around several."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.model.changes import Counts
from anabranch.model.ids import ObjectId, SchemaId, new_column_id, new_id
from anabranch.model.objects import KeyRange, Layer, StoredObject, around, may_meet, size_of


def box(low: Any, high: Any) -> KeyRange:
    return KeyRange(low if isinstance(low, tuple) else (low,), high if isinstance(high, tuple) else (high,))


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (box(1, 5), box(5, 9), True),
        (box(1, 5), box(6, 9), False),
        (box(1, 9), box(4, 5), True),
        (box(3, 3), box(3, 3), True),
        (box("a", "c"), box("b", "z"), True),
        (box("a", "b"), box("ba", "z"), False),
        (box(Decimal("1.5"), Decimal("2")), box(Decimal("2.00"), Decimal("3")), True),
        (box(b"\x00", b"\x01"), box(b"\x01\x00", b"\xff"), False),
        (box(False, False), box(True, True), False),
        (box((1, "a"), (3, "b")), box((2, "b"), (2, "z")), True),
        (box((1, "a"), (3, "b")), box((2, "c"), (2, "z")), False),
        (box((1, "a"), (3, "b")), box((4, "a"), (4, "b")), False),
        (None, box(1, 2), True),
        (box(1, 2), None, True),
        (None, None, True),
    ],
)
def test_ranges_meet_unless_a_column_keeps_them_apart(
    one: KeyRange | None, other: KeyRange | None, expected: bool
) -> None:
    assert may_meet(one, other) is expected
    assert may_meet(other, one) is expected


@pytest.mark.parametrize(
    ("ranges", "expected"),
    [
        ([], None),
        ([None], None),
        ([box(1, 2), None], None),
        ([box(1, 2)], box(1, 2)),
        ([box(5, 9), box(1, 2)], box(1, 9)),
        ([box((1, "z"), (2, "z")), box((0, "a"), (1, "b"))], box((0, "a"), (2, "z"))),
    ],
)
def test_the_box_around_ranges_is_known_only_if_each_is(
    ranges: list[KeyRange | None], expected: KeyRange | None
) -> None:
    assert around(ranges) == expected


KEYS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=4)


def range_of(keys: list[tuple[int, int]]) -> KeyRange:
    found = around(KeyRange(k, k) for k in keys)
    assert found is not None
    return found


@given(KEYS, KEYS)
def test_ranges_of_keys_that_share_one_always_meet(one: list[tuple[int, int]], other: list[tuple[int, int]]) -> None:
    if set(one) & set(other):
        assert range_of(one).meets(range_of(other))
    assert around([range_of(one), range_of(other)]) == range_of(one + other)


def test_the_bytes_of_layers_add_up() -> None:
    def layer(size: int) -> Layer:
        stored = StoredObject(ObjectId("o"), "rows", "", size, 1, SchemaId("s"), None, (), "inline", None)
        return Layer(0, stored)

    assert size_of([]) == 0
    assert size_of([layer(3), layer(4)]) == 7


def test_counts_add_up_and_say_so() -> None:
    total = Counts(1, 2, 3) + Counts(inserted=4)
    assert total == Counts(5, 2, 3)
    assert total.rows == 10
    assert str(total) == "5 inserted, 2 updated, 3 deleted"
    assert Counts().rows == 0


def test_ids_are_safe_as_file_and_column_names_and_never_repeat() -> None:
    made = [new_id("o") for _ in range(1000)] + [new_column_id() for _ in range(1000)]
    assert len(set(made)) == 2000
    assert all(i.isalnum() and i.islower() and i.isascii() for i in made)
