"""The rows that differ between two states of a table, found from the changes between them or by comparing in full."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from anabranch.engines.engine import Engine
from anabranch.errors import InvalidRequest
from anabranch.frames.output import to_dicts
from anabranch.model.equality import are_equal
from anabranch.model.layers import chained, with_exceptions
from anabranch.model.objects import Layer
from anabranch.model.schema import ROW_ID, Column, Schema
from anabranch.model.tables import TableState
from anabranch.model.types import DataType
from anabranch.plan.engine import Work
from anabranch.proven.expression import Expression
from anabranch.queries import difference
from anabranch.queries import query as q
from anabranch.queries import writes as changes
from anabranch.queries.path_fold import Path, folded_path, touched_keys
from anabranch.queries.scan import Keys
from anabranch.repo.compare.row_diff_output import counted_rows, renamed_beside, row_diff_columns, wide_table
from anabranch.repo.compare.table_past import refuse_taken_names
from anabranch.repo.compare.two_states import Ends
from anabranch.repo.context.context import Context
from anabranch.repo.read.conditions import keys_in, not_in_duck, reading, rendered_test, unproven, where_of
from anabranch.repo.read.look_up import key_row
from anabranch.repo.read.scan import ReadAs, scan, scan_as

if TYPE_CHECKING:
    from anabranch.engines.spark import DataFrame


@dataclass(frozen=True)
class Compared:
    """Rows that differ, with their cells before and after, and whether they are identified by a key or by value."""

    query: q.Query
    cells: tuple[Column, ...]
    """The columns that may differ: those besides the key, if there is one."""
    keyed: bool = True
    rows: pa.Table | None = None
    """The rows, if in memory, each with the number of its cells that changed."""


@dataclass(frozen=True)
class RowChanges:
    """Finds which rows differ between two states, and how."""

    ctx: Context
    ends: Ends
    change: str = "changed"

    @cached_property
    def schema(self) -> Schema:
        """The schema after. Where a diff goes back over a merge, objects may use column ids that the merge united."""
        return self._after.schema.knowing(self.ends.before.schema)

    @cached_property
    def _after(self) -> TableState:
        """The table after, with types wide enough for the values before."""
        return replace(self.ends.after, schema=self.ends.after.schema.holding(self.ends.before.schema))

    @property
    def long_columns(self) -> tuple[tuple[str, DataType], ...]:
        """The names and types of the columns of the long form: the key, the others, then the kind of change."""
        key = self.schema.key_columns if self.schema.has_key else ()
        shown = dict.fromkeys((*key, *self.schema, *self._lost_in_long))
        _refuse_taken(shown, difference.CHANGE_TYPE)
        return (*((c.name, c.type) for c in shown), (difference.CHANGE_TYPE, DataType("string")))

    @property
    def lost(self) -> tuple[Column, ...]:
        """The columns that only the state before has; one whose name is in use again gets a suffix."""
        gone = [
            c for c in self.ends.before.schema if self.schema.written_as(c) is None and c.id not in self.schema.key_ids
        ]
        return renamed_beside(gone, [c for c in self.schema if self._was_shown(c)])

    @property
    def _lost_in_long(self) -> tuple[Column, ...]:
        """The lost columns shown in the long form: only where one table's rows went and another's came."""
        return renamed_beside(self.lost, self.schema) if self.took_its_place else ()

    @property
    def took_its_place(self) -> bool:
        """Whether another table replaced the one before, and no key relates their rows."""
        return self.ends.kin == "replaced" and not self._has_same_key

    @property
    def plain(self) -> tuple[Column, ...]:
        """The columns that are compared: those after, besides the key."""
        return self.schema.plain_columns

    @property
    def _cells(self) -> tuple[Column, ...]:
        """The columns besides the key that can differ, judging by the objects' touched columns."""
        if self.ends.may_bring_one_key or self.ends.may_be_unknown:
            return self.plain  # Whole rows are compared.
        touched = {c for x in self.ends.layers if x.object.kind in ("update", "exceptions") for c in x.object.touched}
        return tuple(c for c in self.plain if touched & c.ids)

    def _pick(self, what: str, where: Expression | None = None) -> Engine:
        spark_reason = unproven([where] if where else [], self.schema, "")
        spark_only = not_in_duck(self.schema, self.ends.after.name)
        return self.ctx.engines.pick(Work(self.ends.size_bytes, unproven=spark_reason, not_in_duck=spark_only), what)

    @property
    def sure(self) -> bool:
        """Whether something surely differs, known without reading: a single step always changes something."""
        path = self.ends.to_after or ()
        shown = {i for c in self.schema for i in c.ids}
        # Unless the step wrote only cells of a column that was dropped after it.
        is_seen = any(x.object.kind != "update" or shown & set(x.object.touched) for x in path)
        return self.ends.to_before == () and self.ends.by_changes and len({x.turn for x in path}) == 1 and is_seen

    @property
    def _nothing(self) -> bool:
        """Whether surely nothing differs, known without reading."""
        return self.ends.by_changes and not self.ends.layers

    def is_empty(self) -> bool:
        """Tell whether nothing differs."""
        return self._nothing or not (self.sure or any(self.counts().values()))

    def counts(self) -> dict[str, int]:
        """Count the rows inserted, updated and deleted, and the cells changed."""
        none = {"inserted": 0, "updated": 0, "deleted": 0, "cells": 0}
        if self._nothing:
            return none
        if self.change != "changed":
            came = self.change == "added"
            total = (self.ends.after if came else self.ends.before).row_count
            return {**none, "inserted" if came else "deleted": total}
        engine = self._pick(f"counting the changes of {self.ends.after.name!r}")
        with reading(self.ctx, self.ends.everything):
            compared = self.compared(engine)
            rows, cells = compared.rows, compared.cells
            found = engine.fetch(difference.counted(compared.query, cells)) if rows is None else counted_rows(rows)
        by_kind = {row[q.OP]: row for row in found.to_pylist()}
        words = {q.INSERT: "inserted", q.UPDATE: "updated", q.DELETE: "deleted"}
        counts = {word: int(by_kind[op][difference.COUNT]) if op in by_kind else 0 for op, word in words.items()}
        return {**counts, "cells": int(by_kind[q.UPDATE][difference.CELLS] or 0) if q.UPDATE in by_kind else 0}

    def compared(self, engine: Engine) -> Compared:
        """The difference, one row per key; computed once if the engine runs in this process."""
        if not self.ends.by_changes:
            return self.compared_in_full(engine)
        if not engine.in_process or self.ends.size_bytes > self.ctx.settings.memory.cache_limit_bytes:
            return self._compared_by_changes(engine)
        if not self._made:
            made = self._compared_by_changes(engine)
            rows = engine.fetch(difference.with_cell_counts(made.query, made.cells))
            self._made.append(replace(made, query=q.reading_of(q.Rows(rows), rows.column_names), rows=rows))
        return self._made[0]

    @cached_property
    def _made(self) -> list[Compared]:
        """The difference in a list, once computed."""
        return []

    def _compared_by_changes(self, engine: Engine) -> Compared:
        cells, sources = self._cells, q.Sources()
        query = self._from_changes(cells, sources)
        if not self.ends.may_be_unknown:
            return Compared(query, cells)
        lost = engine.fetch(difference.keys_of(query, self.schema, difference.UNKNOWN))
        known = difference.known_only(query)
        if not lost.num_rows:
            return Compared(known, cells)
        looked_up = changes.changed_only(self._at_keys(Keys(q.Rows(lost), None), cells, sources))
        both = q.union_all([difference.in_order_of(one, self.schema, cells) for one in (known, looked_up)])
        return Compared(q.Query(both, sources.named), cells)

    def rows(
        self, key: Any, where: str | None, args: Mapping[str, Any] | None, limit: int | None
    ) -> list[dict[str, Any]]:
        """List the changes with whole rows."""
        found, columns, keyed = self._whole(key, where, args, limit)
        ids = [c for c in self.schema.key_columns if keyed and self.schema.has_key]
        had = self._had(found, columns)
        return row_diff_columns(found, ids, columns, had, self.schema.key_ids).rows(found)

    def _had(self, found: pa.Table, columns: Sequence[Column]) -> list[Column]:
        """The columns that the state before has."""
        lost = [c for c in self.lost if c.before in found.column_names]
        return [c for c in columns if self._was_shown(c)] + lost

    def cells(self, limit: int | None) -> list[dict[str, Any]]:
        """List the cells that differ in rows that both states have."""
        if self._nothing:
            return []
        engine = self._pick(f"the changed cells of {self.ends.after.name!r}")
        with reading(self.ctx, self.ends.everything):
            compared = self.compared(engine)
            updates = difference.of_kind(compared.query, q.UPDATE)
            found = to_dicts(engine.fetch(self._ordered(updates, compared.keyed)))
        keys = [c for c in self.schema.key_columns if self.schema.has_key]
        described = (
            {"key": {k.name: row[k.id] for k in keys}, "column": c.name, "before": row[c.before], "after": row[c.id]}
            for row in found
            for c in compared.cells
            if not are_equal(row[c.before], row[c.id])
        )
        return list(islice(described, limit))

    def repeated(self) -> list[tuple[dict[str, Any], int]]:
        """The rows that occur more than once in the state before, as the later schema shows them, with their counts."""
        engine = self._pick(f"the equal rows of {self.ends.after.name!r}")
        with reading(self.ctx, self.ends.everything):
            query = self._before(self.schema.columns, q.Sources())
            found = to_dicts(engine.fetch(changes.repeated_rows(query, self.schema.columns, difference.COUNT)))
        return [({c.name: row[c.id] for c in self.schema}, int(row[difference.COUNT])) for row in found]

    def arrow(self, *, key: Any = None, where: str | None = None, args: Mapping[str, Any] | None = None) -> pa.Table:
        """The changed rows in Spark's form, in memory."""
        condition = where_of(where, args)
        engine = self._pick(f"the changed rows of {self.ends.after.name!r}", condition)
        with reading(self.ctx, self.ends.everything):
            return engine.fetch(self._long(engine, key, condition))

    def spark(self, *, key: Any = None, where: str | None = None, args: Mapping[str, Any] | None = None) -> DataFrame:
        """The changed rows in Spark's form, as a DataFrame."""
        engine, condition = self.ctx.engines.spark(), where_of(where, args)
        unproven([condition] if condition else [], self.schema, "")  # Refuses unknown names.
        return engine.frame(self._long(engine, key, condition))

    def wide(self, *, key: Any = None, where: str | None = None, args: Mapping[str, Any] | None = None) -> pa.Table:
        """One row per change, with both sides as structs."""
        found, columns, keyed = self._whole(key, where, args, None)
        _refuse_taken(self.schema.key_columns if keyed else (), difference.CHANGE_TYPE, "before", "after")
        return wide_table(found, self.schema if keyed else None, columns, self._had(found, columns))

    def _long(self, engine: Engine, key: Any, where: Expression | None) -> q.Query:
        query, columns, keyed = self._chosen(engine, key, where)
        shown, lost = [c for c in columns if c in self.schema.columns], self._lost_in_long
        _refuse_taken((*shown, *lost), difference.CHANGE_TYPE)
        return difference.long_form(query, self.schema.key_ids if keyed else (), shown, lost)

    def _whole(
        self, key: Any, where: str | None, args: Mapping[str, Any] | None, limit: int | None
    ) -> tuple[pa.Table, list[Column], bool]:
        """Whole rows before and after, their columns, and whether a key relates them."""
        condition = where_of(where, args)
        engine = self._pick(f"the changed rows of {self.ends.after.name!r}", condition)
        with reading(self.ctx, self.ends.everything):
            if limit is not None and self.ends.by_changes and self.ends.layers and key is None and condition is None:
                return self._first_rows(engine, limit), [*self.schema.key_columns, *self.plain], True
            query, columns, keyed = self._chosen(engine, key, condition)
            wanted = self._ordered(query, keyed)
            found = engine.fetch(q.limited(wanted, limit) if limit is not None else wanted)
        return found, columns, keyed

    def _first_rows(self, engine: Engine, limit: int) -> pa.Table:
        """The first rows that differ. Looks up only the first touched keys, then more if some changes were undone."""
        count = max(limit, 1)
        while True:
            keys = self._first_keys(engine, count)
            rows = changes.changed_only(self._at_keys(keys, self.plain, q.Sources(), whole=True))
            found = engine.fetch(q.limited(self._ordered(rows, keyed=True), limit))
            if found.num_rows >= limit or (keys.row_count or 0) < count:
                return found
            count *= 8

    @property
    def _ways(self) -> Sequence[tuple[tuple[Layer, ...] | None, TableState]]:
        """The changes that lead to each end, and the table there."""
        before = replace(self.ends.before, schema=self.schema)
        return ((self.ends.to_before, before), (self.ends.to_after, self._after))

    def _first_keys(self, engine: Engine, count: int) -> Keys:
        """The first of the touched keys, in key order."""
        sources = q.Sources()
        ways = (Path(layers, None, state) for layers, state in self._ways if layers)
        sides = [touched_keys(path, self._access(), sources) for path in ways]
        found = engine.fetch(difference.first_keys(sides, self.schema, count))
        return keys_in(found, self.schema.key_columns)

    def _ordered(self, query: q.Query, keyed: bool) -> q.Query:
        return changes.ordered(query, [str(k) for k in self.schema.key_ids]) if keyed else query

    def _chosen(self, engine: Engine, key: Any, where: Expression | None) -> tuple[q.Query, list[Column], bool]:
        """Both states where they differ: at one key, where a condition holds before or after, or everywhere."""
        if not self.ends.by_changes and (key is not None or where is not None) and not self._key_fits(engine):
            what = "key=" if key is not None else "where="
            raise InvalidRequest(f"{what} needs a key that both states have", hint="read all changes, then filter")
        if key is not None:
            keys = keys_in(key_row(self._after, key), self.schema.key_columns)
        elif self.ends.by_changes:
            keys = self._changed_keys(engine)
        else:
            found = self.compared_in_full(engine, whole=True)
            columns = [*self.schema.key_columns, *found.cells] if found.keyed else list(found.cells)
            if where is None:
                return found.query, columns, found.keyed
            keys = Keys(q.Rows(engine.fetch(difference.keys_of(found.query, self.schema))), None)
        if where is not None:
            keys = self._matching(engine, keys, where)
        compared = changes.changed_only(self._at_keys(keys, self.plain, q.Sources(), whole=True))
        return compared, [*self.schema.key_columns, *self.plain], True

    def _changed_keys(self, engine: Engine) -> Keys:
        """The keys of the rows that differ."""
        compared = self.compared(engine)
        if compared.rows is not None:
            found = compared.rows.select([str(k) for k in self.schema.key_ids])
        else:
            found = engine.fetch(difference.keys_of(compared.query, self.schema))
        return keys_in(found, self.schema.key_columns)

    def _matching(self, engine: Engine, keys: Keys, where: Expression) -> Keys:
        """The keys whose row before or after meets a condition."""
        found = []
        for state in (self.ends.before, self._after):
            read = tuple(dict.fromkeys((*self.schema.key_columns, *where.columns(self.schema))))
            test = rendered_test(where, engine, self.schema)
            query = scan_as(self.ctx, ReadAs(state, self.schema, read), self._access(), q.Sources(), keys)
            alias = state.name.rsplit(".", 1)[-1]
            chosen = changes.selected_keys(query, read, self.schema, alias, test)
            found.append(engine.fetch(replace(chosen, args=dict(where.args))))
        both = pa.concat_tables(found).group_by([str(k) for k in self.schema.key_ids]).aggregate([])
        return keys_in(both, self.schema.key_columns)

    def _was_shown(self, column: Column) -> bool:
        return column in ROW_ID or self.ends.before.schema.written_as(column) is not None

    def _from_changes(self, cells: Sequence[Column], sources: q.Sources) -> q.Query:
        ways = (Path(layers or (), self.ends.base, state) for layers, state in self._ways)
        sides = [folded_path(path, cells, self._access(), sources) for path in ways]
        if not self.ends.to_before:
            return difference.of_one_side(sides[1], self.schema, cells)
        return difference.of_two_sides(sides[0], sides[1], self.schema, cells, sources)

    def _at_keys(self, keys: Keys, cells: Sequence[Column], sources: q.Sources, *, whole: bool = False) -> q.Query:
        columns = (*self.schema.key_columns, *cells)
        lost = self.lost if whole else ()
        old = self._before((*columns, *lost), sources, keys)
        new = scan(self.ctx, self._after, columns, self._access(), keys=keys, sources=sources)
        return changes.compared(old, new, self.schema, columns, sources, lost)

    def _before(self, columns: Sequence[Column], sources: q.Sources, keys: Keys | None = None) -> q.Query:
        """The rows before, under the later schema plus any given columns that it lacks."""
        known = {c.id for c in self.schema.stored}
        more = [c for c in columns if c.id not in known]
        schema = replace(self.schema, columns=(*self.schema.columns, *more)) if more else self.schema
        schema = schema.older_as(self.ends.under) if self.ends.under else schema
        return scan_as(self.ctx, ReadAs(self.ends.before, schema, columns), self._access(), sources, keys)

    def compared_in_full(self, engine: Engine, sources: q.Sources | None = None, *, whole: bool = False) -> Compared:
        """Compare all rows: by the later key if it fits the earlier rows, otherwise as whole rows."""
        sources, schema = sources or q.Sources(), self.schema
        keyed = self._key_fits(engine)
        columns = (*schema.key_columns, *self.plain) if keyed else schema.columns
        lost = self.lost if whole else ()
        old = self._before((*columns, *lost), sources)
        new = scan(self.ctx, self._after, columns, self._access(), sources=sources)
        if keyed:
            compared = changes.compared(old, new, schema, columns, sources, lost)
            return Compared(changes.changed_only(compared), self.plain)
        if not any(self._was_shown(c) for c in schema):
            return Compared(changes.came_and_went(old, new, columns, sources, lost), columns, keyed=False)
        compared = changes.compared_values(old, new, columns, sources, lost)
        return Compared(changes.changed_only(compared), columns, keyed=False)

    @property
    def _has_same_key(self) -> bool:
        """Whether both states have the same key, which then relates their rows."""
        had = self.ends.before.schema
        was = [had.written_as(c) for c in self.schema.key_columns]
        is_one = self.ends.kin == "same" or self.schema.has_key
        return is_one and [c.id if c else None for c in was] == list(had.key_ids)

    def _key_fits(self, engine: Engine) -> bool:
        schema, had = self.schema, self.ends.before.schema
        if self.ends.before.row_ids != self.ends.after.row_ids:
            return False
        if self._has_same_key or self.ends.kin == "replaced":
            return self._has_same_key
        if not schema.has_key or any(had.written_as(c) is None for c in schema.key_columns):
            return False
        keys = scan_as(self.ctx, ReadAs(self.ends.before, schema, schema.key_columns), self._access(), q.Sources())
        nulls = changes.missing_values(keys, schema.key_columns, (), 1)
        return not any(engine.fetch(one).num_rows for one in (nulls, changes.repeated_keys(keys, schema, 1)))

    def _access(self) -> Any:
        layers = chained(self.ends.before.layers, self.ends.after.layers, with_exceptions(self.ends.layers))
        return self.ctx.access(layers, self.ends.pending)


def _refuse_taken(shown: Iterable[Column], *added: str) -> None:
    refuse_taken_names(shown, added, "this form of a diff", "rename it, or read the changes with .rows()")
