"""Theirs' changes in a merge of rows: linked as they are, or rewritten without the keys that both sides touched."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from anabranch.model.ids import ColumnId, ObjectId
from anabranch.model.objects import Layer, NewObject, may_meet
from anabranch.plan.commit import Statement
from anabranch.queries.path_fold import labelled_keys, without_keys
from anabranch.queries.query import Sources
from anabranch.repo.merge.row_work import RowWork
from anabranch.repo.write.netting import counts_of
from anabranch.repo.write.row_objects import ObjectForm, store
from anabranch.repo.write.scratch import Kept


class LinkedChanges(RowWork):
    """The changes from the base to theirs, as the merged commit has them."""

    @property
    def their_ids(self) -> set[ObjectId]:
        return {x.object.id for x in self.sides.to_theirs or ()}

    def linked_steps(self, keys: Kept | None) -> list[Statement]:
        """Theirs' changes in order: linked as they are, or rewritten without the rows that both sides touched."""
        path = self.sides.to_theirs or ()
        met = self._met_rows(keys, path)
        steps = []
        for turn in sorted({x.turn for x in path}):
            inside = [x for x in path if x.turn == turn and met.get(x.object.id) != x.object.row_count]
            whole = [x for x in inside if x.object.id not in met and self._fits(x)]
            objects = [NewObject(x.object) for x in whole]
            objects += self._rewritten([x for x in inside if x not in whole], keys)
            if objects:
                steps.append(Statement("update", tuple(objects), counts_of(objects)))
        return steps

    def _fits(self, layer: Layer) -> bool:
        """Whether an object can be linked as it is: all it holds is visible, and it has no exceptions."""
        o = layer.object
        if o.kind == "exceptions" or layer.without:
            return False
        if o.kind == "delete":
            return True
        held = {i for c in self.sides.theirs.schemas[o.schema_id] for i in c.ids} if o.kind == "rows" else {*o.touched}
        seen = {i for c in self.schema for i in c.ids}
        return held.isdisjoint(self._given_up) and (o.kind == "rows" or seen.issuperset(held))

    @cached_property
    def _given_up(self) -> set[ColumnId]:
        """Columns that theirs dropped but the merge shows: values that theirs gave them earlier don't count."""
        return {i for c in self.decision.cells if not self.sides.theirs.schema.written_as(c) for i in c.ids}

    def _met_rows(self, keys: Kept | None, path: Sequence[Layer]) -> dict[ObjectId, int]:
        """The objects that hold one of these keys, and how many; of one that holds no others nothing stays."""
        if keys is None or not keys.row_count:
            return {}
        near = [x for x in path if may_meet(x.object.key_range, keys.key_range)]
        if len(near) < 2:  # A single object is rewritten even if it is only near such a row.
            return {x.object.id: 0 for x in near}
        sources = Sources()
        state = self.sides.theirs.read_as(self.schema)
        query = labelled_keys(state, dict(enumerate([x] for x in near)), self.access, sources, sources.add(keys.source))
        found = self.engine.fetch(query)
        return {near[n].object.id: met for n, met in zip(*(c.to_pylist() for c in found.columns), strict=True)}

    def _rewritten(self, layers: Sequence[Layer], keys: Kept | None) -> list[NewObject]:
        """One step's changes, without these keys and without columns that nobody sees."""
        made: list[NewObject] = []
        state = self.sides.theirs.read_as(self.schema)
        for layer in layers:
            shown = [c for c in self.decision.cells if layer.object.kind != "update" or not c.ids & self._given_up]
            pieces = without_keys(state, layer, shown, self.access, keys.source if keys else None)
            for kind, touched, query in pieces:
                made += store(self.ctx, self.engine, query, ObjectForm(kind, self.schema, touched))
        return made
