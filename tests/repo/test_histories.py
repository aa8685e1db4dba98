"""Random histories against a model made of dicts: every commit stays readable, and says exactly what changed."""

from __future__ import annotations

import tempfile
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule

import anabranch as ab

Rows = dict[int, dict[str, Any]]
KEYS = st.integers(0, 6)
VALUES = st.none() | st.integers(-2, 2)


class Histories(RuleBasedStateMachine):
    """Branches of one table, written by every statement in any order."""

    branches = Bundle("branches")
    chosen = ab.Settings(folding=ab.FoldingSettings(commit_limit=0))

    @initialize(target=branches)
    def start(self) -> str:
        self.folder = tempfile.TemporaryDirectory()
        self.repo = ab.init(self.folder.name, engine="duck", author="ann", settings=self.chosen)
        with self.repo.commit("main", "make") as tx:
            tx.create_table("t", schema={"id": "int", "a": "int", "b": "int"}, key="id")
        assert tx.commit is not None
        self.commits: dict[str, Rows] = {tx.commit.hash: {}}
        self.heads: dict[str, Rows] = {"main": {}}
        return "main"

    @rule(target=branches, at=branches, number=st.integers(0, 5))
    def branch(self, at: str, number: int) -> str:
        name = f"b{number}"
        if name not in self.heads:
            self.repo.branch(name, at=at)
            self.heads[name] = self.heads[at]
        return name

    @rule(
        branch=branches,
        statements=st.lists(
            st.one_of(
                st.tuples(st.just("insert"), st.dictionaries(KEYS, st.tuples(VALUES, VALUES), max_size=3)),
                st.tuples(st.just("upsert"), st.dictionaries(KEYS, st.tuples(VALUES, VALUES), max_size=3)),
                st.tuples(st.just("partial"), st.dictionaries(KEYS, VALUES, max_size=3)),
                st.tuples(st.just("update"), st.tuples(KEYS, st.integers(-2, 2))),
                st.tuples(st.just("delete"), KEYS),
                st.tuples(st.just("shift"), st.tuples(KEYS, KEYS)),
            ),
            max_size=4,
        ),
    )
    def commit(self, branch: str, statements: list[tuple[str, Any]]) -> None:
        before = self.heads[branch]
        after = {k: dict(v) for k, v in before.items()}
        with self.repo.commit(branch, "change") as tx:
            table = tx.table("t")
            for verb, what in statements:
                self.run(table, verb, what, after)
                assert table.count() == len(after)
            assert by_key(table.rows()) == after
        assert (tx.commit is not None) == (after != before)
        self.heads[branch] = after
        if tx.commit is not None:
            self.commits[tx.commit.hash] = after
            self.check_change(tx.commit, before, after)

    def run(self, table: Any, verb: str, what: Any, rows: Rows) -> None:
        if verb == "insert":
            new = {k: v for k, v in what.items() if k not in rows}
            assert table.insert([{"id": k, "a": a, "b": b} for k, (a, b) in new.items()]).inserted == len(new)
            rows.update({k: {"a": a, "b": b} for k, (a, b) in new.items()})
        elif verb == "upsert":
            table.upsert([{"id": k, "a": a, "b": b} for k, (a, b) in what.items()])
            rows.update({k: {"a": a, "b": b} for k, (a, b) in what.items()})
        elif verb == "partial":
            table.upsert([{"id": k, "a": a} for k, a in what.items()])
            for k, a in what.items():
                rows[k] = {"a": a, "b": rows.get(k, {}).get("b")}
        elif verb == "update":
            key, value = what
            table.update({"a": "b", "b": value}, where="id >= :k", args={"k": key})
            for k in [k for k in rows if k >= key]:
                rows[k] = {"a": rows[k]["b"], "b": value}
        elif verb == "delete":
            table.delete(where="id = :k", args={"k": what})
            rows.pop(what, None)
        elif verb == "shift":
            old, new = what
            if new not in rows:
                table.update({"id": new}, where="id = :k", args={"k": old})
                if old in rows:
                    rows[new] = rows.pop(old)

    def check_change(self, commit: ab.Commit, before: Rows, after: Rows) -> None:
        (change,) = self.repo.show_changes(commit.hash)
        both = before.keys() & after.keys()
        assert change.inserted == len(after.keys() - both)
        assert change.deleted == len(before.keys() - both)
        assert change.updated == sum(before[k] != after[k] for k in both)
        assert change.row_count == len(after)

    @invariant()
    def every_commit_reads_as_it_was(self) -> None:
        for hash_, rows in list(getattr(self, "commits", {}).items())[-4:]:
            assert by_key(self.repo.table("t", at=hash_).rows()) == rows

    def teardown(self) -> None:
        if hasattr(self, "repo"):
            for hash_, rows in self.commits.items():
                table = self.repo.table("t", at=hash_)
                assert by_key(table.rows()) == rows
                assert all((table.get(k) or {}).get("a") == rows.get(k, {}).get("a") for k in range(7))
            self.repo.verify().raise_damages()
            self.repo.close()
            self.folder.cleanup()


def by_key(rows: list[dict[str, Any]]) -> Rows:
    found = {row["id"]: {"a": row["a"], "b": row["b"]} for row in rows}
    assert len(found) == len(rows)
    return found


class FoldedHistories(Histories):
    """The same with files of a few rows, folded and rewritten all the time, and now and then at once."""

    chosen = ab.Settings(
        objects=ab.ObjectSettings(file_row_limit=4, inline_limit_bytes=1000),
        folding=ab.FoldingSettings(commit_limit=2, row_limit=8, rewrite_row_limit=6),
    )

    @rule(branch=Histories.branches)
    def optimize(self, branch: str) -> None:
        done = self.repo.optimize("t", on=branch)
        assert (done.view is None) == (done.objects_before == done.objects_after and not done.rewritten)
        assert by_key(self.repo.table("t", at=branch).rows()) == self.heads[branch]


EXAMPLES = settings.default.max_examples // 4
LIMITS = settings(max_examples=EXAMPLES, stateful_step_count=12, deadline=None, suppress_health_check=list(HealthCheck))
TestHistories, TestFoldedHistories = Histories.TestCase, FoldedHistories.TestCase
TestHistories.settings = TestFoldedHistories.settings = LIMITS
