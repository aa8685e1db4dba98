"""Store rows that an engine computes as objects, checking them on the way; no commit links them yet."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from anabranch.arrow.plain import plain
from anabranch.engines.engine import Engine, FileCount, InPlace
from anabranch.model.files import BLOCKS
from anabranch.model.ids import ObjectId, new_id, new_write_id
from anabranch.model.objects import KeyRange, NewObject, ObjectKind, StoredObject
from anabranch.model.schema import ROW_ID, Column, Schema
from anabranch.model.tables import TableState
from anabranch.model.types import DataType
from anabranch.objects import parquet
from anabranch.objects.looks import lie_apart, repeated_keys
from anabranch.queries import writes as changes
from anabranch.queries.nested import needs_spark_to_take
from anabranch.queries.query import Files, Query, Rows, Source, reading_of
from anabranch.repo.context.context import Context
from anabranch.repo.write.refusals import NAMED_AT_MOST, KeyRows
from anabranch.repo.write.sealing import LookedFile, seal
from anabranch.settings import DOOR_ROW_LIMIT, ENCODING_THREADS, INLINE_MEMORY_LIMIT_BYTES


def repeats_in(files: Sequence[LookedFile], key: Sequence[Column]) -> KeyRows:
    """Keys repeated in files that are sorted by key."""
    found = repeated_keys((f.look for f in files), NAMED_AT_MOST)
    return [dict(zip((str(c.id) for c in key), keys, strict=True)) for keys in found]


@dataclass(frozen=True)
class Layout:
    """The order in which whole rows are written and, for a table without a key, their new row ids' write id."""

    cluster: tuple[str, ...]
    write_id: str | None = None
    files: FileCount = None
    """How many files Spark writes; None lets Spark decide. With 1, the process writes one file, too."""
    file_rows: int | None = None
    """Rows per file that the process writes; None for the usual number."""


@dataclass(frozen=True)
class ObjectForm:
    """What objects hold: rows, updates or deletes under a table's schema, with values of some columns."""

    kind: ObjectKind
    schema: Schema
    touched: Sequence[Column]

    @property
    def key(self) -> tuple[Column, ...]:
        return self.schema.key_columns


def store(
    ctx: Context, engine: Engine, query: Query | Rows, form: ObjectForm, layout: Layout | None = None
) -> tuple[NewObject, ...]:
    """Run a query and store its rows as objects of one form, sorted by key unless a layout is given."""
    wanted = layout or Layout(tuple(str(k) for k in form.schema.key_ids))
    return store_checked(ctx, engine, query, form, wanted, unique=False).objects


@dataclass(frozen=True)
class CheckedObjects:
    """Stored rows, and what was noticed while storing them."""

    objects: tuple[NewObject, ...]
    repeats: KeyRows | None
    """Some of the repeated keys, if keys must be unique; None if that is still unknown."""
    null_free: frozenset[str]
    """Columns seen to have no nulls."""


def store_checked(
    ctx: Context, engine: Engine, query: Query | Rows, form: ObjectForm, layout: Layout, *, unique: bool
) -> CheckedObjects:
    """Store rows; with `unique` and rows sorted by key, look for repeated keys."""
    held = [(str(c.id), c.type) for c in form.schema.stored]
    if engine.in_process or (isinstance(query, Rows) and fits_memory(ctx, query, held)):
        found = query.table if isinstance(query, Rows) else engine.fetch(query)
        rows = _numbered(sorted_rows(found, layout.cluster), layout)
        most = max(rows.num_rows, 1) if layout.files == 1 else layout.file_rows or ctx.settings.objects.file_row_limit
        repeats = parquet.equal_rows(rows, form.key, NAMED_AT_MOST) if unique else []
        null_free = frozenset(name for name in rows.column_names if not rows.column(name).null_count)
        return CheckedObjects(_store_rows(ctx, rows, form, most), repeats, null_free)
    if isinstance(query, Rows):
        if not query.table.num_rows:
            return CheckedObjects((), [], frozenset())
        query = reading_of(query, query.table.column_names)
    if unique and layout.files is None:
        files, is_known = _written_unique(ctx, engine, query, layout, form)
    else:
        files, is_known = _written(ctx, engine, query, layout, form, NAMED_AT_MOST if unique else 0), True
    found = repeats_in(files, form.key) if is_known else None
    return CheckedObjects(_store_files(ctx, files, form), found, _free_of_nulls(files))


def _free_of_nulls(files: Sequence[LookedFile]) -> frozenset[str]:
    """The columns without nulls in every file that has rows."""
    told = [frozenset(f.look.null_free) for f in files if f.look.row_count]
    return frozenset.intersection(*told) if told else frozenset()


def _written_unique(
    ctx: Context, engine: Engine, query: Query, layout: Layout, form: ObjectForm
) -> tuple[list[LookedFile], bool]:
    """Let Spark write rows by key, in place if it can; also says whether the files' keys are known not to overlap."""
    from anabranch.engines import spark_sizes

    frame = ctx.engines.spark().frame(query)
    # Few rows are exchanged all the same, so that they become one file in the order of their key.
    place = None if spark_sizes.is_small(frame) else spark_sizes.in_place(frame, layout.cluster)
    files = _written(ctx, engine, query, replace(layout, files=place), form, NAMED_AT_MOST)
    if place is InPlace.SORTED and not all(f.look.ascends for f in files):
        for file in files:
            ctx.root.discard(file.path)
        files = _written(ctx, engine, query, replace(layout, files=InPlace.UNSORTED), form, NAMED_AT_MOST)
    # Spark may distribute rows differently when it computes them again.
    return files, place is None or lie_apart(f.look for f in files)


def fits_memory(
    ctx: Context, query: Query | Rows, columns: Sequence[tuple[str, DataType]], most: int | None = None
) -> bool:
    """Whether rows are few and Arrow can hold them, so that Spark need not write them; never if Spark is required."""
    count = query.table.num_rows if isinstance(query, Rows) else most
    few = count is not None and count <= DOOR_ROW_LIMIT
    is_free = ctx.engines.setting != "spark"
    return few and is_free and not any(needs_spark_to_take(type_) for _, type_ in columns)


def _written(
    ctx: Context, engine: Engine, query: Query, layout: Layout, form: ObjectForm, repeats: int
) -> list[LookedFile]:
    """Let an engine write files, and seal them."""
    write, place = ROW_ID
    if layout.write_id is not None:
        query = changes.with_constant(query, write.id, layout.write_id)
    prefix = ctx.root.new_prefix()
    try:
        number = str(place.id) if layout.write_id is not None else None
        write_files(ctx, engine, query, prefix, layout, number)
        never_null = [c for c in form.schema.columns if not c.nullable]
        return seal(ctx, prefix, form.key, hashes=True, repeats=repeats, never_null=never_null)
    except BaseException:
        ctx.root.discard(prefix)
        raise


def _store_files(ctx: Context, files: Sequence[LookedFile], form: ObjectForm) -> tuple[NewObject, ...]:
    """Make objects of the files that have rows."""
    made = []
    for file in files:
        seen = file.look
        if seen.row_count == 0:
            ctx.root.discard(file.path)
            continue
        packs = _packs_of_file(ctx, file.path, form.schema)
        content = _ObjectBytes(seen.sha256, seen.size_bytes, seen.row_count, file.key_range, packs)
        made.append(_object(form, content, path=file.path))
    return tuple(made)


def _numbered(rows: pa.Table, layout: Layout) -> pa.Table:
    """Give rows of a table without a key their row ids."""
    if layout.write_id is None:
        return rows
    write, place = ROW_ID
    rows = rows.add_column(0, str(place.id), pa.array(range(rows.num_rows), pa.int64()))
    return rows.add_column(0, str(write.id), pa.repeat(pa.scalar(layout.write_id), rows.num_rows))


def layout_of(state: TableState) -> Layout:
    """How new rows of a table are written: clustered as asked, else by key."""
    schema = state.schema
    there = {str(c.id) for c in schema}
    cluster = tuple(c for c in state.attributes.get("cluster_by", ()) if c in there)
    if not schema.has_key:
        return Layout(cluster, new_write_id())
    return Layout(cluster or tuple(str(k) for k in schema.key))


def write_files(
    ctx: Context, engine: Engine, query: Query, prefix: str, layout: Layout, number: str | None = None
) -> None:
    """Let Spark write below a prefix."""
    _show_root(ctx)
    engine.write(query, ctx.root.uri(prefix), layout.cluster, number, layout.files)


def _show_root(ctx: Context) -> None:
    """Before Spark's first write, check with a temporary file that it sees the object root."""
    spark = ctx.engines.spark()
    if spark.sees_files:
        return
    probe = ctx.root.put(b"")
    try:
        spark.look(ctx.root.uri(probe.path))
    finally:
        ctx.root.discard(probe.path)


def source_of(made: Sequence[NewObject], ctx: Context, columns: Sequence[tuple[str, DataType]]) -> Source:
    """New objects of one kind, with the same columns, as one source."""
    files = tuple(ctx.root.uri(o.stored.path) for o in made if o.stored.path)
    if files:
        return Files(files, tuple(columns))
    inline = [ctx.cache.get(o.stored.id) or plain(parquet.decode(o.content)) for o in made if o.content is not None]
    names = [name for name, _ in columns]
    return Rows(pa.concat_tables([rows.select(names) for rows in inline]))


def sorted_rows(rows: pa.Table, cluster: Sequence[str]) -> pa.Table:
    if not cluster or rows.num_rows < 2 or _rises(rows.column(cluster[0])):
        return rows
    return rows.sort_by([(name, "ascending") for name in cluster])


def _rises(column: pa.ChunkedArray) -> bool:
    """Whether every value is greater than the one before, as in a file rewritten in order."""
    if column.null_count or pa.types.is_nested(column.type):
        return False
    return bool(pc.all(pc.less(column[:-1], column[1:])).as_py())


def _store_rows(ctx: Context, rows: pa.Table, form: ObjectForm, limit: int) -> tuple[NewObject, ...]:
    size = _even_part(rows.num_rows, limit)
    parts = [rows.slice(start, size) for start in range(0, rows.num_rows, size)]
    if len(parts) < 2:
        return tuple(_store_part(ctx, part, form) for part in parts)
    with ThreadPoolExecutor(ENCODING_THREADS) as pool:
        running = [pool.submit(_store_part, ctx, part, form) for part in parts]
        try:
            return tuple(each.result() for each in running)
        except BaseException:
            for each in running:
                each.cancel()
            wait(running)
            # Don't leave the disk with some files of what did not fit.
            ctx.discard([each.result() for each in running if not each.cancelled() and not each.exception()])
            raise


def _store_part(ctx: Context, part: pa.Table, form: ObjectForm) -> NewObject:
    content = parquet.encoded(part, _even_part(part.num_rows, _group_rows(ctx, part)))
    key_range, packs = parquet.table_range(part, form.key), packs_in(part)
    if len(content) <= ctx.settings.objects.inline_limit_bytes and part.nbytes <= INLINE_MEMORY_LIMIT_BYTES:
        digest = hashlib.sha256(content).hexdigest()
        found = _ObjectBytes(digest, len(content), part.num_rows, key_range, packs)
        new = _object(form, found, inline=bytes(content))
        ctx.cache.put(new.stored.id, part)
        return new
    file = ctx.root.put(content)
    ctx.sound.wrote(ctx.root.uri(file.path), file)
    return _object(form, _ObjectBytes(file.sha256, len(content), part.num_rows, key_range, packs), path=file.path)


def _even_part(rows: int, limit: int) -> int:
    """Rows per part, so that parts are of even size and at most a tenth above the limit."""
    parts = max(1, -(-10 * rows // (11 * limit)))
    return max(1, -(-rows // parts))


@dataclass(frozen=True)
class _ObjectBytes:
    """What is known of the bytes of an object."""

    sha256: str
    size_bytes: int
    row_count: int
    key_range: KeyRange | None
    packs: tuple[ObjectId, ...] = ()


def _object(
    form: ObjectForm, content: _ObjectBytes, *, path: str | None = None, inline: bytes | None = None
) -> NewObject:
    stored = StoredObject(
        id=ObjectId(new_id("o")),
        kind=form.kind,
        sha256=content.sha256,
        size_bytes=content.size_bytes,
        row_count=content.row_count,
        schema_id=form.schema.id,
        key_range=content.key_range,
        touched=tuple(c.id for c in form.touched),
        place="inline" if path is None else "root",
        path=path,
    )
    return NewObject(stored, inline, content.packs)


_TREE_GROUP_ROWS = 8192
"""Rows per row group of a file tree: single folders are read often, the whole tree seldom."""


def _group_rows(ctx: Context, rows: pa.Table) -> int:
    limit = ctx.settings.objects.row_group_rows
    return min(limit, _TREE_GROUP_ROWS) if str(BLOCKS.id) in rows.column_names else limit


def packs_in(rows: pa.Table) -> tuple[ObjectId, ...]:
    """The packs that rows of a file tree refer to; none for rows of a table."""
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
