"""Merge the rows of one table: link theirs' objects where nothing meets, decide and write the rest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property

import pyarrow as pa

from anabranch.model.changes import Counts
from anabranch.model.ids import new_write_id
from anabranch.model.objects import Layer, NewObject
from anabranch.model.schema import Column, Schema, column_types
from anabranch.model.tables import TableState
from anabranch.plan.commit import Statement
from anabranch.plan.merge.rules import RowPolicy
from anabranch.queries import decided_rows, initial_values, three_way
from anabranch.queries import writes as changes
from anabranch.queries.met_keys import Meeting, met_keys
from anabranch.queries.path_fold import Path, last_turns, touched_keys
from anabranch.queries.query import OP, Query, Rows, Source, Sources, reading_of, table
from anabranch.queries.scan import Keys
from anabranch.queries.three_way import OURS, THEIRS, Decision
from anabranch.repo.context.context import Context
from anabranch.repo.merge.linked_changes import LinkedChanges
from anabranch.repo.merge.plain_conflicts import plain_conflicts
from anabranch.repo.merge.row_sides import BaseRows, MergedRows, Sides, Times, Used
from anabranch.repo.merge.row_work import RowWork, lacking_columns, prepare
from anabranch.repo.read.conditions import reading
from anabranch.repo.read.scan import ReadAs, scan, scan_as
from anabranch.repo.write.netting import compared_pairs, counts_of, store_difference
from anabranch.repo.write.row_objects import Layout, ObjectForm, store
from anabranch.repo.write.scratch import Kept, Scratch, scratch


def merge_rows(
    ctx: Context,
    sides: Sides,
    schema: Schema,
    policy: RowPolicy,
    settled: pa.Table | None = None,
    *,
    go_on: bool = False,
) -> MergedRows:
    """Merge theirs' change into ours. `settled` holds rows that a user has resolved.

    With conflicts nothing is written, unless `go_on`: then ours is taken for them.
    """
    work = prepare(ctx, sides, _merging_schema(schema, policy), policy)
    with _merging(work) as merge:
        found = plain_conflicts(work) if settled is None and not go_on else None
        if found is not None:
            conflicts, decision = found
            return MergedRows(conflicts=conflicts, has_whole_conflicts=False, decision=decision)
        return merge.run(_fitting(settled, work.decision), go_on)


def _merging_schema(schema: Schema, policy: RowPolicy) -> Schema:
    """The schema to merge rows under: with the key that both gave up, where it still tells rows apart."""
    return replace(schema, key=policy.by_old_key) if policy.by_old_key else schema


def decide_at(
    ctx: Context, sides: Sides, schema: Schema, policy: RowPolicy, keys: pa.Table, settled: pa.Table | None
) -> tuple[pa.Table, Decision]:
    """Decide the rows at some keys, to look at them; nothing is written."""
    work = prepare(ctx, sides, _merging_schema(schema, policy), policy)
    with _merging(work) as merge:
        decided = merge._decide(merge._keep_keys(Rows(keys)), _fitting(settled, work.decision))
        rows = decided.source.table if isinstance(decided.source, Rows) else work.engine.fetch(merge._reading(decided))
        return rows, work.decision


def _fitting(settled: pa.Table | None, how: Decision) -> pa.Table | None:
    """Settled rows, if they have the columns being decided now; otherwise they are decided again."""
    fits = settled is not None and settled.column_names == [name for name, _ in decided_rows.pairs(how)]
    return settled if fits else None


def used_columns(ctx: Context, sides: Sides, columns: Sequence[Column], policy: RowPolicy) -> Used:
    """Which of these columns differ from the base; ours and theirs are the same side here."""
    work = prepare(ctx, sides, sides.ours.schema, policy)
    work = replace(work, decision=replace(work.decision, cells=tuple(columns)))
    with _merging(work) as merge:
        return merge.used()


def rows_differ(ctx: Context, sides: Sides, schema: Schema | None = None) -> bool:
    """Whether some row differs from the base, by a schema's key; ours and theirs are the same side here."""
    work = prepare(ctx, sides, schema or sides.ours.schema, RowPolicy())
    with _merging(work) as merge:
        return bool(merge._differing_keys(sides.base.first, sides.theirs).row_count)


def _rank(times: Times, ranks: Mapping[int, int], layer: Layer) -> int:
    when = times.objects.get(layer.object.id)
    return len(ranks) + 1 if when is None else ranks[when]


@dataclass(frozen=True)
class _Virtual:
    """Merged rows of a base that nobody committed, and how they were decided."""

    kept: Kept
    how: Decision


@contextmanager
def _merging(work: RowWork) -> Iterator[_RowMerge]:
    """A block in which rows are merged; what is kept on the way is gone after it."""
    with scratch(work.ctx, work.engine) as place, reading(work.ctx, work.everything):
        yield _RowMerge(work.ctx, work.sides, work.decision, work.engine, place)


@dataclass(frozen=True)
class _RowMerge(LinkedChanges):
    place: Scratch

    def run(self, settled: pa.Table | None, go_on: bool) -> MergedRows:
        keys = self._keys_to_decide()
        if settled is not None and settled.num_rows:
            keys = self._with_settled(keys, settled)
        decided = self._decide(keys, settled) if keys is not None and keys.row_count else None
        conflicts = self._conflicts(decided) if decided is not None else None
        if conflicts is not None and not go_on:
            return MergedRows(conflicts=conflicts, decision=self.decision)
        if self._is_new_version:
            return replace(self._new_version(decided), conflicts=conflicts)
        steps = self._cleared() + (self.linked_steps(keys) if self._links else [])
        made = [o for s in steps for o in s.objects if o.stored.id not in self.their_ids]
        exceptions = None
        if decided is not None:
            last = self._store_difference(decided)
            made += last
            steps += [Statement("update", last, counts_of(last))] if last else []
            exceptions = self._store_exceptions(decided) if self.sides.by_changes else None
            made += [exceptions] if exceptions else []
        return MergedRows(
            tuple(steps), exceptions, self.sides.by_changes, conflicts, decision=self.decision, made=tuple(made)
        )

    def _conflicts(self, decided: Kept) -> pa.Table | None:
        if isinstance(decided.source, Rows):
            found = decided_rows.conflicts_among(decided.source.table, self.decision)
        else:
            found = self.engine.fetch(decided_rows.in_conflict(self._reading(decided), self.decision))
        return found if found.num_rows else None

    def used(self) -> Used:
        """The columns that theirs updated or filled."""
        keys = self.with_doubtful(self._all_keys())
        if keys is None or not keys.row_count:
            return Used()
        query = decided_rows.used_cells(self._reading(self._decide(keys, None)), self.decision)
        (described,) = self.engine.fetch(query).to_pylist()
        words = (three_way.UPDATED, three_way.FILLED)
        return Used(*(tuple(c for c in self.decision.cells if described[f"{c.id}{word}"]) for word in words))

    @property
    def _links(self) -> bool:
        """Whether theirs' objects can be linked as they are, except for rows that both sides touched."""
        p = self.decision.policy
        special = p.full or p.only_new_rows or p.replaces_all
        return self.sides.by_changes and not special

    @property
    def _is_new_version(self) -> bool:
        """Whether the table gets another key than ours has, or all rows under another numbering."""
        renumbered = self.decision.policy.replaces_all and self.sides.ours.row_ids != self.sides.theirs.row_ids
        return renumbered or not self._has_key(self.sides.ours)

    def _has_key(self, state: TableState) -> bool:
        """Whether a state has the key of the merged table."""
        return state.read_as(self.schema).schema.key_ids == self.schema.key_ids

    # --- which keys are to be decided ---

    def _keys_to_decide(self) -> Kept | None:
        if self._is_new_version:
            return self._every_key()
        return self._with_shown_again(self.with_doubtful(self._met() if self._links else self._all_keys()))

    def with_doubtful(self, found: Kept | None) -> Kept | None:
        """These keys, and those at which the base itself must be merged."""
        doubtful = list(self._doubtful_keys(self.sides.base))
        if not doubtful:
            return found
        kept = [k.source for k in (found, *doubtful) if k is not None and k.row_count]
        return self._keep_keys(changes.distinct_keys(kept, self.schema.key_columns)) if kept else None

    # --- columns that ours dropped ---

    @cached_property
    def _shown_again(self) -> tuple[Column, ...]:
        """Columns that ours dropped but the merge shows: values in ours' objects would show again."""
        return self.sides.ours.dropped(self.decision.cells)

    def _with_shown_again(self, keys: Kept | None) -> Kept | None:
        """These keys, and those where theirs has a value in a column that ours dropped: ours has none of them."""
        if not self._shown_again:
            return keys
        columns, sources = (*self.schema.key_columns, *self._shown_again), Sources()
        rows = self._read(self.sides.theirs, sources, columns=columns)
        found = self._keep_keys(initial_values.keys_of_values(rows, self.schema, self._shown_again))
        kept = [k.source for k in (keys, found) if k is not None and k.row_count]
        return self._keep_keys(changes.distinct_keys(kept, self.schema.key_columns)) if len(kept) > 1 else keys or found

    def _cleared(self) -> list[Statement]:
        """A step that resets the columns ours dropped to what rows without them show."""
        if not self._shown_again:
            return []
        columns, sources = (*self.schema.key_columns, *self._shown_again), Sources()
        ours = self.sides.ours.read_as(self.schema)
        state = replace(ours, schemas=self.sides.ours.schemas)
        old = scan(self.ctx, state, ours.schema.own(columns), self.access, sources=sources)
        query = initial_values.cleared(old, self.schema, self._shown_again)
        made = store(self.ctx, self.engine, query, ObjectForm("update", self.schema, self._shown_again))
        return [Statement("update", made, Counts())] if made else []

    def _every_key(self) -> Kept:
        """The keys of all rows that the merged table may have."""
        sides = (self.sides.theirs,) if self.decision.policy.replaces_all else (self.sides.ours, self.sides.theirs)
        sources = Sources()
        rows = [scan_as(self.ctx, ReadAs(s, self.schema, self.schema.key_columns), self.access, sources) for s in sides]
        return self._keep_keys(changes.distinct_rows(rows, self.schema.key_columns, sources))

    def _met(self) -> Kept | None:
        """The keys that both sides touched."""
        meeting = Meeting(self.sides.to_ours or (), self.sides.to_theirs or (), rows=self.decision.policy.judges_rows)
        query = met_keys(meeting, self.sides.ours.read_as(self.schema), self.decision.cells, self.access, Sources())
        return self._keep_keys(query) if query else None

    def _all_keys(self) -> Kept:
        """Every key that theirs changed; where all rows become theirs, every key that differs from ours."""
        replaces = self.decision.policy.replaces_all
        if self.sides.to_theirs is not None and not replaces and not self.decision.policy.full:
            return self._touched_keys(self.sides.to_theirs or (), self.sides.theirs)
        return self._differing_keys(self.sides.ours if replaces else self.sides.base.first, self.sides.theirs)

    def _doubtful_keys(self, base: BaseRows) -> Iterator[Kept]:
        """The keys at which a base may differ from the first commit it is made of."""
        for other in base.joined:
            if other.path is not None and self._has_key(other.theirs):
                yield self._touched_keys(other.path, other.theirs)
            else:
                yield self._differing_keys(other.base.first, other.theirs)
            yield from self._doubtful_keys(other.base)

    def _touched_keys(self, layers: tuple[Layer, ...], state: TableState) -> Kept:
        query = touched_keys(Path(layers, None, state.read_as(self.schema)), self.access, Sources())
        return self._keep_keys(query)

    def _differing_keys(self, before: TableState, after: TableState) -> Kept:
        sources = Sources()
        old, new = (self._read(s, sources) for s in (before, after))
        compared = changes.changed_only(changes.compared(old, new, self.schema, self._columns, sources))
        names = {str(k): str(k) for k in self.schema.key_ids}
        return self._keep_keys(changes.picked_columns(compared, names))

    def _read(
        self, state: TableState, sources: Sources, keys: Keys | None = None, columns: Sequence[Column] | None = None
    ) -> Query:
        """Rows of a state; under a key they weren't written for, only those that it tells apart."""
        columns = columns or self._columns
        query = scan_as(self.ctx, ReadAs(state, self.schema, columns), self.access, sources, keys)
        if state.read_as(self.schema).schema.key_ids == self.schema.key_ids:
            return query
        return changes.with_unique_keys(query, self.schema, columns)

    def _with_settled(self, keys: Kept | None, settled: pa.Table) -> Kept:
        names = [str(k) for k in self.schema.key_ids]
        parts: list[Source] = [Rows(settled.select(names))]
        if keys is not None and keys.row_count:
            parts.append(keys.source)
        return self._keep_keys(changes.distinct_keys(parts, self.schema.key_columns))

    def _keep_keys(self, query: Query | Rows) -> Kept:
        return self.place.keep(query, column_types(self.schema.key_columns), self.schema.key_columns)

    @property
    def _columns(self) -> tuple[Column, ...]:
        return (*self.schema.key_columns, *self.decision.cells)

    # --- what becomes of them ---

    def _decide(self, keys: Kept, settled: pa.Table | None) -> Kept:
        sources, limited = Sources(), Keys(keys.source, keys.key_range)
        sides = (self._joined(self.sides.base, limited), self.sides.ours, self.sides.theirs)
        query = self._three_way(self.decision, sides, limited, sources)
        if settled is not None and settled.num_rows:
            query = decided_rows.with_settled(query, sources.add(Rows(settled)), self.decision)
        return self.place.keep(query, decided_rows.pairs(self.decision), self.schema.key_columns)

    def _three_way(self, how: Decision, sides: Sequence[TableState | _Virtual], keys: Keys, sources: Sources) -> Query:
        states = {
            name: decided_rows.as_base(sources.add(side.kept.source), side.how, sources)
            if isinstance(side, _Virtual)
            else self._read(side, sources, keys)
            for name, side in zip(three_way.SIDES, sides, strict=True)
        }
        times = self._times(keys, sources) if how.has_times else {}
        return three_way.decided(table(sources.add(keys.source), "k"), states, how, sources, times)

    def _times(self, keys: Keys, sources: Sources) -> dict[str, Query]:
        """When each side last touched the rows and cells at these keys, as ranks."""
        times = self.sides.times
        assert times is not None
        ranks = times.ranks()
        found = {}
        for side, state, layers, head in (
            (OURS, self.sides.ours, self.sides.to_ours, times.ours),
            (THEIRS, self.sides.theirs, self.sides.to_theirs, times.theirs),
        ):
            row = three_way.ROW_TIME[side]
            cells = {three_way.time_of(c, side): c for c in self.decision.cells if three_way.by_time(c, self.decision)}
            if layers is None:  # Only states tell, so everything is as new as the commit.
                found[side] = changes.with_ranks(keys.source, self.schema, (row, *cells), ranks[head], sources)
                continue
            ranked = tuple(replace(x, turn=_rank(times, ranks, x)) for x in layers)
            path = Path(ranked, None, state.read_as(self.schema))
            found[side] = last_turns(path, cells, row, self.access, sources, sources.add(keys.source))
        return found

    def _joined(self, base: BaseRows, keys: Keys) -> TableState | _Virtual:
        """The rows of a base. Commits joined in it are merged one by one, under the same rules."""
        now: TableState | _Virtual = base.first
        schemas = [base.first.schema]
        for n, other in enumerate(base.joined):
            younger = frozenset(c for c in self.decision.cells if not base.has(c))
            lacking = lacking_columns(self.decision.cells, schemas, [other.theirs.schema])
            schemas.append(other.theirs.schema)
            doubt = {"has_unknown": bool(other.base.joined), "ours_has_unknown": n > 0}
            how = self.decision.for_base(younger, lacking, **doubt)
            query = self._three_way(how, (self._joined(other.base, keys), now, other.theirs), keys, Sources())
            now = _Virtual(self.place.keep(query, decided_rows.pairs(how), self.schema.key_columns), how)
        return now

    def _reading(self, kept: Kept) -> Query:
        return reading_of(kept.source, [name for name, _ in decided_rows.pairs(self.decision)])

    def _new_version(self, decided: Kept | None) -> MergedRows:
        """Write all rows anew, under a key that ours doesn't have."""
        made: tuple[NewObject, ...] = ()
        if decided is not None:
            query = decided_rows.staying(self._reading(decided), self.schema)
            gives_up = bool(self.decision.policy.by_old_key)
            schema = replace(self.schema, key=()) if gives_up else self.schema
            layout = Layout((), new_write_id()) if gives_up else None
            made = store(self.ctx, self.engine, query, ObjectForm("rows", schema, schema.columns), layout)
        steps = (Statement("alter column", made, Counts()),) if made else ()
        return MergedRows(steps, by_changes=False, decision=self.decision, made=made, replaced=True)

    def _store_difference(self, decided: Kept) -> tuple[NewObject, ...]:
        """Store what the merged rows change in ours."""
        query = decided_rows.against(self._reading(decided), OURS, self.decision)
        kept = self.place.keep(query, compared_pairs(self.schema, self._columns), self.schema.key_columns)
        return store_difference(self.ctx, self.engine, kept, self.schema, self._columns)

    def _store_exceptions(self, decided: Kept) -> NewObject | None:
        """Store what the merged rows change in theirs, in one object that lists unchanged rows, too."""
        query = decided_rows.against(self._reading(decided), THEIRS, self.decision)
        names = [*(str(k) for k in self.schema.key_ids), OP]
        names += [n for c in self.decision.cells for n in (str(c.id), c.before)]
        shaped = changes.picked_columns(query, {n: n for n in names})
        whole = Layout(tuple(str(k) for k in self.schema.key_ids), files=1)
        made = store(self.ctx, self.engine, shaped, ObjectForm("exceptions", self.schema, self.schema.columns), whole)
        return made[0] if made else None
