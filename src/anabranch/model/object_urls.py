"""Addresses of object roots, `s3://bucket/prefix?region=…`: read once, kept and shown without secrets."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote, urlencode

from anabranch.errors import InvalidRequest

_URL = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]*)://(?P<host>[^/?#]*)(?P<path>/[^?#]*)?(\?(?P<query>[^#]*))?", re.I)
_FORMS = {
    "s3": ("s3://bucket/prefix?endpoint=http://host:9000&region=eu-central-1", ("endpoint", "region")),
    "hdfs": ("hdfs://namenode:8020/folder?http=namenode:9870&user=ann", ("http", "user")),
}
_CHAIN = {
    "s3": "give keys in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile in AWS_PROFILE",
    "hdfs": "give the user's name as ?user=, or in HADOOP_USER_NAME",
}
SCHEMES = tuple(_FORMS)


@dataclass(frozen=True)
class ObjectUrl:
    """Where an object root lies."""

    scheme: str
    host: str
    """The bucket, or the server with its port."""
    path: str
    """The path below the host, without slashes at either end."""
    options: tuple[tuple[str, str], ...] = ()

    def option(self, name: str) -> str | None:
        """What an option is set to."""
        return dict(self.options).get(name)

    @property
    def text(self) -> str:
        """The form that is stored and shown; it holds no secrets."""
        query = f"?{urlencode(self.options, safe=':/')}" if self.options else ""
        return f"{self.scheme}://{self.host}{self.path and '/'}{self.path}{query}"

    def below(self, folder: str) -> ObjectUrl:
        """The address of a folder below this one."""
        path = f"{self.path}/{folder}" if self.path else folder
        return ObjectUrl(self.scheme, self.host, path, self.options)


def is_object_url(location: str) -> bool:
    """Tell whether a location is an address that objects may lie at, rather than a folder."""
    return location.split("://", 1)[0].lower() in SCHEMES if "://" in location else False


def read_object_url(text: str) -> ObjectUrl:
    """Parse an address. Errors never repeat it, since it may hold a secret."""
    found = _URL.fullmatch(text.strip())
    scheme = text.strip().split("://", 1)[0].lower()
    if scheme not in _FORMS:
        hint = f"give a folder, or {' or '.join(form for form, _ in _FORMS.values())}"
        raise InvalidRequest(f"an object root can't lie at {_shown(scheme)}", hint=hint)
    form, names = _FORMS[scheme]
    if found is None or not found["host"]:
        raise InvalidRequest(f"that {scheme} address can't be read", hint=f"write {form}")
    if "@" in found["host"]:
        raise InvalidRequest(f"an {scheme} address may hold no account or key", hint=_CHAIN[scheme])
    options = tuple(sorted(parse_qsl(found["query"] or "", keep_blank_values=True)))
    for name, _ in options:
        if name not in names:
            hint = f"it may have {', '.join(names)}; {_CHAIN[scheme]}"
            raise InvalidRequest(f"an {scheme} address has no option {name[:40]!r}", hint=hint)
    path = unquote(found["path"] or "").strip("/")
    if any(part in ("", ".", "..") for part in path.split("/")) and path:
        raise InvalidRequest(f"the folder of an {scheme} address has an empty part, . or ..", hint=f"write {form}")
    _check_servers(scheme, found["host"], dict(options))
    return ObjectUrl(scheme, found["host"], path, options)


def _check_servers(scheme: str, host: str, options: dict[str, str]) -> None:
    """Refuse what would lead to another server than it seems: clients put these texts into addresses of their own."""
    endpoint, region, http = (options.get(name) for name in ("endpoint", "region", "http"))
    if endpoint is not None and not re.fullmatch(r"https?://[^/?#@\\\s]+/?", endpoint):
        raise InvalidRequest("endpoint= can't be read", hint="write endpoint=https://host:port, without any account")
    if region and not re.fullmatch(r"[A-Za-z0-9_-]+", region):
        raise InvalidRequest("region= can't be read", hint="write it as in region=eu-central-1")
    if http is not None and not re.fullmatch(r"(https?://)?[^/?#@\\\s]+/?", http):
        raise InvalidRequest("http= can't be read", hint="write http=host:port, without any account")
    if scheme == "s3" and not re.fullmatch(r"[A-Za-z0-9._-]+", host):
        raise InvalidRequest("an s3 address has a bucket that none can be", hint=f"write {_FORMS['s3'][0]}")


def _shown(scheme: str) -> str:
    return f"{scheme}://…" if re.fullmatch(r"[a-z][a-z0-9+.-]*", scheme) else "that address"
