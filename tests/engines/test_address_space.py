"""A process whose address space is limited gets our error where DuckDB has no room, and is not ended."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import anabranch as ab

SCRIPT = """
import resource, sys
limit = int(sys.argv[2]) << 20
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
import anabranch as ab
repo = ab.open(sys.argv[1])
asked = {
    "log": lambda: len(repo.log()),
    "get": lambda: repo.table("t").get(2),
    "sql": lambda: repo.sql("SELECT count(*) AS n FROM t a, t b").rows(),
    "where": lambda: repo.table("t", where="s LIKE 'a%'").rows(),
    "safe": lambda: repo.sql("SELECT count(*) AS n FROM t a, t b", safe=True).rows(),
}
for name in sys.argv[3:]:
    try:
        print(name, asked[name]())
    except ab.Unavailable as error:
        print(name, "Unavailable", error)
"""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("room") / "store"
    with ab.init(folder, engine="duck") as repo, repo.commit("main", "rows") as tx:
        tx.create_table("t", [{"id": 1, "s": "a"}, {"id": 2, "s": "b"}], key="id")
    return folder


@pytest.mark.skipif(sys.platform != "linux", reason="the limit is Linux's")
@pytest.mark.parametrize("megabytes", [700, 900, 1200, 1500, 2000])
def test_little_address_space_is_told_and_ends_no_process(store: Path, megabytes: int) -> None:
    command = [sys.executable, "-c", SCRIPT, str(store), str(megabytes), "log", "sql", "where", "safe", "get"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    said = dict(line.split(" ", 1) for line in done.stdout.splitlines())
    assert said["log"] == "2"
    assert said["get"] == "{'id': 2, 's': 'b'}"
    for name in ("sql", "where", "safe"):
        assert "Unavailable this process may take" in said[name]
        assert "ulimit -v" in said[name]


@pytest.mark.skipif(sys.platform != "linux", reason="the limit is Linux's")
def test_enough_address_space_is_enough(store: Path) -> None:
    command = [sys.executable, "-c", SCRIPT, str(store), "8000", "sql", "where", "safe"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["sql [{'n': 4}]", "where [{'id': 1, 's': 'a'}]", "safe [{'n': 4}]"]
