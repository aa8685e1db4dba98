"""A run of a pipeline after 0.1 % of its input changed: what moved, beside all of it; in CPU seconds."""

from __future__ import annotations

import shutil
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anabranch as ab
from anabranch import pipelines as dp
from benchmarks.limits import LIMITS
from benchmarks.measure import Measured, Scale

DAYS = 1000
DAILY = """CREATE MATERIALIZED VIEW daily KEY (day, status) INCREMENTAL BY day AS
SELECT day, status, count(*) AS orders, sum(price * quantity) AS revenue, count(DISTINCT customer) AS customers
FROM orders GROUP BY day, status;"""
_ORDERS = """
    SELECT i AS id, (DATE '2020-01-01' + (i * $days // $rows)::INT)::DATE AS day,
        (hash(i, 1) % 100000)::BIGINT AS customer,
        ['new', 'paid', 'packed', 'sent', 'returned'][(hash(i, 2) % 5)::INT + 1] AS status,
        ((hash(i, 3) % 1000000)::DECIMAL(12, 0) / 100)::DECIMAL(12, 2) AS price,
        (1 + hash(i, 4) % 10)::INT AS quantity
    FROM range($rows) AS source(i)
"""


def run(names: Sequence[str], scale: Scale) -> list[Measured]:
    """Change the rows of a day, run; change them again, run in full; three times."""
    assert "pipelines" in names
    return [_measured(scale, max(scale.rows))]  # a small input is cheaper to compute whole


def _measured(scale: Scale, rows: int) -> Measured:
    folder = scale.folder / f"pipelines-{rows}"
    with ab.init(folder / "store", engine="duck") as repo:
        with repo.commit("main", "load") as tx:
            tx.create_table("orders", _orders(rows), key="id")
        pipeline = _pipeline(folder)
        dp.run(repo, pipeline)
        found: dict[str, list[float]] = {"incremental": [], "full": []}
        for turn in range(scale.rounds(3)):
            for action, full in (("incremental", ()), ("full", "all")):
                _change(repo, rows, turn)
                found[action].append(_seconds(repo, pipeline, action, full))
    shutil.rmtree(folder)
    full_time, ours = (statistics.median(found[a]) for a in ("full", "incremental"))
    size = f"{rows:,} rows, a thousandth changed"
    return Measured("pipelines", size, full_time, ours, ours / full_time, LIMITS["pipelines"])


def _orders(rows: int) -> Any:
    import duckdb

    with duckdb.connect() as connection:
        connection.execute("SET enable_progress_bar = false")
        return connection.sql(_ORDERS.replace("$days", str(DAYS)).replace("$rows", str(rows))).to_arrow_table()


def _pipeline(folder: Path) -> dp.Pipeline:
    (folder / "daily.sql").write_text(DAILY)
    (folder / "ana-pipeline.yml").write_text("name: sales\nlibraries: [daily.sql]\n")
    return dp.load(folder)


def _change(repo: ab.Repository, rows: int, turn: int) -> None:
    """Change a thousandth of the rows, those of a day."""
    start = rows - (turn + 1) * (rows // DAYS)
    repo.sql(f"UPDATE orders SET quantity = quantity + 1 WHERE id >= {start} AND id < {start + rows // DAYS}")


def _seconds(repo: ab.Repository, pipeline: dp.Pipeline, action: str, full: Any) -> float:
    before = time.process_time()
    done = dp.run(repo, pipeline, full_refresh=full)
    taken = time.process_time() - before
    assert done.steps[0].action == action
    assert done.steps[0].counts["updated"] == 5, "the five groups of a day"
    return taken
