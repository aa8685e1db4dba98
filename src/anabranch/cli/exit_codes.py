"""The exit code of each kind of error; a server would map kinds to HTTP statuses in a table of its own."""

from __future__ import annotations

from anabranch import errors
from anabranch.errors import AnabranchError

EXIT_CODES: dict[type[AnabranchError], int] = {
    errors.MergeConflict: 1,
    errors.InvalidRequest: 2,
    errors.NotFound: 3,
    errors.AlreadyExists: 4,
    errors.BranchMoved: 5,
    errors.Unavailable: 6,
    errors.OutcomeUnknown: 7,
    errors.Corrupt: 8,
    errors.RunFailed: 9,
}
CONFLICTS, BAD_USAGE = EXIT_CODES[errors.MergeConflict], EXIT_CODES[errors.InvalidRequest]
UNEXPECTED, INTERRUPTED, PIPE_CLOSED = 70, 130, 141
"""For what is none of our errors; the last two are what a shell shows for the signals."""


def exit_code(error: AnabranchError) -> int:
    """Find the code of an error by its nearest kind."""
    return next((EXIT_CODES[kind] for kind in type(error).__mro__ if kind in EXIT_CODES), UNEXPECTED)
