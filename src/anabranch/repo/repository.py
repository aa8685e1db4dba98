"""The façade that users hold: what a repository is; its verbs are in `repo/verbs`, one line each."""

from __future__ import annotations

from types import TracebackType

from anabranch.repo.verbs.branches import BranchVerbs
from anabranch.repo.verbs.commits import CommitVerbs
from anabranch.repo.verbs.history import HistoryVerbs
from anabranch.repo.verbs.merges import MergeVerbs
from anabranch.repo.verbs.reading import ReadVerbs
from anabranch.repo.verbs.upkeep import UpkeepVerbs


class Repository(CommitVerbs, BranchVerbs, HistoryVerbs, ReadVerbs, MergeVerbs, UpkeepVerbs):
    """A history of tables. It may be shared by threads."""

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

    def sibling(self, name: str) -> Repository:
        """Open another repository of the same store; it lives as long as this one."""
        from anabranch.repo.stores import sibling

        return Repository(sibling(self._ctx, name))

    def close(self) -> None:
        """Give connections and memory back."""
        self._ctx.catalog.close()
        self._ctx.engines.close()
