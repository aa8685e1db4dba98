"""Random open merges, picks and reverts, resolved at random beside a model of whole rows.

By hand: `python -m tests.repo.merge.open_merge_histories 0:1000`.
"""

from __future__ import annotations

import random
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import anabranch as ab
from tests.repo.merge.merge_histories import place

Row = dict[str, Any]
Rows = dict[int, Row]
VALUES = (None, 0, 1, 2, 3, 10)
SIDES = ("base", "ours", "theirs")
UPDATES = ("patch", "patch", "patch", "patch", "add", "set")
"""Statements that only update rows: conflicts among these are found without reading the table."""


@dataclass
class Decided:
    """What the model makes of one key: the merged row, and what of it is in conflict."""

    base: Row | None
    ours: Row | None
    theirs: Row | None
    stays: bool
    row: Row
    kind: str | None = None
    cells: set[str] = field(default_factory=set)

    def side(self, name: str) -> Row | None:
        found: Row | None = getattr(self, name)
        return found

    @property
    def shown(self) -> Row:
        """The row that a condition is tested on."""
        return next(row for row in (self.ours, self.theirs, self.base) if row is not None)

    @property
    def count(self) -> int:
        return len(self.cells) + (self.kind is not None)

    def versions(self) -> tuple[Any, ...]:
        return tuple(None if row is None else tuple(row.items()) for row in map(self.side, SIDES))

    def copy(self) -> Decided:
        return Decided(self.base, self.ours, self.theirs, self.stays, dict(self.row), self.kind, set(self.cells))


@dataclass(frozen=True)
class Resolution:
    """A call of `resolve`, as the model understands it."""

    take: str | None = None
    low: int | None = None
    """Only rows with at least this id."""
    key: int | None = None
    column: str | None = None
    given: Mapping[str, Any] = field(default_factory=dict)

    def arguments(self) -> dict[str, Any]:
        found: dict[str, Any] = {"take": self.take} if self.take else {"set": dict(self.given)}
        found |= {"where": f"id >= {self.low}"} if self.low is not None else {}
        found |= {"key": self.key} if self.key is not None else {}
        return found | ({"columns": self.column} if self.column else {})

    def sql(self) -> str | None:
        """The same as a statement, if there is one."""
        values = list(self.given.values())
        if self.key is not None or self.column is not None or any(not isinstance(v, str) for v in values):
            return None
        sets = ", ".join(f"{name} = {value}" for name, value in self.given.items())
        what = f"TAKE {self.take}" if self.take else f"SET {sets}"
        return f"RESOLVE t {what}" + (f" WHERE id >= {self.low}" if self.low is not None else "")

    def asks_for(self, key: int, found: Decided) -> bool:
        return self.key in (None, key) and (self.low is None or found.shown["id"] >= self.low)

    def settle(self, found: Decided) -> int:
        """Settle what is asked for in one row; return how many conflicts that settles."""
        if found.kind is not None:
            return self._settle_row(found)
        wanted = {c for c in found.cells if (c in self.given if self.given else self.column in (None, c))}
        values = {c: self._value(found, c) for c in (self.given if self.given and wanted else wanted)}
        found.row |= values
        found.cells -= wanted
        return len(wanted)

    def _settle_row(self, found: Decided) -> int:
        if self.column is not None:
            return 0
        side = self.take or ("ours" if found.ours is not None else "theirs")
        taken = found.side(side)
        found.stays = bool(self.given) or taken is not None
        values = {c: self._value(found, c) for c in self.given}
        found.row = {**(taken or found.shown), **values}
        found.kind = None
        return 1

    def _value(self, found: Decided, column: str) -> Any:
        versions = {side: (found.side(side) or {}).get(column) for side in SIDES}
        if self.take:
            return versions[self.take]
        value = self.given[column]
        if not isinstance(value, str):
            return value
        summed = None if None in versions.values() else versions["ours"] + versions["theirs"] - versions["base"]
        return {"ours": versions["ours"], "theirs": versions["theirs"], "ours + theirs - base": summed}[value]


Settled = dict[tuple[int, Any], Decided]


@dataclass
class Model:
    """The three-way merge of whole rows, in steps, with what was resolved."""

    columns: tuple[str, ...]
    rules: Mapping[str, str]
    ours: Rows
    steps: list[tuple[Rows, Rows]]
    """For each source or commit, the rows before its change and after it."""
    is_sequence: bool
    settled: Settled = field(default_factory=dict)

    @property
    def _shown_steps(self) -> list[tuple[Rows, Rows]]:
        """All steps; of a sequence only the one that it stopped at."""
        return self.steps[:1] if self.is_sequence else self.steps

    def conflicts(self, settled: Settled | None = None) -> dict[int, Decided]:
        """The rows in conflict, of the first step that has some."""
        ours = self.ours
        for base, theirs in self._shown_steps:
            decided = self._decided(base, ours, theirs, self.settled if settled is None else settled)
            left = {k: d for k, d in decided.items() if d.count}
            if left:
                return left
            ours = _staying(decided)
        return {}

    def count(self) -> int:
        return sum(d.count for d in self.conflicts().values())

    def preview(self) -> Rows:
        """The rows as they would be now: of all sources, or of the step that a sequence stopped at."""
        ours = self.ours
        for base, theirs in self._shown_steps:
            ours = _staying(self._decided(base, ours, theirs, self.settled))
        return ours

    def go_on(self) -> None:
        """Let a sequence make its steps up to the first with conflicts."""
        while self.is_sequence and self.steps and not any(d.count for d in self._next().values()):
            self.ours = _staying(self._next())
            del self.steps[0]
            self.settled = {}

    def _next(self) -> dict[int, Decided]:
        base, theirs = self.steps[0]
        return self._decided(base, self.ours, theirs, self.settled)

    def resolve(self, asked: Resolution) -> int:
        """Settle rows; 0 if nothing that was asked for is in conflict, or was."""
        found = self._settle(self.conflicts(), asked)
        return found if found or not self.settled else self._settle(self.conflicts({}), asked)

    def _settle(self, rows: Mapping[int, Decided], asked: Resolution) -> int:
        total = 0
        for key, found in rows.items():
            one = found.copy()
            count = asked.settle(one) if asked.asks_for(key, one) else 0
            if count:
                self.settled[key, one.versions()] = one
            total += count
        return total

    def _decided(self, base: Rows, ours: Rows, theirs: Rows, settled: Settled) -> dict[int, Decided]:
        found = {}
        for key in sorted({*base, *ours, *theirs}):
            one = self._decide(base.get(key), ours.get(key), theirs.get(key))
            found[key] = settled.get((key, one.versions()), one)
        return found

    def _decide(self, base: Row | None, ours: Row | None, theirs: Row | None) -> Decided:
        one = Decided(base, ours, theirs, ours is not None, dict(ours or {}))
        if ours is None or theirs is None:
            return self._with_one_missing(one)
        for c in self.columns:
            is_left = base is not None and base[c] == theirs[c]
            is_alone = base is not None and base[c] == ours[c]
            if is_alone and not is_left:
                one.row[c] = theirs[c]
            elif not is_left and ours[c] != theirs[c]:
                rule = self.rules.get(f"t.{c}")
                one.row[c] = theirs[c] if rule == "theirs" else ours[c]
                one.cells |= set() if rule else {c}
        return one

    @staticmethod
    def _with_one_missing(one: Decided) -> Decided:
        here = one.theirs if one.ours is None else one.ours
        if one.base is None:
            one.stays = here is not None
            one.row = dict(here or {})
        elif here is None or here == one.base:
            one.stays = False
        else:
            one.kind = "delete/update" if one.ours is None else "update/delete"
        return one


def _staying(decided: Mapping[int, Decided]) -> Rows:
    return {key: dict(d.row) for key, d in decided.items() if d.stays}


@dataclass
class History:
    """One open merge, pick or revert in a repository, from its base to its end, beside the model."""

    repo: ab.Repository
    seed: int
    log: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.columns = tuple("abcd"[: self.random.randint(1, 4)])
        self.has_key = self.random.random() < 0.8
        self.verbs = self.random.choice([UPDATES, UPDATES, (*UPDATES, "put", "delete", "insert")])
        self.next_id = 100
        self.resolved = 0

    def run(self) -> None:
        base = self._make()
        verb = self.random.choice(["merge", "merge", "merge", "several", "pick", "revert"])
        names = ["ours", "theirs", *(["more"] if verb == "several" else [])]
        for name in names:
            self.repo.branch(name, at="main")
        states = {name: self._change(name, base, self.random.randint(1, 5)) for name in names}
        self.log.append(verb)
        opened, model = self._started(verb, base, states)
        self._settle(opened, model, verb)
        self._finish(opened, model)

    # --- before the merge ---

    def _make(self) -> Rows:
        rows = {k: self._row(k) for k in range(1, self.random.randint(3, 5))}
        if self.random.random() < 0.5:  # Rows in the catalogue and rows in files are read on different ways.
            rows |= {k: self._row(k) for k in range(1000, 1040)}
        with self.repo.commit("main", "make") as tx:
            schema = ", ".join(f"{name} int" for name in ("id", *self.columns))
            tx.create_table("t", schema=schema, key="id" if self.has_key else None)
            tx.table("t").insert(list(rows.values()))
        self.log.append(f"base { {k: row for k, row in rows.items() if k < 1000} }")
        return rows

    def _row(self, key: int) -> Row:
        return {"id": key, **{c: self.random.choice(VALUES) for c in self.columns}}

    def _change(self, branch: str, rows: Rows, count: int) -> list[Rows]:
        """Run statements, some of them in one commit; return the rows before and after each commit."""
        states = [rows]
        while count > 0:
            now = {k: dict(row) for k, row in states[-1].items()}
            together = self.random.randint(1, count)
            with self.repo.commit(branch, "change") as tx:
                for _ in range(together):
                    self._statement(tx.table("t"), now, branch)
            if tx.commit is not None:
                states.append(now)
            count -= together
        return states

    def _statement(self, table: Any, rows: Rows, branch: str) -> None:
        verb = self.random.choice(self.verbs)
        known = [k for k in rows if k < 10] or [0]
        key = self.random.choice(range(1, 8) if verb == "put" else known)
        columns = self.random.sample(self.columns, self.random.randint(1, len(self.columns)))
        values = {c: self.random.choice(VALUES) for c in columns}
        self.log.append(f"{branch}: {verb} {key} {values}")
        if verb in ("put", "patch") and self.has_key and (verb == "put" or key in rows):
            table.upsert([{"id": key, **values}])
            nothing = {"id": key, **dict.fromkeys(self.columns)}
            rows[key] = {**rows.get(key, nothing), **values}
        elif verb in ("put", "patch", "set"):
            table.update(values, where=f"id = {key}")
            if key in rows:
                rows[key] |= values
        elif verb == "add":
            table.update({columns[0]: f"{columns[0]} + 1"}, where=f"id >= {key} AND id < 1000")
            for row in rows.values():
                if key <= row["id"] < 1000 and row[columns[0]] is not None:
                    row[columns[0]] += 1
        elif verb == "delete":
            table.delete(where=f"id = {key}")
            rows.pop(key, None)
        else:
            self._insert(table, rows)

    def _insert(self, table: Any, rows: Rows) -> None:
        free = [k for k in range(1, 10) if k not in rows]
        if not self.has_key or not free:
            self.next_id += 1
            free = [self.next_id]
        row = self._row(self.random.choice(free))
        table.insert([row])
        rows[row["id"]] = row

    def _started(self, verb: str, base: Rows, states: Mapping[str, list[Rows]]) -> tuple[Any, Model]:
        rule = self.random.choice(["ours", "theirs"])
        rules = {f"t.{self.random.choice(self.columns)}": rule} if self.random.random() < 0.3 else {}
        ours, theirs = states["ours"], states["theirs"]
        if verb == "merge" or len({"pick": theirs, "revert": ours}.get(verb, states)) == 1:
            opened: Any = self.repo.start_merge("theirs", into="ours", rules=rules, ff="never")
            return opened, Model(self.columns, rules, ours[-1], [(base, theirs[-1])], False)
        if verb == "several":
            opened = self.repo.start_merge(["theirs", "more"], into="ours", rules=rules, ff="never")
            steps = [(base, states[name][-1]) for name in ("theirs", "more")]
            steps = [(before, after) for before, after in steps if len(states["theirs"]) > 1 or after != base]
            return opened, Model(self.columns, rules, ours[-1], steps, False)
        if verb == "pick":
            opened = self.repo.start_cherry_pick("main..theirs", on="ours", rules=rules)
            model = Model(self.columns, rules, ours[-1], list(pairwise(theirs)), True)
        else:
            chosen = self.random.randrange(len(ours) - 1)
            self.log.append(f"revert ours~{chosen}")
            opened = self.repo.start_revert(self.repo.log("ours")[chosen].hash, on="ours", three_way=True, rules=rules)
            done = len(ours) - 1 - chosen
            model = Model(self.columns, rules, ours[-1], [(ours[done], ours[done - 1])], True)
        model.go_on()
        return opened, model

    # --- while it is open ---

    def _settle(self, opened: Any, model: Model, verb: str) -> None:
        for _ in range(40):
            if self.random.random() < 0.5:
                self._look(opened, model)
            if self.random.random() < 0.2:
                again = self.repo.open_sequences() if model.is_sequence else self.repo.open_merges()
                opened = again[0]
            if not model.conflicts() and not (model.settled and self.random.random() < 0.3):
                if not model.is_sequence or not model.steps:
                    return
                model.go_on()
                self._go_on(opened, model)
                if not model.steps:
                    return
                continue
            self._resolve(opened, model, verb)
        self.log.append("give the rest to ours")
        while model.conflicts():
            assert opened.resolve("t", take="ours") == model.resolve(Resolution(take="ours"))
            if model.is_sequence and not model.conflicts():
                model.go_on()
                self._go_on(opened, model)

    def _go_on(self, opened: Any, model: Model) -> None:
        """Go on to the next step with conflicts; the last step is left for the end."""
        if model.steps:
            try:
                opened.finish()
            except ab.MergeConflict:
                return
            raise AssertionError("the sequence ended before its last conflict")

    def _look(self, opened: Any, model: Model) -> None:
        if not model.is_sequence or model.steps:
            self.expect(_by_id(opened.table("t").rows()), _by_id(model.preview().values()), "preview")
        found = [(c["key"], c["kind"], c["column"]) for t in opened.conflicts.values() for c in t.rows()]
        self.expect(opened.conflicts.count(), model.count(), "count")
        self.expect(len(found), model.count(), "conflicts listed")

    def _resolve(self, opened: Any, model: Model, verb: str) -> None:
        asked = self._asked(model)
        self.log.append(f"resolve {asked}")
        count, text = model.resolve(asked), asked.sql()
        self.resolved += count
        if text and verb == "merge" and self.random.random() < 0.5:
            by_sql = lambda: self.repo.sql(text, on="ours").rows()[0]["resolved"]  # noqa: E731
        else:
            by_sql = lambda: opened.resolve("t", **asked.arguments())  # noqa: E731
        try:
            self.expect(by_sql(), count, "resolved")
        except ab.NotFound as error:
            self.expect(0, count, f"resolved ({error})")
        self.expect(opened.conflicts.count(), model.count(), "left")

    def _asked(self, model: Model) -> Resolution:
        keys = list(model.conflicts()) or [1]
        low = self.random.choice([None, None, self.random.choice(keys)])
        key = self.random.choice(keys) if self.has_key and self.random.random() < 0.4 else None
        if self.random.random() < 0.7:
            column = self.random.choice([None, None, self.random.choice(self.columns)])
            return Resolution(self.random.choice(SIDES), low, key, column)
        names = self.random.sample(self.columns, self.random.randint(1, min(2, len(self.columns))))
        kinds = (5, None, "ours", "theirs", "ours + theirs - base")
        return Resolution(None, low, key, None, {name: self.random.choice(kinds) for name in names})

    def _finish(self, opened: Any, model: Model) -> None:
        self._look(opened, model)
        expected = model.ours if model.is_sequence and not model.steps else model.preview()
        opened.finish()
        self.expect(_by_id(self.repo.table("t", at="ours").rows()), _by_id(expected.values()), "finished")
        self.expect((self.repo.open_merges(), self.repo.open_sequences()), ([], []), "open")

    def expect(self, actual: Any, expected: Any, what: str) -> None:
        if isinstance(actual, list) and isinstance(expected, list):
            common = [row for row in actual if row in expected]
            actual = [row for row in actual if row not in common]
            expected = [row for row in expected if row not in common]
        if actual != expected:
            raise AssertionError(f"{what}: {actual}, expected {expected}")


def _by_id(rows: Any) -> list[Row]:
    return sorted((dict(row) for row in rows), key=lambda row: str(row["id"]))


def play(store: str, seed: int, **options: Any) -> int:
    """Make one history in a repository of its own; return how many conflicts were resolved."""
    in_files = ab.Settings(objects=ab.ObjectSettings(inline_limit_bytes=0))
    settings = in_files if seed % 3 == 0 else ab.Settings()
    with ab.init(store, repository=f"h{seed}", author="ann", settings=settings, **options) as repo:
        history = History(repo, seed)
        try:
            history.run()
        except Exception as error:
            lines = "\n  ".join(history.log)
            raise AssertionError(f"seed {seed}:\n  {lines}\n=> {type(error).__name__}: {error}") from error
    return history.resolved


def _failures(seeds: Sequence[int]) -> Iterator[int]:
    with place() as folder:
        for seed in seeds:
            try:
                play(f"{folder}/{seed // 100}", seed, engine=("auto", "duck")[seed % 2])
            except AssertionError:
                traceback.print_exc(limit=-1)
                yield seed


if __name__ == "__main__":
    low, _, high = sys.argv[1].partition(":")
    failed = list(_failures(range(int(low), int(high))))
    print(f"{len(failed)} of {int(high) - int(low)} histories failed: {failed[:20]}")
    sys.exit(bool(failed))
