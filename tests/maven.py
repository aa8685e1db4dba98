"""Jars for the tests, fetched by the machine's Maven: the first run fetches them, the next ones find the files."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

REPOSITORY = Path(os.environ.get("ANABRANCH_TEST_MAVEN") or Path.home() / ".m2" / "repository")


def jar(coordinates: str) -> Path:
    """The file of an artefact (group:name:version, and a classifier), fetched if it is not here."""
    group, name, version, *classifier = coordinates.split(":")
    file = "-".join([name, version, *classifier]) + ".jar"
    place = REPOSITORY.joinpath(*group.split("."), name, version, file)
    if not place.is_file():
        kind = f":jar:{classifier[0]}" if classifier else ""
        _run("dependency:get", "-Dtransitive=false", f"-Dartifact={group}:{name}:{version}{kind}")
    return place


def jars(coordinates: list[str], excluded: list[str], folder: Path) -> list[Path]:
    """Artefacts with all that they need, copied into a folder once."""
    done, wanted = folder / "complete", " ".join([*coordinates, *excluded])
    if not done.exists() or done.read_text(encoding="utf-8") != wanted:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / "pom.xml").write_text(_pom(coordinates, excluded), encoding="utf-8")
        _run("-f", str(folder / "pom.xml"), "dependency:copy-dependencies", f"-DoutputDirectory={folder}")
        done.write_text(wanted, encoding="utf-8")
    return sorted(folder.glob("*.jar"))


def _run(*what: str) -> None:
    if shutil.which("mvn") is None:
        raise RuntimeError("the tests fetch S3 and HDFS servers with Maven, and there is no mvn on PATH; install it")
    done = subprocess.run(
        ["mvn", "-q", "-B", f"-Dmaven.repo.local={REPOSITORY}", *what], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise RuntimeError(f"Maven failed: {done.stdout[-2000:]}{done.stderr[-2000:]}")


def _pom(coordinates: list[str], excluded: list[str]) -> str:
    out = "".join(f"<exclusion>{_fields(e)}</exclusion>" for e in excluded)
    wanted = "".join(f"<dependency>{_fields(c)}<exclusions>{out}</exclusions></dependency>" for c in coordinates)
    head = "<modelVersion>4.0.0</modelVersion><groupId>tests</groupId><artifactId>jars</artifactId>"
    return f"<project>{head}<version>1</version><dependencies>{wanted}</dependencies></project>"


def _fields(coordinates: str) -> str:
    names = ("groupId", "artifactId", "version")
    return "".join(f"<{n}>{v}</{n}>" for n, v in zip(names, coordinates.split(":"), strict=False))
