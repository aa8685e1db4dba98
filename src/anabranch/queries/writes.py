"""Plans of the writing verbs: what an update, delete, insert or upsert changes, and which keys offend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from anabranch.model.ids import ColumnId
from anabranch.model.schema import Column, Schema
from anabranch.model.types import DataType
from anabranch.queries.nested import comparable, differs, fitted, from_memory
from anabranch.queries.query import (
    DELETE,
    INSERT,
    OP,
    SAME,
    UPDATE,
    Query,
    Rows,
    Source,
    Sources,
    aliased,
    all_of,
    any_of,
    cast_to,
    choose,
    col,
    everything,
    is_null,
    joined,
    not_distinct,
    null_of,
    number,
    same_key,
    select,
    subquery,
    table,
    text,
    union_all,
)
from anabranch.queries.scan import named

Types = Mapping[str, DataType | None]
"""The types of an input's columns, by their names there; None where every value is null."""


def updated(
    query: Query,
    read: Sequence[Column],
    schema: Schema,
    values: Mapping[str, exp.Expr],
    alias: str,
    where: exp.Expr | None,
) -> Query:
    """The key, and the set columns before and after, of every row that really changes.

    `values` gives the new value of each set column by its id; none of them is part of the key.
    """
    picked = [aliased(col(c.name), c.id) for c in schema.key_columns]
    for column in (c for c in schema if c.id in values):
        picked.append(aliased(cast_to(values[column.id], column.type), column.id))
        picked.append(aliased(col(column.name), column.before))
    return _changed(query, select(picked, named(query, read, alias), where=where), schema, values)


def moved(query: Query, schema: Schema, values: Mapping[str, exp.Expr], alias: str, where: exp.Expr | None) -> Query:
    """Every row that a change of the key selects: all columns before, and all columns after."""
    picked = []
    for column in schema:
        value = cast_to(values[column.id], column.type) if column.id in values else col(column.name)
        picked += [aliased(value, column.id), aliased(col(column.name), column.before)]
    return _changed(query, select(picked, named(query, schema.columns, alias), where=where), schema, values)


def _changed(query: Query, inner: exp.Select, schema: Schema, values: Mapping[str, exp.Expr]) -> Query:
    """Leave out rows that stay as they are."""
    differ = [differs(c.type, col(c.before), col(c.id)) for c in schema if c.id in values]
    return query.over(select(everything(), subquery(inner, "u"), where=any_of(differ)))


def selected_keys(query: Query, read: Sequence[Column], schema: Schema, alias: str, where: exp.Expr | None) -> Query:
    """The keys of the rows that a condition selects."""
    keys = [aliased(col(c.name), c.id) for c in schema.key_columns]
    return query.over(select(keys, named(query, read, alias), where=where))


def selected_rows(
    query: Query, read: Sequence[Column], columns: Sequence[Column], alias: str, where: exp.Expr | None
) -> Query:
    """The rows that a condition selects, under their columns' ids."""
    return query.over(select([aliased(col(c.name), c.id) for c in columns], named(query, read, alias), where=where))


def other_rows(query: Query, read: Sequence[Column], where: exp.Expr, alias: str, limit: int) -> Query:
    """Rows for which a condition is false or null."""
    is_true = exp.Coalesce(this=exp.Paren(this=where), expressions=[exp.false()])
    shown = [col(c.name) for c in read]
    return query.over(select(shown, named(query, read, alias), where=exp.Not(this=is_true), limit=limit))


def completed(
    source: Source, types: Types, given: Mapping[str, str], schema: Schema, defaults: Mapping[str, exp.Expr]
) -> Query:
    """Whole rows from an input: given columns by their names there, the rest from defaults or null."""
    sources = Sources()
    values = {c.id: _taken(source, types, given[c.id], c) for c in schema if c.id in given}
    return Query(_whole_rows(table(sources.add(source), "i"), values, schema, defaults), sources.named)


def completed_from(query: Query, given: Mapping[str, str], schema: Schema, defaults: Mapping[str, exp.Expr]) -> Query:
    """Whole rows from the rows of a query."""
    values = {c.id: cast_to(col(given[c.id], "i"), c.type) for c in schema if c.id in given}
    return query.over(_whole_rows(subquery(query.expression, "i"), values, schema, defaults))


def _whole_rows(
    source: exp.Table | exp.Subquery,
    values: Mapping[ColumnId, exp.Expr],
    schema: Schema,
    defaults: Mapping[str, exp.Expr],
) -> exp.Select:
    picked = []
    for column in schema:
        if column.id in values:
            value: exp.Expr = values[column.id]
        elif column.id in defaults:
            value = cast_to(defaults[column.id], column.type)
        else:
            value = null_of(column.type)
        picked.append(aliased(value, column.id))
    return select(picked, source)


def _taken(source: Source, types: Types, name: str, column: Column) -> exp.Expr:
    """A column of an input as the table's: rows in memory fit already, but some types have another form there."""
    value = col(name, "i")
    return from_memory(value, column.type) if isinstance(source, Rows) else fitted(value, types[name], column.type)


def narrowed(source: Source, types: Types, given: Mapping[str, str], columns: Sequence[Column]) -> Query:
    """Columns of an input under their ids."""
    sources = Sources()
    picked = [aliased(_taken(source, types, given[c.id], c), c.id) for c in columns]
    return Query(select(picked, table(sources.add(source), "i")), sources.named)


def missing_values(query: Query, columns: Sequence[Column], key: Sequence[Column], limit: int) -> Query:
    """Rows that have a null in one of these columns."""
    shown = [col(c.id) for c in dict.fromkeys((*key, *columns))]
    nulls = any_of([is_null(col(c.id)) for c in columns])
    return query.over(select(shown, subquery(query.expression, "i"), where=nulls, limit=limit))


def in_a_row(value: exp.Expr) -> Query:
    """A value as a new row has it, beside another column: a place where no aggregate can be."""
    row = select([aliased(number(1), _NUMBER)])
    return Query(select([aliased(value.copy(), "v"), col(_NUMBER)], subquery(row, "r")), {})


def with_its_form(value: exp.Expr, type_: DataType) -> Query:
    """A value, and the form of the same value that engines compare."""
    made = subquery(in_a_row(value).expression, "r")
    return Query(select([col("v"), aliased(comparable(type_, col("v")), "form")], made), {})


def broken_rows(query: Query, read: Sequence[Column], check: exp.Expr, alias: str, limit: int) -> Query:
    """Rows for which a check is false; null counts as held."""
    shown = [col(c.name) for c in read]
    return query.over(select(shown, named(query, read, alias), where=exp.Not(this=exp.Paren(this=check)), limit=limit))


def matched(rows: Source, existing: Query, schema: Schema, given: Sequence[Column], sources: Sources) -> Query:
    """Rows of an input beside what the table has at their keys: to insert, to update, or the same."""
    ids = [str(k) for k in schema.key_ids]
    plain = [c for c in given if c.id not in schema.key_ids]
    differ = any_of([differs(c.type, col(c.id, "e"), col(c.id, "i")) for c in plain])
    op = choose((is_null(col(ids[0], "e")), text(INSERT)), (differ, text(UPDATE)), otherwise=text(SAME))
    picked = [aliased(col(c.id, "i"), c.id) for c in given]
    picked += [aliased(col(c.id, "e"), c.before) for c in plain]
    join = joined(subquery(existing.expression, "e"), same_key(ids, "i", "e"), "left")
    return Query(select([*picked, aliased(op, OP)], table(sources.add(rows), "i"), join=join), sources.named)


def compared(
    before: Query,
    after: Query,
    schema: Schema,
    columns: Sequence[Column],
    sources: Sources,
    lost: Sequence[Column] = (),
) -> Query:
    """The difference of two states at the same keys: one row per key, with what became of it.

    Of columns that are `lost` only the state before has values; they are shown and not compared.
    """
    ids = [str(k) for k in schema.key_ids]
    plain = [c for c in columns if c.id not in schema.key_ids]
    differ = any_of([differs(c.type, col(c.id, "b"), col(c.id, "a")) for c in plain])
    op = choose(
        (is_null(col(ids[0], "b")), text(INSERT)),
        (is_null(col(ids[0], "a")), text(DELETE)),
        (differ, text(UPDATE)),
        otherwise=text(SAME),
    )
    picked = [aliased(exp.Coalesce(this=col(k, "a"), expressions=[col(k, "b")]), k) for k in ids]
    for c in plain:
        picked += [aliased(col(c.id, "a"), c.id), aliased(col(c.id, "b"), c.before)]
    picked += [aliased(col(c.id, "b"), c.before) for c in lost]
    join = joined(subquery(after.expression, "a"), same_key(ids, "b", "a"), "full")
    return Query(select([*picked, aliased(op, OP)], subquery(before.expression, "b"), join=join), sources.named)


def changed_only(query: Query) -> Query:
    """Compared rows that differ."""
    is_other = exp.NEQ(this=col(OP), expression=text(SAME))
    return query.over(select(everything(), subquery(query.expression, "x"), where=is_other))


_NUMBER = "_ana_number"


def compared_rows(before: Query, after: Query, schema: Schema, sources: Sources) -> Query:
    """The difference of two states without a key: whole rows, as often as they come; equal ones keep their ids."""
    ids, names = [str(k) for k in schema.key_ids], [str(c.id) for c in schema]
    old, new = _numbered(before, schema.columns, ids), _numbered(after, schema.columns, [])
    pairs = [(comparable(c.type, col(c.id, "b")), comparable(c.type, col(c.id, "a"))) for c in schema]
    same = all_of([*(not_distinct(one, other) for one, other in pairs), _same_number()])
    op = choose(
        (is_null(col(_NUMBER, "b")), text(INSERT)), (is_null(col(_NUMBER, "a")), text(DELETE)), otherwise=text(SAME)
    )
    picked = [*(aliased(col(k, "b"), k) for k in ids), *(aliased(col(n, "a"), n) for n in names), aliased(op, OP)]
    return Query(select(picked, subquery(old, "b"), join=joined(subquery(new, "a"), same, "full")), sources.named)


def compared_values(
    before: Query, after: Query, columns: Sequence[Column], sources: Sources, lost: Sequence[Column] = ()
) -> Query:
    """The difference of two states that no key relates: whole rows that came and went, as often as they did.

    Of columns that are `lost` only the state before has values; they are shown and not compared.
    """
    old, new = _numbered(before, columns, [], lost), _numbered(after, columns, [])
    pairs = [(comparable(c.type, col(c.id, "b")), comparable(c.type, col(c.id, "a"))) for c in columns]
    same = all_of([*(not_distinct(one, other) for one, other in pairs), _same_number()])
    op = choose(
        (is_null(col(_NUMBER, "b")), text(INSERT)), (is_null(col(_NUMBER, "a")), text(DELETE)), otherwise=text(SAME)
    )
    values = [(col(c.id, side), name) for c in columns for side, name in (("a", str(c.id)), ("b", c.before))]
    values += [(col(c.id, "b"), c.before) for c in lost]
    picked = [aliased(value, name) for value, name in values]
    join = joined(subquery(new, "a"), same, "full")
    return Query(select([*picked, aliased(op, OP)], subquery(old, "b"), join=join), sources.named)


def came_and_went(
    before: Query, after: Query, columns: Sequence[Column], sources: Sources, lost: Sequence[Column] = ()
) -> Query:
    """All rows of two states that have nothing in common, in the form of compared ones."""

    def side(query: Query, op: str) -> exp.Select:
        picked = []
        for c in columns:
            values = (col(c.id), null_of(c.type)) if op == INSERT else (null_of(c.type), col(c.id))
            picked += [aliased(value, name) for value, name in zip(values, (str(c.id), c.before), strict=True)]
        picked += [aliased(col(c.id) if op == DELETE else null_of(c.type), c.before) for c in lost]
        return select([*picked, aliased(text(op), OP)], subquery(query.expression, "s"))

    return Query(union_all([side(before, DELETE), side(after, INSERT)]), sources.named)


def _same_number() -> exp.Expr:
    return exp.EQ(this=col(_NUMBER, "b"), expression=col(_NUMBER, "a"))


def _numbered(
    query: Query, columns: Sequence[Column], row_id: Sequence[str], more: Sequence[Column] = ()
) -> exp.Select:
    """Tell equal rows apart by counting them."""
    values = [comparable(c.type, col(c.id)) for c in columns]
    order: list[exp.Expr] = [col(k) for k in row_id] or [values[0].copy()]
    count = exp.Window(
        this=exp.RowNumber(),
        partition_by=values,
        order=exp.Order(expressions=[exp.Ordered(this=by) for by in order]),
    )
    picked = [*(col(k) for k in row_id), *(col(c.id) for c in (*columns, *more)), aliased(count, _NUMBER)]
    return select(picked, subquery(query.expression, "n"))


def of_kind(query: Query, op: str, columns: Sequence[str]) -> Query:
    """The rows of one kind among matched or compared ones."""
    is_kind = exp.EQ(this=col(OP), expression=text(op))
    return query.over(select([col(name) for name in columns], subquery(query.expression, "m"), where=is_kind))


def differing(query: Query, columns: Sequence[Column]) -> Query:
    """Whether some updated row differs, column by column."""
    is_update = exp.EQ(this=col(OP), expression=text(UPDATE))
    picked = []
    for c in columns:
        changed = exp.And(this=is_update.copy(), expression=differs(c.type, col(c.before), col(c.id)))
        counted = exp.Max(this=choose((changed, number(1)), otherwise=number(0)))
        picked.append(aliased(counted, c.id))
    return query.over(select(picked, subquery(query.expression, "m")))


def at_keys(query: Query, schema: Schema, keys: str) -> Query:
    """The rows of a query that have one of these keys."""
    same = same_key([str(k) for k in schema.key_ids], "w", "k")
    join = joined(table(keys, "k"), same, "left semi")
    return query.over(select(everything(), subquery(query.expression, "w"), join=join))


def without_keys(query: Query, key: Sequence[str], keys: Source) -> Query:
    """The rows of a query that have none of these keys."""
    name = f"{next(iter(query.sources))}_without"
    join = joined(table(name, "k"), same_key(key, "w", "k"), "left anti")
    whole = select(everything(), subquery(query.expression, "w"), join=join)
    return Query(whole, {**query.sources, name: keys}, query.args)


def distinct_rows(queries: Sequence[Query], columns: Sequence[Column], sources: Sources) -> Query:
    """The rows of several queries, once each."""
    whole = union_all([select([col(c.id) for c in columns], subquery(q.expression, "q")) for q in queries])
    found = select([col(c.id) for c in columns], subquery(whole, "d"))
    found.set("distinct", exp.Distinct())
    return Query(found, sources.named)


def with_ranks(keys: Source, schema: Schema, names: Sequence[str], rank: int, sources: Sources) -> Query:
    """Keys with the same number in each of some columns."""
    picked: list[exp.Expr] = [col(k, "o") for k in schema.key_ids]
    picked += [aliased(number(rank), name) for name in names]
    return Query(select(picked, table(sources.add(keys), "o")), sources.named)


def picked_columns(query: Query, columns: Mapping[str, str]) -> Query:
    """Columns of a query under other names."""
    picked = [aliased(col(old), new) for new, old in columns.items()]
    return query.over(select(picked, subquery(query.expression, "p")))


def with_constant(query: Query, name: str, value: str) -> Query:
    """The rows of a query, with the same text in one more column, the first."""
    return query.over(select([aliased(text(value), name), *everything()], subquery(query.expression, "w")))


def repeated_keys(query: Query, schema: Schema, limit: int) -> Query:
    """Keys that come more than once."""
    ids = [str(k) for k in schema.key_ids]
    found = select([col(k) for k in ids], subquery(query.expression, "k"), limit=limit)
    found.set("group", exp.Group(expressions=[col(k) for k in ids]))
    found.set("having", exp.Having(this=exp.GT(this=exp.Count(this=exp.Star()), expression=number(1))))
    return query.over(found)


def repeated_rows(query: Query, columns: Sequence[Column], count: str) -> Query:
    """Rows that come more than once, each once, and how often they come."""
    rows = exp.Count(this=exp.Star())
    picked = [*(col(c.id) for c in columns), aliased(rows.copy(), count)]
    found = select(picked, subquery(query.expression, "k"))
    found.set("group", exp.Group(expressions=[col(c.id) for c in columns]))
    found.set("having", exp.Having(this=exp.GT(this=rows, expression=number(1))))
    return query.over(found)


def with_unique_keys(query: Query, schema: Schema, columns: Sequence[Column]) -> Query:
    """The rows whose key no other row has."""
    rows = exp.Window(this=exp.Count(this=exp.Star()), partition_by=[col(k) for k in schema.key_ids])
    inner = select([*(col(c.id) for c in columns), aliased(rows, _NUMBER)], subquery(query.expression, "k"))
    once = exp.EQ(this=col(_NUMBER), expression=number(1))
    return query.over(select([col(c.id) for c in columns], subquery(inner, "n"), where=once))


def ordered(query: Query, key: Sequence[str]) -> Query:
    """The rows of a query in the order of the key."""
    whole = select(everything(), subquery(query.expression, "q"))
    whole.set("order", exp.Order(expressions=[exp.Ordered(this=col(k)) for k in key]))
    return query.over(whole)


def numbered(query: Query, name: str) -> Query:
    """The rows of a query with a number each, in a column after the others."""
    count = exp.Window(this=exp.RowNumber())
    return query.over(select([*everything(), aliased(count, name)], subquery(query.expression, "w")))


def distinct_keys(parts: Sequence[Source], key: Sequence[Column]) -> Query:
    """Each key that occurs in one of the sources, once."""
    sources = Sources()
    whole = union_all([select([col(c.id, "o") for c in key], table(sources.add(p), "o")) for p in parts])
    once = select([col(c.id) for c in key], subquery(whole, "k"))
    once.set("distinct", exp.Distinct())
    return Query(once, sources.named)
