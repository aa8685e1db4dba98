"""Open merges: what was asked and what was resolved, until they are finished or aborted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from anabranch.catalog.later import Connection, sa, t
from anabranch.catalog.prepared import looked_up
from anabranch.model.ids import RepositoryId, ThingId

SEQUENCES = ("cherry-pick", "revert", "rebase")
"""The modes whose sources are steps (`plan/merge/steps.py`)."""


@dataclass(frozen=True)
class MergeRecord:
    """An open merge as the catalogue keeps it or, depending on its mode, an open sequence."""

    id: str
    branch: str
    sources: tuple[str, ...]
    """For each commit to merge, its hash, a space and the ref as given; or the steps of a sequence."""
    message: str | None
    author: str
    started_at: int
    rules: Mapping[str, str]
    strictness: str
    mode: str
    ff: str = "auto"
    decisions: Mapping[str, str] = field(default_factory=dict)
    """The side chosen for tables and columns, by the id of the conflict."""
    version: int = 0
    """Counts the resolutions, so that two processes can't overwrite each other's."""

    @property
    def is_sequence(self) -> bool:
        return self.mode in SEQUENCES


def insert(cx: Connection, repository: RepositoryId, record: MergeRecord) -> None:
    """Insert an open merge."""
    values: dict[str, Any] = {name: getattr(record, name) for name in _PLAIN}
    values["mode"] = record.mode if record.ff == "auto" else f"{record.mode} {record.ff}"
    more = {"sources": list(record.sources), "rules": dict(record.rules), "decisions": dict(record.decisions)}
    cx.execute(t.open_merges.insert(), {**values, **more, "repository_id": repository})


_PLAIN = ("id", "branch", "message", "author", "started_at", "strictness", "version")
_records = looked_up("ana_open_merges", order="started_at id", repository_id="repository")
_found = looked_up("ana_open_merges", id="id")
_settled = looked_up("ana_settled_rows", "thing_id content", open_id="id")


def all_records(cx: Connection, repository: RepositoryId) -> list[MergeRecord]:
    """List the open merges of a repository, oldest first."""
    return [_record(row) for row in _records(cx, {"repository": repository})]


def find(cx: Connection, id_: str) -> MergeRecord | None:
    """Find an open merge."""
    row = _found(cx, {"id": id_}).first()
    return _record(row) if row else None


def settled(cx: Connection, id_: str) -> dict[ThingId, bytes]:
    """Read the settled rows, by table."""
    return {ThingId(row.thing_id): row.content for row in _settled(cx, {"id": id_})}


def resolve(cx: Connection, record: MergeRecord, decisions: Mapping[str, str], rows: Mapping[ThingId, bytes]) -> bool:
    """Save what was resolved; False if the merge was changed or ended elsewhere."""
    if not _change(cx, record, decisions=dict(decisions)):
        return False
    s = t.settled_rows.c
    for thing, content in rows.items():
        cx.execute(sa.delete(t.settled_rows).where(s.open_id == record.id, s.thing_id == thing))
        cx.execute(t.settled_rows.insert(), {"open_id": record.id, "thing_id": thing, "content": content})
    return True


def advance(cx: Connection, record: MergeRecord, sources: tuple[str, ...]) -> bool:
    """Go on to the next step, with nothing resolved yet; False if it was changed or ended elsewhere."""
    cx.execute(sa.delete(t.settled_rows).where(t.settled_rows.c.open_id == record.id))
    return _change(cx, record, sources=list(sources), decisions={})


def _change(cx: Connection, record: MergeRecord, **values: Any) -> bool:
    c = t.open_merges.c
    unchanged = sa.update(t.open_merges).where(c.id == record.id, c.version == record.version)
    return cx.execute(unchanged.values(**values, version=record.version + 1)).rowcount == 1


def remove(cx: Connection, id_: str) -> bool:
    """Remove an open merge; False if it doesn't exist."""
    cx.execute(sa.delete(t.settled_rows).where(t.settled_rows.c.open_id == id_))
    return cx.execute(sa.delete(t.open_merges).where(t.open_merges.c.id == id_)).rowcount == 1


def remove_on(cx: Connection, repository: RepositoryId, branch: str) -> None:
    """Remove the open merges into a branch."""
    for record in all_records(cx, repository):
        if record.branch == branch:
            remove(cx, record.id)


def rename_branch(cx: Connection, repository: RepositoryId, old: str, new: str) -> None:
    """Rename the branch of open merges along with it."""
    c = t.open_merges.c
    cx.execute(sa.update(t.open_merges).where(c.repository_id == repository, c.branch == old).values(branch=new))


def _record(row: Any) -> MergeRecord:
    values = {name: getattr(row, name) for name in _PLAIN}
    mode, _, ff = row.mode.partition(" ")
    values |= {"sources": tuple(row.sources), "rules": dict(row.rules), "decisions": dict(row.decisions)}
    return MergeRecord(**values, mode=mode, ff=ff or "auto")
