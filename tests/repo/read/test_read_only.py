"""A store that may only be read can be read: in a folder without permissions, on a read-only disk, by a role that may
only look."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, text

import anabranch as ab
from anabranch.catalog import files
from anabranch.catalog.store import Catalog
from anabranch.cli.failures import EXIT_CODES
from tests.bound import ana_bound, read_only, run_bound, start_bound
from tests.postgres import PostgresServer
from tests.repo.strangers.stranger import FILES

ROWS = [{"id": 1, "v": "a"}, {"id": 2, "v": "b"}]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with a table in the catalogue and one in files, each changed once."""
    made = tmp_path / "store"
    fill(ab.init(made, author="ann", engine="duck"), "small")
    fill(ab.open(made, author="ann", engine="duck", settings=FILES), "large")
    return made


def fill(opened: ab.Repository, table: str) -> None:
    with opened as repo:
        with repo.commit("main", f"make {table}") as tx:
            tx.create_table(table, ROWS, key="id")
        with repo.commit("main", f"change {table}") as tx:
            tx.table(table).update({"v": "'z'"}, where="id = 2")


READING = [
    ("status",),
    ("log",),
    ("log", "--graph", "--", "small"),
    ("show",),
    ("ls",),
    ("table", "show", "large"),
    ("sql", "SELECT * FROM small JOIN large USING (id)"),
    ("sql", "SELECT * FROM ana.log"),
    ("diff", "HEAD~1"),
    ("diff", "HEAD~3", "--stat"),
    ("history", "small"),
    ("blame", "large"),
    ("branch",),
    ("tag",),
    ("reflog",),
    ("stash", "list"),
    ("config",),
]


ALL_OF_THEM = """
import json, sys
from anabranch.cli.main import run
for arguments in json.loads(sys.argv[1]):
    print("$", *arguments, flush=True)
    print("exit code", run(arguments), flush=True)
"""


def test_what_reads_reads_a_folder_that_may_not_be_written(store: Path) -> None:
    before = run_bound(ALL_OF_THEM, json.dumps(READING), cwd=store)
    with read_only(store):
        done = run_bound(ALL_OF_THEM, json.dumps(READING), cwd=store)
    assert (done.stdout, done.stderr) == (before.stdout, "")
    assert done.stdout.count("exit code 0") == len(READING)


@pytest.mark.long
def test_a_table_is_exported_from_a_folder_that_may_not_be_written(store: Path, tmp_path: Path) -> None:
    with read_only(store):
        for table in ("small", "large"):
            done = ana_bound("export", table, str(tmp_path / f"{table}.csv"), cwd=store)
            assert done.returncode == 0, done.stderr
            assert (tmp_path / f"{table}.csv").read_text() == "id,v\n1,a\n2,z\n"


WRITING = [("sql", "DELETE FROM small"), ("branch", "dev"), ("tag", "v1"), ("optimize", "small")]


@pytest.mark.long
def test_what_writes_says_that_it_can_not(store: Path) -> None:
    with read_only(store):
        done = run_bound(ALL_OF_THEM, json.dumps(WRITING), cwd=store)
    assert done.stdout.count(f"exit code {EXIT_CODES[ab.Unavailable]}") == len(WRITING)
    assert done.stderr.count("can't be written") == done.stderr.count("permissions") == len(WRITING)


def test_what_is_in_the_log_only_is_read_too(store: Path, tmp_path: Path) -> None:
    """A process that was killed leaves a log; without a place for the index of it, SQLite can't read it there."""
    catalog = store / ".anabranch" / "catalog.db"
    with ab.open(store, author="ann", engine="duck") as repo:
        with repo.commit("main", "in the log only") as tx:
            tx.table("small").insert([{"id": 3, "v": "c"}])
        for name in ("catalog.db", "catalog.db-wal"):
            shutil.copy(catalog.with_name(name), tmp_path / name)
    for name in ("catalog.db", "catalog.db-wal"):
        shutil.copy(tmp_path / name, catalog.with_name(name))
    assert (tmp_path / "catalog.db-wal").stat().st_size > 0
    with read_only(store):
        done = ana_bound("log", "--oneline", cwd=store)
        shown = ana_bound("sql", "SELECT count(*) AS n FROM small", "--json", cwd=store)
    assert "in the log only" in done.stdout, done.stderr
    assert json.loads(shown.stdout)["results"][0]["rows"] == [[3]]
    assert not catalog.with_name("catalog.db-shm").exists()


def test_a_reader_who_may_not_write_sees_what_others_commit(store: Path) -> None:
    script = """
import sys, anabranch
with anabranch.open(sys.argv[1], engine="duck") as repo:
    print(len(repo.log()), flush=True)
    sys.stdin.readline()
    print(len(repo.log()), flush=True)
"""
    folder = store / ".anabranch"
    folder.chmod(0o555)
    with start_bound(script, str(store)) as reader:
        assert reader.stdout is not None
        assert reader.stdin is not None
        before = int(reader.stdout.readline())
        folder.chmod(0o755)
        with ab.open(store, author="ann", engine="duck") as repo, repo.commit("main", "more") as tx:
            tx.table("small").insert([{"id": 4, "v": "d"}])
        folder.chmod(0o555)
        reader.stdin.write("\n")
        reader.stdin.flush()
        assert int(reader.stdout.readline()) == before + 1
    folder.chmod(0o755)


def test_a_file_that_is_written_while_it_is_read_as_one_that_is_not_is_told(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(store / ".anabranch" / "catalog.db")
    monkeypatch.setattr(files, "connect", files._of_frozen)
    catalog = Catalog.at_file(path)
    with catalog.read() as cx:
        cx.execute(text("SELECT 1"))
    with pytest.raises(ab.Unavailable, match="written while"), catalog.read():
        with sqlite3.connect(path) as other:
            other.execute("UPDATE ana_repositories SET name = 'other'")
        other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        other.close()
    with catalog.read() as cx:
        assert cx.scalar(text("SELECT name FROM ana_repositories")) == "other"
    catalog.close()


@pytest.mark.long
@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount")
def test_a_store_on_a_read_only_disk_is_read(store: Path) -> None:
    bind = f"mount --bind {store} {store} && mount -o remount,ro,bind {store} {store}"
    ana = "from anabranch.cli.main import main; main()"
    command = f'{bind} && cd {store} && {sys.executable} -c "{ana}" sql "SELECT count(*) AS n FROM large" --json'
    done = subprocess.run(["unshare", "-m", "sh", "-c", command], capture_output=True, text=True)
    if "unshare" in done.stderr or "mount" in done.stderr:
        pytest.skip("this machine mounts nothing")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["results"][0]["rows"] == [[2]]


@pytest.fixture(params=["without rights", "by default"])
def looking(request: pytest.FixtureRequest, postgres: PostgresServer, tmp_path: Path) -> Iterator[str]:
    """A store on a server, as a role that may only look reaches it."""
    url = postgres.create_database()
    fill(ab.init(url, objects=str(tmp_path / "objects"), author="ann", engine="duck", settings=FILES), "small")
    admin = create_engine(url.replace("postgresql://", "postgresql+psycopg://", 1), isolation_level="AUTOCOMMIT")
    role = f"looker_{os.getpid()}"
    rights = "SELECT" if request.param == "without rights" else "ALL"
    with admin.connect() as cx:
        cx.execute(text(f"CREATE ROLE {role} LOGIN"))
        cx.execute(text(f"GRANT {rights} ON ALL TABLES IN SCHEMA public TO {role}"))
        cx.execute(text(f"ALTER ROLE {role} SET default_transaction_read_only = {rights == 'ALL'}"))
    yield url.replace(url.split("//")[1].split("@")[0], role, 1)
    with admin.connect() as cx:
        for statement in (f"DROP OWNED BY {role}", f"DROP ROLE {role}"):
            cx.execute(text(statement))
    admin.dispose()
    postgres.drop_database(url)


def test_a_role_that_may_only_look_reads(looking: str, tmp_path: Path) -> None:
    with read_only(tmp_path / "objects"), ab.open(looking, author="bob", engine="duck") as repo:
        assert repo.table("small").rows() == [{"id": 1, "v": "a"}, {"id": 2, "v": "z"}]
        assert repo.sql("SELECT count(*) AS n FROM small").rows() == [{"n": 2}]
        assert len(repo.log()) == 3
        assert repo.working_set() is None
        assert repo.diff("main~1", "main")["small"].counts()["updated"] == 1
        assert repo.table("small").export(str(tmp_path / "out.csv")) == 2
        with pytest.raises(ab.Unavailable, match=r"permission|read-only"):
            repo.branch("dev")


def test_spark_reads_and_exports_from_a_folder_that_may_not_be_written(store: Path, tmp_path: Path, spark: Any) -> None:
    root = store / ".anabranch" / "objects"
    shutil.rmtree(root, ignore_errors=True)
    (tmp_path / "file").touch()
    with ab.open(store, author="ann", engine="spark", spark=spark) as repo:
        root.symlink_to(tmp_path / "file")  # nobody, not even root, can write there
        assert repo.table("small").export(str(tmp_path / "out.csv")) == 2
        assert [row["v"] for row in repo.sql("SELECT v FROM small ORDER BY id").rows()] == ["a", "z"]
