"""The 22 queries of TPC-H in the process, each against plain DuckDB on the Parquet files that were loaded."""

from __future__ import annotations

import math
import shutil
import subprocess
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

import anabranch as ab
from benchmarks.limits import LIMITS
from benchmarks.measure import Measured, Scale, Task, compared, side_by_side, tell

FACTOR = "0.1"
"""The scale factor: 600,000 rows in the largest table."""
TOOL = "tpchgen-cli"
QUERIES = sorted((Path(__file__).parent / "tpch_queries").glob("q*.sql"))


def generated(folder: Path) -> list[Path]:
    """Let the tool write the tables, one file each; nothing where it is not installed."""
    tool = shutil.which(TOOL) or shutil.which(TOOL, path=str(Path(sys.executable).parent))
    if tool is None:
        print(f"tpch: {TOOL} is not there to make the data; pip install {TOOL}", file=sys.stderr)
        return []
    subprocess.run([tool, "parquet", "-s", FACTOR, "--output-dir", str(folder)], check=True, capture_output=True)
    return sorted(folder.glob("*.parquet"))


def loaded(folder: Path, files: list[Path]) -> ab.Repository:
    """The tables in a repository of the in-process engine."""
    repo = ab.init(folder, engine="duck")
    with repo.commit("main", "load TPC-H") as tx:
        for file in files:
            tx.create_table(file.stem, pq.read_table(file))
    return repo


def plain_duck(repo: ab.Repository, files: list[Path]) -> duckdb.DuckDBPyConnection:
    """DuckDB with the files as views, and with as many threads as the engine has."""
    threads = repo._ctx.engines.duck()._cursor().execute("SELECT current_setting('threads')").fetchall()[0][0]
    found = duckdb.connect(config={"threads": threads})
    for file in files:
        found.from_parquet(str(file)).create_view(file.stem)
    return found


def queries(scale: Scale, files: list[Path]) -> Iterator[Measured]:
    """Run each query on both; one that only Spark runs is named and left out."""
    repo = loaded(scale.folder / "repo", files)
    duck = plain_duck(repo, files)
    for path in QUERIES:
        text = path.read_text()
        try:
            ours = repo.sql(text).arrow()
        except ab.InvalidRequest as problem:
            print(f"tpch {path.stem}: left out, {problem.message}", file=sys.stderr)
            continue
        _check_same(path.stem, ours, duck.sql(text).to_arrow_table())
        tasks = {
            "baseline": Task(lambda _, text=text: duck.sql(text).to_arrow_table()),
            "ours": Task(lambda _, text=text: repo.sql(text).arrow()),
        }
        times = side_by_side(tasks, scale.rounds(15), warm_up=2, patience=scale.patience)
        yield compared(f"tpch {path.stem}", f"scale {FACTOR}", times["baseline"], times["ours"], LIMITS["tpch"])
    repo.close()


def _check_same(name: str, ours: pa.Table, theirs: pa.Table) -> None:
    """Hold the rows to be those of plain DuckDB; types of sums and means are Spark's, so numbers are near enough."""
    pairs = list(zip(_rows(ours), _rows(theirs), strict=True))
    wrong = [p for p in pairs if not all(_alike(a, b) for a, b in zip(*p, strict=True))]
    if wrong:
        raise AssertionError(f"{name}: {len(wrong)} of {len(pairs)} rows differ, first {wrong[0]}")


def _rows(table: pa.Table) -> list[tuple[Any, ...]]:
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def _alike(one: Any, other: Any) -> bool:
    if isinstance(one, (float, Decimal)) and isinstance(other, (float, Decimal)):
        return math.isclose(one, other, rel_tol=1e-6, abs_tol=_rounded(one))
    return bool(one == other)


def _rounded(one: float | Decimal) -> float:
    """How much a number of ours may be off by the digits that Spark's type has."""
    exponent = one.as_tuple().exponent if isinstance(one, Decimal) else None
    return 10.0**exponent if isinstance(exponent, int) else 0.0


def run(_chosen: tuple[str, ...], scale: Scale) -> list[Measured]:
    """Run the queries in a process that never sees PySpark."""
    (scale.folder / "files").mkdir()
    files = generated(scale.folder / "files")
    found = [m for measured in queries(scale, files) for m in tell([measured])] if files else []
    assert "pyspark" not in sys.modules, "the queries must not import PySpark"
    return found
