"""The numbers that steer Anabranch, in one place: those of `Settings` can be set when a repository is opened."""

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
class ObjectSettings:
    """How rows become objects, and where objects are kept."""

    inline_limit_bytes: int = 128 * 1024
    """Objects up to this size live in the catalogue."""
    file_row_limit: int = 122_880
    """Rows per Parquet file that the in-process engine writes: a commit rewrites whole files by the way."""
    row_group_rows: int = 122_880
    """Rows per Parquet row group that the in-process engine writes."""
    manifest_object_limit: int = 2000
    """More objects of rows than this in a view or change are listed by manifests, each of up to so many."""
    cache_limit_bytes: int = 20 * 1024 * 1024 * 1024
    """Bytes of objects on S3 or HDFS that are kept on this machine, for all processes of a user."""


@dataclass(frozen=True)
class FoldingSettings:
    """How much commits put together of what earlier ones wrote, so that reading stays quick."""

    commit_limit: int = 8
    """Commits on a table since its newest view after which a commit folds them; 0 leaves all folding to `optimize`."""
    row_limit: int = 131_072
    """Rows that one commit folds into one run at most."""
    turn_limit: int = 16
    """Turns of changes that a snapshot keeps at most for files that are not rewritten."""
    rewrite_row_limit: int = 327_680
    """Rows of the largest file that one commit rewrites; bigger ones are left to `optimize`."""
    rewrite_share: float = 0.02
    """Share of a file's rows that the overlay touches from which on a commit rewrites the file."""
    optimize_share: float = 0.005
    """The same for `optimize`."""
    clock_depth_limit: int = 32
    """Line hops after which a new line carries the whole state (a checkpoint)."""


@dataclass(frozen=True)
class MemorySettings:
    """What one repository keeps and does in the memory of the process."""

    cache_limit_bytes: int = 256 * 1024 * 1024
    """Rows that are kept: small objects, folded changes, tables that queries read again."""
    overlay_row_limit: int = 131_072
    """Up to this many rows, changes are applied in memory before a query; above it, only for full scans."""


@dataclass(frozen=True)
class SparkSettings:
    """When Spark is taken, and what is made for it."""

    threshold_bytes: int = 512 * 1024 * 1024
    """`auto` takes Spark when more bytes than this must be read."""
    file_row_limit: int = 262_144
    """Rows per Parquet file that Spark writes for a table: few enough for a commit in the process to rewrite one."""
    seal_in_process_limit_bytes: int = 64 * 1024 * 1024
    """What Spark wrote is hashed and described by its executors, unless it is smaller than this."""
    broadcast_limit_bytes: int = 64 * 1024 * 1024
    """Overlays up to this size are sent to every executor."""
    overlay_file_limit_bytes: int = 24 * 1024 * 1024
    """Tables up to this size are written into a file for Spark with their changes applied; Spark joins larger ones."""
    copy_row_limit: int = 1024
    """From this many rows on, folded changes are a file for Spark; fewer are sent along with each job."""
    copy_limit_bytes: int = 1024 * 1024 * 1024
    """Room in the object root that one process takes for such files at most."""


@dataclass(frozen=True)
class FileSettings:
    """Where versioned files may be fetched from."""

    url_allow: tuple[str, ...] = ()
    """Places such as `https://example.com`; none unless named here."""
    url_limit_bytes: int = 1024 * 1024 * 1024
    """The largest file that is fetched."""


@dataclass(frozen=True)
class Settings:
    """Limits and thresholds in groups; the defaults suit one machine."""

    objects: ObjectSettings = ObjectSettings()
    """How rows become objects, and where objects are kept."""
    folding: FoldingSettings = FoldingSettings()
    """How much commits put together of what earlier ones wrote."""
    memory: MemorySettings = MemorySettings()
    """What one repository keeps and does in memory."""
    spark: SparkSettings = SparkSettings()
    """When Spark is taken, and what is made for it."""
    files: FileSettings = FileSettings()
    """Where versioned files may be fetched from."""
    server: ServerSettings = ServerSettings()
    """How long a catalogue on a server is waited for."""
    damage: DamageSettings = DamageSettings()
    """How files are compared with what was written."""


# What follows is fixed: measured once, and for no user to set. Each stands here with its unit, and nowhere else.

# The catalogue
IDS_PER_STATEMENT = 400
"""Ids or hashes that one SQL statement names at most."""
OBJECTS_PER_STATEMENT = 100
"""Objects that one SQL statement reads or writes at most."""
LINE_RUNS_PER_STATEMENT = 32
"""Stretches of lines that one SQL statement reads at most."""
LINE_GAP_COMMITS = 8
"""Commits that nobody asked for are read with those around them, if they are so few."""
FILE_BUSY_TIMEOUT_SECONDS = 30
"""How long a catalogue in a file is waited for while another process writes it."""
FREE_PAGES_SHARE = 8
"""Of the pages of an SQLite file, one of so many may be free before it is written anew."""
CLOCK_ERROR_LIMIT_MICROS = 5 * 60 * 1_000_000
"""How far clocks that go right may lie apart."""
PUBLISH_ATTEMPTS = 4
"""How often a commit is put on a head that moved; the last time under the lock."""
KNOWN_OBJECTS_LIMIT = 100_000
"""Objects whose rows of the catalogue one repository remembers."""

# Objects
HASHING_THREADS = 4
"""Threads that hash files."""
ENCODING_THREADS = 2
"""Threads that encode and write the files of one statement: each holds one file in memory."""
FETCHING_THREADS = 8
"""Threads that fetch files of far object roots."""
LEFT_BEHIND_SECONDS = 24 * 60 * 60
"""Files of a process that was killed are taken for left behind after this time, where no lock tells."""
STILL_ALIVE_SECONDS = 60 * 60
"""How often a process says that it lives, where no lock tells."""
RANGE_BYTES = 1 << 20
"""Bytes that are read at once of a file that is not fetched whole."""
BUCKET_DELETED_AT_ONCE = 1000
"""Objects that one request removes."""
BUCKET_RETRIES = 4
"""How often a request is made again."""
BUCKET_RETRY_SECONDS = 60
"""For how long."""
HDFS_TIMEOUT_SECONDS = 60
"""How long a server of HDFS is waited for."""
INLINE_MEMORY_LIMIT_BYTES = 1 << 30
"""Rows that take more memory are never kept in the catalogue."""
PLAIN_WRITE_LIMIT_BYTES = 64 * 1024
"""Rows up to this size are written plainly, without zstd and dictionaries."""
ENCODING_SAMPLE_ROWS = 1024
"""Rows of a column by which its encoding is chosen."""
COLLECTED_AT_ONCE = 1000
"""Objects that gc removes in one transaction."""
VERIFIED_AT_ONCE = 200
"""Objects that verify reads at a time."""

# Versioned files
FETCH_TIMEOUT_SECONDS = 30
"""How long a server that a file is fetched from may be silent."""
GIVEN_CONTENT_LIMIT_BYTES = 16 * 1024 * 1024
"""Bytes that a conflict of a file can be resolved with: the catalogue keeps them until the merge is finished."""

# Folding
TIER_FACTOR = 8
"""How many times bigger a tier is than all above it. Reading pays for each tier, writing for each join."""
REWRITTEN_FILES_AT_ONCE = 8
"""Files that are rewritten together."""

# Memory and reading
LOOKED_UP_KEYS_LIMIT = 65_536
"""Up to so many keys are looked up in files without an engine."""
LOOKED_UP_ROWS_PER_KEY = 4
"""That is so as long as no more rows than this, for each key, share the first column of the key."""
DOOR_ROW_LIMIT = 10_000
"""DataFrames of up to so many rows come into the process before anything is done with them."""
DOOR_LIMIT_BYTES = 8 * 1024 * 1024
"""Where Spark expects a DataFrame to be no larger, it is asked for its first rows."""
DOOR_INPUT_LIMIT_BYTES = 256 * 1024 * 1024
"""Where a DataFrame is shuffled, it is asked so only if it reads no more than this: it may have to run twice."""
BATCH_ROWS = 64 * 1024
"""Rows of a batch that `batches()` gives."""
WIDE_CHANGE_COLUMNS = 64
"""Changes of so many columns are applied in memory: an engine takes longer to plan a join with them than to run it."""
APPLIED_AT_ONCE_LIMIT_BYTES = 64 * 1024 * 1024
"""Rows that changes are applied to for one read at most."""
WIDE_VALUE_BYTES, NARROW_VALUE_BYTES = 32, 8
"""What a value takes in memory, as a guess: text, bytes and nested values; all others."""
SINGLE_CORE_ROWS = 122_880
"""So many rows DuckDB reads with one thread, so that another core is free."""
KEYS_ONE_BY_ONE_LIMIT = 4096
"""Up to so many keys are compared with key ranges one by one, more as one range."""
UNIQUE_CHECK_ROWS_LIMIT = 8_000_000
"""More keys than this are left to an engine to compare."""
FEED_KEYS_LIMIT = 1_000_000
"""Above this, the state before is joined with the changes instead of being looked up at their keys."""

# Spark
SPARK_COPY_FILES_LIMIT = 4096
"""Files that one process makes for Spark at most."""
SPARK_COPY_THREADS = 4
"""Threads that write files for Spark."""
SPARK_COPIES_PER_READ_LIMIT = 16
"""Small objects of rows that are copied into files for one read by Spark at most."""
SPARK_PLANS_LIMIT = 256
"""Expressions whose analysis by Spark is remembered."""
FILES_PARTITIONS = 256
"""Tasks in which executors look at the files of a load, at most."""
