"""The relations of `ana` that take no engine: from the catalogue, or from the bytes of versioned files.

Commits, branches, tags, tables, columns, what is staged; where data came from, jobs, runs and their expectations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from anabranch.catalog import history
from anabranch.model.paths import check_path
from anabranch.model.schema import Schema
from anabranch.model.tables import TableEntry
from anabranch.repo.branches import branch as branch_verbs
from anabranch.repo.branches import log as log_verbs
from anabranch.repo.branches import provenance as provenance_verbs
from anabranch.repo.branches.jobs import list_expectations, list_jobs, list_runs
from anabranch.repo.branches.listing import list_namespaces, list_tags
from anabranch.repo.branches.refs import resolve
from anabranch.repo.commit.draft_listing import draft_namespaces, draft_schemas, staged_things
from anabranch.repo.commit.open_commit import working_set
from anabranch.repo.compare.diff import diff
from anabranch.repo.compare.file_history import file_history
from anabranch.repo.context.context import Context
from anabranch.repo.context.table_state import list_schemas
from anabranch.repo.files.tree import FileTree, open_tree
from anabranch.repo.merge.open_merge import list_merges
from anabranch.repo.read.object_list import list_objects
from anabranch.repo.sql.system_relation import SystemRequest, SystemTable, declared

_LOG = declared(
    "hash string, id string, author string, message string, started_at timestamp, finished_at timestamp, "
    "parents array<string>, tables array<string>, provenance array<string>"
)
_BRANCHES = declared("name string, commit string, created_at timestamp, current boolean")
_TAGS = declared("name string, commit string, created_at timestamp, author string, message string")
_TABLES = declared("name string, row_count bigint, column_count int, key array<string>")
_COLUMNS = declared(
    "table string, position int, name string, type string, nullable boolean, default string, key boolean, "
    "comment string"
)
_REFLOG = declared("branch string, before string, after string, moved_at timestamp, author string, verb string")
_OBJECTS = declared(
    "id string, name string, kind string, row_count bigint, size_bytes bigint, sha256 string, where string, "
    "here boolean"
)
_STATUS = declared(
    "name string, kind string, state string, operations array<string>, inserted bigint, updated bigint, deleted bigint"
)


def log(asked: SystemRequest) -> SystemTable:
    """The commits that a ref reaches, newest first."""
    ref = asked.ref_at(0) or asked.ref
    log_verbs.log(asked.ctx, ref, log_verbs.LogRequest(limit=0))  # Checks the ref as given, so that errors name it.
    fixed = asked.pinned(ref)
    return asked.in_memory(_LOG, lambda: map(vars, log_verbs.log(asked.ctx, fixed)))


def branches(asked: SystemRequest) -> SystemTable:
    """All branches, by name."""
    return asked.listed(
        _BRANCHES, ({**vars(b), "current": b.name == asked.branch} for b in branch_verbs.list_branches(asked.ctx))
    )


def tags(asked: SystemRequest) -> SystemTable:
    """All tags, by name."""
    return asked.listed(_TAGS, map(vars, list_tags(asked.ctx)))


def tables(asked: SystemRequest) -> SystemTable:
    """The tables, by name."""
    return asked.listed(_TABLES, (vars(entry) for entry, _ in _schemas(asked)))


def namespaces(asked: SystemRequest) -> SystemTable:
    """The namespaces, by name."""
    found = draft_namespaces(asked.staged) if asked.staged else list_namespaces(asked.ctx, asked.ref)
    return asked.listed(declared("name string"), ({"name": name} for name in found))


def columns(asked: SystemRequest) -> SystemTable:
    """The columns of all tables, or of one."""
    wanted = asked.table if asked.arguments else None
    if wanted is not None:
        asked.open_table()  # Raises if there is no such table.
    found = [(entry.name, schema) for entry, schema in _schemas(asked) if wanted in (None, entry.name)]
    return asked.listed(_COLUMNS, (row for name, schema in found for row in column_rows(name, schema)))


def column_rows(table: str, schema: Schema) -> Iterator[dict[str, Any]]:
    """The columns of a table, in order."""
    for position, column in enumerate(schema, 1):
        yield {
            "table": table,
            "position": position,
            "name": column.name,
            "type": str(column.type),
            "nullable": column.nullable,
            "default": column.default,
            "key": column.id in schema.key,
            "comment": column.comment,
        }


def reflog(asked: SystemRequest) -> SystemTable:
    """The moves of a branch, newest first."""
    branch = asked.text(0, "the name of a branch") or asked.branch
    return asked.listed(_REFLOG, map(vars, branch_verbs.reflog(asked.ctx, branch)))


def status(asked: SystemRequest) -> SystemTable:
    """What is staged on the branch, and the open merges into it."""
    opened = asked.tx or working_set(asked.ctx, asked.branch)
    return asked.listed(_STATUS, [*(staged_things(opened) if opened else []), *_merges(asked)])


def _schemas(asked: SystemRequest) -> list[tuple[TableEntry, Schema]]:
    if asked.staged:
        return draft_schemas(asked.staged)
    with asked.ctx.catalog.read() as cx:
        return list_schemas(asked.ctx, cx, history.clock(cx, resolve(asked.ctx, cx, asked.ref)), None)


def _merges(asked: SystemRequest) -> Iterator[dict[str, Any]]:
    nothing = {"inserted": None, "updated": None, "deleted": None}
    for merge in list_merges(asked.ctx, asked.branch):
        yield {"name": ", ".join(merge.sources), "kind": "merge", "state": "open", "operations": [], **nothing}


def objects(asked: SystemRequest) -> SystemTable:
    """The objects that a branch or ref is read from, all or those of one table, and where each is."""
    found = list_objects(asked.ctx, asked.pinned(asked.ref), asked.text(0, "the name of a table"))
    return asked.listed(_OBJECTS, map(vars, found))


_PROVENANCE = declared(
    "hash string, repository string, role string, message string, author string, finished_at timestamp, "
    "source string, depth int, via array<string>"
)
_RUNS = declared(
    "pipeline string, run bigint, state string, output string, branch string, commit string, error string, "
    "author string, started_at timestamp, finished_at timestamp"
)
_JOBS = declared(
    "id string, name string, state string, output string, shard_count int, finished_count int, commit string, "
    "error string, author string, started_at timestamp, finished_at timestamp"
)
_EXPECTATIONS = declared(
    "pipeline string, run bigint, dataset string, name string, condition string, action string, verdict string, "
    "rows bigint, broken bigint"
)


def provenance(asked: SystemRequest) -> SystemTable:
    """What a commit was made from, nearest first."""
    return _entries(asked, provenance_verbs.provenance)


def derived(asked: SystemRequest) -> SystemTable:
    """The commits that were made from one, nearest first."""
    return _entries(asked, provenance_verbs.derived)


def _entries(
    asked: SystemRequest, verb: Callable[[Context, str], list[provenance_verbs.ProvenanceEntry]]
) -> SystemTable:
    return asked.listed(_PROVENANCE, map(vars, verb(asked.ctx, asked.ref_at(0) or asked.ref)))


def runs(asked: SystemRequest) -> SystemTable:
    """The runs of all pipelines, or of one, newest first."""
    found = list_runs(asked.ctx, asked.text(0, "the name of a pipeline"))
    return asked.listed(_RUNS, ({**r, "error": (r["error"] or {}).get("message")} for r in found))


def expectations(asked: SystemRequest) -> SystemTable:
    """The expectations in the runs of all pipelines, or of one, newest run first."""
    return asked.listed(_EXPECTATIONS, list_expectations(asked.ctx, asked.text(0, "the name of a pipeline")))


def jobs(asked: SystemRequest) -> SystemTable:
    """All jobs, or those of one name, newest first."""
    found = list_jobs(asked.ctx, asked.text(0, "the name of a job"))
    return asked.listed(_JOBS, ({**j, "error": (j["error"] or {}).get("message")} for j in found))


_FILES = declared(
    "path string, size bigint, is_folder boolean, sha256 string, mode int, written_at timestamp, media_type string"
)
_LINES = declared("path string, number bigint, line string")
_FILE_HISTORY = declared(
    "commit string, author string, message string, finished_at timestamp, change string, size bigint, sha256 string"
)
_FILE_DIFF = declared(
    "path string, change string, before_bytes bigint, after_bytes bigint, appended_bytes bigint, moved_from string"
)


def _tree(asked: SystemRequest) -> FileTree:
    return asked.staged.files if asked.staged else open_tree(asked.ctx, asked.pinned(asked.ref))


def files(asked: SystemRequest) -> SystemTable:
    """All files, or those that match a pattern, by path."""
    pattern, tree = asked.text(0, "a pattern"), _tree(asked)
    found = tree.walk() if pattern is None else iter(tree.glob(pattern))
    return asked.in_memory(_FILES, lambda: map(vars, found))


def file_lines(asked: SystemRequest) -> SystemTable:
    """The lines of all text files that match a pattern, numbered from 1."""
    pattern, tree = asked.text(0, "a pattern") or "**", _tree(asked)
    return asked.in_memory(_LINES, lambda: _lines(tree, pattern))


def _lines(tree: FileTree, pattern: str) -> Iterator[dict[str, Any]]:
    for stat in tree.glob(pattern):
        for number, line in enumerate(tree.lines(stat.path), 1):
            yield {"path": stat.path, "number": number, "line": line}


def file_history_of(asked: SystemRequest) -> SystemTable:
    """The commits that touched a file, newest first."""
    path = check_path(asked.text(0, "a path") or "")
    ref = asked.pinned(asked.ref)

    def rows() -> Iterator[dict[str, Any]]:
        for entry in file_history(asked.ctx, path, None, ref):
            c, after = entry.commit, entry.after
            described = {"commit": c.hash, "author": c.author, "message": c.message, "finished_at": c.finished_at}
            size, digest = (after.size, after.sha256) if after else (None, None)
            yield {**described, "change": entry.change, "size": size, "sha256": digest}

    return asked.in_memory(_FILE_HISTORY, rows)


def diff_files(asked: SystemRequest) -> SystemTable:
    """What differs in the files of two refs; given none, what is staged, or the last commit's change."""
    before, after = asked.ref_at(0), asked.ref_at(1)
    if before is None and asked.staged:
        found = asked.staged.diff().files
    else:
        found = diff(asked.ctx, before or f"{asked.ref}~1", after or asked.ref).files
    return asked.in_memory(_FILE_DIFF, found.rows)
