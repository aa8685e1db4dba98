"""Parse INSERT, UPDATE, DELETE, MERGE INTO, TRUNCATE."""

from __future__ import annotations

from collections.abc import Sequence

from anabranch.sql.cursor import Cursor
from anabranch.sql.grammar.tokens import Token
from anabranch.sql.statements import Delete, Insert, MergeClause, MergeInto, Truncate, Update, When

_VALUE = "a value"


def insert(cursor: Cursor) -> Insert:
    """Read `INSERT INTO | OVERWRITE [TABLE] t [PARTITION (…)] [(columns)] [BY NAME] [REPLACE WHERE …] query`."""
    cursor.expect("INSERT")
    overwrite = cursor.expect_any("INTO", "OVERWRITE") == "OVERWRITE"
    _skip_word(cursor, "TABLE")
    table = cursor.path("a table")
    partition = tuple(cursor.in_brackets(lambda: _part(cursor))) if cursor.accept("PARTITION") else ()
    columns = tuple(cursor.in_brackets(lambda: cursor.name("a column"))) if _is_column_list(cursor) else None
    by_name = cursor.accept("BY", "NAME")
    where = None
    if not overwrite and not partition and cursor.accept("REPLACE"):
        cursor.expect("WHERE")
        where = cursor.text_until("SELECT", "VALUES", "WITH", "TABLE", what="a condition")
    if not (cursor.token.word in ("SELECT", "VALUES", "FROM", "TABLE", "WITH") or cursor.token.is_symbol("(")):
        raise cursor.error("VALUES", "SELECT", "a list of columns")
    return Insert(table, cursor.rest("a query"), columns, by_name, overwrite, where, partition)


def _part(cursor: Cursor) -> tuple[str, str]:
    """`column = value`, of PARTITION."""
    column = cursor.name("a column")
    if not cursor.accept_symbol("=") and not cursor.accept_symbol("=="):
        raise cursor.error("= and a value: which rows are replaced is said, not taken from the query; or REPLACE WHERE")
    return column, cursor.text_until(comma=True, what=_VALUE)


def update(cursor: Cursor) -> Update:
    """Read `UPDATE t [alias] SET column = value, … [WHERE condition]`."""
    cursor.expect("UPDATE")
    table, alias = cursor.path("a table"), _alias(cursor, "SET")
    cursor.expect("SET")
    values = cursor.listed(lambda: _assignment(cursor, "WHERE"))
    return Update(table, alias, tuple(values), _where(cursor))


def delete(cursor: Cursor) -> Delete:
    """Read `DELETE FROM t [alias] [WHERE condition]`."""
    cursor.expect("DELETE", "FROM")
    table, alias = cursor.path("a table"), _alias(cursor, "WHERE")
    return Delete(table, alias, _where(cursor))


def truncate(cursor: Cursor) -> Truncate:
    """Read `TRUNCATE TABLE t`."""
    cursor.expect("TRUNCATE")
    _skip_word(cursor, "TABLE")
    return Truncate(cursor.path("a table"))


def merge_into(cursor: Cursor) -> MergeInto:
    """Read `MERGE INTO t USING source ON condition WHEN …`."""
    cursor.expect("MERGE")
    if cursor.accept("WITH"):
        raise cursor.error("INTO: a merge does not change columns; ALTER TABLE does")
    cursor.expect("INTO")
    table, alias = cursor.path("a table"), _alias(cursor, "USING")
    cursor.expect("USING")
    source, source_alias = _source(cursor)
    cursor.expect("ON")
    on = cursor.text_until("WHEN", what="a condition")
    clauses = [_clause(cursor)]
    while cursor.sees("WHEN"):
        clauses.append(_clause(cursor))
    return MergeInto(table, alias, source, source_alias, on, tuple(clauses))


def _source(cursor: Cursor) -> tuple[str, str | None]:
    """A query in brackets, or a table at some version; its alias is the last word before ON."""
    start = cursor.at
    text = cursor.text_until("ON", what="a table or a query in brackets", rule="relation")
    taken = cursor.tokens[start : cursor.at]
    last, before = taken[-1], taken[-2] if len(taken) > 1 else None
    if (named := _alias_of_columns(taken)) is not None:
        return f"(SELECT * FROM {text})", named
    if before is None or not last.is_name or before.is_symbol(".", "@", "~", "/") or before.word in ("OF", "TO"):
        return text, None
    end = taken[-3].end if before.word == "AS" else before.end
    return cursor.source[taken[0].start : end], last.name


def _alias_of_columns(taken: Sequence[Token]) -> str | None:
    """The name in `… AS x (a, b)`, if columns are named after it."""
    at = next((i for i in reversed(range(len(taken))) if taken[i].is_symbol("(")), 0)
    closed = [t for t in taken[at:] if t.is_symbol(")")]
    if at < 2 or closed != [taken[-1]] or not taken[at - 1].is_name:
        return None
    return taken[at - 1].name if taken[at - 2].word == "AS" or taken[at - 2].is_symbol(")") else None


def _clause(cursor: Cursor) -> MergeClause:
    cursor.expect("WHEN")
    matched = not cursor.accept("NOT")
    cursor.expect("MATCHED")
    by_source = not matched and cursor.accept("BY", "SOURCE")
    if not matched and not by_source:
        cursor.accept("BY", "TARGET")
    condition = cursor.text_until("THEN", what="a condition") if cursor.accept("AND") else None
    cursor.expect("THEN")
    if not matched and not by_source:
        cursor.expect("INSERT")
        return MergeClause("not matched", condition, "insert", _inserted(cursor))
    when: When = "not matched by source" if by_source else "matched"
    if cursor.expect_any("UPDATE", "DELETE") == "DELETE":
        return MergeClause(when, condition, "delete")
    cursor.expect("SET")
    if cursor.token.is_symbol("*") and not by_source:
        cursor.step()
        return MergeClause(when, condition, "update", None)
    values = cursor.listed(lambda: _assignment(cursor, "WHEN"))
    return MergeClause(when, condition, "update", tuple(values))


def _inserted(cursor: Cursor) -> tuple[tuple[str, str], ...] | None:
    if cursor.accept_symbol("*"):
        return None
    columns = cursor.in_brackets(lambda: cursor.path("a column"))
    cursor.expect("VALUES")
    values = cursor.in_brackets(lambda: cursor.text_until(comma=True, what=_VALUE))
    if len(columns) != len(values):
        raise cursor.error(f"{len(columns)} values for {len(columns)} columns, there are {len(values)}")
    return tuple(zip(columns, values, strict=True))


def _assignment(cursor: Cursor, *ends: str) -> tuple[str, str]:
    """`column = value`; the column may be qualified by the table or its alias."""
    column = cursor.path("a column").rsplit(".", 1)[-1]
    if not cursor.accept_symbol("=") and not cursor.accept_symbol("=="):
        raise cursor.error()
    return column, cursor.text_until(*ends, comma=True, what=_VALUE)


def _where(cursor: Cursor) -> str | None:
    return cursor.text_until(what="a condition") if cursor.accept("WHERE") else None


def _alias(cursor: Cursor, *ends: str) -> str | None:
    if cursor.accept("AS"):
        return cursor.name("an alias")
    if cursor.token.is_name and cursor.token.word not in ends:
        return cursor.step().name
    return None


def _skip_word(cursor: Cursor, word: str) -> None:
    """Skip an optional word, unless it is the name itself."""
    if cursor.sees(word) and cursor.look().is_name:
        cursor.step()


def _is_column_list(cursor: Cursor) -> bool:
    """Tell `(a, b)` from a query in brackets."""
    if not cursor.token.is_symbol("("):
        return False
    inside = cursor.look()
    if inside.is_symbol("(") or not inside.is_name:
        return False
    return inside.word not in ("SELECT", "WITH", "FROM", "VALUES", "TABLE") or cursor.look(2).is_symbol(",", ")")
