"""Nested values from the text of JSON on Spark: strictly, where Spark gives null or leaves out what does not fit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from pyspark.sql import Column
from pyspark.sql import functions as F

from anabranch.errors import InvalidRequest
from anabranch.model.types import DataType, Field, quoted

CORRUPT = "_ana_corrupt"
_TEXT = DataType("string")
_OTHER_FORMS = ("binary", "date", "timestamp", "timestamp_ntz")
"""Types that Spark reads from JSON in forms of its own; here they are written as in CSV."""
Convert = Callable[[Column, DataType], Column]
"""Makes a value of a type of its text; null where it is none."""
STRICT = {"allowSingleQuotes": "false", "columnNameOfCorruptRecord": CORRUPT}


def count_values(text: Column) -> Column:
    """How many values of JSON a text has, with commas between them; fewer than one if it is not JSON."""
    followed = F.concat(F.lit("["), text, F.lit(",0]"))
    # The first knows no NaN, the second takes longer.
    count = F.coalesce(F.json_array_length(followed), F.size(F.from_json(followed, "array<string>", STRICT)))
    return F.coalesce(count, F.lit(0)) - 1


def variant_of(text: Column) -> Column:
    """The text of JSON as a variant; null where an object in it has a key twice."""
    # A variant knows no NaN; here any number does as well.
    finite = F.regexp_replace(text, r"(?<=[\[:,\s])(?:NaN|[+-]?Infinity|[+-]?INF)(?=[\],}\s])", "0.5")
    return F.coalesce(F.try_parse_json(text), F.try_parse_json(finite))


def nested_value(text: Column, type_: DataType, convert: Convert | None) -> Column:
    """A value of a nested type; null where something in it does not fit, or has no place.

    Without a way to convert what it has in other forms, the type was inferred: all values fit.
    """
    framed = F.concat(F.lit('{"v":'), text, F.lit("}"))
    if convert is None:
        return F.from_json(framed, f"v {type_}", STRICT)["v"]
    found = F.from_json(framed, f"v {_read_as(type_)}, {CORRUPT} string", STRICT)
    wrong = _is_wrong(text, type_, convert)
    fits = found[CORRUPT].isNull() & (count_values(text) == 1) & variant_of(text).isNotNull() & ~wrong
    return F.when(fits, _finished(found["v"], type_, convert))


def _read_as(type_: DataType) -> DataType:
    """The type as which Spark reads JSON: what has other forms there is text.

    Maps whose keys are no text are lists of pairs in JSON, which Spark has no type for.
    """
    if type_.name == "map" and type_.parts[0] != _TEXT:
        hint = "read the files in the process (engine duck)"
        raise InvalidRequest(f"Spark can't read maps with keys of {type_.parts[0]} from text", hint=hint)
    if type_.name in _OTHER_FORMS:
        return _TEXT
    return replace(type_, fields=tuple(Field(f.name, _read_as(f.type)) for f in type_.fields))


def _finished(value: Column, type_: DataType, convert: Convert) -> Column:
    """A value of a type from one that was read."""
    if _read_as(type_) == type_:
        return value
    if type_.name == "array":
        return F.transform(value, lambda element: _finished(element, type_.parts[0], convert))
    if type_.name == "map":
        return F.transform_values(value, lambda _, inner: _finished(inner, type_.parts[1], convert))
    if type_.name == "struct":
        fields = [_finished(value[f.name], f.type, convert).alias(f.name) for f in type_.fields]
        return F.when(value.isNotNull(), F.struct(*fields))
    return convert(value, type_)


def _is_wrong(text: Column, type_: DataType, convert: Convert) -> Column:
    """Whether Spark would take a value that does not fit: it leaves out fields, rounds, and knows other forms."""
    if _read_as(type_) == type_ and not any(t.name in ("struct", "decimal") for t in type_.walk()):
        return F.lit(False)
    if type_.name in _OTHER_FORMS:
        return text.isNotNull() & convert(text, type_).isNull()
    if type_.name == "decimal":
        return _any(text.rlike(f"^-?[0-9]+\\.[0-9]{{{type_.scale}}}0*[1-9]"))
    if type_.name == "array":
        elements = F.from_json(text, "array<string>", STRICT)
        return _any(F.exists(elements, lambda element: _is_wrong(element, type_.parts[0], convert)))
    if type_.name == "map":
        values = F.map_values(F.from_json(text, "map<string,string>", STRICT))
        return _any(F.exists(values, lambda value: _is_wrong(value, type_.parts[1], convert)))
    names = F.array(*[F.lit(f.name) for f in type_.fields])
    found = _any(F.size(F.array_except(F.json_object_keys(text), names)) > 0)
    inner = F.from_json(text, ", ".join(f"{quoted(f.name)} string" for f in type_.fields), STRICT)
    for field in type_.fields:
        found = found | _is_wrong(inner[field.name], field.type, convert)
    return found


def _any(test: Column) -> Column:
    return F.coalesce(test, F.lit(False))
