"""Runs the SQL statements that move branches; each returns a small table that says what happened."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from anabranch.errors import AlreadyExists, InvalidRequest, MergeConflict, NotFound
from anabranch.model.commits import Commit
from anabranch.model.refs import with_head
from anabranch.repo.branches import branch as branch_verbs
from anabranch.repo.branches.listing import list_tags
from anabranch.repo.branches.log import show
from anabranch.repo.commit.open_commit import working_set
from anabranch.repo.compare.commit_changes import show_changes
from anabranch.repo.context.context import Context
from anabranch.repo.merge.merge import merge
from anabranch.repo.merge.open_merge import list_merges, newest_merge, start_merge
from anabranch.repo.merge.pick import PickRequest, cherry_pick
from anabranch.repo.merge.preview import preview
from anabranch.repo.merge.request import MergeRequest
from anabranch.repo.merge.restore import restore
from anabranch.repo.merge.revert import revert
from anabranch.repo.sql.system_relation import declared, rows_table
from anabranch.repo.upkeep.optimize import optimize
from anabranch.sql import version_statements as sql
from anabranch.sql.statements import GoverningSql

if TYPE_CHECKING:
    from anabranch.repo.merge.conflicts import Conflicts
    from anabranch.repo.merge.open_merge import OpenMerge
    from anabranch.repo.merge.request import MergeResult

_COUNTS = declared("inserted bigint, updated bigint, deleted bigint")
_BRANCH = declared("branch string, commit string")
_RENAMED = declared("branch string, renamed_from string, commit string")
_TAG = declared("tag string, commit string")
_COMMIT = (*_BRANCH, *declared("commit_id string"), *_COUNTS)
_MERGE = (*_COMMIT, *declared("fast_forward boolean, up_to_date boolean, conflicts bigint"))
_DRY_RUN = (*declared("table string"), *_COUNTS, *declared("cells bigint, conflicts bigint"))
_RESOLVED = declared("table string, resolved bigint, left bigint")
_ABORTED = declared("branch string, aborted array<string>")
_OPTIMIZED = declared(
    "table string, view string, kept bigint, rewritten bigint, written bigint, rows bigint, "
    "objects_before bigint, objects_after bigint, size_bytes_before bigint, size_bytes_after bigint"
)
_NEXT = "RESOLVE table TAKE ours, theirs or base (or SET column = expression), then CONTINUE MERGE; or ABORT MERGE"


def govern(
    ctx: Context, statement: GoverningSql, branch: str, args: Mapping[str, Any], author: str | None = None
) -> pa.Table:
    """Run one statement on the current branch and report what it did; `author` signs the commits it makes."""
    run = _RUNS.get(type(statement))
    if run is None:
        raise InvalidRequest(f"{type(statement).__name__} is not run here", hint="give it to repo.sql(…)")
    return run(_GoverningRun(ctx, branch, args, author), statement)


@dataclass(frozen=True)
class _GoverningRun:
    """Runs statements on one branch."""

    ctx: Context
    branch: str
    args: Mapping[str, Any]
    author: str | None = None

    def ref(self, text: str | None) -> str:
        """Resolve a ref of the statement; HEAD or none is the current branch."""
        return self.branch if text is None else with_head(text, self.branch)

    # Branches and tags

    def create_branch(self, asked: sql.CreateBranch) -> pa.Table:
        try:
            made = branch_verbs.create_branch(self.ctx, asked.name, self.ref(asked.at))
        except AlreadyExists:
            if not asked.if_not_exists:
                raise
            made = branch_verbs.find_branch(self.ctx, asked.name)
        return rows_table(_BRANCH, [{"branch": made.name, "commit": made.commit}])

    def drop_branch(self, asked: sql.DropBranch) -> pa.Table:
        if asked.name == self.branch:
            raise InvalidRequest(f"{asked.name!r} is the current branch", hint="USE BRANCH goes to another first")
        try:
            shown = branch_verbs.find_branch(self.ctx, asked.name).commit
        except NotFound:
            if not asked.if_exists:
                raise
            return rows_table(_BRANCH, ())
        branch_verbs.delete_branch(self.ctx, asked.name, asked.force)
        return rows_table(_BRANCH, [{"branch": asked.name, "commit": shown}])

    def rename_branch(self, asked: sql.RenameBranch) -> pa.Table:
        branch_verbs.rename_branch(self.ctx, asked.old, asked.new)
        shown = branch_verbs.find_branch(self.ctx, asked.new).commit
        return rows_table(_RENAMED, [{"branch": asked.new, "renamed_from": asked.old, "commit": shown}])

    def create_tag(self, asked: sql.CreateTag) -> pa.Table:
        if not (asked.if_not_exists and any(tag.name == asked.name for tag in list_tags(self.ctx))):
            branch_verbs.create_tag(self.ctx, asked.name, self.ref(asked.at))
        return rows_table(_TAG, [{"tag": asked.name, "commit": show(self.ctx, asked.name).hash}])

    def drop_tag(self, asked: sql.DropTag) -> pa.Table:
        shown = [{"tag": tag.name, "commit": tag.commit} for tag in list_tags(self.ctx) if tag.name == asked.name]
        if shown or not asked.if_exists:
            branch_verbs.delete_tag(self.ctx, asked.name)
        return rows_table(_TAG, shown)

    def reset_branch(self, asked: sql.ResetBranch) -> pa.Table:
        self._refuse_staged(asked.name, None, "ROLLBACK gives them up, COMMIT publishes them")
        made = branch_verbs.reset_branch(self.ctx, asked.name, self.ref(asked.to))
        return rows_table(_BRANCH, [{"branch": made.name, "commit": made.commit}])

    # Merges

    def merge(self, asked: sql.MergeBranch) -> pa.Table:
        into = self.branch if asked.into is None else asked.into
        sources = tuple(self.ref(source) for source in asked.sources)
        if asked.dry_run:
            return self._dry_run(into, sources, asked)
        for waiting in list_merges(self.ctx, into):
            names = ", ".join(waiting.sources)
            hint = "CONTINUE MERGE publishes it, ABORT MERGE gives it up"
            raise InvalidRequest(f"a merge of {names} into {into!r} is open", hint=hint)
        return _merged(into, self._merge(into, sources, asked))

    def _merge(self, into: str, sources: tuple[str, ...], asked: sql.MergeBranch) -> MergeResult:
        """Merge; as on the command line, a merge with conflicts stays open."""
        mode: Any = asked.mode or "merge"
        ff: Any = asked.ff or "auto"
        strictness = asked.strictness or "cell"
        wanted = MergeRequest(sources, into, asked.message, dict(asked.rules), strictness, mode, ff, self.author)
        try:
            return merge(self.ctx, wanted)
        except MergeConflict as error:
            if asked.mode == "replay":
                error.hint = "a replay can't wait: give rules, or merge in another way"
                raise
            return self._finish(start_merge(self.ctx, wanted), None)

    def _dry_run(self, into: str, sources: tuple[str, ...], asked: sql.MergeBranch) -> pa.Table:
        found = preview(self.ctx, MergeRequest(sources, into, None, dict(asked.rules), asked.strictness or "cell"))
        counts, conflicts = found.diff().counts(), _by_table(found.conflicts)
        nothing = {"inserted": 0, "updated": 0, "deleted": 0, "cells": 0}
        return rows_table(
            _DRY_RUN,
            (
                {"table": name, **counts.get(name, nothing), "conflicts": conflicts.get(name, 0)}
                for name in sorted({*counts, *conflicts})
            ),
        )

    def resolve(self, asked: sql.Resolve) -> pa.Table:
        kept = self._kept()
        take: Any = asked.take.lower() if asked.take else None
        values = dict(asked.values) or None
        if asked.file is not None:
            count = kept.resolve(file=asked.file, take=take, content=asked.content)
        else:
            count = kept.resolve(asked.table, take=take, set=values, where=asked.where, args=self.args)
        described = {"table": asked.file or asked.table, "resolved": count, "left": kept.conflicts.count()}
        return rows_table(_RESOLVED, [described])

    def finish(self, asked: sql.FinishMerge) -> pa.Table:
        return _merged(self.branch, self._finish(self._kept(), asked.message))

    def abort(self, _asked: sql.AbortMerge) -> pa.Table:
        kept = self._kept()
        kept.abort()
        return rows_table(_ABORTED, [{"branch": kept.into, "aborted": kept.sources}])

    def _kept(self) -> OpenMerge:
        found = newest_merge(self.ctx, self.branch)
        if found is None:
            hint = "MERGE BRANCH keeps one open if there are conflicts; ana.status shows it"
            raise NotFound(f"no merge into {self.branch!r} is open", hint=hint)
        return found

    def _finish(self, kept: OpenMerge, message: str | None) -> MergeResult:
        try:
            return kept.finish(message)
        except MergeConflict as error:
            error.hint = _NEXT
            raise

    # Single commits

    def revert(self, asked: sql.Revert) -> pa.Table:
        return self._made(revert(self.ctx, self._picked(asked)))

    def cherry_pick(self, asked: sql.CherryPick) -> pa.Table:
        return self._made(cherry_pick(self.ctx, self._picked(asked)))

    def _picked(self, asked: sql.Revert | sql.CherryPick) -> PickRequest:
        ref = self.ref(asked.ref)
        return PickRequest(ref, self.branch, asked.parent, message=asked.message, author=self.author)

    def restore(self, asked: sql.RestoreTable) -> pa.Table:
        self._refuse_staged(self.branch, asked.table, "ROLLBACK gives up what is staged, COMMIT publishes it")
        return self._made(restore(self.ctx, asked.table, self.ref(asked.to), self.branch, None, self.author))

    def optimize(self, asked: sql.OptimizeTable) -> pa.Table:
        return rows_table(_OPTIMIZED, [vars(optimize(self.ctx, asked.table, self.branch))])

    def _made(self, commit: Commit | None) -> pa.Table:
        """Report the commit that was made; without one, only the branch."""
        changes = show_changes(self.ctx, commit.hash) if commit else []
        counts = {name: sum(getattr(c, name) for c in changes) for name, _ in _COUNTS}
        facts = {"commit": commit.hash if commit else None, "commit_id": commit.id if commit else None}
        return rows_table(_COMMIT, [{"branch": self.branch, **facts, **counts}])

    def _refuse_staged(self, branch: str, table: str | None, hint: str) -> None:
        """Refuse if staged work would be lost or no longer fit: all of it, or that on one table."""
        staged = working_set(self.ctx, branch)
        names = staged.status() if staged else {}
        if names if table is None else table in names:
            raise InvalidRequest(f"there are staged changes of {table or ', '.join(sorted(names))!r}", hint=hint)


def _merged(branch: str, result: MergeResult) -> pa.Table:
    counts = {name: sum(c[name] for c in result.counts.values()) for name, _ in _COUNTS}
    facts = {"commit": result.commit.hash, "commit_id": result.commit.id, "conflicts": 0}
    how = {"fast_forward": result.fast_forward, "up_to_date": result.up_to_date}
    return rows_table(_MERGE, [{"branch": branch, **facts, **how, **counts}])


def _by_table(conflicts: Conflicts) -> dict[str, int]:
    """Count the conflicts of each table: in rows, in the table itself, and rows that break a constraint."""
    found = {name: table.count() for name, table in conflicts.items()}
    for name in (*(c.table for c in conflicts.things), *(v.table for v in conflicts.broken)):
        found[name] = found.get(name, 0) + 1
    return found


_RUNS: dict[type[GoverningSql], Callable[[_GoverningRun, Any], pa.Table]] = {
    sql.CreateBranch: _GoverningRun.create_branch,
    sql.DropBranch: _GoverningRun.drop_branch,
    sql.RenameBranch: _GoverningRun.rename_branch,
    sql.CreateTag: _GoverningRun.create_tag,
    sql.DropTag: _GoverningRun.drop_tag,
    sql.ResetBranch: _GoverningRun.reset_branch,
    sql.MergeBranch: _GoverningRun.merge,
    sql.Resolve: _GoverningRun.resolve,
    sql.FinishMerge: _GoverningRun.finish,
    sql.AbortMerge: _GoverningRun.abort,
    sql.Revert: _GoverningRun.revert,
    sql.CherryPick: _GoverningRun.cherry_pick,
    sql.RestoreTable: _GoverningRun.restore,
    sql.OptimizeTable: _GoverningRun.optimize,
}
