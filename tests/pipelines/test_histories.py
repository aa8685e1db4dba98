"""Computing only the groups that changed gives what computing everything gives, whatever happens to the input."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

import anabranch as ab
from anabranch import pipelines as dp

HISTORIES, SAMPLE = 300, 1
STEPS = 3
Rows = list[dict[str, Any]]

SQL = """
CREATE MATERIALIZED VIEW shops KEY (day, shop) INCREMENTAL BY day
AS SELECT day, shop, max(qty) AS most FROM orders WHERE day IS NOT NULL AND shop IS NOT NULL GROUP BY day, shop;
CREATE MATERIALIZED VIEW shops_of_week KEY (week, shop) INCREMENTAL BY week
AS SELECT week, shop, count(*) AS n FROM orders WHERE shop IS NOT NULL GROUP BY week, shop;
CREATE MATERIALIZED VIEW weekly KEY (week) INCREMENTAL BY week
AS SELECT week, count(*) AS shops, sum(n) AS n FROM shops_of_week GROUP BY week;
"""
"""Groups of SQL, and groups of groups."""


@dp.materialized_view(key="slot", incremental_by="week", frames="rows", version="1")
def slots(orders: Rows) -> Rows:
    """A Python function that gives each week as many rows as it has sevens."""
    weeks: dict[Any, int] = {}
    for row in orders:
        weeks[row["week"]] = weeks.get(row["week"], 0) + row["qty"]
    return [
        {"slot": f"{week} {n}", "week": week, "total": total}
        for week, total in sorted(weeks.items())
        for n in range(total // 7 + 1)
    ]


def pipeline(folder: Path, name: str) -> dp.Pipeline:
    (folder / "all.sql").write_text(SQL)
    (folder / "ana-pipeline.yml").write_text(f"name: {name}\nlibraries: [all.sql]\n")
    of_sql = dp.load(folder)
    return dp.Pipeline(name, (*of_sql.datasets, dp.pipeline(name, slots).datasets[0]))


ORDERS = {"id": "bigint", "day": "bigint", "week": "bigint", "shop": "string", "qty": "bigint"}


def order(drawn: random.Random, id_: int) -> dict[str, Any]:
    day = drawn.choice([None, *range(8)])
    return {"id": id_, "day": day, "week": drawn.randrange(3), "shop": drawn.choice([None, "a", "b"]), "qty": id_ % 9}


def change(repo: ab.Repository, drawn: random.Random) -> str:
    """Do one random thing to the input."""
    ids = [r["id"] for r in repo.table("orders", columns="id").rows()]
    chosen = drawn.sample(ids, min(len(ids), drawn.randint(1, 4)))
    listed = ", ".join(map(str, chosen)) or "-1"
    new = max(ids, default=0) + 1
    match drawn.choice(["insert", "value", "group", "both", "key", "delete", "day", "swap", "nothing", "branch"]):
        case "insert":
            rows = [order(drawn, new + n) for n in range(drawn.randint(1, 5))]
            with repo.commit("main", "insert") as tx:
                tx.table("orders").insert(rows)
        case "value":
            repo.sql(f"UPDATE orders SET qty = qty + 5 WHERE id IN ({listed})")
        case "group":
            repo.sql(f"UPDATE orders SET day = {drawn.randrange(8)}, shop = NULL WHERE id IN ({listed})")
        case "both":
            repo.sql(f"UPDATE orders SET week = {drawn.randrange(4)}, qty = 3 WHERE id IN ({listed})")
        case "key":
            with repo.commit("main", "another key") as tx:
                (row,) = repo.table("orders", where=f"id = {chosen[0]}").rows() if chosen else ([],)
                if row:
                    tx.table("orders").delete(where=f"id = {chosen[0]}")
                    tx.table("orders").insert([{**row, "id": new}])
        case "delete":
            repo.sql(f"DELETE FROM orders WHERE id IN ({listed})")
        case "day":
            repo.sql(f"DELETE FROM orders WHERE week = {drawn.randrange(3)}")
        case "swap":
            repo.sql("UPDATE orders SET week = 2 - week WHERE week < 3 AND id % 3 = 0")
        case "nothing":
            repo.sql(f"UPDATE orders SET qty = qty + 1 WHERE id IN ({listed})")
            repo.sql(f"UPDATE orders SET qty = qty - 1 WHERE id IN ({listed})")
        case "branch":
            repo.branch("side")
            repo.sql(f"UPDATE orders SET week = 1 WHERE id IN ({listed})", on="side")
            with repo.commit("main", "meanwhile") as tx:
                tx.table("orders").insert([order(drawn, new)])
            repo.merge("side", into="main")
            repo.delete_branch("side", force=True)
    return repo.show("main").message


def content(repo: ab.Repository, branch: str) -> dict[str, list[str]]:
    return {name: sorted(map(str, repo.table(name, at=branch).rows())) for name in ("shops", "weekly", "slots")}


@pytest.mark.parametrize(
    "seed", [pytest.param(n, marks=pytest.mark.more if n >= SAMPLE else ()) for n in range(HISTORIES)]
)
def test_what_changed_is_enough(tmp_path: Path, seed: int) -> None:
    drawn = random.Random(seed)
    with ab.init(tmp_path / "shop", engine="duck", author="ann") as repo:
        with repo.commit("main", "load") as tx:
            rows = [order(drawn, n) for n in range(drawn.randint(1, 30))]
            tx.create_table("orders", rows, schema=ORDERS, key="id")
        dp.run(repo, pipeline(tmp_path, "parts"))
        did = []
        for _ in range(STEPS):
            did += [change(repo, drawn) for _ in range(drawn.randint(1, 2))]
            done = dp.run(repo, pipeline(tmp_path, "parts"))
            assert not [s for s in done.steps if s.action == "full"], f"{did}: {done.steps}"
        repo.branch("anew", at="main")
        dp.run(repo, pipeline(tmp_path, "parts"), on="anew", full_refresh="all")
        assert content(repo, "main") == content(repo, "anew"), did
