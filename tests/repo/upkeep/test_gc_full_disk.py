"""gc on a disk that is full: it needs no room to begin, frees what it can, and loses nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import anabranch as ab
from anabranch.catalog import spare_room
from anabranch.cli.main import run
from tests.postgres import PostgresServer
from tests.repo.commit.test_crash_disk import small_disk
from tests.repo.files.test_checkout_full_disk import fill
from tests.repo.upkeep.test_gc import FILES, leave, states, work


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path / "disk", "24m") as place:
        yield place


def open_(place: Path) -> ab.Repository:
    return ab.open(place, repository="shop", engine="duck", settings=FILES)


@pytest.fixture
def shop(disk: Path) -> Iterator[ab.Repository]:
    with ab.init(disk / "store", repository="shop", engine="duck", settings=FILES) as repo:
        work(repo)
        yield repo


def room(disk: Path) -> int:
    found = os.statvfs(disk)
    return found.f_bavail * found.f_frsize


def test_an_open_store_frees_room(disk: Path, shop: ab.Repository) -> None:
    before, expected = states(shop), shop.gc(grace=0, dry_run=True)
    fill(disk, 0)
    done = shop.gc(grace=0)
    assert (done.garbage, done["views"].count > 2) == (expected.garbage, True)
    assert states(shop) == before
    shop.verify().raise_damages()


def test_a_store_that_nobody_has_open_is_read_and_frees_room(disk: Path, shop: ab.Repository) -> None:
    before = states(shop)
    shop.close()
    fill(disk, 0)
    with open_(disk / "store") as repo:
        assert states(repo) == before
        with pytest.raises(ab.Unavailable, match=r"full|No space"):
            work(repo, 1)
        assert repo.gc(grace=0)["views"].count > 2
        assert states(repo) == before
        repo.verify().raise_damages()
    (disk / "filler").unlink()
    with open_(disk / "store") as repo:
        repo.gc(grace=0)
        work(repo, 1)
        repo.verify().raise_damages()
    assert (disk / "store" / ".anabranch" / spare_room.NAME).stat().st_size >= 256 * 1024, "for the next time"


def test_the_command_line_does_so_too(disk: Path, shop: ab.Repository, capsys: pytest.CaptureFixture[str]) -> None:
    shop.close()
    fill(disk, 0)
    assert run(["--store", str(disk / "store"), "log"]) == 0
    assert run(["--store", str(disk / "store"), "gc", "--grace", "0"]) == 0, capsys.readouterr().err
    assert "freed" in capsys.readouterr().out
    assert room(disk) > 0


@pytest.mark.parametrize("kilobytes", [160, 256, 512])
def test_what_takes_more_room_than_there_is_goes_a_little_at_a_time(
    disk: Path, monkeypatch: pytest.MonkeyPatch, kilobytes: int
) -> None:
    monkeypatch.setattr(spare_room, "SPARE_ROOM_BYTES", kilobytes * 1024)
    with ab.init(disk / "store", repository="shop", engine="duck", settings=FILES) as shop:
        work(shop)
        for number in range(12):
            shop.branch(f"b{number}")
            work(shop, 6, branch=f"b{number}", low=number)
            shop.delete_branch(f"b{number}", force=True)
        before, expected = states(shop), shop.gc(grace=0, reflog=0, dry_run=True)
    fill(disk, 0)
    with open_(disk / "store") as shop:
        done = shop.gc(grace=0, reflog=0)
        assert done["commits"].count == expected["commits"].count > 50
        assert done.size_bytes == expected.size_bytes
        assert states(shop) == before
        assert not shop.gc(grace=0, reflog=0).is_anything
        shop.verify().raise_damages()


def test_files_that_nothing_names_go_first(disk: Path, shop: ab.Repository) -> None:
    """They take no row with them; in a store made earlier no room is kept, and still they go."""
    shop.gc(grace=0)
    (disk / "store" / ".anabranch" / spare_room.NAME).unlink()
    left = leave(disk / "store" / ".anabranch" / "objects")
    before = states(shop)
    fill(disk, 0)
    done = shop.gc(grace=0)
    assert done["files"].count == len(left)
    assert not any(path.exists() for path in left)
    assert states(shop) == before


def test_where_no_room_can_be_made_the_error_says_that_the_disk_is_full(disk: Path, shop: ab.Repository) -> None:
    (disk / "store" / ".anabranch" / spare_room.NAME).unlink()
    before = states(shop)
    fill(disk, 0)
    with pytest.raises(ab.Unavailable, match="the disk is full"):
        shop.gc(grace=0)
    assert states(shop) == before
    (disk / "filler").unlink()
    assert shop.gc(grace=0)["views"].count > 2
    shop.verify().raise_damages()


def test_objects_on_a_full_disk_go_where_the_catalogue_is_on_a_server(disk: Path, postgres: PostgresServer) -> None:
    url = postgres.create_database()
    with ab.init(url, repository="shop", objects=str(disk / "objects"), engine="duck", settings=FILES) as repo:
        work(repo)
        before = states(repo)
        fill(disk, 0)
        assert repo.gc(grace=0)["views"].count > 2
        assert room(disk) > 0
        assert states(repo) == before
        repo.verify().raise_damages()
    postgres.drop_database(url)
