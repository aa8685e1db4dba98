"""The tables and namespaces of an unfinished commit: its parent's, plus what it created, renamed and dropped."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from anabranch.model.changes import Counts
from anabranch.model.schema import Schema
from anabranch.model.tables import TableEntry
from anabranch.repo.commit.transaction import Transaction
from anabranch.repo.context.table_state import describe_table, list_schemas


def draft_schemas(tx: Transaction) -> list[tuple[TableEntry, Schema]]:
    """List the tables of an unfinished commit with their sizes and columns, by name."""
    with tx._ctx.catalog.read() as cx:
        committed = {entry.id: (entry, schema) for entry, schema in list_schemas(tx._ctx, cx, tx._start.clock, None)}
    found = []
    for name, kind, thing in tx.all_names():
        draft = tx._draft.things.get(thing)
        if kind != "table":
            continue
        if draft is not None and draft.schema is not None:
            found.append(describe_table(name, thing, draft.row_count, draft.schema))
        else:
            entry, schema = committed[thing]
            found.append((replace(entry, name=name), schema))
    return sorted(found, key=lambda pair: pair[0].name)


def draft_namespaces(tx: Transaction) -> list[str]:
    """List the namespaces of an unfinished commit, nested ones with their path."""
    return sorted(name for name, kind, _ in tx.all_names() if kind == "namespace")


def staged_things(tx: Transaction, *, net: bool = True) -> list[dict[str, Any]]:
    """List what an unfinished commit changes, by name: kind, state, operations, inserted, updated, deleted, exact.

    Counts are those of the commit that it would become. Where only Spark or a long read could tell, or without `net`,
    they are the sums of its statements, and `exact` is false where these may count a row twice.
    """
    status = tx.status()
    several = _net_counts(tx, quick=net)
    return [
        {"name": name, "kind": what["kind"], "state": state_of(what), "operations": what["operations"]}
        | (several.get(name) or vars(what["counts"]))
        | {"exact": several.get(name, {}) is not None}
        for name, what in sorted(status.items())
    ]


def _net_counts(tx: Transaction, *, quick: bool) -> dict[str, dict[str, int] | None]:
    """Count what several statements on one table come to, by table; None where that would take long."""
    tables = [t for t in tx._draft.things.values() if t.kind == "table" and not t.dropped]
    names = [t.name for t in tables if len(t.statements) > 1 and t.needs_netting]
    if not names or not quick:
        return dict.fromkeys(names)
    found = tx.diff()
    counted = {name: found[name]._quick_counts() for name in names}
    return {name: {word: n[word] for word in vars(Counts())} if n else None for name, n in counted.items()}


def state_of(what: dict[str, Any]) -> str:
    """Say in a word what happened to a thing."""
    if what["dropped"]:
        return "dropped"
    return "created" if "create" in what["operations"] else "changed"
