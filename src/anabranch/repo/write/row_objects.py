"""Rows into objects: what an engine computes is stored where nobody sees it, and checked on the way."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from anabranch.arrow.plain import plain
from anabranch.engines.engine import Engine
from anabranch.errors import InvalidRequest
from anabranch.model.files import BLOCKS
from anabranch.model.ids import ColumnId, ObjectId, new_id, new_write_id
from anabranch.model.objects import KeyRange, NewObject, ObjectKind, StoredObject, around
from anabranch.model.schema import ROW_ID, Column, Schema
from anabranch.model.tables import TableState
from anabranch.model.types import DataType
from anabranch.objects import parquet
from anabranch.objects.looks import repeated_keys
from anabranch.queries import writes as changes
from anabranch.queries.nested import needs_spark_to_take
from anabranch.queries.query import OP, Files, Query, Rows, Source, reading_of
from anabranch.repo.context.context import Context
from anabranch.repo.write.sealing import LookedFile, seal
from anabranch.settings import DOOR_ROW_LIMIT, ENCODING_THREADS, INLINE_MEMORY_LIMIT_BYTES

NAMED_AT_MOST = 5
"""How many offending rows an error names."""
KeyRows = list[dict[str, Any]]
"""Some keys, each by the ids of its columns."""


@dataclass(frozen=True)
class Kept:
    """Rows that an engine computed and that were kept aside: readable any number of times, always the same."""

    source: Source
    row_count: int
    key_range: KeyRange | None
    repeats: KeyRows = field(default_factory=list)
    """Keys that come more than once, some of them, if they were looked for as the rows were kept."""

    def of_kind(self, op: str, columns: Sequence[str]) -> Query | Rows:
        """The rows of one kind among matched or compared ones; those at hand need no engine."""
        if isinstance(self.source, Rows):
            rows = self.source.table
            return Rows(rows.filter(pc.equal(rows.column(OP), op)).select(list(columns)))
        return changes.of_kind(reading_of(self.source, [*columns, OP]), op, columns)


@dataclass
class Scratch:
    """Keeps intermediate rows: in memory for DuckDB, or if they are few, else in files that are removed afterwards."""

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
        """Run a query once and keep its rows, sorted by key; there are `most` of them, or it is not known.

        If they are to be `unique`, keys that come twice are looked for on the way.
        """
        cluster = [str(c.id) for c in key]
        if self.engine.in_process or _fits_memory(self.ctx, query, columns, most):
            found = query.table if isinstance(query, Rows) else self.engine.fetch(query)
            rows = _sorted(found, cluster)
            repeats = parquet.equal_rows(rows, key, NAMED_AT_MOST) if unique else []
            return Kept(Rows(rows), rows.num_rows, parquet.table_range(rows, key), repeats)
        if isinstance(query, Rows):
            query = reading_of(query, query.table.column_names)
        prefix = self.ctx.root.new_prefix()
        self.prefixes.append(prefix)
        layout = Layout(tuple(cluster), files=one_file(self.ctx, most))
        _write(self.ctx, self.engine, query, prefix, layout)
        files = seal(self.ctx, prefix, key, hashes=False, repeats=NAMED_AT_MOST if unique else 0)
        return kept_files(self.ctx, files, columns, key)


def _fits_memory(
    ctx: Context, query: Query | Rows, columns: Sequence[tuple[str, DataType]], most: int | None = None
) -> bool:
    """Whether rows are few, and Arrow holds them as Spark does: then Spark need not write them, unless asked to."""
    count = query.table.num_rows if isinstance(query, Rows) else most
    few = count is not None and count <= DOOR_ROW_LIMIT
    is_free = ctx.engines.setting != "spark"
    return few and is_free and not any(needs_spark_to_take(type_) for _, type_ in columns)


def one_file(ctx: Context, rows: int | None) -> int | None:
    """How many files Spark is to write for so many rows: one for few, for which it need not sample the key first."""
    return 1 if rows is not None and rows <= ctx.settings.spark_file_row_limit // 4 else None


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
    ctx: Context, files: Sequence[LookedFile], columns: Sequence[tuple[str, DataType]], key: Sequence[Column]
) -> Kept:
    """Describe files that an engine wrote."""
    full = [f for f in files if f.look.row_count]
    if not full:
        empty = pa.table({name: pa.array([], _arrow(type_)) for name, type_ in columns})
        return Kept(Rows(empty), 0, None)
    uris = tuple(ctx.root.uri(f.path) for f in full)
    rows = sum(f.look.row_count for f in full)
    ranges = around(f.key_range for f in full)
    return Kept(Files(uris, tuple(columns)), rows, ranges, _repeats(full, key))


def _repeats(files: Sequence[LookedFile], key: Sequence[Column]) -> KeyRows:
    """Keys that come more than once in files that are sorted by key."""
    found = repeated_keys((f.look for f in files), NAMED_AT_MOST)
    return [dict(zip((str(c.id) for c in key), keys, strict=True)) for keys in found]


@dataclass(frozen=True)
class Layout:
    """How whole rows are written: in which order, and, for a table without a key, under which new row ids."""

    cluster: tuple[str, ...]
    write_id: str | None = None
    files: int | None = None
    """How many files Spark is to write; it decides itself for None. One means one, in the process too."""
    file_rows: int | None = None
    """Rows of each file that the process writes; the usual number for None."""


def store(
    ctx: Context,
    engine: Engine,
    query: Query | Rows,
    kind: ObjectKind,
    schema: Schema,
    touched: Sequence[Column],
    layout: Layout | None = None,
) -> tuple[NewObject, ...]:
    """Run a query and store its rows as objects of one kind, sorted by key if no other layout is asked for."""
    wanted = layout or Layout(tuple(str(k) for k in schema.key_ids))
    return store_checked(ctx, engine, query, kind, schema, touched, wanted, unique=False)[0]


def store_checked(
    ctx: Context,
    engine: Engine,
    query: Query | Rows,
    kind: ObjectKind,
    schema: Schema,
    touched: Sequence[Column],
    layout: Layout,
    *,
    unique: bool,
) -> tuple[tuple[NewObject, ...], KeyRows]:
    """Store rows; if they are sorted by key and to be `unique`, gives keys that come more than once, too."""
    ids = tuple(c.id for c in touched)
    if engine.in_process or (isinstance(query, Rows) and _fits_memory(ctx, query, _held(schema))):
        found = query.table if isinstance(query, Rows) else engine.fetch(query)
        rows = _numbered(_sorted(found, layout.cluster), layout)
        most = max(rows.num_rows, 1) if layout.files == 1 else layout.file_rows or ctx.settings.file_row_limit
        repeats = parquet.equal_rows(rows, schema.key_columns, NAMED_AT_MOST) if unique else []
        return _store_rows(ctx, rows, kind, schema, ids, most), repeats
    if isinstance(query, Rows):
        if not query.table.num_rows:
            return (), []
        query = reading_of(query, query.table.column_names)
    files = _written(ctx, engine, query, layout, schema.key_columns, NAMED_AT_MOST if unique else 0)
    return _store_files(ctx, files, kind, schema, ids), _repeats(files, schema.key_columns)


def _held(schema: Schema) -> list[tuple[str, DataType]]:
    return [(str(c.id), c.type) for c in schema.stored]


def _written(
    ctx: Context, engine: Engine, query: Query, layout: Layout, key: Sequence[Column], repeats: int
) -> list[LookedFile]:
    """Let an engine write files."""
    write, place = ROW_ID
    if layout.write_id is not None:
        query = changes.with_constant(query, write.id, layout.write_id)
    prefix = ctx.root.new_prefix()
    try:
        number = str(place.id) if layout.write_id is not None else None
        _write(ctx, engine, query, prefix, layout, number)
        return seal(ctx, prefix, key, hashes=True, repeats=repeats)
    except BaseException:
        ctx.root.discard(prefix)
        raise


def _store_files(
    ctx: Context, files: Sequence[LookedFile], kind: ObjectKind, schema: Schema, touched: tuple[ColumnId, ...]
) -> tuple[NewObject, ...]:
    """Make objects of the files that have rows."""
    made = []
    for file in files:
        seen = file.look
        if seen.row_count == 0:
            ctx.root.discard(file.path)
            continue
        told = (seen.sha256, seen.size_bytes, seen.row_count, file.key_range, file.path)
        made.append(_object(kind, schema, touched, *told, None, _packs_of_file(ctx, file.path, schema)))
    return tuple(made)


def _numbered(rows: pa.Table, layout: Layout) -> pa.Table:
    """Give rows of a table without a key their ids."""
    if layout.write_id is None:
        return rows
    write, place = ROW_ID
    rows = rows.add_column(0, str(place.id), pa.array(range(rows.num_rows), pa.int64()))
    return rows.add_column(0, str(write.id), pa.repeat(pa.scalar(layout.write_id), rows.num_rows))


def layout_of(state: TableState) -> Layout:
    """How new rows of a table are written: clustered as asked, else by the key."""
    schema = state.schema
    there = {str(c.id) for c in schema}
    cluster = tuple(c for c in state.attributes.get("cluster_by", ()) if c in there)
    if not schema.has_key:
        return Layout(cluster, new_write_id())
    return Layout(cluster or tuple(str(k) for k in schema.key))


def _write(ctx: Context, engine: Engine, query: Query, prefix: str, layout: Layout, number: str | None = None) -> None:
    """Let Spark write below a prefix."""
    _show_root(ctx)
    engine.write(query, ctx.root.uri(prefix), layout.cluster, number, layout.files)


def _show_root(ctx: Context) -> None:
    """Before Spark first writes, make sure that it sees the object root, by a file that is gone afterwards."""
    spark = ctx.engines.spark()
    if spark.sees_files:
        return
    probe = ctx.root.put(b"")
    try:
        spark.look(ctx.root.uri(probe.path))
    finally:
        ctx.root.discard(probe.path)


def source_of(made: Sequence[NewObject], ctx: Context, columns: Sequence[tuple[str, DataType]]) -> Source:
    """New objects of one kind and columns as one source."""
    files = tuple(ctx.root.uri(o.stored.path) for o in made if o.stored.path)
    if files:
        return Files(files, tuple(columns))
    inline = [ctx.cache.get(o.stored.id) or plain(parquet.decode(o.content)) for o in made if o.content is not None]
    names = [name for name, _ in columns]
    return Rows(pa.concat_tables([rows.select(names) for rows in inline]))


def refuse_null(engine: Engine, source: Source, columns: Sequence[Column], schema: Schema, what: str) -> None:
    """Refuse nulls in columns that may not have them, naming some rows."""
    firm = [c for c in columns if not c.nullable]
    if isinstance(source, Rows):
        firm = [c for c in firm if source.table.column(c.id).null_count]
    if not firm:
        return
    key = schema.key_columns if schema.has_key else ()  # rows that come in have no row id yet
    query = reading_of(source, [c.id for c in dict.fromkeys((*key, *firm))])
    found = engine.fetch(changes.missing_values(query, firm, key, NAMED_AT_MOST))
    refuse_nulls_found(found, schema, what)


def refuse_nulls_found(found: pa.Table, schema: Schema, what: str) -> None:
    """Refuse if there are rows with nulls, naming them."""
    if found.num_rows:
        names = {c.id: c.name for c in schema}
        rows = [{names[ColumnId(k)]: v for k, v in row.items() if k in names} for row in found.to_pylist()]
        nulls = sorted({name for row in rows for name, value in row.items() if value is None})
        told = {*nulls, *(c.name for c in schema.key_columns)}
        shown = [{name: value for name, value in row.items() if name in told} for row in rows]
        message = f"{what}: null in column {', '.join(map(repr, nulls))}, which may not be null: {listed(shown)}"
        raise InvalidRequest(message, hint="give a value, or leave these rows out", rows=shown)


def refuse_repeated_anywhere(engine: Engine, source: Source, schema: Schema, what: str) -> None:
    """Refuse keys that come twice, in rows that are not sorted by key."""
    query = changes.repeated_keys(reading_of(source, [str(k) for k in schema.key_ids]), schema, NAMED_AT_MOST)
    refuse_repeated(engine.fetch(query).to_pylist(), schema, what)


def refuse_repeated(found: KeyRows, schema: Schema, what: str) -> None:
    """Refuse rows in which keys were found more than once."""
    refuse_keys(found, schema, f"{what}: the rows have a key more than once")


def refuse_keys(found: Sequence[dict[str, Any]], schema: Schema, problem: str) -> None:
    """Refuse if there are offending keys, naming some."""
    if found:
        names = {c.id: c.name for c in schema.key_columns}
        keys = [{names[ColumnId(k)]: v for k, v in row.items()} for row in found[:NAMED_AT_MOST]]
        raise InvalidRequest(
            f"{problem}: {listed(keys)}", hint="keys are unique; see upsert to replace rows", keys=keys
        )


def listed(rows: Sequence[dict[str, Any]]) -> str:
    """Rows as an error names them."""
    return "; ".join(", ".join(f"{k}={_told(v)}" for k, v in row.items()) for row in rows)


def _told(value: Any) -> str:
    """A value as SQL shows it."""
    if value is None:
        return "NULL"
    return str(value) if isinstance(value, (Decimal, date)) else repr(value)


def _sorted(rows: pa.Table, cluster: Sequence[str]) -> pa.Table:
    if not cluster or rows.num_rows < 2 or _rises(rows.column(cluster[0])):
        return rows
    return rows.sort_by([(name, "ascending") for name in cluster])


def _rises(column: pa.ChunkedArray) -> bool:
    """Tell whether every value is greater than the one before, as in a file that is rewritten in its order."""
    if column.null_count or pa.types.is_nested(column.type):
        return False
    return bool(pc.all(pc.less(column[:-1], column[1:])).as_py())


def _store_rows(
    ctx: Context,
    rows: pa.Table,
    kind: ObjectKind,
    schema: Schema,
    touched: tuple[ColumnId, ...],
    limit: int,
) -> tuple[NewObject, ...]:
    size = _even_part(rows.num_rows, limit)
    parts = [rows.slice(start, size) for start in range(0, rows.num_rows, size)]
    if len(parts) < 2:
        return tuple(_store_part(ctx, part, kind, schema, touched) for part in parts)
    made: list[NewObject] = []
    with ThreadPoolExecutor(ENCODING_THREADS) as pool:
        running = [pool.submit(_store_part, ctx, part, kind, schema, touched) for part in parts]
        try:
            made += [each.result() for each in running]
        except BaseException:
            for each in running:
                each.cancel()
            wait(running)
            # No disk is left with some files of what did not fit.
            ctx.discard([each.result() for each in running if not each.cancelled() and not each.exception()])
            raise
    return tuple(made)


def _store_part(
    ctx: Context, part: pa.Table, kind: ObjectKind, schema: Schema, touched: tuple[ColumnId, ...]
) -> NewObject:
    content = parquet.encode(part, _even_part(part.num_rows, _group_rows(ctx, part)))
    key_range, packs = parquet.table_range(part, schema.key_columns), packs_in(part)
    if len(content) <= ctx.settings.inline_limit_bytes and part.nbytes <= INLINE_MEMORY_LIMIT_BYTES:
        digest = hashlib.sha256(content).hexdigest()
        new = _object(kind, schema, touched, digest, len(content), part.num_rows, key_range, None, content, packs)
        ctx.cache.put(new.stored.id, part)
        return new
    file = ctx.root.put(content)
    return _object(kind, schema, touched, file.sha256, len(content), part.num_rows, key_range, file.path, None, packs)


def _even_part(rows: int, limit: int) -> int:
    """How many rows to put into each part, so that parts are alike and no more than a tenth above the limit."""
    parts = max(1, -(-10 * rows // (11 * limit)))
    return max(1, -(-rows // parts))


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
    packs: tuple[ObjectId, ...] = (),
) -> NewObject:
    place = "inline" if path is None else "root"
    id_ = ObjectId(new_id("o"))
    stored = StoredObject(id_, kind, sha256, size_bytes, row_count, schema.id, key_range, touched, place, path)  # type: ignore[arg-type]
    return NewObject(stored, content, packs)


_TREE_GROUP_ROWS = 8192
"""Rows per row group of a file tree: a folder is read often, all of it seldom."""


def _group_rows(ctx: Context, rows: pa.Table) -> int:
    limit = ctx.settings.row_group_rows
    return min(limit, _TREE_GROUP_ROWS) if str(BLOCKS.id) in rows.column_names else limit


def packs_in(rows: pa.Table) -> tuple[ObjectId, ...]:
    """The packs that rows of a file tree speak of; none, for rows of a table."""
    if str(BLOCKS.id) not in rows.column_names:
        return ()
    refs = pc.list_flatten(rows.column(str(BLOCKS.id)).combine_chunks())
    named = refs.filter(pc.greater(pc.struct_field(refs, "size"), 0)) if len(refs) else refs
    return tuple(sorted(ObjectId(o) for o in pc.unique(pc.struct_field(named, "object")).to_pylist()))


def _packs_of_file(ctx: Context, path: str, schema: Schema) -> tuple[ObjectId, ...]:
    if BLOCKS.id not in {c.id for c in schema}:
        return ()
    with ctx.root.open(path) as opened:
        return packs_in(parquet.read_columns(opened, [str(BLOCKS.id)]))


def _arrow(type_: DataType) -> pa.DataType:
    from anabranch.arrow.types import arrow_type

    return arrow_type(type_)
