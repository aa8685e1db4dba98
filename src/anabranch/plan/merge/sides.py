"""What a merge knows of a namespace or table on each side, its questions, and which ids are one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from anabranch.model.ids import ColumnId, ThingId
from anabranch.model.schema import Schema
from anabranch.model.tables import Operation, ThingKind

Side = Literal["ours", "theirs"]
Decisions = Mapping[str, Side]
"""Which side was chosen, by the id of a conflict."""


@dataclass(frozen=True)
class ThingSide:
    """A namespace or table at one commit, and what was done to it since the base."""

    id: ThingId
    kind: ThingKind
    parent_id: ThingId
    name: str
    """Its own name, without namespaces."""
    path: str
    """Its full name, for messages."""
    attributes: Mapping[str, Any] = field(default_factory=dict)
    """Properties, checks, cluster_by, united."""
    schema: Schema | None = None
    operations: tuple[Operation, ...] = ()
    """Since the base, in order; empty at the base."""
    dropped: bool = False
    """Whether it was there at the base and is gone."""
    rows_changed: bool = False
    """Whether rows may have been changed since the base."""
    in_doubt: bool = False
    """Whether rows may differ from the base's although nothing changed them since the first of the base's commits."""
    rows_inserted: bool = False
    """Whether rows may have been inserted even if no operation says so: an upsert is an update."""
    has_unique_old_key: bool = False
    """Whether the key that both sides gave up still identifies all rows, so that they can be merged by it."""
    touched: frozenset[ColumnId] = frozenset()
    """The columns in which cells may have been updated since the base."""
    filled: frozenset[ColumnId] = frozenset()
    """The columns in which rows inserted since the base may have values."""
    unsettled: frozenset[ColumnId] = frozenset()
    """For a base made of several commits: the columns that these describe differently."""
    check_columns: Mapping[str, frozenset[ColumnId]] = field(default_factory=dict)
    """The columns that each check refers to, by name; one that is not listed may refer to any."""

    @property
    def ids(self) -> frozenset[ThingId]:
        """All ids that this thing goes by."""
        return frozenset((self.id, *(ThingId(i) for i in self.attributes.get("united", ()))))

    @property
    def has_inserts(self) -> bool:
        return self.rows_inserted or bool({"insert", "overwrite"} & set(self.operations))

    def texts(self, attribute: str) -> dict[str, str]:
        """An attribute that maps names to texts: properties or checks."""
        return dict(self.attributes.get(attribute, {}))


@dataclass(frozen=True)
class ThingConflict:
    """Something that a merge can't decide by itself. `kind` is what ours did, a slash, what theirs did."""

    level: Literal["objects", "schema"]
    table: str
    """The full name of the table or namespace."""
    kind: str
    column: str | None
    base: Any
    ours: Any
    theirs: Any
    id: str
    """The same whenever the same merge is planned; decisions refer to it."""
    can_decide: bool = True
    """Whether taking a side settles it; if not, one of the branches must be changed first."""
    about: frozenset[str] = frozenset()
    """Ids of columns and names of checks that it concerns."""


class Ids:
    """Which ids belong to one thing, as united by earlier merges."""

    def __init__(self, united: Iterable[Iterable[str]] = ()) -> None:
        self._above: dict[str, str] = {}
        for ids in united:
            self.unite(*ids)

    def of(self, id_: str) -> str:
        """The representative of all ids united with this one."""
        while id_ in self._above:
            id_ = self._above[id_]
        return id_

    def unite(self, *ids: str) -> None:
        """Unite several ids, and all that were united with any of them."""
        old = {self.of(i) for i in ids}
        best = min(old)
        self._above |= dict.fromkeys(old - {best}, best)


class Judge:
    """Answers questions about one thing from decisions, and collects the rest as conflicts."""

    def __init__(self, sides: Iterable[ThingSide | None], decisions: Decisions) -> None:
        there = [s for s in sides if s is not None]
        self._name = there[0].path
        self._things = sorted({str(s.id) for s in there})
        self.decisions = decisions
        self._conflicts: dict[str, ThingConflict] = {}

    @property
    def conflicts(self) -> tuple[ThingConflict, ...]:
        return tuple(self._conflicts.values())

    def add(self, conflicts: Iterable[ThingConflict]) -> None:
        """Add conflicts that were found elsewhere."""
        self._conflicts |= {c.id: c for c in conflicts}

    def choose(
        self,
        level: Literal["objects", "schema"],
        kind: str,
        values: Iterable[Any],
        column: str | None = None,
        about: Iterable[str] = (),
        *,
        can_decide: bool = True,
    ) -> Side:
        """Return the side that was chosen; if none was, record the conflict and return ours.

        `values` are base, ours and theirs as people read them. `about` (ids of columns, names of checks) distinguishes
        conflicts of one kind in one thing.
        """
        names = sorted(set(about))
        id_ = ":".join((level, kind, "+".join(self._things), "+".join(names)))
        if can_decide and id_ in self.decisions:
            return self.decisions[id_]
        base, ours, theirs = values
        self._conflicts[id_] = ThingConflict(
            level, self._name, kind, column, base, ours, theirs, id_, can_decide, frozenset(names)
        )
        return "ours"


def merge_named(
    base: Mapping[str, str], ours: Mapping[str, str], theirs: Mapping[str, str]
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Replay theirs' changes to named texts on ours; also return the names that both changed differently."""
    changed = [n for n in dict.fromkeys((*base, *theirs)) if theirs.get(n) != base.get(n)]
    both = tuple(n for n in changed if ours.get(n) not in (base.get(n), theirs.get(n)))
    merged = {n: text for n, text in ours.items() if n not in changed or n in theirs}
    return {**merged, **{n: theirs[n] for n in changed if n in theirs}}, both
