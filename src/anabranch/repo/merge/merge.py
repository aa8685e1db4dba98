"""merge: bring the changes of other branches into one; all or nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from anabranch.catalog import commits, history
from anabranch.errors import InvalidRequest, MergeConflict
from anabranch.model.clock import Position
from anabranch.model.commits import Commit, Origin
from anabranch.plan.history import is_ancestor, lone_fork
from anabranch.plan.merge.files import PREFIX
from anabranch.plan.merge.rules import EVERYWHERE, check_strictness, read_rules
from anabranch.repo.branches.provenance import brought_in, origins_at, resolve_origins
from anabranch.repo.context.context import Context
from anabranch.repo.context.table_state import list_tables, table_state
from anabranch.repo.merge.apply import How, Merged, merge_source
from anabranch.repo.merge.attempts import Attempts
from anabranch.repo.merge.conflicts import Conflicts
from anabranch.repo.merge.publish import CommitWords, PublishOptions, publish_content
from anabranch.repo.merge.request import MergeRequest, MergeResult, default_message, diff_since, read_ends
from anabranch.repo.merge.shards import merge_shards, read_shards
from anabranch.repo.merge.sides import Target, gather


def merge(ctx: Context, asked: MergeRequest) -> MergeResult:
    """Merge sources into a branch, or raise with what is in the way."""
    if asked.mode == "replay":
        from anabranch.repo.merge.rebase import replay

        return replay(ctx, asked)
    return Attempts(ctx).run(lambda attempts: _attempt(attempts, asked))


def _attempt(attempts: Attempts, asked: MergeRequest) -> MergeResult:
    ctx = attempts.ctx
    with ctx.catalog.read() as cx:
        target, sources = read_ends(ctx, cx, asked)
    if not sources:
        return as_it_is(ctx, target)
    if may_forward(ctx, asked, target, sources):
        return forward(ctx, asked, target, sources[0])
    return _merge_into(attempts, asked, target, sources)


def may_forward(ctx: Context, asked: MergeRequest, target: Target, sources: Sequence[Position]) -> bool:
    """Whether the branch can simply move to the source."""
    with ctx.catalog.read() as cx:
        can = len(sources) == 1 and is_ancestor(history.Lines(cx), target.clock.head, sources[0])
    if asked.ff == "only" and not can:
        name = target.branch.name
        message = f"branch {name!r} can't be fast-forwarded to {', '.join(map(repr, asked.sources))}"
        raise InvalidRequest(message, hint="leave ff='only' out to make a merge commit", branch=name)
    return can and asked.ff != "never" and asked.mode == "merge"


def as_it_is(ctx: Context, target: Target) -> MergeResult:
    """The result where there is nothing to merge."""
    with ctx.catalog.read() as cx:
        return MergeResult(commits.describe(cx, [target.clock.head])[0], up_to_date=True)


def forward(ctx: Context, asked: MergeRequest, target: Target, source: Position) -> MergeResult:
    """Move the branch to a descendant of its head; raise HeadMoved if the head is another by now."""
    with ctx.writing() as cx:
        ctx.move(cx, target.branch, source, "merge", asked.author)
        made = commits.describe(cx, [source])[0]
    return MergeResult(made, fast_forward=True, _diff=diff_since(ctx, target, made))


# --- three-way ---


def work_out(
    ctx: Context, target: Target, sources: Sequence[Position], how: How, *, stop_at_conflicts: bool = True
) -> Merged:
    """Merge the sources into the target's draft, in the order given."""
    merged = Merged(target, (target.parent,))
    try:
        check_rules(ctx, target, sources, how)
        _merge_all(ctx, merged, sources, how, stop_at_conflicts)
        if merged.conflicts and stop_at_conflicts:
            return merged  # nobody publishes it
        with ctx.catalog.read() as cx:
            heads = [history.head(cx, source) for source in target.merged]
    except BaseException:
        ctx.discard(merged.made)
        raise
    merged.parents = (target.parent, *(h for h in heads if h))
    if len(sources) > 1:
        merged.leave_undescribed(r.thing_id for r in merged.references)
    return merged


def _merge_all(ctx: Context, merged: Merged, sources: Sequence[Position], how: How, stop_at_conflicts: bool) -> None:
    """Unite the sources in one pass if they bring rows of their own and files that go together, else one by one."""
    target, fork = merged.target, None
    if len(sources) > 1:
        with ctx.catalog.one_state(), ctx.catalog.read() as cx:
            clocks = [history.clock(cx, source) for source in sources]
            fork = lone_fork(history.Lines(cx), target.clock, clocks)
            shards = read_shards(ctx, cx, target, clocks, fork, how) if fork else None
        united = merge_shards(ctx, target, shards, how) if shards else None
        if united is not None:
            _add(merged, united)
            target.merged += sources
            return
    for n, source in enumerate(sources, 1):
        with ctx.catalog.one_state(), ctx.catalog.read() as cx:
            gathered = gather(ctx, cx, target, source, fork)
            sides = gathered.sides(how.strictness, how.rules)
        _add(merged, merge_source(ctx, target, gathered, sides, how, n))
        target.merged.append(source)
        if merged.conflicts and stop_at_conflicts:
            break


def check_rules(ctx: Context, target: Target, sources: Sequence[Position], how: How) -> None:
    """Refuse rules that name a table or column on no side."""
    if all(name == EVERYWHERE or name.startswith(PREFIX) for name in how.rules):
        read_rules(how.rules, [])
        return
    sides = []
    with ctx.catalog.read() as cx:
        for at in (target.clock, *(history.clock(cx, s) for s in sources)):
            tables = list_tables(ctx, cx, at, None)
            named = [t for t in tables if any(name == t.name or name.startswith(f"{t.name}.") for name in how.rules)]
            known = {t.name: table_state(ctx, cx, at, t.id, t.name).schema for t in named}
            sides.append({**{t.name: None for t in tables}, **known})
    read_rules(how.rules, sides)  # type: ignore[arg-type]


def _add(merged: Merged, found: Merged) -> None:
    both = merged.conflicts
    merged.conflicts = Conflicts(
        {**both.tables, **found.conflicts.tables},
        (*both.things, *found.conflicts.things),
        (*both.broken, *found.conflicts.broken),
        {**both.breaking, **found.conflicts.breaking},
        found.conflicts.file_rows or both.file_rows,
    )
    merged.references += found.references
    merged.linked |= found.linked
    merged.made += found.made


def _merge_into(attempts: Attempts, asked: MergeRequest, target: Target, sources: Sequence[Position]) -> MergeResult:
    ctx, how = attempts.ctx, How(check_strictness(asked.strictness), asked.rules, earlier=attempts.rows)
    merged = work_out(ctx, target, sources, how)
    if merged.conflicts:
        ctx.discard(merged.made)
        stuck = "change the rows or tables on one of the branches, then merge again"
        hint = stuck if merged.conflicts.is_stuck else "give rules=, or resolve them in repo.start_merge(…)"
        raise_conflict(asked, target, merged.conflicts, hint)
    made = publish_merge(attempts, merged, asked)
    return MergeResult(made, _diff=diff_since(ctx, target, made))


def raise_conflict(asked: MergeRequest, target: Target, conflicts: Conflicts, hint: str) -> None:
    """Raise MergeConflict, with the conflicts as data."""
    names, into = ", ".join(map(repr, asked.sources)), target.branch.name
    message = f"{names} can't be merged into {into!r}: {conflicts.headline()}"
    raise MergeConflict(message, hint=hint, conflicts=conflicts, branch=into)


def _provenance(ctx: Context, merged: Merged, asked: MergeRequest) -> tuple[Origin, ...]:
    """A squash's provenance: its sources and what they were made from, unless given explicitly."""
    with ctx.catalog.read() as cx:
        if asked.provenance:
            return resolve_origins(ctx, cx, asked.provenance)
        heads = merged.parents[1:]
        brought = brought_in(cx, [h.position for h in heads], merged.target.parent.position)
        return (*Origin.of(h.hash for h in heads), *origins_at(cx, brought))


def publish_merge(attempts: Attempts, merged: Merged, asked: MergeRequest, open_merge: str | None = None) -> Commit:
    """Publish one commit with all parents; a squash has only the first."""
    squash = asked.mode == "squash"
    origins = _provenance(attempts.ctx, merged, asked) if squash else ()
    who, facts = asked.author or attempts.ctx.author, asked.facts or {}
    says = CommitWords(default_message(asked, merged.target), who, provenance=origins, facts=facts)
    described = replace(merged, parents=merged.parents[:1]) if squash else merged
    made = publish_content(attempts, described, says, "merge", PublishOptions(allow_empty=True, open_merge=open_merge))
    assert made is not None
    return made
