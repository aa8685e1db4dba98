"""Files that a process writes for Spark beside the objects of a store; they are gone when it ends."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from anabranch.errors import Unavailable
from anabranch.model.ids import ObjectId
from anabranch.model.types import DataType
from anabranch.objects.root import ObjectRoot
from anabranch.settings import SPARK_COPY_FILES_LIMIT, SPARK_COPY_THREADS, Settings

if TYPE_CHECKING:
    import pyarrow as pa

    from anabranch.queries.query import Files, Source


Columns = tuple[tuple[str, DataType], ...]


class SparkCopies:
    """Folded changes, rows with changes applied, and copies of small objects, each written once.

    Files live until the process ends, since a DataFrame may still read them. Past the limit, callers do without.
    """

    def __init__(self, root: ObjectRoot, settings: Settings) -> None:
        self._root, self._settings = root, settings
        self._files: dict[Hashable, Files] = {}

    def __len__(self) -> int:
        return len(self._files)

    def rows(self, rows: pa.Table, columns: Columns, key: Hashable) -> Source:
        """Keep folded changes in files, for Spark to read repeatedly; without room, they are sent with each query."""
        from anabranch.queries.query import Rows

        return self.made(lambda: rows, columns, key) or Rows(rows)

    def made(self, make: Callable[[], pa.Table], columns: Columns, key: Hashable) -> Source | None:
        """Make rows once and keep them: many in files, few in memory. None without room."""
        from anabranch.queries.query import Rows

        if key in self._files:
            return self._files[key]
        if not self._has_room:
            return None
        rows = make()
        if rows.num_rows < self._settings.spark.copy_row_limit:
            return Rows(rows)
        size = self._settings.objects.row_group_rows
        parts = [rows.slice(start, size) for start in range(0, max(rows.num_rows, 1), size)]
        return self._write(parts, columns, key) or Rows(rows)

    def copies(self, small: Mapping[ObjectId, pa.Table]) -> dict[ObjectId, str] | None:
        """Also keep small objects in files, which Spark reads along with the others; None without room."""
        found: dict[ObjectId, str] = {}
        for id_, rows in small.items():
            held = self._files.get(id_) or (self._write([rows], (), id_) if self._has_room else None)
            if held is None:
                return None
            found[id_] = held.uris[0]
        return found

    def content(self, make: Callable[[], bytes], suffix: str, key: Hashable) -> str:
        """Keep bytes in a file of their own, under a suffix; Unavailable without room."""
        from anabranch.queries.query import Files

        if key not in self._files:
            if not self._has_room:
                hint = "read fewer at once, or put them with chunking='whole', so that they are read in place"
                raise Unavailable("there is no room for more copies of files in this process", hint=hint)
            content = make()
            self._files[key] = Files((self._root.put_temporary(content, suffix),), (), size_bytes=len(content))
        return self._files[key].uris[0]

    @property
    def _has_room(self) -> bool:
        held = list(self._files.values())
        return (
            len(held) < SPARK_COPY_FILES_LIMIT
            and sum(f.size_bytes for f in held) <= self._settings.spark.copy_limit_bytes
        )

    def _write(self, parts: Sequence[pa.Table], columns: Columns, key: Hashable) -> Files | None:
        """Write each part to a file; None if the process may only read."""
        from anabranch.queries.query import Files

        try:
            with ThreadPoolExecutor(SPARK_COPY_THREADS) as pool:
                written = list(pool.map(self._put_temporary, parts))
        except Unavailable:
            return None
        uris = tuple(uri for uri, _ in written)
        self._files[key] = Files(uris, columns, size_bytes=sum(size for _, size in written))
        return self._files[key]

    def _put_temporary(self, rows: pa.Table) -> tuple[str, int]:
        from anabranch.objects.parquet import encode

        content = encode(rows, self._settings.objects.row_group_rows, quick=True)
        return self._root.put_temporary(content), len(content)
