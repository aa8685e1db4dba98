"""Spark sessions: tells classic ones from Spark Connect's, and finds one to work in."""

from __future__ import annotations

import logging
import os
import re
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile, gettempdir
from types import MappingProxyType, ModuleType
from typing import Any

from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

from anabranch.errors import InvalidRequest, Unavailable, install_hint
from anabranch.model.addresses import masked

log = logging.getLogger("anabranch.engines.spark")


def is_remote(session: Any) -> bool:
    """Tell whether this is a session of Spark Connect, whose server may be on another machine."""
    return any(kind.__module__.startswith("pyspark.sql.connect.") for kind in type(session).__mro__)


def functions_of(session: Any) -> ModuleType:
    """PySpark's functions for this kind of session; those that users import depend on an environment variable."""
    if is_remote(session):
        from pyspark.sql.connect import functions as remote

        return remote
    from pyspark.sql import functions as classic

    return classic


def refuse_foreign(session: Any, other: Any) -> None:
    """Refuse a DataFrame of another session, where Spark couldn't resolve it."""
    hint = "open the repository with that session: spark=df.sparkSession"
    if is_remote(session) != is_remote(other):
        here, there = (_kind(s) for s in (session, other))
        message = f"the DataFrame belongs to a {there} session, the repository was opened with a {here} one"
        raise InvalidRequest(message, hint=hint)
    same = session.session_id == other.session_id if is_remote(session) else _jvm(session) == _jvm(other)
    if not same:
        raise InvalidRequest("the DataFrame belongs to another Spark session than the repository's", hint=hint)


def _kind(session: Any) -> str:
    return "Spark Connect" if is_remote(session) else "classic Spark"


def _jvm(session: Any) -> Any:
    """The session's object in the JVM: several Python objects may stand for one classic session."""
    return session._jsparkSession


def local_session(more: Mapping[str, str] = MappingProxyType({})) -> SparkSession:
    """The existing session, active in this thread or not; else the server of SPARK_REMOTE; else a new one.

    An existing one is taken as it is: `builder.getOrCreate` would apply our settings to it. `more` are settings of a
    new one. One that is started here runs Python on its executors with this process's interpreter.
    """
    try:
        return SparkSession.active()
    except PySparkException:
        log.debug("no Spark session is there")
    try:
        with _executors_run_this_python(), _executors_import_from_the_same_places():
            return SparkSession.builder.getOrCreate() if "SPARK_REMOTE" in os.environ else _start(more)
    except ImportError as error:
        raise Unavailable(f"Spark Connect lacks a package: {error}", hint=install_hint("connect")) from error
    except (PySparkException, OSError, RuntimeError) as error:
        hint = "install Java 17 or newer (with jdk.incubator.vector) and set JAVA_HOME; see `make setup`"
        if "SPARK_REMOTE" in os.environ:
            hint = f"check the server at SPARK_REMOTE={masked(os.environ['SPARK_REMOTE'])}"
        raise Unavailable(f"Spark could not be started: {masked(str(error))}", hint=hint) from error


def as_pattern(uri: str) -> str:
    """An address as Spark's readers take it, a path on disk whatever the session's default file system.

    They take it for a pattern, and `__globPaths__`, which should prevent that, reads several such files many times.
    """
    return re.sub(r"([][{}*?\\])", r"\\\1", on_disk(uri))


def on_disk(uri: str) -> str:
    """A path on disk as an address, so that the session's default file system does not matter."""
    return f"file://{uri}" if uri.startswith("/") else uri


def lacks_class(session: Any, name: str) -> bool:
    """Tell whether a session's Hadoop lacks a class; assumed of a remote server."""
    return is_remote(session) or session._jsc.hadoopConfiguration().getClassByNameOrNull(name) is None


def has_active() -> bool:
    """Tell whether the process has a session."""
    try:
        SparkSession.active()
    except PySparkException:
        return False
    return True


class quietly:
    """A block whose errors we report ourselves: PySpark would log each of them, too, as a page of JSON."""

    _local = threading.local()

    def __enter__(self) -> None:
        for logger in map(PySparkLogger.getLogger, _ERROR_LOGGERS):
            if _is_reported not in logger.filters:
                logger.addFilter(_is_reported)
        self._local.depth = getattr(self._local, "depth", 0) + 1

    def __exit__(self, *_: object) -> None:
        self._local.depth -= 1

    @classmethod
    def now(cls) -> bool:
        """Whether this thread is in such a block."""
        return getattr(cls._local, "depth", 0) > 0


_ERROR_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
"""PySpark's loggers of query errors."""


def _is_reported(_record: logging.LogRecord) -> bool:
    return not quietly.now()


EXECUTORS_PYTHON = "PYSPARK_PYTHON"
"""The variable by which PySpark chooses its executors' Python; without it, `python3` from PATH."""


@contextmanager
def _executors_run_this_python() -> Iterator[None]:
    """A block in which sessions start with this interpreter for executors, unless the user chose another.

    In a virtual environment that is not activated, `python3` from PATH has other packages. PySpark and Java read the
    variable as the session starts, and have no setting for it.
    """
    if EXECUTORS_PYTHON in os.environ or not sys.executable:
        yield
        return
    os.environ[EXECUTORS_PYTHON] = sys.executable
    try:
        yield
    finally:
        os.environ.pop(EXECUTORS_PYTHON, None)


_SAFE_PATH = "PYTHONSAFEPATH"
"""The variable by which Python does not import from the folder that it is started in."""


@contextmanager
def _executors_import_from_the_same_places() -> Iterator[None]:
    """A block in which sessions start whose executors import nothing from the current folder, unless this process does.

    `ana` may be run in a stranger's folder. Executors start by `python -m`, which looks there first: a file
    `pyarrow.py` would be run.
    """
    try:
        here = os.getcwd()
    except FileNotFoundError:  # somebody removed it
        here = ""
    if _SAFE_PATH in os.environ or any(not place or os.path.realpath(place) == here for place in sys.path):
        yield
        return
    os.environ[_SAFE_PATH] = "1"
    try:
        yield
    finally:
        os.environ.pop(_SAFE_PATH, None)


def _start(more: Mapping[str, str]) -> SparkSession:
    """Start a session of our own, which lives as long as the process."""
    log.debug("starting a local Spark session")
    for logger in map(PySparkLogger.getLogger, _ERROR_LOGGERS):
        logger.setLevel(logging.CRITICAL)
    settings: dict[str, Any] = {
        "spark.master": "local[*]",
        "spark.app.name": "anabranch",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.sql.warehouse.dir": str(Path(gettempdir()) / "anabranch-warehouse"),
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        **more,
    }
    if SparkContext._gateway is None:
        conf = SparkConf().setAll(list(settings.items()))
        SparkContext(conf=conf, gateway=_java(conf))
    return SparkSession.builder.config(map=settings).getOrCreate()


def _java(conf: SparkConf) -> Any:
    """Start Java; its stderr is only shown, in the debug log, if it fails."""
    from pyspark.java_gateway import launch_gateway

    launch: Any = launch_gateway
    others = _children()
    with TemporaryFile() as said:
        try:
            return launch(conf, {"stderr": said})
        except KeyboardInterrupt:
            for child in _children() - others:  # PySpark would leave it running, half started
                os.kill(child, signal.SIGKILL)
            raise
        except PySparkException:
            said.seek(0)
            log.debug("Java said: %s", said.read().decode("utf-8", "replace").strip())
            raise


def _children() -> set[int]:
    """The child processes of this one, on systems with /proc."""
    found = set()
    for said in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(said.read_text("utf-8", "replace").rpartition(")")[2].split()[1])
        except OSError:  # it has just ended
            continue
        if parent == os.getpid():
            found.add(int(said.parent.name))
    return found


def running_tasks(session: SparkSession) -> tuple[int, int] | None:
    """Finished and total tasks of active stages; None on Spark Connect, or if nothing runs."""
    try:
        tracker = session.sparkContext.statusTracker()
    except PySparkException:
        return None
    stages = [tracker.getStageInfo(id_) for id_ in tracker.getActiveStageIds()]
    found = [(s.numCompletedTasks, s.numTasks) for s in stages if s is not None]
    return (sum(done for done, _ in found), sum(total for _, total in found)) if found else None
