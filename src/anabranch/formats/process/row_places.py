"""Where rows that a table refuses are in their files; known only for rows read in the process."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from anabranch.errors import InvalidRequest
from anabranch.formats.process.parts import Reading, row_texts
from anabranch.formats.rules.bad_rows import BadRow, BadRows
from anabranch.formats.rules.found_files import DataFile

_PLACES_OF_A_ROW = 2
"""How many places of one row are named: a repeated key has two."""
_SEARCHED_BYTES = 64 * 1024 * 1024
"""In larger files, lines are not counted, since that goes row by row."""


@dataclass(frozen=True)
class RowPlaces:
    """Rows that were read, file after file."""

    rows: pa.Table
    files: tuple[tuple[DataFile, int], ...]
    """Each file, with the number of its rows."""
    reading: Reading
    kept: pa.Array | None = None
    """The positions of these rows among all rows of the files, if some were set aside."""

    @contextmanager
    def naming_places(self) -> Iterator[None]:
        """Add places in the files to an error that names rows or keys."""
        try:
            yield
        except InvalidRequest as error:
            refused = error.facts.get("keys") or error.facts.get("rows") or []
            places = self.find(refused)
            if places:
                between = "; in " if len(places) == 1 else "\n  in "  # each on a line of its own
                error.message = between.join([error.message, *places])
                error.facts["places"] = places
            raise

    def find(self, refused: Sequence[Mapping[str, Any]]) -> list[str]:
        """The places of rows given by some of their values: `t.csv:7`, or the row's number in the file."""
        return self.named([place for row in refused for place in self._positions(row)[:_PLACES_OF_A_ROW]])

    def named(self, positions: Sequence[int]) -> list[str]:
        """The places of rows given by their positions."""
        found = [p if self.kept is None else self.kept[p].as_py() for p in positions]
        names = self._names(sorted(set(found)))
        return [names[position] for position in dict.fromkeys(found)]

    def without(self, rows: Mapping[int, str], bad: BadRows) -> RowPlaces:
        """Set aside rows given by position, each with what is wrong with it."""
        start = 0
        for file, count in self.files:
            places = [p - start for p in sorted(rows) if start <= p < start + count]
            texts = _texts_in(file, places, self.reading, self.rows.slice(start, count))
            bad.add([BadRow(file.path, texts[p][0], rows[start + p], texts[p][1]) for p in places])
            start += count
        kept = pa.array([i for i in range(self.rows.num_rows) if i not in rows], pa.int64())
        return replace(self, rows=self.rows.take(kept), kept=kept)

    def _positions(self, row: Mapping[str, Any]) -> list[int]:
        columns = {name.lower(): self.rows.column(name) for name in self.rows.column_names}
        tests = [_equal(columns[name.lower()], value) for name, value in row.items() if name.lower() in columns]
        if not tests:
            return []
        mask = tests[0]
        for test in tests[1:]:
            mask = pc.and_(mask, test)
        positions: list[int] = pc.indices_nonzero(mask).to_pylist()
        return positions

    def _names(self, positions: Sequence[int]) -> dict[int, str]:
        """Name the places of ascending positions among all rows."""
        names: dict[int, str] = {}
        start = 0
        for file, count in self.files:
            within = [position - start for position in positions if start <= position < start + count]
            names |= {start + place: name for place, name in self._names_in(file, within).items()}
            start += count
        return names

    def _names_in(self, file: DataFile, places: Sequence[int]) -> dict[int, str]:
        if not places:
            return {}
        names = {place: f"{file.path} (row {place + 1:,})" for place in places}
        if file.format == "parquet" or file.size_bytes > _SEARCHED_BYTES:
            return names
        for place, (line, _) in enumerate(row_texts(file, self.reading)):
            if place in names:
                names[place] = f"{file.path}:{line}"
            if place >= places[-1]:
                break
        return names


def _texts_in(file: DataFile, places: Sequence[int], reading: Reading, rows: pa.Table) -> dict[int, tuple[int, str]]:
    """The lines and texts of rows of a file; for Parquet, their numbers and values."""
    if file.format == "parquet" or not places:
        return {place: (place + 1, json.dumps(rows.slice(place, 1).to_pylist()[0], default=str)) for place in places}
    wanted = set(places)
    taken = itertools.islice(enumerate(row_texts(file, reading)), places[-1] + 1)
    return {place: found for place, found in taken if place in wanted}


def _equal(column: pa.ChunkedArray, value: Any) -> pa.ChunkedArray:
    """Whether each row has this value; False where the two cannot be compared."""
    if value is None:
        return pc.is_null(column)
    try:
        return pc.fill_null(pc.equal(column, pa.scalar(value, column.type)), False)
    except (pa.ArrowException, TypeError):
        return pa.chunked_array([pa.repeat(False, len(column))])


def rows_with_bad_keys(places: RowPlaces, key: Sequence[str]) -> dict[int, str]:
    """Find rows whose key is null or repeated; the first row with a key is good."""
    names = {name.lower(): name for name in places.rows.column_names}
    columns = [names[name.lower()] for name in key if name.lower() in names]
    if not columns or len(columns) < len(key):
        return {}
    found: dict[int, str] = {}
    for name in reversed(columns):
        nulls = pc.indices_nonzero(pc.is_null(places.rows.column(name)))
        found |= dict.fromkeys(nulls.to_pylist(), f"column {name!r} of the key is null")
    return found | _repeated(places, columns, found)


def _repeated(places: RowPlaces, columns: Sequence[str], others: dict[int, str]) -> dict[int, str]:
    keys = places.rows.select(columns).append_column("_ana_row", pa.array(range(places.rows.num_rows), pa.int64()))
    groups = keys.group_by(columns).aggregate([("_ana_row", "min"), ("_ana_row", "count")])
    if groups.num_rows == keys.num_rows:
        return {}
    first = groups.filter(pc.greater(groups.column("_ana_row_count"), 1))
    joined = keys.join(first.drop_columns(["_ana_row_count"]), columns)
    later = joined.filter(pc.greater(joined.column("_ana_row"), joined.column("_ana_row_min")))
    pairs = {row["_ana_row"]: row for row in later.to_pylist() if row["_ana_row"] not in others}
    named = dict(zip(sorted({r["_ana_row_min"] for r in pairs.values()}), _named(places, pairs), strict=True))
    return {
        place: f"the key {_key_text(row, columns)} is in {named[row['_ana_row_min']]}" for place, row in pairs.items()
    }


def _named(places: RowPlaces, pairs: dict[int, dict[str, int]]) -> list[str]:
    return places.named(sorted({row["_ana_row_min"] for row in pairs.values()}))


def _key_text(row: dict[str, object], columns: Sequence[str]) -> str:
    return ", ".join(f"{name}={row[name]}" for name in columns)
