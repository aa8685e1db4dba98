"""blame: the commit that last changed each row or cell. Read from changes alone, never from views."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from anabranch.catalog import commits, touching
from anabranch.engines.engine import Engine
from anabranch.errors import InvalidRequest
from anabranch.frames.output import to_dicts
from anabranch.frames.relation import Relation
from anabranch.model.clock import Position
from anabranch.model.commits import Commit
from anabranch.model.objects import size_of
from anabranch.model.schema import Column, Schema
from anabranch.model.tables import TableState
from anabranch.model.types import DataType
from anabranch.plan.engine import Work
from anabranch.proven.expression import Expression
from anabranch.queries.blame import COLUMN, Attribution
from anabranch.queries.overlay_columns import turn_of
from anabranch.queries.query import TURN, Query, Rows, Sources, aliased, col, first, select
from anabranch.queries.scan import Keys, named
from anabranch.queries.writes import ordered as in_order
from anabranch.repo.compare.blame_segments import Story, read_story
from anabranch.repo.compare.blame_trace import Trace
from anabranch.repo.compare.table_past import open_past, refuse_taken_names
from anabranch.repo.context.context import Context
from anabranch.repo.read.conditions import keys_in, not_in_duck, reading, rendered_test, unproven, where_of
from anabranch.repo.read.look_up import key_row
from anabranch.repo.read.scan import scan
from anabranch.repo.read.table import EVERYTHING, Selection

if TYPE_CHECKING:
    from anabranch.engines.spark import DataFrame

BLAME_COLUMNS = ("_commit_hash", "_commit_version", "_commit_author", "_commit_timestamp", "_commit_message")


@dataclass(frozen=True)
class BlameEntry:
    """A row, and who changed it last."""

    key: dict[str, Any]
    commit: Commit
    row: dict[str, Any]
    cells: dict[str, Commit] = field(default_factory=dict)
    """The commit that last changed each cell, by column, if that was asked for."""


@dataclass(frozen=True)
class BlameRequest:
    """Which rows are wanted, and whether each cell, as users ask for it."""

    cells: bool = False
    key: Any = None
    selection: Selection = EVERYTHING
    column: str | None = None


@dataclass(frozen=True)
class BlamedRows:
    """A `BlameRequest` resolved against the table."""

    cells: bool
    key: pa.Table | None
    where: Expression | None
    column: str | None = None
    limit: int | None = None


def blame(ctx: Context, table: str, at: str | None, asked: BlameRequest) -> Blame:
    """Find a table and the commits that made the objects of its past."""
    chosen = asked.selection
    with ctx.catalog.read() as cx:
        past = open_past(ctx, cx, table, at)
        keys = None if asked.key is None else key_row(past.state, asked.key)
        test = where_of(chosen.where, chosen.args)
        name = None if asked.column is None else past.state.schema.column(asked.column).name
        story = read_story(past)
    rows = BlamedRows(asked.cells or name is not None, keys, test, name, chosen.limit)
    return Blame(ctx, past.state, story, rows)


class Blame(Relation):
    """The rows of a table, each with the commit that last changed it: the newest among its cells.

    A cell that only shows the default of a column added later was changed by nobody, and does not count.
    """

    def __init__(self, ctx: Context, state: TableState, story: Story, asked: BlamedRows) -> None:
        self._ctx, self._state, self._story, self._asked = ctx, state, story, asked

    def __repr__(self) -> str:
        return f"Blame({self._state.name!r})"

    def _repr_html_(self) -> str:
        from anabranch.frames.notebook import headings, rows_html
        from anabranch.frames.output import to_dicts
        from anabranch.model.html import ROWS, Line

        rows = to_dicts(self.head(ROWS + 1))
        lines = [Line(list(row.values())) for row in rows]
        return rows_html(self.name, headings(self.columns), lines, None if len(rows) > ROWS else len(rows))

    def __iter__(self) -> Iterator[BlameEntry]:
        return iter(self.rows())

    @property
    def name(self) -> str:
        """The table's name."""
        return self._state.name

    @property
    def columns(self) -> tuple[tuple[str, DataType], ...]:
        """The names and types of the columns of `arrow` and `spark`."""
        schema = self._state.schema
        shown = schema.key_columns if schema.has_key else schema.columns
        cell = [(COLUMN, DataType("string"))] if self._asked.cells else []
        described = ((n, DataType("timestamp" if n == "_commit_timestamp" else "string")) for n in BLAME_COLUMNS)
        return (*((c.name, c.type) for c in shown), *cell, *described)

    def rows(self) -> list[BlameEntry]:
        """List the rows in key order, each with its commit; with `cells`, each cell's commit too."""
        engine = self._engine()
        schema, sources = self._state.schema, Sources()
        with reading(self._ctx, self._everything):
            found = self._found(engine, schema.stored, sources)
            query = in_order(Query(found, sources.named, self._args), [str(c.id) for c in schema.key_columns])
            query = query if self._asked.limit is None else first(query, self._asked.limit)
            rows = to_dicts(engine.fetch(query))
        commits = self._commits({row[name] for row in rows for name in self._turns})
        return [self._entry(row, commits) for row in rows]

    def arrow(self) -> pa.Table:
        """Read as an Arrow table: the key (or all columns, if none), then the commit; with cells, a row per cell."""
        engine = self._engine()
        with reading(self._ctx, self._everything):
            return engine.fetch(self._entries_query(engine, ordered=True))

    def head(self, rows: int = 20) -> pa.Table:
        """Read the first rows as an Arrow table, in the order of `arrow`."""
        engine = self._engine()
        with reading(self._ctx, self._everything):
            return engine.fetch(first(self._entries_query(engine, ordered=True), rows))

    def spark(self) -> DataFrame:
        """Read as a Spark DataFrame, in any order."""
        engine = self._ctx.engines.spark()
        with reading(self._ctx, self._everything):
            return engine.frame(self._entries_query(engine, ordered=False))

    @cached_property
    def _everything(self) -> TableState:
        return replace(self._state, layers=tuple(x for s in self._story.segments for x in s.everything))

    @cached_property
    def _schema(self) -> Schema:
        """The schema to compare rows under. A restore may have narrowed a type below what older values need."""
        return reduce(Schema.holding, (s.state.schema for s in self._story.segments), self._state.schema)

    @cached_property
    def _columns(self) -> tuple[Column, ...]:
        """The columns whose cells are traced. A column that was only ever inserted is as new as its row."""
        if self._asked.column is not None:
            return tuple(c for c in self._schema if c.name == self._asked.column)
        if self._asked.cells or any(s.rekeyed for s in self._story.segments):
            return self._schema.columns
        changes = [x.object for x in self._everything.layers if x.object.kind in ("update", "exceptions")]
        touched = {i for o in changes for i in o.touched}
        return tuple(c for c in self._schema if not touched.isdisjoint(c.ids))

    @property
    def _turns(self) -> list[str]:
        """The columns that label a found row: with cells, the turns of the row and its cells; otherwise its rank."""
        return [TURN, *(turn_of(c) for c in self._columns)] if self._asked.cells else [TURN]

    @property
    def _labels(self) -> dict[int, Position]:
        """The commit behind each of those labels."""
        return self._story.makers if self._asked.cells else self._story.ranked

    @property
    def _args(self) -> dict[str, Any]:
        return dict(self._asked.where.args) if self._asked.where else {}

    def _engine(self) -> Engine:
        schema, where = self._state.schema, self._asked.where
        spark_reason = unproven([where] if where else [], schema, self._state.name)
        work = Work(
            size_of(self._story.top.layers), unproven=spark_reason, not_in_duck=not_in_duck(schema, self._state.name)
        )
        return self._ctx.engines.pick(work, f"blaming {self._state.name!r}")

    def _entry(self, row: dict[str, Any], commits: Mapping[int, Commit]) -> BlameEntry:
        schema = self._state.schema
        shown = {c.name: row[c.id] for c in schema}
        key = {c.name: row[c.id] for c in schema.key_columns} if schema.has_key else {}
        if not self._asked.cells:
            return BlameEntry(key, commits[row[TURN]], shown)
        if self._asked.column is not None:
            (only,) = self._columns
            described = commits[row[turn_of(only)]]
            return BlameEntry(key, described, shown, {only.name: described})
        ranks = self._story.ranks
        newest = max((row[t] for t in self._turns if row[t] in ranks), key=lambda turn: ranks[turn])
        return BlameEntry(key, commits[newest], shown, {c.name: commits[row[turn_of(c)]] for c in self._columns})

    def _commits(self, labels: set[int]) -> dict[int, Commit]:
        makers = self._labels
        wanted = list(dict.fromkeys(makers[n] for n in sorted(labels)))
        with self._ctx.catalog.read() as cx:
            described = dict(zip(wanted, commits.describe(cx, wanted), strict=True))
        return {n: described[makers[n]] for n in labels}

    # --- the query ---

    def _entries_query(self, engine: Engine, *, ordered: bool) -> Query:
        schema, sources, cells = self._state.schema, Sources(), self._asked.cells
        shown = schema.key_columns if schema.has_key else schema.columns
        if cells and not schema.has_key:
            hint = "read its rows(), which have all cells"
            raise InvalidRequest(f"table {self._state.name!r} has no key to tell its cells by", hint=hint)
        added = (*BLAME_COLUMNS, *((COLUMN,) if cells else ()))
        refuse_taken_names(shown, added, "blame", "rename it, or read .rows()")
        read = tuple(dict.fromkeys((*schema.key_columns, *shown)))
        found = self._found(engine, read, sources)
        asked = Attribution(self._story.top.state.read_as(self._schema), self._columns if cells else ())
        if cells:
            found = asked.cell_by_cell(found, sources)
        commits = sources.add(Rows(self._commit_rows()))
        whole = asked.with_commits(found, shown, commits, BLAME_COLUMNS, ordered=ordered)
        query = Query(whole, sources.named, self._args)
        return query if self._asked.limit is None else first(query, self._asked.limit)

    def _commit_rows(self) -> pa.Table:
        makers = self._labels
        with self._ctx.catalog.read() as cx:
            described = touching.commit_facts(cx, makers.values())
        found = [described[p] for p in makers.values()]
        return pa.table(
            {
                TURN: pa.array(makers, pa.int32()),
                "_commit_hash": pa.array([c.hash for c in found], pa.string()),
                "_commit_version": pa.array([c.id for c in found], pa.string()),
                "_commit_author": pa.array([c.author for c in found], pa.string()),
                "_commit_timestamp": pa.array([c.finished_at for c in found], pa.timestamp("us", "UTC")),
                "_commit_message": pa.array([c.message for c in found], pa.string()),
            }
        )

    def _found(self, engine: Engine, read: Sequence[Column], sources: Sources) -> Any:
        """The requested rows, with the turns in which they last changed."""
        wanted = None
        if self._asked.key is not None:
            wanted = keys_in(self._asked.key, self._state.schema.key_columns)
        trace = Trace(self._ctx, engine, self._story, self._schema, self._columns)
        last = trace.last(wanted, sources) if self._asked.cells else trace.newest(wanted, sources)
        rows = self._rows(engine, read, wanted, sources)
        return trace.attribution(self._story.top).of_rows(last, rows, [str(c.id) for c in read], self._turns)

    def _rows(self, engine: Engine, read: Sequence[Column], wanted: Keys | None, sources: Sources) -> Any:
        where, state = self._asked.where, self._state
        more = where.columns(state.schema) if where else ()
        columns = tuple(dict.fromkeys((*read, *more)))
        query = scan(self._ctx, state, columns, self._ctx.access(state.layers), keys=wanted, sources=sources)
        if where is None:
            return query.expression
        test = rendered_test(where, engine, state.schema)
        alias = state.name.rsplit(".", 1)[-1]
        return select([aliased(col(c.name), c.id) for c in read], named(query, columns, alias), where=test)
