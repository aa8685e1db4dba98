"""Parquet: there and back for every type, ranges from footers and rows, duplicates, and damage."""

from __future__ import annotations

import contextlib
import datetime as dt
import io
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anabranch as ab
from anabranch.arrow.plain import plain
from anabranch.arrow.types import arrow_fields, arrow_type, key_value, spark_type
from anabranch.model.ddl import parse_type
from anabranch.model.objects import KeyRange
from anabranch.model.schema import Column, new_column
from anabranch.objects import parquet

EPOCH = dt.datetime(1970, 1, 1)
VALUES: dict[str, list[Any]] = {
    "tinyint": [-128, 0, 127],
    "smallint": [-(2**15), 2**15 - 1],
    "int": [-(2**31), 2**31 - 1],
    "bigint": [-(2**63), 2**63 - 1],
    "float": [-1.5, 0.0, float("inf")],
    "double": [-1.5, 1e308, float("-inf")],
    "string": ["", "a", "été", "日本語🚀", "\x00"],
    "boolean": [False, True],
    "date": [dt.date(1, 1, 1), dt.date(1970, 1, 1), dt.date(9999, 12, 31)],
    "timestamp": [dt.datetime(1, 1, 1, tzinfo=dt.UTC), dt.datetime(2026, 11, 1, 12, 0, 0, 1, tzinfo=dt.UTC)],
    "timestamp_ntz": [dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31, 23, 59, 59, 999999)],
    "binary": [b"", b"\x00\xff"],
    "decimal(5,2)": [Decimal("-999.99"), Decimal("0.00"), Decimal("999.99")],
    "decimal(38,10)": [Decimal("-1234567890123456789012345678.0123456789"), Decimal("1E-10")],
    "decimal(38,0)": [Decimal("9" * 38)],
    "array<int>": [[], [1, None]],
    "array<struct<a:timestamp,`b.c`:array<float>>>": [
        [{"a": dt.datetime(1, 1, 1, tzinfo=dt.UTC), "b.c": [-0.0]}, None]
    ],
    "map<date,map<string,double>>": [[], [(dt.date(1, 1, 1), [("x", 1.5), ("y", None)])]],
}


def column(type_: str, name: str = "k") -> Column:
    return new_column(name, parse_type(type_))


def table_of(columns: list[Column], *rows: tuple[Any, ...]) -> pa.Table:
    fields = arrow_fields(columns)
    arrays = [pa.array([r[i] for r in rows], f.type) for i, f in enumerate(fields)]
    return pa.Table.from_arrays(arrays, schema=fields)


@pytest.mark.parametrize("type_", VALUES)
def test_every_type_comes_back_as_it_was_written(type_: str) -> None:
    c = column(type_)
    rows = table_of([c], *((v,) for v in [*VALUES[type_], None]))
    back = plain(parquet.decode(parquet.encode(rows, 2)))
    assert back.schema.equals(rows.schema)
    assert back.to_pylist() == rows.to_pylist()
    assert spark_type(back.schema.field(0).type, "k") == c.type


@pytest.mark.parametrize(
    ("arrow", "expected"),
    [
        (pa.uint8(), "smallint"),
        (pa.uint16(), "int"),
        (pa.uint32(), "bigint"),
        (pa.uint64(), "decimal(20,0)"),
        (pa.float16(), "float"),
        (pa.large_string(), "string"),
        (pa.string_view(), "string"),
        (pa.large_binary(), "binary"),
        (pa.binary(4), "binary"),
        (pa.date64(), "date"),
        (pa.timestamp("ns"), "timestamp_ntz"),
        (pa.timestamp("s", "Europe/Berlin"), "timestamp"),
        (pa.dictionary(pa.int8(), pa.string()), "string"),
        (pa.decimal256(30, 4), "decimal(30,4)"),
        (pa.large_list(pa.int8()), "array<tinyint>"),
        (pa.list_(pa.int8(), 3), "array<tinyint>"),
        (pa.list_view(pa.string_view()), "array<string>"),
        (pa.map_(pa.string(), pa.list_(pa.null())), "map<string,array<void>>"),
        (pa.struct([("a b", pa.dictionary(pa.int8(), pa.large_string()))]), "struct<`a b`:string>"),
        (pa.run_end_encoded(pa.int32(), pa.int64()), "bigint"),
        (pa.uuid(), "binary"),
        (pa.duration("ns"), "interval day to second"),
    ],
)
def test_arrows_other_types_are_taken_as_the_nearest_of_sparks(arrow: pa.DataType, expected: str) -> None:
    assert str(spark_type(arrow, "column 'x'")) == expected


@pytest.mark.parametrize(
    "arrow",
    [
        pa.null(),
        pa.list_(pa.time64("us")),
        pa.struct([("a", pa.month_day_nano_interval())]),
        pa.struct([]),
        pa.map_(pa.string(), pa.decimal256(50)),
        pa.time64("us"),
        pa.month_day_nano_interval(),
        pa.decimal256(50),
    ],
)
def test_a_type_that_can_not_be_versioned_is_refused_by_column(arrow: pa.DataType) -> None:
    with pytest.raises(ab.InvalidRequest, match=r"column 'x'|struct without fields") as caught:
        spark_type(arrow, "column 'x'")
    assert caught.value.hint


@pytest.mark.parametrize(
    ("type_", "value", "expected"),
    [
        ("bigint", -7, -7),
        ("string", "a", "a"),
        ("binary", b"a", b"a"),
        ("boolean", True, True),
        ("decimal(5,2)", Decimal("1.50"), Decimal("1.50")),
        ("date", dt.date(1970, 1, 2), 1),
        ("date", dt.date(1969, 12, 31), -1),
        ("timestamp_ntz", EPOCH + dt.timedelta(microseconds=5), 5),
        ("timestamp_ntz", EPOCH - dt.timedelta(microseconds=5), -5),
        ("timestamp", dt.datetime(1970, 1, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=1))), 0),
        ("string", None, None),
    ],
)
def test_a_keys_value_has_a_comparable_form(type_: str, value: Any, expected: Any) -> None:
    found = key_value(value, parse_type(type_))
    assert found == expected
    assert type(found) is type(expected)


KEYS = [t for t in VALUES if parse_type(t).can_be_key]


@pytest.mark.parametrize("type_", KEYS)
def test_the_footer_and_the_rows_tell_the_same_range(type_: str) -> None:
    key = column(type_)
    values = VALUES[type_]
    rows = table_of([key], *((v,) for v in values))
    content = parquet.encode(rows, 1)
    from_rows = parquet.table_range(rows, [key])
    footer = parquet.read_footer(io.BytesIO(content), [key])
    assert (footer.row_count, footer.null_keys) == (len(values), 0)
    ends = [key_value(v, key.type) for v in values]
    exact = KeyRange((min(ends),), (max(ends),))  # type: ignore[type-var]
    assert from_rows == exact
    assert footer.key_range in (exact, None), "a range that is told must hold every key"


def test_a_range_has_a_side_for_each_column_of_the_key() -> None:
    a, b = column("int", "a"), column("string", "b")
    rows = table_of([a, b], (1, "z"), (2, "a"), (3, "m"))
    expected = KeyRange((1, "a"), (3, "z"))
    assert parquet.table_range(rows, [a, b]) == expected
    assert parquet.read_footer(io.BytesIO(parquet.encode(rows, 2)), [a, b]).key_range == expected


def test_rows_without_a_key_or_without_rows_have_no_range() -> None:
    key = column("int")
    assert parquet.table_range(table_of([key]), [key]) is None
    assert parquet.table_range(table_of([key], (1,)), []) is None
    assert parquet.read_footer(io.BytesIO(parquet.encode(table_of([key]), 10)), [key]) == parquet.Footer(0, None, 0)


def test_long_text_gives_a_range_that_still_holds_every_key() -> None:
    key = column("string")
    values = ["a" * 5000, "b" * 5000 + "z"]
    rows = table_of([key], *((v,) for v in values))
    found = parquet.read_footer(io.BytesIO(parquet.encode(rows, 10)), [key]).key_range
    assert found is None or (found.low[0] <= values[0] and values[1] <= found.high[0])  # type: ignore[operator]


def test_nulls_in_the_key_are_counted() -> None:
    key = column("int")
    rows = table_of([key], (1,), (None,), (None,))
    assert parquet.read_footer(io.BytesIO(parquet.encode(rows, 1)), [key]).null_keys == 2


CONTENT = parquet.encode(
    table_of([column("bigint"), column("string", "s")], *((n, f"text {n}") for n in range(200))), 50
)


@settings(max_examples=150, deadline=None)
@given(st.integers(0, len(CONTENT) - 1), st.integers(1, 255))
def test_bytes_that_are_not_parquet_are_corrupt_and_nothing_else(place: int, change: int) -> None:
    damaged = bytearray(CONTENT)
    damaged[place] ^= change
    for content in (bytes(damaged), CONTENT[:place]):
        with contextlib.suppress(ab.Corrupt):
            parquet.decode(content).validate(full=False)


def test_files_are_small_and_carry_no_foreign_schema() -> None:
    metadata = pq.ParquetFile(pa.BufferReader(CONTENT)).metadata
    assert metadata.metadata is None or b"ARROW:schema" not in metadata.metadata
    assert metadata.num_row_groups == 4


@pytest.mark.parametrize(
    ("rows", "quick", "compression", "by_dictionary"),
    [(100, False, "SNAPPY", False), (9000, False, "ZSTD", True), (9000, True, "UNCOMPRESSED", True)],
)
def test_few_rows_and_files_that_do_not_live_long_are_written_quickly(
    rows: int, quick: bool, compression: str, by_dictionary: bool
) -> None:
    made = table_of([column("bigint"), column("string", "s")], *((n, f"text {n % 7}") for n in range(rows)))
    content = parquet.encode(made, 10_000, quick=quick)
    assert parquet.decode(content).equals(made)
    described = pq.ParquetFile(pa.BufferReader(content)).metadata.row_group(0).column(1)
    assert (described.compression, described.has_dictionary_page) == (compression, by_dictionary)


@pytest.mark.parametrize("type_", VALUES)
def test_arrow_and_spark_types_are_one_to_one(type_: str) -> None:
    spark = parse_type(type_)
    assert spark_type(arrow_type(spark), "x") == spark


@pytest.mark.parametrize("type_", ["int", "bigint", "smallint", "string", "decimal(12,2)", "double", "array<int>"])
@pytest.mark.parametrize("distinct", [3, 5000])
def test_files_hold_the_same_rows_with_dictionaries_only_where_they_pay(type_: str, distinct: int) -> None:
    made = [None if n % 17 == 0 else _value_of(type_, n % distinct) for n in range(10_000)]
    rows = table_of([new_column("k", parse_type("bigint")), column(type_, "v")], *enumerate(made))
    content = parquet.encode(rows, 2000)
    assert parquet.decode(content).equals(rows)
    described = pq.ParquetFile(io.BytesIO(content)).metadata.row_group(0)
    assert "DELTA_BINARY_PACKED" in described.column(0).encodings, "keys are told by their distances"
    by_dictionary = any("DICTIONARY" in e for e in described.column(1).encodings)
    assert by_dictionary == (type_ != "double" and (distinct == 3 or type_ == "array<int>"))


def _value_of(type_: str, number: int) -> Any:
    made = {"string": str(number), "decimal(12,2)": Decimal(number) / 4, "double": number / 4, "array<int>": [number]}
    return made.get(type_, number)


def test_floats_have_neither_statistics_nor_dictionaries_and_all_else_has_statistics() -> None:
    columns = [
        column("bigint", "k"),
        column("double", "d"),
        column("struct<a:float,b:array<int>,c:map<int,double>>", "s"),
    ]
    value = {"a": 1.5, "b": [1], "c": [(1, 1.5)]}
    content = parquet.encode(table_of(columns, *((n, -0.0, value) for n in range(2000))), 2000)
    found = pq.ParquetFile(io.BytesIO(content)).metadata.row_group(0)
    leaves = [found.column(i) for i in range(found.num_columns)]
    told = {c.path_in_schema.partition(".")[2] or c.physical_type for c in leaves if c.is_stats_set}
    assert told == {"INT64", "b.list.element", "c.key_value.key"}
    assert not any(c.has_dictionary_page for c in leaves if not c.is_stats_set)
    assert any(c.has_dictionary_page for c in leaves)
