"""Whole sessions, word for word: what a user types and sees, with hashes, times and places made equal.

ANABRANCH_WRITE_GOLDEN=1 writes the outputs anew; read the difference before it is committed."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import pytest

from anabranch.cli.main import run

GOLDEN = Path(__file__).parents[1] / "golden" / "cli"

ORDERS = "id,customer,status,price\n1,ann,new,9.50\n2,bob,paid,20.00\n3,cid,sent,\n"
PRICES = "id,price\n1,8.00\n4,5.00\n"
LINES = '{"id": 5, "customer": "dee", "status": "new", "price": 1.25}\n'
OTHERS = "id,price\n1,7.50\n2,21.00\n"


@pytest.mark.parametrize("name", sorted(path.stem for path in GOLDEN.glob("*.txt")))
def test_a_session_looks_as_it_always_did(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for file, text in (("orders.csv", ORDERS), ("prices.csv", PRICES), ("lines.jsonl", LINES), ("others.csv", OTHERS)):
        (folder / file).write_text(text)
    golden = (GOLDEN / f"{name}.txt").read_text("utf-8")
    typed = [line.removeprefix("$ ana ") for line in golden.splitlines() if line.startswith("$ ana")]
    shown = "\n".join(played(line.removeprefix("$ ana"), folder, capsys) for line in typed)
    if os.environ.get("ANABRANCH_WRITE_GOLDEN"):
        (GOLDEN / f"{name}.txt").write_text(shown, "utf-8")
    assert shown == golden


def played(line: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """Run one line, and return it with all that it printed."""
    code = run(shlex.split(line))
    printed = capsys.readouterr()
    ending = f"[exit code {code}]\n" if code else ""
    return f"$ ana {line}\n" + normal(printed.out + printed.err, folder) + ending


def normal(text: str, folder: Path) -> str:
    """Replace what differs from run to run by something of the same width."""
    text = text.replace(str(folder), "/home/ann/shop")
    text = re.sub(r"\b(?:[0-9a-f]{64}|[0-9a-f]{10})\b", lambda found: "#" * len(found[0]), text)
    text = re.sub(r"\b\d{3} B\b", "900 B", text)
    text = re.sub(r'("size_bytes\w*": )\d+', r"\g<1>1000", text)
    text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?[+-]\d\d:\d\d", "2026-11-15T12:00:00+00:00", text)
    return text
