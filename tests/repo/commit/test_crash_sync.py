"""A COMMIT that fails: what became of it is found out, and no file that a recovery may need is removed."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, event

import anabranch as ab
from anabranch.catalog.objects import NamedFiles
from tests.catalog.stores import ids, make_table, put

FILES_ONLY = ab.Settings(objects=ab.ObjectSettings(inline_limit_bytes=0))
MANIFESTS = ab.Settings(objects=ab.ObjectSettings(inline_limit_bytes=0, manifest_object_limit=0))
HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def failing_sync(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library that makes syncs of SQLite's log fail; only Linux tells a file's name by its number."""
    compiler = shutil.which("cc")
    if compiler is None or not sys.platform.startswith("linux"):
        pytest.skip("no C compiler, or not on Linux; errors that the driver raises are tried instead")
    library = tmp_path_factory.mktemp("library") / "failing_sync.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, HERE / "failing_sync.c", "-ldl"], check=True)
    return library


def commit_row(repo: ab.Repository) -> None:
    put(repo, "t", 2)


def merge_row(repo: ab.Repository) -> None:
    repo.merge("dev", into="main")


VERBS: dict[str, Callable[[ab.Repository], None]] = {"commit": commit_row, "merge": merge_row}


def fail_and_crash(place: str, flag: str, verb: str) -> None:
    """Run a verb while syncs fail, tell what was told of it, and die without a farewell."""
    with ab.open(place, engine="duck", settings=FILES_ONLY) as repo:
        repo.table("t").rows()
        Path(flag).touch()
        try:
            VERBS[verb](repo)
            print("published", flush=True)
        except ab.AnabranchError as error:
            print(type(error).__name__, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("fails", ["always", "once"])
def test_a_sync_that_fails_at_commit_loses_no_file_that_is_found_after_a_crash(
    tmp_path: Path, failing_sync: Path, fails: str, verb: str
) -> None:
    place, flag = tmp_path / "store", tmp_path / "flag"
    with ab.init(place, engine="duck", settings=FILES_ONLY) as repo:
        make_table(repo, "t")
        repo.branch("dev")
        put(repo, "t", 3)
        put(repo, "t", 2, branch="dev")
        before = len(repo.log())
    told = _crash(failing_sync, fails, str(place), str(flag), verb)
    with ab.open(place, engine="duck") as repo:
        is_there = len(repo.log()) > before
        assert ids(repo, "t") == ([1, 2, 3] if is_there else [1, 3])
        repo.verify().raise_damages()
        assert told == ("OutcomeUnknown" if fails == "always" else "Unavailable")
        assert not is_there or told == "OutcomeUnknown", "what was told as not published never comes back"
        put(repo, "t", 4)
        assert ids(repo, "t")[-1] == 4


def _crash(library: Path, fails: str, *args: str) -> str:
    code = f"from tests.repo.commit.test_crash_sync import fail_and_crash; fail_and_crash(*{args!r})"
    failing = {"LD_PRELOAD": str(library), "FAILING_SYNC": args[1]} | ({"FAILING_ONCE": "1"} if fails == "once" else {})
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **failing}, capture_output=True, text=True, cwd=HERE.parents[2]
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("settings", [FILES_ONLY, MANIFESTS], ids=["files", "manifests"])
@pytest.mark.parametrize("happened", [True, False], ids=["committed", "not committed"])
def test_any_error_of_commit_is_found_out_in_another_transaction(
    tmp_path: Path, happened: bool, settings: ab.Settings
) -> None:
    with ab.init(tmp_path / "store", engine="duck", settings=settings) as repo:
        make_table(repo, "t")
        _fail_next_commit(repo, happened)
        if happened:
            assert put(repo, "t", 2) == repo.show()
        else:
            with pytest.raises(ab.Unavailable, match="nothing was published"):
                put(repo, "t", 2)
        assert ids(repo, "t") == ([1, 2] if happened else [1])
        assert_nothing_is_left_over(repo, tmp_path / "store")


def assert_nothing_is_left_over(repo: ab.Repository, place: Path) -> None:
    repo.verify().raise_damages()
    with repo._ctx.catalog.read() as cx:
        named = set(NamedFiles(repo._ctx.read_manifest).paths(cx))
    root = place / ".anabranch" / "objects"
    assert {str(p.relative_to(root)) for p in root.rglob("*.parquet")} == named


@pytest.mark.parametrize("settings", [FILES_ONLY, MANIFESTS], ids=["files", "manifests"])
@pytest.mark.parametrize("happened", [True, False], ids=["committed", "not committed"])
def test_an_error_of_commit_is_found_out_where_a_merge_was_done_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, happened: bool, settings: ab.Settings
) -> None:
    from anabranch.repo.merge import merge as verb

    original = verb.publish_merge
    with ab.init(tmp_path / "store", engine="duck", settings=settings) as repo:
        make_table(repo, "t")
        repo.branch("dev")
        put(repo, "t", 2, branch="dev")

        def beside(*args: Any) -> ab.Commit:
            if repo._ctx.catalog.is_alone:
                _fail_next_commit(repo, happened)
            else:
                put(repo, "t", 3, v=len(repo.log()))
            return original(*args)

        put(repo, "t", 3)
        monkeypatch.setattr(verb, "publish_merge", beside)
        if happened:
            assert repo.merge("dev", into="main").commit == repo.show()
        else:
            with pytest.raises(ab.Unavailable, match="nothing was published"):
                repo.merge("dev", into="main")
        assert ids(repo, "t") == ([1, 2, 3] if happened else [1, 3])
        assert_nothing_is_left_over(repo, tmp_path / "store")


def test_a_view_whose_commit_failed_keeps_its_files(tmp_path: Path) -> None:
    with ab.init(tmp_path / "store", engine="duck", settings=FILES_ONLY) as repo:
        make_table(repo, "t", [{"id": n, "v": n} for n in range(100)])
        put(repo, "t", 3, v=33)
        _fail_next_commit(repo, happened=True)
        with pytest.raises(ab.OutcomeUnknown):
            repo.optimize("t")
        assert repo.table("t").get(3) == {"id": 3, "v": 33}
        repo.verify().raise_damages()


def _fail_next_commit(repo: ab.Repository, happened: bool) -> None:
    """Let the driver's next COMMIT of a writing transaction fail, after it happened or before."""
    engine = repo._ctx.catalog._engines.whole
    original, writes = engine.dialect.do_commit, []

    def look(cx: Connection) -> None:
        writes[:] = [cx.get_execution_options().get("anabranch_write")]

    def do_commit(connection: Any) -> None:
        if not any(writes):
            original(connection)
            return
        engine.dialect.do_commit = original  # type: ignore[method-assign]
        (original if happened else engine.dialect.do_rollback)(connection)
        error = sqlite3.OperationalError("disk I/O error")
        error.sqlite_errorcode = sqlite3.SQLITE_IOERR_FSYNC
        raise error

    event.listen(engine, "commit", look)
    engine.dialect.do_commit = do_commit  # type: ignore[method-assign]
