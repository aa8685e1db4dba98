"""Conditions on single tables, found in the text of a query."""

from __future__ import annotations

import pytest

from anabranch.model.ids import ColumnId, SchemaId
from anabranch.model.layers import Bounds
from anabranch.model.schema import Column, Schema
from anabranch.model.types import DataType
from anabranch.proven.filters import table_filters
from anabranch.proven.key_bounds import key_bounds

SCHEMA = Schema(
    SchemaId("s1"),
    (Column(ColumnId("c1"), "id", DataType("bigint"), False), Column(ColumnId("c2"), "v", DataType("int"))),
    (ColumnId("c1"),),
)
CASES = [
    ("SELECT * FROM t WHERE id = 5", Bounds(5, 5)),
    ("SELECT * FROM t WHERE id = :n AND v > 3", Bounds(9, 9)),
    ("SELECT sum(v) FROM t AS x WHERE (x.id > 3 AND X.id <= 8) AND v LIKE 'a%' GROUP BY v", Bounds(3, 8)),
    ("SELECT * FROM t JOIN u ON t.id = u.id WHERE t.id IN (4, 2)", Bounds(2, 4)),
    ("SELECT * FROM u LEFT JOIN t ON t.id = u.id WHERE t.id BETWEEN 1 AND 2", Bounds(1, 2)),
    ("WITH c AS (SELECT id FROM t WHERE id < -3) SELECT count(*) FROM c", Bounds(None, -3)),
    ("SELECT * FROM u WHERE v IN (SELECT id FROM t WHERE 7 <= id)", Bounds(7, None)),
    ("SELECT id FROM t WHERE id = 1 UNION ALL SELECT id FROM u WHERE id = 2", Bounds(1, 1)),
    ("SELECT * FROM t JOIN u ON t.v = u.v WHERE id = 5", None),
    ("SELECT * FROM t, LATERAL explode(v) AS e(id) WHERE id = 5", None),
    ("SELECT * FROM t WHERE id = 5 OR v = 1", None),
    ("SELECT * FROM t WHERE NOT id = 5", None),
    ("SELECT * FROM t WHERE id = 5 IS NULL", None),
    ("SELECT * FROM t WHERE coalesce(id, 5) = 5", None),
    ("SELECT * FROM t WHERE id = '5'", None),
    ("SELECT * FROM t x(v, id) WHERE id = 5", None),
    ("SELECT * FROM t TABLESAMPLE (10 ROWS) WHERE id = 5", None),
    ("SELECT * FROM (SELECT * FROM t) WHERE id = 5", None),
    ("SELECT * FROM t a JOIN t b ON a.id = b.v WHERE a.id = 5", None),
    ("SELECT * FROM t ORDER BY id", None),
    ("SELECT * FROM t WHERE", None),
]


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_a_query_says_where_the_key_of_a_table_lies_if_it_says_so_plainly(text: str, expected: Bounds | None) -> None:
    found = table_filters(text, frozenset(("t", "u"))).get("t", ())
    assert key_bounds(found, {"n": 9}, SCHEMA) == expected
