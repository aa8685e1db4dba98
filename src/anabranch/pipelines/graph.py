"""Draws a pipeline: as text for a terminal, as Mermaid for pages and notebooks."""

from __future__ import annotations

from collections.abc import Iterator

from anabranch.jobs.dealt import FilesInput, JobInput
from anabranch.pipelines.datasets import Dataset, Pipeline


def as_text(pipeline: Pipeline) -> str:
    """One line per dataset, in order, followed by what it reads."""
    return "\n".join(line for dataset in pipeline.ordered for line in _lines(pipeline, dataset))


def _lines(pipeline: Pipeline, dataset: Dataset) -> Iterator[str]:
    yield f"{dataset.name}  ({', '.join(_caption(dataset))})"
    inputs = _inputs(pipeline, dataset)
    for n, given in enumerate(inputs):
        outside = "  (outside)" if isinstance(given, FilesInput) or not pipeline.is_inside(given) else ""
        yield f"{'└─' if n == len(inputs) - 1 else '├─'} {given.label}{outside}"


def _inputs(pipeline: Pipeline, dataset: Dataset) -> list[JobInput]:
    return [*pipeline.inputs_of(dataset).values(), *dataset.files]


def _caption(dataset: Dataset) -> list[str]:
    described = ["view" if dataset.kind == "temporary_view" else "SQL" if dataset.query else "Python"]
    if dataset.sharded:
        count = dataset.sharded.shards
        described = [f"job of {count} shard{'s' if count > 1 else ''}"]
    if dataset.key:
        described.append(f"key {', '.join(dataset.key)}")
    if dataset.refresh != "full":
        described.append(f"incremental by {dataset.group}" if dataset.group else dataset.refresh)
    if dataset.expectations:
        count = len(dataset.expectations)
        described.append(f"{count} expectation{'s' if count > 1 else ''}")
    return described


def as_mermaid(pipeline: Pipeline) -> str:
    """A flowchart: rounded boxes are outside tables, slanted ones are views."""
    names: dict[str, str] = {}

    def node(label: str) -> str:
        return names.setdefault(label, f"n{len(names)}")

    lines = ["flowchart LR"]
    for dataset in pipeline.ordered:
        opened, closed = ("[/", "/]") if dataset.kind == "temporary_view" else ("[", "]")
        lines.append(f'  {node(dataset.name)}{opened}"{_safe(dataset.name)}"{closed}')
    for dataset in pipeline.ordered:
        for given in _inputs(pipeline, dataset):
            label = given.label
            if label not in names:
                lines.append(f'  {node(label)}(["{_safe(label)}"])')
            lines.append(f"  {node(label)} --> {node(dataset.name)}")
    return "\n".join(lines)


def _safe(text: str) -> str:
    """Text for use inside quotes: anything that could end them or start HTML is escaped as a Mermaid entity."""
    return "".join(c if c.isalnum() or c in " _-.:@/" else f"#{ord(c)};" for c in text)
