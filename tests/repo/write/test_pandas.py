"""pandas frames: whole numbers beside nulls, which it holds as floats, and keys that are in the index."""

from __future__ import annotations

import pandas as pd
import pytest

import anabranch as ab
from anabranch.errors import InvalidRequest

SCHEMA = "id bigint, n int, x double"


def test_whole_floats_fit_columns_of_whole_numbers(duck: ab.Repository) -> None:
    frame = pd.DataFrame({"id": [1, 2], "n": [7, None], "x": [1, None]})
    assert str(frame["n"].dtype) == "float64"
    with duck.commit("main", "make") as tx:
        tx.create_table("t", frame, key="id", schema=SCHEMA)
        tx.table("t").insert(pd.DataFrame({"id": [3.0], "n": [None], "x": [2.5]}, dtype="float64"))
    assert duck.table("t").head() == [
        {"id": 1, "n": 7, "x": 1.0},
        {"id": 2, "n": None, "x": None},
        {"id": 3, "n": None, "x": 2.5},
    ]


@pytest.mark.parametrize("value", [1.5, 2.0**60, float("inf"), -1e300])
def test_other_floats_do_not(duck: ab.Repository, value: float) -> None:
    with duck.commit("main", "make") as tx:
        tx.create_table("t", schema=SCHEMA, key="id")
    with duck.commit("main", "add") as tx, pytest.raises(InvalidRequest, match="'n' is"):
        tx.table("t").insert(pd.DataFrame({"id": [1], "n": [value]}))


def test_a_key_in_the_index_is_told(duck: ab.Repository) -> None:
    frame = pd.DataFrame({"id": [1], "x": [1.0]}).set_index("id")
    with duck.commit("main", "make") as tx:
        with pytest.raises(InvalidRequest, match=r"'id' of the key is the index of the frame.*reset_index"):
            tx.create_table("t", frame, key="id")
        tx.create_table("t", frame.reset_index(), key="id")
        with pytest.raises(InvalidRequest, match=r"reset_index"):
            tx.table("t").upsert(frame)
