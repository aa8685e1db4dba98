"""An object root and a copy of the catalogue: nobody removes what another may need, until a person says so."""

from __future__ import annotations

import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

import anabranch as ab
from anabranch.catalog import root_tokens
from anabranch.objects.folder import Folder
from anabranch.repo.context import root_owner
from tests.catalog.processes import die, run
from tests.hdfs import HdfsServer
from tests.postgres import PostgresServer
from tests.tiny_s3 import TinyS3

FILES = ab.Settings(objects=ab.ObjectSettings(inline_limit_bytes=0), folding=ab.FoldingSettings(commit_limit=0))


@dataclass(frozen=True)
class Place:
    """A store whose objects are apart from its catalogue, and the way to copy that catalogue."""

    url: str
    objects: str
    copy: Callable[[], str]
    execute: Callable[[str, str], None]
    """Runs a statement on the catalogue at a location."""

    def init(self) -> ab.Repository:
        return ab.init(self.url, repository="shop", objects=self.objects, engine="duck", author="ann", settings=FILES)


def open_(url: str) -> ab.Repository:
    return ab.open(url, repository="shop", engine="duck", author="ann", settings=FILES)


def at(folder: str) -> Path:
    return Path(folder) / ".anabranch" / "catalog.db"


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """A store with its objects in a folder of their own."""
    if request.param == "sqlite":
        yield _in_folder(tmp_path, str(tmp_path / "objects"))
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    url = server.create_database()
    copy = f"{url}_copy"

    def copied() -> str:
        name = url.rpartition("/")[2]
        run_on(server.url(), f'CREATE DATABASE "{name}_copy" TEMPLATE "{name}"')
        return copy

    yield Place(url, str(tmp_path / "objects"), copied, run_on)
    run_on(server.url(), f'DROP DATABASE IF EXISTS "{copy.rpartition("/")[2]}" WITH (FORCE)')
    server.drop_database(url)


def _in_folder(tmp_path: Path, objects: str) -> Place:
    def copied() -> str:
        at(str(tmp_path / "copy")).parent.mkdir(parents=True)
        shutil.copy(at(str(tmp_path / "store")), at(str(tmp_path / "copy")))
        return str(tmp_path / "copy")

    return Place(str(tmp_path / "store"), objects, copied, run_on)


def run_on(url: str, statement: str) -> None:
    if "://" in url:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(statement.encode())
        return
    with sqlite3.connect(at(url)) as file:
        file.execute(statement)
    file.close()


def put(repo: ab.Repository, key: int) -> None:
    with repo.commit("main", f"put {key}") as tx:
        if repo.tables("main"):
            tx.table("t").upsert([{"id": key, "v": key}])
        else:
            tx.create_table("t", [{"id": key, "v": key}], key="id")


def let_expire(repo: ab.Repository) -> None:
    """Let the token that is laid be old for this repository, and each that it lays at once old again."""
    repo._ctx.owner.fresh_seconds = repo._ctx.owner._due_at = 0.0


def a_minute_later(repo: ab.Repository) -> None:
    """Let the token that is laid be old, and another one follow it."""
    let_expire(repo)
    repo._ctx.owner.renew()
    repo._ctx.owner.fresh_seconds = 60.0
    repo._ctx.owner._due_at = time.monotonic() + 60


def lose_branch(repo: ab.Repository) -> None:
    """Let nothing reach the newest commit, so that gc wants its objects."""
    repo.reset("main", to="main~1")


def refused(repo: ab.Repository, *named: str, **options: Any) -> None:
    for dry_run in (True, False):
        with pytest.raises(ab.InvalidRequest, match="take-over") as caught:
            repo.gc(grace=0, reflog=0, dry_run=dry_run)
        for name in named:
            assert name in str(caught.value)


def tokens(repo: ab.Repository) -> set[str]:
    return set(repo._ctx.root.tokens())


def test_a_copy_removes_nothing_whether_the_original_writes_on_or_is_idle(place: Place) -> None:
    with place.init() as original:
        put(original, 1)
        put(original, 2)
    copy = place.copy()
    with open_(copy) as staging:
        lose_branch(staging)
        refused(staging, place.objects, staging._ctx.owner.where)
    with open_(place.url) as original:
        put(original, 3)
        a_minute_later(original)
        put(original, 4)
        with open_(copy) as staging:
            refused(staging, place.objects, staging._ctx.owner.where, original._ctx.owner.where)
        original.gc(grace=0, reflog=0)
        original.verify().raise_damages()
        assert original.table("t").count() == 4


def test_once_a_copy_wrote_neither_removes_anything_until_one_takes_over(place: Place) -> None:
    with place.init() as original:
        put(original, 1)
        put(original, 2)
    copy = place.copy()
    with open_(place.url) as original, open_(copy) as staging:
        put(staging, 5)
        here, there = original._ctx.owner.where, staging._ctx.owner.where
        refused(original, here, there, place.objects)
        put(original, 3)
        for _ in range(2):
            for repo in (original, staging):
                a_minute_later(repo)
                put(repo, 9)
        refused(original, here, there)
        refused(staging, here, there)
        lose_branch(original)
        assert original.gc(grace=0, reflog=0, dry_run=True, take_over=True)["commits"].count == 1
        refused(original)
        assert original.gc(grace=0, reflog=0, take_over=True)["commits"].count == 1
        original.verify().raise_damages()
        original.gc(grace=0)
        refused(staging, here, there)
        put(original, 10)
        a_minute_later(original)
        put(original, 11)
        original.gc(grace=0)


def test_the_root_has_one_token_that_lasts_a_minute_and_the_catalogue_the_last_ten(place: Place) -> None:
    with place.init() as repo:
        for key in range(4):
            put(repo, key)
        first = tokens(repo)
        assert len(first) == 1
        with open_(place.url) as other:
            put(other, 50)
            assert tokens(other) == first, "another process of the same catalogue finds it young"
        seen = [*first]
        for key in range(12):
            a_minute_later(repo)
            put(repo, 10 + key)
            (token,) = tokens(repo)
            assert token not in seen
            seen.append(token)
        with repo._ctx.catalog.read() as cx:
            assert [x.text for x in root_tokens.read(cx) or ()] == seen[::-1][:10]
        repo.gc(grace=0)
        repo.verify().raise_damages()


def test_two_that_renew_at_once_lay_tokens_that_both_know(place: Place) -> None:
    with place.init() as repo:
        put(repo, 0)
        for _ in range(5):
            a_minute_later(repo)
            owners = [open_(place.url) for _ in range(6)]
            for x in owners:
                let_expire(x)
            threads = [threading.Thread(target=x._ctx.owner.renew) for x in owners]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            for x in owners:
                x.gc(grace=0)
                x.close()


def test_a_store_without_tokens_lays_one_and_leaves_files_for_a_day(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    with place.init() as repo:
        put(repo, 1)
        put(repo, 2)
        (token,) = tokens(repo)
        repo._ctx.root.remove_tokens([token])
        lose_branch(repo)
    place.execute(place.url, "DELETE FROM ana_store WHERE key = 'root_tokens'")
    copy = place.copy()
    with open_(place.url) as repo, open_(copy) as staging:
        files = {f.path for f in repo._ctx.root.files()}
        told = repo.gc(grace=0, reflog=0, dry_run=True)
        assert tokens(repo) == set(), "a dry run lays none"
        assert told.size_bytes == 0 < told.later_bytes
        done = repo.gc(grace=0, reflog=0)
        assert (done.size_bytes, done["files"].count) == (0, 0)
        assert "a day" in done.notes[-1]
        assert {f.path for f in repo._ctx.root.files()} == files
        assert len(tokens(repo)) == 1
        refused(staging, repo._ctx.owner.where)
        assert repo.gc(grace=0, reflog=0).size_bytes == 0
        monkeypatch.setattr(root_owner, "FIRST_TOKEN_SECONDS", 0)
        assert repo.gc(grace=0, reflog=0).size_bytes > 0
        repo.verify().raise_damages()


def test_a_store_in_its_own_folder_needs_no_token_and_may_be_moved_and_copied_whole(tmp_path: Path) -> None:
    with ab.init(tmp_path / "a", repository="shop", engine="duck", settings=FILES) as repo:
        put(repo, 1)
        put(repo, 2)
        a_minute_later(repo)
        put(repo, 3)
        repo.close()
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    (tmp_path / "a").rename(tmp_path / "moved")
    for name in ("moved", "b"):
        with open_(str(tmp_path / name)) as repo:
            lose_branch(repo)
            assert repo.gc(grace=0, reflog=0)["commits"].count == 1
            a_minute_later(repo)
            put(repo, 4)
            repo.gc(grace=0)
            repo.verify().raise_damages()


def test_a_strangers_catalogue_that_names_the_folder_of_a_store_collects_nothing_there(tmp_path: Path) -> None:
    with ab.init(tmp_path / "mine", repository="shop", engine="duck", settings=FILES) as repo:
        put(repo, 1)
        put(repo, 2)
        (token,) = tokens(repo)
        repo._ctx.root.remove_tokens([token])  # as in a store made earlier
    theirs = _in_folder(tmp_path, "").copy
    at(str(tmp_path / "store")).parent.mkdir(parents=True)
    shutil.copy(at(str(tmp_path / "mine")), at(str(tmp_path / "store")))
    copy = theirs()
    objects = at(str(tmp_path / "mine")).parent / "objects"
    run_on(copy, f"UPDATE ana_store SET value = '{objects}' WHERE key = 'objects'")
    run_on(copy, "DELETE FROM ana_store WHERE key = 'root_tokens'")
    with open_(copy) as hostile:
        lose_branch(hostile)
        refused(hostile, str(objects), str(at(str(tmp_path / "mine"))))


def test_a_link_in_place_of_the_root_is_not_the_folders_own(tmp_path: Path) -> None:
    with ab.init(tmp_path / "mine", repository="shop", engine="duck", settings=FILES) as repo:
        put(repo, 1)
        put(repo, 2)
        repo._ctx.root.remove_tokens(tokens(repo))  # as in a store made earlier
    theirs = at(str(tmp_path / "theirs")).parent
    theirs.mkdir(parents=True)
    shutil.copy(at(str(tmp_path / "mine")), theirs)
    (theirs / "objects").symlink_to(at(str(tmp_path / "mine")).parent / "objects")
    with open_(str(tmp_path / "theirs")) as hostile:
        lose_branch(hostile)
        refused(hostile, str(at(str(tmp_path / "mine"))))
    (theirs / "catalog.db").unlink()
    with pytest.raises(ab.InvalidRequest, match="is a link"):
        ab.backup(str(tmp_path / "mine"), str(tmp_path / "theirs"))
    with open_(str(tmp_path / "mine")) as repo:
        repo.verify().raise_damages()
        repo.gc(grace=0)


def test_a_store_whose_rows_are_all_in_the_catalogue_makes_no_root(tmp_path: Path) -> None:
    with ab.init(tmp_path / "a", repository="shop", engine="duck") as repo:
        put(repo, 1)
        put(repo, 2)
        lose_branch(repo)
        repo.gc(grace=0, reflog=0)
        repo.verify().raise_damages()
    assert not (at(str(tmp_path / "a")).parent / "objects").exists()


def test_a_backup_has_no_token_and_a_restored_store_one_of_its_own(place: Place, tmp_path: Path) -> None:
    with place.init() as repo:
        put(repo, 1)
        put(repo, 2)
        before = tokens(repo)
        ab.backup(place.url, str(tmp_path / "backup"))
        with open_(str(tmp_path / "backup")) as copy:
            assert tokens(copy) == set()
            with copy._ctx.catalog.read() as cx:
                assert root_tokens.read(cx) is None
        ab.restore_store(str(tmp_path / "backup"), str(tmp_path / "new"), objects=str(tmp_path / "newer"))
        with open_(str(tmp_path / "new")) as new:
            assert len(tokens(new)) == 1
            assert not tokens(new) & before
            lose_branch(new)
            assert new.gc(grace=0, reflog=0)["commits"].count == 1
            new.verify().raise_damages()
        repo.gc(grace=0)
        repo.verify().raise_damages()


def test_a_copy_does_not_take_the_place_of_the_originals_backup(place: Place, tmp_path: Path) -> None:
    with place.init() as original:
        put(original, 1)
    kept, copy = str(tmp_path / "kept"), place.copy()
    ab.backup(place.url, kept)
    ab.backup(copy, kept)  # it has all that the original has
    with open_(place.url) as original:
        put(original, 2)
        newest = original.show().hash[:10]
    ab.backup(place.url, kept)
    with pytest.raises(ab.AlreadyExists, match=newest):
        ab.backup(copy, kept)
    ab.backup(copy, str(tmp_path / "another"))
    ab.backup(place.url, kept)
    with open_(kept) as backup:
        assert backup.table("t").count() == 2


def test_an_older_catalogue_put_back_removes_nothing_that_came_after(tmp_path: Path) -> None:
    place = _in_folder(tmp_path, str(tmp_path / "objects"))
    with place.init() as repo:
        put(repo, 1)
    older = at(place.url).read_bytes()
    with open_(place.url) as repo:
        a_minute_later(repo)
        put(repo, 2)
    at(place.url).write_bytes(older)  # the same file still
    with open_(place.url) as repo:
        refused(repo, place.objects)
        repo.gc(grace=0, take_over=True)
        put(repo, 3)
        repo.gc(grace=0)
        repo.verify().raise_damages()


def test_a_token_that_was_laid_late_takes_no_right_away(place: Place) -> None:
    with place.init() as repo:
        put(repo, 1)
        root = repo._ctx.root
        (late,) = root.tokens().items()
        for key in range(12):
            a_minute_later(repo)
            put(repo, key)
        root.put_token(*late)  # as by a process that paused before, and was killed after
        repo.gc(grace=0)
        a_minute_later(repo)
        put(repo, 3)
        assert len(tokens(repo)) == 1


@pytest.mark.parametrize("fact", ["", "no JSON", "7", '[["../../x", 1]]', '[["taaaaaaaaaaaaaaaa"]]', "[" * 5000])
def test_a_fact_that_holds_no_tokens_gives_no_right_and_is_a_damage(tmp_path: Path, fact: str) -> None:
    place = _in_folder(tmp_path, str(tmp_path / "objects"))
    with place.init() as repo:
        put(repo, 1)
        repo._ctx.catalog.close()
    run_on(place.url, f"UPDATE ana_store SET value = '{fact}' WHERE key = 'root_tokens'")
    with open_(place.url) as repo:
        refused(repo)
        assert [d.kind for d in repo.verify().damages] == ["store"]


def test_tokens_below_a_link_are_neither_read_nor_laid(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    with ab.init(tmp_path / "a", repository="shop", engine="duck", settings=FILES) as repo:
        root = at(str(tmp_path / "a")).parent / "objects"
        root.mkdir()
        (root / "tokens").symlink_to(tmp_path / "elsewhere")
        with pytest.raises(ab.Corrupt, match="link"):
            put(repo, 1)
    assert list((tmp_path / "elsewhere").iterdir()) == []


def die_while_renewing(url: str, step: int, when: str) -> None:
    """Renew, and die before or after the n-th step."""
    done = iter(range(1, 100))

    def counted(usual: Any) -> Any:
        def called(*args: Any, **named: Any) -> Any:
            number = next(done)
            if number == step and when == "before":
                die()
            result = usual(*args, **named)
            if number == step:
                die()
            return result

        return called

    for owner, name in ((Folder, "put_token"), (Folder, "remove_tokens"), (root_tokens, "newest")):
        setattr(owner, name, counted(getattr(owner, name)))
    with open_(url) as repo:
        let_expire(repo)
        repo._ctx.owner.renew()


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_process_that_dies_while_it_renews_again_and_again_takes_no_right_away(place: Place, when: str) -> None:
    with place.init() as repo:
        put(repo, 1)
        for step in (1, 2, 3, 4):
            for _ in range(3 if step == 1 else 12):
                with pytest.raises(AssertionError):
                    run(die_while_renewing, place.url, step, when)
                assert repo.gc(grace=0, dry_run=True).size_bytes == 0
                assert len(tokens(repo)) <= 2
        put(repo, 2)
        repo.gc(grace=0)
        repo.verify().raise_damages()


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TinyS3]:
    from tests.s3 import ENVIRONMENT

    for name, value in {**ENVIRONMENT, "XDG_CACHE_HOME": str(tmp_path / "cache")}.items():
        monkeypatch.setenv(name, value)
    with TinyS3() as server:
        yield server


def test_on_s3_it_is_the_same(tiny: TinyS3, tmp_path: Path) -> None:
    place = _in_folder(tmp_path, tiny.root())
    test_a_copy_removes_nothing_whether_the_original_writes_on_or_is_idle(place)
    names = [name for name in tiny.blobs if "/tokens/" in name]
    assert len(names) == 1


def test_on_s3_neither_removes_anything_once_both_wrote(tiny: TinyS3, tmp_path: Path) -> None:
    test_once_a_copy_wrote_neither_removes_anything_until_one_takes_over(_in_folder(tmp_path, tiny.root()))


@pytest.mark.more
def test_on_hdfs_it_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with HdfsServer() as server:
        for number, check in enumerate(
            (
                test_a_copy_removes_nothing_whether_the_original_writes_on_or_is_idle,
                test_once_a_copy_wrote_neither_removes_anything_until_one_takes_over,
            )
        ):
            check(_in_folder(tmp_path / str(number), server.new_root()))


def test_threads_that_upload_inside_a_publication_wait_for_nobody(place: Place) -> None:
    with place.init() as repo:
        put(repo, 1)
        before = tokens(repo)
        let_expire(repo)
        with repo._ctx.catalog.alone(repo._ctx.record.id):
            begun = time.monotonic()
            repo._ctx.root.put(b"within")
            thread = threading.Thread(target=repo._ctx.root.put, args=(b"beside",))
            thread.start()
            thread.join(20)
            assert not thread.is_alive()
            assert time.monotonic() - begun < 15
            assert tokens(repo) == before
        put(repo, 2)
        assert tokens(repo) != before, "the next upload renews"
