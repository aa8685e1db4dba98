"""The names that Spark gives to columns that have none; a shape whose name is not known exactly is told as such."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from sqlglot import exp

from anabranch.errors import InvalidRequest
from anabranch.model.ddl import parse_type
from anabranch.queries.proof_aggregates import AGGREGATES, Call, call_of
from anabranch.queries.proof_scope import Nameless
from anabranch.queries.proven import Unproven


def name_of(node: exp.Expr) -> str:
    """Tell what Spark would call an expression; a `Nameless` says that it isn't known."""
    try:
        return _name(node)
    except Unproven as unknown:
        return Nameless(unknown)


def _name(node: exp.Expr) -> str:
    call = call_of(node)
    if call is not None:
        return _aggregate(call)
    if type(node) in _BINARY:
        return f"({_name(node.this)} {_BINARY[type(node)]} {_name(node.expression)})"
    for kind, rule in _RULES.items():
        if isinstance(node, kind):
            return rule(node)
    raise Unproven(f"an unnamed {_described(node)}")


def _described(node: exp.Expr) -> str:
    if isinstance(node, exp.Anonymous):
        return str(node.this).upper()
    return {"Window": "window function", "Placeholder": "parameter"}.get(type(node).__name__, node.key.upper())


def _list(nodes: Iterable[exp.Expr]) -> str:
    return ", ".join(_name(n) for n in nodes)


def _literal(node: exp.Expr) -> str:
    text = str(node.this)
    if node.args.get("is_string"):
        return text
    if re.fullmatch(r"\d+", text):
        return str(int(text))
    if re.fullmatch(r"\d+\.\d+", text):
        whole, _, fraction = text.partition(".")
        return f"{int(whole)}.{fraction}"
    raise Unproven(f"an unnamed number {text}")


def _minus(node: exp.Expr) -> str:
    if isinstance(node.this, exp.Literal) and not node.this.is_string:
        return f"-{_literal(node.this)}" if float(node.this.this) else _literal(node.this)
    return f"(- {_name(node.this)})"


def _is(node: exp.Expr) -> str:
    if not isinstance(node.expression, exp.Null):
        raise Unproven("an unnamed IS")
    return f"({_name(node.this)} IS {'NOT ' if node.args.get('negate') else ''}NULL)"


def _not(node: exp.Expr) -> str:
    if isinstance(node.this, exp.Is) and isinstance(node.this.expression, exp.Null):
        return f"({_name(node.this.this)} IS NOT NULL)"
    return f"(NOT {_name(node.this)})"


def _in(node: exp.Expr) -> str:
    if node.args.get("query"):
        raise Unproven("an unnamed IN with a subquery")
    return f"({_name(node.this)} IN ({_list(node.expressions)}))"


def _case(node: exp.Expr) -> str:
    if node.this is not None:
        raise Unproven("an unnamed CASE")
    whens = "".join(f" WHEN {_name(b.this)} THEN {_name(b.args['true'])}" for b in node.args["ifs"])
    default = node.args.get("default")
    return f"CASE{whens}{f' ELSE {_name(default)}' if default is not None else ''} END"


def _cast(node: exp.Expr) -> str:
    if isinstance(node.this, exp.Literal):
        raise Unproven("an unnamed CAST of a literal")
    try:
        type_ = str(parse_type(node.args["to"].sql("spark"))).upper()
    except InvalidRequest as error:
        raise Unproven("an unnamed CAST") from error
    return f"{'TRY_CAST' if node.args.get('safe') else 'CAST'}({_name(node.this)} AS {type_})"


def _function(node: exp.Expr) -> str:
    name = str(node.this).lower()
    if name not in NAMED_PLAINLY and name not in _UPPER:
        raise Unproven(f"an unnamed {name.upper()}")
    return f"{name.upper() if name in _UPPER else name}({_list(node.expressions)})"


def _aggregate(call: Call) -> str:
    name = {"mean": "mean"}.get(call.name, call.name)
    stars = [type(a) for a in call.arguments] == [exp.Star]
    given = "1" if stars else _list(call.arguments)
    condition = f" FILTER (WHERE {_name(call.condition)})" if call.condition is not None else ""
    return f"{name}({'DISTINCT ' if call.distinct else ''}{given}){condition}"


_BINARY: dict[type[exp.Expr], str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
    exp.EQ: "=",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: "<=>",
    exp.And: "AND",
    exp.Or: "OR",
    exp.BitwiseAnd: "&",
    exp.BitwiseOr: "|",
    exp.BitwiseXor: "^",
}
_RULES: dict[type[exp.Expr], Callable[[exp.Expr], str]] = {
    exp.Column: lambda node: str(node.name),
    exp.Literal: _literal,
    exp.Boolean: lambda node: "true" if node.this else "false",
    exp.Null: lambda _: "NULL",
    exp.Paren: lambda node: _name(node.this),
    exp.Neg: _minus,
    exp.NEQ: lambda node: f"(NOT ({_name(node.this)} = {_name(node.expression)}))",
    exp.Is: _is,
    exp.Not: _not,
    exp.In: _in,
    exp.Case: _case,
    exp.Cast: _cast,
    exp.Anonymous: _function,
}
NAMED_PLAINLY = AGGREGATES | frozenset(("abs", "coalesce", "length", "concat", "upper", "lower"))
_UPPER: frozenset[str] = frozenset(("ceil", "floor", "sqrt"))
