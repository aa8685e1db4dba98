"""The numbers that steer Anabranch, in one place; each can be set when a repository is opened."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ServerSettings:
    """How long a catalogue on a PostgreSQL server is waited for. What the store's URL says itself goes before."""

    connect_timeout_seconds: int = 10
    """For a connection."""
    lock_timeout_seconds: float = 30
    """For another writer to end; 0 waits for ever."""
    idle_timeout_seconds: float = 300
    """A writer that the server hears nothing of for so long is ended, and others go on; 0 waits for ever."""
    keepalive_idle_seconds: int = 30
    """Silence after which a connection is tried."""
    keepalive_interval_seconds: int = 10
    """From one try to the next."""
    keepalive_count: int = 3
    """Tries without an answer after which a connection is lost."""


@dataclass(frozen=True)
class DamageSettings:
    """How files of the object root are compared with what was written, for those who don't trust their disks.

    Sizes are compared before each read. Before files are written anew they are hashed, whatever is set here.
    """

    hashes: bool = True
    """Compare the hash of each file, once in a process, before it is read."""
    spark_hash_limit_bytes: int = 512 * 1024 * 1024
    """Before Spark reads more than this at once, files are not hashed: it compares the checksums of pages."""
    page_checksums: bool = True
    """Let Spark compare the checksum of every page that it reads."""


@dataclass(frozen=True)
class Settings:
    """Limits and thresholds; the defaults suit one machine."""

    inline_limit_bytes: int = 128 * 1024
    """Objects up to this size live in the catalogue."""
    spark_threshold_bytes: int = 512 * 1024 * 1024
    """`auto` takes Spark when more bytes than this must be read."""
    file_row_limit: int = 122_880
    """Rows per Parquet file that the in-process engine writes: a commit rewrites whole files by the way."""
    spark_file_row_limit: int = 262_144
    """Rows per Parquet file that Spark writes for a table: few enough for a commit in the process to rewrite one."""
    row_group_rows: int = 122_880
    """Rows per Parquet row group that the in-process engine writes."""
    broadcast_limit_bytes: int = 64 * 1024 * 1024
    """Overlays up to this size are sent to every Spark executor."""
    held_row_limit: int = 1024
    """Folded changes of so many rows or more are a file for Spark; fewer are sent along with each job."""
    held_limit_bytes: int = 1024 * 1024 * 1024
    """Room in the object root that one process takes for such files at most."""
    laid_row_limit: int = 131_072
    """In memory, changes are laid over so many rows or fewer before a query reads them; over more, if it reads all."""
    laid_file_limit_bytes: int = 24 * 1024 * 1024
    """Rows up to this size are written into a file for Spark, with the changes laid over them; more are joined."""
    cache_limit_bytes: int = 256 * 1024 * 1024
    """Rows kept in memory by one repository: small objects, folded changes, tables that queries read again."""
    clock_depth_limit: int = 32
    """Line hops after which a new line carries the whole state (a checkpoint)."""
    fold_commit_limit: int = 8
    """Commits on a table since its newest view after which a commit folds them; 0 leaves all folding to `optimize`."""
    fold_row_limit: int = 131_072
    """Rows that one commit folds into one run at most."""
    rewrite_row_limit: int = 327_680
    """Rows of the largest file that one commit rewrites; bigger ones are left to `optimize`."""
    rewrite_share: float = 0.02
    """Share of a file's rows that the overlay touches from which on a commit rewrites the file."""
    optimize_share: float = 0.005
    """The same for `optimize`."""
    overlay_turn_limit: int = 16
    """Turns of changes that a snapshot keeps at most for files that are not rewritten."""
    server: ServerSettings = ServerSettings()
    """How long a catalogue on a server is waited for."""
    damage: DamageSettings = DamageSettings()
    """How files are compared with what was written."""
