"""Publish what a writer made, such as a job: a merge with what it made before as the base, and the branch as ours.

Where nobody else touched its rows and files, what it made before is what the branch shows, and a plain commit does.
Otherwise the base and what was made are committed on a side branch, whose objects the merge links.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from anabranch.catalog import commits, history
from anabranch.errors import BranchMoved, MergeConflict, NotFound
from anabranch.model.clock import Clock, Position
from anabranch.model.commits import BranchHead, Commit
from anabranch.model.files import BlockRef, FileRow
from anabranch.model.ids import new_id
from anabranch.model.paths import split_path
from anabranch.model.tables import TableState
from anabranch.objects.parquet import table_range
from anabranch.plan.commit import Statement
from anabranch.plan.merge.rules import EVERYWHERE, Strictness
from anabranch.plan.merge.sides import ThingConflict
from anabranch.queries.query import Rows
from anabranch.repo.branches.jobs import remove_branch
from anabranch.repo.branches.own_commits import Mark, OwnCommit, find_own_commits
from anabranch.repo.branches.provenance import resolve_origins
from anabranch.repo.branches.refs import need_branch
from anabranch.repo.commit.commit import CommitBlock
from anabranch.repo.commit.start import CommitRequest
from anabranch.repo.context.context import Context
from anabranch.repo.context.table_state import find_table, table_state
from anabranch.repo.files.blocks import BlockReader
from anabranch.repo.files.tree import tree_at
from anabranch.repo.files.writer import now
from anabranch.repo.merge.apply import How
from anabranch.repo.merge.attempts import Attempts
from anabranch.repo.merge.conflicts import Conflicts
from anabranch.repo.merge.file_level import FileForm
from anabranch.repo.merge.made_before import MadeBefore, deleted_rows, rows_there
from anabranch.repo.merge.merge import check_rules
from anabranch.repo.merge.pick import Picked, read_target, work_out_pick
from anabranch.repo.merge.publish import CommitWords, PublishOptions, publish_content
from anabranch.repo.write.netting import counts_of, store_difference
from anabranch.repo.write.overwrite import overwrite
from anabranch.repo.write.scratch import Kept

if TYPE_CHECKING:
    import pyarrow as pa

    from anabranch.repo.commit.transaction import Transaction

_DIRECTLY = 3
"""How often a plain commit is tried on a branch that moves, before the merge that gets through in any case."""


@dataclass(frozen=True)
class Writer:
    """Whose commits count as its own."""

    marks: Sequence[Mark]
    is_this: Callable[[OwnCommit], bool]
    """Whether one of them is what is being published."""


@dataclass(frozen=True)
class MadeWords:
    """What the commit says."""

    message: str
    author: str | None
    provenance: Any
    facts: Mapping[str, Any]


Mode = Literal["own", "append", "replace"]
"""`own`: the writer owns what it made, and no more. `append`: it inserts rows, appends to files and puts new ones.
`replace`: the table becomes what it writes, and files that it writes are replaced, whoever made them."""


class MadeContent:
    """What a writer made, to be written on top of what it made before. Subclasses say what it is."""

    table: str | None = None
    """The table that its rows go to."""
    row_mode: Mode = "own"
    file_mode: Mode = "own"
    keeps_rest: bool = False
    """Whether files that it made before and does not make now stay."""

    @property
    def paths(self) -> Collection[str]:
        """The files that it writes."""
        raise NotImplementedError

    @property
    def rows(self) -> pa.Table | None:
        """The rows that it writes."""
        raise NotImplementedError

    def write_rows(self, tx: Transaction) -> None:
        """Write the rows on top of those made before."""
        raise NotImplementedError

    def write_files(self, tx: Transaction, before: Collection[str]) -> None:
        """Write the files on top of those made before, whose paths are given."""
        raise NotImplementedError

    def facts(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """The facts of the commit, with what is known only once it is written."""
        return given


@dataclass(frozen=True)
class MadeRequest:
    """What to publish where."""

    into: str
    what: str
    """For messages, such as `job 'words'`."""
    made: MadeContent
    writer: Writer
    words: MadeWords
    parent: Position
    """The commit of the branch that the writer works from."""
    side: str
    """The name of the side branch, if one is needed. Whoever died with a branch of this name left it behind."""
    rules: Mapping[str, str] = field(default_factory=dict)


class _NeedsMerge(Exception):
    """The branch does not show what was made before."""


class _IsPublished(Exception):
    """The branch has the commit already."""


class _PlannedForAnother(Exception):
    """What was made is planned for another state of the branch."""


def publish_made(ctx: Context, asked: MadeRequest) -> Commit:
    """Publish what was made as one commit, or raise MergeConflict; returns the commit that is there already, if any."""
    for _ in range(_DIRECTLY):
        try:
            return _commit_directly(ctx, asked)
        except BranchMoved:
            continue
        except _NeedsMerge:
            break
    while True:
        try:
            return _merge_on_side(ctx, asked)
        except _PlannedForAnother:
            continue


# --- what was made before ---


@dataclass(frozen=True)
class Baseline:
    """What a writer made before, as a difference to the head of a branch."""

    ctx: Context
    head: Clock
    own: Sequence[OwnCommit]
    asked: MadeRequest

    @property
    def made(self) -> MadeContent:
        return self.asked.made

    @cached_property
    def before(self) -> MadeBefore:
        return MadeBefore(self.ctx, self.head.head, self.own)

    @property
    def is_head(self) -> bool:
        """Whether the head shows what was made before, where it matters."""
        return self.rows is None and not self.files

    @cached_property
    def state(self) -> TableState | None:
        """The table at the head; None if there is none."""
        if self.made.table is None:
            return None
        with self.ctx.catalog.read() as cx:
            try:
                found = find_table(self.ctx, cx, self.head, self.made.table)
            except NotFound:
                return None
            return table_state(self.ctx, cx, self.head, found.id, found.name)

    @cached_property
    def rows(self) -> pa.Table | None:
        """What turns the table at the head into what was made before, as compared rows."""
        if self.state is None or self.made.row_mode == "replace":
            return None
        if self.made.row_mode == "append":
            return rows_there(self.ctx, self.state, self.made.rows)
        return self.before.row_changes(self.state)

    @cached_property
    def paths(self) -> Collection[str]:
        """The files that were made before."""
        return self.before.files.keys() if self.made.file_mode == "own" else ()

    @cached_property
    def files(self) -> Mapping[str, FileRow | None]:
        """The files that the head does not show as they were made before, as they were; None for those not made."""
        if self.made.file_mode == "replace":
            return self._replaced_files
        made = self.before.files if self.made.file_mode == "own" else {}
        concerned = dict.fromkeys((*self.made.paths, *(() if self.made.keeps_rest else made)))
        if not concerned:
            return {}
        reader = BlockReader(self.ctx)
        with self.ctx.catalog.read() as cx:
            tree = tree_at(self.ctx, cx, self.head)
        there = tree.rows_at(list(concerned))
        return {
            path: made.get(path)
            for path in concerned
            if _keys(made.get(path)) != _keys(reader.taken_apart(there.get(path)))
        }

    @cached_property
    def _replaced_files(self) -> Mapping[str, FileRow | None]:
        """The files to replace that others changed since the parent, each so that it is in conflict.

        One that is there counts as new on both sides, one that is gone as changed here.
        """
        others = self.before.files_of_others(self.asked.parent)
        concerned = [path for path in self.made.paths if path in others]
        if not concerned:
            return {}
        with self.ctx.catalog.read() as cx:
            there = tree_at(self.ctx, cx, self.head).rows_at(concerned)
        return {path: None if path in there else _placeholder(path) for path in concerned}

    @cached_property
    def takes_rows(self) -> bool:
        """Whether the rows are written: not where others changed the table to be replaced, and a rule says ours."""
        if self.made.row_mode != "replace" or self.state is None or self.made.table is None:
            return True
        if not self.before.is_changed_by_others(self.state, self.asked.parent):
            return True
        rules = self.asked.rules
        word = rules.get(self.made.table) or rules.get(EVERYWHERE) or "conflict"
        if word in ("ours", "theirs"):
            return word == "theirs"
        raise _conflict(self.asked, Conflicts(things=(_replaced_table(self.made.table),)))

    def write_made(self, tx: Transaction) -> None:
        """Write what is made now on top of what was made before."""
        if self.takes_rows:
            self.made.write_rows(tx)
        self.made.write_files(tx, self.paths)

    def write(self, tx: Transaction) -> None:
        """Write the difference in a commit on top of the head."""
        state = self.state
        if state is not None and self.rows is not None:
            tx.table(state.name)
            tx.add(state.id, _statement(self.ctx, state, self.rows))
        for path, row in self.files.items():
            if row is None:
                tx.files.remove_all([path])
            else:
                tx.files.restore(row)


def _placeholder(path: str) -> FileRow:
    """A file that is equal to no other."""
    folder, name = split_path(path)
    digest = hashlib.sha256().digest()
    mark = BlockRef(0, f"p{new_id('w')}", 1, "", 0, 0, digest)
    return FileRow(folder, name, 0, digest, None, now(), None, None, (mark,))


def _replaced_table(table: str) -> ThingConflict:
    """The conflict of a table that others changed since the parent, and that the writer replaces."""
    return ThingConflict("objects", table, "update/replace", None, None, "update", "replace", f"replace {table}")


def _keys(row: FileRow | None) -> list[Any] | None:
    return None if row is None else [ref.key for ref in row.blocks]


def _statement(ctx: Context, state: TableState, rows: pa.Table) -> Statement:
    """Compared rows as a statement."""
    kept = Kept(Rows(rows), rows.num_rows, table_range(rows, state.schema.key_columns))
    made = store_difference(ctx, ctx.engines.duck(), kept, state.schema, state.schema.columns)
    return Statement("update", made, counts_of(made))


def overwrite_rows(tx: Transaction, table: str, rows: pa.Table) -> None:
    """Give a table these rows, storing what differs; an update of rows for a merge, and not an overwrite.

    Cells of columns that the rows lack, since others added them, stay where a key tells which rows are the same.
    """
    writer = tx.table(table)
    schema = writer._state.schema
    given = {name.lower() for name in rows.column_names}
    if not schema.has_key or given >= {c.name.lower() for c in schema}:
        made = overwrite(tx._ctx, writer._state, rows, writer._pending)
        tx.add(writer._thing, replace(made, operation="update"))
        return
    key = [c.name for c in schema.key_columns]
    there = tx.table(table, columns=key).arrow().rename_columns([str(k) for k in schema.key_ids])
    gone = deleted_rows(schema, there, rows)
    if gone is not None:
        tx.add(writer._thing, _statement(tx._ctx, writer._state, gone))
    writer.upsert(rows)


# --- as a plain commit ---


def _commit_directly(ctx: Context, asked: MadeRequest) -> Commit:
    """Commit on a head that shows what was made before; fails if others write the same tables or files meanwhile."""

    def write(tx: Transaction) -> None:
        with ctx.catalog.read() as cx:
            own = _own_commits(ctx, cx, asked, tx._start.parent.position)
        baseline = Baseline(ctx, tx._start.clock, own, asked)
        if not baseline.is_head:
            raise _NeedsMerge
        baseline.write_made(tx)
        tx._start = replace(tx._start, facts=asked.made.facts(asked.words.facts))

    words = asked.words
    said = CommitRequest(
        asked.into,
        words.message,
        words.author,
        strict=True,
        allow_empty=True,
        provenance=words.provenance,
        facts=words.facts,
    )
    try:
        made = CommitBlock(ctx, said)(write)
    except _IsPublished as found:
        return found.args[0]  # type: ignore[no-any-return]
    assert made is not None
    return made


def _own_commits(ctx: Context, cx: Any, asked: MadeRequest, head: Position) -> list[OwnCommit]:
    """The writer's commits; raises _IsPublished if what is being published is among them."""
    found = find_own_commits(ctx, cx, head, asked.writer.marks)
    done = next((c for c in found if asked.writer.is_this(c)), None)
    if done is not None:
        raise _IsPublished(commits.describe(cx, [done.position])[0])
    return found


# --- as a merge ---


def _merge_on_side(ctx: Context, asked: MadeRequest) -> Commit:
    """Commit what was made before and what is made now on a side branch, and merge the difference into the branch."""
    with ctx.catalog.read() as cx:
        branch = need_branch(ctx, cx, asked.into)
        try:
            own = _own_commits(ctx, cx, asked, branch.position)
        except _IsPublished as found:
            return found.args[0]  # type: ignore[no-any-return]
        baseline = Baseline(ctx, history.clock(cx, branch.position), own, asked)
    with _side_branch(ctx, asked.side, branch) as name:
        base = branch.position if baseline.is_head else _commit_on(ctx, name, baseline.write)
        planned = _Planned(base, _commit_on(ctx, name, baseline.write_made), own, branch.position)
        try:
            return Attempts(ctx).run(lambda attempts: _attempt(attempts, asked, planned))
        except _IsPublished as found:
            return found.args[0]  # type: ignore[no-any-return]


def _commit_on(ctx: Context, name: str, write: Callable[[Transaction], None]) -> Position:
    CommitBlock(ctx, CommitRequest(name, "what a job made", allow_empty=True))(write)
    with ctx.catalog.read() as cx:
        return need_branch(ctx, cx, name).position


@dataclass(frozen=True)
class _Planned:
    """What was made before and what is made now, as commits, and the state of the branch that they are for."""

    base: Position
    theirs: Position
    own: Sequence[OwnCommit]
    head: Position


def _attempt(attempts: Attempts, asked: MadeRequest, planned: _Planned) -> Commit:
    ctx, words, made = attempts.ctx, asked.words, asked.made
    with ctx.catalog.read() as cx:
        target = read_target(ctx, cx, asked.into)
        head = target.parent.position
        moved = head != planned.head and "replace" in (made.row_mode, made.file_mode)
        if moved or _own_commits(ctx, cx, asked, head) != planned.own:
            raise _PlannedForAnother
        origins = resolve_origins(ctx, cx, words.provenance)
    how = _how(asked, attempts)
    check_rules(ctx, target, [planned.theirs], how)
    author = words.author or ctx.author
    picked = Picked(planned.base, planned.theirs, asked.what, words.message, author, "commit", how=how)
    merged = work_out_pick(ctx, target, picked)
    if merged.conflicts:
        ctx.discard(merged.made)
        raise _conflict(asked, merged.conflicts)
    says = CommitWords(words.message, author, provenance=origins, facts=made.facts(words.facts))
    published = publish_content(attempts, merged, says, "commit", PublishOptions(allow_empty=True))
    assert published is not None
    return published


_FILE_FORMS: Mapping[Mode, FileForm] = {"own": "parts", "append": "new", "replace": "whole"}


def _how(asked: MadeRequest, attempts: Attempts) -> How:
    made = asked.made
    strictness: Strictness = "disjoint" if made.row_mode == "append" else "cell"
    form = _FILE_FORMS[made.file_mode]
    return How(strictness, asked.rules, earlier=attempts.rows, file_form=form)


def _conflict(asked: MadeRequest, conflicts: Any) -> MergeConflict:
    message = f"{asked.what} published nothing: it can't be merged into {asked.into!r}: {conflicts.headline()}"
    hint = "give rules= and run it again, which runs no shard again; ours is the branch, theirs is what was made"
    return MergeConflict(message, hint=hint, conflicts=conflicts, branch=asked.into)


@contextmanager
def _side_branch(ctx: Context, name: str, branch: BranchHead) -> Iterator[str]:
    """Make a branch to work on, and remove it at the end; one that was left behind is made anew."""
    remove_branch(ctx, name)
    with ctx.writing() as cx:
        ctx.make_branch(cx, name, branch.position)
    try:
        yield name
    finally:
        remove_branch(ctx, name)
