"""Rows into objects: what an engine computes is stored where nobody sees it, and checked on the way."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from anabranch.engines.engine import Engine
from anabranch.errors import InvalidRequest
from anabranch.model.ids import ColumnId, ObjectId, new_id
from anabranch.model.objects import KeyRange, NewObject, ObjectKind, StoredObject, around
from anabranch.model.schema import Column, Schema
from anabranch.model.types import DataType
from anabranch.objects import parquet
from anabranch.objects.root import SealedFile
from anabranch.queries import changes
from anabranch.queries.query import Files, Query, Rows, Source, reading_of
from anabranch.repo.context import Context

NAMED_AT_MOST = 5
"""How many offending rows an error names."""


@dataclass(frozen=True)
class Kept:
    """Rows that an engine computed and that were kept aside: readable any number of times, always the same."""

    source: Source
    row_count: int
    key_range: KeyRange | None

    def of_kind(self, op: str, columns: Sequence[str]) -> Query | Rows:
        """The rows of one kind among matched or compared ones; those at hand need no engine."""
        if isinstance(self.source, Rows):
            rows = self.source.table
            return Rows(rows.filter(pc.equal(rows.column(changes.OP), op)).select(list(columns)))
        return changes.of_kind(reading_of(self.source, [*columns, changes.OP]), op, columns)


@dataclass
class Scratch:
    """Keeps intermediate rows: in memory for DuckDB, in files that are removed afterwards for Spark."""

    ctx: Context
    engine: Engine
    prefixes: list[str] = field(default_factory=list)

    def keep(self, query: Query | Rows, columns: Sequence[tuple[str, DataType]], key: Sequence[Column]) -> Kept:
        """Run a query once and keep its rows, sorted by key."""
        cluster = [str(c.id) for c in key]
        if self.engine.in_process:
            found = query.table if isinstance(query, Rows) else self.engine.fetch(query)
            rows = _sorted(found, cluster)
            return Kept(Rows(rows), rows.num_rows, parquet.table_range(rows, key))
        if isinstance(query, Rows):
            query = reading_of(query, query.table.column_names)
        prefix = self.ctx.root.new_prefix()
        self.prefixes.append(prefix)
        self.engine.write(query, self.ctx.root.uri(prefix), cluster)
        return kept_files(self.ctx, self.ctx.root.seal(prefix), columns, key)


@contextmanager
def scratch(ctx: Context, engine: Engine) -> Iterator[Scratch]:
    """Give a place for intermediate rows that is gone at the end."""
    place = Scratch(ctx, engine)
    try:
        yield place
    finally:
        for prefix in place.prefixes:
            ctx.root.discard(prefix)


def kept_files(
    ctx: Context, files: Sequence[SealedFile], columns: Sequence[tuple[str, DataType]], key: Sequence[Column]
) -> Kept:
    """Describe files that an engine wrote."""
    footers = [_footer(ctx, f, key) for f in files]
    full = [(f, foot) for f, foot in zip(files, footers, strict=True) if foot.row_count]
    if not full:
        empty = pa.table({name: pa.array([], _arrow(type_)) for name, type_ in columns})
        return Kept(Rows(empty), 0, None)
    uris = tuple(ctx.root.uri(f.path) for f, _ in full)
    rows = sum(foot.row_count for _, foot in full)
    ranges = around(foot.key_range for _, foot in full)
    return Kept(Files(uris, tuple(columns)), rows, ranges)


def store(
    ctx: Context,
    engine: Engine,
    query: Query | Rows,
    kind: ObjectKind,
    schema: Schema,
    touched: Sequence[Column],
    files: int | None = None,
) -> tuple[NewObject, ...]:
    """Run a query and store its rows as objects of one kind, sorted by key; `files` says in how many, to Spark."""
    cluster = [str(c.id) for c in schema.key_columns]
    ids = tuple(c.id for c in touched)
    if engine.in_process:
        found = query.table if isinstance(query, Rows) else engine.fetch(query)
        return _store_rows(ctx, _sorted(found, cluster), kind, schema, ids)
    if isinstance(query, Rows):
        query = reading_of(query, query.table.column_names)
    prefix = ctx.root.new_prefix()
    try:
        engine.write(query, ctx.root.uri(prefix), cluster, files)
        sealed = ctx.root.seal(prefix)
    except BaseException:
        ctx.root.discard(prefix)
        raise
    made = []
    for file in sealed:
        footer = _footer(ctx, file, schema.key_columns)
        if footer.row_count == 0:
            ctx.root.discard(file.path)
            continue
        made.append(
            _object(kind, schema, ids, file.sha256, file.size_bytes, footer.row_count, footer.key_range, file.path)
        )
    if not made:
        ctx.root.discard(prefix)
    return tuple(made)


def source_of(made: Sequence[NewObject], ctx: Context, columns: Sequence[tuple[str, DataType]]) -> Source:
    """New objects of one kind and columns as one source."""
    files = tuple(ctx.root.uri(o.stored.path) for o in made if o.stored.path)
    if files:
        return Files(files, tuple(columns))
    return Rows(
        pa.concat_tables(
            [ctx.cache.get(o.stored.id) or parquet.decode(o.content) for o in made if o.content is not None]
        )
    )


def refuse_null(engine: Engine, source: Source, columns: Sequence[Column], schema: Schema, what: str) -> None:
    """Refuse nulls in columns that may not have them, naming some rows."""
    firm = [c for c in columns if not c.nullable]
    if isinstance(source, Rows):
        firm = [c for c in firm if source.table.column(c.id).null_count]
    if not firm:
        return
    shown = list(dict.fromkeys((*schema.key_columns, *firm)))
    query = reading_of(source, [c.id for c in shown])
    found = engine.fetch(changes.missing_values(query, firm, schema.key_columns, NAMED_AT_MOST))
    if found.num_rows:
        names = {c.id: c.name for c in schema}
        rows = [{names[ColumnId(k)]: v for k, v in row.items()} for row in found.to_pylist()]
        nulls = sorted({name for row in rows for name, value in row.items() if value is None})
        message = f"{what}: null in column {', '.join(map(repr, nulls))}, which may not be null: {_listed(rows)}"
        raise InvalidRequest(message, hint="give a value, or leave these rows out", rows=rows)


def refuse_repeated(ctx: Context, kept: Source, schema: Schema, what: str) -> None:
    """Refuse keys that come twice; in sorted rows they are neighbours."""
    key = schema.key_columns
    found: list[dict[str, Any]] = []
    if isinstance(kept, Rows):
        found = parquet.equal_rows(kept.table, key, NAMED_AT_MOST)
    elif isinstance(kept, Files):
        for uri in kept.uris:
            with ctx.root.open_uri(uri) as file:
                found += parquet.equal_neighbours(file, key, NAMED_AT_MOST - len(found))
            if len(found) >= NAMED_AT_MOST:
                break
    refuse_keys(found, schema, f"{what}: the rows have a key more than once")


def refuse_keys(found: Sequence[dict[str, Any]], schema: Schema, problem: str) -> None:
    """Refuse if there are offending keys, naming some."""
    if found:
        names = {c.id: c.name for c in schema.key_columns}
        keys = [{names[ColumnId(k)]: v for k, v in row.items()} for row in found[:NAMED_AT_MOST]]
        raise InvalidRequest(
            f"{problem}: {_listed(keys)}", hint="keys are unique; see upsert to replace rows", keys=keys
        )


def _listed(rows: Sequence[dict[str, Any]]) -> str:
    return "; ".join(", ".join(f"{k}={v!r}" for k, v in row.items()) for row in rows)


def _sorted(rows: pa.Table, cluster: Sequence[str]) -> pa.Table:
    return rows.sort_by([(name, "ascending") for name in cluster]) if cluster and rows.num_rows > 1 else rows


def _store_rows(
    ctx: Context, rows: pa.Table, kind: ObjectKind, schema: Schema, touched: tuple[ColumnId, ...]
) -> tuple[NewObject, ...]:
    made = []
    limit = ctx.settings.file_row_limit
    for start in range(0, rows.num_rows, limit):
        part = rows.slice(start, limit)
        content = parquet.encode(part, ctx.settings.row_group_rows)
        key_range = parquet.table_range(part, schema.key_columns)
        if len(content) <= ctx.settings.inline_limit_bytes:
            digest = hashlib.sha256(content).hexdigest()
            new = _object(kind, schema, touched, digest, len(content), part.num_rows, key_range, None, content)
            ctx.cache.put(new.stored.id, part)
        else:
            file = ctx.root.put(content)
            new = _object(kind, schema, touched, file.sha256, len(content), part.num_rows, key_range, file.path)
        made.append(new)
    return tuple(made)


def _object(
    kind: ObjectKind,
    schema: Schema,
    touched: tuple[ColumnId, ...],
    sha256: str,
    size_bytes: int,
    row_count: int,
    key_range: KeyRange | None,
    path: str | None,
    content: bytes | None = None,
) -> NewObject:
    place = "inline" if path is None else "root"
    id_ = ObjectId(new_id("o"))
    stored = StoredObject(id_, kind, sha256, size_bytes, row_count, schema.id, key_range, touched, place, path)  # type: ignore[arg-type]
    return NewObject(stored, content)


def _footer(ctx: Context, file: SealedFile, key: Sequence[Column]) -> parquet.Footer:
    with ctx.root.open(file.path) as opened:
        return parquet.read_footer(opened, key)


def _arrow(type_: DataType) -> pa.DataType:
    from anabranch.objects.arrow import arrow_type

    return arrow_type(type_)
