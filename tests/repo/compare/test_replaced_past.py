"""The past of a table that took the place of another under its name, and of columns that came back."""

from __future__ import annotations

from typing import Any

import pytest

import anabranch as ab
from tests.repo.compare.neighbours import feed
from tests.repo.compare.test_changes import applied
from tests.repo.merge.merge_cases import Act, act, both

OLD = [{"id": 1, "a": 10}, {"id": 2, "a": 20}, {"id": 3, "a": 30}]
NEW = [{"id": 1, "a": 10}, {"id": 2, "a": 21}, {"id": 4, "a": 40}]
SCHEMA = {"id": "int", "a": "int"}


def make(rows: list[dict[str, Any]], key: str | None = "id", schema: Any = SCHEMA) -> Act:
    return lambda tx: tx.create_table("t", rows, key=key, schema=schema)


def drop(tx: Any) -> None:
    tx.table("t").drop()


def t(method: str, *args: Any, **named: Any) -> Act:
    return lambda tx: getattr(tx.table("t"), method)(*args, **named)


def told(repo: ab.Repository, **chosen: Any) -> list[tuple[Any, ...]]:
    return [(r["_commit_version"], r["_change_type"], r["id"], r["a"]) for r in repo.changes("t", **chosen).rows()]


def past(repo: ab.Repository, key: int) -> list[tuple[Any, ...]]:
    return [(e.commit.id, e.change, e.before, e.after) for e in repo.history("t", key=key)]


def blamed(repo: ab.Repository) -> dict[int, str]:
    return {e.row["id"]: e.commit.id for e in repo.blame("t")}


INSERTS = [("main/1", "insert", n, 10 * n) for n in (1, 2, 3)]


def test_the_feed_leads_from_a_table_to_the_one_that_replaced_it(repo: ab.Repository) -> None:
    act(repo, "main", make(OLD), both(drop, make(NEW)), t("update", {"a": 22}, where="id = 2"))
    assert told(repo) == [
        *INSERTS,
        ("main/2", "update_preimage", 2, 20),
        ("main/2", "update_postimage", 2, 21),
        ("main/2", "delete", 3, 30),
        ("main/2", "insert", 4, 40),
        ("main/3", "update_preimage", 2, 21),
        ("main/3", "update_postimage", 2, 22),
    ]
    assert told(repo, since="main/1") == told(repo)[3:]
    assert told(repo, since="main/2") == told(repo)[7:]
    assert told(repo, key=3) == [INSERTS[2], ("main/2", "delete", 3, 30)]
    assert told(repo, where="a = 20") == [INSERTS[1], *told(repo)[3:5]]
    assert told(repo, to="main/1") == INSERTS
    as_sql = repo.sql("SELECT id, _change_type FROM ana.changes('t', 'main/1', 'main/2') ORDER BY id").rows()
    assert [r["id"] for r in as_sql] == [2, 2, 3, 4]


def test_the_feed_tells_the_drop_and_the_new_rows_where_they_are_in_two_commits(repo: ab.Repository) -> None:
    act(repo, "main", make(OLD), drop, make(NEW))
    assert told(repo) == [
        *INSERTS,
        *(("main/2", "delete", n, 10 * n) for n in (1, 2, 3)),
        *(("main/3", "insert", r["id"], r["a"]) for r in NEW),
    ]
    assert applied(OLD, repo.changes("t", since="main/1").rows()) == NEW


@pytest.mark.parametrize(("old", "new"), [(None, None), ("id", None), (None, "id"), ("id", "a")])
def test_without_one_key_rows_of_the_feed_came_and_went(duck: ab.Repository, old: Any, new: Any) -> None:
    act(duck, "main", make(OLD, key=old), both(drop, make(NEW, key=new)))
    assert sorted(told(duck, since="main/1")) == [
        ("main/2", "delete", 2, 20),
        ("main/2", "delete", 3, 30),
        ("main/2", "insert", 2, 21),
        ("main/2", "insert", 4, 40),
    ]


def test_the_columns_of_earlier_tables_are_read_by_their_names(duck: ab.Repository) -> None:
    later = both(drop, make([{"A": 10, "n": "x", "id": 1}], schema={"A": "bigint", "n": "string", "id": "bigint"}))
    act(duck, "main", make(OLD[:2]), t("add_column", "n", "int", default=7), t("drop_column", "n"))
    act(duck, "main", t("add_column", "w", "int", default=5), later, t("add_column", "w", "int"))
    assert duck.changes("t").rows()[0].items() >= {"A": 10, "n": None, "id": 1, "w": 5}.items()
    found = [{k: v for k, v in r.items() if not k.startswith("_commit")} for r in duck.changes("t").rows()[2:]]
    assert found == [
        {"A": 10, "n": None, "id": 1, "w": 5, "_change_type": "update_preimage"},
        {"A": 10, "n": "x", "id": 1, "w": None, "_change_type": "update_postimage"},
        {"A": 20, "n": None, "id": 2, "w": 5, "_change_type": "delete"},
    ]


def test_the_history_of_a_row_goes_on_in_the_table_before(repo: ab.Repository) -> None:
    act(repo, "main", make(OLD), t("update", {"a": 11}, where="id = 1"), both(drop, make([{"id": 1, "a": 11}, NEW[1]])))
    act(repo, "main", t("update", {"a": 12}, where="id = 1"))
    assert past(repo, 1) == [
        ("main/4", "update", {"id": 1, "a": 11}, {"id": 1, "a": 12}),
        ("main/2", "update", {"id": 1, "a": 10}, {"id": 1, "a": 11}),
        ("main/1", "insert", None, {"id": 1, "a": 10}),
    ]
    assert past(repo, 2) == [
        ("main/3", "update", {"id": 2, "a": 20}, {"id": 2, "a": 21}),
        ("main/1", "insert", None, {"id": 2, "a": 20}),
    ]
    assert past(repo, 3) == [
        ("main/3", "delete", {"id": 3, "a": 30}, None),
        ("main/1", "insert", None, {"id": 3, "a": 30}),
    ]
    assert past(repo, 4) == []
    as_sql = repo.sql("SELECT id, change FROM ana.history('t', 3)").rows()
    assert [tuple(r.values()) for r in as_sql] == [("main/3", "delete"), ("main/1", "insert")]
    assert blamed(repo) == {1: "main/4", 2: "main/3"}
    (entry,) = repo.blame("t", cells=True, key=2)
    assert entry.commit.id == entry.cells["a"].id == "main/3"


def test_rows_that_a_new_table_has_as_they_were_are_blamed_on_who_made_them(repo: ab.Repository) -> None:
    act(repo, "main", make(OLD), both(drop, make(NEW)), both(drop, make([*NEW, {"id": 5, "a": 50}])))
    assert blamed(repo) == {1: "main/1", 2: "main/2", 4: "main/2", 5: "main/3"}
    assert {key: past(repo, key)[0][0] for key in (1, 2, 4, 5)} == blamed(repo)


def test_between_a_drop_and_a_new_table_there_are_no_rows(duck: ab.Repository) -> None:
    act(duck, "main", make(OLD), drop, make(NEW))
    assert [p[:2] for p in past(duck, 1)] == [("main/3", "insert"), ("main/2", "delete"), ("main/1", "insert")]
    assert set(blamed(duck).values()) == {"main/3"}


def test_under_another_key_the_past_of_a_row_begins_with_its_table(duck: ab.Repository) -> None:
    act(duck, "main", make(OLD, key=None), both(drop, make(NEW)))
    assert [p[:2] for p in past(duck, 1)] == [("main/2", "insert")]
    assert set(blamed(duck).values()) == {"main/2"}


def test_a_table_that_is_still_there_under_another_name_is_not_the_one_before(duck: ab.Repository) -> None:
    act(duck, "main", make(OLD), both(t("rename", "kept"), make(NEW)))
    assert duck.changes("t").commits == ("main/2",)
    assert {r["_change_type"] for r in duck.changes("t").rows()} == {"insert"}
    assert duck.changes("kept").commits == ("main/1", "main/2")


def test_a_table_replaced_on_a_branch_and_merged(duck: ab.Repository) -> None:
    act(duck, "main", make(OLD))
    duck.branch("dev")
    act(duck, "dev", both(drop, make(NEW)), t("update", {"a": 22}, where="id = 2"))
    act(duck, "main", lambda tx: tx.create_table("other", OLD))
    duck.merge("dev", into="main")
    head = duck.show("main").id
    assert applied(OLD, duck.changes("t", since="main~1").rows()) == duck.table("t").head(9)
    assert {r["_commit_version"] for r in duck.changes("t", since="main~1").rows()} == {head}
    assert duck.changes("t", since="dev").rows() == []
    assert [p[:2] for p in past(duck, 2)] == [("dev/3", "update"), ("dev/2", "update"), ("main/1", "insert")]
    assert [p[:2] for p in past(duck, 3)] == [("dev/2", "delete"), ("main/1", "insert")]
    assert blamed(duck) == {1: "main/1", 2: "dev/3", 4: "dev/2"}


# --- columns ---


@pytest.mark.parametrize("how", ["revert", "restore"])
def test_the_feed_follows_a_column_that_was_dropped_and_came_back(repo: ab.Repository, how: str) -> None:
    act(repo, "main", make(OLD), t("drop_column", "a"), t("insert", [{"id": 7}]), t("insert", [{"id": 8}]))
    repo.revert("main/2", three_way=True) if how == "revert" else repo.restore("t", to="main/1")
    act(repo, "main", t("update", {"a": 31}, where="id = 3"))
    assert repo.changes("t").rows() == feed(repo, "t")
    assert repo.changes("t", since="main/3").rows() == feed(repo, "t", since="main/3")
    assert applied(OLD, repo.changes("t", since="main/1").rows()) == repo.table("t").head(9)
    assert [p[:2] for p in past(repo, 3)] == [("main/6", "update"), ("main/5", "update"), ("main/1", "insert")]
    assert blamed(repo)[3] == "main/6"


def test_a_column_that_both_branches_added_is_one_in_the_past_too(repo: ab.Repository) -> None:
    act(repo, "main", make(OLD))
    repo.branch("dev")
    for branch, value in (("main", 1), ("dev", 2)):
        act(
            repo,
            branch,
            both(t("add_column", "w", "int"), t("update", {"w": value}, where="id = :i", args={"i": value})),
        )
    repo.merge("dev", into="main")
    assert repo.changes("t").rows() == feed(repo, "t")
    assert [p[:2] for p in past(repo, 2)] == [("dev/2", "update"), ("main/1", "insert")]
    assert repo.changes("t", since="dev").rows()[1]["w"] == 1
    assert repo.changes("t", since="dev").count() == 2
