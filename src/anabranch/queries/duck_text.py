"""Text for DuckDB alone inside an expression, with holes for its arguments."""

from __future__ import annotations

import re
from collections.abc import Callable

from sqlglot import exp


class DuckText(exp.Expression, exp.Condition):
    """DuckDB's text of a proven function or operator; `$1` stands for its first argument."""

    arg_types = {"this": True, "expressions": False}  # noqa: RUF012


def bracketed(node: exp.Expr) -> exp.Expr:
    """Bracket a node so that it can stand next to any operator."""
    plain = (exp.Column, exp.Literal, exp.Cast, exp.Placeholder, exp.Paren, exp.Case, exp.Null, exp.Boolean, DuckText)
    return node if isinstance(node, plain) else exp.Paren(this=node)


def with_arguments(node: DuckText, sql: Callable[[exp.Expr], str]) -> str:
    """Write the text with its arguments in place."""
    parts = [sql(bracketed(p)) for p in node.expressions]
    whole = {"$*": ", ".join(parts), "$+": ", ".join(parts[1:]), "$|": " || ".join(parts)}
    text = _HOLE.sub(lambda hole: whole.get(hole[0]) or parts[int(hole[0][1:]) - 1], str(node.this))
    return text.removeprefix(BARE) if text.startswith(BARE) else f"({text})"


BARE = "\0"
"""Marks the text of a node that needs no brackets around it."""


_HOLE = re.compile(r"\$(?:\d|\*|\+|\|)")
