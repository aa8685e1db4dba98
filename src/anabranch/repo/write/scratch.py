"""Intermediate rows of a verb: kept where they can be read repeatedly, and removed at its end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from anabranch.arrow.types import arrow_type
from anabranch.engines.engine import Engine
from anabranch.model.objects import KeyRange, around
from anabranch.model.schema import Column
from anabranch.model.types import DataType
from anabranch.objects import parquet
from anabranch.queries import writes as changes
from anabranch.queries.query import OP, Files, Query, Rows, Source, reading_of
from anabranch.repo.context.context import Context
from anabranch.repo.write.refusals import NAMED_AT_MOST, KeyRows
from anabranch.repo.write.row_objects import Layout, fits_memory, repeats_in, sorted_rows, write_files
from anabranch.repo.write.sealing import LookedFile, seal


@dataclass(frozen=True)
class Kept:
    """Rows that an engine computed once, kept so that every read gives the same."""

    source: Source
    row_count: int
    key_range: KeyRange | None
    repeats: KeyRows = field(default_factory=list)
    """Some of the repeated keys, if they were looked for."""

    def of_kind(self, op: str, columns: Sequence[str]) -> Query | Rows:
        """The compared rows of one kind; rows in memory need no engine."""
        if isinstance(self.source, Rows):
            rows = self.source.table
            return Rows(rows.filter(pc.equal(rows.column(OP), op)).select(list(columns)))
        return changes.of_kind(reading_of(self.source, [*columns, OP]), op, columns)


@dataclass
class Scratch:
    """Keeps intermediate rows: in memory for DuckDB or if they are few, else in files removed at the end."""

    ctx: Context
    engine: Engine
    prefixes: list[str] = field(default_factory=list)

    def keep(
        self,
        query: Query | Rows,
        columns: Sequence[tuple[str, DataType]],
        key: Sequence[Column],
        most: int | None = None,
        *,
        unique: bool = False,
    ) -> Kept:
        """Run a query once and keep its rows, sorted by key; `most` bounds their number, None if unknown.

        With `unique`, repeated keys are looked for on the way.
        """
        cluster = [str(c.id) for c in key]
        if self.engine.in_process or fits_memory(self.ctx, query, columns, most):
            found = query.table if isinstance(query, Rows) else self.engine.fetch(query)
            rows = sorted_rows(found, cluster)
            repeats = parquet.equal_rows(rows, key, NAMED_AT_MOST) if unique else []
            return Kept(Rows(rows), rows.num_rows, parquet.table_range(rows, key), repeats)
        if isinstance(query, Rows):
            query = reading_of(query, query.table.column_names)
        prefix = self.ctx.root.new_prefix()
        self.prefixes.append(prefix)
        layout = Layout(tuple(cluster), files=one_file(self.ctx, most))
        write_files(self.ctx, self.engine, query, prefix, layout)
        files = seal(self.ctx, prefix, key, hashes=False, repeats=NAMED_AT_MOST if unique else 0)
        return kept_files(self.ctx, files, columns, key)


def one_file(ctx: Context, rows: int | None) -> int | None:
    """How many files Spark should write: one for few rows, so that it need not sample the key first."""
    return 1 if rows is not None and rows <= ctx.settings.spark.file_row_limit // 4 else None


@contextmanager
def scratch(ctx: Context, engine: Engine) -> Iterator[Scratch]:
    """Provide a place for intermediate rows that is removed at the end."""
    place = Scratch(ctx, engine)
    try:
        yield place
    finally:
        for prefix in place.prefixes:
            ctx.root.discard(prefix)


def kept_files(
    ctx: Context, files: Sequence[LookedFile], columns: Sequence[tuple[str, DataType]], key: Sequence[Column]
) -> Kept:
    """Describe files that an engine wrote."""
    full = [f for f in files if f.look.row_count]
    if not full:
        empty = pa.table({name: pa.array([], arrow_type(type_)) for name, type_ in columns})
        return Kept(Rows(empty), 0, None)
    uris = tuple(ctx.root.uri(f.path) for f in full)
    rows = sum(f.look.row_count for f in full)
    ranges = around(f.key_range for f in full)
    return Kept(Files(uris, tuple(columns)), rows, ranges, repeats_in(full, key))
