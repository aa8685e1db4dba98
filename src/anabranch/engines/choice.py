"""The engines of a repository, started when first needed."""

from __future__ import annotations

import importlib.util
import logging
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anabranch.engines.address_space import check_room
from anabranch.engines.before_read import AtHand, BeforeRead, look_at_none, where_they_are
from anabranch.engines.far_root import FarRoot
from anabranch.errors import Unavailable, install_hint
from anabranch.plan.engine import EngineName, EngineSetting, Work, choose
from anabranch.settings import Settings

if TYPE_CHECKING:
    import pyarrow as pa

    from anabranch.engines.duck import DuckEngine
    from anabranch.engines.engine import Engine
    from anabranch.engines.spark import SparkEngine
    from anabranch.queries.query import Query


log = logging.getLogger("anabranch.engines")

_OF_PARENTS: list[DuckEngine] = []
_QUICK_BYTES = 32 * 2**20
_QUICK = ContextVar("_QUICK", default=False)


@contextmanager
def quickly() -> Iterator[None]:
    """Open a block in which work that would start Spark or read much is refused, as Unavailable."""
    before = _QUICK.set(True)
    try:
        yield
    finally:
        _QUICK.reset(before)


class Engines:
    """Chooses an engine for each piece of work."""

    def __init__(
        self,
        setting: EngineSetting,
        session: Any | None,
        settings: Settings,
        at_hand: AtHand = where_they_are,
        before_spark: BeforeRead = look_at_none,
        far: FarRoot | None = None,
    ) -> None:
        self.setting, self._session, self._settings = setting, session, settings
        self._at_hand, self._before_spark, self._far = at_hand, before_spark, far
        self._lock = threading.Lock()
        self._duck: DuckEngine | None = None
        self._spark: SparkEngine | None = None

    def pick(self, work: Work, what: str) -> Engine:
        """Choose an engine, and log which and why at debug level."""
        name, why = choose(self.setting, work, self._settings.spark.threshold_bytes, self.has_spark)
        log.debug("%s runs on %s: %s", what, name, why)
        if _QUICK.get() and (self._starts(name) or work.size_bytes > _QUICK_BYTES):
            raise Unavailable(f"{what} takes long: {why}", hint="leave the time for it")
        if name == "spark":
            self.log_start(what, why)
        return self.spark() if name == "spark" else self.duck()

    def ready(self, work: Work, what: str) -> Engine | None:
        """Choose for work that nobody asked for; None if Spark would have to be started."""
        name, _ = choose(self.setting, work, self._settings.spark.threshold_bytes, self.has_spark)
        return None if self._starts(name) else self.pick(work, what)

    def _starts(self, name: EngineName) -> bool:
        """Whether an engine is Spark, with no session yet."""
        return name == "spark" and self._session is None and self._spark is None

    @property
    def has_spark(self) -> bool:
        return self._session is not None or importlib.util.find_spec("pyspark") is not None

    @property
    def is_open(self) -> bool:
        """Whether there is a Spark session: given, in use, or active in the process."""
        if self._session is not None or self._spark is not None:
            return True
        if "pyspark" not in sys.modules:
            return False
        from anabranch.engines.spark_sessions import has_active

        return has_active()

    @property
    def differs(self) -> bool:
        """Whether a Spark session is open whose settings give SQL another meaning than in the process."""
        return self.setting != "duck" and self.is_open and self.spark().differs

    @property
    def zone(self) -> str | None:
        """The time zone of the open Spark session, or of one that would be started; None if unknown."""
        if self.setting != "duck" and self.is_open:
            return self.spark().zone

        return system_zone()

    def fetch(self, engine: Engine, make: Callable[[Engine], Query], what: str) -> pa.Table:
        """Run a read for a user; one that passes the limits of the process is tried again on Spark."""
        if not engine.in_process:
            return engine.fetch(make(engine))
        try:
            return self.fetch_in_process(make(engine))
        except Unavailable as error:
            spark = self.instead_of_process(error, what)
            return spark.fetch(make(spark))

    def fetch_in_process(self, query: Query) -> pa.Table:
        """Run a query for a user on DuckDB, within the limits of the settings."""
        return self.duck().fetch(query, self._settings.limits.query_seconds)

    def instead_of_process(self, error: Unavailable, what: str) -> SparkEngine:
        """Spark, for a read that passed a limit of the process; raises the error where Spark may not be used."""
        may_start = not (_QUICK.get() and self._starts("spark"))
        if "limit" not in error.facts or self.setting != "auto" or not self.has_spark or not may_start:
            raise error
        log.info("%s is tried again on Spark: %s", what, error.message)
        return self.spark()

    def check_room(self) -> None:
        """Refuse early, before much is loaded, what the process has no room to compute."""
        if self.setting != "spark" and self._duck is None:
            check_room()

    def log_start(self, what: str, why: str) -> None:
        """Log why Spark is started, which takes a while."""
        if not self.is_open:
            log.info("Spark starts for %s: %s", what, why)

    def knows_table(self, name: str) -> bool:
        """Whether the open Spark session has a table or view of this name."""
        return self.setting != "duck" and self.is_open and self.spark().has_table(name)

    def duck(self) -> DuckEngine:
        """The in-process engine."""
        with self._lock:
            if self._duck is None:
                check_room()
                from anabranch.engines.duck import DuckEngine

                rows, memory_bytes = self._settings.objects.row_group_rows, self._settings.limits.query_memory_bytes
                self._duck = DuckEngine(rows, self._at_hand, memory_bytes)
            return self._duck

    def spark(self) -> SparkEngine:
        """Spark: in the given session, the active one, or a new local one."""
        if not self.has_spark:
            raise Unavailable("PySpark is not installed", hint=install_hint("spark"))
        from anabranch.engines.spark import SparkEngine
        from anabranch.engines.spark_sessions import local_session

        with self._lock:
            if self._spark is None:
                session = (
                    self._session
                    if self._session is not None
                    else local_session(self._far.own_settings if self._far else {})
                )
                rows, pages = self._settings.spark.file_row_limit, self._settings.damage.page_checksums
                self._spark = SparkEngine(session, rows, self._before_spark, pages, self._far)
            return self._spark

    def progress(self) -> tuple[int, int] | None:
        """Finished and total tasks of the Spark jobs that are running."""
        if self._spark is None:
            return None
        from anabranch.engines.spark_sessions import running_tasks

        return running_tasks(self._spark.session)

    def start_anew(self) -> None:
        """Drop DuckDB after a fork: its threads stayed in the parent, so the database is useless here."""
        if self._duck is not None:
            _OF_PARENTS.append(self._duck)  # closing it would wait for those threads
        self._lock, self._duck = threading.Lock(), None

    def close(self) -> None:
        """Release what is ours; a Spark session may be in use elsewhere and is left alone."""
        with self._lock:
            if self._duck is not None:
                self._duck.close()
                self._duck = None


_LOCAL = Path("/etc/localtime")
_FROM_ELSEWHERE = ("SPARK_REMOTE", "SPARK_CONF_DIR", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "PYSPARK_SUBMIT_ARGS")


def system_zone() -> str | None:
    """The system's time zone as Java finds it; None if a session may have another."""
    if any(name in os.environ for name in _FROM_ELSEWHERE):
        return None
    given = os.environ.get("TZ")
    if given is not None:
        return given or "UTC"
    if not _LOCAL.exists():
        return "UTC"
    _, found, name = str(_LOCAL.resolve()).partition("/zoneinfo/")
    return name if found else None
