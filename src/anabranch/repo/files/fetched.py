"""Fetches URLs: only from origins that the settings name, never from a private network.

Every redirect is checked again, and the connection goes to the very address that was checked, not to the name.
"""

from __future__ import annotations

import http.client
import ipaddress
import socket
import ssl
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from urllib.parse import SplitResult, urljoin, urlsplit

from anabranch.errors import InvalidRequest, NotFound, Unavailable
from anabranch.model.addresses import masked
from anabranch.settings import FETCH_TIMEOUT_SECONDS, Settings

_PORTS = {"http": 80, "https": 443}
_REDIRECTS = 5


@dataclass(frozen=True)
class Fetched:
    """A server's response: the bytes as a stream, and their media type."""

    stream: _Bounded
    media_type: str | None


@contextmanager
def fetching(url: str, settings: Settings) -> Iterator[Fetched]:
    """Open a URL; refused before anything is sent unless the settings name its origin."""
    at = url
    for _ in range(_REDIRECTS + 1):
        with closing(_connected(_checked(at, settings), settings)) as connection:
            answer = _asked(connection, urlsplit(at), at)
            if answer.status not in (301, 302, 303, 307, 308):
                yield Fetched(_read(answer, at, settings), answer.headers.get_content_type())
                return
            at = urljoin(at, answer.headers.get("Location", ""))
    raise Unavailable(f"{masked(url)} leads on and on", hint="give the address that it ends at")


def _checked(url: str, settings: Settings) -> SplitResult:
    """Refuse a scheme or host that the settings don't name."""
    try:
        found = urlsplit(url)
        place = f"{found.scheme}://{found.hostname}:{found.port or _PORTS.get(found.scheme)}"
    except ValueError as error:
        raise InvalidRequest(f"{masked(url)!r} is no URL: {error}", hint="such as https://example.com/a.csv") from error
    if found.scheme not in _PORTS or not found.hostname:
        raise InvalidRequest(f"{masked(url)!r} can't be fetched", hint="give a URL with http:// or https://")
    if found.username or found.password:
        raise InvalidRequest(f"{masked(url)!r} has a password in it", hint="fetch it yourself, then put the file")
    if place not in {_place(text) for text in settings.files.url_allow}:
        hint = f"let Settings(files=FileSettings(url_allow=…)), or `ana config --global url_allow`, name {found.scheme}://{found.netloc}"
        raise InvalidRequest(f"{found.scheme}://{found.netloc} is no place to fetch from", hint=hint, url=masked(url))
    return found


def _place(text: str) -> str:
    found = urlsplit(text)
    if found.scheme not in _PORTS or not found.hostname or found.path.strip("/") or found.query:
        hint = "name scheme and host only, such as https://example.com"
        raise InvalidRequest(f"url_allow names {text!r}, which is no place", hint=hint)
    return f"{found.scheme}://{found.hostname}:{found.port or _PORTS[found.scheme]}"


def _connected(url: SplitResult, settings: Settings) -> http.client.HTTPConnection:
    """Connect to an address, unless it is private; a private one is fine if the URL gives it by number."""
    assert url.hostname is not None
    port = url.port or _PORTS[url.scheme]
    connection = http.client.HTTPConnection(url.hostname, port, timeout=FETCH_TIMEOUT_SECONDS)
    try:
        found = [info[4][0] for info in socket.getaddrinfo(url.hostname, port, type=socket.SOCK_STREAM)]
        for address in found:
            _refuse_private(str(address), url.hostname)
        plain = socket.create_connection((str(found[0]), port), FETCH_TIMEOUT_SECONDS)
        wrapped = ssl.create_default_context().wrap_socket if url.scheme == "https" else None
        connection.sock = wrapped(plain, server_hostname=url.hostname) if wrapped else plain
    except OSError as error:
        hint = "check the address, and whether this machine reaches it"
        raise Unavailable(f"{url.scheme}://{url.netloc} can't be reached: {error}", hint=hint) from error
    return connection


def _refuse_private(address: str, host: str) -> None:
    at = ipaddress.ip_address(address.partition("%")[0])
    inner = getattr(at, "ipv4_mapped", None) or at
    if not inner.is_global and address != host:
        hint = "fetch it yourself, then put the file"
        raise InvalidRequest(f"{host} is {address}, an address of a private network", hint=hint)


def _asked(connection: http.client.HTTPConnection, url: SplitResult, at: str) -> http.client.HTTPResponse:
    target = (url.path or "/") + (f"?{url.query}" if url.query else "")
    try:
        connection.request("GET", target, headers={"User-Agent": "anabranch", "Accept-Encoding": "identity"})
        return connection.getresponse()
    except (OSError, http.client.HTTPException, UnicodeError) as error:
        raise Unavailable(f"{masked(at)} gave no answer: {error}", hint="try again later") from error


def _read(answer: http.client.HTTPResponse, at: str, settings: Settings) -> _Bounded:
    if answer.status in (404, 410):
        raise NotFound(f"there is nothing at {masked(at)}", hint="check the address")
    if answer.status != 200:
        raise Unavailable(f"{masked(at)} answered {answer.status} {answer.reason}", hint="try again later")
    if (answer.length or 0) > settings.files.url_limit_bytes:
        raise _too_large(at, settings.files.url_limit_bytes)
    return _Bounded(answer, at, settings.files.url_limit_bytes)


def _too_large(at: str, limit: int) -> InvalidRequest:
    return InvalidRequest(
        f"{masked(at)} has more than {limit:,} bytes",
        hint="let Settings(files=FileSettings(url_limit_bytes=…)) allow it",
    )


class _Bounded:
    """A stream that raises an error if it returns more bytes than allowed, or fewer than announced."""

    def __init__(self, answer: http.client.HTTPResponse, at: str, limit: int) -> None:
        self._answer, self._at, self._limit, self._left = answer, at, limit, limit

    def read(self, size: int = -1) -> bytes:
        try:
            found = self._answer.read(self._left + 1 if size < 0 else size)
        except (OSError, http.client.HTTPException) as error:
            raise Unavailable(f"{masked(self._at)} broke off: {error}", hint="try again") from error
        self._left -= len(found)
        if self._left < 0:
            raise _too_large(self._at, self._limit)
        if not found and size and self._answer.length:
            raise Unavailable(f"{masked(self._at)} broke off before its end", hint="try again")
        return found
