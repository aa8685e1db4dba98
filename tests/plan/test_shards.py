"""Inputs are dealt evenly, completely and always in the same way."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import anabranch as ab
from anabranch.plan.shards import InputFile, ShardBy, deal_files, range_bounds, read_shard_by


@given(st.dictionaries(st.text("ab/", min_size=1, max_size=6), st.integers(0, 100)), st.integers(1, 7))
def test_every_file_is_dealt_once_whatever_the_number_of_shards(sizes: dict[str, int], shards: int) -> None:
    files = [InputFile(path, size) for path, size in sizes.items()]
    for by in ("file", "folder"):
        dealt = deal_files(files, shards, by)  # type: ignore[arg-type]
        assert len(dealt) == shards
        assert sorted(f.path for part in dealt for f in part) == sorted(sizes)
        assert dealt == deal_files(list(reversed(files)), shards, by)  # type: ignore[arg-type]


def test_the_largest_files_go_to_different_shards() -> None:
    files = [InputFile("a", 100), InputFile("b", 60), InputFile("c", 50), InputFile("d", 1)]
    assert [sum(f.size_bytes for f in part) for part in deal_files(files, 2)] == [101, 110]


def test_files_of_a_folder_stay_together_where_that_is_asked_for() -> None:
    files = [InputFile(f"{folder}/{n}", 10) for folder in "xyz" for n in range(3)]
    for part in deal_files(files, 2, "folder"):
        folders = {f.path[0] for f in part}
        assert len(part) == 3 * len(folders)


@given(st.lists(st.integers(0, 50)), st.integers(1, 9))
def test_bounds_part_values_into_at_most_as_many_ranges(values: list[int], shards: int) -> None:
    bounds = range_bounds(values, shards)
    assert bounds == sorted(set(bounds))
    assert len(bounds) < shards
    assert not bounds or min(values) < bounds[0]


def test_ways_to_deal_are_read_and_others_are_refused() -> None:
    assert read_shard_by(("range", "id")) == ShardBy(rows="range", column="id")
    with pytest.raises(ab.InvalidRequest, match="shard_by"):
        read_shard_by("rows")
