"""`ana status`: the current branch and what is staged on it."""

from __future__ import annotations

from typing import Any

from anabranch.cli.options import command as make_command
from anabranch.cli.output.commits import counts_text
from anabranch.cli.output.text import clean, columns, emit, emit_json, paint, short
from anabranch.cli.session import Session
from anabranch.cli.staging import staged_documents
from anabranch.documents.records import merge_document

_COLOURS = {"created": "green", "changed": "yellow", "dropped": "red"}


@make_command("status")
def command(session: Session) -> None:
    """Show the current branch and what is staged on it.

    \b
    $ ana status

    JSON: repository, branch, commit, commit_id, staged (list of name, kind, state, operations, inserted, updated,
    deleted), merges (open ones: list of id, into, sources, started_at).
    """
    with session.repo.one_state():
        head, opened = session.repo.show(session.branch), session.working_set()
        merges = session.repo.open_merges(session.branch)
    staged = staged_documents(opened)
    if session.json:
        where = {"repository": session.repo.name, "branch": session.branch, "commit": head.hash, "commit_id": head.id}
        emit_json({**where, "staged": staged, "merges": [merge_document(merge) for merge in merges]})
        return
    emit(f"On branch {paint(session.branch, 'bold')} of {session.repo.name}, at {short(head.hash)} ({head.id})")
    if opened and opened.parent != head.hash:
        emit(f"The branch moved since the first change was staged, at {short(opened.parent)}.")
    for merge in merges:
        emit(paint(f"A merge of {clean(', '.join(merge.sources))} into {merge.into} is open.", "yellow"))
        emit("  See `ana conflicts`; `ana merge --continue` publishes it, `ana merge --abort` gives it up.")
    emit("Staged; publish with `ana commit -m MESSAGE`:" if staged else "Nothing is staged.")
    _list(staged)


def _list(staged: list[dict[str, Any]]) -> None:
    rows = [(what["state"], clean(what["name"]), _what(what)) for what in staged]
    for what, line in zip(staged, columns(rows), strict=True):
        emit("  " + paint(line, _COLOURS[what["state"]]))


def _what(what: dict[str, Any]) -> str:
    if what["kind"] != "table":
        return str(what["kind"])
    return "" if what["state"] == "dropped" else counts_text(what)
