"""Check commits along their lines: place, parents, hash; and all rows that belong to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from sqlalchemy import Table

from anabranch.catalog import entries, history, objects
from anabranch.catalog import tables as t
from anabranch.catalog.checks.look_ups import LookUps, is_hash, is_id
from anabranch.catalog.checks.rows import MISSHAPEN, CatalogReader, CatalogRow, Companions
from anabranch.catalog.json_values import RoundedNumber
from anabranch.model.clock import Clock, Position
from anabranch.model.commits import BranchHead, CommitHead, Origin
from anabranch.model.content import Change, ChangeReference, Content, NameBinding, Publication
from anabranch.model.ids import BranchId, CommitId, LineId, ObjectId, RepositoryId, SchemaId, ThingId
from anabranch.model.objects import StoredObject
from anabranch.model.schema import Schema
from anabranch.model.tables import Entry
from anabranch.model.verification import LOST_DIGITS, Affected, Damage
from anabranch.plan.hashing import commit_hash

_OBJECT = {"sha256": t.objects.c.sha256, "object_kind": t.objects.c.kind, "object_rows": t.objects.c.row_count}
_OBJECT |= {"object_schema": t.objects.c.schema_id}
_TRIED_AT_MOST = 10


@dataclass(frozen=True)
class Said:
    """All that the catalogue keeps of one commit."""

    commit: CatalogRow
    edges: list[CatalogRow]
    provenance: list[CatalogRow]
    entries: list[CatalogRow]
    names: list[CatalogRow]
    facts: list[CatalogRow]
    changes: list[CatalogRow]
    references: list[CatalogRow]
    views: list[CatalogRow]

    @property
    def position(self) -> Position:
        return Position(LineId(self.commit.line_id), self.commit.commit_index)

    def changes_of(self, thing: str) -> list[CatalogRow]:
        return [c for c in self.changes if c.thing_id == thing]


_COMPANIONS = (t.merge_edges, t.provenance, t.entries, t.names, t.facts, t.changes, t.change_references, t.views)


@dataclass
class OnLine:
    """What is known while the commits of one line are checked, from its first on."""

    known: LookUps
    line: str
    before: CatalogRow | None = None
    """The previous commit on the line."""
    _entries: dict[str, Entry | None] = field(default_factory=dict)
    _clock: Clock | None = None

    @property
    def origin(self) -> Clock | None:
        """The clock of the commit that the line springs from."""
        row = self.known.lines.get(self.line)
        if self._clock is None and row is not None and row.parent_line is not None:
            above = Position(LineId(row.parent_line), row.parent_index)
            self._clock = history.clock(self.known.reader.cx, above)
        return self._clock

    def entry(self, thing: str) -> Entry | None:
        """What the commits so far say of a thing."""
        if thing not in self._entries:
            origin = self.origin
            found = entries.find_entry(self.known.reader.cx, origin, ThingId(thing)) if origin else None
            self._entries[thing] = found
        return self._entries[thing]

    def advance(self, said: Said) -> None:
        """Take in what a commit says."""
        self.before = said.commit
        self._entries.update((e.thing_id, entry_of(e)) for e in said.entries)


Check = Callable[[LookUps, OnLine, Said], Iterator[Damage]]


def check_commits(known: LookUps, checks: Sequence[Check]) -> None:
    """Check all commits, line by line, each with its rows; and report rows that belong to none."""
    reader = known.reader
    companions = [Companions(_rows(reader, table), "line_id", "commit_index") for table in _COMPANIONS]
    on = OnLine(known, "")
    for commit in reader.rows(t.commits, t.commits.c.line_id, t.commits.c.commit_index):
        found = [rows.of((commit.line_id, commit.commit_index)) for rows in companions]
        _report_lost(known, [row for _, lost in found for row in lost])
        said = Said(commit, *(rows for rows, _ in found))
        if commit.line_id != on.line:
            on = OnLine(known, commit.line_id)
        for check in (place, parents, *checks):
            reader.check(commit, check(known, on, said))
        on.advance(said)
    _report_lost(known, [row for rows in companions for row in rows.rest()])


def _rows(reader: CatalogReader, table: Table) -> Iterator[CatalogRow]:
    c = table.c
    order = (c.line_id, c.commit_index, *(k for k in table.primary_key if k.name not in ("line_id", "commit_index")))
    if table is not t.changes:
        return reader.rows(table, *order)
    joined = t.changes.outerjoin(t.objects, c.object_id == t.objects.c.id)
    return reader.rows(table, *order, source=joined, more=_OBJECT)


def _report_lost(known: LookUps, rows: list[CatalogRow]) -> None:
    for row in rows:
        name = known.commit_name(row.line_id, row.commit_index)
        known.reader.damages.append(row.damage(f"it belongs to commit {name}, which is not there"))


def place(known: LookUps, on: OnLine, said: Said) -> Iterator[Damage]:
    """A commit is on a line of its repository, right after the previous one."""
    row, line = said.commit, known.lines.get(said.commit.line_id)
    affects = known.affected
    expected = on.before.commit_index + 1 if on.before else 0
    if line is None:
        yield row.damage(f"its line {row.line_id!r} is not there", affects(row.line_id, row.commit_index))
        return
    if row.commit_index != expected:
        yield row.damage(f"commit {expected} of its line is missing", affects(row.line_id, row.commit_index))
    if row.repository_id != line.repository_id:
        what = f"it is of repository {row.repository_id!r}, its line of {line.repository_id!r}"
        yield row.damage(what, affects(row.line_id, row.commit_index))
    if not is_id(row.id, "k") or not is_hash(row.hash):
        yield row.damage(f"{row.id!r} or {row.hash!r} is no id or hash", affects(row.line_id, row.commit_index))


def parents(known: LookUps, on: OnLine, said: Said) -> Iterator[Damage]:
    """Parents exist, and generations rise from them."""
    row = said.commit
    found = _parents(known, on, said)
    generation = 1 + max((p.generation for p in found if p), default=-1)
    where = (row.line_id, row.commit_index)
    if None in found:
        yield row.damage("a parent of it is not there", known.affected(*where))
    elif row.generation != generation:
        what = f"generation is {row.generation}, its parents say {generation}"
        yield row.damage(what, known.affected(*where))
    if row.is_merge != bool(said.edges):
        what = f"is_merge is {row.is_merge}, it has {len(said.edges)} further parents"
        yield row.damage(what, known.affected(*where))
    for number, source in enumerate(said.provenance):
        if source.number != number:
            yield source.damage(f"its number is {source.number}, {number} comes next", known.affected(*where))
    for number, edge in enumerate(said.edges, 1):
        parent = known.commit(edge.parent_line, edge.parent_index)
        described = (edge.number, edge.generation, edge.parent_generation)
        if parent is None or described != (number, row.generation, parent.generation):
            yield edge.damage("it contradicts the commits that it joins", known.affected(*where))
        elif parent.repository_id != row.repository_id:
            yield edge.damage("it leads to another repository", known.affected(*where))


def _parents(known: LookUps, on: OnLine, said: Said) -> list[CatalogRow | None]:
    """All parents, None for a missing one; the first commit of a repository has none."""
    further = [known.commit(e.parent_line, e.parent_index) for e in said.edges]
    if on.before is not None:
        return [on.before, *further]
    line = known.lines.get(on.line)
    if line is None or line.parent_line is None:
        return further
    return [known.commit(line.parent_line, line.parent_index), *further]


class HashCheck:
    """Recomputes the hash of each commit from what the catalogue keeps of it."""

    def __init__(self) -> None:
        self._brought: set[str] = set()
        """Schemas that some verified hash covers."""

    def __call__(self, known: LookUps, on: OnLine, said: Said) -> Iterator[Damage]:
        """The hash matches what the commit says; of schemas, it covers those the commit brought."""
        row = said.commit
        found = [p for p in _parents(known, on, said) if p]
        if row.recipe not in (1, 2):
            yield row.damage(f"its hash is of recipe {row.recipe}", known.affected(row.line_id, row.commit_index))
            return
        described, bases = _described(known, said), _bases(known, said)
        for brought in self._tries(_changed_schemas(said)) if row.schemas is None else (tuple(row.schemas),):
            schemas = [known.schema(id_) for id_ in brought]
            if None in schemas:
                continue
            publication = _publication(said, found, _content(said, [s for s in schemas if s], described))
            if commit_hash(publication, row.finished_at, bases, row.recipe) == row.hash:
                self._brought.update(brought)
                return
        affects = known.affected(row.line_id, row.commit_index)
        rounded = [fact for fact in said.facts if isinstance(fact.value, RoundedNumber)]
        for fact in rounded:
            what = f"its fact {fact.key!r} has lost digits: SQLite kept {fact.value} of a whole number beyond 64 bits"
            yield fact.damage(what, affects, LOST_DIGITS)
        if not rounded:
            what = f"its hash {row.hash[:12]}… is not that of what it says: author, message, times, tables or changes"
            yield row.damage(what, affects)

    def _tries(self, schemas: list[str]) -> Iterator[tuple[str, ...]]:
        """The schemas that the commit may have brought, likeliest first; a set that gives the hash is proven by it."""
        likely = (tuple(s for s in schemas if s not in self._brought), (), tuple(schemas))
        yield from dict.fromkeys(likely)
        if len(schemas) <= _TRIED_AT_MOST:
            for size in range(1, len(schemas)):
                yield from (chosen for chosen in combinations(schemas, size) if chosen not in likely)


def _changed_schemas(said: Said) -> list[str]:
    """The schemas of things made or altered, which a commit of format 3 may have brought."""
    changed = {e.thing_id for e in said.entries if not e.carried and _may_bring(e)}
    own = [e.schema_id for e in said.entries if e.thing_id in changed]
    own += [c.object_schema for c in said.changes if c.thing_id in changed]
    return sorted({s for s in own if s})


def _may_bring(entry: CatalogRow) -> bool:
    return entry.kind == "table" and (entry.replaced or bool({"create", "alter column"} & set(entry.operations)))


def _publication(said: Said, found: list[CatalogRow], content: Content) -> Publication:
    """The commit as it was published."""
    row = said.commit
    return Publication(
        RepositoryId(row.repository_id),
        BranchHead("", BranchId(""), said.position),
        tuple(_head(p) for p in found),
        CommitId(row.id),
        row.author,
        row.message,
        row.started_at,
        tuple(Origin(p.commit_hash, p.role, p.repository_id, p.source) for p in said.provenance),
        "",
        content,
        facts={f.key: f.value for f in said.facts},
    )


def _head(row: CatalogRow) -> CommitHead:
    at = Position(LineId(row.line_id), row.commit_index)
    return CommitHead(at, CommitId(row.id), row.hash, row.generation, row.finished_at)


def _described(known: LookUps, said: Said) -> dict[ObjectId, StoredObject]:
    """The objects that the commit's hash covers."""
    linked = [c.object_id for c in said.changes] + [r.exceptions_id for r in said.references if r.exceptions_id]
    return objects.find(known.reader.cx, [ObjectId(id_) for id_ in dict.fromkeys(linked)]) if linked else {}


def _bases(known: LookUps, said: Said) -> dict[Position, str]:
    """The hashes of the commits that references start from."""
    found = {r.base: known.commit(*r.base) for r in map(_reference, said.references) if r.base}
    return {base: row.hash for base, row in found.items() if row}


def _reference(row: CatalogRow) -> ChangeReference:
    base = Position(LineId(row.base_line), row.base_index) if row.base_line else None
    exceptions = ObjectId(row.exceptions_id) if row.exceptions_id else None
    return ChangeReference(ThingId(row.thing_id), row.parent_number, base, exceptions)


def _content(said: Said, schemas: list[Schema], described: Mapping[ObjectId, StoredObject]) -> Content:
    things = dict.fromkeys(c.thing_id for c in said.changes)
    return Content(
        entries=tuple(entry_of(e) for e in said.entries if not e.carried),
        names=tuple(
            NameBinding(ThingId(n.parent_id), n.name, n.kind, ThingId(n.thing_id) if n.thing_id else None)
            for n in said.names
            if not n.carried
        ),
        changes=tuple(_change(thing, said.changes_of(thing)) for thing in things),
        references=tuple(_reference(r) for r in said.references),
        schemas=tuple(schemas),
        described=described,
    )


def _change(thing: str, rows: list[CatalogRow]) -> Change:
    steps = tuple(c.step for c in rows)
    return Change(ThingId(thing), tuple(ObjectId(c.object_id) for c in rows), steps if any(steps) else ())


def entry_of(row: CatalogRow) -> Entry:
    """An entry as a value."""
    schema = SchemaId(row.schema_id) if row.schema_id else None
    said = tuple(row.operations), dict(row.attributes)
    return Entry(ThingId(row.thing_id), row.kind, schema, row.row_count, *said, row.dropped, row.replaced)


def affected_by(known: LookUps, said: Said, thing: str, object_: str | None = None) -> Affected:
    """What damage to a thing at a commit affects."""
    try:
        return known.affected(said.commit.line_id, said.commit.commit_index, thing=thing, object_=object_)
    except MISSHAPEN:
        return Affected(table=thing, object=object_)
