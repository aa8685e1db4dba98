"""Statements of SQL on the command line: where they come from, where they read and write, and how results look."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from tests.cli.conftest import Ana

MARK = b"\xef\xbb\xbf"


def test_a_byte_order_mark_is_no_part_of_a_script(shop: Ana, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = MARK + b"select 1 as a;"
    (folder / "bom.sql").write_bytes(script)
    assert shop("sql", "-f", "bom.sql", "--format", "csv").out == "a\n1\n"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(script), "utf-8"))
    assert shop("sql", "--format", "csv").out == "a\n1\n"


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
    assert shop("sql", "SHOW CREATE TABLE orders").out.splitlines()[:2] == [
        "CREATE TABLE orders (",
        "  id bigint NOT NULL,",
    ]
    assert shop("--engine", "duck", "sql", "EXPLAIN SELECT * FROM orders").out.startswith("engine: duck\nSELECT ")


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("SELECT 1 / 0 AS x", "division by zero\n"),
        ("SELECT CAST('a' AS INT) AS x", "not a whole number: a\n"),
        ("SELECT CAST('a' AS DATE) AS x", "not a date: a\n"),
        ("SELECT * FROM", "the text ends, expected a name"),
    ],
)
def test_what_fails_on_duckdb_is_told_in_plain_words(shop: Ana, query: str, words: str) -> None:
    said = shop("--engine", "duck", "sql", query, fails=2).err
    assert words in said
    assert "convert" not in said


def test_a_statement_that_wrote_is_called_by_its_kind(shop: Ana) -> None:
    assert shop("sql", "CREATE OR REPLACE TABLE c AS SELECT 1 AS a").out == "CREATE TABLE: 1 inserted\n"
    query = "WITH w AS (SELECT 2 AS a) INSERT INTO c SELECT * FROM w"
    assert shop("sql", query).out == "INSERT: 1 inserted\n"


def test_a_script_that_fails_says_its_line_and_what_was_published_before(shop: Ana, folder: Path) -> None:
    (folder / "s.sql").write_text(
        "UPDATE orders SET price = 3 WHERE id = 1;\nCOMMIT 'one';\n\n-- a remark\nUPDATE orders\nSET pric = 2;\n"
    )
    done = shop("sql", "-f", "s.sql", fails=3)
    assert done.err.startswith("error: line 5: there is no column 'pric'\n")
    assert "did you mean 'price'? published before it: " in done.err
    assert "(one)" in done.err
    assert "line 1" not in shop("sql", "SELECT pric FROM orders", fails=3).err


def test_a_script_that_fails_before_a_commit_says_that_its_writes_were_undone(shop: Ana) -> None:
    script = "UPDATE orders SET price = 3 WHERE id = 1;\nSELECT pric FROM orders"
    assert "did you mean 'price'? what the script wrote before it was undone" in shop("sql", script, fails=3).err
    assert "Nothing is staged." in shop("status").out
    assert "undone" not in shop("sql", "SELECT 1;\nSELECT pric FROM orders", fails=3).err


@pytest.mark.parametrize("word", ["help", "HELP;", "\\?"])
def test_help_needs_no_semicolon_in_the_shell(shop: Ana, monkeypatch: pytest.MonkeyPatch, word: str) -> None:
    typed = iter([word, "quit"])
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("builtins.input", lambda _prompt: next(typed))
    assert "A statement ends with a semicolon" in shop("sql").out


def test_a_query_of_somebody_else_only_reads_and_has_limits(shop: Ana) -> None:
    rows = shop("sql", "--safe", "SELECT count(*) AS n FROM orders", "--json").json["results"][0]["rows"]
    assert rows == [[3]]
    assert "one query" in shop("sql", "--safe", "DELETE FROM orders", fails=2).err
    assert "one query" in shop("sql", "--safe", "SELECT 1; COMMIT 'x'", fails=2).err
    assert "only those are read" in shop("sql", "--safe", "SELECT * FROM ana.objects", fails=2).err
    assert "more than 2 rows" in shop("sql", "--safe", "--rows", "2", "SELECT * FROM orders", fails=2).err
    slow = "SELECT count(*) AS n FROM " + ", ".join(f"orders o{n}" for n in range(25)) + " WHERE o0.id + o24.id > 0"
    assert "took longer than 1.5 s" in shop("sql", "--safe", "--seconds", "1.5", slow, fails=2).err
    assert "limits of --safe" in shop("sql", "--rows", "2", "SELECT 1 AS a", fails=2).err
    assert "only reads" in shop("sql", "--safe", "SELECT 1 AS a", "-m", "x", fails=2).err
    assert shop("status", "--json").json["staged"] == []
