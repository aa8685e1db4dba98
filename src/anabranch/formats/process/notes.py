"""Notes on what was read: why a column is text, which zeros are lost, and how to change that."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from anabranch.formats.process.parts import FilePart
from anabranch.formats.process.row_places import RowPlaces
from anabranch.formats.rules.guesses import NULL_WORDS, delimiter_guess, null_guess
from anabranch.formats.rules.text import looks_like, value_pattern
from anabranch.model.names import plain_name
from anabranch.model.types import DataType

_TYPES = tuple(map(DataType, ("bigint", "double", "date", "timestamp_ntz", "timestamp")))
_GIVEN_NAME = re.compile(r"c\d+")
_GLANCE_ROWS = 1000
_ODD_SHARE = 0.2
_ODD_TEXTS = 3
"""How many different texts may be named as the odd ones out."""


def notes(places: RowPlaces, names: Sequence[str], parts: Sequence[FilePart]) -> list[str]:
    """Note what may surprise in rows that were read from these parts; `names` are the columns' names in the files."""
    return [*_of_names(names, places), *_of_texts(places), *_of_zeros(places, parts)]


def _of_names(names: Sequence[str], places: RowPlaces) -> Iterator[str]:
    reading = places.reading
    is_csv = any(file.format == "csv" for file, _ in places.files)
    guess = delimiter_guess(names[0], reading.options) if len(names) == 1 and is_csv else None
    if guess:
        yield f"the files have one column, {names[0]!r}; {guess} takes it apart"
    if is_csv and reading.options.header and any(looks_like(names[0], type_) for type_ in _TYPES):
        yield f"the header begins with {names[0]!r}, as a row may; --no-header takes the first line as a row"
    for name in names:
        if reading.renamed(name) == plain_name(name) != name:
            yield f"column {name!r} is called {plain_name(name)!r}; --rename {name!r}=NEW calls it otherwise"
    if any(_GIVEN_NAME.fullmatch(name) for name in names):
        yield from _of_unnamed(places)


def _of_unnamed(places: RowPlaces) -> Iterator[str]:
    """Columns without a name in the header of a file; many files are likely alike, so that one is told."""
    for file, _ in places.files:
        head = places.reading.head(file.path) if file.format == "csv" else None
        given = [(i, head.names[i]) for i in head.unnamed] if head else []
        for i, name in given:
            if places.reading.renamed(name) == name:
                place = f"column {i + 1} has no name in the header of {file.path!r}"
                yield f"{place}, and is called {name!r}; --rename {name}=NEW calls it otherwise"
        if given:
            return


def _of_texts(places: RowPlaces) -> Iterator[str]:
    known = places.reading.declared(places.rows.column_names)
    if not all(file.format == "csv" for file, _ in places.files):
        return  # In JSON, text is quoted, and so is meant as text.
    for name in places.rows.column_names:
        column = places.rows.column(name)
        found = None if name in known or not pa.types.is_string(column.type) else _odd_ones(column)
        if found:
            type_, texts, position = found
            (place,) = places.named([position])
            null = null_guess(texts)
            advice = f"{null} makes it {type_}" if null else f"--schema '{name} {type_}' finds such rows"
            yield f"column {name!r} is string because of {', '.join(map(repr, texts))} ({place}); {advice}"


def _of_zeros(places: RowPlaces, parts: Sequence[FilePart]) -> Iterator[str]:
    """Columns of numbers of which some were written with zeros before them, which numbers do not keep."""
    tried = {name for part in parts for name in part.texts}
    for name in [f.name for f in places.rows.schema if f.name in tried and pa.types.is_integer(f.type)]:
        found = [p.rows.select([name] if name in p.texts else []) for p in parts]
        column = pa.concat_tables(found, promote_options="default").column(name)
        position = _first_padded(column)
        if position is not None:
            (place,) = places.named([position])
            number = column[position].as_py()
            yield f"column {name!r} is bigint, {number!r} ({place}) loses a zero; --schema '{name} string' keeps it"


def _first_padded(column: pa.ChunkedArray) -> int | None:
    """Where the first number with a zero before it is."""
    begun = pc.fill_null(pc.starts_with(pc.ascii_ltrim(column, " \t"), "0"), False)
    places = pc.indices_nonzero(begun)
    padded = pc.indices_nonzero(pc.match_substring_regex(column.take(places), "^[ \t]*0[0-9]"))
    return places[padded[0].as_py()].as_py() if len(padded) else None


def _odd_ones(column: pa.ChunkedArray) -> tuple[DataType, list[str], int] | None:
    """The type that almost all text of a column fits, the texts that do not, and where the first of them is."""
    for type_ in _TYPES:
        pattern = value_pattern(type_, inferring=True) or ""
        glance = _share(column.slice(0, _GLANCE_ROWS), pattern)
        if (glance is None or glance > 1 - _ODD_SHARE) and (_share(column, pattern) or 0.0) > 1 - _ODD_SHARE:
            odd = pc.indices_nonzero(pc.invert(pc.match_substring_regex(pc.ascii_trim(column, " \t"), pattern)))
            texts = column.take(odd).unique().to_pylist()
            return (type_, texts, odd[0].as_py()) if 0 < len(texts) <= _ODD_TEXTS else None
    return None


def _share(column: pa.ChunkedArray, pattern: str) -> float | None:
    """The share of texts that match a pattern, words for null left out; None if there is nothing else."""
    texts = pc.ascii_trim(column, " \t")
    told = texts.filter(pc.invert(pc.is_in(texts, pa.array(NULL_WORDS))))
    share: float | None = pc.mean(pc.match_substring_regex(told, pattern)).as_py()
    return share
