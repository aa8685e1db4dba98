"""Rows of files that no table takes because of their keys: null in a key column, or repeated."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from anabranch.formats.process.row_places import RowPlaces


def rows_with_bad_keys(places: RowPlaces, key: Sequence[str]) -> dict[int, str]:
    """Find rows whose key is null or repeated; the first row with a key is good."""
    names = {name.lower(): name for name in places.rows.column_names}
    columns = [names[name.lower()] for name in key if name.lower() in names]
    if not columns or len(columns) < len(key):
        return {}
    found: dict[int, str] = {}
    for name in reversed(columns):
        nulls = pc.indices_nonzero(pc.is_null(places.rows.column(name)))
        found |= dict.fromkeys(nulls.to_pylist(), f"column {name!r} of the key is null")
    return found | _repeated(places, columns, found)


def _repeated(places: RowPlaces, columns: Sequence[str], others: dict[int, str]) -> dict[int, str]:
    keys = places.rows.select(columns).append_column("_ana_row", pa.array(range(places.rows.num_rows), pa.int64()))
    groups = keys.group_by(columns).aggregate([("_ana_row", "min"), ("_ana_row", "count")])
    if groups.num_rows == keys.num_rows:
        return {}
    first = groups.filter(pc.greater(groups.column("_ana_row_count"), 1))
    joined = keys.join(first.drop_columns(["_ana_row_count"]), columns)
    later = joined.filter(pc.greater(joined.column("_ana_row"), joined.column("_ana_row_min")))
    pairs = {row["_ana_row"]: row for row in later.to_pylist() if row["_ana_row"] not in others}
    named = dict(zip(sorted({r["_ana_row_min"] for r in pairs.values()}), _named(places, pairs), strict=True))
    return {
        place: f"the key {_key_text(row, columns)} is in {named[row['_ana_row_min']]}" for place, row in pairs.items()
    }


def _named(places: RowPlaces, pairs: dict[int, dict[str, int]]) -> list[str]:
    return places.named(sorted({row["_ana_row_min"] for row in pairs.values()}))


def _key_text(row: dict[str, object], columns: Sequence[str]) -> str:
    return ", ".join(f"{name}={row[name]}" for name in columns)
