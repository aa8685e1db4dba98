"""blame: the commit that last changed each row, or each cell. The changes tell, whatever views there are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from anabranch.catalog import history, touching
from anabranch.engines.engine import Engine
from anabranch.errors import InvalidRequest
from anabranch.model.commits import Commit
from anabranch.model.objects import Layer, may_meet, size_of
from anabranch.model.schema import Column, Schema
from anabranch.model.tables import TableState
from anabranch.model.types import DataType
from anabranch.objects.parquet import table_range
from anabranch.plan.engine import Work
from anabranch.queries.blame import COLUMN, Attribution, Followed
from anabranch.queries.changes import ordered as in_order
from anabranch.queries.expressions import Expression
from anabranch.queries.groups import turn_of
from anabranch.queries.path_fold import Path, touched_keys
from anabranch.queries.query import TURN, Query, Rows, Sources, aliased, col, first, select
from anabranch.queries.scan import Keys, named, scan
from anabranch.repo.blame_reading import Merge, Rekeyed, Segment, read_segment
from anabranch.repo.context import Context
from anabranch.repo.look_up import key_row
from anabranch.repo.outputs import to_dicts, to_pandas
from anabranch.repo.past import open_past, refuse_taken_names
from anabranch.repo.reading import make_selection, not_in_duck, reading, rendered_test, unproven

if TYPE_CHECKING:
    import pandas

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
class Asked:
    """Which rows are wanted, and whether each cell."""

    cells: bool
    key: pa.Table | None
    where: Expression | None


def blame(
    ctx: Context, table: str, at: str | None, cells: bool, key: Any, where: str | None, args: Mapping[str, Any] | None
) -> Blame:
    """Find a table and the commits that made the objects of its past."""
    chosen = make_selection(None, where, args, None)
    with ctx.catalog.read() as cx:
        past = open_past(ctx, cx, table, at)
        keys = None if key is None else key_row(past.state, key)
        test = None if chosen.where is None else Expression.of(chosen.where, chosen.args, "where=")
        segment = read_segment(past)
    return Blame(ctx, past.state, segment, Asked(cells, keys, test))


class Blame:
    """The rows of a table, each with the commit that last changed it."""

    def __init__(self, ctx: Context, state: TableState, segment: Segment, asked: Asked) -> None:
        self._ctx, self._state, self._segment, self._asked = ctx, state, segment, asked

    def __repr__(self) -> str:
        return f"Blame({self._state.name!r})"

    def _repr_html_(self) -> str:
        from anabranch.repo.html import blame_html

        return blame_html(self)

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
        told = ((n, DataType("timestamp" if n == "_commit_timestamp" else "string")) for n in BLAME_COLUMNS)
        return (*((c.name, c.type) for c in shown), *cell, *told)

    def rows(self) -> list[BlameEntry]:
        """List the rows in the order of the key, each with its commit; with cells, each cell's too."""
        engine = self._engine()
        schema, sources = self._state.schema, Sources()
        with reading(self._ctx, self._everything):
            found = self._found(engine, schema.stored, sources)
            query = in_order(Query(found, sources.named, self._args), self._attribution.keys)
            rows = to_dicts(engine.fetch(query))
        commits = self._commits({row[name] for row in rows for name in self._attribution.turns})
        return [self._entry(row, commits) for row in rows]

    def arrow(self) -> pa.Table:
        """Read as an Arrow table: the key (all columns, where there is none), then the commit; with cells, by cell."""
        engine = self._engine()
        with reading(self._ctx, self._everything):
            return engine.fetch(self._told(engine, ordered=True))

    def head(self, rows: int = 20) -> pa.Table:
        """Read the first rows as an Arrow table, in the order of `arrow`."""
        engine = self._engine()
        with reading(self._ctx, self._everything):
            return engine.fetch(first(self._told(engine, ordered=True), rows))

    def pandas(self) -> pandas.DataFrame:
        """Read as a pandas DataFrame."""
        return to_pandas(self.arrow())

    def spark(self) -> DataFrame:
        """Read as a Spark DataFrame, in any order."""
        engine = self._ctx.engines.spark()
        with reading(self._ctx, self._everything):
            return engine.frame(self._told(engine, ordered=False))

    @cached_property
    def _everything(self) -> TableState:
        return replace(self._state, layers=tuple(self._segment.everything()))

    @cached_property
    def _attribution(self) -> Attribution:
        return self._attributing(self._segment)

    @cached_property
    def _schema(self) -> Schema:
        """The schema to compare rows under; a restore may have made a type narrower than values were before it."""
        return reduce(Schema.holding, self._segment.schemas(), self._state.schema)

    def _attributing(self, segment: Segment) -> Attribution:
        """What is asked of a segment: the same cells, under the key that it has."""
        state = segment.state.read_as(self._schema)
        return Attribution(state, self._schema.columns if self._asked.cells else ())

    @property
    def _args(self) -> dict[str, Any]:
        return dict(self._asked.where.args) if self._asked.where else {}

    def _engine(self) -> Engine:
        schema, where = self._state.schema, self._asked.where
        strange = unproven([where] if where else [], schema)
        work = Work(size_of(self._segment.layers), unproven=strange, not_in_duck=not_in_duck(schema, self._state.name))
        return self._ctx.engines.pick(work, f"blaming {self._state.name!r}")

    def _entry(self, row: dict[str, Any], commits: Mapping[int, Commit]) -> BlameEntry:
        schema, asked = self._state.schema, self._attribution
        shown = {c.name: row[c.id] for c in schema}
        key = {c.name: row[c.id] for c in schema.key_columns} if schema.has_key else {}
        cells = {c.name: commits[row[turn_of(c)]] for c in asked.columns}
        return BlameEntry(key, commits[row[TURN]], shown, cells)

    def _commits(self, turns: set[int]) -> dict[int, Commit]:
        makers = self._segment.makers()
        wanted = list(dict.fromkeys(makers[t] for t in sorted(turns)))
        with self._ctx.catalog.read() as cx:
            described = dict(zip(wanted, history.describe(cx, wanted), strict=True))
        return {t: described[makers[t]] for t in turns}

    # --- the query ---

    def _told(self, engine: Engine, *, ordered: bool) -> Query:
        schema, asked, sources = self._state.schema, self._attribution, Sources()
        shown = schema.key_columns if schema.has_key else schema.columns
        if asked.columns and not schema.has_key:
            hint = "read its rows(), which have all cells"
            raise InvalidRequest(f"table {self._state.name!r} has no key to tell its cells by", hint=hint)
        added = (*BLAME_COLUMNS, *((COLUMN,) if asked.columns else ()))
        refuse_taken_names(shown, added, "blame", "rename it, or read .rows()")
        read = tuple(dict.fromkeys((*schema.key_columns, *shown)))
        found = self._found(engine, read, sources)
        if asked.columns:
            found = asked.cell_by_cell(found, sources)
        commits = sources.add(Rows(self._commit_rows()))
        whole = asked.with_commits(found, shown, commits, BLAME_COLUMNS, ordered=ordered)
        return Query(whole, sources.named, self._args)

    def _commit_rows(self) -> pa.Table:
        makers = self._segment.makers()
        with self._ctx.catalog.read() as cx:
            told = touching.tell(cx, makers.values())
        found = [told[p] for p in makers.values()]
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
        """The rows that are asked for, with the turns in which they were last changed."""
        wanted = None
        if self._asked.key is not None:
            wanted = Keys(Rows(self._asked.key), table_range(self._asked.key, self._state.schema.key_columns))
        last = self._last(engine, self._segment, wanted, sources)
        rows = self._rows(engine, read, wanted, sources)
        return self._attribution.of_rows(last, rows, [str(c.id) for c in read])

    def _rows(self, engine: Engine, read: Sequence[Column], wanted: Keys | None, sources: Sources) -> Any:
        where, state = self._asked.where, self._state
        more = where.columns(state.schema) if where else ()
        columns = tuple(dict.fromkeys((*read, *more)))
        query = scan(state, columns, self._ctx.access(state.layers), keys=wanted, sources=sources)
        if where is None:
            return query.expression
        test = rendered_test(where, engine, state.schema)
        alias = state.name.rsplit(".", 1)[-1]
        return select([aliased(col(c.name), c.id) for c in read], named(query, columns, alias), where=test)

    def _last(self, engine: Engine, segment: Segment, wanted: Keys | None, sources: Sources) -> Any:
        asked = self._attributing(segment)
        layers = [x for x in segment.layers if wanted is None or may_meet(x.object.key_range, wanted.key_range)]
        ways = [way for m in segment.merges if (way := self._through(engine, segment, m, wanted, sources))]
        if segment.rekeyed:
            ways.append(self._rekeyed(engine, asked, segment.rekeyed, sources))
        since = {name: turn for name, (turn, _) in segment.since.items()}
        limit = sources.add(wanted.source) if wanted else None
        return asked.last(layers, since, ways, self._ctx.access(layers), sources, limit)

    def _through(
        self, engine: Engine, segment: Segment, merge: Merge, wanted: Keys | None, sources: Sources
    ) -> Followed | None:
        """Who changed the rows that a merge wrote again, by its further parent: read at once, for they are few."""
        asked = self._attributing(segment)
        own = [x for x in segment.layers if x.turn in merge.turns]
        near = tuple(x for x in own if wanted is None or may_meet(x.object.key_range, wanted.key_range))
        if not near or merge.theirs.state.read_as(asked.state.schema).schema.key_ids != asked.state.schema.key_ids:
            return None
        keys = engine.fetch(touched_keys(Path(near, None, asked.state), self._ctx.access(near), Sources()))
        inner = Sources()
        theirs = Keys(Rows(keys), table_range(keys, asked.state.schema.key_columns))
        found = self._last(engine, merge.theirs, theirs, inner)
        if merge.exceptions is not None:
            met = Layer(1, merge.exceptions)
            found = asked.without_decided(found, met, near, self._ctx.access([met, *near]), inner)
        turns = engine.fetch(Query(found, inner.named))
        return Followed(merge.turns, sources.add(Rows(turns)))

    def _rekeyed(self, engine: Engine, asked: Attribution, rekeyed: Rekeyed, sources: Sources) -> Followed:
        """Who changed the rows that were written again under another key."""
        before = self._attributing(rekeyed.before)
        last = self._last(engine, rekeyed.before, None, sources)
        state, after = rekeyed.before.state.read_as(self._schema), rekeyed.after
        loses = state.schema.has_key and not after.schema.has_key  # then the old key tells which row was which
        after = after.read_as(replace(state.schema, key=()) if loses else self._schema)
        key = [c for c in asked.state.schema.key_columns if c in after.schema.stored]
        shown, old_key = self._schema.columns, state.schema.key_columns
        both = tuple(dict.fromkeys((*key, *shown, *(old_key if loses else ()))))
        rows = scan(after, both, self._ctx.access(after.layers), sources=sources)
        more = tuple(dict.fromkeys((*(() if loses else key), *shown, *old_key)))
        old = scan(state, more, self._ctx.access(state.layers), sources=sources)
        same = before.keys if loses else asked.keys
        return Followed(rekeyed.turns, asked.under_new_key(before, last, rows, old, shown, same))
