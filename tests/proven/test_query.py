"""Whole queries: what DuckDB is allowed to answer, it answers as Spark does; the rest is named and left to Spark."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyarrow as pa
import pytest
from sqlglot import exp

from anabranch.engines.duck import DuckEngine
from anabranch.errors import InvalidRequest, NotFound
from anabranch.model.types import DataType
from anabranch.proven.column_names import name_of
from anabranch.proven.parser import parse
from anabranch.proven.query import _proven, bound, prove_query
from anabranch.proven.scope import Nameless, Scope, Visible
from anabranch.proven.table.row import Unproven
from anabranch.queries.query import Rows, reading_of
from tests.proven.edges import SCHEMA, edge_rows
from tests.proven.proof_cases import ALL as EXPRESSIONS
from tests.proven.query_cases import ALL, LIMITS, UNKNOWN, UNPROVEN
from tests.proven.query_tables import differences, make_views, on_duck, on_spark, prove

PARTS = 8
THREADS = 4


@pytest.fixture(scope="module")
def duck() -> DuckEngine:
    return DuckEngine(122_880)


@pytest.fixture(scope="module")
def tables(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The session, which knows the tables and does not part their few rows."""
    make_views(spark, tmp_path_factory.mktemp("tables"))
    before = spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set("spark.sql.shuffle.partitions", "1")
    yield spark
    spark.conf.set("spark.sql.shuffle.partitions", before)


@pytest.mark.proof
@pytest.mark.parametrize("part", range(PARTS))
def test_proven_queries_give_the_same_on_both_engines(duck: DuckEngine, tables: Any, part: int) -> None:
    texts = ALL[part::PARTS]
    with ThreadPoolExecutor(THREADS) as threads:
        expected = list(threads.map(lambda text: on_spark(tables, text), texts))
    wrong = [w for t, rows in zip(texts, expected, strict=True) for w in differences(t, on_duck(duck, t), rows)]
    assert not wrong, "\n" + "\n".join(wrong)


@pytest.mark.proof
def test_unnamed_expressions_are_named_as_spark_names_them(spark: Any) -> None:
    texts = [t for t in EXPRESSIONS if ":" not in t]
    scope = Scope(tuple(Visible(c.name, exp.Null(), c.type, None) for c in SCHEMA))
    names = {t: name_of(parse(t)[0], scope) for t in texts if not t.startswith("+")}
    known = {t: n for t, n in names.items() if not isinstance(n, Nameless)}
    assert len(known) > len(names) / 2
    spark.createDataFrame(edge_rows().slice(0, 1)).createOrReplaceTempView("proof_edges")
    assert spark.sql(f"SELECT {', '.join(known)} FROM proof_edges").columns == list(known.values())


FAILING = [
    "SELECT sum(big + 9223372036854775800) AS s FROM {orders} o",
    "SELECT sum(b) AS s FROM (SELECT 9223372036854775807 AS b UNION ALL SELECT 1) t",
    "SELECT id / 0 AS a FROM {orders} o",
    "SELECT (SELECT id FROM {orders} p) AS a FROM {orders} o",
    "SELECT id FROM {orders} o WHERE 1 / qty > 0",
    "SELECT customer FROM {orders} o GROUP BY customer, 1 / qty",
]


@pytest.mark.proof
@pytest.mark.parametrize("text", FAILING)
def test_what_fails_on_one_engine_fails_on_the_other(duck: DuckEngine, tables: Any, text: str) -> None:
    assert prove(text).may_fail
    with pytest.raises(InvalidRequest, match="does not fit"):
        on_duck(duck, text)
    with pytest.raises(Exception, match=r"OVERFLOW|DIVIDE_BY_ZERO|SCALAR_SUBQUERY"):
        on_spark(tables, text)


@pytest.mark.parametrize(("text", "count"), LIMITS)
def test_a_limit_without_an_order_gives_as_many_rows(duck: DuckEngine, text: str, count: int) -> None:
    assert on_duck(duck, text).num_rows == count


@pytest.mark.parametrize(("text", "what"), UNPROVEN)
def test_what_is_not_proven_is_named(text: str, what: str) -> None:
    with pytest.raises(Unproven) as refused:
        prove(text)
    assert what in str(refused.value)


@pytest.mark.parametrize(("text", "message", "hint"), UNKNOWN)
def test_a_name_that_means_nothing_or_two_things_is_refused(text: str, message: str, hint: str) -> None:
    with pytest.raises((InvalidRequest, NotFound)) as refused:
        prove(text)
    assert message in refused.value.message
    assert hint in str(refused.value.hint)


def test_a_type_that_only_spark_has_is_left_to_it() -> None:
    columns = [("id", DataType("int")), ("v", DataType("variant"))]
    with pytest.raises(Unproven, match="the column v of type variant"):
        prove_query("SELECT * FROM `ana_source_1` o", {"ana_source_1": columns}, {})
    assert prove_query("SELECT id FROM `ana_source_1` o", {"ana_source_1": columns}, {}).ordered is False


USED = [
    ("SELECT count(*) FROM {orders} o", {"ana_source_1": set()}),
    ("SELECT price FROM {orders} o WHERE Qty > 1 ORDER BY day", {"ana_source_1": {"price", "qty", "day"}}),
    ("SELECT t.id FROM (SELECT * FROM {orders} o) t", {"ana_source_1": {"id"}}),
    ("WITH t AS (SELECT * FROM {orders} o) SELECT sum(qty) FROM t WHERE paid", {"ana_source_1": {"qty", "paid"}}),
    (
        "SELECT o.id FROM {orders} o JOIN (SELECT id, max(name) AS n, max(city) AS c FROM {customers} c GROUP BY id) c"
        " ON o.customer = c.id AND c.n > 'a'",
        {"ana_source_1": {"id", "customer"}, "ana_source_2": {"id", "name"}},
    ),
    ("SELECT id FROM (SELECT DISTINCT id, qty FROM {orders} o)", {"ana_source_1": {"id", "qty"}}),
    (
        "SELECT a FROM (SELECT id AS a, qty FROM {orders} o UNION ALL SELECT order_id, qty FROM {items} i)",
        {"ana_source_1": {"id", "qty"}, "ana_source_3": {"order_id", "qty"}},
    ),
]


@pytest.mark.parametrize(("text", "used"), USED)
def test_only_the_columns_that_a_query_needs_are_read(text: str, used: dict[str, set[str]]) -> None:
    assert prove(text).used == used


def test_sources_of_different_relations_do_not_get_mixed_up(duck: DuckEngine) -> None:
    columns = {f"ana_source_{n}": [("a", DataType("int"))] for n in (1, 2)}
    proven = prove_query("SELECT x.a, y.a AS b FROM `ana_source_1` x, `ana_source_2` y", columns, {})
    parts = {f"ana_source_{n}": reading_of(Rows(pa.table({"a": pa.array([n], pa.int32())})), ["a"]) for n in (1, 2)}
    assert duck.fetch(bound(proven, parts)).to_pylist() == [{"a": 1, "b": 2}]


def test_a_query_is_proven_in_milliseconds() -> None:
    text = (
        "WITH t AS (SELECT o.customer, o.price * o.qty AS total, c.city FROM {orders} o"
        " JOIN {customers} c ON o.customer = c.id WHERE o.status = 'new' AND o.day > DATE '2020-01-01')"
        " SELECT city, count(*) AS n, sum(total) AS s FROM t GROUP BY city HAVING n > 1 ORDER BY s DESC LIMIT 10"
    )
    prove(text)
    taken = []
    for _ in range(5):
        _proven.cache_clear()
        started = time.process_time()
        prove(text)
        taken.append(time.process_time() - started)
    assert min(taken) < 0.05
