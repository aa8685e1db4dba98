"""The table `orders` of the comparison with other systems: the same rows in every run."""

from __future__ import annotations

from pathlib import Path

COLUMNS = ("id", "customer", "status", "price", "quantity", "note", "updated")
SCHEMA = "id BIGINT, customer BIGINT, status STRING, price DECIMAL(12,2), quantity INT, note STRING, updated TIMESTAMP"

_ROWS = """
    SELECT i AS id,
        (hash(i, 1) % 100000)::BIGINT AS customer,
        ['new', 'paid', 'packed', 'sent', 'returned'][(hash(i, 2) % 5)::INT + 1] AS status,
        ((hash(i, 3) % 1000000)::DECIMAL(12, 0) / 100)::DECIMAL(12, 2) AS price,
        (1 + hash(i, 4) % 10)::INT AS quantity,
        left(to_base64(unhex(sha256(i::VARCHAR))), 30) AS note,
        to_timestamp(1700000000 + (hash(i, 5) % 31536000)::BIGINT) AS updated
    FROM range($rows) AS source(i)
    ORDER BY hash(i, 6)
"""


def write_shuffled(path: Path, rows: int) -> Path:
    """Write the rows to one Parquet file, in an order that has nothing to do with the key."""
    import duckdb

    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute("SET enable_progress_bar = false")
        text = _ROWS.replace("$rows", str(int(rows)))
        connection.execute(f"COPY ({text}) TO '{path}' (FORMAT parquet, COMPRESSION zstd)")
    return path


def some_keys(rows: int, count: int, turn: int) -> list[int]:
    """Choose different keys for each turn, spread over the whole table."""
    import random

    return random.Random(turn).sample(range(rows), count)
