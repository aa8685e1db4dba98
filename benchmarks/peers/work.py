"""What every system is asked to do: the same rows from the same files, and what has to come out."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

COLUMNS = ("id", "customer", "status", "price", "quantity", "note", "updated")
CONFLICTS = 100
SMALL_COMMITS, SMALL_ROWS = 20, 100

_ROWS = """
    SELECT i AS id,
        (hash(i, 1) % 100000)::BIGINT AS customer,
        ['new', 'paid', 'packed', 'sent', 'returned'][(hash(i, 2) % 5)::INT + 1] AS status,
        ((hash(i, 3) % 1000000)::DECIMAL(12, 0) / 100)::DECIMAL(12, 2) AS price,
        (1 + hash(i, 4) % 10)::INT AS quantity,
        left(to_base64(unhex(sha256(i::VARCHAR))), 30) AS note,
        to_timestamp(1700000000 + (hash(i, 5) % 31536000)::BIGINT) AS updated
    FROM range($first, $last) AS source(i)
    ORDER BY $order
"""


@dataclass(frozen=True)
class Work:
    """A folder with the inputs as Parquet files."""

    folder: Path
    rows: int

    def path(self, name: str) -> str:
        return str(self.folder / f"{name}.parquet")

    @property
    def small(self) -> list[str]:
        """The names of the small changes that were written, in their order."""
        return [f"small_{n}" for n in range(len(list(self.folder.glob("small_*.parquet"))))]


def make_work(
    folder: Path, rows: int, shuffled: bool = False, commits: int = SMALL_COMMITS
) -> tuple[Work, dict[str, Any]]:
    """Write the inputs; returns them and what has to come out, worked out by plain DuckDB."""
    import duckdb

    work = Work(folder, rows)
    with duckdb.connect() as duck:
        duck.execute("SET TimeZone = 'UTC'")
        duck.execute("SET enable_progress_bar = false")
        _write_inputs(duck, work, shuffled, commits)
        return work, _expected(duck, work)


WARM_ROWS = 20_000
"""So many that ours is loaded by Spark, too: fewer come into the process."""


def make_warm_up(work: Work, commits: int = SMALL_COMMITS) -> None:
    """The same in small, in a folder below."""
    folder = work.folder / "warm"
    folder.mkdir()
    make_work(folder, WARM_ROWS, commits=commits)


def _write_inputs(duck: Any, work: Work, shuffled: bool, commits: int) -> None:
    rows, count = work.rows, max(work.rows // 1000, 10)
    chosen = random.Random(7).sample(range(rows), 2 * count + count // 5 + CONFLICTS)
    dev, gone, rest = chosen[:count], chosen[count : count + count // 5], chosen[count + count // 5 :]
    shared = count // 10
    _write(duck, work, "orders", _made(0, rows, "hash(i, 6)" if shuffled else "i"))
    _write(duck, work, "dev_updates", _with_keys("id, price + 1 AS price", work, dev))
    _write(duck, work, "dev_inserts", _made(rows, rows + count))
    _write(duck, work, "dev_deletes", _with_keys("id", work, gone))
    updated = dev[:shared] + rest[: count - shared]
    _write(duck, work, "main_updates", _with_keys("id, quantity + 1 AS quantity", work, updated))
    _write(duck, work, "main_inserts", _made(rows + count, rows + 2 * count))
    met = rest[-CONFLICTS:]
    for n, side in enumerate(("ours", "theirs"), 1):
        _write(duck, work, f"conflict_{side}", _with_keys(f"id, price + {n} AS price", work, met))
    standing = sorted(set(range(rows)) - set(gone))
    for n in range(commits):
        keys = random.Random(100 + n).sample(standing, min(SMALL_ROWS, len(standing)))
        _write(duck, work, f"small_{n}", _with_keys(f"id, (price + {n} + 10)::DECIMAL(12, 2) AS price", work, keys))


def _made(first: int, last: int, order: str = "i") -> str:
    return _ROWS.replace("$first", str(first)).replace("$last", str(last)).replace("$order", order)


def _with_keys(columns: str, work: Work, keys: list[int]) -> str:
    """Columns of rows that were loaded, of their own types."""
    listed = ", ".join(map(str, keys))
    typed = columns.replace("AS price", "AS raw_price").replace("AS quantity", "AS raw_quantity")
    inner = f"SELECT {typed} FROM '{work.path('orders')}' WHERE id IN ({listed})"
    casts = {"raw_price": "raw_price::DECIMAL(12, 2) AS price", "raw_quantity": "raw_quantity::INT AS quantity"}
    taken = [cast for raw, cast in casts.items() if raw in typed]
    return f"SELECT {', '.join(['id', *taken])} FROM ({inner}) ORDER BY id"


def _write(duck: Any, work: Work, name: str, query: str) -> None:
    duck.execute(f"COPY ({query}) TO '{work.path(name)}' (FORMAT parquet, COMPRESSION zstd)")


def _expected(duck: Any, work: Work) -> dict[str, Any]:
    """Play the changes through on one line of plain tables."""
    duck.execute(f"CREATE TABLE first AS FROM '{work.path('orders')}'")
    found: dict[str, Any] = {"W8 first": _revenue(duck, "first")}
    for side, column in (("dev", "price"), ("main", "quantity")):
        duck.execute(f"CREATE TABLE {side} AS FROM first")
        _apply(duck, side, work.path(f"{side}_updates"), column)
        duck.execute(f"INSERT INTO {side} FROM '{work.path(f'{side}_inserts')}'")
    duck.execute(f"DELETE FROM dev WHERE id IN (SELECT id FROM '{work.path('dev_deletes')}')")
    found["W5 diff"] = _differences(duck)
    _apply(duck, "main", work.path("dev_updates"), "price")
    duck.execute(f"INSERT INTO main FROM '{work.path('dev_inserts')}'")
    duck.execute(f"DELETE FROM main WHERE id IN (SELECT id FROM '{work.path('dev_deletes')}')")
    found["W6 merge"] = _totals(duck)
    found["W7 conflicts"] = CONFLICTS
    found["W8 head"] = _revenue(duck, "main")
    for name in work.small:
        _apply(duck, "main", work.path(name), "price")
    found["W9 scan"] = found["W10 scan"] = _revenue(duck, "main")
    return found


def _apply(duck: Any, table: str, path: str, column: str) -> None:
    duck.execute(f"UPDATE {table} SET {column} = c.{column} FROM '{path}' AS c WHERE {table}.id = c.id")


def _differences(duck: Any) -> dict[str, int]:
    struct = f"struct_pack({', '.join(f'{c} := {c}' for c in COLUMNS)})"
    sides = (f"(SELECT id, {struct} AS row FROM {side}) AS {side}" for side in ("main", "dev"))
    query = (
        "SELECT count(*) FILTER (main.id IS NULL), count(*) FILTER (dev.id IS NULL), "
        f"count(*) FILTER (main.row <> dev.row) FROM {' FULL JOIN '.join(sides)} ON main.id = dev.id"
    )
    added, removed, updated = duck.execute(query).fetchone()
    return {"inserted": added, "updated": updated, "deleted": removed}


def _totals(duck: Any) -> list[str]:
    rows, price, quantity = duck.execute("SELECT count(*), sum(price), sum(quantity) FROM main").fetchone()
    return [str(rows), str(price), str(quantity)]


def _revenue(duck: Any, table: str) -> dict[str, str]:
    found = duck.execute(f"SELECT status, sum(price * quantity) FROM {table} GROUP BY status").fetchall()
    return {status: str(revenue) for status, revenue in sorted(found)}
