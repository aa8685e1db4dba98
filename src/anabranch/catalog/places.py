"""Objects that lie elsewhere: neither in the catalogue nor in the store's own root, but at a named location."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from anabranch.catalog.later import Connection, remote_tables, sa, t
from anabranch.catalog.objects import chunks
from anabranch.catalog.store import now
from anabranch.model.ids import ObjectId, new_id


@dataclass(frozen=True)
class ForeignPlace:
    """Where an object's file is: the location of an object root, and the path in it."""

    url: str
    path: str


def add_location(cx: Connection, url: str, role: str) -> str:
    """Register a location and return its id; a known one keeps its id."""
    known: str | None = cx.scalar(sa.select(remote_tables.locations.c.id).where(remote_tables.locations.c.url == url))
    if known is not None:
        return known
    made = new_id("p")
    cx.execute(remote_tables.locations.insert(), {"id": made, "url": url, "role": role, "created_at": now(cx)})
    return made


def put_elsewhere(cx: Connection, id_: ObjectId, location: str, path: str) -> None:
    """Record that an object lies at a location, no longer in the store's own root."""
    cx.execute(remote_tables.object_places.insert(), {"object_id": id_, "location_id": location, "path": path})
    cx.execute(sa.update(t.objects).where(t.objects.c.id == id_).values(place="elsewhere", path=None))


def copies(cx: Connection, location: str, there: Collection[str]) -> int:
    """Record that objects which already lie elsewhere have a copy at a location, too; return how many."""
    c = remote_tables.object_places.c
    rows = cx.execute(sa.select(c.object_id, c.path, c.location_id)).all()
    known = {row.object_id for row in rows if row.location_id == location}
    new = {row.object_id: row.path for row in rows if row.path in there and row.object_id not in known}
    if new:
        values = [{"object_id": id_, "location_id": location, "path": path} for id_, path in new.items()]
        cx.execute(remote_tables.object_places.insert(), values)
    return len(new)


def places_of(cx: Connection, ids: Iterable[ObjectId]) -> dict[ObjectId, list[ForeignPlace]]:
    """Find where objects lie; several locations hold copies."""
    c, found = remote_tables.object_places.c, dict[ObjectId, list[ForeignPlace]]()
    at = sa.select(c.object_id, remote_tables.locations.c.url, c.path).join(
        remote_tables.locations, remote_tables.locations.c.id == c.location_id
    )
    for chunk in chunks(list(ids)):
        for row in cx.execute(at.where(c.object_id.in_(chunk)).order_by(c.location_id)):
            found.setdefault(ObjectId(row.object_id), []).append(ForeignPlace(row.url, row.path))
    return found
