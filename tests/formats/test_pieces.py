"""Files read piece by piece, as executors do: the rows, types and bad rows are those of the files read whole."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch.engines import spark_code, spark_sent
from anabranch.errors import AnabranchError
from anabranch.formats.process import pieces as pieces_module
from anabranch.formats.process.parts import Reading
from anabranch.formats.process.survey import rows_of_work, survey_work
from anabranch.formats.process.surveyed import SurveyedFiles
from anabranch.formats.read import read_in_process
from anabranch.formats.rules.bad_rows import BadRow, BadRows
from anabranch.formats.rules.found_files import find_files
from anabranch.formats.rules.request import FilesRequest
from anabranch.formats.rules.text import TextOptions
from anabranch.frames.input import read_schema_argument

pytestmark = pytest.mark.usefixtures("folder")
Found = tuple[pa.Table, list[BadRow]] | str


def reading_of(schema: str | None = None, **options: Any) -> Reading:
    return Reading(read_schema_argument(schema) if schema else (), TextOptions(**options))


def read_whole(paths: Sequence[str], reading: Reading) -> Found:
    bad = BadRows(writer=Nowhere(), kept=None)
    try:
        rows = read_in_process(find_files(paths, None), reading, FilesRequest(tuple(paths)), bad)[0].rows
    except AnabranchError as error:
        return str(error)
    return rows, bad.first


def read_in_pieces(paths: Sequence[str], reading: Reading, size: int) -> Found:
    """Read pieces of some size, each apart from the others."""
    bad = BadRows(writer=Nowhere(), kept=None)
    try:
        found = SurveyedFiles.of(
            find_files(paths, None),
            reading,
            lambda works, asked: [survey_work(i, works, reading, True, asked) for i in range(len(works))],
            size,
        )
        found.refuse_failures()
        found.report_bad_rows(bad)
        plan = found.plan()
    except AnabranchError as error:
        return str(error)
    works = [
        batch
        for i in range(len(found.works))
        for batch in rows_of_work(i, found.works, reading, plan.shapes, plan.types)
    ]
    return pa.Table.from_batches(works, plan.types.columns), bad.first


class Nowhere:
    """Takes bad rows that are set aside."""

    def writerows(self, rows: Any) -> None:
        list(rows)


def assert_same(paths: Sequence[str], reading: Reading, sizes: Sequence[int] = (7, 40, 10**9)) -> Found:
    expected = read_whole(paths, reading)
    for size in sizes:
        found = read_in_pieces(paths, reading, size)
        if isinstance(expected, str):
            assert found == expected
            continue
        assert not isinstance(found, str), found
        assert found[0].schema == expected[0].schema
        assert str(found[0].to_pylist()) == str(expected[0].to_pylist())
        assert found[1] == expected[1]
    return expected


CSV = {
    "plain": "id,n,x\n1,2,1.5\n2,3,7\n3,,8\n4,5,9.25\n",
    "late text": "id,n\n1,2\n2,3\n3,x\n4,\n",
    "late fraction": "id,n\n1,2\n2,3\n3,1e3\n",
    "long numbers": "id,n\n1,12345678901234567\n2,1.5\n3,2\n",
    "quotes": 'id,s\n1,"a,b"\n2,"c ""d"""\n3,e\n4,"f"\n',
    "lines in quotes": 'id,s\n1,"a\nb"\n2,"c\n\nd,e"\n3,e\n4,"f"\n',
    "quotes within": 'id,s\n1,5" pipe\n2,x\n3,"y\nz"\n4,q\n',
    "an open quote": 'id,s\n1,a\n2,"b\n3,c\n4,d\n',
    "too many fields": "id,s\n1,a\n2,b,c\n\n3\n4,d\n",
    "windows": "id,s\r\n1,a\r\n2,b\r\n3,\r\n",
    "old mac": "id,s\r1,a\r2,b\r3,c",
    "no end": "id,s\n1,a\n2,b",
    "header alone": "id,s\n",
    "dates": "id,d\n1,2026-01-01\n2,\n3,2026-02-01\n",
    "empty": "",
}


@pytest.mark.parametrize("case", CSV)
def test_csv_in_pieces_is_read_as_it_is_whole(folder: Path, case: str) -> None:
    (folder / "t.csv").write_bytes(CSV[case].encode())
    assert_same(["t.csv"], reading_of())


JSON = {
    "plain": [{"id": 1, "n": 1.5}, {"id": 2, "n": 2}, {"id": 3, "late": "x"}],
    "numbers and text": [{"id": 1, "m": 1}, {"id": 2, "m": "x"}, {"id": 3, "m": None}],
    "whole and fractions": [{"id": 1, "m": 1}, {"id": 2, "m": 2}, {"id": 3, "m": 2.5}],
    "long and fractions": [{"id": 1, "m": 12345678901234567}, {"id": 2, "m": 2.5}],
    "objects": [{"id": 1, "o": {"a": 1}}, {"id": 2, "o": {"b": [1, 2]}}, {"id": 3, "o": None}],
    "objects and text": [{"id": 1, "o": {"a": 1}}, {"id": 2, "o": "x"}],
    "times": [{"id": 1, "t": "2026-01-01"}, {"id": 2, "t": None}, {"id": 3, "t": "2026-01-02"}],
    "times and text": [{"id": 1, "t": "2026-01-01"}, {"id": 2, "t": "x"}],
    "nothing": [{"id": 1, "t": None}, {"id": 2, "t": None}],
}


@pytest.mark.parametrize("case", JSON)
def test_json_in_pieces_is_read_as_it_is_whole(folder: Path, case: str) -> None:
    (folder / "t.jsonl").write_text("\n".join(map(json.dumps, JSON[case])) + "\n")
    (folder / "u.json").write_text(json.dumps(JSON[case], indent=1))
    assert_same(["t.jsonl"], reading_of())
    assert_same(["u.json", "t.jsonl"], reading_of())


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "utf-16"])
def test_pieces_in_other_encodings(folder: Path, encoding: str) -> None:
    (folder / "t.csv").write_bytes('id,s\n1,é\n2,"ß,"\n3,x\n'.encode(encoding))
    assert_same(["t.csv"], reading_of(encoding=encoding.removesuffix("-sig")))


def test_pieces_with_options(folder: Path) -> None:
    (folder / "t.csv").write_text('report "of today\nid;x\n1;1,5\n2;NA\n3;7\n4;x;y\n')
    options = {"delimiter": ";", "decimal_comma": True, "nulls": ("NA",), "skip": 1}
    assert_same(["t.csv"], reading_of(**options))
    (folder / "u.csv").write_text("1;2\n3;x\n4;5;6\n7;8\n")
    assert_same(["u.csv"], reading_of(delimiter=";", header=False))
    assert_same(["u.csv"], reading_of("id int, n int", delimiter=";", header=False))
    (folder / "v.csv").write_text('id,s\n1,"a \\"b\\""\n2,"x\ny"\n')
    assert_same(["v.csv"], reading_of(escape="\\"))


def test_bad_rows_of_pieces_have_the_lines_of_their_file(folder: Path) -> None:
    (folder / "t.csv").write_text("id,n\n" + "".join(f"{i},{'x' if i % 7 == 0 else i}\n" for i in range(50)))
    (folder / "u.jsonl").write_text("".join(f'{{"id": {i}, "n": {i if i % 5 else "{"}}}\n' for i in range(20)))
    found = assert_same(["t.csv", "u.jsonl"], reading_of("id int, n int"))
    assert not isinstance(found, str)
    assert [row.line for row in found[1] if row.file == "t.csv"] == [2, 9, 16, 23, 30, 37, 44, 51]


FIELD = st.text('ab1",\n\r; .-', max_size=4)


@settings(max_examples=60)
@given(st.lists(st.lists(FIELD, min_size=1, max_size=3), max_size=8), st.integers(1, 30), st.booleans())
def test_any_text_in_pieces_is_read_as_it_is_whole(
    tmp_path_factory: pytest.TempPathFactory, lines: list[list[str]], size: int, quoted: bool
) -> None:
    def field(text: str) -> str:
        return '"' + text.replace('"', '""') + '"' if quoted and text else text

    path = tmp_path_factory.mktemp("any") / "t.csv"
    path.write_bytes(("id,s\n" + "".join(",".join(map(field, line)) + "\n" for line in lines)).encode())
    assert_same([str(path)], reading_of(), [size])


@pytest.mark.parametrize("name", ["t.csv.gz", "t.csv"])
@pytest.mark.parametrize("case", [case for case in CSV if case != "empty"])
def test_what_can_not_be_cut_is_read_in_blocks(
    folder: Path, case: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = CSV[case].encode()
    (folder / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    monkeypatch.setattr(pieces_module, "PIECE_BYTES", 9)
    assert_same([name], reading_of(), [10**9])


BARE = """
import json, pickle, sys, zlib
import anabranch_sent as sent
code, call = pickle.load(open(sys.argv[1], "rb"))
code = sent.SentCode(*code)
import pyarrow as pa
(found,) = sent.run_answers(code, call, [pa.RecordBatch.from_pydict({"n": [0]})])
told = sent.unpacked(found.column(1)[0].as_py(), "no", "no")
print(len(told), told[0].parts[0].row_count)
ours = [name for name in sys.modules if name == "anabranch" or name.startswith("anabranch.")]
print(ours, sorted({"sqlglot", "sqlalchemy", "duckdb", "pyspark"} & sys.modules.keys()))
"""


def test_what_is_sent_needs_nothing_of_ours_where_it_runs(folder: Path) -> None:
    import pickle

    (folder / "t.csv").write_text("id,n\n1,2\n2,x\n")
    (folder / "anabranch_sent.py").write_text(Path(spark_sent.__file__).read_text("utf-8"))
    (file,) = find_files([str(folder / "t.csv")], None)
    works = [[pieces_module.FilePiece(file)]]
    call = spark_sent.packed((survey_work, (works, reading_of(), False, {})))
    code = spark_code.sent_code()
    (folder / "call").write_bytes(pickle.dumps(((code.package, code.sources), call)))
    done = subprocess.run(
        [sys.executable, "-c", BARE, "call"], capture_output=True, text=True, cwd=folder, env={}, check=False
    )
    assert done.stdout.splitlines() == ["1 2", "[] []"], done.stderr
