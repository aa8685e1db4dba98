"""Objects that manifests list: the catalogue knows which manifest lists which id, the manifest all else of them.

A listed object has a row of its own only where something links it directly, too: a view that split its manifest, an
open commit, a merge that took some of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Select, func, select

from anabranch.catalog import tables as t
from anabranch.catalog.remote_tables import object_places
from anabranch.model.ids import ObjectId
from anabranch.settings import IDS_PER_STATEMENT

_c, _m = t.changes.c, t.manifest_members.c

CHANGED = t.changes.outerjoin(t.manifest_members, _m.manifest_id == _c.object_id)
"""Changes, with a row for each object that a manifest among them lists."""
CHANGED_ID = func.coalesce(_m.object_id, _c.object_id).label("object_id")
"""The object of such a row."""
IN_ORDER = (_c.number, _m.object_id)


def linking(ids: Sequence[ObjectId], *columns: Any) -> list[Select[Any]]:
    """Ask for the changes that link objects, directly or by a manifest; the first column is the object."""
    direct = select(_c.object_id, *columns).select_from(t.changes).where(_c.object_id.in_(ids))
    listed = t.changes.join(t.manifest_members, _m.manifest_id == _c.object_id)
    return [direct, select(_m.object_id, *columns).select_from(listed).where(_m.object_id.in_(ids))]


def listing(cx: Connection, ids: Sequence[ObjectId]) -> dict[ObjectId, ObjectId]:
    """For each of some objects that a manifest lists, one that does."""
    found: dict[ObjectId, ObjectId] = {}
    for start in range(0, len(ids), IDS_PER_STATEMENT):
        part = _m.object_id.in_(ids[start : start + IDS_PER_STATEMENT])
        rows = cx.execute(select(_m.object_id, func.min(_m.manifest_id).label("by")).where(part).group_by(_m.object_id))
        found |= {ObjectId(row.object_id): ObjectId(row.by) for row in rows}
    return found


def members_of(cx: Connection, manifest: ObjectId) -> set[ObjectId]:
    """The objects that the catalogue says a manifest lists."""
    return {ObjectId(id_) for id_ in cx.scalars(select(_m.object_id).where(_m.manifest_id == manifest))}


def lying_elsewhere(cx: Connection, manifest: ObjectId) -> set[ObjectId]:
    """Those of the objects that a manifest lists which lie outside of the store's own root by now."""
    p = object_places.c.object_id
    query = select(p).join(t.manifest_members, _m.object_id == p).where(_m.manifest_id == manifest)
    return {ObjectId(id_) for id_ in cx.scalars(query)}
