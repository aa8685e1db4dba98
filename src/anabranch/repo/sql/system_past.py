"""The relations of `ana` on one table: differences, history, blame, conflicts, layout."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from anabranch.errors import NotFound
from anabranch.frames.json import json_text
from anabranch.repo.commit.open_commit import working_set
from anabranch.repo.compare import blame as blame_verbs
from anabranch.repo.compare import changes as change_verbs
from anabranch.repo.compare import diff as diff_verbs
from anabranch.repo.compare.history import row_history, table_history
from anabranch.repo.compare.table_diff import TableDiff
from anabranch.repo.merge.conflicts import Conflicts, conflict_keys
from anabranch.repo.merge.open_merge import newest_merge
from anabranch.repo.read.look_up import value_of_text
from anabranch.repo.read.table import EVERYTHING, open_table
from anabranch.repo.sql.system_relation import SystemRequest, SystemTable, declared

_COMMIT = declared("hash string, id string, author string, message string, finished_at timestamp")
_TABLE_HISTORY = (*_COMMIT, *declared("operations array<string>, inserted bigint, updated bigint, deleted bigint"))
_ROW_HISTORY = (*_COMMIT, *declared("change string, before string, after string, columns array<string>"))
_CONFLICTS = declared("table string, level string, column string, kind string, count bigint")
_THINGS = declared("kind string, column string, base string, ours string, theirs string")
_LAYOUT = declared(
    "turn int, view string, kind string, rows bigint, size_bytes bigint, place string, path string, "
    "key_low string, key_high string, sha256 string"
)


def diff(asked: SystemRequest) -> SystemTable:
    """The rows of a table that differ between two refs; given none, what is staged."""
    found = _table_diff(asked)
    return asked.computed(found.long_columns, found)


def _table_diff(asked: SystemRequest) -> TableDiff:
    before, after = asked.ref_at(1), asked.ref_at(2)
    if before is not None and ".." in before:
        if after is not None:
            raise asked.wrong(f"{before!r} is a range, and a second ref was given")
        return diff_verbs.diff(asked.ctx, before, None, asked.table)[asked.table]
    if before is not None or after is not None:
        return diff_verbs.diff(asked.ctx, before or asked.ref, after or asked.ref, asked.table)[asked.table]
    opened = asked.tx or working_set(asked.ctx, asked.branch)
    if opened is not None:
        return opened.diff()[asked.table]
    return diff_verbs.diff(asked.ctx, asked.ref, asked.ref, asked.table)[asked.table]


def changes(asked: SystemRequest) -> SystemTable:
    """Every change of every commit after one ref, up to another."""
    found = change_verbs.changes(asked.ctx, asked.table, asked.ref_at(1), asked.ref_at(2) or asked.ref, EVERYTHING)
    return asked.computed(found.columns, found)


def blame(asked: SystemRequest) -> SystemTable:
    """The commit that last changed each row."""
    found = blame_verbs.blame(asked.ctx, asked.table, asked.ref_at(1) or asked.ref, blame_verbs.BlameRequest())
    return asked.computed(found.columns, found)


def history(asked: SystemRequest) -> SystemTable:
    """The commits that touched a table, or the row with a key."""
    at = asked.pinned(asked.ref)
    if len(asked.arguments) == 1:
        return asked.in_memory(_TABLE_HISTORY, lambda: _table_history(asked, at))
    key = _key(asked)
    return asked.in_memory(_ROW_HISTORY, lambda: _row_history(asked, key, at))


def _key(asked: SystemRequest) -> dict[str, Any]:
    """The key given by the arguments after the table, in the types of its columns."""
    schema = open_table(asked.ctx, asked.table, asked.ref).schema
    columns, given = schema.key_columns if schema.has_key else (), asked.arguments[1:]
    if len(given) != len(columns):
        names = ", ".join(c.name for c in columns) or "no key"
        raise asked.wrong(f"{len(given)} values were given, but {asked.table!r} has {names}")
    pairs = zip(columns, given, strict=True)
    return {
        c.name: value_of_text(c, v, asked.table) if isinstance(v, str) and c.type.name != "string" else v
        for c, v in pairs
    }


def _table_history(asked: SystemRequest, at: str) -> Iterator[dict[str, Any]]:
    for entry in table_history(asked.ctx, asked.table, None, None, at):
        yield {**vars(entry.commit), **vars(entry)}


def _row_history(asked: SystemRequest, key: dict[str, Any], at: str) -> Iterator[dict[str, Any]]:
    for entry in row_history(asked.ctx, asked.table, key, None, None, at):
        sides = {"before": _json(entry.before), "after": _json(entry.after)}
        yield {**vars(entry.commit), **vars(entry), **sides}


def _json(row: dict[str, Any] | None) -> str | None:
    return None if row is None else json_text(row)


def conflicts(asked: SystemRequest) -> SystemTable:
    """What keeps the open merge into the branch from being published; or the conflicts of one table."""
    kept = newest_merge(asked.ctx, asked.branch)
    if not asked.arguments:
        return asked.in_memory(_CONFLICTS, lambda: _conflict_counts(kept.conflicts) if kept else ())
    if kept is None:
        raise NotFound(f"no merge into {asked.branch!r} is open", hint="MERGE BRANCH keeps one open if it has to")
    return _of_table(asked, kept.conflicts)


def _conflict_counts(found: Conflicts) -> Iterator[dict[str, Any]]:
    """One row for each kind of conflict of each table, column or check."""
    for name, table in found.items():
        for (column, kind), count in Counter((row["column"], row["kind"]) for row in table.rows()).items():
            yield {"table": name, "level": "rows", "column": column, "kind": kind, "count": count}
    for level, things in (("objects", found.objects), ("schema", found.schema)):
        for thing in things:
            yield {**thing, "level": level, "count": 1}
    broken = Counter((v["table"], f"{v['kind']} {v['name']}") for v in found.violations)
    for (name, kind), count in broken.items():
        yield {"table": name, "level": "violations", "column": None, "kind": kind, "count": count}


def _of_table(asked: SystemRequest, found: Conflicts) -> SystemTable:
    """Conflicts of a table: in its rows, in the table itself, and rows that break a constraint."""
    name = asked.table
    things = [t for t in (*found.objects, *found.schema) if t["table"] == name]
    broken = [v for v in found.violations if v["table"] == name]
    rows = [*(_thing(t) for t in things), *(_broken(v) for v in broken)]
    if name not in found:
        keys_of = () if rows else conflict_keys(open_table(asked.ctx, name, asked.branch).schema)
        return asked.in_memory((*keys_of, *_THINGS), lambda: rows)
    table = found[name]
    keys = [key for key, _ in table.key_columns]
    at = [*({} for _ in things), *(dict(zip(keys, v["key"].values(), strict=True)) for v in broken)]

    def with_things() -> pa.Table:
        first = table.arrow()
        more = [{**row, **key} for row, key in zip(rows, at, strict=True)]
        return pa.concat_tables([first, pa.Table.from_pylist(more, first.schema)])

    return asked.of_arrow((*table.key_columns, *_THINGS), with_things)


def _thing(thing: dict[str, Any]) -> dict[str, Any]:
    """A table or column in conflict, as text."""
    sides = {side: None if thing[side] is None else str(thing[side]) for side in ("base", "ours", "theirs")}
    return {"kind": thing["kind"], "column": thing["column"], **sides}


def _broken(violation: dict[str, Any]) -> dict[str, Any]:
    """A merged row that breaks a constraint, as text."""
    kind = f"{violation['kind']} {violation['name']}"
    return {"kind": kind, "column": None, "base": None, "ours": json_text(violation["row"]), "theirs": None}


def layout(asked: SystemRequest) -> SystemTable:
    """The objects that a read of the table touches."""
    return asked.listed(_LAYOUT, map(_with_ends, asked.open_table().layout()))


def _with_ends(found: dict[str, Any]) -> dict[str, Any]:
    """An object with the ends of its key range as text."""
    ends = {end: None if found[end] is None else json_text(found[end]) for end in ("key_low", "key_high")}
    return {**found, **ends}
