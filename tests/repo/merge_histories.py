"""Random histories of commits and merges, held against states kept whole.

By hand: `python -m tests.repo.merge_histories --seeds 0:5000 --engine duck` (or spark, or both: row for row alike).
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import anabranch as ab
from anabranch.errors import MergeConflict
from tests.repo.merge_oracle import Col, Conflict, Oracle, Rules, State, Table, Unclear, compare, without

KEYS = range(6)
VALUES: dict[str, tuple[Any, ...]] = {"int": (None, 0, 1, 2), "bigint": (None, 0, 1, 2), "string": (None, "x", "y")}
TABLES = ("t", "u")
LATER = "v"
"""A table that branches make later, each for itself."""
KEYLESS = "k"
"""A table without a key; its ids are never given twice."""


class Differs(AssertionError):
    """The repository says something else than the oracle."""


@dataclass
class History:
    """One history, made step by step in a repository and in the oracle."""

    repo: ab.Repository
    seed: int
    steps: int = 10
    log: list[str] = field(default_factory=list)
    seen: list[Any] = field(default_factory=list)
    """All that the repository answered, to compare engines by."""
    counts: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.oracle = Oracle()
        self.hashes: dict[int, str] = {}
        self.branches: dict[str, int] = {}
        self.next_column = self.next_table = 0
        self.next_id = 100

    def run(self) -> None:
        """Make the history; raises Differs at the first answer that is wrong."""
        self._start()
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
                tables[name] = self._made(tx, name)
                new = {self._new_id(k, name): self._row(tables[name]) for k in self.random.sample(KEYS, 4)}
                tables[name] = replace(tables[name], rows=new)
                tx.table(name).insert([_shown(k, row, tables[name].cols) for k, row in new.items()])
        self.branches["main"] = self._keep(tx.commit, tables, ())
        self.log.append(f"0: main {_told(tables)}")
        for branch in ("b1", "b2"):
            self._branch()
            self._commit(branch)

    def _made(self, tx: Any, name: str, *types: str) -> Table:
        described = dict(zip("abs", types or ("int", "int", "string"), strict=True))
        key = () if name == KEYLESS else ("id",)
        tx.create_table(name, schema={"id": "int", "twin": "int NOT NULL", **described}, key="id" if key else None)
        self.next_table += 1
        cols = tuple(self._column(n, type_, None) for n, type_ in described.items())
        return Table(cols, {}, key, frozenset({self.next_table}))

    def _new_id(self, wanted: int, name: str) -> int:
        if name != KEYLESS:
            return wanted
        self.next_id += 1
        return self.next_id

    def _branch(self) -> None:
        if len(self.branches) >= 4:
            return
        name = f"b{len(self.branches)}"
        at = self.random.choice(sorted(self.hashes) if self.random.random() < 0.3 else sorted(self.branches.values()))
        self.repo.branch(name, at=self.hashes[at])
        self.branches[name] = at
        self.log.append(f"branch {name} at {at}")

    def _commit(self, branch: str | None = None) -> None:
        branch = branch or self._any_branch()
        head = self.branches[branch]
        state = dict(self.oracle.states[head])
        told: list[str] = []
        with self.repo.commit(branch, "change") as tx:
            there = sorted(state)
            if LATER not in state and self.random.random() < 0.2:
                state[LATER] = self._made(tx, LATER, "int", self.random.choice(["int", "int", "bigint"]), "string")
                told.append(f"make {LATER}")
                there = [LATER]
            for name in self.random.sample(there, min(len(there), self.random.choice([1, 1, 1, 2]))):
                for _ in range(self.random.choice([1, 1, 2, 3])):
                    state[name], what = self._statement(tx.table(name), state[name])
                    told.append(f"{name}: {what}")
        self.log.append(f"{len(self.hashes)}: {branch} " + "; ".join(told))
        if tx.commit is None:
            self.log[-1] += " (nothing)"
            self._check(
                all(compare(a, state[n], [a]).is_same for n, a in self.oracle.states[head].items()), "no commit"
            )
            return
        self.branches[branch] = self._keep(tx.commit, state, (head,))
        self._check_state(self.branches[branch])

    def _optimize(self) -> None:
        at = self.random.choice(sorted(self.hashes))
        name = self.random.choice(sorted(self.oracle.states[at]))
        self.log.append(f"optimize {name} at {at}")
        self.repo.optimize(name, on=self.hashes[at])
        self._check_state(at)

    def _criss_cross(self) -> None:
        """Let two branches change, then merge each as it was into the other."""
        if len(self.branches) < 2:
            return
        one, other = self.random.sample(sorted(self.branches), 2)
        for branch in (one, other):
            self._commit(branch)
        tips = self.branches[one], self.branches[other]
        rules = self._rules()
        self._merge_into(one, [tips[1]], rules, "never")
        self._merge_into(other, [tips[0]], rules, "never")
        if self.random.random() < 0.7:
            self._commit(other)
            self._merge_into(one, [self.branches[other]], self._rules(), "auto")

    def _merge(self) -> None:
        into = self._any_branch()
        head = self.branches[into]
        known = self.oracle.ancestors
        new = [c for c in sorted(self.hashes) if c not in known[head]]
        apart = [c for c in new if head not in known[c]]
        sources = [self.random.choice(apart or new)] if new and self.random.random() < 0.9 else [head]
        if len(new) > 1 and self.random.random() < 0.3:
            sources = self.random.sample(new, min(len(new), self.random.choice([2, 2, 3])))
        self._merge_into(into, sources, self._rules(), "never" if self.random.random() < 0.3 else "auto")

    def _merge_into(self, into: str, sources: list[int], given: dict[str, str], ff: Any) -> None:
        head = self.branches[into]
        try:
            number, conflicts, chain = self._expected(head, sources, Rules(given), ff)
        except Unclear as why:
            self.counts["unclear"] += 1
            self.log.append(f"(no merge of {sources} into {into}: {why})")
            return
        self.log.append(f"{len(self.hashes)}: merge {sources} into {into} {given} ff={ff}")
        found: set[Conflict] = set()
        commit = None
        try:
            result = self.repo.merge([self.hashes[s] for s in sources], into=into, rules=given, ff=ff)
            commit = result.commit
        except MergeConflict as error:
            found = self._conflicts(error)
            self.log[-1] += " CONFLICT"
        wanted = _comparable(conflicts)
        self.seen.append(sorted(map(repr, found)))
        self._check(_comparable(found) == wanted, f"conflicts {found}, expected {conflicts}")
        self.counts["merges"] += 1
        self.counts["conflicts"] += bool(conflicts)
        if commit is None:
            return
        if number >= 0:
            self._check(commit.hash == self.hashes[number], "fast-forward to another commit")
            self.counts["forwarded"] += 1
        else:
            state = self.oracle.states[number]
            todo = [s for s in chain if s != head]
            number = self._keep(commit, state, (head, *todo))
        self.branches[into] = number
        self._check_state(number)

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
            several = len(self.oracle.bases(now, source)) > 1
            self.counts["virtual"] += several
            state, conflicts = self.oracle.merge(now, source, rules)
            if conflicts:
                return now, conflicts, []
            now = self.oracle.pass_by(state, (now, source))
        self.counts["several"] += len(todo) > 1
        return now, set(), todo

    # --- statements ---

    def _statement(self, table: Any, now: Table) -> tuple[Table, str]:
        verbs = [self._insert, self._update, self._update, self._update, self._delete, self._replace, self._upsert]
        verbs += [self._add, self._drop, self._rename, self._widen] if self.random.random() < 0.5 else []
        verbs += [self._overwrite, self._set_key] if self.random.random() < 0.15 else []
        if not now.key:
            keyed = (self._replace, self._upsert, self._overwrite, self._set_key)
            verbs = [v for v in verbs if v not in keyed]
        return self.random.choice(verbs)(table, now)

    def _insert(self, table: Any, now: Table) -> tuple[Table, str]:
        free = [k for k in KEYS if k not in now.rows]
        chosen = self.random.sample(free, min(len(free), self.random.choice([1, 1, 2])))
        new = {k if now.key else self._new_id(k, KEYLESS): self._row(now) for k in chosen}
        table.insert([_shown(k, row, now.cols) for k, row in new.items()])
        return replace(now, rows={**now.rows, **new}), f"insert {_values(now, new)}"

    def _update(self, table: Any, now: Table) -> tuple[Table, str]:
        if not now.cols:
            return self._insert(table, now)
        cols = self.random.sample(now.cols, self.random.randint(1, min(2, len(now.cols))))
        cells = {c: self._value(c) for c in cols}
        low = self._any_key(now)
        high = low if self.random.random() < 0.7 else low + 3
        given = {c.name: f"'{v}'" if isinstance(v, str) else v for c, v in cells.items()}
        table.update(given, where="id BETWEEN :l AND :h", args={"l": low, "h": high})
        new = {k: {**row, **{c.rep: v for c, v in cells.items()}} for k, row in now.rows.items() if low <= k <= high}
        told = {c.name: v for c, v in cells.items()}
        return replace(now, rows={**now.rows, **new}), f"update {low}..{high} {told}"

    def _delete(self, table: Any, now: Table) -> tuple[Table, str]:
        gone = self._any_key(now)
        table.delete(where="id = :k", args={"k": gone})
        return replace(now, rows={k: row for k, row in now.rows.items() if k != gone}), f"delete {gone}"

    def _replace(self, table: Any, now: Table) -> tuple[Table, str]:
        """Delete a row and insert it again, as it was or otherwise."""
        if not now.rows:
            return self._insert(table, now)
        k = self.random.choice(sorted(now.rows))
        row = now.rows[k] if self.random.random() < 0.3 else self._row(now)
        table.delete(where="id = :k", args={"k": k})
        table.insert([_shown(k, row, now.cols)])
        return replace(now, rows={**now.rows, k: row}), f"replace {_values(now, {k: row})}"

    def _upsert(self, table: Any, now: Table) -> tuple[Table, str]:
        new = {k: self._row(now) for k in self.random.sample(KEYS, 2)}
        table.upsert([_shown(k, row, now.cols) for k, row in new.items()])
        return replace(now, rows={**now.rows, **new}), f"upsert {_values(now, new)}"

    def _overwrite(self, table: Any, now: Table) -> tuple[Table, str]:
        new = {k: self._row(now) for k in self.random.sample(KEYS, 3)}
        table.overwrite([_shown(k, row, now.cols) for k, row in new.items()])
        return replace(now, rows=new), f"overwrite {_values(now, new)}"

    def _add(self, table: Any, now: Table) -> tuple[Table, str]:
        name = self.random.choice("abxy")
        if name in now.names() or len(now.cols) > 4:
            return self._update(table, now)
        col = self._column(name, "int", self.random.choice([None, 0]))
        table.add_column(name, "int", default=col.default)
        rows = {k: {**row, col.rep: col.default} for k, row in now.rows.items()}
        return replace(now, cols=(*now.cols, col), rows=rows), f"add {name} default {col.default}"

    def _drop(self, table: Any, now: Table) -> tuple[Table, str]:
        if len(now.cols) < 2:
            return self._update(table, now)
        col = self.random.choice(now.cols)
        table.drop_column(col.name)
        return without(now, col), f"drop {col.name}"

    def _rename(self, table: Any, now: Table) -> tuple[Table, str]:
        new = self.random.choice("abxyz")
        if new in now.names() or not now.cols:
            return self._update(table, now)
        col = self.random.choice(now.cols)
        table.rename_column(col.name, new)
        cols = tuple(replace(c, name=new) if c == col else c for c in now.cols)
        return replace(now, cols=cols), f"rename {col.name} {new}"

    def _widen(self, table: Any, now: Table) -> tuple[Table, str]:
        narrow = [c for c in now.cols if c.type == "int"]
        if not narrow:
            return self._update(table, now)
        col = self.random.choice(narrow)
        table.alter_column(col.name, type="bigint")
        cols = tuple(replace(c, type="bigint") if c == col else c for c in now.cols)
        return replace(now, cols=cols), f"widen {col.name}"

    def _set_key(self, table: Any, now: Table) -> tuple[Table, str]:
        key = self.random.choice([("id",), ("id", "twin"), ("twin",)])
        table.set_key(list(key))
        return replace(now, key=key), f"key {key}"

    # --- values ---

    def _any_branch(self) -> str:
        return self.random.choice(sorted(self.branches))

    def _rules(self) -> dict[str, str]:
        word = self.random.choice(["", "", "", "ours", "theirs", "sum", "min"])
        return {"*": word} if word else {}

    def _column(self, name: str, type_: str, default: Any) -> Col:
        self.next_column += 1
        return Col(frozenset({self.next_column}), name, type_, default)

    def _value(self, col: Col) -> Any:
        return self.random.choice(VALUES[col.type])

    def _any_key(self, now: Table) -> int:
        return self.random.choice(KEYS if now.key or not now.rows else sorted(now.rows))

    def _row(self, table: Table) -> dict[int, Any]:
        return {c.rep: self._value(c) for c in table.cols}

    def _keep(self, commit: Any, state: State, parents: Sequence[int]) -> int:
        number = self.oracle.put(len(self.hashes), state, parents)
        self.hashes[number] = commit.hash
        return number

    # --- what must hold ---

    def _check(self, holds: bool, what: str) -> None:
        if not holds:
            raise Differs(what)

    def _check_state(self, number: int) -> None:
        """The tables at a commit, with columns, types, keys and counts."""
        for name, table in self.oracle.states[number].items():
            found = self.repo.table(name, at=self.hashes[number])
            rows = sorted(found.rows(), key=lambda r: r["id"])
            self.seen.append((name, rows))
            described = {c.name: str(c.type) for c in found.schema if c.name not in ("id", "twin")}
            where = f"{name} at {number}"
            wanted = {c.name: c.type for c in table.cols}
            self._check(described == wanted, f"columns of {where}: {described}, expected {wanted}")
            self._check(tuple(found.key) == table.key, f"key of {where}: {found.key}, expected {table.key}")
            expected = [{**row, "twin": row["id"]} for row in table.seen()]
            self._check(rows == expected, f"rows of {where}: {rows}, expected {expected}")
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
                self._check(rows == wanted.rows, f"{where}: {rows}, expected {wanted.rows}")
                self.seen.append(repr(rows))
            else:
                cells = sorted(((_id(c), c["column"], c["before"], c["after"]) for c in table.cells()), key=repr)
                expected = sorted(((k if new.key else None, *cell) for k, *cell in wanted.cells), key=repr)
                self._check(cells == expected, f"{where}: {cells}, expected {expected}")
                self.seen.append(repr(cells))
            counts = table.counts()
            self._check(counts == wanted.counts, f"{where}: {counts}, expected {wanted.counts}")
            self.counts["diffs"] += 1

    def _conflicts(self, error: MergeConflict) -> set[Conflict]:
        found: set[Conflict] = set()
        conflicts: Any = error.conflicts
        for name, table in conflicts.items():
            found |= {(name, _id(row), row["column"]) for row in table.rows()}
        found |= {(c["table"], "schema", c["column"]) for c in (*conflicts.schema, *conflicts.objects)}
        return found


def _comparable(conflicts: set[Conflict]) -> set[Conflict]:
    """Conflicts as they can be compared: where columns are in doubt, rows only show how it might go on."""
    doubtful = {table for table, key, _ in conflicts if key == "schema"}
    told = {(t, None if t == KEYLESS else k, c) for t, k, c in conflicts if t not in doubtful}
    return told | {(t, "schema", None) for t in doubtful}


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


def _shown(k: int, row: Any, cols: Sequence[Col]) -> dict[str, Any]:
    return {"id": k, "twin": k, **{c.name: row[c.rep] for c in cols}}


def _values(table: Table, rows: dict[int, Any]) -> dict[int, dict[str, Any]]:
    return {k: {c.name: row[c.rep] for c in table.cols} for k, row in rows.items()}


def _told(tables: dict[str, Table]) -> dict[str, Any]:
    return {name: _values(t, dict(t.rows)) for name, t in tables.items()}


SETTINGS = (
    ab.Settings(),
    ab.Settings(fold_commit_limit=3, file_row_limit=3, rewrite_row_limit=6),
    ab.Settings(clock_depth_limit=2, fold_commit_limit=0),
    ab.Settings(inline_limit_bytes=0, fold_commit_limit=5, clock_depth_limit=3),
)


def settings_of(seed: int) -> ab.Settings:
    """Folds, checkpoints and files: mostly none, so that most histories are quick."""
    return SETTINGS[(0, 0, 1, 0, 2, 0, 1, 0, 0, 3)[seed % 10]]


@contextmanager
def place() -> Iterator[str]:
    """A folder for a store, in memory where there is such a thing."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield folder


def play(folder: str, seed: int, steps: int, **options: Any) -> History:
    """Make one history in a repository of its own; what goes wrong is raised with all that led to it."""
    name = f"h{seed}-{options.get('engine', 'auto')}"
    with ab.init(folder, repository=name, author="ann", settings=settings_of(seed), **options) as repo:
        history = History(repo, seed, steps)
        try:
            history.run()
        except Exception as error:
            lines = "\n  ".join(history.log)
            raise Differs(f"seed {seed}:\n  {lines}\n=> {type(error).__name__}: {error}") from error
        return history


def main(arguments: Sequence[str]) -> int:
    """Run many histories, tell of those that differ, and how many of what there were."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", default="0:100")
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--engine", choices=["duck", "spark", "both"], default="duck")
    parser.add_argument("--stop", type=int, default=3, help="how many failures to show")
    asked = parser.parse_args(arguments)
    low, high = (int(part) for part in asked.seeds.split(":"))
    engines = ["duck", "spark"] if asked.engine == "both" else [asked.engine]
    total: Counter[str] = Counter()
    began, failed = time.monotonic(), 0
    for first in range(low, high, 50):
        print(f"… {first}", file=sys.stderr, flush=True)
        with place() as folder:
            for seed in range(first, min(first + 50, high)):
                try:
                    made = [play(folder, seed, asked.steps, engine=e) for e in engines]
                    if any(m.seen != made[0].seen for m in made):
                        raise Differs(f"seed {seed}: engines differ")
                    total += made[0].counts
                except Differs as error:
                    failed += 1
                    print(error, flush=True)
                    cause = error.__cause__
                    if cause is not None and not isinstance(cause, Differs):
                        traceback.print_exception(cause, limit=-6)
                    if failed >= asked.stop:
                        return 1
    spent = time.monotonic() - began
    print(f"{high - low} histories on {asked.engine}, {failed} differ; {dict(total)}; {spent:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
