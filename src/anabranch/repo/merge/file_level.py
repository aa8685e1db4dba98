"""Files of two branches, merged: rows of the tree that both sides touched are decided as files, the rest as rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from anabranch.model.files import BLOCKS, FileRow
from anabranch.model.ids import ObjectId
from anabranch.model.objects import StoredObject, contents_of
from anabranch.model.schema import Schema
from anabranch.plan.commit import ThingDraft, draft_state, objects_of
from anabranch.plan.merge.files import FileRule, MergedFile, file_rules, merge_file, rule_for
from anabranch.plan.merge.rules import EVERYWHERE, RowPolicy
from anabranch.plan.merge.sides import ThingConflict
from anabranch.queries import decided_rows, three_way
from anabranch.queries.three_way import KIND, OURS, SIDES, STAYS, Decision, conflict_of, there, value_of
from anabranch.repo.context.context import Context
from anabranch.repo.files.block_writer import BlockWriter
from anabranch.repo.files.blocks import BlockReader
from anabranch.repo.files.clashes import find_clashes, inserted_paths
from anabranch.repo.files.tree import FileTree
from anabranch.repo.files.tree_rows import row_of
from anabranch.repo.merge.merged_rows import merge_rows
from anabranch.repo.merge.row_sides import MergedRows, Sides

_POLICY = RowPolicy("row")


def merge_file_rows(
    ctx: Context,
    sides: Sides,
    schema: Schema,
    rules: Mapping[str, str],
    settled: pa.Table | None,
    packs: Mapping[ObjectId, StoredObject],
    *,
    go_on: bool,
) -> MergedRows:
    """Merge the file trees of two sides; paths that both touched go through the level of files."""
    merged = merge_rows(ctx, sides, schema, _POLICY, settled)
    if merged.conflicts is None or merged.decision is None:
        return merged
    level = _FileLevel(ctx, merged.decision, rules_of(rules), BlockReader(ctx, packs, sides.pending), BlockWriter(ctx))
    decided = level.run(merged.conflicts)
    known = [settled.cast(decided.schema)] if settled is not None and settled.num_rows else []
    try:
        merged = merge_rows(ctx, sides, schema, _POLICY, pa.concat_tables([*known, decided]), go_on=go_on)
    except BaseException:
        ctx.discard(level.writer.taken())
        raise
    return _with_packs(ctx, merged, level.writer)


def rules_of(rules: Mapping[str, str]) -> dict[str, FileRule]:
    """The rules for files, by pattern; one for everything counts where it is a word that files know, too."""
    everywhere = rules.get(EVERYWHERE, "conflict")
    found: dict[str, FileRule] = {"**": everywhere} if everywhere in ("ours", "theirs", "newest") else {}  # type: ignore[dict-item]
    return {**found, **file_rules(rules)}


def _with_packs(ctx: Context, merged: MergedRows, writer: BlockWriter) -> MergedRows:
    """The packs of new lists and texts go with the last statement."""
    packs = writer.taken()
    if not packs or not merged.statements:
        ctx.discard(packs)
        return merged
    *others, last = merged.statements
    statements = (*others, replace(last, packs=(*last.packs, *packs)))
    return replace(merged, statements=statements, made=(*merged.made, *packs))


def has_clashes(ctx: Context, united: ThingDraft) -> bool:
    """Tell whether files that several sources brought are folders of others."""
    state = draft_state(united)
    tree = FileTree(ctx, lambda: state, BlockReader(ctx), None)
    return bool(find_clashes(tree, inserted_paths(ctx, objects_of(united), state.schema, {})))


def file_clashes(
    ctx: Context, after: ThingDraft, merged: MergedRows, sides: Sides, pending: Mapping[ObjectId, bytes]
) -> list[ThingConflict]:
    """Find files of one side that are folders on the other; only paths that a side added can be."""
    brought = [o for s in merged.statements for o in s.objects]
    if sides.to_ours is not None and not any(x.object.kind in ("rows", "exceptions") for x in sides.to_ours):
        return []
    known = {**pending, **contents_of(brought)}
    state = draft_state(after)
    tree = FileTree(ctx, lambda: state, BlockReader(ctx), None, known)
    new = inserted_paths(ctx, brought, state.schema, known)
    return [
        ThingConflict("objects", file, "file/folder", None, None, file, below, f"file/folder:{file}", can_decide=False)
        for file, below in find_clashes(tree, new)
    ]


@dataclass(frozen=True)
class _FileLevel:
    ctx: Context
    decision: Decision
    rules: Mapping[str, FileRule]
    reader: BlockReader
    writer: BlockWriter = field(repr=False)

    def run(self, conflicts: pa.Table) -> pa.Table:
        """Decide rows that both sides touched; what stays in conflict has the kind that files know."""
        rows = conflicts.to_pylist()
        for row in rows:
            self._decide(row)
        names = [name for name, _ in decided_rows.pairs(self.decision)]
        columns = {name: pa.array([row[name] for row in rows], conflicts.schema.field(name).type) for name in names}
        return pa.table(columns)

    def _decide(self, row: dict[str, Any]) -> None:
        base, ours, theirs = stored = [self._side(row, side) for side in SIDES]
        apart = self._taken_apart(ours)
        sure = not (self.decision.has_unknown and row[three_way.unknown_of(BLOCKS)])
        path = next(r.path for r in stored if r is not None)
        rule, others = rule_for(self.rules, path), (self._taken_apart(base), self._taken_apart(theirs))
        merged = merge_file(others[0], apart, others[1], rule, self._read, sure=sure)
        self._settle(row, self._stored(merged, ours, apart), merged)

    def _side(self, row: dict[str, Any], side: str) -> FileRow | None:
        if not row[there(side)]:
            return None
        keys = {c.name: row[str(c.id)] for c in self.decision.schema.key_columns}
        return row_of({**keys, **{c.name: row[value_of(c, side)] for c in self.decision.cells}})

    def _taken_apart(self, row: FileRow | None) -> FileRow | None:
        return row and row._replace(blocks=self.reader.leaves(row.blocks, row.path))

    def _read(self, row: FileRow) -> bytes:
        return b"".join(self.reader.read(ref, row.path) for ref in row.blocks)

    def _stored(self, merged: MergedFile, ours: FileRow | None, told: FileRow | None) -> FileRow | None:
        """The row as it is stored: its references in lists again; those that ours has are kept."""
        row = merged.row
        if row is None or merged.conflict is not None:
            return ours
        if merged.content is not None:
            refs, digest = self.writer.write_bytes(merged.content, row.name)
            size = len(merged.content)
            return row._replace(blocks=self.writer.fold(refs), size=size, sha256=None if len(refs) == 1 else digest)
        known = len(told.blocks) if told else 0
        if ours and told and row.blocks[:known] == told.blocks:
            return row._replace(blocks=self.writer.fold((*ours.blocks, *row.blocks[known:])))
        return row._replace(blocks=self.writer.fold(row.blocks))

    def _settle(self, row: dict[str, Any], result: FileRow | None, merged: MergedFile) -> None:
        """Write the decision into a row, as one that was resolved."""
        row[KIND] = merged.conflict and f"{merged.conflict}{f' {merged.column}' if merged.column else ''}"
        row[STAYS] = int(result is not None)
        for c in self.decision.cells:
            row[conflict_of(c)] = 0
            value = getattr(result, c.name) if result is not None else row[value_of(c, OURS)]
            row[str(c.id)] = [ref._asdict() for ref in value] if c.id == BLOCKS.id and result is not None else value
