"""facts: find commits by the facts they carry."""

from __future__ import annotations

from typing import Any

from anabranch.catalog import facts, history
from anabranch.plan.history import is_ancestor
from anabranch.repo.branches.refs import resolve
from anabranch.repo.context.context import Context


def find_facts(ctx: Context, key: str, at: str | None) -> list[tuple[str, Any]]:
    """List the commits reachable from a ref that carry a fact, newest first, with its value."""
    with ctx.catalog.read() as cx:
        head, lines = resolve(ctx, cx, at), history.Lines(cx)
        found = facts.commits_with(cx, ctx.record.id, key)
        return [(hash_, value) for position, hash_, value in found if is_ancestor(lines, position, head)]
