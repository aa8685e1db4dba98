"""From text to values: converts to a type, and searches for what does not fit."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from anabranch.arrow.entries import with_entries
from anabranch.arrow.fitting import DoesNotFit, fit_column
from anabranch.arrow.types import arrow_type
from anabranch.formats.process.nested import conformed
from anabranch.formats.rules.text import (
    DATE,
    FALSE_WORDS,
    TRUE_WORDS,
    ZONE,
    TextOptions,
    value_pattern,
)
from anabranch.model.types import DataType

Misfit = (pa.ArrowException, ValueError, OverflowError)
"""What a conversion raises if a text is not a value of the type."""


def convert(texts: pa.ChunkedArray, type_: DataType, options: TextOptions) -> pa.ChunkedArray:
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


def _integers(texts: pa.ChunkedArray, type_: DataType, _options: TextOptions) -> pa.ChunkedArray:
    if pc.any(pc.match_substring(texts, "x", ignore_case=True)).as_py():
        raise ValueError("hexadecimal digits")  # Arrow would accept them.
    try:
        return texts.cast(arrow_type(type_))
    except pa.ArrowException:
        return pc.replace_substring_regex(texts, r"^\+([0-9])", r"\1").cast(arrow_type(type_))


def _floats(texts: pa.ChunkedArray, type_: DataType, options: TextOptions) -> pa.ChunkedArray:
    texts = with_point(texts, options)
    demand(texts, value_pattern(type_) or "")
    return texts.cast(arrow_type(type_))


def _decimals(texts: pa.ChunkedArray, type_: DataType, options: TextOptions) -> pa.ChunkedArray:
    texts = with_point(texts, options)
    demand(texts, value_pattern(type_) or "")
    try:
        return texts.cast(arrow_type(type_))
    except pa.ArrowException:
        # Leading and trailing zeros need no room in the type.
        short = pc.replace_substring_regex(texts, r"(\.[0-9]*?)0+$", r"\1")
        return pc.replace_substring_regex(short, r"^([+-]?)0+([0-9])", r"\1\2").cast(arrow_type(type_))


def with_point(texts: pa.ChunkedArray, options: TextOptions) -> pa.ChunkedArray:
    """Numbers with a decimal point, however they were written."""
    if not options.decimal_comma:
        return texts
    if pc.any(pc.match_substring(texts, ".")).as_py():
        raise ValueError("a point in a number with a decimal comma")
    return pc.replace_substring(texts, ",", ".")


def _booleans(texts: pa.ChunkedArray, _type: DataType, _options: TextOptions) -> pa.ChunkedArray:
    words = pc.ascii_lower(texts)
    true, false = (pc.is_in(words, pa.array(known)) for known in (TRUE_WORDS, FALSE_WORDS))
    if not pc.all(pc.or_(pc.or_(true, false), pc.is_null(words)), min_count=0).as_py():
        raise ValueError("a text is neither true nor false")
    return pc.if_else(pc.is_null(words), None, true)


def _dates(texts: pa.ChunkedArray, type_: DataType, options: TextOptions) -> pa.ChunkedArray:
    if options.date_format:
        return _parsed(texts, arrow_type(type_), lambda text: _strptime(text, options.date_format).date())
    demand(texts, DATE)
    return texts.cast(arrow_type(type_))


def _local_times(texts: pa.ChunkedArray, type_: DataType, options: TextOptions) -> pa.ChunkedArray:
    if options.timestamp_format:
        return _parsed(texts, arrow_type(type_), lambda text: _without_zone(_strptime(text, options.timestamp_format)))
    texts = _at_midnight(texts)
    demand(texts, value_pattern(type_) or "")
    return texts.cast(arrow_type(type_))


def _times(texts: pa.ChunkedArray, type_: DataType, options: TextOptions) -> pa.ChunkedArray:
    """Times with a zone; UTC where the text has none."""
    if options.timestamp_format:
        return _parsed(texts, arrow_type(type_), lambda text: _with_zone(_strptime(text, options.timestamp_format)))
    texts = _at_midnight(texts)
    bare = pc.invert(pc.match_substring_regex(texts, f"[0-9]{ZONE}$"))
    bare = pc.or_(bare, pc.match_substring_regex(texts, value_pattern(DataType("timestamp_ntz")) or ""))
    texts = pc.if_else(bare, pc.binary_join_element_wise(texts, "Z", ""), texts)
    demand(texts, value_pattern(type_) or "")
    return texts.cast(arrow_type(type_))


def _at_midnight(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Turn dates into times at midnight."""
    dates = pc.match_substring_regex(texts, DATE)
    return pc.if_else(dates, pc.binary_join_element_wise(texts, "00:00:00", " "), texts)


def _strptime(text: str, pattern: str | None) -> datetime:
    return datetime.strptime(text, pattern or "")


def _with_zone(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _without_zone(moment: datetime) -> datetime:
    if moment.tzinfo:
        raise ValueError("a zone where none was expected")
    return moment


def _binaries(texts: pa.ChunkedArray, type_: DataType, _options: TextOptions) -> pa.ChunkedArray:
    demand(texts, value_pattern(type_) or "")
    return _parsed(texts, arrow_type(type_), bytes.fromhex)


def _nested(texts: pa.ChunkedArray, type_: DataType, _options: TextOptions) -> pa.ChunkedArray:
    """Read arrays, maps and structs, which are written as JSON."""
    return fitted([None if text is None else _from_json(text) for text in texts.to_pylist()], type_)


def _from_json(text: str) -> Any:
    return json.loads(text, parse_float=Decimal, object_pairs_hook=_object)


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


_CONVERSIONS: dict[str, Callable[[pa.ChunkedArray, DataType, TextOptions], pa.ChunkedArray]] = {
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
