"""How much memory the rows of a small Parquet file take, judged from its footer before reading them.

A few bytes may expand to any number of equal values, and the file may come from anyone.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq

from anabranch.errors import Corrupt
from anabranch.settings import INLINE_MEMORY_LIMIT_BYTES

_FIXED_BYTES = 16
_ANY_WIDTH = ("BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY")
_PIECES = 16


def read_within_limit(file: pq.ParquetFile, limit_bytes: int = INLINE_MEMORY_LIMIT_BYTES) -> pa.Table:
    """Read all rows; refuse those that would take more memory than the limit, before they do."""
    metadata = file.metadata
    least, most = _least_and_most(metadata)
    if least > limit_bytes:
        raise _swollen(limit_bytes)
    if most <= limit_bytes:
        return file.read(use_threads=False)
    widest = max(1, most // max(1, metadata.num_rows))
    return _read_in_pieces(file, max(1, limit_bytes // _PIECES // widest), limit_bytes)


def _least_and_most(metadata: pq.FileMetaData) -> tuple[int, int]:
    """The size of the values if each is small, and if each is as large as all that its column chunk holds."""
    least = most = 0
    for n in range(metadata.num_row_groups):
        group = metadata.row_group(n)
        for i in range(metadata.num_columns):
            chunk = group.column(i)
            count = chunk.num_values
            wide = chunk.total_uncompressed_size if chunk.physical_type in _ANY_WIDTH else 0
            least += count * _FIXED_BYTES // 2
            most += count * max(wide, _FIXED_BYTES)
    return least, most


def _read_in_pieces(file: pq.ParquetFile, rows: int, limit_bytes: int) -> pa.Table:
    taken, pieces = 0, []
    for batch in file.iter_batches(batch_size=rows, use_threads=False):
        taken += batch.nbytes
        if taken > limit_bytes:
            raise _swollen(limit_bytes)
        pieces.append(batch)
    return pa.Table.from_batches(pieces, file.schema_arrow).combine_chunks()


def _swollen(limit_bytes: int) -> Corrupt:
    message = f"an object would take more than {limit_bytes / 1e9:,.1f} GB of memory, which none that is written does"
    return Corrupt(message, hint="it is damaged or was made to harm; restore the catalogue from a backup")
