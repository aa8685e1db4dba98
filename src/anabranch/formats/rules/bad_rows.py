"""Rows of files that cannot be taken: refused by name, or set aside in a file of their own."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from anabranch.errors import AlreadyExists, InvalidRequest, Unavailable
from anabranch.formats.rules.guesses import ENCODING_GUESS, null_guess

NO_TEXT = "not text in this encoding"
_NAMED = 5
"""How many bad rows an error names."""


@dataclass(frozen=True)
class BadRow:
    """A row that cannot be taken: where it begins, why, and its text."""

    file: str
    line: int
    error: str
    text: str
    value: str | None = None
    """The value that does not fit its column."""
    advice: str | None = None
    """What may be wrong with the whole file."""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.error}"


class BadRows:
    """Collects bad rows: counts them, remembers some, and writes them to the file for them, if there is one."""

    def __init__(self, writer: Any = None, kept: int | None = _NAMED) -> None:
        self._writer, self._kept = writer, kept
        self.count = 0
        self.first: list[BadRow] = []

    @property
    def are_set_aside(self) -> bool:
        return self._writer is not None

    def add(self, rows: Sequence[BadRow], more: int = 0) -> None:
        """Add rows, and the number of further ones; what is set aside is the original text."""
        self.first += rows[: None if self._kept is None else self._kept - len(self.first)]
        self.count += len(rows) + more
        if self._writer is not None:
            self._writer.writerows((r.file, r.line, r.error, r.text) for r in rows)

    def refuse(self) -> None:
        """Raise if there are bad rows that were not set aside."""
        if self.count and self._writer is None:
            places = [f"{row.file}:{row.line}" for row in self.first]
            raise InvalidRequest(
                _rows_text(self.first, self.count), hint=_hint(self.first), count=self.count, places=places
            )


_HINT = "correct the file, or set such rows aside (--bad-rows FILE, bad_rows=)"


def _hint(rows: Sequence[BadRow]) -> str:
    """What may be wrong with all of them, then what always helps."""
    null = null_guess([row.value for row in rows if row.value is not None])
    guesses = [f"{null} takes it as null"] if null else []
    if any(row.error.endswith(NO_TEXT) for row in rows):
        guesses.append(ENCODING_GUESS)
    guesses += dict.fromkeys(row.advice for row in rows if row.advice)
    return "; or ".join([*guesses, _HINT])


def _rows_text(first: Sequence[BadRow], total: int) -> str:
    """Name rows, one per line."""
    if total == 1:
        return f"1 bad row: {first[0]}"
    more = [f"and {total - len(first):,} more"] if total > len(first) else []
    return "\n  ".join([f"{total:,} bad rows:", *map(str, first), *more])


@contextmanager
def bad_rows(path: str | None) -> Iterator[BadRows]:
    """Open a place for bad rows: a CSV file that appears, complete, if the block succeeds and there are any."""
    if path is None:
        yield BadRows()
        return
    if os.path.lexists(path):
        raise AlreadyExists(f"there is a file {path!r} already", hint="name another one for bad rows", file=path)
    partial = Path(f"{path}.partial-{os.getpid()}")
    try:
        with _opened(partial, path) as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(("file", "line", "error", "text"))
            taken = BadRows(writer)
            yield taken
        if taken.count:
            partial.rename(path)
    finally:
        with suppress(FileNotFoundError):
            partial.unlink()


def _opened(partial: Path, path: str) -> TextIO:
    try:
        return open(partial, "w", encoding="utf-8", errors="surrogateescape", newline="")
    except OSError as error:
        message = f"bad rows can't be written to {path!r}: {error.strerror or error}"
        raise Unavailable(message, hint="check the folder and its permissions", file=path) from error
