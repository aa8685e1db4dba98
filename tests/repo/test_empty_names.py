"""An empty name is no name: no verb takes it for the default branch, for the newest commit, or for all tables."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import anabranch as ab
from tests.catalog import stores

store = stores.store
repo = stores.repo

NAMES = {
    "at", "before", "branch", "commit", "commits", "file", "into", "job", "name", "namespace", "new", "old", "on",
    "one", "onto", "other", "other_at", "ours", "output", "parent", "pipeline", "ref", "since", "source", "table",
    "theirs", "to", "after",
}  # fmt: skip
"""Parameters that name a branch, a tag, a commit, a table, a file, a job or a pipeline."""
OTHERS = {
    ("cherry_pick", "parent"),
    ("revert", "parent"),
    ("start_cherry_pick", "parent"),
    ("start_revert", "parent"),
    ("log", "since"),
    ("origins", "commits"),
}
"""Of the same names, but numbers, times and commits."""
EMPTY_LISTS = {("jobs", "name"), ("runs", "pipeline"), ("open_merges", "into"), ("open_sequences", "on")}
"""Filters: nothing has an empty name."""


def _names() -> Iterator[tuple[str, str]]:
    for verb, found in inspect.getmembers(ab.Repository, inspect.isfunction):
        parameters = [] if verb.startswith("_") else list(inspect.signature(found).parameters)
        yield from ((verb, p) for p in parameters if p in NAMES and (verb, p) not in OTHERS)


def sizes(shard: Any) -> Any:
    yield {"id": 1}


GIVEN: dict[str, Any] = {
    **dict.fromkeys(("args", "work")),
    **dict.fromkeys(("at", "branch", "commit", "commits", "into", "on", "onto", "ours", "parent", "ref", "to"), "main"),
    **dict.fromkeys(("name", "one", "other", "table"), "t"),
    **dict.fromkeys(("old", "source", "theirs"), "dev"),
    "file": "f",
    "function": sizes,
    "inputs": {"t": "t"},
    "job": "sizes",
    "new": "new",
    "number": 1,
    "paths": "x.csv",
    "place": "/nonexistent/place",
    "text": "SELECT * FROM t",
    "url": "file:///nowhere",
}
"""Arguments that the verbs would take, by parameter."""


@pytest.fixture
def made(repo: ab.Repository, tmp_path: Path) -> ab.Repository:
    """A repository with a table, a file and a second branch, each changed since the branches parted."""
    with repo.commit("main", "make") as tx:
        tx.create_table("t", [{"id": 1}], key="id")
        tx.files.put("f", "x")
    repo.branch("dev")
    repo.tag("v1")
    for branch, key in (("main", 2), ("dev", 3)):
        with repo.commit(branch, f"insert {key}") as tx:
            tx.table("t").insert([{"id": key}])
    return repo


def _call(repo: ab.Repository, verb: str, parameter: str) -> Any:
    """Call a verb with an empty text, and use what it returns."""
    bound: Callable[..., Any] = getattr(repo, verb)
    signature = inspect.signature(bound)
    arguments = {
        name: "" if name == parameter else GIVEN[name]
        for name, p in signature.parameters.items()
        if name == parameter or (p.default is p.empty and p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY))
    }
    options = {"local": True, "table": "o", "key": "id"} if verb == "job" else {}
    found = bound(**arguments, **options)
    if verb in ("commit", "staging"):
        with found as tx:
            tx.table("t").insert([{"id": 9}])
    elif verb == "table":
        found.rows()
    elif verb == "files":
        found.list()
    elif verb in ("diff", "diff_tables", "changes", "preview"):
        found.counts() if hasattr(found, "counts") else found.rows()
    elif verb == "job":
        found.run()
    elif verb == "sql_session":
        found.execute("SELECT * FROM t")
    return found


def _shown(repo: ab.Repository) -> Any:
    branches = [(b.name, b.commit) for b in repo.branches()]
    return branches, [t.name for t in repo.tags()], len(repo.open_commits()), len(repo.stashes())


@pytest.mark.parametrize(("verb", "parameter"), list(_names()))
def test_no_verb_takes_an_empty_name_for_another(made: ab.Repository, verb: str, parameter: str) -> None:
    before = _shown(made)
    if (verb, parameter) in EMPTY_LISTS:
        assert _call(made, verb, parameter) == []
    elif (verb, parameter) == ("working_set", "branch"):
        with made.staging("main") as tx:
            tx.table("t").insert([{"id": 9}])
        assert made.working_set("") is None
        return
    else:
        with pytest.raises((ab.InvalidRequest, ab.NotFound)):
            _call(made, verb, parameter)
    assert _shown(made) == before
