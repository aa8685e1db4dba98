"""A user's query, bound to what it reads and given to an engine: Spark gets the text, DuckDB what is proven."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

from anabranch.catalog.history import to_datetime
from anabranch.errors import InvalidRequest, Unavailable, install_hint
from anabranch.model.names import named_args
from anabranch.model.types import DataType
from anabranch.plan.engine import Work
from anabranch.proven.expression import Unproven, type_of_value
from anabranch.queries.query import TOKEN, Frame, Query, reading_of
from anabranch.repo.sql.relations import SqlPlace, SqlRelation, find_relation, time_text
from anabranch.sql.grammar.syntax import reads_plainly
from anabranch.sql.grammar.tokens import tokenize
from anabranch.sql.moments import Moment, plain_time
from anabranch.sql.references import Reference, find_references, splice

if TYPE_CHECKING:
    import pyarrow as pa

    from anabranch.engines.choice import Engines
    from anabranch.engines.engine import Engine
    from anabranch.engines.spark import DataFrame
    from anabranch.proven.query import ProvenQuery


@dataclass(frozen=True)
class Resolved:
    """A query with resolved references: it reads the same states whenever it runs."""

    text: str
    args: Mapping[str, Any]
    references: Sequence[Reference]
    relations: Sequence[SqlRelation | None]
    """What each reference means; None for a table of the Spark session."""

    @property
    def what(self) -> str:
        """The query, shortened for a line of the log."""
        return f"the query {' '.join(self.text.split())[:60]!r}"

    @property
    def named(self) -> dict[str, SqlRelation]:
        """The relations, each under a name that no user's text contains by accident."""
        return {name: r for name, r in zip(self._names, self.relations, strict=True) if name and r is not None}

    @cached_property
    def near(self) -> dict[str, SqlRelation]:
        """The same relations, without files that the query's own conditions rule out."""
        from anabranch.proven.filters import table_filters

        filters = table_filters(self.spliced, frozenset(self.named))
        return {name: r.near(filters.get(name, ()), self.args) for name, r in self.named.items()}

    @property
    def _names(self) -> list[str | None]:
        return [f"_ana_{TOKEN}_{i}_" if r is not None else None for i, r in enumerate(self.relations)]

    @property
    def spliced(self) -> str:
        """The text, with those names in place of the relations."""
        return splice(self.text, self.references, self._names)

    @property
    def unpublished(self) -> bool:
        """Whether the query reads rows of an unfinished commit."""
        return any(r.unpublished for r in self.named.values())

    @property
    def only_spark(self) -> str | None:
        """Why DuckDB can't read one of the relations, if so."""
        return next((r.only_spark for r in self.named.values() if r.only_spark), None)


@dataclass(frozen=True)
class Plan:
    """A query and the engine that runs it."""

    place: SqlPlace
    resolved: Resolved
    engine: Engine
    proven: ProvenQuery | None
    """The query in DuckDB's form, if it runs there."""

    @cached_property
    def columns(self) -> tuple[tuple[str, DataType | None], ...]:
        """Names and types of the result; None for a column of only nulls."""
        if self.proven is not None:
            return self.proven.columns
        from anabranch.engines.spark import frame_types_of

        return frame_types_of(self.frame)

    @property
    def unpublished(self) -> bool:
        return self.resolved.unpublished

    @cached_property
    def frame(self) -> DataFrame:
        """The query as a Spark DataFrame."""
        engine, query = self.place.ctx.engines.spark(), self.resolved
        frames = {name: relation.frame(engine) for name, relation in query.near.items()}
        return engine.run_text(query.spliced, frames, query.args)

    def query(self) -> Query:
        """The query for its engine, with its columns under their names."""
        if self.proven is None:
            return reading_of(Frame(self.frame), [name for name, _ in self.columns])
        from anabranch.proven.query import bound

        parts = {}
        for name, relation in self.resolved.near.items():
            used = self.proven.used.get(name, frozenset())
            wanted = [n for n, _ in relation.columns if n in used] or [relation.columns[0][0]]
            parts[name] = relation.query(self.engine, wanted, self.proven.reads_all)
        return bound(self.proven, parts)

    def arrow(self) -> pa.Table:
        """Run the query and bring its rows into the process."""
        with self.watched():
            if self.proven is None:
                return self._from_spark()
            engines = self.place.ctx.engines
            try:
                return engines.fetch_in_process(self.query())
            except Unavailable as error:
                spark = engines.instead_of_process(error, self.resolved.what)
                return replace(self, engine=spark, proven=None)._from_spark()
            except InvalidRequest as error:
                # DuckDB may compute a value before a filter drops its row, so only Spark's failure counts.
                if not self.proven.may_fail and not self.proven.guards:
                    raise
                return self.asking_spark(error)._from_spark()

    def asking_spark(self, error: InvalidRequest) -> Plan:
        """The same plan on Spark, after DuckDB failed. Raises if Spark cannot be used."""
        engines = self.place.ctx.engines
        if engines.setting == "duck" or not engines.has_spark:
            why = error.facts.get("only_spark")
            if why is None:
                raise error
            asked = engines.setting == "duck"
            reason = "engine='duck' was asked for" if asked else "PySpark is not installed"
            hint = "use engine='auto' or 'spark'" if asked else install_hint("spark")
            raise InvalidRequest(f"{why} runs on Spark only, and {reason}", hint=hint) from error
        engines.log_start(self.resolved.what, error.message)
        return replace(self, engine=engines.spark(), proven=None)

    def _from_spark(self) -> pa.Table:
        from anabranch.engines.spark import frame_to_memory

        return frame_to_memory(self.frame)

    def watched(self) -> ExitStack:
        """Open a block in which a failed read is reported as the damage that caused it."""
        stack = ExitStack()
        for relation in self.resolved.named.values():
            relation.watch(stack)
        return stack


def plan_query(
    place: SqlPlace, text: str, args: Mapping[str, Any] | None, frames: Mapping[str, Any], *, to_write: bool = False
) -> Plan:
    """Resolve what a query reads, choose its engine, and have that engine analyse it.

    If an open Spark session has settings that change what SQL means, Spark runs it; except that rows `to_write` which
    are literals in the text need no Spark job.
    """
    place.ctx.engines.check_room()
    query, engines = _resolved(place, text, args, frames), place.ctx.engines
    if place.safe:
        return _safe_plan(place, query)
    by_session = engines.differs and not (to_write and not query.relations)
    proven, spark_reason = _proof(query, engines, by_session)
    size = sum(r.size_bytes for r in query.near.values())
    work = Work(size, by_session, spark_reason, query.only_spark)
    engine = engines.pick(work, query.what)
    plan = Plan(place, query, engine, proven if engine.in_process else None)
    _ = plan.columns  # Forces analysis now; Spark Connect would put it off.
    return plan


def _safe_plan(place: SqlPlace, query: Resolved) -> Plan:
    """The plan of a query that only the process may run."""
    from anabranch.engines.choice import system_zone

    proven, why = _proven(query, system_zone())
    if proven is None or query.only_spark:
        raise only_on_spark(why or str(query.only_spark))
    return Plan(place, query, place.ctx.engines.duck(), proven)


def only_on_spark(what: str) -> InvalidRequest:
    """The error for a query with `safe` that the process cannot compute."""
    hint = "docs/expressions.md lists what runs in the process"
    return InvalidRequest(f"{what} runs on Spark only, and with safe= Spark is never asked", hint=hint)


def _resolved(place: SqlPlace, text: str, args: Mapping[str, Any] | None, frames: Mapping[str, Any]) -> Resolved:
    used_args(text, args)
    references = find_references(text)
    relations = find_relations(place, references, args or {}, frames)
    found = Resolved(text, {}, references, relations)
    # Parameters that name a table or a version are filled in here; the engine does not get them.
    return Resolved(text, used_args(found.spliced, args), references, relations)


def find_relations(
    place: SqlPlace, references: Sequence[Reference], args: Mapping[str, Any], frames: Mapping[str, Any]
) -> list[SqlRelation | None]:
    """Resolve the references of a statement as of one moment; None for a table of the Spark session.

    Within one statement, asking again gives the same answers.
    """
    wanted = [replace(r, start=0, end=0, alias_at=None) for r in references]
    now = cache(lambda: to_datetime(place.ctx.catalog.now()))
    timed = {r: _timed(place, r, args, now) for r in wanted if r not in place.known}
    with place.ctx.catalog.one_state():
        place.known.update((r, find_relation(place, described, args, frames)) for r, described in timed.items())
    return [place.known[r] for r in wanted]


def find_all(place: SqlPlace, texts: Iterable[str], args: Mapping[str, Any], frames: Mapping[str, Any]) -> None:
    """Resolve what all parts of a statement read, before the first of them is planned."""
    find_relations(place, [r for text in texts for r in find_references(text)], args, frames)


def _timed(place: SqlPlace, reference: Reference, args: Mapping[str, Any], now: Callable[[], datetime]) -> Reference:
    """Resolve the times of a reference, evaluating those given as expressions."""

    def known(moment: Moment) -> Moment:
        if moment.form != "expression":
            return moment
        plain = plain_time(moment.value, now())
        value = plain or _evaluated(place, moment.value, args)
        return Moment(moment.kind, "now" if plain == now() else time_text(value))

    moment, span = reference.moment, reference.changes
    if span is not None:
        span = replace(span, start=known(span.start), end=span.end and known(span.end))
    return replace(reference, moment=moment and known(moment), changes=span)


def _evaluated(place: SqlPlace, text: str, args: Mapping[str, Any]) -> Any:
    """Evaluate an expression for a time."""
    plan = plan_query(place, f"SELECT CAST(({text}) AS TIMESTAMP) AS t", args, {})
    return plan.arrow().column(0)[0].as_py()


def _proof(query: Resolved, engines: Engines, by_session: bool) -> tuple[ProvenQuery | None, str | None]:
    """The query in DuckDB's form, or the part that only Spark runs; neither if Spark runs it anyway."""
    if engines.setting == "spark" or (engines.setting == "auto" and by_session):
        return None, None
    return _proven(query, engines.zone)


def _proven(query: Resolved, zone: str | None) -> tuple[ProvenQuery | None, str | None]:
    """The query in DuckDB's form, or the part that is not proven."""
    from anabranch.proven.query import prove_query

    if len(query.named) < len(query.relations):
        return None, "a table of the Spark session"
    if not reads_plainly(tokenize(query.spliced), "query"):
        return None, "a word such as FROM as a name"
    columns = {name: relation.columns for name, relation in query.named.items()}
    try:
        return prove_query(query.spliced, columns, query.args, zone), None
    except Unproven as problem:
        return None, str(problem)


def used_args(text: str, args: Mapping[str, Any] | None) -> dict[str, Any]:
    """The arguments that a text has markers for; a missing one is refused."""
    given = named_args(args)
    tokens = tokenize(text)
    if any(t.is_symbol("?") for t in tokens):
        hint = "write :name, and args={'name': value}"
        raise InvalidRequest("values are given by name, not by place: SQL has a `?`", hint=hint)
    wanted = {t.text[1:] for t in tokens if t.kind == "parameter"}
    missing = sorted(wanted - set(given))
    if missing:
        raise InvalidRequest(f"SQL has no value for :{missing[0]}", hint="give it in args=")
    for name in wanted:
        type_of_value(given[name], f"args[{name!r}]")
    return {name: given[name] for name in given if name in wanted}
