"""Columns on three sides: match them up, and merge each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from anabranch.model.ids import ColumnId
from anabranch.model.schema import Column, Schema
from anabranch.model.types import DataType, can_widen
from anabranch.plan.merge.defaults import have_equal_defaults
from anabranch.plan.merge.pairing import added_alike
from anabranch.plan.merge.rules import Strictness
from anabranch.plan.merge.sides import Ids, Judge, Side, ThingSide


@dataclass(frozen=True)
class Trio:
    """A column as each side has it; None where it is not there."""

    id: str
    """The representative of all its ids."""
    base: Column | None
    ours: Column | None
    theirs: Column | None

    @property
    def ids(self) -> frozenset[ColumnId]:
        return frozenset(i for c in (self.base, self.ours, self.theirs) if c for i in c.ids)

    @property
    def name(self) -> str:
        return next(c.name for c in (self.ours, self.theirs, self.base) if c)


def shown(column: Column | None) -> str | None:
    """A column as people read it: its name and DDL."""
    if column is None:
        return None
    default = f" DEFAULT {column.default}" if column.default is not None else ""
    comment = f" COMMENT {column.comment!r}" if column.comment is not None else ""
    return f"{column.name} {column.type}{'' if column.nullable else ' NOT NULL'}{default}{comment}"


def have_equal_columns(one: Schema | None, other: Schema | None) -> bool:
    """Tell whether two schemas of one table are equal, whichever ids they have for columns."""
    if one is None or other is None:
        return one is other
    pairs = [(c, other.written_as(c)) for c in one]
    equal = len(one) == len(other) and all(there is not None and _verb(c, there) is None for c, there in pairs)
    return equal and [one.written_as(c) for c in other.key_columns] == list(one.key_columns)


def columns_of(side: ThingSide | None) -> tuple[Column, ...]:
    """The columns of a table on one side."""
    return side.schema.columns if side and side.schema else ()


# --- which columns are one ---


def match_columns(
    base: ThingSide | None, ours: ThingSide, theirs: ThingSide, strictness: Strictness, judge: Judge
) -> tuple[Trio, ...]:
    """Match columns by their ids, as united by earlier merges, and those that both sides added alike."""
    sides = (base, ours, theirs)
    ids = Ids(c.ids for s in sides for c in columns_of(s))
    if base is None or strictness != "disjoint":
        old, mine, other = (columns_of(s) for s in sides)
        for x, y in added_alike(old, mine, other, ids, grows=strictness == "operations"):
            ids.unite(x.id, y.id)
    found: dict[str, list[list[Column]]] = defaultdict(lambda: [[], [], []])
    for side in (1, 2, 0):  # ours first: the merged schema has ours' order
        for column in columns_of(sides[side]):
            found[ids.of(column.id)][side].append(column)
    return tuple(trio for id_, columns in found.items() for trio in _trios(id_, columns, judge))


def _trios(id_: str, columns: Sequence[list[Column]], judge: Judge) -> Iterable[Trio]:
    """Yield one column for each side; if a side has two that another side united, the second stands alone."""
    base, ours, theirs = ([*found, None][0] for found in columns)
    yield Trio(id_, base, ours, theirs)
    if len(columns[1]) > 1 or len(columns[2]) > 1:
        kind = "two columns/one column" if len(columns[1]) > 1 else "one column/two columns"
        described = tuple([c.name for c in found] for found in columns)
        judge.choose(
            "schema", kind, described, described[1][0], [c.id for found in columns for c in found], can_decide=False
        )
        yield from (Trio(f"{id_}+{c.id}", None, c, None) for c in columns[1][1:])


# --- what becomes of one ---


@dataclass(frozen=True)
class _Case:
    """A column to merge, with the sides that it is on."""

    base: ThingSide | None
    ours: ThingSide
    theirs: ThingSide
    trio: Trio
    strictness: Strictness
    judge: Judge

    def side(self, which: Side) -> ThingSide:
        return self.ours if which == "ours" else self.theirs

    def column(self, which: Side) -> Column | None:
        return self.trio.ours if which == "ours" else self.trio.theirs

    @property
    def agreed(self) -> Column | None:
        """The column at the base, as far as its description is known there."""
        base = self.trio.base
        return None if base is None or (self.base and base.ids & self.base.unsettled) else base

    def successor(self, which: Side) -> Column | None:
        return successor(self.base, self.side(which), self.trio.base)

    def choose(self, ours: str, theirs: str) -> Side:
        """Ask which side to take for this column."""
        sides = (self.trio.ours or self.successor("ours"), self.trio.theirs or self.successor("theirs"))
        values = (shown(self.trio.base), *map(shown, sides))
        return self.judge.choose("schema", f"{ours}/{theirs}", values, self.trio.name, self.trio.ids)


def successor(base: ThingSide | None, side: ThingSide, column: Column | None) -> Column | None:
    """The column that a side added under the name of one that it dropped since the base; None if it did not."""
    if base is None or base.schema is None or side.schema is None or column is None or side.schema.sharing(column):
        return None
    found = side.schema.find(column.name)
    return None if found is None or base.schema.sharing(found) else found


def merge_column(
    base: ThingSide | None, ours: ThingSide, theirs: ThingSide, trio: Trio, strictness: Strictness, judge: Judge
) -> Column | None:
    """The column after the merge; None if it is gone."""
    case = _Case(base, ours, theirs, trio, strictness, judge)
    if trio.ours and trio.theirs:
        return _merge_both(case, trio.ours, trio.theirs)
    if trio.base is None:
        return _merge_added(case)
    if trio.ours or trio.theirs:
        return _merge_dropped(case)
    if strictness == "disjoint":
        case.choose("drop column", "drop column")
    return None


def _merge_both(case: _Case, ours: Column, theirs: Column) -> Column:
    base = case.trio.base
    also = (*ours.also, *sorted(theirs.ids - ours.ids))
    if case.strictness == "disjoint" and base is not None:
        verbs = _verb(base, ours), _verb(base, theirs)
        if verbs[0] and verbs[1]:
            chosen = ours if case.choose(verbs[0], verbs[1]) == "ours" else theirs
            return replace(chosen, id=ours.id, also=also, initial_default=ours.initial_default)
    merged = replace(ours, type=_merged_type(case, ours, theirs), also=also)
    return replace(merged, **_described(case, ours, theirs))


_DESCRIPTION = ("name", "nullable", "default", "comment")


def _described(case: _Case, ours: Column, theirs: Column) -> dict[str, Any]:
    """Merge a column's description: take what one side changed, ask about what both changed differently."""
    agreed = case.agreed
    both = [p for p in _DESCRIPTION if _differ(agreed, ours, theirs, part=p) and not _is_given(case, p)]
    chosen = theirs if not both else _chosen(case, ours, theirs, "name" in both)
    kept = {p for p in _DESCRIPTION if _are_equal(ours, theirs, p) or (agreed and _are_equal(theirs, agreed, p))}
    found = {p: getattr(chosen if p in both else ours if p in kept else theirs, p) for p in _DESCRIPTION}
    return found if agreed or "nullable" in both else found | {"nullable": ours.nullable and theirs.nullable}


def _differ(agreed: Column | None, *sides: Column, part: str) -> bool:
    """Tell whether both sides changed a part of the description, to different values."""
    ours, theirs = sides
    if _are_equal(ours, theirs, part):
        return False
    return agreed is None or not any(_are_equal(side, agreed, part) for side in sides)


def _are_equal(one: Column, other: Column, part: str) -> bool:
    """Tell whether two columns are equal in a part of the description, however a default is written."""
    return have_equal_defaults(one, other) if part == "default" else bool(getattr(one, part) == getattr(other, part))


def _is_given(case: _Case, part: str) -> bool:
    """Whether nullability needs no question: a key makes it not null, or strictness is `operations`."""
    keys = {i for s in (case.ours, case.theirs) if s.schema for i in s.schema.key}
    return part == "nullable" and (case.strictness == "operations" or not case.trio.ids.isdisjoint(keys))


def _chosen(case: _Case, ours: Column, theirs: Column, renamed: bool) -> Column:
    """Ask whose description a column gets; with strictness `operations`, the source's is replayed."""
    if case.strictness == "operations":
        return theirs
    verb = "add column" if case.trio.base is None else "rename column" if renamed else "alter column"
    return ours if case.choose(verb, verb) == "ours" else theirs


def _merged_type(case: _Case, ours: Column, theirs: Column) -> DataType:
    """The wider of two types, so that every value fits; with strictness `operations`, a wider one of ours conflicts."""
    base = case.trio.base
    theirs_fits = can_widen(ours.type, theirs.type)
    if theirs_fits:
        return theirs.type
    altered = base is None or theirs.type != base.type
    if can_widen(theirs.type, ours.type) and not (case.strictness == "operations" and altered):
        return ours.type
    chosen = case.choose("alter type", "alter type")
    return ours.type if chosen == "ours" else theirs.type


def _merge_added(case: _Case) -> Column | None:
    """Take a column that one side added; rows that the other side inserted have its initial default."""
    by: Side = "ours" if case.trio.ours else "theirs"
    column, other = case.column(by), case.side("theirs" if by == "ours" else "ours")
    assert column is not None
    if column.nullable or column.initial_default is not None or not other.has_inserts:
        return column
    if case.strictness == "operations" and by == "theirs":
        return column  # the matrix has no conflict here: checking the result finds rows that break it
    verbs = ("add column", "insert") if by == "ours" else ("insert", "add column")
    # Taking the side that inserted rows lets these be null; the other side requires them to be fixed first.
    return column if case.choose(*verbs) == by else replace(column, nullable=True)


def _merge_dropped(case: _Case) -> Column | None:
    """Drop a column that the other side did not use; else ask."""
    by: Side = "ours" if case.trio.theirs else "theirs"
    user: Side = "theirs" if by == "ours" else "ours"
    column, verb = case.column(user), _use(case, user)
    assert column is not None
    if verb is None:
        return None
    verbs = ("drop column", verb) if by == "ours" else (verb, "drop column")
    return column if case.choose(*verbs) == user else None


def _use(case: _Case, which: Side) -> str | None:
    """What a side did with a column since the base that a drop would lose; None for nothing."""
    side, base, column = case.side(which), case.trio.base, case.column(which)
    assert side.schema is not None
    assert base is not None
    assert column is not None
    in_key = case.base is not None and case.base.schema is not None and bool(base.ids & set(case.base.schema.key))
    if column.id in side.schema.key and not in_key:
        return "key"
    if case.strictness != "operations":
        if verb := _verb(base, column):
            return verb
        if case.trio.ids & side.touched:
            return "update"
        if case.trio.ids & side.filled and case.successor("theirs" if which == "ours" else "ours"):
            return "insert"
    return "add check" if _is_in_new_check(case, side, column) else None


def _verb(base: Column, column: Column) -> str | None:
    """What was done to a column's description."""
    if column.name != base.name:
        return "rename column"
    if column.type != base.type:
        return "alter type"
    described = [(c.nullable, c.default, c.comment) for c in (base, column)]
    return None if described[0] == described[1] else "alter column"


def _is_in_new_check(case: _Case, side: ThingSide, column: Column) -> bool:
    old = case.base.texts("checks") if case.base else {}
    new = [name for name, text in side.texts("checks").items() if old.get(name) != text]
    return any(name not in side.check_columns or column.ids & side.check_columns[name] for name in new)
