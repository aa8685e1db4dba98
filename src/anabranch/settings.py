"""The numbers that steer Anabranch, in one place; those of `Settings` can be set when opening a repository."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ServerSettings:
    """How long to wait for a catalogue on a PostgreSQL server. Options in the store's URL take precedence."""

    connect_timeout_seconds: int = 10
    """Wait for a connection."""
    lock_timeout_seconds: float = 30
    """Wait for another writer to finish; 0 waits for ever."""
    idle_timeout_seconds: float = 300
    """A writer that is silent for this long is cut off, so that others can go on; 0 waits for ever."""
    keepalive_idle_seconds: int = 30
    """Silence after which a connection is probed."""
    keepalive_interval_seconds: int = 10
    """Time between two probes."""
    keepalive_count: int = 3
    """Unanswered probes after which a connection is given up."""


@dataclass(frozen=True)
class DamageSettings:
    """How files of the object root are compared with what was written, for those who don't trust their disks.

    Sizes are compared before each read. Before files are rewritten they are always hashed, whatever is set here.
    """

    hashes: bool = True
    """Compare each file's hash before its first read in a process."""
    spark_hash_limit_bytes: int = 512 * 1024 * 1024
    """If Spark is to read more than this at once, rely on page checksums instead of hashing files first."""
    page_checksums: bool = True
    """Let Spark verify the checksum of every page that it reads."""


@dataclass(frozen=True)
class ObjectSettings:
    """How rows become objects, and where objects are kept."""

    inline_limit_bytes: int = 128 * 1024
    """Objects up to this size live in the catalogue."""
    file_row_limit: int = 122_880
    """Rows per Parquet file that the in-process engine writes: a commit may have to rewrite whole files."""
    row_group_rows: int = 122_880
    """Rows per Parquet row group that the in-process engine writes."""
    manifest_object_limit: int = 2000
    """A view or change with more objects of rows than this lists them in manifests, each of up to so many."""
    cache_limit_bytes: int = 20 * 1024 * 1024 * 1024
    """Bytes of objects on S3 or HDFS that are cached on this machine, for all processes of a user."""
    trusted_servers: tuple[str, ...] = ()
    """Servers of objects that may be contacted when only the catalogue of a folder names them, as `host` or
    `host:port`, beside those that `ana trust` lists."""


@dataclass(frozen=True)
class FoldingSettings:
    """How much each commit folds of what earlier ones wrote, so that reading stays quick."""

    commit_limit: int = 8
    """Commits on a table since its newest view after which a commit folds them; 0 leaves all folding to `optimize`."""
    row_limit: int = 131_072
    """Rows that one commit folds into one run, at most."""
    turn_limit: int = 16
    """Turns of changes that a snapshot keeps, at most, for files that are not rewritten."""
    rewrite_row_limit: int = 327_680
    """Rows of the largest file that a commit rewrites; larger ones are left to `optimize`."""
    rewrite_share: float = 0.02
    """A commit rewrites a file once the overlay touches this share of its rows."""
    optimize_share: float = 0.005
    """The same for `optimize`."""
    clock_depth_limit: int = 32
    """Line hops after which a new line carries the whole state (a checkpoint)."""


@dataclass(frozen=True)
class MemorySettings:
    """What one repository keeps and does in memory."""

    cache_limit_bytes: int = 256 * 1024 * 1024
    """Bytes of cached rows: small objects, folded changes, tables that queries read again."""
    overlay_row_limit: int = 131_072
    """Up to this many rows, changes are applied in memory before a query; above it, only for full scans."""


@dataclass(frozen=True)
class LimitSettings:
    """What one read or SQL statement may take of this process. Past it, `engine="auto"` tries again on Spark; without
    Spark it is an error."""

    query_seconds: float = 600
    """How long a query may run; then it is stopped. 0 is no limit."""
    query_memory_bytes: int = 0
    """Memory for all queries that run at a time; past it they spill to the disk, if they can. 0 is 80 % of what the
    machine has."""


@dataclass(frozen=True)
class SafeSettings:
    """What a query of somebody else's may take: `repo.sql(…, safe=True)`."""

    seconds: float = 30
    """How long it may run."""
    memory_bytes: int = 512 * 1024 * 1024
    """Memory that it may take, and the largest result."""
    row_limit: int = 100_000
    """Rows of its result, at most."""
    text_limit: int = 10_000
    """Characters of its text, at most."""


@dataclass(frozen=True)
class SparkSettings:
    """When Spark is used, and what is prepared for it."""

    threshold_bytes: int = 512 * 1024 * 1024
    """`auto` chooses Spark if more bytes than this must be read."""
    file_row_limit: int = 262_144
    """Rows per Parquet file that Spark writes for a table: few enough for the process to rewrite one in a commit."""
    seal_in_process_limit_bytes: int = 64 * 1024 * 1024
    """Files that Spark wrote are hashed and described by its executors, unless they are smaller than this in all."""
    broadcast_limit_bytes: int = 64 * 1024 * 1024
    """Overlays up to this size are sent to every executor."""
    overlay_file_limit_bytes: int = 24 * 1024 * 1024
    """Tables up to this size are written, with changes applied, to a file for Spark; for larger ones Spark joins."""
    copy_row_limit: int = 1024
    """From this many rows on, folded changes go to Spark as a file; fewer are sent along with each job."""
    copy_limit_bytes: int = 1024 * 1024 * 1024
    """Bytes that one process takes for such files in the object root, at most."""


@dataclass(frozen=True)
class FileSettings:
    """Where versioned files may be fetched from."""

    url_allow: tuple[str, ...] = ()
    """Allowed origins such as `https://example.com`; none by default."""
    url_limit_bytes: int = 1024 * 1024 * 1024
    """The largest file that is fetched."""


@dataclass(frozen=True)
class Settings:
    """Limits and thresholds in groups; the defaults suit one machine."""

    objects: ObjectSettings = ObjectSettings()
    """How rows become objects, and where objects are kept."""
    folding: FoldingSettings = FoldingSettings()
    """How much each commit folds of what earlier ones wrote."""
    memory: MemorySettings = MemorySettings()
    """What one repository keeps and does in memory."""
    limits: LimitSettings = LimitSettings()
    """What one read or SQL statement may take of this process."""
    safe: SafeSettings = SafeSettings()
    """What a query of somebody else's may take."""
    spark: SparkSettings = SparkSettings()
    """When Spark is used, and what is prepared for it."""
    files: FileSettings = FileSettings()
    """Where versioned files may be fetched from."""
    server: ServerSettings = ServerSettings()
    """How long to wait for a catalogue on a server."""
    damage: DamageSettings = DamageSettings()
    """How files are compared with what was written."""


# What follows is fixed: measured once, and not for users to set. Each number stands here only, with its unit.

# The catalogue
IDS_PER_STATEMENT = 400
"""Ids or hashes that one SQL statement names, at most."""
COMPILED_STATEMENTS = 1000
"""Statements that a process keeps compiled, for all its stores."""
OBJECTS_PER_STATEMENT = 100
"""Objects that one SQL statement reads or writes, at most."""
LINE_RUNS_PER_STATEMENT = 32
"""Stretches of lines that one SQL statement reads, at most."""
LINE_GAP_COMMITS = 8
"""Commits of a line that are at most this far apart are read as one stretch."""
FILE_BUSY_TIMEOUT_SECONDS = 30
"""How long to wait for a catalogue in a file while another process writes it."""
SPARE_ROOM_BYTES = 512 * 1024
"""Room that is kept beside a catalogue in a file, for gc to begin with when the disk is full."""
FULL_DISK_BYTES = 64 * 1024
"""A disk with less room than this is full: SQLite takes 32 KB to open a catalogue."""
FREE_PAGES_SHARE = 8
"""An SQLite file is compacted once at least one in this many pages is free."""
CLOCK_ERROR_LIMIT_MICROS = 5 * 60 * 1_000_000
"""How far apart correct clocks may be."""
PUBLISH_ATTEMPTS = 4
"""How often a commit is retried on a head that moved; the last time under the lock."""
KNOWN_OBJECTS_LIMIT = 100_000
"""Objects whose catalogue rows one repository remembers."""

# Objects
HASHING_THREADS = 4
"""Threads that hash files."""
ENCODING_THREADS = 2
"""Threads that encode and write the files of one statement; each holds one file in memory."""
FETCHING_THREADS = 8
"""Threads that fetch files from far object roots."""
LEFT_BEHIND_SECONDS = 24 * 60 * 60
"""Age at which files of a process count as left behind, where no lock tells."""
STILL_ALIVE_SECONDS = 60 * 60
"""How often a process reports that it is alive, where no lock tells."""
RANGE_BYTES = 1 << 20
"""Bytes read at once from a file that is not fetched whole."""
BUCKET_DELETED_AT_ONCE = 1000
"""Objects removed by one request."""
BUCKET_RETRIES = 4
"""How often a request is retried."""
BUCKET_SILENCE_SECONDS = 10
"""How long a server may say nothing while it is read from; twice that in all."""
BUCKET_REQUEST_SECONDS = 600
"""How long one request may take while bytes flow: the network may be slow."""
HDFS_TIMEOUT_SECONDS = 60
"""How long to wait for an HDFS server."""
INLINE_MEMORY_LIMIT_BYTES = 1 << 30
"""Rows that take more memory than this are never kept in the catalogue."""
PLAIN_WRITE_LIMIT_BYTES = 64 * 1024
"""Rows up to this size are written without zstd and dictionaries."""
ENCODING_SAMPLE_ROWS = 1024
"""Rows sampled to choose a column's encoding."""
COLLECTED_VIEWS_ON_FULL_DISK = 64
"""Views and objects that gc removes at a time while there is hardly any room."""
COLLECTED_AT_ONCE = 1000
"""Objects that gc removes per transaction."""
TOKEN_SECONDS = 60
"""How long a token laid in an object root is good enough for further uploads."""
FIRST_TOKEN_SECONDS = 24 * 60 * 60
"""How long files stay after the first token was laid in a root that had objects before there were tokens."""
VERIFIED_AT_ONCE = 200
"""Objects that verify reads at a time."""

# Versioned files
FETCH_TIMEOUT_SECONDS = 30
"""How long a server may stay silent while a file is fetched from it."""
GIVEN_CONTENT_LIMIT_BYTES = 16 * 1024 * 1024
"""The largest content that can resolve a file's conflict: the catalogue keeps it until the merge is finished."""

# Folding
TIER_FACTOR = 8
"""How many times larger a tier is than all above it. Reading pays for each tier, writing for each join."""
REWRITTEN_FILES_AT_ONCE = 8
"""Files rewritten at the same time."""

# Memory and reading
LOOKED_UP_KEYS_LIMIT = 65_536
"""Up to this many keys are looked up in files without an engine."""
LOOKED_UP_ROWS_PER_KEY = 4
"""They are, as long as no more rows than this per key share the first key column."""
DOOR_ROW_LIMIT = 10_000
"""DataFrames of up to this many rows are fetched into the process before anything else is done with them."""
DOOR_LIMIT_BYTES = 8 * 1024 * 1024
"""A DataFrame that Spark estimates at no more than this is asked for its first rows."""
DOOR_INPUT_LIMIT_BYTES = 256 * 1024 * 1024
"""One that is shuffled is asked only if it reads no more than this, since it may have to run twice."""
BATCH_ROWS = 64 * 1024
"""Rows per batch that `batches()` returns."""
WIDE_CHANGE_COLUMNS = 64
"""Changes with this many columns are applied in memory: an engine would take longer to plan the join than to run it."""
APPLIED_AT_ONCE_LIMIT_BYTES = 64 * 1024 * 1024
"""Bytes of rows and changes that one read applies in memory, at most."""
WIDE_VALUE_BYTES, NARROW_VALUE_BYTES = 32, 8
"""Estimated memory per value: for text, bytes and nested values; for all others."""
SINGLE_CORE_ROWS = 122_880
"""Up to this many rows, DuckDB reads with one thread, which leaves another core free."""
KEYS_ONE_BY_ONE_LIMIT = 4096
"""Up to this many keys are compared with key ranges one by one, more of them as one range."""
UNIQUE_CHECK_ROWS_LIMIT = 8_000_000
"""More keys than this are left to an engine to compare."""
FEED_KEYS_LIMIT = 1_000_000
"""Above this, the previous state is joined with the changes rather than looked up by their keys."""
DUCK_ADDRESS_SPACE_BYTES = 1536 * 1024 * 1024
"""Address space that DuckDB and its threads reserve to begin with; it takes a small part of that as memory."""
QUERY_INTERRUPTS_SECONDS = 0.01
"""Time between two interrupts of a query whose time is up."""

# Spark
SPARK_COPY_FILES_LIMIT = 4096
"""Files that one process makes for Spark, at most."""
SPARK_COPY_THREADS = 4
"""Threads that write files for Spark."""
SPARK_COPIES_PER_READ_LIMIT = 16
"""Small objects of rows that are copied to files for one read by Spark, at most."""
SPARK_PLANS_LIMIT = 256
"""Expressions whose analysis by Spark is remembered."""
FILES_PARTITIONS = 256
"""Tasks in which executors examine the files of a load, at most."""
