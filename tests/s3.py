"""Real S3 servers of the tests' own, each with a folder and a loopback port: s3proxy, a jar that Maven fetches, and
versitygw, which Go builds."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
import uuid
import weakref
from pathlib import Path
from typing import Self

from tests.golang import program
from tests.maven import REPOSITORY, jar, jars
from tests.servers import PATIENCE_SECONDS, answers, free_port, launch, tear_down

KEY, SECRET = "anabranch-tests", "a-secret-that-no-message-shows"
ENVIRONMENT = {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_REGION": "us-east-1"}
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


class VersityServer(S3Server):
    """The same by versitygw. Building it takes minutes, once; Missing if this machine can't."""

    def __init__(self) -> None:
        self._program = program("github.com/versity/versitygw", "v1.8.0", "cmd/versitygw")
        self._own()

    def _start(self) -> subprocess.Popen[bytes]:
        keys = {"ROOT_ACCESS_KEY": KEY, "ROOT_SECRET_KEY": SECRET, "VGW_REGION": ENVIRONMENT["AWS_REGION"]}
        beside = self.folder / "beside"  # what the folder's file system may have no room for: attributes
        beside.mkdir()
        command = [str(self._program), "--port", f"127.0.0.1:{self.port}", "posix", "--sidecar", str(beside)]
        return launch([*command, str(self.folder / "data")], self.folder / "log", env={**os.environ, **keys})


def s3a_jars() -> str:
    """The jars by which Spark reaches S3: those that a user is told to take, fetched once."""
    from anabranch.engines.far_root import s3a_settings

    told = s3a_settings()
    folder = REPOSITORY.parent / "anabranch-s3a"
    return ",".join(map(str, jars(told["spark.jars.packages"].split(","), [told["spark.jars.excludes"]], folder)))
