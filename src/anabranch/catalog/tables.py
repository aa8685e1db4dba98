"""The catalogue's tables of histories and objects, as docs/format.md describes them. Times are microseconds since 1970.

Every name begins with `ana_`, so that a store can share a database with other tables. What lies beyond a store's
history is in `remote_tables`, jobs and pipelines in `work_tables`.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    UniqueConstraint,
)
from sqlalchemy.schema import SchemaItem
from sqlalchemy.types import TypeEngine

_Type = TypeEngine[Any] | type[TypeEngine[Any]]

metadata = MetaData()

Text = String().with_variant(String(collation="C"), "postgresql")
"""Ids, names and hashes compare byte by byte, whatever the database's locale."""
_Serial = BigInteger().with_variant(Integer, "sqlite")


def table(name: str, *items: SchemaItem, **options: Any) -> Table:
    return Table(name, metadata, *items, **options)


def key(**types: _Type) -> list[Column[Any]]:
    """The columns of a primary key, by their names."""
    return [Column(name, kind, primary_key=True) for name, kind in types.items()]


def required(**types: _Type) -> list[Column[Any]]:
    """Columns that are never null, by their names."""
    return [Column(name, kind, nullable=False) for name, kind in types.items()]


def optional(**types: _Type) -> list[Column[Any]]:
    """Columns that may be null, by their names."""
    return [Column(name, kind) for name, kind in types.items()]


store = table("ana_store", *key(key=Text), *required(value=Text))

repositories = table(
    "ana_repositories",
    *key(id=Text),
    Column("name", Text, nullable=False, unique=True),
    *required(default_branch=Text, created_at=BigInteger),
)

lines = table(
    "ana_lines",
    *key(id=Text),
    *required(repository_id=Text, name=Text, branch_id=Text, store_id=Text),
    *optional(parent_line=Text, parent_index=BigInteger, parent_generation=BigInteger),
    *required(start=BigInteger, tip=BigInteger, depth=Integer),
    UniqueConstraint("repository_id", "name"),
)

commits = table(
    "ana_commits",
    *key(line_id=Text, commit_index=BigInteger),
    *required(repository_id=Text, id=Text, hash=Text, generation=BigInteger, author=Text, message=Text),
    *required(started_at=BigInteger, finished_at=BigInteger, is_merge=Boolean, recipe=Integer),
    *optional(schemas=JSON),
    UniqueConstraint("repository_id", "id"),
    Index("ana_commits_by_hash", "repository_id", "hash", unique=True),
    Index("ana_commits_by_hash_alone", "hash"),
    sqlite_with_rowid=False,
)

merge_edges = table(
    "ana_merge_edges",
    *key(line_id=Text, commit_index=BigInteger, number=Integer),
    *required(generation=BigInteger, parent_line=Text, parent_index=BigInteger, parent_generation=BigInteger),
    sqlite_with_rowid=False,
)

provenance = table(
    "ana_provenance",
    *key(line_id=Text, commit_index=BigInteger, number=Integer),
    *optional(commit_hash=Text, repository_id=Text, role=Text, source=Text),
    Index("ana_provenance_by_commit", "commit_hash"),
)

facts = table(
    "ana_facts",
    *key(line_id=Text, commit_index=BigInteger, key=Text),
    *required(value=JSON),
    Index("ana_facts_by_key", "key", "line_id", "commit_index"),
)

branches = table(
    "ana_branches",
    *key(repository_id=Text, name=Text),
    Column("id", Text, nullable=False, unique=True),
    *required(line_id=Text, commit_index=BigInteger, created_at=BigInteger),
    *optional(author=Text, upstream=Text),
    Index("ana_branches_by_commit", "line_id", "commit_index"),
)

branch_moves = table(
    "ana_branch_moves",
    Column("id", _Serial, primary_key=True, autoincrement=True),
    *required(repository_id=Text, branch_id=Text, branch=Text),
    *optional(from_line=Text, from_index=BigInteger, to_line=Text, to_index=BigInteger),
    *required(moved_at=BigInteger, author=Text, verb=Text),
    *optional(commit_id=Text),
    Index("ana_branch_moves_by_branch", "branch_id", "id"),
    Index("ana_branch_moves_by_time", "branch_id", "moved_at", "id"),
    Index("ana_branch_moves_by_name", "repository_id", "branch", "id"),
    Index("ana_branch_moves_by_commit", "commit_id"),
)

tags = table(
    "ana_tags",
    *key(repository_id=Text, name=Text),
    *required(line_id=Text, commit_index=BigInteger, created_at=BigInteger, author=Text),
    *optional(message=Text),
    Index("ana_tags_by_commit", "line_id", "commit_index"),
)

entries = table(
    "ana_entries",
    *key(thing_id=Text, line_id=Text, commit_index=BigInteger),
    *required(kind=Text, dropped=Boolean, replaced=Boolean, carried=Boolean),
    *optional(schema_id=Text, row_count=BigInteger),
    *required(operations=JSON, attributes=JSON),
    Index("ana_entries_by_commit", "line_id", "commit_index"),
    sqlite_with_rowid=False,
)

names = table(
    "ana_names",
    *key(repository_id=Text, parent_id=Text, name=Text, line_id=Text, commit_index=BigInteger),
    *required(carried=Boolean, kind=Text),
    *optional(thing_id=Text),
    Index("ana_names_by_commit", "line_id", "commit_index"),
    Index("ana_names_by_parent", "repository_id", "parent_id", "line_id", "commit_index"),
    Index("ana_names_by_thing", "thing_id", "line_id", "commit_index"),
    sqlite_with_rowid=False,
)

changes = table(
    "ana_changes",
    *key(thing_id=Text, line_id=Text, commit_index=BigInteger, number=Integer),
    Column("step", Integer, nullable=False, server_default="0"),
    *required(object_id=Text),
    Index("ana_changes_by_object", "object_id"),
    sqlite_with_rowid=False,
)

change_references = table(
    "ana_change_references",
    *key(thing_id=Text, line_id=Text, commit_index=BigInteger, parent_number=Integer),
    *required(base_line=Text, base_index=BigInteger),
    *optional(exceptions_id=Text),
)

views = table(
    "ana_views",
    *key(id=Text),
    *required(thing_id=Text, line_id=Text, commit_index=BigInteger, kind=Text),
    *optional(since_line=Text, since_index=BigInteger),
    *required(row_count=BigInteger, created_at=BigInteger),
    Index("ana_views_by_commit", "thing_id", "line_id", "commit_index"),
)

view_objects = table(
    "ana_view_objects",
    *key(view_id=Text, number=Integer),
    Column("turn", Integer, nullable=False, server_default="0"),
    *required(object_id=Text),
    Index("ana_view_objects_by_object", "object_id"),
)

objects = table(
    "ana_objects",
    *key(id=Text),
    *required(kind=Text, sha256=Text, size_bytes=BigInteger, row_count=BigInteger),
    *optional(schema_id=Text, key_low=JSON, key_high=JSON),
    *required(touched=JSON, place=Text),
    *optional(path=Text, members=JSON),
    *required(created_at=BigInteger),
    Index("ana_objects_by_path", "path"),
    Index("ana_objects_by_schema", "schema_id"),
)

manifest_members = table(
    "ana_manifest_members",
    *key(manifest_id=Text, object_id=Text),
    Index("ana_manifest_members_by_object", "object_id"),
    sqlite_with_rowid=False,
)

object_links = table(
    "ana_object_links",
    *key(object_id=Text, pack_id=Text),
    Index("ana_object_links_by_pack", "pack_id"),
    sqlite_with_rowid=False,
)

blocks = table(
    "ana_blocks",
    *key(repository_id=Text, sha256=LargeBinary),
    *required(object_id=Text, start=BigInteger, size=BigInteger),
    Index("ana_blocks_by_object", "object_id"),
    sqlite_with_rowid=False,
)

inline_objects = table("ana_inline_objects", *key(object_id=Text), *required(content=LargeBinary))

schemas = table("ana_schemas", *key(id=Text), *required(document=JSON))

schema_columns = table(
    "ana_schema_columns",
    *key(column_id=Text, schema_id=Text),
    Index("ana_schema_columns_by_schema", "schema_id"),
    sqlite_with_rowid=False,
)

open_commits = table(
    "ana_open_commits",
    *key(id=Text),
    *required(repository_id=Text, branch=Text, parent_line=Text, parent_index=BigInteger, message=Text),
    *required(author=Text, started_at=BigInteger, provenance=JSON),
    *optional(facts=JSON),
    *required(strict=Boolean, creates_branch=Boolean, version=BigInteger),
    *optional(working_branch=Text),
    UniqueConstraint("repository_id", "working_branch"),
)

open_merges = table(
    "ana_open_merges",
    *key(id=Text),
    *required(repository_id=Text, branch=Text, sources=JSON),
    *optional(message=Text),
    *required(author=Text, started_at=BigInteger, rules=JSON, strictness=Text, mode=Text, decisions=JSON),
    *required(version=BigInteger),
    *optional(conflicts_of=Text, conflicts_id=Text),
    Index("ana_open_merges_by_branch", "repository_id", "branch"),
)

settled_rows = table("ana_settled_rows", *key(open_id=Text, thing_id=Text), *required(content=LargeBinary))

open_entries = table("ana_open_entries", *key(open_id=Text, thing_id=Text), *required(document=JSON))

open_objects = table(
    "ana_open_objects", *key(open_id=Text, object_id=Text), Index("ana_open_objects_by_object", "object_id")
)
