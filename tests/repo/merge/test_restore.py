"""Restores: a table with the columns and rows that it had at a ref."""

from __future__ import annotations

from typing import Any

import pytest

import anabranch as ab
from tests.repo.merge.merge_cases import Act, act, both, make_t, rows


def put(id_: int, **values: Any) -> Act:
    return lambda tx: tx.table("t").upsert([{"id": id_, **values}])


def t(method: str, *args: Any, **named: Any) -> Act:
    return lambda tx: getattr(tx.table("t"), method)(*args, **named)


OLD = [(1, 10, "x"), (2, 20, "y"), (3, 30, "z")]
CHANGES: dict[str, tuple[Act, ...]] = {
    "rows": (put(1, a=11), put(4, a=4), t("delete", where="id = 2")),
    "all rows": (t("overwrite", [{"id": 9, "a": 9, "s": "n"}]),),
    "dropped": (t("drop"),),
    "changed, then dropped": (put(1, a=11), t("drop")),
    "a column added": (t("add_column", "n", "int", default=5), put(4, a=4, n=1)),
    "a column dropped": (t("drop_column", "a"), put(4, s="q")),
    "a column dropped and made again": (t("drop_column", "a"), t("add_column", "a", "string")),
    "a column renamed": (t("rename_column", "a", "b"), t("update", {"b": 0})),
    "a column widened": (t("alter_column", "a", type="bigint"), put(1, a=2**40)),
    "another key": (t("set_key", "s"), t("update", {"id": 5}, where="s = 'x'")),
    "no key": (t("set_key", None), t("insert", [{"id": 1, "a": 0, "s": "x"}])),
    "a check": (t("add_check", "small", "a < 100"),),
    "properties": (t("set_properties", {"p": "1"}),),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_table_is_given_back_what_it_had(duck: ab.Repository, what: str) -> None:
    check(duck, what)


@pytest.mark.parametrize("what", ["rows", "a column dropped", "another key", "changed, then dropped"])
def test_a_table_is_given_back_what_it_had_on_both_engines(repo: ab.Repository, what: str) -> None:
    check(repo, what)


def check(repo: ab.Repository, what: str) -> None:
    act(repo, "main", make_t)
    repo.tag("v1")
    act(repo, "main", *CHANGES[what])
    made = repo.restore("t", to="v1")
    assert made is not None
    assert made.message == "restore t to v1"
    then, now = repo.table("t", at="v1"), repo.table("t")
    assert rows(repo, "main") == OLD
    assert [(c.name, str(c.type), c.nullable) for c in now.schema] == [
        (c.name, str(c.type), c.nullable) for c in then.schema
    ]
    assert (now.key, now.properties, now.count()) == (then.key, then.properties, 3)
    assert now._state.attributes.get("checks", {}) == {}
    assert repo.restore("t", to="v1") is None
    act(repo, "main", put(7, a=7, s="later"))
    assert rows(repo, "main") == [*OLD, (7, 7, "later")]
    assert [r["change"] for r in repo.diff("v1", "main")["t"].rows()] == ["insert"]


def test_a_restored_table_is_the_same_table_for_merges(repo: ab.Repository) -> None:
    act(repo, "main", make_t)
    repo.tag("v1")
    repo.branch("dev")
    act(repo, "main", put(1, a=11), put(2, a=21))
    repo.restore("t", to="v1", on="main")
    act(repo, "dev", put(3, a=31))
    repo.merge("dev", into="main")
    assert [row[1] for row in rows(repo, "main")] == [10, 20, 31]


def test_a_renamed_table_keeps_its_new_name(repo: ab.Repository) -> None:
    act(repo, "main", make_t)
    repo.tag("v1")
    act(repo, "main", put(1, a=11), t("rename", "v"))
    repo.restore("t", to="v1")
    assert [e.name for e in repo.tables()] == ["v"]
    assert rows(repo, "main", "v") == OLD


def test_other_tables_stay_as_they_are(duck: ab.Repository) -> None:
    act(duck, "main", make_t, lambda tx: tx.create_table("u", [{"id": 1}], key="id"))
    duck.tag("v1")
    act(duck, "main", put(1, a=11), lambda tx: tx.table("u").insert([{"id": 2}]))
    duck.restore("t", to="v1", message="back", author="bob")
    assert rows(duck, "main", "u") == [(1,), (2,)]
    assert (duck.show().message, duck.show().author) == ("back", "bob")


def test_a_table_of_another_branch_can_be_restored(repo: ab.Repository) -> None:
    act(repo, "main", make_t)
    repo.branch("dev")
    act(repo, "dev", put(1, a=11), t("add_column", "n", "int"))
    repo.restore("t", to="dev", on="main")
    assert rows(repo, "main")[0] == (1, 11, "x", None)


def test_a_dropped_table_whose_name_is_taken_is_refused(duck: ab.Repository) -> None:
    act(duck, "main", make_t)
    duck.tag("v1")
    act(duck, "main", t("drop"), make_t)
    with pytest.raises(ab.AlreadyExists, match=r"there is another table or namespace 't' .rename or drop"):
        duck.restore("t", to="v1")


def test_a_dropped_table_whose_namespace_is_gone_is_refused(duck: ab.Repository) -> None:
    act(
        duck,
        "main",
        both(lambda tx: tx.create_namespace("n"), lambda tx: tx.create_table("n.t", [{"id": 1}], key="id")),
    )
    duck.tag("v1")
    act(duck, "main", both(lambda tx: tx.table("n.t").drop(), lambda tx: tx.drop_namespace("n")))
    with pytest.raises(ab.NotFound, match=r"the namespace of 'n.t' is not there any more"):
        duck.restore("n.t", to="v1")


def test_unknown_tables_and_refs_are_refused(duck: ab.Repository) -> None:
    act(duck, "main", make_t)
    with pytest.raises(ab.NotFound, match="orders"):
        duck.restore("orders", to="main")
    with pytest.raises(ab.NotFound, match="v9"):
        duck.restore("t", to="v9")


def test_a_restore_onto_a_branch_that_moves_meanwhile_is_planned_again(
    duck: ab.Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    from anabranch.repo.merge.publish import publish_content

    act(duck, "main", make_t)
    duck.tag("v1")
    act(duck, "main", put(1, a=11))
    done: list[ab.Commit] = []

    def beside(*args: Any, **named: Any) -> Any:
        if not done:
            done.append(act(duck, "main", put(2, a=21)))
        return publish_content(*args, **named)

    monkeypatch.setattr("anabranch.repo.merge.restore.publish_content", beside)
    duck.restore("t", to="v1")
    assert rows(duck, "main") == OLD


def test_the_past_of_a_table_whose_types_became_narrow_again_is_told_with_the_values_it_had(
    repo: ab.Repository,
) -> None:
    with repo.commit("main", "make") as tx:
        tx.create_table("t", [{"id": 1, "v": 1}, {"id": 2, "v": 1}], key="id", schema={"id": "int", "v": "int"})
    repo.tag("narrow")
    with repo.commit("main", "widen") as tx:
        tx.table("t").alter_column("v", type="double")
        tx.table("t").upsert([{"id": 1, "v": 1.25}, {"id": 3, "v": float("inf")}])
    repo.restore("t", "narrow")
    assert str(repo.table("t").schema.column("v").type) == "int"
    told = [(r["id"], r["v"], r["_change_type"]) for r in repo.changes("t", "narrow", "main").rows()]
    assert sorted(told[3:]) == [
        (1, 1.0, "update_postimage"),
        (1, 1.25, "update_preimage"),
        (3, float("inf"), "delete"),
    ]
    assert [(h.change, h.before, h.after) for h in repo.history("t", 1)][:2] == [
        ("update", {"id": 1, "v": 1.25}, {"id": 1, "v": 1.0}),
        ("update", {"id": 1, "v": 1.0}, {"id": 1, "v": 1.25}),
    ]
    assert [h.change for h in repo.history("t", 3)] == ["delete", "insert"]
    assert [(b.key, b.row) for b in repo.blame("t").rows()] == [({"id": i}, {"id": i, "v": 1}) for i in (1, 2)]
