"""`ana://` for fsspec: others read versioned files by their address; writes are one commit."""

from __future__ import annotations

from pathlib import Path

import fsspec
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet
import pytest

import anabranch as ab
from anabranch.filesystem import AnabranchFileSystem


@pytest.fixture
def repo(tmp_path: Path) -> ab.Repository:
    made = ab.init(tmp_path / "store", repository="shop")
    sink = pa.BufferOutputStream()
    pyarrow.parquet.write_table(pa.table({"id": [1, 2, 3]}), sink)
    with made.commit("main", "data") as tx:
        tx.files.put("raw/a.csv", "id,qty\n1,2\n3,4\n")
        tx.files.put("raw/deep/t.parquet", sink.getvalue().to_pybytes())
    made.branch("team/dev")
    with made.commit("main", "more") as tx:
        tx.files.put("raw/a.csv", "id,qty\n")
    return made


@pytest.fixture
def fs(repo: ab.Repository, tmp_path: Path) -> AnabranchFileSystem:
    fsspec.register_implementation("ana", AnabranchFileSystem, clobber=True)
    return AnabranchFileSystem(store=str(tmp_path / "store"))


def test_files_are_listed_found_and_read_at_any_ref(fs: AnabranchFileSystem) -> None:
    assert fs.ls("ana://shop/raw", detail=False) == ["shop/raw/a.csv", "shop/raw/deep"]
    assert fs.cat("ana://shop@team%2Fdev/raw/a.csv") == b"id,qty\n1,2\n3,4\n"
    assert fs.cat("ana://shop/raw/a.csv") == b"id,qty\n"
    assert sorted(fs.glob("ana://shop@main/**/*.parquet")) == ["shop@main/raw/deep/t.parquet"]
    assert [names for _, _, names in fs.walk("ana://shop/raw")] == [["a.csv"], ["t.parquet"]]
    assert fs.info("ana://shop/raw")["type"] == "directory"
    assert fs.exists("ana://shop/raw/a.csv")
    assert not fs.exists("ana://shop/raw/none")
    with pytest.raises(FileNotFoundError):
        fs.open("ana://shop/none")


def test_pandas_arrow_polars_and_duckdb_read_by_address(fs: AnabranchFileSystem, tmp_path: Path) -> None:
    import duckdb
    import pandas
    import polars

    options = {"store": str(tmp_path / "store")}
    at = "ana://shop@team%2Fdev/raw"
    assert pandas.read_csv(f"{at}/a.csv", storage_options=options).qty.tolist() == [2, 4]
    assert pandas.read_parquet(f"{at}/deep/t.parquet", storage_options=options).id.tolist() == [1, 2, 3]
    found = pyarrow.dataset.dataset("shop@team%2Fdev/raw/deep", filesystem=fs, format="parquet").to_table()
    assert found.num_rows == 3
    with fs.open(f"{at}/deep/t.parquet") as file:
        assert polars.read_parquet(file).height == 3
    with duckdb.connect() as cx:
        cx.register_filesystem(fs)
        assert cx.execute(f"SELECT sum(qty) FROM read_csv('{at}/a.csv')").fetchone() == (6,)
        assert cx.execute(f"SELECT count(*) FROM read_parquet('{at}/deep/t.parquet')").fetchone() == (3,)


def test_writes_inside_a_transaction_are_one_commit(fs: AnabranchFileSystem, repo: ab.Repository) -> None:
    with pytest.raises(ab.InvalidRequest, match="outside a transaction"):
        fs.open("ana://shop@main/x", "wb")
    with fs.transaction:
        with fs.open("ana://shop@main/x", "wb") as file:
            file.write(b"1")
        with fs.open("ana://shop@main/raw/a.csv", "ab") as file:
            file.write(b"9,9\n")
    assert len(repo.log("main", limit=3)) == 3
    assert repo.files().read("x") == b"1"
    assert repo.files().read("raw/a.csv") == b"id,qty\n9,9\n"
    assert repo.files("main~1").list("") == repo.files("main~1").list("/")


def test_a_place_without_a_store_is_told_how_to_name_another(tmp_path: Path) -> None:
    fs = fsspec.filesystem("ana", store=str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"there is no store .*storage_options=\{'store': …\}"):
        fs.cat("ana://shop/raw/a.csv")
