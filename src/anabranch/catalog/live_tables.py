"""The catalogue's tables about what is shown in users' databases: live tables, and sequences for their keys."""

from __future__ import annotations

from sqlalchemy import JSON, BigInteger, Boolean, Column, Index, Table, UniqueConstraint

from anabranch.catalog.tables import Text, metadata

live_databases = Table(
    "ana_live_databases",
    metadata,
    Column("id", Text, primary_key=True),
    Column("repository_id", Text, nullable=False),
    Column("url", Text, nullable=False),
    Column("is_catalogue", Boolean, nullable=False),
    Column("options", JSON, nullable=False),
    Column("last_move", BigInteger),
    Column("created_at", BigInteger, nullable=False),
    UniqueConstraint("repository_id", "url"),
)

live_tables = Table(
    "ana_live_tables",
    metadata,
    Column("id", Text, primary_key=True),
    Column("database_id", Text, nullable=False),
    Column("branch_id", Text),
    Column("thing_id", Text, nullable=False),
    Column("schema_name", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("owner_id", Text),
    Column("line_id", Text, nullable=False),
    Column("commit_index", BigInteger, nullable=False),
    Column("schema_id", Text, nullable=False),
    Column("columns", JSON, nullable=False),
    Column("state", Text, nullable=False),
    Column("row_count", BigInteger),
    Column("created_at", BigInteger, nullable=False),
    Column("used_at", BigInteger, nullable=False),
    Index("ana_live_tables_by_branch", "database_id", "branch_id", "thing_id"),
    Index("ana_live_tables_by_thing", "thing_id", "line_id", "commit_index"),
)

sequences = Table(
    "ana_sequences",
    metadata,
    Column("repository_id", Text, primary_key=True),
    Column("column_id", Text, primary_key=True),
    Column("next", BigInteger, nullable=False),
)
