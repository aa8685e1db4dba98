"""Every move of a branch goes one road, on which others may join its transaction."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest
from sqlalchemy import Connection, select

import anabranch as ab
from anabranch.catalog import tables
from anabranch.catalog.moves import Move
from tests.architecture import modules


@pytest.fixture
def repo(store_url: str, objects_root: str) -> Iterator[ab.Repository]:
    """A repository with a commit on each of two branches."""
    made = ab.init(store_url, objects=objects_root, author="ann", engine="duck")
    with made.commit("main", "first") as tx:
        tx.create_table("t", [{"id": 1, "v": 1}], key="id")
    made.branch("dev")
    with made.commit("dev", "second") as tx:
        tx.table("t").insert([{"id": 2, "v": 2}])
    yield made
    made.close()


def make_every_move(repo: ab.Repository) -> None:
    """Make, publish to, merge, forward, reset, rebase, rename and delete branches."""
    with repo.commit("main", "third") as tx:
        tx.table("t").insert([{"id": 3, "v": 3}])
    repo.rebase("dev", "main")
    repo.merge("dev", into="main")  # a fast-forward
    repo.branch("side", at="main~1")
    repo.fast_forward("side", "main")
    repo.reset("side", "main~1")
    repo.rename_branch("side", "other")
    repo.delete_branch("other")


def test_whoever_listens_hears_every_move_in_its_transaction(repo: ab.Repository) -> None:
    heard: list[Move] = []

    def listen(cx: Connection, move: Move) -> None:
        assert cx.in_transaction()
        shown = cx.execute(select(tables.branches).where(tables.branches.c.id == move.branch.id)).first()
        assert (shown is None) == (move.after is None), "the move is written before others hear of it"
        heard.append(move)

    repo._ctx.move_listeners.append(listen)
    make_every_move(repo)
    named = [(m.branch.name, m.verb) for m in heard if not m.branch.name.startswith("dev.")]
    assert named == [
        ("main", "commit"),
        ("dev", "rebase"),
        ("main", "merge"),
        ("side", "branch"),
        ("side", "fast-forward"),
        ("side", "reset"),
        ("side", "rename"),
        ("other", "delete"),
    ]
    told = {(m.branch, m.verb, m.author) for b in ("main", "dev", "other") for m in repo.reflog(b)}
    assert {(m.renamed_to or m.branch.name, m.verb, m.author) for m in heard if m.verb != "branch"} - told == {
        (m.branch.name, m.verb, m.author) for m in heard if m.branch.name.startswith("dev.") and m.verb != "branch"
    }


def test_a_listener_that_raises_undoes_all(repo: ab.Repository) -> None:
    def refuse(_cx: Connection, move: Move) -> None:
        raise ab.Unavailable(f"{move.verb} is refused", hint="")

    before = repo.branches(), repo.log("main"), repo.reflog("main")
    repo._ctx.move_listeners.append(refuse)
    with pytest.raises(ab.Unavailable, match="commit is refused"), repo.commit("main", "third") as tx:
        tx.table("t").insert([{"id": 3, "v": 3}])
    for verb in (
        lambda: repo.merge("dev", into="main"),
        lambda: repo.branch("side"),
        lambda: repo.reset("dev", "main"),
        lambda: repo.fast_forward("main", "dev"),
        lambda: repo.rename_branch("dev", "other"),
        lambda: repo.delete_branch("dev", force=True),
    ):
        with pytest.raises(ab.Unavailable, match="is refused"):
            verb()
    assert (repo.branches(), repo.log("main"), repo.reflog("main")) == before
    assert repo.table("t").count() == 1


@pytest.mark.long
def test_branches_are_written_on_the_one_road_alone() -> None:
    """Statements that write the tables of branches and their moves stand in `catalog/moves.py` and nowhere else."""
    written = {
        module
        for module, tree in modules().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node) in _WRITES
    }
    assert written == {"catalog/moves.py"}


# gc may forget old moves.
_WRITES = {"t.branches.insert()", "update(t.branches)", "delete(t.branches)", "t.branch_moves.insert()"}
