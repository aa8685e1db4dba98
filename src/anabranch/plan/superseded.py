"""Choose the views that gc removes: those that no ref reads and that nobody asked to keep."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import timedelta

from anabranch.model.clock import Position
from anabranch.model.garbage import ViewRecord
from anabranch.model.ids import LineId, ThingId, ViewId


def superseded(
    views: Collection[ViewRecord], read: Collection[ViewId], keep: int | timedelta, now: int
) -> frozenset[ViewId]:
    """Name the views to remove. A view that was published with its commit stays, and a fold keeps its snapshot."""
    kept = [v for v in views if v.is_first or v.id in read]
    if isinstance(keep, int):
        kept += _newest(views, keep)
    else:
        kept += [v for v in views if v.created_at > now - keep // timedelta(microseconds=1)]
    below = {(v.thing_id, v.since) for v in kept if v.since}
    snapshots = sorted((v for v in views if v.kind == "snapshot"), key=_age)
    kept += {(v.thing_id, v.at): v for v in snapshots if (v.thing_id, v.at) in below}.values()
    return frozenset(v.id for v in views) - {v.id for v in kept}


def _newest(views: Iterable[ViewRecord], count: int) -> list[ViewRecord]:
    """The newest `count` views of each table on each line."""
    found: dict[tuple[ThingId, LineId], list[ViewRecord]] = {}
    for view in sorted(views, key=_age, reverse=True):
        found.setdefault((view.thing_id, view.at.line), []).append(view)
    return [v for line in found.values() for v in line[:count]]


def _age(view: ViewRecord) -> tuple[Position, int, ViewId]:
    return view.at, view.created_at, view.id
