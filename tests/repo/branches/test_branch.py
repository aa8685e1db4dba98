"""Branches, tags and their moves: one behaviour on both catalogues."""

from __future__ import annotations

import threading

import pytest

import anabranch as ab
from tests.catalog import stores
from tests.catalog.stores import ids, make_table, put

store = stores.store
repo = stores.repo


def heads(repo: ab.Repository) -> dict[str, str]:
    return {b.name: b.commit for b in repo.branches()}


def test_a_branch_shows_the_commit_it_was_made_at(repo: ab.Repository) -> None:
    first, second = make_table(repo, "t"), put(repo, "t", 2)
    made = repo.branch("dev")
    assert (made.name, made.commit) == ("dev", second.hash)
    repo.branch("old", at="main~1")
    repo.branch("by-hash", at=first.hash[:10])
    assert heads(repo) == {"main": second.hash, "dev": second.hash, "old": first.hash, "by-hash": first.hash}
    assert [b for b in repo.branches() if b.name == "dev"] == [made]


def test_branches_go_their_own_ways(repo: ab.Repository) -> None:
    make_table(repo, "t")
    repo.branch("dev")
    on_dev = put(repo, "t", 2, branch="dev")
    on_main = put(repo, "t", 3)
    assert (ids(repo, "t", "dev"), ids(repo, "t", "main")) == ([1, 2], [1, 3])
    assert (on_dev.id, on_main.id) == ("dev/2", "main/2")
    assert put(repo, "t", 4, branch="dev").id == "dev/3"


@pytest.mark.parametrize("name", ["main/7", "a b", "", "-x", "HEAD", "a..b", "a\x00b", "a\ud800"])
def test_a_branch_or_tag_needs_a_legal_name(repo: ab.Repository, name: str) -> None:
    repo.branch("dev")
    for ask in (repo.branch, repo.tag, lambda n: repo.rename_branch("dev", n)):
        with pytest.raises(ab.InvalidRequest):
            ask(name)
    assert set(heads(repo)) == {"main", "dev"}
    assert repo.tags() == []


@pytest.mark.parametrize("name", ["été", "日本語/🚀", "a" * 255, "x'; DROP TABLE branches --", "%s"])
def test_a_branch_may_have_any_name_that_git_allows(repo: ab.Repository, name: str) -> None:
    legal = name.replace(" ", "_")
    repo.branch(legal)
    make_table(repo, "t", branch=legal)
    assert ids(repo, "t", legal) == [1]
    assert repo.show(f"{legal}/1").message == "make t"
    repo.delete_branch(legal, force=True)


def test_names_of_branches_and_tags_are_taken_once(repo: ab.Repository) -> None:
    repo.branch("dev")
    repo.tag("v1")
    for ask in (
        lambda: repo.branch("dev"),
        lambda: repo.branch("v1"),
        lambda: repo.tag("v1"),
        lambda: repo.tag("dev"),
        lambda: repo.rename_branch("dev", "main"),
        lambda: repo.rename_branch("dev", "v1"),
        lambda: repo.rename_branch("dev", "dev"),
    ):
        with pytest.raises(ab.AlreadyExists):
            ask()
    repo.branch("Dev")
    assert set(heads(repo)) == {"main", "dev", "Dev"}


def test_a_branch_that_is_not_there_is_told_with_the_nearest_name(repo: ab.Repository) -> None:
    repo.branch("feature/login")
    for ask in (
        lambda: repo.delete_branch("feature/logn"),
        lambda: repo.rename_branch("feature/logn", "x"),
        lambda: repo.reset("feature/logn", to="main"),
        lambda: repo.fast_forward("feature/logn", to="main"),
        lambda: repo.reflog("feature/logn"),
        lambda: put(repo, "t", 1, branch="feature/logn"),
    ):
        with pytest.raises(ab.NotFound, match="feature/logn") as caught:
            ask()
        assert "feature/login" in str(caught.value.hint)


# Renaming


def test_a_renamed_branch_keeps_extending_its_line(repo: ab.Repository) -> None:
    make_table(repo, "t")
    repo.branch("dev")
    put(repo, "t", 2, branch="dev")
    repo.rename_branch("dev", "qa")
    made = put(repo, "t", 3, branch="qa")
    assert made.id == "qa/3"
    assert ids(repo, "t", "qa") == [1, 2, 3]
    assert set(heads(repo)) == {"main", "qa"}
    with pytest.raises(ab.NotFound):
        repo.show("dev")
    assert repo.show("dev/2").message == repo.show("qa/2").message == "put 2 in t"


def test_a_new_branch_under_an_old_name_gets_a_line_of_its_own(repo: ab.Repository) -> None:
    make_table(repo, "t")
    repo.branch("dev")
    put(repo, "t", 2, branch="dev")
    repo.rename_branch("dev", "qa")
    repo.branch("dev", at="main")
    assert put(repo, "t", 3, branch="dev").id == "dev/2"
    assert put(repo, "t", 4, branch="qa").id == "qa/3"
    assert [m.verb for m in repo.reflog("dev")] == ["commit", "branch"]
    assert [m.verb for m in repo.reflog("qa")] == ["commit", "rename", "commit", "branch"]


def test_the_default_branch_stays_the_default_under_a_new_name(store: stores.Store, repo: ab.Repository) -> None:
    make_table(repo, "t")
    repo.rename_branch("main", "trunk")
    assert repo.default_branch == "trunk"
    assert ids(repo, "t") == [1]
    with repo.commit(message="go on") as tx:
        tx.table("t").insert([{"id": 2, "v": 2}])
    assert tx.commit.id == "trunk/2"
    with store.open(repo.name) as again:
        assert again.default_branch == "trunk"
        assert ids(again, "t") == [1, 2]


# Deleting


def test_a_branch_without_work_of_its_own_is_deleted_freely(repo: ab.Repository) -> None:
    make_table(repo, "t")
    repo.branch("same")
    repo.branch("behind", at="main~1")
    repo.delete_branch("same")
    repo.delete_branch("behind")
    assert set(heads(repo)) == {"main"}


def test_work_that_nothing_else_reaches_is_deleted_by_force_only(repo: ab.Repository) -> None:
    make_table(repo, "t")
    repo.branch("dev")
    put(repo, "t", 2, branch="dev")
    with pytest.raises(ab.InvalidRequest, match="dev") as caught:
        repo.delete_branch("dev")
    assert "force" in str(caught.value.hint)
    assert "dev" in heads(repo)
    repo.delete_branch("dev", force=True)
    assert set(heads(repo)) == {"main"}


@pytest.mark.parametrize("keeper", ["a tag", "a branch", "a branch further on"])
def test_work_that_something_else_reaches_is_deleted_freely(repo: ab.Repository, keeper: str) -> None:
    make_table(repo, "t")
    repo.branch("dev")
    put(repo, "t", 2, branch="dev")
    if keeper == "a tag":
        repo.tag("v1", at="dev")
    else:
        repo.branch("other", at="dev")
        if keeper == "a branch further on":
            put(repo, "t", 3, branch="other")
    repo.delete_branch("dev")
    assert "dev" not in heads(repo)


def test_a_tag_that_does_not_reach_the_work_keeps_nothing(repo: ab.Repository) -> None:
    make_table(repo, "t")
    repo.branch("dev")
    put(repo, "t", 2, branch="dev")
    repo.tag("v1", at="dev")
    put(repo, "t", 3, branch="dev")
    with pytest.raises(ab.InvalidRequest, match="dev"):
        repo.delete_branch("dev")


def test_the_default_branch_is_not_deleted(repo: ab.Repository) -> None:
    repo.branch("dev")
    with pytest.raises(ab.InvalidRequest, match="default"):
        repo.delete_branch("main", force=True)
    assert "main" in heads(repo)


def test_a_branch_made_again_after_deletion_gets_a_new_line(repo: ab.Repository) -> None:
    make_table(repo, "t")
    seen = []
    for number in range(6):
        repo.branch("dev")
        seen.append(put(repo, "t", 10 + number, branch="dev").id)
        repo.delete_branch("dev", force=True)
    assert seen == ["dev/2"] * 6
    assert repo.show("dev/2").message == "put 15 in t"
    assert repo.show("dev/2").id == "dev/2"


def test_a_line_finds_a_free_name_beside_branches_that_look_like_lines(repo: ab.Repository) -> None:
    make_table(repo, "t")
    for name in ("dev.2", "dev.3", "dev.5"):
        repo.branch(name)
        assert put(repo, "t", 2, branch=name).id == f"{name}/2"
    for number in range(5):
        repo.branch("dev")
        made = put(repo, "t", 10 + number, branch="dev")
        assert (made.id, repo.show("dev/2")) == ("dev/2", made)
        repo.delete_branch("dev", force=True)
    assert repo.show("dev.2/2").message == "put 2 in t"


def test_a_deleted_branch_is_gone_for_writers(repo: ab.Repository) -> None:
    make_table(repo, "t")
    repo.branch("dev")
    repo.delete_branch("dev")
    with pytest.raises(ab.NotFound, match="dev"):
        put(repo, "t", 2, branch="dev")
    with pytest.raises(ab.NotFound, match="dev"):
        repo.table("t", at="dev")


# Moving


def test_a_branch_is_reset_to_any_commit_and_goes_on_from_there(repo: ab.Repository) -> None:
    first = make_table(repo, "t")
    put(repo, "t", 2)
    lost = put(repo, "t", 3)
    moved = repo.reset("main", to="main~2")
    assert (moved.name, moved.commit) == ("main", first.hash)
    assert ids(repo, "t") == [1]
    made = put(repo, "t", 4)
    assert made.id == "main/2"
    assert made.parents == (first.hash,)
    assert ids(repo, "t") == [1, 4]
    assert ids(repo, "t", lost.hash) == [1, 2, 3]
    with pytest.raises(ab.NotFound, match="no commit number 3") as caught:
        repo.show("main/3")
    assert "main/2 is its newest commit" in str(caught.value.hint)
    assert ids(repo, "t", "main/2") == [1, 4]
    assert put(repo, "t", 5).id == "main/3"
    assert ids(repo, "t", "main/3") == [1, 4, 5]
    assert repo.sql("SELECT id FROM t VERSION AS OF 2 ORDER BY id").rows() == [{"id": 1}, {"id": 4}]


def test_a_branch_that_was_reset_and_brought_back_extends_its_line_again(repo: ab.Repository) -> None:
    make_table(repo, "t")
    top = put(repo, "t", 2)
    repo.reset("main", to="main~1")
    repo.reset("main", to=top.hash)
    assert put(repo, "t", 3).id == "main/3"


def test_a_move_to_where_it_stands_is_no_move(repo: ab.Repository) -> None:
    make_table(repo, "t")
    before = repo.reflog()
    repo.reset("main", to="main")
    repo.fast_forward("main", to="main")
    assert repo.reflog() == before


def test_a_branch_is_fast_forwarded_to_a_descendant_only(repo: ab.Repository) -> None:
    make_table(repo, "t")
    repo.branch("dev")
    top = put(repo, "t", 2, branch="dev")
    moved = repo.fast_forward("main", to="dev")
    assert (moved.name, moved.commit) == ("main", top.hash)
    assert ids(repo, "t") == [1, 2]
    assert repo.reflog()[0].verb == "fast-forward"
    with pytest.raises(ab.InvalidRequest, match="fast-forward") as caught:
        repo.fast_forward("main", to="main~1")
    assert caught.value.branch == "main"
    put(repo, "t", 3)
    put(repo, "t", 4, branch="dev")
    with pytest.raises(ab.InvalidRequest, match="fast-forward"):
        repo.fast_forward("main", to="dev")
    assert ids(repo, "t") == [1, 2, 3]


def test_a_branch_fast_forwarded_to_anothers_commit_goes_on_on_a_line_of_its_own(repo: ab.Repository) -> None:
    make_table(repo, "t")
    repo.branch("dev")
    put(repo, "t", 2, branch="dev")
    repo.fast_forward("main", to="dev")
    assert put(repo, "t", 3).id == "main/3"
    assert put(repo, "t", 4, branch="dev").id == "dev/3"
    assert [repo.show(f"main/{n}").message for n in (1, 2, 3)] == ["make t", "put 2 in t", "put 3 in t"]
    assert repo.show("dev/2") == repo.show("main/2")


def test_moving_to_what_is_not_there_moves_nothing(repo: ab.Repository) -> None:
    make_table(repo, "t")
    for ask in (repo.reset, repo.fast_forward):
        with pytest.raises(ab.NotFound):
            ask("main", to="nothing")
        with pytest.raises(ab.InvalidRequest):
            ask("main", to="main..main")
    assert len(repo.reflog()) == 2


# Moves


def test_every_move_is_kept_with_from_to_when_who_and_verb(repo: ab.Repository) -> None:
    root = repo.show()
    first = make_table(repo, "t")
    second = put(repo, "t", 2, author="bob")
    repo.reset("main", to="main~1")
    moves = repo.reflog("main")
    assert [(m.verb, m.author, m.before, m.after) for m in moves] == [
        ("reset", "ann", second.hash, first.hash),
        ("commit", "bob", first.hash, second.hash),
        ("commit", "ann", root.hash, first.hash),
        ("init", "ann", None, root.hash),
    ]
    assert {m.branch for m in moves} == {"main"}
    assert [m.moved_at for m in moves] == sorted((m.moved_at for m in moves), reverse=True)
    assert moves[0].commit_id is None
    assert len({m.commit_id for m in moves[1:]}) == 3
    assert repo.reflog(limit=2) == moves[:2]
    assert repo.reflog(limit=0) == []


def test_the_moves_of_a_deleted_branch_are_kept(repo: ab.Repository) -> None:
    make_table(repo, "t")
    repo.branch("dev")
    lost = put(repo, "t", 2, branch="dev")
    repo.delete_branch("dev", force=True)
    moves = repo.reflog("dev")
    assert [m.verb for m in moves] == ["delete", "commit", "branch"]
    assert (moves[0].before, moves[0].after) == (lost.hash, None)
    repo.branch("dev", at=moves[0].before)
    assert ids(repo, "t", "dev") == [1, 2]


def test_a_publication_can_be_found_in_the_moves_by_its_id(repo: ab.Repository) -> None:
    made = make_table(repo, "t")
    (move,) = [m for m in repo.reflog() if m.after == made.hash]
    assert move.commit_id is not None


# Tags


def test_a_tag_names_a_commit_for_good(repo: ab.Repository) -> None:
    first = make_table(repo, "t")
    repo.tag("v1")
    put(repo, "t", 2)
    repo.tag("v2", at="main")
    repo.tag("v0", at="v1~1")
    assert ids(repo, "t", "v1") == [1]
    assert {t.name: (t.commit, t.author) for t in repo.tags()}["v1"] == (first.hash, "ann")
    assert [t.name for t in repo.tags()] == ["v0", "v1", "v2"]
    with pytest.raises(ab.NotFound):
        repo.tag("v3", at="nothing")
    repo.delete_tag("v1")
    assert [t.name for t in repo.tags()] == ["v0", "v2"]
    repo.tag("v1", at="main")
    assert ids(repo, "t", "v1") == [1, 2]
    with pytest.raises(ab.NotFound, match="nothing"):
        repo.delete_tag("nothing")


def test_a_tag_can_not_be_written_to_or_moved(repo: ab.Repository) -> None:
    make_table(repo, "t")
    repo.tag("v1")
    with pytest.raises(ab.NotFound, match="v1"):
        put(repo, "t", 2, branch="v1")
    with pytest.raises(ab.NotFound, match="v1"):
        repo.reset("v1", to="main~1")
    with pytest.raises(ab.NotFound, match="v1"):
        repo.delete_branch("v1")
    assert ids(repo, "t", "v1") == [1]


def test_a_tag_is_told_from_a_branch_where_something_is_written(repo: ab.Repository) -> None:
    make_table(repo, "t")
    repo.tag("v1")
    repo.branch("a")
    for ask in (
        lambda: repo.merge("a", into="v1"),
        lambda: repo.rebase("v1", "main"),
        lambda: repo.reset("v1", "main"),
    ):
        with pytest.raises(ab.NotFound, match=r"'v1' is a tag, not a branch \(only branches can be written to; make"):
            ask()
    with pytest.raises(ab.NotFound, match=r"there is no branch 'v2' \(there: a, main; make the branch first\)"):
        repo.merge("a", into="v2")


# Several at once


def run_all(*asks: object) -> list[BaseException | None]:
    """Run calls at once and return what each raised."""
    results: list[BaseException | None] = [None] * len(asks)
    barrier = threading.Barrier(len(asks))

    def run(place: int) -> None:
        barrier.wait()
        try:
            asks[place]()  # type: ignore[operator]
        except BaseException as error:
            results[place] = error

    threads = [threading.Thread(target=run, args=(n,)) for n in range(len(asks))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return results


def test_of_several_who_make_a_branch_one_succeeds(repo: ab.Repository) -> None:
    raised = run_all(*(lambda: repo.branch("dev") for _ in range(5)), lambda: repo.tag("dev"))
    assert sum(e is None for e in raised) == 1
    assert {type(e) for e in raised if e} == {ab.AlreadyExists}


def test_of_several_who_delete_a_branch_one_succeeds(repo: ab.Repository) -> None:
    repo.branch("dev")
    raised = run_all(*(lambda: repo.delete_branch("dev") for _ in range(4)))
    assert sum(e is None for e in raised) == 1
    assert {type(e) for e in raised if e} == {ab.NotFound}
    assert [m.verb for m in repo.reflog("dev")] == ["delete", "branch"]


def test_a_branch_that_never_moved_tells_its_making(repo: ab.Repository) -> None:
    made = repo.branch("dev")
    (move,) = repo.reflog("dev")
    assert (move.before, move.after, move.verb, move.author) == (None, made.commit, "branch", repo.reflog()[0].author)
    assert move.moved_at == made.created_at
    assert repo.show("dev@{0}").hash == made.commit
    assert repo.show(f"dev@{{{made.created_at.isoformat()}}}").hash == made.commit
    with pytest.raises(ab.NotFound):
        repo.show("dev@{2000-01-01T00:00:00Z}")


def test_the_making_of_a_branch_comes_before_its_moves_under_the_name_it_had(repo: ab.Repository) -> None:
    repo.branch("dev")
    repo.rename_branch("dev", "qa")
    assert [(m.verb, m.branch) for m in repo.reflog("qa")] == [("rename", "qa"), ("branch", "dev")]
    repo.branch("dev")
    assert [m.verb for m in repo.reflog("dev")] == ["branch"]
    repo.delete_branch("qa")
    assert [m.verb for m in repo.reflog("qa")] == ["delete", "rename", "branch"]
