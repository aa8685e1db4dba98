"""Spark Connect for tests: a local server in this process tree, and one that sees other disks than we do."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parent.parent
LOCAL = {
    "spark.driver.bindAddress": "127.0.0.1",
    # One thread compiles, one collects; a full code cache (48 MB here, unless told) lets Spark wait for ever.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC",
    "spark.driver.host": "127.0.0.1",  # the machine's own name may not resolve
    "spark.log.level": "ERROR",
    "spark.sql.shuffle.partitions": "4",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}

QUICK = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.shuffle.partitions": "1",
}
"""What spares the most on small tables: there, Spark plans and compiles longer than it runs."""

LEFT_OPEN = "ignore:unclosed <socket:ResourceWarning"
"""A filter for PySpark 4.0, whose classic sessions leave the sockets of results to the garbage collector."""


def warning_filters() -> list[str]:
    """What this PySpark can't help warning of."""
    return [LEFT_OPEN] if version("pyspark").startswith("4.0.") else []


@contextmanager
def set_in(session: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Set options of a session for a while."""
    before = {name: session.conf.get(name) for name in settings}
    for name, value in settings.items():
        session.conf.set(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            session.conf.set(name, str(value))


USERS_OWN = {"spark.sql.parquet.outputTimestampType": "INT96"}
"""What sessions of users have and those that we start do not."""


def start_classic(master: str, settings: Mapping[str, str]) -> SparkSession:
    """Start a session as Anabranch starts one for whoever has none, with this interpreter on its executors.

    Users' own differ in what they set: the tests want to hold for these."""
    from anabranch.engines.spark_sessions import local_session

    return local_session({**USERS_OWN, **settings, "spark.master": master})


def start_connect(master: str, settings: Mapping[str, str]) -> SparkSession:
    """Start a server on a free port, as for whoever has `SPARK_REMOTE=local`; it ends with the session or the process.

    The settings are the server's: given to the builder, PySpark would try them on the client too, and warn."""
    from anabranch.engines.spark_sessions import local_session

    submitted = [*(f"--conf {quote(f'{k}={v}')}" for k, v in settings.items()), "pyspark-shell"]
    os.environ["PYSPARK_SUBMIT_ARGS"] = " ".join(submitted)
    os.environ["SPARK_TESTING"] = "1"  # PySpark takes any free port instead of 15002, and its clients ask for that one
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT))  # workers find functions of tests, as those of a classic session do
        patch.setenv("SPARK_REMOTE", master)
        return local_session()


class FarServer:
    """A server for which a folder of ours is empty, as on another machine: it runs in a mount namespace of its own.

    `url` leads to it. It ends when the block does, or when this process is gone."""

    def __init__(self, hidden: Path) -> None:
        self._hidden = hidden
        self._token = str(uuid.uuid4())

    @staticmethod
    def why_not() -> str:
        """Say why this machine can't have one, if so."""
        tried = subprocess.run([*_ALONE, "mount -t tmpfs none /mnt"], capture_output=True, text=True, check=False)
        return "" if tried.returncode == 0 else f"no mount namespaces here: {tried.stderr.strip()}"

    def __enter__(self) -> FarServer:
        command = [*_ALONE, 'mount -t tmpfs none "$1" && exec "$2" -m tests.connect', "-", self._hidden, sys.executable]
        env = {
            **os.environ,
            "SPARK_CONNECT_AUTHENTICATE_TOKEN": self._token,
            "PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(ROOT))),
        }
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=env,
            cwd=ROOT,
        )
        assert self._process.stdout is not None
        port = next((line.split()[1] for line in self._process.stdout if line.startswith("port ")), None)
        assert port, "the server did not start"
        self.url = f"sc://localhost:{port}/;token={self._token}"
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate(timeout=300)


_ALONE = ["unshare", "--map-root-user", "--mount", "sh", "-c"]


def _serve() -> None:
    """Serve until the standard input ends."""
    session = start_connect("local[1]", LOCAL)
    from pyspark.sql.connect.client.core import DefaultChannelBuilder

    print("port", DefaultChannelBuilder.default_port(), flush=True)
    sys.stdin.read()
    session.stop()


if __name__ == "__main__":
    _serve()
