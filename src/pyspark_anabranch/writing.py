"""Writes a DataFrame as one commit: tasks write files that nobody sees, and the driver takes one attempt's of each.

Its commit carries the write's identity, and a write that the branch has is not repeated."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from anabranch import Commit, InvalidRequest, NotFound, Repository, Transaction
from anabranch.model.facts import SPARK_WRITE, OwnFact
from anabranch.repo.branches.workbook import Workplace
from pyspark_anabranch.options import SourceOptions
from pyspark_anabranch.reading import arrow_schema


@dataclass
class PartitionFile(WriterCommitMessage):
    """What a task wrote; nothing, if there is no name."""

    name: str | None
    row_count: int


class CommitWriter(DataSourceArrowWriter):
    """Writes rows to a table of a branch: all of them in one commit, or none."""

    def __init__(self, asked: SourceOptions, schema: StructType, overwrite: bool) -> None:
        self._asked, self._schema, self._overwrite = asked, schema, overwrite
        with asked.opened() as repo:
            self._branch = repo.find_branch(repo.default_branch if asked.branch is None else asked.branch).name
            _check_table(repo, asked, self._branch, schema)
            self._place = repo.workbook.place(f"write-{uuid.uuid4().hex}")
            self._place.make()
        self._identity = WriteIdentity(SPARK_WRITE, {"id": asked.write_id or uuid.uuid4().hex})

    def write(self, iterator: Iterator[pa.RecordBatch]) -> PartitionFile:
        """Write one task's rows to a file of this attempt's own."""
        first = next(iterator, None)
        if first is None:
            return PartitionFile(None, 0)
        name = f"part-{uuid.uuid4().hex}.parquet"
        return PartitionFile(name, _write_file(self._place, name, first, iterator))

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Publish the files that the messages name; then remove all files, those of other attempts included."""
        asked, verb = self._asked, "overwrite" if self._overwrite else "append to"
        with asked.opened() as repo:
            try:
                rows = self._rows(messages)
                said = asked.message or f"{verb} {asked.table}"
                publish_once(repo, self._branch, said, self._identity, lambda tx: self._write_rows(tx, rows))
            finally:
                self._place.remove()

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Remove the files of all attempts."""
        self._place.remove()

    def _rows(self, messages: list[WriterCommitMessage | None]) -> pa.Table:
        written = [m for m in messages if isinstance(m, PartitionFile)]
        tables = [_read_file(self._place, m.name) for m in written if m.name is not None]
        rows = pa.concat_tables(tables) if tables else arrow_schema(self._schema).empty_table()
        expected = sum(m.row_count for m in written)
        if rows.num_rows != expected:
            message = f"the tasks wrote {expected} rows, the driver finds {rows.num_rows} in {self._place.path}"
            raise NotFound(message, hint="let executors and driver see the store under one path")
        return rows

    def _write_rows(self, tx: Transaction, rows: pa.Table) -> None:
        asked = self._asked
        if asked.key and asked.table not in {name for name, kind, _ in tx.all_names() if kind == "table"}:
            tx.create_table(asked.table, rows, key=asked.key)
        elif self._overwrite:
            tx.table(asked.table).overwrite(rows)
        elif rows.num_rows:
            tx.table(asked.table).insert(rows)


def _check_table(repo: Repository, asked: SourceOptions, branch: str, schema: StructType) -> None:
    """Refuse what the table can't take, before any task runs."""
    try:
        table = repo.table(asked.table, at=branch)
    except NotFound as error:
        if asked.key:
            return
        hint = "name one that is there, or make it with this write: .option('key', 'id')"
        raise NotFound(error.message, hint=hint) from error
    if asked.key and asked.key != table.key:
        message = f"{asked.table!r} has the key ({', '.join(table.key)}), asked for ({', '.join(asked.key)})"
        raise InvalidRequest(message, hint="leave option 'key' out: it is for tables that this write makes")
    unknown = [name for name in schema.fieldNames() if table.schema.find(name) is None]
    if unknown:
        hint = f"the table has {', '.join(table.schema.names[:20])}"
        raise InvalidRequest(f"{asked.table!r} has no column {unknown[0]!r}", hint=hint)


def _write_file(place: Workplace, name: str, first: pa.RecordBatch, rest: Iterator[pa.RecordBatch]) -> int:
    row_count = int(first.num_rows)
    with place.sink(name) as sink, pq.ParquetWriter(sink, first.schema) as file:
        file.write_batch(first)
        for batch in rest:
            file.write_batch(batch)
            row_count += batch.num_rows
    return row_count


def _read_file(place: Workplace, name: str) -> pa.Table:
    with place.open(name) as source:
        return pq.read_table(source)


_RETRIES = 10


@dataclass(frozen=True)
class WriteIdentity:
    """The fact that identifies a write."""

    fact: OwnFact
    value: dict[str, Any]


def publish_once(
    repo: Repository, branch: str, message: str, identity: WriteIdentity, write: Callable[[Transaction], Any]
) -> Commit | None:
    """Make one commit, unless the branch has one of this write; None if so, or if nothing changed.

    The branch is searched only after the commit has begun, and a strict commit fails if anybody wrote the table since:
    of two concurrent attempts at the same write, one is published, and the other finds it on its retry.
    """

    def write_if_new(tx: Transaction) -> None:
        if not any(value == identity.value for _, value in repo.workbook.facts(identity.fact, branch)):
            write(tx)

    asked = repo.commit(branch, message, strict=True, facts=identity.fact.facts(identity.value), retry=_RETRIES)
    return asked(write_if_new)
