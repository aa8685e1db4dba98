"""All checks of a catalogue, on one state of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlalchemy import Connection

from anabranch.catalog import tables as t
from anabranch.catalog.checks.commits import HashCheck, check_commits
from anabranch.catalog.checks.contents import check_objects, check_schemas, check_views
from anabranch.catalog.checks.links import check_others
from anabranch.catalog.checks.look_ups import LookUps
from anabranch.catalog.checks.refs import (
    check_branches,
    check_lines,
    check_moves,
    check_repositories,
    check_store,
    check_tags,
)
from anabranch.catalog.checks.rows import CatalogReader, any_text
from anabranch.catalog.checks.states import STATE_CHECKS
from anabranch.catalog.checks.unfinished import check_open_commits, check_open_merges
from anabranch.model.verification import Damage

CHECKS: Mapping[str, Callable[[LookUps], None]] = {
    "store": check_store,
    "repositories": check_repositories,
    "lines": check_lines,
    "branches": check_branches,
    "moves": check_moves,
    "tags": check_tags,
    "commits": lambda known: check_commits(known, (HashCheck(), *STATE_CHECKS)),
    "schemas": check_schemas,
    "objects": check_objects,
    "views": check_views,
    "open commits": check_open_commits,
    "open merges": check_open_merges,
}
"""Each goes through its own tables, from end to end."""
OWN = {
    x.name
    for x in (
        *(t.store, t.repositories, t.lines, t.branches, t.branch_moves, t.tags, t.commits, t.merge_edges),
        *(t.provenance, t.facts, t.entries, t.names, t.changes, t.change_references, t.views, t.view_objects),
        *(t.schemas, t.objects, t.inline_objects, t.open_commits, t.open_entries, t.open_objects),
        *(t.open_merges, t.settled_rows),
    )
}
"""The tables of these checks; all others are checked row by row."""


def check_catalog(cx: Connection) -> tuple[list[Damage], dict[str, int]]:
    """Check every row; return the damages, and how many rows each table has."""
    reader = CatalogReader(cx)
    with any_text(cx):
        known = LookUps(reader)
        known.load()
        for check in CHECKS.values():
            check(known)
        check_others(known, [x for x in t.metadata.sorted_tables if x.name not in OWN])
    return list(dict.fromkeys(reader.damages)), dict(reader.counts)
