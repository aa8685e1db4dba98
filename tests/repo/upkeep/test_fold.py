"""Views: folds and rewritten files change what is read, never what it says; nobody waits for them or is refused."""

from __future__ import annotations

import itertools
import random
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import anabranch as ab
from anabranch.repo.upkeep import fold
from tests.catalog import processes, stores
from tests.catalog.stores import Store

SCHEMA = {"id": "int", "a": "int", "b": "string", "c": "double"}
NO_REWRITING = ab.Settings(folding=ab.FoldingSettings(commit_limit=2, rewrite_share=1e9))
TINY = ab.Settings(
    objects=ab.ObjectSettings(file_row_limit=4, inline_limit_bytes=0),
    folding=ab.FoldingSettings(commit_limit=2, rewrite_row_limit=8, row_limit=12),
)
SETTINGS = {
    "folds": NO_REWRITING,
    "rewriting": ab.Settings(folding=ab.FoldingSettings(commit_limit=3)),
    "tiny files": TINY,
}

Statement = Callable[[Any], object]


def opened(folder: Path, settings: ab.Settings, **options: Any) -> ab.Repository:
    return ab.init(folder, author="ann", settings=settings, **{"engine": "duck", **options})


def make(repo: ab.Repository, rows: int = 6, key: Any = "id", schema: dict[str, str] = SCHEMA) -> None:
    with repo.commit("main", "make") as tx:
        tx.create_table("t", [{"id": n, "a": n, "b": f"b{n}"} for n in range(rows)], key=key, schema=schema)


def commit(repo: ab.Repository, statement: Statement, branch: str = "main") -> None:
    with repo.commit(branch, "change") as tx:
        statement(tx.table("t"))


def shown(repo: ab.Repository, at: str | None = None) -> list[dict[str, Any]]:
    return sorted(repo.table("t", at).rows(), key=lambda row: row["id"])


def views(repo: ab.Repository, at: str | None = None) -> list[Any]:
    return [layer["view"] for layer in repo.table("t", at).layout()]


def set_a(key: int, value: int | None) -> Statement:
    return lambda t: t.update({"a": value}, where=f"id = {key}")


def put(key: int, value: int) -> Statement:
    return lambda t: t.insert([{"id": key, "a": value, "b": None, "c": 1.5}])


def gone(key: int) -> Statement:
    return lambda t: t.delete(where=f"id = {key}")


# What happens to some keys in commits that follow one another: (column or verb, key, value).
CASES: dict[str, list[tuple[str, int, Any]]] = {
    "insert, update": [("put", 9, 1), ("a", 9, 2)],
    "insert, delete": [("put", 9, 1), ("gone", 9, 0)],
    "insert, update, delete": [("put", 9, 1), ("a", 9, 2), ("gone", 9, 0)],
    "delete, insert": [("gone", 1, 0), ("put", 1, 7)],
    "update, delete": [("a", 1, 7), ("gone", 1, 0)],
    "delete, insert, update": [("gone", 1, 0), ("put", 1, 7), ("a", 1, 8)],
    "delete, insert, delete": [("gone", 1, 0), ("put", 1, 7), ("gone", 1, 0)],
    "delete, insert, delete, insert": [("gone", 1, 0), ("put", 1, 7), ("gone", 1, 0), ("put", 1, 8)],
    "update, delete, insert, update": [("a", 1, 6), ("gone", 1, 0), ("put", 1, 7), ("b", 1, "'x'")],
    "insert, delete, insert": [("put", 9, 1), ("gone", 9, 0), ("put", 9, 2)],
    "update there and back": [("a", 1, 7), ("a", 1, 1)],
    "update to null": [("a", 1, None), ("b", 1, "'x'")],
    "update from null to null": [("c", 1, 2.0), ("c", 1, None)],
    "NaN": [("c", 1, float("nan")), ("a", 1, 7), ("c", 2, float("nan")), ("c", 2, 0.0)],
    "several columns": [("a", 1, 7), ("b", 1, "'x'"), ("a", 2, 8), ("c", 1, 0.5)],
    "moved key": [("id", 1, 9), ("a", 9, 3)],
    "moved there and back": [("id", 1, 9), ("id", 9, 1)],
    "moved over another": [("gone", 2, 0), ("id", 1, 2)],
}


def cases(repo: ab.Repository) -> None:
    """Every case at keys of its own, all in the same four commits."""
    rows = [{"id": 10 * i + k, "a": k, "b": f"b{k}", "c": None} for i in range(len(CASES)) for k in range(4)]
    with repo.commit("main", "make") as tx:
        tx.create_table("t", rows, key="id", schema=SCHEMA)
    for step in range(4):
        with repo.commit("main", f"step {step}") as tx:
            for i, steps in enumerate(CASES.values()):
                if step < len(steps):
                    act(tx.table("t"), 10 * i, *steps[step])


def act(table: Any, base: int, verb: str, key: int, value: Any) -> None:
    if verb == "put":
        put(base + key, value)(table)
    elif verb == "gone":
        gone(base + key)(table)
    else:
        table.update({verb: base + value if verb == "id" else value}, where=f"id = {base + key}")


def told(repo: ab.Repository) -> list[Any]:
    """Every row of every commit; NaN is equal to itself here."""
    return [[{k: repr(v) for k, v in row.items()} for row in shown(repo, f"main~{n}")] for n in range(5)]


def test_folds_say_what_their_changes_said(tmp_path: Path) -> None:
    """Step by step, so that folds are folded again; and all changes in one go."""
    found = []
    for limit in (0, 2, 4):
        with opened(
            tmp_path / f"store{limit}", replace(NO_REWRITING, folding=replace(NO_REWRITING.folding, commit_limit=limit))
        ) as repo:
            cases(repo)
            found.append(told(repo))
            assert repo.table("t").count() == len(found[-1][0])
            assert set(views(repo)) == ({"snapshot", "fold"} if limit else {"snapshot", None})
            repo.verify().raise_damages()
    assert found[1] == found[0]
    assert found[2] == found[0]


def test_an_engine_folds_as_the_other_reads(tmp_path: Path, engine: dict[str, Any]) -> None:
    with opened(tmp_path / "store", ab.Settings(folding=ab.FoldingSettings(commit_limit=0))) as repo:
        cases(repo)
        before = told(repo)
        folds_only = ab.Settings(
            objects=ab.ObjectSettings(file_row_limit=8, inline_limit_bytes=0),
            folding=ab.FoldingSettings(optimize_share=1e9),
        )
        with ab.open(tmp_path / "store", settings=folds_only, **engine) as folding:
            assert folding.optimize("t").view == "fold"
            assert [{k: repr(v) for k, v in row.items()} for row in shown(folding)] == before[0]
        assert set(views(repo)) == {"snapshot", "fold"}
        assert told(repo) == before
        repo.optimize("t")
        assert set(views(repo)) == {"snapshot"}
        assert told(repo) == before


@pytest.mark.parametrize("seeds", [range(1), pytest.param(range(1, 3), marks=pytest.mark.more)])
@pytest.mark.parametrize("kind", SETTINGS)
def test_random_histories_read_alike_with_views_and_without(kind: str, seeds: range, tmp_path: Path) -> None:
    for seed in seeds:
        histories = []
        for settings in (ab.Settings(folding=ab.FoldingSettings(commit_limit=0)), SETTINGS[kind]):
            with opened(tmp_path / f"{seed}-{settings.folding.commit_limit}", settings) as repo:
                make(repo, 12)
                histories.append(list(written(repo, random.Random(seed))))
                assert settings.folding.commit_limit == 0 or views(repo).count(None) < 3
                repo.verify().raise_damages()
        assert histories[0] == histories[1]


def written(repo: ab.Repository, chance: random.Random) -> Iterator[list[dict[str, Any]]]:
    """Write at random on two branches, optimize now and then, and read every commit again."""
    repo.branch("dev")
    for _ in range(40):
        branch = chance.choice(["main", "main", "dev"])
        commit(repo, random_statement(chance), branch)
        if chance.random() < 0.1 and repo._ctx.settings.folding.commit_limit:
            repo.optimize("t", on=branch)
        if chance.random() < 0.05:
            repo.reset("dev", to="main")
    for branch in ("main", "dev"):
        for number in range(len(repo.log(branch)) - 1):
            yield shown(repo, f"{branch}~{number}")


def random_statement(chance: random.Random) -> Statement:
    key, value = chance.randrange(16), chance.choice([None, 0, 1, 2])
    low, high = sorted((key, chance.randrange(16)))
    return chance.choice(
        [
            lambda t: t.upsert([{"id": key, "a": value}]),
            lambda t: t.upsert([{"id": n, "a": value, "b": "x", "c": 0.5} for n in range(low, high)] or [{"id": 1}]),
            lambda t: t.update({"a": value}, where=f"id BETWEEN {low} AND {high}"),
            lambda t: t.update({"b": "'y'"}, where=f"id = {key}"),
            gone(key),
            lambda t: None if t.get(high) else t.update({"id": high}, where=f"id = {low}"),
        ]
    )


def test_a_key_of_several_columns_folds(tmp_path: Path, engine: dict[str, Any]) -> None:
    with opened(tmp_path / "store", NO_REWRITING, **engine) as repo:
        with repo.commit("main", "make") as tx:
            tx.create_table("t", [{"x": x, "y": y, "v": 0} for x in range(3) for y in "ab"], key=["x", "y"])
        commit(repo, lambda t: t.update({"v": 1}, where="x = 1"))
        commit(repo, lambda t: t.delete(where="x = 1 AND y = 'a'"))
        assert set(views(repo)) == {"snapshot", "fold"}
        found = {(r["x"], r["y"]): r["v"] for r in repo.table("t").rows()}
        assert found == {(0, "a"): 0, (0, "b"): 0, (1, "b"): 1, (2, "a"): 0, (2, "b"): 0}
        repo.optimize("t")
        assert {(r["x"], r["y"]): r["v"] for r in repo.table("t").rows()} == found


def test_files_of_both_engines_are_read_as_one(tmp_path: Path, spark: Any) -> None:
    """Spark writes times in another form; folds and rewritten files stand beside its files."""
    settings = ab.Settings(
        objects=ab.ObjectSettings(inline_limit_bytes=0), folding=ab.FoldingSettings(commit_limit=2, rewrite_share=1e9)
    )
    made = spark.range(6).selectExpr(
        "id", "timestamp_seconds(id * 86400) AS at", "timestamp_ntz'2020-01-01 10:00:00' AS local", "date(now()) AS d"
    )
    with ab.init(tmp_path / "store", spark=spark, settings=settings) as repo:
        with repo.commit("main", "load") as tx:
            tx.create_table("t", made, key="id")
        first = shown(repo)
        for n in range(4):
            commit(repo, lambda t, n=n: t.insert([{**first[n], "id": 100 + n}]))
            commit(repo, lambda t, n=n: t.update({"at": first[5]["at"]}, where=f"id = {n}"))
        assert len({layer["turn"] for layer in repo.table("t").layout()}) > 1
        expected = [{**row, "at": first[5]["at"]} if row["id"] < 4 else row for row in first]
        expected += [{**first[n], "id": 100 + n} for n in range(4)]
        assert shown(repo) == expected
        with ab.open(tmp_path / "store", engine="spark", spark=spark) as other:
            assert shown(other) == expected


def test_the_same_commits_have_the_same_hashes_with_folding_and_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, keep = secrets.token_bytes, fold.keep_readable
    monkeypatch.setattr(time, "time_ns", lambda: 1_800_000_000 * 10**9)

    def hashes(settings: ab.Settings) -> list[str]:
        counted = itertools.count()

        def numbered(size: int = 32) -> bytes:
            return next(counted).to_bytes(size)

        def unnumbered(*args: Any) -> None:
            with monkeypatch.context() as patch:
                patch.setattr(secrets, "token_bytes", real)
                keep(*args)

        with monkeypatch.context() as patch:
            patch.setattr(secrets, "token_bytes", numbered)
            patch.setattr(fold, "keep_readable", unnumbered)
            with opened(tmp_path / f"store-{settings.folding.commit_limit}", settings) as repo:
                make(repo, 12)
                chance = random.Random(5)
                for _ in range(20):
                    commit(repo, random_statement(chance))
                assert settings.folding.commit_limit == 0 or views(repo).count(None) < 3
                return [c.hash for c in repo.log()]

    without = hashes(ab.Settings(folding=ab.FoldingSettings(commit_limit=0)))
    assert hashes(SETTINGS["rewriting"]) == without


def test_views_serve_branches_that_spring_off_later_and_not_those_from_before(tmp_path: Path) -> None:
    with opened(tmp_path / "store", NO_REWRITING) as repo:
        make(repo)
        commit(repo, set_a(1, 7))
        repo.branch("before")
        commit(repo, set_a(2, 8))
        repo.branch("after")
        commit(repo, set_a(3, 9), "after")
        commit(repo, set_a(3, 10), "before")
        assert views(repo, "after") == ["snapshot", "fold", None]
        assert [row["a"] for row in shown(repo, "after")] == [0, 7, 8, 9, 4, 5]
        assert views(repo, "before") == ["snapshot", "fold"], "its own two changes were folded"
        assert [row["a"] for row in shown(repo, "before")] == [0, 7, 2, 10, 4, 5]


def test_a_snapshot_written_beside_writers_serves_what_they_publish(tmp_path: Path) -> None:
    """Also where a fold that reaches over it was written first: that one is no use any more."""
    with opened(tmp_path / "store", ab.Settings(folding=ab.FoldingSettings(commit_limit=0))) as repo:
        make(repo)
        for n in range(4):
            commit(repo, set_a(n, 10 + n))
        at = repo.show().hash
        for n in range(4):
            commit(repo, set_a(n, 20 + n))
        with ab.open(tmp_path / "store", engine="duck", settings=NO_REWRITING) as folding:
            commit(folding, set_a(5, 25))
        assert views(repo) == ["snapshot", "fold"]
        assert repo.optimize("t", on=at).view == "snapshot"
        assert views(repo) == ["snapshot", *[None] * 5]
        assert [row["a"] for row in shown(repo)] == [20, 21, 22, 23, 4, 25]
        assert repo.optimize("t").view == "snapshot"
        assert views(repo) == ["snapshot"]
        commit(repo, set_a(4, 24))
        assert views(repo) == ["snapshot", None]
        assert [row["a"] for row in shown(repo)] == [20, 21, 22, 23, 24, 25]


def test_optimize_leaves_small_files_that_can_not_be_put_together(tmp_path: Path) -> None:
    settings = ab.Settings(
        objects=ab.ObjectSettings(file_row_limit=100, inline_limit_bytes=0), folding=ab.FoldingSettings(commit_limit=0)
    )
    with opened(tmp_path / "store", settings, engine="duck") as repo:
        with repo.commit("main", "make") as tx:
            tx.create_table("t", [{"id": n} for n in range(300)], key="id")
        commit(repo, lambda t: t.delete("id BETWEEN 5 AND 99 OR id >= 205"))
        assert (done := repo.optimize("t")).view == "snapshot"
        assert (done.kept, done.written) == (1, 2)
        assert (again := repo.optimize("t")).view is None
        assert again.kept == 3
        assert repo.table("t").count() == 110


def test_optimize_rewrites_what_is_worth_it_and_keeps_the_rest(tmp_path: Path, engine: dict[str, Any]) -> None:
    settings = ab.Settings(
        objects=ab.ObjectSettings(file_row_limit=100, inline_limit_bytes=0), folding=ab.FoldingSettings(commit_limit=0)
    )
    with opened(tmp_path / "store", settings, **engine) as repo:
        rows = [{"id": n, "a": n, "b": "x", "c": 0.0} for n in range(400)]
        with repo.commit("main", "make") as tx:
            tx.create_table("t", rows, key="id", schema=SCHEMA)
        files = len(views(repo))
        for n in range(3):
            commit(repo, lambda t, n=n: t.update({"a": -n}, where="id BETWEEN 10 AND 19"))
            commit(repo, lambda t, n=n: t.insert([{"id": 1000 + n, "a": n, "b": "new", "c": 0.0}]))
        before = shown(repo)
        paths = {x["path"] for x in repo.table("t").layout()}
        done = repo.optimize("t")
        assert (done.table, done.view, done.objects_before) == ("t", "snapshot", files + 6)
        assert done.rewritten >= 4
        assert done.kept == files + 3 - done.rewritten
        assert done.rows >= 13
        assert done.size_bytes_after < done.size_bytes_before
        assert shown(repo) == before
        layout = repo.table("t").layout()
        assert {x["kind"] for x in layout} == {"rows"}
        assert len(layout) == done.objects_after == done.kept + done.written
        assert len(paths & {x["path"] for x in layout}) == done.kept
        again = repo.optimize("t")
        assert (again.view, again.rewritten, again.written, again.rows) == (None, 0, 0, 0)
        repo.verify().raise_damages()


def test_files_that_shrank_to_little_are_rewritten(tmp_path: Path) -> None:
    settings = ab.Settings(
        objects=ab.ObjectSettings(file_row_limit=100, inline_limit_bytes=0), folding=ab.FoldingSettings(commit_limit=2)
    )
    with opened(tmp_path / "store", settings) as repo:
        make(repo, 400)
        kept = {x["path"] for x in repo.table("t").layout()[1:]}
        commit(repo, lambda t: t.delete(where="id BETWEEN 10 AND 60"))
        commit(repo, lambda t: t.delete(where="id BETWEEN 61 AND 90"))
        layout = repo.table("t").layout()
        assert [x["view"] for x in layout] == ["snapshot"] * 4
        assert sorted(x["rows"] for x in layout) == [19, 100, 100, 100]
        assert kept < {x["path"] for x in layout}


def test_files_that_spark_wrote_keep_their_size(tmp_path: Path) -> None:
    settings = ab.Settings(
        objects=ab.ObjectSettings(file_row_limit=200, inline_limit_bytes=0), folding=ab.FoldingSettings(commit_limit=2)
    )
    with opened(tmp_path / "store", settings) as repo:
        make(repo, 800)
    smaller = replace(
        settings,
        objects=replace(settings.objects, file_row_limit=100),
        spark=replace(settings.spark, file_row_limit=200),
    )
    with ab.open(tmp_path / "store", settings=smaller) as repo:
        before = {x["path"] for x in repo.table("t").layout()}
        for n in range(2):
            commit(repo, lambda t, n=n: t.update({"a": n}, where="id < 100"))
        layout = repo.table("t").layout()
        assert [x["rows"] for x in layout if x["kind"] == "rows"] == [200] * 4
        assert len(before - {x["path"] for x in layout}) == 1
    with ab.open(
        tmp_path / "store", settings=replace(smaller, spark=replace(smaller.spark, file_row_limit=50))
    ) as repo:
        for n in range(2):
            commit(repo, lambda t, n=n: t.update({"a": -n}, where="id >= 700"))
        assert sorted(x["rows"] for x in repo.table("t").layout() if x["kind"] == "rows") == [100, 100, 200, 200, 200]


def test_rows_that_trickle_in_become_files_of_proper_size(tmp_path: Path) -> None:
    settings = ab.Settings(
        objects=ab.ObjectSettings(file_row_limit=64, inline_limit_bytes=0),
        folding=ab.FoldingSettings(commit_limit=4, row_limit=64),
    )
    with opened(tmp_path / "store", settings) as repo:
        make(repo, 4)
        for n in range(60):
            commit(repo, lambda t, n=n: t.insert([{"id": 10 * n + i + 10, "a": n} for i in range(4)]))
        sizes = [x["rows"] for x in repo.table("t").layout()]
        assert all(size >= settings.objects.file_row_limit // 4 for size in sizes[1:]), sizes
        assert [r["id"] for r in shown(repo)] == [0, 1, 2, 3, *(10 * n + i + 10 for n in range(60) for i in range(4))]
        assert repo.optimize("t").view is None


def test_nothing_is_folded_where_it_is_switched_off(tmp_path: Path) -> None:
    with opened(tmp_path / "store", ab.Settings(folding=ab.FoldingSettings(commit_limit=0))) as repo:
        make(repo)
        for n in range(40):
            commit(repo, set_a(1, 100 + n))
        assert views(repo) == ["snapshot", *[None] * 40]


def test_a_fold_that_fails_fails_no_commit_and_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fold_failures: list[str]
) -> None:
    def broken(*_: Any) -> bool:
        raise ab.Unavailable("no room", hint="wait")

    settings = replace(
        NO_REWRITING, objects=replace(NO_REWRITING.objects, inline_limit_bytes=0, manifest_object_limit=2000)
    )
    with opened(tmp_path / "store", settings) as repo:
        make(repo)
        with monkeypatch.context() as patch:
            patch.setattr("anabranch.catalog.views.write", broken)
            for n in range(3):
                commit(repo, set_a(1, 100 + n))
        assert len(fold_failures) == 2
        assert "no room" in fold_failures[0]
        fold_failures.clear()
        linked = {x["path"] for x in repo.table("t").layout()}
        assert len(linked) == 4
        objects = tmp_path / "store" / ".anabranch" / "objects"
        assert {str(p.relative_to(objects)) for p in objects.rglob("*.parquet")} == linked
        commit(repo, set_a(1, 0))
        assert views(repo) == ["snapshot", "fold"], "the next one makes up for it"


def test_folding_never_starts_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = replace(NO_REWRITING, spark=replace(NO_REWRITING.spark, threshold_bytes=1))
    with opened(tmp_path / "store", NO_REWRITING) as repo:
        make(repo)
        commit(repo, set_a(1, 5))
    with ab.open(tmp_path / "store", engine="auto", settings=settings) as repo:
        duck = repo._ctx.engines.duck()
        monkeypatch.setattr(type(repo._ctx.engines), "pick", lambda *_: duck)
        commit(repo, set_a(1, 6))
        assert repo._ctx.engines._spark is None
        assert views(repo) == ["snapshot", None, None]


# ConcurrentChanges other writers, and killed

store = stores.store


def write_many(store: Store, name: str, table: str, count: int) -> int:
    with store.open(
        name, settings=ab.Settings(folding=ab.FoldingSettings(commit_limit=2, rewrite_row_limit=64))
    ) as repo:
        for number in range(count):
            with repo.commit("main", "change") as tx:
                tx.table(table).upsert([{"id": number % 7, "v": number}])
    return count


def test_folds_beside_writers_refuse_nobody(store: Store) -> None:
    with store.init() as repo:
        for n in range(3):
            stores.make_table(repo, f"t{n}", [{"id": i, "v": -1} for i in range(20)])
        jobs = [(store, repo.name, f"t{n}", 12) for n in range(3)]
        stop = threading.Event()
        failures: list[BaseException] = []
        thread = threading.Thread(target=optimize_until, args=(store, repo.name, stop, failures))
        thread.start()
        assert processes.run_all(write_many, jobs) == [12, 12, 12]
        stop.set()
        thread.join()
        assert failures == []
        expected = {n: max(k for k in range(12) if k % 7 == n) for n in range(7)} | dict.fromkeys(range(7, 20), -1)
        for n in range(3):
            assert {r["id"]: r["v"] for r in repo.table(f"t{n}").rows()} == expected
        assert len(repo.log()) == 4 + 36
        repo.verify().raise_damages()


def optimize_until(store: Store, name: str, stop: threading.Event, failures: list[BaseException]) -> None:
    try:
        with store.open(name) as repo:
            while not stop.wait(0.01):
                for table in ("t0", "t1", "t2"):
                    repo.optimize(table)
    except BaseException as error:
        failures.append(error)
