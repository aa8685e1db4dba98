"""A branch that never stands still: before each look at the catalogue, another writer commits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from sqlalchemy import event
from sqlalchemy.pool import Pool

import anabranch as ab
from anabranch.catalog.store import Catalog

TOTAL = 100


def accounts(repo: ab.Repository) -> None:
    """Two tables whose sum is always the same, on main and on dev; and two commits more, so that there is a past."""
    with repo.commit("main", "open") as tx:
        tx.create_table("left", [{"id": 1, "v": TOTAL}], key="id")
        tx.create_table("right", [{"id": 1, "v": 0}], key="id")
    for _ in range(2):
        carry_over(repo)
    repo.branch("dev")


def carry_over(repo: ab.Repository) -> None:
    """Carry one over from left to right."""
    with repo.commit("main", "carry over") as tx:
        tx.table("left").update({"v": "v - 1"})
        tx.table("right").update({"v": "v + 1"})


@contextmanager
def moving(writer: ab.Repository) -> Iterator[list[str]]:
    """Let `writer` commit on main before each transaction of anybody else's; gives the commits made so far."""
    made: list[str] = []
    at_work = False

    def before_each(*_given: Any) -> None:
        nonlocal at_work
        if not at_work:
            at_work = True
            carry_over(writer)
            made.append(writer.show("main").hash)
            at_work = False

    def reading_file(catalog: Catalog) -> AbstractContextManager[Any]:
        before_each()
        return read_file(catalog)

    read_file = Catalog._reading_file
    event.listen(Pool, "checkout", before_each)
    Catalog._reading_file = reading_file  # type: ignore[method-assign]
    try:
        yield made
    finally:
        Catalog._reading_file = read_file  # type: ignore[method-assign]
        event.remove(Pool, "checkout", before_each)
