"""Merging rows and cells: a table of cases, each made both ways; strictness and rules."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import pytest

import anabranch as ab
from tests.repo.merge.merge_cases import ROWS, Act, act, both, cells, conflict, fork, make_t, nothing, rows

OLD = [(1, 10, "x"), (2, 20, "y"), (3, 30, "z")]
NAN = float("nan")


def insert(*new: tuple[Any, ...]) -> Act:
    return lambda tx: tx.table("t").insert([dict(zip(("id", "a", "s"), row, strict=True)) for row in new])


def put(id_: int, **values: Any) -> Act:
    """Set values of one row; text is a value here, too."""
    names = {k: f":{k}" if isinstance(v, str) else v for k, v in values.items()}
    args = {k: v for k, v in values.items() if isinstance(v, str)}
    return lambda tx: tx.table("t").update(names, where=f"id = {id_}", args=args)


def delete(id_: int) -> Act:
    return lambda tx: tx.table("t").delete(where=f"id = {id_}")


@dataclass(frozen=True)
class Case:
    """What two sides do, and what the merge shows: rows, or conflicts as (key, kind, column, base, ours, theirs)."""

    name: str
    ours: Act
    theirs: Act
    after: list[tuple[Any, ...]] | None = None
    conflicts: list[tuple[Any, ...]] | None = None

    def turned(self) -> Case:
        """The same with the sides exchanged."""
        found = [(k, "/".join(reversed(kind.split("/"))), c, b, t, o) for k, kind, c, b, o, t in self.conflicts or ()]
        return Case(self.name, self.theirs, self.ours, self.after, sorted(found, key=str) if self.conflicts else None)


def changed(*new: tuple[Any, ...], without: tuple[int, ...] = ()) -> list[tuple[Any, ...]]:
    """The base's rows with others in the place of those with their keys, or added."""
    kept = {row[0]: row for row in OLD if row[0] not in without} | {row[0]: row for row in new}
    return [kept[k] for k in sorted(kept)]


CASES = [
    Case("nothing on one side", nothing, put(1, a=11), changed((1, 11, "x"))),
    Case("nothing on both sides", nothing, nothing, OLD),
    Case("inserts of two keys", insert((4, 40, "q")), insert((5, 50, "w")), changed((4, 40, "q"), (5, 50, "w"))),
    Case("one row inserted alike", insert((4, 40, "q")), insert((4, 40, "q")), changed((4, 40, "q"))),
    Case("one row inserted alike with null", insert((4, None, "q")), insert((4, None, "q")), changed((4, None, "q"))),
    Case(
        "one key inserted with another value",
        insert((4, 40, "q")),
        insert((4, 41, "q")),
        conflicts=[((4,), "insert/insert", "a", None, 40, 41)],
    ),
    Case(
        "one key inserted with two other values",
        insert((4, 40, None)),
        insert((4, 41, "q")),
        conflicts=[((4,), "insert/insert", "a", None, 40, 41), ((4,), "insert/insert", "s", None, None, "q")],
    ),
    Case("updates of two rows", put(1, a=11), put(2, a=21), changed((1, 11, "x"), (2, 21, "y"))),
    Case("updates of two cells of a row", put(1, a=11), put(1, s="w"), changed((1, 11, "w"))),
    Case("one cell updated alike", put(1, a=11), put(1, a=11), changed((1, 11, "x"))),
    Case("one cell set to null alike", put(1, a=None), put(1, a=None), changed((1, None, "x"))),
    Case(
        "one cell updated differently",
        put(1, a=11),
        put(1, a=12),
        conflicts=[((1,), "update/update", "a", 10, 11, 12)],
    ),
    Case(
        "one cell set to null and to a value",
        put(1, a=None),
        put(1, a=12),
        conflicts=[((1,), "update/update", "a", 10, None, 12)],
    ),
    Case(
        "one cell alike and one not",
        put(1, a=11, s="p"),
        put(1, a=11, s="q"),
        conflicts=[((1,), "update/update", "s", "x", "p", "q")],
    ),
    Case("one row deleted on both sides", delete(2), delete(2), changed(without=(2,))),
    Case("deletes of two rows", delete(1), delete(2), changed(without=(1, 2))),
    Case(
        "a row deleted and updated",
        delete(1),
        put(1, a=11),
        conflicts=[((1,), "delete/update", None, (1, 10, "x"), None, (1, 11, "x"))],
    ),
    Case("a row deleted and another updated", delete(1), put(2, a=21), changed((2, 21, "y"), without=(1,))),
    Case("updated and taken back", both(put(1, a=11), put(1, a=10)), put(1, a=12), changed((1, 12, "x"))),
    Case("deleted and inserted again as it was", both(delete(1), insert(OLD[0])), delete(1), changed(without=(1,))),
    Case(
        "deleted and inserted again with another value, against an update of another cell",
        both(delete(1), insert((1, 11, "x"))),
        put(1, s="w"),
        changed((1, 11, "w")),
    ),
    Case("a row moved to another key", put(3, id=9), put(1, a=11), changed((1, 11, "x"), (9, 30, "z"), without=(3,))),
    Case("a row moved to the same key on both sides", put(3, id=9), put(3, id=9), changed((9, 30, "z"), without=(3,))),
    Case("a row moved to two keys", put(3, id=8), put(3, id=9), changed((8, 30, "z"), (9, 30, "z"), without=(3,))),
    Case(
        "a row moved here and updated there",
        put(3, id=9),
        put(3, a=31),
        conflicts=[((3,), "delete/update", None, (3, 30, "z"), None, (3, 31, "z"))],
    ),
    Case(
        "a row moved to a key that was inserted there",
        put(3, id=9),
        insert((9, 30, "v")),
        conflicts=[((9,), "insert/insert", "s", None, "z", "v")],
    ),
    Case(
        "two rows that changed places",
        lambda tx: tx.table("t").update({"id": "3 - id"}, where="id < 3"),
        put(3, a=31),
        changed((1, 20, "y"), (2, 10, "x"), (3, 31, "z")),
    ),
]


def with_n(*acts: Act) -> Act:
    return both(lambda tx: tx.table("t").add_column("n", "int", default=1), *acts)


def insert_n(id_: int, a: int, s: str, n: int) -> Act:
    return lambda tx: tx.table("t").insert([{"id": id_, "a": a, "s": s, "n": n}])


def with_ones(*new: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    return [(*row, 1) if len(row) == 3 else row for row in changed(*new)]


CASES += [
    Case(
        "one row inserted alike but for a column that one side added",
        with_n(insert_n(4, 40, "q", 7)),
        insert((4, 40, "q")),
        with_ones((4, 40, "q", 7)),
    ),
    Case(
        "one key inserted otherwise where one side added a column",
        with_n(insert_n(4, 41, "q", 7)),
        insert((4, 40, "q")),
        conflicts=[((4,), "insert/insert", "a", None, 41, 40)],
    ),
    Case(
        "a row deleted and inserted again where the other side added a column",
        with_n(lambda tx: tx.table("t").update({"n": 7}, where="id = 1")),
        both(delete(1), insert((1, 11, "x"))),
        with_ones((1, 11, "x", 7)),
    ),
]


@pytest.mark.parametrize("case", [pytest.param(c, id=c.name) for c in CASES])
def test_rows_and_cells_are_merged_as_the_table_of_cases_says(repo: ab.Repository, case: Case) -> None:
    check(repo, case)


@pytest.mark.parametrize("case", [pytest.param(c.turned(), id=c.name) for c in CASES])
def test_with_the_sides_exchanged_the_cases_come_out_alike(duck: ab.Repository, case: Case) -> None:
    check(duck, case)


def check(repo: ab.Repository, case: Case) -> None:
    fork(repo, make_t, case.ours, case.theirs)
    before = repo.show("ours").hash
    if case.conflicts is None:
        repo.merge("theirs", into="ours")
        assert rows(repo) == case.after
        return
    assert cells(conflict(repo)) == sorted(case.conflicts, key=str)
    assert repo.show("ours").hash == before


@pytest.mark.parametrize("into", ["ours", "theirs"])
def test_one_row_inserted_where_each_side_added_a_column_has_the_values_of_both(duck: ab.Repository, into: str) -> None:
    def m(tx: Any) -> None:
        tx.table("t").add_column("m", "int")
        tx.table("t").insert([{"id": 4, "a": 40, "s": "q", "m": 8}])

    fork(duck, make_t, with_n(insert_n(4, 40, "q", 7)), m)
    duck.merge("theirs" if into == "ours" else "ours", into=into)
    assert duck.table("t", at=into).get(4) == {"id": 4, "a": 40, "s": "q", "n": 7, "m": 8}


def test_nan_is_itself_and_negative_zero_is_zero(repo: ab.Repository) -> None:
    def make(tx: Any) -> None:
        tx.create_table("t", [{"id": n, "a": 1.0} for n in range(1, 4)], key="id")

    fork(repo, make, both(put(1, a=NAN), put(2, a=NAN)), both(put(1, a=NAN), put(3, a=NAN)))
    repo.merge("theirs", into="ours")
    assert all(math.isnan(row["a"]) for row in repo.table("t", at="ours").rows())
    act(repo, "ours", put(1, a=2.0))
    act(repo, "theirs", put(1, a=3.0))
    found = conflict(repo)["t"].rows()
    assert [(c["kind"], c["ours"], c["theirs"]) for c in found] == [("update/update", 2.0, 3.0)]
    assert math.isnan(found[0]["base"])


def test_a_conflict_is_a_row_of_data(repo: ab.Repository) -> None:
    fork(repo, make_t, both(put(1, a=11), delete(2)), both(put(1, a=12), put(2, s="w")))
    found = conflict(repo)
    assert found["t"].rows() == [
        {"key": {"id": 1}, "kind": "update/update", "column": "a", "base": 10, "ours": 11, "theirs": 12},
        {
            "key": {"id": 2},
            "kind": "delete/update",
            "column": None,
            "base": {"id": 2, "a": 20, "s": "y"},
            "ours": None,
            "theirs": {"id": 2, "a": 20, "s": "w"},
        },
    ]
    assert (found["t"].count(), found.count(), list(found), len(found)) == (2, 2, ["t"], 1)
    assert (found.schema, found.objects, found.violations) == ([], [], [])
    table = found["t"].arrow()
    assert table.column_names == ["id", "kind", "column", "base", "ours", "theirs"]
    assert table.column("theirs").to_pylist() == ["12", "id=2, a=20, s=w"]
    with pytest.raises(ab.NotFound, match="no rows of table 'u' are in conflict"):
        found["u"]


def test_conflicts_can_be_chosen_by_key_and_condition(repo: ab.Repository) -> None:
    fork(repo, make_t, both(put(1, a=11, s="p"), delete(2)), both(put(1, a=12, s="q"), put(2, s="w")))
    table = conflict(repo)["t"]

    def chosen(**asked: Any) -> list[Any]:
        return [(row["key"]["id"], row["column"]) for row in table.rows(**asked)]

    assert chosen() == [(1, "a"), (1, "s"), (2, None)]
    assert chosen(key={"id": 2}) == chosen(where="s = :s", args={"s": "w"}) == [(2, None)]
    assert chosen(where="a < 20") == [(1, "a"), (1, "s")]
    assert chosen(where="id > 0", limit=1) == [(1, "a")]
    assert table.arrow(key=2).column("kind").to_pylist() == ["delete/update"]


def test_a_key_whose_name_every_conflict_has_is_told_apart(repo: ab.Repository) -> None:
    def make(tx: Any) -> None:
        tx.create_table("t", schema={"Kind": "string", "ours": "int", "n": "int"}, key=["Kind", "ours"])
        tx.table("t").insert([{"Kind": "x", "ours": 1, "n": 0}])

    fork(repo, make, lambda tx: tx.table("t").update({"n": 1}), lambda tx: tx.table("t").update({"n": 2}))
    assert conflict(repo)["t"].arrow().to_pylist() == [
        {
            "Kind (key)": "x",
            "ours (key)": 1,
            "kind": "update/update",
            "column": "n",
            "base": "0",
            "ours": "1",
            "theirs": "2",
        }
    ]


def test_conflicts_can_be_read_as_a_spark_dataframe(repo: ab.Repository, engine: dict[str, Any]) -> None:
    if engine["engine"] != "spark":
        pytest.skip("a repository without a JVM has no DataFrames")
    fork(repo, make_t, put(1, a=11), put(1, a=12))
    frame = conflict(repo)["t"].spark()
    assert [r.asDict() for r in frame.collect()] == [
        {"id": 1, "kind": "update/update", "column": "a", "base": "10", "ours": "11", "theirs": "12"}
    ]


# --- strictness ---

STRICTNESSES = {
    "two rows": (put(1, a=11), put(2, a=21), {"table"}),
    "two cells of a row": (put(1, a=11), put(1, s="w"), {"row", "disjoint", "table"}),
    "one cell alike": (put(1, a=11), put(1, a=11), {"disjoint", "table"}),
    "one cell differently": (put(1, a=11), put(1, a=12), {"cell", "row", "disjoint", "table"}),
    "one row deleted on both sides": (delete(1), delete(1), {"disjoint", "table"}),
    "one row inserted alike": (insert((4, 1, "q")), insert((4, 1, "q")), {"disjoint", "table"}),
    "two inserts": (insert((4, 1, "q")), insert((5, 1, "q")), {"table"}),
}


@pytest.mark.parametrize("strictness", ["cell", "row", "disjoint", "table"])
@pytest.mark.parametrize("case", STRICTNESSES)
def test_strictness_says_what_counts_as_touched_on_both_sides(duck: ab.Repository, case: str, strictness: str) -> None:
    ours, theirs, refused = STRICTNESSES[case]
    fork(duck, make_t, ours, theirs)
    if strictness in refused:
        conflict(duck, strictness=strictness)
    else:
        duck.merge("theirs", into="ours", strictness=strictness)


@pytest.mark.parametrize("case", [case for case in STRICTNESSES if case != "two inserts"])
@pytest.mark.parametrize("side", ["ours", "theirs"])
def test_a_table_in_conflict_as_a_whole_becomes_the_side_that_is_taken(
    duck: ab.Repository, case: str, side: str
) -> None:
    fork(duck, make_t, *STRICTNESSES[case][:2])
    expected = rows(duck, side)
    opened = duck.start_merge("theirs", into="ours", strictness="table")
    assert opened.resolve("t", take=side) == 1
    assert not opened.conflicts
    opened.finish()
    assert rows(duck) == expected


def test_disjoint_changes_of_one_column_may_not_meet_in_a_row(repo: ab.Repository) -> None:
    fork(repo, make_t, put(1, a=11), both(put(1, a=11), put(2, a=2)))
    assert cells(conflict(repo, strictness="disjoint")) == [((1,), "update/update", "a", 10, 11, 11)]


def test_an_unknown_strictness_is_refused(duck: ab.Repository) -> None:
    with pytest.raises(ab.InvalidRequest, match=r"'rows' is not a strictness .did you mean 'row'"):
        duck.merge("main", strictness="rows")


# --- rules ---

RULES = [
    ("ours", 11, 13, 11),
    ("theirs", 11, 13, 13),
    ("min", 11, 13, 11),
    ("max", 11, 13, 13),
    ("sum", 11, 13, 14),
    ("sum", 11, 11, 12),
    ("min", None, 13, 13),
    ("coalesce", None, 13, 13),
    ("coalesce", 11, None, 11),
    ("ours + theirs - base", 11, 13, 14),
    ("greatest(ours, theirs) * 2", 11, 13, 26),
    ("base", 11, 13, 10),
    ("null", 11, 13, None),
]


@pytest.mark.parametrize("given", ["t", "*", "property of the table", "property of the column"])
@pytest.mark.parametrize(("rule", "mine", "other", "after"), [RULES[1], RULES[4], RULES[7], RULES[11]])
def test_a_rule_can_be_given_for_all_for_a_table_or_a_column_and_be_kept_as_a_property(
    duck: ab.Repository, given: str, rule: str, mine: Any, other: Any, after: Any
) -> None:
    _check_rule(duck, given, rule, mine, other, after)


@pytest.mark.parametrize(("rule", "mine", "other", "after"), RULES)
def test_a_rule_for_a_column_is_followed(duck: ab.Repository, rule: str, mine: Any, other: Any, after: Any) -> None:
    _check_rule(duck, "t.a", rule, mine, other, after)


@pytest.mark.parametrize(("rule", "mine", "other", "after"), [RULES[4], RULES[6], RULES[10]])
def test_a_rule_for_a_column_is_followed_on_both_engines(
    repo: ab.Repository, rule: str, mine: Any, other: Any, after: Any
) -> None:
    _check_rule(repo, "t.a", rule, mine, other, after)


def _check_rule(repo: ab.Repository, given: str, rule: str, mine: Any, other: Any, after: Any) -> None:
    names = {"property of the table": "merge.rule", "property of the column": "merge.rule.a"}
    kept = {names[given]: rule} if given in names else {}

    def make(tx: Any) -> None:
        make_t(tx)
        tx.table("t").set_properties(kept)

    fork(repo, make, put(1, a=mine), put(1, a=other))
    repo.merge("theirs", into="ours", rules={} if kept else {given: rule})
    assert rows(repo) == changed((1, after, "x"))


@pytest.mark.parametrize(
    ("rule", "type_"), [("ours < theirs", "boolean"), ("'a'", "string"), ("NULL", None), ("ours / 2", "double")]
)
def test_a_rule_that_gives_another_type_is_refused(repo: ab.Repository, rule: str, type_: str | None) -> None:
    fork(repo, make_t, put(1, a=11), put(1, a=12))
    if type_ is None:
        repo.merge("theirs", into="ours", rules={"t.a": rule})
        assert rows(repo) == changed((1, None, "x"))
        return
    with pytest.raises(ab.InvalidRequest) as caught:
        repo.merge("theirs", into="ours", rules={"t.a": rule})
    assert caught.value.message == f"the rule 't.a' ({rule}) for 't': column 'a' is int, the value is {type_}"


@pytest.mark.parametrize("by", ["verb", "SQL"])
def test_a_kept_rule_follows_a_renamed_column(duck: ab.Repository, by: str) -> None:
    def make(tx: Any) -> None:
        make_t(tx)
        tx.table("t").set_properties({"merge.rule.a": "sum", "owner": "ann"})

    act(duck, "main", make)
    if by == "SQL":
        duck.sql("ALTER TABLE t RENAME COLUMN a TO b")
    else:
        act(duck, "main", lambda tx: tx.table("t").rename_column("a", "b"))
    assert duck.table("t").properties == {"merge.rule.b": "sum", "owner": "ann"}
    fork(duck, lambda tx: None, put(1, b=11), put(1, b=12))
    duck.merge("theirs", into="ours")
    assert rows(duck) == changed((1, 13, "x"))


def test_a_kept_rule_goes_with_a_dropped_column(duck: ab.Repository) -> None:
    def make(tx: Any) -> None:
        make_t(tx)
        tx.table("t").set_properties({"merge.rule.a": "sum", "merge.rule.gone": "sum"})

    act(duck, "main", make)
    act(duck, "main", lambda tx: tx.table("t").drop_column("a"))
    assert duck.table("t").properties == {"merge.rule.gone": "sum"}
    fork(duck, lambda tx: None, put(1, s="p"), put(2, s="q"))
    duck.merge("theirs", into="ours")
    assert rows(duck) == [(1, "p"), (2, "q"), (3, "z")]


def test_the_nearest_rule_that_fits_wins(duck: ab.Repository) -> None:
    fork(duck, make_t, both(put(1, a=11, s="p"), put(2, a=21)), both(put(1, a=12, s="q"), put(2, a=23)))
    duck.merge("theirs", into="ours", rules={"*": "theirs", "t": "sum", "t.s": "ours"})
    assert rows(duck) == changed((1, 13, "p"), (2, 24, "y"))


def test_what_sum_has_no_base_for_stays_a_conflict(repo: ab.Repository) -> None:
    fork(repo, make_t, both(insert((4, 1, "q")), put(1, a=None)), both(insert((4, 2, "q")), put(1, a=12)))
    found = cells(conflict(repo, rules={"t.a": "sum"}))
    assert found == [((1,), "update/update", "a", 10, None, 12), ((4,), "insert/insert", "a", None, 1, 2)]


def test_coalesce_leaves_two_values_in_conflict(repo: ab.Repository) -> None:
    fork(repo, make_t, put(1, a=11), put(1, a=12))
    assert cells(conflict(repo, rules={"*": "coalesce"})) == [((1,), "update/update", "a", 10, 11, 12)]


def test_union_joins_arrays(repo: ab.Repository) -> None:
    def make(tx: Any) -> None:
        tx.create_table("t", schema={"id": "int", "a": "array<string>"}, key="id")
        tx.table("t").insert([{"id": 1, "a": ["x"]}, {"id": 2, "a": None}])

    fork(
        repo,
        make,
        lambda tx: tx.table("t").upsert([{"id": 1, "a": ["x", "y"]}, {"id": 2, "a": ["p"]}]),
        lambda tx: tx.table("t").upsert([{"id": 1, "a": ["z", "x"]}, {"id": 2, "a": []}]),
    )
    repo.merge("theirs", into="ours", rules={"t.a": "union"})
    assert rows(repo) == [(1, ["x", "y", "z"]), (2, ["p"])]


@pytest.mark.parametrize(("rule", "after"), [("ours", changed(without=(1,))), ("theirs", changed((1, 11, "x")))])
@pytest.mark.parametrize("given", ["t", "*"])
def test_a_rule_for_rows_decides_a_delete_against_an_update(
    repo: ab.Repository, given: str, rule: str, after: list[Any]
) -> None:
    fork(repo, make_t, delete(1), put(1, a=11))
    repo.merge("theirs", into="ours", rules={given: rule})
    assert rows(repo) == after


@pytest.mark.parametrize(
    ("rules", "problem"),
    [
        ({"t.a": "thiers"}, "is no rule .did you mean 'theirs'"),
        ({"t.a": ""}, "text was expected"),
        ({"u": "ours"}, "speaks of no table or column on either side"),
        ({"t.b": "ours"}, "'t' has no column 'b'"),
        ({"t.s": "sum"}, "needs a number; 's' is string"),
        ({"t.a": "union"}, "needs an array; 'a' is int"),
        ({"t.a": "ours + elsewhere"}, "no column 'elsewhere' .columns: base, ours, theirs"),
    ],
)
def test_a_wrong_rule_is_refused_before_anything_is_written(
    repo: ab.Repository, rules: dict[str, str], problem: str
) -> None:
    fork(repo, make_t, put(1, a=11), put(1, a=12))
    before = repo.show("ours").hash
    with pytest.raises((ab.InvalidRequest, ab.NotFound), match=problem):
        repo.merge("theirs", into="ours", rules=rules)
    assert repo.show("ours").hash == before


# --- tables without a key ---


def make_keyless(tx: Any) -> None:
    tx.create_table("t", ROWS)


def test_equal_inserts_into_a_table_without_a_key_are_two_rows(repo: ab.Repository) -> None:
    fork(repo, make_keyless, insert((4, 4, "q")), insert((4, 4, "q")))
    repo.merge("theirs", into="ours")
    assert rows(repo) == [*OLD, (4, 4, "q"), (4, 4, "q")]


def test_rows_without_a_key_are_merged_by_their_hidden_ids(repo: ab.Repository) -> None:
    fork(repo, make_keyless, both(put(1, a=11), delete(2)), both(put(1, s="w"), put(3, id=7)))
    repo.merge("theirs", into="ours")
    assert rows(repo) == [(1, 11, "w"), (7, 30, "z")]


def test_conflicts_in_a_table_without_a_key_have_no_key(repo: ab.Repository) -> None:
    fork(repo, make_keyless, put(1, a=11), put(1, a=12))
    assert cells(conflict(repo)) == [((), "update/update", "a", 10, 11, 12)]


def test_two_overwrites_of_a_table_without_a_key_conflict(repo: ab.Repository) -> None:
    fork(
        repo,
        make_keyless,
        lambda tx: tx.table("t").overwrite([*ROWS[:2], {"id": 8, "a": 8, "s": "m"}]),
        lambda tx: tx.table("t").overwrite([*ROWS[1:], {"id": 9, "a": 9, "s": "n"}]),
    )
    found = conflict(repo)
    assert [(c["table"], c["kind"]) for c in found.objects] == [("t", "overwrite/overwrite")]


def test_an_overwrite_of_a_table_without_a_key_and_an_insert_are_merged(repo: ab.Repository) -> None:
    fork(repo, make_keyless, lambda tx: tx.table("t").overwrite(ROWS[:2]), insert((9, 9, "n")))
    repo.merge("theirs", into="ours")
    assert rows(repo) == [*OLD[:2], (9, 9, "n")]
