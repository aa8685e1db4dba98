"""Fold a path: the changes between two commits become one change per key, found from the changes alone.

Unlike the fold of a view, which acts on existing rows, it says what happened to a key: it was inserted, deleted, or
some of its cells changed. A key that was deleted and inserted again is marked: only the states show what changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from anabranch.model.objects import Layer, ObjectKind, StoredObject
from anabranch.model.schema import Column, Schema
from anabranch.model.tables import TableState
from anabranch.model.types import DataType
from anabranch.queries import query as q
from anabranch.queries.initial_values import initial_value
from anabranch.queries.nested import differs, last_of
from anabranch.queries.object_groups import INT, ObjectGroup
from anabranch.queries.overlay_columns import turn_of
from anabranch.queries.query import DELETE, INSERT, OP, SAME, TURN, UPDATE, Query, Source, Sources
from anabranch.queries.scan import Access, Scan

AGAIN = "R"
"""The key was deleted and inserted again."""
_FIRST, _LAST, _GONE = "_ana_first", "_ana_last", "_ana_gone"
STRING = DataType("string")


@dataclass(frozen=True)
class Path:
    """A table's change from one commit to another: the layers that hold it, and the schemas at both ends."""

    layers: tuple[Layer, ...]
    before: Schema | None
    """The schema at the base; None if the table was not there."""
    state: TableState
    """The table at the end; its own layers are not read."""


def folded_path(path: Path, cells: Sequence[Column], access: Access, sources: Sources) -> Query:
    """One row per key that the path touches: what happened to it, and the cells before and after, with their turns.

    Cells that nothing touched have no turn.
    """
    plan = _PathFold(path.state, tuple(cells), access, sources, None, False)
    return Query(plan.fold(path), sources.named)


def key_events(
    state: TableState, layers: Mapping[int, Sequence[Layer]], label: str, access: Access, sources: Sources
) -> exp.Select | exp.Union:
    """The keys that layers touch, each with the number of the layers it comes from."""
    plan = _PathFold(state, (), access, sources, None, False)
    return q.union_all([plan.keys_of(inside, n, label) for n, inside in layers.items()])


def path_events(
    state: TableState,
    layers: Sequence[Layer],
    cells: Sequence[Column],
    access: Access,
    sources: Sources,
    keys: str | None = None,
) -> exp.Select | exp.Union:
    """What layers did to which key in which turn, one row for each; untouched cells have no turn."""
    plan = _PathFold(state, tuple(cells), access, sources, keys, False)
    return plan.events(layers)


def turns_holding(state: TableState, layers: Sequence[Layer], access: Access, sources: Sources, keys: str) -> Query:
    """The turns of the layers that hold one of these keys."""
    found = q.select([q.col(TURN)], q.subquery(path_events(state, layers, (), access, sources, keys), "t"))
    found.set("distinct", exp.Distinct())
    return Query(found, sources.named)


def touched_keys(path: Path, access: Access, sources: Sources) -> Query:
    """The keys that a path touches, once each."""
    plan = _PathFold(path.state, (), access, sources, None, False)
    found = q.select([q.col(k) for k in plan.key_ids], q.subquery(plan.keys_of(path.layers, 0, "_ana_group"), "t"))
    found.set("distinct", exp.Distinct())
    return Query(found, sources.named)


def last_turns(path: Path, cells: Mapping[str, Column], row: str, access: Access, sources: Sources, keys: str) -> Query:
    """The last turn in which a path touched each of these keys, and each of the cells, under the names given."""
    plan = _PathFold(path.state, tuple(cells.values()), access, sources, keys, False)
    return Query(plan.last_turns(path.layers, cells, row), sources.named)


def labelled_keys(
    state: TableState, layers: Mapping[int, Sequence[Layer]], access: Access, sources: Sources, keys: str
) -> Query:
    """The numbers of the layers that touch one of these keys, and how many each touches."""
    plan = _PathFold(state, (), access, sources, keys, False)
    label = "_ana_group"
    whole = q.union_all([plan.keys_of(inside, n, label) for n, inside in layers.items()])
    found = q.select([q.col(label), q.aliased(exp.Count(this=exp.Star()), "n")], q.subquery(whole, "l"))
    found.set("group", exp.Group(expressions=[q.col(label)]))
    return Query(found, sources.named)


Piece = tuple[ObjectKind, tuple[Column, ...], Query]
"""A kind of object, the columns that it touches, and its rows."""


def without_keys(
    state: TableState, layer: Layer, cells: Sequence[Column], access: Access, keys: Source | None
) -> list[Piece]:
    """What an object says about these columns, except at some keys, split by kind."""
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
        """The part of an object of one kind, if it has any."""
        ((group, without),) = self._pieces([layer])
        kind = _KINDS[op]
        touched = tuple(c for c in self.columns if kind != "update" or group.touches(c))
        if group.kind not in (kind, "exceptions") or (kind == "update" and not touched):
            return None
        events = self._events(group, without)
        names: list[str] = list(self.key_ids)
        if kind != "delete":
            names += [n for c in touched for n in ((str(c.id), c.before) if kind == "update" else (str(c.id),))]
        tests: list[exp.Expr] = [exp.EQ(this=q.col(OP, "p"), expression=q.text(op))]
        if kind == "update":
            tests.append(exp.Paren(this=q.any_of([exp.Not(this=q.is_null(q.col(turn_of(c), "p"))) for c in touched])))
        anti = q.joined(q.table(keys, "m"), q.same_key(self.key_ids, "p", "m"), "left anti") if keys else None
        query = q.select([q.col(n, "p") for n in names], q.subquery(events, "p"), join=anti, where=q.all_of(tests))
        return touched, query

    def keys_of(self, layers: Sequence[Layer], label: int, name: str) -> exp.Select:
        """The keys of layers, with a label."""
        parts = [self._events(g, without) for g, without in self._pieces(layers)]
        found = q.union_all(parts) if parts else self._no_events()
        picked = [*(q.col(k) for k in self.key_ids), q.aliased(q.cast_to(q.number(label), INT), name)]
        return q.select(picked, q.subquery(found, "g"))

    def events(self, layers: Sequence[Layer]) -> exp.Select | exp.Union:
        parts = [self._events(g, without) for g, without in self._pieces(layers)]
        return q.union_all(parts) if parts else self._no_events(TURN)

    def last_turns(self, layers: Sequence[Layer], cells: Mapping[str, Column], row: str) -> exp.Select:
        parts = [self._events(g, without) for g, without in self._pieces(layers)]
        picked = [*(q.col(k) for k in self.key_ids), q.aliased(exp.Max(this=q.col(TURN)), row)]
        picked += [q.aliased(exp.Max(this=q.col(turn_of(c))), name) for name, c in cells.items()]
        found = q.select(picked, q.subquery(q.union_all(parts) if parts else self._no_events(TURN), "e"))
        found.set("group", exp.Group(expressions=[q.col(k) for k in self.key_ids]))
        return found

    def fold(self, path: Path) -> exp.Select:
        parts = [self._events(g, without) for g, without in self._pieces(path.layers)]
        if not parts:
            return self._no_events()
        events = q.union_all(parts)
        if len({x.turn for x in path.layers}) == 1 and not any(x.object.kind == "exceptions" for x in path.layers):
            return self._result(events, path, q.col(OP))  # A step changes a key once: nothing to fold.
        once = q.select([*(q.col(k) for k in self.key_ids), *self._netted()], q.subquery(events, "e"))
        once.set("group", exp.Group(expressions=[q.col(k) for k in self.key_ids]))
        return self._result(once, path, self._op())

    def _pieces(self, layers: Sequence[Layer]) -> list[tuple[ObjectGroup, tuple[StoredObject, ...]]]:
        """Groups of objects that one source can read and that have the same exceptions."""
        apart: dict[tuple[StoredObject, ...], list[Layer]] = {}
        for layer in layers:
            apart.setdefault(layer.without, []).append(layer)
        return [(g, without) for without, inside in apart.items() for g in self._groups(inside)]

    def _events(self, group: ObjectGroup, without: Sequence[StoredObject]) -> exp.Select:
        """What happened to which key in which turn."""
        turn = q.cast_to(q.col(TURN, "o") if group.has_turns else q.number(group.turn), INT)
        picked = [q.aliased(group.value(c), c.id) for c in self.key]
        picked += [q.aliased(_kind(group), OP), q.aliased(turn, TURN)]
        for c in self.columns:
            picked += self._cell_of(group, c, turn)
        query = self._limited(picked, group)
        if group.kind == "exceptions":
            query = query.where(exp.NEQ(this=q.col(OP, "o"), expression=q.text(SAME)), copy=False)
        for n, o in enumerate(without):
            query.append("joins", self._anti(group, o, f"x{n}"))
        return query

    def _anti(self, group: ObjectGroup, o: StoredObject, alias: str) -> exp.Join:
        other = self.group([Layer(0, o)])
        same = q.all_of([exp.EQ(this=group.value(c), expression=_at(other.value(c), alias)) for c in self.key])
        return q.joined(q.table(self.sources.add(other.source), alias), same, "left anti")

    def _cell_of(self, group: ObjectGroup, c: Column, turn: exp.Expr) -> list[exp.Alias]:
        names = (str(c.id), c.before, turn_of(c))
        if group.kind == "delete" or (group.kind == "update" and not group.touches(c)):
            return [q.aliased(q.null_of(type_), name) for name, type_ in zip(names, (c.type, c.type, INT), strict=True)]
        if group.kind == "rows":
            values: tuple[exp.Expr, ...] = (group.value(c), q.null_of(c.type), turn.copy())
            return [q.aliased(value, name) for name, value in zip(names, values, strict=True)]
        values = (group.value(c), group.before(c) if group.touches(c) else q.null_of(c.type), turn.copy())
        tests = [group.changes(c)] if group.touches(c) else []
        if group.kind == "exceptions":
            tests.append(exp.EQ(this=q.col(OP, "o"), expression=q.text(INSERT)))
        touched = q.any_of(tests)
        return [
            q.aliased(q.choose((touched.copy(), value), otherwise=exp.Null()), name)
            for name, value in zip(names, values, strict=True)
        ]

    def _netted(self) -> list[exp.Alias]:
        gone = q.choose((exp.EQ(this=q.col(OP), expression=q.text(DELETE)), q.number(1)), otherwise=q.number(0))
        found = [
            q.aliased(exp.ArgMin(this=q.col(OP), expression=q.col(TURN)), _FIRST),
            q.aliased(exp.ArgMax(this=q.col(OP), expression=q.col(TURN)), _LAST),
            q.aliased(exp.Max(this=gone), _GONE),
        ]
        for c in self.columns:
            turn = turn_of(c)
            found.append(q.aliased(last_of(c.type, q.col(c.id), q.col(turn)), c.id))
            found.append(q.aliased(exp.ArgMin(this=q.col(c.before), expression=q.col(turn)), c.before))
            found.append(q.aliased(exp.Max(this=q.col(turn)), turn))
        return found

    def _op(self) -> exp.Case:
        came = exp.EQ(this=q.col(_FIRST), expression=q.text(INSERT))
        went = exp.EQ(this=q.col(_LAST), expression=q.text(DELETE))
        again = exp.EQ(this=q.col(_GONE), expression=q.number(1))
        cases = ((q.all_of([came, went]), SAME), (came.copy(), INSERT), (went.copy(), DELETE), (again, AGAIN))
        return q.choose(*((test, q.text(op)) for test, op in cases), otherwise=q.text(UPDATE))

    def _result(self, events: exp.Select | exp.Union, path: Path, op: exp.Expr) -> exp.Select:
        """The folded keys, without updates that ended where they began."""
        inner = [*(q.col(k) for k in self.key_ids), q.aliased(op, OP)]
        for c in self.columns:
            before: exp.Expr = q.col(c.before)
            if path.before is None or path.before.written_as(c) is None:
                # A column that the base did not show had its initial default, whatever objects hold.
                before = q.choose((q.is_null(q.col(turn_of(c))), q.null_of(c.type)), otherwise=initial_value(c))
            inner += [q.col(c.id), q.aliased(before, c.before), q.col(turn_of(c))]
        changed = q.any_of([differs(c.type, q.col(c.before), q.col(c.id)) for c in self.columns])
        real = q.any_of([exp.NEQ(this=q.col(OP), expression=q.text(UPDATE)), changed])
        is_change = exp.NEQ(this=q.col(OP), expression=q.text(SAME))
        return q.select(
            [exp.Star()], q.subquery(q.select(inner, q.subquery(events, "n")), "r"), where=q.all_of([is_change, real])
        )

    def _no_events(self, *numbers: str) -> exp.Select:
        picked = [q.aliased(q.null_of(c.type), c.id) for c in self.key] + [q.aliased(q.null_of(STRING), OP)]
        picked += [q.aliased(q.null_of(INT), n) for n in numbers]
        for c in self.columns:
            names = ((str(c.id), c.type), (c.before, c.type), (turn_of(c), INT))
            picked += [q.aliased(q.null_of(type_), name) for name, type_ in names]
        return q.select([exp.Star()], q.subquery(q.select(picked), "none"), where=exp.false())


def _kind(group: ObjectGroup) -> exp.Expr:
    kinds = {"rows": INSERT, "update": UPDATE, "delete": DELETE}
    return q.col(OP, "o") if group.kind == "exceptions" else q.text(kinds[group.kind])


def _at(value: exp.Expr, alias: str) -> exp.Expr:
    """An expression over one source, read from another alias."""
    for column in value.find_all(exp.Column):
        column.set("table", exp.to_identifier(alias, quoted=True))
    return value
