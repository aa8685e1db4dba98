"""A real HDFS of the tests' own: a cluster in one process, by jars that Maven fetches and those of PySpark."""

from __future__ import annotations

import getpass
import json
import os
import tempfile
import time
import uuid
import weakref
from importlib.util import find_spec
from pathlib import Path
from typing import Self
from urllib.request import urlopen

from tests.maven import REPOSITORY, jars
from tests.servers import PATIENCE_SECONDS, free_port, launch, tear_down

PARTS = [
    "org.apache.hadoop:hadoop-client-minicluster:3.5.0",
    "javax.servlet:javax.servlet-api:3.1.0",
    "org.junit.jupiter:junit-jupiter-api:5.13.4",
    "org.mockito:mockito-core:4.11.0",
    "commons-logging:commons-logging:1.3.5",
    "org.slf4j:slf4j-nop:2.0.17",
]


class HdfsServer:
    """A name node and a data node; starts on entering, is gone after leaving.

    One that runs already is taken if ANABRANCH_TEST_HDFS names it: host:port,host:http-port."""

    def __init__(self) -> None:
        self._given = os.environ.get("ANABRANCH_TEST_HDFS")
        ports = (self._given or f"127.0.0.1:{free_port()},127.0.0.1:{free_port()}").split(",")
        self.host, self.http = ports
        if not self._given:
            self._own()

    def _own(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="anabranch-hdfs-"))
        port, http = (place.rpartition(":")[2] for place in (self.host, self.http))
        command = ["java", "-Xmx400m", "-XX:TieredStopAtLevel=1", "-cp", _class_path()]
        command += ["org.apache.hadoop.test.MiniDFSClusterManager", "-format", "-datanodes", "1"]
        command += ["-nnport", port, "-httpport", http, "-D", f"hadoop.tmp.dir={self._folder}"]
        self._process = launch(command, self._folder / "log", cwd=self._folder)
        self._end = weakref.finalize(self, tear_down, self._process, self._folder, os.getpid())

    def __enter__(self) -> Self:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not self._answers():
            if time.monotonic() > deadline or (not self._given and self._process.poll() is not None):
                raise RuntimeError(f"HDFS did not start: {(self._folder / 'log').read_text(errors='replace')}")
            time.sleep(0.2)
        return self

    def __exit__(self, *_: object) -> None:
        if not self._given:
            self._end()

    def new_root(self) -> str:
        """The address of a place where nothing is."""
        return f"hdfs://{self.host}/{uuid.uuid4().hex}?http={self.http}&user={getpass.getuser()}"

    def _answers(self) -> bool:
        """Tell whether files can be written: the name node answers long before it knows a data node."""
        asked = f"http://{self.http}/jmx?qry=Hadoop:service=NameNode,name=FSNamesystemState"
        try:
            with urlopen(asked, timeout=5) as reply:
                (told,) = json.load(reply)["beans"]
        except (OSError, ValueError):
            return False
        return bool(told["NumLiveDataNodes"] and told["FSState"] == "Operational")


def _class_path() -> str:
    folder = REPOSITORY.parent / "anabranch-minidfs"
    jars(PARTS, [], folder)
    spec = find_spec("pyspark")
    assert spec is not None
    carried = [Path(place) / "jars" for place in spec.submodule_search_locations or []]
    names = ("hadoop-client-*.jar", "slf4j-api*.jar", "log4j-api*.jar", "log4j-core*.jar")
    found = [str(p) for place in carried for name in names for p in sorted(place.glob(name))]
    return os.pathsep.join([str(folder / "*"), *found])
