"""Small tables with nasty rows, and the running of one query over them on both engines."""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from anabranch.arrow.plain import plain
from anabranch.arrow.types import arrow_type
from anabranch.engines.duck import DuckEngine
from anabranch.model.ddl import parse_type
from anabranch.model.types import DataType
from anabranch.proven.query import ProvenQuery, bound, prove_query
from anabranch.queries.query import Query, Rows, reading_of

NAN, INF = float("nan"), float("inf")
TYPES: dict[str, dict[str, str]] = {
    "orders": {
        "id": "int",
        "customer": "int",
        "status": "string",
        "price": "decimal(10,2)",
        "qty": "int",
        "x": "double",
        "f": "float",
        "big": "bigint",
        "day": "date",
        "at": "timestamp",
        "ntz": "timestamp_ntz",
        "paid": "boolean",
        "tags": "array<int>",
    },
    "customers": {
        "id": "int",
        "name": "string",
        "city": "string",
        "score": "double",
        "level": "tinyint",
        "credit": "decimal(7,3)",
        "code": "binary",
    },
    "items": {"order_id": "bigint", "sku": "string", "qty": "smallint", "x": "double"},
    "nothing": {"id": "int", "v": "string", "d": "decimal(5,2)", "x": "double"},
}
_DAY = dt.date(2024, 2, 29)
_AT = dt.datetime(2024, 2, 29, 23, 59, 59, 999999)
_Z = dt.UTC
ROWS: dict[str, list[tuple[Any, ...]]] = {
    "orders": [
        (1, 1, "new", Decimal("10.00"), 3, 0.0, 0.0, 1, _DAY, _AT.replace(tzinfo=_Z), _AT, True, [1, 2]),
        (2, 1, "paid", Decimal("2.50"), 1, -0.0, -0.0, 2, _DAY, _AT.replace(tzinfo=_Z), _AT, False, []),
        (3, 2, "new", Decimal("-0.05"), 0, NAN, NAN, 2**53 + 1, dt.date(1969, 12, 31), None, None, None, [None]),
        (4, 2, "", Decimal("99999999.99"), -7, INF, 1.5, -5, dt.date(1, 1, 1), None, _AT, True, None),
        (5, None, "Ärger", None, None, None, None, None, None, None, None, None, None),
        (6, 3, "paid", Decimal("2.50"), 1, 1.5, 1.5, 2, _DAY, _AT.replace(tzinfo=_Z), None, False, [3]),
        (7, 9, None, Decimal("0.01"), 2, 2.5, 0.25, 7, dt.date(9999, 12, 31), None, _AT, True, [1, 2]),
        (8, 3, "🤦 x", Decimal("7.77"), 2, -1.5, -1.5, 8, dt.date(2020, 1, 1), None, None, False, [9]),
        (9, 1, "new", Decimal("10.00"), 3, NAN, NAN, 1, _DAY, _AT.replace(tzinfo=_Z), _AT, None, [1, 2]),
        (10, 3, "NEW", Decimal("3.33"), 5, 3.25, 3.25, 10, dt.date(2021, 6, 1), None, None, True, [4]),
    ],
    "customers": [
        (1, "Ann", "Köln", 1.5, 1, Decimal("1.005"), b"a"),
        (2, "bob", "", -0.0, 2, Decimal("-2.500"), b"\xff\x00"),
        (3, "Zoë", None, NAN, None, None, None),
        (4, None, "Köln", 0.0, 127, Decimal("9999.999"), b""),
        (None, "ghost", "Bonn", None, -128, Decimal("0.000"), b"b"),
        (5, "日本", "Bonn", 2.5, 1, Decimal("1.005"), b"a"),
    ],
    "items": [
        (1, "a", 1, 0.0),
        (1, "b", 2, -0.0),
        (2, "a", 3, NAN),
        (4, "c", None, 1.5),
        (4, "c", None, 1.5),
        (None, "a", 5, None),
        (10, "", 7, 2.5),
        (11, None, 32767, NAN),
    ],
    "nothing": [],
}
ARGS = {"n": 3, "name": "Ann", "price": Decimal("2.50"), "day": _DAY, "none": None, "flag": True, "x": 1.5}


def columns_of(name: str) -> list[tuple[str, DataType]]:
    """A table's columns."""
    return [(n, parse_type(t)) for n, t in TYPES[name].items()]


def table_of(name: str) -> pa.Table:
    """A table's rows."""
    values = list(zip(*ROWS[name], strict=True)) or [()] * len(TYPES[name])
    arrays = [pa.array(list(v), arrow_type(t)) for v, (_, t) in zip(values, columns_of(name), strict=True)]
    return pa.table(dict(zip(TYPES[name], arrays, strict=True)))


_TABLES = {name: table_of(name) for name in TYPES}


def prove(text: str, args: Mapping[str, Any] | None = None) -> ProvenQuery:
    """Prove a query in which tables are written as `{orders} o` or `{orders}`."""
    relations = {f"ana_source_{n}": columns_of(name) for n, name in enumerate(TYPES, 1)}
    return prove_query(for_duck(text), relations, ARGS if args is None else args, "UTC")


def for_duck(text: str) -> str:
    """The text that `prove_query` gets."""
    for n, name in enumerate(TYPES, 1):
        text = text.replace(f"{{{name}}}", f"`ana_source_{n}`")
    return text


def for_spark(text: str) -> str:
    """The text that Spark gets."""
    return re.sub(r"\{(\w+)\}", r"proof_\1", text)


def on_duck(duck: DuckEngine, text: str) -> pa.Table:
    """The rows that DuckDB gives, which reads no more columns than the proof says."""
    proven = prove(text)
    queries: dict[str, Query] = {}
    for n, name in enumerate(TYPES, 1):
        used = proven.used.get(f"ana_source_{n}")
        if used is not None:
            kept = [c for c in TYPES[name] if c in used] or list(TYPES[name])[:1]
            queries[f"ana_source_{n}"] = reading_of(Rows(_TABLES[name]), kept)
    return duck.fetch(bound(proven, queries))


def make_views(spark: Any, folder: Path) -> None:
    """Let Spark know the tables, as files: over rows in memory it would not generate code."""
    for name, rows in _TABLES.items():
        pq.write_table(rows, folder / f"{name}.parquet")
        spark.read.parquet(str(folder / f"{name}.parquet")).createOrReplaceTempView(f"proof_{name}")


def on_spark(spark: Any, text: str) -> pa.Table:
    """The rows that Spark gives."""
    used = {k: v for k, v in ARGS.items() if re.search(rf":{k}\b", text)}
    return plain(spark.sql(for_spark(text), args=used).toArrow())


def differences(text: str, found: pa.Table, expected: pa.Table) -> list[str]:
    """What differs between two answers, and between them and what was claimed."""
    proven = prove(text)
    claimed = [(n, pa.null() if t is None else arrow_type(t)) for n, t in proven.columns]
    wrong = []
    if not [n for n, _ in claimed] == found.column_names == expected.column_names:
        wrong.append(f"names {[n for n, _ in claimed]}, DuckDB {found.column_names}, Spark {expected.column_names}")
    for (name, type_), one, other in zip(claimed, found.schema.types, expected.schema.types, strict=True):
        if type_ != other or (type_ != one and type_ != pa.null()):
            wrong.append(f"type of {name}: {type_}, DuckDB {one}, Spark {other}")
    ours, theirs = _listed(found), _listed(expected)
    if ours != theirs if proven.ordered else Counter(ours) != Counter(theirs):
        wrong.append(f"rows\n   DuckDB {ours}\n   Spark  {theirs}")
    return [f"{text}: {w}" for w in wrong]


def _listed(rows: pa.Table) -> list[tuple[str, ...]]:
    """The rows as texts: NaN equals itself, and the two zeros differ."""
    return [tuple(map(repr, row)) for row in zip(*(c.to_pylist() for c in rows.columns), strict=True)]
