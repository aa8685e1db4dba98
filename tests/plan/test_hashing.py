"""A commit's hash covers what it says and whence it came, never coordinates, views or places."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from anabranch.model.clock import Position
from anabranch.model.commits import BranchHead, CommitHead
from anabranch.model.content import Change, ChangeReference, Content, NameBinding, Publication, View
from anabranch.model.ids import BranchId, ColumnId, CommitId, LineId, ObjectId, RepositoryId, SchemaId, ThingId, ViewId
from anabranch.model.objects import NewObject, StoredObject
from anabranch.model.schema import Column, Schema
from anabranch.model.tables import Entry
from anabranch.model.types import DataType
from anabranch.plan.hashing import commit_document, commit_hash

SCHEMA = Schema(
    SchemaId("s1"),
    (Column(ColumnId("c1"), "id", DataType("bigint"), False), Column(ColumnId("c2"), "v", DataType("int"))),
    (ColumnId("c1"),),
)
STORED = StoredObject(ObjectId("o1"), "rows", "aa11", 10, 1, SCHEMA.id, None, (), "inline", None)
ENTRY = Entry(ThingId("t1"), "table", SCHEMA.id, 1, ("create",), {"properties": {"a": "b"}})
CONTENT = Content(
    entries=(ENTRY, Entry(ThingId("t2"), "table", SCHEMA.id, 0, ("drop",), {}, True)),
    names=(NameBinding(ThingId(""), "t", "table", ThingId("t1")), NameBinding(ThingId(""), "u", "table", None)),
    changes=(Change(ThingId("t1"), (ObjectId("o1"), ObjectId("o2"))),),
    references=(ChangeReference(ThingId("t1"), 1, Position(LineId("l1"), 0), None),),
    views=(View(ViewId("v1"), ThingId("t1"), "snapshot", (ObjectId("o1"),), 1),),
    schemas=(SCHEMA,),
    objects=(NewObject(STORED, b"x"),),
    sha256={ObjectId("o1"): "aa11", ObjectId("o2"): "bb22"},
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
    ("0ff",),
    "commit",
    CONTENT,
)
HASH = commit_hash(PUBLICATION, 300)


def with_content(**changes: Any) -> Publication:
    return replace(PUBLICATION, content=replace(CONTENT, **changes))


def with_column(**changes: Any) -> Schema:
    return replace(SCHEMA, columns=(SCHEMA.columns[0], replace(SCHEMA.columns[1], **changes)))


def test_the_hash_is_a_sha256_that_stays_the_same() -> None:
    assert len(HASH) == 64
    assert commit_hash(PUBLICATION, 300) == HASH
    # The recipe is part of the format: if this changes, the hashes of older commits can't be checked any more.
    assert HASH == "bb37ef898e94e8c2277da99d67db76bacd73c84f5343e6c6bb3a25282e268236"


CHANGES_THE_HASH: dict[str, Publication] = {
    "id": replace(PUBLICATION, id=CommitId("k9")),
    "author": replace(PUBLICATION, author="bob"),
    "message": replace(PUBLICATION, message="load "),
    "started": replace(PUBLICATION, started_at=201),
    "no provenance": replace(PUBLICATION, provenance=()),
    "more provenance": replace(PUBLICATION, provenance=("0ff", "0fe")),
    "order of provenance": replace(PUBLICATION, provenance=("0fe", "0ff")),
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
    "bytes of an object": with_content(sha256={**CONTENT.sha256, ObjectId("o1"): "aa12"}),
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
    assert commit_hash(CHANGES_THE_HASH[what], 300) != HASH


def test_the_hash_depends_on_when_it_was_finished() -> None:
    assert commit_hash(PUBLICATION, 301) != HASH


def test_no_two_of_these_commits_have_the_same_hash() -> None:
    assert len({commit_hash(p, 300) for p in CHANGES_THE_HASH.values()}) == len(CHANGES_THE_HASH)


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
        sha256={ObjectId("x1"): "aa11", ObjectId("x2"): "bb22"},
    ),
    "the base of a reference": with_content(references=(replace(CONTENT.references[0], base=MOVED),)),
    "order of entries": with_content(entries=CONTENT.entries[::-1]),
    "order of names": with_content(names=CONTENT.names[::-1]),
}


@pytest.mark.parametrize("what", KEEPS_THE_HASH)
def test_the_hash_does_not_depend_on_coordinates_views_or_places(what: str) -> None:
    assert commit_hash(KEEPS_THE_HASH[what], 300) == HASH


@pytest.mark.parametrize("message", ["été 日本語 🚀", 'quotes " and \\ and \n', "", "\u2028", "a\ud800"])
def test_any_message_can_be_hashed(message: str) -> None:
    assert commit_hash(replace(PUBLICATION, message=message), 300) != HASH


def test_the_document_names_no_line() -> None:
    assert "l1" not in str(commit_document(PUBLICATION, 300))
