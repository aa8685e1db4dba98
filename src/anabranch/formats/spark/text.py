"""Users' files on Spark: read as text, then converted by the rules that the process follows. Nothing is collected."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import TypeVar
from urllib.parse import unquote

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, DataFrameReader, SparkSession
from pyspark.sql import functions as F

from anabranch.engines.spark import translate
from anabranch.errors import InvalidRequest
from anabranch.formats.rules.text import (
    DATE,
    LONG,
    TRUE_WORDS,
    ZONE,
    TextOptions,
    decimal_of,
    java_format,
    value_pattern,
)
from anabranch.formats.spark.nested import nested_value
from anabranch.model.types import DataType

T = TypeVar("T")
BAD, FILE = "_ana_bad", "_ana_file"
"""Of each row: whether it can't be taken, and the file that it comes from."""
_CORRUPT, _NOTHING = "_ana_corrupt", "_ana_nothing"
_NO_VALUE = "\ufffe\uffff"
"""What the reader is told to take for null: no text of a file's, so that "" is a text and nothing at all is null."""
_CP1252 = "".join(chr(code) for code in range(0x80, 0xA0) if code not in (0x81, 0x8D, 0x8F, 0x90, 0x9D))
_READ = {"__globPaths__": "false", "columnNameOfCorruptRecord": _CORRUPT, "mode": "PERMISSIVE"}


@dataclass(frozen=True)
class FileGroup:
    """Files that are read alike."""

    paths: tuple[str, ...]
    names: tuple[str, ...] = ()
    """The columns of CSV, in order."""
    base: str | None = None
    folders: tuple[str, ...] = ()
    """The columns that the names of folders below `base` give."""
    is_whole: bool = False
    """Whether a file of JSON is one value, and not one on each line."""
    line_end: str = "\n"


def csv_texts(session: SparkSession, group: FileGroup, options: TextOptions, spans_lines: bool) -> DataFrame:
    """Read CSV as columns of text, with BAD and FILE; only where no field spans lines is a file read in pieces."""
    fields = [f"t{i} string" for i in range(len(group.names))]
    settings = {
        **_READ,
        "header": options.header,
        "sep": options.delimiter,
        "quote": options.quote or "\0",
        "escape": options.escape or options.quote or "\0",
        "nullValue": _NO_VALUE,
        "emptyValue": "",
        # Bytes as characters; what they are in UTF-8 is looked at below, so that what is not text is noticed.
        "encoding": "UTF-16" if options.encoding == "utf-16" else "ISO-8859-1",
        "multiLine": spans_lines,
        # A line end that Spark finds by itself would be changed within quotes, too.
        **({"lineSep": group.line_end} if spans_lines else {}),
    }
    frame = _reader(session, group, settings, fields).csv(list(group.paths))
    texts = [_null_texts(_decoded(F.col(f"t{i}"), options.encoding), options) for i in range(len(group.names))]
    named = [text.alias(name) for text, name in zip(texts, group.names, strict=True)]
    valid = [_is_text(F.col(f"t{i}"), options.encoding) for i in range(len(group.names))]
    bad = F.col(_CORRUPT).isNotNull() | ~_all(valid)
    return frame.select(*named, *_folders(group), bad.alias(BAD), row_file())


_BLANK = r"^[\x00-\x20]+$"
"""Lines that Spark drops where it reads a file in pieces, be they rows without values between tabs."""


@dataclass(frozen=True)
class Quotes:
    """What the lines of files tell: which have to be read whole, and where quotes may be wrong."""

    spanning: tuple[str, ...] = ()
    """Files in which a field may span lines, or a line is blank but not empty."""
    wrong: tuple[str, ...] = ()
    """Files in which a quote is not closed, or text follows one that closes a field."""


def count_quotes(session: SparkSession, group: FileGroup, options: TextOptions) -> Quotes:
    """Count the quotes of lines and of files; an odd number of them is one that another line, or none, closes."""
    lines = session.read.options(__globPaths__="false").text(list(group.paths))
    line = F.col("value")
    plain = F.regexp_replace(line, f"{re.escape(options.escape)}.", "") if options.escape else line
    count = F.length(plain) - F.length(F.replace(plain, F.lit(options.quote), F.lit(""))) if options.quote else F.lit(0)
    followed = line.rlike(_followed_quote(options)) if options.quote and not options.escape else F.lit(False)
    tests = line.rlike(_BLANK).alias("blank"), followed.alias("followed")
    by_file = lines.select(count.alias("quotes"), *tests, row_file()).groupBy(FILE)
    spans = (F.max(F.col("quotes") % 2) == 1) | F.bool_or("blank")
    odd = F.sum("quotes") % 2 == 1
    told = by_file.agg(spans.alias("spans"), odd.alias("odd"), F.bool_or("followed").alias("followed"))
    found = run(lambda: told.where("spans or odd or followed").collect())
    every = options.encoding == "utf-16" or options.escape is not None
    spanning = group.paths if every else tuple(path_of(row[FILE]) for row in found if row["spans"])
    wrong = tuple(path_of(row[FILE]) for row in found if row["odd"] or (row["followed"] and not row["spans"]))
    return Quotes(spanning, wrong)


def _followed_quote(options: TextOptions) -> str:
    """A line in which text follows a quote that closes a field."""
    quote, delimiter = (f"\\x{ord(ch):02x}" for ch in (options.quote, options.delimiter))
    quoted = f"{quote}(?:[^{quote}]++|{quote}{quote})*+{quote}"
    return f"^(?:(?:{quoted}|(?:[^{quote}{delimiter}][^{delimiter}]*+)?+){delimiter})*+{quoted}[^{quote}{delimiter}]"


def parted(group: FileGroup, quotes: Quotes) -> list[tuple[FileGroup, bool]]:
    """Part the files that have to be read whole from those that can be read in pieces."""
    spanning = tuple(path for path in group.paths if path in quotes.spanning)
    others = tuple(path for path in group.paths if path not in quotes.spanning)
    parts = ((replace(group, paths=spanning), True), (replace(group, paths=others), False))
    return [(part, spans) for part, spans in parts if part.paths]


def json_variants(session: SparkSession, group: FileGroup, options: TextOptions) -> DataFrame:
    """Read JSON with each row as one variant, v."""
    settings = {**_READ, **_json_settings(group, options), "singleVariantColumn": "v"}
    rows = session.read.options(**_words(settings)).json(list(group.paths))
    elements = F.coalesce(F.try_variant_get("v", "$", "array<variant>"), F.array("v"))
    return rows.select(F.explode(elements).alias("v")) if group.is_whole else rows


def json_texts(session: SparkSession, group: FileGroup, columns: Mapping[str, str], options: TextOptions) -> DataFrame:
    """Read JSON with these columns, as text or variants; with BAD and FILE."""
    # Spark does not read what is corrupt alone: a column that no file has is asked for beside it.
    fields = [*(f"{_quoted(name)} {type_}" for name, type_ in columns.items()), f"{_NOTHING} string"]
    frame = _reader(session, group, {**_READ, **_json_settings(group, options)}, fields).json(list(group.paths))
    bad = F.col(_CORRUPT).isNotNull() & F.col(_NOTHING).isNull()
    return frame.select(*[F.col(_quoted(name)) for name in columns], *_folders(group), bad.alias(BAD), row_file())


def _json_settings(group: FileGroup, options: TextOptions) -> dict[str, object]:
    settings: dict[str, object] = {"multiLine": group.is_whole, "allowSingleQuotes": False}
    if options.encoding == "utf-8":
        return settings
    # Where an encoding is named, Spark gives fractions as the text of a double, not as they are written.
    encoding = {"latin-1": "ISO-8859-1", "utf-16": "UTF-16"}[options.encoding]
    return {**settings, "encoding": encoding, **({} if group.is_whole else {"lineSep": "\n"})}


def parquet_rows(session: SparkSession, group: FileGroup) -> DataFrame:
    """Read Parquet files of one schema, with BAD and FILE; columns from the names of folders are text."""
    found = _opened(lambda: session.read.options(__globPaths__="false").parquet(*group.paths))
    values = [_folder_value(name).alias(name) for name in group.folders if name not in found.columns]
    return found.select(*[F.col(_quoted(n)) for n in found.columns], *values, F.lit(False).alias(BAD), row_file())


def _folder_value(name: str) -> Column:
    """The value of a column in the path of a file."""
    raw = F.regexp_extract(F.col("_metadata.file_path"), f"/{name}=([^/]*)/", 1)
    # A path is escaped once as an address, and once more by whoever wrote the folder.
    value = F.url_decode(F.regexp_replace(F.url_decode(F.regexp_replace(raw, r"\+", "%2B")), r"\+", "%2B"))
    return F.when(value != "__HIVE_DEFAULT_PARTITION__", value)


def infer_types(
    frame: DataFrame, candidates: Mapping[str, Sequence[DataType]], options: TextOptions
) -> tuple[dict[str, DataType], int]:
    """Find the first type that all text of a column fits, over the rows that are not bad; and count the bad ones."""
    tests = [F.count_if(F.col(BAD)).alias("bad")]
    for i, (name, types) in enumerate(candidates.items()):
        text = F.when(~F.col(BAD), F.col(_quoted(name)))
        tests.append(F.count(text).alias(f"n{i}"))
        for j, type_ in enumerate(types):
            # What is neither true nor false, bool_and would pass over.
            fits = text.isNull() | F.coalesce(_seems(text, type_, options), F.lit(False))
            tests.append(F.coalesce(F.bool_and(fits), F.lit(True)).alias(f"c{i}_{j}"))
    found = run(lambda: frame.agg(*tests).collect()[0].asDict())
    fitting: dict[str, list[DataType]] = {}
    for i, (name, types) in enumerate(candidates.items()):
        fitting[name] = [t for j, t in enumerate(types) if found[f"n{i}"] and found[f"c{i}_{j}"]]
    return _with_digits(frame, fitting, options), int(found["bad"])


def _with_digits(
    frame: DataFrame, fitting: Mapping[str, Sequence[DataType]], options: TextOptions
) -> dict[str, DataType]:
    """Take the first type of each column; one that is a decimal gets as many digits as its text has, if there are."""
    decimals = [name for name, types in fitting.items() if types and types[0].name == "decimal"]
    lengths: list[Column] = []
    for i, name in enumerate(decimals):
        plain = _plain(F.when(~F.col(BAD), F.col(_quoted(name))), DataType("decimal"), options)
        for part, pattern in (("w", "^[+-]?0*([0-9]*)"), ("p", r"\.([0-9]*?)0*$")):
            lengths.append(F.max(F.length(F.regexp_extract(plain, pattern, 1))).alias(f"{part}{i}"))
    found = run(lambda: frame.agg(*lengths).collect()[0].asDict()) if lengths else {}
    chosen = {name: next(iter(types), DataType("string")) for name, types in fitting.items()}
    for i, name in enumerate(decimals):
        sized = decimal_of(found[f"w{i}"], 0 if chosen[name].precision else found[f"p{i}"])
        others = [t for t in fitting[name] if t.name != "decimal"]
        chosen[name] = sized or next(iter(others), DataType("string"))
    return chosen


def _seems(text: Column, type_: DataType, options: TextOptions) -> Column:
    """Whether a text could be of an inferred type: numbers that a double would round are none."""
    if type_.name == "decimal":
        return _plain(text, type_, options).rlike(value_pattern(type_, inferring=True) or "")
    fits = converted(text, type_, options, inferring=True).isNotNull()
    if type_.name != "double":
        return fits
    plain = _plain(text, type_, options)
    whole = plain.try_cast("decimal(38,0)")
    same = F.coalesce(plain.try_cast("double").try_cast("decimal(38,0)") == whole, F.lit(False))
    return fits & (~plain.rlike(LONG) | (same & ~plain.rlike(r"\.[0-9]*[1-9]")))


def _plain(text: Column, type_: DataType, options: TextOptions) -> Column:
    """A text without blanks around it; a number with a point."""
    plain = F.btrim(text, F.lit(" \t"))
    if type_.name in ("float", "double", "decimal") and options.decimal_comma:
        return F.when(~plain.contains("."), F.replace(plain, F.lit(","), F.lit(".")))
    return plain


def with_types(
    frame: DataFrame, types: Mapping[str, DataType], options: TextOptions, *, inferring: bool = False
) -> DataFrame:
    """Convert text to values of these types; a row with a text that does not fit is BAD."""
    texts = {name: F.col(_quoted(name)) for name in types}
    values = {name: converted(texts[name], type_, options, inferring=inferring) for name, type_ in types.items()}
    misfits = [F.col(_quoted(name)).isNotNull() & value.isNull() for name, value in values.items()]
    bad = reduce(lambda one, other: one | other, misfits, F.col(BAD))
    others = [values[n].alias(n) if n in values else F.col(_quoted(n)) for n in frame.columns if n not in (BAD, FILE)]
    return frame.select(*others, bad.alias(BAD), F.col(FILE))


def bad_counts(frame: DataFrame) -> dict[str, int]:
    """Count the bad rows of each file, by its path."""
    rows = run(lambda: frame.where(F.col(BAD)).groupBy(FILE).count().collect())
    return {path_of(row[FILE]): row["count"] for row in rows}


def without_bad(frame: DataFrame) -> DataFrame:
    """The rows that can be taken."""
    return frame.where(~F.col(BAD)).drop(BAD, FILE)


def with_names(frame: DataFrame, names: Mapping[str, str]) -> DataFrame:
    """The same columns under other names, where they have some."""
    return frame.toDF(*(names.get(name, name) for name in frame.columns))


def united(frames: Sequence[DataFrame]) -> DataFrame:
    """All rows of all frames; what one lacks is null in its rows."""
    return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), frames)


def converted(text: Column, type_: DataType, options: TextOptions, *, inferring: bool = False) -> Column:
    """A text as a value of a type; null where it is none."""
    if type_.name == "string":
        return text
    plain = _plain(text, type_, options)
    pattern = value_pattern(type_, inferring=inferring)
    if type_.name == "date" and options.date_format:
        return F.try_to_timestamp(plain, F.lit(java_format(options.date_format))).cast("date")
    if type_.name in ("timestamp", "timestamp_ntz") and options.timestamp_format:
        return _formatted_time(plain, type_, options.timestamp_format)
    if type_.name in ("timestamp", "timestamp_ntz"):
        plain = _with_time(plain, type_, inferring)
    if pattern is None:
        convert = None if inferring else lambda inner, of: converted(inner, of, TextOptions())
        return nested_value(plain, type_, convert)
    return F.when(plain.rlike(pattern) & _fits(plain, type_), _cast(plain, type_))


def _cast(plain: Column, type_: DataType) -> Column:
    if type_.name == "binary":
        return F.unhex(plain)
    return F.lower(plain).isin(*TRUE_WORDS) if type_.name == "boolean" else plain.try_cast(str(type_))


def _fits(plain: Column, type_: DataType) -> Column:
    """Spark rounds decimals to the places that there are; here a digit too many does not fit."""
    if type_.name != "decimal":
        return F.lit(True)
    return plain.rlike(f"^[+-]?0*[0-9]{{0,{type_.precision - type_.scale}}}(\\.[0-9]{{0,{type_.scale}}}0*)?$")


def _with_time(plain: Column, type_: DataType, inferring: bool) -> Column:
    """A date is the time at which it begins; a time without a zone is UTC."""
    if type_.name == "timestamp":
        # Spark wants seconds where a zone follows.
        plain = F.regexp_replace(plain, f"^(.{{16}}){ZONE}$", "$1:00$2")
    if inferring:
        return plain
    plain = F.when(plain.rlike(DATE), F.concat(plain, F.lit(" 00:00:00"))).otherwise(plain)
    if type_.name == "timestamp_ntz":
        return plain
    bare = ~plain.rlike(f"[0-9]{ZONE}$") | plain.rlike(value_pattern(DataType("timestamp_ntz")) or "")
    return F.when(bare, F.concat(plain, F.when(F.length(plain) == 16, ":00Z").otherwise("Z"))).otherwise(plain)


def _formatted_time(plain: Column, type_: DataType, pattern: str) -> Column:
    """A time in a format of the user's; one without a zone is read as UTC, whatever the session's zone is."""
    zoned = "%z" in pattern
    if zoned and type_.name == "timestamp_ntz":
        return F.when(F.lit(False), F.lit(None).cast("timestamp_ntz"))
    form = java_format(pattern)
    moment = F.try_to_timestamp(
        plain if zoned else F.concat(plain, F.lit(" +0000")), F.lit(form if zoned else f"{form} Z")
    )
    if type_.name == "timestamp":
        return moment
    seconds = (F.unix_micros(moment).cast("decimal(24,0)") / 1_000_000).cast("decimal(18,6)")
    return F.expr("timestamp_ntz'1970-01-01 00:00:00'") + F.make_dt_interval(secs=seconds)


def _reader(
    session: SparkSession, group: FileGroup, settings: Mapping[str, object], fields: Sequence[str]
) -> DataFrameReader:
    schema = ", ".join([*fields, *(f"{_quoted(name)} string" for name in group.folders), f"{_CORRUPT} string"])
    base = {"basePath": group.base} if group.base else {}
    return session.read.options(**_words({**settings, **base})).schema(schema)


def _words(settings: Mapping[str, object]) -> dict[str, str]:
    return {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in settings.items()}


def _folders(group: FileGroup) -> list[Column]:
    return [F.col(_quoted(name)) for name in group.folders]


def row_file() -> Column:
    return F.col("_metadata.file_path").alias(FILE)


def path_of(address: str) -> str:
    """The path of a file from the address that Spark knows it by."""
    return "/" + unquote(address.partition(":")[2]).lstrip("/")


def _decoded(raw: Column, encoding: str) -> Column:
    if encoding == "utf-8":
        return F.encode(raw, "ISO-8859-1").cast("string")
    if encoding == "cp1252":
        return F.translate(raw, _CP1252, _CP1252.encode("latin-1").decode("cp1252"))
    return raw


def _is_text(raw: Column, encoding: str) -> Column:
    if encoding == "utf-8":
        return raw.isNull() | F.is_valid_utf8(F.encode(raw, "ISO-8859-1").cast("string"))
    if encoding == "cp1252":
        return raw.isNull() | ~raw.rlike("[\u0081\u008d\u008f\u0090\u009d]")
    # Always so, but asked of every field: Spark finds a row corrupt by the fields that it has to read.
    return F.coalesce(F.length(raw), F.lit(0)) >= 0


def _null_texts(text: Column, options: TextOptions) -> Column:
    return F.when(~text.isin(*options.nulls), text) if options.nulls else text


def _all(tests: Sequence[Column]) -> Column:
    return reduce(lambda one, other: one & other, tests)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _opened(action: Callable[[], T]) -> T:
    """Let Spark look at files; what it has no type for, or takes for two columns of one name, it refuses."""
    try:
        return action()
    except (PySparkException, Py4JJavaError) as error:
        message = f"Spark can't read the files: {str(error).strip().splitlines()[0]}"
        raise InvalidRequest(message, hint="read them in the process (engine duck)") from error


def run(action: Callable[[], T]) -> T:
    try:
        return action()
    except PySparkException as error:
        raise translate(error) from error
