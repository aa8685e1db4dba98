"""The files of a repository at a commit: read, list, find; nothing here writes."""

from __future__ import annotations

import builtins
import hashlib
import mimetypes
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from anabranch.catalog import history
from anabranch.catalog.store import Connection
from anabranch.errors import InvalidRequest, NotFound
from anabranch.model.clock import Clock
from anabranch.model.files import BlockRef, FileRow, FileStat
from anabranch.model.ids import ObjectId
from anabranch.model.paths import (
    check_folder,
    check_path,
    fixed_folder,
    folders_above,
    is_below,
    join_path,
    pattern_of,
    split_path,
)
from anabranch.model.tables import TableState
from anabranch.objects.ranged import RangedFile
from anabranch.plan.merge.files import properties_of
from anabranch.plan.refs_forest import added_since
from anabranch.queries.scan import near_layers
from anabranch.repo.branches.refs import resolve
from anabranch.repo.context.context import Context
from anabranch.repo.context.table_state import files_state
from anabranch.repo.files.blocks import BlockReader
from anabranch.repo.files.file_frames import FileForm, FileFrames, check_form, stat_table
from anabranch.repo.files.held import held_by_commit
from anabranch.repo.files.text_lines import text_lines
from anabranch.repo.files.tree_rows import key_table, rows_of
from anabranch.repo.read.conditions import keys_in, reading
from anabranch.repo.read.scan import scan
from anabranch.repo.read.table import Table, make_selection

if TYPE_CHECKING:
    from anabranch.engines.spark import DataFrame

_STAT_COLUMNS = ("parent", "name", "size", "sha256", "mode", "written_at", "media_type", "properties")
Stats: TypeAlias = list[FileStat]
TreeRows: TypeAlias = list[FileRow]
Find = Callable[[str], "FileTree"]
"""Finds the tree of another commit."""


class FileTree:
    """All files at a commit: immutable, read as often as you like."""

    def __init__(
        self,
        ctx: Context,
        state: Callable[[], TableState],
        blocks: BlockReader,
        find: Find | None,
        pending: Mapping[ObjectId, bytes] | None = None,
    ) -> None:
        self._ctx, self._state_of, self._blocks, self._find = ctx, state, blocks, find
        self._pending = pending or {}

    def __repr__(self) -> str:
        return f"FileTree({self._state.row_count} files)"

    def __contains__(self, path: str) -> bool:
        return self._get(check_path(path)) is not None

    @property
    def _state(self) -> TableState:
        return self._state_of()

    @property
    def block_reader(self) -> BlockReader:
        """Reads the blocks of its files."""
        return self._blocks

    @property
    def row_count(self) -> int:
        """The number of files and of folders that were made empty, as the catalogue says it."""
        return self._state.row_count

    @property
    def layer_ids(self) -> tuple[tuple[int, ObjectId], ...]:
        """What the tree is read from; trees of the same layers are equal."""
        return tuple((layer.turn, layer.object.id) for layer in self._state.layers)

    # --- one file ---

    def read(self, path: str, start: int = 0, size: int | None = None, since: str | None = None) -> bytes:
        """Read a file, or a part of it; with `since`, only what was appended after that commit.

        If it was replaced or made anew since, all of it is new.
        """
        return b"".join(self._stream(path, start, size, since))

    def open(self, path: str, since: str | None = None) -> BinaryIO:
        """Open a file for random access, block by block."""
        refs, size, _ = self._new_refs(self._need(path), since)

        def read(start: int, wanted: int) -> bytes:
            return b"".join(self._blocks.stream(refs, path, size, start, start + wanted))

        return RangedFile(read, size).buffered(256 * 1024)

    def lines(self, path: str, since: str | None = None) -> Iterator[str]:
        """Read a text file line by line, as UTF-8, without line ends; a `.gz` file is unpacked."""
        with self.open(path, since) as file:
            yield from text_lines(file, path)

    def stat(self, path: str, since: str | None = None) -> FileStat:
        """Return size, hash and time of a file or folder; with `since`, the number of bytes added after that commit."""
        row = self._get(check_path(path))
        if row is not None:
            _, size, whole = self._new_refs(row, since)
            return replace(stat_of(row), size=size, whole=whole)
        if self._is_folder(check_path(path)):
            return FileStat(check_path(path), self.size(path), is_folder=True)
        raise self._missing(check_path(path))

    def stream(self, path: str, since: str | None = None) -> Iterator[bytes]:
        """Read a file piece by piece, in bounded memory."""
        return self._stream(path, 0, None, since)

    def _stream(self, path: str, start: int, size: int | None, since: str | None) -> Iterator[bytes]:
        if start < 0 or (size is not None and size < 0):
            raise InvalidRequest(f"start={start}, size={size} can't be read", hint="give numbers from 0 on")
        refs, whole_size, _ = self._new_refs(self._need(path), since)
        return self._blocks.stream(refs, path, whole_size, start, None if size is None else start + size)

    def _new_refs(self, row: FileRow, since: str | None) -> tuple[Sequence[BlockRef], int, bool]:
        """The references added after a commit, their size, and whether they are the whole file."""
        then = self._find(since)._get(row.path) if since is not None and self._find else None
        if then is None:
            return row.blocks, row.size, True
        now, old = (self._blocks.leaves(r) for r in (row, then))
        added = added_since(now, old)
        if added is None:
            return now, row.size, True
        return added, sum(r.size for r in added), False

    def added_bytes(self, row: FileRow, before: FileRow) -> int | None:
        """How many bytes were added after an earlier version of a file; None if it was replaced."""
        added = added_since(*(self._blocks.leaves(r) for r in (row, before)))
        return None if added is None else sum(r.size for r in added)

    def digest(self, row: FileRow) -> bytes:
        """Hash a file that was appended to since it was last hashed."""
        found = hashlib.sha256()
        for chunk in self._blocks.stream(row.blocks, row.path, row.size):
            found.update(chunk)
        return found.digest()

    def parts(self, row: FileRow) -> list[dict[str, Any]]:
        """Where the bytes of a file are, for processes that see the objects but not the catalogue.

        Each part is `file`, `start` and `size`, or `content` if the catalogue holds the bytes.
        """
        return [self._blocks.place(ref, row.path) for ref in self._blocks.leaves(row) if ref.size]

    def _need(self, path: str) -> FileRow:
        path = check_path(path)
        row = self._get(path)
        if row is None:
            raise self._missing(path)
        return row

    def _missing(self, path: str) -> NotFound:
        if self._is_folder(path):
            return NotFound(f"{path!r} is a folder", hint=f"list it, or name a file in it: {path}/…", path=path)
        from difflib import get_close_matches

        near = get_close_matches(path, [s.path for s in self.list(split_path(path)[0], missing_ok=True)], n=1)
        hint = f"did you mean {near[0]!r}?" if near else "list what is there (`ana file ls -r`, repo.files().walk())"
        return NotFound(f"there is no file {path!r} at this commit", hint=hint, path=path)

    def _get(self, path: str) -> FileRow | None:
        return self.rows_at([path]).get(path)

    def rows_at(self, paths: Sequence[str]) -> dict[str, FileRow]:
        """Find rows by address in one query; missing ones are left out."""
        state = self._state
        if not state.layers:
            return {}
        keys = key_table(paths, state.schema)
        found = self._rows_of_keys(state, keys)
        return {row.address: row for row in found}

    def _rows_of_keys(self, state: TableState, keys: pa.Table) -> TreeRows:
        limited = keys_in(keys, state.schema.key_columns)
        layers = near_layers(state, limited)
        if not layers or not keys.num_rows:
            return []
        near, access = replace(state, layers=layers), self._ctx.access(layers, self._pending)
        query = scan(self._ctx, near, state.schema.columns, access, keys=limited)
        with reading(self._ctx, state):
            return rows_of(self._ctx.engines.duck().fetch(query))

    # --- many ---

    def spark(self, pattern: str = "**", as_: FileForm = "content") -> DataFrame:
        """Read the files that match a pattern as a Spark DataFrame; executors read the objects themselves.

        `content` has a row per file, `lines` per line, `blocks` per stored block; `stat` has no bytes.
        """
        check_form(as_)
        if as_ == "stat":
            return FileFrames(self._ctx, self._blocks, ()).stat(self.glob(pattern))
        return self._frames(pattern).spark(as_)

    def arrow(self, pattern: str = "**", as_: FileForm = "content") -> pa.Table:
        """Read the files that match a pattern as an Arrow table, in the same forms."""
        check_form(as_)
        return stat_table(self.glob(pattern)) if as_ == "stat" else self._frames(pattern).arrow(as_)

    def paths(self, pattern: str = "**") -> builtins.list[str]:
        """Where the files that match a pattern can be read in place, by any reader that sees the objects.

        Compressed formats of 8 MB and more are there as they are; others are copied, for as long as the process lives.
        """
        return self._frames(pattern).places()

    def checkout(self, place: str | PathLike[str], *, force: bool = False) -> int:
        """Write all files into a local folder; overwrites local changes only with `force`."""
        from anabranch.repo.files.folder import LocalFolder

        held = partial(held_by_commit, self._ctx, self._find) if self._find else None
        return LocalFolder(place, held).checkout(self, None, force=force)

    def _frames(self, pattern: str) -> FileFrames:
        wanted = pattern_of(pattern)
        rows = [r for r in self.rows_below(fixed_folder(pattern)) if r.name and wanted.fullmatch(r.path)]
        return FileFrames(self._ctx, self._blocks, sorted(rows, key=lambda r: r.path))

    def list(self, folder: str = "", *, missing_ok: bool = False) -> Stats:
        """List a folder: its files and folders, by name."""
        folder = check_folder(folder)
        files = [stat_of(row) for row in self._rows_where("parent = :p", {"p": folder})]
        inside = [s for s in files if not s.is_folder]
        below = {path.removeprefix(f"{folder}/" if folder else "").split("/")[0] for path in self._folders(folder)}
        found = [*inside, *(FileStat(join_path(folder, name), 0, is_folder=True) for name in below)]
        if not found and folder and not files and not missing_ok:
            raise NotFound(f"there is no folder {folder!r} at this commit", hint="list the one above", path=folder)
        return sorted(found, key=lambda s: s.path)

    def walk(self, folder: str = "") -> Iterator[FileStat]:
        """Yield every file below a folder, and empty folders, by path."""
        yield from sorted((stat_of(row) for row in self._below(check_folder(folder))), key=lambda s: s.path)

    def glob(self, pattern: str) -> Stats:
        """Find files by a pattern: `*` and `?` within a part, `**` for any number of parts, `[…]` for characters."""
        wanted = pattern_of(pattern)
        return [s for s in self.walk(fixed_folder(pattern)) if not s.is_folder and wanted.fullmatch(s.path)]

    def size(self, path: str = "") -> int:
        """The size of a file, or of all files below a folder."""
        folder = check_folder(path)
        rows = self._below(folder)
        if rows or not folder:
            return sum(row.size for row in rows)
        return self._need(folder).size

    def count(self) -> int:
        """Count the files."""
        return sum(1 for s in self.walk() if not s.is_folder)

    def rows_below(self, folder: str) -> TreeRows:
        """All rows below a folder, with their blocks."""
        where, args = _range(folder)
        return rows_of(self._select(None, where, args).arrow())

    def _below(self, folder: str) -> TreeRows:
        where, args = _range(folder)
        return self._rows_where(where, args)

    def _rows_where(self, where: str | None, args: dict[str, str]) -> TreeRows:
        table = self._select((*_STAT_COLUMNS, "blocks"), where, args).arrow()
        return rows_of(table)

    def _folders(self, folder: str) -> set[str]:
        """Every non-empty folder below a folder."""
        where, args = _range(folder, inside=False)
        parents = pc.unique(self._select(("parent",), where, args).arrow().column(0)).to_pylist()
        return {p for p in parents if p and is_below(p, folder)}

    def folders(self, low: str, high: str) -> set[str]:
        """Every folder from one path to another, and the folders above them."""
        where = "parent >= :low AND parent <= :high"
        found = self._select(("parent",), where, {"low": low, "high": f"{high}0"}).arrow().column(0)
        parents = [p for p in pc.unique(found).to_pylist() if p]
        return {above for p in parents for above in (p, *folders_above(p))}

    def _is_folder(self, path: str) -> bool:
        where, args = _range(path)
        return bool(self._select(("parent",), where, args, limit=1).arrow().num_rows)

    def _select(
        self, columns: Sequence[str] | None, where: str | None, args: dict[str, str], limit: int | None = None
    ) -> Table:
        selection = make_selection(columns, where, args or None, limit)
        return Table(self._ctx, self._state_of, selection, self._pending)


def _range(folder: str, *, inside: bool = True) -> tuple[str | None, dict[str, str]]:
    """A condition for what is below a folder; all paths that begin with `folder/` sort before `folder0`."""
    if not folder:
        return None, {}
    below = "parent >= :low AND parent < :high"
    args = {"low": f"{folder}/", "high": f"{folder}0"}
    return (f"parent = :folder OR ({below})", {"folder": folder, **args}) if inside else (below, args)


def stat_of(row: FileRow) -> FileStat:
    """A row as users see it."""
    if not row.name:
        return FileStat(row.parent, 0, is_folder=True, written_at=row.written_at)
    digest = row.digest
    kind = row.media_type or mimetypes.guess_type(row.name)[0]
    described = properties_of(row)
    sha256 = digest.hex() if digest else None
    return FileStat(row.path, row.size, False, sha256, row.mode, row.written_at, kind, described)


def open_tree(ctx: Context, at: str | None) -> FileTree:
    """Find the tree at a commit; it stays fixed, whatever the branch does."""
    with ctx.catalog.read() as cx:
        return tree_at(ctx, cx, history.clock(cx, resolve(ctx, cx, at)))


def tree_at(ctx: Context, cx: Connection, at: Clock) -> FileTree:
    """The tree at a known commit."""
    state = files_state(ctx, cx, at)
    return FileTree(ctx, lambda: state, BlockReader(ctx), lambda ref: open_tree(ctx, ref))
