"""Which tables and columns a diff takes for one: those that a merge would unite, and tables replaced under a name."""

from __future__ import annotations

from typing import Any

import pytest

import anabranch as ab
from anabranch.repo.compare.sql_script import statements
from tests.repo.merge.merge_cases import Act, act, both, fork

OLD = [{"id": 1, "a": 10, "s": "x"}, {"id": 2, "a": 20, "s": "y"}, {"id": 3, "a": 30, "s": "z"}]
NEW = [{"id": 1, "a": 10, "s": "x"}, {"id": 2, "a": 21, "s": "y"}, {"id": 4, "a": 40, "s": "q"}]
SCHEMA = {"id": "int", "a": "int", "s": "string"}


def make(rows: list[dict[str, Any]], key: str | None = "id", schema: Any = SCHEMA) -> Act:
    return lambda tx: tx.create_table("t", rows, key=key, schema=schema)


def drop(tx: Any) -> None:
    tx.table("t").drop()


def t(method: str, *args: Any, **named: Any) -> Act:
    return lambda tx: getattr(tx.table("t"), method)(*args, **named)


def told(diff: Any) -> list[tuple[Any, ...]]:
    """The rows of a diff in short, after all of its forms were held to one another."""
    rows = diff.rows()
    counts = {"inserted": "insert", "updated": "update", "deleted": "delete"}
    found: dict[str, int] = {name: sum(r["change"] == word for r in rows) for name, word in counts.items()}
    assert diff.counts() == {**found, "cells": sum(len(r["columns"]) for r in rows)}
    assert diff.is_empty == (not rows and not diff.schema)
    long = [r["_change_type"] for r in diff.arrow().to_pylist()]
    assert sorted(w.removesuffix("_postimage") for w in long if w != "update_preimage") == sorted(
        r["change"] for r in rows
    )
    assert [(c["key"], c["column"]) for c in diff.cells()] == [(r["key"], name) for r in rows for name in r["columns"]]
    assert [r["_change_type"] for r in diff.wide().to_pylist()] == [r["change"] for r in rows]
    return [(r["change"], r["before"], r["after"], r["columns"]) for r in rows]


# --- tables ---

REPLACED = [
    ("update", {"id": 2, "a": 20, "s": "y"}, {"id": 2, "a": 21, "s": "y"}, ["a"]),
    ("delete", {"id": 3, "a": 30, "s": "z"}, None, []),
    ("insert", None, {"id": 4, "a": 40, "s": "q"}, []),
]


@pytest.mark.parametrize("commits", [1, 2])
def test_a_table_replaced_under_its_name_is_compared_by_key(repo: ab.Repository, commits: int) -> None:
    act(repo, "main", make(OLD))
    repo.tag("before")
    act(repo, "main", *([both(drop, make(NEW))] if commits == 1 else [drop, make(NEW)]))
    found = repo.diff("before", "main")
    assert [(one.name, one.change, one.schema) for one in found] == [("t", "changed", ())]
    assert told(found["t"]) == REPLACED
    assert found.counts() == {"t": found["t"].counts()}
    assert told(repo.diff("main", "before")["t"])[0] == ("update", REPLACED[0][2], REPLACED[0][1], ["a"])
    as_sql = repo.sql("SELECT id, a, _change_type FROM ana.diff('t', 'before', 'main') ORDER BY id, a").rows()
    assert [tuple(r.values()) for r in as_sql] == [
        (2, 20, "update_preimage"),
        (2, 21, "update_postimage"),
        (3, 30, "delete"),
        (4, 40, "insert"),
    ]
    assert [r["after"] for r in found["t"].rows(where="a > 30")] == [NEW[2]]
    assert [r["change"] for r in found["t"].rows(key=3)] == ["delete"]


def test_a_table_made_anew_with_the_same_rows_is_no_difference(repo: ab.Repository) -> None:
    act(repo, "main", make(OLD))
    repo.tag("before")
    act(repo, "main", both(drop, make(OLD)))
    assert not repo.diff("before", "main")
    assert told(repo.diff("before", "main")["t"]) == []


def test_create_or_replace_as_select_is_told_as_rows_that_came_and_went(repo: ab.Repository) -> None:
    act(repo, "main", make(OLD, key=None))
    repo.tag("before")
    repo.sql("CREATE OR REPLACE TABLE t AS SELECT id, a + 1 AS a, s FROM t WHERE id > 1")
    repo.sql("INSERT INTO t VALUES (1, 10, 'x')")
    found = repo.diff("before", "main")["t"]
    assert sorted(told(found), key=repr) == [
        ("delete", {"id": 2, "a": 20, "s": "y"}, None, []),
        ("delete", {"id": 3, "a": 30, "s": "z"}, None, []),
        ("insert", None, {"id": 2, "a": 21, "s": "y"}, []),
        ("insert", None, {"id": 3, "a": 31, "s": "z"}, []),
    ]


@pytest.mark.parametrize(("old", "new"), [("id", None), (None, "id"), ("id", "s")])
def test_under_another_key_rows_of_a_replaced_table_came_and_went(
    duck: ab.Repository, old: str | None, new: str | None
) -> None:
    act(duck, "main", make(OLD, key=old))
    duck.tag("before")
    act(duck, "main", both(drop, make(NEW, key=new)))
    found = duck.diff("before", "main")["t"]
    assert sorted(told(found), key=repr) == [
        ("delete", OLD[1], None, []),
        ("delete", OLD[2], None, []),
        ("insert", None, NEW[1], []),
        ("insert", None, NEW[2], []),
    ]
    for chosen in ({"where": "a = 1"}, {"key": 1 if new == "id" else "x"} if new else {"where": "id = 1"}):
        with pytest.raises(ab.InvalidRequest, match="needs a key that both states have"):
            found.rows(**chosen)


def test_columns_of_a_replaced_table_are_compared_by_name(repo: ab.Repository) -> None:
    act(repo, "main", make([{"id": 1, "a": 10, "s": "x"}, {"id": 2, "a": 20, "s": "y"}]))
    act(repo, "main", t("add_column", "n", "int", default=5))
    repo.tag("before")
    rows = [{"n": 5, "id": 1, "a": 10, "s": 1}, {"n": 6, "id": 2, "a": 20, "s": None}]
    act(repo, "main", both(drop, make(rows, schema={"n": "int", "id": "bigint", "a": "bigint", "s": "int"})))
    found = repo.diff("before", "main")["t"]
    assert told(found) == [
        ("update", {"id": 1, "a": 10, "s": "x", "n": 5}, {"n": 5, "id": 1, "a": 10, "s": 1}, ["s"]),
        ("update", {"id": 2, "a": 20, "s": "y", "n": 5}, {"n": 6, "id": 2, "a": 20, "s": None}, ["n"]),
    ]
    assert {(c.change, c.name) for c in found.schema} >= {("drop", "s"), ("add", "s"), ("type", "a"), ("type", "id")}


def test_tables_with_nothing_in_common_are_told_whole(repo: ab.Repository) -> None:
    act(repo, "main", make([{"a": 1}, {"a": 2}], key=None, schema={"a": "int"}))
    repo.tag("before")
    act(repo, "main", both(drop, make([{"x": None}, {"x": "q"}], key=None, schema={"x": "string"})))
    found = repo.diff("before", "main")["t"]
    assert sorted(told(found), key=repr) == [
        ("delete", {"a": 1}, None, []),
        ("delete", {"a": 2}, None, []),
        ("insert", None, {"x": "q"}, []),
        ("insert", None, {"x": None}, []),
    ]
    assert sorted((r["_change_type"], r["a"], r["x"]) for r in found.arrow().to_pylist() if r["a"]) == [
        ("delete", 1, None),
        ("delete", 2, None),
    ]
    assert [c.change for c in found.schema] == ["drop", "add"]


def test_a_table_that_both_branches_made_is_compared(repo: ab.Repository) -> None:
    fork(repo, lambda tx: tx.create_table("other", [{"id": 1}]), make(OLD), make(NEW))
    assert told(repo.diff("ours", "theirs")["t"]) == REPLACED
    assert repo.diff("ours", "theirs").tables == ("t",)
    assert repo.diff("main", "theirs")["t"].change == "added"


def test_a_table_replaced_on_a_branch_is_compared_with_the_old_one_on_another(duck: ab.Repository) -> None:
    fork(duck, make(OLD), t("update", {"a": 11}, where="id = 1"), both(drop, make(NEW)))
    assert [(r[0], (r[1] or r[2])["id"]) for r in told(duck.diff("ours", "theirs")["t"])] == [
        ("update", 1),
        ("update", 2),
        ("delete", 3),
        ("insert", 4),
    ]


def test_what_is_staged_may_replace_a_table(duck: ab.Repository) -> None:
    act(duck, "main", make(OLD))
    with duck.commit("main", "replace") as tx:
        drop(tx)
        make(NEW)(tx)
        assert told(tx.diff()["t"]) == REPLACED


def test_the_old_table_under_another_name_is_the_same_and_the_new_one_is_added(duck: ab.Repository) -> None:
    act(duck, "main", make(OLD))
    duck.tag("before")
    act(duck, "main", both(t("rename", "kept"), make(NEW)))
    found = duck.diff("before", "main")
    assert {(one.name, one.change, one.renamed_from) for one in found} == {
        ("kept", "changed", "t"),
        ("t", "added", None),
    }


# --- columns ---


def add_w(**values: Any) -> Act:
    def run(tx: Any) -> None:
        tx.table("t").add_column("w", "int", default=7)
        for name, value in values.items():
            tx.table("t").update({"w": value}, where="id = :id", args={"id": int(name[1:])})

    return run


def test_a_column_that_both_branches_added_is_one(repo: ab.Repository) -> None:
    fork(repo, make(OLD), add_w(_1=1, _2=2), add_w(_1=1, _3=3))
    found = repo.diff("ours", "theirs")["t"]
    assert found.schema == ()
    assert told(found) == [
        ("update", {**OLD[1], "w": 2}, {**OLD[1], "w": 7}, ["w"]),
        ("update", {**OLD[2], "w": 7}, {**OLD[2], "w": 3}, ["w"]),
    ]
    assert [(c["before"], c["after"]) for c in found.cells()] == [(2, 7), (7, 3)]
    repo.merge("theirs", into="ours", rules={"*": "theirs"})
    assert told(repo.diff("theirs", "ours")["t"]) == [("update", {**OLD[1], "w": 7}, {**OLD[1], "w": 2}, ["w"])]


def test_a_column_that_both_branches_added_under_two_defaults_differs_in_its_values(repo: ab.Repository) -> None:
    fork(repo, make(OLD), add_w(_1=8), t("add_column", "w", "int", default=8))
    found = repo.diff("ours", "theirs")["t"]
    assert [(c.change, c.name, c.before, c.after) for c in found.schema] == [("default", "w", "7", "8")]
    assert told(found) == [("update", {**row, "w": 7}, {**row, "w": 8}, ["w"]) for row in OLD[1:]]
    assert found.counts() == {"inserted": 0, "updated": 2, "deleted": 0, "cells": 2}
    assert [(c["before"], c["after"]) for c in repo.diff("theirs", "ours")["t"].cells()] == [(8, 7), (8, 7)]


def test_a_column_that_both_branches_added_under_two_types_is_one_if_one_holds_the_other(duck: ab.Repository) -> None:
    wide = both(t("add_column", "w", "bigint", default=7), t("update", {"w": 2**40}, where="id = 1"))
    fork(duck, make(OLD), add_w(), wide)
    for sides, values in ((("ours", "theirs"), (7, 2**40)), (("theirs", "ours"), (2**40, 7))):
        found = duck.diff(*sides)["t"]
        assert [c.change for c in found.schema] == ["type"]
        assert [(c["before"], c["after"]) for c in found.cells()] == [values]


def test_columns_that_both_branches_added_under_types_that_do_not_fit_are_two(duck: ab.Repository) -> None:
    fork(duck, make(OLD), add_w(_1=1), t("add_column", "w", "string", default="'8'"))
    found = duck.diff("ours", "theirs")["t"]
    assert [(c.change, c.name) for c in found.schema] == [("drop", "w"), ("add", "w")]
    assert told(found) == []


BROUGHT_BACK: dict[str, Act] = {
    "revert": lambda repo: repo.revert("gone", three_way=True),
    "restore": lambda repo: repo.restore("t", to="before"),
}


@pytest.mark.parametrize("how", BROUGHT_BACK)
def test_a_column_that_was_dropped_and_brought_back_is_as_it_was(repo: ab.Repository, how: str) -> None:
    act(repo, "main", make(OLD))
    repo.tag("before")
    act(repo, "main", t("drop_column", "s"))
    repo.tag("gone")
    BROUGHT_BACK[how](repo)
    found = repo.diff("before", "main")
    assert (found.tables, told(found["t"]), found["t"].schema) == ((), [], ())
    act(repo, "main", t("update", {"s": "'new'"}, where="id = 1"))
    assert told(repo.diff("before", "main")["t"]) == [("update", OLD[0], {**OLD[0], "s": "new"}, ["s"])]
    for one, other in (("gone", "main"), ("main", "gone")):
        there = repo.diff(one, other)["t"]
        assert [(c.change, c.name) for c in there.schema] == [("add" if one == "gone" else "drop", "s")]
        assert len(told(there)) == (3 if one == "gone" else 0)


def test_going_back_to_a_column_that_is_gone_tells_its_cells(repo: ab.Repository) -> None:
    fork(repo, make(OLD), t("drop_column", "s"), t("update", {"a": 11}, where="id = 1"))
    found = repo.diff("ours", "theirs")["t"]
    assert [r[3] for r in told(found)] == [["a", "s"], ["s"], ["s"]]
    assert found.cells()[1] == {"key": {"id": 1}, "column": "s", "before": None, "after": "x"}


# --- statements, and the order of columns ---


def replayed(repo: ab.Repository, before: str, after: str) -> list[str]:
    """The statements of a diff, which were run on the state before and gave the rows and columns after."""
    script = list(statements(repo.diff(before, after)["t"], None, None, None))
    repo.branch("again", at=before)
    for one in script:
        if not one.startswith("--"):
            repo.sql(one, on="again")
    made, wanted = (repo.table("t", at=at) for at in ("again", after))
    assert sorted(map(repr, made.rows())) == sorted(repr({n: r[n] for n in made.schema.names}) for r in wanted.rows())
    assert {(c.name, str(c.type), c.nullable, c.default) for c in made.schema} == {
        (c.name, str(c.type), c.nullable, c.default) for c in wanted.schema
    }
    assert made.checks == wanted.checks
    return script


@pytest.mark.parametrize(
    "new",
    [
        make(NEW),
        make(NEW, key=None),
        make(NEW, schema={"id": "bigint", "a": "bigint NOT NULL DEFAULT 3", "s": "string"}),
        make([{"id": "1", "s": "x"}], schema={"id": "string", "s": "string"}),
        make([{"id": 1, "a": 2, "n": 3}], schema={"id": "int", "a": "smallint", "n": "int NOT NULL DEFAULT 4"}),
        make([{"id": 1, "a": 2, "n": 3}], schema={"id": "int", "a": "int", "n": "int NOT NULL DEFAULT 4"}),
        both(make(NEW), t("add_check", "small", "a < 100"), t("set_properties", {"p": "1"})),
        both(make([{"id": 3, "a": 5}]), t("add_column", "w", "date", default="DATE'2026-01-01'")),
    ],
)
def test_the_statements_of_a_diff_make_the_table_that_replaced_another(duck: ab.Repository, new: Act) -> None:
    act(duck, "main", both(make([*OLD, {"id": 5, "a": None, "s": None}]), t("add_check", "ids", "id < 100")))
    duck.tag("before")
    act(duck, "main", both(drop, new))
    script = replayed(duck, "before", "main")
    assert any(one.startswith("DROP TABLE") for one in script) == duck.diff("before", "main")["t"]._is_made_anew


def test_a_column_whose_default_changed_is_added_with_the_value_that_old_rows_show(duck: ab.Repository) -> None:
    act(duck, "main", make(OLD))
    duck.tag("before")
    act(duck, "main", t("add_column", "w", "int", default=5), t("alter_column", "w", default=6))
    assert replayed(duck, "before", "main") == [
        "ALTER TABLE `t` ADD COLUMN `w` int DEFAULT 5",
        "ALTER TABLE `t` ALTER COLUMN `w` SET DEFAULT 6",
    ]


def test_another_order_of_columns_is_told(repo: ab.Repository) -> None:
    act(repo, "main", make(OLD))
    repo.tag("before")
    act(repo, "main", both(drop, make(OLD, schema={"s": "string", "id": "int", "a": "int"})))
    found = repo.diff("before", "main")
    assert found.tables == ("t",)
    (change,) = found["t"].schema
    assert (change.change, change.name) == ("order", None)
    assert (change.before, change.after) == (["id", "a", "s"], ["s", "id", "a"])
    assert told(found["t"]) == []
    assert replayed(repo, "before", "main") == ["-- order: `s`, `id`, `a`"]


def test_columns_that_came_and_went_leave_the_order_of_the_others(duck: ab.Repository) -> None:
    act(duck, "main", make(OLD))
    duck.tag("before")
    act(duck, "main", t("drop_column", "a"), t("add_column", "w", "int"), t("rename_column", "s", "z"))
    assert [c.change for c in duck.diff("before", "main")["t"].schema] == ["drop", "rename", "add"]
    assert [c.change for c in duck.diff("main", "before")["t"].schema] == ["drop", "add", "rename", "order"]
