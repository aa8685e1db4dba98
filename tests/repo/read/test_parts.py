"""The parts of a table together are the table, in every state; they may be sent to another process."""

from __future__ import annotations

import pickle
import random
from pathlib import Path
from typing import Any

import anabranch as ab
from anabranch.repo.read.parts import part_batches, split_table


def test_the_parts_of_a_table_have_its_rows_after_any_changes_and_merges(tmp_path: Path) -> None:
    chance, parts_seen = random.Random(3), set()
    with ab.init(tmp_path / "shop", engine="duck") as repo:
        with repo.commit("main", "load") as tx:
            tx.create_table("t", [{"id": n, "v": n} for n in range(100)], key="id")
        repo.branch("dev")
        for step in range(24):
            change(repo, chance.choice(["main", "dev"]), chance, step)
            if step % 8 == 7:
                repo.merge("dev", into="main", rules={"*": "ours"})
            for branch in ("main", "dev") if step % 4 == 3 else ():
                table = repo.table("t", at=branch)
                parts = pickle.loads(pickle.dumps(split_table(table, 1)))
                parts_seen.add(len(parts))
                assert by_key(row for part in parts for row in rows_of(repo, part)) == by_key(table.rows())
    assert max(parts_seen) > 1


def change(repo: ab.Repository, branch: str, chance: random.Random, step: int) -> None:
    low = chance.randrange(100)
    with repo.commit(branch, "change") as tx:
        table = tx.table("t")
        match chance.randrange(4):
            case 0:
                table.insert([{"id": 1000 + step * 10 + n, "v": 0} for n in range(5)])
            case 1:
                table.update({"v": f"v + {step + 1}"}, where=f"id BETWEEN {low} AND {low + 20}")
            case 2:
                table.delete(where=f"id BETWEEN {low} AND {low + 3}")
            case _:
                table.upsert([{"id": low, "v": -step}])


def rows_of(repo: ab.Repository, part: Any) -> list[dict[str, Any]]:
    with part_batches(repo._ctx, part) as (_, batches):
        return [row for batch in batches for row in batch.to_pylist()]


def by_key(rows: Any) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: row["id"])
