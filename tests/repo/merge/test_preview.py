"""Previews: the merged state as a ref, before anything moves."""

from __future__ import annotations

from typing import Any

import pytest

import anabranch as ab
from tests.repo.merge.merge_cases import Act, act, both, cells, fork, make_t, nothing, whole


def put(id_: int, **values: Any) -> Act:
    return lambda tx: tx.table("t").upsert([{"id": id_, **values}])


def shown(repo: ab.Repository) -> list[tuple[str, str]]:
    return [(b.name, b.commit) for b in repo.branches()]


def test_a_preview_shows_the_merged_state_and_moves_nothing(repo: ab.Repository) -> None:
    fork(repo, make_t, put(1, a=11), put(2, a=21))
    before = shown(repo)
    seen = repo.preview("theirs", into="ours")
    assert not seen.conflicts
    assert [row["a"] for row in seen.table("t").rows()] == [11, 21, 30]
    assert [row["a"] for row in repo.table("t", at=seen.ref).rows()] == [11, 21, 30]
    assert seen.table("t", where="id = 2", columns="a").rows() == [{"a": 21}]
    assert seen.diff().counts() == {"t": {"inserted": 0, "updated": 1, "deleted": 0, "cells": 1}}
    assert shown(repo) == before
    told = repo.show(seen.ref)
    assert (told.message, len(told.parents)) == ("merge theirs into ours", 2)


def test_a_preview_with_conflicts_shows_them_and_ours_in_their_place(repo: ab.Repository) -> None:
    fork(repo, make_t, put(1, a=11), both(put(1, a=12, s="q"), put(2, a=21)))
    seen = repo.preview("theirs", into="ours")
    assert cells(seen.conflicts) == [((1,), "update/update", "a", 10, 11, 12)]
    assert [tuple(row.values()) for row in seen.table("t").rows()] == [(1, 11, "q"), (2, 21, "y"), (3, 30, "z")]
    assert repr(seen).endswith("1 conflict in t (1))")


def test_a_preview_shows_conflicts_of_all_kinds_at_once(repo: ab.Repository) -> None:
    def make(tx: Any) -> None:
        make_t(tx)
        tx.create_table("u", [{"id": 1}], key="id")
        tx.create_table("w", [{"id": 1, "a": 1}], key="id")

    fork(
        repo,
        make,
        both(put(1, a=11), lambda tx: tx.table("u").drop(), lambda tx: tx.table("w").add_check("small", "a < 9")),
        both(put(1, a=12), lambda tx: tx.table("u").insert([{"id": 2}]), lambda tx: tx.table("w").update({"a": 10})),
    )
    found = repo.preview("theirs", into="ours").conflicts
    assert cells(found) == [((1,), "update/update", "a", 10, 11, 12)]
    assert whole(found) == [("u", "drop/update", None)]
    assert [(v["table"], v["name"]) for v in found.violations] == [("w", "small")]
    assert found.count() == 3


def test_a_preview_of_several_sources(repo: ab.Repository) -> None:
    fork(repo, make_t, put(1, a=11), put(2, a=21))
    seen = repo.preview(["ours", "theirs"], into="main")
    assert [row["a"] for row in seen.table("t").rows()] == [11, 21, 30]


def test_a_preview_follows_rules_and_strictness(repo: ab.Repository) -> None:
    fork(repo, make_t, put(1, a=11), put(1, a=12))
    seen = repo.preview("theirs", into="ours", rules={"t.a": "sum"})
    assert (bool(seen.conflicts), [row["a"] for row in seen.table("t").rows()]) == (False, [13, 20, 30])
    fork_again = repo.preview("theirs", into="ours", strictness="table")
    assert whole(fork_again.conflicts) == [("t", "update/update", None)]


def test_a_preview_of_a_fast_forward_is_the_source(duck: ab.Repository) -> None:
    fork(duck, make_t, nothing, put(1, a=11))
    duck.branch("behind", at="main")
    assert duck.preview("theirs", into="behind").ref == duck.show("theirs").hash
    assert duck.preview("main", into="ours").ref == duck.show("ours").hash


def test_what_was_previewed_can_be_merged(repo: ab.Repository) -> None:
    fork(repo, make_t, put(1, a=11), put(2, a=21))
    seen = repo.preview("theirs", into="ours")
    repo.merge("theirs", into="ours")
    assert repo.diff(seen.ref, "ours").tables == ()


def test_a_preview_of_what_makes_no_sense_leaves_no_branch(duck: ab.Repository) -> None:
    fork(duck, make_t, put(1, a=11), put(2, a=21))
    before = shown(duck)
    with pytest.raises(ab.InvalidRequest, match="has no column 'b'"):
        duck.preview("theirs", into="ours", rules={"t.b": "ours"})
    assert shown(duck) == before


def test_a_preview_is_not_in_the_branchs_history(duck: ab.Repository) -> None:
    fork(duck, make_t, put(1, a=11), put(2, a=21))
    moves, told = len(duck.reflog("ours")), len(duck.log("ours"))
    duck.preview("theirs", into="ours")
    assert (len(duck.reflog("ours")), len(duck.log("ours"))) == (moves, told)
    assert act(duck, "ours", put(3, a=31)).id == f"ours/{told}"
