"""Functions whose translation depends on a literal argument: patterns, formats, units, places."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from re import _parser  # type: ignore[attr-defined]

from sqlglot import exp

from anabranch.model.types import DataType
from anabranch.proven.calls import TIMESTAMP, UTC, Translator
from anabranch.proven.table.row import Unproven, Value, built, only_spark, proof
from anabranch.proven.table.types import STRING

NTZ = DataType("timestamp_ntz")
_PLAIN_TEXT = "regular expressions on text beyond printable ASCII"
_CLEAN = r"CASE WHEN regexp_full_match($1, '[ -~\t]*') THEN {} WHEN $1 IS NOT NULL THEN $only_spark END"
_FEW_DIGITS = "ROUND of a double of more than 15 digits"
_ROUND_DOUBLE = (
    "CASE WHEN abs($1 * $unit) < 1e12 AND abs(abs($1 * $unit - trunc($1 * $unit)) - 0.5) > 0.01"
    " THEN round($1 * $unit) / $unit + 0::DOUBLE WHEN NOT isfinite($1) THEN $1"
    " WHEN abs($1) BETWEEN 0.001 AND 999999999999999"
    " AND length(replace(ltrim(CAST($1 AS VARCHAR), '-'), '.', '')) <= 16"
    " THEN CAST(CAST(CAST(CAST($1 AS VARCHAR) AS DECIMAL(38, 18)) AS DECIMAL(38, $places)) AS VARCHAR)::DOUBLE"
    " WHEN $1 IS NOT NULL THEN $only_spark END"
)
"""Away from the midpoint between two results every way of rounding agrees; near it the decimal text decides."""
_UNITS = {
    word: words.split()[0]
    for words in ("year yyyy yy", "quarter", "month mon mm", "week", "day dd", "hour", "minute", "second")
    for word in words.split()
}
_LETTERS = {
    "yyyy": "%Y",
    "MM": "%m",
    "dd": "%d",
    "HH": "%H",
    "mm": "%M",
    "ss": "%S",
    "MMM": "%b",
    "MMMM": "%B",
    "E": "%a",
    "EEE": "%a",
    "EEEE": "%A",
    "yy": "%y",
    "hh": "%I",
    "a": "%p",
}
_FOUR_DIGITS = "DATE_FORMAT of years that are not of four digits"
_FORMATTED = "CASE WHEN year($1) BETWEEN 1000 AND 9999 THEN strftime($1, '{}') WHEN $1 IS NOT NULL THEN $only_spark END"
_PART = "CASE WHEN $1 IS NULL THEN NULL WHEN len({0}) > {1} THEN {0}[{1} + 1] ELSE $fail END"
_NEAR_SHIFTS = "moments within a day of a change of the clock, before 1970 or after 2037"
_OFFSET = "(timezone('{zone}', {utc} {sign} INTERVAL 1 DAY) - timezone('UTC', {utc} {sign} INTERVAL 1 DAY))"
_FROM_LOCAL = (
    "CASE WHEN {local} BETWEEN TIMESTAMP '1970-01-03' AND TIMESTAMP '2037-12-29' AND {before} = {after}"
    " THEN {utc} - {before} WHEN $1 IS NOT NULL THEN $only_spark END"
)
"""Local time as a moment: certain where the zone's offset is the same a day before and a day after."""


def _given(node: exp.Expr, name: str, least: int, most: int) -> list[exp.Expr]:
    found: list[exp.Expr] = list(node.expressions)
    if not least <= len(found) <= most:
        raise Unproven(f"{name.upper()} of {len(found)} values")
    return found


def _text(node: exp.Expr, name: str) -> str:
    """The text of a string literal."""
    if not isinstance(node, exp.Literal) or not node.is_string:
        raise Unproven(f"{name.upper()} with anything but a text that is written out")
    return str(node.this)


def _pattern(node: exp.Expr, name: str) -> str:
    """A regular expression that both engines read alike."""
    refuse_unlike(pattern := _text(node, name))
    return pattern


def _place(node: exp.Expr, name: str) -> int:
    """The value of a one-digit literal."""
    if not isinstance(node, exp.Literal) or node.is_string or not re.fullmatch(r"\d", str(node.this)):
        raise Unproven(f"{name.upper()} with anything but a digit that is written out")
    return int(node.this)


def _clock_time(prover: Translator, node: exp.Expr, name: str) -> Value:
    """A date or a timestamp as local time."""
    value = prover.visit(node)
    if value.type == TIMESTAMP:
        return prover.local_time(value, name)
    if value.type is not None and value.type.name in ("date", "timestamp_ntz"):
        return prover.convert(value, NTZ)
    raise Unproven(f"{name.upper()} of {value.type or 'null'}")


def truncated(prover: Translator, node: exp.Expr, name: str) -> Value:
    """date_trunc."""
    unit, moment = _given(node, name, 2, 2)
    found = _UNITS.get(_text(unit, name).lower())
    if found is None:
        raise Unproven(f"DATE_TRUNC to {_text(unit, name)!r}")
    value, local = _clock_time(prover, moment, name), f"date_trunc('{found}', $1)"
    zone, guard = prover.known_zone(name), ""
    duck = f"CAST({local} AS TIMESTAMPTZ)"
    if zone not in UTC:
        duck, guard = _from_local(zone, f"CAST({local} AS TIMESTAMP)"), _NEAR_SHIFTS
    return prover.applied(proof(name, "timestamp_ntz", "timestamp", duck, guard=guard), [value])


def _from_local(zone: str, local: str) -> str:
    """DuckDB's text for the moment that a zone's clock shows a local time at."""
    utc = f"timezone('UTC', {local})"
    before, after = (_OFFSET.format(zone=zone, utc=utc, sign=sign) for sign in "-+")
    return _FROM_LOCAL.format(local=local, utc=utc, before=before, after=after)


def formatted(prover: Translator, node: exp.Expr, name: str) -> Value:
    """date_format."""
    moment, pattern = _given(node, name, 2, 2)
    duck = _FORMATTED.format(_strftime(_text(pattern, name)))
    row = proof(name, "timestamp_ntz", "string", duck, guard=_FOUR_DIGITS)
    return prover.applied(row, [_clock_time(prover, moment, name)])


def _strftime(pattern: str) -> str:
    """Java's letters for the parts of a time, as DuckDB's."""
    whole = []
    for part in re.findall(r"([A-Za-z])(\1*)|'([A-Za-z ]+)'|([-/ :.,_]+)|(.)", pattern, re.DOTALL):
        letter, more, quoted, plain, other = part
        if other or (letter and letter + more not in _LETTERS):
            raise Unproven(f"DATE_FORMAT with {pattern!r}")
        whole.append(_LETTERS[letter + more] if letter else quoted or plain)
    if not whole:
        raise Unproven("DATE_FORMAT with nothing")
    return "".join(whole)


def today(prover: Translator, node: exp.Expr, name: str) -> Value:
    """current_date."""
    _given(node, name, 0, 0)
    moment = prover.applied(proof("now", "", "timestamp", "now()"), [])
    clock = prover.local_time(moment, name)
    return prover.applied(proof(name, "timestamp_ntz", "date", "CAST($1 AS DATE)"), [clock])


def now(prover: Translator, node: exp.Expr, name: str) -> Value:
    """now and current_timestamp: one moment for a whole query, so unproven without guards."""
    _given(node, name, 0, 0)
    if not prover.guards:
        raise Unproven(name.upper())
    return prover.applied(proof(name, "", "timestamp", "now()"), [])


def rounded(prover: Translator, node: exp.Expr, name: str) -> Value:
    """round: half up, as Spark rounds a number's decimal text."""
    number, *more = _given(node, name, 1, 2)
    places, value = _place(more[0], name) if more else 0, prover.visit(number)
    type_ = value.type
    if type_ is None or not type_.is_number or type_.name == "float":
        raise Unproven(f"ROUND of {type_ or 'null'}")
    if type_.is_integer:
        return replace(value, node=exp.Paren(this=value.node), digits=0, literal=None)
    if type_.name == "double":
        row = proof(name, "double", "double", _ROUND_DOUBLE, guard=_FEW_DIGITS)
        return prover.applied(row.with_words({"$places": places, "$unit": f"{10**places}::DOUBLE"}), [value])
    scale = min(type_.scale, places)
    target = DataType("decimal", min(38, type_.digits + 1 + scale), scale)
    row = proof(name, "decimal", "decimal", "CAST($1 AS $T)", may_fail=type_.digits + 1 + scale > 38)
    return built(row, [value], target)


def _searched(prover: Translator, node: exp.Expr, name: str, gives: str, duck: str, *texts: str) -> Value:
    """A function of a text and of string literals."""
    takes = ", ".join("string" for _ in (node, *texts))
    written = [Value(exp.Literal.string(text), STRING, literal=text) for text in texts]
    row = proof(name, takes, gives, _CLEAN.format(duck), guard=_PLAIN_TEXT)
    return prover.applied(row, [_string(prover, node, name), *written])


def _string(prover: Translator, node: exp.Expr, name: str) -> Value:
    value = prover.visit(node)
    if value.type != STRING:
        raise Unproven(f"{name.upper()} of {value.type or 'null'}")
    return value


def matched(prover: Translator, node: exp.Expr, name: str) -> Value:
    """rlike."""
    parts = [node.this, node.args["expression"]] if isinstance(node, exp.RegexpLike) else _given(node, name, 2, 2)
    return _searched(prover, parts[0], name, "boolean", "regexp_matches($1, $2)", _pattern(parts[1], name))


def extracted(prover: Translator, node: exp.Expr, name: str) -> Value:
    """regexp_extract: group 1 of the first match, unless another group is named."""
    text, pattern_node, *more = _given(node, name, 2, 3)
    pattern, group = _pattern(pattern_node, name), _place(more[0], name) if more else 1
    if group > group_count(pattern):
        raise Unproven(f"the group {group} of a regular expression that has fewer")
    return _searched(prover, text, name, "string", f"regexp_extract($1, $2, {group})", pattern)


def replaced(prover: Translator, node: exp.Expr, name: str) -> Value:
    """regexp_replace: all matches."""
    text, pattern_node, new = _given(node, name, 3, 3)
    pattern = _pattern(pattern_node, name)
    if may_match_nothing(pattern):
        raise Unproven("REGEXP_REPLACE with a regular expression that matches nothing, too")
    by = replacement_for_duck(_text(new, name), group_count(pattern))
    return _searched(prover, text, name, "string", "regexp_replace($1, $2, $3, 'g')", pattern, by)


_IN_PATTERNS = re.compile(r"[\\^$.|?*+()\[\]{}]")


def split_part_of(prover: Translator, node: exp.Expr) -> Value:
    """split(text, 'x')[n]."""
    call = node.this
    if not isinstance(call, exp.Anonymous) or str(call.this).lower() != "split" or len(node.expressions) != 1:
        raise Unproven("a part of a nested value")
    text, parting = _given(call, "split", 2, 2)
    between, place = _text(parting, "split"), _place(node.expressions[0], "split")
    if not between or _IN_PATTERNS.search(between):
        raise Unproven("SPLIT with a regular expression")
    fails = only_spark("parts of a text that are not there", STRING)
    duck = _PART.format("string_split($1, $2)", place).replace("$fail", fails)
    written = Value(exp.Literal.string(between), STRING, literal=between)
    row = proof("split", "string, string", "string", duck, may_fail=True)
    return prover.applied(row, [_string(prover, text, "split"), written])


def bytes_of(node: exp.Expr) -> Value:
    """X'AA'."""
    digits = str(node.this)
    if not re.fullmatch(r"(?:[0-9a-fA-F]{2})*", digits):
        raise Unproven("X with an odd number of digits")
    return built(proof("x", "", "binary", f"unhex('{digits}')"), [], DataType("binary"))


SPECIAL: Mapping[str, Callable[[Translator, exp.Expr, str], Value]] = {
    "date_trunc": truncated,
    "date_format": formatted,
    **dict.fromkeys(("current_date", "curdate"), today),
    **dict.fromkeys(("now", "current_timestamp"), now),
    "round": rounded,
    **dict.fromkeys(("rlike", "regexp_like", "regexp"), matched),
    "regexp_extract": extracted,
    "regexp_replace": replaced,
}


_ATOM = (
    r"(?:[A-Za-z0-9 _,:;@#%&=<>!~\"'`/-]|\.|\\[dDwWsSb.\-+*?()\[\]{}|^$/\\]|\[\^?(?:[A-Za-z0-9 _,:;@#%=<>!/.+*?()-]"
    r"|\\[dws.\-\]\[\\^$/])+\])"
)
_TIMES = r"(?:(?:[*+?]|\{\d{1,2}(?:,\d{0,2})?\})\??)?"
_WHOLE = re.compile(rf"(?:\(\?i\))?(?:{_ATOM}{_TIMES}|\((?:\?:)?|\){_TIMES}|[|^$])*")
_REPEATED_GROUP = re.compile(r"(?<!\\)\)[*{+?]")


def refuse_unlike(pattern: str) -> None:
    """Refuse a regular expression that the two engines may read differently."""
    if not _WHOLE.fullmatch(pattern) or (_REPEATED_GROUP.search(pattern) and _has_empty_repeat(pattern)):
        raise Unproven(f"the regular expression {pattern!r}")
    _read(pattern)


def _has_empty_repeat(pattern: str) -> bool:
    """Whether a repeated group may match nothing: the engines end such loops differently."""

    def walk(parts: object) -> bool:
        for op, given in parts:  # type: ignore[attr-defined]
            name = str(op)
            if name in ("MAX_REPEAT", "MIN_REPEAT"):
                inner = given[2]
                if inner.getwidth()[0] == 0 or walk(inner):
                    return True
            elif (name == "SUBPATTERN" and walk(given[3])) or (name == "BRANCH" and any(walk(b) for b in given[1])):
                return True
        return False

    return walk(_read(pattern))


def _read(pattern: str) -> _parser.SubPattern:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return _parser.parse(pattern)
    except (re.error, FutureWarning, DeprecationWarning) as error:
        raise Unproven(f"the regular expression {pattern!r}") from error


def may_match_nothing(pattern: str) -> bool:
    """Whether the pattern may match the empty string."""
    return bool(_read(pattern).getwidth()[0] == 0)


def group_count(pattern: str) -> int:
    """How many groups the pattern has."""
    return int(_read(pattern).state.groups) - 1


def replacement_for_duck(text: str, groups: int) -> str:
    """The replacement text, with groups written as in RE2."""
    if "\\" in text or not re.fullmatch(r"(?:[^$]|\$\d(?!\d))*", text, re.DOTALL):
        raise Unproven(f"the replacement {text!r}")
    if any(int(n) > groups for n in re.findall(r"\$(\d)", text)):
        raise Unproven(f"the replacement {text!r} with a group that is not there")
    return re.sub(r"\$(\d)", r"\\\1", text)
