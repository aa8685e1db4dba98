"""The catalogue's tables about work that runs by itself: jobs, pipelines, and leases on either."""

from __future__ import annotations

from sqlalchemy import JSON, BigInteger, Index, Integer, UniqueConstraint

from anabranch.catalog.tables import Text, key, optional, required, table

jobs = table(
    "ana_jobs",
    *key(id=Text),
    *required(repository_id=Text, name=Text, key=Text, branch=Text, state=Text, inputs=JSON, options=JSON),
    *optional(prefix=Text),
    *required(shard_count=Integer),
    *optional(commit_id=Text, commit_hash=Text, error=JSON),
    *required(author=Text, started_at=BigInteger),
    *optional(finished_at=BigInteger),
    Index("ana_jobs_by_key", "repository_id", "key"),
    Index("ana_jobs_by_time", "repository_id", "started_at"),
)

job_shards = table(
    "ana_job_shards",
    *key(job_id=Text, number=Integer),
    *required(state=Text, attempts=Integer),
    *optional(path=Text),
    *required(inputs=JSON),
    *optional(counts=JSON, error=JSON, started_at=BigInteger, finished_at=BigInteger),
)

runs = table(
    "ana_runs",
    *key(id=Text),
    *required(repository_id=Text, pipeline=Text, number=BigInteger, branch=Text, output=Text, state=Text),
    *required(steps=JSON),
    *optional(commit_hash=Text, error=JSON),
    *required(author=Text, started_at=BigInteger),
    *optional(finished_at=BigInteger),
    UniqueConstraint("repository_id", "pipeline", "number"),
)

expectations = table(
    "ana_expectations",
    *key(run_id=Text, number=Integer),
    *optional(table_name=Text),
    *required(name=Text, condition=Text, action=Text),
    *optional(row_count=BigInteger, failed_count=BigInteger, example=JSON),
)

leases = table(
    "ana_leases",
    *key(name=Text),
    *optional(repository_id=Text),
    *required(holder=Text, taken_at=BigInteger, until=BigInteger),
)
