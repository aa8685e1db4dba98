"""`ana demo`: the main job on the embedded default, shown step by step: Spark on this machine, SQLite, a folder."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING, Any

import click

import anabranch as ab
from anabranch.cli import remembered as state
from anabranch.cli.commands.log import CommitText, ShownNames, graph_lines
from anabranch.cli.options import make_command
from anabranch.cli.output.tables import Heading, screen_width, table_lines
from anabranch.cli.output.text import emit, emit_json, flush, number, paint
from anabranch.cli.session import Session

if TYPE_CHECKING:
    from anabranch import Repository
    from anabranch.cli.session import Session


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


Names = dict[str, Any]
"""What the lines of the acts have named so far: `repo`, `spark`, `orders`, …"""


@dataclass(frozen=True)
class Act:
    """A step of the demo: its lines are printed, and run as they are printed."""

    title: str
    code: str
    show: Callable[[StepOutput, Names], None]
    """Print what came of it."""
    waiting: str
    """What a user waits for meanwhile."""


@make_command("demo", short_help="Run a short demonstration.")
@click.option("--path", metavar="DIR", help="Where the repository goes; else a new temporary folder.")
@click.option("--rows", type=click.IntRange(min=1000), default=200_000, metavar="N", help="Rows to load (200,000).")
def command(session: Session, path: str | None, rows: int) -> None:
    """Show the main job from end to end, with the Python lines that do it; needs Java 17.

    JSON: path, rows, steps (list of step, seconds), branches (names).
    """
    with _folder(path) as folder, ab.init(folder, repository="shop", author="ann") as repo:
        output = StepOutput(session, repo)
        output.say(f"Version control for {number(rows)} orders: Spark on this machine, SQLite, a folder.")
        names: Names = {"repo": repo, "rows": rows, "columns": _COLUMNS, "new_orders": _new_orders(rows, 200)}
        _start_spark(output, folder, names)
        for act in _ACTS:
            with output.step(act.title, act.code):
                with output.timed(act.waiting):
                    exec(act.code, names)
                act.show(output, names)
        state.save(folder, state.State(repo.name, {repo.name: "main"}))
        _end(output, folder, rows)


def _start_spark(output: StepOutput, folder: Path, names: Names) -> None:
    """The first step needs what the others have: its lines are those that a user would write."""
    code = f"""
import anabranch as ab
repo = ab.init("{folder}", repository="shop", author="ann")
spark = SparkSession.builder.getOrCreate()"""
    with (
        output.step("A repository, and a Spark session", code),
        output.timed("starting Spark"),
        _jvm_log(output, folder),
    ):
        names["spark"] = output.repo.spark_session


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


def _show_first_orders(output: StepOutput, names: Names) -> None:
    rows = names["repo"].table("orders", where="id < 3").head()
    numbers = ("id", "customer", "price", "quantity")
    output.table([Heading(name, right=name in numbers) for name in rows[0]], [list(r.values()) for r in rows])
    names["loaded_at"] = datetime.now(UTC).isoformat(timespec="milliseconds")


def _show_nothing(output: StepOutput, names: Names) -> None:
    """A branch is there, and that is all."""


def _show_counts(output: StepOutput, names: Names) -> None:
    counts = names["counts"]
    found = counts if isinstance(counts, dict) else {k: getattr(counts, k) for k in ("inserted", "updated", "deleted")}
    output.table([Heading(k, right=True) for k in found], [[number(n) for n in found.values()]])


def _show_turnover(output: StepOutput, names: Names) -> None:
    found = {ref: {row["status"]: row for row in names[ref].collect()} for ref in ("main", "dev")}
    headings = [Heading(f"{word} {ref}", right=True) for ref in found for word in ("orders", "turnover")]
    rows = [
        [status, *(f"{by_status[status][word]:,}" for by_status in found.values() for word in ("orders", "turnover"))]
        for status in _STATUSES
    ]
    output.table([Heading("status"), *headings], rows)


def _show_cells(output: StepOutput, names: Names) -> None:
    _show_counts(output, names)
    output.say()
    rows = [(cell["key"]["id"], cell["column"], f"{cell['before']} → {cell['after']}") for cell in names["cells"]]
    output.table([Heading("id", right=True), Heading("column"), Heading("main → dev")], rows)


def _show_conflict(output: StepOutput, names: Names) -> None:
    sides = ("base", "ours", "theirs")
    headings = [Heading("id", right=True), Heading("column"), *(Heading(s, right=True) for s in sides)]
    merged = names["repo"].table("orders").get({"id": 7})["quantity"]
    rows = [(c["key"]["id"], c["column"], *(c[s] for s in sides), merged) for c in names["conflicts"]]
    output.table([*headings, Heading("merged", right=True)], rows)


def _show_versions(output: StepOutput, names: Names) -> None:
    headings = [Heading("ref"), Heading("quantity", right=True), Heading("price", right=True), Heading("status")]
    rows = [(ref, row["quantity"], row["price"], row["status"]) for ref, row in names["found"].items()]
    output.table(headings, rows)


def _show_lines(output: StepOutput, names: Names) -> None:
    for line in names["lines"]:
        output.say(f"   logs/day.log: {line}")


def _show_history(output: StepOutput, names: Names) -> None:
    repo, commits = names["repo"], names["commits"]
    branches = {b.commit: [b.name] for b in repo.branches()}
    edges = {commit.hash: commit.parents for commit in commits}
    tags = {tag.commit: [tag.name] for tag in repo.tags()}
    for line in graph_lines(commits, edges, CommitText(ShownNames("main", branches, tags), oneline=True)):
        output.say(f"   {line}")


_ACTS = (
    Act(
        "Load the rows as one commit",
        """
df = spark.range(rows).selectExpr(*columns)       # any Spark, pandas, Polars or Arrow frame
with repo.commit("main", "load orders") as tx:
    tx.create_table("orders", df, key="id")
repo.tag("v1")""",
        _show_first_orders,
        "Spark loads and checks the key",
    ),
    Act(
        "A branch is one row in the catalogue, whatever the data",
        'repo.branch("dev")',
        _show_nothing,
        "making a branch",
    ),
    Act(
        "Change rows on dev, in this process; main does not move",
        """
with repo.commit("dev", "cheaper returns, new orders, no test orders", author="ben") as tx:
    orders = tx.table("orders")
    counts = orders.update({"price": "price * 0.9"}, where="status = 'returned' AND price > 990")
    counts += orders.insert(new_orders)
    counts += orders.delete(where="customer = 13")""",
        _show_counts,
        "changing rows on dev",
    ),
    Act(
        "A small change on main: milliseconds, no file, no Spark job",
        """
with repo.commit("main", "order 7: a dozen") as tx:
    counts = tx.table("orders").upsert([{"id": 7, "quantity": 12}])      # only what changes""",
        _show_counts,
        "changing a row",
    ),
    Act(
        "Read any version on Spark: orders and turnover by status",
        """
query = "SELECT status, count(*) AS orders, sum(price * quantity) AS turnover FROM orders {} GROUP BY status"
main, dev = (repo.sql(query.format(f"VERSION AS OF '{ref}'")).spark() for ref in ("main", "dev"))""",
        _show_turnover,
        "Spark reads both branches",
    ),
    Act(
        "What differs: told by the changes, not by comparing the tables",
        """
diff = repo.diff("main", "dev")
counts, cells = diff["orders"].counts(), diff["orders"].cells(limit=3)""",
        _show_cells,
        "comparing main and dev",
    ),
    Act(
        "Merge, cell by cell; what does not meet is not written again",
        """
merged = repo.merge("dev", into="main")          # rows and cells that only one side changed are taken
counts = merged.counts["orders"]""",
        _show_counts,
        "merging dev into main",
    ),
    Act(
        "Both change one cell: a conflict is data; nothing is published before it is resolved",
        """
for branch, quantity in {"main": 15, "dev": 3}.items():
    with repo.commit(branch, f"order 7: {quantity}") as tx:
        tx.table("orders").upsert([{"id": 7, "quantity": quantity}])
merge = repo.start_merge("dev", into="main")
conflicts = merge.conflicts["orders"].rows()
merge.resolve("orders", key={"id": 7}, set={"quantity": "ours + theirs - base"})
merge.finish()""",
        _show_conflict,
        "finding and resolving the conflict",
    ),
    Act(
        "Travel in time: one order at several refs",
        """
refs = ["main", "main~1", f"main@{{{loaded_at}}}", "v1", "dev"]
found = {ref: repo.table("orders", at=ref).get({"id": 7}) for ref in refs}""",
        _show_versions,
        "looking up an order",
    ),
    Act(
        "Files live in the same history: both branches append to a log, and merge",
        """
for branch in ("main", "dev"):
    with repo.commit(branch, f"a line from {branch}") as tx:
        tx.files.append("logs/day.log", f"{branch} was here\\n")
repo.merge("dev", into="main")
lines = list(repo.files("main").lines("logs/day.log"))""",
        _show_lines,
        "writing and merging files",
    ),
    Act(
        "History",
        'commits = repo.log("main")              # in a shell: ana log --graph',
        _show_history,
        "reading the log",
    ),
)


def _reach_ana() -> tuple[str, ...]:
    """How to reach the command, where the shell does not find it: from a checkout it lies in `.venv`."""
    return () if shutil.which("ana") else (f'export PATH="{Path(sys.executable).parent}:$PATH"',)


def _end(output: StepOutput, folder: Path, rows: int) -> None:
    if output.session.json:
        emit_json({"path": str(folder), "rows": rows, "steps": output.times, "branches": ["dev", "main"]})
        return
    output.say()
    output.say(paint("The repository is yours to play with:", "bold"))
    for line in (
        *_reach_ana(),
        f"cd {folder}",
        "ana status",
        "ana show -v dev",
        "ana table show orders --at main --where 'id = 7'",
        "ana switch -c mine && ana log --graph",
    ):
        output.say(f"   {line}")


@contextmanager
def _jvm_log(output: StepOutput, folder: Path) -> Iterator[None]:
    """Send what the JVM says of itself to a file: it keeps the stderr that it is started with."""
    if output.session.choices.debug:
        yield
        return
    sys.stderr.flush()
    kept = os.dup(2)
    with open(folder / "spark.log", "ab") as log:
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


_LABEL = "   "
"""The indentation of everything in a step."""


@dataclass
class StepOutput:
    """A story in steps. With --json it is silent, and only keeps the times."""

    session: Session
    repo: Repository
    times: list[dict[str, Any]] = field(default_factory=list)

    def say(self, text: str = "") -> None:
        """Print a line."""
        if not self.session.json:
            emit(text)
            flush()

    def table(self, headings: Sequence[Heading], rows: Sequence[Sequence[Any]]) -> None:
        """Print a table."""
        if not self.session.json:
            for line in table_lines(headings, rows, screen_width() - len(_LABEL)):
                self.say(_LABEL + line)

    @contextmanager
    def step(self, title: str, code: str = "") -> Iterator[None]:
        """Run a step: print its title and code, then its output, then how long it took."""
        self.say()
        self.say(paint(f"{len(self.times) + 1}. {title}", "bold"))
        if code:
            self.say(paint(indent(code.strip("\n"), _LABEL), "cyan"))
        started = time.perf_counter()
        kept: dict[str, Any] = {"step": title, "seconds": 0.0}
        self.times.append(kept)
        yield
        if not kept["seconds"]:
            self.clock(started)

    @contextmanager
    def timed(self, what: str) -> Iterator[None]:
        """Time the part of a step that does the work, showing a spinner."""
        started = time.perf_counter()
        with self.session.progress(what, self.repo):
            yield
        self.clock(started)

    def clock(self, started: float) -> None:
        """Print and keep the time since then."""
        seconds = time.perf_counter() - started
        self.times[-1]["seconds"] = round(seconds, 4)
        shown = f"{seconds:.1f} s" if seconds >= 1 else f"{seconds * 1000:.0f} ms"
        self.say(paint(f"{_LABEL}→ {shown}", "green"))
