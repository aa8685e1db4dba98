"""Plans of the writing verbs: what an update, delete, insert or upsert changes, and which keys violate the rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from anabranch.model.ids import ColumnId
from anabranch.model.schema import Column, Schema
from anabranch.model.types import DataType
from anabranch.queries import query as q
from anabranch.queries.nested import comparable, differs, fitted, from_memory
from anabranch.queries.scan import named

Types = Mapping[str, DataType | None]
"""The types of an input's columns, by their names there; None if every value is null."""


def updated(
    query: q.Query,
    read: Sequence[Column],
    schema: Schema,
    values: Mapping[str, exp.Expr],
    alias: str,
    where: exp.Expr | None,
) -> q.Query:
    """The key, and the set columns before and after, of every row that really changes.

    `values` gives the new value of each set column by its id; none of them is part of the key.
    """
    picked = [q.aliased(q.col(c.name), c.id) for c in schema.key_columns]
    for column in (c for c in schema if c.id in values):
        picked.append(q.aliased(q.cast_to(values[column.id], column.type), column.id))
        picked.append(q.aliased(q.col(column.name), column.before))
    return _changed(query, q.select(picked, named(query, read, alias), where=where), schema, values)


def moved(
    query: q.Query, schema: Schema, values: Mapping[str, exp.Expr], alias: str, where: exp.Expr | None
) -> q.Query:
    """Every row that a change of the key selects: all columns before, and all columns after."""
    picked = []
    for column in schema:
        value = q.cast_to(values[column.id], column.type) if column.id in values else q.col(column.name)
        picked += [q.aliased(value, column.id), q.aliased(q.col(column.name), column.before)]
    return _changed(query, q.select(picked, named(query, schema.columns, alias), where=where), schema, values)


def _changed(query: q.Query, inner: exp.Select, schema: Schema, values: Mapping[str, exp.Expr]) -> q.Query:
    """Leave out rows that stay as they are."""
    differ = [differs(c.type, q.col(c.before), q.col(c.id)) for c in schema if c.id in values]
    return query.over(q.select(q.everything(), q.subquery(inner, "u"), where=q.any_of(differ)))


def selected_keys(
    query: q.Query, read: Sequence[Column], schema: Schema, alias: str, where: exp.Expr | None
) -> q.Query:
    """The keys of the rows that a condition selects."""
    keys = [q.aliased(q.col(c.name), c.id) for c in schema.key_columns]
    return query.over(q.select(keys, named(query, read, alias), where=where))


def selected_rows(
    query: q.Query, read: Sequence[Column], columns: Sequence[Column], alias: str, where: exp.Expr | None
) -> q.Query:
    """The rows that a condition selects, under their columns' ids."""
    return query.over(
        q.select([q.aliased(q.col(c.name), c.id) for c in columns], named(query, read, alias), where=where)
    )


def other_rows(query: q.Query, read: Sequence[Column], where: exp.Expr, alias: str, limit: int) -> q.Query:
    """Rows for which a condition is false or null."""
    is_true = exp.Coalesce(this=exp.Paren(this=where), expressions=[exp.false()])
    shown = [q.col(c.name) for c in read]
    return query.over(q.select(shown, named(query, read, alias), where=exp.Not(this=is_true), limit=limit))


def completed(
    source: q.Source, types: Types, given: Mapping[str, str], schema: Schema, defaults: Mapping[str, exp.Expr]
) -> q.Query:
    """Whole rows from an input: given columns by their names there, the rest from defaults or null."""
    sources = q.Sources()
    values = {c.id: _taken(source, types, given[c.id], c) for c in schema if c.id in given}
    return q.Query(_whole_rows(q.table(sources.add(source), "i"), values, schema, defaults), sources.named)


def completed_from(
    query: q.Query, given: Mapping[str, str], schema: Schema, defaults: Mapping[str, exp.Expr]
) -> q.Query:
    """Whole rows from the rows of a query."""
    values = {c.id: q.cast_to(q.col(given[c.id], "i"), c.type) for c in schema if c.id in given}
    return query.over(_whole_rows(q.subquery(query.expression, "i"), values, schema, defaults))


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
            value = q.cast_to(defaults[column.id], column.type)
        else:
            value = q.null_of(column.type)
        picked.append(q.aliased(value, column.id))
    return q.select(picked, source)


def _taken(source: q.Source, types: Types, name: str, column: Column) -> exp.Expr:
    """A column of an input as the table has it: rows in memory fit already, but some types have another form there."""
    value = q.col(name, "i")
    return from_memory(value, column.type) if isinstance(source, q.Rows) else fitted(value, types[name], column.type)


def narrowed(source: q.Source, types: Types, given: Mapping[str, str], columns: Sequence[Column]) -> q.Query:
    """Columns of an input under their ids."""
    sources = q.Sources()
    picked = [q.aliased(_taken(source, types, given[c.id], c), c.id) for c in columns]
    return q.Query(q.select(picked, q.table(sources.add(source), "i")), sources.named)


def missing_values(query: q.Query, columns: Sequence[Column], key: Sequence[Column], limit: int) -> q.Query:
    """Rows that have a null in one of these columns."""
    shown = [q.col(c.id) for c in dict.fromkeys((*key, *columns))]
    nulls = q.any_of([q.is_null(q.col(c.id)) for c in columns])
    return query.over(q.select(shown, q.subquery(query.expression, "i"), where=nulls, limit=limit))


def in_a_row(value: exp.Expr) -> q.Query:
    """A value as in a new row, next to another column, where no aggregate is allowed."""
    row = q.select([q.aliased(q.number(1), _NUMBER)])
    return q.Query(q.select([q.aliased(value.copy(), "v"), q.col(_NUMBER)], q.subquery(row, "r")), {})


def with_its_form(value: exp.Expr, type_: DataType) -> q.Query:
    """A value, and the form of the same value that engines compare."""
    made = q.subquery(in_a_row(value).expression, "r")
    return q.Query(q.select([q.col("v"), q.aliased(comparable(type_, q.col("v")), "form")], made), {})


def broken_rows(query: q.Query, read: Sequence[Column], check: exp.Expr, alias: str, limit: int) -> q.Query:
    """Rows for which a check is false; null passes."""
    shown = [q.col(c.name) for c in read]
    return query.over(
        q.select(shown, named(query, read, alias), where=exp.Not(this=exp.Paren(this=check)), limit=limit)
    )


def matched(rows: q.Source, existing: q.Query, schema: Schema, given: Sequence[Column], sources: q.Sources) -> q.Query:
    """Rows of an input next to those that the table has at their keys: to insert, to update, or the same."""
    ids = [str(k) for k in schema.key_ids]
    plain = [c for c in given if c.id not in schema.key_ids]
    differ = q.any_of([differs(c.type, q.col(c.id, "e"), q.col(c.id, "i")) for c in plain])
    op = q.choose(
        (q.is_null(q.col(ids[0], "e")), q.text(q.INSERT)), (differ, q.text(q.UPDATE)), otherwise=q.text(q.SAME)
    )
    picked = [q.aliased(q.col(c.id, "i"), c.id) for c in given]
    picked += [q.aliased(q.col(c.id, "e"), c.before) for c in plain]
    join = q.joined(q.subquery(existing.expression, "e"), q.same_key(ids, "i", "e"), "left")
    return q.Query(q.select([*picked, q.aliased(op, q.OP)], q.table(sources.add(rows), "i"), join=join), sources.named)


def compared(
    before: q.Query,
    after: q.Query,
    schema: Schema,
    columns: Sequence[Column],
    sources: q.Sources,
    lost: Sequence[Column] = (),
) -> q.Query:
    """The difference of two states at the same keys: one row per key, with what happened to it.

    `lost` columns have values only before; they are shown but not compared.
    """
    ids = [str(k) for k in schema.key_ids]
    plain = [c for c in columns if c.id not in schema.key_ids]
    differ = q.any_of([differs(c.type, q.col(c.id, "b"), q.col(c.id, "a")) for c in plain])
    op = q.choose(
        (q.is_null(q.col(ids[0], "b")), q.text(q.INSERT)),
        (q.is_null(q.col(ids[0], "a")), q.text(q.DELETE)),
        (differ, q.text(q.UPDATE)),
        otherwise=q.text(q.SAME),
    )
    picked = [q.aliased(exp.Coalesce(this=q.col(k, "a"), expressions=[q.col(k, "b")]), k) for k in ids]
    for c in plain:
        picked += [q.aliased(q.col(c.id, "a"), c.id), q.aliased(q.col(c.id, "b"), c.before)]
    picked += [q.aliased(q.col(c.id, "b"), c.before) for c in lost]
    join = q.joined(q.subquery(after.expression, "a"), q.same_key(ids, "b", "a"), "full")
    return q.Query(
        q.select([*picked, q.aliased(op, q.OP)], q.subquery(before.expression, "b"), join=join), sources.named
    )


def changed_only(query: q.Query) -> q.Query:
    """Compared rows that differ."""
    is_other = exp.NEQ(this=q.col(q.OP), expression=q.text(q.SAME))
    return query.over(q.select(q.everything(), q.subquery(query.expression, "x"), where=is_other))


_NUMBER = "_ana_number"


def compared_rows(before: q.Query, after: q.Query, schema: Schema, sources: q.Sources) -> q.Query:
    """The difference of two states without a key: whole rows, counting duplicates; equal rows keep their ids."""
    ids, names = [str(k) for k in schema.key_ids], [str(c.id) for c in schema]
    old, new = _numbered(before, schema.columns, ids), _numbered(after, schema.columns, [])
    picked = [*(q.aliased(q.col(k, "b"), k) for k in ids), *(q.aliased(q.col(n, "a"), n) for n in names)]
    return _paired(old, new, schema.columns, picked, sources)


def compared_values(
    before: q.Query, after: q.Query, columns: Sequence[Column], sources: q.Sources, lost: Sequence[Column] = ()
) -> q.Query:
    """The difference of two states that no key relates: whole rows inserted and deleted, counting duplicates.

    `lost` columns have values only before; they are shown but not compared.
    """
    old, new = _numbered(before, columns, [], lost), _numbered(after, columns, [])
    values = [(q.col(c.id, side), name) for c in columns for side, name in (("a", str(c.id)), ("b", c.before))]
    values += [(q.col(c.id, "b"), c.before) for c in lost]
    picked = [q.aliased(value, name) for value, name in values]
    return _paired(old, new, columns, picked, sources)


def _paired(
    old: exp.Select, new: exp.Select, columns: Sequence[Column], picked: Sequence[exp.Expr], sources: q.Sources
) -> q.Query:
    """Join numbered rows of equal values; those without a partner came or went."""
    pairs = [(comparable(c.type, q.col(c.id, "b")), comparable(c.type, q.col(c.id, "a"))) for c in columns]
    number = exp.EQ(this=q.col(_NUMBER, "b"), expression=q.col(_NUMBER, "a"))
    same = q.all_of([*(q.not_distinct(one, other) for one, other in pairs), number])
    op = q.choose(
        (q.is_null(q.col(_NUMBER, "b")), q.text(q.INSERT)),
        (q.is_null(q.col(_NUMBER, "a")), q.text(q.DELETE)),
        otherwise=q.text(q.SAME),
    )
    join = q.joined(q.subquery(new, "a"), same, "full")
    return q.Query(q.select([*picked, q.aliased(op, q.OP)], q.subquery(old, "b"), join=join), sources.named)


def came_and_went(
    before: q.Query, after: q.Query, columns: Sequence[Column], sources: q.Sources, lost: Sequence[Column] = ()
) -> q.Query:
    """All rows of two states that have nothing in common, in the form of compared ones."""

    def side(query: q.Query, op: str) -> exp.Select:
        picked = []
        for c in columns:
            values = (q.col(c.id), q.null_of(c.type)) if op == q.INSERT else (q.null_of(c.type), q.col(c.id))
            picked += [q.aliased(value, name) for value, name in zip(values, (str(c.id), c.before), strict=True)]
        picked += [q.aliased(q.col(c.id) if op == q.DELETE else q.null_of(c.type), c.before) for c in lost]
        return q.select([*picked, q.aliased(q.text(op), q.OP)], q.subquery(query.expression, "s"))

    return q.Query(q.union_all([side(before, q.DELETE), side(after, q.INSERT)]), sources.named)


def _numbered(
    query: q.Query, columns: Sequence[Column], row_id: Sequence[str], more: Sequence[Column] = ()
) -> exp.Select:
    """Tell equal rows apart by counting them."""
    values = [comparable(c.type, q.col(c.id)) for c in columns]
    order: list[exp.Expr] = [q.col(k) for k in row_id] or [values[0].copy()]
    count = exp.Window(
        this=exp.RowNumber(),
        partition_by=values,
        order=exp.Order(expressions=[exp.Ordered(this=by) for by in order]),
    )
    picked = [*(q.col(k) for k in row_id), *(q.col(c.id) for c in (*columns, *more)), q.aliased(count, _NUMBER)]
    return q.select(picked, q.subquery(query.expression, "n"))


def of_kind(query: q.Query, op: str, columns: Sequence[str]) -> q.Query:
    """The rows of one kind among matched or compared ones."""
    is_kind = exp.EQ(this=q.col(q.OP), expression=q.text(op))
    return query.over(q.select([q.col(name) for name in columns], q.subquery(query.expression, "m"), where=is_kind))


def differing(query: q.Query, columns: Sequence[Column]) -> q.Query:
    """For each column, whether it differs in some updated row."""
    is_update = exp.EQ(this=q.col(q.OP), expression=q.text(q.UPDATE))
    picked = []
    for c in columns:
        changed = exp.And(this=is_update.copy(), expression=differs(c.type, q.col(c.before), q.col(c.id)))
        counted = exp.Max(this=q.choose((changed, q.number(1)), otherwise=q.number(0)))
        picked.append(q.aliased(counted, c.id))
    return query.over(q.select(picked, q.subquery(query.expression, "m")))


def at_keys(query: q.Query, schema: Schema, keys: str) -> q.Query:
    """The rows of a query that have one of these keys."""
    same = q.same_key([str(k) for k in schema.key_ids], "w", "k")
    join = q.joined(q.table(keys, "k"), same, "left semi")
    return query.over(q.select(q.everything(), q.subquery(query.expression, "w"), join=join))


def without_keys(query: q.Query, key: Sequence[str], keys: q.Source) -> q.Query:
    """The rows of a query that have none of these keys."""
    name = f"{next(iter(query.sources))}_without"
    join = q.joined(q.table(name, "k"), q.same_key(key, "w", "k"), "left anti")
    whole = q.select(q.everything(), q.subquery(query.expression, "w"), join=join)
    return q.Query(whole, {**query.sources, name: keys}, query.args)


def distinct_rows(queries: Sequence[q.Query], columns: Sequence[Column], sources: q.Sources) -> q.Query:
    """The rows of several queries, once each."""
    whole = q.union_all([q.select([q.col(c.id) for c in columns], q.subquery(one.expression, "q")) for one in queries])
    found = q.select([q.col(c.id) for c in columns], q.subquery(whole, "d"))
    found.set("distinct", exp.Distinct())
    return q.Query(found, sources.named)


def with_ranks(keys: q.Source, schema: Schema, names: Sequence[str], rank: int, sources: q.Sources) -> q.Query:
    """Keys with one number in all of the given columns."""
    picked: list[exp.Expr] = [q.col(k, "o") for k in schema.key_ids]
    picked += [q.aliased(q.number(rank), name) for name in names]
    return q.Query(q.select(picked, q.table(sources.add(keys), "o")), sources.named)


def picked_columns(query: q.Query, columns: Mapping[str, str]) -> q.Query:
    """Columns of a query under other names."""
    picked = [q.aliased(q.col(old), new) for new, old in columns.items()]
    return query.over(q.select(picked, q.subquery(query.expression, "p")))


def with_constant(query: q.Query, name: str, value: str) -> q.Query:
    """The rows of a query, with one text as an additional first column."""
    return query.over(q.select([q.aliased(q.text(value), name), *q.everything()], q.subquery(query.expression, "w")))


def repeated_keys(query: q.Query, schema: Schema, limit: int) -> q.Query:
    """Keys that occur more than once."""
    ids = [str(k) for k in schema.key_ids]
    found = q.select([q.col(k) for k in ids], q.subquery(query.expression, "k"), limit=limit)
    found.set("group", exp.Group(expressions=[q.col(k) for k in ids]))
    found.set("having", exp.Having(this=exp.GT(this=exp.Count(this=exp.Star()), expression=q.number(1))))
    return query.over(found)


def repeated_rows(query: q.Query, columns: Sequence[Column], count: str) -> q.Query:
    """Rows that occur more than once, once each, with their count."""
    rows = exp.Count(this=exp.Star())
    picked = [*(q.col(c.id) for c in columns), q.aliased(rows.copy(), count)]
    found = q.select(picked, q.subquery(query.expression, "k"))
    found.set("group", exp.Group(expressions=[q.col(c.id) for c in columns]))
    found.set("having", exp.Having(this=exp.GT(this=rows, expression=q.number(1))))
    return query.over(found)


def with_unique_keys(query: q.Query, schema: Schema, columns: Sequence[Column]) -> q.Query:
    """The rows whose key no other row has."""
    rows = exp.Window(this=exp.Count(this=exp.Star()), partition_by=[q.col(k) for k in schema.key_ids])
    inner = q.select([*(q.col(c.id) for c in columns), q.aliased(rows, _NUMBER)], q.subquery(query.expression, "k"))
    once = exp.EQ(this=q.col(_NUMBER), expression=q.number(1))
    return query.over(q.select([q.col(c.id) for c in columns], q.subquery(inner, "n"), where=once))


def ordered(query: q.Query, key: Sequence[str]) -> q.Query:
    """The rows of a query in the order of the key."""
    whole = q.select(q.everything(), q.subquery(query.expression, "q"))
    whole.set("order", exp.Order(expressions=[exp.Ordered(this=q.col(k)) for k in key]))
    return query.over(whole)


def numbered(query: q.Query, name: str) -> q.Query:
    """The rows of a query, numbered in an additional last column."""
    count = exp.Window(this=exp.RowNumber())
    return query.over(q.select([*q.everything(), q.aliased(count, name)], q.subquery(query.expression, "w")))


def distinct_keys(parts: Sequence[q.Source], key: Sequence[Column]) -> q.Query:
    """Each key that occurs in one of the sources, once."""
    sources = q.Sources()
    whole = q.union_all([q.select([q.col(c.id, "o") for c in key], q.table(sources.add(p), "o")) for p in parts])
    once = q.select([q.col(c.id) for c in key], q.subquery(whole, "k"))
    once.set("distinct", exp.Distinct())
    return q.Query(once, sources.named)
