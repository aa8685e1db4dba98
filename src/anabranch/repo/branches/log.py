"""log and show: history, newest first, read only as far as asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from anabranch.catalog import commits, entries, history
from anabranch.catalog.history import LogFilter
from anabranch.catalog.store import Connection
from anabranch.errors import InvalidRequest, NotFound
from anabranch.model.clock import Position
from anabranch.model.commits import Commit
from anabranch.model.ids import ThingId
from anabranch.model.listings import Listing
from anabranch.model.names import split_table_name
from anabranch.model.refs import parse_time
from anabranch.plan.history import is_ancestor, merge_bases
from anabranch.repo.branches.refs import resolve
from anabranch.repo.branches.walk import Walk
from anabranch.repo.context.arguments import check_limit, check_text
from anabranch.repo.context.context import Context
from anabranch.repo.context.table_state import find_namespace, find_table

_PAGE = 64
SHOWN = ("id", "hash", "author", "finished_at", "message", "tables")


@dataclass(frozen=True)
class LogRequest:
    """Which commits are wanted."""

    table: str | None = None
    author: str | None = None
    since: str | datetime | None = None
    until: str | datetime | None = None
    limit: int | None = None
    message: str | None = None
    """A text that the message contains."""

    def on(self, things: tuple[ThingId, ...] | None) -> LogFilter:
        """The filter for commits that touched some things; None for all commits."""
        micros = [history.to_micros(parse_time(x, "log")) if x is not None else None for x in (self.since, self.until)]
        return LogFilter(things, self.author, micros[0], micros[1], self.message)


def log(ctx: Context, ref: str | Sequence[str] | None, asked: LogRequest = LogRequest()) -> list[Commit]:
    """List the commits reachable from one or several refs, newest first; `a..b` leaves out those reachable from `a`."""
    check_limit(limit := asked.limit)
    check_text(asked.author or "", "author=")
    check_text(asked.message or "", "message=")
    with ctx.catalog.read() as cx:
        lows, highs = _ends(ctx, cx, ref)
        things = _things_at_any(ctx, cx, highs, asked.table) if asked.table is not None else None
        found = Walk(highs, asked.on(things), _PAGE if limit is None else min(limit + 1, _PAGE)).positions(cx)
        if lows:
            lines = history.Lines(cx)
            found = (p for p in found if not any(is_ancestor(lines, p, low) for low in lows))
        return Listing(commits.describe(cx, islice(found, limit)), SHOWN)


def show(ctx: Context, ref: str | None) -> Commit:
    """Read one commit."""
    with ctx.catalog.read() as cx:
        return commits.describe(cx, [resolve(ctx, cx, ref)])[0]


def has_file_changes(ctx: Context, ref: str | None) -> bool:
    """Tell whether a commit changed any versioned file."""
    with ctx.catalog.read() as cx:
        return any(entry.kind == "files" for entry in entries.entries_of(cx, resolve(ctx, cx, ref)))


def merge_base(ctx: Context, ours: str, theirs: str) -> list[Commit]:
    """Find the nearest common ancestors of two refs."""
    with ctx.catalog.read() as cx:
        found = merge_bases(history.Lines(cx), resolve(ctx, cx, ours), resolve(ctx, cx, theirs))
        return commits.describe(cx, found)


def ancestor(ctx: Context, old: str, new: str) -> bool:
    """Tell whether one ref is an ancestor of another."""
    with ctx.catalog.read() as cx:
        return is_ancestor(history.Lines(cx), resolve(ctx, cx, old), resolve(ctx, cx, new))


def _ends(ctx: Context, cx: Connection, ref: str | Sequence[str] | None) -> tuple[list[Position], list[Position]]:
    """The commits whose past is left out, and those whose past is listed."""
    lows, highs = [], []
    for text in [ref] if ref is None or isinstance(ref, str) else dict.fromkeys(ref):
        if text == "":
            resolve(ctx, cx, text)  # Refuses it.
        low, dots, high = (text or "").partition("..")
        if high.startswith("."):
            raise InvalidRequest(f"log can't show {text!r}", hint="use a..b")
        if dots:
            lows.append(resolve(ctx, cx, low or None))
        highs.append(resolve(ctx, cx, (high if dots else low) or None))
    return lows, highs


def _things_at_any(ctx: Context, cx: Connection, at: Sequence[Position], table: str) -> tuple[ThingId, ...]:
    """The tables of this name at the refs; raises only if none of the refs knows it."""
    found: dict[ThingId, None] = {}
    unknown: list[NotFound] = []
    for position in at:
        try:
            found |= dict.fromkeys(things_named(ctx, cx, position, table))
        except NotFound as error:
            unknown.append(error)
    if unknown and not found:
        raise unknown[0]
    return tuple(found)


def things_named(ctx: Context, cx: Connection, at: Position, table: str) -> tuple[ThingId, ...]:
    """The table of this name at the ref; a dropped table is found by its last name."""
    clock = history.clock(cx, at)
    try:
        return (find_table(ctx, cx, clock, table).id,)
    except NotFound:
        namespaces, own = split_table_name(table)
        parent = find_namespace(ctx, cx, clock, namespaces)
        known = entries.ever_named(cx, ctx.record.id, clock, parent, own)
        if not known:
            raise
        return tuple(ThingId(x) for x in known)
