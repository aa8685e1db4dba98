"""The rows of a query batch by batch, so that a table of any size passes through a process of any size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.parquet

from anabranch.engines.engine import Engine
from anabranch.model.schema import Column
from anabranch.objects.arrow import arrow_type
from anabranch.queries.query import Query
from anabranch.repo.context import Context

BATCH_ROWS = 64 * 1024

Batches = tuple[pa.Schema, Iterator[pa.RecordBatch]]


@contextmanager
def batches_of(ctx: Context, engine: Engine, query: Query, columns: Sequence[Column]) -> Iterator[Batches]:
    """Run a query and give its rows in batches, in its order."""
    schema = pa.schema([(c.name, arrow_type(c.type)) for c in columns])
    if engine.in_process:
        with ctx.engines.duck().stream(query, BATCH_ROWS) as found:
            yield schema, _typed(found, schema)
        return
    # Spark hands rows over only all at once; through files they come in pieces.
    prefix = ctx.root.new_prefix()
    try:
        engine.write(query, ctx.root.uri(prefix), ())
        yield schema, _typed(_from_files(ctx, prefix), schema)
    finally:
        ctx.root.discard(prefix)


def _from_files(ctx: Context, prefix: str) -> Iterator[pa.RecordBatch]:
    for sealed in ctx.root.seal(prefix):
        with ctx.root.open(sealed.path) as file:
            found = pyarrow.parquet.ParquetFile(file, coerce_int96_timestamp_unit="us")
            yield from found.iter_batches(BATCH_ROWS)


def _typed(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Engines have types of their own for text and times; whoever reads gets one kind."""
    for batch in batches:
        yield from pa.Table.from_batches([batch]).rename_columns(schema.names).cast(schema).to_batches()
