"""What tests share: a PostgreSQL server, fresh stores on each kind of catalogue, a Spark session.

Each starts when it is first asked for. With `--connect` the session is one of Spark Connect, and only tests that
use it are run: PySpark does not let a process have both kinds. `tests/repo/test_connect.py` starts such a run."""

from __future__ import annotations

import logging
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from zlib import crc32

import pytest
from hypothesis import HealthCheck, settings

from tests.connect import LOCAL, start_local, warning_filters
from tests.postgres import PostgresServer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


# A busy machine is no failure.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """Run one server for all tests; a test that wants to crash a server starts one of its own."""
    with PostgresServer() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Name a place for a new store: a folder that is not there yet, or the URL of an empty database."""
    if request.param == "sqlite":
        yield str(tmp_path / "store")
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    url = server.create_database()
    yield url
    server.drop_database(url)


@pytest.fixture
def objects_root(tmp_path: Path) -> str:
    """Name a folder for objects, which a store on PostgreSQL has to be given."""
    return str(tmp_path / "objects")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Offer `--connect` and `--all`."""
    parser.addoption("--connect", action="store_true", help="run what uses Spark, on Spark Connect")
    parser.addoption("--all", action="store_true", help="run every test on Spark that has a twin, and long ones")


def pytest_configure(config: pytest.Config) -> None:
    """Make an exception for old PySparks; warnings are errors otherwise."""
    for line in warning_filters():
        config.addinivalue_line("filterwarnings", line)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With `--connect`, keep what uses Spark. Without `--all`, leave out most of what DuckDB runs, too, and is long."""
    kept = items
    if config.getoption("--connect"):
        kept = [i for i in kept if {"spark", "engine"} & set(getattr(i, "fixturenames", ())) and "[duck" not in i.name]
    if not (config.getoption("--all") or config.option.keyword or any("::" in a for a in config.args)):
        kept = [i for i in kept if not (_is_twin(i) and _is_spared(config, i))]
    chosen = set(kept)
    config.hook.pytest_deselected(items=[i for i in items if i not in chosen])
    items[:] = kept


SPARK_SHARE = 20
"""One of so many tests that run on both engines runs on Spark, too, unless it is marked `contract`, or `--all` asks:
on Spark, a commit takes a second. The names choose, so that it is always the same."""


def _is_twin(item: pytest.Item) -> bool:
    """Tell whether this is the variant on Spark of a test that also runs on DuckDB."""
    runs_on = set(re.split(r"[\[\]-]", item.name)) & {"spark", "connect"}
    return "engine" in getattr(item, "fixturenames", ()) and bool(runs_on)


def _is_spared(config: pytest.Config, item: pytest.Item) -> bool:
    """Tell whether a twin is left out: it is long, or not of the contract and not one of those that are chosen."""
    if item.get_closest_marker("long") is not None:
        return True
    is_chosen = config.getoption("--connect") or crc32(item.nodeid.encode()) % SPARK_SHARE == 0
    return item.get_closest_marker("contract") is None and not is_chosen


@pytest.fixture(scope="session")
def spark(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Run one small session for all tests, classic or of Spark Connect."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable  # else workers run whatever python3 is on PATH
    settings = LOCAL | {"spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse"))}
    if request.config.getoption("--connect"):
        session = start_local("local[2]", settings)
    else:
        session = SparkSession.builder.master("local[2]").appName("anabranch-tests").config(map=settings).getOrCreate()
    yield session
    session.stop()


@pytest.fixture(autouse=True)
def fold_failures() -> Iterator[list[str]]:
    """Fail a test in which a fold failed: only the log tells. A test that wants one to fail clears the list."""
    found: list[str] = []

    class Remember(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            found.append(self.format(record))

    handler, logger = Remember(logging.WARNING), logging.getLogger("anabranch.repo.fold")
    logger.addHandler(handler)
    yield found
    logger.removeHandler(handler)
    assert found == []
