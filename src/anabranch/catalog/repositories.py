"""Repositories in a store: make, find, list, drop."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.catalog.later import Connection, sa, t
from anabranch.catalog.prepared import looked_up
from anabranch.catalog.store import now
from anabranch.errors import AlreadyExists, InvalidRequest, NotFound
from anabranch.model.ids import ObjectId, RepositoryId, new_id


@dataclass(frozen=True)
class RepositoryRecord:
    """A repository as the catalogue knows it."""

    id: RepositoryId
    name: str
    default_branch: str


def create(cx: Connection, name: str, default_branch: str) -> RepositoryRecord:
    """Insert a new, empty repository."""
    if cx.scalar(sa.select(t.repositories.c.id).where(t.repositories.c.name == name)):
        raise AlreadyExists(
            f"there is a repository {name!r} in this store", hint="open it instead, or choose another name"
        )
    record = RepositoryRecord(RepositoryId(new_id("r")), name, default_branch)
    values = {"id": record.id, "name": name, "default_branch": default_branch, "created_at": now(cx)}
    cx.execute(t.repositories.insert(), values)
    return record


def names(cx: Connection) -> list[str]:
    """List the repositories of the store."""
    return list(cx.scalars(sa.select(t.repositories.c.name).order_by(t.repositories.c.name)))


_every = looked_up("ana_repositories", "id name default_branch")
_named = looked_up("ana_repositories", "id name default_branch", name="wanted")
_default_branch = looked_up("ana_repositories", "default_branch", id="repository")


def find(cx: Connection, name: str | None) -> RepositoryRecord:
    """Find a repository by name; without a name, the only one."""
    found = (_every(cx, {}) if name is None else _named(cx, {"wanted": name})).all()
    if len(found) == 1:
        return RepositoryRecord(RepositoryId(found[0].id), found[0].name, found[0].default_branch)
    there = names(cx)
    listed = ", ".join(there) or "none"
    if name is None and there:
        raise InvalidRequest("the store has several repositories", hint=f"name one with repository=: {listed}")
    what = "no repository" if name is None else f"no repository {name!r}"
    raise NotFound(f"the store has {what}", hint=f"there: {listed}; make it first", repository=name)


def default_branch(cx: Connection, repository: RepositoryId) -> str:
    """Read the branch that is meant if none is named."""
    found: str | None = _default_branch(cx, {"repository": repository}).scalar()
    if found is None:
        raise NotFound("the repository was dropped", hint="open the store again")
    return found


def drop(cx: Connection, record: RepositoryRecord) -> None:
    """Remove a repository and all it owns; objects that only it linked are left to gc from now on."""
    from anabranch.catalog import liveness, objects, remote_tables, work_tables  # they need all of SQLAlchemy

    owned = (
        (work_tables.job_shards.c.job_id, work_tables.jobs),
        (work_tables.expectations.c.run_id, work_tables.runs),
        (remote_tables.live_tables.c.database_id, remote_tables.live_databases),
    )
    linked = {ObjectId(id_) for links in liveness.linked_in(record.id) for id_ in cx.scalars(links)}
    lines = sa.select(t.lines.c.id).where(t.lines.c.repository_id == record.id).scalar_subquery()
    opened = sa.select(t.open_commits.c.id).where(t.open_commits.c.repository_id == record.id)
    merges = sa.select(t.open_merges.c.id).where(t.open_merges.c.repository_id == record.id)
    views = sa.select(t.views.c.id).where(t.views.c.line_id.in_(lines)).scalar_subquery()
    cx.execute(sa.delete(t.view_objects).where(t.view_objects.c.view_id.in_(views)))
    for table, owners in ((t.open_entries, opened), (t.open_objects, opened), (t.settled_rows, merges)):
        cx.execute(sa.delete(table).where(table.c.open_id.in_(owners)))
    for name, owner in owned:
        mine = sa.select(owner.c.id).where(owner.c.repository_id == record.id)
        cx.execute(sa.delete(name.table).where(name.in_(mine)))
    for table in (t.views, t.changes, t.change_references, t.entries, t.provenance, t.facts, t.merge_edges):
        cx.execute(sa.delete(table).where(table.c.line_id.in_(lines)))
    by_repository = [x for x in t.metadata.sorted_tables if "repository_id" in x.c and x is not t.provenance]
    for table in sorted(by_repository, key=lambda x: x is t.lines):
        cx.execute(sa.delete(table).where(table.c.repository_id == record.id))
    cx.execute(sa.delete(t.repositories).where(t.repositories.c.id == record.id))
    objects.let_go(cx, linked - liveness.alive(cx, linked))
