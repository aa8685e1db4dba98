"""Several sources in one merge: in one pass where they bring rows of their own, and as one after another always."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

import anabranch as ab
from anabranch.model.content import Content
from anabranch.repo.commit.transaction import Transaction
from anabranch.repo.merge import merge as verb
from anabranch.repo.merge import publish
from tests.repo.merge.merge_cases import Act, act


@pytest.fixture
def published(monkeypatch: pytest.MonkeyPatch) -> list[Content]:
    """What merges said, as they are published."""
    found: list[Content] = []
    plain = publish._content

    def content(merged: Any) -> Content:
        found.append(plain(merged))
        return found[-1]

    monkeypatch.setattr(publish, "_content", content)
    return found


def start(repo: ab.Repository) -> None:
    act(repo, "main", lambda tx: tx.create_table("t", [{"id": i, "a": 0, "b": 0} for i in range(100)], key="id"))
    act(repo, "main", lambda tx: tx.create_table("log", [{"line": "first"}]))


def in_both_ways(
    repo: ab.Repository, sources: list[str], into: str, monkeypatch: pytest.MonkeyPatch, **how: Any
) -> Any:
    """Merge into a branch, and one by one into another at the same commit; both end alike."""
    repo.branch("other", at=into)
    ends = [_end(repo, sources, into, how)]
    with monkeypatch.context() as patch:
        patch.setattr(verb, "lone_fork", lambda *_: None)
        ends.append(_end(repo, sources, "other", how))
    assert ends[0] == ends[1]
    repo.delete_branch("other", force=True)
    return ends[0]


def _end(repo: ab.Repository, sources: list[str], into: str, how: dict[str, Any]) -> Any:
    try:
        repo.merge(sources, into=into, **how)
    except ab.MergeConflict as error:
        found = error.conflicts
        return {name: found[name].rows() for name in found}, found.schema, found.objects
    tables = {e.name: sorted(map(str, repo.table(e.name, at=into).rows())) for e in repo.tables(at=into)}
    return tables, [repo.table(name, at=into).schema.names for name in sorted(tables)], len(repo.show(into).parents)


def shard(repo: ab.Repository, name: str, *acts: Act) -> str:
    repo.branch(name, at="main")
    act(repo, name, *acts)
    return name


def upsert(*ids: int, **values: Any) -> Act:
    return lambda tx: tx.table("t").upsert([{"id": i, **values} for i in ids])


def test_rows_of_their_own_are_united_in_one_pass(
    duck: ab.Repository, published: list[Content], monkeypatch: pytest.MonkeyPatch
) -> None:
    start(duck)

    def note(n: int) -> Callable[[Transaction], Any]:
        return lambda tx: tx.table("log").insert([{"line": f"from {n}"}])

    sources = [shard(duck, f"s{n}", upsert(10 * n, 10 * n + 5, a=n), note(n)) for n in range(8)]
    act(duck, "main", upsert(99, b=1), lambda tx: tx.create_table("more", [{"x": 1}]))
    monkeypatch.setattr(verb, "gather", pytest.fail)
    duck.branch("apart", at="main")
    duck.merge(sources, into="apart")
    monkeypatch.undo()
    tables, _, parents = in_both_ways(duck, sources, "main", monkeypatch)
    assert (len(tables["t"]), len(tables["log"]), parents) == (100, 9, 9)
    assert sorted(map(str, duck.table("t", at="apart").rows())) == tables["t"]


def test_what_one_pass_says_is_what_one_after_another_says(
    duck: ab.Repository, published: list[Content], monkeypatch: pytest.MonkeyPatch
) -> None:
    start(duck)
    sources = [shard(duck, f"s{n}", upsert(10 * n, a=n), upsert(10 * n, 1000 + n, b=n)) for n in range(3)]
    act(duck, "main", upsert(99, b=1), lambda tx: tx.create_table("more", [{"x": 1}]))
    in_both_ways(duck, sources, "main", monkeypatch)
    one, other = published
    assert one == other
    assert {r.thing_id for r in one.references} == {e.thing_id for e in one.entries} | set(_made_since(duck))


def _made_since(repo: ab.Repository) -> list[str]:
    return [t.id for t in repo.tables(at="main") if t.name == "more"]


def test_rows_that_meet_are_merged_in_the_order_given(duck: ab.Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    start(duck)
    sources = [shard(duck, f"s{n}", upsert(n, 50, a=n)) for n in (1, 2)]
    found, _, _ = in_both_ways(duck, sources, "main", monkeypatch)
    assert [(c["key"], c["ours"], c["theirs"]) for c in found["t"]] == [({"id": 50}, 1, 2)]
    tables, _, _ = in_both_ways(duck, sources, "main", monkeypatch, rules={"t": "theirs"})
    assert "{'id': 50, 'a': 2, 'b': 0}" in tables["t"]


SHARDS: list[Callable[[random.Random, int], Act]] = [
    lambda rnd, n: upsert(*range(10 * n, 10 * n + 3), a=rnd.randrange(3)),
    lambda rnd, n: upsert(1000 + n, a=n, b=n),
    lambda rnd, n: lambda tx: tx.table("t").delete(where=f"id = {10 * n + 4}"),
    lambda rnd, n: lambda tx: tx.table("log").insert([{"line": f"{n}"}]),
    lambda rnd, n: upsert(rnd.randrange(30), a=rnd.randrange(2)),
    lambda rnd, n: lambda tx: tx.table("t").add_column(f"c{n}", "int", default="1"),
    lambda rnd, n: lambda tx: tx.create_table(f"new{n}", [{"x": n}], key="x"),
    lambda rnd, n: lambda tx: tx.table("log").overwrite([{"line": f"only {n}"}]),
    lambda rnd, n: lambda tx: tx.table("t").set_properties({f"p{n}": "1"}),
]


@pytest.mark.parametrize("seed", [*range(3), *(pytest.param(n, marks=pytest.mark.more) for n in range(3, 20))])
def test_random_sources_come_to_the_same_in_both_ways(
    duck: ab.Repository, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    rnd = random.Random(seed)
    start(duck)
    kinds = SHARDS[:4] if seed % 3 == 0 else SHARDS
    sources = [shard(duck, f"s{n}", *(rnd.choice(kinds)(rnd, n) for _ in range(2))) for n in range(4)]
    if rnd.random() < 0.3:  # One holds another: it is no shard any more.
        duck.merge(sources[0], into=sources[1], rules={"*": "ours"})
    act(duck, "main", rnd.choice(kinds)(rnd, 9))
    in_both_ways(duck, sources, "main", monkeypatch, strictness=rnd.choice(["cell", "row", "disjoint"]))
