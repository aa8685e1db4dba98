"""Random histories of several sessions at once beside a model, on both catalogues, from `concurrent_histories.py`."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.catalog import stores
from tests.repo.concurrent_histories import Place, play

store = stores.store
SEEDS = 36
"""How many histories `--all` plays on each catalogue: 10,000 steps in all."""


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(n, marks=pytest.mark.more) for n in range(2, SEEDS))])
def test_all_sessions_read_what_was_acknowledged(store: stores.Store, tmp_path: Path, seed: int) -> None:
    objects = str(tmp_path / "objects") if store.kind == "postgresql" else None
    place = Place(store.url if objects else str(tmp_path / "store"), f"h{seed}", objects, is_small=bool(seed % 2))
    is_long = seed > 1
    journals, _ = play(place, seed, sessions=2 + is_long, steps=46 if is_long else 30, apart=seed % 4 == 3)
    taken = Counter(step.partition(":")[0] for journal in journals for step in journal.steps)
    assert taken.keys() >= {"commit", "merge", "revert"}
    assert sum(len(journal.made) for journal in journals) > 15
