"""Check objects, schemas and view links as the catalogue describes them, and read objects page by page, leaving out
what can't be read; bytes are checked elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import get_args

from sqlalchemy import Connection, and_, or_

from anabranch.catalog import tables as t
from anabranch.catalog.checks.look_ups import LookUps, each, is_hash, is_id
from anabranch.catalog.checks.rows import MISSHAPEN, CatalogReader, CatalogRow, Companions, any_text
from anabranch.catalog.objects import stored
from anabranch.model.objects import ObjectKind, StoredObject
from anabranch.model.schema import Schema, read_schema
from anabranch.model.verification import DROP_VIEW, Affected, Damage, KnownFault

_OBJECT = {"object_kind": t.objects.c.kind, "object_rows": t.objects.c.row_count}


def _schema(known: LookUps, row: CatalogRow) -> Iterator[Damage]:
    if not is_id(row.id, "s"):
        yield row.damage(f"{row.id!r} is no id of a schema")
    schema = read_schema(row.id, row.document)
    c = t.schema_columns.c
    if not all(known.is_there(t.schema_columns, c.schema_id == row.id, c.column_id == x.id) for x in schema):
        yield row.damage(f"{t.schema_columns.name} does not list its columns")


check_schemas = each(lambda known: known.reader.rows(t.schemas, t.schemas.c.id), _schema)


def check_objects(known: LookUps) -> None:
    """Objects are described in a possible way, and the bytes of inline ones exist."""
    inline = Companions(
        known.reader.rows(t.inline_objects, t.inline_objects.c.object_id, columns=[t.inline_objects.c.object_id]),
        "object_id",
    )
    for row in known.reader.rows(t.objects, t.objects.c.id):
        bytes_, lost = inline.of((row.id,))
        _report_lost(known, lost)
        known.reader.check(row, _object(known, row, bool(bytes_)))
    _report_lost(known, inline.rest())


def _report_lost(known: LookUps, rows: list[CatalogRow]) -> None:
    lost = [r for r in rows if not known.is_listed(r.object_id)]
    known.reader.damages += [r.damage("it has the bytes of an object that is not there") for r in lost]


def _object(known: LookUps, row: CatalogRow, is_inline: bool) -> Iterator[Damage]:
    affects = Affected(object=row.id)
    if not is_id(row.id, "o") or not is_hash(row.sha256):
        yield row.damage(f"{row.id!r} or {row.sha256!r} is no id or hash", affects)
    if row.created_at <= 0:
        yield row.damage(f"created_at is {row.created_at}, before any store", affects)
    if (row.place == "inline") != is_inline:
        described = "are" if is_inline else "are not"
        yield row.damage(f"its place is {row.place!r}, its bytes {described} in the catalogue", affects)
    found = stored(row)  # type: ignore[arg-type]
    if row.schema_id is None and row.kind == "pack":
        return
    if not known.knows_schema(row.schema_id):
        if _is_published(known, row):
            yield row.damage(f"its schema {row.schema_id!r} is not there", affects)
        return
    schema = known.schema(row.schema_id)
    key = found.key_range
    if schema and key and not len(key.low) == len(key.high) == len(schema.key_columns):
        yield row.damage("its key range has not one value for each column of the key", affects)
    elif key and any(low > high for low, high in zip(key.low, key.high, strict=True)):  # type: ignore[operator]
        yield row.damage("its key range ends before it begins", affects)


def _is_published(known: LookUps, row: CatalogRow) -> bool:
    """Whether a commit or view links an object; an open commit keeps the schemas it makes to itself."""
    listed = t.manifest_members.c.object_id
    links = (t.changes.c.object_id, t.view_objects.c.object_id, t.change_references.c.exceptions_id, listed)
    return any(known.is_there(link.table, link == row.id) for link in links)


def check_views(known: LookUps) -> None:
    """Views link existing objects, in order."""
    v, links = t.views.c, t.view_objects
    joined = links.outerjoin(t.objects, links.c.object_id == t.objects.c.id)
    rows = known.reader.rows(links, links.c.view_id, links.c.number, source=joined, more=_OBJECT)
    companions = Companions(rows, "view_id")
    for view in known.reader.rows(t.views, v.id):
        own, lost = companions.of((view.id,))
        known.reader.damages += [r.damage("its view is not there", hint=DROP_VIEW) for r in lost]
        known.reader.check(view, _links(known, view, own))
    known.reader.damages += [r.damage("its view is not there", hint=DROP_VIEW) for r in companions.rest()]


def _links(known: LookUps, view: CatalogRow, own: list[CatalogRow]) -> Iterator[Damage]:
    for number, row in enumerate(own):
        for what in _link(view, row, number):
            affects = known.affected(view.line_id, view.commit_index, thing=view.thing_id, object_=row.object_id)
            yield row.damage(what, affects, DROP_VIEW)
    rows = sum(r.object_rows or 0 for r in own if r.object_kind in ("rows", "manifest"))
    is_plain = not any(r.object_kind == "delete" for r in own)
    if view.kind == "snapshot" and (rows < view.row_count or (is_plain and rows != view.row_count)):
        affects = known.affected(view.line_id, view.commit_index, thing=view.thing_id)
        found = view.damage(f"row_count is {view.row_count}, its objects have {rows} rows", affects, DROP_VIEW)
        yield KnownFault(**vars(found)) if is_id(view.thing_id, "f") else found


def _link(view: CatalogRow, row: CatalogRow, number: int) -> Iterator[str]:
    if row.number != number:
        yield f"its number is {row.number}, {number} comes next"
    if row.turn < (view.kind == "fold"):
        yield f"its turn is {row.turn}"
    if row.object_kind is None:
        yield f"its object {row.object_id!r} is not there"
    elif row.object_kind not in get_args(ObjectKind) or row.object_kind in ("exceptions", "pack"):
        yield f"its object is of kind {row.object_kind!r}"


@dataclass(frozen=True)
class ObjectPage:
    """Some objects, ordered by id."""

    objects: list[StoredObject]
    contents: dict[str, bytes]
    schemas: dict[str, Schema]
    damages: list[Damage]
    last: str | None
    """The id after which the next page begins; None if this is the last."""


def object_page(cx: Connection, after: str, limit: int) -> ObjectPage:
    """Read the objects after an id."""
    reader, o, i = CatalogReader(cx), t.objects.c, t.inline_objects.c
    with any_text(cx):
        rows = list(reader.rows(t.objects, o.id, condition=o.id > after, limit=limit))
        more = reader.counts[t.objects.name] == limit and bool(rows)
        found = [x for x in map(_stored, rows) if x]
        inside = CatalogReader(cx)
        ids = [x.id for x in found if x.place == "inline"]
        contents = {
            r.object_id: bytes(r.content) for r in inside.rows(t.inline_objects, condition=i.object_id.in_(ids))
        }
        known = _schemas(LookUps(reader), {x.schema_id for x in found})
    return ObjectPage(found, contents, known, inside.damages, rows[-1].id if more else None)


def settled_page(cx: Connection, after: tuple[str, str]) -> CatalogRow | None:
    """Read the next settled rows of an open merge after the given ones: those of one table."""
    s = t.settled_rows.c
    later = or_(s.open_id > after[0], and_(s.open_id == after[0], s.thing_id > after[1]))
    with any_text(cx):
        rows = CatalogReader(cx).rows(t.settled_rows, s.open_id, s.thing_id, condition=later, limit=1)
        return next(rows, None)


def is_there(cx: Connection, o: StoredObject) -> bool:
    """Whether an object still exists, by a row of its own or in a manifest."""
    known = LookUps(CatalogReader(cx))
    return known.is_there(t.objects, t.objects.c.id == o.id) or known.is_listed(o.id)


def _stored(row: CatalogRow) -> StoredObject | None:
    try:
        return stored(row)  # type: ignore[arg-type]
    except MISSHAPEN:
        return None


def _schemas(known: LookUps, ids: Iterable[str]) -> dict[str, Schema]:
    found: dict[str, Schema] = {}
    for id_ in ids:
        try:
            schema = known.schema(id_)
        except MISSHAPEN:
            continue
        if schema:
            found[id_] = schema
    return found
