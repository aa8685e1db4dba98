"""Publish what the shards of a job made: rows and files in the order of the shards, in one commit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from anabranch.errors import InvalidRequest, RunFailed
from anabranch.jobs.dealt import Pinned
from anabranch.jobs.request import JobRequest

if TYPE_CHECKING:
    from anabranch.model.commits import Commit
    from anabranch.repo.commit.transaction import Transaction
    from anabranch.repo.repository import Repository

Manifests = Sequence[Mapping[str, Any]]


def publish_output(
    repo: Repository,
    asked: JobRequest,
    folder: Path,
    done: Manifests,
    facts: Mapping[str, Any],
    pins: Mapping[str, Pinned],
    *,
    replace_all: bool,
) -> Commit | None:
    """Commit the rows and files of all shards; `replace_all` if they are all there is, not only what is new."""
    origins = {name: f"{p.repository}@{p.commit}" for name, p in pins.items()}
    rows, files = _rows(asked, folder, done), _files(asked, done)
    if asked.keep_shards:
        _keep(repo, asked, folder, done)
    message = f"job {asked.name}, {len(done)} shards"
    is_there = asked.table in {t.name for t in repo.tables(asked.output)}
    with repo.commit(
        asked.output, message, author=asked.author, allow_empty=True, provenance=origins, facts=facts
    ) as tx:
        if rows is not None:
            _write_rows(tx, asked, rows, is_there=is_there, replace_all=replace_all)
        for path, parts in files.items():
            write = tx.files.put if replace_all or parts[0][0] == "put" else tx.files.append
            write(path, b"".join((folder / "attempts" / at / file).read_bytes() for _, at, file in parts))
    return tx.commit


def _rows(asked: JobRequest, folder: Path, done: Manifests) -> pa.Table | None:
    parts = [
        pa.ipc.open_file(str(folder / "attempts" / d["folder"] / "rows.arrow")).read_all() for d in done if d["rows"]
    ]
    if not parts:
        return None
    if asked.table is None:
        message = f"job {asked.name!r} gave rows and has no table for them"
        raise InvalidRequest(message, hint="say table= (and key=), or let the function give nothing")
    return pa.concat_tables(parts, promote_options="permissive")


def _write_rows(tx: Transaction, asked: JobRequest, rows: pa.Table, *, is_there: bool, replace_all: bool) -> None:
    """Put rows into the output's table, which is made if it is not there."""
    assert asked.table is not None
    if not is_there:
        tx.create_table(asked.table, rows, key=list(asked.key) or None)
    elif replace_all:
        tx.table(asked.table).overwrite(rows)
    elif asked.key:
        tx.table(asked.table).upsert(rows)
    else:
        tx.table(asked.table).insert(rows)


def _files(asked: JobRequest, done: Manifests) -> dict[str, list[tuple[str, str, str]]]:
    """What each file is made of, in the order of the shards; a file that two shards put is refused."""
    found: dict[str, list[tuple[str, str, str]]] = {}
    by: dict[str, int] = {}
    for d in done:
        for written in d["files"]:
            path, verb = written["path"], written["verb"]
            if path in found and "put" in (verb, found[path][0][0]) and by[path] != d["shard"]:
                message = f"job {asked.name!r} published nothing: shards {by[path]} and {d['shard']} both made {path!r}"
                raise RunFailed(message, hint="let them append to it, or give each a path of its own", path=path)
            if verb == "put":
                found[path] = []
            found.setdefault(path, []).append((verb, d["folder"], written["file"]))
            by[path] = d["shard"]
    return found


def _keep(repo: Repository, asked: JobRequest, folder: Path, done: Manifests) -> None:
    """Make a branch for each shard with what it made, from the commit that the output shows."""
    head = repo.show(asked.output).hash
    is_there = asked.table in {t.name for t in repo.tables(head)}
    for d in done:
        name = f"job/{asked.name}/shard-{d['shard']:05}"
        if name in {b.name for b in repo.branches()}:
            repo.delete_branch(name, force=True)
        repo.branch(name, at=head)
        with repo.commit(name, f"shard {d['shard']} of job {asked.name}") as tx:
            rows = _rows(asked, folder, [d])
            if rows is not None:
                _write_rows(tx, asked, rows, is_there=is_there, replace_all=False)
            for path, parts in _files(asked, [d]).items():
                write = tx.files.put if parts[0][0] == "put" else tx.files.append
                write(path, b"".join((folder / "attempts" / at / file).read_bytes() for _, at, file in parts))
