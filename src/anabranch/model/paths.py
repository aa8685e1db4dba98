"""Paths of versioned files: which are valid, how they are split and joined, and which a glob matches."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache

from anabranch.errors import InvalidRequest
from anabranch.model.texts import shown_value

MAX_PART_BYTES, MAX_PATH_BYTES = 255, 4096
HIDDEN = "_ana_"
"""Reserved for our own use: no path may have this as its first part."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_SPECIAL = re.compile(r"[*?[]")
_PLAIN_PART = r"[A-Za-z0-9][A-Za-z0-9_. =+-]{0,199}"
_PLAIN = re.compile(rf"{_PLAIN_PART}(?:/{_PLAIN_PART}){{0,15}}")
"""Paths that are valid without a closer look, as most are."""


def check_path(path: str) -> str:
    """Check a path and return it in its stored form."""
    if not isinstance(path, str):
        raise _refused(path, f"it is {type(path).__name__}, not text")
    if _PLAIN.fullmatch(path):
        return path
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        raise _refused(path, "it has half a surrogate pair") from None
    path = unicodedata.normalize("NFC", path)
    problem = _problem(path)
    if problem:
        raise _refused(path, problem)
    return path


def _problem(path: str) -> str | None:
    if not path:
        return "it is empty"
    if path.startswith("/") or path.endswith("/"):
        return "it begins or ends with a slash"
    if _CONTROL.search(path):
        return "it has control characters"
    if len(path.encode()) > MAX_PATH_BYTES:
        return f"it is longer than {MAX_PATH_BYTES:,} bytes"
    parts = path.split("/")
    if parts[0] == HIDDEN:
        return f"its first part is {HIDDEN!r}, which is for our own use"
    return next((problem for part in parts if (problem := _part_problem(part))), None)


def _part_problem(part: str) -> str | None:
    if part in ("", ".", ".."):
        return f"it has {part!r} as a part"
    return f"a part of it is longer than {MAX_PART_BYTES} bytes" if len(part.encode()) > MAX_PART_BYTES else None


def _refused(path: object, problem: str) -> InvalidRequest:
    hint = "give a relative path such as 'raw/a.csv', with / between its parts"
    return InvalidRequest(f"{shown_value(path)} is no path of a file: {problem}", hint=hint)


def check_folder(path: str) -> str:
    """Check the path of a folder; a trailing slash is fine, and an empty path is the top."""
    return check_path(stem) if isinstance(path, str) and (stem := path.removesuffix("/")) else _top(path)


def _top(path: str) -> str:
    if path not in ("", "/"):
        raise _refused(path, "it is not text")
    return ""


def split_path(path: str) -> tuple[str, str]:
    """Split a path into its folder and its last part; the top folder is empty."""
    parent, _, name = path.rpartition("/")
    return parent, name


def join_path(parent: str, name: str) -> str:
    """Join a folder and a name in it; a folder's own row has no name."""
    return f"{parent}/{name}" if parent and name else parent or name


def folders_above(path: str) -> Iterator[str]:
    """The folders that a path lies in, the nearest first, without the top."""
    while path := path.rpartition("/")[0]:
        yield path


def all_folders(paths: Iterable[str]) -> set[str]:
    """Every folder that any of the paths lies in, without the top."""
    found: set[str] = set()
    for parent in {path.rpartition("/")[0] for path in paths}:
        while parent and parent not in found:
            found.add(parent)
            parent = parent.rpartition("/")[0]
    return found


def is_below(path: str, folder: str) -> bool:
    """Tell whether a path lies in a folder, at any depth."""
    return not folder or path.startswith(f"{folder}/")


def has_wildcard(pattern: str) -> bool:
    """Tell whether a pattern may find more than one path."""
    return bool(_SPECIAL.search(pattern))


def fixed_folder(pattern: str) -> str:
    """The folder that holds all matches of a pattern, as far as its fixed parts say."""
    parts = pattern.split("/")[:-1]
    depth = next((n for n, part in enumerate(parts) if has_wildcard(part)), len(parts))
    return "/".join(parts[:depth])


@lru_cache(maxsize=256)
def pattern_of(glob: str, *, anywhere: bool = False) -> re.Pattern[str]:
    """Compile a glob: `*` and `?` stay within a part, `**` is any number of parts, `[…]` one of these characters.

    With `anywhere`, a glob without a slash finds names in every folder.
    """
    glob = unicodedata.normalize("NFC", glob)
    parts = glob.split("/")
    if anywhere and len(parts) == 1:
        parts = ["**", *parts]
    text = "".join(_part_pattern(part, last=n == len(parts) - 1) for n, part in enumerate(parts))
    try:
        return re.compile(text, re.DOTALL)
    except re.error as error:
        raise InvalidRequest(f"{glob!r} is no pattern: {error}", hint="use *, ?, **, [abc] or [!abc]") from error


def _part_pattern(part: str, *, last: bool) -> str:
    if part == "**":
        return ".*" if last else "(?:[^/]+/)*"
    return _translated(part) + ("" if last else "/")


def _translated(part: str) -> str:
    found, n = [], 0
    while n < len(part):
        char, n = part[n], n + 1
        end = part.find("]", n + 1) if char == "[" else -1
        if char == "*":
            found.append("[^/]*")
        elif char == "?":
            found.append("[^/]")
        elif end > 0:
            found.append(_one_of(part[n:end]))
            n = end + 1
        else:
            found.append(re.escape(char))
    return "".join(found)


def _one_of(chars: str) -> str:
    inside = chars[1:] if chars[0] in "!^" else chars
    inside = inside.replace("\\", "\\\\").replace("[", "\\[").replace("^", "\\^")
    return f"(?!/)[{'^' if chars[0] in '!^' else ''}{inside}]"
