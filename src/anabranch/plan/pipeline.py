"""Decide which datasets of a pipeline a run computes, in which order and how.

Depends on what is declared and what was read last, which the pipeline's newest commit on its output branch records."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from anabranch.errors import InvalidRequest

Refresh = Literal["full", "append", "changes", "incremental_by"]
Action = Literal["keep", "full", "incremental"]


def in_order(inputs: Mapping[str, Sequence[str]]) -> list[str]:
    """Sort datasets so that each comes after what it reads, otherwise in the order of declaration."""
    ordered: list[str] = []
    path: list[str] = []

    def visit(name: str) -> None:
        if name in path:
            ring = " → ".join([*path[path.index(name) :], name])
            hint = "let one of them read something else"
            raise InvalidRequest(f"datasets read each other in a ring: {ring}", hint=hint, ring=ring)
        if name in ordered:
            return
        path.append(name)
        for below in inputs[name]:
            if below in inputs:
                visit(below)
        path.pop()
        ordered.append(name)

    for name in inputs:
        visit(name)
    return ordered


@dataclass(frozen=True)
class LastRun:
    """What the newest commit of a pipeline says of one dataset."""

    code: str
    """The hash of the code that computed it."""
    versions: Mapping[str, str]
    """For each input, the commit that had last changed it when it was read."""


@dataclass(frozen=True)
class DatasetState:
    """One dataset as it is declared and as its inputs are now."""

    name: str
    refresh: Refresh
    code: str
    versions: Mapping[str, str]
    """For each input outside of the pipeline, the commit that last changed it."""
    reads: tuple[str, ...] = ()
    """The datasets of the pipeline that it reads."""


@dataclass(frozen=True)
class PipelineStep:
    """What a run does with one dataset, and why."""

    name: str
    action: Action
    reason: str
    moved: tuple[str, ...] = ()
    """The inputs that changed since they were last read."""
    by_move: bool = False
    """Whether these inputs are the only reason to compute it."""


@dataclass
class _MovedDatasets:
    moved: set[str] = field(default_factory=set)
    """Datasets that are computed in this run, or read something that is."""


def plan_run(
    wanted: Sequence[DatasetState],
    last: Mapping[str, LastRun],
    *,
    edited: Mapping[str, str] = MappingProxyType({}),
    full: Collection[str] = (),
) -> list[PipelineStep]:
    """Decide for each dataset, in order, whether it is kept, computed from what changed, or computed in full.

    `edited` are datasets whose tables are not as the last run left them, each with why; `full` those to compute in
    any case.
    """
    progress = _MovedDatasets()
    steps = [_step(w, last.get(w.name), edited, w.name in full, progress) for w in wanted]
    return steps


def spared(step: PipelineStep, unchanged: Collection[str]) -> PipelineStep:
    """Keep a dataset after all if what it reads was computed again and came out the same."""
    if step.by_move and set(step.moved) <= set(unchanged):
        return PipelineStep(step.name, "keep", f"{', '.join(step.moved)} came out the same")
    return step


def _step(
    w: DatasetState, last: LastRun | None, edited: Mapping[str, str], full: bool, progress: _MovedDatasets
) -> PipelineStep:
    moved = _moved(w, last, progress)
    why = _why_full(w, last, edited, full, moved)
    if why is None and not moved:
        return PipelineStep(w.name, "keep", "nothing that it reads changed")
    progress.moved.add(w.name)
    if why is not None:
        return PipelineStep(w.name, "full", why, moved)
    action: Action = "full" if w.refresh == "full" else "incremental"
    return PipelineStep(w.name, action, f"{', '.join(moved)} changed", moved, by_move=True)


def _moved(w: DatasetState, last: LastRun | None, progress: _MovedDatasets) -> tuple[str, ...]:
    known = last.versions if last else {}
    outside = [name for name, version in w.versions.items() if known.get(name) != version]
    return (*outside, *(name for name in w.reads if name in progress.moved))


def _why_full(
    w: DatasetState, last: LastRun | None, edited: Mapping[str, str], full: bool, moved: Sequence[str]
) -> str | None:
    """Why a dataset must be computed in full, whatever changed in its inputs; None if it need not be."""
    if full:
        return "a full refresh was asked for"
    if last is None:
        return "it was not computed before"
    if w.name in edited:
        return edited[w.name]
    if last.code != w.code:
        return "its code changed"
    touched = [name for name in w.reads if name in edited]
    if touched and w.refresh != "full":
        return f"{', '.join(touched)} is not as the last run left it"
    gone = [name for name in last.versions if name not in w.versions and name not in w.reads]
    if gone:
        return f"it no longer reads {', '.join(gone)}"
    new = [name for name in moved if name in w.versions and name not in last.versions]
    return f"it reads {', '.join(new)} for the first time" if new else None
