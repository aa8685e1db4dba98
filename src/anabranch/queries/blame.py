"""Blame: the turn in which each row was inserted and each of its cells last changed, from the changes alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from sqlglot import exp

from anabranch.model.objects import Layer
from anabranch.model.schema import Column
from anabranch.model.tables import TableState
from anabranch.queries import query as q
from anabranch.queries.nested import differs
from anabranch.queries.object_groups import INT
from anabranch.queries.overlay_columns import turn_of
from anabranch.queries.path_fold import path_events
from anabranch.queries.query import INSERT, OP, TURN, Query, Rows, Sources
from anabranch.queries.scan import Access

COLUMN = "_column"
_PLACE, _RANK = "_ana_place_of", "_ana_rank"


@dataclass(frozen=True)
class Followed:
    """Changes that these turns only passed on: turns of another path say who made them."""

    turns: tuple[int, ...]
    found: exp.Select | exp.Union | str
    """The key and the turns, as a query or the name of a source; no turn if the change was made here."""


@dataclass(frozen=True)
class Attribution:
    """The question: when were rows inserted, and when did cells change?"""

    state: TableState
    """The table under the key that identifies rows."""
    columns: tuple[Column, ...] = ()
    """The columns whose cells are asked for; a cell of the key changes when the row is inserted."""

    @property
    def keys(self) -> list[str]:
        return [str(c.id) for c in self.state.schema.key_columns]

    @property
    def turns(self) -> list[str]:
        """The names of the turns that are shown; the row's is the one in which it was inserted."""
        return [TURN, *(turn_of(c) for c in self.columns)]

    @property
    def cells(self) -> list[Column]:
        """The columns besides the key."""
        return [c for c in self.columns if str(c.id) not in self.keys]

    @property
    def _with_the_row(self) -> set[str]:
        return {TURN, *(turn_of(c) for c in self.columns if str(c.id) in self.keys)}

    def last(
        self,
        layers: Sequence[Layer],
        since: Mapping[str, int],
        followed: Sequence[Followed],
        access: Access,
        sources: Sources,
        keys: str | None = None,
    ) -> exp.Select:
        """The last turn of each row and cell; `since` has the turns in which columns were added, by turn name."""
        events = path_events(self.state, layers, self.cells, access, sources, keys)
        came = q.choose((exp.EQ(this=q.col(OP), expression=q.text(INSERT)), q.col(TURN)), otherwise=exp.Null())
        picked: list[exp.Expr] = [*(q.col(k) for k in self.keys)]
        for name in self.turns:
            value = came.copy() if name in self._with_the_row else q.col(name)
            last: exp.Expr = exp.Max(this=value)
            if name in since:
                last = exp.Greatest(this=last, expressions=[q.number(since[name])])
            picked.append(q.aliased(last, name))
        once = q.select(picked, q.subquery(events, "e"))
        once.set("group", exp.Group(expressions=[q.col(k) for k in self.keys]))
        return self._followed(once, followed)

    def _followed(self, once: exp.Select, followed: Sequence[Followed]) -> exp.Select:
        if not followed:
            return once
        picked: list[exp.Expr] = [q.col(k, "f") for k in self.keys]
        for name in self.turns:
            cases = []
            for n, way in enumerate(followed):
                here = exp.In(this=q.col(name, "f"), expressions=[q.number(t) for t in way.turns])
                known = exp.Not(this=q.is_null(q.col(name, f"w{n}")))
                cases.append((q.all_of([here, known]), q.col(name, f"w{n}")))
            picked.append(q.aliased(q.choose(*cases, otherwise=q.col(name, "f")), name))
        whole = q.select(picked, q.subquery(once, "f"))
        for n, way in enumerate(followed):
            source = q.table(way.found, f"w{n}") if isinstance(way.found, str) else q.subquery(way.found, f"w{n}")
            whole.append("joins", q.joined(source, q.same_key(self.keys, "f", f"w{n}"), "left"))
        return whole

    def without_decided(self, last: str, met: Layer, access: Access, sources: Sources) -> exp.Select:
        """Turns of a merge's further parent, except what the merge decided itself: what differs from that parent.

        `met` holds how rows that met differ from that parent; the merge wrote them because they differ from ours.
        """
        decided = path_events(self.state, [met], self.cells, access, sources)
        tests = {turn_of(c): exp.Not(this=q.is_null(q.col(turn_of(c), "x"))) for c in self.cells}
        picked: list[exp.Expr] = [q.col(k, "l") for k in self.keys]
        for name in self.turns:
            came = exp.EQ(this=q.col(OP, "x"), expression=q.text(INSERT))
            picked.append(
                q.aliased(q.choose((tests.get(name, came), q.null_of(INT)), otherwise=q.col(name, "l")), name)
            )
        join = q.joined(q.subquery(decided, "x"), q.same_key(self.keys, "l", "x"), "left")
        return q.select(picked, q.table(last, "l"), join=join)

    def under_new_key(
        self,
        before: Attribution,
        last: exp.Select,
        rows: Query,
        rows_before: Query,
        columns: Sequence[Column],
        same: Sequence[str],
    ) -> exp.Select:
        """Turns from before a change of the key, under the new key, for what that commit left as it was.

        `same` are the columns that match rows before and after.
        """
        new, old = self.keys, before.keys
        changed = {c.id: differs(c.type, q.col(c.id, "a"), q.col(c.id, "b")) for c in columns}
        tests = {turn_of(c): changed[c.id] for c in self.columns if not {str(c.id)} <= {*new} & {*old}}
        picked: list[exp.Expr] = [q.col(k, "a") for k in new]
        for name in self.turns:
            # A row that differs from before counts as inserted by this commit, and so does its key.
            test = tests.get(name, q.any_of(list(changed.values())))
            value = q.choose((test.copy(), q.null_of(INT)), otherwise=q.col(name, "l"))
            picked.append(q.aliased(exp.Max(this=value), name))
        found = q.select(picked, q.subquery(rows.expression, "a"))
        found.append("joins", q.joined(q.subquery(rows_before.expression, "b"), q.same_key(same, "a", "b"), "inner"))
        found.append("joins", q.joined(q.subquery(last, "l"), q.same_key(old, "b", "l"), "inner"))
        found.set("group", exp.Group(expressions=[q.col(k, "a") for k in new]))
        return found

    def newest_event(self, layers: Sequence[Layer], access: Access, sources: Sources, keys: str | None) -> exp.Select:
        """The greatest turn of the layers that touched each key."""
        events = path_events(self.state, layers, (), access, sources, keys)
        found = q.select(
            [*(q.col(k) for k in self.keys), q.aliased(exp.Max(this=q.col(TURN)), TURN)], q.subquery(events, "e")
        )
        found.set("group", exp.Group(expressions=[q.col(k) for k in self.keys]))
        return found

    def newest_cell(self, last: exp.Select, ranks: Mapping[int, int], sources: Sources) -> exp.Select:
        """The greatest rank among the turns of each row, as its turn; turns without a rank are ignored."""
        pairs = pa.table({TURN: pa.array(ranks, pa.int32()), _RANK: pa.array(ranks.values(), pa.int32())})
        cells = self._one_by_one(last, self.turns, sources)
        join = q.joined(q.table(sources.add(Rows(pairs)), "r"), _same_turn("v", "r"), "inner")
        picked = [*(q.col(k, "v") for k in self.keys), q.aliased(exp.Max(this=q.col(_RANK, "r")), TURN)]
        found = q.select(picked, q.subquery(cells, "v"), join=join)
        found.set("group", exp.Group(expressions=[q.col(k, "v") for k in self.keys]))
        return found

    def instead(self, plain: exp.Select, exact: exp.Select) -> exp.Select:
        """Turns of rows: the exact ones where they are known."""
        turn = exp.Coalesce(this=q.col(TURN, "x"), expressions=[q.col(TURN, "p")])
        join = q.joined(q.subquery(exact, "x"), q.same_key(self.keys, "p", "x"), "left")
        return q.select([*(q.col(k, "p") for k in self.keys), q.aliased(turn, TURN)], q.subquery(plain, "p"), join=join)

    def of_rows(
        self, last: exp.Select, rows: exp.Select | exp.Union, names: Sequence[str], turns: Sequence[str]
    ) -> exp.Select:
        """The rows with their turns."""
        picked = [*(q.col(n, "s") for n in names), *(q.col(t, "f") for t in turns)]
        join = q.joined(q.subquery(last, "f"), q.same_key(self.keys, "s", "f"), "inner")
        return q.select(picked, q.subquery(rows, "s"), join=join)

    def cell_by_cell(self, found: exp.Select, sources: Sources) -> exp.Select:
        """A row for each cell: the key, the column's place and name, and its turn."""
        places = pa.array(range(len(self.columns)), pa.int32())
        names = pa.table({_PLACE: places, COLUMN: [c.name for c in self.columns]})
        cells = self._one_by_one(found, [turn_of(c) for c in self.columns], sources)
        same = exp.EQ(this=q.col(_PLACE, "v"), expression=q.col(_PLACE, "c"))
        picked = [*(q.col(k, "v") for k in self.keys), q.col(COLUMN, "c"), q.col(TURN, "v"), q.col(_PLACE, "c")]
        return q.select(
            picked, q.subquery(cells, "v"), join=q.joined(q.table(sources.add(Rows(names)), "c"), same, "inner")
        )

    def _one_by_one(self, found: exp.Select, turns: Sequence[str], sources: Sources) -> exp.Select:
        """A row for each of the turns of a row: the key, its place, and the turn."""
        places = pa.table({_PLACE: pa.array(range(len(turns)), pa.int32())})
        cases = [
            (exp.EQ(this=q.col(_PLACE, "n"), expression=q.number(n)), q.col(name, "w")) for n, name in enumerate(turns)
        ]
        turn = q.aliased(q.choose(*cases, otherwise=exp.Null()), TURN)
        every = q.joined(q.table(sources.add(Rows(places)), "n"), exp.true(), "inner")
        return q.select(
            [*(q.col(k, "w") for k in self.keys), turn, q.col(_PLACE, "n")], q.subquery(found, "w"), join=every
        )

    def with_commits(
        self, found: exp.Select, shown: Sequence[Column], commits: str, described: Sequence[str], *, ordered: bool
    ) -> exp.Select:
        """Each row or cell with its commit, under users' names."""
        cell = [q.col(COLUMN, "g")] if self.columns else []
        picked = [*(q.aliased(q.col(c.id, "g"), c.name) for c in shown), *cell, *(q.col(n, "n") for n in described)]
        whole = q.select(
            picked, q.subquery(found, "g"), join=q.joined(q.table(commits, "n"), _same_turn("g", "n"), "inner")
        )
        if ordered:
            by = [*self.keys, *([_PLACE] if self.columns else [])]
            whole.set("order", exp.Order(expressions=[exp.Ordered(this=q.col(n, "g"), nulls_first=True) for n in by]))
        return whole


def _same_turn(one: str, other: str) -> exp.EQ:
    return exp.EQ(this=q.col(TURN, one), expression=q.col(TURN, other))
