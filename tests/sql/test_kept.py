"""What expressions in a catalogue may have: what computes, and nothing that two readers could take differently."""

from __future__ import annotations

import pytest

import anabranch as ab
from anabranch.proven.spark_functions import KEPT, NAMES
from anabranch.sql.kept import problem_in


@pytest.mark.parametrize(
    "text",
    [
        "0",
        "'new (not sent)'",
        "'it''s -- no /* comment */ reflect(1)'",
        "'a\\'b(c)'",
        "r'\\d+(x)'",
        "x'00ff'",
        "current_date",
        "current_timestamp()",
        "upper(trim(BOTH 'x' FROM (name))) = 'A'",
        "qty >= 0 AND (price IS NULL OR price IN (1, 2)) AND NOT (a BETWEEN (1) AND (2))",
        "CASE WHEN (a = 1) THEN (2) ELSE (3) END",
        "code rlike '^[A-Z]\\\\d{3}$'",
        "cast(a AS decimal(10, 2)) > 1.5",
        "try_cast(a AS array<struct<x:int>>) IS NOT NULL",
        "a::varchar(3) LIKE ANY ('a%', 'b%')",
        "exists(items, x -> x.qty > 0)",
        "aggregate(a, 0, (acc, x) -> acc + x) <=> 1",
        "map('a', 1)['a'] + m[0]",
        "cast(m AS map<string, int>)['a']",
        "extract(YEAR FROM d) > 2000 AND a IS DISTINCT FROM b",
        "timestampadd(DAY, 1, d) < interval '1' day + d",
        "`values`.`select` > `from`",
        "v:a.b::int = 1",
        "greatest(ours, theirs) % 7",
        "uuid()",
    ],
)
def test_what_computes_a_value_is_kept(text: str) -> None:
    assert problem_in(text, KEPT) is None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("reflect('java.lang.Runtime', 'x')", "reflect"),
        ("REFLECT ('java.lang.Runtime', 'x')", "reflect"),
        ("1 + (2 * try_reflect('a', 'b'))", "try_reflect"),
        ("java_method\n('a', 'b')", "java_method"),
        ("`reflect`('a', 'b')", "`reflect`"),
        ("\"reflect\"('a', 'b')", "reflect"),
        ("system.builtin.reflect('a', 'b')", "reflect"),
        ("system . builtin . abs(1)", "abs"),
        ("identifier('re' || 'flect')('a', 'b')", "identifier"),
        ("abs(1)(2)", "call of a result"),
        ("my_function(1)", "my_function"),
        ("default.my_function(1)", "my_function"),
        ("(SELECT 1)", "SELECT"),
        ("1 IN (SELECT a FROM t)", "SELECT"),
        ("(VALUES (1))", "VALUES"),
        ("(TABLE t)", "TABLE"),
        ("(FROM t)", "FROM"),
        ("FROM t", "FROM"),
        ("(WITH a AS (TABLE t) TABLE a)", "WITH"),
        ("(MAP a USING 'touch owned' FROM t)", "MAP"),
        ("(FROM t REDUCE a USING 'x')", "FROM"),
        ("explode(a)", "explode"),
        ("from_xml(a, b, map('rowValidationXSDPath', '/etc/passwd'))", "from_xml"),
        ("from_protobuf(a, 'm', '/etc/passwd')", "from_protobuf"),
        ("'${env:HOME}'", "environment"),
        ("${system:user.name}", "environment"),
        ("1 -- one\r + reflect('a', 'b')", "comment"),
        ("1 /* one */", "comment"),
        ("/* one */ 1", "comment"),
        ("1 /*+ one */ + 2", "comment"),
        ("x'\\' || 'reflect(1)'", "hexadecimal"),
        ("$$ ' $$ || reflect(1) || $$ ' $$", "$"),
        ("1; DROP TABLE t", ";"),
        (":x", ":x"),
        ("{x}", "{x}"),
        ("a |> b", "|>"),
        ("@x", "@"),
        ("?", "?"),
    ],
)
def test_what_could_do_more_than_compute_is_not_kept(text: str, told: str) -> None:
    assert told in str(problem_in(text, KEPT))


def test_what_is_never_closed_is_refused() -> None:
    with pytest.raises(ab.InvalidRequest):
        problem_in("'a", KEPT)


def test_the_list_has_nothing_that_runs_code_or_reads_files() -> None:
    assert KEPT < NAMES
    assert not {name for name in KEPT if "reflect" in name or "java" in name or name.startswith(("input_", "xpath"))}
