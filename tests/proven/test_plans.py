"""DuckDB plans proven queries without the product of two tables, in whichever order conditions are written."""

from __future__ import annotations

import itertools
import json
from decimal import Decimal
from functools import cache
from typing import Any

import pyarrow as pa
import pytest

from anabranch.arrow.types import spark_type
from anabranch.engines.duck import DuckEngine
from anabranch.model.types import DataType
from anabranch.proven.query import bound, prove_query
from anabranch.queries.query import Query, Rows, reading_of
from anabranch.queries.rendering import duck_sql

ROWS = 2_000
PRODUCTS = ("CROSS_PRODUCT", "NESTED_LOOP_JOIN", "BLOCKWISE_NL_JOIN", "PIECEWISE_MERGE_JOIN")
ONE_ROW = ("UNGROUPED_AGGREGATE", "DUMMY_SCAN")


@cache
def _tables() -> dict[str, pa.Table]:
    """A star of sales around towns, people, days and goods; each row has one partner everywhere."""
    numbers = range(ROWS)
    ids = pa.array(numbers, pa.int32())
    prices = [Decimal(n % 90) + Decimal("0.25") for n in numbers]
    return {
        "towns": pa.table({"town": ids, "state": [f"S{n % 7}" for n in numbers]}),
        "people": pa.table({"person": ids, "lives": ids}),
        "sales": pa.table({"buyer": ids, "day": ids, "good": ids, "pieces": ids}),
        "days": pa.table(
            {
                "day": ids,
                "month": pa.array([n // 30 for n in numbers], pa.int32()),
                "year": pa.array([2000 + n // 365 for n in numbers], pa.int32()),
                "weight": pa.array([n % 5 for n in numbers], pa.int32()),
            }
        ),
        "goods": pa.table(
            {
                "good": ids,
                "kind": [f"K{n % 11}" for n in numbers],
                "price": pa.array(prices, pa.decimal128(7, 2)),
            }
        ),
    }


SIDE_BY_SIDE = (
    "SELECT t.state, count(*) AS n FROM towns t, people p, sales s, days d, goods g"
    " WHERE {first} AND t.town = p.lives AND p.person = s.buyer AND s.day = d.day AND s.good = g.good"
    " AND {second} GROUP BY t.state HAVING count(*) > 1 ORDER BY n, t.state"
)
JOINED = (
    "SELECT t.state, count(*) AS n FROM towns t JOIN people p ON t.town = p.lives"
    " JOIN sales s ON p.person = s.buyer JOIN days d ON s.day = d.day JOIN goods g ON s.good = g.good"
    " WHERE {first} AND {second} GROUP BY t.state"
)
CONDITIONS = {
    "above the mean of its kind": "g.price > 1.2 * (SELECT avg(h.price) FROM goods h WHERE h.kind = g.kind)",
    "above the mean of its year": "d.weight > (SELECT avg(e.weight) FROM days e WHERE e.year = d.year)",
    "more than once": "1 <= (SELECT count(r.pieces) FROM sales r WHERE r.good = g.good AND r.buyer = p.person)",
    "one month": "d.month = (SELECT DISTINCT month FROM days WHERE year = 2001 AND day = 400)",
    "listed months": "d.month IN (SELECT month FROM days WHERE year = 2001)",
    "unlisted months": "d.month NOT IN (SELECT month FROM days WHERE year = 2003)",
    "sold": "EXISTS (SELECT 1 FROM sales r WHERE r.good = g.good AND r.pieces > 5)",
    "sold or heavy": "(EXISTS (SELECT 1 FROM sales r WHERE r.good = g.good) OR d.weight = 1)",
    "plain": "d.year = 2001",
    "may fail": "d.weight + s.pieces > 2",
}


@pytest.fixture(scope="module")
def duck() -> DuckEngine:
    return DuckEngine(122_880)


def _query(text: str) -> Query:
    tables = _tables()
    columns = {name: [(f.name, spark_type(f.type, f.name)) for f in rows.schema] for name, rows in tables.items()}
    known: dict[str, list[tuple[str, DataType | None]]] = {name: list(found) for name, found in columns.items()}
    relations = {name: reading_of(Rows(rows), rows.column_names) for name, rows in tables.items()}
    return bound(prove_query(text, known, {}), relations)


def _plan(duck: DuckEngine, query: Query) -> list[dict[str, Any]]:
    """DuckDB's plan of a query, as nodes with children."""
    cursor = duck._cursor()
    for name, source in query.sources.items():
        assert isinstance(source, Rows)
        cursor.register(name, source.table)
    found: list[dict[str, Any]] = json.loads(
        cursor.execute(f"EXPLAIN (FORMAT json) {duck_sql(query)}").fetchall()[0][1]
    )
    return found


def products_of_tables(plan: list[dict[str, Any]]) -> list[str]:
    """The joins in a plan that pair every row with every other, unless one side is a single row."""
    found: list[str] = []
    rest = list(plan)
    while rest:
        node = rest.pop()
        is_product = node["name"].strip() in PRODUCTS
        if is_product and not any(_is_one_row(child) for child in node["children"]):
            found.append(node["name"].strip())
        rest += node["children"]
    return found


def _is_one_row(node: dict[str, Any]) -> bool:
    while node["name"].strip() in ("PROJECTION", "FILTER"):
        (node,) = node["children"]
    return node["name"].strip() in ONE_ROW


@pytest.mark.parametrize("form", [SIDE_BY_SIDE, JOINED], ids=["side by side", "joined"])
@pytest.mark.parametrize("first", CONDITIONS)
def test_tables_with_keys_are_joined_by_them(duck: DuckEngine, form: str, first: str) -> None:
    for second in (name for name in CONDITIONS if name != first):
        text = form.format(first=CONDITIONS[first], second=CONDITIONS[second])
        assert products_of_tables(_plan(duck, _query(text))) == [], second


def test_a_product_that_was_asked_for_is_found_in_the_plan(duck: DuckEngine) -> None:
    """Otherwise the test above would find none in any plan."""
    assert products_of_tables(_plan(duck, _query("SELECT t.town FROM towns t, people p"))) == ["CROSS_PRODUCT"]


def test_conditions_in_either_order_find_the_same_rows(duck: DuckEngine) -> None:
    for first, second in itertools.combinations(CONDITIONS, 2):
        orders = ((first, second), (second, first))
        texts = [SIDE_BY_SIDE.format(first=CONDITIONS[a], second=CONDITIONS[b]) for a, b in orders]
        one, other = (duck.fetch(_query(text)).to_pylist() for text in texts)
        assert one == other


def test_keys_beside_an_outer_join_stay_where_they_mean_the_same(duck: DuckEngine) -> None:
    """A key in WHERE may move into the product before it, whatever is joined on the left later."""
    text = (
        "SELECT count(*) AS n, count(d.day) AS m FROM people p CROSS JOIN sales s"
        " LEFT JOIN days d ON s.day = d.day AND d.year = 2001 WHERE p.person = s.buyer"
    )
    assert duck.fetch(_query(text)).to_pylist() == [{"n": ROWS, "m": 365}]
