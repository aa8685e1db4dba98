"""Input that can be read only once, as from a pipe; copied to a file while it is imported."""

from __future__ import annotations

import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from anabranch.cli.failures import BadUsage
from anabranch.errors import AnabranchError, Unavailable

STANDARD_INPUT = "-"


@contextmanager
def spooled(names: Sequence[str], format: str | None) -> Iterator[tuple[str, ...]]:
    """Give names of files that can be read repeatedly; - is standard input. Errors use the original names."""
    once = [name for name in dict.fromkeys(names) if name == STANDARD_INPUT or _is_pipe(name)]
    if not once:
        yield tuple(names)
        return
    if STANDARD_INPUT in once and format is None:
        raise BadUsage("standard input has no name that tells its format", hint="say --format csv, json or parquet")
    with tempfile.TemporaryDirectory(prefix="ana-") as folder:
        copies = {name: _copy(name, Path(folder), number) for number, name in enumerate(once)}
        try:
            yield tuple(copies.get(name, name) for name in names)
        except AnabranchError as error:
            for name, copy in copies.items():
                error.message = error.message.replace(copy, name)
            raise


def _is_pipe(name: str) -> bool:
    try:
        mode = Path(name).stat().st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or stat.S_ISSOCK(mode)


def _copy(name: str, folder: Path, number: int) -> str:
    """Copy a pipe to a file with the same ending."""
    ending = "" if name == STANDARD_INPUT else "".join(Path(name).suffixes)
    made = folder / f"stdin{number or ''}{ending}"
    try:
        with made.open("wb") as target:
            if name == STANDARD_INPUT:
                shutil.copyfileobj(sys.stdin.buffer, target)
            else:
                with open(name, "rb") as source:
                    shutil.copyfileobj(source, target)
    except OSError as error:
        message = f"{name!r} can't be read: {error.strerror or error}"
        raise Unavailable(message, hint="check what writes to it, and the space for temporary files") from error
    return str(made)
