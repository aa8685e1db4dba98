"""Namespaces and tables of two branches, merged: what is there after, under which name, and how its rows are merged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from anabranch.model.ids import ROOT_NAMESPACE, ThingId
from anabranch.model.schema import Schema
from anabranch.plan.merge.pairing import are_alike
from anabranch.plan.merge.rules import RowPolicy, Rules, Strictness, read_rules
from anabranch.plan.merge.sides import Decisions, Ids, Judge, Side
from anabranch.plan.merge.sides import ThingConflict as ThingConflict
from anabranch.plan.merge.sides import ThingSide as ThingSide
from anabranch.plan.merge.table import ThingCase, merge_thing


@dataclass(frozen=True)
class ThingMerge:
    """What becomes of one thing on the branch that moves."""

    base: ThingSide | None
    ours: ThingSide | None
    theirs: ThingSide | None
    result: ThingSide | None
    """With name, parent, attributes and schema after the merge, and theirs' operations; None if it is not there."""
    rows: RowPolicy | None
    """How rows are merged; None: as `action` says, ours' rows stay, or theirs' are taken with all their history."""

    @property
    def action(self) -> Literal["keep", "take", "drop", "merge", "none"]:
        """What is to be done on ours: nothing, take theirs as it is, drop it, or change it."""
        if self.result is None:
            return "none" if self.ours is None else "drop"
        if self.ours is None:
            return "take"
        return "keep" if self.rows is None and _is_same(self.ours, self.result) else "merge"


@dataclass(frozen=True)
class ThingsMerge:
    """What becomes of all things that either side touched, and what is in doubt."""

    things: tuple[ThingMerge, ...]
    conflicts: tuple[ThingConflict, ...]
    """Those that no decision settles; while there are any, the results only show how it might go on."""


def merge_things(
    base: Sequence[ThingSide],
    ours: Sequence[ThingSide],
    theirs: Sequence[ThingSide],
    strictness: Strictness = "cell",
    rules: Mapping[str, str] | None = None,
    decisions: Decisions | None = None,
) -> ThingsMerge:
    """Make theirs' changes since the base again on ours.

    Each side gives all things that some side touched, the namespaces above them, and what has a name that they take.
    Rules of tables that are not among them are taken for checked.
    """
    work = _ThingsWork(_there(base), _there(ours), _there(theirs), strictness, decisions or {})
    tables = [{t.path: t.schema for t in s if t.schema} for s in (base, ours, theirs)]
    known = read_rules(rules or {}, tables, partly=True)
    if strictness != "operations":
        work.unite_alike()
    work.merge_each(known)
    work.keep_needed_namespaces()
    work.refuse_circles()
    work.settle_places()
    while work.leave_out_orphans() or work.refuse_circles():
        work.settle_places()
    return work.finish()


def _there(things: Iterable[ThingSide]) -> dict[ThingId, ThingSide]:
    return {t.id: t for t in things if not t.dropped}


@dataclass
class _Thing:
    """A thing that is being merged."""

    base: ThingSide | None
    ours: ThingSide | None
    theirs: ThingSide | None
    judge: Judge
    result: ThingSide | None = None
    rows: RowPolicy | None = None
    was_asked: bool = False
    """Whether it is there, or not, because of an answer about itself."""
    shut: set[str] = field(default_factory=set)
    """Namespaces that were left out with it in them."""

    def on(self, side: Side) -> ThingSide | None:
        return self.ours if side == "ours" else self.theirs


@dataclass
class _ThingsWork:
    """A merge of things under way."""

    base: dict[ThingId, ThingSide]
    ours: dict[ThingId, ThingSide]
    theirs: dict[ThingId, ThingSide]
    strictness: Strictness
    decisions: Decisions
    things: dict[str, _Thing] = field(default_factory=dict)
    """By the id that stands for all ids of the thing."""
    asked: set[frozenset[str]] = field(default_factory=set)
    """Pairs of things that were found under one name."""

    def __post_init__(self) -> None:
        self.sides = (self.base, self.ours, self.theirs)
        self.ids = Ids(t.ids for side in self.sides for t in side.values())

    # --- which things are one ---

    def unite_alike(self) -> None:
        """Let namespaces and like tables that both sides made under one name be one; outer ones first."""
        there = {self.ids.of(i) for i in self.theirs}
        known = {self.ids.of(i) for i in (*self.base, *self.ours)}
        new: dict[str, list[ThingSide]] = {}
        for other in self.theirs.values():
            if self.ids.of(other.id) not in known:
                new.setdefault(other.name, []).append(other)
        old = {self.ids.of(i) for i in self.base} | there
        for mine in sorted(self.ours.values(), key=lambda t: t.path.count(".")):
            for other in new.get(mine.name, ()) if self.ids.of(mine.id) not in old else ():
                if self._place(mine) == self._place(other) and _fit(mine, other):
                    self.ids.unite(mine.id, other.id)

    def _place(self, thing: ThingSide) -> tuple[str, str]:
        return self.ids.of(thing.parent_id), thing.name

    def _groups(self) -> Iterator[tuple[str, list[list[ThingSide]]]]:
        """The things of all sides by the id that stands for them: ours first, so that results have ours' order."""
        found: dict[str, list[list[ThingSide]]] = {}
        for number in (1, 2, 0):
            for thing in self.sides[number].values():
                found.setdefault(self.ids.of(thing.id), [[], [], []])[number].append(thing)
        yield from found.items()

    # --- what becomes of each ---

    def merge_each(self, rules: Rules) -> None:
        for id_, sides in self._groups():
            base, ours, theirs = ([*found, None][0] for found in sides)
            self._merge_one(id_, base, ours, theirs, rules)
            if len(sides[1]) > 1 or len(sides[2]) > 1:
                self._ask_about_several(id_, sides)
                for extra in sides[1][1:]:
                    self._merge_one(f"{id_}+{extra.id}", None, extra, None, rules)

    def _merge_one(
        self, id_: str, base: ThingSide | None, ours: ThingSide | None, theirs: ThingSide | None, rules: Rules
    ) -> None:
        judge = Judge((ours, theirs, base), self.decisions)
        moved = base is not None and theirs is not None and self._place(base) != self._place(theirs)
        merged = merge_thing(ThingCase(base, ours, theirs, moved), self._strictness(ours), rules, judge)
        thing = _Thing(base, ours, theirs, judge, merged.result, merged.rows, merged.was_asked)
        if merged.result is not None:
            placed = self._merged_place(base, ours, theirs) or merged.result
            thing.result = replace(merged.result, parent_id=placed.parent_id, name=placed.name)
        self.things[id_] = thing

    def _strictness(self, ours: ThingSide | None) -> Strictness:
        """How strictly rows are merged; files have a level of their own, whatever is asked for tables."""
        return "cell" if ours and ours.kind == "files" else self.strictness

    def _merged_place(
        self, base: ThingSide | None, ours: ThingSide | None, theirs: ThingSide | None
    ) -> ThingSide | None:
        """The side whose name and namespace a thing has: theirs where theirs changed them."""
        if base and ours and theirs:
            return ours if self._place(theirs) == self._place(base) else theirs
        return theirs or ours

    def _ask_about_several(self, id_: str, sides: list[list[ThingSide]]) -> None:
        kind = "two things/one thing" if len(sides[1]) > 1 else "one thing/two things"
        described = [[t.path for t in found] for found in sides]
        self.things[id_].judge.choose("objects", kind, described, can_decide=False)

    # --- namespaces ---

    def keep_needed_namespaces(self) -> None:
        """Keep a dropped namespace that something is still in; ask, unless it was asked about what is in it."""
        while gone := self._needed():
            for id_ in gone:
                self._ask_about_namespace(id_, self.things[id_])

    def _needed(self) -> list[str]:
        """The namespaces that are gone, with something in them."""
        above = {self.ids.of(t.result.parent_id) for t in self.things.values() if t.result}
        return [i for i, t in self.things.items() if t.result is None and i in above]

    def _inside(self, namespace: str) -> list[_Thing]:
        return [t for t in self.things.values() if t.result and self.ids.of(t.result.parent_id) == namespace]

    def _ask_about_namespace(self, id_: str, thing: _Thing) -> None:
        keeper: Side = "ours" if thing.ours else "theirs"
        inside, chosen = self._inside(id_), keeper
        if not all(t.was_asked for t in inside):
            verb = "create" if any(t.base is None for t in inside) else "update"
            names = [t.result.path for t in inside if t.result]
            described = (names, None) if keeper == "ours" else (None, names)
            kind = f"{verb}/drop" if keeper == "ours" else f"drop/{verb}"
            chosen = thing.judge.choose("objects", kind, (_path(thing.base), *described))
        thing.was_asked = True
        if chosen == keeper:
            thing.result = thing.ours or thing.theirs or thing.base
        for t in inside if chosen != keeper else ():
            t.result, t.rows, t.was_asked = None, None, True

    def refuse_circles(self) -> bool:
        """Two namespaces that each side moved into the other stay where ours has them; tell whether there were some."""
        were_some = False
        for id_, thing in self.things.items():
            if thing.result and thing.ours and not self._is_put_by_ours(id_) and self._is_above_itself(id_):
                described = (_path(thing.base), _path(thing.ours), _path(thing.theirs))
                thing.judge.choose("objects", "alter name/alter name", described, can_decide=False)
                self._put_back(thing, "ours")
                were_some = True
        return were_some

    def _is_above_itself(self, id_: str) -> bool:
        seen, at = set(), id_
        while at not in seen:
            seen.add(at)
            above = self.things.get(at)
            if above is None or above.result is None:
                return False
            at = self.ids.of(above.result.parent_id)
        return at == id_

    # --- names ---

    def settle_places(self) -> None:
        """Ask about things that end up under one name, and leave the name to the side that was chosen."""
        while pair := self._same_name():
            again = frozenset(pair) in self.asked
            self.asked.add(frozenset(pair))
            mine, other = pair
            chosen = self._choose_place(self.things[mine], self.things[other], can_decide=not again)
            if again:
                return
            self._put_back(self.things[other if chosen == "ours" else mine], chosen)

    def _same_name(self) -> tuple[str, str] | None:
        """Two things under one name: first the one that ours put there, then the one that theirs put there."""
        seen: dict[tuple[str, str], str] = {}
        for id_, thing in self.things.items():
            if thing.result:
                first = seen.setdefault(self._place(thing.result), id_)
                if first != id_:
                    return (first, id_) if self._is_put_by_ours(first) else (id_, first)
        return None

    def _is_put_by_ours(self, id_: str) -> bool:
        thing = self.things[id_]
        return bool(thing.ours and thing.result and self._place(thing.ours) == self._place(thing.result))

    def leave_out_orphans(self) -> bool:
        """Where names were settled, let what is new in a namespace that was left out go with it.

        What was there before is put back; tell whether something was."""
        is_back = False
        while gone := self._needed():
            for id_ in gone:
                namespace = self.things[id_]
                namespace.result = self._open_place(namespace)
                for thing in self._inside(id_) if namespace.result is None else ():
                    thing.shut.add(id_)
                    place = self._open_place(thing)
                    is_back = is_back or place is not None
                    self._put_at(thing, place)
        return is_back

    def _open_place(self, thing: _Thing) -> ThingSide | None:
        """Where an old thing is on a side, or was, outside of namespaces that were left out; a new one has no place."""
        places = (thing.ours, thing.theirs, thing.base) if thing.base else ()
        return next((p for p in places if p and self.ids.of(p.parent_id) not in thing.shut), None)

    def _choose_place(self, mine: _Thing, other: _Thing, *, can_decide: bool) -> Side:
        kind = f"{self._verb(mine, 'ours')}/{self._verb(other, 'theirs')}"
        values = (None, _description(mine.ours or mine.result), _description(other.theirs or other.result))
        about = [t.id for m in (mine, other) for t in (m.ours, m.theirs) if t]
        return mine.judge.choose("objects", kind, values, None, about, can_decide=can_decide)

    def _verb(self, thing: _Thing, side: Side) -> str:
        there = thing.on(side)
        if thing.base is None:
            return "create"
        return "alter name" if there and self._place(there) != self._place(thing.base) else "keep"

    def _put_back(self, thing: _Thing, chosen: Side) -> None:
        """Take from a thing the name that only the other side gave it; one that only that side has goes."""
        self._put_at(thing, thing.on(chosen))

    def _put_at(self, thing: _Thing, place: ThingSide | None) -> None:
        if place is None or thing.result is None:
            thing.result, thing.rows = None, None
        else:
            thing.result = replace(thing.result, parent_id=place.parent_id, name=place.name)

    # --- the end ---

    def finish(self) -> ThingsMerge:
        """Give results the ids and full names that they have on ours."""
        done = tuple(ThingMerge(t.base, t.ours, t.theirs, self._settled(t), t.rows) for t in self.things.values())
        return ThingsMerge(done, tuple(c for t in self.things.values() for c in t.judge.conflicts))

    def _settled(self, thing: _Thing) -> ThingSide | None:
        if thing.result is None:
            return None
        above = self.things.get(self.ids.of(thing.result.parent_id))
        if above is None or above.result is None:
            path, parent = _path_outside(thing, thing.result), thing.result.parent_id
        else:
            settled = self._settled(above)
            assert settled is not None
            path, parent = f"{settled.path}.{thing.result.name}", settled.id
        r, done = thing.result, thing.theirs.operations if thing.theirs else ()
        changed = thing.ours is None or thing.rows is not None
        return ThingSide(r.id, r.kind, parent, r.name, path, r.attributes, r.schema, done, rows_changed=changed)


def _fit(ours: ThingSide, theirs: ThingSide) -> bool:
    """Tell whether two things that were made under one name can be one."""
    if ours.kind != theirs.kind:
        return False
    if ours.schema is None or theirs.schema is None:
        return ours.schema is theirs.schema
    return _has_equal_columns(ours.schema, theirs.schema)


def _has_equal_columns(ours: Schema, theirs: Schema) -> bool:
    pairs = [(c, theirs.find(c.name)) for c in ours]
    equal = len(ours) == len(theirs) and all(c is not None and are_alike(o, c) for o, c in pairs)
    return equal and [n.lower() for n in ours.key_names] == [n.lower() for n in theirs.key_names]


def _is_same(ours: ThingSide, result: ThingSide) -> bool:
    fields = ("id", "parent_id", "name", "schema", "attributes")
    return all(getattr(ours, f) == getattr(result, f) for f in fields)


def _path(thing: ThingSide | None) -> str | None:
    return thing.path if thing else None


def _description(thing: ThingSide | None) -> str | None:
    """A thing as people read it: its kind, name and columns."""
    if thing is None:
        return None
    columns = f" ({', '.join(f'{c.name} {c.type}' for c in thing.schema)})" if thing.schema else ""
    return f"{thing.kind} {thing.path}{columns}"


def _path_outside(thing: _Thing, result: ThingSide) -> str:
    """The full name of a thing whose namespace is not part of the merge."""
    sides = (thing.ours, thing.theirs, thing.base)
    near = next((s for s in sides if s and s.parent_id == result.parent_id), result)
    prefix = near.path.rpartition(".")[0] if result.parent_id != ROOT_NAMESPACE else ""
    return f"{prefix}.{result.name}" if prefix else result.name
