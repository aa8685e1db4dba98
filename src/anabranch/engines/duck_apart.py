"""Run a stranger's query in a process of its own, with limits that it cannot pass."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any

import duckdb
import pyarrow as pa

from anabranch.arrow.plain import plain
from anabranch.engines.duck_child import (
    DONE,
    FAILED,
    HEAD,
    OUT_OF_MEMORY,
    TOO_MANY_BYTES,
    TOO_MANY_ROWS,
    ApartTask,
)
from anabranch.errors import InvalidRequest, Unavailable
from anabranch.queries.rendering import duck_text

_BEGIN = "import sys; sys.path[:] = sys.argv[1:]; from anabranch.engines.duck_child import main; main()"
_KEPT_VARIABLES = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "PATH")
_RENDERED_BYTES = 1 << 16


@dataclass(frozen=True)
class Apart:
    """What a query in a process of its own may take."""

    seconds: float
    memory_bytes: int
    row_limit: int


@dataclass(frozen=True)
class ApartQuery:
    """A query in DuckDB's text, with the rows and the files that it reads."""

    text: str
    args: Mapping[str, Any]
    tables: Mapping[str, pa.Table]
    files: Sequence[str]


def fetch_apart(request: ApartQuery, limits: Apart, translate: Callable[[duckdb.Error], Exception]) -> pa.Table:
    """Run a query in a process of its own and return its rows.

    The process is killed when its time is up, and is gone when this returns.
    """
    task = pickle.dumps(_task(request, limits))
    with _started() as process, _killed_after(limits.seconds, process) as alarm:
        assert process.stdin is not None
        assert process.stdout is not None
        _give(process.stdin, task)
        answer = _Answer(process.stdout, limits)
        answer.read()
    if answer.is_whole:
        return plain(pa.concat_tables(answer.parts))
    if alarm.is_set():
        raise _past_limit(f"took longer than {limits.seconds:g} s", "seconds")
    raise _failure(answer.failure, limits, translate)


def _task(request: ApartQuery, limits: Apart) -> ApartTask:
    return ApartTask(
        text=request.text,
        args=dict(request.args),
        tables={name: _stream(rows) for name, rows in request.tables.items()},
        files=f"[{', '.join(duck_text(path) for path in request.files)}]",
        seconds=limits.seconds,
        memory_bytes=limits.memory_bytes,
        row_limit=limits.row_limit,
    )


def _stream(rows: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    return bytes(sink.getvalue())


@contextmanager
def _started() -> Iterator[subprocess.Popen[bytes]]:
    """Start this Python with nothing of ours but the path of its modules; it is gone at the end."""
    folders = [os.path.abspath(folder) for folder in sys.path if folder]
    variables = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    variables["MALLOC_ARENA_MAX"] = "1"
    try:
        process = subprocess.Popen(
            [sys.executable, "-I", "-c", _BEGIN, *folders],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env=variables,
        )
    except OSError as error:
        hint = "sys.executable must be the Python that runs this"
        raise Unavailable("no process could be started for the query", hint=hint) from error
    try:
        yield process
    finally:
        process.kill()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None and not pipe.closed:
                _close(pipe)
        process.wait()


@contextmanager
def _killed_after(seconds: float, process: subprocess.Popen[bytes]) -> Iterator[threading.Event]:
    """Kill a process once its time is up, and note that in the event."""
    rang = threading.Event()

    def ring() -> None:
        rang.set()
        process.kill()

    timer = threading.Timer(seconds, ring)
    timer.daemon = True
    timer.start()
    try:
        yield rang
    finally:
        timer.cancel()


def _give(pipe: IO[bytes], content: bytes) -> None:
    """Write to a process that may have ended; then its answer says why."""
    try:
        pipe.write(content)
    except BrokenPipeError:
        return
    _close(pipe)


def _close(pipe: Any) -> None:
    try:
        pipe.close()
    except BrokenPipeError:
        return


class _Answer:
    """The messages of the process, held to the limits whatever it says."""

    def __init__(self, source: Any, limits: Apart) -> None:
        self.parts: list[pa.Table] = []
        self.failure: list[str] = []
        self.is_whole = False
        self._source, self._limits = source, limits

    def read(self) -> None:
        """Read up to the end, a failure or a limit."""
        size_bytes = 0
        while len(head := self._source.read(HEAD.size)) == HEAD.size:
            kind, size = HEAD.unpack(head)
            size_bytes += size
            if size_bytes > self._limits.memory_bytes + _RENDERED_BYTES:
                self.failure = [TOO_MANY_BYTES, ""]
                return
            content = self._source.read(size)
            if len(content) < size:
                return
            if kind == DONE:
                self.is_whole = bool(self.parts)
                return
            if kind == FAILED:
                self.failure = json.loads(content)
                return
            self.parts.append(pa.ipc.open_stream(content).read_all())


def _failure(failure: Sequence[str], limits: Apart, translate: Callable[[duckdb.Error], Exception]) -> Exception:
    if not failure:
        return _past_limit(f"ended its process; it may take {_size(limits)} of memory", "memory")
    kind, message = failure
    if kind == TOO_MANY_ROWS:
        hint = "LIMIT the query, or group its rows"
        wanted = f"the query gives more than {limits.row_limit} rows, which is all that it may"
        return InvalidRequest(wanted, hint=hint, limit="rows")
    if kind == TOO_MANY_BYTES:
        return _past_limit(f"gives more than {_size(limits)} of rows", "memory")
    found = _duck_error(kind)
    if kind == OUT_OF_MEMORY or found is duckdb.OutOfMemoryException:
        return _past_limit(f"needs more than {_size(limits)} of memory", "memory")
    return translate(found(message))


def _duck_error(name: str) -> type[duckdb.Error]:
    found = getattr(duckdb, name, None)
    return found if isinstance(found, type) and issubclass(found, duckdb.Error) else duckdb.Error


def _past_limit(what: str, limit: str) -> InvalidRequest:
    hint = "ask for less: fewer rows, fewer tables, a narrower condition"
    return InvalidRequest(f"the query {what}", hint=hint, limit=limit)


def _size(limits: Apart) -> str:
    return f"{limits.memory_bytes >> 20} MB"
