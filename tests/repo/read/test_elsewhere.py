"""Objects that lie elsewhere: read, merged and verified where the catalogue says that they lie."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import anabranch as ab
from anabranch.catalog.places import add_location, put_elsewhere

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
    with ab.open(store, engine="duck") as repo, pytest.raises(ab.Corrupt, match="no location is known"):
        repo.table("t").rows()
