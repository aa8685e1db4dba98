"""verify finds every damage: each column of each table of the catalogue is edited, each kind of file is damaged."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import JSON, Boolean, Column, Integer, LargeBinary

import anabranch as ab
from anabranch.catalog import tables as t
from anabranch.catalog.checks.catalog import OWN
from tests.repo.upkeep.verified_store import SETTINGS, make_store

Edit = tuple[str, Any]
"""Which row (SQL), and the value to put there."""
_FIRST = "1 = 1"

EDITS: dict[str, Edit] = {
    "ana_store.value": ("key = 'store_id'", "nobody"),
    "ana_branches.created_at": ("name = 'main'", 5),
    "ana_branches.author": ("name = 'dev'", "eve"),
    "ana_branch_moves.moved_at": ("commit_id IS NOT NULL AND verb <> 'init'", 5),
    "ana_branch_moves.author": ("commit_id IS NOT NULL", "eve"),
    "ana_branch_moves.commit_id": ("commit_id IS NOT NULL", "kaaaaaaaaaaaaaaaa"),
    "ana_branch_moves.from_line": ("from_line IS NOT NULL", "lost"),
    "ana_branch_moves.from_index": ("from_line IS NOT NULL", 77),
    "ana_branch_moves.verb": (_FIRST, ""),
    "ana_lines.parent_line": ("parent_line IS NOT NULL", "lost"),
    "ana_lines.parent_index": ("parent_line IS NOT NULL", 77),
    "ana_lines.parent_generation": ("parent_line IS NOT NULL", 77),
    "ana_lines.name": (_FIRST, ""),
    "ana_entries.schema_id": ("kind = 'table'", "saaaaaaaaaaaaaaaa"),
    "ana_entries.row_count": ("kind = 'table' AND row_count > 0", 3),
    "ana_names.thing_id": ("thing_id IS NOT NULL", "taaaaaaaaaaaaaaaa"),
    "ana_names.kind": ("thing_id IS NOT NULL AND kind = 'table'", "namespace"),
    "ana_views.since_line": ("kind = 'fold'", "lost"),
    "ana_views.since_index": ("kind = 'fold'", 77),
    "ana_views.created_at": ("kind = 'snapshot' AND commit_index = 1", 5),
    "ana_view_objects.turn": ("turn > 0", -1),
    "ana_objects.key_low": ("key_low NOT IN ('null') AND kind = 'rows'", "[-5]"),
    "ana_objects.key_high": ("key_high NOT IN ('null') AND kind = 'rows'", "[99999]"),
    "ana_objects.touched": ("kind = 'update'", "[]"),
    "ana_objects.path": ("path IS NOT NULL", "aa/oaaaaaaaaaaaaaaaa.parquet"),
    "ana_objects.created_at": (_FIRST, 0),
    "ana_changes.step": (_FIRST, 4),
    "ana_tags.name": (_FIRST, "a..b"),
    "ana_open_merges.rules": (_FIRST, '{"t.v": 5}'),
    "ana_open_merges.decisions": (_FIRST, '{"x": 5}'),
    "ana_tags.created_at": (_FIRST, 0),
    "ana_tags.author": (_FIRST, ""),
    "ana_repositories.created_at": (_FIRST, 0),
    "ana_repositories.name": (_FIRST, "a/b"),
    "ana_open_commits.started_at": (_FIRST, 0),
    "ana_open_commits.version": (_FIRST, -1),
    "ana_open_merges.started_at": (_FIRST, 0),
    "ana_open_merges.version": (_FIRST, -1),
}
"""Where the first row with any other value would not do."""

FREE: dict[str, str] = {
    "ana_commits.schemas": "a commit of format 3 has none: the schemas are tried until the hash fits",
    "ana_open_commits.message": "free text, not hashed before the commit is finished",
    "ana_open_commits.author": "free text, not hashed before the commit is finished",
    "ana_open_commits.strict": "either is possible",
    "ana_open_commits.creates_branch": "somebody else may have made the branch since the commit was opened",
    "ana_open_commits.facts": "free, not hashed before the commit is finished",
    "ana_open_merges.message": "free text, not hashed before the merge is finished",
    "ana_open_merges.author": "free text, not hashed before the merge is finished",
    "ana_open_merges.conflicts_of": "a cache: other conflicts are worked out anew",
    "ana_open_merges.conflicts_id": "a cache: other conflicts are worked out anew",
    "ana_branches.upstream": "any remote may be followed, also one that is gone",
    "ana_tags.message": "free text",
    "ana_provenance.repository_id": "says where to look first; the hash says what is meant",
}
"""Columns whose text is its own truth; that it is text at all is checked all the same."""
UNWRITTEN = {"ana_facts"}
"""Tables that no verb writes yet."""
WRITTEN = [x for x in t.metadata.sorted_tables if x.name in OWN - UNWRITTEN]
COLUMNS = [f"{table.name}.{c.name}" for table in WRITTEN for c in table.c]
SHARE = 4
BOUND = {x.name: [f"{x.name}.{c.name}" for c in x.c if f"{x.name}.{c.name}" not in FREE] for x in WRITTEN}
SAMPLE = {name for n, names in enumerate(BOUND.values()) for name in names[n % min(SHARE, len(names)) :: SHARE]}
"""One of so many columns of each table; with `--all`, each is edited."""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a row in every table that commits, merges and open work write."""
    return make_store(tmp_path_factory.mktemp("verify"))


@pytest.fixture(scope="module")
def repo(store: Path) -> Iterator[ab.Repository]:
    with ab.open(store, engine="duck", author="ann", settings=SETTINGS) as opened:
        yield opened


class Edited:
    """One value of the catalogue that is another for a while."""

    def __init__(self, store: Path, column: str, edit: Edit) -> None:
        self._at, (table, self._name) = store / ".anabranch" / "catalog.db", column.split(".")
        self._table, (self._which, self._value) = t.metadata.tables[table], edit

    def __enter__(self) -> None:
        names = [c.name for c in self._table.c]
        found = self._run(f"SELECT * FROM {self._table.name} WHERE {self._which} ORDER BY 1, 2 LIMIT 1")
        assert found, f"the store has no row of {self._table.name} where {self._which}"
        self._before = dict(zip(names, found[0], strict=True))
        self._after = {**self._before, self._name: self._value}
        assert self._before != self._after
        self._replace(self._before, self._after)

    def __exit__(self, *_: object) -> None:
        self._replace(self._after, self._before)

    def _replace(self, old: dict[str, Any], new: dict[str, Any]) -> None:
        key = [c.name for c in self._table.primary_key]
        where = " AND ".join(f"{name} IS ?" for name in key)
        self._run(f"DELETE FROM {self._table.name} WHERE {where}", *(old[name] for name in key))
        places = ", ".join("?" for _ in new)
        self._run(f"INSERT INTO {self._table.name} ({', '.join(new)}) VALUES ({places})", *new.values())

    def _run(self, statement: str, *values: Any) -> list[Any]:
        with sqlite3.connect(self._at) as connection:
            found = connection.execute(statement, values).fetchall()
        connection.close()
        return found


def other_value(column: Column[Any]) -> Any:
    """A value of the same type that no row has there."""
    if isinstance(column.type, Boolean):
        return 1
    if isinstance(column.type, JSON):
        return json.dumps({"other": "value"})
    if isinstance(column.type, Integer):
        return 4711
    return b"other" if isinstance(column.type, LargeBinary) else "other"


def edit_of(name: str) -> Edit:
    table, column = name.split(".")
    found = t.metadata.tables[table].c[column]
    if isinstance(found.type, Boolean) and name not in EDITS:
        return f"{column} = 0", 1
    return EDITS.get(name, (_FIRST, other_value(found)))


def test_a_sound_store_has_no_damages(repo: ab.Repository) -> None:
    found = repo.verify(deep=True)
    assert found.damages == ()
    assert (found.is_sound, found.deep) == (True, True)
    assert min(found.objects, found.tables, found.size_bytes) > 10
    assert found.rows.keys() >= OWN - UNWRITTEN, "each table has rows that are looked at"


@pytest.mark.parametrize(
    "name", [pytest.param(c, marks=() if c in SAMPLE else pytest.mark.more) for c in COLUMNS if c not in FREE]
)
def test_an_edited_value_is_found(store: Path, repo: ab.Repository, name: str) -> None:
    with Edited(store, name, edit_of(name)):
        found = repo.verify()
    assert found.damages, f"{name} can be edited and nothing tells"
    assert all(d.where and d.what and d.hint for d in found.damages)
    assert any(
        part in d.where for d in found.damages for part in (name.split(".")[0], "ana_commits", "ana_entries", "object ")
    )


@pytest.mark.more
@pytest.mark.parametrize("name", [n for n in COLUMNS if n != "ana_branch_moves.id"])  # SQLite refuses it by itself
def test_a_value_of_a_wrong_type_is_told_and_the_rest_still_looked_at(
    store: Path, repo: ab.Repository, name: str
) -> None:
    table, column = name.split(".")
    found = t.metadata.tables[table].c[column]
    wrong: Any = "[" if isinstance(found.type, JSON) else b"\xff\x00" if not isinstance(found.type, LargeBinary) else 5
    with Edited(store, name, (_FIRST, wrong)):
        damages = repo.verify().damages
    assert any(d.where.startswith(table) for d in damages)


def test_columns_that_nothing_depends_on_are_there_and_have_a_reason() -> None:
    assert set(FREE) <= set(COLUMNS)
    assert set(EDITS) <= set(COLUMNS)
    assert not set(FREE) & set(EDITS)
