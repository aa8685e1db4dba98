"""Read a query's rows batch by batch, so that a table of any size fits through a process of any size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet

from anabranch.arrow.types import arrow_type
from anabranch.engines.engine import Engine
from anabranch.errors import Unavailable
from anabranch.model.schema import Column
from anabranch.objects.locations import open_root
from anabranch.objects.root import ObjectRoot
from anabranch.queries.query import Query
from anabranch.repo.context.context import Context
from anabranch.settings import BATCH_ROWS

Batches = tuple[pa.Schema, Iterator[pa.RecordBatch]]


@contextmanager
def batches_of(ctx: Context, engine: Engine, query: Query, columns: Sequence[Column]) -> Iterator[Batches]:
    """Run a query and yield its rows in batches, in its order."""
    schema = pa.schema([(c.name, arrow_type(c.type)) for c in columns])
    if engine.in_process:
        with ctx.engines.duck().stream(query, BATCH_ROWS) as found:
            yield schema, _typed(found, schema)
        return
    # Spark hands over rows only all at once; through files they come in pieces.
    with _passing(ctx) as (root, prefix):
        engine.write(query, root.uri(prefix), ())
        yield schema, _typed(_from_files(root, prefix), schema)


@contextmanager
def _passing(ctx: Context) -> Iterator[tuple[ObjectRoot, str]]:
    """A temporary place in the object root, or in a system folder if the store is read-only."""
    try:
        prefix = ctx.root.new_prefix()
    except Unavailable:
        with TemporaryDirectory(prefix="anabranch-", ignore_cleanup_errors=True) as folder:
            root = open_root(folder)
            yield root, root.new_prefix()
        return
    try:
        yield ctx.root, prefix
    finally:
        ctx.root.discard(prefix)


def _from_files(root: ObjectRoot, prefix: str) -> Iterator[pa.RecordBatch]:
    for written in root.written(prefix):
        with root.open(written.path) as file:
            options = {"coerce_int96_timestamp_unit": "us", "page_checksum_verification": True}
            found = pyarrow.parquet.ParquetFile(file, **options)
            yield from found.iter_batches(BATCH_ROWS)


def _typed(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Cast batches to one set of types, since engines differ in theirs for text and times."""
    for batch in batches:
        yield from pa.Table.from_batches([batch]).rename_columns(schema.names).cast(schema).to_batches()
