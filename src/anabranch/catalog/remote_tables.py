"""The catalogue's tables about what lies beyond one store's history: places of objects, remotes, sources, builds."""

from __future__ import annotations

from sqlalchemy import JSON, BigInteger, Column, Index, Table

from anabranch.catalog.tables import Text, metadata

locations = Table(
    "ana_locations",
    metadata,
    Column("id", Text, primary_key=True),
    Column("url", Text, nullable=False, unique=True),
    Column("role", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
)

object_places = Table(
    "ana_object_places",
    metadata,
    Column("object_id", Text, primary_key=True),
    Column("location_id", Text, primary_key=True),
    Column("path", Text, nullable=False),
    Index("ana_object_places_by_location", "location_id"),
    sqlite_with_rowid=False,
)

doomed = Table(
    "ana_doomed",
    metadata,
    Column("location_id", Text, primary_key=True),
    Column("path", Text, primary_key=True),
    Column("since", BigInteger, nullable=False),
)

remotes = Table(
    "ana_remotes",
    metadata,
    Column("repository_id", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("url", Text, nullable=False),
    Column("repository", Text),
    Column("options", JSON, nullable=False),
    Column("created_at", BigInteger, nullable=False),
)

remote_branches = Table(
    "ana_remote_branches",
    metadata,
    Column("repository_id", Text, primary_key=True),
    Column("remote", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("line_id", Text, nullable=False),
    Column("commit_index", BigInteger, nullable=False),
    Column("fetched_at", BigInteger, nullable=False),
    Index("ana_remote_branches_by_commit", "line_id", "commit_index"),
)

mounts = Table(
    "ana_mounts",
    metadata,
    Column("repository_id", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("handler", Text, nullable=False),
    Column("url", Text, nullable=False),
    Column("options", JSON, nullable=False),
    Column("created_at", BigInteger, nullable=False),
)

captures = Table(
    "ana_captures",
    metadata,
    Column("repository_id", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("url", Text, nullable=False),
    Column("mode", Text, nullable=False),
    Column("branch", Text, nullable=False),
    Column("tables", JSON, nullable=False),
    Column("options", JSON, nullable=False),
    Column("position", JSON),
    Column("created_at", BigInteger, nullable=False),
)

layers = Table(
    "ana_layers",
    metadata,
    Column("repository_id", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("line_id", Text, nullable=False),
    Column("commit_index", BigInteger, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("used_at", BigInteger, nullable=False),
    Index("ana_layers_by_commit", "line_id", "commit_index"),
)
