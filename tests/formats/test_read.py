"""Files in, on both engines: what is found, how text becomes values, and what is told of rows that can't be taken."""

from __future__ import annotations

import bz2
import csv
import gzip
import json
import lzma
import zipfile
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import anabranch as ab
from anabranch.errors import AlreadyExists, InvalidRequest, NotFound

pytestmark = pytest.mark.usefixtures("folder")


def rows_of(repo: ab.Repository, *paths: str, key: str = "id", **options: Any) -> list[dict[str, Any]]:
    """Import files into a new table, and read it."""
    found = repo.read_files(paths, **options)
    with repo.commit("main", "load") as tx:
        tx.create_table("t", found.rows, key=key, schema=options.get("schema"))
    return repo.table("t").head(100)


def types_of(repo: ab.Repository) -> dict[str, str]:
    return {c.name: str(c.type) for c in repo.table("t").schema}


INFERRED = (
    "id,n,x,b,d,l,z,s,zip,clock,nothing,mixed\n"
    "1,5,1.5,true,2026-01-02,2026-01-02 03:04:05,2026-01-02T03:04:05.25+01:00,tea,007,12:30:00,,1\n"
    '2, -7 ,1e3,FALSE,,2026-01-02T03:04,2026-01-02 03:04Z,"a ""b"",\nc",010,,,x\n'
    '3,,nan,,2026-12-31,,,"",,,,\n'
    "4,+1,-Infinity,,,,,é,,,,2026-01-01\n"
)


@pytest.mark.connect
@pytest.mark.contract
def test_types_are_inferred_over_all_rows(repo: ab.Repository, folder: Path) -> None:
    (folder / "t.csv").write_text(INFERRED, "utf-8")
    rows = rows_of(repo, "t.csv")
    assert types_of(repo) == {
        "id": "bigint",
        "n": "bigint",
        "x": "double",
        "b": "boolean",
        "d": "date",
        "l": "timestamp_ntz",
        "z": "timestamp",
        "s": "string",
        "zip": "bigint",
        "clock": "string",
        "nothing": "string",
        "mixed": "string",
    }
    assert [row["n"] for row in rows] == [5, -7, None, 1]
    assert str([row["x"] for row in rows]) == "[1.5, 1000.0, nan, -inf]"
    assert [row["b"] for row in rows] == [True, False, None, None]
    assert rows[0]["d"] == date(2026, 1, 2)
    assert [row["l"] for row in rows[:2]] == [datetime(2026, 1, 2, 3, 4, 5), datetime(2026, 1, 2, 3, 4)]
    assert rows[0]["z"] == datetime(2026, 1, 2, 2, 4, 5, 250_000, tzinfo=UTC)
    assert [row["s"] for row in rows] == ["tea", 'a "b",\nc', "", "é"]
    assert [row["mixed"] for row in rows] == ["1", "x", None, "2026-01-01"]


DECLARED = (
    "id int, price decimal(6,2), ok boolean, at timestamp, local timestamp_ntz, raw binary, small tinyint, f float"
)


def test_text_is_converted_to_declared_types(repo: ab.Repository, folder: Path) -> None:
    (folder / "t.csv").write_text(
        "id,price,ok,at,local,raw,small,f\n"
        "1,1.500,yes,2026-01-01,2026-01-01,00fF,-128,.5\n"
        '2,-9999.99,0,2026-01-01 10:00,2026-01-01 10:00:00.000001,"",127,1e-3\n'
        "3,,,2026-07-01T10:00:00-0230,,,,\n"
    )
    rows = rows_of(repo, "t.csv", schema=DECLARED)
    assert [row["price"] for row in rows] == [Decimal("1.50"), Decimal("-9999.99"), None]
    assert [row["ok"] for row in rows] == [True, False, None]
    assert [row["at"] for row in rows] == [
        datetime(2026, 1, 1, tzinfo=UTC),
        datetime(2026, 1, 1, 10, tzinfo=UTC),
        datetime(2026, 7, 1, 12, 30, tzinfo=UTC),
    ]
    assert [row["local"] for row in rows] == [datetime(2026, 1, 1), datetime(2026, 1, 1, 10, 0, 0, 1), None]
    assert [row["raw"] for row in rows] == [b"\x00\xff", b"", None]
    assert [row["small"] for row in rows] == [-128, 127, None]


BAD = (
    "id,price,ok,at,local,raw,small,f\n"
    '1,1.505,,,,,,\n"2",,,,\n3,,maybe,,,,,\n\n4,,,"2026-02-30\n",,,,\n5,,,,2026-01-01Z,,,\n'
    "6,,,,,abc,,\n7,,,,,,128,\n8,,,,,,,0x1\n9,,,,,,,1,2\n10,1,,,,,,\n"
)
BAD_LINES = {
    2: "column 'price': '1.505' does not fit decimal(6,2)",
    3: "it has 5 of 8 fields",
    4: "column 'ok': 'maybe' does not fit boolean",
    6: "column 'at': '2026-02-30\\n' does not fit timestamp",
    8: "column 'local': '2026-01-01Z' does not fit timestamp_ntz",
    9: "column 'raw': 'abc' does not fit binary",
    10: "column 'small': '128' does not fit tinyint",
    11: "column 'f': '0x1' does not fit float",
    12: "it has 9 of 8 fields",
}


@pytest.mark.contract
def test_bad_rows_are_refused_with_their_lines(repo: ab.Repository, folder: Path) -> None:
    (folder / "t.csv").write_text(BAD)
    with pytest.raises(InvalidRequest) as told:
        repo.read_files("t.csv", schema=DECLARED)
    named = [f"t.csv:{line}: {error}" for line, error in BAD_LINES.items()][:5]
    assert told.value.message == "\n  ".join(["9 bad rows:", *named, "and 4 more"])


def test_bad_rows_are_set_aside(repo: ab.Repository, folder: Path) -> None:
    (folder / "t.csv").write_text(BAD)
    found = repo.read_files("t.csv", schema=DECLARED, bad_rows="bad.csv")
    assert found.bad_count == 9
    with repo.commit("main", "load") as tx:
        tx.create_table("t", found.rows, key="id", schema=DECLARED)
    assert [row["id"] for row in repo.table("t").head()] == [10]
    with open("bad.csv", newline="", encoding="utf-8") as file:
        aside = list(csv.DictReader(file))
    assert {int(row["line"]): row["error"] for row in aside} == BAD_LINES
    assert {row["file"] for row in aside} == {"t.csv"}
    assert [row["text"] for row in aside][:2] == ["1,1.505,,,,,,", '"2",,,,']
    with pytest.raises(AlreadyExists):
        repo.read_files("t.csv", schema=DECLARED, bad_rows="bad.csv")


def test_no_file_is_made_for_bad_rows_that_are_not_there(duck: ab.Repository, folder: Path) -> None:
    (folder / "t.csv").write_text("id\n1\n")
    duck.read_files("t.csv", bad_rows="bad.csv")
    assert [path.name for path in folder.iterdir()] == ["t.csv"]


def test_text_in_the_wrong_encoding_is_a_bad_row(repo: ab.Repository, folder: Path) -> None:
    (folder / "t.csv").write_bytes("id,s\n1,é\n".encode() + b"2,\xe9\n3,x\n")
    with pytest.raises(InvalidRequest, match=r"1 bad row: t.csv:3: column 's' is not text in this encoding"):
        repo.read_files("t.csv")
    assert [row["s"] for row in rows_of(repo, "t.csv", bad_rows="bad.csv")] == ["é", "x"]


def test_a_row_with_the_wrong_number_of_fields_may_be_in_another_encoding(repo: ab.Repository, folder: Path) -> None:
    (folder / "t.csv").write_bytes("id,s\n1,é\n".encode() + b"2,\xe9,x\n3,\xe9\n4,\n")
    with pytest.raises(InvalidRequest) as told:
        repo.read_files("t.csv")
    assert told.value.message.split("\n  ") == [
        "2 bad rows:",
        "t.csv:3: it has 3 of 2 fields, and is not text in this encoding",
        "t.csv:4: column 's' is not text in this encoding",
    ]
    assert "--encoding cp1252" in (told.value.hint or "")
    assert [row["s"] for row in rows_of(repo, "t.csv", bad_rows="bad.csv")] == ["é", None]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "latin-1", "cp1252", "utf-16"])
def test_encodings(repo: ab.Repository, folder: Path, encoding: str) -> None:
    text = "é" if encoding == "latin-1" else "é€"
    (folder / "t.csv").write_bytes(f"id,größe\n1,{text}\n2,\n".encode(encoding))
    assert rows_of(repo, "t.csv", encoding=encoding) == [{"id": 1, "größe": text}, {"id": 2, "größe": None}]


@pytest.mark.parametrize(
    ("content", "options"),
    [
        ("id;x\n1;1,5\n2;-2\n", {"delimiter": ";", "decimal_comma": True}),
        ("id\tx\n1\t1.5\n2\t-2\n", {"delimiter": "tab"}),
        ("'id'|'x'\n1|'1.5'\n2|-2\n", {"delimiter": "|", "quote": "'"}),
        ('id,x\n1,1.5\n2,-2\n3,NA\n4,"n/a"\n', {"nulls": ("NA", "n/a")}),
    ],
)
def test_ways_to_write_csv(duck: ab.Repository, folder: Path, content: str, options: dict[str, Any]) -> None:
    (folder / "t.csv").write_text(content)
    assert rows_of(duck, "t.csv", **options)[:2] == [{"id": 1, "x": 1.5}, {"id": 2, "x": -2.0}]
    assert [row["x"] for row in duck.table("t").head()][2:] == [None] * (content.count("\n") - 3)


def test_several_ways_to_write_csv_at_once(repo: ab.Repository, folder: Path) -> None:
    (folder / "t.csv").write_text("'id'|x|'s'\n1|'1,5'|'a|''b'\n2|-2|NA\n3|n/a|\"\n")
    options = {"delimiter": "|", "quote": "'", "decimal_comma": True, "nulls": ("NA", "n/a")}
    assert rows_of(repo, "t.csv", **options) == [
        {"id": 1, "x": 1.5, "s": "a|'b"},
        {"id": 2, "x": -2.0, "s": None},
        {"id": 3, "x": None, "s": '"'},
    ]


def test_quotes_can_be_escaped(repo: ab.Repository, folder: Path) -> None:
    (folder / "t.csv").write_text('id,s\n1,"a \\"b\\", c"\n2,"x\ny"\n')
    assert [row["s"] for row in rows_of(repo, "t.csv", escape="\\")] == ['a "b", c', "x\ny"]


def test_dates_and_times_have_formats(repo: ab.Repository, folder: Path) -> None:
    (folder / "t.csv").write_text("id,d,t\n1,31/12/2026,1.2.2026 3:04:05.5\n2,1/2/2026,\n")
    rows = rows_of(repo, "t.csv", date_format="%d/%m/%Y", timestamp_format="%d.%m.%Y %H:%M:%S.%f")
    assert [row["d"] for row in rows] == [date(2026, 12, 31), date(2026, 2, 1)]
    assert [row["t"] for row in rows] == [datetime(2026, 2, 1, 3, 4, 5, 500_000), None]
    assert types_of(repo) == {"id": "bigint", "d": "date", "t": "timestamp_ntz"}


def test_a_file_without_a_header(repo: ab.Repository, folder: Path) -> None:
    (folder / "t.csv").write_text("1,tea\n2,mug\n")
    assert rows_of(repo, "t.csv", key="c0", header=False) == [{"c0": 1, "c1": "tea"}, {"c0": 2, "c1": "mug"}]
    found = repo.read_files("t.csv", header=False, schema="id int, name string")
    with repo.commit("main", "load") as tx:
        tx.create_table("u", found.rows, key="id")
    assert repo.table("u").head() == [{"id": 1, "name": "tea"}, {"id": 2, "name": "mug"}]
    with pytest.raises(InvalidRequest, match="2 fields in its first row, 1 columns are declared"):
        repo.read_files("t.csv", header=False, schema="id int")


def test_lines_can_be_skipped(repo: ab.Repository, folder: Path) -> None:
    (folder / "t.csv").write_text('report "of today\n\nid,n\n1,2\n3,x\n')
    assert rows_of(repo, "t.csv", skip=2) == [{"id": 1, "n": "2"}, {"id": 3, "n": "x"}]
    with pytest.raises(InvalidRequest, match=r"t\.csv:5"):
        repo.read_files("t.csv", skip=2, schema="id int, n int")


def test_json_lines_and_arrays(repo: ab.Repository, folder: Path) -> None:
    rows = [
        {"id": 1, "n": 1.5, "ok": True, "d": "2026-01-01", "mixed": 1},
        {"id": 2, "n": 2, "ok": None, "d": None, "mixed": "x"},
        {"id": 3, "late": "tea"},
    ]
    (folder / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (folder / "b.json").write_text(json.dumps([{**row, "id": row["id"] + 10} for row in rows], indent=2))
    found = rows_of(repo, "a.jsonl", "b.json")
    assert list(found[0]) == ["id", "n", "ok", "d", "mixed", "late"]
    assert [row["id"] for row in found] == [1, 2, 3, 11, 12, 13]
    assert found[0] == {"id": 1, "n": 1.5, "ok": True, "d": date(2026, 1, 1), "mixed": "1", "late": None}
    assert found[4] == {"id": 12, "n": 2.0, "ok": None, "d": None, "mixed": "x", "late": None}
    assert found[5]["late"] == "tea"


def test_bad_lines_of_json_are_named(repo: ab.Repository, folder: Path) -> None:
    (folder / "t.jsonl").write_text('{"id": 1, "n": 1}\n\n{"id": 2, "n": "many"}\n{"id": \n{"id": 4, "n": "4"}\n')
    with pytest.raises(InvalidRequest) as told:
        repo.read_files("t.jsonl", schema="id int, n int")
    assert "2 bad rows:\n  t.jsonl:3: column 'n': 'many' does not fit int\n  t.jsonl:4: not JSON" in told.value.message
    rows = rows_of(repo, "t.jsonl", schema="id int, n int", bad_rows="bad.csv")
    assert rows == [{"id": 1, "n": 1}, {"id": 4, "n": 4}]


def test_a_mistake_in_an_array_is_named_by_its_line(duck: ab.Repository, folder: Path) -> None:
    (folder / "t.json").write_text('[\n{"id": 1},\n{"id": 2,}\n]')
    with pytest.raises(InvalidRequest, match=r"t\.json:3: the array can't be read as json"):
        duck.read_files("t.json")


def test_files_folders_patterns_and_compression_together(repo: ab.Repository, folder: Path) -> None:
    (folder / "in" / "deep" / "_temporary").mkdir(parents=True)
    (folder / "in" / "a.csv").write_text("id,n\n1,1\n")
    (folder / "in" / "deep" / "b.csv.gz").write_bytes(gzip.compress(b"n,id\n2,2\n"))
    (folder / "in" / "deep" / "c.csv.bz2").write_bytes(bz2.compress(b"id,n,late\n3,3.5,x\n"))
    (folder / "in" / "deep" / "_temporary" / "no.csv").write_text("id,n\n9,9\n")
    for name in ("_SUCCESS", ".hidden.csv", "notes.txt", "empty.csv"):
        (folder / "in" / name).write_text("" if name == "empty.csv" else "id\n8\n")
    (folder / "more d.jsonl").write_text('{"id": 4, "n": 4}\n')
    rows = rows_of(repo, "in", "*.jsonl", "in/**/b.csv.gz")
    assert [(row["id"], row["n"], row["late"]) for row in rows] == [
        (1, 1.0, None),
        (2, 2.0, None),
        (3, 3.5, "x"),
        (4, 4.0, None),
    ]


def test_folders_with_values_in_their_names_give_columns(repo: ab.Repository, folder: Path) -> None:
    for year, id_ in ((2025, 1), (2026, 2)):
        part = folder / "sales" / f"year={year}" / ("place=a%2Fb" if id_ == 1 else "place=__HIVE_DEFAULT_PARTITION__")
        part.mkdir(parents=True)
        pq.write_table(pa.table({"id": [id_]}), part / "part-00000.parquet")
        (part / "x.csv").write_text(f"id\n{id_ + 10}\n")
    expected = [
        {"id": 1, "year": 2025, "place": "a/b"},
        {"id": 2, "year": 2026, "place": None},
        {"id": 11, "year": 2025, "place": "a/b"},
        {"id": 12, "year": 2026, "place": None},
    ]
    assert rows_of(repo, "sales") == expected


HOSTILE = ("a b.csv", 'it\'s "q".csv', "größe 数.csv", "new\nline.csv", "100%.csv")


def test_hostile_names_of_files(repo: ab.Repository, folder: Path) -> None:
    for number, name in enumerate(HOSTILE):
        (folder / name).write_text(f"id,n\n{number},x\n")
    assert [row["id"] for row in rows_of(repo, *HOSTILE)] == list(range(len(HOSTILE)))
    with pytest.raises(InvalidRequest) as told:
        repo.read_files(HOSTILE, schema="id int, n int")
    assert f"{HOSTILE[4]}:2: column 'n'" in told.value.message


@pytest.mark.parametrize("name", ["[x].csv", "{y}*?.csv", "a:b.csv", "_z.csv"])
def test_names_that_spark_has_a_meaning_for(repo: ab.Repository, folder: Path, name: str) -> None:
    (folder / name).write_text("id\n1\n")
    assert rows_of(repo, name) == [{"id": 1}]


def test_what_is_not_there_is_told_with_what_was_looked_for(duck: ab.Repository, folder: Path) -> None:
    (folder / "empty").mkdir()
    for path, words in (("no.csv", "no file 'no.csv'"), ("*.csv", "no file matches"), ("empty", "has no file to read")):
        with pytest.raises(NotFound, match=words.replace("*", r"\*")):
            duck.read_files(path)
    with pytest.raises(NotFound) as told:
        duck.read_files("empty", format="json")
    assert ".json, .jsonl, .ndjson (also .gz, .bz2, .zst, .xz), and in .zip" in (told.value.hint or "")


def test_a_file_that_lacks_a_column(repo: ab.Repository, folder: Path) -> None:
    (folder / "a.csv").write_text("id,n\n1,1\n")
    (folder / "b.csv").write_text("id\n2\n")
    assert [row["n"] for row in rows_of(repo, "a.csv", "b.csv")] == [1, None]
    with pytest.raises(InvalidRequest, match=r"'b.csv' lacks column 'n'"):
        repo.read_files(["a.csv", "b.csv"], equal_columns=True)
    with pytest.raises(InvalidRequest, match=r"'b.csv' lacks column 'n'"):
        repo.read_files(["a.csv", "b.csv"], schema="id int, n int not null")


def test_parquet_keeps_its_types(repo: ab.Repository, folder: Path) -> None:
    rows = [{"id": 1, "d": Decimal("1.50"), "t": datetime(2026, 1, 1, tzinfo=UTC), "b": b"x", "s": ""}]
    types = pa.schema(
        {
            "id": pa.int32(),
            "d": pa.decimal128(9, 2),
            "t": pa.timestamp("us", "UTC"),
            "b": pa.binary(),
            "s": pa.string(),
        }
    )
    pq.write_table(pa.Table.from_pylist(rows, types), folder / "t.parquet")
    assert rows_of(repo, "t.parquet") == rows
    assert types_of(repo) == {"id": "int", "d": "decimal(9,2)", "t": "timestamp", "b": "binary", "s": "string"}


def test_instants_in_the_old_form_of_parquet_are_instants(repo: ab.Repository, folder: Path) -> None:
    moment = datetime(2026, 1, 1, 12, tzinfo=UTC)
    made = pa.table({"id": [1], "t": pa.array([moment], pa.timestamp("us", "UTC"))})
    pq.write_table(made, folder / "t.parquet", use_deprecated_int96_timestamps=True)
    assert rows_of(repo, "t.parquet") == [{"id": 1, "t": moment}]


def test_large_input_goes_to_spark_by_itself(tmp_path: Path, spark: Any, folder: Path) -> None:
    (folder / "t.csv.gz").write_bytes(gzip.compress(b"id\n" + b"\n".join(b"%d" % i for i in range(5000))))
    size = (folder / "t.csv.gz").stat().st_size
    for threshold, on_spark in ((size * 4, True), (size * 6, False)):
        settings = ab.Settings(spark=ab.SparkSettings(threshold_bytes=threshold))
        with ab.init(tmp_path / f"s{threshold}", spark=spark, settings=settings) as repo:
            found = repo.read_files("t.csv.gz")
            assert isinstance(found.rows, pa.Table) is not on_spark
            assert found.row_count == 5000
            with repo.commit("main", "load") as tx:
                tx.create_table("t", found.rows, key="id")
            assert repo.table("t").count() == 5000


def test_options_that_cannot_be(duck: ab.Repository, folder: Path) -> None:
    (folder / "t.csv").write_text("id\n1\n")
    for options, words in (
        ({"delimiter": "||"}, "the delimiter is '||', one plain character was expected"),
        ({"quote": ","}, "the delimiter and the quote are both ','"),
        ({"encoding": "klingon"}, "there is no encoding 'klingon'"),
        ({"date_format": "%Q"}, "has %Q, which is not known"),
        ({"colour": "red"}, "there is no option 'colour' for files"),
        ({"schema": "id"}, "a name and a type were expected"),
    ):
        with pytest.raises(InvalidRequest) as told:
            duck.read_files("t.csv", **options)
        assert words in told.value.message
    (folder / "twins.csv").write_text("id,ID\n1,2\n")
    with pytest.raises(InvalidRequest, match="two columns 'ID'"):
        duck.read_files("twins.csv")


def test_a_table_is_exported_in_pieces_and_in_order(repo: ab.Repository, folder: Path) -> None:
    with repo.commit("main", "load") as tx:
        tx.create_table("t", [{"id": i, "at": datetime(2026, 1, 1, tzinfo=UTC), "s": ""} for i in (3, 1, 2)], key="id")
    before = sorted((folder.parent / "store").rglob("*"))
    table = repo.table("t", where="id > 1")
    assert table.export("t.csv") == 2
    assert (folder / "t.csv").read_text() == 'id,at,s\n2,2026-01-01T00:00:00Z,""\n3,2026-01-01T00:00:00Z,""\n'
    assert table.export("t.parquet") == 2
    assert pq.read_table("t.parquet").to_pylist() == table.head()
    assert [path for path in sorted((folder.parent / "store").rglob("*.parquet")) if path not in before] == []


NESTED = "id int, a array<int>, s struct<x:int,y:string>, m map<string,array<double>>, k map<int,string>"


@pytest.mark.parametrize("name", ["t.jsonl", "t.json", "t.csv", "t.parquet"])
def test_nested_values_go_out_and_come_back(duck: ab.Repository, tmp_path: Path, name: str) -> None:
    rows = [
        {"id": 1, "a": [1, None], "s": {"x": 1, "y": "q,\"'"}, "m": {"k": [0.5], "": []}, "k": {1: "a"}},
        {"id": 2, "a": [], "s": {"x": None, "y": None}, "m": {}, "k": {}},
        {"id": 3, "a": None, "s": None, "m": None, "k": None},
    ]
    with duck.commit("main", "make") as tx:
        tx.create_table("t", rows, schema=NESTED, key="id")
    duck.table("t").export(str(tmp_path / name))
    read = duck.read_files(str(tmp_path / name), schema=duck.table("t").schema)
    with duck.commit("main", "again") as tx:
        assert tx.table("t").overwrite(read.rows).rows == 0
    assert duck.table("t").head() == rows


OPEN_QUOTES = {
    "rest": ('id,s\n1,"a\nb"\n2,"b\n3,c\n4,d\n', 4, '2,"b\n3,c\n4,d'),
    "truncated": ('id,s\n1,"a\nb"\n2,"abc', 4, '2,"abc'),
    "first": ('id,s\n"1,b\n2,c\n', 2, '"1,b\n2,c'),
}


@pytest.mark.parametrize("case", OPEN_QUOTES)
def test_a_quote_that_is_not_closed_is_a_bad_row(repo: ab.Repository, folder: Path, case: str) -> None:
    content, line, text = OPEN_QUOTES[case]
    (folder / "t.csv").write_text(content)
    with pytest.raises(InvalidRequest, match=rf"^1 bad row: t\.csv:{line}: a quote is not closed \("):
        repo.read_files("t.csv")
    rows = rows_of(repo, "t.csv", bad_rows="bad.csv")
    assert [row["s"] for row in rows] == ([] if case == "first" else ["a\nb"])
    with open("bad.csv", newline="", encoding="utf-8") as file:
        assert [row["text"] for row in csv.DictReader(file)] == [text]


def test_an_open_quote_in_a_file_without_a_header(duck: ab.Repository, folder: Path) -> None:
    (folder / "t.csv").write_text('1,"a\n2,b\n')
    with pytest.raises(InvalidRequest, match=r"t\.csv:1: a quote is not closed"):
        duck.read_files("t.csv", header=False)


def test_a_quote_that_is_not_closed_in_the_header(repo: ab.Repository, folder: Path) -> None:
    (folder / "t.csv").write_text('id,"s\n1,a\n')
    with pytest.raises(InvalidRequest, match=r"^t\.csv:1: a quote is not closed"):
        repo.read_files("t.csv")


def test_quotes_within_fields_are_just_text(repo: ab.Repository, folder: Path) -> None:
    (folder / "t.csv").write_text('id,s\n1,5" pipe\n2,"a ""b"" c"\n3,x\n')
    assert [row["s"] for row in rows_of(repo, "t.csv")] == ['5" pipe', 'a "b" c', "x"]


@pytest.mark.parametrize(
    ("content", "options"),
    [("id,s", {}), ("id,s\n", {}), ("report\nid,s", {"skip": 1}), ("report\nid,s\n", {"skip": 1})],
)
def test_a_header_alone_is_a_table_without_rows(
    duck: ab.Repository, folder: Path, content: str, options: dict[str, Any]
) -> None:
    (folder / "t.csv").write_text(content)
    assert rows_of(duck, "t.csv", **options) == []
    assert list(types_of(duck)) == ["id", "s"]


LONG_NUMBERS = {
    "ids": (("12345678901234567890", "12345678901234567891", "-7"), "decimal(20,0)"),
    "round": (("10000000000000000000", "0"), "decimal(20,0)"),
    "fractions": (("9007199254740993", "2.50", "+1"), "decimal(17,1)"),
    "money": (("1234567890123456.78", "2"), "decimal(18,2)"),
    "small": (("123456789012345", "2.5"), "double"),
    "kept": (("123456789012345680000", "1.5e-7"), "double"),
    "powers": (("12345678901234567891", "1e3"), "string"),
    "most": (("9" * 38, "1"), "decimal(38,0)"),
    "more": (("9" * 39, "1"), "string"),
    "beyond": (("9" * 38, "1.5"), "string"),
}


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl", "t.json"])
def test_long_numbers_are_not_rounded(repo: ab.Repository, folder: Path, name: str) -> None:
    places = range(max(len(texts) for texts, _ in LONG_NUMBERS.values()))
    lines = [[texts[i] if i < len(texts) else "" for texts, _ in LONG_NUMBERS.values()] for i in places]
    if name == "t.csv":
        content = "\n".join(f"{i},{','.join(line)}" for i, line in enumerate([LONG_NUMBERS, *lines]))
        content = content.replace("0", "id", 1)
    else:
        pairs = [zip(LONG_NUMBERS, line, strict=True) for line in lines]
        made = [", ".join(f'"{n}": {t.lstrip("+") or "null"}' for n, t in pair) for pair in pairs]
        rows_ = [f'{{"id": {i}, {row}}}' for i, row in enumerate(made, 1)]
        content = "\n".join(rows_) if name == "t.jsonl" else f"[{', '.join(rows_)}]"
    (folder / name).write_text(content)
    rows = rows_of(repo, name)
    expected = {case: type_ for case, (_, type_) in LONG_NUMBERS.items()}
    assert {case: type_ for case, type_ in types_of(repo).items() if case != "id"} == expected
    for case, (texts, type_) in LONG_NUMBERS.items():
        found = [row[case] for row in rows][: len(texts)]
        if type_ != "string":
            assert found == [float(t) if type_ == "double" else Decimal(t) for t in texts]


def test_long_numbers_inside_json_are_not_rounded(repo: ab.Repository, folder: Path) -> None:
    (folder / "t.jsonl").write_text('{"id": 1, "a": {"b": 12345678901234567891}}\n{"id": 2, "a": {"b": 1}}\n')
    assert "12345678901234567891" in str(rows_of(repo, "t.jsonl")[0]["a"])


def test_files_whose_numbers_have_no_common_type_are_refused(duck: ab.Repository, folder: Path) -> None:
    (folder / "a.csv").write_text("id,n\n1,12345678901234567891\n")
    (folder / "b.jsonl").write_text('{"id": 2, "n": 2.5}\n')
    with pytest.raises(InvalidRequest, match="different types"):
        duck.read_files(["a.csv", "b.jsonl"])


def test_bad_lines_of_json_are_named_without_declared_types(repo: ab.Repository, folder: Path) -> None:
    (folder / "t.jsonl").write_bytes(b'{"id": 1, "s": "\xc3\xa9"}\n{"id": 2, "s": "\xe9"}\n{"id": 3,\n{"id": 4}\n')
    with pytest.raises(
        InvalidRequest, match=r"2 bad rows:\n  t\.jsonl:2: not text in this encoding\n  t\.jsonl:3: not JSON"
    ):
        repo.read_files("t.jsonl")
    assert [row["s"] for row in rows_of(repo, "t.jsonl", bad_rows="bad.csv")] == ["é", None]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends_within_quotes_are_kept(repo: ab.Repository, folder: Path, end: str) -> None:
    lines = ["id,s", f'1,"a{end}b"', '2,"a\nb"', "3,c", ""]
    (folder / "t.csv").write_bytes(end.join(lines).encode())
    assert [row["s"] for row in rows_of(repo, "t.csv")] == [f"a{end}b", "a\nb", "c"]


def test_no_row_is_lost_where_a_text_is_no_number_with_a_decimal_comma(repo: ab.Repository, folder: Path) -> None:
    (folder / "t.csv").write_text("id;x;y\n1;1,5;1.5\n2;-2;3\n")
    rows = rows_of(repo, "t.csv", delimiter=";", decimal_comma=True)
    assert rows == [{"id": 1, "x": 1.5, "y": "1.5"}, {"id": 2, "x": -2.0, "y": "3"}]


def test_both_engines_take_the_same_texts_for_floats(repo: ab.Repository, folder: Path) -> None:
    (folder / "t.csv").write_text("id,x\n1,1d\n2,inf\n3,+nan\n4,-Infinity\n5,0x1p3\n6,1e2\n")
    rows = rows_of(repo, "t.csv", schema="id int, x double", bad_rows="bad.csv")
    assert [row["id"] for row in rows] == [2, 4, 6]
    assert [row["line"] for row in csv.DictReader((folder / "bad.csv").read_text().splitlines())] == ["2", "4", "6"]


def test_null_in_the_text_of_an_array_is_no_array(repo: ab.Repository, folder: Path) -> None:
    (folder / "t.csv").write_text('id,a\n1,"[1]"\n2,null\n3,x\n')
    found = repo.read_files("t.csv", schema="id int, a array<int>", bad_rows="bad.csv")
    assert (found.row_count, found.bad_count) == (2, 1)


@pytest.mark.parametrize("quote", ['"', "none"])
def test_a_row_of_tabs_is_a_row_without_values(repo: ab.Repository, folder: Path, quote: str) -> None:
    (folder / "t.tsv").write_text("a\tb\n1\tx\n\t\n\n2\ty\n")
    found = repo.read_files("t.tsv", quote=quote)
    with repo.commit("main", "load") as tx:
        tx.create_table("t", found.rows)
    assert sorted(str(row["b"]) for row in repo.table("t").rows()) == ["None", "x", "y"]


def test_fields_have_tabs_between_them_where_every_name_says_so(repo: ab.Repository, folder: Path) -> None:
    (folder / "in").mkdir()
    (folder / "in" / "t.TSV").write_text("id\ts\n1\ta,b\n")
    (folder / "in" / "u.tsv.gz").write_bytes(gzip.compress(b"id\ts\n2\tc\n"))
    with repo.commit("main", "load") as tx:
        tx.create_table("t", repo.read_files("in").rows, key="id")
    assert {row["s"] for row in repo.table("t").rows()} == {"a,b", "c"}
    (folder / "in" / "v.csv").write_text("id,s\n3,d\n")
    with pytest.raises(InvalidRequest, match=r"t\.TSV' have tabs between them, and those of 'in/v\.csv' commas"):
        repo.read_files("in")
    with pytest.raises(InvalidRequest, match=r"1 bad row: in/t\.TSV:2: it has 2 of 1 fields"):
        repo.read_files("in", delimiter=",")


def test_a_line_of_blanks_is_a_bad_row(repo: ab.Repository, folder: Path) -> None:
    (folder / "t.csv").write_text("id,s\n1,x\n  \n2,y\n")
    with pytest.raises(InvalidRequest, match=r"1 bad row: t\.csv:3: it has 1 of 2 fields"):
        repo.read_files("t.csv")


def test_files_whose_columns_differ_in_case_only_are_refused(repo: ab.Repository, folder: Path) -> None:
    (folder / "a.csv").write_text("id,x\n1,2\n")
    (folder / "b.csv").write_text("id,X\n3,4\n")
    with pytest.raises(InvalidRequest, match=r"'a\.csv' has a column 'x', 'b\.csv' has 'X'"):
        repo.read_files(["a.csv", "b.csv"])


def test_names_of_our_own_are_refused_in_files(repo: ab.Repository, folder: Path) -> None:
    (folder / "t.csv").write_text("id,_ana_bad\n1,2\n")
    with pytest.raises(InvalidRequest, match="'_ana_bad' is not a name for a column"):
        rows_of(repo, "t.csv")


def test_numbers_of_several_types_in_parquet_get_one(repo: ab.Repository, folder: Path) -> None:
    pq.write_table(pa.table({"id": pa.array([1], pa.int32()), "x": [1]}), folder / "a.parquet")
    pq.write_table(pa.table({"id": pa.array([2], pa.int64()), "x": [1.5]}), folder / "b.parquet")
    assert rows_of(repo, "a.parquet", "b.parquet") == [{"id": 1, "x": 1.0}, {"id": 2, "x": 1.5}]
    assert types_of(repo) == {"id": "bigint", "x": "double"}


def test_parquet_files_whose_types_have_nothing_in_common_are_refused(repo: ab.Repository, folder: Path) -> None:
    pq.write_table(pa.table({"id": [1], "x": [1]}), folder / "a.parquet")
    pq.write_table(pa.table({"id": [2], "x": ["a"]}), folder / "b.parquet")
    with pytest.raises(InvalidRequest, match="the files have columns of different types"):
        repo.read_files(["a.parquet", "b.parquet"])


@pytest.mark.parametrize("values", [pa.array([1], pa.time32("s")), pa.array([1], pa.decimal256(40, 0))])
def test_types_of_parquet_that_no_table_has_are_refused(repo: ab.Repository, folder: Path, values: pa.Array) -> None:
    pq.write_table(pa.table({"id": [1], "x": values}), folder / "t.parquet")
    with pytest.raises(InvalidRequest, match=r"can't be versioned|Spark can't read the files"):
        rows_of(repo, "t.parquet")


@pytest.mark.parametrize("name", ["t.jsonl", "t.json"])
def test_encodings_of_json(repo: ab.Repository, folder: Path, name: str) -> None:
    lines = [f'{{"id": {i}, "größe": "é"}}' for i in (1, 2)]
    content = "\r\n".join(lines) if name == "t.jsonl" else f"[{','.join(lines)}]"
    (folder / name).write_bytes(content.encode("latin-1"))
    rows = rows_of(repo, name, encoding="latin-1")
    assert [(row["id"], row["größe"]) for row in rows] == [(1, "é"), (2, "é")]


@pytest.mark.parametrize("encoding", ["utf-16", "cp1252"])
def test_lines_of_json_in_other_encodings(repo: ab.Repository, folder: Path, encoding: str) -> None:
    (folder / "t.jsonl").write_bytes('{"id": 1, "s": "€"}\n{"id": 2}\n'.encode(encoding))
    assert [row["s"] for row in rows_of(repo, "t.jsonl", encoding=encoding)] == ["€", None]


def test_a_link_to_nowhere_in_a_folder_is_named(duck: ab.Repository, folder: Path) -> None:
    (folder / "in").mkdir()
    (folder / "in" / "a.csv").symlink_to("nowhere.csv")
    with pytest.raises(NotFound, match=r"there is no file 'in/a\.csv'"):
        duck.read_files("in")


def zipped(path: Path, files: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in files.items():
            made.writestr(name, content)


def test_a_zip_is_read_as_a_folder_is(duck: ab.Repository, folder: Path) -> None:
    pq.write_table(pa.table({"id": [6]}), folder / "p.parquet")
    files = {
        "a.csv": b"id,n\n1,1\n",
        "deep/year=2026/b.jsonl": b'{"id": 2, "n": 2}\n',
        "c.csv.gz": gzip.compress(b"id,n\n3,3\n"),
        "d.csv.xz": lzma.compress(b"id,n\n4,4\n"),
        "p.parquet": (folder / "p.parquet").read_bytes(),
        "__MACOSX/._a.csv": b"no",
        "notes.txt": b"no",
        "empty.csv": b"",
    }
    zipped(folder / "in.ZIP", files)
    (folder / "e.csv.xz").write_bytes(lzma.compress(b"id,n\n5,5\n"))
    rows = rows_of(duck, "in.ZIP", "*.xz")
    assert [(row["id"], row["n"], row["year"]) for row in rows] == [
        (1, 1, None),
        (2, 2, 2026),
        (3, 3, None),
        (4, 4, None),
        (5, 5, None),
        (6, None, None),
    ]
    assert duck.read_files(["*.[xZ]*"]).row_count == duck.read_files(".", format=None).row_count - 1 == 6


def test_bad_rows_in_a_zip_are_named(repo: ab.Repository, folder: Path) -> None:
    zipped(folder / "in.zip", {"deep/a.csv": b"id,n\n1\n"})
    with pytest.raises(InvalidRequest, match=r"in\.zip/deep/a\.csv:2: it has 1 of 2 fields"):
        repo.read_files("in.zip")


def test_what_cannot_be_unpacked_is_told(duck: ab.Repository, folder: Path) -> None:
    packed = lzma.compress(b"id\n" + b"".join(b"%d\n" % i for i in range(10_000)))
    zipped(folder / "in.zip", {"notes.txt": b"id\n1\n"})
    content = bytearray((folder / "in.zip").read_bytes())
    content[content.index(b"PK\x01\x02") + 8] |= 1
    for name, wrong, words in (
        ("cut.csv.xz", packed[:-100], "ended before the end-of-stream marker"),
        ("torn.csv.xz", packed[:500] + b"!" + packed[501:], "Corrupt input data"),
        ("no.zip", b"id\n1\n", "'no.zip' can't be read as zip: File is not a zip file"),
        ("secret.zip", bytes(content), "it needs a password"),
        ("t.csv.7z", b"7z", "does not tell its format .known are .csv.*; a .zip is read as a folder is"),
    ):
        (folder / name).write_bytes(wrong)
        with pytest.raises(InvalidRequest, match=words):
            duck.read_files(name)
    with pytest.raises(NotFound, match=r"'in\.zip' has no file to read in it"):
        duck.read_files("in.zip")
    assert duck.read_files("in.zip", format="csv").rows.to_pylist() == [{"id": 1}]


def test_spark_says_that_it_does_not_unpack_parquet(tmp_path: Path, spark: Any, folder: Path) -> None:
    pq.write_table(pa.table({"id": [6]}), folder / "p.parquet")
    zipped(folder / "in.zip", {"p.parquet": (folder / "p.parquet").read_bytes()})
    made = ab.init(tmp_path / "store", engine="spark", spark=spark)
    with made as repo, pytest.raises(InvalidRequest, match=r"Spark can't unpack 'in\.zip.*in the process"):
        repo.read_files("in.zip")


def test_export_compresses_as_the_name_says(duck: ab.Repository, folder: Path) -> None:
    with duck.commit("main", "make") as tx:
        tx.create_table("t", [{"id": 1}], key="id")
    duck.table("t").export("t.csv.xz")
    assert lzma.decompress((folder / "t.csv.xz").read_bytes()) == b"id\n1\n"
    with pytest.raises(InvalidRequest, match="a zip is not written"):
        duck.table("t").export("t.zip", format="csv")


RENAME = {"Delta 15 N (o/oo)": "d15n", "a.b": "b", "tab\there": "c", "n": "swapped", "swapped": "n"}


@pytest.mark.contract
@pytest.mark.parametrize("name", ["t.csv", "t.jsonl", "t.json", "t.parquet"])
def test_columns_of_files_can_be_renamed(repo: ab.Repository, folder: Path, name: str) -> None:
    row = {"id": 1, "Delta 15 N (o/oo)": 1.5, "a.b": 7, "tab\there": "x", "n": 1, "swapped": 2}
    if name.endswith("csv"):
        (folder / name).write_text(",".join(row) + "\n" + ",".join(map(str, row.values())) + "\n")
    elif name.endswith("parquet"):
        pq.write_table(pa.Table.from_pylist([row]), folder / name)
    else:
        (folder / name).write_text(json.dumps(row if name.endswith("l") else [row]))
    expected = {"id": 1, "d15n": 1.5, "b": 7, "c": "x", "swapped": 1, "n": 2}
    assert rows_of(repo, name, rename=RENAME) == [expected]
    if not name.endswith("parquet"):
        types = "id int, d15n decimal(9,2), b string, c string, n int, swapped string"
        found = repo.read_files(name, rename={old.upper(): new for old, new in RENAME.items()}, schema=types)
        with repo.commit("main", "more") as tx:
            tx.create_table("u", found.rows, key="id", schema=types)
        (typed,) = repo.table("u").head()
        assert typed == {**expected, "d15n": Decimal("1.50"), "b": "7", "swapped": "1"}


def test_files_with_different_names_for_a_column_make_one(repo: ab.Repository, folder: Path) -> None:
    (folder / "part=5").mkdir()
    (folder / "part=5" / "a.csv").write_text("id,Name\n1,x\n")
    (folder / "b.jsonl").write_text('{"number": 2, "name": "y"}\n')
    (folder / "c.csv").write_text("nr,name\n3,z\n")
    rows = rows_of(repo, ".", rename={"number": "id", "NR": "id", "name": "name", "part": "p"})
    assert rows == [
        {"id": 1, "name": "x", "p": 5},
        {"id": 2, "name": "y", "p": None},
        {"id": 3, "name": "z", "p": None},
    ]


@pytest.mark.parametrize(
    ("rename", "words"),
    [
        ({"x": "y"}, "no file has a column 'x' to rename .the files have 'id', 'n'"),
        ({"n": "ID"}, "'t.csv' has columns 'id' and 'n', and both would be 'ID'"),
        ({"n": "a/b"}, "'a/b' is not a name for a column"),
        ({"n": "a", "N": "b"}, "column 'n' is renamed twice"),
    ],
)
def test_renames_that_cannot_be(repo: ab.Repository, folder: Path, rename: dict[str, str], words: str) -> None:
    (folder / "t.csv").write_text("id,n\n1,1\n")
    with pytest.raises(InvalidRequest, match=words):
        repo.read_files("t.csv", rename=rename)
