"""Guards against optimisers: sums that Spark regroups, values that DuckDB would skip computing."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from anabranch.proven.table.row import Unproven, Value
from anabranch.queries.duck_text import DuckText

NULL_TESTS = frozenset(("isnull", "is_null", "isnotnull", "is_not_null"))
_OF_INTEGERS = "(integer, integer)"
_REGROUPED = (
    (f"try_add{_OF_INTEGERS}", f"+{_OF_INTEGERS}"),
    (f"try_multiply{_OF_INTEGERS}", f"*{_OF_INTEGERS}"),
)


def refuse_regrouped(whole: exp.Expr) -> None:
    """Refuse try_add or try_multiply beside other sums or products: Spark regroups them and forgets which may fail.

    Other SELECTs of the query count, too: Spark merges them first.
    """
    found = [str(node.meta.get("proof")) for node in whole.find_all(DuckText)]
    for tried, plain in _REGROUPED:
        if tried in found and found.count(tried) + found.count(plain) > 1:
            raise Unproven(f"{tried.partition('(')[0].upper()} beside other operations of its kind")


def computed(value: Value) -> Value:
    """A value that DuckDB computes even where it already knows that it isn't null."""
    return replace(value, node=DuckText(this="[$1][1]", expressions=[value.node])) if value.may_fail else value
