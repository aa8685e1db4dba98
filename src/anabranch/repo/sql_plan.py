"""A query of the user's, bound to what it reads and given to an engine: Spark gets the text, DuckDB what is proven."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from anabranch.errors import InvalidRequest
from anabranch.model.types import DataType
from anabranch.plan.engine import Work
from anabranch.queries.expressions import Unproven, type_of_value
from anabranch.queries.query import TOKEN, Frame, Query, reading_of
from anabranch.repo.sql_relations import Place, Relation, find_relation
from anabranch.sql.references import Reference, find_references, splice
from anabranch.sql.tokens import tokenize

if TYPE_CHECKING:
    import pyarrow as pa

    from anabranch.engines.engine import Engine
    from anabranch.engines.spark import DataFrame
    from anabranch.queries.proof_query import ProvenQuery


def _sources(relations: Sequence[Relation | None]) -> list[str | None]:
    """A name for each relation, which no text of a user's holds by accident; None for one that is not ours."""
    return [f"_ana_{TOKEN}_{i}_" if relation is not None else None for i, relation in enumerate(relations)]


@dataclass(frozen=True)
class Plan:
    """A query whose references are resolved: it reads the same states whenever it runs."""

    place: Place
    text: str
    args: Mapping[str, Any]
    references: Sequence[Reference]
    relations: Sequence[Relation | None]
    """What each reference means; None for a table of the Spark session's own."""
    proven: ProvenQuery | None = None
    """The query in DuckDB's form, if it is to run there."""
    engine: Engine = field(default=None, compare=False)  # type: ignore[assignment]

    @cached_property
    def columns(self) -> tuple[tuple[str, DataType | None], ...]:
        """Names and types of the result; None for a column of nothing but nulls."""
        if self.proven is not None:
            return self.proven.columns
        from anabranch.engines.spark import frame_types_of

        return frame_types_of(self.frame)

    @cached_property
    def frame(self) -> DataFrame:
        """The query as a Spark DataFrame."""
        engine = self.place.ctx.engines.spark()
        names = _sources(self.relations)
        frames = {n: r.frame(engine) for n, r in zip(names, self.relations, strict=True) if n and r is not None}
        return engine.run_text(splice(self.text, self.references, names), frames, self.args)

    def query(self) -> Query:
        """The query for its engine, under the names of its columns."""
        if self.proven is None:
            return reading_of(Frame(self.frame), [name for name, _ in self.columns])
        from anabranch.queries.proof_query import bound

        parts = {}
        for name, relation in zip(_sources(self.relations), self.relations, strict=True):
            assert relation is not None
            assert name is not None
            used = self.proven.used.get(name, frozenset())
            wanted = [n for n, _ in relation.columns if n in used] or [relation.columns[0][0]]
            parts[name] = relation.query(self.engine, wanted)
        found = bound(self.proven, parts)
        return Query(found.expression, found.sources, {**found.args, **self.args})

    def arrow(self) -> pa.Table:
        """Run the query and bring its rows into the process."""
        with self.watched():
            if self.proven is None:
                return self._from_spark()
            try:
                return self.engine.fetch(self.query())
            except InvalidRequest:
                # DuckDB may compute a value before a filter drops its row; Spark's word counts.
                engines = self.place.ctx.engines
                if not self.proven.may_fail or engines.setting == "duck" or not engines.has_spark:
                    raise
                return self._from_spark()

    def _from_spark(self) -> pa.Table:
        from anabranch.engines.spark import frame_to_memory

        return frame_to_memory(self.frame)

    def watched(self) -> ExitStack:
        """A block in which a failure to read is told as the damage that caused it."""
        stack = ExitStack()
        for relation in self.relations:
            if relation is not None:
                relation.watch(stack)
        return stack


def plan_query(place: Place, text: str, args: Mapping[str, Any] | None, frames: Mapping[str, Any]) -> Plan:
    """Resolve what a query reads, choose its engine, and let that engine look at it."""
    used_args(text, args)
    references = find_references(text)
    relations = [find_relation(place, r, args or {}, frames) for r in references]
    # A parameter may name a table or a version; those are filled in.
    given = used_args(splice(text, references, ["t"] * len(references)), args)
    plan = Plan(place, text, given, references, relations)
    proven, strange = _proof(plan)
    engines = place.ctx.engines
    only_spark = next((r.only_spark for r in relations if r is not None and r.only_spark), None)
    size = sum(r.size_bytes for r in relations if r is not None)
    engine = engines.pick(Work(size, engines.is_open, strange, only_spark), _told(text))
    made = Plan(place, text, given, references, relations, proven if engine.in_process else None, engine)
    _ = made.columns  # Spark analyses the query only now, if it runs on a server.
    return made


def _told(text: str) -> str:
    return f"the query {' '.join(text.split())[:60]!r}"


def _proof(plan: Plan) -> tuple[ProvenQuery | None, str | None]:
    """The query in DuckDB's form, or what in it only Spark runs."""
    engines = plan.place.ctx.engines
    if engines.setting == "spark" or (engines.setting == "auto" and engines.is_open):
        return None, None
    from anabranch.queries.proof_query import prove_query

    if any(r is None for r in plan.relations):
        return None, "a table of the Spark session"
    names = _sources(plan.relations)
    columns = {n: r.columns for n, r in zip(names, plan.relations, strict=True) if n and r is not None}
    spliced = splice(plan.text, plan.references, [f"`{n}`" for n in names])
    try:
        return prove_query(spliced, columns, plan.args), None
    except Unproven as problem:
        return None, str(problem)


def used_args(text: str, args: Mapping[str, Any] | None) -> dict[str, Any]:
    """The arguments that a text has markers for; one that is missing is refused."""
    given = dict(args or {})
    wanted = {t.text[1:] for t in tokenize(text) if t.kind == "parameter"}
    missing = sorted(wanted - set(given))
    if missing:
        raise InvalidRequest(f"SQL has no value for :{missing[0]}", hint="give it in args=")
    for name in wanted:
        type_of_value(given[name], f"args[{name!r}]")
    return {name: given[name] for name in given if name in wanted}
