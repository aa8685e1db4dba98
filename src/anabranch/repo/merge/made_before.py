"""What a writer made before: the changes of its own commits, folded, as a difference to what a branch shows now.

Only keys and paths that others touched, too, can differ; so a writer that is alone costs no look at any row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import pyarrow as pa

from anabranch.arrow.types import arrow_type
from anabranch.catalog import history, paths
from anabranch.catalog.store import Connection
from anabranch.frames.output import to_dicts
from anabranch.model.clock import Clock, Position
from anabranch.model.equality import are_equal
from anabranch.model.files import FileRow, address_of, files_thing
from anabranch.model.ids import ThingId
from anabranch.model.objects import Layer
from anabranch.model.schema import Column, Schema
from anabranch.model.tables import TableState
from anabranch.queries.path_fold import Path, path_events, touched_keys, turns_holding
from anabranch.queries.query import DELETE, INSERT, OP, TURN, UPDATE, Query, Rows, Sources
from anabranch.queries.scan import Keys
from anabranch.repo.branches.own_commits import OwnCommit, OwnStep, steps_of, whole_path
from anabranch.repo.compare.diff import DiffSides, compared
from anabranch.repo.compare.table_diff import TableDiff
from anabranch.repo.context.context import Context
from anabranch.repo.context.table_state import files_state, schemas_for
from anabranch.repo.files.blocks import BlockReader
from anabranch.repo.files.tree import tree_at
from anabranch.repo.files.tree_rows import row_of
from anabranch.repo.read.conditions import reading
from anabranch.repo.read.scan import ReadAs, scan_as
from anabranch.repo.write.netting import compared_pairs


@dataclass(frozen=True)
class MadeBefore:
    """What a writer's own commits made, on top of a commit."""

    ctx: Context
    head: Position
    own: Sequence[OwnCommit]
    """Its commits up to the head, oldest first, without those that were reverted."""

    # --- rows ---

    def row_changes(self, state: TableState) -> pa.Table | None:
        """What turns the rows of a table at the head into those that the writer made; None if they are the same.

        Compared rows, as `store_difference` takes them.
        """
        found = self._touched(state)
        if found is None:
            return self._row_changes_by_states(state)
        if not found.others:
            return None
        state = replace(state, schemas=found.schemas)
        keys = self._touched_keys(state, found.others)
        fold = _RowFold(state.schema)
        for own in self._touching(state, found.own, keys):
            rows = self._changed_rows(self._step(own), state)
            if rows is not None:
                fold.add(_rows_at(rows, keys, state.schema))
        return self._against_head(state, keys, fold)

    def _row_changes_by_states(self, state: TableState) -> pa.Table | None:
        """The same where the table's key changed, so that states must be compared."""
        with self.ctx.catalog.read() as cx:
            steps = steps_of(cx, self.head, self.own, state.id)
        others = [self._changed_rows(step, state) for step in steps if not step.is_own]
        keys = _distinct_keys([rows for rows in others if rows is not None], state.schema)
        if keys is None:
            return None
        fold = _RowFold(state.schema)
        for step in steps:
            rows = self._changed_rows(step, state) if step.is_own else None
            if rows is not None:
                fold.add(_rows_at(rows, keys, state.schema))
        return self._against_head(state, keys, fold)

    def _touched(self, state: TableState) -> _ThingChanges | None:
        """The objects of the thing's changes, the writer's and those of others; None if its key changed."""
        places = {c.position: n for n, c in enumerate(self.own)}
        with self.ctx.catalog.read() as cx:
            ranges = whole_path(history.clock(cx, self.head))
            found = paths.layers_by_commit(cx, ranges, [state.id], self.ctx.known_objects)
            if found is None:
                return None
            own = [Layer(places[at] + 1, o) for at, o in found if at in places]
            others = [Layer(1, o) for at, o in found if at not in places]
            schemas = schemas_for(self.ctx, cx, (*own, *others), state)
        return _ThingChanges(tuple(own), tuple(others), schemas)

    def _touched_keys(self, state: TableState, layers: tuple[Layer, ...]) -> pa.Table:
        """The keys that layers touch."""
        with reading(self.ctx, replace(state, layers=layers)):
            query = touched_keys(Path(layers, None, state), self.ctx.access(layers), Sources())
            return self.ctx.engines.duck().fetch(query)

    def _touching(self, state: TableState, layers: tuple[Layer, ...], keys: pa.Table) -> list[OwnCommit]:
        """The writer's commits that touched some of the keys, oldest first."""
        if not layers:
            return []
        sources = Sources()
        with reading(self.ctx, replace(state, layers=layers)):
            query = turns_holding(state, layers, self.ctx.access(layers), sources, sources.add(Rows(keys)))
            turns = self.ctx.engines.duck().fetch(query).column(0).to_pylist()
        return [self.own[turn - 1] for turn in sorted(turns)]

    def _step(self, own: OwnCommit) -> OwnStep:
        with self.ctx.catalog.read() as cx:
            return OwnStep(history.parent(cx, own.position, 1), own.position, own)

    def _changed_rows(self, step: OwnStep, state: TableState) -> pa.Table | None:
        """The rows that some commits changed, each with its cells before and after; None if none."""
        found = self._table_diff(step, state.id)
        if found is None:
            return None
        changes = found._changes
        engine = self.ctx.engines.duck()
        with reading(self.ctx, found._ends.everything):
            query, _, keyed = changes._chosen(engine, None, None)
            rows = engine.fetch(query) if keyed else None
        names = [str(k) for k in state.schema.key_ids]
        if rows is None or not rows.num_rows or not set(names) <= set(rows.column_names):
            return None
        return rows

    def _table_diff(self, step: OwnStep, thing: ThingId) -> TableDiff | None:
        with self.ctx.catalog.read() as cx:
            sides = _sides(cx, step)
            found = compared(self.ctx, cx, sides).candidates if sides else ()
        return next((t for t in found if t.id == thing), None)

    def _against_head(self, state: TableState, keys: pa.Table, fold: _RowFold) -> pa.Table | None:
        """Compare folded rows with those that the head shows at some keys."""
        schema, made = state.schema, fold.key_table()
        there = _rows_at_keys(self.ctx, state, schema.key_columns, keys)
        gone = there.filter(pa.array([not found for found in _are_among(there, made)], pa.bool_()))
        shown = _rows_at_keys(self.ctx, state, (*schema.key_columns, *schema.plain_columns), made)
        return _compared_rows(schema, gone, fold, shown)

    # --- since a commit ---

    def is_changed_by_others(self, state: TableState, since: Position) -> bool:
        """Whether others changed a table after a commit."""
        with self.ctx.catalog.read() as cx:
            steps = steps_of(cx, self.head, self.own, state.id, since)
        found = (self._table_diff(step, state.id) for step in steps if not step.is_own)
        return any(table is not None and not table.is_empty for table in found)

    def files_of_others(self, since: Position) -> set[str]:
        """The files that others changed after a commit."""
        with self.ctx.catalog.read() as cx:
            steps = steps_of(cx, self.head, self.own, files_thing(self.ctx.record.id), since)
        pairs = [pair for step in steps if not step.is_own for pair in self.changed_files(step)]
        return {row.address for pair in pairs for row in pair if row is not None}

    # --- files ---

    @cached_property
    def files(self) -> Mapping[str, FileRow]:
        """The files that the writer made, by path, with their own blocks only; lists of blocks are expanded.

        A file whose own blocks others took away is read as the writer's last commit on it left it.
        """
        with self.ctx.catalog.read() as cx:
            clock = history.clock(cx, self.head)
            state = files_state(self.ctx, cx, clock)
        found = self._touched(state)
        assert found is not None
        last = self._last_touched(replace(state, schemas=found.schemas), found.own)
        if not last:
            return {}
        made = self._own_files(clock, list(last))
        by_commit: dict[int, list[str]] = {}
        for path, number in last.items():
            if path not in made:
                by_commit.setdefault(number, []).append(path)
        for number, lost in by_commit.items():
            with self.ctx.catalog.read() as cx:
                then = history.clock(cx, self.own[number].position)
            made |= self._own_files(then, lost)
        return made

    def _last_touched(self, state: TableState, layers: tuple[Layer, ...]) -> dict[str, int]:
        """The number of the writer's last commit on each file that it made, but for those that it deleted."""
        if not layers:
            return {}
        sources = Sources()
        with reading(self.ctx, replace(state, layers=layers)):
            events = path_events(state, layers, (), self.ctx.access(layers), sources)
            found = self.ctx.engines.duck().fetch(Query(events, sources.named))
        parent, name = (found.column(str(k)).to_pylist() for k in state.schema.key_ids)
        last: dict[str, tuple[int, str]] = {}
        rows = zip(parent, name, found.column(TURN).to_pylist(), found.column(OP).to_pylist(), strict=True)
        for folder, own_name, turn, op in rows:
            path = address_of(folder, own_name)
            last[path] = max(last.get(path, (0, "")), (turn, op))
        return {path: turn - 1 for path, (turn, op) in last.items() if op != DELETE}

    def _own_files(self, at: Clock, wanted: Sequence[str]) -> dict[str, FileRow]:
        """Files at a commit, with the writer's own blocks; those that have none are left out."""
        reader = BlockReader(self.ctx)
        with self.ctx.catalog.read() as cx:
            tree = tree_at(self.ctx, cx, at)
        found = {}
        for path, row in tree.rows_at(wanted).items():
            whole = reader.leaves(row)
            parts = tuple(ref for ref in whole if ref.write in self._writes)
            if parts:
                found[path] = _of_blocks(row._replace(blocks=whole), parts)
        return found

    @cached_property
    def _writes(self) -> frozenset[str]:
        """The writes of the writer's files; of a commit that does not say, those of all that it wrote."""
        reader, found = BlockReader(self.ctx), set[str]()
        for own in self.own:
            if own.writes is not None:
                found |= own.writes
                continue
            for pair in self.changed_files(self._step(own)):
                old, new = (reader.leaves(row) if row else () for row in pair)
                found |= {ref.write for ref in new} - {ref.write for ref in old}
        return frozenset(found)

    def changed_files(self, step: OwnStep) -> list[tuple[FileRow | None, FileRow | None]]:
        """The rows of the file tree that some commits changed, before and after."""
        with self.ctx.catalog.read() as cx:
            sides = _sides(cx, step)
            found = compared(self.ctx, cx, sides).files if sides else None
        rows = found._rows() if found is not None and found._rows else []
        return [(row["before"] and row_of(row["before"]), row["after"] and row_of(row["after"])) for row in rows]


@dataclass(frozen=True)
class _ThingChanges:
    """The objects of a thing's changes."""

    own: tuple[Layer, ...]
    """The writer's; the turn is the number of its commit, from 1."""
    others: tuple[Layer, ...]
    schemas: Mapping[str, Schema]


def _of_blocks(row: FileRow, parts: tuple[Any, ...]) -> FileRow:
    """A file with some of its blocks."""
    if parts == row.blocks:
        return row
    return row._replace(blocks=parts, size=sum(ref.size for ref in parts), sha256=None)


def _sides(cx: Connection, step: OwnStep) -> DiffSides | None:
    if step.before is None:
        return None
    before, after = history.clock(cx, step.before), history.clock(cx, step.last)
    return DiffSides(before, after, step.before)


def rows_there(ctx: Context, state: TableState, rows: pa.Table | None) -> pa.Table | None:
    """The rows of a table that have the keys of given rows, as compared rows that delete them; None if none."""
    schema = state.schema
    if rows is None or not schema.has_key:
        return None
    keys = {c.name: str(c.id) for c in schema.key_columns}
    if not set(keys) <= set(rows.column_names):
        return None
    types = [(c.name, arrow_type(c.type)) for c in schema.key_columns]
    wanted = pa.table([rows.column(name).cast(type_) for name, type_ in types], names=list(keys.values()))
    there = _rows_at_keys(ctx, state, schema.key_columns, wanted)
    return _compared_rows(schema, there, _RowFold(schema), there.slice(0, 0)) if there.num_rows else None


def deleted_rows(schema: Schema, there: pa.Table, rows: pa.Table) -> pa.Table | None:
    """Delete the keys that are there and that given rows do not have, as compared rows; None if there are none.

    The keys that are there come under the ids of their columns, the rows under names.
    """
    key = [(c.name, str(c.id), arrow_type(c.type)) for c in schema.key_columns]
    wanted = pa.table({id_: rows.column(name).cast(type_) for name, id_, type_ in key})
    gone = there.filter(pa.array([not found for found in _are_among(there, wanted)], pa.bool_()))
    return _compared_rows(schema, gone, _RowFold(schema), gone.slice(0, 0)) if gone.num_rows else None


def _rows_at_keys(ctx: Context, state: TableState, columns: Sequence[Column], keys: pa.Table) -> pa.Table:
    """The rows of a table at some keys."""
    limited, access = Keys(Rows(keys), None), ctx.access(state.layers)
    with reading(ctx, state):
        query = scan_as(ctx, ReadAs(state, state.schema, columns), access, Sources(), limited)
        return ctx.engines.duck().fetch(query)


# --- keys in memory ---


def _distinct_keys(found: Sequence[pa.Table], schema: Schema) -> pa.Table | None:
    names = [str(k) for k in schema.key_ids]
    parts = [rows.select(names) for rows in found]
    if not parts:
        return None
    return pa.concat_tables(parts, promote_options="permissive").group_by(names).aggregate([]).select(names)


def _are_among(rows: pa.Table, keys: pa.Table) -> list[bool]:
    """Whether each row has one of the keys."""
    names = keys.column_names
    wanted = set(zip(*(keys.column(n).to_pylist() for n in names), strict=True))
    return [key in wanted for key in zip(*(rows.column(n).to_pylist() for n in names), strict=True)]


def _rows_at(rows: pa.Table, keys: pa.Table, schema: Schema) -> list[dict[str, Any]]:
    return to_dicts(rows.filter(pa.array(_are_among(rows, keys), pa.bool_())))


class _RowFold:
    """Rows by key, after changes that were made one after another."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.names = [str(k) for k in schema.key_ids]
        self.columns = schema.plain_columns
        self.rows: dict[tuple[Any, ...], dict[str, Any]] = {}

    def add(self, changed: Iterable[Mapping[str, Any]]) -> None:
        """Apply the changes of one step: rows with an operation, and the cells before and after."""
        for row in changed:
            key = tuple(row[name] for name in self.names)
            if row[OP] == DELETE:
                self.rows.pop(key, None)
            elif row[OP] == UPDATE and key in self.rows:
                self._update(self.rows[key], row)
            else:
                # A column that was added later is not the writer's: its cells are as others have them.
                self.rows[key] = {str(c.id): row[str(c.id)] for c in self.columns if str(c.id) in row}

    def _update(self, known: dict[str, Any], row: Mapping[str, Any]) -> None:
        """Take over the cells that changed; the others may be anybody's."""
        for c in self.columns:
            if str(c.id) in row and not are_equal(row.get(c.before), row[str(c.id)]):
                known[str(c.id)] = row[str(c.id)]

    def key_table(self) -> pa.Table:
        """The keys of the folded rows."""
        values = list(zip(*self.rows, strict=True)) or [()] * len(self.names)
        types = [arrow_type(c.type) for c in self.schema.key_columns]
        arrays = [pa.array(column, type_) for column, type_ in zip(values, types, strict=True)]
        return pa.table(arrays, names=self.names)


def _compared_rows(schema: Schema, gone: pa.Table, fold: _RowFold, shown: pa.Table) -> pa.Table | None:
    """Rows to delete, and folded rows that differ from those shown, in the form of compared rows."""
    known = {tuple(row[name] for name in fold.names): row for row in to_dicts(shown)}
    changed: list[dict[str, Any]] = []
    for key, row in fold.rows.items():
        before = known.get(key)
        if before is not None and all(are_equal(before[name], value) for name, value in row.items()):
            continue
        cells = {c.before: before[str(c.id)] if before else None for c in fold.columns}
        op = INSERT if before is None else UPDATE
        whole = {**(before or {}), **row}
        changed.append({**whole, **dict(zip(fold.names, key, strict=True)), **cells, OP: op})
    fields = [(name, arrow_type(type_)) for name, type_ in compared_pairs(schema, schema.columns)]
    made = pa.Table.from_pylist(changed, pa.schema(fields))
    if gone.num_rows:
        columns = [
            gone.column(name).cast(type_) if name in fold.names else pa.nulls(gone.num_rows, type_)
            for name, type_ in fields
        ]
        place = [name for name, _ in fields].index(OP)
        columns[place] = pa.array([DELETE] * gone.num_rows, pa.string())
        made = pa.concat_tables([made, pa.table(columns, schema=pa.schema(fields))])
    return made if made.num_rows else None
