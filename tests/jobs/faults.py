"""Jobs in which something dies: `python -m tests.jobs.faults KIND STORE MARKS LAST`, on a session of its own.

KIND is cluster (executors are JVMs of their own), connect, or bucket (the store's objects lie on S3). LAST says when
the driver dies in the end: before or after it publishes. MARKS is a folder that remembers who has died, so that nobody
does twice. What was tried is printed."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anabranch as ab
from anabranch.jobs import job as jobs
from anabranch.jobs.dealt import files
from tests.connect import LOCAL, start_classic, start_connect

SHARDS = 4


def session(kind: str) -> Any:
    """Start Spark, whose tasks are tried four times."""
    if kind == "connect":
        return start_connect("local[2,4]", LOCAL)
    return start_classic("local-cluster[2,1,1024]" if kind == "cluster" else "local[2,4]", LOCAL)


def first(marks: str, what: str) -> bool:
    """Tell whether this is the first time; whoever asks again is told no."""
    try:
        os.close(os.open(os.path.join(marks, what), os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


def made(shard: Any) -> Iterator[dict[str, Any]]:
    """Rows and a file that are other ones each time, all with the word of their attempt."""
    word = uuid.uuid4().hex
    shard.put(f"words/{shard.number}", word)
    shard.append("all", f"{shard.number} {word}\n")
    yield from (
        {"shard": shard.number, "n": n, "word": word, "path": f.path} for f in shard.files("docs") for n in (1, 2)
    )


def kill_executor() -> None:
    """Kill the JVM that this worker works for: the parent of the daemon that forked it."""
    daemon = Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2].split()
    os.kill(int(daemon[1]), signal.SIGKILL)


def kill_later(shard: Any) -> None:
    """Kill this worker as soon as its shard is finished."""

    def wait() -> None:
        while not shard._task.place.winners(shard.number):
            time.sleep(0.001)
        os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=wait, daemon=True).start()


def workers_die(marks: str) -> Callable[[Any], Any]:
    """A function whose workers die: one when it has written, one when its manifest is there."""

    def function(shard: Any) -> Iterator[dict[str, Any]]:
        yield from made(shard)
        if shard.number == 0 and first(marks, "worker"):
            os.kill(os.getpid(), signal.SIGKILL)
        if shard.number == 1 and first(marks, "finished"):
            kill_later(shard)

    return function


def executor_dies(marks: str) -> Callable[[Any], Any]:
    def function(shard: Any) -> Iterator[dict[str, Any]]:
        yield from made(shard)
        if shard.number == 2 and first(marks, "executor"):
            kill_executor()

    return function


def always_fails(shard: Any) -> Iterator[dict[str, Any]]:
    yield from made(shard)
    if shard.number == 3:
        raise ValueError("this one never works")


def main(kind: str, store: str, marks: str, last: str) -> None:
    """Try everything, then die."""
    spark = session(kind)
    with ab.open(store, spark=spark, author="ann") as repo:

        def job(name: str, function: Any) -> Any:
            repo.branch(name)
            told = {"table": "out", "key": ["path", "n"], "shards": SHARDS, "version": "1"}
            return repo.job(function, name=name, inputs={"docs": files("raw/*")}, output=name, **told)

        if last == "before":
            print("workers", job("workers", workers_die(marks)).run().rows, flush=True)
            if kind == "cluster":
                print("executor", job("executor", executor_dies(marks)).run().rows, flush=True)
            try:
                job("failing", always_fails).run()
            except ab.RunFailed as error:
                print("failing", error.facts["shard"], error.facts["attempts"], flush=True)
        publish = jobs.publish_output

        def die(*given: Any, **more: Any) -> Any:
            if last == "after":
                publish(*given, **more)
            os.kill(os.getpid(), signal.SIGKILL)

        jobs.publish_output = die
        job("driver", made).run()


if __name__ == "__main__":
    main(*sys.argv[1:])
