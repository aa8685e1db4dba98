"""What DuckDB computes exactly as Spark 4 does: nodes that tests prove equal; everything else is unproven."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sqlglot import exp

from anabranch.model.types import INTEGERS, DataType
from anabranch.queries.query import cast_to, col

Typed = tuple[exp.Expr, DataType | None]


class Unproven(Exception):
    """Part of an expression is not in the table; the text names it."""


def prove(node: exp.Expr, columns: Mapping[str, tuple[str, DataType]], args: Mapping[str, DataType | None]) -> Typed:
    """Translate an expression for DuckDB, with its type (None for a bare null), or name what is unproven."""
    return _Prover(columns, args).visit(node)


BOOLEAN, STRING, DOUBLE = DataType("boolean"), DataType("string"), DataType("double")
_COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ)
_ISO_DATE = re.compile(r"^\d{4}-\d{2}-\d{2}$")
_ZONED_TIME = re.compile(r"^\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}:\d{2}(\.\d{1,6})?(Z|[+-]\d{2}:\d{2})$")
_PLAIN_TIME = re.compile(r"^\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}:\d{2}(\.\d{1,6})?$")


@dataclass(frozen=True)
class _Prover:
    columns: Mapping[str, tuple[str, DataType]]
    args: Mapping[str, DataType | None]

    def visit(self, node: exp.Expr) -> Typed:
        strange = [name for name, value in node.args.items() if value and name not in _UNDERSTOOD]
        if strange:
            raise Unproven(f"{_describe(node)} with {', '.join(strange)}")
        for kinds, method in _METHODS:
            if isinstance(node, kinds):
                return method(self, node)
        raise Unproven(_describe(node))

    def literal(self, node: exp.Expr) -> Typed:
        text = str(node.this)
        if node.args.get("is_string"):
            return exp.Literal.string(text), STRING
        if re.fullmatch(r"\d+", text):
            type_ = _integer_type(int(text))
            return cast_to(exp.Literal.number(text), type_), type_
        if re.fullmatch(r"\d*\.\d+|\d+\.", text):
            whole, _, fraction = text.partition(".")
            whole = whole.lstrip("0")
            if len(whole) + len(fraction) <= 38:
                type_ = DataType("decimal", max(1, len(whole) + len(fraction)), len(fraction))
                return cast_to(exp.Literal.string(text), type_), type_
        raise Unproven(f"the number {text}")

    def column(self, node: exp.Expr) -> Typed:
        found = self.columns.get(node.name.lower())
        if found is None:
            raise Unproven(f"the name {node.name}")
        table = node.args.get("table")
        return col(found[0], table.name if table else None), found[1]

    def placeholder(self, node: exp.Expr) -> Typed:
        if node.name not in self.args:
            raise Unproven("a parameter without a name")
        type_ = self.args[node.name]
        value = exp.Placeholder(this=node.name)
        return (cast_to(value, type_) if type_ else value), type_

    def boolean(self, node: exp.Expr) -> Typed:
        return node.copy(), BOOLEAN

    def null(self, _node: exp.Expr) -> Typed:
        return exp.Null(), None

    def paren(self, node: exp.Expr) -> Typed:
        inner, type_ = self.visit(node.this)
        return exp.Paren(this=inner), type_

    def logic(self, node: exp.Expr) -> Typed:
        parts = [self._boolean(p) for p in (node.this, node.args.get("expression")) if p is not None]
        return type(node)(this=parts[0], **({"expression": parts[1]} if len(parts) > 1 else {})), BOOLEAN

    def comparison(self, node: exp.Expr) -> Typed:
        one, other = self._comparable([node.this, node.args["expression"]])
        return type(node)(this=one, expression=other), BOOLEAN

    def is_null(self, node: exp.Expr) -> Typed:
        if not isinstance(node.args["expression"], exp.Null):
            raise Unproven("IS TRUE, IS FALSE")
        return _negated(node, exp.Is(this=self.visit(node.this)[0], expression=exp.Null())), BOOLEAN

    def within(self, node: exp.Expr) -> Typed:
        if node.args.get("query") or not node.args.get("expressions"):
            raise Unproven("IN with a subquery")
        parts = self._comparable([node.this, *node.args["expressions"]])
        return exp.In(this=parts[0], expressions=parts[1:]), BOOLEAN

    def between(self, node: exp.Expr) -> Typed:
        parts = self._comparable([node.this, node.args["low"], node.args["high"]])
        return exp.Between(this=parts[0], low=parts[1], high=parts[2]), BOOLEAN

    def like(self, node: exp.Expr) -> Typed:
        value, type_ = self.visit(node.this)
        pattern = node.args["expression"]
        if type_ != STRING or not isinstance(pattern, exp.Literal) or "\\" in str(pattern.this):
            raise Unproven("LIKE with anything but a plain pattern")
        return _negated(node, exp.Like(this=value, expression=pattern.copy())), BOOLEAN

    def coalesce(self, node: exp.Expr) -> Typed:
        parts, type_ = self._alike([node.this, *node.args.get("expressions", [])])
        return exp.Coalesce(this=parts[0], expressions=parts[1:]), type_

    def case(self, node: exp.Expr) -> Typed:
        if node.this is not None:
            raise Unproven("CASE with a subject")
        branches = node.args["ifs"]
        default = node.args.get("default") or exp.Null()
        results, type_ = self._alike([*(b.args["true"] for b in branches), default])
        built = exp.Case(default=results[-1])
        for branch, result in zip(branches, results, strict=False):
            built = built.when(self._boolean(branch.this), result)
        return built, type_

    def concat(self, node: exp.Expr) -> Typed:
        one, other = self.visit(node.this), self.visit(node.args["expression"])
        if (one[1], other[1]) != (STRING, STRING):
            raise Unproven("|| of anything but strings")
        return exp.DPipe(this=one[0], expression=other[0]), STRING

    def negation(self, node: exp.Expr) -> Typed:
        value, type_ = self.visit(node.this)
        if type_ is None or type_.name not in ("int", "bigint", "double", "float", "decimal"):
            raise Unproven(f"- of {type_}")
        return exp.Neg(this=value), type_

    def arithmetic(self, node: exp.Expr) -> Typed:
        (one, first), (other, second) = self.visit(node.this), self.visit(node.args["expression"])
        if first is None or second is None:
            raise Unproven(f"arithmetic on {first or 'null'} and {second or 'null'}")
        operand, result = _arithmetic_types(node, first, second)
        left = cast_to(one, operand or first)
        right = cast_to(other, operand or second)
        return type(node)(this=exp.Paren(this=left), expression=exp.Paren(this=right)), result

    def cast(self, node: exp.Expr) -> Typed:
        target = node.args["to"].sql("spark").lower()
        if isinstance(node.this, exp.Literal) and node.this.args.get("is_string"):
            text = str(node.this.this)
            shapes = {"date": _ISO_DATE, "timestamp": _ZONED_TIME, "timestamp_ntz": _PLAIN_TIME}
            if target in shapes and shapes[target].match(text):
                return cast_to(node.this.copy(), DataType(target)), DataType(target)
        raise Unproven(f"CAST to {target.upper()}")

    def _boolean(self, node: exp.Expr) -> exp.Expr:
        value, type_ = self.visit(node)
        if type_ not in (BOOLEAN, None):
            raise Unproven(f"a condition of type {type_}")
        return value

    def _comparable(self, nodes: list[exp.Expr]) -> list[exp.Expr]:
        """Translate values that are only compared: whole numbers compare exactly whatever their width."""
        typed = [self.visit(n) for n in nodes]
        if all(t is None or t.is_integer for _, t in typed):
            return [v.this if isinstance(v, exp.Cast) and isinstance(v.this, exp.Literal) else v for v, _ in typed]
        return self._common_type(typed)[0]

    def _alike(self, nodes: list[exp.Expr]) -> tuple[list[exp.Expr], DataType | None]:
        """Translate values that are chosen between: all of one type, or exact numbers."""
        return self._common_type([self.visit(n) for n in nodes])

    def _common_type(self, typed: list[Typed]) -> tuple[list[exp.Expr], DataType | None]:
        types = [t for _, t in typed if t is not None]
        if not types:
            return [v for v, _ in typed], None
        common = types[0]
        for type_ in types[1:]:
            common = _common(common, type_)
        return [cast_to(v, common) if t != common else v for v, t in typed], common


_METHODS: tuple[tuple[type | tuple[type, ...], Callable[[_Prover, exp.Expr], Typed]], ...] = (
    (exp.Literal, _Prover.literal),
    (exp.Column, _Prover.column),
    (exp.Placeholder, _Prover.placeholder),
    (exp.Boolean, _Prover.boolean),
    (exp.Null, _Prover.null),
    (exp.Paren, _Prover.paren),
    ((exp.And, exp.Or, exp.Not), _Prover.logic),
    (_COMPARISONS, _Prover.comparison),
    (exp.Is, _Prover.is_null),
    (exp.In, _Prover.within),
    (exp.Between, _Prover.between),
    (exp.Like, _Prover.like),
    (exp.Coalesce, _Prover.coalesce),
    (exp.Case, _Prover.case),
    (exp.DPipe, _Prover.concat),
    (exp.Neg, _Prover.negation),
    ((exp.Add, exp.Sub, exp.Mul), _Prover.arithmetic),
    (exp.Cast, _Prover.cast),
)


_UNDERSTOOD = frozenset(
    (
        "this",
        "expression",
        "expressions",
        "low",
        "high",
        "ifs",
        "true",
        "default",
        "to",
        "table",
        "quoted",
        "is_string",
        "negate",
        "safe",
        "nested",
        "query",
    )
)
"""The parts of a node that some method above reads, or that change nothing; any other part is unproven."""


def _negated(node: exp.Expr, built: exp.Expr) -> exp.Expr:
    return exp.Not(this=exp.Paren(this=built)) if node.args.get("negate") else built


def assignable(source: DataType | None, target: DataType) -> bool:
    """Tell whether both engines cast such a value to the column's type alike."""
    if source is None or source == target:
        return True
    exact = (*INTEGERS, "decimal")
    if source.name in exact and target.name in exact:
        return source.is_integer or target.name == "decimal"
    return target == DOUBLE and source.name in ("tinyint", "smallint", "int", "float")


def _integer_type(value: int) -> DataType:
    if value < 1 << 31:
        return DataType("int")
    if value < 1 << 63:
        return DataType("bigint")
    raise Unproven(f"the number {value}")


def _common(one: DataType, other: DataType) -> DataType:
    """The type in which two values are compared; only where no value changes on the way there."""
    if one == other:
        return one
    if one.is_integer and other.is_integer:
        return max(one, other, key=lambda t: INTEGERS.index(t.name))
    if {one.name, other.name} <= {*INTEGERS, "decimal"}:
        scale = max(one.scale, other.scale)
        digits = max(one.digits, other.digits)
        if digits + scale <= 38:
            return DataType("decimal", digits + scale, scale)
    names = {one.name, other.name}
    if names == {"float", "double"} or ("double" in names and names <= {"tinyint", "smallint", "int", "double"}):
        return DOUBLE
    raise Unproven(f"{one} with {other}")


def _arithmetic_types(node: exp.Expr, one: DataType, other: DataType) -> tuple[DataType | None, DataType]:
    """The type that both operands are cast to (None: each keeps its own), and the type of the result."""
    common = _common(one, other)
    if common.name in ("int", "bigint", "double"):
        return common, common
    if common.name == "decimal":
        first, second = _as_decimal(one), _as_decimal(other)
        if isinstance(node, exp.Mul):
            precision, scale = first.precision + second.precision + 1, first.scale + second.scale
            widest = max(first.scale, second.scale)
            if precision - scale + 2 * widest <= 38:
                # Wide enough that the product always fits: DuckDB takes the operands' width for the result's.
                return DataType("decimal", precision, widest), DataType("decimal", precision, scale)
        elif common.precision < 38:
            wide = DataType("decimal", common.precision + 1, common.scale)
            return wide, wide
    raise Unproven(f"arithmetic on {one} and {other}")


def _as_decimal(type_: DataType) -> DataType:
    return type_ if type_.name == "decimal" else DataType("decimal", type_.digits, 0)


def _describe(node: exp.Expr) -> str:
    return f"{node.name.upper()}()" if isinstance(node, exp.Anonymous) else f"{node.key.upper()}"
