"""What is told of a file where it lies: size, hash, rows, the ends of its keys, and keys that stand twice."""

from __future__ import annotations

import datetime as dt
import hashlib
import io
import itertools
import pickle
import random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch.objects import looks, parquet
from anabranch.objects.looks import Look, LookTask, lie_apart, look_at, repeated_keys
from tests.objects.test_parquet import column, table_of


def look(rows: pa.Table, group: int = 10, **wanted: Any) -> Look:
    return look_at(io.BytesIO(parquet.encode(rows, group)), LookTask(tuple(rows.column_names), **wanted))


def test_a_look_tells_size_hash_rows_and_range() -> None:
    rows = table_of([column("int", "a"), column("string", "b")], (1, "z"), (2, "a"), (3, "m"))
    content = parquet.encode(rows, 2)
    found = look_at(
        io.BytesIO(content), LookTask(tuple(rows.column_names), repeats=5, never_null=(rows.column_names[0],))
    )
    assert (found.size_bytes, found.sha256) == (len(content), hashlib.sha256(content).hexdigest())
    assert (found.row_count, found.null_free, found.ranges) == (3, (rows.column_names[0],), ((1, 3), ("a", "z")))
    assert (found.ends, found.repeats) == (((1, "z"), (3, "m")), ())


def test_a_file_that_is_not_kept_needs_no_hash_and_no_key_is_read_for_nothing() -> None:
    found = look(table_of([column("int")], (1,), (1,)), hashes=False)
    assert (found.sha256, found.ends, found.repeats) == ("", (), ())


def test_a_file_without_rows_has_no_ends() -> None:
    found = look(table_of([column("int")]), repeats=5)
    assert (found.row_count, found.ranges, found.ends, found.repeats) == (0, None, (), ())


def test_a_column_is_free_of_nulls_if_every_row_group_says_so() -> None:
    rows = table_of(
        [column("int", "a"), column("int", "b"), column("double", "c")], (1, 1, 1.0), (2, 2, 2.0), (3, None, 3.0)
    )
    assert look(rows, 2, never_null=(*rows.column_names, "d")).null_free == (rows.column_names[0],), "none of floats"


@pytest.mark.parametrize(
    ("keys", "ascends"),
    [([(1, "b"), (2, "a"), (2, "a")], True), ([(1, "b"), (1, "a")], False), ([(2, "a"), (1, "b")], False), ([], True)],
)
def test_a_look_tells_whether_keys_ascend(keys: list[tuple[int, str]], ascends: bool) -> None:
    rows = table_of([column("int", "a"), column("string", "b")], *keys)
    assert look(rows, 2, repeats=1).ascends is ascends
    assert not look(table_of([column("int")], (1,), (None,)), repeats=1).ascends


def test_files_lie_apart_if_they_share_no_more_than_their_ends() -> None:
    def files(*parts: tuple[int | None, ...]) -> list[Look]:
        return [look(table_of([column("int")], *((k,) for k in p)), repeats=9) for p in parts]

    assert lie_apart(files((5, 7), (1, 5), ()))
    assert not lie_apart(files((1, 6), (5, 7)))
    assert not lie_apart(files((None, 6), (7, 9))), "what can't be compared is not known"


def test_times_are_told_in_a_zone_that_every_python_has() -> None:
    rows = table_of([column("timestamp")], (dt.datetime(2026, 1, 1, tzinfo=dt.UTC),))
    (key,) = look(rows, repeats=5).ends
    assert key[0].tzinfo is dt.UTC
    assert pickle.loads(pickle.dumps(key)) == key


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), st.sampled_from("ab")), max_size=12), st.integers(1, 5))
def test_duplicates_in_sorted_rows_are_found_as_neighbours(keys: list[tuple[int, str]], group: int) -> None:
    columns = [column("int", "a"), column("string", "b")]
    ordered = sorted(keys)
    rows = table_of(columns, *ordered)
    twins = list(dict.fromkeys(k for one, k in itertools.pairwise(ordered) if one == k))
    in_memory = [tuple(row.values()) for row in parquet.equal_rows(rows, columns, 100)]
    assert repeated_keys([look(rows, group, repeats=100)], 100) == twins == in_memory
    assert len(repeated_keys([look(rows, group, repeats=1)], 1)) == min(1, len(twins))


def test_duplicates_over_the_border_of_two_batches_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looks, "ROWS_AT_ONCE", 2)
    rows = table_of([column("int")], (1,), (2,), (2,), (2,), (2,), (3,), (4,), (4,))
    assert look(rows, 2, repeats=10).repeats == ((2,), (4,))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 6), max_size=12), st.integers(1, 5), st.randoms())
def test_duplicates_over_the_border_of_two_files_are_found(keys: list[int], size: int, order: random.Random) -> None:
    ordered = sorted(keys)
    parts = [ordered[i : i + size] for i in range(0, len(ordered), size)]
    order.shuffle(parts)
    found = repeated_keys([look(table_of([column("int")], *((k,) for k in p)), 2, repeats=9) for p in parts], 100)
    assert sorted(k for (k,) in found) == sorted({k for k in keys if keys.count(k) > 1})
