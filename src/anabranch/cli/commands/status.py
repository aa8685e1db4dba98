"""`ana status`: the current branch and what is staged on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from anabranch.cli.options import make_command
from anabranch.cli.output.commits import counts_text
from anabranch.cli.output.conflicts import goes_on, left_text, open_text
from anabranch.cli.output.text import clean, columns, emit, emit_json, paint, short
from anabranch.cli.session import Session
from anabranch.cli.staging import staged_documents
from anabranch.documents.records import OPEN, record

if TYPE_CHECKING:
    from anabranch.repo.merge.conflicts import Conflicts
    from anabranch.repo.merge.open_conflicts import OpenConflicts

_COLOURS = {"created": "green", "changed": "yellow", "dropped": "red"}


@make_command("status")
@click.argument("folder", required=False, type=click.Path(exists=True, file_okay=False))
def command(session: Session, folder: str | None) -> None:
    """Show the current branch, what is staged and what is open on it; of a FOLDER of files, what was changed in it.

    Counts are what `ana diff` says, too; "about" where several statements changed a table and telling would take long.

    \b
    $ ana status
    $ ana status work

    JSON: repository, branch, commit, commit_id, staged (list of name, kind, state, operations, inserted, updated,
    deleted, exact), merges (open ones: list of id, verb, into, sources, started_at, conflicts: how many are
    left, null where telling would take long). Of a folder: folder, ref, added, changed, removed.
    """
    if folder is not None:
        _report_folder(session, folder)
        return
    with session.repo.one_state():
        head, opened = session.repo.show(session.branch), session.working_set()
        merges = session.all_open(session.branch)
    staged, left = staged_documents(opened), _left(merges)
    if session.json:
        where = {"repository": session.repo.name, "branch": session.branch, "commit": head.hash, "commit_id": head.id}
        counts = [None if found is None else found.count() for found in left]
        described = [{**record(m, *OPEN), "conflicts": n} for m, n in zip(merges, counts, strict=True)]
        emit_json({**where, "staged": staged, "merges": described})
        return
    emit(f"On branch {paint(session.branch, 'bold')} of {session.repo.name}, at {short(head.hash)} ({head.id})")
    if opened and opened.parent != head.hash:
        emit(f"The branch moved since the first change was staged, at {short(opened.parent)}.")
    for merge, conflicts in zip(merges, left, strict=True):
        emit(paint(f"{open_text(merge)}{left_text(conflicts)}.", "yellow"))
        emit(f"  See `ana conflicts`; {goes_on(merge.verb)}, `ana {merge.verb} --abort` gives it up.")
    emit("Staged; publish with `ana commit -m MESSAGE`:" if staged else "Nothing is staged.")
    _list(staged)


def _left(merges: Sequence[OpenConflicts]) -> list[Conflicts | None]:
    """The conflicts that are left of each, where that is told quickly."""
    if not merges:
        return []
    from anabranch.repo.merge.open_conflicts import quick_conflicts

    return [quick_conflicts(merge) for merge in merges]


def _report_folder(session: Session, place: str) -> None:
    with session.progress(f"reading {place}"):
        folder = session.repo.folder(place)
        found = folder.status()
    if session.told({"folder": place, "ref": folder.ref, **vars(found)}):
        return
    emit(
        f"Changed in {clean(place)}; `ana add {clean(place)}` takes it in:"
        if found
        else f"Nothing was changed in {clean(place)}."
    )
    for word, style in (("added", "green"), ("changed", "yellow"), ("removed", "red")):
        for path in getattr(found, word):
            emit("  " + paint(f"{word:<8} {clean(path)}", style))


def _list(staged: list[dict[str, Any]]) -> None:
    rows = [(what["state"], clean(what["name"]), _what(what)) for what in staged]
    for what, line in zip(staged, columns(rows), strict=True):
        emit("  " + paint(line, _COLOURS[what["state"]]))


def _what(what: dict[str, Any]) -> str:
    if what["kind"] == "namespace":
        return str(what["kind"])
    return "" if what["state"] == "dropped" else counts_text(what)
