"""Plans of the writing verbs: what an update, delete, insert or upsert changes, and which keys offend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from anabranch.model.schema import Column, Schema
from anabranch.queries.query import (
    Query,
    Source,
    Sources,
    aliased,
    any_of,
    cast_to,
    col,
    distinct_from,
    null_of,
    number,
    same_key,
    subquery,
    table,
)
from anabranch.queries.scan import named

OP, FOUND = "ana_op", "ana_found"
INSERT, UPDATE, DELETE, SAME = "I", "U", "D", "="


def updated(
    query: Query,
    read: Sequence[Column],
    schema: Schema,
    values: Mapping[str, exp.Expression],
    alias: str,
    where: exp.Expression | None,
) -> Query:
    """The key, and the set columns before and after, of every row that really changes.

    `values` gives the new value of each set column by its id; none of them is part of the key.
    """
    picked = [aliased(col(c.name), c.id) for c in schema.key_columns]
    changed = []
    for column in schema:
        if column.id in values:
            picked.append(aliased(cast_to(values[column.id], column.type), column.id))
            picked.append(aliased(col(column.name), column.before))
            changed.append(distinct_from(col(column.before), col(column.id)))
    inner = exp.select(*picked).from_(named(query, read, alias))
    if where is not None:
        inner = inner.where(where)
    return query.over(exp.select(exp.Star()).from_(subquery(inner, "u")).where(any_of(changed)))


def moved(
    query: Query, schema: Schema, values: Mapping[str, exp.Expression], alias: str, where: exp.Expression | None
) -> Query:
    """Every row that a change of the key selects: all columns before, and all columns after."""
    picked = []
    for column in schema:
        value = cast_to(values[column.id], column.type) if column.id in values else col(column.name)
        picked += [aliased(value, column.id), aliased(col(column.name), column.before)]
    inner = exp.select(*picked).from_(named(query, schema.columns, alias))
    if where is not None:
        inner = inner.where(where)
    changed = [distinct_from(col(c.before), col(c.id)) for c in schema if c.id in values]
    return query.over(exp.select(exp.Star()).from_(subquery(inner, "u")).where(any_of(changed)))


def selected_keys(
    query: Query, read: Sequence[Column], schema: Schema, alias: str, where: exp.Expression | None
) -> Query:
    """The keys of the rows that a condition selects."""
    picked = exp.select(*(aliased(col(c.name), c.id) for c in schema.key_columns)).from_(named(query, read, alias))
    return query.over(picked if where is None else picked.where(where))


def completed(
    source: Source, given: Mapping[str, str], schema: Schema, defaults: Mapping[str, exp.Expression]
) -> Query:
    """Whole rows from an input: given columns by their names there, the rest from defaults or null."""
    sources = Sources()
    name = sources.add(source)
    return Query(_whole_rows(given, schema, defaults).from_(table(name, "i")), sources.named)


def completed_from(
    query: Query, given: Mapping[str, str], schema: Schema, defaults: Mapping[str, exp.Expression]
) -> Query:
    """Whole rows from the rows of a query."""
    return query.over(_whole_rows(given, schema, defaults).from_(subquery(query.expression, "i")))


def _whole_rows(given: Mapping[str, str], schema: Schema, defaults: Mapping[str, exp.Expression]) -> exp.Select:
    picked = []
    for column in schema:
        if column.id in given:
            value: exp.Expression = cast_to(col(given[column.id], "i"), column.type)
        elif column.id in defaults:
            value = cast_to(defaults[column.id], column.type)
        else:
            value = null_of(column.type)
        picked.append(aliased(value, column.id))
    return exp.select(*picked)


def narrowed(source: Source, given: Mapping[str, str], columns: Sequence[Column]) -> Query:
    """Columns of an input under their ids."""
    sources = Sources()
    name = sources.add(source)
    picked = [aliased(cast_to(col(given[c.id], "i"), c.type), c.id) for c in columns]
    return Query(exp.select(*picked).from_(table(name, "i")), sources.named)


def repeated_keys(query: Query, key: Sequence[Column], limit: int) -> Query:
    """Keys that occur more than once."""
    keys = [col(c.id) for c in key]
    many = exp.GT(this=exp.Count(this=exp.Star()), expression=number(1))
    picked = exp.select(*keys).from_(subquery(query.expression, "i")).group_by(*keys).having(many)
    return query.over(picked.limit(limit))


def missing_values(query: Query, columns: Sequence[Column], key: Sequence[Column], limit: int) -> Query:
    """Rows that have a null in one of these columns."""
    picked = exp.select(*(col(c.id) for c in dict.fromkeys((*key, *columns)))).from_(subquery(query.expression, "i"))
    nulls = any_of([exp.Is(this=col(c.id), expression=exp.Null()) for c in columns])
    return query.over(picked.where(nulls).limit(limit))


def taken_keys(query: Query, existing: Query, key: Sequence[Column], limit: int) -> Query:
    """Keys of an input that the table has already; both queries share their sources."""
    ids = [str(c.id) for c in key]
    picked = exp.select(*(col(k, "i") for k in ids)).from_(subquery(query.expression, "i"))
    joined = picked.join(subquery(existing.expression, "e"), on=same_key(ids, "i", "e"), join_type="left semi")
    return Query(joined.limit(limit), {**existing.sources, **query.sources}, {**existing.args, **query.args})


def matched(rows: Source, existing: Query, schema: Schema, given: Sequence[Column], sources: Sources) -> Query:
    """Rows of an input beside what the table has at their keys: to insert, to update, or the same."""
    ids = [str(k) for k in schema.key]
    plain = [c for c in given if c.id not in schema.key]
    first = ids[0]
    changed = any_of([distinct_from(col(c.id, "e"), col(c.id, "i")) for c in plain])
    op = (
        exp.case()
        .when(exp.Is(this=col(first, "e"), expression=exp.Null()), exp.Literal.string(INSERT))
        .when(changed, exp.Literal.string(UPDATE))
        .else_(exp.Literal.string(SAME))
    )
    picked = [aliased(col(c.id, "i"), c.id) for c in given]
    picked += [aliased(col(c.id, "e"), c.before) for c in plain]
    query = exp.select(*picked, aliased(op, OP)).from_(table(sources.add(rows), "i"))
    query = query.join(subquery(existing.expression, "e"), on=same_key(ids, "i", "e"), join_type="left")
    return Query(query, sources.named)


def compared(before: Query, after: Query, schema: Schema, columns: Sequence[Column], sources: Sources) -> Query:
    """The difference of two states at the same keys: one row per key, with what became of it."""
    ids = [str(k) for k in schema.key]
    plain = [c for c in columns if c.id not in schema.key]
    changed = any_of([distinct_from(col(c.id, "b"), col(c.id, "a")) for c in plain])
    op = (
        exp.case()
        .when(exp.Is(this=col(ids[0], "b"), expression=exp.Null()), exp.Literal.string(INSERT))
        .when(exp.Is(this=col(ids[0], "a"), expression=exp.Null()), exp.Literal.string(DELETE))
        .when(changed, exp.Literal.string(UPDATE))
        .else_(exp.Literal.string(SAME))
    )
    picked: list[exp.Expression] = [aliased(exp.Coalesce(this=col(k, "a"), expressions=[col(k, "b")]), k) for k in ids]
    for c in plain:
        picked += [aliased(col(c.id, "a"), c.id), aliased(col(c.id, "b"), c.before)]
    query = exp.select(*picked, aliased(op, OP)).from_(subquery(before.expression, "b"))
    query = query.join(subquery(after.expression, "a"), on=same_key(ids, "b", "a"), join_type="full")
    return Query(query, sources.named)


def of_kind(query: Query, op: str, columns: Sequence[str]) -> Query:
    """The rows of one kind among matched or compared ones."""
    picked = exp.select(*(col(name) for name in columns)).from_(subquery(query.expression, "m"))
    return query.over(picked.where(exp.EQ(this=col(OP), expression=exp.Literal.string(op))))


def picked_columns(query: Query, columns: Mapping[str, str]) -> Query:
    """Columns of a query under other names."""
    picked = [aliased(col(old), new) for new, old in columns.items()]
    return query.over(exp.select(*picked).from_(subquery(query.expression, "p")))


def ordered(query: Query, key: Sequence[str]) -> Query:
    """The rows of a query in the order of the key."""
    return query.over(exp.select(exp.Star()).from_(subquery(query.expression, "q")).order_by(*(col(k) for k in key)))


def distinct_keys(parts: Sequence[Source], key: Sequence[Column]) -> Query:
    """Each key that occurs in one of the sources, once."""
    sources = Sources()
    selects = [exp.select(*(col(c.id, "o") for c in key)).from_(table(sources.add(p), "o")) for p in parts]
    whole: exp.Select | exp.Union = selects[0]
    for part in selects[1:]:
        whole = exp.Union(this=whole, expression=part, distinct=False)
    keys = [col(c.id) for c in key]
    return Query(exp.select(*keys).from_(subquery(whole, "k")).distinct(), sources.named)
