"""Files that several sources wrote to, merged in one pass: it comes to what merging them one after another does."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import anabranch as ab
from anabranch.repo.commit.transaction import Transaction
from anabranch.repo.merge import merge as verb
from anabranch.repo.merge import united_files
from tests.repo.merge.merge_cases import Act, act

BOTH = ("main", "other")


def append(path: str, content: str) -> Act:
    return lambda tx: tx.files.append(path, content)


def put(path: str, content: str) -> Act:
    return lambda tx: tx.files.put(path, content)


def delete(path: str) -> Act:
    return lambda tx: tx.files.delete(path)


def source(repo: ab.Repository, name: str, *acts: Act) -> str:
    """A branch from main with one commit for each act."""
    repo.branch(name, at="main")
    act(repo, name, *acts)
    return name


def read(repo: ab.Repository, path: str, at: str = "main") -> str:
    return repo.files(at=at).read(path).decode()


@pytest.fixture
def one_pass(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Merge into main in one pass: it fails where sources would be merged one by one."""

    def merge(repo: ab.Repository, sources: Sequence[str], **how: Any) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(verb, "gather", lambda *_: pytest.fail("sources were merged one by one"))
            repo.merge(list(sources), into="main", **how)

    return merge


def ended(repo: ab.Repository, sources: Sequence[str], into: str, how: dict[str, Any]) -> Any:
    """Merge, and tell all that is to be seen of it."""
    before = repo.show(into).hash
    try:
        repo.merge(list(sources), into=into, **how)
    except ab.MergeConflict as error:
        found = error.conflicts
        return found.files.rows() if found.files else None, found.objects, str(error).replace(into, "")
    return seen(repo, into, before)


def seen(repo: ab.Repository, at: str, before: str) -> Any:
    tree = repo.files(at=at)
    stats = {s.path: s for s in tree.walk()}
    files = [path for path, s in stats.items() if not s.is_folder]
    blocks = {row.path: tree._blocks.leaves(row) for row in tree.rows_below("")}
    histories = {p: [(h.change, h.before, h.after) for h in repo.history(file=p, at=at)] for p in files}
    logs = {p: len(repo.log(at, path=p)) for p in files}
    told = [d.document() for d in repo.diff(before, at).files]
    return {p: read(repo, p, at) for p in files}, stats, blocks, histories, logs, told, len(repo.show(at).parents)


def in_both_ways(repo: ab.Repository, sources: list[str], monkeypatch: pytest.MonkeyPatch, **how: Any) -> Any:
    """Merge into main, and one by one into another branch at the same commit; both end alike."""
    repo.branch("other", at="main")
    ends = [ended(repo, sources, "main", how)]
    with monkeypatch.context() as patch:
        patch.setattr(verb, "lone_fork", lambda *_: None)
        ends.append(ended(repo, sources, "other", how))
    assert ends[0] == ends[1]
    return ends[0]


def test_appends_follow_one_another_in_the_order_given_and_commits_of_a_source_stay_together(
    duck: ab.Repository, one_pass: Callable[..., None]
) -> None:
    act(duck, "main", append("log", "0\n"))
    names = [source(duck, f"s{n}", *(append("log", f"{n}{k}\n") for k in "abc")) for n in range(3)]
    act(duck, "main", append("log", "main\n"))
    one_pass(duck, [names[2], names[0], names[1]])
    assert read(duck, "log").split() == ["0", "main", *(f"{n}{k}" for n in (2, 0, 1) for k in "abc")]
    assert duck.verify().damages == ()


def test_files_that_sources_began_by_appending_and_files_of_their_own_come_in_one_pass(
    duck: ab.Repository, one_pass: Callable[..., None]
) -> None:
    act(duck, "main", lambda tx: tx.create_table("t", [{"id": 0}], key="id"))

    def job(n: int) -> Callable[[Transaction], Any]:
        def run(tx: Transaction) -> None:
            tx.files.append("new", f"{n} ")
            tx.files.put(f"own/{n}", "x" * 30 * n)
            tx.files.put("same", "equal")
            tx.table("t").insert([{"id": 10 + n}])

        return run

    names = [source(duck, f"s{n}", job(n)) for n in range(20)]
    names.append(source(duck, "alone", put("m/alone", "a")))
    one_pass(duck, names)
    assert read(duck, "new") == "".join(f"{n} " for n in range(20))
    assert (read(duck, "same"), read(duck, "m/alone"), duck.files().count()) == ("equal", "a", 23)
    assert duck.table("t").count() == 21
    assert duck.verify().damages == ()


def test_what_one_pass_made_stays_when_its_sources_are_gone(duck: ab.Repository, one_pass: Callable[..., None]) -> None:
    act(duck, "main", *(append("log", f"m{n} ") for n in range(20)))
    names = [source(duck, f"s{n}", *(append("log", f"{n}{k} ") for k in range(18))) for n in range(3)]
    one_pass(duck, names, mode="squash")
    for name in names:
        duck.delete_branch(name, force=True)
    assert duck.gc(grace=0, reflog=0).size_bytes > 0
    assert read(duck, "log").split() == [
        *(f"m{n}" for n in range(20)),
        *(f"{n}{k}" for n in range(3) for k in range(18)),
    ]
    assert duck.verify().damages == ()


@pytest.mark.parametrize(
    ("second", "kind"),
    [(put("a", "2"), "replace/replace"), (append("a", "2"), "replace/append"), (delete("a"), "replace/delete")],
)
def test_conflicts_among_sources_are_told_as_one_after_another_tells_them(
    duck: ab.Repository, monkeypatch: pytest.MonkeyPatch, second: Act, kind: str
) -> None:
    act(duck, "main", put("a", "0"), append("log", "0"))
    names = [source(duck, "one", put("a", "1"), append("log", "1")), source(duck, "two", second, append("log", "2"))]
    rows, _, message = in_both_ways(duck, names, monkeypatch)
    assert [(row["path"], row["kind"]) for row in rows] == [("a", kind)]
    assert "1 conflict" in message
    assert read(duck, "log") == "0"


def test_a_file_in_the_place_of_a_folder_is_told_as_one_after_another_tells_it(
    duck: ab.Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    act(duck, "main", append("log", "0"))
    names = [source(duck, "one", put("a", "1"), append("log", "1")), source(duck, "two", put("a/b", "2"))]
    names.append(source(duck, "three", append("log", "3")))
    _, clashes, _ = in_both_ways(duck, names, monkeypatch)
    assert [c["kind"] for c in clashes] == ["file/folder"]


@pytest.mark.long
def test_objects_that_are_files_tell_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files_only = ab.Settings(objects=ab.ObjectSettings(inline_limit_bytes=0))
    with ab.init(tmp_path / "store", engine="duck", settings=files_only) as repo:
        act(repo, "main", append("log", "0"), put("a", "a"), put("b", "b"))
        names = [source(repo, f"s{n}", append("log", f"{n}"), put(f"own{n}", "x"), put("a", "new")) for n in (1, 2)]
        names.append(source(repo, "s3", delete("b"), append("log", "3"), append("log", "3")))
        found, *_ = in_both_ways(repo, names, monkeypatch)
        assert found == {"log": "01233", "a": "new", "own1": "x", "own2": "x"}
        assert repo.verify().damages == ()


def test_very_many_rows_are_merged_one_by_one(duck: ab.Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    act(duck, "main", append("log", "0"))
    names = [source(duck, f"s{n}", append("log", f"{n}")) for n in (1, 2)]
    monkeypatch.setattr(united_files, "LOOKED_UP_KEYS_LIMIT", 1)
    duck.merge(names, into="main")
    assert read(duck, "log") == "012"


ACTS: list[Callable[[random.Random, int], Act]] = [
    lambda rnd, n: append(rnd.choice(["log", "fresh", "d/log"]), f"{n} "),
    lambda rnd, n: append("log", f"{n}" * rnd.randrange(3)),
    lambda rnd, n: put(f"d/own{n}", f"{rnd.random()}"),
    lambda rnd, n: lambda tx: tx.files.make_folder("d/empty"),
    lambda rnd, n: put(rnd.choice(["a", "d/b"]), f"{rnd.randrange(2)}"),
    lambda rnd, n: lambda tx: tx.files.delete("d/b") if "d/b" in tx.files else None,
    lambda rnd, n: lambda tx: tx.files.move("a", f"moved{n}") if "a" in tx.files else None,
    lambda rnd, n: put("log", f"put {n}"),
]
RULES = [{}, {}, {"files:**": "concat"}, {"files:**": "theirs"}, {"files:**": "lines"}, {"*": "ours"}]


@pytest.mark.long
@pytest.mark.parametrize("seed", [*range(3), *(pytest.param(n, marks=pytest.mark.more) for n in range(3, 80))])
def test_random_sources_come_to_the_same_in_both_ways_and_so_do_merges_after(
    duck: ab.Repository, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    rnd = random.Random(seed)
    act(duck, "main", put("a", "a"), put("d/b", "b"), append("log", "0 "))
    kinds = ACTS[:4] if seed % 2 == 0 else ACTS
    names = [source(duck, f"s{n}", *(rnd.choice(kinds)(rnd, n) for _ in range(3))) for n in range(4)]
    if rnd.random() < 0.5:
        act(duck, "main", rnd.choice(kinds)(rnd, 9))
    found = in_both_ways(duck, names, monkeypatch, rules=rnd.choice(RULES))
    if isinstance(found[0], dict):
        _go_on(duck, names)
    assert duck.verify().damages == ()


def _go_on(repo: ab.Repository, sources: Sequence[str]) -> None:
    """Merge again, undo, and merge criss-cross after: on both branches it comes to the same."""
    assert all(repo.merge(name, into=into).up_to_date for into in BOTH for name in sources)
    assert _outcome(repo, "undone", _undone) == _outcome(repo, "undone", _undone, "other")
    for number, name in enumerate(sources[:2]):
        after = [_outcome(repo, f"x{number}", _crossed, into, name) for into in BOTH]
        assert after[0] == after[1]


def _outcome(
    repo: ab.Repository, name: str, do: Callable[..., None], into: str = "main", *more: str
) -> dict[str, str] | str:
    """What files have on a branch after something was done to it, or what was in the way."""
    branch = f"{into}-{name}"
    repo.branch(branch, at=into)
    try:
        do(repo, branch, *more)
    except ab.MergeConflict as error:
        return str(error).replace(branch, "").replace(into, "")
    return {s.path: read(repo, s.path, branch) for s in repo.files(at=branch).walk() if not s.is_folder}


def _undone(repo: ab.Repository, branch: str) -> None:
    repo.revert(repo.show(branch).hash, on=branch, parent=1)


def _crossed(repo: ab.Repository, branch: str, name: str) -> None:
    """Both sides take what the other had, write more, and are merged."""
    side = f"{branch}-side"
    repo.branch(side, at=name)
    act(repo, side, append("log", "side "))
    repo.branch(f"{branch}-before", at=branch)
    act(repo, branch, append("log", "target "))
    repo.merge(f"{branch}-before", into=side)
    repo.merge(side, into=branch)
