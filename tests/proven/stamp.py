"""What the proofs were last run for: `make prove` runs them all, and writes the stamp if they pass.

While it is current, `make test` leaves them out; `make test-all` runs them in any case."""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parents[2]
STAMP = Path(__file__).with_name("stamp.txt")
SOURCES = (
    "src/anabranch/proven/**/*.py",
    "src/anabranch/queries/rendering.py",
    "src/anabranch/queries/duck_text.py",
    "src/anabranch/engines/duck*.py",
    "src/anabranch/engines/java_math.py",
    "tests/proven/*.py",
)
"""What is proven, how it is written for DuckDB and run by it, and the cases."""
PINS = ("duckdb", "pyspark", "sqlglot")


@cache
def is_current() -> bool:
    """Tell whether the proofs passed for these very sources and versions."""
    return STAMP.exists() and STAMP.read_text("utf-8") == _now()


def _now() -> str:
    files = sorted(path for pattern in SOURCES for path in ROOT.glob(pattern))
    digest = sha256()
    for path in files:
        digest.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + sha256(path.read_bytes()).digest())
    pins = "".join(f"{name} {version(name)}\n" for name in PINS)
    return f"{pins}sources {digest.hexdigest()}\n"


if __name__ == "__main__":
    STAMP.write_text(_now(), "utf-8")
