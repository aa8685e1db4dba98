"""Facts of commits: whatever JSON a user gives comes back, and the names of our own are nobody else's."""

from __future__ import annotations

import datetime
import decimal
import json
import math
from pathlib import Path
from typing import Any

import pytest

import anabranch as ab
from anabranch.cli.main import run
from anabranch.jobs.dealt import files
from anabranch.model.facts import JOB, OWN, PIPELINE, SPARK_WRITE, STREAM, OwnFact
from anabranch.repo.branches.workbook import Workbook
from tests.catalog import stores
from tests.repo.upkeep import damaged_stores

store = stores.store
repo = stores.repo


def nested(depth: int) -> Any:
    found: Any = 1
    for _ in range(depth):
        found = [found]
    return found


FACTS: dict[str, Any] = {
    "number": 5,
    "zero": 0,
    "below": -7,
    "greatest": 2**63 - 1,
    "least": -(2**63),
    "beyond": 2**63,
    "huge": -(10**60),
    "digits": "5",
    "float_text": "1e5",
    "spaced": " 5 ",
    "yes": True,
    "no": False,
    "yes_text": "true",
    "nothing": None,
    "nothing_text": "null",
    "empty": "",
    "infinity": "Infinity",
    "unicode": "ä😀\u2028",
    "list": [],
    "object": {},
    "nested": {"a": [1, {"b": [None, True, 2**70, "x"]}], "": {}},
    "deep": nested(48),
}


@pytest.mark.parametrize("name", FACTS)
def test_a_fact_comes_back_as_it_was_given(repo: ab.Repository, name: str) -> None:
    fact = FACTS[name]
    with repo.commit("main", "say", facts={"said": fact}, allow_empty=True):
        pass
    for commit in (repo.show(), repo.log(limit=1)[0], repo.sibling(repo.name).show()):
        assert commit.facts == {"said": fact}
        assert type(commit.facts["said"]) is type(fact)
    repo.verify().raise_damages()


def test_all_facts_of_a_commit_survive_open_commits_merges_amends_and_backups(
    repo: ab.Repository, store: stores.Store, tmp_path: Path
) -> None:
    opened = repo.start("main", message="open", facts=FACTS)
    opened.create_table("t", [{"id": 1}], key="id")
    opened.finish()
    assert repo.show().facts == FACTS
    repo.branch("dev")
    with repo.commit("dev", "on dev") as tx:
        tx.table("t").insert([{"id": 3}])
    with repo.commit("main", "on main") as tx:
        tx.table("t").insert([{"id": 4}])
    repo.merge("dev", "main", facts=FACTS)
    repo.amend("main", message="merged")
    assert repo.show().facts == FACTS
    repo.verify(deep=True).raise_damages()
    ab.backup(store.url, tmp_path / "backup")
    with ab.open(tmp_path / "backup", repository=repo.name, engine="duck") as copy:
        assert copy.show().facts == FACTS
        assert copy.show().hash == repo.show().hash
        copy.verify().raise_damages()


REFUSED = {
    "not a number": math.nan,
    "infinite": math.inf,
    "a float": 1.5,
    "a date": datetime.date(2024, 1, 1),
    "a decimal": decimal.Decimal(1),
    "bytes": b"x",
    "a set": {1},
    "keys that are numbers": {1: 2},
    "half a character": "\ud800",
    "NUL": "a\x00",
    "a number that Python can't write": 10**5000,
    "the same inside": [{"a": 10**5000}],
    "too deep": nested(60),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_fact_can_be_is_refused_before_anything_is_written(duck: ab.Repository, name: str) -> None:
    with pytest.raises(ab.InvalidRequest, match="facts"):
        duck.commit("main", "say", facts={"said": REFUSED[name]})


def test_a_fact_that_holds_itself_is_refused(duck: ab.Repository) -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(ab.InvalidRequest, match="deep"):
        duck.commit("main", "say", facts={"said": loop})


@pytest.mark.parametrize("name", ["", "a\n", "A", "1a", "ä", "a b", "x" * 65, *OWN])
def test_a_name_that_no_users_fact_can_have_is_refused(duck: ab.Repository, name: str) -> None:
    for verb in (duck.commit, duck.start):
        with pytest.raises(ab.InvalidRequest, match="facts= has the key"):
            verb("main", message="say", facts={name: 1})


def test_facts_are_shown_by_the_command_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with ab.init(".", engine="duck") as repo, repo.commit("main", "say", facts=FACTS, allow_empty=True):
        pass
    for line in (["log"], ["show"], ["verify"], ["verify", "--deep"]):
        assert run(line) == 0
    capsys.readouterr()
    assert run(["--json", "show"]) == 0
    assert json.loads(capsys.readouterr().out)["commit"]["facts"] == FACTS


def sizes(shard: Any) -> Any:
    for file in shard.files("raw"):
        yield {"path": file.path, "size": file.size}


def test_facts_of_users_that_are_named_like_ours_once_were_break_no_job(tmp_path: Path) -> None:
    with ab.open(damaged_stores.restore("facts-of-ours", tmp_path), engine="duck") as repo:
        assert repo.show().facts == {"job": "nightly", "pipeline": 7}
        given = {"job": {"name": "sizes"}, "pipeline": {"name": "sizes"}, "stream": [], "spark_write": 5}
        with repo.commit("main", "raw", facts=given) as tx:
            tx.files.put("raw/a", "abc")
        done = repo.job(sizes, inputs={"raw": files("raw/*")}, table="sizes", key="path", shards=1, local=True).run()
        assert done.commit is not None
        assert JOB.value(done.commit.facts) is not None
        assert repo.table("sizes").rows() == [{"path": "raw/a", "size": 3}]
        for fact in (PIPELINE, STREAM, SPARK_WRITE):
            assert Workbook(repo._ctx).facts(fact, "main") == []
        repo.verify(deep=True).raise_damages()


@pytest.mark.parametrize(("fact", "name"), [(JOB, "sizes"), (PIPELINE, "sales"), (STREAM, None), (SPARK_WRITE, None)])
def test_our_own_facts_are_found_by_the_names_that_they_used_to_have(
    tmp_path: Path, fact: OwnFact, name: str | None
) -> None:
    with ab.open(damaged_stores.restore("facts-of-jobs", tmp_path), engine="duck") as repo:
        ((hash_, value),) = repo.workbook.facts(fact, "main")
        assert value.get("name") == name
        assert fact.value(repo.show(hash_).facts) == value
        repo.verify(deep=True).raise_damages()


def test_facts_that_could_not_be_read_are_read_and_lost_digits_are_named(tmp_path: Path) -> None:
    place = damaged_stores.restore("facts", tmp_path)
    with ab.open(place, engine="duck") as repo:
        nothing, load, _ = repo.log()
        assert nothing.facts == {"nothing": None}
        given = {"rows": 5, "source": {"file": "a.csv", "rows": 3}, "text": "5", "yes": True, "no": False}
        rounded = int(float(12345678901234567890))
        assert load.facts == {**given, "list": [1, "a", None], "big": rounded}
        (damage,) = repo.verify(deep=True).damages
        assert f"its fact 'big' has lost digits: SQLite kept {rounded}" in damage.what
        assert "ana_facts" in damage.where
        ab.backup(place, tmp_path / "backup")
        with ab.open(tmp_path / "backup", engine="duck") as copy:
            assert [c.facts for c in copy.log()] == [c.facts for c in repo.log()]
