"""Spark's grammar without Spark: what is taken, what is refused, and what the writer of a text is told."""

from __future__ import annotations

from typing import Any

import pytest

import anabranch as ab
from anabranch.engines.choice import Engines
from anabranch.errors import InvalidRequest
from anabranch.plan.engine import EngineSetting
from anabranch.proven.expression import Expression
from anabranch.sql.grammar.rules import Facts, read_rules
from anabranch.sql.grammar.syntax import check_syntax, is_syntax, reads_plainly
from anabranch.sql.grammar.tokens import tokenize
from anabranch.sql.parse import parse_script
from tests.sql.grammar.texts import EXPRESSIONS_REFUSED, EXPRESSIONS_TAKEN, ODD, REFUSED, TAKEN, TRAPS


@pytest.mark.parametrize("text", [*TAKEN, *ODD])
def test_what_spark_takes_is_taken(text: str) -> None:
    check_syntax(text, tokenize(text), "query")


@pytest.mark.parametrize("text", [*REFUSED, *TRAPS])
def test_what_spark_refuses_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest, match="line 1, column"):
        check_syntax(text, tokenize(text), "query")


AS_OF = "Spark says VERSION AS OF 'main', or TIMESTAMP AS OF '2026-11-02'"
MATCHED = "Spark says MERGE INTO t USING … ON … WHEN MATCHED THEN UPDATE SET …"
UPSERT, UPDATE = f"{MATCHED} WHEN NOT MATCHED THEN INSERT …", f"for values of another table, {MATCHED}"
TOLD = [
    ("select a, from t", 11, "found 'from', expected a value", "leave the comma before it out"),
    ("select * from t,", 17, "the text ends, expected a name", "leave the comma before it out"),
    ("select * from t order by id desc,", 34, "the text ends, expected a value", "leave the comma before it out"),
    ("select a from t group by", 25, "the text ends, expected a value", None),
    ("select * exclude (a) from t", 18, "found '('", "Spark says * EXCEPT (…)"),
    ('select a "x" from t', 10, "found '\"x\"'", "double quotes make a text in Spark; a name is written `x`"),
    ("select * form t", 10, "found 'form'", "did you mean FROM?"),
    ("select * from t wher a = 1", 17, "found 'wher'", "did you mean WHERE?"),
    ("select distinct on (a) b from t", 17, "found 'on', expected a value", None),
    ("select [1, 2]", 8, "found '[', expected a value", "write array(…)"),
    ("select 2 ** 3", 13, "found '3'", "write power(a, b)"),
    ("select 5 // 2", 11, "found '/', expected a value", "write a DIV b"),
    ("select top 5 * from t", 12, "found '5'", "Spark says LIMIT 5 at the end"),
    ("select a from t fetch first 5 rows only", 23, "found 'first'", "Spark says LIMIT 5 at the end"),
    ("select a from t order by a fetch next 5 rows only", 28, "found 'fetch'", "Spark says LIMIT 5 at the end"),
    ("select a from t offset 2 rows", 26, "found 'rows'", "Spark says OFFSET 2, and LIMIT before it"),
    ("select * from t as of 'main'", 23, "found \"'main'\"", AS_OF),
    ("insert into t values (1) on conflict do nothing", 26, "found 'on'", UPSERT),
    ("insert into t values (1) on duplicate key update a = 1", 26, "found 'on'", UPSERT),
    ("update t set a = u.a from u where u.id = t.id", 22, "found 'from'", UPDATE),
]


@pytest.mark.parametrize(("text", "column", "problem", "hint"), TOLD)
def test_the_writer_is_told_the_place_and_what_to_do(text: str, column: int, problem: str, hint: str | None) -> None:
    with pytest.raises(InvalidRequest) as refused:
        parse_script(text)
    told = refused.value
    assert told.message == f"SQL, line 1, column {column}: {problem}\n  {text}\n  {' ' * (column - 1)}^"
    assert (told.hint, told.facts["line"], told.facts["column"]) == (hint, 1, column)


STATEMENTS = [
    "insert into t select a, from u",
    "insert into t values (1, 2),",
    "insert into t (a, b) values (1, [2])",
    "with x as (select a, from u) insert into t select * from x",
    "update t set a = b ** 2",
    "update t set a = 1 where b = ",
    "update t set a = (select max(b), from u)",
    "delete from t where a = 1,",
    "merge into t using u on t.a == u.a, when matched then delete",
    "merge into t using u x y on true when matched then delete",
    "merge into t using (select a, from u) x on true when matched then delete",
    "merge into t using u on true when matched and {1} then delete",
    "merge into t using u on true when not matched then insert (a) values (1 2)",
    "create table t as select a, from u",
    "create table t (a int default [1])",
    "create table t (a int, check (a > ))",
    "alter table t alter column a set default 1,",
    "alter table t add constraint c check (a >> )",
    "explain select a, from t",
]


@pytest.mark.parametrize("text", STATEMENTS)
def test_what_stands_inside_a_statement_is_held_to_the_grammar_too(text: str) -> None:
    with pytest.raises(InvalidRequest, match="line 1, column"):
        parse_script(text)


def test_the_place_is_one_of_the_whole_script_and_nothing_of_it_runs(repo: ab.Repository) -> None:
    repo.sql("create table t (a int)")
    with pytest.raises(InvalidRequest) as refused:
        repo.sql("insert into t values (1);\n\nselect a,\n  b, from t version as of 'main~1'")
    assert (refused.value.facts["line"], refused.value.facts["column"]) == (4, 6)
    assert refused.value.message.endswith("\n    b, from t version as of 'main~1'\n       ^")
    assert repo.sql("select count(*) as n from t").rows() == [{"n": 0}]


OURS = [
    "select * from t version as of main~2, ana.diff('t', 'a', 'b') d, u@dev, v@v'main~1' w, {frame} f",
    "select * from t changes from version 'a' to version main where _change_type = 'insert'",
    "select * from identifier(:t) timestamp as of now() - interval 1 day x",
    "merge into t using u version as of dev as s on t.a = s.a when matched then update set *",
    "update t set a = (select max(b) from u for version as of 'x')",
    "insert into t values (1, default)",
]


@pytest.mark.parametrize("text", OURS)
def test_what_we_add_to_the_language_is_taken(text: str) -> None:
    parse_script(text)


@pytest.mark.parametrize("text", EXPRESSIONS_TAKEN)
def test_expressions_that_spark_takes_are_taken(text: str) -> None:
    assert Expression.of(text, {}, "where=").text == text


@pytest.mark.parametrize("text", EXPRESSIONS_REFUSED)
def test_expressions_that_spark_refuses_are_refused(text: str) -> None:
    with pytest.raises(InvalidRequest, match=r"^where="):
        Expression.of(text, {}, "where=")


def test_an_expression_s_error_says_what_it_is_of() -> None:
    with pytest.raises(InvalidRequest) as refused:
        Expression.of("a + [1]", {}, "update of 't': value of 'a'")
    assert refused.value.message == "update of 't': value of 'a', line 1, column 5: found '[', expected a value\n" + (
        "  a + [1]\n      ^"
    )


@pytest.mark.parametrize("engine", ["auto", "duck", "spark"])
def test_a_syntax_error_is_told_without_spark(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch, engine: EngineSetting
) -> None:
    monkeypatch.setattr(Engines, "spark", lambda self: pytest.fail("Spark was asked"))
    store = ab.init(tmp_path, engine=engine)
    store.sql("create table t (a int)")
    for text in ("select * form t", "select a, from t", "insert into t select 1,", "select a from t group by"):
        with pytest.raises(InvalidRequest, match="SQL, line 1, column"):
            store.sql(text)
    with pytest.raises(InvalidRequest, match="where=, line 1, column 5"), store.commit("main", "none") as tx:
        tx.table("t").delete(where="a = [1]")
    store.close()


def test_a_word_such_as_from_as_a_name_is_taken_but_not_read_plainly() -> None:
    for text, plainly in [("select from from from", False), ("select a from t", True), ("select a as then", True)]:
        assert is_syntax(tokenize(text), "query")
        assert reads_plainly(tokenize(text), "query") is plainly


@pytest.mark.long
def test_many_rows_are_read_as_few_and_an_error_among_them_is_found() -> None:
    rows = ", ".join(f"({n}, 'x', -1.5, null, date '2020-01-01')" for n in range(5_000))
    check_syntax(rows, tokenize(f"values {rows}"), "query")
    text = f"values {rows}, (1, 2 3), {rows}"
    with pytest.raises(InvalidRequest) as refused:
        check_syntax(text, tokenize(text), "query")
    assert text[refused.value.facts["column"] - 1 :].startswith("3), ")


def test_brackets_deeper_than_can_be_followed_are_left_to_spark() -> None:
    assert is_syntax(tokenize("select " + "(" * 300 + "1" + ")" * 300), "query")


def test_rules_know_how_they_begin_and_what_follows_them() -> None:
    facts = Facts(read_rules("whole : part# END?\npart : WORD? <name> |\n    '(' whole ')'"), ("whole",))
    assert facts.firsts(facts.rules["whole"]) == {"WORD", "<name>", "("}
    assert facts.after == {"whole": {"<end>", ")"}, "part": {",", "END", "<end>", ")"}}
