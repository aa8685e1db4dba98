"""Parse statements about branches, tags, merges and the past; and SHOW, DESCRIBE, EXPLAIN."""

from __future__ import annotations

from typing import Literal

from anabranch.sql import statements as s
from anabranch.sql import version_statements as v
from anabranch.sql.cursor import Cursor
from anabranch.sql.moments import glued
from anabranch.sql.references import arguments

_REF = "a branch, a tag or a commit"
_SHORTEST_HASH = 6
"""A number of so many digits may be the start of a hash."""


def ref(cursor: Cursor, what: str = _REF) -> str:
    """Take a ref: in quotes, or verbatim if it has no gaps."""
    if cursor.token.kind == "string":
        return cursor.step().value
    if not cursor.token.is_name and cursor.token.kind != "number":
        raise cursor.error(what)
    return glued(cursor)


def version(cursor: Cursor, branch: str = "HEAD") -> str:
    """Take a ref that names a commit; as in VERSION AS OF, a plain number counts along a branch."""
    is_number = cursor.token.kind == "number"
    text = ref(cursor)
    return f"{branch}/{text}" if is_number and text.isdigit() and len(text) < _SHORTEST_HASH else text


def create(cursor: Cursor) -> s.SqlStatement | None:
    """Read CREATE BRANCH and CREATE TAG."""
    kind = cursor.look().word
    if kind not in ("BRANCH", "TAG"):
        return None
    cursor.expect("CREATE", kind)
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    name = ref(cursor, "a name")
    at = _place(cursor) if cursor.accept_any("AT", "FROM", "AS") else None
    made = v.CreateBranch if kind == "BRANCH" else v.CreateTag
    return made(name, at, if_not_exists)


def _place(cursor: Cursor) -> str:
    """`AT ref`, `AS OF VERSION ref`."""
    if cursor.accept("OF"):
        cursor.accept("VERSION")
    return version(cursor)


def drop(cursor: Cursor) -> s.SqlStatement | None:
    """Read DROP BRANCH and DROP TAG."""
    kind = cursor.look().word
    if kind not in ("BRANCH", "TAG"):
        return None
    cursor.expect("DROP", kind)
    if_exists = cursor.accept("IF", "EXISTS")
    name = ref(cursor, "a name")
    if kind == "TAG":
        return v.DropTag(name, if_exists)
    return v.DropBranch(name, if_exists, cursor.accept("FORCE"))


def alter(cursor: Cursor) -> s.SqlStatement | None:
    """Read ALTER BRANCH … RENAME TO …"""
    if cursor.look().word != "BRANCH":
        return None
    cursor.expect("ALTER", "BRANCH")
    old = ref(cursor, "a branch")
    cursor.expect("RENAME", "TO")
    return v.RenameBranch(old, ref(cursor, "a name"))


def use(cursor: Cursor) -> v.UseBranch:
    """Read USE BRANCH."""
    cursor.expect_any("USE", "CHECKOUT")
    if not cursor.accept("BRANCH") and cursor.done:
        raise cursor.error("a branch")
    return v.UseBranch(ref(cursor, "a branch"))


def commit(cursor: Cursor) -> v.SqlCommit:
    """Read COMMIT 'message'."""
    cursor.expect("COMMIT")
    return v.SqlCommit(cursor.string("a message in quotes"))


def rollback(cursor: Cursor) -> v.Rollback:
    """Read ROLLBACK."""
    cursor.expect("ROLLBACK")
    return v.Rollback()


def merge_branch(cursor: Cursor) -> v.MergeBranch:
    """Read MERGE BRANCH [DRY RUN] source, … [TO|INTO branch] and its options."""
    cursor.expect("MERGE", "BRANCH")
    dry_run = cursor.accept("DRY", "RUN")
    sources = tuple(cursor.listed(lambda: ref(cursor)))
    into = ref(cursor, "a branch") if cursor.accept_any("INTO", "TO") else None
    rules: list[tuple[str, str]] = []
    strictness: str | None = None
    mode: Literal["merge", "squash", "replay"] | None = None
    ff: Literal["auto", "only", "never"] | None = None
    message = None
    while not cursor.done:
        if cursor.accept("RULES"):
            rules += cursor.in_brackets(lambda: _rule(cursor))
        elif cursor.accept("STRICTNESS"):
            strictness = ref(cursor, "a strictness: cell, row, disjoint, table or operations").lower()
        elif cursor.accept("SQUASH"):
            mode = "squash"
        elif cursor.accept("REPLAY"):
            mode = "replay"
        elif cursor.accept("FF", "ONLY"):
            ff = "only"
        elif cursor.accept("NO", "FF"):
            ff = "never"
        elif cursor.accept("MESSAGE"):
            message = cursor.string()
        else:
            raise cursor.error("the end")
    return v.MergeBranch(sources, into, dry_run, tuple(rules), strictness, mode, ff, message)


def _rule(cursor: Cursor) -> tuple[str, str]:
    """`orders.price = theirs`, `orders = 'ours'`, `* = newest`, `orders.qty = 'ours + theirs - base'`."""
    target = cursor.step().text if cursor.token.is_symbol("*") else cursor.path("a table, a column or *")
    if not cursor.accept_symbol("="):
        cursor.expect_symbol("=>")
    return target, cursor.string() if cursor.token.kind == "string" else cursor.name("a rule")


def resolve(cursor: Cursor) -> v.Resolve:
    """Read RESOLVE t TAKE side | SET column = value, … [WHERE condition], or RESOLVE FILE 'path' TAKE | CONTENT …."""
    cursor.expect("RESOLVE")
    if cursor.sees("FILE") and cursor.look().kind == "string":
        return _resolved_file(cursor)
    if cursor.sees("TABLE") and cursor.look().is_name and cursor.look().word not in ("TAKE", "SET"):
        cursor.step()
    table = cursor.path("a table")
    take, values = None, []
    if cursor.expect_any("TAKE", "SET") == "TAKE":
        take = cursor.expect_any("OURS", "THEIRS", "BASE").lower()
    else:
        values = cursor.listed(lambda: _value(cursor))
    where = cursor.text_until(what="a condition") if cursor.accept("WHERE") else None
    return v.Resolve(table, take, tuple(values), where)


def _resolved_file(cursor: Cursor) -> v.Resolve:
    cursor.expect("FILE")
    path = cursor.string()
    if cursor.expect_any("TAKE", "CONTENT") == "CONTENT":
        return v.Resolve(None, file=path, content=cursor.string())
    return v.Resolve(None, cursor.expect_any("OURS", "THEIRS", "BASE").lower(), file=path)


def _value(cursor: Cursor) -> tuple[str, str]:
    column = cursor.name("a column")
    cursor.expect_symbol("=")
    return column, cursor.text_until("WHERE", comma=True, what="a value")


def finish_merge(cursor: Cursor) -> v.FinishMerge:
    """Read CONTINUE MERGE ['message']."""
    cursor.expect("CONTINUE", "MERGE")
    return v.FinishMerge(cursor.string() if cursor.token.kind == "string" else None)


def abort_merge(cursor: Cursor) -> v.AbortMerge:
    """Read ABORT MERGE."""
    cursor.expect("ABORT", "MERGE")
    return v.AbortMerge()


def revert(cursor: Cursor) -> v.Revert:
    """Read REVERT commit [PARENT n] [MESSAGE 'message']."""
    cursor.expect("REVERT")
    cursor.accept("COMMIT")
    return v.Revert(version(cursor), _parent(cursor), _message(cursor))


def cherry_pick(cursor: Cursor) -> v.CherryPick:
    """Read CHERRY PICK commit [PARENT n] [MESSAGE 'message']."""
    cursor.expect("CHERRY", "PICK")
    return v.CherryPick(version(cursor), _parent(cursor), _message(cursor))


def _parent(cursor: Cursor) -> int | None:
    return cursor.number("the number of a parent") if cursor.accept("PARENT") else None


def _message(cursor: Cursor) -> str | None:
    return cursor.string() if cursor.accept("MESSAGE") else None


def restore(cursor: Cursor) -> v.RestoreTable:
    """Read RESTORE TABLE t TO VERSION AS OF ref, or TO TIMESTAMP AS OF time."""
    cursor.expect("RESTORE")
    if cursor.sees("TABLE") and cursor.look().word != "TO":
        cursor.step()
    table = cursor.path("a table")
    cursor.expect("TO")
    if cursor.accept("TIMESTAMP"):
        cursor.expect("AS", "OF")
        return v.RestoreTable(table, f"@{{{cursor.string('a time in quotes')}}}")
    if cursor.accept("VERSION"):
        cursor.expect("AS", "OF")
    return v.RestoreTable(table, version(cursor))


def reset(cursor: Cursor) -> v.ResetBranch:
    """Read RESET BRANCH name TO ref."""
    cursor.expect("RESET", "BRANCH")
    name = ref(cursor, "a branch")
    cursor.expect("TO")
    return v.ResetBranch(name, version(cursor, name))


def optimize(cursor: Cursor) -> v.OptimizeTable:
    """Read OPTIMIZE t."""
    cursor.expect("OPTIMIZE")
    if cursor.sees("TABLE") and cursor.look().is_name:
        cursor.step()
    return v.OptimizeTable(cursor.path("a table"))


_WHAT: dict[str, v.Shown] = {
    "BRANCHES": "branches",
    "TAGS": "tags",
    "TABLES": "tables",
    **dict.fromkeys(("NAMESPACES", "SCHEMAS", "DATABASES"), "namespaces"),
    "LOG": "log",
    "STATUS": "status",
    "CONFLICTS": "conflicts",
    "COLUMNS": "columns",
    "TBLPROPERTIES": "properties",
}


def show(cursor: Cursor) -> s.ReadingSql:
    """Read SHOW and what is to be shown."""
    cursor.expect("SHOW")
    if cursor.accept("CREATE"):
        cursor.expect("TABLE")
        return v.ShowCreate(cursor.path("a table"))
    what = _WHAT[cursor.expect_any(*_WHAT)]
    name = pattern = limit = None
    if what in ("columns", "properties"):
        if what == "columns":
            cursor.expect_any("IN", "FROM")
        name = cursor.path("a table")
    elif what in ("tables", "namespaces") and cursor.accept_any("IN", "FROM"):
        name = cursor.path("a namespace")
    elif what == "log" and not cursor.done and cursor.token.word != "LIMIT":
        cursor.accept_any("OF", "FROM")
        name = ref(cursor)
    elif what == "conflicts" and cursor.accept_any("IN", "FROM"):
        name = cursor.path("a table")
    if cursor.accept("LIKE") or cursor.token.kind == "string":
        pattern = cursor.string("a pattern in quotes")
    if cursor.accept("LIMIT"):
        limit = cursor.number("a number")
    return v.Show(what, name, pattern, limit)


def describe(cursor: Cursor) -> s.ReadingSql:
    """Read DESCRIBE [HISTORY] t."""
    cursor.expect_any("DESCRIBE", "DESC")
    if cursor.sees("HISTORY") and cursor.look().is_name:
        cursor.step()
        table = cursor.path("a table")
        return v.DescribeHistory(table, cursor.number("a number") if cursor.accept("LIMIT") else None)
    if cursor.sees("TABLE") and (cursor.look().is_name):
        cursor.step()
    extended = cursor.token.word in ("EXTENDED", "FORMATTED") and cursor.look().is_name
    if extended:
        cursor.step()
    table = cursor.path("a table")
    takes = table.lower().startswith("ana.") and cursor.token.is_symbol("(")
    return v.Describe(table, extended, arguments(cursor) if takes else None)


def explain(cursor: Cursor) -> v.Explain:
    """Read EXPLAIN query."""
    cursor.expect("EXPLAIN")
    cursor.accept_any("EXTENDED", "FORMATTED", "CODEGEN", "COST")
    return v.Explain(cursor.rest("a query"))
