"""A statement on a table in progress: what it reads, which engine runs it, how errors name it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from anabranch.engines.engine import Engine
from anabranch.model.ids import ObjectId
from anabranch.model.layers import Layers
from anabranch.model.objects import Layer, NewObject, ObjectKind, around, contents_of
from anabranch.model.schema import Column, Schema, column_types
from anabranch.model.tables import TableState
from anabranch.queries.query import Query, Rows, Source, Sources
from anabranch.queries.scan import Keys
from anabranch.repo.context.context import Context
from anabranch.repo.read.conditions import reading
from anabranch.repo.read.looked_up import rows_at
from anabranch.repo.read.scan import scan
from anabranch.repo.write.row_objects import Layout, ObjectForm, source_of, store

Pending = Mapping[ObjectId, bytes]
"""Bytes of small objects that the catalogue does not have yet."""


@dataclass(frozen=True)
class Write:
    """A statement on a table, with the engine that was chosen for it."""

    ctx: Context
    engine: Engine
    state: TableState
    pending: Pending
    what: str
    """Its name in errors."""

    @property
    def schema(self) -> Schema:
        return self.state.schema

    @property
    def alias(self) -> str:
        """The name by which expressions may refer to the table."""
        return self.state.name.rsplit(".", 1)[-1]

    def scan(
        self,
        columns: Sequence[Column],
        keys: Keys | None = None,
        sources: Sources | None = None,
        state: TableState | None = None,
    ) -> Query:
        """Read columns of the table, or of `state` if that is a part of it."""
        access = self.ctx.access(self.state.layers, self.pending)
        return scan(self.ctx, state or self.state, columns, access, keys=keys, sources=sources)

    def rows_at(self, columns: Sequence[Column], keys: Keys) -> pa.Table | None:
        """The key and columns of the rows at some keys; None if it takes an engine."""
        if not self.engine.in_process:
            return None
        return rows_at(self.ctx, self.state, columns, self.ctx.access(self.state.layers, self.pending), keys)

    def reading(self) -> reading:
        """A block that reads the table's objects."""
        return reading(self.ctx, self.state)

    def store(
        self, rows: Query | Rows, kind: ObjectKind, touched: Sequence[Column], layout: Layout | None = None
    ) -> tuple[NewObject, ...]:
        """Store rows as objects of one kind."""
        return store(self.ctx, self.engine, rows, ObjectForm(kind, self.schema, touched), layout)

    def after(self, made: Sequence[NewObject]) -> Write:
        """The same statement on the table as new objects leave it."""
        state = self.state
        layers = Layers.over(state.layers, [Layer(state.next_turn, o.stored) for o in made])
        own = contents_of(made)
        shown = replace(state, layers=layers, schemas={**state.schemas, state.schema.id: state.schema})
        return replace(self, state=shown, pending={**self.pending, **own})

    def on_nothing(self) -> Write:
        """The same statement on the table without its rows."""
        return replace(self, state=replace(self.state, layers=()))

    def source_of(self, made: Sequence[NewObject], columns: Sequence[Column]) -> Source:
        """Columns of new objects of one kind, as a source."""
        return source_of(made, self.ctx, list(column_types(columns)))

    def keys_of(self, made: Sequence[NewObject]) -> Keys:
        """The keys of new objects."""
        return Keys(self.source_of(made, self.schema.key_columns), around(o.stored.key_range for o in made))
