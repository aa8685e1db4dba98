"""One merge of many sources that bring rows of their own: beside one of four, in CPU seconds."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence

import anabranch as ab
from benchmarks.limits import LIMITS
from benchmarks.measure import Measured, Scale

FEW, SOURCES, QUICK_SOURCES = 4, (64, 1000), (8, 16)
ROWS_EACH = 10


def run(names: Sequence[str], scale: Scale) -> list[Measured]:
    """Merge 4, 64 and 1,000 sources; the last against the one before it, as many times as it has more sources."""
    assert "nway" in names
    _seconds(scale, FEW)  # the first merge of a process pays for what it loads
    few = min(_seconds(scale, FEW) for _ in range(3))
    some, many = QUICK_SOURCES if scale.quick else SOURCES
    middle, last = _seconds(scale, some), _seconds(scale, many)
    return [
        Measured("nway", f"{some} sources beside {FEW}", few, middle, middle / few, LIMITS["nway"]),
        Measured("nway in seconds", f"{some} sources beside 1 s", 1.0, middle, middle, LIMITS["nway seconds"]),
        Measured(
            "nway growth",
            f"{many} sources beside {some}, for each",
            middle / some,
            last / many,
            (last / many) / (middle / some),
            LIMITS["nway growth"],
        ),
    ]


def _seconds(scale: Scale, sources: int) -> float:
    """CPU seconds of one merge into a branch whose sources sprang from it."""
    folder = scale.folder / f"nway-{sources}"
    with ab.init(folder, engine="duck") as repo:
        with repo.commit("main", "load") as tx:
            tx.create_table("t", [{"id": n, "a": 0} for n in range(1000)], key="id")
        names = [f"shard{n}" for n in range(sources)]
        for n, name in enumerate(names):
            repo.branch(name, at="main")
            with repo.commit(name, "rows of its own") as tx:
                tx.table("t").insert([{"id": 1000 * (n + 1) + k, "a": n} for k in range(ROWS_EACH)])
        before = time.process_time()
        repo.merge(names, into="main")
        taken = time.process_time() - before
        assert repo.table("t").count() == 1000 + sources * ROWS_EACH
    shutil.rmtree(folder)
    return taken
