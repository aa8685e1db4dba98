"""Find and remove what nothing needs: unreachable commits, views that no ref reads, unlinked objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sqlalchemy import Connection, delete, func, select, update

from anabranch.catalog import branches, entries, history, open_commits, open_merges, views
from anabranch.catalog import tables as t
from anabranch.catalog.objects import chunks
from anabranch.catalog.remote_tables import layers, remote_branches
from anabranch.model.clock import Position
from anabranch.model.garbage import Doomed, ViewRecord
from anabranch.model.ids import LineId, RepositoryId, ThingId, ViewId
from anabranch.plan.history import reached

_SAID = (t.commits, t.merge_edges, t.provenance, t.facts, t.entries, t.names, t.changes, t.change_references)
_BY_POSITION = (*_SAID, t.views)
"""The tables whose rows each belong to one commit."""


def read_points(cx: Connection, repository: RepositoryId) -> set[Position]:
    """The commits that are read as they are: shown by branches, tags, remotes or builds, or with open work on them."""
    found = {b.position for b in branches.all_heads(cx, repository)}
    found.update(branches.tag_positions(cx, repository))
    found.update(r.parent for r in open_commits.all_records(cx, repository))
    for table in (remote_branches, layers):
        rows = cx.execute(select(table.c.line_id, table.c.commit_index).where(table.c.repository_id == repository))
        found.update(Position(LineId(line), index) for line, index in rows)
    for record in open_merges.all_records(cx, repository):
        for source in record.sources:
            found.update(history.by_hash(cx, repository, source.partition(" ")[0]))
    return found


def unreached_commits(cx: Connection, repository: RepositoryId, moved_since: int) -> dict[LineId, range]:
    """Find the ends of lines that no read point reaches, nor any move of a branch since a time."""
    roots = read_points(cx, repository) | _moved(cx, repository, moved_since)
    reach = reached(history.Lines(cx), *roots)
    c = t.commits.c
    tops = select(c.line_id, func.max(c.commit_index)).where(c.repository_id == repository).group_by(c.line_id)
    ends = {LineId(line): range(reach.get(LineId(line), -1) + 1, top + 1) for line, top in cx.execute(tops)}
    return {line: gone for line, gone in ends.items() if gone}


def last_line(cx: Connection, doomed: Mapping[LineId, range]) -> LineId:
    """One of these lines that none of the others springs from."""
    c = t.lines.c
    parents: set[LineId] = set()
    for chunk in chunks(sorted(doomed)):
        parents.update(LineId(line) for line in cx.scalars(select(c.parent_line).where(c.id.in_(chunk))) if line)
    return min(doomed.keys() - parents, default=min(doomed))


def _moved(cx: Connection, repository: RepositoryId, since: int) -> set[Position]:
    """The commits that branches left or came to since a time, if they still exist."""
    m, c = t.branch_moves.c, t.commits.c
    found: set[Position] = set()
    for line, index in ((m.from_line, m.from_index), (m.to_line, m.to_index)):
        there = select(line, index).join(t.commits, (c.line_id == line) & (c.commit_index == index))
        rows = cx.execute(there.where(m.repository_id == repository, m.moved_at >= since))
        found.update(Position(LineId(x), n) for x, n in rows)
    return found


def view_records(cx: Connection, repository: RepositoryId) -> list[ViewRecord]:
    """List all views of a repository."""
    v, c = t.views.c, t.commits.c
    query = select(t.views, (v.created_at == c.finished_at).label("is_first"))
    query = query.join(t.commits, (c.line_id == v.line_id) & (c.commit_index == v.commit_index))
    return [
        ViewRecord(
            ViewId(r.id),
            ThingId(r.thing_id),
            r.kind,
            Position(LineId(r.line_id), r.commit_index),
            Position(LineId(r.since_line), r.since_index) if r.since_line else None,
            r.created_at,
            bool(r.is_first),
        )
        for r in cx.execute(query.where(c.repository_id == repository))
    ]


def views_read(cx: Connection, points: Iterable[Position], things: Sequence[ThingId]) -> set[ViewId]:
    """Find the views that some tables are read from at some commits; none for a dropped table."""
    found: set[ViewId] = set()
    for point in points:
        clock = history.clock(cx, point)
        for thing, entry in entries.find_entries(cx, clock, things).items():
            if not entry.dropped:
                found.update(view for _, (view, _) in views.serving(cx, clock, thing))
    return found


def remove(cx: Connection, doomed: Doomed) -> None:
    """Remove commits and views from the catalogue, with all that belongs to them."""
    v = t.views.c
    for line, gone in doomed.commits.items():
        on_end = select(v.id).where(v.line_id == line, v.commit_index >= gone.start)
        cx.execute(delete(t.view_objects).where(t.view_objects.c.view_id.in_(on_end)))
        for table in _BY_POSITION:
            cx.execute(delete(table).where(table.c.line_id == line, table.c.commit_index >= gone.start))
        _shorten(cx, line, gone.start)
    for chunk in chunks(sorted(doomed.views)):
        cx.execute(delete(t.view_objects).where(t.view_objects.c.view_id.in_(chunk)))
        cx.execute(delete(t.views).where(v.id.in_(chunk)))
    if doomed.views:
        _remove_useless_folds(cx)


def _remove_useless_folds(cx: Connection) -> None:
    """Remove folds on snapshots that are gone: somebody made them after it was found that nobody needs those."""
    fold, snapshot = t.views.c, t.views.alias("snapshots")
    on = snapshot.c
    same = (on.thing_id == fold.thing_id, on.line_id == fold.since_line, on.commit_index == fold.since_index)
    there = select(on.id).where(on.kind == "snapshot", *same)
    useless = list(cx.scalars(select(fold.id).where(fold.kind == "fold", ~there.exists())))
    for chunk in chunks(useless):
        cx.execute(delete(t.view_objects).where(t.view_objects.c.view_id.in_(chunk)))
        cx.execute(delete(t.views).where(fold.id.in_(chunk)))


def _shorten(cx: Connection, line: LineId, length: int) -> None:
    """Detach a line that lost its end from its branch, so that no index is given twice."""
    here = t.lines.c.id == line
    if length:
        cx.execute(update(t.lines).where(here).values(tip=length - 1, branch_id=""))
    else:
        cx.execute(delete(t.lines).where(here))


def forget_branches(cx: Connection, repository: RepositoryId, moved_since: int) -> None:
    """Forget the moves of branches that were deleted before a time."""
    m, there = t.branch_moves.c, select(t.branches.c.id).where(t.branches.c.repository_id == repository)
    gone = select(m.branch_id).where(m.repository_id == repository, m.branch_id.not_in(there))
    gone = gone.group_by(m.branch_id).having(func.max(m.moved_at) < moved_since)
    cx.execute(delete(t.branch_moves).where(m.branch_id.in_(gone)))
