"""How rows are merged: strictness, and rules as data. A query decides about each row."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Literal, get_args

from anabranch.errors import InvalidRequest
from anabranch.model.ids import ColumnId
from anabranch.model.schema import Schema
from anabranch.model.types import DataType
from anabranch.plan.merge.files import PREFIX, file_rules

Strictness = Literal["cell", "row", "disjoint", "table", "operations"]
STRICTNESSES: tuple[Strictness, ...] = get_args(Strictness)

RuleWord = Literal["conflict", "ours", "theirs", "newest", "min", "max", "sum", "coalesce", "union", "expression"]
RULE_WORDS: tuple[str, ...] = tuple(word for word in get_args(RuleWord) if word != "expression")
EVERYWHERE = "*"
PROPERTY = "merge.rule"
"""The property of a table that holds its rule; a dot and a column's name after it make it that column's."""

_WORD = re.compile(r"^[a-zA-Z_]\w*$")
_EXPRESSIONS_OF_ONE_WORD = ("base", "null", "true", "false")


@dataclass(frozen=True)
class Rule:
    """What to do with a cell that both sides changed."""

    word: RuleWord = "conflict"
    expression: str | None = None
    """SQL over `base`, `ours` and `theirs`, where the word is `expression`."""
    given_as: str = EVERYWHERE
    """Where it was given, for messages."""
    kept: bool = False
    """Whether a table's properties gave it, not the user of the merge."""

    def fits(self, type_: DataType) -> bool:
        """Tell whether the rule can be applied to values of a type; for an expression, the engine decides."""
        if self.word == "sum":
            return type_.is_number
        if self.word in ("min", "max"):
            return type_.is_ordered
        return self.word != "union" or type_.name == "array"


CONFLICT = Rule()


@dataclass(frozen=True)
class RowPolicy:
    """How the rows of one table are merged."""

    strictness: Strictness = "cell"
    base_is_empty: bool = False
    """Whether both sides made the table, so that every row of theirs is an insert."""
    full: bool = False
    """Whether to compare whole states: the key changed, so no one key identifies the changed rows."""
    by_key_of: Literal["ours", "theirs"] = "ours"
    """Whose key identifies rows."""
    by_old_key: tuple[ColumnId, ...] = ()
    """The key that both sides gave up, by which rows are still merged; afterwards they have new hidden ids."""
    theirs_deletes_win: bool = False
    """Whether a delete of theirs wins over an update of ours."""
    only_new_rows: bool = False
    """Whether updates and deletes of theirs count only for rows that theirs inserted since the base."""
    replaces_all: bool = False
    """Whether theirs' rows replace all of ours."""
    rule: Rule = CONFLICT
    """The rule for rows: a delete against an update."""
    rules: Mapping[ColumnId, Rule] = field(default_factory=dict)
    """The rules for cells, by the column's id in the merged schema; a column without one conflicts."""

    @property
    def judges_rows(self) -> bool:
        """Whether two different edits of one row conflict, whichever of its cells they changed."""
        return self.strictness in ("row", "disjoint", "operations")

    @property
    def goes_by_time(self) -> bool:
        """Whether some rule depends on which side is newer."""
        return any(rule.word == "newest" for rule in (self.rule, *self.rules.values()))


@dataclass(frozen=True)
class Rules:
    """Rules as they were given; the nearest one that fits a column's type wins."""

    everywhere: Rule | None = None
    tables: Mapping[str, Rule] = field(default_factory=dict)
    columns: Mapping[tuple[str, str], Rule] = field(default_factory=dict)
    """By the table's full name and the column's name in lower case."""

    def of_table(self, paths: Collection[str], properties: Mapping[str, str]) -> Rule:
        """The rule for whole rows of a table with these names."""
        return next(self._for_table(paths, properties), CONFLICT)

    def of_column(
        self, paths: Collection[str], names: Collection[str], type_: DataType, properties: Mapping[str, str]
    ) -> Rule:
        """The rule for cells of a column with these names, in a table with these paths."""
        lower = {name.lower() for name in names}
        near = [self.columns[p, n] for p in paths for n in lower if (p, n) in self.columns]
        near += [self.tables[p] for p in paths if p in self.tables]
        near += [_property(k, v) for k, v in properties.items() if _column_of(k) in lower]
        near += self._for_table((), properties)
        return next((rule for rule in near if rule.fits(type_)), CONFLICT)

    def _for_table(self, paths: Collection[str], properties: Mapping[str, str]) -> Iterator[Rule]:
        yield from (self.tables[p] for p in paths if p in self.tables)
        if PROPERTY in properties:
            yield _property(PROPERTY, properties[PROPERTY])
        if self.everywhere:
            yield self.everywhere


def check_strictness(text: str) -> Strictness:
    """Return a valid strictness, or refuse it."""
    for known in STRICTNESSES:
        if text == known:
            return known
    raise InvalidRequest(f"{text!r} is not a strictness", hint=_hint(text, STRICTNESSES, "choose one of"))


def read_rules(given: Mapping[str, str], sides: Sequence[Mapping[str, Schema]], *, partly: bool = False) -> Rules:
    """Parse rules, each for a table or column that some side has; refuse anything else.

    `sides` are the tables of each side by full name; schemas are looked up only for tables with rules.
    With `partly`, these are only some of the tables, and rules for others, checked before, are left out.
    """
    everywhere, tables, columns = None, {}, {}
    for name, text in given.items():
        rule = read_rule(text, name)
        if name.startswith(PREFIX):
            continue
        if name == EVERYWHERE:
            everywhere = rule
            continue
        table, column = _split(name, sides)
        if table is None and partly:
            continue
        if table is None:
            raise _no_table(name, sides)
        if column is None:
            tables[table] = rule
        else:
            _check_column(rule, table, column, [s[table] for s in sides if table in s])
            columns[table, column.lower()] = rule
    return Rules(everywhere, tables, columns)


def read_rule(text: str, given_as: str) -> Rule:
    """Parse one rule: a known word, or an SQL expression."""
    if not isinstance(text, str) or not text.strip():
        hint = f"give one of {', '.join(RULE_WORDS)}, or SQL over base, ours, theirs"
        raise InvalidRequest(f"the rule for {given_as!r} is {text!r}, text was expected", hint=hint)
    if given_as.startswith(PREFIX):
        file_rules({given_as: text})
        return CONFLICT
    word = text.strip().lower()
    for known in get_args(RuleWord):
        if word == known and word != "expression":
            return Rule(known, None, given_as)
    if _WORD.match(word) and word not in _EXPRESSIONS_OF_ONE_WORD:
        hint = _hint(word, RULE_WORDS, "or give SQL over base, ours, theirs; there is")
        raise InvalidRequest(f"the rule for {given_as!r} is {text!r}, which is no rule", hint=hint)
    return Rule("expression", text.strip(), given_as)


def check_properties_of(table: str, properties: Mapping[str, str], schemas: Sequence[Schema]) -> None:
    """Refuse rules in a table's properties that can't be applied; skip those of missing columns."""
    for name, text in properties.items():
        column = _column_of(name)
        if name == PROPERTY:
            read_rule(text, f"{table}: {PROPERTY}")
        elif column is not None and any(s.find(column) for s in schemas):
            _check_column(_property(name, text, table), table, name[len(PROPERTY) + 1 :], schemas)


def with_rules_moved(properties: Mapping[str, str], old: str, new: str | None) -> dict[str, str]:
    """A table's properties after a column was renamed or dropped, with its rule."""
    moved = [text for name, text in properties.items() if _column_of(name) == old.lower()]
    kept = {name: text for name, text in properties.items() if _column_of(name) != old.lower()}
    return kept if new is None else kept | {f"{PROPERTY}.{new}": text for text in moved[:1]}


def _split(name: str, sides: Sequence[Mapping[str, Schema]]) -> tuple[str | None, str | None]:
    """Split a name into table and column: the longest name of an existing table comes first."""
    if any(name in tables for tables in sides):
        return name, None
    table, _, column = name.rpartition(".")
    return (table, column) if any(table in tables for tables in sides) else (None, None)


def _no_table(name: str, sides: Sequence[Mapping[str, Schema]]) -> InvalidRequest:
    there = sorted({table for tables in sides for table in tables})
    near = get_close_matches(name, there, n=1) or get_close_matches(name.rpartition(".")[0], there, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"tables: {', '.join(there[:10]) or 'none'}"
    return InvalidRequest(f"the rule for {name!r} speaks of no table or column on either side", hint=hint, rule=name)


def _check_column(rule: Rule, table: str, column: str, schemas: Sequence[Schema]) -> None:
    found = [c for c in (s.find(column) for s in schemas) if c is not None]
    if not found:
        names = list(dict.fromkeys(name for s in schemas for name in s.names))
        hint = _hint(column, names, "columns:")
        raise InvalidRequest(f"the rule {rule.given_as!r}: {table!r} has no column {column!r}", hint=hint)
    for one in found:
        if not rule.fits(one.type):
            wanted = {"sum": "a number", "union": "an array"}.get(rule.word, "a type that has an order")
            message = f"the rule {rule.given_as!r} is {rule.word!r}, which needs {wanted}; {column!r} is {one.type}"
            raise InvalidRequest(message, hint="choose another rule for it", rule=rule.given_as)


def _property(name: str, text: str, table: str = "") -> Rule:
    return replace(read_rule(text, f"{table}: {name}" if table else name), kept=True)


def _column_of(name: str) -> str | None:
    """The column that a property's rule is for, in lower case."""
    return name[len(PROPERTY) + 1 :].lower() if name.startswith(f"{PROPERTY}.") else None


def _hint(text: str, known: Sequence[str], lead: str) -> str:
    near = get_close_matches(text, known, n=1)
    return f"did you mean {near[0]!r}?" if near else f"{lead} {', '.join(known[:20])}"
