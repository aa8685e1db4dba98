"""Writes docs/reference.md from the code's own signatures and words: `python -m tests.reference_page`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import anabranch as ab
from anabranch.cli.failures import EXIT_CODES
from anabranch.frames.relation import Relation
from anabranch.plan.schema_diff import SchemaChange
from anabranch.repo.commit.open_commit import OpenCommit
from anabranch.repo.commit.transaction import Transaction
from anabranch.repo.compare.blame import Blame, BlameEntry
from anabranch.repo.compare.changes import Changes
from anabranch.repo.compare.history import RowHistoryEntry, TableHistoryEntry
from anabranch.repo.compare.table_diff import Diff, TableDiff
from anabranch.repo.merge.conflicts import Conflicts, TableConflicts
from anabranch.repo.merge.open_conflicts import OpenConflicts
from anabranch.repo.merge.open_merge import OpenMerge
from anabranch.repo.merge.open_sequence import OpenSequence
from anabranch.repo.merge.preview import Preview
from anabranch.repo.merge.request import MergeResult
from anabranch.repo.read.sql_result import SqlResult
from anabranch.repo.read.table import Table
from anabranch.repo.sql.sql import SqlSession
from anabranch.repo.verbs.opened import OpenedRepository
from anabranch.repo.write.table_writer import TableWriter

PAGE = Path(__file__).parents[1] / "docs" / "reference.md"
FUNCTIONS = (ab.init, ab.open, ab.repositories, ab.drop_repository)
CLASSES = {
    "whatever has columns and rows": Relation,
    "repo": ab.Repository,
    "tx": Transaction,
    "open_commit": OpenCommit,
    "table": Table,
    "table in a commit": TableWriter,
    "diff": Diff,
    "one table of a diff": TableDiff,
    "conflicts": Conflicts,
    "conflicts of one table": TableConflicts,
    "open_merge": OpenMerge,
    "open_sequence": OpenSequence,
    "preview": Preview,
    "changes": Changes,
    "blame": Blame,
    "result of SQL": SqlResult,
    "session of SQL": SqlSession,
}
SETTINGS = (ab.Settings, *(type(getattr(ab.Settings(), f.name)) for f in fields(ab.Settings)))
VALUES = (
    ab.Commit,
    ab.Branch,
    ab.Tag,
    ab.BranchMove,
    ab.Counts,
    ab.Optimized,
    ab.Collected,
    ab.Garbage,
    MergeResult,
    SchemaChange,
    RowHistoryEntry,
    TableHistoryEntry,
    BlameEntry,
    *SETTINGS,
)
INNER = {
    Transaction: ("state_of", "pending", "add", "alter", "drop", "rename"),
    OpenCommit: ("load",),
    SqlSession: ("run",),
}
"""What the rooms of the package ask of a transaction; no user does."""


def page() -> str:
    """The whole page, as the code is now."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield from ("# Reference", "", "Written from the code by `python -m tests.reference_page`.", "")
    yield from ("## Stores", "", *(f"- {_described(f.__name__, f, 'ab.')}" for f in FUNCTIONS), "")
    for called, kind in CLASSES.items():
        forms = " A `Relation`: what is not listed here is as there." if kind.__base__ is Relation else ""
        yield from (f"## `{kind.__name__}` ({called})", "", _first(kind) + forms, "", *_members(kind), "")
    yield from ("## Values", "")
    for value in VALUES:
        yield f"- **{value.__name__}**: {_first(value)} `{', '.join(_fields(value))}`"
    yield from ("", "## Errors", "", *_errors(), "", "## Commands", "", "See [commands.md](commands.md).")


def _members(kind: type) -> Iterator[str]:
    members = {name: member for part in _parts(kind) for name, member in vars(part).items()}
    for name, member in members.items():
        if name.startswith("_") or name in INNER.get(kind, ()):
            continue
        if isinstance(member, property):
            words = _first(member)
            yield f"- `.{name}`{': ' + words if words else ''}"
        elif inspect.isfunction(member):
            yield f"- {_described(name, member, '.')}"


def _parts(kind: type) -> tuple[type, ...]:
    """The classes whose members are listed for one."""
    if kind is ab.Repository:
        return (OpenedRepository, kind, *kind.__bases__)
    return (OpenConflicts, kind) if issubclass(kind, OpenConflicts) else (kind,)


def _described(name: str, function: Any, prefix: str) -> str:
    signature = inspect.signature(function)
    given = [p.replace(annotation=p.empty) for n, p in signature.parameters.items() if n != "self"]
    text = str(signature.replace(parameters=given, return_annotation=signature.empty)).replace("Ellipsis", "...")
    text = re.sub(r"<function .*? at 0x[0-9a-f]+>", "…", text)
    returned = signature.return_annotation
    gives = f" → `{returned}`" if returned not in (signature.empty, None, "None") else ""
    return f"`{prefix}{name}{text}`{gives}: {_first(function)}"


def _fields(value: Any) -> list[str]:
    if value in SETTINGS:
        return [
            f"{f.name}={f'{type(f.default).__name__}()' if is_dataclass(f.default) else f.default}"
            for f in fields(value)
        ]
    own = [f.name for f in fields(value)] if is_dataclass(value) else []
    return own + [n for n, m in vars(value).items() if isinstance(m, property)]


def _errors() -> Iterator[str]:
    for kind in ab.AnabranchError.__subclasses__():
        yield f"- **{kind.__name__}** (exit code {EXIT_CODES[kind]}): {_first(kind)}"


def _first(thing: Any) -> str:
    return " ".join((inspect.getdoc(thing) or "").split("\n\n")[0].split())


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
