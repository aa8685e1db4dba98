"""What commands print: plain text and JSON documents, and how times, numbers and hashes look."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TextIO
from unicodedata import category, east_asian_width

import click

from anabranch.frames.json import finite, plain
from anabranch.model.texts import CONTROLS, TURNS


@dataclass
class Looks:
    """Whether to use colours, and the pager for long texts."""

    colour: str = "auto"
    pager: str | None = None
    """A command, or `never`; None for the environment's choice."""


looks = Looks()
"""The looks of this run; set by the session when it finds the store."""


HASH_LENGTH = 10
_STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "blue": "34", "cyan": "36"}
_CONTROL = {i: f"\\x{i:02x}" for i in CONTROLS} | {9: "\\t", 10: "\\n", 13: "\\r"} | TURNS
_UNSEEN = {code: shown for code, shown in (CONTROLS | TURNS).items() if code >= 0x7F}
"""Characters that json.dumps would leave as they are, and their escapes."""


class OutputClosed(Exception):
    """Whoever was reading our output is gone (`ana log | head`)."""


def emit(text: str = "") -> None:
    """Print a text and a newline to stdout."""
    _while_open(lambda: sys.stdout.write(text + "\n"))


def emit_json(document: dict[str, Any]) -> None:
    """Print one JSON document."""
    emit(json_text(document, indent=2))


def json_text(document: Any, indent: int | None = None) -> str:
    """JSON without characters that act on a terminal."""
    import json

    return json.dumps(finite(document), indent=indent, ensure_ascii=False, default=plain).translate(_UNSEEN)


def flush() -> None:
    """Flush what is still buffered."""
    _while_open(sys.stdout.flush)


def close_output() -> None:
    """Flush for the last time; a closed pipe is not an error, and write errors were reported."""
    try:
        flush()
        sys.stderr.flush()
    except (OutputClosed, OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _while_open(write: Callable[[], object]) -> None:
    try:
        write()
    except BrokenPipeError as error:
        raise OutputClosed from error


def colourful(stream: TextIO) -> bool:
    """Whether a stream gets colours: if it is a terminal, unless the environment or the user says otherwise."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR") or looks.colour == "always":
        return True
    return looks.colour != "never" and stream.isatty() and os.environ.get("TERM") != "dumb"


def paint(text: str, style: str, stream: TextIO | None = None) -> str:
    """Colour a text, if colours are wanted."""
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if text and colourful(stream or sys.stdout) else text


def clean(text: str, keep: str = "") -> str:
    """Show control characters as escapes, so that no text can act on the terminal."""
    return text.translate({code: shown for code, shown in _CONTROL.items() if chr(code) not in keep})


def width_of(text: str) -> int:
    """How many columns a text takes on a terminal: wide letters take two, combining marks none."""
    return len(text) if text.isascii() else sum(map(_places, text))


def _places(letter: str) -> int:
    if category(letter) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if east_asian_width(letter) in "WF" else 1


def cut(text: str, width: int) -> str:
    """Cut a text to a width."""
    if width_of(text) <= width:
        return text
    taken, room = 0, max(width - 1, 0)
    for at, letter in enumerate(text):
        taken += _places(letter)
        if taken > room:
            return f"{text[:at]}…"
    return text


def columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Line up columns of plain text."""
    widths = [max(map(width_of, column)) for column in zip(*rows, strict=True)]
    padded = ([text + " " * (n - width_of(text)) for text, n in zip(row, widths, strict=True)] for row in rows)
    return ["  ".join(texts).rstrip() for texts in padded]


def short(hash_: str | None) -> str:
    """A hash, shortened for people."""
    return hash_[:HASH_LENGTH] if hash_ else "-"


def subject(message: str) -> str:
    """The first line of a message."""
    return clean(message.strip().split("\n", 1)[0])


def local(moment: datetime) -> str:
    """A time in the local zone."""
    return moment.astimezone().isoformat(timespec="seconds")


def number(value: int) -> str:
    """A count with thousands separators."""
    return f"{value:,}"


def plural(value: int, word: str) -> str:
    """A count and what is counted."""
    return f"{number(value)} {word}" if value == 1 else f"{number(value)} {word}s"


def size(size_bytes: int) -> str:
    """A number of bytes."""
    value, unit = float(size_bytes), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if value < 1000:
            break
        value, unit = value / 1000, larger
    return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"


pager_option = click.option("--pager/--no-pager", default=True, help="Whether to use a pager on a terminal (yes).")


def show_lines(lines: Iterable[str], *, paged: bool = False) -> None:
    """Print lines; those that are paged on a terminal through a pager, unless declined."""
    if not paged or looks.pager == "never" or not sys.stdout.isatty():
        for line in lines:
            emit(line)
        return
    os.environ.setdefault("LESS", "FRX")  # As git does: text that fits the screen is just printed.
    if looks.pager:
        os.environ["PAGER"] = looks.pager
    click.echo_via_pager(_ended(lines), color=colourful(sys.stdout))


def _ended(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        yield f"{line}\n"
