"""Publishes what the shards of a job made: rows and files in shard order, in one commit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from anabranch.errors import InvalidRequest, RunFailed
from anabranch.jobs.dealt import Pinned
from anabranch.jobs.request import JobRequest
from anabranch.model.facts import JOB
from anabranch.plan.merge.rules import EVERYWHERE
from anabranch.repo.branches.jobs import remove_branch, side_branch_of
from anabranch.repo.branches.own_commits import Mark
from anabranch.repo.merge.publish_made import (
    MadeContent,
    MadeRequest,
    MadeWords,
    Mode,
    Writer,
    overwrite_rows,
    publish_made,
)

if TYPE_CHECKING:
    from anabranch.model.clock import Position
    from anabranch.model.commits import Commit
    from anabranch.objects.workplaces import Workplace
    from anabranch.repo.commit.transaction import Transaction
    from anabranch.repo.repository import Repository

Manifests = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class JobOutput:
    """Where the output of a job goes, and what its commit says."""

    repo: Repository
    asked: JobRequest
    place: Workplace
    job_id: str
    facts: Mapping[str, Any]
    pins: Mapping[str, Pinned]
    parent: Position
    """The commit of the output that the job works from."""
    replace_all: bool
    """Whether the shards made all of the output, not only what is new."""


@dataclass(frozen=True)
class MadeByShards(MadeContent):
    """What the shards of a job made: files in their workplace, read when they are written."""

    asked: JobRequest
    place: Workplace
    done: Manifests
    is_all: bool
    """Whether it is all of the job's output, not only what is new."""
    writes: set[str] = field(default_factory=set, compare=False)
    """The writes of its files."""

    @property
    def table(self) -> str | None:  # type: ignore[override]
        return self.asked.table

    @property
    def row_mode(self) -> Mode:  # type: ignore[override]
        return self.asked.mode

    @property
    def file_mode(self) -> Mode:  # type: ignore[override]
        return self.asked.mode_of_files

    @property
    def keeps_rest(self) -> bool:  # type: ignore[override]
        return not self.is_all

    @property
    def paths(self) -> Collection[str]:
        return self._files.keys()

    @cached_property
    def rows(self) -> pa.Table | None:
        """The rows of all shards; in a folder they are memory-mapped, so read only when used."""
        return _rows(self.asked, self.place, self.done)

    @cached_property
    def _files(self) -> FileParts:
        return _files(self.asked, self.done)

    def write_rows(self, tx: Transaction) -> None:
        table, rows = self.asked.table, self.rows
        if rows is not None:
            _write_rows(tx, self.asked, rows, replace_all=self.is_all)
        elif table is not None and self.is_all and self.row_mode != "append" and _has_table(tx, self.asked):
            tx.table(table).delete()

    def write_files(self, tx: Transaction, before: Collection[str]) -> None:
        if self.is_all and self.file_mode == "own":
            tx.files.remove_all(path for path in before if path not in self._files)
        _write_files(tx, self.place, self._files, self._written_as)
        self.writes.clear()
        self.writes.update(tx.files.writes if self._files else ())

    def facts(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        said = JOB.value(given)
        return JOB.facts({**said, "writes": sorted(self.writes)}) if said and self.writes else given

    def _written_as(self, verb: str) -> str:
        """How a file that shards put, or appended to, is written on top of what was made before."""
        if self.file_mode == "replace":
            return "put"
        anew = verb == "append" and self.is_all and self.file_mode == "own"
        return "append_anew" if anew else verb


@dataclass(frozen=True)
class PublishedOutput:
    """The commit of a job, and the writes of its files."""

    commit: Commit
    writes: frozenset[str]


def publish_output(output: JobOutput, done: Manifests) -> PublishedOutput:
    """Merge the rows and files of all shards into the branch, as one commit.

    The branch is searched for the job's own commit after each attempt has begun: of two drivers of one job, one
    publishes, and the other finds what it published.
    """
    repo, asked = output.repo, output.asked
    made = MadeByShards(asked, output.place, done, output.replace_all)
    _ = made.paths  # Refuses what shards made twice before anything is written.
    origins = {name: f"{p.repository}@{p.commit}" for name, p in output.pins.items()}
    message = f"job {asked.name}, {len(done)} shard{'' if len(done) == 1 else 's'}"
    words = MadeWords(message, asked.author, origins, output.facts)
    marks = (Mark(JOB, lambda said: said.get("name") == asked.name), *asked.also_own)
    own = Writer(marks, lambda c: JOB.is_value(JOB.name, c.said) and c.said.get("id") == output.job_id)
    if asked.keep_shards:
        _keep(output, made, marks)
    side = side_branch_of(asked.output, output.job_id)
    what = f"job {asked.name!r}"
    request = MadeRequest(asked.output, what, made, own, words, output.parent, side, asked.rules)
    try:
        commit = publish_made(repo.workbook.ctx, request)
    except InvalidRequest as error:
        repeated = _repeated_key(asked, output.place, done)
        if repeated is None:
            raise
        raise repeated from error
    return PublishedOutput(commit, frozenset(made.writes))


def remove_side(repo: Repository, output: str, job_id: str) -> None:
    """Remove the branch on which a job was merged, if its driver died before it did."""
    remove_branch(repo.workbook.ctx, side_branch_of(output, job_id))


def _rows(asked: JobRequest, place: Workplace, done: Manifests) -> pa.Table | None:
    parts = [_read_rows(place, d) for d in done if d["rows"]]
    if not parts:
        return None
    if asked.table is None:
        message = f"job {asked.name!r} gave rows and has no table for them"
        raise InvalidRequest(message, hint="say table= (and key=), or let the function give nothing")
    return pa.concat_tables(parts, promote_options="permissive")


def _repeated_key(asked: JobRequest, place: Workplace, done: Manifests) -> RunFailed | None:
    """The error for a key that two shards made, which names both."""
    if not asked.key:
        return None
    by: dict[tuple[Any, ...], int] = {}
    for d in done:
        rows = _read_rows(place, d) if d["rows"] else None
        if rows is None or not set(asked.key) <= set(rows.column_names):
            continue
        for values in zip(*(rows.column(name).to_pylist() for name in asked.key), strict=True):
            if by.setdefault(values, d["shard"]) != d["shard"]:
                key = ", ".join(f"{name}={value!r}" for name, value in zip(asked.key, values, strict=True))
                both = f"shards {by[values]} and {d['shard']}"
                message = f"job {asked.name!r} published nothing: {both} both made the row {key} of {asked.table!r}"
                return RunFailed(message, hint="deal the inputs by the key, as by shard_by=('hash', …)")
    return None


def _read_rows(place: Workplace, described: Mapping[str, Any]) -> pa.Table:
    """The rows of a shard, checked against its manifest; in a folder they are memory-mapped, so read only when used."""
    with place.open(f"{described['folder']}/rows.arrow") as source:
        found = pa.ipc.open_file(source).read_all()
    if found.num_rows != described["rows"]:
        message = f"shard {described['shard']} made {described['rows']} rows, but {found.num_rows} are there"
        raise RunFailed(message, hint="forget what its shards left (`ana job rm`), then run it again")
    return found


def _write_rows(tx: Transaction, asked: JobRequest, rows: pa.Table, *, replace_all: bool) -> None:
    """Write rows to the output's table; makes the table if there is none."""
    assert asked.table is not None
    if not _has_table(tx, asked):
        tx.create_table(asked.table, rows, key=list(asked.key) or None)
    elif asked.mode == "append":
        tx.table(asked.table).insert(rows)
    elif replace_all:
        overwrite_rows(tx, asked.table, rows)
    elif asked.key:
        tx.table(asked.table).upsert(rows)
    else:
        tx.table(asked.table).insert(rows)


def _has_table(tx: Transaction, asked: JobRequest) -> bool:
    return asked.table in {name for name, kind, _ in tx.all_names() if kind == "table"}


FileParts = Mapping[str, list[tuple[str, str]]]
"""The parts of each path: verb and name in the workplace."""
_FILES_AT_ONCE = 64


def _write_files(
    tx: Transaction, place: Workplace, files: FileParts, written_as: Callable[[str], str] = lambda verb: verb
) -> None:
    """Assemble each file from its parts; it is written by the method of this name."""
    listed = list(files.items())
    for start in range(0, len(listed), _FILES_AT_ONCE):
        some = listed[start : start + _FILES_AT_ONCE]
        contents = iter(place.read([name for _, parts in some for _, name in parts]))
        for path, parts in some:
            write = getattr(tx.files, written_as(parts[0][0]))
            write(path, b"".join(next(contents) for _ in parts))


def _files(asked: JobRequest, done: Manifests) -> FileParts:
    """The parts of each file in shard order; refuses a file that two shards put."""
    found: dict[str, list[tuple[str, str]]] = {}
    by: dict[str, int] = {}
    for d in done:
        for written in d["files"]:
            path, verb = written["path"], written["verb"]
            if path in found and "put" in (verb, found[path][0][0]) and by[path] != d["shard"]:
                message = f"job {asked.name!r} published nothing: shards {by[path]} and {d['shard']} both made {path!r}"
                raise RunFailed(message, hint="let them append to it, or give each a path of its own", path=path)
            if verb == "put":
                found[path] = []
            found.setdefault(path, []).append((verb, f"{d['folder']}/{written['file']}"))
            by[path] = d["shard"]
    return found


@dataclass(frozen=True)
class MadeByOneShard(MadeByShards):
    """What one shard made, to be shown on a branch of its own: as far as it is new, and without deletions."""

    others: MadeByShards | None = None
    """What all shards made."""
    seen: Counter[str] = field(default_factory=Counter, compare=False)
    """The rows of earlier shards, in a table without a key."""

    @property
    def row_mode(self) -> Mode:  # type: ignore[override]
        return "append" if self.asked.mode == "append" else "own"

    @property
    def file_mode(self) -> Mode:  # type: ignore[override]
        return "append" if self.asked.mode_of_files == "append" else "own"

    def write_rows(self, tx: Transaction) -> None:
        rows = self.rows
        if rows is not None and self.others is not None and self.others.is_all and not self.asked.key:
            rows = self._new_rows(tx, rows)
        if rows is not None:
            _write_rows(tx, self.asked, rows, replace_all=False)

    def _new_rows(self, tx: Transaction, rows: pa.Table) -> pa.Table | None:
        """The rows that the table lacks, where earlier shards made equal ones as well."""
        assert self.asked.table is not None
        there: Counter[str] = Counter()
        if _has_table(tx, self.asked):
            found = tx.table(self.asked.table).arrow().select(rows.column_names)
            there.update(map(str, found.to_pylist()))
        is_new = []
        for row in map(str, rows.to_pylist()):
            self.seen[row] += 1
            is_new.append(self.seen[row] > there[row])
        return rows.filter(pa.array(is_new, pa.bool_())) if any(is_new) else None

    def write_files(self, tx: Transaction, before: Collection[str]) -> None:
        changed = {path: parts for path, parts in self._files.items() if not self._is_as_before(tx, path)}
        _write_files(tx, self.place, changed)

    def _is_as_before(self, tx: Transaction, path: str) -> bool:
        """Whether all shards together make a file as it is."""
        assert self.others is not None
        if not self.others.is_all or path not in tx.files:
            return False
        parts = self.others._files[path]
        return tx.files.read(path) == b"".join(self.place.read([name for _, name in parts]))


def _keep(output: JobOutput, made: MadeByShards, marks: Sequence[Mark]) -> None:
    """Make a branch for each shard, from the parent, with what it made; where others have it otherwise, it wins."""
    repo, asked, seen = output.repo, output.asked, Counter[str]()
    there = {b.name for b in repo.branches()}
    parent = repo.workbook.hash_of(output.parent)
    for d in made.done:
        name = f"job/{asked.name}/shard-{d['shard']:05}"
        if name in there:
            repo.delete_branch(name, force=True)
        repo.branch(name, at=parent)
        one = MadeByOneShard(asked, output.place, [d], False, others=made, seen=seen)
        words = MadeWords(f"shard {d['shard']} of job {asked.name}", asked.author, (), {})
        rules = {**asked.rules, EVERYWHERE: "theirs"}
        side = f"{name}.job-{output.job_id}"
        whose = Writer(marks, lambda _: False)
        what = f"shard {d['shard']} of job {asked.name!r}"
        publish_made(repo.workbook.ctx, MadeRequest(name, what, one, whose, words, output.parent, side, rules))
