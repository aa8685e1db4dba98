"""Merging tables, namespaces and columns; constraints on what comes out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

import anabranch as ab
from tests.repo.merge.merge_cases import (
    ROWS,
    SCHEMA,
    Act,
    act,
    both,
    cells,
    conflict,
    fork,
    make_t,
    nothing,
    rows,
    whole,
)


def t(method: str, *args: Any, **named: Any) -> Act:
    """Call a method of the table `t`."""
    return lambda tx: getattr(tx.table("t"), method)(*args, **named)


insert_4 = t("insert", [{"id": 4, "a": 40, "s": "q"}])
update_1 = t("update", {"a": 11}, where="id = 1")
drop = t("drop")


def make_u(schema: dict[str, str], new: list[dict[str, Any]] | None = None, key: str | None = "id") -> Act:
    def run(tx: Any) -> None:
        tx.create_table("u", schema=schema, key=key)
        tx.table("u").insert(new or [])

    return run


@dataclass(frozen=True)
class Case:
    """What two sides do, and which conflicts that makes: name, kind, column; none if it is merged."""

    name: str
    ours: Act
    theirs: Act
    conflicts: tuple[tuple[str, str, str | None], ...] = ()
    columns: str | None = None
    """The columns of `t` after the merge, with their types, where it is merged; `-` if the table is gone."""

    def turned(self) -> Case:
        found = tuple((name, "/".join(reversed(kind.split("/"))), column) for name, kind, column in self.conflicts)
        return Case(self.name, self.theirs, self.ours, found, self.columns)


PLAIN = "id int, a int, s string"
U = {"id": "int NOT NULL", "v": "int"}
CASES = [
    Case("a table made on one side", make_u(U), update_1, columns=PLAIN),
    Case("tables made alike", make_u(U), make_u(U), columns=PLAIN),
    Case("tables made with other types", make_u(U), make_u({**U, "v": "string"}), (("u", "create/create", None),)),
    Case("tables made with other columns", make_u(U), make_u({"id": "int NOT NULL"}), (("u", "create/create", None),)),
    Case("tables made with another key", make_u(U), make_u(U, key=None), (("u", "create/create", None),)),
    Case("dropped on one side", drop, nothing, columns="-"),
    Case("dropped on both sides", drop, drop, columns="-"),
    Case("dropped and updated", drop, update_1, (("t", "drop/update", None),)),
    Case("dropped and altered", drop, t("add_column", "n", "int"), (("t", "drop/alter column", None),)),
    Case("dropped and made again, against nothing", both(drop, make_t), nothing, columns=PLAIN),
    Case("a column added on one side", t("add_column", "n", "int"), insert_4, columns=f"{PLAIN}, n int"),
    Case("a column added alike", t("add_column", "n", "int"), t("add_column", "n", "int"), columns=f"{PLAIN}, n int"),
    Case(
        "a column added with another default",
        t("add_column", "n", "int"),
        t("add_column", "n", "int", default=1),
        (("t", "add column/add column", "n"),),
    ),
    Case(
        "a column added with another type",
        t("add_column", "n", "int"),
        t("add_column", "n", "string"),
        (("t", "add column/add column", "n"),),
    ),
    Case("a column dropped on one side", t("drop_column", "s"), update_1, columns="id int, a int"),
    Case("a column dropped on both sides", t("drop_column", "s"), t("drop_column", "s"), columns="id int, a int"),
    Case("a column dropped and updated", t("drop_column", "a"), update_1, (("t", "drop column/update", "a"),)),
    Case(
        "a column dropped and renamed",
        t("drop_column", "a"),
        t("rename_column", "a", "b"),
        (("t", "drop column/rename column", "b"),),
    ),
    Case(
        "a column dropped and widened",
        t("drop_column", "a"),
        t("alter_column", "a", type="bigint"),
        (("t", "drop column/alter type", "a"),),
    ),
    Case("a column renamed and updated", t("rename_column", "a", "b"), update_1, columns="id int, b int, s string"),
    Case(
        "a column renamed alike",
        t("rename_column", "a", "b"),
        t("rename_column", "a", "b"),
        columns="id int, b int, s string",
    ),
    Case(
        "a type widened on one side",
        t("alter_column", "a", type="bigint"),
        insert_4,
        columns="id int, a bigint, s string",
    ),
    Case(
        "a type widened twice, once wider",
        t("alter_column", "a", type="bigint"),
        t("alter_column", "a", type="decimal(20,0)"),
        columns="id int, a decimal(20,0), s string",
    ),
    Case(
        "a type widened in two directions",
        t("alter_column", "a", type="bigint"),
        t("alter_column", "a", type="double"),
        (("t", "alter type/alter type", "a"),),
    ),
    Case("a default set", t("alter_column", "a", default=5), insert_4, columns=PLAIN),
    Case("not null set, and no null written", t("alter_column", "a", nullable=False), insert_4, columns=PLAIN),
    Case("renamed and changed", t("rename", "v"), update_1, columns="-"),
    Case("properties set and rows changed", t("set_properties", {"p": "1"}), update_1, columns=PLAIN),
    Case("a check added and rows that pass", t("add_check", "small", "a < 100"), insert_4, columns=PLAIN),
    Case(
        "one check added in two ways",
        t("add_check", "small", "a < 100"),
        t("add_check", "small", "a < 200"),
        (("t", "add check/add check", None),),
    ),
    Case("a key changed and nothing", t("set_key", ["id", "s"]), t("set_properties", {"p": "1"}), columns=PLAIN),
]


@pytest.mark.parametrize("case", [pytest.param(c, id=c.name) for c in CASES])
def test_tables_and_columns_are_merged_as_the_table_of_cases_says(repo: ab.Repository, case: Case) -> None:
    check(repo, case)


@pytest.mark.parametrize("case", [pytest.param(c.turned(), id=c.name) for c in CASES])
def test_with_the_sides_exchanged_the_cases_come_out_alike(duck: ab.Repository, case: Case) -> None:
    check(duck, case)


def check(repo: ab.Repository, case: Case) -> None:
    fork(repo, make_t, case.ours, case.theirs)
    before = repo.show("ours").hash
    if case.conflicts:
        found = conflict(repo)
        assert tuple(whole(found)) == case.conflicts
        assert list(found) == []
        assert repo.show("ours").hash == before
        return
    repo.merge("theirs", into="ours")
    there = {e.name for e in repo.tables(at="ours")}
    if case.columns == "-":
        assert "t" not in there
    else:
        assert ", ".join(f"{c.name} {c.type}" for c in repo.table("t", at="ours").schema) == case.columns
        repo.table("t", at="ours").rows()


def test_tables_that_both_made_are_one_and_their_rows_are_merged(repo: ab.Repository) -> None:
    one, two = {"id": 1, "v": 1}, {"id": 2, "v": 2}
    fork(repo, make_t, make_u(U, [one, two]), make_u(U, [two, {"id": 3, "v": 3}]))
    repo.merge("theirs", into="ours")
    assert rows(repo, table="u") == [(1, 1), (2, 2), (3, 3)]


def put_u(n: int) -> Act:
    return lambda tx: tx.table("u").upsert([{"id": n, "v": n}, {"id": 2, "v": n}])


def test_after_tables_were_united_later_merges_find_them_by_both_ids(repo: ab.Repository) -> None:
    fork(repo, make_t, make_u(U, [{"id": 1, "v": 1}]), make_u(U, [{"id": 2, "v": 2}]))
    repo.merge("theirs", into="ours")
    assert repo.merge("theirs", into="ours").up_to_date
    for n, turn in enumerate(("theirs", "ours", "theirs"), 10):
        act(repo, turn, put_u(n))
        repo.merge("theirs", into="ours")
        repo.merge("ours", into="theirs", ff="never")
    assert rows(repo, "ours", "u") == rows(repo, "theirs", "u") == [(1, 1), (10, 10), (11, 11), (12, 12), (2, 12)]


def test_columns_that_both_added_are_one_and_their_cells_are_merged(repo: ab.Repository) -> None:
    def add(where: str, value: int) -> Act:
        return both(t("add_column", "n", "int"), t("update", {"n": value}, where=where))

    fork(repo, make_t, add("id = 1", 1), add("id = 2", 2))
    repo.merge("theirs", into="ours")
    assert rows(repo) == [(1, 10, "x", 1), (2, 20, "y", 2), (3, 30, "z", None)]
    act(repo, "theirs", t("update", {"n": 33}, where="id = 3"))
    repo.merge("theirs", into="ours")
    assert rows(repo)[2] == (3, 30, "z", 33)
    act(repo, "theirs", t("update", {"n": 7}, where="id = 1"))
    act(repo, "ours", t("update", {"n": 8}, where="id = 1"))
    assert cells(conflict(repo)) == [((1,), "update/update", "n", None, 8, 7)]


@pytest.mark.parametrize("into", ["ours", "theirs"])
def test_a_column_renamed_here_takes_values_that_were_written_there(repo: ab.Repository, into: str) -> None:
    fork(repo, make_t, t("rename_column", "a", "b"), update_1)
    repo.merge("theirs" if into == "ours" else "ours", into=into)
    assert repo.table("t", at=into).get(1) == {"id": 1, "b": 11, "s": "x"}


@pytest.mark.parametrize("into", ["ours", "theirs"])
def test_a_table_renamed_here_takes_rows_that_were_written_there(repo: ab.Repository, into: str) -> None:
    fork(repo, make_t, t("rename", "v"), both(update_1, insert_4))
    repo.merge("theirs" if into == "ours" else "ours", into=into)
    assert [e.name for e in repo.tables(at=into)] == ["v"]
    assert rows(repo, into, "v") == [(1, 11, "x"), (2, 20, "y"), (3, 30, "z"), (4, 40, "q")]


@pytest.mark.parametrize("into", ["ours", "theirs"])
def test_a_new_column_shows_its_default_in_rows_that_the_other_side_inserted(repo: ab.Repository, into: str) -> None:
    fork(repo, make_t, t("add_column", "n", "int", default=5), insert_4)
    repo.merge("theirs" if into == "ours" else "ours", into=into)
    assert [row[3] for row in rows(repo, into)] == [5, 5, 5, 5]


@pytest.mark.parametrize("into", ["ours", "theirs"])
def test_a_widened_column_holds_what_both_sides_wrote(repo: ab.Repository, into: str) -> None:
    wide = both(t("alter_column", "a", type="bigint"), t("update", {"a": 2**40}, where="id = 2"))
    fork(repo, make_t, wide, both(update_1, insert_4))
    repo.merge("theirs" if into == "ours" else "ours", into=into)
    assert [row[1] for row in rows(repo, into)] == [11, 2**40, 30, 40]


@pytest.mark.parametrize("into", ["ours", "theirs"])
def test_a_new_key_is_taken_and_rows_are_told_apart_by_it(repo: ab.Repository, into: str) -> None:
    fork(repo, make_t, t("set_key", ["id", "s"]), both(update_1, insert_4))
    repo.merge("theirs" if into == "ours" else "ours", into=into)
    assert repo.table("t", at=into).key == ("id", "s")
    assert rows(repo, into) == [(1, 11, "x"), (2, 20, "y"), (3, 30, "z"), (4, 40, "q")]


@pytest.mark.parametrize("into", ["ours", "theirs"])
def test_a_new_key_that_merged_rows_break_is_shown_row_by_row(repo: ab.Repository, into: str) -> None:
    fork(repo, make_t, t("set_key", "s"), t("insert", [{"id": 4, "a": 40, "s": "x"}]))
    other = "theirs" if into == "ours" else "ours"
    with pytest.raises(ab.MergeConflict) as caught:
        repo.merge(other, into=into)
    found = caught.value.conflicts
    assert [(v["table"], v["kind"], v["name"], v["key"]) for v in found.violations] == [("t", "key", "s", {"s": "x"})]


GIVEN_UP = [
    ("nothing else", nothing, [(1, 10, "x"), (2, 20, "y"), (3, 30, "z")]),
    ("a row updated", update_1, [(1, 11, "x"), (2, 20, "y"), (3, 30, "z")]),
    ("a row inserted", insert_4, [(1, 10, "x"), (2, 20, "y"), (3, 30, "z"), (4, 40, "q")]),
    ("a row deleted", t("delete", where="id = 1"), [(2, 20, "y"), (3, 30, "z")]),
]


@pytest.mark.parametrize("into", ["ours", "theirs"])
@pytest.mark.parametrize(("more", "after"), [g[1:] for g in GIVEN_UP], ids=[g[0] for g in GIVEN_UP])
@pytest.mark.parametrize("order", ["before", "after"])
def test_a_key_that_both_gave_up_is_given_up_once(
    duck: ab.Repository, into: str, more: Act, after: list[Any], order: str
) -> None:
    lost = t("set_key", [])
    fork(duck, make_t, lost, both(more, lost) if order == "before" else both(lost, more))
    duck.merge("theirs" if into == "ours" else "ours", into=into)
    assert (duck.table("t", at=into).key, rows(duck, into)) == ((), after)


def test_a_row_twice_after_the_key_was_given_up_is_a_change(repo: ab.Repository) -> None:
    lost = t("set_key", [])
    fork(repo, make_t, lost, both(lost, t("insert", [{"id": 1, "a": 10, "s": "x"}])))
    repo.merge("theirs", into="ours")
    assert rows(repo) == [(1, 10, "x"), (1, 10, "x"), (2, 20, "y"), (3, 30, "z")]


@pytest.mark.parametrize("order", ["before", "after"])
def test_rows_that_both_changed_beside_giving_the_key_up_are_merged_by_it(repo: ab.Repository, order: str) -> None:
    lost = t("set_key", [])
    acts = (both(update_1, t("delete", where="id = 3")), both(insert_4, t("update", {"s": "'n'"}, where="id = 1")))
    fork(repo, make_t, *(both(a, lost) if order == "before" else both(lost, a) for a in acts))
    repo.merge("theirs", into="ours")
    assert (repo.table("t", at="ours").key, rows(repo)) == ((), [(1, 11, "n"), (2, 20, "y"), (4, 40, "q")])
    act(repo, "theirs", t("insert", [{"id": 4, "a": 0, "s": "again"}]))
    act(repo, "ours", t("update", {"a": 0}, where="id = 2"))
    assert rows(repo)[1] == (2, 0, "y")


def test_cells_that_both_changed_beside_giving_the_key_up_are_in_conflict(duck: ab.Repository) -> None:
    lost = t("set_key", [])
    fork(duck, make_t, both(update_1, lost), both(lost, t("update", {"a": 12}, where="id = 1")))
    assert cells(conflict(duck)) == [((1,), "update/update", "a", 10, 11, 12)]
    merge = duck.start_merge("theirs", into="ours")
    merge.resolve("t", key={"id": 1}, take="theirs")
    merge.finish()
    assert rows(duck)[0] == (1, 12, "x")


@pytest.mark.parametrize("why", ["twice", "null", "dropped"])
def test_rows_that_a_lost_key_does_not_tell_apart_any_more_are_asked_about(duck: ab.Repository, why: str) -> None:
    lost = t("set_key", [])
    more = {
        "twice": t("insert", [{"id": 1, "a": 1, "s": "again"}]),
        "null": both(t("alter_column", "id", nullable=True), t("update", {"id": None}, where="id = 2")),
        "dropped": both(t("update", {"a": 1}, where="id = 2"), t("drop_column", "id")),
    }
    fork(duck, make_t, both(update_1, lost), both(lost, more[why]))
    assert ("t", "key/key", None) in whole(conflict(duck))


def test_rows_of_the_base_that_a_new_key_does_not_tell_apart_are_no_base(repo: ab.Repository) -> None:
    def make(tx: Any) -> None:
        tx.create_table("t", [{"id": 1, "a": 1, "s": "x"}, {"id": 2, "a": 2, "s": "x"}], key="id")

    parted = t("update", {"s": "'y'"}, where="id = 2")
    fork(repo, make, both(parted, t("set_key", "s")), both(parted, insert_4))
    repo.merge("theirs", into="ours")
    assert rows(repo) == [(1, 1, "x"), (2, 2, "y"), (4, 40, "q")]


@pytest.mark.parametrize(("into", "kinds"), [("ours", ["drop/update"]), ("theirs", ["update/drop", "keep/create"])])
def test_a_table_dropped_and_made_again_is_another_one(repo: ab.Repository, into: str, kinds: list[str]) -> None:
    fork(repo, make_t, both(drop, make_t), update_1)
    other = "theirs" if into == "ours" else "ours"
    assert [(name, kind) for name, kind, _ in whole(conflict(repo, other, into=into))] == [("t", k) for k in kinds]


# --- names, namespaces, properties ---


def test_a_name_that_both_gave_away_is_the_sources(repo: ab.Repository) -> None:
    fork(repo, make_t, t("rename", "mine"), t("rename", "other"))
    repo.merge("theirs", into="ours")
    assert [e.name for e in repo.tables(at="ours")] == ["other"]


def test_two_tables_under_one_name_conflict_however_they_came_there(repo: ab.Repository) -> None:
    fork(repo, make_t, t("rename", "u"), make_u(U))
    assert whole(conflict(repo)) == [("u", "alter name/create", None)]


def test_properties_follow_the_source(repo: ab.Repository) -> None:
    def make(tx: Any) -> None:
        make_t(tx)
        tx.table("t").set_properties({"both": "0", "gone": "0", "kept": "0"})

    ours = both(t("set_properties", {"both": "1", "mine": "1"}), t("unset_properties", ["kept"]))
    theirs = both(t("set_properties", {"both": "2", "other": "2"}), t("unset_properties", ["gone"]))
    fork(repo, make, ours, theirs)
    repo.merge("theirs", into="ours")
    assert repo.table("t", at="ours").properties == {"both": "2", "mine": "1", "other": "2"}


def make_spaced(tx: Any) -> None:
    tx.create_namespace("n")
    tx.create_table("n.t", ROWS, key="id")


def n(method: str, *args: Any) -> Act:
    return lambda tx: getattr(tx, method)(*args)


def insert_into(name: str) -> Act:
    return lambda tx: tx.table(name).insert([{"id": 4, "a": 40, "s": "q"}])


def test_two_namespaces_of_one_name_are_one(repo: ab.Repository) -> None:
    fork(
        repo,
        nothing,
        make_spaced,
        both(n("create_namespace", "n"), lambda tx: tx.create_table("n.u", ROWS, key="id")),
    )
    repo.merge("theirs", into="ours")
    assert repo.namespaces(at="ours") == ["n"]
    assert [e.name for e in repo.tables(at="ours")] == ["n.t", "n.u"]
    assert rows(repo, table="n.u") == rows(repo, table="n.t")


@pytest.mark.parametrize("into", ["ours", "theirs"])
def test_a_namespace_renamed_here_takes_what_was_written_into_it_there(repo: ab.Repository, into: str) -> None:
    fork(
        repo,
        make_spaced,
        n("rename_namespace", "n", "m"),
        both(insert_into("n.t"), lambda tx: tx.create_table("n.u", ROWS, key="id")),
    )
    repo.merge("theirs" if into == "ours" else "ours", into=into)
    assert [e.name for e in repo.tables(at=into)] == ["m.t", "m.u"]
    assert len(rows(repo, into, "m.t")) == 4


@pytest.mark.parametrize(("into", "kind"), [("ours", "drop/create"), ("theirs", "create/drop")])
def test_a_namespace_dropped_here_and_filled_there_is_a_conflict(repo: ab.Repository, into: str, kind: str) -> None:
    fork(
        repo,
        n("create_namespace", "n"),
        n("drop_namespace", "n"),
        lambda tx: tx.create_table("n.u", ROWS, key="id"),
    )
    other = "theirs" if into == "ours" else "ours"
    assert whole(conflict(repo, other, into=into)) == [("n", kind, None)]


def test_properties_of_a_namespace_are_merged(repo: ab.Repository) -> None:
    fork(
        repo,
        n("create_namespace", "n"),
        n("set_namespace_properties", "n", {"a": "1", "b": "1"}),
        n("set_namespace_properties", "n", {"b": "2", "c": "2"}),
    )
    repo.merge("theirs", into="ours")
    assert repo.namespace_properties("n", at="ours") == {"a": "1", "b": "2", "c": "2"}


# --- constraints ---


@pytest.mark.parametrize("into", ["ours", "theirs"])
def test_rows_that_break_a_new_check_of_the_other_side_are_shown(repo: ab.Repository, into: str) -> None:
    fork(repo, make_t, t("add_check", "small", "a < 35"), insert_4)
    other = "theirs" if into == "ours" else "ours"
    with pytest.raises(ab.MergeConflict, match=r"1 conflict in t \(check small\)") as caught:
        repo.merge(other, into=into)
    row = {"id": 4, "a": 40, "s": "q"}
    assert caught.value.conflicts.violations == [
        {"table": "t", "kind": "check", "name": "small", "key": {"id": 4}, "row": row}
    ]


def test_a_check_over_columns_of_both_sides_is_tested_on_merged_rows(repo: ab.Repository) -> None:
    def make(tx: Any) -> None:
        tx.create_table("t", schema={"id": "int NOT NULL", "low": "int", "high": "int"}, key="id")
        tx.table("t").insert([{"id": 1, "low": 1, "high": 9}, {"id": 2, "low": 1, "high": 9}])
        tx.table("t").add_check("ordered", "low <= high")

    fork(repo, make, t("update", {"low": 6}), t("update", {"high": 5}, where="id = 1"))
    found = conflict(repo)
    assert [(v["key"], v["row"]) for v in found.violations] == [({"id": 1}, {"id": 1, "low": 6, "high": 5})]


@pytest.mark.parametrize("into", ["ours", "theirs"])
def test_a_check_is_tested_again_on_all_rows_where_the_other_side_made_a_type_wider(
    repo: ab.Repository, into: str
) -> None:
    check = t("add_check", "short", "length(cast(a as string)) <= 2")
    fork(repo, make_t, both(check, t("add_check", "small", "a < 100")), t("alter_column", "a", type="decimal(12,2)"))
    with pytest.raises(ab.MergeConflict) as caught:
        repo.merge("theirs" if into == "ours" else "ours", into=into)
    found = caught.value.conflicts.violations
    assert sorted((v["kind"], v["name"], v["key"]["id"]) for v in found) == [("check", "short", n) for n in (1, 2, 3)]


@pytest.mark.parametrize("into", ["ours", "theirs"])
def test_nulls_in_a_column_that_the_other_side_made_not_null_are_shown(repo: ab.Repository, into: str) -> None:
    fork(
        repo,
        make_t,
        t("alter_column", "a", nullable=False),
        both(t("update", {"a": None}, where="id = 1"), t("insert", [{"id": 4, "a": None, "s": "q"}])),
    )
    other = "theirs" if into == "ours" else "ours"
    with pytest.raises(ab.MergeConflict) as caught:
        repo.merge(other, into=into)
    found = caught.value.conflicts.violations
    assert sorted((v["kind"], v["name"], v["key"]["id"]) for v in found) == [("not null", "a", 1), ("not null", "a", 4)]


@pytest.mark.parametrize(("into", "kind"), [("ours", "add column/insert"), ("theirs", "insert/add column")])
def test_a_column_without_a_value_for_rows_of_the_other_side_is_a_conflict(
    repo: ab.Repository, into: str, kind: str
) -> None:
    def make(tx: Any) -> None:
        tx.create_table("t", schema=SCHEMA, key="id")

    def needed(tx: Any) -> None:
        tx.table("t").add_column("n", "int", nullable=False)
        tx.table("t").insert([{"id": 1, "a": 1, "s": "x", "n": 1}])

    fork(repo, make, needed, insert_4)
    other = "theirs" if into == "ours" else "ours"
    assert whole(conflict(repo, other, into=into)) == [("t", kind, "n")]
