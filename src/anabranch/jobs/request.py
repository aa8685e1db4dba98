"""What `repo.job(…)` was asked for."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import pyarrow as pa

from anabranch.errors import InvalidRequest
from anabranch.jobs.dealt import JobInput
from anabranch.plan.merge.files import PREFIX
from anabranch.plan.merge.rules import EVERYWHERE, read_rule
from anabranch.plan.shards import ShardBy
from anabranch.repo.branches.own_commits import Mark

Mode = Literal["own", "append", "replace"]
"""What becomes of what others have in the output: `own` merges what the job made with it, `append` only adds to it,
`replace` takes its place."""
MODES: tuple[Mode, ...] = get_args(Mode)


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
    mode: Mode = "own"
    file_mode: Mode | None = None
    """The mode for files, if it is another one than for rows."""
    parent: str | None = None
    """The commit of the output that the job works from, as it was asked for; None for the output's head."""
    rules: Mapping[str, str] = field(default_factory=dict)
    """What to do with conflicts; not compared when it is asked whether a job was run before."""

    also_own: tuple[Mark, ...] = ()
    """Other commits that count as the job's own: those of a pipeline that it is a part of."""

    @property
    def mode_of_files(self) -> Mode:
        """The mode for files."""
        return self.file_mode or self.mode

    def __post_init__(self) -> None:
        if not isinstance(self.shards, int) or not 1 <= self.shards <= 100_000:
            raise InvalidRequest(f"shards={self.shards!r} can't be", hint="give a number from 1 to 100,000")
        if not self.inputs:
            raise InvalidRequest(f"job {self.name!r} reads nothing", hint="give inputs={'orders': 'orders'}")
        if self.schema is not None and not isinstance(self.schema, pa.Schema):
            raise InvalidRequest("schema= is no Arrow schema", hint="give pyarrow.schema([...])")
        self._check_output()
        self._check_modes()
        self._check_rules()
        try:
            json.dumps(dict(self.params))
        except (TypeError, ValueError) as error:
            raise InvalidRequest(f"params= is no JSON: {error}", hint="give numbers, texts, lists and dicts") from error

    def _check_rules(self) -> None:
        """Refuse rules that are none, or that speak of what the job does not write."""
        for name, rule in self.rules.items():
            read_rule(rule, name)
            of_table = self.table is not None and (name == self.table or name.startswith(f"{self.table}."))
            if not (of_table or name == EVERYWHERE or name.startswith(PREFIX)):
                message = f"the rule for {name!r} speaks of nothing that job {self.name!r} writes"
                written = f"{self.table!r}, a column of it, " if self.table is not None else ""
                hint = f"a rule can be for {written}{PREFIX + '*'!r} or {EVERYWHERE!r}"
                raise InvalidRequest(message, hint=hint, rule=name)

    def _check_output(self) -> None:
        """Refuse an output that names a repository: a job publishes to a branch of its own one."""
        repository, colon, branch = self.output.partition(":")
        if colon:
            message = f"output={self.output!r} is no branch; a job publishes in its own repository"
            hint = f"make the job in the other one: store.repository({repository!r}).job(…, output={branch!r})"
            raise InvalidRequest(message, hint=hint, output=self.output)

    def _check_modes(self) -> None:
        for name, mode in (("mode", self.mode), ("file_mode", self.mode_of_files)):
            if mode not in MODES:
                raise InvalidRequest(f"{name}={mode!r} is no mode", hint=f"choose one of {', '.join(MODES)}")
        if self.incremental and "replace" in (self.mode, self.mode_of_files):
            message = f"job {self.name!r} is incremental, and mode='replace' takes what a job makes for all there is"
            raise InvalidRequest(message, hint="leave incremental= out, or use mode='own' or mode='append'")
