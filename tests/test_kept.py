"""What the stores of one process share in tests."""

from __future__ import annotations

from pathlib import Path

import anabranch as ab
from tests.kept import COMPILED


def test_stores_share_their_compiled_statements(tmp_path: Path) -> None:
    for name in ("one", "other"):
        with ab.init(tmp_path / name) as repo:
            assert repo._ctx.catalog._engines.whole.get_execution_options()["compiled_cache"] is COMPILED
