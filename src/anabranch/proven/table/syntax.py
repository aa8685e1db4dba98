"""Maps sqlglot's nodes and Spark's words to names in the table, and says which parts of a node are read."""

from __future__ import annotations

from sqlglot import exp

from anabranch.proven.table.row import Unproven

COMPARISONS: dict[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: "<=>",
    exp.NullSafeNEQ: "is_distinct_from",
}
_BITWISE: dict[type[exp.Expr], str] = {
    exp.BitwiseAnd: "&",
    exp.BitwiseOr: "|",
    exp.BitwiseXor: "^",
    exp.BitwiseLeftShift: "<<",
    exp.BitwiseRightShift: ">>",
}
SYMBOLS: dict[type[exp.Expr], str] = {
    **_BITWISE,
    exp.Mul: "*",
    exp.Div: "/",
    exp.IntDiv: "div",
    exp.Mod: "%",
    exp.DPipe: "||",
    exp.BitwiseNot: "~",
}
_PREDICATES = (*COMPARISONS, exp.Is, exp.In, exp.Between, exp.Like, exp.Not, exp.And, exp.Or)


def operands(node: exp.Expr) -> list[exp.Expr]:
    """The operands of an operator; refuse those that sqlglot and Spark may group differently without brackets."""
    found = [p for p in (node.this, node.args.get("expression")) if p is not None]
    for part in found:
        if isinstance(part, _PREDICATES):
            raise Unproven("comparisons next to each other without brackets")
        if type(node) in _BITWISE and type(part) in _BITWISE and type(part) is not type(node):
            raise Unproven("different bitwise operators without brackets")
    return found


UNDERSTOOD = frozenset(
    (
        *("this", "expression", "expressions", "low", "high", "ifs", "true", "false", "default", "to", "table"),
        *("quoted", "is_string", "negate", "safe", "nested", "query", "unit", "position", "substr"),
        *("start", "length", "from_", "for_", "typed"),
    )
)
"""The parts of a node that are read, or don't matter; any other part is unproven."""

_FIELD_WORDS = {
    "year": "year y years yr yrs",
    "quarter": "quarter qtr",
    "month": "month mon mons months",
    "weekofyear": "week w weeks",
    "day": "day d days",
    "dayofweek": "dayofweek dow",
    "extract_dow_iso": "dayofweek_iso dow_iso",
    "dayofyear": "doy",
    "extract_yearofweek": "yearofweek",
    "hour": "hour h hours hr hrs",
    "minute": "minute m min mins minutes",
    "extract_second": "second s sec seconds secs",
}
FIELDS = {word: name for name, words in _FIELD_WORDS.items() for word in words.split()}
"""Fields of EXTRACT and date_part, with the function that returns the same."""
UNITS = {
    word: f"interval_{unit}"
    for unit in ("year", "month", "week", "day", "hour", "minute", "second")
    for word in (unit, f"{unit}s")
}
"""Units of intervals."""
CONSTRUCTS = {
    "and": "a AND b",
    "or": "a OR b",
    "in": "a IN (b, …)",
    "between": "a BETWEEN b AND c",
    "like": "a LIKE 'pattern' without escapes",
    "case": "CASE WHEN a THEN b … END, CASE a WHEN b THEN c … END",
    "if": "if(a, b, c)",
    "nvl2": "nvl2(a, b, c)",
    "nullif": "nullif(a, b)",
}
"""Constructs rather than functions: parts that aren't needed aren't evaluated."""
SPELLINGS = {
    "is_distinct_from": "a IS DISTINCT FROM b",
    "is_null": "a IS NULL",
    "is_not_null": "a IS NOT NULL",
    "is_true": "a IS TRUE",
    "is_false": "a IS FALSE",
    "trim_of": "trim(BOTH b FROM a)",
    "ltrim_of": "trim(LEADING b FROM a)",
    "rtrim_of": "trim(TRAILING b FROM a)",
    "extract_yearofweek": "extract(YEAROFWEEK FROM a)",
    "extract_dow_iso": "extract(DOW_ISO FROM a)",
    "extract_second": "extract(SECOND FROM a)",
    **{name: f"a ± INTERVAL n {name.removeprefix('interval_').upper()}" for name in UNITS.values()},
}
"""How users write what has no function name in Spark."""
