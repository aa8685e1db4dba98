"""A repository whose objects lie on S3: the same verbs, files and upkeep as in a folder."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import anabranch as ab
from anabranch.model.object_urls import read_object_url
from anabranch.objects.locations import open_blobs
from tests.s3 import KEY, SECRET, S3Server

ALL_FAR = ab.Settings(objects=ab.ObjectSettings(inline_limit_bytes=0))


@pytest.fixture
def address(s3: S3Server) -> str:
    return s3.new_root()


def names(address: str, below: str = "") -> list[str]:
    return sorted(b.name for b in open_blobs(read_object_url(address)).below(below))


def objects(address: str) -> list[str]:
    return [n for n in names(address) if n.endswith((".parquet", ".pack"))]


def made(tmp_path: Path, address: str, **options: Any) -> ab.Repository:
    return ab.init(tmp_path / "store", objects=address, author="ann", engine="duck", **options)


def load(repo: ab.Repository, count: int = 1000) -> None:
    with repo.commit("main", "load") as tx:
        tx.create_table("t", pa.table({"id": range(count), "v": [f"v{n}" for n in range(count)]}), key="id")


def test_the_verbs_work_as_in_a_folder(tmp_path: Path, address: str) -> None:
    with made(tmp_path, address, settings=ALL_FAR) as repo:
        load(repo)
        repo.branch("dev")
        with repo.commit("dev", "reprice") as tx:
            tx.table("t").update({"v": "concat('V', id)"}, where="id < 3")
            tx.table("t").delete(where="id > 900")
        with repo.commit("main", "more") as tx:
            tx.table("t").insert([{"id": 5000, "v": "new"}])
        repo.merge("dev", into="main")
    with ab.open(tmp_path / "store", engine="duck") as again:
        assert again.table("t").count() == 902
        assert again.sql("SELECT v FROM t WHERE id < 3 ORDER BY id").rows() == [{"v": v} for v in ("V0", "V1", "V2")]
        assert again.table("t", "main~1").count() == 1001
        assert not again.verify(deep=True).damages
        assert objects(address)


def test_a_small_commit_writes_no_object_and_small_tables_need_no_server(tmp_path: Path, address: str) -> None:
    with made(tmp_path, address) as repo:
        before = names(address)
        load(repo, 100)
        assert names(address) == before
        assert repo.table("t").count() == 100


def test_files_are_read_back_from_packs_on_the_server(tmp_path: Path, address: str) -> None:
    content = bytes(range(256)) * 3000
    with made(tmp_path, address, settings=ALL_FAR) as repo:
        with repo.commit("main", "files") as tx:
            tx.files.put("a/b.bin", content)
        assert repo.files().read("a/b.bin") == content
        assert any(n.endswith(".pack") for n in objects(address))
        assert not repo.verify().damages


def test_gc_removes_what_nothing_names_from_the_server(tmp_path: Path, address: str) -> None:
    with made(tmp_path, address, settings=ALL_FAR) as repo:
        load(repo)
        kept = objects(address)
        with pytest.raises(ZeroDivisionError), repo.commit("main", "broken off") as tx:
            tx.table("t").insert([{"id": 5000, "v": "new"}])
            raise ZeroDivisionError
        open_blobs(read_object_url(address)).put("ab/oabcdefghijklmnop.parquet", b"left by a process that was killed")
        repo.gc(grace="0s")
        assert objects(address) == kept
        assert not repo.verify().damages


def test_an_object_that_was_cut_short_or_is_gone_is_told_by_name(tmp_path: Path, address: str) -> None:
    with made(tmp_path, address, settings=ALL_FAR) as repo:
        load(repo)
    [path] = objects(address)
    blobs = open_blobs(read_object_url(address))
    blobs.put(path, b"cut")
    for file in (tmp_path / "cache").rglob("o*.parquet"):
        file.unlink()
    with ab.open(tmp_path / "store", engine="duck") as repo:
        with pytest.raises(ab.Corrupt, match=r"object s3a://tests/.*3 bytes"):
            repo.table("t").rows()
        assert [d.kind for d in repo.verify().damages] == ["object"]
        blobs.delete([path])
        with pytest.raises(ab.Corrupt, match="missing"):
            repo.table("t").rows()


def test_a_place_of_another_store_is_refused_before_anything_is_made(tmp_path: Path, address: str) -> None:
    with made(tmp_path, address):
        pass
    with pytest.raises(ab.Unavailable, match="belongs to store"):
        ab.init(tmp_path / "other", objects=address)
    with pytest.raises(ab.NotFound):
        ab.open(tmp_path / "other")


def test_objects_are_listed_fetched_and_evicted(tmp_path: Path, address: str) -> None:
    with made(tmp_path, address, settings=ALL_FAR) as repo:
        load(repo)
        with repo.commit("main", "files") as tx:
            tx.files.put("a.bin", bytes(range(256)) * 300)
        found = repo.objects()
        assert {(o.name, o.kind) for o in found} == {("t", "rows"), ("files/", "rows"), ("files/", "pack")}
        assert {o.where.removeprefix("s3a://tests/").partition("/")[2] for o in found} == set(objects(address))
        assert found.find(found[0].id[:12]) == found[0]
        evicted = found.evict()
        assert evicted.count == 3
        assert not any(o.here for o in repo.objects())
        assert repo.objects().download() == evicted
        assert all(o.here for o in repo.objects())
        assert [o.name for o in repo.objects("main~1", table="t")] == ["t"]
        with pytest.raises(ab.NotFound, match="no object"):
            found.find("oxyz")


def test_no_secret_is_in_any_message_log_or_file(
    tmp_path: Path, address: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with made(tmp_path, address, settings=ALL_FAR) as repo:
        load(repo)
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "another-secret")
        with (
            pytest.raises(ab.Unavailable, match="access denied") as refused,
            ab.open(tmp_path / "store", engine="duck", settings=ALL_FAR) as denied,
            denied.commit("main", "x") as tx,
        ):
            tx.table("t").insert(pa.table({"id": range(5000, 90000), "v": [str(n * n) for n in range(85000)]}))
    told = f"{refused.value!r} {refused.value} {caplog.text}"
    assert SECRET not in told
    assert "another-secret" not in told
    assert KEY not in told
    assert refused.value.__cause__ is None
    for file in tmp_path.rglob("*"):
        assert not file.is_file() or not {SECRET.encode(), KEY.encode()} & set(file.read_bytes().split(b'"')), file
        assert not file.is_file() or SECRET.encode() not in file.read_bytes(), file


def test_a_server_that_is_gone_and_a_bucket_that_is_not_there_are_told(tmp_path: Path, s3: S3Server) -> None:
    with pytest.raises(ab.Unavailable, match="no server answers"):
        ab.init(tmp_path / "a", objects="s3://tests/x?endpoint=http://127.0.0.1:9")
    with pytest.raises(ab.Unavailable, match="there is no such bucket"):
        ab.init(tmp_path / "b", objects=f"s3://nowhere/x?endpoint={s3.endpoint}")


def test_a_store_is_backed_up_to_an_address_and_made_again_elsewhere(
    tmp_path: Path, address: str, s3: S3Server
) -> None:
    backup = s3.new_root()
    with made(tmp_path, address, settings=ALL_FAR) as repo:
        load(repo)
        first = ab.backup(tmp_path / "store", backup)
        assert first.copied_count == first.file_count == 1
        with repo.commit("main", "more") as tx:
            tx.table("t").insert([{"id": 5000, "v": "new"}])
        again = ab.backup(tmp_path / "store", backup)
        assert (again.copied_count, again.file_count) == (1, 2), "only what is new"
        hashes = [c.hash for c in repo.log()]
    assert len([n for n in names(backup) if n.startswith("catalog-")]) == 1
    ab.restore_store(backup, tmp_path / "near")
    ab.restore_store(backup, tmp_path / "far", objects=s3.new_root())
    for place in ("near", "far"):
        with ab.open(tmp_path / place, repository="store", engine="duck") as new:
            assert [c.hash for c in new.log()] == hashes
            assert new.table("t").count() == 1001
            assert not new.verify().damages


def test_a_damaged_backup_and_a_place_of_another_store_are_told(tmp_path: Path, address: str, s3: S3Server) -> None:
    backup = s3.new_root()
    with made(tmp_path, address, settings=ALL_FAR) as repo:
        load(repo)
    ab.backup(tmp_path / "store", backup)
    with pytest.raises(ab.AlreadyExists, match="store of its own"):
        ab.backup(tmp_path / "store", address)
    with pytest.raises(ab.NotFound, match="no backup"):
        ab.restore_store(address, tmp_path / "new")
    blobs = open_blobs(read_object_url(backup))
    [path] = [n for n in names(backup) if n.endswith(".parquet")]
    blobs.put(path, b"cut")
    with pytest.raises(ab.Corrupt, match="not what was written"):
        ab.restore_store(backup, tmp_path / "new")
    [catalog] = [n for n in names(backup) if n.startswith("catalog-")]
    blobs.put(catalog, b"cut")
    with pytest.raises(ab.Corrupt, match="not what was written"):
        ab.restore_store(backup, tmp_path / "newer")
