"""Open commits: work that survives the process until it is finished or aborted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from anabranch.catalog import objects
from anabranch.catalog.later import Connection, sa, t
from anabranch.catalog.prepared import looked_up
from anabranch.model.clock import Position
from anabranch.model.commits import Origin
from anabranch.model.ids import LineId, ObjectId, RepositoryId
from anabranch.model.objects import NewObject


@dataclass(frozen=True)
class OpenRecord:
    """An open commit as the catalogue keeps it."""

    id: str
    branch: str
    parent: Position
    message: str
    author: str
    started_at: int
    provenance: tuple[Origin, ...]
    strict: bool
    working: bool
    creates_branch: bool = False
    version: int = 0
    """Counts the statements, so that two processes can't overwrite each other's."""
    facts: Mapping[str, Any] = field(default_factory=dict)


def insert(cx: Connection, repository: RepositoryId, record: OpenRecord) -> None:
    """Insert an open commit; a branch has at most one working set."""
    values = {name: getattr(record, name) for name in _PLAIN} | {
        "repository_id": repository,
        "parent_line": record.parent.line,
        "parent_index": record.parent.index,
        "provenance": [[o.commit, o.role, o.repository, o.source] for o in record.provenance],
        "facts": dict(record.facts),
        "working_branch": record.branch if record.working else None,
    }
    cx.execute(t.open_commits.insert(), values)


def all_records(cx: Connection, repository: RepositoryId) -> list[OpenRecord]:
    """List the open commits of a repository, oldest first."""
    return [
        OpenRecord(
            **{name: getattr(row, name) for name in _PLAIN},
            parent=Position(LineId(row.parent_line), row.parent_index),
            provenance=tuple(_origin(said) for said in row.provenance),
            working=row.working_branch is not None,
            facts=row.facts or {},
        )
        for row in _records(cx, {"repository": repository})
    ]


_PLAIN = ("id", "branch", "message", "author", "started_at", "strict", "creates_branch", "version")
_records = looked_up("ana_open_commits", order="started_at id", repository_id="repository")
_documents = looked_up("ana_open_entries", "document", order="thing_id", open_id="open")


def _origin(said: Any) -> Origin:
    """An open commit's origin; before format 4, just a hash."""
    return Origin(said) if isinstance(said, str) else Origin(*said)


def documents(cx: Connection, open_id: str) -> list[dict[str, Any]]:
    """Read what an open commit holds so far."""
    return [r.document for r in _documents(cx, {"open": open_id})]


def save(
    cx: Connection,
    open_id: str,
    version: int,
    changed: Iterable[tuple[str, dict[str, Any] | None]],
    made: Iterable[NewObject],
) -> bool:
    """Save the parts that a statement changed, with its objects; False if somebody else wrote since `version`."""
    o = t.open_commits.c
    unchanged = (o.id == open_id) & (o.version == version)
    if cx.execute(sa.update(t.open_commits).where(unchanged).values(version=version + 1)).rowcount != 1:
        return False
    new = list(made)
    objects.insert(cx, new)
    if new:
        cx.execute(t.open_objects.insert(), [{"open_id": open_id, "object_id": o.stored.id} for o in new])
    c = t.open_entries.c
    for thing, document in changed:
        cx.execute(sa.delete(t.open_entries).where(c.open_id == open_id, c.thing_id == thing))
        if document is not None:
            cx.execute(t.open_entries.insert(), {"open_id": open_id, "thing_id": thing, "document": document})
    return True


def set_aside(cx: Connection, open_id: str, version: int, message: str, moment: int) -> bool:
    """Set a working set aside, as if started now; False if somebody wrote to it since `version`."""
    values = {"working_branch": None, "message": message, "started_at": moment, "version": version + 1}
    return _change(cx, open_id, version, values)


def take_up(cx: Connection, open_id: str, version: int, branch: str, parent: Position, message: str) -> bool:
    """Make an open commit the working set of a branch, on a parent; False if somebody wrote to it since `version`."""
    values = {
        "branch": branch,
        "working_branch": branch,
        "parent_line": parent.line,
        "parent_index": parent.index,
        "message": message,
        "version": version + 1,
    }
    return _change(cx, open_id, version, values)


def _change(cx: Connection, open_id: str, version: int, values: dict[str, Any]) -> bool:
    c = t.open_commits.c
    unchanged = (c.id == open_id) & (c.version == version)
    return cx.execute(sa.update(t.open_commits).where(unchanged).values(values)).rowcount == 1


def describe(cx: Connection, open_id: str, message: str, author: str) -> None:
    """Change the message and author of an open commit."""
    cx.execute(sa.update(t.open_commits).where(t.open_commits.c.id == open_id).values(message=message, author=author))


def rename_branch(cx: Connection, repository: RepositoryId, old: str, new: str) -> None:
    """Rename the branch of open commits along with it."""
    c = t.open_commits.c
    here = (c.repository_id == repository) & (c.branch == old)
    cx.execute(sa.update(t.open_commits).where(here, c.working_branch.is_not(None)).values(working_branch=new))
    cx.execute(sa.update(t.open_commits).where(here).values(branch=new))


def on_branch(cx: Connection, repository: RepositoryId, branch: str) -> list[str]:
    """List the ids of the open commits on a branch."""
    c = t.open_commits.c
    return list(cx.scalars(sa.select(c.id).where(c.repository_id == repository, c.branch == branch)))


def linked(cx: Connection, open_id: str) -> list[ObjectId]:
    """List the objects that an open commit keeps alive."""
    c = t.open_objects.c
    return [ObjectId(x) for x in cx.scalars(sa.select(c.object_id).where(c.open_id == open_id))]


def unlink(cx: Connection, open_id: str, ids: list[ObjectId]) -> None:
    """Stop keeping objects alive for an open commit."""
    c = t.open_objects.c
    cx.execute(sa.delete(t.open_objects).where(c.open_id == open_id, c.object_id.in_(ids)))


def remove(cx: Connection, open_id: str, version: int | None = None) -> bool:
    """Remove an open commit; False if it is gone, or somebody wrote to it since `version`."""
    c = t.open_commits.c
    wanted = c.id == open_id if version is None else (c.id == open_id) & (c.version == version)
    if cx.execute(sa.delete(t.open_commits).where(wanted)).rowcount != 1:
        return False
    objects.let_go(cx, linked(cx, open_id))
    for table in (t.open_entries, t.open_objects):
        cx.execute(sa.delete(table).where(table.c.open_id == open_id))
    return True
