"""Folding a path: the changes between two commits become one change per key, told by the changes alone.

Unlike the fold of a view, which acts on rows that are there, it says what became of a key: it came, it went, or
some of its cells changed. A key that went and came again is told apart: only the states can say what changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from anabranch.model.objects import Layer, ObjectKind, StoredObject
from anabranch.model.schema import Column, Schema
from anabranch.model.tables import TableState
from anabranch.model.types import DataType
from anabranch.queries.initial_values import initial_value
from anabranch.queries.nested import differs, last_of
from anabranch.queries.object_groups import INT, ObjectGroup
from anabranch.queries.overlay_columns import turn_of
from anabranch.queries.query import (
    DELETE,
    INSERT,
    OP,
    SAME,
    TURN,
    UPDATE,
    Query,
    Source,
    Sources,
    aliased,
    all_of,
    any_of,
    cast_to,
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
    union_all,
)
from anabranch.queries.scan import Access, Scan

AGAIN = "R"
"""The key went and came again."""
_FIRST, _LAST, _GONE = "_ana_first", "_ana_last", "_ana_gone"
STRING = DataType("string")


@dataclass(frozen=True)
class Path:
    """A table's change from one commit to another: the layers that tell it, and the schemas at both ends."""

    layers: tuple[Layer, ...]
    before: Schema | None
    """The schema at the base; None where the table was not there."""
    state: TableState
    """The table at the end; its own layers are not read."""


def folded_path(
    path: Path, cells: Sequence[Column], access: Access, sources: Sources, keys: str | None = None
) -> Query:
    """One row per key that the path touches: what became of it, and the cells before and after, with their turns.

    Cells that nothing touched have no turn. With `keys`, only those are folded.
    """
    plan = _PathFold(path.state, tuple(cells), access, sources, keys, False)
    return Query(plan.fold(path), sources.named)


def key_events(
    state: TableState, layers: Mapping[int, Sequence[Layer]], label: str, access: Access, sources: Sources
) -> exp.Select | exp.Union:
    """The keys that layers touch, each with the number of the layers that it is from."""
    plan = _PathFold(state, (), access, sources, None, False)
    return union_all([plan.keys_of(inside, n, label) for n, inside in layers.items()])


def path_events(
    state: TableState,
    layers: Sequence[Layer],
    cells: Sequence[Column],
    access: Access,
    sources: Sources,
    keys: str | None = None,
) -> exp.Select | exp.Union:
    """What layers did to which key in which turn, one row for each; cells that it did not touch have no turn."""
    plan = _PathFold(state, tuple(cells), access, sources, keys, False)
    return plan.events(layers)


def turns_holding(state: TableState, layers: Sequence[Layer], access: Access, sources: Sources, keys: str) -> Query:
    """The turns of the layers that hold one of these keys."""
    found = select([col(TURN)], subquery(path_events(state, layers, (), access, sources, keys), "t"))
    found.set("distinct", exp.Distinct())
    return Query(found, sources.named)


def touched_keys(path: Path, access: Access, sources: Sources) -> Query:
    """The keys that a path touches, once each."""
    plan = _PathFold(path.state, (), access, sources, None, False)
    found = select([col(k) for k in plan.key_ids], subquery(plan.keys_of(path.layers, 0, "_ana_group"), "t"))
    found.set("distinct", exp.Distinct())
    return Query(found, sources.named)


def last_turns(path: Path, cells: Mapping[str, Column], row: str, access: Access, sources: Sources, keys: str) -> Query:
    """The last turn in which a path touched each of these keys, and each of the cells, under the names given."""
    plan = _PathFold(path.state, tuple(cells.values()), access, sources, keys, False)
    return Query(plan.last_turns(path.layers, cells, row), sources.named)


def labelled_keys(
    state: TableState, layers: Mapping[int, Sequence[Layer]], access: Access, sources: Sources, keys: str
) -> Query:
    """The numbers of the layers that touch one of these keys."""
    plan = _PathFold(state, (), access, sources, keys, False)
    label = "_ana_group"
    whole = union_all([plan.keys_of(inside, n, label) for n, inside in layers.items()])
    found = select([col(label)], subquery(whole, "l"))
    found.set("distinct", exp.Distinct())
    return Query(found, sources.named)


Piece = tuple[ObjectKind, tuple[Column, ...], Query]
"""A kind of object, the columns that it touches, and its rows."""


def without_keys(
    state: TableState, layer: Layer, cells: Sequence[Column], access: Access, keys: Source | None
) -> list[Piece]:
    """What an object says but for some keys, of these columns only, as objects of one kind each."""
    found: list[Piece] = []
    for op, kind in _KINDS.items():
        sources = Sources()
        plan = _PathFold(state, tuple(cells), access, sources, None, False)
        piece = plan.piece(layer, op, sources.add(keys) if keys is not None else None)
        if piece is not None:
            touched, query = piece
            found.append((kind, touched, Query(query, sources.named)))
    return found


_KINDS: Mapping[str, ObjectKind] = {INSERT: "rows", UPDATE: "update", DELETE: "delete"}


class _PathFold(Scan):
    def piece(self, layer: Layer, op: str, keys: str | None) -> tuple[tuple[Column, ...], exp.Select] | None:
        """What an object says of one kind, if it says something of that kind."""
        ((group, without),) = self._pieces([layer])
        kind = _KINDS[op]
        touched = tuple(c for c in self.columns if kind != "update" or group.touches(c))
        if group.kind not in (kind, "exceptions") or (kind == "update" and not touched):
            return None
        events = self._events(group, without)
        names: list[str] = list(self.key_ids)
        if kind != "delete":
            names += [n for c in touched for n in ((str(c.id), c.before) if kind == "update" else (str(c.id),))]
        tests: list[exp.Expr] = [exp.EQ(this=col(OP, "p"), expression=text(op))]
        if kind == "update":
            tests.append(exp.Paren(this=any_of([exp.Not(this=is_null(col(turn_of(c), "p"))) for c in touched])))
        anti = joined(table(keys, "m"), same_key(self.key_ids, "p", "m"), "left anti") if keys else None
        query = select([col(n, "p") for n in names], subquery(events, "p"), join=anti, where=all_of(tests))
        return touched, query

    def keys_of(self, layers: Sequence[Layer], label: int, name: str) -> exp.Select:
        """The keys of layers, with a label."""
        parts = [self._events(g, without) for g, without in self._pieces(layers)]
        found = union_all(parts) if parts else self._no_events()
        picked = [*(col(k) for k in self.key_ids), aliased(cast_to(number(label), INT), name)]
        return select(picked, subquery(found, "g"))

    def events(self, layers: Sequence[Layer]) -> exp.Select | exp.Union:
        parts = [self._events(g, without) for g, without in self._pieces(layers)]
        return union_all(parts) if parts else self._no_events(TURN)

    def last_turns(self, layers: Sequence[Layer], cells: Mapping[str, Column], row: str) -> exp.Select:
        parts = [self._events(g, without) for g, without in self._pieces(layers)]
        picked = [*(col(k) for k in self.key_ids), aliased(exp.Max(this=col(TURN)), row)]
        picked += [aliased(exp.Max(this=col(turn_of(c))), name) for name, c in cells.items()]
        found = select(picked, subquery(union_all(parts) if parts else self._no_events(TURN), "e"))
        found.set("group", exp.Group(expressions=[col(k) for k in self.key_ids]))
        return found

    def fold(self, path: Path) -> exp.Select:
        parts = [self._events(g, without) for g, without in self._pieces(path.layers)]
        if not parts:
            return self._no_events()
        events = union_all(parts)
        if len({x.turn for x in path.layers}) == 1 and not any(x.object.kind == "exceptions" for x in path.layers):
            return self._result(events, path, col(OP))  # A step changes a key once: there is nothing to fold.
        once = select([*(col(k) for k in self.key_ids), *self._netted()], subquery(events, "e"))
        once.set("group", exp.Group(expressions=[col(k) for k in self.key_ids]))
        return self._result(once, path, self._op())

    def _pieces(self, layers: Sequence[Layer]) -> list[tuple[ObjectGroup, tuple[StoredObject, ...]]]:
        """Groups of objects that one source can read and that have the same exceptions."""
        apart: dict[tuple[StoredObject, ...], list[Layer]] = {}
        for layer in layers:
            apart.setdefault(layer.without, []).append(layer)
        return [(g, without) for without, inside in apart.items() for g in self._groups(inside)]

    def _events(self, group: ObjectGroup, without: Sequence[StoredObject]) -> exp.Select:
        """What happened to which key in which turn."""
        turn = cast_to(col(TURN, "o") if group.has_turns else number(group.turn), INT)
        picked = [aliased(group.value(c), c.id) for c in self.key]
        picked += [aliased(_kind(group), OP), aliased(turn, TURN)]
        for c in self.columns:
            picked += self._cell_of(group, c, turn)
        query = self._limited(picked, group)
        if group.kind == "exceptions":
            query = query.where(exp.NEQ(this=col(OP, "o"), expression=text(SAME)), copy=False)
        for n, o in enumerate(without):
            query.append("joins", self._anti(group, o, f"x{n}"))
        return query

    def _anti(self, group: ObjectGroup, o: StoredObject, alias: str) -> exp.Join:
        other = self.group([Layer(0, o)])
        same = all_of([exp.EQ(this=group.value(c), expression=_at(other.value(c), alias)) for c in self.key])
        return joined(table(self.sources.add(other.source), alias), same, "left anti")

    def _cell_of(self, group: ObjectGroup, c: Column, turn: exp.Expr) -> list[exp.Alias]:
        names = (str(c.id), c.before, turn_of(c))
        if group.kind == "delete" or (group.kind == "update" and not group.touches(c)):
            return [aliased(null_of(type_), name) for name, type_ in zip(names, (c.type, c.type, INT), strict=True)]
        if group.kind == "rows":
            values: tuple[exp.Expr, ...] = (group.value(c), null_of(c.type), turn.copy())
            return [aliased(value, name) for name, value in zip(names, values, strict=True)]
        values = (group.value(c), group.before(c) if group.touches(c) else null_of(c.type), turn.copy())
        tests = [group.changes(c)] if group.touches(c) else []
        if group.kind == "exceptions":
            tests.append(exp.EQ(this=col(OP, "o"), expression=text(INSERT)))
        touched = any_of(tests)
        return [
            aliased(choose((touched.copy(), value), otherwise=exp.Null()), name)
            for name, value in zip(names, values, strict=True)
        ]

    def _netted(self) -> list[exp.Alias]:
        gone = choose((exp.EQ(this=col(OP), expression=text(DELETE)), number(1)), otherwise=number(0))
        found = [
            aliased(exp.ArgMin(this=col(OP), expression=col(TURN)), _FIRST),
            aliased(exp.ArgMax(this=col(OP), expression=col(TURN)), _LAST),
            aliased(exp.Max(this=gone), _GONE),
        ]
        for c in self.columns:
            turn = turn_of(c)
            found.append(aliased(last_of(c.type, col(c.id), col(turn)), c.id))
            found.append(aliased(exp.ArgMin(this=col(c.before), expression=col(turn)), c.before))
            found.append(aliased(exp.Max(this=col(turn)), turn))
        return found

    def _op(self) -> exp.Case:
        came = exp.EQ(this=col(_FIRST), expression=text(INSERT))
        went = exp.EQ(this=col(_LAST), expression=text(DELETE))
        again = exp.EQ(this=col(_GONE), expression=number(1))
        cases = ((all_of([came, went]), SAME), (came.copy(), INSERT), (went.copy(), DELETE), (again, AGAIN))
        return choose(*((test, text(op)) for test, op in cases), otherwise=text(UPDATE))

    def _result(self, events: exp.Select | exp.Union, path: Path, op: exp.Expr) -> exp.Select:
        """The folded keys; an update that came back to where it began is none."""
        inner = [*(col(k) for k in self.key_ids), aliased(op, OP)]
        for c in self.columns:
            before: exp.Expr = col(c.before)
            if path.before is None or path.before.written_as(c) is None:
                # What the base did not show counts as the column's initial default, whatever objects remember.
                before = choose((is_null(col(turn_of(c))), null_of(c.type)), otherwise=initial_value(c))
            inner += [col(c.id), aliased(before, c.before), col(turn_of(c))]
        changed = any_of([differs(c.type, col(c.before), col(c.id)) for c in self.columns])
        real = any_of([exp.NEQ(this=col(OP), expression=text(UPDATE)), changed])
        is_change = exp.NEQ(this=col(OP), expression=text(SAME))
        return select(
            [exp.Star()], subquery(select(inner, subquery(events, "n")), "r"), where=all_of([is_change, real])
        )

    def _no_events(self, *numbers: str) -> exp.Select:
        picked = [aliased(null_of(c.type), c.id) for c in self.key] + [aliased(null_of(STRING), OP)]
        picked += [aliased(null_of(INT), n) for n in numbers]
        for c in self.columns:
            names = ((str(c.id), c.type), (c.before, c.type), (turn_of(c), INT))
            picked += [aliased(null_of(type_), name) for name, type_ in names]
        return select([exp.Star()], subquery(select(picked), "none"), where=exp.false())


def _kind(group: ObjectGroup) -> exp.Expr:
    kinds = {"rows": INSERT, "update": UPDATE, "delete": DELETE}
    return col(OP, "o") if group.kind == "exceptions" else text(kinds[group.kind])


def _at(value: exp.Expr, alias: str) -> exp.Expr:
    """An expression over one source, read from another alias."""
    for column in value.find_all(exp.Column):
        column.set("table", exp.to_identifier(alias, quoted=True))
    return value
