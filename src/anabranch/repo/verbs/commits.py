"""Writing: the verbs of commits, open commits and stashes."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from datetime import datetime
from typing import TYPE_CHECKING, Any

from anabranch.model.commits import Commit
from anabranch.repo.verbs.opened import OpenedRepository

if TYPE_CHECKING:
    from anabranch.repo.commit.commit import CommitBlock
    from anabranch.repo.commit.open_commit import OpenCommit
    from anabranch.repo.commit.stash import Stash
    from anabranch.repo.merge.open_sequence import OpenSequence


class CommitVerbs(OpenedRepository):
    """Commits: finished at once, left open, staged or stashed."""

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

        `facts` are values by key that the commit carries, such as what it was made from; its hash covers them.
        `date` is when the work was done, if not now: the commit's `started_at`.
        With `retry`, pass a function instead, `repo.commit("main", "load", retry=3)(write)`: it calls `write(tx)` and
        publishes; if others changed the same rows, up to three more times on the new state; returns the Commit.
        """
        from anabranch.repo.commit.commit import CommitBlock
        from anabranch.repo.commit.start import CommitRequest

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
        """Replace the newest commit of a branch, with another message or more work; the branch moves to it.

        Takes in what is staged on the branch, or the open commit `work`. Parents, and all that is not given, stay.
        The old commit stays readable by its hash, and in the reflog.
        """
        from anabranch.repo.merge.amend import AmendRequest, amend

        return amend(self._ctx, AmendRequest(branch, message, author, date), work)

    def carry_over(self, work: OpenCommit, message: str | None = None, *, author: str | None = None) -> OpenSequence:
        """Merge open work with what its branch got meanwhile; conflicts stay open, `finish()` moves the branch.

        For work that `finish()` refuses with BranchMoved. What both sides touched is a conflict, equal or not.
        """
        from anabranch.repo.merge.amend import carry_over

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

        Without `branch`, the branch goes on that `parent` names or on which that commit was made (on a new one with a
        generated name, if that branch is gone or left the commit); without `parent`, too, the default branch.
        With `working`, it is the branch's working set, where the command line writes; a branch has at most one.
        """
        from anabranch.repo.commit.open_commit import start
        from anabranch.repo.commit.start import CommitRequest

        asked = CommitRequest(branch, message, author, strict, provenance=provenance, facts=facts or {})
        return start(self._ctx, asked, parent, working=working)

    def _branch_or_default(self, name: str | None) -> str:
        return self.default_branch if name is None else name

    def working_set(self, branch: str | None = None) -> OpenCommit | None:
        """Find the working set of a branch, if it has one."""
        from anabranch.repo.commit.open_commit import working_set

        return working_set(self._ctx, self._branch_or_default(branch))

    def staging(self, branch: str | None = None) -> AbstractContextManager[OpenCommit]:
        """Open a block that writes to the working set of a branch; one created for it that stays empty is removed."""
        from anabranch.repo.commit.working_set import staged_writes

        return staged_writes(self._ctx, self._branch_or_default(branch))

    def open_commits(self) -> list[OpenCommit]:
        """List the open commits, oldest first."""
        from anabranch.repo.commit.open_commit import list_open

        return list_open(self._ctx)

    def stash(self, branch: str | None = None, message: str | None = None) -> Stash:
        """Put the working set of a branch aside."""
        from anabranch.repo.commit.stash import push

        return push(self._ctx, self._branch_or_default(branch), message)

    def stashes(self) -> list[Stash]:
        """List the stashes, newest first."""
        from anabranch.repo.commit.stash import list_stashes

        return list_stashes(self._ctx)

    def find_stash(self, number: int = 0) -> Stash:
        """Find a stash by its number; 0 is the newest."""
        from anabranch.repo.commit.stash import find_stash

        return find_stash(self._ctx, number)

    def pop_stash(self, number: int = 0, on: str | None = None) -> OpenCommit:
        """Stage a stash again; on another branch, only if nothing that it touched differs there."""
        from anabranch.repo.commit.stash import pop

        return pop(self._ctx, number, self._branch_or_default(on))

    def drop_stash(self, number: int = 0) -> Stash:
        """Abandon a stash."""
        from anabranch.repo.commit.stash import drop

        return drop(self._ctx, number)
