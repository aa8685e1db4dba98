"""cherry-pick: repeat one commit's change on another branch."""

from __future__ import annotations

from collections.abc import Mapping

from anabranch.catalog import commits
from anabranch.model.commits import Commit
from anabranch.plan.merge.rules import check_strictness
from anabranch.repo.branches.refs import resolve
from anabranch.repo.context.context import Context
from anabranch.repo.merge.apply import How
from anabranch.repo.merge.pick import Picked, parent_of, pick, short


def cherry_pick(
    ctx: Context,
    commit: str,
    on: str | None,
    parent: int | None,
    rules: Mapping[str, str],
    strictness: str,
    message: str | None,
    author: str | None,
) -> Commit | None:
    """Repeat a commit's change; the new commit keeps its message and names it as provenance."""
    with ctx.catalog.read() as cx:
        position = resolve(ctx, cx, commit)
        described = commits.describe(cx, [position])[0]
        what = f"cherry-pick of {short(described)}"
        base = parent_of(cx, position, parent, what)
    how = How(check_strictness(strictness), rules)
    asked = Picked(
        base,
        position,
        what,
        message or described.message,
        author or described.author,
        "cherry-pick",
        (described.hash,),
        how,
    )
    return pick(ctx, on, asked)
