"""parts: split a table by the objects that hold its rows, so that several processes can read it at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from anabranch.model.objects import Layer
from anabranch.model.tables import TableState
from anabranch.repo.context.context import Context
from anabranch.repo.read.batches import Batches, batches_of
from anabranch.repo.read.conditions import reading
from anabranch.repo.read.table import Selection, Table

_SPLIT_KINDS = {"rows", "update", "delete"}


@dataclass(frozen=True)
class TablePart:
    """Part of a table's rows at a commit, with all that a read needs; can be sent to another process.

    Changes act on rows by key, so some row objects under all changes give the same rows as in the whole table.
    """

    state: TableState
    selection: Selection


def split_table(table: Table, size_bytes: int) -> list[TablePart]:
    """Split a table into parts of about a given size, none without row objects; an object is never split."""
    state, chosen = table._state, table._selection
    if any(x.object.kind not in _SPLIT_KINDS for x in state.layers):
        return [TablePart(state, chosen)]
    changes = tuple(x for x in state.layers if x.object.kind != "rows")
    groups = _grouped([x for x in state.layers if x.object.kind == "rows"], size_bytes)
    return [TablePart(_limited_to(state, group, changes), chosen) for group in groups]


@contextmanager
def part_batches(ctx: Context, part: TablePart) -> Iterator[Batches]:
    """Read a part batch by batch, in any order; yields the Arrow schema and the batches."""
    table = Table(ctx, lambda: part.state, part.selection)
    engine = ctx.engines.pick(table._work(), f"reading {table.name}")
    with reading(ctx, part.state), batches_of(ctx, engine, table._query(engine), table._shown) as found:
        yield found


def _grouped(layers: Sequence[Layer], size_bytes: int) -> Iterator[list[Layer]]:
    """Group neighbours up to a size."""
    group: list[Layer] = []
    for layer in layers:
        if group and sum(x.object.size_bytes for x in group) + layer.object.size_bytes > size_bytes:
            yield group
            group = []
        group.append(layer)
    if group:
        yield group


def _limited_to(state: TableState, rows: Sequence[Layer], changes: Sequence[Layer]) -> TableState:
    layers = tuple(sorted((*rows, *changes), key=lambda layer: layer.turn))
    return replace(state, layers=layers, row_count=sum(x.object.row_count for x in rows))
