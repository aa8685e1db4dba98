"""Merge the files of two branches: paths that both touched are merged as files, the rest as rows of the tree.

A file that one side moved while the other wrote to it is found by the writes that its references carry.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal

import pyarrow as pa

from anabranch.model.files import BLOCKS, GIVEN, BlockRef, FileRow, address_of
from anabranch.model.ids import ObjectId
from anabranch.model.objects import Layer, NewObject, StoredObject
from anabranch.model.schema import Schema
from anabranch.model.tables import TableState
from anabranch.plan.merge.files import (
    FileRule,
    MergedFile,
    file_rules,
    merge_brought,
    merge_file,
    merge_parts,
    rule_for,
)
from anabranch.plan.merge.rules import EVERYWHERE, RowPolicy
from anabranch.plan.refs_forest import added_since
from anabranch.queries import three_way
from anabranch.queries.three_way import KIND, OURS, SIDES, STAYS, THEIRS, Decision, conflict_of, value_of
from anabranch.queries.three_way import there as there_of
from anabranch.repo.context.context import Context
from anabranch.repo.files.block_writer import BlockWriter
from anabranch.repo.files.blocks import BlockReader
from anabranch.repo.files.clashes import inserted_paths, keys_of
from anabranch.repo.files.tree import FileTree
from anabranch.repo.files.tree_rows import key_table, row_of
from anabranch.repo.merge.chosen_conflicts import as_decided
from anabranch.repo.merge.merged_rows import decide_at, merge_rows
from anabranch.repo.merge.row_sides import MergedRows, Sides

_POLICY = RowPolicy("row")
_SETTLING = ("ours", "theirs", "newest", "concat")
"""The rules that settle two different contents of one new path."""


FileForm = Literal["whole", "parts", "new"]
"""How theirs writes files. `whole`: as anybody. `parts`: it owns the parts that it appended, and no others.
`new`: as `parts`, and a file that it puts must not be there yet, even with equal bytes."""


@dataclass(frozen=True)
class FileMergeRequest:
    """How to merge two file trees."""

    rules: Mapping[str, str]
    settled: pa.Table | None
    """Paths that were resolved."""
    packs: Mapping[ObjectId, StoredObject]
    """Packs of the draft, which no commit names yet."""
    go_on: bool
    form: FileForm = "whole"


def merge_file_rows(ctx: Context, sides: Sides, schema: Schema, asked: FileMergeRequest) -> MergedRows:
    """Merge two file trees; paths that both sides touched are merged as files."""
    writer = BlockWriter(ctx)
    settled = with_given_content(asked.settled, writer)
    merged = merge_rows(ctx, sides, schema, _POLICY, settled)
    if merged.conflicts is None or merged.decision is None:
        return _with_packs(ctx, merged, writer)
    reader = BlockReader(ctx, asked.packs, sides.pending)
    rules, moves = rules_of(asked.rules), FileMoves(ctx, sides, reader)
    level = _FileLevel(sides, merged.decision, rules, reader, writer, moves, form=asked.form)
    decided = level.run(merged.conflicts)
    known = [settled.cast(decided.schema)] if settled is not None and settled.num_rows else []
    try:
        merged = merge_rows(ctx, sides, schema, _POLICY, pa.concat_tables([*known, decided]), go_on=asked.go_on)
    except BaseException:
        ctx.discard(level.writer.taken())
        raise
    return _with_packs(ctx, merged, level.writer)


def with_given_content(settled: pa.Table | None, writer: BlockWriter) -> pa.Table | None:
    """Settled rows, with content that a user gave stored as blocks."""
    name = str(BLOCKS.id)
    lists = settled.column(name).to_pylist() if settled is not None else []
    if settled is None or not any(refs and refs[0]["level"] == GIVEN for refs in lists):
        return settled
    stored = [_stored_bytes(refs, writer) for refs in lists]
    place = settled.schema.get_field_index(name)
    return settled.set_column(place, settled.schema.field(place), pa.array(stored, settled.schema.field(place).type))


def _stored_bytes(refs: list[dict[str, Any]] | None, writer: BlockWriter) -> list[dict[str, Any]] | None:
    if not refs or refs[0]["level"] != GIVEN:
        return refs
    made, _ = writer.write_bytes(b64decode(refs[0]["object"]), "")
    return [ref._asdict() for ref in writer.fold(made)]


def rules_of(rules: Mapping[str, str]) -> dict[str, FileRule]:
    """The rules for files, by pattern. A rule for everything applies if it is a word that files know, too."""
    everywhere = rules.get(EVERYWHERE, "conflict")
    found: dict[str, FileRule] = {"**": everywhere} if everywhere in ("ours", "theirs", "newest") else {}  # type: ignore[dict-item]
    return {**found, **file_rules(rules)}


def _with_packs(ctx: Context, merged: MergedRows, writer: BlockWriter) -> MergedRows:
    """Attach the packs of new lists and texts to the last statement."""
    packs = writer.taken()
    if not packs or not merged.statements:
        ctx.discard(packs)
        return merged
    *others, last = merged.statements
    statements = (*others, replace(last, packs=(*last.packs, *packs)))
    return replace(merged, statements=statements, made=(*merged.made, *packs))


def stored_row(writer: BlockWriter, row: FileRow, ours: FileRow | None, apart: FileRow | None) -> FileRow:
    """A merged row as it is stored: its references in lists again; lists that ours has are kept."""
    known = len(apart.blocks) if apart else 0
    if ours and apart and row.blocks[:known] == apart.blocks:
        return row._replace(blocks=writer.fold((*ours.blocks, *row.blocks[known:])))
    return row._replace(blocks=writer.fold(row.blocks))


@dataclass(frozen=True)
class _Appended:
    """What one side appended to a file that the other moved."""

    row: dict[str, Any]
    """The conflict at the file's old path."""
    written_at: datetime
    refs: tuple[BlockRef, ...]


@dataclass(frozen=True)
class _FileLevel:
    sides: Sides
    decision: Decision
    rules: Mapping[str, FileRule]
    reader: BlockReader
    writer: BlockWriter = field(repr=False)
    moves: FileMoves = field(repr=False)
    followed: dict[str, list[_Appended]] = field(default_factory=dict)
    """By the path a file was moved to: what to append there."""
    form: FileForm = "whole"

    def run(self, conflicts: pa.Table) -> pa.Table:
        """Decide rows that both sides touched; those left in conflict get a kind of file conflict."""
        rows = conflicts.to_pylist()
        for row in rows:
            self._decide(row)
        rows += self._follow() if self.followed else []
        return as_decided(rows, conflicts, self.decision)

    def _decide(self, row: dict[str, Any]) -> None:
        base, ours, theirs = stored = [self._side(row, side) for side in SIDES]
        apart = self.reader.taken_apart(ours)
        sure = not (self.decision.has_unknown and row[three_way.unknown_of(BLOCKS)])
        path = next(r.path for r in stored if r is not None)
        rule, others = rule_for(self.rules, path), (self.reader.taken_apart(base), self.reader.taken_apart(theirs))
        merged = self._merged((others[0], apart, others[1]), rule, sure=sure)
        if merged.conflict and (ours is None or theirs is None):
            merged = self._with_move(row, merged, others[0], apart or others[1], rule)
        self._settle(row, self._stored(merged, ours, apart), merged)

    def _merged(
        self, rows: tuple[FileRow | None, FileRow | None, FileRow | None], rule: FileRule, *, sure: bool
    ) -> MergedFile:
        """Merge one path, with its lists of blocks expanded."""
        base, ours, theirs = rows
        if self.form != "whole":
            merged = merge_parts(base, ours, theirs)
            if merged is not None:
                return merged
        if self.form == "new" and base is None and ours is not None and rule not in _SETTLING:
            return MergedFile(ours, "create/create")
        is_new = sure and base is None
        if is_new and ours is not None and theirs is not None and self._is_brought(ours, theirs):
            return merge_brought(ours, theirs, rule, self._read)
        return merge_file(base, ours, theirs, rule, self._read, sure=sure)

    # --- files that one side moved ---

    def _is_brought(self, ours: FileRow, theirs: FileRow) -> bool:
        """Tell whether one side moved its new file there."""
        return self.moves.is_moved(OURS, ours) or self.moves.is_moved(THEIRS, theirs)

    def _with_move(
        self, row: dict[str, Any], merged: MergedFile, base: FileRow | None, there: FileRow | None, rule: FileRule
    ) -> MergedFile:
        """Note where the file moved, if the side that lacks it moved it; under rule `follow`, plan the append."""
        assert base is not None
        assert there is not None
        mover = THEIRS if row[there_of(OURS)] else OURS
        moved = self.moves.find(mover, base)
        if moved is None:
            return merged
        added = added_since(there.blocks, base.blocks)
        if rule == "follow" and added:
            self.followed.setdefault(moved.path, []).append(_Appended(row, there.written_at, tuple(added)))
        return replace(merged, moved_to=moved.path)

    def _follow(self) -> list[dict[str, Any]]:
        """Append what one side wrote to the moved file; if both sides have a file there, the conflict stays."""
        keys = key_table(self.followed, self.decision.schema)
        found, _ = decide_at(self.moves.ctx, self.sides, self.decision.schema, _POLICY, keys, None)
        return [row for row in found.to_pylist() if self._follow_to(row)]

    def _follow_to(self, row: dict[str, Any]) -> bool:
        if row[there_of(OURS)] and row[there_of(THEIRS)]:
            return False
        target = self._side(row, OURS) or self._side(row, THEIRS)
        assert target is not None
        written, refs = target.written_at, target.blocks
        for one in self.followed[target.path]:
            self._settle(one.row, None, MergedFile(None))
            refs = (*refs, *one.refs)
            written = max(written, one.written_at)
        size = target.size + sum(r.size for one in self.followed[target.path] for r in one.refs)
        grown = target._replace(blocks=self.writer.fold(refs), size=size, sha256=None, written_at=written)
        self._settle(row, grown, MergedFile(grown))
        return True

    def _side(self, row: dict[str, Any], side: str) -> FileRow | None:
        if not row[there_of(side)]:
            return None
        keys = {c.name: row[str(c.id)] for c in self.decision.schema.key_columns}
        return row_of({**keys, **{c.name: row[value_of(c, side)] for c in self.decision.cells}})

    def _read(self, row: FileRow) -> bytes:
        return b"".join(self.reader.read(ref, row.path) for ref in row.blocks)

    def _stored(self, merged: MergedFile, ours: FileRow | None, described: FileRow | None) -> FileRow | None:
        """The row as it is stored."""
        row = merged.row
        if merged.conflict is not None:
            return ours
        if row is None:
            return None
        if merged.content is not None:
            refs, digest = self.writer.write_bytes(merged.content, row.name)
            size = len(merged.content)
            return row._replace(blocks=self.writer.fold(refs), size=size, sha256=None if len(refs) == 1 else digest)
        return stored_row(self.writer, row, ours, described)

    def _settle(self, row: dict[str, Any], result: FileRow | None, merged: MergedFile) -> None:
        """Write the decision into a row, as if it had been resolved."""
        row[KIND] = merged.conflict and " ".join([merged.conflict, *filter(None, [merged.column, merged.moved])])
        row[STAYS] = int(result is not None)
        for c in self.decision.cells:
            row[conflict_of(c)] = 0
            value = getattr(result, c.name) if result is not None else row[value_of(c, OURS)]
            row[str(c.id)] = [ref._asdict() for ref in value] if c.id == BLOCKS.id and result is not None else value


@dataclass
class FileMoves:
    """Where each side now has a file that the base has elsewhere; searched among the paths that side added."""

    ctx: Context
    sides: Sides
    reader: BlockReader
    _added: dict[str, list[FileRow]] = field(default_factory=dict)
    _deleted: dict[str, set[tuple[str, int]]] = field(default_factory=dict)

    def find(self, side: str, base: FileRow) -> FileRow | None:
        """The side's file that holds all writes of one that is gone there, its references expanded."""
        wanted = {ref.key for ref in base.blocks}
        holds = (row for row in self._rows(side) if wanted.issubset(ref.key for ref in row.blocks))
        return next(holds, None)

    def is_moved(self, side: str, row: FileRow) -> bool:
        """Tell whether a side's new file has references of a file that the side deleted."""
        return any(ref.key in self._lost(side) for ref in row.blocks)

    def _lost(self, side: str) -> set[tuple[str, int]]:
        """The references of the base's files that a side deleted, expanded."""
        if side not in self._deleted:
            now, base = self._tree(side), self._tree_of(self.sides.base.first)
            is_known = self._layers(side) is not None
            rows = list(base.rows_at(self._deleted_paths(side)).values()) if is_known else base.rows_below("")
            there = now.rows_at([row.path for row in rows])
            lost = [row for row in rows if row.name and row.path not in there]
            self._deleted[side] = {ref.key for row in lost for ref in self.reader.leaves(row)}
        return self._deleted[side]

    def _deleted_paths(self, side: str) -> list[str]:
        gone = [x.object for x in self._layers(side) or () if x.object.kind in ("delete", "exceptions")]
        schema = self._state(side).schema
        keys = keys_of(self.ctx, [NewObject(o) for o in gone], schema, self.sides.pending)
        return [address_of(*key) for key in keys]

    def _layers(self, side: str) -> tuple[Layer, ...] | None:
        return self.sides.to_ours if side == OURS else self.sides.to_theirs

    def _state(self, side: str) -> TableState:
        return self.sides.ours if side == OURS else self.sides.theirs

    def _tree(self, side: str) -> FileTree:
        return self._tree_of(self._state(side))

    def _tree_of(self, state: TableState) -> FileTree:
        return FileTree(self.ctx, lambda: state, self.reader, None, self.sides.pending)

    def _rows(self, side: str) -> list[FileRow]:
        if side not in self._added:
            rows = self._added_rows(side)
            self._added[side] = [r._replace(blocks=self.reader.leaves(r)) for r in rows if r.name]
        return self._added[side]

    def _added_rows(self, side: str) -> list[FileRow]:
        layers, state, tree = self._layers(side), self._state(side), self._tree(side)
        if layers is None:
            return tree.rows_below("")
        made = [NewObject(x.object) for x in layers]
        paths = inserted_paths(self.ctx, made, state.schema, self.sides.pending)
        return list(tree.rows_at(paths).values())
