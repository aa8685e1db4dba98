"""Whether a catalogue exists, and its format version: what opening a store reads first."""

from __future__ import annotations

import re
from typing import Any

from anabranch.catalog.later import Connection, sa
from anabranch.catalog.prepared import Prepared, prepared
from anabranch.errors import Corrupt

FORMAT_VERSION = 4
_NAMES = ("ana_store", "store")
"""The table of the store's facts. Before format 4 it had no prefix, so it may be somebody else's."""


def exists(cx: Connection) -> bool:
    """Whether this database holds a store."""
    return _table(cx) is not None


def is_current(cx: Connection) -> bool:
    """Whether this database holds a store that needs no upgrade."""
    return bool(_columns(cx, _NAMES[0])) and found_version(cx) == FORMAT_VERSION


def found_version(cx: Connection) -> int:
    """Read the format version that the store was written with."""
    found = _fact[facts_table(cx)](cx, {"wanted": ["format_version"]}).scalar()
    if found is None or not re.fullmatch("[0-9]{1,9}", found):
        hint = "restore it from a backup"
        raise Corrupt(f"the catalogue has no readable format version (found {found!r})", hint=hint)
    return int(found)


def facts_table(cx: Connection) -> str:
    """The name of the table of the store's facts."""
    found = _table(cx)
    if found is None:
        raise Corrupt("the catalogue does not say which store it is of", hint="restore it from a backup")
    return found


def _table(cx: Connection) -> str | None:
    now, before = _NAMES
    if _columns(cx, now):
        return now
    if not {"key", "value"} <= _columns(cx, before):
        return None
    return before if _fact[before](cx, {"wanted": ["format_version", "store_id"]}).first() else None


def _columns(cx: Connection, table: str) -> set[str]:
    """The columns of a table; none if it doesn't exist."""
    if cx.dialect.name == "sqlite":
        return {row.name for row in _file_columns(cx, {"wanted": table})}
    found = sa.inspect(cx)
    return {x["name"] for x in found.get_columns(table)} if found.has_table(table) else set()


@prepared
def _file_columns() -> Any:
    columns = sa.func.pragma_table_info(sa.bindparam("wanted", type_=sa.String)).table_valued("name")
    return sa.select(columns.c.name)


def _facts(table: str) -> Any:
    told = sa.table(table, sa.column("key", sa.String), sa.column("value", sa.String))
    return sa.select(told.c.value).where(told.c.key.in_(sa.bindparam("wanted", expanding=True))).limit(1)


_fact = {name: Prepared(_facts, name) for name in _NAMES}
