"""Objects, views and schemas as the catalogue keeps them, and the layers that make up a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, TypeVar

from sqlalchemy import Connection, Row, and_, or_, select

from anabranch.catalog import tables as t
from anabranch.catalog.store import now
from anabranch.model.clock import Clock, Position
from anabranch.model.ids import ColumnId, LineId, ObjectId, RepositoryId, SchemaId, ThingId, ViewId
from anabranch.model.objects import KeyRange, KeyValue, Layer, NewObject, StoredObject
from anabranch.model.schema import Schema, read_schema, schema_document

_CHUNK = 100
_T = TypeVar("_T")


def layers(cx: Connection, at: Clock, thing: ThingId) -> tuple[Layer, ...]:
    """Find the newest snapshot at or before a commit and the changes since, each commit's with one turn."""
    view = newest_snapshot(cx, at, thing)
    base = view[1] if view else None
    found = [Layer(0, o) for o in view_objects(cx, view[0])] if view else []
    o, c = t.objects, t.changes.c
    turns: dict[tuple[str, int], int] = {}
    for ranges in _chunks(_ranges(at, base)):
        inside = or_(*(and_(c.line_id == line, c.commit_index.between(low, high)) for line, low, high in ranges))
        query = select(o, c.line_id, c.commit_index, c.number).join(o, o.c.id == c.object_id)
        query = query.where(c.thing_id == thing, inside)
        order = {line: i for i, (line, _, _) in enumerate(ranges)}
        for row in sorted(cx.execute(query), key=lambda r: (order[r.line_id], r.commit_index, r.number)):
            turn = turns.setdefault((row.line_id, row.commit_index), len(turns) + 1)
            found.append(Layer(turn, _stored(row)))
    return tuple(found)


def newest_snapshot(cx: Connection, at: Clock, thing: ThingId) -> tuple[ViewId, Position] | None:
    """Find the newest snapshot of a table at or before a commit."""
    v = t.views.c
    for positions in _chunks(at.positions):
        inside = or_(*(and_(v.line_id == line, v.commit_index <= index) for line, index in positions))
        query = select(v.id, v.line_id, v.commit_index).where(v.thing_id == thing, v.kind == "snapshot", inside)
        order = {line: i for i, (line, _) in enumerate(positions)}
        rows = sorted(cx.execute(query), key=lambda r: (order[r.line_id], -r.commit_index))
        if rows:
            return ViewId(rows[0].id), Position(LineId(rows[0].line_id), rows[0].commit_index)
    return None


def view_objects(cx: Connection, view: ViewId) -> list[StoredObject]:
    """List the objects of a view."""
    v = t.view_objects.c
    query = select(t.objects).join(t.view_objects, v.object_id == t.objects.c.id).where(v.view_id == view)
    return [_stored(row) for row in cx.execute(query.order_by(v.number))]


def change_objects(cx: Connection, position: Position) -> list[tuple[ThingId, StoredObject]]:
    """List the change objects of one commit, with their tables."""
    c = t.changes.c
    query = select(t.objects, c.thing_id).join(t.changes, c.object_id == t.objects.c.id)
    query = query.where(c.line_id == position.line, c.commit_index == position.index).order_by(c.thing_id, c.number)
    return [(ThingId(row.thing_id), _stored(row)) for row in cx.execute(query)]


def contents(cx: Connection, ids: Sequence[ObjectId]) -> dict[ObjectId, bytes]:
    """Read the bytes of inline objects."""
    c = t.inline_objects.c
    found: dict[ObjectId, bytes] = {}
    for chunk in _chunks(ids):
        for row in cx.execute(select(c.object_id, c.content).where(c.object_id.in_(chunk))):
            found[ObjectId(row.object_id)] = row.content
    return found


def find(cx: Connection, ids: Sequence[ObjectId]) -> dict[ObjectId, StoredObject]:
    """Find objects by id; those that are gone are left out."""
    found: dict[ObjectId, StoredObject] = {}
    for chunk in _chunks(ids):
        for row in cx.execute(select(t.objects).where(t.objects.c.id.in_(chunk))):
            found[ObjectId(row.id)] = _stored(row)
    return found


def all_objects(cx: Connection, repository: RepositoryId) -> list[StoredObject]:
    """List every object of a repository."""
    return [_stored(row) for row in cx.execute(select(t.objects).where(t.objects.c.repository_id == repository))]


def insert(cx: Connection, repository: RepositoryId, objects: Iterable[NewObject]) -> None:
    """Register new objects, and keep the bytes of inline ones."""
    made = list(objects)
    if made:
        cx.execute(t.objects.insert(), [_values(repository, o.stored) for o in made])
    inline = [{"object_id": o.stored.id, "content": o.content} for o in made if o.content is not None]
    if inline:
        cx.execute(t.inline_objects.insert(), inline)


def schemas(cx: Connection, ids: Iterable[SchemaId]) -> dict[str, Schema]:
    """Read schemas by id."""
    c = t.schemas.c
    wanted = list(dict.fromkeys(ids))
    found: dict[str, Schema] = {}
    for chunk in _chunks(wanted):
        for row in cx.execute(select(c.id, c.document).where(c.id.in_(chunk))):
            found[row.id] = read_schema(row.id, row.document)
    return found


def insert_schemas(cx: Connection, repository: RepositoryId, made: Iterable[Schema]) -> None:
    """Keep new schemas; a schema never changes."""
    rows = [{"id": s.id, "repository_id": repository, "document": schema_document(s)} for s in made]
    if rows:
        cx.execute(t.schemas.insert(), rows)


def _ranges(at: Clock, base: Position | None) -> list[tuple[LineId, int, int]]:
    """The stretches of lines since the snapshot, oldest first; all of the path where there is none."""
    if base is not None:
        return list(at.since(base))
    return [(p.line, 0, p.index) for p in reversed(at.positions)]


def _chunks(items: Sequence[_T]) -> Iterable[Sequence[_T]]:
    return (items[i : i + _CHUNK] for i in range(0, len(items), _CHUNK))


def _values(repository: RepositoryId, o: StoredObject) -> Mapping[str, Any]:
    return {
        "id": o.id,
        "repository_id": repository,
        "kind": o.kind,
        "sha256": o.sha256,
        "size_bytes": o.size_bytes,
        "row_count": o.row_count,
        "schema_id": o.schema_id,
        "key_low": [_encode(v) for v in o.key_range.low] if o.key_range else None,
        "key_high": [_encode(v) for v in o.key_range.high] if o.key_range else None,
        "touched": list(o.touched),
        "place": o.place,
        "path": o.path,
        "created_at": now(),
    }


def _stored(row: Row[Any]) -> StoredObject:
    key_range = None
    if row.key_low is not None:
        key_range = KeyRange(tuple(map(_decode, row.key_low)), tuple(map(_decode, row.key_high)))
    return StoredObject(
        ObjectId(row.id),
        row.kind,
        row.sha256,
        row.size_bytes,
        row.row_count,
        SchemaId(row.schema_id),
        key_range,
        tuple(ColumnId(c) for c in row.touched),
        row.place,
        row.path,
    )


def _encode(value: KeyValue) -> Any:
    """Integers, booleans and text stand for themselves; decimals and bytes are marked."""
    if isinstance(value, Decimal):
        return {"decimal": str(value)}
    return {"hex": value.hex()} if isinstance(value, bytes) else value


def _decode(value: Any) -> KeyValue:
    if isinstance(value, dict):
        return Decimal(value["decimal"]) if "decimal" in value else bytes.fromhex(value["hex"])
    return value  # type: ignore[no-any-return]
