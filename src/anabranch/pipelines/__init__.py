"""Pipelines: tables computed from tables, checked on a branch of their own and published in one commit."""

from anabranch.jobs.dealt import files, whole
from anabranch.jobs.inputs import DatasetInput
from anabranch.pipelines.datasets import Dataset, Expectation, Pipeline
from anabranch.pipelines.declarations import (
    changes,
    expect,
    expect_or_drop,
    expect_or_fail,
    expect_query,
    expect_unique,
    job,
    materialized_view,
    read,
    table,
    temporary_view,
)
from anabranch.pipelines.load import load, pipeline
from anabranch.pipelines.run import RunResult, run, watch

__all__ = [
    "Dataset",
    "DatasetInput",
    "Expectation",
    "Pipeline",
    "RunResult",
    "changes",
    "expect",
    "expect_or_drop",
    "expect_or_fail",
    "expect_query",
    "expect_unique",
    "files",
    "job",
    "load",
    "materialized_view",
    "pipeline",
    "read",
    "run",
    "table",
    "temporary_view",
    "watch",
    "whole",
]
