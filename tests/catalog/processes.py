"""Work in processes of its own: started from a clean server with everything imported, so that each costs little."""

from __future__ import annotations

import multiprocessing
import os
import signal
import traceback
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.context import ForkServerContext, ForkServerProcess
from typing import Any

PATIENCE_SECONDS = 60

_PRELOADED = [
    "pytest",
    "hypothesis",
    "duckdb",
    "pandas",
    "psycopg",
    "pyarrow.compute",
    "pyarrow.parquet",
    "sqlalchemy.dialects.postgresql",
    "sqlalchemy.dialects.sqlite",
    "sqlglot",
    "anabranch",
    "anabranch.engines.duck",
    "anabranch.objects.folder",
    "anabranch.repo.branches.branch",
    "anabranch.repo.commit.commit",
    "anabranch.repo.write.create_table",
    "anabranch.repo.upkeep.fold",
    "anabranch.repo.branches.listing",
    "anabranch.repo.branches.log",
    "anabranch.repo.read.look_up",
    "anabranch.repo.write.netting",
    "anabranch.repo.commit.open_commit",
    "anabranch.repo.read.table",
    "anabranch.repo.repository",
    "anabranch.repo.stores",
    "anabranch.repo.write.upsert",
    "anabranch.repo.write.update",
    "anabranch.repo.upkeep.verify",
    "tests.kept",
]


def _context() -> ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_PRELOADED)
    return context


class Child:
    """A process that runs one function; what it returns or raises is sent back."""

    def __init__(self, function: Callable[..., Any], *args: Any) -> None:
        context = _context()
        self._results, results = context.Pipe(duplex=False)
        self._process: ForkServerProcess = context.Process(target=_run, args=(results, function, args))
        self._process.start()
        results.close()

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    def join(self) -> int:
        """Wait for the end and return the exit code: minus the signal for a process that was killed."""
        self._process.join(PATIENCE_SECONDS)
        if self._process.exitcode is None:
            self._process.kill()
            self._process.join()
            raise TimeoutError("the process did not end")
        self._results.close()
        return self._process.exitcode

    def wake(self) -> None:
        """Let it go on until it has something to say, also if it is only about to be stopped."""
        for _ in range(PATIENCE_SECONDS * 10):
            if self._results.poll(0.1):
                return
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGCONT)

    def result(self) -> Any:
        """Wait for what the function returned; what it raised is raised here."""
        if not self._results.poll(PATIENCE_SECONDS):
            self._process.kill()
            raise TimeoutError("the process sent no result")
        try:
            kind, value, trace = self._results.recv()
        except EOFError:
            raise AssertionError(f"the process ended with code {self.join()}") from None
        self.join()
        if kind == "raised":
            value.add_note(trace)
            raise value
        return value

    def kill(self) -> None:
        """End the process at once, wherever it is."""
        self._process.kill()
        self.join()


def run(function: Callable[..., Any], *args: Any) -> Any:
    """Run one function in a process of its own."""
    return Child(function, *args).result()


def run_all(function: Callable[..., Any], each: list[tuple[Any, ...]]) -> list[Any]:
    """Run a function in several processes at once, one for each set of arguments; errors are returned."""
    children = [Child(function, *args) for args in each]
    found = []
    for child in children:
        try:
            found.append(child.result())
        except Exception as error:
            found.append(error)
    return found


def die() -> None:
    """End this process as a power cut would."""
    os.kill(os.getpid(), signal.SIGKILL)


def _run(results: Any, function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    try:
        answer = ("returned", function(*args), "")
    except BaseException as error:
        answer = ("raised", error, traceback.format_exc())
    results.send(answer)
    results.close()
