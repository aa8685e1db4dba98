"""Statements whose texts are known beforehand: the texts are current, and reads by them see what SQLAlchemy's see."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import anabranch as ab
from anabranch.catalog import branches, commits, tables
from anabranch.catalog.file_reader import FileReader
from anabranch.catalog.prepared import TEXTS, FileText
from anabranch.catalog.store import Catalog, Connection
from tests.prepared_texts import texts


def test_the_texts_are_those_of_the_statements() -> None:
    assert TEXTS.read_text(encoding="utf-8") == texts(), "run `python -m tests.prepared_texts`"


def test_a_list_has_a_place_for_each_of_its_values() -> None:
    text = FileText("SELECT id FROM t WHERE id IN (__[POSTCOMPILE_ids]) LIMIT :most", {"most": 5})
    assert text.expanded({"ids": ["a", "b"]}) == (
        "SELECT id FROM t WHERE id IN (:ids_0, :ids_1) LIMIT :most",
        {"most": 5, "ids_0": "a", "ids_1": "b"},
    )
    assert text.expanded({"ids": []})[0] == "SELECT id FROM t WHERE id IN (NULL) LIMIT :most"


@pytest.fixture
def repo(tmp_path: Path) -> Iterator[ab.Repository]:
    with ab.init(tmp_path / "shop", engine="duck", author="ann") as made:
        with made.commit("main", "load") as tx:
            tx.create_namespace("sales")
            tx.create_table("sales.t", [{"id": 1, "v": 1}], key="id")
        yield made


def unopened(repo: ab.Repository) -> Catalog:
    """The same catalogue, of which nothing was asked yet."""
    return Catalog.at_file(repo._ctx.catalog._file)


def test_a_fresh_reader_reads_what_sqlalchemy_reads(repo: ab.Repository) -> None:
    repo.branch("dev")
    with repo.commit("dev", "two") as tx:
        tx.table("sales.t").update({"v": "2"})
    with repo.commit("main", "insert") as tx:
        tx.table("sales.t").insert([{"id": 2, "v": 2}])
    repo.merge("dev", into="main")
    repo.tag("v1", message="first")
    told: list[Any] = []
    for catalog, kind in ((unopened(repo), FileReader), (repo._ctx.catalog, object)):
        with catalog.read() as cx:
            assert isinstance(cx, kind)
            found = branches.describe(cx, repo._ctx.record.id), branches.describe_tags(cx, repo._ctx.record.id)
            shown = [at.position for at in branches.all_heads(cx, repo._ctx.record.id)]
            told.append((*found, commits.describe(cx, shown)))
        catalog.close()
    assert told[0] == told[1]
    assert told[0][2][1].tables == ("sales.t",)


def test_what_is_not_known_beforehand_sees_the_same_state(repo: ab.Repository) -> None:
    catalog = unopened(repo)

    def names(cx: Connection) -> list[str]:
        return [branch.name for branch in branches.describe(cx, repo._ctx.record.id)]

    with catalog.read() as cx:
        assert names(cx) == ["main"]
        repo.branch("dev")
        assert list(cx.scalars(tables.branches.select().with_only_columns(tables.branches.c.name))) == ["main"]
        assert names(cx) == ["main"]
    with catalog.read() as cx:
        assert names(cx) == ["dev", "main"]
    catalog.close()
