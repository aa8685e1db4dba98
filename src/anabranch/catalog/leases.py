"""Leases, which let one process at a time work on something, and how runs and jobs end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import signature
from typing import Any, TypeVar

from sqlalchemy import select, update
from sqlalchemy.engine import Connection, Row

from anabranch.catalog.store import now
from anabranch.catalog.work_tables import leases
from anabranch.model.ids import RepositoryId

_R = TypeVar("_R")


@dataclass(frozen=True)
class Ending:
    """How a run or a job ended: published as a commit, or failed with an error."""

    state: str
    commit: str | None = None
    error: Mapping[str, Any] | None = None

    @classmethod
    def failed(cls, error: BaseException) -> Ending:
        """The ending of work that an error stopped."""
        return cls("failed", error={"kind": type(error).__name__, "message": str(error)})

    def values(self, cx: Connection) -> dict[str, Any]:
        """The ending as columns of a row."""
        return {"state": self.state, "commit_hash": self.commit, "error": self.error, "finished_at": now(cx)}


def take_lease(cx: Connection, repository: RepositoryId, name: str, holder: str, for_microseconds: int) -> str | None:
    """Take or renew a lease; if somebody else still holds it, return who."""
    moment, full = now(cx), f"{repository}/{name}"
    values = {"holder": holder, "taken_at": moment, "until": moment + for_microseconds}
    wanted = select(leases).where(leases.c.name == full).with_for_update()
    while True:
        found = cx.execute(wanted).one_or_none()
        if found is not None:
            break
        if _insert(cx, {"name": full, "repository_id": repository, **values}):
            return None
        # Another one inserted it at the same moment: that lease counts, unless it is given back by now.
    if found.holder != holder and found.until > moment:
        return str(found.holder)
    cx.execute(update(leases).where(leases.c.name == full).values(**values))
    return None


def _insert(cx: Connection, lease: Mapping[str, Any]) -> bool:
    """Insert a lease; False if one of that name was inserted meanwhile."""
    if cx.dialect.name == "sqlite":  # It has one writer at a time.
        cx.execute(leases.insert(), [lease])
        return True
    from sqlalchemy.dialects.postgresql import insert

    return cx.execute(insert(leases).values(**lease).on_conflict_do_nothing()).rowcount == 1


def end_lease(cx: Connection, repository: RepositoryId, name: str, holder: str) -> None:
    """Give a lease back."""
    cx.execute(leases.delete().where(leases.c.name == f"{repository}/{name}", leases.c.holder == holder))


def lease_holders(cx: Connection, repository: RepositoryId) -> dict[str, str]:
    """The holders of leases that have not run out, by the lease's name."""
    query = select(leases).where(leases.c.repository_id == repository, leases.c.until > now(cx))
    return {row.name.partition("/")[2]: row.holder for row in cx.execute(query)}


def record_of(kind: Callable[..., _R], row: Row[Any]) -> _R:
    """A row as a record whose fields are called as the columns are."""
    return kind(**{name: getattr(row, name) for name in signature(kind).parameters})
