"""gc: remove what no commit, ref, open commit or open merge needs: first rows, in one transaction, then files.

An unlinked object is kept for a time of grace, since someone may still read it; so is a file unknown to the catalogue,
since someone may be about to publish it. Publishing checks both again.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from anabranch.catalog import garbage, liveness, objects, views
from anabranch.catalog.objects import NamedFiles
from anabranch.catalog.store import Connection, lock_repository, now
from anabranch.errors import Unavailable
from anabranch.model.garbage import Ages, Collected, Doomed, Garbage, Kind, Loose, ViewRecord, added_up
from anabranch.model.ids import ObjectId, ViewId
from anabranch.objects.root import FoundFile
from anabranch.plan.folding import superseded
from anabranch.repo.context.context import Context
from anabranch.settings import COLLECTED_AT_ONCE, COLLECTED_VIEWS_ON_FULL_DISK

log = logging.getLogger("anabranch.repo.upkeep.gc")


@dataclass(frozen=True)
class Found:
    """What gc found in the catalogue."""

    doomed: Doomed
    loose: tuple[Loose, ...]

    def due(self, before: int) -> list[Loose]:
        """The objects that have been unlinked since before a given time."""
        return [x for x in self.loose if x.since <= before]


def gc(ctx: Context, ages: Ages, dry_run: bool, take_over: bool = False) -> Collected:
    """Remove what nothing needs, or report what would be removed; refused if another catalogue may need it.

    With `take_over`, a person says that no other catalogue uses the object root.
    """
    if take_over:
        if not dry_run:
            ctx.owner.take_over()
    elif not ctx.owner.check():
        if not dry_run:
            ctx.owner.renew()
        found = _collect(ctx, replace(ages, grace=timedelta.max // 1000), dry_run)
        return replace(found, notes=(*found.notes, _FIRST))
    if dry_run:
        return _collect(ctx, ages, dry_run)
    found = _collect_with_or_without_room(ctx, ages)
    ctx.catalog.keep_room()
    return found


_FIRST = (
    "files and objects are left until a day after the first token was laid: this store is older than the tokens by "
    "which a root tells whose it is, and a copy of it may be in use; if there is none, `ana gc --take-over` "
    "does not wait"
)


def _collect_with_or_without_room(ctx: Context, ages: Ages) -> Collected:
    """Collect all at once; on a full disk first what takes no room, then so little at a time that it takes hardly any.

    Rows go before files there, too: the room that is kept beside the catalogue is enough for a few rows.
    """
    try:
        return _collect(ctx, ages, dry_run=False)
    except Unavailable as error:
        if not _is_full(error):
            raise
    copies = ctx.root.left_behind()
    for name, _ in copies:
        ctx.root.remove_left_behind(name)
    ctx.catalog.give_room_back()
    done, at_once = [Collected((_sum("copies", [n for _, n in copies]),), dry_run=False)], COLLECTED_VIEWS_ON_FULL_DISK
    while not done[1:] or done[-1].is_anything:
        try:
            done.append(_collect(ctx, ages, dry_run=False, at_once=at_once))
            at_once *= 4
        except Unavailable as error:
            if not _is_full(error) or at_once == 1:
                raise
            at_once //= 4
    return added_up([*done, _collect(ctx, ages, dry_run=False)])


def _is_full(error: Unavailable) -> bool:
    return bool(error.facts.get("is_full"))


def _collect(ctx: Context, ages: Ages, dry_run: bool, at_once: int | None = None) -> Collected:
    with ctx.catalog.read() as cx:
        moment = now(cx)
        found = _find(ctx, cx, ages, moment, at_once)
    before = moment - _micros(ages.grace)
    others = ctx.root.other_stores()
    files = [] if others else _unknown_files(ctx, {x.object.path for x in found.due(before)}, ages.grace)
    if not dry_run:
        _remove_files(ctx, [f.path for f in files])  # takes no room, and what follows may need some
        with ctx.catalog.write() as cx:
            found = _remove(ctx, cx, found, ages, moment, at_once)
    due = [x.object.path for x in found.due(before) if x.object.path]
    copies = ctx.root.left_behind()
    if not dry_run:
        _remove_files(ctx, due)
        if due or files:
            ctx.owner.renew()
        for name, _ in copies:
            ctx.root.remove_left_behind(name)
        ctx.catalog.compact(rewrites=at_once is None)
    described = (
        *_garbage_of(found, before),
        _sum("files", [f.size_bytes for f in files]),
        _sum("copies", [n for _, n in copies]),
    )
    return Collected(described, dry_run, tuple(_shared(name) for name in others))


def _find(ctx: Context, cx: Connection, ages: Ages, moment: int, at_once: int | None = None) -> Found:
    """Look for garbage, without changing anything; for so many views and objects of it, if that is given."""
    repository = ctx.record.id
    commits = garbage.unreached_commits(cx, repository, moment - _micros(ages.reflog))
    views_made = garbage.view_records(cx, repository)
    along = {v.id for v in views_made if v.at.index in commits.get(v.at.line, ())}
    there = [v for v in views_made if v.id not in along]
    things = sorted({v.thing_id for v in there if not v.is_first})
    read = garbage.views_read(cx, garbage.read_points(cx, repository), things) if things else set()
    doomed = Doomed(commits, superseded(there, read, ages.views, moment) | along)
    if at_once is not None:
        doomed = _first_of(cx, doomed, along, views_made, at_once)
    linked = liveness.linked_by(cx, doomed)
    gone = linked.keys() - liveness.alive(cx, linked, doomed)
    found = views.described(cx, sorted(gone), ctx.known_objects)
    unlinked = sorted(liveness.unlinked(cx), key=lambda x: x.since)[:at_once]
    listed = _listed(ctx, cx, [x for x in unlinked if x.object.kind == "manifest" and x.object.id not in found], doomed)
    loose = (*unlinked, *listed, *(Loose(o, linked[o.id], moment) for o in found.values()))
    return Found(doomed, _with_packs(ctx, cx, loose, doomed))


def _first_of(
    cx: Connection, doomed: Doomed, along: set[ViewId], views_made: Sequence[ViewRecord], at_once: int
) -> Doomed:
    """So many of the views that go by themselves; if there are none, of the commits at the end of a line."""
    by_themselves = sorted(doomed.views - along)[:at_once]
    if by_themselves or not doomed.commits:
        return Doomed(views=frozenset(by_themselves))
    line = garbage.last_line(cx, doomed.commits)
    gone = doomed.commits[line]
    end = range(max(gone.start, gone.stop - at_once), gone.stop)
    views = frozenset(v.id for v in views_made if v.at.line == line and v.at.index in end)
    return Doomed({line: end}, views)


def _with_packs(ctx: Context, cx: Connection, loose: Sequence[Loose], doomed: Doomed) -> tuple[Loose, ...]:
    """These objects, and the packs that nothing else needs; a pack goes when the last of them does."""
    found = new = {x.object.id: x for x in loose}
    needing: dict[ObjectId, list[ObjectId]] = {}
    while new:
        for pack, ids in liveness.packs_of(cx, sorted(new)).items():
            needing.setdefault(pack, []).extend(ids)
        left = needing.keys() - found.keys()
        gone = left - liveness.alive(cx, left, replace(doomed, objects=frozenset(found)))
        lasts = {id_: max((found[by] for by in needing[id_]), key=lambda x: x.since) for id_ in gone}
        packs = objects.find(cx, sorted(gone)).values()
        new = {pack.id: replace(lasts[pack.id], object=pack) for pack in packs}
        found = {**found, **new}
    return tuple(found.values())


def _listed(ctx: Context, cx: Connection, manifests: Sequence[Loose], doomed: Doomed) -> list[Loose]:
    """The objects listed only by unlinked manifests; they go when the manifest does."""
    found = {o.id: Loose(o, x.kind, x.since) for x in manifests for o in ctx.read_manifest(x.object)}
    kept = liveness.alive(cx, found, doomed) | objects.find(cx, sorted(found)).keys()
    return [x for id_, x in found.items() if id_ not in kept]


def _remove(ctx: Context, cx: Connection, found: Found, ages: Ages, moment: int, at_once: int | None = None) -> Found:
    """Remove what was found from the catalogue, except what someone needs by now."""
    repository, reflog = ctx.record.id, moment - _micros(ages.reflog)
    lock_repository(cx, repository)
    objects.seize(cx)
    if found.doomed.commits and found.doomed.commits != garbage.unreached_commits(cx, repository, reflog):
        found = _find(ctx, cx, ages, moment, at_once)
    doomed = found.doomed
    garbage.remove(cx, doomed)
    garbage.forget_branches(cx, repository, reflog)
    left = Found(doomed, _unneeded(cx, found.loose))
    due = left.due(moment - _micros(ages.grace))
    objects.let_go(cx, [x.object.id for x in left.loose if x.kind != "objects"])
    objects.remove(cx, [x.object.id for x in due])
    objects.remove_schemas(cx)
    log.debug("gc: %d commits, %d views, %d objects", doomed.commit_count, len(doomed.views), len(due))
    return left


def _unneeded(cx: Connection, loose: Sequence[Loose]) -> tuple[Loose, ...]:
    """What nothing needs but others among them; whatever is needed by now needs packs in its turn."""
    left = {x.object.id: x for x in loose}
    while needed := liveness.alive(cx, left, Doomed(objects=frozenset(left))):
        left = {id_: x for id_, x in left.items() if id_ not in needed}
    return tuple(left.values())


def _unknown_files(ctx: Context, due: Collection[str | None], grace: timedelta) -> list[FoundFile]:
    """Find files that no repository of the store names, and that are past the time of grace by this machine's clock."""
    before = time.time_ns() // 1000 - _micros(grace)
    found = {f.path: f for f in ctx.root.files() if f.changed_at <= before and f.path not in due}
    named = NamedFiles(ctx.read_manifest)
    with ctx.catalog.read() as cx:
        for path in named.paths(cx):
            found.pop(path, None)
    return list(found.values())


def _remove_files(ctx: Context, paths: Sequence[str]) -> None:
    """Remove files, except those the catalogue names by now; none can be named while this runs."""
    named = NamedFiles(ctx.read_manifest)
    for start in range(0, len(paths), COLLECTED_AT_ONCE):
        chunk = set(paths[start : start + COLLECTED_AT_ONCE])
        ctx.owner.check_tokens()  # somebody else may have begun to write there
        with ctx.catalog.write() as cx:
            objects.seize(cx)
            ctx.root.collect(sorted(chunk.difference(named.paths(cx))))


def _garbage_of(found: Found, before: int) -> Iterable[Garbage]:
    due = {x.object.id for x in found.due(before)}
    counts: dict[Kind, int] = {"commits": found.doomed.commit_count, "views": len(found.doomed.views)}
    kinds: tuple[Kind, ...] = ("commits", "views", "objects")
    for kind in kinds:
        mine = [x.object for x in found.loose if x.kind == kind]
        freed = [o.size_bytes for o in mine if o.id in due]
        later = sum(o.size_bytes for o in mine) - sum(freed)
        yield Garbage(kind, counts.get(kind, len(freed)), sum(freed), later)


def _sum(kind: Kind, sizes: Sequence[int]) -> Garbage:
    return Garbage(kind, len(sizes), sum(sizes))


def _shared(store: str) -> str:
    return f"files that nothing names are left: the object root is shared with store {store} (its folder `stores/`)"


def _micros(age: timedelta) -> int:
    return age // timedelta(microseconds=1)
