"""Blame: the turn in which each row, or each of its cells, was last changed, by the changes alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from sqlglot import exp

from anabranch.model.objects import Layer
from anabranch.model.schema import Column
from anabranch.model.tables import TableState
from anabranch.queries.forms import differs
from anabranch.queries.groups import INT, turn_of
from anabranch.queries.path_fold import path_events
from anabranch.queries.query import (
    INSERT,
    OP,
    TURN,
    Query,
    Rows,
    Sources,
    aliased,
    all_of,
    any_of,
    choose,
    col,
    is_null,
    joined,
    null_of,
    number,
    same_key,
    select,
    subquery,
    table,
    text,
)
from anabranch.queries.scan import Access

COLUMN = "_column"
_PLACE = "_ana_place_of"


@dataclass(frozen=True)
class Followed:
    """Changes that were only brought on, in these turns: who made them is told by turns of another path."""

    turns: tuple[int, ...]
    found: exp.Select | exp.Union | str
    """The key and the turns, as a query or by the name of a source; no turn where the change was made here."""


@dataclass(frozen=True)
class Attribution:
    """What is asked: rows, or rows and cells."""

    state: TableState
    """The table under the key that tells rows apart."""
    columns: tuple[Column, ...] = ()
    """The columns, if the turn of each cell is asked for; a cell of the key changes when the row comes."""

    @property
    def keys(self) -> list[str]:
        return [str(c.id) for c in self.state.schema.key_columns]

    @property
    def turns(self) -> list[str]:
        """The names of the turns that are told."""
        return [TURN, *(turn_of(c) for c in self.columns)]

    @property
    def cells(self) -> list[Column]:
        """The columns besides the key."""
        return [c for c in self.columns if str(c.id) not in self.keys]

    @property
    def _with_the_row(self) -> set[str]:
        return {turn_of(c) for c in self.columns if str(c.id) in self.keys}

    def last(
        self,
        layers: Sequence[Layer],
        since: Mapping[str, int],
        followed: Sequence[Followed],
        access: Access,
        sources: Sources,
        keys: str | None = None,
    ) -> exp.Select:
        """The last turn of each key and cell; `since` are turns in which columns came, by the names of their turns."""
        events = path_events(self.state, layers, self.cells, access, sources, keys)
        came = choose((exp.EQ(this=col(OP), expression=text(INSERT)), col(TURN)), otherwise=exp.Null())
        picked: list[exp.Expr] = [*(col(k) for k in self.keys)]
        for name in self.turns:
            value = came.copy() if name in self._with_the_row else col(name)
            last: exp.Expr = exp.Max(this=value)
            if name in since:
                last = exp.Greatest(this=last, expressions=[number(since[name])])
            picked.append(aliased(last, name))
        once = select(picked, subquery(events, "e"))
        once.set("group", exp.Group(expressions=[col(k) for k in self.keys]))
        return self._followed(once, followed)

    def _followed(self, once: exp.Select, followed: Sequence[Followed]) -> exp.Select:
        if not followed:
            return once
        picked: list[exp.Expr] = [col(k, "f") for k in self.keys]
        for name in self.turns:
            cases = []
            for n, way in enumerate(followed):
                here = exp.In(this=col(name, "f"), expressions=[number(t) for t in way.turns])
                known = exp.Not(this=is_null(col(name, f"w{n}")))
                cases.append((all_of([here, known]), col(name, f"w{n}")))
            picked.append(aliased(choose(*cases, otherwise=col(name, "f")), name))
        whole = select(picked, subquery(once, "f"))
        for n, way in enumerate(followed):
            source = table(way.found, f"w{n}") if isinstance(way.found, str) else subquery(way.found, f"w{n}")
            whole.append("joins", joined(source, same_key(self.keys, "f", f"w{n}"), "left"))
        return whole

    def without_decided(
        self, last: exp.Select, met: Layer, written: Sequence[Layer], access: Access, sources: Sources
    ) -> exp.Select:
        """Turns of a merge's further parent, but for what the merge decided itself: what differs from both parents.

        `met` tells what rows that met became against the further parent, `written` what the merge wrote against ours.
        """
        cells = [c for c in self.state.schema.columns if str(c.id) not in self.keys]
        decided = path_events(self.state, [met], cells, access, sources)
        wrote = Attribution(self.state, tuple(cells)).last(written, {}, (), access, sources)
        there = {c.id: exp.Not(this=is_null(col(turn_of(c), "x"))) for c in cells}
        both = [all_of([there[c.id].copy(), exp.Not(this=is_null(col(turn_of(c), "w")))]) for c in cells]
        tests: dict[str, exp.Expr] = {turn_of(c): there[c.id] for c in cells} | {TURN: any_of(both)}
        picked: list[exp.Expr] = [col(k, "l") for k in self.keys]
        for name in self.turns:
            came = exp.EQ(this=col(OP, "x"), expression=text(INSERT))
            picked.append(aliased(choose((tests.get(name, came), null_of(INT)), otherwise=col(name, "l")), name))
        found = select(picked, subquery(last, "l"))
        for source, alias in ((decided, "x"), (wrote, "w")):
            found.append("joins", joined(subquery(source, alias), same_key(self.keys, "l", alias), "left"))
        return found

    def under_new_key(
        self,
        before: Attribution,
        last: exp.Select,
        rows: Query,
        rows_before: Query,
        columns: Sequence[Column],
        same: Sequence[str],
    ) -> exp.Select:
        """Turns from before a change of the key, by the new one, of what that commit left as it was.

        `same` are the columns that tell which row was which.
        """
        new, old = self.keys, before.keys
        changed = {c.id: differs(c.type, col(c.id, "a"), col(c.id, "b")) for c in columns}
        any_changed = any_of(list(changed.values()))
        cells = {turn_of(c): c for c in self.columns}
        picked: list[exp.Expr] = [col(k, "a") for k in new]
        for name in self.turns:
            test: exp.Expr = changed[cells[name].id] if name in cells else any_changed
            picked.append(aliased(exp.Max(this=choose((test.copy(), null_of(INT)), otherwise=col(name, "l"))), name))
        found = select(picked, subquery(rows.expression, "a"))
        found.append("joins", joined(subquery(rows_before.expression, "b"), same_key(same, "a", "b"), "inner"))
        found.append("joins", joined(subquery(last, "l"), same_key(old, "b", "l"), "inner"))
        found.set("group", exp.Group(expressions=[col(k, "a") for k in new]))
        return found

    def of_rows(self, last: exp.Select, rows: exp.Select | exp.Union, names: Sequence[str]) -> exp.Select:
        """Rows that are there, with their turns."""
        picked = [*(col(n, "s") for n in names), *(col(t, "f") for t in self.turns)]
        join = joined(subquery(last, "f"), same_key(self.keys, "s", "f"), "inner")
        return select(picked, subquery(rows, "s"), join=join)

    def cell_by_cell(self, found: exp.Select, sources: Sources) -> exp.Select:
        """A row for each cell: the key, the column's name, and its turn."""
        numbers = pa.array(range(len(self.columns)), pa.int32())
        columns = pa.table({_PLACE: numbers, COLUMN: [c.name for c in self.columns]})
        cases = [
            (exp.EQ(this=col(_PLACE, "c"), expression=number(n)), col(turn_of(c), "v"))
            for n, c in enumerate(self.columns)
        ]
        picked = [
            *(col(k, "v") for k in self.keys),
            col(COLUMN, "c"),
            aliased(choose(*cases, otherwise=exp.Null()), TURN),
        ]
        picked.append(col(_PLACE, "c"))
        all_columns = joined(table(sources.add(Rows(columns)), "c"), exp.true(), "inner")
        return select(picked, subquery(found, "v"), join=all_columns)

    def with_commits(
        self, found: exp.Select, shown: Sequence[Column], commits: str, told: Sequence[str], *, ordered: bool
    ) -> exp.Select:
        """Each row or cell with its commit, under the names that users know."""
        cell = [col(COLUMN, "g")] if self.columns else []
        picked = [*(aliased(col(c.id, "g"), c.name) for c in shown), *cell, *(col(n, "n") for n in told)]
        same = exp.EQ(this=col(TURN, "g"), expression=col(TURN, "n"))
        whole = select(picked, subquery(found, "g"), join=joined(table(commits, "n"), same, "inner"))
        if ordered:
            by = [*self.keys, *([_PLACE] if self.columns else [])]
            whole.set("order", exp.Order(expressions=[exp.Ordered(this=col(n, "g"), nulls_first=True) for n in by]))
        return whole
