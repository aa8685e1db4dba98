"""What differs, as people and programs see it; what is staged, too."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

import anabranch as ab
from anabranch.cli.output.tables import table_lines
from tests.cli.conftest import Ana
from tests.cli.test_executable import imported, on_terminal


@pytest.fixture
def changed(shop: Ana, folder: Path) -> Ana:
    """main has one more commit: a row came, one went, one changed; dev left before it."""
    with ab.open(folder, author="ann") as repo:
        repo.branch("dev")
        with repo.commit("main", "a bit of all") as tx:
            orders = tx.table("orders")
            orders.insert([{"id": 4, "status": "new", "price": 5.0}])
            orders.delete(where="id = 3")
            orders.update({"status": "'sent'", "price": 7.0}, where="id = 1")
    return shop


SHOWN = """\
orders: changed
    id   status           price
───────────────────────────────
~    1   new → sent   9.5 → 7.0
-    3   sent              NULL
+    4   new                5.0
1 added, 1 deleted, 1 changed (2 cells)
"""


@pytest.mark.parametrize(
    "arguments",
    [["HEAD~1"], ["dev"], ["dev", "main"], ["dev..main"], ["dev..."], ["dev", "--", "orders"], ["dev", "orders"]],
)
def test_rows_and_cells_that_differ_are_shown(changed: Ana, arguments: list[str]) -> None:
    assert changed("diff", *arguments).out == SHOWN


def test_nothing_differs(changed: Ana) -> None:
    for arguments in ((), ("HEAD",), ("main...dev",), ("dev", "HEAD~1", "--stat"), ("dev", "HEAD~1", "--summary")):
        assert changed("diff", *arguments).out == "Nothing differs.\n"


def test_what_is_staged_is_shown(changed: Ana, folder: Path) -> None:
    (folder / "more.csv").write_text("id,status,price\n2,void,20\n9,new,1\n")
    (folder / "again.csv").write_text("id,status\n9,odd\n")
    (folder / "customers.csv").write_text("id,name\n1,ann\n")
    changed("import", "orders", "more.csv", "--upsert")
    changed("import", "orders", "again.csv", "--upsert")
    changed("import", "customers", "customers.csv", "--key", "id")
    found = {table["name"]: table for table in changed("diff", "--json").json["tables"]}
    assert found["customers"]["change"] == "added"
    assert found["customers"]["inserted"] == 1
    assert [(r["change"], r["after"]["status"]) for r in found["orders"]["rows"]] == [
        ("update", "void"),
        ("insert", "odd"),
    ]
    assert changed("diff", "orders").out.splitlines()[-1] == "1 added, 1 changed (1 cell)"
    staged = changed("diff", "--json").json["tables"]
    changed("commit", "-m", "all that")
    assert changed("diff", "HEAD~1", "--json").json["tables"] == staged


def test_a_ref_is_compared_with_what_is_staged(changed: Ana, folder: Path) -> None:
    (folder / "more.csv").write_text("id,status,price\n1,new,9.5\n9,new,1\n")
    (folder / "customers.csv").write_text("id,name\n1,ann\n")
    before = changed("diff", "dev", "--json").json
    assert before == {**changed("diff", "dev", "main", "--json").json, "after": None}
    changed("import", "orders", "more.csv", "--upsert")
    changed("import", "customers", "customers.csv", "--key", "id")
    assert changed("diff", "dev", "orders").out.splitlines()[3:] == [
        "-    3   sent      NULL",
        "+    4   new        5.0",
        "+    9   new        1.0",
        "2 added, 1 deleted",
    ]
    assert changed("diff", "dev", "main", "--", "orders").out == SHOWN
    assert changed("diff", "dev", "customers", "--stat").out == "added  customers  1 added\n"
    assert changed("diff", "dev", "--stat").out.splitlines() == [
        "added    customers  1 added",
        "changed  orders     2 added, 1 deleted",
    ]
    assert changed("diff", "HEAD").out == changed("diff").out
    assert imported("diff", "dev", "--summary") == {"sqlalchemy"}
    staged = changed("diff", "dev", "--json").json
    changed("commit", "-m", "all that")
    assert changed("diff", "dev", "--json").json == staged


def test_staged_columns_names_and_drops_are_shown(changed: Ana, folder: Path) -> None:
    with ab.open(folder) as repo:
        with repo.commit("main", "another") as tx:
            tx.create_table("gone", [{"id": 1}], key="id")
        work = repo.start("main", message="staged", working=True)
        orders = work.table("orders")
        orders.add_column("note", "string")
        orders.drop_column("status")
        orders.update({"note": "'x'"}, where="id = 1")
        orders.rename("sales")
        work.drop_table("gone")
    assert changed("diff").out.splitlines() == [
        "gone: dropped",
        "    id",
        "──────",
        "-    1",
        "1 deleted",
        "",
        "sales: renamed from orders",
        "  - column status string",
        "  + column note string",
        "    id   price   note",
        "─────────────────────────",
        "~    1     7.0   NULL → x",
        "1 changed (1 cell), 2 columns changed",
    ]
    before = changed("diff", "--json").json["tables"]
    changed("commit", "-m", "publish")
    assert changed("diff", "HEAD~1", "--json").json["tables"] == before


@pytest.mark.parametrize(
    ("arguments", "rows"),
    [
        (["--key", "3"], ["-    3   sent      NULL", "1 deleted"]),
        (["--key", "id=4"], ["+    4   new        5.0", "1 added"]),
        (["--where", "price = 7"], ["~    1   new → sent   9.5 → 7.0", "1 changed (2 cells)"]),
        (["--where", "price = 700"], ["orders: changed", "no rows differ"]),
    ],
)
def test_rows_are_chosen(changed: Ana, arguments: list[str], rows: list[str]) -> None:
    assert changed("diff", "dev", *arguments).out.splitlines()[-2:] == rows


def test_a_key_that_is_none_is_refused(changed: Ana) -> None:
    assert "write it as --key id=…" in changed("diff", "dev", "--key", "4", "--key", "price=4", fails=2).err
    assert "'x' is no id of 'orders'" in changed("diff", "dev", "--key", "x", fails=2).err


def test_what_is_not_shown_is_said(changed: Ana) -> None:
    lines = changed("diff", "dev", "--limit", "1").out.splitlines()
    assert lines[3:] == ["~    1   new → sent   9.5 → 7.0", "… 2 more rows (--limit)", SHOWN.splitlines()[-1]]
    assert changed("diff", "dev", "--limit", "1", "--json").json["tables"][0]["more"] is True


def test_counts_are_a_line_for_each_table(changed: Ana) -> None:
    assert changed("diff", "dev", "--stat").out == "changed  orders  1 added, 1 deleted, 1 changed (2 cells)\n"
    assert changed("diff", "dev", "--summary").out == "changed  orders  1 added, 1 deleted, 1 changed\n"
    assert "two things" in changed("diff", "--stat", "--summary", fails=2).err


def test_the_summary_reads_no_data_and_loads_sqlalchemy_at_most(changed: Ana) -> None:
    assert imported("diff", "dev", "--summary") == {"sqlalchemy"}
    assert imported("diff", "dev", "--summary", "--json") == {"sqlalchemy"}


def test_the_exit_code_tells_if_it_is_asked_to(changed: Ana) -> None:
    changed("diff", "dev", "--exit-code", fails=1)
    changed("diff", "dev", "--exit-code", "--summary", fails=1)
    changed("diff", "--exit-code")


def test_other_programs_get_what_they_read(changed: Ana) -> None:
    lines = changed("diff", "dev", "--format", "ndjson").out.splitlines()
    assert [json.loads(line)["change"] for line in lines] == ["update", "delete", "insert"]
    rows = list(csv.DictReader(io.StringIO(changed("diff", "dev", "--format", "csv").out)))
    assert sorted(row["_change_type"] for row in rows) == ["delete", "insert", "update_postimage", "update_preimage"]
    assert changed("diff", "dev", "--format", "sql").out.splitlines() == [
        "DELETE FROM `orders` WHERE `id` = 3;",
        "UPDATE `orders` SET `status` = 'sent', `price` = CAST('7.0' AS DOUBLE) WHERE `id` = 1;",
        "INSERT INTO `orders` (`id`, `status`, `price`) VALUES (4, 'new', CAST('5.0' AS DOUBLE));",
    ]
    page = changed("diff", "dev", "--format", "html").out
    assert "<del>new</del> <ins>sent</ins>" in page
    assert changed("diff", "dev", "--format", "json").json == changed("diff", "dev", "--json").json


@pytest.mark.parametrize(
    "change",
    [
        "INSERT INTO dd VALUES ('p', 1)",  # seen from the other end, one of three equal rows goes
        "UPDATE dd SET n = n + 1 WHERE x = 'p'",  # some become what others were
        "UPDATE dd SET n = 1, x = 'p' WHERE n = 3",
        "UPDATE dd SET n = 7 WHERE x = 'r'; ALTER TABLE dd ADD COLUMN t INT DEFAULT 5;"
        " INSERT INTO dd VALUES ('p', 1, 5)",
    ],
)
def test_statements_for_a_table_without_a_key_leave_equal_rows(shop: Ana, folder: Path, change: str) -> None:
    shop("sql", "CREATE TABLE dd (x STRING, n INT)")
    shop("sql", "INSERT INTO dd VALUES ('p', 1), ('p', 1), ('p', 2), ('q', 3), ('r', NULL)", "-m", "rows")
    for branch in ("old", "back"):
        shop("branch", branch)
    shop("sql", change, "-m", "a change")
    shop("branch", "new")
    for one, other in (("old", "main"), ("new", "back")):
        script = shop("diff", one, other, "--format", "sql", "--", "dd").out
        shop("switch", one)
        shop("sql", script, "-m", "the same")
        with ab.open(folder) as repo:
            made, wanted = (sorted(map(str, repo.table("dd", at=at).rows())) for at in (one, other))
        assert made == wanted, script


def test_an_update_of_equal_rows_is_one_statement(shop: Ana) -> None:
    shop("sql", "CREATE TABLE dd (x STRING, n INT); INSERT INTO dd VALUES ('p', 1), ('p', 1), ('q', 1)", "-m", "rows")
    shop("sql", "UPDATE dd SET n = 2 WHERE x = 'p'")
    assert shop("diff", "--format", "sql").out == "UPDATE `dd` SET `n` = 2 WHERE `x` = 'p' AND `n` = 1;\n"


@pytest.mark.parametrize("format", ["html", "json", "ndjson", "table"])
def test_no_text_turns_the_rest_around_or_acts_on_a_terminal(shop: Ana, format: str) -> None:
    turning = "a\u202eb\u2066\x9b31m"
    shop("sql", f"ALTER TABLE orders ADD COLUMN `c\u202ed` STRING DEFAULT '{turning}'", "-m", "turn")
    shop("sql", f"INSERT INTO orders VALUES (9, '{turning}', 1.0, 'x')", "-m", "turn")
    out = shop("diff", "HEAD~2", "--format", format).out
    assert not set(out) & {"\u202e", "\u2066", "\x9b"}
    assert "\\u202e" in out


def test_a_table_replaced_in_another_order_of_columns_is_told_in_every_format(shop: Ana) -> None:
    shop("sql", "CREATE TABLE dd (x INT, n INT, PRIMARY KEY (x)); INSERT INTO dd VALUES (1, 1), (2, 2)", "-m", "rows")
    new = "CREATE OR REPLACE TABLE dd (n INT, x INT, PRIMARY KEY (x)) AS VALUES (1, 1), (3, 3)"
    shop("sql", new, "-m", "other rows")
    text = shop("diff", "HEAD~1", "--", "dd").out
    assert "dd: changed" in text
    assert "~ order of columns: x, n → n, x" in text
    assert "1 added, 1 deleted" in text
    assert shop("diff", "HEAD~1", "--format", "sql", "--", "dd").out.splitlines() == [
        "-- order: `n`, `x`",
        "DELETE FROM `dd` WHERE `x` = 2;",
        "INSERT INTO `dd` (`n`, `x`) VALUES (3, 3);",
    ]
    assert "<li>~ order of columns: x, n → n, x</li>" in shop("diff", "HEAD~1", "--format", "html", "--", "dd").out
    (table,) = shop("diff", "HEAD~1", "--json", "--", "dd").json["tables"]
    assert table["schema"] == [{"change": "order", "name": None, "before": ["x", "n"], "after": ["n", "x"]}]
    assert (table["change"], table["inserted"], table["updated"], table["deleted"]) == ("changed", 1, 0, 1)
    rows = shop("diff", "HEAD~1", "--format", "csv", "--", "dd").out.splitlines()
    assert sorted(rows[1:]) == ["2,2,delete", "3,3,insert"]
    kinds = shop("diff", "HEAD~1", "--format", "ndjson", "--", "dd").out.splitlines()
    assert [json.loads(line)["change"] for line in kinds] == ["delete", "insert"]
    assert "dd" in shop("diff", "HEAD~1", "--stat").out
    assert "all rows, or a key" in shop("diff", "HEAD~1", "--summary").out


def test_html_and_sql_take_any_text(changed: Ana, folder: Path) -> None:
    with ab.open(folder) as repo, repo.commit("main", "odd") as tx:
        tx.table("orders").update({"status": "'<b>it''s'"}, where="id = 2")
    assert "&lt;b&gt;it&#x27;s" in changed("diff", "HEAD~1", "--format", "html").out
    assert r"`status` = '<b>it\'s'" in changed("diff", "HEAD~1", "--format", "sql").out


def test_csv_is_of_one_table(changed: Ana) -> None:
    assert changed("diff", "main/0", "dev", "--format", "csv").out.splitlines()[0] == "id,status,price,_change_type"
    assert "--limit" in changed("diff", "dev", "--format", "csv", "--limit", "1", fails=2).err


def test_what_is_neither_ref_nor_table_is_told(changed: Ana) -> None:
    assert "no branch, tag or commit 'ordres'" in changed("diff", "ordres", fails=3).err
    assert "no table 'ordres'" in changed("diff", "--", "ordres", fails=3).err
    assert "two refs" in changed("diff", "main", "dev", "HEAD", fails=2).err


def test_a_terminal_sees_colours_and_what_changed_first(changed: Ana, folder: Path) -> None:
    with ab.open(folder) as repo:
        with repo.commit("main", "wide") as tx:
            tx.create_table("wide", [{"id": 1} | {f"c{i:02}": "some text" for i in range(40)}], key="id")
        with repo.commit("main", "one cell") as tx:
            tx.table("wide").update({"c39": "'other'"})
    seen = on_terminal("diff", "HEAD~1", "--no-pager", columns=80, NO_COLOR="1")
    assert "some text → other" in seen
    assert max(map(len, seen.splitlines())) <= 80
    assert "more columns" in seen
    coloured = on_terminal("diff", "dev", "HEAD~2", columns=80)
    assert "\x1b[32m+" in coloured
    assert "\x1b[31m-" in coloured


def test_long_texts_are_cut_on_a_terminal_where_they_begin_to_differ(changed: Ana, folder: Path) -> None:
    with ab.open(folder) as repo:
        for text in ("a" * 100 + "b", "a" * 100 + "c"):
            with repo.commit("main", text) as tx:
                tx.table("orders").update({"status": f"'{text}'"}, where="id = 1")
    assert "…aaaab → …aaaac" in on_terminal("diff", "HEAD~1", "--no-pager", NO_COLOR="1")
    assert f"{'a' * 100}b → {'a' * 100}c" in changed("diff", "HEAD~1").out  # a pipe gets all of it


def test_tables_draw_styled_cells_as_wide_as_plain_ones() -> None:
    from anabranch.cli.output.tables import Heading, Styled

    plain = table_lines([Heading("a")], [["x"]], 80)
    assert table_lines([Heading("a")], [[Styled("x", "green")]], 80) == plain


def test_a_new_namespace_brings_no_other_tables_into_the_summary(shop: Ana) -> None:
    shop("sql", "CREATE NAMESPACE ns")
    assert shop("diff", "--summary").out == "namespace ns: added\n"
    shop("commit", "-m", "a namespace")
    for refs in (("HEAD~1", "HEAD"), ("HEAD", "HEAD~1")):
        assert shop("diff", *refs, "--summary", "--json").json["tables"] == []
    shop("sql", "CREATE TABLE ns.t (id INT); COMMIT 'a table'; ALTER NAMESPACE ns RENAME TO other")
    assert [t["name"] for t in shop("diff", "--summary", "--json").json["tables"]] == ["other.t"]


def test_staged_may_be_said_as_in_git(changed: Ana) -> None:
    changed("sql", "UPDATE orders SET price = 0 WHERE id = 2")
    for word in ("--staged", "--cached"):
        assert changed("diff", word).out == changed("diff").out
        assert changed("diff", word, "dev").out == changed("diff", "dev").out
    assert "one ref" in changed("diff", "--staged", "dev", "main", fails=2).err
