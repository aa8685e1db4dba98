"""gc on the command line."""

from __future__ import annotations

import re
from pathlib import Path

from tests.cli.conftest import Ana


def test_gc_tells_what_it_would_remove_and_removes_it(shop: Ana, folder: Path) -> None:
    shop("branch", "dev")
    shop("sql", "UPDATE orders SET price = 1", "-m", "reprice")
    shop("reset", "--hard", "main~1")
    told = shop("gc", "--dry-run", "--grace", "0", "--reflog", "0")
    assert re.match(r"commits that nothing reaches +1 +[1-9][0-9]* B +0 B$", told.out.splitlines()[2])
    assert told.out.splitlines()[-1].startswith("would free ")
    done = shop("gc", "--grace", "0", "--reflog", "0")
    assert done.out == told.out.replace("would free", "freed")
    assert shop("gc", "--grace", "0", "--json").json == {
        "garbage": [
            {"kind": kind, "count": 0, "size_bytes": 0, "later_bytes": 0}
            for kind in ("commits", "views", "objects", "files", "copies")
        ],
        "dry_run": False,
        "notes": [],
        "size_bytes": 0,
        "later_bytes": 0,
    }


def test_gc_refuses_ages_that_make_no_sense(shop: Ana) -> None:
    said = shop("gc", "--grace", "soon", fails=2).err
    assert said.splitlines()[0] == "error: grace= is 'soon', which is no duration"
