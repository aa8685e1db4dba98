"""Checks of a table: conditions that every row meets, tested on every write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from anabranch.errors import AlreadyExists, InvalidRequest, NotFound
from anabranch.model.names import check_part
from anabranch.model.objects import NewObject
from anabranch.model.schema import Column, Schema
from anabranch.model.tables import TableState
from anabranch.plan.commit import ThingDraft, draft_state, with_attributes
from anabranch.proven.expression import Expression
from anabranch.queries import writes as changes
from anabranch.queries.query import Query
from anabranch.queries.scan import typed_values
from anabranch.repo.context.context import Context
from anabranch.repo.context.kept_expressions import kept, to_keep
from anabranch.repo.read.conditions import pick_engine, rendered
from anabranch.repo.write.refusals import NAMED_AT_MOST, listed
from anabranch.repo.write.write import Pending, Write
from anabranch.sql.grammar.tokens import find_qualified


def add_check(ctx: Context, table: ThingDraft, name: str, condition: str, pending: Pending) -> ThingDraft:
    """Add a check, which every existing row must pass."""
    known = dict(table.attributes.get("checks", {}))
    check_part(name, "check")
    if name in known:
        raise AlreadyExists(f"table {table.name!r} has a check {name!r}: {known[name]}", hint="drop it first")
    state = draft_state(table)
    condition = _unqualified(to_keep(condition, f"check {name!r}").text, state)
    test = {name: to_keep(condition, f"check {name!r}")}
    _refuse_unheld(ctx, state, test, pending, f"check {name!r} of {table.name!r}")
    return with_attributes(table, "alter column", checks={**known, name: condition})


def refuse_unheld_on(ctx: Context, table: ThingDraft, column: Column, pending: Pending) -> None:
    """Refuse a new type for a column if one of its checks then fails, or is no longer a condition."""
    state = draft_state(table)
    what = f"column {column.name!r} of {table.name!r} can't become {column.type}"
    for name, check in checks_on(state, [column]).items():
        _refuse_unheld(ctx, state, {name: check}, pending, what)


def _refuse_unheld(
    ctx: Context, state: TableState, test: Mapping[str, Expression], pending: Pending, what: str
) -> None:
    """Refuse a check that some row of the table breaks."""
    (check,) = test.values()
    read = _read(state.schema, test)
    write = Write(ctx, pick_engine(ctx, state, what, read, [check]), state, pending, what)
    _refuse_not_boolean(write, check)
    query = write.scan(read)
    with write.reading():
        _refuse_broken(write, query, test)


def _unqualified(condition: str, state: TableState) -> str:
    """The condition without the table's name before its columns, so that it survives a rename."""
    pieces, at = [], 0
    for token, column in find_qualified(condition, state.name.rsplit(".", 1)[-1]):
        if column.is_name and state.schema.find(column.name):
            pieces.append(condition[at : token.start])
            at = column.start
    return "".join((*pieces, condition[at:]))


def drop_check(table: ThingDraft, name: str) -> ThingDraft:
    """Drop a check."""
    known = dict(table.attributes.get("checks", {}))
    if name not in known:
        hint = f"there: {', '.join(sorted(known)) or 'none'}"
        raise NotFound(f"table {table.name!r} has no check {name!r}", hint=hint, check=name)
    del known[name]
    return with_attributes(table, "alter column", checks=known)


def refuse_used(table: ThingDraft, column: Column, what: str) -> None:
    """Refuse to drop or rename a column that a check uses."""
    for name, condition in table.attributes.get("checks", {}).items():
        if column in Expression.of(condition, None, f"check {name!r}").columns(table.table_schema):
            hint = f"drop the check first, and add it again after: drop_check({name!r})"
            raise InvalidRequest(f"column {column.name!r} can't be {what}: check {name!r} uses it", hint=hint)


def checks_on(state: TableState, changed: Sequence[Column] | None = None) -> dict[str, Expression]:
    """The checks of a table; with `changed`, those that use one of these columns."""
    ids = None if changed is None else {c.id for c in changed}
    found = {}
    for name, condition in state.attributes.get("checks", {}).items():
        check = kept(condition, f"check {name!r}")
        if ids is None or any(c.id in ids for c in check.columns(state.schema)):
            found[name] = check
    return found


def refuse_broken_checks(write: Write, made: Sequence[NewObject], checks: Mapping[str, Expression]) -> None:
    """Test rows just written, as the table will have them."""
    if not checks or not made:
        return
    after = write.after(made)
    query = after.scan(_read(write.schema, checks), write.keys_of(made))
    with after.reading():
        _refuse_broken(write, query, checks)


def _read(schema: Schema, checks: Mapping[str, Expression]) -> tuple[Column, ...]:
    spoken = [c for check in checks.values() for c in check.columns(schema)]
    return tuple(dict.fromkeys((*schema.key_columns, *spoken)))


def _refuse_broken(write: Write, query: Query, checks: Mapping[str, Expression]) -> None:
    """Refuse rows that break a check, naming some."""
    schema, read = write.schema, _read(write.schema, checks)
    for name, check in checks.items():
        test = rendered(check, write.engine, schema)
        found = write.engine.fetch(changes.broken_rows(query, read, test, write.alias, NAMED_AT_MOST))
        if found.num_rows:
            rows = _shown(found, schema)
            message = f"{write.what}: check {name!r} ({check.text}) does not hold for: {listed(rows)}"
            raise InvalidRequest(message, hint="change these rows, or drop the check", check=name, rows=rows)


def _shown(found: pa.Table, schema: Schema) -> list[dict[str, object]]:
    """Rows for an error message, without the hidden row id."""
    hidden = [] if schema.has_key else [c.name for c in schema.key_columns]
    rows: list[dict[str, object]] = found.drop_columns(hidden).to_pylist()
    return rows


def _refuse_not_boolean(write: Write, check: Expression) -> None:
    if write.engine.in_process:
        found = check.for_duck(write.schema)[1]
    else:
        values = {"v": check.for_spark()}
        typed = typed_values(write.scan(write.schema.columns), write.schema.columns, values, write.alias)
        (found,) = write.engine.types(typed)
    if found is not None and found.name != "boolean":
        message = f"{write.what}: {check.text!r} is {found}, a condition was expected"
        raise InvalidRequest(message, hint="such as 'qty >= 0'")
