"""A folder of the user's own: checked out, changed, taken in; nothing outside of it is touched."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import anabranch as ab
from anabranch.model.files import FileStat
from anabranch.model.local_paths import MANIFEST
from anabranch.repo.files.folder import LocalFolder
from anabranch.repo.files.manifest import Manifest
from anabranch.repo.files.writer import FilesWriter


@pytest.fixture
def repo(tmp_path: Path) -> ab.Repository:
    made = ab.init(tmp_path / "store")
    with made.commit("main", "files") as tx:
        tx.files.put("a.txt", "a", mode=0o755)
        tx.files.put("deep/b.txt", "b")
        tx.files.append("log", "1\n")
    return made


def test_a_commit_is_checked_out_changed_and_taken_in_again(repo: ab.Repository, tmp_path: Path) -> None:
    place = tmp_path / "work"
    assert repo.checkout(place) == 3
    assert (place / "deep/b.txt").read_text() == "b"
    assert (place / "a.txt").stat().st_mode & 0o777 == 0o755
    folder = repo.folder(place)
    assert folder.ref == repo.show("main").hash
    assert not folder.status()
    (place / "a.txt").write_text("A")
    (place / "deep/b.txt").unlink()
    (place / "new").mkdir()
    (place / "new/c.txt").write_text("c")
    (place / "skip.tmp").write_text("x")
    (place / "build").mkdir()
    (place / "build/out").write_text("x")
    (place / ".anaignore").write_text("# ours\n*.tmp\nbuild/\n")
    found = folder.status()
    assert (found.added, found.changed, found.removed) == ((".anaignore", "new/c.txt"), ("a.txt",), ("deep/b.txt",))
    with pytest.raises(ab.AlreadyExists, match="would be lost"):
        repo.checkout(place, "main")
    with repo.commit("main", "from the folder") as tx:
        folder.add(tx)
    assert {s.path: repo.files().read(s.path) for s in repo.files().walk()} == {
        ".anaignore": b"# ours\n*.tmp\nbuild/\n",
        "a.txt": b"A",
        "log": b"1\n",
        "new/c.txt": b"c",
    }
    assert not folder.status()
    repo.checkout(place, "main~1")
    assert sorted(p for p in os.listdir(place) if not p.startswith(".")) == [
        "a.txt",
        "build",
        "deep",
        "log",
        "skip.tmp",
    ]
    assert (place / "a.txt").read_text() == "a"


def test_only_what_moved_is_read_again(repo: ab.Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repo.checkout(tmp_path / "work")
    for path in ("a.txt", "deep/b.txt", "log"):
        os.utime(tmp_path / "work" / path, (1, 1))
    folder = repo.folder(tmp_path / "work")
    with repo.commit("main", "nothing", allow_empty=True) as tx:
        folder.add(tx)
    known = {p: folder._known(p) for p in ("a.txt", "deep/b.txt", "log")}
    folder._write_manifest(Manifest(None, known, folder._clock_ns()))
    read: list[str] = []
    monkeypatch.setattr(LocalFolder, "_hash", lambda self, path: read.append(path) or "")
    assert not folder.status()
    assert read == []
    os.utime(tmp_path / "work" / "log", (2, 2))
    folder.status()
    assert read == ["log"]


def test_links_are_neither_followed_nor_written_through(repo: ab.Repository, tmp_path: Path) -> None:
    place, outside = tmp_path / "work", tmp_path / "outside"
    place.mkdir()
    outside.mkdir()
    (place / "deep").symlink_to(outside)
    (place / "log").symlink_to(outside / "log")
    with pytest.raises(ab.InvalidRequest, match="is a link"):
        repo.checkout(place)
    assert list(outside.iterdir()) == []
    (place / "deep").unlink()
    repo.checkout(place, force=True)
    assert list(outside.iterdir()) == []
    assert not (place / "log").is_symlink()
    (place / "secret").symlink_to("/etc/passwd")
    assert not repo.folder(place).status()


@pytest.mark.parametrize("path", ["../out", "/etc/x", "a/../../out", ".ana-manifest", "a\nb"])
def test_a_tree_that_was_made_to_harm_writes_nothing(repo: ab.Repository, tmp_path: Path, path: str) -> None:
    tree = repo.files()

    class Hostile:
        def walk(self) -> list[FileStat]:
            return [FileStat(path, 1), *tree.walk()]

        def stream(self, path: str) -> list[bytes]:
            return [b"x"]

    place = tmp_path / "deep" / "work"
    with pytest.raises(ab.AnabranchError):
        LocalFolder(place).checkout(Hostile(), None)  # type: ignore[arg-type]
    assert not place.exists()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["store"]


def test_a_damaged_manifest_is_told(repo: ab.Repository, tmp_path: Path) -> None:
    repo.checkout(tmp_path / "work")
    (tmp_path / "work" / MANIFEST).write_text('{"files": {"../x": [1, 2, 3, "a"]}}')
    with pytest.raises(ab.Corrupt, match="manifest"):
        repo.folder(tmp_path / "work").status()


def test_a_tree_is_checked_out_by_itself(repo: ab.Repository, tmp_path: Path) -> None:
    with repo.commit("main", "files") as tx:
        tx.files.put("own/f", "f")
    assert repo.files().checkout(tmp_path / "here") == repo.files().count()
    assert (tmp_path / "here" / "own" / "f").read_text() == "f"
    assert not repo.folder(tmp_path / "here").status()
    (tmp_path / "here" / "own" / "f").write_text("changed")
    with pytest.raises(ab.AlreadyExists, match="would be lost"):
        repo.files().checkout(tmp_path / "here")


def test_what_was_taken_in_counts_as_changed_until_its_commit_is_published(repo: ab.Repository, tmp_path: Path) -> None:
    repo.checkout(tmp_path / "work")
    folder = repo.folder(tmp_path / "work")
    (tmp_path / "work/a.txt").write_text("A")
    (tmp_path / "work/log").unlink()
    changed = folder.status()
    with pytest.raises(ZeroDivisionError), repo.commit("main", "fails") as tx:
        assert folder.add(tx) == changed
        assert 1 / 0
    assert folder.status() == changed
    opened = repo.start("main", message="fails in part")
    with pytest.raises(ZeroDivisionError), opened.all_or_nothing():
        folder.add(opened)
        assert 1 / 0
    assert folder.status() == changed
    with opened.all_or_nothing():
        folder.add(opened)
    assert not folder.status()
    opened.finish()
    assert repo.files().read("a.txt") == b"A"
    assert "log" not in repo.files()


def test_an_edit_while_a_file_is_taken_in_is_seen(
    repo: ab.Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.checkout(tmp_path / "work")
    folder, edited = repo.folder(tmp_path / "work"), tmp_path / "work/a.txt"
    edited.write_text("A")
    put = FilesWriter.put

    def put_then_edit(self: FilesWriter, path: str, content: Path) -> None:
        put(self, path, content)
        content.write_text("B")

    monkeypatch.setattr(FilesWriter, "put", put_then_edit)
    with repo.commit("main", "from the folder") as tx:
        folder.add(tx)
    assert repo.files().read("a.txt") == b"A"
    assert folder.status().changed == ("a.txt",)


def test_what_was_taken_into_work_that_is_given_up_counts_as_changed_again(repo: ab.Repository, tmp_path: Path) -> None:
    repo.checkout(tmp_path / "work")
    folder, edited = repo.folder(tmp_path / "work"), tmp_path / "work/a.txt"
    edited.write_text("A")
    (tmp_path / "work/new").write_text("new")
    (tmp_path / "work/log").unlink()
    changed = folder.status()
    work = repo.start("main", message="from the folder")
    folder.add(work)
    assert not folder.status()
    work.files.put("a.txt", "other")
    assert folder.status().changed == ("a.txt",)
    folder.add(work)
    work.abort()
    assert folder.status() == changed
    for checkout in (repo.checkout, repo.files().checkout):
        with pytest.raises(ab.AlreadyExists, match="would be lost"):
            checkout(tmp_path / "work")
    assert edited.read_text() == "A"
    with repo.commit("main", "again") as tx:
        folder.add(tx)
    assert not folder.status()
    assert repo.files().read("new") == b"new"
    assert repo.files().checkout(tmp_path / "work") == 3


def test_what_was_taken_into_open_work_is_known_whatever_way_it_is_published(
    repo: ab.Repository, tmp_path: Path
) -> None:
    place = tmp_path / "work"
    repo.checkout(place)
    folder = repo.folder(place)
    for n, publish in enumerate((repo.start, repo.amend, repo.carry_over)):
        (place / "a.txt").write_text(f"edit {n}")
        work = repo.start("main", message="from the folder")
        folder.add(work)
        if publish == repo.amend:
            repo.amend("main", work=work)
        elif publish == repo.carry_over:
            repo.carry_over(work, "carried").finish()
        else:
            work.finish()
        assert not folder.status()
    with repo.commit("main", "another") as tx:
        tx.files.put("a.txt", "later")
    assert not folder.status()
    repo.checkout(place, "main")
    assert (place / "a.txt").read_text() == "later"


def test_a_commit_that_overwrote_what_it_took_in_does_not_hold_it(repo: ab.Repository, tmp_path: Path) -> None:
    repo.checkout(tmp_path / "work")
    folder = repo.folder(tmp_path / "work")
    (tmp_path / "work/a.txt").write_text("A")
    with repo.commit("main", "twice") as tx:
        folder.add(tx)
        tx.files.put("a.txt", "B")
    assert folder.status().changed == ("a.txt",)


def test_patterns_leave_versioned_files_alone_and_are_versioned_themselves(repo: ab.Repository, tmp_path: Path) -> None:
    place = tmp_path / "work"
    with repo.commit("main", "patterns") as tx:
        tx.files.put(".anaignore", "log\ndeep/\n/top\n")
    repo.checkout(place)
    folder = repo.folder(place)
    assert not folder.status()
    (place / "log").write_text("edited")
    (place / "deep/b.txt").write_text("edited")
    (place / "deep/new").write_text("ignored")
    (place / "top").write_text("ignored")
    (place / "q/log").mkdir(parents=True)
    (place / "q/log/f").write_text("ignored")
    (place / "q/top").write_text("not ignored")
    (place / ".anaignore").write_text("log\ndeep/\n/top\n# more\n")
    found = folder.status()
    assert (found.added, found.changed, found.removed) == (("q/top",), (".anaignore", "log", "deep/b.txt"), ())


def test_a_folder_in_a_checkout_is_that_part_of_it(repo: ab.Repository, tmp_path: Path) -> None:
    place = tmp_path / "work"
    repo.checkout(place)
    (place / "a.txt").write_text("A")
    (place / "deep/b.txt").unlink()
    (place / "deep/new").write_text("new")
    part = repo.folder(place / "deep")
    found = part.status()
    assert (found.added, found.changed, found.removed) == (("deep/new",), (), ("deep/b.txt",))
    with repo.commit("main", "a part") as tx:
        assert part.add(tx) == found
    assert sorted(s.path for s in repo.files().walk()) == ["a.txt", "deep/new", "log"]
    assert not part.status()
    assert sorted(os.listdir(place / "deep")) == ["new"]
    assert repo.folder(place).status().changed == ("a.txt",)


def test_a_link_in_a_checkout_is_no_part_of_it(repo: ab.Repository, tmp_path: Path) -> None:
    repo.checkout(tmp_path / "work")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/f").write_text("f")
    (tmp_path / "work/link").symlink_to(tmp_path / "outside")
    assert repo.folder(tmp_path / "work/link").status().added == ("f",)


@pytest.mark.parametrize("is_open", [False, True], ids=["commit", "open"])
def test_files_that_became_folders_and_folders_that_became_files_are_taken_in(
    repo: ab.Repository, tmp_path: Path, is_open: bool
) -> None:
    place = tmp_path / "work"
    repo.checkout(place)
    (place / "deep/b.txt").unlink()
    (place / "deep").rmdir()
    (place / "deep").write_text("a file now")
    (place / "log").unlink()
    (place / "log").mkdir()
    (place / "log/f").write_text("in a folder now")
    if is_open:
        work = repo.start("main", message="swapped")
        repo.folder(place).add(work)
        work.finish()
    else:
        with repo.commit("main", "swapped") as tx:
            repo.folder(place).add(tx)
    assert [s.path for s in repo.files().walk()] == ["a.txt", "deep", "log/f"]
    assert not repo.folder(place).status()


def test_a_store_is_no_part_of_the_folder_that_it_lies_in(tmp_path: Path) -> None:
    with ab.init(tmp_path / "shop") as repo:
        place = tmp_path / "shop"
        (place / "a.txt").write_text("a")
        (place / "sub").mkdir()
        (place / "sub" / ".anabranch").mkdir()
        (place / "sub" / ".anabranch" / "catalog.db").write_text("another store")
        assert repo.folder(place).status().added == ("a.txt",)
        with repo.commit("main", "all of it") as tx:
            repo.folder(place).add(tx)
            tx.files.put_all("copies", place)
        paths = [stat.path for stat in repo.files().walk() if not stat.is_folder]
        assert "a.txt" in paths
        assert not [path for path in paths if ".anabranch" in path]


@pytest.mark.parametrize("path", [".anabranch/catalog.db", "deep/.anabranch/catalog.db", ".Anabranch/objects/x"])
def test_no_checkout_writes_into_a_store(tmp_path: Path, path: str) -> None:
    with ab.init(tmp_path / "shop") as repo:
        write_unchecked(repo, path, "a store in a store")
        for place in (tmp_path / "shop", tmp_path / "empty"):
            with pytest.raises(ab.InvalidRequest, match=r"would be written into a store's own folder \(move it"):
                repo.checkout(place, "main", force=True)
        assert not (tmp_path / "empty").exists()
        assert [commit.message for commit in repo.log()] == ["a store in a store", "start"]


def write_unchecked(repo: ab.Repository, path: str, message: str) -> None:
    """Publish a file at a path that no put takes, as an earlier version or a stranger could."""
    with repo.commit("main", message) as tx:
        tx.files._put_small(path, b"not this one", None)


UNWRITABLE = [
    ".git/config",
    "sub/.git/hooks/post-checkout",
    ".GIT/config",
    "sub/.git",
    ".git./config",
    ".gi\u200ct/config",
    "git~1/config",
    ".git::$INDEX_ALLOCATION/config",
    ".anabranch/catalog.db",
    "deep/.AnaBranch/x",
    ".ana-manifest",
    ".ana-manifest.t234567abcdefghij",
]


@pytest.mark.parametrize("path", UNWRITABLE)
def test_what_no_checkout_writes_is_refused_by_put_and_named_by_verify(tmp_path: Path, path: str) -> None:
    with ab.init(tmp_path / "store", engine="duck") as repo:
        with repo.commit("main", "fine") as tx:
            tx.files.put("fine.txt", "fine")
            for write in (
                lambda: tx.files.put(path, "x"),
                lambda: tx.files.put(path, "x" * 100_000),
                lambda: tx.files.append(path, "x"),
                lambda: tx.files.copy("fine.txt", path),
                lambda: tx.files.move("fine.txt", path),
                lambda: tx.files.make_folder(path),
            ):
                with pytest.raises(ab.InvalidRequest, match="can't be versioned"):
                    write()
        assert repo.verify().damages == ()
        write_unchecked(repo, path, "hostile")
        with pytest.raises(ab.InvalidRequest, match="is not checked out"):
            repo.checkout(tmp_path / "work")
        assert not (tmp_path / "work").exists()
        (damage,) = repo.verify().damages
        assert repr(path) in damage.what
        assert repo.files().read(path) == b"not this one"
        with repo.commit("main", "mended") as tx:
            tx.files.move(path, "mended")
        assert repo.verify().damages == ()
        assert repo.checkout(tmp_path / "work") == 2


def test_names_that_are_not_gits_are_checked_out(repo: ab.Repository, tmp_path: Path) -> None:
    paths = [".gitignore", ".github/ci.yml", "a.git/config", ".ana-manifests", "sub/.ana-manifest", ".git-hooks/x"]
    with repo.commit("main", "names") as tx:
        for path in paths:
            tx.files.put(path, path)
    repo.checkout(tmp_path / "work")
    assert all((tmp_path / "work" / path).read_text() == path for path in paths)
    assert not repo.folder(tmp_path / "work").status()
    assert repo.verify().damages == ()


@pytest.mark.parametrize("git", ["a folder", "a file"])
def test_what_git_keeps_in_a_folder_is_not_taken_in(repo: ab.Repository, tmp_path: Path, git: str) -> None:
    place = tmp_path / "work"
    repo.checkout(place)
    for top in (place, place / "deep"):
        if git == "a folder":
            (top / ".git").mkdir()
            (top / ".git" / "config").write_text("[core]")
        else:
            (top / ".git").write_text("gitdir: ../elsewhere")
    (place / "new").write_text("new")
    assert repo.folder(place).status().added == ("new",)
    with repo.commit("main", "taken in") as tx:
        repo.folder(place).add(tx)
        tx.files.put_all("copy", place)
        tx.files.put_all("", place)
    assert not [s.path for s in repo.files().walk() if ".git" in s.path]
    assert "copy/new" in repo.files()


def test_files_named_as_ours_are_while_they_are_written_are_kept(repo: ab.Repository, tmp_path: Path) -> None:
    place, name = tmp_path / "work", ".ana-t234567abcdefghij"
    with repo.commit("main", "a name like ours") as tx:
        tx.files.put(name, "kept")
        tx.files.put(f"deep/{name}", "kept, too")
    repo.checkout(place)
    assert (place / name).read_text() == "kept"
    assert (place / "deep" / name).read_text() == "kept, too"
    assert not repo.folder(place).status()
    own = ".ana-tzzzzzzzzzzzzzzzz"
    (place / own).write_text("my own")
    (place / f"{MANIFEST}.t234567abcdefghij").write_text("my own, too")
    assert repo.folder(place).status().added == (own,)
    with repo.commit("main", "more") as tx:
        tx.files.put("more", "more")
    repo.checkout(place, force=True)
    assert (place / own).read_text() == "my own"
    assert (place / f"{MANIFEST}.t234567abcdefghij").read_text() == "my own, too"
