"""Guesses at what is wrong with a file or its options; each names an option that would help."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from anabranch.formats.rules.text import TextOptions

_EMPTY = ("-", "--", "?", ".", "\\N")
NULL_WORDS = ("NA", "N/A", "n/a", "#N/A", "NULL", "null", "(null)", "None", "none", "nil", "NaN", *_EMPTY)
"""What people write for missing values."""
_DELIMITERS = {";": "';'", "\t": "tab", "|": "'|'"}


def null_guess(texts: Sequence[str]) -> str | None:
    """The options that make texts null, if they all look like it."""
    words = list(dict.fromkeys(text.strip() for text in texts))
    if not words or not all(word in NULL_WORDS for word in words):
        return None
    return " ".join(f"--null {shlex.quote(word)}" for word in words)


def delimiter_guess(line: str, options: TextOptions) -> str | None:
    """The delimiter that a line seems to use, if the expected one is not in it."""
    if options.delimiter in line:
        return None
    found = max(_DELIMITERS, key=line.count)
    return f"--delimiter {_DELIMITERS[found]}" if found in line and found != options.delimiter else None


ENCODING_GUESS = "--encoding cp1252 (or latin-1) if it is an older file, utf-16 if each character has two bytes"
