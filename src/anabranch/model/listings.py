"""Lists that notebooks draw as tables; to everything else they are plain lists."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from operator import attrgetter
from typing import Any, SupportsIndex, TypeVar, overload

T = TypeVar("T")


class Listing(list[T]):
    """A list of values, and which of their attributes a notebook shows."""

    def __init__(self, items: Iterable[T], shown: tuple[str, ...]) -> None:
        super().__init__(items)
        self._shown = shown

    @overload
    def __getitem__(self, at: SupportsIndex, /) -> T: ...

    @overload
    def __getitem__(self, at: slice, /) -> list[T]: ...

    def __getitem__(self, at: SupportsIndex | slice, /) -> T | list[T]:
        found = super().__getitem__(at)
        return Listing(found, self._shown) if isinstance(at, slice) else found  # type: ignore[arg-type]

    def _repr_html_(self) -> str:
        from anabranch.model.html import HtmlHeading, Line, block, counted, note, table

        headings = [HtmlHeading(name.rpartition(".")[2].replace("_", " ")) for name in self._shown]
        drawn = list.__getitem__(self, slice(_LIMIT))
        lines = [Line([_cell(name, attrgetter(name)(item)) for name in self._shown]) for item in drawn]
        return block(table(headings, lines), note(counted(len(drawn), len(self))))


_LIMIT = 100
_HASHES = ("hash", "commit", "before", "after")


def _cell(name: str, value: Any) -> Any:
    """Shorten a hash to its first digits, a message to its first line, a time to seconds; leave the rest as it is."""
    from anabranch.model.html import short

    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S} UTC"
    if name.rpartition(".")[2] in _HASHES and isinstance(value, str):
        return short(value)
    is_message = name.endswith("message") and isinstance(value, str)
    return value.strip().split("\n", 1)[0] if is_message else value
