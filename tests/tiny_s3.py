"""A tiny S3 server in this process, for what no good server does: it ignores conditions and keys, and fails on demand.

It holds everything in memory, counts requests, and asks `before` and `after` of each what should become of it."""

from __future__ import annotations

import hashlib
import threading
from collections import Counter
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, unquote, urlsplit
from xml.etree import ElementTree
from xml.sax.saxutils import escape

WHEN = "2026-01-01T00:00:00.000Z"


class TinyS3:
    """One bucket, `tests`."""

    def __init__(self) -> None:
        self.blobs: dict[str, bytes] = {}
        self.requests: Counter[str] = Counter()
        self.sent_bytes = 0
        """What clients uploaded."""
        self.before: Callable[[str, str], int | None] = lambda method, name: None
        """Gives a status to answer with instead."""
        self.after: Callable[[str, str], None] = lambda method, name: None
        self._server = _Server(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def root(self, prefix: str = "p") -> str:
        return f"s3://tests/{prefix}?endpoint=http://127.0.0.1:{self._server.server_address[1]}"

    def objects(self) -> list[str]:
        return sorted(name for name in self.blobs if name.endswith((".parquet", ".pack")))


class _Server(ThreadingHTTPServer):
    def handle_error(self, *_: Any) -> None:
        """A client that was killed is no error of ours."""


def _handler(tiny: TinyS3) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

        def _answer(self) -> None:
            parts = urlsplit(self.path)
            name = unquote(parts.path).removeprefix("/tests").lstrip("/")
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            tiny.requests[self.command] += 1
            status = tiny.before(self.command, name)
            if status is not None:
                self._send(status)
                return
            self._do(name, parse_qs(parts.query, keep_blank_values=True), body)
            tiny.after(self.command, name)

        do_GET = do_PUT = do_HEAD = do_DELETE = do_POST = _answer

        def _do(self, name: str, query: dict[str, list[str]], body: bytes) -> None:
            if "list-type" in query:
                self._send(200, _listing(tiny.blobs, query.get("prefix", [""])[0]))
            elif "delete" in query:
                keys = [found.text or "" for found in ElementTree.fromstring(body).iter() if found.tag.endswith("Key")]
                for key in keys:
                    tiny.blobs.pop(key, None)
                deleted = "".join(f"<Deleted><Key>{escape(key)}</Key></Deleted>" for key in keys)
                self._send(200, f"<DeleteResult>{deleted}</DeleteResult>".encode())
            elif self.command == "PUT":
                tiny.blobs[name] = body
                tiny.sent_bytes += len(body)
                self._send(200)
            elif self.command == "DELETE":
                tiny.blobs.pop(name, None)
                self._send(204)
            elif name not in tiny.blobs:
                self._send(404, b"<Error><Code>NoSuchKey</Code></Error>")
            else:
                self._send(200, tiny.blobs[name])

        def _send(self, status: int, body: bytes = b"") -> None:
            wanted = self.headers.get("Range", "").removeprefix("bytes=")
            whole = len(body)
            if wanted and status == 200:
                first, _, last = wanted.partition("-")
                body, status = body[int(first) : int(last) + 1], 206
            self.send_response(status)
            self.send_header("ETag", f'"{hashlib.md5(body).hexdigest()}"')
            self.send_header("Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT")
            if status == 206:
                first = wanted.partition("-")[0]
                self.send_header("Content-Range", f"bytes {first}-{int(first) + len(body) - 1}/{whole}")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

    return Handler


def _listing(blobs: dict[str, bytes], prefix: str) -> bytes:
    found = "".join(
        f"<Contents><Key>{escape(name)}</Key><Size>{len(content)}</Size><ETag>x</ETag>"
        f"<LastModified>{WHEN}</LastModified></Contents>"
        for name, content in sorted(blobs.items())
        if name.startswith(prefix)
    )
    return f"<ListBucketResult><IsTruncated>false</IsTruncated>{found}</ListBucketResult>".encode()
