"""How rows and changes come together for a read, as a table of cases."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from anabranch.model.ids import ColumnId, ObjectId, SchemaId, ThingId
from anabranch.model.objects import KeyRange, Layer, StoredObject
from anabranch.model.schema import Column, Schema
from anabranch.model.tables import TableState
from anabranch.model.types import DataType
from anabranch.plan.read_strategy import QueryRead, Read, choose_strategy, sort_layers
from anabranch.settings import WIDE_CHANGE_COLUMNS, Settings

MANY = WIDE_CHANGE_COLUMNS
SCHEMA = Schema(
    SchemaId("s"),
    (
        Column(ColumnId("k"), "k", DataType("bigint"), nullable=False),
        *(Column(ColumnId(f"c{n}"), f"c{n}", DataType("int")) for n in range(MANY)),
    ),
    (ColumnId("k"),),
)


def layer(turn: int, kind: Any, low: int, high: int, touched: int = MANY, **facts: Any) -> Layer:
    ids = tuple(ColumnId(f"c{n}") for n in range(touched)) if kind == "update" else ()
    made = StoredObject(
        id=ObjectId(f"{kind}{turn}{low}"),
        kind=kind,
        schema_id=SCHEMA.id,
        place="root",
        path=f"{kind}{turn}{low}.parquet",
        row_count=high - low + 1,
        size_bytes=1000,
        sha256="0",
        touched=ids,
        key_range=KeyRange((low,), (high,)),
    )
    return Layer(turn, replace(made, **facts))


def read(*layers: Layer, columns: int = 2, **given: Any) -> Read:
    state = TableState(ThingId("t"), "t", SCHEMA, 10, layers, {SCHEMA.id: SCHEMA})
    given.setdefault("setting", "auto")
    given.setdefault("settings", Settings())
    return Read(state, SCHEMA.columns[:columns], **given)


ROWS, LATER = layer(0, "rows", 0, 99), layer(2, "rows", 100, 199)
UPDATE = layer(1, "update", 5, 7)
DUCK, SPARK = QueryRead(in_process=True), QueryRead(in_process=False)
LARGE = replace(
    Settings(),
    memory=replace(Settings().memory, overlay_row_limit=0),
    spark=replace(Settings().spark, overlay_file_limit_bytes=0),
)
NO_MEMORY = replace(Settings(), spark=replace(Settings().spark, broadcast_limit_bytes=10))


@pytest.mark.parametrize(
    ("wanted", "strategy"),
    [
        (read(ROWS), "plain"),
        (read(ROWS, layer(1, "update", 500, 600)), "plain"),
        (read(ROWS, UPDATE, columns=1), "plain"),
        (read(layer(3, "rows", 0, 99), UPDATE), "plain"),
        (read(ROWS, UPDATE), "joined"),
        (read(ROWS, UPDATE, query=DUCK), "kept"),
        (read(ROWS, layer(1, "delete", 5, 7), query=DUCK, columns=1), "kept"),
        (read(ROWS, UPDATE, query=DUCK, settings=LARGE), "folded"),
        (read(ROWS, UPDATE, query=replace(DUCK, all_rows=True), settings=LARGE), "kept"),
        (read(ROWS, UPDATE, query=DUCK, settings=NO_MEMORY), "joined"),
        (read(ROWS, UPDATE, query=DUCK, is_look_up=True, key_rows=1), "joined"),
        (read(ROWS, UPDATE, query=SPARK), "kept"),
        (read(ROWS, UPDATE, query=SPARK, settings=LARGE), "folded"),
        (read(ROWS, UPDATE, query=SPARK, setting="spark"), "joined"),
        (read(ROWS, UPDATE, columns=MANY + 1), "applied"),
        (read(ROWS, UPDATE, columns=MANY), "joined"),
        (read(ROWS, UPDATE, columns=MANY + 1, setting="spark"), "joined"),
        (read(ROWS, UPDATE, columns=MANY + 1, is_look_up=True, key_rows=10), "applied"),
        (read(ROWS, UPDATE, columns=MANY + 1, is_look_up=True, key_rows=1 << 20), "joined"),
        (read(ROWS, UPDATE, columns=MANY + 1, is_look_up=True), "joined"),
    ],
)
def test_the_strategy_follows_from_what_is_read(wanted: Read, strategy: str) -> None:
    assert choose_strategy(wanted) == strategy


def test_changes_act_on_older_rows_whose_keys_they_may_hold() -> None:
    far, early = layer(1, "update", 300, 400), layer(1, "delete", 100, 101)
    found = sort_layers((ROWS, LATER, UPDATE, far, early), SCHEMA.columns[:2])
    assert (found.plain, found.changed, found.changes) == ((LATER,), (ROWS,), (UPDATE,))


def test_small_rows_are_read_with_changed_ones_on_spark() -> None:
    small = layer(2, "rows", 100, 199, place="inline", path=None)
    assert read(ROWS, small, UPDATE, query=SPARK).layers.changed == (ROWS, small)
    assert read(ROWS, small, UPDATE, query=DUCK).layers.plain == (small,)
