"""Manifests: Parquet files that list very many objects of rows, with all that the catalogue says of each."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from anabranch.errors import Corrupt
from anabranch.model.ids import ColumnId, ObjectId, SchemaId
from anabranch.model.objects import KeyRange, KeyValue, StoredObject, is_object_path, key_document, read_key
from anabranch.objects.parquet import decode, encode

_SCHEMA = pa.schema(
    {
        **dict.fromkeys(("id", "sha256"), pa.string()),
        **dict.fromkeys(("size_bytes", "row_count"), pa.int64()),
        **dict.fromkeys(("schema_id", "key_low", "key_high", "touched", "place", "path"), pa.string()),
    }
)


def encode_manifest(objects: Sequence[StoredObject]) -> bytes:
    """Write a manifest."""
    return encode(pa.Table.from_pylist([_row(o) for o in objects], _SCHEMA), max(1, len(objects)))


def decode_manifest(content: bytes, o: StoredObject) -> tuple[StoredObject, ...]:
    """Read a manifest; raises Corrupt if it is not what was written, or lists what can't be objects of rows."""
    if len(content) != o.size_bytes or hashlib.sha256(content).hexdigest() != o.sha256:
        message = f"manifest {o.id} at {o.path} is not what was written: its size or sha256 differs"
        raise Corrupt(message, hint="restore the file from a backup; other tables are not affected")
    try:
        return tuple(_object(row) for row in decode(content).select(_SCHEMA.names).to_pylist())
    except (KeyError, TypeError, ValueError) as error:
        raise Corrupt(f"manifest {o.id} can't be read: {error}", hint="restore the file from a backup") from error


def _row(o: StoredObject) -> dict[str, str | int | None]:
    low, high = (o.key_range.low, o.key_range.high) if o.key_range else (None, None)
    own = {name: getattr(o, name) for name in ("id", "sha256", "size_bytes", "row_count", "schema_id", "place", "path")}
    return {**own, "key_low": _end(low), "key_high": _end(high), "touched": json.dumps(list(o.touched))}


def _end(values: tuple[KeyValue, ...] | None) -> str | None:
    return None if values is None else json.dumps([key_document(v) for v in values])


def _object(row: dict[str, Any]) -> StoredObject:
    path, ends = row["path"], (row["key_low"], row["key_high"])
    is_in_root = row["place"] == "root" and path is not None and is_object_path(path)
    if not is_in_root and (path is not None or row["place"] not in ("inline", "elsewhere")):
        raise ValueError(f"{path!r} is no place of an object")
    low_high = [tuple(read_key(v) for v in json.loads(end)) for end in ends if end is not None]
    return StoredObject(
        ObjectId(row["id"]),
        "rows",
        row["sha256"],
        row["size_bytes"],
        row["row_count"],
        SchemaId(row["schema_id"]),
        KeyRange(*low_high) if low_high else None,
        tuple(ColumnId(c) for c in json.loads(row["touched"])),
        row["place"],
        path,
    )
