"""Rows of a stranger's catalogue that nobody wrote who meant well: told as damage, and never read for ever."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import anabranch as ab
from tests.repo.strangers.stranger import edited, opened


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with two branches, a namespace and a table in it."""
    made = tmp_path / "store"
    with ab.init(made, author="ann", engine="duck") as repo:
        with repo.commit("main", "load") as tx:
            tx.create_namespace("inner")
            tx.create_table("t", [{"id": 1, "v": "x"}], key="id")
            tx.create_table("inner.t", [{"id": 1}], key="id")
            tx.table("t").set_properties({"owner": "ann"})
        repo.branch("dev")
        for branch in ("dev", "main"):
            with repo.commit(branch, "more") as tx:
                tx.table("t").insert([{"id": 2 if branch == "dev" else 3, "v": "y"}])
        repo.merge("dev", "main")
    return made


def look(repo: ab.Repository) -> None:
    """Read whatever there is, as people do."""
    for ref in ("main", "dev"):
        repo.log(ref)
        repo.show(ref)
        repo.tables(ref)
        repo.namespaces(ref)
        repo.table("t", ref).rows()
    repo.diff("dev", "main").counts()
    repo.history("t")
    repo.reflog()
    repo.merge_base("main", "dev")
    repo.sql("SELECT * FROM t").rows()


def test_what_is_whole_can_be_read(store: Path) -> None:
    with opened(store) as repo:
        look(repo)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE ana_lines SET parent_line = id, parent_index = 0",
        "UPDATE ana_lines SET parent_line = id, parent_index = 0, parent_generation = 1",
        "UPDATE ana_lines SET parent_line = 'gone' WHERE parent_line IS NOT NULL",
        "UPDATE ana_lines SET parent_line = (SELECT id FROM ana_lines WHERE parent_line IS NOT NULL), "
        "parent_index = 0, parent_generation = 9",
        "DELETE FROM ana_lines",
        "UPDATE ana_lines SET tip = 'many', parent_index = 'x'",
        "UPDATE ana_names SET parent_id = thing_id WHERE kind = 'namespace'",
        "INSERT INTO ana_names SELECT repository_id, thing_id, 'again', line_id, commit_index, carried, kind, thing_id "
        "FROM ana_names WHERE kind = 'namespace'",
        "UPDATE ana_names SET thing_id = 'gone'",
        "DELETE FROM ana_entries",
        "UPDATE ana_entries SET attributes = '[]'",
        "UPDATE ana_entries SET attributes = 'no json'",
        "UPDATE ana_entries SET attributes = '{\"checks\": 7}'",
        'UPDATE ana_entries SET attributes = \'{"properties": {"a": []}}\'',
        "UPDATE ana_entries SET operations = '7'",
        "UPDATE ana_entries SET schema_id = 'gone'",
        "UPDATE ana_schemas SET document = '{}'",
        "UPDATE ana_schemas SET document = '[]'",
        'UPDATE ana_schemas SET document = \'{"columns": [{}], "key": []}\'',
        "UPDATE ana_schemas SET document = replace(document, 'bigint', 'nonsense')",
        'UPDATE ana_schemas SET document = replace(document, \'"key": ["\', \'"key": ["gone\')',
        'UPDATE ana_schemas SET document = replace(document, \'"id": "c\', \'"id": "c x`; --\')',
        "UPDATE ana_objects SET kind = 'strange'",
        "UPDATE ana_objects SET place = 'elsewhere'",
        "UPDATE ana_objects SET row_count = 'many'",
        "UPDATE ana_objects SET row_count = 77",
        "UPDATE ana_objects SET size_bytes = -1",
        "UPDATE ana_objects SET key_high = '[]'",
        "UPDATE ana_objects SET key_low = '[{\"decimal\": \"x\"}]', key_high = '[1]'",
        "UPDATE ana_objects SET touched = '7'",
        "UPDATE ana_objects SET sha256 = 'other'",
        "UPDATE ana_inline_objects SET content = x'00'",
        "DELETE FROM ana_inline_objects",
        "DELETE FROM ana_commits",
        "UPDATE ana_commits SET generation = 'old'",
        "UPDATE ana_commits SET finished_at = 9223372036854775807",
        "UPDATE ana_merge_edges SET parent_line = line_id, parent_index = commit_index",
        "UPDATE ana_merge_edges SET parent_line = 'gone'",
        "UPDATE ana_branches SET line_id = 'gone'",
        "UPDATE ana_branch_moves SET moved_at = 'now'",
        "UPDATE ana_store SET value = 'x' WHERE key = 'format_version'",
        "DELETE FROM ana_store WHERE key = 'objects'",
    ],
)
def test_a_damaged_row_is_told_as_damage(store: Path, statement: str) -> None:
    assert edited(store, statement) > 0
    try:
        with opened(store) as repo:
            look(repo)
    except ab.Corrupt:
        return
    except ab.NotFound:  # what the row said is gone
        return
    assert statement.split()[1] in ("ana_merge_edges", "ana_objects"), "it was read as if nothing had happened"


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE ana_open_entries SET document = '{}'",
        "UPDATE ana_open_entries SET document = '[]'",
        "UPDATE ana_open_commits SET parent_line = 'gone'",
        "UPDATE ana_open_commits SET provenance = '7'",
        "DELETE FROM ana_open_objects",
    ],
)
def test_a_damaged_row_of_open_work_is_told_as_damage(store: Path, statement: str) -> None:
    with opened(store) as repo:
        repo.start("main", message="work").table("t").insert([{"id": 9, "v": "z"}])
    assert edited(store, statement) > 0
    with opened(store) as repo:
        try:
            for work in repo.open_commits():
                work.status()
                work.abort()
        except (ab.Corrupt, ab.NotFound):
            pass


def test_long_names_are_cut_in_messages(duck: ab.Repository) -> None:
    name = "n" * 10_000
    asks: list[Callable[[], object]] = [
        lambda: duck.table(name),
        lambda: duck.branch(name),
        lambda: duck.show(name),
        lambda: duck.show(f"a b {name}"),
        lambda: duck.sql(f"SELECT * FROM {name}"),
        lambda: duck.sql(f"SELECT '{name}' FROM nothing"),
        lambda: duck.merge(name, "main"),
        lambda: ab.open("/nowhere/" + name),
    ]
    for ask in asks:
        with pytest.raises(ab.AnabranchError) as caught:
            ask()
        assert len(str(caught.value)) < 1500
    assert json.dumps(str(caught.value))
