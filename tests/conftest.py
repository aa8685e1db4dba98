"""What tests share: a PostgreSQL server, fresh stores on each kind of catalogue, a Spark session, repositories to try
verbs on, once with each engine.

Each starts when it is first asked for. With `--connect` the session is one of Spark Connect, and only tests that
use it are run: PySpark does not let a process have both kinds. `tests/repo/test_connect.py` starts such a run."""

from __future__ import annotations

import dataclasses
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

import anabranch as ab
import tests.kept  # noqa: F401
from tests.connect import LOCAL, QUICK, set_in, start_classic, start_connect, warning_filters
from tests.postgres import PostgresServer
from tests.s3 import ENVIRONMENT, S3Server, s3a_jars
from tests.selection import is_jvm, select

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


MEMORY, ROOM_BYTES = Path("/dev/shm"), 4 * 2**30
"""Where nothing waits for a disk, and how much must be free there."""

# A busy machine is no failure.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("fewer", settings.get_profile("any machine"), max_examples=40)


@pytest.fixture(scope="session")
def postgres(pytestconfig: pytest.Config) -> Iterator[PostgresServer]:
    """Run one server for all tests; a test that wants to crash a server starts one of its own."""
    assert not pytestconfig.getoption("--quick"), "a quick run starts no server"
    with PostgresServer() as server:
        yield server


@pytest.fixture(scope="session", autouse=True)
def own_state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep what is noted for this user in folders of the tests, not in the home of whoever runs them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))
        yield


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


@pytest.fixture(scope="session")
def s3_server(pytestconfig: pytest.Config) -> Iterator[S3Server]:
    """Run one S3 server for all tests."""
    assert not pytestconfig.getoption("--quick"), "a quick run starts no server"
    with S3Server() as server:
        yield server


@pytest.fixture
def s3(s3_server: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> S3Server:
    """The S3 server, with its keys in the environment and a cache for this test."""
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return s3_server


@pytest.fixture
def objects_root(tmp_path: Path) -> str:
    """Name a folder for objects, which a store on PostgreSQL has to be given."""
    return str(tmp_path / "objects")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Offer the choices of `selection.py`."""
    parser.addoption("--connect", action="store_true", help="run what uses Spark, on Spark Connect")
    parser.addoption("--all", action="store_true", help="run every proof, and every test on Spark that has a twin")
    parser.addoption("--far", action="store_true", help="run what tries both engines, each object in a file on S3")
    parser.addoption("--manifests", action="store_true", help="list every object of rows in a manifest")
    parser.addoption("--quick", action="store_true", help="run what needs neither a JVM nor a server")


def pytest_configure(config: pytest.Config) -> None:
    """Write to memory where there is room; make an exception for old PySparks: warnings are errors otherwise.

    Without `--all`, what does not say how many examples it wants gets fewer."""
    settings.load_profile("any machine" if config.getoption("--all") else "fewer")
    if has_room(MEMORY):
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))
    for option, setting in (("--manifests", "manifest_object_limit"), ("--far", "inline_limit_bytes")):
        if config.getoption(option):
            _set_default(setting, 0)
    for line in warning_filters():
        config.addinivalue_line("filterwarnings", line)


def _set_default(setting: str, value: int) -> None:
    """Let all settings of objects that name nothing else have this value."""
    names = [f.name for f in dataclasses.fields(ab.ObjectSettings)]
    usual = list(ab.ObjectSettings.__init__.__defaults__ or ())
    usual[names.index(setting)] = value
    ab.ObjectSettings.__init__.__defaults__ = tuple(usual)
    ab.Settings.__init__.__defaults__ = (ab.ObjectSettings(), *(ab.Settings.__init__.__defaults__ or ())[1:])


def has_room(folder: Path) -> bool:
    """Tell whether tests may write to a folder, run what they wrote, and not fill it."""
    if not os.access(folder, os.W_OK):
        return False
    found = os.statvfs(folder)
    return not found.f_flag & os.ST_NOEXEC and found.f_bavail * found.f_frsize > ROOM_BYTES


@pytest.hookimpl(tryfirst=True)  # xdist reads the groups in the same hook
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what the options do not ask for."""
    kept = select(config, items)
    chosen = set(kept)
    config.hook.pytest_deselected(items=[i for i in items if i not in chosen])
    items[:] = kept


@pytest.fixture(scope="session")
def spark(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Run one small session for all tests, classic or of Spark Connect."""
    settings = LOCAL | {"spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse"))}
    reaching = (item for item in request.session.items if is_jvm(item))
    if request.config.getoption("--far") or any("s3_server" in getattr(item, "fixturenames", ()) for item in reaching):
        # Spark finds the keys in its own environment, which is that of the time when it starts.
        os.environ.update(ENVIRONMENT)
        settings |= {"spark.jars": s3a_jars()}
    start = start_connect if request.config.getoption("--connect") else start_classic
    session = start("local[2]", settings)
    yield session
    session.stop()


@pytest.fixture(autouse=True)
def one_jvm(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test that started a JVM and is not marked so: it would run in a worker that is to have none."""
    had = _has_jvm()
    yield
    assert had or is_jvm(request.node) or not _has_jvm(), "let it use the fixture `spark`, or mark it `jvm`"


def _has_jvm() -> bool:
    context = getattr(sys.modules.get("pyspark"), "SparkContext", None)
    return context is not None and context._gateway is not None


@pytest.fixture(autouse=True)
def fold_failures() -> Iterator[list[str]]:
    """Fail a test in which a fold failed: only the log tells. A test that wants one to fail clears the list."""
    found: list[str] = []

    class Remember(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            found.append(self.format(record))

    handler, logger = Remember(logging.WARNING), logging.getLogger("anabranch.repo.upkeep.fold")
    logger.addHandler(handler)
    yield found
    logger.removeHandler(handler)
    assert found == []


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run once with each engine, where a test names none itself; a run on Spark Connect has only that one."""
    named = any(mark.args[0] == "engine" for mark in metafunc.definition.iter_markers("parametrize"))
    if "engine" in metafunc.fixturenames and not named:
        engines = ["connect"] if metafunc.config.getoption("--connect") else ["duck", "spark"]
        metafunc.parametrize("engine", engines, indirect=True)


@pytest.fixture
def engine(request: pytest.FixtureRequest) -> Iterator[dict[str, Any]]:
    """Options that force one engine; Spark is started only where it is asked for.

    It is quick on small tables, and does not compile its plans, unless `--all` or a mark asks."""
    if request.param == "duck":
        yield {"engine": "duck"}
        return
    session = request.getfixturevalue("spark")
    compiles = request.config.getoption("--all") or request.node.get_closest_marker("compiled")
    with nullcontext() if compiles else set_in(session, QUICK):
        yield {"engine": "spark", "spark": session}


@pytest.fixture
def repo(request: pytest.FixtureRequest, tmp_path: Path, engine: dict[str, Any]) -> Iterator[ab.Repository]:
    """An empty repository in a folder; with `--far` its objects are on S3."""
    objects = request.getfixturevalue("s3").new_root() if request.config.getoption("--far") else None
    with ab.init(tmp_path / "store", author="ann", objects=objects, **engine) as made:
        yield made


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder, so that errors name short paths."""
    made = tmp_path / "work"
    made.mkdir()
    monkeypatch.chdir(made)
    return made


@pytest.fixture
def duck(tmp_path: Path) -> Iterator[ab.Repository]:
    """An empty repository that needs no JVM."""
    with ab.init(tmp_path / "store", author="ann", engine="duck") as made:
        yield made
