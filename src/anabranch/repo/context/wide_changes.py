"""Changes of very many columns, laid over rows before a query: engines take longer to plan a join with them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from anabranch.arrow.types import arrow_fields
from anabranch.engines.choice import Engines
from anabranch.model.objects import Layer, size_of
from anabranch.queries.overlay_rows import Laying
from anabranch.queries.query import Rows, Source
from anabranch.queries.scan import Scan

if TYPE_CHECKING:
    import pyarrow as pa

_WIDE = 32
_MANY_CELLS = 64
_APART_BYTES = 64 * 1024 * 1024

Remember = Callable[[Callable[[], "pa.Table"], Hashable], "pa.Table"]
"""Gives what was made before under the same name, else makes it."""


@dataclass(frozen=True)
class ReadBefore:
    """Lays them over rows where there are many, and memory has room for the rows."""

    engines: Engines
    remember: Remember

    def __call__(self, plan: Scan, merged: Sequence[Layer], deltas: Sequence[Layer]) -> Source | None:
        if len(plan.touched_by(deltas)) < _MANY_CELLS or not _fits(plan, merged, deltas):
            return None
        rows = laying(self.engines, self.remember, plan).looked_up(merged, deltas)
        return None if rows is None else Rows(rows)


def _fits(plan: Scan, merged: Sequence[Layer], deltas: Sequence[Layer]) -> bool:
    if any(c.type.only_spark for c in (*plan.key, *plan.columns)):
        return False
    if isinstance(plan.wanted, Rows):
        return bool(plan.wanted.table.num_rows * len(plan.columns) * _WIDE <= _APART_BYTES)
    return plan.wanted is None and size_of([*merged, *deltas]) <= _APART_BYTES


def laying(engines: Engines, remember: Remember, plan: Scan) -> Laying:
    """A read of a table's columns as changes leave them, in the process."""
    return Laying(plan, engines.duck().fetch, remember, arrow_fields)
