"""Reads a table at a commit: each partition is some of the objects that hold its rows, with all changes to them."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from anabranch import Repository
from anabranch.repo.read.parts import TablePart, part_batches, split_table
from pyspark_anabranch.options import SourceOptions

NamedColumn = tuple[str, str, bool]
"""Name, Spark's text for the type, and whether it is nullable."""


@dataclass
class PartPartition(InputPartition):
    """A part of a table, for one task."""

    part: TablePart


class TableReader(DataSourceReader):
    """Reads a table at a commit."""

    def __init__(self, asked: SourceOptions, commit: str, schema: StructType) -> None:
        self._asked, self._commit, self._schema = asked, commit, schema

    def partitions(self) -> list[InputPartition]:
        """Split by size; all parts are of one commit, whoever folds or commits in the meantime."""
        asked = self._asked
        with asked.opened() as repo:
            table = repo.table(asked.table, at=self._commit, columns=asked.columns, where=asked.where)
            return [PartPartition(part) for part in split_table(table, asked.part_bytes)]

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        if not isinstance(partition, PartPartition):  # Spark makes its own if there is none
            return
        with self._asked.opened() as repo, part_batches(repo._ctx, partition.part) as (_, batches):
            yield from as_spark_expects(batches, self._schema)


def columns_of_table(repo: Repository, asked: SourceOptions, commit: str) -> list[NamedColumn]:
    """The columns of the table at a commit."""
    table = repo.table(asked.table, at=commit, columns=asked.columns, where=asked.where)
    return [(c.name, str(c.type), c.nullable) for c in table.schema]


def columns_of_changes(repo: Repository, asked: SourceOptions, commit: str) -> list[NamedColumn]:
    """The columns of the change feed at a commit."""
    feed = repo.changes(asked.table, commit, commit, columns=asked.columns, where=asked.where)
    return [(name, str(type_), True) for name, type_ in feed.columns]


def ddl_of(columns: Iterable[NamedColumn]) -> str:
    """Columns as Spark's DDL."""
    return ", ".join(
        f"`{name.replace('`', '``')}` {type_}{'' if nullable else ' NOT NULL'}" for name, type_, nullable in columns
    )


def as_spark_expects(batches: Iterable[pa.RecordBatch], schema: StructType) -> Iterator[pa.RecordBatch]:
    """Cast batches to exactly the Arrow types that Spark expects."""
    expected = arrow_schema(schema)
    for batch in batches:
        yield from pa.Table.from_batches([batch]).cast(expected).to_batches()


def arrow_schema(schema: StructType) -> pa.Schema:
    """Spark's schema in Arrow; Spark 4.2 and later take a time zone."""
    zone: dict[str, Any] = {"timezone": "UTC"} if "timezone" in inspect.signature(to_arrow_schema).parameters else {}
    return to_arrow_schema(schema, **zone)
