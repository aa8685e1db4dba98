"""stash: a working set put aside. It is an ordinary open commit, recognised by how its message begins."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.catalog import entries, history, open_commits
from anabranch.catalog.store import Connection, now
from anabranch.errors import AlreadyExists, BranchMoved, NotFound
from anabranch.model.clock import Position
from anabranch.repo.branches.refs import need_branch
from anabranch.repo.commit.open_commit import OpenCommit, changed_elsewhere, list_open, reopen, working_set
from anabranch.repo.context.arguments import check_words
from anabranch.repo.context.context import Context

_MARK = "stash: "
_WORKING = "working set"


@dataclass(frozen=True)
class Stash:
    """Work that was put aside; number 0 is the newest."""

    number: int
    work: OpenCommit

    @property
    def message(self) -> str:
        return self.work.message.removeprefix(_MARK)

    @property
    def branch(self) -> str:
        """The branch it was staged on."""
        return self.work.branch


def push(ctx: Context, branch: str, message: str | None) -> Stash:
    """Put the working set of a branch aside; refused if nothing is staged."""
    if message is not None:
        check_words(message, None)
    found = working_set(ctx, branch)
    if found is None or not found.status():
        raise NotFound(f"nothing is staged on {branch!r}", hint="there is nothing to set aside")
    words = message or f"{', '.join(sorted(found.status()))} on {branch}"
    with ctx.catalog.write() as cx:
        if not open_commits.set_aside(cx, found.id, found.version, _MARK + words, now(cx)):
            raise changed_elsewhere(found.id)
    return Stash(0, reopen(ctx, found.id))


def list_stashes(ctx: Context) -> list[Stash]:
    """List the stashes, newest first."""
    found = [w for w in list_open(ctx) if not w.is_working_set and w.message.startswith(_MARK)]
    return [Stash(number, work) for number, work in enumerate(reversed(found))]


def find_stash(ctx: Context, number: int) -> Stash:
    """Find a stash by its number."""
    found = list_stashes(ctx)
    if not 0 <= number < len(found):
        hint = f"there are {len(found)}, from 0" if found else "nothing was set aside"
        raise NotFound(f"there is no stash {number}", hint=hint)
    return found[number]


def drop(ctx: Context, number: int) -> Stash:
    """Abandon a stash."""
    found = find_stash(ctx, number)
    found.work.abort()
    return found


def pop(ctx: Context, number: int, branch: str) -> OpenCommit:
    """Make a stash the working set of a branch; refused if what it touched is not the same there."""
    found = find_stash(ctx, number)
    there = working_set(ctx, branch)
    if there is not None and there.status():
        hint = "commit it, give it up, or set it aside first"
        raise AlreadyExists(f"work is staged on {branch!r} already", hint=hint, branch=branch)
    if there is not None:
        there.abort()
    work = found.work
    with ctx.writing() as cx:
        parent = _parent(ctx, cx, work, branch)
        if not open_commits.take_up(cx, work.id, work.version, branch, parent, _WORKING):
            raise changed_elsewhere(work.id)
    return reopen(ctx, work.id)


def _parent(ctx: Context, cx: Connection, work: OpenCommit, branch: str) -> Position:
    """The commit to start from: the branch's head, if nothing that the work touched differs there.

    Otherwise, on its own branch, the commit it started from; publishing then compares rows.
    """
    head = history.clock(cx, need_branch(ctx, cx, branch).position)
    start = work._start.clock
    things, names = entries.touched_between(cx, start, head)
    drafts = [t for t in work._draft.things.values() if t.operations]
    met = sorted(t.name for t in drafts if {t.id, t.parent_id} & things)
    met += sorted(name for parent, name in work._draft.names if (parent, name) in names)
    if not met:
        return head.head
    if branch == work.branch and head.holds(start.head):
        return start.head
    hint = f"pop it on {work.branch!r}, commit it, and cherry-pick the commit"
    message = f"{', '.join(dict.fromkeys(met))}: not the same on {branch!r} as where it was staged"
    raise BranchMoved(message, hint=hint, branch=branch)
