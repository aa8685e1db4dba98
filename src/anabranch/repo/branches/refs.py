"""Resolving refs: from text to a commit."""

from __future__ import annotations

from difflib import get_close_matches

from anabranch.catalog import branches, commits, history
from anabranch.catalog.store import Connection
from anabranch.errors import InvalidRequest, NotFound
from anabranch.model.clock import Position
from anabranch.model.commits import BranchHead
from anabranch.model.refs import Back, Parent, Ref, Shown, each_end, parse_ref
from anabranch.repo.context.context import Context


def resolve(ctx: Context, cx: Connection, text: str | None) -> Position:
    """Find the commit that a ref names; None is the default branch."""
    ref = parse_ref(ctx.default_branch(cx) if text is None else str(text))
    steps = list(ref.steps)
    branch = branches.find(cx, ctx.record.id, _branch_name(ctx, cx, ref.name))
    position = branch.position if branch else _other(ctx, cx, ref)
    for i, step in enumerate(steps):
        position = _take(cx, ref, step, position, branch if i == 0 else None)
    return position


def pinned(ctx: Context, text: str) -> str:
    """A ref or range, in terms of the hashes it names now: branches move, hashes do not."""
    with ctx.catalog.read() as cx:
        return each_end(text, lambda end: commits.describe(cx, [resolve(ctx, cx, end)])[0].hash)


def need_branch(ctx: Context, cx: Connection, name: str | None) -> BranchHead:
    """Find a branch by name; None is the default branch. The error suggests the nearest name."""
    name = ctx.default_branch(cx) if name is None else name
    found = branches.find(cx, ctx.record.id, name)
    if found is None:
        if branches.find_tag(cx, ctx.record.id, name) is not None:
            hint = "only branches can be written to; make one at the tag"
            raise NotFound(f"{name!r} is a tag, not a branch", hint=hint, branch=name)
        there = [b.name for b in branches.all_heads(cx, ctx.record.id)]
        near = get_close_matches(name, there, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there: {', '.join(there[:10])}; make the branch first"
        raise NotFound(f"there is no branch {name!r}", hint=hint, branch=name)
    return found


def _branch_name(ctx: Context, cx: Connection, name: str) -> str:
    return ctx.default_branch(cx) if name == "HEAD" else name


def _other(ctx: Context, cx: Connection, ref: Ref) -> Position:
    """Resolve a name that is no branch: as a tag, then as a number such as `main/7`, then as a hash."""
    found = branches.find_tag(cx, ctx.record.id, ref.name)
    if found is None and ref.position:
        found = _numbered(ctx, cx, ref, *ref.position)
    if found is None and ref.hash_prefix:
        matches = history.by_hash(cx, ctx.record.id, ref.hash_prefix)
        if len(matches) > 1:
            raise InvalidRequest(f"hash prefix {ref.name!r} fits several commits", hint="give more of the hash")
        found = matches[0] if matches else None
    if found is None:
        near = get_close_matches(ref.name, branches.names(cx, ctx.record.id), n=1)
        guess = f"did you mean {near[0]!r}?" if near else "see `ana branch`, `ana tag` and `ana log`"
        default = ctx.default_branch(cx)
        hint = f"number {ref.name} of {default} is called {default}/{ref.name}" if ref.name.isdecimal() else guess
        raise NotFound(f"there is no branch, tag or commit {ref.name!r}", hint=hint, ref=ref.text)
    return found


def _numbered(ctx: Context, cx: Connection, ref: Ref, name: str, number: int) -> Position | None:
    """Count along the first parents of a branch as it is now, from its first commit, number 0."""
    branch = branches.find(cx, ctx.record.id, _branch_name(ctx, cx, name))
    if branch is None:
        return commits.by_number(cx, ctx.record.id, name, number)
    clock = history.clock(cx, branch.position)
    found = clock.back(clock.number - number) if number <= clock.number else None
    if found is None:
        hint = f"{name}/{clock.number} is its newest commit, {name}/0 its first; see `ana log {name}`"
        raise NotFound(f"branch {name!r} has no commit number {number}", hint=hint, ref=ref.text)
    return found


def _take(cx: Connection, ref: Ref, step: Back | Parent | Shown, at: Position, branch: BranchHead | None) -> Position:
    if isinstance(step, Back):
        found = history.clock(cx, at).back(step.steps)
        problem = f"{ref.text!r} goes back past the first commit"
    elif isinstance(step, Parent):
        found = at if step.number == 0 else history.parent(cx, at, step.number)
        problem = f"{ref.text!r}: the commit has no parent number {step.number}"
    else:
        if branch is None:
            raise InvalidRequest(f"{ref.text!r} asks when, but {ref.name!r} is no branch", hint="use a branch's name")
        found = _shown(cx, branch, step)
        problem = f"{ref.text!r}: branch {ref.name!r} was not there yet"
        if found and history.head(cx, found) is None:
            found, problem = None, f"{ref.text!r}: what branch {ref.name!r} showed then was collected (`ana gc`)"
    if found is None:
        raise NotFound(problem, hint=f"see `ana log {ref.name}` and `ana reflog {ref.name}`", ref=ref.text)
    return found


def _shown(cx: Connection, branch: BranchHead, step: Shown) -> Position | None:
    if step.at is None:
        return branches.shown_before(cx, branch, step.moves or 0)
    return branches.shown_at(cx, branch, history.to_micros(step.at))
