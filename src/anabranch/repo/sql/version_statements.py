"""Runs the statements of SQL that move branches: each gives a small table that says what happened."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from anabranch.errors import AlreadyExists, InvalidRequest, MergeConflict, NotFound
from anabranch.model.commits import Commit
from anabranch.model.refs import with_head
from anabranch.repo.merge.open_merge import newest_merge
from anabranch.repo.sql.system_relation import BIGINT, BOOLEAN, STRING, STRINGS, rows_table
from anabranch.sql import statements as sql

if TYPE_CHECKING:
    from anabranch.repo.merge.conflicts import Conflicts
    from anabranch.repo.merge.open_merge import OpenMerge
    from anabranch.repo.merge.request import MergeResult
    from anabranch.repo.repository import Repository

_COUNTS = (("inserted", BIGINT), ("updated", BIGINT), ("deleted", BIGINT))
_BRANCH = (("branch", STRING), ("commit", STRING))
_RENAMED = (("branch", STRING), ("renamed_from", STRING), ("commit", STRING))
_TAG = (("tag", STRING), ("commit", STRING))
_COMMIT = (*_BRANCH, ("commit_id", STRING), *_COUNTS)
_MERGE = (*_COMMIT, ("fast_forward", BOOLEAN), ("up_to_date", BOOLEAN), ("conflicts", BIGINT))
_DRY_RUN = (("table", STRING), *_COUNTS, ("cells", BIGINT), ("conflicts", BIGINT))
_RESOLVED = (("table", STRING), ("resolved", BIGINT), ("left", BIGINT))
_ABORTED = (("branch", STRING), ("aborted", STRINGS))
_OPTIMIZED = (
    ("table", STRING),
    ("view", STRING),
    ("kept", BIGINT),
    ("rewritten", BIGINT),
    ("written", BIGINT),
    ("rows", BIGINT),
    ("objects_before", BIGINT),
    ("objects_after", BIGINT),
    ("size_bytes_before", BIGINT),
    ("size_bytes_after", BIGINT),
)
_NEXT = "RESOLVE table TAKE ours, theirs or base (or SET column = expression), then CONTINUE MERGE; or ABORT MERGE"


def govern(
    repo: Repository, statement: sql.Governing, branch: str, args: Mapping[str, Any], author: str | None = None
) -> pa.Table:
    """Run one statement on the current branch, and tell what it did; commits that it makes are the author's."""
    run = _RUNS.get(type(statement))
    if run is None:
        raise InvalidRequest(f"{type(statement).__name__} is not run here", hint="give it to repo.sql(…)")
    return run(_Governing(repo, branch, args, author), statement)


@dataclass(frozen=True)
class _Governing:
    """Where a statement is run."""

    repo: Repository
    branch: str
    args: Mapping[str, Any]
    author: str | None = None

    def ref(self, text: str | None) -> str:
        """A ref of the statement; HEAD and nothing are the current branch."""
        return self.branch if text is None else with_head(text, self.branch)

    # Branches and tags

    def create_branch(self, asked: sql.CreateBranch) -> pa.Table:
        try:
            made = self.repo.branch(asked.name, self.ref(asked.at))
        except AlreadyExists:
            if not asked.if_not_exists:
                raise
            made = self.repo.find_branch(asked.name)
        return rows_table(_BRANCH, [{"branch": made.name, "commit": made.commit}])

    def drop_branch(self, asked: sql.DropBranch) -> pa.Table:
        if asked.name == self.branch:
            raise InvalidRequest(f"{asked.name!r} is the current branch", hint="USE BRANCH goes to another first")
        try:
            shown = self.repo.find_branch(asked.name).commit
        except NotFound:
            if not asked.if_exists:
                raise
            return rows_table(_BRANCH, ())
        self.repo.delete_branch(asked.name, force=asked.force)
        return rows_table(_BRANCH, [{"branch": asked.name, "commit": shown}])

    def rename_branch(self, asked: sql.RenameBranch) -> pa.Table:
        self.repo.rename_branch(asked.old, asked.new)
        shown = self.repo.find_branch(asked.new).commit
        return rows_table(_RENAMED, [{"branch": asked.new, "renamed_from": asked.old, "commit": shown}])

    def create_tag(self, asked: sql.CreateTag) -> pa.Table:
        if not (asked.if_not_exists and any(tag.name == asked.name for tag in self.repo.tags())):
            self.repo.tag(asked.name, self.ref(asked.at))
        return rows_table(_TAG, [{"tag": asked.name, "commit": self.repo.show(asked.name).hash}])

    def drop_tag(self, asked: sql.DropTag) -> pa.Table:
        shown = [{"tag": tag.name, "commit": tag.commit} for tag in self.repo.tags() if tag.name == asked.name]
        if shown or not asked.if_exists:
            self.repo.delete_tag(asked.name)
        return rows_table(_TAG, shown)

    def reset_branch(self, asked: sql.ResetBranch) -> pa.Table:
        self._refuse_staged(asked.name, None, "ROLLBACK gives them up, COMMIT publishes them")
        made = self.repo.reset(asked.name, to=self.ref(asked.to))
        return rows_table(_BRANCH, [{"branch": made.name, "commit": made.commit}])

    # Merges

    def merge(self, asked: sql.MergeBranch) -> pa.Table:
        into = asked.into or self.branch
        sources = [self.ref(source) for source in asked.sources]
        if asked.dry_run:
            return self._dry_run(into, sources, asked)
        for waiting in self.repo.waiting_merges(into):
            names = ", ".join(waiting.sources)
            hint = "CONTINUE MERGE publishes it, ABORT MERGE gives it up"
            raise InvalidRequest(f"a merge of {names} into {into!r} is open", hint=hint)
        return _merged(into, self._merge(into, sources, asked))

    def _merge(self, into: str, sources: list[str], asked: sql.MergeBranch) -> MergeResult:
        """Merge; a merge with conflicts is kept open, as the command line does."""
        settings: dict[str, Any] = {
            "message": asked.message,
            "rules": dict(asked.rules),
            "strictness": asked.strictness or "cell",
            "mode": asked.mode or "merge",
            "ff": asked.ff or "auto",
            "author": self.author,
        }
        try:
            return self.repo.merge(sources, into, **settings)
        except MergeConflict as error:
            if asked.mode == "replay":
                error.hint = "a replay can't wait: give rules, or merge in another way"
                raise
            kept = self.repo.start_merge(sources, into, **settings)
            return self._finish(kept, None)

    def _dry_run(self, into: str, sources: list[str], asked: sql.MergeBranch) -> pa.Table:
        found = self.repo.preview(sources, into, rules=dict(asked.rules), strictness=asked.strictness or "cell")
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
        count = kept.resolve(asked.table, take=take, set=values, where=asked.where, args=self.args)
        return rows_table(_RESOLVED, [{"table": asked.table, "resolved": count, "left": kept.conflicts.count()}])

    def finish(self, asked: sql.FinishMerge) -> pa.Table:
        return _merged(self.branch, self._finish(self._kept(), asked.message))

    def abort(self, _asked: sql.AbortMerge) -> pa.Table:
        kept = self._kept()
        kept.abort()
        return rows_table(_ABORTED, [{"branch": kept.into, "aborted": kept.sources}])

    def _kept(self) -> OpenMerge:
        found = newest_merge(self.repo._ctx, self.branch)
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
        words: dict[str, Any] = {"message": asked.message, "author": self.author}
        return self._made(self.repo.revert(self.ref(asked.ref), self.branch, parent=asked.parent, **words))

    def cherry_pick(self, asked: sql.CherryPick) -> pa.Table:
        words: dict[str, Any] = {"message": asked.message, "author": self.author}
        return self._made(self.repo.cherry_pick(self.ref(asked.ref), self.branch, parent=asked.parent, **words))

    def restore(self, asked: sql.RestoreTable) -> pa.Table:
        self._refuse_staged(self.branch, asked.table, "ROLLBACK gives up what is staged, COMMIT publishes it")
        return self._made(self.repo.restore(asked.table, self.ref(asked.to), self.branch, author=self.author))

    def optimize(self, asked: sql.OptimizeTable) -> pa.Table:
        return rows_table(_OPTIMIZED, [vars(self.repo.optimize(asked.table, self.branch))])

    def _made(self, commit: Commit | None) -> pa.Table:
        """The commit that was made; without one, the branch and nothing else."""
        changes = self.repo.show_changes(commit.hash) if commit else []
        counts = {name: sum(getattr(c, name) for c in changes) for name, _ in _COUNTS}
        facts = {"commit": commit.hash if commit else None, "commit_id": commit.id if commit else None}
        return rows_table(_COMMIT, [{"branch": self.branch, **facts, **counts}])

    def _refuse_staged(self, branch: str, table: str | None, hint: str) -> None:
        """Refuse where staged work would be lost or would no longer fit: all of it, or that of one table."""
        staged = self.repo.working_set(branch)
        names = staged.status() if staged else {}
        if names if table is None else table in names:
            raise InvalidRequest(f"there are staged changes of {table or ', '.join(sorted(names))!r}", hint=hint)


def _merged(branch: str, result: MergeResult) -> pa.Table:
    counts = {name: sum(c[name] for c in result.counts.values()) for name, _ in _COUNTS}
    facts = {"commit": result.commit.hash, "commit_id": result.commit.id, "conflicts": 0}
    how = {"fast_forward": result.fast_forward, "up_to_date": result.up_to_date}
    return rows_table(_MERGE, [{"branch": branch, **facts, **how, **counts}])


def _by_table(conflicts: Conflicts) -> dict[str, int]:
    """How many conflicts each table has: of rows, of the table itself, and rows that break a constraint."""
    found = {name: table.count() for name, table in conflicts.items()}
    for name in (*(c.table for c in conflicts.things), *(v.table for v in conflicts.broken)):
        found[name] = found.get(name, 0) + 1
    return found


_RUNS: dict[type[sql.Governing], Callable[[_Governing, Any], pa.Table]] = {
    sql.CreateBranch: _Governing.create_branch,
    sql.DropBranch: _Governing.drop_branch,
    sql.RenameBranch: _Governing.rename_branch,
    sql.CreateTag: _Governing.create_tag,
    sql.DropTag: _Governing.drop_tag,
    sql.ResetBranch: _Governing.reset_branch,
    sql.MergeBranch: _Governing.merge,
    sql.Resolve: _Governing.resolve,
    sql.FinishMerge: _Governing.finish,
    sql.AbortMerge: _Governing.abort,
    sql.Revert: _Governing.revert,
    sql.CherryPick: _Governing.cherry_pick,
    sql.RestoreTable: _Governing.restore,
    sql.OptimizeTable: _Governing.optimize,
}
