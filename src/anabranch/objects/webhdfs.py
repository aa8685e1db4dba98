"""HDFS by its HTTP interface (WebHDFS), which needs neither Java nor Hadoop in this process."""

from __future__ import annotations

import getpass
import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import quote, urlencode

from anabranch.errors import InvalidRequest, Unavailable, install_hint
from anabranch.model.ids import new_id
from anabranch.model.object_urls import ObjectUrl
from anabranch.objects import found_files
from anabranch.objects.blobs import Blob
from anabranch.objects.workplaces import Workplace
from anabranch.settings import BUCKET_RETRIES, HDFS_TIMEOUT_SECONDS, RANGE_BYTES

try:
    import urllib3
    from urllib3.exceptions import HTTPError
except ImportError as error:
    raise Unavailable("urllib3 is not installed, which reads HDFS", hint=install_hint("hdfs")) from error

_HTTP_PORT = 9870
_ONCE = urllib3.Retry(0, redirect=False, raise_on_status=False)
"""urllib3 would log each attempt with its address; we retry ourselves."""


class WebHdfs:
    """Files below a folder of HDFS."""

    def __init__(self, url: ObjectUrl) -> None:
        self._url, self.where = url, url.text
        self._user = url.option("user") or os.environ.get("HADOOP_USER_NAME") or getpass.getuser()
        http = url.option("http") or f"{url.host.partition(':')[0]}:{_HTTP_PORT}"
        self._base = f"{http if '://' in http else f'http://{http}'}/webhdfs/v1"
        self._pool = urllib3.PoolManager(timeout=HDFS_TIMEOUT_SECONDS, retries=_ONCE, maxsize=16)

    def put(self, name: str, content: bytes | Iterable[bytes]) -> None:
        """Write under another name, then rename: files are visible while they are written.

        A rename never overwrites, so a file that is put again is missing for a moment.
        """
        with self._written(name, content) as temporary:
            if not self._renamed(temporary, name):
                self._delete(name, recursive=False)
                if not self._renamed(temporary, name):
                    raise Unavailable(f"{self.where} can't be written: a rename was refused", hint=_HINT)

    def create(self, name: str, content: bytes) -> None:
        """Write under another name, and rename if there is nothing yet, which the name node decides."""
        with self._written(name, content) as temporary:
            self._renamed(temporary, name)

    def read(self, name: str) -> Iterator[bytes]:
        """Read in pieces."""
        found = self._reply("GET", self._at_data_node("GET", name, "OPEN"), stream=True)
        try:
            yield from found.stream(RANGE_BYTES)
        except HTTPError as error:
            raise self._unavailable("read", error) from None
        finally:
            found.release_conn()

    def read_range(self, name: str, start: int, size: int) -> bytes:
        """Read a range."""
        if not size:
            return b""
        place = self._at_data_node("GET", name, "OPEN", offset=start, length=size)
        return bytes(self._reply("GET", place).data)

    def size(self, name: str) -> int:
        """Ask the name node for the size."""
        return int(self._ask("GET", name, "GETFILESTATUS")["FileStatus"]["length"])

    def below(self, folder: str) -> Iterator[Blob]:
        """List a folder and those in it; empty if it is missing."""
        try:
            described = self._ask("GET", folder, "LISTSTATUS")["FileStatuses"]["FileStatus"]
        except FileNotFoundError:
            return
        for found in described:
            if not found["pathSuffix"]:  # the folder is a file
                return
            name = f"{folder}/{found['pathSuffix']}" if folder else found["pathSuffix"]
            if found["type"] == "DIRECTORY":
                yield from self.below(name)
            else:
                yield Blob(name, found["length"], found["modificationTime"] * 1000)

    def delete(self, names: Iterable[str]) -> None:
        """Remove files, and then-empty folders of prefixes."""
        above = set()
        for name in names:
            self._delete(name, recursive=True)
            above.add(name.rpartition("/")[0])
        for folder in above:
            if folder.count("/") == 1:
                self._delete(folder, recursive=False)

    def address(self, name: str) -> str:
        """The address for Spark's own HDFS client."""
        return f"hdfs://{self._url.host}/{self._url.path and f'{self._url.path}/'}{name}"

    def spark_options(self) -> Mapping[str, str]:
        """None needed: the address says all."""
        return {}

    def workplace(self, folder: str) -> Workplace:
        """Refuse: there is no HDFS client for executors that needs only pyarrow."""
        hint = "keep the objects of this repository in a folder that executors see, or on S3"
        raise InvalidRequest(f"jobs can't work below {self.where}: executors need a folder or S3", hint=hint)

    @contextmanager
    def _written(self, name: str, content: bytes | Iterable[bytes]) -> Iterator[str]:
        """Write a file under another name, removed afterwards; for an object, gc recognises it by the object's name."""
        own = found_files.own_name(name)
        temporary = f"{name.partition('.')[0]}.tmp" if own else f"{name}.{new_id('o')}.tmp"
        try:
            self._write(temporary, content)
            yield temporary
        finally:
            with suppress(Unavailable):
                self._delete(temporary, recursive=False)

    def _write(self, name: str, content: bytes | Iterable[bytes]) -> None:
        place = self._at_data_node("PUT", name, "CREATE", overwrite="true")
        body: Any = content if isinstance(content, bytes) else iter(content)
        reply = self._send("PUT", place, body=body, headers={"Content-Type": "application/octet-stream"})
        self._check(reply, "written")

    def _renamed(self, name: str, final: str) -> bool:
        described = self._ask("PUT", name, "RENAME", destination=f"/{self._path(final)}")
        return bool(described["boolean"])

    def _delete(self, name: str, *, recursive: bool) -> None:
        reply = self._send("DELETE", self._link(name, "DELETE", recursive=str(recursive).lower()))
        if recursive:
            self._check(reply, "removed")

    def _at_data_node(self, method: str, name: str, op: str, **more: Any) -> str:
        """The data node's address that the name node sends us to."""
        described = self._ask(method, name, op, noredirect="true", **more)
        return str(described["Location"])

    def _ask(self, method: str, name: str, op: str, **more: Any) -> Any:
        reply = self._check(self._send(method, self._link(name, op, **more)), "reached")
        try:
            return json.loads(reply.data)
        except ValueError:
            raise Unavailable(f"{self.where} can't be reached: its answer is no JSON", hint=_HINT) from None

    def _reply(self, method: str, link: str, *, stream: bool = False) -> Any:
        return self._check(self._send(method, link, preload_content=not stream), "read")

    def _send(self, method: str, link: str, **more: Any) -> Any:
        tries = BUCKET_RETRIES if isinstance(more.get("body", b""), bytes) else 1
        for attempt in range(1, tries + 1):
            try:
                return self._pool.request(method, link, redirect=False, **more)
            except HTTPError as error:
                if attempt == tries:
                    raise self._unavailable("reached", error) from None
                time.sleep(_PAUSE_SECONDS * attempt)

    def _check(self, reply: Any, what: str) -> Any:
        """Turn error statuses into exceptions."""
        if reply.status < 300:
            return reply
        if reply.status == _MISSING:
            raise FileNotFoundError(self.where)
        kind = _exception(reply)
        # The server also answers 403 if no data node is up yet, or a file is being written.
        is_denied = reply.status == 401 or kind in _DENIALS
        reason = "access denied" if is_denied else f"the server answered {reply.status}"
        raise Unavailable(f"{self.where} can't be {what}: {reason} ({kind})", hint=_HINT)

    def _unavailable(self, what: str, error: HTTPError) -> Unavailable:
        return Unavailable(f"{self.where} can't be {what}: {type(error).__name__}", hint=_HINT)

    def _path(self, name: str) -> str:
        return f"{self._url.path}/{name}".strip("/")

    def _link(self, name: str, op: str, **more: Any) -> str:
        query = urlencode({"op": op, "user.name": self._user, **more})
        return f"{self._base}/{quote(self._path(name))}?{query}"


_MISSING = 404
_PAUSE_SECONDS = 0.2
_DENIALS = ("AccessControlException", "SecurityException", "AuthorizationException")
_HINT = "check the address (http= names the port of WebHDFS, usually 9870), the user and the network"


def _exception(reply: Any) -> str:
    """Hadoop's class name of the error."""
    try:
        return str(json.loads(reply.data)["RemoteException"]["exception"])
    except (ValueError, KeyError, TypeError):
        return "no reason given"
