"""Branches, their moves, and tags."""

from __future__ import annotations

from sqlalchemy import Connection, bindparam, delete, select, update

from anabranch.catalog import tables as t
from anabranch.catalog.history import to_datetime
from anabranch.catalog.store import now
from anabranch.model.clock import Position
from anabranch.model.commits import Branch, BranchHead, BranchMove, Tag
from anabranch.model.ids import BranchId, CommitId, LineId, RepositoryId, new_id

_FIND = select(t.branches.c.id, t.branches.c.line_id, t.branches.c.commit_index).where(
    t.branches.c.repository_id == bindparam("repository"), t.branches.c.name == bindparam("branch")
)


def find(cx: Connection, repository: RepositoryId, name: str) -> BranchHead | None:
    """Find a branch and the commit it shows."""
    row = cx.execute(_FIND, {"repository": repository, "branch": name}).first()
    return BranchHead(name, BranchId(row.id), Position(LineId(row.line_id), row.commit_index)) if row else None


def create(cx: Connection, repository: RepositoryId, name: str, at: Position, author: str, verb: str) -> BranchHead:
    """Make a branch: one row, and one for its first move."""
    head = BranchHead(name, BranchId(new_id("b")), at)
    values = {"repository_id": repository, "name": name, "id": head.id, "line_id": at.line, "commit_index": at.index}
    cx.execute(t.branches.insert(), {**values, "created_at": now()})
    record_move(cx, repository, head, None, at, author, verb)
    return head


def move(cx: Connection, repository: RepositoryId, head: BranchHead, to: Position) -> bool:
    """Move a branch, if it still shows what is expected; tell whether it did."""
    c = t.branches.c
    expected = (c.repository_id == repository) & (c.name == head.name) & (c.id == head.id)
    expected &= (c.line_id == head.position.line) & (c.commit_index == head.position.index)
    return cx.execute(update(t.branches).where(expected).values(line_id=to.line, commit_index=to.index)).rowcount == 1


def record_move(
    cx: Connection,
    repository: RepositoryId,
    branch: BranchHead,
    before: Position | None,
    after: Position | None,
    author: str,
    verb: str,
    commit_id: CommitId | None = None,
) -> None:
    """Keep a move; times never run backwards on one branch."""
    m = t.branch_moves
    newest = select(m.c.moved_at).where(m.c.branch_id == branch.id).order_by(m.c.id.desc()).limit(1)
    last = cx.scalar(newest) if before else None
    values = {
        "repository_id": repository,
        "branch_id": branch.id,
        "branch": branch.name,
        "from_line": before.line if before else None,
        "from_index": before.index if before else None,
        "to_line": after.line if after else None,
        "to_index": after.index if after else None,
        "moved_at": max(now(), last or 0),
        "author": author,
        "verb": verb,
        "commit_id": commit_id,
    }
    cx.execute(m.insert(), values)


def rename(cx: Connection, repository: RepositoryId, head: BranchHead, name: str, author: str) -> None:
    """Give a branch another name; its id and so its history stay."""
    c = t.branches.c
    cx.execute(update(t.branches).where(c.repository_id == repository, c.name == head.name).values(name=name))
    renamed = BranchHead(name, head.id, head.position)
    record_move(cx, repository, renamed, head.position, head.position, author, "rename")
    r = t.repositories.c
    is_default = (r.id == repository) & (r.default_branch == head.name)
    cx.execute(update(t.repositories).where(is_default).values(default_branch=name))


def remove(cx: Connection, repository: RepositoryId, head: BranchHead, author: str) -> None:
    """Delete a branch; its moves are kept."""
    c = t.branches.c
    cx.execute(delete(t.branches).where(c.repository_id == repository, c.name == head.name))
    record_move(cx, repository, head, head.position, None, author, "delete")


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


def describe(cx: Connection, repository: RepositoryId) -> list[Branch]:
    """List the branches for users."""
    b, c = t.branches.c, t.commits.c
    query = select(b.name, b.created_at, c.hash).join(
        t.commits, (b.line_id == c.line_id) & (b.commit_index == c.commit_index)
    )
    rows = cx.execute(query.where(b.repository_id == repository).order_by(b.name))
    return [Branch(r.name, r.hash, to_datetime(r.created_at)) for r in rows]


def shown_at(cx: Connection, branch: BranchHead, micros: int) -> Position | None:
    """Find what a branch showed at a time; None before it was made."""
    m = t.branch_moves.c
    query = select(m.to_line, m.to_index).where(m.branch_id == branch.id, m.moved_at <= micros)
    row = cx.execute(query.order_by(m.id.desc()).limit(1)).first()
    return Position(LineId(row.to_line), row.to_index) if row and row.to_line else None


def shown_before(cx: Connection, branch: BranchHead, moves: int) -> Position | None:
    """Find what a branch showed n moves ago."""
    m = t.branch_moves.c
    query = select(m.to_line, m.to_index).where(m.branch_id == branch.id)
    row = cx.execute(query.order_by(m.id.desc()).offset(moves).limit(1)).first()
    return Position(LineId(row.to_line), row.to_index) if row and row.to_line else None


def moves(cx: Connection, repository: RepositoryId, name: str, limit: int | None) -> list[BranchMove]:
    """List the moves of a branch, newest first; of a deleted one too."""
    m, before, after = t.branch_moves.c, t.commits.alias(), t.commits.alias()
    latest = select(m.branch_id).where(m.repository_id == repository, m.branch == name)
    branch_id = cx.scalar(latest.order_by(m.id.desc()).limit(1))
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


def create_tag(cx: Connection, repository: RepositoryId, name: str, at: Position, author: str) -> None:
    """Make a tag: one row."""
    values = {"repository_id": repository, "name": name, "line_id": at.line, "commit_index": at.index}
    cx.execute(t.tags.insert(), {**values, "created_at": now(), "author": author})


def remove_tag(cx: Connection, repository: RepositoryId, name: str) -> bool:
    """Delete a tag; tell whether there was one."""
    c = t.tags.c
    return cx.execute(delete(t.tags).where(c.repository_id == repository, c.name == name)).rowcount == 1


def describe_tags(cx: Connection, repository: RepositoryId) -> list[Tag]:
    """List the tags for users."""
    g, c = t.tags.c, t.commits.c
    query = select(g.name, g.created_at, g.author, c.hash)
    query = query.join(t.commits, (g.line_id == c.line_id) & (g.commit_index == c.commit_index))
    rows = cx.execute(query.where(g.repository_id == repository).order_by(g.name))
    return [Tag(r.name, r.hash, to_datetime(r.created_at), r.author) for r in rows]


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
