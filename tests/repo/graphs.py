"""Random histories with merges, remembered as dicts: what history and blame are held to."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

import anabranch as ab

Row = dict[str, Any]
COLUMNS = ("a", "b")


@dataclass
class Graph:
    """Every commit that the main branch reaches, with its parents and its rows."""

    head: str
    parents: dict[str, tuple[str, ...]] = field(default_factory=dict)
    rows: dict[str, dict[int, Row]] = field(default_factory=dict)


def grown(repo: ab.Repository, random: Random, others: tuple[str, ...] = ("dev",)) -> Graph:
    """Write and merge at random; no value comes twice, so that a cell tells where it is from."""
    with repo.commit("main", "make") as tx:
        tx.create_table("t", schema={"id": "int", "a": "int", "b": "int"}, key="id")
        tx.table("t").insert([{"id": i, "a": -i, "b": -i} for i in range(3)])
    value = 1
    for name in others:
        repo.branch(name)
    for _ in range(14):
        branch, other = random.sample(["main", *others], 2)
        if random.random() < 0.25:
            repo.merge(other, into=branch, message="merge", rules={"*": random.choice(["ours", "theirs"])})
            continue
        with repo.commit(branch, "change") as tx:
            table = tx.table("t")
            for _ in range(random.randint(1, 2)):
                value += 10
                _write(table, random, value)
        if random.random() < 0.2:
            repo.optimize("t", on=branch)
    for name in others:
        repo.merge(name, into="main", message="last", rules={"*": "theirs"})
    return _remembered(repo)


def _write(table: Any, random: Random, value: int) -> None:
    key, verb = random.randrange(6), random.choice(["upsert", "partial", "update", "delete"])
    if verb == "upsert":
        table.upsert([{"id": key, "a": value, "b": value + 1}])
    elif verb == "partial":
        column = random.choice(COLUMNS)
        table.update({column: value}, where="id = :k", args={"k": key})
    elif verb == "update":
        column = random.choice(COLUMNS)
        table.update({column: f"{value} + id"}, where="id >= :k", args={"k": key})
    else:
        table.delete(where="id = :k", args={"k": key})


def _remembered(repo: ab.Repository) -> Graph:
    graph = Graph(repo.show("main").hash)
    todo = [graph.head]
    while todo:
        commit = repo.show(todo.pop())
        if commit.hash in graph.parents:
            continue
        graph.parents[commit.hash] = commit.parents
        there = any(t.name == "t" for t in repo.tables(at=commit.hash))
        rows = repo.table("t", at=commit.hash).rows() if there else []
        graph.rows[commit.hash] = {r["id"]: r for r in rows}
        todo += commit.parents
    return graph


def row_commits(graph: Graph, key: int) -> set[str]:
    """The commits at which some cell of a row is unlike that of every parent, or the row came or went."""
    found = set()
    for commit, parents in graph.parents.items():
        after = graph.rows[commit].get(key)
        sides = [graph.rows[p].get(key) for p in parents]
        if all(after is None and side is None for side in sides):
            continue
        changed = [_differing(side, after) for side in sides]
        if set.intersection(*changed):
            found.add(commit)
    return found


def _differing(before: Row | None, after: Row | None) -> set[str]:
    if before is None or after is None:
        return set() if before is after else {"id", *COLUMNS}
    return {c for c in ("id", *COLUMNS) if before[c] != after[c]}


def cell_commit(graph: Graph, commit: str, key: int, column: str) -> str:
    """The commit that a cell's value is from."""
    value = graph.rows[commit][key][column]
    for parent in graph.parents[commit]:
        row = graph.rows[parent].get(key)
        if row is not None and row[column] == value:
            return cell_commit(graph, parent, key, column)
    return commit
