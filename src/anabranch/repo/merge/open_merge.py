"""Open merges: kept across processes and moves of the branch until finished or aborted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from anabranch.catalog import history, open_merges
from anabranch.catalog.open_merges import MergeRecord
from anabranch.catalog.store import now
from anabranch.errors import InvalidRequest
from anabranch.model.ids import new_id
from anabranch.repo.branches.refs import need_branch, resolve
from anabranch.repo.context.context import Context
from anabranch.repo.context.kept_expressions import check_rules, kept_rules
from anabranch.repo.merge.apply import How
from anabranch.repo.merge.attempts import Attempts
from anabranch.repo.merge.conflicts import Conflicts
from anabranch.repo.merge.merge import as_it_is, forward, may_forward, publish_merge, raise_conflict, work_out
from anabranch.repo.merge.open_conflicts import OpenConflicts
from anabranch.repo.merge.preview import Preview, preview
from anabranch.repo.merge.request import MergeRequest, MergeResult, diff_since, read_ends


def start_merge(ctx: Context, asked: MergeRequest) -> OpenMerge:
    """Keep a merge open, with or without conflicts; its sources are fixed from here on."""
    if asked.mode == "replay":
        raise InvalidRequest("a replay can't be kept open", hint="use mode='merge' or 'squash'")
    check_rules(asked.rules)
    with ctx.writing() as cx:
        head = need_branch(ctx, cx, asked.into)
        fixed = [(resolve(ctx, cx, ref), ref) for ref in asked.sources]
        sources = tuple(f"{history.known_head(cx, position).hash} {ref}" for position, ref in fixed)
        said = (asked.author or ctx.author, now(cx), dict(asked.rules), asked.strictness, asked.mode, asked.ff)
        record = MergeRecord(new_id("g"), head.name, sources, asked.message, *said)
        open_merges.insert(cx, ctx.record.id, record)
    made = OpenMerge(ctx, record)
    try:
        _ = made.conflicts
    except BaseException:
        made.abort()
        raise
    return made


def list_merges(ctx: Context, into: str | None = None) -> list[OpenMerge]:
    """List the open merges into a branch, or all, oldest first; none is computed until it is used."""
    with ctx.catalog.read() as cx:
        records = [r for r in open_merges.all_records(cx, ctx.record.id) if not r.is_sequence]
    return [OpenMerge(ctx, r) for r in records if into in (None, r.branch)]


def newest_merge(ctx: Context, into: str) -> OpenMerge | None:
    """Find the open merge into a branch; the newest if there are several."""
    return next(reversed(list_merges(ctx, into)), None)


class OpenMerge(OpenConflicts):
    """An unfinished merge. Its conflicts shrink as they are resolved."""

    def __repr__(self) -> str:
        return f"OpenMerge({self.id!r}, {', '.join(self.sources)} into {self.into!r})"

    @property
    def sources(self) -> tuple[str, ...]:
        """The refs being merged, as given."""
        return tuple(text.partition(" ")[2] for text in self._record.sources)

    @property
    def _asked(self) -> MergeRequest:
        r = self._record
        hashes = tuple(text.partition(" ")[0] for text in r.sources)
        named = f"merge {', '.join(self.sources)} into {r.branch}"
        mode: Any = r.mode
        ff: Any = r.ff
        return MergeRequest(hashes, r.branch, r.message or named, kept_rules(r.rules), r.strictness, mode, ff, r.author)

    def _preview(self) -> Preview:
        self._read_again()
        return preview(self._ctx, self._asked, self._how())

    def finish(self, message: str | None = None) -> MergeResult:
        """Publish the merge; refused while conflicts are left."""
        self._read_again()
        asked = self._asked if message is None else replace(self._asked, message=message)
        return Attempts(self._ctx).run(lambda attempts: self._finish(attempts, asked))

    def _finish(self, attempts: Attempts, asked: MergeRequest) -> MergeResult:
        with self._ctx.catalog.read() as cx:
            target, sources = read_ends(self._ctx, cx, asked)
        if not sources:
            self.abort()
            return as_it_is(self._ctx, target)
        if may_forward(self._ctx, asked, target, sources):
            made = forward(self._ctx, asked, target, sources[0])
            self.abort()
            return made
        merged = work_out(self._ctx, target, sources, replace(self._how(), earlier=attempts.rows))
        if merged.conflicts:
            self._ctx.discard(merged.made)
            self._conflicts = None
            described = replace(asked, sources=self.sources)
            raise_conflict(described, target, merged.conflicts, self._hint(merged.conflicts))
        commit = publish_merge(attempts, merged, asked, self.id)
        return MergeResult(commit, _diff=diff_since(self._ctx, target, commit))

    def _hint(self, conflicts: Conflicts) -> str:
        return self._way_out if conflicts.is_stuck else "resolve(…) them, then finish(); abort() gives the merge up"

    @property
    def _way_out(self) -> str:
        """Advice for conflicts that can't be resolved: the sources are fixed, but the branch is read anew."""
        return (
            f"change the rows or tables on {self.into!r}, then finish(); or abort(), change the source and merge again"
        )

    def _found(self, how: How) -> Conflicts:
        """The conflicts left after what was resolved."""
        with self._ctx.catalog.read() as cx:
            target, sources = read_ends(self._ctx, cx, self._asked)
        merged = work_out(self._ctx, target, sources, how)
        self._ctx.discard(merged.made)
        return merged.conflicts
