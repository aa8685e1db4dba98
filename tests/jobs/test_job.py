"""A job runs on executors, is published once or not at all, and is not run again for what it has read."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import anabranch as ab
from anabranch.jobs.dealt import files
from anabranch.jobs.function_file import load_function
from tests.work_left import work_left

ROWS = [{"id": n, "word": f"w{n % 7}"} for n in range(60)]


@pytest.fixture
def repo(tmp_path: Path, spark: Any) -> Iterator[ab.Repository]:
    with ab.init(tmp_path / "shop", spark=spark, author="ann") as made:
        with made.commit("main", "load") as tx:
            tx.create_table("words", ROWS, key="id")
            for n in range(6):
                tx.files.put(f"raw/{n}.txt", f"line {n}\n" * (n + 1))
        yield made


def doubled(shard: Any) -> Iterator[dict[str, Any]]:
    for row in shard.rows("words"):
        yield {"id": row["id"], "twice": row["word"] * 2}


def lines(shard: Any) -> Iterator[dict[str, Any]]:
    for file in shard.files("docs"):
        shard.append("all.txt", file.read())
        yield from ({"path": file.path, "n": n, "line": line} for n, line in enumerate(file.lines()))


def rows(repo: ab.Repository, table: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = repo.table(table).rows()
    return sorted(found, key=str)


@pytest.mark.connect
def test_a_job_over_a_table_is_one_commit_with_provenance_and_is_reused(repo: ab.Repository) -> None:
    head = repo.show("main").hash
    job = repo.job(doubled, inputs={"words": "words"}, output="main", table="twice", key="id", shards=3)
    done = job.run()
    assert rows(repo, "twice") == sorted(({"id": r["id"], "twice": r["word"] * 2} for r in ROWS), key=str)
    assert done.commit is not None
    assert (done.commit.parents, done.shards, done.rows) == ((head,), 3, 60)
    assert [(p.role, p.hash) for p in repo.provenance(done.commit.hash)] == [("words", head)]
    again = job.run()
    assert (again.reused, again.commit) == (True, done.commit)
    assert repo.verify().damages == ()
    assert work_left(repo) == []


@pytest.mark.connect
def test_files_are_dealt_to_shards_and_appended_in_their_order(repo: ab.Repository) -> None:
    done = repo.job(lines, inputs={"docs": files("raw/*.txt")}, table="lines", key=["path", "n"], shards=4).run()
    assert len(rows(repo, "lines")) == 21
    whole = repo.files("main").read("all.txt")
    assert sorted(whole.decode().splitlines()) == sorted(f"line {n}" for n in range(6) for _ in range(n + 1))
    for shards in (1, 2):
        repo.job(lines, inputs={"docs": files("raw/*.txt")}, table="lines", key=["path", "n"], shards=shards).run()
        assert len(rows(repo, "lines")) == 21
        assert len(repo.files("main").read("all.txt")) == len(whole), "a run that reads all makes the file anew"
    assert done.files >= 4


def test_an_incremental_job_reads_what_changed_and_is_told_what_went(repo: ab.Repository) -> None:
    def seen(shard: Any) -> Iterator[dict[str, Any]]:
        yield from ({"path": path, "n": -1, "line": "gone"} for path in shard.deleted("docs"))
        yield from ({"path": f.path, "n": f.size, "line": f.text()} for f in shard.files("docs"))

    options: dict[str, Any] = {"table": "seen", "key": "path", "shards": 2, "incremental": True, "version": "1"}
    job = repo.job(seen, inputs={"docs": files("raw/*.txt")}, **options)
    job.run()
    with repo.commit("main", "more") as tx:
        tx.files.put("raw/2.txt", "new")
        tx.files.delete("raw/5.txt")
    done = job.run()
    assert done.rows == 2
    found = {r["path"]: r["line"] for r in rows(repo, "seen")}
    assert (found["raw/2.txt"], found["raw/5.txt"], found["raw/0.txt"]) == ("new", "gone", "line 0\n")


def test_a_shard_that_fails_publishes_nothing_and_the_others_are_kept(repo: ab.Repository, tmp_path: Path) -> None:
    mended = tmp_path / "mended"

    def fragile(shard: Any) -> Iterator[dict[str, Any]]:
        if shard.number == 1 and not os.path.exists(str(mended)):
            raise ValueError("no such luck")
        yield {"n": shard.number}

    job = repo.job(fragile, inputs={"docs": files("raw/*")}, table="out", key="n", shards=3, version="1")
    head = repo.show("main").hash
    with pytest.raises(ab.RunFailed, match=r"shard 1 \(it read raw/.*failed: ValueError: no such luck") as caught:
        job.run()
    assert "fragile" in caught.value.trace
    assert repo.show("main").hash == head
    mended.touch()
    done = job.run()
    assert done.resumed >= 1
    assert rows(repo, "out") == [{"n": 0}, {"n": 1}, {"n": 2}]


PROGRAM = """
import os
from beside_it import twice
HERE = os.path.dirname(__file__)

def sizes(shard):
    if shard.number == 1 and not os.path.exists(f"{HERE}/mended"):
        raise KeyError("second") if os.path.exists(f"{HERE}/tried") else ValueError("first")
    yield {"n": shard.number, "size": twice(shard.number)}
"""


def test_a_job_is_resumed_by_the_function_of_its_file_and_tells_what_failed_last(
    repo: ab.Repository, tmp_path: Path
) -> None:
    (tmp_path / "sizes.py").write_text(PROGRAM)
    (tmp_path / "beside_it.py").write_text("def twice(n):\n    return 2 * n\n")
    function = load_function({"file": str(tmp_path / "sizes.py"), "name": "sizes"}, "one")
    with pytest.raises(ab.RunFailed, match="ValueError: first"):
        repo.job(function, inputs={"docs": files("raw/*")}, table="sizes", key="n", shards=3).run()
    shown = repo.find_job("sizes")
    assert shown["finished_count"] == sum(s["state"] == "finished" for s in shown["shards"])
    (tmp_path / "tried").touch()
    with pytest.raises(ab.RunFailed, match="KeyError: 'second'"):
        repo.resume_job("sizes")
    (tmp_path / "mended").touch()
    assert repo.resume_job("sizes").shards >= 1
    assert rows(repo, "sizes") == [{"n": n, "size": 2 * n} for n in range(3)]


@pytest.mark.connect
def test_what_a_worker_can_not_load_is_told(
    repo: ab.Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "only_here.py").write_text("def fail(shard):\n    raise ValueError('old')\n")
    monkeypatch.syspath_prepend(tmp_path)
    function = __import__("only_here").fail
    job = repo.job(function, inputs={"docs": files("raw/*")}, table="t", shards=2)
    with pytest.raises(ab.RunFailed, match="it failed on Spark: ModuleNotFoundError: No module named 'only_here'"):
        job.run()


def test_a_worker_killed_after_it_wrote_is_tried_again_and_counts_once(repo: ab.Repository, tmp_path: Path) -> None:
    killed = tmp_path / "killed"

    def dying(shard: Any) -> Iterator[dict[str, Any]]:
        yield {"n": shard.number}
        if shard.number == 0 and not os.path.exists(str(killed)):
            open(str(killed), "w").close()
            os.kill(os.getpid(), signal.SIGKILL)

    try:
        repo.job(dying, inputs={"docs": files("raw/*")}, table="out", key="n", shards=2, version="1").run()
    except ab.RunFailed:  # a local master gives a task one try; what the others finished is kept
        repo.job(dying, inputs={"docs": files("raw/*")}, table="out", key="n", shards=2, version="1").run()
    assert rows(repo, "out") == [{"n": 0}, {"n": 1}]


def test_two_shards_that_make_one_file_are_named(repo: ab.Repository) -> None:
    def same(shard: Any) -> None:
        shard.put("one.txt", b"x")

    with pytest.raises(ab.RunFailed, match=r"shards 0 and 1 both made 'one.txt'"):
        repo.job(same, inputs={"docs": files("raw/*")}, shards=2).run()
    assert "one.txt" not in repo.files("main")


def test_shards_are_kept_as_branches_where_that_is_asked_for(repo: ab.Repository) -> None:
    repo.job(doubled, inputs={"words": "words"}, table="twice", key="id", shards=2, keep_shards=True).run()
    names = [b.name for b in repo.branches() if b.name.startswith("job/")]
    assert names == ["job/doubled/shard-00000", "job/doubled/shard-00001"]
    assert sum(repo.table("twice", at=n).count() for n in names) == 60
