"""Conflicts that change objects alone reveal: both sides updated cells, and no rule decides them.

Only the touched columns of these objects are read, and no rows of the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa

from anabranch.arrow.plain import plain
from anabranch.arrow.types import arrow_fields
from anabranch.model.objects import Layer
from anabranch.model.schema import Column
from anabranch.model.tables import TableState
from anabranch.objects.parquet import read_columns
from anabranch.plan.merge.rules import CONFLICT
from anabranch.plan.read_strategy import can_fold_in_memory
from anabranch.queries.key_search import SEARCHED
from anabranch.queries.met_cells import Said, conflicts_of
from anabranch.queries.met_keys import Meeting
from anabranch.queries.scan import Access
from anabranch.queries.three_way import Decision
from anabranch.repo.context.context import Context
from anabranch.repo.merge.row_work import RowWork
from anabranch.settings import LOOKED_UP_KEYS_LIMIT


def plain_conflicts(work: RowWork) -> tuple[pa.Table, Decision] | None:
    """The rows in conflict, with the columns that may be; None if there are none, or if rows must be read."""
    if not _is_plain(work):
        return None
    both = (work.sides.to_ours or (), work.sides.to_theirs or ())
    ours, theirs = (tuple(x for x in layers if x.object.kind == "update") for layers in both)
    cells = tuple(c for c in work.decision.cells if _touches(ours, c) and _touches(theirs, c))
    if not cells or not _can_compare(work, (*ours, *theirs), cells):
        return None
    key = work.decision.schema.key_columns
    said = (
        _said(work.ctx, work.access, [x for x in side if _touches_any(x, cells)], key, cells) for side in (ours, theirs)
    )
    found = conflicts_of([str(c.id) for c in key], cells, *said)
    return (found, replace(work.decision, cells=cells)) if found is not None and found.num_rows else None


def _is_plain(work: RowWork) -> bool:
    """Whether the two sides meet only in updates, and every cell that both changed is a conflict."""
    sides, policy = work.sides, work.decision.policy
    free = policy.strictness == "cell" and policy.rule == CONFLICT and not policy.rules and not policy.by_old_key
    special = policy.full or policy.only_new_rows or policy.replaces_all or policy.theirs_deletes_win
    if not (sides.by_changes and free) or special or sides.base.joined or not work.engine.in_process:
        return False
    if any(x.without for x in (*(sides.to_ours or ()), *(sides.to_theirs or ()))):
        return False
    meeting = Meeting(sides.to_ours or (), sides.to_theirs or ())
    return all(x.object.kind == "update" for pair in meeting.pairs(work.decision.cells) for x in pair)


def _touches(layers: Sequence[Layer], column: Column) -> bool:
    return any(_touches_any(x, (column,)) for x in layers)


def _touches_any(layer: Layer, columns: Sequence[Column]) -> bool:
    return any(not c.ids.isdisjoint(layer.object.touched) for c in columns)


def _can_compare(work: RowWork, layers: Sequence[Layer], cells: Sequence[Column]) -> bool:
    """Whether the changes are few, fit the table's current columns, and have values that Arrow can compare."""
    schema = work.decision.schema
    if sum(x.object.row_count for x in layers) > LOOKED_UP_KEYS_LIMIT:
        return False
    if any(c.type.name not in SEARCHED for c in schema.key_columns) or any(c.type.only_spark for c in cells):
        return False
    states: list[TableState] = [s.read_as(schema) for s in (work.sides.ours, work.sides.theirs)]
    known = replace(states[0], schemas={**states[0].schemas, **states[1].schemas})
    same_key = all(s.schema.key_ids == schema.key_ids for s in states)
    return same_key and can_fold_in_memory(known, [x for x in layers if _touches_any(x, cells)], cells)


def _said(
    ctx: Context, access: Access, layers: Sequence[Layer], key: Sequence[Column], cells: Sequence[Column]
) -> Said:
    """What changes say of some columns, read from the catalogue or from files."""
    uris = {x.object.id: access.uris[x.object.id] for x in layers if x.object.id not in access.tables}
    found = []
    with ctx.sound.at_hand(list(uris.values())) as elsewhere:
        for x in layers:
            touched = [c for c in cells if c.id in x.object.touched]
            names = [*(str(c.id) for c in key), *(name for c in touched for name in (str(c.id), c.before))]
            uri = uris.get(x.object.id)
            rows = access.tables[x.object.id] if uri is None else _file(elsewhere.get(uri, uri), names)
            found.append((x, _as_keys(rows.select(names), arrow_fields(key))))
    return found


def _file(path: str, names: Sequence[str]) -> pa.Table:
    with open(path, "rb") as file:
        return plain(read_columns(file, names))


def _as_keys(rows: pa.Table, key: pa.Schema) -> pa.Table:
    """Rows with the key cast to its current types."""
    for n, field in enumerate(key):
        rows = rows.set_column(n, field, rows.column(field.name).cast(field.type))
    return rows
