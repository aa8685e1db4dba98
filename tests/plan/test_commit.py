"""What a commit says, decided from drafts; and what keeps it from going on a branch that moved."""

from __future__ import annotations

from dataclasses import replace

import pytest

from anabranch.model.changes import Counts
from anabranch.model.ids import ROOT_NAMESPACE, ObjectId, ThingId, new_id
from anabranch.model.objects import NewObject, ObjectKind, StoredObject
from anabranch.model.schema import make_schema, parse_columns
from anabranch.model.tables import Operation, TableState
from anabranch.plan.commit import (
    Draft,
    Moved,
    Statement,
    ThingDraft,
    clashes,
    content_of,
    draft_state,
    place_of,
    with_statement,
)

SCHEMA = make_schema(parse_columns({"id": "bigint", "v": "int"}), ["id"])
NOTHING_MOVED = Moved(frozenset(), frozenset())


def new_object(kind: ObjectKind = "rows", rows: int = 1) -> NewObject:
    id_ = ObjectId(new_id("o"))
    return NewObject(StoredObject(id_, kind, f"sha-{id_}", 10, rows, SCHEMA.id, None, (), "inline", None), b"x")


def statement(operation: Operation = "insert", kind: ObjectKind = "rows", rows: int = 1) -> Statement:
    counts = {"rows": Counts(rows), "update": Counts(0, rows), "delete": Counts(0, 0, rows)}[kind]
    return Statement(operation, (new_object(kind, rows),), counts)


def created(name: str = "t", *statements: Statement) -> ThingDraft:
    thing = ThingDraft(ThingId(f"id-{name}"), "table", ROOT_NAMESPACE, name, None, SCHEMA, operations=("create",))
    for s in statements:
        thing = with_statement(thing, s)
    return thing


def existing(name: str = "t", *statements: Statement, rows: int = 5) -> ThingDraft:
    base = TableState(ThingId(f"id-{name}"), name, SCHEMA, rows, schemas={SCHEMA.id: SCHEMA})
    thing = ThingDraft(base.id, "table", ROOT_NAMESPACE, name, base, SCHEMA)
    for s in statements:
        thing = with_statement(thing, s)
    return thing


def dropped(thing: ThingDraft) -> ThingDraft:
    return replace(thing, dropped=True, statements=(), operations=(*thing.operations, "drop"))


def drafted(*things: ThingDraft) -> Draft:
    """A draft as statements leave it: names are bound where things are made, and freed where they are dropped."""
    draft = Draft()
    for thing in things:
        draft.things[thing.id] = thing
        here = (thing.kind, thing.id)
        if thing.created:
            draft.bind(place_of(thing), here, None)
        if thing.dropped:
            draft.bind(place_of(thing), None, here)
    return draft


def reading_a(draft: Draft) -> Draft:
    draft.reads[ThingId("id-a")] = "a"
    return draft


def said(draft: Draft) -> dict[str, tuple[str, ...]]:
    return {e.thing_id: e.operations for e in content_of(draft).entries}


def names(draft: Draft) -> dict[str, str | None]:
    return {n.name: n.thing_id for n in content_of(draft).names}


def test_a_draft_without_statements_says_nothing() -> None:
    content = content_of(drafted(existing()))
    assert content.is_empty
    assert content == content_of(Draft())


def test_a_statement_that_touched_nothing_leaves_no_trace() -> None:
    thing = existing()
    assert with_statement(thing, Statement("update", (), Counts())) is thing


def test_a_table_that_was_only_read_is_not_said() -> None:
    draft = reading_a(drafted(existing("a"), existing("b", statement())))
    assert said(draft) == {"id-b": ("insert",)}


def test_a_new_table_is_an_entry_a_name_a_schema_and_a_first_view() -> None:
    table = created("t", statement(rows=3))
    content = content_of(drafted(table))
    assert [(e.thing_id, e.row_count, e.operations, e.dropped) for e in content.entries] == [
        ("id-t", 3, ("create",), False)
    ]
    assert [(n.name, n.thing_id, n.parent_id) for n in content.names] == [("t", "id-t", ROOT_NAMESPACE)]
    assert content.schemas == (SCHEMA,)
    made = tuple(o.stored.id for o in content.objects)
    assert [c.objects for c in content.changes] == [made]
    assert [(v.kind, v.objects, v.row_count) for v in content.views] == [("snapshot", made, 3)]
    assert {id_: o.sha256 for id_, o in content.described.items()} == {made[0]: f"sha-{made[0]}"}


def test_a_new_empty_table_has_a_view_without_objects() -> None:
    content = content_of(drafted(created()))
    assert not content.is_empty
    assert content.changes == ()
    assert [(v.objects, v.row_count) for v in content.views] == [((), 0)]


def test_a_change_to_a_table_brings_neither_view_nor_schema_nor_name() -> None:
    content = content_of(drafted(existing("t", statement(rows=2), rows=5)))
    assert [(e.row_count, e.operations) for e in content.entries] == [(7, ("insert",))]
    assert (content.views, content.schemas, content.names) == ((), (), ())
    assert len(content.changes) == 1


def test_a_table_made_and_dropped_in_one_commit_vanishes() -> None:
    assert content_of(drafted(dropped(created("t", statement())))).is_empty


def test_what_is_beside_a_vanished_table_stays() -> None:
    draft = drafted(dropped(created("gone")), created("kept"))
    assert said(draft) == {"id-kept": ("create",)}
    assert names(draft) == {"kept": "id-kept"}


def test_a_dropped_table_is_said_and_its_name_is_free() -> None:
    draft = drafted(dropped(existing("t", statement())))
    content = content_of(draft)
    assert [(e.thing_id, e.dropped, e.row_count) for e in content.entries] == [("id-t", True, 0)]
    assert names(draft) == {"t": None}
    assert (content.objects, content.changes, content.views) == ((), (), ())


def again(name: str) -> ThingDraft:
    return replace(created(name), id=ThingId(f"id-{name}-again"))


def test_a_table_dropped_and_made_again_is_two_entries_and_one_name() -> None:
    draft = drafted(dropped(existing("t")), again("t"))
    assert said(draft) == {"id-t": ("drop",), "id-t-again": ("create",)}
    assert names(draft) == {"t": "id-t-again"}


def test_a_table_dropped_made_again_and_dropped_again_is_one_drop() -> None:
    draft = drafted(dropped(existing("t")), dropped(again("t")))
    assert said(draft) == {"id-t": ("drop",)}
    assert names(draft) == {"t": None}


def test_a_table_made_dropped_and_made_again_is_one_table() -> None:
    draft = drafted(dropped(created("t")), again("t"))
    assert said(draft) == {"id-t-again": ("create",)}
    assert names(draft) == {"t": "id-t-again"}


def test_a_vanished_table_frees_no_name_in_another_namespace() -> None:
    inner = replace(created("t"), id=ThingId("inner"), parent_id=ThingId("ns"), name="ns.t")
    draft = drafted(dropped(existing("t")), dropped(inner))
    assert [(n.parent_id, n.name, n.thing_id) for n in content_of(draft).names] == [(ROOT_NAMESPACE, "t", None)]


def test_objects_that_the_catalogue_has_already_are_linked() -> None:
    table = existing("t", statement(), statement())
    first, second = (o.stored.id for s in table.statements for o in s.objects)
    content = content_of(drafted(table), registered=[first])
    assert content.linked == (first,)
    assert [o.stored.id for o in content.objects] == [second]
    assert content.changes[0].objects == (first, second)
    assert set({id_: o.sha256 for id_, o in content.described.items()}) == {first, second}


@pytest.mark.parametrize(
    ("operations", "expected"),
    [
        (("insert",), ("insert",)),
        (("insert", "insert"), ("insert",)),
        (("insert", "update", "insert"), ("insert", "update", "insert")),
        (("update", "delete"), ("update", "delete")),
    ],
)
def test_operations_are_kept_in_order_without_repeats(
    operations: tuple[Operation, ...], expected: tuple[str, ...]
) -> None:
    assert existing("t", *(statement(o) for o in operations)).operations == expected


def test_inserts_into_a_new_table_are_part_of_making_it() -> None:
    assert created("t", statement(), statement()).operations == ("create",)
    assert created("t", statement("update", "update")).operations == ("create", "update")


@pytest.mark.parametrize(
    ("thing", "expected"),
    [
        (existing(), False),
        (existing("t", statement()), False),
        (existing("t", statement("update", "update")), False),
        (existing("t", statement(), statement()), False),
        (existing("t", statement(), statement("delete", "delete")), True),
        (existing("t", statement("update", "update"), statement("update", "update")), True),
        (existing("t", replace(statement(), exact=False)), True),
    ],
)
def test_only_statements_that_may_change_a_key_twice_are_netted(thing: ThingDraft, expected: bool) -> None:
    assert thing.needs_netting is expected


def test_a_draft_is_read_with_one_turn_for_each_statement() -> None:
    thing = existing("t", statement(rows=2), statement("delete", "delete", 3), rows=5)
    state = draft_state(thing)
    assert [(layer.turn, layer.object.kind) for layer in state.layers] == [(0, "rows"), (1, "delete")]
    assert state.row_count == 5 + 2 - 3
    on_top = draft_state(replace(thing, base=state))
    assert [layer.turn for layer in on_top.layers] == [0, 1, 2, 3]


NAMESPACE = ThingDraft(ThingId("id-ns"), "namespace", ROOT_NAMESPACE, "ns", None, base_name="ns")
READS_A_WRITES_B = reading_a(drafted(existing("a"), existing("b", statement())))


@pytest.mark.parametrize(
    ("draft", "things", "names", "strict", "expected"),
    [
        pytest.param(READS_A_WRITES_B, set(), set(), True, (), id="nothing moved"),
        pytest.param(READS_A_WRITES_B, {"id-c"}, set(), True, (), id="another table moved"),
        pytest.param(READS_A_WRITES_B, {"id-b"}, set(), False, ("b",), id="a written table moved"),
        pytest.param(READS_A_WRITES_B, {"id-a"}, set(), False, (), id="a read table moved"),
        pytest.param(READS_A_WRITES_B, {"id-a"}, set(), True, ("a",), id="a read table moved, strictly"),
        pytest.param(READS_A_WRITES_B, {"id-a", "id-b"}, set(), True, ("a", "b"), id="both"),
        pytest.param(drafted(created("t")), set(), {("", "t")}, False, ("t",), id="the same new name"),
        pytest.param(drafted(created("t")), {"id-u"}, {("", "u")}, False, (), id="another new name"),
        pytest.param(drafted(created("t")), set(), {("ns", "t")}, False, (), id="the same name elsewhere"),
        pytest.param(drafted(dropped(existing("t"))), {"id-t"}, set(), False, ("t",), id="dropped and changed"),
        pytest.param(drafted(dropped(existing("t"))), {"id-t"}, {("", "t")}, False, ("t",), id="dropped twice"),
        pytest.param(
            drafted(replace(created("t"), parent_id=ThingId("ns"), name="ns.t")),
            {"ns"},
            set(),
            False,
            ("ns",),
            id="the namespace of a new table moved",
        ),
        pytest.param(
            drafted(dropped(NAMESPACE)), {"id-t"}, {("id-ns", "t")}, False, ("ns",), id="a dropped namespace was filled"
        ),
        pytest.param(drafted(NAMESPACE), {"id-t"}, {("id-ns", "t")}, False, (), id="a namespace that stays was filled"),
    ],
)
def test_a_commit_clashes_with_others_where_both_touched(
    draft: Draft, things: set[str], names: set[tuple[str, str]], strict: bool, expected: tuple[str, ...]
) -> None:
    moved = Moved(frozenset(things), frozenset(names))
    assert clashes(draft, content_of(draft), moved, strict) == expected


def test_a_vanished_table_clashes_with_nobody() -> None:
    draft = drafted(dropped(created("t")), existing("b", statement()))
    moved = Moved(frozenset({"id-other"}), frozenset({("", "t")}))
    assert clashes(draft, content_of(draft), moved, strict=True) == ()


def test_a_commit_never_clashes_where_nothing_moved() -> None:
    draft = drafted(created("t"), dropped(existing("u")))
    assert clashes(draft, content_of(draft), NOTHING_MOVED, strict=True) == ()
