"""Merge one source into a target: decide each thing, merge its rows, and build the commit's draft."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from anabranch.catalog import entries
from anabranch.model.changes import Counts
from anabranch.model.commits import CommitHead
from anabranch.model.content import ChangeReference
from anabranch.model.ids import ObjectId, ThingId
from anabranch.model.objects import NewObject
from anabranch.model.schema import Schema
from anabranch.model.tables import Operation, TableState, holds_rows
from anabranch.plan.commit import Bound, Statement, ThingDraft, draft_state, packs_of, place_of
from anabranch.plan.merge.rules import RowPolicy, Strictness
from anabranch.plan.merge.sides import ThingConflict, ThingSide
from anabranch.plan.merge.things import ThingMerge, ThingsMerge, merge_things
from anabranch.repo.context.context import Context
from anabranch.repo.merge import constraints
from anabranch.repo.merge.conflicts import Conflicts, TableConflicts, Violation
from anabranch.repo.merge.earlier_rows import EarlierRows
from anabranch.repo.merge.file_clashes import file_clashes, with_drops
from anabranch.repo.merge.file_level import FileForm, FileMergeRequest, merge_file_rows
from anabranch.repo.merge.merged_rows import decide_at, merge_rows
from anabranch.repo.merge.real_updates import Things, with_real_updates
from anabranch.repo.merge.row_sides import MergedRows, Sides, read_sides, shows_again
from anabranch.repo.merge.sides import Gathered, Target

if TYPE_CHECKING:
    import pyarrow as pa

    from anabranch.repo.merge.conflicts import Decided


@dataclass(frozen=True)
class How:
    """How a merge decides."""

    strictness: Strictness = "cell"
    rules: Mapping[str, str] = field(default_factory=dict)
    decisions: Mapping[str, Any] = field(default_factory=dict)
    """The side chosen, by the id of a conflict over a table or column."""
    settled: Mapping[ThingId, Any] = field(default_factory=dict)
    """By table: the decided rows that a user resolved, with the values they get."""
    go_on: bool = False
    """Carry on past conflicts as if ours were taken, to preview the result."""
    earlier: EarlierRows = field(default_factory=EarlierRows)
    """Rows merged by earlier attempts."""
    file_form: FileForm = "whole"
    """How theirs writes files."""


@dataclass
class Merged:
    """A merge that is computed but not published."""

    target: Target
    parents: tuple[CommitHead, ...]
    conflicts: Conflicts = field(default_factory=Conflicts)
    references: list[ChangeReference] = field(default_factory=list)
    linked: set[ObjectId] = field(default_factory=set)
    """Objects of theirs that the target now links."""
    made: list[NewObject] = field(default_factory=list)
    """Objects written so far; no commit links them yet."""

    def leave_undescribed(self, tables: Iterable[ThingId]) -> None:
        """Leave the difference to each further parent undescribed: states are compared where it matters.

        It matters for what some source changed, and for what only ours did, which is new to every source.
        """
        drafted = (t.id for t in self.target.draft.things.values() if holds_rows(t.kind))
        both = dict.fromkeys((*drafted, *tables))
        self.references = [ChangeReference(t, n, None, None) for t in both for n in range(1, len(self.parents))]


def merge_source(
    ctx: Context, target: Target, gathered: Gathered, described: Things, how: How, number: int | None = None
) -> Merged:
    """Merge theirs into the target's draft. With conflicts, the draft is good only for looking at.

    `number` is the source's among the further parents, if changes are to refer to it.
    """
    sides = with_real_updates(ctx, gathered, described, how.rules)
    plan = merge_things(*sides, how.strictness, how.rules, how.decisions)
    return apply_plan(ctx, target, gathered, how, plan, number)


def apply_plan(
    ctx: Context, target: Target, gathered: Gathered, how: How, plan: ThingsMerge, number: int | None = None
) -> Merged:
    """Apply to the target's draft what was decided about its things."""
    return _Merging(ctx, target, gathered, how, number).run(plan)


@dataclass(frozen=True)
class _RowsToMerge:
    """The rows of a table that are to be merged."""

    draft: ThingDraft
    thing: ThingMerge
    sides: Sides
    schema: Schema
    policy: RowPolicy

    def decide(self, ctx: Context, keys: pa.Table, settled: pa.Table | None) -> Decided:
        """Decide rows at given keys with all columns, for when those in conflict aren't enough."""
        return decide_at(ctx, self.sides, self.schema, self.policy, keys, settled)


@dataclass
class _Merging:
    ctx: Context
    target: Target
    gathered: Gathered
    how: How
    number: int | None
    """The source's number among the further parents; None if no change references are wanted."""
    rows: dict[str, TableConflicts] = field(default_factory=dict)
    files: TableConflicts | None = None
    clashes: list[ThingConflict] = field(default_factory=list)
    merged: dict[ThingId, MergedRows] = field(default_factory=dict)
    broken: list[Violation] = field(default_factory=list)
    breaking: dict[str, TableConflicts] = field(default_factory=dict)
    references: list[ChangeReference] = field(default_factory=list)
    linked: set[ObjectId] = field(default_factory=set)
    made: list[NewObject] = field(default_factory=list)

    def run(self, plan: ThingsMerge) -> Merged:
        """Update the draft thing by thing. Names are bound last, once all old ones are free."""
        drafts: list[tuple[ThingMerge, ThingDraft]] = []
        for thing in plan.things:
            made = self._merge(thing)
            if made is not None:
                drafts.append((thing, made))
            self._refer(thing)
        with self.ctx.catalog.one_state():
            self._bind(drafts)
        found = Conflicts(self.rows, (*plan.conflicts, *self.clashes), tuple(self.broken), self.breaking, self.files)
        return Merged(self.target, (self.target.parent,), found, self.references, self.linked, self.made)

    # --- one thing ---

    def _merge(self, thing: ThingMerge) -> ThingDraft | None:
        if thing.action == "keep" or thing.action == "none":
            return None
        if thing.action == "take":
            return self._taken(thing)
        thing = self.how.earlier.with_schema(self.gathered, thing)
        with self.ctx.catalog.one_state():  # All is read in one go before anything runs.
            draft = self._ours(thing)
            if thing.action == "drop":
                return replace(draft, dropped=True, operations=(*draft.operations, "drop"))
            assert thing.result is not None
            draft = self._described(draft, thing)
            if thing.rows is None and self._needs_rows(draft, thing):
                thing = replace(thing, rows=RowPolicy(self.how.strictness))
            if thing.rows is None and not constraints.may_break_unmerged(thing):
                return draft
            with self.ctx.catalog.read() as cx:
                sides = read_sides(self.ctx, cx, self.gathered, draft, thing, self.target.pending())
        if thing.rows is None:
            return self._checked(draft, thing, sides, MergedRows())
        return self._with_rows(_RowsToMerge(draft, thing, sides, draft.table_schema, thing.rows))

    def _needs_rows(self, draft: ThingDraft, thing: ThingMerge) -> bool:
        """Rows must be read though theirs changed none: some are settled, or a dropped column shows again."""
        if draft.id in self.how.settled or (self.gathered.backward and shows_again(thing)):
            return True
        ours = draft_state(replace(draft, schema=thing.ours.schema)) if thing.ours and thing.ours.schema else None
        return ours is not None and bool(ours.dropped(draft.schema or ()))

    def _ours(self, thing: ThingMerge) -> ThingDraft:
        """The thing as the target has it, to start from."""
        side = thing.ours
        assert side is not None
        known = self.target.draft.things.get(side.id)
        if known is not None:
            return known
        return draft_of(side, self.gathered.ours.table(side) if holds_rows(side.kind) else None)

    def _described(self, draft: ThingDraft, thing: ThingMerge) -> ThingDraft:
        """The thing with its merged name, attributes and schema."""
        result = thing.result
        assert result is not None
        schemas = dict(draft.schemas)
        if result.schema is not None and draft.schema is not None:
            schemas |= {str(s.id): s for s in (draft.schema, result.schema)}
        described = operations_after(result.operations)
        # Base and theirs are commits, so the catalogue already has their schemas.
        kept = frozenset(str(s.schema.id) for s in (thing.base, thing.theirs) if s and s.schema)
        return replace(
            draft,
            parent_id=result.parent_id,
            name=result.path,
            attributes=result.attributes,
            schema=result.schema,
            schemas=schemas,
            operations=tuple(dict.fromkeys((*draft.operations, *described))),
            linked_schemas=draft.linked_schemas | kept,
        )

    def _taken(self, thing: ThingMerge) -> ThingDraft:
        """A thing that only theirs has, under its own id; links the objects that theirs reads."""
        result, theirs = thing.result, thing.theirs
        assert result is not None
        assert theirs is not None
        made = replace(draft_of(result, None), operations=("create",), base_name=None, base_attributes={})
        if result.kind != "table":
            return made
        state = self.gathered.theirs.table(theirs)
        self.linked |= {x.object.id for x in state.layers}
        turns = sorted({x.turn for x in state.layers})
        steps = [tuple(NewObject(x.object) for x in state.layers if x.turn == turn) for turn in turns]
        statements = [Statement("insert", objects_, Counts()) for objects_ in steps]
        if statements:
            statements[0] = replace(statements[0], counts=Counts(inserted=state.row_count))
        schemas = {str(k): v for k, v in state.schemas.items()}
        made = replace(made, statements=tuple(statements), schemas=schemas, linked_schemas=frozenset(schemas))
        with self.ctx.catalog.read() as cx:
            was_here = entries.find_entry(cx, self.target.clock, made.id) is not None
        if not was_here:
            return made
        # A dropped table that is back becomes a new version, since no change says what became of its rows.
        again = tuple(replace(s, counts=Counts()) for s in made.statements)
        return replace(made, statements=again, operations=("alter name",), replaced_rows=made.row_count)

    # --- rows ---

    def _with_rows(self, table: _RowsToMerge) -> ThingDraft:
        draft, thing, sides, policy = table.draft, table.thing, table.sides, table.policy
        by_key = policy.full and not policy.replaces_all
        if by_key and (unfit := constraints.unfit_keys(self.ctx, sides, table.schema, draft.name)):
            self.broken += unfit
            return draft
        is_files, settled = draft.kind == "files", self.how.settled.get(draft.id)
        # Rows that break a constraint are listed along with conflicts; to find them, the merge carries on with ours.
        may_break = constraints.may_be_broken(draft_state(draft), thing)
        goes_on = self.how.go_on or may_break or is_files
        merged = self._merged_rows(table, goes_on, settled)
        if is_files:
            merged = self._without_clashes(table, merged, settled)
        if merged.conflicts is not None and merged.decision is not None:
            decide = None if merged.has_whole_conflicts else partial(table.decide, self.ctx, settled=None)
            found = TableConflicts(
                draft.name, draft.id, merged.conflicts, merged.decision, self.ctx, may_break=may_break, decide=decide
            )
            if is_files:
                self.files = found
            else:
                self.rows[draft.name] = found
            if not goes_on:
                return draft
        theirs = {x.object.id for x in sides.to_theirs or ()}
        self.linked |= {o.stored.id for s in merged.statements for o in s.objects if o.stored.id in theirs}
        self.made += merged.made
        self.merged[draft.id] = merged
        after = _after(draft, merged, sides)
        return after if is_files else self._checked(after, thing, sides, merged)

    def _without_clashes(self, table: _RowsToMerge, merged: MergedRows, settled: pa.Table | None) -> MergedRows:
        """Merge again without the files that a chosen side drops; files that are folders, too, are noted."""
        sides = table.sides
        found = file_clashes(self.ctx, _after(table.draft, merged, sides), merged, sides, self.target.pending())
        sided = {clash: clash.side(self.how.decisions, self.how.rules) for clash in found}
        self.clashes += [clash.conflict for clash, side in sided.items() if side is None]
        chosen = {clash: side or "ours" for clash, side in sided.items() if side or self.how.go_on}
        if not chosen:
            return merged
        if settled is None and merged.conflicts is None:
            self.made += merged.made  # A later attempt may take them up, so they go with all the others.
        else:
            self.ctx.discard(merged.made)
        return self._merged_rows(table, True, with_drops(self.ctx, sides, table.schema, chosen, settled))

    def _merged_rows(self, table: _RowsToMerge, goes_on: bool, settled: pa.Table | None) -> MergedRows:
        """Merge the rows, or reuse what an earlier attempt made of them."""
        earlier, sides, thing = self.how.earlier, table.sides, table.thing
        found = earlier.find(self.ctx, self.gathered, thing, sides) if settled is None else None
        if found is not None:
            return found
        if table.draft.kind == "files":
            packs = {o.stored.id: o.stored for t in self.target.draft.things.values() for o in packs_of(t)}
            asked = FileMergeRequest(self.how.rules, settled, packs, goes_on, self.how.file_form)
            merged = merge_file_rows(self.ctx, sides, table.schema, asked)
        else:
            merged = merge_rows(self.ctx, sides, table.schema, table.policy, settled, go_on=goes_on)
        if merged.conflicts is None and settled is None:
            earlier.keep(self.gathered, thing, merged)
        return merged

    def _checked(self, after: ThingDraft, thing: ThingMerge, sides: Sides, merged: MergedRows) -> ThingDraft:
        """Record the rows that break a constraint after the merge, with the three rows at their keys."""
        found = constraints.violations(self.ctx, constraints.MergedTable(draft_state(after), thing, sides, merged.made))
        found = constraints.without(found, self.rows.get(after.name))
        self.broken += found
        if found and not self.how.go_on:
            schema = after.table_schema
            table = _RowsToMerge(after, thing, sides, schema, thing.rows or RowPolicy(self.how.strictness))
            rows, how = table.decide(self.ctx, constraints.broken_keys(found, schema), self.how.settled.get(after.id))
            self.breaking[after.name] = TableConflicts(after.name, after.id, rows, how, self.ctx)
        return after

    # --- what later merges need ---

    def _refer(self, thing: ThingMerge) -> None:
        """Record how the table differs from theirs: by ours' changes since the base, except at keys both touched."""
        if self.number is None or thing.ours is None or not holds_rows(thing.ours.kind):
            return
        layers = self.gathered.ours.layers({*thing.ours.ids, *(thing.theirs.ids if thing.theirs else ())})
        merged = self.merged.get(thing.ours.id)
        if layers == () and (merged is None or merged.exceptions is None):
            return
        described = layers is not None and (merged is None or merged.by_changes)
        exceptions = merged.exceptions.stored.id if merged and merged.exceptions else None
        base = self.gathered.bases[0] if described else None
        self.references.append(ChangeReference(thing.ours.id, self.number, base, exceptions))

    # --- names ---

    def _bind(self, drafts: Sequence[tuple[ThingMerge, ThingDraft]]) -> None:
        draft = self.target.draft
        for thing, made in drafts:
            old = self.target.draft.things.get(made.id)
            before = place_of(old) if old else None
            if thing.ours is not None and before is None:
                before = (thing.ours.parent_id, thing.ours.name)
            if before is not None and (made.dropped or before != place_of(made)):
                draft.bind(before, None, (made.kind, made.id))
        for _, made in drafts:
            draft.things[made.id] = made
            if (
                made.kind != "files"
                and not made.dropped
                and (made.created or place_of(made) != self.gathered.ours.place(made.id))
            ):
                draft.bind(place_of(made), (made.kind, made.id), self._bound(place_of(made)))

    def _bound(self, place: tuple[ThingId, str]) -> Bound:
        """What a name stands for at the target's head."""
        with self.ctx.catalog.read() as cx:
            found = entries.find_name(cx, self.ctx.record.id, self.target.clock, *place)
        return cast(Bound, (found.kind, found.thing_id)) if found else None


def draft_of(side: ThingSide, base: TableState | None) -> ThingDraft:
    """A thing as a commit has it, with nothing done to it yet."""
    place, known = (side.id, side.kind, side.parent_id, side.path), side.attributes
    return ThingDraft(*place, base, side.schema, attributes=known, base_name=side.path, base_attributes=known)


def operations_after(done: Iterable[Operation]) -> tuple[Operation, ...]:
    """Theirs' operations as the merge repeats them; those without effect are dropped when the commit is made."""
    described = [o for o in done if o not in ("create", "drop")]
    wanted: list[Operation] = ["alter name", "alter properties", "alter column", "alter partition"]
    return tuple(dict.fromkeys((*described, *wanted)))


def _after(draft: ThingDraft, merged: MergedRows, sides: Sides) -> ThingDraft:
    """The thing with its merged rows, and the schemas of all objects."""
    before, rows = draft.statements, draft.replaced_rows
    if merged.replaced:
        before, rows = (), sum(o.stored.row_count for s in merged.statements for o in s.objects)
    after = replace(draft, statements=(*before, *merged.statements), replaced_rows=rows)
    known = {**sides.theirs.schemas, **after.schemas}
    linked = draft.linked_schemas | {str(i) for i in sides.theirs.schemas if i not in draft.schemas}
    return replace(after, schemas=known, linked_schemas=linked, operations=with_writes(after))


def with_writes(draft: ThingDraft) -> tuple[Operation, ...]:
    """The operations of a table, with a write among them if rows were written."""
    writes = {"insert", "update", "delete", "overwrite"}
    if draft.statements and not writes & set(draft.operations):
        return (*draft.operations, "update")
    return draft.operations
