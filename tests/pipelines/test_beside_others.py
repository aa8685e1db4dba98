"""A pipeline's tables are what it computes, whatever others write into them before, during and after a run."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import anabranch as ab
from anabranch import pipelines as dp
from anabranch.model.facts import PIPELINE

Rows = list[dict[str, Any]]
ORDERS = [{"id": n, "day": n // 4, "qty": n % 5} for n in range(20)]
Beside = Callable[[ab.Repository], None]


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


def daily_of(repo: ab.Repository, beside: list[Beside]) -> dp.Pipeline:
    """Totals of days and how many there are; others do one of these things while the totals are computed."""

    @dp.materialized_view(key="day", incremental_by="day", frames="rows", version="1")
    def daily(orders: Rows) -> Rows:
        if beside:
            beside.pop(0)(repo)
        return totals(orders)

    @dp.materialized_view(key="n", frames="rows", version="1")
    def days(daily: Rows) -> Rows:
        return [{"n": len(daily)}]

    return dp.pipeline("sales", daily, days)


def assert_right(repo: ab.Repository, at: str = "main") -> None:
    wanted = totals(repo.table("orders", at=at).rows())
    assert sorted(repo.table("daily", at=at).rows(), key=lambda r: r["day"]) == wanted
    assert repo.table("days", at=at).rows() == [{"n": len(wanted)}]


def edit(repo: ab.Repository, text: str = "INSERT INTO daily VALUES (99, 1000)", on: str = "main") -> None:
    repo.sql(text, on=on, message="by hand")


def actions(done: dp.RunResult) -> dict[str, str]:
    return {s.name: s.action for s in done.steps}


EDITS = ["INSERT INTO daily VALUES (99, 1000)", "UPDATE daily SET total = -1 WHERE day = 4", "DROP TABLE daily"]


@pytest.mark.parametrize("text", EDITS)
def test_what_others_change_in_a_table_during_a_run_is_a_conflict_and_then_computed_in_full(
    repo: ab.Repository, text: str
) -> None:
    dp.run(repo, daily_of(repo, []))
    repo.sql("UPDATE orders SET qty = 9 WHERE id = 1")
    with pytest.raises(ab.MergeConflict, match="daily") as caught:
        dp.run(repo, daily_of(repo, [lambda r: edit(r, text)]))
    assert "run it again" in str(caught.value)
    assert repo.show("main").message == "by hand", "nothing was published"
    done = dp.run(repo, daily_of(repo, []))
    assert actions(done)["daily"] == "full"
    assert_right(repo)
    assert dp.run(repo, daily_of(repo, [])).run is None


def test_what_others_change_in_a_table_that_a_run_keeps_is_computed_in_full_by_the_next(repo: ab.Repository) -> None:
    @dp.materialized_view(key="n", frames="rows", version="1")
    def kept(other: Rows) -> Rows:
        return [{"n": len(other)}]

    def pipeline(beside: list[Beside]) -> dp.Pipeline:
        more = dp.pipeline("sales", kept)
        return dataclasses.replace(more, datasets=(*daily_of(repo, beside).datasets, *more.datasets))

    with repo.commit("main", "more") as tx:
        tx.create_table("other", [{"a": 1}], key="a")
    dp.run(repo, pipeline([]))
    repo.sql("UPDATE orders SET qty = 9 WHERE id = 1")
    dp.run(repo, pipeline([lambda r: edit(r, "INSERT INTO kept VALUES (7)")]))
    assert sorted(r["n"] for r in repo.table("kept").rows()) == [1, 7], "it is theirs until the next run"
    assert actions(dp.run(repo, pipeline([]))) == {"daily": "keep", "days": "keep", "kept": "full"}
    assert repo.table("kept").rows() == [{"n": 1}]
    assert_right(repo)


def test_an_edit_between_two_runs_is_no_base_to_continue_from(repo: ab.Repository) -> None:
    dp.run(repo, daily_of(repo, []))
    edit(repo)
    repo.sql("UPDATE orders SET qty = 9 WHERE id = 1")
    assert actions(dp.run(repo, daily_of(repo, [])))["daily"] == "full"
    assert_right(repo)


@pytest.mark.parametrize("into", ["main", "dev"])
def test_what_a_merge_brings_in_beside_a_run_counts_as_changed_after_it(repo: ab.Repository, into: str) -> None:
    dp.run(repo, daily_of(repo, []))
    repo.branch("dev")
    edit(repo, on="dev")
    repo.sql("UPDATE orders SET qty = 9 WHERE id = 1")
    dp.run(repo, daily_of(repo, []))
    if into == "main":
        repo.merge("dev", into="main")
    else:
        repo.merge("main", into="dev")
        repo.merge("dev", into="main", ff="only")
    assert {"day": 99, "total": 1000} in repo.table("daily").rows()
    assert actions(dp.run(repo, daily_of(repo, [])))["daily"] == "full"
    assert_right(repo)


def test_an_input_that_a_merge_gave_another_state_is_read_again(repo: ab.Repository) -> None:
    """What was changed last in time is not what the branch shows: both sides made one change, one side two."""
    repo.branch("dev")
    repo.sql("UPDATE orders SET qty = 50 WHERE id = 2", on="dev")
    repo.sql("UPDATE orders SET qty = 9 WHERE id = 1", on="dev")
    repo.sql("UPDATE orders SET qty = 9 WHERE id = 1")
    dp.run(repo, daily_of(repo, []))
    repo.merge("main", into="dev")
    repo.merge("dev", into="main", ff="only")
    dp.run(repo, daily_of(repo, []))
    assert_right(repo)


def test_a_branch_that_was_reset_during_a_run_gets_nothing_back(repo: ab.Repository) -> None:
    edit(repo, "UPDATE orders SET qty = 9 WHERE id = 1")
    with pytest.raises(ab.BranchMoved, match="no longer contains"):
        dp.run(repo, daily_of(repo, [lambda r: r.reset("main", to="main~1")]))
    assert repo.table("orders").rows() == ORDERS
    dp.run(repo, daily_of(repo, []))
    assert_right(repo)


def test_a_commit_that_was_amended_with_more_work_is_not_the_pipelines(repo: ab.Repository) -> None:
    dp.run(repo, daily_of(repo, []))
    with repo.staging("main") as work:
        work.table("daily").insert([{"day": 99, "total": 1000}])
    repo.amend("main")
    assert actions(dp.run(repo, daily_of(repo, [])))["daily"] == "full"
    assert_right(repo)


def test_a_run_of_an_older_version_is_computed_in_full_once(repo: ab.Repository) -> None:
    dp.run(repo, daily_of(repo, []))
    noted = PIPELINE.value(repo.show("main").facts)
    assert noted is not None
    said = {name: noted[name] for name in ("name", "run", "datasets", "inputs", "expectations")}
    with repo.commit("main", "run 2 of pipeline sales", allow_empty=True, facts=PIPELINE.facts(said)):
        pass
    assert actions(dp.run(repo, daily_of(repo, []))) == {"daily": "full", "days": "full"}
    assert dp.run(repo, daily_of(repo, [])).run is None


# --- jobs ---


def report_of(repo: ab.Repository, beside: list[Beside], version: str = "1") -> dp.Pipeline:
    """Two jobs that make rows and files: one report for each day, and one line for all."""

    @dp.job(inputs={"orders": "orders"}, key="day", local=True, version=version)
    def daily(shard: Any) -> Rows:
        if beside:
            beside.pop(0)(repo)
        found = totals(list(shard.rows("orders")))
        for row in found:
            shard.put(f"days/{row['day']}", f"{row['total']}\n")
        return found

    @dp.job(inputs={"daily": "daily"}, local=True, version="1")
    def summary(shard: Any) -> None:
        shard.append("summary.txt", f"{sum(1 for _ in shard.rows('daily'))} days\n")

    return dp.pipeline("reports", daily, summary)


def files(repo: ab.Repository) -> dict[str, str]:
    tree = repo.files("main")
    return {path.path: tree.read(path.path).decode() for path in tree.glob("**")}


def assert_reported(repo: ab.Repository, **others: str) -> None:
    wanted = totals(repo.table("orders").rows())
    assert sorted(repo.table("daily").rows(), key=lambda r: r["day"]) == wanted
    made = {f"days/{row['day']}": f"{row['total']}\n" for row in wanted}
    assert files(repo) == {**made, "summary.txt": f"{len(wanted)} days\n", **others}


def test_files_that_a_job_no_longer_makes_go_and_those_of_others_stay(repo: ab.Repository) -> None:
    with repo.commit("main", "notes") as tx:
        tx.files.put("days/notes", "ours\n")
    dp.run(repo, report_of(repo, []))
    assert_reported(repo, **{"days/notes": "ours\n"})
    for text in ("DELETE FROM orders WHERE day = 3", "UPDATE orders SET qty = 9 WHERE day = 1"):
        repo.sql(text)
        dp.run(repo, report_of(repo, []))
        assert_reported(repo, **{"days/notes": "ours\n"})


def test_a_job_keeps_the_files_of_the_one_that_was_not_run(repo: ab.Repository) -> None:
    dp.run(repo, report_of(repo, []))
    repo.sql("UPDATE orders SET qty = 9 WHERE id = 1")
    assert actions(dp.run(repo, report_of(repo, []))) == {"daily": "full", "summary": "full"}
    dp.run(repo, report_of(repo, [], version="2"))
    assert_reported(repo)


@pytest.mark.parametrize("way", ["revert", "reset"])
def test_files_of_a_run_that_was_taken_back_are_made_again(repo: ab.Repository, way: str) -> None:
    done = dp.run(repo, report_of(repo, [])).commit
    assert done is not None
    if way == "revert":
        repo.revert(done.hash)
        assert files(repo) == {}
    else:
        repo.reset("main", to="main~1")
    dp.run(repo, report_of(repo, []))
    assert_reported(repo)
    assert dp.run(repo, report_of(repo, [])).run is None


@pytest.mark.parametrize("taken_back", [None, "run", "merge"])
def test_files_of_a_run_that_a_merge_brought_in_are_the_jobs(repo: ab.Repository, taken_back: str | None) -> None:
    repo.branch("dev")
    done = dp.run(repo, report_of(repo, []), on="dev").commit
    assert done is not None
    repo.sql("UPDATE orders SET qty = 9 WHERE day = 1")
    merged = repo.merge("dev", into="main").commit
    if taken_back:
        if taken_back == "run":
            repo.revert(done.hash)
        else:
            repo.revert(merged.hash, parent=1)
        assert files(repo) == {}
    repo.sql("DELETE FROM orders WHERE day = 3")
    dp.run(repo, report_of(repo, []))
    assert_reported(repo)


def test_a_file_that_others_changed_is_a_conflict_until_a_full_refresh_replaces_it(repo: ab.Repository) -> None:
    dp.run(repo, report_of(repo, []))
    with repo.commit("main", "by hand") as tx:
        tx.files.put("days/1", "mine\n")
    dp.run(repo, report_of(repo, []))
    assert files(repo)["days/1"] == "mine\n", "nothing that the job reads changed"
    repo.sql("UPDATE orders SET qty = 9 WHERE day = 2")
    dp.run(repo, report_of(repo, []))
    assert files(repo)["days/1"] == "mine\n", "the job makes it as before, so the edit stays"
    repo.sql("UPDATE orders SET qty = 9 WHERE day = 1")
    with pytest.raises(ab.MergeConflict, match="daily") as caught:
        dp.run(repo, report_of(repo, []))
    assert "--full-refresh daily" in str(caught.value)
    dp.run(repo, report_of(repo, []), full_refresh="daily")
    assert_reported(repo)


def test_rows_of_others_in_the_table_of_a_job_are_a_conflict_during_a_run(repo: ab.Repository) -> None:
    dp.run(repo, report_of(repo, []))
    repo.sql("UPDATE orders SET qty = 9 WHERE id = 1")
    with pytest.raises(ab.MergeConflict, match="daily"):
        dp.run(repo, report_of(repo, [edit]))
    dp.run(repo, report_of(repo, []))
    assert_reported(repo)
