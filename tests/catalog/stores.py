"""Stores to share: one for each kind of catalogue and test module, with a repository of its own for each test.

A module takes the fixtures by name: `store = stores.store`, `repo = stores.repo`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import distinct, event, func, select

import anabranch as ab
from anabranch.catalog import repositories
from anabranch.catalog import tables as t
from anabranch.catalog.publish import write_root
from anabranch.catalog.store import now
from anabranch.model.clock import Position
from anabranch.model.commits import BranchHead
from anabranch.model.content import Content, Publication
from anabranch.model.ids import BranchId, CommitId, LineId, new_id
from tests.postgres import PostgresServer

_numbers = count()
_firsts: dict[str, ab.Repository] = {}
"""A repository of each store that is in use, for its connections."""


@dataclass(frozen=True)
class Store:
    """A store that several tests work in, each in repositories of its own."""

    kind: str
    url: str
    objects: Path
    stride: int = 1
    """How many of the places where a process could die are passed over together."""

    def init(self, name: str | None = None, **options: Any) -> ab.Repository:
        """Make a repository; without a name it gets a new one."""
        chosen = name or f"repository_{next(_numbers)}"
        objects = str(self.objects) if self.kind == "postgresql" else None
        return ab.init(self.url, repository=chosen, objects=objects, **{"engine": "duck", "author": "ann", **options})

    def open(self, name: str, **options: Any) -> ab.Repository:
        return ab.open(self.url, repository=name, **{"engine": "duck", "author": "ann", **options})

    def files(self) -> set[str]:
        """The files under the object root."""
        return {str(p.relative_to(self.objects)) for p in self.objects.rglob("*") if p.is_file()}


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A store for all tests of a module."""
    folder = tmp_path_factory.mktemp("store")
    stride = 1 if request.config.getoption("--all") else 3
    if request.param == "sqlite":
        yield Store("sqlite", str(folder), folder / ".anabranch" / "objects", stride)
        _close(str(folder))
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    url = server.create_database()
    yield Store("postgresql", url, folder / "objects", stride)
    _close(url)
    server.drop_database(url)


def _close(url: str) -> None:
    first = _firsts.pop(url, None)
    if first is not None:
        first.close()


def another(repo: ab.Repository) -> ab.Repository:
    """Make one more repository over the same connections, with all that they have learnt: the cheapest way to one."""
    ctx = repo._ctx
    with ctx.catalog.write() as cx:
        record = repositories.create(cx, f"repository_{next(_numbers)}", "main")
        head = BranchHead("main", BranchId(new_id("b")), Position(LineId(""), 0))
        made = CommitId(new_id("k"))
        root = Publication(record.id, head, (), made, "ann", "start", now(cx), (), "init", Content())
        write_root(cx, root, ctx.store_id)
    return ab.Repository(replace(ctx, record=record))


@pytest.fixture
def repo(store: Store) -> ab.Repository:
    """A new repository in the module's store."""
    if store.url not in _firsts:
        _firsts[store.url] = store.init()
    return another(_firsts[store.url])


def make_table(
    repo: ab.Repository, name: str, rows: list[dict[str, Any]] | None = None, branch: str = "main"
) -> ab.Commit:
    """Commit a table with a few rows."""
    with repo.commit(branch, f"make {name}") as tx:
        tx.create_table(name, rows or [{"id": 1, "v": 1}], key="id")
    assert tx.commit is not None
    return tx.commit


def put(repo: ab.Repository, name: str, id_: int, v: int = 0, branch: str = "main", **options: Any) -> ab.Commit:
    """Commit one row."""
    with repo.commit(branch, f"put {id_} in {name}", **options) as tx:
        tx.table(name).upsert([{"id": id_, "v": v}])
    assert tx.commit is not None
    return tx.commit


def ids(repo: ab.Repository, name: str, at: str | None = None) -> list[int]:
    """The keys of a table, in order."""
    return sorted(row["id"] for row in repo.table(name, at).rows())


def own_objects(repo: ab.Repository) -> int:
    """How many objects the changes of a repository hold, all of them sound; its store may have more."""
    repo.verify().raise_damages()
    query = select(func.count(distinct(t.changes.c.object_id))).join(t.lines, t.lines.c.id == t.changes.c.line_id)
    with repo._ctx.catalog.read() as cx:
        return cx.scalar(query.where(t.lines.c.repository_id == repo._ctx.record.id)) or 0


@contextmanager
def listening(repo: ab.Repository) -> Iterator[list[str]]:
    """Note each statement that the catalogue is asked: by SQLite itself, since reads of a file go past SQLAlchemy."""
    asked: list[str] = []
    engine = repo._ctx.catalog._engines.whole
    of_file = engine.dialect.name == "sqlite"

    def trace(connection: Any, *_: object) -> None:
        connection.set_trace_callback(asked.append)

    def note(*call: Any) -> None:
        asked.append(call[2])

    kind, listener = ("checkout", trace) if of_file else ("before_cursor_execute", note)
    event.listen(engine, kind, listener)
    try:
        yield asked
    finally:
        event.remove(engine, kind, listener)
        if of_file:
            engine.dispose()  # its connections would go on telling
