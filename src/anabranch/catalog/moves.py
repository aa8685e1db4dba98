"""The one path for every move of a branch: made, published to, forwarded, reset, rebased, renamed or removed.

Whoever must move along with branches listens here, in the same transaction, so that both happen or neither.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from anabranch.catalog import branches
from anabranch.catalog.later import Connection, sa, t
from anabranch.catalog.prepared import prepared
from anabranch.catalog.store import next_time, now
from anabranch.model.clock import Position
from anabranch.model.commits import BranchHead
from anabranch.model.ids import BranchId, CommitId, RepositoryId, new_id


@prepared
def _insert() -> Any:
    return t.branches.insert()


@prepared
def _move() -> Any:
    b = t.branches.c
    named = (b.repository_id == sa.bindparam("repository")) & (b.name == sa.bindparam("branch"))
    shows = (b.line_id == sa.bindparam("from_line")) & (b.commit_index == sa.bindparam("from_index"))
    after: dict[str, Any] = {"line_id": sa.bindparam("to_line"), "commit_index": sa.bindparam("to_index")}
    return sa.update(t.branches).where(named, b.id == sa.bindparam("branch_id"), shows).values(after)


class HeadMoved(Exception):
    """The branch does not show what was expected; nothing was written."""

    def __init__(self, found: BranchHead | None) -> None:
        super().__init__()
        self.found = found


@dataclass(frozen=True)
class Move:
    """One move of a branch, in a transaction that is not committed yet."""

    repository: RepositoryId
    branch: BranchHead
    """The branch as it was found, or as it is being made."""
    before: Position | None
    """What it showed; None for a branch being made."""
    after: Position | None
    """What it shows from now on; None for a branch being removed."""
    author: str
    verb: str
    commit_id: CommitId | None = None
    """The commit that this move publishes, if any."""
    moved_at: int | None = None
    renamed_to: str | None = None


MoveListener = Callable[[Connection, Move], None]
"""Called with the connection after the move is written, before COMMIT; if it raises, nothing happens at all."""


def apply(cx: Connection, move: Move, listeners: Sequence[MoveListener] = ()) -> None:
    """Write a move, and let listeners join its transaction; raise HeadMoved if the branch shows another commit.

    The caller must have locked the repository.
    """
    if move.before is None:
        _create(cx, move)
    elif move.after is None:
        _remove(cx, move)
    elif move.renamed_to is not None:
        _rename(cx, move, move.renamed_to)
    else:
        _advance(cx, move, move.before, move.after)
    for listener in listeners:
        listener(cx, move)


def new_branch(repository: RepositoryId, name: str, at: Position, author: str, created_at: int | None = None) -> Move:
    """The move that makes a branch."""
    head = BranchHead(name, BranchId(new_id("b")), at)
    return Move(repository, head, None, at, author, "branch", moved_at=created_at)


def _create(cx: Connection, move: Move) -> None:
    """Make a branch: one row. It records its own making, so no move is written until it moves."""
    head = move.branch
    values = {"repository_id": move.repository, "name": head.name, "id": head.id}
    at = {"line_id": head.position.line, "commit_index": head.position.index}
    _insert(cx, {**values, **at, "created_at": move.moved_at or now(cx), "author": move.author})


def _advance(cx: Connection, move: Move, before: Position, after: Position) -> None:
    """Point a branch at another commit, if it still shows the expected one."""
    expected = {"repository": move.repository, "branch": move.branch.name, "branch_id": move.branch.id}
    ends = {"from_line": before.line, "from_index": before.index, "to_line": after.line, "to_index": after.index}
    if _move(cx, {**expected, **ends}).rowcount != 1:
        raise HeadMoved(branches.find(cx, move.repository, move.branch.name))
    _record(cx, move)


def _rename(cx: Connection, move: Move, name: str) -> None:
    """Rename a branch; its id, and so its history, stays."""
    old, repository = move.branch, move.repository
    if branches.last_move(cx, {"branch": old.id}).scalar() is None:
        _record_making(cx, move)  # under its original name
    b = t.branches.c
    cx.execute(sa.update(t.branches).where(b.repository_id == repository, b.name == old.name).values(name=name))
    _record(cx, replace(move, branch=replace(old, name=name)))
    r = t.repositories.c
    is_default = (r.id == repository) & (r.default_branch == old.name)
    cx.execute(sa.update(t.repositories).where(is_default).values(default_branch=name))


def _remove(cx: Connection, move: Move) -> None:
    """Delete a branch; its moves are kept."""
    _record(cx, move)
    b = t.branches.c
    cx.execute(sa.delete(t.branches).where(b.repository_id == move.repository, b.name == move.branch.name))


def _record(cx: Connection, move: Move) -> None:
    """Record a move, and before a branch's first one its making. Times never run backwards unless a clock was wrong."""
    last = branches.last_move(cx, {"branch": move.branch.id}).scalar()
    if last is None:
        last = _record_making(cx, move)
    _insert_move(cx, move, next_time(last, now(cx) if move.moved_at is None else move.moved_at))


def _record_making(cx: Connection, move: Move) -> int:
    """Record the making of a branch, which only its row has told so far; return its time."""
    made = branches.making(cx, {"branch": move.branch.id}).one()
    making = Move(move.repository, move.branch, None, move.branch.position, made.author, "branch")
    _insert_move(cx, making, made.created_at)
    return int(made.created_at)


def _insert_move(cx: Connection, move: Move, moved_at: int) -> None:
    before, after = move.before, move.after
    values = {
        "repository_id": move.repository,
        "branch_id": move.branch.id,
        "branch": move.branch.name,
        "from_line": before.line if before else None,
        "from_index": before.index if before else None,
        "to_line": after.line if after else None,
        "to_index": after.index if after else None,
        "moved_at": moved_at,
        "author": move.author,
        "verb": move.verb,
        "commit_id": move.commit_id,
    }
    cx.execute(t.branch_moves.insert(), values)


def record_first(cx: Connection, move: Move, created_at: int) -> None:
    """Make the first branch of a repository, together with the commit it shows."""
    head = move.branch
    values = {"repository_id": move.repository, "name": head.name, "id": head.id, "created_at": created_at}
    cx.execute(t.branches.insert(), {**values, "line_id": head.position.line, "commit_index": head.position.index})
    _insert_move(cx, move, now(cx))
