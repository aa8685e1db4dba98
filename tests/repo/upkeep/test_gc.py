"""gc: what nothing needs goes, rows first and files after the time of grace; what anybody needs stays."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select, update

import anabranch as ab
from anabranch.catalog import tables as t
from anabranch.objects.folder import Folder
from tests.catalog import processes
from tests.catalog.stores import Store, make_table, put
from tests.postgres import PostgresServer

FILES = ab.Settings(
    objects=ab.ObjectSettings(inline_limit_bytes=400, file_row_limit=50),
    folding=ab.FoldingSettings(commit_limit=2, rewrite_row_limit=100),
)
"""Some objects lie in files and others in the catalogue, and every other commit makes a view."""
ALL_FILES = ab.Settings(objects=ab.ObjectSettings(inline_limit_bytes=0), folding=ab.FoldingSettings(commit_limit=0))
Rows = list[dict[str, Any]]


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """A store for one test: all that lies in it is the test's."""
    if request.param == "sqlite":
        place = tmp_path / "store"
        yield Store("sqlite", str(place), place / ".anabranch" / "objects")
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    url = server.create_database()
    yield Store("postgresql", url, tmp_path / "objects")
    server.drop_database(url)


@pytest.fixture
def repo(store: Store) -> Iterator[ab.Repository]:
    with store.init("shop", settings=FILES) as made:
        yield made


def work(repo: ab.Repository, commits: int = 8, branch: str = "main", low: int = 0) -> None:
    """Change a table of 200 rows again and again, from a key on, so that views pile up."""
    if not repo.tables(branch):
        make_table(repo, "t", [{"id": n, "v": 0} for n in range(200)], branch)
    for number in range(commits):
        with repo.commit(branch, f"change {number}") as tx:
            tx.table("t").upsert([{"id": n, "v": number * n * 7919} for n in range(low, 220, 8)])


def states(repo: ab.Repository) -> dict[str, Rows]:
    """The rows of the table at every commit that main reaches."""
    there = [c.hash for c in repo.log("main") if repo.tables(c.hash)]
    return {hash_: sorted(repo.table("t", hash_).rows(), key=lambda r: r["id"]) for hash_ in there}


def count(repo: ab.Repository, table: Any) -> int:
    with repo._ctx.catalog.read() as cx:
        return int(cx.scalar(select(func.count()).select_from(table)) or 0)


def age(store: Store, repo: ab.Repository, days: int) -> None:
    """Let all that is let go of be as old as this: files, and objects that nothing links."""
    past = time.time() - days * 86_400
    for path in store.files():
        os.utime(store.objects / path, (past, past))
    with repo._ctx.catalog.write() as cx:
        cx.execute(update(t.objects).values(created_at=int(past * 1e6)))


def test_superseded_views_go_and_every_commit_reads_as_before(store: Store, repo: ab.Repository) -> None:
    work(repo)
    before, views, files = states(repo), count(repo, t.views), store.files()
    layout = repo.table("t").layout()
    told = repo.gc(dry_run=True, grace=0)
    assert (count(repo, t.views), store.files()) == (views, files), "a dry run changes nothing"
    done = repo.gc(grace=0)
    assert (done.garbage, told.dry_run, done.dry_run) == (told.garbage, True, False)
    assert done["views"].count == views - count(repo, t.views) > 2
    assert done.size_bytes == done["views"].size_bytes > 0
    assert store.files() < files
    assert repo.table("t").layout() == layout, "what the branch reads stays"
    assert states(repo) == before
    with store.open("shop") as again:
        assert states(again) == before
        again.verify().raise_damages()
    assert repo.gc(grace=0).size_bytes == 0, "nothing is left to do"


def test_objects_and_files_stay_for_the_time_of_grace(store: Store, repo: ab.Repository) -> None:
    work(repo)
    files, objects, before = store.files(), count(repo, t.objects), states(repo)
    opened = {hash_: repo.table("t", hash_) for hash_ in before}
    for table in opened.values():
        assert table.count()
    done = repo.gc()
    assert done["views"].count > 0
    assert (done.size_bytes, done.later_bytes) == (0, done["views"].later_bytes)
    assert (store.files(), count(repo, t.objects)) == (files, objects)
    for hash_, table in opened.items():
        assert sorted(table.rows(), key=lambda r: r["id"]) == before[hash_], "what was opened before can still be read"
    assert repo.gc().later_bytes == done.later_bytes, "it waits"
    age(store, repo, days=8)
    after = repo.gc()
    assert (after["objects"].size_bytes, after.later_bytes) == (done.later_bytes, 0)
    assert store.files() < files
    assert states(repo) == before


@pytest.mark.parametrize(("keep", "stays"), [(0, False), ("0", False), (99, True), ("99", True), ("1h", True)])
def test_views_are_kept_by_count_or_age(store: Store, repo: ab.Repository, keep: Any, stays: bool) -> None:
    work(repo)
    views = count(repo, t.views)
    assert (repo.gc(grace=0, keep=keep)["views"].count == 0) == stays
    assert (count(repo, t.views) == views) == stays


@pytest.mark.parametrize(
    "given", [{"grace": "soon"}, {"grace": -1}, {"grace": 7}, {"keep": -1}, {"keep": True}, {"reflog": "9y"}]
)
def test_ages_that_make_no_sense_are_refused(duck: ab.Repository, given: dict[str, Any]) -> None:
    with pytest.raises(ab.InvalidRequest, match="no duration"):
        duck.gc(**given)


def test_what_branches_and_tags_show_is_read_from_the_same_objects_as_before(repo: ab.Repository) -> None:
    work(repo, 6)
    repo.branch("old")
    work(repo, 5)
    repo.tag("v1")
    work(repo, 7)
    layouts = {ref: repo.table("t", ref).layout() for ref in ("old", "v1", "main")}
    assert repo.gc(grace=0)["views"].count > 0
    assert {ref: repo.table("t", ref).layout() for ref in layouts} == layouts


def test_views_of_a_dropped_table_go_and_its_past_is_read(repo: ab.Repository) -> None:
    work(repo)
    before = states(repo)
    with repo.commit("main", "drop") as tx:
        tx.drop_table("t")
    gone = repo.gc(grace=0)["views"].count
    assert gone == 4, "all but the one that it was made with"
    assert states(repo) == before


# What is open


def test_open_commits_stashes_and_merges_go_on_after_gc(store: Store, repo: ab.Repository) -> None:
    work(repo, 3)
    repo.branch("dev")
    put(repo, "t", 5, 55, "dev")
    put(repo, "t", 6, 66, "dev")
    put(repo, "t", 5, 50)
    put(repo, "t", 6, 60)
    opened = repo.start("main", message="slowly")
    opened.table("t").update({"v": 7}, where="id < 150")
    opened.create_table("new", [{"id": n, "v": n * 7919} for n in range(300)], key="id")
    staged = repo.start("main", message="staged", working=True)
    staged.table("t").insert([{"id": n, "v": n * 31} for n in range(5000, 5300)])
    repo.stash("main")
    merge = repo.start_merge("dev", into="main")
    merge.resolve("t", key=5, set={"v": 5})
    hash_, source = opened.parent, repo.show("dev").hash
    repo.reset("main", to="main~2")
    repo.delete_branch("dev", force=True)
    for _ in range(2):
        repo.gc(grace=0, reflog=0)
    assert {repo.show(x).hash for x in (hash_, source)} == {hash_, source}, "an open commit or merge holds them"
    repo.reset("main", to=hash_)
    with store.open("shop", settings=FILES) as again:
        again.verify().raise_damages()
        (waiting,) = again.open_merges()
        assert len(waiting.conflicts["t"].rows()) == 1, "what was resolved is resolved"
        waiting.resolve("t", take="theirs")
        waiting.finish()
        assert [again.table("t").get(k)["v"] for k in (5, 6)] == [5, 66]
        assert again.pop_stash().table("t").get(5299) == {"id": 5299, "v": 5299 * 31}
        (left,) = (x for x in again.open_commits() if not x.is_working_set)
        assert left.table("t").get(3)["v"] == 7
        assert left.table("new").count() == len(left.table("new").rows()) == 300
        left.abort()
        again.working_set().finish("from the stash")
        again.verify().raise_damages()


def test_what_an_open_commit_left_behind_goes(store: Store, repo: ab.Repository) -> None:
    make_table(repo, "t", [{"id": n, "v": n * 7919} for n in range(300)])
    opened = repo.start("main", message="twice")
    for v in (1, 2, 3):
        opened.table("t").update({"v": f"v + {v}"})
    opened.finish()
    rows, files = repo.table("t").rows(), store.files()
    waiting = repo.gc()
    assert waiting["objects"].size_bytes == 0 < waiting["objects"].later_bytes
    assert repo.gc(grace=0)["objects"].size_bytes == waiting["objects"].later_bytes
    assert store.files() < files
    assert repo.table("t").rows() == rows
    repo.verify().raise_damages()


def test_a_preview_stays_as_long_as_the_reflog(repo: ab.Repository) -> None:
    work(repo, 3)
    repo.branch("dev")
    put(repo, "t", 5, 55, "dev")
    put(repo, "t", 6, 66)
    seen = repo.preview("dev", into="main")
    repo.gc(grace=0)
    assert [seen.table("t").get(k)["v"] for k in (5, 6)] == [55, 66]
    assert repo.gc(grace=0, reflog=0)["commits"].count == 1
    with pytest.raises(ab.NotFound):
        repo.show(seen.ref)


# Commits that nothing reaches


def test_commits_of_deleted_branches_and_resets_go_by_the_age_of_the_reflog(store: Store, repo: ab.Repository) -> None:
    work(repo, 3)
    repo.branch("dev")
    work(repo, 4, branch="dev", low=1)
    repo.branch("more", at="dev~2")
    put(repo, "t", 2, 1, "more")
    work(repo, 3)
    repo.merge("more", into="main")
    before = states(repo)
    repo.delete_branch("dev", force=True)
    lost = [put(repo, "t", n, 9) for n in range(3)]
    repo.reset("main", to="main~3")
    assert repo.gc(grace=0)["commits"].count == 0
    with repo._ctx.catalog.write() as cx:
        cx.execute(update(t.branch_moves).values(moved_at=t.branch_moves.c.moved_at - 91 * 86_400 * 10**6))
    told = repo.gc(grace=0, dry_run=True)
    done = repo.gc(grace=0)
    assert done["commits"].count == told["commits"].count == 2 + 3, "what `more` does not reach of dev, and the reset"
    assert states(repo) == before
    for ref in (lost[0].hash, lost[2].id, "main@{3}"):
        with pytest.raises(ab.NotFound):
            repo.show(ref)
    with pytest.raises(ab.NotFound):
        repo.reflog("dev")
    assert repo.reflog("main")[0].verb == "reset"
    work(repo, 3)
    assert repo.branch("dev").name == "dev"
    put(repo, "t", 5, 5, "dev")
    assert {d.kind for d in repo.verify().damages} == {"branch"}, "the times of the moves, which were changed above"
    assert list(states(repo).items())[-len(before) :] == list(before.items())


def test_a_commit_that_a_tag_or_branch_shows_again_stays(repo: ab.Repository) -> None:
    work(repo, 2)
    lost = [put(repo, "t", n, n + 900) for n in range(4)]
    repo.reset("main", to="main~4")
    repo.tag("kept", at=lost[1].hash)
    assert repo.gc(grace=0, reflog=0)["commits"].count == 2
    assert [repo.table("t", "kept").get(n)["v"] for n in (0, 1)] == [900, 901]
    assert repo.is_ancestor(lost[0].hash, "kept")
    repo.branch("again", at="kept")
    put(repo, "t", 7, 7, "again")
    repo.verify().raise_damages()


def test_merging_a_commit_that_was_collected_meanwhile_is_refused(
    repo: ab.Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    from anabranch.repo.merge import merge as module

    work(repo, 1)
    repo.branch("dev")
    put(repo, "t", 1, 1, "dev")
    put(repo, "t", 2, 2)
    worked_out = module.work_out

    def slowly(*args: Any, **options: Any) -> Any:
        done = worked_out(*args, **options)
        repo.delete_branch("dev", force=True)
        repo.gc(grace=0, reflog=0)
        return done

    monkeypatch.setattr(module, "work_out", slowly)
    head = repo.show()
    with pytest.raises(ab.Unavailable, match="collected"):
        repo.merge("dev", into="main")
    assert repo.show() == head
    repo.verify().raise_damages()


# Files that nothing names


def leave(root: Path) -> list[Path]:
    """What crashes leave: a file, half a file, what Spark wrote, and how far it got."""
    folder = Folder(str(root))
    made = [Path(folder.uri(folder.put(b"file").path))]
    half = made[0].parent / f"o{made[0].parent.name}{'a' * 14}.tmp"
    half.write_bytes(b"half")
    prefix = folder.new_prefix()
    below = Path(folder.uri(prefix))
    for name in ("part-0.parquet", "_temporary/0/task_1/part-1.parquet"):
        (below / name).parent.mkdir(parents=True, exist_ok=True)
        (below / name).write_bytes(b"spark")
        made.append(below / name)
    return [*made, half, Path(f"{below}.begun")]


def test_files_of_crashes_go_after_the_time_of_grace(store: Store, repo: ab.Repository) -> None:
    work(repo, 2)
    repo.gc(grace=0)
    files = store.files()
    left = leave(store.objects)
    assert repo.gc()["files"].count == 0, "somebody may be about to publish them"
    age(store, repo, days=8)
    young = left[1]
    os.utime(young)
    assert repo.gc(dry_run=True)["files"].count == 2, "what is written below a prefix keeps all of it young"
    os.utime(young, (0, 0))
    for folder in (young.parent, *young.parent.glob("**/_temporary"), *young.parent.glob("**/_temporary/**/")):
        os.utime(folder, (0, 0))
    done = repo.gc()
    assert (done["files"].count, done["files"].size_bytes) == (5, 4 + 4 + 5 + 5)
    assert store.files() == files
    assert not young.parent.exists()
    repo.verify().raise_damages()


def test_what_is_not_ours_is_left_alone(store: Store, repo: ab.Repository, tmp_path: Path) -> None:
    work(repo, 2)
    elsewhere = tmp_path / "elsewhere" / f"oaa{'b' * 14}"
    elsewhere.mkdir(parents=True)
    (elsewhere / "precious.parquet").write_bytes(b"!")
    shard = store.objects / "aa"
    shard.mkdir(exist_ok=True)
    (shard / f"oaa{'c' * 14}").symlink_to(elsewhere)
    unused = next(name for name in ("zz", "zy", "zx", "zw") if not (store.objects / name).exists())
    (store.objects / unused).symlink_to(tmp_path / "elsewhere")
    theirs = [
        store.objects / "README",
        store.objects / "data" / "orders.parquet",
        shard / "notes.parquet",
        shard / f"obb{'d' * 14}.parquet",
        shard / f"oaa{'d' * 14}.csv",
    ]
    for path in theirs:
        path.parent.mkdir(exist_ok=True)
        path.write_text("mine")
    assert repo.gc(grace=0)["files"].count == 0
    assert all(path.read_text() == "mine" for path in theirs)
    assert (elsewhere / "precious.parquet").exists()


def test_repositories_of_a_store_keep_their_files_and_a_dropped_one_loses_them(
    store: Store, repo: ab.Repository
) -> None:
    work(repo)
    with store.init("other", settings=FILES) as other:
        work(other)
        before = [states(repo), states(other)]
        repo.gc(grace=0)
        assert other.gc(dry_run=True, grace=0)["views"].count > 0, "each repository is collected by itself"
        assert [states(repo), states(other)] == before
        other.verify().raise_damages()
    files = store.files()
    age(store, repo, days=100)
    ab.drop_repository(store.url, "other")
    assert repo.gc()["objects"].count == 0, "who reads it has a time of grace"
    age(store, repo, days=8)
    assert repo.gc()["objects"].count > 0
    assert store.files() < files
    assert states(repo) == before[0]
    repo.verify().raise_damages()


def test_a_dropped_repository_leaves_no_rows(repo: ab.Repository, store: Store) -> None:
    tables = [x for x in t.metadata.sorted_tables if x.name != "ana_store"]
    before = {x.name: count(repo, x) for x in tables}
    with store.init("other", settings=FILES) as other:
        work(other, 3)
        other.branch("dev")
        put(other, "t", 5, 55, "dev")
        put(other, "t", 5, 50)
        other.start_merge("dev", into="main").resolve("t", take="ours")
        other.start("main", message="slowly").table("t").update({"v": 1})
    ab.drop_repository(store.url, "other")
    repo.gc(grace=0)
    assert {x.name: count(repo, x) for x in tables} == before


def test_an_object_root_that_stores_share_loses_no_file_of_either(tmp_path: Path) -> None:
    shared = str(tmp_path / "shared")
    with (
        ab.init(tmp_path / "a", objects=shared, engine="duck", settings=FILES) as one,
        ab.init(tmp_path / "b", objects=shared, engine="duck", settings=FILES) as two,
    ):
        for repo in (one, two):
            work(repo)
        before = states(two)
        left = leave(Path(shared))
        done = one.gc(grace=0)
        assert done["views"].size_bytes > 0
        assert done["files"].count == 0
        assert two._ctx.store_id in done.notes[0]
        assert all(path.exists() for path in left)
        assert states(two) == before
        two.verify().raise_damages()


# Copies of readers


def hold(store: Store, told: Path) -> None:
    """Keep a copy aside, as a reader on Spark does, until the process is killed."""
    with store.open("shop") as repo:
        told.write_text(repo._ctx.root.put_temporary(b"a copy"))
        time.sleep(processes.PATIENCE_SECONDS)


def wait_for(path: Path) -> str:
    deadline = time.monotonic() + processes.PATIENCE_SECONDS
    while not (path.exists() and path.read_text()):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return path.read_text()


def test_copies_go_when_their_reader_was_killed_and_stay_while_it_lives(
    store: Store, repo: ab.Repository, tmp_path: Path
) -> None:
    own = repo._ctx.root.put_temporary(b"mine")
    children = [processes.Child(hold, store, tmp_path / name) for name in ("dead", "alive")]
    dead, alive = (wait_for(tmp_path / name) for name in ("dead", "alive"))
    children[0].kill()
    assert repo.gc(dry_run=True, grace=0)["copies"].size_bytes == 6
    done = repo.gc(grace="7d")
    assert (done["copies"].count, done["copies"].size_bytes) == (1, 6), "no time of grace: nobody can read them"
    assert [(store.objects / path).exists() for path in (dead, alive, own)] == [False, True, True]
    children[1].kill()
    assert repo.gc()["copies"].count == 1
    assert [(store.objects / path).exists() for path in (alive, own)] == [False, True]


# ConcurrentChanges writers


def test_what_is_collected_before_it_is_published_is_never_linked(store: Store) -> None:
    """With no time of grace gc takes the files of those who write; they are told, and nothing is half there."""
    rows = [{"id": n, "v": n * 7919} for n in range(300)]
    with store.init("shop", settings=ALL_FILES) as repo:
        make_table(repo, "t", rows)
        head, before = repo.show(), repo.table("t").rows()
        with pytest.raises(ab.Unavailable, match="nothing was published"), repo.commit("main", "late") as tx:
            tx.table("t").update({"v": 1})
            repo.gc(grace=0)
        opened = repo.start("main", message="slowly")
        opened.table("t").update({"v": 2}, where="id < 10")
        repo.gc(grace=0)
        opened.table("t").update({"v": 3}, where="id < 5")
        assert (repo.show(), repo.table("t").rows()) == (head, before)
        opened.finish()
        assert [repo.table("t").get(k)["v"] for k in (4, 9, 10)] == [3, 2, 79190]
        repo.verify().raise_damages()


def _collecting(repo: ab.Repository, original: Callable[..., Any]) -> Callable[..., Any]:
    def first(*args: Any, **options: Any) -> Any:
        repo.gc(grace=0)
        return original(*args, **options)

    return first


def test_an_open_commit_whose_file_was_collected_keeps_what_it_had(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    from anabranch.catalog import open_commits

    with store.init("shop", settings=ALL_FILES) as repo:
        make_table(repo, "t", [{"id": n, "v": n} for n in range(20)])
        opened = repo.start("main", message="slowly")
        opened.table("t").update({"v": 2}, where="id = 1")
        save = open_commits.save

        def late(*args: Any) -> Any:
            (store.objects / args[-1][0].stored.path).unlink()
            return save(*args)

        monkeypatch.setattr(open_commits, "save", late)
        with pytest.raises(ab.Unavailable):
            opened.table("t").update({"v": 3}, where="id = 2")
        monkeypatch.undo()
        (again,) = repo.open_commits()
        assert [again.table("t").get(k)["v"] for k in (1, 2)] == [2, 2]
        again.finish()
        repo.verify().raise_damages()


def test_a_view_whose_objects_were_collected_is_not_written(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    from anabranch.repo.upkeep.fold import Refit

    with store.init(
        "shop",
        settings=ab.Settings(
            objects=ab.ObjectSettings(inline_limit_bytes=0), folding=ab.FoldingSettings(commit_limit=0)
        ),
    ) as repo:
        make_table(repo, "t", [{"id": n, "v": n} for n in range(20)])
        for n in range(3):
            put(repo, "t", n, 9)
        before, views = states(repo), count(repo, t.views)
        monkeypatch.setattr(Refit, "publish", _collecting(repo, Refit.publish))
        with pytest.raises(ab.Unavailable):
            repo.optimize("t")
        assert count(repo, t.views) == views
        monkeypatch.undo()
        assert states(repo) == before
        assert repo.optimize("t").view
        assert states(repo) == before
        repo.verify().raise_damages()


def test_what_spark_wrote_is_not_sealed_if_some_of_it_was_collected(tmp_path: Path) -> None:
    root = Folder(str(tmp_path))
    prefix = root.new_prefix()
    below = Path(root.uri(prefix))
    below.mkdir()
    (below / "part-0.parquet").write_bytes(b"0")
    root.collect([f.path for f in root.files()])
    below.mkdir(exist_ok=True)
    (below / "part-1.parquet").write_bytes(b"1")
    with pytest.raises(ab.Unavailable, match="collected while they were written"):
        root.settle(prefix)
