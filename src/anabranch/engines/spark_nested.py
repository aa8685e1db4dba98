"""Nested values from the text of JSON on Spark: strictly, where Spark gives null or leaves out what does not fit."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from anabranch.model.types import DataType, quoted

CORRUPT = "_ana_corrupt"
STRICT = {"allowSingleQuotes": "false", "columnNameOfCorruptRecord": CORRUPT}


def count_values(text: Column) -> Column:
    """How many values of JSON a text has, with commas between them; fewer than one if it is not JSON."""
    followed = F.concat(F.lit("["), text, F.lit(",0]"))
    # The first knows no NaN, the second takes longer.
    count = F.coalesce(F.json_array_length(followed), F.size(F.from_json(followed, "array<string>", STRICT)))
    return F.coalesce(count, F.lit(0)) - 1


def nested_value(text: Column, type_: DataType) -> Column:
    """A value of a nested type; null where something in it does not fit, or has no place."""
    framed = F.concat(F.lit('{"v":'), text, F.lit("}"))
    found = F.from_json(framed, f"v {type_}, {CORRUPT} string", STRICT)
    fits = found[CORRUPT].isNull() & (count_values(text) == 1) & ~_is_more(text, type_)
    return F.when(fits, found["v"])


def _is_more(text: Column, type_: DataType) -> Column:
    """Whether a value has what its type has no place for: fields of structs, places of decimals."""
    if not any(t.name in ("struct", "decimal") for t in type_.walk()):
        return F.lit(False)
    if type_.name == "decimal":
        return _any(text.rlike(f"^-?[0-9]+\\.[0-9]{{{type_.scale}}}0*[1-9]"))
    if type_.name == "array":
        elements = F.from_json(text, "array<string>", STRICT)
        return _any(F.exists(elements, lambda element: _is_more(element, type_.parts[0])))
    if type_.name == "map":
        values = F.map_values(F.from_json(text, "map<string,string>", STRICT))
        return _any(F.exists(values, lambda value: _is_more(value, type_.parts[1])))
    names = F.array(*[F.lit(f.name) for f in type_.fields])
    found = _any(F.size(F.array_except(F.json_object_keys(text), names)) > 0)
    inner = F.from_json(text, ", ".join(f"{quoted(f.name)} string" for f in type_.fields), STRICT)
    for field in type_.fields:
        found = found | _is_more(inner[field.name], field.type)
    return found


def _any(test: Column) -> Column:
    return F.coalesce(test, F.lit(False))
