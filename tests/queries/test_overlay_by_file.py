"""Which folded changes act on which files."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from anabranch.model.ids import ObjectId, SchemaId, new_id
from anabranch.model.objects import KeyRange, Layer, StoredObject
from anabranch.queries.overlay_by_file import acting


def file(turn: int, low: Any, high: Any) -> Layer:
    ends = KeyRange((low,), (high,)) if low is not None else None
    return Layer(turn, StoredObject(ObjectId(new_id("o")), "rows", "", 1, 1, SchemaId("s"), ends, (), "root", "p"))


FOLDED = pa.table(
    {
        "k": [1, 2, 3, 11, 12],
        "gone": pa.array([5, None, None, 5, None], pa.int32()),
        "v": ["a", "b", "c", "d", "e"],
        "v_t": pa.array([2, 3, 9, 9, 1], pa.int32()),
    }
)


def found(files: list[Layer], folded: pa.Table = FOLDED) -> list[tuple[Any, ...]] | None:
    act = acting(folded, files, ["k"], ["gone", "v_t"])
    return None if act is None else [(r["k"], r["gone"], r["v_t"]) for r in act.to_pylist()]


def test_what_is_older_than_the_file_does_not_act() -> None:
    assert found([file(4, 0, 99)]) == [(1, 5, None), (3, None, 9), (11, 5, 9)]


def test_each_key_is_compared_with_the_turn_of_the_file_that_may_hold_it() -> None:
    assert found([file(8, 0, 9), file(0, 10, 19)]) == [(3, None, 9), (11, 5, 9), (12, None, 1)]


def test_keys_that_no_file_may_hold_are_left_out() -> None:
    assert found([file(0, 2, 2), file(1, 12, 20)]) == [(2, None, 3)]


@pytest.mark.parametrize("other", [(9, 12), (0, 99), (None, None)])
def test_it_is_left_to_the_rows_where_files_of_several_turns_may_hold_a_key(other: tuple[Any, Any]) -> None:
    assert found([file(0, 0, 9), file(1, *other)]) is None


def test_files_of_one_turn_may_share_keys() -> None:
    assert found([file(4, 0, 9), file(4, None, None)]) == found([file(4, 0, 99)])


@pytest.mark.parametrize(
    ("type_", "keys", "ends"),
    [
        (pa.date32(), [date(1970, 1, 2), date(1970, 1, 9)], (1, 8)),
        (pa.timestamp("us", "UTC"), [1, 8], (1, 8)),
        (pa.decimal128(12, 2), [Decimal("1.50"), Decimal("8.00")], (Decimal("1.5"), Decimal(8))),
        (pa.string(), ["a", "é"], ("a", "é")),
        (pa.binary(), [b"\x00", b"\xff"], (b"\x00", b"\xff")),
        (pa.bool_(), [False, True], (False, True)),
    ],
    ids=str,
)
def test_keys_of_every_type_are_compared(type_: pa.DataType, keys: list[Any], ends: tuple[Any, Any]) -> None:
    turns = pa.array([1, 1], pa.int32())
    folded = pa.table({"k": pa.array(keys, type_), "gone": turns, "v_t": turns})
    act = acting(folded, [file(0, ends[0], ends[0]), file(1, ends[1], ends[1])], ["k"], ["gone", "v_t"])
    assert act is not None
    assert act.column("k").equals(folded.column("k").slice(0, 1))
