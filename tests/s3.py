"""Real S3 servers of the tests' own, each with a folder and a loopback port: s3proxy, a jar that Maven fetches."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
import uuid
import weakref
from pathlib import Path
from typing import Self
from urllib.request import urlopen

from tests.maven import REPOSITORY, jar, jars

KEY, SECRET = "anabranch-tests", "a-secret-that-no-message-shows"
ENVIRONMENT = {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_REGION": "us-east-1"}
PATIENCE_SECONDS = 60
S3PROXY = "org.gaul:s3proxy:4.1.0:jar-with-dependencies"


class S3Server:
    """A server with a bucket; starts on entering, is gone after leaving.

    One that runs already is taken if ANABRANCH_TEST_S3 names it: it has the bucket `tests` and knows our key."""

    bucket = "tests"

    def __init__(self) -> None:
        self.endpoint = os.environ.get("ANABRANCH_TEST_S3", "")
        if not self.endpoint:
            self._own()

    def _own(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="anabranch-s3-"))
        (self.folder / "data" / self.bucket).mkdir(parents=True)
        self.port = free_port()
        self.endpoint = f"http://127.0.0.1:{self.port}"
        self._process = self._start()
        self._end = weakref.finalize(self, tear_down, self._process, self.folder, os.getpid())

    def __enter__(self) -> Self:
        if not hasattr(self, "_process"):
            return self
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not answers(self.port):
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the S3 server did not start: {(self.folder / 'log').read_text(errors='replace')}")
            time.sleep(0.05)
        return self

    def __exit__(self, *_: object) -> None:
        if hasattr(self, "_process"):
            self._end()

    def new_root(self) -> str:
        """The address of a place where nothing is."""
        return f"s3://{self.bucket}/{uuid.uuid4().hex}?endpoint={self.endpoint}"

    def _start(self) -> subprocess.Popen[bytes]:
        facts = {
            "s3proxy.authorization": "aws-v2-or-v4",
            "s3proxy.endpoint": self.endpoint,
            "s3proxy.identity": KEY,
            "s3proxy.credential": SECRET,
            "jclouds.provider": "filesystem-nio2",
            "jclouds.filesystem.basedir": str(self.folder / "data"),
        }
        settings = self.folder / "s3proxy.conf"
        settings.write_text("".join(f"{k}={v}\n" for k, v in facts.items()), encoding="utf-8")
        command = ["java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-jar", str(jar(S3PROXY))]
        return launch([*command, "--properties", str(settings)], self.folder / "log")


def s3a_jars() -> str:
    """The jars by which Spark reaches S3: those that a user is told to take, fetched once."""
    from anabranch.engines.far_root import s3a_settings

    told = s3a_settings()
    folder = REPOSITORY.parent / "anabranch-s3a"
    return ",".join(map(str, jars(told["spark.jars.packages"].split(","), [told["spark.jars.excludes"]], folder)))


def launch(command: list[str], log: Path, cwd: Path | None = None) -> subprocess.Popen[bytes]:
    """Start a server in a session of its own, so that Ctrl-C reaches the tests and not the server."""
    with log.open("wb") as out:
        quiet = {"stdout": out, "stderr": out, "stdin": subprocess.DEVNULL}
        return subprocess.Popen(command, start_new_session=True, cwd=cwd, **quiet)


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def answers(port: int) -> bool:
    """Tell whether something speaks HTTP there."""
    try:
        with urlopen(f"http://127.0.0.1:{port}/", timeout=5):
            return True
    except OSError as error:
        return hasattr(error, "code")


def tear_down(process: subprocess.Popen[bytes], folder: Path, owner_pid: int) -> None:
    """End a server and remove its folder."""
    if os.getpid() == owner_pid:  # a forked child leaves the server to its parent
        process.kill()
        process.wait()
        shutil.rmtree(folder, ignore_errors=True)
