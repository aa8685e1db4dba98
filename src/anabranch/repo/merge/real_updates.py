"""Find what a side really did to a column that the other side dropped.

The catalogue only knows that a cell may have been touched, not what it holds now.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from anabranch.model.ids import ColumnId
from anabranch.model.objects import Layer
from anabranch.model.schema import Column, Schema
from anabranch.plan.merge.columns import successor
from anabranch.plan.merge.rules import RowPolicy, read_rules
from anabranch.plan.merge.sides import ThingSide
from anabranch.repo.context.context import Context
from anabranch.repo.context.table_state import schemas_for
from anabranch.repo.merge.constraints import unfit_keys
from anabranch.repo.merge.merged_rows import rows_differ, used_columns
from anabranch.repo.merge.row_sides import Sides, Used, rows_at
from anabranch.repo.merge.sides import Gathered, SideReader

Things = tuple[list[ThingSide], list[ThingSide], list[ThingSide]]


def with_real_updates(ctx: Context, gathered: Gathered, sides: Things, rules: Mapping[str, str]) -> Things:
    """Say which columns each side really updated or filled, where the other side lacks one of them."""
    base, ours, theirs = sides
    one, other = (_Asking(ctx, gathered, reader, rules) for reader in (gathered.ours, gathered.theirs))
    return base, [one.refined(s, base, theirs) for s in ours], [other.refined(s, base, ours) for s in theirs]


@dataclass(frozen=True)
class _Asking:
    ctx: Context
    gathered: Gathered
    reader: SideReader
    rules: Mapping[str, str]

    def refined(self, side: ThingSide, base: Sequence[ThingSide], others: Sequence[ThingSide]) -> ThingSide:
        old, other = (next((t for t in there if t.ids & side.ids), None) for there in (base, others))
        if old is not None and other is None and old.schema and side.schema:
            return self._without_undone(side, old)
        if old is None or other is None or not (old.schema and other.schema and side.schema):
            return side
        if old.schema.has_key and not side.schema.has_key and not other.schema.has_key:
            side = self._under_lost_key(side, old, old.schema)
        assert side.schema is not None
        lost = {i for c in old.schema if not other.schema.sharing(c) for i in c.ids}
        columns = [c for c in side.schema if c.ids & lost and c.id not in side.schema.key]
        if not columns:
            return side
        layers = self.reader.layers({*side.ids, *old.ids})
        asked = [
            c for c in columns if side.in_doubt or _may_be_updated(c, layers) or _may_be_missed(c, side, old, other)
        ]
        real = Used()
        if asked:
            real = used_columns(self.ctx, self._sides(side, old, layers), asked, self._policy(side, asked))
        all_ = {i for c in columns for i in c.ids}
        updated, filled = ({ColumnId(i) for c in some for i in c.ids} for some in (real.updated, real.filled))
        return replace(side, touched=side.touched - all_ | updated, filled=side.filled - all_ | filled)

    def _under_lost_key(self, side: ThingSide, old: ThingSide, keyed: Schema) -> ThingSide:
        """For a table that lost its key on both sides: rows equal by the old key were not changed."""
        assert side.schema is not None
        key = [side.schema.written_as(c) for c in keyed.key_columns]
        if not side.rows_changed or None in key:
            return side
        by_key = replace(side.schema, key=tuple(c.id for c in key if c))
        sides = self._sides(side, old, None)
        apart = not unfit_keys(self.ctx, sides, by_key, side.path)
        return replace(side, rows_changed=rows_differ(self.ctx, sides, by_key), has_unique_old_key=apart)

    def _without_undone(self, side: ThingSide, old: ThingSide) -> ThingSide:
        """For a table whose creation is undone: rows that were changed and changed back were not changed."""
        if not self.gathered.backward or not side.rows_changed:
            return side
        return replace(side, rows_changed=rows_differ(self.ctx, self._sides(side, old, None)))

    def _sides(self, side: ThingSide, old: ThingSide, layers: tuple[Layer, ...] | None) -> Sides:
        """The base, and the side as both ours and theirs."""
        after = self.reader.table(side)
        base = rows_at(self.gathered.ancestor, {*side.ids, *old.ids}, replace(after, layers=(), row_count=0))
        with self.ctx.catalog.read() as cx:
            shared = schemas_for(self.ctx, cx, (*(layers or ()), *base.layers), after, *base.states)
        there = replace(after, schemas=shared)
        return Sides(base.knowing(shared), there, there, layers, layers, self.reader.pending())

    def _policy(self, side: ThingSide, columns: Sequence[Column]) -> RowPolicy:
        """The rules of these columns, which a base that must itself be merged follows."""
        assert side.schema is not None
        rules = read_rules(self.rules, [{side.path: side.schema}], partly=True)
        described = side.texts("properties")
        return RowPolicy(rules={c.id: rules.of_column([side.path], [c.name], c.type, described) for c in columns})


def _may_be_missed(column: Column, side: ThingSide, old: ThingSide, other: ThingSide) -> bool:
    """Whether inserted rows may have values in a column that the other side dropped and added again."""
    return bool(column.ids & side.filled) and successor(old, other, column) is not None


def _may_be_updated(column: Column, layers: Sequence[Layer] | None) -> bool:
    """Whether the catalogue allows that some cell of a column was updated."""
    if layers is None:
        return True
    if any(column.ids & set(x.object.touched) for x in layers if x.object.kind in ("update", "exceptions")):
        return True
    gone = [x.turn for x in layers if x.object.kind in ("delete", "exceptions")]
    return any(x.turn > min(gone) for x in layers if x.object.kind in ("rows", "exceptions")) if gone else False
