"""rebase and replay: make the commits of one branch again on top of another, one by one; all of them or none."""

from __future__ import annotations

import logging
from bisect import bisect
from collections.abc import Mapping, Sequence
from dataclasses import replace

from anabranch.catalog import branches, history
from anabranch.catalog.store import Connection, lock_repository
from anabranch.errors import BranchMoved
from anabranch.model.clock import Clock, Position
from anabranch.model.commits import BranchHead, Commit
from anabranch.plan.history import is_ancestor
from anabranch.plan.merge_rows import check_strictness
from anabranch.repo.aside import aside
from anabranch.repo.context import Context
from anabranch.repo.merge import MergeRequest, MergeResult, diff_since, read_ends
from anabranch.repo.merging import How
from anabranch.repo.picking import Picked, pick, short
from anabranch.repo.refs import need_branch, resolve

log = logging.getLogger("anabranch.repo.rebase")


def rebase(ctx: Context, branch: str, onto: str, rules: Mapping[str, str], strictness: str) -> list[Commit]:
    """Make a branch's commits again on top of a ref; the branch moves when all of them are made."""
    how = How(check_strictness(strictness), rules)
    with ctx.catalog.read() as cx:
        head, top = need_branch(ctx, cx, branch), resolve(ctx, cx, onto)
        if _is_on_top(cx, top, head.position):
            return []
        todo = _commits(cx, top, head.position)
    return _replay(ctx, head, top, todo, how, "rebase", onto)


def replay(ctx: Context, asked: MergeRequest) -> MergeResult:
    """Copy the sources' commits onto the target; without a merge commit, and all or nothing."""
    how = How(check_strictness(asked.strictness), asked.rules)
    with ctx.catalog.read() as cx:
        target, sources = read_ends(ctx, cx, asked)
        todo = list(dict.fromkeys(p for s in sources for p in _commits(cx, target.clock.head, s)))
    made = _replay(ctx, target.branch, target.clock.head, todo, how, "merge")
    with ctx.catalog.read() as cx:
        shown = history.describe(cx, [need_branch(ctx, cx, target.branch.name).position])[0]
    return MergeResult(shown, up_to_date=not made, _diff=diff_since(ctx, target, shown))


def _is_on_top(cx: Connection, onto: Position, tip: Position) -> bool:
    """Tell whether a tip follows from a commit by single commits already, so that nothing need be made again."""
    clock = history.clock(cx, tip)
    if tip == onto or not clock.holds(onto):
        return False
    since = {Position(line, n) for line, low, high in clock.since(onto) for n in range(low, high + 1)}
    return since.isdisjoint(edge.merge for edge in history.Lines(cx).edges(clock, -1))


def _commits(cx: Connection, onto: Position, tip: Position) -> list[Position]:
    """The first parents of a tip that `onto` lacks, oldest first, without merges of what `onto` has.

    Other merges are made again as one change, so that nothing that they brought is lost.
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
    """The newest commit on a path of first parents that another commit descends from."""
    for line, index in clock:
        known = bisect(range(index + 1), 0, key=lambda n: not is_ancestor(lines, Position(line, n), onto))
        if known:
            return Position(line, known - 1)
    raise AssertionError("two commits of a repository have the first one in common")


def _replay(
    ctx: Context,
    branch: BranchHead,
    onto: Position,
    todo: Sequence[Position],
    how: How,
    verb: str,
    where: str | None = None,
) -> list[Commit]:
    made: list[Commit] = []
    with aside(ctx, branch, onto) as name:
        for position in todo:
            with ctx.catalog.read() as cx:
                told = history.describe(cx, [position])[0]
                before = history.parent(cx, position, 1)
            assert before is not None
            what = f"{verb} of {short(told)}"
            asked = Picked(before, position, what, told.message, told.author, verb, (told.hash,), how, branch, not made)
            commit = pick(ctx, name, replace(asked, where=where))
            made += [commit] if commit else []
        _move(ctx, branch, name, verb)
    return made


def _move(ctx: Context, branch: BranchHead, made_on: str, verb: str) -> None:
    """Let the branch show what was made, if it is still where it was."""
    with ctx.catalog.write() as cx:
        lock_repository(cx, ctx.record.id)
        found = branches.find(cx, ctx.record.id, made_on)
        assert found is not None
        if found.position == branch.position:
            return
        if not branches.move(cx, ctx.record.id, branch, found.position):
            message = f"branch {branch.name!r} moved meanwhile; nothing was changed"
            raise BranchMoved(message, hint="try again", branch=branch.name)
        branches.record_move(cx, ctx.record.id, branch, branch.position, found.position, ctx.author, verb)
