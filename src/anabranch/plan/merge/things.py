"""Merge the namespaces and tables of two branches: what stays, under which name, and how its rows are merged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from anabranch.model.ids import ROOT_NAMESPACE, ThingId
from anabranch.plan.merge.pairing import are_alike
from anabranch.plan.merge.rules import RowPolicy, Rules, Strictness, read_rules
from anabranch.plan.merge.sides import Decisions, Ids, Judge, Side
from anabranch.plan.merge.sides import ThingConflict as ThingConflict
from anabranch.plan.merge.sides import ThingSide as ThingSide
from anabranch.plan.merge.table import ThingCase, merge_thing


@dataclass(frozen=True)
class ThingMerge:
    """What a merge does to one thing on the branch that moves."""

    base: ThingSide | None
    ours: ThingSide | None
    theirs: ThingSide | None
    result: ThingSide | None
    """The thing after the merge, with theirs' operations; None if it is gone."""
    rows: RowPolicy | None
    """How rows are merged. None: ours stay, or theirs are taken with all their history, as `action` says."""

    @property
    def action(self) -> Literal["keep", "take", "drop", "merge", "none"]:
        """What to do on ours: nothing, take theirs as it is, drop it, or change it."""
        if self.result is None:
            return "none" if self.ours is None else "drop"
        if self.ours is None:
            return "take"
        return "keep" if self.rows is None and _is_same(self.ours, self.result) else "merge"


@dataclass(frozen=True)
class ThingsMerge:
    """What a merge does to all things that either side touched, and the conflicts."""

    things: tuple[ThingMerge, ...]
    conflicts: tuple[ThingConflict, ...]
    """Conflicts that no decision settles; while there are any, the results are only provisional."""


def merge_things(
    base: Sequence[ThingSide],
    ours: Sequence[ThingSide],
    theirs: Sequence[ThingSide],
    strictness: Strictness = "cell",
    rules: Mapping[str, str] | None = None,
    decisions: Decisions | None = None,
) -> ThingsMerge:
    """Replay theirs' changes since the base on ours.

    Each side lists all things that some side touched, the namespaces above them, and whatever holds a name that they
    take. Rules for other tables count as checked.
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
    """Whether somebody decided whether it stays."""
    shut: set[str] = field(default_factory=set)
    """Namespaces that were left out while it was in them."""

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
    """By the representative of all ids of the thing."""
    asked: set[frozenset[str]] = field(default_factory=set)
    """Pairs of things that ended up under the same name."""

    def __post_init__(self) -> None:
        self.sides = (self.base, self.ours, self.theirs)
        self.ids = Ids(t.ids for side in self.sides for t in side.values())

    # --- which things are one ---

    def unite_alike(self) -> None:
        """Unite namespaces and like tables that both sides made under one name; outer ones first."""
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
        """The things of all sides by the representative of their ids: ours first, so that results have ours' order."""
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
        strictness: Strictness = "cell" if ours and ours.kind == "files" else self.strictness  # files: always alike
        merged = merge_thing(ThingCase(base, ours, theirs, moved), strictness, rules, judge)
        thing = _Thing(base, ours, theirs, judge, merged.result, merged.rows, merged.was_asked)
        if merged.result is not None:
            placed = self._merged_place(base, ours, theirs) or merged.result
            thing.result = replace(merged.result, parent_id=placed.parent_id, name=placed.name)
        self.things[id_] = thing

    def _merged_place(
        self, base: ThingSide | None, ours: ThingSide | None, theirs: ThingSide | None
    ) -> ThingSide | None:
        """The side that gives a thing its name and namespace: theirs if theirs changed them."""
        if base and ours and theirs:
            return ours if self._place(theirs) == self._place(base) else theirs
        return theirs or ours

    def _ask_about_several(self, id_: str, sides: list[list[ThingSide]]) -> None:
        kind = "two things/one thing" if len(sides[1]) > 1 else "one thing/two things"
        described = [[t.path for t in found] for found in sides]
        self.things[id_].judge.choose("objects", kind, described, can_decide=False)

    # --- namespaces ---

    def keep_needed_namespaces(self) -> None:
        """Keep a dropped namespace that is not empty; ask, unless all of its content was asked about."""
        while gone := self._needed():
            for id_ in gone:
                self._ask_about_namespace(id_, self.things[id_])

    def _needed(self) -> list[str]:
        """The namespaces that are gone although something is in them."""
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
        """Leave namespaces that the sides moved into each other where ours has them; tell whether there were any."""
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
        """Ask about things that end up under the same name, and give the name to the chosen side's."""
        while pair := self._same_name():
            again = frozenset(pair) in self.asked
            self.asked.add(frozenset(pair))
            mine, other = pair
            chosen = self._choose_place(self.things[mine], self.things[other], can_decide=not again)
            if again:
                return
            self._put_back(self.things[other if chosen == "ours" else mine], chosen)

    def _same_name(self) -> tuple[str, str] | None:
        """Two things under the same name: first the one that ours put there, then the one that theirs put there."""
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
        """Once names are settled, leave out new things in namespaces that were left out.

        Things that were there before are put back; tell whether there were any."""
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
        """Where an old thing is, or was, outside namespaces that were left out; None for a new one."""
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
        """Give a thing its name on the chosen side; remove it if it is only on the other."""
        self._put_at(thing, thing.on(chosen))

    def _put_at(self, thing: _Thing, place: ThingSide | None) -> None:
        if place is None or thing.result is None:
            thing.result, thing.rows = None, None
        else:
            thing.result = replace(thing.result, parent_id=place.parent_id, name=place.name)

    # --- the end ---

    def finish(self) -> ThingsMerge:
        """Give results their final parents and full names."""
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
    pairs = [(c, theirs.schema.find(c.name)) for c in ours.schema]
    equal = len(ours.schema) == len(theirs.schema) and all(c is not None and are_alike(o, c) for o, c in pairs)
    return equal and [n.lower() for n in ours.schema.key_names] == [n.lower() for n in theirs.schema.key_names]


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
