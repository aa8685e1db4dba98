"""Addresses of database servers: parse them, and hide the secrets in them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import parse_qsl, quote, unquote, urlencode

from anabranch.errors import InvalidRequest

_SCHEME = re.compile(r"[A-Za-z][\w+.-]*")
_SERVER = re.compile(r"\s*postgres(ql)?(\+\w*)?:", re.IGNORECASE)
_PLACE = re.compile(
    r"""(\[(?P<six>[^\]/?\#@\s]+)\] | (?P<host>[^:/?\#@\[\]\s]*)) (:(?P<port>\d*))?
        (/(?P<database>[^?\#@]*))? (\?(?P<query>.*))?""",
    re.VERBOSE,
)
_HINT = "write postgresql://user:password@host:port/database, with / ? # @ in a password as %2F %3F %23 %40"


def is_server(location: str) -> bool:
    """Tell whether a location is meant to be a database server rather than a folder."""
    return _SERVER.match(location) is not None


@dataclass(frozen=True)
class Address:
    """The location of a server, and the credentials for it."""

    scheme: str
    user: str | None
    password: str | None
    host: str
    port: int | None
    database: str
    query: tuple[tuple[str, str], ...] = ()

    @property
    def shown(self) -> str:
        """The form that messages show: with host and port, even if the query gave them."""
        return self._written(tuple(pair for pair in self.query if pair[0] in ("host", "port")))

    @property
    def kept(self) -> str:
        """The form that may be stored: everything but secrets."""
        return self._written(tuple(pair for pair in self.query if not _is_secret(pair[0])))

    @property
    def has_secrets(self) -> bool:
        return bool(self.password) or any(_is_secret(name) for name, _ in self.query)

    def _written(self, query: tuple[tuple[str, str], ...]) -> str:
        account = "" if self.user is None else f"{quote(self.user, safe='')}@"
        port = "" if self.port is None else f":{self.port}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        more = f"?{urlencode(query, safe='/')}" if query else ""
        return f"{self.scheme}://{account}{host}{port}{self.database and '/'}{self.database}{more}"


def read_address(text: str) -> Address:
    """Parse the address of a server. Errors never repeat the text, which may hold a password."""
    scheme, separator, rest = text.strip().partition("://")
    if not is_server(text):
        raise InvalidRequest(f"a store can't lie at {shown_location(text)}", hint="give a folder, or postgresql://…")
    if not separator:
        raise InvalidRequest("that URL does not name a catalogue", hint=_HINT)
    readings = [(account, _PLACE.fullmatch(place)) for account, place in _halves(rest)]
    found = [(account, place) for account, place in readings if place is not None]
    if len(found) != 1:
        raise InvalidRequest("that URL does not name a catalogue", hint=_HINT)
    return _address(scheme.lower(), *found[0])


def _address(scheme: str, account: str | None, place: re.Match[str]) -> Address:
    user, colon, password = (account or "").partition(":")
    return Address(
        scheme,
        None if account is None else unquote(user),
        unquote(password) if colon else None,
        place["six"] or place["host"] or "",
        int(place["port"]) if place["port"] else None,
        place["database"] or "",
        tuple(parse_qsl(place["query"] or "", keep_blank_values=True)),
    )


def _halves(rest: str) -> list[tuple[str | None, str]]:
    """The possible splits into account and place: at the last @ before the path, else nowhere or at any @."""
    authority = re.split("[/?#]", rest, maxsplit=1)[0]
    if "@" in authority:
        at = authority.rindex("@")
        return [(rest[:at], rest[at + 1 :])]
    ends = [at.start() for at in re.finditer("@", rest)] if ":" in authority else []
    return [(None, rest), *((rest[:at], rest[at + 1 :]) for at in ends)]


_WRITTEN = re.compile(r"\b[A-Za-z][\w+.-]*(?:[:;]?/{1,3}(?=\S*[@=])|[:;](?=[^\s/@]*:\S*@)|:/{1,3})\S*")
_ACCOUNT = re.compile(r"(?P<user>[^\s:/@]*):\S*@")
_ASKED = re.compile(r"(?P<name>[^?&;=\s]+)=")
_VALUE = re.compile(r"[^&\s'\"]*")


def masked(text: str) -> str:
    """Hide the secrets of all addresses in a text; when in doubt, hide more."""
    return _WRITTEN.sub(_hidden, text) if ":/" in text or "@" in text or "=" in text else text


def shown_location(location: str) -> str:
    """A store's location as messages show it; it may be a mistyped address that holds a password."""
    scheme, separator, _ = location.partition("://")
    if separator and _SCHEME.fullmatch(scheme.strip()):
        return f"{scheme.strip()}://…"
    if separator or is_server(location):
        return "that address"
    return re.sub(r"(^|/)([^/:@]*):.*@", r"\1\2:***@", location)


_MISTYPED = re.compile(
    r"\s*(\w*sql\w*|postgres\w*|pg|s3[an]?|(web)?hdfs|https?|file|ftp|ssh|gc?s|wasbs?|abfss?|jdbc)(\+\w*)?[:;]?(:|//)",
    re.IGNORECASE,
)
"""What an address begins with, with or without its colon; a folder may be called so, but not like that."""


def is_mistyped(location: str) -> bool:
    """Whether a location that is no address was meant to be one: as a folder's name it could show a password."""
    if _MISTYPED.match(location) or re.search("[^/:@]*:.*@", location):
        return True
    return any(_is_secret(unquote(asked["name"])) for asked in _ASKED.finditer(location.partition("?")[2]))


def _hidden(found: re.Match[str]) -> str:
    scheme, slashes, rest = re.split("([:;]?/+|[:;])", found[0], maxsplit=1)
    rest = _ACCOUNT.sub(lambda account: f"{account['user']}:***@", rest, count=1)
    return f"{scheme}{slashes}{_without_values(rest)}"


def _without_values(text: str) -> str:
    """Hide the values of secret parameters."""
    for asked in _ASKED.finditer(text):
        if _is_secret(unquote(asked["name"])):
            rest = _VALUE.sub("***", text[asked.end() :], count=1)
            return f"{text[: asked.end()]}***{_without_values(rest.removeprefix('***'))}"
    return text


def _is_secret(name: str) -> bool:
    return any(word in name.lower() for word in ("passw", "secret", "token"))
