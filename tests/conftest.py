"""What tests share: a PostgreSQL server, fresh stores on each kind of catalogue, a Spark session.

Each starts when it is first asked for."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.postgres import PostgresServer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


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


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Run one small classic session for all tests."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable  # else workers run whatever python3 is on PATH
    settings: dict[str, Any] = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",  # the machine's own name may not resolve
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    session = SparkSession.builder.master("local[2]").appName("anabranch-tests").config(map=settings).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
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
