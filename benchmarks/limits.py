"""The greatest ratio that each benchmark allows; benchmarks/README.md says what each means."""

from __future__ import annotations

from collections.abc import Mapping

LIMITS: Mapping[str, float] = {
    "scan": 1.1,
    "scan-changed": 1.5,
    "load": 2.5,
    "update-where": 1.5,
    "update-rows": 1.5,
    "slowest-commit": 10.0,
    "branch": 3.0,
    "flat": 2.0,
    "files-count": 3.0,
    "file-puts": 1.0,
    "file-paths": 2.0,
    "fold-commit": 1.5,
    "fold-slowest": 15.0,
    "fold-scan": 1.5,
    "damage-scan": 1.05,
    "damage-first": 2.5,
    "overwrite-bytes": 0.005,
    "overwrite-time": 2.0,
    "import-spark": 6.0,
    "diff": 1.0,
    "merge": 1.0,
    "by-size": 1.5,
    "rounds": 2.0,
    "nway": 10.0,
    "nway seconds": 0.5,
    "nway growth": 1.5,
    "jobs": 1.0,
    "jobs growth": 12.0,
    "pipelines": 0.2,
    "spark-join": 0.25,
    "spark-join-small": 1.0,
    "start": 1.0,
    "tpch": 5.0,
    "roots-cached": 1.1,
    "roots-spark": 1.6,
    "roots-uploads": 1.0,
}
