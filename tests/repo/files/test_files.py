"""Versioned files: put, append, read, list, time travel; all of it as users call it."""

from __future__ import annotations

import io
import os
import random
import unicodedata
from pathlib import Path
from typing import Any

import pytest

import anabranch as ab


@pytest.fixture
def repo(tmp_path: Path) -> ab.Repository:
    return ab.init(tmp_path / "store")


def contents(repo: ab.Repository, at: str | None = None) -> dict[str, bytes]:
    tree = repo.files(at=at)
    return {s.path: tree.read(s.path) for s in tree.walk() if not s.is_folder}


def test_files_are_put_appended_read_and_deleted_and_the_past_stays(repo: ab.Repository) -> None:
    with repo.commit("main", "first") as tx:
        tx.files.put("raw/a.csv", "1,2\n")
        tx.files.append("logs/app.log", b"one\n")
        tx.files.append("logs/app.log", b"two\n")
        assert tx.files.read("logs/app.log") == b"one\ntwo\n"
    with repo.commit("main", "second") as tx:
        tx.files.append("logs/app.log", "three\n")
        tx.files.delete("raw/a.csv")
        tx.files.put("raw/b", io.BytesIO(b"x" * 200_000))
    assert contents(repo) == {"logs/app.log": b"one\ntwo\nthree\n", "raw/b": b"x" * 200_000}
    assert contents(repo, "main~1") == {"logs/app.log": b"one\ntwo\n", "raw/a.csv": b"1,2\n"}
    assert contents(repo, "main~2") == {}
    tree = repo.files()
    assert tree.read("raw/b", start=199_990, size=50) == b"x" * 10
    assert list(tree.lines("logs/app.log")) == ["one", "two", "three"]
    assert tree.read("logs/app.log", since="main~1") == b"three\n"
    assert tree.stat("logs/app.log", since="main~1").size == 6
    assert tree.stat("raw/b", since="main~1").whole
    with tree.open("raw/b") as file:
        file.seek(-3, io.SEEK_END)
        assert file.read() == b"xxx"
    assert "raw/b" in tree
    assert "raw/a.csv" not in tree
    assert repo.verify().damages == ()


def test_what_came_since_is_all_of_a_file_that_was_replaced_or_deleted_meanwhile(repo: ab.Repository) -> None:
    for content in ("a", "b"):
        with repo.commit("main", content) as tx:
            tx.files.append("f", content)
    with repo.commit("main", "again") as tx:
        tx.files.delete("f")
        tx.files.append("f", "new")
    with repo.commit("main", "more") as tx:
        tx.files.append("f", "!")
    assert [repo.files().read("f", since=ref) for ref in ("main", "main~1", "main~2", "main~4")] == [
        b"",
        b"!",
        b"new!",
        b"new!",
    ]


def test_a_put_of_the_same_bytes_is_no_change_and_an_empty_append_makes_a_file(repo: ab.Repository) -> None:
    with repo.commit("main", "one") as tx:
        tx.files.put("a", b"same")
        tx.files.put("big", random.Random(1).randbytes(300_000))
        tx.files.append("empty", b"")
    for _ in range(2):
        with repo.commit("main", "two") as tx:
            tx.files.put("a", b"same")
            tx.files.put("big", random.Random(1).randbytes(300_000))
            tx.files.append("empty", b"")
            tx.files.append("a", b"")
        assert tx.commit is None
    assert repo.files().stat("empty").size == 0
    assert repo.files().read("empty") == b""


def test_folders_are_listed_found_and_made(repo: ab.Repository) -> None:
    with repo.commit("main", "tree") as tx:
        for path in ("top", "a/x.csv", "a/b/y.csv", "a/b/c/z.txt", "ab/w", "a0/v"):
            tx.files.put(path, path)
        tx.files.make_folder("empty/one")
    tree = repo.files()
    assert [(s.path, s.is_folder) for s in tree.list()] == [
        ("a", True),
        ("a0", True),
        ("ab", True),
        ("empty", True),
        ("top", False),
    ]
    assert [s.path for s in tree.list("a")] == ["a/b", "a/x.csv"]
    assert [s.path for s in tree.list("empty/")] == ["empty/one"]
    assert tree.list("empty/one") == []
    assert [s.path for s in tree.glob("a/**/*.csv")] == ["a/b/y.csv", "a/x.csv"]
    assert [s.path for s in tree.walk("a/b")] == ["a/b/c/z.txt", "a/b/y.csv"]
    assert tree.size("a") == sum(map(len, ("a/x.csv", "a/b/y.csv", "a/b/c/z.txt")))
    assert tree.stat("a/b").is_folder
    assert tree.count() == 6
    with repo.commit("main", "less") as tx:
        assert tx.files.delete("a/", recursive=True) == 3
        tx.files.delete("empty", recursive=True)
    assert [s.path for s in repo.files().walk()] == ["a0/v", "ab/w", "top"]


def test_files_and_folders_are_copied_and_moved_without_new_bytes(repo: ab.Repository) -> None:
    with repo.commit("main", "one") as tx:
        tx.files.put("a/x", b"x" * 500_000, mode=0o755, properties={"k": "v"})
        tx.files.append("a/b/y", "y")
    before = {s.path: s for s in repo.files().walk()}
    with repo.commit("main", "two") as tx:
        tx.files.copy("a", "copy")
        tx.files.move("a/x", "moved")
        tx.files.move("a/b", "c/")
    found = repo.files()
    assert [s.path for s in found.walk()] == ["c/y", "copy/b/y", "copy/x", "moved"]
    moved = found.stat("moved")
    assert (moved.sha256, moved.mode, moved.properties, moved.written_at) == (
        before["a/x"].sha256,
        0o755,
        {"k": "v"},
        before["a/x"].written_at,
    )
    assert found.read("copy/x") == b"x" * 500_000
    packs = [o for o in (tmp_files(repo)) if o.endswith(".pack")]
    assert len(packs) == 1


def tmp_files(repo: ab.Repository) -> list[str]:
    return [f.path for f in repo._ctx.root.files()]


def test_a_path_is_a_file_or_a_folder(repo: ab.Repository) -> None:
    with repo.commit("main", "one") as tx:
        tx.files.put("a/b/c", "1")
        tx.files.put("file", "1")
    for path in ("a", "a/b", "file/x", "file/x/y"):
        with pytest.raises(ab.AlreadyExists, match="can't be a file and a folder"), repo.commit("main", "two") as tx:
            tx.files.put(path, "2")
    with pytest.raises(ab.AlreadyExists), repo.commit("main", "two") as tx:
        tx.files.put("new", "1")
        tx.files.put("new/below", "1")
    with repo.commit("main", "three") as tx:
        tx.files.delete("a", recursive=True)
        tx.files.put("a", "now a file")
        tx.files.delete("file")
        tx.files.put("file/x", "now below")
    assert contents(repo) == {"a": b"now a file", "file/x": b"now below"}


def test_files_that_were_refused_together_are_not_lost_in_a_commit_that_goes_on(repo: ab.Repository) -> None:
    with (
        pytest.raises(ab.InvalidRequest, match="others with them: 'a' can't be a file"),
        repo.commit("main", "x") as tx,
    ):
        tx.files.put("a", "1")
        tx.files.put("a/b", "2")
        with pytest.raises(ab.AlreadyExists):
            tx.files.read("a")
        tx.files.put("c", "3")
    assert repo.files().count() == 0
    with repo.commit("main", "x") as tx:
        tx.files.put("a", "1")
        with pytest.raises(ab.AlreadyExists), tx.all_or_nothing():
            tx.files.put("z", "2")
            tx.files.put("a/b", "2")
    assert [s.path for s in repo.files().walk()] == ["a"]
    assert repr(repo.diff("main~1", "main")) == "Diff(1 file)"


def test_what_is_not_there_is_told_with_what_is_near(repo: ab.Repository) -> None:
    with repo.commit("main", "one") as tx:
        tx.files.put("raw/orders.csv", "1")
    tree = repo.files()
    with pytest.raises(ab.NotFound, match=r"did you mean 'raw/orders\.csv'"):
        tree.read("raw/order.csv")
    with pytest.raises(ab.NotFound, match="'raw' is a folder"):
        tree.read("raw")
    with pytest.raises(ab.NotFound, match="no folder 'row'"):
        tree.list("row")
    with pytest.raises(ab.NotFound), repo.commit("main", "x") as tx:
        tx.files.delete("nothing")
    with pytest.raises(ab.InvalidRequest, match="recursive"), repo.commit("main", "x") as tx:
        tx.files.delete("raw")


def test_a_block_that_fails_publishes_nothing_and_leaves_no_file(repo: ab.Repository) -> None:
    class Broken(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            if self.tell() > 5_000_000:
                raise OSError("the disk is gone")
            return super().read(size)

    noise = random.Random(5).randbytes(9_000_000)
    with pytest.raises(OSError, match="disk is gone"), repo.commit("main", "x") as tx:
        tx.files.put("first", noise[:400_000])
        tx.files.put("stream", Broken(noise))
    with pytest.raises(OSError, match="disk is gone"), repo.commit("main", "x") as tx:
        tx.files.put("whole.zip", Broken(noise), chunking="whole")
    assert tmp_files(repo) == []
    assert contents(repo) == {}


def test_content_of_a_block_that_failed_is_written_again_when_it_is_put_again(repo: ab.Repository) -> None:
    with repo.commit("main", "twice") as tx:
        _put_twice(tx)
    assert contents(repo) == {"small": b"x", "large": b"y" * 100_000}
    with repo.commit("main", "none") as tx:
        tx.files.delete("small")
    opened = repo.start("main", message="twice")
    _put_twice(opened)
    opened.finish()
    assert contents(repo) == {"small": b"x", "large": b"y" * 100_000}
    assert repo.verify().damages == ()


def _put_twice(tx: Any) -> None:
    """Put files in a block that fails, and again."""
    with pytest.raises(ZeroDivisionError), tx.all_or_nothing():
        tx.files.put("small", b"x")
        tx.files.put("large", io.BytesIO(b"y" * 100_000))
        tx.flush()
        assert 1 / 0
    tx.files.put("small", b"x")
    tx.files.put("large", io.BytesIO(b"y" * 100_000))


def test_content_that_was_discarded_is_written_again_when_it_is_put_again(repo: ab.Repository) -> None:
    opened = repo.start("main", message="twice")
    opened.files.put("small", b"x")
    opened.discard("files/")
    opened.files.put("small", b"x")
    opened.finish()
    assert contents(repo) == {"small": b"x"}


def test_local_files_are_put_by_path_by_pattern_and_by_folder(repo: ab.Repository, tmp_path: Path) -> None:
    local = tmp_path / "photos"
    (local / "deep").mkdir(parents=True)
    (local / "a.txt").write_bytes(b"a")
    (local / "deep" / "b.txt").write_bytes(b"b")
    (local / "deep" / "c.bin").write_bytes(b"c")
    (local / "link").symlink_to("/etc/passwd")
    os.chmod(local / "a.txt", 0o700)
    with repo.commit("main", "put") as tx:
        tx.files.put("one", local / "a.txt")
        assert tx.files.put_all("texts", f"{local}/**/*.txt") == 2
        assert tx.files.put_all("all/", local) == 3
        with tx.files.open("written", "wb") as file:
            file.write(b"by hand")
    assert set(contents(repo)) == {
        "one",
        "texts/a.txt",
        "texts/deep/b.txt",
        "all/a.txt",
        "all/deep/b.txt",
        "all/deep/c.bin",
        "written",
    }
    assert repo.files().stat("one").mode == 0o700
    with pytest.raises(ab.NotFound), repo.commit("main", "x") as tx:
        tx.files.put("x", local / "none")


def test_a_large_file_shares_blocks_with_its_last_version(repo: ab.Repository) -> None:
    rng = random.Random(2)
    text = b"".join(b"%d,%s\n" % (n, rng.randbytes(8).hex().encode()) for n in range(200_000))
    sizes = []
    for content in (text, b"one more line\n" + text):
        with repo.commit("main", "put") as tx:
            tx.files.put("t.csv", content)
        sizes.append(sum(f.size_bytes for f in repo._ctx.root.files()))
        assert repo.files().read("t.csv") == content
    assert sizes[1] - sizes[0] < len(text) / 10


def test_packed_formats_are_kept_whole_with_their_suffix(repo: ab.Repository) -> None:
    big = random.Random(4).randbytes(9_000_000)
    with repo.commit("main", "put") as tx:
        tx.files.put("d/big.Parquet", io.BytesIO(big))
        tx.files.put("small.parquet", big[:1000])
    assert [p for p in tmp_files(repo) if p.endswith(".parquet")] != []
    assert repo.files().read("d/big.Parquet", start=5_000_000, size=10) == big[5_000_000:5_000_010]
    assert repo.files().read("d/big.Parquet") == big
    assert repo.verify().damages == ()


def test_an_open_commit_keeps_files_over_processes(repo: ab.Repository, tmp_path: Path) -> None:
    opened = repo.start("main", message="slow")
    opened.files.put("a", "1")
    opened.files.append("a", "2")
    opened.files.put("big", b"z" * 300_000)
    again = next(iter(ab.open(tmp_path / "store").open_commits()))
    assert again.files.read("a") == b"12"
    again.files.append("a", "3")
    assert contents(repo) == {}
    again.finish()
    assert contents(repo) == {"a": b"123", "big": b"z" * 300_000}
    given_up = repo.start("main", message="no")
    given_up.files.put("gone", b"y" * 300_000)
    before = len(tmp_files(repo))
    given_up.abort()
    assert len(tmp_files(repo)) == before - 1


def test_names_in_any_form_of_unicode_are_one_file(repo: ab.Repository) -> None:
    with repo.commit("main", "x") as tx:
        tx.files.put(unicodedata.normalize("NFD", "é/ü"), "1")
        tx.files.put("A", "upper")
        tx.files.put("a", "lower")
    assert set(contents(repo)) == {unicodedata.normalize("NFC", "é/ü"), "A", "a"}


def test_damage_is_told_with_the_path_and_the_pack(repo: ab.Repository) -> None:
    with repo.commit("main", "x") as tx:
        tx.files.put("raw/big", random.Random(9).randbytes(400_000))
    (path,) = [p for p in tmp_files(repo) if p.endswith(".pack")]
    place = Path(repo._ctx.root.uri(path))
    content = bytearray(place.read_bytes())
    content[200_000] ^= 1
    place.write_bytes(bytes(content))
    with pytest.raises(ab.Corrupt, match=r"raw/big.*pack o"):
        repo.files().read("raw/big")
    assert [d.kind for d in repo.verify().damages]


def test_gc_keeps_packs_that_any_version_needs_and_takes_the_rest(repo: ab.Repository) -> None:
    from datetime import timedelta

    for n in range(40):
        with repo.commit("main", f"{n}") as tx:
            tx.files.append("log", f"{n}\n" * 30_000)
    repo.branch("side")
    with repo.commit("side", "side") as tx:
        tx.files.put("only here", b"s" * 300_000)
    files = set(tmp_files(repo))
    repo.delete_branch("side", force=True)
    now = timedelta(0)
    told = repo.gc(grace=now, reflog=now, dry_run=True)
    assert repo.gc(grace=now, reflog=now).garbage == told.garbage
    assert repo.gc(grace=now, reflog=now)["objects"].count == 0, "packs go along with the last that needs them"
    assert len(files - set(tmp_files(repo))) == 1
    assert repo.files().size("") == sum(len(f"{n}\n") * 30_000 for n in range(40))
    assert len(repo.files().read("log")) == repo.files().stat("log").size
    repo.gc(grace=now, reflog=now)
    assert repo.files("main~20").read("log", since="main~21") == b"19\n" * 30_000
    assert repo.verify().damages == ()
