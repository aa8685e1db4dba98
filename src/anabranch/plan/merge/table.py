"""Merge one namespace or table on three sides: whether it stays, its attributes, schema and rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from anabranch.model.ids import new_id
from anabranch.model.schema import Schema
from anabranch.model.tables import ROW_IDS
from anabranch.plan.merge import matrices
from anabranch.plan.merge.columns import have_equal_columns
from anabranch.plan.merge.rules import CONFLICT, RowPolicy, Rules, Strictness, check_properties_of
from anabranch.plan.merge.schema import SchemaMerge, merge_schema
from anabranch.plan.merge.sides import Judge, ThingSide, merge_named


@dataclass(frozen=True)
class MergedThing:
    """What a merge makes of a thing, before names are settled."""

    result: ThingSide | None
    rows: RowPolicy | None = None
    was_asked: bool = False
    """Whether somebody decided whether it stays."""


@dataclass(frozen=True)
class ThingCase:
    """One thing on three sides; a side that does not have it is None."""

    base: ThingSide | None
    ours: ThingSide | None
    theirs: ThingSide | None
    moved: bool = False
    """Whether theirs gave it another place."""


def merge_thing(case: ThingCase, strictness: Strictness, rules: Rules, judge: Judge) -> MergedThing:
    """Merge one thing."""
    base, ours, theirs = case.base, case.ours, case.theirs
    if ours and theirs:
        return _merge_both(base, ours, theirs, strictness, rules, judge)
    if base and ours:
        return _merge_dropped_by_theirs(base, ours, strictness, judge)
    if base and theirs:
        return _merge_dropped_by_ours(base, theirs, strictness, judge, case.moved)
    return MergedThing(ours or theirs)


# --- dropped on one side ---


def _merge_dropped_by_theirs(base: ThingSide, ours: ThingSide, strictness: Strictness, judge: Judge) -> MergedThing:
    """Let the source's drop through unless rows or columns would be lost; with strictness `operations`, always."""
    lost = _lost(base, ours) if strictness != "operations" else None
    if lost is None:
        return MergedThing(None)
    chosen = judge.choose("objects", f"{lost}/drop", (base.path, _operations_text(ours), None))
    return MergedThing(ours if chosen == "ours" else None, was_asked=True)


def _merge_dropped_by_ours(
    base: ThingSide, theirs: ThingSide, strictness: Strictness, judge: Judge, moved: bool
) -> MergedThing:
    """Leave out a thing that the source did nothing with; else ask, as the matrix says."""
    done = theirs.operations if strictness == "operations" and theirs.kind == "table" else _done(base, theirs, moved)
    matrix = matrices.TABLES if theirs.kind == "table" else matrices.NAMESPACES
    met = matrices.judge(matrix, done, ["drop"])
    verb = next((m.source for m in met if m.cell.verdict == "conflict"), None)
    if verb is None:
        return MergedThing(None)
    described = theirs.path if verb == "alter name" else _operations_text(theirs)
    chosen = judge.choose("objects", f"drop/{verb}", (base.path, None, described))
    return MergedThing(theirs if chosen == "theirs" else None, was_asked=True)


def _lost(base: ThingSide, there: ThingSide) -> str | None:
    """What a drop would lose: rows or columns. Names and properties do not count."""
    if there.rows_changed:
        return "update"
    return "alter column" if has_other_columns(base, there) else None


def _done(base: ThingSide, there: ThingSide, moved: bool) -> tuple[str, ...]:
    """What differs from the base, in the words of the matrix, the most important first."""
    named = ("alter name",) if moved else ()
    before, after = base.texts("properties"), there.texts("properties")
    if there.kind != "table":
        return (*named, *matrices.namespace_operations(before, after))
    lost = _lost(base, there)
    rest = ("alter properties",) if before != after else ()
    laid = ("alter partition",) if "alter partition" in there.operations else ()
    return (*([lost] if lost else ()), *named, *rest, *laid)


def has_other_columns(base: ThingSide, there: ThingSide) -> bool:
    """Tell whether columns, key or checks differ from the base's."""
    return not have_equal_columns(base.schema, there.schema) or base.texts("checks") != there.texts("checks")


# --- on both sides ---


def _merge_both(
    base: ThingSide | None, ours: ThingSide, theirs: ThingSide, strictness: Strictness, rules: Rules, judge: Judge
) -> MergedThing:
    attributes: dict[str, Any] = dict(ours.attributes)
    attributes["properties"] = _merged_properties(base, ours, theirs, strictness, judge)
    attributes["united"] = sorted((ours.ids | theirs.ids) - {ours.id})
    if ours.schema is None or theirs.schema is None:
        return MergedThing(_with(ours, attributes))
    if strictness == "table" and _has_changed(base, ours) and _has_changed(base, theirs):
        verb = "update" if base else "create"
        return _whole_table(_with(ours, attributes), theirs, judge, f"{verb}/{verb}")
    merged = merge_schema(base, ours, theirs, strictness, judge.decisions)
    judge.add(merged.conflicts)
    attributes |= {"checks": dict(merged.checks), "cluster_by": list(merged.cluster_by)}
    rows = _merged_rows(base, ours, theirs, strictness, merged, judge)
    attributes[ROW_IDS] = _numbering(ours, theirs, merged, rows)
    if rows is not None:
        rows = _with_rules(rows, ours, theirs, merged.schema, rules, attributes["properties"])
    return MergedThing(replace(_with(ours, attributes), schema=merged.schema), rows)


def _with(ours: ThingSide, attributes: dict[str, Any]) -> ThingSide:
    return replace(ours, attributes={name: value for name, value in attributes.items() if value})


def _numbering(ours: ThingSide, theirs: ThingSide, merged: SchemaMerge, rows: RowPolicy | None) -> str | None:
    """The numbering of the merged rows; None if they have a key."""
    side = theirs if rows is not None and rows.replaces_all and merged.key_changed else ours
    if rows is not None and rows.by_old_key:
        return new_id("w")
    return None if merged.schema.key else side.attributes.get(ROW_IDS)


def _merged_properties(
    base: ThingSide | None, ours: ThingSide, theirs: ThingSide, strictness: Strictness, judge: Judge
) -> dict[str, str]:
    """Replay theirs' changes of properties on ours; with strictness `operations`, equal unsets may conflict."""
    old, mine, other = (s.texts("properties") if s else {} for s in (base, ours, theirs))
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
    """Decide how rows are merged; None if ours stay as they are."""
    changed = {side: s.rows_changed or s.in_doubt for side, s in (("ours", ours), ("theirs", theirs))}
    if merged.rows_of == "ours" or (merged.key_of == "ours" and not changed["theirs"]):
        return None
    policy = RowPolicy(strictness, base is None, bool(merged.key_changed), merged.key_of, merged.old_key)
    if merged.old_key:
        return policy
    if merged.rows_of == "theirs" or (merged.key_of == "theirs" and not changed["ours"]):
        return replace(policy, replaces_all=True)
    if strictness == "operations":
        return _replayed_rows(policy, ours, theirs, judge)
    if not merged.schema.key and all("overwrite" in s.operations for s in (ours, theirs)):
        chosen = judge.choose(
            "objects", "overwrite/overwrite", (None, _operations_text(ours), _operations_text(theirs))
        )
        return replace(policy, replaces_all=True) if chosen == "theirs" else None
    return policy


def _replayed_rows(policy: RowPolicy, ours: ThingSide, theirs: ThingSide, judge: Judge) -> RowPolicy | None:
    """Replay what the source did to rows on the target, with the notes of the matrix."""
    for met in matrices.judge(matrices.TABLES, theirs.operations, ours.operations):
        if met.cell.verdict == "conflict":
            kind = f"{met.destination}/{met.source}"
            if judge.choose("objects", kind, (None, _operations_text(ours), _operations_text(theirs))) == "ours":
                return None
    return replace(
        policy,
        theirs_deletes_win=True,
        only_new_rows="overwrite" in ours.operations,
        replaces_all="overwrite" in theirs.operations,
    )


def _whole_table(ours: ThingSide, theirs: ThingSide, judge: Judge, kind: str) -> MergedThing:
    """Ask which side's columns and rows the table has."""
    if judge.choose("objects", kind, (None, _operations_text(ours), _operations_text(theirs))) == "ours":
        return MergedThing(ours)
    # With ours as the base, all that theirs has is new, and columns keep ours' ids.
    mine = replace(ours, operations=(), rows_changed=False, rows_inserted=False, touched=frozenset())
    merged = merge_schema(mine, mine, theirs)
    attributes = {**ours.attributes, "checks": dict(merged.checks), "cluster_by": list(merged.cluster_by)}
    rows = RowPolicy("table", full=bool(merged.key_changed), by_key_of=merged.key_of, replaces_all=True)
    attributes[ROW_IDS] = _numbering(ours, theirs, merged, rows)
    return MergedThing(replace(_with(ours, attributes), schema=merged.schema), rows)


def _has_changed(base: ThingSide | None, there: ThingSide) -> bool:
    return base is None or there.rows_changed or has_other_columns(base, there)


def _with_rules(
    policy: RowPolicy, ours: ThingSide, theirs: ThingSide, schema: Schema, rules: Rules, properties: dict[str, str]
) -> RowPolicy:
    """Find the rule for each column, by the names that it and its table have on either side."""
    paths = list(dict.fromkeys((ours.path, theirs.path)))
    check_properties_of(ours.path, properties, [s for s in (ours.schema, theirs.schema) if s])
    found = {}
    for column in schema.plain_columns:
        there = [c for s in (ours.schema, theirs.schema) if s for c in s.sharing(column)]
        names = {column.name, *(c.name for c in there)}
        rule = rules.of_column(paths, names, column.type, properties)
        if rule.word != CONFLICT.word:
            found[column.id] = rule
    return replace(policy, rule=rules.of_table(paths, properties), rules=found)


def _operations_text(thing: ThingSide | None) -> str | None:
    """What a side did, as people read it."""
    if thing is None:
        return None
    return ", ".join(thing.operations) or thing.path
