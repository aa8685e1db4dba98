"""Random open merges, picks and reverts beside a model; `open_merge_histories.py` runs more by hand."""

from __future__ import annotations

import pytest

from tests.repo.merge.open_merge_histories import play

TOGETHER = 10
HISTORIES = 500
"""On each of the two catalogues."""


@pytest.mark.parametrize(
    "first", [0, *(pytest.param(n, marks=pytest.mark.more) for n in range(TOGETHER, HISTORIES, TOGETHER))]
)
def test_what_was_resolved_is_what_is_published_cell_by_cell(store_url: str, objects_root: str, first: int) -> None:
    on_server = store_url.startswith("postgresql")
    options = {"objects": objects_root} if on_server else {}
    low = first + (HISTORIES if on_server else 0)
    resolved = sum(
        play(store_url, seed, engine=("auto", "duck")[seed % 2], **options) for seed in range(low, low + TOGETHER)
    )
    assert resolved > 0
