"""CREATE, DROP and ALTER of tables and namespaces, through the transaction's own verbs."""

from __future__ import annotations

from functools import singledispatch

from anabranch.errors import AlreadyExists, InvalidRequest, NotFound
from anabranch.model.changes import Counts
from anabranch.model.ddl import parse_type
from anabranch.model.schema import Column, new_column
from anabranch.repo.commit.transaction import Transaction
from anabranch.repo.sql.plan import plan_query
from anabranch.repo.sql.relations import SqlPlace
from anabranch.repo.sql.row_statements import Given, rows_as
from anabranch.repo.write.table_writer import TableWriter
from anabranch.sql import statements as s


def create_table(place: SqlPlace, asked: s.CreateTable, given: Given) -> Counts:
    """Create a table from columns, from a query, or from both; replace an existing one if asked to."""
    tx = _tx(place)
    if asked.if_not_exists and _is_there(tx, asked.table):
        return Counts()
    if not asked.columns and asked.query is None:
        raise InvalidRequest(
            f"table {asked.table!r} has no columns", hint="CREATE TABLE t (a INT, …), or … AS SELECT …"
        )
    columns = {c.name: _described(c) for c in asked.columns}
    if len(columns) < len(asked.columns):
        raise InvalidRequest(f"table {asked.table!r}: a column is defined twice", hint="give each a name of its own")
    data = _rows(place, asked, given)
    if asked.replace and _is_there(tx, asked.table):
        tx.table(asked.table).drop()
    made = tx.create_table(
        asked.table,
        data,
        key=asked.key or None,
        schema=columns or None,
        cluster_by=asked.cluster_by or None,
        properties=dict(asked.properties) or None,
    )
    for column in asked.columns:
        if column.comment:
            made.alter_column(column.name, comment=column.comment)
    for name, condition in asked.checks:
        made.add_check(name, condition)
    return tx.counts.get(asked.table, Counts())


def _described(column: s.ColumnText) -> str:
    not_null = "" if column.nullable else " NOT NULL"
    default = f" DEFAULT {column.default}" if column.default is not None else ""
    return f"{column.type}{not_null}{default}"


def _rows(place: SqlPlace, asked: s.CreateTable, given: Given) -> object:
    """The rows of the query, under the defined columns if there are any."""
    if asked.query is None:
        return None
    plan = plan_query(place, asked.query, given.args, given.frames)
    found = [name for name, _ in plan.columns]
    untyped = next((name for name, type_ in plan.columns if type_ is None), None)
    if untyped is not None and not asked.columns:
        raise InvalidRequest(f"column {untyped!r} is null and has no type", hint="CAST(NULL AS INT), or define columns")
    if asked.columns and len(found) != len(asked.columns):
        message = f"{len(asked.columns)} columns are defined, the query gives {len(found)}"
        raise InvalidRequest(f"table {asked.table!r}: {message}", hint="define those that the query gives")
    columns: list[Column] = [new_column(c.name, parse_type(c.type)) for c in asked.columns]
    if not columns:
        columns = [new_column(name, type_) for name, type_ in plan.columns if type_ is not None]
    return rows_as(plan, columns, given, f"table {asked.table!r}")


def drop_table(place: SqlPlace, asked: s.DropTable) -> Counts:
    """Drop a table."""
    tx = _tx(place)
    if asked.if_exists and not _is_there(tx, asked.table):
        return Counts()
    tx.drop_table(asked.table)
    return Counts()


def alter_table(place: SqlPlace, asked: s.AlterTable) -> Counts:
    """Change columns, key, checks, properties, layout or name."""
    _alter(asked.change, _tx(place).table(asked.table))
    return Counts()


@singledispatch
def _alter(change: object, table: TableWriter) -> None:
    raise NotImplementedError(type(change).__name__)


@_alter.register
def _(change: s.AddColumns, table: TableWriter) -> None:
    for column in change.columns:
        if not (change.if_not_exists and table.schema.find(column.name)):
            table.add_column(column.name, column.type, column.default, column.nullable, column.comment)


@_alter.register
def _(change: s.DropColumns, table: TableWriter) -> None:
    for name in change.names:
        if not (change.if_exists and not table.schema.find(name)):
            table.drop_column(name)


@_alter.register
def _(change: s.RenameColumn, table: TableWriter) -> None:
    table.rename_column(change.old, change.new)


@_alter.register
def _(change: s.RenameTable, table: TableWriter) -> None:
    table.rename(change.name)


@_alter.register
def _(change: s.AlterColumn, table: TableWriter) -> None:
    default = None if change.drop_default else ... if change.default is None else change.default
    comment = ... if change.comment is None else change.comment
    table.alter_column(change.name, change.type, change.nullable, default, comment)


@_alter.register
def _(change: s.AddCheck, table: TableWriter) -> None:
    table.add_check(change.name, change.condition)


@_alter.register
def _(change: s.DropCheck, table: TableWriter) -> None:
    if not (change.if_exists and change.name not in table.checks):
        table.drop_check(change.name)


@_alter.register
def _(change: s.SetKey, table: TableWriter) -> None:
    table.set_key(list(change.columns) or None)


@_alter.register
def _(change: s.SetProperties, table: TableWriter) -> None:
    table.set_properties(dict(change.properties))


@_alter.register
def _(change: s.UnsetProperties, table: TableWriter) -> None:
    table.unset_properties(list(change.names))


@_alter.register
def _(change: s.SetComment, table: TableWriter) -> None:
    if change.text is not None:
        table.set_properties({"comment": change.text})
    elif "comment" in table.properties:
        table.unset_properties(["comment"])


@_alter.register
def _(change: s.ClusterBy, table: TableWriter) -> None:
    table.cluster_by(list(change.columns) or None)


def create_namespace(place: SqlPlace, asked: s.CreateNamespace) -> Counts:
    """Create a namespace."""
    try:
        _tx(place).create_namespace(asked.name, dict(asked.properties) or None)
    except AlreadyExists:
        if not asked.if_not_exists:
            raise
    return Counts()


def drop_namespace(place: SqlPlace, asked: s.DropNamespace) -> Counts:
    """Drop a namespace, including its contents if asked to."""
    try:
        _tx(place).drop_namespace(asked.name, cascade=asked.cascade)
    except NotFound:
        if not asked.if_exists:
            raise
    return Counts()


def alter_namespace(place: SqlPlace, asked: s.AlterNamespace) -> Counts:
    """Change the properties or the name of a namespace."""
    tx = _tx(place)
    if isinstance(asked.change, s.SetProperties):
        tx.set_namespace_properties(asked.name, dict(asked.change.properties))
    elif isinstance(asked.change, s.UnsetProperties):
        tx.unset_namespace_properties(asked.name, asked.change.names)
    elif isinstance(asked.change, s.SetComment):
        tx.set_namespace_properties(asked.name, {"comment": asked.change.text or ""})
    else:
        tx.rename_namespace(asked.name, asked.change.name)
    return Counts()


def _tx(place: SqlPlace) -> Transaction:
    assert place.tx is not None
    return place.tx


def _is_there(tx: Transaction, name: str) -> bool:
    try:
        tx.table(name)
    except NotFound:
        return False
    return True
