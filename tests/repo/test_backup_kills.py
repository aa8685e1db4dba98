"""Backups and restores that are killed at any step, in a folder and on S3: what was there stays, and the next goes."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import anabranch as ab
from anabranch.objects.bucket import Bucket
from anabranch.objects.folder import Folder
from anabranch.repo import backups
from tests.catalog.processes import die, run
from tests.s3 import ENVIRONMENT
from tests.tiny_s3 import TinyS3

FILES = ab.Settings(objects=ab.ObjectSettings(inline_limit_bytes=0))
STEPS = (
    *((Folder, name) for name in ("put_as", "collect")),
    *((Bucket, name) for name in ("put", "create", "delete")),
    *((backups, name) for name in ("copy_rows", "_named")),
    (Path, "rename"),
)
"""What a backup or a restore does that others see."""
VERBS: dict[str, Callable[..., ab.StoreCopy]] = {
    "backup": ab.backup,
    "restore": lambda backup, store, objects: ab.restore_store(backup, store, objects=objects),
}


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TinyS3]:
    for name, value in {**ENVIRONMENT, "XDG_CACHE_HOME": str(tmp_path / "cache")}.items():
        monkeypatch.setenv(name, value)
    with TinyS3() as server:
        yield server


@pytest.fixture(params=["folder", "s3"])
def places(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where places for backups or for objects are."""
    return request.getfixturevalue("tiny").root("places") if request.param == "s3" else str(tmp_path / "places")


def below(places: str, name: str) -> str:
    place, question, options = places.partition("?")
    return f"{place}/{name}{question}{options}"


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[ab.Repository]:
    with ab.init(tmp_path / "shop", engine="duck", author="ann", settings=FILES) as repo:
        with repo.commit("main", "make") as tx:
            tx.create_table("t", [{"id": i, "v": i} for i in range(20)], key="id")
        yield repo


def put(repo: ab.Repository, key: int) -> None:
    with repo.commit("main", f"put {key}") as tx:
        tx.table("t").upsert([{"id": key, "v": -key}])


def hashes(repo: ab.Repository) -> list[str]:
    repo.verify().raise_damages()
    return [c.hash for c in repo.log()]


def hashes_in(store: Path) -> list[str]:
    with ab.open(store, repository="shop", engine="duck") as repo:
        return hashes(repo)


def die_at(step: int, when: str, verb: str, *given: str) -> None:
    """Do a verb, and die before or after its n-th step."""
    os.environ.update(ENVIRONMENT)
    done = iter(range(1, 1000))
    backups.FETCHING_THREADS = 1  # type: ignore[attr-defined]  # so that steps have an order
    for owner, name in STEPS:
        usual = getattr(owner, name)

        def counted(*args: object, usual: object = usual, **named: object) -> object:
            number = next(done)
            if number == step and when == "before":
                die()
            result = usual(*args, **named)  # type: ignore[operator]
            if number == step:
                die()
            return result

        setattr(owner, name, counted)
    VERBS[verb](*given)


def killed(step: int, when: str, verb: str, *given: str) -> bool:
    """Tell whether a verb was killed: it may have fewer steps."""
    try:
        run(die_at, step, when, verb, *given)
    except AssertionError as ended:
        if str(-signal.SIGKILL) in str(ended):
            return True
        raise
    return False


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_backup_that_is_killed_at_any_step_leaves_the_one_before_and_the_next_goes_through(
    shop: ab.Repository, places: str, tmp_path: Path, when: str
) -> None:
    store, step, told = str(tmp_path / "shop"), 1, set()
    while True:
        place, before = below(places, str(step)), hashes(shop)
        ab.backup(store, place)
        put(shop, step)
        if not killed(step, when, "backup", store, place):
            break
        ab.restore_store(place, str(tmp_path / f"killed{step}"))
        found = hashes_in(tmp_path / f"killed{step}")
        assert found in (before, hashes(shop))
        told.add(found == before)
        ab.backup(store, place)
        ab.restore_store(place, str(tmp_path / f"resumed{step}"))
        assert hashes_in(tmp_path / f"resumed{step}") == hashes(shop)
        step += 1
    assert told == {True, False}
    assert step > 3


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_first_backup_that_is_killed_is_none(shop: ab.Repository, places: str, tmp_path: Path, when: str) -> None:
    place = below(places, "first")
    assert killed(3, when, "backup", str(tmp_path / "shop"), place)
    with pytest.raises(ab.NotFound, match="no backup"):
        ab.restore_store(place, str(tmp_path / "new"))
    ab.backup(str(tmp_path / "shop"), place)
    ab.restore_store(place, str(tmp_path / "new"))
    assert hashes_in(tmp_path / "new") == hashes(shop)


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_restore_that_is_killed_at_any_step_made_no_store_and_is_begun_again_in_the_same_place(
    shop: ab.Repository, places: str, tmp_path: Path, when: str
) -> None:
    put(shop, 1)
    ab.backup(str(tmp_path / "shop"), str(tmp_path / "backup"))
    step = 1
    while True:
        given = (str(tmp_path / "backup"), str(tmp_path / f"new{step}"), below(places, str(step)))
        if not killed(step, when, "restore", *given):
            break
        if os.path.exists(f"{given[1]}/.anabranch/catalog.db"):
            with pytest.raises(ab.NotFound):
                ab.repositories(given[1])
        VERBS["restore"](*given)
        with ab.open(given[1], repository="shop", engine="duck", settings=FILES) as new:
            assert hashes(new) == hashes(shop)
            assert new._ctx.root.other_stores() == [], "else gc would never remove what a crash left"
            put(new, 2)
            assert new.gc(grace=0).size_bytes == 0
            assert len(hashes(new)) == len(hashes(shop)) + 1
        step += 1
    assert step > 3
