"""repair: bring back the files that the first snapshot of another writer hides, by a commit on each branch.

Where files were miscounted and only reading finds their number, it writes a snapshot that gives it from then on.
"""

from __future__ import annotations

from dataclasses import replace

from anabranch.catalog import branches, history
from anabranch.errors import BranchMoved
from anabranch.model.commits import Commit
from anabranch.model.facts import REPAIR
from anabranch.model.files import FILES_NAME, files_thing
from anabranch.model.layers import as_layers
from anabranch.queries.query import INSERT
from anabranch.repo.commit.commit import CommitBlock
from anabranch.repo.commit.start import CommitRequest
from anabranch.repo.context.context import Context
from anabranch.repo.files.block_writer import BlockWriter
from anabranch.repo.files.blocks import BlockReader
from anabranch.repo.files.hidden import ShownAndMade, compare, find_hiding, hidden_rows
from anabranch.repo.files.statement import statement_of
from anabranch.repo.files.tree import FileTree
from anabranch.repo.upkeep.fold import Refit, find_place

_ATTEMPTS = 5


def repair(ctx: Context) -> list[Commit]:
    """Bring back hidden files on every branch; return the commits that do, and publish none where nothing is hidden."""
    with ctx.catalog.read() as cx:
        names = [head.name for head in branches.all_heads(cx, ctx.record.id)]
    made = [_repair_branch(ctx, name) for name in names]
    for name in names:
        _count_anew(ctx, name)
    return [commit for commit in made if commit is not None]


def _repair_branch(ctx: Context, branch: str) -> Commit | None:
    """Bring back the hidden files of a branch; where it moves meanwhile, look again."""
    for attempt in range(_ATTEMPTS):
        found = _compare(ctx, branch)
        if found is None:
            return None
        commits = [h.commit.hash for h in found.hiding]
        facts = REPAIR.facts({"commits": commits})
        request = CommitRequest(branch, "bring back hidden files", facts=facts)
        try:
            return _published(ctx, request)
        except BranchMoved:
            if attempt == _ATTEMPTS - 1:
                raise
    raise AssertionError("the last attempt returns or raises")


def _compare(ctx: Context, branch: str) -> ShownAndMade | None:
    with ctx.catalog.read() as cx:
        head = branches.find(cx, ctx.record.id, branch)
        if head is None:
            return None
        return compare(ctx, cx, history.clock(cx, head.position), find_hiding(ctx, cx))


def _published(ctx: Context, request: CommitRequest) -> Commit | None:
    with CommitBlock(ctx, request) as tx:
        with ctx.catalog.read() as cx:
            found = compare(ctx, cx, tx._start.clock, find_hiding(ctx, cx))
        rows = hidden_rows(ctx, found) if found is not None else []
        if found is not None and rows:
            changes = [(INSERT, None, row) for row in rows]
            statement = statement_of(ctx, found.shown.schema, changes, BlockWriter(ctx))
            tx.add(tx.files_thing(), statement)
    return tx.commit


def _count_anew(ctx: Context, branch: str) -> None:
    """Write a snapshot of a branch's files that tells their number, if the catalogue says a wrong one."""
    with ctx.catalog.read() as cx:
        head = branches.find(cx, ctx.record.id, branch)
        clock = history.clock(cx, head.position) if head is not None else None
        place = find_place(ctx, cx, clock, files_thing(ctx.record.id), FILES_NAME) if clock else None
    if place is None or as_layers(place.state.layers).counted_rows is not None:
        return
    state = place.state
    row_count = len(FileTree(ctx, lambda: state, BlockReader(ctx), None).rows_below(""))
    if row_count == state.row_count:
        return
    counted = replace(place, state=replace(state, row_count=row_count))
    with Refit(ctx, ctx.engines.duck(), counted) as refit:
        files = [layer for layer in state.layers if layer.object.kind == "rows"]
        refit.publish(refit.rewrite(state.layers, files), "snapshot")
