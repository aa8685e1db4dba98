"""The relations of `ana`: what a repository tells of itself in SQL."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, date
from pathlib import Path
from typing import Any

import pytest

import anabranch as ab
from anabranch import pipelines as dp
from anabranch.arrow.types import arrow_type
from anabranch.repo.sql.system_names import SystemTable, names, system_table


def made(repo: ab.Repository) -> ab.Repository:
    """Orders on main, with one change more on dev."""
    with repo.commit("main", "load") as tx:
        tx.create_table("orders", [{"id": 1, "price": 10}, {"id": 2, "price": 20}], key="id")
    repo.branch("dev")
    with repo.commit("dev", "reprice", author="bob") as tx:
        tx.table("orders").update({"price": "price + 1"}, where="id = 2")
        tx.table("orders").insert([{"id": 3, "price": 30}])
    return repo


@pytest.fixture
def shop(duck: ab.Repository) -> ab.Repository:
    return made(duck)


@pytest.fixture
def merging(shop: ab.Repository) -> Iterator[ab.Repository]:
    """The same, with a merge of dev into main that is open for one conflict."""
    with shop.commit("main", "raise") as tx:
        tx.table("orders").update({"price": 99}, where="id = 2")
    kept = shop.start_merge("dev", into="main")
    yield shop
    kept.abort()


def found(repo: ab.Repository, name: str, *arguments: Any, branch: str = "main", at: str | None = None) -> SystemTable:
    return system_table(repo._ctx, name, arguments, branch, at)


def rows(repo: ab.Repository, name: str, *arguments: Any, **where: Any) -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = found(repo, name, *arguments, **where).arrow().to_pylist()
    return told


def test_the_log_is_that_of_the_branch_of_a_ref_or_of_the_argument(shop: ab.Repository) -> None:
    assert [r["message"] for r in rows(shop, "ana.log")] == [c.message for c in shop.log("main")]
    assert next(r["id"] for r in rows(shop, "ana.log", branch="dev")) == "dev/2"
    assert next(r["message"] for r in rows(shop, "ana.log", at="dev")) == "reprice"
    assert next(r["author"] for r in rows(shop, "ana.log", "dev")) == "bob"
    assert next(r["message"] for r in rows(shop, "ana.log", "HEAD~1", branch="dev")) == "load"
    assert rows(shop, "ana.log", "main..dev")[0]["parents"] == [shop.show("main").hash]


def test_times_are_timestamps_and_lists_are_arrays(shop: ab.Repository) -> None:
    (newest, *_) = rows(shop, "ana.log")
    assert newest["finished_at"] == shop.show("main").finished_at.astimezone(UTC)
    assert newest["tables"] == ["orders"]
    assert newest["provenance"] == []
    kinds = {name: str(type_) for name, type_ in found(shop, "ana.log").columns}
    assert (kinds["finished_at"], kinds["tables"]) == ("timestamp", "array<string>")


def test_branches_and_tags_are_listed_and_the_current_branch_is_marked(shop: ab.Repository) -> None:
    shop.tag("v1", at="main")
    assert [(r["name"], r["current"]) for r in rows(shop, "ana.branches", branch="dev")] == [
        ("dev", True),
        ("main", False),
    ]
    assert [(r["name"], r["commit"], r["author"]) for r in rows(shop, "ana.tags")] == [
        ("v1", shop.show("main").hash, "ann")
    ]


def test_tables_columns_and_namespaces_are_those_of_the_ref(shop: ab.Repository) -> None:
    with shop.commit("main", "more") as tx:
        tx.create_namespace("sales")
        tx.create_table("sales.lines", schema="a bigint NOT NULL, b int DEFAULT 3", key="a")
    assert [r["name"] for r in rows(shop, "ana.tables")] == ["orders", "sales.lines"]
    assert rows(shop, "ana.tables", at="dev") == [{"name": "orders", "row_count": 3, "column_count": 2, "key": ["id"]}]
    assert rows(shop, "ana.namespaces") == [{"name": "sales"}]
    assert rows(shop, "ana.columns", "sales.lines")[1] == {
        "table": "sales.lines",
        "position": 2,
        "name": "b",
        "type": "int",
        "nullable": True,
        "default": "3",
        "key": False,
        "comment": None,
    }
    assert len(rows(shop, "ana.columns")) == 4


def test_an_unfinished_commit_shows_its_own_tables_and_namespaces(shop: ab.Repository) -> None:
    with shop.commit("main", "more") as tx:
        tx.create_namespace("old")
        tx.create_table("old.inner", [{"a": 1}])
        tx.rename_namespace("old", "new")
        tx.table("orders").rename("sales")
        tx.table("sales").delete(where="id = 1")

        def told(name: str) -> list[Any]:
            return [tuple(r.values()) for r in system_table(shop._ctx, name, (), "main", None, tx).arrow().to_pylist()]

        assert told("ana.tables") == [("new.inner", 1, 1, []), ("sales", 1, 2, ["id"])]
        assert told("ana.namespaces") == [("new",)]
        assert [r[0] for r in told("ana.columns")] == ["new.inner", "sales", "sales"]
        assert [r[:3] for r in told("ana.status")] == [
            ("new", "namespace", "created"),
            ("new.inner", "table", "created"),
            ("sales", "table", "changed"),
        ]
        at_main = system_table(shop._ctx, "ana.tables", (), "main", "main", tx).arrow().to_pylist()
        assert [r["name"] for r in at_main] == ["orders"]


def test_a_table_in_a_namespace_that_an_unfinished_commit_renamed_is_found(shop: ab.Repository) -> None:
    with shop.commit("main", "more") as tx:
        tx.create_namespace("old")
        tx.create_table("old.inner", [{"a": 1}])
    with shop.commit("main", "rename") as tx:
        tx.rename_namespace("old", "new")
        told = system_table(shop._ctx, "ana.tables", (), "main", None, tx).arrow().to_pylist()
        assert [r["name"] for r in told] == ["new.inner", "orders"]


def test_the_reflog_tells_the_moves_of_a_branch(shop: ab.Repository) -> None:
    assert [r["verb"] for r in rows(shop, "ana.reflog")] == [m.verb for m in shop.reflog("main")]
    assert {r["branch"] for r in rows(shop, "ana.reflog", "dev")} == {"dev"}


def test_the_status_holds_the_working_set_and_the_open_merge(merging: ab.Repository) -> None:
    staged = merging.start("main", working=True, message="working set")
    staged.table("orders").insert([{"id": 7, "price": 70}])
    assert rows(merging, "ana.status") == [
        {
            "name": "orders",
            "kind": "table",
            "state": "changed",
            "operations": ["insert"],
            "inserted": 1,
            "updated": 0,
            "deleted": 0,
        },
        {
            "name": "dev",
            "kind": "merge",
            "state": "open",
            "operations": [],
            "inserted": None,
            "updated": None,
            "deleted": None,
        },
    ]
    assert rows(merging, "ana.status", branch="dev") == []


def test_a_diff_takes_two_refs_a_range_or_what_is_staged(shop: ab.Repository) -> None:
    told = [
        (2, 20, "update_preimage"),
        (2, 21, "update_postimage"),
        (3, 30, "insert"),
    ]

    def values(*arguments: Any, **where: Any) -> list[tuple[Any, ...]]:
        return sorted(
            (tuple(r.values()) for r in rows(shop, "ana.diff", *arguments, **where)), key=lambda r: (r[0], r[1])
        )

    assert values("orders", "main", "dev") == told
    assert values("orders", "main..dev") == told
    assert values("orders", "main", branch="dev") == told
    assert values("orders", "HEAD~1", "HEAD", branch="dev") == told
    assert values("orders") == []
    staged = shop.start("main", working=True, message="working set")
    staged.table("orders").delete(where="id = 1")
    assert values("orders") == [(1, 10, "delete")]


def test_changes_name_the_commit_of_each_change(shop: ab.Repository) -> None:
    told = rows(shop, "ana.changes", "orders", "main", "dev")
    assert [(r["id"], r["_change_type"], r["_commit_version"]) for r in told] == [
        (2, "update_preimage", "dev/2"),
        (2, "update_postimage", "dev/2"),
        (3, "insert", "dev/2"),
    ]
    assert len(rows(shop, "ana.changes", "orders")) == 2
    assert len(rows(shop, "ana.changes", "orders", None, "dev")) == 5


def test_history_tells_of_the_table_or_of_one_row(shop: ab.Repository) -> None:
    told = rows(shop, "ana.history", "orders", branch="dev")
    assert [(r["message"], r["operations"], r["inserted"], r["updated"]) for r in told] == [
        ("reprice", ["update", "insert"], 1, 1),
        ("load", ["create"], 2, 0),
    ]
    of_row = rows(shop, "ana.history", "orders", 2, branch="dev")
    assert [(r["change"], r["before"] and json.loads(r["before"]), json.loads(r["after"])) for r in of_row] == [
        ("update", {"id": 2, "price": 20}, {"id": 2, "price": 21}),
        ("insert", None, {"id": 2, "price": 20}),
    ]


def test_the_key_of_a_row_has_a_value_for_each_column_and_text_is_read_as_its_type(duck: ab.Repository) -> None:
    with duck.commit("main", "load") as tx:
        tx.create_table("t", [{"d": date(2026, 1, 2), "n": 1, "v": 5}], key=["d", "n"])
    assert [r["change"] for r in rows(duck, "ana.history", "t", "2026-01-02", 1)] == ["insert"]
    with pytest.raises(ab.InvalidRequest, match="1 values were given, but 't' has d, n"):
        found(duck, "ana.history", "t", "2026-01-02")


def test_blame_names_the_last_commit_of_each_row(shop: ab.Repository) -> None:
    told = rows(shop, "ana.blame", "orders", "dev")
    assert [(r["id"], r["_commit_version"]) for r in told] == [(1, "main/1"), (2, "dev/2"), (3, "dev/2")]
    assert {r["_commit_author"] for r in rows(shop, "ana.blame", "orders")} == {"ann"}


def test_conflicts_are_counted_by_table_and_told_by_row(merging: ab.Repository) -> None:
    assert rows(merging, "ana.conflicts") == [
        {"table": "orders", "level": "rows", "column": "price", "kind": "update/update", "count": 1}
    ]
    assert rows(merging, "ana.conflicts", "orders") == [
        {"id": 2, "kind": "update/update", "column": "price", "base": "20", "ours": "99", "theirs": "21"}
    ]
    assert rows(merging, "ana.conflicts", branch="dev") == []
    with pytest.raises(ab.NotFound, match="no merge into 'dev' is open"):
        found(merging, "ana.conflicts", "orders", branch="dev")


def test_a_table_whose_conflicts_are_resolved_has_none(merging: ab.Repository) -> None:
    merging.open_merges("main")[-1].resolve("orders", take="ours")
    assert rows(merging, "ana.conflicts", "orders") == []
    assert merging.sql("SELECT id, kind, ours FROM ana.conflicts('orders')").arrow().num_rows == 0
    with pytest.raises(ab.NotFound, match="did you mean 'orders'"):
        found(merging, "ana.conflicts", "ordr")


def test_conflicts_of_a_table_itself_and_rows_that_break_a_check_are_told(duck: ab.Repository) -> None:
    with duck.commit("main", "load") as tx:
        tx.create_table("gone", [{"id": 1}], key="id")
        tx.create_table("kept", [{"id": 1, "a": 1}], key="id")
    duck.branch("dev")
    with duck.commit("main", "ours") as tx:
        tx.table("gone").drop()
        tx.table("kept").add_check("small", "a < 9")
    with duck.commit("dev", "theirs") as tx:
        tx.table("gone").insert([{"id": 2}])
        tx.table("kept").update({"a": 10})
    kept = duck.start_merge("dev", into="main")
    told = {(r["table"], r["level"], r["kind"], r["count"]) for r in rows(duck, "ana.conflicts")}
    assert ("gone", "objects", "drop/update", 1) in told
    assert [r["kind"] for r in rows(duck, "ana.conflicts", "gone")] == ["drop/update"]
    kept.resolve("gone", take="ours")
    assert [(r["level"], r["kind"]) for r in rows(duck, "ana.conflicts")] == [("violations", "check small")]
    assert json.loads(rows(duck, "ana.conflicts", "kept")[0]["ours"]) == {"id": 1, "a": 10}


def test_rows_in_conflict_columns_and_rows_that_break_a_check_are_told_of_one_table(duck: ab.Repository) -> None:
    with duck.commit("main", "load") as tx:
        tx.create_table("t", [{"id": n, "a": n, "b": n} for n in (1, 2)], key="id")
    duck.branch("dev")
    for branch, price, default in (("main", 5, 1), ("dev", 6, 2)):
        with duck.commit(branch, "work") as tx:
            tx.table("t").update({"a": price}, where="id = 1")
            tx.table("t").alter_column("b", default=default)
            if branch == "main":
                tx.table("t").add_check("small", "b < 9")
            else:
                tx.table("t").update({"b": 10}, where="id = 2")
    duck.start_merge("dev", into="main")
    told = [(r["id"], r["kind"], r["column"]) for r in rows(duck, "ana.conflicts", "t")]
    assert told == [
        (1, "update/update", "a"),
        (None, "alter column/alter column", "b"),
        (2, "check small", None),
    ]


def test_the_layout_lists_the_objects_that_a_read_touches(shop: ab.Repository) -> None:
    told = rows(shop, "ana.layout", "orders", branch="dev")
    assert [r["kind"] for r in told] == [o["kind"] for o in shop.table("orders", at="dev").layout()]
    assert told[0]["key_low"] == "[1]"
    assert sum(r["rows"] for r in told if r["kind"] == "rows") == 3


def test_objects_tell_where_each_of_them_lies(shop: ab.Repository) -> None:
    told = rows(shop, "ana.objects", "orders", branch="dev")
    assert [(r["id"], r["where"], r["here"]) for r in told] == [
        (o.id, o.where, o.here) for o in shop.objects("dev", table="orders")
    ]
    assert {r["name"] for r in rows(shop, "ana.objects", branch="dev")} >= {"orders"}
    with pytest.raises(ab.NotFound, match="nothing"):
        rows(shop, "ana.objects", "nothing")


def test_provenance_is_told_both_ways(shop: ab.Repository) -> None:
    base = shop.show("main")
    given = [{"orders": "dev"}, base, ab.external("s3://b/k@1")]
    with shop.commit("main", "report", provenance=given) as tx:
        tx.create_table("report", [{"n": 1}])
    dev, made = shop.show("dev"), shop.show("main")
    (first, second, third) = rows(shop, "ana.provenance")
    assert first == {
        "hash": dev.hash,
        "repository": shop.name,
        "role": "orders",
        "message": "reprice",
        "author": "bob",
        "finished_at": dev.finished_at.astimezone(UTC),
        "source": None,
        "depth": 1,
        "via": [made.hash],
    }
    assert (second["hash"], third["hash"], third["source"]) == (base.hash, None, "s3://b/k@1")
    assert rows(shop, "ana.provenance", "HEAD~1") == rows(shop, "ana.provenance", "dev") == []
    assert rows(shop, "ana.provenance", branch="dev", at="main") == [first, second, third]
    assert [r["message"] for r in rows(shop, "ana.derived", "dev")] == ["report"]
    query = "SELECT p.role, p.depth FROM ana.provenance('main') p JOIN ana.log('dev') l ON l.hash = p.hash ORDER BY 1"
    assert shop.sql(query).rows() == [{"role": None, "depth": 1}, {"role": "orders", "depth": 1}]
    with pytest.raises(ab.NotFound):
        rows(shop, "ana.derived", "nope")


def test_runs_of_pipelines_and_what_they_expected_are_told_newest_first(shop: ab.Repository) -> None:
    def sales(*, least: int) -> dp.RunResult:
        @dp.expect_or_fail("dear", f"price >= {least}")
        @dp.materialized_view(key="id", frames="rows")
        def dear(orders: list[dict[str, Any]]) -> list[dict[str, Any]]:
            return [row for row in orders if row["price"] > 10]

        return dp.run(shop, dp.pipeline("sales", dear), full_refresh="all")

    done = sales(least=1)
    with pytest.raises(ab.RunFailed):
        sales(least=99)
    assert done.commit is not None
    failed, published = rows(shop, "ana.runs")
    assert [(r["pipeline"], r["run"], r["state"], r["commit"]) for r in (failed, published)] == [
        ("sales", 2, "failed", None),
        ("sales", 1, "published", done.commit.hash),
    ]
    assert (failed["branch"], published["error"]) == ("run/sales-2", None)
    assert "dear" in failed["error"]
    assert rows(shop, "ana.expectations")[-1] == {
        "pipeline": "sales",
        "run": 1,
        "dataset": "dear",
        "name": "dear",
        "condition": "price >= 1",
        "action": "fail",
        "verdict": "met",
        "rows": 1,
        "broken": 0,
    }
    assert rows(shop, "ana.expectations")[0]["verdict"] == "failed"
    assert {e["verdict"] for e in shop.find_run("sales", 2)["expectations"]} == {"failed"}
    assert rows(shop, "ana.runs", "sales") == [failed, published]
    assert rows(shop, "ana.runs", "other") == rows(shop, "ana.expectations", "other") == []


@pytest.mark.parametrize("name", names())
def test_every_relation_has_the_columns_that_it_promises(merging: ab.Repository, name: str) -> None:
    takes_table = {"ana.diff", "ana.changes", "ana.history", "ana.blame", "ana.layout"}
    given = {**dict.fromkeys(takes_table, "orders"), "ana.file_history": "a.txt"}.get(name)
    told = found(merging, name, *([given] if given else []), branch="main")
    read = told.arrow()
    assert [(f.name, f.type) for f in read.schema] == [(n, arrow_type(t)) for n, t in told.columns]


def test_an_unknown_relation_names_the_nearest_and_all(duck: ab.Repository) -> None:
    with pytest.raises(ab.NotFound, match=r"no system table 'ana.lgo' \(did you mean ana.log\? there: ana.blame, "):
        found(duck, "ana.lgo")


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("ana.diff", (), r"it needs the name of a table \(write it as ana.diff\(table\[, before\[, after\]\]\)\)"),
        ("ana.branches", ("main",), r"1 arguments were given, it takes none \(write it as ana.branches\)"),
        ("ana.layout", ("a", "b"), "2 arguments were given, it takes no more than 1"),
        ("ana.log", (7,), "a ref was expected as text, 7 was given"),
        ("ana.blame", (None,), "the name of a table was expected, NULL was given"),
        ("ana.diff", ("orders", "a..b", "c"), "'a..b' is a range, and a second ref was given"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(
    shop: ab.Repository, name: str, arguments: tuple[Any, ...], expected: str
) -> None:
    with pytest.raises(ab.InvalidRequest, match=expected):
        found(shop, name, *arguments)


def test_spark_reads_listings_from_memory_and_computes_changes_itself(tmp_path: Path, spark: Any) -> None:
    with ab.init(tmp_path / "store", author="ann", spark=spark, engine="auto") as repo:
        made(repo)
        log = found(repo, "ana.log", "dev").spark()
        assert dict(log.dtypes)["parents"] == "array<string>"
        assert [r.id for r in log.orderBy("finished_at").collect()] == ["main/0", "main/1", "dev/2"]
        for name in ("ana.diff", "ana.changes"):
            told = found(repo, name, "orders", "main", "dev")
            frame = told.spark()
            assert frame.columns == [n for n, _ in told.columns]
            assert {(r.id, r._change_type) for r in frame.collect()} == {
                (2, "update_preimage"),
                (2, "update_postimage"),
                (3, "insert"),
            }
