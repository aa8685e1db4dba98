"""The difference of two refs: tables, namespaces, schemas, rows and cells."""

from __future__ import annotations

import datetime
import decimal
import math
from typing import Any

import pytest

import anabranch as ab
from tests.repo.merge.merge_cases import ROWS, Act, act, fork, make_t, nothing


def t(method: str, *args: Any, **named: Any) -> Act:
    return lambda tx: getattr(tx.table("t"), method)(*args, **named)


def put(id_: int, **values: Any) -> Act:
    return lambda tx: tx.table("t").upsert([{"id": id_, **values}])


def changed(repo: ab.Repository, *acts: Act, base: Act = make_t) -> Any:
    """The table's difference over these commits."""
    act(repo, "main", base)
    repo.tag("before")
    act(repo, "main", *acts)
    return repo.diff("before", "main")["t"]


def told(diff: Any, **chosen: Any) -> list[tuple[Any, ...]]:
    rows = diff.rows(**chosen)
    return [(r["change"], tuple(r["key"].values()), r["columns"]) for r in rows]


# --- rows and cells ---


def test_rows_that_came_changed_and_went_are_told_whole(repo: ab.Repository) -> None:
    found = changed(
        repo, put(1, a=11), t("delete", where="id = 2"), t("insert", [{"id": 4, "a": 40, "s": "q"}]), put(4, a=41)
    )
    assert found.rows() == [
        {
            "change": "update",
            "key": {"id": 1},
            "before": {"id": 1, "a": 10, "s": "x"},
            "after": {"id": 1, "a": 11, "s": "x"},
            "columns": ["a"],
        },
        {
            "change": "delete",
            "key": {"id": 2},
            "before": {"id": 2, "a": 20, "s": "y"},
            "after": None,
            "columns": [],
        },
        {
            "change": "insert",
            "key": {"id": 4},
            "before": None,
            "after": {"id": 4, "a": 41, "s": "q"},
            "columns": [],
        },
    ]
    assert found.counts() == {"inserted": 1, "updated": 1, "deleted": 1, "cells": 1}
    assert found.cells() == [{"key": {"id": 1}, "column": "a", "before": 10, "after": 11}]
    assert repo.diff("before", "main").counts() == {"t": found.counts()}


def test_the_other_way_round_everything_is_turned(repo: ab.Repository) -> None:
    changed(repo, put(1, a=11), t("delete", where="id = 2"), t("insert", [{"id": 4, "a": 40, "s": "q"}]))
    back = repo.diff("main", "before")["t"]
    assert told(back) == [("update", (1,), ["a"]), ("insert", (2,), []), ("delete", (4,), [])]
    assert back.rows()[2]["before"] == {"id": 4, "a": 40, "s": "q"}


def test_what_was_taken_back_is_no_difference(repo: ab.Repository) -> None:
    found = changed(
        repo,
        put(1, a=11),
        put(1, a=10),
        t("insert", [{"id": 4}]),
        t("delete", where="id = 4"),
        t("delete", where="id = 2"),
        t("insert", [ROWS[1]]),
    )
    assert found.rows() == []
    assert found.is_empty
    assert repo.diff("before", "main").tables == ()
    assert not repo.diff("before", "main")


def test_rows_are_chosen_by_key_by_condition_and_by_number(repo: ab.Repository) -> None:
    found = changed(repo, t("update", {"a": "a + 1"}), t("delete", where="id = 3"))
    assert told(found, key={"id": 2}) == told(found, key=2) == [("update", (2,), ["a"])]
    assert told(found, key=9) == []
    assert told(found, where="a = 20") == [("update", (2,), ["a"])]
    assert told(found, where="a = :a", args={"a": 21}) == [("update", (2,), ["a"])]
    assert told(found, where="id = 3") == [("delete", (3,), [])]
    assert len(found.rows(limit=2)) == 2
    assert len(found.cells(limit=1)) == 1


def test_a_condition_that_only_spark_runs_goes_there_and_a_wrong_one_is_told(
    repo: ab.Repository, engine: dict[str, Any]
) -> None:
    found = changed(repo, t("update", {"a": "a + 1"}, where="id = 1"))
    if engine["engine"] == "duck":
        with pytest.raises(ab.InvalidRequest, match="runs on Spark only"):
            found.rows(where="soundex(s) IS NOT NULL")
    else:
        assert told(found, where="soundex(s) IS NOT NULL") == [("update", (1,), ["a"])]
    for form in (found.rows, found.arrow, found.wide):
        with pytest.raises(ab.NotFound, match="no column 'nope'"):
            form(where="nope = 1")


def test_between_two_branches_both_sides_count_and_since_the_base_only_one(repo: ab.Repository) -> None:
    fork(repo, make_t, put(1, a=11), put(2, a=21))
    assert told(repo.diff("ours", "theirs")["t"]) == [("update", (1,), ["a"]), ("update", (2,), ["a"])]
    assert told(repo.diff("ours..theirs")["t"]) == told(repo.diff("ours", "theirs")["t"])
    assert told(repo.diff("ours...theirs")["t"]) == [("update", (2,), ["a"])]
    with pytest.raises(ab.InvalidRequest, match=r"diff got a range, 'ours..theirs', and a second ref"):
        repo.diff("ours..theirs", "main")


def test_nothing_differs_between_a_ref_and_itself(duck: ab.Repository) -> None:
    act(duck, "main", make_t)
    found = duck.diff("main", "main")
    assert (found.tables, len(found), bool(found), found.counts()) == ((), 0, False, {})
    assert repr(found) == "Diff(nothing)"
    assert found["t"].rows() == []


def test_the_names_of_tables_that_differ_are_a_tuple(duck: ab.Repository) -> None:
    changed(duck, put(1, a=11), lambda tx: tx.create_table("b", ROWS, key="id"))
    found = duck.diff("before", "main")
    assert found.tables == ("b", "t")
    assert ("t" in found, "c" in found, [one.name for one in found]) == (True, False, ["b", "t"])


@pytest.mark.parametrize(("before", "after"), [("nowhere", "main"), ("main", "nowhere"), ("main..nowhere", None)])
def test_an_unknown_ref_is_refused(duck: ab.Repository, before: str, after: str | None) -> None:
    with pytest.raises(ab.NotFound, match="nowhere"):
        duck.diff(before, after)


def test_an_unknown_table_is_refused(duck: ab.Repository) -> None:
    act(duck, "main", make_t)
    for ask in (lambda: duck.diff("main~1", "main")["orders"], lambda: duck.diff("main~1", "main", table="orders")):
        with pytest.raises(ab.NotFound, match="orders"):
            ask()


def test_a_row_with_another_key_went_and_came(repo: ab.Repository) -> None:
    found = changed(repo, t("update", {"id": 9}, where="id = 3"))
    assert told(found) == [("delete", (3,), []), ("insert", (9,), [])]


def test_rows_without_a_key_are_known_by_hidden_ids(repo: ab.Repository) -> None:
    found = changed(
        repo,
        t("update", {"a": 11}, where="id = 1"),
        t("delete", where="id = 2"),
        t("insert", [ROWS[2]]),
        base=lambda tx: tx.create_table("t", ROWS),
    )
    assert found.counts() == {"inserted": 1, "updated": 1, "deleted": 1, "cells": 1}
    rows = {r["change"]: r for r in found.rows()}
    assert rows["update"]["key"] == {}
    assert (rows["update"]["before"]["a"], rows["update"]["after"]["a"]) == (10, 11)
    assert rows["insert"]["after"] == ROWS[2]


# --- tables, namespaces, schemas ---


def test_tables_that_came_and_went_are_told(repo: ab.Repository) -> None:
    changed(repo, lambda tx: tx.create_table("new", ROWS[:2], key="id"), t("drop"))
    found = repo.diff("before", "main")
    assert {one.name: one.change for one in found} == {"new": "added", "t": "dropped"}
    assert found["new"].counts() == {"inserted": 2, "updated": 0, "deleted": 0, "cells": 0}
    assert found["t"].counts() == {"inserted": 0, "updated": 0, "deleted": 3, "cells": 0}
    assert [r["after"] for r in found["new"].rows()] == ROWS[:2]
    assert [r["before"] for r in found["t"].rows()] == ROWS


def test_a_renamed_table_is_the_same_table(repo: ab.Repository) -> None:
    changed(repo, t("rename", "v"), lambda tx: tx.table("v").update({"a": 11}, where="id = 1"))
    found = repo.diff("before", "main")
    assert found.tables == ("v",)
    assert (found["v"].change, found["v"].renamed_from) == ("changed", "t")
    assert found["t"].name == "v"
    assert told(found["v"]) == [("update", (1,), ["a"])]


def test_namespaces_are_told(repo: ab.Repository) -> None:
    def make(tx: Any) -> None:
        for name in ("gone", "old", "kept"):
            tx.create_namespace(name)
        tx.create_table("old.t", ROWS, key="id")

    act(repo, "main", make)
    repo.tag("before")
    act(
        repo,
        "main",
        lambda tx: tx.drop_namespace("gone"),
        lambda tx: tx.rename_namespace("old", "new"),
        lambda tx: tx.set_namespace_properties("kept", {"p": "1"}),
        lambda tx: tx.create_namespace("added"),
    )
    found = repo.diff("before", "main")
    assert [(s.name, s.change, s.renamed_from) for s in found.namespaces] == [
        ("added", "added", None),
        ("gone", "dropped", None),
        ("kept", "changed", None),
        ("new", "changed", "old"),
    ]
    assert found.tables == ("new.t",)
    assert (found["new.t"].renamed_from, found["new.t"].rows()) == ("old.t", [])


def test_changes_of_the_schema_are_told(repo: ab.Repository) -> None:
    found = changed(
        repo,
        t("add_column", "n", "int"),
        t("rename_column", "a", "b"),
        t("alter_column", "b", type="bigint"),
        t("drop_column", "s"),
        t("add_check", "small", "b < 100"),
        t("set_properties", {"p": "1"}),
        t("cluster_by", "b"),
    )
    assert {(c.change, c.name, str(c.before), str(c.after)) for c in found.schema} == {
        ("add", "n", "None", "int"),
        ("rename", "b", "a", "b"),
        ("type", "b", "int", "bigint"),
        ("drop", "s", "string", "None"),
        ("check", "small", "None", "b < 100"),
        ("property", "p", "None", "1"),
        ("cluster", None, "[]", "['b']"),
    }


def test_changes_of_key_default_and_nullability_are_told(duck: ab.Repository) -> None:
    found = changed(
        duck,
        t("alter_column", "a", nullable=False, default=5),
        t("set_key", ["id", "a"]),
    )
    assert {(c.change, c.name, str(c.before), str(c.after)) for c in found.schema} == {
        ("nullable", "a", "True", "False"),
        ("default", "a", "None", "5"),
        ("key", None, "['id']", "['id', 'a']"),
    }


def test_a_row_that_went_shows_the_columns_that_it_had(repo: ab.Repository) -> None:
    found = changed(
        repo, t("drop_column", "s"), t("delete", where="id = 1"), put(2, a=21), t("add_column", "n", "int", default=5)
    )
    assert [(r["change"], r["before"], r["after"]) for r in found.rows(where="a < 30")] == [
        ("delete", {"id": 1, "a": 10, "s": "x"}, None),
        ("update", {"id": 2, "a": 20, "s": "y"}, {"id": 2, "a": 21, "n": 5}),
    ]
    wide = found.wide(key=1).to_pylist()
    assert wide == [{"_change_type": "delete", "id": 1, "before": {"id": 1, "a": 10, "s": "x"}, "after": None}]


def test_names_that_a_form_adds_are_refused_in_it_and_told_in_rows(repo: ab.Repository) -> None:
    with repo.commit("main", "load") as tx:
        tx.create_table("t", [{"id": 1, "_Change_type": "x"}], key="id")
        tx.create_table("k", [{"before": 1, "v": 1}], key="before")
    with repo.commit("main", "change") as tx:
        tx.table("t").update({"_Change_type": "'y'"})
        tx.table("k").update({"v": 2})
    found = repo.diff("main~1", "main")
    as_sql = "SELECT * FROM ana.diff('t', 'main~1', 'main')"
    for form in (found["t"].arrow, found["t"].pandas, lambda: repo.sql(as_sql)):
        with pytest.raises(ab.InvalidRequest, match="column '_Change_type' has the name of a column that this form of"):
            form()
    with pytest.raises(ab.InvalidRequest, match="column 'before' has the name of a column that this form of a diff"):
        found["k"].wide()
    assert found["t"].wide().column_names == ["_change_type", "id", "before", "after"]
    assert found["t"].rows()[0]["after"] == {"id": 1, "_Change_type": "y"}
    assert found["k"].arrow().column_names == ["before", "v", "_change_type"]
    assert found["k"].rows()[0]["key"] == {"before": 1}


def test_a_row_shows_the_columns_that_a_diff_finds_again(repo: ab.Repository) -> None:
    changed(repo, t("drop_column", "s"), t("delete", where="id = 1"), put(2, a=21))
    found = repo.diff("main", "before")["t"]
    assert [(r["change"], r["before"], r["after"], r["columns"]) for r in found.rows()] == [
        ("insert", None, {"id": 1, "a": 10, "s": "x"}, []),
        ("update", {"id": 2, "a": 21}, {"id": 2, "a": 20, "s": "y"}, ["a", "s"]),
        ("update", {"id": 3, "a": 30}, {"id": 3, "a": 30, "s": "z"}, ["s"]),
    ]
    assert found.counts() == {"inserted": 1, "updated": 2, "deleted": 0, "cells": 3}
    assert found.wide(key=1).to_pylist()[0]["after"] == {"id": 1, "a": 10, "s": "x"}
    long = sorted(found.arrow().to_pylist(), key=lambda row: (row["id"], row["_change_type"]))
    assert [(r["_change_type"], r["a"], r["s"]) for r in long] == [
        ("insert", 10, "x"),
        ("update_postimage", 20, "y"),
        ("update_preimage", 21, None),
        ("update_postimage", 30, "z"),
        ("update_preimage", 30, None),
    ]


def test_a_dropped_column_whose_name_another_has_now_is_told_apart(repo: ab.Repository) -> None:
    found = changed(repo, t("drop_column", "s"), t("rename_column", "a", "s"), t("delete", where="id = 1"))
    (row,) = [r for r in found.rows() if r["change"] == "delete"]
    assert row["before"] == {"id": 1, "s": 10, "s (dropped)": "x"}


def test_a_column_that_was_dropped_and_made_again_does_not_show_old_values(repo: ab.Repository) -> None:
    found = changed(
        repo, t("drop_column", "s"), t("add_column", "s", "string", default="'new'"), t("delete", where="id = 1")
    )
    (row,) = [r for r in found.rows() if r["change"] == "delete"]
    assert row["before"] == {"id": 1, "a": 10, "s": "x"}


def test_under_another_key_rows_are_compared_by_it(repo: ab.Repository) -> None:
    found = changed(repo, put(1, a=11), t("set_key", "s"), t("delete", where="id = 3"))
    assert [(r["change"], r["key"]) for r in found.rows()] == [("update", {"s": "x"}), ("delete", {"s": "z"})]
    assert found.counts() == {"inserted": 0, "updated": 1, "deleted": 1, "cells": 1}


def test_under_a_key_that_does_not_fit_the_rows_before_whole_rows_came_and_went(repo: ab.Repository) -> None:
    def make(tx: Any) -> None:
        tx.create_table("t", [{"id": 1, "s": "x"}, {"id": 2, "s": "x"}], key="id")

    found = changed(repo, t("update", {"s": "'y'"}, where="id = 2"), t("set_key", "s"), base=make)
    assert found.counts() == {"inserted": 1, "updated": 0, "deleted": 1, "cells": 0}
    with pytest.raises(ab.InvalidRequest, match="where= needs a key that both states have"):
        found.rows(where="id = 2")


# --- types and forms ---

D = decimal.Decimal
TYPES = {
    "boolean": (True, False),
    "tinyint": (1, 2),
    "bigint": (2**40, -1),
    "double": (1.5, float("inf")),
    "decimal(10,2)": (D("1.50"), D("2.25")),
    "string": ("ä", ""),
    "binary": (b"\x00", b"\xff"),
    "date": (datetime.date(2026, 1, 1), datetime.date(1, 1, 1)),
    "timestamp": (
        datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC),
        datetime.datetime(2026, 1, 1, 0, 0, 0, 1, tzinfo=datetime.UTC),
    ),
    "timestamp_ntz": (datetime.datetime(2026, 1, 1), datetime.datetime(1, 1, 1)),
    "array<int>": ([1, None], []),
    "struct<x:int,y:string>": ({"x": 1, "y": None}, {"x": None, "y": "q"}),
    "map<string,int>": ({"a": 1}, {"b": 2}),
}


@pytest.mark.parametrize("type_", TYPES)
def test_values_of_every_type_are_compared_and_shown(repo: ab.Repository, type_: str) -> None:
    one, other = TYPES[type_]

    def make(tx: Any) -> None:
        tx.create_table("t", schema={"id": "int", "v": type_}, key="id")
        tx.table("t").insert([{"id": n, "v": v} for n, v in enumerate([one, other, None, one], 1)])

    found = changed(
        repo,
        lambda tx: tx.table("t").upsert([{"id": n, "v": v} for n, v in enumerate([other, None, one, one], 1)]),
        base=make,
    )
    assert [(c["key"]["id"], c["before"], c["after"]) for c in found.cells()] == [
        (1, one, other),
        (2, other, None),
        (3, None, one),
    ]
    assert [r["before"]["v"] for r in found.rows()] == [one, other, None]


def test_nan_equals_itself(repo: ab.Repository) -> None:
    def make(tx: Any) -> None:
        tx.create_table("t", [{"id": 1, "v": math.nan}, {"id": 2, "v": 1.0}], key="id")

    found = changed(
        repo, lambda tx: tx.table("t").upsert([{"id": 1, "v": math.nan}, {"id": 2, "v": math.nan}]), base=make
    )
    assert told(found) == [("update", (2,), ["v"])]


def test_nan_inside_a_value_equals_itself(repo: ab.Repository) -> None:
    rows, schema = [{"id": 1, "v": [math.nan], "w": 1}], {"id": "int", "v": "array<double>", "w": "int"}
    found = changed(
        repo,
        lambda tx: tx.table("t").upsert([{"id": 1, "v": [math.nan], "w": 2}]),
        base=lambda tx: tx.create_table("t", rows, schema=schema, key="id"),
    )
    assert told(found) == [("update", (1,), ["w"])]
    assert [c["column"] for c in found.cells()] == ["w"]


def test_the_long_form_has_a_row_for_each_side_of_a_change(repo: ab.Repository) -> None:
    found = changed(repo, put(1, a=11), t("delete", where="id = 2"), t("insert", [{"id": 4, "a": 4, "s": "q"}]))
    rows = sorted((r["id"], r["_change_type"], r["a"]) for r in found.arrow().to_pylist())
    assert rows == [
        (1, "update_postimage", 11),
        (1, "update_preimage", 10),
        (2, "delete", 20),
        (4, "insert", 4),
    ]
    assert found.arrow().column_names == ["id", "a", "s", "_change_type"]
    assert sorted(found.pandas()["_change_type"]) == sorted(r[1] for r in rows)
    assert found.arrow(key=1).num_rows == 2


def test_the_wide_form_has_a_row_for_each_change(repo: ab.Repository) -> None:
    found = changed(repo, put(1, a=11), t("delete", where="id = 2"))
    assert found.wide().to_pylist() == [
        {
            "_change_type": "update",
            "id": 1,
            "before": {"id": 1, "a": 10, "s": "x"},
            "after": {"id": 1, "a": 11, "s": "x"},
        },
        {"_change_type": "delete", "id": 2, "before": {"id": 2, "a": 20, "s": "y"}, "after": None},
    ]


def test_a_spark_dataframe_has_the_long_form(repo: ab.Repository, engine: dict[str, Any]) -> None:
    if engine["engine"] != "spark":
        pytest.skip("a repository without a JVM has no DataFrames")
    found = changed(repo, put(1, a=11), t("delete", where="id = 2"))
    frame = found.spark()
    assert frame.columns == ["id", "a", "s", "_change_type"]
    assert {(r["id"], r["_change_type"]) for r in frame.collect()} == {
        (1, "update_preimage"),
        (1, "update_postimage"),
        (2, "delete"),
    }
    assert found.spark(where="id = 2").count() == 1


def test_a_diff_over_a_merge_is_that_of_the_states(repo: ab.Repository) -> None:
    fork(repo, make_t, put(1, a=11), put(2, a=21))
    repo.merge("theirs", into="ours")
    act(repo, "ours", nothing)
    assert told(repo.diff("main", "ours")["t"]) == [("update", (1,), ["a"]), ("update", (2,), ["a"])]
    assert told(repo.diff("theirs", "ours")["t"]) == [("update", (1,), ["a"])]


def test_going_back_over_a_merge_of_two_tables_of_one_name_finds_every_row(duck: ab.Repository) -> None:
    schema = {"id": "int", "a": "int"}
    for branch, rows in (("b1", [{"id": 5, "a": 2}]), ("b2", [{"id": 5, "a": 1}, {"id": 2, "a": 1}])):
        duck.branch(branch, at="main")
        with duck.commit(branch, "make") as tx:
            tx.create_table("v", rows, key="id", schema=schema)
    with duck.commit("b2", "more") as tx:
        tx.table("v").insert([{"id": 3, "a": 7}])
    duck.merge("b2", into="b1", rules={"*": "theirs"}, ff="never")
    there = [(r["change"], r["key"]["id"]) for r in duck.diff("b1~1", "b1")["v"].rows()]
    back = [(r["change"], r["key"]["id"]) for r in duck.diff("b1", "b1~1")["v"].rows()]
    assert sorted(there) == [("insert", 2), ("insert", 3), ("update", 5)]
    assert sorted(back) == [("delete", 2), ("delete", 3), ("update", 5)]
    assert duck.diff("b1", "b1~1")["v"].counts() == {"inserted": 0, "updated": 1, "deleted": 2, "cells": 1}


def test_tables_are_compared_by_a_key_that_both_have(duck: ab.Repository) -> None:
    with duck.commit("main", "load") as tx:
        tx.create_table("x", [{"id": 1}], key="id")
        tx.create_table("nk", [{"id": 1, "k": 7}], key="k")
    with pytest.raises(ab.InvalidRequest, match=r"'x' has no column 'k', the key of 'nk' \(name the tables the other"):
        duck.diff_tables("x", "nk")
    assert told(duck.diff_tables("nk", "x")) == []
    duck.tag("v1")
    with duck.commit("main", "rename") as tx:
        tx.table("x").rename_column("id", "n")
        tx.table("x").insert([{"n": 2}])
    assert told(duck.diff_tables("x", "x", at="v1", other_at="main")) == [("insert", (2,), [])]


def test_a_diff_back_over_wider_types_tells_values_that_the_narrow_ones_do_not_hold(repo: ab.Repository) -> None:
    narrow = {"id": "int", "n": "int", "d": "decimal(5,2)", "x": "int", "at": "date"}
    wide = {"id": "bigint", "n": "bigint", "d": "decimal(9,4)", "x": "double", "at": "timestamp_ntz"}
    old = {"n": 1, "d": decimal.Decimal("1.00"), "x": 1, "at": datetime.date(2026, 1, 1)}
    new = {"n": 2**40, "d": decimal.Decimal("1.0040"), "x": 1.25, "at": datetime.datetime(2026, 1, 1, 7)}
    shown = {"n": 1, "d": decimal.Decimal("1.0000"), "x": 1.0, "at": datetime.datetime(2026, 1, 1)}
    with repo.commit("main", "make") as tx:
        tx.create_table("t", [{"id": 1, **old}, {"id": 2, **old}], key="id", schema=narrow)
    repo.tag("narrow")
    with repo.commit("main", "widen") as tx:
        for name, type_ in wide.items():
            tx.table("t").alter_column(name, type=type_)
    with repo.commit("main", "write") as tx:
        tx.table("t").upsert([{"id": 1, **new}, {"id": 2**40, **new}])
    (back,) = repo.diff("main", "narrow")
    assert back.counts() == {"inserted": 0, "updated": 1, "deleted": 1, "cells": 4}
    assert [(r["change"], r["before"], r["after"]) for r in back.rows()] == [
        ("update", {"id": 1, **new}, {"id": 1, **shown}),
        ("delete", {"id": 2**40, **new}, None),
    ]
    assert [r["key"] for r in back.rows(key=2**40)] == [{"id": 2**40}]
    (forth,) = repo.diff("narrow", "main")
    assert [(r["change"], r["before"], r["after"]) for r in forth.rows()] == [
        ("update", {"id": 1, **shown}, {"id": 1, **new}),
        ("insert", None, {"id": 2**40, **new}),
    ]
