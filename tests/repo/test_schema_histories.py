"""Random histories of a table whose columns and key change, against a model made of dicts, folded all the time."""

from __future__ import annotations

import tempfile
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

import anabranch as ab

IDS = st.integers(0, 5)
VALUES = st.none() | st.integers(-2, 2)
NAMES = st.sampled_from(["a", "b", "c", "d"])
STATEMENTS = st.one_of(
    st.tuples(st.just("insert"), st.lists(st.tuples(IDS, VALUES), max_size=3)),
    st.tuples(st.just("update"), st.tuples(IDS, NAMES, st.integers(-2, 2))),
    st.tuples(st.just("delete"), IDS),
    st.tuples(st.just("overwrite"), st.lists(st.tuples(IDS, VALUES), max_size=4)),
    st.tuples(st.just("add"), st.tuples(NAMES, VALUES)),
    st.tuples(st.just("drop"), NAMES),
    st.tuples(st.just("rename"), st.tuples(NAMES, NAMES)),
    st.tuples(st.just("widen"), NAMES),
    st.tuples(st.just("key"), st.booleans()),
)


@dataclass
class Model:
    """The table as it should be."""

    columns: list[str] = field(default_factory=lambda: ["a"])
    rows: list[dict[str, Any]] = field(default_factory=list)
    keyed: bool = True

    def copy(self) -> Model:
        return Model(list(self.columns), [dict(row) for row in self.rows], self.keyed)

    @property
    def seen(self) -> Counter[tuple[Any, ...]]:
        return Counter(tuple(row[name] for name in ("id", *self.columns)) for row in self.rows)


class SchemaHistories(RuleBasedStateMachine):
    """Several statements in each commit; every commit stays readable."""

    @initialize()
    def start(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        chosen = ab.Settings(
            objects=ab.ObjectSettings(file_row_limit=4, inline_limit_bytes=1000),
            folding=ab.FoldingSettings(commit_limit=2, rewrite_row_limit=6),
        )
        self.repo = ab.init(self.folder.name, engine="duck", settings=chosen)
        with self.repo.commit("main", "make") as tx:
            tx.create_table("t", schema={"id": "int", "a": "int"}, key="id")
        assert tx.commit is not None
        self.commits = {tx.commit.hash: Model()}
        self.now = Model()

    @rule(statements=st.lists(STATEMENTS, min_size=1, max_size=4))
    def commit(self, statements: list[tuple[str, Any]]) -> None:
        after = self.now.copy()
        with self.repo.commit("main", "change") as tx:
            table = tx.table("t")
            for verb, what in statements:
                getattr(self, verb)(table, what, after)
                assert table.count() == len(after.rows)
            self.check(table, after)
        if tx.commit is None:
            assert (after.seen, after.columns, after.keyed) == (self.now.seen, self.now.columns, self.now.keyed)
        else:
            self.commits[tx.commit.hash] = after
        self.now = after
        self.check(self.repo.table("t"), after)

    @rule()
    def optimize(self) -> None:
        self.repo.optimize("t")
        self.check(self.repo.table("t"), self.now)

    def insert(self, table: Any, what: list[tuple[int, Any]], model: Model) -> None:
        new = self.rows_of(what, model, {row["id"] for row in model.rows} if model.keyed else set())
        table.insert(new)
        model.rows += [dict(row) for row in new]

    def update(self, table: Any, what: tuple[int, str, int], model: Model) -> None:
        key, name, value = what
        if name in model.columns:
            table.update({name: value}, where="id >= :k", args={"k": key})
            for row in model.rows:
                row[name] = value if row["id"] >= key else row[name]

    def delete(self, table: Any, what: int, model: Model) -> None:
        table.delete(where="id = :k", args={"k": what})
        model.rows = [row for row in model.rows if row["id"] != what]

    def overwrite(self, table: Any, what: list[tuple[int, Any]], model: Model) -> None:
        new = self.rows_of(what, model, set())
        table.overwrite(new)
        model.rows = [dict(row) for row in new]

    def add(self, table: Any, what: tuple[str, Any], model: Model) -> None:
        name, default = what
        if name not in model.columns:
            table.add_column(name, "int", default=default)
            model.columns.append(name)
            for row in model.rows:
                row[name] = default

    def drop(self, table: Any, name: str, model: Model) -> None:
        if name in model.columns:
            table.drop_column(name)
            model.columns.remove(name)
            for row in model.rows:
                del row[name]

    def rename(self, table: Any, what: tuple[str, str], model: Model) -> None:
        old, new = what
        if old in model.columns and new not in model.columns:
            table.rename_column(old, new)
            model.columns[model.columns.index(old)] = new
            for row in model.rows:
                row[new] = row.pop(old)

    def widen(self, table: Any, name: str, model: Model) -> None:
        if name in model.columns:
            table.alter_column(name, type="bigint")

    def key(self, table: Any, wanted: bool, model: Model) -> None:
        unique = len({row["id"] for row in model.rows}) == len(model.rows)
        if not wanted or unique:
            table.set_key("id" if wanted else None)
            model.keyed = wanted

    def rows_of(self, what: list[tuple[int, Any]], model: Model, taken: set[int]) -> list[dict[str, Any]]:
        """Rows with the same value in every column; with a key, each id once and none that is taken."""
        given = dict(what).items() if model.keyed else what
        return [{"id": k, **dict.fromkeys(model.columns, v)} for k, v in given if k not in taken]

    def check(self, table: Any, model: Model) -> None:
        assert table.schema.names == ("id", *model.columns)
        assert table.key == (("id",) if model.keyed else ())
        for _ in range(2):  # The second time, changed rows may be known by their places.
            assert Counter(tuple(row.values()) for row in table.rows()) == model.seen

    def teardown(self) -> None:
        if hasattr(self, "repo"):
            for hash_, model in self.commits.items():
                self.check(self.repo.table("t", at=hash_), model)
            self.repo.verify().raise_damages()
            self.repo.close()
            self.folder.cleanup()


TestSchemaHistories = SchemaHistories.TestCase
EXAMPLES = settings.default.max_examples * 3 // 10
TestSchemaHistories.settings = settings(
    max_examples=EXAMPLES, stateful_step_count=10, deadline=None, suppress_health_check=list(HealthCheck)
)
