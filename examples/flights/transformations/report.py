"""The report as files, which are versioned beside the tables: one job that runs in this process."""

from __future__ import annotations

from typing import Any

from anabranch import pipelines as dp


@dp.job(inputs={"carriers": "worst_carriers", "days": "daily_delays"}, local=True)
def report(shard: Any) -> None:
    carriers = sorted(shard.rows("carriers"), key=lambda row: -row["minutes_late"] / row["flights"])
    lines = [f"{row['carrier']}  {row['minutes_late'] / row['flights']:6.1f} minutes a flight" for row in carriers]
    shard.put("reports/carriers.txt", "\n".join(lines) + "\n")
    days = sorted({row["day"] for row in shard.rows("days")})
    shard.log(f"{len(carriers)} carriers, {len(days)} days")
