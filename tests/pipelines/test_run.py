"""A run computes what moved, is checked on a branch of its own, and is published in one commit or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import anabranch as ab
from anabranch import pipelines as dp
from anabranch.pipelines.load import load
from anabranch.pipelines.run import only_runner

ORDERS = [{"id": n, "day": n // 4, "qty": n % 5} for n in range(20)]
Rows = list[dict[str, Any]]


@pytest.fixture
def repo(tmp_path: Path) -> Iterator[ab.Repository]:
    with ab.init(tmp_path / "shop", engine="duck", author="ann") as made:
        with made.commit("main", "load") as tx:
            tx.create_table("orders", ORDERS, key="id")
        yield made


def totals(rows: Rows) -> Rows:
    found: dict[int, int] = {}
    for row in rows:
        found[row["day"]] = found.get(row["day"], 0) + row["qty"]
    return [{"day": day, "total": total} for day, total in sorted(found.items())]


def sql_pipeline(tmp_path: Path, text: str, **spec: str) -> dp.Pipeline:
    (tmp_path / "p").mkdir(exist_ok=True)
    (tmp_path / "p" / "all.sql").write_text(text)
    more = "".join(f"{name}: {value}\n" for name, value in spec.items())
    (tmp_path / "p" / "ana-pipeline.yml").write_text(f"name: sales\nlibraries: [all.sql]\n{more}")
    return load(tmp_path / "p")


DAILY = "CREATE MATERIALIZED VIEW daily KEY (day) {how} AS SELECT day, sum(qty) AS total FROM orders GROUP BY day;"


def table(repo: ab.Repository, name: str, at: str = "main") -> Rows:
    rows: Rows = repo.table(name, at=at).rows()
    return sorted(rows, key=lambda r: str(tuple(r.values())))


def change(repo: ab.Repository, text: str) -> None:
    repo.sql(text)


def actions(done: dp.RunResult) -> dict[str, str]:
    return {s.name: s.action for s in done.steps}


def test_datasets_of_sql_and_python_are_published_in_one_commit_with_provenance(
    repo: ab.Repository, tmp_path: Path
) -> None:
    @dp.materialized_view(key="day", frames="rows")
    def daily(orders: Rows) -> Rows:
        return totals(orders)

    @dp.materialized_view(key="n", frames="arrow")
    def days(daily: Any) -> Rows:
        return [{"n": daily.num_rows}]

    head = repo.show("main")
    done = dp.run(repo, dp.pipeline("sales", days, daily))
    assert actions(done) == {"daily": "full", "days": "full"}
    assert table(repo, "daily") == totals(ORDERS)
    assert table(repo, "days") == [{"n": 5}]
    assert done.commit is not None
    assert repo.show("main") == done.commit
    assert done.commit.parents == (head.hash,)
    assert [(p.role, p.hash) for p in repo.provenance(done.commit.hash)] == [("orders", head.hash)]
    assert [b.name for b in repo.branches()] == ["main"]
    assert repo.find_run("sales")["state"] == "published"


def test_a_run_without_news_does_nothing_and_needs_no_engine(repo: ab.Repository, tmp_path: Path) -> None:
    pipeline = sql_pipeline(tmp_path, DAILY.format(how=""))
    dp.run(repo, pipeline)
    head = repo.show("main").hash
    with repo.commit("main", "elsewhere") as tx:
        tx.create_table("other", [{"a": 1}])
    again = dp.run(repo, pipeline)
    assert (again.run, again.commit, actions(again)) == (None, None, {"daily": "keep"})
    assert repo.show("main~1").hash == head


@pytest.mark.parametrize("how", ["", "INCREMENTAL BY day"])
def test_changes_of_the_input_arrive_however_the_output_is_refreshed(
    repo: ab.Repository, tmp_path: Path, how: str
) -> None:
    pipeline = sql_pipeline(tmp_path, DAILY.format(how=how))
    dp.run(repo, pipeline)
    for text in (
        "UPDATE orders SET qty = 100 WHERE id = 3",
        "INSERT INTO orders VALUES (50, 9, 7)",
        "DELETE FROM orders WHERE day = 2",
        "UPDATE orders SET day = 3 WHERE id = 0",
    ):
        change(repo, text)
        done = dp.run(repo, pipeline)
        assert actions(done) == {"daily": "incremental" if how else "full"}
        assert table(repo, "daily") == totals(repo.table("orders").rows())
    last = repo.log("main", limit=1)[0]
    assert sum(repo.diff(f"{last.hash}~1", last.hash)["daily"].counts().values()) <= 3, "only what differs is stored"


def test_code_that_changed_is_computed_in_full_and_layout_is_no_change(repo: ab.Repository, tmp_path: Path) -> None:
    dp.run(repo, sql_pipeline(tmp_path, DAILY.format(how="INCREMENTAL BY day")))
    changed = DAILY.format(how="INCREMENTAL BY day").replace("sum(qty)", "max(qty)")
    done = dp.run(repo, sql_pipeline(tmp_path, changed))
    assert (done.steps[0].action, done.steps[0].reason) == ("full", "its code changed")


def test_a_reset_a_revert_and_an_edit_rewind_the_pipeline(repo: ab.Repository, tmp_path: Path) -> None:
    pipeline = sql_pipeline(tmp_path, DAILY.format(how="INCREMENTAL BY day"))
    dp.run(repo, pipeline)
    change(repo, "UPDATE orders SET qty = 9 WHERE id = 1")
    second = dp.run(repo, pipeline).commit
    assert second is not None
    repo.revert(second.hash)
    assert actions(dp.run(repo, pipeline)) == {"daily": "full"}
    assert table(repo, "daily") == totals(repo.table("orders").rows())
    repo.sql("DELETE FROM daily WHERE day = 1")
    assert actions(dp.run(repo, pipeline)) == {"daily": "full"}
    assert table(repo, "daily") == totals(repo.table("orders").rows())
    repo.reset("main", to=f"{second.hash}~1")
    assert actions(dp.run(repo, pipeline)) == {"daily": "incremental"}
    assert table(repo, "daily") == totals(repo.table("orders").rows())


def test_after_a_rebase_the_output_is_computed_anew(repo: ab.Repository, tmp_path: Path) -> None:
    """Commits that a rebase made say nothing of runs: one of them may have been left out."""
    pipeline = sql_pipeline(tmp_path, DAILY.format(how="INCREMENTAL BY day"))
    dp.run(repo, pipeline)
    repo.branch("dev")
    for day in (1, 2):
        repo.sql(f"UPDATE orders SET qty = 70 WHERE day = {day}", on="dev")
        dp.run(repo, pipeline, on="dev")
    change(repo, "INSERT INTO orders VALUES (77, 9, 5)")
    kept = [(verb, c.hash) for verb, c in repo.rebase_steps("dev", "main")]
    repo.rebase("dev", "main", steps=[step for n, step in enumerate(kept) if n != 1])
    assert table(repo, "daily", "dev") != totals(repo.table("orders", at="dev").rows())
    assert actions(dp.run(repo, pipeline, on="dev")) == {"daily": "full"}
    assert table(repo, "daily", "dev") == totals(repo.table("orders", at="dev").rows())
    assert dp.run(repo, pipeline, on="dev").commit is None
    assert actions(dp.run(repo, pipeline)) == {"daily": "incremental"}, "main has a place of its own"


def test_merged_branches_of_the_output_go_on_from_what_both_read(repo: ab.Repository, tmp_path: Path) -> None:
    pipeline = sql_pipeline(tmp_path, DAILY.format(how="INCREMENTAL BY day"))
    dp.run(repo, pipeline)
    repo.branch("dev")
    repo.sql("UPDATE orders SET qty = 70 WHERE day = 1", on="dev")
    dp.run(repo, pipeline, on="dev")
    change(repo, "UPDATE orders SET qty = 90 WHERE day = 3")
    dp.run(repo, pipeline)
    repo.merge("dev", into="main")
    dp.run(repo, pipeline)
    assert table(repo, "daily") == totals(repo.table("orders").rows())


def test_a_function_that_gives_no_rows_empties_its_table(repo: ab.Repository) -> None:
    @dp.materialized_view(key="day", frames="rows", version="1")
    def daily(orders: Rows) -> Rows:
        return totals(orders)

    change(repo, "DELETE FROM orders WHERE id < 3")
    dp.run(repo, dp.pipeline("sales", daily))
    change(repo, "DELETE FROM orders")
    dp.run(repo, dp.pipeline("sales", daily))
    assert table(repo, "daily") == []
    with pytest.raises(ab.InvalidRequest, match="'other' gave no rows, and no columns"):
        dp.run(repo, dp.pipeline("more", dp.materialized_view(lambda orders: [], name="other", frames="rows")))


def test_a_broken_expectation_publishes_nothing_and_leaves_the_branch(repo: ab.Repository, tmp_path: Path) -> None:
    text = DAILY.format(how="").replace(
        "daily KEY", "daily (CONSTRAINT small EXPECT (total < 9) ON VIOLATION FAIL UPDATE) KEY"
    )
    pipeline = sql_pipeline(tmp_path, text)
    head = repo.show("main").hash
    with pytest.raises(ab.RunFailed, match=r"daily: 2 of 5 rows break 'small'") as caught:
        dp.run(repo, pipeline)
    assert repo.show("main").hash == head
    assert len(table(repo, "daily", at=caught.value.branch)) == 5
    failed = repo.find_run("sales")
    assert (failed["state"], failed["expectations"][0]["broken"]) == ("failed", 2)


def test_another_expectation_is_looked_at_although_no_input_moved(repo: ab.Repository, tmp_path: Path) -> None:
    dp.run(repo, sql_pipeline(tmp_path, DAILY.format(how="")))
    expected = "daily (CONSTRAINT small EXPECT (total < 9) ON VIOLATION FAIL UPDATE) KEY"
    with pytest.raises(ab.RunFailed, match="small"):
        dp.run(repo, sql_pipeline(tmp_path, DAILY.format(how="").replace("daily KEY", expected)))


def test_rows_that_an_expectation_drops_are_kept_apart_and_counted(repo: ab.Repository) -> None:
    @dp.expect("even", "id % 2 = 0")
    @dp.expect_or_drop("known", "id IS NOT NULL")
    @dp.expect_unique("id")
    @dp.materialized_view(key="id", frames="rows")
    def cleaned(orders: Rows) -> Rows:
        return [*orders, {"id": None, "day": 1, "qty": 1}]

    done = dp.run(repo, dp.pipeline("clean", cleaned))
    assert {c.name: c.broken for c in done.expectations} == {"known": 1, "even": 10, "unique id": 0}
    assert table(repo, "cleaned") == sorted(ORDERS, key=lambda r: str(tuple(r.values())))
    assert table(repo, "cleaned__dropped") == [{"id": None, "day": 1, "qty": 1}]


NOTHING = dict.fromkeys(("inserted", "updated", "deleted", "cells"), 0)
GOOD = """CREATE MATERIALIZED VIEW good (CONSTRAINT few EXPECT (qty < 4) ON VIOLATION DROP ROW)
KEY (id) {how} AS SELECT id, day, qty FROM orders;"""


@pytest.mark.parametrize("how", ["", "INCREMENTAL BY day", "APPEND"])
def test_rows_dropped_by_earlier_runs_stay_where_a_run_did_not_compute(
    repo: ab.Repository, tmp_path: Path, how: str
) -> None:
    pipeline = sql_pipeline(tmp_path, GOOD.format(how=how))
    dp.run(repo, pipeline)
    before = table(repo, "good__dropped")
    assert [row["id"] for row in before] == [14, 19, 4, 9]
    change(repo, "INSERT INTO orders VALUES (50, 1, 1), (51, 1, 9)")
    done = dp.run(repo, pipeline)
    assert actions(done) == {"good": "incremental" if how else "full"}
    assert table(repo, "good__dropped") == sorted([*before, {"id": 51, "day": 1, "qty": 9}], key=lambda r: str(r["id"]))
    assert done.commit is not None
    changed = repo.diff(f"{done.commit.hash}~1", done.commit.hash)
    assert changed["good__dropped"].counts() == {**NOTHING, "inserted": 1}, "only what differs is stored"


def test_changes_move_rows_between_the_table_and_what_is_dropped_of_it(repo: ab.Repository) -> None:
    @dp.expect_or_drop("few", "qty < 4")
    @dp.materialized_view(key="id", mode="changes", frames="rows", inputs={"orders": dp.changes("orders")}, version="1")
    def good(orders: Rows) -> Rows:
        return [row for row in orders if row["_change_type"] != "update_preimage"]

    pipeline = dp.pipeline("good", good)
    dp.run(repo, pipeline)
    for text in ("UPDATE orders SET qty = 9 - qty WHERE id IN (4, 5)", "DELETE FROM orders WHERE id IN (9, 10)"):
        change(repo, text)
    change(repo, "UPDATE orders SET qty = 0 WHERE id = 14")
    assert actions(dp.run(repo, pipeline)) == {"good": "incremental"}
    assert table(repo, "good") == [r for r in table(repo, "orders") if r["qty"] < 4]
    assert table(repo, "good__dropped") == [r for r in table(repo, "orders") if r["qty"] >= 4]


def test_a_query_over_all_outputs_stops_a_run(repo: ab.Repository) -> None:
    @dp.materialized_view(key="day", frames="rows")
    def daily(orders: Rows) -> Rows:
        return totals(orders)

    expected = dp.expect_query("nothing is lost", "SELECT 1 FROM daily HAVING sum(total) <> 39")
    pipeline = dp.pipeline("sales", daily, expectations=[expected])
    with pytest.raises(ab.RunFailed, match="nothing is lost"):
        dp.run(repo, pipeline)


def test_appended_rows_are_read_alone_and_other_changes_are_refused(repo: ab.Repository) -> None:
    seen: list[int] = []

    @dp.materialized_view(key="id", mode="append", frames="rows", version="1")
    def copied(orders: Rows) -> Rows:
        seen.append(len(orders))
        return orders

    pipeline = dp.pipeline("copy", copied)
    dp.run(repo, pipeline)
    change(repo, "INSERT INTO orders VALUES (70, 1, 1), (71, 1, 1)")
    dp.run(repo, pipeline)
    assert seen == [20, 2]
    assert table(repo, "copied") == table(repo, "orders")
    change(repo, "DELETE FROM orders WHERE id = 70")
    with pytest.raises(ab.InvalidRequest, match="only appends"):
        dp.run(repo, pipeline)
    dp.run(repo, pipeline, full_refresh="copied")
    assert table(repo, "copied") == table(repo, "orders")


def test_changes_are_applied_with_their_deletes(repo: ab.Repository) -> None:
    @dp.materialized_view(key="id", mode="changes", frames="rows", inputs={"orders": dp.changes("orders")}, version="1")
    def doubled(orders: Rows) -> Rows:
        return [{**row, "qty": row["qty"] * 2} for row in orders if row["_change_type"] != "update_preimage"]

    pipeline = dp.pipeline("double", doubled)
    dp.run(repo, pipeline)
    for text in ("UPDATE orders SET qty = 50 WHERE id = 2", "DELETE FROM orders WHERE id = 4"):
        change(repo, text)
    assert actions(dp.run(repo, pipeline)) == {"doubled": "incremental"}
    assert table(repo, "doubled") == [{**r, "qty": r["qty"] * 2} for r in table(repo, "orders")]


def test_tables_of_other_repositories_and_refs_are_inputs(repo: ab.Repository, tmp_path: Path) -> None:
    with ab.init(tmp_path / "shop", repository="lake", engine="duck") as lake:
        with lake.commit("main", "load") as tx:
            tx.create_table("raw", ORDERS, key="id")
        lake.tag("v1")
        with lake.commit("main", "more") as tx:
            tx.table("raw").delete()
    text = "CREATE MATERIALIZED VIEW counted KEY (n) AS SELECT count(*) AS n FROM source;"
    pipeline = sql_pipeline(tmp_path, text, inputs="{source: {table: raw, repository: lake, at: v1}}")
    done = dp.run(repo, pipeline)
    assert table(repo, "counted") == [{"n": 20}]
    assert done.commit is not None
    (origin,) = repo.provenance(done.commit.hash)
    assert (origin.repository, origin.role) == ("lake", "lake:raw@v1")


def test_only_one_runner_works_at_a_time(repo: ab.Repository) -> None:
    with only_runner(repo, "sales"):
        with pytest.raises(ab.Unavailable, match="is run by"), only_runner(repo, "sales"):
            pass
        with only_runner(repo, "other"):
            pass
    with only_runner(repo, "sales"):
        pass


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("CREATE STREAMING TABLE t AS SELECT 1 AS a;", "streaming tables are not supported"),
        ("CREATE MATERIALIZED VIEW t AS SELECT a, FROM orders;", "all.sql"),
        ("CREATE MATERIALIZED VIEW a AS SELECT * FROM b; CREATE MATERIALIZED VIEW b AS SELECT * FROM a;", "a → b → a"),
        ("CREATE MATERIALIZED VIEW a AS SELECT 1 AS n; CREATE MATERIALIZED VIEW a AS SELECT 2 AS n;", "twice"),
        ("CREATE MATERIALIZED VIEW a INCREMENTAL BY d AS SELECT 1 AS d;", "no key"),
        ("CREATE MATERIALIZED VIEW a AS SELECT * FROM nowhere;", "nowhere"),
    ],
)
def test_what_can_not_be_run_is_refused_before_anything_is_written(
    repo: ab.Repository, tmp_path: Path, text: str, problem: str
) -> None:
    with pytest.raises(ab.AnabranchError, match=problem):
        dp.run(repo, sql_pipeline(tmp_path, text))
    assert [b.name for b in repo.branches()] == ["main"]
    assert repo.runs() == []


def test_a_function_that_fails_is_named_and_publishes_nothing(repo: ab.Repository) -> None:
    @dp.materialized_view(frames="rows")
    def broken(orders: Rows) -> Rows:
        raise ZeroDivisionError("no")

    head = repo.show("main").hash
    with pytest.raises(ab.RunFailed, match=r"dataset 'broken' \(test_run.py\) failed: ZeroDivisionError: no"):
        dp.run(repo, dp.pipeline("sales", broken))
    assert repo.show("main").hash == head


def test_what_came_out_the_same_moves_nothing_behind_it(repo: ab.Repository, tmp_path: Path) -> None:
    more = "CREATE MATERIALIZED VIEW days KEY (n) AS SELECT count(*) AS n FROM daily;"
    pipeline = sql_pipeline(tmp_path, DAILY.format(how="INCREMENTAL BY day") + more)
    dp.run(repo, pipeline)
    change(repo, "UPDATE orders SET id = 100 WHERE id = 3")
    done = dp.run(repo, pipeline)
    assert actions(done) == {"daily": "incremental", "days": "keep"}
    assert done.steps[1].reason == "daily came out the same"
    assert dp.run(repo, pipeline).run is None


def test_a_job_of_a_pipeline_makes_rows_and_files_on_the_branch_of_the_run(repo: ab.Repository) -> None:
    with repo.commit("main", "raw") as tx:
        for n in range(3):
            tx.files.put(f"raw/{n}", "x" * n)

    @dp.expect_or_fail("known", "size >= 0")
    @dp.job(inputs={"raw": dp.files("raw/*"), "orders": "orders"}, key="path", shards=2, local=True, version="1")
    def sizes(shard: Any) -> Iterator[dict[str, Any]]:
        for file in shard.files("raw"):
            yield {"path": file.path, "size": file.size}
        shard.append("report", f"{sum(1 for _ in shard.rows('orders'))}\n")

    pipeline = dp.pipeline("sizes", sizes)
    done = dp.run(repo, pipeline)
    assert table(repo, "sizes") == [{"path": f"raw/{n}", "size": n} for n in range(3)]
    assert sum(map(int, repo.files().read("report").split())) == len(ORDERS)
    assert done.commit is not None
    assert [p.hash for p in repo.provenance(done.commit.hash)] == [done.commit.parents[0]]
    assert dp.run(repo, pipeline).run is None
    with repo.commit("main", "more") as tx:
        tx.files.put("raw/7", "seven")
    assert [(s.action, s.reason) for s in dp.run(repo, pipeline).steps] == [("full", "files raw/* changed")]
    assert repo.table("sizes").count() == 4


def test_the_output_may_be_another_repository(repo: ab.Repository, tmp_path: Path) -> None:
    ab.init(tmp_path / "shop", repository="marts", engine="duck").close()
    text = "CREATE MATERIALIZED VIEW counted KEY (n) AS SELECT count(*) AS n FROM orders;"
    more = {"output": "{repository: marts}", "inputs": "{orders: {table: orders, repository: shop}}"}
    dp.run(repo, sql_pipeline(tmp_path, text, **more))
    assert table(repo.sibling("marts"), "counted") == [{"n": 20}]
    assert [t.name for t in repo.tables()] == ["orders"]
