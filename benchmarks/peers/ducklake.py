"""DuckLake: snapshots on one line; neither branches nor keys, so it can't diff or merge."""

from __future__ import annotations

from pathlib import Path

import duckdb
import duckdb_extension_ducklake

from benchmarks.peers.walk import main
from benchmarks.peers.work import Work


class DuckLake:
    """A catalogue in a DuckDB file, and Parquet files."""

    def __init__(self, folder: Path) -> None:
        self._duck = duckdb.connect(config={"allow_unsigned_extensions": True})
        _load_extension(self._duck)
        self._duck.execute("SET TimeZone = 'UTC'")
        self._duck.execute(f"ATTACH 'ducklake:{folder / 'lake.ducklake'}' AS lake (DATA_PATH '{folder / 'files'}')")
        self._duck.execute("USE lake")

    def prepare(self, work: Work) -> None:
        self._work = work

    def load(self) -> None:
        self._duck.execute(f"CREATE TABLE orders AS FROM '{self._work.path('orders')}'")
        self._first = self._duck.execute("SELECT max(snapshot_id) FROM lake.snapshots()").fetchall()[0][0]

    def branch(self) -> None:
        raise NotImplementedError("no branches")

    def change_dev(self) -> None:
        self._change("dev", "price", deletes=True)

    def change_main(self) -> None:
        self._change("main", "quantity")

    def _change(self, side: str, column: str, deletes: bool = False) -> None:
        self._duck.execute("BEGIN")
        self._update(f"{side}_updates", column)
        self._duck.execute(f"INSERT INTO orders FROM '{self._work.path(f'{side}_inserts')}'")
        if deletes:
            self._duck.execute(f"DELETE FROM orders WHERE id IN (SELECT id FROM '{self._work.path('dev_deletes')}')")
        self._duck.execute("COMMIT")

    def _update(self, name: str, column: str) -> None:
        source = f"'{self._work.path(name)}'"
        self._duck.execute(f"UPDATE orders SET {column} = c.{column} FROM {source} AS c WHERE orders.id = c.id")

    def diff(self) -> dict[str, int]:
        raise NotImplementedError("no branches")

    def merge(self) -> None:
        raise NotImplementedError("no branches")

    def totals(self) -> list[str]:
        row = self._duck.execute("SELECT count(*), sum(price), sum(quantity) FROM orders").fetchall()[0]
        return [str(value) for value in row]

    def prepare_conflicts(self) -> None:
        raise NotImplementedError("no branches")

    def conflicts(self) -> int:
        raise NotImplementedError("no branches")

    def leave_conflicts(self) -> None:
        raise NotImplementedError("no branches")

    def scan(self, first: bool = False) -> dict[str, str]:
        at = f" AT (VERSION => {self._first})" if first else ""
        query = f"SELECT status, sum(price * quantity) FROM orders{at} GROUP BY status"
        return {status: str(revenue) for status, revenue in sorted(self._duck.execute(query).fetchall())}

    def small_commit(self, name: str) -> None:
        self._update(name, "price")

    def compact(self) -> None:
        self._duck.execute("CALL ducklake_rewrite_data_files('lake')")
        self._duck.execute("CALL ducklake_merge_adjacent_files('lake')")

    def close(self) -> None:
        self._duck.close()


def _load_extension(duck: duckdb.DuckDBPyConnection) -> None:
    """Load the extension from its package."""
    folder = Path(next(iter(duckdb_extension_ducklake.__path__)))
    found = next(folder.rglob("*.duckdb_extension*"))
    duck.execute(f"LOAD '{found}'")


if __name__ == "__main__":
    main(DuckLake)
