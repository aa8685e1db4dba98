"""Finds files that the first snapshot of another writer hides.

Until 0.1.0, two writers of the first files of a repository were both told that they published, and the commit of the
second brought a snapshot that shows its own files only. What the first wrote is in the history, whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from anabranch.catalog import branches, history, views
from anabranch.catalog.checks.rows import MISSHAPEN
from anabranch.catalog.first_snapshots import first_snapshots, has_changes
from anabranch.catalog.store import Connection
from anabranch.model.clock import Clock
from anabranch.model.commits import CommitHead
from anabranch.model.files import FileRow, files_thing
from anabranch.model.layers import chained
from anabranch.model.paths import all_folders, folders_above
from anabranch.model.tables import TableState
from anabranch.model.verification import Affected, Damage, KnownFault
from anabranch.repo.context.context import Context
from anabranch.repo.context.table_state import files_state
from anabranch.repo.files.blocks import BlockReader
from anabranch.repo.files.tree import FileTree, tree_at
from anabranch.repo.upkeep.verify import said_by

_NAMED = 5


@dataclass(frozen=True)
class Hiding:
    """A commit whose snapshot of files shows nothing of what was written before it."""

    commit: CommitHead
    before: CommitHead
    """The commit before it, where all that it hides can be read."""
    clock_before: Clock


def find_hiding(ctx: Context, cx: Connection) -> list[Hiding]:
    """Find the commits of the repository whose snapshot hides files."""
    thing = files_thing(ctx.record.id)
    found: list[Hiding] = []
    for position in first_snapshots(cx, thing):
        parent = history.clock(cx, position).back(1)
        clock = history.clock(cx, parent) if parent is not None else None
        if clock is not None and has_changes(cx, clock, thing):
            commit, before = (history.known_head(cx, at) for at in (position, clock.head))
            found.append(Hiding(commit, before, clock))
    return found


@dataclass(frozen=True)
class ShownAndMade:
    """The files at a commit as they are read, and as the changes of all commits make them."""

    shown: TableState
    made: TableState
    hiding: tuple[Hiding, ...]


def compare(ctx: Context, cx: Connection, at: Clock, hiding: Sequence[Hiding]) -> ShownAndMade | None:
    """Compare what is read at a commit with what was written before; None if nothing hides any of it."""
    on_way = [h for h in hiding if at.holds(h.commit.position)]
    if not on_way:
        return None
    before = min((h.clock_before for h in on_way), key=lambda clock: clock.number)
    shown, first = files_state(ctx, cx, at), files_state(ctx, cx, before)
    known, above = ctx.known_objects, max(first.next_turn - 1, 0)
    later = views.changes_after(cx, at, shown.id, before.head, above, known)
    made = replace(shown, layers=chained(first.layers, later))
    return ShownAndMade(shown, made, tuple(on_way))


def hidden_rows(ctx: Context, compared: ShownAndMade) -> list[FileRow]:
    """The rows that can be brought back: nothing was written later at their paths, above them or below them."""
    shown = _rows(ctx, compared.shown)
    paths = {row.address for row in shown}
    files = {row.path for row in shown if row.name}
    folders = all_folders(row.address for row in shown)
    found = {row.address: row for row in _rows(ctx, compared.made) if row.address not in paths}
    return [row for row in found.values() if _is_free(row, files, folders)]


def _is_free(row: FileRow, files: set[str], folders: set[str]) -> bool:
    above = folders_above(row.address)
    return not files.intersection(above) and not (row.name and row.path in folders)


def _rows(ctx: Context, state: TableState) -> list[FileRow]:
    return FileTree(ctx, lambda: state, BlockReader(ctx), None).rows_below("")


def check_hidden(ctx: Context) -> Iterator[Damage]:
    """Name the files that are hidden at the head of a branch, and the commits that hide some."""
    try:
        yield from _hidden(ctx)
    except MISSHAPEN as error:
        what = f"hidden files can't be looked for: {said_by(error)}"
        yield Damage("table", "the files", what, Affected(ctx.record.name, table="files"))


def _hidden(ctx: Context) -> Iterator[Damage]:
    with ctx.catalog.read() as cx:
        hiding = find_hiding(ctx, cx)
        heads = branches.all_heads(cx, ctx.record.id) if hiding else []
        clocks = {head.name: history.clock(cx, head.position) for head in heads}
        compared = {name: compare(ctx, cx, clock, hiding) for name, clock in clocks.items()}
        trees = [(h, tree_at(ctx, cx, h.clock_before)) for h in hiding]
    for hides, tree in trees:
        rows = tree.rows_below("")
        if rows:
            yield _fault(ctx, hides, rows)
    for name, found in compared.items():
        rows = hidden_rows(ctx, found) if found is not None else []
        if found is not None and rows:
            yield _damage(ctx, name, found.hiding, rows)


def _fault(ctx: Context, hides: Hiding, rows: Sequence[FileRow]) -> KnownFault:
    what = (
        f"its snapshot does not show what the commit before it shows ({_named(rows)}): an earlier version "
        "lost sight of the first files where two writers committed at the same time"
    )
    hint = f"as they were then, they are read at {hides.before.hash[:12]}"
    affects = Affected(ctx.record.name, commit=hides.commit.hash[:12], table="files")
    return KnownFault("commit", f"commit {hides.commit.hash[:12]}", what, affects, hint)


def _damage(ctx: Context, branch: str, hiding: Sequence[Hiding], rows: Sequence[FileRow]) -> Damage:
    commits = ", ".join(h.commit.hash[:12] for h in hiding)
    what = f"what was written is hidden by commit {commits}: {_named(rows)}"
    affects = Affected(ctx.record.name, (branch,), commits, "files")
    hint = "`ana verify --repair` or repo.repair() brings it back by a commit; gc keeps it until then"
    return Damage("table", f"the files of branch {branch!r}", what, affects, hint)


def _named(rows: Sequence[FileRow]) -> str:
    paths = sorted(row.address for row in rows)
    more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
    return f"{', '.join(map(repr, paths[:_NAMED]))}{more}"
