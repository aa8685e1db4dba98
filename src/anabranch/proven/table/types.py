"""Spark's rules for types: the common type of several values, and the types of decimal arithmetic."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from anabranch.errors import InvalidRequest
from anabranch.model.ddl import parse_type
from anabranch.model.texts import shortened
from anabranch.model.types import FLOATS, INTEGERS, VOID, DataType
from anabranch.proven.table.row import Unproven, Value

BOOLEAN, STRING, DOUBLE = DataType("boolean"), DataType("string"), DataType("double")
KNOWN = frozenset(
    (*INTEGERS, "float", "double", "decimal", "string", "boolean", "date", "timestamp", "timestamp_ntz", "binary")
)
_EXACT = frozenset((*INTEGERS, "decimal"))
_NUMBERS = _EXACT | {"float", "double"}
_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 20}
"""How many digits Spark gives an integer type beside a decimal."""


def common_type(one: DataType, other: DataType) -> DataType:
    """The type in which two values are compared or chosen between."""
    if one == other:
        return one
    names = {one.name, other.name}
    if names <= set(INTEGERS):
        return max(one, other, key=lambda t: INTEGERS.index(t.name))
    if names <= _EXACT:
        scale = max(one.scale, other.scale)
        digits = max(_DIGITS.get(t.name, t.digits) for t in (one, other))
        # If not all digits fit, Spark drops digits after the point.
        beyond = max(0, digits + scale - 38)
        return DataType("decimal", digits + scale - beyond, max(0, scale - beyond))
    if names <= _NUMBERS:
        return DOUBLE
    raise Unproven(f"{one} with {other}")


def always_fits(source: DataType, target: DataType) -> bool:
    """Tell whether every value of an exact type fits a decimal."""
    exact = source.is_integer or source.name == "decimal"
    return exact and target.name == "decimal" and target.digits >= source.digits and target.scale >= source.scale


def written_type(node: exp.Expr) -> DataType:
    """The type that a cast names."""
    text = node.sql("spark")
    try:
        return parse_type(text)
    except InvalidRequest as error:
        raise Unproven(f"CAST to {text}") from error


def integer_type(value: int) -> DataType:
    """The type of an integer literal."""
    for name, bits in (("int", 31), ("bigint", 63)):
        if -(1 << bits) <= value < 1 << bits:
            return DataType(name)
    raise Unproven(f"the number {shortened(str(value))}")


def as_decimal(value: Value) -> DataType:
    """The decimal type that Spark gives a number beside a decimal."""
    assert value.type is not None
    if value.type.name == "decimal":
        return value.type
    if value.digits < 0:
        raise Unproven(f"a literal of type {value.type} with a decimal")
    return DataType("decimal", value.digits or _DIGITS[value.type.name], 0)


def is_decimal_arithmetic(values: Sequence[Value]) -> bool:
    """Tell whether Spark computes with two numbers as decimals."""
    names = [v.type.name for v in values if v.type is not None]
    return len(values) == len(names) == 2 and "decimal" in names and set(names) <= _EXACT


def sum_type(one: DataType, other: DataType) -> DataType:
    """The type of a sum or difference of decimals; both operands fit it."""
    scale = max(one.scale, other.scale)
    precision = max(one.digits, other.digits) + scale + 1
    return _fitting(precision, scale, "+", one, other)


def product_types(one: DataType, other: DataType) -> tuple[DataType, DataType]:
    """The type that both operands of a product are cast to, and the type of the product."""
    precision, scale = one.precision + other.precision + 1, one.scale + other.scale
    widest = max(one.scale, other.scale)
    # Wide enough for any product: DuckDB gives the result the operands' width.
    _fitting(precision - scale + 2 * widest, scale, "*", one, other)
    return DataType("decimal", precision, widest), DataType("decimal", precision, scale)


def quotient_type(one: DataType, other: DataType) -> DataType:
    """The type of a quotient of decimals, if it can be computed with integers of 38 digits."""
    scale = max(6, one.scale + other.precision + 1)
    precision = one.digits + other.scale + scale
    # Spark rounds twice, first to 39 decimal places; with short divisors, that changes no quotient. DuckDB reads digits
    # and a power of ten only where both fit together.
    if other.precision + scale > 38 or precision + scale > 38:
        raise Unproven(f"/ of {one} and {other}")
    return _fitting(precision, scale, "/", one, other)


def remainder_type(one: DataType, other: DataType) -> DataType:
    """The type of a remainder of decimals."""
    scale = max(one.scale, other.scale)
    return _fitting(min(one.digits, other.digits) + scale, scale, "%", one, other)


def signed_type(types: Sequence[DataType]) -> DataType:
    """The type of a negated or absolute decimal; beyond 34 digits Spark loses some."""
    if types[0].precision > 34:
        raise Unproven(f"- or abs of {types[0]}")
    return types[0]


def casts_by_double(source: DataType, target: DataType) -> bool:
    """Tell whether Spark casts a decimal by way of a double, which may lose digits."""
    small = target.name in INTEGERS[:-1]
    return small and source.name == "decimal" and source.scale > 6 and source.precision > 15


def result_type(symbol: str, one: DataType, other: DataType) -> tuple[DataType, int]:
    """Spark's result type of decimal arithmetic, and the exact result's scale; they differ where Spark rounds."""
    if symbol == "*":
        precision, scale = one.precision + other.precision + 1, one.scale + other.scale
    elif symbol == "/":
        scale = max(6, one.scale + other.precision + 1)
        precision = one.digits + other.scale + scale
    else:
        scale = max(one.scale, other.scale)
        precision = max(one.digits, other.digits) + scale + 1
    if precision <= 38:
        return DataType("decimal", precision, scale), scale
    return DataType("decimal", 38, max(38 - (precision - scale), min(scale, 6))), scale


def natural_width(symbol: str, one: DataType, other: DataType) -> int:
    """How many digits DuckDB's own type of a sum or product has."""
    if symbol == "*":
        width = one.precision + other.precision
    else:
        width = max(one.digits, other.digits) + max(one.scale, other.scale) + 1
    short = max(one.precision, other.precision) <= 18
    return 18 if short and width > 18 else min(width, 38)


def _fitting(precision: int, scale: int, symbol: str, one: DataType, other: DataType) -> DataType:
    if precision > 38:
        raise Unproven(f"{symbol} of {one} and {other}")
    return DataType("decimal", precision, scale)


def assignable(source: DataType | None, target: DataType) -> bool:
    """Tell whether both engines cast such a value to a column's type alike."""
    if source is None or source in (VOID, target):
        return True
    if source.is_nested:
        return _parts_assignable(source, target)
    exact = (*INTEGERS, "decimal")
    if source.name in exact and target.name in exact:
        return source.is_integer or target.name == "decimal"
    if target.name in ("float", "double"):
        return source.name in exact or (source.name, target.name) == ("float", "double")
    return False


def _parts_assignable(source: DataType, target: DataType) -> bool:
    """The same for the parts of nested values, where a decimal can't become a float by way of its text."""
    if source.name != target.name or [f.name for f in source.fields] != [f.name for f in target.fields]:
        return False
    pairs = list(zip(source.parts, target.parts, strict=True))
    return all(assignable(s, t) and not (s.name == "decimal" and t.name in FLOATS) for s, t in pairs)
