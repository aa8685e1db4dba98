"""Side branches: temporary, so that nobody's branch moves until the work is done."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from anabranch.catalog import branches
from anabranch.model.clock import Position
from anabranch.model.commits import BranchHead
from anabranch.model.ids import new_id
from anabranch.repo.context.context import Context


@contextmanager
def side_branch(ctx: Context, branch: BranchHead, onto: Position) -> Iterator[str]:
    """Make a branch to work on, and remove it at the end."""
    name = f"{branch.name}.{new_id('x')[1:9]}"
    with ctx.writing() as cx:
        ctx.make_branch(cx, name, onto)
    try:
        yield name
    finally:
        with ctx.writing() as cx:
            found = branches.find(cx, ctx.record.id, name)
            if found:
                ctx.move(cx, found, None, "delete")
