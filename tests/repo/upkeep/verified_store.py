"""A store with a row in every table that commits, merges and open work write."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import anabranch as ab

SETTINGS = ab.Settings(
    objects=ab.ObjectSettings(inline_limit_bytes=2000), folding=ab.FoldingSettings(clock_depth_limit=2, commit_limit=3)
)
FOLDING = replace(SETTINGS, folding=replace(SETTINGS.folding, rewrite_share=1e9))
"""Nothing is written anew, so that folds stay."""
ROWS = [{"id": n, "v": n, "w": f"row {n}"} for n in range(40)]


def make_store(folder: Path) -> Path:
    """Make it: a carried line, folds, snapshots, merges with exceptions, files, an open commit and an open merge."""
    store = folder / "store"
    with ab.init(store, engine="duck", author="ann", settings=SETTINGS) as repo:
        _load(repo)
        repo.branch("dev")
        _diverge(repo)
        repo.merge("dev", "main", rules={"t.v": "theirs"})
        _sprout(repo)
        with ab.open(store, engine="duck", author="ann", settings=FOLDING) as folding:
            for n in range(4):
                with folding.commit("three", f"fold {n}") as tx:
                    tx.table("t").update({"v": f"{n}"}, where=f"id = {n}")
        repo.optimize("t", on="main")
        repo.tag("first", "main~2")
        with repo.commit("main", "made from another", provenance=[repo.show().hash]) as tx:
            tx.table("t").delete(where="id = 7")
        _leave_open(repo)
    return store


def _load(repo: ab.Repository) -> None:
    with repo.commit("main", "load") as tx:
        tx.create_table("t", ROWS, key="id")
    with repo.commit("main", "more tables") as tx:
        tx.create_namespace("sales")
        tx.create_table("sales.orders", [{"name": "a"}, {"name": "b"}])
        tx.create_table("large", [{"id": n, "text": f"{n * 7919:032x}" * 4} for n in range(500)], key="id")


def _diverge(repo: ab.Repository) -> None:
    for n in range(4):
        for branch, cells in (("main", {"v": f"v + {n + 1}"}), ("dev", {"w": f"'dev {n}'", "v": "v - 1"})):
            with repo.commit(branch, f"step {n}") as tx:
                tx.table("t").update(cells, where=f"id BETWEEN {n} AND {n + 3}")


def _sprout(repo: ab.Repository) -> None:
    """Branches from branches, until a line carries the whole state."""
    above = "main"
    for number, name in enumerate(("one", "two", "three")):
        repo.branch(name, above)
        with repo.commit(name, f"on {name}") as tx:
            tx.table("t").insert([{"id": 100 + number, "v": 0, "w": name}])
            if name == "two":
                tx.table("t").add_column("x", "int")
        above = name


def _leave_open(repo: ab.Repository) -> None:
    for branch in ("one", "two"):
        with repo.commit(branch, "the same row") as tx:
            tx.table("t").update({"w": f"'{branch}'"}, where="id IN (1, 2)")
    merge = repo.start_merge("two", "one")
    merge.resolve("t", key=1, take="theirs")
    opened = repo.start("main", message="work")
    opened.table("t").insert([{"id": 900, "v": 1, "w": "open"}])
