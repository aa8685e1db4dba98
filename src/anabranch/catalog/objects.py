"""Objects, views and schemas as the catalogue keeps them, and the layers that make up a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, TypeVar

from sqlalchemy import Connection, Row, bindparam, delete, select

from anabranch.catalog import tables as t
from anabranch.catalog.store import now
from anabranch.errors import Corrupt
from anabranch.model.clock import Clock, Position
from anabranch.model.ids import ColumnId, LineId, ObjectId, RepositoryId, SchemaId, ThingId, ViewId
from anabranch.model.objects import KeyRange, KeyValue, Layer, NewObject, StoredObject
from anabranch.model.schema import Schema, read_schema, schema_document

_CHUNK = 100
_T = TypeVar("_T")


Known = dict[ObjectId, StoredObject]
"""Objects that were read before; they never change."""

_v, _c = t.views.c, t.changes.c
_VIEW_IDS = select(t.view_objects.c.object_id).where(t.view_objects.c.view_id == bindparam("view"))
_VIEW_IDS = _VIEW_IDS.order_by(t.view_objects.c.number)
_VIEWS_ON_LINE = select(_v.id, _v.line_id, _v.commit_index).where(
    _v.thing_id == bindparam("thing"), _v.kind == "snapshot", _v.line_id == bindparam("line")
)
_NEWEST_VIEW = _VIEWS_ON_LINE.where(_v.commit_index <= bindparam("at")).order_by(_v.commit_index.desc()).limit(1)
_CHANGES_ON_LINE = (
    select(_c.line_id, _c.commit_index, _c.object_id)
    .where(_c.thing_id == bindparam("thing"), _c.line_id == bindparam("line"))
    .where(_c.commit_index.between(bindparam("low"), bindparam("high")))
    .order_by(_c.commit_index, _c.number)
)


def layers(cx: Connection, at: Clock, thing: ThingId, known: Known) -> tuple[Layer, ...]:
    """Find the newest snapshot at or before a commit and the changes since, each commit's with one turn."""
    view = newest_snapshot(cx, at, thing)
    turned = [(0, ObjectId(x)) for x in cx.scalars(_VIEW_IDS, {"view": view[0]})] if view else []
    turns: dict[tuple[str, int], int] = {}
    for line, low, high in _ranges(at, view[1] if view else None):
        for row in cx.execute(_CHANGES_ON_LINE, {"thing": thing, "line": line, "low": low, "high": high}):
            turn = turns.setdefault((row.line_id, row.commit_index), len(turns) + 1)
            turned.append((turn, ObjectId(row.object_id)))
    missing = [id_ for _, id_ in turned if id_ not in known]
    if missing:
        known.update(find(cx, missing))
    gone = [id_ for id_ in missing if id_ not in known]
    if gone:
        raise Corrupt(f"the catalogue links object {gone[0]} but does not have it", hint="restore it from a backup")
    return tuple(Layer(turn, known[id_]) for turn, id_ in turned)


def newest_snapshot(cx: Connection, at: Clock, thing: ThingId) -> tuple[ViewId, Position] | None:
    """Find the newest snapshot of a table at or before a commit."""
    for line, index in at.positions:
        row = cx.execute(_NEWEST_VIEW, {"thing": thing, "line": line, "at": index}).first()
        if row:
            return ViewId(row.id), Position(LineId(row.line_id), row.commit_index)
    return None


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


_INSERT, _INSERT_INLINE = t.objects.insert(), t.inline_objects.insert()


def insert(cx: Connection, repository: RepositoryId, objects: Iterable[NewObject]) -> None:
    """Register new objects, and keep the bytes of inline ones."""
    made = list(objects)
    if made:
        cx.execute(_INSERT, [_values(repository, o.stored) for o in made])
    inline = [{"object_id": o.stored.id, "content": o.content} for o in made if o.content is not None]
    if inline:
        cx.execute(_INSERT_INLINE, inline)


def schemas(cx: Connection, ids: Iterable[SchemaId]) -> dict[str, Schema]:
    """Read schemas by id."""
    c = t.schemas.c
    wanted = list(dict.fromkeys(ids))
    found: dict[str, Schema] = {}
    for chunk in _chunks(wanted):
        for row in cx.execute(select(c.id, c.document).where(c.id.in_(chunk))):
            found[row.id] = read_schema(row.id, row.document)
    return found


def broken_links(cx: Connection, repository: RepositoryId) -> list[str]:
    """Find objects that a commit, a view or an open commit links and that are not there."""
    o = t.objects.c
    here = select(t.lines.c.id).where(t.lines.c.repository_id == repository)
    opened = select(t.open_commits.c.id).where(t.open_commits.c.repository_id == repository)
    viewed = select(t.views.c.id).where(t.views.c.line_id.in_(here))
    links = [
        (t.changes, t.changes.c.object_id, t.changes.c.line_id.in_(here)),
        (t.change_references, t.change_references.c.exceptions_id, t.change_references.c.line_id.in_(here)),
        (t.view_objects, t.view_objects.c.object_id, t.view_objects.c.view_id.in_(viewed)),
        (t.open_objects, t.open_objects.c.object_id, t.open_objects.c.open_id.in_(opened)),
    ]
    found: list[str] = []
    for table, link, mine in links:
        query = select(link).select_from(table).outerjoin(t.objects, o.id == link)
        found += cx.scalars(query.where(mine, link.is_not(None), o.id.is_(None)).distinct())
    return found


def remove(cx: Connection, ids: Sequence[ObjectId]) -> None:
    """Forget objects that nothing links any more."""
    for chunk in _chunks(ids):
        cx.execute(delete(t.inline_objects).where(t.inline_objects.c.object_id.in_(chunk)))
        cx.execute(delete(t.objects).where(t.objects.c.id.in_(chunk)))


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
