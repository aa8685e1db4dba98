"""Random work on two branches: what must hold of every merge, whatever was done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch.errors import AnabranchError
from anabranch.model.ids import ROOT_NAMESPACE
from anabranch.model.types import can_widen
from anabranch.plan.merge.rules import STRICTNESSES, Strictness
from anabranch.plan.merge.schema import merge_schema
from anabranch.plan.merge.sides import Decisions, Side, ThingSide
from anabranch.plan.merge.things import ThingsMerge, merge_things
from tests.plan.merge.sides import (
    Edit,
    add,
    after,
    alter,
    check,
    created,
    delete,
    drop,
    gone,
    insert,
    move,
    namespace,
    order,
    overwrite,
    put,
    rekey,
    rename,
    schema_of,
    table,
    update,
)

NAMES = st.sampled_from(["id", "a", "b", "x", "X", "y"])
TYPES = st.sampled_from(["int", "bigint", "double", "decimal(21,2)"])
EDITS = st.one_of(
    st.builds(add, NAMES, TYPES, first=st.sampled_from([None, "0"]), nullable=st.booleans()),
    st.builds(drop, NAMES),
    st.builds(rename, NAMES, NAMES),
    st.builds(lambda n, t: alter(n, type=t), NAMES, TYPES),
    st.builds(lambda n, v: alter(n, nullable=v), NAMES, st.booleans()),
    st.builds(lambda n, v: alter(n, default=v), NAMES, st.sampled_from([None, "1", "2"])),
    st.builds(rekey, NAMES),
    st.builds(rekey),
    st.builds(
        lambda c, n, t: check(c, t and f"{n} {t}", n), st.sampled_from("cd"), NAMES, st.sampled_from([None, "> 0"])
    ),
    st.builds(lambda n: order(n, "id"), NAMES),
    st.builds(update, NAMES),
    st.sampled_from([insert, delete, overwrite]),
    st.builds(lambda n: put(owner=n), NAMES),
)
WORK = st.lists(EDITS, max_size=5)


def worked(thing: ThingSide, edits: Sequence[Edit]) -> ThingSide:
    """The table after those statements that make sense."""
    for edit in edits:
        try:
            changed = edit(thing)
        except AnabranchError:
            continue
        if is_sound(changed) and only_grows(thing, changed):
            thing = changed
    return thing


def is_sound(thing: ThingSide) -> bool:
    """A schema that statements may leave: names apart, the key there, checks about columns that are there."""
    schema = schema_of(thing)
    names = [n.lower() for n in schema.names]
    ids = {c.id for c in schema}
    if not names or len(set(names)) < len(names) or not ids.issuperset(schema.key):
        return False
    if any(c.nullable or not c.type.can_be_key for c in schema.key_columns if schema.key):
        return False
    spoken = [text.split()[0] for text in thing.texts("checks").values()]
    return all(schema.find(name) is not None for name in spoken) and checks_mean_the_same(thing)


def only_grows(before: ThingSide, after_: ThingSide) -> bool:
    """A type is never narrowed."""
    pairs = [(c, schema_of(after_).written_as(c)) for c in schema_of(before)]
    return all(new is None or can_widen(old.type, new.type) for old, new in pairs)


def checks_mean_the_same(thing: ThingSide) -> bool:
    """A column under a check is neither dropped nor renamed."""
    schema = schema_of(thing)
    pairs = [(thing.check_columns[name], schema.find(text.split()[0])) for name, text in thing.texts("checks").items()]
    return all(column is not None and column.ids & ids for ids, column in pairs)


def settled(
    base: ThingSide | None, ours: ThingSide, theirs: ThingSide, strictness: Strictness, side: Side
) -> ThingSide:
    """Merge, taking one side wherever that settles something; what is left can't be settled so."""
    decisions: dict[str, Side] = {}
    while True:
        merged = merge_schema(base, ours, theirs, strictness, decisions)
        new = {c.id: side for c in merged.conflicts if c.can_decide}
        if not new:
            break
        assert not new.keys() & decisions.keys(), "a decision settles its conflict"
        decisions |= new
    if merged.conflicts:
        return ours
    mine = {n: ids for n, ids in ours.check_columns.items() if ours.texts("checks")[n] == merged.checks.get(n)}
    spoken = {**theirs.check_columns, **mine}
    told = {**ours.attributes, "checks": dict(merged.checks)}
    return replace(ours, schema=merged.schema, attributes=told, check_columns=spoken)


@pytest.mark.parametrize("strictness", STRICTNESSES)
@settings(max_examples=150, deadline=None)
@given(left=WORK, right=WORK, keyed=st.booleans(), side=st.sampled_from(["ours", "theirs"]))
def test_a_merge_that_is_settled_leaves_a_sound_schema(
    strictness: Strictness, left: list[Edit], right: list[Edit], keyed: bool, side: Side
) -> None:
    base = table(key=("id",) if keyed else ())
    ours, theirs = worked(base, left), worked(base, right)
    result = settled(base, ours, theirs, strictness, side)
    assert is_sound(result)
    mine = {c.id for c in schema_of(ours)}
    assert all(c.id in mine for c in schema_of(result) if c.ids & mine), "ours' ids come first"
    ids = [i for c in schema_of(result) for i in c.ids]
    assert len(ids) == len(set(ids)), "an id is of one column"


@settings(max_examples=200, deadline=None)
@given(work=WORK, keyed=st.booleans())
def test_a_side_that_did_nothing_takes_nothing_away(work: list[Edit], keyed: bool) -> None:
    base = table(key=("id",) if keyed else ())
    changed = worked(base, work)
    kept = merge_schema(base, changed, base)
    assert (kept.conflicts, kept.schema, kept.checks) == ((), changed.schema, changed.texts("checks"))
    taken = merge_schema(base, base, changed)
    assert (taken.conflicts, taken.checks) == ((), changed.texts("checks"))
    assert taken.schema.columns == schema_of(changed).columns
    assert taken.schema.key == schema_of(changed).key


@settings(max_examples=200, deadline=None)
@given(work=WORK)
def test_a_reverted_commit_leaves_the_order_of_columns_before_it(work: list[Edit]) -> None:
    before = table(columns={"id": "bigint", "a": "int", "x": "int", "b": "int", "y": "int"})
    commit = worked(before, work)
    undone = merge_schema(commit, replace(commit, touched=frozenset(), filled=frozenset()), before)
    assert undone.schema.names == schema_of(before).names


@settings(max_examples=200, deadline=None)
@given(left=WORK, right=WORK)
def test_conflicts_are_the_same_both_ways(left: list[Edit], right: list[Edit]) -> None:
    base = table()
    ours, theirs = worked(base, left), worked(base, right)
    there = sorted(c.kind for c in merge_schema(base, ours, theirs).conflicts)
    back = sorted("/".join(reversed(c.kind.split("/"))) for c in merge_schema(base, theirs, ours).conflicts)
    assert bool(there) == bool(back)


@settings(max_examples=200, deadline=None)
@given(left=WORK, right=WORK, later=WORK)
def test_what_was_merged_once_is_merged_again_by_its_ids(
    left: list[Edit], right: list[Edit], later: list[Edit]
) -> None:
    base = table()
    ours, theirs = worked(base, left), worked(base, right)
    once = merge_schema(base, ours, theirs)
    if once.conflicts:
        return
    united = replace(ours, schema=once.schema, attributes={**ours.attributes, "checks": dict(once.checks)})
    again = merge_schema(theirs, united, theirs)
    assert (again.conflicts, again.schema) == ((), united.schema)
    more = worked(replace(theirs, operations=(), touched=frozenset()), later)
    result = merge_schema(theirs, united, more)
    names = [c.name.lower() for c in result.schema]
    assert result.conflicts or len(names) == len(set(names))


# --- things ---

SPOTS = st.tuples(st.integers(0, 5), st.sampled_from(["move", "drop", "touch", "make", "make namespace"]), st.integers(0, 5), st.sampled_from("stu"))  # fmt: skip # noqa: E501


def repository() -> list[ThingSide]:
    a, b = namespace("a"), namespace("b")
    c = namespace("c", a)
    return [a, b, c, table("s", parent=a), table("t", parent=c), table("u")]


def moved_about(base: list[ThingSide], steps: list[tuple[int, str, int, str]]) -> list[ThingSide]:
    """The things after those steps that leave every name to one thing and every thing in a namespace."""
    things = list(base)
    for at, what, into, name in steps:
        there = [t for t in things if not t.dropped]
        above = [t for t in there if t.kind == "namespace"]
        if not there:
            continue
        thing, home = there[at % len(there)], [*above, None][into % (len(above) + 1)]
        new = list(things)
        if what == "drop":
            new[things.index(thing)] = gone(thing)
        elif what == "move":
            new[things.index(thing)] = move(name, home)(thing)
        elif what == "touch" and thing.kind == "table":
            new[things.index(thing)] = update("a")(thing)
        elif what.startswith("make"):
            new.append(created(namespace(name, home) if what == "make namespace" else table(name, parent=home)))
        if stands([t for t in new if not t.dropped]):
            things = new
    return things


def stands(things: Sequence[ThingSide]) -> bool:
    """Every thing is under the root, and no two under one name."""
    by_id = {t.id: t for t in things}
    for thing in things:
        seen = {thing.id}
        while thing.parent_id != ROOT_NAMESPACE:
            above = by_id.get(thing.parent_id)
            if above is None or above.kind != "namespace" or above.id in seen:
                return False
            seen.add(above.id)
            thing = above
    places = [(t.parent_id, t.name) for t in things]
    return len(places) == len(set(places))


def results(merged: ThingsMerge) -> list[ThingSide]:
    return [t.result for t in merged.things if t.result]


@pytest.mark.parametrize("strictness", STRICTNESSES)
@settings(max_examples=200, deadline=None)
@given(left=st.lists(SPOTS, max_size=6), right=st.lists(SPOTS, max_size=6), side=st.sampled_from(["ours", "theirs"]))
def test_a_merge_that_is_settled_leaves_every_thing_in_its_place(
    strictness: Strictness, left: list[tuple[int, str, int, str]], right: list[tuple[int, str, int, str]], side: Side
) -> None:
    base = repository()
    ours, theirs = moved_about(base, left), moved_about(base, right)
    decisions: Decisions = {}
    while True:
        merged = merge_things(base, ours, theirs, strictness, decisions=decisions)
        new = {c.id: side for c in merged.conflicts if c.can_decide}
        if not new:
            break
        assert not new.keys() & decisions.keys(), "a decision settles its conflict"
        decisions = {**decisions, **new}
    if merged.conflicts:
        return
    found = results(merged)
    assert stands(found)
    for thing in found:
        above = next((t.path + "." for t in found if t.id == thing.parent_id), "")
        assert thing.path == above + thing.name
    kept = {t.id for t in ours if not t.dropped}
    assert all(t.result.id in kept for t in merged.things if t.ours and t.result), "ours' ids come first"


@settings(max_examples=200, deadline=None)
@given(steps=st.lists(SPOTS, max_size=6))
def test_a_side_that_did_nothing_changes_no_thing(steps: list[tuple[int, str, int, str]]) -> None:
    base = repository()
    changed = moved_about(base, steps)
    kept = merge_things(base, changed, base)
    assert kept.conflicts == ()
    assert {t.action for t in kept.things} <= {"keep", "none"}
    taken = merge_things(base, base, changed)
    assert taken.conflicts == ()
    there = {(t.id, t.parent_id, t.name) for t in changed if not t.dropped}
    assert {(t.id, t.parent_id, t.name) for t in results(taken)} == there


def test_statements_that_make_no_sense_are_left_out() -> None:
    base = table()
    assert worked(base, [drop("id")]) == base
    assert worked(base, [rename("a", "B")]) == base
    assert worked(after(base, check("c", "a > 0", "a")), [drop("a")]).schema == base.schema
