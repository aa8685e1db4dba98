"""Servers that this user trusts: a folder may come from a stranger, and a server may be sent this user's keys.

An address that a call gives is trusted. One that only a folder names, in its `cli.json` or in the catalogue of the
store in it, is contacted if this user's own file lists it. A catalogue on a server is taken at its word: the server
itself was given by a call, or is listed.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from anabranch.errors import Corrupt, InvalidRequest, Unavailable
from anabranch.model.addresses import Address, is_server, read_address
from anabranch.model.object_urls import ObjectUrl, is_object_url, read_object_url

_HARMLESS = {"application_name", "client_encoding", "connect_timeout", "target_session_attrs"}
"""Parameters of an address that decide neither where a connection goes, nor what is sent, nor how it is protected."""
_PORTS = {"postgresql": "5432", "https": "443", "http": "80", "hdfs": "8020", "webhdfs": "9870"}
_LISTED = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9_][a-z0-9_.-]*)(:[0-9]{1,5})?")
_PLACE = re.compile(r"(\[(?P<six>[^\]]*)\]|(?P<host>[^:\[\]]*))(:(?P<port>[0-9]+))?")
_typed: set[str] = set()
"""Names of the servers that calls of this process gave."""


@dataclass(frozen=True)
class NamedServer:
    """A server that an address names, and the names by which it may be listed, the usual one first."""

    names: tuple[str, ...]


def servers_of(address: Address) -> list[NamedServer]:
    """The servers that a connection to a catalogue may reach; none if that is left to this user's own environment."""
    if any(not _is_harmless(name, value) for name, value in address.query):
        return [NamedServer((address.kept,))]
    port = None if address.port is None else str(address.port)
    return [_server(host, port, "postgresql") for host in address.host.split(",") if host]


def _is_harmless(name: str, value: str) -> bool:
    return name in _HARMLESS or name.startswith("keepalives") or (name, value) == ("sslmode", "verify-full")


def object_servers_of(url: ObjectUrl) -> list[NamedServer]:
    """The servers that an object root is on; none for AWS itself, where this user's keys belong."""
    if url.scheme == "s3":
        endpoint = url.option("endpoint")
        return [] if endpoint is None else [_server_at(endpoint, "https")]
    name_node = _server_at(url.host, "hdfs")
    http = url.option("http")
    return [name_node] if http is None else [name_node, _server_at(http, "webhdfs")]


def _server_at(text: str, kind: str) -> NamedServer:
    """The server of `host`, `host:port` or a URL with that."""
    scheme, separator, rest = text.rpartition("://")
    place = _PLACE.fullmatch(rest.rstrip("/"))
    if place is None:
        return NamedServer((text,))
    return _server(place["six"] or place["host"], place["port"], scheme if separator else kind)


def _server(host: str, port: str | None, kind: str) -> NamedServer:
    plain = host.lower().rstrip(".")
    shown = f"[{plain}]" if ":" in plain else plain
    usual = _PORTS.get(kind)
    with_port = f"{shown}:{port or usual}"
    return NamedServer((shown, with_port) if port in (None, usual) else (with_port,))


def read_servers(text: str) -> list[str]:
    """The names to list for what a user types: a host, a host with a port, or a whole address."""
    if is_server(text):
        found = servers_of(read_address(text))
    elif is_object_url(text):
        found = object_servers_of(read_object_url(text))
    else:
        name = text.strip().lower()
        if _LISTED.fullmatch(name) is None:
            hint = "write HOST, HOST:PORT, or a whole address such as postgresql://host/database"
            raise InvalidRequest("that names no server", hint=hint)
        return [name]
    if not found:
        raise InvalidRequest("that address names no server that would have to be trusted", hint="leave it out")
    return [server.names[0] for server in found]


def check_trusted(servers: Sequence[NamedServer], named_by: str, listed: Iterable[str] = ()) -> None:
    """Refuse servers that only a folder names, unless this user's file, the settings or an earlier call list them."""
    if not servers:
        return
    known = {*_typed, *(name for text in listed for name in read_servers(text))}
    if all(known.intersection(server.names) for server in servers):
        return
    known.update(trusted_servers())
    missing = [server.names[0] for server in servers if not known.intersection(server.names)]
    if missing:
        what = " and ".join(missing)
        command = f"ana trust {' '.join(map(shlex.quote, missing))}"
        message = (
            f"{named_by} names the server {what}, which may be sent your passwords and keys, and you do not trust it"
        )
        raise InvalidRequest(message, hint=f"if you know it: `{command}`", servers=missing)


def check_objects_trusted(location: str, listed: Iterable[str] = ()) -> None:
    """Refuse an object root on a server that only the catalogue in a folder names, unless it is listed."""
    if is_object_url(location):
        check_trusted(object_servers_of(read_object_url(location)), "the catalogue of this folder", listed)


def note_typed_objects(location: str) -> None:
    """List the servers of an object root that a call gave. Where that can't be written, this process knows them."""
    if is_object_url(location):
        note_typed(object_servers_of(read_object_url(location)))


def trust(names: Iterable[str]) -> list[str]:
    """List servers in this user's file; returns those that were not there."""
    before = trusted_servers()
    new = [name for name in dict.fromkeys(names) if name not in before]
    if new:
        _write([*before, *new])
    return new


def distrust(name: str) -> bool:
    """Take a server off the list; tells whether it was there."""
    before = trusted_servers()
    if name not in before:
        return False
    _write([other for other in before if other != name])
    return True


def note_typed(servers: Iterable[NamedServer]) -> OSError | None:
    """List servers that a call gave, for the next one; returns why this user's file could not be written."""
    names = [server.names[0] for server in servers]
    _typed.update(names)
    try:
        trust(names)
    except Unavailable as error:
        return error.__cause__ if isinstance(error.__cause__, OSError) else OSError(error.message)
    return None


def trusted_servers() -> list[str]:
    """The servers that this user's file lists."""
    file = _file()
    try:
        found = json.loads(file.read_text("utf-8"))["servers"]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise Unavailable(f"{file} can't be read: {error.strerror}", hint="check its permissions") from error
    except (ValueError, KeyError, TypeError) as error:
        raise Corrupt(
            f"{file} can't be read: {error}", hint="mend or remove it; `ana trust` writes it again"
        ) from error
    return [name for name in found if isinstance(name, str)] if isinstance(found, list) else []


def _file() -> Path:
    home = os.environ.get("XDG_CONFIG_HOME")
    return Path(home or os.path.expanduser("~/.config")) / "anabranch" / "trusted.json"


def _write(names: Sequence[str]) -> None:
    """Write the list, all or nothing."""
    file = _file()
    draft = file.with_suffix(f".{os.getpid()}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(json.dumps({"servers": list(names)}, indent=2) + "\n", "utf-8")
        draft.replace(file)
    except OSError as error:
        raise Unavailable(f"{file} can't be written: {error.strerror}", hint="check its permissions") from error
