"""Commits next to other writers, in one process and in several: all or nothing, nothing lost, nothing twice."""

from __future__ import annotations

import gc
import itertools
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import anabranch as ab
from tests.catalog import processes, stores
from tests.catalog.stores import ids, make_table, own_objects, put

store = stores.store
repo = stores.repo

FILES_ONLY = ab.Settings(objects=ab.ObjectSettings(inline_limit_bytes=0, manifest_object_limit=2000))
"""Each object of rows is a file, and no other file is written."""


@pytest.fixture
def filed(store: stores.Store) -> Iterator[ab.Repository]:
    """A repository that keeps every object in a file."""
    with store.init(settings=FILES_ONLY) as made:
        yield made


class Mishap(Exception):
    pass


# All or nothing


def test_a_commit_of_many_statements_on_many_tables_is_one_commit(repo: ab.Repository) -> None:
    make_table(repo, "a")
    make_table(repo, "b")
    with repo.commit("main", "much at once") as tx:
        tx.create_table("c", [{"id": 1, "v": 1}], key="id")
        tx.table("a").insert([{"id": 2, "v": 2}])
        tx.table("a").update({"v": 5}, where="id = 2")
        tx.drop_table("b")
        assert [t.name for t in repo.tables()] == ["a", "b"], "nobody sees it yet"
    assert tx.commit == repo.show()
    assert tx.commit.tables == ("a", "b", "c")
    assert [t.name for t in repo.tables()] == ["a", "c"]
    assert repo.table("a").get(2) == {"id": 2, "v": 5}
    assert len(repo.log()) == 4


def values(table: Any) -> dict[int, int]:
    return {row["id"]: row["v"] for row in table.rows()}


def test_a_commit_reads_its_own_writes(repo: ab.Repository) -> None:
    make_table(repo, "t", [{"id": 1, "v": 1}, {"id": 2, "v": 2}])
    with repo.commit("main", "step by step") as tx:
        t = tx.table("t")
        t.insert([{"id": 3, "v": 3}])
        assert t.count() == 3
        t.update({"v": "v * 10"}, where="id >= 2")
        assert values(t) == {1: 1, 2: 20, 3: 30}
        t.delete(where="v = 20")
        assert values(t) == {1: 1, 3: 30}
        assert t.get(2) is None
        t.upsert([{"id": 2, "v": 7}])
        assert t.get(2) == {"id": 2, "v": 7}
        assert tx.table("t", where="v = 7").count() == 1
        with pytest.raises(ab.InvalidRequest, match="id=3"):
            t.insert([{"id": 3, "v": 0}])
        tx.create_table("u", [{"id": 1}], key="id")
        assert tx.table("u").count() == 1
        with pytest.raises(ab.AlreadyExists, match="u"):
            tx.create_table("u", [{"id": 1}], key="id")
        tx.drop_table("u")
        with pytest.raises(ab.NotFound, match="u"):
            tx.table("u")
    assert values(repo.table("t")) == {1: 1, 2: 7, 3: 30}
    assert [t.name for t in repo.tables()] == ["t"]
    change = repo.show_changes()[0]
    assert (change.inserted, change.updated, change.deleted) == (1, 1, 0)


@pytest.mark.parametrize("error", [Mishap, KeyboardInterrupt, SystemExit])
def test_an_exception_publishes_nothing_and_leaves_no_files(
    store: stores.Store, filed: ab.Repository, error: type[BaseException]
) -> None:
    make_table(filed, "t")
    before, files = filed.show(), store.files()
    with pytest.raises(error), filed.commit("main", "in vain") as tx:
        tx.create_table("u", [{"id": n} for n in range(100)], key="id")
        tx.table("t").insert([{"id": 2, "v": 2}])
        tx.table("t").update({"v": 9})
        tx.create_table("w", [{"id": 1}], key="id")
        tx.drop_table("w")
        assert store.files() > files
        raise error
    assert filed.show() == before
    assert tx.commit is None
    assert store.files() == files
    assert [t.name for t in filed.tables()] == ["t"]
    assert len(filed.reflog()) == 2


def refused_insert(tx: Any) -> None:
    tx.table("t").insert([{"id": 8, "v": 8}, {"id": 8, "v": 9}])


def refused_key(tx: Any) -> None:
    tx.table("t").insert([{"id": 8, "v": 8}, {"id": 1, "v": 9}])


def refused_update(tx: Any) -> None:
    tx.table("t").update({"v": None})


def refused_move(tx: Any) -> None:
    tx.table("t").update({"id": 7}, where="id in (1, 2)")


def refused_upsert(tx: Any) -> None:
    tx.table("t").upsert([{"id": 1, "w": 5}, {"id": 9, "w": 5}])


def refused_table(tx: Any) -> None:
    tx.create_table("u", [{"id": 1}, {"id": 1}], key="id")


@pytest.mark.parametrize(
    "statement", [refused_insert, refused_key, refused_update, refused_move, refused_upsert, refused_table]
)
def test_a_refused_statement_leaves_no_files_and_the_commit_goes_on_without_it(
    store: stores.Store, filed: ab.Repository, statement: Callable[[Any], None]
) -> None:
    with filed.commit("main", "make") as tx:
        schema = {"id": "int", "v": "int NOT NULL", "w": "int"}
        tx.create_table("t", [{"id": 1, "v": 1, "w": 1}, {"id": 2, "v": 2, "w": 2}], schema=schema, key="id")
    files = store.files()
    with filed.commit("main", "try") as tx:
        with pytest.raises(ab.InvalidRequest):
            statement(tx)
        assert store.files() == files
        tx.table("t").insert([{"id": 3, "v": 3, "w": 3}])
    assert len(store.files() - files) == 1
    assert ids(filed, "t") == [1, 2, 3]
    assert own_objects(filed) == 2


def test_what_nets_to_nothing_makes_no_commit_and_leaves_no_files(store: stores.Store, filed: ab.Repository) -> None:
    made = make_table(filed, "t")
    files = store.files()
    with filed.commit("main", "there and back") as tx:
        tx.table("t").insert([{"id": 2, "v": 2}])
        tx.table("t").delete(where="id = 2")
        tx.create_table("u", [{"id": 1}], key="id")
        tx.drop_table("u")
    assert tx.commit is None
    assert filed.show() == made
    assert store.files() == files


def test_files_that_netting_replaced_are_removed_after_publishing(store: stores.Store, filed: ab.Repository) -> None:
    make_table(filed, "t")
    files = store.files()
    with filed.commit("main", "several") as tx:
        tx.table("t").insert([{"id": 2, "v": 2}])
        tx.table("t").update({"v": 3}, where="id = 2")
        tx.table("t").update({"v": 4}, where="id = 2")
    linked = {o["path"] for c in filed.show_changes() for o in c.objects}
    assert store.files() - files == linked
    assert filed.table("t").get(2) == {"id": 2, "v": 4}


def test_a_commit_without_changes_is_made_only_if_asked_for(repo: ab.Repository) -> None:
    made = make_table(repo, "t")
    with repo.commit("main", "nothing") as tx:
        tx.table("t").update({"v": "v"})
        tx.table("t").upsert([{"id": 1, "v": 1}])
        tx.table("t").delete(where="id = 99")
        tx.table("t").insert([])
    assert tx.commit is None
    assert repo.show() == made
    with repo.commit("main", "a mark", allow_empty=True) as tx:
        pass
    assert tx.commit == repo.show()
    assert (tx.commit.tables, tx.commit.message) == ((), "a mark")
    assert ids(repo, "t") == [1]


def test_a_finished_commit_takes_no_more_statements(repo: ab.Repository) -> None:
    make_table(repo, "t")
    block = repo.commit("main", "once")
    with block as tx:
        t = tx.table("t")
        t.insert([{"id": 2, "v": 2}])
    for ask in (
        lambda: t.insert([{"id": 3, "v": 3}]),
        lambda: t.drop(),
        lambda: tx.table("t"),
        lambda: tx.create_table("u", [{"id": 1}], key="id"),
        lambda: block.__enter__(),
    ):
        with pytest.raises(ab.InvalidRequest):
            ask()
    assert ids(repo, "t") == [1, 2]


def test_a_commit_that_is_never_entered_warns(repo: ab.Repository) -> None:
    block = repo.commit("main", "forgotten")
    with pytest.warns(RuntimeWarning, match="never entered"):
        del block
        gc.collect()


def test_a_commit_that_is_refused_or_entered_does_not_warn(repo: ab.Repository) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises(ab.InvalidRequest):
            repo.commit("main", "bad fact", facts={"No Name": 1})
        with pytest.raises(ab.NotFound), repo.commit("nothing", "no such branch"):
            pass
        with pytest.raises(Mishap), repo.commit("main", "raises"):
            raise Mishap
        with repo.commit("main", "empty"):
            pass
        gc.collect()
    assert [str(w.message) for w in caught] == []


# Two writers


def test_publish_fails_when_both_touched_a_row(store: stores.Store, filed: ab.Repository) -> None:
    make_table(filed, "t")
    with pytest.raises(ab.BranchMoved, match=r"'t' .id=3") as caught, filed.commit("main", "late") as tx:
        tx.table("t").insert([{"id": 2, "v": 2}, {"id": 3, "v": 3}])
        early = put(filed, "t", 3)
        files = store.files()
    assert (caught.value.branch, caught.value.tables, caught.value.found) == ("main", ("t",), early.hash)
    assert caught.value.hint
    assert filed.show() == early
    assert tx.commit is None
    assert ids(filed, "t") == [1, 3]
    assert store.files() < files, "what the late commit wrote is gone"
    assert own_objects(filed) == 2


def test_writers_of_different_rows_of_one_table_both_go_through(repo: ab.Repository) -> None:
    make_table(repo, "t", [{"id": n, "v": 0} for n in range(5)])
    with repo.commit("main", "late") as tx:
        tx.table("t").insert([{"id": 7, "v": 7}])
        tx.table("t").update({"v": "v + 1"}, where="id < 2")
        tx.table("t").delete(where="id = 2")
        with repo.commit("main", "early") as other:
            other.table("t").update({"v": "v + 10"}, where="id = 3")
            other.table("t").insert([{"id": 8, "v": 8}])
    assert tx.commit.parents == (other.commit.hash,)
    rows = {row["id"]: row["v"] for row in repo.table("t").rows()}
    assert rows == {0: 1, 1: 1, 3: 10, 4: 0, 7: 7, 8: 8}
    assert repo.table("t").count() == 6
    assert repo.diff("main~1", "main")["t"].counts() == {"inserted": 1, "updated": 2, "deleted": 1, "cells": 2}


def test_writers_of_different_cells_of_one_row_conflict(repo: ab.Repository) -> None:
    make_table(repo, "t", [{"id": 1, "v": 0, "w": 0}])
    with pytest.raises(ab.BranchMoved, match="id=1"), repo.commit("main", "late") as tx:
        tx.table("t").update({"v": 1})
        with repo.commit("main", "early") as other:
            other.table("t").update({"w": 1})


@pytest.mark.parametrize("whole", ["overwrite", "add_column", "rename", "set_properties"])
@pytest.mark.parametrize("late", [False, True])
def test_what_touches_a_table_as_a_whole_conflicts_with_any_row(repo: ab.Repository, whole: str, late: bool) -> None:
    arguments = {
        "overwrite": ([{"id": 1, "v": 5}],),
        "add_column": ("w", "int"),
        "rename": ("u",),
        "set_properties": ({"a": "b"},),
    }
    make_table(repo, "t")

    def as_a_whole(tx: ab.Transaction) -> None:
        getattr(tx.table("t"), whole)(*arguments[whole])

    def a_row(tx: ab.Transaction) -> None:
        tx.table("t").insert([{"id": 9, "v": 9}])

    first, second = (a_row, as_a_whole) if late else (as_a_whole, a_row)
    with pytest.raises(ab.BranchMoved), repo.commit("main", "late") as tx:
        second(tx)
        with repo.commit("main", "early") as other:
            first(other)


def test_two_writers_of_one_row_conflict_even_with_the_same_value(repo: ab.Repository) -> None:
    make_table(repo, "t", [{"id": 1, "v": 0}])
    with pytest.raises(ab.BranchMoved), repo.commit("main", "count") as tx:
        tx.table("t").update({"v": "v + 1"})
        with repo.commit("main", "count too") as other:
            other.table("t").update({"v": "v + 1"})
    assert repo.table("t").get(1) == {"id": 1, "v": 1}


def test_writers_of_different_tables_both_go_through(repo: ab.Repository) -> None:
    make_table(repo, "a")
    make_table(repo, "b")
    with repo.commit("main", "late") as tx:
        tx.table("a").insert([{"id": 2, "v": 2}])
        tx.create_table("c", [{"id": 1}], key="id")
        early = put(repo, "b", 2)
    assert tx.commit.parents == (early.hash,)
    assert (ids(repo, "a"), ids(repo, "b"), ids(repo, "c")) == ([1, 2], [1, 2], [1])
    assert [c.id for c in repo.log(limit=2)] == ["main/4", "main/3"]


def test_two_new_tables_of_one_name_conflict(repo: ab.Repository) -> None:
    with pytest.raises(ab.BranchMoved, match="'t'"), repo.commit("main", "late") as tx:
        tx.create_table("t", [{"id": 2}], key="id")
        make_table(repo, "t")
    assert ids(repo, "t") == [1]


def test_a_new_table_and_a_new_namespace_of_one_name_conflict(repo: ab.Repository) -> None:
    with pytest.raises(ab.BranchMoved, match="'x'"), repo.commit("main", "late") as tx:
        tx.create_namespace("x")
        make_table(repo, "x")
    assert ids(repo, "x") == [1]


def test_new_tables_in_one_namespace_both_go_through(repo: ab.Repository) -> None:
    with repo.commit("main", "make") as tx:
        tx.create_namespace("ns")
    with repo.commit("main", "late") as tx:
        tx.create_table("ns.a", [{"id": 1}], key="id")
        make_table(repo, "ns.b")
    assert [t.name for t in repo.tables()] == ["ns.a", "ns.b"]


@pytest.mark.parametrize("late", ["change", "drop"])
@pytest.mark.parametrize("early", ["change", "drop"])
def test_a_dropped_table_conflicts_with_every_other_touch(repo: ab.Repository, early: str, late: str) -> None:
    make_table(repo, "t")

    def act(tx: Any, kind: str) -> None:
        if kind == "drop":
            tx.drop_table("t")
        else:
            tx.table("t").insert([{"id": 2, "v": 2}])

    with pytest.raises(ab.BranchMoved, match="'t'"), repo.commit("main", "late") as tx:
        act(tx, late)
        with repo.commit("main", "early") as first:
            act(first, early)
    assert repo.show() == first.commit


def test_strict_refuses_when_a_table_that_was_read_moved(repo: ab.Repository) -> None:
    make_table(repo, "read")
    make_table(repo, "written")
    make_table(repo, "other")
    with pytest.raises(ab.BranchMoved, match="'read'"), repo.commit("main", "careful", strict=True) as tx:
        tx.table("written").insert([{"id": 2, "v": tx.table("read").count()}])
        put(repo, "read", 2)
    with repo.commit("main", "careful", strict=True) as tx:
        tx.table("written").insert([{"id": 3, "v": tx.table("read").count()}])
        put(repo, "other", 2)
    with repo.commit("main", "careless") as tx:
        tx.table("written").insert([{"id": 4, "v": tx.table("read").count()}])
        put(repo, "read", 3)
    assert ids(repo, "written") == [1, 3, 4]


def test_a_branch_deleted_meanwhile_is_not_brought_back(repo: ab.Repository) -> None:
    make_table(repo, "t")
    repo.branch("dev")
    with pytest.raises(ab.BranchMoved, match="deleted") as caught, repo.commit("dev", "late") as tx:
        tx.table("t").insert([{"id": 2, "v": 2}])
        repo.delete_branch("dev")
    assert caught.value.branch == "dev"
    assert [b.name for b in repo.branches()] == ["main"]


def test_a_branch_reset_meanwhile_is_told(repo: ab.Repository) -> None:
    make_table(repo, "t")
    put(repo, "t", 2)
    with pytest.raises(ab.BranchMoved, match="reset") as caught, repo.commit("main", "late") as tx:
        tx.create_table("u", [{"id": 1}], key="id")
        repo.reset("main", to="main~1")
    assert caught.value.branch == "main"
    assert ids(repo, "t") == [1]
    assert [t.name for t in repo.tables()] == ["t"]


def test_a_branch_renamed_meanwhile_is_followed_or_told(repo: ab.Repository) -> None:
    make_table(repo, "t")
    repo.branch("dev")
    try:
        with repo.commit("dev", "late") as tx:
            tx.table("t").insert([{"id": 2, "v": 2}])
            repo.rename_branch("dev", "qa")
    except ab.BranchMoved:
        assert ids(repo, "t", "qa") == [1]
    else:
        assert ids(repo, "t", "qa") == [1, 2]
    assert {b.name for b in repo.branches()} == {"main", "qa"}


def test_a_branch_fast_forwarded_meanwhile_is_gone_on_with(repo: ab.Repository) -> None:
    make_table(repo, "t")
    make_table(repo, "u")
    repo.branch("dev")
    put(repo, "u", 2, branch="dev")
    with repo.commit("main", "late") as tx:
        tx.table("t").insert([{"id": 2, "v": 2}])
        repo.fast_forward("main", to="dev")
    assert (ids(repo, "t"), ids(repo, "u")) == ([1, 2], [1, 2])
    assert tx.commit.parents == (repo.show("dev").hash,)


def test_a_reader_keeps_the_state_it_opened(repo: ab.Repository) -> None:
    make_table(repo, "t")
    table = repo.table("t")
    put(repo, "t", 2)
    with repo.commit("main", "drop") as tx:
        tx.drop_table("t")
    assert table.rows() == [{"id": 1, "v": 1}]
    assert table.count() == 1


def run_threads(count: int, work: Callable[[int], None]) -> list[BaseException]:
    failed: list[BaseException] = []
    barrier = threading.Barrier(count)

    def run(number: int) -> None:
        barrier.wait()
        try:
            work(number)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=run, args=(n,)) for n in range(count)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return failed


def assert_linear(repo: ab.Repository, expected: int) -> list[ab.Commit]:
    """Every commit once, each the parent of the next, all on one line, and a move for each."""
    told = repo.log("main")
    assert len(told) == expected
    assert len({c.hash for c in told}) == expected
    assert [c.id for c in told] == [f"main/{n}" for n in range(expected - 1, -1, -1)]
    assert all(c.parents == (parent.hash,) for c, parent in itertools.pairwise(told))
    moves = repo.reflog("main")
    assert [m.after for m in moves] == [c.hash for c in told]
    assert len({m.commit_id for m in moves}) == expected
    return told


def test_many_threads_commit_to_tables_of_their_own(repo: ab.Repository) -> None:
    threads, rounds = 6, 4

    def work(number: int) -> None:
        make_table(repo, f"t{number}", [{"id": 0, "v": 0}])
        for n in range(1, rounds):
            put(repo, f"t{number}", n, v=number)

    assert run_threads(threads, work) == []
    assert_linear(repo, 1 + threads * rounds)
    for number in range(threads):
        assert ids(repo, f"t{number}") == list(range(rounds))
    assert own_objects(repo) == threads * rounds


def increment(repo: ab.Repository, times: int) -> int:
    """Add one to a counter, reading again and retrying whenever somebody was faster; tell how often."""
    retries = 0
    for _ in range(times):
        while True:
            try:
                with repo.commit("main", "count") as tx:
                    tx.table("counter").update({"v": "v + 1"})
                break
            except ab.BranchMoved:
                retries += 1
                time.sleep(0.001)
    return retries


def test_no_counter_loses_an_increment_to_another_thread(repo: ab.Repository) -> None:
    make_table(repo, "counter", [{"id": 1, "v": 0}])
    assert run_threads(4, lambda _: increment(repo, 4) and None) == []
    assert repo.table("counter").get(1) == {"id": 1, "v": 16}
    assert_linear(repo, 18)


def test_readers_and_writers_share_a_repository(repo: ab.Repository) -> None:
    make_table(repo, "t", [{"id": n, "v": 0} for n in range(20)])

    def work(number: int) -> None:
        if number == 0:
            for n in range(1, 6):
                with repo.commit("main", "all rows") as tx:
                    tx.table("t").update({"v": n})
        else:
            for _ in range(10):
                seen = {r["v"] for r in repo.table("t").rows()}
                assert len(seen) == 1, "half of a commit was seen"

    assert run_threads(4, work) == []


def commit_many(store: stores.Store, name: str, number: int, rounds: int) -> list[str]:
    with store.open(name) as repo:
        made = [make_table(repo, f"t{number}", [{"id": 0, "v": 0}]).hash]
        made += [put(repo, f"t{number}", n, v=number).hash for n in range(1, rounds)]
        increment(repo, rounds)
        return made


def test_several_processes_commit_to_one_store_at_once(store: stores.Store, repo: ab.Repository) -> None:
    workers, rounds = 4, 4
    make_table(repo, "counter", [{"id": 1, "v": 0}])
    found = processes.run_all(commit_many, [(store, repo.name, n, rounds) for n in range(workers)])
    assert not [x for x in found if isinstance(x, Exception)], found
    told = assert_linear(repo, 2 + 2 * workers * rounds)
    hashes = [c.hash for c in told]
    assert all(hashes.count(h) == 1 for made in found for h in made)
    assert repo.table("counter").get(1) == {"id": 1, "v": workers * rounds}
    for number in range(workers):
        assert ids(repo, f"t{number}") == list(range(rounds))
    objects = own_objects(repo)
    assert objects >= 1 + 2 * workers * rounds, "each commit has an object, and folds of the counter some more"


def branch_and_commit(store: stores.Store, name: str, number: int) -> str:
    with store.open(name) as repo:
        for n in range(3):
            repo.branch(f"w{number}-{n}")
            make_table(repo, "t", [{"id": number, "v": n}], branch=f"w{number}-{n}")
        repo.rename_branch(f"w{number}-0", f"renamed{number}")
        repo.delete_branch(f"w{number}-1", force=True)
        repo.tag(f"v{number}", at=f"w{number}-2")
        return repo.show(f"v{number}").hash


def test_several_processes_make_branches_and_tags_at_once(store: stores.Store, repo: ab.Repository) -> None:
    workers = 4
    found = processes.run_all(branch_and_commit, [(store, repo.name, n) for n in range(workers)])
    assert not [x for x in found if isinstance(x, Exception)], found
    expected = {f"renamed{n}" for n in range(workers)} | {f"w{n}-2" for n in range(workers)} | {"main"}
    assert {b.name for b in repo.branches()} == expected
    assert {t.name: t.commit for t in repo.tags()} == {f"v{n}": h for n, h in enumerate(found)}
    for n in range(workers):
        assert repo.table("t", at=f"v{n}").rows() == [{"id": n, "v": 2}]
