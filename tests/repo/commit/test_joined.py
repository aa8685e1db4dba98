"""Commits on a connection of the application's, which commits or rolls back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine, event, text

import anabranch as ab
from anabranch.catalog.sql_engines import url_of
from anabranch.model.addresses import read_address


@pytest.fixture
def repo(store_url: str, objects_root: str) -> Iterator[ab.Repository]:
    made = ab.init(store_url, objects=objects_root, author="ann", engine="duck")
    with made.commit("main", "first") as tx:
        tx.create_table("t", [{"id": n, "v": n} for n in range(100)], key="id")
    yield made
    made.close()


@pytest.fixture
def application(store_url: str, repo: ab.Repository) -> Iterator[Engine]:
    """An engine of the application's own, on the catalogue's database, with a table of its own in it."""
    if "://" in store_url:
        engine = create_engine(url_of(read_address(store_url)))
    else:
        engine = create_engine(f"sqlite:///{Path(store_url) / '.anabranch' / 'catalog.db'}")
    with engine.begin() as cx:
        cx.execute(text("CREATE TABLE orders (id INTEGER)"))
    yield engine
    engine.dispose()


def change(repo: ab.Repository) -> ab.Commit | None:
    """A commit that reads, writes twice and nets."""
    with repo.commit("main", "with the application") as tx:
        tx.table("t").update({"v": "v + 1"}, where="id < 50")
        tx.table("t").upsert([{"id": 1, "v": 7}, {"id": 1000, "v": 1}])
    return tx.commit


def test_the_caller_commits_both_or_neither(repo: ab.Repository, application: Engine) -> None:
    before, opened = repo.show("main"), list[Any]()
    event.listen(repo._ctx.catalog._engines.whole, "checkout", lambda *_: opened.append(1))
    for ending in ("rollback", "commit"):
        with application.connect() as cx:
            cx.execute(text("INSERT INTO orders VALUES (1)"))
            opened.clear()
            with repo._ctx.joined(cx):
                made = change(repo)
                repo.branch("side", at="main")
                assert made is not None
                assert repo.show("main") == made, "the block sees what it published"
            assert opened == [], "no second connection is opened"
            assert repo.show("main") == before, "nobody else sees it yet"
            getattr(cx, ending)()
        shown = repo.show("main") == made, [b.name for b in repo.branches()] == ["main", "side"]
        with application.connect() as cx:
            count = cx.scalar(text("SELECT count(*) FROM orders"))
        assert (shown, count) == (((True, True), 1) if ending == "commit" else ((False, False), 0))
    assert repo.table("t").count() == 101
    repo.verify().raise_damages()


def test_a_commit_that_is_refused_leaves_the_callers_transaction_as_it_was(
    repo: ab.Repository, application: Engine
) -> None:
    with application.connect() as cx:
        cx.execute(text("INSERT INTO orders VALUES (1)"))
        with repo._ctx.joined(cx):
            with pytest.raises(ab.AlreadyExists):
                repo.branch("main")
            assert change(repo)
        cx.commit()
        assert cx.scalar(text("SELECT count(*) FROM orders")) == 1
    assert repo.show("main").message == "with the application"


def test_a_commit_goes_on_what_others_published_meanwhile(repo: ab.Repository, application: Engine) -> None:
    with application.connect() as cx:
        with repo._ctx.joined(cx):
            block = repo.commit("main", "slow")
            tx = block.__enter__()
        cx.rollback()
        with repo.commit("main", "quick") as other:
            other.table("t").delete("id = 99")
        tx.table("t").insert([{"id": 5000, "v": 0}])
        with repo._ctx.joined(cx):
            block.__exit__(None, None, None)
        cx.commit()
    assert [c.message for c in repo.log("main", limit=2)] == ["slow", "quick"]
    assert repo.table("t").count() == 100


def test_another_database_is_refused(repo: ab.Repository, tmp_path: Path) -> None:
    other = create_engine(f"sqlite:///{tmp_path / 'other.db'}")
    with other.connect() as cx:
        with pytest.raises(ab.InvalidRequest, match="leads to another database"), repo._ctx.joined(cx):
            pass
        assert not repo._ctx.catalog.is_alone
    other.dispose()
