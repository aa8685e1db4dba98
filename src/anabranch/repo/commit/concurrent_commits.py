"""Publishing beside other writers: did two commits touch the same row, and how a commit moves onto a new head."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from anabranch.catalog import entries, history, paths
from anabranch.catalog.store import Connection
from anabranch.errors import AlreadyExists
from anabranch.frames.output import to_dicts
from anabranch.model.clock import Clock
from anabranch.model.content import Content, Publication
from anabranch.model.files import FILES_NAME, FileRow, address_of
from anabranch.model.ids import ObjectId, ThingId
from anabranch.model.layers import chained, with_exceptions
from anabranch.model.objects import Layer, contents_of
from anabranch.model.paths import join_path
from anabranch.model.tables import TableState
from anabranch.plan import commit as plan
from anabranch.plan.commit import ThingDraft, draft_state, objects_of, packs_of
from anabranch.plan.merge.files import merge_brought, merge_file
from anabranch.plan.path import Leg, find_path
from anabranch.queries.met_keys import Meeting, met_keys
from anabranch.queries.query import Sources, limited
from anabranch.repo.context.context import Context
from anabranch.repo.context.table_state import files_state, schemas_for
from anabranch.repo.files.block_writer import BlockWriter
from anabranch.repo.files.blocks import BlockReader
from anabranch.repo.files.clashes import find_clashes, inserted_paths, keys_of
from anabranch.repo.files.statement import changed, statement_of
from anabranch.repo.files.tree import FileTree
from anabranch.repo.read.conditions import pick_engine, reading

_NAMED_AT_MOST = 3


@dataclass(frozen=True)
class ConcurrentChanges:
    """What others changed between a commit's parent and the new head, as far as it concerns the commit."""

    names: tuple[str, ...]
    """Tables, namespaces and names that both changed as a whole."""
    rows: Mapping[str, list[dict[str, Any]]]
    """Some keys of rows that both touched, by table."""
    counts: Mapping[ThingId, int]
    """The row counts of tables on the new head, where both changed different rows of one table."""
    files: plan.ThingDraft | None = None
    """The file tree, with the commit's changes applied on top of the others'."""

    @property
    def clash(self) -> bool:
        return bool(self.names or self.rows)

    def description(self) -> str:
        """Say what both touched."""
        if self.names:
            named = ("files" if n == FILES_NAME else repr(n) for n in self.names)
            return f"others changed {', '.join(named)}, which this commit also touches"
        parts = [_table_text(table, keys) for table, keys in self.rows.items()]
        return f"others changed rows that this commit also changes: {', '.join(parts)}"


def _table_text(table: str, keys: list[dict[str, Any]]) -> str:
    if table == FILES_NAME:
        return ", ".join(repr(join_path(**key)) for key in keys)
    return f"{table!r} ({'; '.join(_shown(k) for k in keys) or 'rows'})"


def _shown(key: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in key.items())


def find_concurrent_changes(
    ctx: Context, cx: Connection, draft: plan.Draft, publication: Publication, at: Clock, strict: bool
) -> ConcurrentChanges:
    """Find what both this commit and those since its parent touched. Rows are compared by key, not cell by cell."""
    content, base = publication.content, publication.parents[0].position
    things, names = entries.touched(cx, at.since(base))
    legs = find_path(history.Lines(cx), base, at.head)
    shared = {} if strict else _shared(ctx, cx, draft, content, legs, things)
    both = plan.clashes(draft, content, plan.Moved(frozenset(things - shared.keys()), frozenset(names)), strict)
    if both:
        return ConcurrentChanges(both, {}, {})
    rows, counts, files = {}, {}, None
    for thing, layers in shared.items():
        table = draft.things[ThingId(thing)]
        met = _met(ctx, cx, table, layers)
        if table.kind == "files":
            files = files_on_top(ctx, table, files_state(ctx, cx, at), met=met is not None)
            if files is not None:
                continue
        if met is not None:
            rows[table.name] = met
        entry = entries.find_entry(cx, at, table.id)
        counts[table.id] = (entry.row_count or 0) if entry else 0
    return ConcurrentChanges((), rows, counts, files)


def _shared(
    ctx: Context, cx: Connection, draft: plan.Draft, content: Content, legs: Sequence[Leg], things: set[str]
) -> dict[str, tuple[Layer, ...]]:
    """The tables in which both sides changed only rows, with the others' changes."""
    found: dict[str, tuple[Layer, ...]] = {}
    for entry in content.entries:
        thing = draft.things[entry.thing_id]
        if entry.thing_id not in things or not plan.writes_rows_only(thing):
            continue
        done = set(paths.operations(cx, legs, [thing.id]))
        layers = (
            paths.layers_along(cx, legs, [thing.id], ctx.known_objects)
            if done <= {"insert", "update", "delete"}
            else None
        )
        if layers is not None:
            found[str(thing.id)] = layers
    return found


def _met(
    ctx: Context, cx: Connection, table: plan.ThingDraft, others: tuple[Layer, ...]
) -> list[dict[str, Any]] | None:
    """Some of the keys that both touched; None if there are none."""
    own = tuple(Layer(1, o.stored) for o in plan.objects_of(table))
    state = plan.draft_state(table)
    layers = chained(own, with_exceptions(others))
    state = replace(state, schemas=schemas_for(ctx, cx, others, state), layers=layers)
    pending = contents_of(plan.objects_of(table))
    columns = state.schema.columns
    query = met_keys(Meeting(others, own, rows=True), state, columns, ctx.access(layers, pending), Sources())
    if query is None:
        return None
    engine = pick_engine(ctx, state, f"rows of {table.name!r} that others changed, too", state.schema.key_columns)
    with reading(ctx, state):
        found = engine.fetch(limited(query, _NAMED_AT_MOST))
    if not found.num_rows:
        return None
    names = {str(c.id): c.name for c in state.schema.key_columns}
    return [{names[k]: v for k, v in row.items()} for row in to_dicts(found)] if state.schema.has_key else []


def on_top(content: Content, draft: plan.Draft, concurrent: ConcurrentChanges) -> tuple[Content, plan.Draft]:
    """Adapt the commit to the new head: row counts include what others inserted and deleted.

    The draft is adapted as well, since the head may move once more before the commit is published.
    """
    if not concurrent.counts and concurrent.files is None:
        return content, draft
    things = dict(draft.things)
    for id_, row_count in concurrent.counts.items():
        base = things[id_].base
        assert base is not None, "others changed the table, so it was there"
        things[id_] = replace(things[id_], base=replace(base, row_count=row_count))
    if concurrent.files is not None:
        things[concurrent.files.id] = concurrent.files
    draft = replace(draft, things=things)
    return plan.content_of(draft, content.linked), draft


def files_on_top(ctx: Context, thing: ThingDraft, head: TableState, *, met: bool) -> ThingDraft | None:
    """Put a commit's changes of files on a head where others changed files, too.

    None if some of them conflict. Unless rows `met`, only check for files where folders are.
    """
    pending = contents_of((*objects_of(thing), *packs_of(thing)))
    done = _merged(ctx, thing, head, pending) if met else replace(thing, base=head)
    if done is not None:
        _refuse_clashes(ctx, done, pending)
    return done


def _merged(ctx: Context, thing: ThingDraft, head: TableState, pending: Mapping[ObjectId, bytes]) -> ThingDraft | None:
    reader = BlockReader(ctx, {o.stored.id: o.stored for o in packs_of(thing)}, pending)
    assert thing.base is not None
    keys = keys_of(ctx, objects_of(thing), head.schema, pending)
    paths = [address_of(*key) for key in keys]
    trees = [_tree(ctx, state, reader, pending) for state in (thing.base, head, draft_state(thing))]
    base, ours, own = (tree.rows_at(paths) for tree in trees)
    writer, found = BlockWriter(ctx), []
    brought = _brought_from_elsewhere(thing, [reader.taken_apart(own[p]) for p in paths if p in own and p not in base])
    for path in paths:
        old, mine, other = (reader.taken_apart(rows.get(path)) for rows in (base, ours, own))
        is_deleted_twice = old is not None and mine is None and other is None
        if is_deleted_twice and _holds_any(old, brought):
            return None  # The commit moved a file that others deleted.
        merged = None
        if old is None and mine is not None and other is not None and _holds_any(other, brought):
            merged = merge_brought(mine, other, "conflict", lambda _: b"")
        elif old != mine:
            merged = merge_file(old, mine, other, "conflict", lambda _: b"")
        if merged is not None and merged.conflict:
            return None
        row = own.get(path) if merged is None else _folded(writer, merged.row)
        found.append(changed(ours.get(path), row))
    statement = statement_of(ctx, head.schema, [c for c in found if c is not None], writer)
    statement = replace(statement, packs=(*packs_of(thing), *statement.packs))
    return replace(thing, base=head, statements=(statement,) if statement.objects else ())


def _brought_from_elsewhere(thing: ThingDraft, new: Sequence[FileRow | None]) -> frozenset[tuple[str, int]]:
    """The references in new files of a commit that it did not write: it moved or copied them there."""
    written = {o.stored.id for o in packs_of(thing)}
    refs = (ref for row in new if row is not None for ref in row.blocks)
    return frozenset(ref.key for ref in refs if ref.size and ref.object not in written)


def _holds_any(row: FileRow | None, keys: frozenset[tuple[str, int]]) -> bool:
    return row is not None and any(ref.key in keys for ref in row.blocks)


def _tree(ctx: Context, state: TableState, reader: BlockReader, pending: Mapping[ObjectId, bytes]) -> FileTree:
    return FileTree(ctx, lambda: state, reader, None, pending)


def _folded(writer: BlockWriter, row: FileRow | None) -> FileRow | None:
    return row and row._replace(blocks=writer.fold(row.blocks))


def _refuse_clashes(ctx: Context, thing: ThingDraft, pending: Mapping[ObjectId, bytes]) -> None:
    state = draft_state(thing)
    more = contents_of(objects_of(thing))
    known = {**pending, **more}
    tree = _tree(ctx, state, BlockReader(ctx), known)
    for file, below in find_clashes(tree, inserted_paths(ctx, objects_of(thing), state.schema, known)):
        message = f"{file!r} can't be a file and a folder: others brought {file!r} or {below!r} meanwhile"
        raise AlreadyExists(message, hint="choose another path, and commit again", path=file)
