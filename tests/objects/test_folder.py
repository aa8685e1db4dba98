"""An object root in a folder: whole files or none, hashed, checked, and damage told by name."""

from __future__ import annotations

import hashlib
import os
import threading
from pathlib import Path

import pytest

import anabranch as ab
from anabranch.objects.folder import Folder
from anabranch.objects.locations import open_root
from anabranch.objects.root import parquet_names


@pytest.fixture
def root(tmp_path: Path) -> Folder:
    return Folder(str(tmp_path / "objects"))


def files(tmp_path: Path) -> list[str]:
    return sorted(p.name for p in tmp_path.rglob("*") if p.is_file())


def test_what_is_put_is_read_back(root: Folder) -> None:
    sealed = root.put(b"content")
    assert (sealed.size_bytes, sealed.sha256) == (7, hashlib.sha256(b"content").hexdigest())
    with root.open(sealed.path) as file:
        assert file.read() == b"content"
    assert Path(root.uri(sealed.path)).read_bytes() == b"content"
    root.check(sealed.path, sealed.size_bytes, sealed.sha256)


def test_equal_bytes_are_put_apart_and_nothing_temporary_stays(root: Folder, tmp_path: Path) -> None:
    paths = {root.put(b"same").path for _ in range(50)}
    assert len(paths) == 50
    assert len(files(tmp_path)) == 50
    assert not any(name.endswith(".tmp") for name in files(tmp_path))


def test_what_is_put_aside_is_read_back_and_is_no_file_of_the_root(root: Folder) -> None:
    assert Path(root.put_temporary(b"content")).read_bytes() == b"content"
    assert list(root.files()) == []
    assert root.left_behind() == [], "the process lives"


def test_an_empty_object_is_an_object(root: Folder) -> None:
    sealed = root.put(b"")
    root.check(sealed.path, 0, sealed.sha256)


def test_threads_may_put_at_once(root: Folder, tmp_path: Path) -> None:
    made: list[str] = []
    threads = [threading.Thread(target=lambda: made.append(root.put(os.urandom(100)).path)) for _ in range(16)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(set(made)) == 16 == len(files(tmp_path))


def test_what_an_engine_wrote_is_listed_in_the_order_of_names_without_its_markers(root: Folder, tmp_path: Path) -> None:
    prefix = root.new_prefix()
    folder = Path(root.uri(prefix))
    folder.mkdir()
    for name, content in [
        ("part-00001.parquet", b"two"),
        ("part-00000.parquet", b"one"),
        ("_SUCCESS", b""),
        (".part-00000.parquet.crc", b"crc"),
        ("_metadata.parquet", b"no data"),
    ]:
        (folder / name).write_bytes(content)
    found = root.written(prefix)
    root.settle(prefix)
    assert [(Path(f.path).name, f.size_bytes) for f in found] == [("part-00000.parquet", 3), ("part-00001.parquet", 3)]
    assert files(tmp_path) == ["part-00000.parquet", "part-00001.parquet"]
    for file in found:
        root.check(file.path, file.size_bytes, None)


def test_a_folder_that_an_engine_left_behind_is_no_data(root: Folder) -> None:
    prefix = root.new_prefix()
    folder = Path(root.uri(prefix))
    (folder / "_temporary" / "0").mkdir(parents=True)
    (folder / "_temporary" / "0" / "part-9.parquet").write_bytes(b"half")
    (folder / "part-0.parquet").write_bytes(b"whole")
    assert [Path(f.path).name for f in root.written(prefix)] == ["part-0.parquet"]
    assert sorted(p.name for p in folder.iterdir()) == ["part-0.parquet"]


def test_a_prefix_that_an_engine_never_made_has_no_files(root: Folder) -> None:
    assert root.written(root.new_prefix()) == []
    assert root.new_prefix() != root.new_prefix()


def test_what_is_discarded_is_gone_and_may_be_discarded_again(root: Folder, tmp_path: Path) -> None:
    sealed = root.put(b"x")
    root.discard(sealed.path)
    root.discard(sealed.path)
    prefix = root.new_prefix()
    folder = Path(root.uri(prefix))
    folder.mkdir()
    (folder / "part.parquet").write_bytes(b"x")
    root.discard(prefix)
    root.discard(prefix)
    assert files(tmp_path) == []


def test_a_missing_file_is_told_by_name(root: Folder) -> None:
    sealed = root.put(b"x")
    root.discard(sealed.path)
    for ask in (lambda: root.open(sealed.path), lambda: root.check(sealed.path, 1, None)):
        with pytest.raises(ab.Corrupt, match="missing") as caught:
            ask()
        assert root.uri(sealed.path) in str(caught.value)
        assert caught.value.hint


def test_a_file_that_was_cut_short_is_told_by_name_and_size(root: Folder) -> None:
    sealed = root.put(b"0123456789")
    Path(root.uri(sealed.path)).write_bytes(b"01234")
    for sha256 in (None, sealed.sha256):
        with pytest.raises(ab.Corrupt, match="5 bytes, 10 were written") as caught:
            root.check(sealed.path, 10, sha256)
        assert root.uri(sealed.path) in str(caught.value)


def test_a_flipped_byte_is_told_by_name_when_the_hash_is_compared(root: Folder) -> None:
    sealed = root.put(b"0123456789")
    Path(root.uri(sealed.path)).write_bytes(b"0123456780")
    root.check(sealed.path, 10, None)
    with pytest.raises(ab.Corrupt, match="sha256") as caught:
        root.check(sealed.path, 10, sealed.sha256)
    assert root.uri(sealed.path) in str(caught.value)


@pytest.mark.parametrize("below", ["", "/deeper"])
def test_a_root_that_is_no_folder_is_unavailable(tmp_path: Path, below: str) -> None:
    (tmp_path / "file").write_text("x")
    root = Folder(str(tmp_path / "file") + below)
    for ask in (lambda: root.put(b"x"), root.new_prefix):
        with pytest.raises(ab.Unavailable, match="object root") as caught:
            ask()
        assert caught.value.hint
    assert files(tmp_path) == ["file"]


def test_a_write_that_fails_leaves_nothing(root: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ab.Unavailable, match="No space left"):
        root.put(b"x" * 1000)
    assert files(tmp_path) == []


def test_a_root_is_opened_by_its_location(tmp_path: Path) -> None:
    for location in (str(tmp_path / "o"), f"file://{tmp_path / 'o'}"):
        sealed = open_root(location).put(b"x")
        assert (tmp_path / "o" / sealed.path).read_bytes() == b"x"
    for location in ("s3a://bucket/x", "gs://bucket/x", "http://x"):
        with pytest.raises(ab.InvalidRequest, match="can't lie"):
            open_root(location)


def test_only_parquet_files_are_data() -> None:
    names = ["b.parquet", "a.parquet", "_SUCCESS", "._x.parquet", "_x.parquet", "x.crc", "x.parquet.tmp", ".x.parquet"]
    assert parquet_names(names) == ["a.parquet", "b.parquet"]


def test_folders_of_dead_processes_are_known_by_our_names_and_not_looked_for_behind_a_link(
    root: Folder, tmp_path: Path
) -> None:
    victim = tmp_path / "victim"
    for name in ("photos", "oaaaaaaaaaaaaaaaa"):
        (victim / name).mkdir(parents=True)
    aside = tmp_path / "objects" / "aside"
    aside.parent.mkdir()
    aside.symlink_to(victim)
    assert root.left_behind() == []
    with pytest.raises(ab.Unavailable):
        root.put_temporary(b"x")
    aside.unlink()
    victim.rename(aside)
    assert [name for name, _ in root.left_behind()] == ["oaaaaaaaaaaaaaaaa"]
    assert not (aside / "photos.lock").exists()
