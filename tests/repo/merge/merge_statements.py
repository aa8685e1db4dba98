"""Statements that random histories make, each in a repository and on the state that the oracle keeps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from tests.repo.merge.merge_oracle import Col, Table, without

WIDTH = 1000
"""How many ids a lane owns; what has a key uses the first of them."""
KEY_COUNT = 6
CARDS = 3
"""How many verbs there are to a statement on many lanes."""
VALUES: dict[str, tuple[Any, ...]] = {"int": (None, 0, 1, 2), "bigint": (None, 0, 1, 2), "string": (None, "x", "y")}
KEYLESS = "k"
"""A table without a key; its ids are never given twice."""


@dataclass
class Statements:
    """Draws statements: one verb for a single lane, some of a few for each of many."""

    random: Random
    lanes: int
    tell: Callable[[str, Mapping[int, Any]], None]
    """Is told what is done, and to which ids."""

    def __post_init__(self) -> None:
        self.next_column = self.next_table = 0
        self.next_ids = Counter[int]()

    def make_table(self, tx: Any, name: str, *types: str) -> Table:
        """Make a table of the columns a, b and s."""
        described = dict(zip("abs", types or ("int", "int", "string"), strict=True))
        key = () if name == KEYLESS else ("id",)
        tx.create_table(name, schema={"id": "int", "twin": "int NOT NULL", **described}, key="id" if key else None)
        self.next_table += 1
        cols = tuple(self._column(n, type_, None) for n, type_ in described.items())
        return Table(cols, {}, key, frozenset({self.next_table}))

    def fill(self, table: Any, now: Table) -> Table:
        """Insert the first rows."""
        return self._inserted(table, now, self._draw_keys(range(self.lanes), 4))

    def make_any(self, table: Any, now: Table) -> Table:
        """Do one thing; or a few, each in half of the lanes."""
        verbs = [self._insert, *[self._update] * 3, self._delete, self._replace, self._upsert, self._patch]
        often, seldom = [self._add, self._rename, self._widen, self._comment], [self._overwrite, self._set_key]
        # Where there are many lanes, some use a column that another branch drops: no rule decides that.
        (often if self.lanes == 1 else seldom).append(self._drop)
        others = often if self.random.random() < 0.5 else []
        others += seldom if self.random.random() < 0.15 else []
        if not now.key:
            keyed = (self._replace, self._upsert, self._patch, self._overwrite, self._set_key)
            verbs, others = ([v for v in some if v not in keyed] for some in (verbs, others))
        first = self.random.choice(verbs + others)
        if self.lanes == 1:
            return first(table, now, [0])
        for verb in [first, *self.random.choices(verbs, k=CARDS - 1)]:
            now = verb(table, now, [lane for lane in range(self.lanes) if self.random.random() < 0.5])
        return now

    def _insert(self, table: Any, now: Table, lanes: Sequence[int]) -> Table:
        chosen: list[int] = []
        for lane in lanes:
            free = [k for k in self._keys(lane) if k not in now.rows]
            chosen += self.random.sample(free, min(len(free), self.random.choice([1, 1, 2])))
        return self._inserted(table, now, chosen)

    def _inserted(self, table: Any, now: Table, chosen: Iterable[int]) -> Table:
        new = {k if now.key else self._new_id(k): self._row(now) for k in chosen}
        table.insert([_shown(k, row, now.cols) for k, row in new.items()])
        self.tell(f"  {table.name}: insert", _values(now, new))
        return replace(now, rows={**now.rows, **new})

    def _update(self, table: Any, now: Table, lanes: Sequence[int]) -> Table:
        if not now.cols:
            return self._insert(table, now, lanes)
        cols = self.random.sample(now.cols, self.random.randint(1, min(2, len(now.cols))))
        cells: dict[int, dict[Col, Any]] = {}
        there = self._by_lane(now)
        for lane in lanes:
            drawn = {c: self._value(c) for c in cols}
            low = self._any_key(now, lane, there)
            cells |= dict.fromkeys(range(low, low + (1 if self.random.random() < 0.7 else 4)), drawn)
        given = {c.name: _chosen({k: drawn[c] for k, drawn in cells.items()}) for c in cols}
        table.update(given, where=_where(cells))
        new = {
            k: {**now.rows[k], **{c.rep: v for c, v in drawn.items()}} for k, drawn in cells.items() if k in now.rows
        }
        self.tell(f"  {table.name}: update", {k: {c.name: v for c, v in d.items()} for k, d in cells.items()})
        return replace(now, rows={**now.rows, **new})

    def _delete(self, table: Any, now: Table, lanes: Sequence[int]) -> Table:
        there = self._by_lane(now)
        gone = {self._any_key(now, lane, there): "" for lane in lanes}
        table.delete(where=_where(gone))
        self.tell(f"  {table.name}: delete", gone)
        return replace(now, rows={k: row for k, row in now.rows.items() if k not in gone})

    def _replace(self, table: Any, now: Table, lanes: Sequence[int]) -> Table:
        """Delete rows and insert them again, as they were or otherwise."""
        there = self._by_lane(now)
        chosen = [self.random.choice(there[lane]) for lane in lanes if there[lane]]
        new = {k: now.rows[k] if self.random.random() < 0.3 else self._row(now) for k in chosen}
        table.delete(where=_where(new))
        table.insert([_shown(k, row, now.cols) for k, row in new.items()])
        self.tell(f"  {table.name}: replace", _values(now, new))
        return replace(now, rows={**now.rows, **new})

    def _upsert(self, table: Any, now: Table, lanes: Sequence[int]) -> Table:
        new = self._rows(now, lanes, 2)
        table.upsert([_shown(k, row, now.cols) for k, row in new.items()])
        self.tell(f"  {table.name}: upsert", _values(now, new))
        return replace(now, rows={**now.rows, **new})

    def _patch(self, table: Any, now: Table, lanes: Sequence[int]) -> Table:
        """Upsert rows that say some columns only; the others stay, or are as in a new row."""
        cols = self.random.sample(now.cols, min(2, len(now.cols)))
        cells = self._rows(replace(now, cols=tuple(cols)), lanes, 2)
        table.upsert([_shown(k, row, cols) for k, row in cells.items()])
        blank = {c.rep: c.default for c in now.cols}
        new = {k: {**now.rows.get(k, blank), **drawn} for k, drawn in cells.items()}
        self.tell(f"  {table.name}: patch", _values(now, new))
        return replace(now, rows={**now.rows, **new})

    def _overwrite(self, table: Any, now: Table, _: Sequence[int]) -> Table:
        new = self._rows(now, range(self.lanes), 3)
        table.overwrite([_shown(k, row, now.cols) for k, row in new.items()])
        self.tell(f"  {table.name}: overwrite", _values(now, new))
        return replace(now, rows=new)

    def _add(self, table: Any, now: Table, lanes: Sequence[int]) -> Table:
        name = self.random.choice("abxy")
        if name in now.names() or len(now.cols) > 4:
            return self._update(table, now, lanes)
        col = self._column(name, "int", self.random.choice([None, 0]))
        table.add_column(name, "int", default=col.default)
        self.tell(f"  {table.name}: add {name} default {col.default}", {})
        rows = {k: {**row, col.rep: col.default} for k, row in now.rows.items()}
        return replace(now, cols=(*now.cols, col), rows=rows)

    def _drop(self, table: Any, now: Table, lanes: Sequence[int]) -> Table:
        if len(now.cols) < 2:
            return self._update(table, now, lanes)
        col = self.random.choice(now.cols)
        table.drop_column(col.name)
        self.tell(f"  {table.name}: drop {col.name}", {})
        return without(now, col)

    def _rename(self, table: Any, now: Table, lanes: Sequence[int]) -> Table:
        new = self.random.choice("abxyz")
        if new in now.names() or not now.cols:
            return self._update(table, now, lanes)
        col = self.random.choice(now.cols)
        table.rename_column(col.name, new)
        self.tell(f"  {table.name}: rename {col.name} {new}", {})
        return replace(now, cols=tuple(replace(c, name=new) if c == col else c for c in now.cols))

    def _widen(self, table: Any, now: Table, lanes: Sequence[int]) -> Table:
        narrow = [c for c in now.cols if c.type == "int"]
        if not narrow:
            return self._update(table, now, lanes)
        col = self.random.choice(narrow)
        table.alter_column(col.name, type="bigint")
        self.tell(f"  {table.name}: widen {col.name}", {})
        return replace(now, cols=tuple(replace(c, type="bigint") if c == col else c for c in now.cols))

    def _comment(self, table: Any, now: Table, lanes: Sequence[int]) -> Table:
        if not now.cols:
            return self._update(table, now, lanes)
        col, told = self.random.choice(now.cols), self.random.choice([None, "p", "q"])
        table.alter_column(col.name, comment=told)
        self.tell(f"  {table.name}: comment {col.name} {told}", {})
        return replace(now, cols=tuple(replace(c, comment=told) if c == col else c for c in now.cols))

    def _set_key(self, table: Any, now: Table, _: Sequence[int]) -> Table:
        key = self.random.choice([("id",), ("id", "twin"), ("twin",)])
        table.set_key(list(key))
        self.tell(f"  {table.name}: key {key}", {})
        return replace(now, key=key)

    # --- values ---

    def _column(self, name: str, type_: str, default: Any) -> Col:
        self.next_column += 1
        return Col(frozenset({self.next_column}), name, type_, default)

    def _value(self, col: Col) -> Any:
        return self.random.choice(VALUES[col.type])

    def _keys(self, lane: int) -> range:
        return range(lane * WIDTH, lane * WIDTH + KEY_COUNT)

    def _new_id(self, wanted: int) -> int:
        """An id in the lane of another one that no row ever had."""
        lane = wanted // WIDTH
        self.next_ids[lane] += 1
        return lane * WIDTH + 100 + self.next_ids[lane]

    def _by_lane(self, now: Table) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {lane: [] for lane in range(self.lanes)}
        for k in sorted(now.rows):
            found[k // WIDTH].append(k)
        return found

    def _any_key(self, now: Table, lane: int, there: Mapping[int, list[int]]) -> int:
        return self.random.choice(self._keys(lane) if now.key or not there[lane] else there[lane])

    def _draw_keys(self, lanes: Iterable[int], count: int) -> list[int]:
        return [k for lane in lanes for k in self.random.sample(self._keys(lane), count)]

    def _rows(self, table: Table, lanes: Iterable[int], count: int) -> dict[int, dict[int, Any]]:
        """New rows for some keys of each lane."""
        return {k: self._row(table) for k in self._draw_keys(lanes, count)}

    def _row(self, table: Table) -> dict[int, Any]:
        return {c.rep: self._value(c) for c in table.cols}


def _where(ids: Iterable[int]) -> str:
    """A condition that selects ids: a range, if they are one."""
    listed = sorted(ids)
    if not listed:
        return "false"
    low, high = listed[0], listed[-1]
    if len(listed) == high - low + 1:
        return f"id BETWEEN {low} AND {high}"
    return f"id IN ({', '.join(map(str, listed))})"


def _chosen(values: Mapping[int, Any]) -> Any:
    """What to set a column to: one value, or each id's."""
    ids: dict[Any, list[int]] = {}
    for k, value in values.items():
        ids.setdefault(f"'{value}'" if isinstance(value, str) else value, []).append(k)
    if len(ids) < 2:
        return next(iter(ids), None)
    cases = " ".join(f"WHEN {_where(some)} THEN {value}" for value, some in ids.items() if value is not None)
    return f"CASE {cases} END"


def _shown(k: int, row: Any, cols: Sequence[Col]) -> dict[str, Any]:
    return {"id": k, "twin": k, **{c.name: row[c.rep] for c in cols}}


def _values(table: Table, rows: dict[int, Any]) -> dict[int, dict[str, Any]]:
    return {k: {c.name: row[c.rep] for c in table.cols} for k, row in rows.items()}
