"""Snapshots of the file tree that came with their commits, which is where the tree is read from."""

from __future__ import annotations

from sqlalchemy import Connection, and_, select

from anabranch.catalog import tables as t
from anabranch.model.clock import Clock, Position
from anabranch.model.ids import LineId, ThingId


def first_snapshots(cx: Connection, thing: ThingId) -> list[Position]:
    """List the commits that brought a snapshot of a thing themselves."""
    v, c = t.views.c, t.commits.c
    at_commit = and_(c.line_id == v.line_id, c.commit_index == v.commit_index)
    query = select(v.line_id, v.commit_index).join(t.commits, at_commit)
    query = query.where(v.thing_id == thing, v.kind == "snapshot", v.created_at == c.finished_at)
    rows = cx.execute(query.order_by(v.line_id, v.commit_index))
    return [Position(LineId(line), index) for line, index in rows]


def has_changes(cx: Connection, at: Clock, thing: ThingId) -> bool:
    """Tell whether a commit, or one before it along first parents, changed a thing."""
    c = t.changes.c
    for line, index in at.positions:
        on_line = (c.thing_id == thing, c.line_id == line, c.commit_index <= index)
        if cx.execute(select(c.number).where(*on_line).limit(1)).first() is not None:
            return True
    return False
