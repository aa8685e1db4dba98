"""Statements that show: lists by pattern, and what there is to say of a table."""

from __future__ import annotations

from typing import Any

import pytest

import anabranch as ab
from anabranch.repo.sql.show_statements import like_pattern, show
from anabranch.sql.grammar.tokens import tokenize
from anabranch.sql.version_statements import Describe, DescribeHistory, Show, ShowCreate


@pytest.fixture
def shop(duck: ab.Repository) -> ab.Repository:
    with duck.commit("main", "load") as tx:
        tx.create_namespace("sales")
        lines = tx.create_table(
            "sales.lines",
            schema="id bigint NOT NULL, qty int DEFAULT 1, `a b` string, note string",
            key="id",
            cluster_by="qty",
            properties={"owner": "ann's \\ team"},
        )
        lines.add_check("positive", "qty > 0")
        lines.insert([{"id": 1, "qty": 2}])
        tx.create_table("orders", [{"id": 1}], key="id")
        tx.create_table("order_log", [{"key": 1}])
    return duck


def told(repo: ab.Repository, statement: Any, at: str | None = None) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = show(repo._ctx, statement, "main", at).to_pylist()
    return rows


def names(repo: ab.Repository, statement: Show) -> list[str]:
    return [row["name"] for row in told(repo, statement)]


def test_lists_are_shown_by_pattern_and_limit(shop: ab.Repository) -> None:
    shop.branch("dev")
    shop.branch("Devil")
    shop.tag("v1")
    assert names(shop, Show("branches", pattern="dev*")) == ["Devil", "dev"]
    assert names(shop, Show("branches", pattern="main|devil")) == ["Devil", "main"]
    assert names(shop, Show("tags", pattern="v%")) == ["v1"]
    assert names(shop, Show("tables")) == ["order_log", "orders", "sales.lines"]
    assert names(shop, Show("tables", pattern="lines")) == ["sales.lines"]
    assert names(shop, Show("tables", pattern="order*", limit=1)) == ["order_log"]
    assert names(shop, Show("namespaces")) == ["sales"]


def test_tables_of_one_namespace_are_shown(shop: ab.Repository) -> None:
    assert names(shop, Show("tables", name="sales")) == ["sales.lines"]
    with pytest.raises(ab.NotFound, match="there is no namespace 'sale'"):
        told(shop, Show("tables", name="sale"))


def test_the_log_of_a_ref_and_the_status_are_shown(shop: ab.Repository) -> None:
    assert [row["message"] for row in told(shop, Show("log", limit=1))] == ["load"]
    assert [row["id"] for row in told(shop, Show("log", name="HEAD~1"))] == ["main/0"]
    assert [row["id"] for row in told(shop, Show("log", pattern="LO*"))] == ["main/1"]
    assert told(shop, Show("status")) == []
    assert told(shop, Show("conflicts")) == []


def test_columns_and_properties_of_a_table_are_shown(shop: ab.Repository) -> None:
    assert names(shop, Show("columns", name="sales.lines")) == ["id", "qty", "a b", "note"]
    assert told(shop, Show("properties", name="sales.lines")) == [{"key": "owner", "value": "ann's \\ team"}]
    with pytest.raises(ab.InvalidRequest, match="SHOW PROPERTIES needs a table"):
        told(shop, Show("properties"))


def test_a_table_is_described_with_types_defaults_and_key(shop: ab.Repository) -> None:
    rows = told(shop, Describe("sales.lines"))
    assert list(rows[0].values()) == ["id", "bigint", False, None, True, None]
    assert list(rows[1].values()) == ["qty", "int", True, "1", False, None]
    more = {row["col_name"]: row["data_type"] for row in told(shop, Describe("sales.lines", extended=True))}
    assert more["Rows"] == "1"
    assert more["Clustering"] == "qty"
    assert more["Check positive"] == "qty > 0"


def test_a_relation_of_ana_is_described(shop: ab.Repository) -> None:
    rows = told(shop, Describe("ana.tags"))
    assert [(r["col_name"], r["data_type"]) for r in rows][:3] == [
        ("name", "string"),
        ("commit", "string"),
        ("created_at", "timestamp"),
    ]


def test_a_relation_of_ana_that_takes_arguments_is_described_with_them(shop: ab.Repository) -> None:
    shown = shop.sql("DESCRIBE ana.blame('orders')").rows()
    assert [row["col_name"] for row in shown][:2] == ["id", "_commit_hash"]
    assert shop.sql("DESCRIBE ana.log('main~1')").count() == shop.sql("DESCRIBE ana.log").count()
    with pytest.raises(ab.InvalidRequest, match=r"ana.blame: it needs the name of a table \(write it as ana.blame"):
        shop.sql("DESCRIBE ana.blame")
    with pytest.raises(ab.NotFound, match=r"no system table 'ana.blam' \(did you mean ana.blame\?"):
        shop.sql("DESCRIBE ana.blam")


def test_a_namespace_ana_of_old_stays_readable_but_for_names_of_system_tables(
    shop: ab.Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as before, shop.commit("main", "as it was once") as tx:
        before.setattr("anabranch.model.names.SYSTEM_NAMESPACE", "")
        tx.create_namespace("ana")
        tx.create_table("ana.mine", [{"id": 1}], key="id")
        tx.create_table("ana.log", [{"id": 2}], key="id")
    assert shop.sql("SELECT id FROM ana.mine").rows() == [{"id": 1}]
    assert shop.sql("DESCRIBE ana.mine").rows()[0]["col_name"] == "id"
    assert "message" in shop.sql("SELECT * FROM ana.log").columns
    shop.sql("INSERT INTO ana.log VALUES (3)")
    assert shop.table("ana.log").count() == 2
    with pytest.raises(ab.NotFound, match=r"no system table 'ana.min'"):
        shop.sql("SELECT * FROM ana.min")
    shop.sql("ALTER NAMESPACE ana RENAME TO kept")
    assert shop.sql("SELECT id FROM kept.log ORDER BY id").rows() == [{"id": 2}, {"id": 3}]


def test_comments_of_tables_and_columns_are_shown_and_kept(shop: ab.Repository) -> None:
    shop.sql("CREATE TABLE c (id INT PRIMARY KEY COMMENT 'which', a STRING DEFAULT 'x' COMMENT 'it\\'s') COMMENT 'all'")
    shop.sql("ALTER TABLE c ADD COLUMN b INT COMMENT 'more'; ALTER TABLE c ALTER COLUMN a COMMENT 'less'")
    shop.sql("ALTER TABLE c RENAME COLUMN b TO bb; COMMENT ON COLUMN c.id IS NULL")
    shown = {row["col_name"]: row["comment"] for row in shop.sql("DESCRIBE c").rows()}
    assert shown == {"id": None, "a": "less", "bb": "more"}
    assert shop.sql("SELECT name, comment FROM ana.columns('c') WHERE comment IS NOT NULL").count() == 2
    text = shop.sql("SHOW CREATE TABLE c").rows()[0]["createtab_stmt"]
    assert text.splitlines()[1:] == [
        "  id int NOT NULL,",
        "  a string DEFAULT 'x' COMMENT 'less',",
        "  bb int COMMENT 'more',",
        "  PRIMARY KEY (id)",
        ")",
        "COMMENT 'all'",
    ]
    shop.sql(text.replace("TABLE c", "TABLE d"))
    assert shop.sql("DESCRIBE d").rows() == shop.sql("DESCRIBE c").rows()
    shop.sql("COMMENT ON TABLE c IS NULL; COMMENT ON TABLE c IS NULL; COMMENT ON NAMESPACE sales IS 'sold'")
    assert (shop.table("c").properties, shop.namespace_properties("sales")) == ({}, {"comment": "sold"})


def test_a_comment_differs_and_merges_as_a_default_does(shop: ab.Repository) -> None:
    shop.branch("dev")
    shop.sql("COMMENT ON COLUMN orders.id IS 'theirs'", on="dev")
    shop.sql("ALTER TABLE orders ADD COLUMN n INT COMMENT 'ours'")
    change = shop.diff("main...dev")["orders"].schema
    assert [(c.change, c.name, c.before, c.after) for c in change] == [("comment", "id", None, "theirs")]
    shop.merge("dev", into="main")
    assert [(c.name, c.comment) for c in shop.table("orders").schema] == [("id", "theirs"), ("n", "ours")]
    with pytest.raises(ab.InvalidRequest, match="the comment of column 'id' is 7"), shop.commit("main", "x") as tx:
        tx.table("orders").alter_column("id", comment=7)


def test_an_unfinished_commit_is_described_as_it_is(shop: ab.Repository) -> None:
    with shop.commit("main", "more") as tx:
        tx.table("orders").add_column("note", "string")
        assert len(show(shop._ctx, Describe("orders"), "main", None, tx)) == 2
        assert len(show(shop._ctx, Describe("orders"), "main", "main", tx)) == 1
        assert "note string" in show(shop._ctx, ShowCreate("orders"), "main", None, tx).to_pylist()[0]["createtab_stmt"]


def test_the_history_of_a_table_is_described_newest_first(shop: ab.Repository) -> None:
    with shop.commit("main", "more", author="bob") as tx:
        tx.table("orders").insert([{"id": 2}, {"id": 3}])
        tx.table("orders").delete(where="id = 1")
    newest, first = told(shop, DescribeHistory("orders"))
    assert (newest["version"], newest["author"], newest["operation"]) == ("main/2", "bob", "insert, delete")
    assert (newest["inserted"], newest["deleted"], newest["message"]) == (2, 1, "more")
    assert first["timestamp"] == shop.show("main~1").finished_at
    assert len(told(shop, DescribeHistory("orders", limit=1))) == 1


def test_the_statement_that_makes_a_table_has_all_that_the_table_has(shop: ab.Repository) -> None:
    assert told(shop, ShowCreate("sales.lines"))[0]["createtab_stmt"] == (
        "CREATE TABLE sales.lines (\n"
        "  id bigint NOT NULL,\n"
        "  qty int DEFAULT 1,\n"
        "  `a b` string,\n"
        "  note string,\n"
        "  PRIMARY KEY (id),\n"
        "  CONSTRAINT positive CHECK (qty > 0)\n"
        ")\n"
        "CLUSTER BY (qty)\n"
        "TBLPROPERTIES (\n"
        "  'owner' = 'ann\\'s \\\\ team'\n"
        ")"
    )


def test_a_shown_statement_makes_the_table_again(shop: ab.Repository) -> None:
    text = told(shop, ShowCreate("sales.lines"))[0]["createtab_stmt"]
    shop.sql(text.replace("sales.lines", "again"))
    assert shop.table("again").checks == {"positive": "qty > 0"}


def test_names_and_texts_of_the_statement_are_read_back_as_they_are(shop: ab.Repository) -> None:
    tokens = tokenize(told(shop, ShowCreate("sales.lines"))[0]["createtab_stmt"])
    assert "ann's \\ team" in [t.value for t in tokens if t.kind == "string"]
    assert "a b" in [t.name for t in tokens if t.is_name]
    assert "`key` bigint" in told(shop, ShowCreate("order_log"))[0]["createtab_stmt"]


@pytest.mark.parametrize(
    ("pattern", "name", "fits"),
    [
        ("*", "anything", True),
        ("A*", "abc", True),
        ("a%c", "abc", True),
        ("a|b", "b", True),
        ("a|b", "ab", False),
        ("a.c", "abc", False),
        ("a_c", "abc", False),
        ("abc", "abcd", False),
    ],
)
def test_patterns_are_those_of_show(pattern: str, name: str, fits: bool) -> None:
    assert bool(like_pattern(pattern).fullmatch(name)) is fits
