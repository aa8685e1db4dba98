"""Random histories of a table that is replaced, made again, and whose columns come and go: all forms of a diff agree,
and its rows lead from the one state to the other; so does the feed."""

from __future__ import annotations

import random
import tempfile
from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest

import anabranch as ab
from anabranch.queries.changes import FEED_COLUMNS
from tests.repo.merge.merge_cases import act

Row = dict[str, Any]
SEEDS = (*range(7), 105)


class History:
    """A history on two branches; every commit in which the table is there is kept."""

    def __init__(self, repo: ab.Repository, seed: int) -> None:
        self.repo, self.random = repo, random.Random(seed)
        self.commits: list[str] = []
        act(repo, "main", self.make)
        repo.branch("dev")
        self.keep("main")
        for _ in range(9):
            self.step(self.random.choice(["main", "dev"]))

    def keep(self, branch: str) -> None:
        if any(t.name == "t" for t in self.repo.tables(at=branch)):
            self.commits.append(self.repo.show(branch).hash)

    def step(self, branch: str) -> None:
        there = any(t.name == "t" for t in self.repo.tables(at=branch))
        verbs = [self.rows, self.rows, self.add, self.drop_column, self.replace, self.drop] if there else [self.make]
        verb = self.random.choice(verbs)
        commit = act(self.repo, branch, verb)
        self.keep(branch)
        if verb == self.drop_column and self.random.random() < 0.5:
            self.repo.revert(commit.hash, on=branch, three_way=True)
            self.keep(branch)

    def make(self, tx: Any) -> None:
        names = self.random.sample(["a", "b", "c"], self.random.choice([1, 2]))
        schema = {
            "id": self.random.choice(["int", "bigint"]),
            **{n: self.random.choice(["int", "string"]) for n in names},
        }
        made = tx.create_table("t", schema=schema, key=self.random.choice(["id", "id", None]))
        made.insert([self.row(made.schema, k) for k in self.random.sample(range(6), 4)])

    def row(self, schema: Any, key: int) -> Row:
        values = {c.name: self.value(str(c.type)) for c in schema}
        return {**values, "id": key}

    def value(self, type_: str) -> Any:
        number = self.random.choice([None, 1, 2])
        return number if number is None or type_ != "string" else str(number)

    def rows(self, tx: Any) -> None:
        table = tx.table("t")
        column = self.random.choice([c for c in table.schema if c.name != "id"] or list(table.schema))
        if column.name != "id":
            value = self.value(str(column.type))
            table.update({column.name: repr(value) if value else "null"}, where=f"id >= {self.random.randrange(6)}")
        table.delete(where=f"id = {self.random.randrange(6)}")
        taken = {r["id"] for r in table.rows()}
        table.insert([self.row(table.schema, k) for k in self.random.sample(range(6), 2) if k not in taken])

    def add(self, tx: Any) -> None:
        table = tx.table("t")
        name = self.random.choice(["a", "b", "c"])
        if table.schema.find(name) is None:
            table.add_column(name, "int", default=self.random.choice([None, 7, 8]))

    def drop_column(self, tx: Any) -> None:
        names = [n for n in tx.table("t").schema.names if n != "id"]
        if len(names) > 1:
            tx.table("t").drop_column(self.random.choice(names))

    def drop(self, tx: Any) -> None:
        tx.table("t").drop()

    def replace(self, tx: Any) -> None:
        self.drop(tx)
        self.make(tx)


def counted(rows: Iterable[Row]) -> Counter[tuple[tuple[str, Any], ...]]:
    return Counter(tuple(sorted(row.items())) for row in rows)


def initial(told: str) -> Any:
    """What a column that was added shows in old rows."""
    return int(told.rpartition(" ")[2]) if " DEFAULT " in told else None


def reshaped(row: Row, diff: Any) -> Row:
    gone = {c.name for c in diff.schema if c.change == "drop"}
    came = {c.name: initial(c.after) for c in diff.schema if c.change == "add"}
    return {**{n: v for n, v in row.items() if n not in gone}, **came}


def check_diff(repo: ab.Repository, before: str, after: str) -> None:
    whole = repo.diff(before, after)
    diff = whole["t"]
    rows, left = diff.rows(), counted(repo.table("t", at=before).rows())
    for old in counted(r["before"] for r in rows if r["before"]).elements():
        assert left[old] > 0, old
        left[old] -= 1
    made = [reshaped(dict(row), diff) for row in left.elements()] + [r["after"] for r in rows if r["after"]]
    assert counted(made) == counted(repo.table("t", at=after).rows())
    check_forms(repo, whole, diff, rows, before, after)


def check_forms(repo: ab.Repository, whole: Any, diff: Any, rows: list[Row], before: str, after: str) -> None:
    kinds = Counter(r["change"] for r in rows)
    counts = diff.counts()
    assert (counts["inserted"], counts["updated"], counts["deleted"]) == tuple(
        kinds[k] for k in ("insert", "update", "delete")
    )
    assert counts["cells"] == len(diff.cells()) == sum(len(r["columns"]) for r in rows)
    assert whole.counts().get("t", dict.fromkeys(counts, 0)) == counts
    long = diff.arrow().to_pylist()
    asked = "SELECT * FROM ana.diff('t', :before, :after)"
    as_sql = repo.sql(asked, args={"before": before, "after": after}).rows()
    assert sorted(map(repr, as_sql)) == sorted(map(repr, long))
    assert Counter(r["_change_type"].split("_")[0] for r in long) == kinds + Counter(update=kinds["update"])
    came = [{n: v for n, v in r.items() if n in diff.columns.names} for r in long if r["_change_type"] == "insert"]
    assert counted(came) == counted(r["after"] for r in rows if r["change"] == "insert")


def check_feed(repo: ab.Repository, to: str) -> None:
    """From nothing, the feed leads to the table."""
    found: Counter[Any] = Counter()
    for change in repo.changes("t", to=to).rows():
        (row,) = counted([{n: v for n, v in change.items() if n not in FEED_COLUMNS}])
        gone = change["_change_type"] in ("delete", "update_preimage")
        assert not gone or found[row] > 0, change
        found[row] += -1 if gone else 1
    assert +found == counted(repo.table("t", at=to).rows())


@pytest.mark.long
@pytest.mark.parametrize("seed", SEEDS)
def test_rows_of_a_diff_lead_from_one_state_to_the_other_and_all_forms_agree(seed: int) -> None:
    with tempfile.TemporaryDirectory() as folder, ab.init(folder, engine="duck") as repo:
        made = History(repo, seed)
        for _ in range(5):
            check_diff(repo, *made.random.choices(made.commits, k=2))
        for to in made.random.sample(made.commits, min(2, len(made.commits))):
            check_feed(repo, to)
