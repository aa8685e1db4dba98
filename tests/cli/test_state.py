"""What the command line remembers: where it is kept, and what never is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import anabranch as ab
from anabranch.cli.remembered import State, find, load, save
from anabranch.errors import Corrupt, NotFound


@pytest.mark.parametrize(
    "document",
    [
        {"store": "/home/ann/other"},
        {"store": "mysql://host/db"},
        {"store": "postgresql://host:port/db"},
        {"store": 7},
    ],
)
def test_a_file_that_names_anything_but_a_server_is_told(tmp_path: Path, document: dict[str, Any]) -> None:
    (tmp_path / ".anabranch").mkdir()
    (tmp_path / ".anabranch" / "cli.json").write_text(json.dumps(document))
    with pytest.raises(Corrupt, match="names"):
        load(tmp_path)


def test_a_store_is_its_own_whatever_a_file_beside_it_says(tmp_path: Path) -> None:
    """Else work in a folder from a stranger would be done on a store of one's own."""
    ab.init(tmp_path, author="ann").close()
    save(tmp_path, State(store="postgresql://host/db"))
    with pytest.raises(Corrupt, match="names a server"):
        find(None, tmp_path)


def test_what_is_saved_is_loaded_again(tmp_path: Path) -> None:
    state = State("shop", {"shop": "dev"}, "postgresql://host/db")
    save(tmp_path, state)
    assert load(tmp_path) == state
    assert load(tmp_path).on_branch("other", "main").branches == {"shop": "dev", "other": "main"}


def test_the_file_is_small_and_readable(tmp_path: Path) -> None:
    save(tmp_path, State("shop", {"shop": "main"}))
    file = tmp_path / ".anabranch" / "cli.json"
    assert json.loads(file.read_text()) == {"repository": "shop", "branches": {"shop": "main"}}
    assert list(file.parent.iterdir()) == [file]


def test_the_nearest_store_above_is_found(tmp_path: Path) -> None:
    save(tmp_path, State("outer"))
    save(tmp_path / "a", State("inner"))
    (tmp_path / "a" / "b" / "c").mkdir(parents=True)
    (tmp_path / "d").mkdir()
    assert find(None, tmp_path / "a" / "b" / "c").state.repository == "inner"
    assert find(None, tmp_path / "d").state.repository == "outer"


def test_a_folder_without_a_store_is_told(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="is in no store"):
        find(None, tmp_path)


def test_a_folder_that_is_connected_leads_to_its_server(tmp_path: Path) -> None:
    save(tmp_path, State("shop", {}, "postgresql://ann@host/db"))
    assert find(None, tmp_path).store == "postgresql://ann@host/db"


def test_a_server_that_is_named_uses_the_folder_that_points_to_it(tmp_path: Path) -> None:
    save(tmp_path, State("shop", {"shop": "dev"}, "postgresql://ann@host/db"))
    named = find("postgresql://ann:secret@host/db", tmp_path)
    assert (named.store, named.folder) == ("postgresql://ann:secret@host/db", tmp_path)
    other = find("postgresql://ann@host/other", tmp_path)
    assert (other.folder, other.state) == (None, State())


@pytest.mark.parametrize("text", ["{", "[]", '{"branches": 3}'])
def test_a_damaged_file_is_told(tmp_path: Path, text: str) -> None:
    (tmp_path / ".anabranch").mkdir()
    (tmp_path / ".anabranch" / "cli.json").write_text(text)
    with pytest.raises(Corrupt, match=r"cli\.json can't be read"):
        load(tmp_path)
