"""The base of all groups of verbs: an open repository."""

from __future__ import annotations

from anabranch.repo.context.context import Context


class OpenedRepository:
    """A repository's name, its default branch, and what its verbs work with."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx

    @property
    def name(self) -> str:
        return self._ctx.record.name

    @property
    def default_branch(self) -> str:
        """The branch used when none is named."""
        with self._ctx.catalog.read() as cx:
            return self._ctx.default_branch(cx)
