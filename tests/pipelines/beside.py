"""A pipeline and a model of it: what its tables and files must be, by what its inputs are; and people who interfere."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import anabranch as ab
from anabranch import pipelines as dp

Rows = list[dict[str, Any]]
TABLES = ("daily", "weekly", "copied", "doubled", "listed")


# --- what is computed ---


def totals(orders: Rows) -> Rows:
    found: dict[int, int] = {}
    for row in orders:
        found[row["day"]] = found.get(row["day"], 0) + row["qty"]
    return [{"day": day, "week": day // 3, "total": total} for day, total in sorted(found.items())]


def weeks(daily: Rows) -> Rows:
    found: dict[int, int] = {}
    for row in daily:
        found[row["week"]] = found.get(row["week"], 0) + row["total"]
    return [{"week": week, "total": total} for week, total in sorted(found.items())]


def twice(orders: Rows) -> Rows:
    return [{"id": row["id"], "qty": row["qty"] * 2} for row in orders]


def lines(daily: Rows) -> dict[str, str]:
    return {f"days/{row['day']}": f"{row['total']}\n" for row in daily}


def model(orders: Rows, events: Rows) -> tuple[dict[str, list[str]], dict[str, str]]:
    """The tables and files that these inputs make, rows as sorted texts."""
    daily = totals(orders)
    listed = [{"day": row["day"]} for row in daily]
    made = (daily, weeks(daily), events, twice(orders), listed)
    return {name: texts(rows) for name, rows in zip(TABLES, made, strict=True)}, lines(daily)


def texts(rows: Rows) -> list[str]:
    return sorted(str(sorted(row.items())) for row in rows)


def pipeline(beside: Callable[[], None]) -> dp.Pipeline:
    """Datasets refreshed in each way, a job with rows and files; others interfere while they are computed."""

    @dp.materialized_view(key="day", incremental_by="day", frames="rows", version="1")
    def daily(orders: Rows) -> Rows:
        beside()
        return totals(orders)

    @dp.materialized_view(key="week", incremental_by="week", frames="rows", version="1")
    def weekly(daily: Rows) -> Rows:
        return weeks(daily)

    @dp.materialized_view(mode="append", frames="rows", version="1")
    def copied(events: Rows) -> Any:
        beside()
        return events or _no_events()

    @dp.materialized_view(key="id", mode="changes", frames="rows", inputs={"orders": dp.changes("orders")}, version="1")
    def doubled(orders: Rows) -> Rows:
        return [
            {"id": row["id"], "qty": row["qty"] * 2, "_change_type": row["_change_type"]}
            for row in orders
            if row["_change_type"] != "update_preimage"
        ]

    @dp.job(inputs={"daily": "daily"}, key="day", shards=2, local=True, version="1")
    def listed(shard: Any) -> Rows:
        if shard.number == 1:
            beside()
        found = list(shard.rows("daily"))
        for path, text in lines(found).items():
            shard.put(path, text)
        return [{"day": row["day"]} for row in found]

    return dp.pipeline("sales", daily, weekly, copied, doubled, listed)


def _no_events() -> Any:
    import pyarrow as pa

    return pa.table({"at": pa.array([], pa.int64())})


def load(repo: ab.Repository, drawn: random.Random) -> None:
    """The inputs, and files of nobody's concern in the folder of the job's."""
    with repo.commit("main", "load") as tx:
        rows = [_order(drawn, n) for n in range(drawn.randint(3, 20))]
        tx.create_table("orders", rows, schema={"id": "bigint", "day": "bigint", "qty": "bigint"}, key="id")
        tx.create_table("events", [{"at": 0}])
        tx.files.put("days/notes", "ours\n")


def _order(drawn: random.Random, id_: int) -> dict[str, int]:
    return {"id": id_, "day": drawn.randrange(8), "qty": drawn.randrange(1, 9)}


# --- what is there ---


def inputs(repo: ab.Repository, at: str) -> tuple[Rows, Rows]:
    return repo.table("orders", at=at).rows(), repo.table("events", at=at).rows()


def shown(repo: ab.Repository, at: str) -> dict[str, list[str] | None]:
    """The rows of the datasets' tables as sorted texts; None for one that is not there."""
    there = {t.name for t in repo.tables(at)}
    return {name: texts(repo.table(name, at=at).rows()) if name in there else None for name in TABLES}


def files(repo: ab.Repository, at: str) -> dict[str, str]:
    """The files of the job."""
    tree = repo.files(at)
    return {f.path: tree.read(f.path).decode() for f in tree.glob("days/*") if f.path != "days/notes"}


# --- others ---

EDITS = ("insert", "update", "delete", "event", "output", "output", "drop", "note", "revert", "merge", "reset", "amend")


_FIRST = ("start", "load")
"""The commits without which there are no inputs."""


@dataclass
class Other:
    """Somebody with a session of their own, who does random things to inputs and outputs."""

    repo: ab.Repository
    drawn: random.Random
    ids: int
    """Where the ids of orders begin that this one inserts."""
    did: list[str] = field(default_factory=list)

    def act(self, branch: str = "main", chosen: str | None = None) -> None:
        """Do one random thing; what is refused, because somebody was faster or nothing is there, is no harm."""
        what = chosen or self.drawn.choice(EDITS)
        try:
            getattr(self, f"_{what}")(branch)
        except (ab.BranchMoved, ab.MergeConflict, ab.InvalidRequest, ab.NotFound, ab.AlreadyExists) as error:
            self.did.append(f"{what} on {branch}: {type(error).__name__}")
            return
        self.did.append(f"{what} on {branch}")

    def _insert(self, branch: str) -> None:
        self.ids += 1
        with self.repo.commit(branch, "insert") as tx:
            tx.table("orders").insert([_order(self.drawn, self.ids)])

    def _update(self, branch: str) -> None:
        day = self.drawn.randrange(8)
        self.repo.sql(f"UPDATE orders SET day = {day}, qty = qty + 1 WHERE id % 3 = {day % 3}", on=branch)

    def _delete(self, branch: str) -> None:
        self.repo.sql(f"DELETE FROM orders WHERE id % 7 = {self.drawn.randrange(7)}", on=branch)

    def _event(self, branch: str) -> None:
        with self.repo.commit(branch, "event") as tx:
            tx.table("events").insert([{"at": self.drawn.randrange(5)}])

    def _output(self, branch: str) -> None:
        table = self.drawn.choice(TABLES)
        column = {"daily": "total", "weekly": "total", "copied": "at", "doubled": "qty", "listed": "day"}[table]
        rows = self.repo.table(table, at=branch).rows()
        match self.drawn.choice(["insert", "update", "delete"]):
            case "update" if table != "listed" and rows:
                self.repo.sql(f"UPDATE {table} SET {column} = {column} + 100 WHERE {column} % 2 = 0", on=branch)
            case "delete" if rows:
                self.repo.sql(f"DELETE FROM {table} WHERE {column} = {rows[0][column]}", on=branch)
            case _:
                with self.repo.commit(branch, "by hand") as tx:
                    tx.table(table).insert([{c.name: 900 + self.drawn.randrange(90) for c in tx.table(table).schema}])

    def _drop(self, branch: str) -> None:
        if self.drawn.random() < 0.3:
            with self.repo.commit(branch, "drop") as tx:
                tx.drop_table(self.drawn.choice(TABLES))

    def _note(self, branch: str) -> None:
        with self.repo.commit(branch, "note") as tx:
            tx.files.append("days/notes", f"{self.drawn.random()}\n")

    def _revert(self, branch: str) -> None:
        log = [c for c in self.repo.log(branch, limit=4) if c.message not in _FIRST]
        if log:
            self.repo.revert(self.drawn.choice(log).hash, on=branch)

    def _merge(self, branch: str) -> None:
        name = f"side-{self.ids}-{len(self.did)}"
        self.repo.branch(name, at=self.drawn.choice([branch, f"{branch}~1"]))
        for _ in range(self.drawn.randint(1, 2)):
            self.act(name, self.drawn.choice(["insert", "update", "event", "output"]))
        if self.drawn.random() < 0.5:
            self.repo.merge(name, into=branch)
        else:
            self.repo.merge(branch, into=name)
            self.repo.merge(name, into=branch, ff="only")

    def _reset(self, branch: str) -> None:
        if self.drawn.random() < 0.3 and self.repo.show(branch).message not in _FIRST:
            self.repo.reset(branch, to=f"{branch}~1")

    def _amend(self, branch: str) -> None:
        with self.repo.staging(branch) as work:
            if self.repo.show(branch).message in _FIRST:
                return
            work.table(self.drawn.choice(("orders", "daily"))).delete(where="day = 2")
        self.repo.amend(branch)
