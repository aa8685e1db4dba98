"""Refs, from text to a commit: every form of the design, on both catalogues."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Iterator

import pytest

import anabranch as ab
from anabranch.catalog import publish
from tests.catalog import stores
from tests.catalog.stores import make_table, put

store = stores.store
repo = stores.repo


class History:
    """main has root, make t, put 2, put 3; dev sprang from put 2 and has put 4, put 5; v1 is at put 2."""

    def __init__(self, repo: ab.Repository) -> None:
        self.repo = repo
        self.commits = {"root": repo.show(), "make": make_table(repo, "t"), "2": put(repo, "t", 2)}
        repo.tag("v1")
        repo.branch("dev")
        self.commits |= {"3": put(repo, "t", 3)}
        self.commits |= {n: put(repo, "t", int(n), branch="dev") for n in ("4", "5")}

    def at(self, ref: str | None) -> str:
        hash_ = self.repo.show(ref).hash
        return next(name for name, c in self.commits.items() if c.hash == hash_)


@pytest.fixture(scope="module")
def history(store: stores.Store) -> Iterator[History]:
    """One history for all tests that only read it."""
    with store.init() as repo:
        yield History(repo)


@pytest.mark.parametrize(
    ("ref", "expected"),
    [
        (None, "3"),
        ("main", "3"),
        ("HEAD", "3"),
        ("~1", "2"),
        ("dev", "5"),
        ("v1", "2"),
        ("main~0", "3"),
        ("main~", "2"),
        ("main~2", "make"),
        ("main~3", "root"),
        ("dev~1", "4"),
        ("dev~2", "2"),
        ("dev~4", "root"),
        ("dev^", "4"),
        ("dev^^", "2"),
        ("dev^1~1^1", "make"),
        ("dev^0", "5"),
        ("v1~1", "make"),
        ("main/0", "root"),
        ("main/3", "3"),
        ("dev/3", "4"),
        ("dev/4~1", "4"),
        ("dev/0", "root"),
        ("dev/2", "2"),
        ("dev/3~1", "2"),
        ("main@{0}", "3"),
        ("main@{1}", "2"),
        ("main@{3}", "root"),
        ("dev@{2}", "2"),
        ("main@{1}~1", "make"),
        ("main@{2100-01-01}", "3"),
    ],
)
def test_a_ref_names_a_commit(history: History, ref: str | None, expected: str) -> None:
    assert history.at(ref) == expected


@pytest.mark.parametrize("length", [6, 7, 12, 40, 64])
def test_a_hash_or_a_prefix_of_it_names_a_commit(history: History, length: int) -> None:
    for name, commit in history.commits.items():
        assert history.at(commit.hash[:length]) == name
        assert history.at(commit.hash[:length].upper()) == name
    assert history.at(history.commits["5"].hash[:length] + "~2") == "2"


@pytest.mark.parametrize(
    "ref",
    [
        "nothing",
        "Main",
        "main~4",
        "main~99",
        "dev~5",
        "main^2",
        "main^99",
        "main/4",
        "main/99",
        "main/99999999999999999999",
        "nothing/0",
        "dev/5",
        "v1/0",
        "main@{4}",
        "main@{99}",
        "main@{2001-01-01}",
        "main@{0001-01-01T00:00:00+14:00}",
        "abcde",
        "0" * 64,
        " main",
        "main ",
        "main\n",
        "%",
        "_",
        "ma%",
        "'; DROP TABLE commits; --",
        "ref" * 1000,
    ],
)
def test_what_is_not_there_is_not_found(history: History, ref: str) -> None:
    with pytest.raises(ab.NotFound) as caught:
        history.repo.show(ref)
    assert caught.value.hint
    assert caught.value.ref == ref


@pytest.mark.parametrize(
    "ref",
    [
        "v1@{0}",
        "main~1@{0}",
        "main/0@{0}",
        "main..dev",
        "",
        "main@{x}",
        "main~99999999999999999999999",
        "main^99999999999999999999999",
        "main@{99999999999999999999999}",
        " ",
        "\n\t",
        "a\x00b",
        "a\ud800b",
    ],
)
def test_what_makes_no_sense_is_refused(history: History, ref: str) -> None:
    with pytest.raises((ab.InvalidRequest, ab.NotFound)):
        history.repo.show(ref)


def test_every_verb_that_reads_takes_every_ref(history: History) -> None:
    repo = history.repo
    for ref in ("main~1", "v1", history.commits["2"].hash, "main/2", "main@{1}"):
        assert sorted(r["id"] for r in repo.table("t", at=ref).rows()) == [1, 2]
        assert [t.row_count for t in repo.tables(at=ref)] == [2]
        assert repo.namespaces(at=ref) == []
        assert repo.log(ref)[0].hash == history.commits["2"].hash
        assert [c.table for c in repo.show_changes(ref)] == ["t"]
        assert repo.is_ancestor(ref, "main")
        assert [c.hash for c in repo.merge_base(ref, "dev")] == [history.commits["2"].hash]


def test_a_prefix_that_fits_several_commits_is_refused(repo: ab.Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    hashes = iter(["abcdef1" + "0" * 57, "abcdef2" + "0" * 57])
    monkeypatch.setattr(publish, "commit_hash", lambda *_: next(hashes))
    make_table(repo, "t")
    put(repo, "t", 2)
    with pytest.raises(ab.InvalidRequest, match="several"):
        repo.show("abcdef")
    assert repo.show("abcdef1").message == "make t"
    assert repo.show("ABCDEF2").message == "put 2 in t"
    with pytest.raises(ab.NotFound):
        repo.show("abcdef3")


def test_a_branch_or_tag_comes_before_a_hash(repo: ab.Repository) -> None:
    first = make_table(repo, "t")
    second = put(repo, "t", 2)
    repo.branch(second.hash[:8], at=first.hash)
    assert repo.show(second.hash[:8]).hash == first.hash
    assert repo.show(second.hash[:9]).hash == second.hash
    repo.tag(first.hash[:8], at=second.hash)
    assert repo.show(first.hash[:8]).hash == second.hash


def test_a_time_names_what_the_branch_showed_then(repo: ab.Repository) -> None:
    made = make_table(repo, "t")
    between = _now()
    late = put(repo, "t", 2)
    repo.reset("main", to="main~1")
    after_reset = _now()
    again = put(repo, "t", 3)
    assert repo.show(f"main@{{{between}}}").hash == made.hash
    assert repo.show(f"main@{{{after_reset}}}").hash == made.hash
    assert repo.show(f"main@{{{_now()}}}").hash == again.hash
    assert repo.show(f"main@{{{late.finished_at.isoformat()}}}").hash in (made.hash, late.hash)
    moved = {m.after: m.moved_at for m in repo.reflog()}
    assert repo.show(f"main@{{{moved[late.hash].isoformat()}}}").hash == late.hash


def test_a_branch_shows_nothing_before_it_was_made_even_if_a_namesake_did(repo: ab.Repository) -> None:
    make_table(repo, "t")
    repo.branch("dev")
    then = _now()
    repo.delete_branch("dev")
    repo.branch("dev")
    with pytest.raises(ab.NotFound, match="not there yet"):
        repo.show(f"dev@{{{then}}}")
    assert repo.show("dev@{0}").message == "make t"


def test_a_renamed_branch_remembers_what_it_showed(repo: ab.Repository) -> None:
    make_table(repo, "t")
    repo.branch("dev")
    then = _now()
    put(repo, "t", 2, branch="dev")
    repo.rename_branch("dev", "qa")
    assert repo.show(f"qa@{{{then}}}").message == "make t"


def test_a_near_miss_is_told_the_nearest_name(repo: ab.Repository) -> None:
    repo.branch("feature/login")
    with pytest.raises(ab.NotFound) as caught:
        repo.show("feature/logn~2")
    assert "feature/login" in str(caught.value.hint)


def _now() -> str:
    """A time that lies strictly between what was done and what will be."""
    time.sleep(0.002)
    moment = dt.datetime.now(dt.UTC).isoformat()
    time.sleep(0.002)
    return moment
