"""A job merges what it made with what others have in its output: rows and files, before and during its run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

import anabranch as ab

Rows = dict[int, dict[str, Any]]


@pytest.fixture
def repo(store_url: str, objects_root: str) -> Iterator[ab.Repository]:
    with ab.init(store_url, objects=objects_root, author="ann") as made:
        with made.commit("main", "load") as tx:
            tx.create_table("numbers", [{"n": n} for n in range(6)], key="n")
            for n in range(3):
                tx.files.put(f"raw/{n}.txt", f"line {n}\n")
        yield made


class Maker:
    """A job whose rows and files the test sets; it counts the shards that run."""

    def __init__(self, repo: ab.Repository, **options: Any) -> None:
        self.repo = repo
        self.options: dict[str, Any] = {"table": "out", "key": "id", "shards": 2, "local": True, "name": "make"}
        self.options |= options
        self.rows: Rows = {}
        self.puts: dict[str, str] = {}
        self.appends: dict[str, str] = {}
        self.ran = 0
        self.meanwhile: Callable[[], object] | None = None

    def run(self, *, force: bool = True, **more: Any) -> Any:
        made = (dict(self.rows), dict(self.puts), dict(self.appends))

        def make(shard: Any) -> Iterator[dict[str, Any]]:
            self.ran += 1
            rows, puts, appends = made
            if self.meanwhile is not None and shard.number == shard.count - 1:
                self.meanwhile()
            if shard.number == 0:
                for path, text in puts.items():
                    shard.put(path, text.encode())
            for path, text in appends.items():
                lines = text.splitlines(keepends=True)
                for line in lines[shard.number :: shard.count] if shard.count == 1 else _part(lines, shard):
                    shard.append(path, line.encode())
            for key, row in rows.items():
                if key % shard.count == shard.number:
                    yield {"id": key, **row} if self.options["key"] else dict(row)

        said = {"version": str(made), **self.options, **more}
        return self.repo.job(make, inputs={"numbers": "numbers"}, **said).run(force=force)

    @property
    def shown(self) -> Rows:
        return {row.pop("id"): row for row in self.repo.table("out").rows()}

    def text(self, path: str) -> str:
        return self.repo.files().read(path).decode()


def _part(lines: list[str], shard: Any) -> list[str]:
    half = len(lines) // 2
    return lines[:half] if shard.number == 0 else lines[half:]


def edit(repo: ab.Repository, write: Callable[[Any], object]) -> str:
    with repo.commit("main", "edit") as tx:
        write(tx)
    assert tx.commit is not None
    return tx.commit.hash


def test_an_edit_of_a_row_that_the_job_makes_as_before_stays_over_three_runs(repo: ab.Repository) -> None:
    job = Maker(repo)
    job.rows = {1: {"a": 1, "b": 1}, 2: {"a": 1, "b": 1}}
    job.run()
    edit(repo, lambda tx: tx.table("out").update({"a": "7"}, where="id = 1"))
    for _ in range(3):
        job.run()
        assert job.shown == {1: {"a": 7, "b": 1}, 2: {"a": 1, "b": 1}}
    job.rows[1] = {"a": 1, "b": 5}
    job.rows[2] = {"a": 2, "b": 1}
    for _ in range(3):
        job.run()
        assert job.shown == {1: {"a": 7, "b": 5}, 2: {"a": 2, "b": 1}}
    assert repo.verify().damages == ()


def test_rows_of_others_stay_and_what_is_no_longer_made_goes(repo: ab.Repository) -> None:
    edit(repo, lambda tx: tx.create_table("out", [{"id": 9, "a": 9}], key="id"))
    job = Maker(repo)
    job.rows = {1: {"a": 1}, 2: {"a": 2}}
    job.run()
    edit(repo, lambda tx: tx.table("out").insert([{"id": 10, "a": 10}]))
    job.meanwhile = lambda: edit(repo, lambda tx: tx.table("out").insert([{"id": 11 + job.ran, "a": 0}]))
    del job.rows[2]
    job.run()
    job.meanwhile = None
    assert {1, 9, 10} <= job.shown.keys()
    assert 2 not in job.shown
    job.rows = {}
    job.run()
    assert {9, 10} < job.shown.keys()
    assert 1 not in job.shown


def test_a_row_that_others_deleted_stays_deleted_while_it_is_made_as_before(repo: ab.Repository) -> None:
    job = Maker(repo)
    job.rows = {1: {"a": 1}, 2: {"a": 2}}
    job.run()
    edit(repo, lambda tx: tx.table("out").delete("id = 1"))
    job.run()
    assert job.shown == {2: {"a": 2}}
    job.rows[1] = {"a": 5}
    with pytest.raises(ab.MergeConflict):
        job.run()
    job.run(rules={"out": "theirs"})
    assert job.shown == {1: {"a": 5}, 2: {"a": 2}}


def test_a_key_that_others_inserted_is_equal_or_a_conflict(repo: ab.Repository) -> None:
    job = Maker(repo)
    job.rows = {1: {"a": 1}}
    job.run()
    edit(repo, lambda tx: tx.table("out").insert([{"id": 2, "a": 2}, {"id": 3, "a": 3}]))
    job.rows = {1: {"a": 1}, 2: {"a": 2}}
    job.run()
    job.rows = {1: {"a": 1}}
    job.run()
    assert job.shown == {1: {"a": 1}, 2: {"a": 2}, 3: {"a": 3}}, "the job never made row 2: it was there"
    head = repo.show("main").hash
    job.rows = {1: {"a": 1}, 3: {"a": 4}}
    with pytest.raises(ab.MergeConflict) as caught:
        job.run(force=False)
    assert [(c["key"], c["kind"]) for c in caught.value.conflicts["out"].rows()] == [({"id": 3}, "insert/insert")]
    assert repo.show("main").hash == head
    assert [b.name for b in repo.branches()] == ["main"]
    ran = job.ran
    job.run(force=False, rules={"out.a": "theirs"})
    assert (job.shown[3], job.ran) == ({"a": 4}, ran), "no shard ran again"


def test_resume_takes_rules_and_runs_no_shard(repo: ab.Repository) -> None:
    def make(shard: Any) -> Iterator[dict[str, Any]]:
        yield {"id": shard.number, "a": 1}

    edit(repo, lambda tx: tx.create_table("out", [{"id": 0, "a": 0}], key="id"))
    with pytest.raises(ab.MergeConflict):
        repo.job(make, inputs={"numbers": "numbers"}, table="out", key="id", shards=2, local=True).run()
    done = repo.resume_job("make", function=make, rules={"out": "ours"})
    assert (done.shards, done.resumed) == (0, 2)
    assert {r["id"]: r["a"] for r in repo.table("out").rows()} == {0: 0, 1: 1}


def test_parts_of_a_file_are_cut_and_appended_and_those_of_others_stay(repo: ab.Repository) -> None:
    edit(repo, lambda tx: tx.files.put("log.txt", "first\n"))
    job = Maker(repo, table=None, key=())
    job.appends = {"log.txt": "a\nb\n"}
    job.run()
    assert job.text("log.txt") == "first\na\nb\n"
    job.meanwhile = lambda: edit(repo, lambda tx: tx.files.append("log.txt", "others\n"))
    job.appends = {"log.txt": "a\nc\n"}
    job.run()
    job.meanwhile = None
    assert job.text("log.txt") == "first\nothers\na\nc\n"
    job.run()
    assert job.text("log.txt") == "first\nothers\na\nc\n"
    job.appends = {}
    job.run()
    assert job.text("log.txt") == "first\nothers\n"
    assert repo.verify().damages == ()


def test_a_file_that_others_replaced_stays_while_it_is_made_as_before(repo: ab.Repository) -> None:
    job = Maker(repo, table=None, key=())
    job.puts, job.appends = {"a.txt": "one"}, {"b.txt": "x\ny\n"}
    job.run()

    def replace(tx: Any) -> None:
        tx.files.put("a.txt", "mine")
        tx.files.put("b.txt", "mine")

    edit(repo, replace)
    job.run()
    assert (job.text("a.txt"), job.text("b.txt")) == ("mine", "mine")
    job.puts = {"a.txt": "two"}
    with pytest.raises(ab.MergeConflict) as caught:
        job.run()
    assert [f["path"] for f in caught.value.conflicts.files.rows()] == ["a.txt"]
    job.run(rules={"files:a.txt": "theirs"})
    assert (job.text("a.txt"), job.text("b.txt")) == ("two", "mine")


def test_a_reverted_commit_counts_as_never_made_and_is_not_reused(repo: ab.Repository) -> None:
    job = Maker(repo)
    job.rows, job.appends = {1: {"a": 1}}, {"log.txt": "a\nb\n"}
    first = job.run(force=False).commit
    repo.revert(first.hash)
    done = job.run(force=False)
    assert (done.reused, job.shown, job.text("log.txt")) == (False, {1: {"a": 1}}, "a\nb\n")
    undone = repo.revert(done.commit.hash, message="out with it")
    assert undone is not None
    repo.revert(undone.hash)
    assert job.run(force=False).reused, "the revert was reverted"
    job.rows[1] = {"a": 2}
    job.run()
    assert job.shown == {1: {"a": 2}}


def test_a_reset_takes_what_was_made_away(repo: ab.Repository) -> None:
    before = repo.show("main").hash
    job = Maker(repo)
    job.rows = {1: {"a": 1}}
    job.run(force=False)
    repo.reset("main", before)
    assert not job.run(force=False).reused
    assert job.shown == {1: {"a": 1}}


def test_what_a_merge_brought_is_not_the_jobs(repo: ab.Repository) -> None:
    repo.branch("dev")
    job = Maker(repo)
    job.rows = {1: {"a": 1}}
    job.run(output="dev")
    edit(repo, lambda tx: tx.create_namespace("beside"))
    repo.merge("dev", into="main")
    job.rows = {2: {"a": 2}}
    job.run()
    assert job.shown == {1: {"a": 1}, 2: {"a": 2}}


def test_rows_without_a_key_are_told_by_their_ids(repo: ab.Repository) -> None:
    job = Maker(repo, key=(), shards=1)
    job.rows = {1: {"a": 1, "b": 1}, 2: {"a": 1, "b": 1}, 3: {"a": 3, "b": 1}}
    job.run()
    edit(repo, lambda tx: tx.table("out").insert([{"a": 1, "b": 1}, {"a": 8, "b": 8}]))
    edit(repo, lambda tx: tx.table("out").update({"b": "7"}, where="a = 3"))

    def shown() -> list[tuple[int, int]]:
        return sorted((r["a"], r["b"]) for r in repo.table("out").rows())

    expected = [(1, 1), (1, 1), (1, 1), (3, 7), (8, 8)]
    for _ in range(3):
        job.run()
        assert shown() == expected
    del job.rows[2]
    job.run()
    assert shown() == [(1, 1), (1, 1), (3, 7), (8, 8)]
    edit(repo, lambda tx: tx.table("out").delete("a = 1"))
    job.run()
    assert shown() == [(3, 7), (8, 8)]
    job.rows[3] = {"a": 4, "b": 1}
    with pytest.raises(ab.MergeConflict):
        job.run()
    assert repo.verify().damages == ()


def test_append_only_inserts(repo: ab.Repository) -> None:
    edit(repo, lambda tx: (tx.create_table("out", [{"id": 1, "a": 1}], key="id"), tx.files.put("log.txt", "first\n")))
    job = Maker(repo, mode="append")
    job.rows, job.appends, job.puts = {2: {"a": 2}}, {"log.txt": "a\nb\n"}, {"new.txt": "new"}
    job.run()
    assert (job.shown, job.text("log.txt")) == ({1: {"a": 1}, 2: {"a": 2}}, "first\na\nb\n")
    job.rows, job.appends, job.puts = {3: {"a": 3}}, {"log.txt": "c\nd\n"}, {}
    job.meanwhile = lambda: edit(repo, lambda tx: tx.files.append("log.txt", "others\n"))
    job.run()
    job.meanwhile = None
    assert (job.shown, job.text("log.txt")) == ({n: {"a": n} for n in (1, 2, 3)}, "first\na\nb\nothers\nc\nd\n")
    job.appends = {}
    for rows, puts in (({3: {"a": 3}}, {}), ({3: {"a": 4}}, {}), ({}, {"new.txt": "new"}), ({}, {"new.txt": "other"})):
        job.rows, job.puts = rows, puts
        with pytest.raises(ab.MergeConflict):
            job.run()
    job.run(rules={"files:*": "theirs"})
    assert job.text("new.txt") == "other"


def test_replace_takes_the_place_of_what_was_there_at_the_parent(repo: ab.Repository) -> None:
    def before(tx: Any) -> None:
        tx.create_table("out", [{"id": 1, "a": 1}, {"id": 9, "a": 9}], key="id")
        tx.files.put("a.txt", "others")
        tx.files.put("b.txt", "others")

    parent = edit(repo, before)
    job = Maker(repo, mode="replace")
    job.rows, job.puts = {1: {"a": 5}}, {"a.txt": "job"}
    job.run()
    assert (job.shown, job.text("a.txt"), job.text("b.txt")) == ({1: {"a": 5}}, "job", "others")
    edit(repo, lambda tx: tx.table("out").insert([{"id": 2, "a": 2}]))
    with pytest.raises(ab.MergeConflict):
        job.run(parent=parent)
    job.run(parent=parent, rules={"out": "ours"})
    assert job.shown == {1: {"a": 5}, 2: {"a": 2}}
    job.run(parent=parent, rules={"out": "theirs"})
    assert job.shown == {1: {"a": 5}}


@pytest.mark.parametrize("content", ["job", "else"])
def test_replace_beside_others_is_a_conflict(repo: ab.Repository, content: str) -> None:
    edit(repo, lambda tx: (tx.files.put("a.txt", "job"), tx.create_table("out", [{"id": 1, "a": 1}], key="id")))
    job = Maker(repo, mode="replace")
    job.rows, job.puts = {1: {"a": 1}}, {"a.txt": content}
    job.meanwhile = lambda: edit(repo, lambda tx: tx.files.put("a.txt", "others"))
    with pytest.raises(ab.MergeConflict):
        job.run()
    edit(repo, lambda tx: tx.files.put("a.txt", "job"))
    job.meanwhile = lambda: edit(repo, lambda tx: tx.files.delete("a.txt"))
    with pytest.raises(ab.MergeConflict):
        job.run()
    job.meanwhile = lambda: edit(repo, lambda tx: tx.table("out").insert([{"id": 5, "a": 5}]))
    with pytest.raises(ab.MergeConflict):
        job.run()
    assert job.shown.keys() == {1, 5}


def test_a_parent_that_the_output_lacks_is_refused(repo: ab.Repository) -> None:
    repo.branch("dev")
    with repo.commit("dev", "beside") as tx:
        tx.create_namespace("beside")
    assert tx.commit is not None
    with pytest.raises(ab.InvalidRequest, match="does not contain parent="):
        Maker(repo).run(parent=tx.commit.hash)


def test_modes_and_parents_are_compared_for_reuse_and_rules_are_not(repo: ab.Repository) -> None:
    job = Maker(repo)
    job.rows = {1: {"a": 1}}
    done = job.run(force=False)
    edit(repo, lambda tx: tx.table("out").update({"a": "7"}))
    assert job.run(force=False, rules={"out": "theirs"}).commit == done.commit
    assert job.shown == {1: {"a": 7}}
    assert not job.run(force=False, mode="replace").reused
    assert job.shown == {1: {"a": 1}}
    assert not job.run(force=False, mode="replace", parent=repo.show("main").hash).reused


def test_an_incremental_run_adds_and_updates(repo: ab.Repository) -> None:
    def copies(shard: Any) -> Iterator[dict[str, Any]]:
        for row in shard.rows("numbers"):
            shard.append("log.txt", f"{row['n']}\n".encode())
            yield {"id": row["n"], "a": row["n"]}

    def run() -> Any:
        options: dict[str, Any] = {"table": "out", "key": "id", "shards": 2, "local": True, "incremental": True}
        return repo.job(copies, inputs={"numbers": "numbers"}, **options).run()

    run()
    edit(repo, lambda tx: (tx.table("out").insert([{"id": 99, "a": 99}]), tx.files.append("log.txt", "others\n")))
    edit(repo, lambda tx: (tx.table("numbers").insert([{"n": 6}]), tx.table("numbers").delete("n = 0")))
    done = run()
    assert done.rows == 1
    assert {r["id"] for r in repo.table("out").rows()} == {*range(7), 99}
    assert repo.files().read("log.txt").decode().splitlines()[6:] == ["others", "6"]
    repo.revert(done.commit.hash)
    assert run().rows == 1
    assert {r["id"] for r in repo.table("out").rows()} == {*range(7), 99}


BAD: Mapping[str, dict[str, Any]] = {
    "is no branch": {"output": "shop:main"},
    "is no mode": {"mode": "keep"},
    "mode='replace' takes": {"mode": "replace", "incremental": True},
    "which is no rule": {"rules": {"out": "thiers"}},
    "speaks of nothing that job 'make' writes": {"rules": {"other.a": "theirs"}},
}


@pytest.mark.parametrize("message", BAD)
def test_what_can_not_be_is_refused_before_anything_runs(repo: ab.Repository, message: str) -> None:
    job = Maker(repo)
    with pytest.raises(ab.InvalidRequest, match=message):
        job.run(**BAD[message])
    assert job.ran == 0
    assert repo.jobs() == []


@pytest.mark.parametrize("key", ["id", ()], ids=["keyed", "keyless"])
def test_branches_of_shards_come_from_the_parent_and_hold_what_was_published(repo: ab.Repository, key: Any) -> None:
    job = Maker(repo, key=key, keep_shards=True)
    row = {1: {"id": 1, "a": 1}, 2: {"id": 2, "a": 2}, 3: {"id": 3, "a": 3}}
    job.rows = row if key == () else {n: {"a": r["a"]} for n, r in row.items()}
    job.appends, job.puts = {"log.txt": "a\nb\n", "same.txt": "c\nd\n"}, {"put.txt": "one"}
    job.run()
    edit(repo, lambda tx: (tx.table("out").update({"a": "7"}, where="id = 1"), tx.files.append("log.txt", "others\n")))
    parent = repo.show("main").hash
    changed = {1: {"id": 1, "a": 1}, 2: {"id": 2, "a": 5}, 3: {"id": 3, "a": 3}, 4: {"id": 4, "a": 4}}
    job.rows = changed if key == () else {n: {"a": r["a"]} for n, r in changed.items()}
    job.appends["log.txt"], job.puts["put.txt"] = "a\nc\n", "two"
    done = job.run()
    names = [b.name for b in repo.branches() if b.name.startswith("job/")]
    assert names == ["job/make/shard-00000", "job/make/shard-00001"]
    assert [c.parents for name in names for c in repo.log(name, limit=1)] == [(parent,), (parent,)]
    repo.branch("squash", at=parent)
    repo.merge(names, into="squash", mode="squash")
    shown, published = (Counter(map(str, repo.table("out", at=ref).rows())) for ref in ("squash", "main"))
    assert not published - shown, "only deletions are in no shard"
    assert done.commit.hash == repo.show("main").hash
    assert repo.files("squash").read("log.txt") == b"a\nb\nothers\na\nc\n"
    assert repo.files().read("log.txt") == b"others\na\nc\n"
    for path in ("same.txt", "put.txt"):
        assert repo.files("squash").read(path) == repo.files().read(path)


def test_a_key_that_two_shards_make_is_refused_and_both_are_named(repo: ab.Repository) -> None:
    def same(shard: Any) -> Iterator[dict[str, Any]]:
        yield {"id": 1, "a": shard.number}

    job = repo.job(same, inputs={"numbers": "numbers"}, table="out", key="id", shards=2, local=True)
    with pytest.raises(ab.RunFailed, match="shards 0 and 1 both made the row id=1 of 'out'"):
        job.run()


def test_a_column_that_others_added_is_theirs(repo: ab.Repository) -> None:
    job = Maker(repo)
    job.rows = {1: {"a": 1}, 2: {"a": 2}, 3: {"a": 3}}
    job.run()
    edit(repo, lambda tx: tx.table("out").add_column("c", "INT", default=0))
    edit(repo, lambda tx: tx.table("out").update({"c": "5"}, where="id < 3"))
    for a in (1, 7):
        job.rows = {1: {"a": a}, 2: {"a": 2}}
        if a == 1:
            job.rows[3] = {"a": 3}
        job.run()
        assert job.shown[1] == {"a": a, "c": 5}
        assert job.shown[2] == {"a": 2, "c": 5}
    assert 3 not in job.shown
    edit(repo, lambda tx: tx.table("out").rename_column("c", "note"))
    job.rows[1] = {"a": 8}
    job.run()
    assert job.shown == {1: {"a": 8, "note": 5}, 2: {"a": 2, "note": 5}}
    edit(repo, lambda tx: tx.table("out").drop_column("note"))
    job.rows[4] = {"a": 4}
    job.run()
    assert job.shown == {1: {"a": 8}, 2: {"a": 2}, 4: {"a": 4}}
    edit(repo, lambda tx: tx.drop_table("out"))
    job.run()
    assert job.shown == {1: {"a": 8}, 2: {"a": 2}, 4: {"a": 4}}
    assert repo.verify().damages == ()
