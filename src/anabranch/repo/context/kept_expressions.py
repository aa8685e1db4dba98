"""Expressions that a store keeps (defaults, checks, merge rules), checked against a list when stored and when read.

What users pass to a call is their own and runs as it is; what a catalogue contains may be a stranger's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from anabranch.errors import Corrupt, InvalidRequest
from anabranch.model.texts import shortened
from anabranch.plan.merge.rules import PROPERTY, read_rule
from anabranch.proven.expression import Expression
from anabranch.proven.spark_functions import KEPT
from anabranch.sql.kept import problem_in

_HINT = "a store keeps only Spark's own functions that compute a value: no queries, comments, functions of yours"


def to_keep(text: str, what: str) -> Expression:
    """Parse an expression for the store to keep; refused if it would not run when read back."""
    found = Expression.of(text, None, what)
    problem = problem_in(text, KEPT)
    if problem is not None:
        raise InvalidRequest(f"{what} {shortened(text)!r} has {problem}", hint=_HINT)
    return found


def kept(text: str, what: str) -> Expression:
    """Parse an expression from the catalogue; Corrupt if it could never have been stored here."""
    with _read_back():
        return to_keep(text, what)


@contextmanager
def _read_back() -> Iterator[None]:
    """Report as damage what would be refused if it were given now: we never stored it."""
    try:
        yield
    except InvalidRequest as error:
        hint = "drop it, if you know this store; else trust nothing in it"
        raise Corrupt(f"the catalogue is not as it was written: {error.message}", hint=hint) from error


def check_kept_rules(properties: dict[str, str]) -> dict[str, str]:
    """Refuse merge rules among a table's properties that cannot be kept."""
    check_rules({n: text for n, text in properties.items() if n == PROPERTY or n.startswith(f"{PROPERTY}.")})
    return properties


def check_rules(rules: Mapping[str, str]) -> None:
    """Refuse merge rules whose SQL cannot be kept."""
    for name, text in rules.items():
        expression = read_rule(text, name).expression
        if expression is not None:
            to_keep(expression, f"the rule {name!r}")


def kept_rules(rules: Mapping[str, str]) -> Mapping[str, str]:
    """Check the merge rules from the catalogue."""
    with _read_back():
        check_rules(rules)
    return rules
