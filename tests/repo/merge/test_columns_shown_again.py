"""Columns that were dropped and are shown again: by a restore, a revert, a pick or a merge, against rows as dicts."""

from __future__ import annotations

import random
from typing import Any

import pytest

import anabranch as ab
from tests.repo.merge.merge_cases import Act, act

Rows = dict[int, dict[str, Any]]


def t(method: str, *args: Any, **named: Any) -> Act:
    return lambda tx: getattr(tx.table("t"), method)(*args, **named)


def shown(repo: ab.Repository, at: str = "main") -> Rows:
    return {row["id"]: row for row in repo.table("t", at=at).rows()}


def w_of(repo: ab.Repository, at: str) -> dict[int, Any]:
    return {id_: row["w"] for id_, row in shown(repo, at).items()}


def start(repo: ab.Repository, key: str | None = "id") -> None:
    act(repo, "main", lambda tx: tx.create_table("t", [{"id": i, "a": i} for i in range(5)], key=key))
    act(repo, "main", t("add_column", "w", "int"))
    repo.tag("empty")


@pytest.mark.parametrize("key", ["id", None])
def test_values_of_a_dropped_column_do_not_come_back_by_a_restore_to_before_them(repo: ab.Repository, key: Any) -> None:
    start(repo, key)
    act(repo, "main", t("update", {"w": "id * 10"}, where="id < 3"), t("insert", [{"id": 9, "a": 9, "w": 99}]))
    repo.tag("filled")
    act(repo, "main", t("drop_column", "w"))
    for ref in ("empty", "filled", "empty"):
        repo.restore("t", to=ref)
        assert shown(repo) == shown(repo, ref)
    repo.optimize("t")
    assert shown(repo) == shown(repo, "empty")
    assert repo.diff("empty", "main").counts() == {}


def test_a_change_after_a_column_is_shown_again_outlives_folding(duck: ab.Repository) -> None:
    start(duck)
    act(duck, "main", t("update", {"w": 10}))
    duck.optimize("t")  # The rows in the file have the value.
    dropped = act(duck, "main", t("drop_column", "w"))
    duck.revert(dropped.hash)
    act(duck, "main", t("update", {"w": None}, where="id = 1"))
    expected = {0: 10, 1: None, 2: 10, 3: 10, 4: 10}
    assert w_of(duck, "main") == expected
    duck.optimize("t")
    assert w_of(duck, "main") == expected


def test_a_commit_that_made_a_column_can_be_picked_after_its_drop(duck: ab.Repository) -> None:
    start(duck)
    made = duck.show("main")
    act(duck, "main", t("update", {"w": 5}, where="id > 2"), t("drop_column", "w"))
    duck.cherry_pick(made.hash)
    assert set(w_of(duck, "main").values()) == {None}


@pytest.mark.parametrize("take", ["ours", "theirs"])
def test_a_column_that_one_side_dropped_is_as_the_other_has_it(repo: ab.Repository, take: str) -> None:
    start(repo)
    act(repo, "main", t("update", {"w": 1}))
    dropping, keeping = ("theirs", "ours") if take == "ours" else ("ours", "theirs")
    for name in (dropping, keeping):
        repo.branch(name, at="main")
    act(repo, dropping, t("update", {"w": 7, "a": 50}, where="id = 0"), t("update", {"w": None}, where="id = 1"))
    act(repo, dropping, t("insert", [{"id": 8, "a": 8, "w": 8}]), t("update", {"a": 30}, where="id = 3"))
    act(repo, dropping, t("drop_column", "w"))
    act(repo, keeping, t("update", {"w": 2}, where="id = 2"), t("update", {"a": 30}, where="id = 3"))
    merge = repo.start_merge("theirs", into="ours")
    merge.resolve("t", take=take)
    merge.finish()
    assert w_of(repo, "ours") == {0: 1, 1: 1, 2: 2, 3: 1, 4: 1, 8: None}
    assert shown(repo, "ours")[0]["a"] == 50
    assert repo.diff("theirs", "ours")["t"].schema or take == "theirs"


@pytest.mark.parametrize("seed", [4, pytest.param(range(12), marks=pytest.mark.more)])
def test_random_drops_and_restores_show_what_dicts_do(duck: ab.Repository, seed: Any) -> None:
    for number in [seed] if isinstance(seed, int) else seed:
        walk(duck, random.Random(number), f"b{number}")


def walk(repo: ab.Repository, rnd: random.Random, branch: str) -> None:
    """Change, drop and restore at random; every commit must show what the dicts do, and so must diffs."""
    if "t" not in [table.name for table in repo.tables()]:
        start(repo)
    repo.branch(branch, at="empty")
    past = [("empty", shown(repo, "empty"))]
    for n in range(12):
        rows, has_w = {i: dict(r) for i, r in past[-1][1].items()}, "w" in past[-1][1][0]
        some, value = [i for i in rows if rnd.random() < 0.4] or [0], rnd.choice([None, 1, 2])
        where = f"id in ({', '.join(map(str, some))})"
        word = rnd.choice(["a", "insert", "restore", *(["w", "w", "drop"] if has_w else ["restore"])])
        if word == "restore":
            ref, rows = rnd.choice(past)
            repo.restore("t", to=ref, on=branch)
        elif word == "drop":
            act(repo, branch, t("drop_column", "w"))
            rows = {i: {"id": i, "a": r["a"]} for i, r in rows.items()}
        elif word == "insert":
            rows[100 + n] = {"id": 100 + n, "a": n, **({"w": value} if has_w else {})}
            act(repo, branch, t("insert", [rows[100 + n]]))
        else:
            act(repo, branch, t("update", {word: value}, where=where))
            rows |= {i: {**rows[i], word: value} for i in some}
        assert shown(repo, branch) == rows
        ref, old = rnd.choice(past)
        difference = repo.diff(ref, branch)
        told = difference["t"].rows() if "t" in difference.tables else []
        lacking = {"w": None} if "w" in rows[0] else {}
        changed = {i: r for i, r in rows.items() if not (i in old and r.items() <= {**lacking, **old[i]}.items())}
        assert {c["key"]["id"]: c["after"] for c in told if c["after"]} == changed
        past.append((repo.show(branch).hash, rows))
    repo.delete_branch(branch, force=True)
