"""Turns rows into files: a frame with `path` and `content`, or `path` and `line`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple

from anabranch.errors import InvalidRequest
from anabranch.frames.input import read_input
from anabranch.queries.query import Frame, Rows

_ROWS = 10_000
_KNOWN = {"path": ("string",), "content": ("binary", "string"), "line": ("string",), "mode": ("int", "bigint")}
_PASSED_OVER = ("size",)
"""Ignored columns; `arrow` and `spark` return them, and their results can be written again."""


class Piece(NamedTuple):
    """Bytes for a path; lines include their line ends."""

    path: str
    content: bytes
    mode: int | None


def pieces_of(frame: Any) -> Iterator[Piece]:
    """Read a frame in row order; lines of one path are gathered."""
    given = read_input(frame, ())
    for name, type_ in given.types.items():
        _check_column(name, type_.name if type_ else None)
    names = list(given.types)
    if "path" not in names or ("content" in names) == ("line" in names):
        hint = "such as path and content, or path and line; mode may be there, too"
        raise InvalidRequest(f"files can't be made of columns {', '.join(names)}", hint=hint)
    source = given.source
    rows = source.table.to_pylist() if isinstance(source, Rows) else _spark_rows(source)
    yield from _contents(rows) if "content" in names else _lines(rows)


def _check_column(name: str, type_: str | None) -> None:
    if name in _PASSED_OVER or (name in _KNOWN and type_ in (None, *_KNOWN[name])):
        return
    described = f"is {type_}" if name in _KNOWN else "is none that files have"
    hint = "columns are path (string), content (binary or string) or line (string), and mode (int)"
    raise InvalidRequest(f"files: column {name!r} {described}", hint=hint, column=name)


def _spark_rows(source: Any) -> Iterator[dict[str, Any]]:
    assert isinstance(source, Frame)
    return (row.asDict() for row in source.frame.toLocalIterator(prefetchPartitions=True))


def _contents(rows: Iterable[dict[str, Any]]) -> Iterator[Piece]:
    for row in rows:
        yield Piece(_path(row), _bytes(row, "content"), row.get("mode"))


def _lines(rows: Iterable[dict[str, Any]]) -> Iterator[Piece]:
    source = iter(rows)
    while part := list(islice(source, _ROWS)):
        found: dict[str, list[bytes]] = {}
        modes: dict[str, int | None] = {}
        for row in part:
            found.setdefault(_path(row), []).append(_bytes(row, "line") + b"\n")
            modes[row["path"]] = row.get("mode")
        for path, lines in found.items():
            yield Piece(path, b"".join(lines), modes[path])


def _path(row: dict[str, Any]) -> str:
    if row["path"] is None:
        raise InvalidRequest("a row has no path", hint="every row needs the path of its file")
    return str(row["path"])


def _bytes(row: dict[str, Any], name: str) -> bytes:
    value = row[name]
    if value is None:
        raise InvalidRequest(f"{row['path']!r} has a row without {name}", hint="an empty file has an empty one")
    return value.encode() if isinstance(value, str) else bytes(value)
