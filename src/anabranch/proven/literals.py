"""Literals as Spark reads them."""

from __future__ import annotations

import operator
import re
from calendar import monthrange
from collections.abc import Callable, Sequence

from sqlglot import exp

from anabranch.model.texts import shortened
from anabranch.model.types import DataType
from anabranch.proven.table.row import Unproven, Value
from anabranch.proven.table.types import DOUBLE, STRING, integer_type
from anabranch.queries.query import cast_to

_DATE = r"(\d{4})-(\d{2})-(\d{2})"
_TIME = r"[ T](?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,6})?"
_ZONE = r"(?:Z|[+-](?:(?:0\d|1[0-7]):[0-5]\d|18:00))"
_SHAPES = {"date": _DATE, "timestamp": f"{_DATE}{_TIME}{_ZONE}", "timestamp_ntz": f"{_DATE}{_TIME}"}


def literal_value(node: exp.Expr, sign: str = "") -> Value:
    """A string or a number as Spark types it; a sign before a number is part of it."""
    text = str(node.this)
    if node.args.get("is_string"):
        return Value(exp.Literal.string(text), STRING, literal=text)
    if re.fullmatch(r"\d+", text):
        type_ = integer_type(int(sign + text))
        number = exp.Literal.number(text)
        value = exp.Neg(this=number) if sign else number
        return Value(cast_to(value, type_), type_, literal=sign + text, digits=len(text.lstrip("0")) or 1)
    if re.fullmatch(r"\d*\.\d+|\d+\.", text):
        whole, _, fraction = text.partition(".")
        whole = whole.lstrip("0")
        if len(whole) + len(fraction) <= 38:
            type_ = DataType("decimal", max(1, len(whole) + len(fraction)), len(fraction))
            return Value(cast_to(exp.Literal.string(sign + text), type_), type_)
    if re.fullmatch(r"(\d+\.?\d*|\.\d+)[eE][+-]?\d{1,2}", text):
        return Value(cast_to(exp.Literal.string(sign + text), DOUBLE), DOUBLE)
    raise Unproven(f"the number {shortened(text)}")


_ARITHMETIC: dict[str, Callable[[int, int], int]] = {"+": operator.add, "-": operator.sub, "*": operator.mul}


def fits_by_literals(name: str, values: Sequence[Value], type_: DataType) -> bool:
    """Tell whether the result of integer arithmetic is known not to overflow, because all operands are literals."""
    literals = [int(v.literal) for v in values if v.type and v.type.is_integer and v.literal is not None]
    if name not in _ARITHMETIC or len(literals) != 2 or len(values) != 2:
        return False
    bits = {"int": 31, "bigint": 63}.get(type_.name, 0)
    return -(1 << bits) <= _ARITHMETIC[name](*literals) < 1 << bits


def is_plain_time(node: exp.Expr, target: DataType) -> bool:
    """Tell whether a literal is a date or time that both engines read alike."""
    if target.name not in _SHAPES or not isinstance(node, exp.Literal) or not node.is_string:
        return False
    found = re.fullmatch(_SHAPES[target.name], str(node.this), re.ASCII)
    return found is not None and _is_day(*map(int, found.groups()))


def _is_day(year: int, month: int, day: int) -> bool:
    """Tell whether the day exists; Spark has a year 0, which is a leap year like 400."""
    return 1 <= month <= 12 and 1 <= day <= monthrange(year or 400, month)[1]


def typed_literals(values: Sequence[Value], zone: str | None) -> list[Value]:
    """Read string literals beside dates and numbers ahead of time: Spark casts them to the other values' type."""
    others = [v.type for v in values if v.type is not None and v.type != STRING]
    if not others or all(v.type != STRING for v in values):
        return list(values)
    wanted = _read_as_with(others[0]) if all(_read_as_with(t) == _read_as_with(others[0]) for t in others) else None
    if wanted is None or any(v.type == STRING and v.literal is None for v in values):
        return list(values)
    return [_read(v, wanted, zone) if v.type == STRING else v for v in values]


def _read_as_with(type_: DataType) -> DataType | None:
    """The type that Spark reads a text as beside a value of this type."""
    if type_.is_integer:
        return DataType("bigint")
    if type_.is_number:
        return DOUBLE
    return type_ if type_.name in ("date", "timestamp", "timestamp_ntz") else None


_NUMBERS = {"bigint": r"[+-]?\d{1,18}", "double": r"[+-]?\d{1,15}(?:\.\d{1,15})?"}


def _read(value: Value, wanted: DataType, zone: str | None) -> Value:
    text = str(value.literal)
    if wanted.name in _NUMBERS:
        if re.fullmatch(_NUMBERS[wanted.name], text, re.ASCII) is None:
            raise Unproven(f"the text {shortened(text)!r} beside a number")
        return Value(cast_to(exp.Literal.string(text.lstrip("+")), wanted), wanted)
    shape = text if wanted.name == "date" or len(text) > _DAY_ONLY else f"{text} 00:00:00"
    if wanted.name == "timestamp" and zone == "UTC" and is_plain_time(exp.Literal.string(shape), _NTZ):
        shape += "Z"
    if not is_plain_time(exp.Literal.string(shape), wanted):
        raise Unproven(f"the text {shortened(text)!r} beside a {wanted}")
    return Value(cast_to(exp.Literal.string(shape), wanted), wanted)


_DAY_ONLY = len("2024-02-29")
_NTZ = DataType("timestamp_ntz")
