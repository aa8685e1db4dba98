"""Sequences: several picks, reverts or rebase steps that stop at conflicts; the branch moves when all are done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, count
from typing import Any

from anabranch.catalog import branches, commits, history, open_merges
from anabranch.catalog.open_merges import MergeRecord
from anabranch.catalog.store import Connection, now
from anabranch.errors import BranchMoved, InvalidRequest, MergeConflict
from anabranch.model.clock import Position
from anabranch.model.commits import BranchHead, Commit
from anabranch.model.ids import new_id
from anabranch.plan.merge.rules import check_strictness
from anabranch.plan.merge.steps import Steps, TodoStep, asked_steps, read_steps
from anabranch.repo.branches.branch import create_branch
from anabranch.repo.branches.refs import need_branch, resolve
from anabranch.repo.context.arguments import check_words
from anabranch.repo.context.context import Context
from anabranch.repo.context.kept_expressions import check_rules
from anabranch.repo.merge.apply import How
from anabranch.repo.merge.apply_step import StepMaker, carried
from anabranch.repo.merge.conflicts import Conflicts
from anabranch.repo.merge.open_conflicts import OpenConflicts
from anabranch.repo.merge.pick import work_out_pick
from anabranch.repo.merge.preview import Preview
from anabranch.repo.merge.rebase import commits_to_copy
from anabranch.repo.merge.sides import Target, target_at

_TRIES = 3
"""Attempts on a branch that keeps moving, before the repository is held."""


@dataclass(frozen=True)
class SequenceRequest:
    """What a sequence is asked to do."""

    verb: str
    branch: str | None
    onto: str | None = None
    """For a rebase, what the steps go on top of; otherwise the branch itself."""
    parent: int | None = None
    three_way: bool = False
    rules: Mapping[str, str] = field(default_factory=dict)
    strictness: str = "cell"
    message: str | None = None
    author: str | None = None

    def __post_init__(self) -> None:
        check_words("pick" if self.message is None else self.message, self.author)
        check_strictness(self.strictness)


def start_sequence(ctx: Context, asked: SequenceRequest, given: Sequence[Any] | None) -> OpenSequence:
    """Begin a sequence and make its steps up to the first with conflicts. The branch moves when it is finished."""
    check_rules(asked.rules)
    with ctx.catalog.read() as cx:
        head = need_branch(ctx, cx, asked.branch)
        steps = _planned(ctx, cx, asked, head, given)
    return _started(ctx, asked, head, steps)


def start_carrying(ctx: Context, asked: SequenceRequest, commit: str) -> OpenSequence:
    """Begin to put the commit of staged work onto a branch; the new commit takes over its provenance."""
    with ctx.catalog.read() as cx:
        head = need_branch(ctx, cx, asked.branch)
        shown = history.known_head(cx, head.position).hash
    return _started(ctx, asked, head, Steps(shown, shown, head.name, (), (TodoStep("staged", commit),)))


def _started(ctx: Context, asked: SequenceRequest, head: BranchHead, steps: Steps) -> OpenSequence:
    with ctx.writing() as cx:
        said = (asked.author or ctx.author, now(cx), dict(asked.rules), asked.strictness)
        how = (asked.verb, "three-way" if asked.three_way else "auto")
        record = MergeRecord(new_id("g"), head.name, steps.kept, None, *said, *how)
        open_merges.insert(cx, ctx.record.id, record)
    made = OpenSequence(ctx, record)
    try:
        made._go_on()
    except BaseException:
        made.abort()
        raise
    return made


def run_sequence(ctx: Context, asked: SequenceRequest, given: Sequence[Any] | None) -> list[Commit]:
    """Run a whole sequence or nothing: conflicts are refused."""
    made = start_sequence(ctx, asked, given)
    try:
        return made.finish()
    except BaseException as error:
        made.abort()
        if isinstance(error, MergeConflict):
            error.hint = f"give rules=, or resolve them in repo.start_{asked.verb.replace('-', '_')}(…)"
        raise


def list_sequences(ctx: Context, on: str | None = None) -> list[OpenSequence]:
    """List open sequences, on one branch or all, oldest first."""
    with ctx.catalog.read() as cx:
        records = [r for r in open_merges.all_records(cx, ctx.record.id) if r.is_sequence]
    return [OpenSequence(ctx, r) for r in records if on in (None, r.branch)]


def default_steps(ctx: Context, branch: str, onto: str) -> list[tuple[str, Commit]]:
    """The steps a rebase takes if none are given."""
    with ctx.catalog.read() as cx:
        head, top = need_branch(ctx, cx, branch), resolve(ctx, cx, onto)
        return [("pick", c) for c in commits.describe(cx, commits_to_copy(cx, top, head.position))]


def _planned(
    ctx: Context, cx: Connection, asked: SequenceRequest, head: BranchHead, given: Sequence[Any] | None
) -> Steps:
    """Plan the steps: find the commits that are meant, by hash."""
    top = head.position if asked.onto is None else resolve(ctx, cx, asked.onto)
    if asked.verb != "rebase":
        todo = [s for text in given or () for s in _chosen(ctx, cx, asked, text)]
        if not todo:
            raise InvalidRequest(f"{asked.verb} was given no commit", hint="name commits, or a range such as main..dev")
    elif given is None:
        todo = [_copied(cx, p) for p in commits_to_copy(cx, top, head.position)]
    else:
        todo = [_named(ctx, cx, s) for s in asked_steps(given)]
    if asked.message is not None and len(todo) != 1:
        raise InvalidRequest(f"one message is given for {len(todo)} commits", hint="leave it out: each has its own")
    todo = [replace(s, message=asked.message) for s in todo] if asked.message is not None else todo
    ends = [c.hash for c in commits.describe(cx, [head.position, top])]
    return Steps(ends[0], ends[1], asked.onto or head.name, (), tuple(todo))


def _chosen(ctx: Context, cx: Connection, asked: SequenceRequest, text: str) -> list[TodoStep]:
    """The commits that a ref or a range such as `a..b` names: oldest first, but newest first to revert."""
    word = "revert" if asked.verb == "revert" else "pick"
    low, dots, high = str(text).partition("..")
    if not dots:
        return [TodoStep(word, history.known_head(cx, resolve(ctx, cx, text)).hash, asked.parent)]
    found = commits_to_copy(cx, resolve(ctx, cx, low or None), resolve(ctx, cx, high or None))
    if not found:
        raise InvalidRequest(f"{text!r} names no commits", hint=f"did you mean '{high or 'HEAD'}..{low or 'HEAD'}'?")
    steps = [_copied(cx, p, word) for p in found]
    return steps[::-1] if word == "revert" else steps


def _copied(cx: Connection, position: Position, word: str = "pick") -> TodoStep:
    """A commit to repeat; a merge counts as one change of its first parent."""
    return TodoStep(word, history.known_head(cx, position).hash, 1)


def _named(ctx: Context, cx: Connection, step: TodoStep) -> TodoStep:
    if step.message is not None:
        check_words(step.message, None)
    return replace(step, commit=history.known_head(cx, resolve(ctx, cx, step.commit)).hash, parent=1)


class OpenSequence(OpenConflicts):
    """An unfinished sequence of picks, reverts or rebase steps.

    `conflicts`, `resolve`, `table` and `diff` concern the step it stopped at; `finish` goes on from there.
    """

    saved_as: str | None = None
    """After `abort` or `skip`: the branch that staged work was saved on, since nothing else shows it."""

    def __repr__(self) -> str:
        return f"OpenSequence({self.id!r}, {self.verb} on {self.into!r}, {len(self._steps.todo)} steps left)"

    @property
    def _steps(self) -> Steps:
        return read_steps(self._record.sources)

    @property
    def sources(self) -> tuple[str, ...]:
        """The commit it stopped at, as an abbreviated hash."""
        return tuple(step.commit[:10] for step in self._steps.todo[:1])

    @property
    def steps(self) -> list[tuple[str, str]]:
        """The remaining steps, each a word and a commit's hash; it stopped at the first."""
        self._read_again()
        return [(step.word, step.commit) for step in self._steps.todo]

    @property
    def made(self) -> list[Commit]:
        """The commits made so far, oldest first; no branch shows them yet."""
        maker = self._maker()
        with self._ctx.catalog.read() as cx:
            return commits.describe(cx, [maker.at(h) for h in self._steps.made])

    @property
    def alone(self) -> list[tuple[Commit, Commit]]:
        """Commits that were to be squashed into one that made nothing, or was skipped, each with that one.

        They become commits of their own.
        """
        maker = self._maker()
        with self._ctx.catalog.read() as cx:
            pairs = [commits.describe(cx, [maker.at(h) for h in pair]) for pair in self._steps.alone]
        return [(found[0], found[1]) for found in pairs]

    def finish(self) -> list[Commit]:
        """Make this step and all that follow, then move the branch; raise MergeConflict at a step with conflicts.

        The sequence then stays open at that step. Returns the commits made.
        """
        for _ in range(_TRIES):
            made = self._attempt()
            if made is not None:
                return made
        with self._ctx.catalog.alone(self._ctx.record.id):
            made = self._attempt() or self._attempt()
        assert made is not None
        return made

    def _attempt(self) -> list[Commit] | None:
        """Make the remaining steps and move the branch; None if the branch moved, so that there is more to make."""
        self._read_again()
        stopped = self._go_on()
        if stopped is not None:
            stopped.hint = self._way_out if stopped.conflicts.is_stuck else _HINT
            raise stopped
        made = self.made
        return made if self._move() else None

    def skip(self) -> None:
        """Leave out the commit it stopped at, and go on to the next with conflicts."""
        self._read_again()
        if not self._steps.todo:
            raise InvalidRequest(f"no step of this {self.verb} is left to skip", hint="finish() it")
        with self._ctx.catalog.alone(self._ctx.record.id):
            self._save_staged(self._steps.todo[:1])
            self._advance(self._steps.left_out())
        self._go_on()

    def abort(self) -> None:
        """Forget the sequence; staged work that it was to carry over is saved on a branch (`saved_as`)."""
        with self._ctx.catalog.alone(self._ctx.record.id):
            self._save_staged(self._steps.todo)
            super().abort()

    def _save_staged(self, steps: Sequence[TodoStep]) -> None:
        """Make a branch that shows the commit of staged work, if that is among the steps."""
        for step in steps:
            if step.word == "staged":
                self.saved_as = self._free_name(f"staged-{self.into}")
                create_branch(self._ctx, self.saved_as, step.commit)

    def _free_name(self, wanted: str) -> str:
        with self._ctx.catalog.read() as cx:
            names = chain([wanted], (f"{wanted}-{n}" for n in count(2)))
            return next(n for n in names if branches.kind_named(cx, self._ctx.record.id, n) is None)

    def _go_on(self) -> MergeConflict | None:
        """Make steps up to the first with conflicts, and return that error."""
        while self._steps.todo:
            try:
                steps = self._maker().make(self._steps, self._how())
            except MergeConflict as error:
                return error
            self._advance(steps)
        return None

    def _advance(self, steps: Steps) -> None:
        """Save the progress; what was resolved belonged to the previous step."""
        with self._ctx.writing() as cx:
            if not open_merges.advance(cx, self._record, steps.kept):
                raise self._changed()
        self._record = replace(self._record, sources=steps.kept, decisions={}, version=self._record.version + 1)

    def _move(self) -> bool:
        """Point the branch at what was made; False if it moved meanwhile, so that more steps follow."""
        steps = self._steps
        with self._ctx.writing() as cx:
            head = need_branch(self._ctx, cx, self.into)
            shown = history.known_head(cx, head.position).hash
            if shown == steps.head:
                if not open_merges.remove(cx, self.id):
                    raise self._changed()
                if steps.top != shown:
                    self._ctx.move(cx, head, self._maker().at(steps.top), self.verb)
                return True
        self._advance(carried(steps, shown) if self.verb != "rebase" else self._caught_up(steps, head, shown))
        return False

    def _caught_up(self, steps: Steps, head: BranchHead, shown: str) -> Steps:
        """Append what the branch got while it was being rebased."""
        with self._ctx.catalog.read() as cx:
            old = history.by_hash(cx, self._ctx.record.id, steps.head)[0]
            if not history.clock(cx, head.position).holds(old):
                message = f"branch {self.into!r} was reset meanwhile; nothing was changed"
                raise BranchMoved(message, hint="abort() this rebase and start again", branch=self.into)
            more = [_copied(cx, p) for p in commits_to_copy(cx, old, head.position)]
        return replace(steps, head=shown, todo=(*steps.todo, *more))

    def _changed(self) -> BranchMoved:
        hint = "look at what is open and the log, then go on from there"
        return BranchMoved(f"open {self.verb} {self.id} was changed or ended elsewhere", hint=hint)

    def _maker(self) -> StepMaker:
        r = self._record
        with self._ctx.catalog.read() as cx:
            head = need_branch(self._ctx, cx, r.branch)
        return StepMaker(self._ctx, head, r.mode, r.author, r.ff == "three-way")

    # --- the step it stopped at ---

    def _target(self, maker: StepMaker) -> Target:
        top = maker.at(self._steps.top)
        with self._ctx.catalog.read() as cx:
            return target_at(cx, replace(maker.branch, position=top))

    def _found(self, how: How) -> Conflicts:
        if not self._steps.todo:
            return Conflicts()
        maker = self._maker()
        merged = work_out_pick(self._ctx, self._target(maker), maker.picked(self._steps, how))
        self._ctx.discard(merged.made)
        return merged.conflicts

    def _preview(self) -> Preview:
        self._read_again()
        maker, steps = self._maker(), self._steps
        shown = steps.top
        conflicts = Conflicts()
        if steps.todo:
            shown, conflicts = maker.look(steps, replace(self._how(), go_on=True))
        return Preview(shown, conflicts, self._ctx, steps.head)

    @property
    def _way_out(self) -> str:
        return f"skip() it, or abort() the {self.verb} and change the rows or tables on {self.into!r} first"


_HINT = "resolve(…) them, then finish(); skip() leaves the commit out, abort() gives all of it up"
