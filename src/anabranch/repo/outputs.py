"""What users get: rows as dicts and as pandas frames, with every value as it was written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    import pandas


def to_dicts(rows: pa.Table) -> list[dict[str, Any]]:
    """Rows as dicts; a map is a dict, too, or a list of pairs where its keys can't be a dict's."""
    columns = [rows.column(i).to_pylist(maps_as_pydicts=_map_form(f.type)) for i, f in enumerate(rows.schema)]
    return [dict(zip(rows.column_names, values, strict=True)) for values in zip(*columns, strict=True)]


def to_pandas(rows: pa.Table) -> pandas.DataFrame:
    """Rows as a pandas frame; whole numbers stay whole where there are nulls among them."""
    import pandas

    nullable = {
        pa.int8(): pandas.Int8Dtype(),
        pa.int16(): pandas.Int16Dtype(),
        pa.int32(): pandas.Int32Dtype(),
        pa.int64(): pandas.Int64Dtype(),
    }
    with_nulls = {f.type for i, f in enumerate(rows.schema) if rows.column(i).null_count}
    chosen = {type_: dtype for type_, dtype in nullable.items() if type_ in with_nulls}
    forms = {_map_form(f.type) for f in rows.schema}
    form = None if None in forms else "strict"
    found: pandas.DataFrame = rows.to_pandas(types_mapper=chosen.get, maps_as_pydicts=form)
    return found


def _map_form(type_: pa.DataType) -> str | None:
    """`strict` if every map inside can be a dict: nested keys can't be a dict's."""
    if not pa.types.is_nested(type_):
        return "strict"
    if pa.types.is_map(type_) and pa.types.is_nested(type_.key_type):
        return None
    parts = [type_.item_type] if pa.types.is_map(type_) else [type_.field(i).type for i in range(type_.num_fields)]
    return "strict" if all(_map_form(part) for part in parts) else None
