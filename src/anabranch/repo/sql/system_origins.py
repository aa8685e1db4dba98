"""The relations of `ana` on where data came from: provenance both ways, jobs, runs and their expectations."""

from __future__ import annotations

from collections.abc import Callable

from anabranch.repo.branches import provenance as provenance_verbs
from anabranch.repo.branches.jobs import list_jobs
from anabranch.repo.branches.runs import list_expectations, list_runs
from anabranch.repo.context.context import Context
from anabranch.repo.sql.system_relation import (
    BIGINT,
    INT,
    STRING,
    STRINGS,
    TIMESTAMP,
    SystemRequest,
    SystemTable,
)

_PROVENANCE = (
    ("hash", STRING),
    ("repository", STRING),
    ("role", STRING),
    ("message", STRING),
    ("author", STRING),
    ("finished_at", TIMESTAMP),
    ("source", STRING),
    ("depth", INT),
    ("via", STRINGS),
)
_RUNS = (
    ("pipeline", STRING),
    ("run", BIGINT),
    ("state", STRING),
    ("output", STRING),
    ("branch", STRING),
    ("commit", STRING),
    ("error", STRING),
    ("author", STRING),
    ("started_at", TIMESTAMP),
    ("finished_at", TIMESTAMP),
)
_JOBS = (
    ("id", STRING),
    ("name", STRING),
    ("state", STRING),
    ("output", STRING),
    ("shard_count", INT),
    ("finished_count", INT),
    ("commit", STRING),
    ("error", STRING),
    ("author", STRING),
    ("started_at", TIMESTAMP),
    ("finished_at", TIMESTAMP),
)
_EXPECTATIONS = (
    ("pipeline", STRING),
    ("run", BIGINT),
    ("dataset", STRING),
    ("name", STRING),
    ("condition", STRING),
    ("verdict", STRING),
    ("rows", BIGINT),
    ("broken", BIGINT),
)


def provenance(asked: SystemRequest) -> SystemTable:
    """What a commit was made from, nearest first."""
    return _entries(asked, provenance_verbs.provenance)


def derived(asked: SystemRequest) -> SystemTable:
    """The commits that were made from one, nearest first."""
    return _entries(asked, provenance_verbs.derived)


def _entries(
    asked: SystemRequest, verb: Callable[[Context, str], list[provenance_verbs.ProvenanceEntry]]
) -> SystemTable:
    return asked.listed(_PROVENANCE, map(vars, verb(asked.ctx, asked.ref_at(0) or asked.ref)))


def runs(asked: SystemRequest) -> SystemTable:
    """The runs of all pipelines, or of one, newest first."""
    found = list_runs(asked.ctx, asked.text(0, "the name of a pipeline"))
    return asked.listed(_RUNS, ({**r, "error": (r["error"] or {}).get("message")} for r in found))


def expectations(asked: SystemRequest) -> SystemTable:
    """The expectations in the runs of all pipelines, or of one, newest run first."""
    return asked.listed(_EXPECTATIONS, list_expectations(asked.ctx, asked.text(0, "the name of a pipeline")))


def jobs(asked: SystemRequest) -> SystemTable:
    """All jobs, or those of one name, newest first."""
    found = list_jobs(asked.ctx, asked.text(0, "the name of a job"))
    return asked.listed(_JOBS, ({**j, "error": (j["error"] or {}).get("message")} for j in found))
