"""What users set with `.option(…)`, checked before anything is read or written."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields

import anabranch as ab
from anabranch import InvalidRequest, Repository

_PART_SIZE_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True)
class SourceOptions:
    """The options of one read or write, under their own names."""

    store: str
    table: str
    repository: str | None = None
    author: str | None = None
    # Reading
    ref: str | None = None
    columns: tuple[str, ...] | None = None
    where: str | None = None
    part_bytes: int = _PART_SIZE_BYTES
    changes: bool = False
    since: str | None = None
    # Writing
    branch: str | None = None
    key: tuple[str, ...] = ()
    message: str | None = None
    write_id: str | None = None

    @classmethod
    def of(cls, given: Mapping[str, str]) -> SourceOptions:
        """Read the options that Spark passes; the path of `load` and `save` is the table."""
        options = {name.lower(): value for name, value in given.items()}
        if "path" in options:
            options["table"] = options.pop("path")
        known = [field.name for field in fields(cls)]
        unknown = sorted(options.keys() - set(known))
        if unknown:
            message = f"format('anabranch') has no option {unknown[0]!r}"
            raise InvalidRequest(message, hint=f"its options are {', '.join(known)}")
        _require(options, "store", "name the folder or URL of a store: .option('store', …)")
        _require(options, "table", "name a table: .load('orders'), .save('orders')")
        return cls(
            **{name: options[name] for name in _TEXTS if name in options},
            store=_absolute(options["store"]),
            columns=_names(options["columns"]) if "columns" in options else None,
            key=_names(options.get("key", "")),
            changes=_truth("changes", options.get("changes", "false")),
            part_bytes=_size("part_bytes", options.get("part_bytes", str(_PART_SIZE_BYTES))),
        )

    @property
    def at(self) -> str | None:
        """What to read: the ref, else the branch; by default the head of the default branch."""
        return self.ref if self.ref is not None else self.branch

    @contextmanager
    def opened(self) -> Iterator[Repository]:
        """Open the repository for a block, without Spark, since this code runs inside Spark."""
        with ab.open(self.store, repository=self.repository, engine="duck", author=self.author) as repo:
            yield repo


_TEXTS = ("table", "repository", "author", "ref", "where", "since", "branch", "message", "write_id")


def _require(options: Mapping[str, str], name: str, hint: str) -> None:
    if not options.get(name):
        raise InvalidRequest(f"format('anabranch') was given no {name}", hint=hint)


def _absolute(store: str) -> str:
    """An absolute path, since executors have other working directories."""
    return store if "://" in store else os.path.abspath(store)


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _truth(name: str, text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise InvalidRequest(f"option {name!r} is {text!r}", hint="say true or false")
    return text.lower() == "true"


def _size(name: str, text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise InvalidRequest(f"option {name!r} is {text!r}", hint="give a whole number of bytes above 0")
    return int(text)
