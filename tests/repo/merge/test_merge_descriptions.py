"""What both sides said otherwise of a column, table or namespace: asked about, never guessed, and settled by a side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import anabranch as ab
from tests.repo.merge.merge_cases import Act, act, both, conflict, fork, make_t, nothing, rows, whole


def t(method: str, *args: Any, **named: Any) -> Act:
    return lambda tx: getattr(tx.table("t"), method)(*args, **named)


def n(method: str, *args: Any) -> Act:
    return lambda tx: getattr(tx, method)(*args)


def make_u(v: str) -> Act:
    return lambda tx: tx.create_table("u", schema={"id": "int NOT NULL", "v": v}, key="id")


insert_4 = t("insert", [{"id": 4, "a": 40, "s": "q"}])
added_again = both(t("drop_column", "a"), t("add_column", "a", "bigint"), t("update", {"a": 7}, where="id = 1"))
moved_over = both(
    t("add_column", "w", "bigint"), t("update", {"w": "a * 2"}), t("drop_column", "a"), t("rename_column", "w", "a")
)


def with_namespace(tx: Any) -> None:
    tx.create_namespace("n")
    tx.set_namespace_properties("n", {"old": "1"})


def seen(repo: ab.Repository, at: str) -> dict[str, Any]:
    """What a branch shows: columns and rows of each table, properties of each namespace."""
    found: dict[str, Any] = {}
    for name in (e.name for e in repo.tables(at=at)):
        table = repo.table(name, at=at)
        columns = [f"{c.name} {c.type}{'' if c.nullable else '!'}{_said(c)}" for c in table.schema]
        found[name] = (", ".join(columns), rows(repo, at, name))
    return found | {f"{name}/": None for name in repo.namespaces(at=at)}


def _said(column: Any) -> str:
    return "".join(f"{sign}{text}" for sign, text in (("=", column.default), ("#", column.comment)) if text)


@dataclass(frozen=True)
class Clash:
    """What two sides did, the conflict that it is, and what is there if either side is taken."""

    name: str
    left: Act
    right: Act
    conflict: tuple[str, str, str | None]
    taking_left: dict[str, Any]
    taking_right: dict[str, Any]
    base: Act = make_t
    one_way: bool = False
    """Whether the right side alone is asked about as the source: its drop as the source goes through."""


ROWS = [(1, 10, "x"), (2, 20, "y"), (3, 30, "z")]


def t_with(a: str, name: str = "t") -> dict[str, Any]:
    return {name: (f"id int!, {a}, s string", ROWS)}


KEPT = {"t": ("id int!, a int, s string", [*ROWS, (4, 40, "q")])}
CLASHES = [
    Clash(
        "other defaults",
        t("alter_column", "a", default=1),
        t("alter_column", "a", default=2),
        ("t", "alter column/alter column", "a"),
        t_with("a int=1"),
        t_with("a int=2"),
    ),
    Clash(
        "other comments",
        t("alter_column", "a", comment="pieces"),
        t("alter_column", "a", comment="boxes"),
        ("t", "alter column/alter column", "a"),
        t_with("a int#pieces"),
        t_with("a int#boxes"),
    ),
    Clash(
        "other names",
        t("rename_column", "a", "b"),
        t("rename_column", "a", "c"),
        ("t", "rename column/rename column", "b"),
        t_with("b int"),
        t_with("c int"),
    ),
    Clash(
        "tables of one name with other defaults",
        make_u("int DEFAULT 1"),
        make_u("int DEFAULT 2"),
        ("u", "add column/add column", "v"),
        {"u": ("id int!, v int=1", [])},
        {"u": ("id int!, v int=2", [])},
        nothing,
    ),
    Clash(
        "tables of one name, one of which takes no null",
        make_u("int NOT NULL"),
        make_u("int"),
        ("u", "add column/add column", "v"),
        {"u": ("id int!, v int!", [])},
        {"u": ("id int!, v int", [])},
        nothing,
    ),
    Clash(
        "a column added again, a row with a value in it",
        insert_4,
        added_again,
        ("t", "insert/drop column", "a"),
        KEPT,
        {"t": ("id int!, s string, a bigint", [(1, "x", 7), (2, "y", None), (3, "z", None), (4, "q", None)])},
    ),
    Clash(
        "a column moved over, a row with a value in it",
        insert_4,
        moved_over,
        ("t", "insert/drop column", "a"),
        KEPT,
        {"t": ("id int!, s string, a bigint", [(1, "x", 20), (2, "y", 40), (3, "z", 60), (4, "q", None)])},
    ),
    Clash(
        "a column added again, a cell of it updated",
        t("update", {"a": 11}, where="id = 2"),
        added_again,
        ("t", "update/drop column", "a"),
        {"t": ("id int!, a int, s string", [(1, 10, "x"), (2, 11, "y"), (3, 30, "z")])},
        {"t": ("id int!, s string, a bigint", [(1, "x", 7), (2, "y", None), (3, "z", None)])},
    ),
    Clash(
        "a table dropped, and renamed by the source",
        t("drop"),
        t("rename", "z"),
        ("z", "drop/alter name", None),
        {},
        t_with("a int", "z"),
        one_way=True,
    ),
    Clash(
        "a table dropped, and given properties by the source",
        t("drop"),
        t("set_properties", {"p": "1"}),
        ("t", "drop/alter properties", None),
        {},
        t_with("a int"),
        one_way=True,
    ),
    Clash(
        "a namespace dropped, and renamed by the source",
        n("drop_namespace", "n"),
        n("rename_namespace", "n", "m"),
        ("m", "drop/alter name", None),
        {},
        {"m/": None},
        with_namespace,
        one_way=True,
    ),
    Clash(
        "a namespace dropped, and given properties by the source",
        n("drop_namespace", "n"),
        n("set_namespace_properties", "n", {"p": "1"}),
        ("n", "drop/set properties", None),
        {},
        {"n/": None},
        with_namespace,
        one_way=True,
    ),
    Clash(
        "a namespace dropped, and a property unset by the source",
        n("drop_namespace", "n"),
        n("unset_namespace_properties", "n", ["old"]),
        ("n", "drop/unset properties", None),
        {},
        {"n/": None},
        with_namespace,
        one_way=True,
    ),
]

by_name = pytest.mark.parametrize("case", CLASHES, ids=lambda c: c.name)
by_side = pytest.mark.parametrize("taken", ["left", "right"])


def turned(kind: str) -> str:
    return "/".join(reversed(kind.split("/")))


@by_side
@by_name
def test_what_both_said_otherwise_is_a_conflict_that_taking_a_side_settles(
    duck: ab.Repository, case: Clash, taken: str
) -> None:
    check(duck, case, "left", taken)


@by_side
@by_name
def test_with_the_sides_exchanged_the_conflict_is_turned(duck: ab.Repository, case: Clash, taken: str) -> None:
    if not case.one_way:
        check(duck, case, "right", taken)
        return
    fork(duck, case.base, case.left, case.right)
    duck.merge("ours", into="theirs")
    assert seen(duck, "theirs") == case.taking_left


@pytest.mark.parametrize("taken", ["left", "right"])
@pytest.mark.parametrize("case", CLASHES[5:7], ids=lambda c: c.name)
def test_values_of_a_column_that_was_added_again_are_looked_at_on_both_engines(
    repo: ab.Repository, case: Clash, taken: str
) -> None:
    check(repo, case, "left", taken)


def check(repo: ab.Repository, case: Clash, ours: str, taken: str) -> None:
    fork(repo, case.base, *((case.left, case.right) if ours == "left" else (case.right, case.left)))
    before = repo.show("ours").hash
    found = conflict(repo)
    kind = case.conflict[1] if ours == "left" else turned(case.conflict[1])
    ((name, told, column),) = whole(found)
    assert (name, told) == (case.conflict[0], kind)
    assert (column is None) == (case.conflict[2] is None)
    assert (list(found), found.violations, repo.show("ours").hash) == ([], [], before)
    merge = repo.start_merge("theirs", into="ours")
    assert merge.resolve(name, take="ours" if taken == ours else "theirs") == 1
    merge.finish()
    assert seen(repo, "ours") == (case.taking_left if taken == "left" else case.taking_right)


# --- in SQL and on the command line ---

Decide = Callable[[ab.Repository, str, str], None]


def in_sql(repo: ab.Repository, name: str, side: str) -> None:
    with pytest.raises(ab.MergeConflict):
        repo.sql("MERGE BRANCH theirs", on="ours")
    repo.sql(f"RESOLVE {name} TAKE {side}", on="ours")
    repo.sql("CONTINUE MERGE", on="ours")


def on_the_command_line(repo: ab.Repository, name: str, side: str) -> None:
    from anabranch.cli.main import run

    assert run(["merge", "theirs", "--into", "ours"]) == 1
    assert run(["resolve", name, f"--{side}", "--into", "ours"]) == 0
    assert run(["merge", "--continue", "--into", "ours"]) == 0


@by_side
@by_name
@pytest.mark.parametrize("decide", [in_sql, on_the_command_line])
def test_what_both_said_otherwise_is_settled_in_sql_and_on_the_command_line(
    duck: ab.Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: Clash, taken: str, decide: Decide
) -> None:
    monkeypatch.setenv("ANABRANCH_STORE", str(tmp_path / "store"))
    fork(duck, case.base, case.left, case.right)
    decide(duck, case.conflict[0], "ours" if taken == "left" else "theirs")
    assert seen(duck, "ours") == (case.taking_left if taken == "left" else case.taking_right)


# --- what is no conflict ---


@dataclass(frozen=True)
class Agreed:
    """What two sides did, and what is there, whichever is merged into the other."""

    name: str
    left: Act
    right: Act
    shown: dict[str, Any]
    base: Act = make_t


AGREED = [
    Agreed(
        "described in other parts",
        t("alter_column", "a", default=1),
        both(t("alter_column", "a", comment="pieces"), t("rename_column", "a", "b")),
        t_with("b int=1#pieces"),
    ),
    Agreed(
        "described alike",
        t("alter_column", "a", default=1, comment="pieces"),
        t("alter_column", "a", default=1, comment="pieces"),
        t_with("a int=1#pieces"),
    ),
    Agreed(
        "a column added again, a row without a value in it",
        t("insert", [{"id": 4, "s": "q"}]),
        added_again,
        {"t": ("id int!, s string, a bigint", [(1, "x", 7), (2, "y", None), (3, "z", None), (4, "q", None)])},
    ),
    Agreed(
        "a column added again, another updated",
        t("update", {"s": "'w'"}, where="id = 1"),
        added_again,
        {"t": ("id int!, s string, a bigint", [(1, "w", 7), (2, "y", None), (3, "z", None)])},
    ),
    Agreed(
        "a column added again, a row inserted and deleted",
        both(insert_4, t("delete", where="id = 4")),
        added_again,
        {"t": ("id int!, s string, a bigint", [(1, "x", 7), (2, "y", None), (3, "z", None)])},
    ),
    Agreed(
        "a column dropped, a row with a value in it",
        insert_4,
        t("drop_column", "a"),
        {"t": ("id int!, s string", [(1, "x"), (2, "y"), (3, "z"), (4, "q")])},
    ),
]


@pytest.mark.parametrize("into", ["ours", "theirs"])
@pytest.mark.parametrize("case", AGREED, ids=lambda c: c.name)
def test_what_sides_agree_on_is_merged(duck: ab.Repository, case: Agreed, into: str) -> None:
    fork(duck, case.base, case.left, case.right)
    duck.merge("theirs" if into == "ours" else "ours", into=into)
    assert seen(duck, into) == case.shown


def test_names_that_a_criss_cross_left_open_are_asked_about_again(duck: ab.Repository) -> None:
    fork(duck, make_t, t("rename_column", "a", "b"), t("rename_column", "a", "c"))
    tips = {name: duck.show(name).hash for name in ("ours", "theirs")}
    for into, other in (("ours", "theirs"), ("theirs", "ours")):
        merge = duck.start_merge(tips[other], into=into)
        merge.resolve("t", take="ours")
        merge.finish()
    act(duck, "theirs", t("insert", [{"id": 4, "c": 40, "s": "q"}]))
    assert [kind for _, kind, _ in whole(conflict(duck))] == ["rename column/rename column"]
