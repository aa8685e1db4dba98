"""Versioned files as rows of a hidden table: its columns, references to blocks, and what users see of a file.

The tree of a repository is one keyed table; a row is a file, or a folder that was made empty."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from anabranch.model.ids import ColumnId, ObjectId, RepositoryId, SchemaId, ThingId
from anabranch.model.paths import join_path
from anabranch.model.schema import Column, Schema
from anabranch.model.types import DataType, array_of, struct_of

FILES_NAME = "_ana_files"
"""The file tree's name where code wants that of a table; it is not in the catalogue, and no table can have it."""

FILES_SHOWN = "files/"
"""How listings of tables show the file tree; no table can have this name either."""


GIVEN = -1
"""The level of a reference whose `object` is the bytes themselves, in base64: they were given to resolve a conflict,
and the merge stores them."""


class BlockRef(NamedTuple):
    """Where a stretch of a file's bytes lies, and which write put it there.

    `write` begins with `p` for a put and `a` for an append; with `number` it identifies the stretch wherever it moves.
    At a level above 0 the bytes are a list of references instead.
    """

    level: int
    write: str
    number: int
    object: str
    start: int
    size: int
    sha256: bytes

    @property
    def key(self) -> tuple[str, int]:
        """Identifies this reference among all, in every version of every file."""
        return self.write, self.number


def address_of(parent: str, name: str) -> str:
    """The address of a row by its key: a path, with a trailing slash where there is no name."""
    return join_path(parent, name) if name else f"{parent}/"


class FileRow(NamedTuple):
    """One row of the tree, as it is stored."""

    parent: str
    name: str
    """Empty for a folder that was made with nothing in it."""
    size: int
    sha256: bytes | None
    """None where it is that of the only block, or was not computed because the file was appended to."""
    mode: int | None
    written_at: datetime
    media_type: str | None
    properties: str | None
    """Text by name, as JSON with sorted names."""
    blocks: tuple[BlockRef, ...]

    @property
    def path(self) -> str:
        return join_path(self.parent, self.name)

    @property
    def address(self) -> str:
        """The path, with a trailing slash for a folder's own row; unique among rows."""
        return address_of(self.parent, self.name)

    @property
    def digest(self) -> bytes | None:
        """The sha256 of the whole content, where it is known."""
        if self.sha256 is None and len(self.blocks) == 1 and self.blocks[0].level == 0:
            return self.blocks[0].sha256
        return self.sha256


_REF = struct_of(
    (
        ("level", DataType("int")),
        ("write", DataType("string")),
        ("number", DataType("bigint")),
        ("object", DataType("string")),
        ("start", DataType("bigint")),
        ("size", DataType("bigint")),
        ("sha256", DataType("binary")),
    )
)


def _column(id_: str, name: str, type_: DataType, *, nullable: bool = True) -> Column:
    return Column(ColumnId(id_), name, type_, nullable)


_COLUMNS = (
    _column("cfparent", "parent", DataType("string"), nullable=False),
    _column("cfname", "name", DataType("string"), nullable=False),
    _column("cfsize", "size", DataType("bigint"), nullable=False),
    _column("cfsha256", "sha256", DataType("binary")),
    _column("cfmode", "mode", DataType("int")),
    _column("cfwritten", "written_at", DataType("timestamp"), nullable=False),
    _column("cfmedia", "media_type", DataType("string")),
    _column("cfproperties", "properties", DataType("string")),
    _column("cfblocks", "blocks", array_of(_REF), nullable=False),
)
BLOCKS = _COLUMNS[-1]


def files_thing(repository: RepositoryId) -> ThingId:
    """The id of a repository's file tree: always the same, so that two branches never make two."""
    return ThingId(f"f{repository[1:]}")


def files_schema(repository: RepositoryId) -> Schema:
    """The schema of the file tree, which never changes."""
    return Schema(SchemaId(f"s{repository[1:]}"), _COLUMNS, (_COLUMNS[0].id, _COLUMNS[1].id))


@dataclass(frozen=True)
class FileStat:
    """A file or folder as `stat` and `list` report it."""

    path: str
    size: int
    is_folder: bool = False
    sha256: str | None = None
    """None for a folder, and for a file that was appended to and not read whole since."""
    mode: int | None = None
    written_at: datetime | None = None
    media_type: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    whole: bool = True
    """With `since=`: whether the whole file is new, because it was replaced or made since."""

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


def packs_of(refs: Iterable[BlockRef]) -> set[ObjectId]:
    """The packs that references need."""
    return {ObjectId(r.object) for r in refs if r.size}
