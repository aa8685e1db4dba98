"""Object roots on S3: who may write, what is kept here, and what happens when server, disk or process fail."""

from __future__ import annotations

from pathlib import Path

import pytest

import anabranch as ab
from anabranch.model.object_urls import read_object_url
from anabranch.model.objects import FileAddress
from anabranch.objects.locations import open_blobs, open_root
from anabranch.objects.remote import RemoteRoot
from anabranch.objects.root import SealedFile
from tests.s3 import S3Server

OURS, THEIRS = "zaaaaaaaaaaaaaaaa", "zbbbbbbbbbbbbbbbb"


@pytest.fixture
def address(s3: S3Server) -> str:
    return s3.new_root()


def opened(address: str, store: str = OURS) -> RemoteRoot:
    root = open_root(address, store)
    assert isinstance(root, RemoteRoot)
    return root


def known(root: RemoteRoot, sealed: SealedFile) -> FileAddress:
    made = FileAddress(root.uri(sealed.path))
    made.path, made.size_bytes, made.sha256 = sealed.path, sealed.size_bytes, sealed.sha256
    return made


def kept(tmp_path: Path) -> list[Path]:
    return [p for p in (tmp_path / "cache").rglob("o*.parquet*") if p.is_file()]


def test_another_store_reads_and_never_writes_or_collects(address: str) -> None:
    sealed = opened(address).put(b"content")
    other = opened(address, THEIRS)
    with other.open(sealed.path) as file:
        assert file.read() == b"content"
    for write in (lambda: other.put(b"x"), other.new_prefix, lambda: other.collect([sealed.path])):
        with pytest.raises(ab.Unavailable, match=f"belongs to store {OURS}"):
            write()
    assert opened(address).other_stores() == []


def test_bytes_that_came_damaged_are_fetched_again_and_damage_at_the_server_is_told(
    address: str, tmp_path: Path
) -> None:
    root = opened(address)
    sealed = root.put(b"content")
    [file] = kept(tmp_path)
    file.write_bytes(b"CONTENT")
    with opened(address).at_hand([known(root, sealed)]) as places:
        assert [Path(p).read_bytes() for p in places.values()] == [b"content"]
    file.unlink()
    open_blobs(read_object_url(address)).put(sealed.path, b"cont")
    with pytest.raises(ab.Corrupt, match="4 bytes, 7 were written"), root.at_hand([known(root, sealed)]):
        pass
    assert kept(tmp_path) == [], "nothing half fetched stays"


def test_the_cache_is_bounded_and_keeps_what_is_read(address: str, tmp_path: Path) -> None:
    root = open_root(address, OURS, ab.Settings(objects=ab.ObjectSettings(cache_limit_bytes=2500)))
    assert isinstance(root, RemoteRoot)
    first, *more = [root.put(bytes([n]) * 1000) for n in range(4)]
    assert len(kept(tmp_path)) == 2
    with root.at_hand([known(root, first)]) as places:
        for sealed in more:
            with root.at_hand([known(root, sealed)]):
                pass
        assert Path(places[root.uri(first.path)]).read_bytes() == bytes(1000)
    assert sum(p.stat().st_size for p in kept(tmp_path)) <= 2500


def test_addresses_with_secrets_or_unknown_options_are_refused_and_not_repeated() -> None:
    for bad in (
        "s3://KEY:hunter2@bucket/x",
        "s3://bucket/x?secret_access_key=hunter2",
        "s3://bucket/x?endpoint=http://user:hunter2@host",
        "s3:///hunter2",
        "gopher://hunter2/x",
        "s3://bucket/a//hunter2",
        "s3://bucket/../hunter2",
    ):
        with pytest.raises(ab.InvalidRequest) as refused:
            read_object_url(bad)
        assert "hunter2" not in str(refused.value)


def test_addresses_are_kept_in_one_form() -> None:
    url = read_object_url(" s3://bucket/a/b/?region=eu&endpoint=http://h:1 ")
    assert url.text == "s3://bucket/a/b?endpoint=http://h:1&region=eu"
    assert read_object_url(url.text) == url
