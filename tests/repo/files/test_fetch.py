"""Files from URLs: real servers on this machine, and what is refused before anything is sent."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

import anabranch as ab
from anabranch.settings import FileSettings, Settings


class Pages(BaseHTTPRequestHandler):
    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        if self.path.startswith("/to/"):
            self.send_response(302)
            self.send_header("Location", self.path.removeprefix("/to/"))
            self.end_headers()
        elif self.path == "/gone":
            self.send_error(404)
        else:
            content = b"x" * (2000 if self.path == "/large" else 5)
            self.send_response(200)
            self.send_header("Content-Type", "text/csv")
            self.send_header("Content-Length", str(50 if self.path == "/cut" else len(content)))
            self.end_headers()
            self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        return None


@pytest.fixture
def server() -> Iterator[str]:
    Pages.asked = []
    with ThreadingHTTPServer(("127.0.0.1", 0), Pages) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()


def opened(tmp_path: Path, *allowed: str, limit: int = 1000) -> ab.Repository:
    return ab.init(tmp_path / "store", settings=Settings(files=FileSettings(url_allow=allowed, url_limit_bytes=limit)))


def test_a_file_is_fetched_from_a_place_that_is_named_also_by_a_redirect(tmp_path: Path, server: str) -> None:
    repo = opened(tmp_path, server)
    with repo.commit("main", "fetched") as tx:
        tx.files.fetch("a.csv", f"{server}/a")
        tx.files.fetch("b.csv", f"{server}/to//a")
    assert repo.files().read("b.csv") == b"xxxxx"
    assert repo.files().stat("a.csv").media_type == "text/csv"


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("/gone", "there is nothing at"),
        ("/large", "more than 1,000 bytes"),
        ("/cut", "broke off"),
        ("/to/http://example.org/", "no place to fetch from"),
        ("/to/file:///etc/passwd", "can't be fetched"),
        ("/to/" * 9, "leads on and on"),
    ],
)
def test_what_a_server_may_not_do_leaves_nothing(tmp_path: Path, server: str, path: str, says: str) -> None:
    repo = opened(tmp_path, server)
    with pytest.raises(ab.AnabranchError, match=says), repo.commit("main", "x") as tx:
        tx.files.fetch("a", server + path)
    assert repo.files().count() == 0


def test_nothing_is_asked_of_places_that_are_not_named_or_are_private(tmp_path: Path, server: str) -> None:
    port = server.rpartition(":")[2]
    repo = opened(tmp_path, f"http://localhost:{port}", "https://example.com")
    urls = {
        f"{server}/a": "no place to fetch from",
        f"http://localhost:{port}/a": "an address of a private network",
        "http://example.com/a": "no place to fetch from",
        "https://user:secret@example.com/a": "has a password in it",
        "ftp://example.com/a": "can't be fetched",
        "https://[::1": "is no URL",
    }
    with repo.commit("main", "x") as tx:
        for url, says in urls.items():
            with pytest.raises(ab.InvalidRequest, match=says) as caught:
                tx.files.fetch("a", url)
            assert "secret" not in str(caught.value)
    assert Pages.asked == []
