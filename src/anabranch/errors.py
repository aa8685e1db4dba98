"""The errors users see: one tree, by what the caller should do next.

AnabranchError
├── InvalidRequest     mend the request
├── NotFound           name something that is there
├── AlreadyExists      choose another name
├── MergeConflict      resolve the conflicts
├── BranchMoved        read again and retry
├── Unavailable        try later, or mend the machine
├── OutcomeUnknown     look at the branch's moves
├── Corrupt            restore what is damaged
└── RunFailed          mend the code or the data of a job or pipeline
"""

from __future__ import annotations

import re
import sys
from typing import Any

_LONG = re.compile(r"\S{301,}|'[^'\n]{301,}'")
_LONGEST = 4000


def _cut(text: str) -> str:
    """Shorten what is longer than any name can be; the error's facts keep it whole."""
    short = _LONG.sub(lambda found: f"{found[0][:200]}…{found[0][-20:]}", text)
    return short if len(short) <= _LONGEST else f"{short[:_LONGEST]}…"


class AnabranchError(Exception):
    """Base of all errors; carries a hint for the next step and the facts as attributes."""

    def __init__(self, message: str, *, hint: str | None = None, **facts: Any) -> None:
        self.message = _cut(message)
        super().__init__(self.message)
        self.hint = None if hint is None else _cut(hint)
        self.facts = facts

    def __getattr__(self, name: str) -> Any:
        facts = self.__dict__.get("facts", {})
        if name in facts:
            return facts[name]
        raise AttributeError(name)

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message


def install_hint(extra: str) -> str:
    """Say what to type, in the checkout that this was installed from, for the packages of an extra."""
    return f"in the checkout of Anabranch: {sys.executable} -m pip install '.[{extra}]'"


class InvalidRequest(AnabranchError):
    """What was asked can't be done as asked."""


class NotFound(AnabranchError):
    """Something that was named doesn't exist."""


class AlreadyExists(AnabranchError):
    """A name is taken."""


class MergeConflict(AnabranchError):
    """Two sides changed the same thing differently."""


class BranchMoved(AnabranchError):
    """The branch moved while the work was under way."""


class Unavailable(AnabranchError):
    """A needed part doesn't answer, or is not installed."""


class OutcomeUnknown(AnabranchError):
    """Publishing was cut off, and whether it happened could not be found out."""


class Corrupt(AnabranchError):
    """Stored bytes are missing or are not what was written."""


class RunFailed(AnabranchError):
    """A job or a run of a pipeline failed, or missed its expectations; nothing was published."""
