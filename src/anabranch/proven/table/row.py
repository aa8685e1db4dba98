"""Rows of the table of what is proven: a name, the arguments' kinds, the result's type, and DuckDB's text."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from anabranch.model.ddl import parse_type
from anabranch.model.types import INTEGERS, DataType
from anabranch.queries.duck_text import DuckText
from anabranch.queries.query import cast_to, sql_type


class Unproven(Exception):
    """Part of an expression is not in the table; the message names it."""


TOO_DEEP = "an expression of so many parts inside each other"
"""Nested too deep for Python's stack, though maybe not for Spark's."""


@dataclass(frozen=True)
class Value:
    """A translated expression: its type (None for a bare null), whether it may fail, and the literal that it is, if
    any."""

    node: exp.Expr
    type: DataType | None
    may_fail: bool = False
    literal: str | None = None
    size: int = 1
    """How large its text is; a translation may repeat an argument."""
    digits: int = 0
    """Digits of an integer literal or argument: Spark takes it for a decimal of that size."""
    width: int = 0
    """Digits of the type that DuckDB computes a decimal in, if narrower than Spark's."""


@dataclass(frozen=True)
class ParameterValue:
    """What is known of an argument; its type is None for null."""

    type: DataType | None
    digits: int = 0
    """Digits of a whole number: beside a decimal, Spark takes it for a decimal of that size."""
    may_be_day: bool = False
    """Whether Spark may read a text as a word for a day, such as `today`."""


_WORD = re.compile(r"[^\W\d]{3}")


def may_be_day(text: str) -> bool:
    """Tell whether Spark may read a literal or argument as a word for a day."""
    return _WORD.search(text) is not None


Rule = Callable[[Sequence[DataType]], DataType]


@dataclass(frozen=True)
class Proof:
    """One proven function, operator or cast; aliases share it."""

    names: tuple[str, ...]
    takes: tuple[str, ...]
    """Kinds of arguments: see `matches`. A last kind that ends in `*` may repeat any number of times."""
    gives: str | Rule
    """A type, `same` for the first argument's, or a rule."""
    duck: str
    may_fail: bool = False
    alike: bool = False
    """Whether Spark casts all arguments to one type first."""
    guard: str = ""
    """The values that only Spark computes: `$only_spark` in the text fails on them, and Spark is then asked."""

    @property
    def key(self) -> str:
        """The row's name in tests and documents."""
        return f"{self.names[0]}({', '.join(self.takes)})"

    def result(self, types: Sequence[DataType]) -> DataType:
        """The type of the result."""
        if callable(self.gives):
            return self.gives(types)
        return types[0] if self.gives == "same" else parse_type(self.gives)

    def tried(self) -> Proof:
        """The row of the TRY_CAST that returns null where this cast fails."""
        if "make_date" in self.duck:
            raise Unproven("TRY_CAST to date")
        return replace(self, duck=self.duck.replace("CAST(", "TRY_CAST("))

    def with_words(self, words: Mapping[str, object]) -> Proof:
        """The same row with words of its text replaced."""
        duck = self.duck
        for word, value in words.items():
            duck = duck.replace(word, str(value))
        return replace(self, duck=duck)

    def kinds(self, count: int) -> tuple[str, ...] | None:
        """The kinds of this many arguments; None if it doesn't take so many."""
        if self.takes and self.takes[-1].endswith("*"):
            fixed = self.takes[:-1]
            return (*fixed, *[self.takes[-1][:-1]] * (count - len(fixed))) if count >= len(fixed) else None
        return self.takes if len(self.takes) == count else None


def proof(
    names: str,
    takes: str,
    gives: str | Rule,
    duck: str,
    *,
    may_fail: bool = False,
    alike: bool = False,
    guard: str = "",
) -> Proof:
    """Make a row; names and kinds are given as words."""
    kinds = tuple(k.strip() for k in takes.split(",")) if takes else ()
    return Proof(tuple(names.split()), kinds, gives, duck, may_fail, alike, guard)


def matches(kind: str, value: Value) -> bool:
    """Tell whether a value is of a kind.

    `int` and `bigint` also take narrower integers and `double` any number; these are cast.
    `count` is a literal number from 1 to 9999 and `character` a literal of one letter;
    `ascii` is a literal of ASCII without backslashes;
    text in quotes is that very literal, or one of several separated by `|`.
    """
    if kind.startswith("'"):
        return value.literal is not None and value.literal.lower() in kind.replace("'", "").split("|")
    if kind == "count":
        return value.digits in (1, 2, 3, 4) and value.literal is not None and int(value.literal) > 0
    if kind == "character":
        return value.literal is not None and value.type == DataType("string") and len(value.literal) == 1
    if kind == "ascii":
        return value.literal is not None and value.type == DataType("string") and is_plain_pattern(value.literal)
    if value.type is None:
        return False
    name = value.type.name
    if kind == "double":
        return value.type.is_number
    if kind in ("int", "bigint"):
        return name in INTEGERS[: INTEGERS.index(kind) + 1]
    return name == kind or (kind in _GROUPS and name in _GROUPS[kind])


def is_plain_pattern(text: str) -> bool:
    """Tell whether a LIKE pattern has no escapes, and no letters whose case is beyond ASCII."""
    return text.isascii() and "\\" not in text


_EXACT = ("boolean", *INTEGERS, "decimal", "string", "binary", "date", "timestamp", "timestamp_ntz")
_GROUPS = {
    "integer": INTEGERS,
    "fraction": ("float", "double"),
    "exact": _EXACT,
    "scalar": (*_EXACT, "float", "double"),
}

FAIL_ZERO = "CAST('division by zero' AS $T)"
"""DuckDB fails when it evaluates this, and only then; its own `error` would block optimisation."""

ONLY_SPARK = "only Spark computes "
"""Begins the message of a failure that says nothing of the value, only that the proof doesn't cover it."""


GUARD = "guard"
"""Key in a node's meta: which values the translation leaves to Spark."""


def guards_of(whole: exp.Expr) -> list[str]:
    """What a translation proves for some values only: it fails on the others, and Spark is then asked."""
    return list(dict.fromkeys(str(node.meta[GUARD]) for node in whole.walk() if GUARD in node.meta))


def guarded(node: exp.Expr, why: str) -> exp.Expr:
    """Note on a translation that it fails on some values that Spark can compute."""
    node.meta[GUARD] = why
    return node


def only_spark(why: str, type_: DataType) -> str:
    """DuckDB text that fails when evaluated, for values that only Spark computes."""
    failing = f"CAST('{ONLY_SPARK}{why}' AS INTEGER)"
    return f"CAST({failing} AS VARCHAR)::{sql_type(type_).sql('duckdb')}"


_MOST = 1_000
"""A limit: deeply nested translations that repeat their arguments would grow exponentially."""


def built(row: Proof, values: Sequence[Value], type_: DataType) -> Value:
    """Apply a row's text to translated arguments."""
    text = row.duck.replace("$only_spark", only_spark(row.guard, type_)).replace("$T", sql_type(type_).sql("duckdb"))
    node: exp.Expr = DuckText(this=text, expressions=[v.node for v in values])
    size = 1 + sum(v.size * max(1, row.duck.count(f"${n}")) for n, v in enumerate(values, 1))
    may_fail = row.may_fail or any(v.may_fail for v in values)
    if row.guard:
        node.meta[GUARD] = row.guard
    value = marked(Value(node, type_, may_fail, size=size), row.key)
    exact = type_.name != "decimal" or "CAST($1 AS $T)" in row.duck
    return value if exact else replace(value, node=cast_to(node, type_))


def marked(value: Value, key: str) -> Value:
    """Note on a value which row of the table translated it."""
    if value.size > _MOST:
        raise Unproven("an expression as deeply nested as this")
    value.node.meta["proof"] = key
    return value
