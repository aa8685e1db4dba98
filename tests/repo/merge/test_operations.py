"""Polycat's matrices as real merges under `operations`: every cell, and what its notes say; then its rules for schemas.

What is expected comes from `plan/merge/matrices.py`, which a test holds against the seed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import anabranch as ab
from anabranch.plan.merge.matrices import NAMESPACES, TABLES
from tests.catalog import stores
from tests.repo.merge.merge_cases import Act, act, cells, conflict, rows, whole

store = stores.store
ROWS = [{"id": n, "a": n * 10, "s": "x"} for n in range(1, 5)]
OPERATIONS = tuple(dict.fromkeys(source for source, _ in TABLES))
DATABASE_OPERATIONS = tuple(dict.fromkeys(source for source, _ in NAMESPACES))


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ab.Repository]:
    """A repository for all cells: each works on branches of its own."""
    with ab.init(tmp_path_factory.mktemp("store"), author="ann", engine="duck") as made:
        act(made, "main", make)
        yield made


def make(tx: Any) -> None:
    """A table without a key, and a database."""
    tx.create_table("t", schema={"id": "int", "a": "int", "s": "string"})
    tx.table("t").insert(ROWS)
    tx.table("t").set_properties({"owner": "base"})
    tx.create_namespace("n")
    tx.set_namespace_properties("n", {"source": "1", "destination": "1", "both": "1"})


def t(method: str, *args: Any, **named: Any) -> Act:
    return lambda tx: getattr(tx.table("t"), method)(*args, **named)


def n(method: str, *args: Any) -> Act:
    return lambda tx: getattr(tx, method)("n", *args)


def table_act(operation: str, side: str) -> Act:
    """An operation on the table; the sides don't meet in a row, a property or a name."""
    own = 1 if side == "source" else 2
    acts: dict[str, Act] = {
        "drop": t("drop"),
        "alter name": t("rename", f"{side}_name"),
        "alter properties": t("set_properties", {f"by_{side}": "1"}),
        "alter column": t("add_column", f"by_{side}", "int"),
        "alter partition": t("cluster_by", "a" if side == "source" else "s"),
        "insert": t("insert", [{"id": own + 6, "a": 0, "s": side}]),
        "delete": t("delete", where=f"id = {own}"),
        "update": t("update", {"s": f"'{side}'"}, where=f"id = {own}"),
        "overwrite": t("overwrite", [{"id": own + 8, "a": 0, "s": side}]),
    }
    return acts[operation]


def prepared(repo: ab.Repository, source: Act | None, destination: Act | None) -> None:
    """Make the branches anew, each with one operation; without one, with a compaction."""
    for name, work in (("ours", destination), ("theirs", source)):
        if name in {b.name for b in repo.branches()}:
            repo.delete_branch(name, force=True)
        repo.branch(name, at="main")
        if work is None:
            act(repo, name, lambda tx: None)
            repo.optimize("t", on=name)
        else:
            act(repo, name, work)


@pytest.mark.parametrize("destination", OPERATIONS)
@pytest.mark.parametrize("source", OPERATIONS)
def test_every_cell_of_the_table_matrix_is_followed(first: ab.Repository, source: str, destination: str) -> None:
    check_table_cell(first, source, destination)


SAMPLE = [
    ("delete", "insert"),
    ("update", "overwrite"),
    ("insert", "drop"),
    ("overwrite", "insert"),
    ("drop", "update"),
]


@pytest.mark.parametrize(("source", "destination"), SAMPLE)
def test_cells_of_the_table_matrix_are_followed_on_both_engines(
    repo: ab.Repository, source: str, destination: str
) -> None:
    act(repo, "main", make)
    check_table_cell(repo, source, destination)


def check_table_cell(repo: ab.Repository, source: str, destination: str) -> None:
    acts = [
        None if op == "compaction" else table_act(op, side)
        for op, side in ((source, "source"), (destination, "destination"))
    ]
    prepared(repo, acts[0], acts[1])
    if TABLES[source, destination].verdict == "conflict" and source != "compaction":
        name = "source_name" if source == "alter name" else "t"
        assert whole(conflict(repo, strictness="operations")) == [(name, f"{destination}/{source}", None)]
        return
    repo.merge("theirs", into="ours", strictness="operations")
    assert seen(repo, "ours") == expected(source, destination)


def seen(repo: ab.Repository, at: str) -> dict[str, Any] | None:
    """All that the table shows."""
    names = [e.name for e in repo.tables(at=at)]
    if not names:
        return None
    table = repo.table(names[0], at=at)
    clustered = table._state.attributes.get("cluster_by", ())
    return {
        "alter name": names[0],
        "alter properties": table.properties,
        "alter column": [c.name for c in table.schema][3:],
        "alter partition": [c.name for c in table.schema if c.id in clustered],
        "rows": sorted((row["id"], row["s"]) for row in table.rows()),
    }


def expected(source: str, destination: str) -> dict[str, Any] | None:
    """What a replay of the source's operation on the destination's table gives, worked out on plain values."""
    found: dict[str, Any] | None = {
        "alter name": "t",
        "alter properties": {"owner": "base"},
        "alter column": [],
        "alter partition": [],
        "rows": [(row["id"], row["s"]) for row in ROWS],
    }
    for operation, side in ((destination, "destination"), (source, "source")):
        if found is None or operation == "drop":
            return None
        found = done(found, operation, side, replayed=side == "source" and destination == "overwrite")
    return found


def done(table: dict[str, Any], operation: str, side: str, *, replayed: bool) -> dict[str, Any]:
    own, held = 1 if side == "source" else 2, table["rows"]
    news: dict[str, Any] = {
        "alter name": {"alter name": f"{side}_name"},
        "alter properties": {"alter properties": {**table["alter properties"], f"by_{side}": "1"}},
        "alter column": {"alter column": [*table["alter column"], f"by_{side}"]},
        "alter partition": {"alter partition": ["a" if side == "source" else "s"]},
        "insert": {"rows": sorted([*held, (own + 6, side)])},
        "delete": {"rows": held if replayed else [r for r in held if r[0] != own]},
        "update": {"rows": held if replayed else [(i, side if i == own else s) for i, s in held]},
        "overwrite": {"rows": [(own + 8, side)]},
        "compaction": {},
    }
    return {**table, **news[operation]}


# --- databases ---


def database_act(operation: str, side: str) -> Act:
    acts: dict[str, Act] = {
        "drop": n("drop_namespace"),
        "alter name": n("rename_namespace", f"{side}_name"),
        "set properties": n("set_namespace_properties", {"owner": side}),
        "unset properties": n("unset_namespace_properties", [side]),
    }
    return acts[operation]


@pytest.mark.parametrize("destination", DATABASE_OPERATIONS)
@pytest.mark.parametrize("source", DATABASE_OPERATIONS)
def test_every_cell_of_the_database_matrix_is_followed(first: ab.Repository, source: str, destination: str) -> None:
    prepared(first, database_act(source, "source"), database_act(destination, "destination"))
    if NAMESPACES[source, destination].verdict == "conflict":
        shown = "source_name" if source == "alter name" else "n"
        assert whole(conflict(first, strictness="operations")) == [(shown, f"{destination}/{source}", None)]
        return
    first.merge("theirs", into="ours", strictness="operations")
    name, properties = "n", {"source": "1", "destination": "1", "both": "1"}
    for operation, side in ((destination, "destination"), (source, "source")):
        if operation == "drop":
            assert first.namespaces(at="ours") == []
            return
        name = f"{side}_name" if operation == "alter name" else name
        properties |= {"owner": side} if operation == "set properties" else {}
        properties.pop(side if operation == "unset properties" else "", None)
    assert first.namespaces(at="ours") == [name]
    assert first.namespace_properties(name, at="ours") == properties


def test_unsetting_the_same_property_of_a_database_conflicts(first: ab.Repository) -> None:
    unset = n("unset_namespace_properties", ["both"])
    prepared(first, unset, unset)
    assert whole(conflict(first, strictness="operations")) == [("n", "unset properties/unset properties", None)]
    assert not first.preview("theirs", into="ours").conflicts


@pytest.mark.parametrize("kind", ["table", "namespace"])
def test_something_new_whose_name_is_taken_conflicts(first: ab.Repository, kind: str) -> None:
    new: Act = (lambda tx: tx.create_table("u", ROWS)) if kind == "table" else lambda tx: tx.create_namespace("u")
    prepared(first, new, new)
    assert whole(conflict(first, strictness="operations")) == [("u", "create/create", None)]


@pytest.mark.parametrize("kind", ["table", "namespace"])
def test_something_new_is_taken_with_its_id(first: ab.Repository, kind: str) -> None:
    if kind == "namespace":
        prepared(first, lambda tx: tx.create_namespace("u"), t("drop"))
        first.merge("theirs", into="ours", strictness="operations")
        assert first.namespaces(at="ours") == ["n", "u"]
        return
    prepared(first, lambda tx: tx.create_table("u", ROWS), t("drop"))
    first.merge("theirs", into="ours", strictness="operations")
    assert [e.id for e in first.tables(at="ours")] == [e.id for e in first.tables(at="theirs") if e.name == "u"]


# --- the notes ---

NOTES = {
    "A1, one row": (t("update", {"a": 0}, where="id = 1"), t("delete", where="id = 1"), "delete/update"),
    "A1, two rows": (t("update", {"a": 0}, where="id = 1"), t("delete", where="id = 2"), [(1, 0), (3, 30), (4, 40)]),
    "A2, one row": (t("delete", where="id = 1"), t("delete", where="id = 1"), [(2, 20), (3, 30), (4, 40)]),
    "A2, other rows": (t("delete", where="id < 3"), t("delete", where="id > 1 AND id < 4"), [(4, 40)]),
    "A3, one cell": (t("update", {"a": 0}, where="id = 1"), t("update", {"a": 5}, where="id = 1"), "update/update"),
    "A3, two cells of a row": (
        t("update", {"a": 0}, where="id = 1"),
        t("update", {"s": "'y'"}, where="id = 1"),
        "update/update",
    ),
    "A3, one cell alike": (
        t("update", {"a": 0}, where="id = 1"),
        t("update", {"a": 0}, where="id = 1"),
        [(1, 0), (2, 20), (3, 30), (4, 40)],
    ),
    "A3, two rows": (
        t("update", {"a": 0}, where="id = 1"),
        t("update", {"a": 5}, where="id = 2"),
        [(1, 0), (2, 5), (3, 30), (4, 40)],
    ),
    "delete against update": (
        t("delete", where="id = 1"),
        t("update", {"a": 5}, where="id = 1"),
        [(2, 20), (3, 30), (4, 40)],
    ),
}


@pytest.mark.parametrize("note", NOTES)
def test_a1_to_a3_are_decided_row_by_row(repo: ab.Repository, note: str) -> None:
    source, destination, after = NOTES[note]
    act(repo, "main", make)
    prepared(repo, source, destination)
    if isinstance(after, str):
        assert {c[1] for c in cells(conflict(repo, strictness="operations"))} == {after}
        return
    repo.merge("theirs", into="ours", strictness="operations")
    assert [row[:2] for row in rows(repo)] == after


@pytest.mark.parametrize("where", [None, "id = 1"])
def test_an_overwrite_of_a_table_with_a_key_replaces_what_the_target_updated(
    repo: ab.Repository, where: str | None
) -> None:
    act(repo, "main", lambda tx: tx.create_table("t", ROWS, key="id"))
    overwrite = t("overwrite", [{"id": 1, "a": 7, "s": "source"}, {"id": 9, "a": 0, "s": "source"}])
    prepared(repo, overwrite, t("update", {"a": 5}, where=where))
    repo.merge("theirs", into="ours", strictness="operations")
    assert rows(repo) == [(1, 7, "source"), (9, 0, "source")]


@pytest.mark.parametrize(
    ("change", "after"),
    [
        (t("update", {"a": -1}), [(7, -1, "source"), (9, 0, "new")]),
        (t("delete", where="id IN (1, 7)"), [(9, 0, "new")]),
    ],
    ids=["A4", "A5"],
)
def test_against_an_overwrite_only_changes_of_the_sources_own_new_rows_count(
    repo: ab.Repository, change: Act, after: list[Any]
) -> None:
    act(repo, "main", make)
    prepared(repo, table_act("insert", "source"), t("overwrite", [{"id": 9, "a": 0, "s": "new"}]))
    act(repo, "theirs", change)
    repo.merge("theirs", into="ours", strictness="operations")
    assert rows(repo) == after


A6 = {
    "the source's type is narrower": ("bigint", "decimal(20,0)", True),
    "the source's type is wider": ("decimal(20,0)", "bigint", False),
    "the types are equal": ("bigint", "bigint", False),
}


@pytest.mark.parametrize("case", A6)
def test_a6_1_a_type_that_is_wider_at_the_destination_conflicts(first: ab.Repository, case: str) -> None:
    source, destination, refused = A6[case]
    prepared(first, t("alter_column", "a", type=source), t("alter_column", "a", type=destination))
    if refused:
        assert whole(conflict(first, strictness="operations")) == [("t", "alter type/alter type", "a")]
    else:
        first.merge("theirs", into="ours", strictness="operations")
        assert str(first.table("t", at="ours").schema.column("a").type) == source


@pytest.mark.parametrize(("default", "refused"), [(None, True), (7, False)])
def test_a6_2_a_column_that_may_not_be_null_needs_a_value_for_the_sources_rows(
    duck: ab.Repository, default: int | None, refused: bool
) -> None:
    act(duck, "main", lambda tx: tx.create_table("t", schema={"id": "int", "a": "int", "s": "string"}))
    prepared(
        duck,
        table_act("insert", "source"),
        t("add_column", "needed", "int", default=default, nullable=False),
    )
    if refused:
        assert whole(conflict(duck, strictness="operations")) == [("t", "add column/insert", "needed")]
    else:
        duck.merge("theirs", into="ours", strictness="operations")
        assert rows(duck) == [(7, 0, "source", 7)]


# --- schemas between (3.2.2) ---


def altered(repo: ab.Repository) -> None:
    """The seed's story: three schemas on the source, rows written under the second only, then the merge."""
    act(repo, "main", make)
    prepared(repo, t("add_column", "one", "int"), table_act("insert", "destination"))
    act(
        repo,
        "theirs",
        t("add_column", "two", "int"),
        t("insert", [{"id": 7, "a": 0, "s": "between", "one": 1, "two": 2}]),
        t("rename_column", "two", "three"),
    )
    repo.merge("theirs", into="ours", strictness="operations")


def test_rows_of_a_schema_between_are_read_and_the_last_schema_is_shown(repo: ab.Repository) -> None:
    altered(repo)
    assert [c.name for c in repo.table("t", at="ours").schema] == ["id", "a", "s", "one", "three"]
    assert (7, 0, "between", 1, 2) in rows(repo)


def test_no_commit_of_the_target_shows_a_schema_between(repo: ab.Repository) -> None:
    altered(repo)
    on_target = [repo.show("ours").hash, *_first_parents(repo)]
    visible = [tuple(c.name for c in repo.table("t", at=h).schema) for h in on_target if "t" in _names(repo, h)]
    assert visible == [("id", "a", "s", "one", "three"), *[("id", "a", "s")] * (len(visible) - 1)]


def _names(repo: ab.Repository, at: str) -> set[str]:
    return {e.name for e in repo.tables(at=at)}


def _first_parents(repo: ab.Repository) -> Iterator[str]:
    commit = repo.show("ours")
    while commit.parents:
        commit = repo.show(commit.parents[0])
        yield commit.hash


def test_time_travel_and_restore_find_what_the_branch_showed_never_a_schema_between(repo: ab.Repository) -> None:
    altered(repo)
    between = repo.show("theirs~1").finished_at
    at = f"ours@{{{between.isoformat()}}}"
    assert [c.name for c in repo.table("t", at=at).schema] == ["id", "a", "s"]
    repo.restore("t", to=at, on="ours")
    assert [c.name for c in repo.table("t", at="ours").schema] == ["id", "a", "s"]
    assert sorted(row["id"] for row in repo.table("t", at="ours").rows()) == [1, 2, 3, 4, 8]


def test_schemas_without_rows_are_linked_by_nothing_on_the_target(duck: ab.Repository) -> None:
    altered(duck)
    state = duck.table("t", at="ours")._state
    used = {x.object.schema_id for x in state.layers} | {state.schema.id}
    names = {tuple(c.name for c in state.schemas[i]) for i in used}
    assert names == {("id", "a", "s"), ("id", "a", "s", "one", "two"), ("id", "a", "s", "one", "three")}
