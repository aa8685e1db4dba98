"""create_table: a new table from data, from a schema, or both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from anabranch.errors import InvalidRequest
from anabranch.frames.input import Input, columns_of, key_names, read_input, read_schema_argument, refuse_key_in_index
from anabranch.model.ids import SchemaId, ThingId, new_id
from anabranch.model.schema import Column, Schema, make_schema
from anabranch.model.types import DataType, can_store, can_widen
from anabranch.plan.commit import ThingDraft, draft_state, with_statement
from anabranch.plan.properties import check_properties
from anabranch.proven.expression import Expression, Unproven
from anabranch.proven.table.types import assignable
from anabranch.repo.context.context import Context
from anabranch.repo.context.kept_expressions import check_kept_rules
from anabranch.repo.write.alter_table import cluster_columns
from anabranch.repo.write.defaults import default_expression, default_value
from anabranch.repo.write.insert import insert_input


@dataclass(frozen=True)
class NewTable:
    """The arguments of `create_table`."""

    name: str
    parent: ThingId
    data: Any
    key: str | Sequence[str] | None
    schema: Any
    cluster_by: str | Sequence[str] | None
    properties: Mapping[str, str] | None


def create_table(ctx: Context, asked: NewTable) -> ThingDraft:
    """Draft a table, with its first rows if any are given."""
    columns = read_schema_argument(asked.schema) if asked.schema is not None else ()
    given = read_input(asked.data, columns) if asked.data is not None else None
    if given is not None:
        refuse_key_in_index(given, key_names(asked.key))
    if asked.schema is None:
        columns = _columns(asked, given)
    _check_defaults(ctx, columns)
    made = make_schema(columns, key_names(asked.key))
    id_, described = ThingId(new_id("t")), _attributes(asked, made)
    table = ThingDraft(id_, "table", asked.parent, asked.name, None, made, operations=("create",), attributes=described)
    if given is None:
        return table
    return with_statement(table, insert_input(ctx, draft_state(table), given, {}))


def _columns(asked: NewTable, given: Input | None) -> tuple[Column, ...]:
    if given is None:
        raise InvalidRequest(f"table {asked.name!r} has neither data nor a schema", hint="give rows, or schema=")
    return columns_of(given)


def _attributes(asked: NewTable, schema: Schema) -> dict[str, Any]:
    found = {
        "cluster_by": cluster_columns(schema, asked.cluster_by),
        "properties": check_kept_rules(check_properties(asked.properties or {})),
    }
    return {name: value for name, value in found.items() if value}


def _check_defaults(ctx: Context, columns: Sequence[Column]) -> None:
    """Refuse defaults whose type or value does not fit; those that only Spark knows are checked when rows come."""
    for column in columns:
        if column.default is None:
            continue
        what = f"default of {column.name!r}"
        default = default_expression(column.default, column.name)
        given = _proven_type(default)
        if given is not None and not can_store(given, column.type):
            message = f"{what}: column {column.name!r} is {column.type}, the value is {given}"
            raise InvalidRequest(message, hint="cast it in the expression")
        if given is None or can_widen(given, column.type) or column.type.only_spark:
            continue
        if not column.type.is_nested or assignable(given, column.type):
            _refuse_misfit(ctx, default, column)


def _refuse_misfit(ctx: Context, default: Expression, column: Column) -> None:
    """Compute a default whose type is wider than the column's, to see that its value fits."""
    try:
        default_value(ctx, default, column)
    except InvalidRequest as error:
        message = f"the default of column {column.name!r} is {default.text}: {error.message}"
        raise InvalidRequest(message, hint=error.hint, column=column.name) from error


def _proven_type(default: Expression) -> DataType | None:
    """The type of a default, or None if only Spark knows it."""
    try:
        return default.for_duck(Schema(SchemaId(""), (), ()))[1]
    except Unproven:
        return None
