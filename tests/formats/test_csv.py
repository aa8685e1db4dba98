"""CSV in, on both engines: quotes, escapes and line ends that readers take differently."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import anabranch as ab
from anabranch.errors import InvalidRequest

pytestmark = pytest.mark.usefixtures("folder")


def texts_of(repo: ab.Repository, path: str, **options: Any) -> list[str | None]:
    """The column `s` of a file, in the order of its ids."""
    rows = repo.read_files(path, **options).rows
    found = rows.to_pylist() if isinstance(rows, pa.Table) else [row.asDict() for row in rows.collect()]
    return [row["s"] for row in sorted(found, key=lambda row: row["id"])]


FOLLOWED = {
    "text": '2,"a"b"c"',
    "blank": '2,"a" ',
    "first": '"2" ,a',
    "empty": '2,""x',
    "opening": '2,"x,"y"z"',
    "lines": '2,"a\nx"b',
}


@pytest.mark.parametrize("case", FOLLOWED)
def test_text_after_a_closing_quote_is_a_bad_row(repo: ab.Repository, folder: Path, case: str) -> None:
    (folder / "t.csv").write_text(f'id,s\n1,"a"\n{FOLLOWED[case]}\n3,5" pipe\n')
    with pytest.raises(InvalidRequest) as told:
        repo.read_files("t.csv")
    assert told.value.message == "1 bad row: t.csv:3: text follows a quote that closes a field"
    assert texts_of(repo, "t.csv", bad_rows="bad.csv") == ["a", '5" pipe']
    with open("bad.csv", newline="", encoding="utf-8") as file:
        assert [row["text"] for row in csv.DictReader(file)] == [FOLLOWED[case]]


def test_text_after_a_quote_in_the_header_is_refused(repo: ab.Repository, folder: Path) -> None:
    (folder / "t.csv").write_text('id,"s"x\n1,a\n')
    with pytest.raises(InvalidRequest, match=r"t\.csv:1: text follows a quote"):
        repo.read_files("t.csv")


def test_an_escape_stands_before_a_quote_or_itself_in_a_quoted_field(repo: ab.Repository, folder: Path) -> None:
    fields = (r"C:\temp", r'"C:\temp"', r'"a\\b"', r'"a\\"', r'"a\"b"', r"a\"b", '"\\"\n\\\\"', r"\\", '"x"')
    (folder / "t.csv").write_text("id,s\n" + "".join(f"{i},{field}\n" for i, field in enumerate(fields)))
    expected = [r"C:\temp", r"C:\temp", r"a\b", "a\\", 'a"b', r"a\"b", '"\n\\', r"\\", "x"]
    assert texts_of(repo, "t.csv", escape="\\") == expected


def test_an_escape_does_not_hide_a_delimiter(repo: ab.Repository, folder: Path) -> None:
    (folder / "t.csv").write_text("id,s\n1,a\\,b\n2,c\n")
    with pytest.raises(InvalidRequest, match=r"^1 bad row: t\.csv:2: it has 3 of 2 fields"):
        repo.read_files("t.csv", escape="\\")
    assert texts_of(repo, "t.csv", escape="\\", bad_rows="bad.csv") == ["c"]


@pytest.mark.parametrize("first", ["\n", "\r\n"])
def test_line_ends_of_several_kinds(repo: ab.Repository, folder: Path, first: str) -> None:
    other = "\n" if first == "\r\n" else "\r\n"
    (folder / "t.csv").write_bytes(f"id,s{first}1,x{other}2,y{first}".encode())
    assert texts_of(repo, "t.csv") == ["x", "y"]
    (folder / "t.csv").write_bytes(f'id,s{first}1,"x\ny"{other}2,y{first}'.encode())
    assert texts_of(repo, "t.csv") == ["x\ny", "y"]


@pytest.mark.parametrize(("name", "content"), [("a.csv", "id,s\n1,x\n"), ("a.jsonl", '{"s": "x", "id": 1}\n')])
def test_a_column_of_a_file_and_of_its_folder_is_refused(
    repo: ab.Repository, folder: Path, name: str, content: str
) -> None:
    (folder / "in" / "id=7").mkdir(parents=True)
    (folder / "in" / "id=7" / name).write_text(content)
    with pytest.raises(InvalidRequest, match=r"has a column 'id', and so has the name of its folder"):
        repo.read_files("in")
    assert texts_of(repo, f"in/id=7/{name}") == ["x"]


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_bad_rows_are_named_in_other_encodings(repo: ab.Repository, folder: Path, encoding: str) -> None:
    (folder / "t.csv").write_text("id,s\n1,é\n2\n", encoding=encoding)
    with pytest.raises(InvalidRequest, match=r"1 bad row: t\.csv:3: it has 1 of 2 fields"):
        repo.read_files("t.csv", encoding=encoding)


def test_a_byte_order_mark_is_no_data_without_a_header(repo: ab.Repository, folder: Path) -> None:
    (folder / "t.csv").write_text('\ufeff"a""b",1\n', encoding="utf-8")
    rows = repo.read_files("t.csv", header=False).rows
    found = rows.to_pylist() if isinstance(rows, pa.Table) else [row.asDict() for row in rows.collect()]
    assert found == [{"c0": 'a"b', "c1": 1}]
