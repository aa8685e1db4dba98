"""The shell of `ana sql`: multi-line statements, history, completion, and short commands with a backslash."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from anabranch.cli.failures import report
from anabranch.cli.output.sql_results import show_result
from anabranch.cli.output.text import emit, paint
from anabranch.cli.session import Session
from anabranch.errors import AnabranchError, InvalidRequest
from anabranch.sql.grammar.tokens import tokenize

if TYPE_CHECKING:
    from anabranch.repo.repository import Repository
    from anabranch.repo.sql.sql import SqlSession

HELP = r"""
A statement ends with a semicolon and may go over several lines.
  \d          list the tables            \d TABLE    describe a table
  \b          list the branches          \h TABLE    its history
  \l          show the log               \s          what is staged
  \c BRANCH   use another branch         \?          this help
  \q          leave (Ctrl-D, too)        Ctrl-C      give the statement up
What is written is staged until COMMIT 'message'; ROLLBACK gives it up. docs/sql.md lists the statements.
""".strip()

_SHORT = {
    "d": ("SHOW TABLES", "DESCRIBE {}"),
    "b": ("SHOW BRANCHES", None),
    "h": (None, "DESCRIBE HISTORY {}"),
    "l": ("SHOW LOG LIMIT 20", "SHOW LOG {} LIMIT 20"),
    "s": ("SHOW STATUS", None),
    "c": (None, "USE BRANCH {}"),
}
"""What the short commands stand for, without and with a name."""
_WORDS = (
    *("SELECT", "FROM", "WHERE", "GROUP BY", "ORDER BY", "HAVING", "LIMIT", "JOIN", "LEFT JOIN", "ON", "USING", "WITH"),
    *("INSERT INTO", "VALUES", "UPDATE", "SET", "DELETE FROM", "MERGE INTO", "CREATE", "DROP", "ALTER", "TABLE"),
    *("BRANCH", "TAG", "USE BRANCH", "MERGE BRANCH", "COMMIT", "ROLLBACK", "SHOW", "DESCRIBE", "HISTORY"),
    *("VERSION AS OF", "TIMESTAMP AS OF", "CHANGES FROM VERSION", "RESTORE TABLE", "REVERT"),
)


def run_shell(session: Session, author: str | None) -> None:
    """Read statements and run them, until the end of input."""
    opened = session.repo.sql_session(session.branch, author=author)
    folder = session.place.folder
    with_history = _prepare(session.repo, opened, folder / ".anabranch" / "sql_history" if folder else None)
    emit(f"Anabranch, repository {session.repo.name}. \\? for help, \\q to leave.")
    lines: list[str] = []
    try:
        while True:
            try:
                lines.append(input(_prompt(session.repo, opened, bool(lines))))
            except KeyboardInterrupt:
                emit()
                lines.clear()
                continue
            except EOFError:
                emit()
                break
            if len(lines) == 1 and lines[0].strip().lower() in ("\\q", "quit", "exit"):
                break
            text = _complete("\n".join(lines))
            if text is not None:
                lines.clear()
                _run(session, opened, text)
    finally:
        with_history()


def _complete(text: str) -> str | None:
    """The text, once its statements are complete; None while more must follow."""
    stripped = text.strip()
    if not stripped:
        return ""
    if stripped.startswith("\\"):
        return stripped
    if stripped.rstrip(";").strip().lower() == "help":
        return "\\?"
    try:
        tokens = tokenize(text)
    except InvalidRequest:
        return None  # A text or comment continues on the next line.
    return text if len(tokens) < 2 or tokens[-2].is_symbol(";") else None


def _run(session: Session, opened: SqlSession, text: str) -> None:
    """Run statements; errors are reported, and the shell continues."""
    try:
        if text.startswith("\\"):
            text = _written_out(text)
        if not text.strip():
            return
        with session.progress("running SQL"):
            shown = [(result, result.arrow()) for result in opened.execute(text)]
        for result, rows in shown:
            show_result(result, rows, "table")
    except (AnabranchError, KeyboardInterrupt) as error:
        report(error, session)


def _written_out(text: str) -> str:
    """The statement that a short command stands for."""
    name, _, rest = text[1:].strip().rstrip(";").partition(" ")
    if name == "?":
        emit(HELP)
        return ""
    bare, named = _SHORT.get(name, (None, None))
    found = named if rest.strip() else bare
    if found is None:
        raise InvalidRequest(f"\\{name}{' needs a name' if name in _SHORT else ' is not known'}", hint="see \\?")
    return found.format(rest.strip())


def _prompt(repo: Repository, opened: SqlSession, goes_on: bool) -> str:
    if goes_on:
        return f"{'.' * len(opened.branch)}> "
    staged = repo.working_set(opened.branch)
    star = "*" if staged is not None and staged.status() else ""
    return f"{_painted(opened.branch)}{star}> "


def _painted(text: str) -> str:
    """Colour part of a prompt; readline must be told which characters take no room."""
    painted = paint(text, "cyan", sys.stdout)
    return re.sub(r"(\x1b\[\d+m)", "\x01\\1\x02", painted)


def _prepare(repo: Repository, opened: SqlSession, history: Path | None) -> Callable[[], None]:
    """Set up history and completion if readline is available; return what to call at the end."""
    try:
        import readline
    except ImportError:
        return lambda: None
    if history is not None and history.is_file():
        readline.read_history_file(str(history))
    readline.set_history_length(1000)
    readline.set_completer_delims(" \t\n,;()=<>+-*/")
    readline.set_completer(_Completer(repo, opened))
    readline.parse_and_bind("bind ^I rl_complete" if "libedit" in (readline.__doc__ or "") else "tab: complete")
    return lambda: readline.write_history_file(str(history)) if history is not None else None


class _Completer:
    """Completes words of SQL, tables, columns and branches."""

    def __init__(self, repo: Repository, opened: SqlSession) -> None:
        self._repo, self._opened = repo, opened
        self._found: list[str] = []

    def __call__(self, text: str, state: int) -> str | None:
        if state == 0:
            self._found = sorted(n for n in self._names() if n.lower().startswith(text.lower()))
        return self._found[state] if state < len(self._found) else None

    def _names(self) -> set[str]:
        repo, branch = self._repo, self._opened.branch
        try:
            tables = [t.name for t in repo.tables(branch)][:500]
            columns = [c for name in tables[:50] for c in repo.table(name, branch).schema.names]
            return {*_WORDS, *tables, *columns, *(b.name for b in repo.branches())}
        except AnabranchError:
            return set(_WORDS)
