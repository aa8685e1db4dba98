"""One namespace or table on three sides: whether it is there after the merge, its attributes, schema and rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from anabranch.model.schema import Schema
from anabranch.plan import matrices
from anabranch.plan.merge_rows import CONFLICT, RowPolicy, Rules, Strictness
from anabranch.plan.merge_schema import SchemaMerge, merge_schema
from anabranch.plan.merge_sides import Judge, Side, ThingSide, merge_named


@dataclass(frozen=True)
class Merged:
    """What becomes of a thing, before names are settled."""

    result: ThingSide | None
    rows: RowPolicy | None = None
    was_asked: bool = False
    """Whether it is there, or not, because of an answer about it."""


def merge_thing(
    base: ThingSide | None,
    ours: ThingSide | None,
    theirs: ThingSide | None,
    strictness: Strictness,
    rules: Rules,
    judge: Judge,
) -> Merged:
    """Decide about one thing; a side that does not have it is None."""
    if ours and theirs:
        return _merge_both(base, ours, theirs, strictness, rules, judge)
    if base and (ours or theirs):
        return _merge_dropped(base, ours, theirs, strictness, judge)
    return Merged(ours or theirs)


# --- dropped on one side ---


def _merge_dropped(
    base: ThingSide, ours: ThingSide | None, theirs: ThingSide | None, strictness: Strictness, judge: Judge
) -> Merged:
    """Drop a thing that the other side did nothing with that would be lost; else ask."""
    keeper: Side = "ours" if ours else "theirs"
    there = ours or theirs
    assert there is not None
    verb = _lost_by_letter(base, there, keeper) if strictness == "operations" else _lost(base, there)
    if verb is None:
        return Merged(None)
    kind = f"{verb}/drop" if keeper == "ours" else f"drop/{verb}"
    values = (base.path, ours and _told(ours), theirs and _told(theirs))
    return Merged(there if judge.choose("objects", kind, values) == keeper else None, was_asked=True)


def _lost(base: ThingSide, there: ThingSide) -> str | None:
    """What a drop would lose: rows or columns. Names and properties are nothing without the table."""
    if there.rows_changed:
        return "update"
    return "alter column" if has_other_columns(base, there) else None


def _lost_by_letter(base: ThingSide, there: ThingSide, keeper: Side) -> str | None:
    """By the matrices a drop at the source goes through, and whatever the source did conflicts with a drop."""
    if keeper == "ours":
        return None
    found = matrices.judge(_matrix(there), letters(base, there), ["drop"])
    return next((m.source for m in found if m.cell.verdict == "conflict"), None)


def _matrix(thing: ThingSide) -> matrices.Matrix:
    return matrices.TABLES if thing.kind == "table" else matrices.NAMESPACES


def letters(base: ThingSide | None, thing: ThingSide) -> tuple[str, ...]:
    """What was done to a thing in the words of its matrix."""
    if thing.kind == "table" or base is None:
        return thing.operations
    renamed = ("alter name",) if (base.parent_id, base.name) != (thing.parent_id, thing.name) else ()
    return (*renamed, *matrices.namespace_operations(base.told("properties"), thing.told("properties")))


def has_other_columns(base: ThingSide, there: ThingSide) -> bool:
    """Tell whether columns, key or checks differ from the base's."""
    return _description(base.schema) != _description(there.schema) or base.told("checks") != there.told("checks")


def _description(schema: Schema | None) -> Any:
    return (schema.columns, schema.key) if schema else None


# --- on both sides ---


def _merge_both(
    base: ThingSide | None, ours: ThingSide, theirs: ThingSide, strictness: Strictness, rules: Rules, judge: Judge
) -> Merged:
    attributes: dict[str, Any] = dict(ours.attributes)
    attributes["properties"] = _merged_properties(base, ours, theirs, strictness, judge)
    attributes["united"] = sorted((ours.ids | theirs.ids) - {ours.id})
    if ours.schema is None or theirs.schema is None:
        return Merged(_with(ours, attributes, theirs))
    if strictness == "table" and base and _has_changed(base, ours) and _has_changed(base, theirs):
        return _whole_table(_with(ours, attributes, theirs), theirs, judge)
    merged = merge_schema(base, ours, theirs, strictness, judge.decisions)
    judge.add(merged.conflicts)
    attributes |= {"checks": dict(merged.checks), "cluster_by": list(merged.cluster_by)}
    rows = _merged_rows(base, ours, theirs, strictness, merged, judge)
    if rows is not None:
        rows = _with_rules(rows, ours, theirs, merged.schema, rules, attributes["properties"])
    return Merged(replace(_with(ours, attributes, theirs), schema=merged.schema), rows)


def _with(ours: ThingSide, attributes: dict[str, Any], theirs: ThingSide) -> ThingSide:
    told = {name: value for name, value in attributes.items() if value}
    return replace(ours, attributes=told, operations=theirs.operations)


def _merged_properties(
    base: ThingSide | None, ours: ThingSide, theirs: ThingSide, strictness: Strictness, judge: Judge
) -> dict[str, str]:
    """Make theirs' changes of properties again on ours; by the letter, a namespace's can't be unset twice."""
    old, mine, other = (s.told("properties") if s else {} for s in (base, ours, theirs))
    merged, _ = merge_named(old, mine, other)
    if strictness == "operations" and ours.kind == "namespace":
        for name in sorted(old.keys() - mine.keys() - other.keys()):
            judge.choose(
                "objects", "unset properties/unset properties", (f"{name}={old[name]}", None, None), None, [name]
            )
    return merged


def _merged_rows(
    base: ThingSide | None,
    ours: ThingSide,
    theirs: ThingSide,
    strictness: Strictness,
    merged: SchemaMerge,
    judge: Judge,
) -> RowPolicy | None:
    """Say how rows are merged; None where ours' stay as they are."""
    changed = theirs.rows_changed or theirs.in_doubt
    if not changed and ("theirs" not in merged.key_changed or merged.key_of == "ours"):
        return None
    policy = RowPolicy(strictness, base is None, bool(merged.key_changed), merged.key_of)
    if strictness == "operations":
        return _replayed_rows(policy, ours, theirs, judge)
    if merged.key_of == "theirs" and not ours.rows_changed and not ours.in_doubt:
        return replace(policy, replaces_all=True)
    kind = _rows_kind(ours, theirs, merged)
    if kind is None:
        return policy
    chosen = judge.choose("objects", kind, (_told(base), _told(ours), _told(theirs)))
    return replace(policy, replaces_all=True) if chosen == "theirs" else None


def _replayed_rows(policy: RowPolicy, ours: ThingSide, theirs: ThingSide, judge: Judge) -> RowPolicy | None:
    """Replay what the source did to rows on the target, with the notes of the matrix."""
    for met in matrices.judge(matrices.TABLES, theirs.operations, ours.operations):
        if met.cell.verdict == "conflict":
            kind = f"{met.destination}/{met.source}"
            if judge.choose("objects", kind, (None, _told(ours), _told(theirs))) == "ours":
                return None
    return replace(
        policy,
        theirs_deletes_win=True,
        only_new_rows="overwrite" in ours.operations,
        replaces_all="overwrite" in theirs.operations,
    )


def _whole_table(ours: ThingSide, theirs: ThingSide, judge: Judge) -> Merged:
    """Ask which side's columns and rows the table has."""
    if judge.choose("objects", "update/update", (None, _told(ours), _told(theirs))) == "ours":
        return Merged(ours)
    told = {n: v for n, v in theirs.attributes.items() if n in ("checks", "cluster_by")}
    rest = {n: v for n, v in ours.attributes.items() if n not in ("checks", "cluster_by")}
    result = replace(ours, schema=theirs.schema, attributes={**rest, **told})
    return Merged(result, RowPolicy("table", by_key_of="theirs", replaces_all=True))


def _rows_kind(ours: ThingSide, theirs: ThingSide, merged: SchemaMerge) -> str | None:
    """The kind of conflict that rows are in as a whole, whichever they are."""
    if merged.schema.key:
        return None
    if merged.key_changed:
        # Rows that had a key got new hidden ids: nothing tells which row of the other side they were.
        return _lost_key_kind(ours, theirs, merged)
    both = "overwrite" in ours.operations and "overwrite" in theirs.operations
    return "overwrite/overwrite" if both else None


def _lost_key_kind(ours: ThingSide, theirs: ThingSide, merged: SchemaMerge) -> str | None:
    if merged.key_of == "theirs":
        return "rows/key" if ours.rows_changed else None
    if "theirs" in merged.key_changed:
        return "key/key"
    return "key/rows" if theirs.rows_changed else None


def _has_changed(base: ThingSide, there: ThingSide) -> bool:
    return there.rows_changed or has_other_columns(base, there)


def _with_rules(
    policy: RowPolicy, ours: ThingSide, theirs: ThingSide, schema: Schema, rules: Rules, properties: dict[str, str]
) -> RowPolicy:
    """Look up the rule for each column, by the names that it and its table have on either side."""
    paths = list(dict.fromkeys((ours.path, theirs.path)))
    found = {}
    for column in schema.columns:
        there = [c for s in (ours.schema, theirs.schema) if s for c in s if c.ids & column.ids]
        names = {column.name, *(c.name for c in there)}
        rule = rules.of_column(paths, names, column.type, properties)
        if rule.word != CONFLICT.word:
            found[column.id] = rule
    return replace(policy, rule=rules.of_table(paths, properties), rules=found)


def _told(thing: ThingSide | None) -> str | None:
    """What a side did, as people read it."""
    if thing is None:
        return None
    return ", ".join(thing.operations) or thing.path
