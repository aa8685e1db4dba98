"""Repeat a change elsewhere: merge the difference of two commits into a branch, as a commit of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from anabranch.catalog import commits, history
from anabranch.catalog.store import Connection
from anabranch.errors import InvalidRequest, MergeConflict
from anabranch.model.clock import Position
from anabranch.model.commits import BranchHead, Commit, Origin
from anabranch.model.types import can_widen
from anabranch.plan.merge.rules import check_strictness
from anabranch.repo.branches.provenance import origins_at
from anabranch.repo.branches.refs import need_branch, resolve
from anabranch.repo.context.context import Context
from anabranch.repo.merge.apply import How, Merged, merge_source
from anabranch.repo.merge.attempts import Attempts
from anabranch.repo.merge.conflicts import Conflicts
from anabranch.repo.merge.publish import CommitWords, PublishOptions, publish_content
from anabranch.repo.merge.sides import Gathered, Target, around, target_at


@dataclass(frozen=True)
class Picked:
    """A change between two commits, and the message, author and provenance of the new commit."""

    base: Position
    theirs: Position
    what: str
    """For error messages, such as `revert of 12ab34cd`."""
    message: str
    author: str
    verb: str
    provenance: tuple[str, ...] = ()
    how: How = field(default_factory=How)
    line_of: BranchHead | None = None
    """The branch that will show the commit, if it is made on a side branch."""
    starts_line: bool = False
    where: str | None = None
    """For error messages: what it is made on, if not the branch."""


def pick(ctx: Context, on: str | None, picked: Picked) -> Commit | None:
    """Repeat a change on a branch; None if it changes nothing there."""
    return Attempts(ctx).run(lambda attempts: _attempt(attempts, on, picked))


def _attempt(attempts: Attempts, on: str | None, picked: Picked) -> Commit | None:
    ctx = attempts.ctx
    with ctx.catalog.read() as cx:
        target = read_target(ctx, cx, on)
        kept = () if picked.verb == "revert" else origins_at(cx, [picked.theirs])
    merged = work_out_pick(ctx, target, replace(picked, how=replace(picked.how, earlier=attempts.rows)))
    if merged.conflicts:
        ctx.discard(merged.made)
        raise _refused(picked, target, merged.conflicts)
    origins = (*Origin.of(picked.provenance), *kept)
    says = CommitWords(picked.message, picked.author, provenance=origins)
    options = PublishOptions(line_of=picked.line_of, starts_line=picked.starts_line)
    return publish_content(attempts, merged, says, picked.verb, options)


def read_target(ctx: Context, cx: Connection, on: str | None) -> Target:
    """Find the branch that moves."""
    return target_at(cx, need_branch(ctx, cx, on))


def work_out_pick(ctx: Context, target: Target, picked: Picked) -> Merged:
    """Merge a change into the target's draft, without publishing it."""
    with ctx.catalog.one_state(), ctx.catalog.read() as cx:
        gathered = around(ctx, cx, target, history.clock(cx, picked.base), history.clock(cx, picked.theirs))
        if gathered.backward:
            _refuse_narrower(cx, gathered, picked)
        sides = gathered.sides(picked.how.strictness, picked.how.rules)
    return merge_source(ctx, target, gathered, sides, picked.how)


def _refuse_narrower(cx: Connection, gathered: Gathered, picked: Picked) -> None:
    """Refuse to undo the widening of a column that is still wide: its values may not fit the old type."""
    old, ours, then = ({t.id: t for t in side} for side in gathered.sides())
    for id_ in old.keys() & ours.keys() & then.keys():
        schemas = [side[id_].schema for side in (old, ours, then)]
        for was in schemas[2] or ():
            wide, now = (s.written_as(was) if s else None for s in schemas[:2])
            if wide and now and now.type != was.type and not can_widen(wide.type, was.type):
                table, before = ours[id_].path, history.head(cx, picked.theirs)
                message = f"{picked.what}: it made column {was.name!r} of {table!r} {wide.type}, which it stays: "
                message += f"values may have been written since that are no {was.type}"
                hint = (
                    f"restore {table!r} to {before.hash[:8] if before else 'the commit before'}, with its rows of then"
                )
                raise InvalidRequest(message, hint=hint, table=table, column=was.name)


def _refused(picked: Picked, target: Target, conflicts: Conflicts) -> MergeConflict:
    name = (picked.line_of or target.branch).name  # As users know it, even if the commit is made on a side branch.
    message = f"{picked.what} can't be made on {(picked.where or name)!r}: {conflicts.headline()}"
    return MergeConflict(message, hint="give rules=, or change the rows first", conflicts=conflicts, branch=name)


def parent_of(cx: Connection, commit: Position, number: int | None, what: str) -> Position:
    """The parent to compare a commit with; a merge commit has several, so one must be named."""
    further = history.further_parents(cx, commit)
    if further and number is None:
        hint = "say which parent counts, parent=1 for the branch that was merged into"
        raise InvalidRequest(f"{what}: it is a merge commit with {1 + len(further)} parents", hint=hint)
    found = history.parent(cx, commit, number or 1)
    if found is None:
        problem = "the first commit has no parent" if number in (None, 1) else f"it has no parent number {number}"
        raise InvalidRequest(f"{what}: {problem}", hint="choose another commit")
    return found


def short(commit: Any) -> str:
    """A commit as error messages name it."""
    return f"{commit.hash[:8]} ({commit.message.splitlines()[0]})" if commit.message else str(commit.hash[:8])


@dataclass(frozen=True)
class PickRequest:
    """The arguments of `repo.cherry_pick(…)` and `repo.revert(…)` of one commit."""

    commit: str
    on: str | None = None
    parent: int | None = None
    rules: Mapping[str, str] = field(default_factory=dict)
    strictness: str = "cell"
    message: str | None = None
    author: str | None = None


def cherry_pick(ctx: Context, asked: PickRequest) -> Commit | None:
    """Repeat a commit's change; the new commit keeps its message and names it as provenance."""
    with ctx.catalog.read() as cx:
        position = resolve(ctx, cx, asked.commit)
        described = commits.describe(cx, [position])[0]
        what = f"cherry-pick of {short(described)}"
        base = parent_of(cx, position, asked.parent, what)
    how = How(check_strictness(asked.strictness), asked.rules)
    says = (asked.message or described.message, asked.author or described.author, "cherry-pick", (described.hash,))
    return pick(ctx, asked.on, Picked(base, position, what, *says, how))
