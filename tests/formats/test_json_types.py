"""Types in JSON, on both engines: what undeclared columns become, and the forms of declared values inside others."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import anabranch as ab
from anabranch.errors import InvalidRequest

pytestmark = pytest.mark.usefixtures("folder")


def types_of(repo: ab.Repository, *paths: str, **options: Any) -> tuple[dict[str, str], list[dict[str, Any]]]:
    """Read files into a table; tell its types, and its rows by id."""
    with repo.commit("main", "load") as tx:
        tx.create_table("t", repo.read_files(paths, **options).rows)
    table = repo.table("t")
    return {c.name: str(c.type) for c in table.schema}, sorted(table.rows(), key=lambda row: row.get("id") or 0)


UNDECLARED = {
    "mixed": ('[1, "x"]', "[2]", "string"),
    "object_or_number": ('{"b": 1}', "5", "string"),
    "object_or_array": ('{"b": 1}', "[5]", "string"),
    "inside": ('{"b":  1.50}', '{"b": "x"}', "string"),
    "truths": ("[true, false]", "[null]", "array<boolean>"),
    "truth_or_number": ("[true]", "[1]", "string"),
    "empty_objects": ("{}", "{}", "string"),
    "an_empty_object_inside": ('{"b": {}, "c": 1}', "null", "string"),
    "empty_arrays": ("[]", "[[]]", "array<array<string>>"),
    "nothing": ("null", "null", "string"),
    "nothing_inside": ('{"b": null}', '{"c": 1}', "struct<b:string,c:bigint>"),
    "empty_or_not": ("{}", '{"x": 1}', "struct<x:bigint>"),
    "names_in_order": ('[{"z": 1, "b": 2}]', '[{"c": 1}]', "array<struct<b:bigint,c:bigint,z:bigint>>"),
    "long": ("[9007199254740993]", "[1]", "array<bigint>"),
    "longer": ('{"b": 12345678901234567891}', '{"b": 1}', "string"),
    "long_beside_fractions": ("[9007199254740993]", "[2.5]", "string"),
    "long_fractions": ("[12345678901234567.25]", "[1]", "string"),
    "fractions": ("[1]", "[2.5]", "array<double>"),
    "exponents": ("[6.02e23]", "[1]", "array<double>"),
    "large_exponents": ("[1e300]", "[1]", "string"),
    "times": ('{"t": "2020-01-01T00:00:00"}', '{"t": "2020-01-01"}', "struct<t:string>"),
    "not_a_number": ("[NaN]", "[1]", "array<double>"),
}  # fmt: skip


@pytest.mark.parametrize("form", ["lines", "array", "files"])
def test_undeclared_values_get_the_type_that_has_them_as_they_are(repo: ab.Repository, folder: Path, form: str) -> None:
    rows = [", ".join(f'"{name}": {case[i]}' for name, case in UNDECLARED.items()) for i in (0, 1)]
    objects = [f'{{"id": {i}, {row}}}' for i, row in enumerate(rows)]
    contents = {"lines": ["\n".join(objects)], "array": [f"[{', '.join(objects)}]"], "files": objects}[form]
    for i, content in enumerate(contents):
        (folder / f"{i}.json").write_text(content)
    types, found = types_of(repo, ".")
    assert {name: types[name] for name in UNDECLARED} == {name: case[2] for name, case in UNDECLARED.items()}
    for name in [name for name, case in UNDECLARED.items() if case[2] == "string" and name != "nothing"]:
        assert [row[name] for row in found] == [t if t != "null" else None for t in UNDECLARED[name][:2]]


@pytest.mark.contract
def test_a_column_has_one_type_over_all_files(repo: ab.Repository, folder: Path) -> None:
    first = {"number": 5, "truth": True, "nothing": None, "struct": {"x": 1}, "whole": 9007199254740993}
    (folder / "a.jsonl").write_text(json.dumps({"id": 1, **first}))
    second = {"number": "x", "truth": "x", "nothing": 5, "struct": "x", "whole": 0.5}
    (folder / "b.json").write_text(json.dumps([{"id": 2, **second}]))
    types, found = types_of(repo, "a.jsonl", "b.json")
    expected = {
        "number": "string",
        "truth": "string",
        "nothing": "bigint",
        "struct": "string",
        "whole": "decimal(17,1)",
    }
    assert types == {"id": "bigint", **expected}
    assert [found[0][name] for name in ("number", "truth", "struct")] == ["5", "true", '{"x": 1}']


def test_what_no_struct_can_be_is_refused(repo: ab.Repository, folder: Path) -> None:
    (folder / "t.jsonl").write_text('{"id": 1}\n{"id": 2, "a": [{"b": {"c": 1, "c": 2}}]}\n')
    with pytest.raises(InvalidRequest, match=r"1 bad row: t\.jsonl:2: it has the key 'c' twice"):
        repo.read_files("t.jsonl")
    (folder / "t.jsonl").write_text('{"a": {"z": 1}}\n{"a": {"Z": 1}}\n')
    with pytest.raises(InvalidRequest, match="fields 'Z' and 'z' have the same name"):
        types_of(repo, "t.jsonl")
    (folder / "t.jsonl").write_text("{}\n{}\n")
    with pytest.raises(InvalidRequest, match=r"'t\.jsonl': its rows are objects without keys"):
        repo.read_files("t.jsonl")
    with pytest.raises(InvalidRequest, match=r"'t\.jsonl': its rows are objects without keys"):
        repo.read_files("t.jsonl", schema="id int")


DECLARED = (
    "id int, s struct<b:binary,t:timestamp,n:timestamp_ntz,d:date>, "
    "b array<binary>, m map<string,array<timestamp>>, x string"
)


@pytest.mark.parametrize("name", ["t.jsonl", "t.csv"])
def test_declared_values_inside_others_are_written_as_outside(repo: ab.Repository, folder: Path, name: str) -> None:
    good = (
        '{"b": "00fF", "t": "2020-01-01T00:00:00", "n": "2020-01-01", "d": "0001-01-01"}',
        '["", "6162", null]',
        '{"2020-02-29": ["2020-01-01 10:00+05:45", "9999-12-31T23:59:59.999999Z"]}',
        '{"q":  1.50}',
    )
    bad = ('{"b": "0"}', '{"b": "AAAx"}', '{"t": "2020"}', '{"n": "2020-01-01T00:00:00Z"}', '{"d": "2020-1-1"}')
    rows = [good, *((one, "null", "null", "null") for one in bad)]
    if name == "t.csv":
        lines = ["id;s;b;m;x", *(";".join([str(i), *row]).replace(";null", ";") for i, row in enumerate(rows))]
    else:
        named = [zip(("id", "s", "b", "m", "x"), (i, *row), strict=True) for i, row in enumerate(rows)]
        lines = ["", *("{" + ", ".join(f'"{n}": {v}' for n, v in row) + "}" for row in named)]
    (folder / name).write_text("\n".join(lines))
    options: dict[str, Any] = {"schema": DECLARED, "delimiter": ";", "quote": "none"}
    with pytest.raises(InvalidRequest, match=rf"^5 bad rows:\n  {name}:3: column 's': .*\"0\".* does not fit struct"):
        repo.read_files(name, **options)
    _, found = types_of(repo, name, **options, bad_rows="bad.csv")
    moment = datetime(2020, 1, 1)
    assert found == [
        {
            "id": 0,
            "s": {"b": b"\x00\xff", "t": moment.replace(tzinfo=UTC), "n": moment, "d": date(1, 1, 1)},
            "b": [b"", b"ab", None],
            "m": {
                "2020-02-29": [
                    datetime(2020, 1, 1, 4, 15, tzinfo=UTC),
                    datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
                ]
            },
            "x": '{"q":  1.50}',
        }
    ]


def test_variants_of_files_are_as_written(duck: ab.Repository, folder: Path) -> None:
    values = ['{"X": 1.50}', "null", '"s"', '[1, "x"]', "1e400"]
    (folder / "t.jsonl").write_text("".join(f'{{"id": {i}, "v": {v}}}\n' for i, v in enumerate(values)))
    rows = duck.read_files("t.jsonl", schema="id int, v variant").rows
    assert isinstance(rows, pa.Table)
    assert rows.column("v").to_pylist() == values
    (folder / "t.jsonl").write_text('{"id": 1, "v": NaN}\n')
    with pytest.raises(InvalidRequest, match=r"1 bad row: t\.jsonl:1: column 'v': 'NaN' does not fit variant"):
        duck.read_files("t.jsonl", schema="id int, v variant")


def test_a_compressed_array_keeps_what_is_written(repo: ab.Repository, folder: Path) -> None:
    (folder / "t.json.gz").write_bytes(gzip.compress(b'[{"id": 1, "n": 0.12345678901234567890, "s": [1.50, "x"]}]'))
    _, rows = types_of(repo, "t.json.gz", schema="id int, n decimal(30,20)")
    assert rows == [{"id": 1, "n": Decimal("0.12345678901234567890"), "s": '[1.50, "x"]'}]


@pytest.mark.parametrize("name", ["t.jsonl", "t.csv"])
def test_maps_whose_keys_are_no_text(repo: ab.Repository, folder: Path, name: str) -> None:
    values = ['{"0aFF": 1}', '[["00", 2]]']
    rows = [f"{i};{value}" if name == "t.csv" else f'{{"id": {i}, "m": {value}}}' for i, value in enumerate(values)]
    (folder / name).write_text("\n".join(["id;m", *rows] if name == "t.csv" else rows))
    options: dict[str, Any] = {"schema": "id int, m map<binary,int>", "delimiter": ";", "quote": "none"}
    assert [row["m"] for row in types_of(repo, name, **options)[1]] == [{b"\n\xff": 1}, {b"\x00": 2}]
