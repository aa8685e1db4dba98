"""Defaults, checks and merge rules of a stranger's catalogue do not run unless they are on the list."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import anabranch as ab
from tests.repo.strangers.stranger import asked, edited

RUNS = "reflect('java.lang.System', 'setProperty', 'anabranch.owned', 'yes')"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with a table that has a default, a check and a merge rule."""
    made = tmp_path / "store"
    with ab.init(made, author="ann", engine="duck") as repo:
        with repo.commit("main", "load") as tx:
            table = tx.create_table("t", schema={"id": "int", "v": "string DEFAULT 'new'", "n": "int"}, key="id")
            table.add_check("few", "n < 100")
            table.set_properties({"merge.rule.n": "greatest(ours, theirs)"})
            table.insert([{"id": 1, "v": "a", "n": 1}])
        repo.branch("dev")
        for branch, n in (("main", 2), ("dev", 3)):
            with repo.commit(branch, "change") as tx:
                tx.table("t").update({"n": n})
    return made


@pytest.fixture
def open_store(store: Path, engine: dict[str, Any]) -> Iterator[Callable[[], ab.Repository]]:
    opened: list[ab.Repository] = []

    def open_() -> ab.Repository:
        opened.append(ab.open(store, author="bob", **engine))
        return opened[-1]

    yield open_
    for repo in opened:
        repo.close()
    session = engine.get("spark")
    if session is not None and hasattr(session, "_jvm"):
        assert session._jvm.java.lang.System.getProperty("anabranch.owned") is None


def set_default(store: Path, text: str) -> None:
    for id_ in asked(store, "SELECT id FROM ana_schemas"):
        (told,) = asked(store, "SELECT document FROM ana_schemas WHERE id = ?", id_)
        document = json.loads(told)
        document["columns"][1]["default"] = text
        edited(store, "UPDATE ana_schemas SET document = ? WHERE id = ?", json.dumps(document), id_)


def set_attribute(store: Path, name: str, value: dict[str, str]) -> None:
    for told in set(asked(store, "SELECT attributes FROM ana_entries")):
        changed = json.dumps({**json.loads(told), name: value})
        edited(store, "UPDATE ana_entries SET attributes = ? WHERE attributes = ?", changed, told)


@pytest.mark.contract
def test_a_default_that_runs_code_is_not_run(store: Path, open_store: Callable[[], ab.Repository]) -> None:
    set_default(store, RUNS)
    repo = open_store()
    assert repo.table("t").rows() == [{"id": 1, "v": "a", "n": 2}]
    for write in (
        lambda t: t.insert([{"id": 2}]),
        lambda t: t.upsert([{"id": 2}]),
        lambda t: t.insert([{"id": 2, "n": 1}]),
    ):
        with pytest.raises(ab.Corrupt, match="reflect"), repo.commit("main", "insert") as tx:
            write(tx.table("t"))
    with repo.commit("main", "values for all, then without the default") as tx:
        tx.table("t").insert([{"id": 2, "v": "b", "n": 1}])
        tx.table("t").alter_column("v", default=None)
        tx.table("t").insert([{"id": 3, "n": 1}])


@pytest.mark.contract
def test_a_check_that_runs_code_is_not_run(store: Path, open_store: Callable[[], ab.Repository]) -> None:
    set_attribute(store, "checks", {"few": f"n < 5 OR {RUNS} IS NULL"})
    repo = open_store()
    for write in (
        lambda t: t.insert([{"id": 2, "n": 9}]),
        lambda t: t.update({"n": 9}),
        lambda t: t.overwrite([{"id": 1, "n": 9}]),
    ):
        with pytest.raises(ab.Corrupt, match="reflect"), repo.commit("main", "write") as tx:
            write(tx.table("t"))
    with pytest.raises(ab.Corrupt, match="reflect"):
        repo.merge("dev", "main", rules={"t.n": "ours"})
    with repo.commit("main", "drop it") as tx:
        tx.table("t").drop_check("few")
        tx.table("t").insert([{"id": 2, "n": 9}])


def test_a_kept_rule_that_runs_code_is_not_run(store: Path, open_store: Callable[[], ab.Repository]) -> None:
    set_attribute(store, "properties", {"merge.rule.n": f"length({RUNS})"})
    repo = open_store()
    with pytest.raises(ab.Corrupt, match="reflect"):
        repo.merge("dev", "main")
    assert repo.merge("dev", "main", rules={"t.n": "theirs"}).commit is not None


def test_a_rule_of_an_open_merge_that_runs_code_is_not_run(
    store: Path, open_store: Callable[[], ab.Repository]
) -> None:
    with ab.open(store, engine="duck") as repo:
        repo.start_merge("dev", "main", rules={"t.n": "conflict"})
    edited(store, "UPDATE ana_open_merges SET rules = ?", json.dumps({"t.n": f"length({RUNS})"}))
    (merge,) = open_store().open_merges()
    for ask in (lambda: merge.conflicts, merge.finish):
        with pytest.raises(ab.Corrupt, match="reflect"):
            ask()
    merge.abort()


@pytest.mark.parametrize("text", [RUNS, "(SELECT 1)", "my_function(1)", "1 -- one", "'${env:HOME}'"])
def test_what_would_not_run_is_not_kept(duck: ab.Repository, text: str) -> None:
    with duck.commit("main", "make") as tx:
        table = tx.create_table("t", schema={"id": "int"}, key="id")
        for make in (
            lambda: tx.create_table("u", schema={"id": "int", "v": f"string DEFAULT {text}"}, key="id"),
            lambda: table.add_column("v", "string", default=text),
            lambda: table.add_check("c", f"{text} IS NULL"),
            lambda: table.set_properties({"merge.rule.id": f"coalesce({text}, ours)"}),
            lambda: tx.create_table("u", schema={"id": "int"}, properties={"merge.rule": f"coalesce({text}, ours)"}),
        ):
            with pytest.raises(ab.InvalidRequest):
                make()
    with pytest.raises(ab.InvalidRequest):
        duck.start_merge("main", "main", rules={"*": f"coalesce({text}, ours)"})


@pytest.mark.contract
def test_the_environment_is_not_filled_into_values(store: Path, open_store: Callable[[], ab.Repository]) -> None:
    with ab.open(store, engine="duck") as repo, repo.commit("main", "add") as tx:
        tx.table("t").add_column("w", "string", default="concat('$', '{env:HOME}')")
    repo = open_store()
    assert [row["w"] for row in repo.table("t").rows()] == ["${env:HOME}"]
    with repo.commit("main", "write it again") as tx:
        tx.table("t").update({"v": "w"})
    assert [row["v"] for row in repo.table("t").rows()] == ["${env:HOME}"]
