"""What a commit says, decided from the drafts of its things; and whether it may go on a branch that moved."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from anabranch.model.changes import Counts
from anabranch.model.content import Change, Content, Entry, NameBinding, View
from anabranch.model.ids import ObjectId, ThingId, ViewId, new_id
from anabranch.model.objects import Layer, NewObject
from anabranch.model.schema import Schema
from anabranch.model.tables import Operation, TableState, ThingKind


@dataclass(frozen=True)
class Statement:
    """What one writing statement made: objects that nobody sees yet."""

    operation: Operation
    objects: tuple[NewObject, ...]
    counts: Counts
    exact: bool = True
    """Whether the objects change each key once; a changed key is deleted and inserted, so it may not."""


@dataclass(frozen=True)
class ThingDraft:
    """A namespace or table as an unfinished commit has it."""

    id: ThingId
    kind: ThingKind
    parent_id: ThingId
    name: str
    """With its namespaces."""
    base: TableState | None
    """The table at the parent; None if this commit makes it."""
    schema: Schema | None = None
    statements: tuple[Statement, ...] = ()
    operations: tuple[Operation, ...] = ()
    dropped: bool = False
    attributes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def created(self) -> bool:
        return "create" in self.operations

    @property
    def counts(self) -> Counts:
        return sum((s.counts for s in self.statements), Counts())

    @property
    def row_count(self) -> int:
        total = self.counts
        return (self.base.row_count if self.base else 0) + total.inserted - total.deleted

    @property
    def needs_netting(self) -> bool:
        """Whether the statements may have changed a key more than once. Keys are unique, so inserts alone never do."""
        kinds = {o.stored.kind for s in self.statements for o in s.objects}
        several = len([s for s in self.statements if s.objects]) > 1
        return not all(s.exact for s in self.statements) or (several and kinds != {"rows"})


def draft_state(thing: ThingDraft) -> TableState:
    """The table as the unfinished commit has it: the parent's layers, then one turn for each statement."""
    assert thing.schema is not None
    base = thing.base
    first = base.next_turn if base else 0
    pending = [Layer(first + n, o.stored) for n, s in enumerate(thing.statements) for o in s.objects]
    schemas = {**(base.schemas if base else {}), thing.schema.id: thing.schema}
    layers = (*(base.layers if base else ()), *pending)
    return TableState(thing.id, thing.name, thing.schema, thing.row_count, layers, schemas, thing.attributes)


def with_statement(thing: ThingDraft, statement: Statement) -> ThingDraft:
    """The draft after one more statement; one that touched nothing leaves no trace."""
    if not statement.objects:
        return thing
    operations = thing.operations
    if not (thing.created and statement.operation == "insert") and operations[-1:] != (statement.operation,):
        operations = (*operations, statement.operation)
    return replace(thing, statements=(*thing.statements, statement), operations=operations)


@dataclass(frozen=True)
class Draft:
    """All that an unfinished commit has done."""

    things: Mapping[ThingId, ThingDraft] = field(default_factory=dict)
    names: Mapping[tuple[ThingId, str], tuple[ThingKind, ThingId | None]] = field(default_factory=dict)
    reads: Mapping[ThingId, str] = field(default_factory=dict)
    """The tables that were opened, with their names."""

    def with_thing(self, thing: ThingDraft) -> Draft:
        return Draft({**self.things, thing.id: thing}, self.names, self.reads)

    def with_name(self, parent: ThingId, name: str, kind: ThingKind, thing: ThingId | None) -> Draft:
        return Draft(self.things, {**self.names, (parent, name): (kind, thing)}, self.reads)

    def with_read(self, thing: ThingId, name: str) -> Draft:
        return self if thing in self.reads else Draft(self.things, self.names, {**self.reads, thing: name})


def content_of(draft: Draft, registered: Iterable[ObjectId] = ()) -> Content:
    """Turn a draft, its tables already netted, into what the commit says. A no-op is not a change."""
    known = set(registered)
    told = [t for t in draft.things.values() if _says_something(t)]
    objects = [o for t in told if not t.dropped for s in t.statements for o in s.objects]
    vanished = {t.id for t in draft.things.values() if t.created and t.dropped}
    return Content(
        entries=tuple(_entry(t) for t in told),
        names=tuple(
            NameBinding(parent, name, kind, thing)
            for (parent, name), (kind, thing) in draft.names.items()
            if thing not in vanished and not (thing is None and _only_vanished(draft, parent, name, vanished))
        ),
        changes=tuple(_change(t) for t in told if not t.dropped and _objects(t)),
        views=tuple(_first_view(t) for t in told if t.created and t.kind == "table"),
        schemas=tuple(t.schema for t in told if t.created and t.schema),
        objects=tuple(o for o in objects if o.stored.id not in known),
        linked=tuple(o.stored.id for o in objects if o.stored.id in known),
        sha256={o.stored.id: o.stored.sha256 for o in objects},
    )


def _says_something(thing: ThingDraft) -> bool:
    if thing.created and thing.dropped:
        return False
    return thing.created or thing.dropped or bool(_objects(thing))


def _only_vanished(draft: Draft, parent: ThingId, name: str, vanished: set[ThingId]) -> bool:
    """Whether a name was bound and unbound by this commit alone."""
    own = [t for t in draft.things.values() if t.dropped and t.parent_id == parent]
    freed = [t for t in own if t.name.rsplit(".", 1)[-1] == name]
    return bool(freed) and all(t.id in vanished for t in freed)


def _objects(thing: ThingDraft) -> list[NewObject]:
    return [o for s in thing.statements for o in s.objects]


def _entry(thing: ThingDraft) -> Entry:
    is_table = thing.kind == "table"
    schema_id = thing.schema.id if thing.schema else None
    rows = (0 if thing.dropped else thing.row_count) if is_table else None
    return Entry(thing.id, thing.kind, schema_id, rows, thing.operations, thing.attributes, thing.dropped)


def _change(thing: ThingDraft) -> Change:
    return Change(thing.id, tuple(o.stored.id for o in _objects(thing)))


def _first_view(thing: ThingDraft) -> View:
    """The snapshot of a new table is also its change."""
    ids = tuple(o.stored.id for o in _objects(thing))
    return View(ViewId(new_id("v")), thing.id, "snapshot", ids, thing.row_count)


@dataclass(frozen=True)
class Moved:
    """What others did to the branch since the commit's parent."""

    things: frozenset[str]
    names: frozenset[tuple[str, str]]


def clashes(draft: Draft, content: Content, moved: Moved, strict: bool) -> tuple[str, ...]:
    """Name what both this commit and the others touched; nothing means that the commit may go on the new head."""
    wrote = {e.thing_id for e in content.entries}
    watched = wrote | set(draft.reads) if strict else wrote
    both = [_name_of(draft, t) for t in watched & moved.things]
    both += [n.name for n in content.names if (n.parent_id, n.name) in moved.names]
    parents = {n.parent_id for n in content.names if n.thing_id is not None}
    both += [_name_of(draft, ThingId(t)) for t in parents & moved.things]
    return tuple(sorted(set(both)))


def _name_of(draft: Draft, thing: ThingId | str) -> str:
    found = draft.things.get(ThingId(thing))
    return found.name if found else draft.reads.get(ThingId(thing), str(thing))
