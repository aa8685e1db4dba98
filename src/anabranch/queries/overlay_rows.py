"""Changes laid over rows in memory: what a read in the process does in place of a join.

Rows stand one after another, object by object; a changed row is known by its place among them. Finding the places
takes the keys, once for a state; after that, a read takes what a plain one takes, and the few cells that changed.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import pyarrow as pa

from anabranch.model.objects import Layer
from anabranch.model.schema import Column
from anabranch.queries.overlay_places import PLACE, acting_on, lay, turns_by_place
from anabranch.queries.query import TURN, Query
from anabranch.queries.scan import Scan

_T = TypeVar("_T")


@dataclass(frozen=True)
class Laying:
    """A read of a table's columns, under their ids, as the changes leave them."""

    plan: Scan
    fetch: Callable[[Query], pa.Table]
    remember: Callable[[Callable[[], pa.Table], Hashable], pa.Table]
    """Gives what was made before under the same name, else makes it."""
    types: Callable[[Sequence[Column]], pa.Schema]

    def rows(self, layers: Sequence[Layer]) -> pa.Table:
        """Read the rows of these layers."""
        plain, merged, deltas = self.plan.sorted_out(layers)
        parts = [self._read(self.plan.alike(plain), self.plan.columns)] if plain else []
        parts += [self.changed(merged, deltas)] if merged else []
        return pa.concat_tables(parts)

    def changed(self, merged: Sequence[Layer], deltas: Sequence[Layer]) -> pa.Table:
        """The rows of objects that changes act on."""
        plan, read = self.plan, []
        groups, cells = plan.alike(merged), plan.touched_by(deltas)
        below = [x for members in groups for x in members]

        def fold() -> pa.Table | None:
            return self._folded(deltas, cells)

        def find() -> pa.Table:
            is_free = sum(x.object.row_count for x in below) <= _ROWS_OF_ONE_CORE
            folding = _started(fold) if is_free else fold
            read.append(self._read(groups, tuple(dict.fromkeys((*plan.columns, *plan.key)))))
            folded = folding()
            folded = plan.folded(deltas, cells) if folded is None else folded
            return acting_on(read[0].select(plan.key_ids), turns_by_place(below), folded, cells)

        shape = tuple((str(c.id), str(c.type)) for c in cells)
        acting = self.remember(find, (PLACE, _told(below), _told(deltas), shape))
        rows = read[0] if read else self._read(groups, plan.columns)
        return lay(rows.select([str(c.id) for c in plan.columns]), acting, cells)

    def looked_up(self, merged: Sequence[Layer], deltas: Sequence[Layer]) -> pa.Table | None:
        """The same for a plan that may be for some keys only; None where it takes an engine to fold the changes."""
        plan, cells = self.plan, self.plan.touched_by(deltas)
        folded = self._folded(deltas, cells)
        if folded is None:
            return None
        columns = tuple(dict.fromkeys((*plan.columns, *plan.key)))
        rows = pa.concat_tables([self._turned(members, columns) for members in plan.alike(merged)])
        turns = rows.column(TURN).to_numpy()
        acting = acting_on(rows.select(plan.key_ids), lambda places: turns[places], folded, cells)
        return lay(rows.select([str(c.id) for c in plan.columns]), acting, cells)

    def _folded(self, deltas: Sequence[Layer], cells: Sequence[Column]) -> pa.Table | None:
        """The changes folded in memory, if that can be."""
        return self.plan.folded_in_memory(deltas, cells, lambda delta: self._said(delta, cells))

    def _said(self, delta: Layer, cells: Sequence[Column]) -> pa.Table:
        """What a change says of these columns."""
        held = self.plan.access.tables.get(delta.object.id)
        return self.fetch(self.plan.said(delta, cells)) if held is None else held

    def _turned(self, members: list[Layer], columns: Sequence[Column]) -> pa.Table:
        """The rows of objects of one schema with their turns."""
        apart = self.plan.apart()
        rows = self.fetch(Query(apart.leaf(apart.group(members), columns, TURN), apart.sources.named))
        return rows.cast(self.types(columns).append(pa.field(TURN, pa.int32())))

    def _read(self, groups: Sequence[list[Layer]], columns: Sequence[Column]) -> pa.Table:
        """The rows of groups of objects, one after another."""
        types = self.types(columns)
        return pa.concat_tables([self._group(members, columns).cast(types) for members in groups])

    def _group(self, members: list[Layer], columns: Sequence[Column]) -> pa.Table:
        """The rows of objects of one schema in their order; what is in memory as it should be needs no engine."""
        held = [self.plan.access.tables.get(x.object.id) for x in members]
        if held[0] is not None and self.plan.written_alike(members[0].object, columns):
            return pa.concat_tables([rows.select([str(c.id) for c in columns]) for rows in held if rows is not None])
        apart = self.plan.apart()
        return self.fetch(Query(apart.leaf(apart.group(members, turned=False), columns, None), apart.sources.named))


_ROWS_OF_ONE_CORE = 122_880
"""So many rows DuckDB reads with one thread, so that another core is free."""


def _started(work: Callable[[], _T]) -> Callable[[], _T]:
    """Begin work beside what follows; what is given back waits for it."""
    pool = ThreadPoolExecutor(1)
    begun = pool.submit(work)
    pool.shutdown(wait=False)
    return begun.result


def _told(layers: Sequence[Layer]) -> tuple[tuple[int, str], ...]:
    return tuple((x.turn, x.object.id) for x in layers)
