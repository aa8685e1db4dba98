"""Make the catalogue's tables and bring them up to date: an older store step by step, a newer one refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import sqlalchemy as sa

from anabranch.catalog import remote_tables, work_tables
from anabranch.catalog import tables as t
from anabranch.catalog.format_version import FORMAT_VERSION, facts_table, found_version
from anabranch.errors import Corrupt, InvalidRequest

Migration = Callable[[sa.Connection], None]

metadata = t.metadata
"""All tables, including those of modules imported only to register them."""
assert {remote_tables.sequences, remote_tables.remotes, work_tables.jobs} <= set(metadata.tables.values())


def _to_2(cx: sa.Connection) -> None:
    """Branches record who made them (older ones in a move); a view's objects have turns, all 0 so far."""
    cx.execute(sa.text("ALTER TABLE branches ADD COLUMN author TEXT"))
    cx.execute(sa.text("ALTER TABLE view_objects ADD COLUMN turn INTEGER NOT NULL DEFAULT 0"))


def _to_3(cx: sa.Connection) -> None:
    """A change's objects have steps, one per commit so far; merges can be kept open."""
    cx.execute(sa.text("ALTER TABLE changes ADD COLUMN step INTEGER NOT NULL DEFAULT 0"))
    _OF_3.create_all(cx)


_OF_3 = sa.MetaData()
_words = ("repository_id", "branch", "message", "author", "strictness", "mode")
sa.Table(
    "open_merges",
    _OF_3,
    sa.Column("id", t.Text, primary_key=True),
    *(sa.Column(name, t.Text) for name in _words),
    *(sa.Column(name, sa.JSON) for name in ("sources", "rules", "decisions")),
    *(sa.Column(name, sa.BigInteger) for name in ("started_at", "version")),
)
sa.Table(
    "settled_rows",
    _OF_3,
    sa.Column("open_id", t.Text, primary_key=True),
    sa.Column("thing_id", t.Text, primary_key=True),
    sa.Column("content", sa.LargeBinary),
)


def _to_4(cx: sa.Connection) -> None:
    """Tables get a prefix; objects and schemas belong to the store; commits record the recipe of their hash."""
    metadata.create_all(cx, checkfirst=False)
    for made in (*_HISTORY_OF_3, *_CONTENT_OF_3, *_OBJECTS_OF_3, *_OPEN_OF_3):
        _take_over(cx, made.name.removeprefix("ana_"), made)
    _number_lines(cx)
    for row in cx.execute(sa.select(t.schemas)).all():
        described = [{"schema_id": row.id, "column_id": x["id"]} for x in row.document["columns"]]
        cx.execute(t.schema_columns.insert(), described)


_HISTORY_OF_3 = (t.store, t.repositories, t.lines, t.commits, t.merge_edges, t.provenance, t.branches, t.branch_moves)
_CONTENT_OF_3 = (t.tags, t.entries, t.names, t.changes, t.change_references, t.views, t.view_objects)
_OBJECTS_OF_3 = (t.objects, t.inline_objects, t.schemas)
_OPEN_OF_3 = (t.open_commits, t.open_merges, t.settled_rows, t.open_entries, t.open_objects)
_NEW_IN_4 = {"commits": {"recipe": sa.literal(1)}, "lines": {"start": sa.literal(0)}}


def _number_lines(cx: sa.Connection) -> None:
    """Record the number of each line's first commit: how many first parents it has."""
    c = t.lines.c
    parents = {
        r.id: (r.parent_line, r.parent_index) for r in cx.execute(sa.select(c.id, c.parent_line, c.parent_index))
    }
    starts: dict[str, int] = {}
    for line in parents:
        way = [line]
        while way[-1] not in starts and (above := parents[way[-1]][0]) is not None:
            if above not in parents or above in way:
                raise Corrupt(f"line {above!r} is missing, or springs from itself", hint="restore it from a backup")
            way.append(above)
        for at in reversed(way):
            above, index = parents[at]
            starts.setdefault(at, 0 if above is None else starts[above] + index + 1)
    numbered = [{"line": line, "first": start} for line, start in starts.items() if start]
    if numbered:
        cx.execute(sa.update(t.lines).where(c.id == sa.bindparam("line")).values(start=sa.bindparam("first")), numbered)


def _take_over(cx: sa.Connection, name: str, made: sa.Table) -> None:
    """Copy the rows of a table of format 3, and drop it."""
    had = [x["name"] for x in sa.inspect(cx).get_columns(name)]
    kept = [x.name for x in made.columns if x.name in had]
    new = _NEW_IN_4.get(name, {})
    old = sa.table(name, *(sa.column(x) for x in kept))
    cx.execute(made.insert().from_select([*kept, *new], sa.select(*old.c, *new.values())))
    if made is t.branch_moves and cx.dialect.name != "sqlite":
        cx.execute(sa.text(CONTINUE_MOVES))
    cx.execute(sa.text(f"DROP TABLE {name}"))


CONTINUE_MOVES = "SELECT setval(pg_get_serial_sequence('ana_branch_moves', 'id'), max(id)) FROM ana_branch_moves"

MIGRATIONS: Mapping[int, Migration] = {1: _to_2, 2: _to_3, 3: _to_4}
"""From version n to n + 1. Migrations run in the opening transaction, so a crash leaves the old version."""


def create(cx: sa.Connection, facts: Mapping[str, str]) -> None:
    """Make the tables of a new store and write its version."""
    metadata.create_all(cx, checkfirst=False)
    rows = {"format_version": str(FORMAT_VERSION), **facts}
    cx.execute(t.store.insert(), [{"key": k, "value": v} for k, v in rows.items()])


def upgrade(
    cx: sa.Connection, *, latest: int = FORMAT_VERSION, migrations: Mapping[int, Migration] = MIGRATIONS
) -> None:
    """Bring the store to the latest version; refuse one that a newer Anabranch wrote."""
    wait_for_upgrades(cx)
    version = found_version(cx)
    if version > latest:
        message = f"this store has format version {version}, this Anabranch reads up to {latest}"
        raise InvalidRequest(message, hint="upgrade anabranch", expected=latest, found=version)
    for step in range(version, latest):
        if step not in migrations:
            raise Corrupt(f"no way leads on from format version {step}", hint="restore the store from a backup")
        migrations[step](cx)
        store = sa.table(facts_table(cx), sa.column("key"), sa.column("value"))
        cx.execute(sa.update(store).where(store.c.key == "format_version").values(value=str(step + 1)))


def wait_for_upgrades(cx: sa.Connection) -> None:
    """Let one opener after the other see which version a store has, so that two upgrade it only once."""
    if cx.dialect.name != "sqlite":  # SQLite has one writer at a time
        cx.execute(sa.text(f"SELECT pg_advisory_xact_lock({_UPGRADING})"))


_UPGRADING = 4162618327
