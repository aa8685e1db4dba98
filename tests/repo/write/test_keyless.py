"""Tables without a key: equal rows are different rows, and each keeps its identity."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import anabranch as ab

ROWS = [{"a": 1, "b": "x"}, {"a": 1, "b": "x"}, {"a": 2, "b": None}, {"a": None, "b": None}]


@pytest.fixture
def made(repo: ab.Repository) -> ab.Repository:
    with repo.commit("main", "make") as tx:
        tx.create_table("t", ROWS)
    return repo


def found(repo: ab.Repository, at: str = "main") -> list[tuple[Any, Any]]:
    return sorted(((r["a"], r["b"]) for r in repo.table("t", at=at).rows()), key=repr)


def test_equal_rows_are_different_rows(made: ab.Repository) -> None:
    assert made.table("t").count() == 4
    assert found(made) == sorted(((r["a"], r["b"]) for r in ROWS), key=repr)
    with made.commit("main", "more") as tx:
        assert tx.table("t").insert(ROWS[:2]).inserted == 2
    assert found(made).count((1, "x")) == 4


def test_the_row_id_never_shows(made: ab.Repository) -> None:
    table = made.table("t")
    assert (table.key, table.schema.names, table.schema.key) == ((), ("a", "b"), ())
    assert table.arrow().column_names == ["a", "b"]
    assert table.head(2)[0].keys() == {"a", "b"}
    with pytest.raises(ab.AnabranchError):
        made.table("t", where="_ana_place = 0").rows()
    with pytest.raises(ab.NotFound):
        made.table("t", columns=["_ana_write"])
    assert made.tables()[0].key == ()


def test_the_row_id_does_not_show_in_a_wide_diff(made: ab.Repository) -> None:
    with made.commit("main", "change") as tx:
        tx.table("t").update({"b": "'y'"}, where="a = 2")
        tx.table("t").delete(where="a is null")
    wide = made.diff("main~1", "main")["t"].wide()
    assert [f.name for f in wide.schema.field("before").type] == ["a", "b"]
    assert sorted(wide.to_pylist(), key=repr) == [
        {"_change_type": "delete", "before": {"a": None, "b": None}, "after": None},
        {"_change_type": "update", "before": {"a": 2, "b": None}, "after": {"a": 2, "b": "y"}},
    ]


def test_the_row_id_does_not_show_in_conflicts(made: ab.Repository) -> None:
    made.branch("dev")
    for branch, value in (("main", "'p'"), ("dev", "'q'")):
        with made.commit(branch, "change") as tx:
            tx.table("t").update({"b": value}, where="a = 2")
    with pytest.raises(ab.MergeConflict) as refused:
        made.merge("dev", into="main")
    conflicts = refused.value.conflicts
    told = {"key": {}, "kind": "update/update", "column": "b", "base": None, "ours": "p", "theirs": "q"}
    assert conflicts["t"].rows() == [told]
    assert (repr(conflicts), repr(conflicts["t"])) == ("Conflicts(t (1))", "TableConflicts('t', 1)")


def test_a_row_that_several_rows_of_a_merge_match_is_named_by_its_values(made: ab.Repository) -> None:
    text = "MERGE INTO t USING {new} s ON t.a = s.a WHEN MATCHED THEN UPDATE SET b = s.b"
    new = [{"a": 2, "b": "p"}, {"a": 2, "b": "q"}]
    with pytest.raises(ab.InvalidRequest, match=r"match one row of the table: a=2, b=NULL \("):
        made.sql(text, new=new)
    assert made.table("t", where="a = 2").rows() == [{"a": 2, "b": None}]


@pytest.mark.parametrize("verb", ["insert", "overwrite"])
def test_nulls_that_may_not_be_are_named(made: ab.Repository, verb: str) -> None:
    with made.commit("main", "firm") as tx:
        tx.table("t").delete(where="a is null")
        tx.table("t").alter_column("a", nullable=False)
    refused = pytest.raises(ab.InvalidRequest, match="null in column 'a', which may not be null: a=NULL")
    with refused, made.commit("main", "null") as tx:
        getattr(tx.table("t"), verb)([{"a": 1, "b": "x"}, {"a": None, "b": "x"}])
    assert made.table("t").count() == 3


def test_update_and_delete_keep_identity(made: ab.Repository) -> None:
    with made.commit("main", "update") as tx:
        assert tx.table("t").update({"b": "'y'"}, where="a = 1").updated == 2
        assert tx.table("t").update({"b": "'z'"}, where="a = 2").updated == 1
    with made.commit("main", "delete") as tx:
        assert tx.table("t").delete(where="b = 'y'").deleted == 2
    assert found(made) == sorted([(2, "z"), (None, None)], key=repr)
    assert found(made, "main~1").count((1, "y")) == 2


def test_several_statements_in_one_commit_are_one_change(made: ab.Repository) -> None:
    with made.commit("main", "many") as tx:
        table = tx.table("t")
        table.insert([{"a": 5, "b": "new"}, {"a": 6, "b": "new"}])
        table.update({"a": "a + 10"}, where="b = 'new'")
        table.delete(where="a = 15")
        table.delete(where="a = 2")
    (change,) = made.show_changes()
    assert (change.inserted, change.updated, change.deleted) == (1, 0, 1)
    assert found(made) == sorted([(1, "x"), (1, "x"), (16, "new"), (None, None)], key=repr)


def test_an_overwrite_keeps_equal_rows_and_counts_them(made: ab.Repository) -> None:
    with made.commit("main", "same") as tx:
        tx.table("t").overwrite(list(reversed(ROWS)))
    assert tx.commit is None
    with made.commit("main", "one less, one more") as tx:
        counts = tx.table("t").overwrite(
            [{"a": 1, "b": "x"}, {"a": 2, "b": None}, {"a": None, "b": None}] * 1 + [{"a": 2, "b": None}]
        )
    assert (counts.inserted, counts.updated, counts.deleted) == (1, 0, 1)
    assert found(made) == sorted([(1, "x"), (2, None), (2, None), (None, None)], key=repr)
    with made.commit("main", "nothing") as tx:
        tx.table("t").overwrite(pa.table({"a": pa.array([], pa.int64()), "b": pa.array([], pa.string())}))
    assert made.table("t").count() == 0
    assert made.table("t").rows() == []


def test_what_needs_a_key_says_so(made: ab.Repository) -> None:
    with pytest.raises(ab.InvalidRequest, match="no key"):
        made.table("t").get({"a": 1})
    with pytest.raises(ab.InvalidRequest, match="no key"), made.commit("main", "upsert") as tx:
        tx.table("t").upsert(ROWS)


def test_an_open_commit_on_a_table_without_a_key_survives(made: ab.Repository) -> None:
    opened = made.start("main", message="later")
    opened.table("t").insert([{"a": 9, "b": "later"}])
    opened.table("t").add_column("c", "int", default="3")
    opened.table("t").update({"c": "4"}, where="a = 9")
    (again,) = made.open_commits()
    assert again.table("t").count() == 5
    assert again.finish() is not None
    assert sorted((r["a"] or 0, r["c"]) for r in made.table("t").rows()) == [(0, 3), (1, 3), (1, 3), (2, 3), (9, 4)]


def round_trip(repo: ab.Repository, branch: str) -> None:
    """Give the table a key and take it away again: the same rows under new row ids."""
    with repo.commit(branch, "a key") as tx:
        tx.table("t").set_key("id")
    with repo.commit(branch, "none again") as tx:
        tx.table("t").set_key(None)


@pytest.fixture
def numbered(repo: ab.Repository) -> ab.Repository:
    with repo.commit("main", "make") as tx:
        tx.create_table("t", [{"id": 1, "v": 1}, {"id": 2, "v": 2}])
    repo.branch("dev")
    round_trip(repo, "main")
    return repo


def values(repo: ab.Repository, at: str = "main") -> list[tuple[int, int]]:
    return sorted((r["id"], r["v"]) for r in repo.table("t", at=at).rows())


def test_rows_that_were_numbered_anew_are_compared_by_their_values(numbered: ab.Repository) -> None:
    assert not any(numbered.diff("main~2", "main")["t"].counts().values())
    with numbered.commit("main", "more") as tx:
        tx.table("t").update({"v": "8"}, where="id = 2")
    counts = numbered.diff("main~3", "main")["t"].counts()
    assert (counts["inserted"], counts["deleted"]) == (1, 1)


def test_a_new_numbering_is_taken_where_the_other_side_left_the_rows_alone(numbered: ab.Repository) -> None:
    with numbered.commit("dev", "beside") as tx:
        tx.create_table("other", [{"id": 1}], key="id")
    numbered.merge("main", into="dev")
    assert values(numbered, "dev") == [(1, 1), (2, 2)]
    for branch, value in (("main", "7"), ("dev", "8")):  # from here on both know the rows by the same ids
        with numbered.commit(branch, "more") as tx:
            tx.table("t").update({"v": value}, where=f"id = {value} - 6")
    numbered.merge("dev", into="main")
    assert values(numbered) == [(1, 7), (2, 8)]


def test_a_new_numbering_against_changed_rows_is_a_conflict(numbered: ab.Repository) -> None:
    with numbered.commit("dev", "more") as tx:
        tx.table("t").update({"v": "8"}, where="id = 2")
    with pytest.raises(ab.MergeConflict, match="key/rows"):
        numbered.merge("dev", into="main")
    merge = numbered.start_merge("dev", into="main")
    merge.resolve("t", take="theirs")
    merge.finish()
    assert values(numbered) == [(1, 1), (2, 8)]


def test_two_new_numberings_never_double_the_rows(numbered: ab.Repository) -> None:
    round_trip(numbered, "dev")
    with pytest.raises(ab.MergeConflict, match="key/key"):
        numbered.merge("dev", into="main")
    assert values(numbered) == [(1, 1), (2, 2)]
