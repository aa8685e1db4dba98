"""Reading a changed table: the same rows, whether changes are applied in memory, folded beforehand or joined."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import anabranch as ab
from anabranch.engines.duck import DuckEngine
from anabranch.engines.spark import explained
from anabranch.objects.folder import Folder
from anabranch.queries.query import Files, Query

SCHEMA = {"id": "int", "name": "string", "g": "string", "a": "int", "b": "string", "c": "double"}
FILES = ab.Settings(
    objects=ab.ObjectSettings(file_row_limit=5, inline_limit_bytes=0),
    folding=ab.FoldingSettings(commit_limit=3, rewrite_row_limit=8, row_limit=12, rewrite_share=0.2),
    spark=ab.SparkSettings(copy_row_limit=1),
)
MIXED = ab.Settings(
    objects=ab.ObjectSettings(file_row_limit=8, inline_limit_bytes=1165),
    folding=ab.FoldingSettings(commit_limit=3, rewrite_row_limit=16),
)

LARGE: dict[str, Any] = {"engine": "duck", "settings": ab.Settings(memory=ab.MemorySettings(overlay_row_limit=0))}
"""How a table is read that is too large to be kept whole in memory."""

Rows = dict[int, dict[str, Any]]


def row(key: int, value: int) -> dict[str, Any]:
    return {
        "id": key,
        "name": f"n{key}",
        "g": f"g{key % 3}",
        "a": value,
        "b": None if value % 4 == 0 else f"b{value}",
        "c": value / 2,
    }


class Walk:
    """A table that changes at random, beside what it should hold."""

    def __init__(self, repo: ab.Repository, key: Any, seed: int) -> None:
        self.repo, self.random = repo, random.Random(seed)
        self.rows: Rows = {k: row(k, k) for k in range(24)}
        with repo.commit("main", "make") as tx:
            tx.create_table("t", list(self.rows.values()), key=key, schema=SCHEMA)

    def step(self) -> None:
        """Change a few rows: values, nulls, rows that go, new ones, and old ones that come again."""
        keys, value = self.random.sample(range(32), 4), self.random.randrange(99)
        there = [k for k in keys if k in self.rows]
        listed = ", ".join(map(str, keys))
        with self.repo.commit("main", "change") as tx:
            table = tx.table("t")
            match self.random.choice(("update", "null", "delete", "insert")):
                case "update":
                    table.update({"a": value}, where=f"id IN ({listed})")
                    self.rows.update({k: {**self.rows[k], "a": value} for k in there})
                case "null":
                    table.update({"b": None, "c": "c + 1"}, where=f"id IN ({listed})")
                    self.rows.update({k: {**self.rows[k], "b": None, "c": self.rows[k]["c"] + 1} for k in there})
                case "delete":
                    table.delete(where=f"id IN ({listed})")
                    self.rows = {k: r for k, r in self.rows.items() if k not in keys}
                case "insert":
                    new = {k: row(k, value) for k in keys if k not in self.rows}
                    table.insert(list(new.values()))
                    self.rows.update(new)

    def expected(self, *columns: str) -> list[tuple[Any, ...]]:
        return in_order(tuple(r[c] for c in columns or SCHEMA) for r in self.rows.values())


def in_order(rows: Any) -> list[tuple[Any, ...]]:
    return sorted(rows, key=repr)


def values(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return in_order(tuple(r.values()) for r in rows)


KEYS = ("id", ("g", "id"), "name", None)
WALKED = [
    pytest.param(settings, key, id=f"{name}-{key}", marks=pytest.mark.more if number % 2 == odd else ())
    for odd, (name, settings) in enumerate([("files", FILES), ("mixed", MIXED)])
    for number, key in enumerate(KEYS)
]
"""Every kind of key and of place; with `--all`, each with each."""


@pytest.mark.long
@pytest.mark.parametrize(("settings", "key"), WALKED)
def test_a_state_reads_the_same_the_first_time_and_ever_after(tmp_path: Path, settings: ab.Settings, key: Any) -> None:
    with ab.init(tmp_path, engine="duck", settings=settings) as repo, ab.open(tmp_path, **LARGE) as as_large:
        walk = Walk(repo, key, seed=7)
        for _ in range(20):
            walk.step()
            for _ in range(3):
                assert values(repo.table("t").rows()) == walk.expected()
                assert values(repo.table("t", columns=["a", "b"]).rows()) == walk.expected("a", "b")
                for opened in (repo, as_large):
                    few = opened.table("t", columns=["c"], where="a > 20").rows()
                    assert values(few) == in_order((r["c"],) for r in walk.rows.values() if r["a"] > 20)


def test_columns_that_came_later_and_wider_types_are_read_too(tmp_path: Path) -> None:
    with ab.init(tmp_path, engine="duck", settings=FILES) as repo:
        walk = Walk(repo, "id", seed=3)
        with repo.commit("main", "alter") as tx:
            tx.table("t").add_column("d", "string", default="'new'")
            tx.table("t").alter_column("a", type="bigint")
        for number in range(8):
            walk.step()
            with repo.commit("main", "more") as tx:
                tx.table("t").update({"d": f"'{number}'"}, where="id = 1")
            first, second = (values(repo.table("t", columns=["id", "a", "d"]).rows()) for _ in range(2))
            assert first == second
            assert in_order(r[:2] for r in first) == walk.expected("id", "a")


def test_spark_reads_what_was_folded_in_the_process(tmp_path: Path, spark: Any) -> None:
    with ab.init(tmp_path, spark=spark, settings=FILES) as repo:
        walk = Walk(repo, "id", seed=11)
        for number in range(12):
            walk.step()
            if number % 4 == 3:
                frame = repo.table("t").spark()
                assert in_order(tuple(r) for r in frame.collect()) == walk.expected()
                assert values(repo.table("t").rows()) == walk.expected()
        assert repo._ctx.spark_copies, "changes were folded into files that Spark reads"


@pytest.mark.parametrize("key", ["id", ("g", "id"), None])
def test_spark_reads_small_objects_along_with_files(tmp_path: Path, spark: Any, key: Any) -> None:
    with ab.init(
        tmp_path,
        spark=spark,
        settings=replace(MIXED, spark=replace(MIXED.spark, overlay_file_limit_bytes=0, copy_row_limit=0)),
    ) as repo:
        walk = Walk(repo, key, seed=13)
        for _ in range(10):
            walk.step()
            for _ in range(2):
                assert in_order(tuple(r) for r in repo.table("t").spark().collect()) == walk.expected()


@pytest.mark.parametrize("may_write", [True, False])
def test_spark_joins_one_scan_with_the_changes(
    tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch, may_write: bool
) -> None:
    settings = ab.Settings(
        objects=ab.ObjectSettings(inline_limit_bytes=10_000, row_group_rows=3),
        spark=ab.SparkSettings(overlay_file_limit_bytes=0),
    )
    with ab.init(tmp_path, spark=spark, settings=settings) as repo:
        with repo.commit("main", "load") as tx:
            tx.create_table("t", pa.table({"id": range(5000), "a": range(5000)}), key="id")
        with repo.commit("main", "insert") as tx:
            tx.table("t").insert([{"id": n, "a": n} for n in range(5000, 5010)])
        with repo.commit("main", "update") as tx:
            tx.table("t").update({"a": -1}, where="id IN (7, 5007)")
        with repo.commit("main", "insert more") as tx:
            tx.table("t").insert([{"id": 6000, "a": 6000}])
        if not may_write:  # By hand: the tests may run as root, whom no permission stops.
            monkeypatch.setattr(Folder, "put_temporary", refuse_to_write)
        frame = repo.table("t").spark()
        assert ("Union" in explained(frame)) == (not may_write)
        expected = {n: -1 if n in (7, 5007) else n for n in (*range(5010), 6000)}
        assert {r.id: r.a for r in frame.collect()} == expected


def refuse_to_write(*_: Any) -> Any:
    raise ab.Unavailable("the folder can't be written", hint="ask for permission")


def test_spark_finds_equal_keys_over_the_border_of_two_files(tmp_path: Path, spark: Any) -> None:
    rows = spark.range(0, 20, numPartitions=1).selectExpr("id - (id % 20 DIV 10) AS k").coalesce(1)
    with (
        ab.init(tmp_path, spark=spark, settings=ab.Settings(spark=ab.SparkSettings(file_row_limit=10))) as repo,
        pytest.raises(ab.InvalidRequest, match="more than once"),
        repo.commit("main", "load") as tx,
    ):
        tx.create_table("t", rows, key="k")


def test_spark_writes_files_that_a_commit_can_rewrite(tmp_path: Path, spark: Any) -> None:
    settings = ab.Settings(
        objects=ab.ObjectSettings(file_row_limit=100, inline_limit_bytes=0),
        folding=ab.FoldingSettings(commit_limit=2),
        spark=ab.SparkSettings(file_row_limit=100),
    )
    with ab.init(tmp_path, spark=spark, settings=settings) as repo:
        with repo.commit("main", "load") as tx:
            tx.create_table("t", spark.range(0, 250, numPartitions=1).coalesce(1), key="id")
            tx.create_table("loose", spark.range(0, 250, numPartitions=1).coalesce(1))
        for name in ("t", "loose"):
            assert max(layer["rows"] for layer in repo.table(name).layout()) <= 100
            assert sorted(r["id"] for r in repo.table(name).rows()) == list(range(250))
        was = {layer["path"] for layer in repo.table("t").layout()}
        for number in range(3):
            with repo.commit("main", "delete") as tx:
                tx.table("t").delete(where="id BETWEEN :low AND :low + 9", args={"low": 10 * number})
        now = {layer["path"] for layer in repo.table("t").layout() if layer["kind"] == "rows"}
        assert was - now, "the file that the changes lay thick on was rewritten"
        assert was & now, "the others were not"
        assert sorted(r.id for r in repo.table("t").spark().collect()) == list(range(30, 250))


@pytest.mark.parametrize(
    ("where", "args", "files", "keys"),
    [
        ("id BETWEEN 250 AND 260", {}, 1, range(250, 261)),
        ("id >= 250 AND v < 9 AND id < :most", {"most": 420}, 3, range(250, 420)),
        ("(950 <= id)", {}, 1, range(950, 1000)),
        ("id IN (150, 350) AND v >= 0", {}, 0, (150, 350)),  # looked up among keys in memory
        ("id > 100 OR v = 9", {}, 10, range(101, 1000)),
        ("id + 1 > 950", {}, 10, range(950, 1000)),
        ("NOT id > 100", {}, 10, range(101)),
        ("id < -5", {}, 0, ()),
    ],
)
def test_a_condition_on_the_key_reads_only_files_that_may_hold_its_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str, args: dict[str, Any], files: int, keys: Iterable[int]
) -> None:
    read: set[str] = set()
    fetch = DuckEngine.fetch

    def noting(self: DuckEngine, query: Query, *more: float) -> pa.Table:
        read.update(uri for s in query.sources.values() if isinstance(s, Files) for uri in s.uris)
        return fetch(self, query, *more)

    with ab.init(
        tmp_path,
        engine="duck",
        settings=ab.Settings(objects=ab.ObjectSettings(file_row_limit=100, inline_limit_bytes=0)),
    ) as repo:
        with repo.commit("main", "load") as tx:
            tx.create_table("t", [{"id": n, "v": n % 7} for n in range(1000)], key="id")
        assert len(repo.table("t").layout()) == 10
        monkeypatch.setattr(DuckEngine, "fetch", noting)
        found = repo.table("t", where=where, args=args).arrow().column("id").to_pylist()
        assert (len(read), sorted(found)) == (files, list(keys))


@pytest.mark.contract
def test_spark_reads_each_file_once_in_a_folder_named_as_a_pattern(tmp_path: Path, spark: Any) -> None:
    settings = ab.Settings(objects=ab.ObjectSettings(inline_limit_bytes=0))
    with ab.init(tmp_path / "a [b]{c,d} *", spark=spark, engine="spark", settings=settings) as repo:
        with repo.commit("main", "load") as tx:
            tx.create_table("t", [{"id": 1}, {"id": 2}], key="id")
        for n in (3, 4):
            with repo.commit("main", "more") as tx:
                tx.table("t").insert([{"id": n}])
        assert sorted(row.id for row in repo.table("t").spark().collect()) == [1, 2, 3, 4]
