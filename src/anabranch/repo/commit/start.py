"""What a commit is asked to be, and where it starts from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from anabranch.errors import InvalidRequest
from anabranch.model.clock import Clock
from anabranch.model.commits import BranchHead, CommitHead, Origin
from anabranch.repo.context.arguments import check_author, check_facts, check_text


@dataclass(frozen=True)
class CommitRequest:
    """The arguments of `repo.commit(…)` and `repo.start(…)`."""

    branch: str | None
    message: str = ""
    author: str | None = None
    strict: bool = False
    allow_empty: bool = False
    provenance: Any = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    retry: int = 0
    """How many times to call the function again if the branch moved under what it wrote."""
    date: str | datetime | None = None
    """When the work was done, if not now."""

    def __post_init__(self) -> None:
        if not isinstance(self.retry, int) or self.retry < 0:
            raise InvalidRequest(f"retry= is {self.retry!r}, a count was expected", hint="such as retry=3")
        check_text(self.message, "the message")
        check_author(self.author)
        check_facts(self.facts)


@dataclass(frozen=True)
class Start:
    """Where a commit starts from, and its message, author and other facts."""

    branch: BranchHead
    parent: CommitHead
    clock: Clock
    message: str
    author: str
    started_at: int
    provenance: tuple[Origin, ...] = ()
    strict: bool = False
    allow_empty: bool = False
    creates_branch: bool = False
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def said(self) -> dict[str, Any]:
        """What the commit takes over from its start, by name."""
        names = ("author", "message", "started_at", "provenance", "creates_branch", "facts")
        return {name: getattr(self, name) for name in names}
