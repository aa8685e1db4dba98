"""Stores whose files an earlier version hid or counted wrongly: they open, read, verify, and are repaired."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import anabranch as ab
from anabranch.cli.main import run
from anabranch.model.facts import REPAIR
from tests.repo.upkeep.damaged_stores import restore

SHOWN = {
    "hidden-two": {"main": ["d/b.txt"]},
    "hidden-open": {"main": ["open/1"]},
    "hidden-four": {"main": ["folder", "logs/1", "logs/4"], "dev": ["dev.txt", "logs/4"]},
}
HIDDEN = {
    "hidden-two": {"main": ["a.txt"]},
    "hidden-open": {"main": ["open/0"]},
    "hidden-four": {"main": ["logs/2"], "dev": ["folder/x", "logs/1", "logs/2"]},
}
COUNTED = ("counts", "negative")


def paths(repo: ab.Repository, at: str) -> list[str]:
    return [s.path for s in repo.files(at=at).walk()]


def counted(repo: ab.Repository, at: str) -> int:
    """The number of files that the catalogue says."""
    return repo.files(at=at).row_count


def check_counts(repo: ab.Repository) -> None:
    for branch in repo.branches():
        assert counted(repo, branch.name) == len(paths(repo, branch.name)), branch.name


@pytest.mark.parametrize("name", SHOWN)
def test_hidden_files_are_named_kept_by_gc_and_brought_back(name: str, tmp_path: Path) -> None:
    with ab.open(restore(name, tmp_path), engine="duck", author="ann") as repo:
        hashes = [c.hash for c in repo.log()]
        assert {b.name: paths(repo, b.name) for b in repo.branches()} == SHOWN[name]
        repo.gc(grace=0, reflog=0)
        found = repo.verify(deep=True)
        assert found.known
        named = {d.affects.branches[0]: d for d in found.damages}
        assert named.keys() == HIDDEN[name].keys()
        for branch, hidden in HIDDEN[name].items():
            assert all(repr(path) in named[branch].what for path in hidden)
            assert "verify --repair" in named[branch].hint
        made = repo.repair()
        assert len(made) == len(HIDDEN[name])
        for branch, hidden in HIDDEN[name].items():
            assert paths(repo, branch) == sorted([*SHOWN[name][branch], *hidden])
            assert paths(repo, f"{branch}~1") == SHOWN[name][branch]
            assert all(repo.files(at=branch).read(path) for path in hidden)
        check_counts(repo)
        assert repo.verify(deep=True).damages == ()
        assert repo.repair() == []
        assert [c.hash for c in repo.log()][1:] == hashes
        assert REPAIR.value(repo.show("main").facts) is not None


@pytest.mark.parametrize("name", [*SHOWN, *COUNTED])
def test_the_next_commit_counts_what_is_there(name: str, tmp_path: Path) -> None:
    with ab.open(restore(name, tmp_path), engine="duck", author="ann") as repo:
        before = repo.verify()
        for n in range(3):
            with repo.commit("main", "next") as tx:
                tx.files.put(f"next/{n}", "n")
            check_counts(repo)
        after = repo.verify(deep=True)
        assert set(after.known) == set(before.known)
        assert len(after.damages) == len(before.damages)


@pytest.mark.parametrize("name", COUNTED)
def test_wrong_counts_are_known_and_no_damage(name: str, tmp_path: Path) -> None:
    store = restore(name, tmp_path)
    with ab.open(store, engine="duck", author="ann") as repo:
        check_counts(repo)
        found = repo.verify(deep=True)
        assert found.damages == ()
        assert found.is_sound
        commits = {c.hash[:12] for c in repo.log("main")}
        assert found.known
        assert all(fault.affects.commit in commits and "files" in fault.what for fault in found.known)
        assert repo.repair() == []
    assert ab.backup(str(store), str(tmp_path / "backup")).file_count == 0
    ab.restore_store(str(tmp_path / "backup"), str(tmp_path / "again"))
    with ab.open(tmp_path / "again") as repo:
        assert repo.verify().damages == ()


@pytest.mark.parametrize("name", ["counts", "negative"])
def test_files_that_were_miscounted_are_folded_and_counted_right(name: str, tmp_path: Path) -> None:
    few = ab.Settings(folding=ab.FoldingSettings(commit_limit=2, rewrite_row_limit=100))
    with ab.open(restore(name, tmp_path), engine="duck", author="ann", settings=few) as repo:
        for n in range(9):
            with repo.commit("main", "more") as tx:
                tx.files.put(f"next/{n}", "n")
                if n % 3 == 2:
                    tx.files.delete(f"next/{n - 1}")
            assert len(paths(repo, "main")) == counted(repo, "main")
        assert repo.verify(deep=True).damages == ()


def test_files_whose_number_only_reading_tells_are_counted_anew(tmp_path: Path) -> None:
    with ab.open(restore("kept-deletes", tmp_path), engine="duck", author="ann") as repo:
        before = {path: repo.files().read(path) for path in paths(repo, "main")}
        assert counted(repo, "main") == len(before) - 3
        found = repo.verify(deep=True)
        assert found.damages == ()
        assert [f.where for f in found.known if "they are 184" in f.what] == ["the files of branch 'main'"]
        assert repo.repair() == []
        check_counts(repo)
        assert {path: repo.files().read(path) for path in paths(repo, "main")} == before
        with repo.commit("main", "next") as tx:
            tx.files.put("next", "n")
        check_counts(repo)
        after = repo.verify(deep=True)
        assert after.damages == ()
        assert not [f for f in after.known if "184" in f.what]


def test_a_put_at_a_hidden_path_beside_a_repair_is_refused(tmp_path: Path) -> None:
    with ab.open(restore("hidden-two", tmp_path), engine="duck", author="ann") as repo:
        block = repo.commit("main", "begun before the repair")
        tx = block.__enter__()
        tx.files.put("a.txt", "another")
        repo.repair()
        with pytest.raises(ab.BranchMoved, match=r"a\.txt"):
            block.__exit__(None, None, None)
        assert paths(repo, "main") == ["a.txt", "d/b.txt"]
        assert repo.verify(deep=True).damages == ()


def test_a_branch_from_before_is_merged_with_what_was_brought_back(tmp_path: Path) -> None:
    with ab.open(restore("hidden-two", tmp_path), engine="duck", author="ann") as repo:
        repo.branch("early", at="main~1")
        with repo.commit("early", "an append to what main hides") as tx:
            tx.files.append("a.txt", "more")
        expected = repo.files(at="early").read("a.txt")
        repo.repair()
        repo.merge("early", into="main")
        assert repo.files().read("a.txt") == expected
        check_counts(repo)
        assert repo.verify(deep=True).damages == ()


def test_a_merge_before_the_repair_loses_nothing(tmp_path: Path) -> None:
    with ab.open(restore("hidden-two", tmp_path), engine="duck", author="ann") as repo:
        repo.branch("early", at="main~1")
        with repo.commit("early", "an append to what main hides") as tx:
            tx.files.append("a.txt", "more")
        expected = repo.files(at="early").read("a.txt")
        repo.merge("early", into="main")
        repo.repair()
        assert repo.files().read("a.txt") == expected
        check_counts(repo)


def test_the_command_line_names_and_repairs(tmp_path: Path, capsys: Any, monkeypatch: Any) -> None:
    monkeypatch.chdir(restore("hidden-two", tmp_path))
    assert run(["verify"]) == 8
    shown = capsys.readouterr().out
    assert "'a.txt'" in shown
    assert "known: " in shown
    assert run(["verify", "--repair"]) == 0
    assert "brings back hidden files" in capsys.readouterr().out
    assert run(["file", "ls"]) == 0
    assert "a.txt" in capsys.readouterr().out
