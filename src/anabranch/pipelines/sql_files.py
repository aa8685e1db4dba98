"""SQL files of a pipeline: CREATE MATERIALIZED VIEW and CREATE TEMPORARY VIEW; constraints are expectations."""

from __future__ import annotations

from dataclasses import dataclass, field

from anabranch.errors import InvalidRequest
from anabranch.jobs.inputs import DatasetInput
from anabranch.pipelines.datasets import Dataset, DatasetKind, Expectation, Verdict
from anabranch.plan.pipeline import Refresh
from anabranch.sql.cursor import Cursor
from anabranch.sql.grammar.tokens import Token, syntax_error, tokenize
from anabranch.sql.parse import parse_one, split
from anabranch.sql.references import find_references

_NOT_HERE = {
    "STREAMING": "streaming tables are not supported: use a materialized view with `INCREMENTAL BY` or `APPEND`",
    "FLOW": "flows are not supported: declare a materialized view",
    "SINK": "sinks are not supported: publish a table, and follow its changes",
}


def datasets_of(text: str, origin: str) -> list[Dataset]:
    """The datasets that a file declares."""
    try:
        return [_dataset(text, tokens, origin) for tokens in split(tokenize(text))]
    except InvalidRequest as error:
        raise InvalidRequest(f"{origin}: {error.message}", hint=error.hint) from None


@dataclass
class _Clauses:
    key: tuple[str, ...] = ()
    refresh: Refresh = "full"
    group: str | None = None
    comment: str | None = None
    properties: dict[str, str] = field(default_factory=dict)
    expectations: list[Expectation] = field(default_factory=list)


def _dataset(text: str, tokens: list[Token], origin: str) -> Dataset:
    cursor = Cursor(text, tokens)
    kind = _kind(cursor)
    cursor.accept("IF", "NOT", "EXISTS")
    name, clauses = cursor.path("a name"), _Clauses()
    if cursor.accept_symbol("("):
        clauses.expectations = cursor.listed(lambda: _constraint(cursor))
        cursor.expect_symbol(")")
    while not cursor.sees("AS"):
        _clause(cursor, clauses)
    cursor.expect("AS")
    query = cursor.rest("a query")
    parse_one(query)  # check Spark's grammar before anything runs
    inputs = {r.name: DatasetInput(r.name) for r in find_references(query) if not r.frame}
    said = {**vars(clauses), "expectations": tuple(clauses.expectations)}
    return Dataset(name, kind, query=query, inputs=inputs, origin=origin, **said)


def _kind(cursor: Cursor) -> DatasetKind:
    cursor.expect("CREATE")
    cursor.accept("OR", "REFRESH") or cursor.accept("OR", "REPLACE")
    if cursor.token.word in _NOT_HERE:
        raise syntax_error(cursor.source, cursor.token.start, _NOT_HERE[cursor.token.word])
    if cursor.accept("MATERIALIZED", "VIEW"):
        return "materialized_view"
    if cursor.accept("TEMPORARY", "VIEW") or cursor.accept("TEMP", "VIEW"):
        return "temporary_view"
    raise cursor.error()


def _constraint(cursor: Cursor) -> Expectation:
    cursor.expect("CONSTRAINT")
    name = cursor.name("a name")
    cursor.expect("EXPECT")
    condition, verdict = cursor.in_brackets_text("a condition"), "count"
    if cursor.accept("ON", "VIOLATION"):
        verdict = "drop" if cursor.accept("DROP", "ROW") else "fail"
        if verdict == "fail":
            cursor.expect("FAIL", "UPDATE")
    found: Verdict = verdict  # type: ignore[assignment]
    return Expectation(name, condition, found)


def _clause(cursor: Cursor, clauses: _Clauses) -> None:
    if cursor.accept("KEY") or cursor.accept("PRIMARY", "KEY"):
        clauses.key = tuple(cursor.in_brackets(lambda: cursor.name("a column")))
    elif cursor.accept("INCREMENTAL", "BY"):
        clauses.refresh, clauses.group = "incremental_by", cursor.name("a column")
    elif cursor.accept("APPEND"):
        clauses.refresh = "append"
    elif cursor.accept("USING"):
        cursor.name("a format")  # how rows lie in files is the store's to decide
    elif cursor.accept("PARTITIONED", "BY") or cursor.accept("CLUSTER", "BY"):
        cursor.in_brackets(lambda: cursor.name("a column"))
    elif cursor.accept("COMMENT"):
        clauses.comment = cursor.string()
    elif cursor.accept("TBLPROPERTIES"):
        clauses.properties.update(cursor.in_brackets(lambda: _property(cursor)))
    else:
        raise cursor.error("AS")


def _property(cursor: Cursor) -> tuple[str, str]:
    name = cursor.string("a property's name in quotes")
    cursor.accept_symbol("=")
    return name, cursor.string("a value in quotes")
