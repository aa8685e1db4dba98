"""Commands in a folder that a stranger packed: nothing of it runs, and nothing outside of it is touched."""

from __future__ import annotations

from pathlib import Path

import pytest

from anabranch.cli.main import run
from tests.cli.conftest import Ana
from tests.repo.strangers.stranger import edited


@pytest.mark.parametrize("command", [("restore", "."), ("stash", "push"), ("stash", "drop"), ("reset", "--hard")])
def test_no_command_removes_what_lies_elsewhere(shop: Ana, folder: Path, command: tuple[str, ...]) -> None:
    victim = folder / "victim"
    victim.mkdir()
    (folder / ".anabranch" / "objects").mkdir(exist_ok=True)
    (victim / "kept.txt").write_text("mine")
    shop("sql", "UPDATE orders SET price = 1")
    if command == ("stash", "drop"):
        shop("stash", "push")
    staged = "WHERE id IN (SELECT object_id FROM ana_open_objects)"
    assert edited(folder, f"UPDATE ana_objects SET place = 'root', path = '../../victim' {staged}") == 1
    assert run(command) in (0, 8)
    assert (victim / "kept.txt").read_text() == "mine"
