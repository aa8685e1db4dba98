"""Rebuild nested values part by part: with fields by name, in forms that memory can hold or engines can compare."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sqlglot import exp

from anabranch.model.types import FLOATS, DataType
from anabranch.queries.query import cast_to, choose, distinct_from, ident, is_null, null_of, text

Leaf = Callable[[exp.Expr, DataType], exp.Expr]
BY_LIST = "by_list"
_MONTHS = DataType("interval month")


def differs(type_: DataType, one: exp.Expr, other: exp.Expr) -> exp.Expr:
    """Whether two values of a type differ: nulls and NaN equal themselves, 0.0 equals -0.0, maps are unordered.

    No engine compares maps like that, or variants at all: these are equal if their JSON text and types are.
    """
    return distinct_from(comparable(type_, one), comparable(type_, other))


def comparable(type_: DataType, value: exp.Expr) -> exp.Expr:
    """A value in a form that engines compare and group by."""
    plan = _Rebuilding(lambda t: t.name in ("map", "variant"), _comparable_leaf, sorts_maps=True)
    return plan.of(value, type_)


def last_of(type_: DataType, value: exp.Expr, turn: exp.Expr) -> exp.Expr:
    """The value of a group's highest turn, bit for bit."""
    found = exp.ArgMax(this=value, expression=turn)
    # DuckDB's arg_max turns a -0.0 inside a nested value into 0.0.
    found.meta[BY_LIST] = type_.is_nested and any(t.name in FLOATS for t in type_.walk())
    return found


def to_memory(value: exp.Expr, type_: DataType) -> exp.Expr:
    """The form in which a value leaves Spark: variants as JSON text, years and months as whole months."""
    return _Rebuilding(has_other_form, _to_memory_leaf).of(value, type_)


def from_memory(value: exp.Expr, type_: DataType) -> exp.Expr:
    """A value of a type, from the form in which rows in memory hold it."""
    return cast_to(_Rebuilding(has_other_form, _from_memory_leaf).of(value, type_), type_)


def has_other_form(type_: DataType) -> bool:
    """Tell whether rows in memory hold a type in another form than Spark, not counting its parts."""
    return type_.name == "variant" or type_.is_months


def needs_spark_to_take(type_: DataType) -> bool:
    """Tell whether rows in memory have to be converted to hold a type."""
    return any(t.is_interval or has_other_form(t) for t in type_.walk())


def fitted(value: exp.Expr, source: DataType | None, target: DataType, depth: int = 0) -> exp.Expr:
    """Cast a value to a column's type with fields by name; Spark alone would cast structs by position."""
    if source is None or not source.is_nested or _same_shape(source, target):
        return cast_to(value, target)
    if source.name == "struct":
        given = {f.name: source.find(f.name) for f in target.fields}
        parts = {
            f.name: fitted(_field(value.copy(), found.name), found.type, f.type, depth) if found else null_of(f.type)
            for f, found in ((f, given[f.name]) for f in target.fields)
        }
        return _unless_null(value, struct_built(parts))
    inner = [
        fitted(part, s, t, depth + 1)
        for part, s, t in zip(_inner(source, depth), source.parts, target.parts, strict=True)
    ]
    return _with_inner(value, source, inner, depth)


def _same_shape(source: DataType, target: DataType) -> bool:
    if source.name != target.name or len(source.fields) != len(target.fields):
        return not source.is_nested
    pairs = zip(source.fields, target.fields, strict=True)
    return all(s.name == t.name and _same_shape(s.type, t.type) for s, t in pairs)


@dataclass(frozen=True)
class _Rebuilding:
    """Rebuilds values from changed parts; leaves values that need no change as they are."""

    needs: Callable[[DataType], bool]
    leaf: Leaf
    sorts_maps: bool = False

    def of(self, value: exp.Expr, type_: DataType, depth: int = 0) -> exp.Expr:
        if not any(self.needs(t) for t in type_.walk()):
            return value
        if not type_.is_nested:
            return self.leaf(value, type_)
        if type_.name == "struct":
            parts = {f.name: self.of(_field(value.copy(), f.name), f.type, depth) for f in type_.fields}
            return _unless_null(value, struct_built(parts))
        inner = [self.of(p, t, depth + 1) for p, t in zip(_inner(type_, depth), type_.parts, strict=True)]
        return _with_inner(value, type_, inner, depth, as_sorted=self.sorts_maps)


def _with_inner(
    value: exp.Expr, type_: DataType, inner: list[exp.Expr], depth: int, as_sorted: bool = False
) -> exp.Expr:
    """An array or map with other elements or entries; a map may be left as the sorted list of its entries."""
    if type_.name == "array":
        return exp.Transform(this=value, expression=_lambda(inner[0], depth))
    entry = struct_built({"key": inner[0], "value": inner[1]})
    entries = exp.Transform(this=_call("map_entries", value), expression=_lambda(entry, depth))
    return exp.ArraySort(this=entries) if as_sorted else _call("map_from_entries", entries)


def _inner(type_: DataType, depth: int) -> list[exp.Expr]:
    """A lambda's names for the element of an array, or for key and value of an entry."""
    item = exp.column(_item(depth))
    return [item] if type_.name == "array" else [_field(item, "key"), _field(item.copy(), "value")]


def _lambda(body: exp.Expr, depth: int) -> exp.Lambda:
    return exp.Lambda(this=body, expressions=[exp.to_identifier(_item(depth))])


def _item(depth: int) -> str:
    return f"ana_item_{depth}"


def _field(value: exp.Expr, name: str) -> exp.Expr:
    return exp.Dot(this=exp.Paren(this=value), expression=ident(name))


def struct_built(parts: Mapping[str, exp.Expr]) -> exp.Expr:
    """A struct of parts by their names."""
    return exp.Struct(expressions=[exp.PropertyEQ(this=ident(name), expression=part) for name, part in parts.items()])


def _unless_null(value: exp.Expr, built: exp.Expr) -> exp.Expr:
    return choose((is_null(value.copy()), exp.Null()), otherwise=built)


def _call(name: str, *args: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this=name, expressions=list(args))


def _comparable_leaf(value: exp.Expr, _type: DataType) -> exp.Expr:
    """A variant's JSON text and its types."""
    json, types = _call("to_json", value), _call("schema_of_variant", value.copy())
    return choose((is_null(value.copy()), exp.Null()), otherwise=_call("concat", types, text(" "), json))


def _to_memory_leaf(value: exp.Expr, type_: DataType) -> exp.Expr:
    if type_.name == "variant":
        return _call("to_json", value)
    return cast_to(cast_to(value, _MONTHS), DataType("int"))


def _from_memory_leaf(value: exp.Expr, type_: DataType) -> exp.Expr:
    return _call("parse_json", value) if type_.name == "variant" else cast_to(cast_to(value, _MONTHS), type_)
