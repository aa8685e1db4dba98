"""Random histories of several sessions at once beside a model, on both catalogues, from `concurrent_histories.py`."""

from __future__ import annotations

import pytest

from tests.repo.concurrent_histories import Place, play

SEEDS = 36
"""How many histories `--all` plays on each catalogue: 10,000 steps in all."""


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(n, marks=pytest.mark.more) for n in range(2, SEEDS))])
def test_all_sessions_read_what_was_acknowledged(store_url: str, objects_root: str, seed: int) -> None:
    objects = objects_root if store_url.startswith("postgresql") else None
    place = Place(store_url, "h", objects, is_small=bool(seed % 2), collects_at_once=seed % 6 == 5)
    is_long = seed > 1
    steps = 46 if is_long else 26
    journals, _ = play(place, seed, sessions=2 + is_long, steps=steps, apart=seed % 4 == 3, deep=seed > 0)
    assert sum(len(journal.made) for journal in journals) > 8
