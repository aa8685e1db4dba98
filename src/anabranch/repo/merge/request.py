"""What a merge is asked to do, what it did, and how its target and sources are found."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, get_args

from anabranch.catalog import history
from anabranch.catalog.store import Connection
from anabranch.errors import BranchMoved, InvalidRequest
from anabranch.model.clock import Position
from anabranch.model.commits import Commit
from anabranch.plan.history import is_ancestor, newest_of
from anabranch.plan.merge.rules import check_strictness
from anabranch.repo.branches.refs import need_branch, resolve
from anabranch.repo.compare.diff import diff
from anabranch.repo.compare.table_diff import Diff
from anabranch.repo.context.arguments import check_facts, check_words
from anabranch.repo.context.context import Context
from anabranch.repo.merge.sides import Target, target_at

Mode = Literal["merge", "squash", "replay"]
FastForward = Literal["auto", "only", "never"]


@dataclass(frozen=True)
class MergeRequest:
    """The arguments of `repo.merge(…)`."""

    sources: tuple[str, ...]
    into: str | None = None
    message: str | None = None
    rules: Mapping[str, str] = field(default_factory=dict)
    strictness: str = "cell"
    mode: Mode = "merge"
    ff: FastForward = "auto"
    author: str | None = None
    provenance: Any = ()
    """For a squash: what it is made from, if not its sources."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    since: str | None = None
    """A commit that the branch must contain: the one from which the sources began."""

    def __post_init__(self) -> None:
        check_words("merge" if self.message is None else self.message, self.author)
        check_strictness(self.strictness)
        check_facts(self.facts)
        for name, value, known in (("mode", self.mode, get_args(Mode)), ("ff", self.ff, get_args(FastForward))):
            if value not in known:
                raise InvalidRequest(f"{name}={value!r} is not known", hint=f"choose one of {', '.join(known)}")
        if not self.sources:
            raise InvalidRequest("merge was given no source", hint="name a branch, tag or commit")


@dataclass(frozen=True)
class MergeResult:
    """What a merge did."""

    commit: Commit
    """The commit that the branch shows now."""
    fast_forward: bool = False
    up_to_date: bool = False
    """Whether there was nothing to merge."""
    _diff: Callable[[], Diff] | None = field(default=None, repr=False, compare=False)

    def __repr__(self) -> str:
        how = "up to date, " if self.up_to_date else "fast-forward, " if self.fast_forward else ""
        return f"MergeResult({how}{self.commit!r})"

    @cached_property
    def counts(self) -> dict[str, dict[str, int]]:
        """The rows that changed on the branch, by table."""
        return self._diff().counts() if self._diff else {}


def read_ends(ctx: Context, cx: Connection, asked: MergeRequest) -> tuple[Target, list[Position]]:
    """Find the branch that moves, and the sources it lacks."""
    target = target_at(cx, need_branch(ctx, cx, asked.into))
    if asked.since is not None:
        _check_since(ctx, cx, asked.since, target)
    found = list(dict.fromkeys(resolve(ctx, cx, s) for s in asked.sources))
    return target, newest_of(history.Lines(cx), found, target.clock.head)


def _check_since(ctx: Context, cx: Connection, since: str, target: Target) -> None:
    """Refuse a branch that lost a commit, such as by a reset: a merge would bring it back."""
    if not is_ancestor(history.Lines(cx), resolve(ctx, cx, since), target.clock.head):
        name = target.branch.name
        message = f"branch {name!r} no longer contains {since[:10]}, from which this work began"
        raise BranchMoved(message, hint="do the work again from what the branch shows now", branch=name)


def diff_since(ctx: Context, target: Target, made: Commit) -> Callable[[], Diff]:
    """Compare what a branch shows now with what it showed before."""
    return lambda: diff(ctx, target.parent.hash, made.hash)


def default_message(asked: MergeRequest, target: Target) -> str:
    """The message of a merge, given or generated."""
    names = ", ".join(asked.sources)
    return asked.message if asked.message is not None else f"merge {names} into {target.branch.name}"


def as_sources(given: Any) -> tuple[str, ...]:
    """One source or several."""
    return (given,) if isinstance(given, str) else tuple(given)
