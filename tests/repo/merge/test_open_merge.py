"""Merges that are kept open: resolved by side, by row, by SQL or by hand, across processes and moving branches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import anabranch as ab
from anabranch.repo.merge.open_merge import OpenMerge
from tests.repo.merge.merge_cases import Act, act, both, cells, fork, make_t, nothing, rows, whole


def t(method: str, *args: Any, **named: Any) -> Act:
    return lambda tx: getattr(tx.table("t"), method)(*args, **named)


def put(id_: int, **values: Any) -> Act:
    return lambda tx: tx.table("t").upsert([{"id": id_, **values}])


def started(repo: ab.Repository, ours: Act, theirs: Act, base: Act = make_t, **how: Any) -> OpenMerge:
    fork(repo, base, ours, theirs)
    return repo.start_merge("theirs", into="ours", **how)


def left(merge: OpenMerge) -> list[tuple[Any, ...]]:
    """The rows and cells in conflict, by key and column."""
    return [(c[0][0], c[2]) for c in cells(merge.conflicts)] if "t" in merge.conflicts else []


OURS = both(put(1, a=11, s="p"), put(2, a=21), t("delete", where="id = 3"))
THEIRS = both(put(1, a=12, s="q"), put(2, a=22), put(3, a=32))
ALL = [(1, "a"), (1, "s"), (2, "a"), (3, None)]


# --- resolving rows ---

RESOLUTIONS: list[tuple[dict[str, Any], int, list[tuple[Any, ...]], dict[int, Any]]] = [
    ({"take": "ours"}, 4, [], {1: (11, "p"), 2: (21, "y")}),
    ({"take": "theirs"}, 4, [], {1: (12, "q"), 2: (22, "y"), 3: (32, "z")}),
    ({"take": "base"}, 4, [], {1: (10, "x"), 2: (20, "y"), 3: (30, "z")}),
    ({"take": "theirs", "where": "id < 3"}, 3, [(3, None)], {1: (12, "q"), 2: (22, "y")}),
    ({"take": "theirs", "where": "a = :a", "args": {"a": 21}}, 1, [(1, "a"), (1, "s"), (3, None)], {2: (22, "y")}),
    ({"take": "theirs", "key": {"id": 3}}, 1, ALL[:3], {3: (32, "z")}),
    ({"take": "theirs", "key": 1}, 2, ALL[2:], {1: (12, "q")}),
    ({"take": "theirs", "columns": "a"}, 2, [(1, "s"), (3, None)], {1: (12, "p"), 2: (22, "y")}),
    ({"take": "theirs", "columns": ["s"], "key": 1}, 1, [(1, "a"), (2, "a"), (3, None)], {1: (11, "q")}),
    ({"set": {"a": 3}, "key": {"id": 2}}, 1, [(1, "a"), (1, "s"), (3, None)], {2: (3, "y")}),
    ({"set": {"a": "ours + theirs - base"}, "where": "id < 3"}, 2, [(1, "s"), (3, None)], {1: (13, "p"), 2: (23, "y")}),
    ({"set": {"s": "concat(ours, theirs, :x)"}, "args": {"x": "!"}, "key": 1}, 1, ALL[:1] + ALL[2:], {1: (11, "pq!")}),
    ({"set": {"a": None}, "key": {"id": 2}}, 1, [(1, "a"), (1, "s"), (3, None)], {2: (None, "y")}),
    ({"set": {"a": 7}, "key": {"id": 3}}, 1, ALL[:3], {3: (7, "z")}),
]


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("true", "the value is boolean"),
        ("'a'", "the value is string"),
        ("ours > theirs", "the value is boolean"),
        (2.5, "double was given"),
    ],
)
def test_a_value_of_another_type_is_refused(repo: ab.Repository, value: Any, found: str) -> None:
    merge = started(repo, OURS, THEIRS)
    with pytest.raises(ab.InvalidRequest) as caught:
        merge.resolve("t", set={"a": value})
    told = f"resolve of 't': set={{'a': {value!r}}}: column 'a' is int, {found}"
    assert caught.value.message == told
    assert left(merge) == ALL


@pytest.mark.parametrize(("asked", "count", "open_", "after"), RESOLUTIONS)
def test_conflicts_of_rows_are_resolved_as_asked(
    duck: ab.Repository, asked: dict[str, Any], count: int, open_: list[Any], after: dict[int, Any]
) -> None:
    check(duck, asked, count, open_, after)


@pytest.mark.parametrize(("asked", "count", "open_", "after"), [RESOLUTIONS[1], RESOLUTIONS[4], RESOLUTIONS[11]])
def test_conflicts_of_rows_are_resolved_on_both_engines(
    repo: ab.Repository, asked: dict[str, Any], count: int, open_: list[Any], after: dict[int, Any]
) -> None:
    check(repo, asked, count, open_, after)


def check(repo: ab.Repository, asked: dict[str, Any], count: int, open_: list[Any], after: dict[int, Any]) -> None:
    merge = started(repo, OURS, THEIRS)
    assert left(merge) == ALL
    assert merge.resolve("t", **asked) == count
    assert left(merge) == open_
    if open_:
        with pytest.raises(ab.MergeConflict, match=r"'theirs' can't be merged into 'ours': .* conflict"):
            merge.finish()
        merge.resolve("t", take="ours")
    made = merge.finish()
    assert made.commit.parents[1] == repo.show("theirs").hash
    expected = {1: (11, "p"), 2: (21, "y")} | after
    assert {row[0]: row[1:] for row in rows(repo)} == expected
    assert repo.open_merges() == []


def of(columns: str, rows: int = 2) -> Act:
    """Make a table with whole numbers in these columns besides the key."""
    made = [{"id": n, **{c: 10 * n + place for place, c in enumerate(columns)}} for n in range(1, rows + 1)]
    return lambda tx: tx.create_table("t", made, key="id")


def each(*changes: tuple[int, dict[str, int]]) -> Act:
    """Change rows in a statement each."""
    return both(*(put(id_, **values) for id_, values in changes))


@pytest.mark.parametrize("columns", ["ab", "abc"])
@pytest.mark.parametrize("apart", [False, True])
def test_rows_in_conflict_in_different_columns_are_resolved(duck: ab.Repository, columns: str, apart: bool) -> None:
    ours = each((1, {"a": 101}), (2, {"b": 102}))
    theirs = each((2, {"b": 202}), (1, {"a": 201}))
    merge = started(duck, ours, theirs, of(columns))
    assert left(merge) == [(1, "a"), (2, "b")]
    if apart:
        assert merge.resolve("t", take="theirs", key=1) == 1
        assert merge.table("t").rows()[0]["a"] == 201
        assert left(merge) == [(2, "b")]
    merge.resolve("t", take="theirs")
    assert left(merge) == []
    expected = [(1, 201, 11, 12), (2, 20, 202, 22)]
    expected = [row[: len(columns) + 1] for row in expected]
    assert [tuple(row.values()) for row in merge.table("t").rows()] == expected
    merge.finish()
    assert rows(duck) == expected


def test_sources_that_conflict_at_the_same_key_are_resolved_one_after_another(duck: ab.Repository) -> None:
    fork(duck, of("ab"), put(1, a=1), put(1, a=2))
    duck.branch("more", at="main")
    act(duck, "more", put(1, a=3))
    merge = duck.start_merge(["theirs", "more"], into="ours")
    assert cells(merge.conflicts) == [((1,), "update/update", "a", 10, 1, 2)]
    merge.resolve("t", take="theirs")
    assert cells(merge.conflicts) == [((1,), "update/update", "a", 10, 2, 3)]
    merge.resolve("t", set={"a": "ours + theirs"})
    assert not merge.conflicts
    merge.finish()
    assert rows(duck) == [(1, 5, 11), (2, 20, 21)]


def test_a_row_in_which_nothing_was_asked_for_keeps_what_was_resolved(duck: ab.Repository) -> None:
    merge = started(duck, each((1, {"a": 101}), (2, {"b": 102})), each((1, {"a": 201}), (2, {"b": 202})), of("ab"))
    assert merge.resolve("t", take="theirs") == 2
    assert merge.resolve("t", set={"a": 7}) == 1
    assert left(merge) == []
    merge.finish()
    assert rows(duck) == [(1, 7, 11), (2, 20, 202)]


def test_a_cell_that_was_resolved_before_keeps_its_value_when_another_of_the_row_is_resolved(
    repo: ab.Repository,
) -> None:
    merge = started(repo, OURS, THEIRS)
    merge.resolve("t", key=1, set={"a": 99})
    merge.resolve("t", key=1, take="theirs")
    merge.resolve("t", take="ours")
    merge.finish()
    assert rows(repo)[0] == (1, 99, "q")


def test_rows_without_a_key_are_resolved_by_where(repo: ab.Repository) -> None:
    def make(tx: Any) -> None:
        tx.create_table("t", [{"id": 1, "a": 10, "s": "x"}, {"id": 2, "a": 20, "s": "y"}])

    merge = started(repo, t("update", {"a": 1}), t("update", {"a": 2}), make)
    assert merge.resolve("t", take="theirs", where="id = 2") == 1
    assert merge.resolve("t", take="ours") == 1
    merge.finish()
    assert rows(repo) == [(1, 1, "x"), (2, 2, "y")]


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        ({}, "resolve needs take= or set=, one of them"),
        ({"take": "ours", "set": {"a": 1}}, "resolve needs take= or set=, one of them"),
        ({"take": "mine"}, "take='mine' is no side"),
        ({"take": "ours", "key": 9}, "nothing in 't' that is in conflict was asked for"),
        ({"take": "ours", "where": "id = 9"}, "nothing in 't' that is in conflict was asked for"),
        ({"take": "ours", "columns": "b"}, "no column 'b'"),
        ({"set": {"b": 1}, "key": 1}, "no column 'b'"),
        ({"set": {"id": 1}, "key": 1}, "'id' is part of the key"),
        ({"take": "ours", "where": "b = 1"}, "no column 'b'"),
        ({"take": "ours", "key": {"nr": 1}}, "nr|id"),
    ],
)
def test_a_resolution_that_makes_no_sense_is_refused(duck: ab.Repository, asked: dict[str, Any], problem: str) -> None:
    merge = started(duck, OURS, THEIRS)
    with pytest.raises((ab.InvalidRequest, ab.NotFound), match=problem):
        merge.resolve("t", **asked)
    assert left(merge) == ALL


def test_a_table_that_is_not_there_cannot_be_resolved(duck: ab.Repository) -> None:
    merge = started(duck, OURS, THEIRS)
    merge.resolve("t", take="ours")
    with pytest.raises(ab.NotFound, match=r"there is no table 'tt' at this commit .did you mean 't'\?"):
        merge.resolve("tt", take="ours")
    with pytest.raises(ab.NotFound, match=r"nothing in 't' .* .no conflicts are left; the merge can go on"):
        merge.resolve("t", take="ours", key=9)


def test_another_table_than_those_in_conflict_cannot_be_resolved(duck: ab.Repository) -> None:
    merge = started(duck, OURS, THEIRS)
    with duck.commit(merge.into, "u") as tx:
        tx.create_table("u", [{"id": 1}], key="id")
    with pytest.raises(ab.NotFound, match=r"nothing in 'u' .* .there are conflicts in: t \(4\)"):
        merge.resolve("u", take="ours")


# --- tables and columns ---


@pytest.mark.parametrize(("side", "names"), [("ours", []), ("theirs", ["t"])])
def test_a_dropped_table_is_resolved_by_taking_a_side(repo: ab.Repository, side: Any, names: list[str]) -> None:
    merge = started(repo, t("drop"), put(1, a=11))
    assert whole(merge.conflicts) == [("t", "drop/update", None)]
    assert merge.resolve("t", take=side) == 1
    assert not merge.conflicts
    merge.finish()
    assert [e.name for e in repo.tables(at="ours")] == names
    if names:
        assert rows(repo)[0] == (1, 11, "x")


@pytest.mark.parametrize(("side", "columns"), [("ours", ["id", "s"]), ("theirs", ["id", "a", "s"])])
def test_a_column_is_resolved_first_and_then_rows(repo: ab.Repository, side: Any, columns: list[str]) -> None:
    merge = started(repo, both(t("drop_column", "a"), put(1, s="p")), both(put(1, a=11, s="q"), put(2, a=21)))
    assert whole(merge.conflicts) == [("t", "drop column/update", "a")]
    merge.resolve("t", take=side, columns="a")
    assert left(merge) == [(1, "s")]
    merge.resolve("t", take="theirs")
    merge.finish()
    assert [c.name for c in repo.table("t", at="ours").schema] == columns
    assert repo.table("t", at="ours", where="id = 1").rows()[0]["s"] == "q"
    if side == "theirs":
        assert [row[1] for row in rows(repo)] == [11, 21, 30]


def test_rows_that_were_resolved_before_a_column_was_are_asked_about_again(repo: ab.Repository) -> None:
    merge = started(repo, both(t("drop_column", "a"), put(1, s="p")), both(put(1, a=11, s="q"), put(2, a=21)))
    merge.resolve("t", key=1, take="theirs")
    assert left(merge) == []
    merge.resolve("t", take="theirs", columns="a")
    assert left(merge) == [(1, "s")]
    merge.resolve("t", take="ours")
    merge.finish()
    assert rows(repo) == [(1, 11, "p"), (2, 21, "y"), (3, 30, "z")]


def test_what_no_side_settles_says_so(duck: ab.Repository) -> None:
    fork(
        duck,
        both(lambda tx: tx.create_namespace("m"), lambda tx: tx.create_namespace("n")),
        lambda tx: tx.rename_namespace("m", "n.m"),
        lambda tx: tx.rename_namespace("n", "m.n"),
    )
    merge = duck.start_merge("theirs", into="ours")
    (found,) = merge.conflicts.objects
    with pytest.raises(ab.InvalidRequest, match=r"can't be settled by taking a side .change one of the branches"):
        merge.resolve(found["table"], take="ours")


# --- rows that break a constraint ---

BROKEN = both(put(1, a=101), put(2, a=21), t("insert", [{"id": 4, "a": 400, "s": "q"}]))


@pytest.mark.parametrize("into", ["ours", "theirs"])
def test_rows_that_break_a_check_can_be_given_values(repo: ab.Repository, into: str) -> None:
    fork(repo, make_t, t("add_check", "small", "a < 100"), BROKEN)
    merge = repo.start_merge("theirs" if into == "ours" else "ours", into=into)
    assert sorted(v["key"]["id"] for v in merge.conflicts.violations) == [1, 4]
    assert merge.resolve("t", key=1, set={"a": 99}) == 1
    assert [v["key"]["id"] for v in merge.conflicts.violations] == [4]
    with pytest.raises(ab.MergeConflict, match=r"t \(check small\)"):
        merge.finish()
    assert merge.resolve("t", set={"a": "theirs - 390" if into == "ours" else "ours - 390"}) == 1
    assert not merge.conflicts
    merge.finish()
    assert rows(repo, into) == [(1, 99, "x"), (2, 21, "y"), (3, 30, "z"), (4, 10, "q")]


def test_rows_that_break_a_check_can_be_taken_from_a_side(repo: ab.Repository) -> None:
    merge = started(repo, t("add_check", "small", "a < 100"), BROKEN)
    assert merge.resolve("t", take="ours") == 2
    merge.finish()
    assert rows(repo) == [(1, 10, "x"), (2, 21, "y"), (3, 30, "z")]


def test_a_value_that_breaks_the_check_again_is_still_shown(repo: ab.Repository) -> None:
    merge = started(repo, t("add_check", "small", "a < 100"), BROKEN)
    merge.resolve("t", key=1, set={"a": 500})
    assert sorted((v["key"]["id"], v["row"]["a"]) for v in merge.conflicts.violations) == [(1, 500), (4, 400)]


def test_nulls_that_break_a_constraint_are_filled(repo: ab.Repository) -> None:
    merge = started(repo, t("alter_column", "a", nullable=False), put(1, a=None))
    assert [(v["kind"], v["name"]) for v in merge.conflicts.violations] == [("not null", "a")]
    merge.resolve("t", where="id = 1", set={"a": 5})
    merge.finish()
    assert rows(repo)[0] == (1, 5, "x")


def test_rows_without_a_key_that_break_a_check_are_mended_by_where(repo: ab.Repository) -> None:
    def make(tx: Any) -> None:
        tx.create_table("t", [{"id": 1, "a": 10, "s": "x"}, {"id": 1, "a": 10, "s": "x"}])

    merge = started(repo, t("add_check", "small", "a < 100"), t("insert", [{"id": 2, "a": 200, "s": "q"}]), make)
    merge.resolve("t", where="id = 2", set={"a": 2})
    merge.finish()
    assert rows(repo) == [(1, 10, "x"), (1, 10, "x"), (2, 2, "q")]


@pytest.mark.parametrize("into", ["ours", "theirs"])
def test_rows_that_break_a_check_are_told_beside_those_in_conflict(repo: ab.Repository, into: str) -> None:
    fork(repo, make_t, both(t("add_check", "small", "a < 100"), put(3, a=31)), both(BROKEN, put(3, a=300)))
    merge = repo.start_merge("theirs" if into == "ours" else "ours", into=into)
    assert left(merge) == [(3, "a")]
    assert sorted(v["key"]["id"] for v in merge.conflicts.violations) == [1, 4]
    assert merge.conflicts.count() == 3
    with pytest.raises(ab.MergeConflict, match=r"3 conflicts in t \(1\), t \(check small\)"):
        merge.finish()
    assert merge.resolve("t", key=1, set={"a": 1}) == 1
    assert merge.resolve("t", take="theirs" if into == "ours" else "ours", where="id = 3") == 1
    assert (left(merge), sorted(v["key"]["id"] for v in merge.conflicts.violations)) == ([], [3, 4])
    assert merge.resolve("t", set={"a": 0}) == 2
    merge.finish()
    assert [row[1] for row in rows(repo, into)] == [1, 21, 0, 0]


def test_one_resolution_settles_rows_in_conflict_and_rows_that_break_a_check(duck: ab.Repository) -> None:
    merge = started(duck, both(t("add_check", "small", "a < 100"), put(3, a=31)), both(BROKEN, put(3, a=300)))
    assert merge.resolve("t", take="ours") == 3
    merge.finish()
    assert rows(duck) == [(1, 10, "x"), (2, 21, "y"), (3, 31, "z")]


def test_a_merge_refused_for_both_leaves_no_files(duck: ab.Repository, tmp_path: Path) -> None:
    def files() -> set[Path]:
        return set((tmp_path / "store").rglob("*.parquet"))

    fork(duck, make_t, both(t("add_check", "small", "a < 100"), put(3, a=31)), both(BROKEN, put(3, a=300)))
    before = files()
    with pytest.raises(ab.MergeConflict):
        duck.merge("theirs", into="ours")
    assert files() == before


def test_rows_that_a_key_does_not_tell_apart_are_left_to_the_branches(duck: ab.Repository) -> None:
    merge = started(duck, t("set_key", "s"), t("insert", [{"id": 4, "a": 40, "s": "x"}]))
    way_out = "change the rows or tables on 'ours', then finish(); or abort(), change the source and merge again"
    with pytest.raises(ab.InvalidRequest, match=r"rows of 't' that break its key \(s\) can't be resolved") as refused:
        merge.resolve("t", take="ours")
    with pytest.raises(ab.MergeConflict, match=r"1 conflict in t \(key s\)") as caught:
        merge.finish()
    assert (refused.value.hint, caught.value.hint) == (way_out, way_out)
    with pytest.raises(ab.MergeConflict) as plain:
        duck.merge("theirs", into="ours")
    assert plain.value.hint == "change the rows or tables on one of the branches, then merge again"
    act(duck, "theirs", t("delete", where="id = 4"))
    again = duck.start_merge("theirs", into="ours")
    assert not again.conflicts


def test_rows_that_a_key_does_not_tell_apart_are_changed_on_the_branch(duck: ab.Repository) -> None:
    merge = started(duck, t("insert", [{"id": 4, "a": 40, "s": "x"}]), t("set_key", "s"))
    with pytest.raises(ab.MergeConflict, match="change the rows or tables on 'ours'"):
        merge.finish()
    act(duck, "ours", t("delete", where="id = 4"))
    merge.finish()
    assert duck.table("t", at="ours").key == ("s",)


def test_what_can_be_resolved_is_hinted_at(duck: ab.Repository) -> None:
    with pytest.raises(ab.MergeConflict) as caught:
        started(duck, OURS, THEIRS).finish()
    assert caught.value.hint == "resolve(…) them, then finish(); abort() gives the merge up"


# --- processes, and branches that move ---


def test_an_open_merge_survives_the_process(tmp_path: Path, engine: dict[str, Any]) -> None:
    with ab.init(tmp_path / "store", author="ann", **engine) as repo:
        merge = started(repo, OURS, THEIRS, message="join them")
        merge.resolve("t", take="theirs", where="id = 1")
    with ab.open(tmp_path / "store", author="bob", **engine) as repo:
        (merge,) = repo.open_merges()
        assert (merge.into, merge.sources, merge.message) == ("ours", ("theirs",), "join them")
        assert left(merge) == ALL[2:]
        merge.resolve("t", take="ours")
        made = merge.finish().commit
        assert (made.message, made.author) == ("join them", "ann")
        assert rows(repo) == [(1, 12, "q"), (2, 21, "y")]


@pytest.mark.parametrize(("ff", "parents"), [("auto", 1), ("never", 2), ("only", 1)])
def test_an_open_merge_keeps_what_was_said_of_fast_forwards(tmp_path: Path, ff: Any, parents: int) -> None:
    with ab.init(tmp_path / "store", author="ann", engine="duck") as repo:
        act(repo, "main", make_t)
        repo.branch("theirs", at="main")
        act(repo, "theirs", THEIRS)
        repo.start_merge("theirs", into="main", ff=ff)
    with ab.open(tmp_path / "store", author="bob", engine="duck") as repo:
        (merge,) = repo.open_merges()
        assert len(merge.finish().commit.parents) == parents


def test_an_open_merge_without_conflicts_is_finished_like_a_merge(repo: ab.Repository) -> None:
    merge = started(repo, put(1, a=11), put(2, a=22))
    assert not merge.conflicts
    made = merge.finish("by hand").commit
    assert (len(made.parents), made.message) == (2, "by hand")
    assert [row[1] for row in rows(repo)] == [11, 22, 30]


def test_sources_are_fixed_when_the_merge_is_opened(repo: ab.Repository) -> None:
    merge = started(repo, OURS, THEIRS)
    source = repo.show("theirs").hash
    act(repo, "theirs", put(9, a=9))
    merge.resolve("t", take="theirs")
    assert merge.finish().commit.parents[1] == source
    assert 9 not in [row[0] for row in rows(repo)]


def test_resolutions_hold_where_the_three_rows_are_as_they_were(repo: ab.Repository) -> None:
    merge = started(repo, OURS, THEIRS)
    merge.resolve("t", take="theirs")
    assert not merge.conflicts
    act(repo, "ours", put(2, a=77), put(8, a=8))
    assert cells(merge.conflicts) == [((2,), "update/update", "a", 20, 77, 22)]
    with pytest.raises(ab.MergeConflict):
        merge.finish()
    merge.resolve("t", take="ours")
    merge.finish()
    assert [row[:2] for row in rows(repo)] == [(1, 12), (2, 77), (3, 32), (8, 8)]


def test_two_handles_see_what_the_other_resolved(duck: ab.Repository) -> None:
    one = started(duck, both(OURS, t("rename", "v")), both(THEIRS, t("drop_column", "s")))
    (two,) = duck.open_merges()
    assert whole(one.conflicts) == whole(two.conflicts) == [("v", "update/drop column", "s")]
    one.resolve("v", take="theirs", columns="s")
    assert [(c["key"]["id"], c["column"]) for c in two.conflicts["v"].rows()] == [(1, "a"), (2, "a"), (3, None)]
    two.resolve("v", take="theirs")
    one.finish()
    assert rows(duck, table="v") == [(1, 12), (2, 22), (3, 32)]


def test_a_resolution_of_what_was_resolved_elsewhere_meanwhile_is_refused(
    duck: ab.Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    from anabranch.repo.merge import resolve as verb

    one = started(duck, OURS, THEIRS)
    (two,) = duck.open_merges()
    original = verb.resolve_rows

    def beside(*args: Any) -> Any:
        monkeypatch.setattr(verb, "resolve_rows", original)
        two.resolve("t", take="ours", key=1)
        return original(*args)

    monkeypatch.setattr(verb, "resolve_rows", beside)
    with pytest.raises(ab.BranchMoved, match="was changed or ended elsewhere"):
        one.resolve("t", take="theirs")
    assert left(one) == ALL[2:]


@pytest.mark.parametrize("end", ["finish", "abort"])
def test_a_merge_that_has_ended_can_be_neither_finished_nor_resolved(duck: ab.Repository, end: str) -> None:
    merge = started(duck, put(1, a=11), put(2, a=22))
    (other,) = duck.open_merges()
    getattr(merge, end)()
    shown = duck.show("ours").hash
    for again in (merge, other):
        with pytest.raises(ab.NotFound, match="of theirs is not open any more"):
            again.finish()
        with pytest.raises(ab.NotFound, match="of theirs is not open any more"):
            again.resolve("t", take="ours")
    assert duck.show("ours").hash == shown


def test_an_aborted_merge_leaves_nothing(repo: ab.Repository, tmp_path: Path) -> None:
    from tests.repo.merge.test_merge_verb import stored

    fork(repo, make_t, OURS, THEIRS)
    before = stored(repo, tmp_path / "store"), [(b.name, b.commit) for b in repo.branches()]
    merge = repo.start_merge("theirs", into="ours")
    merge.resolve("t", take="theirs", where="id = 1")
    merge.abort()
    assert repo.open_merges() == []
    assert (stored(repo, tmp_path / "store"), [(b.name, b.commit) for b in repo.branches()]) == before


def test_an_open_merge_follows_its_branch_to_another_name(duck: ab.Repository) -> None:
    merge = started(duck, OURS, THEIRS)
    duck.rename_branch("ours", "mine")
    assert left(merge) == ALL
    assert merge.into == "mine"
    merge.resolve("t", take="ours")
    merge.finish()
    assert len(duck.show("mine").parents) == 2


def test_an_open_merge_goes_with_its_branch(duck: ab.Repository) -> None:
    merge = started(duck, OURS, THEIRS)
    duck.delete_branch("ours", force=True)
    assert duck.open_merges() == []
    with pytest.raises(ab.NotFound, match="is not open any more"):
        merge.finish()


def test_a_source_branch_may_go_meanwhile(duck: ab.Repository) -> None:
    merge = started(duck, OURS, THEIRS)
    duck.delete_branch("theirs", force=True)
    merge.resolve("t", take="theirs")
    merge.finish()
    assert [row[1] for row in rows(duck)] == [12, 22, 32]


def test_a_replay_cannot_be_kept_open(duck: ab.Repository) -> None:
    fork(duck, make_t, nothing, nothing)
    with pytest.raises(ab.InvalidRequest, match="a replay can't be kept open"):
        duck.start_merge("theirs", into="ours", mode="replay")


def test_a_merge_that_cannot_be_worked_out_is_not_kept(duck: ab.Repository) -> None:
    fork(duck, make_t, OURS, THEIRS)
    with pytest.raises(ab.InvalidRequest, match="has no column 'b'"):
        duck.start_merge("theirs", into="ours", rules={"t.b": "ours"})
    assert duck.open_merges() == []


def test_rules_and_strictness_are_kept_with_the_merge(duck: ab.Repository) -> None:
    started(duck, OURS, THEIRS, rules={"t.a": "max"}, strictness="row", mode="squash")
    (merge,) = duck.open_merges()
    assert left(merge) == [(1, "s"), (3, None)]
    merge.resolve("t", take="ours")
    made = merge.finish().commit
    assert (len(made.parents), made.provenance) == (1, (duck.show("theirs").hash,))
    assert [row[1] for row in rows(duck)] == [12, 22]


# --- looking at it before it is finished ---


def test_a_resolution_can_be_looked_at_and_changed_before_it_is_finished(repo: ab.Repository) -> None:
    merge = started(repo, OURS, THEIRS)
    merge.resolve("t", take="theirs", where="id < 3")
    assert left(merge) == [(3, None)]
    assert merge.table("t").get({"id": 1}) == {"id": 1, "a": 12, "s": "q"}
    assert {r["key"]["id"] for r in merge.diff()["t"].rows()} == {1, 2}
    assert merge.resolve("t", take="ours", key=1) == 2
    assert merge.resolve("t", set={"a": 7}, key=3) == 1
    assert (left(merge), merge.table("t").get({"id": 3})) == ([], {"id": 3, "a": 7, "s": "z"})
    merge.finish()
    assert rows(repo) == [(1, 11, "p"), (2, 22, "y"), (3, 7, "z")]


def test_a_decision_about_a_column_can_be_changed_before_it_is_finished(duck: ab.Repository) -> None:
    merge = started(duck, t("rename_column", "a", "b"), t("rename_column", "a", "c"))
    for side, name in (("theirs", "c"), ("ours", "b")):
        assert merge.resolve("t", take=side) == 1
        assert merge.table("t").schema.names == ("id", name, "s")


def test_conflicts_are_worked_out_once_however_often_some_are_resolved(
    duck: ab.Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    merge = started(duck, OURS, THEIRS)
    assert left(merge) == ALL
    with monkeypatch.context() as patched:
        patched.setattr("anabranch.repo.merge.open_merge.work_out", pytest.fail)
        merge.resolve("t", take="theirs", columns="a", key=1)
        assert left(merge) == ALL[1:]
        merge.resolve("t", take="ours", key=1)
        merge.resolve("t", take="theirs", where="id > 1")
        assert not merge.conflicts
    assert not duck.open_merges()[0].conflicts
    merge.finish()
    assert rows(duck) == [(1, 12, "p"), (2, 22, "y"), (3, 32, "z")]
