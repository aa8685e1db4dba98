"""Queries as text for each engine."""

from __future__ import annotations

from sqlglot import exp

from anabranch.queries.query import Files, Query


def duck_sql(query: Query) -> str:
    """Render for DuckDB: files are read by a function, rows by their registered name."""
    tree = query.expression.copy()
    for node in list(tree.walk()):
        if isinstance(node, exp.Table):
            source = query.sources.get(node.name)
            if isinstance(source, Files):
                node.set("this", _read_parquet(source))
        elif isinstance(node, exp.ArgMax):
            # DuckDB's own arg_max passes over nulls; the last value of a cell may be null.
            node.replace(exp.Anonymous(this="arg_max_null", expressions=[node.this, node.expression]))
        elif isinstance(node, exp.Select) and node.args.get("hint"):
            node.set("hint", None)
    return tree.sql(dialect="duckdb")


def duck_text(value: str) -> str:
    """A string as DuckDB reads it."""
    return exp.Literal.string(value).sql(dialect="duckdb")


def spark_sql(query: Query) -> str:
    """Render for Spark: sources in braces, which it binds to DataFrames; other braces are doubled."""
    text = query.expression.sql(dialect="spark").replace("{", "{{").replace("}", "}}")
    for name in query.sources:
        text = text.replace(f"`{name}`", f"{{{name}}}")
    return text


def _read_parquet(source: Files) -> exp.Anonymous:
    paths = exp.Array(expressions=[exp.Literal.string(u) for u in source.uris])
    return exp.Anonymous(this="read_parquet", expressions=[paths])
