"""Parse a script: each statement becomes a value. Errors show the place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from difflib import get_close_matches

from anabranch.errors import InvalidRequest
from anabranch.sql import parse_rows, parse_tables, parse_versions
from anabranch.sql.cursor import Cursor
from anabranch.sql.grammar.syntax import check_syntax
from anabranch.sql.grammar.tokens import Token, syntax_error, tokenize
from anabranch.sql.references import as_names
from anabranch.sql.statements import Delete, Insert, MergeInto, SqlQuery, SqlStatement, Update

_QUERY_WORDS = frozenset(("SELECT", "FROM", "VALUES", "TABLE", "MAP", "REDUCE"))

_FIRST: dict[str, Callable[[Cursor], SqlStatement]] = {
    "INSERT": parse_rows.insert,
    "UPDATE": parse_rows.update,
    "DELETE": parse_rows.delete,
    "MERGE": lambda cursor: (
        parse_versions.merge_branch(cursor) if cursor.look().word == "BRANCH" else parse_rows.merge_into(cursor)
    ),
    "TRUNCATE": parse_rows.truncate,
    "CREATE": lambda cursor: parse_versions.create(cursor) or parse_tables.create(cursor),
    "REPLACE": parse_tables.create,
    "DROP": lambda cursor: parse_versions.drop(cursor) or parse_tables.drop(cursor),
    "ALTER": lambda cursor: parse_versions.alter(cursor) or parse_tables.alter(cursor),
    "COMMENT": parse_tables.comment,
    "USE": parse_versions.use,
    "CHECKOUT": parse_versions.use,
    "COMMIT": parse_versions.commit,
    "ROLLBACK": parse_versions.rollback,
    "RESOLVE": parse_versions.resolve,
    "CONTINUE": parse_versions.finish_merge,
    "ABORT": parse_versions.abort_merge,
    "REVERT": parse_versions.revert,
    "CHERRY": parse_versions.cherry_pick,
    "RESTORE": parse_versions.restore,
    "RESET": parse_versions.reset,
    "OPTIMIZE": parse_versions.optimize,
    "SHOW": parse_versions.show,
    "DESCRIBE": parse_versions.describe,
    "DESC": parse_versions.describe,
    "EXPLAIN": parse_versions.explain,
}


def parse_script(text: str) -> list[SqlStatement]:
    """Parse all statements of a script; raise if one of them can't be read."""
    if not isinstance(text, str):
        raise InvalidRequest(f"SQL is text, this is a {type(text).__name__}", hint="such as 'SELECT * FROM orders'")
    return [_statement(text, tokens) for tokens in split(tokenize(text))]


def parse_one(text: str) -> SqlStatement:
    """Parse a text that is one statement."""
    found = parse_script(text)
    if len(found) == 1:
        return found[0]
    problem = f"this is {len(found)} statements, one was expected" if found else "there is no statement"
    raise InvalidRequest(f"SQL: {problem}", hint="give one statement, without a semicolon inside")


def split(tokens: list[Token]) -> Iterator[list[Token]]:
    """The tokens of each statement, each with its own end; empty statements are skipped."""
    current: list[Token] = []
    for token in tokens:
        if token.is_symbol(";") or token.kind == "end":
            if current:
                yield [*current, Token("end", "", current[-1].end, current[-1].end)]
            current = []
        else:
            current.append(token)


def _statement(text: str, tokens: list[Token]) -> SqlStatement:
    cursor = Cursor(text, tokens)
    _refuse_open_brackets(text, tokens)
    first = tokens[0]
    written = text[first.start : tokens[-1].end]
    made = _made(cursor)
    for passage in cursor.passages:
        _check_passage(cursor, *passage)
    return replace(made, text=written)


def _made(cursor: Cursor) -> SqlStatement:
    first = cursor.token
    if first.word == "WITH":
        return _with(cursor)
    if first.word in _QUERY_WORDS or first.is_symbol("("):
        cursor.rest("a query")
        return SqlQuery()
    reader = _FIRST.get(first.word)
    if reader is None:
        raise _unknown(cursor.source, first)
    made = reader(cursor)
    cursor.expect_end()
    return made


def _check_passage(cursor: Cursor, start: int, end: int, rule: str) -> None:
    """Check text that was taken verbatim against Spark's grammar, whichever engine will run it."""
    last = cursor.tokens[end - 1].end
    tokens = [*cursor.tokens[start:end], Token("end", "", last, last)]
    named = as_names(cursor.source, tokens, expects=rule == "relation")
    check_syntax(cursor.source, named, rule)


_AFTER_WITH: dict[str, Callable[[Cursor], Insert | Update | Delete | MergeInto]] = {
    "INSERT": parse_rows.insert,
    "UPDATE": parse_rows.update,
    "DELETE": parse_rows.delete,
    "MERGE": parse_rows.merge_into,
}


def _with(cursor: Cursor) -> SqlStatement:
    """A query, or a statement that writes and reads what WITH defines."""
    begin, start = cursor.at, cursor.step().start
    if cursor.sees("RECURSIVE") and cursor.look().is_name:
        cursor.step()
    while cursor.token.is_name:
        cursor.step()
        _skip_definition(cursor)
        if not cursor.accept_symbol(","):
            break
    reader = _AFTER_WITH.get(cursor.token.word)
    if reader is None:
        cursor.at = begin
        cursor.rest("a query")
        return SqlQuery()
    cursor.passages.append((begin, cursor.at, "ctes"))
    defined = cursor.source[start : cursor.token.start]
    made = reader(cursor)
    cursor.expect_end()
    return replace(made, defined=defined)


def _skip_definition(cursor: Cursor) -> None:
    """Skip `(columns) MAX RECURSION LEVEL 9 AS (query)`, all but the query being optional."""
    if cursor.token.is_symbol("("):
        cursor.skip_brackets()
    if cursor.accept("MAX", "RECURSION", "LEVEL"):
        cursor.step()
    cursor.accept("AS")
    if cursor.token.is_symbol("("):
        cursor.skip_brackets()


def _refuse_open_brackets(text: str, tokens: list[Token]) -> None:
    closing = {")": "(", "]": "[", "}": "{"}
    opened: list[Token] = []
    for token in tokens:
        if token.is_symbol("(", "[", "{"):
            opened.append(token)
        elif token.is_symbol(*closing):
            if not opened or opened[-1].text != closing[token.text]:
                raise syntax_error(text, token.start, f"{token.text} closes what nothing opened")
            opened.pop()
    if opened:
        raise syntax_error(text, opened[-1].start, f"{opened[-1].text} opens what nothing closes")


def _unknown(text: str, first: Token) -> InvalidRequest:
    near = get_close_matches(first.text.upper(), [*_FIRST, *_QUERY_WORDS, "WITH"], n=1)
    hint = f"did you mean {near[0]}?" if near else "see docs/sql.md for the statements"
    return syntax_error(text, first.start, f"found {first.text!r}, expected a statement", hint)
