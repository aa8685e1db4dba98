"""rebase and replay: repeat the commits of one branch on top of another, one by one; all or none."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from anabranch.catalog import branches, commits, history
from anabranch.catalog.store import Connection
from anabranch.errors import BranchMoved
from anabranch.model.clock import Clock, Position
from anabranch.model.commits import BranchHead, Commit
from anabranch.plan.history import is_ancestor
from anabranch.plan.merge.rules import check_strictness
from anabranch.repo.branches.refs import need_branch, resolve
from anabranch.repo.context.context import Context
from anabranch.repo.merge.apply import How
from anabranch.repo.merge.attempts import Attempts
from anabranch.repo.merge.pick import Picked, pick, short
from anabranch.repo.merge.request import MergeRequest, MergeResult, diff_since, read_ends
from anabranch.repo.merge.side_branch import side_branch

_TRIES = 1
"""Copying takes longer than committing: every retry has more to copy."""


def rebase(ctx: Context, branch: str, onto: str, rules: Mapping[str, str], strictness: str) -> list[Commit]:
    """Repeat a branch's commits on top of a ref; the branch moves when all are made."""
    how = How(check_strictness(strictness), rules)
    with ctx.catalog.read() as cx:
        head, top = need_branch(ctx, cx, branch), resolve(ctx, cx, onto)
        if _is_on_top(cx, top, head.position):
            return []
    with side_branch(ctx, head, top) as name:
        copying = _Copying(ctx, name, how, "rebase", onto)
        Attempts(ctx, _TRIES).run(lambda _: _catch_up(copying, branch, top))
    return copying.made


def _catch_up(copying: _Copying, branch: str, top: Position) -> None:
    """Copy the branch's commits that are not copied yet, and point it at the copies."""
    ctx = copying.ctx
    with ctx.catalog.read() as cx:
        head = need_branch(ctx, cx, branch)
        todo = commits_to_copy(cx, top, head.position)
    known = len(copying.done)
    if todo[:known] != copying.done:
        message = f"branch {branch!r} was reset meanwhile; nothing was changed"
        raise BranchMoved(message, hint="try again", branch=branch)
    copying.copy(todo[known:], head)
    _move(ctx, head, copying.to, "rebase")


def replay(ctx: Context, asked: MergeRequest) -> MergeResult:
    """Copy the sources' commits onto the target, without a merge commit; all or nothing."""
    return Attempts(ctx, _TRIES).run(lambda _: _replay(ctx, asked))


def _replay(ctx: Context, asked: MergeRequest) -> MergeResult:
    how = How(check_strictness(asked.strictness), asked.rules)
    with ctx.catalog.read() as cx:
        target, sources = read_ends(ctx, cx, asked)
        todo = list(dict.fromkeys(p for s in sources for p in commits_to_copy(cx, target.clock.head, s)))
    with side_branch(ctx, target.branch, target.clock.head) as name:
        copying = _Copying(ctx, name, how, "merge")
        copying.copy(todo, target.branch)
        shown = _move(ctx, target.branch, name, "merge")
    with ctx.catalog.read() as cx:
        made = commits.describe(cx, [shown])[0]
    return MergeResult(made, up_to_date=not copying.made, _diff=diff_since(ctx, target, made))


@dataclass
class _Copying:
    """Commits being copied onto a side branch."""

    ctx: Context
    to: str
    how: How
    verb: str
    where: str | None = None
    """For error messages: what they are made on, if not the branch."""
    done: list[Position] = field(default_factory=list)
    made: list[Commit] = field(default_factory=list)

    def copy(self, todo: Sequence[Position], branch: BranchHead) -> None:
        """Copy commits for the branch that is to show them."""
        for position in todo:
            with self.ctx.catalog.read() as cx:
                described = commits.describe(cx, [position])[0]
                before = history.parent(cx, position, 1)
            assert before is not None
            what = f"{self.verb} of {short(described)}"
            says = (described.message, described.author, self.verb, (described.hash,))
            asked = Picked(before, position, what, *says, self.how, branch, not self.made, self.where)
            commit = pick(self.ctx, self.to, asked)
            self.done.append(position)
            self.made += [commit] if commit else []


def _is_on_top(cx: Connection, onto: Position, tip: Position) -> bool:
    """Whether a tip already follows a commit without merges between, so that there is nothing to copy."""
    clock = history.clock(cx, tip)
    if tip == onto or not clock.holds(onto):
        return False
    since = {Position(line, n) for line, low, high in clock.since(onto) for n in range(low, high + 1)}
    return since.isdisjoint(edge.merge for edge in history.Lines(cx).edges(clock, -1))


def commits_to_copy(cx: Connection, onto: Position, tip: Position) -> list[Position]:
    """The tip's first-parent history that `onto` lacks, oldest first, without merges of what `onto` has.

    Other merges are copied as one change, so that nothing they brought is lost.
    """
    lines = history.Lines(cx)
    if is_ancestor(lines, tip, onto):
        return []
    clock = history.clock(cx, tip)
    fork = _fork(lines, clock, onto)
    found = [Position(line, n) for line, low, high in clock.since(fork) for n in range(low, high + 1)]
    merged: dict[Position, list[Position]] = {}
    for edge in lines.edges(clock, -1):
        merged.setdefault(edge.merge, []).append(edge.parent)
    return [p for p in found if p not in merged or not all(is_ancestor(lines, m, onto) for m in merged[p])]


def _fork(lines: history.Lines, clock: Clock, onto: Position) -> Position:
    """The newest commit on a first-parent path that another commit descends from."""
    for line, index in clock:
        known = bisect(range(index + 1), 0, key=lambda n: not is_ancestor(lines, Position(line, n), onto))
        if known:
            return Position(line, known - 1)
    raise AssertionError("two commits of a repository have the first one in common")


def _move(ctx: Context, branch: BranchHead, made_on: str, verb: str) -> Position:
    """Point the branch at what was made, if it has not moved; return what it shows."""
    with ctx.writing() as cx:
        found = branches.find(cx, ctx.record.id, made_on)
        assert found is not None
        if found.position == branch.position:
            return branch.position
        ctx.move(cx, branch, found.position, verb)
        return found.position
