"""Check open commits and open merges, with what they hold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, get_args

from anabranch.catalog import tables as t
from anabranch.catalog.checks.look_ups import LookUps, is_hash, is_id
from anabranch.catalog.checks.rows import CatalogRow, Companions, refused
from anabranch.catalog.open_merges import SEQUENCES
from anabranch.model.files import files_schema
from anabranch.model.names import check_ref_name
from anabranch.model.schema import read_schema
from anabranch.model.tables import Operation, ThingKind
from anabranch.model.verification import Affected, Damage
from anabranch.plan.merge.rules import check_strictness

_ABORT = "abort it if its work is of no use any more, or restore the catalogue from a backup"
_READS = "reads"
_DOCUMENT: dict[str, type | tuple[type, ...]] = {
    "id": str,
    "kind": str,
    "parent_id": str,
    "name": str,
    "schema": (str, type(None)),
    "schemas": dict,
    "base_name": (str, type(None)),
    "base_attributes": dict,
    "replaced_rows": (int, type(None)),
    "operations": list,
    "dropped": bool,
    "attributes": dict,
    "statements": list,
}
_MODES, _FAST = ("merge", "squash", *SEQUENCES), ("", "never", "only", "three-way")


def check_open_commits(known: LookUps) -> None:
    """Check open commits, what they did to things, and the objects they keep."""
    o, e, x = t.open_commits.c, t.open_entries.c, t.open_objects.c
    entries = Companions(known.reader.rows(t.open_entries, e.open_id, e.thing_id), "open_id")
    joined = t.open_objects.outerjoin(t.objects, x.object_id == t.objects.c.id)
    more = {"sha256": t.objects.c.sha256}
    objects = Companions(known.reader.rows(t.open_objects, x.open_id, x.object_id, source=joined, more=more), "open_id")
    for row in known.reader.rows(t.open_commits, o.id):
        (own, lost), (linked, loose) = (rows.of((row.id,)) for rows in (entries, objects))
        _report_lost(known, [*lost, *loose])
        known.reader.check(row, _open_commit(known, row))
        for entry in own:
            known.reader.check(entry, _open_entry(known, row, entry, {x.object_id for x in linked}))
        gone = [x for x in linked if x.sha256 is None]
        affects = _affects(known, row)
        known.reader.damages += [x.damage(f"object {x.object_id!r} is not there", affects, _ABORT) for x in gone]
    _report_lost(known, [*entries.rest(), *objects.rest()])


def _report_lost(known: LookUps, rows: list[CatalogRow]) -> None:
    known.reader.damages += [r.damage("what it belongs to is not open", hint=_ABORT) for r in rows]


def _affects(known: LookUps, row: CatalogRow) -> Affected:
    repository = known.repositories.get(row.repository_id)
    return Affected(repository.name if repository else None, (row.branch,))


def _open_commit(known: LookUps, row: CatalogRow) -> Iterator[Damage]:
    for what in (*_place(known, row), *_texts(row)):
        yield row.damage(what, _affects(known, row), _ABORT)
    parent = known.commit(row.parent_line, row.parent_index)
    if parent is None or parent.repository_id != row.repository_id:
        name = known.commit_name(row.parent_line, row.parent_index)
        yield row.damage(f"it starts from {name}, which is not there", _affects(known, row), _ABORT)


def _place(known: LookUps, row: CatalogRow) -> Iterator[str]:
    b = t.branches.c
    is_branch = known.is_there(t.branches, b.repository_id == row.repository_id, b.name == row.branch)
    if row.repository_id not in known.repositories:
        yield f"its repository {row.repository_id!r} is not there"
    elif not is_branch and not row.values.get("creates_branch", False):
        yield f"its branch {row.branch!r} is not there"
    if row.version < 0 or row.started_at <= 0:
        yield f"version is {row.version}, started_at {row.started_at}"


def _texts(row: CatalogRow) -> Iterator[str]:
    if not is_id(row.id, "w"):
        yield f"{row.id!r} is no id of an open commit"
    if not isinstance(row.provenance, list) or not all(map(_is_origin, row.provenance)):
        yield f"provenance is {row.provenance!r}"
    if row.working_branch not in (None, row.branch):
        yield f"it is the working set of {row.working_branch!r}, on {row.branch!r}"
    yield from refused(lambda: check_ref_name(row.branch, "branch"))


def _is_origin(said: Any) -> bool:
    """Whether this is a hash, or a commit or outside source with its role and repository."""
    match said:
        case str():
            return is_hash(said)
        case [commit, None | str(), None | str(), None | str() as source]:
            return is_hash(commit) if isinstance(commit, str) else commit is None and bool(source)
    return False


def _open_entry(known: LookUps, opened: CatalogRow, row: CatalogRow, linked: set[str]) -> Iterator[Damage]:
    document = row.document
    if row.thing_id == _READS or (isinstance(document, dict) and _READS in document):
        found = _read_tables(row)
    else:
        found = _document(known, opened, row, linked)
    for what in found:
        yield row.damage(what, replace(_affects(known, opened), table=row.thing_id), _ABORT)


def _read_tables(row: CatalogRow) -> Iterator[str]:
    described = row.document.get(_READS) if isinstance(row.document, dict) else None
    if row.thing_id != _READS or not isinstance(described, dict) or not all(is_id(k, "t") for k in described):
        yield "the tables that it has read can't be read"


def _document(known: LookUps, opened: CatalogRow, row: CatalogRow, linked: set[str]) -> Iterator[str]:
    described: dict[str, Any] = row.document
    wrong = [name for name, kind in _DOCUMENT.items() if not isinstance(described.get(name, ...), kind)]
    if wrong:
        yield f"it does not say {', '.join(wrong)} as it should"
        return
    if described["id"] != row.thing_id or described["kind"] not in get_args(ThingKind):
        yield f"it is of {described['kind']!r} {described['id']!r}"
    if not set(described["operations"]) <= set(get_args(Operation)):
        yield f"operations are {described['operations']!r}"
    for id_, schema in described["schemas"].items():
        read_schema(id_, schema)
    schema_id = described["schema"]
    brought = {*described["schemas"], files_schema(opened.repository_id).id}  # The first files bring the tree's schema.
    if schema_id and schema_id not in brought and not known.knows_schema(schema_id):
        yield f"its schema {schema_id!r} is not there"
    objects = {o for s in described["statements"] for o in s["objects"]}
    missing = [o for o in sorted(objects - linked) if not known.is_there(t.objects, t.objects.c.id == o)]
    if missing:
        yield f"its object {missing[0]!r} is not there"
    if not all(isinstance(n, int) and n >= 0 for s in described["statements"] for n in s["counts"]):
        yield "its statements do not count rows"


def check_open_merges(known: LookUps) -> None:
    """Check open merges, and what was resolved in them."""
    s = t.settled_rows.c
    settled = Companions(known.reader.rows(t.settled_rows, s.open_id, s.thing_id), "open_id")
    for row in known.reader.rows(t.open_merges, t.open_merges.c.id):
        own, lost = settled.of((row.id,))
        _report_lost(known, lost)
        known.reader.check(row, _open_merge(known, row))
        for rows in own:
            known.reader.check(rows, _settled(known, row, rows))
    _report_lost(known, settled.rest())


def _open_merge(known: LookUps, row: CatalogRow) -> Iterator[Damage]:
    for what in (*_place(known, row), *_merge_texts(known, row)):
        yield row.damage(what, _affects(known, row), _ABORT)


def _merge_texts(known: LookUps, row: CatalogRow) -> Iterator[str]:
    c = t.commits.c
    mode, _, fast = row.mode.partition(" ")
    if not is_id(row.id, "g") or mode not in _MODES or fast not in _FAST:
        yield f"{row.id!r} is no merge, or not of mode {row.mode!r}"
    yield from refused(lambda: check_strictness(row.strictness))
    for name in ("rules", "decisions"):
        described = row.values[name]
        if not isinstance(described, dict) or not all(isinstance(v, str) for v in described.values()):
            yield f"{name} are {described!r}"
    if not isinstance(row.sources, list) or not row.sources:
        yield f"sources are {row.sources!r}"
        return
    for source in row.sources:
        hash_ = source.partition(" ")[0]
        if not known.is_there(t.commits, c.repository_id == row.repository_id, c.hash == hash_):
            yield f"its source {source!r} is not there"


def _settled(known: LookUps, opened: CatalogRow, row: CatalogRow) -> Iterator[Damage]:
    if not known.is_there(t.entries, t.entries.c.thing_id == row.thing_id):
        yield row.damage(f"its table {row.thing_id!r} is not there", _affects(known, opened), _ABORT)
