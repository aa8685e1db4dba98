"""Conflicts of files, resolved by side and by content; files that one side moved."""

from __future__ import annotations

from pathlib import Path

import pytest

import anabranch as ab


@pytest.fixture
def repo(tmp_path: Path) -> ab.Repository:
    """Two files that both branches put anew."""
    repo = ab.init(tmp_path / "store")
    commit(repo, "main", a="base\n", b="base\n")
    repo.branch("dev")
    commit(repo, "dev", a="theirs\n", b="theirs\n")
    commit(repo, "main", a="ours\n", b="ours\n")
    return repo


def commit(repo: ab.Repository, branch: str, **files: str) -> None:
    with repo.commit(branch, "files") as tx:
        for path, content in files.items():
            tx.files.put(path, content)


def test_conflicts_are_resolved_by_content_and_by_side_and_decided_otherwise(repo: ab.Repository) -> None:
    kept = repo.start_merge("dev", into="main")
    assert kept.resolve(file="a", content="both\n") == 1
    assert [c["path"] for c in kept.conflicts.files.rows()] == ["b"]
    assert kept.resolve(file="a", content=b"x" * 300_000) == 1
    assert kept.resolve(file="b", take="theirs") == 1
    assert kept.diff().files.rows()[0]["after_bytes"] == 300_000
    kept.finish()
    assert repo.files().read("a") == b"x" * 300_000
    assert repo.files().read("b") == b"theirs\n"
    assert repo.verify().damages == ()
    with repo.commit("main", "more") as tx:
        tx.files.append("a", "y")
    assert repo.files().stat("a").size == 300_001


def test_sql_resolves_files_by_side_and_by_text(repo: ab.Repository) -> None:
    repo.start_merge("dev", into="main")
    assert repo.sql("RESOLVE FILE 'a' TAKE THEIRS").rows() == [{"table": "a", "resolved": 1, "left": 1}]
    repo.sql("RESOLVE FILE 'b' CONTENT 'by hand'")
    repo.sql("CONTINUE MERGE")
    assert [repo.files().read(p) for p in "ab"] == [b"theirs\n", b"by hand"]


def test_bad_resolutions_of_files_are_refused(repo: ab.Repository) -> None:
    kept = repo.start_merge("dev", into="main")
    with pytest.raises(ab.InvalidRequest, match=r"take= or content="):
        kept.resolve(file="a", take="ours", content="x")
    with pytest.raises(ab.InvalidRequest, match="for files"):
        kept.resolve("orders", content="x")
    with pytest.raises(ab.NotFound, match="that is in conflict"):
        kept.resolve(file="c", content="x")
    with pytest.raises(ab.InvalidRequest, match="too many to resolve"):
        kept.resolve(file="a", content=bytes(17_000_000))


@pytest.mark.parametrize("mover", ["main", "dev"])
def test_what_was_appended_follows_a_file_that_the_other_side_moved(tmp_path: Path, mover: str) -> None:
    repo = ab.init(tmp_path / "store")
    writer = {"main": "dev", "dev": "main"}[mover]
    with repo.commit("main", "base") as tx:
        tx.files.append("logs/a", "1\n")
        tx.files.put("gone", "x")
    repo.branch("dev")
    with repo.commit(mover, "move") as tx:
        tx.files.move("logs/a", "old/a")
        tx.files.append("old/a", "2\n")
        tx.files.delete("gone")
    with repo.commit(writer, "append") as tx:
        tx.files.append("logs/a", "3\n")
        tx.files.append("gone", "y")
    with pytest.raises(ab.MergeConflict) as caught:
        repo.merge("dev", into="main")
    found = {c["path"]: c["moved_to"] for c in caught.value.conflicts.files.rows()}
    assert found == {"logs/a": "old/a", "gone": None}
    with pytest.raises(ab.MergeConflict) as caught:
        repo.merge("dev", into="main", rules={"files:**": "follow"})
    assert [c["path"] for c in caught.value.conflicts.files.rows()] == ["gone"]
    repo.merge("dev", into="main", rules={"files:logs/**": "follow", "files:gone": "theirs"})
    assert repo.files().read("old/a") == b"1\n2\n3\n"
    assert "logs/a" not in repo.files()
    assert repo.verify(deep=True).damages == ()
    assert repo.merge("dev", into="main").up_to_date
