"""Choose how a read brings rows and later changes together, before anything is read."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from anabranch import settings
from anabranch.model.ids import ColumnId
from anabranch.model.layers import LayerIndex, as_layers
from anabranch.model.objects import Layer, size_of
from anabranch.model.schema import Column
from anabranch.model.tables import TableState
from anabranch.plan.engine import EngineSetting

ReadStrategy = Literal["plain", "kept", "applied", "folded", "joined"]
"""- plain: no change acts on the rows; they are read as they are.
- kept: changes are applied to rows in memory, and the result is kept for later reads.
- applied: the same for one read; an engine would take longer to plan a join with changes of very many columns.
- folded: changes are folded in the process, and the engine's query joins the rows with the fold.
- joined: the engine's query folds the changes and joins them.
"""


@dataclass(frozen=True)
class SortedLayers:
    """The layers of a read, sorted by what to do with them."""

    plain: tuple[Layer, ...]
    """Rows that nothing acts on."""
    changed: tuple[Layer, ...]
    """Rows that changes may act on."""
    changes: tuple[Layer, ...]
    """The changes that may act on them."""


def sort_layers(layers: Sequence[Layer], columns: Sequence[Column]) -> SortedLayers:
    """Sort layers for a read of some columns: changes that act on none of its rows or columns are left out."""
    wanted = {i for c in columns for i in c.ids}
    rows = [x for x in layers if x.object.kind == "rows"]
    changes = [x for x in layers if _may_change(x, wanted)]
    over = LayerIndex(changes)
    hit = [any(d.turn > r.turn for d in over.near(r.object.key_range)) for r in rows]
    plain, changed = (tuple(r for r, h in zip(rows, hit, strict=True) if h is is_hit) for is_hit in (False, True))
    under = LayerIndex(changed)
    acting = tuple(d for d in changes if any(d.turn > r.turn for r in under.near(d.object.key_range)))
    return SortedLayers(plain, changed, acting)


def changed_cells(state: TableState, columns: Sequence[Column], layers: SortedLayers) -> tuple[Column, ...]:
    """The columns whose cells changes may replace."""
    touched = {c for d in layers.changes if d.object.kind == "update" for c in d.object.touched}
    return tuple(c for c in columns if touched & c.ids and c.id not in state.schema.key_ids)


def _may_change(layer: Layer, column_ids: Set[ColumnId]) -> bool:
    o = layer.object
    return o.kind == "delete" or (o.kind == "update" and not column_ids.isdisjoint(o.touched))


@dataclass(frozen=True)
class QueryRead:
    """A read for a user's query, by an engine that is chosen already."""

    in_process: bool
    all_rows: bool = False
    """Whether the query looks at all rows, so that keeping many of them pays."""


@dataclass(frozen=True)
class Read:
    """What the choice depends on."""

    state: TableState
    """The table with the layers that are read."""
    columns: tuple[Column, ...]
    setting: EngineSetting
    settings: settings.Settings
    query: QueryRead | None = None
    """None if a verb reads for itself."""
    key_rows: int | None = None
    """How many keys a look-up is for; None if an engine holds them, or all rows are wanted."""
    is_look_up: bool = False

    @cached_property
    def layers(self) -> SortedLayers:
        found = sort_layers(self.state.layers, self.columns)
        if self.query is None or self.query.in_process or not self.may_prepare or not found.changed:
            return found
        # Spark reads one relation faster than a union of two, so small objects join the changed ones.
        small, plain = (tuple(x for x in found.plain if (x.object.place == "inline") is s) for s in (True, False))
        return SortedLayers(plain, (*found.changed, *small), found.changes)

    @cached_property
    def cells(self) -> tuple[Column, ...]:
        """The wanted columns whose cells changes may replace."""
        return changed_cells(self.state, self.columns, self.layers)

    @cached_property
    def may_prepare(self) -> bool:
        """Whether work before the query pays, because it and later queries then do less."""
        return self.query is not None and not self.is_look_up and self.setting != "spark" and self.has_few_changes

    @property
    def has_few_changes(self) -> bool:
        """Whether all changes of the table fit into the memory of every executor."""
        layers = as_layers(self.state.layers)
        return layers.size_bytes - layers.rows_bytes <= self.settings.spark.broadcast_limit_bytes


def choose_strategy(read: Read) -> ReadStrategy:
    """Choose how rows and changes come together."""
    if not read.layers.changed:
        return "plain"
    if read.setting == "spark":
        return "joined"
    if read.query is not None and read.may_prepare:
        return "kept" if _is_worth_keeping(read, read.query) else join_strategy(read)
    return "applied" if _is_wide(read) else "joined"


def join_strategy(read: Read) -> ReadStrategy:
    """Choose how an engine joins rows with changes."""
    only_spark = any(c.type.only_spark for c in read.cells)
    return "folded" if read.may_prepare and not only_spark else "joined"


def _is_worth_keeping(read: Read, query: QueryRead) -> bool:
    layers, settings = read.layers, read.settings
    if any(c.type.only_spark for c in read.columns) or size_of(layers.changes) > settings.spark.broadcast_limit_bytes:
        return False
    rows = sum(x.object.row_count for x in layers.changed)
    size = rows * sum(map(width_bytes, read.columns))
    if not query.in_process:
        return size <= settings.spark.overlay_file_limit_bytes
    return rows <= settings.memory.overlay_row_limit or (
        query.all_rows and size <= settings.memory.cache_limit_bytes // 2
    )


def width_bytes(column: Column) -> int:
    """Guess how many bytes a value takes in memory."""
    is_wide = column.type.is_nested or column.type.name in ("string", "binary")
    return settings.WIDE_VALUE_BYTES if is_wide else settings.NARROW_VALUE_BYTES


def _is_wide(read: Read) -> bool:
    """Whether changes touch very many columns and can be folded in memory, together with the rows they act on."""
    if len(read.cells) < settings.WIDE_CHANGE_COLUMNS or not can_fold_in_memory(
        read.state, read.layers.changes, read.cells
    ):
        return False
    if any(c.type.only_spark for c in (*read.state.schema.key_columns, *read.columns)):
        return False
    if read.key_rows is not None:
        return read.key_rows * len(read.columns) * settings.WIDE_VALUE_BYTES <= settings.APPLIED_AT_ONCE_LIMIT_BYTES
    whole = size_of([*read.layers.changed, *read.layers.changes])
    return not read.is_look_up and whole <= settings.APPLIED_AT_ONCE_LIMIT_BYTES


def can_fold_in_memory(state: TableState, changes: Sequence[Layer], cells: Sequence[Column]) -> bool:
    """Whether changes can be folded without an engine: under the present schema, in types that Arrow compares."""
    columns = (*state.schema.key_columns, *cells)
    flat = not any(c.type.is_nested for c in cells)
    return flat and all(state.holds_as_now(d.object, columns) for d in changes)
