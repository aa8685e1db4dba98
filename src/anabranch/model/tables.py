"""Tables and namespaces as a commit shows them, and the operations that made them so."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from anabranch.model.ids import SchemaId, ThingId
from anabranch.model.layers import as_layers
from anabranch.model.objects import Layer, StoredObject
from anabranch.model.schema import Column, Schema

ThingKind = Literal["namespace", "table", "files", "attribute"]
"""`files` is the one hidden thing of a repository that holds its files, an `attribute` a column of several tables."""


def holds_rows(kind: str) -> bool:
    """Tell whether a thing has rows: a table, or the tree of versioned files, which is one in all but name."""
    return kind in ("table", "files")


Operation = Literal[
    "create",
    "drop",
    "alter name",
    "alter properties",
    "alter column",
    "alter partition",
    "insert",
    "delete",
    "update",
    "overwrite",
]
"""What an entry says was done, in order; merge rules are about these operations."""

ROW_IDS = "row_ids"
"""The attribute that names the numbering of a table's rows, set when it lost its key and they were numbered anew."""


@dataclass(frozen=True)
class Entry:
    """What a commit says of one thing."""

    thing_id: ThingId
    kind: ThingKind
    schema_id: SchemaId | None = None
    row_count: int | None = None
    operations: tuple[Operation, ...] = ()
    attributes: Mapping[str, Any] = field(default_factory=dict)
    dropped: bool = False
    replaced: bool = False


@dataclass(frozen=True)
class TableState:
    """A table at a commit: enough to read it."""

    id: ThingId
    name: str
    schema: Schema
    row_count: int
    layers: Sequence[Layer] = ()
    schemas: Mapping[str, Schema] = field(default_factory=dict)
    """Every schema that some layer was written under, by id."""
    attributes: Mapping[str, Any] = field(default_factory=dict)
    """What the table's entry says besides its rows: properties, checks, layout."""

    @property
    def properties(self) -> Mapping[str, str]:
        found: Mapping[str, str] = self.attributes.get("properties", {})
        return found

    @property
    def row_ids(self) -> str | None:
        """The numbering that the hidden row ids belong to; they mean nothing in another one."""
        return None if self.schema.has_key else self.attributes.get(ROW_IDS)

    def read_as(self, schema: Schema) -> TableState:
        """The table under another schema; columns that it lacks show their initial defaults.

        It keeps its own key, by which its changes are identified, and its own initial defaults.
        """
        schema = self._with_own_key(schema).older_as(self.schema)
        hidden = {i for c in schema if not self.schema.written_as(c) for i in c.ids}
        if not hidden:
            return replace(self, schema=schema)
        known = {
            id_: replace(s, columns=tuple(c for c in s.columns if not c.ids & hidden))
            for id_, s in self.schemas.items()
        }
        return replace(self, schema=schema, schemas=known)

    def dropped(self, columns: Iterable[Column]) -> tuple[Column, ...]:
        """Those of the columns that the table does not show although its objects may hold values of them."""
        lacking = [c for c in columns if self.schema.written_as(c) is None]
        written = [self.schemas[i] for i in as_layers(self.layers).schema_ids] if lacking else []
        return tuple(c for c in lacking if any(s.written_as(c) for s in written))

    def holds_as_now(self, o: StoredObject, columns: Iterable[Column]) -> bool:
        """Tell whether an object holds these columns with the ids and types that the table has now."""
        written = self.schemas[o.schema_id]
        found = ((written.written_as(c), c) for c in columns)
        return all(was is not None and was.id == now.id and was.type == now.type for was, now in found)

    def _with_own_key(self, schema: Schema) -> Schema:
        columns, key = list(schema.columns), []
        for own in self.schema.key_columns if self.schema.has_key else ():
            found = next((c for c in columns if c.ids & own.ids), None)
            columns += [own] if found is None else []
            key.append((found or own).id)
        return schema if tuple(key) == schema.key else Schema(schema.id, tuple(columns), tuple(key))

    @property
    def next_turn(self) -> int:
        return as_layers(self.layers).top + 1


@dataclass(frozen=True)
class TableEntry:
    """A table's name and size at a commit, as `ls` shows it."""

    name: str
    id: ThingId
    row_count: int
    column_count: int
    key: tuple[str, ...]
