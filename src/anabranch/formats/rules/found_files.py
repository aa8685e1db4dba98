"""Finds the files a user means: files, folders, globs; their formats, and the values in their folders' names."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import unquote

from anabranch.errors import InvalidRequest, NotFound
from anabranch.formats.rules.encodings import translated
from anabranch.formats.rules.packed import CODECS, XZ, ZIP, Member, is_zip, members

_TABBED = ".tsv"
FORMATS = {
    ".csv": "csv",
    _TABBED: "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".parquet": "parquet",
    ".pq": "parquet",
}
COMPRESSED = (*CODECS, XZ)
_INFLATION = 5
"""How much larger than its file the content of a compressed file is assumed to be."""
_NULL_FOLDER = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True)
class DataFile:
    """A file to read: its path, its format, and the values in the names of its folders."""

    path: str
    format: str
    base: str | None = None
    """The folder that was named, if folders below it are called `name=value`."""
    values: Mapping[str, str | None] = field(default_factory=dict)
    unpacked_bytes: int | None = None
    """The size of a file in a zip."""

    @property
    def is_compressed(self) -> bool:
        return self.path.lower().endswith(COMPRESSED)

    @property
    def size_bytes(self) -> int:
        """Roughly how much there is to read."""
        if self.unpacked_bytes is not None:
            return self.unpacked_bytes
        size = Path(self.path).stat().st_size
        return size * _INFLATION if self.is_compressed else size


def find_files(paths: Sequence[str], format: str | None) -> list[DataFile]:
    """Find every file that is meant, each once, in the order of the arguments, then by name."""
    if not paths:
        raise InvalidRequest("no file was named", hint="name files, folders or patterns such as 'data/*.csv'")
    found: dict[str, DataFile] = {}
    for path in paths:
        for file in _matching(path, format):
            found.setdefault(os.path.realpath(file.path), file)
    return list(found.values())


def file_format(path: str) -> str:
    """Tell a file's format by its name."""
    found = _known_format(path)
    if found is None:
        hint = f"known are {_endings(None)}; under another name say csv, json or parquet (--format, format=)"
        raise InvalidRequest(f"the name of {path!r} does not tell its format", hint=hint, file=path)
    return found


def _format_to_read(path: str) -> str:
    try:
        return file_format(path)
    except InvalidRequest as error:
        raise InvalidRequest(error.message, hint=f"{error.hint}; a {ZIP} is read as a folder is", file=path) from None


def is_tabbed(path: str) -> bool:
    """Whether a file's name says that its fields are separated by tabs."""
    return _ending(path) == _TABBED


def _known_format(path: str) -> str | None:
    return FORMATS.get(_ending(path))


def _ending(path: str) -> str:
    """The ending of a file's name that tells its format."""
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    plain = suffixes[:-1] if suffixes and suffixes[-1] in COMPRESSED else suffixes
    return plain[-1] if plain else ""


def _matching(path: str, format: str | None) -> list[DataFile]:
    if os.path.isdir(path):
        return _in_folder(path, format)
    if is_zip(path):
        return _of_zip(path, format)
    if os.path.lexists(path):
        return [DataFile(path, format or _format_to_read(path))]
    if not glob.has_magic(path):
        raise NotFound(f"there is no file {path!r}", hint="check the path", file=path)
    matches = sorted(glob.glob(path, recursive=True))
    files = [f for match in matches for f in _of_match(match, path, format)]
    if not files:
        raise NotFound(f"no file matches {path!r}", hint=f"looked in {os.getcwd()!r} for {_wanted(format)}", file=path)
    return files


def _of_match(match: str, pattern: str, format: str | None) -> list[DataFile]:
    """What a pattern matched: a file of a known format, or a folder of such files."""
    parts = Path(pattern).parts  # the base is the folder above the first part with a wildcard
    fixed = parts[: next(i for i, part in enumerate(parts) if glob.has_magic(part))]
    base = os.path.join(*fixed) if fixed else "."
    if os.path.isdir(match):
        return [] if "**" in pattern else list(_walk(match, base, format))
    if is_zip(match):
        return [] if _hidden(os.path.basename(match)) else list(_in_zip(match, base, format))
    known = format or _known_format(match)
    return [] if known is None or _hidden(os.path.basename(match)) else [_file(match, base, known)]


def _in_folder(path: str, format: str | None) -> list[DataFile]:
    files = list(_walk(path, path, format))
    if not files:
        hint = f"looked in it, and in the folders below, for {_wanted(format)}"
        raise NotFound(f"folder {path!r} has no file to read", hint=hint, file=path)
    return files


def _of_zip(path: str, format: str | None) -> list[DataFile]:
    files = list(_in_zip(path, path, format))
    if not files:
        raise NotFound(f"{path!r} has no file to read in it", hint=f"looked for {_wanted(format)}", file=path)
    return files


def _in_zip(path: str, base: str, format: str | None) -> Iterator[DataFile]:
    """The files in a zip, as if it were a folder."""
    with translated(path, "zip"):
        found: list[Member] = members(path)
    for member in found:
        parts = member.name.split("/")
        known = _known_format(parts[-1]) or format
        if known and not any(map(_hidden, parts)) and (format is None or known == format):
            yield replace(_file(f"{path}/{member.name}", base, known), unpacked_bytes=member.size_bytes)


def _walk(folder: str, base: str, format: str | None) -> Iterator[DataFile]:
    """The files below a folder, by name, without those that Spark and others keep for themselves."""
    for path, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not _hidden(name))
        for name in sorted(names):
            known = _known_format(name) or format
            whole = os.path.join(path, name)
            if is_zip(whole) and not _hidden(name):
                yield from _in_zip(whole, base, format)
                continue
            if known and not _hidden(name) and (format is None or known == format) and not _is_empty(whole):
                yield _file(whole, base, known)


def _is_empty(path: str) -> bool:
    """Whether a file is empty; a dangling link is left for the reader to report."""
    return os.path.exists(path) and not os.path.getsize(path)


def _file(path: str, base: str, format: str) -> DataFile:
    """A file with the values that `year=2026/month=7/` above it stands for, as Hive and Spark write them."""
    parts = Path(os.path.relpath(path, base)).parts[:-1]
    pairs = [part.partition("=") for part in parts if "=" in part.strip("=")]
    values = {unquote(name): None if value == _NULL_FOLDER else unquote(value) for name, _, value in pairs}
    return DataFile(path, format, base if values else None, values)


def _hidden(name: str) -> bool:
    return name.startswith((".", "_")) and "=" not in name


def _wanted(format: str | None) -> str:
    return f"{_endings(format)}, and in {ZIP}"


def _endings(format: str | None) -> str:
    endings = [ending for ending, known in FORMATS.items() if format in (None, known)]
    return f"{', '.join(endings)} (also {', '.join(COMPRESSED)})"
