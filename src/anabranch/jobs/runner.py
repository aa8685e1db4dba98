"""Runs on Spark's executors: one shard after another, each attempt in a folder of its own.

This module and the workplace are sent to executors by value, and import nothing of ours there. An attempt writes its
output, then offers a manifest; the workplace decides which attempt counts, and a loser removes its own output. So
retries, speculation, lost executors and recomputed stages yield one output per shard, of one attempt.
"""

from __future__ import annotations

import inspect
import json
import time
import traceback
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

ROWS_A_BATCH = 10_000
LINES_KEPT = 1000
"""How many lines of a shard's log are kept."""
UNSEEN = "unseen"
"""Key of the reason that is returned instead of a manifest if the workplace can't be reached."""


@dataclass(frozen=True)
class ShardTask:
    """What executors need to know of a job."""

    place: Any
    """The job's `Workplace`, which all executors see."""
    function: Any
    count: int
    params: Mapping[str, Any]
    files: Mapping[str, list[list[dict[str, Any]]]] = field(default_factory=dict)
    """By input and shard: files, each with its path and the parts of packs that hold its bytes."""
    deleted: Mapping[str, list[list[Any]]] = field(default_factory=dict)
    """By input and shard: what is gone since the last run."""
    tables: tuple[str, ...] = ()
    """Inputs whose rows are below `inputs` in the workplace."""
    whole: tuple[str, ...] = ()
    """Inputs that each shard gets whole."""
    schema: Any = None
    """The Arrow schema of the output rows, if known."""


@dataclass(frozen=True)
class ShardFile:
    """A file that a shard reads."""

    path: str
    size: int
    _parts: list[dict[str, Any]]
    _place: Any = None

    def read(self) -> bytes:
        """Read the whole file."""
        return b"".join(self._pieces())

    def text(self, encoding: str = "utf-8") -> str:
        """Read the whole file as text."""
        return self.read().decode(encoding)

    def lines(self, encoding: str = "utf-8") -> Iterator[str]:
        """Read the file line by line, without line ends."""
        left = b""
        for piece in self._pieces():
            *whole, left = (left + piece).split(b"\n")
            yield from (line.decode(encoding).removesuffix("\r") for line in whole)
        if left:
            yield left.decode(encoding)

    def _pieces(self) -> Iterator[bytes]:
        for part in self._parts:
            if "content" in part:
                yield part["content"]
                continue
            with self._place.open_object(part["file"]) as stream:
                stream.seek(part["start"])
                yield bytes(stream.read(part["size"]))


class JobShard:
    """What a job's function gets: its part of the inputs, and a place for the files that it makes."""

    def __init__(self, task: ShardTask, number: int, folder: str) -> None:
        self._task, self._folder = task, folder
        self.number, self.count, self.params = number, task.count, dict(task.params)
        self._written: list[dict[str, Any]] = []
        self._log: list[str] = []

    def log(self, text: object) -> None:
        """Add a line to what `ana job logs` shows; of very many lines, the last are kept."""
        self._log = [*self._log[-LINES_KEPT + 1 :], str(text)]

    def files(self, name: str) -> list[ShardFile]:
        """This shard's files of an input; all of them if the input is whole."""
        dealt = self._known(self._task.files, name)[self.number]
        return [ShardFile(f["path"], f["size"], f["parts"], self._task.place) for f in dealt]

    def table(self, name: str) -> Iterator[Any]:
        """This shard's rows of an input, as Arrow record batches; all of them if the input is whole."""
        import pyarrow.parquet as pq

        if name not in self._task.tables:
            raise KeyError(f"the job has no table {name!r} among its inputs")
        place, folder = self._task.place, f"inputs/{name}"
        number = 0 if name in self._task.whole else self.number
        if "rows.arrow" in place.names(folder):
            yield from _dealt_here(place, folder, number)
            return
        folder = f"{folder}/shard={number}"
        for file in place.names(folder):
            if file.endswith(".parquet"):
                with place.open(f"{folder}/{file}") as source:
                    yield from pq.ParquetFile(source).iter_batches()

    def rows(self, name: str) -> Iterator[dict[str, Any]]:
        """This shard's rows of an input, as dicts."""
        for batch in self.table(name):
            yield from batch.to_pylist()

    def deleted(self, name: str) -> list[Any]:
        """What is gone from an input since the last run: paths of files, or rows; each is told to one shard."""
        dealt = self._task.deleted.get(name)
        return list(dealt[self.number]) if dealt else []

    def put(self, path: str, data: bytes | str) -> None:
        """Write a file of the output."""
        self._write("put", path, data)

    def append(self, path: str, data: bytes | str) -> None:
        """Append to a file of the output; what several shards append is joined in shard order."""
        self._write("append", path, data)

    def _write(self, verb: str, path: str, data: bytes | str) -> None:
        content = data.encode() if isinstance(data, str) else bytes(data)
        name = f"file-{len(self._written):06}"
        self._task.place.write(f"{self._folder}/{name}", content)
        self._written.append({"verb": verb, "path": path, "file": name, "size": len(content)})

    @staticmethod
    def _known(among: Mapping[str, Any], name: str) -> Any:
        if name not in among:
            raise KeyError(f"the job has no files {name!r} among its inputs")
        return among[name]


def _dealt_here(place: Any, folder: str, number: int) -> Iterator[Any]:
    """A shard's rows, from a file of all shards."""
    import pyarrow as pa

    (places,) = place.read([f"{folder}/places.json"])
    found = json.loads(places).get(str(number))
    if found is not None:
        with place.open(f"{folder}/rows.arrow") as source:
            yield pa.ipc.open_file(source).get_batch(found)


def run_shards(task: ShardTask, numbers: Sequence[int], batches: Iterable[Any]) -> Iterator[Any]:
    """Run the shards whose positions in `numbers` come in; yields each with its manifest."""
    import pyarrow as pa

    for batch in batches:
        for place in batch.column(0).to_pylist():
            number = numbers[place]
            described = run_shard(task, number)
            yield pa.RecordBatch.from_pydict(
                {"shard": pa.array([number], pa.int64()), "manifest": [json.dumps(described)]}
            )


def run_shard(task: ShardTask, number: int) -> dict[str, Any]:
    """Run one shard, unless an attempt at it has finished."""
    place, unseen = task.place, task.place.why_unseen()
    if unseen is not None:
        return {UNSEEN: unseen}
    if place.winners(number):
        return _winner(place, number)
    folder = f"attempts/{number:05}-{uuid.uuid4().hex}"
    shard, began = JobShard(task, number, folder), time.monotonic()
    try:
        row_count = _write_rows(task, shard, f"{folder}/rows.arrow")
    except Exception as error:
        said = {"shard": shard.number, "error": f"{type(error).__name__}: {error}", "trace": traceback.format_exc()}
        name = f"failed/{shard.number:05}-{uuid.uuid4().hex}.json"
        task.place.write(name, json.dumps({**said, "log": shard._log}).encode())
        place.remove(folder)
        raise
    took = {"seconds": round(time.monotonic() - began, 3), "log": shard._log}
    described = {"shard": number, "folder": folder, "rows": row_count, "files": shard._written, **took}
    if place.offer(number, json.dumps(described).encode()):
        return described
    place.remove(folder)
    return _winner(place, number)


def _winner(place: Any, number: int) -> dict[str, Any]:
    (content,) = place.read([place.winners(number)[number]])
    found: dict[str, Any] = json.loads(content)
    return found


def _write_rows(task: ShardTask, shard: JobShard, name: str) -> int:
    """Write the rows that the function returns; without a schema, their types are inferred at the end."""
    import pyarrow as pa

    made = task.function(shard)
    tables = list(_tables(made, task.schema)) if made is not None else []
    if not tables:
        return 0
    whole = pa.concat_tables(tables, promote_options="permissive")
    with task.place.sink(name) as sink, pa.ipc.new_file(sink, whole.schema) as writer:
        writer.write_table(whole, max_chunksize=ROWS_A_BATCH)
    return int(whole.num_rows)


def _tables(made: Any, schema: Any) -> Iterator[Any]:
    """What a function returned or yields: dicts, Arrow or pandas frames."""
    import pyarrow as pa

    waiting: list[dict[str, Any]] = []
    for item in made if inspect.isgenerator(made) or isinstance(made, list | tuple) else [made]:
        if isinstance(item, dict):
            waiting.append(item)
            if len(waiting) == ROWS_A_BATCH:
                yield pa.Table.from_pylist(waiting, schema=schema)
                waiting = []
            continue
        if isinstance(item, pa.RecordBatch):
            yield pa.Table.from_batches([item])
        elif isinstance(item, pa.Table):
            yield item
        elif hasattr(item, "iloc"):
            yield pa.Table.from_pandas(item, schema=schema, preserve_index=False)
        else:
            raise TypeError(f"a job's function gives dicts, Arrow or pandas frames; this is a {type(item).__name__}")
    if waiting:
        yield pa.Table.from_pylist(waiting, schema=schema)
