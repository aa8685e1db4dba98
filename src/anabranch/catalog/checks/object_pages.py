"""Read objects page by page, with schemas and the bytes of inline ones, leaving out what can't be read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import Connection, and_, or_

from anabranch.catalog import tables as t
from anabranch.catalog.checks.look_ups import LookUps
from anabranch.catalog.checks.rows import MISSHAPEN, CatalogReader, CatalogRow, any_text
from anabranch.catalog.objects import stored
from anabranch.model.objects import StoredObject
from anabranch.model.schema import Schema
from anabranch.model.verification import Damage


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
