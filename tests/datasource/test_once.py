"""A write that is known again is published once, without a JVM."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import anabranch as ab
from anabranch.model.facts import SPARK_WRITE
from pyspark_anabranch.writing import WriteIdentity, publish_once


def test_of_writers_that_do_the_same_write_at_once_one_is_published(tmp_path: Path) -> None:
    same = WriteIdentity(SPARK_WRITE, {"id": "load-1"})

    def write(number: int) -> ab.Commit | None:
        with ab.open(tmp_path / "shop", engine="duck") as repo:
            return publish_once(repo, "main", "m", same, lambda tx: tx.table("t").insert([{"id": number}]))

    with ab.init(tmp_path / "shop", engine="duck") as repo:
        with repo.commit("main", "load") as tx:
            tx.create_table("t", [{"id": 0}], key="id")
        with ThreadPoolExecutor(4) as pool:
            made = [commit for commit in pool.map(write, range(1, 5)) if commit is not None]
        assert [commit.hash for commit in made] == [repo.show().hash]
        assert repo.table("t").count() == 2
        repo.reset("main", "main~1")
        assert write(9) is not None, "a reset takes the write away, so it is done again"
