"""Publish a merge or pick that was computed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from anabranch.catalog import commits
from anabranch.catalog.moves import HeadMoved
from anabranch.errors import AnabranchError, OutcomeUnknown
from anabranch.model.commits import BranchHead, Commit, Origin
from anabranch.model.content import Content, Publication
from anabranch.model.ids import CommitId, new_id
from anabranch.plan.commit import content_of
from anabranch.repo.commit.commit import keep_draft_readable, publish_checked, publish_found_out
from anabranch.repo.merge.apply import Merged
from anabranch.repo.merge.attempts import Attempts


@dataclass(frozen=True)
class CommitWords:
    """A commit's message, author, start, provenance and facts."""

    message: str
    author: str
    started_at: int | None = None
    """When work on it began; None for now."""
    provenance: tuple[Origin, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class PublishOptions:
    """Options for publishing a commit that a merge made."""

    allow_empty: bool = False
    open_merge: str | None = None
    """The open merge that this commit finishes."""
    line_of: BranchHead | None = None
    """The branch that will show the commit, on whose line it is made, if that is another one."""
    starts_line: bool = False


def publish_content(
    attempts: Attempts, merged: Merged, says: CommitWords, verb: str, options: PublishOptions = PublishOptions()
) -> Commit | None:
    """Publish a computed merge on the head it was computed for; None if it says nothing."""
    ctx, target, content = attempts.ctx, merged.target, _content(merged)
    if content.is_empty and not options.allow_empty:
        ctx.discard(merged.made)
        return None
    said = {**vars(says), **{name: getattr(options, name) for name in ("open_merge", "line_of", "starts_line")}}
    said["started_at"] = ctx.catalog.now() if says.started_at is None else says.started_at
    attempts.written = merged.made
    place = (ctx.record.id, target.branch, merged.parents, CommitId(new_id("k")))
    attempts.publication = publication = Publication(*place, verb=verb, content=content, **said)
    try:
        with publish_found_out(ctx, publication) as published, ctx.catalog.write() as cx:
            made = publish_checked(ctx, cx, publication, published)
            attempts.written = [*merged.made, *published.manifests]
            published.commit = commits.describe(cx, [made.position])[0]
    except OutcomeUnknown:
        raise
    except HeadMoved:
        attempts.give_up(merged.made)
        raise
    except AnabranchError:
        ctx.discard(merged.made)
        raise
    keep_draft_readable(ctx, target.branch.name, target.draft)
    return published.commit


def _content(merged: Merged) -> Content:
    content = content_of(merged.target.draft, merged.linked)
    if len(merged.parents) == 1:
        return content
    used = {r.exceptions for r in merged.references if r.exceptions}
    extra = tuple(o for o in merged.made if o.stored.id in used)
    described = {**content.described, **{o.stored.id: o.stored for o in extra}}
    objects = (*content.objects, *extra)
    return replace(content, references=tuple(merged.references), objects=objects, described=described)
