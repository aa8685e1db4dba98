"""What tests hold the past to: the states of neighbouring commits, read in full and compared as dicts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import anabranch as ab

Rows = dict[Any, dict[str, Any]]


def states(
    repo: ab.Repository, table: str, at: str, since: str | None = None, absent: Mapping[str, Any] | None = None
) -> list[tuple[ab.Commit, Rows]]:
    """The table at each commit along first parents, oldest first, under the names that columns have in the end.

    Columns that a state lacks have the value that `absent` says, or null.
    """
    stop = repo.show(since).hash if since else None
    final = repo.table(table, at=at)
    found = []
    commit: ab.Commit | None = repo.show(at)
    while commit is not None:
        found.append((commit, _rows(repo, final, commit.hash, absent or {})))
        if commit.hash == stop:
            break
        commit = repo.show(commit.parents[0]) if commit.parents else None
    return list(reversed(found))


def _rows(repo: ab.Repository, final: Any, at: str, absent: Mapping[str, Any]) -> Rows:
    found: Rows = {}
    for entry in repo.tables(at=at):
        if entry.id != final._state.id:
            continue
        table = repo.table(entry.name, at=at)
        then = {c.id: c.name for c in table.schema}
        for row in table.rows():
            shown = {c.name: row[then[c.id]] if c.id in then else absent.get(c.name) for c in final.schema}
            found[tuple(shown[k] for k in final.key)] = shown
    return found


def feed(
    repo: ab.Repository,
    table: str,
    to: str = "main",
    since: str | None = None,
    absent: Mapping[str, Any] | None = None,
) -> list[dict[str, Any]]:
    """The changes of every commit, by comparing neighbours."""
    found = []
    known = states(repo, table, to, since, absent)
    before: Rows = known.pop(0)[1] if since else {}
    for commit, after in known:
        said = {"_commit_version": commit.id, "_commit_timestamp": commit.finished_at}
        for key in sorted(before.keys() | after.keys()):
            old, new = before.get(key), after.get(key)
            if old is None:
                found.append({**after[key], "_change_type": "insert", **said})
            elif new is None:
                found.append({**old, "_change_type": "delete", **said})
            elif old != new:
                found.append({**old, "_change_type": "update_preimage", **said})
                found.append({**new, "_change_type": "update_postimage", **said})
        before = after
    return found
