"""Objects that lie elsewhere: read, merged and verified where the catalogue says that they lie."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import anabranch as ab
from anabranch.catalog.objects import add_location, put_elsewhere
from anabranch.objects.locations import open_root
from tests.s3 import ENVIRONMENT
from tests.tiny_s3 import TinyS3

ROWS = [{"id": n, "v": f"v{n}"} for n in range(50)]


def moved(repo: ab.Repository, *folders: Path) -> str:
    """Move the file of the only object of `t` into folders, and say in the catalogue that it lies there."""
    (layer,) = repo.table("t").layout()
    root = Path(repo._ctx.root.where)
    with repo._ctx.catalog.write() as cx:
        (object_id,) = (layer.object.id for layer in repo.table("t")._state.layers)
        for folder in folders:
            target = folder / layer["path"]
            target.parent.mkdir(parents=True)
            shutil.copy(root / layer["path"], target)
            if folder == folders[0]:
                put_elsewhere(cx, object_id, add_location(cx, str(folder), "copy"), layer["path"])
            else:
                location = add_location(cx, str(folder), "copy")
                cx.exec_driver_sql(
                    "INSERT INTO ana_object_places VALUES (?, ?, ?)", (object_id, location, layer["path"])
                )
    (root / layer["path"]).unlink()
    return str(layer["path"])


@pytest.fixture
def store(tmp_path: Path) -> Path:
    with ab.init(
        tmp_path / "store", settings=ab.Settings(objects=ab.ObjectSettings(inline_limit_bytes=0)), engine="duck"
    ) as repo:
        with repo.commit("main", "load") as tx:
            tx.create_table("t", ROWS, key="id")
        repo.branch("dev")
    return tmp_path / "store"


def test_an_object_elsewhere_is_read_changed_merged_and_verified(store: Path, tmp_path: Path) -> None:
    with ab.open(store, engine="duck") as repo:
        moved(repo, tmp_path / "far")
    with ab.open(store, engine="duck") as repo:
        assert sorted(r["id"] for r in repo.table("t").rows()) == list(range(50))
        for branch, key in (("main", 3), ("dev", 4)):
            with repo.commit(branch, "change") as tx:
                tx.table("t").update({"v": "'new'"}, where=f"id = {key}")
        repo.merge("dev", into="main")
        assert [repo.table("t").get(key) for key in (3, 4, 5)] == [
            {"id": 3, "v": "new"},
            {"id": 4, "v": "new"},
            {"id": 5, "v": "v5"},
        ]
        assert not repo.verify().damages


def test_another_copy_is_read_where_the_first_is_gone(store: Path, tmp_path: Path) -> None:
    with ab.open(store, engine="duck") as repo:
        path = moved(repo, tmp_path / "far", tmp_path / "farther")
    for folder in ("far", "farther"):
        kept = (tmp_path / folder / path).read_bytes()
        (tmp_path / folder / path).unlink()
        with ab.open(store, engine="duck") as repo:
            assert len(repo.table("t").rows()) == 50
        (tmp_path / folder / path).write_bytes(kept)


@pytest.mark.parametrize(
    "damage", [lambda file: file.unlink(), lambda file: file.write_bytes(file.read_bytes()[:-1] + b"x")]
)
def test_damage_elsewhere_is_told(store: Path, tmp_path: Path, damage: object) -> None:
    with ab.open(store, engine="duck") as repo:
        path = moved(repo, tmp_path / "far")
    damage(tmp_path / "far" / path)  # type: ignore[operator]
    with ab.open(store, engine="duck") as repo:
        with pytest.raises(ab.Corrupt):
            repo.table("t").rows()
        assert repo.verify().damages


def test_an_object_elsewhere_without_a_location_is_told(store: Path, tmp_path: Path) -> None:
    with ab.open(store, engine="duck") as repo:
        moved(repo, tmp_path / "far")
        with repo._ctx.catalog.write() as cx:
            cx.exec_driver_sql("DELETE FROM ana_object_places")
    with ab.open(store, engine="duck") as repo, pytest.raises(ab.Corrupt, match=r"no location is known|is missing"):
        repo.table("t").rows()


@pytest.fixture(params=["folder", "s3"])
def archive(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A place that objects can be moved to."""
    if request.param == "folder":
        yield str(tmp_path / "archive")
        return
    for name, value in {**ENVIRONMENT, "XDG_CACHE_HOME": str(tmp_path / "cache")}.items():
        monkeypatch.setenv(name, value)
    with TinyS3() as server:
        yield server.root()


def move_all(repo: ab.Repository, archive: str) -> int:
    """Move all files of a store's root to another place, as somebody with other tools would."""
    root, target = repo._ctx.root, open_root(archive)
    found = list(root.files())
    for file in found:
        target.put_as(file.path, [Path(root.uri(file.path)).read_bytes()])
        Path(root.uri(file.path)).unlink()
    return len(found)


@pytest.mark.parametrize("manifest_object_limit", [2000, 0])
def test_objects_that_were_moved_are_read_at_a_location_that_is_added(
    tmp_path: Path, archive: str, manifest_object_limit: int
) -> None:
    objects = ab.ObjectSettings(inline_limit_bytes=0, manifest_object_limit=manifest_object_limit, file_row_limit=20)
    with ab.init(tmp_path / "store", settings=ab.Settings(objects=objects), engine="duck") as repo:
        with repo.commit("main", "load") as tx:
            tx.create_table("t", ROWS, key="id")
        repo.branch("dev")
        count = move_all(repo, archive)
        assert count > 1
    with ab.open(tmp_path / "store", engine="duck") as repo:
        with pytest.raises(ab.Corrupt, match="missing"):
            repo.table("t").rows()
        added = repo.add_location(archive)
        assert (added.moved, added.copies) == (count, 0)
        assert repo.add_location(archive).moved == 0, "called again, it has nothing left to do"
        assert sorted(r["id"] for r in repo.table("t").rows()) == list(range(50))
        with repo.commit("dev", "change") as tx:
            tx.table("t").update({"v": "'new'"}, where="id = 4")
        repo.merge("dev", into="main")
        assert repo.table("t").get(4) == {"id": 4, "v": "new"}
        listed = [o for o in repo.objects(table="t") if o.where != "catalogue"]
        assert all(("s3a://" in o.where) == archive.startswith("s3://") for o in listed[:-1])
        repo.verify(deep=True).raise_damages()
        repo.gc(grace=0, reflog=0)
        assert len(repo.table("t").rows()) == 50


def test_the_own_root_and_an_address_with_a_secret_are_no_location(store: Path) -> None:
    with ab.open(store, engine="duck") as repo:
        with pytest.raises(ab.InvalidRequest, match="own object root"):
            repo.add_location(str(repo._ctx.root.where))
        with pytest.raises(ab.InvalidRequest, match="no account or key") as refused:
            repo.add_location("s3://me:verysecret@bucket/x")
        assert "verysecret" not in str(refused.value)
