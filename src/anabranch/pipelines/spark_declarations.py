"""Loads files written for `pyspark.pipelines`: their decorators register with a registry of ours."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from anabranch.errors import InvalidRequest, Unavailable
from anabranch.jobs.inputs import DatasetInput
from anabranch.pipelines.datasets import Dataset
from anabranch.pipelines.declarations import Declarations
from anabranch.pipelines.sql_files import datasets_of
from anabranch.sql.references import find_references


@contextmanager
def declared_by_spark(into: Declarations, origin: str) -> Iterator[None]:
    """A block in which Spark's own decorators declare datasets for us."""
    try:
        from pyspark.pipelines.graph_element_registry import graph_element_registration_context
    except ImportError as error:
        hint = "install PySpark 4.1 or newer, or import anabranch.pipelines instead"
        raise Unavailable(f"{origin} is written for pyspark.pipelines, which is not there", hint=hint) from error
    registry: Any = _Registry(into, origin)
    with graph_element_registration_context(registry):
        yield
    registry.finish()


class _Registry:
    """Receives what Spark's decorators register: an output, then the flow that fills it."""

    def __init__(self, into: Declarations, origin: str) -> None:
        self._into, self._origin = into, origin
        self._outputs: dict[str, Any] = {}

    def register_output(self, output: Any) -> None:
        kind = type(output).__name__
        if kind not in ("MaterializedView", "TemporaryView"):
            raise self._refused({"StreamingTable": "a streaming table", "Sink": "a sink"}.get(kind, kind), output.name)
        self._outputs[output.name] = output

    def register_flow(self, flow: Any) -> None:
        output = self._outputs.pop(flow.target, None)
        if output is None:
            raise self._refused("an append flow", flow.name)
        kind = "temporary_view" if type(output).__name__ == "TemporaryView" else "materialized_view"
        self._into.written.append(
            Dataset(
                output.name,
                kind,  # type: ignore[arg-type]
                flow.func,
                inputs={name: DatasetInput(name) for name in session_reads(flow.func)},
                comment=output.comment,
                properties=dict(getattr(output, "table_properties", None) or {}),
                origin=self._origin,
                reads_session=True,
            )
        )

    def register_auto_cdc_flow(self, flow: Any) -> None:
        raise self._refused("an auto CDC flow", getattr(flow, "name", "?"))

    def register_sql(self, sql_text: str, file_path: Any) -> None:
        self._into.written += datasets_of(sql_text, str(file_path))

    def finish(self) -> None:
        """Refuse outputs that nothing fills."""
        for name in self._outputs:
            raise InvalidRequest(f"{self._origin}: nothing fills {name!r}", hint="give it a query function")

    def _refused(self, what: str, name: str) -> InvalidRequest:
        hint = "use a materialized view; `mode=` and `incremental_by=` of anabranch.pipelines read only what is new"
        return InvalidRequest(f"{self._origin}: {name!r} is {what}, which is not supported", hint=hint)


def session_reads(function: Callable[..., Any]) -> list[str]:
    """The tables that a function reads by name: `spark.table("t")`, `spark.read.table("t")`, `spark.sql("…")`."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    found: list[str] = []
    for node in ast.walk(tree):
        match node:
            case ast.Call(ast.Attribute(_, "table"), [name, *_]):
                found.append(_written(name))
            case ast.Call(ast.Attribute(_, "sql"), [text, *_]):
                found += _tables_in(_written(text))
    return [name for name in dict.fromkeys(found) if _COMPUTED not in name]


_COMPUTED = "_computed_when_called_"
"""Stands for the parts of a text that only a call knows."""


def _written(node: ast.AST) -> str:
    """The text that an expression writes out: a literal, an f-string or a sum of such."""
    match node:
        case ast.Constant(str(text)):
            return text
        case ast.JoinedStr(parts):
            return "".join(map(_written, parts))
        case ast.BinOp(left, ast.Add(), right):
            return _written(left) + _written(right)
    return _COMPUTED


def _tables_in(text: str) -> list[str]:
    try:
        return [r.name for r in find_references(text) if not r.frame]
    except InvalidRequest:
        if _COMPUTED in text:
            return []
        raise
