"""restore: give a table the columns and rows that it had at a ref, as a new commit."""

from __future__ import annotations

from anabranch.catalog import entries, history
from anabranch.catalog.publish import HeadMoved
from anabranch.catalog.store import Connection
from anabranch.errors import AlreadyExists, BranchMoved
from anabranch.model.clock import Clock
from anabranch.model.commits import Commit
from anabranch.model.ids import ROOT_NAMESPACE, ThingId
from anabranch.plan.merge_rows import RowPolicy
from anabranch.plan.merge_sides import ThingSide
from anabranch.plan.merge_things import ThingMerge, ThingsMerge
from anabranch.repo.conflicts import Conflicts
from anabranch.repo.context import Context
from anabranch.repo.merge import Merged, publish_content
from anabranch.repo.merge_reading import Ancestor, Gathered, SideReader, Target
from anabranch.repo.merging import How, apply_plan
from anabranch.repo.picking import read_target
from anabranch.repo.refs import resolve
from anabranch.repo.state import find_table

_ATTEMPTS = 5


def restore(
    ctx: Context, table: str, to: str, on: str | None, message: str | None, author: str | None
) -> Commit | None:
    """Make a table what it was; None if it is so already. Its name and properties come back, too."""
    for _ in range(_ATTEMPTS):
        with ctx.catalog.read() as cx:
            target = read_target(ctx, cx, on)
            then = history.clock(cx, resolve(ctx, cx, to))
            thing = find_table(ctx, cx, then, table)
            merged = _work_out(ctx, cx, target, then, thing)
        try:
            return publish_content(
                ctx,
                merged,
                message=message or f"restore {table} to {to}",
                author=author or ctx.author,
                verb="restore",
            )
        except HeadMoved:
            continue
    raise BranchMoved(f"branch {target.branch.name!r} moved {_ATTEMPTS} times meanwhile", hint="try again")


def _work_out(ctx: Context, cx: Connection, target: Target, then: Clock, thing: ThingId) -> Merged:
    """The table at the head becomes the one at the ref: as a merge in which theirs wins everything."""
    ours = SideReader(ctx, cx, target.clock, None)
    theirs = SideReader(ctx, cx, then, None)
    gathered = Gathered((target.clock.head,), ours, ours, theirs, (thing,), Ancestor(ours), backward=True)
    mine, other = ours.states([thing]).get(thing), theirs.states([thing])[thing]
    result = _result(ctx, cx, target, mine, other)
    rows = RowPolicy(replaces_all=True, full=True) if mine else None
    plan = ThingsMerge((ThingMerge(mine, mine, other, result, rows),), ())
    found = apply_plan(ctx, cx, target, gathered, How(), plan)
    return Merged(target, (target.parent,), Conflicts(), [], found.linked, found.made)


def _result(ctx: Context, cx: Connection, target: Target, mine: ThingSide | None, other: ThingSide) -> ThingSide:
    """Where the table goes: its place now if it is there, else the place it had, if that is free and still there."""
    if mine is not None:
        return ThingSide(mine.id, "table", mine.parent_id, mine.name, mine.path, other.attributes, other.schema)
    taken = entries.find_name(cx, ctx.record.id, target.clock, other.parent_id, other.name)
    if taken:
        hint = "rename or drop what has the name now"
        raise AlreadyExists(f"there is another table or namespace {other.path!r}", hint=hint, table=other.path)
    if other.parent_id != ROOT_NAMESPACE and not entries.place_of(cx, target.clock, other.parent_id):
        hint = "create the namespace first, or restore the table from a branch that has it"
        raise AlreadyExists(f"the namespace of {other.path!r} is not there any more", hint=hint, table=other.path)
    return other
