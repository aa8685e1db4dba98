"""Progress of running Spark jobs; the only module that uses what only classic sessions have."""

from __future__ import annotations

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession


def running_tasks(session: SparkSession) -> tuple[int, int] | None:
    """Finished and total tasks of active stages; None on Spark Connect, or if nothing runs."""
    try:
        tracker = session.sparkContext.statusTracker()
    except PySparkException:
        return None
    stages = [tracker.getStageInfo(id_) for id_ in tracker.getActiveStageIds()]
    found = [(s.numCompletedTasks, s.numTasks) for s in stages if s is not None]
    return (sum(done for done, _ in found), sum(total for _, total in found)) if found else None
