"""What is dealt to shards, and what each of them gets whole; without a JVM."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import anabranch as ab
from anabranch.pipelines import files, whole

PAGE = Path(__file__).parents[2] / "docs" / "jobs.md"


@pytest.fixture
def repo(tmp_path: Path) -> Iterator[ab.Repository]:
    with ab.init(tmp_path / "lake", engine="duck", author="ann") as made:
        with made.commit("main", "load") as tx:
            for n in range(4):
                tx.files.put(f"raw/{n}.txt", "the tea\n")
            tx.create_table("stopwords", [{"word": "the"}, {"word": "a"}], key="word")
        made.tag("v1")
        yield made


def words(shard: Any) -> Iterator[dict[str, Any]]:
    stop = {row["word"] for row in shard.rows("stop")}
    for n, file in enumerate(shard.files("docs")):
        yield from ({"shard": shard.number, "n": n, "word": w} for w in file.text().split() if w not in stop)


def options(shards: int, **more: Any) -> dict[str, Any]:
    return {"table": "words", "key": ["shard", "n"], "shards": shards, "local": True, **more}


@pytest.mark.parametrize("shards", [1, 4, 7])
def test_each_shard_gets_all_of_an_input_that_is_whole(repo: ab.Repository, shards: int) -> None:
    inputs = {"docs": files("raw/**"), "stop": whole("stopwords@v1")}
    assert repo.job(words, inputs=inputs, **options(shards)).run().rows == 4
    assert {row["word"] for row in repo.table("words").rows()} == {"tea"}


def test_files_may_be_whole_and_tables_dealt(repo: ab.Repository) -> None:
    def seen(shard: Any) -> Iterator[dict[str, Any]]:
        paths = len(shard.files("docs"))
        yield from ({"word": row["word"], "paths": paths} for row in shard.rows("stop"))

    inputs = {"docs": whole(files("raw/**")), "stop": "stopwords"}
    repo.job(seen, inputs=inputs, table="seen", key="word", shards=3, local=True).run()
    found = sorted(repo.table("seen").rows(), key=lambda row: row["word"])
    assert found == [{"word": "a", "paths": 4}, {"word": "the", "paths": 4}]


def test_an_incremental_job_reads_everything_if_a_whole_input_changed(repo: ab.Repository) -> None:
    def paths(shard: Any) -> Iterator[dict[str, Any]]:
        stop = sum(1 for _ in shard.rows("stop"))
        yield from ({"path": file.path, "stop": stop} for file in shard.files("docs"))

    inputs = {"docs": files("raw/**"), "stop": whole("stopwords")}
    job = repo.job(paths, inputs=inputs, table="seen", key="path", shards=2, incremental=True, local=True)
    assert job.run().rows == 4
    with repo.commit("main", "more") as tx:
        tx.files.put("raw/9.txt", "new")
    assert job.run().rows == 1
    with repo.commit("main", "stop") as tx:
        tx.table("stopwords").insert([{"word": "an"}])
    assert job.run().rows == 5
    assert {row["stop"] for row in repo.table("seen").rows()} == {3}


@pytest.mark.parametrize("by", [None, "folder", ("hash", "word"), ("range", "word")])
def test_each_deletion_is_told_to_one_shard(repo: ab.Repository, by: Any) -> None:
    def gone(shard: Any) -> Iterator[dict[str, Any]]:
        yield from ({"what": path, "shard": shard.number} for path in shard.deleted("docs"))
        yield from ({"what": row["word"], "shard": shard.number} for row in shard.deleted("stop"))

    more: dict[str, Any] = {"shards": 3, "shard_by": by, "incremental": True, "local": True, "version": "1"}
    job = repo.job(gone, inputs={"docs": files("raw/**"), "stop": "stopwords"}, table="gone", **more)
    job.run()
    with repo.commit("main", "less") as tx:
        tx.files.delete("raw/1.txt")
        tx.files.delete("raw/2.txt")
        tx.table("stopwords").delete("word = 'a'")
    job.run()
    assert sorted(row["what"] for row in repo.table("gone").rows()) == ["a", "raw/1.txt", "raw/2.txt"]


def test_a_job_with_whole_inputs_is_resumed_with_them(repo: ab.Repository, tmp_path: Path) -> None:
    (tmp_path / "counted.py").write_text(
        "import os\n"
        "def counted(shard):\n"
        "    if not os.path.exists(os.path.dirname(__file__) + '/mended'):\n"
        "        raise ValueError('no')\n"
        "    yield {'shard': shard.number, 'rows': sum(1 for _ in shard.rows('stop'))}\n"
    )
    from anabranch.jobs.function_file import load_function

    function = load_function({"file": str(tmp_path / "counted.py"), "name": "counted"}, "one")
    with pytest.raises(ab.RunFailed, match="ValueError: no"):
        repo.job(function, inputs={"stop": whole("stopwords")}, table="t", shards=2, local=True).run()
    (tmp_path / "mended").touch()
    repo.resume_job("counted")
    assert [row["rows"] for row in repo.table("t").rows()] == [2, 2]


def test_the_example_of_the_page_gives_the_same_with_any_number_of_shards(
    repo: ab.Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (block,) = re.findall(r"```python\n(from anabranch.*?)```", PAGE.read_text(), re.DOTALL)
    for shards in (1, 8):
        program = block.replace("shards=8", f"shards={shards}, local=True")
        (tmp_path / f"page{shards}.py").write_text(program)
        exec(compile(program, tmp_path / f"page{shards}.py", "exec"), {"repo": repo, "__name__": "page"})
        assert [row["word"] for row in repo.table("words").rows()] == ["tea"] * 4
