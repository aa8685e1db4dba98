"""Branches, their moves, and tags, as they are found; `moves.py` is what moves a branch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import Connection, Row, Select, bindparam, delete, literal, select, union_all

from anabranch.catalog import tables as t
from anabranch.catalog.history import to_datetime
from anabranch.catalog.store import Prepared, now
from anabranch.model.clock import Position
from anabranch.model.commits import Branch, BranchHead, BranchMove, CommitHead, Tag
from anabranch.model.ids import BranchId, CommitId, LineId, RepositoryId
from anabranch.settings import IDS_PER_STATEMENT

_b, _c = t.branches.c, t.commits.c
_FIND = Prepared(
    select(_b.id, _b.line_id, _b.commit_index).where(
        _b.repository_id == bindparam("repository"), _b.name == bindparam("branch")
    )
)
_TAKEN = union_all(
    select(literal("branch").label("kind"))
    .select_from(_other := t.branches.alias("other"))
    .where(_other.c.repository_id == bindparam("repository"))
    .where(_other.c.name == bindparam("wanted")),
    select(literal("tag"))
    .where(t.tags.c.repository_id == bindparam("repository"))
    .where(t.tags.c.name == bindparam("wanted")),
)
_HEADS = (
    select(_b.name, _b.id, _b.line_id, _b.commit_index)
    .add_columns(_c.id.label("commit_id"), _c.hash, _c.generation, _c.finished_at)
    .join(t.commits, (_b.line_id == _c.line_id) & (_b.commit_index == _c.commit_index))
    .where(_b.repository_id == bindparam("repository"))
)
_DEFAULTS = _HEADS.join(t.repositories, t.repositories.c.id == _b.repository_id).where(
    t.repositories.c.default_branch == _b.name
)
_HEAD_BY_DEFAULT = {False: _HEADS.where(_b.name == bindparam("branch")), True: _DEFAULTS}
_FIND_HEAD = {by_default: Prepared(query) for by_default, query in _HEAD_BY_DEFAULT.items()}
_IS_TAKEN = select(_TAKEN.subquery().c.kind).limit(1).scalar_subquery().label("taken")
_FIND_START = {by_default: Prepared(query.add_columns(_IS_TAKEN)) for by_default, query in _HEAD_BY_DEFAULT.items()}
LAST_MOVE = Prepared(
    select(t.branch_moves.c.moved_at)
    .where(t.branch_moves.c.branch_id == bindparam("branch"))
    .order_by(t.branch_moves.c.id.desc())
    .limit(1)
)
MAKING = select(_b.created_at, _b.author).where(_b.id == bindparam("branch"))


def find(cx: Connection, repository: RepositoryId, name: str) -> BranchHead | None:
    """Find a branch and the commit it shows."""
    row = _FIND(cx, {"repository": repository, "branch": name}).first()
    return BranchHead(name, BranchId(row.id), Position(LineId(row.line_id), row.commit_index)) if row else None


def find_by_id(cx: Connection, branch: BranchId) -> BranchHead | None:
    """Find a branch that may have another name by now."""
    query = select(_b.name, _b.line_id, _b.commit_index).where(_b.id == branch)
    row = cx.execute(query).first()
    return BranchHead(row.name, branch, Position(LineId(row.line_id), row.commit_index)) if row else None


def find_head(cx: Connection, repository: RepositoryId, name: str | None) -> tuple[BranchHead, CommitHead] | None:
    """Find a branch, None for the default one, with what publishing needs to know of the commit it shows."""
    asked = {"repository": repository, "branch": name}
    row = _FIND_HEAD[name is None](cx, asked).first()
    return _heads(row) if row else None


def find_start(
    cx: Connection, repository: RepositoryId, name: str | None, wanted: str
) -> tuple[CommitHead, str | None] | None:
    """Find the commit that a branch, None for the default one, shows; and what has the wanted name already."""
    row = _FIND_START[name is None](cx, {"repository": repository, "branch": name, "wanted": wanted}).first()
    return (_heads(row)[1], row.taken) if row else None


def _heads(row: Row[Any]) -> tuple[BranchHead, CommitHead]:
    at = Position(LineId(row.line_id), row.commit_index)
    commit = CommitHead(at, CommitId(row.commit_id), row.hash, row.generation, row.finished_at)
    return BranchHead(row.name, BranchId(row.id), at), commit


def taken(cx: Connection, repository: RepositoryId, name: str) -> str | None:
    """Tell whether a branch or a tag has this name."""
    found: str | None = cx.scalar(_TAKEN, {"repository": repository, "wanted": name})
    return found


def all_heads(cx: Connection, repository: RepositoryId) -> list[BranchHead]:
    """List the branches as publishing sees them."""
    c = t.branches.c
    rows = cx.execute(
        select(c.name, c.id, c.line_id, c.commit_index).where(c.repository_id == repository).order_by(c.name)
    )
    return [BranchHead(r.name, BranchId(r.id), Position(LineId(r.line_id), r.commit_index)) for r in rows]


def names(cx: Connection, repository: RepositoryId) -> list[str]:
    """List the names of all branches and tags, for suggestions."""
    found = [cx.scalars(select(x.c.name).where(x.c.repository_id == repository)) for x in (t.branches, t.tags)]
    return [name for part in found for name in part]


def describe(cx: Connection, repository: RepositoryId, showing: Sequence[str] | None = None) -> list[Branch]:
    """List the branches for users; of `showing`, those that show one of these commits."""
    b = t.branches.c
    query = select(b.name, b.created_at, _c.hash)
    query = query.join(t.commits, (b.line_id == _c.line_id) & (b.commit_index == _c.commit_index))
    rows = _only(cx, query.where(b.repository_id == repository).order_by(b.name), repository, showing)
    return [Branch(r.name, r.hash, to_datetime(r.created_at)) for r in rows]


def _only(
    cx: Connection, query: Select[Any], repository: RepositoryId, showing: Sequence[str] | None
) -> Iterator[Row[Any]]:
    """Run a query over named commits, for all of them or for some hashes."""
    if showing is None:
        yield from cx.execute(query)
        return
    for start in range(0, len(showing), IDS_PER_STATEMENT):
        chunk = showing[start : start + IDS_PER_STATEMENT]
        yield from cx.execute(query.where(_c.repository_id == repository, _c.hash.in_(chunk)))


def shown_at(cx: Connection, branch: BranchHead, micros: int) -> Position | None:
    """Find what a branch showed at a time; None before it was made.

    Moves timed by a wrong clock are taken in their order: one that lies ahead of now has happened all the same.
    """
    today = now(cx)
    if micros >= today:
        return branch.position
    if not _has_moved(cx, branch):
        made_at = _made_at(cx, branch)
        return branch.position if made_at <= micros or made_at > today else None
    row = _move_at(cx, branch, micros)
    m = t.branch_moves.c
    later = select(m.moved_at).where(m.branch_id == branch.id, m.id > (row.id if row else 0)).limit(1)
    ends = [cx.scalar(later.order_by(order)) for order in (m.id, m.id.desc())]
    if all(at is not None and at > today for at in ends):
        return branch.position
    return Position(LineId(row.to_line), row.to_index) if row and row.to_line else None


def _move_at(cx: Connection, branch: BranchHead, micros: int) -> Row[Any, Any, Any, Any] | None:
    """The last move at or before a time: the one of the latest time, unless a wrong clock gave that time."""
    m = t.branch_moves.c
    query = select(m.id, m.to_line, m.to_index, m.moved_at).where(m.branch_id == branch.id)
    row = cx.execute(query.where(m.moved_at <= micros).order_by(m.moved_at.desc(), m.id.desc()).limit(1)).first()
    after = cx.execute(query.where(m.id > row.id).order_by(m.id).limit(1)).first() if row else None
    if row and after and after.moved_at <= micros:
        return cx.execute(query.where(m.id > row.id, m.moved_at <= micros).order_by(m.id.desc()).limit(1)).first()
    return row


def _made_at(cx: Connection, branch: BranchHead) -> int:
    return int(cx.execute(MAKING, {"branch": branch.id}).one().created_at)


def _has_moved(cx: Connection, branch: BranchHead) -> bool:
    return LAST_MOVE(cx, {"branch": branch.id}).scalar() is not None


def shown_before(cx: Connection, branch: BranchHead, moves: int) -> Position | None:
    """Find what a branch showed n moves ago."""
    m = t.branch_moves.c
    query = select(m.to_line, m.to_index).where(m.branch_id == branch.id)
    row = cx.execute(query.order_by(m.id.desc()).offset(moves).limit(1)).first()
    if row is None and moves == 0:
        return branch.position
    return Position(LineId(row.to_line), row.to_index) if row and row.to_line else None


def moves(cx: Connection, repository: RepositoryId, name: str, limit: int | None) -> list[BranchMove]:
    """List the moves of a branch, newest first; of a deleted one too."""
    m, before, after = t.branch_moves.c, t.commits.alias(), t.commits.alias()
    latest = select(m.branch_id).where(m.repository_id == repository, m.branch == name)
    there = find(cx, repository, name)
    if there and not _has_moved(cx, there):
        return [_making(cx, there)][:limit]
    branch_id = there.id if there else cx.scalar(latest.order_by(m.id.desc()).limit(1))
    query = (
        select(t.branch_moves, before.c.hash.label("before_hash"), after.c.hash.label("after_hash"))
        .outerjoin(before, (before.c.line_id == m.from_line) & (before.c.commit_index == m.from_index))
        .outerjoin(after, (after.c.line_id == m.to_line) & (after.c.commit_index == m.to_index))
        .where(m.branch_id == branch_id)
        .order_by(m.id.desc())
        .limit(limit)
    )
    return [
        BranchMove(r.branch, r.before_hash, r.after_hash, to_datetime(r.moved_at), r.author, r.verb, r.commit_id)
        for r in cx.execute(query)
    ]


def _making(cx: Connection, branch: BranchHead) -> BranchMove:
    """The making of a branch that has not moved yet."""
    made = cx.execute(MAKING, {"branch": branch.id}).one()
    at = (_c.line_id == branch.position.line) & (_c.commit_index == branch.position.index)
    shown = cx.scalar(select(_c.hash).where(at))
    return BranchMove(branch.name, None, shown, to_datetime(made.created_at), made.author, "branch", None)


def published(cx: Connection, commit_id: CommitId) -> Position | None:
    """Find where a commit was published, by the move that did it."""
    m = t.branch_moves.c
    row = cx.execute(select(m.to_line, m.to_index).where(m.commit_id == commit_id).limit(1)).first()
    return Position(LineId(row.to_line), row.to_index) if row else None


def find_tag(cx: Connection, repository: RepositoryId, name: str) -> Position | None:
    """Find the commit that a tag names."""
    c = t.tags.c
    row = cx.execute(select(c.line_id, c.commit_index).where(c.repository_id == repository, c.name == name)).first()
    return Position(LineId(row.line_id), row.commit_index) if row else None


def create_tag(
    cx: Connection, repository: RepositoryId, name: str, at: Position, author: str, message: str | None = None
) -> None:
    """Make a tag: one row."""
    values = {"repository_id": repository, "name": name, "line_id": at.line, "commit_index": at.index}
    cx.execute(t.tags.insert(), {**values, "created_at": now(cx), "author": author, "message": message})


def remove_tag(cx: Connection, repository: RepositoryId, name: str) -> bool:
    """Delete a tag; tell whether there was one."""
    c = t.tags.c
    return cx.execute(delete(t.tags).where(c.repository_id == repository, c.name == name)).rowcount == 1


def describe_tags(cx: Connection, repository: RepositoryId, showing: Sequence[str] | None = None) -> list[Tag]:
    """List the tags for users; of `showing`, those that name one of these commits."""
    g = t.tags.c
    query = select(g.name, g.created_at, g.author, g.message, _c.hash)
    query = query.join(t.commits, (g.line_id == _c.line_id) & (g.commit_index == _c.commit_index))
    rows = _only(cx, query.where(g.repository_id == repository).order_by(g.name), repository, showing)
    return [Tag(r.name, r.hash, to_datetime(r.created_at), r.author, r.message) for r in rows]


def tag_positions(cx: Connection, repository: RepositoryId) -> list[Position]:
    """List the commits that tags name."""
    c = t.tags.c
    rows = cx.execute(select(c.line_id, c.commit_index).where(c.repository_id == repository))
    return [Position(LineId(r.line_id), r.commit_index) for r in rows]


def created(cx: Connection, repository: RepositoryId, name: str) -> int:
    """Read when a branch was made."""
    c = t.branches.c
    found = cx.scalar(select(c.created_at).where(c.repository_id == repository, c.name == name))
    return int(found or 0)
