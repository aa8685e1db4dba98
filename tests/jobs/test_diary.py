"""What the catalogue and the command line tell of jobs, and how one goes on; without a JVM."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import anabranch as ab
from anabranch.cli.main import run
from anabranch.jobs.dealt import files
from anabranch.jobs.lease import only_one

PROGRAM = """
import os, sys
import anabranch as ab
from anabranch.jobs.dealt import files

def sizes(shard):
    shard.log(f"I am {shard.number}")
    for file in shard.files("docs"):
        if file.path == "raw/2.txt" and not os.path.exists("mended"):
            raise ValueError("no such luck")
        yield {"path": file.path, "size": file.size}

if __name__ == "__main__":
    with ab.open(".", engine="duck") as repo:
        repo.job(sizes, inputs={"docs": files("raw/*")}, table="sizes", key="path", shards=3, local=True).run()
"""


@pytest.fixture
def shop(folder: Path) -> Iterator[ab.Repository]:
    with ab.init(".", engine="duck", author="ann") as repo:
        with repo.commit("main", "load") as tx:
            for n in range(3):
                tx.files.put(f"raw/{n}.txt", "x" * (n + 1))
        yield repo


def failed(shop: ab.Repository) -> str:
    """Run the program, whose job fails; gives the job's id."""
    Path("sizes.py").write_text(PROGRAM)
    done = subprocess.run([sys.executable, "sizes.py"], capture_output=True, text=True)
    assert "published nothing: shard" in done.stderr, done.stderr
    (job,) = shop.jobs()
    return str(job["id"])


def told(capsys: pytest.CaptureFixture[str], *line: str, expected: int = 0) -> str:
    capsys.readouterr()
    assert run(list(line)) == expected
    said = capsys.readouterr()
    return said.out + said.err


def test_a_job_that_failed_is_told_of_and_goes_on_from_the_command_line(
    shop: ab.Repository, capsys: pytest.CaptureFixture[str]
) -> None:
    head, id_ = shop.show().hash, failed(shop)
    listed = told(capsys, "job", "ls")
    assert id_[:10] in listed
    assert max(map(len, listed.splitlines())) <= 80
    assert "failed" in listed
    shown = told(capsys, "job", "show", "sizes")
    assert "ValueError: no such luck" in shown
    assert f"ana job resume {id_}" in shown
    logs = told(capsys, "job", "logs", id_[:6])
    assert "I am 0" in logs
    assert 'raise ValueError("no such luck")' in logs
    assert shop.show().hash == head
    finished = shop.jobs()[0]["finished_count"]
    Path("mended").touch()
    resumed = json.loads(told(capsys, "--json", "job", "resume", id_))
    assert (resumed["resumed"], resumed["shards"], resumed["rows"]) == (finished, 3 - finished, 3)
    assert {r["path"]: r["size"] for r in shop.table("sizes").rows()} == {f"raw/{n}.txt": n + 1 for n in range(3)}
    assert shop.sql("SELECT name, state, finished_count FROM ana.jobs").rows() == [
        {"name": "sizes", "state": "published", "finished_count": 3}
    ]
    assert "published already" in told(capsys, "job", "resume", id_)
    assert len(shop.log()) == 3
    told(capsys, "job", "rm", id_)
    assert shop.jobs() == []
    assert shop.table("sizes").count() == 3


def test_code_that_changed_is_not_mixed_with_what_the_other_made(
    shop: ab.Repository, capsys: pytest.CaptureFixture[str]
) -> None:
    id_ = failed(shop)
    Path("sizes.py").write_text(PROGRAM.replace('"size": file.size', '"size": 0'))
    assert "the code of job" in told(capsys, "job", "resume", id_, expected=2)
    Path("sizes.py").unlink()
    assert "which is gone" in told(capsys, "job", "resume", id_, expected=3)


def test_a_program_that_works_when_it_is_read_is_not_read(
    shop: ab.Repository, capsys: pytest.CaptureFixture[str]
) -> None:
    id_ = failed(shop)
    Path("sizes.py").write_text(PROGRAM.replace('if __name__ == "__main__":', "if True:"))
    assert "as soon as it is read" in told(capsys, "job", "resume", id_, "sizes.py:sizes", expected=2)


KILLED = """
import os, signal
import anabranch.jobs.job as job
publish = job.publish_output
def dying(*given, **more):
    {before}
    publish(*given, **more)
    os.kill(os.getpid(), signal.SIGKILL)
job.publish_output = dying
"""


@pytest.mark.long
@pytest.mark.parametrize("before", ["os.kill(os.getpid(), signal.SIGKILL)", "pass"])
def test_a_driver_that_is_killed_before_or_after_it_publishes_publishes_once(
    shop: ab.Repository, capsys: pytest.CaptureFixture[str], before: str
) -> None:
    Path("mended").touch()
    Path("sizes.py").write_text(PROGRAM)
    Path("killed.py").write_text(
        KILLED.format(before=before) + "import runpy\nrunpy.run_path('sizes.py', {}, '__main__')\n"
    )
    done = subprocess.run([sys.executable, "killed.py"], capture_output=True, text=True)
    assert done.returncode == -9, done.stderr
    (job,) = shop.jobs()
    assert (job["state"], job["finished_count"]) == ("interrupted", 3)
    assert len(shop.log()) == (2 if before != "pass" else 3)
    told(capsys, "job", "resume", "sizes")
    assert len(shop.log()) == 3
    assert shop.table("sizes").count() == 3
    assert shop.jobs()[0]["state"] == "published"


def test_a_job_that_is_running_is_neither_run_twice_nor_removed(shop: ab.Repository) -> None:
    def busy(shard: Any) -> list[dict[str, Any]]:
        return [{"n": shard.number}]

    seen: list[str] = []

    def looking(shard: Any) -> list[dict[str, Any]]:
        seen.append(shop.jobs()[0]["state"])
        with pytest.raises(ab.Unavailable, match="is running"):
            shop.remove_job("looking")
        with pytest.raises(ab.Unavailable, match=f"is run by .*:{os.getpid()} already"):
            job.run()
        return busy(shard)

    job = shop.job(looking, inputs={"docs": files("raw/*")}, table="t", shards=1, local=True, version="1")
    assert job.run().rows == 1
    assert seen == ["running"]


def test_who_died_on_this_machine_is_not_waited_for(shop: ab.Repository) -> None:
    script = "import os; import anabranch as ab; from anabranch.jobs.lease import only_one\n"
    script += "with ab.open('.', engine='duck') as repo, only_one(repo.workbook, 'job x'): os._exit(0)"
    subprocess.run([sys.executable, "-c", script], check=True)
    with only_one(shop.workbook, "job x"):
        pass


def test_other_options_and_names_are_told(shop: ab.Repository) -> None:
    with pytest.raises(ab.NotFound, match="there is no job 'nothing'"):
        shop.find_job("nothing")
    with pytest.raises(ab.InvalidRequest, match="no option shard="):
        shop.job(print, inputs={"docs": files("raw/*")}, shard=3)
    with pytest.raises(ab.InvalidRequest, match="no Arrow schema"):
        shop.job(print, inputs={"docs": files("raw/*")}, schema="a int")
