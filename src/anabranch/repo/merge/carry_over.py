"""carry over: merge staged work with what the branch got meanwhile, so that nobody's work is lost."""

from __future__ import annotations

from dataclasses import replace

from anabranch.catalog import history
from anabranch.repo.branches.refs import need_branch
from anabranch.repo.commit.open_commit import OpenCommit
from anabranch.repo.context.arguments import check_words
from anabranch.repo.context.context import Context
from anabranch.repo.merge.open_sequence import OpenSequence, SequenceRequest, start_carrying
from anabranch.repo.merge.side_branch import commit_unseen

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
