"""Columns, checks, keys and layout of a table change without writing its rows again, and everything stays readable."""

from __future__ import annotations

import datetime as dt
import re
from decimal import Decimal
from typing import Any

import pytest

import anabranch as ab

ROWS = [{"id": 1, "v": 10, "s": "a"}, {"id": 2, "v": 20, "s": "b"}, {"id": 3, "v": None, "s": "c"}]
SCHEMA = {"id": "int", "v": "int", "s": "string"}


def rows(repo: ab.Repository, at: str = "main", **options: Any) -> list[dict[str, Any]]:
    return repo.table("t", at=at, **options).head(1000)


@pytest.fixture
def made(repo: ab.Repository) -> ab.Repository:
    with repo.commit("main", "make") as tx:
        tx.create_table("t", ROWS, key="id", schema=SCHEMA)
    return repo


def object_bytes(repo: ab.Repository) -> int:
    return sum(layer["size_bytes"] for layer in repo.table("t").layout())


def test_an_added_column_shows_its_default_and_nothing_is_written(made: ab.Repository) -> None:
    before = object_bytes(made)
    with made.commit("main", "add") as tx:
        tx.table("t").add_column("n", "bigint", default="6 * 7")
        tx.table("t").add_column("note", "string")
    assert object_bytes(made) == before
    assert [(r["n"], r["note"]) for r in rows(made)] == [(42, None)] * 3
    assert rows(made, at="main~1") == ROWS
    assert [(c.name, str(c.type), c.default) for c in made.table("t").schema][3:] == [
        ("n", "bigint", "6 * 7"),
        ("note", "string", None),
    ]


def test_rows_written_after_a_column_was_added_have_their_own_values(made: ab.Repository) -> None:
    with made.commit("main", "add") as tx:
        tx.table("t").add_column("n", "int", default="1", nullable=False)
    with made.commit("main", "write") as tx:
        table = tx.table("t")
        table.insert([{"id": 4, "v": 1, "s": "d"}, {"id": 5, "v": 1, "s": "e"}])
        table.update({"n": "n + id"}, where="id IN (2, 5)")
    assert {r["id"]: r["n"] for r in rows(made)} == {1: 1, 2: 3, 3: 1, 4: 1, 5: 6}
    assert made.table("t", where="n > 2").count() == 2
    assert made.table("t").get({"id": 1}) == {"id": 1, "v": 10, "s": "a", "n": 1}


def test_the_first_default_stays_when_the_default_changes(made: ab.Repository) -> None:
    with made.commit("main", "add") as tx:
        tx.table("t").add_column("n", "int", default="1")
        tx.table("t").alter_column("n", default="2")
    with made.commit("main", "insert") as tx:
        tx.table("t").insert([{"id": 4, "v": 0, "s": ""}])
    assert [r["n"] for r in rows(made)] == [1, 1, 1, 2]
    with made.commit("main", "no default") as tx:
        tx.table("t").alter_column("n", default=None)
        tx.table("t").insert([{"id": 5, "v": 0, "s": ""}])
    assert [r["n"] for r in rows(made)] == [1, 1, 1, 2, None]


DEFAULTS = [
    ("boolean", "true", True),
    ("tinyint", "-5", -5),
    ("decimal(38,10)", "1234567890123456789012345678.0123456789", Decimal("1234567890123456789012345678.0123456789")),
    ("double", "1.5D", 1.5),
    ("string", "'it''s \\\\ \\n \"x\"'", 'it\'s \\ \n "x"'),
    ("string", "''", ""),
    ("date", "date'0001-01-01'", dt.date(1, 1, 1)),
    ("timestamp_ntz", "timestamp_ntz'9999-12-31 23:59:59.999999'", dt.datetime(9999, 12, 31, 23, 59, 59, 999999)),
    ("timestamp", "timestamp'2026-03-29T01:30:00.5Z'", dt.datetime(2026, 3, 29, 1, 30, 0, 500000, dt.UTC)),
    ("binary", "X'00FF27'", b"\x00\xff'"),
    ("array<string>", "array()", []),
    ("array<string>", "array('it''s', null, '\\n')", ["it's", None, "\n"]),
    ("array<double>", "array(double('-Infinity'), -0.0D, 0.1)", [float("-inf"), -0.0, 0.1]),
    ("map<string,array<bigint>>", "map('a', array(1), 'b', null)", [("a", [1]), ("b", None)]),
    ("map<string,int>", "map()", []),
    ("map<decimal(5,2),date>", "map(1.50, date'2020-01-01')", [(Decimal("1.50"), dt.date(2020, 1, 1))]),
    ("struct<`b c`:struct<d:binary>>", "named_struct('b c', named_struct('d', X'00FF'))", {"b c": {"d": b"\x00\xff"}}),
    ("struct<a:int,b:int,c:string>", "named_struct('b', 1, 'a', 2)", {"a": 2, "b": 1, "c": None}),
    (
        "array<timestamp>",
        "array(timestamp'2026-03-29T01:30:00.5Z')",
        [dt.datetime(2026, 3, 29, 1, 30, 0, 500000, dt.UTC)],
    ),
    ("array<array<timestamp_ntz>>", "array(array(timestamp_ntz'0001-01-01 00:00:00'))", [[dt.datetime(1, 1, 1)]]),
]


def test_a_default_of_every_type_is_what_old_rows_show(spark_repo: ab.Repository) -> None:
    expected = {f"x{n}": value for n, (_, _, value) in enumerate(DEFAULTS)}
    with spark_repo.commit("main", "make") as tx:
        tx.create_table("t", ROWS, key="id", schema=SCHEMA)
        for n, (type_, default, _) in enumerate(DEFAULTS):
            tx.table("t").add_column(f"x{n}", type_, default=default)
    with spark_repo.commit("main", "write") as tx:
        tx.table("t").upsert([{"id": 4, "v": 40, "s": "d"}])
    shown = [{**row, **expected} for row in [*ROWS, {"id": 4, "v": 40, "s": "d"}]]
    assert spark_repo.table("t").arrow().sort_by("id").to_pylist() == shown
    assert spark_repo.table("t").spark().orderBy("id").toArrow().to_pylist() == shown
    spark_repo.optimize("t")
    assert spark_repo.table("t").arrow().sort_by("id").to_pylist() == shown


SPARK_DEFAULTS = [
    ("interval day to second", "interval '-106751991 04:00:54.775808' day to second"),
    ("interval hour", "interval '-7' hour"),
    ("interval year to month", "interval '-1-2' year to month"),
    ("array<interval month>", "array(interval '5' month, null)"),
    ("variant", 'parse_json(\'{"a": [1, 2.5, null, "x"]}\')'),
    ("struct<v:variant>", "named_struct('v', parse_json('null'))"),
]


def test_a_default_that_duckdb_does_not_hold_is_what_old_rows_show(spark_repo: ab.Repository) -> None:
    with spark_repo.commit("main", "make") as tx:
        tx.create_table("t", [{"id": 1}], key="id", schema={"id": "int"})
        for n, (type_, default) in enumerate(SPARK_DEFAULTS):
            tx.table("t").add_column(f"x{n}", type_, default=default)
        tx.table("t").insert([{"id": 2}])
        for default in ("cast(date'2026-01-01' as variant)", "cast(1.5D as variant)"):
            with pytest.raises(
                ab.InvalidRequest, match="default of 'x': it has a variant with values that JSON does not"
            ):
                tx.table("t").add_column("x", "variant", default=default)
    texts = [f"cast(x{n} as string)" for n in range(len(SPARK_DEFAULTS))]
    old, new = spark_repo.table("t").spark().orderBy("id").selectExpr(*texts).collect()
    told = spark_repo.sql(f"SELECT {', '.join(f'cast({d} as string)' for _, d in SPARK_DEFAULTS)}").spark().collect()
    assert [tuple(old), tuple(new)] == [tuple(told[0])] * 2


def test_a_nested_default_is_read_and_never_written(made: ab.Repository) -> None:
    before = object_bytes(made)
    made.branch("dev")
    for branch in ("main", "dev"):
        with made.commit(branch, "add") as tx:
            tx.table("t").add_column("tags", "array<string>", default="array('a')", nullable=False)
    assert object_bytes(made) == before
    with made.commit("dev", "write") as tx:
        tx.table("t").upsert([{"id": 1, "tags": []}])
        tx.table("t").upsert([{"id": 2, "v": 21}, {"id": 4, "v": 40}])
    with made.commit("main", "write") as tx:
        tx.sql("ALTER TABLE t ADD COLUMN more map<string,int> DEFAULT map('n', 1) COMMENT 'm'")
        tx.table("t").delete(where="id = 3")
    made.merge("dev", into="main")
    assert {r["id"]: (r["v"], r["tags"], r["more"]) for r in rows(made)} == {
        1: (10, [], {"n": 1}),
        2: (21, ["a"], {"n": 1}),
        4: (40, ["a"], {"n": 1}),
    }
    assert (
        "more map<string,int> DEFAULT map('n', 1) COMMENT 'm'"
        in made.sql("SHOW CREATE TABLE t").rows()[0]["createtab_stmt"]
    )
    assert made.verify().raise_damages().objects > 0


@pytest.fixture
def spark_repo(tmp_path: Any, spark: Any) -> Any:
    """Takes Spark only where it must, so that both engines read what was computed by either."""
    with ab.init(tmp_path / "store", engine="auto", spark=spark) as made:
        yield made


@pytest.mark.parametrize(
    ("type_", "default", "problem"),
    [
        ("int", "id + 1", "default of 'n': there is no column 'id' (a default can't speak of columns)"),
        ("tinyint", 300, "default of 'n': a value does not fit"),
        ("int", "'a'", "default of 'n': column 'n' is int, the value is string"),
    ],
)
def test_a_default_that_can_not_be_is_refused_by_the_columns_name(
    made: ab.Repository, type_: str, default: Any, problem: str
) -> None:
    with pytest.raises(ab.InvalidRequest, match=re.escape(problem)), made.commit("main", "add") as tx:
        tx.table("t").add_column("n", type_, default=default)
    assert made.table("t").schema.names == ("id", "v", "s")


def test_a_default_that_only_spark_knows_is_named_by_the_rows(spark_repo: ab.Repository) -> None:
    with spark_repo.commit("main", "make") as tx:
        tx.create_table("t", schema="id int, v bigint DEFAULT 99999999999999999999", key="id")
    with pytest.raises(ab.InvalidRequest) as told, spark_repo.commit("main", "write") as tx:
        tx.table("t").insert([{"id": 1}])
    assert "the default of column 'v' is 99999999999999999999: " in told.value.message


def test_an_aggregate_is_no_default(spark_repo: ab.Repository) -> None:
    with spark_repo.commit("main", "make") as tx:
        table = tx.create_table("t", ROWS, key="id", schema=SCHEMA)
        with pytest.raises(ab.InvalidRequest, match="default of 'n': "):
            table.add_column("n", "bigint", default="count(1)")
        with pytest.raises(ab.InvalidRequest, match="default of 'v': "):
            table.alter_column("v", default="max(1)")
        assert table.insert([{"id": 4, "s": "d"}]).inserted == 1


def test_a_dropped_column_is_gone_and_does_not_come_back_by_its_name(made: ab.Repository) -> None:
    with made.commit("main", "drop") as tx:
        tx.table("t").drop_column("s")
    assert rows(made) == [{"id": r["id"], "v": r["v"]} for r in ROWS]
    assert rows(made, at="main~1") == ROWS
    with made.commit("main", "add again") as tx:
        tx.table("t").add_column("s", "string")
    assert [r["s"] for r in rows(made)] == [None] * 3
    with made.commit("main", "write") as tx:
        tx.table("t").update({"s": "'new'"}, where="id = 2")
    assert [r["s"] for r in rows(made)] == [None, "new", None]


def test_a_renamed_column_keeps_its_values_and_may_swap_names(made: ab.Repository) -> None:
    with made.commit("main", "swap") as tx:
        table = tx.table("t")
        table.rename_column("v", "x")
        table.rename_column("s", "v")
        table.rename_column("x", "s")
    assert rows(made) == [{"id": r["id"], "s": r["v"], "v": r["s"]} for r in ROWS]
    assert made.table("t", where="v = 'b'").rows() == [{"id": 2, "s": 20, "v": "b"}]


def test_a_column_may_be_renamed_in_case_only(made: ab.Repository) -> None:
    with made.commit("main", "case") as tx:
        tx.table("t").rename_column("v", "V")
    assert made.table("t").schema.names == ("id", "V", "s")


WIDER = [
    ("tinyint", "bigint", 127, 127, 2**40),
    ("smallint", "int", -5, -5, 2**31 - 1),
    ("int", "decimal(20,2)", 7, Decimal("7.00"), Decimal("123456789012345678.99")),
    ("int", "double", 7, 7.0, 0.5),
    ("float", "double", 0.5, 0.5, 0.1),
    ("decimal(5,2)", "decimal(10,4)", Decimal("1.25"), Decimal("1.2500"), Decimal("123456.7891")),
    ("date", "timestamp_ntz", dt.date(2026, 3, 29), dt.datetime(2026, 3, 29), dt.datetime(1, 1, 1, 12)),
]


def test_wider_types_read_old_objects_in_snapshot_and_overlay(repo: ab.Repository) -> None:
    names = [f"x{n}" for n in range(len(WIDER))]
    olds, news, values, reads, laters = (dict(zip(names, part, strict=True)) for part in zip(*WIDER, strict=True))
    nothing = dict.fromkeys(names)
    with repo.commit("main", "make") as tx:
        tx.create_table("t", schema={"id": "int", **olds}, key="id")
        tx.table("t").insert([{"id": n, **values} for n in range(4)])
    with repo.commit("main", "update under the old types") as tx:
        tx.table("t").update(nothing, where="id = 1")
    with repo.commit("main", "widen") as tx:
        for name, type_ in news.items():
            tx.table("t").alter_column(name, type=type_)
    assert rows(repo) == [{"id": n, **(nothing if n == 1 else reads)} for n in range(4)]
    with repo.commit("main", "write under the new types") as tx:
        tx.table("t").upsert([{"id": 2, **laters}, {"id": 9, **laters}])
        tx.table("t").upsert([{"id": 1, **reads}])
    expected = {0: reads, 1: reads, 2: laters, 3: reads, 9: laters}
    assert rows(repo) == [{"id": n, **values} for n, values in expected.items()]
    if _has_spark(repo):
        found = repo.table("t").spark().orderBy("id").toArrow().to_pylist()
        assert found == [{"id": n, **values} for n, values in expected.items()]
    repo.optimize("t")
    assert rows(repo) == [{"id": n, **values} for n, values in expected.items()]


def _has_spark(repo: ab.Repository) -> bool:
    return repo._ctx.engines.setting == "spark"


def test_a_key_may_be_widened_and_rows_are_still_found(made: ab.Repository) -> None:
    with made.commit("main", "widen") as tx:
        tx.table("t").alter_column("id", type="bigint")
        tx.table("t").upsert([{"id": 2, "v": 99}, {"id": 2**40, "v": 1}])
    with made.commit("main", "delete") as tx:
        tx.table("t").delete(where="id = 1")
    assert {r["id"]: r["v"] for r in rows(made)} == {2: 99, 3: None, 2**40: 1}
    assert made.table("t").get({"id": 2}) == {"id": 2, "v": 99, "s": "b"}
    with pytest.raises(ab.InvalidRequest, match="keys already"), made.commit("main", "again") as tx:
        tx.table("t").insert([{"id": 3, "v": 1, "s": ""}])


NARROWER = [("bigint", "int"), ("double", "float"), ("decimal(10,2)", "decimal(10,3)"), ("string", "int")]


@pytest.mark.parametrize(("old", "new"), [*NARROWER, ("timestamp_ntz", "date"), ("bigint", "double")])
def test_narrowing_is_refused(duck: ab.Repository, old: str, new: str) -> None:
    with duck.commit("main", "make") as tx:
        tx.create_table("t", schema={"id": "int", "x": old}, key="id")
        with pytest.raises(ab.InvalidRequest, match="can't become"):
            tx.table("t").alter_column("x", type=new)


def test_not_null_is_refused_where_there_are_nulls_and_held_from_then_on(made: ab.Repository) -> None:
    with made.commit("main", "firm") as tx:
        with pytest.raises(ab.InvalidRequest, match="id=3"):
            tx.table("t").alter_column("v", nullable=False)
        tx.table("t").alter_column("s", nullable=False)
    for write in (
        lambda t: t.insert([{"id": 9, "v": 1, "s": None}]),
        lambda t: t.update({"s": "CASE WHEN s = 'a' THEN s END"}),
        lambda t: t.upsert([{"id": 1, "s": None}]),
        lambda t: t.overwrite([{"id": 1, "v": 1, "s": None}]),
    ):
        with pytest.raises(ab.InvalidRequest, match="may not be null"), made.commit("main", "bad") as tx:
            write(tx.table("t"))
    with made.commit("main", "loose") as tx:
        tx.table("t").alter_column("s", nullable=True)
        tx.table("t").upsert([{"id": 1, "s": None}])
    assert rows(made)[0]["s"] is None


def test_a_not_null_column_needs_a_default_where_there_are_rows(made: ab.Repository) -> None:
    with pytest.raises(ab.InvalidRequest, match="3 rows"), made.commit("main", "add") as tx:
        tx.table("t").add_column("n", "int", nullable=False)


def test_checks_are_held_by_every_write_and_name_the_rows(made: ab.Repository) -> None:
    with made.commit("main", "check") as tx:
        with pytest.raises(ab.InvalidRequest, match=r"does not hold for: id=1, v=10"):
            tx.table("t").add_check("big", "v > 10")
        tx.table("t").add_check("small", "v < 100 OR s = 'any'")
    assert made.table("t").checks == {"small": "v < 100 OR s = 'any'"}
    for write in (
        lambda t: t.insert([{"id": 9, "v": 100, "s": "x"}]),
        lambda t: t.update({"v": "v * 10"}, where="id = 2"),
        lambda t: t.upsert([{"id": 2, "v": 200}]),
        lambda t: t.upsert([{"id": 7, "v": 200, "s": "x"}]),
        lambda t: t.overwrite([{"id": 2, "v": 200, "s": "b"}]),
    ):
        with pytest.raises(ab.InvalidRequest, match="check 'small'"), made.commit("main", "bad") as tx:
            write(tx.table("t"))
    with made.commit("main", "good") as tx:
        tx.table("t").upsert([{"id": 2, "s": "any"}])
        tx.table("t").upsert([{"id": 2, "v": 500}, {"id": 3, "v": None}])
        with pytest.raises(ab.InvalidRequest, match="check 'small'"):
            tx.table("t").update({"s": "'b'"}, where="id = 2")
    assert rows(made)[1] == {"id": 2, "v": 500, "s": "any"}
    with made.commit("main", "drop") as tx:
        tx.table("t").drop_check("small")
        tx.table("t").insert([{"id": 9, "v": 100, "s": "x"}])


def test_a_check_that_names_its_table_holds_under_another_name(made: ab.Repository) -> None:
    with made.commit("main", "check") as tx:
        tx.table("t").add_check("positive", "T.v >= 0 AND length(`t` . s) > 0")
        tx.table("t").rename("u")
    assert made.table("u").checks == {"positive": "v >= 0 AND length(s) > 0"}
    with made.commit("main", "held") as tx:
        assert tx.table("u").insert([{"id": 9, "v": 1, "s": "i"}]).inserted == 1
        with pytest.raises(ab.InvalidRequest, match=r"check 'positive' .* does not hold for: id=9"):
            tx.table("u").update({"v": -1}, where="id = 9")


def test_a_column_that_a_check_uses_stays(made: ab.Repository) -> None:
    with made.commit("main", "check") as tx:
        table = tx.table("t")
        table.add_check("small", "v < 100")
        for change in (lambda: table.drop_column("v"), lambda: table.rename_column("v", "w")):
            with pytest.raises(ab.InvalidRequest, match="check 'small' uses it"):
                change()
        with pytest.raises(ab.AlreadyExists):
            table.add_check("small", "v < 1000")
        with pytest.raises(ab.InvalidRequest, match="a condition was expected"):
            table.add_check("odd", "v + 1")
        with pytest.raises(ab.NotFound):
            table.add_check("odd", "w > 1")
        with pytest.raises(ab.NotFound):
            table.drop_check("none")


def test_a_wider_type_under_which_a_check_does_not_hold_is_refused(made: ab.Repository) -> None:
    with made.commit("main", "check") as tx:
        table = tx.table("t")
        table.add_check("short", "length(cast(v as string)) <= 2")
        with pytest.raises(ab.InvalidRequest, match=r"column 'v' of 't' can't become decimal\(12,2\): check 'short' "):
            table.alter_column("v", type="decimal(12,2)")
        assert str(table.schema.column("v").type) == "int"
        table.alter_column("v", type="bigint")
        with pytest.raises(ab.InvalidRequest, match=r"check 'short' .* does not hold for: id=1"):
            table.update({"v": 100}, where="id = 1")
    assert str(made.table("t").schema.column("v").type) == "bigint"


def test_schema_requests_that_can_not_be_met_are_refused_and_leave_nothing(made: ab.Repository) -> None:
    with made.commit("main", "try") as tx:
        table = tx.table("t")
        for change, error in (
            (lambda: table.add_column("V", "int"), ab.AlreadyExists),
            (lambda: table.add_column("_ana_x", "int"), ab.InvalidRequest),
            (lambda: table.add_column("x", "nonsense"), ab.InvalidRequest),
            (lambda: table.add_column("x", "int", default="'text'"), ab.InvalidRequest),
            (lambda: table.add_column("x", "int", default="v + 1"), ab.AnabranchError),
            (lambda: table.drop_column("id"), ab.InvalidRequest),
            (lambda: table.drop_column("nothing"), ab.NotFound),
            (lambda: table.rename_column("v", "s"), ab.AlreadyExists),
            (lambda: table.alter_column("id", nullable=True), ab.InvalidRequest),
            (lambda: table.alter_column("id", type="double"), ab.InvalidRequest),
        ):
            with pytest.raises(error):
                change()
    assert tx.commit is None


def test_a_change_that_is_taken_back_in_the_same_commit_is_none(made: ab.Repository) -> None:
    with made.commit("main", "nothing") as tx:
        table = tx.table("t")
        table.add_column("x", "int")
        table.drop_column("x")
        table.rename_column("v", "w")
        table.rename_column("w", "v")
        table.set_properties({"a": "b"})
        table.unset_properties(["a"])
    assert tx.commit is None


def test_statements_around_a_schema_change_in_one_commit_become_one_change(made: ab.Repository) -> None:
    with made.commit("main", "all at once") as tx:
        table = tx.table("t")
        table.update({"s": "'x'"}, where="id = 1")
        table.insert([{"id": 4, "v": 40, "s": "d"}])
        table.add_column("n", "int", default="5")
        table.update({"n": "v + n"}, where="id IN (1, 4)")
        table.drop_column("s")
        table.insert([{"id": 6, "v": 60, "n": 1}])
        assert table.count() == 5
    expected = [(1, 10, 15), (2, 20, 5), (3, None, 5), (4, 40, 45), (6, 60, 1)]
    assert [(r["id"], r["v"], r["n"]) for r in rows(made)] == expected
    (change,) = made.show_changes("main")
    assert (change.inserted, change.updated, change.deleted) == (2, 1, 0)
    assert made.verify().raise_damages().objects > 0


def test_a_key_can_be_changed_taken_away_and_given_back(made: ab.Repository) -> None:
    with made.commit("main", "by s") as tx:
        tx.table("t").set_key("s")
    assert made.table("t").key == ("s",)
    assert made.table("t").get("b") == ROWS[1]
    with made.commit("main", "write") as tx:
        tx.table("t").upsert([{"s": "a", "id": 1, "v": 11}, {"s": "z", "id": 9, "v": 1}])
        with pytest.raises(ab.InvalidRequest, match="keys already"):
            tx.table("t").insert([{"s": "b", "id": 7, "v": 0}])
    with made.commit("main", "no key") as tx:
        tx.table("t").set_key(None)
        tx.table("t").insert([{"s": "b", "id": 2, "v": 20}])
    assert made.table("t").key == ()
    assert sorted((r["id"], r["v"]) for r in made.table("t").rows()) == [(1, 11), (2, 20), (2, 20), (3, None), (9, 1)]
    with pytest.raises(ab.InvalidRequest, match="more than once: id=2"), made.commit("main", "bad") as tx:
        tx.table("t").set_key("id")
    with made.commit("main", "back") as tx:
        tx.table("t").delete(where="id = 2")
        tx.table("t").set_key(["id"])
    assert rows(made) == [{"id": 1, "v": 11, "s": "a"}, {"id": 3, "v": None, "s": "c"}, {"id": 9, "v": 1, "s": "z"}]
    assert rows(made, at="main~4") == ROWS
    assert made.verify().raise_damages().objects > 0


def test_a_key_with_nulls_or_of_a_type_without_equality_is_refused(made: ab.Repository) -> None:
    with made.commit("main", "try") as tx:
        with pytest.raises(ab.InvalidRequest, match="null"):
            tx.table("t").set_key("v")
        tx.table("t").add_column("x", "double", default=1.5)
        with pytest.raises(ab.InvalidRequest, match="can't be a key"):
            tx.table("t").set_key("x")


def test_properties_are_set_and_removed_one_by_one(made: ab.Repository) -> None:
    with made.commit("main", "properties") as tx:
        tx.table("t").set_properties({"owner": "ann", "été": "x'y"})
    with made.commit("main", "more") as tx:
        tx.table("t").set_properties({"owner": "bob"})
        tx.table("t").unset_properties(["été"])
        with pytest.raises(ab.NotFound):
            tx.table("t").unset_properties(["none"])
        with pytest.raises(ab.InvalidRequest):
            tx.table("t").set_properties({"n": 1})  # type: ignore[dict-item]
    assert made.table("t").properties == {"owner": "bob"}
    assert made.table("t", at="main~1").properties == {"owner": "ann", "été": "x'y"}
    assert rows(made) == ROWS


def test_one_column_may_stand_in_several_tables(made: ab.Repository) -> None:
    with made.commit("main", "share") as tx:
        tx.create_table("u", [{"id": 7, "v": 1, "s": "u"}], schema=made.table("t").schema, key="id")
        tx.table("u").rename_column("v", "other")
    ids = {name: [c.id for c in made.table(name).schema] for name in "tu"}
    assert ids["t"] == ids["u"]
    assert made.table("u").rows() == [{"id": 7, "other": 1, "s": "u"}]
    assert rows(made) == ROWS


def test_rows_are_clustered_as_asked_and_keys_are_still_unique(repo: ab.Repository) -> None:
    data = [{"id": n, "day": n % 5} for n in range(100)]
    with repo.commit("main", "make") as tx:
        tx.create_table("t", data, key="id", cluster_by="day", schema={"id": "int", "day": "int"})
        with pytest.raises(ab.InvalidRequest, match="more than once: id=1"):
            tx.create_table("u", [*data, data[1]], key="id", cluster_by=["day"])
    assert repo.table("t").clustering == ("day",)
    if not _has_spark(repo):
        assert [r["day"] for r in repo.table("t").rows()] == sorted(r["day"] for r in data)
    assert rows(repo) == data
    with repo.commit("main", "plain again") as tx:
        with pytest.raises(ab.InvalidRequest, match="clustered by"):
            tx.table("t").drop_column("day")
        tx.table("t").cluster_by(None)
        tx.table("t").drop_column("day")
    assert repo.table("t").clustering == ("id",)


def test_a_new_key_and_other_statements_in_one_commit_count_the_rows_right(made: ab.Repository) -> None:
    with made.commit("main", "one less") as tx:
        tx.table("t").set_key("s")
        tx.table("t").delete(where="id = 1")
        tx.table("t").upsert([{"s": "z", "id": 9, "v": 9}])
    assert (made.table("t").count(), len(made.table("t").rows())) == (3, 3)
    with made.commit("main", "none") as tx:
        tx.table("t").set_key(None)
        tx.table("t").delete()
    assert (made.table("t").count(), made.table("t").rows()) == (0, [])
