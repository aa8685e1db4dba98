"""The catalogue's tables, as docs/format.md describes them. Times are microseconds since 1970, UTC."""

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

# Ids, names and hashes are compared byte by byte, whatever the database's locale.
_Text = String().with_variant(String(collation="C"), "postgresql")
_Serial = BigInteger().with_variant(Integer, "sqlite")

store = Table("store", metadata, Column("key", _Text, primary_key=True), Column("value", _Text, nullable=False))

repositories = Table(
    "repositories",
    metadata,
    Column("id", _Text, primary_key=True),
    Column("name", _Text, nullable=False, unique=True),
    Column("default_branch", _Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
)

lines = Table(
    "lines",
    metadata,
    Column("id", _Text, primary_key=True),
    Column("repository_id", _Text, nullable=False),
    Column("name", _Text, nullable=False),
    Column("branch_id", _Text, nullable=False),
    Column("store_id", _Text, nullable=False),
    Column("parent_line", _Text),
    Column("parent_index", BigInteger),
    Column("parent_generation", BigInteger),
    Column("tip", BigInteger, nullable=False),
    Column("depth", Integer, nullable=False),
    UniqueConstraint("repository_id", "name"),
)

commits = Table(
    "commits",
    metadata,
    Column("line_id", _Text, primary_key=True),
    Column("commit_index", BigInteger, primary_key=True),
    Column("repository_id", _Text, nullable=False),
    Column("id", _Text, nullable=False, unique=True),
    Column("hash", _Text, nullable=False),
    Column("generation", BigInteger, nullable=False),
    Column("author", _Text, nullable=False),
    Column("message", _Text, nullable=False),
    Column("started_at", BigInteger, nullable=False),
    Column("finished_at", BigInteger, nullable=False),
    Column("is_merge", Boolean, nullable=False),
    Index("commits_by_hash", "repository_id", "hash", unique=True),
    sqlite_with_rowid=False,
)

merge_edges = Table(
    "merge_edges",
    metadata,
    Column("line_id", _Text, primary_key=True),
    Column("commit_index", BigInteger, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("generation", BigInteger, nullable=False),
    Column("parent_line", _Text, nullable=False),
    Column("parent_index", BigInteger, nullable=False),
    Column("parent_generation", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

provenance = Table(
    "provenance",
    metadata,
    Column("line_id", _Text, primary_key=True),
    Column("commit_index", BigInteger, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("commit_hash", _Text, nullable=False),
    Index("provenance_by_commit", "commit_hash"),
)

branches = Table(
    "branches",
    metadata,
    Column("repository_id", _Text, primary_key=True),
    Column("name", _Text, primary_key=True),
    Column("id", _Text, nullable=False, unique=True),
    Column("line_id", _Text, nullable=False),
    Column("commit_index", BigInteger, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("author", _Text),
    Index("branches_by_commit", "line_id", "commit_index"),
)

branch_moves = Table(
    "branch_moves",
    metadata,
    Column("id", _Serial, primary_key=True, autoincrement=True),
    Column("repository_id", _Text, nullable=False),
    Column("branch_id", _Text, nullable=False),
    Column("branch", _Text, nullable=False),
    Column("from_line", _Text),
    Column("from_index", BigInteger),
    Column("to_line", _Text),
    Column("to_index", BigInteger),
    Column("moved_at", BigInteger, nullable=False),
    Column("author", _Text, nullable=False),
    Column("verb", _Text, nullable=False),
    Column("commit_id", _Text),
    Index("branch_moves_by_branch", "branch_id", "id"),
    Index("branch_moves_by_time", "branch_id", "moved_at", "id"),
    Index("branch_moves_by_name", "repository_id", "branch", "id"),
    Index("branch_moves_by_commit", "commit_id"),
)

tags = Table(
    "tags",
    metadata,
    Column("repository_id", _Text, primary_key=True),
    Column("name", _Text, primary_key=True),
    Column("line_id", _Text, nullable=False),
    Column("commit_index", BigInteger, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("author", _Text, nullable=False),
    Index("tags_by_commit", "line_id", "commit_index"),
)

entries = Table(
    "entries",
    metadata,
    Column("thing_id", _Text, primary_key=True),
    Column("line_id", _Text, primary_key=True),
    Column("commit_index", BigInteger, primary_key=True),
    Column("kind", _Text, nullable=False),
    Column("dropped", Boolean, nullable=False),
    Column("replaced", Boolean, nullable=False),
    Column("carried", Boolean, nullable=False),
    Column("schema_id", _Text),
    Column("row_count", BigInteger),
    Column("operations", JSON, nullable=False),
    Column("attributes", JSON, nullable=False),
    Index("entries_by_commit", "line_id", "commit_index"),
    sqlite_with_rowid=False,
)

names = Table(
    "names",
    metadata,
    Column("repository_id", _Text, primary_key=True),
    Column("parent_id", _Text, primary_key=True),
    Column("name", _Text, primary_key=True),
    Column("line_id", _Text, primary_key=True),
    Column("commit_index", BigInteger, primary_key=True),
    Column("carried", Boolean, nullable=False),
    Column("kind", _Text, nullable=False),
    Column("thing_id", _Text),
    Index("names_by_commit", "line_id", "commit_index"),
    Index("names_by_parent", "repository_id", "parent_id", "line_id", "commit_index"),
    Index("names_by_thing", "thing_id", "line_id", "commit_index"),
    sqlite_with_rowid=False,
)

changes = Table(
    "changes",
    metadata,
    Column("thing_id", _Text, primary_key=True),
    Column("line_id", _Text, primary_key=True),
    Column("commit_index", BigInteger, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("step", Integer, nullable=False, server_default="0"),
    Column("object_id", _Text, nullable=False),
    Index("changes_by_object", "object_id"),
    sqlite_with_rowid=False,
)

change_references = Table(
    "change_references",
    metadata,
    Column("thing_id", _Text, primary_key=True),
    Column("line_id", _Text, primary_key=True),
    Column("commit_index", BigInteger, primary_key=True),
    Column("parent_number", Integer, primary_key=True),
    Column("base_line", _Text, nullable=False),
    Column("base_index", BigInteger, nullable=False),
    Column("exceptions_id", _Text),
)

views = Table(
    "views",
    metadata,
    Column("id", _Text, primary_key=True),
    Column("thing_id", _Text, nullable=False),
    Column("line_id", _Text, nullable=False),
    Column("commit_index", BigInteger, nullable=False),
    Column("kind", _Text, nullable=False),
    Column("since_line", _Text),
    Column("since_index", BigInteger),
    Column("row_count", BigInteger, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Index("views_by_commit", "thing_id", "line_id", "commit_index"),
)

view_objects = Table(
    "view_objects",
    metadata,
    Column("view_id", _Text, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("turn", Integer, nullable=False, server_default="0"),
    Column("object_id", _Text, nullable=False),
    Index("view_objects_by_object", "object_id"),
)

objects = Table(
    "objects",
    metadata,
    Column("id", _Text, primary_key=True),
    Column("repository_id", _Text, nullable=False),
    Column("kind", _Text, nullable=False),
    Column("sha256", _Text, nullable=False),
    Column("size_bytes", BigInteger, nullable=False),
    Column("row_count", BigInteger, nullable=False),
    Column("schema_id", _Text, nullable=False),
    Column("key_low", JSON),
    Column("key_high", JSON),
    Column("touched", JSON, nullable=False),
    Column("place", _Text, nullable=False),
    Column("path", _Text),
    Column("created_at", BigInteger, nullable=False),
)

inline_objects = Table(
    "inline_objects",
    metadata,
    Column("object_id", _Text, primary_key=True),
    Column("content", LargeBinary, nullable=False),
)

schemas = Table(
    "schemas",
    metadata,
    Column("id", _Text, primary_key=True),
    Column("repository_id", _Text, nullable=False),
    Column("document", JSON, nullable=False),
)

open_commits = Table(
    "open_commits",
    metadata,
    Column("id", _Text, primary_key=True),
    Column("repository_id", _Text, nullable=False),
    Column("branch", _Text, nullable=False),
    Column("parent_line", _Text, nullable=False),
    Column("parent_index", BigInteger, nullable=False),
    Column("message", _Text, nullable=False),
    Column("author", _Text, nullable=False),
    Column("started_at", BigInteger, nullable=False),
    Column("provenance", JSON, nullable=False),
    Column("strict", Boolean, nullable=False),
    Column("creates_branch", Boolean, nullable=False),
    Column("version", BigInteger, nullable=False),
    Column("working_branch", _Text),
    UniqueConstraint("repository_id", "working_branch"),
)

open_merges = Table(
    "open_merges",
    metadata,
    Column("id", _Text, primary_key=True),
    Column("repository_id", _Text, nullable=False),
    Column("branch", _Text, nullable=False),
    Column("sources", JSON, nullable=False),
    Column("message", _Text),
    Column("author", _Text, nullable=False),
    Column("started_at", BigInteger, nullable=False),
    Column("rules", JSON, nullable=False),
    Column("strictness", _Text, nullable=False),
    Column("mode", _Text, nullable=False),
    Column("decisions", JSON, nullable=False),
    Column("version", BigInteger, nullable=False),
    Index("open_merges_by_branch", "repository_id", "branch"),
)

settled_rows = Table(
    "settled_rows",
    metadata,
    Column("open_id", _Text, primary_key=True),
    Column("thing_id", _Text, primary_key=True),
    Column("content", LargeBinary, nullable=False),
)

open_entries = Table(
    "open_entries",
    metadata,
    Column("open_id", _Text, primary_key=True),
    Column("thing_id", _Text, primary_key=True),
    Column("document", JSON, nullable=False),
)

open_objects = Table(
    "open_objects",
    metadata,
    Column("open_id", _Text, primary_key=True),
    Column("object_id", _Text, primary_key=True),
    Index("open_objects_by_object", "object_id"),
)
