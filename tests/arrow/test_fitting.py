"""Values brought to a type: whatever their packing, sliced or not, and never changed on the way."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.arrow.fitting import DoesNotFit, fit_column
from anabranch.arrow.types import arrow_type
from anabranch.model.ddl import parse_type

LISTS = st.lists(st.none() | st.lists(st.none() | st.integers(-(2**31), 2**31 - 1), max_size=3), max_size=6)
KINDS = [pa.list_(pa.int64()), pa.large_list(pa.int32()), pa.list_view(pa.int64()), pa.large_list_view(pa.int32())]


@given(LISTS, st.sampled_from(KINDS), st.integers(0, 3), st.integers(0, 4))
def test_lists_of_every_kind_sliced_anywhere_keep_their_values(
    values: list[Any], kind: pa.DataType, start: int, length: int
) -> None:
    found = fit_column(pa.chunked_array([pa.array(values, kind).slice(start, length)]), parse_type("array<int>"))
    assert found.type == arrow_type(parse_type("array<int>"))
    assert found.to_pylist() == values[start : start + length]
    found.validate(full=True)


@given(
    st.lists(st.none() | st.dictionaries(st.text(max_size=2), st.none() | st.lists(st.floats(width=32))), max_size=5),
    st.integers(0, 3),
)
def test_maps_sliced_anywhere_keep_their_entries(values: list[Any], start: int) -> None:
    kind = pa.map_(pa.large_string(), pa.list_(pa.float32()))
    pairs = [None if v is None else list(v.items()) for v in values]
    found = fit_column(pa.chunked_array([pa.array(pairs, kind).slice(start)]), parse_type("map<string,array<double>>"))
    assert repr(found.to_pylist()) == repr(pairs[start:])
    found.validate(full=True)


@given(st.lists(st.none() | st.fixed_dictionaries({"b": st.none() | st.booleans(), "A": st.none() | st.text()})))
def test_structs_are_put_together_by_name(values: list[Any]) -> None:
    kind = pa.struct([("b", pa.bool_()), ("A", pa.string())])
    found = fit_column(pa.chunked_array([pa.array(values, kind)]), parse_type("struct<a:string,b:boolean,c:date>"))
    assert found.to_pylist() == [v and {"a": v["A"], "b": v["b"], "c": None} for v in values]
    found.validate(full=True)


@pytest.mark.parametrize(
    ("type_", "values"),
    [
        ("tinyint", pa.array([128])),
        ("array<tinyint>", pa.array([[128]])),
        ("struct<a:decimal(3,2)>", pa.array([{"a": Decimal("1.234")}])),
        ("decimal(3,2)", pa.array([10])),
        ("timestamp_ntz", pa.array([1], pa.timestamp("ns"))),
        ("float", pa.array([1e39])),
        ("interval day", pa.array([dt.timedelta(hours=1)])),
        ("interval year", pa.array([13])),
        ("variant", pa.array(["{"])),
        ("variant", pa.array([""])),
        ("variant", pa.array(['{"a": 1, "a": 2}'])),
        ("map<int,int>", pa.array([[(1, 1), (1, 2)]], pa.map_(pa.int32(), pa.int32()))),
        ("map<array<int>,int>", pa.array([[([1], 1), ([1], 2)]], pa.map_(pa.list_(pa.int32()), pa.int32()))),
    ],
)
def test_what_would_be_lost_is_refused(type_: str, values: pa.Array) -> None:
    with pytest.raises(DoesNotFit):
        fit_column(pa.chunked_array([values]), parse_type(type_))


def test_columns_without_chunks_or_values_get_the_type() -> None:
    type_ = parse_type("map<string,array<struct<a:int>>>")
    for values in (
        pa.chunked_array([], pa.null()),
        pa.chunked_array([pa.nulls(2)]),
        pa.chunked_array([pa.array([[], None])]),
    ):
        found = fit_column(values, type_)
        assert (found.type, len(found)) == (arrow_type(type_), len(values))
