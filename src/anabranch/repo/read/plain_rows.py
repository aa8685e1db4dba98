"""Tables that the catalogue holds whole: their rows are read without an engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from anabranch.arrow.types import arrow_fields
from anabranch.model.ids import ObjectId
from anabranch.model.layers import as_layers
from anabranch.model.objects import StoredObject
from anabranch.model.schema import Column
from anabranch.model.tables import TableState
from anabranch.repo.context.context import Context


def plain_rows(
    ctx: Context, state: TableState, columns: Sequence[Column], pending: Mapping[ObjectId, bytes]
) -> pa.Table | None:
    """Read columns under their ids; None where a layer is a file, a change, or was written under other columns."""
    objects = [layer.object for layer in state.layers]
    small = as_layers(state.layers).inline
    if len(small) < len(objects) or not all(_is_plain(o, state, columns) for o in small):
        return None
    rows = ctx.small_rows(small, pending)
    fields, names = arrow_fields(columns), [str(c.id) for c in columns]
    found = [rows[o.id].select(names).cast(fields) for o in objects]
    return pa.concat_tables(found) if found else fields.empty_table()


def _is_plain(o: StoredObject, state: TableState, columns: Sequence[Column]) -> bool:
    """Whether an object holds rows with these columns as the table has them now."""
    return o.kind == "rows" and state.holds_as_now(o, columns) and not any(c.type.only_spark for c in columns)
