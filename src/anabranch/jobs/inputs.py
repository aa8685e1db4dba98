"""What jobs and pipelines read: tables of this or another repository of the store, pinned to commits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from anabranch.errors import InvalidRequest, NotFound

if TYPE_CHECKING:
    from anabranch.repo.read.table import Table
    from anabranch.repo.repository import Repository

InputForm = Literal["rows", "changes"]


@dataclass(frozen=True)
class DatasetInput:
    """A table to read: of the output's repository or another one of the store, at a ref or at the head."""

    table: str
    repository: str | None = None
    at: str | None = None
    form: InputForm = "rows"
    whole: bool = False
    """Whether each shard of a job gets all of it, not only its part."""

    @property
    def label(self) -> str:
        """Its name in messages and provenance."""
        repository = f"{self.repository}:" if self.repository else ""
        return f"{repository}{self.table}{f'@{self.at}' if self.at else ''}"


def read_input_text(text: str) -> DatasetInput:
    """Read `orders`, `orders@v1`, `shop:orders@main~3`."""
    repository, colon, rest = text.rpartition(":") if ":" in text.partition("@")[0] else ("", "", text)
    table, _, ref = rest.partition("@")
    if not table or (colon and not repository):
        raise InvalidRequest(f"{text!r} names no table", hint="such as 'orders', 'orders@v1' or 'shop:orders@main'")
    return DatasetInput(table, repository or None, ref or None)


@dataclass(frozen=True)
class Pin:
    """A table as one commit shows it."""

    repository: str
    table: str
    commit: str
    version: str
    """The commit that last changed the table."""


def pin_input(repo: Repository, given: DatasetInput, branch: str, reader: str) -> Pin:
    """Find the commit at which to read a table; `reader` says who wants it, for messages."""
    try:
        source, commit = source_of(repo, given.repository, given.at, branch)
        return Pin(source.name, given.table, commit, last_touch(source, given.table, commit))
    except NotFound as error:
        hint = "name a table that is there"
        raise NotFound(f"{reader} reads {given.label!r}: {error.message}", hint=hint) from error


def source_of(repo: Repository, named: str | None, at: str | None, branch: str) -> tuple[Repository, str]:
    """The repository that an input is read from, and the commit at which it is read."""
    source = repo.sibling(named) if named else repo
    ref = at or (branch if source.name == repo.name else source.default_branch)
    return source, source.show(ref).hash


def last_touch(repo: Repository, table: str, at: str) -> str:
    """The commit that last changed a table among the first parents of `at`, which no merge beside it can hide."""
    return repo.workbook.last_touch(table, at)


def repository_of(repo: Repository, pin: Pin) -> Repository:
    """The repository of a pinned table."""
    return repo if pin.repository == repo.name else repo.sibling(pin.repository)


def open_pinned(repo: Repository, pin: Pin) -> Table:
    """Open a table as pinned."""
    return repository_of(repo, pin).table(pin.table, at=pin.commit)
