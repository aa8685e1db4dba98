"""verify of versioned files: finds those that no checkout writes, and trees that are counted wrongly."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from anabranch.catalog import branches, history
from anabranch.catalog.checks.rows import MISSHAPEN
from anabranch.catalog.store import Connection
from anabranch.errors import AnabranchError, InvalidRequest, Unavailable
from anabranch.model.clock import Position
from anabranch.model.files import FileRow
from anabranch.model.ids import ObjectId
from anabranch.model.local_paths import local_problem
from anabranch.model.paths import check_path
from anabranch.model.verification import Affected, Damage, KnownFault
from anabranch.repo.context.context import Context
from anabranch.repo.files.blocks import BlockReader
from anabranch.repo.files.tree import FileTree, tree_at
from anabranch.repo.upkeep.verify import said_by

_RENAME = "move it, or delete it from the files (`ana file mv`, `ana file rm`); its bytes are as written"
_UNREADABLE = "restore the catalogue from a backup, or delete the file"
_RECOUNT = "it does no harm; `ana verify --repair` (repo.repair()) counts them anew, for the commits to come"
_SHOWN = 20
"""So many files of a tree are named one by one."""


def check_trees(ctx: Context) -> Iterator[Damage]:
    """Check the files of every branch and tag of the repository, each tree once."""
    seen: set[tuple[tuple[int, ObjectId], ...]] = set()
    with ctx.catalog.read() as cx:
        shown = _shown_commits(ctx, cx)
    for position, names in shown.items():
        where = f"the files of {', '.join(names)}"
        affects = Affected(ctx.record.name, table="files")
        try:
            yield from _check_tree(ctx, position, where, affects, seen)
        except MISSHAPEN as error:
            yield Damage("table", where, f"they can't be read: {said_by(error)}", affects)


def _check_tree(
    ctx: Context, at: Position, where: str, affects: Affected, seen: set[tuple[tuple[int, ObjectId], ...]]
) -> Iterator[Damage]:
    with ctx.catalog.read() as cx:
        tree = tree_at(ctx, cx, history.clock(cx, at))
    if tree.layer_ids in seen:
        return
    seen.add(tree.layer_ids)
    rows = tree.rows_below("")
    if len(rows) != tree.row_count:
        yield KnownFault("table", where, _miscounted(tree, len(rows)), affects, _RECOUNT)
    found = list(_problems(tree, rows))
    for what, hint in found[:_SHOWN]:
        yield Damage("table", where, what, affects, hint)
    if len(found) > _SHOWN:
        yield Damage("table", where, f"and {len(found) - _SHOWN} more files like these", affects)


def _miscounted(tree: FileTree, row_count: int) -> str:
    return f"they are {row_count}, and the catalogue counts {tree.row_count}: an earlier version miscounted"


def _shown_commits(ctx: Context, cx: Connection) -> dict[Position, list[str]]:
    """The commits that branches and tags show, with their names."""
    found: dict[Position, list[str]] = {}
    for branch in branches.all_heads(cx, ctx.record.id):
        found.setdefault(branch.position, []).append(f"branch {branch.name!r}")
    for position in branches.tag_positions(cx, ctx.record.id):
        found.setdefault(position, []).append("a tag")
    return found


def _problems(tree: FileTree, rows: Sequence[FileRow]) -> Iterator[tuple[str, str]]:
    """Find the files that no checkout writes, because of their paths or of their blocks."""
    for row in rows:
        try:
            problem = local_problem(check_path(row.path))
        except InvalidRequest as error:
            problem = error.message
        if problem is not None:
            yield f"{row.path!r} is checked out nowhere: {problem}", _RENAME
        for what in _block_problems(tree.block_reader, row):
            yield f"{row.path!r} can't be read: {what}", _UNREADABLE


def _block_problems(blocks: BlockReader, row: FileRow) -> Iterator[str]:
    try:
        refs = [ref for ref in blocks.leaves(row) if ref.size]
        for ref in refs:
            blocks.find(ref)
    except Unavailable:
        raise
    except AnabranchError as error:
        yield error.message
        return
    if (size := sum(ref.size for ref in refs)) != row.size:
        yield f"its blocks have {size} bytes, and its row says {row.size}"
