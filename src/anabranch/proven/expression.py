"""Users' expressions: Spark gets their text as it is; DuckDB only what is proven equal."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from functools import lru_cache
from itertools import pairwise
from typing import Any, TypeVar

from sqlglot import exp
from sqlglot.dialects import Spark
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from anabranch.errors import InvalidRequest
from anabranch.model.layers import Bounds
from anabranch.model.names import is_unicode, named_args
from anabranch.model.schema import Column, Schema
from anabranch.model.texts import refuse_depth, refuse_long_number, shortened
from anabranch.model.types import DataType
from anabranch.proven.key_bounds import constant, key_bounds
from anabranch.proven.nested import prove_whole
from anabranch.proven.parser import TAKE_UNITS, WORDS, has_escapes, parse
from anabranch.proven.prover import Prover, Unproven
from anabranch.proven.rewrites import refuse_regrouped
from anabranch.proven.scope import unknown_column
from anabranch.proven.spark_functions import refuse_unknown_functions
from anabranch.proven.table.row import TOO_DEEP, ParameterValue, may_be_day
from anabranch.queries.query import cast_to
from anabranch.sql.grammar.syntax import check_syntax, is_syntax
from anabranch.sql.grammar.tokens import tokenize

_SPARK = Spark()
_SHORT = 200
_Answer = TypeVar("_Answer")


def _remembered(function: Callable[..., _Answer]) -> Callable[..., _Answer]:
    """Cache by text: many short ones, as statements over wide tables have many; few long ones."""
    short, long = lru_cache(4096)(function), lru_cache(256)(function)
    return lambda text, *more: (short if len(text) <= _SHORT else long)(text, *more)


__all__ = ["Expression", "Unproven", "type_of_value"]


@dataclass(frozen=True)
class Expression:
    """A user's expression with its arguments, checked to be one expression."""

    text: str
    args: Mapping[str, Any]

    @classmethod
    def of(cls, text: str, args: Mapping[str, Any] | None, what: str) -> Expression:
        """Check that the text is one expression and that all its arguments are given."""
        if not isinstance(text, str):
            hint = "write it as text, such as 'id IN (1, 2)', or with a marker, 'id = :id', and args={'id': 1}"
            raise InvalidRequest(f"{what} a {type(text).__name__} is no expression of SQL", hint=hint)
        given = named_args(args)
        short = _shortened_list(text)[0]
        wanted = _markers(short, what)
        _check_syntax(short, what)
        missing = sorted(wanted - set(given))
        if missing:
            message = f"{what} {shortened(text)!r} has no value for :{missing[0]}"
            raise InvalidRequest(message, hint="give it in args=")
        for name, value in given.items():
            type_of_value(value, f"args[{name!r}]")
        return cls(text, {k: v for k, v in given.items() if k in wanted})

    def columns(self, schema: Schema) -> tuple[Column, ...]:
        """The columns that the text may refer to: all whose names occur in it."""
        return schema.named(_words(self._short))

    @property
    def _short(self) -> str:
        """The text with a long list of numbers cut to one: its names and types are the same."""
        return _shortened_list(self.text)[0]

    def refuse_unknown_names(self, schema: Schema, table: str | None = None) -> None:
        """Refuse a name that is no column, without an engine; text that only Spark can parse is let through.

        A dotted name is a column's after its table, or reaches into a value; without a `table` it is let through, and
        if that is empty, no table's name may come before a column's.
        """
        parsed = _readable(self._short)
        if parsed is None or parsed.find(exp.Query, exp.Lambda):
            return
        for node in parsed.find_all(exp.Column):
            # A few functions are called without brackets.
            if _is_unit(node) or not isinstance(node.this, exp.Identifier):
                continue
            if node.args.get("table") is not None:
                if table is not None:
                    _refuse_unknown_table(node, schema, table)
            elif node.name.lower() not in WORDS and schema.find(node.name) is None:
                raise unknown_column(node, node.name, schema.names)

    def for_spark(self) -> exp.Expr:
        """The text, for Spark to parse."""
        return exp.Paren(this=exp.Var(this=f"{self.text}\n"))

    def tree(self, what: str) -> exp.Expr:
        """The parsed expression, for substituting names; functions keep Spark's names."""
        parsed = _readable(self.text)
        if parsed is None:
            message = f"{what} {shortened(self.text)!r} can't be read"
            raise InvalidRequest(message, hint="write it with plain SQL operators, and not too many inside each other")
        return parsed.copy()

    def for_duck(
        self, schema: Schema, guards: bool = False, zone: str | None = None
    ) -> tuple[exp.Expr, DataType | None]:
        """The expression for DuckDB, and its type; raise Unproven if any part is not proven equal.

        With `guards` it may fail on values that Spark can compute; the caller must then ask Spark. Local times are
        those of `zone`.
        """
        proven, type_ = _proven(self.text, self._arguments(), self.columns(schema), guards, zone)
        return proven.copy(), type_

    def refuse_unproven(self, schema: Schema) -> None:
        """Raise Unproven if DuckDB may not run the expression."""
        _proven(self._short, self._arguments(), self.columns(schema), False, None)

    def _arguments(self) -> tuple[tuple[str, ParameterValue], ...]:
        return tuple((k, argument_of(v, k)) for k, v in sorted(self.args.items()))

    def key_values(self, schema: Schema) -> tuple[list[int | str], bool] | None:
        """The only keys that the condition can hold for, if it plainly says so: `id = 7`, `id IN (1, 2) AND …`.

        Also returns whether the condition says nothing else.
        """
        key = schema.key_columns
        if len(key) != 1 or not (key[0].type.is_integer or key[0].type.name == "string"):
            return None
        short, numbers = _shortened_list(self.text)
        parsed = _readable(short)
        if parsed is None:
            return None
        if numbers and key[0].type.is_integer and self._listed_keys(parsed, schema):
            return list(numbers), True
        parsed = _readable(self.text)
        assert parsed is not None
        for part in parsed.flatten() if isinstance(parsed, exp.And) else [parsed]:
            found = self._listed_keys(part, schema)
            if found is not None:
                return found, part is parsed
        return None

    def key_bounds(self, schema: Schema) -> Bounds | None:
        """Bounds on the first key column that the condition plainly implies."""
        parsed = _readable(self.text)
        if parsed is None:
            return None
        return key_bounds(parsed.flatten() if isinstance(parsed, exp.And) else [parsed], self.args, schema)

    def _listed_keys(self, part: exp.Expr, schema: Schema) -> list[int | str] | None:
        """The key values that a comparison lists."""
        (key,) = schema.key_columns
        if isinstance(part, exp.EQ):
            listed = [part.args["expression"]]
        elif isinstance(part, exp.In) and not part.args.get("query"):
            listed = part.args.get("expressions") or []
        else:
            return None
        if not isinstance(part.this, exp.Column) or part.this.name.lower() != key.name.lower() or not listed:
            return None
        if part.this.args.get("db") or schema.find(str(part.this.table)) is not None:
            return None  # a part of a value that is called as the key is
        values = [constant(x, self.args) for x in listed]
        kind = int if key.type.is_integer else str
        return list(dict.fromkeys(values)) if all(type(v) is kind for v in values) else None


def _refuse_unknown_table(node: exp.Expr, schema: Schema, table: str) -> None:
    """Refuse a dotted name that begins neither with a column nor with its table, by the last part of its name."""
    parts = [str(node.args[part].name) for part in ("catalog", "db", "table") if node.args.get(part) is not None]
    own = table.rpartition(".")[2]
    if schema.find(parts[0]) is None and parts[0].lower() != own.lower():
        names = [f"{own}.{name}" for name in schema.names] if own else list(schema.names)
        raise unknown_column(node, ".".join((*parts, node.name)), names)


def _is_unit(node: exp.Expr) -> bool:
    """Tell whether a name is the unit in `timestampadd(MONTH, …)` and the like."""
    call = node.parent
    if not isinstance(call, exp.Anonymous) or call.name.lower() not in TAKE_UNITS:
        return False
    return len(call.expressions) == 3 and call.expressions[0] is node


_LIST = re.compile(
    r"(?P<before>\s*(?:[a-z_]\w*|`[a-z_]\w*`)\s+IN\s*\(\s*)(?P<numbers>\d{1,9}(?:\s*,\s*\d{1,9})+)(?P<after>\s*\)\s*)",
    re.IGNORECASE | re.ASCII,
)


@_remembered
def _shortened_list(text: str) -> tuple[str, tuple[int | str, ...]]:
    """Cut `name IN (1, 2, …)` to its first number; returns the short text and all the numbers, without repeats.

    The numbers are all of one type, so the short text tells what the long one means.
    """
    found = _LIST.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        return text, ()
    numbers = [int(number) for number in found["numbers"].split(",")]
    return f"{found['before']}{numbers[0]}{found['after']}", tuple(dict.fromkeys(numbers))


@_remembered
def _parsed(text: str) -> exp.Expr | None:
    """Parse a text once, for the choice of an engine, the checks and the plan. None if only Spark can parse it."""
    try:
        parsed = parse(text)
    except SqlglotError:
        return None
    except RecursionError:
        raise Unproven(TOO_DEEP) from None
    return parsed[0] if parsed else None


def _readable(text: str) -> exp.Expr | None:
    """A parsed text; None if only Spark can parse it, or it is nested too deep."""
    try:
        return _parsed(text)
    except Unproven:
        return None


@_remembered
def _proven(
    text: str, args: tuple[tuple[str, ParameterValue], ...], named: tuple[Column, ...], guards: bool, zone: str | None
) -> tuple[exp.Expr, DataType | None]:
    """Prove a text once."""
    parsed = _parsed(text)
    if parsed is None:
        raise Unproven(f"syntax that only Spark reads ({shortened(text)!r})")
    spoken = {node.name.lower() for node in parsed.find_all(exp.Column)}
    for column in named:
        if column.name.lower() in spoken and (column.type.is_nested or column.type.only_spark):
            raise Unproven(f"an expression over column {column.name!r} of type {column.type}")
    if has_escapes(text):
        raise Unproven("a backslash")
    refuse_unknown_functions(parsed)
    columns = {c.name.lower(): (c.name, c.type) for c in named}
    try:
        prover = Prover(columns, dict(args), guards=guards, zone=zone if guards else None)
        proven, type_ = prove_whole(prover, parsed)
        refuse_regrouped(proven)
        if guards and type_ is not None and type_.name == "decimal":
            proven = cast_to(proven, type_)  # DuckDB may have computed it in a narrower type
    except RecursionError:
        raise Unproven(TOO_DEEP) from None
    return proven, type_


def argument_of(value: Any, what: str) -> ParameterValue:
    """What provers need to know of an argument."""
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    type_ = type_of_value(value, what)
    digits = len(str(abs(value))) if is_whole else 0
    return ParameterValue(type_, digits, isinstance(value, str) and may_be_day(value))


def type_of_value(value: Any, what: str) -> DataType | None:
    """The type that Spark gives a Python value; None for null."""
    if value is None:
        return None
    if isinstance(value, bool):
        return DataType("boolean")
    if isinstance(value, int):
        return _integer(value, what)
    if isinstance(value, Decimal):
        return _decimal(value, what)
    if isinstance(value, datetime):
        return DataType("timestamp" if value.tzinfo else "timestamp_ntz")
    if isinstance(value, str) and not is_unicode(value):
        raise InvalidRequest(f"{what} is {value[:60]!r}, which is not valid Unicode", hint="leave lone surrogates out")
    simple = {float: "double", str: "string", date: "date", bytes: "binary"}
    for kind, name in simple.items():
        if isinstance(value, kind):
            return DataType(name)
    hint = "give a number, text, boolean, date, datetime, bytes or None; write others in SQL, such as array(1, 2)"
    raise InvalidRequest(f"{what} is a {type(value).__name__}, which is not an SQL value", hint=hint)


def _integer(value: int, what: str) -> DataType:
    for name, bits in (("int", 31), ("bigint", 63)):
        if -(1 << bits) <= value < (1 << bits):
            return DataType(name)
    if abs(value) < 10**38:
        return DataType("decimal", 38, 0)
    raise InvalidRequest(f"{what} is a number that no type can hold", hint="38 digits is the most")


def _decimal(value: Decimal, what: str) -> DataType:
    _, digits, exponent = value.as_tuple()
    if isinstance(exponent, int):
        scale = max(0, -exponent)
        precision = max(len(digits) + max(0, exponent), scale, 1)
        if precision <= 38:
            return DataType("decimal", precision, scale)
    raise InvalidRequest(f"{what} is {shortened(str(value))}, which no decimal can hold", hint="38 digits is the most")


def _markers(text: str, what: str) -> frozenset[str]:
    """The names of the parameters in a text."""
    tokens = _tokens(text, what)
    return frozenset(after.text for colon, after in pairwise(tokens) if colon.token_type == TokenType.COLON)


def _check_syntax(text: str, what: str) -> None:
    """Refuse a text that Spark's grammar doesn't accept."""
    if not _is_read(text):
        check_syntax(text, tokenize(text), "expression", what)


@_remembered
def _is_read(text: str) -> bool:
    """Tell whether Spark's grammar accepts a text; cached."""
    return is_syntax(tokenize(text), "expression")


@_remembered
def _words(text: str) -> frozenset[str]:
    """The words of a text, in lower case."""
    return frozenset(token.text.lower() for token in _tokens(text, "expression"))


@_remembered
def _tokenized(text: str) -> tuple[Token, ...]:
    """The tokens of a text; cached, since a list of keys is long and several steps need them."""
    return tuple(_SPARK.tokenize(text))


def _tokens(text: str, what: str) -> tuple[Token, ...]:
    """Tokenize the text, and check that it can't close the brackets it is put in."""
    if not isinstance(text, str) or not text.strip():
        raise InvalidRequest(f"{what} is {text!r}, an SQL expression was expected", hint="such as \"status = 'new'\"")
    if not is_unicode(text):
        raise InvalidRequest(f"{what} {text[:60]!r} is not valid Unicode", hint="leave lone surrogates out")
    try:
        tokens: tuple[Token, ...] = _tokenized(text)
    except SqlglotError as error:
        tokenize(text, what)  # raises a better error if something is left open
        message = f"{what} {shortened(text)!r} is not SQL: {shortened(str(error))}"
        raise InvalidRequest(message, hint="check quotes and brackets") from error
    if not _is_single(tokens, what):
        message = f"{what} {shortened(text)!r} is not one expression"
        raise InvalidRequest(message, hint="check brackets, and leave out semicolons")
    return tokens


def _is_single(tokens: Iterable[Token], what: str) -> bool:
    depth = nested = 0
    for token in tokens:
        depth += {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1}.get(token.token_type, 0)
        nested = max(0, nested + _DEEPER.get(token.token_type, 0))
        refuse_depth(nested, what)
        if token.token_type == TokenType.NUMBER:
            refuse_long_number(len(token.text), what)
        if depth < 0 or token.token_type == TokenType.SEMICOLON:
            return False
    return depth == 0


_OPENING = (TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE, TokenType.CASE)
_CLOSING = (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE, TokenType.END)
_DEEPER = dict.fromkeys(_OPENING, 1) | dict.fromkeys(_CLOSING, -1)
