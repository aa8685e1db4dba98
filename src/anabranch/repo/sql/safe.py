"""Queries of somebody else's: only what is proven, in a process of its own, within limits."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from anabranch.errors import AnabranchError, InvalidRequest, NotFound, Unavailable
from anabranch.repo.context.context import Context
from anabranch.repo.read.sql_result import SqlResult
from anabranch.repo.sql.plan import Plan, only_on_spark, plan_query
from anabranch.repo.sql.relations import SqlPlace
from anabranch.settings import SafeSettings
from anabranch.sql.parse import parse_script
from anabranch.sql.statements import SqlQuery

if TYPE_CHECKING:
    import pyarrow as pa

    from anabranch.engines.engine import Engine
    from anabranch.engines.spark import DataFrame
    from anabranch.model.types import DataType

log = logging.getLogger("anabranch.sql")


@dataclass(frozen=True)
class SafePlan:
    """A proven query that runs in a process of its own."""

    plan: Plan
    limits: SafeSettings

    @property
    def columns(self) -> tuple[tuple[str, DataType | None], ...]:
        """Names and types of the result; None for a column of only nulls."""
        return self.plan.columns

    @property
    def engine(self) -> Engine:
        return self.plan.engine

    @property
    def unpublished(self) -> bool:
        return False

    @property
    def frame(self) -> DataFrame:
        """Refused: Spark never runs such a query."""
        raise InvalidRequest("Spark never runs a query with safe=", hint="read it with arrow() or pandas()")

    def arrow(self) -> pa.Table:
        """Run the query and bring its rows into this process."""
        from anabranch.engines.duck_apart import Apart

        limits = Apart(
            seconds=self.limits.seconds,
            memory_bytes=self.limits.memory_bytes,
            row_limit=self.limits.row_limit,
        )
        with hiding_places(), self.plan.watched():
            return self.plan.place.ctx.engines.duck().fetch_apart(self.plan.query(), limits)


def run_safe(
    ctx: Context, text: str, ref: str | None, args: Mapping[str, Any], frames: Mapping[str, Any], limits: SafeSettings
) -> SqlResult:
    """Plan the only query of a text; it runs when its rows are asked for."""
    if len(text) > limits.text_limit:
        message = f"the query has {len(text)} characters; with safe= it may have {limits.text_limit}"
        raise InvalidRequest(message, hint="ask for less at a time")
    ctx.engines.check_room()
    with hiding_places():
        statements = parse_script(text)
        if len(statements) != 1 or not isinstance(statements[0], SqlQuery):
            raise InvalidRequest("with safe=, SQL is one query", hint="such as SELECT * FROM orders")
        with ctx.catalog.read() as cx:
            branch = ctx.default_branch(cx)
        place = SqlPlace(ctx, branch, ref, safe=True)
        plan = plan_query(place, statements[0].text, args, frames)
        return SqlResult(statements[0], ctx, _plan=SafePlan(plan, limits))


@contextmanager
def hiding_places() -> Iterator[None]:
    """Keep addresses of files and servers from whoever wrote the query; the log has them."""
    try:
        yield
    except AnabranchError as error:
        if "only_spark" in error.facts:
            raise only_on_spark(error.facts["only_spark"]) from error
        if isinstance(error, (InvalidRequest, NotFound)) and not _OF_FILES.search(str(error)):
            raise
        log.warning("a query with safe= failed: %s", error)
        raise Unavailable("what the query reads cannot be read", hint="whoever runs it finds why in the log") from error


_OF_FILES = re.compile(r"\.parquet\b|read_parquet")
"""What DuckDB's messages have of the files that it reads."""
