"""Publishing once: a commit says which write it is of, and a write that the branch has is not done again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from anabranch import Commit, Repository, Transaction

_RETRIES = 10


@dataclass(frozen=True)
class WriteIdentity:
    """The fact by which a write is known again."""

    fact: str
    value: dict[str, Any]


def publish_once(
    repo: Repository, branch: str, message: str, identity: WriteIdentity, write: Callable[[Transaction], Any]
) -> Commit | None:
    """Make one commit, unless the branch has one of this write; None if so, or if nothing changed.

    The branch is asked after the commit has begun, and a strict commit fails if anybody wrote the table since then:
    of two that do the same write at once, one is published, and the other finds it when it tries again.
    """

    def write_if_new(tx: Transaction) -> None:
        if not is_written(repo, branch, identity):
            write(tx)

    asked = repo.commit(branch, message, strict=True, facts={identity.fact: identity.value}, retry=_RETRIES)
    return asked(write_if_new)


def is_written(repo: Repository, branch: str, identity: WriteIdentity) -> bool:
    """Tell whether the branch has a commit of this write; a reset that takes the commit away takes this away, too."""
    return any(value == identity.value for _, value in repo.workbook.facts(identity.fact, branch))
