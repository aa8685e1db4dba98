"""The catalogue's tables about what lies beyond a store's history: places of objects, remotes, builds, live tables."""

from __future__ import annotations

from sqlalchemy import JSON, BigInteger, Boolean, Column, Index, UniqueConstraint

from anabranch.catalog.tables import Text, key, optional, required, table

locations = table(
    "ana_locations",
    *key(id=Text),
    Column("url", Text, nullable=False, unique=True),
    *required(role=Text, created_at=BigInteger),
)

object_places = table(
    "ana_object_places",
    *key(object_id=Text, location_id=Text),
    *required(path=Text),
    Index("ana_object_places_by_location", "location_id"),
    sqlite_with_rowid=False,
)

doomed = table("ana_doomed", *key(location_id=Text, path=Text), *required(since=BigInteger))

remotes = table(
    "ana_remotes",
    *key(repository_id=Text, name=Text),
    *required(url=Text),
    *optional(repository=Text),
    *required(options=JSON, created_at=BigInteger),
)

remote_branches = table(
    "ana_remote_branches",
    *key(repository_id=Text, remote=Text, name=Text),
    *required(line_id=Text, commit_index=BigInteger, fetched_at=BigInteger),
    Index("ana_remote_branches_by_commit", "line_id", "commit_index"),
)

mounts = table(
    "ana_mounts",
    *key(repository_id=Text, name=Text),
    *required(handler=Text, url=Text, options=JSON, created_at=BigInteger),
)

captures = table(
    "ana_captures",
    *key(repository_id=Text, name=Text),
    *required(url=Text, mode=Text, branch=Text, tables=JSON, options=JSON),
    *optional(position=JSON),
    *required(created_at=BigInteger),
)

layers = table(
    "ana_layers",
    *key(repository_id=Text, key=Text),
    *required(line_id=Text, commit_index=BigInteger, created_at=BigInteger, used_at=BigInteger),
    Index("ana_layers_by_commit", "line_id", "commit_index"),
)

live_databases = table(
    "ana_live_databases",
    *key(id=Text),
    *required(repository_id=Text, url=Text, is_catalogue=Boolean, options=JSON),
    *optional(last_move=BigInteger),
    *required(created_at=BigInteger),
    UniqueConstraint("repository_id", "url"),
)

live_tables = table(
    "ana_live_tables",
    *key(id=Text),
    *required(database_id=Text),
    *optional(branch_id=Text),
    *required(thing_id=Text, schema_name=Text, name=Text, kind=Text),
    *optional(owner_id=Text),
    *required(line_id=Text, commit_index=BigInteger, schema_id=Text, columns=JSON, state=Text),
    *optional(row_count=BigInteger),
    *required(created_at=BigInteger, used_at=BigInteger),
    Index("ana_live_tables_by_branch", "database_id", "branch_id", "thing_id"),
    Index("ana_live_tables_by_thing", "thing_id", "line_id", "commit_index"),
)

sequences = table("ana_sequences", *key(repository_id=Text, column_id=Text), *required(next=BigInteger))
