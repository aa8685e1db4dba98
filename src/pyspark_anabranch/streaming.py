"""Reads the change feed: as a stream whose offsets are commits, or all at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from anabranch import Repository
from pyspark_anabranch.options import SourceOptions
from pyspark_anabranch.reading import as_spark_expects

_FEED_COLUMN_COUNT = 3


@dataclass
class CommitsPartition(InputPartition):
    """The commits after one, up to another, for one task; None is before the first."""

    since: str | None
    to: str


class ChangesReader(DataSourceReader):
    """Reads the changes after `since`, up to a commit."""

    def __init__(self, asked: SourceOptions, commit: str, schema: StructType) -> None:
        self._asked, self._commit, self._schema = asked, commit, schema

    def partitions(self) -> list[InputPartition]:
        with self._asked.opened() as repo:
            return [CommitsPartition(_since(repo, self._asked), self._commit)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return read_changes(self._asked, partition, self._schema)


class ChangeStream(DataSourceStreamReader):
    """Follows a branch: an offset is the hash of the last commit read.

    If the branch is reset to before that commit, or elsewhere, the stream ends with an error that says so.
    """

    def __init__(self, asked: SourceOptions, schema: StructType) -> None:
        self._asked, self._schema = asked, schema

    def initialOffset(self) -> dict[str, str | None]:
        with self._asked.opened() as repo:
            return {"commit": _since(repo, self._asked)}

    def latestOffset(self, start: dict[str, Any] | None = None, limit: Any = None) -> dict[str, Any]:
        """The head, or `start` if no commit since touched the table. PySpark before 4.2 passes no arguments."""
        with self._asked.opened() as repo:
            head = repo.show(self._asked.at).hash
            if start is None or repo.changes(self._asked.table, start["commit"], head).commits:
                return {"commit": head}
            return start

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        return [] if start == end else [CommitsPartition(start["commit"], end["commit"])]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return read_changes(self._asked, partition, self._schema)


def read_changes(asked: SourceOptions, partition: InputPartition, schema: StructType) -> Iterator[pa.RecordBatch]:
    """Read the changes of some commits, oldest first, with the columns that the query started with."""
    assert isinstance(partition, CommitsPartition)
    columns = schema.fieldNames()[:-_FEED_COLUMN_COUNT]
    with asked.opened() as repo:
        feed = repo.changes(asked.table, partition.since, partition.to, columns=columns, where=asked.where)
        yield from as_spark_expects(feed.arrow().to_batches(), schema)


def _since(repo: Repository, asked: SourceOptions) -> str | None:
    return None if asked.since is None else repo.show(asked.since).hash
