"""How commands tell of the commits that they made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anabranch.cli.documents import commit_document
from anabranch.cli.output import clean, columns, emit, emit_json
from anabranch.cli.staging import commit_line, counts_text

if TYPE_CHECKING:
    from anabranch import Commit
    from anabranch.cli.session import Session

NOTHING = 1
"""The exit code when there is nothing to commit, as in git."""


def tell_commits(session: Session, branch: str, made: list[Commit], nothing: str) -> None:
    """Print new commits with what they did; or why there is none."""
    session.exit_code = 0 if made else NOTHING
    if session.json:
        emit_json({"branch": branch, "commits": [commit_document(commit) for commit in made]})
        return
    if not made:
        emit(nothing)
    for commit in made:
        emit(commit_line(branch, commit))
        changes = session.repo.show_changes(commit.hash)
        for line in columns([(clean(c.table), counts_text(vars(c))) for c in changes]) if changes else []:
            emit(f"  {line}")
