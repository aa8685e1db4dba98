"""Stores to share: one for each kind of catalogue and test module, with a repository of its own for each test.

A module takes the fixtures by name: `store = stores.store`, `repo = stores.repo`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import anabranch as ab
from tests.postgres import PostgresServer

_numbers = count()


@dataclass(frozen=True)
class Store:
    """A store that several tests work in, each in repositories of its own."""

    kind: str
    url: str
    objects: Path

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
    if request.param == "sqlite":
        yield Store("sqlite", str(folder), folder / ".anabranch" / "objects")
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    url = server.create_database()
    yield Store("postgresql", url, folder / "objects")
    server.drop_database(url)


@pytest.fixture
def repo(store: Store) -> Iterator[ab.Repository]:
    """A new repository in the module's store."""
    with store.init() as made:
        yield made


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
