"""Statements: what each form says, and what is told of those that can't be read."""

# ruff: noqa: E501 -- a statement and what it says are read side by side

from __future__ import annotations

import pytest

import anabranch as ab
from anabranch.sql import statements as s
from anabranch.sql import version_statements as v
from anabranch.sql.parse import parse_one, parse_script

COLUMNS = (
    s.ColumnText("id", "bigint", nullable=False),
    s.ColumnText("p", "decimal(12,2)", nullable=False, default="0"),
    s.ColumnText("m", "map<string,array<struct<a:int,b:int>>>"),
)
CASES: list[tuple[str, s.SqlStatement]] = [
    ("insert into t values (1, ';')", s.Insert("t", "values (1, ';')")),
    ("insert into table a.t (x, `y z`) select 1, 2", s.Insert("a.t", "select 1, 2", ("x", "y z"))),
    ("insert into t by name select 1 a", s.Insert("t", "select 1 a", by_name=True)),
    ("insert overwrite t (select 1)", s.Insert("t", "(select 1)", overwrite=True)),
    ("insert into t table u", s.Insert("t", "table u")),
    ("with x as (select 1) insert into t select * from x", s.Insert("t", "select * from x", defined="with x as (select 1) ")),
    ("with x as (select 1), y (a, b) as (select 1, 2) update t set a = b", s.Update("t", None, (("a", "b"),), defined="with x as (select 1), y (a, b) as (select 1, 2) ")),
    ("with recursive x max recursion level 9 as (select 1) delete from t", s.Delete("t", defined="with recursive x max recursion level 9 as (select 1) ")),
    ("with x (select 1) merge into t using x on true when matched then delete", s.MergeInto("t", None, "x", None, "true", (s.MergeClause("matched", None, "delete"),), defined="with x (select 1) ")),
    ("with update as (select 1), delete as (select 2) select * from update", s.SqlQuery()),
    ("with recursive as (select 1) select * from recursive", s.SqlQuery()),
    ("update t set a = b, t.c = case when 'where' then 1 end where x", s.Update("t", None, (("a", "b"), ("c", "case when 'where' then 1 end")), "x")),
    ("update a.t as x set a = f(1, 2)", s.Update("a.t", "x", (("a", "f(1, 2)"),))),
    ("delete from t where a in (select 1)", s.Delete("t", None, "a in (select 1)")),
    ("delete from t x", s.Delete("t", "x")),
    ("truncate table t", s.Truncate("t")),
    (
        "merge into t using s on t.id = s.id when matched and s.x then delete when matched then update set * when not matched then insert * when not matched by source then update set a = case when 1 then 2 end, b = 3",
        s.MergeInto("t", None, "s", None, "t.id = s.id", (
            s.MergeClause("matched", "s.x", "delete"),
            s.MergeClause("matched", None, "update"),
            s.MergeClause("not matched", None, "insert"),
            s.MergeClause("not matched by source", None, "update", (("a", "case when 1 then 2 end"), ("b", "3"))),
        )),
    ),
    ("merge into t x using (select 1) as y on true when not matched by target then insert (a, b) values (1, f(2, 3))", s.MergeInto("t", "x", "(select 1)", "y", "true", (s.MergeClause("not matched", None, "insert", (("a", "1"), ("b", "f(2, 3)"))),))),
    ("merge into t using s version as of 'v1' q on true when matched then delete", s.MergeInto("t", None, "s version as of 'v1'", "q", "true", (s.MergeClause("matched", None, "delete"),))),
    ("merge into t using {df} on true when matched then delete", s.MergeInto("t", None, "{df}", None, "true", (s.MergeClause("matched", None, "delete"),))),
    ("create table t (id bigint not null, p decimal(12,2) default 0 not null, m map<string,array<struct<a:int,b:int>>>, primary key (id), constraint c check (p >= 0), check (id > 0)) using parquet tblproperties ('a' = 'b', c.d = 3) comment 'x' cluster by (p)", s.CreateTable("t", COLUMNS, ("id",), (("c", "p >= 0"), ("check_2", "id > 0")), (("a", "b"), ("c.d", "3"), ("comment", "x")), ("p",))),
    ("create table if not exists t (a int primary key)", s.CreateTable("t", (s.ColumnText("a", "int"),), ("a",), if_not_exists=True)),
    ("create or replace table t as select 1 a", s.CreateTable("t", query="select 1 a", replace=True)),
    ("create table t as with x as (select 1) select * from x", s.CreateTable("t", query="with x as (select 1) select * from x")),
    ("create table t (a int comment 'it''s' not null)", s.CreateTable("t", (s.ColumnText("a", "int", nullable=False, comment="it's"),))),
    ("alter table t alter column a comment 'x'", s.AlterTable("t", s.AlterColumn("a", comment="x"))),
    ("comment on table a.t is 'x'", s.AlterTable("a.t", s.SetComment("x"))),
    ("comment on table t is null", s.AlterTable("t", s.SetComment(None))),
    ("comment on column a.t.c is 'x'", s.AlterTable("a.t", s.AlterColumn("c", comment="x"))),
    ("comment on column t.c is null", s.AlterTable("t", s.AlterColumn("c", comment=""))),
    ("comment on schema x is 'y'", s.AlterNamespace("x", s.SetComment("y"))),
    ("drop table if exists a.t", s.DropTable("a.t", if_exists=True)),
    ("alter table t add column x int default 3", s.AlterTable("t", s.AddColumns((s.ColumnText("x", "int", default="3"),)))),
    ("alter table t add columns (x int, y string not null default 'a')", s.AlterTable("t", s.AddColumns((s.ColumnText("x", "int"), s.ColumnText("y", "string", nullable=False, default="'a'"))))),
    ("alter table t drop column if exists x, y", s.AlterTable("t", s.DropColumns(("x", "y"), if_exists=True))),
    ("alter table t rename column a to b", s.AlterTable("t", s.RenameColumn("a", "b"))),
    ("alter table t rename to a.u", s.AlterTable("t", s.RenameTable("a.u"))),
    ("alter table t alter column a type bigint", s.AlterTable("t", s.AlterColumn("a", type="bigint"))),
    ("alter table t alter a set data type array<int>", s.AlterTable("t", s.AlterColumn("a", type="array<int>"))),
    ("alter table t alter column a set not null", s.AlterTable("t", s.AlterColumn("a", nullable=False))),
    ("alter table t alter column a drop not null", s.AlterTable("t", s.AlterColumn("a", nullable=True))),
    ("alter table t alter column a set default 1 + 2", s.AlterTable("t", s.AlterColumn("a", default="1 + 2"))),
    ("alter table t alter column a drop default", s.AlterTable("t", s.AlterColumn("a", drop_default=True))),
    ("alter table t add constraint c check (a > (1))", s.AlterTable("t", s.AddCheck("c", "a > (1)"))),
    ("alter table t drop constraint if exists c", s.AlterTable("t", s.DropCheck("c", if_exists=True))),
    ("alter table t add primary key (a, b)", s.AlterTable("t", s.SetKey(("a", "b")))),
    ("alter table t drop primary key", s.AlterTable("t", s.SetKey(()))),
    ("alter table t set tblproperties ('a' = 'b')", s.AlterTable("t", s.SetProperties((("a", "b"),)))),
    ("alter table t unset tblproperties if exists ('a', 'b')", s.AlterTable("t", s.UnsetProperties(("a", "b")))),
    ("alter table t cluster by (a, b)", s.AlterTable("t", s.ClusterBy(("a", "b")))),
    ("alter table t cluster by none", s.AlterTable("t", s.ClusterBy(()))),
    ("create namespace if not exists x with dbproperties ('a' = 'b')", s.CreateNamespace("x", True, (("a", "b"),))),
    ("create schema x", s.CreateNamespace("x")),
    ("drop database if exists x cascade", s.DropNamespace("x", True, True)),
    ("alter schema x set dbproperties ('a' = 'b')", s.AlterNamespace("x", s.SetProperties((("a", "b"),)))),
    ("alter namespace x rename to y", s.AlterNamespace("x", s.RenameTable("y"))),
    ("create branch feature/x at main~2", v.CreateBranch("feature/x", "main~2")),
    ("create branch if not exists dev", v.CreateBranch("dev", None, True)),
    ("create branch 2026 at 2", v.CreateBranch("2026", "HEAD/2")),
    ("create branch b at '2'", v.CreateBranch("b", "2")),
    ("create tag v1 at 123456", v.CreateTag("v1", "123456")),
    ("reset branch dev to 2", v.ResetBranch("dev", "dev/2")),
    ("drop branch if exists dev force", v.DropBranch("dev", True, True)),
    ("alter branch a rename to b", v.RenameBranch("a", "b")),
    ("use branch 'release-1.2'", v.UseBranch("release-1.2")),
    ("use dev", v.UseBranch("dev")),
    ("create tag v1.2 at main/7", v.CreateTag("v1.2", "main/7")),
    ("drop tag v1", v.DropTag("v1")),
    ("commit 'it\\'s done'", v.SqlCommit("it's done")),
    ("commit 'it''s ' 'done'", v.SqlCommit("it's done")),
    ("rollback", v.Rollback()),
    ("merge branch dry run dev, qa to main rules (orders.price = theirs, * = 'newest') strictness row", v.MergeBranch(("dev", "qa"), "main", True, (("orders.price", "theirs"), ("*", "newest")), "row")),
    ("merge branch dev squash no ff message 'm'", v.MergeBranch(("dev",), mode="squash", ff="never", message="m")),
    ("resolve orders take ours where id < 3", v.Resolve("orders", "ours", (), "id < 3")),
    ("resolve table a.t set price = base + 1, qty = 2", v.Resolve("a.t", None, (("price", "base + 1"), ("qty", "2")))),
    ("continue merge 'm'", v.FinishMerge("m")),
    ("abort merge", v.AbortMerge()),
    ("revert main~1 parent 1 message 'm'", v.Revert("main~1", 1, "m")),
    ("cherry pick abc123", v.CherryPick("abc123")),
    ("restore table t to version as of v1", v.RestoreTable("t", "v1")),
    ("restore t to timestamp as of '2026-01-01'", v.RestoreTable("t", "@{2026-01-01}")),
    ("reset branch dev to main~1", v.ResetBranch("dev", "main~1")),
    ("optimize t", v.OptimizeTable("t")),
    ("show branches", v.Show("branches")),
    ("show tables in sales like 'o*'", v.Show("tables", "sales", "o*")),
    ("show log main~1 limit 3", v.Show("log", "main~1", limit=3)),
    ("show columns from t", v.Show("columns", "t")),
    ("show create table t", v.ShowCreate("t")),
    ("describe history t limit 2", v.DescribeHistory("t", 2)),
    ("desc extended a.t", v.Describe("a.t", extended=True)),
    ("describe history", v.Describe("history")),
    ("explain select 1", v.Explain("select 1")),
    ("values (1)", s.SqlQuery()),
    ("from t |> select a", s.SqlQuery()),
    ("(select 1) union (select 2)", s.SqlQuery()),
    ("with a as (select 1) select * from a", s.SqlQuery()),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), CASES, ids=[text[:40] for text, _ in CASES])
def test_a_statement_says_what_it_says(text: str, expected: s.SqlStatement) -> None:
    found = parse_one(f"\n {text} ;  -- done")
    assert found.text == text
    assert type(found) is type(expected)
    assert {**vars(found), "text": ""} == vars(expected)


@pytest.mark.parametrize(
    ("text", "column", "told"),
    [
        ("selec 1", 1, "expected a statement"),
        ("insert t values (1)", 8, "found 't', expected INTO or OVERWRITE"),
        ("insert into t vales (1)", 15, "found 'vales', expected PARTITION or BY NAME or REPLACE or VALUES"),
        ("update t a = 1", 12, "found '=', expected SET"),
        ("delete t", 8, "found 't', expected FROM"),
        ("merge into t using s when", 26, "expected ON"),
        ("merge into t using s on true when matched then insert *", 48, "expected UPDATE or DELETE"),
        ("create table t (a)", 18, "found ')', expected a type"),
        ("create table t (a int, primary key a)", 36, "found 'a', expected ("),
        ("create table t (a int comment x)", 31, "expected a text in quotes"),
        ("comment on column a is 'x'", 21, "expected the table and the column"),
        ("comment on table t is x", 23, "expected NULL or a text in quotes, or NULL"),
        ("create table t (a int primary key, b int primary key)", 53, "one PRIMARY KEY"),
        ("alter table t foo", 15, "found 'foo', expected ADD or DROP"),
        ("commit", 7, "the text ends, expected a message in quotes"),
        ("drop table", 11, "expected IF EXISTS or a table"),
        ("drop table t u", 14, "found 'u', expected"),
        ("select (1", 8, "( opens what nothing closes"),
        ("select 1)", 9, ") closes what nothing opened"),
        ("show foo", 6, "found 'foo', expected CREATE or BRANCHES"),
        ("merge branch dev rules (a b)", 27, "found 'b', expected = or =>"),
        ("resolve t take both", 16, "expected OURS or THEIRS or BASE"),
        ("with a as (select 1) delete t", 29, "expected FROM"),
        ("with a as (select 1) merge branch dev", 28, "found 'branch', expected"),
    ],
)
def test_what_cannot_be_read_is_told_with_its_place(text: str, column: int, told: str) -> None:
    with pytest.raises(ab.InvalidRequest) as caught:
        parse_script(f"select 1;\n{text}")
    assert (caught.value.line, caught.value.column) == (2, column)
    assert told in caught.value.message
    shown, caret = caught.value.message.splitlines()[1:]
    assert shown.strip() == text
    assert caret.index("^") == column + 1


def test_a_script_falls_into_statements_at_semicolons_outside_of_texts() -> None:
    found = parse_script("select ';'; -- ;\n;; insert into t values (';') ; /* ; */ select `;` from t;")
    assert [x.text for x in found] == ["select ';'", "insert into t values (';')", "select `;` from t"]


@pytest.mark.parametrize("text", ["", " ;; ", "-- nothing"])
def test_a_text_without_statements_is_told(text: str) -> None:
    assert parse_script(text) == []
    with pytest.raises(ab.InvalidRequest, match="no statement"):
        parse_one(text)
