"""doltlite: Dolt's version control inside SQLite. Prices are whole cents, since SQLite has no decimals."""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any

import doltlite  # noqa: F401  # it makes sqlite3 know dolt_commit and the rest
import pyarrow.parquet as pq

from benchmarks.peers.walk import main
from benchmarks.peers.work import Work

INSERT = "INSERT INTO orders VALUES (?, ?, ?, ?, ?, ?, ?)"


class Doltlite:
    """One file."""

    def __init__(self, folder: Path) -> None:
        self._connection = sqlite3.connect(folder / "peer.db", isolation_level=None)

    def prepare(self, work: Work) -> None:
        self._given = {path.stem: _plain(pq.read_table(path)) for path in work.folder.glob("*.parquet")}

    def load(self) -> None:
        columns = "customer INTEGER, status TEXT, price INTEGER, quantity INTEGER, note TEXT, updated TEXT"
        self._connection.execute(f"CREATE TABLE orders (id INTEGER PRIMARY KEY, {columns})")
        self._run((INSERT, self._given.pop("orders")))
        self._first = self._connection.execute("SELECT commit_hash FROM dolt_log LIMIT 1").fetchone()[0]

    def branch(self) -> None:
        self._do("SELECT dolt_branch('dev', 'main')")

    def change_dev(self) -> None:
        self._do("SELECT dolt_checkout('dev')")
        self._run(
            ("UPDATE orders SET price = ?2 WHERE id = ?1", self._given["dev_updates"]),
            (INSERT, self._given["dev_inserts"]),
            ("DELETE FROM orders WHERE id = ?", self._given["dev_deletes"]),
        )

    def change_main(self) -> None:
        self._do("SELECT dolt_checkout('main')")
        update = ("UPDATE orders SET quantity = ?2 WHERE id = ?1", self._given["main_updates"])
        self._run(update, (INSERT, self._given["main_inserts"]))

    def diff(self) -> dict[str, int]:
        query = "SELECT diff_type, count(*) FROM dolt_diff_orders('main', 'dev') GROUP BY diff_type"
        words = {"added": "inserted", "modified": "updated", "removed": "deleted"}
        return {words[word]: count for word, count in self._do(query)}

    def merge(self) -> None:
        self._do("SELECT dolt_merge('dev')")

    def totals(self) -> list[str]:
        rows, price, quantity = self._do("SELECT count(*), sum(price), sum(quantity) FROM orders")[0]
        return [str(rows), _money(price), str(quantity)]

    def prepare_conflicts(self) -> None:
        for side in ("ours", "theirs"):
            self._do(f"SELECT dolt_branch('{side}', 'main')")
            self._do(f"SELECT dolt_checkout('{side}')")
            self._run(("UPDATE orders SET price = ?2 WHERE id = ?1", self._given[f"conflict_{side}"]))
        self._do("SELECT dolt_checkout('ours')")

    def conflicts(self) -> int:
        self._do("BEGIN")
        with suppress(sqlite3.OperationalError):  # that there are conflicts; they can be read until it is rolled back
            self._do("SELECT dolt_merge('theirs')")
        return len(self._do("SELECT * FROM dolt_conflicts_orders"))

    def leave_conflicts(self) -> None:
        self._do("ROLLBACK")
        self._do("SELECT dolt_checkout('main')")

    def scan(self, first: bool = False) -> dict[str, str]:
        source = f"dolt_at_orders('{self._first}')" if first else "orders"
        rows = self._do(f"SELECT status, sum(price * quantity) FROM {source} GROUP BY status")
        return {status: _money(revenue) for status, revenue in sorted(rows)}

    def small_commit(self, name: str) -> None:
        self._run(("UPDATE orders SET price = ?2 WHERE id = ?1", self._given[name]))

    def compact(self) -> None:
        self._do("SELECT dolt_gc()")

    def close(self) -> None:
        self._connection.close()

    def _run(self, *statements: tuple[str, list[Any]]) -> None:
        self._connection.execute("BEGIN")
        for statement, rows in statements:
            self._connection.executemany(statement, rows)
        self._connection.execute("COMMIT")
        self._do("SELECT dolt_commit('-A', '-m', 'change')")

    def _do(self, query: str) -> list[Any]:
        return self._connection.execute(query).fetchall()


def _plain(rows: Any) -> list[tuple[Any, ...]]:
    """Rows as SQLite takes them."""
    columns = [[_value(value) for value in column.to_pylist()] for column in rows.columns]
    return list(zip(*columns, strict=True))


def _value(value: Any) -> Any:
    if isinstance(value, Decimal):
        return int(value * 100)
    return value if isinstance(value, int | str) else str(value)


def _money(cents: int) -> str:
    return f"{cents // 100}.{cents % 100:02}"


if __name__ == "__main__":
    main(Doltlite)
