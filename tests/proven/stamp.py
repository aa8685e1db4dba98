"""What the proofs were last run for: `make prove` runs them all, and writes the stamp if they pass.

While it is current, `make test` leaves them out; `make test-all` runs them in any case."""

from __future__ import annotations

import ast
import io
import tokenize
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
        code = sha256(without_prose(path.read_text("utf-8")).encode())
        digest.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + code.digest())
    pins = "".join(f"{name} {version(name)}\n" for name in PINS)
    return f"{pins}sources {digest.hexdigest()}\n"


def without_prose(text: str) -> str:
    """Leave comments, docstrings and empty lines out of a module's text: no proof rests on them."""
    lines = text.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            lines[node.lineno - 1 : node.end_lineno] = [""] * (node.end_lineno - node.lineno + 1)
    return "\n".join(line.rstrip() for line in lines if line.strip())


if __name__ == "__main__":
    STAMP.write_text(_now(), "utf-8")
