"""Where the command line's writes go: to the working set of the current branch; with a message, on into a commit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from anabranch.cli.documents import counts_document
from anabranch.cli.output import clean, number, short, subject
from anabranch.errors import BranchMoved
from anabranch.repo.staging import start_working_set

if TYPE_CHECKING:
    from anabranch import Commit, Counts
    from anabranch.cli.session import Session
    from anabranch.repo.open_commit import OpenCommit
    from anabranch.repo.transaction import Transaction


@dataclass
class Writing:
    """A transaction to write to, and the commit that came of it."""

    transaction: Transaction
    commit: Commit | None = None


@contextmanager
def writing(session: Session, message: str | None, author: str | None) -> Iterator[Writing]:
    """Write to the working set; a message publishes it, together with what was staged before."""
    staged = session.working_set()
    if message is not None and staged is None:
        with session.repo.commit(session.branch, message, author=author) as tx:
            made = Writing(tx)
            yield made
        made.commit = tx.commit
        return
    opened = staged or start_working_set(session.repo, session.branch)
    made = Writing(opened)
    try:
        yield made
    except BaseException:
        # A statement that failed halfway may have staged something, such as a namespace.
        if staged is None:
            opened.abort()
        raise
    if message is not None:
        made.commit = publish(opened, message, author or session.author)
    elif not opened.status():
        opened.abort()


def publish(opened: OpenCommit, message: str, author: str | None) -> Commit | None:
    """Finish a working set; None if it changes nothing."""
    try:
        return opened.finish(message, author)
    except BranchMoved as error:
        error.hint = "`ana reset --hard` gives up what is staged; then make the change again on the new state"
        raise


def staged_documents(opened: OpenCommit | None) -> list[dict[str, Any]]:
    """What a working set holds, as JSON: name, kind, state, operations, inserted, updated, deleted."""
    held = sorted(opened.status().items()) if opened else []
    return [
        {
            "name": name,
            "kind": what["kind"],
            "state": state_of(what),
            "operations": what["operations"],
            **counts_document(what["counts"]),
        }
        for name, what in held
    ]


def state_of(what: dict[str, Any]) -> str:
    """Say in a word what became of a thing."""
    if what["dropped"]:
        return "dropped"
    return "created" if "create" in what["operations"] else "changed"


def counts_text(counts: Counts | dict[str, Any]) -> str:
    """Touched rows in words; the kinds that did not happen are left out."""
    found = counts if isinstance(counts, dict) else counts_document(counts)
    parts = [f"{number(found[kind])} {kind}" for kind in ("inserted", "updated", "deleted") if found[kind]]
    return ", ".join(parts) or "no rows"


def commit_line(branch: str, commit: Commit) -> str:
    """A commit that was just made, as git says it."""
    return f"[{clean(branch)} {short(commit.hash)}] {subject(commit.message)}"
