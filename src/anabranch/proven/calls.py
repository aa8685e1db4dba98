"""Calls by the rows of the table: finds the row that fits the arguments, and casts them as Spark does."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce

from sqlglot import exp

from anabranch.model.types import DataType
from anabranch.proven.literals import fits_by_literals, typed_literals
from anabranch.proven.rewrites import NULL_TESTS, computed
from anabranch.proven.table.decimals import decimal_arithmetic
from anabranch.proven.table.row import ParameterValue, Proof, Unproven, Value, built, matches, proof
from anabranch.proven.table.types import STRING, always_fits, casts_by_double, common_type, is_decimal_arithmetic
from anabranch.proven.table.whole import CAST_ROWS, FUNCTIONS
from anabranch.queries.query import cast_to

TIMESTAMP = DataType("timestamp")
_OF_TIMES = frozenset(
    (
        *("year", "quarter", "month", "day", "dayofmonth", "dayofweek", "weekday", "dayofyear", "weekofyear", "hour"),
        *("minute", "second", "extract_yearofweek", "extract_dow_iso", "extract_second"),
    )
)
"""Functions of a part of a time, taken in local time of the session's zone."""
_KNOWN_YEARS = "moments before 1970 and after 2037 in a time zone with summer time"
_SHIFTED = (
    "CASE WHEN $1 BETWEEN TIMESTAMPTZ '1970-01-02 00:00:00+00' AND TIMESTAMPTZ '2037-12-31 00:00:00+00'"
    " THEN timezone('{}', $1) WHEN $1 IS NOT NULL THEN $only_spark END"
)
UTC = frozenset(("UTC", "Etc/UTC", "GMT", "Z", "Etc/GMT", "Zulu", "UCT", "Universal"))


@dataclass(frozen=True)
class Translator:
    """Translates calls over one set of columns; what inherits from it translates nodes."""

    columns: Mapping[str, tuple[str, DataType]]
    args: Mapping[str, ParameterValue]
    guards: bool = field(default=False, kw_only=True)
    """Whether a translation may fail on values that Spark can compute; Spark is then asked instead."""
    zone: str | None = field(default=None, kw_only=True)
    """The time zone of Spark's session, where it is known."""

    @abstractmethod
    def visit(self, node: exp.Expr) -> Value:
        """Translate an expression."""

    def call(self, name: str, values: Sequence[Value]) -> Value:
        """Translate a call by the row of the table that fits the arguments."""
        rows = FUNCTIONS.get(name)
        if name in _OF_TIMES and values and values[0].type == TIMESTAMP:
            values = [self.local_time(values[0], name), *values[1:]]
        if name in ("||", "concat") and any(v.type != STRING for v in values):
            values = self._as_texts(values)
        values = [computed(v) for v in values] if name in NULL_TESTS else values
        if rows is None:
            raise Unproven(name.upper())
        if is_decimal_arithmetic(values):
            found = decimal_arithmetic(name, values, self.convert, self.guards)
            if found is not None:
                return found
        for row in rows:
            given = self.brought_together(values) if row.alike else list(values)
            kinds = row.kinds(len(given))
            if kinds is not None and all(matches(k, v) for k, v in zip(kinds, given, strict=True)):
                return self.applied(row, given, kinds)
        types = ", ".join(str(v.type or "null") for v in values)
        raise Unproven(f"{name.upper()} of {types or 'nothing'}")

    def _as_texts(self, values: Sequence[Value]) -> list[Value]:
        """Cast concatenated values to text, as Spark does unless all are bytes."""
        if any(v.type is None or v.type.name == "binary" for v in values):
            return list(values)
        return [self.convert(replace(v, digits=0, literal=None), STRING) if v.type != STRING else v for v in values]

    def applied(self, row: Proof, given: Sequence[Value], kinds: Sequence[str] | None = None) -> Value:
        """Translate by a row that fits these arguments, of these kinds if it takes any number of them."""
        if row.guard and not self.guards:
            raise Unproven(f"{row.names[0].upper()} where {row.guard} may come")
        pairs = zip(row.takes if kinds is None else kinds, given, strict=True)
        values = [self.convert(v, DataType(k)) if k in ("int", "bigint", "double") else v for k, v in pairs]
        result = row.result([v.type or STRING for v in values])
        if row.may_fail and fits_by_literals(row.names[0], values, result):
            row = replace(row, may_fail=False)
        return built(row, values, result)

    def brought_together(self, values: Sequence[Value]) -> list[Value]:
        """Bring values to their common type."""
        values = typed_literals(values, self.zone)
        types = [v.type for v in values if v.type is not None]
        if not types:
            return list(values)
        common = reduce(common_type, types)
        return [self.convert(v, common) for v in values]

    def convert(self, value: Value, target: DataType, safe: bool = False) -> Value:
        """Cast as Spark does; a safe cast returns null for what does not fit."""
        if value.type == target:
            return value
        if value.type is None or (value.digits > 0 and target.name != "double"):
            return replace(value, node=cast_to(value.node, target), type=target, may_fail=False)
        row = CAST_ROWS.get((value.type.name, target.name))
        if row is None or casts_by_double(value.type, target) or (row.guard and not self.guards):
            raise Unproven(f"CAST from {value.type} to {target}")
        may_fail = row.may_fail and not always_fits(value.type, target)
        if safe and may_fail:
            row, may_fail = row.tried(), False
        return built(replace(row, may_fail=may_fail), [value], target)

    def known_zone(self, name: str) -> str:
        """The session's time zone, if both engines know it by this name."""
        zone = self.zone
        if zone is None:
            raise Unproven(f"{name.upper()} of a timestamp in an unknown time zone")
        if zone not in UTC and not re.fullmatch(r"[A-Za-z]+(?:/[A-Za-z_]+)+", zone):
            raise Unproven(f"{name.upper()} of a timestamp in the time zone {zone}")
        return zone

    def local_time(self, value: Value, name: str) -> Value:
        """A timestamp as local time in the session's time zone."""
        zone = self.known_zone(name)
        duck, guard = ("timezone('UTC', $1)", "") if zone in UTC else (_SHIFTED.format(zone), _KNOWN_YEARS)
        return self.applied(proof("local_time", "timestamp", "timestamp_ntz", duck, guard=guard), [value])
