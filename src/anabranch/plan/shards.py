"""Deal the inputs of a job to its shards; the same inputs are always dealt alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapify, heapreplace
from typing import Any, Literal

from anabranch.errors import InvalidRequest

TableSplit = Literal["hash", "range", "all"]


@dataclass(frozen=True)
class InputFile:
    """A file, or some of its bytes, that one shard reads."""

    path: str
    size_bytes: int


@dataclass(frozen=True)
class ShardBy:
    """How a job deals its inputs: files by size or by folder, rows by hash or range of a column."""

    files: Literal["file", "folder"] = "file"
    rows: TableSplit = "hash"
    column: str | None = None
    """The column that rows are dealt by; None for the first of the key."""


def read_shard_by(given: Any) -> ShardBy:
    """Read `shard_by=`: "file", "folder", ("hash", "id"), ("range", "id") or None."""
    if given is None:
        return ShardBy()
    if given in ("file", "folder"):
        return ShardBy(files=given)
    if isinstance(given, tuple | list) and len(given) == 2 and given[0] in ("hash", "range"):
        return ShardBy(rows=given[0], column=str(given[1]))
    hint = 'choose "file", "folder", ("hash", COLUMN) or ("range", COLUMN)'
    raise InvalidRequest(f"shard_by={given!r} is not known", hint=hint)


def deal_files(
    files: Sequence[InputFile], shards: int, by: Literal["file", "folder"] = "file"
) -> list[list[InputFile]]:
    """Deal files so that shards get about the same bytes: the largest first, each to the shard with the least.

    By folder, files of one folder stay together. Within a shard, files are sorted by path.
    """
    groups: dict[str, list[InputFile]] = {}
    for file in sorted(files, key=lambda f: f.path):
        name = file.path if by == "file" else file.path.rpartition("/")[0]
        groups.setdefault(name, []).append(file)
    dealt: list[list[InputFile]] = [[] for _ in range(shards)]
    waiting = [(0, number) for number in range(shards)]
    heapify(waiting)
    by_size = sorted(groups.items(), key=lambda item: (-sum(f.size_bytes for f in item[1]), item[0]))
    for _, group in by_size:
        size, number = waiting[0]
        dealt[number] += group
        heapreplace(waiting, (size + sum(f.size_bytes for f in group), number))
    return [sorted(part, key=lambda f: f.path) for part in dealt]


def range_bounds(values: Sequence[Any], shards: int) -> list[Any]:
    """The values that split sorted ones into shards of about equal count; each begins the next shard."""
    ordered = sorted(values)
    if not ordered:
        return []
    cuts = (ordered[len(ordered) * n // shards] for n in range(1, shards))
    return list(dict.fromkeys(cut for cut in cuts if cut > ordered[0]))
