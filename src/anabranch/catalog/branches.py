"""Find branches, their moves, and tags; `moves.py` moves branches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from anabranch.catalog.history import to_datetime
from anabranch.catalog.later import Connection, sa, t
from anabranch.catalog.prepared import Prepared, looked_up, prepared
from anabranch.catalog.store import now
from anabranch.model.clock import Position
from anabranch.model.commits import Branch, BranchHead, BranchMove, CommitHead, Tag
from anabranch.model.ids import BranchId, CommitId, LineId, RepositoryId
from anabranch.settings import IDS_PER_STATEMENT

_find = looked_up("ana_branches", "id line_id commit_index", repository_id="repository", name="branch")
_created = looked_up("ana_branches", "created_at", repository_id="repository", name="branch")
making = looked_up("ana_branches", "created_at author", id="branch")
_tag = looked_up("ana_tags", "line_id commit_index", repository_id="repository", name="tag")


@prepared
def _kind_named() -> Any:
    """The kind of what has a name: a branch or a tag."""
    other, tag = t.branches.alias("other"), t.tags.c
    wanted: Any = sa.bindparam("wanted")
    branch = sa.select(sa.literal("branch").label("kind")).select_from(other)
    branch = branch.where(other.c.repository_id == sa.bindparam("repository"), other.c.name == wanted)
    tagged = sa.select(sa.literal("tag")).where(tag.repository_id == sa.bindparam("repository"), tag.name == wanted)
    return sa.union_all(branch, tagged)


def _head(by_default: bool) -> Any:
    """A branch, the default one or one by name, with the commit it shows."""
    b, c, r = t.branches.c, t.commits.c, t.repositories.c
    heads = sa.select(b.name, b.id, b.line_id, b.commit_index)
    heads = heads.add_columns(c.id.label("commit_id"), c.hash, c.generation, c.finished_at)
    heads = heads.join(t.commits, (b.line_id == c.line_id) & (b.commit_index == c.commit_index))
    heads = heads.where(b.repository_id == sa.bindparam("repository"))
    if by_default:
        return heads.join(t.repositories, r.id == b.repository_id).where(r.default_branch == b.name)
    return heads.where(b.name == sa.bindparam("branch"))


def _start(by_default: bool) -> Any:
    """The same, with the kind of what already has the wanted name."""
    kind = sa.select(_kind_named.statement.subquery().c.kind).limit(1).scalar_subquery().label("kind")
    return _head(by_default).add_columns(kind)


_FIND_HEAD = {by_default: Prepared(_head, by_default) for by_default in (False, True)}
_FIND_START = {by_default: Prepared(_start, by_default) for by_default in (False, True)}


@prepared
def last_move() -> Any:
    m = t.branch_moves.c
    return sa.select(m.moved_at).where(m.branch_id == sa.bindparam("branch")).order_by(m.id.desc()).limit(1)


def find(cx: Connection, repository: RepositoryId, name: str) -> BranchHead | None:
    """Find a branch and the commit it shows."""
    row = _find(cx, {"repository": repository, "branch": name}).first()
    return BranchHead(name, BranchId(row.id), Position(LineId(row.line_id), row.commit_index)) if row else None


def find_by_id(cx: Connection, branch: BranchId) -> BranchHead | None:
    """Find a branch by id; it may have been renamed."""
    b = t.branches.c
    query = sa.select(b.name, b.line_id, b.commit_index).where(b.id == branch)
    row = cx.execute(query).first()
    return BranchHead(row.name, branch, Position(LineId(row.line_id), row.commit_index)) if row else None


def find_by_line(cx: Connection, line: LineId) -> BranchHead | None:
    """Find the branch on which a line began; None if the branch was removed."""
    query = sa.select(t.lines.c.branch_id).where(t.lines.c.id == line)
    branch = cx.execute(query).scalar()
    return find_by_id(cx, BranchId(branch)) if branch else None


def find_head(cx: Connection, repository: RepositoryId, name: str | None) -> tuple[BranchHead, CommitHead] | None:
    """Find a branch, None for the default one, with what publishing needs to know of the commit it shows."""
    asked = {"repository": repository, "branch": name}
    row = _FIND_HEAD[name is None](cx, asked).first()
    return _heads(row) if row else None


def find_start(
    cx: Connection, repository: RepositoryId, name: str | None, wanted: str
) -> tuple[CommitHead, str | None] | None:
    """Find the commit that a branch (None for the default one) shows, and the kind of what has the wanted name."""
    row = _FIND_START[name is None](cx, {"repository": repository, "branch": name, "wanted": wanted}).first()
    return (_heads(row)[1], row.kind) if row else None


def _heads(row: sa.Row[Any]) -> tuple[BranchHead, CommitHead]:
    at = Position(LineId(row.line_id), row.commit_index)
    commit = CommitHead(at, CommitId(row.commit_id), row.hash, row.generation, row.finished_at)
    return BranchHead(row.name, BranchId(row.id), at), commit


def kind_named(cx: Connection, repository: RepositoryId, name: str) -> str | None:
    """Say whether a `branch` or a `tag` has this name; None if neither does."""
    found: str | None = _kind_named(cx, {"repository": repository, "wanted": name}).scalar()
    return found


def all_heads(cx: Connection, repository: RepositoryId) -> list[BranchHead]:
    """List the branches as publishing sees them."""
    c = t.branches.c
    rows = cx.execute(
        sa.select(c.name, c.id, c.line_id, c.commit_index).where(c.repository_id == repository).order_by(c.name)
    )
    return [BranchHead(r.name, BranchId(r.id), Position(LineId(r.line_id), r.commit_index)) for r in rows]


def names(cx: Connection, repository: RepositoryId) -> list[str]:
    """List the names of all branches and tags, for suggestions."""
    found = [cx.scalars(sa.select(x.c.name).where(x.c.repository_id == repository)) for x in (t.branches, t.tags)]
    return [name for part in found for name in part]


def describe(cx: Connection, repository: RepositoryId, showing: Sequence[str] | None = None) -> list[Branch]:
    """List the branches for users; with `showing`, those that show one of these commits."""
    rows = _only(cx, _DESCRIBED, repository, showing)
    return [Branch(r.name, r.hash, to_datetime(r.created_at)) for r in rows]


def _named(table: str, some: bool) -> Any:
    """Branches or tags with the commits they show: all, or those with given hashes."""
    named, c = t.metadata.tables[table], t.commits.c
    own = [x for x in named.c if x.name in ("name", "created_at", "author", "message")]
    shows = (named.c.line_id == c.line_id) & (named.c.commit_index == c.commit_index)
    query = sa.select(*own, c.hash).join(t.commits, shows).where(named.c.repository_id == sa.bindparam("repository"))
    if some:
        query = query.where(c.repository_id == sa.bindparam("repository"))
        query = query.where(c.hash.in_(sa.bindparam("hashes", expanding=True)))
    return query.order_by(named.c.name)


_Named = Mapping[bool, Prepared]
_DESCRIBED: _Named = {some: Prepared(_named, "ana_branches", some) for some in (False, True)}
_DESCRIBED_TAGS: _Named = {some: Prepared(_named, "ana_tags", some) for some in (False, True)}


def _only(cx: Connection, named: _Named, repository: RepositoryId, showing: Sequence[str] | None) -> Iterator[Any]:
    """Run a query over named commits, for all of them or for some hashes."""
    if showing is None:
        yield from named[False](cx, {"repository": repository})
        return
    for start in range(0, len(showing), IDS_PER_STATEMENT):
        yield from named[True](cx, {"repository": repository, "hashes": showing[start : start + IDS_PER_STATEMENT]})


def shown_at(cx: Connection, branch: BranchHead, micros: int) -> Position | None:
    """Find what a branch showed at a time; None before it was made.

    Moves timed by a wrong clock count in their order: one that lies in the future has happened all the same.
    """
    today = now(cx)
    if micros >= today:
        return branch.position
    if not _has_moved(cx, branch):
        made_at = int(making(cx, {"branch": branch.id}).one().created_at)
        return branch.position if made_at <= micros or made_at > today else None
    row = _move_at(cx, branch, micros)
    m = t.branch_moves.c
    later = sa.select(m.moved_at).where(m.branch_id == branch.id, m.id > (row.id if row else 0)).limit(1)
    ends = [cx.scalar(later.order_by(order)) for order in (m.id, m.id.desc())]
    if all(at is not None and at > today for at in ends):
        return branch.position
    return Position(LineId(row.to_line), row.to_index) if row and row.to_line else None


def _move_at(cx: Connection, branch: BranchHead, micros: int) -> sa.Row[Any, Any, Any, Any] | None:
    """The last move at or before a time: the one with the latest time, unless a wrong clock gave that."""
    m = t.branch_moves.c
    query = sa.select(m.id, m.to_line, m.to_index, m.moved_at).where(m.branch_id == branch.id)
    row = cx.execute(query.where(m.moved_at <= micros).order_by(m.moved_at.desc(), m.id.desc()).limit(1)).first()
    after = cx.execute(query.where(m.id > row.id).order_by(m.id).limit(1)).first() if row else None
    if row and after and after.moved_at <= micros:
        return cx.execute(query.where(m.id > row.id, m.moved_at <= micros).order_by(m.id.desc()).limit(1)).first()
    return row


def _has_moved(cx: Connection, branch: BranchHead) -> bool:
    return last_move(cx, {"branch": branch.id}).scalar() is not None


def shown_before(cx: Connection, branch: BranchHead, moves: int) -> Position | None:
    """Find what a branch showed n moves ago."""
    m = t.branch_moves.c
    query = sa.select(m.to_line, m.to_index).where(m.branch_id == branch.id)
    row = cx.execute(query.order_by(m.id.desc()).offset(moves).limit(1)).first()
    if row is None and moves == 0:
        return branch.position
    return Position(LineId(row.to_line), row.to_index) if row and row.to_line else None


def moves(cx: Connection, repository: RepositoryId, name: str, limit: int | None) -> list[BranchMove]:
    """List the moves of a branch, newest first, even if it was deleted."""
    m, before, after = t.branch_moves.c, t.commits.alias(), t.commits.alias()
    latest = sa.select(m.branch_id).where(m.repository_id == repository, m.branch == name)
    there = find(cx, repository, name)
    if there and not _has_moved(cx, there):
        return [_making(cx, there)][:limit]
    branch_id = there.id if there else cx.scalar(latest.order_by(m.id.desc()).limit(1))
    query = (
        sa.select(t.branch_moves, before.c.hash.label("before_hash"), after.c.hash.label("after_hash"))
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
    """The move that made a branch that has not moved since."""
    made = making(cx, {"branch": branch.id}).one()
    c = t.commits.c
    at = (c.line_id == branch.position.line) & (c.commit_index == branch.position.index)
    shown = cx.scalar(sa.select(c.hash).where(at))
    return BranchMove(branch.name, None, shown, to_datetime(made.created_at), made.author, "branch", None)


def published(cx: Connection, commit_id: CommitId) -> Position | None:
    """Find where a commit was published, by the move that did it."""
    m = t.branch_moves.c
    row = cx.execute(sa.select(m.to_line, m.to_index).where(m.commit_id == commit_id).limit(1)).first()
    return Position(LineId(row.to_line), row.to_index) if row else None


def find_tag(cx: Connection, repository: RepositoryId, name: str) -> Position | None:
    """Find the commit that a tag names."""
    row = _tag(cx, {"repository": repository, "tag": name}).first()
    return Position(LineId(row.line_id), row.commit_index) if row else None


def create_tag(
    cx: Connection, repository: RepositoryId, name: str, at: Position, author: str, message: str | None = None
) -> None:
    """Make a tag: one row."""
    values = {"repository_id": repository, "name": name, "line_id": at.line, "commit_index": at.index}
    cx.execute(t.tags.insert(), {**values, "created_at": now(cx), "author": author, "message": message})


def remove_tag(cx: Connection, repository: RepositoryId, name: str) -> bool:
    """Delete a tag; return whether there was one."""
    c = t.tags.c
    return cx.execute(sa.delete(t.tags).where(c.repository_id == repository, c.name == name)).rowcount == 1


def describe_tags(cx: Connection, repository: RepositoryId, showing: Sequence[str] | None = None) -> list[Tag]:
    """List the tags for users; with `showing`, those that name one of these commits."""
    rows = _only(cx, _DESCRIBED_TAGS, repository, showing)
    return [Tag(r.name, r.hash, to_datetime(r.created_at), r.author, r.message) for r in rows]


def tag_positions(cx: Connection, repository: RepositoryId) -> list[Position]:
    """List the commits that tags name."""
    c = t.tags.c
    rows = cx.execute(sa.select(c.line_id, c.commit_index).where(c.repository_id == repository))
    return [Position(LineId(r.line_id), r.commit_index) for r in rows]


def created(cx: Connection, repository: RepositoryId, name: str) -> int:
    """Read when a branch was made."""
    return int(_created(cx, {"repository": repository, "branch": name}).scalar() or 0)
