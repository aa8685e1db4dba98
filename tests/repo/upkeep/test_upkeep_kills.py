"""Upkeep beside writers: gc without any grace, and gc, tokens, backups and restores that are killed at any moment.

What was acknowledged is there afterwards and nothing else, in tables and files, and no right to collect is lost."""

from __future__ import annotations

import random
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import anabranch as ab
from tests.catalog.processes import Child
from tests.catalog.stores import Store
from tests.postgres import PostgresServer
from tests.repo.upkeep.test_root_owner import let_expire

SMALL = ab.Settings(
    objects=ab.ObjectSettings(inline_limit_bytes=0, file_row_limit=50),
    folding=ab.FoldingSettings(commit_limit=2, rewrite_row_limit=100),
)
"""Every object is a file, and every other commit makes a view."""


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    if request.param == "sqlite":
        place = tmp_path / "store"
        yield Store("sqlite", str(place), place / ".anabranch" / "objects")
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    url = server.create_database()
    yield Store("postgresql", url, tmp_path / "objects")
    server.drop_database(url)


@dataclass
class Model:
    """What one writer was told that it published: rows and files that nobody else touches."""

    name: int
    rows: dict[int, int] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)

    def step(self, repo: ab.Repository, drawn: random.Random) -> None:
        """Publish something, by a commit, an open one, or a branch and its merge."""
        rows = {self.name * 1000 + n: drawn.randrange(10**6) for n in drawn.sample(range(150), 40)}
        path, content = f"w{self.name}/{drawn.randrange(5)}.bin", drawn.randbytes(3000)
        given = [{"id": id_, "v": v} for id_, v in rows.items()]
        try:
            drawn.choice([self._commit, self._open, self._merge])(repo, given, path, content)
        except (ab.Unavailable, ab.BranchMoved) as error:
            self.refused.append(str(error))
            return
        self.rows |= rows
        self.files[path] = content

    def _commit(self, repo: ab.Repository, rows: list[dict[str, int]], path: str, content: bytes) -> None:
        with repo.commit("main", "commit") as tx:
            tx.table("t").upsert(rows)
            tx.files.put(path, content)

    def _open(self, repo: ab.Repository, rows: list[dict[str, int]], path: str, content: bytes) -> None:
        opened = repo.start("main", message="open")
        try:
            opened.table("t").upsert(rows)
            opened.files.put(path, content)
            opened.finish()
        except ab.AnabranchError:
            opened.abort()
            raise

    def _merge(self, repo: ab.Repository, rows: list[dict[str, int]], path: str, content: bytes) -> None:
        name = f"b{self.name}-{time.time_ns()}"
        repo.branch(name)
        try:
            self._on_branch(repo, name, rows, path, content)
            repo.merge(name, into="main")
        finally:
            repo.delete_branch(name, force=True)

    def _on_branch(self, repo: ab.Repository, name: str, rows: list[dict[str, int]], path: str, content: bytes) -> None:
        with repo.commit(name, "on a branch") as tx:
            tx.table("t").upsert(rows)
            tx.files.put(path, content)


def begin(store: Store) -> None:
    with store.init("shop", settings=SMALL) as repo, repo.commit("main", "make") as tx:
        tx.create_table("t", [{"id": -1, "v": 0}], key="id")
        tx.files.put("first", b"first")


def compare(repo: ab.Repository, models: list[Model]) -> None:
    rows = {row["id"]: row["v"] for row in repo.table("t").rows() if row["id"] >= 0}
    assert rows == {id_: v for model in models for id_, v in model.rows.items()}
    tree = repo.files("main")
    for model in models:
        for path, content in model.files.items():
            assert tree.read(path) == content
    repo.verify().raise_damages()


def until(end: float, store: Store, work: Callable[[ab.Repository], None], failed: list[BaseException]) -> None:
    try:
        with store.open("shop", settings=SMALL) as repo:
            while time.monotonic() < end:
                work(repo)
    except BaseException as error:
        failed.append(error)


def read(repo: ab.Repository, drawn: random.Random) -> None:
    """Read what may be collected meanwhile; the error says so, if there is one."""
    try:
        commits = repo.log("main")[:-1]
        at = drawn.choice(commits[:30]).hash if commits else "main"
        drawn.choice(
            [
                lambda: repo.table("t", at).rows(),
                lambda: repo.sql("SELECT sum(v) FROM t"),
                lambda: repo.diff(at, "main").tables,
                lambda: repo.files(at).read("first"),
            ]
        )()
    except ab.Unavailable as error:
        if "collected" not in str(error):
            raise


def test_gc_without_grace_beside_writers_loses_nothing_and_its_errors_say_so(
    store: Store, request: pytest.FixtureRequest, fold_failures: list[str]
) -> None:
    begin(store)
    models, failed = [Model(1), Model(2)], list[BaseException]()
    end = time.monotonic() + (20 if request.config.getoption("--all") else 6)
    drawn, reading = {model.name: random.Random(model.name) for model in models}, random.Random(3)
    works: list[Callable[[ab.Repository], Any]] = [
        *(lambda repo, model=model: model.step(repo, drawn[model.name]) for model in models),
        lambda repo: repo.gc(grace=0, reflog=0),
        lambda repo: read(repo, reading),
    ]
    threads = [threading.Thread(target=until, args=(end, store, work, failed)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert all(model.rows for model in models)
    for text in (text for model in models for text in model.refused):
        assert "longer grace" in text or "collected" in text or "moved" in text, text
    assert all("collected" in text for text in fold_failures)
    fold_failures.clear()
    with store.open("shop", settings=SMALL) as repo:
        compare(repo, models)
        repo.gc(grace=0, reflog=0)
        compare(repo, models)


def collect_again_and_again(store: Store) -> None:
    with store.open("shop", settings=SMALL) as repo:
        let_expire(repo)
        while True:
            repo._ctx.owner.renew()
            repo.gc(grace=0, reflog=0)


def renew_again_and_again(store: Store) -> None:
    with store.open("shop", settings=SMALL) as repo:
        let_expire(repo)
        while True:
            repo._ctx.root.put(b"nothing that anybody names")


def back_up_again_and_again(store: Store, place: str) -> None:
    while True:
        ab.backup(store.url, f"{place}/backup")


def restore_again_and_again(store: Store, place: str) -> None:
    number = 0
    while True:
        number += 1
        if Path(f"{place}/backup/.anabranch/backup.json").exists():
            ab.restore_store(f"{place}/backup", f"{place}/restored{number}", objects=f"{place}/objects{number}")


@pytest.mark.parametrize("killed", ["gc and tokens", "backup and restore"])
def test_upkeep_that_is_killed_at_any_moment_leaves_what_was_published(
    store: Store, tmp_path: Path, request: pytest.FixtureRequest, killed: str, fold_failures: list[str]
) -> None:
    begin(store)
    model, drawn = Model(1), random.Random(killed)
    place = tmp_path / "copies"
    verbs: list[tuple[Callable[..., None], tuple[Any, ...]]] = [
        (collect_again_and_again, (store,)),
        (renew_again_and_again, (store,)),
    ]
    if killed == "backup and restore":
        verbs = [(back_up_again_and_again, (store, str(place))), (restore_again_and_again, (store, str(place)))]
    with store.open("shop", settings=SMALL) as repo:
        for round_ in range(15 if request.config.getoption("--all") else 4):
            children = [Child(verb, *given) for verb, given in verbs]
            end = time.monotonic() + drawn.uniform(0.3, 1.5)
            while time.monotonic() < end:
                model.step(repo, drawn)
            for child in children:
                child.kill()
            compare(repo, [model])
            repo.gc(grace=0, dry_run=True)
            if killed == "backup and restore":
                check_copies(place, store, model, round_)
        repo.gc(grace=0, reflog=0)
        compare(repo, [model])
    fold_failures.clear()


def check_copies(place: Path, store: Store, model: Model, round_: int) -> None:
    """A backup that is there is sound, the next one goes through, and every store that was restored is one or none."""
    for folder in [*place.glob("backup"), *place.glob("restored*")]:
        try:
            with ab.open(folder, repository="shop", engine="duck", settings=SMALL) as copy:
                copy.verify().raise_damages()
                copy.gc(grace=0, dry_run=True)
                rows = {row["id"]: row["v"] for row in copy.table("t").rows() if row["id"] >= 0}
            assert rows.keys() <= model.rows.keys()
        except ab.NotFound:
            assert folder.name != "backup" or not (folder / ".anabranch" / "backup.json").exists()
    for old in [*place.glob("restored*"), *place.glob("objects*")]:
        shutil.rmtree(old)
    ab.backup(store.url, str(place / "backup"))
    ab.restore_store(str(place / "backup"), str(place / f"check{round_}"))
    with ab.open(place / f"check{round_}", repository="shop", engine="duck", settings=SMALL) as copy:
        compare(copy, [model])
        copy.gc(grace=0, reflog=0)
        compare(copy, [model])
