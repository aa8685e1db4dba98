"""From text to values: converts to a type, and searches for what does not fit."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from anabranch.arrow.fitting import DoesNotFit, fit_column, with_entries
from anabranch.arrow.types import arrow_type
from anabranch.formats.rules import text as rules
from anabranch.model.types import DataType

Misfit = (pa.ArrowException, ValueError, OverflowError)
"""What a conversion raises if a text is not a value of the type."""


def convert(texts: pa.ChunkedArray, type_: DataType, options: rules.TextOptions) -> pa.ChunkedArray:
    """Convert text to values of a type; raise a Misfit if one does not fit."""
    if type_.name == "string":
        return texts
    found = _CONVERSIONS.get("integer" if type_.is_integer else type_.name, _nested)
    return found(pc.ascii_trim(texts, " \t"), type_, options)


def misfits(values: pa.ChunkedArray, fits: Callable[[pa.ChunkedArray], object]) -> list[int]:
    """Find the places of values that raise a Misfit, by bisection."""
    found: list[int] = []
    pending = [(0, len(values))]
    while pending:
        start, length = pending.pop()
        try:
            fits(values.slice(start, length))
        except Misfit:
            if length == 1:
                found.append(start)
            else:
                half = length // 2
                pending += [(start, half), (start + half, length - half)]
    return sorted(found)


def demand(texts: pa.ChunkedArray, pattern: str) -> None:
    """Refuse texts that do not match a pattern."""
    if pc.all(pc.match_substring_regex(texts, pattern), min_count=0).as_py() is False:
        raise ValueError("a text does not have the form of the type")


def _integers(texts: pa.ChunkedArray, type_: DataType, _options: rules.TextOptions) -> pa.ChunkedArray:
    if pc.any(pc.match_substring(texts, "x", ignore_case=True)).as_py():
        raise ValueError("hexadecimal digits")  # Arrow would accept them.
    try:
        return texts.cast(arrow_type(type_))
    except pa.ArrowException:
        return pc.replace_substring_regex(texts, r"^\+([0-9])", r"\1").cast(arrow_type(type_))


def _floats(texts: pa.ChunkedArray, type_: DataType, options: rules.TextOptions) -> pa.ChunkedArray:
    texts = with_point(texts, options)
    demand(texts, rules.value_pattern(type_) or "")
    return texts.cast(arrow_type(type_))


def _decimals(texts: pa.ChunkedArray, type_: DataType, options: rules.TextOptions) -> pa.ChunkedArray:
    texts = with_point(texts, options)
    demand(texts, rules.value_pattern(type_) or "")
    try:
        return texts.cast(arrow_type(type_))
    except pa.ArrowException:
        # Leading and trailing zeros need no room in the type.
        short = pc.replace_substring_regex(texts, r"(\.[0-9]*?)0+$", r"\1")
        return pc.replace_substring_regex(short, r"^([+-]?)0+([0-9])", r"\1\2").cast(arrow_type(type_))


def with_point(texts: pa.ChunkedArray, options: rules.TextOptions) -> pa.ChunkedArray:
    """Numbers with a decimal point, however they were written."""
    if not options.decimal_comma:
        return texts
    if pc.any(pc.match_substring(texts, ".")).as_py():
        raise ValueError("a point in a number with a decimal comma")
    return pc.replace_substring(texts, ",", ".")


def _booleans(texts: pa.ChunkedArray, _type: DataType, _options: rules.TextOptions) -> pa.ChunkedArray:
    words = pc.ascii_lower(texts)
    true, false = (pc.is_in(words, pa.array(known)) for known in (rules.TRUE_WORDS, rules.FALSE_WORDS))
    if not pc.all(pc.or_(pc.or_(true, false), pc.is_null(words)), min_count=0).as_py():
        raise ValueError("a text is neither true nor false")
    return pc.if_else(pc.is_null(words), None, true)


def _dates(texts: pa.ChunkedArray, type_: DataType, options: rules.TextOptions) -> pa.ChunkedArray:
    if options.date_format:
        return _parsed(texts, arrow_type(type_), lambda text: _strptime(text, options.date_format).date())
    demand(texts, rules.DATE)
    return texts.cast(arrow_type(type_))


def _local_times(texts: pa.ChunkedArray, type_: DataType, options: rules.TextOptions) -> pa.ChunkedArray:
    if options.timestamp_format:
        return _parsed(texts, arrow_type(type_), lambda text: _without_zone(_strptime(text, options.timestamp_format)))
    texts = _at_midnight(texts)
    demand(texts, rules.value_pattern(type_) or "")
    return texts.cast(arrow_type(type_))


def _times(texts: pa.ChunkedArray, type_: DataType, options: rules.TextOptions) -> pa.ChunkedArray:
    """Times with a zone; UTC where the text has none."""
    if options.timestamp_format:
        return _parsed(texts, arrow_type(type_), lambda text: _with_zone(_strptime(text, options.timestamp_format)))
    texts = _at_midnight(texts)
    bare = pc.invert(pc.match_substring_regex(texts, f"[0-9]{rules.ZONE}$"))
    bare = pc.or_(bare, pc.match_substring_regex(texts, rules.value_pattern(DataType("timestamp_ntz")) or ""))
    texts = pc.if_else(bare, pc.binary_join_element_wise(texts, "Z", ""), texts)
    demand(texts, rules.value_pattern(type_) or "")
    return texts.cast(arrow_type(type_))


def _at_midnight(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Turn dates into times at midnight."""
    dates = pc.match_substring_regex(texts, rules.DATE)
    return pc.if_else(dates, pc.binary_join_element_wise(texts, "00:00:00", " "), texts)


def _strptime(text: str, pattern: str | None) -> datetime:
    return datetime.strptime(text, pattern or "")


def _with_zone(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _without_zone(moment: datetime) -> datetime:
    if moment.tzinfo:
        raise ValueError("a zone where none was expected")
    return moment


def _binaries(texts: pa.ChunkedArray, type_: DataType, _options: rules.TextOptions) -> pa.ChunkedArray:
    demand(texts, rules.value_pattern(type_) or "")
    return _parsed(texts, arrow_type(type_), bytes.fromhex)


def _nested(texts: pa.ChunkedArray, type_: DataType, _options: rules.TextOptions) -> pa.ChunkedArray:
    """Read arrays, maps and structs, which are written as JSON."""
    read = partial(json.loads, parse_float=Decimal, object_pairs_hook=_object)
    return fitted([None if text is None else read(text) for text in texts.to_pylist()], type_)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("an object has a key twice")
    return found


def variants(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Make a column of variants from JSON text; raise a Misfit if one is not JSON."""
    return _fit(texts, DataType("variant"))


def fitted(values: Sequence[Any], type_: DataType) -> pa.ChunkedArray:
    """Make a column of nested values from JSON; raise a Misfit if one does not fit."""
    conform = [with_entries(conformed(value, type_), type_) for value in values]
    return _fit(pa.chunked_array([pa.array(conform)]), type_)


def _fit(values: pa.ChunkedArray, type_: DataType) -> pa.ChunkedArray:
    try:
        return fit_column(values, type_)
    except DoesNotFit as error:
        raise ValueError(str(error)) from error


def _parsed(texts: pa.ChunkedArray, target: pa.DataType, parse: Callable[[str], object]) -> pa.ChunkedArray:
    """Parse in Python, each distinct text once."""
    coded = texts.combine_chunks().dictionary_encode() if len(texts) else None
    if coded is None:
        return pa.chunked_array([], target)
    coded = coded.combine_chunks() if isinstance(coded, pa.ChunkedArray) else coded
    values = pa.array([parse(text) for text in coded.dictionary.to_pylist()], target)
    return pa.chunked_array([values.take(coded.indices)])


_CONVERSIONS: dict[str, Callable[[pa.ChunkedArray, DataType, rules.TextOptions], pa.ChunkedArray]] = {
    "integer": _integers,
    "float": _floats,
    "double": _floats,
    "decimal": _decimals,
    "boolean": _booleans,
    "date": _dates,
    "timestamp_ntz": _local_times,
    "timestamp": _times,
    "binary": _binaries,
    "variant": lambda texts, _type, _options: variants(texts),
}


_TEXTS = ("string", "binary", "date", "timestamp", "timestamp_ntz")
"""Types that are text in JSON."""
_NOT_FINITE = ("NaN", "INF", "+INF", "-INF", "Infinity", "+Infinity", "-Infinity")


def conformed(value: Any, type_: DataType) -> Any:
    """Return a value in the form of its type; raise a ValueError if something in it does not fit."""
    if value is None:
        return value
    if type_.name == "variant":
        return json.dumps(value, ensure_ascii=False, default=_exact)
    if type_.name == "struct":
        return _struct(_demanded(value, dict, type_), type_)
    if type_.name == "array":
        return [conformed(element, type_.parts[0]) for element in _demanded(value, list, type_)]
    if type_.name == "map" and isinstance(value, list):
        return [_pair(pair, type_) for pair in value]  # The form for keys that are not text.
    if type_.name == "map":
        return {_key(k, type_): conformed(v, type_.parts[1]) for k, v in _demanded(value, dict, type_).items()}
    return _plain(value, type_)


def _pair(pair: Any, type_: DataType) -> list[Any]:
    """An entry of a map: a list of its key and its value."""
    if not isinstance(pair, list) or len(pair) != 2:
        raise ValueError(f"{pair!r} is no pair of a key and a value")
    return [conformed(part, inner) for part, inner in zip(pair, type_.parts, strict=True)]


def _key(text: str, type_: DataType) -> Any:
    """The key of an object, which is text whatever its type."""
    return conformed(text, type_.parts[0]) if type_.parts[0].name in _TEXTS else text


def _struct(value: Mapping[str, Any], type_: DataType) -> dict[str, Any]:
    fields = {f.name: f.type for f in type_.fields}
    for name in value:
        if name not in fields:
            raise ValueError(f"there is no field {name!r} in {type_}")
    return {name: conformed(inner, fields[name]) for name, inner in value.items()}


def _plain(value: Any, type_: DataType) -> Any:
    if type_.name == "string":
        return value if isinstance(value, str) else _text(value)
    if type_.is_integer:
        return _demanded(value, int, type_)
    if type_.name == "boolean":
        return _demanded(value, bool, type_)
    if type_.name in ("float", "double"):
        return float(value if value in _NOT_FINITE else _demanded(value, (int, float, Decimal), type_))
    if type_.name == "decimal" and not isinstance(value, str):
        return str(_demanded(value, (int, float, Decimal), type_))
    text = _demanded(value, str, type_)
    if type_.name == "binary":
        return bytes.fromhex(_formed(text, type_))
    return _time(text, type_) if type_.name in ("date", "timestamp", "timestamp_ntz") else text


def _time(text: str, type_: DataType) -> str:
    """A date or time in the form that Arrow reads: a date means its midnight, a missing zone UTC."""
    text = text.strip(" \t")
    if type_.name != "date" and re.search(rules.DATE, text):
        text = f"{text} 00:00:00"
    if type_.name == "timestamp" and rules.looks_like(text, DataType("timestamp_ntz")):
        text = f"{text}Z"
    return _formed(text, type_)


def _formed(text: str, type_: DataType) -> str:
    if not rules.looks_like(text, type_):
        raise ValueError(f"{text!r} does not fit {type_}")
    return text.strip(" \t")


def _exact(value: Decimal) -> float:
    """A JSON number as a float; refused if it would be rounded."""
    if Decimal(repr(float(value))) != value:
        raise ValueError(f"{value} would be rounded")
    return float(value)


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=float)


def _demanded(value: Any, kinds: type | tuple[type, ...], type_: DataType) -> Any:
    if not isinstance(value, kinds) or (isinstance(value, bool) and kinds is not bool):
        raise ValueError(f"{value!r} does not fit {type_}")
    return value
