"""What the catalogue keeps of a requested job, so that it can be resumed."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from anabranch.jobs.dealt import FilesInput, JobInput, Pinned, PinnedFiles
from anabranch.jobs.function_file import place_of
from anabranch.jobs.inputs import DatasetInput
from anabranch.jobs.request import JobRequest
from anabranch.plan.shards import ShardBy

if TYPE_CHECKING:
    from anabranch.catalog.jobs import JobRecord

_KEPT = ("table", "key", "shards", "params", "version", "incremental", "keep_shards", "local", "author")


def to_remember(asked: JobRequest, code: str, pins: Mapping[str, Pinned]) -> dict[str, Any]:
    """What the catalogue keeps of a job, by name."""
    by = [asked.shard_by.files, asked.shard_by.rows, asked.shard_by.column]
    schema = None if asked.schema is None else base64.b64encode(asked.schema.serialize()).decode()
    options = {name: getattr(asked, name) for name in _KEPT}
    where = {"function": place_of(asked.function), "code": code, "shard_by": by, "schema": schema}
    inputs = {name: _input(asked.inputs[name], pinned) for name, pinned in pins.items()}
    return {"options": {**options, "params": dict(asked.params), **where}, "inputs": inputs}


def _input(given: JobInput, pinned: Pinned) -> dict[str, Any]:
    own = {"pattern": given.pattern} if isinstance(given, FilesInput) else {"table": given.table}
    described: dict[str, Any] = {
        "label": replace(given, at=None if given.at == pinned.commit else given.at).label,
        **own,
        "repository": pinned.repository,
        "commit": pinned.commit,
    }
    if given.whole:
        described["whole"] = True
    return {**described, "files": len(pinned.files)} if isinstance(pinned, PinnedFiles) else described


def request_of(record: JobRecord, function: Any) -> JobRequest:
    """The original request, with each input at the commit that it was read at."""
    options = {name: record.options[name] for name in _KEPT}
    files, rows, column = record.options["shard_by"]
    schema = record.options["schema"]
    return JobRequest(
        function,
        record.name,
        {name: _pinned_input(said) for name, said in record.inputs.items()},
        record.branch,
        **{**options, "key": tuple(options["key"])},
        shard_by=ShardBy(files, rows, column),
        schema=None if schema is None else pa.ipc.read_schema(pa.py_buffer(base64.b64decode(schema))),
    )


def _pinned_input(said: Mapping[str, Any]) -> JobInput:
    """An input at the commit that it was read at."""
    whole = said.get("whole", False)
    if "pattern" in said:
        return FilesInput(said["pattern"], said["repository"], said["commit"], whole)
    return DatasetInput(said["table"], said["repository"], said["commit"], whole=whole)
