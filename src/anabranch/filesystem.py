"""`ana://repository@ref/path` for fsspec, so that pandas, pyarrow and DuckDB read versioned files by address.

The only module that knows fsspec. Polars resolves addresses by itself and asks no fsspec: it reads what is opened
here. Writes go into one commit: `with fs.transaction`.
"""

from __future__ import annotations

import io
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, unquote

from fsspec.spec import AbstractFileSystem
from fsspec.transaction import Transaction as FsspecTransaction

from anabranch.errors import AlreadyExists, AnabranchError, InvalidRequest, NotFound
from anabranch.model.files import FileStat
from anabranch.repo.files.tree import FileTree
from anabranch.repo.repository import Repository
from anabranch.repo.stores import Options, open_

__all__ = ["AnabranchFileSystem"]


class _OneCommit(FsspecTransaction):  # type: ignore[misc]
    """What is written inside `with fs.transaction` becomes one commit."""

    files: Any
    fs: Any

    def complete(self, commit: bool = True) -> None:
        files, self.files = list(self.files), type(self.files)()
        if commit and files:
            self.fs._publish(files)
        self.fs._intrans = False
        self.fs._transaction = None
        self.fs = None


class AnabranchFileSystem(AbstractFileSystem):  # type: ignore[misc]
    """The files of a store's repositories; a slash in a ref is written `%2F`."""

    protocol = "ana"
    transaction_type = _OneCommit
    cachable = False

    def __init__(self, store: str = ".", message: str = "written through fsspec", **options: Any) -> None:
        super().__init__(**options)
        self._store, self._message = store, message
        self._repositories: dict[str, Repository] = {}

    # --- addresses ---

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        if isinstance(path, list):
            return [cls._strip_protocol(p) for p in path]
        return str(path).removeprefix("ana://").rstrip("/")

    def _split(self, path: str) -> tuple[str, str | None, str]:
        """The repository, the ref and the path that an address names."""
        head, _, rest = self._strip_protocol(path).partition("/")
        repository, _, ref = head.partition("@")
        return repository, unquote(ref) or None, rest

    def _repository(self, name: str) -> Repository:
        if name not in self._repositories:
            try:
                self._repositories[name] = Repository(open_(self._store, name or None, Options()))
            except NotFound as error:
                error.hint = f"{error.hint}; store= (of pandas: storage_options={{'store': …}}) names a store elsewhere"
                raise
        return self._repositories[name]

    def _find(self, path: str) -> tuple[FileTree, str, str]:
        """The tree, the path in it, and the part of the address before the path."""
        repository, ref, rest = self._split(path)
        with _as_os_errors(path):
            tree = self._repository(repository).files(ref)
        return tree, rest, f"{repository}@{quote(ref, safe='')}" if ref else repository

    # --- reading ---

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        """Return name, size and kind of a file or folder."""
        tree, rest, lead = self._find(path)
        with _as_os_errors(path):
            return (
                _listing_entry(tree.stat(rest), lead) if rest else _listing_entry(FileStat("", 0, is_folder=True), lead)
            )

    def ls(self, path: str, detail: bool = True, **_: Any) -> list[Any]:
        """List a folder; for a file, just the file."""
        tree, rest, lead = self._find(path)
        with _as_os_errors(path):
            if rest and rest in tree:
                found = [_listing_entry(tree.stat(rest), lead)]
            else:
                found = [_listing_entry(stat, lead) for stat in tree.list(rest)]
        return found if detail else [f["name"] for f in found]

    def modified(self, path: str) -> datetime:
        """When a file was written; DuckDB asks before it reads."""
        found = self.info(path).get("mtime")
        return found or datetime.fromtimestamp(0, UTC)

    created = modified

    def _open(self, path: str, mode: str = "rb", **_: Any) -> Any:
        if mode == "rb":
            tree, rest, _lead = self._find(path)
            with _as_os_errors(path):
                return tree.open(rest)
        if mode not in ("wb", "ab", "xb"):
            raise InvalidRequest(f"mode {mode!r} is unknown", hint="choose rb, wb or ab")
        if not self._intrans:
            hint = "write inside `with fs.transaction:`, which becomes one commit"
            raise InvalidRequest(f"{path} can't be written outside a transaction", hint=hint)
        return _Written(path, mode)

    def _publish(self, files: list[_Written]) -> None:
        """Publish all that was written, as one commit on each branch."""
        places: dict[tuple[str, str | None], list[tuple[str, _Written]]] = {}
        for file in files:
            repository, ref, rest = self._split(file.path)
            places.setdefault((repository, ref), []).append((rest, file))
        for (repository, ref), written in places.items():
            with self._repository(repository).commit(ref, self._message) as tx:
                for rest, file in written:
                    (tx.files.append if file.appends else tx.files.put)(rest, file.getvalue())


class _Written(io.BytesIO):
    """A file being written; its bytes are kept until the transaction ends."""

    def __init__(self, path: str, mode: str) -> None:
        super().__init__()
        self.path, self.appends, self._content = path, mode == "ab", b""

    def close(self) -> None:
        if not self.closed:
            self._content = super().getvalue()
        super().close()

    def getvalue(self) -> bytes:
        return self._content if self.closed else super().getvalue()

    def commit(self) -> None:
        """Do nothing: the transaction publishes all files at once."""

    def discard(self) -> None:
        """Do nothing: nothing was written anywhere."""


class _as_os_errors:
    """A block that turns our errors into those that callers of a file system expect."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, _kind: Any, error: BaseException | None, _trace: Any) -> None:
        if isinstance(error, NotFound):
            raise FileNotFoundError(f"{self._path}: {error}") from error
        if isinstance(error, AlreadyExists):
            raise FileExistsError(f"{self._path}: {error}") from error
        if isinstance(error, AnabranchError):
            raise error


def _listing_entry(stat: FileStat, lead: str) -> dict[str, Any]:
    name = f"{lead}/{stat.path}".rstrip("/")
    kind = "directory" if stat.is_folder else "file"
    return {"name": name, "size": stat.size, "type": kind, "mtime": stat.written_at, "sha256": stat.sha256}
