"""JSON in, on both engines: what is one row, in which order columns come, and what is no row at all."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import anabranch as ab
from anabranch.errors import InvalidRequest

pytestmark = pytest.mark.usefixtures("folder")


def values_of(repo: ab.Repository, *paths: str, **options: Any) -> list[dict[str, Any]]:
    """Read files, and give their rows in no order that is promised."""
    rows = repo.read_files(paths, **options).rows
    return rows.to_pylist() if isinstance(rows, pa.Table) else [row.asDict(recursive=True) for row in rows.collect()]


def test_keys_that_differ_in_case_only_are_refused(repo: ab.Repository, folder: Path) -> None:
    (folder / "t.jsonl").write_text('{"A": 1}\n{"a": 3}\n')
    with pytest.raises(InvalidRequest, match=r"'t\.jsonl' has a column 'A', 't\.jsonl' has 'a'"):
        repo.read_files("t.jsonl")


NOT_ONE_OBJECT = {
    "two": ('{"id": 1}{"id": 2}', "not JSON: Extra data"),
    "list": ('{"id": 1},{"id": 2}', "not JSON: Extra data"),
    "more": ('{"id": 3} x', "not JSON: Extra data"),
    "bracket": ('{"id": 3}]', "not JSON: Extra data"),
    "comment": ('{"id": 3} // c', "not JSON: Extra data"),
    "nan": ('{"id": NaN}{"id": 2}', "not JSON: Extra data"),
    "array": ('[{"id": 3}, {"id": 4}]', "an array, an object was expected"),
    "twice": ('{"id": 3, "id": 4}', "it has the key 'id' twice"),
    "half": ('{"id": 3, "s": "\\ud83d"}', "it has half of a character that is two escapes"),
    "other half": ('{"id": 3, "s": "\\\\\\uDE00"}', "it has half of a character that is two escapes"),
}


@pytest.mark.parametrize("case", NOT_ONE_OBJECT)
def test_a_line_that_is_not_just_one_object_is_a_bad_row(repo: ab.Repository, folder: Path, case: str) -> None:
    line, error = NOT_ONE_OBJECT[case]
    (folder / "t.jsonl").write_text(f'{{"id": 1, "s": "a"}}\n\n{line}\n{{"id": 9, "s": "b"}}\n')
    with pytest.raises(InvalidRequest) as told:
        repo.read_files("t.jsonl")
    assert told.value.message.startswith(f"1 bad row: t.jsonl:3: {error}")
    rows = values_of(repo, "t.jsonl", bad_rows="bad.csv")
    assert rows == [{"id": 1, "s": "a"}, {"id": 9, "s": "b"}]


def test_single_quotes_are_not_json(repo: ab.Repository, folder: Path) -> None:
    (folder / "t.jsonl").write_text("{\"id\": 1}\n{'id': 2}\n")
    with pytest.raises(InvalidRequest, match=r"1 bad row: t\.jsonl:2: not JSON"):
        repo.read_files("t.jsonl")
    assert values_of(repo, "t.jsonl", bad_rows="bad.csv") == [{"id": 1}]


def test_lines_that_only_look_strange_are_rows(repo: ab.Repository, folder: Path) -> None:
    lines = (
        '{"id": 1, "s": "\\ud83d\\ude00"}',
        '  {"id": 2, "s": "\\\\ud83d"}  ',
        '{"id": 3, "s": "}{", "x": NaN}',
        '{"s": "a,]", "id": 4}',
    )
    (folder / "t.jsonl").write_bytes(b"\xef\xbb\xbf" + "\r\n".join(lines).encode())
    rows = values_of(repo, "t.jsonl")
    assert [(row["id"], row["s"]) for row in rows] == [(1, "\U0001f600"), (2, "\\ud83d"), (3, "}{"), (4, "a,]")]
    assert list(rows[0]) == ["id", "s", "x"]


@pytest.mark.parametrize("name", ["t.jsonl", "t.json"])
def test_columns_come_in_the_order_of_the_file(repo: ab.Repository, folder: Path, name: str) -> None:
    objects = ('{"z": 1, "id": 1}', '{"id": 2, "m": {"x": 1}, "z": 1}', '{"a": 1, "id": 3}')
    (folder / name).write_text("\n".join(objects) if name == "t.jsonl" else f"[{', '.join(objects)}]")
    assert list(values_of(repo, name)[0]) == ["z", "id", "m", "a"]


BROKEN_ARRAYS = {
    '[{"id": 1}] x': "t.json:1: the array can't be read as json: nothing was expected after the array",
    '[{"id": 1}]\n[{"id": 2}]': "t.json:2: the array can't be read as json: nothing was expected after the array",
    '[{"id": 1},]': "t.json:1: the array can't be read as json",
    '[{"id": 1}\n{"id": 2}]': "t.json:2: the array can't be read as json: a comma or ] was expected",
    '[{"id": 1},\n2]': "1 bad row: t.json:2: a number, an object was expected",
    '[1, "x"]': "2 bad rows:\n  t.json:1: a number, an object was expected\n  t.json:1: a text, an object was expected",
    '[{"id": 1, "id": 2}]': "1 bad row: t.json:1: it has the key 'id' twice",
    '[{"id": "\\ud83d"}]': "1 bad row: t.json:1: it has half of a character",
}


@pytest.mark.parametrize("content", BROKEN_ARRAYS)
def test_what_is_not_an_array_of_objects_is_refused(repo: ab.Repository, folder: Path, content: str) -> None:
    (folder / "t.json").write_text(content)
    with pytest.raises(InvalidRequest) as told:
        repo.read_files("t.json")
    assert told.value.message.startswith(BROKEN_ARRAYS[content])


def test_bad_elements_of_an_array_are_set_aside(repo: ab.Repository, folder: Path) -> None:
    (folder / "t.json").write_text('[{"id": 1}, 2]')
    assert values_of(repo, "t.json", bad_rows="bad.csv") == [{"id": 1}]


def test_one_object_over_several_lines_is_one_row(repo: ab.Repository, folder: Path) -> None:
    (folder / "t.json").write_text('\n{\n  "z": 1.50,\n  "id": [\n    1\n  ]\n}\n')
    assert values_of(repo, "t.json") == [{"z": 1.5, "id": [1]}]
    (folder / "t.json").write_text('{\n"id": 1\n}\n{\n"id": 2\n}\n')
    with pytest.raises(InvalidRequest, match=r"6 bad rows:\n  t\.json:1: not JSON"):
        repo.read_files("t.json")


UNFIT = (
    '{"x": "bad"}',
    '{"x": 1, "z": 2}',
    '{"x": 1.5}',
    '{"x": "5"}',
    '{"x": 99999999999}',
    "3",
    "[1]",
    '{"a": [{"y": 1}, {"q": 2}]}',
    '{"a": [{"y": "a"}]}',
    '{"m": {"k": {"q": 1}}}',
    '{"d": 1.505}',
    '{"a": [{"d": -0.001}]}',
    '{"d": 100000}',
)
NESTED = "id int, s struct<x:int,d:decimal(6,2),a:array<struct<y:int,d:decimal(6,2)>>,m:map<string,struct<y:int>>>"


@pytest.mark.parametrize("name", ["t.jsonl", "t.csv"])
def test_what_does_not_fit_inside_a_declared_value_is_a_bad_row(repo: ab.Repository, folder: Path, name: str) -> None:
    fitting = ('{"x": 1, "d": 1.500, "a": [{"y": 1}, {}], "m": {"k": {"y": 1}}}', '{"x": null}', "{}")
    values = [fitting[0], *UNFIT, *fitting[1:]]
    if name == "t.csv":
        lines = ["id;s", *(f"{i};{value}" for i, value in enumerate(values, 2))]
    else:
        lines = ["", *(f'{{"id": {i}, "s": {value}}}' for i, value in enumerate(values, 2))]
    (folder / name).write_text("\n".join(lines))
    options: dict[str, Any] = {"schema": NESTED, "delimiter": ";", "quote": "none"}
    with pytest.raises(InvalidRequest) as told:
        repo.read_files(name, **options)
    assert told.value.message.startswith(f"{len(UNFIT)} bad rows:\n  {name}:3: column 's': ")
    rows = values_of(repo, name, **options, bad_rows="bad.csv")
    assert sorted(row["id"] for row in rows) == [2, 16, 17]
    found = next(row["s"] for row in rows if row["id"] == 2)
    assert (found["x"], found["d"], dict(found["m"])) == (1, Decimal("1.50"), {"k": {"y": 1}})
    assert found["a"] == [{"y": 1, "d": None}, {"y": None, "d": None}]
