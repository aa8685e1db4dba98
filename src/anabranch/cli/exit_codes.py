"""The exit code of each kind of error; a server would map kinds to HTTP statuses in a table of its own."""

from __future__ import annotations

from anabranch.errors import (
    AlreadyExists,
    AnabranchError,
    BranchMoved,
    Corrupt,
    InvalidRequest,
    MergeConflict,
    NotFound,
    OutcomeUnknown,
    RunFailed,
    Unavailable,
)

EXIT_CODES: dict[type[AnabranchError], int] = {
    MergeConflict: 1,
    InvalidRequest: 2,
    NotFound: 3,
    AlreadyExists: 4,
    BranchMoved: 5,
    Unavailable: 6,
    OutcomeUnknown: 7,
    Corrupt: 8,
    RunFailed: 9,
}
CONFLICTS, BAD_USAGE = EXIT_CODES[MergeConflict], EXIT_CODES[InvalidRequest]
UNEXPECTED, INTERRUPTED, PIPE_CLOSED = 70, 130, 141
"""For what is none of our errors; the last two are what a shell shows for the signals."""


def exit_code(error: AnabranchError) -> int:
    """Find the code of an error by its nearest kind."""
    return next((EXIT_CODES[kind] for kind in type(error).__mro__ if kind in EXIT_CODES), UNEXPECTED)
