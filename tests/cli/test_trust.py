"""Servers that only a folder names are not contacted until they are listed: they get no password and no key."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import anabranch as ab
from anabranch.model.addresses import read_address
from anabranch.model.object_urls import read_object_url
from anabranch.repo.context import trusted
from tests.cli.conftest import Ana
from tests.postgres import PostgresServer
from tests.repo.strangers.stranger import edited
from tests.s3 import S3Server

ASK_FOR_PASSWORD = b"R" + (8).to_bytes(4, "big") + (3).to_bytes(4, "big")
"""What a server of PostgreSQL says to be sent the password as it is."""


class Listener:
    """A stranger's server: it notes what it is sent, and asks for a password as PostgreSQL does."""

    def __init__(self) -> None:
        self.heard: list[bytes] = []
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        while True:
            try:
                client, _ = self._socket.accept()
            except OSError:
                return
            with client:
                client.settimeout(5)
                try:
                    self._converse(client)
                except OSError:
                    continue

    def _converse(self, client: socket.socket) -> None:
        first = client.recv(4096)
        self.heard.append(first)
        if len(first) == 8:  # It asks for TLS.
            client.sendall(b"N")
            client.recv(4096)
        client.sendall(ASK_FOR_PASSWORD)
        self.heard.append(client.recv(4096))

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def listener(monkeypatch: pytest.MonkeyPatch) -> Iterator[Listener]:
    """A stranger's server, on a machine where this user has a password and keys."""
    monkeypatch.setenv("PGPASSWORD", "hunter2")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "my key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "my secret")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "my token")
    made = Listener()
    yield made
    made.close()


@pytest.fixture(autouse=True)
def nothing_typed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each command of these tests stands for a process of its own."""
    monkeypatch.setattr(trusted, "_typed", set())


def let_folder_name(folder: Path, address: str) -> None:
    (folder / ".anabranch").mkdir(exist_ok=True)
    (folder / ".anabranch" / "cli.json").write_text(json.dumps({"store": address, "repository": "main"}))


def forget_what_was_typed() -> None:
    trusted._typed.clear()


@pytest.mark.parametrize(
    "command", [["status"], ["log"], ["backup", "copy"], ["sql", "SELECT 1"], ["config", "--list"]]
)
def test_a_server_that_a_folder_names_is_not_sent_a_password(
    ana: Ana, folder: Path, listener: Listener, command: list[str]
) -> None:
    let_folder_name(folder, f"postgresql://ann@127.0.0.1:{listener.port}/db")
    if command[0] == "config":
        ana(*command)
    else:
        assert f"hint: if you know it: `ana trust 127.0.0.1:{listener.port}`" in ana(*command, fails=2).err
    assert listener.heard == []
    ana("--store", str(folder), "log", fails=2)
    assert listener.heard == []


def test_completion_contacts_no_server_that_a_folder_names(
    ana: Ana, folder: Path, listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    import click

    from anabranch.cli.name_completion import _branches, _listed

    let_folder_name(folder, f"postgresql://ann@127.0.0.1:{listener.port}/db")
    assert _listed(click.Context(click.Command("log")), _branches) == []
    assert listener.heard == []


def test_a_listed_server_is_contacted_and_one_taken_off_is_not(ana: Ana, folder: Path, listener: Listener) -> None:
    place = f"127.0.0.1:{listener.port}"
    let_folder_name(folder, f"postgresql://ann@{place}/db?connect_timeout=5")
    assert ana("trust").out == "No server is listed; `ana trust HOST` lists one.\n"
    assert ana("trust", place).out == f"Trusted: {place}\n"
    assert ana("trust", place, "--json").json == {"servers": [place], "added": [], "removed": []}
    ana("log", fails=6)
    assert any(b"hunter2" in said for said in listener.heard)
    listener.heard.clear()
    assert ana("trust", "--remove", place).out == f"Not trusted any more: {place}\n"
    ana("trust", "--remove", place, fails=3)
    ana("log", fails=2)
    assert listener.heard == []


def test_a_typed_address_is_trusted(ana: Ana, folder: Path, listener: Listener) -> None:
    ana("--store", f"postgresql://ann@127.0.0.1:{listener.port}/db", "log", fails=6)
    assert any(b"hunter2" in said for said in listener.heard)


@pytest.mark.parametrize(
    "query", ["hostaddr=127.0.0.1", "host=127.0.0.1", "sslmode=disable", "passfile=/home/ann/.pgpass", "service=mine"]
)
def test_a_host_that_is_listed_is_no_cover_for_another(ana: Ana, folder: Path, listener: Listener, query: str) -> None:
    ana("trust", "db.example")
    let_folder_name(folder, f"postgresql://ann@db.example/db?{query}&port={listener.port}")
    said = ana("log", fails=2).err
    assert "ana trust 'postgresql://ann@db.example/db?" in said
    assert listener.heard == []


def test_init_lists_the_server_that_was_typed(ana: Ana, folder: Path, tmp_path: Path, postgres: PostgresServer) -> None:
    url = postgres.create_database()
    ana("init", url, "--objects", str(tmp_path / "objects"))
    forget_what_was_typed()
    ana("log")
    assert ana("trust").out == f"127.0.0.1:{postgres.port}\n"
    ana("trust", "--remove", f"127.0.0.1:{postgres.port}")
    assert "ana trust" in ana("log", fails=2).err


@pytest.mark.parametrize("named", ["root", "location"])
def test_keys_are_not_sent_where_only_a_catalogue_says_that_objects_are(
    folder: Path, listener: Listener, named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"s3://bucket/shop?endpoint=http://127.0.0.1:{listener.port}&region=us-east-1"
    files = ab.Settings(objects=ab.ObjectSettings(inline_limit_bytes=0))
    with ab.init(folder, engine="duck", settings=files) as repo, repo.commit("main", "load") as tx:
        tx.create_table("t", [{"id": 1}], key="id")
    if named == "root":
        edited(folder, "UPDATE ana_store SET value = ? WHERE key = 'objects'", url)
    else:
        edited(folder, "INSERT INTO ana_locations VALUES ('l1', ?, 'copy', 0)", url)
        edited(folder, "INSERT INTO ana_object_places SELECT id, 'l1', path FROM ana_objects")
        edited(folder, "UPDATE ana_objects SET place = 'elsewhere', path = NULL")

    def read() -> object:
        with ab.open(folder, engine="duck") as repo:
            return repo.table("t").rows()

    def copied() -> object:
        return ab.backup(folder, folder / "copy")

    for ask in (read, copied) if named == "root" else (read,):
        with pytest.raises(ab.InvalidRequest, match=r"ana trust 127\.0\.0\.1"):
            ask()
    assert listener.heard == []


def test_a_store_on_s3_that_was_made_here_opens_here(folder: Path, s3: S3Server) -> None:
    url = s3.new_root()
    with ab.init(folder, engine="duck", objects=url):
        pass
    forget_what_was_typed()
    with ab.open(folder, engine="duck") as repo:
        assert repo.log()
    (name,) = trusted.trusted_servers()
    trusted.distrust(name)
    with pytest.raises(ab.InvalidRequest, match=f"ana trust {name}"):
        ab.open(folder, engine="duck")
    own = ab.Settings(objects=ab.ObjectSettings(trusted_servers=(name,)))
    with ab.open(folder, engine="duck", settings=own) as repo:
        assert repo.log()


@pytest.mark.parametrize(
    ("address", "names"),
    [
        ("postgresql://db.example/x", ["db.example"]),
        ("postgresql://ann@DB.example.:5432/x", ["db.example"]),
        ("postgresql://db.example:5433/x", ["db.example:5433"]),
        ("postgresql://[::1]:5433/x", ["[::1]:5433"]),
        ("postgresql://one,two/x", ["one", "two"]),
        ("postgresql:///x", []),
        ("postgresql://h/x?sslmode=verify-full&application_name=a", ["h"]),
        ("postgresql://ann:pw@h/x?sslmode=require&password=pw", ["postgresql://ann@h/x?sslmode=require"]),
        ("postgresql:///x?host=/tmp/theirs", ["postgresql:///x?host=/tmp/theirs"]),
    ],
)
def test_the_servers_of_an_address_are_named(address: str, names: list[str]) -> None:
    assert [server.names[0] for server in trusted.servers_of(read_address(address))] == names


@pytest.mark.parametrize(
    ("address", "names"),
    [
        ("s3://bucket/x?region=eu-central-1", []),
        ("s3://bucket/x?endpoint=https://minio.example", ["minio.example"]),
        ("s3://bucket/x?endpoint=http://MINIO.example:9000/", ["minio.example:9000"]),
        ("s3://bucket/x?endpoint=http://[::1]:9000", ["[::1]:9000"]),
        ("s3://bucket/x?endpoint=http://[::1]", ["[::1]"]),
        ("hdfs://node:8020/x", ["node"]),
        ("hdfs://node:9000/x?http=other:9870", ["node:9000", "other"]),
    ],
)
def test_the_servers_of_objects_are_named(address: str, names: list[str]) -> None:
    assert [server.names[0] for server in trusted.object_servers_of(read_object_url(address))] == names


@pytest.mark.parametrize(
    "address",
    [
        "s3://bucket/x?region=evil.example/",
        "s3://bucket/x?region=eu@evil.example",
        "s3://evil.example:80/x",
        "s3://buc ket/x",
        "s3://bucket/x?endpoint=http://good@evil.example",
        "hdfs://node/x?http=good@evil.example",
        "hdfs://node/x?http=evil.example/path",
    ],
)
def test_an_address_that_leads_elsewhere_than_it_seems_is_refused(address: str) -> None:
    with pytest.raises(ab.InvalidRequest):
        read_object_url(address)


def test_what_names_no_server_is_refused(ana: Ana) -> None:
    assert "write HOST" in ana("trust", "not a host", fails=2).err
    assert "write HOST" in ana("trust", "host:port", fails=2).err
    assert "leave it out" in ana("trust", "postgresql:///x", fails=2).err
    ana("trust", "--remove", fails=2)
    said = ana("trust", "postgresql://ann:hunter2@h:1/x?sslmode=require", "s3://b/x?endpoint=http://m:9", "k:7")
    assert "hunter2" not in said.out
    assert ana("trust").out.splitlines() == ["postgresql://ann@h:1/x?sslmode=require", "m:9", "k:7"]


def test_a_damaged_list_is_told(ana: Ana, tmp_path: Path) -> None:
    ana("trust", "h")
    (tmp_path / "home" / "anabranch" / "trusted.json").write_text("[]")
    assert "trusted.json can't be read" in ana("trust", fails=8).err
