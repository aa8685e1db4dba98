"""A process that is forked off from one with an open repository works with connections and threads of its own."""

from __future__ import annotations

import os
import signal
import sys

import pytest

import anabranch as ab
from tests.catalog import stores
from tests.catalog.stores import Store, ids, make_table, put

store = stores.store

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
FILES_ONLY = ab.Settings(objects=ab.ObjectSettings(inline_limit_bytes=0))


def test_a_fork_reads_and_commits_beside_its_parent(store: Store) -> None:
    with store.init(settings=FILES_ONLY) as repo:
        make_table(repo, "t", [{"id": n, "v": n} for n in range(300_000)])  # enough for threads of DuckDB's
        assert repo.table("t", where="v > 5").count() == 299_994
        child = _forked(repo)
        for number in range(5):  # over the connection that the child must not touch
            put(repo, "t", -1 - number)
        assert os.waitpid(child, 0)[1] == 0
        assert repo.table("t", where="v = 0 AND id < 0").count() == 10
        assert [b.name for b in repo.branches()] == ["main"]


def _forked(repo: ab.Repository) -> int:
    """Fork, read and commit in the child, and end it as most are ended: by its parent's exit without a word."""
    child = os.fork()
    if child:
        return child
    signal.alarm(60)  # one that hangs ends, too
    try:
        count = repo.table("t", where="v > 5").count()
        for number in range(5):
            put(repo, "t", -100 - number)
        repo.close()
        os._exit(0 if count == 299_994 else 1)
    except BaseException as error:
        print(repr(error), file=sys.stderr)
        os._exit(2)


def test_a_child_that_only_ends_leaves_its_parents_connection_alone(store: Store) -> None:
    with store.init() as repo:
        make_table(repo, "t")
        child = os.fork()
        if not child:
            repo.close()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        put(repo, "t", 2)
        assert ids(repo, "t") == [1, 2]
