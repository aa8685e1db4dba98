"""Statement by statement, the same result on DuckDB, Spark classic and Spark Connect."""

from __future__ import annotations

import os
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

import anabranch as ab
from tests.repo.sql.sql_corpus import FOLDER, given_by, read_cases, write_cases

FILES = sorted(FOLDER.glob("*.sql"))
LONG = ("insert", "merge_into", "names", "namespaces", "states", "system_tables", "tables", "update_delete", "versions")
"""Files that write: most of what all of them take. On Spark they are run with `--all` only."""
pytestmark = pytest.mark.contract


CONNECT = ("types",)
"""The file whose values travel in every way."""


def parameter(file: Path) -> Any:
    marks = [(pytest.mark.long, LONG), (pytest.mark.connect, CONNECT)]
    return pytest.param(file, id=file.stem, marks=[mark for mark, files in marks if file.stem in files])


@pytest.mark.parametrize("file", [parameter(f) for f in FILES])
def test_statements_give_the_same_on_every_engine(file: Path, repo: ab.Repository, engine: dict[str, Any]) -> None:
    cases = read_cases(file)
    session = repo.sql_session(staging=False)
    found = [given_by(session, case) for case in cases]
    if os.environ.get("ANABRANCH_WRITE_GOLDEN") and engine["engine"] == "spark":
        write_cases(file, cases, found)
        return
    wrong = []
    for case, given in zip(cases, found, strict=True):
        if (
            "not on Spark 4.0" in case.directives
            and engine["engine"] == "spark"
            and version("pyspark").startswith("4.0.")
        ):
            continue
        if "spark" in case.directives and engine["engine"] == "duck":
            if not (len(given) == 1 and "runs on Spark only" in given[0]):
                wrong.append(f"{file.name}:{case.line}: {case.text}\n  DuckDB was to refuse it, but gave {given}")
        elif tuple(given) != case.expected:
            shown = "\n  ".join([*given, "expected:", *case.expected])
            wrong.append(f"{file.name}:{case.line}: {case.text}\n  {shown}")
    assert not wrong, "\n".join(wrong)


def test_the_corpus_is_large() -> None:
    assert sum(len(read_cases(file)) for file in FILES) >= 700
    assert sum(len(read_cases(file)) for file in FILES if file.stem not in LONG) >= 300
