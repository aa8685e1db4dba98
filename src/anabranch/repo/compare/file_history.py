"""The commits that touched a file, or anything below a folder, newest first; found by the keys of their changes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from anabranch.catalog import commits, history, views
from anabranch.catalog.store import Connection
from anabranch.model.clock import Position
from anabranch.model.commits import Commit
from anabranch.model.files import FileStat, files_schema, files_thing
from anabranch.model.listings import Listing
from anabranch.model.objects import NewObject
from anabranch.model.paths import check_folder, check_path, is_below, join_path
from anabranch.repo.branches.log import SHOWN, LogRequest
from anabranch.repo.branches.refs import resolve
from anabranch.repo.branches.walk import Walk
from anabranch.repo.context.arguments import check_limit
from anabranch.repo.context.context import Context
from anabranch.repo.files.clashes import keys_of
from anabranch.repo.files.tree import tree_at

_PAGE = 64


@dataclass(frozen=True)
class FileHistoryEntry:
    """What one commit did to a file."""

    commit: Commit
    change: str
    """`added`, `removed`, `appended` or `changed`."""
    before: FileStat | None
    after: FileStat | None


def file_history(ctx: Context, path: str, limit: int | None, at: str | None) -> list[FileHistoryEntry]:
    """List the commits that touched a file, newest first, with what each did to it."""
    path = check_path(path)
    check_limit(limit)
    found: list[FileHistoryEntry] = []
    with ctx.catalog.read() as cx:
        for position in touching(ctx, cx, [resolve(ctx, cx, at)], path, LogRequest()):
            if limit is not None and len(found) >= limit:
                break
            found += _entries_at(ctx, cx, position, path)
    return found


def file_log(ctx: Context, ref: str | None, path: str, asked: LogRequest) -> list[Commit]:
    """List the commits that touched a file, or anything below a folder, newest first."""
    check_limit(asked.limit)
    with ctx.catalog.read() as cx:
        found = islice(touching(ctx, cx, [resolve(ctx, cx, ref)], path, asked), asked.limit)
        return Listing(commits.describe(cx, found), SHOWN)


def touching(ctx: Context, cx: Connection, starts: list[Position], path: str, asked: LogRequest) -> Iterator[Position]:
    """The commits that changed a file, or anything below a folder, newest first."""
    path, thing, schema = check_folder(path), files_thing(ctx.record.id), files_schema(ctx.record.id)
    for position in Walk(starts, asked.on((thing,)), _PAGE).positions(cx):
        made = [NewObject(o) for t, o in views.change_objects(cx, position, ctx.known_objects) if t == thing]
        near = [o for o in made if _may_contain(o, path)]
        paths = (join_path(*key) for key in keys_of(ctx, near, schema, {}))
        if any(p == path or is_below(p, path) for p in paths):
            yield position


def _may_contain(new: NewObject, path: str) -> bool:
    """Whether an object's range of folders includes that of a path, or one below it."""
    box = new.stored.key_range
    if box is None:
        return True
    parent = path.rpartition("/")[0]
    return str(box.low[0]) <= f"{path}0" and str(box.high[0]) >= parent


def _entries_at(ctx: Context, cx: Connection, position: Position, path: str) -> list[FileHistoryEntry]:
    clock = history.clock(cx, position)
    before = clock.back(1)
    now = tree_at(ctx, cx, clock)
    then = tree_at(ctx, cx, history.clock(cx, before)) if before else None
    old, new = (tree.rows_at([path]).get(path) if tree else None for tree in (then, now))
    if old == new:
        return []
    stats = [tree.stat(path) if tree and row else None for tree, row in ((then, old), (now, new))]
    word = "removed" if new is None else "added" if old is None else "changed"
    if old and new and now.added_bytes(new, old) is not None:
        word = "appended"
    return [FileHistoryEntry(commits.describe(cx, [position])[0], word, stats[0], stats[1])]
