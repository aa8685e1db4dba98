"""Views as the catalogue keeps them, the layers of a table at a commit, and what a process has read of them."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from anabranch.catalog import objects
from anabranch.catalog.later import Connection, sa, t
from anabranch.catalog.manifests import changed, changed_id, in_order, listing
from anabranch.catalog.prepared import looked_up, prepared
from anabranch.catalog.store import now
from anabranch.errors import Corrupt, Unavailable
from anabranch.model.clock import Clock, Position
from anabranch.model.ids import LineId, ObjectId, ThingId, ViewId
from anabranch.model.layers import Layers, ReadManifest
from anabranch.model.objects import Layer, StoredObject, ViewKind
from anabranch.settings import KNOWN_OBJECTS_LIMIT

if TYPE_CHECKING:
    from anabranch.model.content import LateView

Turned = list[tuple[int, ObjectId]]


_objects = looked_up("ana_view_objects", "turn object_id", order="number", view_id="view")


def _on_line(kind: ViewKind) -> sa.Select[Any]:
    """The views of a table on a line; of several at one commit, the one made last is best."""
    v = t.views.c
    query = sa.select(v.id, v.commit_index).where(
        v.thing_id == sa.bindparam("thing"), v.line_id == sa.bindparam("line")
    )
    query = query.where(v.kind == kind).order_by(v.commit_index.desc(), v.created_at.desc(), v.id.desc())
    return query.limit(1)


@prepared
def _snapshot() -> Any:
    return _on_line("snapshot").where(t.views.c.commit_index <= sa.bindparam("at"))


@prepared
def _fold() -> Any:
    v = t.views.c
    query = _on_line("fold").where(v.commit_index.between(sa.bindparam("low"), sa.bindparam("high")))
    return query.where(v.since_line == sa.bindparam("since_line"), v.since_index == sa.bindparam("since_index"))


def _changes_of_table() -> sa.ColumnElement[bool]:
    c = t.changes.c
    return (c.thing_id == sa.bindparam("thing")) & (c.line_id == sa.bindparam("line"))


@prepared
def _changes_on_line() -> Any:
    c = t.changes.c
    query = sa.select(c.line_id, c.commit_index, c.step, c.object_id).where(_changes_of_table())
    query = query.where(c.commit_index.between(sa.bindparam("low"), sa.bindparam("high")))
    return query.order_by(c.commit_index, c.number)


@prepared
def _listed_on_line() -> Any:
    c = t.changes.c
    query = sa.select(c.step, changed_id()).select_from(changed()).where(_changes_of_table())
    return query.where(c.commit_index == sa.bindparam("at")).order_by(*in_order())


def layers(cx: Connection, at: Clock, thing: ThingId, known: ObjectCache) -> Layers:
    """Find the newest snapshot at or before a commit, the newest fold on it, and the changes since."""
    found = Layers()
    newest: tuple[ViewId, Position] | None = None
    for kind, newest in serving(cx, at, thing):
        found = Layers.over(found, _view(cx, newest[0], kind, max(found.top, 0), known))
    since = newest[1] if newest else None
    return Layers.over(found, changes_after(cx, at, thing, since, max(found.top, 0), known))


def changes_after(
    cx: Connection, at: Clock, thing: ThingId, base: Position | None, above: int, known: ObjectCache
) -> Layers:
    """The changes after a commit, or all, whatever views show, with turns above a number."""
    changes = _changes(cx, at, thing, base, above)
    learn(cx, [id_ for _, id_ in changes], known)
    return Layers((Layer(turn, known[id_]) for turn, id_ in changes), known.read_manifest)


def _view(cx: Connection, view: ViewId, kind: ViewKind, above: int, known: ObjectCache) -> Layers:
    """The layers of a view, read once."""
    found = known.view(view, above)
    if found is not None:
        return found
    turned = [(above + row.turn, ObjectId(row.object_id)) for row in _objects(cx, {"view": view})]
    if sum(id_ not in known for _, id_ in turned) > _MANY:
        known.update(objects.of_view(cx, view))
    learn(cx, [id_ for _, id_ in turned], known)
    linked = (Layer(turn, known[id_], kind) for turn, id_ in turned)
    return known.keep_view(view, above, Layers(linked, known.read_manifest))


_MANY = 200
"""Above this many unknown objects, all objects of the view are read in one statement."""


def serving(cx: Connection, at: Clock, thing: ThingId) -> list[tuple[ViewKind, tuple[ViewId, Position]]]:
    """Find the views that a table at a commit is read from: the newest snapshot, and the newest fold on it."""
    snapshot = newest_snapshot(cx, at, thing)
    fold = _newest_fold(cx, at, thing, snapshot[1]) if snapshot else None
    found: list[tuple[ViewKind, tuple[ViewId, Position] | None]] = [("snapshot", snapshot), ("fold", fold)]
    return [(kind, view) for kind, view in found if view]


def newest_snapshot(cx: Connection, at: Clock, thing: ThingId) -> tuple[ViewId, Position] | None:
    """Find the newest snapshot of a table at or before a commit."""
    for line, index in at.positions:
        row = _snapshot(cx, {"thing": thing, "line": line, "at": index}).first()
        if row:
            return ViewId(row.id), Position(line, row.commit_index)
    return None


def _newest_fold(cx: Connection, at: Clock, thing: ThingId, since: Position) -> tuple[ViewId, Position] | None:
    """Find the newest fold of the changes since a snapshot; one that begins before it is of no use."""
    on = {"thing": thing, "since_line": since.line, "since_index": since.index}
    for line, low, high in reversed(at.since(since)):
        row = _fold(cx, {**on, "line": line, "low": low, "high": high}).first()
        if row:
            return ViewId(row.id), Position(line, row.commit_index)
    return None


def _changes(cx: Connection, at: Clock, thing: ThingId, base: Position | None, above: int) -> Turned:
    """The changes after a view; each step of each commit has its own turn."""
    turns: dict[tuple[str, int, int], int] = {}
    found: Turned = []
    for line, low, high in _ranges(at, base):
        for row in _changes_on_line(cx, {"thing": thing, "line": line, "low": low, "high": high}):
            turn = turns.setdefault((row.line_id, row.commit_index, row.step), above + len(turns) + 1)
            found.append((turn, ObjectId(row.object_id)))
    return found


def change_layers(cx: Connection, at: Position, thing: ThingId, first: int, known: ObjectCache) -> tuple[Layer, ...]:
    """The change of one commit, step by step, its turns counted from `first`."""
    rows = _listed_on_line(cx, {"thing": thing, "line": at.line, "at": at.index}).all()
    learn(cx, [ObjectId(row.object_id) for row in rows], known)
    turns = {step: first + n for n, step in enumerate(sorted({row.step for row in rows}))}
    return tuple(Layer(turns[row.step], known[ObjectId(row.object_id)]) for row in rows)


def change_objects(cx: Connection, at: Position, known: ObjectCache) -> list[tuple[ThingId, StoredObject]]:
    """List the change objects of one commit, with their tables."""
    rows = _change_objects(cx, {"line": at.line, "at": at.index}).all()
    learn(cx, [ObjectId(row.object_id) for row in rows], known)
    return [(ThingId(row.thing_id), known[ObjectId(row.object_id)]) for row in rows]


@prepared
def _change_objects() -> Any:
    c = t.changes.c
    query = sa.select(c.thing_id, changed_id()).select_from(changed()).order_by(c.thing_id, *in_order())
    return query.where(c.line_id == sa.bindparam("line"), c.commit_index == sa.bindparam("at"))


def _ranges(at: Clock, base: Position | None) -> list[tuple[LineId, int, int]]:
    """The stretches of lines since the view, oldest first; the whole path if there is none."""
    if base is not None:
        return list(at.since(base))
    return [(p.line, 0, p.index) for p in reversed(at.positions)]


def learn(cx: Connection, wanted: list[ObjectId], known: ObjectCache) -> None:
    """Load the objects that are not known yet."""
    missing = [id_ for id_ in wanted if id_ not in known]
    known.update(described(cx, missing, known))
    gone = [id_ for id_ in missing if id_ not in known]
    if gone:
        raise Corrupt(f"the catalogue links object {gone[0]} but does not have it", hint="restore it from a backup")


def described(cx: Connection, ids: list[ObjectId], known: ObjectCache) -> dict[ObjectId, StoredObject]:
    """Find objects by their own rows, or in the manifests that list them, leaving out those that are gone."""
    found = objects.find(cx, ids)
    listed = listing(cx, [id_ for id_ in ids if id_ not in found])
    for manifest in objects.find(cx, sorted(set(listed.values()))).values():
        assert known.read_manifest is not None
        inside = {o.id: o for o in known.read_manifest(manifest)}
        found |= {id_: inside[id_] for id_, by in listed.items() if by == manifest.id and id_ in inside}
    return found


def write(cx: Connection, view: LateView) -> bool:
    """Write a view of a published commit; False if another writer has already made the same fold.

    Locks no row that a publishing writer waits for.
    """
    from anabranch.catalog.liveness import leave_to_manifests  # it needs all of SQLAlchemy

    v = t.views.c
    same = (v.thing_id == view.thing_id) & (v.line_id == view.at.line) & (v.commit_index == view.at.index)
    duplicates = cx.execute(sa.select(v.kind, v.since_line, v.since_index, v.created_at).where(same)).all()
    since = (view.since.line, view.since.index) if view.since else (None, None)
    if view.kind == "fold" and any((r.kind, r.since_line, r.since_index) == ("fold", *since) for r in duplicates):
        return False
    _check(cx, view)
    objects.insert(cx, view.objects)
    leave_to_manifests(cx, view.objects)
    values = {"id": view.id, "thing_id": view.thing_id, "kind": view.kind, "row_count": view.row_count}
    at = {"line_id": view.at.line, "commit_index": view.at.index, "since_line": since[0], "since_index": since[1]}
    made_at = max(now(cx), *(r.created_at + 1 for r in duplicates), 0)
    cx.execute(t.views.insert(), {**values, **at, "created_at": made_at})
    links = [{"view_id": view.id, "number": n, "turn": u, "object_id": o} for n, (u, o) in enumerate(view.links)]
    if links:
        cx.execute(t.view_objects.insert(), links)
    return True


def _check(cx: Connection, view: LateView) -> None:
    """Check that the commit and the linked objects still exist."""
    from anabranch.catalog.liveness import link_rows

    c = t.commits.c
    here = (c.line_id == view.at.line) & (c.commit_index == view.at.index)
    if not cx.scalar(sa.select(sa.func.count()).select_from(t.commits).where(here)):
        message = f"the commit of view {view.id} is not there any more"
        raise Unavailable(message, hint="it was collected, or the repository was dropped")
    new = {o.stored.id for o in view.objects}
    objects.hold(cx)
    if view.since is not None and not _is_snapshot(cx, view.thing_id, view.since):
        message = f"the snapshot that view {view.id} is a fold on was collected meanwhile"
        raise Unavailable(message, hint="try again, and let gc run with a longer grace")
    gone = link_rows(cx, [o for id_, o in view.described.items() if id_ not in new])
    if gone:
        raise Unavailable(f"{len(gone)} objects of a view were collected meanwhile", hint="try again")


def _is_snapshot(cx: Connection, thing: ThingId, at: Position) -> bool:
    v = t.views.c
    here = (v.thing_id == thing) & (v.line_id == at.line) & (v.commit_index == at.index) & (v.kind == "snapshot")
    return bool(cx.scalar(sa.select(sa.func.count()).select_from(t.views).where(here)))


class ObjectCache(dict[ObjectId, StoredObject]):
    """Objects by id. The limits grow with what was read last, so a table of any size fits."""

    def __init__(self) -> None:
        super().__init__()
        self.read_manifest: ReadManifest | None = None
        """Reads the objects that a manifest lists; the catalogue does not hold its bytes."""
        self._views: OrderedDict[tuple[ViewId, int], Layers] = OrderedDict()

    def view(self, id_: ViewId, above: int) -> Layers | None:
        """The layers of a view above a number of turns, if they were read before."""
        found = self._views.get((id_, above))
        if found is not None:
            self._views.move_to_end((id_, above))
        return found

    def keep_view(self, id_: ViewId, above: int, layers: Layers) -> Layers:
        """Keep the layers of a view, dropping those least recently used."""
        self._views[(id_, above)] = layers
        most = max(4 * KNOWN_OBJECTS_LIMIT, len(layers))
        while sum(map(len, self._views.values())) > most:
            self._views.popitem(last=False)
        return layers

    def forget(self) -> None:
        """Forget everything, because objects have moved."""
        self.clear()
        self._views.clear()

    def make_room(self, read: Layers) -> None:
        """If there are too many objects, forget all but those of the table just read."""
        if len(self) > max(KNOWN_OBJECTS_LIMIT, 2 * len(read)):
            kept = dict(read.objects)
            self.clear()
            self.update(kept)
