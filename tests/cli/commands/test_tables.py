"""Tables on the command line: ls, table show, verify."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pytest

import anabranch as ab
from anabranch.cli.failures import EXIT_CODES
from anabranch.errors import Corrupt
from tests.cli.conftest import Ana


def test_tables_are_listed_with_their_sizes(shop: Ana) -> None:
    lines = shop("ls").out.splitlines()
    assert lines[0].split() == ["table", "rows", "columns", "key"]
    assert lines[2].split() == ["orders", "3", "3", "id"]


def test_a_list_as_json(shop: Ana) -> None:
    assert shop("ls", "--json").json == {
        "ref": "main",
        "tables": [{"name": "orders", "row_count": 3, "column_count": 3, "key": ["id"], "staged": None}],
    }
    assert shop("ls", "HEAD~1", "--json").json == {"ref": "main~1", "tables": []}


def test_a_namespace_is_listed_alone(shop: Ana) -> None:
    shop("import", "eu.orders", "orders.csv", "--key", "id", "-m", "eu")
    shop("import", "eu.more", "orders.csv", "--key", "id")
    found = shop("ls", "--namespace", "eu", "--json").json["tables"]
    assert [(table["name"], table["staged"]) for table in found] == [("eu.more", "created"), ("eu.orders", None)]


@pytest.mark.parametrize(
    ("name", "at", "hint"),
    [
        ("ordres", "main", "did you mean 'orders'?"),
        ("orders", "main~2", "there are no tables yet"),
        ("europe.stock", "main", "there: orders"),
        ("europa.orders", "main", "did you mean 'europe'?"),
        ("asia.orders", "main", "create the namespace first"),
    ],
)
def test_what_there_is_instead_is_hinted_at(shop: Ana, name: str, at: str, hint: str) -> None:
    shop("import", "europe.orders", "orders.csv", "--key", "id", "-m", "europe")
    assert shop("table", "show", name, "--at", at, fails=3).err.splitlines()[1] == f"hint: {hint}"


def test_rows_are_sorted_by_the_key(shop: Ana, folder: Path) -> None:
    (folder / "more.csv").write_text("id,status,price\n0,new,1\n-5,new,1\n")
    shop("import", "orders", "more.csv", "--append", "-m", "more")
    assert [row["id"] for row in shop("table", "show", "orders", "--json").json["rows"]] == [-5, 0, 1, 2, 3]


def test_a_table_is_drawn(shop: Ana) -> None:
    lines = shop("table", "show", "orders").out.splitlines()
    assert lines[0].split() == ["id", "status", "price"]
    assert lines[2].split() == ["1", "new", "9.5"]
    assert lines[4].split() == ["3", "sent", "NULL"]
    assert lines[-1] == "3 rows"


@pytest.mark.parametrize(
    ("arguments", "ids", "footer"),
    [
        (["--limit", "2"], ["1", "2"], "2 of 3 rows"),
        (["--where", "price > 5"], ["1", "2"], "2 of 3 rows"),
        (["--where", "price > 5", "-n", "1"], ["1"], "1 row, and there are more (--limit)"),
        (["--where", "id = 77"], [], "0 of 3 rows"),
        (["--limit", "0"], [], "0 of 3 rows"),
        (["--at", "main"], ["1", "2", "3"], "3 rows"),
    ],
)
def test_the_footer_tells_what_is_not_shown(shop: Ana, arguments: list[str], ids: list[str], footer: str) -> None:
    lines = shop("table", "show", "orders", *arguments).out.splitlines()
    assert [line.split()[0] for line in lines[2:-1]] == ids
    assert lines[-1] == footer


def test_chosen_columns_are_shown_in_their_order(shop: Ana) -> None:
    found = shop("table", "show", "orders", "--columns", "price, STATUS", "--json").json
    assert [column["name"] for column in found["columns"]] == ["price", "status"]
    assert found["rows"][0] == {"price": 9.5, "status": "new"}


def test_the_schema_is_shown_without_reading_rows(shop: Ana) -> None:
    lines = shop("table", "show", "orders", "--schema").out.splitlines()
    assert lines[0].split() == ["column", "type", "null", "default", "key"]
    assert lines[2].split() == ["id", "bigint", "no", "key"]
    assert lines[-1] == "3 rows"
    found = shop("table", "show", "orders", "--schema", "--json").json
    assert set(found) == {"table", "ref", "key", "columns", "row_count"}
    told = {"name": "id", "type": "bigint", "nullable": False, "default": None, "key": True, "comment": None}
    assert found["columns"][0] == told


def test_rows_as_json_keep_their_values(shop: Ana, folder: Path) -> None:
    row = {
        "id": 2**60,
        "price": Decimal("1.50"),
        "day": date(2026, 11, 1),
        "seen": datetime(2026, 11, 1, 12, tzinfo=UTC),
        "raw": b"\x01\xff",
        "ratio": float("nan"),
        "good": True,
    }
    with ab.open(folder) as repo, repo.commit("main", "values") as tx:
        tx.create_table("v", [row], key="id")
    found = shop("table", "show", "v", "--json").json
    assert (found["key"], found["row_count"], found["more"]) == (["id"], 1, False)
    assert found["rows"] == [
        {
            "id": 2**60,
            "price": "1.500000000000000000",
            "day": "2026-11-01",
            "seen": "2026-11-01T12:00:00+00:00",
            "raw": "01ff",
            "ratio": "NaN",
            "good": True,
        }
    ]


@pytest.mark.parametrize(
    ("arguments", "code", "line"),
    [
        (["nothing"], 3, "there is no table 'nothing'"),
        (["orders", "--columns", "prise"], 3, "there is no column 'prise'"),
        (["orders", "--where", "prise > 3"], 3, "'prise'"),
        (["orders", "--at", "nowhere"], 3, "'nowhere'"),
        (["orders", "--columns", "price,id,Price"], 2, "column 'price' is named twice"),
        (["orders", "--limit", "many"], 2, "'many' is not a valid integer"),
    ],
)
def test_what_cannot_be_shown_is_refused_in_one_line(shop: Ana, arguments: list[str], code: int, line: str) -> None:
    said = shop("table", "show", *arguments, fails=code).err.splitlines()
    assert len(said) == 2
    assert line in said[0]


def test_a_condition_that_can_not_be_read_is_shown_with_the_place(shop: Ana) -> None:
    said = shop("table", "show", "orders", "--where", "price >", fails=2).err.splitlines()
    assert said == ["error: where=, line 1, column 8: the text ends, expected a value", "  price >", "         ^"]


def test_a_pipe_gets_all_columns(shop: Ana, folder: Path) -> None:
    wide = {f"column_{i:02}": f"value {i}" for i in range(60)}
    with ab.open(folder) as repo, repo.commit("main", "wide") as tx:
        tx.create_table("wide", [wide], key="column_00")
    assert shop("table", "show", "wide").out.splitlines()[0].split() == list(wide)


def test_a_sound_repository_is_verified(shop: Ana) -> None:
    said = re.sub(r"\d{3} B", "600 B", shop("verify").out)  # ids are drawn by chance, and in the file
    assert said == "1 object (600 B), 1 table of heads, 24 rows of the catalogue: all there, all as written\n"
    found = shop("verify", "--json").json
    assert (found["objects"], found["damages"]) == (1, [])


def test_a_damaged_object_is_found(shop: Ana, folder: Path) -> None:
    rows = [{"id": i, "text": f"{i * 7919 % 1_000_003:x}" * 8} for i in range(60_000)]
    with ab.open(folder, engine="duck") as repo, repo.commit("main", "large") as tx:
        tx.create_table("large", rows, key="id")
    file = next(path for path in (folder / ".anabranch" / "objects").rglob("*.parquet"))
    file.chmod(0o644)
    file.write_bytes(file.read_bytes()[:-1] + b"?")
    assert shop("verify", fails=EXIT_CODES[Corrupt]).out.startswith("damaged object: ")


def test_a_column_that_is_named_twice_is_refused(shop: Ana, folder: Path) -> None:
    for command in (("export", "orders", "o.parquet"), ("changes", "orders", "--since", "main/0")):
        assert "column 'id' is named twice" in shop(*command, "--columns", "id,id", fails=2).err
    assert not (folder / "o.parquet").exists()
    with ab.open(folder, engine="duck") as repo, pytest.raises(ab.InvalidRequest, match="twice"):
        repo.table("orders", columns=["id", "ID"])
    assert shop("sql", "SELECT id, ID, o.id FROM orders o", "--json").json["results"][0]["rows"][0] == [1, 1, 1]


def test_a_table_is_renamed_and_dropped(shop: Ana) -> None:
    assert shop("table", "rename", "orders", "sales").out.startswith("orders: renamed to sales; staged on main\n")
    shop("commit", "-m", "another name")
    made = shop("table", "drop", "sales", "-m", "no longer needed", "--json").json
    assert (made["dropped"], made["commit"]["message"]) == (True, "no longer needed")
    assert shop("ls", "--json").json["tables"] == []
    assert "orders" in shop("ls", "HEAD~2").out


def test_what_is_no_command_of_tables_is_answered_with_one_that_is(shop: Ana) -> None:
    assert "ana table show TABLE --schema" in shop("table", "schema", "orders", fails=2).err
    assert "ana table drop" in shop("rm", "orders", fails=2).err
