"""A table at a commit: from its name to what it takes to read it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import NamedTuple

from anabranch.catalog import entries, objects, views
from anabranch.catalog.entries import Named
from anabranch.catalog.store import Connection
from anabranch.errors import Corrupt, InvalidRequest, NotFound
from anabranch.model.clock import Clock
from anabranch.model.files import FILES_NAME, files_schema, files_thing
from anabranch.model.ids import ROOT_NAMESPACE, SchemaId, ThingId
from anabranch.model.names import split_table_name
from anabranch.model.objects import Layer
from anabranch.model.schema import Schema
from anabranch.model.tables import TableEntry, TableState
from anabranch.repo.context.context import Context


class FoundTable(NamedTuple):
    """A table, and its name as written; names are found in any case."""

    id: ThingId
    name: str


def find_table(ctx: Context, cx: Connection, at: Clock, name: str) -> FoundTable:
    """Find a table by its name; the error suggests the nearest name."""
    namespaces, own = split_table_name(name)
    path = _find_path(ctx, cx, at, namespaces)
    parent = path[-1].thing_id if path else ROOT_NAMESPACE
    found = find_called(ctx, cx, at, parent, own)
    prefix = "".join(f"{n.name}." for n in path)
    if found is None or found.kind != "table":
        named = entries.list_names(cx, ctx.record.id, at, parent)
        raise no_table(name, prefix, {n.name: n.kind for n in named})
    return FoundTable(found.thing_id, prefix + found.name)


def no_table(name: str, prefix: str, there: Mapping[str, str]) -> NotFound:
    """The error for a table that is not there; it suggests the nearest of the names beside it, or lists them."""
    tables, namespaces = (sorted(n for n, k in there.items() if k == kind) for kind in ("table", "namespace"))
    near = next(iter(get_close_matches(name.removeprefix(prefix), tables, n=1)), None)
    hint = f"did you mean {prefix + near!r}?" if near else _listed(tables, namespaces)
    return NotFound(f"there is no table {name!r} at this commit", hint=hint, table=name, near=near)


def find_called(ctx: Context, cx: Connection, at: Clock, parent: ThingId, name: str) -> Named | None:
    """Find a name in any case, preferring the exact spelling."""
    exact = entries.find_name(cx, ctx.record.id, at, parent, name)
    if exact:
        return exact
    similar = {n.name: n for n in entries.find_similar(cx, ctx.record.id, at, parent, name)}
    own = the_one(list(similar), name)
    return similar[own] if own else None


def the_one(similar: Sequence[str], name: str) -> str | None:
    """Return the only match in any case; refuse several, as it is unclear which is meant."""
    if len(similar) > 1:
        both = " and ".join(map(repr, similar[:2]))
        raise InvalidRequest(f"{name!r} may be {both}", hint="write the name as the table has it", table=name)
    return next(iter(similar), None)


def _listed(tables: Sequence[str], namespaces: Sequence[str]) -> str:
    names = tables or namespaces
    if not names:
        return "there are no tables yet"
    first = f"{', '.join(names[:10])}{', …' if len(names) > 10 else ''}"
    return f"there: {first}" if tables else f"there are only namespaces: {first}"


def find_namespace(ctx: Context, cx: Connection, at: Clock, parts: tuple[str, ...]) -> ThingId:
    """Find a namespace's id by its path."""
    path = _find_path(ctx, cx, at, parts)
    return path[-1].thing_id if path else ROOT_NAMESPACE


def _find_path(ctx: Context, cx: Connection, at: Clock, parts: tuple[str, ...]) -> list[Named]:
    """Find a namespace and those above it."""
    path: list[Named] = []
    for part in parts:
        parent = path[-1].thing_id if path else ROOT_NAMESPACE
        found = find_called(ctx, cx, at, parent, part)
        if found is None or found.kind != "namespace":
            name = ".".join(parts)
            there = [n.name for n in entries.list_names(cx, ctx.record.id, at, parent) if n.kind == "namespace"]
            near = get_close_matches(part, there, n=1)
            hint = (
                f"did you mean {'.'.join((*parts[: len(path)], near[0]))!r}?" if near else "create the namespace first"
            )
            raise NotFound(f"there is no namespace {name!r}", hint=hint)
        path.append(found)
    return path


def table_state(ctx: Context, cx: Connection, at: Clock, table: ThingId, name: str) -> TableState:
    """Read a table at a commit: its schema, its size and its objects."""
    entry = entries.find_entry(cx, at, table)
    if entry is None and table == files_thing(ctx.record.id):
        schema = files_schema(ctx.record.id)
        return TableState(table, name, schema, 0)  # No commit has stored the schema yet.
    if entry is None or entry.dropped or entry.schema_id is None:
        raise Corrupt(f"table {name!r} has a name but no entry", hint="run `ana verify`")
    layers = views.layers(cx, at, table, ctx.known_objects)
    ctx.known_objects.make_room(layers)
    known = schema_of(ctx, cx, {entry.schema_id, *layers.schema_ids})
    row_count = entry.row_count or 0
    if table == files_thing(ctx.record.id) and layers.counted_rows is not None:
        row_count = layers.counted_rows  # Earlier versions counted wrongly where writers published at the same time.
    return TableState(table, name, known[entry.schema_id], row_count, layers, known, entry.attributes)


def files_state(ctx: Context, cx: Connection, at: Clock) -> TableState:
    """Read the file tree at a commit; empty if it has none yet."""
    return table_state(ctx, cx, at, files_thing(ctx.record.id), FILES_NAME)


def schema_of(ctx: Context, cx: Connection, ids: set[SchemaId]) -> dict[str, Schema]:
    """Read schemas, from the cache where possible; they never change."""
    missing = [i for i in ids if i not in ctx.known_schemas]
    if missing:
        ctx.known_schemas.update(objects.schemas(cx, missing))
    return {i: ctx.known_schemas[i] for i in ids}


def schemas_for(ctx: Context, cx: Connection, layers: Iterable[Layer], *states: TableState) -> dict[str, Schema]:
    """The schemas that states know, and those of all objects in layers, including exceptions."""
    known = {id_: schema for state in states for id_, schema in state.schemas.items()}
    ids = {o.schema_id for x in layers for o in (x.object, *x.without)}
    return {**schema_of(ctx, cx, ids - known.keys()), **known}


def names_below(
    ctx: Context, cx: Connection, at: Clock, start: ThingId = ROOT_NAMESPACE, prefix: str = ""
) -> Iterator[tuple[str, entries.Named]]:
    """Yield everything named in a namespace and below it, each with its full name."""
    todo, seen = [(prefix, start)], set[str]()
    while todo:
        before, parent = todo.pop()
        entries.refuse_loop(seen, parent)
        for named in entries.list_names(cx, ctx.record.id, at, parent):
            yield before + named.name, named
            if named.kind == "namespace":
                todo.append((f"{before}{named.name}.", named.thing_id))


def list_tables(ctx: Context, cx: Connection, at: Clock, namespace: str | None) -> list[TableEntry]:
    """List tables with their sizes; all of them, or those of one namespace."""
    return [entry for entry, _ in list_schemas(ctx, cx, at, namespace)]


def list_schemas(ctx: Context, cx: Connection, at: Clock, namespace: str | None) -> list[tuple[TableEntry, Schema]]:
    """List tables with their sizes and their columns, by name."""
    path = _find_path(ctx, cx, at, () if namespace is None else tuple(namespace.split(".")))
    start = path[-1].thing_id if path else ROOT_NAMESPACE
    below = names_below(ctx, cx, at, start, "".join(f"{part.name}." for part in path))
    found = [(name, named.thing_id) for name, named in below if named.kind == "table"]
    described = entries.find_entries(cx, at, [thing for _, thing in found])
    known = objects.schemas(cx, [e.schema_id for e in described.values() if e.schema_id])
    return [
        describe_table(name, thing, described[thing].row_count or 0, known[described[thing].schema_id or ""])
        for name, thing in sorted(found)
    ]


def describe_table(name: str, thing: ThingId, rows: int, schema: Schema) -> tuple[TableEntry, Schema]:
    """A table as listings show it, and its columns."""
    return TableEntry(name, thing, rows, len(schema), schema.key_names), schema
