"""The catalogue's schema version: an older store is upgraded step by step, a newer one refused."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from sqlalchemy import Connection, inspect, select, text, update

from anabranch.catalog.tables import metadata, open_merges, settled_rows, store
from anabranch.errors import Corrupt, InvalidRequest

FORMAT_VERSION = 3

Migration = Callable[[Connection], None]


def _to_2(cx: Connection) -> None:
    """Branches tell who made them, those that are there by a move; objects of a view have turns, so far 0."""
    cx.execute(text("ALTER TABLE branches ADD COLUMN author TEXT"))
    cx.execute(text("ALTER TABLE view_objects ADD COLUMN turn INTEGER NOT NULL DEFAULT 0"))


def _to_3(cx: Connection) -> None:
    """Objects of a change have steps, so far one for each commit; merges can be kept open."""
    cx.execute(text("ALTER TABLE changes ADD COLUMN step INTEGER NOT NULL DEFAULT 0"))
    metadata.create_all(cx, tables=[open_merges, settled_rows])


MIGRATIONS: Mapping[int, Migration] = {1: _to_2, 2: _to_3}
"""From version n to n + 1. A migration runs in the opening transaction, so that a crash leaves the old version."""


def create(cx: Connection, facts: Mapping[str, str]) -> None:
    """Make the tables of a new store and write its version."""
    metadata.create_all(cx, checkfirst=False)
    rows = {"format_version": str(FORMAT_VERSION), **facts}
    cx.execute(store.insert(), [{"key": k, "value": v} for k, v in rows.items()])


def exists(cx: Connection) -> bool:
    """Tell whether this database holds a store."""
    return inspect(cx).has_table("store")


def upgrade(cx: Connection, *, latest: int = FORMAT_VERSION, migrations: Mapping[int, Migration] = MIGRATIONS) -> None:
    """Bring the store to the latest version; refuse one that a newer Anabranch wrote."""
    version = found_version(cx, lock=True)
    if version > latest:
        message = f"this store has format version {version}, this Anabranch reads up to {latest}"
        raise InvalidRequest(message, hint="upgrade anabranch", expected=latest, found=version)
    for step in range(version, latest):
        if step not in migrations:
            raise Corrupt(f"no way leads on from format version {step}", hint="restore the store from a backup")
        migrations[step](cx)
        cx.execute(update(store).where(store.c.key == "format_version").values(value=str(step + 1)))


def found_version(cx: Connection, *, lock: bool = False) -> int:
    """Read the version that the store was written with; locked, so that two openers upgrade it once."""
    query = select(store.c.value).where(store.c.key == "format_version")
    found = cx.scalar(query.with_for_update() if lock else query)
    if found is None or not re.fullmatch("[0-9]{1,9}", found):
        hint = "restore it from a backup"
        raise Corrupt(f"the catalogue has no readable format version (found {found!r})", hint=hint)
    return int(found)
