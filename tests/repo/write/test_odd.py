"""Wide and odd: many columns, strange names, empty tables, tables that are all key, many tables, huge rows."""

from __future__ import annotations

import time
from typing import Any

import pyarrow as pa
import pytest

import anabranch as ab

NAMES = [
    "a b",
    "it's",
    'say "hi"',
    "back`tick",
    "semi;colon",
    "{brace}",
    "per%cent :name",
    "select",
    "_change_type",
    "order",
    "日本語",
    "naïve été",
    "🚀",
    "שלום",
    "--comment",
    "*open",
    "back\\slash",
    "$1",
    "n",
    "turn",
]


def table_of(columns: int, rows: int) -> pa.Table:
    return pa.table({f"c{n}": pa.array(range(rows), pa.int64()) for n in range(columns)})


def test_names_may_be_anything_that_spark_takes_in_backticks(repo: ab.Repository) -> None:
    rows = [{name: n * 100 + i for i, name in enumerate(NAMES)} for n in range(3)]
    with repo.commit("main", "make") as tx:
        tx.create_table('select `x` "y" {z}', rows, key=["it's", "{brace}"])
    with repo.commit("main", "write") as tx:
        table = tx.table('select `x` "y" {z}')
        table.update({name: "0" for name in NAMES if name not in ("it's", "{brace}")}, where="`a b` = 100")
        table.upsert([{**rows[2], "select": -1}])
        table.add_column("new `one", "int", default="5")
        table.rename_column("--comment", "* FROM x --")
    found = repo.table('select `x` "y" {z}').head()
    expected = [dict(row) for row in rows]
    expected[1] = {name: 0 if name not in ("it's", "{brace}") else value for name, value in rows[1].items()}
    expected[2]["select"] = -1
    for row in expected:
        row["* FROM x --"] = row.pop("--comment")
        row["new `one"] = 5
    assert found == [{name: row[name] for name in found[0]} for row in expected]
    assert repo.table('select `x` "y" {z}', where="`back``tick` = 203").count() == 1


def test_names_with_backslashes_need_no_other_engine(repo: ab.Repository) -> None:
    with repo.commit("main", "make") as tx:
        tx.create_table("a\\", [{"k\\n": 1, "\\": 2}, {"k\\n": 3, "\\": 4}], key="k\\n")
        assert tx.table("a\\").update({"\\": "`\\` * 10"}, where="`k\\n` = 3 AND `\\` > 0").updated == 1
    found = repo.sql("SELECT x.`\\` + `k\\n` AS `s\\` FROM `a\\` x WHERE `\\` = 40")
    assert found.rows() == [{"s\\": 43}]


def test_text_with_half_a_surrogate_pair_is_refused(repo: ab.Repository) -> None:
    with repo.commit("main", "make") as tx:
        tx.create_table("t", [{"k": "a"}], key="k")
    half = chr(0xD800)
    for ask in (
        lambda: repo.table("t", where="k = :a", args={"a": half}),
        lambda: repo.table("t", where=f"k = '{half}'"),
        lambda: repo.sql(f"SELECT '{half}' AS a"),
        lambda: repo.sql("SELECT :a AS a", args={"a": half}),
    ):
        with pytest.raises(ab.InvalidRequest, match="not valid Unicode"):
            ask().rows()


def test_two_thousand_columns(repo: ab.Repository) -> None:
    with repo.commit("main", "make") as tx:
        tx.create_table("wide", table_of(2000, 3), key="c0")
    with repo.commit("main", "write") as tx:
        tx.table("wide").update({"c1999": "c1999 * 10"}, where="c0 = 2")
        tx.table("wide").add_column("more", "int", default="1")
    with repo.commit("main", "insert") as tx:
        tx.table("wide").insert([{f"c{n}": 7 for n in range(2000)}])
    found = {row["c0"]: row for row in repo.table("wide").rows()}
    assert (found[2]["c1999"], found[7]["c1000"], found[0]["more"], len(found[0])) == (20, 7, 1, 2001)
    assert repo.table("wide", columns=["c1999"], where="c0 = 2").rows() == [{"c1999": 20}]


@pytest.mark.long
def test_a_thousand_and_more_columns_change_at_once(repo: ab.Repository) -> None:
    with repo.commit("main", "make") as tx:
        tx.create_table("wide", table_of(1200, 3), key="c0")
    with repo.commit("main", "write") as tx:
        tx.table("wide").upsert([{f"c{n}": 7 if n else 2 for n in range(1200)}])
    assert repo.diff("main~1", "main")["wide"].counts() == {"inserted": 0, "updated": 1, "deleted": 0, "cells": 1199}
    found = repo.table("wide").get(2)
    assert found is not None
    assert (found["c1"], found["c1199"]) == (7, 7)


def test_an_empty_table_is_read_and_written(repo: ab.Repository) -> None:
    with repo.commit("main", "make") as tx:
        tx.create_table("t", schema={"id": "int", "v": "string"}, key="id")
        tx.create_table("rows", pa.table({"a": pa.array([], pa.int32())}))
    for name in ("t", "rows"):
        assert repo.table(name).count() == 0
        assert repo.table(name).rows() == []
        assert repo.table(name).arrow().num_rows == 0
    with repo.commit("main", "write") as tx:
        table = tx.table("t")
        assert table.update({"v": "'x'"}).rows == 0
        assert table.delete().rows == 0
        assert table.insert([]).rows == 0
        assert table.upsert([]).rows == 0
        assert table.overwrite([]).rows == 0
        table.set_key(None)
        table.set_key("id")
        table.add_check("any", "id > 0")
    assert repo.table("t").get({"id": 1}) is None
    with repo.commit("main", "fill and empty") as tx:
        tx.table("t").insert([{"id": 1, "v": "a"}])
    with repo.commit("main", "empty") as tx:
        assert tx.table("t").delete().deleted == 1
    assert repo.table("t").rows() == []


def test_a_table_of_one_column_that_is_the_key(repo: ab.Repository) -> None:
    with repo.commit("main", "make") as tx:
        tx.create_table("t", [{"id": 1}, {"id": 2}], key="id")
    with repo.commit("main", "write") as tx:
        table = tx.table("t")
        assert table.upsert([{"id": 2}, {"id": 3}]).inserted == 1
        assert table.update({"id": "id + 10"}, where="id = 1").rows == 2
        assert table.overwrite([{"id": 3}, {"id": 11}, {"id": 12}]).rows == 2
    assert repo.table("t").head() == [{"id": 3}, {"id": 11}, {"id": 12}]


@pytest.mark.parametrize("count", [1_000, pytest.param(10_000, marks=pytest.mark.more)])
def test_thousands_of_tables_in_a_commit(duck: ab.Repository, count: int) -> None:
    with duck.commit("main", "make") as tx:
        tx.create_namespace("many")
        for n in range(count):
            tx.create_table(f"many.t{n}", schema={"id": "int"}, key="id")
    assert len(duck.tables()) == count
    with duck.commit("main", "drop") as tx:
        tx.drop_namespace("many", cascade=True)
    assert duck.tables() == []
    assert len(duck.tables(at="main~1")) == count


@pytest.mark.compiled  # else Spark copies the text until its memory is full
def test_a_row_of_fifty_megabytes(repo: ab.Repository) -> None:
    big = "x" * 50_000_000
    rows: list[dict[str, Any]] = [{"id": 1, "v": big}, {"id": 2, "v": "small"}]
    with repo.commit("main", "make") as tx:
        tx.create_table("t", rows, key="id")
    with repo.commit("main", "update") as tx:
        tx.table("t").update({"v": "v || '!'"}, where="id = 1")
    found = repo.table("t").get({"id": 1})
    assert found is not None
    assert (len(found["v"]), found["v"][-1]) == (50_000_001, "!")


@pytest.mark.long
def test_a_difference_of_two_thousand_columns_takes_seconds(duck: ab.Repository) -> None:
    with duck.commit("main", "make") as tx:
        tx.create_table("wide", table_of(2000, 3), key="c0")
    with duck.commit("main", "write") as tx:
        tx.table("wide").update({"c1999": "c1999 * 10"}, where="c0 = 2")
    began = time.process_time()
    (changed,) = duck.diff("main~1", "main")["wide"].rows()
    assert list(changed["columns"]) == ["c1999"]
    assert time.process_time() - began < 30
