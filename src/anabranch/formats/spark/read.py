"""Files read on Spark: executors survey pieces of text, types are chosen here, executors read the rows.

Executors run the readers of the process, so the rows are the same; Parquet is left to Spark itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame, SparkSession

from anabranch.arrow.types import spark_type
from anabranch.engines.spark_code import ask_executors, frame_of
from anabranch.engines.spark_sessions import functions_of
from anabranch.formats.process.inference import renamed
from anabranch.formats.process.parts import Reading
from anabranch.formats.process.survey import Asked, PieceSurvey, rows_of_work, survey_work
from anabranch.formats.process.surveyed import ReadPlan, SurveyedFiles, Works
from anabranch.formats.rules.bad_rows import BadRows
from anabranch.formats.rules.found_files import DataFile
from anabranch.formats.rules.request import FilesRequest, check_columns, check_renames
from anabranch.formats.spark.parquet import check_types, read_parquet, survey_parquet, united
from anabranch.model.types import quoted
from anabranch.queries.nested import needs_spark_to_take
from anabranch.queries.rendering import spark_from_memory


@dataclass(frozen=True)
class SparkRows:
    """What was read: a DataFrame, and its number of rows."""

    frame: DataFrame
    row_count: int


def read_on_spark(
    session: SparkSession,
    files: Sequence[DataFile],
    reading: Reading,
    request: FilesRequest,
    bad: BadRows,
    progress: Callable[[str], None],
) -> SparkRows:
    """Read files as one DataFrame; bad rows are reported as in the process."""

    def ask(works: Works, asked: Asked) -> list[list[PieceSurvey]]:
        return ask_executors(session, survey_work, (works, reading, bad.are_set_aside, asked), len(works))

    progress(f"looking through {len(files):,} files on Spark")
    texts = SurveyedFiles.of([f for f in files if f.format != "parquet"], reading, ask)
    texts.refuse_failures()
    texts.report_bad_rows(bad)
    parquet = survey_parquet([f for f in files if f.format == "parquet"], reading)
    names = _names(
        files, texts.columns | {s.part.file.path: s.part.rows.column_names for s in parquet}, request, reading
    )
    plan = texts.plan([replace(s, part=renamed(s.part, reading)) for s in parquet])
    frames = [_frame(session, texts.works, reading, plan)] if texts.works else []
    if parquet:
        frames.append(read_parquet(session, parquet, reading, plan.types.texts))
    check_types(frames, [c.name for c in reading.columns])
    column = functions_of(session).col
    count = sum(part.row_count for part in [*texts.parts, *parquet])
    return SparkRows(united(frames).select(*[column(quoted(name)) for name in names]), count)


def _names(
    files: Sequence[DataFile], columns: dict[str, list[str]], request: FilesRequest, reading: Reading
) -> list[str]:
    """The columns of all files in order of appearance, checked as in the process."""
    in_order = {file.path: columns[file.path] for file in files}
    check_renames(in_order, request)
    new = {path: list(reading.new_names(path, names).values()) for path, names in in_order.items()}
    check_columns(new, request)
    return list(dict.fromkeys(name for some in new.values() for name in some)) or [c.name for c in reading.columns]


def _frame(session: SparkSession, works: Works, reading: Reading, plan: ReadPlan) -> DataFrame:
    """The rows of all works; executors read them on demand."""
    types = {f.name: spark_type(f.type, f"column {f.name!r}") for f in plan.types.columns}
    schema = ", ".join(f"{quoted(name)} {type_}" for name, type_ in types.items())
    frame = frame_of(session, rows_of_work, (works, reading, plan.shapes, plan.types), len(works), schema)
    others = {n: t for n, t in reading.declared(list(types)).items() if needs_spark_to_take(t)}
    if not others:
        return frame
    f = functions_of(session)
    made = {n: f.expr(spark_from_memory(n, t)) for n, t in others.items()}
    return frame.select(*[(made[n] if n in made else f.col(quoted(n))).alias(n) for n in types])
