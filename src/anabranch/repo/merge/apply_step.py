"""One step of a sequence: a commit picked, reverted, or squashed into the one before; not on a branch yet."""

from __future__ import annotations

from dataclasses import dataclass, replace

from anabranch.catalog import commits, history
from anabranch.model.clock import Position
from anabranch.model.commits import BranchHead, Commit, Origin
from anabranch.plan.merge.steps import TOGETHER, Steps, TodoStep
from anabranch.repo.branches.provenance import origins_at
from anabranch.repo.context.context import Context
from anabranch.repo.merge.apply import How
from anabranch.repo.merge.attempts import Attempts
from anabranch.repo.merge.conflicts import Conflicts
from anabranch.repo.merge.pick import Picked, parent_of, pick, read_target, short, work_out_pick
from anabranch.repo.merge.publish import CommitWords, publish_content
from anabranch.repo.merge.revert import undoable, undoing
from anabranch.repo.merge.side_branch import remake, side_branch


@dataclass(frozen=True)
class StepMaker:
    """Makes the steps of a sequence; the branch shows them only when all are done."""

    ctx: Context
    branch: BranchHead
    verb: str
    author: str
    """The author of reverts; other commits keep their own."""
    three_way: bool = False

    def make(self, steps: Steps, how: How) -> Steps:
        """Make the next step; raise MergeConflict if it has conflicts."""
        step, top = steps.todo[0], self.at(steps.top)
        if step.word == "revert":
            branch = replace(self.branch, position=top)
            undoable(self.ctx, self.at(step.commit), step.parent, branch, three_way=self.three_way)
        with side_branch(self.ctx, self.branch, top) as name:
            made = pick(self.ctx, name, self.picked(steps, how))
        if made is None:
            return steps.left_out()
        if step.word in TOGETHER and steps.made:
            return steps.done((*steps.made[:-1], self._together(step, steps.made[-1], made).hash))
        return steps.done((*steps.made, made.hash))

    def look(self, steps: Steps, how: How) -> tuple[str, Conflicts]:
        """Make the next step, conflicts or not, as a commit that only its hash leads to."""
        with side_branch(self.ctx, self.branch, self.at(steps.top)) as name:
            with self.ctx.catalog.read() as cx:
                target = read_target(self.ctx, cx, name)
            picked = self.picked(steps, how)
            merged = work_out_pick(self.ctx, target, picked)
            says = CommitWords(picked.message, picked.author)
            made = publish_content(Attempts(self.ctx), merged, says, picked.verb)
        return made.hash if made else steps.top, merged.conflicts

    def at(self, commit: str) -> Position:
        """Find a commit by its hash."""
        with self.ctx.catalog.read() as cx:
            return history.by_hash(cx, self.ctx.record.id, commit)[0]

    def picked(self, steps: Steps, how: How) -> Picked:
        """The change that the next step repeats."""
        step = steps.todo[0]
        position = self.at(step.commit)
        with self.ctx.catalog.read() as cx:
            described = commits.describe(cx, [position])[0]
            what = f"{self.verb} of {short(described)}"
            before = parent_of(cx, position, step.parent, what)
        where = steps.onto_ref if self.verb == "rebase" else None
        place = (how, self.branch, not steps.made, where)
        if step.word == "revert":
            words = (step.message or undoing(described), self.author, self.verb, (described.hash,))
            return Picked(position, before, what, *words, *place)
        carries = step.word in ("carry", "staged")
        origins = described.provenance if self.verb == "revert" else () if carries else (described.hash,)
        return Picked(
            before, position, what, step.message or described.message, described.author, self.verb, origins, *place
        )

    def _together(self, step: TodoStep, before: str, made: Commit) -> Commit:
        """Squash a commit into the one before it."""
        old, tip = self.at(before), self.at(made.hash)
        with self.ctx.catalog.read() as cx:
            described = commits.describe(cx, [old])[0]
            origins = origins_at(cx, [old, tip])
        message = (
            described.message if step.word == "fixup" else step.message or f"{described.message}\n\n{made.message}"
        )
        return remake(self.ctx, old, tip, self.branch, _words(described, message, origins), self.verb)


def _words(described: Commit, message: str, origins: tuple[Origin, ...]) -> CommitWords:
    started_at = history.to_micros(described.started_at)
    return CommitWords(message, described.author, started_at, origins, dict(described.facts))


def carried(steps: Steps, head: str) -> Steps:
    """Start over on a branch that moved: the commits made so far go on its new head."""
    todo = (*(TodoStep("carry", made) for made in steps.made), *steps.todo)
    return replace(steps, head=head, onto=head, made=(), todo=todo)
