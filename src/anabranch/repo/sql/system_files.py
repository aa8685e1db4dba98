"""The relations of `ana` on versioned files: the tree, lines of text files, a file's history, differences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from anabranch.model.paths import check_path
from anabranch.repo.compare.diff import diff
from anabranch.repo.compare.file_history import file_history
from anabranch.repo.files.open_tree import open_tree
from anabranch.repo.files.tree import FileTree
from anabranch.repo.sql.system_relation import SystemRequest, SystemTable, declared

_FILES = declared(
    "path string, size bigint, is_folder boolean, sha256 string, mode int, written_at timestamp, media_type string"
)
_LINES = declared("path string, number bigint, line string")
_HISTORY = declared(
    "commit string, author string, message string, finished_at timestamp, change string, size bigint, sha256 string"
)
_DIFF = declared(
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

    return asked.in_memory(_HISTORY, rows)


def diff_files(asked: SystemRequest) -> SystemTable:
    """What differs in the files of two refs; given none, what is staged, or the last commit's change."""
    before, after = asked.ref_at(0), asked.ref_at(1)
    if before is None and asked.staged:
        found = asked.staged.diff().files
    else:
        found = diff(asked.ctx, before or f"{asked.ref}~1", after or asked.ref).files
    return asked.in_memory(_DIFF, found.rows)
