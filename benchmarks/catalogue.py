"""A catalogue of any size: what a few real commits wrote is written again and again, under other ids."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Table, select, update

import anabranch as ab
from anabranch.catalog import tables as t
from anabranch.model.clock import Position
from anabranch.model.ids import ROOT_NAMESPACE, new_id

Rows = dict[str, list[dict[str, Any]]]
"""The rows of a commit or branch, by catalogue table."""

TABLES_PER_NAMESPACE = 10
_CHUNK = 200
_BY_COMMIT = (t.commits, t.entries, t.names, t.changes, t.views)
_ROW = {"id": 1, "name": "one", "price": 1}


@dataclass(frozen=True)
class Size:
    """How much a catalogue holds."""

    commits: int
    branches: int
    tables: int


def fill(repo: ab.Repository, size: Size) -> None:
    """Make a history of this size: small tables in namespaces `n0`, `n1` …; all later commits touch `history`."""
    with repo.commit("main", "tables") as tx:
        tx.create_table("small", [{**_ROW, "id": i} for i in range(100)], key="id")
        tx.create_table("history", [_ROW], key="id")
    with repo.commit("main", "namespace") as tx:
        tx.create_namespace("n0")
        for i in range(TABLES_PER_NAMESPACE):
            tx.create_table(f"n0.t{i}", [_ROW], key="id")
    _repeat_commits(repo, size.tables // TABLES_PER_NAMESPACE - 1)
    with repo.commit("main", "history") as tx:
        tx.table("history").upsert([{**_ROW, "price": 2}])
    _repeat_commits(repo, size.commits - 4)
    repo.tag("v1", at="main~20")
    _repeat_branches(repo, size.branches - 1)
    _gather_statistics(repo)
    assert repo.table(f"n{size.tables // TABLES_PER_NAMESPACE - 1}.t7").rows() == [_ROW], "copies can be read"


def _repeat_commits(repo: ab.Repository, times: int) -> None:
    """Put copies of the newest commit of main on top of it."""
    with repo._ctx.catalog.write() as cx:
        top = _head(cx, repo, "main")
        template = _read_commit(cx, top)
        _insert(cx, (template.copy(step) for step in range(1, times + 1)))
        last = top.index + max(times, 0)
        cx.execute(update(t.lines).where(t.lines.c.id == top.line).values(tip=last))
        cx.execute(update(t.branches).where(t.branches.c.line_id == top.line).values(commit_index=last))


def _repeat_branches(repo: ab.Repository, times: int) -> None:
    """Make branches: half of them show a commit of main, half have a commit of their own."""
    if times <= 0:
        return
    repo.branch("b0")
    if times > 1:
        repo.branch("b1")
        with repo.commit("b1", "own") as tx:
            tx.table("history").upsert([{**_ROW, "price": 3}])
    with repo._ctx.catalog.write() as cx:
        templates = [_read_branch(cx, repo, name) for name in ("b0", "b1")[:times]]
        _insert(cx, (templates[n % len(templates)].copy(n) for n in range(2, times)))


def _gather_statistics(repo: ab.Repository) -> None:
    """Do what PostgreSQL does by itself a minute later; SQLite never does."""
    with repo._ctx.catalog.write() as cx:
        if cx.dialect.name == "postgresql":
            cx.exec_driver_sql("ANALYZE")


@dataclass(frozen=True)
class Template:
    """Rows that were written by a real verb, and how a copy differs: new ids, and the next places and times."""

    rows: Rows
    own: frozenset[str]
    """Ids that every copy has anew."""
    line: str | None = None
    """The line that copies go on; None if they have lines of their own."""

    def copy(self, step: int) -> Rows:
        fresh = {id_: new_id(id_[0]) for id_ in self.own}
        return {name: [self._changed(name, row, fresh, step) for row in rows] for name, rows in self.rows.items()}

    def _changed(self, table: str, row: Mapping[str, Any], fresh: Mapping[str, str], step: int) -> dict[str, Any]:
        made: dict[str, Any] = {k: fresh.get(v, v) if isinstance(v, str) else v for k, v in row.items()}
        if self.line:
            for name in ("commit_index", "from_index", "to_index", "generation"):
                if made.get(name) is not None:
                    made[name] += step
        for name in ("started_at", "finished_at", "moved_at", "created_at"):
            if name in made:
                made[name] += step
        if table == "ana_commits":
            made["hash"] = secrets.token_hex(32)
        elif table == "ana_names" and made["parent_id"] == ROOT_NAMESPACE:
            made["name"] = f"n{step}"
        elif table in ("ana_branches", "ana_lines"):
            made["name"] = f"b{step}"
        elif table == "ana_branch_moves":
            del made["id"]
            made["branch"] = made["branch"] if self.line else f"b{step}"
        return made


def _read_commit(cx: Connection, at: Position) -> Template:
    """Read all rows that one commit wrote."""
    rows = _commit_rows(cx, at)
    m = t.branch_moves
    rows[m.name] = _select(cx, m, (m.c.to_line == at.line) & (m.c.to_index == at.index))
    return Template(rows, _own_ids(rows), at.line)


def _read_branch(cx: Connection, repo: ab.Repository, name: str) -> Template:
    """Read all rows of a branch, with the line and the commit that are its own."""
    branch = _select(cx, t.branches, t.branches.c.name == name)
    moves = _select(cx, t.branch_moves, t.branch_moves.c.branch == name)
    line = _select(cx, t.lines, t.lines.c.name == name)
    rows = _commit_rows(cx, _head(cx, repo, name)) if line else {}
    rows |= {"ana_lines": line, "ana_branches": branch, "ana_branch_moves": moves}
    own = _own_ids(rows) | {branch[0]["id"]} | {row["id"] for row in line}
    return Template(rows, frozenset(own))


def _commit_rows(cx: Connection, at: Position) -> Rows:
    rows = {x.name: _select(cx, x, (x.c.line_id == at.line) & (x.c.commit_index == at.index)) for x in _BY_COMMIT}
    views = [row["id"] for row in rows["ana_views"]]
    objects = [row["object_id"] for row in rows["ana_changes"]]
    rows["ana_view_objects"] = _select(cx, t.view_objects, t.view_objects.c.view_id.in_(views))
    rows["ana_objects"] = _select(cx, t.objects, t.objects.c.id.in_(objects))
    rows["ana_inline_objects"] = _select(cx, t.inline_objects, t.inline_objects.c.object_id.in_(objects))
    schemas = [row["schema_id"] for row in rows["ana_entries"] if "create" in row["operations"] and row["schema_id"]]
    rows["ana_schemas"] = _select(cx, t.schemas, t.schemas.c.id.in_(schemas))
    return rows


def _own_ids(rows: Rows) -> frozenset[str]:
    """The ids that a commit gave. Columns keep theirs, since files name them: tables may share a column."""
    own = {
        row["id"] for name in ("ana_commits", "ana_views", "ana_objects", "ana_schemas") for row in rows.get(name, ())
    }
    return frozenset(own | {row["thing_id"] for row in rows.get("ana_entries", ()) if "create" in row["operations"]})


def _select(cx: Connection, table: Table, condition: Any) -> list[dict[str, Any]]:
    return [dict(row._mapping) for row in cx.execute(select(table).where(condition))]


def _head(cx: Connection, repo: ab.Repository, branch: str) -> Position:
    b = t.branches.c
    row = cx.execute(
        select(b.line_id, b.commit_index).where(b.repository_id == repo._ctx.record.id, b.name == branch)
    ).one()
    return Position(row.line_id, row.commit_index)


def _insert(cx: Connection, copies: Iterator[Rows]) -> None:
    """Write copies, many at a time."""
    waiting: list[Rows] = []
    for copy in copies:
        waiting.append(copy)
        if len(waiting) == _CHUNK:
            _flush(cx, waiting)
            waiting = []
    _flush(cx, waiting)


def _flush(cx: Connection, waiting: Sequence[Rows]) -> None:
    for name in dict.fromkeys(name for copy in waiting for name in copy):
        rows = [row for copy in waiting for row in copy.get(name, ())]
        if rows:
            cx.execute(t.metadata.tables[name].insert(), rows)
