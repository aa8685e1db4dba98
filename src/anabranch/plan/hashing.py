"""The hash of a commit: covers its content and origin, never coordinates, views or places."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from anabranch.model.clock import Position
from anabranch.model.content import ChangeReference, Content, Publication
from anabranch.model.ids import ObjectId
from anabranch.model.objects import StoredObject, key_document
from anabranch.model.schema import schema_document

RECIPE = 2
"""The recipe of new commits. Format 3 and before used recipe 1, which covers less of objects and references."""


def commit_hash(
    publication: Publication, finished_at: int, bases: Mapping[Position, str] | None = None, recipe: int = RECIPE
) -> str:
    """Hash the canonical JSON of a commit; docs/format.md gives the recipes."""
    document = commit_document(publication, finished_at, bases or {}, recipe)
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def commit_document(
    publication: Publication, finished_at: int, bases: Mapping[Position, str], recipe: int = RECIPE
) -> dict[str, Any]:
    """Return the values that the hash covers; `bases` maps the positions that references start from to hashes."""
    content = publication.content
    return {
        "id": publication.id,
        "parents": [p.hash for p in publication.parents],
        "author": publication.author,
        "message": publication.message,
        "started_at": publication.started_at,
        "finished_at": finished_at,
        "entries": sorted(
            [
                e.thing_id,
                e.kind,
                e.dropped,
                e.replaced,
                e.schema_id,
                e.row_count,
                list(e.operations),
                dict(e.attributes),
            ]
            for e in content.entries
        ),
        "names": sorted([n.parent_id, n.name, n.thing_id or ""] for n in content.names),
        "schemas": sorted([s.id, schema_document(s)] for s in content.schemas),
        **(_first(publication) if recipe == 1 else _second(publication, bases)),
    }


def _first(publication: Publication) -> dict[str, Any]:
    content = publication.content
    return {
        "provenance": [o.commit for o in publication.provenance],
        "changes": sorted(
            [c.thing_id, [content.described[o].sha256 for o in c.objects], *([list(c.steps)] if c.steps else [])]
            for c in content.changes
        ),
        "references": sorted([r.thing_id, r.parent_number] for r in content.references),
    }


def _second(publication: Publication, bases: Mapping[Position, str]) -> dict[str, Any]:
    content = publication.content
    said: dict[str, Any] = {
        "recipe": 2,
        "provenance": [[o.commit, o.role, o.source] for o in publication.provenance],
        "changes": sorted(
            ([c.thing_id, [_described(content, o) for o in c.objects], list(c.steps)] for c in content.changes),
            key=lambda change: str(change[0]),
        ),
        "references": sorted(
            (_reference(content, r, bases) for r in content.references), key=lambda r: (str(r[0]), int(r[1]))
        ),
    }
    return {**said, "facts": dict(publication.facts)} if publication.facts else said


def _reference(content: Content, r: ChangeReference, bases: Mapping[Position, str]) -> list[Any]:
    exceptions = _described(content, r.exceptions) if r.exceptions else None
    return [r.thing_id, r.parent_number, bases[r.base] if r.base else None, exceptions]


def _described(content: Content, id_: ObjectId) -> list[Any]:
    return object_document(content.described[id_])


def object_document(o: StoredObject) -> list[Any]:
    """What a commit's hash covers of an object: its bytes, and all that readers rely on without reading them."""
    ends = (o.key_range.low, o.key_range.high) if o.key_range else (None, None)
    low, high = (None if end is None else [key_document(v) for v in end] for end in ends)
    return [o.sha256, o.kind, o.schema_id or None, o.row_count, low, high, list(o.touched)]
