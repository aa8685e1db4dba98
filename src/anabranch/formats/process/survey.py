"""What must be known of pieces of files before they are read as one table; then, their rows.

These functions run wherever the pieces are read; what they return is small, or rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from anabranch.errors import AnabranchError
from anabranch.formats.process.inference import Shapes, Types, fit_part, shape, typed
from anabranch.formats.process.parts import FilePart, Reading
from anabranch.formats.process.pieces import FilePiece, NotSeparable, PiecePart, count_lines, range_content, read_piece
from anabranch.formats.process.text_facts import KnownFacts, find_facts
from anabranch.formats.rules.bad_rows import BadRow, BadRows
from anabranch.formats.rules.json_shapes import shapes_of
from anabranch.formats.rules.text import inferred
from anabranch.model.types import DataType

_BATCH_ROWS = 50_000
Asked = Mapping[str, tuple[DataType, ...]]
"""Columns that need all facts reported, with the types they are tried as."""


@dataclass(frozen=True)
class PartSurvey:
    """What is known of some rows, without the rows."""

    part: FilePart
    facts: Mapping[str, KnownFacts]
    row_count: int


@dataclass(frozen=True)
class PieceSurvey:
    """What is known of a piece."""

    parts: tuple[PartSurvey, ...] = ()
    bad: tuple[BadRow, ...] = ()
    """The bad rows: all of them, if they are set aside, otherwise the first. Lines are counted within the piece."""
    bad_count: int = 0
    line_count: int = 0
    """Only counted for a range."""
    is_separable: bool = True
    """Whether lines are records; if not, the file must be read as a whole."""
    failure: tuple[str, str, str | None, Mapping[str, Any]] | None = None
    """An error: its class, message, hint and facts."""
    own_names: tuple[str, ...] = ()
    """The columns under the file's names."""

    @property
    def is_whole(self) -> bool:
        """Whether the survey is complete."""
        return self.is_separable and self.failure is None


def survey_work(
    number: int, works: Sequence[Sequence[FilePiece]], reading: Reading, keeps_bad: bool, asked: Asked
) -> list[PieceSurvey]:
    """Survey the pieces of one work."""
    return [survey(piece, reading, keeps_bad, asked) for piece in works[number]]


def survey(piece: FilePiece, reading: Reading, keeps_bad: bool, asked: Asked) -> PieceSurvey:
    """Survey a piece."""
    bad = BadRows(kept=None) if keeps_bad else BadRows()
    try:
        parts = tuple(_survey_part(found, reading, asked) for found in read_piece(piece, reading, bad))
    except NotSeparable:
        return PieceSurvey(is_separable=False)
    except AnabranchError as error:
        facts = {name: fact for name, fact in error.facts.items() if isinstance(fact, str | int)}
        return PieceSurvey(failure=(type(error).__name__, error.message, error.hint, facts))
    lines = count_lines(range_content(piece)) if piece.end is not None else 0
    names = dict.fromkeys(name for part in parts for name in part.own_names)
    return PieceSurvey(tuple(p.survey for p in parts), tuple(bad.first), bad.count, lines, own_names=tuple(names))


@dataclass(frozen=True)
class _Surveyed:
    survey: PartSurvey
    own_names: tuple[str, ...]


def _survey_part(found: PiecePart, reading: Reading, asked: Asked) -> _Surveyed:
    part, options = found.part, reading.options
    times = inferred(options, times_only=True)
    tried = {**part.texts, **{name: shape_.tried(times) for name, shape_ in shapes_of(part.kinds).items()}}
    facts = {name: find_facts(part.rows.column(name), types, options) for name, types in tried.items()}
    for name in asked.keys() & tried.keys():
        text = part.rows.column(name)
        if not pa.types.is_string(text.type):
            text = found.again().rows.column(name)
        facts[name] = find_facts(text, asked[name], options, all_=True)
    empty = FilePart(part.file, part.rows.slice(0, 0), part.texts, part.kinds)
    return _Surveyed(PartSurvey(empty, facts, part.rows.num_rows), found.own_names)


def rows_of_work(
    number: int, works: Sequence[Sequence[FilePiece]], reading: Reading, shapes: Shapes, types: Types
) -> Iterator[pa.RecordBatch]:
    """Read the rows of one work, in the form common to all."""
    for piece in works[number]:
        for found in read_piece(piece, reading, BadRows()):
            shaped = shape(found.part, shapes, reading, found.again)
            rows = fit_part(typed(shaped, types.texts, reading.options), types)
            yield from rows.combine_chunks().to_batches(max_chunksize=_BATCH_ROWS)
