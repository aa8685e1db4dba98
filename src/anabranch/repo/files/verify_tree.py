"""verify of versioned files: what no checkout would write, and, deep, what no reader would read."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from anabranch.catalog import branches, history
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

_RENAME = "move it, or delete it from the files (`ana file mv`, `ana file rm`); its bytes are as written"
_RECOUNT = "it does no harm; `ana verify --repair` (repo.repair()) counts them anew, for the commits to come"
_SHOWN = 20
"""So many files of a tree are named one by one."""


def check_trees(ctx: Context, *, deep: bool) -> Iterator[Damage]:
    """Check the files of every branch and tag of the repository, each tree once."""
    seen: set[tuple[tuple[int, ObjectId], ...]] = set()
    with ctx.catalog.read() as cx:
        shown = _shown_commits(ctx, cx)
        trees = [(names, tree_at(ctx, cx, history.clock(cx, at))) for at, names in shown.items()]
    for names, tree in trees:
        if tree.layer_ids in seen:
            continue
        seen.add(tree.layer_ids)
        where = f"the files of {', '.join(names)}"
        affects = Affected(ctx.record.name, table="files")
        try:
            found = list(chain(_paths(tree), _blocks(tree) if deep else ()))
            row_count = len(list(tree.walk()))
        except Unavailable:
            raise
        except AnabranchError as error:
            yield Damage("table", where, f"they can't be read: {error.message}", affects)
            continue
        if row_count != tree.row_count:
            yield KnownFault("table", where, _miscounted(tree, row_count), affects, _RECOUNT)
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


def _paths(tree: FileTree) -> Iterator[tuple[str, str]]:
    """Find the paths that no checkout writes."""
    for stat in tree.walk():
        try:
            problem = local_problem(check_path(stat.path))
        except InvalidRequest as error:
            problem = error.message
        if problem is not None:
            yield f"{stat.path!r} is checked out nowhere: {problem}", _RENAME


def _blocks(tree: FileTree) -> Iterator[tuple[str, str]]:
    """Find the files whose blocks are not what their rows say."""
    for row in tree.rows_below(""):
        for what in _block_problems(tree.block_reader, row):
            yield f"{row.path!r} can't be read: {what}", "restore the catalogue from a backup, or delete the file"


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
