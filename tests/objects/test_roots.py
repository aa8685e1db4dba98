"""The contract of object roots: the same in a folder, on S3 (s3proxy, versitygw) and on HDFS."""

from __future__ import annotations

import hashlib
import io
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import anabranch as ab
from anabranch.model.object_urls import read_object_url
from anabranch.objects.locations import open_blobs, open_root
from anabranch.objects.root import ObjectRoot
from tests.golang import Missing
from tests.hdfs import HdfsServer
from tests.s3 import ENVIRONMENT, S3Server, VersityServer

STORE = "zaaaaaaaaaaaaaaaa"


class Place:
    """Where a root lies, and how an engine would write there."""

    def __init__(self, location: str) -> None:
        self.location = location

    def root(self, store: str = STORE) -> ObjectRoot:
        return open_root(self.location, store)

    def write(self, path: str, content: bytes) -> None:
        if "://" in self.location:
            open_blobs(read_object_url(self.location)).put(path, content)
            return
        place = Path(self.location) / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)


@pytest.fixture(scope="module")
def hdfs_server() -> Iterator[HdfsServer]:
    with HdfsServer() as server:
        yield server


@pytest.fixture(scope="module")
def versity_server() -> Iterator[S3Server]:
    try:
        server = VersityServer()
    except Missing as error:
        pytest.skip(str(error))
    with server:
        yield server


KINDS = ["folder", "s3proxy", *(pytest.param(kind, marks=pytest.mark.more) for kind in ("versitygw", "hdfs"))]


SERVERS = {"s3proxy": "s3_server", "versitygw": "versity_server", "hdfs": "hdfs_server"}
"""The fixtures that run them."""


@pytest.fixture(params=KINDS)
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    if request.param == "folder":
        return Place(str(tmp_path / "objects"))
    for name, value in {**ENVIRONMENT, "XDG_CACHE_HOME": str(tmp_path / "cache")}.items():
        monkeypatch.setenv(name, value)
    return Place(request.getfixturevalue(SERVERS[request.param]).new_root())


@pytest.fixture
def root(place: Place) -> ObjectRoot:
    return place.root()


def test_what_is_put_is_read_back_by_any_process(place: Place, root: ObjectRoot, tmp_path: Path) -> None:
    sealed = root.put(b"content")
    assert (sealed.size_bytes, sealed.sha256) == (7, hashlib.sha256(b"content").hexdigest())
    root.check(sealed.path, 7, sealed.sha256)
    for reader in (root, place.root()):
        with reader.open(sealed.path) as file:
            assert file.read() == b"content"
        with reader.open_uri(reader.uri(sealed.path)) as file:
            file.seek(3)
            assert file.read(2) == b"te"
            assert file.seek(0, io.SEEK_END) == 7


def test_tokens_are_laid_read_and_removed_and_are_no_objects(place: Place, root: ObjectRoot) -> None:
    tokens = [f"t{letter * 16}" for letter in "abc"]
    assert root.tokens() == {}
    root.remove_tokens(tokens)
    for token in tokens:
        root.put_token(token, b"first")
        root.put_token(token, b"note")
    for reader in (root, place.root()):
        assert reader.tokens() == dict.fromkeys(tokens, b"note")
    assert place.root("zbbbbbbbbbbbbbbbb").tokens() == {}, "those of another store are its own"
    root.remove_tokens(tokens[:2])
    assert place.root().tokens() == {tokens[2]: b"note"}
    assert list(root.files()) == []
    root.remove_tokens(tokens)
    assert root.tokens() == {}


def test_uploads_ask_first_and_reading_does_not(root: ObjectRoot) -> None:
    asked: list[int] = []
    root.before_upload = lambda: asked.append(1)
    sealed = root.put(b"content")
    root.put_stream([b"a", b"b"], ".pack")
    assert len(asked) == 2
    root.open(sealed.path).close()
    root.check(sealed.path, 7, sealed.sha256)
    root.put_temporary(b"aside")
    assert list(root.tokens()) == []
    assert len(asked) == 2


def test_a_missing_file_was_collected_if_nothing_names_it(root: ObjectRoot) -> None:
    sealed = root.put(b"content")
    root.collect([sealed.path])
    with pytest.raises(ab.Corrupt, match="missing"):
        root.check(sealed.path, 7, None)
    root.is_collected = lambda path: path == sealed.path
    with pytest.raises(ab.Unavailable, match="collected by gc"):
        root.check(sealed.path, 7, None)


def test_equal_bytes_are_put_apart(root: ObjectRoot) -> None:
    assert len({root.put(b"same").path for _ in range(5)}) == 5
    assert len(list(root.files())) == 5


def test_an_empty_object_is_an_object(root: ObjectRoot) -> None:
    sealed = root.put(b"")
    root.check(sealed.path, 0, sealed.sha256)


def test_a_stream_is_put_whole(root: ObjectRoot) -> None:
    piece = bytes(1 << 20)
    sealed = root.put_stream((piece for _ in range(12)), ".pack.bin")
    assert sealed.size_bytes == 12 << 20
    root.check(sealed.path, sealed.size_bytes, sealed.sha256)


def test_a_stream_that_fails_half_way_leaves_nothing_and_its_own_error(root: ObjectRoot) -> None:
    def pieces() -> Iterator[bytes]:
        for _ in range(12):
            yield bytes(1 << 20)
        raise ValueError("the source broke")

    with pytest.raises(ValueError, match="the source broke"):
        root.put_stream(pieces(), ".pack")
    assert list(root.files()) == []


def test_threads_may_put_at_once(root: ObjectRoot) -> None:
    made: list[str] = []
    threads = [threading.Thread(target=lambda: made.append(root.put(b"x").path)) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(set(made)) == 8 == len(list(root.files()))


def test_damage_is_told_by_name(place: Place, root: ObjectRoot) -> None:
    sealed = root.put(b"content")
    place.write(sealed.path, b"CONTENT")
    root.check(sealed.path, 7, None)
    with pytest.raises(ab.Corrupt, match=r"sha256 differs"):
        root.check(sealed.path, 7, sealed.sha256)
    place.write(sealed.path, b"cont")
    with pytest.raises(ab.Corrupt, match=r"4 bytes, 7 were written"):
        root.check(sealed.path, 7, None)
    root.discard(sealed.path)
    with pytest.raises(ab.Corrupt, match="missing"):
        root.check(sealed.path, 7, None)
    with pytest.raises(ab.Corrupt, match="missing"):
        root.open(sealed.path)


def test_what_an_engine_wrote_is_listed_in_the_order_of_names_without_its_markers(
    place: Place, root: ObjectRoot
) -> None:
    prefix = root.new_prefix()
    for name in ("part-00001.parquet", "part-00000.parquet", "_SUCCESS", ".part.parquet.crc", "_temporary/0/x.parquet"):
        place.write(f"{prefix}/{name}", name.encode())
    written = root.written(prefix)
    root.settle(prefix)
    assert [f.path for f in written] == [f"{prefix}/part-00000.parquet", f"{prefix}/part-00001.parquet"]
    assert [f.size_bytes for f in written] == [18, 18]
    assert sorted(f.path for f in root.files()) == [f.path for f in written]
    root.discard(prefix)
    assert list(root.files()) == []


def test_a_prefix_that_was_collected_is_not_sealed(place: Place, root: ObjectRoot) -> None:
    prefix = root.new_prefix()
    place.write(f"{prefix}/part-0.parquet", b"rows")
    root.collect([f.path for f in root.files()])
    with pytest.raises(ab.Unavailable, match="collected while they were written"):
        root.settle(prefix)


def test_collecting_removes_what_is_named_and_nothing_else(place: Place, root: ObjectRoot) -> None:
    kept, gone = root.put(b"kept"), root.put(b"gone")
    place.write("a-file-of-somebody-else", b"theirs")
    root.collect([gone.path, gone.path.replace("o", "o", 1)])
    assert [f.path for f in root.files()] == [kept.path]
    with pytest.raises(ab.Corrupt, match="no place of an object"):
        root.collect(["a-file-of-somebody-else"])
    with pytest.raises(ab.Corrupt, match="no place of an object"):
        root.collect(["ab/../../x"])


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "ab/x.parquet", "ab/oabaaaaaaaaaaaaaa/../x.parquet"])
def test_a_path_that_leads_elsewhere_is_refused(root: ObjectRoot, path: str) -> None:
    for use in (root.uri, root.open):
        with pytest.raises(ab.Corrupt, match="no place of an object"):
            use(path)


def test_what_is_put_aside_is_no_file_of_the_root_and_not_left_behind_as_long_as_we_live(root: ObjectRoot) -> None:
    assert root.put_temporary(b"content")
    assert list(root.files()) == []
    assert root.left_behind() == []


def test_files_are_at_hand_on_this_machine(place: Place, root: ObjectRoot) -> None:
    sealed = root.put(b"content")
    address = root.uri(sealed.path)
    with place.root().at_hand([address]) as places:
        assert Path(places.get(address, address)).read_bytes() == b"content"
