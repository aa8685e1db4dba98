"""What DuckDB is allowed to compute, it computes as Spark does: every proven node, over values at the edges."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from anabranch.engines.duck import DuckEngine
from anabranch.engines.spark import SparkEngine
from anabranch.errors import InvalidRequest
from anabranch.model.schema import Column, make_schema, parse_columns
from anabranch.objects.arrow import arrow_type
from anabranch.queries.expressions import Expression, Unproven
from anabranch.queries.proof import assignable
from anabranch.queries.query import Query, Rows, Sources, aliased, cast_to, select, table

SCHEMA = make_schema(
    parse_columns(
        {
            "id": "int",
            "t": "tinyint",
            "i": "int",
            "big": "bigint",
            "d": "decimal(12,2)",
            "wide": "decimal(20,4)",
            "f": "float",
            "x": "double",
            "s": "string",
            "b": "boolean",
            "day": "date",
            "ts": "timestamp",
            "ntz": "timestamp_ntz",
            "bin": "binary",
        }
    ),
    ["id"],
)
MOMENT = dt.datetime(2026, 3, 29, 1, 30, tzinfo=dt.UTC)
VALUES: list[tuple[Any, ...]] = [
    (
        1,
        1,
        1,
        1,
        Decimal("1.00"),
        Decimal("1.0000"),
        1.5,
        1.5,
        "a",
        True,
        dt.date(2026, 1, 1),
        MOMENT,
        dt.datetime(2026, 1, 1),
        b"a",
    ),
    (
        2,
        -5,
        -7,
        2**40,
        Decimal("-12.35"),
        Decimal("0.0001"),
        -0.0,
        float("nan"),
        "A",
        False,
        dt.date(1, 1, 1),
        MOMENT.replace(year=1),
        dt.datetime(1, 1, 1),
        b"",
    ),
    (
        3,
        127,
        2**23,
        -(2**62),
        Decimal("9999999.99"),
        Decimal("-3.5"),
        float("inf"),
        -0.0,
        "äb%_",
        None,
        dt.date(9999, 12, 31),
        MOMENT.replace(year=9999),
        dt.datetime(9999, 12, 31),
        b"\xff",
    ),
    (4, *[None] * 13),
    (
        5,
        0,
        0,
        0,
        Decimal("0.00"),
        Decimal("0.0000"),
        0.0,
        0.0,
        "",
        True,
        dt.date(1970, 1, 1),
        dt.datetime(1970, 1, 1, tzinfo=dt.UTC),
        dt.datetime(1970, 1, 1),
        b"\x00",
    ),
]
PROVEN = [
    "i = 1",
    "i <> 1",
    "i < t",
    "i >= big",
    "big > 2147483648",
    "i <=> NULL",
    "i IS DISTINCT FROM t",
    "d = 1",
    "d > i",
    "d <= 1.005",
    "wide > d",
    "x > f",
    "x = x",
    "f = f",
    "x < i",
    "s = 'a'",
    "s < 'b'",
    "s > ''",
    "b",
    "NOT b",
    "b AND i > 0",
    "b OR i > 0",
    "b = true",
    "day > DATE'2000-01-01'",
    "day <= DATE'9999-12-31'",
    "ts = TIMESTAMP'2026-03-29 01:30:00Z'",
    "ts > TIMESTAMP'1969-12-31T23:59:59.999999+00:00'",
    "ntz = TIMESTAMP_NTZ'1970-01-01 00:00:00'",
    "bin = bin",
    "i IS NULL",
    "s IS NOT NULL",
    "i IN (1, 0, NULL)",
    "s IN ('a', 'A')",
    "i NOT IN (1, 2)",
    "d IN (1, 2.5)",
    "i BETWEEN -7 AND 1",
    "day BETWEEN DATE'1969-01-01' AND DATE'2026-01-01'",
    "s LIKE 'a%'",
    "s LIKE '_b%'",
    "s NOT LIKE '%a%'",
    "coalesce(i, t, 9)",
    "coalesce(d, i)",
    "coalesce(s, 'none')",
    "CASE WHEN i > 0 THEN 'pos' WHEN i < 0 THEN 'neg' END",
    "CASE WHEN b THEN i ELSE big END",
    "CASE WHEN b THEN d ELSE 7 END",
    "s || 'x'",
    "s || s",
    "-i",
    "-d",
    "-x",
    "i + 1",
    "i - t",
    "i * 2",
    "t + 1",
    "t * i",
    "big + i",
    "i + 5000000000",
    "d + 1",
    "d - 0.005",
    "d * 2",
    "d * 1.1",
    "d * d",
    "d + wide",
    "wide * 2",
    "x + x",
    "x * i",
    "f + x",
    "(i + 1) * 2",
    "i + :n",
    "d * :m",
    "s = :s",
    "day = :day",
    "ts = :ts",
    "ntz = :ntz",
    "i > :none",
    "x = :x",
    "bin = :bin",
    "1 = 1",
    "NULL",
    "true",
    "5",
    "1.50",
    "'text'",
    "i = i",
]
ARGS = {
    "n": 3,
    "m": Decimal("1.5"),
    "s": "it's",
    "day": dt.date(1970, 1, 1),
    "ts": MOMENT,
    "ntz": dt.datetime(1970, 1, 1),
    "none": None,
    "x": 1.5,
    "bin": b"a",
}
ERRORS = ["i + 2147483647", "i * 2147483647", "-i - 2147483647 - 2", "big - 9223372036854775807", "big * 4"]
UNPROVEN = [
    "i / 2",
    "i % 2",
    "upper(s)",
    "length(s)",
    "cast(s AS int)",
    "s = 1",
    "d = x",
    "big = x",
    "current_timestamp()",
    "day + 1",
    "ts > '2020-01-01'",
    "ts > TIMESTAMP'2020-01-01 00:00:00'",
    "s LIKE :s",
    "s LIKE 'a\\\\_'",
    "i & 1",
    "f = i",
    "wide * wide",
    "x IN (SELECT 1)",
    "rand() > 0.5",
    "s RLIKE 'a'",
    "1e3",
    "nope = 1",
]
ASSIGNED = [
    ("i", "bigint"),
    ("big", "bigint"),
    ("t", "decimal(12,2)"),
    ("d * 1.1", "decimal(12,2)"),
    ("d * 0.005", "decimal(12,2)"),
    ("i", "double"),
    ("f", "double"),
    ("i", "decimal(10,0)"),
    ("NULL", "date"),
]


def rows() -> Rows:
    columns = zip(*VALUES, strict=True)
    arrays = {c.name: pa.array(list(v), arrow_type(c.type)) for c, v in zip(SCHEMA, columns, strict=True)}
    return Rows(pa.table(arrays))


def query(values: Mapping[str, Any], args: Mapping[str, Any]) -> Query:
    sources = Sources()
    return Query(
        select([aliased(v, k) for k, v in values.items()], table(sources.add(rows()), "t")), sources.named, args
    )


def expression(text: str) -> Expression:
    return Expression.of(text, ARGS, "test")


@pytest.fixture(scope="module")
def duck() -> DuckEngine:
    return DuckEngine(122_880)


def alike(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return (math.isnan(one) and math.isnan(other)) or one == other
    return bool(one == other)


def test_proven_expressions_give_the_same_on_both_engines(duck: DuckEngine, spark: Any) -> None:
    texts = [expression(text) for text in PROVEN]
    proven = {f"e{n}": e.for_duck(SCHEMA)[0] for n, e in enumerate(texts)}
    plain = {f"e{n}": e.for_spark() for n, e in enumerate(texts)}
    args = {k: v for e in texts for k, v in e.args.items()}
    found = duck.fetch(query(proven, args)).to_pydict()
    expected = SparkEngine(spark).fetch(query(plain, args)).to_pydict()
    wrong = [
        f"{text}: row {r + 1}: DuckDB {found[f'e{n}'][r]!r}, Spark {expected[f'e{n}'][r]!r}"
        for n, text in enumerate(PROVEN)
        for r in range(len(VALUES))
        if not alike(found[f"e{n}"][r], expected[f"e{n}"][r])
    ]
    assert not wrong, "\n" + "\n".join(wrong)


def test_assigned_values_are_cast_alike(duck: DuckEngine, spark: Any) -> None:
    targets: list[Column] = list(parse_columns({f"c{n}": target for n, (_, target) in enumerate(ASSIGNED)}))
    texts = [expression(text) for text, _ in ASSIGNED]
    for e, column in zip(texts, targets, strict=True):
        assert assignable(e.for_duck(SCHEMA)[1], column.type)
    ours = {c.name: cast_to(e.for_duck(SCHEMA)[0], c.type) for e, c in zip(texts, targets, strict=True)}
    theirs = {c.name: cast_to(e.for_spark(), c.type) for e, c in zip(texts, targets, strict=True)}
    assert duck.fetch(query(ours, {})).to_pydict() == SparkEngine(spark).fetch(query(theirs, {})).to_pydict()


@pytest.mark.parametrize("text", ERRORS)
def test_overflow_fails_on_both_engines(duck: DuckEngine, spark: Any, text: str) -> None:
    e = expression(text)
    with pytest.raises(InvalidRequest, match="does not fit"):
        duck.fetch(query({"e": e.for_duck(SCHEMA)[0]}, {}))
    with pytest.raises(InvalidRequest, match="does not fit"):
        SparkEngine(spark).fetch(query({"e": e.for_spark()}, {}))


@pytest.mark.parametrize("text", UNPROVEN)
def test_what_is_not_proven_is_left_to_spark(text: str) -> None:
    with pytest.raises(Unproven):
        expression(text).for_duck(SCHEMA)


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("id = 7", ([7], True)),
        ("id IN (1, 2, 1)", ([1, 2], True)),
        ("id IN (1, 2, 1) AND s = 'x'", ([1, 2], False)),
        ("s = 'x' AND id = :n", ([3], False)),
        ("id = 7 OR id = 8", None),
        ("id > 7", None),
        ("NOT id = 7", None),
        ("id = 1.5", None),
        ("id IN (1, NULL)", None),
        ("i = 7", None),
    ],
)
def test_a_condition_tells_its_keys_where_it_names_them(text: str, keys: tuple[list[int], bool] | None) -> None:
    assert expression(text).key_values(SCHEMA) == keys
