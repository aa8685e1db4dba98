"""Open merges by name: what the catalogue knows of them, without working them out."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from anabranch.catalog import history, open_merges
from anabranch.repo.context.context import Context


@dataclass(frozen=True)
class WaitingMerge:
    """A merge that is neither finished nor aborted."""

    id: str
    into: str
    sources: tuple[str, ...]
    started_at: datetime


def list_waiting(ctx: Context, into: str | None) -> list[WaitingMerge]:
    """List the open merges into a branch, or all, oldest first."""
    with ctx.catalog.read() as cx:
        records = open_merges.all_records(cx, ctx.record.id)
    return [
        WaitingMerge(
            r.id,
            r.branch,
            tuple(text.partition(" ")[2] for text in r.sources),
            history.to_datetime(r.started_at),
        )
        for r in records
        if into in (None, r.branch)
    ]
