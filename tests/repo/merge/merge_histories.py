"""Random histories of commits and merges, held against states kept whole.

One graph of commits can carry many histories of rows, its lanes: each has keys of its own, and draws what happens to
its rows for itself. Branches, merges and changes of columns are shared; statements act on all lanes at once.

By hand: `python -m tests.repo.merge.merge_histories --seeds 0:5000 --engine duck` (or spark, or both:
row for row alike), `python -m tests.repo.merge.merge_histories --lanes 300 --seeds 0:20 --steps 2 --engine both`.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import anabranch as ab
from anabranch.errors import MergeConflict
from tests.connect import LOCAL, QUICK
from tests.repo.merge.merge_oracle import Conflict, Oracle, Rules, State, Unclear, compare
from tests.repo.merge.merge_statements import KEYLESS, WIDTH, Statements

TABLES = ("t", "u")
LATER = "v"
"""A table that branches make later, each for itself."""


class Differs(AssertionError):
    """The repository says something else than the oracle."""

    def __init__(self, what: str, lane: int | None = None) -> None:
        super().__init__(what)
        self.lane = lane


@dataclass(frozen=True)
class Line:
    """A line of the log: what was done, and to which ids."""

    what: str
    rows: Mapping[int, Any]

    def told(self, lane: int | None) -> str:
        """The line, with what it did in one lane."""
        rows = {k: v for k, v in self.rows.items() if lane == k // WIDTH}
        return f"{self.what} {rows or ''}".rstrip()


@dataclass
class History:
    """One history, or one for each lane, made step by step in a repository and in the oracle."""

    repo: ab.Repository
    seed: int
    steps: int = 10
    lanes: int = 1
    log: list[Line] = field(default_factory=list)
    seen: list[Any] = field(default_factory=list)
    """All that the repository answered, to compare engines by."""
    counts: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.oracle = Oracle()
        self.hashes: dict[int, str] = {}
        self.branches: dict[str, int] = {}
        self.statements = Statements(self.random, self.lanes, self._tell)
        self.counts["lanes"] = self.lanes

    def run(self) -> None:
        """Make the history; raises Differs at the first answer that is wrong."""
        self._start()
        if self.lanes > 1:  # there are few such graphs, so what they must have is not left to chance
            self._criss_cross()
            self._check_diff(*self.random.sample(sorted(self.branches.values()), 2))
        verbs: list[tuple[Callable[[], None], int]] = [
            (self._branch, 1),
            (self._commit, 10),
            (self._merge, 9),
            (self._criss_cross, 2),
            (self._optimize, 1),
        ]
        chosen = [verb for verb, weight in verbs for _ in range(weight)]
        for _ in range(self.steps):
            self.random.choice(chosen)()
            if self.random.random() < 0.4:
                self._check_diff(*self.random.choices(sorted(self.hashes), k=2))
        for number in self.random.sample(sorted(self.hashes), min(3, len(self.hashes))):
            self._check_state(number)

    # --- verbs ---

    def _start(self) -> None:
        tables = {}
        with self.repo.commit("main", "make") as tx:
            for name in (*TABLES, KEYLESS):
                made = self.statements.make_table(tx, name)
                tables[name] = self.statements.fill(tx.table(name), made)
        self.branches["main"] = self._keep(tx.commit, tables, ())
        for branch in ("b1", "b2"):
            self._branch()
            self._commit(branch)

    def _branch(self) -> None:
        if len(self.branches) >= 4:
            return
        name = f"b{len(self.branches)}"
        at = self.random.choice(sorted(self.hashes) if self.random.random() < 0.3 else sorted(self.branches.values()))
        self.repo.branch(name, at=self.hashes[at])
        self.branches[name] = at
        self._tell(f"branch {name} at {at}")

    def _commit(self, branch: str | None = None, table: str | None = None) -> None:
        branch = branch or self._any_branch()
        head = self.branches[branch]
        state = dict(self.oracle.states[head])
        self._tell(f"{len(self.hashes)}: {branch}")
        with self.repo.commit(branch, "change") as tx:
            there = sorted(state)
            if LATER not in state and table is None and self.random.random() < 0.2:
                kind = self.random.choice(["int", "int", "bigint"])
                state[LATER] = self.statements.make_table(tx, LATER, "int", kind, "string")
                there = [LATER]
            count = min(len(there), self.random.choice([1, 1, 1, 2]))
            touched = [table] if table else self.random.sample(there, count)
            for name in touched:
                for _ in range(self.random.choice([1, 1, 2, 3]) if self.lanes == 1 else 1):
                    state[name] = self.statements.make_any(tx.table(name), state[name])
        if tx.commit is None:
            self._tell("(nothing)")
            self._check(
                all(compare(a, state[n], [a]).is_same for n, a in self.oracle.states[head].items()), "no commit"
            )
            return
        self.branches[branch] = self._keep(tx.commit, state, (head,))
        self._check_state(self.branches[branch], touched)

    def _optimize(self) -> None:
        at = self.random.choice(sorted(self.hashes))
        name = self.random.choice(sorted(self.oracle.states[at]))
        self._tell(f"optimize {name} at {at}")
        self.repo.optimize(name, on=self.hashes[at])
        self._check_state(at, [name])

    def _criss_cross(self) -> None:
        """Let two branches change one table, then merge each as it was into the other."""
        if len(self.branches) < 2:
            return
        one, other = self.random.sample(sorted(self.branches), 2)
        shared = self.random.choice((*TABLES, KEYLESS))
        self.counts["keyless"] += shared == KEYLESS
        for branch in (one, other):
            self._commit(branch, shared)
        tips = self.branches[one], self.branches[other]
        rules = self._rules(tips[0])
        self._merge_into(one, [tips[1]], rules, "never")
        self._merge_into(other, [tips[0]], rules, "never")
        if self.lanes > 1 or self.random.random() < 0.7:
            self._commit(other, shared)
            self._merge_into(one, [self.branches[other]], self._rules(self.branches[one]), "auto")

    def _merge(self) -> None:
        into = self._any_branch()
        head = self.branches[into]
        known = self.oracle.ancestors
        new = [c for c in sorted(self.hashes) if c not in known[head]]
        apart = [c for c in new if head not in known[c]]
        sources = [self.random.choice(apart or new)] if new and self.random.random() < 0.9 else [head]
        if len(new) > 1 and self.random.random() < 0.3:
            sources = self.random.sample(new, min(len(new), self.random.choice([2, 2, 3])))
        self._merge_into(into, sources, self._rules(head), "never" if self.random.random() < 0.3 else "auto")

    def _merge_into(self, into: str, sources: list[int], rules: dict[str, str], ff: Any) -> None:
        """Merge by the rules; of many lanes some conflict for sure, so first look at all that do."""
        for given in [rules] if self.lanes == 1 else [{}, rules]:
            if self._merged(into, sources, given, ff):
                return

    def _merged(self, into: str, sources: list[int], given: dict[str, str], ff: Any) -> bool:
        """Try a merge; whether the branch has it now."""
        head = self.branches[into]
        try:
            number, conflicts, chain = self._expected(head, sources, Rules(given), ff)
        except Unclear as why:
            self.counts["unclear"] += 1
            self._tell(f"(no merge of {sources} into {into}: {why})")
            return False
        self._tell(f"{len(self.hashes)}: merge {sources} into {into} {given} ff={ff}")
        found: list[Conflict] = []
        commit = None
        try:
            result = self.repo.merge([self.hashes[s] for s in sources], into=into, rules=given, ff=ff)
            commit = result.commit
        except MergeConflict as error:
            found = self._conflicts(error)
            self._tell("CONFLICT")
        self._check_alike("conflicts", _comparable(found), _comparable(conflicts))
        self.counts["merges"] += 1
        self.counts["conflicts"] += bool(conflicts)
        if commit is None:
            return False
        if number >= 0:
            self._check(commit.hash == self.hashes[number], "fast-forward to another commit")
            self.counts["forwarded"] += 1
        else:
            self._count_sides(head, chain)
            number = self._keep(commit, self.oracle.states[number], (head, *chain))
        self.branches[into] = number
        self._check_state(number)
        return True

    def _count_sides(self, head: int, sources: list[int]) -> None:
        """Count merges in which both sides went on, and those of them in which columns did."""
        states = self.oracle.states
        for source in sources:
            bases = self.oracle.bases(head, source)
            if source not in bases and head not in bases:
                both = states[head].keys() & states[source].keys()
                self.counts["two-sided"] += 1
                self.counts["columns"] += any(states[head][n].cols != states[source][n].cols for n in both)
                self.counts["virtual"] += len(bases) > 1

    def _expected(self, head: int, sources: list[int], rules: Rules, ff: str) -> tuple[int, set[Conflict], list[int]]:
        """What a merge should come to: a commit that is there, or a state that passes by, and the parents."""
        ancestors = self.oracle.ancestors
        todo = [s for s in dict.fromkeys(sources) if s not in ancestors[head]]
        todo = [s for s in todo if not any(s != x and s in ancestors[x] for x in todo)]
        if not todo:
            return head, set(), []
        if len(todo) == 1 and head in ancestors[todo[0]] and ff == "auto":
            return todo[0], set(), []
        now = head
        for source in todo:
            state, conflicts = self.oracle.merge(now, source, rules)
            if conflicts:
                return now, conflicts, []
            now = self.oracle.pass_by(state, (now, source))
        self.counts["several"] += len(todo) > 1
        return now, set(), todo

    # --- values ---

    def _any_branch(self) -> str:
        return self.random.choice(sorted(self.branches))

    def _rules(self, head: int) -> dict[str, str]:
        """Rules for a merge; for many lanes such that decide about every row."""
        if self.lanes == 1:
            word = self.random.choice(["", "", "", "ours", "theirs", "sum", "min"])
            return {"*": word} if word else {}
        rules = {"*": self.random.choice(["ours", "theirs"])}
        table, state = self.random.choice(sorted(self.oracle.states[head].items(), key=lambda item: item[0]))
        numbers = [c.name for c in state.cols if c.name not in self._texts(table)]
        return rules | {f"{table}.{n}": self.random.choice(["sum", "min"]) for n in numbers[:1]}

    def _texts(self, table: str) -> set[str]:
        """The names that a column of text has anywhere."""
        there = [state[table] for state in self.oracle.states.values() if table in state]
        return {c.name for t in there for c in t.cols if c.type == "string"}

    def _keep(self, commit: Any, state: State, parents: Sequence[int]) -> int:
        number = self.oracle.put(len(self.hashes), state, parents)
        self.hashes[number] = commit.hash
        return number

    def _tell(self, what: str, rows: Mapping[int, Any] | None = None) -> None:
        self.log.append(Line(what, rows or {}))
        self.counts.update(what.split()[1:2] if rows else ())

    # --- what must hold ---

    def _check(self, holds: bool, what: str) -> None:
        if not holds:
            raise Differs(what)

    def _check_alike(self, where: str, found: list[Any], expected: list[Any]) -> None:
        """Tell the first of what is wrong, and in which lane it is."""
        if found != expected:
            wrong, missing = ([x for x in some if x not in others] for some, others in _both_ways(found, expected))
            what = f"{where}: {wrong[:3]}, expected {missing[:3]}, {len(wrong)} and {len(missing)} in all"
            raise Differs(what, next((_lane_of(x) for x in wrong + missing), None))

    def _check_state(self, number: int, names: Iterable[str] = ()) -> None:
        """Tables at a commit, or all, with columns, types, keys and counts."""
        for name in names or self.oracle.states[number]:
            table = self.oracle.states[number][name]
            found = self.repo.table(name, at=self.hashes[number])
            rows = sorted(found.rows(), key=lambda r: r["id"])
            self.seen.append((name, rows))
            described = {c.name: (str(c.type), c.comment) for c in found.schema if c.name not in ("id", "twin")}
            where = f"{name} at {number}"
            wanted = {c.name: (c.type, c.comment) for c in table.cols}
            self._check(described == wanted, f"columns of {where}: {described}, expected {wanted}")
            self._check(tuple(found.key) == table.key, f"key of {where}: {found.key}, expected {table.key}")
            expected = [{**row, "twin": row["id"]} for row in table.seen()]
            self._check_alike(f"rows of {where}", rows, expected)
            self._check(found.count() == len(expected), f"count of {where}: {found.count()}")

    def _check_diff(self, one: int, other: int) -> None:
        if other in self.oracle.ancestors[one] or one in self.oracle.ancestors[other]:
            bases = [min(one, other)]
        else:
            bases = self.oracle.bases(one, other)
        found = self.repo.diff(self.hashes[one], self.hashes[other])
        for name in sorted(self.oracle.states[one].keys() & self.oracle.states[other].keys()):
            old, new = self.oracle.states[one][name], self.oracle.states[other][name]
            if not old.ids & new.ids:
                continue
            try:
                wanted = compare(old, new, [self.oracle.states[b].get(name) for b in bases])
            except Unclear:
                continue
            where = f"diff {one}..{other} of {name}"
            self._check((name in found) != wanted.is_same, f"{where}: is there: {name in found}")
            table = found[name]
            if self.random.random() < 0.5:
                rows = _plain(table.rows())
                self._check_alike(where, rows, wanted.rows)
                self.seen.append(rows)
            else:
                cells = sorted(((_id(c), c["column"], c["before"], c["after"]) for c in table.cells()), key=repr)
                expected = sorted(((k if new.key else None, *cell) for k, *cell in wanted.cells), key=repr)
                self._check_alike(where, cells, expected)
                self.seen.append(cells)
            counts = table.counts()
            self._check(counts == wanted.counts, f"{where}: {counts}, expected {wanted.counts}")
            self.counts["diffs"] += 1

    def _conflicts(self, error: MergeConflict) -> list[Conflict]:
        found: list[Conflict] = []
        conflicts: Any = error.conflicts
        for name, table in conflicts.items():
            rows = table.rows()
            self.seen.append((name, sorted(map(repr, rows))))
            found += [(name, _id(row), row["column"]) for row in rows]
        found += [(c["table"], "schema", c["column"]) for c in (*conflicts.schema, *conflicts.objects)]
        return found


def _comparable(conflicts: Iterable[Conflict]) -> list[Conflict]:
    """Conflicts as they can be compared: where columns are in doubt, rows only show how it might go on."""
    listed = list(conflicts)
    doubtful = {table for table, key, _ in listed if key == "schema"}
    told: list[Conflict] = [(t, None if t == KEYLESS else k, c) for t, k, c in listed if t not in doubtful]
    return sorted([*told, *((t, "schema", None) for t in doubtful)], key=repr)


def _both_ways(one: list[Any], other: list[Any]) -> tuple[tuple[list[Any], list[Any]], ...]:
    return (one, other), (other, one)


def _lane_of(told: Any) -> int | None:
    """The lane of a row, a cell or a conflict."""
    parts = [told.get("id")] if isinstance(told, dict) else told[:2]
    return next((p // WIDTH for p in parts if isinstance(p, int)), None)


def _id(told: dict[str, Any]) -> Any:
    """The id of a change or conflict; of a table without a key, only whole rows have it."""
    row = told["key"] or (told["after"] or told["before"] if isinstance(told.get("columns"), list) else {})
    return row.get("id", row.get("twin"))


def _plain(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of a diff as the oracle tells them."""

    def side(row: dict[str, Any] | None) -> dict[str, Any] | None:
        return None if row is None else {n: v for n, v in row.items() if n not in ("id", "twin")}

    plain = [
        {
            "change": r["change"],
            "id": _id(r),
            "before": side(r["before"]),
            "after": side(r["after"]),
            "columns": sorted(r["columns"]),
        }
        for r in rows
    ]
    return sorted(plain, key=lambda r: r["id"])


SETTINGS = (
    ab.Settings(),
    ab.Settings(
        objects=ab.ObjectSettings(file_row_limit=3), folding=ab.FoldingSettings(commit_limit=3, rewrite_row_limit=6)
    ),
    ab.Settings(folding=ab.FoldingSettings(clock_depth_limit=2, commit_limit=0)),
    ab.Settings(
        objects=ab.ObjectSettings(inline_limit_bytes=0), folding=ab.FoldingSettings(commit_limit=5, clock_depth_limit=3)
    ),
)


def settings_of(seed: int, lanes: int) -> ab.Settings:
    """Folds, checkpoints and files: mostly none, so that most histories are quick."""
    found = SETTINGS[(0, 0, 1, 0, 2, 0, 1, 0, 0, 3)[seed % 10]]
    objects = replace(found.objects, file_row_limit=found.objects.file_row_limit * lanes)
    folding = replace(found.folding, rewrite_row_limit=found.folding.rewrite_row_limit * lanes)
    return replace(found, objects=objects, folding=folding)


@contextmanager
def place() -> Iterator[str]:
    """A folder for a store, in memory where there is such a thing."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield folder


def play(folder: str, seed: int, steps: int, lanes: int = 1, **options: Any) -> History:
    """Make one history in a repository of its own; what goes wrong is raised with all that led to it."""
    name = f"h{seed}-{lanes}-{options.get('engine', 'auto')}"
    settings = settings_of(seed, lanes)
    with ab.init(folder, repository=name, author="ann", settings=settings, **options) as repo:
        history = History(repo, seed, steps, lanes)
        try:
            history.run()
        except Exception as error:
            lane = 0 if lanes == 1 else getattr(error, "lane", None)
            lines = "\n  ".join(line.told(lane) for line in history.log)
            raise Differs(f"seed {seed}, lane {lane}:\n  {lines}\n=> {type(error).__name__}: {error}") from error
        return history


def play_on_both(folder: str, seed: int, steps: int, lanes: int = 1, spark: Any = None) -> Counter[str]:
    """Make one history on each engine; their answers are the same. Returns what there was."""
    one = play(folder, seed, steps, lanes, engine="duck")
    other = play(folder, seed, steps, lanes, engine="spark", spark=spark)
    for place, (a, b) in enumerate(zip(one.seen, other.seen, strict=True)):
        if a != b:
            raise Differs(f"seed {seed}: engines differ in answer {place}: {a}, {b}")
    return one.counts


def _session() -> Any:
    from pyspark.sql import SparkSession

    return SparkSession.builder.master("local[2]").config(map=LOCAL | QUICK).getOrCreate()


def main(arguments: Sequence[str]) -> int:
    """Run many histories, tell of those that differ, and how many of what there were."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", default="0:100")
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--lanes", type=int, default=1)
    parser.add_argument("--engine", choices=["duck", "spark", "both"], default="duck")
    parser.add_argument("--stop", type=int, default=3, help="how many failures to show")
    asked = parser.parse_args(arguments)
    spark = None if asked.engine == "duck" else _session()
    low, high = (int(part) for part in asked.seeds.split(":"))
    total: Counter[str] = Counter()
    began, failed = time.monotonic(), 0
    for first in range(low, high, 50):
        print(f"… {first}", file=sys.stderr, flush=True)
        with place() as folder:
            for seed in range(first, min(first + 50, high)):
                try:
                    if asked.engine == "both":
                        total += play_on_both(folder, seed, asked.steps, asked.lanes, spark)
                    else:
                        made = play(folder, seed, asked.steps, asked.lanes, engine=asked.engine, spark=spark)
                        total += made.counts
                except Differs as error:
                    failed += 1
                    print(error, flush=True)
                    cause = error.__cause__
                    if cause is not None and not isinstance(cause, Differs):
                        traceback.print_exception(cause, limit=-6)
                    if failed >= asked.stop:
                        return 1
    spent = time.monotonic() - began
    print(f"{(high - low) * asked.lanes} histories on {asked.engine}, {failed} differ; {dict(total)}; {spent:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
