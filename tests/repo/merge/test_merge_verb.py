"""The verb merge: fast-forward, modes, several sources, what was merged before, other writers, kills, and links."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

import anabranch as ab
from anabranch.catalog import tables
from anabranch.catalog.objects import NamedFiles
from tests.catalog import stores
from tests.catalog.stores import Store
from tests.repo.commit import test_crash as crash
from tests.repo.merge.merge_cases import Act, act, both, cells, conflict, fork, make_t, nothing, rows

store = stores.store


def put(id_: int, a: int, s: str = "w") -> Act:
    return lambda tx: tx.table("t").upsert([{"id": id_, "a": a, "s": s}])


def set_a(id_: int, a: int) -> Act:
    return lambda tx: tx.table("t").update({"a": a}, where=f"id = {id_}")


def set_where(where: str) -> Act:
    return lambda tx: tx.table("t").update({"a": 11}, where=where)


def a_of(repo: ab.Repository, at: str = "ours") -> dict[int, int]:
    return {row["id"]: row["a"] for row in repo.table("t", at=at).rows()}


# --- fast-forward and modes ---


def test_a_branch_that_did_nothing_is_moved_forward(duck: ab.Repository) -> None:
    fork(duck, make_t, nothing, set_a(1, 11))
    duck.branch("behind", at="main")
    result = duck.merge("theirs", into="behind")
    assert (result.fast_forward, result.commit.hash) == (True, duck.show("theirs").hash)
    assert result.counts == {"t": {"inserted": 0, "updated": 1, "deleted": 0, "cells": 1}}
    assert duck.reflog("behind")[0].verb == "merge"


def test_ff_never_makes_a_commit_with_both_parents(duck: ab.Repository) -> None:
    fork(duck, make_t, nothing, set_a(1, 11))
    duck.branch("behind", at="main")
    result = duck.merge("theirs", into="behind", ff="never", message="join", author="bob")
    assert result.commit.parents == (duck.show("main").hash, duck.show("theirs").hash)
    assert (result.fast_forward, result.commit.message, result.commit.author) == (False, "join", "bob")
    assert a_of(duck, "behind")[1] == 11


def test_ff_only_refuses_what_needs_a_merge_commit(duck: ab.Repository) -> None:
    fork(duck, make_t, set_a(2, 21), set_a(1, 11))
    before = duck.show("ours").hash
    with pytest.raises(ab.InvalidRequest, match="branch 'ours' can't be fast-forwarded to 'theirs'"):
        duck.merge("theirs", into="ours", ff="only")
    assert duck.show("ours").hash == before
    duck.branch("behind", at="main")
    assert duck.merge("theirs", into="behind", ff="only").fast_forward


def test_a_squash_has_one_parent_and_names_its_sources(repo: ab.Repository) -> None:
    fork(repo, make_t, set_a(2, 21), set_a(1, 11))
    before = repo.show("ours").hash
    made = repo.merge("theirs", into="ours", mode="squash").commit
    assert made.parents == (before,)
    assert made.provenance == (repo.show("theirs").hash,)
    assert a_of(repo) == {1: 11, 2: 21, 3: 30}


def test_a_replay_copies_commits_one_by_one(repo: ab.Repository) -> None:
    fork(repo, make_t, set_a(2, 21), set_a(1, 11))
    act(repo, "theirs", put(4, 40), set_a(1, 12))
    before = repo.show("ours").hash
    result = repo.merge("theirs", into="ours", mode="replay")
    told = repo.log("ours", limit=4)
    assert [c.message for c in told[:3]] == ["work on theirs"] * 3
    assert told[3].hash == before
    assert result.commit.hash == told[0].hash
    assert a_of(repo) == {1: 12, 2: 21, 3: 30, 4: 40}
    assert [len(c.parents) for c in told[:3]] == [1, 1, 1]


def test_a_replay_with_a_conflict_midway_changes_nothing(repo: ab.Repository) -> None:
    fork(repo, make_t, set_a(2, 21), set_a(1, 11))
    act(repo, "theirs", set_a(2, 22))
    before = _seen(repo)
    with pytest.raises(ab.MergeConflict, match=r"merge of .* can't be made on 'ours'"):
        repo.merge("theirs", into="ours", mode="replay")
    assert _seen(repo) == before


def _seen(repo: ab.Repository) -> dict[str, str]:
    return {b.name: b.commit for b in repo.branches()}


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ({"mode": "octopus"}, "mode='octopus' is not known"),
        ({"ff": "maybe"}, "ff='maybe' is not known"),
        ({"source": []}, "merge was given no source"),
        ({"source": "nowhere"}, "nowhere"),
        ({"into": "nowhere"}, "nowhere"),
    ],
)
def test_a_merge_that_makes_no_sense_is_refused(duck: ab.Repository, words: dict[str, Any], problem: str) -> None:
    fork(duck, make_t, nothing, nothing)
    with pytest.raises((ab.InvalidRequest, ab.NotFound), match=problem):
        duck.merge(**{"source": "theirs", "into": "ours", **words})


# --- several sources ---


def three(repo: ab.Repository) -> None:
    act(repo, "main", make_t)
    for n, name in enumerate(("one", "two", "three"), 1):
        repo.branch(name, at="main")
        act(repo, name, set_a(n, n), put(n + 3, n))


def test_several_sources_are_one_commit_with_all_parents(repo: ab.Repository) -> None:
    three(repo)
    act(repo, "main", put(9, 9))
    before = repo.show("main").hash
    made = repo.merge(["one", "two", "three"], into="main", strictness="disjoint").commit
    assert made.parents == (before, *(repo.show(b).hash for b in ("one", "two", "three")))
    assert a_of(repo, "main") == {1: 1, 2: 2, 3: 3, 4: 1, 5: 2, 6: 3, 9: 9}
    for name in ("one", "two", "three"):
        assert repo.merge(name, into="main").up_to_date


def test_sources_that_are_ancestors_of_others_are_left_out(duck: ab.Repository) -> None:
    three(duck)
    act(duck, "main", put(9, 9))
    made = duck.merge(["one~1", "one", "two", "main~1"], into="main").commit
    assert made.parents[1:] == (duck.show("one").hash, duck.show("two").hash)


def test_sources_that_conflict_with_each_other_are_refused(repo: ab.Repository) -> None:
    three(repo)
    act(repo, "two", set_a(1, 5))
    act(repo, "main", put(9, 9))
    assert cells(conflict(repo, "one", "two", into="main")) == [((1,), "update/update", "a", 10, 1, 5)]
    repo.merge(["one", "two"], into="main", rules={"t.a": "max"})
    assert a_of(repo, "main")[1] == 5


# --- what was merged before ---


def test_what_was_merged_before_is_not_merged_again(repo: ab.Repository) -> None:
    fork(repo, make_t, set_a(2, 21), set_a(1, 11))
    repo.merge("theirs", into="ours")
    assert repo.merge("theirs", into="ours").up_to_date
    act(repo, "ours", set_a(1, 10))
    act(repo, "theirs", set_a(3, 31))
    repo.merge("theirs", into="ours")
    assert a_of(repo) == {1: 10, 2: 21, 3: 31}


def test_branches_can_be_merged_to_and_fro(repo: ab.Repository) -> None:
    fork(repo, make_t, set_a(2, 21), set_a(1, 11))
    for n in range(3):
        repo.merge("theirs", into="ours")
        act(repo, "ours", set_a(1, n))
        repo.merge("ours", into="theirs", ff="never")
        act(repo, "theirs", set_a(2, n))
    repo.merge("theirs", into="ours")
    assert a_of(repo) == {1: 2, 2: 2, 3: 30}


def test_after_a_criss_cross_a_value_that_was_taken_back_stays_back(repo: ab.Repository) -> None:
    fork(repo, make_t, set_a(1, 11), set_a(2, 21))
    ours, theirs = repo.show("ours").hash, repo.show("theirs").hash
    repo.merge(theirs, into="ours")
    repo.merge(ours, into="theirs")
    act(repo, "ours", set_a(1, 10))
    act(repo, "theirs", set_a(3, 31))
    repo.merge("theirs", into="ours")
    assert a_of(repo) == {1: 10, 2: 21, 3: 31}


def test_after_a_criss_cross_a_cell_that_was_resolved_in_two_ways_conflicts(repo: ab.Repository) -> None:
    fork(repo, make_t, set_a(1, 11), set_a(1, 12))
    ours, theirs = repo.show("ours").hash, repo.show("theirs").hash
    repo.merge(theirs, into="ours", rules={"*": "ours"})
    repo.merge(ours, into="theirs", rules={"*": "ours"})
    assert cells(conflict(repo)) == [((1,), "update/update", "a", None, 11, 12)]


def test_after_a_criss_cross_a_column_that_is_younger_is_known_in_rows_that_are_not(repo: ab.Repository) -> None:
    fork(repo, make_t, set_a(1, 11), lambda tx: tx.table("t").delete(where="id = 1"))
    ours, theirs = repo.show("ours").hash, repo.show("theirs").hash
    repo.merge(theirs, into="ours", rules={"*": "ours"})
    repo.merge(ours, into="theirs", rules={"*": "ours"})
    act(repo, "theirs", lambda tx: tx.table("t").add_column("n", "int", default=0))
    act(repo, "theirs", lambda tx: tx.table("t").insert([{"id": 1, "a": 11, "s": "x", "n": 5}]))
    repo.merge("theirs", into="ours")
    assert rows(repo)[0] == (1, 11, "x", 5)


def test_a_merge_that_was_reverted_stays_out_when_merged_again(repo: ab.Repository) -> None:
    fork(repo, make_t, set_a(2, 21), set_a(1, 11))
    made = repo.merge("theirs", into="ours").commit
    repo.revert(made.hash, on="ours", parent=1)
    assert repo.merge("theirs", into="ours").up_to_date
    act(repo, "theirs", set_a(3, 31))
    repo.merge("theirs", into="ours")
    assert a_of(repo) == {1: 10, 2: 21, 3: 31}


def test_all_paths_through_a_merge_tell_the_same(repo: ab.Repository) -> None:
    fork(repo, make_t, both(set_a(1, 11), put(4, 1)), both(set_a(2, 21), put(5, 2)))
    act(repo, "ours", lambda tx: tx.table("t").delete(where="id = 3"))
    repo.merge("theirs", into="ours")
    inserted = {(r["key"]["id"], r["change"]) for r in repo.diff("theirs", "ours")["t"].rows()}
    assert inserted == {(1, "update"), (3, "delete"), (4, "insert")}
    back = {(r["key"]["id"], r["change"]) for r in repo.diff("ours", "theirs")["t"].rows()}
    assert back == {(1, "update"), (3, "insert"), (4, "delete")}


# --- nothing is left behind ---


def stored(repo: ab.Repository, folder: Path) -> tuple[set[str], int, int]:
    """The files of a store, and how many objects its catalogue has, with their bytes in it."""
    files = {str(p) for p in (folder / ".anabranch" / "objects").rglob("*") if p.is_file()}
    with repo._ctx.catalog.read() as cx:
        count = cx.execute(select(func.count()).select_from(tables.objects)).scalar_one()
        size = cx.execute(select(func.coalesce(func.sum(func.length(tables.inline_objects.c.content)), 0))).scalar_one()
    return files, count, size


SMALL = ab.Settings(objects=ab.ObjectSettings(inline_limit_bytes=600))


@pytest.fixture
def small(tmp_path: Path, engine: dict[str, Any]) -> Iterator[ab.Repository]:
    """A repository in which most objects are files."""
    with ab.init(tmp_path / "store", author="ann", settings=SMALL, **engine) as made:
        yield made


def many(low: int, high: int, a: int = 0) -> Act:
    return lambda tx: tx.table("t").upsert([{"id": n, "a": a + n, "s": f"s{n * 7919}"} for n in range(low, high)])


@pytest.mark.parametrize("how", [{}, {"rules": {"t.a": "sum"}}, {"mode": "squash"}])
def test_a_refused_merge_leaves_nothing_behind(small: ab.Repository, tmp_path: Path, how: dict[str, Any]) -> None:
    fork(small, make_t, many(2, 300), many(2, 500, 5))
    before = stored(small, tmp_path / "store"), _seen(small)
    conflict(small, **how)
    assert (stored(small, tmp_path / "store"), _seen(small)) == before


def test_a_merge_that_a_constraint_refuses_leaves_nothing_behind(small: ab.Repository, tmp_path: Path) -> None:
    fork(small, make_t, lambda tx: tx.table("t").add_check("small", "a < 400"), many(2, 500, 5))
    before = stored(small, tmp_path / "store"), _seen(small)
    assert len(conflict(small).violations) == 105
    assert (stored(small, tmp_path / "store"), _seen(small)) == before


# --- linking ---


@pytest.mark.parametrize("theirs", ["inserts", "updates", "deletes"])
def test_where_keys_do_not_meet_a_merge_writes_the_same_whatever_the_change(
    tmp_path: Path, engine: dict[str, Any], theirs: str
) -> None:
    grown, listed_one_by_one = {}, ab.Settings(objects=ab.ObjectSettings(manifest_object_limit=2000))
    for size in (100, 10_000):
        folder = tmp_path / str(size)
        with ab.init(folder, author="ann", settings=listed_one_by_one, **engine) as repo:
            act(repo, "main", make_t, many(10, 10 + 20_000))
            for name in ("ours", "theirs"):
                repo.branch(name, at="main")
            act(repo, "ours", set_a(1, 11))
            act(repo, "theirs", _big(theirs, size))
            paths = {layer["sha256"] for layer in repo.table("t", at="theirs").layout()}
            files, count, held = stored(repo, folder)
            repo.merge("theirs", into="ours")
            after = stored(repo, folder)
            assert after[0] == files
            assert paths - {layer["sha256"] for layer in repo.table("t", at="ours").layout()} == set()
            grown[size] = (after[1] - count, after[2] - held)
            assert len(rows(repo)) == 20_003 + {"inserts": size, "deletes": -size, "updates": 0}[theirs]
    assert grown[100] == grown[10_000] == (0, 0)


def _big(verb: str, size: int) -> Act:
    if verb == "inserts":
        return many(50_000, 50_000 + size)
    if verb == "updates":
        return lambda tx: tx.table("t").update({"a": "a + 1"}, where=f"id >= 100 AND id < {100 + size}")
    return lambda tx: tx.table("t").delete(where=f"id >= 100 AND id < {100 + size}")


# --- other writers, and kills ---


def test_a_merge_whose_target_moved_is_planned_again(repo: ab.Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    from anabranch.repo.merge import merge as verb

    fork(repo, make_t, set_a(2, 21), set_a(1, 11))
    moved: list[str] = []
    original = verb.publish_merge

    def beside(*args: Any, **named: Any) -> ab.Commit:
        if not moved:
            moved.append(act(repo, "ours", set_a(3, 31)).hash)
        return original(*args, **named)

    monkeypatch.setattr(verb, "publish_merge", beside)
    made = repo.merge("theirs", into="ours").commit
    assert made.parents[0] == moved[0]
    assert a_of(repo) == {1: 11, 2: 21, 3: 31}


@pytest.mark.parametrize("side", ["ours", "theirs"])
def test_a_criss_cross_whose_target_moved_differs_from_theirs_in_what_moved(
    repo: ab.Repository, monkeypatch: pytest.MonkeyPatch, side: str
) -> None:
    """A row that both sides settled alike is decided again, although the way to theirs leaves it out."""
    from anabranch.repo.merge import merge as verb

    fork(repo, make_t, set_a(1, 11), set_a(1, 12))
    old_ours = repo.show("ours").hash
    repo.merge("theirs", into="ours", rules={"*": side})
    repo.merge(old_ours, into="theirs", rules={"*": "theirs" if side == "ours" else "ours"})
    act(repo, "theirs", set_a(3, 31))
    moved: list[str] = []
    original = verb.publish_merge

    def beside(*args: Any, **named: Any) -> ab.Commit:
        if not moved:
            moved.append(act(repo, "ours", set_a(1, 99)).hash)
        return original(*args, **named)

    monkeypatch.setattr(verb, "publish_merge", beside)
    made = repo.merge("theirs", into="ours", rules={"*": "ours"}).commit
    assert made.parents[0] == moved[0]
    assert a_of(repo) == {1: 99, 2: 20, 3: 31}
    changes = repo.diff("theirs", "ours")["t"].rows()
    assert [(row["after"]["id"], row["after"]["a"]) for row in changes] == [(1, 99)]


def test_a_merge_whose_target_moved_into_a_conflict_is_refused(
    repo: ab.Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    from anabranch.repo.merge import merge as verb

    fork(repo, make_t, set_a(2, 21), set_a(1, 11))
    original = verb.publish_merge
    done: list[ab.Commit] = []

    def beside(*args: Any, **named: Any) -> ab.Commit:
        if not done:
            done.append(act(repo, "ours", set_a(1, 12)))
        return original(*args, **named)

    monkeypatch.setattr(verb, "publish_merge", beside)
    assert cells(conflict(repo)) == [((1,), "update/update", "a", 10, 12, 11)]
    assert repo.show("ours").hash == done[0].hash


@pytest.mark.parametrize(
    ("meanwhile", "merged"),
    [
        (lambda n: nothing, 1),
        (lambda n: set_a(3, 30 + n), 1),
        (lambda n: lambda tx: tx.table("t").update({"s": f"'{n}'"}, where="id = 1"), 4),
        (lambda n: lambda tx: tx.table("t").add_column(f"n{n}", "int"), 4),
        (lambda n: lambda tx: tx.table("t").insert([{"id": 10 + n, "a": n}]), 1),
        (lambda n: lambda tx: tx.table("t").set_properties({"n": str(n)}), 4),
    ],
    ids=["elsewhere", "other rows", "the same row", "columns", "new rows", "properties"],
)
def test_a_merge_into_a_branch_that_never_stands_still_merges_again_what_moved_and_comes_through(
    duck: ab.Repository, monkeypatch: pytest.MonkeyPatch, meanwhile: Callable[[int], Act], merged: int
) -> None:
    from anabranch.repo.merge import apply
    from anabranch.repo.merge import merge as verb

    fork(duck, both(make_t, many(100, 150)), set_a(2, 21), set_where("id = 1 OR id >= 100"))
    originals = verb.publish_merge, apply.merge_rows
    moves: list[ab.Commit] = []
    calls: list[Any] = []

    def beside(*args: Any, **named: Any) -> ab.Commit:
        if not duck._ctx.catalog.is_alone:
            moves.append(act(duck, "ours", meanwhile(len(moves))))
        return originals[0](*args, **named)

    def counted(*args: Any, **named: Any) -> Any:
        calls.append(args)
        return originals[1](*args, **named)

    monkeypatch.setattr(verb, "publish_merge", beside)
    monkeypatch.setattr(apply, "merge_rows", counted)
    made = duck.merge("theirs", into="ours").commit
    assert made.parents[0] == moves[-1].hash
    assert (len(moves), len(calls)) == (3, merged)
    assert {k: v for k, v in a_of(duck).items() if k in (1, 2, 100)} == {1: 11, 2: 21, 100: 11}


@pytest.mark.parametrize("ends", ["comes through", "is refused"])
def test_what_attempts_wrote_in_vain_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ends: str) -> None:
    from anabranch.repo.merge import merge as verb

    original = verb.publish_merge
    with ab.init(tmp_path / "store", engine="duck", settings=crash.SMALL_FILES) as repo:
        fork(repo, make_t, set_a(2, 21), set_where("id <> 2"))

        def beside(*args: Any, **named: Any) -> ab.Commit:
            if not repo._ctx.catalog.is_alone:
                change = {"s": "concat(s, '!')"} if ends == "comes through" else {"a": "a + 1"}
                act(repo, "ours", lambda tx: tx.table("t").update(change, where="id = 1"))
            return original(*args, **named)

        monkeypatch.setattr(verb, "publish_merge", beside)
        if ends == "comes through":
            repo.merge("theirs", into="ours")
            assert rows(repo) == [(1, 11, "x!!!"), (2, 21, "y"), (3, 11, "z")]
        else:
            conflict(repo)
        with repo._ctx.catalog.read() as cx:
            known = set(NamedFiles(repo._ctx.read_manifest).paths(cx))
        root = tmp_path / "store" / ".anabranch" / "objects"
        assert {str(p.relative_to(root)) for p in root.rglob("*.parquet")} == known != set()


def merge_one(repo: ab.Repository, number: int) -> None:
    repo.merge(f"source_{number}", into="ours", message=f"merge {number}", rules={"t.s": "theirs"})


def source(repo: ab.Repository, number: int) -> None:
    """Make a branch whose rows all meet those of ours, so that a merge has much to write."""
    repo.branch(f"source_{number}", at="main")
    act(repo, f"source_{number}", lambda tx: tx.table("t").update({"s": f"concat('{number}-', CAST(id AS STRING))"}))


@pytest.mark.long
def test_a_merge_killed_at_any_step_is_there_whole_or_not_at_all(store: Store) -> None:
    with store.init(settings=crash.SMALL_FILES) as repo:
        fork(repo, both(make_t, many(4, 100)), lambda tx: tx.table("t").update({"a": "id"}), nothing)
        for number in range(1, 40):
            source(repo, number)
        before, seen = repo.show("ours").hash, set()
        for step in crash.crashes(store, repo, merge_one, statement=7, sync=2):
            told = repo.show("ours")
            merged = told.message == f"merge {step}"
            seen.add(merged)
            assert all((row["s"] == f"{step}-{row['id']}") == merged for row in repo.table("t", at="ours").rows())
            assert a_of(repo) == {n: n for n in range(1, 100)}, step
            assert merged == (repo.show(f"source_{step}").hash in told.parents)
            assert merged or told.hash == before or told.message == f"merge {step - 1}"
            if step % crash.VERIFY_EVERY == 1:
                repo.verify().raise_damages()
            before = told.hash
        assert seen == {False, True}
