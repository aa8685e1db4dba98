"""Objects that decode to more than memory holds are told before they are read; too little memory is no damage."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import anabranch as ab
from anabranch.objects import parquet

MEGABYTE = 1 << 20


def written(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    content: bytes = sink.getvalue().to_pybytes()
    return content


def repeated(value: object, times: int) -> bytes:
    """A file in which one value stands many times, written once."""
    rows = pa.DictionaryArray.from_arrays(pa.repeat(pa.scalar(0, pa.int32()), times), pa.array([value]))
    return written(pa.table({"c": rows}))


def read(content: bytes, limit_bytes: int) -> pa.Table:
    return parquet.read_within_limit(pq.ParquetFile(pa.BufferReader(content)), limit_bytes)


@pytest.mark.parametrize(
    "content",
    [
        repeated("x" * 10_000, 100_000),
        repeated(b"x" * 10_000, 100_000),
        written(pa.table({"c": [[7] * 1_000_000]})),
        written(pa.table({"c": pa.repeat(pa.scalar(7), 1_000_000)})),
        written(pa.table({"c": pa.nulls(1_000_000, pa.int64())})),
        written(pa.table({f"c{n}": pa.repeat(pa.scalar(7), 10_000) for n in range(100)})),
    ],
    ids=["text", "bytes", "a long list", "numbers", "nulls", "columns"],
)
def test_a_small_object_that_stands_for_many_rows_is_refused_before_it_takes_the_memory(content: bytes) -> None:
    assert len(content) < 100_000
    before = pa.total_allocated_bytes()
    with pytest.raises(ab.Corrupt, match="memory"):
        read(content, 4 * MEGABYTE)
    assert pa.total_allocated_bytes() - before < 5 * MEGABYTE


def test_what_could_be_large_and_is_not_is_read_in_pieces() -> None:
    table = pa.table({"c": ["x" * 50_000, *(str(n % 7) for n in range(10_000))]})
    assert read(written(table), 4 * MEGABYTE).equals(table)


def test_too_little_memory_is_no_damage(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_file: object) -> pa.Table:
        raise pa.ArrowMemoryError("malloc of size 64 failed")

    content = written(pa.table({"c": [1]}))
    monkeypatch.setattr(parquet, "read_within_limit", full)
    with pytest.raises(ab.Unavailable, match="out of memory"):
        parquet.decode(content)


def test_an_object_that_would_take_too_much_memory_is_not_kept_in_the_catalogue(
    duck: ab.Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("anabranch.repo.write.row_objects.INLINE_MEMORY_LIMIT_BYTES", 1000)
    with duck.commit("main", "equal rows") as tx:
        tx.create_table("t", [{"id": n, "v": "x"} for n in range(1000)], key="id")
    assert duck.table("t").count() == 1000
    assert len(list(tmp_path.rglob("*.parquet"))) == 1
