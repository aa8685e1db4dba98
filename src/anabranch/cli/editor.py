"""Asks the user in an editor, as git does: for the steps of a rebase, and for messages."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from tempfile import mkstemp
from typing import TYPE_CHECKING

import click

from anabranch.cli.failures import BadUsage
from anabranch.cli.output.text import plural, subject
from anabranch.errors import AnabranchError, InvalidRequest, Unavailable
from anabranch.plan.merge.steps import WORDS

if TYPE_CHECKING:
    from anabranch import Commit

_HELP = """
# {count} of {branch} onto {onto}, oldest first.
# Lines are done from top to bottom; change their words and their order:
# pick    make the commit again
# reword  the same with another message: write it after the hash, or be asked
# squash  put it together with the commit above, and both messages
# fixup   put it together with the commit above, under that one's message
# drop    leave it out, as if the line were deleted
# If no line is left, nothing is done.
"""


def edited(text: str, what: str) -> str:
    """Let the user edit a text; lines that begin with # are dropped."""
    if not any(os.environ.get(name) for name in ("VISUAL", "EDITOR")) and not sys.stdin.isatty():
        raise BadUsage(f"{what} is asked for by an editor, and there is none", hint="set EDITOR, such as EDITOR=vi")
    try:
        found = click.edit(text, require_save=False, extension=".txt")
    except click.ClickException as error:
        raise Unavailable(f"the editor failed: {error.message}", hint="see what EDITOR says") from error
    return "\n".join(line for line in (found or "").splitlines() if not line.startswith("#")).strip()


def edited_message(message: str) -> str:
    """Let the user edit a commit's message."""
    found = edited(f"{message}\n\n# What the commit does and why; lines that begin with # are left out.\n", "a message")
    if not found:
        raise InvalidRequest("a commit needs a message", hint="say what it does and why")
    return found


def edited_steps(
    commits: Sequence[Commit], branch: str, onto: str, find: Callable[[str], object]
) -> list[tuple[str, ...]]:
    """Let the user choose what a rebase does with each commit; `find` raises if a ref names none.

    The whole list is checked before any message is asked for; a list that is refused is kept in a file.
    """
    lines = [f"pick {commit.hash[:10]} {subject(commit.message)}\n" for commit in commits]
    described = _HELP.format(count=plural(len(commits), "commit"), branch=branch, onto=onto)
    found = edited("".join(lines) + described, "the list of steps")
    try:
        steps = [
            _ListedStep(number, *line.split(None, 2))
            for number, line in enumerate(found.splitlines(), 1)
            if line.strip()
        ]
        _check(steps, find)
        return [_asked(step, commits) for step in steps]
    except AnabranchError as error:
        error.hint = f"{error.hint}; {_keep(found, onto)}"
        raise


@dataclass(frozen=True)
class _ListedStep:
    """A line of the list: a word, a commit, and what stands behind it."""

    number: int
    said: str
    commit: str = ""
    rest: str = ""

    @property
    def word(self) -> str:
        return WORDS.get(self.said, self.said)


def _check(steps: Sequence[_ListedStep], find: Callable[[str], object]) -> None:
    """Refuse a list that can't be done, and name the line."""
    for step in steps:
        if step.word not in WORDS.values():
            raise InvalidRequest(f"line {step.number} says {step.said!r}", hint=f"say {', '.join(WORDS.values())}")
        if not step.commit:
            hint = "write a word and a hash, such as pick 3f2a91abcd"
            raise InvalidRequest(f"line {step.number} is {step.said!r}, which names no commit", hint=hint)
        try:
            find(step.commit)
        except AnabranchError as error:
            error.message = f"line {step.number}: {error.message}"
            error.hint = "write a hash as the list had it"
            raise
    first = next((step for step in steps if step.word != "drop"), None)
    if first and first.word in ("squash", "fixup"):
        message = f"line {first.number} says {first.word}, but no commit is above it to put it together with"
        raise InvalidRequest(message, hint="begin with pick or reword")


def _asked(step: _ListedStep, commits: Sequence[Commit]) -> tuple[str, ...]:
    """A step as a rebase takes it; a reword without a new message is asked for one."""
    if step.word != "reword":
        return (step.word, step.commit)
    known = next((c for c in commits if c.hash.startswith(step.commit)), None)
    said = step.rest.strip()
    if known is not None and said in ("", subject(known.message)):
        said = edited_message(known.message)
    return (step.word, step.commit, said)


def _keep(text: str, onto: str) -> str:
    """Keep a list that was refused; return how to go on with it."""
    handle, path = mkstemp(prefix="ana-rebase-", suffix=".txt")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text + "\n")
    return f"your list is kept: mend {path}, then EDITOR='cp {path}' ana rebase -i {onto}"
