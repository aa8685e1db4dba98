"""A table at two commits and the changes between them: what there is to compare, according to the catalogue."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from anabranch.model.ids import ObjectId
from anabranch.model.layers import chained
from anabranch.model.objects import Layer, may_meet, size_of
from anabranch.model.schema import Schema
from anabranch.model.tables import TableState
from anabranch.plan.merge.pairing import paired_by_name

Kin = Literal["same", "replaced", "another"]
"""How two states relate. `same`: one table. `replaced`: one took the other's place, and only a key that both have
relates their rows. `another`: two tables, whose rows are related by any key that is unique in both."""


@dataclass(frozen=True)
class Ends:
    """A table at two commits, and the changes that lead to each from a common ancestor."""

    before: TableState
    after: TableState
    base: Schema | None
    """The schema at the common ancestor; None if the table did not exist there."""
    to_before: tuple[Layer, ...] | None
    """The changes from the ancestor to `before`; None if the states must be compared."""
    to_after: tuple[Layer, ...] | None
    pending: Mapping[ObjectId, bytes] = field(default_factory=dict)
    kin: Kin = "same"
    under: Schema | None = None
    """The schema whose initial defaults fill columns that `before` lacks; None for that of `after`."""

    @property
    def by_changes(self) -> bool:
        """Whether the changes give the difference, so that states need not be compared."""
        return self.to_before is not None and self.to_after is not None

    @property
    def touched(self) -> dict[str, int] | None:
        """The rows in the changes, a row changed twice counted twice; None if states must be compared."""
        if not self.by_changes:
            return None
        kinds = {"rows": "inserted", "update": "updated", "delete": "deleted"}
        counts = dict.fromkeys(kinds.values(), 0)
        for layer in self.layers:
            if layer.object.kind in kinds:
                counts[kinds[layer.object.kind]] += layer.object.row_count
        return counts

    @property
    def layers(self) -> tuple[Layer, ...]:
        return (*(self.to_before or ()), *(self.to_after or ()))

    @property
    def size_bytes(self) -> int:
        states = chained(self.before.layers, self.after.layers)
        return size_of(self.layers) if self.by_changes else size_of(states)

    @property
    def everything(self) -> TableState:
        """Everything that may be read, so that an error can name the damaged file."""
        return replace(self.after, layers=chained(self.layers, self.before.layers, self.after.layers))

    @property
    def may_bring_one_key(self) -> bool:
        """Whether both ways may insert the same key, so that whole rows must be compared."""
        ways = [
            [x.object.key_range for x in way or () if x.object.kind in ("rows", "exceptions")]
            for way in (self.to_before, self.to_after)
        ]
        return any(may_meet(one, other) for one in ways[0] for other in ways[1])

    @property
    def may_be_unknown(self) -> bool:
        """Whether one way may delete a key and insert it again."""
        return any(
            gone.turn < came.turn
            for way in (self.to_before or (), self.to_after or ())
            for gone in way
            if gone.object.kind in ("delete", "exceptions")
            for came in way
            if came.object.kind in ("rows", "exceptions")
        )


def ends_of(before: TableState | None, after: TableState | None) -> Ends:
    """Two states to compare in full; a missing table counts as an empty one."""
    shown = after or before
    assert shown is not None
    none = replace(shown, layers=(), row_count=0)
    return Ends(before or none, after or none, None, None, None)


def replaced_ends(before: TableState, after: TableState) -> Ends:
    """A table, and another that took its place; columns are matched by name."""
    schemas = {**before.schemas, **after.schemas}
    shown = replace(after, schema=paired_by_name(before.schema, after.schema), schemas=schemas)
    return replace(ends_of(replace(before, schemas=schemas), shown), kin="replaced")
