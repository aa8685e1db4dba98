"""merge: bring the changes of other branches into one; all of it or nothing."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, get_args

from anabranch.catalog import branches, history
from anabranch.catalog.publish import HeadMoved, publish
from anabranch.catalog.store import Connection, lock_repository, now
from anabranch.errors import AnabranchError, BranchMoved, InvalidRequest, MergeConflict, OutcomeUnknown
from anabranch.model.clock import Position
from anabranch.model.commits import BranchHead, Commit, CommitHead
from anabranch.model.content import ChangeReference, Content, Publication
from anabranch.model.ids import CommitId, ObjectId, new_id
from anabranch.model.objects import NewObject
from anabranch.plan.commit import content_of
from anabranch.plan.history import is_ancestor
from anabranch.plan.merge_rows import check_strictness, read_rules
from anabranch.repo.checks import check_words
from anabranch.repo.commit import keep_draft_readable, publish_found_out
from anabranch.repo.conflicts import Conflicts
from anabranch.repo.context import Context
from anabranch.repo.diff import diff
from anabranch.repo.differences import Diff
from anabranch.repo.merge_reading import Target, gather
from anabranch.repo.merging import How, Outcome, merge_source
from anabranch.repo.refs import need_branch, resolve
from anabranch.repo.state import list_tables, table_state

log = logging.getLogger("anabranch.repo.merge")

Mode = Literal["merge", "squash", "replay"]
FastForward = Literal["auto", "only", "never"]
_ATTEMPTS = 5


@dataclass(frozen=True)
class MergeRequest:
    """What `repo.merge(…)` was asked for."""

    sources: tuple[str, ...]
    into: str | None = None
    message: str | None = None
    rules: Mapping[str, str] = field(default_factory=dict)
    strictness: str = "cell"
    mode: Mode = "merge"
    ff: FastForward = "auto"
    author: str | None = None

    def __post_init__(self) -> None:
        check_words("merge" if self.message is None else self.message, self.author)
        check_strictness(self.strictness)
        for name, value, known in (("mode", self.mode, get_args(Mode)), ("ff", self.ff, get_args(FastForward))):
            if value not in known:
                raise InvalidRequest(f"{name}={value!r} is not known", hint=f"choose one of {', '.join(known)}")
        if not self.sources:
            raise InvalidRequest("merge was given no source", hint="name a branch, tag or commit")


@dataclass(frozen=True)
class MergeResult:
    """What a merge did."""

    commit: Commit
    """The commit that the branch shows now."""
    fast_forward: bool = False
    up_to_date: bool = False
    """Whether there was nothing to merge."""
    _diff: Callable[[], Diff] | None = field(default=None, repr=False, compare=False)

    @cached_property
    def counts(self) -> dict[str, dict[str, int]]:
        """The rows that changed on the branch, by table."""
        return self._diff().counts() if self._diff else {}


def merge(ctx: Context, asked: MergeRequest) -> MergeResult:
    """Merge sources into a branch, or say what is in the way."""
    if asked.mode == "replay":
        from anabranch.repo.rebase import replay

        return replay(ctx, asked)
    for _ in range(_ATTEMPTS):
        with ctx.catalog.read() as cx:
            target, sources = read_ends(ctx, cx, asked)
        if not sources:
            return _as_it_is(ctx, target, up_to_date=True)
        if may_forward(ctx, asked, target, sources):
            return forward(ctx, asked, target, sources[0])
        try:
            return _merge_into(ctx, asked, target, sources)
        except HeadMoved:
            log.debug("branch %s moved: the merge is planned again", target.branch.name)
    name = target.branch.name
    raise BranchMoved(
        f"branch {name!r} moved {_ATTEMPTS} times while it was merged into", hint="try again", branch=name
    )


def read_ends(ctx: Context, cx: Connection, asked: MergeRequest) -> tuple[Target, list[Position]]:
    """Find the branch that moves and the sources that it lacks."""
    head = need_branch(ctx, cx, asked.into or ctx.default_branch(cx))
    parent = history.head(cx, head.position)
    assert parent is not None
    found = list(dict.fromkeys(resolve(ctx, cx, s) for s in asked.sources))
    lines = history.Lines(cx)
    new = [s for s in found if not is_ancestor(lines, s, head.position)]
    kept = [s for s in new if not any(s != other and is_ancestor(lines, s, other) for other in new)]
    return Target(head, parent, history.clock(cx, head.position)), kept


def may_forward(ctx: Context, asked: MergeRequest, target: Target, sources: Sequence[Position]) -> bool:
    """Tell whether the branch can just move on to the source."""
    with ctx.catalog.read() as cx:
        can = len(sources) == 1 and is_ancestor(history.Lines(cx), target.clock.head, sources[0])
    if asked.ff == "only" and not can:
        name = target.branch.name
        message = f"branch {name!r} can't be fast-forwarded to {', '.join(map(repr, asked.sources))}"
        raise InvalidRequest(message, hint="leave ff='only' out to make a merge commit", branch=name)
    return can and asked.ff != "never" and asked.mode == "merge"


def _as_it_is(ctx: Context, target: Target, *, up_to_date: bool) -> MergeResult:
    with ctx.catalog.read() as cx:
        return MergeResult(history.describe(cx, [target.clock.head])[0], up_to_date=up_to_date)


def forward(ctx: Context, asked: MergeRequest, target: Target, source: Position) -> MergeResult:
    """Move the branch on to a commit that descends from the one it shows."""
    author = asked.author or ctx.author
    with ctx.catalog.write() as cx:
        lock_repository(cx, ctx.record.id)
        if not branches.move(cx, ctx.record.id, target.branch, source):
            name = target.branch.name
            raise BranchMoved(f"branch {name!r} moved meanwhile", hint="try again", branch=name)
        branches.record_move(cx, ctx.record.id, target.branch, target.branch.position, source, author, "merge")
        made = history.describe(cx, [source])[0]
    return MergeResult(made, fast_forward=True, _diff=diff_since(ctx, target, made))


# --- three-way ---


@dataclass
class Merged:
    """A merge that is worked out, not published."""

    target: Target
    parents: tuple[CommitHead, ...]
    conflicts: Conflicts
    references: list[ChangeReference]
    linked: set[ObjectId]
    made: list[NewObject]


def work_out(
    ctx: Context, target: Target, sources: Sequence[Position], how: How, *, stop_at_conflicts: bool = True
) -> Merged:
    """Merge the sources into the target's draft, in the order given."""
    merged = Merged(target, (), Conflicts(), [], set(), [])
    heads = []
    try:
        with ctx.catalog.read() as cx:
            _check_rules(ctx, cx, target, sources, how)
            for n, source in enumerate(sources, 1):
                gathered = gather(ctx, cx, target, source)
                found = merge_source(ctx, cx, target, gathered, how, n, refers=True)
                _add(merged, found)
                head = history.head(cx, source)
                assert head is not None
                heads.append(head)
                target.merged.append(source)
                if merged.conflicts and stop_at_conflicts:
                    break
    except BaseException:
        ctx.discard(merged.made)
        raise
    merged.parents = (target.parent, *heads)
    if len(sources) > 1:
        merged.references = _untold(merged, len(sources))
    return merged


def _check_rules(ctx: Context, cx: Connection, target: Target, sources: Sequence[Position], how: How) -> None:
    """Refuse rules that speak of no table or column on either side."""
    if not set(how.rules) - {"*"}:
        read_rules(how.rules, [])
        return
    sides = []
    for at in (target.clock, *(history.clock(cx, s) for s in sources)):
        tables = list_tables(ctx, cx, at, None)
        named = [t for t in tables if any(name == t.name or name.startswith(f"{t.name}.") for name in how.rules)]
        known = {t.name: table_state(ctx, cx, at, t.id, t.name).schema for t in named}
        sides.append({**{t.name: None for t in tables}, **known})
    read_rules(how.rules, sides)  # type: ignore[arg-type]


def _add(merged: Merged, found: Outcome) -> None:
    both = merged.conflicts
    merged.conflicts = Conflicts(
        {**both.tables, **found.conflicts.tables},
        (*both.things, *found.conflicts.things),
        (*both.broken, *found.conflicts.broken),
        {**both.breaking, **found.conflicts.breaking},
    )
    merged.references += found.references
    merged.linked |= found.linked
    merged.made += found.made


def _untold(merged: Merged, sources: int) -> list[ChangeReference]:
    """With several sources, the difference to each is not told: states are compared where it matters.

    It matters for what some source changed, and for what only ours did: that is new to every source.
    """
    drafted = [t.id for t in merged.target.draft.things.values() if t.kind == "table"]
    tables = dict.fromkeys((*drafted, *(r.thing_id for r in merged.references)))
    return [ChangeReference(t, n, None, None) for t in tables for n in range(1, sources + 1)]


def _merge_into(ctx: Context, asked: MergeRequest, target: Target, sources: Sequence[Position]) -> MergeResult:
    how = How(check_strictness(asked.strictness), asked.rules)
    merged = work_out(ctx, target, sources, how)
    if merged.conflicts:
        ctx.discard(merged.made)
        stuck = "change the rows or tables on one of the branches, then merge again"
        hint = stuck if merged.conflicts.is_stuck else "give rules=, or resolve them in repo.start_merge(…)"
        raise_conflict(asked, target, merged.conflicts, hint)
    made = publish_merge(ctx, merged, asked)
    return MergeResult(made, _diff=diff_since(ctx, target, made))


def diff_since(ctx: Context, target: Target, made: Commit) -> Callable[[], Diff]:
    """What a branch shows now against what it showed before."""
    return lambda: diff(ctx, target.parent.hash, made.hash)


def raise_conflict(asked: MergeRequest, target: Target, conflicts: Conflicts, hint: str) -> None:
    """Refuse, with the conflicts as data."""
    names = ", ".join(map(repr, asked.sources))
    raise MergeConflict(
        f"{names} can't be merged into {target.branch.name!r}: {conflicts.told()}",
        hint=hint,
        conflicts=conflicts,
        branch=target.branch.name,
    )


def default_message(asked: MergeRequest, target: Target) -> str:
    """What a merge says of itself."""
    names = ", ".join(asked.sources)
    return asked.message if asked.message is not None else f"merge {names} into {target.branch.name}"


def publish_merge(ctx: Context, merged: Merged, asked: MergeRequest, open_merge: str | None = None) -> Commit:
    """Publish one commit with all parents, or with the first only if it is a squash."""
    squash = asked.mode == "squash"
    sources = tuple(h.hash for h in merged.parents[1:])
    if squash:
        merged = replace(merged, parents=merged.parents[:1])
    made = publish_content(
        ctx,
        merged,
        message=default_message(asked, merged.target),
        author=asked.author or ctx.author,
        verb="merge",
        provenance=sources if squash else (),
        allow_empty=True,
        open_merge=open_merge,
    )
    assert made is not None
    return made


def publish_content(
    ctx: Context,
    merged: Merged,
    *,
    message: str,
    author: str,
    verb: str,
    provenance: tuple[str, ...] = (),
    allow_empty: bool = False,
    open_merge: str | None = None,
    line_of: BranchHead | None = None,
    starts_line: bool = False,
) -> Commit | None:
    """Publish what was worked out, on the head that it was worked out for; None if there is nothing to say."""
    target, content = merged.target, _content(merged)
    if content.is_empty and not allow_empty:
        ctx.discard(merged.made)
        return None
    id_, started = CommitId(new_id("k")), now()
    publication = Publication(
        ctx.record.id,
        target.branch,
        merged.parents,
        id_,
        author,
        message,
        started,
        provenance,
        verb,
        content,
        open_merge=open_merge,
        line_of=line_of,
        starts_line=starts_line,
    )
    try:
        with publish_found_out(ctx, publication) as found, ctx.catalog.write() as cx:
            made = publish(cx, publication, ctx.store_id, ctx.settings.clock_depth_limit)
            found.append(history.describe(cx, [made.position])[0])
    except OutcomeUnknown:
        raise
    except (AnabranchError, HeadMoved):
        ctx.discard(merged.made)
        raise
    keep_draft_readable(ctx, target.branch.name, target.draft)
    return found[0]


def _content(merged: Merged) -> Content:
    content = content_of(merged.target.draft, merged.linked)
    if len(merged.parents) == 1:
        return content
    used = {r.exceptions for r in merged.references if r.exceptions}
    extra = tuple(o for o in merged.made if o.stored.id in used)
    return replace(content, references=tuple(merged.references), objects=(*content.objects, *extra))


def as_sources(given: Any) -> tuple[str, ...]:
    """One source or several."""
    return (given,) if isinstance(given, str) else tuple(given)
