"""Importing files: formats, keys, modes, and errors that say what to do."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import threading
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.conftest import Ana

ROWS = [{"id": 1, "name": "a", "price": 1.5}, {"id": 2, "name": "b", "price": None}]


def write(path: Path, rows: list[dict[str, object]]) -> None:
    """Write rows in the format that the file's name says."""
    name = path.name.removesuffix(".gz")
    if name.endswith(".parquet"):
        pq.write_table(pa.Table.from_pylist(rows), path)
        return
    lines = [",".join(rows[0]), *(",".join("" if v is None else str(v) for v in row.values()) for row in rows)]
    text = {"csv": "\n".join(lines), "json": json.dumps(rows), "jsonl": "\n".join(map(json.dumps, rows))}
    content = text[name.rsplit(".", 1)[-1]].encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)


@pytest.fixture
def empty(ana: Ana) -> Ana:
    ana("init")
    return ana


def rows_of(ana: Ana, table: str, *arguments: str) -> list[dict[str, object]]:
    found: list[dict[str, object]] = ana("table", "show", table, "--json", *arguments).json["rows"]
    return found


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.json", "t.json.gz", "t.jsonl", "t.jsonl.gz", "t.parquet"])
def test_a_file_of_any_format_is_imported(empty: Ana, folder: Path, name: str) -> None:
    write(folder / name, ROWS)
    done = empty("import", "t", name, "--key", "id").out
    assert done == "t: created, 2 inserted; staged on main\nPublish it with `ana commit -m MESSAGE`.\n"
    assert rows_of(empty, "t") == ROWS


def test_the_format_can_be_said(empty: Ana, folder: Path) -> None:
    write(folder / "t.csv", ROWS)
    (folder / "t.csv").rename(folder / "export.txt")
    assert "does not tell its format" in empty("import", "t", "export.txt", "--key", "id", fails=2).err
    empty("import", "t", "export.txt", "--key", "id", "--format", "csv")
    assert len(rows_of(empty, "t")) == 2


def test_several_files_make_one_table(empty: Ana, folder: Path) -> None:
    write(folder / "a.csv", ROWS)
    write(folder / "b.json", [{"id": 3, "name": "c", "price": 2}])
    empty("import", "t", "a.csv", "b.json", "--key", "id")
    assert [row["id"] for row in rows_of(empty, "t")] == [1, 2, 3]


def test_a_message_commits_at_once(empty: Ana, folder: Path) -> None:
    write(folder / "t.csv", ROWS)
    done = empty("import", "t", "t.csv", "--key", "id", "-m", "load t", "-m", "all of it", "--author", "bob").out
    assert done.splitlines()[0].startswith("[main ")
    assert done.splitlines()[0].endswith("] load t")
    newest = empty("log", "--json", "-n", "1").json["commits"][0]
    assert (newest["message"], newest["author"], newest["tables"]) == ("load t\n\nall of it", "bob", ["t"])
    assert empty("status", "--json").json["staged"] == []


def test_a_message_publishes_what_was_staged_before_too(shop: Ana, folder: Path) -> None:
    write(folder / "t.csv", ROWS)
    shop("import", "t", "t.csv", "--key", "id")
    write(folder / "u.csv", ROWS)
    done = shop("import", "u", "u.csv", "--key", "id", "-m", "both").out
    assert "  with what was staged before: t\n" in done
    assert shop("log", "--json", "-n", "1").json["commits"][0]["tables"] == ["t", "u"]
    assert shop("status", "--json").json["staged"] == []


def test_the_json_tells_what_came_of_it(shop: Ana, folder: Path) -> None:
    (folder / "more.csv").write_text("id,status,price\n3,sent,7\n4,new,1\n")
    staged = shop("import", "orders", "more.csv", "--upsert", "--json").json
    expected = {"branch": "main", "table": "orders", "created": False, "inserted": 1, "updated": 1, "deleted": 0}
    assert staged == {**expected, "bad_rows": 0, "notes": [], "commit": None}
    shop("reset", "--hard")
    committed = shop("import", "orders", "more.csv", "--upsert", "--json", "-m", "more").json
    assert committed["commit"]["message"] == "more"


def test_append_adds_rows_with_new_keys_only(shop: Ana, folder: Path) -> None:
    (folder / "more.csv").write_text("id,status,price\n4,new,1\n")
    assert shop("import", "orders", "more.csv", "--append").out.startswith("orders: 1 inserted; staged on main\n")
    (folder / "again.csv").write_text("id,status,price\n4,new,2\n1,new,2\n")
    done = shop("import", "orders", "again.csv", "--append", fails=2)
    assert "id=1" in done.err
    assert "id=4" in done.err
    assert len(rows_of(shop, "orders")) == 4


def test_upsert_takes_partial_rows(shop: Ana, folder: Path) -> None:
    (folder / "prices.csv").write_text("id,price\n1,99\n")
    shop("import", "orders", "prices.csv", "--upsert")
    assert rows_of(shop, "orders", "--where", "id = 1") == [{"id": 1, "status": "new", "price": 99.0}]
    (folder / "prices.json").write_text('[{"id": 2, "price": 5}]')
    shop("import", "orders", "prices.json", "--upsert")
    assert rows_of(shop, "orders", "--where", "id = 2") == [{"id": 2, "status": "paid", "price": 5.0}]


def test_upsert_makes_the_table_on_the_first_day(empty: Ana, folder: Path) -> None:
    write(folder / "t.csv", ROWS)
    for _ in range(2):
        empty("import", "t", "t.csv", "--key", "id", "--upsert")
    assert len(rows_of(empty, "t")) == 2


def test_an_upsert_that_changes_nothing_makes_no_commit(shop: Ana) -> None:
    done = shop("import", "orders", "orders.csv", "--upsert", "-m", "again").out
    assert done == "orders: no change; nothing changed, so no commit was made\n"
    assert len(shop("log", "--json").json["commits"]) == 2


@pytest.mark.parametrize(
    ("arguments", "code", "line", "hint"),
    [
        (["orders", "orders.csv"], 4, "there is a table 'orders'", "--append"),
        (["orders", "orders.csv", "--append", "--key", "price"], 2, "has the key id, --key says price", "--key"),
        (["orders", "orders.csv", "--append", "--schema", "id int"], 2, "has its columns already", "--schema"),
        (["orders", "orders.csv", "--append", "--upsert"], 2, "exclude each other", "choose one"),
        (["t", "orders.csv", "--key", "id", "-m", ""], 2, "a commit needs a message", ""),
        (["t", "orders.csv", "--append"], 3, "there is no table 't'", "--key"),
        (["t", "orders.csv", "--key", "number"], 3, "there is no column 'number'", ""),
        (["t", "nowhere.csv", "--key", "id"], 3, "there is no file 'nowhere.csv'", "path"),
        (["t", "empty.csv", "--key", "id"], 2, "'empty.csv' can't be read as csv", "format"),
        (["t", "orders.csv", "--key", "id", "--format", "parquet"], 2, "can't be read as parquet", "format"),
        (["t", "*.tsv", "--key", "id"], 3, "no file matches '*.tsv'", ".csv, .tsv, .json"),
        (["t", ".", "--key", "id", "--format", "parquet"], 3, "folder '.' has no file to read", ".parquet, .pq"),
        (["t", "nokey.csv", "--key", "id"], 2, "id", ""),
        (["orders", "unknown.csv", "--append"], 2, "no column 'colour'", "status"),
        (["orders", "words.csv", "--append"], 2, "'many'", "file"),
    ],
)
def test_what_cannot_be_imported_is_refused_in_one_line(
    shop: Ana, folder: Path, arguments: list[str], code: int, line: str, hint: str
) -> None:
    (folder / "empty.csv").write_text("")
    (folder / "nokey.csv").write_text("id,n\n1,1\n,2\n")
    (folder / "unknown.csv").write_text("id,colour\n9,red\n")
    (folder / "words.csv").write_text("id,price\n9,many\n")
    done = shop("import", *arguments, fails=code)
    said = done.err.splitlines()
    assert len(said) == 2, done.err
    assert line in said[0]
    assert hint in said[1]
    assert shop("status", "--json").json["staged"] == []


def test_a_failed_import_leaves_what_was_staged_before(shop: Ana, folder: Path) -> None:
    write(folder / "t.csv", ROWS)
    shop("import", "t", "t.csv", "--key", "id")
    shop("import", "orders", "orders.csv", "--append", fails=2)
    assert [what["name"] for what in shop("status", "--json").json["staged"]] == ["t"]


def test_types_can_be_declared(empty: Ana, folder: Path) -> None:
    write(folder / "t.csv", ROWS)
    empty("import", "t", "t.csv", "--key", "id", "--schema", "id int, name string, price decimal(12,2), note string")
    columns = empty("table", "show", "t", "--schema", "--json").json["columns"]
    assert [(c["name"], c["type"]) for c in columns] == [
        ("id", "int"),
        ("name", "string"),
        ("price", "decimal(12,2)"),
        ("note", "string"),
    ]
    assert rows_of(empty, "t")[0] == {"id": 1, "name": "a", "price": "1.50", "note": None}


def test_a_table_in_a_namespace_brings_the_namespace(empty: Ana, folder: Path) -> None:
    write(folder / "t.csv", ROWS)
    empty("import", "eu.sales.t", "t.csv", "--key", "id", "-m", "load")
    empty("import", "eu.u", "t.csv", "--key", "id", "-m", "load")
    assert [t["name"] for t in empty("ls", "--json").json["tables"]] == ["eu.sales.t", "eu.u"]


def test_empty_values_are_null_and_quoted_ones_are_empty(empty: Ana, folder: Path) -> None:
    (folder / "t.csv").write_text('id,name,nothing\n1,,\n2,"",\n3,NA,\n')
    empty("import", "t", "t.csv", "--key", "id")
    assert [row["name"] for row in rows_of(empty, "t")] == [None, "", "NA"]
    empty("import", "u", "t.csv", "--key", "id", "--null", "NA")
    assert [row["name"] for row in rows_of(empty, "u")] == [None, "", None]


def test_values_that_look_like_numbers_fit_a_column_of_text(empty: Ana, folder: Path) -> None:
    (folder / "a.csv").write_text("id,code\n1,A7\n")
    (folder / "b.csv").write_text("id,code\n2,007\n")
    empty("import", "t", "a.csv", "--key", "id")
    empty("import", "t", "b.csv", "--append")
    assert [row["code"] for row in rows_of(empty, "t")] == ["A7", "007"]


def test_a_type_that_only_shows_late_in_the_file_is_found(empty: Ana, folder: Path) -> None:
    lines = ["id,value", *(f"{i},{i}" for i in range(200_000)), "200000,1.5", '200001,"a\nb"']
    (folder / "t.csv").write_text("\n".join(lines))
    empty("import", "t", "t.csv", "--key", "id")
    last = rows_of(empty, "t", "--where", "id >= 199999")
    assert [row["value"] for row in last] == ["199999", "1.5", "a\nb"]


def test_objects_are_structs_unless_the_table_has_maps(empty: Ana, tmp_path: Path) -> None:
    (tmp_path / "n.jsonl").write_text('{"id": 1, "m": {"a": 1}, "s": {"x": [1]}}\n{"id": 2}\n')
    file = str(tmp_path / "n.jsonl")
    empty("import", "plain", file, "--key", "id")
    empty(
        "import",
        "mapped",
        file,
        "--key",
        "id",
        "--schema",
        "id int, m map<string,int>, s struct<x:array<int>>",
    )
    (tmp_path / "more.jsonl").write_text('{"id": 2, "m": {"b": 1, "c": null}}')
    empty("import", "mapped", str(tmp_path / "more.jsonl"), "--upsert")
    columns = {c["name"]: c["type"] for c in empty("table", "show", "plain", "--json").json["columns"]}
    assert columns["m"] == "struct<a:bigint>"
    first, second = rows_of(empty, "mapped")
    assert first == {"id": 1, "m": {"a": 1}, "s": {"x": [1]}}
    assert second == {"id": 2, "m": {"b": 1, "c": None}, "s": None}


def test_bad_rows_are_named_or_set_aside(empty: Ana, folder: Path) -> None:
    (folder / "t.csv").write_text('id,n\n1,1\n2\n"3\n",4\n5,x\n')
    schema = ["--key", "id", "--schema", "id string, n int"]
    refused = empty("import", "t", "t.csv", *schema, fails=2).err
    assert (
        "error: 2 bad rows:\n  t.csv:3: it has 1 of 2 fields\n  t.csv:6: column 'n': 'x' does not fit int\n" in refused
    )
    assert "--bad-rows" in refused
    done = empty("import", "t", "t.csv", *schema, "--bad-rows", "bad.csv").out
    assert done.startswith("t: created, 2 inserted, 2 bad rows set aside in bad.csv; staged on main\n")
    assert (folder / "bad.csv").read_text().splitlines()[1:] == [
        "t.csv,3,it has 1 of 2 fields,2",
        "t.csv,6,column 'n': 'x' does not fit int,\"5,x\"",
    ]
    assert empty("import", "t", "t.csv", "--upsert", "--bad-rows", "b.csv", "--json").json["bad_rows"] == 2


def test_how_csv_is_written_can_be_said(empty: Ana, folder: Path) -> None:
    (folder / "t.tsv").write_bytes("Bericht\nid\tgröße\ttag\n1\t1,5\t31.12.2026\n2\t-\t\n".encode("cp1252"))
    options = ["--encoding", "cp1252", "--skip", "1", "--decimal-comma", "--null", "-", "--date-format", "%d.%m.%Y"]
    empty("import", "t", "t.tsv", "--key", "id", *options)
    assert rows_of(empty, "t") == [
        {"id": 1, "größe": 1.5, "tag": "2026-12-31"},
        {"id": 2, "größe": None, "tag": None},
    ]


def test_folders_and_patterns(empty: Ana, folder: Path) -> None:
    for number, path in enumerate(("in/a.csv", "in/deep/b.csv", "in/_c.csv", "in/d.jsonl")):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(f'{{"id": {number}}}' if path.endswith("l") else f"id\n{number}\n")
    empty("import", "t", "in", "--key", "id")
    assert [row["id"] for row in rows_of(empty, "t")] == [0, 1, 3]
    empty("import", "u", "in/**/*.csv", "--key", "id")
    assert [row["id"] for row in rows_of(empty, "u")] == [0, 1]


def test_upsert_refuses_files_with_different_columns(shop: Ana, folder: Path) -> None:
    (folder / "a.csv").write_text("id,price\n1,5\n")
    (folder / "b.csv").write_text("id,status\n1,sent\n")
    assert "lacks column" in shop("import", "orders", "a.csv", "b.csv", "--upsert", fails=2).err


def test_a_full_load_stores_what_differs(empty: Ana, folder: Path) -> None:
    (folder / "one.csv").write_text("id,v\n1,a\n2,b\n3,c\n")
    (folder / "two.csv").write_text("id,v\n2,b\n3,x\n4,d\n")
    assert empty("import", "t", "one.csv", "--overwrite", fails=3).err.startswith("error: there is no table 't'")
    empty("import", "t", "one.csv", "--key", "id", "-m", "load")
    done = empty("import", "t", "two.csv", "--overwrite", "-m", "reload").out
    assert "t: 1 inserted, 1 updated, 1 deleted" in done
    assert [row["v"] for row in rows_of(empty, "t")] == ["b", "x", "d"]
    again = empty("import", "t", "two.csv", "--overwrite").out
    assert again == "t: no change; nothing to stage\n"
    assert "exclude each other" in empty("import", "t", "two.csv", "--overwrite", "--upsert", fails=2).err


@pytest.mark.parametrize("key", ["", " ,"])
def test_a_key_of_no_columns_is_refused(empty: Ana, folder: Path, key: str) -> None:
    write(folder / "t.csv", ROWS)
    assert "--key names no column" in empty("import", "t", "t.csv", "--key", key, fails=2).err


def piped(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))


def test_standard_input_is_imported(empty: Ana, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "spool"))
    (tmp_path / "spool").mkdir()
    piped(monkeypatch, b"id,s\n1,a\n2,\n")
    empty("import", "t", "-", "--format", "csv", "--key", "id")
    assert rows_of(empty, "t") == [{"id": 1, "s": "a"}, {"id": 2, "s": None}]
    piped(monkeypatch, b"id,s\n3,b\n4\n")
    told = empty("import", "t", "-", "--format", "csv", "--append", fails=2).err
    assert "error: 1 bad row: -:3: it has 1 of 2 fields" in told
    assert list((tmp_path / "spool").iterdir()) == []


def test_standard_input_needs_a_format(empty: Ana, monkeypatch: pytest.MonkeyPatch) -> None:
    piped(monkeypatch, b"id\n1\n")
    assert "say --format csv, json or parquet" in empty("import", "t", "-", fails=2).err


def test_a_named_pipe_is_imported(empty: Ana, folder: Path) -> None:
    os.mkfifo(folder / "pipe.csv")
    writer = threading.Thread(target=(folder / "pipe.csv").write_text, args=("id,s\n1,a\n",))
    writer.start()
    empty("import", "t", "pipe.csv", "--key", "id")
    writer.join()
    assert rows_of(empty, "t") == [{"id": 1, "s": "a"}]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["t", "twice.csv", "--key", "id"], "more than once: id=1\n  in twice.csv:2\n  in twice.csv:6\n"),
        (["t", "twice.csv", "more.json", "--key", "n"], "more than once: n='x'\n  in twice.csv:6\n  in more.json:2\n"),
        (["t", "p.parquet", "--key", "id"], "more than once: id=5\n  in p.parquet (row 1)\n  in p.parquet (row 3)\n"),
        (["t", "nokey.jsonl", "--key", "id"], "may not be null: id=NULL; in nokey.jsonl:3"),
        (["orders", "old.json", "--append"], "these keys already: id=2; in old.json:2"),
        (["orders", "low.csv", "--append"], "does not hold for: id=9, price=-1.0; in low.csv:3"),
        (["orders", "unnamed.csv", "--upsert"], "may not be null: id=8, status=NULL; in unnamed.csv:2"),
    ],
)
def test_rows_that_the_table_refuses_are_named_by_file_and_line(
    shop: Ana, folder: Path, arguments: list[str], told: str
) -> None:
    shop("sql", "ALTER TABLE orders ADD CONSTRAINT paid CHECK (price >= 0)")
    shop("sql", "ALTER TABLE orders ALTER COLUMN status SET NOT NULL")
    (folder / "twice.csv").write_text('id,n\n1,a\n2,"b\nc"\n\n1,x\n')
    (folder / "more.json").write_text('[\n{"n": "x"}]')
    (folder / "old.json").write_text('[{"id": 7, "status": "a"},\n{"id": 2, "status": "b"}]')
    (folder / "nokey.jsonl").write_text('{"id": 1}\n\n{"id": null}\n')
    (folder / "low.csv").write_text("id,status,price\n8,new,1\n9,new,-1\n")
    (folder / "unnamed.csv").write_text("id,status\n8,\n")
    pq.write_table(pa.table({"id": [5, 6, 5]}), folder / "p.parquet")
    assert told in shop("import", *arguments, fails=2).err


def test_rows_that_were_set_aside_are_not_counted(empty: Ana, folder: Path) -> None:
    (folder / "t.json").write_text('[{"id": 1}, {"id": "x"}, {"id": 2},\n3,\n{"id": -1}]')
    (folder / "t.csv").write_text("id,n\n5,0\nx,1\n6,-1\n")
    empty("sql", "CREATE TABLE t (id int NOT NULL PRIMARY KEY, n int, CONSTRAINT low CHECK (id > 0 AND n >= 0))")
    types = ["--append", "--bad-rows", "bad.csv"]
    assert "id=-1, n=NULL; in t.json:3" in empty("import", "t", "t.json", *types, fails=2).err
    assert not (folder / "bad.csv").exists(), "nothing was imported, so nothing was set aside"
    assert "id=6, n=-1; in t.csv:4" in empty("import", "t", "t.csv", *types, fails=2).err


def test_rows_whose_keys_no_table_takes_are_set_aside(empty: Ana, folder: Path) -> None:
    (folder / "t.csv").write_text('id,n\n1,a\n,b\n2,"c\nd"\n1,e\n3\n2,f\n')
    (folder / "u.jsonl").write_text('{"id": 4}\n{"id": 1, "n": "z"}\n')
    pq.write_table(pa.table({"id": [5, None, 4], "n": ["x", "y", "w"]}), folder / "v.parquet")
    done = empty("import", "t", "t.csv", "u.jsonl", "v.parquet", "--key", "id", "--bad-rows", "bad.csv").out
    assert done.startswith("t: created, 4 inserted, 7 bad rows set aside in bad.csv")
    assert [row["id"] for row in rows_of(empty, "t")] == [1, 2, 4, 5]
    with open("bad.csv", newline="", encoding="utf-8") as file:
        aside = [(row["file"], int(row["line"]), row["error"], row["text"]) for row in csv.DictReader(file)]
    assert aside == [
        ("t.csv", 7, "it has 1 of 2 fields", "3"),
        ("t.csv", 3, "column 'id' of the key is null", ",b"),
        ("t.csv", 6, "the key id=1 is in t.csv:2", "1,e"),
        ("t.csv", 8, "the key id=2 is in t.csv:4", "2,f"),
        ("u.jsonl", 2, "the key id=1 is in t.csv:2", '{"id": 1, "n": "z"}'),
        ("v.parquet", 2, "column 'id' of the key is null", '{"id": null, "n": "y"}'),
        ("v.parquet", 3, "the key id=4 is in u.jsonl:1", '{"id": 4, "n": "w"}'),
    ]


def test_keys_that_come_twice_get_advice(empty: Ana, folder: Path) -> None:
    (folder / "t.csv").write_text("id,n\n1,a\n1,b\n")
    told = empty("import", "t", "t.csv", "--key", "id", fails=2).err
    assert "--bad-rows FILE takes the first of each" in told
    assert "upsert" not in told


@pytest.mark.parametrize(
    ("content", "arguments", "told"),
    [
        (
            "id,speed\n1,NA\n2,5\n3,6\n4,7\n5,8\n6,9\n",
            [],
            "'speed' is string because of 'NA' (t.csv:2); --null NA makes it bigint",
        ),
        (
            "id,speed\n" + "".join(f"{n},NA\n" for n in range(1, 1200)) + "1200,5\n",
            [],
            "'speed' is string because of 'NA' (t.csv:2); --null NA makes it bigint",
        ),
        (
            "id,at\n1,2026-01-01\n2,2026-01-02\n3,2026-01-02\n4,2026-01-02\n5,soon\n6,2026-01-02\n",
            [],
            "'at' is string because of 'soon' (t.csv:6); --schema 'at date' finds such rows",
        ),
        ("id,,b\n1,2,3\n", [], "column 2 has no name in the header of 't.csv', and is called 'c1'; --rename c1=NEW"),
        ("id,a.b/c\n1,2\n", [], "column 'a.b/c' is called 'a_b_c'; --rename 'a.b/c'=NEW"),
        (
            "id,zip\n1,\n2,90210\n3,01234\n4,00999\n",
            [],
            "'zip' is bigint, '01234' (t.csv:4) loses a zero; --schema 'zip string' keeps it",
        ),
    ],
)
def test_what_may_surprise_is_told(empty: Ana, folder: Path, content: str, arguments: list[str], told: str) -> None:
    (folder / "t.csv").write_text(content)
    done = empty("import", "t", "t.csv", "--key", "id", *arguments)
    assert told in done.err
    assert done.out.startswith("t: created")
    again = empty("import", "u", "t.csv", "--key", "id", "--json").json
    assert told in again["notes"][0]


def test_a_first_line_that_may_be_a_row_is_told(empty: Ana, folder: Path) -> None:
    (folder / "t.csv").write_text("1,tea,2.5\n2,mug,3.5\n")
    told = "the header begins with '1', as a row may; --no-header takes the first line as a row"
    assert empty("import", "t", "t.csv", "--rename", "2.5=price", "--json").json["notes"] == [told]
    assert empty("import", "u", "t.csv", "--no-header", "--json").json["notes"] == []


@pytest.mark.parametrize("content", ["id,zip\n1,5\n", "id,zip\n1,0\n", "id,zip\n1,0.5\n", "id,zip\n1,05-06\n"])
def test_no_zero_is_lost_in_vain(empty: Ana, folder: Path, content: str) -> None:
    (folder / "t.csv").write_text(content)
    assert empty("import", "t", "t.csv", "--json").json["notes"] == []


def test_a_zero_is_found_after_files_that_lack_the_column(empty: Ana, folder: Path) -> None:
    for name, content in {"a.csv": "id\n1\n2\n", "b.csv": "id,zip\n3,7\n4,07\n"}.items():
        (folder / name).write_text(content)
    assert "'07' (b.csv:3)" in empty("import", "t", "a.csv", "b.csv").err


def test_columns_that_a_schema_leaves_out_have_the_types_they_are_read_with(empty: Ana, folder: Path) -> None:
    (folder / "t.csv").write_text("id,zip,at\n1,01234,2026-01-02\n")
    assert empty("import", "t", "t.csv", "--key", "id", "--schema", "ZIP string NOT NULL").err == ""
    columns = empty("table", "show", "t", "--schema", "--json").json["columns"]
    found = [(c["name"], c["type"], c["nullable"]) for c in columns]
    assert found == [("id", "bigint", False), ("ZIP", "string", False), ("at", "date", True)]
    assert rows_of(empty, "t") == [{"id": 1, "ZIP": "01234", "at": "2026-01-02"}]
    refused = empty("import", "u", "t.csv", "--schema", "zap string", fails=3).err
    assert "there is no column 'zap' in the files, for --schema" in refused
    assert "they have id, zip, at" in refused


@pytest.mark.parametrize(
    ("content", "arguments", "hint"),
    [
        (b"id;n\n1;2\n", ["--key", "id"], "the files seem to need --delimiter ';'"),
        (b"id,n\n1,\xe9\n", ["--key", "id"], "--encoding cp1252"),
        (b"id;n;p\n1;\xe9;1,5\n", ["--key", "id"], "two bytes; or the file seems to need --delimiter"),
        (b"id;n\n1;1,5\n", ["--key", "id"], "the file seems to need --delimiter ';'; or correct"),
        (b"id,n\n,1\n", ["--key", "id"], "correct the file, or set such rows aside with --bad-rows FILE"),
        (b"id,n\n1,NA\n", ["--key", "id", "--schema", "id int, n int"], "--null NA takes it as null"),
        (b"id,n\n1,-\n2,x\n", ["--key", "id", "--schema", "id int, n int"], "hint: correct the file"),
        ("id,n\n1,2\n".encode("utf-16"), ["--key", "id"], "--encoding utf-16"),
        (b"a.b,a/b\n1,2\n", [], "rename one of them (--rename OLD=NEW"),
    ],
)
def test_hints_guess_what_is_wrong_with_a_file(
    empty: Ana, folder: Path, content: bytes, arguments: list[str], hint: str
) -> None:
    (folder / "t.csv").write_bytes(content)
    told = empty("import", "t", "t.csv", *arguments, fails=3 if b"2" in content and b";" in content else 2).err
    assert hint in told


def test_columns_with_names_that_no_table_takes_are_renamed(empty: Ana, folder: Path) -> None:
    (folder / "t.csv").write_text("Site,Delta 15 N (o/oo),a=b\nx,1.5,1\ny,,2\n")
    empty("import", "plain", "t.csv", "--key", "Site")
    assert rows_of(empty, "plain")[0] == {"Site": "x", "Delta 15 N (o_oo)": 1.5, "a=b": 1}
    rename = ["--rename", "Delta 15 N (o/oo)=d15n", "--rename", "a=b=ab"]
    empty("import", "t", "t.csv", "--key", "Site", *rename)
    assert rows_of(empty, "t")[0] == {"Site": "x", "d15n": 1.5, "ab": 1}
    (folder / "more.csv").write_text("place,d15n,ab\nz,2,3\n")
    refused = empty("import", "t", "more.csv", "--append", fails=2).err
    assert "table 't' has no column 'place'" in refused
    assert "it has Site, d15n, ab; --rename place=NEW" in refused
    empty("import", "t", "more.csv", "--append", "--rename", "place=Site")
    assert len(rows_of(empty, "t")) == 3
    for wrong in (["--rename", "place"], ["--rename", "=x"], ["--rename", "a=b", "--rename", "a=c"]):
        empty("import", "t", "more.csv", "--append", *wrong, fails=2)


@pytest.mark.usefixtures("spark")  # only Spark reads a variant
@pytest.mark.parametrize("content", ["", "[]"])
def test_json_without_rows_has_the_columns_of_the_table(shop: Ana, folder: Path, content: str) -> None:
    (folder / "none.json").write_text(content)
    for mode in ("--append", "--upsert", "--overwrite"):
        done = shop("import", "orders", "none.json", mode).out
        assert ("3 deleted" in done) == (mode == "--overwrite")
    shop("import", "t", "none.json", "--key", "id", "--schema", "id int, v variant, m map<string,int>")
    assert rows_of(shop, "t") == []


@pytest.mark.parametrize(
    ("condition", "told"),
    [
        ("id > 5", "these rows are not among those that the condition selects (id > 5)"),
        ("id >", "overwrite of 'orders': --replace-where, line 1, column 5: the text ends"),
    ],
)
def test_errors_of_a_condition_speak_of_the_option(shop: Ana, condition: str, told: str) -> None:
    said = shop("import", "orders", "orders.csv", "--replace-where", condition, fails=2).err
    assert told in said
    assert "where= " not in said


def test_a_file_without_rows_makes_a_table_that_has_none_yet(empty: Ana, folder: Path) -> None:
    (folder / "t.csv").write_text("id,a\n")
    assert empty("import", "t", "t.csv").out.startswith("t: created, no rows yet; staged on main")
    (folder / "t.csv").write_text("id,a\n1,x\n")
    assert empty("import", "u", "t.csv").out.startswith("u: created, 1 inserted; staged")
