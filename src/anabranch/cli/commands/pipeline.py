"""`ana pipeline`: tables computed from tables, checked on a branch of their own and published in one commit."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from anabranch.cli.failures import BadUsage, report
from anabranch.cli.options import CommandGroup
from anabranch.cli.output.tables import Heading, drawn
from anabranch.cli.output.text import clean, emit, local, number, paint
from anabranch.cli.session import Session
from anabranch.errors import AlreadyExists, AnabranchError

if TYPE_CHECKING:
    from anabranch.pipelines import Pipeline, RunResult
    from anabranch.pipelines.run import StepResult

_spec = click.option("--spec", type=click.Path(), metavar="FILE", help="The pipeline's file (found here or above).")
_on = click.option("--on", metavar="BRANCH", help="Where the output goes (as the file says, else the current branch).")
_full = click.option("--full-refresh", multiple=True, metavar="DATASET", help="Compute this one anew.")
_all = click.option("--full-refresh-all", is_flag=True, help="Compute all of them anew.")

_EXAMPLE = {
    "ana-pipeline.yml": """\
name: {name}
libraries:
  - glob:
      include: transformations/**
output:
  branch: main
""",
    "transformations/example.sql": """\
-- A table of numbers, and one that is computed from it. Give what you compute a key, and say what you expect of it.
CREATE MATERIALIZED VIEW numbers (CONSTRAINT known EXPECT (n IS NOT NULL) ON VIOLATION FAIL UPDATE) KEY (n)
AS SELECT id AS n FROM VALUES (1), (2), (3) AS t(id);

CREATE MATERIALIZED VIEW squares KEY (n) AS SELECT n, n * n AS square FROM numbers;
""",
}


@click.group("pipeline", cls=CommandGroup, short_help="Compute tables from tables, checked before they are published.")
def command() -> None:
    """Run the pipeline that ana-pipeline.yml describes; see docs/pipelines.md."""


@command.command("init")
@click.argument("name", metavar="NAME")
def init(session: Session, name: str) -> None:
    """Write an example pipeline into the current folder: ana-pipeline.yml and transformations/.

    \b
    $ ana pipeline init sales

    JSON: files (list of paths).
    """
    paths = {Path(path): text.format(name=name) for path, text in _EXAMPLE.items()}
    taken = next((path for path in paths if path.exists()), None)
    if taken:
        raise AlreadyExists(f"{taken} is there already", hint="go to another folder, or remove it")
    for path, text in paths.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    session.tell(
        {"files": [str(path) for path in paths]}, (f"Wrote {path}" for path in paths), "Run it with `ana pipeline run`."
    )


@command.command("run")
@_spec
@_on
@_full
@_all
def run_(
    session: Session, spec: str | None, on: str | None, full_refresh: tuple[str, ...], full_refresh_all: bool
) -> None:
    """Compute what the inputs changed, check it on a branch of its own, and publish it in one commit.

    \b
    $ ana pipeline run

    JSON: pipeline, run, output, commit, steps (list of name, action, reason, counts, seconds), expectations (list of
    dataset, name, action, verdict, broken, rows).
    """
    from anabranch.pipelines.run import run

    pipeline, chosen = _load(session, spec), _chosen(full_refresh, full_refresh_all)
    with session.progress(f"running {pipeline.name}"):
        done = run(
            session.repo,
            pipeline,
            on=_output(session, pipeline, on),
            full_refresh=chosen,
            author=session.author,
            notify=lambda step: None if session.json else emit(_step_line(step)),
        )
    _show(session, done)


@command.command("dry-run")
@_spec
@_on
@_full
@_all
def dry_run(
    session: Session, spec: str | None, on: str | None, full_refresh: tuple[str, ...], full_refresh_all: bool
) -> None:
    """Say what a run would compute, and why; nothing is read or written.

    \b
    $ ana pipeline dry-run

    JSON: as for run.
    """
    from anabranch.pipelines.run import run

    pipeline, chosen = _load(session, spec), _chosen(full_refresh, full_refresh_all)
    done = run(session.repo, pipeline, on=_output(session, pipeline, on), full_refresh=chosen, dry_run=True)
    session.tell(_document(done), map(_step_line, done.steps))


@command.command("watch")
@_spec
@_on
@click.option(
    "--every", "every_seconds", type=float, default=2.0, metavar="SECONDS", help="How often heads are asked (2)."
)
def watch_(session: Session, spec: str | None, on: str | None, every_seconds: float) -> None:
    """Run whenever an input moved, until Ctrl-C; no JVM starts before one did.

    \b
    $ ana pipeline watch --every 10

    JSON: a document for each run, as for run.
    """
    from anabranch.pipelines.run import watch

    pipeline = _load(session, spec)
    if not session.json:
        emit(f"Watching the inputs of {clean(pipeline.name)}; Ctrl-C ends it.")

    def notify(found: RunResult | AnabranchError) -> None:
        if isinstance(found, AnabranchError):
            report(found, session)
        else:
            _show(session, found)

    try:
        watch(
            session.repo,
            pipeline,
            on=_output(session, pipeline, on),
            every_seconds=every_seconds,
            notify=notify,
            notify_step=lambda step: None if session.json else emit(_step_line(step)),
            author=session.author,
        )
    except KeyboardInterrupt as interrupt:
        if hasattr(interrupt, "__notes__"):  # in the middle of a run
            raise


@command.command("status")
@click.option("-n", "--limit", type=click.IntRange(min=1), default=20, help="How many runs are shown (20).")
def status(session: Session, limit: int) -> None:
    """List the runs of pipelines, newest first.

    \b
    $ ana pipeline status -n 5

    JSON: runs (list of pipeline, run, state, output, branch, commit, error, started_at, finished_at, steps).
    """
    found = session.repo.runs(limit=limit)
    headings = [Heading(name, right=name == "run") for name in ("pipeline", "run", "state", "output", "started")]
    rows = [(r["pipeline"], str(r["run"]), r["state"], r["output"], local(r["started_at"])) for r in found]
    session.tell({"runs": found}, drawn(headings, rows) if found else "No pipeline was run yet.")


@command.command("logs")
@click.argument("pipeline", metavar="[PIPELINE]", required=False)
@click.argument("run", metavar="[RUN]", type=click.IntRange(min=1), required=False)
def logs(session: Session, pipeline: str | None, run: int | None) -> None:
    """Show what a run did with each dataset, and how what was expected was met; the newest, if none is named.

    \b
    $ ana pipeline logs sales

    JSON: run (as in status, with expectations).
    """
    found = session.repo.find_run(pipeline, run)
    if session.told({"run": found}):
        return
    emit(f"run {found['run']} of {clean(found['pipeline'])}: {found['state']}, output {clean(found['output'])}")
    for step in found["steps"]:
        emit(f"  {clean(step['name'])}: {step['action']} ({clean(step['reason'])}){_counts(step['counts'])}")
    for checked in found["expectations"]:
        emit(f"  {_expectation(checked)}")
    if found["error"]:
        emit(paint(f"  {clean(found['error']['message'])}", "red"))
        emit(f"  its branch is {clean(found['branch'])}")


@command.command("graph")
@_spec
@click.option("--mermaid", is_flag=True, help="As Mermaid, for pages and notebooks.")
def graph(session: Session, spec: str | None, mermaid: bool) -> None:
    """Draw what is computed from what.

    \b
    $ ana pipeline graph --mermaid

    JSON: mermaid (text).
    """
    from anabranch.pipelines.graph import as_mermaid, as_text

    pipeline = _load(session, spec)
    chart = as_mermaid(pipeline)
    session.tell({"mermaid": chart}, chart if mermaid else as_text(pipeline))


def _load(session: Session, spec: str | None) -> Pipeline:
    from anabranch.pipelines.load import load

    return load(spec or Path.cwd(), lambda: session.repo.spark_session)


def _output(session: Session, pipeline: Pipeline, on: str | None) -> str:
    from anabranch.pipelines.run import output_branch

    return output_branch(on, pipeline, session.branch)


def _chosen(names: tuple[str, ...], every: bool) -> tuple[str, ...] | str:
    if names and every:
        raise BadUsage("--full-refresh and --full-refresh-all contradict each other", hint="give one of them")
    return "all" if every else tuple(part.strip() for name in names for part in name.split(",") if part.strip())


def _show(session: Session, done: RunResult) -> None:
    if session.told(_document(done)):
        return
    if done.run is None:
        emit("Nothing to do: no input changed.")
        return
    for checked in done.expectations:
        emit(f"  {_expectation(checked.as_document())}")
    assert done.commit is not None
    emit(f"[{clean(done.output)} {done.commit.hash[:10]}] {clean(done.commit.message)}")


def _step_line(step: StepResult) -> str:
    return f"  {clean(step.name)}: {step.action} ({clean(step.reason)}){_counts(step.counts)}"


def _counts(counts: Any) -> str:
    words = {1: {"rows": "row", "files": "file"}}
    described = ", ".join(f"{number(n)} {words.get(n, {}).get(word, word)}" for word, n in dict(counts).items() if n)
    return f"  {described}" if described else ""


def _expectation(checked: Any) -> str:
    of = f" of {number(checked['rows'])}" if checked["rows"] is not None else ""
    where = f"{clean(checked['dataset'])}: " if checked["dataset"] else ""
    mark = {"met": "ok", "failed": "FAILED"}.get(checked["verdict"], checked["verdict"])
    return f"{where}{clean(checked['name'])}  {mark}, {number(checked['broken'])}{of} rows break it"


def _document(done: RunResult) -> dict[str, Any]:
    steps = [
        {"name": s.name, "action": s.action, "reason": s.reason, "counts": dict(s.counts), "seconds": s.seconds}
        for s in done.steps
    ]
    return {
        "pipeline": done.pipeline,
        "run": done.run,
        "output": done.output,
        "commit": done.commit.hash if done.commit else None,
        "steps": steps,
        "expectations": [c.as_document() for c in done.expectations],
    }
