"""Transactions of a catalogue: one state to read, all or nothing to write, and foreign errors in our own words."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import ExitStack
from pathlib import Path

import pytest
from sqlalchemy import select, text

import anabranch as ab
from anabranch.catalog import branches, moves, tables
from anabranch.catalog import files as catalog_files
from anabranch.catalog import store as catalog_store
from anabranch.catalog.store import Catalog
from tests.catalog import stores
from tests.catalog.stores import make_table, put

store = stores.store
repo = stores.repo


def test_a_reading_transaction_sees_one_state(repo: ab.Repository) -> None:
    make_table(repo, "t")
    ctx = repo._ctx
    with ctx.catalog.read() as cx:
        before = branches.find(cx, ctx.record.id, "main")
        past = branches.moves(cx, ctx.record.id, "main", None)
        put(repo, "t", 2)
        repo.branch("dev")
        assert branches.find(cx, ctx.record.id, "main") == before
        assert branches.moves(cx, ctx.record.id, "main", None) == past
        assert [b.name for b in branches.describe(cx, ctx.record.id)] == ["main"]
    with ctx.catalog.read() as cx:
        assert branches.find(cx, ctx.record.id, "main") != before


def test_a_block_of_one_state_begins_with_its_first_read(repo: ab.Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, reading = list[int](), Catalog._reading
    monkeypatch.setattr(Catalog, "_reading", lambda self: begun.append(1) or reading(self))
    catalog = repo._ctx.catalog
    with catalog.one_state(), catalog.one_state():
        pass
    assert begun == []
    with catalog.one_state():
        with catalog.read() as cx:
            before = branches.find(cx, repo._ctx.record.id, "main")
        with catalog.one_state(), catalog.read() as again:
            assert again is cx
            assert branches.find(cx, repo._ctx.record.id, "main") == before
        with pytest.raises(Mishap), catalog.read():
            raise Mishap
    assert begun == [1]


class Mishap(Exception):
    pass


@pytest.mark.parametrize("error", [Mishap, KeyboardInterrupt, ab.InvalidRequest])
def test_a_writing_transaction_that_raises_leaves_nothing(repo: ab.Repository, error: type[BaseException]) -> None:
    ctx = repo._ctx
    with pytest.raises(error), ctx.catalog.write() as cx:
        head = branches.find(cx, ctx.record.id, "main")
        assert head is not None
        moves.apply(cx, moves.new_branch(ctx.record.id, "dev", head.position, "ann"))
        raise error("no")
    assert [b.name for b in repo.branches()] == ["main"]
    repo.branch("dev")


def test_transactions_of_a_block_alone_are_one_that_others_wait_for(repo: ab.Repository) -> None:
    ctx = repo._ctx
    made, waited = threading.Event(), threading.Thread(target=lambda: (repo.branch("beside"), made.set()))
    with ctx.catalog.alone(ctx.record.id):
        assert ctx.catalog.is_alone
        repo.branch("one")
        waited.start()
        with pytest.raises(ab.AlreadyExists):
            repo.branch("one")
        repo.branch("two")
        assert [b.name for b in repo.branches()] == ["main", "one", "two"]
        assert not made.wait(0.05)
    waited.join(60)
    assert made.is_set()
    assert not ctx.catalog.is_alone
    assert [b.name for b in repo.branches()] == ["beside", "main", "one", "two"]


def test_a_block_alone_that_raises_leaves_nothing_of_its_transactions(repo: ab.Repository) -> None:
    ctx = repo._ctx
    with pytest.raises(Mishap), ctx.catalog.alone(ctx.record.id):
        repo.branch("one")
        raise Mishap("no")
    assert [b.name for b in repo.branches()] == ["main"]
    repo.branch("one")


def test_a_name_taken_meanwhile_is_already_there(repo: ab.Repository) -> None:
    ctx = repo._ctx
    head = repo.show()
    repo.branch("dev")
    with pytest.raises(ab.AlreadyExists), ctx.catalog.write() as cx:
        found = branches.find(cx, ctx.record.id, "main")
        assert found is not None
        moves.apply(cx, moves.new_branch(ctx.record.id, "dev", found.position, "ann"))
    assert repo.show() == head


def test_a_statement_that_makes_no_sense_is_told_with_the_catalogue(repo: ab.Repository) -> None:
    with pytest.raises(ab.Corrupt, match="catalogue") as caught, repo._ctx.catalog.read() as cx:
        cx.execute(text("SELECT nothing FROM nowhere"))
    assert caught.value.hint


@pytest.mark.parametrize("error", [TypeError, AttributeError, KeyError])
@pytest.mark.parametrize("kind", ["read", "write"])
def test_a_bug_is_not_told_as_a_damaged_store(repo: ab.Repository, kind: str, error: type[Exception]) -> None:
    with pytest.raises(error, match="a slip"), getattr(repo._ctx.catalog, kind)():
        raise error("a slip")


def test_a_closed_catalogue_opens_again_when_it_is_used(repo: ab.Repository) -> None:
    make_table(repo, "t")
    repo.close()
    assert repo.show().message == "make t"
    repo.close()
    repo.close()


def test_another_writer_that_does_not_end_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog_files, "FILE_BUSY_TIMEOUT_SECONDS", 0.2)
    with ab.init(tmp_path / "s", engine="duck") as repo:
        other = sqlite3.connect(tmp_path / "s" / ".anabranch" / "catalog.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(ab.Unavailable, match="another writer") as caught:
            repo.branch("dev")
        assert "again" in str(caught.value.hint)
        assert len(repo.log()) == 1, "readers don't wait for writers"
        other.execute("ROLLBACK")
        other.close()
        repo.branch("dev")


def test_writers_wait_for_each_other(repo: ab.Repository) -> None:
    ctx = repo._ctx
    entered, done = threading.Event(), threading.Event()

    def hold() -> None:
        with ctx.catalog.write() as cx:
            catalog_store.lock_repository(cx, ctx.record.id)
            entered.set()
            done.wait(0.2)

    holder = threading.Thread(target=hold)
    holder.start()
    entered.wait()
    repo.branch("dev")
    holder.join()
    assert {b.name for b in repo.branches()} == {"main", "dev"}


def test_more_readers_than_connections_wait_and_are_told(repo: ab.Repository) -> None:
    engine = repo._ctx.catalog._engines.whole
    engine.pool._timeout = 0.1  # type: ignore[attr-defined]
    with ExitStack() as held:
        for _ in range(engine.pool.size() + engine.pool._max_overflow):  # type: ignore[attr-defined]
            held.enter_context(repo._ctx.catalog.read())
        with pytest.raises(ab.Unavailable) as caught:
            repo.show()
        assert caught.value.hint
    assert repo.show().id == "main/0"


def test_what_sqlite_acknowledged_is_on_disk(tmp_path: Path) -> None:
    catalog = Catalog.at_file(str(tmp_path / "x.db"))
    with catalog.write() as cx:
        assert cx.scalar(text("PRAGMA synchronous")) == 2, "FULL: a commit is synced before it is told"
        assert cx.scalar(text("PRAGMA journal_mode")) == "wal"
    catalog.close()


def test_text_is_compared_byte_by_byte_on_every_catalogue(repo: ab.Repository) -> None:
    names = ["B", "a", "É", "e\u0301", "é", "z", "_x", "Z"]
    for name in names:
        repo.branch(name)
    assert [b.name for b in repo.branches()] == sorted([*names, "main"], key=lambda n: n.encode())
    with repo._ctx.catalog.read() as cx:
        c = tables.branches.c
        own = c.repository_id == repo._ctx.record.id
        assert set(cx.scalars(select(c.name).where(own, c.name < "a"))) == {"B", "_x", "Z"}


def test_stores_of_one_process_share_their_compiled_statements(tmp_path: Path) -> None:
    counts = []
    for name in ("one", "other"):
        with ab.init(tmp_path / name) as repo:
            repo.branch("dev")
            repo.rename_branch("dev", "qa")
            counts.append(len(repo._ctx.catalog._engines.whole.get_execution_options()["compiled_cache"]))
    assert counts[1] == counts[0] > 0, "the second store compiles nothing anew"
