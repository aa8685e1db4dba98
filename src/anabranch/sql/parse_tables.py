"""Parse CREATE, DROP and ALTER of tables and namespaces."""

from __future__ import annotations

from dataclasses import dataclass, field

from anabranch.sql import statements as s
from anabranch.sql.cursor import Cursor
from anabranch.sql.grammar.tokens import syntax_error

_SPACES = ("NAMESPACE", "SCHEMA", "DATABASE")
_AFTER_TYPE = frozenset(
    ("NOT", "NULL", "DEFAULT", "COMMENT", "PRIMARY", "CHECK", "CONSTRAINT", "UNIQUE", "GENERATED", "FIRST", "AFTER")
)
_NOT_HERE = {
    "UNIQUE": "UNIQUE is not enforced: make the columns the PRIMARY KEY",
    "GENERATED": "generated columns are not supported: write the values, or give a DEFAULT",
    "FOREIGN": "foreign keys are not supported",
    "FIRST": "columns are in the order in which they were added",
    "AFTER": "columns are in the order in which they were added",
    "PARTITIONED": "tables are not partitioned: CLUSTER BY (columns) orders their files",
    "LOCATION": "the store decides where a table's files are",
}
"""What people write that is not supported, and what to do instead."""


def create(cursor: Cursor) -> s.SqlStatement:
    """Read CREATE [OR REPLACE] TABLE, and CREATE NAMESPACE."""
    replace = cursor.accept("REPLACE") or cursor.accept("CREATE", "OR", "REPLACE")
    if not replace:
        cursor.expect("CREATE")
    if cursor.accept_any(*_SPACES):
        return _create_namespace(cursor)
    if not cursor.accept("TABLE"):
        raise cursor.error(*(() if replace else ("BRANCH", "TAG")))
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    table = cursor.path("a table")
    parts = _Parts()
    if cursor.accept_symbol("("):
        cursor.listed(lambda: _element(cursor, parts))
        cursor.expect_symbol(")")
    properties, cluster_by, query = _options(cursor)
    return s.CreateTable(
        table,
        tuple(parts.columns),
        tuple(parts.key),
        tuple(parts.checks),
        tuple(properties),
        tuple(cluster_by),
        query,
        if_not_exists,
        replace,
    )


@dataclass
class _Parts:
    """What is in the brackets of CREATE TABLE."""

    columns: list[s.ColumnText] = field(default_factory=list)
    key: list[str] = field(default_factory=list)
    checks: list[tuple[str, str]] = field(default_factory=list)


def _element(cursor: Cursor, parts: _Parts) -> None:
    name = cursor.name("a name") if cursor.accept("CONSTRAINT") else None
    if cursor.sees("PRIMARY", "KEY"):
        cursor.accept("PRIMARY", "KEY")
        _set_key(cursor, parts, cursor.in_brackets(lambda: cursor.name("a column")))
    elif cursor.sees("CHECK") and cursor.look().is_symbol("("):
        _check(cursor, parts, name)
    elif name is not None or cursor.sees("FOREIGN", "KEY") or (cursor.sees("UNIQUE") and cursor.look().is_symbol("(")):
        _refuse(cursor)
        raise cursor.error("PRIMARY KEY", "CHECK")
    else:
        parts.columns.append(column(cursor, parts))


def column(cursor: Cursor, parts: _Parts | None = None) -> s.ColumnText:
    """Read a column: name, type, and clauses."""
    name = cursor.name("a column")
    made = s.ColumnText(name, type_text(cursor))
    nullable, default, comment = True, None, None
    while cursor.token.word in _AFTER_TYPE:
        if cursor.accept("NOT", "NULL"):
            nullable = False
        elif cursor.accept("NULL"):
            nullable = True
        elif cursor.accept("COMMENT"):
            comment = cursor.string()
        elif cursor.accept("DEFAULT"):
            default = cursor.text_until(*(_AFTER_TYPE - {"NULL", "NOT"}), "NOT", comma=True, what="a default")
        elif parts is not None and cursor.accept("PRIMARY", "KEY"):
            _set_key(cursor, parts, [name])
        elif parts is not None and cursor.sees("CHECK"):
            _check(cursor, parts, None)
        elif parts is not None and cursor.accept("CONSTRAINT"):
            _check(cursor, parts, cursor.name("a name"))
        else:
            _refuse(cursor)
            raise cursor.error(", or )")
    return s.ColumnText(name, made.type, nullable, default, comment)


def _set_key(cursor: Cursor, parts: _Parts, columns: list[str]) -> None:
    if parts.key:
        raise cursor.error("one PRIMARY KEY: for several columns, PRIMARY KEY (a, b)")
    parts.key = columns


def _check(cursor: Cursor, parts: _Parts, name: str | None) -> None:
    cursor.expect("CHECK")
    parts.checks.append((name or f"check_{len(parts.checks) + 1}", cursor.in_brackets_text("a condition")))


def _refuse(cursor: Cursor) -> None:
    if cursor.token.word in _NOT_HERE:
        problem, _, instead = _NOT_HERE[cursor.token.word].partition(": ")
        raise syntax_error(cursor.source, cursor.token.start, problem, instead or None)


def type_text(cursor: Cursor) -> str:
    """Take a type verbatim."""
    first, last, depth = cursor.token, None, 0
    if not first.is_name:
        raise cursor.error("a type")
    while not cursor.done:
        token = cursor.token
        if depth == 0 and (token.is_symbol(",", ")") or token.word in _AFTER_TYPE):
            break
        depth += {"<": 1, "(": 1, ">": -1, ")": -1, ">>": -2, ">>>": -3}.get(token.text, 0)
        last = cursor.step()
    if last is None:
        raise cursor.error("a type")
    return cursor.source[first.start : last.end]


def _options(cursor: Cursor) -> tuple[list[tuple[str, str]], list[str], str | None]:
    """Read the options after the columns, in any order, and the query."""
    properties: list[tuple[str, str]] = []
    cluster_by: list[str] = []
    while True:
        if cursor.accept("USING"):
            cursor.name("a format")  # Ignored: tables are always Parquet.
        elif cursor.accept("TBLPROPERTIES") or cursor.accept("OPTIONS"):
            properties += cursor.in_brackets(lambda: property_(cursor))
        elif cursor.accept("COMMENT"):
            properties.append(("comment", cursor.string()))
        elif cursor.accept("CLUSTER", "BY"):
            cluster_by = cursor.in_brackets(lambda: cursor.name("a column"))
        elif cursor.token.word in ("PARTITIONED", "LOCATION"):
            _refuse(cursor)
        else:
            break
    if cursor.accept("AS") or cursor.token.word in ("SELECT", "WITH", "FROM", "VALUES", "TABLE"):
        return properties, cluster_by, cursor.rest("a query")
    return properties, cluster_by, None


def property_(cursor: Cursor) -> tuple[str, str]:
    """Read `'name' = 'value'`."""
    name = _property_name(cursor)
    cursor.accept_symbol("=")
    plain = cursor.token.kind in ("number", "word")
    return name, cursor.step().text if plain else cursor.string("a value in quotes")


def _property_name(cursor: Cursor) -> str:
    return cursor.string() if cursor.token.kind == "string" else cursor.path("the name of a property")


def _create_namespace(cursor: Cursor) -> s.CreateNamespace:
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    name = cursor.path("a namespace")
    properties: list[tuple[str, str]] = []
    while not cursor.done:
        if cursor.accept("COMMENT"):
            properties.append(("comment", cursor.string()))
        elif cursor.accept("WITH"):
            cursor.expect_any("DBPROPERTIES", "PROPERTIES")
            properties += cursor.in_brackets(lambda: property_(cursor))
        else:
            _refuse(cursor)
            raise cursor.error("COMMENT", "the end")
    return s.CreateNamespace(name, if_not_exists, tuple(properties))


def drop(cursor: Cursor) -> s.SqlStatement:
    """Read DROP TABLE and DROP NAMESPACE."""
    cursor.expect("DROP")
    if cursor.accept_any(*_SPACES):
        if_exists = cursor.accept("IF", "EXISTS")
        name = cursor.path("a namespace")
        cascade = cursor.accept_any("CASCADE", "RESTRICT") == "CASCADE"
        return s.DropNamespace(name, if_exists, cascade)
    cursor.expect("TABLE")
    if_exists = cursor.accept("IF", "EXISTS")
    made = s.DropTable(cursor.path("a table"), if_exists)
    cursor.accept("PURGE")
    return made


def alter(cursor: Cursor) -> s.SqlStatement:
    """Read ALTER TABLE and ALTER NAMESPACE."""
    cursor.expect("ALTER")
    if cursor.accept_any(*_SPACES):
        return _alter_namespace(cursor)
    cursor.expect("TABLE")
    table = cursor.path("a table")
    return s.AlterTable(table, _alteration(cursor))


def _alter_namespace(cursor: Cursor) -> s.AlterNamespace:
    name = cursor.path("a namespace")
    if cursor.accept("RENAME", "TO"):
        return s.AlterNamespace(name, s.RenameTable(cursor.path("a name")))
    unset = cursor.expect_any("SET", "UNSET") == "UNSET"
    cursor.expect_any("DBPROPERTIES", "PROPERTIES")
    if unset:
        return s.AlterNamespace(name, s.UnsetProperties(_unset(cursor)))
    return s.AlterNamespace(name, s.SetProperties(tuple(cursor.in_brackets(lambda: property_(cursor)))))


def _unset(cursor: Cursor) -> tuple[str, ...]:
    cursor.accept("IF", "EXISTS")
    return tuple(cursor.in_brackets(lambda: _property_name(cursor)))


def _alteration(cursor: Cursor) -> s.Alteration:
    match cursor.expect_any("ADD", "DROP", "RENAME", "ALTER", "CHANGE", "SET", "UNSET", "CLUSTER"):
        case "ADD":
            return _add(cursor)
        case "DROP":
            return _drop_part(cursor)
        case "RENAME":
            return _rename(cursor)
        case "SET":
            cursor.expect("TBLPROPERTIES")
            return s.SetProperties(tuple(cursor.in_brackets(lambda: property_(cursor))))
        case "UNSET":
            cursor.expect("TBLPROPERTIES")
            return s.UnsetProperties(_unset(cursor))
        case "CLUSTER":
            cursor.expect("BY")
            if cursor.accept("NONE"):
                return s.ClusterBy(())
            return s.ClusterBy(tuple(cursor.in_brackets(lambda: cursor.name("a column"))))
    return _alter_column(cursor)


def _add(cursor: Cursor) -> s.Alteration:
    if cursor.accept("PRIMARY", "KEY"):
        return s.SetKey(tuple(cursor.in_brackets(lambda: cursor.name("a column"))))
    if cursor.accept("CONSTRAINT"):
        name = cursor.name("a name")
        if cursor.accept("PRIMARY", "KEY"):
            return s.SetKey(tuple(cursor.in_brackets(lambda: cursor.name("a column"))))
        cursor.expect("CHECK")
        return s.AddCheck(name, cursor.in_brackets_text("a condition"))
    cursor.accept_any("COLUMNS", "COLUMN")
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    if cursor.token.is_symbol("("):
        return s.AddColumns(tuple(cursor.in_brackets(lambda: column(cursor))), if_not_exists)
    return s.AddColumns(tuple(cursor.listed(lambda: column(cursor))), if_not_exists)


def _drop_part(cursor: Cursor) -> s.Alteration:
    if cursor.accept("PRIMARY", "KEY"):
        return s.SetKey(())
    if cursor.accept("CONSTRAINT"):
        if_exists = cursor.accept("IF", "EXISTS")
        return s.DropCheck(cursor.name("a name"), if_exists)
    if cursor.expect_any("COLUMNS", "COLUMN") and cursor.accept("IF", "EXISTS"):
        return s.DropColumns(_columns(cursor), if_exists=True)
    return s.DropColumns(_columns(cursor))


def _columns(cursor: Cursor) -> tuple[str, ...]:
    if cursor.token.is_symbol("("):
        return tuple(cursor.in_brackets(lambda: cursor.name("a column")))
    return tuple(cursor.listed(lambda: cursor.name("a column")))


def _rename(cursor: Cursor) -> s.Alteration:
    if cursor.accept("TO"):
        return s.RenameTable(cursor.path("a name"))
    cursor.expect("COLUMN")
    old = cursor.name("a column")
    cursor.expect("TO")
    return s.RenameColumn(old, cursor.name("a name"))


def comment(cursor: Cursor) -> s.SqlStatement:
    """Read COMMENT ON TABLE | COLUMN | NAMESPACE name IS 'text' | NULL."""
    cursor.expect("COMMENT", "ON")
    kind = cursor.expect_any("TABLE", "COLUMN", *_SPACES)
    name = cursor.path("a column" if kind == "COLUMN" else "a table" if kind == "TABLE" else "a namespace")
    table, dot, own = name.rpartition(".")
    if kind == "COLUMN" and not dot:
        raise cursor.error("the table and the column, table.column")
    cursor.expect("IS")
    text = None if cursor.accept("NULL") else cursor.string("a text in quotes, or NULL")
    if kind == "COLUMN":
        return s.AlterTable(table, s.AlterColumn(own, comment=text or ""))
    return s.AlterTable(name, s.SetComment(text)) if kind == "TABLE" else s.AlterNamespace(name, s.SetComment(text))


def _alter_column(cursor: Cursor) -> s.AlterColumn:
    cursor.accept("COLUMN")
    name = cursor.name("a column")
    if cursor.accept("TYPE"):
        return s.AlterColumn(name, type=type_text(cursor))
    if cursor.accept("COMMENT"):
        return s.AlterColumn(name, comment=cursor.string())
    if cursor.expect_any("SET", "DROP") == "SET":
        if cursor.accept("DATA", "TYPE"):
            return s.AlterColumn(name, type=type_text(cursor))
        if cursor.accept("NOT", "NULL"):
            return s.AlterColumn(name, nullable=False)
        cursor.expect("DEFAULT")
        return s.AlterColumn(name, default=cursor.rest("a default", "expression"))
    if cursor.accept("NOT", "NULL"):
        return s.AlterColumn(name, nullable=True)
    cursor.expect("DEFAULT")
    return s.AlterColumn(name, drop_default=True)
