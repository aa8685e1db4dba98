"""doltlite in a process of its own: installed for the benchmark, told by lines what to do, answers when it is done.

Run as a script by the interpreter of the environment that `Peer` makes; there is nothing of Anabranch in it.
"""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

PACKAGE = "doltlite"


class Peer:
    """A table in doltlite, and the verbs that are measured."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        venv.create(folder / "env", with_pip=True)
        python = folder / "env/bin/python"
        subprocess.run([python, "-m", "pip", "install", "--quiet", PACKAGE], check=True)
        self._process = subprocess.Popen(
            [python, __file__, str(folder / "peer.db")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, verb: str, *arguments: Any) -> Any:
        """Let it do something and wait until it is done."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([verb, *arguments]) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=60)


def serve(path: str) -> None:
    """Do what the lines say."""
    import doltlite  # noqa: F401  # type: ignore[import-not-found]  # isort: skip
    import sqlite3

    connection = sqlite3.connect(path, isolation_level=None)
    verbs = {"load": _load, "change": _change, "diff": _diff, "branch": _branch, "merge": _merge}
    for line in sys.stdin:
        verb, *arguments = json.loads(line)
        print(json.dumps(verbs[verb](connection, *arguments)), flush=True)


def _load(connection: Any, file: str) -> None:
    columns = "customer INTEGER, status TEXT, price REAL, quantity INTEGER, note TEXT, updated TEXT"
    connection.execute(f"CREATE TABLE orders (id INTEGER PRIMARY KEY, {columns})")
    connection.execute("BEGIN")
    with open(file, newline="") as rows:
        connection.executemany("INSERT INTO orders VALUES (?, ?, ?, ?, ?, ?, ?)", csv.reader(rows))
    connection.execute("COMMIT")
    _commit(connection, "load")


def _change(
    connection: Any, branch: str, column: str, updated: list[int], inserted: list[Any], gone: list[int]
) -> None:
    """Update, insert and delete on a branch, as one commit."""
    connection.execute("SELECT dolt_checkout(?)", (branch,)).fetchall()
    connection.execute("BEGIN")
    connection.executemany(f"UPDATE orders SET {column} = {column} + 1 WHERE id = ?", [(k,) for k in updated])
    connection.executemany("INSERT INTO orders VALUES (?, ?, ?, ?, ?, ?, ?)", inserted)
    connection.executemany("DELETE FROM orders WHERE id = ?", [(k,) for k in gone])
    connection.execute("COMMIT")
    _commit(connection, "change")


def _diff(connection: Any, one: str, other: str) -> dict[str, int]:
    query = f"SELECT diff_type, count(*) FROM dolt_diff_orders('{one}', '{other}') GROUP BY diff_type"
    return dict(connection.execute(query).fetchall())


def _branch(connection: Any, name: str, at: str) -> None:
    connection.execute("SELECT dolt_branch(?, ?)", (name, at)).fetchall()


def _merge(connection: Any, source: str, into: str) -> None:
    connection.execute("SELECT dolt_checkout(?)", (into,)).fetchall()
    connection.execute("SELECT dolt_merge(?)", (source,)).fetchall()


def _commit(connection: Any, message: str) -> None:
    connection.execute("SELECT dolt_commit('-A', '-m', ?)", (message,)).fetchall()


if __name__ == "__main__":
    serve(sys.argv[1])
