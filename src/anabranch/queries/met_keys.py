"""Where two sides meet: the keys that both touched, judged by what objects touch, even if later undone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from anabranch.model.objects import Layer, may_meet
from anabranch.model.schema import Column
from anabranch.model.tables import TableState
from anabranch.queries.path_fold import key_events
from anabranch.queries.query import Query, Sources, all_of, any_of, col, joined, number, same_key, select, subquery
from anabranch.queries.scan import Access

GROUP = "_ana_group"


@dataclass(frozen=True)
class Meeting:
    """The layers of two sides, some of which may touch the same cells."""

    ours: tuple[Layer, ...]
    theirs: tuple[Layer, ...]
    rows: bool = False
    """Whether touching the same row counts, whichever cells were touched."""

    def meet(self, ours: Layer, theirs: Layer, columns: Sequence[Column]) -> bool:
        """Tell whether two objects may touch the same cell, or one may insert or delete a row the other touches."""
        if not may_meet(ours.object.key_range, theirs.object.key_range):
            return False
        if self.rows or ours.object.kind != "update" or theirs.object.kind != "update":
            return True
        return any(c.ids & set(ours.object.touched) and c.ids & set(theirs.object.touched) for c in columns)

    def pairs(self, columns: Sequence[Column]) -> list[tuple[Layer, Layer]]:
        """The pairs of objects that may meet."""
        return [(o, t) for o in self.ours for t in self.theirs if self.meet(o, t, columns)]


def met_keys(
    meeting: Meeting, state: TableState, columns: Sequence[Column], access: Access, sources: Sources
) -> Query | None:
    """The keys at which the two sides meet; None if the catalogue knows that they don't."""
    pairs = meeting.pairs(columns)
    if not pairs:
        return None
    kinds: dict[tuple[object, ...], int] = {}

    def number_of(layer: Layer) -> int:
        o = layer.object
        touched = o.touched if o.kind == "update" and not meeting.rows else ()
        return kinds.setdefault((o.kind == "update", touched), len(kinds))

    together = sorted({(number_of(o), number_of(t)) for o, t in pairs})
    sides = []
    for layers in ({id(o): o for o, _ in pairs}, {id(t): t for _, t in pairs}):
        apart: dict[int, list[Layer]] = {}
        for layer in layers.values():
            apart.setdefault(number_of(layer), []).append(layer)
        sides.append(key_events(state, apart, GROUP, access, sources))
    keys = [str(c.id) for c in state.schema.key_columns]
    tests = [all_of([_is("o", one), _is("t", other)]) for one, other in together]
    on = all_of([same_key(keys, "o", "t"), exp.Paren(this=any_of([exp.Paren(this=t) for t in tests]))])
    found = select(
        [col(k, "t") for k in keys], subquery(sides[1], "t"), join=joined(subquery(sides[0], "o"), on, "inner")
    )
    found.set("distinct", exp.Distinct())
    return Query(found, sources.named)


def _is(side: str, group: int) -> exp.EQ:
    return exp.EQ(this=col(GROUP, side), expression=number(group))
