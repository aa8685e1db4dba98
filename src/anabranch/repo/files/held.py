"""Whether commits hold what was taken in from a local folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from anabranch.catalog import history
from anabranch.errors import NotFound
from anabranch.model.files import FileRow
from anabranch.model.ids import commit_id_of
from anabranch.repo.context.context import Context

Hashes = Mapping[str, str | None]
"""The sha256 of files by path; None where there is to be no file."""


@dataclass(frozen=True)
class Held:
    """The paths that a commit holds as they were taken in, and whether it is still open."""

    paths: frozenset[str] = frozenset()
    is_open: bool = False


FindHeld = Callable[[str, Hashes], Held]
"""Finds what is held by a commit: by the hash of a finished one, or the id of an open one."""


class _Tree(Protocol):
    """What is asked of a tree of files."""

    def rows_at(self, paths: Sequence[str]) -> dict[str, FileRow]: ...
    def digest(self, row: FileRow) -> bytes: ...


def held_by_commit(ctx: Context, find: Callable[[str], _Tree], name: str, taken: Hashes) -> Held:
    """Find what a commit holds, by its hash or by the id it had while it was open; nothing if it was given up."""
    with ctx.catalog.read() as cx:
        finished = history.by_id(cx, ctx.record.id, commit_id_of(name))
        places = [finished] if finished else history.by_hash(cx, ctx.record.id, name)
        made = history.head(cx, places[0]) if places else None
    try:
        return Held(held_in(find(made.hash), taken) if made else frozenset())
    except NotFound:  # gc took it meanwhile
        return Held()


def held_in(tree: _Tree, taken: Hashes) -> frozenset[str]:
    """The paths at which a tree has the same bytes, or no file where there is to be none."""
    there = {path: (row.digest or tree.digest(row)).hex() for path, row in tree.rows_at(list(taken)).items()}
    return frozenset(path for path, sha256 in taken.items() if there.get(path) == sha256)
