"""Cherry-picks, reverts and rebases on the command line: they stop at conflicts and continue, as in git."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from anabranch.cli.failures import CONFLICTS, BadUsage
from anabranch.cli.output.conflicts import conflict_lines, conflicts_document, next_steps
from anabranch.cli.output.text import emit, emit_json, paint, plural, short, show_lines, subject
from anabranch.cli.session import Session
from anabranch.cli.staging import report_commits
from anabranch.errors import InvalidRequest, MergeConflict

if TYPE_CHECKING:
    from anabranch import OpenSequence

_WAYS = ("continue", "skip", "abort")


def ways_on(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add --continue, --skip and --abort to a command."""
    helps = (
        "Go on once the conflicts are resolved.",
        "Skip this commit and go on.",
        "Stop; the branch stays as it was.",
    )
    for way, described in reversed(list(zip(_WAYS, helps, strict=True))):
        function = click.option(f"--{way}", f"{way}_", is_flag=True, help=described)(function)
    return function


def way_of(verb: str, named: Sequence[Any], chosen: dict[str, Any]) -> str | None:
    """Take --continue, --skip or --abort out of what was chosen; None to begin."""
    ways = [way for way in _WAYS if chosen.pop(f"{way}_")]
    if len(ways) > 1:
        raise BadUsage(f"{' and '.join(f'--{way}' for way in ways)} contradict each other", hint="give one of them")
    if bool(ways) == bool(named):
        problem = f"--{ways[0]} names no commit" if ways else "no commit is named"
        raise BadUsage(
            problem, hint=f"ana {verb} {'ONTO' if verb == 'rebase' else 'COMMIT…'}, or ana {verb} --continue"
        )
    return ways[0] if ways else None


def begin(session: Session, branch: str, start: Callable[[], OpenSequence], nothing: str) -> None:
    """Begin a sequence and finish it; with conflicts, it stays open."""
    session.refuse_open(branch)
    end(session, start(), nothing)


def go_on(session: Session, verb: str, branch: str, way: str) -> None:
    """Continue what is open, skip a commit, or abandon all of it."""
    kept: Any = session.open_work(branch, verb)
    if way == "abort":
        kept.abort()
        said = f"The {verb} on {branch} is given up; nothing was changed."
        session.tell({"branch": branch, "aborted": verb, "saved_as": kept.saved_as}, said, _saved_lines(kept))
        return
    if way == "skip":
        with session.progress("going on"):
            kept.skip()
        show_lines(() if session.json else _saved_lines(kept))
    end(session, kept, f"nothing was left to change on {branch}")


def _saved_lines(kept: OpenSequence) -> Iterator[str]:
    if kept.saved_as:
        yield f"What was staged is saved on branch {kept.saved_as}: `ana merge {kept.saved_as}` brings it in,"
        yield f"`ana branch -D {kept.saved_as}` drops it."


def end(session: Session, kept: OpenSequence, nothing: str) -> None:
    """Move the branch, or report the conflicts."""
    before = session.repo.show(kept.into).hash
    try:
        with session.progress(f"finishing the {kept.verb}"):
            made = kept.finish()
    except MergeConflict as error:
        _report_conflicts(session, kept, error)
    except InvalidRequest:
        kept.abort()
        raise
    else:
        head = session.repo.show(kept.into).hash
        left_out = not made and head != before
        said = f"{kept.into} is at {short(head)}: all commits of the {kept.verb} were left out"
        report_commits(session, kept.into, made, said if left_out else nothing)
        session.exit_code = 0 if left_out else session.exit_code
        _tell_alone(session, kept)


def _tell_alone(session: Session, kept: OpenSequence) -> None:
    """Say which commits could not be put together as the list said, and why."""
    for commit, gone in () if session.json else kept.alone:
        names = [f"{short(c.hash)} ({subject(c.message)})" for c in (gone, commit)]
        emit(f"{names[0]} became empty or was skipped, and was dropped;")
        emit(f"  {names[1]}, which was to go into it, is a commit of its own.")


def _report_conflicts(session: Session, kept: OpenSequence, error: MergeConflict) -> None:
    session.exit_code = CONFLICTS
    conflicts, made, left = error.conflicts, len(kept.made), len(kept.steps)
    if session.json:
        facts = {"branch": kept.into, "commits": [], "open": True, "made": made, "left": left}
        emit_json({**facts, "conflicts": conflicts_document(conflicts)})
        return
    emit(paint(f"{error.message.partition(':')[0]}: {plural(conflicts.count(), 'conflict')}.", "yellow"))
    show_lines(paint(line, "red") for line in conflict_lines(conflicts))
    emit(f"{made} made, {left} left; {kept.into} moves when all are made.")
    show_lines(next_steps(conflicts, kept.into, session.branch, kept.verb))
