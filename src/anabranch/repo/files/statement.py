"""Changes of files as one statement on the tree: compared with what is there, stored like any change of rows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import chain
from typing import NamedTuple, Protocol

import pyarrow as pa

from anabranch.errors import AlreadyExists
from anabranch.model.files import BlockRef, FileRow
from anabranch.model.objects import NewObject
from anabranch.model.paths import all_folders, split_path
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
"""The operation, the row before, the row after."""


class FileChange(NamedTuple):
    """What becomes of one path; a path that ends in a slash is a folder's own row."""

    fresh: bool
    """Whether the old content is dropped."""
    refs: tuple[BlockRef, ...] | None
    """None deletes the file."""
    sha256: bytes | None
    written_at: datetime
    mode: int | None = None
    media_type: str | None = None
    properties: str | None = None
    size: int | None = None
    """The total number of bytes, if the references are lists."""

    def followed_by(self, later: FileChange) -> FileChange:
        """This change, followed by an append."""
        assert later.refs is not None
        size = None if self.size is None else self.size + sum(r.size for r in later.refs)
        refs = (*(self.refs or ()), *later.refs)
        return self._replace(refs=refs, sha256=None, written_at=later.written_at, size=size)

    def applied_to(
        self, path: str, row: FileRow | None, blocks: BlockWriter, digest_of: Callable[[FileRow], bytes]
    ) -> FileRow | None:
        """The row after the change; the same object if nothing changes."""
        if self.refs is None:
            return None
        parent, name = split_path(path)
        refs, described = self.refs, (self.mode, self.written_at, self.media_type, self.properties)
        is_single = len(refs) == 1 and refs[0].level == 0
        if row is None and is_single:
            return FileRow(parent, name, refs[0].size, None, *described, refs)
        size = sum(r.size for r in refs) if self.size is None else self.size
        if row is None or self.fresh:
            digest = None if is_single and refs[0].sha256 == self.sha256 else self.sha256
            made = FileRow(parent, name, size, digest, *described, blocks.fold(refs))
            return _redescribed(row, made) if row is not None and _has_same_bytes(row, made, digest_of) else made
        if not size:
            return row
        joined = blocks.fold((*row.blocks, *refs))
        return row._replace(size=row.size + size, sha256=None, written_at=self.written_at, blocks=joined)


def _has_same_bytes(row: FileRow, made: FileRow, digest_of: Callable[[FileRow], bytes]) -> bool:
    if not row.name or row.size != made.size:
        return row.name == made.name == ""
    return (row.digest or digest_of(row)) == (made.digest or digest_of(made))


def _redescribed(row: FileRow, made: FileRow) -> FileRow:
    """A file that was put with the same bytes: keeps its writes, and whatever attributes were not given."""
    said = {c: value for c in ("mode", "media_type", "properties") if (value := getattr(made, c)) is not None}
    after = row._replace(**said)
    return row if after == row else after._replace(written_at=made.written_at)


def files_statement(
    ctx: Context, tree: FileTree, changes: Mapping[str, FileChange], blocks: BlockWriter, small: NewFiles | None = None
) -> Statement:
    """Compare changes with the tree, refuse files where folders are, and store what differs.

    `small` are new files, unless the tree has something at their paths.
    """
    fresh = small.paths if small else ()
    above = all_folders(chain((path for path, c in changes.items() if c.refs is not None), fresh))
    there = tree.rows_at([*changes, *fresh, *above])
    if small is not None:
        changes = {**changes, **small.taken_out(there)}
    rows = ((path, there.get(path), change) for path, change in changes.items())
    compared = [changed(row, change.applied_to(path, row, blocks, tree.digest)) for path, row, change in rows]
    found = [c for c in compared if c is not None]
    new = [after.address for op, _, after in found if op == INSERT and after is not None]
    _refuse_clashes(tree, changes, there, [*new, *(small.paths if small else ())])
    return statement_of(ctx, tree._state.schema, found, blocks, small)


class NewFiles(Protocol):
    """Files that are new, unless the tree has something at their paths."""

    @property
    def paths(self) -> Collection[str]: ...
    def taken_out(self, there: Iterable[str]) -> dict[str, FileChange]:
        """Take out the changes of some paths, to be compared with the tree."""

    def compared(self, schema: Schema) -> pa.Table:
        """The rest, as compared rows."""


def statement_of(
    ctx: Context, schema: Schema, found: Sequence[Change], blocks: BlockWriter, small: NewFiles | None = None
) -> Statement:
    """Store compared rows, and hand over the packs that they refer to."""
    tables = [compared_table(found, schema)] if found else []
    tables += [small.compared(schema)] if small and small.paths else []
    made = store_compared(ctx, tables, schema) if tables else ()
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


def compared_table(found: Sequence[Change], schema: Schema) -> pa.Table:
    """Inserted, updated and deleted rows, before and after."""
    ops, befores, afters = zip(*found, strict=True)
    keys = [after or before for before, after in zip(befores, afters, strict=True)]
    columns = schema.plain_columns
    arrays = column_arrays(keys, schema.key_columns) + column_arrays(afters, columns) + column_arrays(befores, columns)
    names = [*(str(c.id) for c in (*schema.key_columns, *columns)), *(c.before for c in columns)]
    return pa.table([*arrays, pa.array(ops, pa.string())], names=[*names, OP])


def store_compared(ctx: Context, tables: Sequence[pa.Table], schema: Schema) -> tuple[NewObject, ...]:
    """Store inserted, updated and deleted rows."""
    table = pa.concat_tables([t.select(tables[0].column_names) for t in tables])
    kept = Kept(Rows(table), table.num_rows, table_range(table, schema.key_columns))
    return store_difference(ctx, ctx.engines.duck(), kept, schema, schema.columns)


def _refuse_clashes(
    tree: FileTree, changes: Mapping[str, FileChange], there: Mapping[str, FileRow], new: Sequence[str]
) -> None:
    """Refuse a file where a folder is, and a folder where a file is."""
    if not new:
        return
    gone = {path for path, change in changes.items() if change.refs is None}
    paths = [path for path in new if not path.endswith("/")]
    files = {*paths, *(p for p, row in there.items() if row.name and p not in gone)}
    for folder in sorted(files.intersection(all_folders(new))):
        raise _clash(folder, next(path for path in new if path.startswith(f"{folder}/")).removesuffix("/"))
    if paths:
        _refuse_folders(tree, sorted(paths), gone)


def _refuse_folders(tree: FileTree, paths: Sequence[str], gone: set[str]) -> None:
    """Refuse new files where folders are, unless the same statement empties the folder."""
    for path in sorted(tree.folders(paths[0], paths[-1]).intersection(paths)):
        inside = [r.path for r in tree.rows_below(path) if r.address not in gone]
        if inside:
            raise _clash(path, inside[0])


def _clash(file: str, below: str) -> AlreadyExists:
    message = f"{file!r} can't be a file and a folder: there is {below!r}"
    return AlreadyExists(message, hint="choose another path, or delete what is there first", path=file)
