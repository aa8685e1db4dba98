"""Where writes go on the command line: to the working set of the current branch, and with a message into a commit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from anabranch.cli.output.commits import commit_line, counts_text
from anabranch.cli.output.text import clean, columns, emit, number, show_lines
from anabranch.documents.records import commit_document
from anabranch.errors import BranchMoved
from anabranch.model.files import FILES_SHOWN

if TYPE_CHECKING:
    from anabranch import Commit
    from anabranch.cli.session import Session
    from anabranch.repo.commit.open_commit import OpenCommit
    from anabranch.repo.commit.transaction import Transaction
    from anabranch.repo.compare.commit_changes import TableChange

NOTHING = 1
"""The exit code when there is nothing to commit, as in git."""
NO_COMMIT = "Nothing changed, so no commit was made."


@dataclass
class Writing:
    """A transaction to write to, and the commit it became."""

    transaction: Transaction
    commit: Commit | None = None


@contextmanager
def writing(session: Session, message: str | None, author: str | None) -> Iterator[Writing]:
    """Write to the working set; a message publishes it, including what was staged before."""
    staged = session.working_set()
    if message is not None and staged is None:
        with session.repo.commit(session.branch, message, author=author) as tx:
            made = Writing(tx)
            yield made
        made.commit = tx.commit
        return
    with session.repo.staging(session.branch) as opened:
        made = Writing(opened)
        yield made
        if message is not None:
            made.commit = publish(opened, message, author or session.author)


def publish(opened: OpenCommit, message: str, author: str | None, date: str | None = None) -> Commit | None:
    """Finish a working set; None if it changes nothing."""
    try:
        return opened.finish(message, author, date)
    except BranchMoved as error:
        error.hint = "`ana commit -m MESSAGE` merges what is staged with it, `ana reset --hard` gives it up"
        raise


def staged_documents(opened: OpenCommit | None, *, net: bool = True) -> list[dict[str, Any]]:
    """The contents of a working set as JSON: name, kind, state, operations, inserted, updated, deleted, exact."""
    from anabranch.repo.commit.draft_listing import staged_things

    return staged_things(opened, net=net) if opened else []


def counted_in(session: Session, made: Commit, staged: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What was staged, with the counts of the commit that was made of it."""
    changes = {change.table: change for change in session.repo.show_changes(made.hash)}
    return [_recounted(what, changes.get(what["name"])) for what in staged]


def _recounted(what: dict[str, Any], change: TableChange | None) -> dict[str, Any]:
    if what["kind"] != "table" or what["state"] == "dropped":
        return what
    return {**what, **{word: getattr(change, word, 0) for word in ("inserted", "updated", "deleted")}, "exact": True}


def report_commits(session: Session, branch: str, made: list[Commit], nothing: str) -> None:
    """Print new commits and what they did; or why there are none."""
    session.exit_code = 0 if made else NOTHING
    if session.told({"branch": branch, "commits": [commit_document(commit) for commit in made]}):
        return
    if not made:
        emit(nothing)
    for commit in made:
        show_commit(session, branch, commit)


def show_commit(session: Session, branch: str, commit: Commit) -> None:
    """Print a commit that was just made, and what it did."""
    emit(commit_line(branch, commit))
    rows = [(clean(c.table), counts_text(vars(c))) for c in session.repo.show_changes(commit.hash)]
    files = session.repo.diff(commit.parents[0], commit.hash).files.counts() if commit.parents else {}
    if files:
        rows.append((FILES_SHOWN, ", ".join(f"{number(count)} {word}" for word, count in files.items())))
    show_lines(f"  {line}" for line in columns(rows))
