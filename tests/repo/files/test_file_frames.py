"""Files as rows, and rows as files: Arrow, Spark, in place."""

from __future__ import annotations

import gzip
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import anabranch as ab
from anabranch.engines import file_reading
from anabranch.engines.spark import explained
from anabranch.objects import packs
from anabranch.repo.files import block_writer, file_frames

TEXTS = {"a.txt": b"one\ntwo\r\nthree", "b.txt": b"partial\nnext\n", "deep/c.txt": b"", "d.txt": b"\n\n\xc3\xa9\n"}
LINES = [("a.txt", "one"), ("a.txt", "two"), ("a.txt", "three"), ("b.txt", "partial"), ("b.txt", "next")]
LINES += [("d.txt", ""), ("d.txt", ""), ("d.txt", "é")]


@pytest.fixture
def repo(tmp_path: Path) -> ab.Repository:
    return ab.init(tmp_path / "store")


def put_texts(repo: ab.Repository) -> None:
    with repo.commit("main", "texts") as tx:
        for path, content in TEXTS.items():
            tx.files.put(path, content, mode=0o640)
        tx.files.put("b.txt", "par")
        tx.files.append("b.txt", "tial\nnext\n")


def pairs(rows: pa.Table) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in rows.to_pylist()]


def test_files_are_read_as_contents_lines_blocks_and_stats(repo: ab.Repository) -> None:
    put_texts(repo)
    tree = repo.files()
    assert dict(zip(*(tree.arrow("**").column(n).to_pylist() for n in ("path", "content")), strict=True)) == TEXTS
    assert pairs(tree.arrow("**", as_="lines")) == LINES
    assert pairs(tree.arrow("*.txt", as_="stat").select(["path", "size"])) == [
        ("a.txt", 14),
        ("b.txt", 13),
        ("d.txt", 5),
    ]
    blocks = tree.arrow("b.txt", as_="blocks").select(["path", "number", "start", "content"])
    assert pairs(blocks) == [("b.txt", 0, 0, b"par"), ("b.txt", 1, 3, b"tial\nnext\n")]
    assert tree.arrow("nothing/**", as_="lines").num_rows == 0
    with pytest.raises(ab.InvalidRequest, match="choose content, lines, blocks, stat"):
        tree.arrow("**", as_="rows")  # type: ignore[arg-type]


def test_lines_are_the_same_wherever_a_file_is_cut(repo: ab.Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_reading, "BATCH_BYTES", 1000)
    chance = random.Random(4)
    text = "".join("x" * chance.randrange(200) + chance.choice(["\n", "\n", "\r\n"]) for _ in range(5000))
    with repo.commit("main", "x") as tx:
        tx.files.put("t", text)
        tx.files.put("t.gz", gzip.compress(text.encode()))
    for path in ("t", "t.gz"):
        assert repo.files().arrow(path, as_="lines").column("line").to_pylist() == text.splitlines()


def test_large_files_of_packed_formats_are_read_in_place_and_others_as_copies(
    repo: ab.Repository, tmp_path: Path
) -> None:
    noise = random.Random(1).randbytes(9_000_000)
    rows = pa.table({"x": pa.array([noise[n : n + 9000] for n in range(0, 9_000_000, 9000)])})
    pq.write_table(rows, tmp_path / "large.parquet", compression="none", use_dictionary=False)
    pq.write_table(rows.slice(0, 10), tmp_path / "small.parquet")
    with repo.commit("main", "x") as tx:
        tx.files.put("large.parquet", tmp_path / "large.parquet")
        tx.files.put("small.parquet", tmp_path / "small.parquet")
    large, small = repo.files().paths("*.parquet")
    assert "aside" not in large
    assert pq.read_table(large).equals(rows)
    assert pq.read_table(small).equals(rows.slice(0, 10))
    assert repo.files().paths("small.parquet") == [small]


def test_rows_become_files(repo: ab.Repository) -> None:
    put_texts(repo)
    repo.branch("copy", "main")
    with repo.commit("copy", "written") as tx:
        tx.files.delete("deep/c.txt")
        assert tx.files.write(repo.files().arrow("**")) == 4
    assert not repo.diff("main", "copy").files
    with repo.commit("main", "lines") as tx:
        tx.files.write([{"path": "l", "line": "one"}, {"path": "m", "line": "x"}, {"path": "l", "line": "two"}])
        tx.files.write([{"path": "m", "line": "y"}], append=True)
    assert [repo.files().read(p) for p in ("l", "m")] == [b"one\ntwo\n", b"x\ny\n"]


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([{"path": "a"}], "can't be made of columns path"),
        ([{"path": "a", "content": b"", "line": ""}], "can't be made of columns"),
        ([{"path": "a", "content": 1}], "column 'content' is"),
        ([{"path": "a", "content": b"", "owner": "x"}], "is none that files have"),
        ([{"path": "a", "content": None}], "without content"),
        ([{"path": "../a", "content": b""}], "is no path of a file"),
    ],
)
def test_rows_that_are_no_files_are_refused_and_nothing_is_written(
    repo: ab.Repository, rows: list[dict[str, Any]], says: str
) -> None:
    with pytest.raises(ab.InvalidRequest, match=says), repo.commit("main", "x") as tx:
        tx.files.write(rows)
    assert repo.files().count() == 0


@pytest.mark.contract
def test_spark_itself_reads_lines_of_objects_that_hold_nothing_else(
    tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (block_writer, file_frames):
        monkeypatch.setattr(module, "WHOLE_BYTES", 300_000)
    monkeypatch.setattr(packs, "PACK_BYTES", 400_000)
    repo = ab.init(tmp_path / "a [store]", spark=spark)
    text = "".join(f"{n} {'é' * (n % 90)}\n" for n in range(12_000))
    with repo.commit("main", "texts") as tx:
        tx.files.put("grown.log", text)
        tx.files.put("crlf.log", text.replace("\n", "\r\n") + "no end")
        tx.files.put("bom.log", "\ufeff" + text)
        tx.files.put("small.log", "one\ntwo\n")
        tx.files.put("twice.log", text)
    with repo.commit("main", "more") as tx:
        tx.files.append("grown.log", "and more\nto the end")
    tree = repo.files()
    for path, is_read_by_spark in {"grown.log": True, "crlf.log": True, "bom.log": True, "small.log": False}.items():
        frame = tree.spark(path, as_="lines")
        assert ("FileScan text" in explained(frame)) == is_read_by_spark
        assert sorted(r.line for r in frame.collect()) == sorted(
            tree.arrow(path, as_="lines").column("line").to_pylist()
        )
    found = tree.spark("*.log", as_="lines").groupBy("path").count().collect()
    assert dict(map(tuple, found)) == {
        "grown.log": 12_002,
        "crlf.log": 12_001,
        "bom.log": 12_000,
        "small.log": 2,
        "twice.log": 12_000,
    }


@pytest.mark.contract
def test_spark_reads_no_line_of_a_text_that_is_damaged_or_none(
    tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (block_writer, file_frames):
        monkeypatch.setattr(module, "WHOLE_BYTES", 300_000)
    with ab.init(tmp_path / "store", spark=spark) as repo:
        with repo.commit("main", "texts") as tx:
            tx.files.put("latin.txt", "\n".join(f"caf\u00e9 {n}" for n in range(60_000)).encode("latin-1"))
        with pytest.raises(Exception, match=r"no UTF-8, so it has no lines: latin\.txt"):
            repo.files().spark("latin.txt", as_="lines").collect()
        (pack,) = (tmp_path / "store").rglob("*.pack")
        pack.write_bytes(pack.read_bytes().replace(b"caf", b"caz", 1))
        with pytest.raises(ab.Corrupt):
            repo.files().spark("latin.txt", as_="lines")
    few = ab.Settings(damage=ab.DamageSettings(spark_hash_limit_bytes=1000))
    with ab.open(tmp_path / "store", spark=spark, settings=few) as repo:
        frame = repo.files().spark("latin.txt", as_="lines")
        assert "FileScan text" not in explained(frame)


@pytest.mark.contract
def test_spark_reads_files_as_the_process_does_and_writes_them(
    tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = ab.init(tmp_path / "store", spark=spark)
    put_texts(repo)
    monkeypatch.setattr(file_frames, "_TASK_BYTES", 300_000)
    monkeypatch.setattr(file_frames, "_SENT_BYTES", 10_000)
    large = "".join(f"{n} {'x' * (n % 90)}\n" for n in range(40_000))
    with repo.commit("main", "large") as tx:
        tx.files.put("large.log", large)
        tx.files.put("whole.log", large * 8, chunking="whole")
    tree = repo.files()
    for form in ("content", "lines", "blocks", "stat"):
        found, expected = tree.spark("*.txt", as_=form), tree.arrow("*.txt", as_=form)
        assert found.toArrow().sort_by("path").select(["path"]).equals(expected.sort_by("path").select(["path"]))
    assert sorted(tuple(r) for r in tree.spark("**/*.txt", as_="lines").collect()) == sorted(LINES)
    assert {r.path: bytes(r.content) for r in tree.spark("**/*.txt").collect()} == TEXTS
    assert [r.line for r in tree.spark("large.log", as_="lines").collect()] == large.splitlines()
    assert tree.spark("whole.log", as_="lines").count() == 8 * 40_000
    assert b"".join(bytes(r.content) for r in tree.spark("large.log", as_="blocks").collect()) == large.encode()
    repo.branch("copy", "main")
    with repo.commit("copy", "by Spark") as tx:
        tx.files.delete("a.txt")
        tx.files.write(tree.spark("**/*.txt"))
    assert repo.diff("main", "copy").files.rows() == []
