"""sql: run statements one by one; writes go into commits, all or nothing, or are staged in the working set."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from anabranch.errors import AnabranchError, InvalidRequest
from anabranch.model.changes import Counts
from anabranch.model.commits import Commit
from anabranch.repo.branches.branch import find_branch
from anabranch.repo.branches.log import show as show_commit
from anabranch.repo.commit.commit import CommitBlock
from anabranch.repo.commit.open_commit import working_set
from anabranch.repo.commit.start import CommitRequest
from anabranch.repo.commit.working_set import staged_writes
from anabranch.repo.context.context import Context
from anabranch.repo.read.sql_result import SqlResult
from anabranch.repo.sql import row_statements as sql_rows
from anabranch.repo.sql import table_statements as sql_tables
from anabranch.repo.sql.plan import plan_query
from anabranch.repo.sql.relations import SqlPlace
from anabranch.repo.sql.row_statements import Given
from anabranch.sql import statements as s
from anabranch.sql import version_statements as v
from anabranch.sql.parse import parse_script

if TYPE_CHECKING:
    import pyarrow as pa

    from anabranch.repo.commit.transaction import Transaction

_MESSAGE_AT_MOST = 500
_NOT_AT = "leave at= out; on= names the branch that moves"


def run_script(
    ctx: Context,
    text: str,
    at: str | None,
    on: str | None,
    args: Mapping[str, Any] | None,
    message: str | None,
    author: str | None,
    frames: Mapping[str, Any],
) -> SqlResult:
    """Run a script and return the last result. Writes are committed, or staged if it contains COMMIT or ROLLBACK."""
    statements = _statements(text)
    staging = any(isinstance(x, (v.SqlCommit, v.Rollback)) for x in statements)
    session = SqlSession(ctx, on, staging=staging, at=at)
    with _placed(text, statements):
        return session.run(statements, Given(args or {}, frames), message, author)[-1]


def run_in(tx: Transaction, text: str, args: Mapping[str, Any] | None, frames: Mapping[str, Any]) -> SqlResult:
    """Run statements inside a commit under way, and return the last result."""
    statements = _statements(text)
    outside = next((x for x in statements if isinstance(x, s.GoverningSql)), None)
    if outside is not None:
        hint = "use repo.sql, or do it after the block"
        raise InvalidRequest(f"{_word(outside)} can't be part of a commit", hint=hint)
    place = SqlPlace(tx._ctx, tx._start.branch.name, None, tx)
    given = Given(args or {}, frames)
    with tx.all_or_nothing():
        return [_run(place, x, given) for x in statements][-1]


def _statements(text: str) -> list[s.SqlStatement]:
    found = parse_script(text)
    if not found:
        raise InvalidRequest("SQL: there is no statement", hint="such as SELECT * FROM orders")
    return found


class SqlSession:
    """Runs statements one after another: `USE BRANCH` lasts; with `staging`, writes go to the working set."""

    def __init__(
        self,
        ctx: Context,
        branch: str | None = None,
        *,
        staging: bool = False,
        at: str | None = None,
        author: str | None = None,
    ) -> None:
        self.ctx, self.staging, self.at, self.author = ctx, staging, at, author
        with ctx.catalog.read() as cx:
            self.branch = ctx.default_branch(cx) if branch is None else branch

    def execute(
        self, text: str, args: Mapping[str, Any] | None = None, *, message: str | None = None, **frames: Any
    ) -> list[SqlResult]:
        """Run a script, and return a result for each statement."""
        statements = _statements(text)
        with _placed(text, statements):
            return self.run(statements, Given(args or {}, frames), message, self.author)

    def run(
        self, statements: Sequence[s.SqlStatement], given: Given, message: str | None, author: str | None
    ) -> list[SqlResult]:
        """Run statements. Writes that no governing statement separates become one commit."""
        if self.at is not None:
            self._refuse_writes(statements, self.at)
        results: list[SqlResult] = []
        rest = list(statements)
        while rest:
            size = next((i for i, x in enumerate(rest) if isinstance(x, s.GoverningSql)), len(rest))
            try:
                if size:
                    results += self._run_together(rest[:size], given, message, author)
                else:
                    size = 1
                    with _naming_statement(rest[0]):
                        results.append(self._governed(rest[0], given, author))
            except AnabranchError as error:
                error.facts["published"] = tuple(dict.fromkeys(r.commit for r in results if r.commit))
                raise
            rest = rest[size:]
        return results

    def _refuse_writes(self, statements: Sequence[s.SqlStatement], at: str) -> None:
        """Refuse statements that do more than read, and a ref that does not exist."""
        writes = next((x for x in statements if isinstance(x, (s.WritingSql, s.GoverningSql))), None)
        if writes is not None:
            raise InvalidRequest(f"{_word(writes)} writes, and at a ref tables are only read", hint=_NOT_AT)
        show_commit(self.ctx, at)

    def _run_together(
        self, statements: Sequence[s.SqlStatement], given: Given, message: str | None, author: str | None
    ) -> list[SqlResult]:
        """Run reading and writing statements; in one transaction, if any of them writes."""
        writes = [x for x in statements if isinstance(x, s.WritingSql)]
        if not writes:
            staged = working_set(self.ctx, self.branch) if self.staging and self.at is None else None
            place = SqlPlace(self.ctx, self.branch, self.at, staged)
            return [_run(place, x, given)._settled() for x in statements]
        if self.staging:
            with staged_writes(self.ctx, self.branch) as work, work.all_or_nothing():
                place = SqlPlace(self.ctx, self.branch, None, work)
                return [_run(place, x, given)._settled() for x in statements]
        with CommitBlock(self.ctx, CommitRequest(self.branch, message or _message(writes), author)) as tx:
            place = SqlPlace(self.ctx, self.branch, None, tx)
            results = [_run(place, x, given)._settled() for x in statements]
        return [replace(r, commit=tx.commit) if isinstance(r.statement, s.WritingSql) else r for r in results]

    def _governed(self, statement: s.SqlStatement, given: Given, author: str | None) -> SqlResult:
        """Run a statement that moves branches."""
        from anabranch.repo.sql.version_statements import govern

        commit: Commit | None = None
        match statement:
            case v.UseBranch(name=name):
                self.branch = find_branch(self.ctx, name).name
                rows = _one(branch=self.branch)
            case v.SqlCommit(message=words):
                commit = self._commit(words, author)
                rows = _one(branch=self.branch, commit=commit.hash if commit else None)
            case v.Rollback():
                staged = working_set(self.ctx, self.branch)
                if staged is not None:
                    staged.abort()
                rows = _one(branch=self.branch)
            case s.GoverningSql():
                rows = govern(self.ctx, statement, self.branch, given.args, author)
                if isinstance(statement, v.RenameBranch) and statement.old == self.branch:
                    self.branch = statement.new
            case _:
                raise NotImplementedError(_word(statement))
        return SqlResult(statement, self.ctx, _rows=rows, commit=commit)

    def _commit(self, message: str, author: str | None) -> Commit | None:
        staged = working_set(self.ctx, self.branch)
        if staged is None or not staged.status():
            hint = "write something first"
            raise InvalidRequest(f"nothing is staged on {self.branch!r} to commit", hint=hint, branch=self.branch)
        return staged.finish(message, author)


_WRITES: dict[type, Callable[[SqlPlace, Any, Given], Counts]] = {
    s.Insert: sql_rows.run_insert,
    s.Update: sql_rows.run_update,
    s.Delete: sql_rows.run_delete,
    s.MergeInto: sql_rows.run_merge,
    s.Truncate: lambda place, asked, _given: sql_rows.run_truncate(place, asked),
    s.CreateTable: sql_tables.create_table,
    s.DropTable: lambda place, asked, _given: sql_tables.drop_table(place, asked),
    s.AlterTable: lambda place, asked, _given: sql_tables.alter_table(place, asked),
    s.CreateNamespace: lambda place, asked, _given: sql_tables.create_namespace(place, asked),
    s.DropNamespace: lambda place, asked, _given: sql_tables.drop_namespace(place, asked),
    s.AlterNamespace: lambda place, asked, _given: sql_tables.alter_namespace(place, asked),
}


def _run(place: SqlPlace, statement: s.SqlStatement, given: Given) -> SqlResult:
    """Run one statement that reads or writes, reading everything as of one moment."""
    place, ctx = place.for_one_statement(), place.ctx
    with _naming_statement(statement):
        if isinstance(statement, s.SqlQuery):
            return SqlResult(statement, ctx, _plan=plan_query(place, statement.text, given.args, given.frames))
        if isinstance(statement, s.WritingSql):
            assert place.tx is not None
            with place.tx.all_or_nothing():
                counts = _WRITES[type(statement)](place, statement, given)
            shown = _one(inserted=counts.inserted, updated=counts.updated, deleted=counts.deleted)
            return SqlResult(statement, ctx, _rows=shown, counts=counts)
        if isinstance(statement, v.Explain):
            return SqlResult(statement, ctx, _rows=_explained(place, statement, given))
        from anabranch.repo.sql.show_statements import show

        assert isinstance(statement, (v.Show, v.ShowCreate, v.Describe, v.DescribeHistory))
        with ctx.catalog.one_state():
            return SqlResult(statement, ctx, _rows=show(place.ctx, statement, place.branch, place.at, place.tx))


@contextmanager
def _naming_statement(statement: s.SqlStatement) -> Iterator[None]:
    """Note in an error which statement it came from."""
    try:
        yield
    except AnabranchError as error:
        error.facts.setdefault("statement", statement.text)
        error.facts.setdefault("failed", statement)
        raise


@contextmanager
def _placed(text: str, statements: Sequence[s.SqlStatement]) -> Iterator[None]:
    """Add to a script's error its line, and what was published before it, or undone."""
    try:
        yield
    except AnabranchError as error:
        if len(statements) > 1 and "failed" in error.facts and "\n" in text.strip():
            line = _line_of(text, statements, error.facts["failed"])
            error.message = f"line {line}: {error.message}"
            error.facts["line"] = line
        became = None
        if done := error.facts.get("published"):
            became = "published before it: " + ", ".join(f"{c.hash[:10]} ({c.message.splitlines()[0]})" for c in done)
        elif _wrote_before(statements, error.facts.get("failed")):
            became = "what the script wrote before it was undone"
        if became:
            hint = error.hint or "correct it"
            error.hint = f"{hint}{'' if hint.endswith('?') else ';'} {became}"
        raise


def _wrote_before(statements: Sequence[s.SqlStatement], failed: s.SqlStatement | None) -> bool:
    """Whether statements that fall together with a failed one wrote before it, and no governing one did anything."""
    before = list(takewhile(lambda statement: statement is not failed, statements))
    governed = any(isinstance(statement, s.GoverningSql) for statement in before)
    return failed is not None and not governed and any(isinstance(statement, s.WritingSql) for statement in before)


def _line_of(text: str, statements: Sequence[s.SqlStatement], failed: s.SqlStatement) -> int:
    """The line of a script that a statement begins on."""
    at = 0
    for statement in statements:
        at = text.index(statement.text, at)
        if statement is failed:
            break
        at += len(statement.text)
    return text.count("\n", 0, at) + 1


def _explained(place: SqlPlace, asked: v.Explain, given: Given) -> pa.Table:
    plan = plan_query(place, asked.query, given.args, given.frames)
    if plan.proven is None:
        from anabranch.engines.spark import explained

        return _one(engine="spark", plan=explained(plan.frame))
    from anabranch.queries.rendering import duck_sql

    return _one(engine="duck", plan=duck_sql(plan.query()))


def _one(**values: Any) -> pa.Table:
    """A table of one row."""
    import pyarrow as pa

    return pa.table({n: pa.array([v], pa.string() if v is None else None) for n, v in values.items()})


def _message(writes: Sequence[s.SqlStatement]) -> str:
    text = "; ".join(x.text for x in writes)
    return text if len(text) <= _MESSAGE_AT_MOST else f"{text[: _MESSAGE_AT_MOST - 1]}…"


def _word(statement: s.SqlStatement) -> str:
    return " ".join(statement.text.split()[:2]).upper()
