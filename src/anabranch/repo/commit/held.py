"""Whether what was taken in from a local folder is still held: by an open commit, or by what became of it."""

from __future__ import annotations

from anabranch.repo.commit.open_commit import find_open
from anabranch.repo.context.context import Context
from anabranch.repo.files.held import Hashes, Held, held_by_commit, held_in
from anabranch.repo.files.tree import open_tree


def find_held(ctx: Context, name: str, taken: Hashes) -> Held:
    """Find what a commit holds, by the id of an open one or by the hash of a finished one."""
    opened = find_open(ctx, name)
    if opened is not None:
        return Held(held_in(opened.files, taken), is_open=True)
    return held_by_commit(ctx, lambda hash_: open_tree(ctx, hash_), name, taken)
