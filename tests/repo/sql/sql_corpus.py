"""Files of SQL statements with what they give: read, run, and written."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import anabranch as ab
from anabranch.repo.read.sql_result import SqlResult

_HASH = re.compile(r"\b[0-9a-f]{64}\b")
FOLDER = Path(__file__).parents[2] / "golden" / "sql"


@dataclass(frozen=True)
class Case:
    """A statement, what is said about it, and what it is expected to give."""

    notes: tuple[str, ...]
    directives: frozenset[str]
    text: str
    expected: tuple[str, ...]
    line: int


def read_cases(file: Path) -> list[Case]:
    """Read a file of statements."""
    return list(_cases(file.read_text("utf-8").splitlines()))


def _cases(lines: list[str]) -> Iterator[Case]:
    notes: list[str] = []
    text: list[str] = []
    expected: list[str] = []
    start, complete = 0, False
    for number, line in enumerate([*lines, "-- end"], 1):
        if line.startswith(("--|", "--!")):
            expected.append(line)
            continue
        if complete:
            directives = frozenset(n[3:].strip() for n in notes if n.startswith("--:"))
            yield Case(tuple(notes), directives, "\n".join(text), tuple(expected), start)
            notes, text, expected, complete = [], [], [], False
        if not text and (line.startswith("--") or not line.strip()):
            notes.append(line)
            continue
        start = start if text else number
        text.append(line)
        complete = line.rstrip().endswith(";")


def write_cases(file: Path, cases: list[Case], found: list[list[str]]) -> None:
    """Write a file again with what its statements gave."""
    lines: list[str] = []
    for case, given in zip(cases, found, strict=True):
        lines += [*case.notes, case.text, *given]
    file.write_text("\n".join(lines) + "\n", "utf-8")


def given_by(session: Any, case: Case) -> list[str]:
    """Run a statement and tell what it gives."""
    try:
        result: SqlResult = session.execute(case.text)[-1]
        return [] if "no rows" in case.directives else _told(result)
    except ab.AnabranchError as error:
        kind, text = f"--! {type(error).__name__}", error.message.partition("\n")[0]
        is_bare = "engine's words" in case.directives and "runs on Spark only" not in text
        return [kind if is_bare else f"{kind}: {text}"]


def _told(result: SqlResult) -> list[str]:
    rows = result.arrow()
    header = " | ".join(f"{n}: {t}" for n, t in zip(result.columns, result.types, strict=True))
    columns = [rows.column(i).to_pylist() for i in range(rows.num_columns)]
    told = [" | ".join(_text(value) for value in row) for row in zip(*columns, strict=True)]
    is_ordered = "order by" in result.statement.text.lower()
    return [f"--| {header}", *(f"--| {line}" for line in (told if is_ordered else sorted(told)))]


def _text(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float, Decimal)):
        return str(value)
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    if isinstance(value, (date, datetime)):
        return value.isoformat()
    if isinstance(value, str):
        value = _HASH.sub("<hash>", value)
        plain = value and value.isprintable() and value == value.strip() and not set('|"') & set(value)
        return value if plain and value != "NULL" else json.dumps(value, ensure_ascii=False)
    return json.dumps(value, ensure_ascii=False, default=_text)
