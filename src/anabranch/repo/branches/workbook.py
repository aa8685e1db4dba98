"""The workbook: where jobs and pipelines keep their records and files. The only door for rooms above the façade."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from anabranch.catalog import entries, history, jobs, leases, provenance, runs
from anabranch.catalog.leases import Ending
from anabranch.errors import InvalidRequest
from anabranch.model.facts import OwnFact
from anabranch.objects.workplaces import Workplace
from anabranch.plan.history import is_ancestor
from anabranch.repo.branches import jobs as past_jobs
from anabranch.repo.branches.own_commits import Mark, OwnCommit, find_own_commits
from anabranch.repo.branches.refs import need_branch, resolve
from anabranch.repo.context.context import Context
from anabranch.repo.context.table_state import find_table

if TYPE_CHECKING:
    from anabranch.catalog.jobs import JobRecord
    from anabranch.catalog.runs import RunRecord
    from anabranch.model.clock import Position
    from anabranch.model.commits import CommitHead

__all__ = ["Ending", "Workbook", "Workplace"]


@dataclass(frozen=True)
class Workbook:
    """The records of jobs and pipelines in a repository (runs, jobs, leases), and a place for their files."""

    ctx: Context

    @property
    def store_id(self) -> str:
        """The id of the store."""
        return self.ctx.store_id

    def facts(self, fact: OwnFact, at: str | None) -> list[tuple[str, Any]]:
        """List the commits reachable from a ref that carry one of our facts, newest first, with its value."""
        return find_facts(self.ctx, fact, at)

    def own_commits(self, at: str | None, marks: Sequence[Mark]) -> list[OwnCommit]:
        """List a writer's commits among the first parents of a ref, oldest first, without those that were reverted."""
        with self.ctx.catalog.read() as cx:
            return find_own_commits(self.ctx, cx, resolve(self.ctx, cx, at), marks)

    def last_touch(self, table: str, at: str) -> str:
        """Find the commit that changed a table last among the first parents of a ref."""
        with self.ctx.catalog.read() as cx:
            clock = history.clock(cx, resolve(self.ctx, cx, at))
            found = entries.last_touch(cx, clock, find_table(self.ctx, cx, clock, table).id)
            assert found is not None
            return history.known_head(cx, found).hash

    def find_parent(self, branch: str, parent: str | None) -> CommitHead:
        """Find the commit that a job works from: the branch's head, or one that the branch contains."""
        with self.ctx.catalog.read() as cx:
            head = need_branch(self.ctx, cx, branch).position
            found = head if parent is None else resolve(self.ctx, cx, parent)
            if not is_ancestor(history.Lines(cx), found, head):
                hint = "name a commit that the branch has, or leave parent= out for its head"
                raise InvalidRequest(f"branch {branch!r} does not contain parent={parent!r}", hint=hint)
            return history.known_head(cx, found)

    def hash_of(self, position: Position) -> str:
        """The hash of a commit."""
        with self.ctx.catalog.read() as cx:
            return history.known_head(cx, position).hash

    def place(self, name: str) -> Workplace:
        """A place beside the objects that executors can reach."""
        return self.ctx.root.workplace(name)

    def begin_run(self, pipeline: str, output: str, author: str | None) -> RunRecord:
        """Note that a run of a pipeline begins."""
        with self.ctx.catalog.write() as cx:
            return runs.begin_run(cx, self.ctx.record.id, pipeline, output, author or self.ctx.author)

    def end_run(
        self,
        record: RunRecord,
        ending: Ending,
        steps: Sequence[Mapping[str, Any]],
        checked: Sequence[Mapping[str, Any]],
    ) -> None:
        """Note how a run ended, its steps, and how its expectations were met."""
        with self.ctx.catalog.write() as cx:
            runs.end_run(cx, record.id, ending, steps, checked)

    def begin_job(self, asked: Mapping[str, Any]) -> JobRecord:
        """Note that a job begins, or resumes."""
        with self.ctx.catalog.write() as cx:
            return jobs.begin_job(cx, self.ctx.record.id, {**asked, "author": asked["author"] or self.ctx.author})

    def end_job(self, record: JobRecord, ending: Ending, shards: Sequence[Mapping[str, Any]]) -> None:
        """Note how a job and its shards ended."""
        with self.ctx.catalog.write() as cx:
            jobs.end_job(cx, record.id, ending, shards)

    def note_published(self, key: str, commit: str) -> None:
        """Note that a job was published, when its driver could not."""
        with self.ctx.catalog.write() as cx:
            jobs.note_published(cx, self.ctx.record.id, key, commit)

    def find_job(self, which: str) -> JobRecord:
        """Find a job by its id, a prefix of it, or its name."""
        return past_jobs.find_record(self.ctx, which)

    def find_unfinished_job(self, key: str) -> JobRecord | None:
        """Find the newest record of a job with this key that was not published."""
        with self.ctx.catalog.read() as cx:
            return jobs.find_unfinished(cx, self.ctx.record.id, key)

    def find_stopped_jobs(self, name: str, error: str) -> list[JobRecord]:
        """List the jobs of a name that an error of this kind stopped, newest first."""
        with self.ctx.catalog.read() as cx:
            found = jobs.list_jobs(cx, self.ctx.record.id, name)
        return [r for r in found if r.state == "failed" and (r.error or {}).get("kind") == error]

    def take_lease(self, name: str, holder: str, seconds: int) -> str | None:
        """Take or renew a lease; return the holder if someone else has it and is alive."""
        with self.ctx.catalog.write() as cx:
            other = leases.take_lease(cx, self.ctx.record.id, name, holder, seconds * 1_000_000)
            if other is None or not past_jobs.is_dead(other):
                return other
            leases.end_lease(cx, self.ctx.record.id, name, other)
            return leases.take_lease(cx, self.ctx.record.id, name, holder, seconds * 1_000_000)

    def end_lease(self, name: str, holder: str) -> None:
        """Release a lease."""
        with self.ctx.catalog.write() as cx:
            leases.end_lease(cx, self.ctx.record.id, name, holder)


def find_facts(ctx: Context, fact: OwnFact, at: str | None) -> list[tuple[str, Any]]:
    """List the commits reachable from a ref that carry one of our facts, newest first, with its value."""
    with ctx.catalog.read() as cx:
        head, lines = resolve(ctx, cx, at), history.Lines(cx)
        found = provenance.commits_with(cx, ctx.record.id, fact)
        return [(hash_, value) for position, hash_, value in found if is_ancestor(lines, position, head)]
