"""What keeps an object alive: links from changes, references, views, open commits, open merges and other objects."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Connection, Select, delete, or_, select

from anabranch.catalog import tables as t
from anabranch.catalog.manifests import listing
from anabranch.catalog.objects import chunks, find, insert_rows, stored
from anabranch.model.garbage import Doomed, Kind, Loose
from anabranch.model.ids import ObjectId, RepositoryId
from anabranch.model.objects import NewObject, StoredObject

_NOTHING = Doomed()
_BY_COMMITS = ((t.changes, t.changes.c.object_id), (t.change_references, t.change_references.c.exceptions_id))
LINKS = (
    *_BY_COMMITS,
    (t.view_objects, t.view_objects.c.object_id),
    (t.open_objects, t.open_objects.c.object_id),
    (t.open_merges, t.open_merges.c.conflicts_id),
    (t.object_links, t.object_links.c.pack_id),
)
"""Every table that links objects, with the linking column.

An object is alive if one of them links it, or if a manifest that is alive lists it.
"""
_m = t.manifest_members.c


def alive(cx: Connection, ids: Iterable[ObjectId], without: Doomed = _NOTHING) -> set[ObjectId]:
    """Find which objects are linked, in any repository, not counting links from what is doomed."""
    wanted = list(ids)
    found, listed = _linked(cx, wanted, without), list[tuple[ObjectId, ObjectId]]()
    for chunk in chunks(wanted):
        rows = cx.execute(select(_m.manifest_id, _m.object_id).where(_m.object_id.in_(chunk)))
        listed += [(ObjectId(r.manifest_id), ObjectId(r.object_id)) for r in rows]
    listing = _linked(cx, list({manifest for manifest, _ in listed}), without) if listed else set()
    return found | {id_ for manifest, id_ in listed if manifest in listing}


def _linked(cx: Connection, ids: Sequence[ObjectId], without: Doomed) -> set[ObjectId]:
    found: set[ObjectId] = set()
    for chunk in chunks(ids):
        for table, link in LINKS:
            rows = cx.execute(select(*table.c).where(link.in_(chunk)))
            found.update(ObjectId(getattr(r, link.name)) for r in rows if not _is_doomed(r, without))
    return found


def _is_doomed(row: Any, doomed: Doomed) -> bool:
    if hasattr(row, "view_id"):
        return row.view_id in doomed.views
    if hasattr(row, "pack_id"):
        return row.object_id in doomed.objects
    return hasattr(row, "line_id") and row.commit_index in doomed.commits.get(row.line_id, ())


def linked_by(cx: Connection, doomed: Doomed) -> dict[ObjectId, Kind]:
    """List the objects that doomed rows link, with the kind of row; commits, if both kinds do."""
    v, found = t.view_objects.c, dict[ObjectId, Kind]()
    for chunk in chunks(sorted(doomed.views)):
        found.update((ObjectId(x), "views") for x in cx.scalars(select(v.object_id).where(v.view_id.in_(chunk))))
    for line, gone in doomed.commits.items():
        for table, link in _BY_COMMITS:
            end = (table.c.line_id == line) & (table.c.commit_index >= gone.start)
            found.update((ObjectId(x), "commits") for x in cx.scalars(select(link).where(end, link.is_not(None))))
    for ids in chunks(sorted(found)):
        rows = cx.execute(select(_m.manifest_id, _m.object_id).where(_m.manifest_id.in_(ids)))
        for row in rows.all():
            found.setdefault(ObjectId(row.object_id), found[ObjectId(row.manifest_id)])
    return found


def packs_of(cx: Connection, ids: Sequence[ObjectId]) -> dict[ObjectId, list[ObjectId]]:
    """List the packs that objects need, each with those that need it."""
    found: dict[ObjectId, list[ObjectId]] = {}
    for chunk in chunks(ids):
        for row in cx.execute(select(t.object_links).where(t.object_links.c.object_id.in_(chunk))):
            found.setdefault(ObjectId(row.pack_id), []).append(ObjectId(row.object_id))
    return found


def unlinked(cx: Connection) -> list[Loose]:
    """List the objects of the store that nothing links."""
    query = select(t.objects).where(*(t.objects.c.id.not_in(q) for q in _all_links()))
    return [Loose(stored(row), "objects", row.created_at) for row in cx.execute(query)]


def _all_links() -> list[Select[Any]]:
    direct = [select(link).where(link.is_not(None)) for _, link in LINKS]
    # Manifests are made when a commit or a view is published: until then, open commits link each object.
    listing = (select(t.changes.c.object_id), select(t.view_objects.c.object_id))
    return [*direct, select(_m.object_id).where(or_(*(_m.manifest_id.in_(q) for q in listing)))]


def linked_in(repository: RepositoryId) -> list[Select[Any]]:
    """Queries for the ids of objects that a repository links, one per kind of link."""
    here = select(t.lines.c.id).where(t.lines.c.repository_id == repository)
    opened = select(t.open_commits.c.id).where(t.open_commits.c.repository_id == repository)
    viewed = select(t.views.c.id).where(t.views.c.line_id.in_(here))
    c, r, v, o, m = (x.c for x in (t.changes, t.change_references, t.view_objects, t.open_objects, t.open_merges))
    direct = [
        select(c.object_id).where(c.line_id.in_(here)),
        select(r.exceptions_id).where(r.line_id.in_(here), r.exceptions_id.is_not(None)),
        select(v.object_id).where(v.view_id.in_(viewed)),
        select(o.object_id).where(o.open_id.in_(opened)),
        select(m.conflicts_id).where(m.repository_id == repository, m.conflicts_id.is_not(None)),
    ]
    direct.append(select(_m.object_id).where(or_(*(_m.manifest_id.in_(q) for q in direct))))
    p = t.object_links.c
    packs = select(p.pack_id).where(or_(*(p.object_id.in_(q) for q in direct))).cte("packs", recursive=True)
    packs = packs.union(select(p.pack_id).where(p.object_id == packs.c.pack_id))  # lists of blocks name further packs
    return [*direct, select(packs.c.pack_id)]


def link_rows(cx: Connection, wanted: Sequence[StoredObject]) -> set[ObjectId]:
    """Give objects that are about to be linked directly rows of their own, if so far only a manifest describes them.

    Returns the ids of those that are gone.
    """
    ids = [o.id for o in wanted]
    rowless = set(ids) - find(cx, ids).keys()
    listed = listing(cx, sorted(rowless)).keys() if rowless else set()
    insert_rows(cx, [o for o in wanted if o.id in listed])
    return rowless - listed


def leave_to_manifests(cx: Connection, made: Iterable[NewObject]) -> None:
    """Delete the rows of older objects that a new manifest lists, if nothing links them directly any more."""
    brought = list(made)
    new = {o.stored.id for o in brought}
    listed = [id_ for o in brought for id_ in o.listed if id_ not in new]
    linked = _linked(cx, listed, _NOTHING)
    for chunk in chunks([id_ for id_ in listed if id_ not in linked]):
        cx.execute(delete(t.objects).where(t.objects.c.id.in_(chunk)))
