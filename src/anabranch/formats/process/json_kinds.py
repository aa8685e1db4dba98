"""Which kinds of values JSON has where: from Python values, and from Arrow columns."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from anabranch.formats.process.json import Scientific
from anabranch.formats.rules.json_shapes import ARRAY, BEYOND, NULL, OBJECT, TEXT, TRUTH, JsonPath, Kinds, number_kind

_MOST_DIGITS = 38
_BIGINT = range(-(2**63), 2**63)


def kinds_of(value: Any, place: JsonPath) -> Iterator[tuple[JsonPath, str]]:
    """The kinds of a value and of everything in it."""
    yield place, _kind(value)
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from kinds_of(inner, (*place, name))
    elif isinstance(value, list):
        for inner in value:
            yield from kinds_of(inner, (*place, None))


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return TRUTH
    if isinstance(value, int):
        return number_kind(value, is_whole=True) if value in _BIGINT else BEYOND
    if isinstance(value, (Decimal, float)):
        return number_kind(float(value), is_exact=isinstance(value, Decimal) and _is_exact(value))
    return _KINDS.get(type(value), NULL)


def _is_exact(value: Decimal) -> bool:
    """Whether Spark's variants, which tell the kinds there, would hold a number as a decimal."""
    _, digits, exponent = value.as_tuple()
    return not isinstance(value, Scientific) and len(digits) <= _MOST_DIGITS and -int(exponent) <= _MOST_DIGITS


_KINDS: dict[type, str] = {str: TEXT, dict: OBJECT, list: ARRAY}


def column_kinds(column: pa.ChunkedArray, place: JsonPath) -> Kinds:
    """The kinds of values in a column that Arrow read from JSON."""
    type_ = column.type
    if pa.types.is_struct(type_):
        found: Kinds = {(place, OBJECT)}
        for i, inner in enumerate(type_):
            found |= column_kinds(pc.struct_field(column, [i]), (*place, inner.name))
        return found
    if pa.types.is_list(type_):
        return {(place, ARRAY)} | column_kinds(pc.list_flatten(column), (*place, None))
    return {(place, kind) for kind in _plain_kinds(column)}


def _plain_kinds(column: pa.ChunkedArray) -> set[str]:
    if column.null_count == len(column):
        return {NULL}
    if pa.types.is_boolean(column.type):
        return {TRUTH}
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        return {TEXT}
    ends = pc.min_max(column).as_py()
    return {number_kind(end, is_whole=pa.types.is_integer(column.type)) for end in ends.values()}
