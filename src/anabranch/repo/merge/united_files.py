"""Files that several sources wrote to, brought together in one pass: each path is decided in the order of the sources.

Sources that wrote files of their own are linked as they are; what the others wrote becomes one statement.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from anabranch.model.files import FileRow, address_of
from anabranch.model.objects import Layer, NewObject
from anabranch.model.tables import TableState
from anabranch.plan.commit import Statement
from anabranch.plan.merge.files import FileRule, MergedFile, merge_in_order, rule_for
from anabranch.queries.object_groups import physical
from anabranch.queries.query import Rows, reading_of
from anabranch.repo.context.context import Context
from anabranch.repo.files.block_writer import BlockWriter
from anabranch.repo.files.blocks import BlockReader
from anabranch.repo.files.clashes import keys_of
from anabranch.repo.files.statement import Change, changed, statement_of
from anabranch.repo.files.tree import FileTree
from anabranch.repo.files.tree_rows import cells_of
from anabranch.repo.merge.file_level import rules_of, stored_row
from anabranch.repo.read.conditions import reading
from anabranch.settings import LOOKED_UP_KEYS_LIMIT

Said = tuple[str, str, dict[str, Any]]
"""What an object of a source says of one path: its kind, the path, and cells."""
Written = Mapping[str, FileRow | None]
"""What a source has at the paths that it wrote to; None where it deleted a file."""


@dataclass(frozen=True)
class FileSides:
    """The tree at the fork and at ours, and the changes since the fork of ours and of each source."""

    base: TableState
    ours: TableState
    to_ours: tuple[Layer, ...]
    sources: tuple[tuple[Layer, ...], ...]

    @property
    def row_count(self) -> int:
        return sum(x.object.row_count for side in (self.to_ours, *self.sources) for x in side)


@dataclass(frozen=True)
class UnitedFiles:
    """What becomes of the files of several sources."""

    alone: tuple[int, ...]
    """The sources, by number, that wrote files of their own: their objects are linked."""
    statement: Statement
    """What all others wrote, against ours."""


def unite_files(ctx: Context, sides: FileSides, rules: Mapping[str, str]) -> UnitedFiles | None:
    """Decide about all paths that the sources wrote to; None if they are very many, or some don't go together."""
    if sides.row_count > LOOKED_UP_KEYS_LIMIT:
        return None
    said = [list(_said(ctx, sides.base, layers)) for layers in sides.sources]
    reader = BlockReader(ctx)
    base = _rows_at(ctx, sides.base, reader, (path for source in said for _, path, _ in source))
    written = [_applied(base, source) for source in said]
    return _UnitedPaths(ctx, sides, base, rules_of(rules), reader, BlockWriter(ctx)).run(written)


def _rows_at(ctx: Context, state: TableState, reader: BlockReader, paths: Iterable[str]) -> dict[str, FileRow]:
    return FileTree(ctx, lambda: state, reader, None).rows_at(list(dict.fromkeys(paths)))


# --- what each source wrote ---


def _said(ctx: Context, state: TableState, layers: Sequence[Layer]) -> Iterator[Said]:
    """What objects say of paths, in order."""
    names = {str(c.id): c.name for c in state.schema}
    for layer in sorted(layers, key=lambda x: x.turn):
        for record in _records(ctx, state, layer):
            cells = {names[id_]: value for id_, value in record.items() if id_ in names}
            yield layer.object.kind, address_of(cells.pop("parent"), cells.pop("name")), cells


def _records(ctx: Context, state: TableState, layer: Layer) -> list[dict[str, Any]]:
    pairs = physical(layer.object, state.schema)
    source = ctx.source_of(layer.object, pairs, {})
    if isinstance(source, Rows):
        found: list[dict[str, Any]] = source.table.to_pylist()
        return found
    with reading(ctx, replace(state, layers=(layer,))):
        return list(ctx.engines.duck().fetch(reading_of(source, [name for name, _ in pairs])).to_pylist())


def _applied(base: Mapping[str, FileRow], said: Iterable[Said]) -> Written:
    """The rows of a source at the paths that it wrote to."""
    found: dict[str, FileRow | None] = {}
    for kind, path, cells in said:
        before = found[path] if path in found else base.get(path)
        if kind == "rows":
            parent, _, name = path.rpartition("/")
            found[path] = FileRow(parent, name, **cells_of(cells))
        elif kind == "update" and before is not None:
            found[path] = before._replace(**cells_of(cells))
        else:
            found[path] = None
    return found


# --- what becomes of it ---


@dataclass(frozen=True)
class _UnitedPaths:
    ctx: Context
    sides: FileSides
    base: Mapping[str, FileRow]
    rules: Mapping[str, FileRule]
    reader: BlockReader
    writer: BlockWriter

    def run(self, sources: Sequence[Written]) -> UnitedFiles | None:
        own = [NewObject(x.object) for x in self.sides.to_ours]
        mine = {address_of(*key) for key in keys_of(self.ctx, own, self.sides.ours.schema, {})}
        touched = Counter(path for paths in (mine, *sources) for path in paths)
        alone = [n for n, written in enumerate(sources) if all(touched[path] == 1 for path in written)]
        meeting = [written for n, written in enumerate(sources) if n not in alone]
        made = self._decided(meeting)
        return None if made is None else UnitedFiles(tuple(alone), made)

    def _decided(self, sources: Sequence[Written]) -> Statement | None:
        """One statement for all that sources wrote; None if some of it doesn't go together."""
        paths = dict.fromkeys(path for written in sources for path in written)
        ours = _rows_at(self.ctx, self.sides.ours, self.reader, paths)
        found: list[Change | None] = []
        for path in paths:
            mine, theirs = ours.get(path), [written[path] for written in sources if path in written]
            merged = self._merged(path, mine, theirs)
            if merged.conflict is not None:
                self.ctx.discard(self.writer.taken())
                return None
            found.append(changed(mine, merged.row))
        return statement_of(self.ctx, self.sides.ours.schema, [c for c in found if c is not None], self.writer)

    def _merged(self, path: str, ours: FileRow | None, theirs: Sequence[FileRow | None]) -> MergedFile:
        """What becomes of a path, with the row as it is stored."""
        base = self.base.get(path)
        if ours == base and len(theirs) == 1:
            return MergedFile(theirs[0])
        old, mine, *others = (self.reader.taken_apart(row) for row in (base, ours, *theirs))
        merged = merge_in_order(old, mine, others, rule_for(self.rules, path.removesuffix("/")))
        if merged.conflict is not None or merged.row is None:
            return merged
        sides = zip((ours, *theirs), (mine, *others), strict=True)
        same = next((stored for stored, apart in sides if apart == merged.row), None)
        return MergedFile(same or stored_row(self.writer, merged.row, ours, mine))
