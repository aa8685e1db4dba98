"""Objects and schemas as the catalogue keeps them, where objects lie, and all files that it names, in manifests too."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, get_args

from anabranch.catalog.later import Connection, remote_tables, sa, t
from anabranch.catalog.prepared import Prepared, prepared
from anabranch.catalog.store import now
from anabranch.errors import Corrupt
from anabranch.model import objects as model
from anabranch.model.ids import ColumnId, ObjectId, SchemaId, ViewId, new_id
from anabranch.model.layers import ReadManifest
from anabranch.model.schema import Schema, read_schema, schema_document
from anabranch.settings import OBJECTS_PER_STATEMENT

_T = TypeVar("_T")


def _contents(count: int) -> Any:
    c = t.inline_objects.c
    ids: list[Any] = [sa.bindparam(f"id_{n}") for n in range(count)]
    return sa.select(c.object_id, c.content).where(c.object_id.in_(ids))


_CONTENTS = {count: Prepared(_contents, count) for count in (1, 8, OBJECTS_PER_STATEMENT)}
"""Statements for up to so many ids; fewer are padded by repeating the last."""


def contents(cx: Connection, ids: Sequence[ObjectId]) -> dict[ObjectId, bytes]:
    """Read the bytes of inline objects."""
    found: dict[ObjectId, bytes] = {}
    for chunk in chunks(ids):
        count = next(n for n in _CONTENTS if n >= len(chunk))
        wanted = {f"id_{n}": chunk[min(n, len(chunk) - 1)] for n in range(count)}
        found |= {ObjectId(row.object_id): bytes(row.content) for row in _CONTENTS[count](cx, wanted)}
    return found


def find(cx: Connection, ids: Sequence[ObjectId]) -> dict[ObjectId, model.StoredObject]:
    """Find objects by id, leaving out those that are gone."""
    found: dict[ObjectId, model.StoredObject] = {}
    for chunk in chunks(ids):
        for row in _found(cx, {"ids": chunk}):
            found[ObjectId(row.id)] = stored(row)
    return found


@prepared
def _found() -> Any:
    return sa.select(t.objects).where(t.objects.c.id.in_(sa.bindparam("ids", expanding=True)))


def of_view(cx: Connection, view: ViewId) -> dict[ObjectId, model.StoredObject]:
    """Find all objects of a view."""
    linked = t.view_objects.c
    query = sa.select(t.objects).join(t.view_objects, linked.object_id == t.objects.c.id).where(linked.view_id == view)
    return {ObjectId(row.id): stored(row) for row in cx.execute(query)}


def manifests(cx: Connection) -> list[model.StoredObject]:
    """Find all manifests."""
    return [stored(row) for row in cx.execute(sa.select(t.objects).where(t.objects.c.kind == "manifest"))]


def in_root(cx: Connection) -> list[model.StoredObject]:
    """Find all objects that are files in the store's own root and have rows of their own."""
    return [stored(row) for row in cx.execute(sa.select(t.objects).where(t.objects.c.path.is_not(None)))]


def paths(cx: Connection) -> Iterator[str]:
    """Yield the paths of all files named by rows of the catalogue; manifests name further ones."""
    return iter(cx.scalars(sa.select(t.objects.c.path).where(t.objects.c.path.is_not(None))))


def insert(cx: Connection, objects: Iterable[model.NewObject], created_at: int | None = None) -> None:
    """Insert new objects, made now unless said otherwise, with the bytes of inline ones and links to their packs.

    Objects that a manifest among them lists get no row: the manifest describes them.
    """
    made = list(objects)
    inside = {id_ for o in made for id_ in o.listed}
    insert_rows(cx, [o.stored for o in made if o.stored.id not in inside], created_at)
    inline = [{"object_id": o.stored.id, "content": o.content} for o in made if o.content is not None]
    if inline:
        cx.execute(t.inline_objects.insert(), inline)
    links = [{"object_id": o.stored.id, "pack_id": pack} for o in made for pack in o.packs]
    if links:
        cx.execute(t.object_links.insert(), links)
    listed = [{"manifest_id": o.stored.id, "object_id": id_} for o in made for id_ in o.listed]
    if listed:
        cx.execute(t.manifest_members.insert(), listed)


def insert_rows(cx: Connection, objects: Sequence[model.StoredObject], created_at: int | None = None) -> None:
    """Insert rows for objects, made now unless said otherwise."""
    if objects:
        at = now(cx) if created_at is None else created_at
        cx.execute(t.objects.insert(), [_values(o, at) for o in objects])


def packs_of(cx: Connection, ids: Sequence[ObjectId]) -> dict[ObjectId, list[ObjectId]]:
    """Find the packs that some objects need."""
    c, found = t.object_links.c, dict[ObjectId, list[ObjectId]]()
    for chunk in chunks(ids):
        for row in cx.execute(sa.select(c.object_id, c.pack_id).where(c.object_id.in_(chunk)).order_by(c.pack_id)):
            found.setdefault(ObjectId(row.object_id), []).append(ObjectId(row.pack_id))
    return found


def schemas(cx: Connection, ids: Iterable[SchemaId]) -> dict[str, Schema]:
    """Read schemas by id."""
    wanted = list(dict.fromkeys(ids))
    found: dict[str, Schema] = {}
    for chunk in chunks(wanted):
        for row in _schemas(cx, {"ids": chunk}):
            found[row.id] = read_schema(row.id, row.document)
    return found


@prepared
def _schemas() -> Any:
    c = t.schemas.c
    return sa.select(c.id, c.document).where(c.id.in_(sa.bindparam("ids", expanding=True)))


def let_go(cx: Connection, ids: Iterable[ObjectId]) -> None:
    """Record that objects are unlinked from now on."""
    moment = now(cx)
    for chunk in chunks(list(ids)):
        cx.execute(sa.update(t.objects).where(t.objects.c.id.in_(chunk)).values(created_at=moment))


def hold(cx: Connection) -> None:
    """Keep objects from being removed until the end of this transaction, which is about to link some."""
    if cx.dialect.name != "sqlite":  # SQLite has one writer at a time
        cx.execute(sa.text("LOCK TABLE ana_objects IN ROW SHARE MODE"))


def seize(cx: Connection) -> None:
    """Wait for transactions that link objects, and keep others from starting until the end of this one."""
    if cx.dialect.name != "sqlite":
        cx.execute(sa.text("LOCK TABLE ana_objects IN EXCLUSIVE MODE"))


def remove(cx: Connection, ids: Sequence[ObjectId]) -> None:
    """Remove objects that nothing links; their packs and listed objects count as unlinked from now on."""
    for chunk in chunks(ids):
        needed = sa.select(t.object_links.c.pack_id).where(t.object_links.c.object_id.in_(chunk))
        listed = sa.select(t.manifest_members.c.object_id).where(t.manifest_members.c.manifest_id.in_(chunk))
        for freed in (needed, listed):
            cx.execute(sa.update(t.objects).where(t.objects.c.id.in_(freed)).values(created_at=now(cx)))
        cx.execute(sa.delete(t.manifest_members).where(t.manifest_members.c.manifest_id.in_(chunk)))
        for table in (t.object_links, t.blocks, remote_tables.object_places):
            cx.execute(sa.delete(table).where(table.c.object_id.in_(chunk)))
        cx.execute(sa.delete(t.inline_objects).where(t.inline_objects.c.object_id.in_(chunk)))
        cx.execute(sa.delete(t.objects).where(t.objects.c.id.in_(chunk)))


def insert_schemas(cx: Connection, made: Iterable[Schema]) -> None:
    """Insert schemas that are not there yet; a schema never changes."""
    given = {s.id: s for s in made}
    known = set(cx.scalars(sa.select(t.schemas.c.id).where(t.schemas.c.id.in_(given)))) if given else set()
    new = [s for s in given.values() if s.id not in known]
    if new:
        cx.execute(t.schemas.insert(), [{"id": s.id, "document": schema_document(s)} for s in new])
        cx.execute(t.schema_columns.insert(), [{"schema_id": s.id, "column_id": c.id} for s in new for c in s.columns])


def remove_schemas(cx: Connection) -> None:
    """Delete the schemas that no entry and no object names any more."""
    named = (sa.select(c).where(c.is_not(None)) for c in (t.entries.c.schema_id, t.objects.c.schema_id))
    cx.execute(sa.delete(t.schemas).where(*(t.schemas.c.id.not_in(q) for q in named)))
    cx.execute(sa.delete(t.schema_columns).where(t.schema_columns.c.schema_id.not_in(sa.select(t.schemas.c.id))))


def chunks(items: Sequence[_T]) -> Iterable[Sequence[_T]]:
    return (items[i : i + OBJECTS_PER_STATEMENT] for i in range(0, len(items), OBJECTS_PER_STATEMENT))


def _values(o: model.StoredObject, created_at: int) -> Mapping[str, Any]:
    plain = ("id", "kind", "sha256", "size_bytes", "row_count", "place", "path")
    return {name: getattr(o, name) for name in plain} | {
        "schema_id": o.schema_id or None,
        "key_low": [model.key_document(v) for v in o.key_range.low] if o.key_range else None,
        "key_high": [model.key_document(v) for v in o.key_range.high] if o.key_range else None,
        "touched": list(o.touched),
        "members": [o.members.count, o.members.size_bytes, o.members.inline] if o.members else None,
        "created_at": created_at,
    }


def stored(row: sa.Row[Any]) -> model.StoredObject:
    _check(row)
    key_range = None
    if row.key_low is not None:
        key_range = model.KeyRange(tuple(map(model.read_key, row.key_low)), tuple(map(model.read_key, row.key_high)))
    return model.StoredObject(
        ObjectId(row.id),
        row.kind,
        row.sha256,
        row.size_bytes,
        row.row_count,
        SchemaId(row.schema_id or ""),
        key_range,
        tuple(ColumnId(c) for c in row.touched),
        row.place,
        row.path,
        model.Members(*row.members) if row.members else None,
    )


def _check(row: sa.Row[Any]) -> None:
    """Refuse a row that we can't have written."""
    lists, sizes = (row.touched, row.key_low or [], row.key_high or []), (row.size_bytes, row.row_count)
    is_own = row.kind in get_args(model.ObjectKind) and all(isinstance(n, int) and n >= 0 for n in sizes)
    is_own = is_own and all(isinstance(x, list) for x in lists) and len(lists[1]) == len(lists[2])
    is_own = is_own and (row.kind == "pack") == (row.schema_id is None)
    is_own = is_own and (_is_members(row.members) if row.kind == "manifest" else row.members is None)
    in_root = row.place == "root" and model.is_object_path(str(row.path))
    is_placed = in_root or (row.place in ("inline", "elsewhere") and row.path is None)
    if not is_own or not is_placed:
        hint = "restore the catalogue from a backup"
        raise Corrupt(f"the catalogue describes object {row.id!r} as none can be (path {row.path!r})", hint=hint)


def _is_members(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 3 and all(isinstance(n, int) and n >= 0 for n in value)


@dataclass(frozen=True)
class NamedFiles:
    """Lists the files, repeatedly if need be; a manifest never changes, so it is read once."""

    read: ReadManifest
    _inside: dict[ObjectId, list[model.StoredObject]] = field(default_factory=dict)

    def paths(self, cx: Connection) -> Iterator[str]:
        """Yield their paths, some more than once."""
        yield from paths(cx)
        yield from (o.path for o in self.listed(cx) if o.path)

    def listed(self, cx: Connection) -> Iterator[model.StoredObject]:
        """Yield the objects listed by manifests that are files in the root."""
        for manifest in manifests(cx):
            if manifest.id not in self._inside:
                self._inside[manifest.id] = [o for o in self.read(manifest) if o.path]
            yield from self._inside[manifest.id]


@dataclass(frozen=True)
class ForeignPlace:
    """Where an object's file is: the location of an object root, and the path in it."""

    url: str
    path: str


def location_urls(cx: Connection) -> list[str]:
    """The locations of objects outside the store's own root."""
    return list(cx.scalars(sa.select(remote_tables.locations.c.url).order_by(remote_tables.locations.c.url)))


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
