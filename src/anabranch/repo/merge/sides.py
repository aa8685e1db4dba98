"""What a merge reads: the things that a side touched since the base, as each side has them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from anabranch.catalog import entries, history, paths
from anabranch.catalog.store import Connection
from anabranch.model.clock import Clock, Position
from anabranch.model.commits import BranchHead, CommitHead
from anabranch.model.files import FILES_NAME, files_schema, files_thing
from anabranch.model.ids import ROOT_NAMESPACE, ColumnId, ObjectId, ThingId
from anabranch.model.objects import Layer, contents_of
from anabranch.model.tables import Entry, Operation, TableState, holds_rows
from anabranch.plan.commit import Draft, ThingDraft, all_objects_of, draft_state, place_of
from anabranch.plan.history import is_ancestor, merge_bases
from anabranch.plan.merge.rules import Strictness
from anabranch.plan.merge.sides import ThingSide
from anabranch.plan.merge.things import merge_things
from anabranch.plan.path import Leg, find_path
from anabranch.proven.expression import Expression
from anabranch.repo.context.context import Context
from anabranch.repo.context.table_state import schema_of, table_state


@dataclass
class Target:
    """The branch that moves, with what was merged into it so far."""

    branch: BranchHead
    parent: CommitHead
    clock: Clock
    draft: Draft = field(default_factory=Draft)
    merged: list[Position] = field(default_factory=list)

    def pending(self) -> dict[ObjectId, bytes]:
        """The bytes of small objects that only this merge knows."""
        return inline_bytes(self.draft)


def target_at(cx: Connection, branch: BranchHead) -> Target:
    """A branch to merge into, as it is now."""
    return Target(branch, history.known_head(cx, branch.position), history.clock(cx, branch.position))


def inline_bytes(draft: Draft) -> dict[ObjectId, bytes]:
    """The bytes of a draft's small objects."""
    made = [o for t in draft.things.values() for o in all_objects_of(t)]
    return contents_of(made)


Place = tuple[ThingId, str]
"""A namespace, and a name in it."""


@dataclass(frozen=True)
class SideReader:
    """One commit as a merge sees it, and the path from the base to it."""

    ctx: Context
    clock: Clock
    legs: tuple[Leg, ...] | None
    """The path from the base; None if changes tell of none."""
    draft: Draft = field(default_factory=Draft)
    exact: bool = True
    """Whether the path begins at the base; if not, it only says what may have been touched."""
    _committed: dict[ThingId, ThingSide | None] = field(default_factory=dict, repr=False, compare=False)
    _described: dict[ThingId, tuple[Entry | None, Place | None]] = field(
        default_factory=dict, repr=False, compare=False
    )
    _ways: dict[tuple[ThingId, ...], tuple[Layer, ...] | None] = field(default_factory=dict, repr=False, compare=False)
    _tables: dict[tuple[ThingId, str], TableState] = field(default_factory=dict, repr=False, compare=False)

    def states(self, things: Iterable[ThingId]) -> dict[ThingId, ThingSide]:
        """The things that exist here."""
        wanted = list(dict.fromkeys(things))
        new = [t for t in wanted if t not in self.draft.things and t not in self._committed]
        if new:
            with self.ctx.catalog.one_state(), self.ctx.catalog.read() as cx:
                described = entries.find_entries(cx, self.clock, [t for t in new if t not in self._described])
                self._committed.update((thing, self._thing_side(cx, thing, described.get(thing))) for thing in new)
        drafted = self.draft.things
        sides = ((t, self._drafted(drafted[t]) if t in drafted else self._committed[t]) for t in wanted)
        return {thing: side for thing, side in sides if side is not None}

    def described(
        self, cx: Connection, thing: ThingId, entry: Entry | None = None
    ) -> tuple[Entry | None, Place | None]:
        """What the commit says of a thing, and its namespace and own name, if it has any."""
        if thing not in self._described:
            entry = entry or entries.find_entry(cx, self.clock, thing)
            self._described[thing] = entry, entries.place_of(cx, self.clock, thing) if entry else None
        return self._described[thing]

    def place(self, thing: ThingId) -> Place | None:
        """The namespace and own name of a thing, as the commit has it."""
        if thing in self._described:
            return self._described[thing][1]
        with self.ctx.catalog.read() as cx:
            return self.described(cx, thing)[1]

    def _drafted(self, thing: ThingDraft) -> ThingSide | None:
        if thing.dropped:
            return None
        parent, name = place_of(thing)
        made = ThingSide(thing.id, thing.kind, parent, name, thing.name, thing.attributes, thing.schema)
        return self._with_changes(made) if holds_rows(thing.kind) else made

    def _thing_side(self, cx: Connection, thing: ThingId, entry: Entry | None) -> ThingSide | None:
        if thing == files_thing(self.ctx.record.id):
            tree = files_schema(self.ctx.record.id)
            return self._with_changes(ThingSide(thing, "files", ROOT_NAMESPACE, FILES_NAME, FILES_NAME, schema=tree))
        entry, place = self.described(cx, thing, entry)
        if entry is None or entry.dropped or place is None:
            return None
        is_below = place[0] != ROOT_NAMESPACE
        path = (entries.full_name(cx, self.clock, thing) if is_below else None) or place[1]
        schema = schema_of(self.ctx, cx, {entry.schema_id})[entry.schema_id] if entry.schema_id else None
        made = ThingSide(thing, entry.kind, place[0], place[1], path, entry.attributes, schema)
        return self._with_changes(made) if holds_rows(entry.kind) else replace(made, operations=self._operations(made))

    def _with_changes(self, made: ThingSide) -> ThingSide:
        """The thing, with what was done to it since the base."""
        layers = self._layers(made.ids)
        known = layers or ()
        updates = [x.object for x in known if x.object.kind in ("update", "exceptions")]
        inserted = layers is None or any(x.object.kind in ("rows", "exceptions") for x in known)
        return replace(
            made,
            operations=self._operations(made),
            rows_changed=layers is None or bool(layers),
            rows_inserted=inserted,
            filled=frozenset(i for c in made.schema or () for i in c.ids) if inserted else frozenset(),
            touched=frozenset(ColumnId(c) for o in updates for c in o.touched),
            check_columns=_check_columns(made),
        )

    def _operations(self, made: ThingSide) -> tuple[Operation, ...]:
        if self.legs is None:
            return ()
        with self.ctx.catalog.read() as cx:
            return paths.operations(cx, self.legs, sorted(made.ids))

    def layers(self, ids: Iterable[ThingId]) -> tuple[Layer, ...] | None:
        """The objects of a table's change since the base; None if the states must be compared."""
        return self._layers(ids) if self.exact else None

    def _layers(self, ids: Iterable[ThingId]) -> tuple[Layer, ...] | None:
        if self.legs is None:
            return None
        wanted = sorted(set(ids))
        if any(t in self.draft.things and self.draft.things[t].replaced for t in wanted):
            return None
        if tuple(wanted) not in self._ways:
            with self.ctx.catalog.read() as cx:
                self._ways[tuple(wanted)] = paths.layers_along(cx, self.legs, wanted, self.ctx.known_objects)
        found = self._ways[tuple(wanted)]
        if found is None:
            return None
        top = max((x.turn for x in found), default=0)
        pending = [s for t in wanted if t in self.draft.things for s in self.draft.things[t].statements]
        return (*found, *(Layer(top + 1 + n, o.stored) for n, s in enumerate(pending) for o in s.objects))

    def pending(self) -> dict[ObjectId, bytes]:
        """The bytes of small objects that only the draft knows."""
        return inline_bytes(self.draft)

    def table(self, side: ThingSide) -> TableState:
        """The table as it is here, to read its rows."""
        drafted = self.draft.things.get(side.id)
        if drafted is not None:
            return draft_state(drafted)
        known = side.id, side.path
        if known not in self._tables:
            with self.ctx.catalog.read() as cx:
                self._tables[known] = table_state(self.ctx, cx, self.clock, *known)
        return self._tables[known]


def _check_columns(made: ThingSide) -> dict[str, frozenset[ColumnId]]:
    """The columns that each check reads."""
    if made.schema is None:
        return {}
    found = {}
    for name, text in made.texts("checks").items():
        columns = Expression.of(text, None, f"check {name!r}").columns(made.schema)
        found[name] = frozenset(i for c in columns for i in c.ids)
    return found


@dataclass(frozen=True)
class Ancestor:
    """The nearest common ancestor of two sides: one commit, or several that a criss-cross left, merged into one.

    Paths begin at the first, since a path from any of them tells the same.
    """

    first: SideReader
    joined: tuple[Joining, ...] = ()

    def states(
        self, things: Sequence[ThingId], strictness: Strictness, rules: Mapping[str, str]
    ) -> dict[ThingId, ThingSide]:
        """The things that exist; where the commits disagree, the earlier one's version stands, marked unsettled."""
        found, unsettled = self.first.states(things), set[str]()
        for joining in self.joined:
            base = list(joining.base.states(things, strictness, rules).values())
            theirs = list(joining.theirs.states(things).values())
            merged = merge_things(base, list(found.values()), theirs, strictness, rules)
            unsettled |= {i for c in merged.conflicts if c.level == "schema" for i in c.about}
            found = {t.result.id: t.result for t in merged.things if t.result}
        columns = frozenset(ColumnId(i) for i in unsettled)
        return {thing: replace(side, unsettled=columns) for thing, side in found.items()} if columns else found

    def may_doubt(self, ids: Iterable[ThingId]) -> bool:
        """Whether a table's rows may differ from those at the first commit."""
        return any(j.theirs.layers(ids) != () or j.base.may_doubt(ids) for j in self.joined)

    def readers(self) -> Iterator[SideReader]:
        """All commits of the ancestor."""
        yield self.first
        for joining in self.joined:
            yield joining.theirs
            yield from joining.base.readers()


@dataclass(frozen=True)
class Joining:
    """One more commit of an ancestor, and its common ancestor with the commits before."""

    base: Ancestor
    theirs: SideReader


def common_ancestor(ctx: Context, lines: history.Lines, ours: Sequence[Position], theirs: Position) -> Ancestor:
    """Find the common ancestor of two commits; `ours` may be one that will have several parents."""
    found = merge_bases(lines, ours[0], theirs, *ours[1:])
    if len(found) > 1:
        found = tuple(sorted(found, key=lambda p: _age(lines.cx, p)))
    joined = []
    for n, other in enumerate(found[1:], 1):
        base = common_ancestor(ctx, lines, found[:n], other)
        legs = find_path(lines, base.first.clock.head, other)
        joined.append(Joining(base, SideReader(ctx, lines.clock(other), legs)))
    return Ancestor(SideReader(ctx, lines.clock(found[0]), ()), tuple(joined))


def _age(cx: Connection, position: Position) -> tuple[int, str]:
    """Sort key for commits by when they were made; the same in every store."""
    commit = history.known_head(cx, position)
    return commit.finished_at, commit.hash


@dataclass(frozen=True)
class Gathered:
    """Base, ours and theirs of one merge."""

    bases: tuple[Position, ...]
    base: SideReader
    ours: SideReader
    theirs: SideReader
    things: tuple[ThingId, ...]
    ancestor: Ancestor
    backward: bool = False
    """Whether theirs is older than the base: a commit is being undone."""

    def sides(
        self, strictness: Strictness = "cell", rules: Mapping[str, str] | None = None
    ) -> tuple[list[ThingSide], list[ThingSide], list[ThingSide]]:
        """All things that matter, on each side."""
        base = self.ancestor.states(self.things, strictness, rules or {})
        ours, theirs = (r.states(self.things).values() for r in (self.ours, self.theirs))
        return list(base.values()), [self._doubted(t) for t in ours], [self._doubted(t) for t in theirs]

    def _doubted(self, side: ThingSide) -> ThingSide:
        return replace(side, in_doubt=holds_rows(side.kind) and self.ancestor.may_doubt(side.ids))


def gather(ctx: Context, cx: Connection, target: Target, source: Position, fork: Position | None = None) -> Gathered:
    """Read what differs from the base, or from a fork known to be the base, and related things."""
    lines = history.Lines(cx)
    if fork is not None:
        ancestor = Ancestor(SideReader(ctx, history.clock(cx, fork), ()))
    else:
        ancestor = common_ancestor(ctx, lines, (target.clock.head, *target.merged), source)
    base = ancestor.first.clock.head
    reaches = is_ancestor(lines, base, target.clock.head)
    to_ours = find_path(lines, base, target.clock.head) if reaches else None
    ours = SideReader(ctx, target.clock, to_ours, target.draft)
    theirs = SideReader(ctx, lines.clock(source), find_path(lines, base, source))
    things = _things(ctx, cx, (*ancestor.readers(), ours, theirs), target.draft)
    heads = tuple(r.clock.head for r in (ancestor.first, *(j.theirs for j in ancestor.joined)))
    return Gathered(heads, ancestor.first, ours, theirs, tuple(things), ancestor)


def around(ctx: Context, cx: Connection, target: Target, base: Clock, theirs: Clock) -> Gathered:
    """Read a change to repeat on a target that need not descend from it: a commit to pick or revert.

    One of base and theirs is an ancestor of the other; the path between them tells which rows may differ.
    """
    lines = history.Lines(cx)
    forward = is_ancestor(lines, base.head, theirs.head)
    between = find_path(lines, *((base.head, theirs.head) if forward else (theirs.head, base.head)))
    common = merge_bases(lines, base.head, target.clock.head)[0]
    to_ours = find_path(lines, common, target.clock.head)
    readers = (
        SideReader(ctx, base, ()),
        SideReader(ctx, target.clock, to_ours, target.draft, exact=False),
        SideReader(ctx, theirs, between),
    )
    things = _things(ctx, cx, (readers[0], readers[2]), target.draft, others=(readers[1],))
    return Gathered((base.head,), readers[0], readers[1], readers[2], tuple(things), Ancestor(readers[0]), not forward)


def _things(
    ctx: Context, cx: Connection, readers: Sequence[SideReader], draft: Draft, others: Sequence[SideReader] = ()
) -> list[ThingId]:
    """The things that a side touched, the namespaces above and their contents, and whatever has a touched name.

    For the `others`, what they touched doesn't matter, only what they have.
    """
    things: set[str] = {str(t) for t in draft.things}
    names: set[tuple[str, str]] = {(str(p), n) for p, n in draft.names}
    for reader in readers[1:]:
        more, named = entries.touched_between(cx, readers[0].clock, reader.clock)
        things |= more
        names |= named
    readers = (*readers, *others)
    for parent, name in names:
        for reader in readers:
            bound = entries.find_name(cx, ctx.record.id, reader.clock, ThingId(parent), name)
            things |= {str(bound.thing_id)} if bound else set()
    moved = frozenset(things)
    todo = list(things)
    while todo:
        thing = ThingId(todo.pop())
        near = {str(n) for reader in readers for n in _related(cx, reader, thing, inside=thing in moved)}
        new = near - things - {str(ROOT_NAMESPACE)}
        things |= new
        todo += new
    return [ThingId(t) for t in sorted(things)]


def _related(cx: Connection, reader: SideReader, thing: ThingId, *, inside: bool) -> list[ThingId]:
    """The namespace above a thing, the other ids it goes by, and, if asked, what is in it."""
    entry, place = reader.described(cx, thing)
    if entry is None:
        return []
    found = [ThingId(i) for i in entry.attributes.get("united", ())]
    if place:
        found.append(place[0])
    if inside and entry.kind == "namespace":
        names = entries.list_names(cx, reader.ctx.record.id, reader.clock, thing)
        found += [n.thing_id for n in names]
    return found
