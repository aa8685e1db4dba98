"""The verbs of merges, and those that are merges: picks, reverts, rebases, restores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

from anabranch.catalog import open_merges
from anabranch.model.commits import Commit
from anabranch.repo.verbs.opened import OpenedRepository

if TYPE_CHECKING:
    from anabranch.repo.merge.open_merge import OpenMerge
    from anabranch.repo.merge.open_sequence import OpenSequence
    from anabranch.repo.merge.preview import Preview
    from anabranch.repo.merge.request import FastForward, MergeResult, Mode


class MergeVerbs(OpenedRepository):
    """Merges, and the verbs that are merges."""

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
        """List the merges that are neither finished nor aborted, into one branch or all, oldest first."""
        with self._ctx.catalog.read() as cx:
            if all(record.is_sequence for record in open_merges.all_records(cx, self._ctx.record.id)):
                return []  # Spares loading the merge code.
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
        """Show what a merge would produce, with its conflicts, without moving anything."""
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
        """Apply the change of one commit again on a branch; None if it changes nothing there.

        Of several, such as `["dev~3", "main..dev"]`, all are applied or none; returns the commits made.
        """
        if not isinstance(commit, str):
            from anabranch.repo.merge.open_sequence import SequenceRequest, run_sequence

            asked = SequenceRequest("cherry-pick", on, None, parent, False, rules or {}, strictness, message, author)
            return run_sequence(self._ctx, asked, commit)
        from anabranch.repo.merge.pick import PickRequest, cherry_pick

        return cherry_pick(self._ctx, PickRequest(commit, on, parent, rules or {}, strictness, message, author))

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
        """Apply the changes of commits again on a branch, up to the first with conflicts; it survives the process.

        `finish()` moves the branch when all are applied. A commit is a ref, or a range such as `main..dev`.
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
        """Undo one commit by a new one; refused if later commits depend on it, unless `three_way` merges it.

        Several are undone in the order given, all or none; a range such as `main~3..main` goes newest first.
        """
        if not isinstance(commit, str):
            from anabranch.repo.merge.open_sequence import SequenceRequest, run_sequence

            asked = SequenceRequest("revert", on, None, parent, three_way, rules or {}, "cell", message, author)
            return run_sequence(self._ctx, asked, commit)
        from anabranch.repo.merge.pick import PickRequest
        from anabranch.repo.merge.revert import revert

        picked = PickRequest(commit, on, parent, rules or {}, "cell", message, author)
        return revert(self._ctx, picked, three_way=three_way)

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
        """Undo commits by new ones, up to the first with conflicts; it survives the process.

        `finish()` moves the branch when all are undone.
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
        """Apply the commits of a branch again on top of another ref, and move the branch there.

        With `steps`, these commits in this order: `("pick", c)`, `("squash", c)` into the one before, optionally with a
        message for both, `("fixup", c)`, `("reword", c, message)`, `("drop", c)`; commits not named are dropped.
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
        """Rebase up to the first commit with conflicts; it survives the process, and `finish()` moves the branch."""
        from anabranch.repo.merge.open_sequence import SequenceRequest, start_sequence

        asked = SequenceRequest("rebase", branch, onto, None, False, rules or {}, strictness)
        return start_sequence(self._ctx, asked, steps)

    def rebase_steps(self, branch: str, onto: str) -> list[tuple[str, Commit]]:
        """List the steps of a rebase, oldest first, to be changed and passed as `steps`."""
        from anabranch.repo.merge.open_sequence import default_steps

        return default_steps(self._ctx, branch, onto)

    def restore(
        self, table: str, to: str, on: str | None = None, *, message: str | None = None, author: str | None = None
    ) -> Commit | None:
        """Give a table the columns and rows it had at a ref, as a new commit; also brings back a dropped table."""
        from anabranch.repo.merge.restore import restore

        return restore(self._ctx, table, to, on, message, author)
