"""All checks of a catalogue, in one state of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlalchemy import Connection

from anabranch.catalog.checks.commits import HashCheck, check_commits
from anabranch.catalog.checks.contents import check_objects, check_schemas, check_views
from anabranch.catalog.checks.known import Known
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

CHECKS: Mapping[str, Callable[[Known], None]] = {
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
"""Each goes through its tables from one end to the other; between them, every table is read."""


def check_catalog(cx: Connection) -> tuple[list[Damage], dict[str, int]]:
    """Look at every row; the damages, and how many rows each table has."""
    reader = CatalogReader(cx)
    with any_text(cx):
        known = Known(reader)
        known.load()
        for check in CHECKS.values():
            check(known)
    return list(dict.fromkeys(reader.damages)), dict(reader.counts)
