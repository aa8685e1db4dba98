"""What is staged differs from its parent as the commit that comes of it does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import anabranch as ab
from anabranch.repo.commit.open_commit import OpenCommit
from anabranch.repo.compare.table_diff import Diff


def keyless(work: OpenCommit) -> None:
    table = work.table("bag")
    table.delete(where="a = 1")
    table.insert([{"a": 5}])
    table.update({"a": "a + 1"}, where="a = 2")


def moved_keys(work: OpenCommit) -> None:
    work.table("t").update({"id": "id + 100"}, where="id < 3")
    work.table("t").update({"a": 7}, where="id = 101")


def gone_and_back(work: OpenCommit) -> None:
    work.table("t").delete(where="id = 5")
    work.table("t").insert([{"id": 5, "a": 5, "b": "x"}, {"id": 500, "a": 5, "b": "x"}])


def another_key(work: OpenCommit) -> None:
    work.table("t").set_key(["id", "a"])
    work.table("t").update({"b": "'z'"}, where="id = 7")


def overwritten(work: OpenCommit) -> None:
    work.table("t").overwrite([{"id": i, "a": i, "b": "q"} for i in range(5, 10)])


def columns(work: OpenCommit) -> None:
    table = work.table("t")
    table.add_column("c", "int", default="3")
    table.insert([{"id": 900, "a": 1, "b": "n"}])
    table.update({"c": 4}, where="id = 6")
    table.rename_column("b", "bb")


def lost_cells(work: OpenCommit) -> None:
    work.table("t").update({"b": "'lost'"}, where="id = 6")
    work.table("t").drop_column("b")


def namespaces(work: OpenCommit) -> None:
    work.drop_namespace("s", cascade=True)
    work.create_namespace("r")
    work.table("t").rename("r.t")


def moved_namespace(work: OpenCommit) -> None:
    work.table("s.t").insert([{"id": 7}])
    work.rename_namespace("s", "r")
    work.table("r.u").insert([{"id": 8}])


def moved_with_what_is_in_it(work: OpenCommit) -> None:
    work.rename_namespace("s", "r")


def made(work: OpenCommit) -> None:
    work.create_table("new", [{"id": 1}], key="id")
    work.table("new").insert([{"id": 2}])
    work.table("new").update({"id": "id + 5"})


def told(diff: Diff) -> dict[str, Any]:
    tables = {t.name: (t.change, t.renamed_from, t.schema, t.counts(), sorted(map(repr, t.rows()))) for t in diff}
    return {"tables": tables, "namespaces": diff.namespaces}


WRITES = [
    keyless,
    moved_keys,
    gone_and_back,
    another_key,
    overwritten,
    columns,
    lost_cells,
    namespaces,
    moved_namespace,
    moved_with_what_is_in_it,
    made,
]


@pytest.mark.parametrize("write", WRITES)
def test_what_is_staged_differs_as_its_commit_does(duck: ab.Repository, write: Callable[[OpenCommit], None]) -> None:
    with duck.commit("main", "load") as tx:
        tx.create_table("t", [{"id": i, "a": i, "b": "x"} for i in range(20)], key="id")
        tx.create_table("bag", [{"a": i % 3} for i in range(10)])
        tx.create_namespace("s")
        tx.create_table("s.t", [{"id": 1}], key="id")
        tx.create_table("s.u", [{"id": 1}], key="id")
    work = duck.start("main", message="staged", working=True)
    write(work)
    here, again = told(work.diff()), duck.working_set("main")
    assert again is not None
    assert here == told(again.diff())
    work.finish()
    assert here == told(duck.diff("main~1", "main"))
    assert here["tables"]


@pytest.mark.parametrize("write", WRITES)
def test_what_is_staged_differs_from_any_commit_as_its_own_does(
    duck: ab.Repository, write: Callable[[OpenCommit], None]
) -> None:
    with duck.commit("main", "load") as tx:
        tx.create_table("t", [{"id": i, "a": i, "b": "x"} for i in range(20)], key="id")
        tx.create_table("bag", [{"a": i % 3} for i in range(10)])
        tx.create_namespace("s")
        tx.create_table("s.t", [{"id": 1}], key="id")
        tx.create_table("s.u", [{"id": 1}], key="id")
    duck.branch("side")
    with duck.commit("side", "others") as tx:
        tx.table("t").update({"a": 70, "b": "'side'"}, where="id IN (1, 7)")
        tx.table("t").delete(where="id = 6")
        tx.create_table("theirs", [{"id": 1}], key="id")
    with duck.commit("main", "more") as tx:
        tx.table("t").update({"a": 0}, where="id IN (5, 7)")
        tx.table("t").insert([{"id": 20, "a": 0, "b": "y"}])
        tx.create_table("ours", [{"id": 1}], key="id")
    work = duck.start("main", message="staged", working=True)
    write(work)
    refs = {"main": "main~1", "main~1": "main~2", "main~2": "main~3", "side": "side"}
    staged = {later: told(work.diff(now)) for now, later in refs.items()}
    assert staged["main~1"] == told(work.diff())
    work.finish()
    assert staged == {later: told(duck.diff(later, "main")) for later in refs.values()}


def test_a_table_that_is_as_it_was_may_be_asked_for(duck: ab.Repository) -> None:
    with duck.commit("main", "load") as tx:
        tx.create_table("t", [{"id": 1, "a": 1}], key="id")
        tx.create_table("same", [{"id": 1}], key="id")
    with duck.commit("main", "more") as tx:
        tx.table("t").update({"a": 2})
    work = duck.start("main", message="staged")
    work.table("t").update({"a": 1})
    found = work.diff("main~1")
    assert (found.tables, found["same"].rows(), found["t"].rows()) == ((), [], [])
    assert [t.name for t in found.candidates] == ["t"]
    with pytest.raises(ab.NotFound):
        work.diff("nowhere")


def test_what_changes_nothing_does_not_differ(duck: ab.Repository) -> None:
    with duck.commit("main", "load") as tx:
        tx.create_table("t", [{"id": 1, "a": 1}], key="id")
    work = duck.start("main", message="staged")
    work.create_table("new", [{"id": 1}], key="id")
    work.drop_table("new")
    work.table("t").update({"a": 2})
    work.table("t").update({"a": 1})
    assert not work.diff()
    assert work.diff()["t"].rows() == []
    with pytest.raises(ab.NotFound):
        work.diff()["nowhere"]
