"""Conditions part by part: what can't fail joins, and what may fail is asked of the rows that are left, as in Spark."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from anabranch.engines.duck import DuckEngine
from anabranch.errors import InvalidRequest
from anabranch.model.types import DataType
from anabranch.proven.query import bound, prove_query
from anabranch.queries.query import Rows, reading_of
from anabranch.queries.rendering import duck_sql

INT, DAY = DataType("int"), DataType("date")
MANY = 20_000
"""Rows of each table: as many pairs as their product has are not looked at within a test's time."""


@pytest.fixture(scope="module")
def duck() -> DuckEngine:
    return DuckEngine(122_880)


def _asked(duck: DuckEngine, text: str, **tables: pa.Table) -> pa.Table:
    return duck.fetch(_bound(text, tables))


def _bound(text: str, tables: dict[str, pa.Table]) -> Any:
    columns = {name: [(c, INT) for c in rows.column_names] for name, rows in tables.items()}
    proven = prove_query(text.format(a="a", b="b", c="c"), columns, {})
    return bound(proven, {name: reading_of(Rows(rows), rows.column_names) for name, rows in tables.items()})


def _ints(**columns: list[int]) -> pa.Table:
    return pa.table({name: pa.array(values, pa.int32()) for name, values in columns.items()})


def _pairs(rows: int) -> dict[str, pa.Table]:
    return {n: _ints(k=list(range(rows)), x=[i % 7 + 1 for i in range(rows)]) for n in ("a", "b", "c")}


JOINS = [
    "SELECT count(*) AS n FROM {a} a JOIN {b} b ON a.k = b.k AND a.x + 1 > b.x",
    "SELECT count(*) AS n FROM {a} a JOIN {b} b ON a.x + 1 > b.x AND a.k = b.k",
    "SELECT count(*) AS n FROM {a} a, {b} b WHERE a.k = b.k AND a.x + 1 > b.x",
    "SELECT count(*) AS n FROM {a} a, {b} b WHERE (a.k = b.k AND a.x + 1 > b.x) AND 7 / a.x > 0",
    "SELECT count(*) AS n FROM {a} a JOIN {b} b USING (k) WHERE a.x + 1 > b.x",
    "SELECT count(*) AS n FROM {a} a JOIN {b} b ON a.k + 1 = b.k + 1",
    "SELECT count(*) AS n FROM {a} a LEFT JOIN {b} b ON a.k = b.k AND a.x + 1 > b.x",
    "SELECT count(*) AS n FROM {a} a RIGHT JOIN {b} b ON a.k = b.k AND a.x + 1 > b.x AND 7 / a.x > 0",
    "SELECT count(*) AS n FROM {a} a FULL JOIN {b} b ON a.k = b.k AND a.x + 1 > b.x",
    "SELECT count(*) AS n FROM {a} a LEFT SEMI JOIN {b} b ON a.k = b.k AND a.x + 1 > b.x",
    "SELECT count(*) AS n FROM {a} a LEFT ANTI JOIN {b} b ON a.k = b.k AND a.x + 1 < b.x",
    "SELECT count(*) AS n FROM {a} a WHERE EXISTS (SELECT 1 FROM {b} b WHERE a.k = b.k AND a.x + 1 > b.x)",
    "SELECT count(*) AS n FROM {a} a WHERE NOT EXISTS (SELECT 1 FROM {b} b WHERE a.k = b.k AND a.x + 1 < b.x)",
    "SELECT count(*) AS n FROM {a} a, {b} b WHERE (a.k = b.k AND a.x + 1 > b.x) OR (a.k = b.k AND a.x > b.x + 1)",
    "SELECT count(*) AS n FROM {a} a, {b} b, {c} c WHERE a.k = b.k AND b.k = c.k AND a.x + b.x > c.x AND c.x + 1 > 0",
]


@pytest.mark.parametrize("text", JOINS)
def test_equalities_join_whatever_stands_beside_them(duck: DuckEngine, text: str) -> None:
    plan, query = duck._cursor(), _bound(text, _pairs(MANY))
    for name, source in query.sources.items():
        assert isinstance(source, Rows)
        plan.register(name, source.table)
    shown = plan.execute(f"EXPLAIN (FORMAT json) {duck_sql(query)}").fetchall()[0][1]
    assert "HASH_JOIN" in shown
    assert "NESTED_LOOP" not in shown
    assert "PRODUCT" not in shown
    assert "BLOCKWISE" not in shown


@pytest.mark.parametrize("text", JOINS)
def test_a_join_with_a_part_that_may_fail_finds_its_rows(duck: DuckEngine, text: str) -> None:
    assert _asked(duck, text, **_pairs(MANY))["n"].to_pylist() == [MANY]


LEFT = [
    "SELECT a.k FROM {a} a JOIN {b} b ON a.k = b.k AND 10 / (a.x - b.x) > 2",
    "SELECT a.k FROM {a} a JOIN {b} b ON a.k = b.k WHERE 10 / (a.x - b.x) > 2",
    "SELECT a.k FROM {a} a, {b} b WHERE 10 / (a.x - b.x) > 2 AND a.k = b.k",
    "SELECT a.k FROM {a} a, {b} b WHERE a.x <> b.x AND 10 / (a.x - b.x) > 2 AND a.k = b.k",
    "SELECT a.k FROM {a} a JOIN {b} b ON a.k = b.k AND a.x + 2147483640 > b.x",
    "SELECT a.k FROM {a} a LEFT SEMI JOIN {b} b ON a.k = b.k AND 10 / (a.x - b.x) > 2",
    "SELECT a.k FROM {a} a WHERE x <> 9 AND 9 / (x - 9) < 9 AND k = 1",
    "SELECT a.k FROM {a} a, {b} b WHERE 10 / (a.x - b.x) > 2 AND a.x < 8 AND b.x < 2",
]


@pytest.mark.parametrize("text", LEFT)
def test_what_may_fail_is_asked_of_the_rows_that_are_left(duck: DuckEngine, text: str) -> None:
    """Keys 2 and 3 have no partner; with any other row, they would fail."""
    tables = {"a": _ints(k=[1, 2], x=[3, 9]), "b": _ints(k=[1, 3], x=[1, 9])}
    assert _asked(duck, text, **tables).to_pylist() == [{"k": 1}]


FAILS = [
    "SELECT a.k FROM {a} a JOIN {b} b ON a.k = b.k AND 10 / (a.x - b.x) > 2",
    "SELECT a.k FROM {a} a LEFT JOIN {b} b ON a.k = b.k AND 10 / (a.x - b.x) > 2",
    "SELECT a.k FROM {a} a FULL JOIN {b} b ON a.k = b.k AND 10 / (a.x - b.x) > 2",
    "SELECT a.k FROM {a} a, {b} b WHERE a.k = b.k AND 1 / (b.x - 9) < 2",
    "SELECT a.k FROM {a} a, {b} b WHERE a.k = b.k AND 1 / (a.x - 7) < 2",
    "SELECT a.k FROM {a} a LEFT JOIN {b} b ON a.k = b.k AND 1 / (b.x - 9) < 2",
    "SELECT a.k FROM {a} a JOIN {b} b ON a.k = b.k AND 1 / (a.x - 7) = b.x",
]


@pytest.mark.parametrize("text", FAILS)
def test_what_fails_on_rows_that_are_left_fails(duck: DuckEngine, text: str) -> None:
    """Also on a row without a partner, where only its own table is asked about: so does Spark."""
    tables = {"a": _ints(k=[1, 2], x=[3, 7]), "b": _ints(k=[1, 3], x=[3, 9])}
    with pytest.raises(InvalidRequest, match="does not fit"):
        _asked(duck, text, **tables)


@pytest.fixture(scope="module")
def spark_tables(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    import pyarrow.parquet as pq

    folder = tmp_path_factory.mktemp("conditions")
    left = {"a": _ints(k=[1, 2], x=[3, 9]), "b": _ints(k=[1, 3], x=[1, 9])}
    failing = {"a": _ints(k=[1, 2], x=[3, 7]), "b": _ints(k=[1, 3], x=[3, 9])}
    for kind, tables in (("left", left), ("failing", failing)):
        for name, rows in tables.items():
            pq.write_table(rows, folder / f"{kind}_{name}.parquet")
            view = spark.read.parquet(str(folder / f"{kind}_{name}.parquet"))
            view.createOrReplaceTempView(f"conditions_{kind}_{name}")
    yield spark
    for kind in ("left", "failing"):
        for name in ("a", "b"):
            spark.catalog.dropTempView(f"conditions_{kind}_{name}")


def test_spark_comes_to_the_same_rows_and_failures(spark_tables: Any) -> None:
    """The two tests above say of DuckDB what this one says of Spark."""
    for kind, texts in (("left", LEFT), ("failing", FAILS)):
        for text in texts:
            text = text.format(a=f"conditions_{kind}_a", b=f"conditions_{kind}_b")
            if kind == "left":
                assert [r.k for r in spark_tables.sql(text).collect()] == [1], text
            else:
                with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
                    spark_tables.sql(text).collect()


def test_a_day_written_out_and_moved_can_not_fail() -> None:
    columns = {"a": [("d", DAY)]}
    moved = "SELECT d FROM a WHERE d < DATE '1994-01-01' + INTERVAL '99999' YEAR"
    assert not prove_query(moved, columns, {}).may_fail
    assert prove_query("SELECT d FROM a WHERE d + INTERVAL '1' YEAR > DATE '1994-01-01'", columns, {}).may_fail


@pytest.mark.parametrize(
    ("text", "may_fail"),
    [
        ("n < 1 + 10", False),
        ("n < 2147483646 + 1", False),
        ("n < 2147483647 + 1", True),
        ("n < -2147483647 - 2", True),
        ("n < 46341 * 46341", True),
        ("n < 2147483648 + 1", False),
        ("n < n + 1", True),
    ],
)
def test_arithmetic_of_literals_fails_only_where_it_overflows(text: str, may_fail: bool) -> None:
    columns = {"a": [("n", DataType("int"))]}
    assert prove_query(f"SELECT n FROM a WHERE {text}", columns, {}).may_fail is may_fail
