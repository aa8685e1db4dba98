"""INSERT, UPDATE, DELETE, MERGE INTO: rows computed by SQL become one change of a table, all or nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from anabranch.errors import InvalidRequest
from anabranch.model.changes import Counts
from anabranch.model.schema import Column, Schema
from anabranch.model.types import DataType, misfit
from anabranch.plan.commit import Statement as Changed
from anabranch.queries.query import DELETE, INSERT, OP, UPDATE
from anabranch.queries.rendering import spark_fitted
from anabranch.repo.sql.plan import Plan, find_all, plan_query, used_args
from anabranch.repo.sql.relations import TARGET, SqlPlace
from anabranch.repo.write.table_writer import TableWriter
from anabranch.sql.grammar.tokens import find_qualified, tokenize
from anabranch.sql.references import find_references, quoted
from anabranch.sql.statements import Delete, Insert, MergeClause, MergeInto, Truncate, Update


@dataclass(frozen=True)
class Given:
    """The arguments and frames given with a statement."""

    args: Mapping[str, Any]
    frames: Mapping[str, Any]


def run_insert(place: SqlPlace, asked: Insert, given: Given) -> Counts:
    """Insert the rows of a query, or replace all rows with them; columns by position or by name."""
    table = _writer(place, asked.table)
    asked = _with_partition(asked, table.schema)
    text = _reading_defined(asked.defined, _with_defaults(asked, table.schema))
    inner = plan_query(place, text, given.args, given.frames, to_write=True)
    columns = _targets(asked, table.schema, [name for name, _ in inner.columns])
    rows = rows_as(inner, columns, given, f"insert into {asked.table!r}")
    if asked.where is not None:
        return table.overwrite(rows, where=asked.where, args=used_args(asked.where, given.args))
    return table.overwrite(rows) if asked.overwrite else table.insert(rows)


def _with_partition(asked: Insert, schema: Schema) -> Insert:
    """Rewrite PARTITION (day = 2) as a column of the query, and as the condition that OVERWRITE replaces."""
    if not asked.partition:
        return asked
    fixed = {schema.column(name).name: value for name, value in asked.partition}
    columns = asked.columns if asked.columns is not None else tuple(n for n in schema.names if n not in fixed)
    if repeated := [name for name in columns if name in fixed]:
        raise InvalidRequest(f"column {repeated[0]!r} is in PARTITION and in the list", hint="name it once")
    values = ", ".join(
        f"CAST({value} AS {schema.column(name).type}) AS {quoted(name)}" for name, value in fixed.items()
    )
    where = " AND ".join(
        f"{quoted(name)} <=> CAST({value} AS {schema.column(name).type})" for name, value in fixed.items()
    )
    source = f"SELECT *, {values} FROM (\n{asked.source}\n)"
    listed = None if asked.by_name else (*columns, *fixed)
    return replace(asked, source=source, columns=listed, partition=(), where=where if asked.overwrite else None)


def _reading_defined(defined: str, query: str) -> str:
    """A query that can read what a WITH before its statement defined."""
    if not defined:
        return query
    is_inner = tokenize(query)[0].word in ("WITH", "VALUES")  # Not accepted after WITH by both engines.
    return f"{defined}\n" + (f"SELECT * FROM (\n{query}\n)" if is_inner else query)


def rows_as(inner: Plan, columns: Sequence[Column], given: Given, what: str) -> Any:
    """Rows of a query under the columns' names, each value cast to its column's type as in an assignment."""
    types = [t for _, t in inner.columns]
    if [(c.name, c.type) for c in columns] == list(inner.columns):
        return _rows(inner)
    numbered = [f"c{i}" for i in range(len(columns))]
    picked = [_cast(n, t, c, what) for n, t, c in zip(numbered, types, columns, strict=True)]
    text = f"SELECT {', '.join(picked)} FROM (\n{inner.resolved.text}\n) AS `i` ({', '.join(numbered)})"
    return _rows(plan_query(inner.place, text, given.args, given.frames, to_write=True))


def _rows(plan: Plan) -> Any:
    """The rows of a plan, in a form that tables take."""
    return plan.frame if plan.proven is None else plan.arrow()


def _cast(name: str, source: DataType | None, column: Column, what: str, shown: str | None = None) -> str:
    """Cast a value to its column's type, named as the column or as `shown`; refuse one that cannot be stored."""
    alias = quoted(shown or column.name)
    problem = misfit(source, column.type) if source is not None else None
    if problem:
        message = f"{what}: column {column.name!r} is {column.type}, the value is {source}"
        raise InvalidRequest(message, hint="cast it in the statement", column=column.name)
    if source is not None and source.is_nested and source != column.type:
        return f"{spark_fitted(name, source, column.type)} AS {alias}"
    value = f"`{name}`" if source == column.type else f"CAST(`{name}` AS {column.type})"
    return f"{value} AS {alias}"


def _targets(asked: Insert, schema: Schema, found: Sequence[str]) -> list[Column]:
    """The table's columns that the query's columns go to."""
    what = f"insert into {asked.table!r}"
    if asked.by_name:
        return [schema.column(name) for name in found]
    columns = [schema.column(n) for n in asked.columns] if asked.columns is not None else list(schema)
    if len(found) != len(columns):
        wanted = ", ".join(c.name for c in columns)
        message = f"{what}: {len(found)} values were given for {len(columns)} columns ({wanted})"
        raise InvalidRequest(message, hint="name the columns, INSERT INTO t (a, b) …, or give all of them")
    return columns


def _with_defaults(asked: Insert, schema: Schema) -> str:
    """The query's text, with the word DEFAULT filled in within VALUES."""
    tokens = tokenize(asked.source)
    if tokens[0].word != "VALUES" or not any(t.word == "DEFAULT" for t in tokens):
        return asked.source
    columns = [schema.column(n) for n in asked.columns] if asked.columns is not None else list(schema)
    pieces, at, depth, number = [], 0, 0, 0
    for token in tokens:
        depth += token.is_symbol("(") - token.is_symbol(")")
        if depth == 1 and token.is_symbol("("):
            number = 0
        elif depth == 1 and token.is_symbol(","):
            number += 1
        elif depth == 1 and token.word == "DEFAULT" and number < len(columns):
            pieces += [asked.source[at : token.start], _default(columns[number])]
            at = token.end
    return "".join((*pieces, asked.source[at:]))


def _default(column: Column) -> str:
    return f"({column.default})" if column.default is not None else f"CAST(NULL AS {column.type})"


def run_truncate(place: SqlPlace, asked: Truncate) -> Counts:
    """Delete all rows."""
    return _writer(place, asked.table).delete()


def run_update(place: SqlPlace, asked: Update, given: Given) -> Counts:
    """Update rows; through `table.update` if only the row itself is looked at."""
    table = _writer(place, asked.table)
    schema, alias = table.schema, asked.alias or _last(asked.table)
    values = {schema.column(n).name: _value(schema.column(n), text) for n, text in asked.values}
    if len(values) < len(asked.values):
        raise InvalidRequest(f"update of {asked.table!r}: a column is set twice", hint="set it once")
    if not asked.defined and not _looks_elsewhere(*values.values(), asked.where):
        own = _last(asked.table)
        plain = {n: _requalified(text, alias, own) for n, text in values.items()}
        where = _requalified(asked.where, alias, own) if asked.where else None
        return table.update(plain, where, _args([*plain.values(), where], given))
    where = f" WHERE ({asked.where}\n)" if asked.where else ""
    text = _actions(f"'{UPDATE}'", schema, alias, values, f"FROM {{{TARGET}}} AS {quoted(alias)}{where}")
    return _change(place, table, f"{asked.defined}\n{text}", values, given, f"update of {asked.table!r}")


def run_delete(place: SqlPlace, asked: Delete, given: Given) -> Counts:
    """Delete rows; through `table.delete` if only the row itself is looked at."""
    table = _writer(place, asked.table)
    alias, own = asked.alias or _last(asked.table), _last(asked.table)
    if asked.where is None:
        return table.delete()
    if not asked.defined and not _looks_elsewhere(asked.where):
        where = _requalified(asked.where, alias, own)
        return table.delete(where, _args([where], given))
    source = f"FROM {{{TARGET}}} AS {quoted(alias)} WHERE ({asked.where}\n)"
    text = _actions(f"'{DELETE}'", table.schema, alias, {}, source)
    return _change(place, table, f"{asked.defined}\n{text}", {}, given, f"delete from {asked.table!r}")


def run_merge(place: SqlPlace, asked: MergeInto, given: Given) -> Counts:
    """Merge a source into a table: each joined row follows the first clause that applies to it."""
    table = _writer(place, asked.table)
    what, schema = f"merge into {asked.table!r}", table.schema
    alias = asked.alias or _last(asked.table)
    source_alias = asked.source_alias or _source_name(asked.source)
    source = f"(SELECT *, true AS `{_THERE}` FROM {asked.source} AS {quoted(source_alias)}) AS {quoted(source_alias)}"
    if asked.source_alias is None and not asked.source.lstrip().startswith("("):
        source = f"(SELECT *, true AS `{_THERE}` FROM {asked.source}) AS {quoted(source_alias)}"
    reads = f"{asked.defined}\nSELECT * FROM {source}"
    find_all(place, [reads, *_looks(asked)], given.args, given.frames)
    probe = plan_query(place, reads, given.args, given.frames)
    offered = [n for n, _ in probe.columns if n != _THERE]
    clauses = [_filled(c, schema, offered, source_alias, what) for c in asked.clauses]
    target = f"(SELECT *, true AS `{_HERE}` FROM {{{TARGET}}} AS `t`) AS {quoted(alias)}"
    tests = [_test(c) for c in clauses]
    op = _choice(tests, [f"'{_OPS[c.action]}'" for c in clauses])
    values = {
        c.name: _choice(
            tests, [_clause_value(k, c, alias) for k in clauses], otherwise=f"{quoted(alias)}.{quoted(c.name)}"
        )
        for c in schema
    }
    join = _join({c.when for c in clauses})
    text = _actions(op, schema, alias, values, f"FROM {source} {join} {target} ON ({asked.on}\n)")
    set_ = {name for c in clauses if c.action == "update" for name, _ in c.values or ()}
    return _change(place, table, f"{asked.defined}\n{text}", dict.fromkeys(set_, ""), given, what)


def _looks(asked: MergeInto) -> Iterator[str]:
    """What a merge evaluates for each row, as queries."""
    values = [text for c in asked.clauses for _, text in c.values or ()]
    for text in (asked.on, *(c.condition for c in asked.clauses), *values):
        yield f"{asked.defined}\nSELECT {text}"


_HERE, _THERE = "_ana_here", "_ana_there"
"""Columns that tell whether the target, or the source, has a row in a joined row."""
_OPS = {"update": UPDATE, "insert": INSERT, "delete": DELETE}


def _join(whens: set[str]) -> str:
    """The narrowest join with every row that some clause needs; the source comes first."""
    if "not matched by source" in whens:
        return "FULL OUTER JOIN" if "not matched" in whens else "RIGHT OUTER JOIN"
    return "LEFT OUTER JOIN" if "not matched" in whens else "INNER JOIN"


def _test(clause: MergeClause) -> str:
    sides = {
        "matched": f"`{_HERE}` AND `{_THERE}`",
        "not matched": f"`{_HERE}` IS NULL",
        "not matched by source": f"`{_THERE}` IS NULL",
    }
    return f"{sides[clause.when]}{f' AND ({clause.condition}{chr(10)})' if clause.condition else ''}"


def _choice(tests: Sequence[str], values: Sequence[str], otherwise: str = "NULL") -> str:
    cases = " ".join(f"WHEN {test} THEN {value}" for test, value in zip(tests, values, strict=True))
    return f"CASE {cases} ELSE {otherwise} END"


def _filled(clause: MergeClause, schema: Schema, offered: Sequence[str], source: str, what: str) -> MergeClause:
    """Write out a clause's `*`: all columns of the table, from the source by name."""
    if clause.action == "delete":
        return clause
    if clause.values is None:
        names = {n.lower(): n for n in offered}
        missing = [c.name for c in schema if c.name.lower() not in names]
        if missing:
            message = f"{what}: the source has no column {missing[0]!r}, which `*` asks for"
            raise InvalidRequest(message, hint="name the columns and values", column=missing[0])
        values = tuple((c.name, f"{quoted(source)}.{quoted(names[c.name.lower()])}") for c in schema)
        return replace(clause, values=values)
    pairs = [(schema.column(n.rsplit(".", 1)[-1]), text) for n, text in clause.values]
    if len({c.id for c, _ in pairs}) < len(pairs):
        raise InvalidRequest(f"{what}: a column is set twice", hint="set it once")
    return replace(clause, values=tuple((c.name, _value(c, text)) for c, text in pairs))


def _clause_value(clause: MergeClause, column: Column, alias: str) -> str:
    """A clause's value for a column: the one it sets, otherwise the old one, or the default in a new row."""
    given = dict(clause.values or ())
    if column.name in given:
        return f"({given[column.name]}\n)"
    return _default(column) if clause.action == "insert" else f"{quoted(alias)}.{quoted(column.name)}"


def _actions(op: str, schema: Schema, alias: str, values: Mapping[str, str], source: str) -> str:
    """The query that says what happens to each row, with its cells before and after."""
    own = quoted(alias)
    picked = [f"{op} AS `{OP}`"]
    if not schema.has_key:
        picked += [f"{own}.`{c.name}` AS `{c.name}`" for c in schema.key_columns]
    for i, column in enumerate(schema):
        old = f"{own}.{quoted(column.name)}"
        new = f"({values[column.name]}\n)" if column.name in values else old
        picked += [f"{new} AS `n{i}`", f"{old} AS `o{i}`"]
    return f"SELECT {', '.join(picked)} {source}"


def _change(
    place: SqlPlace, table: TableWriter, text: str, assigned: Mapping[str, str], given: Given, what: str
) -> Counts:
    """Run the query of actions, and add its result to the transaction as one statement."""
    from anabranch.repo.write.row_actions import apply_actions
    from anabranch.repo.write.write import Write

    state = table._state
    frames = {**given.frames, TARGET: table._with(replace(table._selection, hidden=True))}
    inner = plan_query(place, text, given.args, frames)
    types = dict(inner.columns)
    hidden = [] if state.schema.has_key else [f"`{c.name}`" for c in state.schema.key_columns]
    cells = []
    for i, column in enumerate(state.schema):
        cells += [_cast(f"n{i}", types[f"n{i}"], column, what, str(column.id))]
        cells += [f"`o{i}` AS `{column.before}`"]
    outer = f"SELECT `{OP}`, {', '.join((*hidden, *cells))} FROM (\n{text}\n) AS `a` WHERE `{OP}` IS NOT NULL"
    plan = plan_query(place, outer, given.args, frames)
    moves = any(c.name in assigned for c in state.schema.key_columns)

    def applied(plan: Plan) -> Changed:
        with plan.watched():
            return apply_actions(Write(place.ctx, plan.engine, state, table._pending, what), plan.query(), moves)

    try:
        statement = applied(plan)
    except InvalidRequest as error:
        if plan.proven is None or not plan.proven.guards:
            raise
        statement = applied(plan.asking_spark(error))
    return table._transaction.add(table._thing, statement)


def _writer(place: SqlPlace, name: str) -> TableWriter:
    assert place.tx is not None
    return place.tx.table(name)


def _last(name: str) -> str:
    return name.rsplit(".", 1)[-1]


def _source_name(text: str) -> str:
    """The name of a source without an alias: the last part of its name."""
    found = find_references(f"SELECT * FROM {text}")
    return found[0].parts[-1] if len(found) == 1 and not text.lstrip().startswith("(") else "source"


def _value(column: Column, text: str) -> str:
    return _default(column) if text.strip().upper() == "DEFAULT" else text


def _looks_elsewhere(*texts: str | None) -> bool:
    """Whether a text contains a query."""
    given = [text for text in texts if text]
    words = {token.word for text in given for token in tokenize(text)}
    return "SELECT" in words or any(find_references(f"SELECT {text}") for text in given)


def _requalified(text: str, alias: str, own: str) -> str:
    """The text with the alias of its table replaced by the table's own name."""
    if alias.lower() == own.lower():
        return text
    pieces, at = [], 0
    for token, _ in find_qualified(text, alias):
        pieces += [text[at : token.start], quoted(own)]
        at = token.end
    return "".join((*pieces, text[at:]))


def _args(texts: Sequence[str | None], given: Given) -> dict[str, Any]:
    return used_args(" ".join(t for t in texts if t), given.args)
