"""verify: the catalogue is consistent, every object is as written, every table can be read.

The bytes of objects are compared with what the catalogue says: hash, size, rows, columns and key range.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator
from dataclasses import replace
from typing import BinaryIO

from anabranch.catalog import branches, history, manifests, objects
from anabranch.catalog.checks.catalog import check_catalog
from anabranch.catalog.checks.contents import is_there, object_page, settled_page
from anabranch.catalog.checks.rows import MISSHAPEN
from anabranch.catalog.store import Connection
from anabranch.errors import AnabranchError, Corrupt, Unavailable
from anabranch.model.clock import Position
from anabranch.model.objects import KeyRange, StoredObject
from anabranch.model.schema import Schema
from anabranch.model.verification import RESTORE_CATALOG, RESTORE_FILE, Affected, Damage, Verification
from anabranch.repo.context.context import Context
from anabranch.repo.context.table_state import list_tables, table_state
from anabranch.repo.write.manifests import totals
from anabranch.settings import VERIFIED_AT_ONCE


def verify(ctx: Context) -> Verification:
    """Check the whole store and list all damages, except those that only reading rows can find."""
    with ctx.catalog.read() as cx:
        damages, rows = check_catalog(cx)
        tables = 0
        for found in _heads(ctx, cx):
            if isinstance(found, Damage):
                damages.append(found)
            else:
                tables += found
    count = size = 0
    for looked_at in check_bytes(ctx):
        if isinstance(looked_at, Damage):
            damages.append(looked_at)
        else:
            count, size = count + 1, size + looked_at.size_bytes
    damages += check_settled(ctx)
    return Verification((), count, size, rows, tables).with_more(damages)


def _heads(ctx: Context, cx: Connection) -> Iterator[Damage | int]:
    """Find every table of every branch and tag of the repository; yield their counts, and those that cannot be read."""
    seen: set[Position] = set()
    shown = [(b.name, b.position) for b in branches.all_heads(cx, ctx.record.id)]
    shown += [("", position) for position in branches.tag_positions(cx, ctx.record.id)]
    for name, position in shown:
        if position not in seen:
            seen.add(position)
            affects = Affected(ctx.record.name, (name,) if name else ())
            yield from _tables(ctx, cx, position, affects)


def _tables(ctx: Context, cx: Connection, position: Position, affects: Affected) -> Iterator[Damage | int]:
    where = f"branch {affects.branches[0]!r}" if affects.branches else f"a tag's commit {position.index}"
    try:
        clock = history.clock(cx, position)
        listed = list_tables(ctx, cx, clock, None)
    except MISSHAPEN as error:
        yield Damage("branch", where, f"its tables can't be listed: {said_by(error)}", affects, RESTORE_CATALOG)
        return
    for table in listed:
        try:
            table_state(ctx, cx, clock, table.id, table.name)
        except MISSHAPEN as error:
            described = Affected(affects.repository, affects.branches, table=table.name)
            yield Damage("table", f"{table.name} on {where}", f"it can't be read: {said_by(error)}", described)
    yield len(listed)


def said_by(error: Exception) -> str:
    """What an error says, unless something does not answer: then nothing is known."""
    if isinstance(error, Unavailable):
        raise error
    return error.message if isinstance(error, AnabranchError) else f"{type(error).__name__}: {error}"


_Looked = Iterator[Damage | StoredObject]
"""The objects that were checked, and any damages."""


def check_bytes(ctx: Context) -> _Looked:
    """Check all objects, some at a time; yield each checked object, and any damages.

    Objects that were collected meanwhile are no damage.
    """
    last: str | None = ""
    while last is not None:
        with ctx.catalog.read() as cx:
            page = object_page(cx, last, VERIFIED_AT_ONCE)
        yield from page.damages
        for o in page.objects:
            schema = page.schemas.get(o.schema_id or "")
            yield from _checked(ctx, o, page.contents.get(o.id), schema)
            if o.kind == "manifest":
                yield from _check_listed(ctx, o, schema)
        last = page.last


def _checked(ctx: Context, o: StoredObject, content: bytes | None, schema: Schema | None) -> _Looked:
    yield o
    for damage in _check(ctx, o, content, schema):
        with ctx.catalog.read() as cx:
            is_damaged = is_there(cx, o)
        if is_damaged:
            yield damage


def _check_listed(ctx: Context, manifest: StoredObject, schema: Schema | None) -> _Looked:
    """Check the objects that only a manifest lists; those with a row of their own are checked there."""
    try:
        listed = ctx.read_manifest(manifest)
    except Corrupt:
        return  # The manifest's own damage is reported.
    with ctx.catalog.read() as cx:
        known = objects.find(cx, [o.id for o in listed])
    rowless = [o for o in listed if o.id not in known]
    for start in range(0, len(rowless), VERIFIED_AT_ONCE):
        page = rowless[start : start + VERIFIED_AT_ONCE]
        with ctx.catalog.read() as cx:
            contents = objects.contents(cx, [o.id for o in page if o.place == "inline"])
        for o in page:
            if o.place == "inline" and o.id not in contents:
                yield Damage(
                    "object", f"object {o.id}", "its bytes are not there", Affected(object=o.id), RESTORE_CATALOG
                )
            yield from _checked(ctx, o, contents.get(o.id), schema)


def check_settled(ctx: Context) -> Iterator[Damage]:
    """Check that resolutions in open merges can be read."""
    from anabranch.objects.parquet import decode

    after = ("", "")
    while True:
        with ctx.catalog.read() as cx:
            row = settled_page(cx, after)
        if row is None:
            return
        after = (row.open_id, row.thing_id)
        try:
            decode(bytes(row.content))
        except Corrupt as error:
            yield row.damage(error.message, hint="resolve the conflicts of this table again")


def _check(ctx: Context, o: StoredObject, content: bytes | None, schema: Schema | None) -> Iterator[Damage]:
    affects = Affected(object=o.id)
    if o.place == "inline":
        where, hint = f"object {o.id} in the catalogue", RESTORE_CATALOG
        if content is None:
            return  # Reported by the check that compares objects with their bytes.
        if hashlib.sha256(content).hexdigest() != o.sha256 or len(content) != o.size_bytes:
            yield Damage("object", where, "it is not what was written: its size or sha256 differs", affects, hint)
            return
    else:
        where, hint = f"object {o.id} at {o.path or 'another location'}", RESTORE_FILE
        try:
            ctx.files.locate(o).check(o, deep=True)
        except Unavailable as error:
            if error.facts.get("is_collected"):
                return  # it went while we looked
            raise
        except AnabranchError as error:
            yield Damage("object", where, error.message, affects, hint)
            return
    if o.kind == "manifest":
        yield from (Damage("object", where, what, affects, RESTORE_CATALOG) for what in _differences(ctx, o))
        return
    if schema is None:
        return
    try:
        file: BinaryIO = io.BytesIO(content) if content is not None else ctx.files.locate(o).open()
        with file:
            for what in _contradictions(o, file, schema):
                yield Damage("object", where, what, affects, RESTORE_CATALOG)
    except MISSHAPEN as error:
        said = error.message if isinstance(error, AnabranchError) else f"{type(error).__name__}: {error}"
        yield Damage("object", where, said, affects, hint)


def _differences(ctx: Context, manifest: StoredObject) -> Iterator[str]:
    """Where a manifest contradicts the catalogue, on itself or on the objects it lists."""
    try:
        listed = ctx.read_manifest(manifest)
    except Corrupt as error:
        yield error.message
        return
    with ctx.catalog.read() as cx:
        known = objects.find(cx, [o.id for o in listed])
        members = manifests.members_of(cx, manifest.id)
    if members != {o.id for o in listed}:
        yield f"it lists {len(listed)} objects, the catalogue others or {len(members)}"
    for o in listed:
        if known.get(o.id, o) != o:
            yield f"it says other things of object {o.id} than the catalogue"
    if manifest != replace(manifest, **totals(listed)):
        yield "the catalogue says other rows, sizes or keys of it than its objects have"


def _contradictions(o: StoredObject, file: BinaryIO, schema: Schema) -> Iterator[str]:
    """Where the footer contradicts the catalogue."""
    from anabranch.objects.parquet import column_names, read_footer

    footer = read_footer(file, schema.key_columns)
    names = column_names(file)
    if footer.row_count != o.row_count:
        yield f"it has {footer.row_count} rows, the catalogue says {o.row_count}"
    if missing := sorted(_expected(o, schema) - names):
        yield f"it lacks column {missing[0]}, the catalogue says that it is a {o.kind} object with it"
    if extra := sorted(names - _allowed(o, schema)):
        yield f"it has column {extra[0]}, which a {o.kind} object of its schema that touches {list(o.touched)} has not"
    if o.key_range and footer.key_range and not _same(o.key_range, footer.key_range):
        yield f"its keys are in {_range_text(footer.key_range)}, the catalogue says {_range_text(o.key_range)}"


def _expected(o: StoredObject, schema: Schema) -> set[str]:
    keys = {str(k) for k in schema.key_ids}
    if o.kind == "rows":
        return {str(c.id) for c in schema.stored}
    touched = {str(c) for c in o.touched}
    return keys | (touched | {f"{c}_b" for c in touched} if o.kind == "update" else set())


def _allowed(o: StoredObject, schema: Schema) -> set[str]:
    """The columns an object may have: deletes may hold old values; exceptions also the kind of change."""
    if o.kind in ("rows", "update"):
        return _expected(o, schema)
    return {"_ana_op", *(n for c in schema.stored for n in (str(c.id), c.before))}


def _same(one: KeyRange, other: KeyRange) -> bool:
    return (one.low, one.high) == (other.low, other.high)


def _range_text(found: KeyRange) -> str:
    return f"{list(found.low)} to {list(found.high)}"
