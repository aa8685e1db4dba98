"""Text files that are read piece by piece elsewhere: combines the surveys of the pieces into one plan."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa

from anabranch import errors
from anabranch.errors import Unavailable
from anabranch.formats.process.inference import Shapes, Types, find_shapes, find_types, shape
from anabranch.formats.process.parts import FilePart, Reading, empty_rows
from anabranch.formats.process.pieces import PIECE_BYTES, FilePiece, cut, dealt
from anabranch.formats.process.survey import Asked, PartSurvey, PieceSurvey
from anabranch.formats.process.text_facts import UnknownFacts
from anabranch.formats.rules.bad_rows import BadRows
from anabranch.formats.rules.found_files import DataFile

Works = Sequence[Sequence[FilePiece]]
Ask = Callable[[Works, Asked], Sequence[Sequence[PieceSurvey]]]
"""Has pieces surveyed, wherever that happens."""
_SHARE = "put it where they see it at the same path, such as a shared mount, or read with engine='duck'"


@dataclass(frozen=True)
class ReadPlan:
    """What to do with undeclared columns, and the columns that all rows have in the end."""

    shapes: Shapes
    types: Types


@dataclass
class SurveyedFiles:
    """Pieces of files, grouped into works, with their surveys."""

    ask: Ask
    reading: Reading
    works: list[list[FilePiece]]
    names: dict[str, str]
    """The users' names for the files. Paths are absolute here, since readers may be in another folder."""
    surveys: dict[tuple[str, int, int | None], PieceSurvey] = field(default_factory=dict)
    """By the place of the piece."""

    @classmethod
    def of(cls, files: Sequence[DataFile], reading: Reading, ask: Ask, size: int = PIECE_BYTES) -> SurveyedFiles:
        """Have files surveyed; those that turn out not to be separable are surveyed again, each as one piece."""
        names = {os.path.abspath(file.path): file.path for file in files}
        there = [replace(file, path=path) for path, file in zip(names, files, strict=True)]
        made = cls(ask, reading, dealt(cut(there, reading.options, size)), names)
        made._look(made.works, {})
        doubtful = {p.file.path for p in made.pieces if p.end and not made._of(p).is_whole}
        if doubtful:
            kept = [p for p in made.pieces if p.file.path not in doubtful or p.start == 0]
            pieces = [FilePiece(p.file) if p.file.path in doubtful else p for p in kept]
            made._look([[p] for p in pieces if p.file.path in doubtful], {})
            made.works = dealt(pieces)
        return made

    def _look(self, works: Works, asked: Asked) -> None:
        if works:
            pairs = zip(works, self.ask(works, asked), strict=True)
            self.surveys |= {p.place: s for work, described in pairs for p, s in zip(work, described, strict=True)}

    @property
    def pieces(self) -> list[FilePiece]:
        """All pieces, in file order."""
        return [piece for work in self.works for piece in work]

    @property
    def parts(self) -> list[PartSurvey]:
        """The surveys of all parts."""
        return [part for piece in self.pieces for part in self._of(piece).parts]

    def _of(self, piece: FilePiece) -> PieceSurvey:
        return self.surveys[piece.place]

    def refuse_failures(self) -> None:
        """Raise the error of the first piece that has one."""
        for piece in self.pieces:
            if failure := self._of(piece).failure:
                kind, message, hint, facts = failure
                path = self.names[piece.file.path]
                if kind == "NotFound":
                    message = f"Spark's executors can't see {path!r}, which is a file here"
                    raise Unavailable(message, hint=_SHARE, file=path)
                described = message.replace(piece.file.path, path)
                raise getattr(errors, kind)(described, hint=hint, **{**facts, "file": path})

    def report_bad_rows(self, bad: BadRows) -> None:
        """Pass on the bad rows of all pieces, with their lines in the files; refuse them unless they are set aside."""
        before: dict[str, int] = {}
        for piece in self.pieces:
            described, lines = self._of(piece), before.get(piece.file.path, 0)
            rows = [replace(row, file=self.names[row.file], line=row.line + lines) for row in described.bad]
            bad.add(rows, described.bad_count - len(rows))
            before[piece.file.path] = lines + described.line_count
        bad.refuse()

    @property
    def columns(self) -> dict[str, list[str]]:
        """The columns of each file, under its own names."""
        found: dict[str, dict[str, None]] = {}
        for piece in self.pieces:
            names = found.setdefault(self.names[piece.file.path], {})
            names.update(dict.fromkeys(self._of(piece).own_names))
        return {path: list(some) for path, some in found.items()}

    def plan(self, others: Sequence[PartSurvey] = ()) -> ReadPlan:
        """Choose types for all columns, surveying again if the facts reported do not suffice."""
        while True:
            every = [*self.parts, *others]
            shapes = find_shapes([s.part for s in every], self.reading.options)
            parts = [shape(s.part, shapes, self.reading, _as_text(s.part)) for s in every]
            try:
                types = find_types(parts, [s.facts for s in every])
            except UnknownFacts as unknown:
                self._look(self.works, unknown.columns)
                continue
            own = {name for part in self.parts for name in part.part.rows.column_names}
            columns = pa.schema([f for f in types.columns if f.name in own])
            if not own:  # An empty array names no columns.
                columns = empty_rows(self.reading.columns).schema
            return ReadPlan(shapes, Types(types.texts, columns))


def _as_text(part: FilePart) -> Callable[[], FilePart]:
    """How to get a part without rows, as if read as written."""
    columns = {name: pa.array([], pa.string()) for name in part.rows.column_names}
    return lambda: replace(part, rows=pa.table(columns))
