"""Lines of versioned texts: those of packed ones are unpacked, and what is no text is refused by name."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

import anabranch as ab

LINES = [f"line {n}" for n in range(1000)]
TEXT = "".join(f"{line}\n" for line in LINES).encode()


@pytest.fixture
def repo(tmp_path: Path) -> ab.Repository:
    made = ab.init(tmp_path / "store", engine="duck")
    with made.commit("main", "texts") as tx:
        tx.files.put("packed/a.csv.gz", gzip.compress(TEXT))
        tx.files.put("packed/b.LOG.GZ", gzip.compress(b"one\r\ntwo") + gzip.compress(b" and three"))
        tx.files.put("bad/half.gz", gzip.compress(TEXT)[:-20])
        tx.files.put("bad/no.gz", b"plain\n")
        tx.files.put("bad/photo.png", b"\x89PNG\r\n\x1a\n\xff")
        tx.files.put("bad/packed.gz", gzip.compress(b"\xff\xfe\n"))
        tx.files.put("bad/changed.gz", gzip.compress(TEXT)[:60] + b"?" * 100)
    return made


def test_lines_of_packed_files_are_unpacked(repo: ab.Repository) -> None:
    tree = repo.files()
    assert list(tree.lines("packed/a.csv.gz")) == LINES
    assert list(tree.lines("packed/b.LOG.GZ")) == ["one", "two and three"]
    assert tree.arrow("packed/a*", as_="lines").column("line").to_pylist() == LINES
    rows = repo.sql("SELECT line FROM ana.file_lines('packed/**') ORDER BY path, number").rows()
    assert [row["line"] for row in rows] == [*LINES, "one", "two and three"]


def test_what_was_appended_to_a_packed_file_is_unpacked_by_itself(repo: ab.Repository) -> None:
    with repo.commit("main", "more") as tx:
        tx.files.append("packed/a.csv.gz", gzip.compress(b"last\n"))
    assert list(repo.files().lines("packed/a.csv.gz", since="main~1")) == ["last"]
    assert list(repo.files().lines("packed/a.csv.gz")) == [*LINES, "last"]


@pytest.mark.parametrize("name", ["half.gz", "no.gz", "photo.png", "packed.gz", "changed.gz"])
def test_what_is_no_text_is_refused_by_name(repo: ab.Repository, name: str) -> None:
    path = f"bad/{name}"
    for read in (
        lambda: list(repo.files().lines(path)),
        lambda: repo.files().arrow(path, as_="lines"),
        lambda: repo.sql(f"SELECT * FROM ana.file_lines('{path}')").rows(),
    ):
        with pytest.raises(ab.InvalidRequest, match=path) as raised:
            read()
        assert "has no lines" in str(raised.value) or "unpacked" in str(raised.value)
    assert repo.files().read(path)


def test_packed_lines_take_little_memory_whatever_they_unpack_to(repo: ab.Repository) -> None:
    with repo.commit("main", "a line, again and again") as tx:
        tx.files.put("many.gz", gzip.compress(b"x" * 99 + b"\n" + b"y\n" * 30_000_000))
    lines = repo.files().lines("many.gz")
    assert [next(lines) for _ in range(2)] == ["x" * 99, "y"]
    lines.close()  # type: ignore[attr-defined]


def test_the_size_of_a_path_is_that_of_the_file_or_of_all_in_the_folder(repo: ab.Repository) -> None:
    tree = repo.files()
    assert tree.size("bad/no.gz") == 6
    assert tree.size("bad") == tree.size("bad/") == sum(s.size for s in tree.walk("bad"))
    assert tree.size() == sum(s.size for s in tree.walk())
    for path in ("gone", "bad/gone", "bad/no.gz/below"):
        with pytest.raises(ab.NotFound, match=path):
            tree.size(path)


def test_an_empty_folder_and_an_empty_repository_have_no_size(repo: ab.Repository, tmp_path: Path) -> None:
    with repo.commit("main", "a folder") as tx:
        tx.files.make_folder("empty")
        assert tx.files.size("empty") == 0
    assert repo.files().size("empty") == 0
    with ab.init(tmp_path / "empty") as other:
        assert other.files().size() == 0
