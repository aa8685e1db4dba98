"""watch: run a pipeline whenever an input moved. Only asks the catalogue for heads; starts no JVM until one moved."""

from __future__ import annotations

import time
from collections.abc import Callable

from anabranch.errors import AnabranchError
from anabranch.pipelines.datasets import Pipeline
from anabranch.pipelines.run import Notify, RunRequest, RunResult, only_runner, output_repository, run_alone
from anabranch.repo.repository import Repository


def watch(
    repo: Repository,
    pipeline: Pipeline,
    *,
    on: str | None = None,
    every_seconds: float = 2.0,
    stop: Callable[[], bool] = lambda: False,
    notify: Callable[[RunResult | AnabranchError], None] = lambda _: None,
    notify_step: Notify = lambda _: None,
    author: str | None = None,
) -> None:
    """Run a pipeline now and whenever its inputs moved, until `stop()`; several commits make one run.

    While this runs, any other runner is refused.
    """
    repo = output_repository(repo, pipeline)
    with only_runner(repo, pipeline.name):
        while not stop():
            try:
                done = run_alone(repo, pipeline, RunRequest(on, author=author, notify=notify_step))
                if done.run is not None:
                    notify(done)
            except AnabranchError as error:
                notify(error)
                before = _heads(repo, pipeline)  # The same inputs would fail again, so one must move.
                while not stop() and _heads(repo, pipeline) == before:
                    time.sleep(every_seconds)
            time.sleep(every_seconds)


def _heads(repo: Repository, pipeline: Pipeline) -> dict[str, str]:
    names = {i.repository for d in pipeline.datasets for i in pipeline.inputs_of(d).values() if i.repository}
    names |= {f.repository for d in pipeline.datasets for f in d.files if f.repository}
    of = [repo, *(repo.sibling(name) for name in sorted(names))]
    return {f"{r.name}:{b.name}": b.commit for r in of for b in r.branches() if not b.name.startswith("run/")}
