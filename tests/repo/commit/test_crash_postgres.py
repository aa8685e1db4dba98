"""A server that dies, and connections that break, before, at and after COMMIT: the outcome is told, or can be found."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import event

import anabranch as ab
from tests.catalog.stores import Store, ids, make_table, put
from tests.postgres import PostgresServer

FILES_ONLY = ab.Settings(objects=ab.ObjectSettings(inline_limit_bytes=0))


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    """A server of this module's own, to be killed."""
    with PostgresServer() as running:
        yield running


@pytest.fixture(scope="module")
def store(server: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Store:
    return Store("postgresql", server.create_database(), Path(tmp_path_factory.mktemp("store")) / "objects")


@pytest.fixture
def repo(server: PostgresServer, store: Store) -> Iterator[ab.Repository]:
    server.start()
    with store.init(settings=FILES_ONLY) as made:
        make_table(made, "t")
        yield made
    server.start()


class AtCommit:
    """Does something just before or just after the next COMMIT of a repository's writing transactions."""

    def __init__(self, repo: ab.Repository, *, before: Any = None, after: Any = None) -> None:
        dialect = repo._ctx.catalog._engines.whole.dialect
        original = dialect.do_commit

        def do_commit(connection: Any) -> None:
            if not self._writes(connection):
                return original(connection)
            dialect.do_commit = original  # type: ignore[method-assign]
            if before:
                before(connection)
            original(connection)
            if after:
                after(connection)

        dialect.do_commit = do_commit  # type: ignore[method-assign]

    @staticmethod
    def _writes(connection: Any) -> bool:
        with connection.cursor() as cursor:
            found = cursor.execute("SELECT pg_current_xact_id_if_assigned() IS NOT NULL").fetchone()
        return bool(found[0])


def lose(connection: Any) -> None:
    """Break a connection as a cable would: the server is not told, we are."""
    connection.dbapi_connection.close()
    raise psycopg.OperationalError("the cable was cut")


def late_commit(repo: ab.Repository) -> ab.Commit | None:
    with repo.commit("main", "late") as tx:
        tx.table("t").insert([{"id": 2, "v": 2}])
        tx.create_table("u", [{"id": 1}], key="id")
    made: ab.Commit | None = tx.commit
    return made


def assert_not_published(repo: ab.Repository) -> None:
    assert repo.show().message == "make t"
    assert ids(repo, "t") == [1]
    assert [t.name for t in repo.tables()] == ["t"]
    assert [m.verb for m in repo.reflog()] == ["commit", "init"]
    repo.verify().raise_damages()


def assert_published(repo: ab.Repository) -> None:
    assert repo.show().message == "late"
    assert ids(repo, "t") == [1, 2]
    assert ids(repo, "u") == [1]
    assert len(repo.reflog()) == 3
    repo.verify().raise_damages()


def assert_goes_on(repo: ab.Repository) -> None:
    before = len(repo.log())
    put(repo, "t", 100)
    assert len(repo.log()) == before + 1


@pytest.mark.parametrize("statement", [1, 4, 9])
def test_a_server_killed_before_commit_is_unavailable_and_nothing_is_published(
    server: PostgresServer, store: Store, repo: ab.Repository, statement: int
) -> None:
    engine, seen, files = repo._ctx.catalog._engines.whole, [0], store.files()

    def count(cx: Any, *_: Any) -> None:
        if cx.get_execution_options().get("anabranch_write"):
            seen[0] += 1
            if seen[0] == statement:
                server.kill()

    event.listen(engine, "before_cursor_execute", count)
    with pytest.raises(ab.Unavailable) as caught:
        late_commit(repo)
    event.remove(engine, "before_cursor_execute", count)
    assert caught.value.hint
    assert store.files() == files, "it is certain that nothing was published: files are removed"
    server.start()
    assert_not_published(repo)
    assert_goes_on(repo)


def test_a_server_killed_at_commit_leaves_an_unknown_outcome_that_the_moves_tell(
    server: PostgresServer, store: Store, repo: ab.Repository
) -> None:
    AtCommit(repo, before=lambda _: server.kill())
    files = store.files()
    with pytest.raises(ab.OutcomeUnknown) as caught:
        late_commit(repo)
    assert caught.value.branch == "main"
    assert "reflog" in str(caught.value.hint)
    assert store.files() > files, "it might be published: nothing is removed"
    server.start()
    assert caught.value.commit_id not in {m.commit_id for m in repo.reflog()}
    assert_not_published(repo)
    assert_goes_on(repo)


def test_a_server_killed_right_after_commit_has_kept_it_and_the_moves_tell(
    server: PostgresServer, repo: ab.Repository
) -> None:
    def kill(connection: Any) -> None:
        server.kill()
        lose(connection)

    AtCommit(repo, after=kill)
    with pytest.raises(ab.OutcomeUnknown) as caught:
        late_commit(repo)
    server.start()
    (move,) = [m for m in repo.reflog() if m.commit_id == caught.value.commit_id]
    assert move.after == repo.show().hash
    assert_published(repo)
    assert_goes_on(repo)


def test_a_connection_lost_before_commit_is_resolved_to_nothing_published(store: Store, repo: ab.Repository) -> None:
    AtCommit(repo, before=lose)
    files = store.files()
    with pytest.raises(ab.Unavailable, match="nothing was published") as caught:
        late_commit(repo)
    assert caught.value.hint
    assert_not_published(repo)
    assert store.files() == files
    assert late_commit(repo) is not None
    assert_published(repo)


def test_a_backend_ended_at_commit_is_resolved_to_nothing_published(store: Store, repo: ab.Repository) -> None:
    def terminate(connection: Any) -> None:
        with psycopg.connect(store.url, autocommit=True) as other:
            other.execute("SELECT pg_terminate_backend(%s)", [connection.dbapi_connection.info.backend_pid])

    AtCommit(repo, before=terminate)
    with pytest.raises(ab.Unavailable, match="nothing was published"):
        late_commit(repo)
    assert_not_published(repo)
    assert_goes_on(repo)


def test_a_connection_lost_after_commit_is_resolved_to_success(repo: ab.Repository) -> None:
    AtCommit(repo, after=lose)
    made = late_commit(repo)
    assert made == repo.show()
    assert_published(repo)
    assert_goes_on(repo)


def test_files_of_a_published_commit_are_kept_whatever_fails_after_it(
    server: PostgresServer, repo: ab.Repository
) -> None:
    def lose_and_prepare(connection: Any) -> None:
        AtCommit(repo, after=lambda _: server.kill())  # right after the outcome was found out
        lose(connection)

    AtCommit(repo, after=lose_and_prepare)
    with suppress(ab.OutcomeUnknown, ab.Unavailable):
        late_commit(repo)
    server.start()
    assert_published(repo)


@pytest.mark.parametrize("who", ["the connection", "the server"])
def test_what_dies_after_an_acknowledged_commit_changes_nothing(
    server: PostgresServer, repo: ab.Repository, who: str
) -> None:
    def die(connection: Any) -> None:
        server.kill() if who == "the server" else connection.dbapi_connection.close()

    AtCommit(repo, after=die)
    made = late_commit(repo)
    server.start()
    assert made == repo.show()
    assert_published(repo)


def test_the_outcome_is_asked_for_only_when_a_publication_under_way_has_ended(
    store: Store, repo: ab.Repository
) -> None:
    with psycopg.connect(store.url, autocommit=True) as other:
        other.execute(
            "CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(1); RETURN NULL; END'"
        )
        other.execute(
            "CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON ana_branch_moves DEFERRABLE INITIALLY DEFERRED"
            " FOR EACH ROW EXECUTE FUNCTION wait()"
        )
    engine = repo._ctx.catalog._engines.whole

    def lose_sight(connection: Any) -> None:
        """Send COMMIT, and lose the connection while the server is still at it."""
        pgconn = connection.dbapi_connection.pgconn
        pgconn.send_query(b"COMMIT")
        pgconn.flush()
        raise psycopg.OperationalError("the cable was cut")

    def is_lost(context: Any) -> None:
        context.is_disconnect = True

    AtCommit(repo, before=lose_sight)
    event.listen(engine, "handle_error", is_lost)
    started = time.monotonic()
    try:
        made = late_commit(repo)
    finally:
        event.remove(engine, "handle_error", is_lost)
        with psycopg.connect(store.url, autocommit=True) as other:
            other.execute("DROP TRIGGER slow ON ana_branch_moves")
            other.execute("DROP FUNCTION wait")
    assert time.monotonic() - started > 0.9
    assert made == repo.show()
    assert_published(repo)


def test_reads_say_that_a_server_is_away_and_go_on_when_it_is_back(
    server: PostgresServer, store: Store, repo: ab.Repository
) -> None:
    server.kill()
    for ask in (repo.show, repo.log, repo.tables, repo.branches, lambda: repo.table("t"), lambda: repo.branch("dev")):
        with pytest.raises(ab.Unavailable) as caught:
            ask()
        assert "server" in str(caught.value.hint)
    with pytest.raises(ab.Unavailable):
        store.open(repo.name)
    with pytest.raises(ab.Unavailable), repo.commit("main", "away"):
        pass
    server.start()
    assert_not_published(repo)
    assert_goes_on(repo)


def test_connections_that_went_stale_in_the_pool_are_replaced(server: PostgresServer, repo: ab.Repository) -> None:
    repo.show()
    server.stop()
    server.start()
    assert_not_published(repo)
    assert_goes_on(repo)


def test_a_server_that_dies_inside_the_block_is_told_and_files_are_removed(
    server: PostgresServer, store: Store, repo: ab.Repository
) -> None:
    files = store.files()
    with pytest.raises(ab.Unavailable), repo.commit("main", "late") as tx:
        tx.table("t").insert([{"id": 2, "v": 2}])
        server.kill()
    assert store.files() == files
    server.start()
    assert_not_published(repo)


def test_an_open_commit_whose_outcome_was_unknown_is_open_or_published_never_both(
    server: PostgresServer, repo: ab.Repository
) -> None:
    opened = repo.start("main", message="late")
    opened.table("t").insert([{"id": 2, "v": 2}])
    opened.create_table("u", [{"id": 1}], key="id")
    AtCommit(repo, before=lambda _: server.kill())
    with pytest.raises(ab.OutcomeUnknown):
        opened.finish()
    server.start()
    assert_not_published(repo)
    (again,) = repo.open_commits()
    AtCommit(repo, after=lose)
    assert again.finish() == repo.show()
    assert repo.open_commits() == []
    assert_published(repo)


def test_a_branch_made_over_a_broken_connection_is_there_or_not(repo: ab.Repository) -> None:
    AtCommit(repo, before=lose)
    with pytest.raises((ab.OutcomeUnknown, ab.Unavailable)) as caught:
        repo.branch("dev")
    assert caught.value.hint
    assert [b.name for b in repo.branches()] == ["main"]
    AtCommit(repo, after=lose)
    with pytest.raises(ab.OutcomeUnknown):
        repo.branch("dev")
    assert [b.name for b in repo.branches()] == ["dev", "main"]
