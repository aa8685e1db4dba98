"""An attempt at a shard wins or gives its output up; what it made is all of one attempt."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from anabranch.jobs.runner import JobShard, ShardTask, run_shard
from anabranch.objects.workplaces import FolderPlace


def task(folder: Path, function: Any, **more: Any) -> ShardTask:
    return ShardTask(FolderPlace(str(folder)), function, 2, {"factor": 3}, **more)


def words(shard: JobShard) -> Iterator[dict[str, Any]]:
    for file in shard.files("docs"):
        shard.append("all.txt", file.read())
        yield from ({"word": w, "n": shard.params["factor"]} for line in file.lines() for w in line.split())


FILES = {"docs": [[{"path": "a", "size": 9, "parts": [{"content": b"tea mug\nt"}, {"content": b"in\r\npot"}]}], []]}


def test_a_shard_gives_rows_and_files(tmp_path: Path) -> None:
    told = run_shard(task(tmp_path, words, files=FILES), 0)
    folder = tmp_path / told["folder"]
    assert pa.ipc.open_file(folder / "rows.arrow").read_all().to_pylist() == [
        {"word": w, "n": 3} for w in ("tea", "mug", "tin", "pot")
    ]
    assert told["files"] == [{"verb": "append", "path": "all.txt", "file": "file-000000", "size": 16}]
    assert (folder / "file-000000").read_bytes() == b"tea mug\ntin\r\npot"
    assert json.loads((tmp_path / "shard-00000.json").read_text()) == told


def test_the_first_attempt_wins_and_a_later_one_is_not_even_begun(tmp_path: Path) -> None:
    calls = []

    def changing(shard: JobShard) -> Iterator[dict[str, Any]]:
        calls.append(1)
        yield {"n": len(calls)}

    first, second = (run_shard(task(tmp_path, changing), 1) for _ in range(2))
    assert first == second
    assert calls == [1]
    assert len(list((tmp_path / "attempts").iterdir())) == 1


def test_an_attempt_that_loses_the_race_gives_its_output_up(tmp_path: Path) -> None:
    def slow(shard: JobShard) -> Iterator[dict[str, Any]]:
        run_shard(task(tmp_path, lambda _: [{"n": 1}]), 0)  # another attempt ends while this one works
        yield {"n": 2}

    told = run_shard(task(tmp_path, slow), 0)
    (folder,) = (tmp_path / "attempts").iterdir()
    assert told["folder"] == f"attempts/{folder.name}"
    assert pa.ipc.open_file(folder / "rows.arrow").read_all().to_pylist() == [{"n": 1}]


def test_a_failed_shard_leaves_its_traceback_and_no_output(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        run_shard(task(tmp_path, lambda _: 1 / 0), 0)
    (failed,) = (tmp_path / "failed").glob("00000-*.json")
    assert "ZeroDivisionError" in json.loads(failed.read_text())["trace"]
    assert not (tmp_path / "attempts").exists()
    assert not (tmp_path / "shard-00000.json").exists()
