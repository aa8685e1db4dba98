"""What many checks look up: repositories, lines, commits by position, and what damage affects."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Table, and_, select

from anabranch.catalog import entries, history
from anabranch.catalog import tables as t
from anabranch.catalog.checks.rows import MISSHAPEN, CatalogReader, CatalogRow
from anabranch.model.clock import Position
from anabranch.model.ids import LineId, SchemaId
from anabranch.model.schema import Schema, read_schema
from anabranch.model.verification import Affected, Damage
from anabranch.plan.history import reached

_REMEMBERED = 10_000
_NAMED_BRANCHES = 5
_LOOKED_AT_BRANCHES = 200
_ID = re.compile("[a-z][a-z2-7]{16}")
_HASH = re.compile("[0-9a-f]{64}")


def is_id(text: str, letter: str) -> bool:
    """Whether this is an id that begins with this letter."""
    return text[:1] == letter and _ID.fullmatch(text) is not None


def is_hash(text: str) -> bool:
    """Whether this is a SHA-256 as we write it."""
    return _HASH.fullmatch(text) is not None


@dataclass(frozen=True)
class Miscount:
    """A commit that says another number of files than the one before it and its changes make."""

    row: CatalogRow
    position: Position
    expected: int
    affects: Affected


@dataclass
class LookUps:
    """Look-ups over one state of the catalogue. Repositories and lines are kept; of the rest, only recent ones."""

    reader: CatalogReader
    repositories: dict[str, CatalogRow] = field(default_factory=dict)
    lines: dict[str, CatalogRow] = field(default_factory=dict)
    miscounts: list[Miscount] = field(default_factory=list)
    """Commits whose files are not as many as before and what they changed."""
    tree_begins: dict[str, list[Position]] = field(default_factory=dict)
    """The commits that bring a first snapshot of files, by file tree: it shows nothing from before."""
    _commits: dict[tuple[str, int], CatalogRow | None] = field(default_factory=dict)
    _schemas: dict[str, Schema | None] = field(default_factory=dict)
    _reach: list[tuple[str, dict[LineId, int]]] | None = None

    def load(self) -> None:
        """Read repositories and lines."""
        self.repositories = {r.id: r for r in self.reader.rows(t.repositories, t.repositories.c.id)}
        self.lines = {r.id: r for r in self.reader.rows(t.lines, t.lines.c.id)}

    def commit(self, line: Any, index: Any) -> CatalogRow | None:
        """Find a commit by its position."""
        if (line, index) not in self._commits:
            c = t.commits.c
            self._remember(
                self._commits, (line, index), self.one(t.commits, c.line_id == line, c.commit_index == index)
            )
        return self._commits[line, index]

    def schema(self, id_: str) -> Schema | None:
        """Find a schema; None if there is none. Raises Corrupt if it can't be read."""
        if id_ not in self._schemas:
            row = self.one(t.schemas, t.schemas.c.id == id_)
            self._remember(self._schemas, id_, read_schema(id_, row.document) if row else None)
        return self._schemas[id_]

    def one(self, table: Table, *conditions: Any, order: Any = None) -> CatalogRow | None:
        """Find one row, the first in an order; one that can't be read counts as missing."""
        looking = CatalogReader(self.reader.cx)
        ordered = () if order is None else (order,)
        return next(looking.rows(table, *ordered, condition=and_(*conditions), limit=1), None)

    def is_there(self, table: Table, *conditions: Any) -> bool:
        """Whether there is such a row."""
        key = next(iter(table.c))
        return self.reader.cx.execute(select(key).where(*conditions).limit(1)).first() is not None

    def is_listed(self, object_: str) -> bool:
        """Whether a manifest lists an object, which then needs no row of its own."""
        return self.is_there(t.manifest_members, t.manifest_members.c.object_id == object_)

    def _remember(self, kept: dict[Any, Any], key: Any, value: Any) -> None:
        if len(kept) >= _REMEMBERED:
            kept.clear()
        kept[key] = value

    def commit_name(self, line: str, index: int) -> str:
        """A commit's abbreviated hash, or its position if it doesn't exist."""
        found = self.commit(line, index)
        return found.hash[:12] if found else f"{line}/{index}"

    def affected(self, line: str, index: int, *, thing: str | None = None, object_: str | None = None) -> Affected:
        """What damage at a commit affects."""
        found = self.lines.get(line)
        repository = self.repositories.get(found.repository_id) if found else None
        table = self.table_name(line, index, thing) if thing else None
        name = repository.name if repository else None
        return Affected(name, tuple(self._holding(line, index)), self.commit_name(line, index), table, object_)

    def table_name(self, line: str, index: int, thing: str) -> str:
        """The name of a thing at a commit, or its id if that can't be found."""
        try:
            clock = history.clock(self.reader.cx, Position(LineId(line), index))
            return entries.full_name(self.reader.cx, clock, thing) or thing
        except MISSHAPEN:
            return thing

    def _holding(self, line: str, index: int) -> Iterator[str]:
        """The first few branches that have a commit in their history."""
        if self._reach is None:
            self._reach = list(self._all_reach())
        found = [name for name, reach in self._reach if reach.get(LineId(line), -1) >= index]
        yield from found[:_NAMED_BRANCHES]
        if len(found) > _NAMED_BRANCHES:
            yield f"{len(found) - _NAMED_BRANCHES} more"

    def _all_reach(self) -> Iterator[tuple[str, dict[LineId, int]]]:
        b = t.branches.c
        heads = self.reader.cx.execute(select(b.name, b.line_id, b.commit_index).limit(_LOOKED_AT_BRANCHES)).all()
        for name, line, index in heads:
            try:
                yield str(name), reached(history.Lines(self.reader.cx), Position(LineId(line), index))
            except MISSHAPEN:
                continue

    def knows_schema(self, id_: str | None) -> bool:
        """Whether a schema exists; one that can't be read is reported by its own check."""
        try:
            return id_ is not None and self.schema(SchemaId(id_)) is not None
        except MISSHAPEN:
            return True


def each(
    rows: Callable[[LookUps], Iterable[CatalogRow]], check: Callable[[LookUps, CatalogRow], Iterator[Damage]]
) -> Callable[[LookUps], None]:
    """A check of each of these rows, whatever the others are like."""

    def run(known: LookUps) -> None:
        for row in rows(known):
            known.reader.check(row, check(known, row))

    return run
