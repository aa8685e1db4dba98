"""Stores: making and opening them, several repositories in one, versions, and errors that keep secrets."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select, update

import anabranch as ab
from anabranch.catalog import tables
from anabranch.catalog.migrations import FORMAT_VERSION
from anabranch.catalog.store import Catalog
from tests.catalog import stores
from tests.catalog.stores import Store, ids, make_table, put
from tests.postgres import PostgresServer

store = stores.store
repo = stores.repo

FILES_ONLY = ab.Settings(objects=ab.ObjectSettings(inline_limit_bytes=0))


def catalog_of(store: Store) -> Catalog:
    if store.kind == "postgresql":
        return Catalog.at_server(store.url)
    return Catalog.at_file(str(Path(store.url) / ".anabranch" / "catalog.db"))


def row_counts(store: Store) -> dict[str, int]:
    """How many rows each table of the catalogue has."""
    catalog = catalog_of(store)
    with catalog.read() as cx:
        found = {t.name: cx.scalar(select(func.count()).select_from(t)) or 0 for t in tables.metadata.sorted_tables}
    catalog.close()
    return found


def set_version(store: Store, version: str) -> None:
    catalog = catalog_of(store)
    with catalog.write() as cx:
        cx.execute(update(tables.store).where(tables.store.c.key == "format_version").values(value=version))
    catalog.close()


def test_a_new_repository_has_main_and_an_empty_root(repo: ab.Repository) -> None:
    assert repo.default_branch == "main"
    assert [b.name for b in repo.branches()] == ["main"]
    assert repo.tables() == []
    assert repo.tags() == []
    assert len(repo.log()) == 1
    assert [m.verb for m in repo.reflog()] == ["init"]


def test_the_first_branch_can_have_another_name(store: Store) -> None:
    with store.init(branch="trunk") as repo:
        assert repo.default_branch == "trunk"
        assert repo.show().id == "trunk/0"
        with repo.commit(message="on the default") as tx:
            tx.create_table("t", [{"id": 1}], key="id")
        assert tx.commit.id == "trunk/1"
    with store.open(repo.name) as again:
        assert ids(again, "t") == [1]


def test_what_was_committed_is_there_when_the_repository_is_opened_again(store: Store, repo: ab.Repository) -> None:
    made = make_table(repo, "t")
    repo.close()
    with store.open(repo.name) as again:
        assert again.show() == made
        assert again.name == repo.name
        assert again.table("t").rows() == [{"id": 1, "v": 1}]


def test_several_repositories_live_in_one_store_apart(store: Store) -> None:
    with store.init("left") as left, store.init("right") as right:
        make_table(left, "t", [{"id": 1, "v": 1}])
        make_table(right, "t", [{"id": 2, "v": 2}])
        left.tag("v1")
        right.branch("v1")
        assert (ids(left, "t"), ids(right, "t")) == ([1], [2])
        assert {"left", "right"} <= set(ab.repositories(store.url))
        assert ab.repositories(store.url) == sorted(ab.repositories(store.url))
        with pytest.raises(ab.NotFound):
            right.show(left.show().hash)


def test_a_store_with_several_repositories_asks_which(store: Store) -> None:
    with store.init(), store.init(), pytest.raises(ab.InvalidRequest, match="several") as caught:
        ab.open(store.url)
    assert "repository_" in str(caught.value.hint)


def test_a_store_with_one_repository_needs_no_name(store_url: str, objects_root: str) -> None:
    ab.init(store_url, objects=objects_root, repository="only", engine="duck").close()
    with ab.open(store_url, engine="duck") as repo:
        assert repo.name == "only"
    ab.drop_repository(store_url, "only")
    with pytest.raises(ab.NotFound):
        ab.open(store_url)
    assert ab.repositories(store_url) == []


def test_making_a_repository_twice_is_refused_and_the_first_stays(store: Store) -> None:
    with store.init("twice") as repo:
        make_table(repo, "t")
        with pytest.raises(ab.AlreadyExists, match="twice"):
            store.init("twice")
        assert ids(repo, "t") == [1]


def test_opening_what_is_not_there_is_told(store: Store) -> None:
    store.init("something").close()
    with pytest.raises(ab.NotFound, match="nothing") as caught:
        store.open("nothing")
    assert caught.value.repository == "nothing"
    with pytest.raises(ab.NotFound):
        ab.drop_repository(store.url, "nothing")


def test_a_place_without_a_store_is_told_and_left_alone(store_url: str, tmp_path: Path) -> None:
    for ask in (ab.open, ab.repositories, lambda url: ab.drop_repository(url, "x")):
        with pytest.raises(ab.NotFound, match="no store") as caught:
            ask(store_url)
        assert "ab.init" in str(caught.value.hint)
    assert list(tmp_path.iterdir()) == []


def test_dropping_a_repository_leaves_the_others_and_its_objects_to_gc(store: Store) -> None:
    with store.init() as kept:
        make_table(kept, "t")
        kept.branch("dev")
        kept.tag("v1")
        put(kept, "t", 2, branch="dev")
        kept.start("main", message="open").table("t").insert([{"id": 3, "v": 3}])
        before = row_counts(store)
        with store.init("gone") as gone:
            make_table(gone, "t")
            gone.branch("dev")
            gone.tag("v1")
            put(gone, "t", 2, branch="dev", provenance=[kept.show().hash])
            gone.delete_branch("dev", force=True)
            gone.start("main", message="open").table("t").insert([{"id": 3, "v": 3}])
        assert row_counts(store) != before
        ab.drop_repository(store.url, "gone")
        shared = {"ana_objects", "ana_inline_objects", "ana_schemas", "ana_schema_columns"}
        after = row_counts(store)
        assert {name for name, count in after.items() if count != before[name]} == shared
        kept.gc(grace=0)
        assert row_counts(store) == before
        assert "gone" not in ab.repositories(store.url)
        assert (ids(kept, "t"), ids(kept, "t", "dev")) == ([1], [1, 2])
        assert kept.verify().raise_damages().objects > 0
        assert len(kept.open_commits()) == 1
        with store.init("gone") as again:
            assert again.tables() == []


def test_a_repository_that_was_dropped_meanwhile_is_told_as_not_found(store: Store) -> None:
    with store.init() as repo:
        make_table(repo, "t")
        block = repo.commit("main", "too late")
        tx = block.__enter__()
        tx.table("t").insert([{"id": 2, "v": 2}])
        ab.drop_repository(store.url, repo.name)
        with pytest.raises((ab.NotFound, ab.BranchMoved)):
            block.__exit__(None, None, None)
        for ask in (repo.show, repo.log, repo.tables, lambda: repo.branch("dev")):
            with pytest.raises(ab.NotFound):
                ask()


@pytest.mark.parametrize("name", ["a.b", "a/b", "_ana_x", "x" * 256, "a\nb"])
def test_a_repository_needs_a_legal_name(store: Store, repo: ab.Repository, name: str) -> None:
    before = ab.repositories(store.url)
    with pytest.raises(ab.InvalidRequest, match="repository"):
        store.init(name)
    assert ab.repositories(store.url) == before


@pytest.mark.parametrize("branch", ["a b", "main/7", "", "HEAD"])
def test_a_repository_needs_a_legal_branch(tmp_path: Path, branch: str) -> None:
    with pytest.raises(ab.InvalidRequest, match="branch"):
        ab.init(tmp_path / "store", branch=branch)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"engine": "presto"}, "engine"),
        ({"author": ""}, "author"),
        ({"author": "a\x00b"}, "author"),
        ({"bad": 1}, "bad"),
    ],
)
def test_options_are_checked(tmp_path: Path, options: dict[str, Any], match: str) -> None:
    with pytest.raises((ab.InvalidRequest, TypeError), match=match):
        ab.init(tmp_path / "store", **options)
    assert not (tmp_path / "store").exists()


def test_a_repository_is_named_after_its_folder(tmp_path: Path) -> None:
    with ab.init(tmp_path / "my.shop", engine="duck") as repo:
        assert repo.name == "my_shop"
    with ab.open(str(tmp_path / "my.shop"), engine="duck") as repo:
        assert repo.name == "my_shop"


def test_a_store_can_be_moved_with_its_objects(tmp_path: Path) -> None:
    with ab.init(tmp_path / "old", repository="r", engine="duck", settings=FILES_ONLY) as repo:
        make_table(repo, "t")
    (tmp_path / "old").rename(tmp_path / "new")
    with ab.open(tmp_path / "new", engine="duck") as repo:
        assert ids(repo, "t") == [1]
        assert repo.verify().raise_damages().objects == 1


@pytest.mark.parametrize(
    "name", ["a b", "a?b", "a*b", "a[1]b", "a#b%20", "a'b\"c", "a;b\\c", "é日", "{a}", "~", "$HOME"]
)
def test_a_store_may_lie_in_a_folder_of_any_name(tmp_path: Path, name: str) -> None:
    with ab.init(tmp_path / name, repository="r", engine="duck", settings=FILES_ONLY) as repo:
        make_table(repo, "t")
        put(repo, "t", 2)
        with repo.commit("main", "change") as tx:
            tx.table("t").update({"v": "v + 1"})
            tx.table("t").delete(where="id = 1")
        assert repo.table("t").get(2) == {"id": 2, "v": 1}
        assert ids(repo, "t") == [2]
    with ab.open(tmp_path / name, engine="duck") as repo:
        assert repo.verify().raise_damages().objects > 0
    assert [p.name for p in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("objects", [None, "elsewhere"])
def test_a_store_named_by_a_relative_path_stays_where_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, objects: str | None
) -> None:
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path)
    with ab.init("store", objects=objects, engine="duck", settings=FILES_ONLY) as repo:
        monkeypatch.chdir(tmp_path / "other")
        make_table(repo, "t")
        repo.close()
        assert ids(repo, "t") == [1]
    with ab.open("../store", engine="duck") as repo:
        assert ids(repo, "t") == [1]
    assert list((tmp_path / "other").iterdir()) == []


@pytest.mark.parametrize("url", ["mysql://u:hunter2@h/db", "s3://bucket/x", "sqlite:///x.db", "http://x"])
def test_a_store_can_not_lie_just_anywhere(url: str) -> None:
    for ask in (ab.init, ab.open, ab.repositories):
        with pytest.raises(ab.InvalidRequest, match="can't lie") as caught:
            ask(url)
        assert "hunter2" not in str(caught.value)


def test_a_store_can_not_lie_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(ab.InvalidRequest, match="file"):
        ab.init(tmp_path / "file")
    with pytest.raises(ab.NotFound):
        ab.open(tmp_path / "file")
    assert (tmp_path / "file").read_text() == "x"


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://bob:hunter2@localhost:port/db",
        "postgresql://bob:hunter2@[::1/db",
        "postgresql://bob:hunter2@127.0.0.1:1/db",
        "postgresql://127.0.0.1:1/db?user=bob&password=hunter2",
        "postgresql://bob:hunter2@127.0.0.1:1/db?connect_timeout=hunter3",
        "postgresql://bob:hunter2@127.0.0.1:1/db?no_such_option=1",
        "postgresql://bob:hunter2@host.invalid/db",
    ],
)
def test_a_server_that_can_not_be_reached_is_told_without_the_password(url: str) -> None:
    for ask in (ab.open, ab.repositories, lambda u: ab.init(u, objects="/tmp/nowhere")):
        with pytest.raises((ab.InvalidRequest, ab.Unavailable)) as caught:
            ask(url)
        error: BaseException | None = caught.value
        assert caught.value.hint
        while error is not None:
            assert "hunter2" not in f"{error} {error!r} {getattr(error, 'facts', '')}", type(error)
            error = error.__cause__


def test_a_store_on_a_server_needs_a_place_for_objects(postgres: PostgresServer) -> None:
    url = postgres.create_database()
    with pytest.raises(ab.InvalidRequest, match="objects"):
        ab.init(url)
    with pytest.raises(ab.NotFound):
        ab.repositories(url)
    postgres.drop_database(url)


def test_a_second_repository_needs_no_place_for_objects(store: Store) -> None:
    with store.init("a") as first, ab.init(store.url, repository="b") as second:
        assert second._ctx.root.where == first._ctx.root.where


def test_objects_stay_where_the_store_keeps_them(store: Store, tmp_path: Path) -> None:
    with store.init() as first:
        make_table(first, "t")
    with pytest.raises(ab.InvalidRequest, match="objects"):
        ab.init(store.url, repository="elsewhere", objects=str(tmp_path / "other"))
    assert "elsewhere" not in ab.repositories(store.url)


@pytest.mark.parametrize("location", ["s3a://bucket/prefix", "gs://bucket/x"])
def test_an_object_root_of_no_kind_that_we_know_is_refused_before_anything_is_made(
    store_url: str, objects_root: str, location: str
) -> None:
    with pytest.raises(ab.InvalidRequest, match="can't lie"):
        ab.init(store_url, objects=location, repository="r")
    with ab.init(store_url, objects=objects_root, repository="r", engine="duck") as repo:
        make_table(repo, "t")


def test_objects_may_be_given_as_a_file_url(tmp_path: Path) -> None:
    place = tmp_path / "else where"
    with ab.init(tmp_path / "s", objects=f"file://{place}", engine="duck", settings=FILES_ONLY) as repo:
        make_table(repo, "t")
        assert ids(repo, "t") == [1]
    assert len(list(place.rglob("*.parquet"))) == 1
    with ab.open(tmp_path / "s", engine="duck") as repo:
        assert repo.verify().raise_damages().objects == 1


def test_several_writers_can_make_repositories_at_once(store_url: str, objects_root: str) -> None:
    made: list[str] = []
    refused: list[BaseException] = []

    def make(name: str) -> None:
        try:
            ab.init(store_url, objects=objects_root, repository=name, engine="duck").close()
            made.append(name)
        except ab.AnabranchError as error:
            refused.append(error)

    threads = [threading.Thread(target=make, args=(f"r{n % 3}",)) for n in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sorted(made) == ["r0", "r1", "r2"], refused
    assert [type(e) for e in refused] == [ab.AlreadyExists] * 3
    assert ab.repositories(store_url) == ["r0", "r1", "r2"]


# Versions


@pytest.fixture
def closed(store_url: str, objects_root: str, request: pytest.FixtureRequest) -> Store:
    """A store of its own with one repository `r` and a table, closed."""
    kind = "postgresql" if store_url.startswith("postgresql") else "sqlite"
    objects = Path(objects_root) if kind == "postgresql" else Path(store_url) / ".anabranch" / "objects"
    made = Store(kind, store_url, objects)
    with made.init("r") as repo:
        make_table(repo, "t")
    return made


def test_a_store_of_a_newer_version_is_refused_and_left_untouched(closed: Store) -> None:
    set_version(closed, "99")
    before = row_counts(closed)
    attempts = (
        lambda: closed.open("r"),
        lambda: ab.repositories(closed.url),
        lambda: ab.drop_repository(closed.url, "r"),
        lambda: closed.init("another"),
        lambda: closed.init("r"),
    )
    for attempt in attempts:
        with pytest.raises(ab.InvalidRequest, match="99") as caught:
            attempt()
        assert (caught.value.found, caught.value.expected) == (99, FORMAT_VERSION)
        assert "upgrade" in str(caught.value.hint)
    assert row_counts(closed) == before
    set_version(closed, str(FORMAT_VERSION))
    with closed.open("r") as repo:
        assert ids(repo, "t") == [1]


def test_a_store_without_a_readable_version_is_corrupt(closed: Store) -> None:
    for version in ("", "one", "-1", "1.5", "²"):
        set_version(closed, version)
        with pytest.raises(ab.Corrupt, match="version"):
            closed.open("r")


def test_a_file_that_is_no_database_is_corrupt(tmp_path: Path) -> None:
    place = tmp_path / "store" / ".anabranch"
    place.mkdir(parents=True)
    (place / "catalog.db").write_bytes(b"not a database at all, but long enough to look at" * 20)
    with pytest.raises(ab.Corrupt, match=r"catalog\.db"):
        ab.open(tmp_path / "store")


def test_an_empty_file_is_no_store(tmp_path: Path) -> None:
    place = tmp_path / "store" / ".anabranch"
    place.mkdir(parents=True)
    (place / "catalog.db").touch()
    with pytest.raises(ab.NotFound, match="no store"):
        ab.open(tmp_path / "store")


def test_a_database_of_somebody_else_is_not_taken_for_a_store(tmp_path: Path) -> None:
    place = tmp_path / "store" / ".anabranch"
    place.mkdir(parents=True)
    with sqlite3.connect(place / "catalog.db") as cx:
        cx.execute("CREATE TABLE store (sku TEXT, price REAL)")
    cx.close()
    with pytest.raises(ab.NotFound) as caught:
        ab.open(tmp_path / "store")
    assert caught.value.hint
