"""Reading a table at a commit: each partition is some of the objects that hold its rows, with all changes on them."""

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
"""Name, type as Spark writes it, and whether it may be null."""


@dataclass
class PartPartition(InputPartition):
    """A part of a table, for one task."""

    part: TablePart


class TableReader(DataSourceReader):
    """Reads a table at a commit."""

    def __init__(self, asked: SourceOptions, commit: str, schema: StructType) -> None:
        self._asked, self._commit, self._schema = asked, commit, schema

    def partitions(self) -> list[InputPartition]:
        """Split by size; the parts are of one commit, whoever folds or commits meanwhile."""
        asked = self._asked
        with asked.opened() as repo:
            table = repo.table(asked.table, at=self._commit, columns=asked.columns, where=asked.where)
            return [PartPartition(part) for part in split_table(table, asked.part_bytes)]

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        if not isinstance(partition, PartPartition):  # Spark makes one of its own where there is none
            return
        with self._asked.opened() as repo, part_batches(repo._ctx, partition.part) as (_, batches):
            yield from as_spark_expects(batches, self._schema)


def columns_of_table(repo: Repository, asked: SourceOptions, commit: str) -> list[NamedColumn]:
    """The columns of the table at a commit."""
    table = repo.table(asked.table, at=commit, columns=asked.columns, where=asked.where)
    return [(c.name, str(c.type), c.nullable) for c in table.schema]


def columns_of_changes(repo: Repository, asked: SourceOptions, commit: str) -> list[NamedColumn]:
    """The columns of the feed of changes, as they are at a commit."""
    feed = repo.changes(asked.table, commit, commit, columns=asked.columns, where=asked.where)
    return [(name, str(type_), True) for name, type_ in feed.columns]


def ddl_of(columns: Iterable[NamedColumn]) -> str:
    """Columns as Spark's DDL."""
    return ", ".join(
        f"`{name.replace('`', '``')}` {type_}{'' if nullable else ' NOT NULL'}" for name, type_, nullable in columns
    )


def as_spark_expects(batches: Iterable[pa.RecordBatch], schema: StructType) -> Iterator[pa.RecordBatch]:
    """Give batches exactly the Arrow types that Spark compares them with."""
    expected = arrow_schema(schema)
    for batch in batches:
        yield from pa.Table.from_batches([batch]).cast(expected).to_batches()


def arrow_schema(schema: StructType) -> pa.Schema:
    """A schema of Spark's in Arrow; from 4.2 on, Spark asks which zone times are in."""
    zone: dict[str, Any] = {"timezone": "UTC"} if "timezone" in inspect.signature(to_arrow_schema).parameters else {}
    return to_arrow_schema(schema, **zone)
