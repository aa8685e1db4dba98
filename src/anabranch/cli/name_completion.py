"""What the shell offers for names of branches, tags, tables and columns; reads only the catalogue."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import click
from click.shell_completion import CompletionItem

from anabranch.cli.session import Session
from anabranch.errors import AnabranchError

Complete = Callable[[click.Context, click.Parameter, str], list[str]]


def _offering(names: Callable[[Session], Iterable[str]]) -> Complete:
    """Make a completion from a function that lists names."""

    def complete(ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
        kept, between, begun = incomplete.rpartition("..")  # In a range, complete its second end.
        return [f"{kept}{between}{name}" for name in _listed(ctx, names) if name.startswith(begun)]

    return complete


def _listed(ctx: click.Context, names: Callable[[Session], Iterable[str]]) -> list[str]:
    session = ctx.find_object(Session) or Session()
    try:
        with session.repo:
            return sorted(names(session))
    except AnabranchError:
        return []  # Without a store there is nothing to offer, and an error would spoil the prompt.


def _branches(session: Session) -> list[str]:
    return [branch.name for branch in session.repo.branches()]


def _tags(session: Session) -> list[str]:
    return [tag.name for tag in session.repo.tags()]


def _tables(session: Session) -> set[str]:
    """The tables of the current branch, including what is staged."""
    staged = session.working_set()
    status = staged.status() if staged else {}
    gone = {name for name, what in status.items() if what["dropped"]}
    made = {name for name, what in status.items() if what["kind"] == "table"}
    return ({table.name for table in session.repo.tables(session.branch)} | made) - gone


def columns(ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Offer the columns of the named table; after a comma, another."""
    kept, comma, begun = incomplete.rpartition(",")
    named = [ctx.params.get("table"), ctx.params.get("name"), *ctx.args]  # A valueless option stops the parser.
    table = next((name for name in named if name), None)
    if table is None:
        return []
    found = _listed(ctx, lambda session: [c.name for c in session.repo.table(table, session.branch).schema])
    return [f"{kept}{comma}{name}" for name in found if name.startswith(begun)]


def files(_ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Let the shell offer files."""
    return [CompletionItem(incomplete, type="file")]


branches = _offering(_branches)
tags = _offering(_tags)
tables = _offering(_tables)
refs = _offering(lambda session: ["HEAD", *_branches(session), *_tags(session)])


def refs_then_tables(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Offer refs, and tables after `--`."""
    return (tables if "tables" in ctx.meta else refs)(ctx, parameter, incomplete)
