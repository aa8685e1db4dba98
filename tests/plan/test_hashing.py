"""A commit's hash covers what it says and whence it came, never coordinates, views or places."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from anabranch.model.clock import Position
from anabranch.model.commits import BranchHead, CommitHead, Origin
from anabranch.model.content import Change, ChangeReference, Content, NameBinding, Publication, View
from anabranch.model.ids import BranchId, ColumnId, CommitId, LineId, ObjectId, RepositoryId, SchemaId, ThingId, ViewId
from anabranch.model.objects import KeyRange, NewObject, StoredObject
from anabranch.model.schema import Column, Schema
from anabranch.model.tables import Entry
from anabranch.model.types import DataType
from anabranch.plan.hashing import commit_document, commit_hash

SCHEMA = Schema(
    SchemaId("s1"),
    (Column(ColumnId("c1"), "id", DataType("bigint"), False), Column(ColumnId("c2"), "v", DataType("int"))),
    (ColumnId("c1"),),
)
RANGE = KeyRange((1, Decimal("1.50"), b"\x00"), (7, Decimal("2.50"), b"\xff"))
STORED = StoredObject(ObjectId("o1"), "rows", "aa11", 10, 1, SCHEMA.id, RANGE, (), "inline", None)
UPDATE = StoredObject(ObjectId("o2"), "update", "bb22", 11, 2, SCHEMA.id, None, (ColumnId("c2"),), "inline", None)
MET = StoredObject(ObjectId("o3"), "exceptions", "cc33", 12, 3, SCHEMA.id, None, (ColumnId("c2"),), "inline", None)
BASE = Position(LineId("l1"), 0)
ENTRY = Entry(ThingId("t1"), "table", SCHEMA.id, 1, ("create",), {"properties": {"a": "b"}})
CONTENT = Content(
    entries=(ENTRY, Entry(ThingId("t2"), "table", SCHEMA.id, 0, ("drop",), {}, True)),
    names=(NameBinding(ThingId(""), "t", "table", ThingId("t1")), NameBinding(ThingId(""), "u", "table", None)),
    changes=(Change(ThingId("t1"), (ObjectId("o1"), ObjectId("o2"))),),
    references=(
        ChangeReference(ThingId("t1"), 1, BASE, ObjectId("o3")),
        ChangeReference(ThingId("t2"), 1, None, None),
    ),
    views=(View(ViewId("v1"), ThingId("t1"), "snapshot", (ObjectId("o1"),), 1),),
    schemas=(SCHEMA,),
    objects=(NewObject(STORED, b"x"),),
    described={o.id: o for o in (STORED, UPDATE, MET)},
)
PARENTS = (
    CommitHead(Position(LineId("l1"), 4), CommitId("k0"), "f00", 4, 100),
    CommitHead(Position(LineId("l2"), 1), CommitId("k1"), "ba4", 2, 90),
)
PUBLICATION = Publication(
    RepositoryId("r1"),
    BranchHead("main", BranchId("b1"), PARENTS[0].position),
    PARENTS,
    CommitId("k2"),
    "ann",
    "load",
    200,
    (Origin("0ff"), Origin("0fe", "docs"), Origin(None, source="s3://a/b@1")),
    "commit",
    CONTENT,
    facts={"job": {"name": "tokenize", "shards": [1, 2]}},
)
BASES = {BASE: "ba5e"}


def hash_of(publication: Publication, finished_at: int = 300, bases: dict[Position, str] = BASES) -> str:
    return commit_hash(publication, finished_at, bases)


HASH = hash_of(PUBLICATION)


def with_content(**changes: Any) -> Publication:
    return replace(PUBLICATION, content=replace(CONTENT, **changes))


def with_column(**changes: Any) -> Schema:
    return replace(SCHEMA, columns=(SCHEMA.columns[0], replace(SCHEMA.columns[1], **changes)))


def with_object(o: StoredObject, **changes: Any) -> Publication:
    return with_content(described={**CONTENT.described, o.id: replace(o, **changes)})


# The recipes are part of the format: if these change, the hashes of older commits can't be checked any more.


def test_the_hash_is_a_sha256_that_stays_the_same() -> None:
    assert hash_of(PUBLICATION) == HASH
    assert HASH == "de33e99c56196afc677de6b2016ba6150415bfcb01a0765c0d06207e9c1d4995"


def test_the_hash_by_the_first_recipe_stays_the_same() -> None:
    first = replace(with_content(references=CONTENT.references[:1]), provenance=Origin.of(["0ff"]), facts={})
    assert commit_hash(first, 300, recipe=1) == "bb37ef898e94e8c2277da99d67db76bacd73c84f5343e6c6bb3a25282e268236"


CHANGES_THE_HASH: dict[str, Publication] = {
    "id": replace(PUBLICATION, id=CommitId("k9")),
    "author": replace(PUBLICATION, author="bob"),
    "message": replace(PUBLICATION, message="load "),
    "started": replace(PUBLICATION, started_at=201),
    "no provenance": replace(PUBLICATION, provenance=()),
    "more provenance": replace(PUBLICATION, provenance=(*PUBLICATION.provenance, Origin("0fd"))),
    "order of provenance": replace(PUBLICATION, provenance=PUBLICATION.provenance[::-1]),
    "role of provenance": replace(PUBLICATION, provenance=(Origin("0ff", "x"), *PUBLICATION.provenance[1:])),
    "source of provenance": replace(
        PUBLICATION, provenance=(*PUBLICATION.provenance[:2], Origin(None, source="s3://"))
    ),
    "no facts": replace(PUBLICATION, facts={}),
    "a fact": replace(PUBLICATION, facts={"job": {"name": "tokenize", "shards": [2, 1]}}),
    "fewer parents": replace(PUBLICATION, parents=PARENTS[:1]),
    "order of parents": replace(PUBLICATION, parents=PARENTS[::-1]),
    "another parent": replace(PUBLICATION, parents=(replace(PARENTS[0], hash="f01"), PARENTS[1])),
    "no entries": with_content(entries=()),
    "rows": with_content(entries=(replace(ENTRY, row_count=2), CONTENT.entries[1])),
    "operations": with_content(entries=(replace(ENTRY, operations=("create", "update")), CONTENT.entries[1])),
    "attributes": with_content(entries=(replace(ENTRY, attributes={"properties": {"a": "c"}}), CONTENT.entries[1])),
    "dropped": with_content(entries=(replace(ENTRY, dropped=True), CONTENT.entries[1])),
    "replaced": with_content(entries=(replace(ENTRY, replaced=True), CONTENT.entries[1])),
    "schema of an entry": with_content(entries=(replace(ENTRY, schema_id=SchemaId("s2")), CONTENT.entries[1])),
    "a name": with_content(names=(replace(CONTENT.names[0], name="x"), CONTENT.names[1])),
    "a name's thing": with_content(names=(replace(CONTENT.names[0], thing_id=ThingId("t2")), CONTENT.names[1])),
    "a name freed": with_content(names=(replace(CONTENT.names[0], thing_id=None), CONTENT.names[1])),
    "a name's namespace": with_content(names=(replace(CONTENT.names[0], parent_id=ThingId("n")), CONTENT.names[1])),
    "bytes of an object": with_object(STORED, sha256="aa12"),
    "kind of an object": with_object(STORED, kind="delete"),
    "schema of an object": with_object(STORED, schema_id=SchemaId("s2")),
    "rows of an object": with_object(STORED, row_count=2),
    "least key of an object": with_object(STORED, key_range=KeyRange((2, *RANGE.low[1:]), RANGE.high)),
    "greatest key of an object": with_object(STORED, key_range=KeyRange(RANGE.low, (8, *RANGE.high[1:]))),
    "no keys of an object": with_object(STORED, key_range=None),
    "columns that an object touches": with_object(UPDATE, touched=()),
    "steps": with_content(changes=(replace(CONTENT.changes[0], steps=(0, 1)),)),
    "bytes of exceptions": with_object(MET, sha256="cc34"),
    "rows of exceptions": with_object(MET, row_count=4),
    "no exceptions": with_content(references=(replace(CONTENT.references[0], exceptions=None), CONTENT.references[1])),
    "no base": with_content(references=(replace(CONTENT.references[0], base=None), CONTENT.references[1])),
    "order of objects": with_content(changes=(Change(ThingId("t1"), (ObjectId("o2"), ObjectId("o1"))),)),
    "no changes": with_content(changes=()),
    "changes of another table": with_content(changes=(replace(CONTENT.changes[0], thing_id=ThingId("t2")),)),
    "a column's name": with_content(schemas=(with_column(name="w"),)),
    "a column's type": with_content(schemas=(with_column(type=DataType("bigint")),)),
    "a column's default": with_content(schemas=(with_column(default="1"),)),
    "a column's nullability": with_content(schemas=(with_column(nullable=False),)),
    "key": with_content(schemas=(replace(SCHEMA, key=(ColumnId("c2"),)),)),
    "no references": with_content(references=()),
}


@pytest.mark.parametrize("what", CHANGES_THE_HASH)
def test_the_hash_depends_on_what_the_commit_says_and_whence_it_came(what: str) -> None:
    assert hash_of(CHANGES_THE_HASH[what]) != HASH


def test_the_hash_depends_on_when_it_was_finished_and_on_what_a_reference_starts_from() -> None:
    assert hash_of(PUBLICATION, 301) != HASH
    assert hash_of(PUBLICATION, bases={BASE: "ba55"}) != HASH


def test_no_two_of_these_commits_have_the_same_hash() -> None:
    assert len({hash_of(p) for p in CHANGES_THE_HASH.values()}) == len(CHANGES_THE_HASH)


MOVED = Position(LineId("elsewhere"), 99)
KEEPS_THE_HASH: dict[str, Publication] = {
    "coordinates of parents": replace(
        PUBLICATION, parents=tuple(replace(p, position=MOVED, generation=77, finished_at=1) for p in PARENTS)
    ),
    "ids of parents": replace(PUBLICATION, parents=tuple(replace(p, id=CommitId("kx")) for p in PARENTS)),
    "branch": replace(PUBLICATION, branch=BranchHead("dev", BranchId("b2"), MOVED)),
    "repository": replace(PUBLICATION, repository=RepositoryId("r2")),
    "verb": replace(PUBLICATION, verb="finish"),
    "a branch that is made": replace(PUBLICATION, creates_branch=True),
    "an open commit that it finishes": replace(PUBLICATION, open_commit="w1"),
    "views": with_content(views=()),
    "places of objects": with_content(
        objects=(NewObject(replace(STORED, place="root", path="ab/o1.parquet", size_bytes=99), None),)
    ),
    "objects that are linked": with_content(objects=(), linked=(ObjectId("o1"),)),
    "ids of objects": with_content(
        changes=(Change(ThingId("t1"), (ObjectId("x1"), ObjectId("x2"))),),
        described={ObjectId("x1"): STORED, ObjectId("x2"): UPDATE, MET.id: MET},
    ),
    "where the base of a reference stands": with_content(
        references=(replace(CONTENT.references[0], base=MOVED), CONTENT.references[1])
    ),
    "where an object lies": with_object(STORED, place="root", path="ab/oab.parquet"),
    "order of facts": replace(PUBLICATION, facts=dict(PUBLICATION.facts)),
    "order of entries": with_content(entries=CONTENT.entries[::-1]),
    "order of names": with_content(names=CONTENT.names[::-1]),
}


@pytest.mark.parametrize("what", KEEPS_THE_HASH)
def test_the_hash_does_not_depend_on_coordinates_views_or_places(what: str) -> None:
    assert hash_of(KEEPS_THE_HASH[what], bases={**BASES, MOVED: "ba5e"}) == HASH


@pytest.mark.parametrize("message", ["été 日本語 🚀", 'quotes " and \\ and \n', "", "\u2028", "a\ud800"])
def test_any_message_can_be_hashed(message: str) -> None:
    assert hash_of(replace(PUBLICATION, message=message)) != HASH


def test_the_document_names_no_line() -> None:
    assert "l1" not in str(commit_document(PUBLICATION, 300, BASES))
