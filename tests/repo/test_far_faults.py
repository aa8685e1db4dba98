"""What becomes of a store on S3 when the server, the disk or the process fails."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import anabranch as ab
from anabranch.model.object_urls import read_object_url
from anabranch.objects.locations import open_blobs
from tests.s3 import ENVIRONMENT
from tests.tiny_s3 import TinyS3

ALL_FAR = ab.Settings(objects=ab.ObjectSettings(inline_limit_bytes=0))
SOURCE = str(Path(ab.__file__).parents[1])


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TinyS3]:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with TinyS3() as server:
        yield server


@pytest.fixture
def repo(tmp_path: Path, tiny: TinyS3) -> Iterator[ab.Repository]:
    with ab.init(tmp_path / "s", objects=tiny.root(), engine="duck", settings=ALL_FAR) as made:
        with made.commit("main", "load") as tx:
            tx.create_table("t", pa.table({"id": range(100), "v": range(100)}), key="id")
        yield made


def insert(repo: ab.Repository, key: int) -> None:
    with repo.commit("main", "more") as tx:
        tx.table("t").insert([{"id": key, "v": key}])


INSERT = """
import sys
import anabranch as ab
with ab.open(sys.argv[1], engine="duck", settings=ab.Settings(objects=ab.ObjectSettings(inline_limit_bytes=0))) as repo:
    with repo.commit("main", "more") as tx:
        tx.table("t").insert([{"id": 1000, "v": 1}])
"""


def in_a_process(code: str, *given: str) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONPATH": SOURCE}
    return subprocess.Popen([sys.executable, "-c", code, *given], env=environment, stderr=subprocess.PIPE)


@pytest.mark.parametrize("step", [pytest.param(1, marks=pytest.mark.more), pytest.param(2, marks=pytest.mark.more), 3])
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_writer_that_is_killed_at_any_request_leaves_the_state_before_and_garbage_at_most(
    repo: ab.Repository, tiny: TinyS3, tmp_path: Path, step: int, when: str
) -> None:
    kept, seen = tiny.objects(), 0
    child = in_a_process(INSERT, str(tmp_path / "s"))

    def kill(method: str, _name: str) -> int | None:
        nonlocal seen
        seen += 1
        if seen == step:
            child.send_signal(signal.SIGKILL)
            child.wait()
        return None

    setattr(tiny, when, kill)
    assert child.wait() == -signal.SIGKILL
    setattr(tiny, when, lambda *_: None)
    assert child.stderr is not None
    child.stderr.close()
    assert repo.table("t").count() == 100
    repo.gc(grace=0)
    assert tiny.objects() == kept
    insert(repo, 5000)
    assert not repo.verify().damages


def test_a_bucket_that_may_only_be_read_is_read_and_says_so_when_it_is_written(
    repo: ab.Repository, tiny: TinyS3
) -> None:
    tiny.before = lambda method, name: 403 if method in ("PUT", "POST", "DELETE") else None
    with pytest.raises(ab.Unavailable, match="can't be written: access denied"):
        insert(repo, 200)
    assert repo.table("t").count() == 100
    tiny.before = lambda method, name: None
    insert(repo, 200)
    assert repo.table("t").count() == 101


def test_a_server_that_fails_for_a_moment_is_asked_again(repo: ab.Repository, tiny: TinyS3) -> None:
    failures = iter([500, 503])
    tiny.before = lambda method, name: next(failures, None)
    insert(repo, 200)
    assert not repo.verify().damages


def test_a_server_that_says_nothing_is_told_soon_and_a_slow_upload_goes_on(
    tiny: TinyS3, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("anabranch.objects.bucket.BUCKET_SILENCE_SECONDS", 0.5)
    blobs = open_blobs(read_object_url(tiny.root()))
    tiny.before = lambda method, name: time.sleep(2)
    blobs.put("slow", b"content")
    began = time.monotonic()
    with pytest.raises(ab.Unavailable, match="can't be read: no server answers"):
        list(blobs.read("slow"))
    assert time.monotonic() - began < 10
    tiny.before = lambda method, name: None
    assert b"".join(blobs.read("slow")) == b"content"


def test_who_may_not_read_is_told_to_look_at_the_keys(tiny: TinyS3) -> None:
    tiny.before = lambda method, name: 403
    with pytest.raises(ab.Unavailable, match="access denied") as denied:
        list(open_blobs(read_object_url(tiny.root())).read("any"))
    assert "AWS_ACCESS_KEY_ID" in str(denied.value.hint)


def test_nothing_rests_on_conditions_that_a_server_ignores(tmp_path: Path, tiny: TinyS3) -> None:
    with (
        ab.init(tmp_path / "a", objects=tiny.root(), engine="duck", settings=ALL_FAR) as first,
        pytest.raises(ab.Unavailable, match="belongs to store"),
    ):
        ab.init(tmp_path / "b", objects=tiny.root())
    with ab.open(tmp_path / "a", engine="duck", settings=ALL_FAR) as one, first:
        with one.commit("main", "load") as tx:
            tx.create_table("t", [{"id": 1}], key="id")
        put = [one._ctx.root.put(b"same").path for _ in range(20)]
        assert len(set(put)) == 20


def test_two_stores_that_claim_a_root_at_the_same_moment_both_know_of_each_other(tmp_path: Path, tiny: TinyS3) -> None:
    from anabranch.objects.locations import open_root

    ours, theirs = (open_root(tiny.root(), f"z{letter * 16}") for letter in "ab")
    ours.claim()
    tiny.blobs.pop("p/anabranch-root.json")  # as if the other had looked before we put it
    theirs.claim()
    assert ours.other_stores() == [f"z{'b' * 16}"]
    sealed = theirs.put(b"theirs")
    with pytest.raises(ab.Unavailable, match="belongs to store"):
        ours.collect([sealed.path])


def test_what_comes_cut_short_is_fetched_once_more(repo: ab.Repository, tiny: TinyS3, tmp_path: Path) -> None:
    [name] = tiny.objects()
    content = tiny.blobs[name]
    repo.objects().evict()
    tiny.blobs[name] = content[:50]

    def mend(method: str, asked: str) -> None:
        if method == "GET" and asked == name:
            tiny.blobs[name] = content

    tiny.after = mend
    with ab.open(tmp_path / "s", engine="duck") as again:
        assert again.table("t").count() == 100
        assert len(again.table("t").rows()) == 100


def test_two_processes_fetch_one_object_and_both_read_it(repo: ab.Repository, tiny: TinyS3, tmp_path: Path) -> None:
    repo.objects().evict()
    children = [in_a_process(READ, str(tmp_path / "s")) for _ in range(2)]
    for child in children:
        _, said = child.communicate()
        assert child.returncode == 0, said
    assert [p.name for p in (tmp_path / "cache").rglob("*.tmp")] == []


READ = """
import sys
import anabranch as ab
with ab.open(sys.argv[1], engine="duck") as repo:
    assert len(repo.table("t").rows()) == 100
"""


FULL = """
import resource, sys
import anabranch as ab
with ab.open(sys.argv[1], engine="duck") as repo:
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
    try:
        repo.table("t").rows()
    except ab.Unavailable as error:
        sys.exit(f"told: {error}")
"""


def test_a_cache_that_can_not_grow_is_told_and_leaves_nothing(repo: ab.Repository, tmp_path: Path) -> None:
    repo.objects().evict()
    child = in_a_process(f"import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n{FULL}", str(tmp_path / "s"))
    _, said = child.communicate()
    assert b"told: the cache in" in said
    assert b"XDG_CACHE_HOME" in said
    assert list((tmp_path / "cache").rglob("o*.parquet*")) == []
    assert len(repo.table("t").rows()) == 100


def test_a_small_commit_uploads_nothing_and_a_load_uploads_each_byte_once(tmp_path: Path, tiny: TinyS3) -> None:
    with ab.init(tmp_path / "s", objects=tiny.root(), engine="duck") as repo:
        before = tiny.requests.copy()
        with repo.commit("main", "small") as tx:
            tx.create_table("t", pa.table({"id": range(100)}), key="id")
        assert tiny.requests == before
        sent = tiny.sent_bytes
        with repo.commit("main", "load") as tx:
            tx.create_table("u", pa.table({"id": range(300_000)}), key="id")
        assert tiny.sent_bytes - sent == sum(len(tiny.blobs[name]) for name in tiny.objects())
        read = tiny.requests["GET"]
        assert repo.table("u").count() == len(repo.table("u").arrow()) == 300_000
        assert tiny.requests["GET"] == read, "who wrote it has it"
