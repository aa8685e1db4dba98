"""What the command line remembers in `.anabranch/cli.json`: repository, current branches, a server's address, settings.

Never a password."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from anabranch.errors import Corrupt, InvalidRequest, NotFound, Unavailable
from anabranch.model.addresses import is_server, read_address
from anabranch.model.store_folder import CATALOG, FOLDER, REMEMBERED, is_there

FILE = REMEMBERED
_AGAIN = "remove it; `ana switch` writes it again"


@dataclass(frozen=True)
class State:
    """The content of cli.json."""

    repository: str | None = None
    branches: dict[str, str] = field(default_factory=dict)
    """The current branch of each repository."""
    store: str | None = None
    """The address of a store on a server, without a password; None for the store in this folder."""
    preferences: dict[str, str] = field(default_factory=dict)
    """What `ana config` chose for this folder."""
    previous: dict[str, str] = field(default_factory=dict)
    """The branch of each repository that was current before the current one."""

    def on_branch(self, repository: str, branch: str, left: str | None = None) -> State:
        """The state after switching to a branch from another."""
        previous = {**self.previous, repository: left} if left and left != branch else self.previous
        return replace(self, branches={**self.branches, repository: branch}, previous=previous)


@dataclass(frozen=True)
class StorePlace:
    """A store, and the folder that remembers how it is used, if any."""

    store: str
    folder: Path | None
    state: State
    named_by_folder: bool = False
    """Whether the store is a server that only the folder names, which may be a stranger's."""


def load(folder: Path) -> State:
    """Read the remembered state; empty if there is no file."""
    file = folder / FOLDER / FILE
    document = read_document(file, _AGAIN)
    try:
        branches, preferences = dict(document.get("branches") or {}), texts(document.get("config") or {})
        previous = texts(document.get("previous") or {})
    except (ValueError, TypeError, AttributeError) as error:
        raise Corrupt(f"{file} can't be read: {error}", hint=_AGAIN) from error
    return State(document.get("repository"), branches, _server_of(document, folder), preferences, previous)


def _server_of(document: dict[str, Any], folder: Path) -> str | None:
    """The server that a folder is connected to. Refused if it is a path, or if the folder holds a store itself: nobody
    writes that with good intentions."""
    store = document.get("store")
    if store is None:
        return None
    try:
        if isinstance(store, str) and read_address(store) and not is_there(folder, CATALOG):
            return store
    except InvalidRequest as error:
        raise Corrupt(f"{folder / FOLDER / FILE} names no server: {error.message}", hint=_AGAIN) from error
    raise Corrupt(f"{folder / FOLDER / FILE} names a server, and this folder is none's", hint=_AGAIN)


def save(folder: Path, state: State) -> None:
    """Write the state, all or nothing."""
    document = {
        "store": state.store,
        "repository": state.repository,
        "branches": state.branches,
        "previous": state.previous,
        "config": state.preferences,
    }
    write_document(folder / FOLDER / FILE, {k: v for k, v in document.items() if v})


def read_document(file: Path, hint: str) -> dict[str, Any]:
    """Read a small JSON file; empty if it does not exist."""
    try:
        document = json.loads(file.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise Corrupt(f"{file} can't be read: {error}", hint=hint) from error
    except OSError as error:
        raise Unavailable(f"{file} can't be read: {error.strerror}", hint="check its permissions") from error
    if not isinstance(document, dict):
        raise Corrupt(f"{file} can't be read: it holds no object", hint=hint)
    return document


def write_document(file: Path, document: Mapping[str, Any]) -> None:
    """Write a small JSON file, all or nothing."""
    draft = file.with_suffix(f".{os.getpid()}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(json.dumps(document, indent=2) + "\n", "utf-8")
        draft.replace(file)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise Unavailable(f"{file} can't be written: {error.strerror}", hint="check its permissions") from error


def texts(document: Mapping[str, Any]) -> dict[str, str]:
    """The parts of a document that are text; what others wrote beside them is ignored."""
    return {name: value for name, value in document.items() if isinstance(value, str)}


def find(store: str | None, start: Path) -> StorePlace:
    """Find the named store, or else that of this folder or the nearest parent."""
    if store is not None and (is_server(store) or "://" in store):
        return _server(store, start)
    if store is not None:
        folder = Path(store).expanduser()
        return _place(folder, load(folder))
    for folder in (start, *start.parents):
        if is_there(folder, CATALOG) or is_there(folder, FILE):
            return _place(folder, load(folder))
    raise NotFound(f"{start} is in no store", hint="make one with `ana init`, or name one with --store")


def _place(folder: Path, state: State) -> StorePlace:
    return StorePlace(state.store or str(folder), folder, state, named_by_folder=state.store is not None)


def _server(url: str, start: Path) -> StorePlace:
    """A named server; if this folder or a parent points to it, that one remembers the branch."""
    for folder in (start, *start.parents):
        if is_there(folder, FILE):
            state = load(folder)
            if state.store == read_address(url).kept:
                return StorePlace(url, folder, state)
    return StorePlace(url, None, State())
