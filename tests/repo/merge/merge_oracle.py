"""A history as whole states, and a textbook three-way merge over them: what real merges are held against.

Nothing here knows of changes, lines or objects. A commit is a state; ancestors are plain sets.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any


class Unclear(Exception):
    """The specification leaves open what comes out."""


class _Unknown:
    """A cell that the bases of a criss-cross disagree on: equal to nothing, not even to another one."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return False

    def __repr__(self) -> str:
        return "?"


UNKNOWN = _Unknown()
Row = Mapping[int, Any]
Conflict = tuple[str, Any, str | None]
"""Table, key and column; a row as a whole has no column, and what is about columns has the key "schema"."""


@dataclass(frozen=True)
class Col:
    """A column with all ids that it goes by."""

    ids: frozenset[int]
    name: str
    type: str
    default: Any = None
    comment: str | None = None

    @property
    def rep(self) -> int:
        return min(self.ids)


@dataclass(frozen=True)
class Table:
    """A table as it is at one commit; rows are known by their id, whatever the declared key."""

    cols: tuple[Col, ...]
    rows: Mapping[int, Row] = field(default_factory=dict)
    key: tuple[str, ...] = ("id",)
    ids: frozenset[int] = frozenset()
    """All ids that the table goes by."""
    unsettled: frozenset[int] = frozenset()
    """Of a virtual base: ids of columns that the bases describe each otherwise."""

    def names(self) -> dict[str, Col]:
        return {c.name: c for c in self.cols}

    def seen(self) -> list[dict[str, Any]]:
        """The rows under the names that users know."""
        return [{"id": k, **{c.name: row[c.rep] for c in self.cols}} for k, row in sorted(self.rows.items())]


State = Mapping[str, Table]


class Classes:
    """Which column ids are one."""

    def __init__(self, *sides: Table | None) -> None:
        self.of: dict[int, int] = {}
        for side in sides:
            for col in side.cols if side else ():
                self.unite(col.ids)

    def unite(self, ids: Iterable[int]) -> None:
        old = {self.of.get(i, i) for i in ids}
        best = min(old)
        self.of = {i: best if rep in old else rep for i, rep in self.of.items()}
        self.of |= dict.fromkeys((*ids, *old), best)

    def alike(self, base: Table | None, ours: Table, theirs: Table) -> list[frozenset[int]]:
        """The columns that both sides added alike, by their ids."""
        b, o, t = ({self.of[c.rep] for c in s.cols} if s else set() for s in (base, ours, theirs))
        mine = [x for x in ours.cols if self.of[x.rep] not in b | t]
        others = [y for y in theirs.cols if self.of[y.rep] not in b | o]
        return [
            x.ids | y.ids for x in mine for y in others if (x.name, x.type, x.default) == (y.name, y.type, y.default)
        ]

    def by(self, side: Table | None) -> dict[int, Col]:
        """The columns of a side; the first where it has several that are one elsewhere."""
        found: dict[int, Col] = {}
        for col in side.cols if side else ():
            found.setdefault(self.of[col.rep], col)
        return found


@dataclass(frozen=True)
class Rules:
    """Rules as users give them."""

    given: Mapping[str, str] = field(default_factory=dict)

    def of_row(self, table: str) -> str:
        return self.given.get(table, self.given.get("*", "conflict"))

    def of_cell(self, table: str, names: Iterable[str], type_: str) -> str:
        near = [self.given.get(f"{table}.{n}") for n in sorted(set(names))]
        near += [self.given.get(table), self.given.get("*")]
        fits = [r for r in near if r and not (r == "sum" and type_ == "string")]
        return fits[0] if fits else "conflict"


@dataclass
class TableMerge:
    """One table on three sides."""

    name: str
    base: Table | None
    ours: Table
    theirs: Table
    rules: Rules
    virtual: bool
    conflicts: set[Conflict] = field(default_factory=set)
    unsettled: set[int] = field(default_factory=set)

    def run(self) -> Table:
        self.classes = Classes(self.base, self.ours, self.theirs)
        for ids in self.classes.alike(self.base, self.ours, self.theirs):
            self.classes.unite(ids)
        self.b, self.o, self.t = (self.classes.by(s) for s in (self.base, self.ours, self.theirs))
        self.columns = {id(self.base): self.b, id(self.ours): self.o, id(self.theirs): self.t}
        merged = self._columns()
        key = self._key()
        rows: dict[int, Row] = {}
        there = {k for s in (self.base, self.ours, self.theirs) if s for k in s.rows}
        for k in sorted(there):
            row = self._row(k, merged)
            if row is not None:
                rows[k] = {col.rep: row[c] for c, col in merged.items()}
        unsettled = frozenset(self.unsettled) if self.virtual else frozenset()
        return Table(tuple(merged.values()), rows, key, self.ours.ids | self.theirs.ids, unsettled)

    # --- columns ---

    def _columns(self) -> dict[int, Col]:
        merged: dict[int, Col] = {}
        for c in dict.fromkeys((*self.o, *self.t)):
            col = self._column(c)
            if col is not None:
                merged[c] = col
        for side in (self.ours, self.theirs):
            if len(self.classes.by(side)) < len(side.cols):
                raise Unclear("two columns that are one elsewhere")
        names = [c.name for c in merged.values()]
        twins = {n for n in names if names.count(n) > 1}
        if twins and self.virtual:
            raise Unclear("columns of one name in a virtual base")
        self.conflicts |= {(self.name, "schema", n) for n in twins}
        return merged

    def _column(self, c: int) -> Col | None:
        b, o, t = self.b.get(c), self.o.get(c), self.t.get(c)
        if o and t:
            wide = o.type if can_widen(t.type, o.type) else t.type
            return Col(o.ids | t.ids, self._said(c, "name"), wide, o.default, self._said(c, "comment"))
        there = o or t
        assert there is not None
        if b is None:
            return there
        user, other = (self.ours, self.theirs) if o else (self.theirs, self.ours)
        altered = (there.name, there.type, there.comment) != (b.name, b.type, b.comment)
        if altered or self._touched(user, c) or self._missed(user, other, c):
            self._ask(c, there.name)
            return o
        return None

    def _ask(self, c: int, name: str) -> None:
        self.conflicts.add((self.name, "schema", name))
        self.unsettled |= {i for side in (self.b, self.o, self.t) if c in side for i in side[c].ids}

    def _said(self, c: int, part: str) -> Any:
        """What one side says otherwise than the base; what both do, each otherwise, is a conflict."""
        b, o, t = self.b.get(c), self.o[c], self.t[c]
        ours, theirs = getattr(o, part), getattr(t, part)
        agreed = b is not None and not (self.base and b.ids & self.base.unsettled)
        old = getattr(b, part) if agreed else UNKNOWN
        if ours != theirs and ours != old and theirs != old:
            self._ask(c, o.name)
            return ours
        return ours if theirs == old else theirs

    def _missed(self, user: Table, other: Table, c: int) -> bool:
        """Whether a side inserted rows with values in a column that the other dropped and added again."""
        base = self.base
        assert base is not None
        new = [x.name for x in other.cols if self.classes.of[x.rep] not in self.b]
        return self.b[c].name in new and any(
            self._value(user, k, c) is not None for k in user.rows if k not in base.rows
        )

    def _touched(self, side: Table, c: int) -> bool:
        """Whether a side changed a cell of a column in a row that the base has."""
        assert self.base is not None
        both = [k for k in side.rows if k in self.base.rows]
        old = [self._value(self.base, k, c) for k in both]
        if any(v is UNKNOWN for v in old):
            raise Unclear("a column that was dropped has unknown cells in the base")
        return any(self._value(side, k, c) != v for k, v in zip(both, old, strict=True))

    def _key(self) -> tuple[str, ...]:
        old = self.base.key if self.base else self.ours.key
        changed = [s.key for s in (self.ours, self.theirs) if s.key != old]
        if len(set(changed)) > 1:
            self.conflicts.add((self.name, "schema", None))
        return changed[0] if changed else old

    # --- rows ---

    def _value(self, side: Table, k: int, c: int) -> Any:
        col = self.columns[id(side)].get(c)
        if col is not None:
            return side.rows[k][col.rep]
        return next(found[c].default for found in (self.b, self.o, self.t) if c in found)

    def _edited(self, side: Table, k: int, columns: Iterable[int]) -> bool:
        had, has = self.base is not None and k in self.base.rows, k in side.rows
        if not had or not has:
            return had != has
        assert self.base is not None
        return any(self._value(side, k, c) != self._value(self.base, k, c) for c in columns)

    def _row(self, k: int, merged: Mapping[int, Col]) -> dict[int, Any] | None:
        eo, et = self._edited(self.ours, k, merged), self._edited(self.theirs, k, merged)
        in_ours, in_theirs = k in self.ours.rows, k in self.theirs.rows
        if not eo or not et or (not in_ours and not in_theirs):
            pick = self.ours if eo or not et else self.theirs
            return {c: self._value(pick, k, c) for c in merged} if k in pick.rows else None
        if in_ours != in_theirs:
            return self._one_went(k, merged)
        return {c: self._cell(k, c, col) for c, col in merged.items()}

    def _one_went(self, k: int, merged: Mapping[int, Col]) -> dict[int, Any] | None:
        rule = self.rules.of_row(self.name)
        if self.virtual:
            return dict.fromkeys(merged, UNKNOWN)
        if rule not in ("ours", "theirs"):
            self.conflicts.add((self.name, k, None))
            return None
        winner = self.ours if rule == "ours" else self.theirs
        return {c: self._value(winner, k, c) for c in merged} if k in winner.rows else None

    def _cell(self, k: int, c: int, col: Col) -> Any:
        had = self.base is not None and k in self.base.rows
        ours, theirs = self._value(self.ours, k, c), self._value(self.theirs, k, c)
        base = self._value(self.base, k, c) if had and self.base else None
        names = [s[c].name for s in (self.o, self.t) if c in s]
        rule = self.rules.of_cell(self.name, [col.name, *names], col.type)
        if not had and len(names) < 2:
            return ours if c in self.o else theirs
        known = had and not any(v is None or v is UNKNOWN for v in (base, ours, theirs))
        if had and ours == base:
            return theirs
        if had and theirs == base:
            return ours
        if rule == "sum" and known:
            return ours + theirs - base
        if ours == theirs:
            return ours
        if rule == "min" and ours is not UNKNOWN:
            return min(v for v in (ours, theirs) if v is not None)
        if self.virtual:
            return UNKNOWN
        if rule in ("ours", "theirs"):
            return ours if rule == "ours" else theirs
        self.conflicts.add((self.name, k, col.name))
        return None


def can_widen(old: str, new: str) -> bool:
    return old == new or (old, new) == ("int", "bigint")


@dataclass
class Oracle:
    """All commits with their states, parents and ancestors, by number in the order that they were made."""

    states: dict[int, State] = field(default_factory=dict)
    parents: dict[int, tuple[int, ...]] = field(default_factory=dict)
    ancestors: dict[int, frozenset[int]] = field(default_factory=dict)
    _passing: int = 0

    def put(self, number: int, state: State, parents: Sequence[int]) -> int:
        self.states[number], self.parents[number] = state, tuple(parents)
        self.ancestors[number] = frozenset({number}.union(*(self.ancestors[p] for p in parents)))
        return number

    def pass_by(self, state: State, parents: Sequence[int]) -> int:
        """Keep a state that is no commit: a virtual base, or a merge between two sources."""
        self._passing -= 1
        return self.put(self._passing, state, parents)

    def bases(self, one: int, other: int) -> list[int]:
        both = [c for c in self.ancestors[one] & self.ancestors[other] if c >= 0]
        return sorted(c for c in both if not any(c != d and c in self.ancestors[d] for d in both))

    def merge(self, ours: int, theirs: int, rules: Rules, *, virtual: bool = False) -> tuple[State, set[Conflict]]:
        base = self.states[self._base(ours, theirs, rules)]
        found: dict[str, Table] = {}
        conflicts: set[Conflict] = set()
        for name in sorted({*self.states[ours], *self.states[theirs]}):
            sides = [s.get(name) for s in (base, self.states[ours], self.states[theirs])]
            if sides[1] is None or sides[2] is None:
                there = sides[1] or sides[2]
                assert there is not None
                found[name] = there
                continue
            if not sides[1].ids & sides[2].ids:
                if not _alike(sides[1], sides[2]):
                    conflicts.add((name, "schema", None))
                    found[name] = sides[1]
                    continue
                sides[0] = None
            work = TableMerge(name, sides[0], sides[1], sides[2], rules, virtual)
            found[name] = work.run()
            conflicts |= work.conflicts
        return found, conflicts

    def _base(self, ours: int, theirs: int, rules: Rules) -> int:
        first, *rest = self.bases(ours, theirs)
        for other in rest:
            state, _ = self.merge(first, other, rules, virtual=True)
            first = self.pass_by(state, (first, other))
        return first


def _alike(one: Table, other: Table) -> bool:
    """Whether two tables that were made under one name can be one."""
    described = [sorted((c.name, c.type, c.default) for c in t.cols) for t in (one, other)]
    return described[0] == described[1] and one.key == other.key


# --- differences ---


@dataclass(frozen=True)
class Compared:
    """What a diff should say of one table."""

    rows: list[dict[str, Any]]
    cells: list[tuple[int, str, Any, Any]]
    is_same: bool

    @property
    def counts(self) -> dict[str, int]:
        words = {"inserted": "insert", "updated": "update", "deleted": "delete"}
        counts = {word: sum(r["change"] == kind for r in self.rows) for word, kind in words.items()}
        return {**counts, "cells": len(self.cells)}


def compare(before: Table, after: Table, bases: Sequence[Table | None]) -> Compared:
    """Compare two states of a table: a column that only one of them has shows its default in the other."""
    classes = Classes(before, after, *bases)
    alike = [classes.alike(base, before, after) for base in bases]
    if any(found != alike[0] for found in alike):
        raise Unclear("bases do not agree on a column")
    for ids in alike[0]:
        classes.unite(ids)
    old, new = classes.by(before), classes.by(after)

    def value(side: Table, there: Mapping[int, Col], k: int, c: int) -> Any:
        return side.rows[k][there[c].rep] if c in there else new[c].default

    taken = {new[c].name for c in new if c in old}
    lost = {f"{col.name} (dropped)" if col.name in taken else col.name: col for c, col in old.items() if c not in new}
    rows, cells = [], []
    for k in sorted({*before.rows, *after.rows}):
        was = {c: value(before, old, k, c) for c in new} if k in before.rows else None
        now = {c: value(after, new, k, c) for c in new} if k in after.rows else None
        differ = [c for c in new if was and now and was[c] != now[c]]
        if was is not None and now is not None and not differ:
            continue
        cells += [(k, new[c].name, was[c], now[c]) for c in differ if was and now]
        rows.append(
            {
                "change": "insert" if was is None else "delete" if now is None else "update",
                "id": k,
                "before": {new[c].name: v for c, v in was.items() if c in old}
                | {name: before.rows[k][col.rep] for name, col in lost.items()}
                if was is not None
                else None,
                "after": {new[c].name: v for c, v in now.items()} if now is not None else None,
                "columns": sorted(new[c].name for c in differ),
            }
        )
    described = [[(c, col.name, col.type, col.comment) for c, col in sorted(s.items())] for s in (old, new)]
    return Compared(rows, cells, not rows and described[0] == described[1] and before.key == after.key)


def without(table: Table, c: Col) -> Table:
    """A table without a column."""
    rows = {k: {i: v for i, v in row.items() if i != c.rep} for k, row in table.rows.items()}
    return replace(table, cols=tuple(x for x in table.cols if x != c), rows=rows)
