"""Statements of SQL on the command line: where they read and write, and how their results look."""

from __future__ import annotations

from tests.cli.conftest import Ana


def test_a_ref_to_read_at_is_never_written_to(shop: Ana) -> None:
    shop("branch", "dev")
    for text in ("UPDATE orders SET price = 1", "SELECT 1 AS a; CREATE BRANCH qa"):
        failed = shop("sql", text, "--at", "dev", fails=2).err
        assert "only read" in failed
        assert "`ana switch`" in failed
    assert shop("status", "--json").json["staged"] == []
    shop("sql", "SELECT 1 AS a", "--at", "nope", fails=3)
    assert shop("sql", "SELECT count(*) AS n FROM orders", "--at", "dev", "--json").json["results"][0]["rows"] == [[3]]


def test_a_pipe_gets_whole_cells(shop: Ana) -> None:
    shop("sql", f"UPDATE orders SET status = '{'x' * 90}' WHERE id = 1")
    for arguments in (("table", "show", "orders"), ("sql", "SELECT status FROM orders"), ("diff",)):
        assert "x" * 90 in shop(*arguments).out
    assert shop("log", "--json").json["commits"][0]["hash"] in shop("sql", "SELECT hash FROM ana.log").out


def test_long_texts_keep_their_lines(shop: Ana) -> None:
    assert shop("sql", "SHOW CREATE TABLE orders").out.splitlines()[:2] == ["CREATE TABLE orders (", "  id bigint NOT NULL,"]
    assert shop("sql", "EXPLAIN SELECT * FROM orders").out.startswith("engine: duck\nSELECT ")
