"""Translates what DuckDB computes exactly as Spark does: all that is in the table. Anything else is unproven."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from anabranch.model.types import DataType
from anabranch.proven.by_literal import SPECIAL, bytes_of, matched, now, split_part_of, today
from anabranch.proven.calls import Translator
from anabranch.proven.literals import is_plain_time, literal_value, typed_literals
from anabranch.proven.table.row import TOO_DEEP, Unproven, Value, built, marked, may_be_day
from anabranch.proven.table.syntax import COMPARISONS, FIELDS, SYMBOLS, UNDERSTOOD, UNITS, operands
from anabranch.proven.table.types import BOOLEAN, KNOWN, STRING, written_type
from anabranch.proven.table.whole import FUNCTIONS
from anabranch.queries.duck_text import DuckText, bracketed
from anabranch.queries.query import cast_to, choose, col

__all__ = ["Prover", "Unproven"]


@dataclass(frozen=True)
class Prover(Translator):
    """Translates expressions over one set of columns."""

    def visit(self, node: exp.Expr) -> Value:
        unknown = [name for name, value in node.args.items() if value and name not in UNDERSTOOD]
        if unknown:
            raise Unproven(f"{_describe(node)} with {', '.join(unknown)}")
        if type(node) in COMPARISONS:
            return self.comparison(node)
        if type(node) in SYMBOLS:
            return self.call(SYMBOLS[type(node)], [self.visit(p) for p in operands(node)])
        for kinds, method in _METHODS:
            if isinstance(node, kinds):
                return method(self, node)
        raise Unproven(_describe(node))

    def column(self, node: exp.Expr) -> Value:
        found = self.columns.get(node.name.lower())
        if found is None:
            raise Unproven(f"the name {node.name}")
        if found[1].name not in KNOWN:
            raise Unproven(f"the type {found[1]}")
        table = node.args.get("table")
        return Value(col(found[0], table.name if table else None), found[1])

    def placeholder(self, node: exp.Expr) -> Value:
        if node.name not in self.args:
            raise Unproven("a parameter without a name")
        known, value = self.args[node.name], exp.Placeholder(this=node.name)
        return Value(cast_to(value, known.type) if known.type else value, known.type, digits=known.digits)

    def paren(self, node: exp.Expr) -> Value:
        inner = self.visit(node.this)
        return replace(inner, node=exp.Paren(this=inner.node))

    def negation(self, node: exp.Expr) -> Value:
        if isinstance(node.this, exp.Literal) and not node.this.args.get("is_string"):
            return literal_value(node.this, "-")
        if isinstance(node.this, exp.Cast) and isinstance(node.this.this, exp.Literal):
            raise Unproven("- of a literal with a type")
        return self.call("negative", [self.visit(node.this)])

    def negated(self, node: exp.Expr) -> Value:
        value = self.truth(node.this)
        return self.call("not", [replace(value, type=BOOLEAN)])

    def both(self, node: exp.Expr) -> Value:
        """AND and OR; a long chain is translated in a loop, not by recursion."""
        links = [node]
        while isinstance(links[-1].this, type(node)):
            links.append(links[-1].this)
        if len(links) < _MANY:
            return self._both_of(node, settled(self.truth(node.this)))
        value = self.truth(links[-1].this)
        for link in reversed(links):
            value = self._both_of(link, settled(value))
            if value.may_fail:
                raise Unproven(TOO_DEEP)  # each link would contain the previous one twice
        return value

    def _both_of(self, node: exp.Expr, left: Value) -> Value:
        return self._both(type(node), left, settled(self.truth(node.args["expression"])), node.key)

    def _both(self, kind: type[exp.Expr], left: Value, right: Value, name: str) -> Value:
        """Spark doesn't evaluate the right side where the left one decides."""
        decided = exp.false() if kind is exp.And else exp.true()
        whole: exp.Expr = kind(this=left.node, expression=right.node)
        if right.may_fail:
            test = exp.NullSafeEQ(this=exp.Paren(this=left.node.copy()), expression=decided)
            whole = choose((test, decided.copy()), otherwise=exp.Paren(this=whole))
        return marked(Value(whole, BOOLEAN, left.may_fail or right.may_fail), name)

    def comparison(self, node: exp.Expr) -> Value:
        (row,) = FUNCTIONS[COMPARISONS[type(node)]]
        return built(row, self._compared(operands(node)), BOOLEAN)

    def is_(self, node: exp.Expr) -> Value:
        kind = node.args["expression"]
        value = self.visit(operands(node)[0])
        name = "isnull" if isinstance(kind, exp.Null) else "is_true" if kind.this else "is_false"
        if not isinstance(kind, (exp.Null, exp.Boolean)):
            raise Unproven(f"IS {kind.sql('spark')}")
        if value.type is None and name == "isnull":
            return marked(Value(exp.true(), BOOLEAN), name)
        found = self.call(name, [value])
        return self.call("not", [found]) if node.args.get("negate") else found

    def within(self, node: exp.Expr) -> Value:
        if node.args.get("query") or not node.args.get("expressions"):
            raise Unproven("IN with a subquery")
        values = self._compared([*operands(node), *node.args["expressions"]])
        if any(v.may_fail for v in values[1:]):
            raise Unproven("IN with a value that may fail")
        parts = [v.node for v in values]
        return marked(Value(exp.In(this=bracketed(parts[0]), expressions=parts[1:]), BOOLEAN, values[0].may_fail), "in")

    def between(self, node: exp.Expr) -> Value:
        values = self._compared([*operands(node), node.args["low"], node.args["high"]])
        if any(v.may_fail for v in values[1:]):
            (least,), (most,) = FUNCTIONS[">="], FUNCTIONS["<="]
            left, right = built(least, values[:2], BOOLEAN), built(most, values[::2], BOOLEAN)
            return self._both(exp.And, left, settled(right), "between")
        value, low, high = (bracketed(v.node) for v in values)
        return marked(Value(exp.Between(this=value, low=low, high=high), BOOLEAN, values[0].may_fail), "between")

    def like(self, node: exp.Expr) -> Value:
        value, pattern = self.visit(operands(node)[0]), node.args["expression"]
        if value.type != STRING or not isinstance(pattern, exp.Literal) or "\\" in str(pattern.this):
            raise Unproven("LIKE with anything but a plain pattern")
        built_ = exp.Like(this=bracketed(value.node), expression=pattern.copy())
        whole = exp.Not(this=exp.Paren(this=built_)) if node.args.get("negate") else built_
        return marked(Value(whole, BOOLEAN, value.may_fail), "like")

    def like_any_case(self, node: exp.Expr) -> Value:
        """ILIKE."""
        value, pattern = self.visit(operands(node)[0]), self.visit(node.args["expression"])
        found = self.call("ilike", [value, pattern])
        return self.call("not", [found]) if node.args.get("negate") else found

    def case(self, node: exp.Expr) -> Value:
        branches = [(b.this, b.args["true"]) for b in node.args["ifs"]]
        if node.this is not None:
            subject = self.visit(node.this)
            tests = [self.call("=", [subject, self.visit(value)]) for value, _ in branches]
        else:
            tests = [self._test(test) for test, _ in branches]
        results = [self.visit(result) for _, result in branches]
        default = node.args.get("default")
        return self._choice(tests, results, self.visit(default) if default else Value(exp.Null(), None), "case")

    def if_(self, node: exp.Expr) -> Value:
        otherwise = node.args.get("false")
        default = self.visit(otherwise) if otherwise else Value(exp.Null(), None)
        return self._choice([self._test(node.this)], [self.visit(node.args["true"])], default, "if")

    def _choice(self, tests: Sequence[Value], results: Sequence[Value], default: Value, name: str) -> Value:
        *values, last = self.brought_together([*results, default])
        node = choose(*((settled(t).node, v.node) for t, v in zip(tests, values, strict=True)), otherwise=last.node)
        may_fail = any(v.may_fail for v in (*tests, *values, last))
        return marked(Value(node, last.type, may_fail), name)

    def knows(self, name: str) -> bool:
        """Tell whether a function is in the table."""
        return name in FUNCTIONS or name in _SPECIAL

    def function(self, node: exp.Expr) -> Value:
        name = str(node.this).lower()
        special = _SPECIAL.get(name)
        if special is not None:
            return special(self, node, name)
        return self.call(name, [self.visit(p) for p in node.args.get("expressions") or []])

    def presence(self, node: exp.Expr, _name: str) -> Value:
        """nvl2."""
        if len(node.expressions) != 3:
            raise Unproven("NVL2")
        value, some, none = (self.visit(p) for p in node.expressions)
        return self._choice([self.call("isnotnull", [value])], [some], none, "nvl2")

    def first(self, node: exp.Expr, name: str) -> Value:
        """coalesce and the like: Spark evaluates a value only if all before it are null."""
        if name != "coalesce" and len(node.expressions) != 2:
            raise Unproven(f"{name.upper()} of {len(node.expressions)} values")
        values = self.brought_together([self.visit(p) for p in node.expressions])
        if not values or values[0].type is None:
            raise Unproven("COALESCE of nulls")
        if any(v.may_fail for v in values[1:]):
            tests = [self.call("isnotnull", [v]) for v in values[:-1]]
            return self._choice(tests, values[:-1], values[-1], "coalesce")
        return self.call("coalesce", values)

    def unless_equal(self, node: exp.Expr, _name: str) -> Value:
        """nullif: the type is the first value's, whatever it is compared with."""
        if len(node.expressions) != 2:
            raise Unproven("NULLIF")
        value, other = (self.visit(p) for p in node.expressions)
        return self._choice([self.call("=", [value, other])], [Value(exp.Null(), None)], value, "nullif")

    def part(self, node: exp.Expr) -> Value:
        """EXTRACT."""
        return self._part(str(node.this.name), self.visit(node.args["expression"]))

    def date_part(self, node: exp.Expr, name: str) -> Value:
        if len(node.expressions) != 2 or not node.expressions[0].is_string:
            raise Unproven(name.upper())
        return self._part(node.expressions[0].name, self.visit(node.expressions[1]))

    def _part(self, field: str, value: Value) -> Value:
        if field.lower() not in FIELDS:
            raise Unproven(f"EXTRACT of {field.upper()}")
        return self.call(FIELDS[field.lower()], [value])

    def trim(self, node: exp.Expr) -> Value:
        side, chars = node.args.get("position"), node.args.get("expression")
        if chars is not None and not side:
            raise Unproven("TRIM of characters without BOTH, LEADING or TRAILING")
        name = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(str(side).upper(), "trim")
        value = self.visit(node.this)
        return self.call(f"{name}_of", [value, self.visit(chars)]) if chars is not None else self.call(name, [value])

    def written(self, node: exp.Expr) -> Value:
        """Functions that may be called with keywords between their arguments."""
        name, parts = _WRITTEN[type(node)]
        given = [node.args[p] for p in parts if node.args.get(p) is not None]
        return self.call(name, [self.visit(p) for p in given])

    def sum_(self, node: exp.Expr) -> Value:
        """+ and -: of numbers, or of a date and days or an interval."""
        minus = isinstance(node, exp.Sub)
        other = node.args["expression"]
        if isinstance(other, exp.Interval):
            return self._moved(self.visit(node.this), other, minus)
        values = [self.visit(node.this), self.visit(other)]
        if values[0].type is not None and values[0].type.name == "date":
            return self.call("date_sub" if minus else "date_add", values)
        return self.call("-" if minus else "+", values)

    def _moved(self, value: Value, interval: exp.Expr, back: bool) -> Value:
        unit, count = interval.args.get("unit"), interval.this
        name = UNITS.get(unit.name.lower()) if isinstance(unit, exp.Var) else None
        if name is None or not isinstance(count, exp.Literal) or not re.fullmatch(r"\d{1,5}", str(count.this)):
            raise Unproven("an interval that is not a plain number of one unit")
        found = self.call(name, [value, literal_value(exp.Literal.number(count.this), "-" if back else "")])
        # Four-digit years and a five-digit interval: no engine's calendar ends that soon.
        return replace(found, may_fail=False) if _is_literal_time(value) else found

    def cast(self, node: exp.Expr) -> Value:
        target = written_type(node.args["to"])
        safe = bool(node.args.get("safe"))
        if is_plain_time(node.this, target):
            made = cast_to(node.this.copy(), target)
            return Value(exp.TryCast(**made.args) if safe else made, target)
        return self._cast(self.visit(node.this), target, safe)

    def cast_call(self, node: exp.Expr, name: str) -> Value:
        """A type name called as a function."""
        if len(node.expressions) != 1:
            raise Unproven(name.upper())
        target = DataType("decimal", 10, 0) if name == "decimal" else DataType("date" if name == "to_date" else name)
        return self._cast(self.visit(node.expressions[0]), target, False)

    def _cast(self, value: Value, target: DataType, safe: bool) -> Value:
        if target.name == "date" and value.type == STRING:
            self._refuse_words_for_days(value)
        plain = replace(value, digits=0, literal=None)
        found = self.convert(plain, target, safe)
        return replace(found, digits=-1 if value.digits else 0, literal=None)

    def _refuse_words_for_days(self, value: Value) -> None:
        """Refuse constant text that Spark may read as a word for a day, such as `today`."""
        node = value.node.unnest()
        if value.literal is not None:
            if may_be_day(value.literal):
                raise Unproven(f"the date {value.literal!r}")
        elif isinstance(node, exp.Cast) and isinstance(node.this, exp.Placeholder):
            if self.args[node.this.name].may_be_day:
                raise Unproven(f"the text of :{node.this.name} as a date")
        elif node.find(exp.Column) is None:
            raise Unproven("a date of text that is computed without columns")

    def truth(self, node: exp.Expr) -> Value:
        """Translate a condition: true, false or null."""
        value = self.visit(node)
        if value.type not in (BOOLEAN, None):
            raise Unproven(f"a condition of type {value.type}")
        return value

    def _test(self, node: exp.Expr) -> Value:
        """The condition of a CASE or IF, where Spark, unlike elsewhere, doesn't accept a bare null."""
        value = self.truth(node)
        if value.type is None:
            raise Unproven("a bare NULL as the condition of a choice")
        return value

    def _compared(self, nodes: Sequence[exp.Expr]) -> list[Value]:
        """Translate values that are only compared: integers need no cast, since they compare exactly whatever their
        width."""
        values = typed_literals([self.visit(n) for n in nodes], self.zone)
        if all(v.type is None or v.type.is_integer for v in values):
            return [
                replace(v, node=v.node.this) if v.digits > 0 and isinstance(v.node, exp.Cast) else v for v in values
            ]
        return self.brought_together(values)


_METHODS: tuple[tuple[type | tuple[type, ...], Callable[[Prover, exp.Expr], Value]], ...] = (
    (exp.Literal, lambda _prover, node: literal_value(node)),
    (exp.Column, Prover.column),
    (exp.Placeholder, Prover.placeholder),
    (exp.Boolean, lambda _prover, node: Value(node.copy(), BOOLEAN)),
    (exp.Null, lambda *_: Value(exp.Null(), None)),
    (exp.Paren, Prover.paren),
    ((exp.And, exp.Or), Prover.both),
    (exp.Not, Prover.negated),
    (exp.Is, Prover.is_),
    (exp.In, Prover.within),
    (exp.Between, Prover.between),
    (exp.Like, Prover.like),
    (exp.ILike, Prover.like_any_case),
    (exp.RegexpLike, lambda prover, node: matched(prover, node, "rlike")),
    (exp.Bracket, split_part_of),
    (exp.HexString, lambda _prover, node: bytes_of(node)),
    (exp.CurrentDate, lambda prover, node: today(prover, node, "current_date")),
    (exp.CurrentTimestamp, lambda prover, node: now(prover, node, "current_timestamp")),
    (exp.Case, Prover.case),
    (exp.If, Prover.if_),
    (exp.Neg, Prover.negation),
    ((exp.Add, exp.Sub), Prover.sum_),
    (exp.Cast, Prover.cast),
    (exp.Extract, Prover.part),
    (exp.Trim, Prover.trim),
    ((exp.Substring, exp.Overlay, exp.StrPosition), Prover.written),
    (exp.Anonymous, Prover.function),
)
_TYPE_NAMES = "tinyint smallint int bigint float double decimal string boolean date to_date timestamp binary"
_SPECIAL: dict[str, Callable[[Prover, exp.Expr, str], Value]] = {
    "nvl2": Prover.presence,
    "nullif": Prover.unless_equal,
    **dict.fromkeys(("coalesce", "nvl", "ifnull"), Prover.first),
    **dict.fromkeys(("date_part", "datepart"), Prover.date_part),
    **dict.fromkeys(_TYPE_NAMES.split(), Prover.cast_call),
    **SPECIAL,
}
_WRITTEN: dict[type[exp.Expr], tuple[str, tuple[str, ...]]] = {
    exp.Substring: ("substring", ("this", "start", "length")),
    exp.Overlay: ("overlay", ("this", "expression", "from_", "for_")),
    exp.StrPosition: ("position", ("substr", "this", "position")),
}


def _is_literal_time(value: Value) -> bool:
    return not value.may_fail and value.node.find(exp.Column, exp.Placeholder, exp.Subquery, DuckText) is None


_MANY = 32
"""From this length on, a chain of ANDs or ORs is translated in a loop, and its parts are not matched against GROUP
BY."""


def settled(condition: Value) -> Value:
    """Refuse a constant condition that may fail: DuckDB folds constants before any row needs them."""
    if condition.may_fail and condition.node.find(exp.Column) is None:
        raise Unproven("a condition without columns that may fail")
    return condition


def _describe(node: exp.Expr) -> str:
    return node.name.upper() if isinstance(node, exp.Anonymous) else node.key.upper()
