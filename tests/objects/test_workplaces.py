"""What a workplace of a job promises, in a folder and in a bucket: of all attempts at a shard, one counts."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest

from anabranch.errors import InvalidRequest
from anabranch.objects.locations import open_root
from anabranch.objects.workplaces import Workplace

KINDS = pytest.mark.parametrize("kind", ["folder", "s3_server"])


@pytest.fixture
def place(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> Workplace:
    far = request.getfixturevalue("s3").new_root() if kind == "s3_server" else str(tmp_path / "objects")
    made = open_root(far, "store").workplace("job")
    assert made.why_unseen() == "it is not there"
    made.make()
    found: Workplace = pickle.loads(pickle.dumps(made))  # as executors get it
    assert found.why_unseen() is None
    return found


@KINDS
def test_what_is_written_is_listed_and_read(place: Workplace) -> None:
    assert place.names("a") == []
    place.write("a/2", b"two")
    place.write("a/10", b"ten")
    with place.sink("a/rows") as sink, pa.ipc.new_file(sink, pa.schema({"n": pa.int64()})) as writer:
        writer.write_table(pa.table({"n": [1, 2]}))
    assert place.names("a") == ["10", "2", "rows"]
    assert place.read(["a/10", "a/2"]) == [b"ten", b"two"]
    with place.open("a/rows") as source:
        assert pa.ipc.open_file(source).read_all().to_pydict() == {"n": [1, 2]}
    place.remove("a")
    assert place.names("a") == []


@KINDS
def test_of_many_attempts_at_a_shard_one_counts_for_everybody(place: Workplace) -> None:
    with ThreadPoolExecutor(4) as pool:
        told = list(pool.map(lambda n: place.offer(n % 2, b"%d" % n), range(12)))
    assert any(told)
    winners = place.winners()
    assert sorted(winners) == [0, 1]
    assert place.winners(1) == {1: winners[1]}
    assert place.winners(7) == {}
    assert [int(content) % 2 for content in place.read([winners[0], winners[1]])] == [0, 1]
    assert place.winners() == winners


@KINDS
def test_old_places_go_and_young_ones_stay(place: Workplace) -> None:
    place.write("a", b"1")
    place.remove_older(3600)
    assert "a" in place.names()
    place.remove_older(-3600)
    assert place.names() == []
    assert place.why_unseen() == "it is not there"


def test_a_bucket_that_answers_nobody_is_told_without_its_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "k")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "a-secret")
    from anabranch.objects.workplaces import BucketPlace

    why = BucketPlace("tests/jobs/x", "http://127.0.0.1:9", "us-east-1", {}).why_unseen()
    assert why == "it can't be read (OSError): the keys or the network are not right there"


def test_hdfs_has_no_workplace_and_says_so() -> None:
    from anabranch.model.object_urls import read_object_url
    from anabranch.objects.webhdfs import WebHdfs

    with pytest.raises(InvalidRequest, match="executors need a folder or S3"):
        WebHdfs(read_object_url("hdfs://localhost:8020/x")).workplace("job")
