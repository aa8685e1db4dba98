"""What is sent to executors runs where our package is not: in another Python, with a workplace in a folder or on S3."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark import cloudpickle

from anabranch.engines.spark_shards import send_by_value
from anabranch.jobs import runner
from anabranch.jobs.dealt_rows import DealtTo, deal_here
from anabranch.objects import workplaces
from anabranch.objects.locations import open_root

THERE = """
import sys
sys.modules["anabranch"] = None
import json, pickle
import pyarrow as pa
run = pickle.load(sys.stdin.buffer)
batches = run([pa.RecordBatch.from_pydict({"place": [n]}) for n in (0, 1)])
print(json.dumps([json.loads(b.column("manifest")[0].as_py()) for b in batches]))
"""


@pytest.mark.parametrize("kind", ["folder", "s3_server"])
def test_shards_run_where_our_package_is_not(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    def lines(shard: Any) -> list[dict[str, Any]]:
        shard.put(f"made/{shard.number}", "x")
        return [{"line": line, "v": r["v"]} for f in shard.files("docs") for line in f.lines() for r in shard.rows("t")]

    far = request.getfixturevalue("s3").new_root() if kind == "s3_server" else str(tmp_path / "objects")
    root = open_root(far, "store")
    pack = root.put(b"..one\ntwo..", ".pack")
    place = root.workplace("job")
    place.make()
    part = {"file": root.uri(pack.path), "start": 2, "size": 7}
    docs = {"docs": [[], [], [{"path": "a", "size": 7, "parts": [part]}]]}
    deal_here(pa.table({"id": [1, 2, 3], "v": [5, 6, 7]}), ["id"], DealtTo(place, "inputs/t", 3, by_range=True))
    task = runner.ShardTask(place, lines, 3, {}, docs, tables=("t",))
    send_by_value([runner, workplaces])
    sent = cloudpickle.dumps(partial(runner.run_shards, task, (0, 2)))  # type: ignore[no-untyped-call]
    for _ in range(2):  # the second time finds what the first one finished
        done = subprocess.run([sys.executable, "-c", THERE], input=sent, capture_output=True)
        assert done.returncode == 0, done.stderr.decode()
        told = json.loads(done.stdout)
        assert [d["rows"] for d in told] == [0, 2]
        assert len(place.names("attempts")) == 2
    assert sorted(place.winners()) == [0, 2]
    with place.open(f"{told[1]['folder']}/rows.arrow") as source:
        found = pa.ipc.open_file(source).read_all().to_pylist()
    assert found == [{"line": "one", "v": 7}, {"line": "two", "v": 7}]
    assert place.read([f"{told[0]['folder']}/file-000000"]) == [b"x"]
