"""Publishing: one transaction, checked links, times that don't run backwards, and a hash that can be checked."""

from __future__ import annotations

import datetime as dt
import time
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from sqlalchemy import func, select

import anabranch as ab
from anabranch.catalog import branches, history, objects, tables
from anabranch.catalog import moves as branch_moves
from anabranch.catalog import publish as publishing
from anabranch.catalog.commits import describe
from anabranch.catalog.moves import HeadMoved
from anabranch.catalog.publish import publish
from anabranch.model.commits import Origin
from anabranch.model.content import ChangeReference, Content, Publication
from anabranch.model.ids import ColumnId, CommitId, ObjectId, RepositoryId, SchemaId, ThingId, new_id
from anabranch.model.objects import KeyRange, NewObject, StoredObject
from anabranch.model.tables import Entry
from anabranch.plan.hashing import commit_hash
from tests.catalog import stores
from tests.catalog.stores import Store, make_table, put

store = stores.store
repo = stores.repo


NOTHING = Content()


def drafted(repo: ab.Repository, content: Content = NOTHING, branch: str = "main", **changes: Any) -> Publication:
    """A commit ready to be published on the head of a branch."""
    ctx = repo._ctx
    with ctx.catalog.read() as cx:
        head = branches.find(cx, ctx.record.id, branch)
        assert head is not None
        parent = history.head(cx, head.position)
        assert parent is not None
    id_, origins = CommitId(new_id("k")), Origin.of(["0ff"])
    made = Publication(ctx.record.id, head, (parent,), id_, "ann", "by hand", 1, origins, "commit", content)
    return replace(made, **changes)


def put_out(repo: ab.Repository, publication: Publication) -> Any:
    with repo._ctx.catalog.write() as cx:
        return publish(cx, publication, repo._ctx.store_id, 32)


def all_rows(repo: ab.Repository) -> dict[str, int]:
    with repo._ctx.catalog.read() as cx:
        return {t.name: cx.scalar(select(func.count()).select_from(t)) or 0 for t in tables.metadata.sorted_tables}


def test_publish_fails_when_the_branch_moved(repo: ab.Repository) -> None:
    late = drafted(repo)
    early = make_table(repo, "t")
    before = all_rows(repo)
    with pytest.raises(HeadMoved) as caught:
        put_out(repo, late)
    assert caught.value.found is not None
    assert caught.value.found.position.index == 1
    assert repo.show() == early
    assert all_rows(repo) == before


def test_publish_fails_when_the_branch_is_gone_or_another_one(repo: ab.Repository) -> None:
    repo.branch("dev")
    late = drafted(repo, branch="dev")
    repo.delete_branch("dev")
    with pytest.raises(HeadMoved) as caught:
        put_out(repo, late)
    assert caught.value.found is None
    repo.branch("dev")
    with pytest.raises(HeadMoved):
        put_out(repo, late)


def test_a_link_to_an_object_that_was_collected_is_refused(repo: ab.Repository) -> None:
    before = all_rows(repo)
    with pytest.raises(ab.Unavailable, match="ogone"):
        put_out(repo, drafted(repo, Content(linked=(ObjectId("ogone"),))))
    assert all_rows(repo) == before


def test_the_hash_in_the_catalogue_can_be_computed_again(repo: ab.Repository) -> None:
    publication = drafted(repo, Content(entries=(Entry(ThingId(new_id("t")), "table", None, 3, ("create",)),)))
    made = put_out(repo, publication)
    assert made.hash == commit_hash(publication, made.finished_at) == repo.show().hash
    assert repo.show().provenance == ("0ff",)


def test_every_commit_hash_is_its_own(repo: ab.Repository) -> None:
    make_table(repo, "t")
    for _ in range(3):
        with repo.commit("main", "the same", allow_empty=True):
            pass
    assert len({c.hash for c in repo.log()}) == 5


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A clock that the test sets, in microseconds; the catalogue asks no other."""
    told = [1_000_000_000_000_000]
    for module in (publishing, branches, branch_moves, objects):
        monkeypatch.setattr(module, "now", lambda cx: told[0])
    return told


def test_times_never_run_backwards_though_the_machines_clock_does(repo: ab.Repository, clock: list[int]) -> None:
    clock[0] = 4_000_000_000_000_000
    first = make_table(repo, "t")
    clock[0] -= 60_000_000
    second = put(repo, "t", 2)
    repo.reset("main", to="main~1")
    third = put(repo, "t", 3)
    assert first.finished_at <= second.finished_at
    assert first.finished_at <= third.finished_at
    moves = repo.reflog("main")
    assert [m.moved_at for m in moves] == sorted((m.moved_at for m in moves), reverse=True)
    assert [c.hash for c in repo.log()][:2] == [third.hash, first.hash]
    late = dt.datetime(2096, 10, 2, tzinfo=dt.UTC) + dt.timedelta(days=1)
    assert repo.show(f"main@{{{late.isoformat()}}}").hash == third.hash


HOUR = 3_600_000_000


def test_a_clock_that_was_wrong_once_is_told_and_later_commits_tell_the_right_time(
    repo: ab.Repository, clock: list[int], caplog: pytest.LogCaptureFixture
) -> None:
    clock[0] = right = 1_900_000_000_000_000
    first = make_table(repo, "t")
    clock[0] += 1000 * HOUR
    wrong = put(repo, "t", 2)
    assert caplog.text == ""
    clock[0] = right + HOUR
    assert repo.show("main@{now}") == wrong
    assert repo.show(f"main@{{{told(right + HOUR)}}}") == wrong, "it has happened, whatever its time"
    third = put(repo, "t", 3)
    assert "clock" in caplog.text
    assert wrong.finished_at.isoformat(" ", "seconds") in caplog.text
    caplog.clear()
    clock[0] += HOUR
    fourth = put(repo, "t", 4)
    assert caplog.text == "", "it is told once"
    assert [told(right + HOUR), told(clock[0])] == [c.finished_at.isoformat() for c in (third, fourth)]
    assert [c.hash for c in repo.log(limit=4)] == [c.hash for c in (fourth, third, wrong, first)]
    for moment, commit in (
        (right, first),
        (right + HOUR - 1, first),
        (right + HOUR, third),
        (right + 2 * HOUR - 1, third),
        (right + 2 * HOUR, fourth),
        (right + 2000 * HOUR, fourth),
    ):
        assert repo.show(f"main@{{{told(moment)}}}") == commit
    clock[0] = right + 3000 * HOUR
    assert repo.show(f"main@{{{told(right + 2000 * HOUR)}}}") == fourth, (
        "the wrong time has come: it is past all the same"
    )
    assert repo.sql("SELECT count(*) AS n FROM t TIMESTAMP AS OF now()").rows() == [{"n": 4}]


def told(micros: int) -> str:
    return (dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(microseconds=micros)).isoformat()


def test_a_repository_made_by_a_wrong_clock_shows_what_it_has(repo: ab.Repository, clock: list[int]) -> None:
    real = clock[0]
    clock[0] = 8_000_000_000_000_000
    repo.branch("dev")
    clock[0] = real
    assert repo.show("dev@{now}") == repo.show(f"dev@{{{told(real - 1)}}}") == repo.show("dev")


def test_a_wrong_clock_on_one_branch_does_not_put_it_before_all_others(repo: ab.Repository, clock: list[int]) -> None:
    clock[0] = 1_900_000_000_000_000
    make_table(repo, "t")
    repo.branch("dev")
    clock[0] += 1000 * HOUR
    put(repo, "t", 2, branch="dev")
    clock[0] -= 999 * HOUR
    put(repo, "t", 3)
    clock[0] += HOUR
    put(repo, "t", 4, branch="dev")
    assert [c.message for c in repo.log(["main", "dev"], limit=3)] == ["put 4 in t", "put 2 in t", "put 3 in t"]


def test_the_time_of_a_commit_is_told_by_the_catalogues_own_clock(
    store: Store, repo: ab.Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "time_ns", lambda: 5_000_000_000 * 10**9)
    made = make_table(repo, "t")
    moved = repo.reflog("main")[0]
    is_local = store.kind == "sqlite"
    assert {made.started_at.year == 2128, made.finished_at.year == 2128, moved.moved_at.year == 2128} == {is_local}
    monkeypatch.undo()
    assert repo.show(f"main@{{{dt.datetime.now(dt.UTC).isoformat()}}}") == made


def test_a_branch_whose_clock_stood_still_shows_its_last_move_of_that_time(
    repo: ab.Repository, clock: list[int]
) -> None:
    clock[0] = 4_000_000_000_000_000
    make_table(repo, "t")
    last = put(repo, "t", 2)
    when = last.finished_at.isoformat()
    assert repo.show(f"main@{{{when}}}").hash == last.hash
    assert [c.message for c in repo.log(limit=2)] == ["put 2 in t", "make t"]


def test_references_to_further_parents_are_kept(repo: ab.Repository) -> None:
    publication = drafted(repo)
    base, thing = publication.parents[0].position, ThingId(new_id("t"))
    reference = ChangeReference(thing, 1, base, ObjectId("oexceptions"))
    met = StoredObject(ObjectId("oexceptions"), "exceptions", "aa", 1, 1, SchemaId("s1"), None, (), "inline", None)
    content = Content(references=(reference,), described={met.id: met})
    made = put_out(repo, replace(publication, content=content))
    with repo._ctx.catalog.read() as cx:
        r = tables.change_references
        row = cx.execute(select(r).where(r.c.thing_id == thing)).one()
    assert (row.line_id, row.commit_index, row.parent_number) == (made.position.line, made.position.index, 1)
    assert (row.base_line, row.base_index, row.exceptions_id) == (base.line, base.index, "oexceptions")


def test_provenance_and_facts_are_published_with_a_commit_and_read_back(repo: ab.Repository) -> None:
    origins = (Origin("0ff", "orders", RepositoryId("rother")), Origin(None, source="s3://bucket/a@1"))
    facts = {"job": {"name": "tokenize", "shards": [1, 2]}, "capture": "0/16B3748", "nothing": None}
    made = put_out(repo, drafted(repo, provenance=origins, facts=facts))
    plain = put_out(repo, drafted(repo))
    with repo._ctx.catalog.read() as cx:
        found, without = describe(cx, [made.position, plain.position])
        p = tables.provenance.c
        wanted = select(p.commit_hash, p.role, p.repository_id).where(p.line_id == made.position.line)
        kept = cx.execute(wanted.where(p.commit_index == made.position.index).order_by(p.number)).all()
    assert (found.provenance, found.facts) == (("0ff", "s3://bucket/a@1"), facts)
    assert without.facts == {}
    assert kept == [("0ff", "orders", "rother"), (None, None, None)]


def test_a_user_gives_facts_and_reads_them_in_log_and_show(repo: ab.Repository) -> None:
    with repo.commit("main", "load", facts={"source": {"file": "a.csv", "rows": 3}}, allow_empty=True) as tx:
        pass
    assert tx.commit is not None
    assert tx.commit.facts == {"source": {"file": "a.csv", "rows": 3}}
    opened = repo.start("main", message="slowly", facts={"job": ["x"]})
    opened.create_table("t", [{"id": 1}], key="id")
    opened.finish()
    assert [c.facts for c in repo.log(limit=2)] == [{"job": ["x"]}, tx.commit.facts]
    assert repo.show("main~1") == tx.commit


ODD_FACTS = [{"a": 1.5}, {"A b": 1}, {"a": {1: 2}}, {"a": "\ud800"}, {"a": object()}, ["a"], {1: 2}]


@pytest.mark.parametrize("facts", ODD_FACTS)
def test_facts_that_no_hash_could_cover_are_refused(repo: ab.Repository, facts: Any) -> None:
    with pytest.raises(ab.InvalidRequest, match="facts"):
        repo.commit("main", "load", facts=facts)


WHOLE = st.integers(-(2**63), 2**63 - 1)
KEY_VALUES = st.one_of(
    WHOLE,
    st.text(max_size=8),
    st.booleans(),
    st.binary(max_size=8),
    st.decimals(allow_nan=False, allow_infinity=False, places=4, min_value=-(10**20), max_value=10**20),
)


@pytest.mark.long
@settings(
    max_examples=25,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(keys=st.lists(st.tuples(KEY_VALUES, KEY_VALUES), max_size=3), inline=st.binary(max_size=100))
def test_objects_come_back_as_they_were_described(
    repo: ab.Repository, keys: list[tuple[Any, Any]], inline: bytes
) -> None:
    id_ = ObjectId(new_id("o"))
    known = KeyRange(tuple(k[0] for k in keys), tuple(k[1] for k in keys)) if keys else None
    touched = (ColumnId("c1"), ColumnId("c2"))
    stored = StoredObject(id_, "update", "aa11", 2**40, 7, SchemaId("s1"), known, touched, "inline", None)
    with repo._ctx.catalog.write() as cx:
        objects.insert(cx, [NewObject(stored, inline)])
    with repo._ctx.catalog.read() as cx:
        found = objects.find(cx, [id_])[id_]
        assert objects.contents(cx, [id_]) == {id_: inline}
    assert found == stored
    types = [type(v) for v in (*found.key_range.low, *found.key_range.high)] if found.key_range else []
    assert types == ([type(v) for v in (*known.low, *known.high)] if known else [])


@pytest.mark.parametrize(
    ("type_", "values"),
    [
        (
            "string",
            ["", "a", "é", "e\u0301", "\x00", "a\x00b", "日本語", "🚀", "\u2028", '"', "'", "\\", "%", "A", "a "],
        ),
        ("binary", [b"", b"\x00", b"\xff\xfe", b"a"]),
        ("decimal(38,6)", [Decimal("-1.5"), Decimal("0"), Decimal("12345678901234567890123456789012.123456")]),
        ("date", [dt.date(1, 1, 1), dt.date(1969, 12, 31), dt.date(9999, 12, 31)]),
        ("timestamp_ntz", [dt.datetime(1, 1, 1), dt.datetime(1969, 12, 31, 23, 59, 59, 999999)]),
        ("bigint", [-(2**63), -1, 0, 2**63 - 1]),
        ("boolean", [False, True]),
    ],
)
def test_keys_of_every_type_are_found_by_their_ranges_on_every_catalogue(
    repo: ab.Repository, type_: str, values: list[Any]
) -> None:
    with repo.commit("main", "make") as tx:
        tx.create_table("t", [{"id": values[0], "v": 0}], schema={"id": type_, "v": "int"}, key="id")
    for number, value in enumerate(values[1:], 1):
        with repo.commit("main", "one more") as tx:
            tx.table("t").insert([{"id": value, "v": number}])
    with pytest.raises(ab.InvalidRequest, match="already"), repo.commit("main", "twice") as tx:
        tx.table("t").insert([{"id": values[-1], "v": 0}])
    table = repo.table("t")
    assert [table.get(v) for v in values] == [{"id": v, "v": n} for n, v in enumerate(values)]
    assert table.count() == len(table.rows()) == len(values)


def test_long_words_are_kept_whole(repo: ab.Repository) -> None:
    words = "été 日本語 🚀 \t\n\u2028 '\" \\ % :x {y}" * 2000
    with repo.commit("main", words, author="ann ✓", allow_empty=True):
        pass
    assert (repo.show().message, repo.show().author) == (words, "ann ✓")
    assert repo.log(author="ann ✓", limit=1)[0].message == words
