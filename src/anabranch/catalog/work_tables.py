"""The catalogue's tables about work that runs by itself: jobs, pipelines, and leases on either."""

from __future__ import annotations

from sqlalchemy import JSON, BigInteger, Column, Index, Integer, Table, UniqueConstraint

from anabranch.catalog.tables import Text, metadata

jobs = Table(
    "ana_jobs",
    metadata,
    Column("id", Text, primary_key=True),
    Column("repository_id", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("branch", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("inputs", JSON, nullable=False),
    Column("options", JSON, nullable=False),
    Column("prefix", Text),
    Column("shard_count", Integer, nullable=False),
    Column("commit_id", Text),
    Column("commit_hash", Text),
    Column("error", JSON),
    Column("author", Text, nullable=False),
    Column("started_at", BigInteger, nullable=False),
    Column("finished_at", BigInteger),
    Index("ana_jobs_by_key", "repository_id", "key"),
    Index("ana_jobs_by_time", "repository_id", "started_at"),
)

job_shards = Table(
    "ana_job_shards",
    metadata,
    Column("job_id", Text, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("state", Text, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("path", Text),
    Column("inputs", JSON, nullable=False),
    Column("counts", JSON),
    Column("error", JSON),
    Column("started_at", BigInteger),
    Column("finished_at", BigInteger),
)

runs = Table(
    "ana_runs",
    metadata,
    Column("id", Text, primary_key=True),
    Column("repository_id", Text, nullable=False),
    Column("pipeline", Text, nullable=False),
    Column("number", BigInteger, nullable=False),
    Column("branch", Text, nullable=False),
    Column("output", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("steps", JSON, nullable=False),
    Column("commit_hash", Text),
    Column("error", JSON),
    Column("author", Text, nullable=False),
    Column("started_at", BigInteger, nullable=False),
    Column("finished_at", BigInteger),
    UniqueConstraint("repository_id", "pipeline", "number"),
)

expectations = Table(
    "ana_expectations",
    metadata,
    Column("run_id", Text, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("table_name", Text),
    Column("name", Text, nullable=False),
    Column("condition", Text, nullable=False),
    Column("action", Text, nullable=False),
    Column("row_count", BigInteger),
    Column("failed_count", BigInteger),
    Column("example", JSON),
)

leases = Table(
    "ana_leases",
    metadata,
    Column("name", Text, primary_key=True),
    Column("repository_id", Text),
    Column("holder", Text, nullable=False),
    Column("taken_at", BigInteger, nullable=False),
    Column("until", BigInteger, nullable=False),
)
