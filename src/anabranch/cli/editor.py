"""Asks the user in an editor, as git does: for the steps of a rebase, and for messages."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from anabranch.cli.failures import BadUsage
from anabranch.cli.output.text import plural, subject
from anabranch.errors import InvalidRequest, Unavailable

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


def edited_steps(commits: Sequence[Commit], branch: str, onto: str) -> list[tuple[str, ...]]:
    """Let the user choose what a rebase does with each commit."""
    lines = [f"pick {commit.hash[:10]} {subject(commit.message)}\n" for commit in commits]
    described = _HELP.format(count=plural(len(commits), "commit"), branch=branch, onto=onto)
    found = edited("".join(lines) + described, "the list of steps")
    return [_step(number, line, commits) for number, line in enumerate(found.splitlines(), 1) if line.strip()]


def _step(number: int, line: str, commits: Sequence[Commit]) -> tuple[str, ...]:
    word, *rest = line.split(None, 2)
    if not rest:
        raise InvalidRequest(f"line {number} is {line!r}", hint="write a word and a hash, such as pick 3f2a91abcd")
    if word not in ("r", "reword"):
        return (word, rest[0])
    known = next((c for c in commits if c.hash.startswith(rest[0])), None)
    said = rest[1].strip() if len(rest) > 1 else ""
    if known is not None and said in ("", subject(known.message)):
        said = edited_message(known.message)
    return (word, rest[0], said)
