"""The hash of a commit: over what it says and whence it came, never over coordinates, views or places."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from anabranch.model.content import Publication
from anabranch.model.schema import schema_document


def commit_hash(publication: Publication, finished_at: int) -> str:
    """Hash the canonical JSON of a commit; docs/format.md gives the recipe."""
    document = commit_document(publication, finished_at)
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def commit_document(publication: Publication, finished_at: int) -> dict[str, Any]:
    """Return the values that the hash covers."""
    content = publication.content
    return {
        "id": publication.id,
        "parents": [p.hash for p in publication.parents],
        "author": publication.author,
        "message": publication.message,
        "started_at": publication.started_at,
        "finished_at": finished_at,
        "provenance": list(publication.provenance),
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
        "changes": sorted(
            [c.thing_id, [content.sha256[o] for o in c.objects], *([list(c.steps)] if c.steps else [])]
            for c in content.changes
        ),
        "references": sorted([r.thing_id, r.parent_number] for r in content.references),
    }
