"""Places that a stranger's store or backup names: none is contacted, read or removed on its word."""

from __future__ import annotations

import json
import shutil
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import anabranch as ab
from tests.postgres import PostgresServer
from tests.repo.strangers.stranger import FILES, opened
from tests.s3 import ENVIRONMENT
from tests.tiny_s3 import TinyS3


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    with (
        ab.init(tmp_path / "shop", repository="shop", engine="duck", settings=FILES) as repo,
        repo.commit("main", "make") as tx,
    ):
        tx.create_table("t", [{"id": 1, "v": 1}], key="id")
    return tmp_path / "shop"


@pytest.fixture
def listener(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, list[bytes]]]:
    """A stranger's server, and what it heard; whoever asks it has keys to lose."""
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    heard: list[bytes] = []
    server = socket.create_server(("127.0.0.1", 0))

    def listen() -> None:
        while True:
            try:
                client, _ = server.accept()
            except OSError:
                return
            with client:
                heard.append(client.recv(4096))

    threading.Thread(target=listen, daemon=True).start()
    yield f"s3://bucket/p?endpoint=http://127.0.0.1:{server.getsockname()[1]}", heard
    server.close()


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_backup_that_names_a_location_on_a_server_sends_it_nothing(
    shop: Path, tmp_path: Path, listener: tuple[str, list[bytes]], request: pytest.FixtureRequest, kind: str
) -> None:
    url, heard = listener
    with opened(shop) as repo, repo._ctx.catalog.write() as cx:
        cx.exec_driver_sql(f"INSERT INTO ana_locations (id, url, role, created_at) VALUES ('p1', '{url}', 'copy', 1)")
        cx.exec_driver_sql(
            "INSERT INTO ana_object_places (object_id, location_id, path) SELECT id, 'p1', path FROM ana_objects"
        )
        cx.exec_driver_sql("UPDATE ana_objects SET place = 'elsewhere', path = NULL")
    ab.backup(str(shop), str(tmp_path / "backup"))
    target = str(tmp_path / "new")
    if kind == "postgresql":
        postgres: PostgresServer = request.getfixturevalue("postgres")
        target = postgres.create_database()
    with pytest.raises(ab.InvalidRequest, match="trust"):
        ab.restore_store(str(tmp_path / "backup"), target, objects=str(tmp_path / "objects"))
    with pytest.raises(ab.InvalidRequest, match="trust"), opened(shop) as repo:
        repo.table("t").rows()
    assert heard == []


def test_a_catalogue_that_is_a_link_is_not_opened(shop: Path, tmp_path: Path) -> None:
    """Commits would put their objects beside the link, where the store itself never looks."""
    theirs = tmp_path / "theirs" / ".anabranch"
    theirs.mkdir(parents=True)
    (theirs / "catalog.db").symlink_to(shop / ".anabranch" / "catalog.db")
    for verb in (opened, ab.repositories, lambda place: ab.backup(str(place), str(tmp_path / "kept"))):
        with pytest.raises(ab.InvalidRequest, match="is a link"):
            verb(theirs.parent)
    shutil.rmtree(theirs)
    theirs.symlink_to(shop / ".anabranch")
    with opened(theirs.parent) as repo:
        assert repo.table("t").count() == 1, "a link to the whole of it is the store itself"


@pytest.mark.parametrize("name", ["../secret.db", "objects/x", "catalog-1.db", "catalog-" + "a" * 64 + ".db/../x", 7])
def test_the_note_of_a_backup_names_its_own_catalogue_only(
    shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: object
) -> None:
    for key, value in {**ENVIRONMENT, "XDG_CACHE_HOME": str(tmp_path / "cache")}.items():
        monkeypatch.setenv(key, value)
    with TinyS3() as tiny:
        place = tiny.root("kept")
        ab.backup(str(shop), place)
        note = json.loads(tiny.blobs["kept/backup.json"])
        tiny.blobs["kept/backup.json"] = json.dumps({**note, "catalog": name}).encode()
        asked: list[str] = []
        tiny.before = lambda method, blob: asked.append(blob)
        with pytest.raises((ab.Corrupt, ab.NotFound)):
            ab.restore_store(place, str(tmp_path / "new"))
        assert all(blob.endswith("backup.json") for blob in asked), asked
