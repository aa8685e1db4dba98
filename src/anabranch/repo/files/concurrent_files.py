"""Publishes beside others who wrote to the same files: appends are applied in the order of publishing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from anabranch.errors import AlreadyExists
from anabranch.model.files import FileRow, address_of
from anabranch.model.ids import ObjectId
from anabranch.model.objects import contents_of
from anabranch.model.tables import TableState
from anabranch.plan.commit import ThingDraft, draft_state, objects_of, packs_of
from anabranch.plan.merge.files import merge_file
from anabranch.repo.context.context import Context
from anabranch.repo.files.block_writer import BlockWriter
from anabranch.repo.files.blocks import BlockReader
from anabranch.repo.files.clashes import find_clashes, inserted_paths, keys_of
from anabranch.repo.files.statement import changed, statement_of
from anabranch.repo.files.tree import FileTree


def files_on_top(ctx: Context, thing: ThingDraft, head: TableState, *, met: bool) -> ThingDraft | None:
    """Redo a commit's changes on a head where others changed files, too; None if some of them conflict.

    Unless rows `met`, only check for files where folders are.
    """
    made = objects_of(thing)
    pending = contents_of((*made, *packs_of(thing)))
    done = _merged(ctx, thing, head, pending) if met else thing
    if done is not None:
        _refuse_clashes(ctx, replace(done, base=head), pending)
    return done


def _merged(ctx: Context, thing: ThingDraft, head: TableState, pending: Mapping[ObjectId, bytes]) -> ThingDraft | None:
    reader = BlockReader(ctx, {o.stored.id: o.stored for o in packs_of(thing)}, pending)
    assert thing.base is not None
    keys = keys_of(ctx, objects_of(thing), head.schema, pending)
    paths = [address_of(*key) for key in keys]
    trees = [_tree(ctx, state, reader, pending) for state in (thing.base, head, draft_state(thing))]
    base, ours, own = (tree.rows_at(paths) for tree in trees)
    writer, found = BlockWriter(ctx), []
    for path in paths:
        old, mine, other = (_apart(reader, rows.get(path)) for rows in (base, ours, own))
        merged = merge_file(old, mine, other, "conflict", lambda _: b"") if old != mine else None
        if merged is not None and merged.conflict:
            return None
        row = own.get(path) if merged is None else _folded(writer, merged.row)
        found.append(changed(ours.get(path), row))
    statement = statement_of(ctx, head.schema, [c for c in found if c is not None], writer)
    statement = replace(statement, packs=(*packs_of(thing), *statement.packs))
    return replace(thing, base=head, statements=(statement,) if statement.objects else ())


def _tree(ctx: Context, state: TableState, reader: BlockReader, pending: Mapping[ObjectId, bytes]) -> FileTree:
    return FileTree(ctx, lambda: state, reader, None, pending)


def _apart(reader: BlockReader, row: FileRow | None) -> FileRow | None:
    return row and row._replace(blocks=reader.leaves(row.blocks, row.path))


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
