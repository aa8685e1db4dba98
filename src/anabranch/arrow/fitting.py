"""Fit Arrow values to a column's type, strictly: refuse what would be lost or changed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from anabranch.arrow.types import arrow_type, bare_type, is_list
from anabranch.model.types import DataType


class DoesNotFit(Exception):
    """A value does not fit the column's type; the text says why."""


def fit_column(values: pa.ChunkedArray, type_: DataType) -> pa.ChunkedArray:
    """Fit a column to a type, chunk by chunk."""
    target = arrow_type(type_)
    if values.type == target and not any(t.name in ("map", "variant") or t.is_interval for t in type_.walk()):
        return values
    try:
        chunks = [fit(chunk, type_) for chunk in values.chunks]
        return pa.chunked_array(chunks, target)
    except (pa.ArrowException, OverflowError) as error:
        raise DoesNotFit(str(error)) from error


def fit(values: pa.Array, type_: DataType) -> pa.Array:
    """Fit an array to a type."""
    values = _unpacked(values)
    if pa.types.is_null(values.type):
        return pa.nulls(len(values), arrow_type(type_))
    if type_.name == "array":
        inner, offsets, absent = _lists(values)
        return pa.ListArray.from_arrays(offsets, fit(inner, type_.parts[0]), type=arrow_type(type_), mask=absent)
    if type_.name == "map":
        return _fit_map(values, type_)
    if type_.name == "struct":
        return _fit_struct(values, type_)
    return _fit_plain(values, type_)


def _unpacked(values: pa.Array) -> pa.Array:
    if isinstance(values, pa.ExtensionArray):
        return _unpacked(values.storage)
    if isinstance(values, pa.RunEndEncodedArray):
        return _unpacked(pc.run_end_decode(values))
    if isinstance(values, pa.DictionaryArray):
        return _unpacked(values.dictionary_decode())
    return values


def _fit_map(values: pa.Array, type_: DataType) -> pa.Array:
    """Take maps, or lists of entries; keys must not be null or repeated."""
    entries, offsets, absent = _lists(values)
    if pa.types.is_null(entries.type):
        entries = pa.nulls(len(entries), pa.struct([("key", pa.null()), ("value", pa.null())]))
    key, value = entries.flatten()
    keys, items = fit(key, type_.parts[0]), fit(value, type_.parts[1])
    if keys.null_count:
        raise DoesNotFit("a map has a null key")
    _refuse_repeated(keys, pc.list_parent_indices(pa.ListArray.from_arrays(offsets, keys)))
    return pa.MapArray.from_arrays(offsets, keys, items, type=arrow_type(type_), mask=absent)


def _fit_struct(values: pa.Array, type_: DataType) -> pa.Array:
    """Take fields by name; missing ones are null."""
    given = dict(zip((f.name for f in values.type), values.flatten(), strict=True))
    by_lower = {name.lower(): array for name, array in given.items()}
    inner = []
    for part in type_.fields:
        found = given.get(part.name, by_lower.get(part.name.lower()))
        inner.append(pa.nulls(len(values), arrow_type(part.type)) if found is None else fit(found, part.type))
    return pa.StructArray.from_arrays(inner, fields=list(arrow_type(type_)), mask=pc.is_null(values))


def _lists(values: pa.Array) -> tuple[pa.Array, pa.Array, pa.Array]:
    """The elements of lists of any kind, or the entries of maps; where each list starts; and which lists are null.

    Arrow's own casts between kinds of lists lose elements of views.
    """
    kind = values.type
    if pa.types.is_map(kind):
        entry = pa.struct([pa.field("key", kind.key_type), pa.field("value", kind.item_type)])
        values = values.cast(pa.list_(pa.field("element", entry)))
    elif not is_list(kind):
        raise DoesNotFit(f"{kind} is no list")
    lengths = pc.list_value_length(values)
    ends = pc.cumulative_sum(pc.fill_null(lengths, 0)).cast(pa.int32())
    return values.flatten(), pa.concat_arrays([pa.array([0], pa.int32()), ends]), pc.is_null(lengths)


def _refuse_repeated(keys: pa.Array, rows: pa.Array) -> None:
    if pa.types.is_nested(keys.type):
        keys = pa.array([repr(key) for key in keys.to_pylist()])
    pairs = pa.table({"row": rows, "key": keys})
    if pairs.group_by(["row", "key"]).aggregate([]).num_rows < pairs.num_rows:
        raise DoesNotFit("a map has a key twice")


def _fit_plain(values: pa.Array, type_: DataType) -> pa.Array:
    target = arrow_type(type_)
    if type_.name == "timestamp" and pa.types.is_timestamp(values.type):
        values = values.cast(pa.timestamp(values.type.unit, "UTC"))
    if pa.types.is_decimal(target) and pa.types.is_integer(values.type):
        # Arrow wants room for every value of the source's type; the next cast finds those that do not fit.
        values = values.cast(pa.decimal256(20 + target.scale, target.scale))
    found = values if values.type == target else values.cast(target, safe=not pa.types.is_floating(target))
    if pa.types.is_floating(target):
        _refuse_new_infinities(values, found)
    elif type_.is_interval:
        _refuse_parts(found, type_)
    elif type_.name == "variant":
        _refuse_broken_json(found)
    return found


def _refuse_new_infinities(values: pa.Array, found: pa.Array) -> None:
    if pa.types.is_floating(bare_type(values.type)) and values.type != found.type:
        new = pc.and_(pc.is_inf(found), pc.invert(pc.is_inf(values)))
        if pc.any(new).as_py():
            raise DoesNotFit(f"a number is too large for {found.type}")


def _refuse_parts(found: pa.Array, type_: DataType) -> None:
    """Refuse fractions of the unit: an interval of whole days takes no hours."""
    numbers = found.cast(pa.int64())
    if (
        type_.unit > 1
        and not pc.all(pc.equal(pc.multiply(pc.divide(numbers, type_.unit), type_.unit), numbers)).as_py()
    ):
        raise DoesNotFit(f"an interval is not a whole number of {type_.name.split()[-1]}s")


def _refuse_broken_json(found: pa.Array) -> None:
    for text in found.to_pylist():
        try:
            json.loads(
                "null" if text is None else text,
                parse_constant=_refuse_constant,
                object_pairs_hook=_refuse_repeated_keys,
            )
        except ValueError as error:
            raise DoesNotFit(f"{text[:100]!r} is not JSON text: {error}") from error
        except RecursionError:
            raise DoesNotFit(f"{text[:100]!r} is JSON text with too many parts inside each other") from None


def _refuse_repeated_keys(pairs: list[tuple[str, object]]) -> None:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("an object has a key twice")


def _refuse_constant(name: str) -> None:
    raise ValueError(f"JSON has no {name}")


def with_entries(value: Any, type_: DataType) -> Any:
    """Turn the dicts that stand for maps into lists of entries: Arrow takes a dict for a struct."""
    if value is None or isinstance(value, str):
        return value
    if type_.name == "map":
        pairs = value.items() if isinstance(value, Mapping) else [_pair(entry) for entry in value]
        return [{"key": with_entries(k, type_.parts[0]), "value": with_entries(v, type_.parts[1])} for k, v in pairs]
    if type_.name == "array" and isinstance(value, Iterable):
        return [with_entries(element, type_.parts[0]) for element in value]
    if type_.name == "struct" and isinstance(value, Mapping):
        found = {name: type_.find(str(name)) for name in value}
        return {name: with_entries(v, f.type) if (f := found[name]) else v for name, v in value.items()}
    return value


def _pair(entry: Any) -> tuple[Any, Any]:
    """An entry of a map: a pair, or a dict of key and value as Arrow and Polars have it."""
    key, value = (entry["key"], entry["value"]) if isinstance(entry, Mapping) else entry
    return key, value
