"""Copy a whole catalogue, as one state, into an empty database of either kind; tell what was done in a copy since."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sqlalchemy import Connection, delete, select, text

from anabranch.catalog import root_tokens
from anabranch.catalog import tables as t
from anabranch.catalog.migrations import CONTINUE_MOVES, metadata

_AT_ONCE = 500


def copy_rows(source: Connection, target: Connection, changed: Mapping[str, str]) -> None:
    """Make all tables in the target and copy their rows; `changed` gives facts of the store that differ there.

    Tokens are not copied: they show that the object root is the source's.
    """
    metadata.create_all(target, checkfirst=False)
    for table in metadata.sorted_tables:
        rows = source.execute(select(table), execution_options={"yield_per": _AT_ONCE})
        for part in rows.mappings().partitions():
            target.execute(table.insert(), [dict(row) for row in part])
    target.execute(delete(t.store).where(t.store.c.key.in_([root_tokens.FACT, *changed])))
    if changed:
        target.execute(t.store.insert(), [{"key": key, "value": value} for key, value in changed.items()])
    if target.dialect.name != "sqlite":
        target.execute(text(CONTINUE_MOVES))


def files_named(cx: Connection) -> Iterator[tuple[str, int, str]]:
    """Yield path, size and hash of every file that has a row of its own; manifests list further ones."""
    c = t.objects.c
    for row in cx.execute(select(c.path, c.size_bytes, c.sha256).where(c.path.is_not(None)).order_by(c.path)):
        yield row.path, row.size_bytes, row.sha256


def only_in_copy(copy: Connection, store: Connection) -> Iterator[str]:
    """Say in words which moves of branches and which new branches a copy of a catalogue has by itself."""
    m, b, c = t.branch_moves.c, t.branches.c, t.commits.c
    what = (m.id, m.branch_id, m.moved_at)
    known = {tuple(row) for row in store.execute(select(*what))}
    same = (c.repository_id == m.repository_id) & (c.id == m.commit_id)
    moves = select(*what, m.branch, m.verb, c.hash).join_from(t.branch_moves, t.commits, same, isouter=True)
    for row in copy.execute(moves.order_by(m.id)):
        if tuple(row[:3]) not in known:
            yield f"{f'commit {row.hash[:10]}' if row.hash else row.verb} on {row.branch!r}"
    branches = {*store.execute(select(b.id)).scalars(), *(moved for _, moved, _ in known)}
    for branch in copy.execute(select(b.id, b.name).order_by(b.name)):
        if branch.id not in branches:
            yield f"branch {branch.name!r}"
