"""files: open the file tree at a ref."""

from __future__ import annotations

from anabranch.catalog import history
from anabranch.catalog.store import Connection
from anabranch.model.clock import Clock
from anabranch.repo.branches.refs import resolve
from anabranch.repo.context.context import Context
from anabranch.repo.context.table_state import files_state
from anabranch.repo.files.blocks import BlockReader
from anabranch.repo.files.tree import FileTree


def open_tree(ctx: Context, at: str | None) -> FileTree:
    """Find the tree at a commit; it stays fixed, whatever the branch does."""
    with ctx.catalog.read() as cx:
        return tree_at(ctx, cx, history.clock(cx, resolve(ctx, cx, at)))


def tree_at(ctx: Context, cx: Connection, at: Clock) -> FileTree:
    """The tree at a known commit."""
    state = files_state(ctx, cx, at)
    return FileTree(ctx, lambda: state, BlockReader(ctx), lambda ref: open_tree(ctx, ref))
