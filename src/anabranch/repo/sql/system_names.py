"""The namespace `ana`: its relations, their arguments, and how one is found by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from anabranch.errors import NotFound
from anabranch.model.names import SYSTEM_NAMESPACE
from anabranch.repo.sql import system_listings as listings
from anabranch.repo.sql import system_past as past
from anabranch.repo.sql.system_relation import SystemRequest, SystemTable

if TYPE_CHECKING:
    from anabranch.repo.commit.transaction import Transaction
    from anabranch.repo.context.context import Context

__all__ = ["NAMESPACE", "SystemTable", "names", "system_table"]

NAMESPACE = SYSTEM_NAMESPACE


@dataclass(frozen=True)
class _SystemName:
    """A relation: how it is made, and the arguments it takes."""

    make: Callable[[SystemRequest], SystemTable]
    takes: str = ""
    at_least: int = 0
    at_most: int | None = 0

    def usage(self, name: str) -> str:
        return f"{name}({self.takes})" if self.takes else name


_KNOWN = {
    "log": _SystemName(listings.log, "ref", 0, 1),
    "branches": _SystemName(listings.branches),
    "tags": _SystemName(listings.tags),
    "tables": _SystemName(listings.tables),
    "namespaces": _SystemName(listings.namespaces),
    "columns": _SystemName(listings.columns, "table", 0, 1),
    "reflog": _SystemName(listings.reflog, "branch", 0, 1),
    "status": _SystemName(listings.status),
    "objects": _SystemName(listings.objects, "table", 0, 1),
    "provenance": _SystemName(listings.provenance, "ref", 0, 1),
    "derived": _SystemName(listings.derived, "ref", 0, 1),
    "jobs": _SystemName(listings.jobs, "name", 0, 1),
    "runs": _SystemName(listings.runs, "pipeline", 0, 1),
    "expectations": _SystemName(listings.expectations, "pipeline", 0, 1),
    "diff": _SystemName(past.diff, "table[, before[, after]]", 1, 3),
    "changes": _SystemName(past.changes, "table[, since[, to]]", 1, 3),
    "history": _SystemName(past.history, "table[, key...]", 1, None),
    "blame": _SystemName(past.blame, "table[, ref]", 1, 2),
    "conflicts": _SystemName(past.conflicts, "table", 0, 1),
    "layout": _SystemName(past.layout, "table", 1, 1),
    "files": _SystemName(listings.files, "pattern", 0, 1),
    "file_lines": _SystemName(listings.file_lines, "pattern", 0, 1),
    "file_history": _SystemName(listings.file_history_of, "path", 1, 1),
    "diff_files": _SystemName(listings.diff_files, "before[, after]", 0, 2),
}


def names() -> tuple[str, ...]:
    """The full names of the relations, such as `ana.log`."""
    return tuple(f"{NAMESPACE}.{name}" for name in sorted(_KNOWN))


def is_system(name: str) -> bool:
    """Whether a name is that of a system relation, which hides a table of the same name."""
    return name.lower() in names()


def unknown_system(name: str) -> NotFound | None:
    """The error for an unknown name in the namespace; None for other names."""
    space, _, own = name.lower().partition(".")
    if space != NAMESPACE or not own or "." in own:
        return None
    near = get_close_matches(own, _KNOWN, n=1)
    guess = f"did you mean {NAMESPACE}.{near[0]}? " if near else ""
    return NotFound(f"there is no system table {name!r}", hint=f"{guess}there: {', '.join(names())}", table=name)


def system_table(
    ctx: Context,
    name: str,
    arguments: Sequence[Any],
    branch: str,
    at: str | None,
    tx: Transaction | None = None,
) -> SystemTable:
    """Find a relation of `ana`, as of the branch, a ref or an unfinished commit."""
    own = name.lower().removeprefix(f"{NAMESPACE}.")
    full = f"{NAMESPACE}.{own}"
    found = _KNOWN.get(own)
    if found is None:
        raise unknown_system(full) or NotFound(f"there is no system table {full!r}")
    asked = SystemRequest(ctx, full, found.usage(full), tuple(arguments), branch, at, tx)
    if len(arguments) < found.at_least:
        raise asked.wrong("it needs the name of a table")
    if found.at_most is not None and len(arguments) > found.at_most:
        most = f"no more than {found.at_most}" if found.at_most else "none"
        raise asked.wrong(f"{len(arguments)} arguments were given, it takes {most}")
    return found.make(asked)
