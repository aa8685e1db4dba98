"""One session for each system on Spark: two cores, Spark's own defaults, quiet."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any


def open_session(folder: Path, settings: Mapping[str, str] | None = None) -> Any:
    """Start Spark, or take the session that runs."""
    from pyspark.sql import SparkSession

    plain = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "3g",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": str(folder.parent / f"{folder.name}-warehouse"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    session = SparkSession.builder.master("local[2]").config(map={**plain, **(settings or {})}).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def revenue(frame: Any) -> dict[str, str]:
    """Run the query of the comparison: the revenue by status."""
    from pyspark.sql import functions as F

    rows = frame.groupBy("status").agg(F.sum(F.col("price") * F.col("quantity")).alias("revenue")).collect()
    return {row["status"]: str(row["revenue"]) for row in sorted(rows, key=lambda row: str(row["status"]))}
