"""Graphs drawn in memory, made for real: published commit by commit, merges by hand with several parents."""

from __future__ import annotations

from dataclasses import dataclass, replace

import anabranch as ab
from anabranch.catalog import branches, history, moves
from anabranch.catalog.publish import publish
from anabranch.catalog.store import Connection, now
from anabranch.model.clock import Position
from anabranch.model.commits import CommitHead
from anabranch.model.content import Content, NameBinding, Publication
from anabranch.model.ids import ROOT_NAMESPACE, CommitId, ThingId, new_id
from anabranch.model.tables import Entry
from tests.plan.graphs import Graph, Made

TABLES = ("t", "u")


@dataclass(frozen=True)
class Real:
    """A graph and the commits that stand for its numbers."""

    graph: Graph
    heads: tuple[CommitHead, ...]
    things: dict[str, ThingId]
    """The ids of the tables, by name."""

    def hashes(self, numbers: set[int] | frozenset[int]) -> set[str]:
        return {self.heads[n].hash for n in numbers}

    def touches(self, number: int) -> tuple[str, ...]:
        return touched(number)

    def author(self, number: int) -> str:
        return author_of(number)


def touched(number: int) -> tuple[str, ...]:
    """Which tables a commit touches: the first makes both, the others none, one or both, by their numbers."""
    return TABLES if number == 0 else tuple(t for bit, t in enumerate(TABLES) if number >> bit & 1)


def author_of(number: int) -> str:
    return ("ann", "bob", "cid")[number % 3]


def publish_graph(repo: ab.Repository, graph: Graph, *, depth_limit: int = 32) -> Real:
    """Publish every commit of a graph, number 0 right after the repository's own root, in one transaction."""
    ctx = repo._ctx
    things = {name: ThingId(new_id("t")) for name in TABLES}
    heads: list[CommitHead] = []
    with ctx.catalog.write() as cx:
        main = branches.find(cx, ctx.record.id, "main")
        assert main is not None
        root = history.head(cx, main.position)
        assert root is not None
        for number, made in enumerate(graph.commits):
            parents = tuple(heads[p] for p in made.parents) or (root,)
            heads.append(_publish(repo, cx, made, number, parents, things, depth_limit))
    return Real(graph, tuple(heads), things)


def _publish(
    repo: ab.Repository,
    cx: Connection,
    made: Made,
    number: int,
    parents: tuple[CommitHead, ...],
    things: dict[str, ThingId],
    depth_limit: int,
) -> CommitHead:
    ctx = repo._ctx
    name = "main" if made.branch == 0 else f"b{made.branch}"
    first = parents[0].position
    branch = branches.find(cx, ctx.record.id, name)
    if branch is None:
        making = moves.new_branch(ctx.record.id, name, first, "ann")
        moves.apply(cx, making)
        branch = making.branch
    elif branch.position != first:
        moves.apply(cx, moves.Move(ctx.record.id, branch, branch.position, first, "ann", "reset"))
        branch = replace(branch, position=first)
    return publish(
        cx,
        Publication(
            ctx.record.id,
            branch,
            parents,
            CommitId(new_id("k")),
            author_of(number),
            f"commit {number}",
            now(cx),
            (),
            "merge" if len(parents) > 1 else "commit",
            _content(number, things),
        ),
        ctx.store_id,
        depth_limit,
    )


def _content(number: int, things: dict[str, ThingId]) -> Content:
    entries = tuple(Entry(things[t], "table", None, number, ("insert",)) for t in touched(number))
    names = tuple(NameBinding(ROOT_NAMESPACE, t, "table", things[t]) for t in TABLES) if number == 0 else ()
    return Content(entries=entries, names=names)


def position_of(repo: ab.Repository, ref: str) -> Position:
    """Resolve a ref to where its commit lies."""
    from anabranch.repo.branches.refs import resolve

    with repo._ctx.catalog.read() as cx:
        return resolve(repo._ctx, cx, ref)
