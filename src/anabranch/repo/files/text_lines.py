"""Reads the lines of a versioned text; one in a `.gz` file is unpacked on the way."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from typing import BinaryIO

from anabranch.errors import InvalidRequest

LINES_HINT = "read its content (`repo.files().read`, `ana file get`), or leave it out of the pattern"


def is_zipped(path: str) -> bool:
    """Tell whether a file is unpacked before its lines are read, by its name."""
    return path.lower().endswith(".gz")


def text_lines(file: BinaryIO, path: str) -> Iterator[str]:
    """Yield the lines of an open file, without line ends; refuse what is no text."""
    source = gzip.GzipFile(fileobj=file) if is_zipped(path) else file
    try:
        with io.TextIOWrapper(source, "utf-8") as text:
            for line in text:
                yield line.removesuffix("\n")
    except UnicodeDecodeError as error:
        message = f"{path!r} is no UTF-8, so it has no lines"
        raise InvalidRequest(message, hint=LINES_HINT, path=path) from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        message = f"{path!r} can't be unpacked as gzip: {error}"
        raise InvalidRequest(message, hint=LINES_HINT, path=path) from error
