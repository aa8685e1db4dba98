"""Open work beside an ordinary commit: amend puts it into the newest one, carry over merges it with what came since.

Either is all or nothing, and nobody's work is lost.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from anabranch.catalog import commits, history
from anabranch.errors import InvalidRequest
from anabranch.model.commits import BranchHead, Commit
from anabranch.model.facts import JOB, PIPELINE, OwnFacts
from anabranch.repo.branches.provenance import origins_at
from anabranch.repo.branches.refs import need_branch
from anabranch.repo.commit.open_commit import OpenCommit, working_set
from anabranch.repo.context.arguments import check_date, check_words
from anabranch.repo.context.context import Context
from anabranch.repo.merge.open_sequence import OpenSequence, SequenceRequest, start_carrying
from anabranch.repo.merge.publish import CommitWords
from anabranch.repo.merge.side_branch import commit_unseen, remake


@dataclass(frozen=True)
class AmendRequest:
    """What `repo.amend(…)` was asked for."""

    branch: str | None = None
    message: str | None = None
    author: str | None = None
    date: str | datetime | None = None

    def __post_init__(self) -> None:
        check_words("amend" if self.message is None else self.message, self.author)


def amend(ctx: Context, asked: AmendRequest, work: OpenCommit | None = None) -> Commit:
    """Replace the branch's newest commit with one that has the same parents; staged work goes into it."""
    with ctx.catalog.alone(ctx.record.id):
        with ctx.catalog.read() as cx:
            head = need_branch(ctx, cx, asked.branch)
        work = work or working_set(ctx, head.name)
        if work is not None and work.branch != head.name:
            hint = f"amend {work.branch!r}, or finish() the open commit"
            raise InvalidRequest(f"open commit {work.id} is on branch {work.branch!r}, not on {head.name!r}", hint=hint)
        tip = head.position if work is None else commit_unseen(ctx, work, work._start, head, head.position)
        made = remake(ctx, head.position, tip, head, _said(ctx, head, asked, work), "amend")
        with ctx.catalog.write() as cx:
            ctx.move(cx, head, history.by_hash(cx, ctx.record.id, made.hash)[0], "amend", asked.author)
    if work is not None:
        work._closed = True
    return made


def _said(ctx: Context, head: BranchHead, asked: AmendRequest, work: OpenCommit | None) -> CommitWords:
    """Take the old commit's message, author, date and facts, except where new ones are given.

    With more work in it, it is no longer what a job or a run of a pipeline made, and does not say so.
    """
    with ctx.catalog.read() as cx:
        old, origins = commits.describe(cx, [head.position])[0], origins_at(cx, [head.position])
    date = old.started_at if asked.date is None else asked.date
    started_at = check_date(date, ctx.catalog.now())
    facts = old.facts if work is None else _without_runs(old.facts)
    return CommitWords(asked.message or old.message, asked.author or old.author, started_at, origins, facts)


def _without_runs(facts: Mapping[str, Any]) -> Mapping[str, Any]:
    """Facts that do not say that a job or a run of a pipeline made all of a commit.

    Which files the jobs of a run wrote stays known, by their writes.
    """
    others = {n: v for n, v in facts.items() if JOB.value({n: v}) is None and PIPELINE.value({n: v}) is None}
    run = PIPELINE.value(facts)
    return OwnFacts({**others, **(PIPELINE.facts({n: v for n, v in run.items() if n != "tables"}) if run else {})})


_STRICTNESS = "disjoint"
"""Anything both sides touched is a conflict, even if equal: as with two writers, no counter loses an increment."""


def carry_over(ctx: Context, work: OpenCommit, message: str | None, author: str | None) -> OpenSequence:
    """Commit open work where it began, then start picking that commit onto the branch; all or nothing."""
    words = work.message if message is None else message
    check_words(words, author)
    start = replace(work._start, message=words, author=author or work.author)
    with ctx.catalog.alone(ctx.record.id):
        with ctx.catalog.read() as cx:
            head = need_branch(ctx, cx, work.branch)
        position = commit_unseen(ctx, work, start, head, start.branch.position)
        with ctx.catalog.read() as cx:
            made = history.known_head(cx, position).hash
        kept = start_carrying(ctx, SequenceRequest("cherry-pick", head.name, strictness=_STRICTNESS), made)
    work._closed = True
    return kept
