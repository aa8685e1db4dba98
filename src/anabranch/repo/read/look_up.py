"""Look up one row by its key, reading only objects whose key range may hold it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pyarrow as pa

from anabranch.arrow.fitting import DoesNotFit
from anabranch.arrow.types import arrow_type
from anabranch.errors import InvalidRequest
from anabranch.frames.input import one_value
from anabranch.frames.output import to_dicts
from anabranch.model.ids import ObjectId
from anabranch.model.schema import Column, Schema
from anabranch.model.tables import TableState
from anabranch.model.texts import shortened, shown_value
from anabranch.queries.scan import near_layers
from anabranch.repo.context.context import Context
from anabranch.repo.read.conditions import keys_in, pick_engine, reading
from anabranch.repo.read.looked_up import rows_at
from anabranch.repo.read.scan import scan


def get_row(
    ctx: Context, state: TableState, shown: Sequence[Column], key: Any, pending: Mapping[ObjectId, bytes]
) -> dict[str, Any] | None:
    """Find the row with a key."""
    wanted = key_row(state, key)
    keys = keys_in(wanted, state.schema.key_columns)
    with reading(ctx, state):
        rows = rows_at(ctx, state, shown, ctx.access(state.layers, pending), keys)
        if rows is None:
            near = replace(state, layers=near_layers(state, keys))
            engine = pick_engine(ctx, near, f"getting a row of {state.name}", shown)
            rows = engine.fetch(scan(ctx, near, shown, ctx.access(near.layers, pending), keys=keys))
    found = to_dicts(rows.select([str(c.id) for c in shown]))
    names = {str(c.id): c.name for c in shown}
    return {names[k]: v for k, v in found[0].items()} if found else None


def key_row(state: TableState, key: Any) -> pa.Table:
    """One key as a row, checked."""
    columns = state.schema.key_columns
    values = key_values(state.schema, key, state.name)
    return pa.table({str(c.id): pa.array([v], arrow_type(c.type)) for c, v in zip(columns, values, strict=True)})


def key_of_text(schema: Schema, given: Sequence[str], table: str) -> dict[str, Any]:
    """Parse a key from the command line: `id=7` for each column, or just the value if there is only one."""
    key = schema.key_columns if schema.has_key else ()
    parts = [text.partition("=") for text in given]
    if len(key) == len(given) == 1 and parts[0][0] != key[0].name:
        return {key[0].name: _lone_value(key[0], given[0], table)}
    named = {c.name: c for c in key}
    wrong = _wrong_key(tuple(named), given, table)
    if wrong:
        hint = f"write it as {_key_options(key)}" if key else "it has no key; choose rows with --where"
        raise InvalidRequest(wrong, hint=hint, table=table)
    return {name: value_of_text(named[name], text, table) for name, _, text in parts}


def _wrong_key(key: tuple[str, ...], given: Sequence[str], table: str) -> str | None:
    """What is wrong with a key of `name=value` parts; None if nothing is."""
    parts = [text.partition("=") for text in given]
    in_one = len(key) > 1 and len(given) == 1 and all(f",{name}=" in f",{given[0]}" for name in key)
    if not key or in_one or not all(is_pair for _, is_pair, _ in parts):
        return f"{', '.join(given)!r} is no key of {table!r}"
    names = [name for name, _, _ in parts]
    unknown, missing = [n for n in names if n not in key], [n for n in key if n not in names]
    if unknown:
        return f"{table!r} has no key column {unknown[0]!r}"
    return f"--key {', '.join(given)} leaves {', '.join(missing)} of the key of {table!r} out" if missing else None


def _lone_value(column: Column, text: str, table: str) -> Any:
    """The value of the only key column, if that is what a text says; it may name another column by mistake."""
    try:
        return value_of_text(column, text, table)
    except InvalidRequest:
        name, is_pair, _ = text.partition("=")
        if not is_pair:
            raise
        hint = f"write it as {_key_options([column])}"
        raise InvalidRequest(f"{table!r} has no key column {name!r}", hint=hint, table=table) from None


def _key_options(key: Sequence[Column]) -> str:
    return " ".join(f"--key {c.name}=…" for c in key)


def value_of_text(column: Column, text: str, table: str) -> Any:
    """Parse text as a value of a column."""
    try:
        return pa.array([text], pa.string()).cast(arrow_type(column.type))[0].as_py()
    except pa.ArrowException as error:
        message = f"{shown_value(text)} is no {column.name} of {table!r}: {shortened(str(error))}"
        raise InvalidRequest(message, hint="check its type") from error


def key_values(schema: Schema, key: Any, table: str) -> tuple[Any, ...]:
    """Check a key; return its values as stored, in the order of the key's columns."""
    columns = schema.key_columns
    if not schema.has_key:
        raise InvalidRequest(f"table {table!r} has no key", hint="read it with where=")
    if not isinstance(key, Mapping):
        if len(columns) > 1:
            names = ", ".join(c.name for c in columns)
            raise InvalidRequest(f"the key of {table!r} has several columns", hint=f"give a dict with {names}")
        key = {columns[0].name: key}
    given = {schema.column(str(name)).id: value for name, value in key.items()}
    if set(given) != set(schema.key):
        names = ", ".join(c.name for c in columns)
        message = f"the key of {table!r} was expected, {', '.join(map(str, key)) or 'nothing'} was given"
        raise InvalidRequest(message, hint=f"give just the key: {names}", table=table)
    return tuple(_key_value(given[c.id], c, table) for c in columns)


def _key_value(value: Any, column: Column, table: str) -> Any:
    """A key's value as stored; one that the column can't hold exactly would find another row."""
    try:
        if getattr(value, "nanosecond", 0):
            raise DoesNotFit(f"column {column.name!r} is {column.type}, which holds microseconds")
        is_rounded = column.type.name == "decimal" and isinstance(value, float)
        return one_value(Decimal(str(value)) if is_rounded else value, column)[0].as_py()
    except DoesNotFit as error:
        message = f"{shown_value(value)} is not a key of {table!r}: {error}"
        raise InvalidRequest(message, hint="check its type", table=table, column=column.name) from error
