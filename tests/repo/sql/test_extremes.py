"""Texts that no engine takes, wherever a user may write one: refused clearly, before anything is written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import anabranch as ab

HALF = "a\ud800b"
SHAPES = {
    "brackets": "(" * 3000 + "v" + ")" * 3000,
    "subscripts": "v" + "[1" * 3000 + "]" * 3000,
    "digits": "1" * 5000,
    "a fraction": "0." + "1" * 5000,
    "minus": "- " * 3000 + "v",
    "choices": "CASE WHEN v = 1 THEN " * 3000 + "1" + " END" * 3000,
    "sums": " + ".join(["v"] * 3000),
}


@pytest.fixture
def made(repo: ab.Repository) -> ab.Repository:
    """One row, changed differently on two branches."""
    with repo.commit("main", "load") as tx:
        tx.create_table("t", [{"id": 1, "v": 1}], key="id")
    repo.branch("dev")
    for branch, value in (("dev", 2), ("main", 3)):
        with repo.commit(branch, "set") as tx:
            tx.table("t").update({"v": value})
    return repo


def writing(change: Callable[[ab.Transaction, Any], Any]) -> Callable[[ab.Repository], Any]:
    def run(repo: ab.Repository) -> None:
        with repo.commit("main", "try") as tx:
            change(tx, tx.table("t"))

    return run


def places(text: str) -> dict[str, Callable[[ab.Repository], Any]]:
    """Where a text may stand as a value, or in a condition."""
    condition = f"v < {text}"
    return {
        "where": lambda repo: repo.table("t", where=condition).rows(),
        "update": writing(lambda _, t: t.update({"v": text})),
        "delete": writing(lambda _, t: t.delete(condition)),
        "check": writing(lambda _, t: t.add_check("small", condition)),
        "default": writing(lambda _, t: t.add_column("w", "bigint", default=text.replace("v", "1"))),
        "rule": lambda repo: repo.merge("dev", into="main", rules={"t.v": text.replace("v", "ours")}),
        "diff": lambda repo: repo.diff("main~1", "main")["t"].rows(where=condition),
        "changes": lambda repo: repo.changes("t", where=condition).rows(),
        "blame": lambda repo: repo.blame("t", where=condition).rows(),
        "SELECT": lambda repo: repo.sql(f"SELECT {text} AS x FROM t").rows(),
        "WHERE": lambda repo: repo.sql(f"SELECT * FROM t WHERE {condition}").rows(),
        "AS OF": lambda repo: repo.sql(f"SELECT * FROM t TIMESTAMP AS OF {text}").rows(),
        "UPDATE": lambda repo: repo.sql(f"UPDATE t SET v = {text}"),
        "INSERT": lambda repo: repo.sql(f"INSERT INTO t VALUES (2, {text.replace('v', '1')})"),
        "MERGE": lambda repo: repo.sql(f"MERGE INTO t USING t@dev s ON s.{condition} WHEN MATCHED THEN DELETE"),
        "EXPLAIN": lambda repo: repo.sql(f"EXPLAIN SELECT {text} AS x FROM t"),
    }  # fmt: skip


def refused(repo: ab.Repository, ask: Callable[[ab.Repository], Any]) -> str:
    head = repo.show("main").hash
    with pytest.raises((ab.InvalidRequest, ab.NotFound)) as caught:
        ask(repo)
    assert len(str(caught.value)) < 600
    assert repo.show("main").hash == head
    return str(caught.value)


@pytest.mark.long
@pytest.mark.parametrize("shape", SHAPES)
def test_what_no_engine_takes_is_refused_wherever_it_is_written(made: ab.Repository, shape: str) -> None:
    told = {place: refused(made, ask) for place, ask in places(SHAPES[shape]).items()}
    if shape in ("brackets", "subscripts", "choices"):
        assert all("more than 500 brackets or CASEs inside each other" in told[place] for place in ("where", "SELECT"))
    if shape == "digits":
        assert "a number of 5000 digits" in told["SELECT"]


def test_what_is_deep_for_the_process_is_left_to_spark(duck: ab.Repository) -> None:
    with duck.commit("main", "load") as tx:
        tx.create_table("t", [{"id": 1, "v": 1}], key="id")
    deep = "(" * 200 + "v" + ")" * 200
    for ask in (lambda: duck.table("t", where=f"{deep} = 1").rows(), lambda: duck.sql(f"SELECT {deep} AS x FROM t")):
        with pytest.raises(ab.InvalidRequest, match="so many parts inside each other runs on Spark only"):
            ask()


def test_brackets_of_another_kind_close_nothing(duck: ab.Repository) -> None:
    with duck.commit("main", "load") as tx:
        tx.create_table("t", [{"id": 1, "v": 1}], key="id")
    for text in ("[ ) OR ( ]", "( ]", "v = 1) OR (v = 2"):
        with pytest.raises(ab.InvalidRequest):
            duck.table("t", where=text).rows()


@pytest.mark.long
@pytest.mark.parametrize("word", ["OR", "AND"])
def test_thousands_of_conditions_in_a_row_run_in_the_process(duck: ab.Repository, word: str) -> None:
    with duck.commit("main", "load") as tx:
        tx.create_table("t", [{"id": i, "v": i} for i in range(3)], key="id")
    many = f" {word} ".join(f"v {'=' if word == 'OR' else '<>'} {i}" for i in range(2, 3002))
    expected = [2] if word == "OR" else [0, 1]
    assert sorted(row["v"] for row in duck.table("t", where=many).rows()) == expected
    assert [row["v"] for row in duck.sql(f"SELECT v FROM t WHERE {many} ORDER BY v").rows()] == expected


HUGE = 10**5000
VALUES: dict[str, Callable[[ab.Repository], Any]] = {
    "an argument": lambda repo: repo.table("t", where="v = :x", args={"x": HUGE}).rows(),
    "an argument of SQL": lambda repo: repo.sql("SELECT :x AS x", args={"x": HUGE}).rows(),
    "a frame": lambda repo: repo.sql("SELECT * FROM {f}", f=[{"v": HUGE}]).rows(),
    "a cell": writing(lambda _, t: t.update({"v": HUGE})),
    "a row": writing(lambda _, t: t.insert([{"id": HUGE, "v": 1}])),
    "a default": writing(lambda _, t: t.add_column("w", "bigint", default=HUGE)),
    "a key": lambda repo: repo.table("t").get(HUGE),
    "a limit": lambda repo: repo.table("t", limit=HUGE).rows(),
    "a limit of SHOW": lambda repo: repo.sql(f"SHOW LOG LIMIT {'9' * 900}"),
    "the number of a parent": lambda repo: repo.sql(f"REVERT main PARENT {'9' * 900}"),
    "an interval": lambda repo: repo.sql(f"SELECT * FROM t TIMESTAMP AS OF now() - INTERVAL {'9' * 20} DAYS").rows(),
    "JSON": writing(lambda tx, _: tx.create_table("j", [{"j": "[" * 100_000}], schema={"j": "variant"})),
}


@pytest.mark.parametrize("what", VALUES)
def test_values_beyond_any_type_are_refused(made: ab.Repository, what: str) -> None:
    refused(made, VALUES[what])


NAMES: dict[str, Callable[[ab.Repository], Any]] = {
    "a text of SQL": lambda repo: repo.sql(f"SELECT '{HALF}'"),
    "a table of SQL": lambda repo: repo.sql(f"SELECT * FROM `{HALF}`"),
    "a branch to write to": lambda repo: repo.sql("DELETE FROM t", on=HALF),
    "a ref of SQL": lambda repo: repo.sql("SELECT * FROM t VERSION AS OF :r", args={"r": HALF}),
    "a name in an argument": lambda repo: repo.sql("SELECT * FROM IDENTIFIER(:r)", args={"r": HALF}),
    "a column of dicts": lambda repo: repo.sql("SELECT * FROM {f}", f=[{HALF: 1}]),
    "a column of a new table": writing(lambda tx, _: tx.create_table("n", [{HALF: 1}])),
    "a column to set": writing(lambda _, t: t.update({HALF: 1})),
    "a column to read": lambda repo: repo.table("t", columns=[HALF]),
    "a condition": lambda repo: repo.table("t", where=f"`{HALF}` = 1").rows(),
    "a branch": lambda repo: repo.find_branch(HALF),
    "a branch to make": lambda repo: repo.branch(HALF),
    "a branch to move": lambda repo: repo.reset(HALF, "main"),
    "a branch to commit on": lambda repo: repo.commit(HALF, "m").__enter__(),
    "a branch to merge into": lambda repo: repo.merge("dev", into=HALF),
    "a tag": lambda repo: repo.delete_tag(HALF),
    "a namespace": lambda repo: repo.tables(namespace=HALF),
}  # fmt: skip


@pytest.mark.parametrize("what", NAMES)
def test_halves_of_characters_are_refused_in_names(made: ab.Repository, what: str) -> None:
    refused(made, NAMES[what]).encode()
