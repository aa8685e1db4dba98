"""Open commits: work that survives the process, is finished or aborted once, and is never half there."""

from __future__ import annotations

import contextlib
import datetime as dt
from typing import Any

import pytest

import anabranch as ab
from tests.catalog import processes, stores
from tests.catalog.stores import ids, make_table, put

store = stores.store
repo = stores.repo


def only(repo: ab.Repository) -> Any:
    (found,) = repo.open_commits()
    return found


def test_an_open_commit_is_seen_by_nobody_until_it_is_finished(repo: ab.Repository) -> None:
    make_table(repo, "t")
    opened = repo.start("main", message="slowly")
    opened.table("t").insert([{"id": 2, "v": 2}])
    opened.create_table("u", [{"id": 1}], key="id")
    assert ids(repo, "t") == [1]
    assert [t.name for t in repo.tables()] == ["t"]
    assert sorted(r["id"] for r in opened.table("t").rows()) == [1, 2]
    made = opened.finish()
    assert made == repo.show() == opened.commit
    assert (made.message, made.tables, made.id) == ("slowly", ("t", "u"), "main/2")
    assert ids(repo, "t") == [1, 2]
    assert repo.open_commits() == []
    assert repo.reflog(limit=1)[0].after == made.hash


def write_some(store: stores.Store, name: str) -> str:
    with store.open(name, author="bob") as repo:
        opened = repo.start("main", message="over processes", provenance=[repo.show().hash])
        opened.table("t").upsert([{"id": 1, "v": 10}, {"id": 2, "v": 2}])
        opened.create_namespace("ns")
        opened.create_table("ns.new", [{"id": 1, "v": 1}, {"id": 2, "v": 2}], key="id")
        opened.create_table("brief", [{"id": 1}], key="id")
        opened.drop_table("gone")
        opened.create_table("gone", [{"id": 7, "w": "again"}], key="id")
        return str(opened.id)


def write_more(store: stores.Store, name: str) -> None:
    with store.open(name) as repo:
        opened = only(repo)
        assert opened.table("t").get(1) == {"id": 1, "v": 10}
        opened.table("t").update({"v": "v + 1"}, where="id = 1")
        opened.table("t").delete(where="id = 3")
        opened.table("ns.new").insert([{"id": 3, "v": 3}])
        opened.drop_table("brief")


def finish_it(store: stores.Store, name: str) -> ab.Commit:
    with store.open(name) as repo:
        made = only(repo).finish()
        assert isinstance(made, ab.Commit)
        return made


def test_the_first_files_of_a_repository_may_be_in_an_open_commit(repo: ab.Repository) -> None:
    opened = repo.start("main", message="first files")
    opened.files.put("a", "a")
    assert only(repo).files.read("a") == b"a"
    assert repo.verify(deep=True).damages == ()
    opened.finish()
    assert repo.files().read("a") == b"a"


def test_an_open_commit_survives_its_process_and_is_finished_by_another(
    store: stores.Store, repo: ab.Repository
) -> None:
    make_table(repo, "t", [{"id": 1, "v": 1}, {"id": 3, "v": 3}])
    base = make_table(repo, "gone")
    id_ = processes.run(write_some, store, repo.name)
    before = only(repo)
    assert (before.id, before.branch, before.message, before.author) == (id_, "main", "over processes", "bob")
    assert isinstance(before.started_at, dt.datetime)
    assert set(before.status()) >= {"t", "ns.new", "gone"}
    processes.run(write_more, store, repo.name)
    made = processes.run(finish_it, store, repo.name)
    assert repo.show() == made
    assert (made.author, made.message, made.provenance) == ("bob", "over processes", (base.hash,))
    assert made.parents == (base.hash,)
    assert {r["id"]: r["v"] for r in repo.table("t").rows()} == {1: 11, 2: 2}
    assert ids(repo, "ns.new") == [1, 2, 3]
    assert repo.table("gone").rows() == [{"id": 7, "w": "again"}]
    assert [t.name for t in repo.tables()] == ["gone", "ns.new", "t"]
    assert repo.open_commits() == []
    assert [(c.inserted, c.updated, c.deleted) for c in repo.show_changes() if c.table == "t"] == [(1, 1, 1)]
    assert repo.verify().raise_damages().objects > 0


def test_an_open_commit_goes_on_the_new_head_if_its_tables_were_left_alone(repo: ab.Repository) -> None:
    make_table(repo, "t")
    make_table(repo, "u")
    opened = repo.start("main", message="slowly")
    opened.table("t").insert([{"id": 2, "v": 2}])
    meanwhile = put(repo, "u", 2)
    made = opened.finish()
    assert made.parents == (meanwhile.hash,)
    assert (ids(repo, "t"), ids(repo, "u")) == ([1, 2], [1, 2])


@pytest.mark.parametrize("reopened", [False, True])
def test_an_open_commit_whose_rows_moved_is_refused_and_stays_open(repo: ab.Repository, reopened: bool) -> None:
    make_table(repo, "t")
    opened = repo.start("main", message="slowly")
    opened.table("t").insert([{"id": 2, "v": 2}, {"id": 3, "v": 2}])
    put(repo, "t", 3)
    opened = only(repo) if reopened else opened
    with pytest.raises(ab.BranchMoved, match="'t'") as caught:
        opened.finish()
    assert caught.value.tables == ("t",)
    assert ids(repo, "t") == [1, 3]
    assert only(repo).id == opened.id
    only(repo).abort()
    assert repo.open_commits() == []


def test_an_aborted_commit_leaves_nothing_to_see(repo: ab.Repository) -> None:
    made = make_table(repo, "t")
    opened = repo.start("main", message="in vain")
    opened.table("t").insert([{"id": 2, "v": 2}])
    opened.abort()
    assert repo.open_commits() == []
    assert repo.show() == made
    for ask in (opened.finish, opened.abort, lambda: opened.table("t").insert([{"id": 3, "v": 3}])):
        with pytest.raises(ab.InvalidRequest, match="finished"):
            ask()


def test_a_commit_finished_elsewhere_can_not_be_finished_again(repo: ab.Repository) -> None:
    make_table(repo, "t")
    opened = repo.start("main", message="once")
    opened.table("t").insert([{"id": 2, "v": 2}])
    second = only(repo)
    made = opened.finish()
    for ask in (second.finish, second.abort, lambda: second.table("t").insert([{"id": 3, "v": 3}])):
        with pytest.raises((ab.NotFound, ab.BranchMoved)):
            ask()
    assert repo.show() == made
    repo.reset("main", to="main~1")
    with pytest.raises((ab.NotFound, ab.BranchMoved)):
        second.finish()
    assert ids(repo, "t") == [1]


def test_a_commit_aborted_elsewhere_can_not_be_finished(repo: ab.Repository) -> None:
    before = make_table(repo, "t")
    opened = repo.start("main", message="never")
    opened.create_table("u", [{"id": 1}], key="id")
    second = only(repo)
    opened.abort()
    with pytest.raises((ab.NotFound, ab.BranchMoved)):
        second.finish()
    assert repo.show() == before


@pytest.mark.parametrize("table", ["t", "u"])
def test_what_was_staged_elsewhere_meanwhile_is_never_lost(repo: ab.Repository, table: str) -> None:
    make_table(repo, "t")
    make_table(repo, "u")
    opened = repo.start("main", message="two hands")
    stale = only(repo)
    opened.table("t").insert([{"id": 2, "v": 2}])
    for ask in (lambda: stale.table(table).insert([{"id": 3, "v": 3}]), stale.finish):
        with contextlib.suppress(ab.BranchMoved, ab.NotFound):
            ask()
    if repo.open_commits():
        only(repo).finish()
    assert 2 in ids(repo, "t")


def test_a_handle_that_fell_behind_is_refused_and_a_new_one_goes_on(repo: ab.Repository) -> None:
    make_table(repo, "t")
    opened = repo.start("main", message="two hands")
    stale = only(repo)
    opened.table("t").insert([{"id": 2, "v": 2}])
    with pytest.raises(ab.BranchMoved):
        stale.table("t").insert([{"id": 3, "v": 3}])
    with pytest.raises(ab.BranchMoved):
        stale.finish()
    only(repo).table("t").insert([{"id": 4, "v": 4}])
    assert only(repo).finish() is not None
    assert ids(repo, "t") == [1, 2, 4]


def finish_as(store: stores.Store, name: str) -> bool:
    with store.open(name) as repo:
        for opened in repo.open_commits():
            return opened.finish() is not None
    return False


def test_of_several_processes_that_finish_one_does(store: stores.Store, repo: ab.Repository) -> None:
    make_table(repo, "t")
    repo.start("main", message="once").table("t").insert([{"id": 2, "v": 2}])
    found = processes.run_all(finish_as, [(store, repo.name)] * 4)
    assert found.count(True) == 1
    assert all(isinstance(x, (bool, ab.NotFound, ab.BranchMoved)) for x in found), found
    assert [c.message for c in repo.log(limit=2)] == ["once", "make t"]
    assert ids(repo, "t") == [1, 2]


def open_and_abort(repo: ab.Repository) -> None:
    repo.start("main", message="in vain").table("t").insert([{"id": 2, "v": 2}])
    only(repo).abort()


def open_and_net(repo: ab.Repository) -> None:
    opened = repo.start("main", message="several")
    opened.table("t").insert([{"id": 2, "v": 2}])
    opened.table("t").update({"v": 3}, where="id = 2")
    opened.create_table("brief", [{"id": 1}], key="id")
    opened.drop_table("brief")
    assert only(repo).finish() is not None


def open_and_net_to_nothing(repo: ab.Repository) -> None:
    opened = repo.start("main", message="there and back")
    opened.table("t").insert([{"id": 2, "v": 2}])
    opened.table("t").delete(where="id = 2")
    assert opened.finish() is None


def open_and_be_refused(repo: ab.Repository) -> None:
    opened = repo.start("main", message="late")
    opened.table("t").insert([{"id": 2, "v": 2}])
    opened.table("t").update({"v": 3}, where="id = 2")
    put(repo, "t", 2)
    with pytest.raises(ab.BranchMoved):
        opened.finish()
    assert only(repo).table("t").get(2) == {"id": 2, "v": 3}


def open_and_delete_the_branch(repo: ab.Repository) -> None:
    repo.branch("dev")
    repo.start("dev", message="in vain").table("t").insert([{"id": 2, "v": 2}])
    repo.delete_branch("dev", force=True)


@pytest.mark.parametrize(
    "work", [open_and_abort, open_and_net, open_and_net_to_nothing, open_and_be_refused, open_and_delete_the_branch]
)
def test_files_of_open_commits_are_there_as_long_as_the_catalogue_says_so(store: stores.Store, work: Any) -> None:
    with store.init(settings=ab.Settings(objects=ab.ObjectSettings(inline_limit_bytes=0))) as repo:
        make_table(repo, "t")
        work(repo)
        repo.verify().raise_damages()
        put(repo, "t", 9)
        assert 9 in ids(repo, "t")


# Branches


def test_a_branch_that_is_not_there_is_made_when_the_commit_is_finished(repo: ab.Repository) -> None:
    first = make_table(repo, "t")
    put(repo, "t", 2)
    opened = repo.start(branch="new", parent=first.hash, message="on a new branch")
    opened.table("t").insert([{"id": 9, "v": 9}])
    assert [b.name for b in repo.branches()] == ["main"]
    made = only(repo).finish()
    assert made.id == "new/2"
    assert made.parents == (first.hash,)
    assert ids(repo, "t", "new") == [1, 9]
    assert [m.verb for m in repo.reflog("new")] == ["commit", "branch"]


def test_a_new_branch_made_by_somebody_else_meanwhile_is_gone_on_with(repo: ab.Repository) -> None:
    make_table(repo, "t")
    opened = repo.start(branch="new", parent="main", message="mine")
    opened.table("t").insert([{"id": 9, "v": 9}])
    repo.branch("new")
    made_elsewhere = make_table(repo, "u", branch="new")
    assert repo.verify().damages == ()
    made = opened.finish()
    assert made.parents == (made_elsewhere.hash,)
    assert ids(repo, "t", "new") == [1, 9]


def test_a_new_branch_that_somebody_else_made_elsewhere_is_not_overwritten(repo: ab.Repository) -> None:
    make_table(repo, "t")
    put(repo, "t", 2)
    opened = repo.start(branch="new", parent="main", message="mine")
    opened.table("t").insert([{"id": 9, "v": 9}])
    repo.branch("new", at="main~1")
    with pytest.raises(ab.BranchMoved):
        opened.finish()
    assert ids(repo, "t", "new") == [1]


@pytest.mark.parametrize("when", ["before", "meanwhile"])
def test_a_new_branch_may_not_take_the_name_of_a_tag(repo: ab.Repository, when: str) -> None:
    make_table(repo, "t")
    if when == "before":
        repo.tag("v1")
    with pytest.raises(ab.AlreadyExists, match="v1"):
        opened = repo.start(branch="v1", parent="main", message="mine")
        opened.table("t").insert([{"id": 9, "v": 9}])
        repo.tag("v1")
        opened.finish()
    assert [b.name for b in repo.branches()] == ["main"]


@pytest.mark.parametrize(
    ("branch", "parent", "kind"),
    [
        ("nothing", None, ab.NotFound),
        ("new", "nothing", ab.NotFound),
        ("a b", "main", ab.InvalidRequest),
        ("main/7", "main", ab.InvalidRequest),
        (None, "nothing", ab.NotFound),
        ("main", "dev", ab.InvalidRequest),
    ],
)
def test_a_commit_is_opened_on_a_branch_from_a_commit(
    repo: ab.Repository, branch: str | None, parent: str | None, kind: type[Exception]
) -> None:
    make_table(repo, "t")
    repo.tag("v1")
    repo.branch("dev")
    put(repo, "t", 2, branch="dev")
    with pytest.raises(kind):
        repo.start(branch=branch, parent=parent, message="mine")
    assert repo.open_commits() == []


def test_a_commit_may_be_opened_by_its_parent_alone(repo: ab.Repository) -> None:
    make_table(repo, "t")
    repo.branch("dev")
    opened = repo.start(parent="dev", message="on dev")
    opened.table("t").insert([{"id": 2, "v": 2}])
    assert opened.finish().id == "dev/2"
    opened = repo.start(message="on the default")
    opened.table("t").insert([{"id": 3, "v": 3}])
    assert opened.finish().id == "main/2"


@pytest.mark.parametrize("parent", ["v1", "main~1", "HASH"])
def test_a_commit_without_a_branch_goes_on_the_branch_of_its_parent(repo: ab.Repository, parent: str) -> None:
    make_table(repo, "t")
    repo.branch("dev")
    repo.tag("v1", at="main~1")
    named = repo.show("v1").hash if parent == "HASH" else parent
    opened = [repo.start(parent=named, message=f"number {n}") for n in range(2)]
    for n, each in enumerate(opened):
        each.create_table(f"u{n}", [{"id": 1}])
        assert each.branch == "main"
        assert each.finish().id == f"main/{n + 2}"
    assert {b.name for b in repo.branches()} == {"main", "dev"}
    assert [t.name for t in repo.tables()] == ["t", "u0", "u1"]


@pytest.mark.parametrize("way", ["deleted", "left"])
def test_where_no_branch_goes_on_a_new_one_gets_a_generated_name(repo: ab.Repository, way: str) -> None:
    make_table(repo, "t")
    repo.branch("dev")
    with repo.commit("dev", "aside") as tx:
        tx.table("t").insert([{"id": 2, "v": 2}])
    parent = repo.show("dev").hash
    if way == "deleted":
        repo.delete_branch("dev", force=True)
    else:
        repo.reset("dev", to="dev~1")
    opened = [repo.start(parent=parent, message="aside") for _ in range(2)]
    names = []
    for each in opened:
        each.create_table("u", [{"id": 1}])
        names.append(each.finish().id.partition("/")[0])
    assert len(set(names)) == 2
    assert all(name.startswith("unnamed-") for name in names)
    assert repo.show(names[0]).parents == (parent,)
    assert [t.name for t in repo.tables(names[0])] == ["t", "u"]


def test_a_message_may_be_empty(repo: ab.Repository) -> None:
    with repo.commit("main") as tx:
        tx.create_table("t", [{"id": 1}], key="id")
    opened = repo.start()
    opened.table("t").insert([{"id": 2}])
    opened.finish()
    named = repo.start(message="said at first")
    named.table("t").insert([{"id": 3}])
    named.finish(message="")
    assert [c.message for c in repo.log("main")] == ["", "", "", "start"]
    assert not [d for d in repo.verify(deep=True).damages if d.kind == "commit"]
    for wrong in (None, 7, "a\0b"):
        with pytest.raises(ab.InvalidRequest, match="the message is"):
            repo.commit("main", wrong)


def test_a_commit_opened_from_an_older_commit_of_the_branch_is_put_on_its_head(repo: ab.Repository) -> None:
    make_table(repo, "t")
    make_table(repo, "u")
    opened = repo.start("main", parent="main~1", message="from before")
    opened.table("t").insert([{"id": 2, "v": 2}])
    assert [t.name for t in repo.tables()] == ["t", "u"]
    assert opened.finish().id == "main/3"
    assert [t.name for t in repo.tables()] == ["t", "u"]


@pytest.mark.parametrize("reopened", [False, True])
def test_an_open_commit_follows_its_branch_to_a_new_name(repo: ab.Repository, reopened: bool) -> None:
    make_table(repo, "t")
    repo.branch("dev")
    opened = repo.start("dev", message="slowly")
    opened.table("t").insert([{"id": 2, "v": 2}])
    repo.rename_branch("dev", "qa")
    (only(repo) if reopened else opened).finish()
    assert {b.name for b in repo.branches()} == {"main", "qa"}
    assert ids(repo, "t", "qa") == [1, 2]


@pytest.mark.parametrize("reopened", [False, True])
def test_an_open_commit_does_not_bring_a_deleted_branch_back(repo: ab.Repository, reopened: bool) -> None:
    make_table(repo, "t")
    repo.branch("dev")
    opened = repo.start("dev", message="slowly")
    opened.table("t").insert([{"id": 2, "v": 2}])
    try:
        repo.delete_branch("dev")
    except ab.InvalidRequest:
        repo.delete_branch("dev", force=True)  # staged work may need force, as unmerged work does
    left = repo.open_commits()
    for handle in left if reopened else [opened]:
        with pytest.raises((ab.BranchMoved, ab.NotFound)):
            handle.finish()
    assert {b.name for b in repo.branches()} == {"main"}


# Words


def test_message_and_author_can_be_given_when_finishing(repo: ab.Repository) -> None:
    make_table(repo, "t")
    opened = repo.start("main", message="draft", author="bob")
    opened.table("t").insert([{"id": 2, "v": 2}])
    with pytest.raises(ab.InvalidRequest):
        opened.finish(message="a\0b")
    made = opened.finish(message="final", author="cid")
    assert (made.message, made.author) == ("final", "cid")


@pytest.mark.parametrize(
    "words",
    [
        {"message": "a\x00b"},
        {"message": "a\ud800b"},
        {"message": 7},
        {"message": "m", "author": ""},
        {"message": "m", "author": "a\x00"},
        {"message": "m", "author": "a\ud800"},
        {"message": "m", "provenance": [7]},
        {"message": "m", "provenance": ["a\x00"]},
    ],
)
def test_words_that_can_not_be_kept_are_refused_at_once(repo: ab.Repository, words: dict[str, Any]) -> None:
    with pytest.raises(ab.InvalidRequest):
        repo.start("main", **words)
    with pytest.raises(ab.InvalidRequest), repo.commit("main", **words):
        pass
    assert repo.open_commits() == []


def test_provenance_is_kept_in_order(repo: ab.Repository) -> None:
    hashes = [make_table(repo, name).hash for name in "abc"][::-1]
    opened = repo.start("main", message="derived", provenance=hashes)
    opened.create_table("d", [{"id": 1}], key="id")
    assert only(repo).finish().provenance == tuple(hashes)
    with repo.commit("main", "derived too", provenance=hashes[:1]) as tx:
        tx.create_table("e", [{"id": 1}], key="id")
    assert repo.show().provenance == tuple(hashes[:1])


def test_an_open_commit_without_changes_makes_no_commit(repo: ab.Repository) -> None:
    made = make_table(repo, "t")
    opened = repo.start("main", message="nothing")
    opened.table("t").update({"v": "v"})
    assert opened.finish() is None
    assert repo.show() == made
    assert repo.open_commits() == []


@pytest.mark.parametrize("reopened", [False, True])
@pytest.mark.parametrize("strict", [False, True])
def test_a_strict_open_commit_minds_the_tables_it_read(repo: ab.Repository, strict: bool, reopened: bool) -> None:
    make_table(repo, "read")
    make_table(repo, "written")
    opened = repo.start("main", message="careful", strict=strict)
    total = opened.table("read").count()
    opened.table("written").insert([{"id": 2, "v": total}])
    put(repo, "read", 2)
    opened = only(repo) if reopened else opened
    if strict:
        with pytest.raises(ab.BranchMoved, match="'read'"):
            opened.finish()
        assert ids(repo, "written") == [1]
    else:
        assert opened.finish() is not None


def test_open_commits_are_listed_oldest_first(repo: ab.Repository) -> None:
    made = [repo.start("main", message=f"number {n}").id for n in range(3)]
    assert [o.id for o in repo.open_commits()] == made


# The working set of the command line


def test_a_branch_has_one_working_set(repo: ab.Repository) -> None:
    from anabranch.repo.commit.open_commit import start, working_set
    from anabranch.repo.commit.start import CommitRequest

    ctx = repo._ctx
    repo.branch("dev")
    assert working_set(ctx, "main") is None
    first = start(ctx, CommitRequest("main", "working set"), working=True)
    other = start(ctx, CommitRequest("dev", "working set"), working=True)
    with pytest.raises(ab.AlreadyExists):
        start(ctx, CommitRequest("main", "working set"), working=True)
    start(ctx, CommitRequest("main", "no working set"))
    found = working_set(ctx, "main")
    assert found is not None
    assert found.id == first.id
    assert found.is_working_set
    repo.rename_branch("dev", "qa")
    moved = working_set(ctx, "qa")
    assert moved is not None
    assert moved.id == other.id
    first.abort()
    assert working_set(ctx, "main") is None
    assert start(ctx, CommitRequest("main", "again"), working=True).is_working_set
