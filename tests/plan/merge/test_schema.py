"""Two schemas that came from one, merged: each case is run both ways."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from anabranch.model.ids import ColumnId, SchemaId, new_id
from anabranch.model.schema import Schema
from anabranch.plan.merge.rules import Strictness
from anabranch.plan.merge.schema import SchemaMerge, merge_schema
from anabranch.plan.merge.sides import Decisions, ThingSide
from tests.plan.merge.sides import (
    Edit,
    add,
    after,
    alter,
    check,
    cluster,
    described,
    drop,
    insert,
    order,
    rekey,
    rename,
    schema_of,
    table,
    update,
)


def merged(
    base: ThingSide | None,
    ours: ThingSide,
    theirs: ThingSide,
    strictness: Strictness = "cell",
    decisions: Decisions | None = None,
) -> SchemaMerge:
    return merge_schema(base, ours, theirs, strictness, decisions)


def shown(result: SchemaMerge) -> str:
    return described(replace(table(), schema=result.schema))


def kinds(result: SchemaMerge) -> list[str]:
    return [c.kind for c in result.conflicts]


@dataclass(frozen=True)
class Case:
    """What two sides did, and what the table is then; `back` where it differs with the sides changed."""

    name: str
    left: tuple[Edit, ...]
    right: tuple[Edit, ...]
    result: str
    back: str | None = None


PLAIN = "id bigint, a int, b int by id"
MERGES = [
    Case("nothing", (), (), PLAIN),
    Case("a column added on one side", (add("x"),), (), "id bigint, a int, b int, x int by id"),
    Case(
        "columns added on both sides: ours, then theirs",
        (add("x"),),
        (add("y", "string"),),
        "id bigint, a int, b int, x int, y string by id",
        "id bigint, a int, b int, y string, x int by id",
    ),
    Case("a column added alike", (add("x"),), (add("x"),), "id bigint, a int, b int, x int by id"),
    Case(
        "a column added alike with a value for old rows",
        (add("x", first="0"),),
        (add("x", first="0"),),
        "id bigint, a int, b int, x int by id",
    ),
    Case("a column dropped on one side", (drop("a"),), (), "id bigint, b int by id"),
    Case("a column dropped on both sides", (drop("a"),), (drop("a"),), "id bigint, b int by id"),
    Case("different columns dropped", (drop("a"),), (drop("b"),), "id bigint by id"),
    Case("a column dropped, others updated", (drop("a"),), (update("b"),), "id bigint, b int by id"),
    Case("a column dropped, rows inserted", (drop("a"),), (insert,), "id bigint, b int by id"),
    Case("a column dropped, another renamed", (drop("a"),), (rename("b", "c"),), "id bigint, c int by id"),
    Case("a column renamed on one side", (rename("a", "x"),), (), "id bigint, x int, b int by id"),
    Case("a column renamed alike", (rename("a", "x"),), (rename("a", "x"),), "id bigint, x int, b int by id"),
    Case(
        "two columns swap names",
        (rename("a", "t"), rename("b", "a"), rename("t", "b")),
        (),
        "id bigint, b int, a int by id",
    ),
    Case(
        "a name that was given up is taken",
        (rename("a", "x"), add("a", "string")),
        (update("b"),),
        "id bigint, x int, b int, a string by id",
    ),
    Case("renamed here, updated there", (rename("a", "x"),), (update("a"),), "id bigint, x int, b int by id"),
    Case(
        "renamed here, widened there",
        (rename("a", "x"),),
        (alter("a", type="bigint"),),
        "id bigint, x bigint, b int by id",
    ),
    Case("widened on one side", (alter("a", type="bigint"),), (), "id bigint, a bigint, b int by id"),
    Case(
        "widened on both sides: the wider",
        (alter("a", type="bigint"),),
        (alter("a", type="decimal(21,2)"),),
        "id bigint, a decimal(21,2), b int by id",
    ),
    Case("not null on one side", (alter("a", nullable=False),), (), "id bigint, a int!, b int by id"),
    Case(
        "not null on one side, another default on the other",
        (alter("a", nullable=False),),
        (alter("a", default="1"),),
        "id bigint, a int!=1, b int by id",
    ),
    Case(
        "a default on one side, a comment and a name on the other",
        (alter("a", default="1"),),
        (alter("a", comment="pieces"), rename("a", "x")),
        "id bigint, x int=1#pieces, b int by id",
    ),
    Case(
        "the same default and comment on both sides",
        (alter("a", default="1", comment="pieces"),),
        (alter("a", default="1", comment="pieces"),),
        "id bigint, a int=1#pieces, b int by id",
    ),
    Case(
        "the same default, written differently",
        (alter("a", default="1.0"),),
        (alter("a", default="1.00"),),
        "id bigint, a int=1.0, b int by id",
        back="id bigint, a int=1.00, b int by id",
    ),
    Case(
        "a column added alike, its default written differently",
        (add("x", "decimal(9,2)", first="1.0", default="1.0"),),
        (add("x", "decimal(9,2)", first="1.00", default="1.00"),),
        "id bigint, a int, b int, x decimal(9,2)=1.0 by id",
        back="id bigint, a int, b int, x decimal(9,2)=1.00 by id",
    ),
    Case(
        "a column dropped and added again, rows updated",
        (drop("a"), add("a", "string")),
        (update("b"),),
        "id bigint, b int, a string by id",
    ),
    Case(
        "a column dropped and added again on both sides, rows inserted",
        (drop("a"), add("a", "string")),
        (drop("a"), add("a", "string"), insert),
        "id bigint, b int, a string by id",
    ),
    Case(
        "a column dropped and its name given to another, rows inserted",
        (drop("a"), rename("b", "a")),
        (insert,),
        "id bigint, a int by id",
    ),
    Case("put in another order on one side", (order("b", "a", "id"),), (), "b int, a int, id bigint by id"),
    Case(
        "put in another order, and a column added",
        (order("b", "a", "id"),),
        (add("x"),),
        "b int, a int, id bigint, x int by id",
    ),
    Case("another key on one side", (rekey("id", "a"),), (), "id bigint, a int, b int by id+a"),
    Case("the same new key", (rekey("a"),), (rekey("a"),), "id bigint!, a int, b int by a"),
    Case("the key given up", (rekey(),), (), "id bigint!, a int, b int by nothing"),
    Case("a key, and a column", (rekey("a"),), (add("x"),), "id bigint!, a int, b int, x int by a"),
    Case(
        "a not-null column with a value for old rows, rows inserted",
        (add("x", first="0", nullable=False),),
        (insert,),
        "id bigint, a int, b int, x int! by id",
    ),
    Case(
        "a not-null column without one, rows updated",
        (add("x", nullable=False),),
        (update("a"),),
        "id bigint, a int, b int, x int! by id",
    ),
]


@pytest.mark.parametrize("case", MERGES, ids=lambda c: c.name)
def test_schemas_that_agree_become_one(case: Case) -> None:
    base = table()
    left, right = after(base, *case.left), after(base, *case.right)
    for ours, theirs, wanted in ((left, right, case.result), (right, left, case.back or case.result)):
        result = merged(base, ours, theirs)
        assert (kinds(result), shown(result)) == ([], wanted)


@dataclass(frozen=True)
class Clash:
    """What two sides did, the conflict that it is, and the table if either side is chosen."""

    kind: str
    left: tuple[Edit, ...]
    right: tuple[Edit, ...]
    taking_left: str
    taking_right: str


AGAIN = "id bigint, b int, a string by id"
CLASHES = [
    Clash(
        "rename column/rename column",
        (rename("a", "x"),),
        (rename("a", "y"),),
        "id bigint, x int, b int by id",
        "id bigint, y int, b int by id",
    ),
    Clash(
        "rename column/rename column",
        (rename("a", "x"), alter("x", default="1")),
        (rename("a", "y"), alter("y", comment="pieces")),
        "id bigint, x int=1#pieces, b int by id",
        "id bigint, y int=1#pieces, b int by id",
    ),
    Clash(
        "alter column/alter column",
        (alter("a", default="1"),),
        (alter("a", default="2", nullable=False),),
        "id bigint, a int!=1, b int by id",
        "id bigint, a int!=2, b int by id",
    ),
    Clash(
        "alter column/alter column",
        (alter("a", comment="pieces"),),
        (alter("a", comment="boxes", type="bigint"),),
        "id bigint, a bigint#pieces, b int by id",
        "id bigint, a bigint#boxes, b int by id",
    ),
    Clash(
        "add column/add column",
        (add("x"),),
        (add("X"),),
        "id bigint, a int, b int, x int by id",
        "id bigint, a int, b int, X int by id",
    ),
    Clash(
        "add column/add column",
        (add("x", default="1"),),
        (add("x", default="2"),),
        "id bigint, a int, b int, x int=1 by id",
        "id bigint, a int, b int, x int=2 by id",
    ),
    Clash(
        "add column/add column",
        (add("x", first="0"),),
        (add("x", first="0", nullable=False),),
        "id bigint, a int, b int, x int by id",
        "id bigint, a int, b int, x int! by id",
    ),
    Clash("insert/drop column", (insert,), (drop("a"), add("a", "string")), PLAIN, AGAIN),
    Clash(
        "insert/drop column",
        (insert,),
        (add("w", "string"), update("w"), drop("a"), rename("w", "a")),
        PLAIN,
        AGAIN,
    ),
    Clash("update/drop column", (update("a"),), (drop("a"), add("A", "string")), PLAIN, AGAIN.replace("a s", "A s")),
    Clash("update/drop column", (update("a"),), (drop("a"),), PLAIN, "id bigint, b int by id"),
    Clash(
        "rename column/drop column",
        (rename("a", "x"),),
        (drop("a"),),
        "id bigint, x int, b int by id",
        "id bigint, b int by id",
    ),
    Clash(
        "alter type/drop column",
        (alter("a", type="bigint"),),
        (drop("a"),),
        "id bigint, a bigint, b int by id",
        "id bigint, b int by id",
    ),
    Clash(
        "alter column/drop column",
        (alter("a", default="1"),),
        (drop("a"),),
        "id bigint, a int=1, b int by id",
        "id bigint, b int by id",
    ),
    Clash(
        "key/drop column",
        (rekey("id", "a"),),
        (drop("a"),),
        "id bigint, a int, b int by id+a",
        "id bigint, b int by id",
    ),
    Clash("add check/drop column", (check("c", "a > 0", "a"),), (drop("a"),), PLAIN, "id bigint, b int by id"),
    Clash(
        "alter type/alter type",
        (alter("a", type="bigint"),),
        (alter("a", type="double"),),
        "id bigint, a bigint, b int by id",
        "id bigint, a double, b int by id",
    ),
    Clash(
        "add column/add column",
        (add("x"),),
        (add("X", "string"),),
        "id bigint, a int, b int, x int by id",
        "id bigint, a int, b int, X string by id",
    ),
    Clash(
        "add column/add column",
        (add("x", first="0"),),
        (add("x", first="1"),),
        "id bigint, a int, b int, x int by id",
        "id bigint, a int, b int, x int by id",
    ),
    Clash(
        "rename column/rename column",
        (rename("a", "x"),),
        (rename("b", "X"),),
        "id bigint, x int, b int by id",
        "id bigint, a int, X int by id",
    ),
    Clash(
        "add column/rename column",
        (add("x"),),
        (rename("b", "x"),),
        "id bigint, a int, b int, x int by id",
        "id bigint, a int, x int by id",
    ),
    Clash(
        "add column/insert",
        (add("x", nullable=False),),
        (insert,),
        "id bigint, a int, b int, x int! by id",
        "id bigint, a int, b int, x int by id",
    ),
    Clash("key/key", (rekey("a"),), (rekey("b"),), "id bigint!, a int, b int! by a", "id bigint!, a int!, b int by b"),
    Clash(
        "add check/rename column",
        (check("c", "a > 0", "a"),),
        (rename("a", "x"),),
        PLAIN,
        "id bigint, x int, b int by id",
    ),
    Clash("add check/add check", (check("c", "a > 0", "a"),), (check("c", "b > 0", "b"),), PLAIN, PLAIN),
]


@pytest.mark.parametrize("case", CLASHES, ids=lambda c: c.kind)
def test_schemas_that_do_not_agree_are_a_conflict_that_taking_a_side_settles(case: Clash) -> None:
    base = table()
    left, right = after(base, *case.left), after(base, *case.right)
    back = "/".join(reversed(case.kind.split("/")))
    ways = (left, right, case.kind, case.taking_left, case.taking_right), (
        right, left, back, case.taking_right, case.taking_left,
    )  # fmt: skip
    for ours, theirs, kind, taking_ours, taking_theirs in ways:
        (found,) = merged(base, ours, theirs).conflicts
        assert (found.level, found.table, found.kind) == ("schema", "orders", kind)
        mine = merged(base, ours, theirs, decisions={found.id: "ours"})
        other = merged(base, ours, theirs, decisions={found.id: "theirs"})
        assert (kinds(mine), kinds(other)) == ([], [])
        assert (_unordered(mine), _unordered(other)) == (_sorted(taking_ours), _sorted(taking_theirs))


def _unordered(result: SchemaMerge) -> list[str]:
    return _sorted(shown(result))


def _sorted(text: str) -> list[str]:
    """What comes where it is kept: a column that comes back comes at the end."""
    columns, _, key = text.rpartition(" by ")
    return [*sorted(columns.split(", ")), key]


def test_sides_that_together_drop_every_column_are_a_conflict() -> None:
    base = table(key=())
    ours, theirs = after(base, drop("id"), drop("a")), after(base, drop("b"))
    (found,) = merged(base, ours, theirs).conflicts
    assert (found.kind, found.ours, found.theirs) == ("drop column/drop column", ["b"], ["id", "a"])
    assert shown(merged(base, ours, theirs, decisions={found.id: "ours"})) == "b int by nothing"
    assert shown(merged(base, ours, theirs, decisions={found.id: "theirs"})) == "id bigint, a int by nothing"


def test_a_conflict_keeps_its_id_when_the_merge_is_planned_again() -> None:
    base = table()
    ours, theirs = after(base, update("a")), after(base, drop("a"))
    first, second = merged(base, ours, theirs), merged(base, ours, theirs)
    assert [c.id for c in first.conflicts] == [c.id for c in second.conflicts]


def test_a_conflict_tells_the_column_on_all_sides() -> None:
    base = table()
    ours, theirs = after(base, alter("a", type="bigint", nullable=False)), after(base, alter("a", type="double"))
    (found,) = merged(base, ours, theirs).conflicts
    assert (found.column, found.base, found.ours, found.theirs) == ("a", "a int", "a bigint NOT NULL", "a double")


def test_a_schema_that_stays_as_it_is_is_ours_itself() -> None:
    base = table()
    assert merged(base, after(base, add("x")), base).schema is not base.schema
    ours = after(base, add("x"))
    assert merged(base, ours, base).schema is ours.schema
    assert merged(base, base, ours).schema.id not in (schema_of(base).id, schema_of(ours).id)


def test_a_default_given_up_here_and_changed_there_is_a_conflict() -> None:
    base = table(columns={"id": "bigint", "a": "int DEFAULT 0"})
    ours, theirs = after(base, alter("a", default=None)), after(base, alter("a", default="2"))
    (found,) = merged(base, ours, theirs).conflicts
    told = (found.kind, found.base, found.ours, found.theirs)
    assert told == ("alter column/alter column", "a int DEFAULT 0", "a int", "a int DEFAULT 2")


@pytest.mark.parametrize(
    "edit", [lambda v: alter("a", default=v), lambda v: alter("a", comment=v), lambda v: rename("a", v)]
)
def test_under_operations_the_source_describes_a_column_again(edit: Callable[[str], Edit]) -> None:
    base = table()
    ours, theirs = after(base, edit("x1")), after(base, edit("x2"))
    for mine, other in ((ours, theirs), (theirs, ours)):
        assert merged(base, mine, other, "operations").schema.columns == schema_of(other).columns


def test_what_a_base_of_several_commits_does_not_agree_on_is_asked_about() -> None:
    base = table()
    ours, theirs = after(base, rename("a", "x")), after(base, rename("a", "y"))
    unsettled = replace(ours, unsettled=frozenset([schema_of(base).column("a").id]))
    assert kinds(merged(ours, ours, theirs)) == []
    assert kinds(merged(unsettled, ours, theirs)) == ["rename column/rename column"]
    assert kinds(merged(unsettled, theirs, theirs)) == []


def test_a_column_that_is_added_again_is_told_beside_the_one_that_was_dropped() -> None:
    base = table()
    ours, theirs = after(base, insert), after(base, drop("a"), add("a", "string"))
    (found,) = merged(base, ours, theirs).conflicts
    assert (found.column, found.base, found.ours, found.theirs) == ("a", "a int", "a int", "a string")


def test_under_operations_a_column_may_be_added_again_beside_inserted_rows() -> None:
    base = table()
    ours, theirs = after(base, insert), after(base, drop("a"), add("a", "string"))
    for mine, other in ((ours, theirs), (theirs, ours)):
        result = merged(base, mine, other, "operations")
        assert (kinds(result), shown(result)) == ([], AGAIN)


def test_not_null_that_was_given_up_on_one_side_stays_given_up() -> None:
    base = table(columns={"id": "bigint", "a": "int NOT NULL"})
    ours = after(base, alter("a", nullable=True))
    assert merged(base, ours, base).schema.column("a").nullable
    assert merged(base, base, ours).schema.column("a").nullable


# --- ids ---


def test_a_column_added_alike_keeps_both_ids_and_ours_comes_first() -> None:
    base = table()
    ours, theirs = after(base, add("x")), after(base, add("x"))
    mine, other = schema_of(ours).column("x"), schema_of(theirs).column("x")
    column = merged(base, ours, theirs).schema.column("x")
    assert (column.id, column.also) == (mine.id, (other.id,))


def test_a_united_column_is_matched_when_the_other_side_changes_it_later() -> None:
    base = table()
    ours, theirs = after(base, add("x")), after(base, add("x"))
    once = replace(ours, schema=merged(base, ours, theirs).schema)
    later = after(theirs, update("x"), rename("x", "y"))
    again = merged(theirs, once, later)
    assert (kinds(again), shown(again)) == ([], "id bigint, a int, b int, y int by id")
    back = merged(theirs, later, once)
    column = back.schema.column("y")
    assert (column.id, column.also) == (schema_of(theirs).column("x").id, (schema_of(ours).column("x").id,))


def test_a_united_column_that_the_other_side_dropped_goes() -> None:
    base = table()
    ours, theirs = after(base, add("x")), after(base, add("x"))
    once = replace(ours, schema=merged(base, ours, theirs).schema)
    assert shown(merged(theirs, once, after(theirs, drop("x")))) == PLAIN
    found = merged(theirs, after(once, update("x")), after(theirs, drop("x")))
    assert kinds(found) == ["update/drop column"]


def test_a_merge_that_only_unites_ids_once_more_changes_nothing() -> None:
    base = table()
    ours, theirs = after(base, add("x")), after(base, add("x"))
    once = replace(ours, schema=merged(base, ours, theirs).schema)
    assert merged(theirs, once, theirs).schema is once.schema


def test_two_columns_that_the_other_side_united_are_a_conflict_that_no_side_settles() -> None:
    base = table()
    one, other = after(base, add("x")), after(base, add("x"))
    united = replace(one, schema=merged(base, one, other).schema)
    there = schema_of(other).column("x")
    both = after(one, lambda t: replace(t, schema=_with(schema_of(t), replace(there, name="y"))))
    (found,) = merged(base, both, united).conflicts
    assert (found.kind, found.can_decide) == ("two columns/one column", False)
    (found,) = merged(base, united, both).conflicts
    assert found.kind == "one column/two columns"


def _with(schema: Schema, column: object) -> Schema:
    return Schema(SchemaId(new_id("s")), (*schema.columns, column), schema.key)  # type: ignore[arg-type]


def test_a_key_follows_the_ids_of_ours() -> None:
    base = table()
    ours, theirs = after(base, add("x", nullable=False)), after(base, add("x"), rekey("x"))
    result = merged(base, ours, theirs)
    assert result.schema.key == (schema_of(ours).column("x").id,)
    assert result.key_of == "theirs"
    assert result.key_changed == frozenset(["theirs"])


# --- checks and layout ---


def test_checks_are_merged_by_name() -> None:
    base = after(table(), check("old", "a > 0", "a"), check("gone", "b > 0", "b"))
    ours = after(base, check("mine", "a < 9", "a"))
    theirs = after(base, check("gone", None), check("old", "a > 1", "a"))
    for x, y in ((ours, theirs), (theirs, ours)):
        assert merged(base, x, y).checks == {"old": "a > 1", "mine": "a < 9"}


def test_a_check_that_is_dropped_here_and_changed_there_is_a_conflict() -> None:
    base = after(table(), check("c", "a > 0", "a"))
    ours, theirs = after(base, check("c", None)), after(base, check("c", "a > 1", "a"))
    (found,) = merged(base, ours, theirs).conflicts
    assert (found.kind, found.base, found.ours, found.theirs) == ("drop check/alter check", "a > 0", None, "a > 1")
    assert merged(base, ours, theirs, decisions={found.id: "theirs"}).checks == {"c": "a > 1"}
    assert merged(base, ours, theirs, decisions={found.id: "ours"}).checks == {}


def test_a_check_follows_the_decision_about_its_column() -> None:
    base = table()
    ours, theirs = after(base, check("c", "a > 0", "a")), after(base, drop("a"))
    (found,) = merged(base, ours, theirs).conflicts
    assert merged(base, ours, theirs, decisions={found.id: "ours"}).checks == {"c": "a > 0"}
    assert merged(base, ours, theirs, decisions={found.id: "theirs"}).checks == {}


def test_a_check_of_which_nobody_says_what_it_speaks_of_may_speak_of_any_column() -> None:
    base = table()
    ours = replace(after(base, check("c", "a > 0", "a")), check_columns={})
    assert kinds(merged(base, ours, after(base, drop("b")))) == ["add check/drop column"]


def test_layout_is_merged_like_a_property_and_loses_dropped_columns() -> None:
    base = after(table(), cluster("a", "b"))
    ids = [str(schema_of(base).column(n).id) for n in "ab"]
    assert merged(base, after(base, drop("a")), base).cluster_by == (ids[1],)
    ours, theirs = after(base, cluster("a")), after(base, cluster("b"))
    assert merged(base, ours, theirs).cluster_by == (ids[1],)
    assert merged(base, ours, base).cluster_by == (ids[0],)


def test_layout_by_a_united_column_goes_by_ours_id() -> None:
    base = table()
    ours, theirs = after(base, add("x")), after(base, add("x"), cluster("x"))
    assert merged(base, ours, theirs).cluster_by == (schema_of(ours).column("x").id,)


# --- types that a key can't have ---


@pytest.mark.parametrize(("old", "new"), [("int", "double"), ("date", "timestamp_ntz")])
def test_a_key_made_here_of_a_column_that_gets_another_type_there_is_a_conflict(old: str, new: str) -> None:
    base = table(columns={"id": "bigint", "a": f"{old} NOT NULL"})
    ours, theirs = after(base, rekey("a")), after(base, alter("a", type=new))
    assert kinds(merged(base, ours, theirs)) == ["key/alter type"]
    assert kinds(merged(base, theirs, ours)) == ["alter type/key"]


# --- strictness ---


@pytest.mark.parametrize(
    ("edit", "kind"),
    [
        (rename("a", "x"), "rename column/rename column"),
        (alter("a", type="bigint"), "alter type/alter type"),
        (alter("a", default="1"), "alter column/alter column"),
        (drop("a"), "drop column/drop column"),
        (add("x"), "add column/add column"),
    ],
)
def test_under_disjoint_equal_changes_of_one_column_conflict(edit: Edit, kind: str) -> None:
    base = table()
    ours, theirs = after(base, edit), after(base, edit)
    assert kinds(merged(base, ours, theirs, "disjoint")) == [kind]
    assert kinds(merged(base, ours, theirs, "row")) == []


def test_under_disjoint_different_columns_do_not_meet() -> None:
    base = table()
    assert kinds(merged(base, after(base, rename("a", "x")), after(base, drop("b")), "disjoint")) == []


@pytest.mark.parametrize(
    ("left", "right", "wanted"),
    [
        ((update("a"),), (drop("a"),), "id bigint, b int by id"),
        ((rename("a", "x"),), (drop("a"),), "id bigint, b int by id"),
        ((alter("a", type="bigint"),), (drop("a"),), "id bigint, b int by id"),
        ((check("c", "a > 0", "a"),), (check("c", "b > 0", "b"),), PLAIN),
    ],
)
def test_under_operations_only_the_notes_conflict(left: tuple[Edit, ...], right: tuple[Edit, ...], wanted: str) -> None:
    base = table()
    x, y = after(base, *left), after(base, *right)
    for ours, theirs in ((x, y), (y, x)):
        result = merged(base, ours, theirs, "operations")
        assert (kinds(result), shown(result)) == ([], wanted)


def test_a6_1_a_type_that_is_wider_at_the_destination_conflicts_under_operations() -> None:
    base = table()
    wide, wider = after(base, alter("a", type="bigint")), after(base, alter("a", type="decimal(21,2)"))
    assert kinds(merged(base, wider, wide, "operations")) == ["alter type/alter type"]
    assert shown(merged(base, wide, wider, "operations")) == "id bigint, a decimal(21,2), b int by id"
    assert kinds(merged(base, wider, base, "operations")) == []  # the source altered nothing
    assert kinds(merged(base, wider, wide)) == []


def test_a6_2_a_not_null_column_without_a_value_conflicts_only_at_the_destination_under_operations() -> None:
    base = table()
    column, rows = after(base, add("x", nullable=False)), after(base, insert)
    assert kinds(merged(base, column, rows, "operations")) == ["add column/insert"]
    assert kinds(merged(base, rows, column, "operations")) == []


def test_under_operations_a_column_of_one_name_counts_as_not_added_again() -> None:
    base = table()
    ours, theirs = after(base, add("x", "int")), after(base, add("x", "bigint"))
    result = merged(base, ours, theirs, "operations")
    assert (kinds(result), shown(result)) == ([], "id bigint, a int, b int, x bigint by id")
    assert kinds(merged(base, theirs, ours, "operations")) == ["add column/add column"]


# --- pick and revert ---


def test_a_picked_commit_brings_only_its_own_columns() -> None:
    start = table()
    parent = after(start, add("x"))
    picked = after(parent, add("y"))
    assert shown(merged(parent, start, picked)) == "id bigint, a int, b int, y int by id"


def test_a_reverted_commit_takes_its_column_away_and_gives_back_what_it_dropped() -> None:
    start = table()
    commit = after(start, add("x"), drop("b"))
    head = after(commit, add("z"))
    result = merged(commit, head, start)
    assert shown(result) == "id bigint, a int, b int, z int by id"
    assert result.schema.column("b").id == schema_of(start).column("b").id


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "wanted"),
    [
        ("id a c x", "id a c x", "id a b c", "id a b c"),
        ("id a c x", "id a c x z", "id a b c", "id a b c z"),
        ("id a x", "id a x z", "id a b", "id a b z"),
        ("id x y", "id x y", "a id b", "a id b"),
        ("id a b", "id a b x", "id a b y", "id a b x y"),
        ("id a b", "id b x", "id a y", "id y x"),
        ("id a b", "b a id x", "id a b y", "b a id x y"),
        ("id a b", "id a b x", "b a id y", "b a id y x"),
        ("id a b", "b id a", "a b id", "b id a"),
        ("", "id b a x", "a b id y x", "id b a x y"),
    ],
)
def test_columns_stand_where_their_sides_have_them(base: str, ours: str, theirs: str, wanted: str) -> None:
    whole = table(columns=dict.fromkeys(["id", *"abcxyz"], "int"))
    made, mine, other = (order(*names.split())(whole) if names else None for names in (base, ours, theirs))
    assert mine
    assert other
    assert " ".join(merged(made, mine, other).schema.names) == wanted


def test_a_reverted_widening_leaves_the_wider_type() -> None:
    start = table()
    commit = after(start, alter("a", type="bigint"))
    assert merged(commit, commit, start).schema is commit.schema


def test_a_column_that_was_changed_since_is_not_reverted_away() -> None:
    start = table()
    commit = after(start, add("x"))
    head = after(commit, update("x"))
    assert kinds(merged(commit, head, start)) == ["update/drop column"]


def test_ids_of_a_table_that_both_sides_made_are_matched_by_name() -> None:
    ours, theirs = table(), table()
    result = merged(None, ours, theirs)
    pairs: list[tuple[ColumnId, ...]] = [c.also for c in result.schema]
    assert pairs == [(c.id,) for c in schema_of(theirs)]
    assert result.schema.key == schema_of(ours).key
