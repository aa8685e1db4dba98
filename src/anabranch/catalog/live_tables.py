"""The catalogue's tables about what is shown in users' databases: live tables, and sequences for their keys."""

from __future__ import annotations

from sqlalchemy import JSON, BigInteger, Boolean, Index, UniqueConstraint

from anabranch.catalog.tables import Text, key, optional, required, table

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
