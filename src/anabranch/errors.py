"""The errors users see: one tree, by what the caller should do next.

AnabranchError
├── InvalidRequest     mend the request
├── NotFound           name something that is there
├── AlreadyExists      choose another name
├── MergeConflict      resolve the conflicts
├── BranchMoved        read again and retry
├── Unavailable        try later, or mend the machine
├── OutcomeUnknown     look at the branch's moves
└── Corrupt            restore what is damaged
"""

from __future__ import annotations

from typing import Any


class AnabranchError(Exception):
    """Base of all errors; carries a hint for the next step and the facts as attributes."""

    exit_code = 70

    def __init__(self, message: str, *, hint: str | None = None, **facts: Any) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.facts = facts

    def __getattr__(self, name: str) -> Any:
        facts = self.__dict__.get("facts", {})
        if name in facts:
            return facts[name]
        raise AttributeError(name)

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message


class InvalidRequest(AnabranchError):
    """What was asked cannot be done as asked."""

    exit_code = 2


class NotFound(AnabranchError):
    """Something that was named is not there."""

    exit_code = 3


class AlreadyExists(AnabranchError):
    """A name is taken."""

    exit_code = 4


class MergeConflict(AnabranchError):
    """Two sides changed the same thing differently."""

    exit_code = 1


class BranchMoved(AnabranchError):
    """The branch moved while work on it went on."""

    exit_code = 5


class Unavailable(AnabranchError):
    """A part that is needed does not answer, or is not installed."""

    exit_code = 6


class OutcomeUnknown(AnabranchError):
    """Publishing was cut off, and it could not be found out whether it happened."""

    exit_code = 7


class Corrupt(AnabranchError):
    """Stored bytes are missing or are not what was written."""

    exit_code = 8
