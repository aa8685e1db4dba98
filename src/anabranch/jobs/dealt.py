"""The inputs of a job, pinned and dealt to shards: files by their blocks, rows as files for executors to read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from anabranch.errors import InvalidRequest, NotFound
from anabranch.jobs.inputs import DatasetInput, Pin, pin_input, read_input_text, repository_of, source_of
from anabranch.plan.shards import InputFile, ShardBy, deal_files
from anabranch.repo.repository import Repository


@dataclass(frozen=True)
class FilesInput:
    """Files of a repository that a job reads, by a pattern."""

    pattern: str
    repository: str | None = None
    at: str | None = None
    whole: bool = False
    """Whether each shard gets all of them, not only its part."""

    @property
    def label(self) -> str:
        """Its name in messages and provenance."""
        repository = f"{self.repository}:" if self.repository else ""
        return f"{repository}files {self.pattern}{f'@{self.at}' if self.at else ''}"


JobInput = DatasetInput | FilesInput


def files(pattern: str, *, at: str | None = None, repository: str | None = None) -> FilesInput:
    """Name files for a job to read: `files("raw/**", at="main")`."""
    return FilesInput(pattern, repository, at)


def whole(given: str | JobInput) -> JobInput:
    """Name an input that each shard of a job gets whole, such as a table to look things up in: `whole("stopwords")`."""
    (found,) = read_inputs({"whole": given}).values()
    return replace(found, whole=True)


def read_inputs(given: Mapping[str, Any]) -> dict[str, JobInput]:
    """Read `inputs=`: a text names a table, `files(…)` names files."""
    found: dict[str, JobInput] = {}
    for name, value in given.items():
        if isinstance(value, DatasetInput | FilesInput):
            found[name] = value
        elif isinstance(value, str):
            found[name] = read_input_text(value)
        else:
            hint = "give a table's name ('orders@v1'), files('raw/**'), or whole(…) around one of them"
            raise InvalidRequest(f"input {name!r} is a {type(value).__name__}", hint=hint)
    return found


@dataclass(frozen=True)
class PinnedFiles:
    """Files as one commit shows them: those that match, each with an id of its content."""

    repository: str
    commit: str
    files: tuple[tuple[str, int, str], ...]
    """Path, size, and a hash of the file's content or of its blocks."""

    @property
    def version(self) -> str:
        """An id of these files and their contents."""
        return hashlib.sha256(json.dumps(self.files).encode()).hexdigest()


Pinned = Pin | PinnedFiles


def pin(repo: Repository, given: JobInput, branch: str, reader: str) -> Pinned:
    """Find the commit at which to read an input."""
    if isinstance(given, DatasetInput):
        return pin_input(repo, given, branch, reader)
    try:
        source, commit = source_of(repo, given.repository, given.at, branch)
    except NotFound as error:
        raise NotFound(f"{reader} reads {given.label!r}: {error.message}", hint=error.hint) from error
    tree = source.files(at=commit)
    rows = tree.rows_at([s.path for s in tree.glob(given.pattern) if not s.is_folder])
    known = tuple((path, row.size, _content_id(row)) for path, row in sorted(rows.items()))
    return PinnedFiles(source.name, commit, known)


def _content_id(row: Any) -> str:
    if row.sha256 is not None:
        return str(row.sha256.hex())
    described = [(b.sha256.hex(), b.size) for b in row.blocks]
    return hashlib.sha256(json.dumps(described).encode()).hexdigest()


def identity(pinned: Pinned) -> Any:
    """What identifies an input's content, whatever commit shows it."""
    if isinstance(pinned, Pin):
        return ["table", pinned.repository, pinned.table, pinned.version]
    return ["files", pinned.repository, pinned.files]


@dataclass(frozen=True)
class DealtFiles:
    """The files of an input by shard: those to read, each with the places where its bytes are, and those gone."""

    files: list[list[dict[str, Any]]]
    gone: list[list[str]]


def deal_input_files(
    repo: Repository, pinned: PinnedFiles, wanted: Sequence[str], gone: Sequence[str], shards: int, by: ShardBy
) -> DealtFiles:
    """Deal files to shards, and with them the paths that are gone: each goes to one shard."""
    source = repo if pinned.repository == repo.name else repo.sibling(pinned.repository)
    tree = source.files(at=pinned.commit)
    chosen = set(wanted)
    sizes = {path: size for path, size, _ in pinned.files if path in chosen}
    dealt = deal_files([InputFile(p, sizes.get(p, 0)) for p in [*sizes, *gone]], shards, by.files)
    rows = tree.rows_at(list(sizes))
    there = [[f for f in part if f.path in rows] for part in dealt]
    return DealtFiles(
        [[{"path": f.path, "size": f.size_bytes, "parts": tree.parts(rows[f.path])} for f in part] for part in there],
        [[f.path for f in part if f.path not in rows] for part in dealt],
    )


def changed_since(now: PinnedFiles, then: PinnedFiles | None) -> tuple[list[str], list[str]]:
    """Paths that are new or changed since, and paths that are gone."""
    old = {} if then is None else {path: id_ for path, _, id_ in then.files}
    new = {path: id_ for path, _, id_ in now.files}
    return [p for p, id_ in new.items() if old.get(p) != id_], sorted(old.keys() - new.keys())


def rows_since(repo: Repository, now: Pin, commit: str) -> tuple[Any, Any]:
    """Rows that are new or changed since a commit, and rows that are gone."""
    source = repository_of(repo, now)
    found = next((t for t in source.diff(commit, now.commit, table=now.table) if t.name == now.table), None)
    table = source.table(now.table, at=now.commit, limit=0)
    if found is None:
        return table.arrow(), table.arrow()
    if found.schema:
        raise InvalidRequest(f"the columns of {now.table!r} changed", hint="run the job once with incremental=False")
    described = found.arrow()
    kinds, plain = described.column("_change_type"), described.drop_columns(["_change_type"])
    came, went = pa.array(["insert", "update_postimage"]), pa.array(["delete"])
    return plain.filter(pc.is_in(kinds, came)), plain.filter(pc.is_in(kinds, went))
