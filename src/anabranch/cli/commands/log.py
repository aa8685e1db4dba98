"""`ana log`: history, newest first, as text, one line each, or drawn as a graph."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from anabranch.cli.failures import BadUsage
from anabranch.cli.name_completion import refs_then_tables, tables
from anabranch.cli.options import TablesLast, make_command
from anabranch.cli.output.commits import origin_text
from anabranch.cli.output.graph import Edges, draw, simplify
from anabranch.cli.output.text import clean, emit_json, local, pager_option, paint, short, show_lines, subject
from anabranch.cli.session import Session, with_zone
from anabranch.documents.records import commit_document

if TYPE_CHECKING:
    from anabranch import Commit
    from anabranch.repo.branches.provenance import ProvenanceEntry

_ORIGINS_SHOWN = 10
_COUNT = re.compile(r"^-(\d+)$")


@dataclass(frozen=True)
class ShownNames:
    """The branches and tags that show a commit."""

    current: str
    branches: Mapping[str, list[str]] = field(default_factory=dict)
    tags: Mapping[str, list[str]] = field(default_factory=dict)

    def of(self, commit: Commit) -> str:
        """`(HEAD -> main, dev, tag: v1)`, or nothing."""
        shown = sorted(self.branches.get(commit.hash, []), key=lambda name: name != self.current)
        parts = [f"HEAD -> {name}" if name == self.current else name for name in shown]
        parts += [f"tag: {name}" for name in self.tags.get(commit.hash, [])]
        return f" ({', '.join(parts)})" if parts else ""


class LogCommand(TablesLast):
    """A command that takes -3 for -n 3, as git does."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, [_COUNT.sub(r"--limit=\1", word) for word in args])


@make_command("log", cls=LogCommand, short_help="List commits, newest first.")
@click.argument("refs", metavar="[REF]... [-- TABLE|PATH]", nargs=-1, shell_complete=refs_then_tables)
@click.option("--all", "every", is_flag=True, help="What any branch or tag reaches.")
@click.option("--stat", is_flag=True, help="With how many rows and cells each commit changed.")
@click.option("-p", "--patch", is_flag=True, help="With the rows that each commit changed, at most 100 of each table.")
@click.option("--oneline", is_flag=True, help="One line for each commit.")
@click.option("--graph", is_flag=True, help="Draw branches and merges.")
@click.option("-n", "--limit", type=click.IntRange(min=0), metavar="N", help="At most so many commits; -3 is -n 3.")
@click.option("--table", metavar="NAME", shell_complete=tables, help="Only commits that changed this table.")
@click.option("--author", metavar="NAME", help="Only commits of this author.")
@click.option("--grep", "message", metavar="TEXT", help="Only commits whose message contains this.")
@click.option("--since", metavar="TIME", help="Only commits from then on.")
@click.option("--until", metavar="TIME", help="Only commits up to then.")
@pager_option
def command(
    session: Session,
    refs: tuple[str, ...],
    every: bool,
    oneline: bool,
    graph: bool,
    limit: int | None,
    stat: bool,
    patch: bool,
    pager: bool,
    **filters: Any,
) -> None:
    """List the commits that REF (the current branch) or several reach, newest first; A..B leaves out what A reaches.

    \b
    $ ana log --graph --oneline --all
    $ ana log --table orders -n 5 dev
    $ ana log -1 -p -- orders             with the rows of this table that it changed
    $ ana log -- raw/orders.csv           commits that touched a file, or a folder

    JSON: commits (list of hash, id, author, message, started_at, finished_at, parents, tables, provenance, branches,
    tags).
    """
    filters |= {name: with_zone(filters[name]) for name in ("since", "until") if filters[name]}
    heads = [session.ref(ref) for ref in refs or (None,)]
    with session.repo.one_state():
        filters |= _table_or_path(session, filters["table"], heads[0])
        if every:
            heads += [b.commit for b in session.repo.branches()] + [tag.commit for tag in session.repo.tags()]
        commits = session.repo.log(heads if len(heads) > 1 else heads[0], limit=limit, **filters)
        names = find_names(session, commits)
        edges = _edges(session, heads, commits, filtered=any(filters.values())) if graph else {}
        origins = {} if oneline or session.json else session.repo.origins(commits)
    if session.json:
        emit_json({"commits": [_document(commit, names) for commit in commits]})
        return
    described = _changes(session, heads, filters, rows=patch, counts=stat) if stat or patch else None
    text = CommitText(names, oneline, described, origins)
    show_lines(graph_lines(commits, edges, text) if graph else plain_lines(commits, text), paged=pager)


def _table_or_path(session: Session, named: str | None, ref: str) -> dict[str, str | None]:
    """The table or the path of files whose commits are asked for: by --table, or after `--`."""
    given = {*click.get_current_context().meta.get("tables", ()), *([named] if named else [])}
    if len(given) > 1:
        raise BadUsage("log is of one table or path, or of all", hint="name one")
    name = next(iter(given), None)
    if name is None or named or not _is_path(session, name, ref):
        return {"table": name}
    return {"table": None, "path": name.removesuffix("/")}


def _is_path(session: Session, name: str, ref: str) -> bool:
    """Whether a word is no table's name, but a path: it has a slash, or files are there."""
    if "/" in name or ".." in ref:
        return "/" in name
    if any(table.name == name for table in session.repo.tables(ref)):
        return False
    return any(found.path == name for found in session.repo.files(ref).list())


def _changes(
    session: Session, heads: Sequence[str], filters: Mapping[str, Any], *, rows: bool, counts: bool
) -> Callable[[Commit], Sequence[str]]:
    """What is shown below each commit; if a table or path is named, only that."""
    from anabranch.cli.output.commit_changes import CommitChanges, ShownThing

    table, path = filters.get("table"), filters.get("path")
    only = ShownThing(table, _ids(session, heads, table) if table else frozenset(), path) if table or path else None
    return CommitChanges(session.repo, rows, counts, only).lines


def _ids(session: Session, heads: Sequence[str], name: str) -> frozenset[str]:
    """The ids of the tables of this name at the refs; whatever their case, unless one is written exactly so."""
    found = [table for head in heads for table in session.repo.tables(head.rpartition("..")[2] or session.branch)]
    exact = frozenset(table.id for table in found if table.name == name)
    return exact or frozenset(table.id for table in found if table.name.casefold() == name.casefold())


def find_names(session: Session, commits: Sequence[Commit]) -> ShownNames:
    """Ask which of the commits have names."""
    hashes = [commit.hash for commit in commits]
    branches, tags = defaultdict(list), defaultdict(list)
    for branch in session.repo.branches(showing=hashes):
        branches[branch.commit].append(branch.name)
    for tag in session.repo.tags(showing=hashes):
        tags[tag.commit].append(tag.name)
    return ShownNames(session.branch, branches, tags)


@dataclass(frozen=True)
class CommitText:
    """How a commit is shown: in a line or whole, and with what it changed if that was asked for."""

    names: ShownNames
    oneline: bool = False
    changes: Callable[[Commit], Sequence[str]] | None = None
    origins: Mapping[str, Sequence[ProvenanceEntry]] = field(default_factory=dict)

    def lines(self, commit: Commit) -> list[str]:
        whole = partial(full_text, commit, self.names, self.origins.get(commit.hash, ()))
        named = f"{paint(short(commit.hash), 'yellow')}{paint(self.names.of(commit), 'cyan')}"
        found = [f"{named} {subject(commit.message)}"] if self.oneline else whole()
        changed = self.changes(commit) if self.changes else ()
        return [*found, *([""] if changed and not self.oneline else []), *changed]


def plain_lines(commits: Sequence[Commit], described: CommitText) -> Iterator[str]:
    """Every commit's text, one after another."""
    for i, commit in enumerate(commits):
        yield from ([""] if i and not described.oneline else [])
        yield from described.lines(commit)


def graph_lines(commits: Sequence[Commit], edges: Edges, described: CommitText) -> Iterator[str]:
    """Every commit's text beside the graph."""
    last = len(commits) - 1
    for i, (commit, part) in enumerate(zip(commits, draw([c.hash for c in commits], edges), strict=True)):
        yield from part.with_text([*described.lines(commit), *([""] if i < last and not described.oneline else [])])


def full_text(commit: Commit, names: ShownNames, origins: Sequence[ProvenanceEntry] = ()) -> list[str]:
    """A commit as git shows it, with its id, its tables and what it was made from."""
    lines = [paint(f"commit {short(commit.hash)}", "yellow") + paint(names.of(commit), "cyan")]
    if len(commit.parents) > 1:
        lines.append(f"Merge:  {' '.join(short(parent) for parent in commit.parents)}")
    lines += [f"Id:     {commit.id}", f"Author: {clean(commit.author)}", f"Date:   {_date(commit)}"]
    if commit.tables:
        lines.append(f"Tables: {clean(', '.join(commit.tables))}")
    lines += [f"from {origin_text(entry)}" for entry in origins[:_ORIGINS_SHOWN]]
    if len(origins) > _ORIGINS_SHOWN:
        lines.append(f"from {len(origins) - _ORIGINS_SHOWN} more: ana provenance --direct {short(commit.hash)}")
    return [*lines, "", *(f"    {clean(line)}".rstrip() for line in commit.message.strip().split("\n"))]


def _date(commit: Commit) -> str:
    """When it was published; and when the work was done, if that was long before."""
    when = local(commit.finished_at)
    is_old = commit.finished_at - commit.started_at > timedelta(days=1)
    return f"{when} (work of {local(commit.started_at)})" if is_old else when


def _edges(session: Session, heads: Sequence[str], commits: Sequence[Commit], *, filtered: bool) -> Edges:
    """Who descends from whom; what a filter left out is bridged."""
    if not filtered and not any(".." in head for head in heads):
        return {commit.hash: commit.parents for commit in commits}  # what --limit cut off stays open below, as in git
    shown = {commit.hash for commit in commits}
    everything = session.repo.log(heads) if filtered else commits
    return simplify({commit.hash: commit.parents for commit in everything}, shown)


def _document(commit: Commit, names: ShownNames) -> dict[str, Any]:
    found = {"branches": names.branches.get(commit.hash, []), "tags": names.tags.get(commit.hash, [])}
    return {**commit_document(commit), **found}
