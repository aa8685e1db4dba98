"""Folding: combine the changes on top of a table's snapshot, and rewrite the files that many changes act on.

A view changes nothing that a commit says: whatever goes wrong here, what was published stays published and readable.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from anabranch.catalog import branches, entries, history, views
from anabranch.catalog.store import Connection
from anabranch.engines.engine import Engine
from anabranch.errors import AnabranchError, OutcomeUnknown
from anabranch.model.clock import Clock, Position
from anabranch.model.content import LateView
from anabranch.model.ids import ObjectId, ThingId, ViewId, new_id
from anabranch.model.layers import as_layers
from anabranch.model.objects import Layer, NewObject, ObjectKind, StoredObject, ViewKind, contents_of, size_of
from anabranch.model.schema import Column
from anabranch.model.tables import TableState
from anabranch.plan import folding
from anabranch.plan.engine import Work
from anabranch.plan.folding import Limits, Run
from anabranch.queries.fold import folded
from anabranch.queries.query import DELETE, UPDATE, Query, Rows
from anabranch.queries.scan import Access
from anabranch.repo.context.context import Context
from anabranch.repo.context.table_state import table_state
from anabranch.repo.read.applied import whole_rows
from anabranch.repo.read.conditions import not_in_duck, reading
from anabranch.repo.read.scan import scan
from anabranch.repo.write.manifests import gathered, unchanged_manifests
from anabranch.repo.write.netting import compared_pairs, touched_columns
from anabranch.repo.write.row_objects import Layout, ObjectForm, layout_of, store
from anabranch.repo.write.scratch import scratch
from anabranch.settings import REWRITTEN_FILES_AT_ONCE

log = logging.getLogger("anabranch.repo.upkeep.fold")


@dataclass(frozen=True)
class TableAtCommit:
    """A table at a commit, and the commit of its newest snapshot."""

    state: TableState
    at: Position
    since: Position


def keep_readable(ctx: Context, branch: str, tables: Mapping[ThingId, str]) -> None:
    """Fold tables at a branch's head where due, within what one commit may cost."""
    for table, name in tables.items():
        try:
            _keep_table(ctx, branch, table, name)
        except Exception as error:
            # The commit is published and stands without the view; the next one tries again.
            log.warning("table %r was not folded: %s", name, error, exc_info=True)


def _keep_table(ctx: Context, branch: str, table: ThingId, name: str) -> None:
    with ctx.catalog.read() as cx:
        head = branches.find(cx, ctx.record.id, branch)
        place = find_place(ctx, cx, history.clock(cx, head.position), table, name) if head else None
    if place is None or not folding.is_due(place.state.layers, ctx.settings.folding.commit_limit):
        return
    limits = automatic(ctx)
    groups = folding.groups(folding.runs(place.state.layers), limits)
    work = Work(size_of(place.state.layers), not_in_duck=not_in_duck(place.state.schema, name))
    engine = ctx.engines.ready(work, f"folding {name!r}")
    if engine is None:
        log.debug("table %r is not folded: Spark would have to be started for it", name)
        return
    with Refit(ctx, engine, place) as refit:
        layers = refit.fold(groups)
        spent = sum(run.row_count for group in groups if len(group) > 1 for run in group)
        chosen = folding.bite(
            layers, replace(limits, rewrite_rows=max(0, ctx.settings.folding.rewrite_row_limit - spent))
        )
        if chosen or folding.outgrown(layers, limits):
            refit.publish(refit.rewrite(layers, chosen), "snapshot")
        else:
            refit.publish(layers, "fold")


def find_place(ctx: Context, cx: Connection, at: Clock, table: ThingId, name: str) -> TableAtCommit | None:
    """Read a table at a commit; None if it does not exist there, or has no snapshot."""
    entry = entries.find_entry(cx, at, table)
    snapshot = views.newest_snapshot(cx, at, table)
    if entry is None or entry.dropped or snapshot is None:
        return None
    return TableAtCommit(table_state(ctx, cx, at, table, name), at.head, snapshot[1])


def automatic(ctx: Context) -> Limits:
    """What one commit may fold and rewrite in passing."""
    s, rows = ctx.settings.folding, ctx.settings.objects.file_row_limit
    return Limits(s.row_limit, rows, s.rewrite_row_limit, s.rewrite_share, s.turn_limit)


@dataclass
class Refit:
    """Builds one view: writes objects nobody sees yet, then links them in one transaction, and removes the rest."""

    ctx: Context
    engine: Engine
    place: TableAtCommit
    made: list[NewObject] = field(default_factory=list)
    linked: set[ObjectId] | None = field(default_factory=set)
    """The objects that the catalogue now links; None while that is unknown."""

    def __enter__(self) -> Refit:
        return self

    def __exit__(self, *_: object) -> None:
        if self.linked is not None:
            self.ctx.discard([o for o in self.made if o.stored.id not in self.linked])

    def fold(self, groups: Sequence[Sequence[Run]]) -> tuple[Layer, ...]:
        """Fold each group of runs into one, and return the resulting layers."""
        found = [x for x in self.place.state.layers if x.view == "snapshot"]
        top = max((x.turn for x in found), default=0)
        for turn, group in enumerate(groups, top + 1):
            inside = tuple(x for run in group for x in run.layers)
            objects = [x.object for x in inside] if len(group) == 1 else self._folded(inside)
            found += [Layer(turn, o, "fold") for o in objects]
        return tuple(found)

    def rewrite(self, layers: Sequence[Layer], chosen: Sequence[Layer]) -> tuple[Layer, ...]:
        """Rewrite the chosen files with all changes applied, and return the resulting layers."""
        top = max((x.turn for x in layers), default=0) + 1
        deltas = [x for x in layers if x.object.kind != "rows"]
        found = [*folding.kept_layers(layers, chosen)]
        for near in folding.neighbours(chosen, found):
            for batch in self._batches(near):
                batch.sort(key=lambda x: x.object.key_range.low if x.object.key_range else ())
                found += [Layer(top, o, "snapshot") for o in self._rows((*batch, *deltas))]
        return tuple(found)

    def publish(self, layers: Sequence[Layer], kind: ViewKind) -> bool:
        """Write the view; False if someone else was faster."""
        shown = [x for x in layers if kind == "snapshot" or x.view != "snapshot"]
        ranks = {turn: n for n, turn in enumerate(sorted({x.turn for x in shown}), kind == "fold")}
        state, place = self.place.state, self.place
        kept, rest = unchanged_manifests(as_layers(state.layers), shown)
        direct = [(ranks[x.turn], x.object.id) for x in rest]
        known = {x.object.id: x.object for x in (*kept, *rest)}
        links, manifests = gathered(self.ctx, direct, known)
        links = (*((ranks[x.turn], x.object.id) for x in kept), *links)
        self.made += manifests
        since = place.since if kind == "fold" else None
        wanted = {id_ for _, id_ in links} | {x.object.id for x in shown}
        new = tuple(o for o in self.made if o.stored.id in wanted)
        shows = {id_: known[id_] for _, id_ in links if id_ in known}
        view = LateView(ViewId(new_id("v")), state.id, kind, place.at, since, links, state.row_count, new, shows)
        written = self._write(view)
        self.linked = wanted if written else set()
        log.debug("%s of table %r: %d objects, %d of them new", kind, state.name, len(links), len(new))
        return written

    def _write(self, view: LateView) -> bool:
        self.linked = None
        try:
            with self.ctx.catalog.write() as cx:
                written = views.write(cx, view)
                self.ctx.check_there(view.objects if written else ())
            return written
        except OutcomeUnknown:
            raise
        except AnabranchError:
            self.linked = set()
            raise

    def _folded(self, layers: tuple[Layer, ...]) -> list[StoredObject]:
        """Fold layers to one change per key, plus the rows that were inserted and remain."""
        kinds = {x.object.kind for x in layers}
        made = self._rows(layers) if "rows" in kinds else []
        return made if kinds == {"rows"} else [*made, *self._changes(layers)]

    def _rows(self, layers: tuple[Layer, ...]) -> list[StoredObject]:
        schema, part = self.place.state.schema, self._part(layers)
        access = self._access(layers)
        with reading(self.ctx, part):
            applied = whole_rows(self.ctx, part, schema.stored, access) if self.engine.in_process else None
            rows = scan(self.ctx, part, schema.stored, access) if applied is None else Rows(applied)
            largest = max(x.object.row_count for x in layers if x.object.kind == "rows")
            return self._store(rows, "rows", schema.columns, folding.rows_in(layers, "rows"), largest)

    def _changes(self, layers: tuple[Layer, ...]) -> list[StoredObject]:
        schema, part = self.place.state.schema, self._part(layers)
        ids = {c for x in layers if x.object.kind == "update" for c in x.object.touched}
        cells = [c for c in schema.plain_columns if c.id in ids]
        keys = [str(c.id) for c in schema.key_columns]
        with scratch(self.ctx, self.engine) as scratchpad, reading(self.ctx, part):
            query = folded(part, cells, self._access(layers))
            kept = scratchpad.keep(query, compared_pairs(schema, cells), schema.key_columns)
            touched = touched_columns(self.engine, kept, cells)
            found: list[StoredObject] = []
            if touched:
                names = [*keys, *(n for c in touched for n in (str(c.id), c.before))]
                found += self._store(kept.of_kind(UPDATE, names), "update", touched, kept.row_count)
            gone = kept.of_kind(DELETE, keys)
            return found + self._store(gone, "delete", schema.columns, kept.row_count)

    def _access(self, layers: Sequence[Layer]) -> Access:
        """Access objects that are to be rewritten; they are hashed again, even if read before."""
        found = self.ctx.access(layers, self._pending)
        self.ctx.sound.before_rewrite(found.uris.values())
        return found

    def _part(self, layers: tuple[Layer, ...]) -> TableState:
        return replace(self.place.state, layers=layers)

    def _store(
        self, rows: Query | Rows, kind: ObjectKind, touched: Sequence[Column], most: int, file_rows: int = 0
    ) -> list[StoredObject]:
        """Store at most `most` rows in files of the usual size, or of the larger size that Spark wrote."""
        state = self.place.state
        by_key = tuple(str(k) for k in state.schema.key_ids)
        cluster = (layout_of(state).cluster if kind == "rows" else ()) or by_key
        proper = max(self.ctx.settings.objects.file_row_limit, min(file_rows, self.ctx.settings.spark.file_row_limit))
        layout = Layout(cluster, files=max(1, -(-most // proper)), file_rows=proper)
        new = store(self.ctx, self.engine, rows, ObjectForm(kind, state.schema, touched), layout)
        self.made += new
        return [o.stored for o in new]

    @property
    def _pending(self) -> dict[ObjectId, bytes]:
        return contents_of(self.made)

    def _batches(self, chosen: Sequence[Layer]) -> list[list[Layer]]:
        """Group files to rewrite together: all of them on Spark, as many as fit into memory in the process."""
        found: list[list[Layer]] = []
        rows = 0
        most = REWRITTEN_FILES_AT_ONCE * self.ctx.settings.objects.file_row_limit
        # Small files come last, so that they share a batch.
        for layer in sorted(chosen, key=lambda x: -x.object.row_count):
            rows += layer.object.row_count
            if not found or (self.engine.in_process and rows > most):
                found.append([])
                rows = layer.object.row_count
            found[-1].append(layer)
        return found
