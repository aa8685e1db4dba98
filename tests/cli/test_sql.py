"""Scripts of SQL from files and pipes."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from tests.cli.conftest import Ana

MARK = b"\xef\xbb\xbf"


def test_a_byte_order_mark_is_no_part_of_a_script(shop: Ana, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = MARK + b"select 1 as a;"
    (folder / "bom.sql").write_bytes(script)
    assert shop("sql", "-f", "bom.sql", "--format", "csv").out == "a\n1\n"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(script), "utf-8"))
    assert shop("sql", "--format", "csv").out == "a\n1\n"
