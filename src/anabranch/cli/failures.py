"""Reports what went wrong: in a line with a hint, and by an exit code for its kind."""

from __future__ import annotations

import errno
import json
import sys
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click

from anabranch import errors
from anabranch.cli.output.text import OutputClosed, clean, paint
from anabranch.errors import AnabranchError, Unavailable
from anabranch.model.addresses import masked

if TYPE_CHECKING:
    from anabranch.cli.session import Session


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


_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
_FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS)


_LINED = {"line", "places"}
"""Facts of errors whose messages have several lines."""


_HABITS = {
    ("resolve", "--take"): "--ours, --theirs or --base takes a side",
    ("reset", "--to"): "name the ref alone: `ana reset --hard REF`",
    ("restore", "--all"): "`ana restore .` gives up all that is staged",
    ("reset", "--soft"): "`ana rebase -i REF` puts commits together, `ana commit --amend` changes the last one",
    ("reset", "--mixed"): "`ana rebase -i REF` puts commits together, `ana reset --hard` gives up what is staged",
    ("merge", "-X"): "`ana merge SOURCE --ours` or --theirs takes a side, --rule TABLE.COLUMN=RULE decides by column",
    ("merge", "-s"): "`ana merge SOURCE --ours` or --theirs takes a side, --rule TABLE.COLUMN=RULE decides by column",
    ("diff", "--name-only"): "`ana diff --stat` lists what changed",
    ("diff", "--name-status"): "`ana diff --stat` lists what changed",
    ("log", "--decorate"): "branches and tags are always shown; leave it out",
    ("branch", "--merged"): "`ana log A..B` lists what B has and A has not",
    ("blame", "-L"): "`ana blame TABLE --key KEY` is of one row, --column NAME of one column",
    ("resolve", "--delete"): "take the side that has no row: --ours or --theirs",
    ("restore", "--staged"): "`ana restore TABLE` gives up what is staged of it",
}
"""Options that people try, by command, and what to write instead."""


class BadUsage(click.UsageError):
    """An invalid command line, with a hint of its own."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


def report(error: BaseException, session: Session) -> int:
    """Report an error to the user, and return the exit code."""
    if isinstance(error, click.exceptions.Exit):
        return error.exit_code
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else UNEXPECTED
    if isinstance(error, OutputClosed):
        return PIPE_CLOSED
    if isinstance(error, (KeyboardInterrupt, click.Abort)):
        say("error: interrupted", None)
        return INTERRUPTED
    if session.choices.debug:
        print(clean(masked("".join(traceback.format_exception(error))), keep="\n"), end="", file=sys.stderr)
    return _report_error(_of_the_machine(error) or error, session)


def _of_the_machine(error: BaseException) -> Unavailable | None:
    """The error for a full disk, too little memory or missing permission, which are not bugs; None for others."""
    if isinstance(error, MemoryError):
        return Unavailable("out of memory", hint="free some, or do less at once")
    if not isinstance(error, OSError):
        return None
    if error.errno in _FULL:
        what = error.filename or "the output"
        return Unavailable(f"{what} can't be written: {error.strerror}", hint="make room, or write elsewhere")
    if error.errno in _FORBIDDEN and error.filename:
        return Unavailable(f"{error.filename} can't be used: {error.strerror}", hint="check its permissions")
    return None


def _report_error(error: BaseException, session: Session) -> int:
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        error.show()
        return BAD_USAGE
    described = _failure_of(error, session)
    if session.json:
        _say_document(error, described)
        return described.exit_code
    first, *place = described.message.split("\n") if _LINED & described.facts.keys() else [described.message]
    say(f"error: {first}", None)
    for line in place:  # For SQL, the line at fault and a mark below it; for files, one place per line.
        print(clean(masked(line)), file=sys.stderr)
    say("", described.hint)
    return described.exit_code


@dataclass(frozen=True)
class _Failure:
    """What the user sees of an error."""

    message: str
    hint: str | None
    exit_code: int
    facts: Mapping[str, Any] = field(default_factory=dict)


def _failure_of(error: BaseException, session: Session) -> _Failure:
    if isinstance(error, AnabranchError):
        return _Failure(error.message, session.hint_for(error), exit_code(error), error.facts)
    if isinstance(error, click.ClickException):
        return _usage_failure(error)
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return _Failure(f"unexpected {what}", "this is a bug; --debug shows where it happened", UNEXPECTED)


def _usage_failure(error: click.ClickException) -> _Failure:
    ctx = getattr(error, "ctx", None)
    habit = (
        _HABITS.get((ctx.command.name, error.option_name)) if ctx and isinstance(error, click.NoSuchOption) else None
    )
    hint = habit or getattr(error, "hint", None) or f"see `{ctx.command_path if ctx else 'ana'} --help`"
    message = (error.message if habit else error.format_message()).rstrip(".").replace("\n\t", " ")
    first = message[:1].lower() if message[1:2].islower() else message[:1]
    return _Failure(first + message[1:], hint, error.exit_code)


def _say_document(error: BaseException, described: _Failure) -> None:
    """Print the error as one JSON document on stderr; programs that asked for JSON read no prose."""
    kind = type(error).__name__ if isinstance(error, AnabranchError) else "InvalidRequest"
    kind = "Unexpected" if described.exit_code == UNEXPECTED else kind
    document = {"kind": kind, "message": masked(described.message), "hint": described.hint and masked(described.hint)}
    print(json.dumps({"error": {**document, "exit_code": described.exit_code}}, ensure_ascii=False), file=sys.stderr)


def say(line: str, hint: str | None) -> None:
    """Print a message and a hint on stderr, one line each."""
    for text in (line, f"hint: {hint}" if hint else None):
        if text:
            word, _, rest = " ".join(clean(masked(text), keep="\n").split("\n")).partition(":")
            print(paint(f"{word}:", "red" if word == "error" else "yellow", sys.stderr) + rest, file=sys.stderr)
