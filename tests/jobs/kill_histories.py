"""Histories of jobs on a cluster in which workers, executors and drivers are killed, beside the model of jobs.

`python -m tests.jobs.kill_histories STORE FOLDER` is a driver: it runs the jobs that it is told, a line of JSON each,
and says what came of them. What is killed, and when, is part of the order."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anabranch as ab
from anabranch.jobs import job as jobs
from tests.connect import LOCAL, ROOT, start_classic
from tests.jobs.faults import first, kill_executor, kill_later
from tests.jobs.job_histories import JobHistory

CLUSTER = {"spark.deploy.maxExecutorRetries": "-1", "spark.task.maxFailures": "8"}


def make_function(order: dict[str, Any], folder: str) -> Callable[[Any], Any]:
    """The job of an order."""

    def make(shard: Any) -> Iterator[dict[str, Any]]:
        kill = order["kill"] if shard.number == order["victim"] else ""
        if kill.startswith("worker begins") and first(folder, f"{order['number']} died"):
            os.kill(os.getpid(), signal.SIGKILL)
        if order["meanwhile"] and shard.number == 1:
            first(folder, f"{order['number']} began")
            for _ in range(6000):
                if os.path.exists(os.path.join(folder, f"{order['number']} goes on")):
                    break
                time.sleep(0.01)
        for path, (verb, content) in order["files"].items():
            one, two = content.splitlines(keepends=True)
            if verb == "a":
                shard.append(path, (one if shard.number == 0 else two).encode())
            elif shard.number == 0:
                shard.put(path, content.encode())
        for key, a, b in order["rows"]:
            if key % 2 == shard.number:
                yield {**({"id": key} if order["keyed"] else {}), "a": a, "b": b}
        if kill and first(folder, f"{order['number']} died"):
            if kill == "worker has written":
                os.kill(os.getpid(), signal.SIGKILL)
            elif kill == "worker has finished":
                kill_later(shard)
            elif kill == "executor":
                kill_executor()

    return make


def run_order(repo: ab.Repository, order: dict[str, Any], folder: str) -> dict[str, Any]:
    """Run the job of an order, and say what came of it."""
    options: dict[str, Any] = {"table": "out", "shards": 2, "mode": order["mode"], "rules": order["rules"]}
    options |= {"key": "id"} if order["keyed"] else {}
    options |= {"version": "1", "params": {"n": order["number"]}, "name": "make"}
    if order["kill"] == "driver":
        _die_after(order["seconds"])
    publish = jobs.publish_output

    def publish_and_die(*given: Any) -> Any:
        _die_after(order["seconds"] / 10)
        return publish(*given)

    if order["kill"] == "driver publishes":
        jobs.publish_output = publish_and_die
    try:
        done = repo.job(make_function(order, folder), inputs={"seen": "seen"}, **options).run()
    except ab.MergeConflict:
        return {"conflict": True}
    except ab.RunFailed as error:
        return {"failed": str(error)}
    assert done.commit is not None
    return {"hash": done.commit.hash, "shards": done.shards}


def _die_after(seconds: float) -> None:
    timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGKILL))
    timer.daemon = True
    timer.start()


def main(store: str, folder: str) -> None:
    """Run what the lines of standard input say."""
    spark = start_classic("local-cluster[2,1,1024]", {**LOCAL, **CLUSTER})
    with ab.open(store, spark=spark, author="ann") as repo:
        print("ready", flush=True)
        for line in sys.stdin:
            print(json.dumps(run_order(repo, json.loads(line), folder)), flush=True)
    spark.stop()


class Driver:
    """A driver in a process of its own, with a cluster of its own."""

    def __init__(self, store: str, folder: Path) -> None:
        path = os.pathsep.join((str(ROOT / "src"), str(ROOT)))
        self.said = folder / f"said-{random.randrange(10**9)}"
        with self.said.open("w") as errors:
            command = [sys.executable, "-m", "tests.jobs.kill_histories", store, str(folder)]
            self.process = subprocess.Popen(
                command,
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": path},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                start_new_session=True,
            )
        assert self._line() == "ready\n", self.said.read_text()

    def _line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def run(self, order: dict[str, Any]) -> dict[str, Any] | None:
        """Run an order; None if the driver died of it."""
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):
            self.process.stdin.write(json.dumps(order) + "\n")
            self.process.stdin.flush()
        line = self._line()
        if line:
            found: dict[str, Any] = json.loads(line)
            return found
        self.end()
        assert self.process.returncode == -signal.SIGKILL, self.said.read_text()
        return None

    def end(self) -> None:
        """End it, and the JVMs that it started."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        for pipe in (self.process.stdin, self.process.stdout):
            with suppress(BrokenPipeError):
                pipe.close()
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self.process.pid, number)
            except ProcessLookupError:
                return
            time.sleep(1)


KILLS = ("worker begins", "worker has written", "worker has finished", "executor", "driver", "driver publishes")


class KillHistory(JobHistory):
    """A history of jobs in which each run is hit by a kill."""

    def __init__(self, repo: ab.Repository, other: ab.Repository, seed: int, store: str, folder: Path) -> None:
        super().__init__(repo, other, seed, keyed=bool(seed % 2))
        self.store, self.folder = store, folder
        self.driver: Driver | None = None
        self.killed = dict.fromkeys(KILLS, 0)
        self.orders = 0

    def end(self) -> None:
        if self.driver is not None:
            self.driver.end()

    def _job(
        self, number: int, mode: str, rules: dict[str, str], meanwhile: Callable[[], None] | None, ran: list[int]
    ) -> Any:
        if not rules:
            self.orders += 1
        # Under rules no shard runs any more, so only the driver can be hit.
        kill = self.random.choice(KILLS[4:] if rules else (*KILLS[:4], *KILLS))  # Drivers take long to start.
        seconds = self.random.random() * (1 if rules else 3)
        order = {"number": self.orders, "mode": mode, "rules": rules, "keyed": self.keyed, "seconds": seconds}
        order |= {"rows": self.output.rows, "files": self.output.files, "meanwhile": meanwhile is not None}
        order |= {"kill": kill, "victim": self.random.randint(0, 1)}
        while True:
            self.driver = self.driver or Driver(self.store, self.folder)
            done = self._run_beside(order, meanwhile)
            if done is None:
                self.killed[kill] += 1
                self.driver = None
            if done is not None and "failed" not in done:
                break
            order["kill"] = ""
        if (self.folder / f"{self.orders} died").exists() and not rules:
            self.killed[kill] += 1
        if "conflict" in done:
            raise ab.MergeConflict("a driver said so", conflicts=None)
        ran += range(done["shards"])
        return SimpleNamespace(commit=SimpleNamespace(hash=done["hash"]))

    def _run_beside(self, order: dict[str, Any], meanwhile: Callable[[], None] | None) -> dict[str, Any] | None:
        """Run an order while somebody else commits, once, as soon as a shard waits for that."""
        ended = threading.Event()
        began, goes_on = (self.folder / f"{self.orders} {what}" for what in ("began", "goes on"))
        failed: list[BaseException] = []

        def commit() -> None:
            while not ended.wait(0.02):
                if began.exists() and not goes_on.exists():
                    try:
                        assert meanwhile is not None
                        meanwhile()
                    except BaseException as error:
                        failed.append(error)
                    goes_on.touch()

        beside = threading.Thread(target=commit)
        if meanwhile is not None:
            beside.start()
        try:
            assert self.driver is not None
            return self.driver.run(order)
        finally:
            ended.set()
            if meanwhile is not None:
                beside.join()
            if failed:
                raise failed[0]


if __name__ == "__main__":
    main(*sys.argv[1:])
