"""What DuckDB is allowed to compute, it computes as Spark does: every row of the table, over values at the edges."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from anabranch.engines.duck import DuckEngine
from anabranch.engines.spark import SparkEngine
from anabranch.errors import InvalidRequest
from anabranch.model.schema import Column, parse_columns
from anabranch.model.types import DataType
from anabranch.proven.expression import Expression, Unproven
from anabranch.proven.table.types import assignable
from anabranch.proven.table.whole import CAST_ROWS, FAMILIES, names_proven
from anabranch.queries.query import Files, Rows, cast_to
from tests.proven.comparing import Case, case_of, differences, fine_rows, masked_rows, query_of, silent, values_of
from tests.proven.edges import SCHEMA, edge_rows
from tests.proven.expressions_page import PAGE, page
from tests.proven.proof_cases import ALL, ARGS

BATCH = 60
ROWS_THAT_FAIL = 1
ERRORS = [
    *("i + 2147483647", "i * 2147483647", "-i - 2147483647 - 2", "big - 9223372036854775807", "big * 4", "t + t2"),
    *(
        "i / 0",
        "x / 0",
        "d / 0",
        "i % 0",
        "i div 0",
        "mod(x, 0)",
        "cast(s AS int)",
        "cast(i AS tinyint)",
        "cast(x AS int)",
    ),
    *("-(-2147483648)", "-cast(-128 AS tinyint)", "negative(-9223372036854775808)"),
    *("i + 1 > 0", "-i <> 1", "i * 2 = 4", "cast(i + 1 AS bigint) > 5", "i + 1 IS NULL", "nvl2(i + 1, 1, 2)"),
    "cast(date_add(day, 2000000000) AS timestamp_ntz)",
    *("cast(s AS boolean)", "cast(s AS date)", "cast(d AS decimal(4,2))", "abs(t)", "make_date(2023, 2, 29)"),
]
UNPROVEN = [
    *(
        "upper(s)",
        "lower(s)",
        "initcap(s)",
        "s ILIKE 'a'",
        "s RLIKE 'a'",
        "s LIKE :text",
        "s LIKE 'a\\\\_'",
    ),
    *(
        "s = 1",
        "cast(s AS double)",
        "cast(x AS string)",
        "cast(x AS decimal(10,2))",
        "cast(s AS timestamp)",
        "length(i)",
    ),
    *("sin(x)", "round(x, 2)", "base64(bin)", "levenshtein(s, s2)", "soundex(s)"),
    *(
        "current_timestamp()",
        "current_date",
        "now()",
        "rand() > 0.5",
        "uuid()",
        "hour(ts)",
        "year(ts)",
        "cast(ts AS date)",
    ),
    *(
        "date_trunc('DAY', ntz)",
        "ts > '2020-01-01'",
        "ts > TIMESTAMP'2020-01-01 00:00:00'",
        "ts + INTERVAL 1 DAY",
        "day - day2",
    ),
    *(
        "wide * wide",
        "wide / wide",
        "x IN (SELECT 1)",
        "nope = 1",
        "i = i2 = b",
        "i & 1 | 2",
        "sum(i)",
        "count(*)",
    ),
    *(
        "i IN (1, i2 + 1)",
        "upper(s) FILTER (WHERE b)",
        "sum(i) OVER ()",
        "s COLLATE utf8_lcase = 'a'",
        "array(1)[0]",
        "trim('a' FROM s)",
    ),
    *("CASE WHEN NULL THEN i END", "CASE WHEN b THEN 1 WHEN nullif(NULL, b) THEN 2 END", "if(NULL, i, i2)"),
    *("nvl(i)", "ifnull(s)", "nvl(i, i2, n)", "ifnull(NULL, s, s2)"),
    *("concat()", "concat_ws(',')", "greatest(i)", "least(s)", "greatest()"),
    *("ts = TIMESTAMP'2024-01-01 24:00:00Z'", "ts = TIMESTAMP'2024-01-01 00:00:00+18:01'"),
    *("try_cast('2024-01-01 00:00:00+19:00' AS timestamp)", "ntz = TIMESTAMP_NTZ'2024-01-01 23:59:60'"),
    *("try_cast('2023-02-29 00:00:00' AS timestamp_ntz)", "try_cast('2024-13-01' AS date)"),
    *("cast(i AS float)", "double(float(big))", "cast('epoch' AS date)", "day = DATE'today'", "to_date(' Tomorrow ')"),
    *("id < 0 AND 1 / 0 > 1", "id >= 0 OR cast('a' AS int) = 1", "coalesce(id, cast('a' AS int), 3)"),
    *("CASE WHEN b THEN 1 WHEN 1 / :n3 > 1 THEN 2 END", "CASE 1 WHEN 1 div 0 THEN 2 END"),
    *("+ NULL", "+ s", "coalesce(i, + NULL)"),
    *("cast(:word AS date)", "to_date(:word)", "date((:word))", "cast(concat('to', 'day') AS date)"),
    *("abs(cast(d AS decimal(35,2)))", "-cast(d AS decimal(38,2))"),
    *("cast(cast(d AS decimal(38,20)) AS int)", "tinyint(cast(d2 AS decimal(16,7)))"),
    *("try_add(i, 1) + i2", "try_add(if(b, i + 1, i2), i2)", "try_multiply(i, i2) * 2", "try_multiply(t, t2 * 0Y)"),
    "s = 'a' -- \\",
    *("encode(s, 'utf8')", "decode(bin, 'UTF8')"),
]
ASSIGNED = [
    *(
        ("i", "bigint"),
        ("big", "bigint"),
        ("t", "decimal(12,2)"),
        ("d2 * 1.1", "decimal(12,2)"),
        ("d2 * 0.005", "decimal(12,2)"),
    ),
    *(("i", "double"), ("f", "double"), ("i", "decimal(10,0)"), ("NULL", "date")),
]


@pytest.fixture(scope="module")
def duck() -> DuckEngine:
    return DuckEngine(122_880)


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    return [case_of(text) for text in ALL]


@pytest.fixture(scope="module")
def fine(cases: list[Case]) -> list[list[bool]]:
    """In which rows each case does not fail on DuckDB."""
    careful = DuckEngine(122_880)
    # Else what two cases share is computed ahead of both, and TRY does not catch it.
    careful._cursor().execute("SET disabled_optimizers = 'common_subexpressions'")
    return [good for n in range(0, len(cases), BATCH) for good in fine_rows(careful, cases[n : n + BATCH])]


@pytest.mark.proof
@pytest.mark.parametrize("start", range(0, len(ALL), BATCH))
def test_proven_expressions_give_the_same_on_both_engines(
    duck: DuckEngine, spark: Any, cases: list[Case], fine: list[list[bool]], tmp_path: Path, start: int
) -> None:
    batch, good = cases[start : start + BATCH], fine[start : start + BATCH]
    rows = masked_rows(good)
    pq.write_table(rows, tmp_path / "edges.parquet")  # over rows in memory, Spark would not generate code
    masks = [(n, DataType("boolean")) for n in rows.column_names if n.startswith("fine")]
    files = Files((str(tmp_path / "edges.parquet"),), (*((c.name, c.type) for c in SCHEMA), *masks))
    found = values_of(duck, batch, good, Rows(rows))
    expected = values_of(SparkEngine(spark), batch, good, files)
    wrong = list(differences(batch, found, expected))
    assert not wrong, "\n" + "\n".join(wrong)


@pytest.mark.proof
def test_what_fails_on_duckdb_fails_on_spark(spark: Any, cases: list[Case], fine: list[list[bool]]) -> None:
    engine = SparkEngine(spark)
    wrong = [w for c, good in zip(cases, fine, strict=True) for w in silent(engine, c, good, ROWS_THAT_FAIL)]
    assert not wrong, "\n" + "\n".join(wrong)


@pytest.mark.proof
@pytest.mark.parametrize("text", ERRORS)
def test_what_does_not_fit_fails_on_both_engines(duck: DuckEngine, spark: Any, text: str) -> None:
    case, rows = case_of(text), Rows(edge_rows())
    with pytest.raises(InvalidRequest, match="does not fit"):
        duck.fetch(query_of({"e": case.duck}, rows, {}))
    with pytest.raises(InvalidRequest, match="does not fit"):
        SparkEngine(spark).fetch(query_of({"e": case.expression.for_spark()}, rows, {}))


def test_every_row_of_the_table_is_tested(cases: list[Case]) -> None:
    tested = {n.meta["proof"] for c in cases for n in c.duck.walk() if "proof" in n.meta}
    rows = {row.key for family in FAMILIES.values() for row in family} | {row.key for row in CAST_ROWS.values()}
    assert sorted(rows - tested) == []


def test_at_least_150_functions_operators_and_casts_are_proven() -> None:
    assert len(names_proven()) >= 150


def test_the_page_shows_the_table() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run python -m tests.proven.expressions_page"


def test_assigned_values_are_cast_alike(duck: DuckEngine, spark: Any) -> None:
    targets: list[Column] = list(parse_columns({f"c{n}": target for n, (_, target) in enumerate(ASSIGNED)}))
    made = [case_of(text) for text, _ in ASSIGNED]
    assert all(assignable(case.type, column.type) for case, column in zip(made, targets, strict=True))
    ours = {c.name: cast_to(case.duck, c.type) for case, c in zip(made, targets, strict=True)}
    theirs = {c.name: cast_to(case.expression.for_spark(), c.type) for case, c in zip(made, targets, strict=True)}
    rows = Rows(edge_rows())
    found, expected = (e.fetch(query_of(q, rows, {})) for e, q in ((duck, ours), (SparkEngine(spark), theirs)))
    assert not list(differences(made, found, expected, typed=False))


NESTED = [
    ("array()", "array<string>"),
    ("array(null)", "array<int>"),
    ("array(s, s2, null)", "array<string>"),
    ("array(i, length(s), i2)", "array<bigint>"),
    ("array(array(i), array(), null)", "array<array<int>>"),
    ("array(x, x2)", "array<double>"),
    ("array(d, d)", "array<decimal(20,4)>"),
    ("map('a', ts, 'b', null)", "map<string,timestamp>"),
    ("map(1, s, 2, s2)", "map<bigint,string>"),
    ("map()", "map<string,array<int>>"),
    ("named_struct('a b', day, 'n', null, 'l', array(bin))", "struct<`a b`:date,n:int,l:array<binary>>"),
    ("array(named_struct('k', f, 'v', null), named_struct('k', null, 'v', b))", "array<struct<k:double,v:boolean>>"),
]


def test_nested_values_that_are_written_out_are_made_alike(duck: DuckEngine, spark: Any) -> None:
    targets = list(parse_columns({f"c{n}": target for n, (_, target) in enumerate(NESTED)}))
    made = [case_of(text) for text, _ in NESTED]
    assert [c.text for c, to in zip(made, targets, strict=True) if not assignable(c.type, to.type)] == []
    ours = {c.name: cast_to(case.duck, c.type) for case, c in zip(made, targets, strict=True)}
    theirs = {c.name: cast_to(case.expression.for_spark(), c.type) for case, c in zip(made, targets, strict=True)}
    rows = Rows(edge_rows())
    found, expected = (e.fetch(query_of(q, rows, {})) for e, q in ((duck, ours), (SparkEngine(spark), theirs)))
    for name in ours:
        assert str(found[name].to_pylist()) == str(expected[name].to_pylist()), name


@pytest.mark.parametrize(
    "text",
    [
        "array(1, 2.5)",
        "array('a', 1)",
        "map(s, 1)",
        "map('a', 1, 'a', 2)",
        "map(1.5, 1)",
        "size(array(1))",
        "array(1)[0]",
    ],
)
def test_nested_values_that_need_more_than_writing_out_are_left_to_spark(text: str) -> None:
    with pytest.raises(Unproven):
        case_of(text)


@pytest.mark.parametrize("text", UNPROVEN)
def test_what_is_not_proven_is_left_to_spark(text: str) -> None:
    with pytest.raises(Unproven):
        Expression.of(text, ARGS, "test").for_duck(SCHEMA)


def test_deep_nesting_does_not_grow_without_end() -> None:
    with pytest.raises(Unproven, match="deeply nested"):
        case_of("substring(" * 12 + "s" + ", n, 2)" * 12)


def test_the_name_of_an_unproven_function_is_told() -> None:
    with pytest.raises(Unproven, match=r"^SOUNDEX$"):
        case_of("soundex(s)")
    with pytest.raises(Unproven, match=r"^LENGTH of int$"):
        case_of("length(i)")


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("id = 7", ([7], True)),
        ("id IN (1, 2, 1)", ([1, 2], True)),
        ("id IN (1, 2, 1) AND s = 'x'", ([1, 2], False)),
        ("s = 'x' AND id = :n3", ([3], False)),
        ("id = 7 OR id = 8", None),
        ("id > 7", None),
        ("NOT id = 7", None),
        ("id = 1.5", None),
        ("id IN (1, NULL)", None),
        ("i = 7", None),
    ],
)
def test_a_condition_tells_its_keys_where_it_names_them(text: str, keys: tuple[list[int], bool] | None) -> None:
    assert Expression.of(text, ARGS, "test").key_values(SCHEMA) == keys


def test_a_unit_of_time_is_not_taken_for_a_column() -> None:
    Expression.of("timestampadd(MONTH, 1, ts) > ts", {}, "test").refuse_unknown_names(SCHEMA)
