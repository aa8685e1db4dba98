"""Diff and merge: against doltlite in the process, against the hand-written outer joins on Spark, and over time."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anabranch as ab
from benchmarks import orders
from benchmarks.doltlite_peer import Peer
from benchmarks.limits import LIMITS
from benchmarks.measure import Measured, Scale, Task, Times, compared, run_each, side_by_side

SHARE = 1000
"""One row of so many is inserted, updated and deleted on each side."""
LARGE = 5_000_000
"""From so many rows on, a quarter of the time of the joins by hand is asked for."""
ROUNDS = 50


@dataclass(frozen=True)
class Changes:
    """What each side does: keys apart, but for a tenth of the updates, which are in another column."""

    rows: int
    count: int

    def updated(self, side: int) -> list[int]:
        step = self.rows // self.count
        own = [k * step + 1 + side for k in range(self.count - self.count // 10)]
        return own + [k * step for k in range(self.count // 10)]

    def deleted(self, side: int) -> list[int]:
        step = self.rows // self.count
        return [k * step + 4 + side for k in range(self.count)]

    def inserted(self, side: int) -> list[dict[str, Any]]:
        first = self.rows + side * self.count
        return [_row(first + k) for k in range(self.count)]


def _row(key: int) -> dict[str, Any]:
    from datetime import UTC, datetime
    from decimal import Decimal

    when = datetime(2026, 1, 1, tzinfo=UTC)
    told = {"customer": key % 1000, "status": "new", "price": Decimal("9.99"), "quantity": 1, "note": f"note {key}"}
    return {"id": key, **told, "updated": when}


BRANCHES = (("main", "quantity"), ("dev", "price"))


def in_process(scale: Scale, rows: int) -> Iterator[Measured]:
    """Diff and merge without a JVM, beside doltlite."""
    folder = _folder(scale)
    path = orders.write_shuffled(folder / "incoming.parquet", rows)
    changes = Changes(rows, rows // SHARE)
    repo = _repository(folder, path, changes, engine="duck")
    peer = _peer(folder, path, changes)
    size = f"{rows:,} rows"
    expected = peer.ask("diff", "main", "dev")
    found = repo.diff("main", "dev")["orders"].counts()
    assert expected == {"added": found["inserted"], "modified": found["updated"], "removed": found["deleted"]}
    tasks = {
        "peer": Task(lambda _: peer.ask("diff", "main", "dev")),
        "ours": Task(lambda _: repo.diff("main", "dev")["orders"].counts()),
    }
    times = side_by_side(tasks, scale.rounds(9), patience=scale.patience)
    yield compared("diff in process", size, times["peer"], times["ours"], LIMITS["diff"])

    def prepare(number: int) -> str:
        name = f"m{number}"
        repo.branch(name, at="main")
        peer.ask("branch", name, "main")
        return name

    tasks = {
        "peer": Task(lambda n: peer.ask("merge", "dev", n), lambda n: prepare(2 * n)),
        "ours": Task(lambda n: repo.merge("dev", n), lambda n: prepare(2 * n + 1)),
    }
    times = side_by_side(tasks, scale.rounds(9), patience=scale.patience)
    yield compared("merge in process", size, times["peer"], times["ours"], LIMITS["merge"])
    peer.close()
    repo.close()
    shutil.rmtree(folder)
    assert "pyspark" not in sys.modules, "diff and merge of small changes must not import PySpark"


def by_size(scale: Scale, rows: int) -> Iterator[Measured]:
    """The same number of changed rows in a table five times as big, without a JVM."""
    folder, repos = _folder(scale), {}
    sizes = (rows // 5, rows)
    for n in sizes:
        path = orders.write_shuffled(folder / f"{n}.parquet", n)
        (folder / str(n)).mkdir()
        repos[n] = _repository(folder / str(n), path, Changes(n, sizes[0] // SHARE), engine="duck")
    size = f"{sizes[0]:,} → {sizes[1]:,} rows"
    tasks = {str(n): Task(lambda _, n=n: repos[n].diff("main", "dev")["orders"].counts()) for n in sizes}
    times = side_by_side(tasks, scale.rounds(15), warm_up=2, patience=scale.patience)
    yield _grown("diff by size", size, times, sizes)
    merges = {str(n): Task(lambda name, n=n: repos[n].merge("dev", name), _brancher(repos[n])) for n in sizes}
    times = side_by_side(merges, scale.rounds(15), warm_up=2, patience=scale.patience)
    yield _grown("merge by size", size, times, sizes)
    for repo in repos.values():
        repo.close()
    shutil.rmtree(folder)


def _grown(name: str, size: str, times: dict[str, Times], sizes: tuple[int, int]) -> Measured:
    return compared(name, size, times[str(sizes[0])], times[str(sizes[1])], LIMITS["by-size"])


def _brancher(repo: ab.Repository) -> Any:
    def make(number: int) -> str:
        repo.branch(f"m{number}", at="main")
        return f"m{number}"

    return make


def back_and_forth(scale: Scale, rows: int) -> Iterator[Measured]:
    """The merge after many rounds of merging both ways, beside the first."""
    folder = _folder(scale)
    path = orders.write_shuffled(folder / "incoming.parquet", rows)
    (folder / "old").mkdir()
    (folder / "young").mkdir()
    old = _loaded(folder / "old", path, engine="duck")
    young = _loaded(folder / "young", path, engine="duck")
    for n in range(scale.rounds(ROUNDS)):
        _change_both(old, rows, n)
        old.merge("dev", "main", ff="never")
        _change_one(old, rows, n)
        old.merge("main", "dev", ff="never")
    first = scale.rounds(ROUNDS)
    for repo in (young, old):
        _change_both(repo, rows, first)
    tasks = {
        name: Task(lambda into, repo=repo: repo.merge("dev", into), _brancher(repo))
        for name, repo in (("young", young), ("old", old))
    }
    times = side_by_side(tasks, scale.rounds(11), warm_up=2, patience=scale.patience)
    name = f"merge after {first} rounds"
    yield compared(name, f"{rows:,} rows", times["young"], times["old"], LIMITS["rounds"])
    for repo in (old, young):
        repo.close()
    shutil.rmtree(folder)


def _change_both(repo: ab.Repository, rows: int, turn: int) -> None:
    keys = orders.some_keys(rows, 200, turn)
    for n, (branch, column) in enumerate(BRANCHES):
        with repo.commit(branch, "change") as tx:
            listed = ", ".join(map(str, keys[100 * n : 100 * n + 100]))
            tx.table("orders").update({column: f"{column} + 1"}, where=f"id IN ({listed})")


def _change_one(repo: ab.Repository, rows: int, turn: int) -> None:
    with repo.commit("dev", "more") as tx:
        tx.table("orders").insert([_row(rows + turn)])


def on_spark(scale: Scale, rows: int) -> Iterator[Measured]:
    """Diff and merge of 0.1 % and 1 % of the rows on each side, beside the outer joins that people write by hand."""
    from benchmarks.on_spark import open_session

    limit = LIMITS["spark-join" if rows >= LARGE else "spark-join-small"]
    folder = _folder(scale)
    path = orders.write_shuffled(folder / "incoming.parquet", rows)
    with open_session(scale.folder) as session:
        for percent in (0.1, 1):
            below = folder / f"{percent}"
            below.mkdir()
            changes = Changes(rows, int(rows * percent / 100))
            repo = _repository(below, path, changes, spark=session, engine="spark")
            size = f"{rows:,} rows, {percent} %"
            for name, times in _times_on_spark(scale, repo, _states(session, repo, below), below).items():
                yield compared(f"{name} on Spark", size, times["by hand"], times["ours"], limit)
            repo.close()
    shutil.rmtree(folder)


def _times_on_spark(
    scale: Scale, repo: ab.Repository, states: dict[str, Any], folder: Path
) -> dict[str, dict[str, Times]]:
    assert _diff_by_hand(states) == sum(_rows(repo.diff("main", "dev")["orders"].counts()))
    diff = {
        "by hand": Task(lambda _: _diff_by_hand(states)),
        "ours": Task(lambda _: repo.diff("main", "dev")["orders"].counts()),
    }
    merge = {
        "by hand": Task(lambda n: _merge_by_hand(states, folder / f"merged-{n}")),
        "ours": Task(lambda n: repo.merge("dev", n), _brancher(repo)),
    }
    tasks = {"diff": diff, "merge": merge}
    return {name: side_by_side(task, scale.rounds(5), patience=scale.patience) for name, task in tasks.items()}


def _rows(counts: dict[str, int]) -> list[int]:
    return [n for word, n in counts.items() if word != "cells"]


def _states(session: Any, repo: ab.Repository, folder: Path) -> dict[str, Any]:
    """The three states as plain Parquet, as someone has them who has no changes."""
    found = {}
    for name, at in (("base", "main~1"), ("ours", "main"), ("theirs", "dev")):
        repo.table("orders", at=at).spark().write.parquet(str(folder / name))
        found[name] = session.read.schema(orders.SCHEMA).parquet(str(folder / name))
    return found


def _beside(states: dict[str, Any], *names: str) -> Any:
    """States side by side, each row as a struct."""
    from pyspark.sql import functions as F

    whole = None
    for name in names:
        part = states[name].select("id", F.struct(*orders.COLUMNS[1:]).alias(name))
        whole = part if whole is None else whole.join(part, "id", "full_outer")
    return whole


def _diff_by_hand(states: dict[str, Any]) -> int:
    """Count the rows that differ."""
    from pyspark.sql import functions as F

    both = _beside(states, "ours", "theirs")
    return int(both.where(~F.col("ours").eqNullSafe(F.col("theirs"))).count())


def _merge_by_hand(states: dict[str, Any], target: Path) -> None:
    """Take each cell from the side that changed it, and write the table anew."""
    from pyspark.sql import functions as F

    rows = _beside(states, "base", "ours", "theirs")
    base, ours, theirs = (F.col(n) for n in ("base", "ours", "theirs"))
    is_gone = base.isNotNull() & (ours.isNull() | theirs.isNull())

    def cell(name: str) -> Any:
        unchanged = base[name].eqNullSafe(ours[name])
        merged = F.when(unchanged, theirs[name]).otherwise(ours[name])
        return F.when(base.isNull(), F.coalesce(ours[name], theirs[name])).otherwise(merged).alias(name)

    cells = [cell(name) for name in orders.COLUMNS[1:]]
    rows.where(~is_gone).select("id", *cells).write.parquet(str(target))


# --- what is measured on ---


def _repository(folder: Path, path: Path, changes: Changes, **options: Any) -> ab.Repository:
    repo = _loaded(folder, path, **options)
    for side, (branch, column) in enumerate(BRANCHES):
        with repo.commit(branch, "change") as tx:
            table = tx.table("orders")
            listed = ", ".join(map(str, changes.updated(side)))
            table.update({column: f"{column} + 1"}, where=f"id IN ({listed})")
            table.insert(changes.inserted(side))
            listed = ", ".join(map(str, changes.deleted(side)))
            table.delete(where=f"id IN ({listed})")
    return repo


def _loaded(folder: Path, path: Path, **options: Any) -> ab.Repository:
    repo = ab.init(folder / "repo", **options)
    with repo.commit("main", "load") as tx:
        if "spark" in options:
            rows: Any = options["spark"].read.schema(orders.SCHEMA).parquet(str(path))
        else:
            import pyarrow.parquet as pq

            rows = pq.read_table(path)
        tx.create_table("orders", rows, key="id")
    repo.branch("dev")
    return repo


def _peer(folder: Path, path: Path, changes: Changes) -> Peer:
    import pyarrow.parquet as pq

    rows = pq.read_table(path).sort_by("id").to_pandas()
    with open(folder / "rows.csv", "w", newline="") as file:
        rows.to_csv(file, index=False, header=False)
    peer = Peer(folder / "peer")
    peer.ask("load", str(folder / "rows.csv"))
    peer.ask("branch", "dev", "main")
    for side, (branch, column) in enumerate(BRANCHES):
        inserted = [[_plain(v) for v in row.values()] for row in changes.inserted(side)]
        peer.ask("change", branch, column, changes.updated(side), inserted, changes.deleted(side))
    return peer


def _plain(value: Any) -> Any:
    return value if isinstance(value, int | str) else str(value)


def _folder(scale: Scale) -> Path:
    folder = scale.folder / "merges"
    folder.mkdir(exist_ok=True)
    return folder


BENCHMARKS = {
    "merge-process": in_process,
    "merge-by-size": by_size,
    "merge-rounds": back_and_forth,
    "merge-spark": on_spark,
}


def run(chosen: tuple[str, ...], scale: Scale) -> list[Measured]:
    """Run benchmarks one after another."""
    return run_each(BENCHMARKS, chosen, scale)
