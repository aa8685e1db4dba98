"""Progress of running Spark jobs: the one place that asks for what only a classic session has."""

from __future__ import annotations

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession


def running_tasks(session: SparkSession) -> tuple[int, int] | None:
    """Count the tasks of active stages, done and in all; None on Spark Connect, or where nothing runs."""
    try:
        tracker = session.sparkContext.statusTracker()
    except PySparkException:
        return None
    stages = [tracker.getStageInfo(id_) for id_ in tracker.getActiveStageIds()]
    found = [(s.numCompletedTasks, s.numTasks) for s in stages if s is not None]
    return (sum(done for done, _ in found), sum(total for _, total in found)) if found else None
