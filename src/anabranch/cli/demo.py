"""`ana demo`: the main job on the embedded default, told step by step: Spark on this machine, SQLite, a folder."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import anabranch as ab
from anabranch.cli import state
from anabranch.cli.log import Names, graph_lines
from anabranch.cli.options import command as make_command
from anabranch.cli.output import emit_json, number, paint
from anabranch.cli.session import Session
from anabranch.cli.tables import Heading
from anabranch.cli.telling import Telling

if TYPE_CHECKING:
    from anabranch import Counts, Repository

_STATUSES = ("new", "paid", "packed", "sent", "returned")
_COLUMNS = (
    "id",
    "pmod(id * 7919, 20000) AS customer",
    f"element_at(array{_STATUSES}, int(pmod(id * 31 + id DIV 7, 5)) + 1) AS status",
    "cast(pmod(id * 7919, 100000) / 100 + 1 AS decimal(12,2)) AS price",
    "int(pmod(id * 13, 9) + 1) AS quantity",
    "substr(md5(string(id)), 1, 30) AS note",
    "timestamp_seconds(1767225600 + id * 60) AS updated",
)


@dataclass
class Scene:
    """What the steps of the demo share."""

    telling: Telling
    repo: Repository
    path: Path
    rows: int
    spark: Any = None
    loaded_at: str = ""


@make_command("demo", short_help="Show the main job from end to end.")
@click.option("--path", metavar="DIR", help="Where the repository goes; else a new temporary folder.")
@click.option("--rows", type=click.IntRange(min=1000), default=200_000, metavar="N", help="Rows to load (200,000).")
def command(session: Session, path: str | None, rows: int) -> None:
    """Show the main job from end to end, with the Python lines that do it; needs Java 17.

    JSON: path, rows, steps (list of step, seconds), branches (names).
    """
    with _folder(path) as folder, ab.init(folder, repository="shop") as repo:
        scene = Scene(Telling(session, repo), repo, folder, rows)
        for act in _ACTS:
            act(scene)
        state.save(folder, state.State(repo.name, {repo.name: "main"}))
        _end(scene)


@contextmanager
def _folder(path: str | None) -> Iterator[Path]:
    """The folder for the repository; a temporary one is removed again if the demo fails."""
    if path is not None:
        yield Path(path)
        return
    made = Path(tempfile.mkdtemp(prefix="anabranch-demo-"))
    try:
        yield made
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise


def _open(scene: Scene) -> None:
    scene.telling.say(f"Version control for {number(scene.rows)} orders: Spark on this machine, SQLite, a folder.")
    code = f"""
import anabranch as ab
repo = ab.init("{scene.path}", repository="shop")
spark = SparkSession.builder.getOrCreate()"""
    telling = scene.telling
    with telling.step("A repository, and a Spark session", code), telling.timed("starting Spark"), _jvm_log(scene):
        scene.spark = scene.repo.spark_session


def _load(scene: Scene) -> None:
    code = """
df = spark.range(…).selectExpr(…)       # any Spark, pandas, Polars or Arrow frame
with repo.commit("main", "load orders") as tx:
    tx.create_table("orders", df, key="id")
repo.tag("v1")"""
    frame = scene.spark.range(scene.rows).selectExpr(*_COLUMNS)
    with scene.telling.step(f"Load {number(scene.rows)} rows as one commit", code):
        with scene.telling.timed("Spark loads and checks the key"):
            with scene.repo.commit("main", "load orders", author="ann") as tx:
                tx.create_table("orders", frame, key="id")
            scene.repo.tag("v1")
        scene.loaded_at = datetime.now(UTC).isoformat(timespec="milliseconds")
        _print_rows(scene, scene.repo.table("orders", where="id < 3").rows())


def _branch(scene: Scene) -> None:
    with scene.telling.step("A branch is one row in the catalogue, whatever the data", 'repo.branch("dev")'):
        scene.repo.branch("dev")


def _change_dev(scene: Scene) -> None:
    code = """
with repo.commit("dev", "cheaper returns, new orders, no test orders") as tx:
    orders = tx.table("orders")
    orders.update({"price": "price * 0.9"}, where="status = 'returned' AND price > 990")
    orders.insert(rows)
    orders.delete(where="customer = 13")"""
    with scene.telling.step("Change rows on dev, in this process; main does not move", code):
        with scene.telling.timed("changing rows on dev"):
            message = "cheaper returns, new orders, no test orders"
            with scene.repo.commit("dev", message, author="ben") as tx:
                orders = tx.table("orders")
                counts = orders.update({"price": "price * 0.9"}, where="status = 'returned' AND price > 990")
                counts += orders.insert(_new_orders(scene.rows, 200))
                counts += orders.delete(where="customer = 13")
        _print_counts(scene, counts)


def _change_main(scene: Scene) -> None:
    code = """
with repo.commit("main", "order 7: a dozen") as tx:
    tx.table("orders").upsert([{"id": 7, "quantity": 12}])      # only what changes"""
    with scene.telling.step("A small change on main: milliseconds, no file, no Spark job", code):
        with scene.telling.timed("changing a row"), scene.repo.commit("main", "order 7: a dozen", author="ann") as tx:
            counts = tx.table("orders").upsert([{"id": 7, "quantity": 12}])
        _print_counts(scene, counts)


def _compare(scene: Scene) -> None:
    code = """
for ref in ("main", "dev"):
    repo.table("orders", at=ref).spark().groupBy("status").agg(…)"""
    refs = ("main", "dev")
    with scene.telling.step("Read any version on Spark: orders and turnover by status", code):
        with scene.telling.timed("Spark reads both branches"):
            found = {ref: _turnover(scene, ref) for ref in refs}
        headings = [
            Heading("status"),
            *(Heading(f"{w} {ref}", right=True) for ref in refs for w in ("orders", "turnover")),
        ]
        scene.telling.table(headings, [_status_row(status, found) for status in _STATUSES])


def _diff(scene: Scene) -> None:
    code = """
diff = repo.diff("main", "dev")
diff["orders"].counts(); diff["orders"].cells(limit=3)"""
    with scene.telling.step("What differs: told by the changes, not by comparing the tables", code):
        with scene.telling.timed("comparing main and dev"):
            table = scene.repo.diff("main", "dev")["orders"]
            counts, cells = table.counts(), table.cells(limit=3)
        kinds = ("inserted", "updated", "deleted", "cells")
        scene.telling.table([Heading(k, right=True) for k in kinds], [[number(counts[k]) for k in kinds]])
        scene.telling.say()
        rows = [(cell["key"]["id"], cell["column"], f"{cell['before']} → {cell['after']}") for cell in cells]
        scene.telling.table([Heading("id", right=True), Heading("column"), Heading("main → dev")], rows)


def _merge(scene: Scene) -> None:
    code = """
repo.merge("dev", into="main")          # rows and cells that only one side changed are taken"""
    with scene.telling.step("Merge, cell by cell; what does not meet is not written again", code):
        with scene.telling.timed("merging dev into main"):
            merged = scene.repo.merge("dev", into="main", author="ann")
        counts = merged.counts["orders"]
        kinds = ("inserted", "updated", "deleted", "cells")
        scene.telling.table([Heading(k, right=True) for k in kinds], [[number(counts[k]) for k in kinds]])


def _conflict(scene: Scene) -> None:
    code = """
merge = repo.start_merge("dev", into="main")
merge.conflicts["orders"].rows()
merge.resolve("orders", key={"id": 7}, set={"quantity": "ours + theirs - base"})
merge.finish()"""
    repo = scene.repo
    for branch, quantity in (("main", 15), ("dev", 3)):
        with repo.commit(branch, f"order 7: {quantity}", author="ann" if branch == "main" else "ben") as tx:
            tx.table("orders").upsert([{"id": 7, "quantity": quantity}])
    with scene.telling.step(
        "Both change one cell: a conflict is data; nothing is published before it is resolved", code
    ):
        with scene.telling.timed("finding and resolving the conflict"):
            merge = repo.start_merge("dev", into="main", author="ann")
            found = merge.conflicts["orders"].rows()
            merge.resolve("orders", key={"id": 7}, set={"quantity": "ours + theirs - base"})
            merge.finish()
        sides = ("base", "ours", "theirs")
        headings = [Heading("id", right=True), Heading("column"), *(Heading(s, right=True) for s in sides)]
        merged = repo.table("orders").get({"id": 7}) or {}
        rows = [(c["key"]["id"], c["column"], *(c[s] for s in sides), merged["quantity"]) for c in found]
        scene.telling.table([*headings, Heading("merged", right=True)], rows)


def _travel(scene: Scene) -> None:
    key = 7
    refs = ("main", "main~1", f"main@{{{scene.loaded_at}}}", "v1", "dev")
    code = f"""
for ref in ("main", "main~1", "main@{{…}}", "v1", "dev"):
    repo.table("orders", at=ref).get({{"id": {key}}})"""
    with scene.telling.step("Travel in time: one order at several refs", code):
        with scene.telling.timed("looking up an order"):
            found = [scene.repo.table("orders", at=ref).get({"id": key}) or {} for ref in refs]
        headings = [Heading("ref"), Heading("quantity", right=True), Heading("price", right=True), Heading("status")]
        rows = [(ref, row["quantity"], row["price"], row["status"]) for ref, row in zip(refs, found, strict=True)]
        scene.telling.table(headings, rows)


def _history(scene: Scene) -> None:
    with scene.telling.step("History", 'repo.log("main")                        # in a shell: ana log --graph'):
        commits = scene.repo.log("main")
        names = {b.commit: [b.name] for b in scene.repo.branches()}
        edges = {commit.hash: commit.parents for commit in commits}
        tags = {tag.commit: [tag.name] for tag in scene.repo.tags()}
        for line in graph_lines(commits, edges, Names("main", names, tags), oneline=True):
            scene.telling.say(f"   {line}")


_ACTS = (
    _open,
    _load,
    _branch,
    _change_dev,
    _change_main,
    _compare,
    _diff,
    _merge,
    _conflict,
    _travel,
    _history,
)


def _reach_ana() -> tuple[str, ...]:
    """How to reach the command, where the shell does not find it: from a checkout it lies in `.venv`."""
    return () if shutil.which("ana") else (f'export PATH="{Path(sys.executable).parent}:$PATH"',)


def _end(scene: Scene) -> None:
    if scene.telling.session.json:
        steps = scene.telling.times
        emit_json({"path": str(scene.path), "rows": scene.rows, "steps": steps, "branches": ["dev", "main"]})
        return
    scene.telling.say()
    scene.telling.say(paint("The repository is yours to play with:", "bold"))
    for line in (
        *_reach_ana(),
        f"cd {scene.path}",
        "ana status",
        "ana show -v dev",
        "ana table show orders --at main --where 'id = 7'",
        "ana switch -c mine && ana log --graph",
    ):
        scene.telling.say(f"   {line}")


@contextmanager
def _jvm_log(scene: Scene) -> Iterator[None]:
    """Send what the JVM says of itself to a file: it keeps the stderr that it is started with."""
    if scene.telling.session.choices.debug:
        yield
        return
    sys.stderr.flush()
    kept = os.dup(2)
    with open(scene.path / "spark.log", "ab") as log:
        os.dup2(log.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def _new_orders(start: int, count: int) -> list[dict[str, Any]]:
    moment = datetime(2026, 11, 15, 12, tzinfo=UTC)
    return [
        {
            "id": start + i,
            "customer": 42,
            "status": "new",
            "price": Decimal("19.90"),
            "quantity": 1,
            "note": "from the demo",
            "updated": moment,
        }
        for i in range(count)
    ]


def _turnover(scene: Scene, ref: str) -> dict[str, Any]:
    frame = scene.repo.table("orders", at=ref, columns=["status", "price", "quantity"]).spark()
    totals = frame.selectExpr("status", "price * quantity AS turnover").groupBy("status")
    rows = totals.agg({"*": "count", "turnover": "sum"}).collect()
    return {row["status"]: (row["count(1)"], row["sum(turnover)"]) for row in rows}


def _status_row(status: str, found: dict[str, dict[str, Any]]) -> list[str]:
    values = [value for by_status in found.values() for value in by_status[status]]
    return [status, *(f"{value:,}" for value in values)]


def _print_rows(scene: Scene, rows: list[dict[str, Any]]) -> None:
    numbers = ("id", "customer", "price", "quantity")
    ordered = sorted(rows, key=lambda row: row["id"])
    scene.telling.table([Heading(name, right=name in numbers) for name in rows[0]], [list(r.values()) for r in ordered])


def _print_counts(scene: Scene, counts: Counts) -> None:
    kinds = ("inserted", "updated", "deleted")
    scene.telling.table([Heading(k, right=True) for k in kinds], [[number(getattr(counts, k)) for k in kinds]])
