"""The verbs of branches and tags."""

from __future__ import annotations

from collections.abc import Sequence

from anabranch.model.commits import Branch, BranchMove, Tag
from anabranch.repo.branches import branch as branch_verbs
from anabranch.repo.branches.listing import list_tags
from anabranch.repo.verbs.opened import OpenedRepository


class BranchVerbs(OpenedRepository):
    """Branches and tags."""

    def branch(self, name: str, at: str | None = None) -> Branch:
        """Create a branch."""
        return branch_verbs.create_branch(self._ctx, name, at)

    def find_branch(self, name: str) -> Branch:
        """Find one branch; the error suggests the nearest name."""
        return branch_verbs.find_branch(self._ctx, name)

    def rename_branch(self, old: str, new: str) -> None:
        """Rename a branch."""
        branch_verbs.rename_branch(self._ctx, old, new)

    def delete_branch(self, name: str, *, force: bool = False) -> None:
        """Delete a branch; commits that nothing else reaches need `force`."""
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
        """Give a commit a permanent name, optionally with a message."""
        branch_verbs.create_tag(self._ctx, name, at, message)

    def delete_tag(self, name: str) -> None:
        """Remove a tag."""
        branch_verbs.delete_tag(self._ctx, name)

    def tags(self, *, showing: Sequence[str] | None = None) -> list[Tag]:
        """List the tags: all, or those that name one of these commits (hashes)."""
        return list_tags(self._ctx, showing)
