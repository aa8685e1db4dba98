"""Which commits a commit was made from, and which were made from it, across all repositories of a store."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from anabranch.catalog.later import Connection, sa, t
from anabranch.catalog.prepared import Prepared
from anabranch.model.clock import Position
from anabranch.model.facts import OwnFact
from anabranch.model.ids import LineId, RepositoryId

_AT_ONCE = 500
"""Hashes per statement."""


@dataclass(frozen=True)
class KnownCommit:
    """A commit in this store."""

    hash: str
    repository: str
    """The name of its repository."""
    message: str
    author: str
    finished_at: int
    position: Position
    is_merge: bool


@dataclass(frozen=True)
class ProvenanceLink:
    """One commit was made from another, or from an outside source."""

    by: str
    """The hash of the commit that was made."""
    origin: str | None
    """The hash of what it was made from."""
    role: str | None
    source: str | None
    repository: RepositoryId | None = None


def find_commits(cx: Connection, hashes: Collection[str]) -> dict[str, KnownCommit]:
    """Find commits by hash, in any repository."""
    found = {}
    for part in _parts(hashes):
        c = t.commits.c
        query = sa.select(t.commits, t.repositories.c.name.label("repository")).join(
            t.repositories, t.repositories.c.id == c.repository_id
        )
        for r in cx.execute(query.where(c.hash.in_(part))):
            at = Position(LineId(r.line_id), r.commit_index)
            found[r.hash] = KnownCommit(r.hash, r.repository, r.message, r.author, r.finished_at, at, r.is_merge)
    return found


def merges_above(cx: Connection, commit: KnownCommit) -> list[tuple[str, Position, Position]]:
    """The merges that may have brought a commit in: hash, position, and the further parent to look at."""
    c, e, own = t.commits.c, t.merge_edges.c, t.commits.alias("own")
    here = sa.and_(own.c.line_id == commit.position.line, own.c.commit_index == commit.position.index)
    same = sa.and_(e.line_id == c.line_id, e.commit_index == c.commit_index)
    query = sa.select(c.hash, e.line_id, e.commit_index, e.parent_line, e.parent_index)
    query = query.select_from(t.merge_edges.join(t.commits, same).join(own, here))
    query = query.where(c.repository_id == own.c.repository_id, e.parent_generation >= own.c.generation)
    return [
        (row.hash, Position(LineId(row.line_id), row.commit_index), Position(LineId(row.parent_line), row.parent_index))
        for row in cx.execute(query.order_by(e.generation, c.hash))
    ]


@dataclass(frozen=True)
class RevertLink:
    """A commit that reverts another one."""

    reverted: str
    by: str
    position: Position
    """Where the reverting commit is."""


REVERT_MESSAGE = 'revert "'
"""Begins the message of a revert, unless its author gave another."""


def reverts_of(cx: Connection, repository: RepositoryId, hashes: Collection[str]) -> list[RevertLink]:
    """Find the commits that revert some of these: made from one, by a revert, as its move or its message says.

    Moves of branches are not copied along with commits, so in a clone the message alone tells.
    """
    c, p, m = t.commits.c, t.provenance.c, t.branch_moves.c
    same = sa.and_(p.line_id == c.line_id, p.commit_index == c.commit_index)
    moved = sa.and_(m.to_line == c.line_id, m.to_index == c.commit_index, m.verb == "revert")
    by_move = sa.exists().where(m.repository_id == repository, moved)
    is_revert = sa.or_(c.message.startswith(REVERT_MESSAGE, autoescape=True), by_move)
    query = sa.select(p.commit_hash, c.hash, c.line_id, c.commit_index).select_from(t.commits.join(t.provenance, same))
    found: list[RevertLink] = []
    for part in _parts(hashes):
        wanted = query.where(c.repository_id == repository, p.commit_hash.in_(part), is_revert)
        for row in cx.execute(wanted):
            place = Position(LineId(row.line_id), row.commit_index)
            found.append(RevertLink(row.commit_hash, row.hash, place))
    return found


def origins_of(cx: Connection, hashes: Collection[str]) -> list[ProvenanceLink]:
    """What commits were made from, in the order in which each names it."""
    return list(_links(cx, hashes, _ORIGINS))


def made_from(cx: Connection, hashes: Collection[str]) -> list[ProvenanceLink]:
    """The commits that name one of these as what they were made from."""
    return list(_links(cx, hashes, _MADE))


def _links(cx: Connection, hashes: Collection[str], asked: Prepared) -> Iterator[ProvenanceLink]:
    for part in _parts(hashes):
        rows = asked(cx, {"hashes": part})
        yield from (ProvenanceLink(r.hash, r.commit_hash, r.role, r.source, r.origin_repository) for r in rows)


def _linked(of_origin: bool) -> Any:
    """Select what commits were made from, by their own hashes or by those of their origins."""
    c, p = t.commits.c, t.provenance.c
    same = sa.and_(p.line_id == c.line_id, p.commit_index == c.commit_index)
    repository = p.repository_id.label("origin_repository")
    query = sa.select(c.hash, p.commit_hash, p.role, p.source, repository).select_from(
        t.commits.join(t.provenance, same)
    )
    wanted = (p.commit_hash if of_origin else c.hash).in_(sa.bindparam("hashes", expanding=True))
    return query.where(wanted).order_by(c.finished_at, c.hash, p.number)


_ORIGINS, _MADE = Prepared(_linked, False), Prepared(_linked, True)


def _parts(hashes: Collection[str]) -> Iterator[Sequence[str]]:
    ordered = sorted(hashes)
    return (ordered[n : n + _AT_ONCE] for n in range(0, len(ordered), _AT_ONCE))


def commits_with(cx: Connection, repository: RepositoryId, fact: OwnFact) -> list[tuple[Position, str, Any]]:
    """List the commits of a repository that have one of our facts, newest first: position, hash and value."""
    c, f = t.commits.c, t.facts.c
    same = (f.line_id == c.line_id) & (f.commit_index == c.commit_index)
    value = sa.cast(f.value, sa.String).label("value")
    query = sa.select(c.line_id, c.commit_index, c.hash, f.key, value).select_from(t.commits.join(t.facts, same))
    query = query.where(f.key.in_(fact.names), c.repository_id == repository)
    found: list[tuple[Position, str, Any]] = []
    for row in cx.execute(query.order_by(c.generation.desc(), c.finished_at.desc(), c.hash)):
        value = json.loads(row.value)
        if fact.is_value(row.key, value):
            found.append((Position(LineId(row.line_id), row.commit_index), row.hash, value))
    return found
