"""Repositories in a store: make, find, list, drop."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, bindparam, delete, select

from anabranch.catalog import tables as t
from anabranch.catalog.store import now
from anabranch.errors import AlreadyExists, InvalidRequest, NotFound
from anabranch.model.ids import RepositoryId, new_id


@dataclass(frozen=True)
class RepositoryRecord:
    """A repository as the catalogue knows it."""

    id: RepositoryId
    name: str
    default_branch: str


def create(cx: Connection, name: str, default_branch: str) -> RepositoryRecord:
    """Register a new, empty repository."""
    if cx.scalar(select(t.repositories.c.id).where(t.repositories.c.name == name)):
        raise AlreadyExists(
            f"there is a repository {name!r} in this store", hint="open it instead, or choose another name"
        )
    record = RepositoryRecord(RepositoryId(new_id("r")), name, default_branch)
    values = {"id": record.id, "name": name, "default_branch": default_branch, "created_at": now(cx)}
    cx.execute(t.repositories.insert(), values)
    return record


def names(cx: Connection) -> list[str]:
    """List the repositories of the store."""
    return list(cx.scalars(select(t.repositories.c.name).order_by(t.repositories.c.name)))


def find(cx: Connection, name: str | None) -> RepositoryRecord:
    """Find a repository by name; without a name, the only one there is."""
    query = select(t.repositories.c.id, t.repositories.c.name, t.repositories.c.default_branch)
    found = cx.execute(query if name is None else query.where(t.repositories.c.name == name)).all()
    if len(found) == 1:
        return RepositoryRecord(RepositoryId(found[0].id), found[0].name, found[0].default_branch)
    there = names(cx)
    listed = ", ".join(there) or "none"
    if name is None and there:
        raise InvalidRequest("the store has several repositories", hint=f"name one with repository=: {listed}")
    what = "no repository" if name is None else f"no repository {name!r}"
    raise NotFound(f"the store has {what}", hint=f"there: {listed}; make it first", repository=name)


_DEFAULT_BRANCH = select(t.repositories.c.default_branch).where(t.repositories.c.id == bindparam("repository"))


def default_branch(cx: Connection, repository: RepositoryId) -> str:
    """Read which branch is meant where none is named."""
    found: str | None = cx.scalar(_DEFAULT_BRANCH, {"repository": repository})
    if found is None:
        raise NotFound("the repository was dropped", hint="open the store again")
    return found


def drop(cx: Connection, record: RepositoryRecord) -> None:
    """Remove a repository and all its rows; its files are left to collection."""
    lines = select(t.lines.c.id).where(t.lines.c.repository_id == record.id).scalar_subquery()
    objects = select(t.objects.c.id).where(t.objects.c.repository_id == record.id).scalar_subquery()
    opened = select(t.open_commits.c.id).where(t.open_commits.c.repository_id == record.id).scalar_subquery()
    views = select(t.views.c.id).where(t.views.c.line_id.in_(lines)).scalar_subquery()
    cx.execute(delete(t.view_objects).where(t.view_objects.c.view_id.in_(views)))
    cx.execute(delete(t.inline_objects).where(t.inline_objects.c.object_id.in_(objects)))
    merges = select(t.open_merges.c.id).where(t.open_merges.c.repository_id == record.id)
    for table in (t.open_entries, t.open_objects):
        cx.execute(delete(table).where(table.c.open_id.in_(opened)))
    cx.execute(delete(t.settled_rows).where(t.settled_rows.c.open_id.in_(merges)))
    for table in (t.views, t.changes, t.change_references, t.entries, t.provenance, t.merge_edges):
        cx.execute(delete(table).where(table.c.line_id.in_(lines)))
    history = (t.names, t.commits, t.branches, t.branch_moves, t.tags, t.objects, t.schemas)
    for table in (*history, t.open_commits, t.open_merges, t.lines):
        cx.execute(delete(table).where(table.c.repository_id == record.id))
    cx.execute(delete(t.repositories).where(t.repositories.c.id == record.id))
