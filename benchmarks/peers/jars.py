"""The jars of Iceberg and Delta, but for those that Spark has; `python3 -m benchmarks.peers.jars FOLDER` fetches."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.maven import jars

ARTEFACTS = {
    "iceberg": "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0",
    "delta": "io.delta:delta-spark_4.1_2.13:4.4.0",
}
SPARK_HAS = [
    f"{group}:*"
    for group in (
        "com.fasterxml.jackson.core",
        "com.fasterxml.jackson.datatype",
        "org.apache.hadoop",
        "org.apache.logging.log4j",
        "org.apache.parquet",
        "org.roaringbitmap",
        "org.scala-lang",
        "org.slf4j",
    )
]


def fetch(folder: Path) -> None:
    """Fetch the jars of each system into a folder of its own."""
    for name, artefact in ARTEFACTS.items():
        jars([artefact], SPARK_HAS, folder / name)


if __name__ == "__main__":
    fetch(Path(sys.argv[1]).resolve())
