"""Anabranch: in the process with Arrow as input, or (`--spark`) on Spark with DataFrames."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

import anabranch as ab
from benchmarks.peers.spark_session import open_session, revenue
from benchmarks.peers.walk import main
from benchmarks.peers.work import Work

REVENUE = "SELECT status, sum(price * quantity) AS revenue FROM orders{at} GROUP BY status"


class Anabranch:
    """A repository with one table."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._repo = self._open()

    def _open(self) -> ab.Repository:
        return ab.init(self._folder / "repo", engine="duck")

    def _read(self, path: str) -> Any:
        return pq.read_table(path)

    def prepare(self, work: Work) -> None:
        self._work = work
        files = sorted(path.stem for path in work.folder.glob("*.parquet") if path.stem != "orders")
        self._given = {name: self._read(work.path(name)) for name in files}

    def load(self) -> None:
        with self._repo.commit("main", "load") as tx:
            tx.create_table("orders", self._read(self._work.path("orders")), key="id")
        self._first = self._repo.show("main").id

    def branch(self) -> None:
        self._repo.branch("dev")

    def change_dev(self) -> None:
        gone = self._keys("dev_deletes")
        with self._repo.commit("dev", "change") as tx:
            table = tx.table("orders")
            table.upsert(self._given["dev_updates"])
            table.insert(self._given["dev_inserts"])
            table.delete(where=f"id IN ({', '.join(map(str, gone))})")

    def _keys(self, name: str) -> list[int]:
        found: list[int] = self._given[name]["id"].to_pylist()
        return found

    def change_main(self) -> None:
        with self._repo.commit("main", "change") as tx:
            table = tx.table("orders")
            table.upsert(self._given["main_updates"])
            table.insert(self._given["main_inserts"])

    def diff(self) -> dict[str, int]:
        counts = self._repo.diff("main", "dev")["orders"].counts()
        return {word: counts[word] for word in ("inserted", "updated", "deleted")}

    def merge(self) -> None:
        self._repo.merge("dev", "main")

    def totals(self) -> list[str]:
        row = self._repo.sql("SELECT count(*), sum(price), sum(quantity) FROM orders").arrow().to_pylist()[0]
        return [str(value) for value in row.values()]

    def prepare_conflicts(self) -> None:
        for side in ("ours", "theirs"):
            self._repo.branch(side)
            with self._repo.commit(side, "reprice") as tx:
                tx.table("orders").upsert(self._given[f"conflict_{side}"])

    def conflicts(self) -> int:
        self._merge = self._repo.start_merge("theirs", into="ours")
        return len(self._merge.conflicts["orders"].rows())

    def leave_conflicts(self) -> None:
        self._merge.abort()

    def scan(self, first: bool = False) -> dict[str, str]:
        at = f" VERSION AS OF '{self._first}'" if first else ""
        rows = self._repo.sql(REVENUE.format(at=at)).arrow().to_pylist()
        return {row["status"]: str(row["revenue"]) for row in sorted(rows, key=lambda row: str(row["status"]))}

    def small_commit(self, name: str) -> None:
        with self._repo.commit("main", "reprice") as tx:
            tx.table("orders").upsert(self._given[name])

    def compact(self) -> None:
        self._repo.optimize("orders")

    def close(self) -> None:
        self._repo.close()


class OnSpark(Anabranch):
    """The same with DataFrames, on a session that the caller has."""

    def _open(self) -> ab.Repository:
        self._session = open_session(self._folder)
        return ab.init(self._folder / "repo", spark=self._session)

    def _read(self, path: str) -> Any:
        return self._session.read.parquet(path)

    def _keys(self, name: str) -> list[int]:
        return [row["id"] for row in self._given[name].collect()]

    def scan(self, first: bool = False) -> dict[str, str]:
        frame = self._repo.table("orders", at=self._first if first else None).spark()
        return revenue(frame)


if __name__ == "__main__":
    main(OnSpark if "--spark" in sys.argv else Anabranch)
