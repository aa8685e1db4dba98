"""Decide what a commit says from the drafts of its things, and whether it may be put on a branch that moved."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from anabranch.model.changes import Counts
from anabranch.model.content import Change, Content, NameBinding, View
from anabranch.model.ids import ROOT_NAMESPACE, ObjectId, ThingId, ViewId, new_id
from anabranch.model.layers import Layers, as_layers
from anabranch.model.objects import Layer, NewObject
from anabranch.model.schema import Schema, schema_document
from anabranch.model.tables import Entry, Operation, TableState, ThingKind, holds_rows


@dataclass(frozen=True)
class Statement:
    """What one statement wrote: objects that nobody else sees yet."""

    operation: Operation
    objects: tuple[NewObject, ...]
    counts: Counts
    exact: bool = True
    """Whether the objects change each key once; a statement that changes keys may not: it deletes and inserts."""
    packs: tuple[NewObject, ...] = ()
    """The new bytes of versioned files that the objects refer to."""


@dataclass(frozen=True)
class ThingDraft:
    """A namespace or table as an unfinished commit has it."""

    id: ThingId
    kind: ThingKind
    parent_id: ThingId
    name: str
    """The full name, with namespaces."""
    base: TableState | None
    """The table at the parent; None if this commit makes it."""
    schema: Schema | None = None
    statements: tuple[Statement, ...] = ()
    operations: tuple[Operation, ...] = ()
    dropped: bool = False
    attributes: Mapping[str, Any] = field(default_factory=dict)
    base_name: str | None = None
    base_attributes: Mapping[str, Any] = field(default_factory=dict)
    schemas: Mapping[str, Schema] = field(default_factory=dict)
    """The schemas that the table had in this commit, by id: not all objects are written under the last one."""
    replaced_rows: int | None = None
    """How many rows the table had when a new key made it a new version; None if none did."""
    superseded: tuple[NewObject, ...] = ()
    """Objects of statements that a new version made obsolete."""
    linked_schemas: frozenset[str] = frozenset()
    """Schemas that the catalogue has already: those of objects that a merge links."""

    @property
    def table_schema(self) -> Schema:
        """The schema of what holds rows: a table or the file tree."""
        assert self.schema is not None
        return self.schema

    @property
    def created(self) -> bool:
        return "create" in self.operations

    @property
    def replaced(self) -> bool:
        return self.replaced_rows is not None

    @property
    def counts(self) -> Counts:
        return sum((s.counts for s in self.statements), Counts())

    @property
    def row_count(self) -> int:
        before = self.replaced_rows if self.replaced_rows is not None else self.base.row_count if self.base else 0
        total = self.counts
        return before + total.inserted - total.deleted

    @property
    def needs_netting(self) -> bool:
        """Whether the statements may have changed a key more than once, or cells of dropped columns.

        Keys are unique, so inserts alone never do.
        """
        kinds = {o.stored.kind for o in objects_of(self)}
        several = len([s for s in self.statements if s.objects]) > 1
        return not all(s.exact for s in self.statements) or (several and kinds != {"rows"}) or self.has_lost_cells

    @property
    def has_lost_cells(self) -> bool:
        """Whether updates touched columns that were dropped later."""
        there = {c.id for c in self.schema or ()}
        updates = [o.stored for o in objects_of(self) if o.stored.kind == "update"]
        return any(not there.issuperset(o.touched) for o in updates)


def objects_of(thing: ThingDraft) -> list[NewObject]:
    """The objects of all statements, in order."""
    return [o for s in thing.statements for o in s.objects]


def packs_of(thing: ThingDraft) -> list[NewObject]:
    """The new bytes of versioned files that the objects refer to."""
    return [o for s in thing.statements for o in s.packs]


def all_objects_of(thing: ThingDraft) -> list[NewObject]:
    """All objects that a draft has written and still needs."""
    return [*objects_of(thing), *packs_of(thing)]


def draft_state(thing: ThingDraft) -> TableState:
    """The table as the unfinished commit shows it: the parent's layers, then one turn for each statement."""
    schema = thing.table_schema
    below = as_layers(thing.base.layers if thing.base and not thing.replaced else ())
    first = below.top + 1
    pending = [Layer(first + n, o.stored) for n, s in enumerate(thing.statements) for o in s.objects]
    schemas = {**(thing.base.schemas if thing.base else {}), **thing.schemas, schema.id: schema}
    layers = Layers.over(below, pending)
    return TableState(thing.id, thing.name, schema, thing.row_count, layers, schemas, thing.attributes)


def draft_changes(thing: ThingDraft) -> tuple[Layer, ...] | None:
    """The statements' changes; None if they may hold a key twice or cells of dropped columns."""
    if thing.replaced or thing.has_lost_cells or not all(s.exact for s in thing.statements):
        return None
    return tuple(Layer(n, o.stored) for n, s in enumerate(thing.statements) for o in s.objects)


def with_statement(thing: ThingDraft, statement: Statement) -> ThingDraft:
    """The draft after one more statement; one that touched nothing leaves no trace."""
    if not statement.objects:
        return thing
    known = thing.operations
    if not (thing.created and statement.operation == "insert"):
        known = _followed(known, statement.operation)
    return replace(thing, statements=(*thing.statements, statement), operations=known)


def with_schema(thing: ThingDraft, schema: Schema) -> ThingDraft:
    """The draft under another schema; what was written before stays as it is."""
    operations = _followed(thing.operations, "alter column")
    known = {str(s.id): s for s in (thing.schema, schema) if s}
    return replace(thing, schema=schema, schemas={**thing.schemas, **known}, operations=operations)


def with_attributes(thing: ThingDraft, operation: Operation, **changed: Any) -> ThingDraft:
    """The draft with changed attributes; those that are None or empty are removed."""
    attributes = {k: v for k, v in {**thing.attributes, **changed}.items() if v}
    return replace(thing, attributes=attributes, operations=_followed(thing.operations, operation))


def with_version(thing: ThingDraft, schema: Schema, objects: tuple[NewObject, ...]) -> ThingDraft:
    """The draft as a new version of the table: all rows written again, under another key."""
    rows = thing.row_count
    made = replace(
        with_schema(thing, schema), superseded=(*thing.superseded, *all_objects_of(thing)), replaced_rows=rows
    )
    return replace(made, statements=(Statement("alter column", objects, Counts()),) if objects else ())


def _followed(known: tuple[Operation, ...], operation: Operation) -> tuple[Operation, ...]:
    return known if known[-1:] == (operation,) else (*known, operation)


NamePlace = tuple[ThingId, str]
"""A namespace, and a name in it."""
Bound = tuple[ThingKind, ThingId] | None
"""What a name stands for."""


def place_of(thing: ThingDraft) -> NamePlace:
    """The namespace of a thing and its own name there."""
    return thing.parent_id, thing.name.rsplit(".", 1)[-1]


@dataclass
class Draft:
    """All that an unfinished commit has done; its transaction adds to it."""

    things: dict[ThingId, ThingDraft] = field(default_factory=dict)
    names: dict[NamePlace, Bound] = field(default_factory=dict)
    base_names: dict[NamePlace, Bound] = field(default_factory=dict)
    """What the names above stood for at the parent."""
    reads: dict[ThingId, str] = field(default_factory=dict)
    """The tables that were opened, with their names."""

    def copy(self) -> Draft:
        """A copy of the draft, to go back to later."""
        return Draft(dict(self.things), dict(self.names), dict(self.base_names), dict(self.reads))

    def bind(self, place: NamePlace, bound: Bound, before: Bound) -> None:
        """Bind a name to a thing, or to nothing; `before` is what it was bound to."""
        if place not in self.names:
            self.base_names[place] = before
        self.names[place] = bound


def content_of(draft: Draft, registered: Iterable[ObjectId] = ()) -> Content:
    """Turn a draft, its tables already netted, into what the commit says. A no-op is not a change."""
    known = set(registered)
    described = [t for t in draft.things.values() if _says_something(t)]
    objects = [o for t in described if not t.dropped for o in objects_of(t)]
    packs = [o for t in described if not t.dropped for o in packs_of(t)]
    brought = {o.stored.id for o in packs}
    spoken_of = {p for o in (*objects, *packs) if o.stored.id not in known for p in o.packs} - brought
    return Content(
        entries=tuple(_entry(t) for t in described),
        names=tuple(_bindings(draft)),
        changes=tuple(_change(t) for t in described if not t.dropped and objects_of(t)),
        views=tuple(_first_view(t) for t in described if holds_rows(t.kind) and _is_new_version(t)),
        schemas=tuple(s for t in described for s in _new_schemas(t)),
        objects=tuple(o for o in (*objects, *packs) if o.stored.id not in known),
        linked=(*(o.stored.id for o in (*objects, *packs) if o.stored.id in known), *sorted(spoken_of)),
        described={o.stored.id: o.stored for o in objects},
    )


def _bindings(draft: Draft) -> Iterable[NameBinding]:
    """The names that are bound differently than at the parent."""
    for (parent, name), bound in draft.names.items():
        before = draft.base_names[parent, name]
        if bound != before:
            kind, thing = bound or ((before or ("table", None))[0], None)
            yield NameBinding(parent, name, kind, thing)


def _says_something(thing: ThingDraft) -> bool:
    if thing.created or thing.dropped:
        return thing.created != thing.dropped
    return bool(_operations(thing))


def _operations(thing: ThingDraft) -> tuple[Operation, ...]:
    """The operations that had an effect."""
    idle = {operation for operation, has_effect in _EFFECTS.items() if not has_effect(thing)}
    return tuple(o for o in thing.operations if o not in idle)


def _differs(*names: str) -> Callable[[ThingDraft], bool]:
    return lambda t: any(t.attributes.get(n) != t.base_attributes.get(n) for n in names)


_EFFECTS: Mapping[Operation, Callable[[ThingDraft], bool]] = {
    "alter name": lambda t: t.name != t.base_name,
    "alter properties": _differs("properties"),
    "alter partition": _differs("cluster_by"),
    "alter column": lambda t: _has_new_schema(t) or _differs("checks")(t),
    "insert": lambda t: bool(objects_of(t)),
    "update": lambda t: bool(objects_of(t)),
    "delete": lambda t: bool(objects_of(t)),
    "overwrite": lambda t: bool(objects_of(t)),
}


def _has_new_schema(thing: ThingDraft) -> bool:
    if thing.schema is None or thing.base is None:
        return thing.schema is not None
    if thing.schema is thing.base.schema:
        return False
    return thing.replaced or schema_document(thing.schema) != schema_document(thing.base.schema)


def writes_rows_only(thing: ThingDraft) -> bool:
    """Tell whether only rows were changed, each by its key; an overwrite touches all of them."""
    done = set(_operations(thing))
    return (
        holds_rows(thing.kind) and not thing.replaced and not thing.dropped and done <= {"insert", "update", "delete"}
    )


def _is_new_version(thing: ThingDraft) -> bool:
    begins = thing.kind == "files" and not (thing.base and thing.base.layers)
    return not thing.dropped and (thing.created or thing.replaced or begins)


def _new_schemas(thing: ThingDraft) -> list[Schema]:
    """The schemas that this commit adds: the last one, and those that some object was written under."""
    if thing.dropped or thing.schema is None:
        return []
    used = {o.stored.schema_id for o in objects_of(thing)} | ({_schema_of(thing).id})
    old = thing.base.schemas if thing.base else {}
    made = {**thing.schemas, thing.schema.id: thing.schema}
    return [made[i] for i in sorted(used) if i not in old and i not in thing.linked_schemas]


def _schema_of(thing: ThingDraft) -> Schema:
    """The schema of the table; one that was changed back is the parent's, not a new one."""
    assert thing.schema is not None
    return thing.schema if thing.base is None or _has_new_schema(thing) else thing.base.schema


def _entry(thing: ThingDraft) -> Entry:
    has_rows = holds_rows(thing.kind)
    schema_id = _schema_of(thing).id if thing.schema else None
    rows = (0 if thing.dropped else thing.row_count) if has_rows else None
    replaced = thing.replaced and not thing.created and not thing.dropped
    return Entry(thing.id, thing.kind, schema_id, rows, _operations(thing), thing.attributes, thing.dropped, replaced)


def _change(thing: ThingDraft) -> Change:
    return Change(thing.id, tuple(o.stored.id for o in objects_of(thing)), _steps(thing))


def _steps(thing: ThingDraft) -> tuple[int, ...]:
    """The step of each object, if later ones may change what earlier ones did: a merge links those of many commits."""
    if all(o.stored.kind == "rows" for o in objects_of(thing)):
        return ()
    found = tuple(n for n, s in enumerate(thing.statements) for _ in s.objects)
    return found if len(set(found)) > 1 else ()


def _first_view(thing: ThingDraft) -> View:
    """The first snapshot of a table, or of one with a new key; its objects are also the change."""
    ids = tuple(o.stored.id for o in objects_of(thing))
    return View(ViewId(new_id("v")), thing.id, "snapshot", ids, thing.row_count, _steps(thing))


@dataclass(frozen=True)
class Moved:
    """What others did to the branch since the commit's parent."""

    things: frozenset[str]
    names: frozenset[tuple[str, str]]


def clashes(draft: Draft, content: Content, moved: Moved, strict: bool) -> tuple[str, ...]:
    """Name what both this commit and the others touched; if nothing, the commit may go on the new head."""
    wrote = {e.thing_id for e in content.entries}
    watched = wrote | set(draft.reads) if strict else wrote
    both = [_name_of(draft, t) for t in watched & moved.things]
    both += [n.name for n in content.names if (n.parent_id, n.name) in moved.names]
    parents = {n.parent_id for n in content.names if n.thing_id is not None}
    both += [_name_of(draft, ThingId(t)) for t in parents & moved.things]
    filled = {parent for parent, _ in moved.names} - {ROOT_NAMESPACE}
    both += [_name_of(draft, e.thing_id) for e in content.entries if e.dropped and e.thing_id in filled]
    if filled:
        both += [_name_of(draft, t) for t in _placed_below(draft, content)]
    return tuple(sorted(set(both)))


def _placed_below(draft: Draft, content: Content) -> list[ThingId]:
    """Namespaces that the commit moves into others: what moved into them meanwhile could close a cycle."""
    below = [n.thing_id for n in content.names if n.kind == "namespace" and n.parent_id != ROOT_NAMESPACE]
    return [t for t in below if t is not None and not draft.things[t].created]


def _name_of(draft: Draft, thing: ThingId | str) -> str:
    found = draft.things.get(ThingId(thing))
    return found.name if found else draft.reads.get(ThingId(thing), str(thing))
