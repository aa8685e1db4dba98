"""What a query reads: tables at a ref, system tables, the user's frames; each in a form for either engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any, Protocol

from anabranch.errors import InvalidRequest, NotFound
from anabranch.frames.input import Input, read_input, typed
from anabranch.model.objects import size_of
from anabranch.model.types import DataType
from anabranch.queries.query import Query, Rows, Source, reading_of
from anabranch.repo.branches.log import show
from anabranch.repo.read.conditions import not_in_duck, reading, within
from anabranch.repo.read.table import Table, open_table
from anabranch.repo.sql.system_names import is_system, system_table, unknown_system
from anabranch.sql.moments import Moment, Span
from anabranch.sql.references import Reference
from anabranch.sql.version_statements import Argument

if TYPE_CHECKING:
    from anabranch.engines.engine import Engine
    from anabranch.engines.spark import DataFrame, SparkEngine
    from anabranch.repo.commit.transaction import Transaction
    from anabranch.repo.context.context import Context
    from anabranch.repo.sql.system_names import SystemTable

TARGET = "_ana_target"
"""The name in braces by which a statement reads the table it changes, hidden row id included."""


@dataclass(frozen=True)
class SqlPlace:
    """Where a statement reads and writes: a branch, a ref to read at, a transaction under way."""

    ctx: Context
    branch: str
    at: str | None = None
    tx: Transaction | None = None
    safe: bool = False
    """Whether the text is somebody else's: it may read tables and given frames, and nothing else."""
    known: dict[Reference, SqlRelation | None] = field(default_factory=dict, compare=False)
    """What the references of one statement resolved to, so that they stay fixed while it runs."""

    @property
    def ref(self) -> str:
        """Where to read by default."""
        return self.branch if self.at is None else self.at

    def for_one_statement(self) -> SqlPlace:
        """The same place for another statement, which sees the state of its own time."""
        return replace(self, known={})


class SqlRelation(Protocol):
    """Something a query can read from."""

    @property
    def columns(self) -> tuple[tuple[str, DataType | None], ...]:
        """Names and types; None for a column of only nulls."""

    @property
    def unpublished(self) -> bool:
        """Whether some of its rows belong to an unfinished commit."""

    @property
    def size_bytes(self) -> int:
        """How much may have to be read."""

    @property
    def only_spark(self) -> str | None:
        """Why DuckDB cannot read it, if so."""

    def frame(self, engine: SparkEngine) -> DataFrame:
        """As a Spark DataFrame."""

    def query(self, engine: Engine, columns: Sequence[str], all_rows: bool) -> Query:
        """As a query in the process for these columns, by name; `all_rows` if every row will be read."""

    def near(self, conditions: Sequence[Any], args: Mapping[str, Any]) -> SqlRelation:
        """Leave out files known, without reading them, to hold no row that meets all conditions."""

    def watch(self, stack: ExitStack) -> None:
        """Report a failure to read as the damage that caused it."""


@dataclass(frozen=True)
class TableRelation:
    """A table at a commit, or in a transaction."""

    table: Table
    ctx: Context
    unpublished: bool = False

    @property
    def columns(self) -> tuple[tuple[str, DataType], ...]:
        return tuple((c.name, c.type) for c in self.table._shown)

    @property
    def size_bytes(self) -> int:
        return size_of(self.table._state.layers)

    @property
    def only_spark(self) -> str | None:
        return not_in_duck(self.table._shown, self.table.name)

    def frame(self, engine: SparkEngine) -> DataFrame:
        return self.table.spark()

    def query(self, engine: Engine, columns: Sequence[str], all_rows: bool) -> Query:
        chosen = replace(self.table._selection, columns=tuple(columns))
        return self.table._with(chosen)._query(engine, all_rows)

    def near(self, conditions: Sequence[Any], args: Mapping[str, Any]) -> TableRelation:
        from anabranch.proven.key_bounds import key_bounds

        state = self.table._state
        bounds = key_bounds(conditions, args, state.schema)
        return self if bounds is None else replace(self, table=self.table._reading(within(state, bounds)))

    def watch(self, stack: ExitStack) -> None:
        stack.enter_context(reading(self.ctx, self.table._state))


@dataclass(frozen=True)
class SystemRelation:
    """A system table."""

    table: SystemTable
    unpublished: bool = False

    @property
    def columns(self) -> tuple[tuple[str, DataType], ...]:
        return self.table.columns

    size_bytes = 0

    @property
    def only_spark(self) -> str | None:
        found = next((f"column {n!r} of {self.table.name} is {t}" for n, t in self.columns if t.only_spark), None)
        return f"{found}, which DuckDB can't hold" if found else None

    def frame(self, engine: SparkEngine) -> DataFrame:
        return self.table.spark()

    def query(self, engine: Engine, columns: Sequence[str], all_rows: bool) -> Query:
        return reading_of(Rows(self.table.arrow()), columns)

    def near(self, conditions: Sequence[Any], args: Mapping[str, Any]) -> SystemRelation:
        return self

    def watch(self, stack: ExitStack) -> None:
        """Nothing to watch: the rows are in memory."""


@dataclass(frozen=True)
class FrameRelation:
    """A frame that the user gave: of Spark, pandas, Polars or Arrow, or a list of dicts."""

    given: Input
    unpublished = False

    @property
    def columns(self) -> tuple[tuple[str, DataType | None], ...]:
        return tuple(self.given.types.items())

    size_bytes = 0

    @property
    def only_spark(self) -> str | None:
        return "a Spark DataFrame" if self.given.is_spark else None

    @property
    def source(self) -> Source:
        return self.given.source

    def frame(self, engine: SparkEngine) -> DataFrame:
        return engine.frame(reading_of(self.source, [n for n, _ in self.columns]))

    def query(self, engine: Engine, columns: Sequence[str], all_rows: bool) -> Query:
        return reading_of(self.source, columns)

    def near(self, conditions: Sequence[Any], args: Mapping[str, Any]) -> FrameRelation:
        return self

    def watch(self, stack: ExitStack) -> None:
        """Nothing to watch: the rows are the user's."""


def find_relation(
    place: SqlPlace, reference: Reference, args: Mapping[str, Any], frames: Mapping[str, Any]
) -> SqlRelation | None:
    """Find what one reference means; None for a table of the Spark session."""
    if reference.frame:
        return _frame(reference.parts[0], frames, place)
    name = _name(reference, args)
    is_computed = not reference.parameter and (is_system(name) or reference.arguments is not None)
    if place.safe and (is_computed or reference.changes is not None):
        raise InvalidRequest(f"{name!r} is no table of the repository, and with safe= only those are read")
    if is_computed:
        return _system(place, reference, args)
    if reference.changes is not None:
        return _changes(place, name, reference.changes, args)
    at = _ref(place, reference.moment, args) if reference.moment else None
    try:
        return _table(place, name, at)
    except NotFound as error:
        found = _at_sign(place, name) if at is None else None
        if found is not None:
            return found
        if at is None and not place.safe and place.ctx.engines.knows_table(name):
            return None
        raise unknown_system(name) or error from None


def _table(place: SqlPlace, name: str, at: str | None) -> TableRelation:
    """A table at a ref; without one, as the transaction has it, or else where the statement reads."""
    if at is not None or place.tx is None:
        return TableRelation(open_table(place.ctx, name, place.ref if at is None else at), place.ctx)
    found = place.tx.table(name)
    return TableRelation(found._fixed(), place.ctx, found._is_changed)


def _name(reference: Reference, args: Mapping[str, Any]) -> str:
    if not reference.parameter:
        return reference.name
    value = _argument_value(reference.parts[0], args)
    if not isinstance(value, str):
        raise InvalidRequest(f"IDENTIFIER(:{reference.parts[0]}) is {value!r}, a name was expected")
    return value


def _at_sign(place: SqlPlace, name: str) -> TableRelation | None:
    """A table written `t@dev` in backticks, for when no table has that very name."""
    table, sign, ref = name.rpartition("@")
    if not sign or not table or not ref:
        return None
    return _table(place, table, ref)


def _frame(name: str, frames: Mapping[str, Any], place: SqlPlace) -> SqlRelation:
    if name == TARGET:
        return TableRelation(frames[name], place.ctx)
    if name not in frames:
        known = f"given were {', '.join(sorted(frames))}" if frames else "none was given"
        raise InvalidRequest(f"SQL: there is no frame for {{{name}}}", hint=f"{known}; such as repo.sql(…, {name}=df)")
    value = frames[name]
    if isinstance(value, Table):
        return TableRelation(value._fixed(), place.ctx)
    return FrameRelation(typed(read_input(value, ()), f"the frame {{{name}}}"))


def _system(place: SqlPlace, reference: Reference, args: Mapping[str, Any]) -> SystemRelation:
    given = [argument_value(a, args) for a in reference.arguments or ()]
    name = f"ana.{reference.parts[1].lower()}"
    at = _ref(place, reference.moment, args) if reference.moment else place.at
    return SystemRelation(system_table(place.ctx, name, given, place.branch, at, place.tx), place.tx is not None)


def _changes(place: SqlPlace, name: str, span: Span, args: Mapping[str, Any]) -> SystemRelation:
    """`t CHANGES FROM VERSION a TO VERSION b`, both ends included, as in Spark."""
    start = _start(place, span, args)
    end = _ref(place, span.end, args) if span.end else place.ref
    to = end if span.to_inclusive else _before(place, end)
    return SystemRelation(system_table(place.ctx, "ana.changes", [name, start, to], place.branch, place.at, place.tx))


def _start(place: SqlPlace, span: Span, args: Mapping[str, Any]) -> str | None:
    """Where the changes start from: the commit before the first, or what the branch showed at a time; None for all."""
    ref = _ref(place, span.start, args)
    if span.start.kind == "timestamp":
        try:
            return show(place.ctx, ref).hash
        except NotFound:  # The branch did not exist yet.
            return None
    return _before(place, ref) if span.from_inclusive else ref


def _before(place: SqlPlace, ref: str) -> str | None:
    """The commit before one; None before the first."""
    commit = show(place.ctx, ref)
    return commit.parents[0] if commit.parents else None


def argument_value(argument: Argument, args: Mapping[str, Any]) -> Any:
    """The value of a system table's argument."""
    if argument.form == "parameter":
        return _argument_value(argument.value, args)
    if argument.form == "null":
        return None
    if argument.form == "number":
        return int(argument.value) if argument.value.lstrip("-").isdigit() else float(argument.value)
    return argument.value


def _argument_value(name: str, args: Mapping[str, Any]) -> Any:
    if name not in args:
        raise InvalidRequest(f"SQL has no value for :{name}", hint="give it in args=")
    return args[name]


def _ref(place: SqlPlace, moment: Moment, args: Mapping[str, Any]) -> str:
    """A moment as a ref; times are those of the branch, numbers are indexes on its line."""
    value: Any = moment.value
    if moment.form == "parameter":
        value = _argument_value(moment.value, args)
    if moment.kind == "timestamp":
        return f"{place.branch}@{{{time_text(value)}}}"
    is_number = moment.form == "number" or (isinstance(value, int) and not isinstance(value, bool))
    return f"{place.branch}/{value}" if is_number else str(value)


def time_text(value: Any) -> str:
    """Write a time the way refs and moments do."""
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).isoformat()
    return value.isoformat() if isinstance(value, date) else str(value)
