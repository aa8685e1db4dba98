"""Run one query in a process of its own that can neither read nor write anything but what it was given.

`duck_apart.py` starts it. The query is a stranger's, so limits are set before it runs, and rows and
failures go back as data: nothing that this process says is run by the one that asked.
"""

from __future__ import annotations

import contextlib
import json
import pickle
import resource
import struct
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import duckdb
import pyarrow as pa

from anabranch.engines.duck_functions import register

ROWS, FAILED, DONE = b"r", b"f", b"d"
"""Kinds of a message: a part of the rows, a failure, the end. Each has its length in front."""
OUT_OF_MEMORY, TOO_MANY_ROWS, TOO_MANY_BYTES = "memory", "rows", "bytes"
"""Kinds of failures beside those of DuckDB, which are called as its classes are."""
HEAD = struct.Struct("<cQ")
BATCH_ROWS = 1024
_OPEN_FILES = 256


@dataclass(frozen=True)
class ApartTask:
    """A query as text, the rows that it reads, and what it may take."""

    text: str
    args: dict[str, Any]
    tables: dict[str, bytes]
    """Rows by the name that the text has for them, as Arrow streams."""
    files: str
    """The files that it may read, as DuckDB writes a list of texts."""
    seconds: float
    memory_bytes: int
    row_limit: int


def main() -> None:
    """Read a task, run it, and write its rows or why it failed."""
    task: ApartTask = pickle.load(sys.stdin.buffer)
    out = sys.stdout.buffer
    try:
        _run(task, out)
    except duckdb.Error as error:
        _fail(out, type(error).__name__, str(error))
    except (MemoryError, pa.ArrowMemoryError):
        _fail(out, OUT_OF_MEMORY)


def _run(task: ApartTask, out: BinaryIO) -> None:
    database = _database(task)  # keeps our functions alive
    cursor = _prepared(database, task)
    _limit_process(task)
    row_count = 0
    size_bytes = 0
    with cursor.sql(task.text, params=task.args or None).to_arrow_reader(BATCH_ROWS) as reader:
        _send(out, ROWS, _stream(reader.schema.empty_table()))
        for batch in reader:
            part = _stream(pa.Table.from_batches([batch]))
            row_count += batch.num_rows
            size_bytes += len(part)
            if row_count > task.row_limit or size_bytes > task.memory_bytes:
                _fail(out, TOO_MANY_ROWS if row_count > task.row_limit else TOO_MANY_BYTES)
                return
            _send(out, ROWS, part)
    _send(out, DONE, b"")


def _database(task: ApartTask) -> duckdb.DuckDBPyConnection:
    """An empty database in memory that spills nothing."""
    database = duckdb.connect(
        config={
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "memory_limit": f"{task.memory_bytes}B",
            "temp_directory": "",
            "threads": 1,
        }
    )
    register(database)
    return database


def _prepared(database: duckdb.DuckDBPyConnection, task: ApartTask) -> duckdb.DuckDBPyConnection:
    """A cursor that reads the task's files and tables, and whose settings are locked."""
    cursor = database.cursor()
    cursor.execute("SET TimeZone = 'UTC'")
    for name, rows in task.tables.items():
        cursor.register(name, pa.ipc.open_stream(rows).read_all())
    cursor.execute(f"SET allowed_paths = {task.files}")
    cursor.execute("SET enable_external_access = false")
    cursor.execute("SET lock_configuration = true")
    return cursor


def _limit_process(task: ApartTask) -> None:
    """Have the system refuse memory, time and files past the task's limits."""
    seconds = int(task.seconds) + 1
    _limit(resource.RLIMIT_CPU, seconds)
    _limit(resource.RLIMIT_FSIZE, 0)
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_NOFILE, _OPEN_FILES)
    _limit(resource.RLIMIT_DATA, _data_bytes() + task.memory_bytes)


def _limit(what: int, most: int) -> None:
    _, hard = resource.getrlimit(what)
    allowed = most if hard == resource.RLIM_INFINITY else min(most, hard)
    with contextlib.suppress(ValueError):  # a system that has no such limit
        resource.setrlimit(what, (allowed, allowed))


def _data_bytes() -> int:
    """The memory that this process has taken for data; 0 where the system does not say."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return 0
    found = next((line for line in lines if line.startswith("VmData:")), "VmData: 0 kB")
    return int(found.split()[1]) * 1024


def _stream(rows: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    return bytes(sink.getvalue())


def _send(out: BinaryIO, kind: bytes, content: bytes) -> None:
    out.write(HEAD.pack(kind, len(content)) + content)
    out.flush()


def _fail(out: BinaryIO, kind: str, message: str = "") -> None:
    _send(out, FAILED, json.dumps([kind, message]).encode())
