"""Spark Connect: the contract, in a process of its own, and a server that can't see the store."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.connect import ROOT, FarServer

pytestmark = [pytest.mark.contract, pytest.mark.jvm]


def run(command: list[str], **settings: str) -> subprocess.CompletedProcess[str]:
    """Run Python beside the tests, as if nobody had set up Spark or pytest before."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "SPARK_", "PYSPARK_"))} | settings
    return subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, check=False, timeout=3600, env=env, cwd=ROOT
    )


def test_the_contract_holds_on_spark_connect(request: pytest.FixtureRequest) -> None:
    """Run what is marked `connect`, or with `--all` the whole contract: verbs, types, names, errors, sessions, and SQL.

    `pytest --connect` runs all the rest, too, and shows little that is new: plans are made and read back in one way."""
    chosen = ["--all", "-m", "contract or connect"] if request.config.getoption("--all") else ["-m", "connect"]
    done = run(["-m", "pytest", "--connect", *chosen, "--quiet", "-p", "no:cacheprovider", "--durations=10"])
    assert done.returncode == 0, done.stdout[-20_000:]
    assert " passed" in done.stdout.splitlines()[-1]


FAR = """
import sys
from pathlib import Path
import anabranch as ab

folder = sys.argv[1]

def attempt(what, verb):
    try:
        print(what, verb())
    except ab.Unavailable as error:
        print(what, "unavailable", error)

def create(repo):
    with repo.commit("main", "new") as tx:
        return tx.create_table("new", repo.spark_session.range(20_000), key="id")

def count_files():
    return len([p for p in Path(folder, ".anabranch", "objects").rglob("*") if p.is_file()])

files = count_files()
with ab.open(folder) as repo:
    attempt("inline:", lambda: repo.table("inline").spark().count())
    attempt("read:", lambda: repo.table("files").spark())
    attempt("rows:", lambda: repo.table("files", where="soundex('x') = 'X000'").rows())
    attempt("create:", lambda: create(repo))
    repo._ctx.engines.spark().sees_files = True
    attempt("elsewhere:", lambda: create(repo))
    print("tables:", [t.name for t in repo.tables()], "new files:", count_files() - files)
"""


def test_a_server_that_can_not_see_the_store_is_told_apart(tmp_path: Path) -> None:
    why_not = FarServer.why_not()
    if why_not:
        pytest.skip(why_not)
    import anabranch as ab

    folder = tmp_path / "store"
    with ab.init(folder, engine="duck") as repo, repo.commit("main", "load") as tx:
        tx.create_table("inline", [{"id": 1}], key="id")
    with (
        ab.open(folder, engine="duck", settings=ab.Settings(objects=ab.ObjectSettings(inline_limit_bytes=0))) as repo,
        repo.commit("main", "x") as tx,
    ):
        tx.create_table("files", [{"id": 1}], key="id")
    with FarServer(folder) as server:
        done = run(["-c", FAR, str(folder)], SPARK_REMOTE=server.url)
    said = dict(line.split(": ", 1) for line in done.stdout.splitlines())
    assert said.keys() == {"inline", "read", "rows", "create", "elsewhere", "tables"}, done.stderr[-5000:]
    assert said["inline"] == "1"  # what the catalogue holds is sent to the server
    for verb in ("read", "rows", "create"):
        assert said[verb].startswith(f"unavailable Spark's server can't see {folder}/.anabranch/objects/")
        assert "shared mount" in said[verb]
    assert said["elsewhere"].startswith(f"unavailable Spark wrote to {folder}/.anabranch/objects/")
    assert said["tables"] == "['files', 'inline'] new files: 0"
