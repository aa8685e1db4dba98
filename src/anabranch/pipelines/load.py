"""Reads a pipeline: a file `ana-pipeline.yml` with Spark's keys, and the Python and SQL files that it names."""

from __future__ import annotations

import ast
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from anabranch.errors import InvalidRequest, NotFound
from anabranch.jobs.function_file import PIPELINE_FILE, among_neighbours, load_module
from anabranch.jobs.inputs import DatasetInput, read_input_text
from anabranch.pipelines.datasets import Expectation, Pipeline, PipelineOutput
from anabranch.pipelines.declarations import Declarations, declared_dataset, declaring
from anabranch.pipelines.sql_files import datasets_of

SPEC_NAMES = ("ana-pipeline.yml", "ana-pipeline.yaml", "spark-pipeline.yml", "spark-pipeline.yaml")
_KEYS = ("name", "libraries", "configuration", "output", "inputs", "storage", "catalog", "database", "schema")


def pipeline(
    name: str,
    *functions: Callable[..., Any],
    branch: str | None = None,
    inputs: Mapping[str, str | DatasetInput] | None = None,
    expectations: Sequence[Expectation] = (),
) -> Pipeline:
    """Make a pipeline of decorated functions; `inputs` are outside tables (`dp.read(…)`), by name."""
    known = {n: s if isinstance(s, DatasetInput) else read_input_text(s) for n, s in (inputs or {}).items()}
    return Pipeline(name, tuple(map(declared_dataset, functions)), PipelineOutput(branch), known, tuple(expectations))


def find_spec(folder: Path) -> Path:
    """Find the pipeline's file in a folder or above it."""
    for place in (folder, *folder.parents):
        found = [place / name for name in SPEC_NAMES if (place / name).is_file()]
        if len(found) > 1:
            both = " and ".join(f.name for f in found)
            raise InvalidRequest(f"{place} has {both}", hint="name one of them with --spec")
        if found:
            return found[0]
    hint = "`ana pipeline init NAME` makes one"
    raise NotFound(f"there is no {SPEC_NAMES[0]} in {folder} or above it", hint=hint)


def load(path: str | os.PathLike[str], session: Callable[[], Any] | None = None) -> Pipeline:
    """Read a pipeline from its file, or from the file's folder.

    `session` returns the Spark session that files for Spark's own pipelines know as `spark`.
    """
    given = Path(path).resolve()
    spec = find_spec(given) if given.is_dir() else given
    said = _spec(spec)
    collected = Declarations()
    with among_neighbours(spec.parent), declaring(collected):
        for file in _files(spec, said.get("libraries") or []):
            _read(file, spec.parent, collected, session)
    output = _mapping(spec, "output", said.get("output") or {})
    return Pipeline(
        str(said["name"]),
        collected.datasets,
        PipelineOutput(output.get("branch"), output.get("repository")),
        {name: _source(spec, name, s) for name, s in _mapping(spec, "inputs", said.get("inputs") or {}).items()},
        tuple(collected.expectations),
        {str(k): str(v) for k, v in _mapping(spec, "configuration", said.get("configuration") or {}).items()},
    )


def _spec(path: Path) -> Mapping[str, Any]:
    import yaml

    try:
        said = yaml.safe_load(path.read_text("utf-8"))
    except OSError as error:
        raise NotFound(f"{path} can't be read: {error.strerror}", hint="name the pipeline's file") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InvalidRequest(f"{path.name} is no YAML: {error}", hint="see docs/pipelines.md") from error
    said = _mapping(path, "the file", said)
    unknown = [k for k in said if k not in _KEYS]
    if unknown:
        hint = f"it may have {', '.join(_KEYS[:5])}"
        raise InvalidRequest(f"{path.name} has the unknown key {unknown[0]!r}", hint=hint)
    if not isinstance(said.get("name"), str) or not said["name"]:
        raise InvalidRequest(f"{path.name} has no name", hint="such as `name: sales`")
    return said


def _mapping(path: Path, what: str, found: Any) -> Mapping[str, Any]:
    if not isinstance(found, Mapping):
        message = f"{path.name}: {what} is {type(found).__name__}, keys with values were expected"
        raise InvalidRequest(message, hint="see docs/pipelines.md")
    return found


def _source(path: Path, name: str, said: Any) -> DatasetInput:
    if isinstance(said, str):
        return DatasetInput(said)
    known = _mapping(path, f"inputs.{name}", said)
    extra = [k for k in known if k not in ("table", "repository", "at")]
    if extra:
        hint = "it may have table, repository and at"
        raise InvalidRequest(f"{path.name}: inputs.{name} has the unknown key {extra[0]!r}", hint=hint)
    return DatasetInput(str(known.get("table", name)), known.get("repository"), known.get("at"))


def _files(spec: Path, libraries: Any) -> Iterator[Path]:
    """The files that `libraries` names, each once, sorted within a pattern."""
    seen: set[Path] = set()
    for entry in libraries if isinstance(libraries, list) else [libraries]:
        pattern = _pattern(spec, entry)
        found = sorted(p for p in spec.parent.glob(pattern) if p.is_file() and "__pycache__" not in p.parts)
        if not found:
            raise NotFound(f"{spec.name}: no file matches {pattern!r}", hint=f"patterns start at {spec.parent}")
        for path in found:
            if path.suffix in (".py", ".sql") and path not in seen:
                seen.add(path)
                yield path


def _pattern(spec: Path, entry: Any) -> str:
    found = entry.get("glob") if isinstance(entry, Mapping) else entry
    found = found.get("include") if isinstance(found, Mapping) else found
    if not isinstance(found, str) or not found or found.startswith("/") or ".." in Path(found).parts:
        message = f"{spec.name}: {entry!r} names no files in the pipeline's folder"
        raise InvalidRequest(message, hint="such as `libraries: [{glob: {include: transformations/**}}]`")
    return f"{found}/*" if found.endswith("/**") else found


def _read(file: Path, folder: Path, into: Declarations, session: Callable[[], Any] | None) -> None:
    origin = file.relative_to(folder).as_posix()
    if file.suffix == ".sql":
        into.written += datasets_of(file.read_text("utf-8"), origin)
    elif "pyspark" in file.read_text("utf-8") and _is_of_spark(file):
        from anabranch.pipelines.spark_declarations import declared_by_spark

        with declared_by_spark(into, origin):
            load_module(file, PIPELINE_FILE, **({"spark": session()} if session else {}))
    else:
        load_module(file, PIPELINE_FILE)


def _is_of_spark(file: Path) -> bool:
    """Tell whether a file uses the decorators of `pyspark.pipelines`."""

    def imported(node: ast.AST) -> bool:
        if isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{a.name}" for a in node.names]
            return node.module == "pyspark.pipelines" or "pyspark.pipelines" in names
        return isinstance(node, ast.Import) and any(a.name == "pyspark.pipelines" for a in node.names)

    try:
        return any(map(imported, ast.walk(ast.parse(file.read_text("utf-8")))))
    except SyntaxError:
        return False  # running it will report where
