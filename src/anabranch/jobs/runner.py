"""What runs on Spark's executors: one shard after the other, each attempt below a place of its own.

This module is sent to executors by value and imports nothing of ours there. An attempt writes its output, then makes
the shard's manifest by exclusive create: the first attempt wins, a later one gives its own up. So retries, speculation,
lost executors and recomputed stages give one output a shard, all of it of one attempt."""

from __future__ import annotations

import inspect
import json
import os
import shutil
import time
import traceback
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

ROWS_A_BATCH = 10_000
LINES_KEPT = 1000
"""How many lines of a shard's log are kept."""
UNSEEN: dict[str, Any] = {"unseen": True}
"""What is answered instead of a manifest where the job's folder is not there."""


@dataclass(frozen=True)
class ShardTask:
    """What executors need to know of a job."""

    prefix: str
    """A folder that all of them see."""
    function: Any
    count: int
    params: Mapping[str, Any]
    files: Mapping[str, list[list[dict[str, Any]]]] = field(default_factory=dict)
    """By input and shard: files, each with its path and the parts of packs that hold its bytes."""
    deleted: Mapping[str, list[Any]] = field(default_factory=dict)
    """By input: what is gone since the last run."""
    tables: tuple[str, ...] = ()
    """Inputs whose rows lie below `prefix/inputs`."""
    schema: Any = None
    """The Arrow schema of the rows that are made, if it is known."""


@dataclass(frozen=True)
class ShardFile:
    """A file that a shard reads."""

    path: str
    size: int
    _parts: list[dict[str, Any]]

    def read(self) -> bytes:
        """Read all of it."""
        return b"".join(self._pieces())

    def text(self, encoding: str = "utf-8") -> str:
        """Read all of it as text."""
        return self.read().decode(encoding)

    def lines(self, encoding: str = "utf-8") -> Iterator[str]:
        """Read it line by line, without line ends."""
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
            with open(part["file"], "rb") as stream:
                stream.seek(part["start"])
                yield stream.read(part["size"])


class JobShard:
    """What a job's function is given: its part of the inputs, and a place for files that it makes."""

    def __init__(self, task: ShardTask, number: int, folder: str) -> None:
        self._task, self._folder = task, folder
        self.number, self.count, self.params = number, task.count, dict(task.params)
        self._written: list[dict[str, Any]] = []
        self._log: list[str] = []

    def log(self, text: object) -> None:
        """Say something that `ana job logs` shows; of very many lines the last ones are kept."""
        self._log = [*self._log[-LINES_KEPT + 1 :], str(text)]

    def files(self, name: str) -> list[ShardFile]:
        """The files of an input that are this shard's."""
        return [ShardFile(f["path"], f["size"], f["parts"]) for f in self._known(self._task.files, name)[self.number]]

    def table(self, name: str) -> Iterator[Any]:
        """The rows of an input that are this shard's, as Arrow record batches."""
        import pyarrow.parquet as pq

        if name not in self._task.tables:
            raise KeyError(f"the job has no table {name!r} among its inputs")
        folder = os.path.join(self._task.prefix, "inputs", name)
        if os.path.exists(os.path.join(folder, "rows.arrow")):
            yield from _dealt_here(folder, self.number)
            return
        folder = os.path.join(folder, f"shard={self.number}")
        for file in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
            if file.endswith(".parquet"):
                yield from pq.ParquetFile(os.path.join(folder, file)).iter_batches()

    def rows(self, name: str) -> Iterator[dict[str, Any]]:
        """The rows of an input that are this shard's, as dicts."""
        for batch in self.table(name):
            yield from batch.to_pylist()

    def deleted(self, name: str) -> list[Any]:
        """What is gone from an input since the last run: paths of files, or rows."""
        return list(self._task.deleted.get(name, ()))

    def put(self, path: str, data: bytes | str) -> None:
        """Make a file of the output."""
        self._write("put", path, data)

    def append(self, path: str, data: bytes | str) -> None:
        """Append to a file of the output; what several shards append stands in their order."""
        self._write("append", path, data)

    def _write(self, verb: str, path: str, data: bytes | str) -> None:
        content = data.encode() if isinstance(data, str) else bytes(data)
        name = f"file-{len(self._written):06}"
        _write_synced(os.path.join(self._folder, name), content)
        self._written.append({"verb": verb, "path": path, "file": name, "size": len(content)})

    @staticmethod
    def _known(among: Mapping[str, Any], name: str) -> Any:
        if name not in among:
            raise KeyError(f"the job has no files {name!r} among its inputs")
        return among[name]


def _dealt_here(folder: str, number: int) -> Iterator[Any]:
    """The rows of a shard in a file of all shards."""
    import pyarrow as pa

    place = _read(os.path.join(folder, "places.json")).get(str(number))
    if place is not None:
        with pa.memory_map(os.path.join(folder, "rows.arrow")) as source:
            yield pa.ipc.open_file(source).get_batch(place)


def run_shards(task: ShardTask, numbers: Sequence[int], batches: Iterable[Any]) -> Iterator[Any]:
    """Run the shards whose places among `numbers` come in; gives each with its manifest."""
    import pyarrow as pa

    for batch in batches:
        for place in batch.column(0).to_pylist():
            number = numbers[place]
            described = run_shard(task, number)
            yield pa.RecordBatch.from_pydict(
                {"shard": pa.array([number], pa.int64()), "manifest": [json.dumps(described)]}
            )


def run_shard(task: ShardTask, number: int) -> dict[str, Any]:
    """Run one shard, unless an attempt at it has won already."""
    if not os.path.isdir(task.prefix):
        return UNSEEN
    manifest = manifest_path(task.prefix, number)
    if os.path.exists(manifest):
        return _read(manifest)
    folder = os.path.join(task.prefix, "attempts", f"{number:05}-{uuid.uuid4().hex}")
    os.makedirs(folder)
    shard, began = JobShard(task, number, folder), time.monotonic()
    try:
        row_count = _write_rows(task, shard, os.path.join(folder, "rows.arrow"))
    except Exception as error:
        _note_failure(task, shard, error)
        shutil.rmtree(folder, ignore_errors=True)
        raise
    took = {"seconds": round(time.monotonic() - began, 3), "log": shard._log}
    described = {
        "shard": number,
        "folder": os.path.basename(folder),
        "rows": row_count,
        "files": shard._written,
        **took,
    }
    return _won(manifest, described, folder)


def _note_failure(task: ShardTask, shard: JobShard, error: Exception) -> None:
    said = {"shard": shard.number, "error": f"{type(error).__name__}: {error}", "trace": traceback.format_exc()}
    place = os.path.join(task.prefix, f"failed-{shard.number:05}-{uuid.uuid4().hex}.json")
    _write_synced(place, json.dumps({**said, "log": shard._log}).encode())


def manifest_path(prefix: str, number: int) -> str:
    """Where the manifest of a shard is."""
    return os.path.join(prefix, f"shard-{number:05}.json")


def _won(manifest: str, described: dict[str, Any], folder: str) -> dict[str, Any]:
    """Make the manifest, whole or not at all; if another attempt was faster, that one counts."""
    draft = f"{manifest}.{uuid.uuid4().hex}"
    _write_synced(draft, json.dumps(described).encode())
    try:
        os.link(draft, manifest)
    except FileExistsError:
        shutil.rmtree(folder, ignore_errors=True)
        return _read(manifest)
    finally:
        os.unlink(draft)
    _sync_folder(os.path.dirname(manifest))
    return described


def _write_rows(task: ShardTask, shard: JobShard, path: str) -> int:
    """Write the rows that the function gives; without a schema their types are found at the end."""
    import pyarrow as pa

    made = task.function(shard)
    tables = list(_tables(made, task.schema)) if made is not None else []
    if not tables:
        return 0
    whole = pa.concat_tables(tables, promote_options="permissive")
    with pa.OSFile(path, "wb") as sink, pa.ipc.new_file(sink, whole.schema) as writer:
        writer.write_table(whole, max_chunksize=ROWS_A_BATCH)
    _sync_file(path)
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


def _read(path: str) -> dict[str, Any]:
    with open(path, encoding="utf-8") as stream:
        found: dict[str, Any] = json.load(stream)
        return found


def _write_synced(path: str, content: bytes) -> None:
    with open(path, "wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())


def _sync_file(path: str) -> None:
    with open(path, "rb") as stream:
        os.fsync(stream.fileno())


def _sync_folder(path: str) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
