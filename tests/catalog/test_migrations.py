"""Schema versions: an older store is brought up step by step, all or nothing, once."""

from __future__ import annotations

import signal
import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Column, Engine, Integer, MetaData, Table, event, inspect, select, text, update

import anabranch as ab
from anabranch.catalog import format_version, migrations, tables
from anabranch.catalog.store import Catalog, Connection
from tests.catalog.kept_store import restore, tell, told_before
from tests.catalog.processes import Child, die, run_all


@pytest.fixture
def catalog(store_url: str, objects_root: str) -> Iterator[Catalog]:
    ab.init(store_url, objects=objects_root, repository="r", engine="duck").close()
    if store_url.startswith("postgresql"):
        made = Catalog.at_server(store_url)
    else:
        made = Catalog.at_file(str(Path(store_url) / ".anabranch" / "catalog.db"))
    yield made
    made.close()


def version(catalog: Catalog) -> int:
    with catalog.read() as cx:
        return format_version.found_version(cx)


def note(cx: Connection, key: str) -> None:
    cx.execute(tables.store.insert(), {"key": key, "value": "done"})


def notes(catalog: Catalog) -> set[str]:
    with catalog.read() as cx:
        return {key for key in cx.scalars(select(tables.store.c.key)) if key.startswith("step")}


LATER = format_version.FORMAT_VERSION + 3
STEPS = range(format_version.FORMAT_VERSION, LATER)


def test_an_older_store_is_brought_up_step_by_step(catalog: Catalog) -> None:
    order: list[int] = []

    def step(number: int) -> migrations.Migration:
        def run(cx: Connection) -> None:
            assert format_version.found_version(cx) == number
            order.append(number)
            note(cx, f"step {number}")

        return run

    with catalog.write() as cx:
        migrations.upgrade(cx, latest=LATER, migrations={n: step(n) for n in STEPS})
    assert order == list(STEPS)
    assert version(catalog) == LATER
    assert notes(catalog) == {f"step {n}" for n in STEPS}


def test_a_store_of_this_version_is_left_alone(catalog: Catalog) -> None:
    with catalog.write() as cx:
        migrations.upgrade(cx)
    assert version(catalog) == format_version.FORMAT_VERSION


class BrokenStep(Exception):
    pass


def test_a_failing_migration_leaves_the_old_version_and_nothing_of_the_new(catalog: Catalog) -> None:
    extra = Table("extra", MetaData(), Column("a", Integer))

    def works(cx: Connection) -> None:
        extra.create(cx)
        note(cx, "step works")

    def breaks(cx: Connection) -> None:
        note(cx, "step breaks")
        raise BrokenStep

    first, second = list(STEPS)[:2]
    with pytest.raises(BrokenStep), catalog.write() as cx:
        migrations.upgrade(cx, latest=second + 1, migrations={first: works, second: breaks})
    assert version(catalog) == format_version.FORMAT_VERSION
    assert notes(catalog) == set()
    with catalog.read() as cx:
        assert not inspect(cx).has_table("extra")


def test_a_migration_that_the_database_refuses_leaves_the_old_version(catalog: Catalog) -> None:
    def refused(cx: Connection) -> None:
        note(cx, "step refused")
        cx.execute(text("ALTER TABLE ana_commits ADD COLUMN hash INTEGER"))

    with pytest.raises(ab.AnabranchError), catalog.write() as cx:
        migrations.upgrade(cx, latest=STEPS[0] + 1, migrations={STEPS[0]: refused})
    assert version(catalog) == format_version.FORMAT_VERSION
    assert notes(catalog) == set()


@pytest.fixture
def kept(store_url: str, objects_root: str) -> Iterator[Catalog]:
    """A store as format 3 had it."""
    if store_url.startswith("postgresql"):
        made, objects = Catalog.at_server(store_url), Path(objects_root)
    else:
        objects = Path(store_url) / ".anabranch" / "objects"
        objects.mkdir(parents=True)
        made = Catalog.at_file(str(objects.with_name("catalog.db")))
    with made.write() as cx:
        restore(cx, objects)
        if store_url.startswith("postgresql"):
            cx.execute(text("UPDATE store SET value = :root WHERE key = 'objects'"), {"root": str(objects)})
    yield made
    made.close()


def told_by(store_url: str) -> dict[str, object]:
    found = {}
    for name in ("shop", "hr"):
        with ab.open(store_url, repository=name, engine="duck", author="ann") as repo:
            found[name] = tell(repo)
    return found


def test_a_store_of_format_3_tells_the_same_after_it_is_upgraded_and_goes_on(kept: Catalog, store_url: str) -> None:
    assert version(kept) == 3
    assert told_by(store_url) == told_before()
    assert version(kept) == format_version.FORMAT_VERSION
    with kept.read() as cx:
        there = set(inspect(cx).get_table_names())
        recipes = set(cx.scalars(select(tables.commits.c.recipe)))
    assert there == {x.name for x in tables.metadata.sorted_tables}
    assert recipes == {1}
    with ab.open(store_url, repository="shop", engine="duck", author="ann") as repo:
        before = repo.reflog("main")
        with repo.commit("main", "more") as tx:
            tx.table("orders").upsert([{"id": 9000, "qty": 1, "note": "new", "price": None}])
        assert len(repo.reflog("main")) == len(before) + 1
        (merge,) = repo.open_merges()
        assert merge.finish().commit
        (open_,) = repo.open_commits()
        open_.finish()
        assert repo.table("orders").get(9000)
        assert not repo.table("orders").get(9)
        repo.verify().raise_damages()


@pytest.mark.long
def test_a_process_that_dies_while_it_upgrades_leaves_format_3(kept: Catalog, store_url: str) -> None:
    for dies_after in (20, 95):
        assert Child(_upgrade_until, store_url, dies_after).join() == -signal.SIGKILL
        assert version(kept) == 3
        with kept.read() as cx:
            assert not inspect(cx).has_table("ana_store")
    with ab.open(store_url, repository="shop", engine="duck") as repo:
        assert [c.hash for c in repo.log()] == list(told_before()["shop"]["log"])


def _upgrade_until(store_url: str, statements: int) -> None:
    """Open a store, and die after so many statements of the upgrade."""
    count = 0

    def counted(cx: Connection, *_: object) -> None:
        nonlocal count
        count += bool(cx.get_execution_options().get("anabranch_write"))
        if count > statements:
            die()

    event.listen(Engine, "before_cursor_execute", counted)
    ab.open(store_url, repository="shop")


def test_two_openers_upgrade_a_store_of_format_3_once(kept: Catalog, store_url: str) -> None:
    assert run_all(_open, [(store_url,)] * 3) == [2, 2, 2]
    assert version(kept) == format_version.FORMAT_VERSION


def _open(store_url: str) -> int:
    return len(ab.repositories(store_url))


def test_a_store_of_the_first_version_goes_through_all_of_them(kept: Catalog, store_url: str) -> None:
    with kept.write() as cx:
        for table, column in (("branches", "author"), ("view_objects", "turn"), ("changes", "step")):
            cx.execute(text(f"ALTER TABLE {table} DROP COLUMN {column}"))
        for table in ("open_merges", "settled_rows"):
            cx.execute(text(f"DROP TABLE {table}"))
        cx.execute(text("UPDATE store SET value = '1' WHERE key = 'format_version'"))
    with ab.open(store_url, repository="hr", engine="duck") as repo:
        assert [c.hash for c in repo.log()] == list(told_before()["hr"]["log"])


def test_a_store_lives_beside_tables_of_an_application(tmp_path: Path) -> None:
    place = tmp_path / "store" / ".anabranch"
    place.mkdir(parents=True)
    with sqlite3.connect(place / "catalog.db") as cx:
        for name in ("store", "tags", "objects"):
            cx.execute(f"CREATE TABLE {name} (key TEXT, value TEXT)")
    cx.close()
    with ab.init(tmp_path / "store", engine="duck") as repo:
        repo.tag("v1", "main")
        assert [x.name for x in repo.tags()] == ["v1"]
    with sqlite3.connect(place / "catalog.db") as cx:
        assert cx.execute("SELECT count(*) FROM tags").fetchone() == (0,)
    cx.close()


def test_a_version_that_nothing_leads_on_from_is_told(catalog: Catalog, store_url: str) -> None:
    with catalog.write() as cx:
        cx.execute(update(tables.store).where(tables.store.c.key == "format_version").values(value="0"))
    with pytest.raises(ab.AnabranchError, match="version 0"):
        ab.open(store_url)
    assert version(catalog) == 0


def test_two_openers_upgrade_a_store_once(catalog: Catalog) -> None:
    runs: list[int] = []
    failures: list[BaseException] = []

    def slow(cx: Connection) -> None:
        runs.append(1)
        time.sleep(0.3)
        note(cx, "step slow")

    def upgrade() -> None:
        try:
            with catalog.write() as cx:
                migrations.upgrade(cx, latest=STEPS[0] + 1, migrations={STEPS[0]: slow})
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=upgrade) for _ in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert failures == []
    assert len(runs) == 1
    assert version(catalog) == STEPS[0] + 1
