"""What the tests of merging share: two branches from one base, and conflicts as short tuples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import anabranch as ab
from anabranch.repo.commit.transaction import Transaction
from anabranch.repo.merge.conflicts import Conflicts

Act = Callable[[Transaction], Any]
ROWS = [{"id": 1, "a": 10, "s": "x"}, {"id": 2, "a": 20, "s": "y"}, {"id": 3, "a": 30, "s": "z"}]
SCHEMA = {"id": "int NOT NULL", "a": "int", "s": "string"}


def make_t(tx: Transaction) -> None:
    """Make the table `t` that most tests work on."""
    tx.create_table("t", schema=SCHEMA, key="id")
    tx.table("t").insert(ROWS)


def nothing(tx: Transaction) -> None:
    """Do nothing."""


def both(*acts: Act) -> Act:
    """Do several things in one commit."""

    def run(tx: Transaction) -> None:
        for one in acts:
            one(tx)

    return run


def act(repo: ab.Repository, branch: str, *acts: Act) -> ab.Commit:
    """Commit once for each act."""
    for one in acts:
        with repo.commit(branch, f"work on {branch}", allow_empty=True) as tx:
            one(tx)
    return repo.show(branch)


def fork(repo: ab.Repository, base: Act, ours: Act, theirs: Act) -> None:
    """Make a base on `main`, and one commit on it on each of the branches `ours` and `theirs`."""
    act(repo, "main", base)
    for name, work in (("ours", ours), ("theirs", theirs)):
        repo.branch(name, at="main")
        act(repo, name, work)


def rows(repo: ab.Repository, at: str = "ours", table: str = "t") -> list[tuple[Any, ...]]:
    """The rows of a table as tuples, in order."""
    found = [tuple(row.values()) for row in repo.table(table, at=at).rows()]
    return sorted(found, key=lambda row: tuple((v is None, str(v)) for v in row))


def conflict(repo: ab.Repository, *sources: str, into: str = "ours", **how: Any) -> Conflicts:
    """Merge, expecting conflicts."""
    with pytest.raises(ab.MergeConflict) as caught:
        repo.merge(list(sources) or "theirs", into=into, **how)
    found: Conflicts = caught.value.conflicts
    return found


def cells(conflicts: Conflicts, table: str = "t") -> list[tuple[Any, ...]]:
    """Conflicts of rows in short: key, kind, column, base, ours, theirs; whole rows as tuples of values."""
    found = [
        (
            tuple(c["key"].values()),
            c["kind"],
            c["column"],
            *(_short(c[s]) for s in ("base", "ours", "theirs")),
        )
        for c in conflicts[table].rows()
    ]
    return sorted(found, key=str)


def _short(value: Any) -> Any:
    return tuple(value.values()) if isinstance(value, dict) else value


def whole(conflicts: Conflicts) -> list[tuple[str, str, str | None]]:
    """Conflicts of tables, namespaces and columns in short: name, kind, column."""
    return [(c["table"], c["kind"], c["column"]) for c in (*conflicts.objects, *conflicts.schema)]
