"""`python -m benchmarks`: run benchmarks and print one table of ratios."""

from __future__ import annotations

import argparse
import json
import platform
import sys
import tempfile
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path

from benchmarks.groups import NAMES, choose, run_apart
from benchmarks.measure import Measured, Scale

ROWS, QUICK_ROWS = "1000000,5000000", "20000"
HEADINGS = ("name", "size", "baseline s", "ours s", "ratio", "limit", "ok")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what was asked for; 1 if a limit was broken."""
    asked = _parser().parse_args(arguments)
    rows = tuple(int(n) for n in (asked.rows or (QUICK_ROWS if asked.quick else ROWS)).split(","))
    found: list[Measured] = []
    for group in choose(asked.names):
        with tempfile.TemporaryDirectory(prefix="anabranch-bench-", dir=asked.folder) as folder:
            measured = run_apart(group, Scale(Path(folder), rows, asked.quick, asked.patience))
        print(render(measured, headings=not found), flush=True)
        found += measured
    if asked.json:
        asked.json.write_text(json.dumps(_document(found), indent=2) + "\n")
    broken = [m for m in found if not m.ok]
    if broken:
        print(f"{len(broken)} of {len(found)} limits broken", file=sys.stderr)
    return 1 if broken and not asked.quick else 0


def render(measured: Iterable[Measured], *, headings: bool = True) -> str:
    """Lay measurements out as a Markdown table."""
    lines = [f"| {' | '.join(HEADINGS)} |", "| --- | --- | ---: | ---: | ---: | ---: | --- |"] if headings else []
    for m in measured:
        times, ok = f"{m.baseline:.5f} | {m.ours:.5f} | {m.ratio:.2f}", "yes" if m.ok else "**no**"
        lines.append(f"| {m.name} | {m.size} | {times} | {m.limit:g} | {ok} |")
    return "\n".join(lines)


def _document(found: Sequence[Measured]) -> dict[str, object]:
    libraries = {name: version(name) for name in ("anabranch", "duckdb", "pyspark", "pyarrow", "sqlalchemy")}
    machine = {"python": platform.python_version(), "system": platform.platform()}
    return {"versions": libraries | machine, "measured": [m.document() for m in found]}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*NAMES, []], metavar="name", help=f"any of {', '.join(NAMES)}")
    parser.add_argument("--rows", help=f"sizes of the table, such as {ROWS}")
    parser.add_argument("--json", type=Path, help="write the measurements to this file, too")
    parser.add_argument("--folder", type=Path, help="where to put the data; a temporary folder if left out")
    parser.add_argument("--patience", type=float, default=0, help="seconds to wait for a quiet machine, each time")
    parser.add_argument(
        "--quick", action="store_true", help="small sizes, few rounds: a smoke test, limits don't count"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
