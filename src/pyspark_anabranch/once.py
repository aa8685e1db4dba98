"""Publishes a write once: its commit carries the write's identity, and a write that the branch has is not repeated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from anabranch import Commit, Repository, Transaction

_RETRIES = 10


@dataclass(frozen=True)
class WriteIdentity:
    """The fact that identifies a write."""

    fact: str
    value: dict[str, Any]


def publish_once(
    repo: Repository, branch: str, message: str, identity: WriteIdentity, write: Callable[[Transaction], Any]
) -> Commit | None:
    """Make one commit, unless the branch has one of this write; None if so, or if nothing changed.

    The branch is searched only after the commit has begun, and a strict commit fails if anybody wrote the table since:
    of two concurrent attempts at the same write, one is published, and the other finds it on its retry.
    """

    def write_if_new(tx: Transaction) -> None:
        if not any(value == identity.value for _, value in repo.workbook.facts(identity.fact, branch)):
            write(tx)

    asked = repo.commit(branch, message, strict=True, facts={identity.fact: identity.value}, retry=_RETRIES)
    return asked(write_if_new)
