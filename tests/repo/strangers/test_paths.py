"""Object paths of a stranger's catalogue lead nowhere out of the object root, neither to read nor to remove."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import anabranch as ab
from tests.repo.strangers.stranger import FILES, asked, edited, opened

SECRET = "secret/aa/oaaaaaaaaaaaaaaaa.parquet"
STRANGE = [
    "../../../" + SECRET,
    "{tmp}/" + SECRET,
    "aa/../../../../" + SECRET,
    "aa/oaaaaaaaaaaaaaaaa.parquet\n",
    "*/*.parquet",
]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with a table in files, and a file beside it that is none of its business."""
    made = tmp_path / "store"
    with ab.init(made, author="ann", engine="duck", settings=FILES) as repo, repo.commit("main", "load") as tx:
        tx.create_table("t", [{"id": 1, "v": "x"}], key="id")
    secret = tmp_path / SECRET
    secret.parent.mkdir(parents=True)
    pq.write_table(pa.table({"id": [1], "v": ["secret"]}), secret)
    return made


def removed_nothing(tmp_path: Path) -> bool:
    return (tmp_path / SECRET).is_file()


@pytest.mark.parametrize("path", STRANGE)
def test_a_path_that_leads_out_is_not_read(store: Path, tmp_path: Path, path: str) -> None:
    assert edited(store, "UPDATE ana_objects SET path = ?", path.format(tmp=tmp_path)) == 1
    with opened(store) as repo:
        asks: list[Callable[[], object]] = [
            lambda: repo.table("t").rows(),
            lambda: repo.sql("SELECT * FROM t").rows(),
            lambda: repo.diff("main~1", "main")["t"].rows(),
        ]
        for ask in asks:
            with pytest.raises(ab.Corrupt):
                ask()


@pytest.mark.parametrize("linked", ["file", "folder"])
def test_a_link_in_the_object_root_is_not_followed(store: Path, tmp_path: Path, linked: str) -> None:
    (path,) = asked(store, "SELECT path FROM ana_objects")
    own = store / ".anabranch" / "objects" / path
    if linked == "file":
        own.unlink()
        own.symlink_to(tmp_path / SECRET)
    else:
        os.rename(own.parent, tmp_path / "elsewhere")
        own.parent.symlink_to(tmp_path / "elsewhere")
    with opened(store) as repo, pytest.raises(ab.Corrupt, match="link"):
        repo.table("t").rows()


def test_the_object_root_itself_may_be_a_link(store: Path, tmp_path: Path) -> None:
    root = store / ".anabranch" / "objects"
    os.rename(root, tmp_path / "disk")
    root.symlink_to(tmp_path / "disk")
    with opened(store) as repo:
        assert repo.table("t").rows() == [{"id": 1, "v": "x"}]


@pytest.mark.parametrize("path", STRANGE)
@pytest.mark.parametrize("folder", [True, False])
def test_what_lies_elsewhere_is_never_removed(store: Path, tmp_path: Path, path: str, folder: bool) -> None:
    """Giving work up removes the files that it made; these are not its own."""
    with opened(store, settings=FILES) as repo:
        repo.start("main", message="work").table("t").insert([{"id": 2, "v": "y"}])
    led = path.format(tmp=tmp_path)
    led = os.path.dirname(os.path.dirname(led)) if folder else led
    edited(store, "UPDATE ana_objects SET path = ? WHERE id IN (SELECT object_id FROM ana_open_objects)", led)
    with opened(store) as repo:
        try:
            for work in repo.open_commits():
                work.abort()
        except ab.Corrupt:
            pass
    assert removed_nothing(tmp_path)
