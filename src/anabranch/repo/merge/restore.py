"""restore: give a table the columns and rows that it had at a ref, as a new commit."""

from __future__ import annotations

from anabranch.catalog import entries, history
from anabranch.catalog.store import Connection
from anabranch.errors import AlreadyExists, NotFound
from anabranch.model.clock import Clock
from anabranch.model.commits import Commit
from anabranch.model.ids import ROOT_NAMESPACE, ThingId
from anabranch.model.types import can_widen
from anabranch.plan.merge.rules import RowPolicy
from anabranch.plan.merge.sides import ThingSide
from anabranch.plan.merge.things import ThingMerge, ThingsMerge
from anabranch.repo.branches.refs import resolve
from anabranch.repo.context.context import Context
from anabranch.repo.context.table_state import find_table
from anabranch.repo.merge.apply import How, apply_plan
from anabranch.repo.merge.attempts import Attempts
from anabranch.repo.merge.pick import read_target
from anabranch.repo.merge.publish import CommitWords, publish_content
from anabranch.repo.merge.sides import Ancestor, Gathered, SideReader, Target


def restore(
    ctx: Context, table: str, to: str, on: str | None, message: str | None, author: str | None
) -> Commit | None:
    """Make a table what it was, properties included; None if it already is. A dropped table gets its name back."""
    described = message or f"restore {table} to {to}"
    return Attempts(ctx).run(lambda attempts: _attempt(attempts, table, to, on, described, author or ctx.author))


def _attempt(attempts: Attempts, table: str, to: str, on: str | None, message: str, author: str) -> Commit | None:
    ctx = attempts.ctx
    with ctx.catalog.one_state(), ctx.catalog.read() as cx:
        target = read_target(ctx, cx, on)
        then = history.clock(cx, resolve(ctx, cx, to))
        gathered, plan = _plan(ctx, cx, target, then, find_table(ctx, cx, then, table).id)
    merged = apply_plan(ctx, target, gathered, How(), plan)
    return publish_content(attempts, merged, CommitWords(message, author), "restore")


def _plan(ctx: Context, cx: Connection, target: Target, then: Clock, thing: ThingId) -> tuple[Gathered, ThingsMerge]:
    """Plan a merge in which theirs, the table at the ref, wins everything."""
    ours = SideReader(ctx, target.clock, None)
    theirs = SideReader(ctx, then, None)
    gathered = Gathered((target.clock.head,), ours, ours, theirs, (thing,), Ancestor(ours), backward=True)
    mine, other = ours.states([thing]).get(thing), theirs.states([thing])[thing]
    result = _result(ctx, cx, target, mine, other)
    if mine is None or _is_narrower(other, mine):
        made = ThingMerge(None, None, other, result, None)
    else:
        made = ThingMerge(mine, mine, other, result, RowPolicy(replaces_all=True, full=True))
    return gathered, ThingsMerge((made,), ())


def _is_narrower(then: ThingSide, now: ThingSide) -> bool:
    """Whether current values may not fit the old types: rows can't be compared, so the old table is taken whole."""
    assert then.schema is not None
    assert now.schema is not None
    pairs = [(c, now.schema.written_as(c)) for c in then.schema]
    return any(is_ is not None and not can_widen(is_.type, was.type) for was, is_ in pairs)


def _result(ctx: Context, cx: Connection, target: Target, mine: ThingSide | None, other: ThingSide) -> ThingSide:
    """Where the table goes: its current place if it has one, else its old place, if that is free and still exists."""
    if mine is not None:
        return ThingSide(mine.id, "table", mine.parent_id, mine.name, mine.path, other.attributes, other.schema)
    taken = entries.find_name(cx, ctx.record.id, target.clock, other.parent_id, other.name)
    if taken:
        hint = "rename or drop what has the name now"
        raise AlreadyExists(f"there is another table or namespace {other.path!r}", hint=hint, table=other.path)
    if other.parent_id != ROOT_NAMESPACE and not entries.place_of(cx, target.clock, other.parent_id):
        hint = "create the namespace first, or restore the table from a branch that has it"
        raise NotFound(f"the namespace of {other.path!r} is not there any more", hint=hint, table=other.path)
    return other
