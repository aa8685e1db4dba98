"""Disks that are full, read-only or damaged: told clearly and by name, and nothing else suffers."""

from __future__ import annotations

import os
import random
import resource
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, select, update

import anabranch as ab
from anabranch.catalog import tables
from tests.catalog import processes, stores
from tests.catalog.stores import Store, ids, make_table, own_objects, put

store = stores.store

# Objects and files are counted here: none is a manifest.
FILES_ONLY = ab.Settings(objects=ab.ObjectSettings(inline_limit_bytes=0, manifest_object_limit=2000))
INLINE_ONLY = ab.Settings(objects=ab.ObjectSettings(inline_limit_bytes=10**9, manifest_object_limit=2000))
BIG = 250_000
"""Rows that do not fit on a small disk."""


@contextmanager
def small_disk(place: Path, size: str) -> Iterator[Path]:
    """Mount a disk of a few megabytes; only root can."""
    place.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", place], capture_output=True, text=True
    )
    if done.returncode != 0:
        pytest.skip(f"no small disk can be mounted here ({done.stderr.strip()}); limits on file size are tried instead")
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", place], check=True)


@contextmanager
def read_only(place: Path) -> Iterator[None]:
    """Take the right to write away; from root a mount does."""
    if os.geteuid() == 0:
        subprocess.run(["mount", "--bind", place, place], check=True)
        subprocess.run(["mount", "-o", "remount,ro,bind", place], check=True)
        try:
            yield
        finally:
            subprocess.run(["umount", "--lazy", place], check=True)
    else:
        inside = [place, *place.rglob("*")]
        modes = {p: p.stat().st_mode for p in inside}
        try:
            for p in inside:
                p.chmod(modes[p] & ~0o222)
            yield
        finally:
            for p in inside:
                p.chmod(modes[p])


def big_rows() -> list[dict[str, Any]]:
    drawn = random.Random(7)
    return [{"id": n, "v": drawn.getrandbits(62)} for n in range(BIG)]


def files_under(place: Path) -> set[Path]:
    return {p for p in place.rglob("*") if p.is_file()}


# Full disks


def test_a_full_disk_under_the_objects_is_told_and_nothing_is_published(tmp_path: Path) -> None:
    with (
        small_disk(tmp_path / "disk", "1m") as disk,
        ab.init(tmp_path / "store", objects=str(disk / "objects"), engine="duck", settings=FILES_ONLY) as repo,
    ):
        made = make_table(repo, "t")
        before = files_under(disk)
        with pytest.raises(ab.Unavailable, match="No space left") as caught, repo.commit("main", "too much") as tx:
            tx.table("t").insert([{"id": 2, "v": 2}])
            tx.create_table("big", big_rows(), key="id")
        assert "space" in str(caught.value.hint)
        assert repo.show() == made
        assert files_under(disk) == before
        assert repo.verify().raise_damages().objects == 1
        put(repo, "t", 3)
        assert ids(repo, "t") == [1, 3]


def test_a_full_disk_under_the_catalogue_is_told_and_nothing_is_published(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "3m") as disk:
        with ab.init(disk / "store", engine="duck", settings=INLINE_ONLY) as repo:
            make_table(repo, "t")
            filler = disk / "filler"
            with pytest.raises(OSError, match="No space"):
                filler.write_bytes(b"x" * 2**23)
            done = 0
            with pytest.raises(ab.Unavailable, match="full") as caught:
                for number in range(2, 500):  # what is left of the last pages takes a few rows
                    put(repo, "t", number)
                    done = number
            assert "space" in str(caught.value.hint)
            with pytest.raises(ab.Unavailable):
                for number in range(500):
                    repo.branch(f"b{number}")
            assert ids(repo, "t") == [1, *range(2, done + 1)]
            filler.unlink()
            put(repo, "t", 999)
        with ab.open(disk / "store", engine="duck") as repo:
            assert ids(repo, "t") == [1, *range(2, done + 1), 999]
            assert repo.verify().raise_damages().objects == len(repo.log()) - 1
            assert [t.name for t in repo.tables()] == ["t"]


def commit_under_a_limit(store: Store, name: str, settings: ab.Settings, limit: int) -> str:
    """Commit in a process that may not write files longer than a limit; tell what came of it."""
    with store.open(name, settings=settings) as repo:
        with repo.commit("main", "warm up") as tx:
            tx.table("t").insert([{"id": 2, "v": 2}])
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
        try:
            with repo.commit("main", "too much") as tx:
                tx.table("t").insert([{"id": 3, "v": 3}])
                tx.create_table("big", big_rows(), key="id")
        except ab.AnabranchError as error:
            return f"{type(error).__name__}: {error.message}"
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        return "published"


@pytest.mark.parametrize("settings", [FILES_ONLY, INLINE_ONLY], ids=["files", "inline"])
def test_a_file_that_may_not_grow_is_told_and_nothing_is_published(tmp_path: Path, settings: ab.Settings) -> None:
    place = tmp_path / "store"
    store = Store("sqlite", str(place), place / ".anabranch" / "objects")
    with store.init("r", settings=settings) as repo:
        make_table(repo, "t")
        files = store.files()
        told = processes.run(commit_under_a_limit, store, "r", settings, 900_000)
        assert told.startswith("Unavailable"), told
        assert repo.show().message == "warm up"
        assert [t.name for t in repo.tables()] == ["t"]
        assert len(store.files() - files) == (1 if settings is FILES_ONLY else 0)
        assert repo.verify().raise_damages().objects == 2
        put(repo, "t", 4)
        assert ids(repo, "t") == [1, 2, 4]


# Read-only


def test_a_read_only_store_can_not_be_written_and_says_so(tmp_path: Path) -> None:
    place = tmp_path / "store"
    with ab.init(place, engine="duck", settings=FILES_ONLY) as repo:
        make_table(repo, "t")

    def use(verb: Callable[[ab.Repository], Any]) -> None:
        with ab.open(place, engine="duck", settings=FILES_ONLY) as repo:
            verb(repo)

    with read_only(place):
        for verb in (lambda r: put(r, "t", 2), lambda r: r.branch("dev"), lambda r: r.start(message="x")):
            with pytest.raises(ab.Unavailable) as caught:
                use(verb)
            assert "permission" in str(caught.value.hint)
        with suppress(ab.Unavailable):  # SQLite may want to make a journal even to read
            use(lambda r: ids(r, "t"))
        with pytest.raises(ab.AnabranchError):
            ab.init(place, repository="another")
    with ab.open(place, engine="duck") as repo:
        assert ids(repo, "t") == [1]
        put(repo, "t", 3)


def test_a_store_can_not_be_made_where_nothing_can_be_written(tmp_path: Path) -> None:
    place = tmp_path / "closed"
    place.mkdir()
    with read_only(place), pytest.raises((ab.InvalidRequest, ab.Unavailable)) as caught:
        ab.init(place / "store")
    assert caught.value.hint


def test_an_object_root_that_can_not_be_written_is_told_and_nothing_is_published(tmp_path: Path) -> None:
    place = tmp_path / "objects"
    with ab.init(tmp_path / "store", objects=str(place), engine="duck", settings=FILES_ONLY) as repo:
        made = make_table(repo, "t")
        with read_only(place):
            with pytest.raises(ab.Unavailable, match="object root"), repo.commit("main", "closed") as tx:
                tx.table("t").insert([{"id": 2, "v": 2}])
            assert repo.show() == made
            assert ids(repo, "t") == [1]
        put(repo, "t", 3)


class Mishap(Exception):
    pass


def test_files_that_can_not_be_removed_hide_no_error_and_no_success(tmp_path: Path) -> None:
    place = tmp_path / "objects"
    with ab.init(tmp_path / "store", objects=str(place), engine="duck", settings=FILES_ONLY) as repo:
        made = make_table(repo, "t")
        with ExitStack() as closed, pytest.raises(Mishap), repo.commit("main", "in vain") as tx:
            tx.table("t").insert([{"id": 2, "v": 2}])
            closed.enter_context(read_only(place))
            raise Mishap
        assert repo.show() == made
        with ExitStack() as closed, repo.commit("main", "with a remnant") as tx:
            tx.table("t").insert([{"id": 3, "v": 3}])
            tx.create_table("brief", [{"id": 1}], key="id")
            tx.drop_table("brief")
            closed.enter_context(read_only(place))
        assert tx.commit == repo.show()
        assert ids(repo, "t") == [1, 3]


# Damage


@pytest.fixture
def filed(store: Store) -> Iterator[ab.Repository]:
    """Two tables, each with a snapshot and a change, every object in a file."""
    with store.init(settings=FILES_ONLY) as made:
        for name in ("t", "sound"):
            make_table(made, name, [{"id": n, "v": n} for n in range(500)])
            put(made, name, 3, v=33)
        yield made


def place_of(store: Store, repo: ab.Repository, kind: str) -> Path:
    (path,) = [x["path"] for x in repo.table("t").layout() if x["kind"] == kind]
    return store.objects / path


def missing(file: Path) -> None:
    file.unlink()


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-20])


def emptied(file: Path) -> None:
    file.write_bytes(b"")


def garbled(file: Path) -> None:
    content = file.read_bytes()
    file.write_bytes(b"PAR1" + bytes(len(content) - 8) + b"PAR1")


DAMAGES: list[Callable[[Path], None]] = [missing, cut, emptied, garbled]


def every_use(repo: ab.Repository, name: str) -> dict[str, Callable[[], Any]]:
    """Ways to meet both the snapshot and the change of a table."""

    def write(statement: Callable[[Any], Any]) -> Callable[[], Any]:
        def run() -> None:
            with repo.commit("main", "use it") as tx:
                statement(tx.table(name))

        return run

    return {
        "rows": lambda: repo.table(name).rows(),
        "get": lambda: repo.table(name).get(3),
        "count": lambda: repo.table(name, where="v > 1").count(),
        "upsert": write(lambda t: t.upsert([{"id": 3, "v": 0}])),
        "update": write(lambda t: t.update({"v": "v + 1"})),
        "delete": write(lambda t: t.delete(where="v = 33")),
        "several": write(lambda t: (t.delete(where="id = 3"), t.insert([{"id": 3, "v": 1}]))),
    }


def make_row(repo: ab.Repository, id_: int) -> None:
    with repo.commit("main", "insert") as tx:
        tx.table("t").insert([{"id": id_, "v": 0}])


@pytest.mark.parametrize("kind", ["rows", "update"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_told_by_name_wherever_it_is_met(
    store: Store, filed: ab.Repository, damage: Callable[[Path], None], kind: str
) -> None:
    file, head = place_of(store, filed, kind), filed.show()
    content = file.read_bytes()
    damage(file)
    uses = every_use(filed, "t")
    if kind == "rows":
        uses["insert"] = lambda: make_row(filed, 3)  # looks keys up, which an update does not touch
    for name, use in uses.items():
        with pytest.raises(ab.Corrupt) as caught:
            use()
        assert str(file) in str(caught.value), name
        assert caught.value.hint, name
    with pytest.raises(ab.Corrupt) as caught:
        filed.verify().raise_damages()
    assert str(file) in str(caught.value)
    assert filed.show() == head, "nothing was published"
    assert len(filed.table("sound").rows()) == 500, "other tables are not affected"
    assert filed.table("t").count() == 500, "the catalogue knows"
    file.write_bytes(content)
    assert filed.table("t").get(3) == {"id": 3, "v": 33}
    assert own_objects(filed) == 4


@pytest.fixture
def inline(store: Store) -> Iterator[tuple[ab.Repository, str]]:
    """A table whose bytes lie in the catalogue, and the id of its object."""
    with store.init(settings=INLINE_ONLY) as made:
        make_table(made, "sound")
        make_table(made, "t", [{"id": n, "v": n} for n in range(50)])
        yield made, made.show_changes()[0].objects[0]["id"]


@pytest.mark.parametrize("damage", ["missing", "cut", "flipped"])
def test_damaged_bytes_in_the_catalogue_are_told_by_name(
    store: Store, inline: tuple[ab.Repository, str], damage: str
) -> None:
    repo, id_ = inline
    c = tables.inline_objects.c
    with repo._ctx.catalog.write() as cx:
        content = cx.scalar(select(c.content).where(c.object_id == id_))
        assert content is not None
        if damage == "missing":
            cx.execute(delete(tables.inline_objects).where(c.object_id == id_))
        else:
            changed = content[:-1] if damage == "cut" else content[:30] + bytes([content[30] ^ 1]) + content[31:]
            cx.execute(update(tables.inline_objects).where(c.object_id == id_).values(content=changed))
    with store.open(repo.name) as again:  # nothing is remembered
        for name, use in every_use(again, "t").items():
            with pytest.raises(ab.Corrupt, match=id_) as caught:
                use()
            assert caught.value.hint, name
        assert any(id_ in str(damage) for damage in again.verify().damages), "the store may have more of them"
        assert ids(again, "sound") == [1]


def test_an_object_that_the_catalogue_lost_is_found_by_verify_and_never_read_as_no_rows(
    store: Store, inline: tuple[ab.Repository, str]
) -> None:
    repo, id_ = inline
    with repo._ctx.catalog.write() as cx:
        cx.execute(delete(tables.objects).where(tables.objects.c.id == id_))
    with store.open(repo.name) as again:
        with pytest.raises(ab.Corrupt):
            again.verify().raise_damages()
        with pytest.raises(ab.Corrupt):
            again.table("t").rows()


def test_a_catalogue_that_was_cut_or_overwritten_is_corrupt(tmp_path: Path) -> None:
    place = tmp_path / "store"
    with ab.init(place, engine="duck", settings=INLINE_ONLY) as repo:
        make_table(repo, "t")
    file = place / ".anabranch" / "catalog.db"
    content = file.read_bytes()
    for damaged in (content[:4096], content[:4096] + bytes(len(content) - 4096), content[: len(content) // 2]):
        file.write_bytes(damaged)
        with pytest.raises(ab.Corrupt, match=r"catalog\.db") as caught, ab.open(place, engine="duck") as repo:
            repo.log()
            repo.table("t").rows()
        assert "backup" in str(caught.value.hint)
    file.write_bytes(content)
    with ab.open(place, engine="duck") as repo:
        assert ids(repo, "t") == [1]
