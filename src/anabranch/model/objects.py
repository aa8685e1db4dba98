"""Objects: immutable bytes, Parquet except for packs, and what the catalogue knows of them without reading them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

from anabranch.model.ids import ColumnId, ObjectId, SchemaId

KeyValue = int | str | Decimal | bytes | bool
"""A key's value in comparable form: dates are days, times are microseconds since 1970."""

ObjectKind = Literal["rows", "update", "delete", "exceptions", "pack", "manifest"]
"""What an object holds; a pack is bytes without a schema, a manifest a list of very many objects of rows."""
Place = Literal["inline", "root", "elsewhere"]
"""In the catalogue, in the store's own root, or at a location that the catalogue names."""

_PATH = re.compile(r"[a-z2-7]{2}/o[a-z2-7]{16}(\.parquet|\.pack(\.[a-z0-9]{1,12})?|/\w[\w.=-]*\.parquet)?", re.ASCII)


def is_object_path(path: str) -> bool:
    """Tell whether a path can be an object's: a file, a prefix, or a file right below one. None leaves the root."""
    return _PATH.fullmatch(path) is not None


def key_document(value: KeyValue) -> Any:
    """A key's value as JSON: integers, booleans and text stand for themselves; decimals and bytes are marked."""
    if isinstance(value, Decimal):
        return {"decimal": str(value)}
    return {"hex": value.hex()} if isinstance(value, bytes) else value


def read_key(value: Any) -> KeyValue:
    """Read a key's value that `key_document` wrote."""
    if isinstance(value, dict):
        return Decimal(value["decimal"]) if "decimal" in value else bytes.fromhex(value["hex"])
    return value  # type: ignore[no-any-return]


@dataclass(frozen=True)
class KeyRange:
    """A box that holds every key: the least and greatest value of each key column."""

    low: tuple[KeyValue, ...]
    high: tuple[KeyValue, ...]

    def meets(self, other: KeyRange) -> bool:
        """Tell whether some key could lie in both."""
        sides = zip(self.low, self.high, other.low, other.high, strict=True)
        return all(lo <= other_hi and other_lo <= hi for lo, hi, other_lo, other_hi in sides)  # type: ignore[operator]


def may_meet(one: KeyRange | None, other: KeyRange | None) -> bool:
    """Tell whether two ranges can share a key; an unknown range may meet anything."""
    return one is None or other is None or one.meets(other)


def around(ranges: Iterable[KeyRange | None]) -> KeyRange | None:
    """Return the box around all ranges; None if one is unknown or there are none."""
    known: list[KeyRange] = []
    for r in ranges:
        if r is None:
            return None
        known.append(r)
    if not known:
        return None
    low = tuple(min(values) for values in zip(*(r.low for r in known), strict=True))
    high = tuple(max(values) for values in zip(*(r.high for r in known), strict=True))
    return KeyRange(low, high)


@dataclass(frozen=True)
class Members:
    """What is known of the objects that a manifest lists, all of one schema, without reading it."""

    count: int
    size_bytes: int
    inline: int
    """How many of them live in the catalogue."""


@dataclass(frozen=True)
class StoredObject:
    """One object as the catalogue describes it.

    `rows` holds full rows (an insert, or part of a snapshot), `update` the key and the touched
    columns before and after, `delete` the keys. `exceptions` holds all of these for the rows that met in a merge.
    A `pack` holds bytes of files, which rows refer to. A `manifest` lists objects of rows and sums them up.
    """

    id: ObjectId
    kind: ObjectKind
    sha256: str
    size_bytes: int
    row_count: int
    schema_id: SchemaId
    """The schema that it was written under; empty for a pack, which has none."""
    key_range: KeyRange | None
    touched: tuple[ColumnId, ...]
    place: Place
    path: str | None
    members: Members | None = None
    """Set for a manifest only."""


class FileAddress(str):
    """Where engines find the file of an object, with the size and hash to compare before it is read."""

    path: str
    size_bytes: int
    sha256: str

    @classmethod
    def of(cls, uri: str, o: StoredObject) -> FileAddress:
        """The address of an object in the object root."""
        assert o.path is not None
        made = cls(uri)
        made.path, made.size_bytes, made.sha256 = o.path, o.size_bytes, o.sha256
        return made


@dataclass(frozen=True)
class NewObject:
    """An object that is not published yet; inline ones bring their bytes."""

    stored: StoredObject
    content: bytes | None = None
    packs: tuple[ObjectId, ...] = ()
    """The packs that its rows refer to, which stay as long as it does."""
    listed: tuple[ObjectId, ...] = ()
    """For a manifest: the objects that it lists, which stay as long as it does."""


def contents_of(made: Iterable[NewObject]) -> dict[ObjectId, bytes]:
    """The bytes of small objects that the catalogue does not have yet."""
    return {o.stored.id: o.content for o in made if o.content is not None}


ViewKind = Literal["snapshot", "fold"]


@dataclass(frozen=True)
class Layer:
    """An object and its turn: a change acts on rows of lower turns only."""

    turn: int
    object: StoredObject
    view: ViewKind | None = None
    """The kind of view that it was found in; None for a change that no view holds."""
    without: tuple[StoredObject, ...] = ()
    """Objects of exceptions: their keys are ignored here, because a merge decided them otherwise."""


def size_of(layers: Sequence[Layer]) -> int:
    """Add up the bytes that a scan of these layers may read; `Layers` know the sum already."""
    known: int | None = getattr(layers, "size_bytes", None)
    return sum(layer.object.size_bytes for layer in layers) if known is None else known
