"""Append rows in a session, classic or of Connect, in which each task fails once, after all of its rows; then again."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.connect import LOCAL, start_classic, start_connect


def main(kind: str, store: str, marks: str) -> None:
    """Write to the table `orders`; `marks` is a folder that remembers who has failed."""
    start = start_connect if kind == "connect" else start_classic
    spark = start("local[2,3]", LOCAL)

    def fail_at_first(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            mark = Path(marks, str(batch.column(0)[0].as_py()))
            yield batch
        if not mark.exists():
            mark.touch()
            raise RuntimeError("this attempt fails")

    rows = spark.range(100, 180, 1, 2).selectExpr("id", "id AS qty")
    for _ in range(2):
        failing = rows.mapInArrow(fail_at_first, rows.schema)
        failing.write.format("anabranch").mode("append").options(store=store, write_id="load-1").save("orders")
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
