"""Columns with ids, and the schema that a table's objects are written under."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cached_property, lru_cache
from typing import Any

from anabranch.errors import Corrupt, InvalidRequest, NotFound
from anabranch.model.ddl import parse_clauses, parse_type, parse_type_before
from anabranch.model.ids import ColumnId, SchemaId, new_column_id, new_id
from anabranch.model.names import check_part
from anabranch.model.types import DataType, holding

_ID = re.compile(r"\w{1,64}", re.ASCII)


@dataclass(frozen=True)
class Column:
    """A column: its id never changes, its name may."""

    id: ColumnId
    name: str
    type: DataType
    nullable: bool = True
    default: str | None = None
    """SQL text for new rows that do not give a value."""
    initial_default: str | None = None
    """What rows older than the column have, as text that a cast reads; fixed when the column is added."""
    also: tuple[ColumnId, ...] = ()
    """Ids of columns that a merge united with this one; objects may be written under any of them."""
    comment: str | None = None

    @property
    def ids(self) -> frozenset[ColumnId]:
        """All ids that this column goes by."""
        return frozenset((self.id, *self.also))

    @property
    def before(self) -> str:
        """The name under which change objects keep the value before an update."""
        return f"{self.id}_b"


ROW_ID = (
    Column(ColumnId("_ana_write"), "_ana_write", DataType("string"), False),
    Column(ColumnId("_ana_place"), "_ana_place", DataType("bigint"), False),
)
"""The hidden key of a table without one: the write that made a row, and the row's place in it."""


_SHOWN = 8
"""How many columns `repr` shows."""


@dataclass(frozen=True)
class Schema:
    """The columns of a table, in order, and its key. Without a key, a hidden row id takes its place."""

    id: SchemaId
    columns: tuple[Column, ...]
    key: tuple[ColumnId, ...]
    """The declared key; empty for a table without one."""

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __repr__(self) -> str:
        shown = [f"{c.name} {c.type}{'' if c.nullable else ' not null'}" for c in self.columns[:_SHOWN]]
        more = [f"… {len(self.columns) - _SHOWN} more"] if len(self.columns) > _SHOWN else []
        key = f"; key {', '.join(self.key_names)}" if self.key else ""
        return f"Schema({', '.join([*shown, *more])}{key})"

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(c.name for c in self.columns)

    @property
    def has_key(self) -> bool:
        return bool(self.key)

    @property
    def key_columns(self) -> tuple[Column, ...]:
        """The columns that identify rows: the declared key, or the hidden row id."""
        if not self.key:
            return ROW_ID
        return tuple(self._by_id[i] for i in self.key)

    @property
    def key_ids(self) -> tuple[ColumnId, ...]:
        return self.key or tuple(c.id for c in ROW_ID)

    @property
    def key_names(self) -> tuple[str, ...]:
        """The names of the declared key, as users see it."""
        return tuple(c.name for c in self.key_columns) if self.key else ()

    @property
    def plain_columns(self) -> tuple[Column, ...]:
        """The columns that are not part of the key."""
        return tuple(c for c in self.columns if c.id not in self.key)

    @property
    def stored(self) -> tuple[Column, ...]:
        """What an object with whole rows holds: the columns, and the row id where there is no key."""
        return self.columns if self.key else (*ROW_ID, *self.columns)

    def written_as(self, column: Column) -> Column | None:
        """The column as objects written under this schema have it; None if it was added later."""
        return next((self._by_any_id[i] for i in (column.id, *column.also) if i in self._by_any_id), None)

    def knowing(self, other: Schema) -> Schema:
        """The same schema, whose columns also go by the ids that another schema knows them by."""
        columns = tuple(_also_called(c, other.sharing(c)) for c in self.columns)
        return self if columns == self.columns else replace(self, columns=columns)

    def sharing(self, column: Column) -> list[Column]:
        """The columns that go by one of a column's ids, in order."""
        return [self.columns[p] for p in sorted({p for i in column.ids for p in self._places_of_ids.get(i, ())})]

    @cached_property
    def _places_of_ids(self) -> dict[ColumnId, list[int]]:
        found: dict[ColumnId, list[int]] = {}
        for place, column in enumerate(self.columns):
            for id_ in column.ids:
                found.setdefault(id_, []).append(place)
        return found

    def holding(self, other: Schema) -> Schema:
        """The same schema, with types widened to hold the values of another schema's columns, too."""
        pairs = [(c, other.written_as(c)) for c in self.columns]
        columns = tuple(replace(c, type=holding(c.type, was.type)) if was else c for c, was in pairs)
        return self if columns == self.columns else replace(self, columns=columns)

    def older_as(self, other: Schema) -> Schema:
        """The same schema, with the initial defaults of another where that has the column."""
        pairs = [(c, other.written_as(c)) for c in self.columns]
        columns = tuple(replace(c, initial_default=was.initial_default) if was else c for c, was in pairs)
        return self if columns == self.columns else replace(self, columns=columns)

    def own(self, columns: Iterable[Column]) -> tuple[Column, ...]:
        """The columns as this schema describes them."""
        return tuple(self._by_id.get(c.id, c) for c in columns)

    @cached_property
    def _by_any_id(self) -> dict[ColumnId, Column]:
        return {i: c for c in self.stored for i in c.also} | self._by_id

    @cached_property
    def _by_id(self) -> dict[ColumnId, Column]:
        return {c.id: c for c in self.stored}

    @cached_property
    def _places(self) -> dict[str, int]:
        return {c.name.lower(): n for n, c in enumerate(self.columns)}

    @cached_property
    def _by_name(self) -> dict[str, Column]:
        return {c.name.lower(): c for c in self.columns} | {c.name: c for c in self.columns}

    def find(self, name: str) -> Column | None:
        """Find a column as Spark does: by the exact name, else without regard to case."""
        return self._by_name.get(name) or self._by_name.get(name.lower())

    def named(self, words: Iterable[str]) -> tuple[Column, ...]:
        """The columns whose names, in lower case, are among these words; in the order of the schema."""
        return tuple(self.columns[n] for n in sorted(self._places[w] for w in words if w in self._places))

    def column(self, name: str) -> Column:
        """Return the column of this name; the error names the nearest ones."""
        found = self.find(name)
        if found is None:
            near = get_close_matches(name, self.names, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"columns: {', '.join(self.names[:20])}"
            raise NotFound(f"there is no column {name!r}", hint=hint, column=name)
        return found

    def select(self, names: Iterable[str] | None) -> tuple[Column, ...]:
        """Return the named columns in the order asked for; all of them for None."""
        if names is None:
            return self.columns
        chosen = tuple(self.column(n) for n in names)
        seen: set[ColumnId] = set()
        for c in chosen:
            if c.id in seen:
                raise InvalidRequest(f"column {c.name!r} is named twice", hint="name each column once", column=c.name)
            seen.add(c.id)
        return chosen


def _also_called(column: Column, others: Sequence[Column]) -> Column:
    more = [i for other in others if other.ids & column.ids for i in (other.id, *other.also) if i not in column.ids]
    return replace(column, also=(*column.also, *dict.fromkeys(more))) if more else column


def make_schema(columns: Sequence[Column], key: Sequence[str]) -> Schema:
    """Check the columns and key of a new table, and make its schema."""
    _refuse_repeated_names([c.name for c in columns])
    if not columns:
        raise InvalidRequest("a table needs at least one column", hint="give columns in schema= or in the data")
    if len({c.id for c in columns}) < len(columns):
        raise InvalidRequest("a column comes twice in the schema", hint="name each column once")
    draft = Schema(SchemaId(new_id("s")), tuple(columns), ())
    chosen = [draft.column(name) for name in key]
    if len({c.id for c in chosen}) < len(chosen):
        raise InvalidRequest(f"the key names a column twice: {', '.join(key)}", hint="name each column once")
    for column in chosen:
        if not column.type.can_be_key:
            hint = "choose integers, decimals, strings, dates, times or binary"
            raise InvalidRequest(f"column {column.name!r} of type {column.type} can't be a key", hint=hint)
    ids = tuple(c.id for c in chosen)
    not_null = tuple(replace(c, nullable=False) if c.id in ids else c for c in columns)
    return Schema(draft.id, not_null, ids)


def new_column(name: str, type_: DataType, *, nullable: bool = True, default: str | None = None) -> Column:
    """Make a column with a fresh id."""
    return Column(new_column_id(), check_part(name, "column"), type_, nullable, default)


def parse_columns(described: dict[str, str]) -> tuple[Column, ...]:
    """Read `{"id": "bigint NOT NULL", "qty": "int DEFAULT 0 COMMENT 'pieces'"}`."""
    return tuple(_parse_column(name, text) for name, text in described.items())


def _parse_column(name: str, text: str) -> Column:
    if not isinstance(text, str):
        raise InvalidRequest(
            f"the type of column {name!r} is {text!r}, text was expected", hint="such as 'bigint NOT NULL'"
        )
    type_, rest = parse_type_before(text)
    clauses = parse_clauses(rest)
    if clauses is None:
        message = f"{text!r} is not a type that a column can have: {rest.strip()!r} comes after {type_}"
        hint = "such as 'int', 'int NOT NULL DEFAULT 0' or \"int COMMENT 'pieces'\""
        raise InvalidRequest(message, hint=hint, column=name)
    default = clauses.get("DEFAULT")
    if default == "":
        raise InvalidRequest(f"column {name!r}: DEFAULT has no value", hint="such as 'int DEFAULT 0'")
    made = new_column(name, type_, nullable="NOT" not in clauses, default=default)
    return replace(made, comment=clauses.get("COMMENT") or None)


def _refuse_repeated_names(names: list[str]) -> None:
    seen: dict[str, str] = {}
    for name in names:
        if name.lower() in seen:
            hint = "Spark does not tell names apart by case; rename one"
            raise InvalidRequest(f"columns {seen[name.lower()]!r} and {name!r} have the same name", hint=hint)
        seen[name.lower()] = name


def schema_document(schema: Schema) -> dict[str, Any]:
    """Turn a schema into plain values, as the catalogue and the commit's hash hold it."""
    return {"columns": [_column_document(c) for c in schema.columns], "key": list(schema.key)}


def _column_document(column: Column) -> dict[str, Any]:
    described = {
        "id": column.id,
        "name": column.name,
        "type": str(column.type),
        "nullable": column.nullable,
        "default": column.default,
        "initial_default": column.initial_default,
    }
    more = {"also": list(column.also), "comment": column.comment}
    return described | {name: value for name, value in more.items() if value}


def read_schema(id_: str, document: dict[str, Any]) -> Schema:
    """Turn plain values back into a schema; raise Corrupt if they describe none."""
    try:
        columns = tuple(_read_column(described) for described in document["columns"])
        found = Schema(SchemaId(id_), columns, tuple(ColumnId(k) for k in document["key"]))
        _refuse_repeated_names([check_part(c.name, "column") for c in columns])
        _ = found.key_columns
    except (InvalidRequest, TypeError, ValueError, LookupError, AttributeError) as error:
        hint = "restore the catalogue from a backup"
        raise Corrupt(f"the catalogue describes schema {id_!r} as none can be: {error}", hint=hint) from error
    return found


def _read_column(details: dict[str, Any]) -> Column:
    also = tuple(_read_id(i) for i in details.get("also", ()))
    type_ = parse_type(details["type"])
    described = details["nullable"], details["default"], details["initial_default"], also, details.get("comment")
    if not all(text is None or isinstance(text, str) for text in (*described[1:3], described[4])):
        raise ValueError(f"column {details['name']!r} has a default or comment that is no text")
    return Column(_read_id(details["id"]), details["name"], type_, *described)


def _read_id(text: str) -> ColumnId:
    if not _ID.fullmatch(text):
        raise ValueError(f"{text!r} is no id of a column")
    return ColumnId(text)


def column_types(columns: Iterable[Column]) -> tuple[tuple[str, DataType], ...]:
    """The columns as files have them: ids and types."""
    return tuple((str(c.id), c.type) for c in columns)


_RESERVED_FROM = 2_147_483_447
"""Iceberg keeps the greatest 200 numbers of 32 bits for itself."""


@lru_cache(maxsize=65_536)
def field_id(path: str) -> int:
    """The number of a column, or of a field inside it; `path` is the names in the file, joined by dots."""
    digest = hashlib.sha256(path.encode()).digest()
    return 1 + int.from_bytes(digest[:8], "big") % (_RESERVED_FROM - 1)
