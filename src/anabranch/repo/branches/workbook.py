"""The workbook: what jobs and pipelines write down, and where they work. The one door for rooms above the façade."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anabranch.catalog import jobs as job_rows
from anabranch.catalog import runs as run_rows
from anabranch.repo.branches import jobs, runs
from anabranch.repo.branches.facts import find_facts
from anabranch.repo.context.context import Context

if TYPE_CHECKING:
    from anabranch.catalog.jobs import JobRecord
    from anabranch.catalog.runs import RunRecord


@dataclass(frozen=True)
class Workbook:
    """What jobs and pipelines write down in a repository: runs, jobs, who is at work; and a place to work in."""

    ctx: Context

    def facts(self, key: str, at: str | None) -> list[tuple[str, Any]]:
        """List the commits that a ref reaches and that have a fact, newest first, with its value."""
        return find_facts(self.ctx, key, at)

    def folder(self, name: str) -> Path:
        """A folder beside the objects that executors see under the same path."""
        return self.ctx.root.work_folder(name)

    def new_prefix(self) -> tuple[str, str]:
        """A place for files of attempts that nobody sees, and where engines find it; gc removes what is left there."""
        prefix = self.ctx.root.new_prefix()
        return prefix, self.ctx.root.uri(prefix)

    def discard(self, prefix: str) -> None:
        """Remove what was written below such a place."""
        self.ctx.root.discard(prefix)

    def begin_run(self, pipeline: str, output: str, author: str | None) -> RunRecord:
        """Note that a run of a pipeline begins."""
        return runs.begin_run(self.ctx, pipeline, output, author)

    def end_run(
        self,
        record: RunRecord,
        state: str,
        steps: Sequence[Mapping[str, Any]],
        checked: Sequence[Mapping[str, Any]],
        *,
        commit: str | None = None,
        error: Mapping[str, Any] | None = None,
    ) -> None:
        """Note how a run ended."""
        with self.ctx.catalog.write() as cx:
            run_rows.end_run(cx, record.id, state, steps=steps, commit=commit, error=error, checked=checked)

    def begin_job(self, asked: Mapping[str, Any]) -> JobRecord:
        """Note that a job begins, or goes on."""
        with self.ctx.catalog.write() as cx:
            return job_rows.begin_job(cx, self.ctx.record.id, {**asked, "author": asked["author"] or self.ctx.author})

    def end_job(
        self,
        record: JobRecord,
        state: str,
        shards: Sequence[Mapping[str, Any]],
        *,
        commit: str | None = None,
        error: Mapping[str, Any] | None = None,
    ) -> None:
        """Note how a job ended."""
        with self.ctx.catalog.write() as cx:
            job_rows.end_job(cx, record.id, state, shards, commit=commit, error=error)

    def note_published(self, key: str, commit: str) -> None:
        """Note that a job was published whose driver could not say so."""
        with self.ctx.catalog.write() as cx:
            job_rows.note_published(cx, self.ctx.record.id, key, commit)

    def find_job(self, which: str) -> JobRecord:
        """Find a job by its id, the beginning of it, or its name."""
        return jobs.find_record(self.ctx, which)

    def take_lease(self, name: str, holder: str, seconds: int) -> str | None:
        """Take or renew a lease; gives who has it, if somebody else does who lives."""
        other = runs.take_lease(self.ctx, name, holder, seconds)
        if other is None or not jobs.is_dead(other):
            return other
        self.end_lease(name, other)
        return runs.take_lease(self.ctx, name, holder, seconds)

    def end_lease(self, name: str, holder: str) -> None:
        """Give a lease back."""
        runs.end_lease(self.ctx, name, holder)
