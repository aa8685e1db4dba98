"""Publishing: one transaction that writes all of a commit and moves the branch, or does nothing."""

from __future__ import annotations

import logging
from collections.abc import Sequence, Set
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, Table, bindparam, select, update

from anabranch.catalog import branches, entries, history, moves, objects, open_commits, open_merges
from anabranch.catalog import tables as t
from anabranch.catalog.liveness import leave_to_manifests, link_rows
from anabranch.catalog.manifests import listing
from anabranch.catalog.moves import HeadMoved, Move, MoveListener
from anabranch.catalog.store import is_ahead, lock_repository, next_time, now
from anabranch.errors import AlreadyExists, BranchMoved, Unavailable
from anabranch.model.clock import Clock, Position
from anabranch.model.commits import BranchHead, CommitHead
from anabranch.model.content import Content, NameBinding, Publication
from anabranch.model.files import files_thing
from anabranch.model.ids import ROOT_NAMESPACE, LineId, ObjectId, RepositoryId, ThingId, new_id
from anabranch.model.tables import Entry
from anabranch.plan.hashing import RECIPE, commit_hash

log = logging.getLogger("anabranch.catalog.publish")


def publish(
    cx: Connection, publication: Publication, store_id: str, depth_limit: int, listeners: Sequence[MoveListener] = ()
) -> CommitHead:
    """Write the commit and move the branch to it; raise HeadMoved if the branch is not where it was expected."""
    repository, branch = publication.repository, publication.branch
    lock_repository(cx, repository)
    found = branches.find(cx, repository, branch.name) or branches.find_by_id(cx, branch.id)
    if publication.creates_branch and found is None:
        if branches.kind_named(cx, repository, branch.name):
            raise AlreadyExists(f"there is a tag {branch.name!r}", hint="delete the tag, or choose another branch")
        making = moves.new_branch(repository, branch.name, branch.position, publication.author)
        moves.apply(cx, making, listeners)
        branch = making.branch
    elif found != branch:
        raise HeadMoved(found)
    if publication.open_commit and not open_commits.remove(cx, *publication.open_commit):
        hint = "look at the open commits and the log, then go on from there"
        raise BranchMoved(f"open commit {publication.open_commit[0]} was changed or finished elsewhere", hint=hint)
    if publication.open_merge and not open_merges.remove(cx, publication.open_merge):
        hint = "look at the open merges and the log, then go on from there"
        raise BranchMoved(f"open merge {publication.open_merge} was finished or aborted elsewhere", hint=hint)
    _check_links(cx, publication)
    finished_at = _finished_at(publication, now(cx))
    first = publication.parents[0]
    owner = publication.line_of or branch
    position, carries = _place(cx, repository, owner, first, store_id, depth_limit, publication.starts_line)
    made = CommitHead(
        position,
        publication.id,
        commit_hash(publication, finished_at, _bases(cx, publication)),
        1 + max(p.generation for p in publication.parents),
        finished_at,
    )
    write_commit(cx, publication, made)
    if carries:
        _carry(cx, publication, history.clock(cx, first.position), position)
    verb, author = publication.verb, publication.author
    move = Move(repository, branch, branch.position, position, author, verb, publication.id, finished_at)
    try:
        moves.apply(cx, move, listeners)
    except HeadMoved:
        # It was found and locked above, so only a writer that ignores the lock can have moved it.
        message = f"branch {branch.name!r} moved while it was locked"
        raise BranchMoved(message, hint="try again", branch=branch.name) from None
    return made


def _bases(cx: Connection, publication: Publication) -> dict[Position, str]:
    """The hashes of the commits that references start from."""
    wanted = {r.base for r in publication.content.references if r.base}
    found = {base: history.head(cx, base) for base in wanted}
    if lost := [base for base, head in found.items() if head is None]:
        message = f"commit {lost[0].index} of line {lost[0].line}, which this merge starts from, was collected"
        raise Unavailable(message, hint="start the merge again")
    return {base: head.hash for base, head in found.items() if head}


def _finished_at(publication: Publication, today: int) -> int:
    """The commit's time: not before its parents, unless one is so far ahead that a clock must be wrong."""
    latest = max(p.finished_at for p in publication.parents)
    if is_ahead(latest, today):
        log.warning(
            "a parent of the new commit on %r is of %s, but it is %s now: the clock was or is wrong (the new commit "
            "tells the time of now; check the clock)",
            publication.branch.name,
            history.to_datetime(latest).isoformat(" ", "seconds"),
            history.to_datetime(today).isoformat(" ", "seconds"),
        )
    return next_time(latest, today)


def write_root(cx: Connection, publication: Publication, store_id: str) -> CommitHead:
    """Write the first commit of a repository and make its branch."""
    branch = publication.branch
    line = _new_line(cx, publication.repository, branch, None, store_id, 0, 0)
    position = Position(line, 0)
    finished_at = now(cx)
    made = CommitHead(position, publication.id, commit_hash(publication, finished_at), 0, finished_at)
    write_commit(cx, publication, made)
    head = BranchHead(branch.name, branch.id, position)
    move = Move(publication.repository, head, None, position, publication.author, "init", publication.id)
    moves.record_first(cx, move, finished_at)
    return made


def write_commit(cx: Connection, publication: Publication, made: CommitHead) -> None:
    """Insert the rows of a commit."""
    line, index = made.position
    at = {"line_id": line, "commit_index": index}
    content = publication.content
    objects.insert_schemas(cx, content.schemas)
    objects.insert(cx, content.objects, made.finished_at)
    leave_to_manifests(cx, content.objects)
    cx.execute(
        _INSERTS[t.commits],
        {
            **at,
            "repository_id": publication.repository,
            "id": publication.id,
            "hash": made.hash,
            "generation": made.generation,
            "author": publication.author,
            "message": publication.message,
            "started_at": publication.started_at,
            "finished_at": made.finished_at,
            "is_merge": len(publication.parents) > 1,
            "recipe": RECIPE,
            "schemas": [s.id for s in content.schemas],
        },
    )
    _insert(cx, t.merge_edges, [_edge(at, made, n, p) for n, p in enumerate(publication.parents) if n])
    origins = [
        {**at, "number": n, "commit_hash": o.commit, "repository_id": o.repository, "role": o.role, "source": o.source}
        for n, o in enumerate(publication.provenance)
    ]
    _insert(cx, t.provenance, origins)
    _insert(cx, t.facts, [{**at, "key": key, "value": value} for key, value in publication.facts.items()])
    _insert(cx, t.entries, [_entry_values(at, e, carried=False) for e in content.entries])
    _insert(cx, t.names, [_name_values(publication.repository, at, n, carried=False) for n in content.names])
    links = [
        {**at, "thing_id": c.thing_id, "number": n, "step": c.steps[n] if c.steps else 0, "object_id": o}
        for c in content.changes
        for n, o in enumerate(c.objects)
    ]
    _insert(cx, t.changes, links)
    references = [
        {
            **at,
            "thing_id": r.thing_id,
            "parent_number": r.parent_number,
            "base_line": r.base.line if r.base else "",
            "base_index": r.base.index if r.base else 0,
            "exceptions_id": r.exceptions,
        }
        for r in content.references
    ]
    _insert(cx, t.change_references, references)
    new = {**at, "created_at": made.finished_at}
    views = [
        {**new, "id": v.id, "thing_id": v.thing_id, "kind": v.kind, "row_count": v.row_count} for v in content.views
    ]
    _insert(cx, t.views, views)
    shown = [
        {"view_id": v.id, "number": n, "turn": v.turns[n] if v.turns else 0, "object_id": o}
        for v in content.views
        for n, o in enumerate(v.objects)
    ]
    _insert(cx, t.view_objects, shown)


_INSERTS = {table: table.insert() for table in t.metadata.tables.values()}


def _insert(cx: Connection, table: Table, rows: list[dict[str, Any]]) -> None:
    if rows:
        cx.execute(_INSERTS[table], rows)


def _edge(at: dict[str, Any], made: CommitHead, number: int, parent: CommitHead) -> dict[str, Any]:
    return {
        **at,
        "number": number,
        "generation": made.generation,
        "parent_line": parent.position.line,
        "parent_index": parent.position.index,
        "parent_generation": parent.generation,
    }


def _entry_values(at: dict[str, Any], entry: Entry, *, carried: bool) -> dict[str, Any]:
    lists = {"operations": list(entry.operations), "attributes": dict(entry.attributes)}
    return {**at, **vars(entry), **lists, "carried": carried}


def _name_values(repository: RepositoryId, at: dict[str, Any], n: NameBinding, *, carried: bool) -> dict[str, Any]:
    return {**at, **vars(n), "repository_id": repository, "carried": carried}


def _check_links(cx: Connection, publication: Publication) -> None:
    """Refuse to link an object or merge a commit that was collected meanwhile."""
    wanted = publication.content.linked
    if wanted:
        objects.hold(cx)
    gone = _link_rows(cx, publication.content) if wanted else set()
    hint = "the work was open for too long; start it again"
    if gone:
        message = f"{len(gone)} objects of this commit were collected: {', '.join(sorted(gone)[:3])}"
        raise Unavailable(message, hint=hint)
    lost = [p.hash for p in publication.parents[1:] if history.head(cx, p.position) != p]
    if lost:
        raise Unavailable(f"a commit that is merged was collected: {lost[0]}", hint=hint)


_LINE = select(*(t.lines.c[name] for name in ("branch_id", "store_id", "start", "tip", "depth")))
_LINE = _LINE.where(t.lines.c.id == bindparam("line")).with_for_update()
_EXTEND = update(t.lines).where(t.lines.c.id == bindparam("line")).values(tip=bindparam("next"))


def _place(
    cx: Connection,
    repository: RepositoryId,
    branch: BranchHead,
    parent: CommitHead,
    store_id: str,
    depth_limit: int,
    starts_line: bool,
) -> tuple[Position, bool]:
    """Choose the commit's line and index: the parent's line if it ends there and began on this branch in this store."""
    line, index = parent.position
    row = cx.execute(_LINE, {"line": line}).one()
    if not starts_line and row.tip == index and row.branch_id == branch.id and row.store_id == store_id:
        cx.execute(_EXTEND, {"line": line, "next": index + 1})
        return Position(line, index + 1), False
    carries = row.depth + 1 >= depth_limit
    depth = 0 if carries else row.depth + 1
    made = _new_line(cx, repository, branch, parent, store_id, depth, row.start + index + 1)
    return Position(made, 0), carries


def _new_line(
    cx: Connection,
    repository: RepositoryId,
    branch: BranchHead,
    parent: CommitHead | None,
    store_id: str,
    depth: int,
    start: int,
) -> LineId:
    line = LineId(new_id("l"))
    values = {
        "id": line,
        "repository_id": repository,
        "name": _free_line_name(cx, repository, branch.name),
        "branch_id": branch.id,
        "store_id": store_id,
        "parent_line": parent.position.line if parent else None,
        "parent_index": parent.position.index if parent else None,
        "parent_generation": parent.generation if parent else None,
        "start": start,
        "tip": 0,
        "depth": depth,
    }
    cx.execute(t.lines.insert(), values)
    return line


def _free_line_name(cx: Connection, repository: RepositoryId, branch: str) -> str:
    """The branch's name or, if that is taken, `dev.2`, `dev.3` …"""
    c = t.lines.c
    name, number, step = branch, 1, 1
    taken = select(c.id).where(c.repository_id == repository)
    # Gallop, then bisect, so that a branch made again and again does not cost one query each time.
    while cx.scalar(taken.where(c.name == name)):
        number, step = number + step, step * 2
        name = f"{branch}.{number}"
    low = number - step // 2
    while number - low > 1:
        middle = (low + number) // 2
        if cx.scalar(taken.where(c.name == f"{branch}.{middle}")):
            low = middle
        else:
            number = middle
    return branch if number == 1 else f"{branch}.{number}"


def _carry(cx: Connection, publication: Publication, before: Clock, position: Position) -> None:
    """Write the whole state of names and entries at the start of a line, so that look-ups end here."""
    repository, at = publication.repository, {"line_id": position.line, "commit_index": position.index}
    named = {(n.parent_id, n.name) for n in publication.content.names}
    described = {e.thing_id for e in publication.content.entries}
    bindings, found = carried_state(cx, repository, before, named, described)
    _insert(cx, t.names, [_name_values(repository, at, b, carried=True) for b in bindings])
    _insert(cx, t.entries, [_entry_values(at, e, carried=True) for e in found])


def carried_state(
    cx: Connection, repository: RepositoryId, before: Clock, named: Set[tuple[ThingId, str]], described: Set[ThingId]
) -> tuple[list[NameBinding], list[Entry]]:
    """All names and entries at a commit, except those that the next one states itself."""
    bindings: list[NameBinding] = []
    parents = [ROOT_NAMESPACE]
    seen: set[str] = set()
    while parents:
        parent = parents.pop()
        entries.refuse_loop(seen, parent)
        for found in entries.list_names(cx, repository, before, parent):
            bindings.append(NameBinding(parent, found.name, found.kind, found.thing_id))  # type: ignore[arg-type]
            if found.kind == "namespace":
                parents.append(found.thing_id)
    things = [ThingId(b.thing_id) for b in bindings if b.thing_id and b.thing_id not in described]
    things += {files_thing(repository)} - described
    state = entries.find_entries(cx, before, things).values()
    kept = [b for b in bindings if (b.parent_id, b.name) not in named]
    return kept, [replace(e, operations=()) for e in state]


def _link_rows(cx: Connection, content: Content) -> set[ObjectId]:
    """Give directly linked objects a row; those that this commit's manifests list need none. Return what is gone."""
    linked = set(content.linked)
    direct = {id_ for c in content.changes for id_ in c.objects} | {id_ for v in content.views for id_ in v.objects}
    direct &= linked & content.described.keys()
    gone = link_rows(cx, [content.described[id_] for id_ in sorted(direct)])
    others = sorted(linked - direct)
    return gone | (set(others) - objects.find(cx, others).keys() - listing(cx, others).keys())
