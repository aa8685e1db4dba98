"""What `repo.job(…)` was asked for."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from anabranch.errors import InvalidRequest
from anabranch.jobs.dealt import JobInput
from anabranch.plan.shards import ShardBy


@dataclass(frozen=True)
class JobRequest:
    """What `repo.job(…)` was asked for."""

    function: Callable[[Any], Any]
    name: str
    inputs: Mapping[str, JobInput]
    output: str
    table: str | None = None
    key: tuple[str, ...] = ()
    schema: Any = None
    shards: int = 8
    shard_by: ShardBy = field(default_factory=ShardBy)
    params: Mapping[str, Any] = field(default_factory=dict)
    version: str | None = None
    incremental: bool = False
    keep_shards: bool = False
    local: bool = False
    """Whether shards run in this process, one after another, without a JVM."""
    author: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.shards, int) or not 1 <= self.shards <= 100_000:
            raise InvalidRequest(f"shards={self.shards!r} can't be", hint="give a number from 1 to 100,000")
        if not self.inputs:
            raise InvalidRequest(f"job {self.name!r} reads nothing", hint="give inputs={'orders': 'orders'}")
        if self.schema is not None and not isinstance(self.schema, pa.Schema):
            raise InvalidRequest("schema= is no Arrow schema", hint="give pyarrow.schema([...])")
        try:
            json.dumps(dict(self.params))
        except (TypeError, ValueError) as error:
            raise InvalidRequest(f"params= is no JSON: {error}", hint="give numbers, texts, lists and dicts") from error
