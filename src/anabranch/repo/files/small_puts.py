"""Puts of small files, gathered in columns: a million of them leave no objects for Python's GC to traverse."""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import TypeVar

import pyarrow as pa

from anabranch.arrow.types import arrow_type
from anabranch.model.files import BLOCKS, BlockRef
from anabranch.model.schema import Schema
from anabranch.queries.query import INSERT, OP
from anabranch.repo.files.statement import FileChange
from anabranch.repo.files.tree_rows import key_arrays

_ERA = datetime(1970, 1, 1, tzinfo=UTC)
_BLOCKS = arrow_type(BLOCKS.type)
T = TypeVar("T")
SmallBlock = tuple[str, int, int, bytes, int]
"""The pack, the offset in it, the size, the sha256, and the number of the write."""


class SmallPuts:
    """Puts of one write, as rows in columns, and the row that counts for each path."""

    def __init__(self, write: str, place: Callable[[bytes], SmallBlock]) -> None:
        self.write, self._place = write, place
        self._rows: dict[str, int] = {}
        self._objects: list[str] = []
        self._modes: list[int | None] = []
        self._digests: list[bytes] = []
        self._starts, self._sizes, self._numbers, self._micros = (array("q") for _ in range(4))

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def paths(self) -> Collection[str]:
        return self._rows.keys()

    def put(self, path: str, content: bytes, mode: int | None) -> None:
        """Store the bytes of a file, replacing an earlier put."""
        stored, start, size, digest, number = self._place(content)
        self._rows[path] = len(self._objects)
        self._objects.append(stored)
        self._starts.append(start)
        self._sizes.append(size)
        self._digests.append(digest)
        self._numbers.append(number)
        self._micros.append(time.time_ns() // 1000)
        self._modes.append(mode)

    def emptied(self) -> SmallPuts:
        """A new, empty one for the same write."""
        return SmallPuts(self.write, self._place)

    def change(self, path: str) -> FileChange | None:
        """Take a put out, as a `FileChange`."""
        n = self._rows.pop(path, None)
        if n is None:
            return None
        digest, written_at = self._digests[n], _ERA + timedelta(microseconds=self._micros[n])
        ref = BlockRef(0, self.write, self._numbers[n], self._objects[n], self._starts[n], self._sizes[n], digest)
        return FileChange(True, (ref,), digest, written_at, self._modes[n])

    def taken_out(self, there: Iterable[str]) -> dict[str, FileChange]:
        """Take out the changes of some paths, to be compared with the tree."""
        return {path: change for path in there if (change := self.change(path))}

    def compared(self, schema: Schema) -> pa.Table:
        """The rest, as rows that were compared with nothing; same columns as `compared_table`."""
        folders, names = key_arrays(self._rows)
        described = {**self._described(), "parent": folders, "name": names}
        count = len(self._rows)
        columns = {str(c.id): described.get(c.name, pa.nulls(count, arrow_type(c.type))) for c in schema.columns}
        before = {c.before: pa.nulls(count, arrow_type(c.type)) for c in schema.plain_columns}
        return pa.table({**columns, **before, OP: _same(INSERT, pa.string(), count)})

    def _described(self) -> dict[str, pa.Array]:
        """The columns of the rows that count."""
        count = len(self._rows)
        size, numbers, starts, micros = map(self._counted, (self._sizes, self._numbers, self._starts, self._micros))
        refs = [_same(0, pa.int32(), count), _same(self.write, pa.string(), count), numbers]
        refs += [pa.array(self._of(self._objects), pa.string()), starts, size]
        refs += [pa.array(self._of(self._digests), pa.binary())]
        structs = pa.StructArray.from_arrays(refs, fields=list(_BLOCKS.value_type))
        offsets = pa.array(range(count + 1), pa.int32())
        return {
            "size": size,
            "mode": pa.array(self._of(self._modes), pa.int32()),
            "written_at": micros.view(pa.timestamp("us", "UTC")),
            "blocks": pa.ListArray.from_arrays(offsets, structs, type=_BLOCKS),
        }

    def _of(self, values: Sequence[T]) -> Sequence[T]:
        """The values of the rows that count: all, unless a path was put twice or taken out."""
        return values if len(values) == len(self._rows) else [values[n] for n in self._rows.values()]

    def _counted(self, numbers: array[int]) -> pa.Array:
        found = self._of(numbers)
        whole = found if isinstance(found, array) else array("q", found)
        return pa.Array.from_buffers(pa.int64(), len(whole), [None, pa.py_buffer(whole)])


def _same(value: object, type_: pa.DataType, count: int) -> pa.Array:
    return pa.repeat(pa.scalar(value, type_), count)
