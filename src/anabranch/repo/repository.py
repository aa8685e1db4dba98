"""The façade that users hold: one line per verb; the verbs are in files of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import date, datetime, timedelta
from decimal import Decimal
from os import PathLike
from types import TracebackType
from typing import TYPE_CHECKING, Any, overload

from anabranch.catalog import open_merges
from anabranch.errors import InvalidRequest
from anabranch.model.changes import Optimized
from anabranch.model.commits import Branch, BranchMove, Commit, Tag
from anabranch.model.garbage import Ages, Collected
from anabranch.model.tables import TableEntry
from anabranch.model.verification import Verification
from anabranch.repo.branches import branch as branch_verbs
from anabranch.repo.branches import log as log_verbs
from anabranch.repo.branches.listing import list_namespaces, list_tables_at, list_tags, namespace_properties
from anabranch.repo.branches.log import TableChange
from anabranch.repo.context.context import Context

if TYPE_CHECKING:
    from anabranch.formats.read import FileRows
    from anabranch.repo.branches.provenance import ProvenanceEntry
    from anabranch.repo.branches.workbook import Workbook
    from anabranch.repo.commit.commit import CommitBlock
    from anabranch.repo.commit.open_commit import OpenCommit
    from anabranch.repo.commit.stash import Stash
    from anabranch.repo.compare.blame import Blame
    from anabranch.repo.compare.changes import Changes
    from anabranch.repo.compare.file_history import FileHistoryEntry
    from anabranch.repo.compare.history import RowHistoryEntry, TableHistoryEntry
    from anabranch.repo.compare.table_diff import Diff, TableDiff
    from anabranch.repo.files.folder import LocalFolder
    from anabranch.repo.files.tree import FileTree
    from anabranch.repo.merge.open_merge import OpenMerge
    from anabranch.repo.merge.open_sequence import OpenSequence
    from anabranch.repo.merge.preview import Preview
    from anabranch.repo.merge.request import FastForward, MergeResult, Mode
    from anabranch.repo.read.object_list import ObjectList
    from anabranch.repo.read.sql_result import SqlResult
    from anabranch.repo.read.table import Table
    from anabranch.repo.sql.sql import SqlSession

Key = Mapping[str, Any] | int | str | bytes | date | Decimal
"""A row's key: its columns by name, or the value of the only one."""


class Repository:
    """A history of tables. It may be shared by threads."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx

    def __repr__(self) -> str:
        return f"Repository({self.name!r})"

    def _repr_html_(self) -> str:
        from anabranch.frames.notebook import repository_html

        with self.one_state():
            return repository_html(self.name, self.default_branch, self.branches(), self.tables())

    def __enter__(self) -> Repository:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def name(self) -> str:
        return self._ctx.record.name

    @property
    def default_branch(self) -> str:
        """The branch that is meant where none is named."""
        with self._ctx.catalog.read() as cx:
            return self._ctx.default_branch(cx)

    def sibling(self, name: str) -> Repository:
        """Open another repository of the same store; it lives as long as this one."""
        from anabranch.repo.stores import sibling

        return Repository(sibling(self._ctx, name))

    def close(self) -> None:
        """Give connections and memory back."""
        self._ctx.catalog.close()
        self._ctx.engines.close()

    # Writing

    def commit(
        self,
        branch: str | None = None,
        message: str = "",
        *,
        author: str | None = None,
        strict: bool = False,
        allow_empty: bool = False,
        provenance: Any = (),
        facts: Mapping[str, Any] | None = None,
        retry: int = 0,
        date: str | datetime | None = None,
    ) -> CommitBlock:
        """Start a commit on a branch: `with repo.commit("main", "load") as tx`.

        `facts` are values by key that the commit says of itself, such as what it was made from; its hash covers them.
        `date` is when the work was done, where that was not now: the commit's `started_at`.
        With `retry` it is given a function instead, `repo.commit("main", "load", retry=3)(write)`: it calls `write(tx)`
        and publishes, up to three times again on the new state where others changed the same rows; returns the Commit.
        """
        from anabranch.repo.commit.commit import CommitBlock, CommitRequest

        flags = (strict, allow_empty)
        asked = CommitRequest(branch, message, author, *flags, provenance, facts or {}, retry, date)
        return CommitBlock(self._ctx, asked)

    def amend(
        self,
        branch: str | None = None,
        message: str | None = None,
        *,
        author: str | None = None,
        date: str | datetime | None = None,
        work: OpenCommit | None = None,
    ) -> Commit:
        """Make the newest commit of a branch again, with other words or more work in it; the branch moves to it.

        What is staged on the branch is taken in, or the open commit `work`. Parents stay, and what is not given.
        The old commit stays readable by its hash, and is in the reflog.
        """
        from anabranch.repo.merge.amend import AmendRequest, amend

        return amend(self._ctx, AmendRequest(branch, message, author, date), work)

    def carry_over(self, work: OpenCommit, message: str | None = None, *, author: str | None = None) -> OpenSequence:
        """Merge open work with what its branch got meanwhile; conflicts stay open, `finish()` moves the branch.

        For work that `finish()` refuses with BranchMoved. What both sides touched is a conflict, equal or not.
        """
        from anabranch.repo.merge.carry_over import carry_over

        return carry_over(self._ctx, work, message, author)

    def start(
        self,
        branch: str | None = None,
        parent: str | None = None,
        message: str = "",
        *,
        author: str | None = None,
        provenance: Any = (),
        strict: bool = False,
        working: bool = False,
        facts: Mapping[str, Any] | None = None,
    ) -> OpenCommit:
        """Open a commit that survives the process, until it is finished or aborted.

        Without `branch` it goes on the branch that `parent` names, on the default branch if there is no `parent`, and
        on a new one with a generated name if `parent` is no branch but a tag, a hash or the like.
        With `working` it is the branch's working set: where the command line writes; a branch has one at most.
        """
        from anabranch.repo.commit.open_commit import start

        return start(self._ctx, branch, parent, message, author, provenance, strict, working, facts)

    def working_set(self, branch: str | None = None) -> OpenCommit | None:
        """Find the working set of a branch, if it has one."""
        from anabranch.repo.commit.open_commit import working_set

        return working_set(self._ctx, branch or self.default_branch)

    def staging(self, branch: str | None = None) -> AbstractContextManager[OpenCommit]:
        """A block that writes to the working set of a branch; one that was made for it and stays empty is removed."""
        from anabranch.repo.commit.working_set import staged_writes

        return staged_writes(self._ctx, branch or self.default_branch)

    def open_commits(self) -> list[OpenCommit]:
        """List the open commits, oldest first."""
        from anabranch.repo.commit.open_commit import list_open

        return list_open(self._ctx)

    def stash(self, branch: str | None = None, message: str | None = None) -> Stash:
        """Set the working set of a branch aside."""
        from anabranch.repo.commit.stash import push

        return push(self._ctx, branch or self.default_branch, message)

    def stashes(self) -> list[Stash]:
        """List what was set aside, newest first."""
        from anabranch.repo.commit.stash import list_stashes

        return list_stashes(self._ctx)

    def find_stash(self, number: int = 0) -> Stash:
        """Find what was set aside by its number; 0 is the newest."""
        from anabranch.repo.commit.stash import find_stash

        return find_stash(self._ctx, number)

    def pop_stash(self, number: int = 0, on: str | None = None) -> OpenCommit:
        """Stage again what was set aside; on another branch only if nothing that it touched differs there."""
        from anabranch.repo.commit.stash import pop

        return pop(self._ctx, number, on or self.default_branch)

    def drop_stash(self, number: int = 0) -> Stash:
        """Give up what was set aside."""
        from anabranch.repo.commit.stash import drop

        return drop(self._ctx, number)

    # Branches and tags

    def branch(self, name: str, at: str | None = None) -> Branch:
        """Make a branch."""
        return branch_verbs.create_branch(self._ctx, name, at)

    def find_branch(self, name: str) -> Branch:
        """Find one branch; the error names the nearest."""
        return branch_verbs.find_branch(self._ctx, name)

    def rename_branch(self, old: str, new: str) -> None:
        """Give a branch another name."""
        branch_verbs.rename_branch(self._ctx, old, new)

    def delete_branch(self, name: str, *, force: bool = False) -> None:
        """Delete a branch; work that nothing else reaches needs force."""
        branch_verbs.delete_branch(self._ctx, name, force)

    def branches(self, *, showing: Sequence[str] | None = None) -> list[Branch]:
        """List the branches: all, or those that show one of these commits (hashes)."""
        return branch_verbs.list_branches(self._ctx, showing)

    def fast_forward(self, branch: str, to: str) -> Branch:
        """Move a branch forward to a descendant of the commit it shows."""
        return branch_verbs.fast_forward(self._ctx, branch, to)

    def reset(self, branch: str, to: str) -> Branch:
        """Move a branch to any commit."""
        return branch_verbs.reset_branch(self._ctx, branch, to)

    def reflog(self, branch: str | None = None, *, limit: int | None = None) -> list[BranchMove]:
        """List the moves of a branch, newest first."""
        return branch_verbs.reflog(self._ctx, branch, limit)

    def tag(self, name: str, at: str | None = None, *, message: str | None = None) -> None:
        """Name a commit for good, and say why if you like."""
        branch_verbs.create_tag(self._ctx, name, at, message)

    def delete_tag(self, name: str) -> None:
        """Remove a tag."""
        branch_verbs.delete_tag(self._ctx, name)

    def tags(self, *, showing: Sequence[str] | None = None) -> list[Tag]:
        """List the tags: all, or those that name one of these commits (hashes)."""
        return list_tags(self._ctx, showing)

    # History

    def log(
        self,
        ref: str | Sequence[str] | None = None,
        *,
        table: str | None = None,
        path: str | None = None,
        author: str | None = None,
        since: str | datetime | None = None,
        until: str | datetime | None = None,
        limit: int | None = None,
        message: str | None = None,
    ) -> list[Commit]:
        """List the commits that a ref, or any of several, reaches, newest first; `message` is a part of theirs.

        With `path`, those that touched a file, or anything below a folder.
        """
        if path is None:
            asked = log_verbs.LogRequest(table, author, since, until, limit, message)
            return log_verbs.log(self._ctx, ref, asked)
        from anabranch.repo.compare.file_history import PathFilter, file_log

        if table is not None or (ref is not None and (not isinstance(ref, str) or ".." in ref)):
            raise InvalidRequest("log of a path takes one ref and no table", hint="leave out table=, or path=")
        return file_log(self._ctx, ref, PathFilter(path, author, since, until, message), limit)

    def show(self, ref: str | None = None) -> Commit:
        """Read one commit."""
        return log_verbs.show(self._ctx, ref)

    def show_changes(self, ref: str | None = None) -> list[TableChange]:
        """List what one commit did, table by table."""
        return log_verbs.show_changes(self._ctx, ref)

    @overload
    def history(
        self, table: str, key: None = None, *, author: str | None = ..., limit: int | None = ..., at: str | None = ...
    ) -> list[TableHistoryEntry]: ...

    @overload
    def history(self, *, file: str, limit: int | None = ..., at: str | None = ...) -> list[FileHistoryEntry]: ...

    @overload
    def history(
        self, table: str, key: Key, *, author: str | None = ..., limit: int | None = ..., at: str | None = ...
    ) -> list[RowHistoryEntry]: ...

    def history(
        self,
        table: str | None = None,
        key: Key | None = None,
        *,
        file: str | None = None,
        author: str | None = None,
        limit: int | None = None,
        at: str | None = None,
    ) -> list[RowHistoryEntry] | list[TableHistoryEntry] | list[FileHistoryEntry]:
        """List the commits that touched a table, one row of it, or a file, newest first, with what they did."""
        from anabranch.repo.compare.history import row_history, table_history

        if (table is None) == (file is None):
            raise InvalidRequest("history needs a table or file=, one of them", hint="such as file='raw/a.csv'")
        if file is not None:
            from anabranch.repo.compare.file_history import file_history

            return file_history(self._ctx, file, limit, at)
        assert table is not None
        if key is None:
            return table_history(self._ctx, table, author, limit, at)
        return row_history(self._ctx, table, key, author, limit, at)

    def blame(
        self,
        table: str,
        at: str | None = None,
        *,
        cells: bool = False,
        key: Any = None,
        where: str | None = None,
        args: Mapping[str, Any] | None = None,
        column: str | None = None,
        limit: int | None = None,
    ) -> Blame:
        """Find the commit that last changed each row, or with `cells` each cell; a merge only where it decided.

        With `column` it is the commit that last changed that cell of each row.
        """
        from anabranch.repo.compare.blame import BlameRequest, blame
        from anabranch.repo.read.table import make_selection

        return blame(self._ctx, table, at, BlameRequest(cells, key, make_selection(None, where, args, limit), column))

    def merge_base(self, ours: str, theirs: str) -> list[Commit]:
        """Find the nearest common ancestors of two refs."""
        return log_verbs.merge_base(self._ctx, ours, theirs)

    def is_ancestor(self, old: str, new: str) -> bool:
        """Say whether one ref is an ancestor of another, or the same."""
        return log_verbs.ancestor(self._ctx, old, new)

    def provenance(self, ref: str | None = None, *, direct: bool = False) -> list[ProvenanceEntry]:
        """List what a commit was made from, nearest first, each once, over all repositories of the store."""
        from anabranch.repo.branches.provenance import provenance

        return provenance(self._ctx, ref, direct)

    def derived(self, ref: str | None = None, *, direct: bool = False) -> list[ProvenanceEntry]:
        """List the commits that were made from one, nearest first, each once, over all repositories of the store."""
        from anabranch.repo.branches.provenance import derived

        return derived(self._ctx, ref, direct)

    def origins(self, commits: Sequence[Commit]) -> dict[str, list[ProvenanceEntry]]:
        """Find what each of some commits names as its provenance, by the commit's hash; those without are left out."""
        from anabranch.repo.branches.provenance import origins_by_commit

        return origins_by_commit(self._ctx, commits)

    # Reading

    def one_state(self) -> AbstractContextManager[None]:
        """A block in which all that is opened is of one moment, whoever commits meanwhile; until it writes itself."""
        return self._ctx.catalog.one_state()

    def table(
        self,
        name: str,
        at: str | None = None,
        *,
        columns: Iterable[str] | str | None = None,
        where: str | None = None,
        args: Mapping[str, Any] | None = None,
        limit: int | None = None,
    ) -> Table:
        """Open a table at a ref."""
        from anabranch.repo.read.open_table import open_table
        from anabranch.repo.read.table import make_selection

        return open_table(self._ctx, name, at, make_selection(columns, where, args, limit))

    def folder(self, place: str | PathLike[str]) -> LocalFolder:
        """A local folder that files are checked out into, looked at and taken in from."""
        from anabranch.repo.files.folder import LocalFolder

        return LocalFolder(place)

    def checkout(self, place: str | PathLike[str], at: str | None = None, *, force: bool = False) -> int:
        """Write all files of a commit into a local folder; what was changed there is lost only by `force`."""
        ref = self.show(at).hash
        return self.folder(place).checkout(self.files(ref), ref, force=force)

    def files(self, at: str | None = None) -> FileTree:
        """Open the versioned files at a ref."""
        from anabranch.repo.files.open_tree import open_tree

        return open_tree(self._ctx, at)

    def objects(self, at: str | None = None, *, table: str | None = None) -> ObjectList:
        """List the objects that a commit is read from, all or those of one table: `download()` and `evict()` them."""
        from anabranch.repo.read.object_list import list_objects

        return list_objects(self._ctx, at, table)

    def sql(
        self,
        text: str,
        at: str | None = None,
        *,
        on: str | None = None,
        args: Mapping[str, Any] | None = None,
        message: str | None = None,
        author: str | None = None,
        **frames: Any,
    ) -> SqlResult:
        """Run SQL: a query reads at `at`; writing statements are one commit on `on`, or staged if there is a COMMIT.

        `{name}` in the text stands for a frame given by name, `:name` for a value in `args`.
        """
        from anabranch.repo.sql.sql import run_script

        return run_script(self._ctx, text, at, on, args, message, author, frames)

    def sql_session(self, branch: str | None = None, *, staging: bool = True, author: str | None = None) -> SqlSession:
        """Start a session for statements one after the other, in which `USE BRANCH` lasts; writes are staged."""
        from anabranch.repo.sql.sql import SqlSession

        return SqlSession(self._ctx, branch, staging=staging, author=author)

    def tables(self, at: str | None = None, namespace: str | None = None) -> list[TableEntry]:
        """List tables at a ref, with their sizes."""
        return list_tables_at(self._ctx, at, namespace)

    def namespaces(self, at: str | None = None) -> list[str]:
        """List namespaces at a ref."""
        return list_namespaces(self._ctx, at)

    def namespace_properties(self, name: str, at: str | None = None) -> dict[str, str]:
        """Read the properties of a namespace at a ref."""
        return namespace_properties(self._ctx, name, at)

    def read_files(
        self,
        paths: str | Sequence[str],
        *,
        format: str | None = None,
        schema: Any = None,
        bad_rows: str | None = None,
        equal_columns: bool = False,
        needed: Sequence[str] = (),
        rename: Mapping[str, str] | None = None,
        key: str | Sequence[str] | None = None,
        progress: Callable[[str], None] = lambda _: None,
        **options: Any,
    ) -> FileRows:
        """Read files, folders or patterns to insert their `.rows`; options are those of `TextOptions`.

        `rename={"Delta 15 N (o/oo)": "d15n"}` gives columns of the files other names; `schema` knows them by these.
        With `bad_rows=`, rows whose `key` is null or came before are set aside, too.
        """
        from anabranch.formats.read import read_files
        from anabranch.formats.rules.request import make_request
        from anabranch.frames.input import key_names

        names = key_names(key)
        request = make_request(paths, format, schema, bad_rows, equal_columns, needed, rename or {}, names, options)
        return read_files(self._ctx.engines, request, progress)

    def diff(self, before: str | None = None, after: str | None = None, *, table: str | None = None) -> Diff:
        """Compare two refs: `diff("main", "dev")`, `diff("main..dev")`, or since their base, `diff("main...dev")`."""
        from anabranch.repo.compare.diff import diff

        return diff(self._ctx, before, after, table)

    def changes(
        self,
        table: str,
        since: str | None = None,
        to: str | None = None,
        *,
        columns: Iterable[str] | str | None = None,
        where: str | None = None,
        args: Mapping[str, Any] | None = None,
        key: Any = None,
        limit: int | None = None,
    ) -> Changes:
        """Follow every change of every commit after `since` up to `to`, with whole rows in Spark's form.

        A change is kept if its row before or after meets `where`; one that touches none of `columns` is left out.
        """
        from anabranch.repo.compare.changes import changes
        from anabranch.repo.read.table import make_selection

        return changes(self._ctx, table, since, to, make_selection(columns, where, args, limit), key)

    def diff_tables(self, one: str, other: str, *, at: str | None = None, other_at: str | None = None) -> TableDiff:
        """Compare two tables, at one ref or two: columns by name, rows by the key of the second."""
        from anabranch.repo.compare.diff import diff_tables

        return diff_tables(self._ctx, one, other, at, other_at)

    def merge(
        self,
        source: str | Sequence[str],
        into: str | None = None,
        *,
        message: str | None = None,
        rules: Mapping[str, str] | None = None,
        strictness: str = "cell",
        mode: Mode = "merge",
        ff: FastForward = "auto",
        author: str | None = None,
        provenance: Any = (),
        facts: Mapping[str, Any] | None = None,
    ) -> MergeResult:
        """Merge one branch or several into another; conflicts raise MergeConflict and change nothing.

        A squash names its sources as its provenance, unless `provenance` says otherwise.
        """
        from anabranch.repo.merge.merge import merge
        from anabranch.repo.merge.request import MergeRequest, as_sources

        how = (rules or {}, strictness, mode, ff, author, provenance, facts or {})
        return merge(self._ctx, MergeRequest(as_sources(source), into, message, *how))

    def start_merge(
        self,
        source: str | Sequence[str],
        into: str | None = None,
        *,
        message: str | None = None,
        rules: Mapping[str, str] | None = None,
        strictness: str = "cell",
        mode: Mode = "merge",
        ff: FastForward = "auto",
        author: str | None = None,
    ) -> OpenMerge:
        """Keep a merge open to look at its conflicts, resolve them and finish; it survives the process."""
        from anabranch.repo.merge.open_merge import start_merge
        from anabranch.repo.merge.request import MergeRequest, as_sources

        asked = MergeRequest(as_sources(source), into, message, rules or {}, strictness, mode, ff, author)
        return start_merge(self._ctx, asked)

    def open_merges(self, into: str | None = None) -> list[OpenMerge]:
        """List the merges that are neither finished nor aborted, those into one branch or all, oldest first."""
        with self._ctx.catalog.read() as cx:
            if all(record.is_sequence for record in open_merges.all_records(cx, self._ctx.record.id)):
                return []  # what works merges out is not even loaded
        from anabranch.repo.merge.open_merge import list_merges

        return list_merges(self._ctx, into)

    def open_sequences(self, on: str | None = None) -> list[OpenSequence]:
        """List the picks, reverts and rebases that are neither finished nor aborted, on one branch or all."""
        with self._ctx.catalog.read() as cx:
            if not any(record.is_sequence for record in open_merges.all_records(cx, self._ctx.record.id)):
                return []
        from anabranch.repo.merge.open_sequence import list_sequences

        return list_sequences(self._ctx, on)

    def preview(
        self,
        source: str | Sequence[str],
        into: str | None = None,
        *,
        rules: Mapping[str, str] | None = None,
        strictness: str = "cell",
    ) -> Preview:
        """Show what a merge would make, conflicts and all, without moving anything."""
        from anabranch.repo.merge.preview import preview
        from anabranch.repo.merge.request import MergeRequest, as_sources

        return preview(self._ctx, MergeRequest(as_sources(source), into, None, rules or {}, strictness))

    @overload
    def cherry_pick(
        self,
        commit: str,
        on: str | None = ...,
        *,
        parent: int | None = ...,
        rules: Mapping[str, str] | None = ...,
        strictness: str = ...,
        message: str | None = ...,
        author: str | None = ...,
    ) -> Commit | None: ...

    @overload
    def cherry_pick(
        self,
        commit: list[str] | tuple[str, ...],
        on: str | None = ...,
        *,
        parent: int | None = ...,
        rules: Mapping[str, str] | None = ...,
        strictness: str = ...,
        message: str | None = ...,
        author: str | None = ...,
    ) -> list[Commit]: ...

    def cherry_pick(
        self,
        commit: str | list[str] | tuple[str, ...],
        on: str | None = None,
        *,
        parent: int | None = None,
        rules: Mapping[str, str] | None = None,
        strictness: str = "cell",
        message: str | None = None,
        author: str | None = None,
    ) -> Commit | list[Commit] | None:
        """Make the change of one commit again on a branch; None if it changes nothing there.

        Of several, `["dev~3", "main..dev"]`, all are made or none; returns those that were.
        """
        if not isinstance(commit, str):
            from anabranch.repo.merge.open_sequence import SequenceRequest, run_sequence

            asked = SequenceRequest("cherry-pick", on, None, parent, False, rules or {}, strictness, message, author)
            return run_sequence(self._ctx, asked, commit)
        from anabranch.repo.merge.cherry_pick import cherry_pick

        return cherry_pick(self._ctx, commit, on, parent, rules or {}, strictness, message, author)

    def start_cherry_pick(
        self,
        commits: str | Sequence[str],
        on: str | None = None,
        *,
        parent: int | None = None,
        rules: Mapping[str, str] | None = None,
        strictness: str = "cell",
        message: str | None = None,
    ) -> OpenSequence:
        """Make the changes of commits again on a branch, up to the first that has conflicts; it survives the process.

        The branch moves with `finish()`, when all are made. A commit is a ref, or a range such as `main..dev`.
        """
        from anabranch.repo.merge.open_sequence import SequenceRequest, start_sequence
        from anabranch.repo.merge.request import as_sources

        asked = SequenceRequest("cherry-pick", on, None, parent, False, rules or {}, strictness, message)
        return start_sequence(self._ctx, asked, as_sources(commits))

    @overload
    def revert(
        self,
        commit: str,
        on: str | None = ...,
        *,
        parent: int | None = ...,
        three_way: bool = ...,
        rules: Mapping[str, str] | None = ...,
        message: str | None = ...,
        author: str | None = ...,
    ) -> Commit | None: ...

    @overload
    def revert(
        self,
        commit: list[str] | tuple[str, ...],
        on: str | None = ...,
        *,
        parent: int | None = ...,
        three_way: bool = ...,
        rules: Mapping[str, str] | None = ...,
        message: str | None = ...,
        author: str | None = ...,
    ) -> list[Commit]: ...

    def revert(
        self,
        commit: str | list[str] | tuple[str, ...],
        on: str | None = None,
        *,
        parent: int | None = None,
        three_way: bool = False,
        rules: Mapping[str, str] | None = None,
        message: str | None = None,
        author: str | None = None,
    ) -> Commit | list[Commit] | None:
        """Undo one commit by a new one; refused where later commits depend on it, unless `three_way` merges it.

        Of several, all are undone in the order given, or none; a range such as `main~3..main` goes newest first.
        """
        if not isinstance(commit, str):
            from anabranch.repo.merge.open_sequence import SequenceRequest, run_sequence

            asked = SequenceRequest("revert", on, None, parent, three_way, rules or {}, "cell", message, author)
            return run_sequence(self._ctx, asked, commit)
        from anabranch.repo.merge.revert import RevertRequest, revert

        return revert(self._ctx, RevertRequest(commit, on, parent, three_way, rules or {}, message, author))

    def start_revert(
        self,
        commits: str | Sequence[str],
        on: str | None = None,
        *,
        parent: int | None = None,
        three_way: bool = False,
        rules: Mapping[str, str] | None = None,
        message: str | None = None,
    ) -> OpenSequence:
        """Undo commits by new ones, up to the first that has conflicts; it survives the process.

        The branch moves with `finish()`, when all are undone.
        """
        from anabranch.repo.merge.open_sequence import SequenceRequest, start_sequence
        from anabranch.repo.merge.request import as_sources

        asked = SequenceRequest("revert", on, None, parent, three_way, rules or {}, "cell", message)
        return start_sequence(self._ctx, asked, as_sources(commits))

    def rebase(
        self,
        branch: str,
        onto: str,
        *,
        steps: Sequence[tuple[str, ...]] | None = None,
        rules: Mapping[str, str] | None = None,
        strictness: str = "cell",
    ) -> list[Commit]:
        """Make the commits of a branch again on top of another ref, and move the branch there.

        With `steps` those commits, in that order: `("pick", c)`, `("squash", c)` into the one before, or with a message
        for both, `("fixup", c)`, `("reword", c, message)`, `("drop", c)`; what is not named is dropped, too.
        """
        if steps is not None:
            from anabranch.repo.merge.open_sequence import SequenceRequest, run_sequence

            how = (rules or {}, strictness)
            return run_sequence(self._ctx, SequenceRequest("rebase", branch, onto, None, False, *how), steps)
        from anabranch.repo.merge.rebase import rebase

        return rebase(self._ctx, branch, onto, rules or {}, strictness)

    def start_rebase(
        self,
        branch: str,
        onto: str,
        *,
        steps: Sequence[tuple[str, ...]] | None = None,
        rules: Mapping[str, str] | None = None,
        strictness: str = "cell",
    ) -> OpenSequence:
        """Rebase up to the first commit that has conflicts; it survives the process, `finish()` moves the branch."""
        from anabranch.repo.merge.open_sequence import SequenceRequest, start_sequence

        asked = SequenceRequest("rebase", branch, onto, None, False, rules or {}, strictness)
        return start_sequence(self._ctx, asked, steps)

    def rebase_steps(self, branch: str, onto: str) -> list[tuple[str, Commit]]:
        """List the steps that a rebase takes, oldest first: to change, and to give as `steps`."""
        from anabranch.repo.merge.open_sequence import default_steps

        return default_steps(self._ctx, branch, onto)

    def restore(
        self, table: str, to: str, on: str | None = None, *, message: str | None = None, author: str | None = None
    ) -> Commit | None:
        """Give a table the columns and rows that it had at a ref, as a new commit; also one that was dropped."""
        from anabranch.repo.merge.restore import restore

        return restore(self._ctx, table, to, on, message, author)

    def job(
        self,
        function: Callable[[Any], Any],
        *,
        inputs: Mapping[str, Any],
        output: str | None = None,
        name: str | None = None,
        **options: Any,
    ) -> Any:
        """Make a job: a function over shards of its inputs, run on Spark's executors with `.run()`.

        Options: `table=` and `key=` for rows that it gives, `schema=`, `shards=`, `shard_by=`, `params=`, `version=`,
        `incremental=`, `keep_shards=`, `author=`.
        """
        from anabranch.repo.above import verb

        return verb("make_job")(self, function, inputs, output, name, options)

    def runs(self, pipeline: str | None = None, *, limit: int | None = None) -> list[dict[str, Any]]:
        """List the runs of pipelines, newest first."""
        from anabranch.repo.branches.runs import list_runs

        return list_runs(self._ctx, pipeline, limit)

    def find_run(self, pipeline: str, number: int | None = None) -> dict[str, Any]:
        """Find a run of a pipeline, with what was expected in it; the newest, if no number is given."""
        from anabranch.repo.branches.runs import find_run

        return find_run(self._ctx, pipeline, number)

    def jobs(self, name: str | None = None, *, limit: int | None = None) -> list[dict[str, Any]]:
        """List the jobs, newest first."""
        from anabranch.repo.branches.jobs import list_jobs

        return list_jobs(self._ctx, name, limit)

    def find_job(self, job: str) -> dict[str, Any]:
        """Find a job with its shards, by its id or the beginning of it, or the newest of a name."""
        from anabranch.repo.branches.jobs import find_job

        return find_job(self._ctx, job)

    def resume_job(self, job: str) -> Any:
        """Go on with a job that failed or was interrupted; its function is read from the file that it was in."""
        from anabranch.repo.above import verb

        return verb("resume_job")(self, job)

    def remove_job(self, job: str) -> dict[str, Any]:
        """Forget a job and remove what its shards left; what it published stays."""
        from anabranch.repo.branches.jobs import remove_job

        return remove_job(self._ctx, job)

    @property
    def workbook(self) -> Workbook:
        """What jobs and pipelines write down: for those who write such things themselves."""
        from anabranch.repo.branches.workbook import Workbook

        return Workbook(self._ctx)

    @property
    def spark_session(self) -> Any:
        """The Spark session that is used; one is started if there is none."""
        return self._ctx.engines.spark().session

    def progress(self) -> tuple[int, int] | None:
        """Say how many tasks of running Spark jobs are done, of how many; None where nothing can be told."""
        return self._ctx.engines.progress()

    def optimize(self, table: str, on: str | None = None) -> Optimized:
        """Fold a table's changes at a branch or ref and rewrite the files that are worth it; history stays as it is."""
        from anabranch.repo.upkeep.optimize import optimize

        return optimize(self._ctx, table, on)

    def gc(
        self,
        *,
        dry_run: bool = False,
        grace: str | timedelta | int = "7d",
        keep: str | timedelta | int = 0,
        reflog: str | timedelta | int = "90d",
    ) -> Collected:
        """Remove what nothing needs: commits that no ref reaches, views that none reads, files of crashes.

        `grace` is for those who still read or write; `keep` keeps views by age or count, `reflog` commits by age.
        """
        from anabranch.model.durations import count_or_duration, duration_of
        from anabranch.repo.upkeep.gc import gc

        views = count_or_duration(keep, "keep=")
        return gc(self._ctx, Ages(duration_of(grace, "grace="), duration_of(reflog, "reflog="), views), dry_run)

    def verify(self, *, deep: bool = False) -> Verification:
        """Check the whole store and list all damages: the catalogue, every object, every table of every branch.

        `deep` also reads all rows, and compares each change with the two states that it lies between.
        """
        from anabranch.repo.compare.verify_changes import check_changes
        from anabranch.repo.upkeep.verify import verify

        found = verify(self._ctx)
        return found.deepened(check_changes(self._ctx)) if deep else found
