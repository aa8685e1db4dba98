"""Exporting tables: formats, what is read, files that are safe from half-done work, and the way back."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.cli.conftest import Ana

SCHEMA = (
    "id bigint, i int, small smallint, tiny tinyint, f float, x double, n decimal(38,18), ok boolean, d date, "
    "t timestamp, l timestamp_ntz, b binary, s string"
)
ROWS = (
    "id,i,small,tiny,f,x,n,ok,d,t,l,b,s\n"
    "1,-2147483648,-32768,-128,1.5,1e300,0.000000000000000001,true,0001-01-01,"
    '2026-01-01T10:00:00.000001Z,2026-01-01 10:00:00,00ff,""\n'
    "2,,,,,,,,,,,,\n"
    '3,0,0,0,nan,-inf,-12345678901234567890.5,false,9999-12-31,1969-12-31T23:59:59Z,2026-01-01 10:00:00.5,"",NULL\n'
    '4,1,1,1,inf,0.1,0,true,2026-01-01,2026-01-01 00:00Z,2026-01-01,ab," a ""b"", ;\r\nc\td "\n'
    "5,1,1,1,3.4e38,nan,1,true,2026-01-01,2026-01-01 00:00Z,2026-01-01,ab,é 数 😀\n"
)


@pytest.fixture
def every(ana: Ana, folder: Path) -> Ana:
    """A table with every type, nulls and strange text."""
    (folder / "rows.csv").write_bytes(ROWS.encode())
    ana("init")
    ana("import", "t", "rows.csv", "--key", "id", "--schema", SCHEMA)
    return ana


def rows_of(ana: Ana, table: str) -> str:
    """All rows, as text: so that NaN is equal to itself."""
    return json.dumps(ana("table", "show", table, "--json").json["rows"])


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("o.csv", []),
        ("o.csv.gz", ["--delimiter", ";"]),
        ("o.tsv", ["--quote-all"]),
        ("o.json", ["--array"]),
        ("o.jsonl.zst", []),
        ("o.parquet", []),
    ],
)
def test_what_is_exported_is_imported_as_it_was(every: Ana, name: str, options: list[str]) -> None:
    assert every("export", "t", name, *options).out == f"t: 5 rows exported to {name}\n"
    back = [option for option in options if option in ("--delimiter", ";")]
    every("import", "u", name, "--key", "id", "--schema", SCHEMA, *back)
    assert rows_of(every, "u") == rows_of(every, "t")
    assert every("import", "t", name, "--upsert", *back).out.startswith("t: no change;")


def test_standard_output(shop: Ana) -> None:
    assert shop("export", "orders", "-").out == "id,status,price\n1,new,9.5\n2,paid,20\n3,sent,\n"
    assert shop("export", "orders", "-", "--format", "json", "-n", "1").out == (
        '{"id": 1, "status": "new", "price": 9.5}\n'
    )
    assert shop("export", "orders", "-", "--no-header", "--null", "\\N", "--delimiter", "tab", "--quote-all").out == (
        '"1"\t"new"\t"9.5"\n"2"\t"paid"\t"20"\n"3"\t"sent"\t\\N\n'
    )
    assert shop("export", "orders", "-", "--format", "json", "--array", "--where", "id > 9").out == "[]\n"


def test_columns_rows_and_commits_are_chosen(shop: Ana, folder: Path) -> None:
    (folder / "more.csv").write_text("id,status,price\n0,new,1\n")
    shop("import", "orders", "more.csv", "--append")
    assert shop("export", "orders", "-", "--columns", "id").out == "id\n0\n1\n2\n3\n"
    assert shop("export", "orders", "-", "--columns", "id", "--at", "main").out == "id\n1\n2\n3\n"
    assert (
        shop("export", "orders", "-", "--columns", "status", "--where", "price > 5", "-n", "1").out == "status\nnew\n"
    )


def test_the_json_tells_what_was_written(shop: Ana, folder: Path) -> None:
    done = shop("export", "orders", "o.json.gz", "--json").json
    assert done == {"table": "orders", "ref": "main", "file": "o.json.gz", "format": "json", "row_count": 3}
    assert len(gzip.decompress((folder / "o.json.gz").read_bytes()).splitlines()) == 3


def test_a_file_is_replaced_only_by_force(shop: Ana, folder: Path) -> None:
    (folder / "o.parquet").write_text("mine")
    done = shop("export", "orders", "o.parquet", fails=4)
    assert "there is a file 'o.parquet' already" in done.err
    assert (folder / "o.parquet").read_text() == "mine"
    shop("export", "orders", "o.parquet", "--force")
    assert pq.read_table(folder / "o.parquet").num_rows == 3


def test_force_replaces_no_pipe_or_device(shop: Ana, folder: Path) -> None:
    os.mkfifo(folder / "o.csv")
    done = shop("export", "orders", "o.csv", "--force", fails=2)
    assert "'o.csv' is not a plain file" in done.err
    assert (folder / "o.csv").is_fifo()


@pytest.mark.parametrize(
    ("arguments", "code", "line"),
    [
        (["nothing", "o.csv"], 3, "there is no table 'nothing'"),
        (["orders", "o.xls"], 2, "does not tell its format"),
        (["orders", "o.parquet.gz"], 2, "Parquet is compressed within"),
        (["orders", "no/o.csv"], 6, "can't be written"),
        (["orders", "there/", "--format", "csv"], 2, "is a folder"),
        (["orders", "."], 2, "'.' is a folder"),
        (["orders", "new/"], 2, "'new/' is a folder"),
        (["orders", "o.zip"], 2, "a zip is not written"),
        (["orders", "o.csv", "--where", "price / 0 > 1"], 2, "zero"),
        (["orders", "o.csv", "--columns", "colour"], 3, "there is no column 'colour'"),
        (["orders", "o.csv", "--delimiter", "ab"], 2, "one plain character"),
        (["orders", "o.csv", "--null", "a,b"], 2, "can't stand for null"),
        (["orders", "-", "--json"], 2, "both want standard output"),
    ],
)
def test_what_cannot_be_exported_leaves_nothing_behind(
    shop: Ana, folder: Path, arguments: list[str], code: int, line: str
) -> None:
    before = sorted(path.name for path in folder.iterdir())
    assert line in shop("export", *arguments, fails=code).err.lower().replace("parquet is", "Parquet is")
    assert sorted(path.name for path in folder.iterdir()) == before


@pytest.mark.parametrize("name", ["a b.csv", "it's.csv", "größe 数.csv", "new\nline.csv"])
def test_hostile_names_of_files(shop: Ana, folder: Path, name: str) -> None:
    done = shop("export", "orders", name)
    assert done.out == f"orders: 3 rows exported to {name.replace(chr(10), chr(92) + 'n')}\n"
    shop("import", "again", name, "--key", "id")
    assert len(shop("table", "show", "again", "--json").json["rows"]) == 3
