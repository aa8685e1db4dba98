"""add_location: read objects that were moved out of the store's own root at their new place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from anabranch.catalog import objects
from anabranch.catalog.objects import NamedFiles
from anabranch.catalog.store import Connection
from anabranch.errors import InvalidRequest
from anabranch.model.object_urls import read_object_url
from anabranch.model.objects import StoredObject
from anabranch.model.store_folder import check_folder
from anabranch.repo.context.context import Context
from anabranch.repo.context.trusted import note_typed_objects

_ROLE = "copy"


@dataclass(frozen=True)
class AddedLocation:
    """A location of objects, and what was found there."""

    url: str
    moved: int
    """Objects that the store's own root lacks, now read from here."""
    copies: int
    """Objects already elsewhere that have another copy here."""


def add_location(ctx: Context, url: str) -> AddedLocation:
    """Add a root that has objects of this store under their own paths; those the store's root lacks are read there."""
    shown = _shown(url)
    note_typed_objects(shown)
    root = ctx.files.root_at(shown)
    if root.where == ctx.root.where:
        raise InvalidRequest(f"{shown} is the store's own object root", hint="name another place")
    there = {f.path: f.size_bytes for f in root.files()}
    own = {f.path for f in ctx.root.files()}
    moved = copies = 0
    for find in (_in_rows, _in_manifests):  # Manifests second: one that was moved itself is readable only then.
        with ctx.catalog.write() as cx:
            location = objects.add_location(cx, shown, _ROLE)
            copies += objects.copies(cx, location, there)
            lost = [o for o in find(ctx, cx) if o.path not in own and there.get(str(o.path)) == o.size_bytes]
            for o in lost:
                objects.put_elsewhere(cx, o.id, location, str(o.path))
        ctx.known_objects.forget()
        moved += len(lost)
    return AddedLocation(shown, moved, copies)


def _shown(url: str) -> str:
    if "://" in url and not url.startswith("file://"):
        return read_object_url(url).text
    folder = url.removeprefix("file://")
    check_folder(folder)
    return str(Path(folder).absolute())


def _in_rows(_ctx: Context, cx: Connection) -> Iterator[StoredObject]:
    return iter(objects.in_root(cx))


def _in_manifests(ctx: Context, cx: Connection) -> Iterator[StoredObject]:
    return iter({o.id: o for o in NamedFiles(ctx.read_manifest).listed(cx)}.values())
