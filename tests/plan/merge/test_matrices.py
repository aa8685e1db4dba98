"""Polycat's matrices: every cell, as the seed draws it and as a merge under `operations` follows it."""

from __future__ import annotations

import pytest

from anabranch.plan.merge.matrices import NAMESPACES, NOTES, TABLES, MetOperation, judge, namespace_operations
from anabranch.plan.merge.rules import RowPolicy
from anabranch.plan.merge.things import ThingSide, merge_things
from tests.plan.merge.sides import (
    Edit,
    add,
    cluster,
    created,
    delete,
    gone,
    insert,
    move,
    namespace,
    overwrite,
    put,
    table,
    update,
)

OPERATIONS = (
    "drop",
    "alter name",
    "alter properties",
    "alter column",
    "alter partition",
    "insert",
    "delete",
    "update",
    "overwrite",
    "compaction",
)
CHANGES = OPERATIONS[1:9]

# What the seed says, cell by cell, beside "no conflict".
TABLE_CONFLICTS = {(source, "drop") for source in OPERATIONS[1:]} | {("delete", "insert"), ("update", "insert")}
TABLE_NOTES = {
    ("alter column", "alter column"): "A6",
    ("delete", "delete"): "A2",
    ("delete", "overwrite"): "A5",
    ("update", "delete"): "A1",
    ("update", "update"): "A3",
    ("update", "overwrite"): "A4",
}
TABLE_CONDITIONS = {("alter column", "alter column"), ("update", "delete"), ("update", "update")}
TABLE_EMPTY = (
    {("alter properties", "alter properties"), ("alter partition", "alter partition")}
    | {(source, "compaction") for source in OPERATIONS}
    | {("compaction", destination) for destination in OPERATIONS[5:]}
)


@pytest.mark.parametrize("destination", OPERATIONS)
@pytest.mark.parametrize("source", OPERATIONS)
def test_each_cell_of_the_table_matrix_says_what_the_seed_says(source: str, destination: str) -> None:
    pair = (source, destination)
    verdict = "conflict" if pair in TABLE_CONFLICTS else "maybe" if pair in TABLE_CONDITIONS else "none"
    cell = TABLES[pair]
    assert (cell.verdict, cell.note, cell.is_empty) == (verdict, TABLE_NOTES.get(pair), pair in TABLE_EMPTY)


NAMESPACE_OPERATIONS = ("drop", "alter name", "set properties", "unset properties")


@pytest.mark.parametrize("destination", NAMESPACE_OPERATIONS)
@pytest.mark.parametrize("source", NAMESPACE_OPERATIONS)
def test_each_cell_of_the_namespace_matrix_says_what_the_seed_says(source: str, destination: str) -> None:
    verdict = "none"
    if destination == "drop" and source != "drop":
        verdict = "conflict"
    if source == destination == "unset properties":
        verdict = "maybe"
    assert NAMESPACES[source, destination].verdict == verdict


def test_the_matrices_are_complete_and_every_note_is_told() -> None:
    assert (len(TABLES), len(NAMESPACES)) == (100, 16)
    told = {c.note for m in (TABLES, NAMESPACES) for c in m.values() if c.note}
    assert told == set(NOTES)


def test_two_lists_of_operations_are_judged_pair_by_pair() -> None:
    found = judge(TABLES, ["insert", "update", "update", "create"], ["insert", "update", "alter name"])
    assert found == (
        MetOperation("update", "insert", TABLES["update", "insert"]),
        MetOperation("update", "update", TABLES["update", "update"]),
    )


def test_properties_are_set_and_unset() -> None:
    assert namespace_operations({"a": "1"}, {"a": "1"}) == ()
    assert namespace_operations({"a": "1"}, {"a": "2"}) == ("set properties",)
    assert namespace_operations({"a": "1"}, {}) == ("unset properties",)
    assert namespace_operations({"a": "1"}, {"b": "2"}) == ("set properties", "unset properties")


# --- the matrices as merges follow them ---


def edit_of(operation: str, side: str) -> Edit:
    """A statement that is this operation; the sides do what does not depend on each other."""
    edits: dict[str, Edit] = {
        "drop": gone,
        "alter name": move(f"{side}_name"),
        "alter properties": put(owner=side),
        "set properties": put(owner=side),
        "unset properties": put(**{side: None}),
        "alter column": add(f"{side}_column"),
        "alter partition": cluster("a" if side == "source" else "b"),
        "insert": insert,
        "delete": delete,
        "update": update("a"),
        "overwrite": overwrite,
    }
    return edits[operation]


@pytest.mark.parametrize("key", [(), ("id",)], ids=["keyless", "keyed"])
@pytest.mark.parametrize("destination", OPERATIONS[:9])
@pytest.mark.parametrize("source", OPERATIONS[:9])
def test_a_merge_of_tables_conflicts_at_once_only_where_the_matrix_says_so(
    source: str, destination: str, key: tuple[str, ...]
) -> None:
    base = table(key=key)
    ours, theirs = edit_of(destination, "destination")(base), edit_of(source, "source")(base)
    result = merge_things([base], [ours], [theirs], "operations")
    wanted = [f"{destination}/{source}"] if TABLES[source, destination].verdict == "conflict" else []
    assert [c.kind for c in result.conflicts] == wanted


@pytest.mark.parametrize("destination", NAMESPACE_OPERATIONS)
@pytest.mark.parametrize("source", NAMESPACE_OPERATIONS)
def test_a_merge_of_namespaces_conflicts_at_once_only_where_the_matrix_says_so(source: str, destination: str) -> None:
    base = put(source="1", destination="1")(namespace())
    ours, theirs = edit_of(destination, "destination")(base), edit_of(source, "source")(base)
    result = merge_things([base], [ours], [theirs], "operations")
    wanted = [f"{destination}/{source}"] if NAMESPACES[source, destination].verdict == "conflict" else []
    assert [c.kind for c in result.conflicts] == wanted


def rows(ours: Edit, theirs: Edit) -> RowPolicy:
    base = table(key=())
    (thing,) = merge_things([base], [ours(base)], [theirs(base)], "operations").things
    assert thing.rows is not None
    return thing.rows


def test_a1_a2_a3_are_left_to_the_rows_and_the_sources_deletes_go_through() -> None:
    for source, destination in (
        (update("a"), delete),
        (delete, delete),
        (update("a"), update("a")),
        (delete, update("a")),
    ):
        assert rows(destination, source) == RowPolicy("operations", theirs_deletes_win=True)


def test_a4_a5_after_an_overwrite_at_the_destination_only_the_sources_new_rows_count() -> None:
    for source in (update("a"), delete, insert):
        assert rows(overwrite, source) == RowPolicy("operations", theirs_deletes_win=True, only_new_rows=True)


def test_an_overwrite_at_the_source_replaces_all_rows() -> None:
    for destination in (insert, update("a"), delete):
        assert rows(destination, overwrite).replaces_all


def test_update_against_insert_taken_by_side_leaves_rows_or_replays_them() -> None:
    base = table()
    ours, theirs = insert(base), update("a")(base)
    (found,) = merge_things([base], [ours], [theirs], "operations").conflicts
    assert found.kind == "insert/update"
    (mine,) = merge_things([base], [ours], [theirs], "operations", decisions={found.id: "ours"}).things
    (other,) = merge_things([base], [ours], [theirs], "operations", decisions={found.id: "theirs"}).things
    assert mine.rows is None
    assert other.rows == RowPolicy("operations", theirs_deletes_win=True)


def test_names_properties_and_layout_are_the_sources() -> None:
    base = table()
    edits = ("alter name", "alter properties", "alter partition")
    ours, theirs = base, base
    for operation in edits:
        ours, theirs = edit_of(operation, "destination")(ours), edit_of(operation, "source")(theirs)
    (thing,) = merge_things([base], [ours], [theirs], "operations").things
    assert thing.result
    assert thing.result.name == "source_name"
    assert thing.result.texts("properties") == {"owner": "source"}
    assert thing.result.attributes["cluster_by"] == theirs.attributes["cluster_by"]


def test_a_new_table_keeps_its_id() -> None:
    made: ThingSide = created(table())
    (thing,) = merge_things([], [], [made], "operations").things
    assert thing.result
    assert thing.result.id == made.id
