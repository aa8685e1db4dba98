"""Facts of commits, by key: what each was captured, built or computed from."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import Connection, String, cast, select

from anabranch.catalog import tables as t
from anabranch.model.clock import Position
from anabranch.model.ids import LineId, RepositoryId


def commits_with(cx: Connection, repository: RepositoryId, key: str) -> list[tuple[Position, str, Any]]:
    """List the commits of a repository that have a fact, newest first: position, hash and value."""
    c, f = t.commits.c, t.facts.c
    same = (f.line_id == c.line_id) & (f.commit_index == c.commit_index)
    value = cast(f.value, String).label("value")
    query = select(c.line_id, c.commit_index, c.hash, value).select_from(t.commits.join(t.facts, same))
    query = query.where(f.key == key, c.repository_id == repository)
    rows = cx.execute(query.order_by(c.generation.desc(), c.finished_at.desc(), c.hash))
    return [(Position(LineId(r.line_id), r.commit_index), r.hash, json.loads(r.value)) for r in rows]
