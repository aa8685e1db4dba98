"""The catalogue's tables of histories and objects, as docs/format.md describes them. Times are microseconds since 1970.

Every name begins with `ana_`, so that a store can share a database with other tables. What lies beyond a store's
history is in `remote_tables`, jobs and pipelines in `work_tables`, tables in users' databases in `live_tables`.
"""

from __future__ import annotations

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

metadata = MetaData()

Text = String().with_variant(String(collation="C"), "postgresql")
"""Ids, names and hashes compare byte by byte, whatever the database's locale."""
_Serial = BigInteger().with_variant(Integer, "sqlite")

store = Table("ana_store", metadata, Column("key", Text, primary_key=True), Column("value", Text, nullable=False))

repositories = Table(
    "ana_repositories",
    metadata,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("default_branch", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
)

lines = Table(
    "ana_lines",
    metadata,
    Column("id", Text, primary_key=True),
    Column("repository_id", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("branch_id", Text, nullable=False),
    Column("store_id", Text, nullable=False),
    Column("parent_line", Text),
    Column("parent_index", BigInteger),
    Column("parent_generation", BigInteger),
    Column("start", BigInteger, nullable=False),
    Column("tip", BigInteger, nullable=False),
    Column("depth", Integer, nullable=False),
    UniqueConstraint("repository_id", "name"),
)

commits = Table(
    "ana_commits",
    metadata,
    Column("line_id", Text, primary_key=True),
    Column("commit_index", BigInteger, primary_key=True),
    Column("repository_id", Text, nullable=False),
    Column("id", Text, nullable=False),
    Column("hash", Text, nullable=False),
    Column("generation", BigInteger, nullable=False),
    Column("author", Text, nullable=False),
    Column("message", Text, nullable=False),
    Column("started_at", BigInteger, nullable=False),
    Column("finished_at", BigInteger, nullable=False),
    Column("is_merge", Boolean, nullable=False),
    Column("recipe", Integer, nullable=False),
    Column("schemas", JSON),
    UniqueConstraint("repository_id", "id"),
    Index("ana_commits_by_hash", "repository_id", "hash", unique=True),
    Index("ana_commits_by_hash_alone", "hash"),
    sqlite_with_rowid=False,
)

merge_edges = Table(
    "ana_merge_edges",
    metadata,
    Column("line_id", Text, primary_key=True),
    Column("commit_index", BigInteger, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("generation", BigInteger, nullable=False),
    Column("parent_line", Text, nullable=False),
    Column("parent_index", BigInteger, nullable=False),
    Column("parent_generation", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

provenance = Table(
    "ana_provenance",
    metadata,
    Column("line_id", Text, primary_key=True),
    Column("commit_index", BigInteger, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("commit_hash", Text),
    Column("repository_id", Text),
    Column("role", Text),
    Column("source", Text),
    Index("ana_provenance_by_commit", "commit_hash"),
)

facts = Table(
    "ana_facts",
    metadata,
    Column("line_id", Text, primary_key=True),
    Column("commit_index", BigInteger, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("value", JSON, nullable=False),
    Index("ana_facts_by_key", "key", "line_id", "commit_index"),
)

branches = Table(
    "ana_branches",
    metadata,
    Column("repository_id", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("id", Text, nullable=False, unique=True),
    Column("line_id", Text, nullable=False),
    Column("commit_index", BigInteger, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("author", Text),
    Column("upstream", Text),
    Index("ana_branches_by_commit", "line_id", "commit_index"),
)

branch_moves = Table(
    "ana_branch_moves",
    metadata,
    Column("id", _Serial, primary_key=True, autoincrement=True),
    Column("repository_id", Text, nullable=False),
    Column("branch_id", Text, nullable=False),
    Column("branch", Text, nullable=False),
    Column("from_line", Text),
    Column("from_index", BigInteger),
    Column("to_line", Text),
    Column("to_index", BigInteger),
    Column("moved_at", BigInteger, nullable=False),
    Column("author", Text, nullable=False),
    Column("verb", Text, nullable=False),
    Column("commit_id", Text),
    Index("ana_branch_moves_by_branch", "branch_id", "id"),
    Index("ana_branch_moves_by_time", "branch_id", "moved_at", "id"),
    Index("ana_branch_moves_by_name", "repository_id", "branch", "id"),
    Index("ana_branch_moves_by_commit", "commit_id"),
)

tags = Table(
    "ana_tags",
    metadata,
    Column("repository_id", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("line_id", Text, nullable=False),
    Column("commit_index", BigInteger, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("author", Text, nullable=False),
    Column("message", Text),
    Index("ana_tags_by_commit", "line_id", "commit_index"),
)

entries = Table(
    "ana_entries",
    metadata,
    Column("thing_id", Text, primary_key=True),
    Column("line_id", Text, primary_key=True),
    Column("commit_index", BigInteger, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("dropped", Boolean, nullable=False),
    Column("replaced", Boolean, nullable=False),
    Column("carried", Boolean, nullable=False),
    Column("schema_id", Text),
    Column("row_count", BigInteger),
    Column("operations", JSON, nullable=False),
    Column("attributes", JSON, nullable=False),
    Index("ana_entries_by_commit", "line_id", "commit_index"),
    sqlite_with_rowid=False,
)

names = Table(
    "ana_names",
    metadata,
    Column("repository_id", Text, primary_key=True),
    Column("parent_id", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("line_id", Text, primary_key=True),
    Column("commit_index", BigInteger, primary_key=True),
    Column("carried", Boolean, nullable=False),
    Column("kind", Text, nullable=False),
    Column("thing_id", Text),
    Index("ana_names_by_commit", "line_id", "commit_index"),
    Index("ana_names_by_parent", "repository_id", "parent_id", "line_id", "commit_index"),
    Index("ana_names_by_thing", "thing_id", "line_id", "commit_index"),
    sqlite_with_rowid=False,
)

changes = Table(
    "ana_changes",
    metadata,
    Column("thing_id", Text, primary_key=True),
    Column("line_id", Text, primary_key=True),
    Column("commit_index", BigInteger, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("step", Integer, nullable=False, server_default="0"),
    Column("object_id", Text, nullable=False),
    Index("ana_changes_by_object", "object_id"),
    sqlite_with_rowid=False,
)

change_references = Table(
    "ana_change_references",
    metadata,
    Column("thing_id", Text, primary_key=True),
    Column("line_id", Text, primary_key=True),
    Column("commit_index", BigInteger, primary_key=True),
    Column("parent_number", Integer, primary_key=True),
    Column("base_line", Text, nullable=False),
    Column("base_index", BigInteger, nullable=False),
    Column("exceptions_id", Text),
)

views = Table(
    "ana_views",
    metadata,
    Column("id", Text, primary_key=True),
    Column("thing_id", Text, nullable=False),
    Column("line_id", Text, nullable=False),
    Column("commit_index", BigInteger, nullable=False),
    Column("kind", Text, nullable=False),
    Column("since_line", Text),
    Column("since_index", BigInteger),
    Column("row_count", BigInteger, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Index("ana_views_by_commit", "thing_id", "line_id", "commit_index"),
)

view_objects = Table(
    "ana_view_objects",
    metadata,
    Column("view_id", Text, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("turn", Integer, nullable=False, server_default="0"),
    Column("object_id", Text, nullable=False),
    Index("ana_view_objects_by_object", "object_id"),
)

objects = Table(
    "ana_objects",
    metadata,
    Column("id", Text, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("sha256", Text, nullable=False),
    Column("size_bytes", BigInteger, nullable=False),
    Column("row_count", BigInteger, nullable=False),
    Column("schema_id", Text),
    Column("key_low", JSON),
    Column("key_high", JSON),
    Column("touched", JSON, nullable=False),
    Column("place", Text, nullable=False),
    Column("path", Text),
    Column("members", JSON),
    Column("created_at", BigInteger, nullable=False),
    Index("ana_objects_by_path", "path"),
    Index("ana_objects_by_schema", "schema_id"),
)

manifest_members = Table(
    "ana_manifest_members",
    metadata,
    Column("manifest_id", Text, primary_key=True),
    Column("object_id", Text, primary_key=True),
    Index("ana_manifest_members_by_object", "object_id"),
    sqlite_with_rowid=False,
)

object_links = Table(
    "ana_object_links",
    metadata,
    Column("object_id", Text, primary_key=True),
    Column("pack_id", Text, primary_key=True),
    Index("ana_object_links_by_pack", "pack_id"),
    sqlite_with_rowid=False,
)

blocks = Table(
    "ana_blocks",
    metadata,
    Column("repository_id", Text, primary_key=True),
    Column("sha256", LargeBinary, primary_key=True),
    Column("object_id", Text, nullable=False),
    Column("start", BigInteger, nullable=False),
    Column("size", BigInteger, nullable=False),
    Index("ana_blocks_by_object", "object_id"),
    sqlite_with_rowid=False,
)

inline_objects = Table(
    "ana_inline_objects",
    metadata,
    Column("object_id", Text, primary_key=True),
    Column("content", LargeBinary, nullable=False),
)

schemas = Table(
    "ana_schemas",
    metadata,
    Column("id", Text, primary_key=True),
    Column("document", JSON, nullable=False),
)

schema_columns = Table(
    "ana_schema_columns",
    metadata,
    Column("column_id", Text, primary_key=True),
    Column("schema_id", Text, primary_key=True),
    Index("ana_schema_columns_by_schema", "schema_id"),
    sqlite_with_rowid=False,
)

open_commits = Table(
    "ana_open_commits",
    metadata,
    Column("id", Text, primary_key=True),
    Column("repository_id", Text, nullable=False),
    Column("branch", Text, nullable=False),
    Column("parent_line", Text, nullable=False),
    Column("parent_index", BigInteger, nullable=False),
    Column("message", Text, nullable=False),
    Column("author", Text, nullable=False),
    Column("started_at", BigInteger, nullable=False),
    Column("provenance", JSON, nullable=False),
    Column("facts", JSON),
    Column("strict", Boolean, nullable=False),
    Column("creates_branch", Boolean, nullable=False),
    Column("version", BigInteger, nullable=False),
    Column("working_branch", Text),
    UniqueConstraint("repository_id", "working_branch"),
)

open_merges = Table(
    "ana_open_merges",
    metadata,
    Column("id", Text, primary_key=True),
    Column("repository_id", Text, nullable=False),
    Column("branch", Text, nullable=False),
    Column("sources", JSON, nullable=False),
    Column("message", Text),
    Column("author", Text, nullable=False),
    Column("started_at", BigInteger, nullable=False),
    Column("rules", JSON, nullable=False),
    Column("strictness", Text, nullable=False),
    Column("mode", Text, nullable=False),
    Column("decisions", JSON, nullable=False),
    Column("version", BigInteger, nullable=False),
    Column("conflicts_of", Text),
    Column("conflicts_id", Text),
    Index("ana_open_merges_by_branch", "repository_id", "branch"),
)

settled_rows = Table(
    "ana_settled_rows",
    metadata,
    Column("open_id", Text, primary_key=True),
    Column("thing_id", Text, primary_key=True),
    Column("content", LargeBinary, nullable=False),
)

open_entries = Table(
    "ana_open_entries",
    metadata,
    Column("open_id", Text, primary_key=True),
    Column("thing_id", Text, primary_key=True),
    Column("document", JSON, nullable=False),
)

open_objects = Table(
    "ana_open_objects",
    metadata,
    Column("open_id", Text, primary_key=True),
    Column("object_id", Text, primary_key=True),
    Index("ana_open_objects_by_object", "object_id"),
)
