"""Write flights as CSV files, one a day: `python make_flights.py FOLDER DAYS`. The same every time."""

from __future__ import annotations

import csv
import random
import sys
from pathlib import Path


def main(folder: str, days: int) -> None:
    drawn = random.Random(13)
    Path(folder).mkdir(parents=True, exist_ok=True)
    number = 0
    for day in range(1, days + 1):
        with (Path(folder) / f"2026-11-{day:02}.csv").open("w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["id", "day", "carrier", "origin", "destination", "departure_delay", "distance"])
            for _ in range(200):
                number += 1
                late = "" if drawn.random() < 0.02 else drawn.randint(-10, 180)
                ways = (drawn.choice(("JFK", "LGA", "EWR")), drawn.choice(("LAX", "SFO", "ORD", "MIA")))
                carrier = drawn.choice(("aa", "dl", "ua", "b6"))
                rows.writerow([number, f"2026-11-{day:02}", carrier, *ways, late, drawn.randint(200, 2600)])


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
