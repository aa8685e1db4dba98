"""What one statement or one verb reads is of one moment, however often the branch moves meanwhile."""

# ruff: noqa: E501 -- statements are read whole

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import anabranch as ab
from tests.repo.moving import TOTAL, accounts, carry_over, moving


@pytest.fixture
def bank(repo: ab.Repository) -> ab.Repository:
    accounts(repo)
    return repo


@pytest.fixture
def small(duck: ab.Repository) -> ab.Repository:
    accounts(duck)
    return duck


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[ab.Repository]:
    """Another process, as far as the catalogue can tell."""
    with ab.open(tmp_path / "store", engine="duck") as opened:
        yield opened


QUERIES = {
    "two tables": ("SELECT l.v + r.v AS n FROM left l JOIN right r ON l.id = r.id", TOTAL),
    "a table and one at a ref": ("SELECT l.v + r.v AS n FROM left VERSION AS OF 'main' l, right r", TOTAL),
    "two refs": ("SELECT b.v - a.v AS n FROM left VERSION AS OF 'main' a, left VERSION AS OF 'main~1' b", 1),
    "two times": ("SELECT l.v + r.v AS n FROM left TIMESTAMP AS OF now() l, right TIMESTAMP AS OF now() r", TOTAL),
    "a subquery": ("SELECT v + (SELECT max(v) FROM right) AS n FROM left", TOTAL),
    "the log": ("SELECT l.v + (SELECT count(*) FROM ana.log) AS n FROM left l", TOTAL + 2),
    "a branch": (
        "SELECT count(*) AS n FROM ana.branches b, ana.log('main') l WHERE b.name = 'main' AND b.commit = l.hash",
        1,
    ),
    "the moves": ("SELECT l.v + (SELECT count(*) FROM ana.reflog) AS n FROM left l", TOTAL + 2),
    "a history": ("SELECT l.v + (SELECT count(*) FROM ana.history('left')) AS n FROM left l", TOTAL + 1),
    "a row's history": ("SELECT l.v + (SELECT count(*) FROM ana.history('left', 1)) AS n FROM left l", TOTAL + 1),
    "a diff": (
        "SELECT d.v - l.v AS n FROM left l, ana.diff('left', 'main~1', 'main') d WHERE d._change_type = 'update_preimage'",
        1,
    ),
    "two diffs": (
        "SELECT l.v + r.v AS n FROM ana.diff('left', 'main~1') l JOIN ana.diff('right', 'main~1') r USING (_change_type)",
        TOTAL,
    ),
    "changes": ("SELECT min(c.v) - min(l.v) AS n FROM left l, ana.changes('left') c", 0),
    "changes from a version": ("SELECT min(c.v) - min(l.v) AS n FROM left l, left CHANGES FROM VERSION 'main~1' c", 0),
    "blame": (
        "SELECT count(*) AS n FROM ana.blame('left') b, ana.branches m WHERE m.name = 'main' AND b._commit_hash = m.commit",
        1,
    ),
}


@pytest.mark.parametrize("what", QUERIES)
def test_all_that_a_query_reads_is_of_one_moment(small: ab.Repository, writer: ab.Repository, what: str) -> None:
    text, expected = QUERIES[what]
    with moving(writer) as made:
        result = small.sql(text)
        read = [{row["n"] for row in result.rows()} for _ in range(2)]
    assert len(made) > 1
    assert read == [{expected}, {expected}]


def test_a_frame_of_spark_shows_the_moment_of_its_query(
    bank: ab.Repository, writer: ab.Repository, engine: dict[str, Any]
) -> None:
    if engine["engine"] == "duck":
        pytest.skip("a frame of Spark's")
    with moving(writer):
        found = bank.sql(QUERIES["two tables"][0]).spark()
        told = bank.sql(QUERIES["the log"][0]).spark()
    carry_over(writer)
    assert ([row.n for row in found.collect()], [row.n for row in told.collect()]) == ([TOTAL], [TOTAL + 2])


def test_every_statement_of_a_script_has_a_moment_of_its_own(small: ab.Repository, writer: ab.Repository) -> None:
    session = small.sql_session("main", staging=False)
    both = "SELECT l.v AS l, r.v AS r FROM left l, right r"
    with moving(writer):
        first, second = (result.rows()[0] for result in session.execute(f"{both}; {both}"))
    assert first["l"] + first["r"] == second["l"] + second["r"] == TOTAL
    assert second["r"] > first["r"]


def test_a_plan_is_explained_and_tables_are_shown_at_one_moment(small: ab.Repository, writer: ab.Repository) -> None:
    with moving(writer):
        assert small.sql(f"EXPLAIN {QUERIES['two tables'][0]}").rows()[0]["engine"] == "duck"
        assert [r["name"] for r in small.sql("SHOW TABLES").rows()] == ["left", "right"]
        assert len(small.sql("DESCRIBE HISTORY left").rows()) > 3


WRITES = [
    "INSERT INTO seen SELECT l.id, l.v + r.v, 0.5 FROM left VERSION AS OF 'main' l, right VERSION AS OF 'main' r",
    "INSERT INTO seen SELECT * FROM (SELECT l.id, l.v + r.v AS n, 0 AS m FROM left@main l, right@main r)",
    "MERGE INTO seen s USING (SELECT id, v FROM left VERSION AS OF 'main') f ON s.id = f.id "
    "WHEN NOT MATCHED THEN INSERT (id, n) VALUES (f.id, f.v + (SELECT max(v) FROM right VERSION AS OF 'main'))",
    "CREATE OR REPLACE TABLE seen AS SELECT l.id, l.v + r.v AS n FROM left@main l, right@main r",
]


@pytest.mark.parametrize("text", WRITES)
def test_a_statement_that_writes_reads_at_one_moment(small: ab.Repository, writer: ab.Repository, text: str) -> None:
    small.sql("CREATE TABLE seen (id BIGINT, n BIGINT, m DOUBLE)", on="dev")
    with moving(writer):
        small.sql(text, on="dev")
    assert [row["n"] for row in small.table("seen", at="dev").rows()] == [TOTAL]


def test_a_query_in_a_commit_shows_what_was_there_when_it_was_asked(bank: ab.Repository) -> None:
    with bank.commit("dev", "raise") as tx:
        tx.sql("UPDATE left SET v = 7")
        before = tx.sql("SELECT v FROM left")
        told = tx.sql("SELECT max(v) AS v FROM ana.diff('left')")
        tx.sql("UPDATE left SET v = 8")
        assert (before.rows(), told.rows()) == ([{"v": 7}], [{"v": 98}])
        assert tx.sql("SELECT v FROM left").rows() == [{"v": 8}]


@pytest.mark.parametrize("staging", [True, False])
def test_a_query_in_a_script_shows_what_was_there_when_it_was_its_turn(small: ab.Repository, staging: bool) -> None:
    session = small.sql_session("dev", staging=staging)
    script = "UPDATE left SET v = 7; SELECT v FROM left; UPDATE left SET v = 8; SELECT v FROM left; DELETE FROM left"
    found = session.execute(f"{script}; COMMIT 'all'" if staging else script)
    assert [found[1].rows(), found[3].rows()] == [[{"v": 7}], [{"v": 8}]]
    assert (found[1].engine, found[1].types) == ("duck", ("bigint",))


def test_a_staged_query_is_read_before_the_commit_that_ends_its_rows(small: ab.Repository) -> None:
    session = small.sql_session("dev")
    session.execute("UPDATE left SET v = 7; UPDATE left SET v = v + 1")
    selected, _committed, again = session.execute("SELECT v FROM left; COMMIT 'eight'; SELECT v FROM left")
    assert (selected.rows(), again.rows()) == ([{"v": 8}], [{"v": 8}])


def test_a_diff_tells_of_every_table_what_was_there_when_it_was_asked(
    small: ab.Repository, writer: ab.Repository
) -> None:
    with moving(writer):
        found = small.diff("main~1", "main", table="left")
        sides = [found[name].rows()[0] for name in ("left", "right")]
        staged = small.start("dev", message="later").diff("main")
        more = [staged[name].rows()[0]["before"]["v"] for name in ("left", "right")]
    assert sum(row["after"]["v"] for row in sides) == sum(row["before"]["v"] for row in sides) == sum(more) == TOTAL


def test_what_is_opened_in_a_block_is_of_one_moment(store_url: str, objects_root: str) -> None:
    where = {} if not store_url.startswith("postgresql") else {"objects": objects_root}
    with ab.init(store_url, engine="duck", **where) as repo, ab.open(store_url, engine="duck") as writer:
        accounts(repo)
        with moving(writer), repo.one_state():
            left, right, head = repo.table("left"), repo.table("right"), repo.show("main")
            assert repo.sql(QUERIES["two tables"][0]).rows() == [{"n": TOTAL}]
            assert repo.show("main").hash == head.hash
        assert left.get(1)["v"] + right.get(1)["v"] == TOTAL  # type: ignore[index]
        assert repo.show("main").hash != head.hash


def test_a_block_of_one_moment_sees_what_it_writes_itself(small: ab.Repository) -> None:
    with small.one_state():
        before = small.show("main").hash
        for _ in range(2):
            carry_over(small)
        assert small.show("main~2").hash == before
