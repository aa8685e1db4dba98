"""The worst carriers, in Python over Arrow: no JVM."""

from __future__ import annotations

from typing import Any

from anabranch import pipelines as dp


@dp.expect_unique("carrier")
@dp.materialized_view(key="carrier", frames="rows")
def worst_carriers(daily_delays: list[dict[str, Any]]) -> list[dict[str, Any]]:
    totals: dict[str, list[int]] = {}
    for row in daily_delays:
        found = totals.setdefault(row["carrier"], [0, 0])
        found[0] += row["flights"]
        found[1] += row["minutes_late"]
    return [{"carrier": c, "flights": n, "minutes_late": late} for c, (n, late) in sorted(totals.items())]
