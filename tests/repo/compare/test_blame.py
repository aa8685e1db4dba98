"""blame: the commit that last changed each row and cell, held to the states of all commits and their parents."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from typing import Any

import pytest

import anabranch as ab
from tests.repo.graphs import COLUMNS, cell_commit, grown

ROWS = [{"id": i, "qty": i, "note": None} for i in range(4)]
SCHEMA = {"id": "int", "qty": "int", "note": "string"}


@pytest.fixture
def shop(repo: ab.Repository) -> ab.Repository:
    with repo.commit("main", "make") as tx:
        tx.create_table("orders", ROWS, schema=SCHEMA, key="id")
    with repo.commit("main", "update", author="bob") as tx:
        tx.table("orders").update({"qty": "qty + 10"}, where="id >= 2")
    with repo.commit("main", "delete") as tx:
        tx.table("orders").delete(where="id = 3")
    with repo.commit("main", "again") as tx:
        tx.table("orders").insert([{"id": 3, "qty": 7, "note": "again"}])
    return repo


def rows(blame: Any) -> dict[int, str]:
    return {e.key["id"]: e.commit.message for e in blame}


def cells(blame: Any, key: int) -> dict[str, str]:
    (entry,) = [e for e in blame if e.key["id"] == key]
    return {name: commit.message for name, commit in entry.cells.items()}


def test_each_row_has_the_commit_that_changed_it_last(shop: ab.Repository) -> None:
    assert rows(shop.blame("orders")) == {0: "make", 1: "make", 2: "update", 3: "again"}
    assert rows(shop.blame("orders", at="main~2")) == {0: "make", 1: "make", 2: "update", 3: "update"}
    entry = shop.blame("orders").rows()[2]
    assert (entry.row, entry.commit, entry.cells) == ({"id": 2, "qty": 12, "note": None}, shop.show("main~2"), {})


def test_each_cell_has_the_commit_that_changed_it_last(shop: ab.Repository) -> None:
    blame = shop.blame("orders", cells=True)
    assert cells(blame, 1) == {"id": "make", "qty": "make", "note": "make"}
    assert cells(blame, 2) == {"id": "make", "qty": "update", "note": "make"}
    assert cells(blame, 3) == {"id": "again", "qty": "again", "note": "again"}


def test_one_key_and_rows_that_meet_a_condition(shop: ab.Repository) -> None:
    assert rows(shop.blame("orders", key=2)) == {2: "update"}
    assert rows(shop.blame("orders", key=77)) == {}
    assert rows(shop.blame("orders", where="qty < :q", args={"q": 2})) == {0: "make", 1: "make"}
    assert cells(shop.blame("orders", key={"id": 2}, cells=True), 2)["qty"] == "update"
    with pytest.raises(ab.NotFound):
        shop.blame("orders", where="nope = 1").rows()


def test_as_tables(shop: ab.Repository) -> None:
    found = shop.blame("orders").arrow()
    told = ["_commit_hash", "_commit_version", "_commit_author", "_commit_timestamp", "_commit_message"]
    assert found.column_names == ["id", *told]
    update = shop.show("main~2")
    said = (update.hash, update.id, "bob", update.finished_at, "update")
    assert found.to_pylist()[2] == {"id": 2, **dict(zip(told, said, strict=True))}
    by_cell = shop.blame("orders", cells=True).arrow()
    assert by_cell.column_names == ["id", "_column", *told]
    assert [(r["id"], r["_column"], r["_commit_message"]) for r in by_cell.to_pylist()[6:9]] == [
        (2, "id", "make"),
        (2, "qty", "update"),
        (2, "note", "make"),
    ]
    assert len(shop.blame("orders").pandas()) == 4
    if shop._ctx.engines.setting == "spark":
        frame = shop.blame("orders", cells=True).spark()
        makers = [(r["id"], r["_column"], r["_commit_hash"]) for r in by_cell.to_pylist()]
        assert sorted(tuple(r) for r in frame.select("id", "_column", "_commit_hash").collect()) == sorted(makers)
        assert dict(frame.dtypes)["_commit_timestamp"] == "timestamp"


def test_renames_new_columns_dropped_columns_and_wider_types(shop: ab.Repository) -> None:
    with shop.commit("main", "shape") as tx:
        tx.create_namespace("sales")
        table = tx.table("orders")
        table.rename_column("qty", "select")
        table.alter_column("select", type="bigint")
        table.add_column("price", "int", default="7")
        table.rename("sales.orders")
    with shop.commit("main", "price") as tx:
        tx.table("sales.orders").update({"price": 8}, where="id = 2")
        tx.table("sales.orders").insert([{"id": 9, "select": 1}])
    with shop.commit("main", "drop") as tx:
        tx.table("sales.orders").drop_column("note")
    blame = shop.blame("sales.orders", cells=True)
    assert rows(blame) == {0: "make", 1: "make", 2: "price", 3: "again", 9: "price"}
    assert cells(blame, 0) == {"id": "make", "select": "make", "price": "shape"}
    assert cells(blame, 2) == {"id": "make", "select": "update", "price": "price"}
    assert cells(blame, 9) == {"id": "price", "select": "price", "price": "price"}


def test_a_merge_is_named_only_where_it_decided(shop: ab.Repository) -> None:
    shop.branch("dev")
    with shop.commit("dev", "theirs") as tx:
        tx.table("orders").update({"qty": "qty + 100"}, where="id < 3")
        tx.table("orders").add_column("extra", "int", default="1")
    with shop.commit("main", "ours") as tx:
        tx.table("orders").update({"qty": "qty + 1000"}, where="id = 1")
        tx.table("orders").update({"note": "'ours'"}, where="id = 0")
    shop.merge("dev", into="main", message="merge", rules={"orders.qty": "sum"})
    blame = shop.blame("orders", cells=True)
    assert rows(blame) == {0: "ours", 1: "merge", 2: "theirs", 3: "again"}
    assert cells(blame, 0) == {"id": "make", "qty": "theirs", "note": "ours", "extra": "theirs"}
    assert cells(blame, 1) == {"id": "make", "qty": "merge", "note": "make", "extra": "theirs"}
    assert cells(blame, 2) == {"id": "make", "qty": "theirs", "note": "make", "extra": "theirs"}
    assert rows(shop.blame("orders", key=1)) == {1: "merge"}
    assert rows(shop.blame("orders")) == rows(blame)


def test_a_table_that_a_merge_brought_has_its_own_past(repo: ab.Repository) -> None:
    repo.branch("dev")
    with repo.commit("dev", "make") as tx:
        tx.create_table("t", ROWS, schema=SCHEMA, key="id")
    with repo.commit("dev", "change") as tx:
        tx.table("t").update({"qty": 50}, where="id = 1")
    repo.optimize("t", on="dev")
    with repo.commit("main", "other") as tx:
        tx.create_table("u", ROWS, schema=SCHEMA, key="id")
    repo.merge("dev", into="main", message="merge")
    assert rows(repo.blame("t")) == {0: "make", 1: "change", 2: "make", 3: "make"}
    assert cells(repo.blame("t", cells=True), 1) == {"id": "make", "qty": "change", "note": "make"}


def test_several_branches_that_were_merged_at_once_are_told_apart(shop: ab.Repository) -> None:
    for n, name in enumerate(("one", "two")):
        shop.branch(name)
        with shop.commit(name, name) as tx:
            tx.table("orders").update({"qty": 50 + n}, where="id = :n", args={"n": n})
    with shop.commit("main", "beside") as tx:
        tx.table("orders").update({"note": "'x'"}, where="id = 2")
    shop.merge(["one", "two"], into="main", message="both")
    assert rows(shop.blame("orders")) == {0: "one", 1: "two", 2: "beside", 3: "again"}


def test_a_squash_is_named_because_its_source_is_no_ancestor(shop: ab.Repository) -> None:
    shop.branch("dev")
    with shop.commit("dev", "theirs") as tx:
        tx.table("orders").update({"qty": 100}, where="id = 0")
    with shop.commit("main", "ours") as tx:
        tx.table("orders").update({"qty": 5}, where="id = 1")
    shop.merge("dev", into="main", message="squash", mode="squash")
    assert rows(shop.blame("orders")) == {0: "squash", 1: "ours", 2: "update", 3: "again"}


def test_another_key_changes_no_row(shop: ab.Repository) -> None:
    with shop.commit("main", "key") as tx:
        tx.table("orders").set_key(["id", "qty"])
    with shop.commit("main", "later") as tx:
        tx.table("orders").update({"note": "'x'"}, where="id = 1")
    blame = shop.blame("orders", cells=True)
    assert rows(blame) == {0: "make", 1: "later", 2: "update", 3: "again"}
    assert cells(blame, 2) == {"id": "make", "qty": "update", "note": "make"}
    assert rows(shop.blame("orders", key={"id": 2, "qty": 12})) == {2: "update"}


def test_no_key_changes_no_row(shop: ab.Repository) -> None:
    def told() -> dict[int, tuple[str, dict[str, str]]]:
        found = shop.blame("orders", cells=True).rows()
        return {e.row["id"]: (e.commit.message, {n: c.message for n, c in e.cells.items()}) for e in found}

    before = told()
    with shop.commit("main", "no key") as tx:
        tx.table("orders").set_key(None)
    assert told() == before
    with shop.commit("main", "later") as tx:
        tx.table("orders").update({"note": "'x'"}, where="id = 1")
    with shop.commit("main", "key") as tx:
        tx.table("orders").set_key("id")
    assert told() == {**before, 1: ("later", {**before[1][1], "note": "later"})}


@pytest.mark.parametrize("how", ["revert", "restore"])
def test_a_table_that_comes_back_is_blamed_as_before(shop: ab.Repository, how: str) -> None:
    with shop.commit("main", "column") as tx:
        tx.table("orders").add_column("n", "int", default=5)
    with shop.commit("main", "fill") as tx:
        tx.table("orders").update({"n": 6}, where="id = 1")
    before = shop.blame("orders", cells=True).rows()
    with shop.commit("main", "drop") as tx:
        tx.table("orders").drop()
    shop.revert("main") if how == "revert" else shop.restore("orders", to="main~1")
    assert shop.blame("orders", cells=True).rows() == before
    assert shop.blame("orders", cells=True, key=1).rows() == before[1:2]
    with shop.commit("main", "later") as tx:
        tx.table("orders").update({"qty": 9}, where="id = 0")
    assert cells(shop.blame("orders", cells=True), 0) == {"id": "make", "qty": "later", "note": "make", "n": "column"}


def test_a_table_that_comes_back_as_it_was_earlier_is_blamed_so(shop: ab.Repository) -> None:
    with shop.commit("main", "drop") as tx:
        tx.table("orders").drop()
    shop.restore("orders", to="main~3")
    assert rows(shop.blame("orders")) == rows(shop.blame("orders", at="main~4"))


def test_views_change_nothing(shop: ab.Repository) -> None:
    before = shop.blame("orders", cells=True).rows()
    shop.optimize("orders")
    assert shop.blame("orders", cells=True).rows() == before


def test_a_table_without_a_key(repo: ab.Repository) -> None:
    with repo.commit("main", "make") as tx:
        tx.create_table("t", [{"a": 1}, {"a": 1}, {"a": None}])
    with repo.commit("main", "change") as tx:
        tx.table("t").update({"a": 2}, where="a IS NULL")
    found = [(e.row["a"], e.commit.message, e.key) for e in repo.blame("t")]
    assert sorted(found, key=repr) == [(1, "make", {}), (1, "make", {}), (2, "change", {})]
    table = repo.blame("t").arrow()
    assert sorted((r["a"], r["_commit_message"]) for r in table.to_pylist()) == [
        (1, "make"),
        (1, "make"),
        (2, "change"),
    ]
    assert {m.message for e in repo.blame("t", cells=True) for m in e.cells.values()} == {"make", "change"}
    with pytest.raises(ab.InvalidRequest, match="no key"):
        repo.blame("t", cells=True).arrow()
    with pytest.raises(ab.InvalidRequest, match="no key"):
        repo.blame("t", key={"a": 1})


def test_an_empty_table(repo: ab.Repository) -> None:
    with repo.commit("main", "make") as tx:
        tx.create_table("t", schema={"id": "int", "a": "int"}, key="id")
    assert repo.blame("t").rows() == []
    assert repo.blame("t", cells=True).arrow().num_rows == 0


def test_a_key_with_a_name_that_blame_adds_is_refused(repo: ab.Repository) -> None:
    with repo.commit("main", "make") as tx:
        tx.create_table("t", [{"_commit_hash": 1, "_change_type": "x"}], key="_commit_hash")
    assert [e.row for e in repo.blame("t")] == [{"_commit_hash": 1, "_change_type": "x"}]
    with pytest.raises(ab.InvalidRequest, match="_commit_hash"):
        repo.blame("t").arrow()


def newest(commits: Iterable[ab.Commit]) -> ab.Commit:
    return max(commits, key=lambda c: c.finished_at)


@pytest.mark.parametrize("others", [("dev",), ("dev", "qa")], ids=["two branches", "three branches"])
@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(n, marks=pytest.mark.more) for n in (2, 3, 4, 5))])
def test_row_blame_cell_blame_and_history_agree_in_random_histories(
    duck: ab.Repository, seed: int, others: tuple[str, ...]
) -> None:
    graph = grown(duck, random.Random(seed), others)
    of_rows = {e.key["id"]: e.commit for e in duck.blame("t")}
    for entry in duck.blame("t", cells=True):
        key = entry.key["id"]
        told = {c: entry.cells[c].hash for c in COLUMNS}
        assert told == {c: cell_commit(graph, graph.head, key, c) for c in COLUMNS}
        assert entry.commit == of_rows[key] == newest(entry.cells.values())
        assert [e.commit for e in duck.blame("t", key=key)] == [entry.commit]
        past = {e.commit.hash: e for e in duck.history("t", key)}
        for column, commit in entry.cells.items():
            did = past[commit.hash]
            assert did.after is not None
            assert did.after[column] == entry.row[column]
            assert did.change == "insert" or column in did.columns
        for did in past.values():  # What is newer than the row was given up in a merge.
            lost = did.after is None or any(did.after[c] != entry.row[c] for c in did.columns or COLUMNS)
            assert did.commit.finished_at <= entry.commit.finished_at or lost


@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.more) for n in (1, 2))])
def test_the_commit_of_a_row_is_the_first_of_its_history_where_merges_lost_nothing(
    duck: ab.Repository, seed: int
) -> None:
    """One branch writes one column, the other another, at random; they are merged now and then, either way."""
    chance = random.Random(seed)
    with duck.commit("main", "make") as tx:
        tx.create_table("t", [{"id": i, "a": 0, "b": 0} for i in range(4)], key="id")
    duck.branch("dev")
    for n in range(12):
        branch, other, column = chance.choice([("main", "dev", "a"), ("dev", "main", "b")])
        with duck.commit(branch, f"set {n}") as tx:
            tx.table("t").update({column: n + 1}, where="id >= :k", args={"k": chance.randrange(4)})
        if chance.random() < 0.3:
            duck.merge(other, into=branch)
    duck.merge("dev", into="main")
    cells = {e.key["id"]: e for e in duck.blame("t", cells=True)}
    for entry in duck.blame("t"):
        key = entry.key["id"]
        assert entry.commit == cells[key].commit == newest(cells[key].cells.values())
        assert entry.commit == duck.history("t", key, limit=1)[0].commit


def test_changes_of_columns_that_are_gone_and_defaults_of_new_ones_change_no_row(shop: ab.Repository) -> None:
    with shop.commit("main", "both") as tx:
        tx.table("orders").update({"qty": "qty + 1", "note": "'x'"}, where="id = 0")
    with shop.commit("main", "notes") as tx:
        tx.table("orders").update({"note": "concat(coalesce(note, ''), '!')"})
    with shop.commit("main", "columns") as tx:
        tx.table("orders").drop_column("note")
        tx.table("orders").add_column("price", "int", default="7")
    expected = {0: "both", 1: "make", 2: "update", 3: "again"}
    assert rows(shop.blame("orders")) == rows(shop.blame("orders", cells=True)) == expected


def test_a_change_that_a_merge_gave_up_does_not_count(shop: ab.Repository) -> None:
    shop.branch("dev")
    with shop.commit("dev", "theirs") as tx:
        tx.table("orders").update({"qty": 70}, where="id <= 1")
    with shop.commit("main", "ours") as tx:
        tx.table("orders").update({"qty": 80}, where="id <= 1")
        tx.table("orders").update({"note": "'ours'"}, where="id = 1")
    shop.merge("dev", into="main", message="merge", rules={"*": "theirs"})
    blame = shop.blame("orders", cells=True)
    assert cells(blame, 0)["qty"] == cells(blame, 1)["qty"] == "theirs"
    assert rows(blame) == rows(shop.blame("orders")) == {0: "theirs", 1: "ours", 2: "update", 3: "again"}


def test_what_a_merge_brought_on_is_followed_through_the_next_one(shop: ab.Repository) -> None:
    for name in ("dev", "qa"):
        shop.branch(name)
    with shop.commit("qa", "first") as tx:
        tx.table("orders").update({"qty": "qty + 100", "note": "'qa'"}, where="id <= 2")
    with shop.commit("dev", "second") as tx:
        tx.table("orders").update({"qty": 7}, where="id = 1")
    shop.merge("qa", into="dev", message="inner", rules={"*": "ours"})
    with shop.commit("main", "beside") as tx:
        tx.table("orders").update({"qty": 8}, where="id = 3")
    shop.merge("dev", into="main", message="outer")
    blame = shop.blame("orders", cells=True)
    assert cells(blame, 1) == {"id": "make", "qty": "second", "note": "first"}
    assert rows(blame) == rows(shop.blame("orders")) == {0: "first", 1: "second", 2: "first", 3: "beside"}


def test_branches_that_merge_each_other_often_are_told_in_as_many_steps(
    duck: ab.Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    with duck.commit("main", "make") as tx:
        tx.create_table("t", [{"id": 1, "a": 0}], key="id")
    duck.branch("dev")
    asked: list[int] = []
    for n in range(8):
        for branch in ("main", "dev"):
            with duck.commit(branch, f"{branch} {n}") as tx:
                tx.table("t").update({"a": 10 * n + 1 + (branch == "dev")})
        into, source = ("main", "dev") if n % 2 else ("dev", "main")
        duck.merge(source, into=into, rules={"*": "theirs"})
        count = counted(duck, monkeypatch)
        (entry,) = duck.blame("t", at=into)
        asked.append(count())
        assert entry.commit.message == f"{source} {n}"
    assert asked[-1] - asked[-2] <= asked[2] - asked[1] + 2


def counted(repo: ab.Repository, monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Count what is asked of the engine from here on."""
    engine, queries = repo._ctx.engines.duck(), []
    fetch = type(engine).fetch
    monkeypatch.setattr(engine, "fetch", lambda query: queries.append(query) or fetch(engine, query))
    return lambda: len(queries)
