"""Statements of SQL on the command line: where they read and write, and how their results look."""

from __future__ import annotations

from tests.cli.conftest import Ana


def test_a_ref_to_read_at_is_never_written_to(shop: Ana) -> None:
    shop("branch", "dev")
    for text in ("UPDATE orders SET price = 1", "SELECT 1 AS a; CREATE BRANCH qa"):
        failed = shop("sql", text, "--at", "dev", fails=2).err
        assert "only read" in failed
        assert "`ana switch`" in failed
    assert shop("status", "--json").json["staged"] == []
    shop("sql", "SELECT 1 AS a", "--at", "nope", fails=3)
    assert shop("sql", "SELECT count(*) AS n FROM orders", "--at", "dev", "--json").json["results"][0]["rows"] == [[3]]
