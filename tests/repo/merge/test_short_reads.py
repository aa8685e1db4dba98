"""No transaction of the catalogue is open while an engine runs a query for a merge or a verb that is one."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import anabranch as ab
from anabranch.catalog.store import Catalog
from anabranch.engines.duck import DuckEngine
from tests.repo.merge.merge_cases import Act, act

VERBS = (
    "merge",
    "several",
    "cherry_pick",
    "revert",
    "rebase",
    "restore",
    "preview",
    "open merge",
    "diff",
    "blame",
    "changes",
    "history",
)


@contextmanager
def watched(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Count queries; one that runs while this thread has a transaction open fails."""
    own, asked, held = threading.get_ident(), list[int](), list[int]()
    fetch, reading = DuckEngine.fetch, Catalog._reading

    def fetching(self: DuckEngine, query: Any, *more: float) -> Any:
        if threading.get_ident() == own:
            asked.append(1)
            assert not held, "a transaction of the catalogue is open while an engine runs"
        return fetch(self, query, *more)

    @contextmanager
    def read(self: Catalog) -> Iterator[Any]:
        with reading(self) as cx:
            held.append(1)
            try:
                yield cx
            finally:
                held.pop()

    with monkeypatch.context() as patched:
        patched.setattr(Catalog, "_reading", read)
        patched.setattr(DuckEngine, "fetch", fetching)
        yield asked


def t(method: str, *args: Any, **named: Any) -> Act:
    return lambda tx: getattr(tx.table("t"), method)(*args, **named)


def start(repo: ab.Repository) -> None:
    act(repo, "main", lambda tx: tx.create_table("t", [{"id": i, "a": i, "b": i} for i in range(50)], key="id"))
    act(repo, "main", t("add_column", "w", "int"))
    for name in ("dev", "more"):
        repo.branch(name)
    act(repo, "dev", t("update", {"a": 0, "w": 1}, where="id < 5"))
    act(repo, "more", t("update", {"a": 0, "b": 2}, where="id between 4 and 8"))
    act(repo, "main", t("update", {"a": 0, "b": 1}, where="id < 9"), t("update", {"b": 3}, where="id = 40"))


@pytest.mark.parametrize("verb", VERBS)
def test_no_transaction_is_open_while_an_engine_runs(
    duck: ab.Repository, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    start(duck)
    made = duck.log("main", limit=2)
    with watched(monkeypatch) as asked:
        if verb == "merge":
            duck.merge("dev", into="main")
        elif verb == "several":
            duck.merge(["dev", "more"], into="main", rules={"t.b": "ours"})
        elif verb == "cherry_pick":
            duck.cherry_pick(duck.show("dev").hash, on="main")
        elif verb == "revert":
            duck.revert(made[1].hash)
        elif verb == "rebase":
            duck.rebase("dev", onto="main")
        elif verb == "restore":
            duck.restore("t", to="main~1")
        elif verb == "preview":
            assert duck.preview(["dev"], into="main").table("t").count() == 50
        elif verb == "open merge":
            duck.start_merge("dev", into="main").finish()
        elif verb == "blame":
            assert duck.blame("t", cells=True).rows()
        elif verb == "history":
            assert duck.history("t", key=3)
        elif verb == "changes":
            assert duck.changes("t", since="main~2").rows()
        else:
            assert duck.diff("main", "dev")["t"].rows()
    assert asked
