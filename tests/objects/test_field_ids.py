"""New files carry Iceberg's field ids, from both engines, made of the columns' ids."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import anabranch as ab
from anabranch.model.schema import field_id
from anabranch.objects import parquet
from tests.objects.test_parquet import VALUES, column, table_of

NESTED = "array<struct<a:int,b:map<string,double>>>"


def ids_of(file: Any) -> dict[str, int]:
    """The number of each column of a file, by its name in the file; -1 is none."""
    schema = pq.ParquetFile(file).schema_arrow
    return {f.name: int((f.metadata or {}).get(b"PARQUET:field_id", b"-1")) for f in schema}


def test_ids_are_those_of_the_format_and_not_of_this_release() -> None:
    assert field_id("cabcdefghijklmnop") == 1_390_783_267
    assert field_id("cabcdefghijklmnop.element") == 1_910_472_382


def test_ids_lie_below_those_that_iceberg_keeps() -> None:
    numbers = {field_id(f"c{n}") for n in range(10_000)}
    assert len(numbers) == 10_000
    assert min(numbers) >= 1
    assert max(numbers) < 2**31 - 200


def test_what_lies_inside_a_column_has_ids_too() -> None:
    nested = column(NESTED)
    rows = table_of([nested], ([{"a": 1, "b": [("x", 1.5)]}],))
    schema = str(pq.ParquetFile(io.BytesIO(parquet.encode(rows, 10))).schema)
    inside = ("", ".element", ".element.a", ".element.b", ".element.b.key", ".element.b.value")
    assert all(f"field_id={field_id(f'{nested.id}{path}')} " in schema for path in inside)


@pytest.mark.parametrize("type_", list(VALUES))
def test_rows_that_are_read_do_not_show_them(type_: str) -> None:
    rows = table_of([column(type_)], *((v,) for v in VALUES[type_]))
    again = parquet.decode(parquet.encode(rows, 10))
    assert again.equals(parquet.decode(parquet.encode(rows, 10, quick=True)))
    assert again.schema.field(0).metadata is None


def test_files_with_and_without_ids_are_one_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ab.init(
        tmp_path, settings=ab.Settings(objects=ab.ObjectSettings(inline_limit_bytes=0, file_row_limit=5))
    ) as repo:
        with monkeypatch.context() as before:
            before.setattr(parquet, "with_field_ids", lambda table: table)
            with repo.commit("main", "old") as tx:
                tx.create_table("t", [{"id": n, "s": [{"x": n}]} for n in range(9)], key="id")
        with repo.commit("main", "new") as tx:
            tx.table("t").upsert([{"id": n, "s": [{"x": -n}]} for n in range(5, 12)])
        rows = sorted((r["id"], r["s"][0]["x"]) for r in repo.table("t").rows())
        assert rows == [(n, n if n < 5 else -n) for n in range(12)]
        files = [ids_of(repo._ctx.root.uri(f.path)) for f in repo._ctx.root.files()]
    assert any(set(ids.values()) == {-1} for ids in files)
    assert any(all(number == field_id(name) for name, number in ids.items()) for ids in files)


@pytest.mark.contract
@pytest.mark.connect
def test_spark_writes_the_same_ids(tmp_path: Path, spark: Any) -> None:
    spark.conf.set("spark.sql.parquet.fieldId.write.enabled", "false")
    try:
        with ab.init(tmp_path, spark=spark, engine="spark") as repo:
            with repo.commit("main", "load") as tx:
                tx.create_table("t", spark.sql("SELECT id, named_struct('a', id) AS s FROM range(10)"), key="id")
            expected = {str(c.id): field_id(str(c.id)) for c in repo.table("t").schema}
            written = [f.path for f in repo._ctx.root.files() if f.path.endswith(".parquet")]
            assert written
            for path in written:
                assert ids_of(repo._ctx.root.uri(path)) == expected
            assert repo.table("t").count() == 10
    finally:
        spark.conf.unset("spark.sql.parquet.fieldId.write.enabled")


def test_an_empty_table_has_ids(tmp_path: Path) -> None:
    rows = pa.table({"c1": pa.array([], pa.int64())})
    assert ids_of(io.BytesIO(parquet.encode(rows, 10))) == {"c1": field_id("c1")}
