"""Namespaces and tables of two branches, merged: each case is run both ways."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest

from anabranch.model.ids import ThingId
from anabranch.plan.merge.rules import STRICTNESSES, RowPolicy, Strictness
from anabranch.plan.merge.sides import Decisions, Side
from anabranch.plan.merge.things import ThingMerge, ThingSide, ThingsMerge, merge_things
from tests.plan.merge.sides import (
    Edit,
    add,
    after,
    alter,
    check,
    cluster,
    created,
    delete,
    described,
    drop,
    gone,
    insert,
    move,
    namespace,
    overwrite,
    put,
    rekey,
    schema_of,
    table,
    update,
)


def kinds(result: ThingsMerge) -> list[str]:
    return [c.kind for c in result.conflicts]


def paths(result: ThingsMerge) -> list[str]:
    return sorted(t.result.path for t in result.things if t.result)


def one(
    base: ThingSide | None,
    ours: ThingSide | None,
    theirs: ThingSide | None,
    strictness: Strictness = "cell",
    decisions: Decisions | None = None,
) -> ThingMerge:
    """Merge one thing that must not conflict."""
    before, mine, other = ([s] if s else [] for s in (base, ours, theirs))
    result = merge_things(before, mine, other, strictness, decisions=decisions)
    assert kinds(result) == []
    (thing,) = result.things
    return thing


def rows_of(base: ThingSide, ours: ThingSide, theirs: ThingSide, strictness: Strictness = "cell") -> RowPolicy:
    policy = one(base, ours, theirs, strictness).rows
    assert policy is not None
    return policy


def backwards(kind: str) -> str:
    return "/".join(reversed(kind.split("/")))


# --- there or not ---


def test_a_table_that_only_theirs_made_is_taken_as_it_is() -> None:
    made = created(table())
    thing = one(None, None, made)
    assert (thing.action, thing.rows) == ("take", None)
    assert thing.result
    assert (thing.result.id, thing.result.schema, thing.result.path) == (made.id, made.schema, "orders")


def test_a_table_that_only_ours_made_stays() -> None:
    assert one(None, created(table()), None).action == "keep"


@dataclass(frozen=True)
class Described:
    """What a side says of a thing that the other side drops: nothing that goes with rows or columns."""

    verb: str
    base: ThingSide
    edit: Edit


DESCRIBED = [
    Described("alter name", table(), move("new")),
    Described("alter name", table(parent=namespace()), move("orders")),
    Described("alter properties", table(), put(owner="ann")),
    Described("alter properties", table(properties={"owner": "ann"}), put(owner=None)),
    Described("alter partition", table(), cluster("a")),
    Described("alter name", namespace(), move("new")),
    Described("set properties", namespace(), put(owner="ann")),
    Described("unset properties", namespace(properties={"owner": "ann"}), put(owner=None)),
]


@pytest.mark.parametrize("strictness", STRICTNESSES)
@pytest.mark.parametrize("case", DESCRIBED, ids=lambda c: f"{c.base.kind} {c.verb}")
def test_a_drop_by_the_source_goes_through_against_a_change_of_name_or_properties(
    strictness: Strictness, case: Described
) -> None:
    assert one(case.base, case.edit(case.base), gone(case.base), strictness).action == "drop"


@pytest.mark.parametrize("strictness", STRICTNESSES)
@pytest.mark.parametrize("case", DESCRIBED, ids=lambda c: f"{c.base.kind} {c.verb}")
def test_what_the_source_renamed_or_set_and_the_target_dropped_is_a_conflict(
    strictness: Strictness, case: Described
) -> None:
    changed, dropped = case.edit(case.base), gone(case.base)
    (found,) = merge_things([case.base], [dropped], [changed], strictness).conflicts
    assert (found.level, found.kind, found.table) == ("objects", f"drop/{case.verb}", changed.path)
    assert one(case.base, dropped, changed, strictness, {found.id: "ours"}).action == "none"
    taken = one(case.base, dropped, changed, strictness, {found.id: "theirs"})
    assert taken.action == "take"
    assert taken.result
    assert (taken.result.path, taken.result.texts("properties")) == (changed.path, changed.texts("properties"))


@pytest.mark.parametrize("thing", [table(), namespace()], ids=lambda t: t.kind)
def test_what_was_renamed_and_renamed_back_is_dropped(thing: ThingSide) -> None:
    back = after(thing, move("new"), move(thing.name), put(p="1"), put(p=None))
    assert one(thing, gone(thing), back).action == "none"


def test_a_table_in_namespaces_that_a_merge_united_is_not_moved() -> None:
    mine, other = namespace(), namespace()
    united = replace(mine, attributes={"united": [str(other.id)]})
    orders = table(parent=other)
    moved = replace(orders, parent_id=mine.id)
    result = merge_things([other, orders], [other, gone(orders)], [united, moved])
    assert (kinds(result), paths(result)) == ([], ["sales"])


def test_what_both_dropped_is_gone() -> None:
    base = table()
    assert one(base, gone(base), gone(base)).action == "none"


@pytest.mark.parametrize("strictness", ["cell", "row", "disjoint", "table"])
@pytest.mark.parametrize(
    ("edit", "verb"),
    [
        (update("a"), "update"),
        (insert, "update"),
        (delete, "update"),
        (overwrite, "update"),
        (add("x"), "alter column"),
        (rekey("a"), "alter column"),
        (check("c", "a > 0", "a"), "alter column"),
    ],
)
def test_a_drop_against_changed_rows_or_columns_is_a_conflict_in_both_directions(
    strictness: Strictness, edit: Edit, verb: str
) -> None:
    base = table()
    changed = edit(base)
    for ours, theirs, kind, keeper in (
        (changed, gone(base), f"{verb}/drop", "ours"),
        (gone(base), changed, f"drop/{verb}", "theirs"),
    ):
        result = merge_things([base], [ours], [theirs], strictness)
        (found,) = result.conflicts
        assert (found.kind, found.level, found.table) == (kind, "objects", "orders")
        kept = one(base, ours, theirs, strictness, {found.id: keeper})  # type: ignore[dict-item]
        assert kept.action == ("keep" if keeper == "ours" else "take")
        lost = one(base, ours, theirs, strictness, {found.id: "theirs" if keeper == "ours" else "ours"})
        assert lost.result is None


def test_ids_united_by_a_merge_are_no_change_that_a_drop_would_lose() -> None:
    start = table()
    ours, theirs = after(start, add("x")), after(start, add("x"))
    united = one(start, ours, theirs).result
    assert united
    assert one(theirs, united, gone(theirs)).action == "drop"


# --- names and properties ---


def test_the_sources_name_wins() -> None:
    base = table()
    left, right = after(base, move("left")), after(base, move("right"))
    for ours, theirs in ((left, right), (right, left)):
        thing = one(base, ours, theirs)
        assert thing.result
        assert (thing.result.path, thing.action) == (theirs.path, "merge")
    assert one(base, left, base).action == "keep"


def test_properties_are_made_again_on_the_target_one_by_one() -> None:
    base = after(table(), put(a="1", b="1", c="1"))
    ours = after(base, put(a="2", b=None, d="4"))
    theirs = after(base, put(a="3", c=None, e="5"))
    result = one(base, ours, theirs).result
    assert result
    assert result.texts("properties") == {"a": "3", "d": "4", "e": "5"}
    back = one(base, theirs, ours).result
    assert back
    assert back.texts("properties") == {"a": "2", "d": "4", "e": "5"}


def test_a_table_follows_its_namespace_and_says_its_full_name() -> None:
    sales = namespace()
    orders = table(parent=sales)
    renamed = after(sales, move("shop"))
    result = merge_things([sales, orders], [sales, update("a")(orders)], [renamed, update("b")(orders)])
    assert (kinds(result), paths(result)) == ([], ["shop", "shop.orders"])


@dataclass(frozen=True)
class Taken:
    """Two things that end up under one name."""

    kind: str
    base: Sequence[ThingSide]
    left: Sequence[ThingSide]
    right: Sequence[ThingSide]
    taking_left: Sequence[str]
    taking_right: Sequence[str]


_A, _B = table("a"), table("b")
OTHER = {"other": "string"}
TAKEN = [
    Taken("create/create", [], [created(table("t"))], [created(table("t", OTHER, ()))], ["t"], ["t"]),
    Taken("create/create", [], [created(table("t"))], [created(table("t", key=()))], ["t"], ["t"]),
    Taken("create/create", [], [created(table("t"))], [created(namespace("t"))], ["t"], ["t"]),
    Taken(
        "create/alter name", [_A], [_A, created(table("t"))], [move("t")(_A)], ["a", "t"], ["t"]
    ),
    Taken(
        "alter name/alter name", [_A, _B], [move("t")(_A), _B], [_A, move("t")(_B)], ["b", "t"], ["a", "t"]
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", TAKEN, ids=lambda c: c.kind)
def test_a_name_that_is_taken_at_the_target_is_a_conflict(case: Taken) -> None:
    for ours, theirs, kind, mine, other in (
        (case.left, case.right, case.kind, case.taking_left, case.taking_right),
        (case.right, case.left, backwards(case.kind), case.taking_right, case.taking_left),
    ):
        (found,) = merge_things(case.base, ours, theirs).conflicts
        assert (found.level, found.kind) == ("objects", kind)
        for decided, wanted in (("ours", mine), ("theirs", other)):
            result = merge_things(case.base, ours, theirs, decisions={found.id: decided})  # type: ignore[dict-item]
            assert (kinds(result), paths(result)) == ([], wanted)


def test_what_is_in_a_new_namespace_goes_with_its_name() -> None:
    sales = created(namespace())
    ours, theirs = [created(table("sales"))], [sales, created(table(parent=sales))]
    (found,) = merge_things([], ours, theirs).conflicts
    kept = merge_things([], ours, theirs, decisions={found.id: "ours"})
    assert (kinds(kept), paths(kept)) == ([], ["sales"])
    taken = merge_things([], ours, theirs, decisions={found.id: "theirs"})
    assert (kinds(taken), paths(taken)) == ([], ["sales", "sales.orders"])


def test_two_tables_that_swap_names_do_not_conflict() -> None:
    a, b = table("a"), table("b")
    result = merge_things([a, b], [a, b], [move("b")(a), move("a")(b)])
    assert kinds(result) == []
    assert {t.result.id: t.result.name for t in result.things if t.result} == {a.id: "b", b.id: "a"}


def test_a_name_that_theirs_gave_up_can_be_taken_by_theirs() -> None:
    old = table("t")
    result = merge_things([old], [old], [gone(old), created(table("t", OTHER, ()))])
    assert (kinds(result), paths(result)) == ([], ["t"])


# --- things that both sides made ---


def test_two_namespaces_made_under_one_name_are_one_and_what_is_in_them_goes_in() -> None:
    mine, other = created(namespace(a="1")), created(namespace(b="2"))
    ours, theirs = [mine, created(table("x", parent=mine))], [other, created(table("y", parent=other))]
    result = merge_things([], ours, theirs)
    assert (kinds(result), paths(result)) == ([], ["sales", "sales.x", "sales.y"])
    assert {t.result.parent_id for t in result.things if t.result and t.result.kind == "table"} == {mine.id}
    (sales,) = [t.result for t in result.things if t.result and t.result.kind == "namespace"]
    assert (sales.id, sales.attributes["united"]) == (mine.id, [other.id])


def test_namespaces_in_namespaces_that_both_made_are_one() -> None:
    outer, outer2 = created(namespace()), created(namespace())
    inner, inner2 = created(namespace("eu", outer)), created(namespace("eu", outer2))
    left = [inner, created(table(parent=inner)), outer]
    right = [created(table(parent=inner2)), outer2, inner2]
    result = merge_things([], left, right)
    assert (kinds(result), paths(result)) == ([], ["sales", "sales.eu", "sales.eu.orders"])


def test_two_equal_tables_made_under_one_name_are_one_with_rows_merged_from_an_empty_base() -> None:
    mine, other = created(table()), created(table())
    thing = one(None, mine, other)
    assert thing.result
    assert (thing.result.id, thing.result.attributes["united"]) == (mine.id, [other.id])
    assert thing.rows == RowPolicy(base_is_empty=True)
    assert [c.also for c in schema_of(thing.result)] == [(c.id,) for c in schema_of(other)]


def test_a_united_table_is_one_table_in_later_merges() -> None:
    mine, other = created(table()), created(table())
    united = one(None, mine, other).result
    assert united
    base, later = replace(other, operations=(), rows_changed=False), after(replace(other, operations=()), update("a"))
    thing = one(base, united, later)
    assert (thing.action, thing.result and thing.result.id) == ("merge", mine.id)
    assert thing.rows == RowPolicy()
    back = one(base, later, united)
    assert back.result
    assert (back.result.id, back.result.attributes["united"]) == (other.id, [mine.id])


def test_two_tables_that_the_other_side_united_are_a_conflict_that_no_side_settles() -> None:
    mine, other = created(table("a")), created(table("b"))
    united = replace(mine, attributes={"united": [other.id]})
    (found,) = merge_things([], [mine, other], [united]).conflicts
    assert (found.kind, found.can_decide) == ("two things/one thing", False)
    (found,) = merge_things([], [united], [mine, other]).conflicts
    assert found.kind == "one thing/two things"


# --- namespaces that go ---


def test_a_namespace_dropped_here_and_used_there_is_a_conflict_in_both_directions() -> None:
    sales = namespace()
    used, dropped = [sales, created(table(parent=sales))], [gone(sales)]
    for ours, theirs, kind, keeper in (
        (used, dropped, "create/drop", "ours"),
        (dropped, used, "drop/create", "theirs"),
    ):
        (found,) = merge_things([sales], ours, theirs).conflicts
        assert (found.kind, found.table) == (kind, "sales")
        kept = merge_things([sales], ours, theirs, decisions={found.id: keeper})  # type: ignore[dict-item]
        assert (kinds(kept), paths(kept)) == ([], ["sales", "sales.orders"])
        other = merge_things([sales], ours, theirs, decisions={found.id: "theirs" if keeper == "ours" else "ours"})
        assert (kinds(other), paths(other)) == ([], [])


def test_a_table_moved_into_a_namespace_that_is_dropped_is_a_conflict() -> None:
    sales, orders = namespace(), table()
    result = merge_things([sales, orders], [sales, move("orders", sales)(orders)], [gone(sales), orders])
    assert kinds(result) == ["update/drop"]


def test_a_table_changed_in_a_dropped_namespace_is_asked_about_once() -> None:
    sales = namespace()
    orders = table(parent=sales)
    ours, theirs = [sales, update("a")(orders)], [gone(sales), gone(orders)]
    (found,) = merge_things([sales, orders], ours, theirs).conflicts
    assert (found.table, found.kind) == ("sales.orders", "update/drop")
    kept = merge_things([sales, orders], ours, theirs, decisions={found.id: "ours"})
    assert (kinds(kept), paths(kept)) == ([], ["sales", "sales.orders"])
    lost = merge_things([sales, orders], ours, theirs, decisions={found.id: "theirs"})
    assert (kinds(lost), paths(lost)) == ([], [])


def test_a_namespace_dropped_with_all_that_is_in_it_goes() -> None:
    sales = namespace()
    orders = table(parent=sales)
    result = merge_things([sales, orders], [sales, orders], [gone(sales), gone(orders)])
    assert (kinds(result), paths(result)) == ([], [])


def test_two_namespaces_moved_into_each_other_are_a_conflict() -> None:
    a, b = namespace("a"), namespace("b")
    for ours, theirs in (([move("a", b)(a), b], [a, move("b", a)(b)]), ([a, move("b", a)(b)], [move("a", b)(a), b])):
        result = merge_things([a, b], ours, theirs)
        assert kinds(result) == ["alter name/alter name"]
        assert paths(result) == sorted(t.path for t in ours)


# --- rows ---


@pytest.mark.parametrize("strictness", ["cell", "row", "disjoint"])
def test_rows_are_merged_only_where_theirs_changed_some(strictness: Strictness) -> None:
    base = table()
    assert one(base, update("a")(base), add("x")(base), strictness).rows is None
    assert rows_of(base, base, update("a")(base), strictness) == RowPolicy(strictness)
    assert rows_of(base, update("b")(base), update("a")(base), strictness) == RowPolicy(strictness)


def test_a_key_changed_on_ours_compares_states_in_full_if_theirs_changed_rows() -> None:
    base = table()
    ours = rekey("a")(base)
    assert rows_of(base, ours, update("b")(base)) == RowPolicy(full=True)
    assert one(base, ours, add("x")(base)).rows is None


def test_a_key_changed_on_theirs_writes_ours_again() -> None:
    base = table()
    theirs = rekey("a")(base)
    assert rows_of(base, update("b")(base), theirs) == RowPolicy(full=True, by_key_of="theirs")
    assert rows_of(base, base, theirs) == RowPolicy(full=True, by_key_of="theirs", replaces_all=True)


def test_a_key_changed_alike_compares_states_in_full() -> None:
    base = table()
    ours, theirs = rekey("a")(base), after(base, rekey("a"), update("b"))
    assert rows_of(base, ours, theirs) == RowPolicy(full=True)


def test_a_key_given_up_against_changed_rows_is_a_conflict() -> None:
    base = table()
    keyless, changed = rekey()(base), update("a")(base)
    assert kinds(merge_things([base], [keyless], [changed])) == ["key/rows"]
    assert kinds(merge_things([base], [changed], [keyless])) == ["rows/key"]
    both = after(keyless, update("a"))
    assert kinds(merge_things([base], [both], [both])) == ["key/key"]
    assert rows_of(base, keyless, both) == RowPolicy(full=True, replaces_all=True)
    assert one(base, both, keyless).rows is None
    assert one(base, keyless, add("x")(base)).rows is None
    assert rows_of(base, base, keyless) == RowPolicy(full=True, by_key_of="theirs", replaces_all=True)


@pytest.mark.parametrize("strictness", ["cell", "operations"])
def test_taking_a_side_about_a_key_that_was_given_up_settles_key_and_rows(strictness: Strictness) -> None:
    base = table()
    keyless, changed, both = rekey()(base), update("a")(base), after(base, rekey(), update("a"))

    def chosen(ours: ThingSide, theirs: ThingSide, side: Side) -> tuple[str, bool | None]:
        (found,) = merge_things([base], [ours], [theirs], strictness).conflicts
        thing = one(base, ours, theirs, strictness, {found.id: side})
        return described(thing.result).split(" by ")[1], thing.rows.replaces_all if thing.rows else None

    assert chosen(keyless, changed, "ours") == ("nothing", None)
    assert chosen(keyless, changed, "theirs") == ("id", True)
    assert chosen(both, changed, "theirs") == ("id", False)
    assert chosen(changed, keyless, "ours") == ("id", None)
    assert chosen(changed, both, "ours") == ("id", False)
    assert chosen(changed, keyless, "theirs") == ("nothing", True)
    assert chosen(both, both, "ours") == ("nothing", None)
    assert chosen(both, both, "theirs") == ("nothing", True)


def test_two_overwrites_of_a_keyless_table_conflict() -> None:
    keyless, keyed = table(key=()), table()
    result = merge_things([keyless], [overwrite(keyless)], [overwrite(keyless)])
    assert kinds(result) == ["overwrite/overwrite"]
    assert kinds(merge_things([keyed], [overwrite(keyed)], [overwrite(keyed)])) == []
    assert kinds(merge_things([keyless], [insert(keyless)], [overwrite(keyless)])) == []


@pytest.mark.parametrize(("left", "right"), [(update("a"), update("b")), (add("x"), insert), (add("x"), add("y"))])
def test_under_table_a_table_changed_on_both_sides_conflicts(left: Edit, right: Edit) -> None:
    base = table()
    for ours, theirs in ((left(base), right(base)), (right(base), left(base))):
        (found,) = merge_things([base], [ours], [theirs], "table").conflicts
        assert found.kind == "update/update"
        assert one(base, ours, theirs, "table", {found.id: "ours"}).action == "keep"
        taken = one(base, ours, theirs, "table", {found.id: "theirs"})
        assert taken.rows == RowPolicy("table", replaces_all=True)
        assert described(taken.result) == described(theirs)


def test_under_table_a_table_taken_from_theirs_keeps_ours_ids() -> None:
    start = table()
    ours, theirs = after(start, add("x")), after(start, add("x"))
    base, united = replace(theirs, operations=()), one(start, ours, theirs).result
    assert united
    mine, other = update("x")(united), after(base, update("x"), drop("a"))
    (found,) = merge_things([base], [mine], [other], "table").conflicts
    taken = one(base, mine, other, "table", {found.id: "theirs"}).result
    assert described(taken) == "id bigint, b int, x int by id"
    assert schema_of(taken).column("x").id == schema_of(ours).column("x").id


def test_under_table_a_change_of_name_and_one_of_rows_do_not_meet() -> None:
    base = table()
    assert one(base, move("new")(base), update("a")(base), "table").rows == RowPolicy("table")


def test_two_tables_made_alike_conflict_under_table() -> None:
    assert kinds(merge_things([], [created(table())], [created(table())], "table")) == ["create/create"]


def test_columns_that_the_merge_brings_are_named() -> None:
    base = table()
    thing = one(base, drop("b")(base), add("x")(base))
    assert described(thing.result) == "id bigint, a int, x int by id"


def test_conflicts_of_schemas_are_among_the_conflicts_and_decided_there() -> None:
    base = table()
    ours, theirs = update("a")(base), drop("a")(base)
    (found,) = merge_things([base], [ours], [theirs]).conflicts
    assert (found.level, found.kind, found.column) == ("schema", "update/drop column", "a")
    assert described(one(base, ours, theirs, decisions={found.id: "theirs"}).result) == "id bigint, b int by id"


# --- rules ---


def test_rules_reach_the_columns_by_the_names_of_either_side() -> None:
    base = table()
    ours = after(base, alter("a", name="price"), move("sales"))
    theirs = update("a", "b")(base)
    given = {"orders.a": "sum", "sales": "theirs", "elsewhere": "ours"}
    (thing,) = merge_things([base], [ours], [theirs], rules=given).things
    assert thing.rows
    words = {schema_of(thing.result).column(n).id: w for n, w in (("price", "sum"), ("b", "theirs"))}
    assert {i: r.word for i, r in thing.rows.rules.items()} == words
    assert thing.rows.rule.word == "theirs"


def test_a_tables_own_rules_are_its_properties() -> None:
    base = after(table(), put(**{"merge.rule.a": "max", "merge.rule": "newest"}))
    policy = rows_of(base, update("a")(base), update("a")(base))
    assert policy.rule.word == "newest"
    assert sorted(r.word for r in policy.rules.values()) == ["max", "newest"]


def test_a_tables_own_rule_for_no_column_is_passed_over() -> None:
    base = after(table(), put(**{"merge.rule.nope": "max"}))
    assert not rows_of(base, base, update("a")(base)).rules


# --- by the letter ---


def test_under_operations_a_drop_at_the_source_goes_through_whatever_the_target_did() -> None:
    base = table()
    for edit in (update("a"), insert, add("x")):
        assert one(base, edit(base), gone(base), "operations").action == "drop"


@pytest.mark.parametrize("made", [table, namespace])
def test_under_operations_a_new_thing_whose_name_is_taken_conflicts(made: type) -> None:
    mine, other = created(made()), created(made())
    assert kinds(merge_things([], [mine], [other], "operations")) == ["create/create"]
    assert kinds(merge_things([], [mine], [other])) == []


def test_under_operations_what_is_old_leaves_a_namespace_that_is_left_out() -> None:
    sales = namespace("sales")
    orders, loose = table("orders", parent=sales), table("loose")
    mine, other = created(namespace("new")), created(namespace("new"))
    new = created(table("fresh", parent=mine))
    ours = [move("sales", mine)(sales), orders, move("loose", mine)(loose), mine, new]
    sides = [sales, orders, loose], ours, [sales, orders, loose, other]
    (found,) = merge_things(*sides, "operations").conflicts
    merged = merge_things(*sides, "operations", decisions={found.id: "theirs"})
    assert merged.conflicts == ()
    assert sorted(t.result.path for t in merged.things if t.result) == ["loose", "new", "sales", "sales.orders"]


def test_under_operations_a_property_of_a_namespace_unset_twice_conflicts() -> None:
    base = after(namespace(), put(a="1", b="1"))
    once, twice = put(a=None)(base), put(b=None)(base)
    assert kinds(merge_things([base], [once], [once], "operations")) == ["unset properties/unset properties"]
    assert kinds(merge_things([base], [once], [twice], "operations")) == []
    assert kinds(merge_things([base], [once], [once])) == []
    orders = after(table(), put(a="1"))
    assert kinds(merge_things([orders], [put(a=None)(orders)], [put(a=None)(orders)], "operations")) == []


def test_ids_stay_what_they_are() -> None:
    base = table()
    thing = one(base, base, update("a")(base))
    assert thing.result
    assert thing.result.id == ThingId(base.id)
    assert thing.result.operations == ("update",)
