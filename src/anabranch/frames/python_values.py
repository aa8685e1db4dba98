"""Columns of Python values: their Arrow types, inferred as Spark infers them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa

from anabranch.arrow.fitting import DoesNotFit, with_entries
from anabranch.arrow.types import is_list
from anabranch.errors import InvalidRequest
from anabranch.model.types import FLOATS, DataType

_PYTHON_DECIMAL = pa.decimal128(38, 18)
_LARGE_WHOLE = pa.decimal128(38, 0)


def has_map(type_: DataType) -> bool:
    """Whether a type is a map, or has one inside."""
    return any(t.name == "map" for t in type_.walk())


def column_of(values: list[Any], name: str, type_: DataType | None) -> pa.Array:
    """Build a column from Python values; its type, if known, decides about maps and large numbers."""
    try:
        if type_ and has_map(type_):
            values = [with_entries(value, type_) for value in values]
        found = _inferred(values, type_)
        refuse_mixtures(values, found.type)
        if type_ and type_.name == "decimal" and pa.types.is_decimal256(found.type):
            raise DoesNotFit(f"all of them together need {found.type.precision} digits")
        return found
    except DoesNotFit as error:
        message = f"a value of column {name!r} does not fit {type_}: {error}"
        raise InvalidRequest(message, hint="check the values", column=name) from error
    except (pa.ArrowException, OverflowError, ValueError, TypeError) as error:
        raise InvalidRequest(f"column {name!r} can't be read: {error}", hint="give values of one type") from error


def _inferred(values: list[Any], type_: DataType | None) -> pa.Array:
    """Infer a type as Spark does: whole numbers are bigint, decimals (38,18) where they fit."""
    if any(isinstance(v, Decimal) for v in values):
        found = _decimals([Decimal(v) if isinstance(v, int) else v for v in values])
        wide = found.type.precision - found.type.scale <= 20 and found.type.scale <= 18
        return found.cast(_PYTHON_DECIMAL) if wide else found
    try:
        return pa.array(values)
    except (OverflowError, pa.ArrowInvalid):
        large = next((v for v in values if _is_whole(v) and not -(2**63) <= v < 2**63), None)
        if large is not None and type_ and type_.is_integer:
            raise DoesNotFit(f"{large} is too large") from None
        if type_ and (type_.is_number or type_.is_nested):
            return pa.array([_with_room(value, type_) for value in values])
        if large is None or not all(v is None or _is_whole(v) for v in values):
            raise
        return pa.array(values, _LARGE_WHOLE)


_KINDS: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (bool, "boolean"),
    ((int, float, Decimal), "number"),
    (date, "date"),
    (timedelta, "interval"),
    (str, "string"),
    ((bytes, bytearray, memoryview), "binary"),
)


def refuse_mixtures(values: Iterable[Any], type_: pa.DataType) -> None:
    """Refuse mixtures that Arrow would make one type of: dates and times, text and bytes, numbers and booleans."""
    there = [v for v in values if v is not None]
    if is_list(type_):
        refuse_mixtures((element for value in there for element in value), type_.value_type)
    elif pa.types.is_struct(type_):
        for field in type_:
            refuse_mixtures((value.get(field.name) for value in there), field.type)
    elif len(kinds := sorted(set(_kinds(there)))) > 1:
        raise TypeError(f"it has values of {kinds[0]} and of {kinds[1]}")


def _kinds(values: Sequence[Any]) -> Iterable[str]:
    """The kinds of values that Arrow does not always keep apart."""
    for kind in set(map(type, values)):
        if issubclass(kind, datetime):
            yield from {"timestamp" if v.tzinfo else "timestamp_ntz" for v in values if type(v) is kind}
        else:
            yield from [name for of, name in _KINDS if issubclass(kind, of)][:1]


def _decimals(values: list[Decimal | None]) -> pa.Array:
    """Build decimals of different scales; trailing zeros are kept only if there is room for them."""
    try:
        found = pa.array(values)
    except pa.ArrowInvalid:
        found = None
    if found is not None and found.type.precision <= 38:
        return found
    return pa.array([_bare(v) if isinstance(v, Decimal) else v for v in values])


def _bare(value: Decimal) -> Decimal:
    """The same number without trailing zeros in its fraction."""
    text = f"{value:f}"
    return Decimal(text.rstrip("0")) if "." in text else value


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _with_room(value: Any, type_: DataType) -> Any:
    """Turn whole numbers into decimals or floats where the type wants them: Arrow infers at most 64 bits."""
    if _is_whole(value):
        return Decimal(value) if type_.name == "decimal" else float(value) if type_.name in FLOATS else value
    if type_.name == "array" and isinstance(value, list | tuple):
        return [_with_room(element, type_.parts[0]) for element in value]
    if type_.name == "map" and isinstance(value, list):
        return [{k: _with_room(v, type_.parts[k == "value"]) for k, v in entry.items()} for entry in value]
    if type_.name == "struct" and isinstance(value, Mapping):
        found = {name: type_.find(str(name)) for name in value}
        return {name: _with_room(v, f.type) if (f := found[name]) else v for name, v in value.items()}
    return value
