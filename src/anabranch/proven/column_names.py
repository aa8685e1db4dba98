"""The names that Spark gives to unnamed columns; a shape whose exact name isn't known is reported as such."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from sqlglot import exp

from anabranch.errors import InvalidRequest, NotFound
from anabranch.model.ddl import parse_type
from anabranch.proven.aggregates import AGGREGATES, Call, call_of
from anabranch.proven.scope import Nameless, Scope
from anabranch.proven.table.row import Unproven
from anabranch.proven.table.syntax import COMPARISONS, SYMBOLS


def name_of(node: exp.Expr, scope: Scope) -> str:
    """What Spark would call an expression; a `Nameless` if that isn't known."""
    bare = node.unnest()
    try:
        if any(_may_be_of_dates(part, scope) for part in bare.find_all(exp.Add, exp.Sub)):
            raise Unproven("an unnamed sum that may be of dates")
        return _cast_column(bare) or _name(bare)
    except Unproven as unknown:
        return Nameless(unknown)


def _cast_column(node: exp.Expr) -> str | None:
    """The name of a column that is only cast: Spark keeps it."""
    call = isinstance(node, exp.Anonymous) and str(node.this).lower() in _TYPE_NAMES and len(node.expressions) == 1
    inner = node.expressions[0] if call else node.this if isinstance(node, exp.Cast) else None
    return str(inner.name) if isinstance(inner, exp.Column) else None


def _may_be_of_dates(node: exp.Expr, scope: Scope) -> bool:
    """Tell whether a sum may involve dates, which Spark names differently; so may one with a column of unknown type."""
    columns = [scope.find(c) for c in node.find_all(exp.Column)]
    if any(c is None or c.type is None or not c.type.is_number for c in columns):
        return True
    return any(_may_give_date(part) for part in node.find_all(exp.Anonymous, exp.Cast, exp.Subquery, exp.Placeholder))


def _may_give_date(node: exp.Expr) -> bool:
    if isinstance(node, exp.Cast):
        return str(node.args["to"].sql("spark")).lower().startswith(("date", "time"))
    return not isinstance(node, exp.Anonymous) or str(node.this).lower() not in AGGREGATES | _OF_NUMBERS


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
    kind, negated = node.expression, bool(node.args.get("negate"))
    if isinstance(kind, exp.Null):
        return f"({_name(node.this)} IS {'NOT ' if negated else ''}NULL)"
    if not isinstance(kind, exp.Boolean):
        raise Unproven("an unnamed IS")
    same = f"({_name(node.this)} <=> {_name(kind)})"
    return f"(NOT {same})" if negated else same


def _not(node: exp.Expr) -> str:
    if isinstance(node.this, exp.Is) and isinstance(node.this.expression, exp.Null):
        return f"({_name(node.this.this)} IS NOT NULL)"
    return f"(NOT {_name(node.this)})"


def _like(node: exp.Expr) -> str:
    like = f"{_name(node.this)} LIKE {_name(node.expression)}"
    return f"(NOT {like})" if node.args.get("negate") else like


def _ilike(node: exp.Expr) -> str:
    like = f"ilike({_name(node.this)}, {_name(node.expression)})"
    return f"(NOT {like})" if node.args.get("negate") else like


def _between(node: exp.Expr) -> str:
    return f"between({_list((node.this, node.args['low'], node.args['high']))})"


def _if(node: exp.Expr) -> str:
    if node.args.get("false") is None:
        raise Unproven("an unnamed IF")
    return f"(IF({_list((node.this, node.args['true'], node.args['false']))}))"


def _trim(node: exp.Expr) -> str:
    side, characters = str(node.args.get("position") or "BOTH").upper(), node.args.get("expression")
    if characters is not None:
        return f"TRIM({side} {_name(characters)} FROM {_name(node.this)})"
    name = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(side, "trim")
    return f"{name}({_name(node.this)})"


def _in(node: exp.Expr) -> str:
    if node.args.get("query"):
        raise Unproven("an unnamed IN with a subquery")
    return f"({_name(node.this)} IN ({_list(node.expressions)}))"


def _case(node: exp.Expr) -> str:
    subject = f"({_name(node.this)} = {{}})" if node.this is not None else "{}"
    whens = "".join(f" WHEN {subject.format(_name(b.this))} THEN {_name(b.args['true'])}" for b in node.args["ifs"])
    default = node.args.get("default")
    return f"CASE{whens}{f' ELSE {_name(default)}' if default is not None else ''} END"


def _cast(node: exp.Expr) -> str:
    try:
        type_ = str(parse_type(node.args["to"].sql("spark")))
    except (InvalidRequest, NotFound) as error:
        raise Unproven("an unnamed CAST") from error
    # A literal with a suffix (1L) or a type before it (DATE '…') is parsed as a cast, too.
    is_text = (
        isinstance(node.this, exp.Literal) and bool(node.this.is_string) and not type_.startswith(("date", "time"))
    )
    if (
        isinstance(node.this, exp.Literal)
        and not is_text
        and (type(node) is not exp.Cast or type_.startswith(("date", "time")))
    ):
        raise Unproven("an unnamed CAST of a literal")
    return f"{'TRY_CAST' if node.args.get('safe') else 'CAST'}({_name(node.this)} AS {type_.upper()})"


def _function(node: exp.Expr) -> str:
    name, given = str(node.this).lower(), node.expressions
    if name in ("isnull", "isnotnull") and len(given) == 1:
        return f"({_name(given[0])} IS {'NOT ' if name == 'isnotnull' else ''}NULL)"
    if name in _DEFAULTS and len(given) == _DEFAULTS[name][0]:
        return f"{name}({_list(given)}, {_DEFAULTS[name][1]})"
    if name == "log":
        return f"LOG({_list(given)})" if len(given) == 2 else f"LOG(E(), {_list(given)})"
    if name in _UPPER:
        return f"{name.upper()}({_list(given)})"
    if name in _PLAIN or (name in _PLAIN_WITH_THREE and len(given) == 3):
        return f"{name}({_list(given)})"
    raise Unproven(f"an unnamed {name.upper()}")


def _aggregate(call: Call) -> str:
    stars = [type(a) for a in call.arguments] == [exp.Star]
    given = "1" if stars else _list(call.arguments)
    condition = f" FILTER (WHERE {_name(call.condition)})" if call.condition is not None else ""
    return f"{call.name}({'DISTINCT ' if call.distinct else ''}{given}){condition}"


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
    exp.NullSafeNEQ: lambda node: f"(NOT ({_name(node.this)} <=> {_name(node.expression)}))",
    exp.DPipe: lambda node: f"concat({_list((node.this, node.expression))})",
    exp.BitwiseNot: lambda node: f"~{_name(node.this)}",
    exp.Like: _like,
    exp.ILike: _ilike,
    exp.RegexpLike: lambda node: f"RLIKE({_list((node.this, node.expression))})",
    exp.HexString: lambda node: f"X'{str(node.this).upper()}'",
    exp.Bracket: lambda node: f"{_name(node.this)}[{_list(node.expressions)}]",
    exp.CurrentDate: lambda _: "current_date()",
    exp.CurrentTimestamp: lambda _: "current_timestamp()",
    exp.Between: _between,
    exp.If: _if,
    exp.Trim: _trim,
    exp.Case: _case,
    exp.Cast: _cast,
    exp.Anonymous: _function,
}
_BINARY: dict[type[exp.Expr], str] = {exp.Add: "+", exp.Sub: "-", exp.And: "AND", exp.Or: "OR"} | {
    kind: sign for kind, sign in (COMPARISONS | SYMBOLS).items() if kind not in _RULES
}
_PLAIN_WORDS = (
    "abs add_months ascii bin bit_count bit_get bit_length btrim ceiling char char_length "
    "character_length chr coalesce concat concat_ws contains date_add date_diff date_from_unix_date "
    "date_part date_sub datediff day dayname dayofmonth dayofweek dayofyear decode encode endswith "
    "equal_null factorial find_in_set getbit greatest hex hour ifnull instr isnan last_day least left len "
    "length ltrim make_date md5 minute mod month monthname nanvl negative next_day nullif nullifzero nvl "
    "nvl2 octet_length pmod quarter repeat reverse right rint rtrim second sha sha1 sha2 shiftleft "
    "shiftright shiftrightunsigned sign space split_part startswith substring_index timestamp_micros "
    "timestamp_millis timestamp_seconds to_binary to_date translate trunc try_add try_divide try_mod "
    "try_multiply try_subtract unhex unix_date unix_micros unix_millis unix_seconds weekday weekofyear "
    "year zeroifnull upper lower ucase lcase initcap round date_trunc date_format ln pow regexp_extract ilike now "
    "current_date curdate current_timestamp"
)
_PLAIN = frozenset(_PLAIN_WORDS.split())
"""Functions that Spark names as written."""
_PLAIN_WITH_THREE = frozenset(("locate", "lpad", "rpad", "replace"))
"""Functions that Spark shows with all three arguments, even omitted ones."""
_DEFAULTS = {
    "round": (1, "0"),
    "split": (2, "-1"),
    "regexp_replace": (3, "1"),
    "regexp_extract": (2, "1"),
}
"""How many arguments a call must have for Spark to append a default, and that default."""
_UPPER = frozenset(
    ("exp", "log10", "log2", "power", "ceil", "floor", "sqrt", "degrees", "radians", "e", "pi", "signum")
)
_TYPE_WORDS = "tinyint smallint int bigint float double decimal string boolean date timestamp binary"
_TYPE_NAMES = frozenset(_TYPE_WORDS.split())
_NUMBER_WORDS = "abs length char_length ceil floor sqrt sign mod pmod year month day"
_OF_NUMBERS = frozenset(_NUMBER_WORDS.split())
"""Functions that return a number; a sum over any other might involve dates."""
