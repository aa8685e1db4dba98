"""The contract of tables with a key, on both engines: what is written is read back, and nothing else.

What is marked `contract` is run on Spark Connect and on the oldest PySpark as well."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pandas
import polars
import pyarrow as pa
import pytest

import anabranch as ab

ROWS = [{"id": i, "price": Decimal(i) + Decimal("0.50"), "note": f"n{i}"} for i in range(5)]
SCHEMA = {"id": "bigint", "price": "decimal(12,2)", "note": "string"}


def by_id(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: row["id"])


def load(repo: ab.Repository, rows: Any = ROWS, schema: Any = SCHEMA, key: Any = "id") -> None:
    with repo.commit("main", "load") as tx:
        tx.create_table("orders", rows, key=key, schema=schema)


def read(repo: ab.Repository, at: str | None = None, **options: Any) -> list[dict[str, Any]]:
    return by_id(repo.table("orders", at, **options).rows())


@pytest.mark.contract
def test_what_is_created_is_read_back(repo: ab.Repository) -> None:
    load(repo)
    assert read(repo) == ROWS
    table = repo.table("orders")
    assert table.count() == 5
    assert table.key == ("id",)
    assert [(c.name, str(c.type), c.nullable) for c in table.schema] == [
        ("id", "bigint", False),
        ("price", "decimal(12,2)", True),
        ("note", "string", True),
    ]


@pytest.mark.contract
def test_an_empty_table_can_be_made_from_a_schema_and_read(repo: ab.Repository) -> None:
    load(repo, rows=None)
    assert read(repo) == []
    assert repo.table("orders").count() == 0
    with repo.commit("main", "first rows") as tx:
        assert tx.table("orders").insert(ROWS) == ab.Counts(inserted=5)
    assert read(repo) == ROWS
    assert read(repo, "main~1") == []


@pytest.mark.contract
def test_statements_see_what_earlier_ones_did(repo: ab.Repository) -> None:
    load(repo)
    with repo.commit("main", "many statements") as tx:
        orders = tx.table("orders")
        assert orders.update({"price": "price * 2", "note": None}, where="id < :n", args={"n": 2}).updated == 2
        assert orders.insert([{"id": 10, "price": Decimal("1.00"), "note": "x"}]).inserted == 1
        counts = orders.upsert(
            [{"id": 10, "price": Decimal("2.00")}, {"id": 3, "price": Decimal("3.50")}, {"id": 11, "price": None}]
        )
        assert counts == ab.Counts(inserted=1, updated=1)
        assert orders.delete(where="id = 4").deleted == 1
        assert orders.update({"id": "id + 100"}, where="id = 2").rows == 2
        expected = [
            {"id": 0, "price": Decimal("1.00"), "note": None},
            {"id": 1, "price": Decimal("3.00"), "note": None},
            {"id": 3, "price": Decimal("3.50"), "note": "n3"},
            {"id": 10, "price": Decimal("2.00"), "note": "x"},
            {"id": 11, "price": None, "note": None},
            {"id": 102, "price": Decimal("2.50"), "note": "n2"},
        ]
        assert by_id(orders.rows()) == expected
        assert orders.count() == 6
    assert read(repo) == expected
    assert repo.table("orders").count() == 6
    assert read(repo, "main~1") == ROWS


def test_a_commit_changes_each_key_once(repo: ab.Repository) -> None:
    load(repo)
    with repo.commit("main", "there and back") as tx:
        orders = tx.table("orders")
        orders.insert([{"id": 9, "price": None, "note": None}])
        orders.delete(where="id = 9")
        orders.update({"note": "'changed'"}, where="id = 1")
        orders.update({"note": "'n1'"}, where="id = 1")
        orders.delete(where="id = 2")
        orders.insert([ROWS[2]])
        orders.update({"price": 7}, where="id = 3")
    (change,) = repo.show_changes("main")
    assert (change.inserted, change.updated, change.deleted) == (0, 1, 0)
    assert read(repo, where="id = 3")[0]["price"] == Decimal("7.00")


@pytest.mark.contract
def test_a_no_op_is_not_a_change(repo: ab.Repository) -> None:
    load(repo)
    with repo.commit("main", "nothing") as tx:
        orders = tx.table("orders")
        assert orders.update({"price": "price"}).rows == 0
        assert orders.upsert(ROWS).rows == 0
        assert orders.delete(where="id > 1000").rows == 0
        orders.insert([{"id": 77, "price": None, "note": None}])
        orders.delete(where="id = 77")
    assert tx.commit is None
    assert [c.message for c in repo.log()] == ["load", "start"]


def test_an_update_stores_only_the_columns_it_touches(repo: ab.Repository) -> None:
    load(repo)
    with repo.commit("main", "one column") as tx:
        tx.table("orders").update({"price": "price + 1"}, where="id = 1")
    state = repo.table("orders")._state
    (layer,) = [x for x in state.layers if x.object.kind == "update"]
    assert [c.name for c in state.schema if c.id in layer.object.touched] == ["price"]


@pytest.mark.contract
def test_keys_that_are_there_are_refused_by_name(repo: ab.Repository) -> None:
    load(repo)
    with pytest.raises(ab.InvalidRequest, match="has these keys already: id=3"), repo.commit("main", "again") as tx:
        tx.table("orders").insert([{"id": 3, "price": None, "note": None}, {"id": 30, "price": None, "note": None}])
    assert read(repo) == ROWS


@pytest.mark.parametrize("verb", ["create", "insert", "upsert"])
def test_keys_that_come_twice_are_refused_by_name(repo: ab.Repository, verb: str) -> None:
    twice = [
        {"id": 7, "price": None, "note": "a"},
        {"id": 8, "price": None, "note": "b"},
        {"id": 7, "price": None, "note": "c"},
    ]
    if verb == "create":
        with pytest.raises(ab.InvalidRequest, match="key more than once: id=7"):
            load(repo, rows=twice)
        return
    load(repo)
    with pytest.raises(ab.InvalidRequest, match="key more than once: id=7"), repo.commit("main", "twice") as tx:
        getattr(tx.table("orders"), verb)(twice)


@pytest.mark.parametrize("verb", ["insert", "upsert"])
def test_null_keys_are_refused(repo: ab.Repository, verb: str) -> None:
    load(repo)
    with pytest.raises(ab.InvalidRequest, match="null in column 'id'"), repo.commit("main", "null") as tx:
        getattr(tx.table("orders"), verb)([{"id": None, "price": None, "note": "lost"}])


def test_a_moved_key_may_not_land_on_another_row(repo: ab.Repository) -> None:
    load(repo)
    with repo.commit("main", "shift") as tx:
        tx.table("orders").update({"id": "id + 1"})
    assert [r["id"] for r in read(repo)] == [1, 2, 3, 4, 5]
    assert read(repo)[0]["note"] == "n0"
    with pytest.raises(ab.InvalidRequest, match="keys already: id=5"), repo.commit("main", "collide") as tx:
        tx.table("orders").update({"id": "id + 1"}, where="id = 4")
    with pytest.raises(ab.InvalidRequest, match="more than once"), repo.commit("main", "merge rows") as tx:
        tx.table("orders").update({"id": 50})


@pytest.mark.contract
@pytest.mark.parametrize(
    ("type_", "default"), [("tinyint", "300"), ("tinyint", "100 + 100"), ("decimal(4,2)", "123.4")]
)
def test_a_default_that_does_not_fit_is_refused_with_the_table(duck: ab.Repository, type_: str, default: str) -> None:
    with pytest.raises(ab.InvalidRequest) as told, duck.commit("main", "make") as tx:
        tx.create_table("t", schema=f"id int, v {type_} DEFAULT {default}", key="id")
    assert told.value.message.startswith(f"the default of column 'v' is {default}: ")
    with duck.commit("main", "make") as tx:
        tx.create_table("t", schema="id int, v tinyint DEFAULT 100, w smallint DEFAULT -5", key="id")
        tx.table("t").insert([{"id": 1}])
    assert duck.table("t").head() == [{"id": 1, "v": 100, "w": -5}]


def test_rows_that_a_default_does_not_fit_are_refused_with_its_name(
    duck: ab.Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched, duck.commit("main", "as of old") as tx:
        patched.setattr("anabranch.repo.write.create_table._check_defaults", lambda *_: None)
        tx.create_table("t", schema="id int, n int, w int DEFAULT 1, v tinyint DEFAULT 300", key="id")
    rows = [{"id": 1, "n": 1}]
    for verb in ("insert", "upsert", "overwrite"):
        with pytest.raises(ab.InvalidRequest) as told, duck.commit("main", "write") as tx:
            getattr(tx.table("t"), verb)(rows)
        assert "'t': the default of column 'v' is 300: a value does not fit" in told.value.message
        assert told.value.column == "v"
    with duck.commit("main", "write") as tx:
        tx.table("t").insert([{**rows[0], "v": 3}])


def test_a_default_that_speaks_of_a_column_is_refused_with_the_table(duck: ab.Repository) -> None:
    problem = r"default of 'b': there is no column 'id' \(a default can't speak of columns\)"
    with pytest.raises(ab.InvalidRequest, match=problem), duck.commit("main", "make") as tx:
        tx.create_table("t", schema={"id": "int", "b": "int DEFAULT id + 1"}, key="id")
    assert duck.tables() == []


def test_columns_that_may_not_be_null_are_held(repo: ab.Repository) -> None:
    schema = {"id": "int", "qty": "int NOT NULL DEFAULT 3", "name": "string NOT NULL"}
    load(repo, rows=[{"id": 1, "name": "a"}], schema=schema)
    assert read(repo) == [{"id": 1, "qty": 3, "name": "a"}]
    with (
        pytest.raises(ab.InvalidRequest, match="'name' may not be null and has no default"),
        repo.commit("main", "x") as tx,
    ):
        tx.table("orders").insert([{"id": 2}])
    with pytest.raises(ab.InvalidRequest, match="null in column 'name'"), repo.commit("main", "x") as tx:
        tx.table("orders").insert([{"id": 2, "name": None}])
    with pytest.raises(ab.InvalidRequest, match=r"null in column 'qty'.*id=1"), repo.commit("main", "x") as tx:
        tx.table("orders").update({"qty": None})
    with pytest.raises(ab.InvalidRequest, match="null in column 'name'"), repo.commit("main", "x") as tx:
        tx.table("orders").upsert([{"id": 1, "name": None}])
    assert read(repo) == [{"id": 1, "qty": 3, "name": "a"}]


@pytest.mark.parametrize(
    ("problem", "rows"),
    [
        ("no column 'colour'", [{"id": 9, "colour": "red"}]),
        ("key's column 'id' is missing", [{"note": "x"}]),
        (r"column 'price' is decimal\(12,2\), string was given", [{"id": 9, "price": "cheap"}]),
        ("column 'id' is bigint, double was given", [{"id": 9.5}]),
        ("does not fit decimal", [{"id": 9, "price": Decimal("99999999999999999.00")}]),
        ("row 1 and row 0 differ in column 'note'", [{"id": 9}, {"id": 10, "note": "x"}]),
        ("row 0 is a int", [1, 2]),
        ("can't be taken from a str", "id,price"),
    ],
)
def test_rows_that_do_not_fit_are_refused(duck: ab.Repository, problem: str, rows: Any) -> None:
    load(duck)
    with pytest.raises(ab.InvalidRequest, match=problem), duck.commit("main", "bad") as tx:
        tx.table("orders").upsert(rows)
    assert read(duck) == ROWS


@pytest.mark.contract
@pytest.mark.parametrize(
    ("problem", "values", "where"),
    [
        ("no column 'prise'", {"prise": 1}, None),
        ("the value is string", {"price": "'cheap'"}, None),
        ("is not one expression", {"price": "1); DROP TABLE x"}, None),
        ("has no value for :n", {"price": 1}, "id = :n"),
        ("nothing to set", {}, None),
    ],
)
def test_updates_that_make_no_sense_are_refused(
    repo: ab.Repository, problem: str, values: Any, where: str | None
) -> None:
    load(repo)
    with pytest.raises(ab.AnabranchError, match=problem), repo.commit("main", "bad") as tx:
        tx.table("orders").update(values, where=where)
    assert read(repo) == ROWS


@pytest.mark.contract
def test_overflow_is_an_error_on_both_engines(repo: ab.Repository) -> None:
    load(repo, rows=[{"id": 1, "qty": 2147483647}], schema={"id": "int", "qty": "int"})
    with pytest.raises(ab.InvalidRequest), repo.commit("main", "too much") as tx:
        tx.table("orders").update({"qty": "qty + 1"})
    assert read(repo) == [{"id": 1, "qty": 2147483647}]


@pytest.mark.contract
def test_reading_takes_columns_conditions_arguments_and_a_limit(repo: ab.Repository) -> None:
    load(repo)
    assert read(repo, columns=["id"], where="note <> :x AND price > 1.5", args={"x": "n3"}) == [{"id": 2}, {"id": 4}]
    assert len(read(repo, limit=2)) == 2
    assert repo.table("orders", where="id IN (1, 2, 99)").count() == 2
    assert repo.table("orders", limit=3).count() == 3
    assert repo.table("orders", columns="note").schema.names == ("note",)
    assert read(repo, where="orders.id = 1") == [ROWS[1]]
    with pytest.raises(ab.NotFound, match="did you mean 'price'"):
        repo.table("orders", columns=["prise"])


@pytest.mark.contract
def test_one_row_is_found_by_its_key(repo: ab.Repository) -> None:
    load(repo)
    with repo.commit("main", "change") as tx:
        tx.table("orders").update({"note": "'new'"}, where="id = 2")
        assert tx.table("orders").get(2)["note"] == "new"
    table = repo.table("orders")
    assert table.get({"id": 2}) == {**ROWS[2], "note": "new"}
    assert table.get(99) is None
    with pytest.raises(ab.InvalidRequest, match="give just the key"):
        table.get({"note": "n1"})


def test_a_key_of_several_columns_identifies_rows(repo: ab.Repository) -> None:
    rows = [{"a": a, "b": b, "v": f"{a}{b}"} for a in ("x", "y") for b in (1, 2)]
    load(repo, rows=rows, schema={"a": "string", "b": "int", "v": "string"}, key=["a", "b"])
    with repo.commit("main", "touch") as tx:
        table = tx.table("orders")
        assert table.upsert([{"b": 2, "a": "x", "v": "changed"}, {"a": "z", "b": 1, "v": "new"}]) == ab.Counts(1, 1)
        assert table.delete(where="a = 'y' AND b = 1").deleted == 1
    found = sorted(repo.table("orders").rows(), key=lambda r: (r["a"], r["b"]))
    assert found == [
        {"a": "x", "b": 1, "v": "x1"},
        {"a": "x", "b": 2, "v": "changed"},
        {"a": "y", "b": 2, "v": "y2"},
        {"a": "z", "b": 1, "v": "new"},
    ]
    assert repo.table("orders").get({"a": "z", "b": 1}) == {"a": "z", "b": 1, "v": "new"}
    with pytest.raises(ab.InvalidRequest, match="already: a='x', b=1"), repo.commit("main", "x") as tx:
        tx.table("orders").insert([{"a": "x", "b": 1, "v": None}])


def test_a_table_of_its_key_alone_works(repo: ab.Repository) -> None:
    load(repo, rows=[{"id": 1}, {"id": 2}], schema=None)
    with repo.commit("main", "more") as tx:
        assert tx.table("orders").upsert([{"id": 2}, {"id": 3}]) == ab.Counts(inserted=1)
    assert read(repo) == [{"id": 1}, {"id": 2}, {"id": 3}]


EVERY_TYPE = {
    "id": "int",
    "tiny": "tinyint",
    "small": "smallint",
    "big": "bigint",
    "dec": "decimal(38,10)",
    "f": "float",
    "d": "double",
    "s": "string",
    "b": "boolean",
    "day": "date",
    "ts": "timestamp",
    "ntz": "timestamp_ntz",
    "bin": "binary",
}
FULL = {
    "id": 1,
    "tiny": -128,
    "small": 32767,
    "big": -(2**63),
    "dec": Decimal("9999999999999999999999999999.9999999999"),
    "f": 1.5,
    "d": float("inf"),
    "s": "naïve ☃ '\"`{}",
    "b": True,
    "day": dt.date(1, 1, 1),
    "ts": dt.datetime(2026, 3, 29, 1, 30, 0, 123456, tzinfo=dt.UTC),
    "ntz": dt.datetime(9999, 12, 31, 23, 59, 59, 999999),
    "bin": b"\x00\xff",
}
EMPTY = dict.fromkeys(EVERY_TYPE) | {"id": 2}
EDGE = FULL | {"id": 3, "s": "", "d": -0.0, "bin": b"", "dec": Decimal("0E-10"), "day": dt.date(9999, 12, 31)}


@pytest.mark.connect
@pytest.mark.contract
def test_the_common_types_round_trip(repo: ab.Repository) -> None:
    load(repo, rows=[FULL, EMPTY], schema=EVERY_TYPE)
    with repo.commit("main", "more") as tx:
        tx.table("orders").insert([EDGE])
        other = {k: v for k, v in FULL.items() if k != "id"} | {"id": 2}
        assert tx.table("orders").upsert([other]).updated == 1
        assert tx.table("orders").upsert([other]).rows == 0
    assert read(repo) == [FULL, other, EDGE]
    assert read(repo, "main~1") == [FULL, EMPTY]
    assert [str(c.type) for c in repo.table("orders").schema] == list(EVERY_TYPE.values())
    frame = repo.table("orders").arrow()
    assert frame.schema.field("ts").type == pa.timestamp("us", "UTC")


@pytest.mark.parametrize("column", ["tiny", "small", "big", "dec", "s", "b", "day", "ts", "ntz", "bin"])
def test_every_common_type_but_floats_can_be_a_key(repo: ab.Repository, column: str) -> None:
    rows = [
        {column: FULL[column], "v": 1},
        {column: {**EDGE, "tiny": 7, "small": 7, "big": 7, "b": False}[column], "v": 2},
    ]
    if rows[0][column] == rows[1][column]:
        rows = rows[:1]
    load(repo, rows=rows, schema={column: EVERY_TYPE[column], "v": "int"}, key=column)
    with repo.commit("main", "touch") as tx:
        assert tx.table("orders").upsert([{column: rows[0][column], "v": 9}]).updated == 1
    assert repo.table("orders").get(rows[0][column]) == {column: rows[0][column], "v": 9}
    assert repo.table("orders").count() == len(rows)


def test_floats_can_not_be_a_key(duck: ab.Repository) -> None:
    with pytest.raises(ab.InvalidRequest, match="'d' of type double can't be a key"):
        load(duck, rows=[{"d": 1.0}], schema=None, key="d")


@pytest.mark.contract
def test_nan_equals_itself(repo: ab.Repository) -> None:
    load(repo, rows=[{"id": 1, "d": float("nan")}], schema=None)
    with repo.commit("main", "same") as tx:
        assert tx.table("orders").update({"d": "d"}).rows == 0
        assert tx.table("orders").upsert([{"id": 1, "d": float("nan")}]).rows == 0


HOSTILE = [
    "select",
    "a b",
    "Größe",
    "quo`te",
    'do"uble',
    "it's",
    "{brace}",
    "_change_type",
    "客户",
    "100%",
    "a-b",
    ":x",
    "ana_turn",
]


def test_whole_numbers_and_floats_fit_decimal_columns(repo: ab.Repository) -> None:
    load(repo, rows=[{"id": 1, "price": 7, "note": None}])
    with repo.commit("main", "float") as tx:
        tx.table("orders").insert([{"id": 2, "price": 9.99, "note": None}])
        tx.table("orders").update({"price": 0.1}, where="id = 1")
    assert [r["price"] for r in read(repo)] == [Decimal("0.10"), Decimal("9.99")]
    with pytest.raises(ab.InvalidRequest, match="does not fit"), repo.commit("main", "too big") as tx:
        tx.table("orders").insert([{"id": 3, "price": 10**10, "note": None}])


@pytest.mark.contract
def test_names_may_be_anything_that_spark_takes_in_backticks(repo: ab.Repository) -> None:
    rows = [{"id": 1, **{name: i for i, name in enumerate(HOSTILE)}}]
    with repo.commit("main", "odd names") as tx:
        tx.create_table("order by `x`", rows, key="id")
    with repo.commit("main", "touch") as tx:
        table = tx.table("order by `x`")
        for name in HOSTILE:
            table.upsert([{"id": 1, name: 100}])
        quoted = HOSTILE[3].replace("`", "``")
        assert table.update({"select": f"`{quoted}` + 1"}, where="`a b` = 100").updated == 1
    found = repo.table("order by `x`").rows()[0]
    assert found == {"id": 1, **dict.fromkeys(HOSTILE, 100), "select": 101}
    assert repo.table("order by `x`", columns=["客户", "quo`te"]).rows() == [{"客户": 100, "quo`te": 100}]


FRAMES: dict[str, Callable[[list[dict[str, Any]]], Any]] = {
    "pandas": lambda rows: pandas.DataFrame(rows),
    "polars": lambda rows: polars.DataFrame(rows),
    "arrow": lambda rows: pa.Table.from_pylist(rows),
    "dicts": lambda rows: rows,
    "generator": lambda rows: (row for row in rows),
}


@pytest.mark.contract
@pytest.mark.parametrize("kind", FRAMES)
def test_rows_come_from_every_kind_of_frame_and_go_out_as_each(repo: ab.Repository, kind: str) -> None:
    rows = [{"id": 1, "s": "a", "x": 1.5}, {"id": 2, "s": None, "x": 2.5}]
    with repo.commit("main", "load") as tx:
        tx.create_table("orders", FRAMES[kind](rows), key="id")
        tx.table("orders").upsert(FRAMES[kind]([{"id": 2, "s": "b"}]))
        tx.table("orders").insert(FRAMES[kind]([{"id": 3, "s": "c", "x": 0.0}]))
    expected = [rows[0], {**rows[1], "s": "b"}, {"id": 3, "s": "c", "x": 0.0}]
    table = repo.table("orders")
    assert by_id(table.rows()) == expected
    assert by_id(table.pandas().to_dict("records")) == expected
    assert by_id(table.polars().to_dicts()) == expected
    assert by_id(table.arrow().to_pylist()) == expected


@pytest.mark.connect
@pytest.mark.contract
def test_spark_frames_come_in_and_go_out(tmp_path: Any, spark: Any) -> None:
    with ab.init(tmp_path, spark=spark) as repo:
        views = spark.catalog.listTables()
        frame = spark.sql("SELECT id, CAST(id * 1.5 AS DECIMAL(12,2)) AS price, 'n' AS note FROM range(100)")
        with repo.commit("main", "load") as tx:
            tx.create_table("orders", frame, key="id")
            assert tx.table("orders").upsert(spark.sql("SELECT 5L AS id, 'changed' AS note")).updated == 1
        found = repo.table("orders", where="note = 'changed'").spark()
        assert [r.asDict() for r in found.collect()] == [{"id": 5, "price": Decimal("7.50"), "note": "changed"}]
        assert repo.table("orders").spark().count() == 100
        assert spark.catalog.listTables() == views
        with pytest.raises(ab.InvalidRequest, match="more than once: id=1"), repo.commit("main", "twice") as tx:
            tx.create_table("twice", spark.sql("SELECT 1 AS id, 2 AS v UNION ALL SELECT 1, 3"), key="id")
        with pytest.raises(ab.InvalidRequest, match="null in column 'id'"), repo.commit("main", "null") as tx:
            tx.create_table("nulls", spark.sql("SELECT CAST(NULL AS INT) AS id, 2 AS v"), key="id")


def test_dropped_tables_stay_in_earlier_commits(repo: ab.Repository) -> None:
    load(repo)
    with repo.commit("main", "drop") as tx:
        tx.table("orders").drop()
        with pytest.raises(ab.NotFound):
            tx.table("orders")
    with pytest.raises(ab.NotFound, match="no table 'orders'"):
        repo.table("orders")
    assert read(repo, "main~1") == ROWS
    load(repo, rows=[{"id": 1, "other": "x"}], schema=None)
    assert read(repo) == [{"id": 1, "other": "x"}]
    assert read(repo, "main~2") == ROWS
    assert [c.tables for c in repo.log(limit=3)] == [("orders",)] * 3


def test_tables_live_in_namespaces(repo: ab.Repository) -> None:
    with repo.commit("main", "sales") as tx:
        with pytest.raises(ab.NotFound, match="no namespace 'sales'"):
            tx.create_table("sales.orders", ROWS, key="id")
        tx.create_namespace("sales")
        tx.create_table("sales.orders", ROWS, key="id")
    assert by_id(repo.table("sales.orders", columns=["id"]).rows()) == [{"id": i} for i in range(5)]
    assert [(t.name, t.row_count) for t in repo.tables()] == [("sales.orders", 5)]
    assert [t.name for t in repo.tables(namespace="sales")] == ["sales.orders"]
    assert repo.namespaces() == ["sales"]
    assert tx.commit is not None
    assert tx.commit.tables == ("sales.orders",)


def test_a_column_that_spark_alone_can_compute_goes_to_spark_or_is_refused(duck: ab.Repository) -> None:
    load(duck)
    with pytest.raises(ab.InvalidRequest, match="runs on Spark only, and engine='duck' was asked for"):
        duck.table("orders", where="soundex(note) = 'N500'").rows()
