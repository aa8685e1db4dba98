"""Rows of the file tree to Arrow and back, many at once, column by column."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from anabranch.arrow.types import arrow_type
from anabranch.model.files import BLOCKS, BlockRef, FileRow
from anabranch.model.schema import Column, Schema
from anabranch.plan.refs_forest import MAX_LEVEL, ROOTS_LIMIT

_BLOCKS = arrow_type(BLOCKS.type)


def column_arrays(rows: Sequence[FileRow | None], columns: Sequence[Column]) -> list[pa.Array]:
    """The values of rows, one array per column; nulls for a row that is None."""
    if not any(rows):
        return [pa.nulls(len(rows), arrow_type(c.type)) for c in columns]
    values = dict(zip(FileRow._fields, zip(*(row or _NOTHING for row in rows), strict=True), strict=True))
    return [_array(values[c.name], c) for c in columns]


_NOTHING = (None,) * len(FileRow._fields)


def _array(values: Sequence[Any], column: Column) -> pa.Array:
    if column.id == BLOCKS.id:
        return _block_lists(values)
    if values.count(None) == len(values):
        return pa.nulls(len(values), arrow_type(column.type))
    return pa.array(values, arrow_type(column.type))


def _block_lists(lists: Sequence[tuple[BlockRef, ...] | None]) -> pa.Array:
    refs = [ref for found in lists for ref in found or ()]
    struct = _BLOCKS.value_type
    fields = list(zip(*refs, strict=True)) or [()] * len(struct)
    parts = [pa.array(values, field.type) for values, field in zip(fields, struct, strict=True)]
    offsets: list[int] = [0]
    for found in lists:
        offsets.append(offsets[-1] + len(found or ()))
    mask = pa.array([found is None for found in lists], pa.bool_())
    made = pa.StructArray.from_arrays(parts, fields=list(struct))
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), made, type=_BLOCKS, mask=mask)


def key_table(paths: Iterable[str], schema: Schema) -> pa.Table:
    """Distinct paths as keys to look up."""
    parent, name = schema.key_columns
    return pa.table(key_arrays(dict.fromkeys(paths)), names=[str(parent.id), str(name.id)])


def key_arrays(paths: Collection[str]) -> list[pa.Array]:
    """The folders and names of paths; a path that ends in a slash is a folder's own row."""
    folders, names = [p.rpartition("/")[0] for p in paths], [p.rpartition("/")[2] for p in paths]
    return [pa.array(folders, pa.string()), pa.array(names, pa.string())]


def rows_of(table: pa.Table) -> list[FileRow]:
    """A table that was read, as rows; its columns are in the order of the tree's."""
    names = table.column_names
    fields = FileRow._fields[: len(names)]
    if "blocks" in fields:
        table = _without_wide(table, fields.index("blocks"))
    found = table.to_pylist()
    return [row_of({f: record[n] for f, n in zip(fields, names, strict=True)}) for record in found]


def _without_wide(table: pa.Table, place: int) -> pa.Table:
    """Put an impossible reference where a file has more than any can have, before they are made values of Python.

    So such a file can be listed and deleted, and whoever reads its bytes is refused.
    """
    blocks = table.column(place)
    widths = pc.list_value_length(blocks)
    if (pc.max(widths).as_py() or 0) <= ROOTS_LIMIT:
        return table
    impossible = pa.scalar([_IMPOSSIBLE._asdict()], blocks.type)
    told = pc.if_else(pc.fill_null(pc.greater(widths, ROOTS_LIMIT), False), impossible, blocks)
    return table.set_column(place, table.field(place), told)


_IMPOSSIBLE = BlockRef(MAX_LEVEL + 1, "", 0, "", 0, 0, b"")


def row_of(record: dict[str, Any]) -> FileRow:
    """A record that was read, as a row."""
    return FileRow(**cells_of(record))


def cells_of(record: dict[str, Any]) -> dict[str, Any]:
    """Cells that were read, as a row has them."""
    if "blocks" not in record:
        return record
    return {**record, "blocks": tuple(BlockRef(**ref) for ref in record["blocks"] or ())}
