"""Spark SQL's types as values: what they are made of, what they are called, and what may be stored in what."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from anabranch.errors import InvalidRequest
from anabranch.model.names import is_clean

INTEGERS = ("tinyint", "smallint", "int", "bigint")
FLOATS = ("float", "double")
PLAIN = (*INTEGERS, *FLOATS, "string", "boolean", "date", "timestamp", "timestamp_ntz", "binary", "variant")
NESTED = ("array", "map", "struct")
MONTH_UNITS = ("year", "month")
TIME_UNITS = ("day", "hour", "minute", "second")
_INTEGER_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 19}
_UNIT_SIZES = {"year": 12, "month": 1, "day": 86_400_000_000, "hour": 3_600_000_000, "minute": 60_000_000, "second": 1}


@dataclass(frozen=True)
class Field:
    """A part of a nested type: `element` of an array, `key` and `value` of a map, a named field of a struct."""

    name: str
    type: DataType


@dataclass(frozen=True)
class DataType:
    """A Spark SQL type; `str()` gives Spark's DDL text."""

    name: str
    precision: int = 0
    scale: int = 0
    fields: tuple[Field, ...] = field(default=())

    def __str__(self) -> str:
        if self.name == "decimal":
            return f"decimal({self.precision},{self.scale})"
        if self.name == "struct":
            return f"struct<{','.join(f'{quoted(f.name)}:{f.type}' for f in self.fields)}>"
        return f"{self.name}<{','.join(str(f.type) for f in self.fields)}>" if self.fields else self.name

    @property
    def is_integer(self) -> bool:
        return self.name in INTEGERS

    @property
    def is_number(self) -> bool:
        return self.is_integer or self.name in ("decimal", *FLOATS)

    @property
    def is_nested(self) -> bool:
        return self.name in NESTED

    @property
    def is_interval(self) -> bool:
        return self.name.startswith("interval ")

    @property
    def is_months(self) -> bool:
        """Whether this is an interval of years and months."""
        return self.is_interval and self.name.split()[-1] in MONTH_UNITS

    @property
    def unit(self) -> int:
        """The least step of an interval: in months, or in microseconds."""
        return _UNIT_SIZES[self.name.split()[-1]]

    @property
    def only_spark(self) -> bool:
        """Whether DuckDB can't hold it."""
        return any(t.name == "variant" or t.is_interval for t in self.walk())

    @property
    def can_be_key(self) -> bool:
        """Whether a key may have it: engines disagree on equal floats, and other types have no key range."""
        return not (self.name in (*FLOATS, "variant") or self.is_nested or self.is_interval)

    @property
    def is_ordered(self) -> bool:
        """Whether rows can be sorted by values of this type."""
        return self.name not in ("map", "variant", "array", "struct")

    @property
    def digits(self) -> int:
        """How many decimal digits an integer or decimal of this type can have before the point."""
        return self.precision - self.scale if self.name == "decimal" else _INTEGER_DIGITS.get(self.name, 0)

    @property
    def parts(self) -> tuple[DataType, ...]:
        """The types that a nested type is made of."""
        return tuple(f.type for f in self.fields)

    def walk(self) -> Iterator[DataType]:
        """This type and every type inside it."""
        yield self
        for part in self.parts:
            yield from part.walk()

    def find(self, name: str) -> Field | None:
        """Find a field as Spark does: by the exact name, else without regard to case."""
        exact = next((f for f in self.fields if f.name == name), None)
        return exact or next((f for f in self.fields if f.name.lower() == name.lower()), None)


VOID = DataType("void")
"""The type of nothing but nulls: data may have it, a column may not."""


def array_of(element: DataType) -> DataType:
    """An array type."""
    return DataType("array", fields=(Field("element", element),))


def map_of(key: DataType, value: DataType) -> DataType:
    """A map type; Spark allows no maps or variants in the key."""
    if any(t.name in ("map", "variant") for t in key.walk()):
        raise InvalidRequest(f"{key} can't be the key of a map", hint="choose a type that can be compared")
    return DataType("map", fields=(Field("key", key), Field("value", value)))


def struct_of(fields: Sequence[tuple[str, DataType]]) -> DataType:
    """A struct type, with names that both engines tell apart."""
    if not fields:
        raise InvalidRequest("a struct without fields can't be versioned", hint="Parquet has none; leave it out")
    seen: dict[str, str] = {}
    for name, _ in fields:
        if not name or not is_clean(name):
            raise InvalidRequest(f"{name!r} is not a name for a field of a struct", hint="give it a name")
        if name.lower() in seen:
            hint = "Spark does not tell names apart by case; rename one"
            raise InvalidRequest(f"fields {seen[name.lower()]!r} and {name!r} have the same name", hint=hint)
        seen[name.lower()] = name
    return DataType("struct", fields=tuple(Field(name, type_) for name, type_ in fields))


def quoted(name: str) -> str:
    """A name as Spark reads it, in backticks where it needs them."""
    plain = name.isascii() and name.replace("_", "a").isalnum() and not name[0].isdigit()
    return name if plain else "`" + name.replace("`", "``") + "`"


def can_store(source: DataType, target: DataType, *, from_memory: bool = False) -> bool:
    """Tell whether values of one type may be written to a column of another; values out of range are refused later."""
    return misfit(source, target, from_memory=from_memory) is None


def misfit(source: DataType, target: DataType, path: str = "", *, from_memory: bool = False) -> str | None:
    """Say why values of one type can't be written to a column of another; None if they can.

    Rows in memory have no variants or intervals of months: they bring JSON text and whole numbers instead.
    """
    if source == VOID:
        return None
    if from_memory:
        source = _as_brought(source, target)
    if source.name == target.name == "struct":
        return _misfit_of_structs(source, target, path, from_memory)
    if source.name == target.name and source.is_nested:
        pairs = zip(source.fields, target.fields, strict=True)
        problems = (misfit(s.type, t.type, _inside(path, s.name), from_memory=from_memory) for s, t in pairs)
        return next((p for p in problems if p), None)
    if _can_store_plain(source, target):
        return None
    return f"{f'its {path} is ' if path else ''}{target}, {source} was given"


def _misfit_of_structs(source: DataType, target: DataType, path: str, from_memory: bool) -> str | None:
    for given in source.fields:
        wanted, inside = target.find(given.name), _inside(path, given.name)
        if wanted is None:
            return f"{target}, which has no field {inside!r}"
        problem = misfit(given.type, wanted.type, inside, from_memory=from_memory)
        if problem:
            return problem
    return None


def _inside(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _can_store_plain(source: DataType, target: DataType) -> bool:
    if source.name == target.name:
        return True
    if source.is_number and target.is_number:
        # Integers take whole numbers only: a fraction would be lost silently.
        return not target.is_integer or source.is_integer
    if source.is_interval and target.is_interval:
        return source.is_months == target.is_months and source.unit % target.unit == 0
    return (source.name, target.name) == ("date", "timestamp_ntz")


def _as_brought(source: DataType, target: DataType) -> DataType:
    """Take the form that stands for a type in memory as that type, if the column has it."""
    if (target.name == "variant" and source.name == "string") or (target.is_months and source.is_integer):
        return target
    if source.is_interval and target.is_interval and source.is_months == target.is_months:
        return target
    if source.name == "array" and target.name == "map":
        entry = source.parts[0]
        if entry == VOID:
            return map_of(VOID, VOID)
        if [f.name for f in entry.fields] == ["key", "value"]:
            return DataType("map", fields=entry.fields)
    return source


def can_widen(old: DataType, new: DataType) -> bool:
    """Tell whether every value of one type is exactly a value of the other, so that a column may change to it."""
    if old.is_integer and new.is_integer:
        return INTEGERS.index(old.name) <= INTEGERS.index(new.name)
    if new.name == "decimal" and (old.is_integer or old.name == "decimal"):
        return old.digits <= new.digits and old.scale <= new.scale
    if new.name == "double":
        return old.name in ("tinyint", "smallint", "int", "float", "double")
    return old == new or (old.name, new.name) == ("date", "timestamp_ntz")


def holding(one: DataType, other: DataType) -> DataType:
    """The type that holds values of both: the wider one, or the nearest there is."""
    if can_widen(one, other):
        return other
    if can_widen(other, one) or not (one.is_number and other.is_number):
        return one
    if one.name in FLOATS or other.name in FLOATS:
        return DataType("double")
    digits = max(one.digits, other.digits)
    scale = min(max(one.scale, other.scale), 38 - digits)
    return DataType("decimal", digits + scale, scale)
