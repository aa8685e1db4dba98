"""Read a table: what users hold after `repo.table(…)` or `tx.table(…)`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, BinaryIO

from anabranch.catalog import history
from anabranch.errors import InvalidRequest
from anabranch.frames.relation import Relation
from anabranch.model.ids import ObjectId
from anabranch.model.names import named_args
from anabranch.model.objects import size_of
from anabranch.model.schema import Column, Schema
from anabranch.model.tables import TableState
from anabranch.plan.engine import Work
from anabranch.repo.branches.refs import resolve
from anabranch.repo.context.arguments import check_limit
from anabranch.repo.context.context import Context
from anabranch.repo.context.table_state import find_table, table_state
from anabranch.repo.read.conditions import condition_for, keys_source, not_in_duck, reading, unproven, where_of

if TYPE_CHECKING:
    import pyarrow as pa

    from anabranch.engines.engine import Engine
    from anabranch.engines.spark import DataFrame, SparkEngine
    from anabranch.proven.expression import Expression
    from anabranch.queries.query import Query
    from anabranch.repo.read.batches import Batches


@dataclass(frozen=True)
class Selection:
    """Which columns and rows to read."""

    columns: tuple[str, ...] | None = None
    where: str | None = None
    args: Mapping[str, Any] = field(default_factory=dict)
    limit: int | None = None
    ordered: bool = False
    """Whether to read the first rows by key, rather than any."""
    hidden: bool = False
    """Whether to include the row id of a table without a key."""

    @property
    def is_whole(self) -> bool:
        """Whether all rows are wanted, in any order."""
        return self.where is None and self.limit is None and not self.ordered

    @property
    def identity(self) -> tuple[object, ...]:
        """A cache key for this selection, in which 1, 1.0 and True are different arguments."""
        args = tuple((name, type(value), value) for name, value in sorted(self.args.items()))
        return (self.columns, self.where, args, self.limit, self.ordered, self.hidden)


EVERYTHING = Selection()


class Table(Relation):
    """A table at a commit: immutable, read as often as you like."""

    def __init__(
        self,
        ctx: Context,
        state: Callable[[], TableState],
        selection: Selection,
        pending: Mapping[ObjectId, bytes] | None = None,
    ) -> None:
        self._ctx, self._state_of, self._selection = ctx, state, selection
        self._pending = {} if pending is None else pending
        """Bytes that the catalogue does not have yet; none at a commit."""

    def __repr__(self) -> str:
        return f"Table({self.name!r}, {len(self.schema)} columns, {self._state.row_count} rows)"

    def _repr_html_(self) -> str:
        from anabranch.frames.notebook import headings, rows_html
        from anabranch.model.html import ROWS, Line

        limit, where = self._selection.limit, self._selection.where
        rows = self.head(ROWS + 1 if limit is None else min(ROWS + 1, limit))
        # With a condition, only reading all rows would tell how many there are.
        total = len(rows) if len(rows) <= ROWS else self.count() if where is None else None
        columns = headings((c.name, c.type) for c in self.schema)
        return rows_html(self.name, columns, [Line(list(row.values())) for row in rows], total)

    @property
    def name(self) -> str:
        return self._state.name

    @property
    def schema(self) -> Schema:
        """The columns read, each with name, type, nullable and default."""
        schema, chosen = self._state.schema, self._shown
        return replace(schema, columns=chosen, key=tuple(k for k in schema.key if k in {c.id for c in chosen}))

    @property
    def key(self) -> tuple[str, ...]:
        """The names of the key's columns; empty if the table has no key."""
        return self._state.schema.key_names

    @property
    def properties(self) -> dict[str, str]:
        return dict(self._state.properties)

    @property
    def checks(self) -> dict[str, str]:
        """The conditions that every row passes, by name."""
        return dict(self._state.attributes.get("checks", {}))

    @property
    def clustering(self) -> tuple[str, ...]:
        """The names of the columns that new rows are ordered by in files; the key's unless others were asked for."""
        names = {str(c.id): c.name for c in self._state.schema}
        chosen = tuple(names[i] for i in self._state.attributes.get("cluster_by", ()) if i in names)
        return chosen or self.key

    @property
    def is_clustered(self) -> bool:
        """Whether an order other than the key's was asked for."""
        return bool(self._state.attributes.get("cluster_by"))

    def spark(self) -> DataFrame:
        """Read as a Spark DataFrame; nothing runs yet."""
        engine, state = self._ctx.engines.spark(), self._state
        near = condition_for(self._where(), state, engine).near(state)
        engine.before_read(list(self._ctx.access(near.layers).uris.values()))  # a DataFrame made earlier rereads them
        key = (state.id, state.name, state.schema, self._selection.identity, state.layers)
        return engine.remembered(key, lambda: self._frame(engine, state))

    def _frame(self, engine: SparkEngine, state: TableState) -> DataFrame:
        from anabranch.queries.scan import plain_files

        if self._selection.where is None and self._selection.limit is None:
            files = plain_files(state, self._shown, self._ctx.access(state.layers, self._pending))
            if files is not None:
                return engine.read(files, [(str(c.id), c.name) for c in self._shown])
        return engine.frame(self._query(engine))

    def arrow(self) -> pa.Table:
        """Read as an Arrow table."""
        rows = self._rows_at_hand()
        if rows is not None:
            return rows.rename_columns([c.name for c in self._shown])
        engine = self._ctx.engines.pick(self._work(), f"reading {self.name}")
        rows = self._applied_rows() if engine.in_process and self._selection.is_whole else None
        if rows is not None:
            return rows.rename_columns([c.name for c in self._shown])
        with reading(self._ctx, self._state):
            return self._ctx.engines.fetch(engine, self._query, f"reading {self.name}")

    def _rows_at_hand(self) -> pa.Table | None:
        """All rows if the catalogue holds them whole, or those at some keys; None if it takes an engine."""
        from anabranch.repo.read.plain_rows import plain_rows

        if self._ctx.engines.setting == "spark":
            return None
        with reading(self._ctx, self._state):
            if not self._selection.is_whole:
                return self._rows_at_keys()
            return plain_rows(self._ctx, self._state, self._shown, self._pending)

    def _rows_at_keys(self) -> pa.Table | None:
        """The rows that a condition selects, if it only names keys."""
        from anabranch.repo.read.looked_up import rows_at

        state, where, chosen = self._state, self._where(), self._selection
        if where is None or unproven([where], state.schema, state.name):
            return None
        named = where.key_values(state.schema)
        keys = keys_source(state, named[0]) if named and named[1] else None
        if keys is None:
            return None
        found = rows_at(self._ctx, state, self._shown, self._ctx.access(state.layers, self._pending), keys)
        if found is None:
            return None
        key = [(str(c.id), "ascending") for c in state.schema.key_columns]
        return found.sort_by(key).select([str(c.id) for c in self._shown]).slice(0, chosen.limit)

    def _applied_rows(self) -> pa.Table | None:
        """All rows with changes applied in memory; None if there are no changes to apply, or too many."""
        from anabranch.repo.read.applied import whole_rows

        state = self._state
        with reading(self._ctx, state):
            return whole_rows(self._ctx, state, self._shown, self._ctx.access(state.layers, self._pending))

    @contextmanager
    def batches(self) -> Iterator[Batches]:
        """Read in key order, batch by batch; yields the Arrow schema and the batches."""
        from anabranch.repo.read.batches import batches_of

        engine = self._ctx.engines.pick(self._work(), f"reading {self.name}")
        ordered = self._with(replace(self._selection, ordered=True))
        with (
            reading(self._ctx, self._state),
            batches_of(self._ctx, engine, ordered._query(engine), self._shown) as found,
        ):
            yield found

    def export(self, target: str | BinaryIO, **settings: Any) -> int:
        """Write the rows to a file, as CSV, JSON or Parquet; settings are those of `ExportRequest`."""
        from anabranch.formats.export import ExportRequest, export

        return export(self.batches(), ExportRequest(target, **settings))

    def head(self, rows: int = 20) -> list[dict[str, Any]]:
        """Read the first rows in key order."""
        chosen = replace(self._selection, limit=rows, ordered=True)
        return self._with(chosen).rows()

    def get(self, key: Mapping[str, Any] | Any) -> dict[str, Any] | None:
        """Read the row with this key, or None; reads only what may hold it."""
        from anabranch.repo.read.look_up import get_row

        return get_row(self._ctx, self._state, self._shown, key, self._pending)

    def count(self) -> int:
        """Count the rows; without `where`, the catalogue knows."""
        limit = self._selection.limit
        if self._selection.where is None:
            total = self._state.row_count
            return total if limit is None else min(total, limit)
        from anabranch.queries.scan import count_rows

        engine = self._ctx.engines.pick(self._work(), f"counting {self.name}")

        def counting(engine: Engine) -> Query:
            return count_rows(self._query(engine))

        with reading(self._ctx, self._state):
            found = self._ctx.engines.fetch(engine, counting, f"counting {self.name}")
            return int(found.column(0)[0].as_py())

    def layout(self) -> list[dict[str, Any]]:
        """List the objects that a read of this table touches, as the catalogue knows them."""
        return [
            {
                "turn": layer.turn,
                "view": layer.view,
                "kind": layer.object.kind,
                "rows": layer.object.row_count,
                "size_bytes": layer.object.size_bytes,
                "place": layer.object.place,
                "path": layer.object.path,
                "key_low": layer.object.key_range.low if layer.object.key_range else None,
                "key_high": layer.object.key_range.high if layer.object.key_range else None,
                "sha256": layer.object.sha256,
            }
            for layer in self._state.layers
        ]

    def _with(self, selection: Selection) -> Table:
        return Table(self._ctx, self._state_of, selection, self._pending)

    def _reading(self, state: TableState) -> Table:
        """The same table, read from some of its objects; the caller wants no rows of the others."""
        return Table(self._ctx, lambda: state, self._selection, self._pending)

    def _fixed(self) -> Table:
        """The table as it is now, whatever an unfinished commit does to it later."""
        return self._reading(self._state)

    @property
    def _state(self) -> TableState:
        return self._state_of()

    @property
    def _shown(self) -> tuple[Column, ...]:
        schema, chosen = self._state.schema, self._selection
        if not chosen.hidden:
            return schema.select(chosen.columns)
        return tuple(c for c in schema.stored if chosen.columns is None or c.name in chosen.columns)

    def _where(self) -> Expression | None:
        return where_of(self._selection.where, self._selection.args)

    def _work(self) -> Work:
        where, state = self._where(), self._state
        spark_reason = unproven([where] if where else [], state.schema, state.name)
        return Work(size_of(state.layers), unproven=spark_reason, not_in_duck=not_in_duck(self._shown, state.name))

    def _query(self, engine: Engine, all_rows: bool = False) -> Query:
        """The selected rows as a query for an engine; `all_rows` if the surrounding query reads all of them."""
        from anabranch.plan.read_strategy import QueryRead
        from anabranch.queries.scan import Scan, named, ordered_by, select_rows
        from anabranch.repo.read.scan import prepared_scan

        state, where, chosen = self._state, self._where(), self._selection
        order = state.schema.key_columns if chosen.ordered else ()
        read = tuple(dict.fromkeys((*self._shown, *order, *(where.columns(state.schema) if where else ()))))
        condition = condition_for(where, state, engine)
        wanted = QueryRead(engine.in_process, all_rows)
        with reading(self._ctx, state):  # folds the changes at once
            access = self._ctx.access(state.layers, self._pending)
            plan = Scan.of(condition.near(state), read, access, condition.keys)
            query = prepared_scan(self._ctx, plan, condition.keys, wanted)
        alias = state.name.rsplit(".", 1)[-1]
        query = select_rows(query, named(query, read, alias), self._shown, condition.test, chosen.limit)
        return ordered_by(replace(query, args=condition.args), order)


def make_selection(
    columns: Iterable[str] | str | None, where: str | None, args: Mapping[str, Any] | None, limit: int | None
) -> Selection:
    """Check the arguments of a read."""
    check_limit(limit)
    names = (columns,) if isinstance(columns, str) else tuple(columns) if columns is not None else None
    if names is not None and not names:
        raise InvalidRequest("columns= names no column", hint="leave it out for all columns")
    if args and where is None:
        raise InvalidRequest("args= was given without where=", hint="args= fills the :names in where=")
    return Selection(names, where, named_args(args), limit)


def open_table(ctx: Context, name: str, at: str | None, selection: Selection = EVERYTHING) -> Table:
    """Open the table at a commit; it stays as it is, whatever the branch does."""
    with ctx.catalog.read() as cx:
        clock = history.clock(cx, resolve(ctx, cx, at))
        state = table_state(ctx, cx, clock, *find_table(ctx, cx, clock, name))
    state.schema.select(selection.columns)
    return Table(ctx, lambda: state, selection)
