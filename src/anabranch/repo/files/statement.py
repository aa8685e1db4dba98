"""Changes of files as one statement on the tree: compared with what is there, stored as any change of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import pyarrow as pa

from anabranch.errors import AlreadyExists
from anabranch.model.files import BlockRef, FileRow
from anabranch.model.objects import NewObject
from anabranch.model.paths import folders_above, split_path
from anabranch.model.schema import Schema
from anabranch.objects.parquet import table_range
from anabranch.plan.commit import Statement
from anabranch.queries.query import DELETE, INSERT, OP, UPDATE, Rows
from anabranch.repo.context.context import Context
from anabranch.repo.files.block_writer import BlockWriter
from anabranch.repo.files.tree import FileTree
from anabranch.repo.files.tree_rows import column_arrays
from anabranch.repo.write.netting import counts_of, store_difference
from anabranch.repo.write.scratch import Kept

Change = tuple[str, FileRow | None, FileRow | None]
"""What happens to a row, before, after."""


@dataclass(frozen=True)
class FileChange:
    """What is to become of one path; one with a slash at its end is a folder's own row."""

    fresh: bool
    """Whether what was there goes."""
    refs: tuple[BlockRef, ...] | None
    """None: nothing is there after."""
    sha256: bytes | None
    written_at: datetime
    mode: int | None = None
    media_type: str | None = None
    properties: str | None = None
    size: int | None = None
    """Where references are lists: how many bytes all of them are."""

    def followed_by(self, later: FileChange) -> FileChange:
        """This change, and an append after it."""
        assert later.refs is not None
        size = None if self.size is None else self.size + sum(r.size for r in later.refs)
        return replace(
            self, refs=(*(self.refs or ()), *later.refs), sha256=None, written_at=later.written_at, size=size
        )

    def applied_to(
        self, path: str, row: FileRow | None, blocks: BlockWriter, digest_of: Callable[[FileRow], bytes]
    ) -> FileRow | None:
        """The row after the change; the same object if nothing changes."""
        if self.refs is None:
            return None
        parent, name = split_path(path)
        size = sum(r.size for r in self.refs) if self.size is None else self.size
        if row is None or self.fresh:
            told = (self.mode, self.written_at, self.media_type, self.properties)
            made = FileRow(parent, name, size, self.sha256, *told, blocks.fold(self.refs))
            single = len(made.blocks) == 1 and made.blocks[0].level == 0 and made.blocks[0].sha256 == self.sha256
            made = made._replace(sha256=None) if single else made
            return row if row is not None and _is_same(row, made, digest_of) else made
        if not size:
            return row
        refs = blocks.fold((*row.blocks, *self.refs))
        return row._replace(size=row.size + size, sha256=None, written_at=self.written_at, blocks=refs)


def _is_same(row: FileRow, made: FileRow, digest_of: Callable[[FileRow], bytes]) -> bool:
    """Whether a file with the same bytes was put; what was not said of it stays as it is."""
    if not row.name or row.size != made.size:
        return row.name == made.name == ""
    if (row.digest or digest_of(row)) != (made.digest or digest_of(made)):
        return False
    pairs = [(row.mode, made.mode), (row.media_type, made.media_type), (row.properties, made.properties)]
    return all(new is None or old == new for old, new in pairs)


def files_statement(ctx: Context, tree: FileTree, changes: Mapping[str, FileChange], blocks: BlockWriter) -> Statement:
    """Compare changes with the tree, refuse files in the place of folders, and store what differs."""
    above = {folder for path, c in changes.items() if c.refs is not None for folder in folders_above(path)}
    there = tree.rows_at([*changes, *above])
    rows = ((path, there.get(path), change) for path, change in changes.items())
    compared = [changed(row, change.applied_to(path, row, blocks, tree.digest)) for path, row, change in rows]
    found = [c for c in compared if c is not None]
    _refuse_clashes(tree, changes, there, found)
    return statement_of(ctx, tree._state.schema, found, blocks)


def statement_of(ctx: Context, schema: Schema, found: Sequence[Change], blocks: BlockWriter) -> Statement:
    """Store compared rows, and hand over the packs that they speak of."""
    made = store_rows(ctx, found, schema) if found else ()
    packs = blocks.taken()
    if not made:
        ctx.discard(packs)
        return Statement("update", (), counts_of(()))
    return Statement("update", made, counts_of(made), packs=packs)


def changed(before: FileRow | None, after: FileRow | None) -> Change | None:
    """What happens to a row; None if it stays as it is."""
    if before == after:
        return None
    return (INSERT if before is None else DELETE if after is None else UPDATE), before, after


def store_rows(ctx: Context, found: Sequence[Change], schema: Schema) -> tuple[NewObject, ...]:
    """Store rows that were inserted, updated and deleted."""
    engine = ctx.engines.duck()
    keys = [after or before for _, before, after in found]
    arrays = column_arrays(keys, schema.key_columns)
    names = [str(c.id) for c in schema.key_columns]
    columns = schema.plain_columns
    arrays += column_arrays([before for _, before, _ in found], columns)
    arrays += column_arrays([after for _, _, after in found], columns)
    names += [*(c.before for c in columns), *(str(c.id) for c in columns)]
    table = pa.table([*arrays, pa.array([c[0] for c in found], pa.string())], names=[*names, OP])
    kept = Kept(Rows(table), table.num_rows, table_range(table, schema.key_columns))
    return store_difference(ctx, engine, kept, schema, schema.columns)


def _refuse_clashes(
    tree: FileTree, changes: Mapping[str, FileChange], there: Mapping[str, FileRow], found: Iterable[Change]
) -> None:
    """Refuse a file in the place of a folder, and a folder in the place of a file."""
    new = [after for op, _, after in found if op == INSERT and after is not None]
    if not new:
        return
    gone = {path for path, change in changes.items() if change.refs is None}
    files = {row.path for row in new if row.name} | {p for p, row in there.items() if row.name and p not in gone}
    for row in new:
        for folder in folders_above(row.path if row.name else f"{row.path}/"):
            if folder in files:
                raise _clash(folder, row.path)
    paths = sorted(row.path for row in new if row.name)
    if paths:
        _refuse_folders(tree, paths, gone)


def _refuse_folders(tree: FileTree, paths: Sequence[str], gone: set[str]) -> None:
    """Refuse new files where folders are; what is in these may go in the same statement."""
    for path in sorted(tree.folders(paths[0], paths[-1]).intersection(paths)):
        inside = [r.path for r in tree.rows_below(path) if r.address not in gone]
        if inside:
            raise _clash(path, inside[0])


def _clash(file: str, below: str) -> AlreadyExists:
    message = f"{file!r} can't be a file and a folder: there is {below!r}"
    return AlreadyExists(message, hint="choose another path, or delete what is there first", path=file)
