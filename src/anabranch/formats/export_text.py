"""Values as text of CSV and JSON, in a form that reads back as the same values."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from json.encoder import encode_basestring
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from anabranch.frames.output import json_objects_of


@dataclass(frozen=True)
class CsvStyle:
    """How CSV is written."""

    delimiter: str = ","
    header: bool = True
    quote: str = '"'
    null: str = ""
    quote_all: bool = False


def csv_header(names: list[str], style: CsvStyle) -> bytes:
    """The line with the column names."""
    fields = [_quoted(pa.array([name], pa.string()), style)[0].as_py() for name in names]
    return (style.delimiter.join(fields) + "\n").encode()


def csv_lines(batch: pa.RecordBatch, style: CsvStyle) -> bytes:
    """Rows as lines. A null is the null text without quotes; a text that equals it is quoted."""
    if not batch.num_rows:
        return b""
    columns = [_column(batch.column(i), style) for i in range(batch.num_columns)]
    lines = pc.binary_join_element_wise(*columns, style.delimiter)
    return ("\n".join(lines.to_pylist()) + "\n").encode("utf-8", "surrogatepass")


def json_lines(batch: pa.RecordBatch) -> list[str]:
    """Rows as objects, one per line; assembled by column, for speed."""
    if not batch.num_rows:
        return []
    pieces: list[Any] = []
    for i, name in enumerate(batch.schema.names):
        before = f"{', ' if i else '{'}{json.dumps(name, ensure_ascii=False)}: "
        pieces += [pa.scalar(before), pc.fill_null(_json_values(batch.column(i)), "null")]
    found: list[str] = pc.binary_join_element_wise(*pieces, pa.scalar("}"), "").to_pylist()
    return found


def _json_values(values: pa.Array) -> pa.Array:
    """Values as JSON writes them; as text where JSON has no form for them."""
    kind = values.type
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return values.cast(pa.string())
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        quote = pa.scalar('"')
        return pc.binary_join_element_wise(quote, _texts(values), quote, "")
    write = encode_basestring if pa.types.is_string(kind) else _json
    return pa.array([None if v is None else write(v) for v in json_objects_of(values)], pa.string())


def _json(value: Any) -> str:
    return json.dumps(_plain(value), ensure_ascii=False)


def _column(values: pa.Array, style: CsvStyle) -> pa.Array:
    texts = _texts(values)
    plain = not style.quote_all and (pa.types.is_integer(values.type) or pa.types.is_boolean(values.type))
    return pc.fill_null(texts if plain else _quoted(texts, style), style.null)


def _quoted(texts: pa.Array, style: CsvStyle) -> pa.Array:
    """Quote texts that could be taken for something else."""
    quote = style.quote
    special = pc.match_substring_regex(
        texts, f"[\\r\\n{_escaped(quote)}{_escaped(style.delimiter)}]|^[ \\t]|[ \\t]$|^$"
    )
    wanted = pc.or_(special, pc.equal(texts, style.null))
    doubled = pc.replace_substring(texts, quote, quote * 2)
    made = pc.binary_join_element_wise(pa.scalar(quote), doubled, pa.scalar(quote), "")
    return made if style.quote_all else pc.if_else(wanted, made, texts)


def _escaped(character: str) -> str:
    return f"\\x{{{ord(character):x}}}"


def _texts(values: pa.Array) -> pa.Array:
    kind = values.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return values.cast(pa.string())
    if pa.types.is_timestamp(kind):
        return _times(values)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind) or pa.types.is_date(kind):
        return values.cast(pa.string())
    return pa.array([_one(value) for value in json_objects_of(values)], pa.string())


def _times(values: pa.Array) -> pa.Array:
    """ISO 8601, with Z for an instant, and without a zero fraction."""
    texts = values.cast(pa.timestamp("us", values.type.tz)).cast(pa.string())
    return pc.replace_substring(pc.replace_substring(texts, " ", "T"), ".000000", "")


def _one(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, Decimal):
        return f"{value:f}"
    return value.hex() if isinstance(value, bytes) else _json(value)


def _plain(value: Any) -> Any:
    """A value in JSON's terms: decimals, times, NaN and infinities as text, bytes as hexadecimal digits."""
    if isinstance(value, Mapping):
        return {str(name): _plain(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    return _one(value) if isinstance(value, (Decimal, bytes)) else value
