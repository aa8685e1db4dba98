"""Runs of pipelines as the catalogue records them."""

from __future__ import annotations

from typing import Any

from anabranch.catalog import runs as run_rows
from anabranch.catalog.history import to_datetime
from anabranch.catalog.runs import RunRecord
from anabranch.errors import NotFound
from anabranch.repo.context.context import Context


def list_runs(ctx: Context, pipeline: str | None = None, limit: int | None = None) -> list[dict[str, Any]]:
    """List the runs, newest first, as documents."""
    with ctx.catalog.read() as cx:
        return [_document(r) for r in run_rows.list_runs(cx, ctx.record.id, pipeline, limit)]


def find_run(ctx: Context, pipeline: str | None, number: int | None = None) -> dict[str, Any]:
    """Find one run, with its expectations; the newest, if no number is given, and of any pipeline, if none is."""
    with ctx.catalog.read() as cx:
        there = run_rows.list_runs(cx, ctx.record.id, pipeline)
        found = next((r for r in there if number in (None, r.number)), None)
        if found is None:
            which = f"no run {number}" if number is not None and there else "no run yet"
            whose = f"pipeline {pipeline!r} has" if pipeline is not None else "there is"
            raise NotFound(f"{whose} {which}", hint="`ana pipeline status` lists the runs")
        checked = run_rows.list_expectations(cx, [found.id])
    return {**_document(found), "expectations": [_expected(c) for c in checked]}


def list_expectations(ctx: Context, pipeline: str | None = None) -> list[dict[str, Any]]:
    """List the expectations of runs and how they were met, newest run first, as documents."""
    with ctx.catalog.read() as cx:
        there = run_rows.list_runs(cx, ctx.record.id, pipeline)
        by_run: dict[str, list[Any]] = {}
        for row in run_rows.list_expectations(cx, [r.id for r in there]):
            by_run.setdefault(row.run_id, []).append(row)
    return [
        {"pipeline": r.pipeline, "run": r.number, **_expected(c), "condition": c.condition}
        for r in there
        for c in by_run.get(r.id, ())
    ]


_EXPECTED = {
    "dataset": "table_name",
    "name": "name",
    "verdict": "action",
    "broken": "failed_count",
    "rows": "row_count",
}


def _expected(row: Any) -> dict[str, Any]:
    return {name: getattr(row, own) for name, own in _EXPECTED.items()}


def _document(r: RunRecord) -> dict[str, Any]:
    return {
        "pipeline": r.pipeline,
        "run": r.number,
        "state": r.state,
        "output": r.output,
        "branch": r.branch,
        "commit": r.commit_hash,
        "error": r.error,
        "author": r.author,
        "started_at": to_datetime(r.started_at),
        "finished_at": None if r.finished_at is None else to_datetime(r.finished_at),
        "steps": list(r.steps),
    }
