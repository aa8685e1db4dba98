"""Merging files: appends go together, the rest is decided by rules or by hand; two writers of one file, too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import anabranch as ab
from anabranch.engines.duck import DuckEngine
from anabranch.queries.query import Query


@pytest.fixture
def repo(tmp_path: Path) -> ab.Repository:
    return ab.init(tmp_path / "store")


def write(repo: ab.Repository, branch: str, **told: str | None) -> ab.Commit:
    """Write files: `put_a="x"`, `append_a="x"`, `delete_a=None`."""
    with repo.commit(branch, ", ".join(told)) as tx:
        for word, content in told.items():
            verb, _, path = word.partition("_")
            getattr(tx.files, verb)(path, *([] if content is None else [content]))
    assert tx.commit is not None
    return tx.commit


def contents(repo: ab.Repository, at: str = "main") -> dict[str, str]:
    tree = repo.files(at=at)
    return {s.path: tree.read(s.path).decode() for s in tree.walk() if not s.is_folder}


def kinds(error: pytest.ExceptionInfo[ab.MergeConflict]) -> dict[str, str]:
    return {row["path"]: row["kind"] for row in error.value.conflicts.files.rows()}


def test_commits_of_which_nothing_stays_are_not_rewritten_one_by_one(
    repo: ab.Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A log that both sides append to: what the merge asks does not grow with their commits."""
    asked: list[Query] = []
    fetch = DuckEngine.fetch

    def counted(self: DuckEngine, query: Query, *limits: Any) -> pa.Table:
        asked.append(query)
        return fetch(self, query, *limits)

    monkeypatch.setattr(DuckEngine, "fetch", counted)
    write(repo, "main", append_log="0\n", put_x="x")
    counts = []
    for count in (3, 12):
        repo.branch(f"dev{count}")
        for n in range(count):
            write(repo, f"dev{count}", append_log=f"{count} {n}\n")
        write(repo, "main", append_log="main\n")
        asked.clear()
        repo.merge(f"dev{count}", into="main")
        counts.append(len(asked))
    assert counts[1] <= counts[0] + 2, counts
    assert contents(repo)["log"].splitlines()[-12:] == [f"12 {n}" for n in range(12)]


def test_appends_of_several_sources_follow_one_another_and_are_taken_once(repo: ab.Repository) -> None:
    write(repo, "main", append_log="0\n", put_same="s", put_a="a")
    for branch in ("one", "two"):
        repo.branch(branch)
    write(repo, "one", append_log="1\n", put_same="equal", append_new="n1\n")
    write(repo, "two", append_log="2\n", put_same="equal", append_new="n2\n")
    write(repo, "one", append_log="1b\n")
    write(repo, "main", append_log="m\n")
    repo.merge(["one", "two"], into="main")
    assert contents(repo) == {"log": "0\nm\n1\n1b\n2\n", "same": "equal", "a": "a", "new": "n1\nn2\n"}
    write(repo, "two", append_log="2b\n")
    repo.merge("two", into="main")
    repo.merge("main", into="one")
    assert contents(repo)["log"] == "0\nm\n1\n1b\n2\n2b\n" == contents(repo, "one")["log"]
    assert repo.verify().damages == ()


def test_after_a_criss_cross_nothing_is_there_twice_and_nothing_is_lost(repo: ab.Repository) -> None:
    write(repo, "main", append_log="0\n")
    repo.branch("side")
    write(repo, "side", append_log="s\n")
    write(repo, "main", append_log="m\n")
    repo.branch("before", at="main")
    repo.merge("side", into="main")
    repo.merge("before", into="side")
    write(repo, "main", append_log="m2\n")
    write(repo, "side", append_log="s2\n")
    repo.merge("side", into="main")
    assert sorted(contents(repo)["log"].split()) == ["0", "m", "m2", "s", "s2"]


def test_what_does_not_go_together_is_a_conflict_that_names_paths_and_can_be_resolved(repo: ab.Repository) -> None:
    write(repo, "main", put_a="a", put_b="b", put_c="c")
    repo.branch("dev")
    write(repo, "dev", put_a="dev", delete_b=None, append_c="+", put_free="f")
    write(repo, "main", put_a="main", append_b="+", put_c="new")
    with pytest.raises(ab.MergeConflict, match=r"3 conflicts in file a \(replace/replace\)") as error:
        repo.merge("dev", into="main")
    assert kinds(error) == {"a": "replace/replace", "b": "append/delete", "c": "replace/append"}
    assert list(error.value.conflicts) == []
    merge = repo.start_merge("dev", into="main")
    assert merge.resolve(file="a", take="theirs") == 1
    assert merge.resolve(file="b", take="theirs") == 1
    assert len(merge.conflicts.files) == 1
    with pytest.raises(ab.NotFound):
        merge.resolve(file="free", take="ours")
    merge.resolve(file="c", take="ours")
    merge.finish()
    assert contents(repo) == {"a": "dev", "c": "new", "free": "f"}


def test_rules_decide_by_pattern(repo: ab.Repository) -> None:
    write(repo, "main", put_a="1\n2\n3\n", put_b="b", put_c="c")
    repo.branch("dev")
    write(repo, "dev", put_a="1\n2\n3\n4\n", put_b="dev", put_c="dev")
    write(repo, "main", put_a="0\n1\n2\n3\n", put_b="main", put_c="main")
    with pytest.raises(ab.InvalidRequest, match="no rule for files"):
        repo.merge("dev", into="main", rules={"files:a": "sum"})
    repo.merge("dev", into="main", rules={"files:a": "lines", "files:b": "concat", "files:*": "theirs"})
    assert contents(repo) == {"a": "0\n1\n2\n3\n4\n", "b": "maindev", "c": "dev"}


@pytest.mark.parametrize(("rule", "left"), [("ours", {"a": "main"}), ("theirs", {"b": "dev"})])
def test_a_rule_takes_the_side_that_deleted_a_file_as_well(
    repo: ab.Repository, rule: str, left: dict[str, str]
) -> None:
    write(repo, "main", put_a="a", put_b="b")
    repo.branch("dev")
    write(repo, "dev", delete_a=None, put_b="dev")
    write(repo, "main", put_a="main", delete_b=None)
    repo.merge("dev", into="main", rules={"files:**": rule})
    assert contents(repo) == left


def test_one_side_changes_the_bytes_of_a_file_and_the_other_what_is_said_of_it(repo: ab.Repository) -> None:
    first, second = ("".join(f"{seed} {n}\n" for n in range(40_000, 80_000)) for seed in (1, 2))
    write(repo, "main", put_a=first)
    repo.branch("dev")
    write(repo, "dev", put_a=second)
    with repo.commit("main", "not for everybody") as tx:
        tx.files.put("a", first, mode=0o600)
    repo.merge("dev", into="main")
    merged = repo.files().stat("a")
    assert contents(repo) == {"a": second}
    assert (merged.mode, merged.sha256) == (0o600, repo.files("dev").stat("a").sha256)


def test_a_file_of_one_side_is_no_folder_of_the_other(repo: ab.Repository) -> None:
    repo.branch("dev")
    with repo.commit("dev", "x") as tx:
        tx.files.put("a/b/c", "1")
    write(repo, "main", put_a="file", put_z="z")
    for source, into in (("dev", "main"), ("main", "dev")):
        with pytest.raises(ab.MergeConflict, match=r"a \(file/folder\)"):
            repo.merge(source, into=into)
    write(repo, "main", delete_a=None)
    repo.merge("dev", into="main")
    assert contents(repo) == {"a/b/c": "1", "z": "z"}


def _clash(repo: ab.Repository) -> None:
    """On main x is a folder, on dev a file; both wrote to `both`, and dev to `more`."""
    write(repo, "main", put_both="0")
    repo.branch("dev")
    with repo.commit("main", "folder") as tx:
        tx.files.put("x/y", "y")
        tx.files.put("x/z/deep", "z")
        tx.files.make_folder("x/empty")
        tx.files.put("both", "main")
    write(repo, "dev", put_x="file", put_both="dev", put_more="more")


@pytest.mark.parametrize(("source", "into"), [("dev", "main"), ("main", "dev")])
def test_a_file_against_a_folder_is_told_with_its_sides_along_with_other_conflicts(
    repo: ab.Repository, source: str, into: str
) -> None:
    _clash(repo)
    m = repo.start_merge(source, into=into)
    sides = {"main": "x/y", "dev": "x"}
    told = [(c["table"], c["kind"], c["ours"], c["theirs"]) for c in m.conflicts.objects]
    assert told == [("x", "file/folder", sides[into], sides[source])]
    assert [row["path"] for row in m.conflicts.files.rows()] == ["both"]
    assert m.conflicts.count() == 2
    with pytest.raises(ab.InvalidRequest, match="only a side can settle"):
        m.resolve(file="x", take="base")
    with pytest.raises(ab.NotFound, match="files are named by file="):
        m.resolve("x", take="ours")


@pytest.mark.parametrize("by", ["resolve", "rule"])
@pytest.mark.parametrize(("source", "into"), [("dev", "main"), ("main", "dev")])
@pytest.mark.parametrize("take", ["ours", "theirs"])
def test_a_file_against_a_folder_is_settled_by_a_side(
    repo: ab.Repository, source: str, into: str, take: Any, by: str
) -> None:
    _clash(repo)
    kept = into if take == "ours" else source
    if by == "rule":
        repo.merge(source, into=into, rules={"files:*": take})
    else:
        m = repo.start_merge(source, into=into)
        assert m.resolve(file="x", take="ours") == 1
        assert m.resolve(file="x", take=take) == 1  # another choice counts
        assert m.resolve(file="both", take=take) == 1
        assert not m.conflicts
        m.finish()
    own = {"x/y": "y", "x/z/deep": "z"} if kept == "main" else {"x": "file"}
    assert contents(repo, into) == {**own, "both": kept, "more": "more"}
    assert repo.verify().damages == ()
    write(repo, source, put_later="later")
    repo.merge(source, into=into)
    assert contents(repo, into) == {**own, "both": kept, "more": "more", "later": "later"}


def test_a_file_that_a_side_gives_back_may_be_a_folder_of_the_other(repo: ab.Repository) -> None:
    write(repo, "main", put_x="0")
    repo.branch("dev")
    write(repo, "dev", put_x="changed")
    with repo.commit("main", "a folder in its place") as tx:
        tx.files.delete("x")
        tx.files.put("x/y", "y")
    m = repo.start_merge("dev", into="main")
    assert not m.conflicts.objects
    m.resolve(file="x", take="theirs")
    assert [(c["ours"], c["theirs"]) for c in m.conflicts.objects] == [("x/y", "x")]
    m.resolve(file="x", take="theirs")
    m.finish()
    assert contents(repo) == {"x": "changed"}


def test_a_preview_shows_ours_where_a_file_is_a_folder(repo: ab.Repository) -> None:
    _clash(repo)
    seen = repo.preview("dev", into="main")
    assert len(seen.conflicts.objects) == 1
    assert contents(repo, seen.ref) == {"x/y": "y", "x/z/deep": "z", "both": "main", "more": "more"}


def test_commits_are_picked_reverted_rebased_squashed_and_replayed_with_their_files(repo: ab.Repository) -> None:
    write(repo, "main", append_log="0\n", put_a="a")
    repo.branch("dev")
    undone = write(repo, "dev", append_log="d\n")
    write(repo, "dev", append_log="later\n", put_b="b")
    write(repo, "main", append_log="m\n")
    with pytest.raises(ab.InvalidRequest, match="later commits depend on it"):
        repo.revert(undone.hash, on="dev")
    repo.revert(undone.hash, on="dev", three_way=True)
    assert contents(repo, "dev") == {"log": "0\nlater\n", "a": "a", "b": "b"}
    repo.branch("picked", at="main")
    repo.cherry_pick(undone.hash, on="picked")
    assert contents(repo, "picked")["log"] == "0\nm\nd\n"
    repo.branch("squashed", at="main")
    repo.merge("dev", into="squashed", mode="squash")
    assert contents(repo, "squashed") == {"log": "0\nm\nlater\n", "a": "a", "b": "b"}
    repo.rebase("dev", onto="main")
    assert contents(repo, "dev") == {"log": "0\nm\nlater\n", "a": "a", "b": "b"}
    assert repo.verify().damages == ()


def test_two_writers_who_append_to_one_file_both_go_through_unless_they_are_strict(repo: ab.Repository) -> None:
    def beside(verb: str, path: str, mine: str, other: str, *, strict: bool = False) -> None:
        with repo.commit("main", "mine", strict=strict) as tx:
            getattr(tx.files, verb)(path, mine)
            with repo.commit("main", "other") as second:
                second.files.append(path, other)

    beside("append", "log", "a\n", "b\n")
    beside("append", "log", "c\n", "d\n")
    assert contents(repo) == {"log": "b\na\nd\nc\n"}
    with pytest.raises(ab.BranchMoved, match="'log'"):
        beside("put", "log", "new", "more")
    with pytest.raises(ab.BranchMoved, match="others changed files"):
        beside("append", "log", "x", "y", strict=True)
    with pytest.raises(ab.AlreadyExists, match="file and a folder"), repo.commit("main", "mine") as tx:
        tx.files.put("d", "file")
        with repo.commit("main", "other") as second:
            second.files.put("d/e", "below")
    assert repo.verify().damages == ()


def test_tables_and_files_are_merged_in_one_commit(repo: ab.Repository) -> None:
    with repo.commit("main", "both") as tx:
        tx.create_table("files", [{"id": 1, "v": "a"}], key="id")
        tx.files.append("log", "0\n")
    repo.branch("dev")
    for branch in ("main", "dev"):
        with repo.commit(branch, "both") as tx:
            tx.table("files").insert([{"id": {"main": 2, "dev": 3}[branch], "v": branch}])
            tx.files.append("log", f"{branch}\n")
    made = repo.merge("dev", into="main").commit
    assert made.tables == ("files",)
    assert repo.table("files").count() == 3
    assert contents(repo) == {"log": "0\nmain\ndev\n"}
