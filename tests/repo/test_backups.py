"""Backups: one state of a store while others write, incremental, compared with hashes, and stores made from them."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import anabranch as ab
from tests.catalog.kept_store import tell
from tests.catalog.processes import Child, die

FILES = ab.Settings(objects=ab.ObjectSettings(inline_limit_bytes=0))


@pytest.fixture
def shop(store_url: str, objects_root: str) -> Iterator[ab.Repository]:
    repo = ab.init(store_url, objects=objects_root, repository="shop", engine="duck", author="ann", settings=FILES)
    with repo.commit("main", "make") as tx:
        tx.create_table("t", [{"id": i, "v": i} for i in range(50)], key="id")
    repo.branch("dev")
    put(repo, 1, "dev")
    put(repo, 2)
    repo.merge("dev", into="main")
    repo.tag("v1", "main")
    repo.start("main", message="open").table("t").delete(where="id = 3")
    yield repo
    repo.close()


def put(repo: ab.Repository, key: int, branch: str = "main") -> None:
    with repo.commit(branch, f"put {key}") as tx:
        tx.table("t").upsert([{"id": key, "v": -key}])


def opened(store: Any, name: str = "shop") -> ab.Repository:
    return ab.open(store, repository=name, engine="duck", author="ann")


def test_a_store_is_backed_up_and_made_again_and_goes_on(
    shop: ab.Repository, store_url: str, objects_root: str, tmp_path: Path
) -> None:
    ab.init(store_url, objects=objects_root, repository="hr", engine="duck").close()
    before = tell(shop)
    first = ab.backup(store_url, tmp_path / "backup")
    assert first.copied_count == first.file_count > 3
    again = ab.backup(store_url, tmp_path / "backup")
    assert (again.copied_count, again.file_count) == (0, first.file_count)
    put(shop, 7)
    assert ab.backup(store_url, tmp_path / "backup").copied_count == 1, "only what is new"
    put(shop, 8)
    done = ab.restore_store(tmp_path / "backup", tmp_path / "new")
    assert done.copied_count == done.file_count == first.file_count + 1
    assert ab.repositories(tmp_path / "new") == ["hr", "shop"]
    with opened(tmp_path / "new") as new:
        assert [c.hash for c in new.log()] == [c.hash for c in shop.log()][1:]
        new.verify().raise_damages()
        put(new, 9)
        new.open_commits()[0].finish()
        assert new.table("t").get(9) == {"id": 9, "v": -9}
        assert tell(new)["rows"].items() >= before["rows"].items()
    with pytest.raises(ab.AlreadyExists, match="store already"):
        ab.restore_store(tmp_path / "backup", tmp_path / "new")


def test_a_backup_of_a_folder_becomes_a_store_on_a_server(tmp_path: Path, postgres: Any) -> None:
    with ab.init(tmp_path / "s", repository="shop", engine="duck", author="ann", settings=FILES) as repo:
        with repo.commit("main", "make", facts={"source": [1, None]}) as tx:
            tx.create_table("t", [{"id": 1, "v": 1}], key="id")
        put(repo, 2)
        before = tell(repo)
    ab.backup(tmp_path / "s", tmp_path / "backup")
    url = postgres.create_database()
    try:
        ab.restore_store(tmp_path / "backup", url, objects=str(tmp_path / "objects"))
        with opened(url) as repo:
            assert tell(repo) == before
            put(repo, 3)
            assert len(repo.reflog("main")) == len(before["moves"]) + 1
            repo.verify().raise_damages()
    finally:
        postgres.drop_database(url)


def test_a_backup_beside_writers_is_one_state(shop: ab.Repository, store_url: str, tmp_path: Path) -> None:
    writer = Child(_write, store_url)
    for _ in range(3):
        ab.backup(store_url, tmp_path / "backup")
    writer.result()
    whole = [c.hash for c in shop.log()]
    ab.restore_store(tmp_path / "backup", tmp_path / "new")
    with opened(tmp_path / "new") as new:
        found = [c.hash for c in new.log()]
        assert found == whole[len(whole) - len(found) :]
        new.verify().raise_damages()


def _write(store_url: str) -> None:
    with opened(store_url) as repo:
        for key in range(100, 112):
            put(repo, key)
        repo.gc(grace=0)


def test_work_in_a_backup_is_not_overwritten(shop: ab.Repository, store_url: str, tmp_path: Path) -> None:
    ab.backup(store_url, tmp_path / "backup")
    with opened(tmp_path / "backup") as copy:
        assert copy.table("t").count() == 50, "reading is no work"
    put(shop, 7)
    ab.backup(store_url, tmp_path / "backup")
    with opened(tmp_path / "backup") as copy:
        put(copy, 8)
        copy.branch("mine")
        made = [c.hash for c in copy.log()]
    put(shop, 9)
    wanted = rf"would overwrite: commit {made[0][:10]} on 'main', branch 'mine' .*another folder"
    with pytest.raises(ab.AlreadyExists, match=wanted):
        ab.backup(store_url, tmp_path / "backup")
    with opened(tmp_path / "backup") as copy:
        assert [c.hash for c in copy.log()] == made
        copy.verify().raise_damages()
    ab.backup(store_url, tmp_path / "another")


def test_a_backup_that_is_broken_off_leaves_the_one_before(shop: ab.Repository, store_url: str, tmp_path: Path) -> None:
    ab.backup(store_url, tmp_path / "backup")
    before = [c.hash for c in shop.log()]
    put(shop, 7)
    assert Child(_die_after_files, store_url, str(tmp_path / "backup")).join() == -signal.SIGKILL
    ab.restore_store(tmp_path / "backup", tmp_path / "old")
    with opened(tmp_path / "old") as old:
        assert [c.hash for c in old.log()] == before
        old.verify().raise_damages()
    ab.backup(store_url, tmp_path / "backup")
    with opened(tmp_path / "backup") as new:
        assert [c.hash for c in new.log()] == [c.hash for c in shop.log()]


def _die_after_files(store_url: str, folder: str) -> None:
    usual = Path.rename
    Path.rename = lambda path, to: die() if Path(to).name == "catalog.db" else usual(path, to)  # type: ignore[method-assign, assignment, return-value]
    ab.backup(store_url, folder)


def test_damage_is_found_on_the_way_in_and_out(shop: ab.Repository, store_url: str, tmp_path: Path) -> None:
    ab.backup(store_url, tmp_path / "backup")
    objects = tmp_path / "backup" / ".anabranch" / "objects"
    file = next(objects.rglob("*.parquet"))
    content = file.read_bytes()
    file.write_bytes(content[:-9] + bytes(9))
    with pytest.raises(ab.Corrupt, match="not what was written"):
        ab.restore_store(tmp_path / "backup", tmp_path / "new")
    assert not (tmp_path / "new" / ".anabranch" / "catalog.db").exists() or ab_is_empty(tmp_path / "new")
    source = Path(shop._ctx.root.uri(str(file.relative_to(objects))))
    file.unlink()
    source.write_bytes(content[:-9] + bytes(9))
    with pytest.raises(ab.Corrupt, match="not what was written"):
        ab.backup(store_url, tmp_path / "backup")
    assert not file.exists()


def ab_is_empty(place: Path) -> bool:
    with pytest.raises(ab.NotFound):
        ab.repositories(place)
    return True


def test_a_folder_that_is_no_backup_of_this_store_is_left_alone(
    shop: ab.Repository, store_url: str, tmp_path: Path
) -> None:
    ab.init(tmp_path / "other", engine="duck").close()
    with pytest.raises(ab.AlreadyExists, match="store of its own"):
        ab.backup(store_url, tmp_path / "other")
    ab.backup(tmp_path / "other", tmp_path / "backup")
    with pytest.raises(ab.AlreadyExists, match="another store"):
        ab.backup(store_url, tmp_path / "backup")
    with pytest.raises(ab.NotFound, match="no backup"):
        ab.restore_store(tmp_path / "other", tmp_path / "new")
    with pytest.raises(ab.InvalidRequest, match="can't lie at"):
        ab.backup(store_url, "ftp://x/y")
    note = tmp_path / "backup" / ".anabranch" / "backup.json"
    note.write_text(json.dumps({**json.loads(note.read_text()), "catalog_sha256": ["0"]}))
    with pytest.raises(ab.Corrupt, match="not what the backup wrote"):
        ab.restore_store(tmp_path / "backup", tmp_path / "new")
