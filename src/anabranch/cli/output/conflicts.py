"""Conflicts of a merge, in words and as JSON, and what can be done about them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from anabranch.cli.output.text import clean, columns, plural

if TYPE_CHECKING:
    from anabranch.repo.merge.conflicts import Conflicts
    from anabranch.repo.merge.open_conflicts import OpenConflicts

STRICTNESSES = ("cell", "row", "disjoint", "table", "operations")


def conflicts_document(conflicts: Conflicts) -> dict[str, Any]:
    """How many conflicts there are and where: count, tables (table, count), files, schema, objects, violations."""
    return {
        "count": conflicts.count(),
        "tables": [{"table": name, "count": table.count()} for name, table in conflicts.items()],
        "files": conflicts.files.rows(),
        "schema": conflicts.schema,
        "objects": conflicts.objects,
        "violations": conflicts.violations,
    }


def conflict_lines(conflicts: Conflicts) -> Iterator[str]:
    """One line for each table or thing in conflict."""
    rows = [(clean(name), _kinds(table.rows())) for name, table in conflicts.items()]
    rows += [(_place(thing), thing_text(thing)) for thing in (*conflicts.objects, *conflicts.schema)]
    rows += [(clean(file["path"]), _file_text(file)) for file in conflicts.files.rows()]
    for (table, kind, name), count in Counter((v["table"], v["kind"], v["name"]) for v in conflicts.violations).items():
        rows.append((clean(table), f"{plural(count, 'merged row')} would break {kind} {clean(name)}"))
    for line in columns(rows):
        yield f"  {line}"


def _file_text(file: Mapping[str, Any]) -> str:
    """What each side did to a file: `file (replace/append)`, and where it was moved to."""
    moved = f", moved to {clean(file['moved_to'])}" if file["moved_to"] else ""
    return f"file ({' '.join(filter(None, [file['kind'], file['column']]))}){moved}"


def thing_text(thing: Mapping[str, Any]) -> str:
    """What each side did to a table or a column."""
    return f"{thing['kind']}: {_side(thing['ours'])} here, {_side(thing['theirs'])} there"


def next_steps(conflicts: Conflicts, into: str, current: str, verb: str = "merge") -> Iterator[str]:
    """What can be done about an open merge, or about a sequence that stopped."""
    there = "" if into == current else f" --into {into}"
    on = "" if into == current else f" --on {into}"
    clashes = len(conflicts.clashes)
    if len(conflicts.files) + clashes < conflicts.count():
        yield f"`ana conflicts TABLE{there}` shows them,"
    if conflicts.tables or len(conflicts.things) > clashes:
        yield f"`ana resolve TABLE --ours{there}` (or --theirs, --base, --set) settles them;"
    if len(conflicts.files):
        yield f"`ana resolve --file PATH --ours{there}` (or --theirs, --base, --content) settles files;"
    if clashes:
        yield f"`ana resolve --file PATH --ours{there}` (or --theirs) settles file/folder: the other side's goes;"
    if any(v.kind != "key" for v in conflicts.broken):
        yield f"rows that would break a constraint are given values with `ana resolve TABLE --key … --set …{there}`,"
        yield f"or changed on {into} first;"
    if any(v.kind == "key" for v in conflicts.broken):
        yield f"rows that the key would not tell apart are changed on {into} first;"
    if verb == "merge":
        yield f"then {goes_on(verb, there)}, `ana merge --abort{there}` gives it up."
    else:
        yield f"then {goes_on(verb, on)}; --skip leaves this commit out, --abort gives all up."


def open_text(kept: OpenConflicts) -> str:
    """What is open: `A merge of dev into main is open`."""
    return f"A {kept.verb} of {clean(', '.join(kept.sources))} into {clean(kept.into)} is open"


def left_text(conflicts: Conflicts | None) -> str:
    """`, with 3 conflicts in 2 tables`, or that none are left; nothing if that is not known."""
    if conflicts is None:
        return ""
    if not conflicts:
        return "; no conflicts are left"
    told = (*conflicts.objects, *conflicts.schema, *conflicts.violations)
    tables, files = len({*conflicts, *(thing["table"] for thing in told)}), len(conflicts.files)
    places = [plural(n, word) for n, word in ((tables, "table"), (files, "file")) if n]
    return f", with {plural(conflicts.count(), 'conflict')} in {' and '.join(places)}"


def goes_on(verb: str, where: str = "") -> str:
    """How to continue once the conflicts are resolved."""
    return f"`ana {verb} --continue{where}` {'publishes the merge' if verb == 'merge' else 'goes on'}"


def _kinds(rows: Sequence[Mapping[str, Any]]) -> str:
    """`2 conflicts: price (update/update), row (delete/update)`."""
    parts = Counter((row["column"] or "row", row["kind"]) for row in rows)
    described = ", ".join(f"{clean(column)} ({kind})" for column, kind in parts)
    return f"{plural(len(rows), 'conflict')}: {described}"


def _place(thing: Mapping[str, Any]) -> str:
    return clean(f"{thing['table']}.{thing['column']}" if thing["column"] else str(thing["table"]))


def _side(value: Any) -> str:
    return "nothing" if value is None else clean(str(value))
