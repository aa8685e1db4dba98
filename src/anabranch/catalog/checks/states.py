"""Check what commits say of things (entries, names, changes, references, views) against the state before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

from anabranch.catalog import history
from anabranch.catalog import tables as t
from anabranch.catalog.checks.commits import OnLine, Said, affected_by, entry_of
from anabranch.catalog.checks.look_ups import LookUps, Miscount, is_id
from anabranch.catalog.checks.rows import CatalogRow, refused
from anabranch.catalog.publish import carried_state
from anabranch.model.clock import Position
from anabranch.model.content import NameBinding
from anabranch.model.ids import LineId, RepositoryId, ThingId
from anabranch.model.names import check_part
from anabranch.model.objects import ViewKind
from anabranch.model.tables import Entry, Operation, ThingKind, holds_rows
from anabranch.model.verification import DROP_VIEW, Damage
from anabranch.plan.history import is_ancestor

_LETTERS = {"table": "t", "namespace": "n", "files": "f", "attribute": "c"}


def entries_said(known: LookUps, on: OnLine, said: Said) -> Iterator[Damage]:
    """Entries are of possible things, have an existing schema, and as many rows as their changes imply."""
    for row in (e for e in said.entries if not e.carried):
        counted = _row_count(on, said, row)
        if row.kind == "files":
            _note_files(known, said, row, counted)
            counted = None
        wrong = () if counted in (None, row.row_count) else (_miscounted(row, counted),)
        for what in (*_entry(known, row), *wrong, *_first_view(said, row)):
            yield row.damage(what, affected_by(known, said, row.thing_id))


def _entry(known: LookUps, row: CatalogRow) -> Iterator[str]:
    has_rows = holds_rows(row.kind)
    if row.kind not in get_args(ThingKind) or not is_id(row.thing_id, _LETTERS.get(row.kind, "?")):
        yield f"{row.thing_id!r} is no {row.kind!r}"
    if not isinstance(row.operations, list) or not set(row.operations) <= set(get_args(Operation)):
        yield f"operations are {row.operations!r}"
    if not isinstance(row.attributes, dict):
        yield f"attributes are {row.attributes!r}"
    names_none = row.dropped and row.schema_id is None  # As it is for what a namespace takes along.
    if has_rows and not names_none and not known.knows_schema(row.schema_id):
        yield f"its schema {row.schema_id!r} is not there"
    is_negative = row.row_count is not None and row.row_count < 0 and row.kind != "files"
    if has_rows and (row.row_count is None or is_negative):
        yield f"row_count is {row.row_count!r}"


def _note_files(known: LookUps, said: Said, row: CatalogRow, counted: int | None) -> None:
    """Note what a commit says of its files, to be judged when all commits are known."""
    if _begins_anew(said, row):
        known.tree_begins.setdefault(row.thing_id, []).append(said.position)
    if counted is not None and row.row_count is not None and counted != row.row_count:
        affects = affected_by(known, said, row.thing_id)
        known.miscounts.append(Miscount(row, said.position, counted, affects))


def _begins_anew(said: Said, row: CatalogRow) -> bool:
    """Whether files are read from this commit on: it brings a snapshot of its own, which shows nothing from before."""
    own = [v for v in said.views if v.thing_id == row.thing_id and v.kind == "snapshot"]
    return row.kind == "files" and any(v.created_at == said.commit.finished_at for v in own)


def _miscounted(row: CatalogRow, counted: int | None) -> str:
    return f"row_count is {row.row_count}, its changes make {counted}"


def _row_count(on: OnLine, said: Said, row: CatalogRow) -> int | None:
    """Count the rows that were there before, plus those inserted, minus those deleted; None for what has no rows."""
    if not holds_rows(row.kind):
        return None
    changes = said.changes_of(row.thing_id)
    kinds = (("rows", "manifest"), ("delete",))
    came, went = (sum(c.object_rows or 0 for c in changes if c.object_kind in k) for k in kinds)
    before = on.entry(row.thing_id)
    is_new = row.replaced or "create" in row.operations or before is None or before.dropped
    is_new = is_new or _begins_anew(said, row)
    rows = (0 if is_new or before is None else before.row_count or 0) + came - went
    return 0 if row.dropped else rows


def _first_view(said: Said, row: CatalogRow) -> Iterator[str]:
    """A commit that makes a table, or changes its key, brings a snapshot."""
    if row.kind == "table" and not row.dropped and ("create" in row.operations or row.replaced):
        own = [v for v in said.views if v.thing_id == row.thing_id and v.kind == "snapshot"]
        if not any(v.created_at == said.commit.finished_at for v in own):
            yield "the snapshot that came with it is missing, or tells another time than the commit"


def carried(known: LookUps, on: OnLine, said: Said) -> Iterator[Damage]:
    """A line of depth 0 carries the whole state from before it; no other line does."""
    entries, names = ([r for r in rows if r.carried] for rows in (said.entries, said.names))
    line = known.lines.get(on.line)
    is_carrying = line is not None and line.depth == 0 and line.parent_line is not None and on.before is None
    if not is_carrying:
        for row in (*entries, *names):
            yield row.damage("it repeats a state that its line does not carry", affected_by(known, said, row.thing_id))
        return
    bindings, described = _expected_state(known, on, said)
    yield from _same_rows(known, said, {(n.parent_id, n.name): n for n in names}, _binding, bindings)
    yield from _same_rows(known, said, {e.thing_id: e for e in entries}, entry_of, described)


def _expected_state(known: LookUps, on: OnLine, said: Said) -> tuple[dict[object, NameBinding], dict[object, Entry]]:
    origin = on.origin
    assert origin is not None
    named = {(ThingId(n.parent_id), n.name) for n in said.names if not n.carried}
    described = {ThingId(e.thing_id) for e in said.entries if not e.carried}
    bindings, found = carried_state(known.reader.cx, RepositoryId(said.commit.repository_id), origin, named, described)
    return {(b.parent_id, b.name): b for b in bindings}, {e.thing_id: e for e in found}


def _binding(row: CatalogRow) -> NameBinding:
    return NameBinding(ThingId(row.parent_id), row.name, row.kind, ThingId(row.thing_id) if row.thing_id else None)


def _same_rows(known: LookUps, said: Said, rows: dict, value_of, expected: dict) -> Iterator[Damage]:  # type: ignore[no-untyped-def, type-arg]
    """The rows say exactly what is expected."""
    for key, row in rows.items():
        if value_of(row) != expected.get(key):
            yield row.damage("it is not what was before its line", affected_by(known, said, row.thing_id))
    for key in expected.keys() - rows.keys():
        thing = expected[key].thing_id
        affects = affected_by(known, said, thing)
        line = known.lines[said.commit.line_id]
        yield line.damage(f"it should carry the whole state, but {key!r} is missing", affects)


def names_said(known: LookUps, on: OnLine, said: Said) -> Iterator[Damage]:
    """A name stands for an existing thing, in an existing namespace."""
    now = {e.thing_id: entry_of(e) for e in said.entries}
    for row in said.names:
        for what in _name(on, now, said, row):
            yield row.damage(what, affected_by(known, said, row.thing_id or row.parent_id))


def _name(on: OnLine, now: dict[str, Entry], said: Said, row: CatalogRow) -> Iterator[str]:
    if row.repository_id != said.commit.repository_id:
        yield f"it is of repository {row.repository_id!r}, the commit of {said.commit.repository_id!r}"
    yield from refused(lambda: check_part(row.name, row.kind))
    if row.kind not in get_args(ThingKind):
        yield f"kind is {row.kind!r}"
    if row.thing_id is None:
        return
    thing, parent = (now.get(id_) or on.entry(id_) for id_ in (row.thing_id, row.parent_id))
    if thing is None or thing.dropped:
        yield f"it stands for {row.thing_id!r}, which is not there"
    elif thing.kind != row.kind:
        yield f"kind is {row.kind!r}, it stands for a {thing.kind}"
    if row.parent_id and (parent is None or parent.dropped or parent.kind != "namespace"):
        yield f"it lies in {row.parent_id!r}, which is no namespace that is there"


def changes_said(known: LookUps, on: OnLine, said: Said) -> Iterator[Damage]:
    """Changes are of things that the commit mentions, numbered, and their objects exist."""
    described = {e.thing_id for e in said.entries if not e.carried and not e.dropped}
    numbers: dict[str, int] = {}
    for row in said.changes:
        number = numbers[row.thing_id] = numbers.get(row.thing_id, -1) + 1
        for what in _change(row, number, described):
            yield row.damage(what, affected_by(known, said, row.thing_id, row.object_id))


def _change(row: CatalogRow, number: int, described: set[str]) -> Iterator[str]:
    if row.thing_id not in described:
        yield "the commit does not speak of its table"
    if row.number != number:
        yield f"its number is {row.number}, {number} comes next"
    if row.step < 0:
        yield f"its step is {row.step}"
    if row.sha256 is None:
        yield f"its object {row.object_id!r} is not there"
    elif row.object_kind not in ("rows", "manifest", "update", "delete"):
        yield f"its object is of kind {row.object_kind!r}"


def references_said(known: LookUps, on: OnLine, said: Said) -> Iterator[Damage]:
    """References are to further parents, from a base that both sides have, and their exceptions exist."""
    numbers = {e.number: Position(LineId(e.parent_line), e.parent_index) for e in said.edges}
    for row in said.references:
        for what in _reference(known, on, said, row, numbers):
            yield row.damage(what, affected_by(known, said, row.thing_id, row.exceptions_id))


def _reference(known: LookUps, on: OnLine, said: Said, row: CatalogRow, numbers: dict[int, Position]) -> Iterator[str]:
    if row.parent_number not in numbers:
        yield f"there is no further parent {row.parent_number}"
        return
    base, first = Position(LineId(row.base_line), row.base_index), on.before
    if row.base_line:
        lines = history.Lines(known.reader.cx)
        ours = Position(LineId(first.line_id), first.commit_index) if first else on.origin and on.origin.head
        sides = [side for side in (ours, numbers[row.parent_number]) if side]
        if known.commit(*base) is None or not all(is_ancestor(lines, base, side) for side in sides):
            yield f"its base {known.commit_name(*base)} is no common ancestor of the parents"
    elif row.base_index or row.exceptions_id:
        yield "it has no base, but says where that is"
    o = t.objects.c
    if row.exceptions_id and not known.is_there(t.objects, o.id == row.exceptions_id, o.kind == "exceptions"):
        yield f"its exceptions {row.exceptions_id!r} are not there"


def views_said(known: LookUps, on: OnLine, said: Said) -> Iterator[Damage]:
    """A view shows an existing table, with as many rows; a fold lies on a snapshot."""
    now = {e.thing_id: entry_of(e) for e in said.entries}
    for row in said.views:
        entry = now.get(row.thing_id) or on.entry(row.thing_id)
        for what in (*_view(row, entry), *_since(known, said, row)):
            yield row.damage(what, affected_by(known, said, row.thing_id), DROP_VIEW)


def _view(row: CatalogRow, entry: Entry | None) -> Iterator[str]:
    if not is_id(row.id, "v") or row.kind not in get_args(ViewKind):
        yield f"{row.id!r} is no {row.kind!r}"
    if entry is None or entry.dropped or not holds_rows(entry.kind):
        yield f"its table {row.thing_id!r} is not there"
    elif entry.row_count != row.row_count and entry.kind != "files":
        yield f"row_count is {row.row_count}, its table has {entry.row_count}"
    if row.created_at <= 0:
        yield f"created_at is {row.created_at}, before any store"


def _since(known: LookUps, said: Said, row: CatalogRow) -> Iterator[str]:
    since = (row.since_line, row.since_index)
    if (row.kind == "fold") != (None not in since) or (None in since and since != (None, None)):
        yield f"it is a {row.kind} since {since[0]!r}, {since[1]!r}"
        return
    if row.kind != "fold":
        return
    v = t.views.c
    at = (v.line_id == since[0], v.commit_index == since[1], v.thing_id == row.thing_id, v.kind == "snapshot")
    on_way = history.clock(known.reader.cx, said.position).holds(Position(LineId(row.since_line), row.since_index))
    if not on_way or not known.is_there(t.views, *at):
        yield f"it lies on a snapshot at {known.commit_name(*since)}, where there is none"


STATE_CHECKS = (entries_said, carried, names_said, changes_said, references_said, views_said)
