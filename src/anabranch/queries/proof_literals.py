"""Literals as Spark reads them."""

from __future__ import annotations

import re

from sqlglot import exp

from anabranch.model.types import DataType
from anabranch.queries.proof_types import DOUBLE, STRING, integer_type
from anabranch.queries.proven import Unproven, Value
from anabranch.queries.query import cast_to

_ISO_DATE = re.compile(r"^\d{4}-\d{2}-\d{2}$")
_ZONED_TIME = re.compile(r"^\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}:\d{2}(\.\d{1,6})?(Z|[+-]\d{2}:\d{2})$")
_PLAIN_TIME = re.compile(r"^\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}:\d{2}(\.\d{1,6})?$")
_SHAPES = {"date": _ISO_DATE, "timestamp": _ZONED_TIME, "timestamp_ntz": _PLAIN_TIME}


def literal_value(node: exp.Expr, sign: str = "") -> Value:
    """A string or a number as Spark types it; a sign before a number belongs to it."""
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
    raise Unproven(f"the number {text}")


def is_plain_time(node: exp.Expr, target: DataType) -> bool:
    """Tell whether a text is a date or a time that both engines read alike."""
    shape = _SHAPES.get(target.name)
    return bool(shape and isinstance(node, exp.Literal) and node.is_string and shape.match(str(node.this)))
