"""The verbs of jobs and runs, of the Spark session, and of upkeep."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from anabranch.model.changes import Optimized
from anabranch.model.garbage import Ages, Collected
from anabranch.model.verification import Verification
from anabranch.repo.verbs.opened import OpenedRepository

if TYPE_CHECKING:
    from anabranch.model.commits import Commit
    from anabranch.repo.branches.workbook import Workbook
    from anabranch.repo.upkeep.locations import AddedLocation


class UpkeepVerbs(OpenedRepository):
    """Jobs and runs, Spark, and keeping a store in order."""

    def job(
        self,
        function: Callable[[Any], Any],
        *,
        inputs: Mapping[str, Any],
        output: str | None = None,
        name: str | None = None,
        **options: Any,
    ) -> Any:
        """Make a job: a function over shards of its inputs, run on Spark's executors with `.run()`.

        Options: `table=` and `key=` for the rows it returns, `schema=`, `shards=`, `shard_by=`, `params=`, `version=`,
        `incremental=`, `mode=`, `parent=`, `rules=`, `keep_shards=`, `local=`, `author=`; see docs/jobs.md.
        """
        from anabranch.repo.verbs.above import verb

        return verb("make_job")(self, function, inputs, output, name, options)

    def add_location(self, url: str) -> AddedLocation:
        """Add a folder, s3:// or hdfs:// place that objects of this store were moved to, under their own paths.

        What the store's own root lacks is read there from now on; call it again to look again.
        """
        from anabranch.repo.upkeep.locations import add_location

        return add_location(self._ctx, url)

    def runs(self, pipeline: str | None = None, *, limit: int | None = None) -> list[dict[str, Any]]:
        """List the runs of pipelines, newest first."""
        from anabranch.repo.branches.jobs import list_runs

        return list_runs(self._ctx, pipeline, limit)

    def find_run(self, pipeline: str | None = None, number: int | None = None) -> dict[str, Any]:
        """Find a run of a pipeline, with its expectations; without a number or a name, the newest."""
        from anabranch.repo.branches.jobs import find_run

        return find_run(self._ctx, pipeline, number)

    def jobs(self, name: str | None = None, *, limit: int | None = None) -> list[dict[str, Any]]:
        """List the jobs, newest first."""
        from anabranch.repo.branches.jobs import list_jobs

        return list_jobs(self._ctx, name, limit)

    def find_job(self, job: str) -> dict[str, Any]:
        """Find a job, with its shards, by its id, a prefix of it, or its name, which means the newest of that name."""
        from anabranch.repo.branches.jobs import find_job

        return find_job(self._ctx, job)

    def resume_job(
        self,
        job: str,
        *,
        function: Callable[..., Any] | str | None = None,
        rules: Mapping[str, str] | None = None,
    ) -> Any:
        """Resume a job that failed or was interrupted, by the code that this machine noted when it began.

        For a job that began elsewhere, give the function, or a text `FILE.py:FUNCTION`: no code is run on the word of a
        store. `rules` decide what it and others changed differently, as in a merge; theirs is the job.
        """
        from anabranch.repo.verbs.above import verb

        return verb("resume_job")(self, job, function, rules)

    def remove_job(self, job: str) -> dict[str, Any]:
        """Forget a job and remove what its shards left behind; what it published stays."""
        from anabranch.repo.branches.jobs import remove_job

        return remove_job(self._ctx, job)

    @property
    def workbook(self) -> Workbook:
        """The records of jobs and pipelines, for those who write their own."""
        from anabranch.repo.branches.workbook import Workbook

        return Workbook(self._ctx)

    @property
    def spark_session(self) -> Any:
        """The Spark session in use; started if there is none."""
        return self._ctx.engines.spark().session

    def progress(self) -> tuple[int, int] | None:
        """How many tasks of running Spark jobs are done, and of how many; None if unknown."""
        return self._ctx.engines.progress()

    def optimize(self, table: str, on: str | None = None) -> Optimized:
        """Fold a table's changes at a branch or ref, and rewrite the files that are worth it; history is unchanged."""
        from anabranch.repo.upkeep.optimize import optimize

        return optimize(self._ctx, table, on)

    def gc(
        self,
        *,
        dry_run: bool = False,
        grace: str | timedelta | int = "7d",
        keep: str | timedelta | int = 0,
        reflog: str | timedelta | int = "90d",
        take_over: bool = False,
    ) -> Collected:
        """Remove what nothing needs: commits that no ref reaches, views that nobody reads, leftovers of crashes.

        `grace` protects those who still read or write; `keep` keeps views by age or count, `reflog` commits by age.
        Refused if another catalogue, such as a copy of this one, may have objects in the same root, unless `take_over`
        says that it is gone.
        """
        from anabranch.model.garbage import count_or_duration, duration_of
        from anabranch.repo.upkeep.gc import gc

        views = count_or_duration(keep, "keep=")
        ages = Ages(duration_of(grace, "grace="), duration_of(reflog, "reflog="), views)
        return gc(self._ctx, ages, dry_run, take_over)

    def verify(self, *, deep: bool = False) -> Verification:
        """Check the whole store and list all damages: the catalogue, every object, every table and file of branches.

        `deep` also reads all rows, and compares each change with the states before and after it.
        """
        from anabranch.repo.compare.verify_changes import check_changes
        from anabranch.repo.files.hidden import check_hidden
        from anabranch.repo.files.verify_tree import check_trees
        from anabranch.repo.upkeep.verify import verify

        found = verify(self._ctx).with_more(check_trees(self._ctx))
        found = found.with_more(check_hidden(self._ctx))
        return found.deepened(check_changes(self._ctx)) if deep else found

    def repair(self) -> list[Commit]:
        """Bring back versioned files that `verify` reports as hidden, by a commit on each branch that lacks some.

        Returns the commits; history and hashes stay as they are.
        """
        from anabranch.repo.commit.repair import repair

        return repair(self._ctx)
