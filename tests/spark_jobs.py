"""Counts the jobs of a Spark session."""

from __future__ import annotations

from typing import Any


def jobs_started(spark: Any) -> int:
    """How many jobs a classic session has started. Ids rise by one; Spark forgets old jobs, so they are not counted."""
    return int(max(spark.sparkContext.statusTracker().getJobIdsForGroup(), default=-1)) + 1
