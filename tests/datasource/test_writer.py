"""What tasks and driver do for a write, without a JVM: files of attempts in a folder or on S3, and one commit."""

from __future__ import annotations

import pickle
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql.types import LongType, StructType

import anabranch as ab
from pyspark_anabranch.options import SourceOptions
from pyspark_anabranch.writing import CommitWriter
from tests.work_left import work_left

SCHEMA = StructType().add("id", LongType())


@pytest.mark.parametrize("kind", ["folder", "s3_server"])
def test_the_files_that_tasks_tell_of_are_one_commit(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    far = request.getfixturevalue("s3").new_root() if kind == "s3_server" else None
    store = str(tmp_path / "shop")
    with ab.init(store, objects=far, engine="duck", author="ann") as repo:
        asked = {"store": store, "path": "t", "key": "id", "write_id": "load-1"}
        writer = CommitWriter(SourceOptions.of(asked), SCHEMA, overwrite=False)
        there: CommitWriter = pickle.loads(pickle.dumps(writer))  # as tasks get it
        tasks = [[0, 1], [2], [], [2]]  # the last one is an attempt that nobody tells of
        told = [there.write(iter([pa.RecordBatch.from_pydict({"id": ids})] if ids else [])) for ids in tasks]
        writer.commit(list(told[:3]))
        assert sorted(r["id"] for r in repo.table("t").rows()) == [0, 1, 2]
        assert work_left(repo) == []
        commits = len(repo.log())
        again = CommitWriter(SourceOptions.of(asked), SCHEMA, overwrite=False)
        again.commit([again.write(iter([pa.RecordBatch.from_pydict({"id": [7]})]))])
        assert len(repo.log()) == commits
