"""Schema versions: an older store is brought up step by step, all or nothing, once."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Column, Integer, MetaData, Table, inspect, select, text, update

import anabranch as ab
from anabranch.catalog import migrations, tables
from anabranch.catalog.store import Catalog, Connection


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
        return migrations.found_version(cx)


def note(cx: Connection, key: str) -> None:
    cx.execute(tables.store.insert(), {"key": key, "value": "done"})


def notes(catalog: Catalog) -> set[str]:
    with catalog.read() as cx:
        return {key for key in cx.scalars(select(tables.store.c.key)) if key.startswith("step")}


LATER = migrations.FORMAT_VERSION + 3
STEPS = range(migrations.FORMAT_VERSION, LATER)


def test_an_older_store_is_brought_up_step_by_step(catalog: Catalog) -> None:
    order: list[int] = []

    def step(number: int) -> migrations.Migration:
        def run(cx: Connection) -> None:
            assert migrations.found_version(cx) == number
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
    assert version(catalog) == migrations.FORMAT_VERSION


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
    assert version(catalog) == migrations.FORMAT_VERSION
    assert notes(catalog) == set()
    with catalog.read() as cx:
        assert not inspect(cx).has_table("extra")


def test_a_migration_that_the_database_refuses_leaves_the_old_version(catalog: Catalog) -> None:
    def refused(cx: Connection) -> None:
        note(cx, "step refused")
        cx.execute(text("ALTER TABLE commits ADD COLUMN hash INTEGER"))

    with pytest.raises(ab.AnabranchError), catalog.write() as cx:
        migrations.upgrade(cx, latest=STEPS[0] + 1, migrations={STEPS[0]: refused})
    assert version(catalog) == migrations.FORMAT_VERSION
    assert notes(catalog) == set()


def test_opening_a_store_of_the_first_version_upgrades_it(catalog: Catalog, store_url: str) -> None:
    with catalog.write() as cx:
        _back_to_the_first_version(cx)
    with ab.open(store_url, engine="duck") as repo:
        assert [move.verb for move in repo.reflog("main")] == ["init"]
        repo.branch("dev")
        assert [move.verb for move in repo.reflog("dev")] == ["branch"]
    assert version(catalog) == migrations.FORMAT_VERSION


def _back_to_the_first_version(cx: Connection) -> None:
    """Undo what the migrations do."""
    cx.execute(text("ALTER TABLE branches DROP COLUMN author"))
    cx.execute(text("ALTER TABLE view_objects DROP COLUMN turn"))
    cx.execute(text("ALTER TABLE changes DROP COLUMN step"))
    for table in (tables.open_merges, tables.settled_rows):
        table.drop(cx)
    cx.execute(update(tables.store).where(tables.store.c.key == "format_version").values(value="1"))


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
