"""Files of one side that are folders on the other: told as conflicts, settled by dropping what one side has there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from anabranch.model.files import address_of
from anabranch.model.ids import ObjectId
from anabranch.model.objects import contents_of
from anabranch.model.schema import Schema
from anabranch.plan.commit import ThingDraft, draft_state, objects_of
from anabranch.plan.merge.files import FILE_FOLDER, rule_for
from anabranch.plan.merge.rules import RowPolicy
from anabranch.plan.merge.sides import Side, ThingConflict
from anabranch.queries.three_way import KIND, STAYS, conflict_of
from anabranch.repo.context.context import Context
from anabranch.repo.files.blocks import BlockReader
from anabranch.repo.files.clashes import find_clashes, inserted_paths
from anabranch.repo.files.tree import FileTree
from anabranch.repo.files.tree_rows import key_table
from anabranch.repo.merge.chosen_conflicts import as_decided, others_than
from anabranch.repo.merge.file_level import rules_of
from anabranch.repo.merge.merged_rows import decide_at
from anabranch.repo.merge.row_sides import MergedRows, Sides


@dataclass(frozen=True)
class FileClash:
    """A file, and what the other side has below the same path."""

    file: str
    inside: tuple[str, ...]
    """The addresses of all rows below it."""
    ours_is_file: bool

    @property
    def conflict(self) -> ThingConflict:
        """The clash as a merge tells it."""
        sides = (self.file, self.inside[0]) if self.ours_is_file else (self.inside[0], self.file)
        return ThingConflict("objects", self.file, FILE_FOLDER, None, None, *sides, f"{FILE_FOLDER}:{self.file}")

    def side(self, decisions: Mapping[str, Side], rules: Mapping[str, str]) -> Side | None:
        """The side that a user or a rule chose."""
        rule = rule_for(rules_of(rules), self.file)
        found = decisions.get(self.conflict.id, rule)
        return "ours" if found == "ours" else "theirs" if found == "theirs" else None

    def dropped(self, side: Side) -> tuple[str, ...]:
        """The addresses that go where a side is taken."""
        return self.inside if self.ours_is_file == (side == "ours") else (self.file,)


def has_clashes(ctx: Context, united: ThingDraft) -> bool:
    """Whether a file from one source is a folder in another."""
    state = draft_state(united)
    known = contents_of(objects_of(united))
    tree = FileTree(ctx, lambda: state, BlockReader(ctx), None, known)
    return bool(find_clashes(tree, inserted_paths(ctx, objects_of(united), state.schema, known)))


def file_clashes(
    ctx: Context, after: ThingDraft, merged: MergedRows, sides: Sides, pending: Mapping[ObjectId, bytes]
) -> list[FileClash]:
    """Find files of one side that are folders on the other; only paths that a side added can clash."""
    brought = [o for s in merged.statements for o in s.objects]
    if sides.to_ours is not None and not any(x.object.kind in ("rows", "exceptions") for x in sides.to_ours):
        return []
    known = {**pending, **contents_of(brought)}
    state = draft_state(after)
    tree = FileTree(ctx, lambda: state, BlockReader(ctx), None, known)
    files = dict(find_clashes(tree, inserted_paths(ctx, brought, state.schema, known)))
    ours = FileTree(ctx, lambda: sides.ours, BlockReader(ctx), None, pending).rows_at(list(files)) if files else {}
    return [FileClash(file, _inside(tree, file), file in ours) for file in files]


def _inside(tree: FileTree, folder: str) -> tuple[str, ...]:
    """The addresses of all rows below a folder, those of files first."""
    found = (address_of(row.parent, row.name) for row in tree.rows_below(folder))
    return tuple(sorted(found, key=lambda address: (address.endswith("/"), address)))


def with_drops(
    ctx: Context, sides: Sides, schema: Schema, chosen: Mapping[FileClash, Side], settled: pa.Table | None
) -> pa.Table:
    """Settled rows, with what goes by the sides that were chosen among them."""
    keys = key_table((path for clash, side in chosen.items() for path in clash.dropped(side)), schema)
    found, how = decide_at(ctx, sides, schema, RowPolicy("row"), keys, None)
    rows = found.to_pylist()
    for row in rows:
        row.update({KIND: None, STAYS: 0, **{conflict_of(c): 0 for c in how.cells}})
    gone = as_decided(rows, found, how)
    if settled is None or settled.column_names != gone.column_names:
        return gone
    return pa.concat_tables([others_than(gone, settled, keys.column_names).cast(gone.schema), gone])
