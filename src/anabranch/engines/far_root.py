"""An object root that Spark reaches by its own client: what Spark must be told, and what it may lack."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from anabranch.errors import Unavailable

S3A = "org.apache.hadoop.fs.s3a.S3AFileSystem"
_SDK = "software.amazon.awssdk"
_SDK_PARTS = ("s3", "s3-transfer-manager", "sts", "apache-client", "netty-nio-client")
_SDK_VERSIONS = {"3.4.1": "2.24.6", "3.4.2": "2.29.52", "3.5.0": "2.35.4"}
"""The AWS SDK that each Hadoop version's S3A was built with."""


@dataclass(frozen=True)
class FarRoot:
    """Where objects are, as Spark needs to know it."""

    scheme: str
    """s3 or hdfs."""
    options: Mapping[str, str]
    """Options for each read and write; no secrets."""

    @property
    def own_settings(self) -> dict[str, str]:
        """Settings for a session that we start ourselves."""
        return s3a_settings() if self.scheme == "s3" else {}

    def lacking(self, where: str) -> Unavailable:
        """The error for a Spark without a client for this kind of root."""
        lines = "\n".join(f"  {name}={value}" for name, value in s3a_settings().items())
        hint = f"start Spark with these settings, and without any that name other jars for S3:\n{lines}\n"
        return Unavailable(f"Spark can't reach {where}: it has no S3A", hint=hint + "or use engine='duck'")


def s3a_settings() -> dict[str, str]:
    """The smallest set of jars for this Spark to reach S3: 19 MB, where the whole SDK would be 686."""
    hadoop = _hadoop_version()
    sdk = _SDK_VERSIONS.get(hadoop, _SDK_VERSIONS["3.5.0"])
    packages = [f"org.apache.hadoop:hadoop-aws:{hadoop}", *(f"{_SDK}:{part}:{sdk}" for part in _SDK_PARTS)]
    return {"spark.jars.packages": ",".join(packages), "spark.jars.excludes": f"{_SDK}:bundle"}


def _hadoop_version() -> str:
    """The Hadoop version that this PySpark ships."""
    spec = importlib.util.find_spec("pyspark")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        for file in Path(folder, "jars").glob("hadoop-client-api-*.jar"):
            found = re.search(r"api-([\d.]+)\.jar", file.name)
            if found:
                return found[1]
    return "3.5.0"
