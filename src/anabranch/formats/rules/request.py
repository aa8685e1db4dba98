"""A request to read files: checked before they are read, and again once their columns are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from anabranch.errors import InvalidRequest
from anabranch.formats.rules.text import TextOptions, check_options
from anabranch.frames.input import read_schema_argument
from anabranch.model.names import check_part
from anabranch.model.schema import Column


@dataclass(frozen=True)
class FilesRequest:
    """What to read, and how."""

    paths: tuple[str, ...]
    format: str | None = None
    columns: tuple[Column, ...] = ()
    """Columns with known types; the others are inferred."""
    options: TextOptions = field(default_factory=TextOptions)
    has_delimiter: bool = False
    """Whether the delimiter was given; otherwise the names of files decide."""
    bad_rows: str | None = None
    """The file to set bad rows aside in; without it they are refused."""
    equal_columns: bool = False
    """Whether all files must have the same columns, because a missing one would be taken for null."""
    needed: tuple[str, ...] = ()
    """Columns that every file must have."""
    rename: Mapping[str, str] = field(default_factory=dict)
    """New names for columns, by their names in the files."""
    key: tuple[str, ...] = ()
    """Columns that identify rows: rows with a null there, or with repeated values, are bad rows, too."""


def make_request(
    paths: str | Sequence[str],
    format: str | None,
    schema: Any,
    bad_rows: str | None,
    equal_columns: bool,
    needed: Sequence[str],
    rename: Mapping[str, str],
    key: tuple[str, ...],
    options: Mapping[str, Any],
) -> FilesRequest:
    """Check the arguments, and make a request of them."""
    known = [f.name for f in fields(TextOptions)]
    for name in options:
        if name not in known:
            raise InvalidRequest(f"there is no option {name!r} for files", hint=f"known are {', '.join(known)}")
    columns = read_schema_argument(schema) if schema is not None else ()
    chosen = check_options(TextOptions(**options))
    every = (paths,) if isinstance(paths, str) else tuple(paths)
    return FilesRequest(
        every,
        format,
        columns,
        chosen,
        "delimiter" in options,
        bad_rows,
        equal_columns,
        tuple(needed),
        _checked(rename),
        key,
    )


def _checked(rename: Mapping[str, str]) -> Mapping[str, str]:
    for old, new in rename.items():
        check_part(new, "column")
        if [other.lower() for other in rename].count(old.lower()) > 1:
            raise InvalidRequest(f"column {old!r} is renamed twice", hint="give it one name")
    return dict(rename)


def check_renames(columns: Mapping[str, Sequence[str]], request: FilesRequest) -> None:
    """Refuse to rename a column that no file has."""
    there = list(dict.fromkeys(name for names in columns.values() for name in names))
    for old in request.rename:
        if old.lower() not in (name.lower() for name in there):
            hint = f"the files have {', '.join(map(repr, there[:20]))}"
            raise InvalidRequest(f"no file has a column {old!r} to rename", hint=hint, column=old)


def check_columns(columns: Mapping[str, Sequence[str]], request: FilesRequest) -> None:
    """Refuse files that lack columns which others have, where null would not do."""
    refuse_other_case(columns)
    everything = {name.lower(): name for names in columns.values() for name in names}
    needed = [c.name for c in request.columns if not c.nullable and c.default is None and c.name.lower() in everything]
    demanded = list(everything.values()) if request.equal_columns else [*request.needed, *needed]
    for path, names in columns.items():
        present = {name.lower() for name in names}
        lacking = [name for name in demanded if name.lower() in everything and name.lower() not in present]
        if lacking:
            message = f"{path!r} lacks column {lacking[0]!r}, which other files have"
            hint = "import files with different columns one by one" if request.equal_columns else "every row needs it"
            raise InvalidRequest(message, hint=hint, file=path)


def refuse_other_case(columns: Mapping[str, Sequence[str]]) -> None:
    """Refuse names that differ only in case: Spark would take them for one column, the process for two."""
    seen: dict[str, tuple[str, str]] = {}
    for path, names in columns.items():
        for name in names:
            other, where = seen.setdefault(name.lower(), (name, path))
            if other != name:
                message = f"{where!r} has a column {other!r}, {path!r} has {name!r}"
                raise InvalidRequest(message, hint="write their names alike", file=path)
