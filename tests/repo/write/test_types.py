"""Every type, at its edges, through every way in and out, on both engines and from one to the other."""

from __future__ import annotations

import datetime as dt
import logging
import math
import struct
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas
import polars
import pyarrow as pa
import pytest

import anabranch as ab
from anabranch.arrow.types import arrow_type
from anabranch.model.ddl import parse_type

NAN, UTC = float("nan"), dt.UTC
SCHEMA = {
    "id": "int",
    "d": "double",
    "f": "float",
    "wide": "decimal(38,0)",
    "fine": "decimal(38,38)",
    "s": "string",
    "bin": "binary",
    "day": "date",
    "ts": "timestamp",
    "ntz": "timestamp_ntz",
    "ints": "array<int>",
    "moments": "array<timestamp>",
    "grid": "array<array<double>>",
    "prices": "map<string,decimal(38,18)>",
    "days": "map<date,array<string>>",
    "place": "struct<street:string,`zip code`:int,`a.b``c`:struct<x:double,y:timestamp_ntz>>",
    "items": "array<struct<sku:string,tags:map<string,boolean>>>",
}
FIRST, LAST = dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31, 23, 59, 59, 999999)
FULL = {
    "id": 1,
    "d": 1e308,
    "f": -1.5,
    "wide": Decimal("9" * 38),
    "fine": Decimal("0." + "9" * 38),
    "s": "naïve ☃ '\"`{}\n\\",
    "bin": b"\x00\xff",
    "day": dt.date(1, 1, 1),
    "ts": FIRST.replace(tzinfo=UTC),
    "ntz": FIRST,
    "ints": [1, None, -(2**31)],
    "moments": [LAST.replace(tzinfo=UTC), None],
    "grid": [[1.0, math.inf], [], None],
    "prices": {"b": Decimal("1." + "0" * 17 + "1"), "a": None},
    "days": {dt.date(1582, 10, 10): ["x", None], dt.date(9999, 12, 31): []},
    "place": {"street": "", "zip code": 7, "a.b`c": {"x": -0.0, "y": FIRST}},
    "items": [{"sku": "k", "tags": {"new": True, "old": None}}, {"sku": None, "tags": {}}, None],
}
EMPTY = dict.fromkeys(SCHEMA) | {"id": 2}
EDGE = FULL | {
    "id": 3,
    "d": -0.0,
    "f": NAN,
    "wide": Decimal("-" + "9" * 38),
    "fine": Decimal("0E-38"),
    "s": "",
    "bin": b"",
    "day": dt.date(9999, 12, 31),
    "ts": LAST.replace(tzinfo=UTC),
    "ntz": LAST,
    "ints": [],
    "moments": [],
    "grid": [[NAN, -0.0]],
    "prices": {},
    "days": {},
    "place": {"street": None, "zip code": None, "a.b`c": None},
    "items": [],
}
ROWS = [FULL, EMPTY, EDGE]
ARROW = pa.schema([pa.field(name, arrow_type(parse_type(text))) for name, text in SCHEMA.items()])


def exact(value: Any) -> Any:
    """A value in which NaN equals NaN and -0.0 differs from 0.0; order in maps is left aside."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else struct.pack(">d", value)
    if isinstance(value, dict):
        return {key: exact(inner) for key, inner in sorted(value.items(), key=lambda item: str(item[0]))}
    if isinstance(value, (list, tuple)):
        return [exact(inner) for inner in value]
    return value


def by_id(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return exact(sorted(rows, key=lambda row: row["id"]))


def arrow_rows(rows: list[dict[str, Any]] = ROWS) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=ARROW)


def load(repo: ab.Repository, rows: Any, schema: Any = SCHEMA) -> None:
    with repo.commit("main", "load") as tx:
        tx.create_table("t", rows, key="id", schema=schema)


def test_every_value_comes_in_and_goes_out_as_it_is(repo: ab.Repository) -> None:
    load(repo, ROWS)
    table = repo.table("t")
    assert [str(c.type) for c in table.schema] == list(SCHEMA.values())
    assert by_id(table.rows()) == by_id(ROWS)
    assert table.arrow().schema == ARROW
    assert exact(table.get(3)) == exact(EDGE)
    assert by_id(table.polars().to_dicts()) == by_id(ROWS)
    assert repo.table("t", where="d = :zero", args={"zero": 0.0}).rows()[0]["id"] == 3
    frame = table.pandas()
    assert str(frame["ts"].dtype) == "datetime64[us, UTC]"
    for name in SCHEMA:
        found = [None if value is pandas.NaT else value for value in frame.sort_values("id")[name]]
        expected = [row[name] for row in ROWS]
        if name in ("d", "f"):  # To pandas, null is NaN.
            expected[1] = NAN
        assert exact(found) == exact(expected), name


def test_the_other_engine_reads_what_one_wrote(tmp_path: Path, spark: Any) -> None:
    settings = ab.Settings(objects=ab.ObjectSettings(inline_limit_bytes=0))
    for writer, reader in (("duck", "spark"), ("spark", "duck")):
        folder = tmp_path / writer
        with ab.init(folder, engine=writer, spark=spark, settings=settings) as repo:
            load(repo, arrow_rows())
        with ab.open(folder, engine=reader, spark=spark, settings=settings) as repo:
            assert by_id(repo.table("t").rows()) == by_id(ROWS)
            with repo.commit("main", "touch") as tx:
                assert tx.table("t").upsert(arrow_rows()).rows == 0
                assert tx.table("t").upsert([{"id": 2, "prices": FULL["prices"], "items": FULL["items"]}]).updated == 1
        with ab.open(folder, engine=writer, spark=spark, settings=settings) as repo:
            expected = [FULL, EMPTY | {"prices": FULL["prices"], "items": FULL["items"]}, EDGE]
            assert by_id(repo.table("t").rows()) == by_id(expected)


def frames(spark: Any) -> Iterator[tuple[str, Any]]:
    """The rows as every kind of frame, each in the types that it would choose for itself."""
    rows = arrow_rows()
    yield "dicts", ROWS
    yield "arrow", rows
    yield "polars", polars.from_arrow(rows)
    yield "pandas", rows.to_pandas(types_mapper=pandas.ArrowDtype)
    yield "objects", pandas.DataFrame({name: pandas.Series([r[name] for r in ROWS], dtype=object) for name in SCHEMA})
    ddl = ", ".join(f"`{name}` {text}" for name, text in SCHEMA.items())
    yield "spark", spark.createDataFrame([tuple(row.values()) for row in ROWS], ddl)


def test_every_kind_of_frame_brings_every_type(tmp_path: Path, spark: Any) -> None:
    with ab.init(tmp_path, spark=spark) as repo:
        for kind, frame in frames(spark):
            with repo.commit("main", kind) as tx:
                tx.create_table(kind, frame, key="id", schema=SCHEMA)
            expected = ROWS
            if kind == "objects":  # To pandas, NaN is null.
                expected = [FULL, EMPTY, EDGE | {"f": None, "grid": [[None, -0.0]]}]
            assert by_id(repo.table(kind).rows()) == by_id(expected), kind
        collected = repo.table("spark", columns=["id", "prices"]).spark().orderBy("id").collect()
        assert [row.asDict(recursive=True)["prices"] for row in collected] == [row["prices"] for row in ROWS]


CHANGED = {
    "ints": [9],
    "prices": {"z": Decimal("1.000000000000000000")},
    "place": {"street": "new", "zip code": None, "a.b`c": {"x": NAN, "y": None}},
    "items": [{"sku": "k", "tags": {"new": False}}],
}


def test_statements_over_nested_columns_find_what_really_changes(repo: ab.Repository) -> None:
    names = ("id", "d", "grid", "ints", "prices", "place", "items")
    full, empty, edge = ({name: row[name] for name in names} for row in ROWS)
    load(repo, [full, empty, edge], {name: SCHEMA[name] for name in names})
    turned = full | {"prices": dict(reversed(full["prices"].items()))}
    zeros = edge | {"d": 0.0, "grid": [[NAN, 0.0]]}
    with repo.commit("main", "nothing") as tx:
        assert tx.table("t").upsert([turned, empty, zeros]).rows == 0
    assert tx.commit is None
    with repo.commit("main", "something") as tx:
        table = tx.table("t")
        assert table.upsert([{"id": 2, **CHANGED}, {"id": 4, **CHANGED}]) == ab.Counts(1, 1)
        assert table.update({"prices": None, "place": None}, where="id = 1").updated == 1
        assert table.delete(where="id = 3").deleted == 1
        assert table.insert([edge | {"id": 5, **CHANGED}]).inserted == 1
        assert table.update({"id": "id + 10"}, where="id = 5").rows == 2
    expected = [
        full | {"prices": None, "place": None},
        empty | CHANGED,
        empty | {"id": 4} | CHANGED,
        edge | {"id": 15} | CHANGED,
    ]
    assert by_id(repo.table("t").rows()) == by_id(expected)
    with repo.commit("main", "and back") as tx:
        tx.table("t").upsert([{name: full[name] for name in ("id", "prices", "place")}])
        tx.table("t").upsert([{"id": 1, "prices": {"b": None}}])
    assert exact(repo.table("t").get(1)) == exact(full | {"prices": {"b": None}})


def test_spark_sets_nested_columns_by_the_names_of_fields(tmp_path: Path, spark: Any) -> None:
    schema = {"id": "int", "place": "struct<a:bigint,b:string,c:map<string,struct<x:int,y:int>>>"}
    with ab.init(tmp_path, spark=spark) as repo:
        load(repo, None, schema)
        with repo.commit("main", "fields in another order") as tx:
            tx.table("t").insert(spark.sql("SELECT 1 AS id, named_struct('B', 'b', 'a', 7) AS place"))
            tx.table("t").insert(spark.sql("SELECT 2 AS id, CAST(NULL AS STRUCT<b: STRING>) AS place"))
            value = "named_struct('c', map('k', named_struct('y', 2, 'x', 1)), 'a', place.a + 1)"
            assert tx.table("t").update({"place": value}, where="place.b = 'b'").updated == 1
        expected = {"a": 8, "b": None, "c": {"k": {"x": 1, "y": 2}}}
        assert by_id(repo.table("t").rows()) == by_id([{"id": 1, "place": expected}, {"id": 2, "place": None}])
        with pytest.raises(ab.InvalidRequest, match="has no field 'd'"), repo.commit("main", "unknown") as tx:
            tx.table("t").insert(spark.sql("SELECT 3 AS id, named_struct('d', 1) AS place"))
        with pytest.raises(ab.InvalidRequest, match="its a is bigint, double"), repo.commit("main", "lossy") as tx:
            tx.table("t").update({"place": "named_struct('a', 1.5D)"})


SPARK_ONLY = {
    "id": "int",
    "v": "variant",
    "ds": "interval day to second",
    "hours": "interval hour",
    "ym": "interval year to month",
    "deep": "array<struct<v:variant,y:interval year,m:map<string,interval day>>>",
}
INTERVALS = [
    {
        "id": 1,
        "v": '{"a":[1,2.5,null,"x"],"b":{}}',
        "ds": dt.timedelta(days=-3, seconds=4, microseconds=5),
        "hours": dt.timedelta(hours=100),
        "ym": -43,
        "deep": [{"v": "null", "y": 24, "m": {"k": dt.timedelta(days=1)}}, {"v": None, "y": None, "m": None}, None],
    },
    dict.fromkeys(SPARK_ONLY) | {"id": 2},
]


def test_variants_and_intervals_are_held_by_spark(tmp_path: Path, spark: Any, caplog: pytest.LogCaptureFixture) -> None:
    with (
        caplog.at_level(logging.DEBUG, logger="anabranch.engines"),
        ab.init(tmp_path, spark=spark) as repo,
    ):
        load(repo, INTERVALS, SPARK_ONLY)
        assert "runs on spark: column 'v' of table 't' is variant, which DuckDB can't hold" in caplog.text
        table = repo.table("t")
        assert by_id(table.rows()) == by_id(INTERVALS)
        assert table.get(1) == INTERVALS[0]
        assert table.arrow().schema.field("ds").type == pa.duration("us")
        assert polars.DataFrame(table.polars()).sort("id")["ym"].to_list() == [-43, None]
        assert table.pandas().sort_values("id")["v"].tolist() == [INTERVALS[0]["v"], None]
        assert dict(table.spark().dtypes) == SPARK_ONLY
        caplog.clear()
        assert len(repo.table("t", columns=["id"]).rows()) == 2
        assert "reading t runs on duck" in caplog.text
        with repo.commit("main", "change") as tx:
            writer = tx.table("t")
            assert writer.upsert(table.spark()).rows == 0
            turned = INTERVALS[0] | {"v": '{ "b": {}, "a": [1, 2.50, null, "x"] }'}
            assert writer.upsert([turned]).rows == 0
            assert writer.upsert([{"id": 1, "v": '"1"', "hours": dt.timedelta(hours=1)}]).updated == 1
            assert writer.update({"v": "parse_json('1')", "ds": "ds * 2"}, where="v::string = '1'").updated == 1
            assert writer.delete(where="id = 2").deleted == 1
            with pytest.raises(ab.InvalidRequest, match=r"a value does not fit: .*MALFORMED_RECORD"):
                writer.update({"v": "parse_json('{')"})
        expected = INTERVALS[0] | {"v": "1", "hours": dt.timedelta(hours=1), "ds": INTERVALS[0]["ds"] * 2}
        assert repo.table("t").rows() == [expected]
        assert repo.table("t", where="v::int = 1 AND ds < interval '0' day").count() == 1
    with ab.open(tmp_path, engine="duck") as repo:
        message = "column 'v' of table 't' is variant, which DuckDB can't hold, and engine='duck' was asked for"
        with pytest.raises(ab.InvalidRequest, match=message):
            repo.table("t").rows()
        assert repo.table("t", columns=["id"]).rows() == [{"id": 1}]


@pytest.mark.parametrize(
    ("problem", "values"),
    [
        ("is not JSON text", {"v": "{bad"}),
        ("JSON has no NaN", {"v": "NaN"}),
        ("variant, struct<a:bigint> was given", {"v": {"a": 1}}),
        ("not a whole number of hours", {"hours": dt.timedelta(minutes=90)}),
        ("not a whole number of years", {"deep": [{"y": 13}]}),
        ("interval year to month, string was given", {"ym": "1-2"}),
        ("which has no field 'element.w'", {"deep": [{"w": 13}]}),
    ],
)
def test_forms_that_do_not_stand_for_a_value_are_refused(tmp_path: Path, problem: str, values: Any) -> None:
    with ab.init(tmp_path, engine="duck") as repo:
        load(repo, None, SPARK_ONLY)
        with pytest.raises(ab.InvalidRequest, match=problem), repo.commit("main", "bad") as tx:
            tx.table("t").insert([{"id": 1, **values}])


ZONES = [
    dt.datetime(1, 1, 1, 5, tzinfo=UTC),
    dt.datetime(1582, 10, 10, tzinfo=UTC),
    dt.datetime(1883, 11, 18, 17, tzinfo=UTC),
    dt.datetime(2026, 3, 8, 6, 59, 59, 999999, tzinfo=UTC),
    dt.datetime(2026, 3, 8, 7, tzinfo=UTC),
    dt.datetime(2026, 11, 1, 5, 30, tzinfo=UTC),
    dt.datetime(2026, 11, 1, 6, 30, tzinfo=UTC),
    LAST.replace(tzinfo=UTC),
]
SKIPPED = dt.datetime(2026, 3, 8, 2, 30)
"""A local time that New York does not have."""


def test_times_are_the_same_in_a_session_with_a_zone_of_its_own(tmp_path: Path, spark: Any) -> None:
    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", "America/New_York")
    rows = [
        {"id": i, "ts": t, "ntz": t.replace(tzinfo=None), "day": t.date(), "many": {"a": [t], "b": [SKIPPED]}}
        for i, t in enumerate(ZONES)
    ]
    rows[3]["ntz"] = SKIPPED
    schema = {
        "id": "int",
        "ts": "timestamp",
        "ntz": "timestamp_ntz",
        "day": "date",
        "many": "struct<a:array<timestamp>,b:array<timestamp_ntz>>",
    }
    for engine in ("spark", "duck"):
        with ab.init(tmp_path / engine, spark=session, engine=engine) as repo:
            load(repo, rows, schema)
            with repo.commit("main", "again") as tx:
                assert tx.table("t").upsert(rows).rows == 0
        with ab.open(tmp_path / engine, spark=session, engine={"spark": "duck", "duck": "spark"}[engine]) as repo:
            assert by_id(repo.table("t").rows()) == rows
            for name in ("ts", "ntz", "day"):
                for row in (rows[0], rows[3], rows[5]):
                    where = repo.table("t", where=f"{name} = :x AND ts = :t", args={"x": row[name], "t": row["ts"]})
                    assert [r["id"] for r in where.rows()] == [row["id"]], (name, row)
    footer = pa.parquet.ParquetFile(next((tmp_path / "spark").rglob("*.parquet")))
    assert "INT96" not in {footer.schema.column(i).physical_type for i in range(len(footer.schema))}


def test_a_session_that_writes_the_old_calendar_is_refused(tmp_path: Path, spark: Any) -> None:
    session = spark.newSession()
    session.conf.set("spark.sql.parquet.datetimeRebaseModeInWrite", "LEGACY")
    with ab.init(tmp_path, spark=session, engine="spark") as repo:
        with pytest.raises(ab.InvalidRequest, match="calendar of before 1582"):
            load(repo, [{"id": 1, "day": dt.date(1, 1, 1)}], {"id": "int", "day": "date"})
        load(repo, [{"id": 1}], {"id": "int"})


@pytest.mark.parametrize("writer", ["duck", "spark"])
def test_filters_find_nan_and_both_zeros(tmp_path: Path, spark: Any, writer: str) -> None:
    rows = [{"id": 1, "d": 1.0, "z": 0.0}, {"id": 2, "d": NAN, "z": -0.0}, {"id": 3, "d": 1.0, "z": -0.0}]
    settings = ab.Settings(objects=ab.ObjectSettings(inline_limit_bytes=0))
    with ab.init(tmp_path, spark=spark, engine=writer, settings=settings) as repo:
        load(repo, rows, {"id": "int", "d": "double", "z": "float"})
    for reader in ("duck", "spark"):
        with ab.open(tmp_path, spark=spark, engine=reader) as repo:
            for where, expected in (("d > :x", [2]), ("d <> :y", [2]), ("z = :z", [1, 2, 3]), ("z >= :z", [1, 2, 3])):
                found = repo.table("t", where=where, args={"x": 5.0, "y": 1.0, "z": 0.0}).rows()
                assert sorted(row["id"] for row in found) == expected, (reader, where)
            assert by_id(repo.table("t").rows()) == by_id(rows)


def test_whole_numbers_with_nulls_stay_whole_in_pandas(duck: ab.Repository) -> None:
    load(duck, [{"id": 1, "n": 2**63 - 1}, {"id": 2, "n": None}], {"id": "int", "n": "bigint"})
    frame = duck.table("t").pandas().sort_values("id")
    assert frame["n"].tolist() == [2**63 - 1, pandas.NA]
    assert str(frame["id"].dtype) == "int32"


def test_maps_with_nested_keys_are_lists_of_pairs(repo: ab.Repository) -> None:
    load(repo, [{"id": 1, "m": [({"a": 1}, "x")]}], {"id": "int", "m": "map<struct<a:int>,string>"})
    assert repo.table("t").rows() == [{"id": 1, "m": [({"a": 1}, "x")]}]


TYPES = {"id": "int", "a": "array<tinyint>", "m": "map<string,int>", "s": "struct<x:int,y:string>", "f": "float"}


@pytest.mark.parametrize(
    ("problem", "values"),
    [
        ("does not fit", {"a": [1, 200]}),
        ("its element is tinyint, string was given", {"a": ["x"]}),
        ("its element is tinyint, double was given", {"a": [1.5]}),
        ("array<tinyint>, bigint was given", {"a": 1}),
        ("does not fit", {"m": {"k": 2**40}}),
        ("a map has a key twice", {"m": [("k", 1), ("k", 2)]}),
        ("a map has a null key", {"m": {None: 1}}),
        ("which has no field 'z'", {"s": {"x": 1, "z": 1}}),
        ("its x is int, string was given", {"s": {"x": "1"}}),
        ("a number is too large for float", {"f": 1e300}),
    ],
)
def test_values_that_do_not_fit_inside_are_refused(duck: ab.Repository, problem: str, values: Any) -> None:
    load(duck, None, TYPES)
    with pytest.raises(ab.InvalidRequest, match=problem), duck.commit("main", "bad") as tx:
        tx.table("t").insert([{"id": 1, **values}])


MIDNIGHT = dt.datetime(2024, 1, 1)
MIXTURES = {
    "of date and of timestamp_ntz": [dt.date(2024, 1, 1), dt.datetime(2024, 1, 1, 1)],
    "of timestamp and of timestamp_ntz": [MIDNIGHT.replace(tzinfo=UTC), MIDNIGHT],
    "of binary and of string": ["a", b"b"],
    "of boolean and of number": [1.5, True],
    "of interval and of number": [dt.timedelta(1), 1],
}


@pytest.mark.parametrize("problem", MIXTURES)
def test_values_of_several_kinds_in_a_column_are_refused(duck: ab.Repository, problem: str) -> None:
    values = MIXTURES[problem]
    frames = [[{"id": n, "v": v} for n, v in enumerate(values)]]
    if problem != "of interval and of number":  # elsewhere Arrow refuses these itself
        frames.append([{"id": n, "v": {"a": [{"b": v}]}} for n, v in enumerate(values)])
        frames.append(pandas.DataFrame({"id": [0, 1], "v": pandas.Series(values, dtype=object)}))
    for frame in frames:
        with pytest.raises(ab.InvalidRequest, match=problem), duck.commit("main", "mixed") as tx:
            tx.create_table("mixed", frame, key="id")


def test_frames_whose_types_arrow_does_not_tell_are_refused(duck: ab.Repository) -> None:
    frames = {
        "pandas.period": pandas.DataFrame({"id": pandas.period_range("2024-01", "2024-03", freq="M")}),
        "pandas.interval": pandas.DataFrame({"id": pandas.interval_range(0, 3)}),
        "type Object": polars.DataFrame({"id": polars.Series([object()], dtype=polars.Object)}),
        "the frame can't be read": polars.DataFrame({"id": polars.Series([1], dtype=polars.Int128)}),
    }
    for problem, frame in frames.items():
        with pytest.raises(ab.InvalidRequest, match=problem), duck.commit("main", "odd") as tx:
            tx.create_table("odd", frame)


def test_dates_that_python_does_not_have_are_told_of(duck: ab.Repository) -> None:
    late = pa.array([dt.date.max.toordinal() - dt.date(1970, 1, 1).toordinal() + 1], pa.date32())
    rows = pa.table({"id": [1], "day": late, "days": pa.ListArray.from_arrays([0, 1], late)})
    with duck.commit("main", "the year 10000") as tx:
        tx.create_table("late", rows, key="id")
    table = duck.table("late")
    assert table.arrow().column("day").combine_chunks().equals(late)
    for read in (table.rows, table.pandas, lambda: table.get(1), duck.sql("SELECT days FROM late").rows):
        with pytest.raises(ab.InvalidRequest, match="not in the years 1 to 9999"):
            read()
    with pytest.raises(ab.InvalidRequest, match="'day' is not in the years"), duck.commit("main", "as a key") as tx:
        tx.create_table("keyed", rows, key="day")


def test_arrows_many_forms_are_brought_to_one(duck: ab.Repository) -> None:
    colours = pa.array(["red", None, "red"]).dictionary_encode()
    given = pa.table(
        {
            "id": pa.array([1, 2, 3], pa.uint8()),
            "a": pa.array([[1], None, []], pa.large_list(pa.int64())),
            "b": pa.array([[1, 2], None, [3, 4]], pa.list_(pa.int16(), 2)),
            "c": pa.array([[b"x"], [], None], pa.list_view(pa.large_binary())),
            "d": pa.ListArray.from_arrays([0, 1, 2, 3], colours),
            "e": pa.StructArray.from_arrays([colours, pa.nulls(3)], ["x", "n"]),
            "f": pa.array([[("k", 1.5)], None, []], pa.map_(pa.large_string(), pa.float32())),
            "g": pa.array([dt.date(2026, 1, 1), None, None], pa.date64()),
        }
    )
    schema = "id int, a array<tinyint>, b array<int>, c array<binary>, d array<string>, e struct<x:string,n:int>, "
    whole = given.slice(1)
    load(duck, pa.concat_tables([given.slice(0, 1), whole]), f"{schema} f map<string,double>, g date")
    expected = [
        (1, [1], [1, 2], [b"x"], ["red"], {"x": "red", "n": None}, {"k": 1.5}, dt.date(2026, 1, 1)),
        (2, None, None, [], [None], {"x": None, "n": None}, None, None),
        (3, [], [3, 4], None, ["red"], {"x": "red", "n": None}, {}, None),
    ]
    assert duck.table("t").rows() == [
        dict(zip(["id", "a", "b", "c", "d", "e", "f", "g"], row, strict=True)) for row in expected
    ]


def test_columns_of_a_new_table_are_told_from_its_data(duck: ab.Repository, spark: Any) -> None:
    rows = [{"id": 1, "a": [1.5], "s": {"x": "y", "t": [dt.timedelta(1)]}}]
    frame = pa.Table.from_pylist([{"id": 1, "a": [1.5], "s": {"x": "y"}}])
    load(duck, frame, None)
    assert [str(c.type) for c in duck.table("t").schema] == ["bigint", "array<double>", "struct<x:string>"]
    for unknown in ([{"id": 1, "a": []}], [{"id": 1, "a": [{"b": None}]}]):
        with pytest.raises(ab.InvalidRequest, match="has no values to tell its type"), duck.commit("main", "x") as tx:
            tx.create_table("u", unknown, key="id")
    with pytest.raises(ab.InvalidRequest, match=r"interval day to second.* DuckDB can't hold"):
        duck.commit("main", "x").__enter__().create_table("u", rows, key="id")


@pytest.mark.parametrize("type_", ["array<int>", "map<int,int>", "struct<a:int>", "variant", "interval day", "double"])
def test_what_can_not_be_a_key_is_refused_before_anything_is_written(duck: ab.Repository, type_: str) -> None:
    with pytest.raises(ab.InvalidRequest, match=r"'k' of type .* can't be a key"), duck.commit("main", "x") as tx:
        tx.create_table("t", schema={"k": type_}, key="k")


def test_schemas_say_nested_types_in_every_form(duck: ab.Repository, spark: Any) -> None:
    from pyspark.sql.types import StructType

    text = "id int NOT NULL, m map<string,array<int>>, `a b` struct<`x,y`: int, `q``r`: decimal(3, 2)> NOT NULL"
    forms = {
        "text": text,
        "colons": "id: int NOT NULL, m: map<string,array<int>>, `a b`: struct<`x,y`:int,`q``r`:decimal(3,2)> not null",
        "spark": StructType.fromDDL(text),
        "arrow": pa.schema(
            [
                pa.field("id", pa.int32(), nullable=False),
                pa.field("m", pa.map_(pa.string(), pa.list_(pa.int32()))),
                pa.field("a b", pa.struct([("x,y", pa.int32()), ("q`r", pa.decimal128(3, 2))]), nullable=False),
            ]
        ),
        "dict": {
            "id": "int NOT NULL",
            "m": "map<string,array<int>>",
            "a b": "struct<`x,y`:int, `q``r`:decimal(3,2)> NOT NULL",
        },
    }
    with duck.commit("main", "forms") as tx:
        for name, schema in forms.items():
            table = tx.create_table(name, schema=schema, key="id")
            assert [(c.name, str(c.type), c.nullable) for c in table.schema] == [
                ("id", "int", False),
                ("m", "map<string,array<int>>", True),
                ("a b", "struct<`x,y`:int,`q``r`:decimal(3,2)>", False),
            ], name


def test_types_that_can_not_be_versioned_are_refused_by_name(tmp_path: Path, spark: Any) -> None:
    with ab.init(tmp_path, spark=spark) as repo:
        for value, problem in (
            ("time'12:00:00'", "time can't be versioned"),
            ("make_interval(1)", "interval can't be versioned"),
            ("st_geomfromwkb(X'0101000000000000000000F03F0000000000000040')", "geometry can't be versioned"),
            ("'a' COLLATE UTF8_LCASE", "collation utf8_lcase can't be versioned"),
            ("named_struct()", "struct without fields"),
            ("named_struct('a', 1, 'A', 2)", "have the same name"),
            ("NULL", "no values to tell its type"),
            ("array()", "no values to tell its type"),
        ):
            frame = spark.sql(f"SELECT 1 AS id, {value} AS x")
            with pytest.raises(ab.InvalidRequest, match=problem), repo.commit("main", "x") as tx:
                tx.create_table("t", frame, key="id")
        with repo.commit("main", "nulls and empty arrays fit any type") as tx:
            tx.create_table("t", schema={"id": "int", "x": "map<string,int>", "y": "array<int>"}, key="id")
            tx.table("t").insert(spark.sql("SELECT 1 AS id, NULL AS x, array() AS y"))
        assert repo.table("t").rows() == [{"id": 1, "x": None, "y": []}]
