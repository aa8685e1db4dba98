"""Spark SQL statements that turn one state of a table into another: to read, to keep, to run elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlglot import exp

from anabranch.errors import InvalidRequest
from anabranch.model.ddl import closed
from anabranch.model.schema import Column, Schema
from anabranch.model.types import DataType
from anabranch.plan.schema_diff import SchemaChange

_DIALECT = "spark"


def created(table: str, schema: Schema) -> str:
    """The statement that makes a table; Spark has no keys, so a comment names them."""
    columns = ", ".join(_defined(column) for column in schema)
    key = f" /* key: {', '.join(schema.key_names)} */".replace("*/ */", "*/") if schema.has_key else ""
    return f"CREATE TABLE {_table(table)} ({columns}){key}"


def dropped(table: str) -> str:
    """The statement that drops a table."""
    return f"DROP TABLE {_table(table)}"


def renamed(old: str, new: str) -> str:
    """The statement that gives a table another name."""
    return f"ALTER TABLE {_table(old)} RENAME TO {_table(new)}"


def namespace(name: str, change: str, renamed_from: str | None) -> str:
    """The statement that makes or drops a namespace; Spark can't rename one, so that is a comment."""
    if change == "changed":
        return f"-- namespace {_table(name)}" + (f" was {_table(renamed_from)}" if renamed_from else " has changed")
    return f"{'CREATE' if change == 'added' else 'DROP'} NAMESPACE {_table(name)}"


def prepared(table: str, changes: Sequence[SchemaChange], schema: Schema) -> Iterator[str]:
    """The statements that change columns and properties; rows may still break NOT NULL and checks.

    What Spark has no statement for is a comment.
    """
    known = {column.name: column for column in schema}
    dropped = [c for c in changes if c.change == "check" and c.before is not None]
    yield from (_alter(table, f"DROP CONSTRAINT {_name(c.name or '')}") for c in dropped)
    for change in changes:
        if change.change == "check" or (change.change == "nullable" and not change.after):
            continue
        made = _alterations(change, known)
        yield from (_alter(table, text) for text in made)
        if not made:
            yield f"-- {change.change}: {_listed(change.after)}"


def finished(table: str, changes: Sequence[SchemaChange], schema: Schema) -> Iterator[str]:
    """The statements that enforce NOT NULL and checks again."""
    not_null = {c.name for c in schema if not c.nullable and c.initial_default is None}
    for change in changes:
        name = _name(change.name or "")
        if (change.change == "nullable" and not change.after) or (change.change == "add" and change.name in not_null):
            yield _alter(table, f"ALTER COLUMN {name} SET NOT NULL")
        elif change.change == "check" and change.after is not None:
            yield _alter(table, f"ADD CONSTRAINT {name} CHECK ({closed(change.after)})")


def _alter(table: str, what: str) -> str:
    return f"ALTER TABLE {_table(table)} {what}"


def _listed(names: Sequence[str] | None) -> str:
    return ", ".join(_name(name) for name in names or ()) or "none"


def _alterations(change: SchemaChange, known: Mapping[str, Column]) -> tuple[str, ...]:
    if change.name is None:
        return ()
    name, after = _name(change.name), change.after
    match change.change:
        case "add":
            return _added(known[change.name])
        case "drop":
            return (f"DROP COLUMN {name}",)
        case "rename":
            return (f"RENAME COLUMN {_name(change.before)} TO {name}",)
        case "type":
            return (f"ALTER COLUMN {name} TYPE {after}",)
        case "nullable":
            return (f"ALTER COLUMN {name} DROP NOT NULL",)
        case "default":
            return (f"ALTER COLUMN {name} {_default(after)}",)
        case "comment":
            return (f"ALTER COLUMN {name} COMMENT {_text(after or '')}",)
        case "property":
            return (_property(change),)
    return ()


def _added(column: Column) -> tuple[str, ...]:
    """Add a column with its initial default for older rows, and its default for new ones."""
    first = _initial(column)
    made = replace(column, default=first, nullable=column.nullable or first is None)
    later = (f"ALTER COLUMN {_name(column.name)} {_default(column.default)}",) if first != column.default else ()
    return (f"ADD COLUMN {_defined(made)}", *later)


def _initial(column: Column) -> str | None:
    """The initial default of a column, as SQL."""
    described, type_ = column.initial_default, column.type
    if described is None or type_.is_nested or type_.is_interval:
        return None if described is None else column.default
    value = (
        int(described)
        if type_.name in ("int", "bigint")
        else bytes.fromhex(described)
        if type_.name == "binary"
        else described
    )
    return literal(described == "true" if type_.name == "boolean" else value, type_).sql(_DIALECT)


def inserted(table: str, columns: Sequence[Column], row: Mapping[str, Any]) -> str:
    """The statement that adds a row."""
    values = exp.Tuple(expressions=[literal(row[c.name], c.type) for c in columns])
    names = [exp.to_identifier(c.name, quoted=True) for c in columns]
    into = exp.Schema(this=_expression(table), expressions=names)
    return exp.Insert(this=into, expression=exp.Values(expressions=[values])).sql(_DIALECT)


def updated(
    table: str, columns: Sequence[Column], row: Mapping[str, Any], key: Sequence[Column], old: Mapping[str, Any]
) -> str:
    """The statement that changes cells of a row."""
    changed = [exp.EQ(this=_column(c), expression=literal(row[c.name], c.type)) for c in columns]
    return exp.Update(this=_expression(table), expressions=changed, where=_where(key, old)).sql(_DIALECT)


def deleted(table: str, key: Sequence[Column], row: Mapping[str, Any]) -> str:
    """The statement that deletes a row."""
    return exp.Delete(this=_expression(table), where=_where(key, row)).sql(_DIALECT)


def literal(value: Any, type_: DataType) -> exp.Expr:
    """A value as an SQL literal."""
    if value is None:
        return exp.Null()
    if isinstance(value, bool):
        return exp.Boolean(this=value)
    if isinstance(value, bytes):
        return exp.HexString(this=value.hex())
    if isinstance(value, str) and type_.name == "string":
        return exp.Literal.string(value)
    if isinstance(value, int) and type_.name in ("int", "bigint"):
        return exp.Literal.number(value)
    if isinstance(value, (dict, list)) or type_.is_nested or type_.is_interval:
        raise InvalidRequest(f"values of type {type_} can't be written as SQL", hint="use --format json or ndjson")
    text = value.isoformat(" ") if isinstance(value, datetime) else str(value)
    return exp.Cast(this=exp.Literal.string(text), to=exp.DataType.build(str(type_), dialect=_DIALECT))


def _where(key: Sequence[Column], row: Mapping[str, Any]) -> exp.Where:
    return exp.Where(this=exp.and_(*(_equals(c, row[c.name]) for c in key)))


def _equals(column: Column, value: Any) -> exp.Expr:
    kind = exp.NullSafeEQ if value is None else exp.EQ
    return kind(this=_column(column), expression=literal(value, column.type))


def _defined(column: Column) -> str:
    not_null = "" if column.nullable else " NOT NULL"
    default = f" DEFAULT {closed(column.default)}" if column.default is not None else ""
    comment = f" COMMENT {_text(column.comment)}" if column.comment else ""
    return f"{_name(column.name)} {column.type}{not_null}{default}{comment}"


def _default(text: str | None) -> str:
    return "DROP DEFAULT" if text is None else f"SET DEFAULT {closed(text)}"


def _property(change: SchemaChange) -> str:
    assert change.name is not None
    if change.after is None:
        return f"UNSET TBLPROPERTIES ({_text(change.name)})"
    return f"SET TBLPROPERTIES ({_text(change.name)} = {_text(change.after)})"


def _text(value: str) -> str:
    return exp.Literal.string(value).sql(_DIALECT)


def _column(column: Column) -> exp.Column:
    return exp.Column(this=exp.to_identifier(column.name, quoted=True))


def _name(name: str) -> str:
    return exp.to_identifier(name, quoted=True).sql(_DIALECT)


def _table(name: str) -> str:
    return ".".join(_name(part) for part in name.split("."))


def _expression(name: str) -> exp.Table:
    parts = [exp.to_identifier(part, quoted=True) for part in name.split(".")]
    if len(parts) <= 3:
        return exp.Table(**dict(zip(("this", "db", "catalog"), reversed(parts), strict=False)))
    return exp.Table(this=exp.Dot.build(parts))
