"""Files read on Spark: grouped by how they are read, given types, bad rows found; the rows stay with Spark."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet

from anabranch.errors import InvalidRequest
from anabranch.formats.process import csv as csv_files
from anabranch.formats.process import csv_quotes
from anabranch.formats.process import json as json_files
from anabranch.formats.process.parts import Reading, name_bad_rows, no_columns, refuse_folder_columns
from anabranch.formats.rules.bad_rows import BadRows
from anabranch.formats.rules.encodings import translated
from anabranch.formats.rules.found_files import DataFile
from anabranch.formats.rules.json_shapes import Kinds, shapes_of
from anabranch.formats.rules.request import FilesRequest, check_columns, check_renames, refuse_other_case
from anabranch.formats.rules.text import inferred
from anabranch.model.names import HIDDEN_PREFIX, check_part
from anabranch.model.types import DataType

if TYPE_CHECKING:
    from anabranch.engines.spark import DataFrame
    from anabranch.formats.spark.text import FileGroup

_HADOOP = "*?[]{}\\:"
_CORRECT = "correct the file, or read it in the process (engine duck)"


def read_on_spark(
    session: Any,
    files: Sequence[DataFile],
    reading: Reading,
    request: FilesRequest,
    bad: BadRows,
    tell: Callable[[str], None],
) -> DataFrame:
    """Read files as one DataFrame; what is bad is named by going through the files that have it."""
    from anabranch.formats.spark.text import united

    _refuse_names(files)
    tell(f"reading {len(files):,} files on Spark")
    by_format = {f: [file for file in files if file.format == f] for f in ("csv", "json", "parquet")}
    columns: dict[str, Sequence[str]] = {}
    frames = []
    if by_format["csv"]:
        frames.append(_csv(session, by_format["csv"], reading, bad, columns))
    if by_format["json"]:
        frames.append(_json(session, by_format["json"], reading, bad, columns))
    if by_format["parquet"]:
        frames.append(_parquet(session, by_format["parquet"], reading, bad, columns))
    check_renames(columns, request)
    check_columns({path: [reading.renamed(name) for name in names] for path, names in columns.items()}, request)
    _check_types(frames, [c.name for c in reading.columns])
    return united(frames)


def _csv(
    session: Any, files: Sequence[DataFile], reading: Reading, bad: BadRows, columns: dict[str, Sequence[str]]
) -> DataFrame:
    from anabranch.formats.spark.text import count_quotes, csv_texts, parted, united, with_names

    heads: dict[str, csv_files.Head] = {}
    for file in files:
        with translated(file.path, file.format):
            heads[file.path] = reading.head(file.path)
        refuse_folder_columns(file, heads[file.path].names)
    groups = _groups(files, lambda file: heads[file.path].names, line_end=lambda file: heads[file.path].line_end)
    columns.update({f.path: [*heads[f.path].names, *f.values] for f in files})
    _refuse_hidden(columns)
    new = _renames(columns, reading)
    frames = []
    for group in groups:
        quotes = count_quotes(session, group, reading.options)
        spanning = [f for f in files if os.path.abspath(f.path) in quotes.spanning]
        doubtful = [f for f in spanning if not csv_quotes.is_plain(f.path, reading.options)]
        _refuse_wrong_quotes([f for f in files if f in doubtful or os.path.abspath(f.path) in quotes.wrong], reading)
        _refuse_mixed_ends(spanning, reading)
        frames += [csv_texts(session, some, reading.options, spans) for some, spans in parted(group, quotes)]
    texts = united([with_names(frame, new) for frame in frames])
    names = list(dict.fromkeys(new[name] for found in columns.values() for name in found))
    candidates = inferred(reading.options)
    known = reading.declared(names)
    return _typed(texts, known, {n: candidates for n in names if n not in known}, files, reading, bad)


def _refuse_wrong_quotes(files: Sequence[DataFile], reading: Reading) -> None:
    """Refuse files with a quote that is not closed, or that text follows: Spark reads on to another one."""
    found = BadRows()
    for file in files:
        with translated(file.path, file.format):
            found.add(list(csv_files.wrong_quotes(file.path, reading.options)))
    found.refuse(hint=_CORRECT)


def _refuse_mixed_ends(files: Sequence[DataFile], reading: Reading) -> None:
    """Refuse files with fields over several lines and more than one kind of line end: Spark knows one at a time."""
    for file in files:
        with translated(file.path, file.format):
            ends = csv_files.record_ends(file.path, reading.options)
        if len(ends) > 1:
            message = f"Spark can't read {file.path!r}: fields span lines, and lines end in several ways"
            raise InvalidRequest(message, hint=_CORRECT, file=file.path)


def _json(
    session: Any, files: Sequence[DataFile], reading: Reading, bad: BadRows, columns: dict[str, Sequence[str]]
) -> DataFrame:
    from anabranch.formats.spark.json import json_kinds
    from anabranch.formats.spark.text import json_texts, united, with_names, with_types

    texts: list[DataFrame] = []
    types: dict[str, DataType] = {}
    candidates: dict[str, tuple[DataType, ...]] = {}
    kinds: Kinds = set()
    for group in _groups(files, lambda file: (), json_in=reading.options.encoding):
        keys = _keys(session, _of(files, group), group, reading)
        known = reading.known([*dict.fromkeys(name for names in keys.values() for name in names), *group.folders])
        found = json_kinds(session, group, reading.options, known)
        names = _in_order({str(place[0]) for place, _ in found}, keys)
        unseen = [name for name in names if not any(name in some for some in keys.values())]
        columns.update({path: [*some, *unseen, *group.folders] for path, some in keys.items()})
        _refuse_hidden(columns)
        new, known = _renames(columns, reading), reading.known([*names, *group.folders])
        read_as = {n: "variant" if n in known and known[n].name == "variant" else "string" for n in names}
        texts.append(with_names(json_texts(session, group, read_as, reading.options), new))
        types |= {new[n]: t for n, t in known.items() if read_as.get(n) != "variant"}
        kinds |= {((new[str(place[0])], *place[1:]), kind) for place, kind in found if place[0] not in known}
        candidates |= {new[n]: inferred(reading.options) for n in group.folders if n not in known}
    shapes = shapes_of(kinds)
    told = {name: shape.column_type for name, shape in shapes.items() if shape.column_type}
    times = inferred(reading.options, times_only=True)
    candidates |= {name: shape.tried(times) for name, shape in shapes.items() if name not in told}
    rows = with_types(united(texts), told, reading.options, inferring=True)
    return _typed(rows, types, candidates, files, reading, bad)


def _keys(session: Any, files: Sequence[DataFile], group: FileGroup, reading: Reading) -> dict[str, tuple[str, ...]]:
    """The keys of each file; what Spark would not read as it is written is refused."""
    from anabranch.formats.spark.json import json_facts

    facts = json_facts(session, group, reading.options)
    _refuse_strange(files, facts.strange, reading)
    keys = {f.path: facts.keys.get(os.path.abspath(f.path), ()) for f in files}
    for file in files:
        if not keys[file.path] and os.path.abspath(file.path) in facts.empty:
            raise no_columns(file.path)
        refuse_folder_columns(file, keys[file.path])
    refuse_other_case(keys)
    return keys


def _of(files: Sequence[DataFile], group: FileGroup) -> list[DataFile]:
    return [file for file in files if os.path.abspath(file.path) in group.paths]


def _in_order(names: Collection[str], keys: Mapping[str, Sequence[str]]) -> list[str]:
    """The columns in the order of the files'; those in no line but such as have NaN come last."""
    return list(dict.fromkeys([*(name for some in keys.values() for name in some if name in names), *sorted(names)]))


def _refuse_strange(files: Sequence[DataFile], counts: Mapping[str, int], reading: Reading) -> None:
    """Refuse rows that Spark reads, but not as they are written: it can't tell them from the others."""
    found = BadRows()
    _name(files, counts, reading, found)
    found.refuse(sum(counts.values()), hint=_CORRECT)


def _parquet(
    session: Any, files: Sequence[DataFile], reading: Reading, bad: BadRows, columns: dict[str, Sequence[str]]
) -> DataFrame:
    from anabranch.formats.spark.text import parquet_rows, united, with_names, without_bad

    schemas: dict[str, pa.Schema] = {}
    for file in files:
        with translated(file.path, file.format):
            schemas[file.path] = pyarrow.parquet.read_schema(file.path)
    names = {path: tuple(schema.names) for path, schema in schemas.items()}
    columns.update({f.path: [*names[f.path], *f.values] for f in files})
    groups = _groups(files, lambda file: tuple(f"{f.name} {f.type}" for f in schemas[file.path]))
    new = _renames(columns, reading)
    frames = [with_names(parquet_rows(session, group), new) for group in groups]
    _check_types([without_bad(frame) for frame in frames], [c.name for c in reading.columns])
    rows = united(frames)
    folders = [
        n for n in dict.fromkeys(n for f in files for n in f.values) if not any(n in own for own in names.values())
    ]
    if not folders:
        return without_bad(rows)
    known = reading.declared([new[n] for n in folders])
    candidates = {new[n]: inferred(reading.options) for n in folders if new[n] not in known}
    return _typed(rows, known, candidates, files, reading, bad)


def _renames(columns: Mapping[str, Sequence[str]], reading: Reading) -> dict[str, str]:
    """The names that the columns of all files are to have."""
    return {old: new for path, names in columns.items() for old, new in reading.new_names(path, names).items()}


def _typed(
    texts: DataFrame,
    types: dict[str, DataType],
    candidates: dict[str, tuple[DataType, ...]],
    files: Sequence[DataFile],
    reading: Reading,
    bad: BadRows,
) -> DataFrame:
    """Give text its types, name the bad rows, and keep the others."""
    from anabranch.formats.spark.text import bad_counts, infer_types, with_types, without_bad

    known = with_types(texts, types, reading.options)
    chosen, count = infer_types(known, candidates, reading.options)
    if count:
        before = bad.count
        _name(files, bad_counts(known), reading, bad)
        if bad.count > before:
            bad.refuse(count)
        _refuse_unnamed(count - (bad.count - before))
    return without_bad(with_types(known, chosen, reading.options))


def _refuse_unnamed(count: int) -> None:
    """Refuse rows that Spark can't take and the process can: they would be neither taken nor set aside."""
    if count:
        message = f"Spark can't read {count:,} of the rows, and can't tell which"
        raise InvalidRequest(message, hint="read the files in the process (engine duck)", count=count)


def _name(files: Sequence[DataFile], counts: Mapping[str, int], reading: Reading, bad: BadRows) -> None:
    for file in files:
        if os.path.abspath(file.path) in counts and not bad.named_enough:
            name_bad_rows(file, reading, bad)


def _groups(
    files: Sequence[DataFile],
    names: Callable[[DataFile], tuple[str, ...]],
    json_in: str | None = None,
    line_end: Callable[[DataFile], str] = lambda _: "\n",
) -> list[FileGroup]:
    """Put files together that are read alike."""
    from anabranch.formats.spark.text import FileGroup

    grouped: dict[tuple[Any, ...], list[DataFile]] = defaultdict(list)
    for file in files:
        is_whole = json_in is not None and json_files.is_whole(file.path, json_in)
        grouped[names(file), file.base, tuple(file.values), is_whole, line_end(file)].append(file)
    return [
        FileGroup(tuple(os.path.abspath(f.path) for f in some), columns, _absolute(base), folders, is_whole, end)
        for (columns, base, folders, is_whole, end), some in grouped.items()
    ]


def _absolute(path: str | None) -> str | None:
    return None if path is None else os.path.abspath(path)


def _refuse_names(files: Sequence[DataFile]) -> None:
    """Refuse names that Hadoop has a meaning of its own for: it would read other files, or none."""
    for file in files:
        hidden = os.path.basename(file.path).startswith(("_", "."))
        if hidden or any(ch in _HADOOP for ch in os.path.abspath(file.path)):
            hint = "rename it, or read it in the process (engine duck)"
            raise InvalidRequest(f"Spark can't read a file named {file.path!r}", hint=hint, file=file.path)


def _refuse_hidden(columns: Mapping[str, Sequence[str]]) -> None:
    """Refuse the names that rows have for our own use while they are read."""
    for name in (name for names in columns.values() for name in names):
        if name.lower().startswith(HIDDEN_PREFIX):
            check_part(name, "column")


def _check_types(frames: Sequence[DataFrame], declared: Sequence[str]) -> None:
    """Refuse what the process refuses too: a column with types that have nothing in common, or would be rounded."""
    from anabranch.engines.spark import frame_types

    seen: dict[str, DataType] = {}
    for name, type_ in (pair for frame in frames for pair in frame_types(frame).items()):
        other = seen.setdefault(name, type_)
        rounded = name not in declared and {"decimal", "double"} == {other.name, type_.name}
        rounded = rounded and max(other.digits, type_.digits) > 15
        if other != type_ and (rounded or not (other.is_number and type_.is_number)):
            message = f"the files have columns of different types: {name!r} is {other} and {type_}"
            raise InvalidRequest(message, hint="import them one by one, or give the types")
