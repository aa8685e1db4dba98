"""create_table: a new table from data, from a schema, or both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from anabranch.errors import InvalidRequest
from anabranch.model.ids import ThingId, new_id
from anabranch.model.schema import Column, make_schema
from anabranch.plan.commit import ThingDraft, draft_state, with_statement
from anabranch.queries.expressions import Expression
from anabranch.repo.context import Context
from anabranch.repo.inputs import columns_of, key_names, read_input, read_schema_argument
from anabranch.repo.insert import insert_input


def create_table(
    ctx: Context, parent: ThingId, name: str, data: Any, key: str | Sequence[str] | None, schema: Any
) -> ThingDraft:
    """Make the draft of a table, with its first rows if there are any."""
    columns = read_schema_argument(schema) if schema is not None else ()
    given = read_input(data, columns) if data is not None else None
    if schema is None and given is not None:
        columns = columns_of(given)
    elif schema is None:
        raise InvalidRequest(f"table {name!r} has neither data nor a schema", hint="give rows, or schema=")
    _check_defaults(columns)
    keys = key_names(key)
    if not keys:
        hint = "name the columns that identify a row with key="
        raise InvalidRequest(f"table {name!r} needs a key", hint=hint)
    made = make_schema(columns, keys)
    table = ThingDraft(ThingId(new_id("t")), "table", parent, name, None, made, operations=("create",))
    if given is None:
        return table
    return with_statement(table, insert_input(ctx, draft_state(table), given, {}))


def _check_defaults(columns: Sequence[Column]) -> None:
    for column in columns:
        if column.default is not None:
            Expression.of(column.default, None, f"default of {column.name!r}")
