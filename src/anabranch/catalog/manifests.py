"""Changes whose objects a manifest lists, as rows of the catalogue tell them: one for each object, as if linked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Select, func, select

from anabranch.catalog import tables as t
from anabranch.model.ids import ObjectId

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


def members_of(cx: Connection, manifest: ObjectId) -> set[ObjectId]:
    """The objects that the catalogue says a manifest lists."""
    return {ObjectId(id_) for id_ in cx.scalars(select(_m.object_id).where(_m.manifest_id == manifest))}


def lying_elsewhere(cx: Connection, manifest: ObjectId) -> set[ObjectId]:
    """Those of the objects that a manifest lists which lie outside of the store's own root by now."""
    o = t.objects.c
    query = select(o.id).join(t.manifest_members, _m.object_id == o.id)
    return {ObjectId(id_) for id_ in cx.scalars(query.where(_m.manifest_id == manifest, o.place == "elsewhere"))}
