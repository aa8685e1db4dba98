"""A process killed at every step of every verb: what was there stays, what was being done is there or is not."""

from __future__ import annotations

import itertools
import os
import random
import re
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

import anabranch as ab
from tests.catalog import processes, stores
from tests.catalog.stores import Store, ids, make_table

store = stores.store

SMALL_FILES = ab.Settings(
    objects=ab.ObjectSettings(inline_limit_bytes=600, file_row_limit=50),
    folding=ab.FoldingSettings(commit_limit=2, rewrite_row_limit=100),
)
"""Small enough that some objects lie in files and others in the catalogue, and that something is always due."""
ENOUGH = 200
VERIFY_EVERY = 5


class Countdown:
    """Counts the places of one kind where a process could die, and dies at the one that was chosen."""

    def __init__(self, kind: str, chosen: int) -> None:
        self.kind, self.left = kind, chosen

    def step(self, kind: str) -> None:
        self.left -= kind == self.kind
        if self.left == 0:
            processes.die()

    def watch(self, engine: Any) -> None:
        """Every statement that writes, each side of each COMMIT, every sync of a file or folder."""

        @event.listens_for(engine, "before_cursor_execute")
        def before(cx: Any, _cursor: Any, _text: Any, _parameters: Any, _context: Any, _many: bool) -> None:
            if cx.get_execution_options().get("anabranch_write"):
                self.step("statement")

        commit, sync = engine.dialect.do_commit, os.fsync

        def watched_commit(connection: Any) -> None:
            self.step("commit")
            commit(connection)
            self.step("commit")

        def watched_sync(handle: int) -> None:
            self.step("sync")
            sync(handle)

        engine.dialect.do_commit = watched_commit
        os.fsync = watched_sync


Verb = Callable[[ab.Repository, int], None]


def act_and_die(store: Store, name: str, verb: Verb, kind: str, chosen: int, number: int) -> None:
    with store.open(name, settings=SMALL_FILES) as repo:
        Countdown(kind, chosen).watch(repo._ctx.catalog._engines.whole)
        verb(repo, number)


def crashes(store: Store, repo: ab.Repository, verb: Verb, **strides: int) -> Iterator[int]:
    """Run a verb in processes that die later each time, until one lives to its end; each gets a number of its own.

    Every side of a COMMIT is tried; of statements and syncs only some, since nothing tells their neighbours apart."""
    number = 0
    for kind, stride in {**{kind: n * store.stride for kind, n in strides.items()}, "commit": 1}.items():
        for chosen in range(1, ENOUGH, stride):
            number += 1
            code = processes.Child(act_and_die, store, repo.name, verb, kind, chosen, number).join()
            if code == 0:
                assert chosen > 1, f"no {kind} was ever met"
                break
            assert code == -9, f"{kind} {chosen}: the process ended with {code}"
            yield number
        else:
            raise AssertionError("there is no end to the steps")
    repo.verify().raise_damages()


def assert_sound(repo: ab.Repository, number: int) -> None:
    """History hangs together, objects are what they were, and the next commit works; the next process opens it anew.

    Damage does not go away again, so the whole store, which grows with every step, is looked at after some of them."""
    told = repo.log("main", limit=3)
    assert all(c.parents == (p.hash,) for c, p in itertools.pairwise(told)), number
    assert repo.reflog("main", limit=1)[0].after == told[0].hash, number
    if number % VERIFY_EVERY == 1:
        repo.verify().raise_damages()
    with repo.commit("main", f"after {number}", allow_empty=True) as tx:
        pass
    assert tx.commit.parents == (told[0].hash,)


@pytest.fixture
def repo(store: Store) -> Iterator[ab.Repository]:
    with store.init(settings=SMALL_FILES) as made:
        yield made


def commit_much(repo: ab.Repository, number: int) -> None:
    with repo.commit("main", f"much {number}") as tx:
        tx.table("t").insert([{"id": number, "v": 1}])
        tx.table("t").update({"v": 2}, where=f"id = {number}")
        tx.create_table(f"new_{number}", [{"id": n, "v": n * 7919} for n in range(300)], key="id")
        tx.drop_table(f"old_{number}")


@pytest.mark.long
def test_a_commit_killed_at_any_step_is_there_whole_or_not_at_all(store: Store, repo: ab.Repository) -> None:
    with repo.commit("main", "make") as tx:
        tx.create_table("t", [{"id": 0, "v": 0}], key="id")
        for number in range(1, 60):
            tx.create_table(f"old_{number}", schema={"id": "int"}, key="id")
    done = []
    for step in crashes(store, repo, commit_much, statement=3 if store.kind == "sqlite" else 5, sync=2):
        names = {t.name for t in repo.tables()}
        seen = {
            "message": repo.show().message == f"much {step}",
            "insert and update": {"id": step, "v": 2} in repo.table("t").rows(),
            "new table": f"new_{step}" in names,
            "dropped table": f"old_{step}" not in names,
        }
        assert len(set(seen.values())) == 1, f"step {step}: half a commit: {seen}"
        if seen["message"]:
            done.append(step)
            assert repo.table(f"new_{step}").count() == len(repo.table(f"new_{step}").rows()) == 300
        assert_sound(repo, step)
    assert done, "no process died after its commit"


def change_and_fold(repo: ab.Repository, number: int) -> None:
    for v in (1, 2):
        with repo.commit("main", f"{v} of {number}") as tx:
            tx.table("t").update({"v": 10 * number + v}, where=f"id BETWEEN {number} AND {number + 60}")
            tx.table("t").insert([{"id": 10_000 + 10 * number + v, "v": 0}])
    repo.optimize("t")


def _follow(repo: ab.Repository, rows: dict[str, dict[int, int]]) -> None:
    """Add what new commits should show, by their hashes."""
    for commit in reversed(repo.log(limit=20)):
        if commit.hash not in rows and commit.parents and commit.parents[0] in rows:
            rows[commit.hash] = _changed(rows[commit.parents[0]], commit.message)


def _changed(before: dict[int, int], message: str) -> dict[int, int]:
    """The rows after a commit, told from its message."""
    found = re.fullmatch("([12]) of ([0-9]+)", message)
    if found is None:
        return before
    number = int(found[2])
    v = 10 * number + int(found[1])
    return {k: v if number <= k <= number + 60 else old for k, old in before.items()} | {10_000 + v: 0}


@pytest.mark.long
def test_a_fold_killed_at_any_step_leaves_everything_readable(store: Store, repo: ab.Repository) -> None:
    make_table(repo, "t", [{"id": n, "v": 0} for n in range(200)])
    rows: dict[str, dict[int, int]] = {repo.show().hash: dict.fromkeys(range(200), 0)}
    kinds = set()
    for step in crashes(store, repo, change_and_fold, statement=7, sync=3):
        _follow(repo, rows)
        for hash_ in list(rows)[-4:]:
            assert {r["id"]: r["v"] for r in repo.table("t", hash_).rows()} == rows[hash_], f"step {step}"
        kinds |= {layer["view"] for layer in repo.table("t").layout()}
        assert_sound(repo, step)
    assert kinds >= {"snapshot", None}
    assert repo.optimize("t").view in ("snapshot", None)
    _follow(repo, rows)
    assert {r["id"]: r["v"] for r in repo.table("t").rows()} == rows[repo.show().hash]


def count_and_tell(store: Store, name: str, told: Path) -> None:
    """Add to a counter for ever, and write down each commit that was acknowledged."""
    with store.open(name) as repo, told.open("a") as file:
        while True:
            try:
                with repo.commit("main", "count") as tx:
                    tx.table("counter").update({"v": "v + 1"})
            except ab.BranchMoved:
                continue
            file.write(f"{tx.commit.hash}\n")
            file.flush()


def test_writers_killed_at_random_lose_nothing_that_was_acknowledged(
    store: Store, repo: ab.Repository, tmp_path: Path
) -> None:
    make_table(repo, "counter", [{"id": 1, "v": 0}])
    chance = random.Random(7)
    told = [tmp_path / f"told_{n}" for n in range(8)]
    running: list[processes.Child] = []
    for file in told:
        running.append(processes.Child(count_and_tell, store, repo.name, file))
        time.sleep(chance.uniform(0.05, 0.4))
        if len(running) == 3:
            running.pop(chance.randrange(3)).kill()
    while not any(file.exists() and file.stat().st_size for file in told):  # a busy machine is no failure
        time.sleep(0.1)
    for child in running:
        child.kill()
    history = [c.hash for c in repo.log("main")]
    acknowledged = [line for file in told if file.exists() for line in file.read_text().split()]
    assert acknowledged
    assert len(set(acknowledged)) == len(acknowledged)
    assert set(acknowledged) <= set(history)
    assert repo.table("counter").get(1) == {"id": 1, "v": len(history) - 2}
    assert len(history) - 2 - len(acknowledged) <= len(told), "each could be killed once before it told"
    assert_sound(repo, 1)


def open_commit(repo: ab.Repository, number: int) -> None:
    opened = repo.start("main", message=f"slowly {number}")
    opened.table("t").insert([{"id": number, "v": 1}])
    opened.create_table(f"new_{number}", [{"id": n, "v": n * 7919} for n in range(300)], key="id")
    opened.finish()


@pytest.mark.long
def test_an_open_commit_killed_at_any_step_can_be_gone_on_with(store: Store, repo: ab.Repository) -> None:
    make_table(repo, "t", [{"id": 0, "v": 0}])
    left = finished = 0
    for step in crashes(store, repo, open_commit, statement=5, sync=3):
        published = [c for c in repo.log(limit=1) if c.message == f"slowly {step}"]
        opened = repo.open_commits()
        assert len(opened) + len(published) <= 1, f"step {step}: open and published"
        for handle in opened:
            left += 1
            staged = set(handle.status())
            assert staged in (set(), {"t"}, {"t", f"new_{step}"}), f"step {step}"
            made = handle.finish()
            assert (made is None) == (not staged)
            assert made is None or set(made.tables) == staged
        finished += len(published)
        if published:
            assert published[0].tables == (f"new_{step}", "t")
            assert repo.table(f"new_{step}").count() == 300
        assert repo.open_commits() == []
        assert_sound(repo, step)
    assert left
    assert finished


def move_branches(repo: ab.Repository, number: int) -> None:
    repo.branch(f"made_{number}", at="base")
    repo.reset(f"made_{number}", to="base~1")
    repo.fast_forward(f"made_{number}", to="base")
    repo.rename_branch(f"made_{number}", f"named_{number}")
    repo.tag(f"tag_{number}", at="base")
    repo.delete_tag(f"tag_{number}")
    repo.delete_branch(f"named_{number}")


@pytest.mark.long
def test_branches_and_their_moves_agree_after_a_kill_at_any_step(store: Store, repo: ab.Repository) -> None:
    base = make_table(repo, "t")
    before = repo.show("main~1")
    repo.tag("base")
    seen = set()
    for step in crashes(store, repo, move_branches, statement=6):
        branches = {b.name: b.commit for b in repo.branches() if b.name != "main"}
        try:
            moves = repo.reflog(f"named_{step}")
        except ab.NotFound:
            moves = repo.reflog(f"made_{step}") if branches else []
        assert len(branches) <= 1
        expected = {
            None: ([], None),
            "branch": ([f"made_{step}"], base.hash),
            "reset": ([f"made_{step}"], before.hash),
            "fast-forward": ([f"made_{step}"], base.hash),
            "rename": ([f"named_{step}"], base.hash),
            "delete": ([], None),
        }[moves[0].verb if moves else None]
        assert (list(branches), next(iter(branches.values()), None)) == expected, f"step {step}"
        seen.add(moves[0].verb if moves else None)
        for name in branches:
            repo.delete_branch(name)
        for tag in repo.tags():
            if tag.name != "base":
                repo.delete_tag(tag.name)
    assert seen == {None, "branch", "reset", "fast-forward", "rename", "delete"}
    assert_sound(repo, 1)


def init_and_die(store: Store, name: str, kind: str, chosen: int) -> None:
    from anabranch.catalog.store import Catalog

    countdown, original = Countdown(kind, chosen), Catalog.__init__

    def watched(self: Catalog, *args: Any, **options: Any) -> None:
        original(self, *args, **options)
        countdown.watch(self._engines.whole)

    Catalog.__init__ = watched  # type: ignore[method-assign]
    store.init(name).close()


def init_crashes(store: Store, **strides: int) -> Iterator[str]:
    """Kill the making of repositories, each with a name of its own, at ever later steps."""
    for kind, stride in strides.items():
        for chosen in range(1, ENOUGH, stride):
            name = f"{kind}_{chosen}"
            code = processes.Child(init_and_die, store, name, kind, chosen).join()
            if code == 0:
                assert chosen > 1
                break
            assert code == -9
            yield name


@pytest.mark.parametrize(("kind", "stride"), [("statement", 9), ("commit", 1)])
def test_a_store_whose_making_was_killed_can_be_made_again(tmp_path: Path, kind: str, stride: int) -> None:
    place = tmp_path / "store"
    store = Store("sqlite", str(place), place / ".anabranch" / "objects")
    is_made = False
    for _ in init_crashes(store, **{kind: stride}):
        try:
            ab.repositories(store.url)
            is_made = True
        except ab.NotFound:
            assert not is_made, "a store that was there after fewer steps is there after more"
        with store.init("next") as repo:
            make_table(repo, "t")
            assert ids(repo, "t") == [1]
        shutil.rmtree(place)
    assert is_made


@pytest.mark.long
def test_a_repository_whose_making_was_killed_can_be_made_again(store: Store, repo: ab.Repository) -> None:
    for name in init_crashes(store, statement=3, commit=1):
        if name not in ab.repositories(store.url):
            store.init(name).close()
        with store.open(name) as made:
            assert [c.id for c in made.log()] == ["main/0"]
            make_table(made, "t")
