"""Find files that one side moved while the other wrote to them, by the writes their references carry."""

from __future__ import annotations

from dataclasses import dataclass, field

from anabranch.model.files import FileRow
from anabranch.model.objects import NewObject
from anabranch.queries.three_way import OURS, THEIRS
from anabranch.repo.context.context import Context
from anabranch.repo.files.blocks import BlockReader
from anabranch.repo.files.clashes import inserted_paths
from anabranch.repo.files.tree import FileTree
from anabranch.repo.merge.row_sides import Sides


@dataclass
class FileMoves:
    """Where each side now has a file that the base has elsewhere; searched among the paths that side added."""

    ctx: Context
    sides: Sides
    reader: BlockReader
    _added: dict[str, list[FileRow]] = field(default_factory=dict)

    def find(self, side: str, base: FileRow) -> FileRow | None:
        """The side's file that holds all writes of one that is gone there, its references expanded."""
        wanted = {ref.key for ref in base.blocks}
        holds = (row for row in self._rows(side) if wanted.issubset(ref.key for ref in row.blocks))
        return next(holds, None)

    def _rows(self, side: str) -> list[FileRow]:
        if side not in self._added:
            rows = self._added_rows(side)
            self._added[side] = [r._replace(blocks=self.reader.leaves(r.blocks, r.path)) for r in rows if r.name]
        return self._added[side]

    def _added_rows(self, side: str) -> list[FileRow]:
        layers = {OURS: self.sides.to_ours, THEIRS: self.sides.to_theirs}[side]
        state = {OURS: self.sides.ours, THEIRS: self.sides.theirs}[side]
        tree = FileTree(self.ctx, lambda: state, self.reader, None, self.sides.pending)
        if layers is None:
            return tree.rows_below("")
        made = [NewObject(x.object) for x in layers]
        paths = inserted_paths(self.ctx, made, state.schema, self.sides.pending)
        return list(tree.rows_at(paths).values())
