"""Pair the tables and columns of two sides: what a merge unites, and what a diff compares."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from anabranch.model.ids import ColumnId, ThingId
from anabranch.model.schema import Column, Schema
from anabranch.model.types import can_widen
from anabranch.plan.merge.defaults import show_equal_values
from anabranch.plan.merge.sides import Ids

# --- columns ---


def are_alike(ours: Column, theirs: Column, *, grows: bool = False) -> bool:
    """Tell whether two columns can be one: rows older than either must show one value.

    With `grows`, theirs may have the wider type: adding an existing column again then alters it.
    """
    typed = ours.type == theirs.type or (grows and can_widen(ours.type, theirs.type))
    named = ours.name.lower() == theirs.name.lower()
    return named and typed and show_equal_values(ours, theirs)


def added_alike(
    base: Iterable[Column], ours: Iterable[Column], theirs: Iterable[Column], ids: Ids, *, grows: bool = False
) -> list[tuple[Column, Column]]:
    """Find the columns that both sides added alike; `ids` says which are one already."""
    return [(x, y) for x, y in _added_by_name(base, ours, theirs, ids) if are_alike(x, y, grows=grows)]


def _added_by_name(
    base: Iterable[Column], ours: Iterable[Column], theirs: Iterable[Column], ids: Ids
) -> list[tuple[Column, Column]]:
    """Find the columns that both sides added under one name."""
    mine, others = tuple(ours), tuple(theirs)
    old, here, there = ({ids.of(c.id) for c in columns} for columns in (base, mine, others))
    not_new, theirs_not_new = old | there, old | here
    new = [c for c in mine if ids.of(c.id) not in not_new]
    theirs_new = {c.name.lower(): c for c in others if ids.of(c.id) not in theirs_not_new}
    return [(c, theirs_new[c.name.lower()]) for c in new if c.name.lower() in theirs_new]


def paired(before: Schema, after: Schema, base: Schema | None) -> Schema:
    """The later schema of a table, in which columns that both sides added also go by their earlier ids.

    They have one name, and one type holds the other's values; their rows may show different defaults.
    """
    ids = Ids(c.ids for schema in (base, before, after) if schema for c in schema)
    added = _added_by_name(base or (), before, after, ids)
    comparable = [(x, y) for x, y in added if can_widen(x.type, y.type) or can_widen(y.type, x.type)]
    return _also_known(after, {new.id: old for old, new in comparable})


def were_added_otherwise(before: Schema, after: Schema) -> bool:
    """Tell whether rows show another default in a column of the later schema, although no change touched them."""
    pairs = [(c, before.written_as(c)) for c in after]
    return any(was is not None and was.id != c.id and not show_equal_values(was, c) for c, was in pairs)


def paired_by_name(before: Schema, after: Schema) -> Schema:
    """The schema of a table to compare with another: columns of one name are one if one type holds the other's values.

    Columns that share an id are one, whatever they are called.
    """
    taken = {was.id for c in after if (was := before.written_as(c))}
    named = {c.id: before.find(c.name) for c in after if before.written_as(c) is None}
    types = {c.id: c.type for c in after}
    fitting = {
        id_: was
        for id_, was in named.items()
        if was and was.id not in taken and (can_widen(was.type, types[id_]) or can_widen(types[id_], was.type))
    }
    return _also_known(after, fitting)


def _also_known(schema: Schema, pairs: Mapping[ColumnId, Column]) -> Schema:
    if not pairs:
        return schema
    more = {id_: (was.id, *was.also) for id_, was in pairs.items()}
    return replace(schema, columns=tuple(replace(c, also=(*c.also, *more.get(c.id, ()))) for c in schema))


def was_hidden(runs: Iterable[Sequence[Schema]], shown: Schema) -> bool:
    """Tell whether a shown column was dropped somewhere along a path: then changes do not hold all of its cells.

    A run is the schemas of a table at successive commits.
    """
    return any(
        later.written_as(c) is None and earlier.written_as(c) is not None
        for run in runs
        for earlier, later in pairwise(run)
        for c in shown
    )


# --- tables ---


@dataclass(frozen=True)
class Placed:
    """A table on one side: its full name, and all ids that it goes by."""

    name: str
    ids: frozenset[ThingId]


@dataclass(frozen=True)
class TablePair:
    """Two tables to compare; None for a side that has none."""

    before: ThingId | None
    after: ThingId | None
    replaced: bool = False
    """Whether only the name relates them: one took the other's place."""


def pair_tables(before: Mapping[ThingId, Placed], after: Mapping[ThingId, Placed]) -> tuple[TablePair, ...]:
    """Pair tables by their ids, as united by merges, and the rest by name."""
    same = {thing: thing for thing in after if thing in before}
    same |= _met(before, after, same, lambda placed: sorted(placed.ids))
    named = _met(before, after, same, lambda placed: [placed.name])
    pairs = [*(TablePair(old, new) for new, old in same.items()), *(TablePair(o, n, True) for n, o in named.items())]
    old, new = {p.before for p in pairs}, {p.after for p in pairs}
    pairs += [TablePair(t, None) for t in before if t not in old]
    return (*pairs, *(TablePair(None, t) for t in after if t not in new))


def _met(
    before: Mapping[ThingId, Placed],
    after: Mapping[ThingId, Placed],
    paired: Mapping[ThingId, ThingId],
    marks: Callable[[Placed], Iterable[str]],
) -> dict[ThingId, ThingId]:
    """Pair the remaining tables by marks that both sides share, as later to earlier."""
    known = {mark: t for t in before if t not in paired.values() for mark in marks(before[t])}
    found: dict[ThingId, ThingId] = {}
    for thing in after:
        met = [known[mark] for mark in marks(after[thing]) if mark in known]
        if thing not in paired and met and met[0] not in found.values():
            found[thing] = met[0]
    return found
