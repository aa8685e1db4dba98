"""update: text is SQL, anything else a value."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

import anabranch as ab

VALUES: dict[str, list[Any]] = {
    "float": [1.5, 0.1, float("inf"), 2, Decimal("2.5"), None],
    "double": [0.1, Decimal("0.1"), 3],
    "array<int>": [[1, None, 2], [], None],
    "array<array<string>>": [[["a'b", "c\\d"], [], None]],
    "map<string,decimal(38,2)>": [{"a": Decimal("1.50"), "": None}, {}],
    "struct<a:date,b:struct<c:timestamp,d:binary>>": [
        {"a": date(1, 1, 1), "b": {"c": datetime(9999, 12, 31, tzinfo=UTC), "d": b"\x00\xff"}},
        {"a": None, "b": None},
    ],
}


def float_of(value: Any) -> Any:
    import numpy as np

    return None if value is None else float(np.float32(value))


@pytest.mark.long
def test_values_of_nested_and_narrow_types_are_set(repo: ab.Repository) -> None:
    schema = {"id": "int", **{f"c{n}": type_ for n, type_ in enumerate(VALUES)}}
    with repo.commit("main", "make") as tx:
        tx.create_table("t", [{"id": 1}, {"id": 2}], key="id", schema=schema)
    for turn in range(6):
        given = {f"c{n}": values[turn % len(values)] for n, values in enumerate(VALUES.values())}
        with repo.commit("main", "set", allow_empty=True) as tx:
            tx.table("t").update({**given, "c1": "1.5D"} if turn == 5 else given, where="id = 2")
        expected = {**given, "c0": float_of(given["c0"]), "c1": 1.5 if turn == 5 else float(given["c1"])}
        assert repo.table("t").get(2) == {"id": 2, **expected}
        assert repo.table("t").get(1) == {"id": 1, **dict.fromkeys(given)}


def test_an_interval_is_set_to_a_timedelta(spark: Any, tmp_path: Any) -> None:
    with ab.init(tmp_path / "store", spark=spark) as repo:
        with repo.commit("main", "make") as tx:
            tx.create_table("t", [{"id": 1}], key="id", schema="id int, i interval day to second")
        with repo.commit("main", "set") as tx:
            tx.table("t").update({"i": timedelta(days=-1, microseconds=1)})
        assert repo.table("t").get(1) == {"id": 1, "i": timedelta(days=-1, microseconds=1)}


@pytest.mark.parametrize(
    ("type_", "value", "said"),
    [
        ("array<int>", ["x"], "column 'v' is array<int>"),
        ("array<int>", {"a": 1}, "column 'v'"),
        ("struct<a:int>", {"b": 1}, "column 'v'"),
        ("float", 1e300, "too large for float"),
    ],
)
def test_a_value_that_does_not_fit_is_refused(duck: ab.Repository, type_: str, value: Any, said: str) -> None:
    with duck.commit("main", "make") as tx:
        tx.create_table("t", [{"id": 1}], key="id", schema={"id": "int", "v": type_})
    with pytest.raises(ab.InvalidRequest, match=said), duck.commit("main", "set") as tx:
        tx.table("t").update({"v": value})


def test_words_without_quotes_are_hinted_at(duck: ab.Repository) -> None:
    with duck.commit("main", "load") as tx:
        table = tx.create_table("t", [{"id": 1, "item": "tea"}], key="id")
        for value in ("mug", "green tea"):
            with pytest.raises(ab.AnabranchError) as raised:
                table.update({"item": value})
            written = f"the text {value} is written \"'{value}'\", with quotes inside"
            assert raised.value.hint == f"text is an SQL expression; {written}"
    asked: list[Callable[[], Any]] = [
        lambda: duck.table("t", where="item = mug").rows(),
        lambda: duck.sql("SELECT * FROM t WHERE item = mug").rows(),
    ]
    for ask in asked:
        with pytest.raises(ab.NotFound, match="there is no column 'mug'") as raised:
            ask()
        assert raised.value.hint == "columns: id, item; a text is written in quotes: 'mug'"
    with pytest.raises(ab.NotFound) as raised:
        duck.table("t", where="item = 'tea' AND itm IS NULL").rows()
    assert raised.value.hint == "did you mean 'item'?"
    with pytest.raises(ab.InvalidRequest, match=r"where=, line 1, column 8: ' opens what nothing closes"):
        duck.table("t", where="item = 'mug").rows()
