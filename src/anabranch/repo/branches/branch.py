"""branch: create, rename, delete, move and list branches; create and delete tags."""

from __future__ import annotations

from collections.abc import Sequence

from anabranch.catalog import branches, history, open_commits, open_merges
from anabranch.catalog.moves import HeadMoved
from anabranch.catalog.store import Connection, now
from anabranch.errors import AlreadyExists, BranchMoved, InvalidRequest, NotFound
from anabranch.model.clock import Position
from anabranch.model.commits import Branch, BranchHead, BranchMove
from anabranch.model.listings import Listing
from anabranch.model.names import check_ref_name
from anabranch.plan.history import is_ancestor
from anabranch.repo.branches.refs import need_branch, resolve
from anabranch.repo.context.arguments import check_limit, check_text
from anabranch.repo.context.context import Context


def create_branch(ctx: Context, name: str, at: str | None) -> Branch:
    """Create a branch that shows the commit at a ref: one row, whatever the size of the data."""
    check_ref_name(name, "branch")
    with ctx.writing() as cx:
        start = branches.find_start(cx, ctx.record.id, at, name)
        head = start[0] if start else history.head(cx, resolve(ctx, cx, at))
        assert head is not None
        _refuse(start[1] if start else branches.kind_named(cx, ctx.record.id, name), name)
        made_at = now(cx)
        ctx.make_branch(cx, name, head.position, made_at)
    return Branch(name, head.hash, history.to_datetime(made_at))


def find_branch(ctx: Context, name: str) -> Branch:
    """Find one branch."""
    with ctx.catalog.read() as cx:
        head = need_branch(ctx, cx, name)
        return _described(ctx, cx, name, head.position)


def rename_branch(ctx: Context, old: str, new: str) -> None:
    """Rename a branch; its history and moves stay."""
    check_ref_name(new, "branch")
    with ctx.writing() as cx:
        head = need_branch(ctx, cx, old)
        _refuse_taken(ctx, cx, new)
        ctx.move(cx, head, head.position, "rename", renamed_to=new)
        open_commits.rename_branch(cx, ctx.record.id, old, new)
        open_merges.rename_branch(cx, ctx.record.id, old, new)


def delete_branch(ctx: Context, name: str, force: bool) -> None:
    """Delete a branch; work that no other branch or tag reaches needs `force`."""
    with ctx.writing() as cx:
        head = need_branch(ctx, cx, name)
        if name == ctx.default_branch(cx):
            raise InvalidRequest(f"{name!r} is the default branch", hint="rename it instead")
        if not force and not _is_kept(ctx, cx, head):
            hint = "merge or tag it first, or force it"
            raise InvalidRequest(f"branch {name!r} has commits that no other branch or tag reaches", hint=hint)
        opened = open_commits.on_branch(cx, ctx.record.id, name)
        if opened and not force:
            hint = "commit or discard it first, or force it"
            raise InvalidRequest(f"branch {name!r} has work that is not committed yet", hint=hint, open_commits=opened)
        for id_ in opened:
            open_commits.remove(cx, id_)
        open_merges.remove_on(cx, ctx.record.id, name)
        ctx.move(cx, head, None, "delete")


def fast_forward(ctx: Context, name: str, to: str) -> Branch:
    """Move a branch forward to a commit that descends from the one it shows."""
    return _move(ctx, name, to, "fast-forward", must_descend=True)


def reset_branch(ctx: Context, name: str, to: str) -> Branch:
    """Move a branch to any commit; the one it showed stays in its moves."""
    return _move(ctx, name, to, "reset", must_descend=False)


def list_branches(ctx: Context, showing: Sequence[str] | None = None) -> list[Branch]:
    """List the branches by name: all, or those that show one of the given commits."""
    with ctx.catalog.read() as cx:
        return Listing(branches.describe(cx, ctx.record.id, showing), ("name", "commit", "created_at"))


def reflog(ctx: Context, name: str | None, limit: int | None = None) -> list[BranchMove]:
    """List the moves of a branch, newest first."""
    check_limit(limit)
    with ctx.catalog.read() as cx:
        wanted = ctx.default_branch(cx) if name is None else check_text(name, "the branch")
        found = branches.moves(cx, ctx.record.id, wanted, limit)
        if not found:
            need_branch(ctx, cx, wanted)
        return Listing(found, ("branch", "verb", "before", "after", "moved_at", "author"))


def _move(ctx: Context, name: str, to: str, verb: str, *, must_descend: bool) -> Branch:
    with ctx.writing() as cx:
        head = need_branch(ctx, cx, name)
        target = resolve(ctx, cx, to)
        if must_descend and not is_ancestor(history.Lines(cx), head.position, target):
            message = f"branch {name!r} can't be fast-forwarded to {to!r}: it has commits that {to!r} lacks"
            raise InvalidRequest(message, hint="merge instead", branch=name)
        if target != head.position:
            try:
                ctx.move(cx, head, target, verb)
            except HeadMoved:
                raise BranchMoved(f"branch {name!r} moved meanwhile", hint="try again", branch=name) from None
        return _described(ctx, cx, name, target)


def _described(ctx: Context, cx: Connection, name: str, shown: Position) -> Branch:
    created_at = history.to_datetime(branches.created(cx, ctx.record.id, name))
    return Branch(name, history.known_head(cx, shown).hash, created_at)


def _refuse_taken(ctx: Context, cx: Connection, name: str) -> None:
    _refuse(branches.kind_named(cx, ctx.record.id, name), name)


def _refuse(kind: str | None, name: str) -> None:
    if kind:
        raise AlreadyExists(f"there is a {kind} {name!r}", hint="choose another name", name=name)


def _is_kept(ctx: Context, cx: Connection, head: BranchHead) -> bool:
    """Whether something else reaches the branch's commit."""
    others: list[Position] = [b.position for b in branches.all_heads(cx, ctx.record.id) if b.id != head.id]
    others += branches.tag_positions(cx, ctx.record.id)
    if any(p.line == head.position.line and p.index >= head.position.index for p in others):
        return True
    return is_ancestor(history.Lines(cx), head.position, *others)


def create_tag(ctx: Context, name: str, at: str | None, message: str | None = None) -> None:
    """Give a commit a permanent name."""
    check_ref_name(name, "tag")
    if message is not None:
        check_text(message, "the message of a tag")
    with ctx.writing() as cx:
        position = resolve(ctx, cx, at)
        _refuse_taken(ctx, cx, name)
        branches.create_tag(cx, ctx.record.id, name, position, ctx.author, message)


def delete_tag(ctx: Context, name: str) -> None:
    """Remove a tag."""
    with ctx.catalog.write() as cx:
        if not branches.remove_tag(cx, ctx.record.id, name):
            raise NotFound(f"there is no tag {name!r}", hint="list the tags to see which there are", tag=name)
