"""Check what leads to commits: the store, repositories, lines, branches and their moves, tags."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import groupby

from anabranch.catalog import tables as t
from anabranch.catalog.checks.look_ups import LookUps, each, is_id
from anabranch.catalog.checks.rows import CatalogRow, refused
from anabranch.catalog.root_tokens import FACT, fact_of, read_tokens
from anabranch.model.names import check_ref_name, check_repository_name
from anabranch.model.object_urls import is_object_url, read_object_url
from anabranch.model.verification import Affected, Damage

_FACTS = ("format_version", "store_id", "objects", "created_at", "settled_at", FACT)
_NUMBERS = ("format_version", "created_at", "settled_at")
_NEEDED = _FACTS[:4]


def check_store(known: LookUps) -> None:
    """Check the facts of the store."""
    reader = known.reader
    rows = list(reader.rows(t.store, t.store.c.key))
    for row in rows:
        reader.check(row, _fact(row))
    missing = [key for key in _NEEDED if key not in {r.key for r in rows}]
    reader.damages += [Damage("store", t.store.name, f"it does not say its {key}") for key in missing]


def _fact(row: CatalogRow) -> Iterator[Damage]:
    if row.key not in _FACTS:
        yield row.damage(f"a store has no fact {row.key!r}")
    elif row.key in _NUMBERS and not (row.value.isascii() and row.value.isdigit()):
        yield row.damage(f"expected a number, found {row.value!r}")
    elif row.key == FACT and fact_of(read_tokens(row.value)) != row.value:
        yield row.damage(f"expected tokens with their times, found {row.value!r}")
    elif row.key == "store_id" and not is_id(row.value, "z"):
        yield row.damage(f"expected an id, found {row.value!r}")
    elif row.key == "objects" and not (row.value == "objects" or _is_place(row.value)):
        yield row.damage(f"expected `objects`, an absolute path or a URL (file, s3, hdfs), found {row.value!r}")


def _is_place(objects: str) -> bool:
    if is_object_url(objects):
        return not list(refused(lambda: read_object_url(objects)))
    return os.path.isabs(objects.removeprefix("file://"))


def _repository(known: LookUps, row: CatalogRow) -> Iterator[Damage]:
    affects = Affected(row.name)
    b = t.branches.c
    yield from (row.damage(what, affects) for what in refused(lambda: check_repository_name(row.name)))
    if not is_id(row.id, "r"):
        yield row.damage(f"{row.id!r} is no id of a repository", affects)
    if row.created_at <= 0:
        yield row.damage(f"created_at is {row.created_at}, before any store", affects)
    if not known.is_there(t.branches, b.repository_id == row.id, b.name == row.default_branch):
        yield row.damage(f"its default branch {row.default_branch!r} is not there", affects)


check_repositories = each(lambda known: known.repositories.values(), _repository)


def _line(known: LookUps, row: CatalogRow) -> Iterator[Damage]:
    repository = known.repositories.get(row.repository_id)
    affects = Affected(repository.name if repository else None, commit=known.commit_name(row.id, 0))
    if repository is None:
        yield row.damage(f"its repository {row.repository_id!r} is not there", affects)
    if not row.name or (row.branch_id and not is_id(row.branch_id, "b")) or not is_id(row.store_id, "z"):
        yield row.damage(f"name {row.name!r}, branch {row.branch_id!r} or store {row.store_id!r} is none", affects)
    yield from _origin(known, row, affects)
    if known.commit(row.id, row.tip) is None or known.commit(row.id, row.tip + 1) is not None:
        yield row.damage(f"its last commit is not at tip {row.tip}", affects)


check_lines = each(lambda known: known.lines.values(), _line)


def _origin(known: LookUps, row: CatalogRow, affects: Affected) -> Iterator[Damage]:
    """Every line springs from a commit, except the first of a repository."""
    parent = (row.parent_line, row.parent_index, row.parent_generation)
    if parent == (None, None, None):
        if row.depth or row.start:
            yield row.damage(f"it springs from nothing but has depth {row.depth} and start {row.start}", affects)
        return
    above, commit = known.lines.get(row.parent_line), known.commit(row.parent_line, row.parent_index)
    if above is None or commit is None:
        yield row.damage(f"the commit it springs from, {row.parent_line}/{row.parent_index}, is not there", affects)
        return
    if above.repository_id != row.repository_id:
        yield row.damage("it springs from a line of another repository", affects)
    if commit.generation != row.parent_generation:
        what = f"parent_generation is {row.parent_generation}, that of the commit it springs from {commit.generation}"
        yield row.damage(what, affects)
    if row.start != above.start + row.parent_index + 1:
        yield row.damage(f"start is {row.start}, but it springs from commit {above.start + row.parent_index}", affects)
    if row.depth not in (0, above.depth + 1):
        yield row.damage(f"depth is {row.depth}, that of the line it springs from {above.depth}", affects)


def _branch(known: LookUps, row: CatalogRow) -> Iterator[Damage]:
    repository = known.repositories.get(row.repository_id)
    affects = Affected(repository.name if repository else None, (row.name,))
    yield from (row.damage(what, affects) for what in refused(lambda: check_ref_name(row.name, "branch")))
    if not is_id(row.id, "b"):
        yield row.damage(f"{row.id!r} is no id of a branch", affects)
    yield from _shows(known, row, affects)
    m = t.branch_moves.c
    ends = [known.one(t.branch_moves, m.branch_id == row.id, order=order) for order in (m.id, m.id.desc())]
    first, last = ends
    if first is None or last is None:
        if row.author is None or row.created_at <= 0:
            yield row.damage("it never moved, and does not say who made it and when", affects)
        return
    shown = (last.to_line, last.to_index, last.branch)
    if shown != (row.line_id, row.commit_index, row.name):
        yield row.damage(f"it is {row.name!r} at {row.line_id}/{row.commit_index}, its last move says {shown}", affects)
    is_made = first.verb == "init" or (first.moved_at, first.author) == (row.created_at, row.author)
    if first.from_line is None and not is_made:
        yield row.damage(f"made at {row.created_at} by {row.author!r}, its first move says otherwise", affects)
    if first.verb == "init" and row.author is not None:
        yield row.damage("the first branch of a repository has no author", affects)
    root = known.commit(first.to_line, first.to_index)
    if first.verb == "init" and root and root.finished_at != row.created_at:
        yield row.damage(f"created_at is {row.created_at}, its first commit is of {root.finished_at}", affects)


check_branches = each(lambda known: known.reader.rows(t.branches, *t.branches.primary_key), _branch)


def _shows(known: LookUps, row: CatalogRow, affects: Affected) -> Iterator[Damage]:
    """A branch or tag shows a commit of its repository."""
    commit = known.commit(row.line_id, row.commit_index)
    if row.repository_id not in known.repositories:
        yield row.damage(f"its repository {row.repository_id!r} is not there", affects)
    if commit is None:
        yield row.damage(f"it shows {known.commit_name(row.line_id, row.commit_index)}, which is not there", affects)
    elif commit.repository_id != row.repository_id:
        yield row.damage("it shows a commit of another repository", affects)


def check_moves(known: LookUps) -> None:
    """Check the moves of each branch: each begins where the previous one ended."""
    m = t.branch_moves.c
    rows = known.reader.rows(t.branch_moves, m.branch_id, m.id)
    for _, moves in groupby(rows, lambda row: row.branch_id):
        before: CatalogRow | None = None
        for row in moves:
            known.reader.check(row, _move(known, row, before))
            before = row


def _move(known: LookUps, row: CatalogRow, before: CatalogRow | None) -> Iterator[Damage]:
    repository = known.repositories.get(row.repository_id)
    affects = Affected(repository.name if repository else None, (row.branch,))
    if repository is None:
        yield row.damage(f"its repository {row.repository_id!r} is not there", affects)
    yield from (row.damage(what, affects) for what in refused(lambda: check_ref_name(row.branch, "branch")))
    if not is_id(row.branch_id, "b") or not row.verb or row.id <= 0:
        yield row.damage(f"move {row.id} of branch {row.branch_id!r} by {row.verb!r} is none", affects)
    if (before is None) != (row.from_line is None):
        yield row.damage("only the first move of a branch comes from nowhere", affects)
    for line, index in ((row.from_line, row.from_index), (row.to_line, row.to_index)):
        if (line is None) != (index is None) or (index is not None and index < 0):
            yield row.damage(f"{line!r} and {index!r} are no place of a commit", affects)
    if before is not None:
        yield from _follows(row, before, affects)
    yield from _published(known, row, before, affects)


def _follows(row: CatalogRow, before: CatalogRow, affects: Affected) -> Iterator[Damage]:
    if (row.from_line, row.from_index) != (before.to_line, before.to_index):
        yield row.damage(f"it begins at {row.from_line}/{row.from_index}, not where move {before.id} ended", affects)
    if row.repository_id != before.repository_id:
        yield row.damage("it is in another repository than the move before", affects)
    if row.verb != "rename" and row.branch != before.branch:
        yield row.damage(f"the branch is called {row.branch!r}, in the move before {before.branch!r}", affects)


def _published(known: LookUps, row: CatalogRow, before: CatalogRow | None, affects: Affected) -> Iterator[Damage]:
    """A move that published a commit has its id, author and time; a commit that was collected can't be compared."""
    commit = known.commit(row.to_line, row.to_index) if row.to_line is not None else None
    if row.commit_id is None or commit is None:
        if row.moved_at <= 0:
            yield row.damage(f"moved_at is {row.moved_at}, before any store", affects)
        return
    if commit.id != row.commit_id:
        yield row.damage(f"it published {row.commit_id}, but the commit at its end is {commit.id}", affects)
    elif commit.author != row.author:
        yield row.damage(f"{row.author!r} moved it, to a commit of {commit.author!r}", affects)
    moments = [commit.finished_at, *([before.moved_at] if before else [])]
    if row.verb != "init" and row.moved_at not in moments:
        yield row.damage(f"moved_at is {row.moved_at}, the commit was finished at {commit.finished_at}", affects)


def _tag(known: LookUps, row: CatalogRow) -> Iterator[Damage]:
    repository = known.repositories.get(row.repository_id)
    affects = Affected(repository.name if repository else None, commit=known.commit_name(row.line_id, row.commit_index))
    yield from (row.damage(what, affects) for what in refused(lambda: check_ref_name(row.name, "tag")))
    yield from _shows(known, row, affects)
    if row.created_at <= 0 or not row.author:
        yield row.damage(f"made at {row.created_at} by {row.author!r}", affects)


check_tags = each(lambda known: known.reader.rows(t.tags, *t.tags.primary_key), _tag)
