"""Objects listed by manifests: the catalogue knows only their ids, the manifest everything else.

A listed object has a row of its own only if something also links it directly: a view that split its manifest,
an open commit, or a merge that took some of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from anabranch.catalog.later import Connection, remote_tables, sa, t
from anabranch.catalog.prepared import prepared
from anabranch.model.ids import ObjectId
from anabranch.settings import IDS_PER_STATEMENT


@cache
def changed() -> sa.Join:
    """Changes, with one row per object that a manifest among them lists."""
    return t.changes.outerjoin(t.manifest_members, t.manifest_members.c.manifest_id == t.changes.c.object_id)


@cache
def changed_id() -> sa.Label[Any]:
    """The object of such a row."""
    return sa.func.coalesce(t.manifest_members.c.object_id, t.changes.c.object_id).label("object_id")


def in_order() -> tuple[Any, Any]:
    """The sort order of a change's objects."""
    return t.changes.c.number, t.manifest_members.c.object_id


def linking(ids: Sequence[ObjectId], *columns: Any) -> list[sa.Select[Any]]:
    """Select the changes that link objects, directly or by a manifest; the first column is the object."""
    c, m = t.changes.c, t.manifest_members.c
    direct = sa.select(c.object_id, *columns).select_from(t.changes).where(c.object_id.in_(ids))
    listed = t.changes.join(t.manifest_members, m.manifest_id == c.object_id)
    return [direct, sa.select(m.object_id, *columns).select_from(listed).where(m.object_id.in_(ids))]


def listing(cx: Connection, ids: Sequence[ObjectId]) -> dict[ObjectId, ObjectId]:
    """Map each object that a manifest lists to one that does."""
    found: dict[ObjectId, ObjectId] = {}
    for start in range(0, len(ids), IDS_PER_STATEMENT):
        rows = _listing(cx, {"ids": ids[start : start + IDS_PER_STATEMENT]})
        found |= {ObjectId(row.object_id): ObjectId(row.by) for row in rows}
    return found


@prepared
def _listing() -> Any:
    m = t.manifest_members.c
    query = sa.select(m.object_id, sa.func.min(m.manifest_id).label("by")).group_by(m.object_id)
    return query.where(m.object_id.in_(sa.bindparam("ids", expanding=True)))


def members_of(cx: Connection, manifest: ObjectId) -> set[ObjectId]:
    """The objects that a manifest lists, according to the catalogue."""
    m = t.manifest_members.c
    return {ObjectId(id_) for id_ in cx.scalars(sa.select(m.object_id).where(m.manifest_id == manifest))}


def lying_elsewhere(cx: Connection, manifest: ObjectId) -> set[ObjectId]:
    """The objects in a manifest that now lie outside the store's own root."""
    p, m = remote_tables.object_places.c.object_id, t.manifest_members.c
    query = sa.select(p).join(t.manifest_members, m.object_id == p).where(m.manifest_id == manifest)
    return {ObjectId(id_) for id_ in cx.scalars(query)}
