"""Puts of small files, gathered as columns: a million of them leave no objects of ours in memory but a tuple each."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime, timedelta

import pyarrow as pa

from anabranch.arrow.types import arrow_type
from anabranch.model.files import BLOCKS, BlockRef
from anabranch.model.schema import Schema
from anabranch.queries.query import INSERT, OP
from anabranch.repo.files.statement import FileChange

SmallPut = tuple[str, int, int, bytes, int, int, int | None]
"""The pack, where in it, how many bytes, their sha256, the number of the write, microseconds since 1970, the mode."""
_ERA = datetime(1970, 1, 1, tzinfo=UTC)
_BLOCKS = arrow_type(BLOCKS.type)


def as_change(put: SmallPut, write: str) -> FileChange:
    """One of them as any other change, for a path that something else happens to."""
    object_id, start, size, digest, number, micros, mode = put
    ref = BlockRef(0, write, number, object_id, start, size, digest)
    return FileChange(True, (ref,), digest, _ERA + timedelta(microseconds=micros), mode)


class SmallPuts(dict[str, SmallPut]):
    """Puts by path, all of one write."""

    def __init__(self, write: str) -> None:
        super().__init__()
        self.write = write

    @property
    def paths(self) -> Collection[str]:
        return self.keys()

    def change(self, path: str) -> FileChange | None:
        """Take one out, as any other change."""
        found = self.pop(path, None)
        return as_change(found, self.write) if found else None

    def taken_out(self, there: Iterable[str]) -> dict[str, FileChange]:
        """Give the changes of some paths up to be compared."""
        return {path: change for path in there if (change := self.change(path))}

    def compared(self, schema: Schema) -> pa.Table:
        """The rest as rows that were compared."""
        return compared_rows(self, self.write, schema)


def compared_rows(puts: Mapping[str, SmallPut], write: str, schema: Schema) -> pa.Table:
    """New files as rows that were compared with nothing: the same as rows of the tree give, column by column."""
    objects, starts, sizes, digests, numbers, micros, modes = zip(*puts.values(), strict=True)
    folders, names = zip(*((p[0], p[2]) for p in (path.rpartition("/") for path in puts)), strict=True)
    size = pa.array(sizes, pa.int64())
    refs = [_same(0, pa.int32(), len(puts)), _same(write, pa.string(), len(puts)), pa.array(numbers, pa.int64())]
    refs += [pa.array(objects, pa.string()), pa.array(starts, pa.int64()), size, pa.array(digests, pa.binary())]
    structs = pa.StructArray.from_arrays(refs, fields=list(_BLOCKS.value_type))
    offsets = pa.array(range(len(puts) + 1), pa.int32())
    described = {
        "parent": pa.array(folders, pa.string()),
        "name": pa.array(names, pa.string()),
        "size": size,
        "mode": pa.array(modes, pa.int32()),
        "written_at": pa.array(micros, pa.int64()).view(pa.timestamp("us", "UTC")),
        "blocks": pa.ListArray.from_arrays(offsets, structs, type=_BLOCKS),
    }
    columns = {str(c.id): described.get(c.name, pa.nulls(len(puts), arrow_type(c.type))) for c in schema.columns}
    before = {c.before: pa.nulls(len(puts), arrow_type(c.type)) for c in schema.plain_columns}
    return pa.table({**columns, **before, OP: _same(INSERT, pa.string(), len(puts))})


def _same(value: object, type_: pa.DataType, count: int) -> pa.Array:
    return pa.repeat(pa.scalar(value, type_), count)
